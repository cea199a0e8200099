//! Whether digests made of 32-bit operations, and the values that filters derive from them, collide only as often as by
//! chance.
//!
//!     cargo run --release --manifest-path bench/Cargo.toml --bin quality -- [--keys 25] [--only WORD] [--hash WORD] [--mix WORD]
//!
//! It takes 2^25 different keys of each family, hashes them in each way, and counts equal pairs: of whole digests, and
//! of windows of two derived values each. A window is wide enough that 32 equal pairs of keys are expected by chance,
//! with a standard deviation of 5.7. It prints by how many standard deviations a count is above chance: the maximum,
//! and each that is above 5. Candidates for the format are compared here.

use std::time::Instant;

use twox_hash::XxHash32;

/// Different keys by number.
struct Family {
    name: &'static str,
    /// The largest number of keys, as a power of two.
    most: u32,
    write: fn(u64, &mut Vec<u8>),
}

/// A permutation of 64 bits, of Stafford's mix 13: numbers that look random and are all different.
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
            // All keys of one byte, then of two, and so on.
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
            // The factor has no divisor in common with 10^16, so that all numbers are different.
            let number = u128::from(i) * 6_364_136_223_846_793 % 10_u128.pow(16);
            key.extend(format!("{number:016}").into_bytes());
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
    ("pair", |key| u64::from(murmur3_32(key, 0)) << 32 | u64::from(XxHash32::oneshot(0, key))),
    ("x86_128", |key| murmur3_x86_128(key, 0)),
];

/// A round of a Feistel network: one half, times an odd number, with its high bits folded onto its low ones, is added
/// to the other half. So it is invertible.
fn round((a, b): (u32, u32), by: u32) -> (u32, u32) {
    let y = a.wrapping_mul(by);
    (b ^ y ^ y >> 15, a)
}

const BY: [u32; 6] = [0x9e37_79b1, 0x85eb_ca77, 0xc2b2_ae3d, 0x27d4_eb2f, 0x1656_67b1, 0x7f4a_7c15];

/// How a state turns into another: how many rounds, and whether all have the same multiplier.
#[derive(Clone, Copy)]
struct Mix {
    name: &'static str,
    rounds: usize,
    is_one: bool,
}

const MIXES: &[Mix] = &[
    Mix { name: "3 rounds", rounds: 3, is_one: true },
    Mix { name: "4 rounds", rounds: 4, is_one: true },
    Mix { name: "4 rounds, 4 multipliers", rounds: 4, is_one: false },
];

impl Mix {
    fn by(self, i: usize) -> u32 {
        BY[if self.is_one { 0 } else { i % BY.len() }]
    }

    /// The state that follows from a state and a key.
    fn enter(self, (a, b): (u32, u32), key: u32) -> (u32, u32) {
        (0..self.rounds).fold((a ^ key, b), |state, i| round(state, self.by(i)))
    }

    /// The coefficients of a ribbon's row: after two more rounds.
    fn coefficients(self, state: (u32, u32)) -> (u32, u32) {
        round(round(state, self.by(4)), self.by(5))
    }

    /// The first half of the state after `i` more rounds: the probes of a Bloom filter.
    fn probe(self, state: (u32, u32), i: usize) -> u32 {
        (0..i).fold(state, |state, _| round(state, self.by(0))).0
    }
}

