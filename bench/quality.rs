//! Whether digests made of operations on 32 bits collide as often as chance has it, and what mixes make of them.
//!
//!     cargo run --release --manifest-path bench/Cargo.toml --bin quality -- [--keys 25] [--only WORD]
//!
//! It takes 2^25 different keys of each family, hashes them in each way, and counts equal pairs: of whole digests, and of
//! windows of what each mix makes of a digest under one salt or two. By chance, a window of w bits of n keys has
//! n^2 / 2^(w + 1) equal pairs, and the square root of that is the standard deviation. It prints by how many of these a
//! count is above chance; of few keys, a single pair may be five. Candidates for the format are compared here; XXH64 and
//! the mix `today` are the format's own.

use std::time::Instant;

use twox_hash::{XxHash32, XxHash64};

/// Different keys by number.
struct Family {
    name: &'static str,
    /// How many there are at most, as a power of two.
    most: u32,
    write: fn(u64, &mut Vec<u8>),
}

/// A permutation of 64 bits, of Stafford's mix 13: numbers as random as can be, all different.
fn scatter(mut x: u64) -> u64 {
    x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

fn random_bytes(i: u64, length: usize, key: &mut Vec<u8>) {
    for word in 0..length.div_ceil(8) as u64 {
        // The first word tells the keys apart, if it has 8 bytes.
        key.extend(scatter(i ^ word << 60).to_le_bytes());
    }
    key.truncate(length);
}

const WORDS: [&str; 16] = [
    "login", "secure", "account", "update", "bank", "verify", "paypal", "mail", "cloud", "office", "signin",
    "wallet", "support", "service", "online", "portal",
];

const FAMILIES: &[Family] = &[
    Family { name: "numbers of 4 bytes", most: 32, write: |i, key| key.extend((i as u32).to_le_bytes()) },
    Family { name: "numbers of 8 bytes", most: 60, write: |i, key| key.extend(i.to_le_bytes()) },
    Family { name: "numbers of 8 bytes, big-endian", most: 60, write: |i, key| key.extend(i.to_be_bytes()) },
    Family {
        name: "1 to 4 bytes",
        most: 32,
        write: |i, key| {
            // All of one byte, then of two, and so on.
            let (mut i, mut length) = (i, 1);
            while i >= 1 << (8 * length) {
                i -= 1 << (8 * length);
                length += 1;
            }
            key.extend(&i.to_le_bytes()[..length]);
        },
    },
    Family { name: "8 random bytes", most: 60, write: |i, key| random_bytes(i, 8, key) },
    Family { name: "12 random bytes", most: 60, write: |i, key| random_bytes(i, 12, key) },
    Family { name: "16 random bytes", most: 60, write: |i, key| random_bytes(i, 16, key) },
    Family { name: "20 random bytes", most: 60, write: |i, key| random_bytes(i, 20, key) },
    Family { name: "decimal numbers", most: 60, write: |i, key| key.extend(i.to_string().into_bytes()) },
    Family {
        name: "16 decimal digits",
        most: 53,
        write: |i, key| {
            key.extend(format!("{:016}", scatter(i) % 10_000_000_000_000_000).into_bytes());
        },
    },
    Family { name: "key-N", most: 60, write: |i, key| key.extend(format!("key-{i}").into_bytes()) },
    Family {
        name: "hexadecimal numbers",
        most: 60,
        write: |i, key| key.extend(format!("{i:x}").into_bytes()),
    },
    Family {
        name: "16 random hexadecimal digits",
        most: 60,
        write: |i, key| {
            key.extend(format!("{:016x}", scatter(i)).into_bytes());
        },
    },
    Family {
        name: "UUIDs",
        most: 60,
        write: |i, key| {
            let (a, b) = (scatter(i), scatter(i ^ 1 << 60));
            let text = format!(
                "{:08x}-{:04x}-4{:03x}-a{:03x}-{:012x}",
                a >> 32,
                a >> 16 & 0xffff,
                a & 0xfff,
                b >> 48 & 0xfff,
                b & 0xffff_ffff_ffff
            );
            key.extend(text.into_bytes());
        },
    },
    Family {
        name: "hosts",
        most: 60,
        write: |i, key| {
            key.extend(format!("{}{}.example/", WORDS[(i & 15) as usize], i >> 4).into_bytes());
        },
    },
    Family {
        name: "hosts of words",
        most: 40,
        write: |i, key| {
            let word = |at: u32| WORDS[(i >> (4 * at) & 15) as usize];
            key.extend(
                format!("{}-{}-{}.{}{}.com/", word(0), word(1), word(2), word(3), i >> 16).into_bytes(),
            );
        },
    },
    Family {
        name: "URLs that differ in two words",
        most: 32,
        write: |i, key| {
            let (a, b) = (i & 0xffff, i >> 16);
            let text = format!("www.shop{a:05}.example/catalogue/spring/item-{b:05}/detail.html");
            key.extend(text.into_bytes());
        },
    },
    Family {
        name: "two words of 4 bytes in 64",
        most: 32,
        write: |i, key| {
            key.resize(64, 0);
            key[8..10].copy_from_slice(&(i as u16).to_le_bytes());
            key[40..42].copy_from_slice(&((i >> 16) as u16).to_le_bytes());
        },
    },
    Family {
        name: "four flipped bits of 256",
        most: 27,
        write: |i, key| {
            // The combinatorial number system: each number is one set of four places.
            key.resize(32, 0x5a);
            let mut rest = i;
            for count in (1..=4_u64).rev() {
                let choose = |n: u64| (0..count).fold(1, |product, j| product * (n - j) / (j + 1));
                let mut n = count - 1;
                while n < 255 && choose(n + 1) <= rest {
                    n += 1;
                }
                rest -= if n >= count { choose(n) } else { 0 };
                key[(n / 8) as usize] ^= 1 << (n % 8);
            }
        },
    },
    Family {
        name: "words in another order",
        most: 28,
        write: |i, key| {
            // A permutation of twelve words.
            let mut left: Vec<&str> = WORDS[..12].to_vec();
            let mut rest = i;
            for count in (1..=12).rev() {
                key.extend(left.remove((rest % count) as usize).bytes());
                key.push(b'/');
                rest /= count;
            }
        },
    },
    Family {
        name: "long keys with equal ends",
        most: 60,
        write: |i, key| {
            key.resize(200, b'x');
            key[96..104].copy_from_slice(&i.to_le_bytes());
        },
    },
];

fn murmur3_32(key: &[u8], seed: u32) -> u32 {
    const C1: u32 = 0xcc9e_2d51;
    const C2: u32 = 0x1b87_3593;
    let mut h = seed;
    let mut words = key.chunks_exact(4);
    for word in &mut words {
        let k =
            u32::from_le_bytes(word.try_into().unwrap()).wrapping_mul(C1).rotate_left(15).wrapping_mul(C2);
        h = (h ^ k).rotate_left(13).wrapping_mul(5).wrapping_add(0xe654_6b64);
    }
    let tail = words.remainder();
    if !tail.is_empty() {
        let mut word = [0; 4];
        word[..tail.len()].copy_from_slice(tail);
        h ^= u32::from_le_bytes(word).wrapping_mul(C1).rotate_left(15).wrapping_mul(C2);
    }
    h ^= key.len() as u32;
    fmix(h)
}

fn fmix(mut h: u32) -> u32 {
    h = (h ^ h >> 16).wrapping_mul(0x85eb_ca6b);
    h = (h ^ h >> 13).wrapping_mul(0xc2b2_ae35);
    h ^ h >> 16
}

/// MurmurHash3_x86_128, its first 64 bits.
fn murmur3_x86_128(key: &[u8], seed: u32) -> u64 {
    const C: [u32; 4] = [0x239b_961b, 0xab0e_9789, 0x38b3_4ae5, 0xa1e3_8b93];
    const R: [u32; 4] = [15, 16, 17, 18];
    const S: [u32; 4] = [19, 17, 15, 13];
    const N: [u32; 4] = [0x561c_cd1b, 0x0bca_a747, 0x96cd_1c35, 0x32ac_3b17];
    let mut h = [seed; 4];
    let mixed = |k: u32, i: usize| k.wrapping_mul(C[i]).rotate_left(R[i]).wrapping_mul(C[(i + 1) % 4]);
    let mut blocks = key.chunks_exact(16);
    for block in &mut blocks {
        for i in 0..4 {
            let k = u32::from_le_bytes(block[4 * i..4 * i + 4].try_into().unwrap());
            h[i] = (h[i] ^ mixed(k, i)).rotate_left(S[i]).wrapping_add(h[(i + 1) % 4]);
            h[i] = h[i].wrapping_mul(5).wrapping_add(N[i]);
        }
    }
    let tail = blocks.remainder();
    let mut block = [0; 16];
    block[..tail.len()].copy_from_slice(tail);
    for i in 0..4 {
        if tail.len() > 4 * i {
            h[i] ^= mixed(u32::from_le_bytes(block[4 * i..4 * i + 4].try_into().unwrap()), i);
        }
    }
    h.iter_mut().for_each(|h| *h ^= key.len() as u32);
    let spread = |h: &mut [u32; 4]| {
        h[0] = h[0].wrapping_add(h[1]).wrapping_add(h[2]).wrapping_add(h[3]);
        for i in 1..4 {
            h[i] = h[i].wrapping_add(h[0]);
        }
    };
    spread(&mut h);
    h.iter_mut().for_each(|h| *h = fmix(*h));
    spread(&mut h);
    u64::from(h[1]) << 32 | u64::from(h[0])
}

type Hash = (&'static str, fn(&[u8]) -> u64);

const HASHES: &[Hash] = &[
    ("XXH64", |key| XxHash64::oneshot(0, key)),
    ("pair", |key| u64::from(murmur3_32(key, 0)) << 32 | u64::from(XxHash32::oneshot(0, key))),
    ("x86_128", |key| murmur3_x86_128(key, 0)),
];

/// A round of a Feistel network takes a half, times an odd number, its high bits on its low ones, to the other half. So
/// it can be taken back.
fn round(x: u32, by: u32) -> u32 {
    let y = x.wrapping_mul(by);
    y ^ y >> 15
}

const BY: [u32; 4] = [0x9e37_79b1, 0x85eb_ca77, 0xc2b2_ae3d, 0x27d4_eb2f];

fn feistel(rounds: usize, digest: u64, key: u32) -> u64 {
    let (mut a, mut b) = ((digest >> 32) as u32 ^ key, digest as u32);
    for by in &BY[..rounds] {
        (a, b) = (b ^ round(a, *by), a);
    }
    u64::from(a) << 32 | u64::from(b)
}

const G: u64 = 0x9e37_79b9_7f4a_7c15;
const M: u64 = 0xf135_7aea_2e62_a9c5;

type Mix = (&'static str, fn(u64, u32) -> u64);

const MIXES: &[Mix] = &[
    ("none", |d, _| d),
    ("today", |d, key| {
        let y = (d ^ u64::from(key).wrapping_mul(G)).wrapping_mul(M);
        y ^ y >> 32
    }),
    ("F2", |d, key| feistel(2, d, key)),
    ("F3", |d, key| feistel(3, d, key)),
    ("F4", |d, key| feistel(4, d, key)),
];

/// Some bits of what two mixes make of a digest.
type Window = (&'static str, fn(u64, u64) -> u64);

/// The bits of each window.
const WIDTH: i32 = 44;

const WINDOWS: &[Window] = &[
    ("high", |x, _| x >> 20),
    ("low", |x, _| x & (1 << 44) - 1),
    ("middle", |x, _| x >> 10 & (1 << 44) - 1),
    ("both halves' high", |x, _| x >> 42 << 22 | (x as u32 >> 10) as u64),
    ("high of two", |x, y| x >> 42 << 22 | y >> 42),
    ("low of two", |x, y| (x & 0x3f_ffff) << 22 | y & 0x3f_ffff),
    ("high and low of two", |x, y| x >> 42 << 22 | y & 0x3f_ffff),
];

fn pairs(values: &mut [u64]) -> u64 {
    values.sort_unstable();
    values.chunk_by(|a, b| a == b).map(|equal| (equal.len() as u64 * (equal.len() as u64 - 1)) / 2).sum()
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let option = |name: &str| args.iter().position(|arg| arg == name).map(|at| args[at + 1].clone());
    let bits: u32 = option("--keys").map_or(25, |bits| bits.parse().unwrap());
    let only = option("--only").unwrap_or_default();
    println!("windows: {}", WINDOWS.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", "));
    for family in FAMILIES.iter().filter(|family| family.name.contains(&only)) {
        let count = 1_u64 << bits.min(family.most);
        let begun = Instant::now();
        for (name, hash) in HASHES {
            let mut key = Vec::new();
            let digests: Vec<u64> = (0..count)
                .map(|i| {
                    key.clear();
                    (family.write)(i, &mut key);
                    hash(&key)
                })
                .collect();
            let mut line = format!("{:32} {name:8} equal {}", family.name, pairs(&mut digests.clone()));
            for (mix, by) in MIXES {
                line += &format!(" | {mix}:");
                for (_, window) in WINDOWS {
                    let mut values: Vec<u64> = digests.iter().map(|&d| window(by(d, 0), by(d, 1))).collect();
                    let expected = (count as f64).powi(2) / 2_f64.powi(WIDTH + 1);
                    let z = (pairs(&mut values) as f64 - expected) / expected.sqrt();
                    line += &format!(" {z:.1}");
                }
            }
            println!("{line}");
        }
        eprintln!("{}: {:?}", family.name, begun.elapsed());
    }
}