/// Two values that a filter derives from a digest. Of each, the lowest bits are in the window.
type Window = (&'static str, fn(Mix, (u32, u32)) -> (u32, u32));

/// A place among many is given by a value's high bits.
fn place(value: u32) -> u32 {
    value.reverse_bits()
}

/// A fingerprint, or coefficients, are a value's low bits.
fn low(value: u32) -> u32 {
    value
}

/// The names are those of FORMAT.md: a ribbon's start, fingerprint and coefficients; s0 and s1 are its stages.
const WINDOWS: &[Window] = &[
    ("start, fingerprint", |mix, d| {
        let (a, b) = mix.enter(d, 0);
        (place(a), low(b))
    }),
    ("start, low coefficients", |mix, d| {
        let state = mix.enter(d, 0);
        (place(state.0), low(mix.coefficients(state).1))
    }),
    ("start, high coefficients", |mix, d| {
        let state = mix.enter(d, 0);
        (place(state.0), place(mix.coefficients(state).0))
    }),
    ("fingerprint, coefficients", |mix, d| {
        let state = mix.enter(d, 0);
        (low(state.1), low(mix.coefficients(state).0))
    }),
    ("high fingerprint, coefficients", |mix, d| {
        let state = mix.enter(d, 0);
        (place(state.1), low(mix.coefficients(state).1))
    }),
    ("coefficients", |mix, d| {
        let (a, b) = mix.coefficients(mix.enter(d, 0));
        (low(a), low(b))
    }),
    ("starts of two stages", |mix, d| {
        let state = mix.enter(d, 0);
        (place(state.0), place(mix.enter(state, 256).0))
    }),
    ("fingerprints of two stages", |mix, d| {
        let state = mix.enter(d, 0);
        (low(state.1), low(mix.enter(state, 256).1))
    }),
    ("starts of two attempts", |mix, d| {
        let state = mix.enter(d, 0);
        (place(mix.enter(state, 256).0), place(mix.enter(state, 257).0))
    }),
    ("starts of two levels", |mix, d| {
        let start = |salt| place(mix.enter(mix.enter(d, salt), 0).0);
        (start(0), start(1))
    }),
    ("fingerprints of two levels", |mix, d| {
        let fingerprint = |salt| low(mix.enter(mix.enter(d, salt), 0).1);
        (fingerprint(0), fingerprint(1))
    }),
    ("fingerprints of levels and tags", |mix, d| {
        let fingerprint = |salt| low(mix.enter(mix.enter(d, salt), 0).1);
        (fingerprint(2), fingerprint(0xffff_ff02))
    }),
    ("fingerprints of base and layer", |mix, d| {
        (low(mix.enter(d, 0).1), low(mix.enter(mix.enter(d, 0), 0).1))
    }),
    ("start of base, fingerprint of layer", |mix, d| {
        (place(mix.enter(d, 0).0), low(mix.enter(mix.enter(d, 0), 0).1))
    }),
    ("probes 0 and 1", |mix, d| {
        let state = mix.enter(d, 0);
        (place(mix.probe(state, 0)), place(mix.probe(state, 1)))
    }),
    ("probes 0 and 2", |mix, d| {
        let state = mix.enter(d, 0);
        (place(mix.probe(state, 0)), place(mix.probe(state, 2)))
    }),
    ("probes 1 and 19", |mix, d| {
        let state = mix.enter(d, 0);
        (place(mix.probe(state, 1)), place(mix.probe(state, 19)))
    }),
    ("bucket and fingerprint of a cuckoo filter", |mix, d| {
        let (a, b) = mix.enter(d, 0);
        (place(a), place(b))
    }),
    ("start, fingerprint in a shard", |mix, (a, b)| {
        // All keys of one of 65,536 have the same first bits.
        let (a, b) = mix.enter((0xabcd_0000 | a & 0xffff, b), 0);
        (place(a), low(b))
    }),
    ("start, coefficients in a slot", |mix, (a, b)| {
        let (a, b) = mix.enter((7 << 27 | a & 0x7ff_ffff, b), 0);
        (place(a), low(mix.coefficients((a, b)).1))
    }),
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
    let [hashed, mixed] = ["--hash", "--mix"].map(|name| option(name).unwrap_or_default());
    for family in FAMILIES.iter().filter(|family| family.name.contains(&only)) {
        let count = 1_u64 << bits.min(family.most);
        let begun = Instant::now();
        for (name, hash) in HASHES.iter().filter(|(name, _)| name.contains(&hashed)) {
            let mut key = Vec::new();
            let digests: Vec<u64> = (0..count)
                .map(|i| {
                    key.clear();
                    (family.write)(i, &mut key);
                    hash(&key)
                })
                .collect();
            println!("{:32} {name:8} equal {}", family.name, pairs(&mut digests.clone()));
            for mix in MIXES.iter().filter(|mix| mix.name.contains(&mixed)) {
                let mut worst = (f64::MIN, "");
                let mut line = String::new();
                for (window, values) in WINDOWS {
                    let width = count.ilog2() - 3;
                    let value = |d: &u64| {
                        let (one, other) = values(*mix, ((d >> 32) as u32, *d as u32));
                        let bits = |value: u32| u64::from(value) & ((1 << width) - 1);
                        bits(one) << width | bits(other)
                    };
                    let mut values: Vec<u64> = digests.iter().map(value).collect();
                    // n^2 / 2^(2 width + 1). In a shard, 48 bits of a digest are left, and equal ones give equal values.
                    let of_equal = if window.ends_with("in a shard") { 2_f64.powi(-49) } else { 0.0 };
                    let expected = 32.0 + (count as f64).powi(2) * of_equal;
                    let z = (pairs(&mut values) as f64 - expected) / expected.sqrt();
                    if z > worst.0 {
                        worst = (z, window);
                    }
                    if z > 5.0 {
                        line += &format!("; {window}: {z:.0}");
                    }
                }
                println!("    {:24} at most {:.1}, {}{line}", mix.name, worst.0, worst.1);
            }
        }
        eprintln!("{}: {:?}", family.name, begun.elapsed());
    }
}
