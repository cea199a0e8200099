//! The hash functions of other software, each as that software has it. Pure functions of bytes.
//!
//! MurmurHash2, 64A and 3 are Austin Appleby's (<https://github.com/aappleby/smhasher>), FNV-1 and FNV-1a are Fowler,
//! Noll and Vo's (draft-eastlake-fnv). Where a project changed one, the function says how. Sums and products wrap. No
//! function is inlined, since the wasm would get a copy at every caller.

use twox_hash::XxHash64;

/// MurmurHash3_x64_128 of `key` with `suffix`, of at most 16 bytes, after it: the low word first.
#[cfg_attr(target_arch = "wasm32", inline(never))]
pub(super) fn murmur3_x64_128(key: &[u8], suffix: &[u8], seed: u32) -> [u64; 2] {
    const C1: u64 = 0x87c3_7b91_1142_53d5;
    const C2: u64 = 0x4cf5_ad43_2745_937f;
    let mix1 = |k: u64| k.wrapping_mul(C1).rotate_left(31).wrapping_mul(C2);
    let mix2 = |k: u64| k.wrapping_mul(C2).rotate_left(33).wrapping_mul(C1);
    let (blocks, rest) = key.as_chunks::<16>();
    // What is left, and the suffix; zeros after them change nothing.
    let mut tail = [[0; 16]; 2];
    for (byte, &from) in tail.as_flattened_mut().iter_mut().zip(rest.iter().chain(suffix)) {
        *byte = from;
    }
    let [first, second] = tail;
    let (whole, last) = if rest.len() + suffix.len() < 16 { (0, first) } else { (1, second) };
    let [mut h1, mut h2] = [u64::from(seed); 2];
    for i in 0..blocks.len() + whole {
        let [k1, k2] = words(blocks.get(i).unwrap_or(&first));
        h1 = (h1 ^ mix1(k1)).rotate_left(27).wrapping_add(h2).wrapping_mul(5).wrapping_add(0x52dc_e729);
        h2 = (h2 ^ mix2(k2)).rotate_left(31).wrapping_add(h1).wrapping_mul(5).wrapping_add(0x3849_5ab5);
    }
    let [k1, k2] = words(&last);
    let length = (key.len() + suffix.len()) as u64;
    h1 ^= mix1(k1) ^ length;
    h2 ^= mix2(k2) ^ length;
    h1 = h1.wrapping_add(h2);
    h2 = h2.wrapping_add(h1);
    h1 = finish64(h1);
    h2 = finish64(h2);
    h1 = h1.wrapping_add(h2);
    [h1, h2.wrapping_add(h1)]
}

fn words(block: &[u8; 16]) -> [u64; 2] {
    let block = u128::from_le_bytes(*block);
    [block as u64, (block >> 64) as u64]
}

/// The finaliser of MurmurHash3 for 64 bits, which xor filters use by itself.
#[cfg_attr(target_arch = "wasm32", inline(never))]
pub(super) fn finish64(mut h: u64) -> u64 {
    for multiplier in [0xff51_afd7_ed55_8ccd, 0xc4ce_b9fe_1a85_ec53] {
        h = (h ^ h >> 33).wrapping_mul(multiplier);
    }
    h ^ h >> 33
}

/// MurmurHash3_x86_32. With `spark`, as in Apache Spark: each byte after the last whole block is a block of its own,
/// with its sign extended.
#[cfg_attr(target_arch = "wasm32", inline(never))]
pub(crate) fn murmur3_x86_32(key: &[u8], seed: u32, spark: bool) -> u32 {
    let mix = |k: u32| k.wrapping_mul(0xcc9e_2d51).rotate_left(15).wrapping_mul(0x1b87_3593);
    let (blocks, rest) = key.as_chunks();
    let mut h = seed;
    for i in 0..blocks.len() + if spark { rest.len() } else { 0 } {
        let byte = || rest.get(i - blocks.len()).map_or(0, |&byte| byte as i8 as u32);
        let k = blocks.get(i).map_or_else(byte, |&block| u32::from_le_bytes(block));
        h = (h ^ mix(k)).rotate_left(13).wrapping_mul(5).wrapping_add(0xe654_6b64);
    }
    if !spark {
        h ^= mix(number(rest) as u32);
    }
    h ^= key.len() as u32;
    h = (h ^ h >> 16).wrapping_mul(0x85eb_ca6b);
    h = (h ^ h >> 13).wrapping_mul(0xc2b2_ae35);
    h ^ h >> 16
}

/// XXH64.
#[cfg_attr(target_arch = "wasm32", inline(never))]
pub(super) fn xxh64(seed: u64, key: &[u8]) -> u64 {
    XxHash64::oneshot(seed, key)
}

/// MurmurHash64A.
#[cfg_attr(target_arch = "wasm32", inline(never))]
pub(super) fn murmur64a(key: &[u8], seed: u64) -> u64 {
    const M: u64 = 0xc6a4_a793_5bd1_e995;
    let (blocks, rest) = key.as_chunks();
    let mut h = seed ^ (key.len() as u64).wrapping_mul(M);
    for &block in blocks {
        let k = u64::from_le_bytes(block).wrapping_mul(M);
        h = (h ^ (k ^ k >> 47).wrapping_mul(M)).wrapping_mul(M);
    }
    if !rest.is_empty() {
        h = (h ^ number(rest)).wrapping_mul(M);
    }
    h = (h ^ h >> 47).wrapping_mul(M);
    h ^ h >> 47
}

/// MurmurHash2 for 32 bits.
#[cfg_attr(target_arch = "wasm32", inline(never))]
pub(super) fn murmur2(key: &[u8], seed: u32) -> u32 {
    const M: u32 = 0x5bd1_e995;
    let (blocks, rest) = key.as_chunks();
    let mut h = seed ^ key.len() as u32;
    for &block in blocks {
        let k = u32::from_le_bytes(block).wrapping_mul(M);
        h = h.wrapping_mul(M) ^ (k ^ k >> 24).wrapping_mul(M);
    }
    if !rest.is_empty() {
        h = (h ^ number(rest) as u32).wrapping_mul(M);
    }
    h = (h ^ h >> 13).wrapping_mul(M);
    h ^ h >> 15
}

/// A little-endian number of at most 8 bytes.
#[cfg_attr(target_arch = "wasm32", inline(never))]
pub(super) fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte))
}

/// FNV-1a for 64 bits over numbers of `width` bytes each, each taken as a whole.
#[cfg_attr(target_arch = "wasm32", inline(never))]
pub(super) fn fnv64(text: &[u8], width: usize, start: u64) -> u64 {
    text.chunks(width).fold(start, |h, item| (h ^ number(item)).wrapping_mul(FNV64_PRIME))
}

/// FNV-1 for 64 bits, which multiplies before it takes a byte.
#[cfg_attr(target_arch = "wasm32", inline(never))]
pub(super) fn fnv1(key: &[u8]) -> u64 {
    key.iter().fold(FNV64, |h, &byte| h.wrapping_mul(FNV64_PRIME) ^ u64::from(byte))
}

/// The multiplier of FNV for 64 bits.
const FNV64_PRIME: u64 = 0x100_0000_01b3;

/// Where FNV-1a and FNV-1 start.
pub(super) const FNV64: u64 = 0xcbf2_9ce4_8422_2325;

/// The 32-bit hash of the npm package `bloomfilter` up to 0.0.19, over UTF-16 code units: FNV-1a of the high byte, unless
/// it is 0, and the low one of each, then [`fnv32_mix`].
#[cfg_attr(target_arch = "wasm32", inline(never))]
pub(super) fn fnv32(text: &[u8], start: u32, signed: bool) -> u32 {
    let byte = |h: u32, byte: u8| (h ^ u32::from(byte)).wrapping_mul(FNV32_PRIME);
    let h = text.as_chunks().0.iter().fold(start, |h, &[low, high]| {
        let h = if high == 0 { h } else { byte(h, high) };
        byte(h, low)
    });
    fnv32_mix(h, signed)
}

/// The multiplier of FNV-1a for 32 bits.
pub(super) const FNV32_PRIME: u32 = 16_777_619;

/// Bob Jenkins's last mix of a 32-bit hash. `signed` shifts right with the sign, as 0.0.12 to 0.0.15 did.
#[cfg_attr(target_arch = "wasm32", inline(never))]
pub(super) fn fnv32_mix(mut h: u32, signed: bool) -> u32 {
    let right = |h: u32, by: u32| if signed { (h as i32 >> by) as u32 } else { h >> by };
    h = h.wrapping_add(h << 13);
    h ^= right(h, 7);
    h = h.wrapping_add(h << 3);
    h ^= right(h, 17);
    h.wrapping_add(h << 5)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The values that the original libraries gave for 72 keys.
    #[test]
    fn hashes_of_the_originals() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/interop/_hashes/hashes.json");
        let file: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
        let number = |value: &serde_json::Value| value.as_str().unwrap().parse::<u64>().unwrap();
        let keys = file["keys"].as_array().unwrap();
        assert_eq!(keys.len(), 72);
        for entry in keys {
            let key = entry["key"].as_str().unwrap().as_bytes();
            let [low, high] = murmur3_x64_128(key, b"", 0);
            assert_eq!([low, high], [0, 1].map(|i| number(&entry["murmur3_x64_128_seed0"][i])));
            for seed in 0..4 {
                let expected = entry["murmur3_x86_32_i32_seed0to3"][seed].as_i64().unwrap();
                assert_eq!(i64::from(murmur3_x86_32(key, seed as u32, false) as i32), expected);
            }
            let spark = &entry["spark_murmur3_x86_32_i32"];
            let h1 = murmur3_x86_32(key, 0, true);
            assert_eq!(i64::from(h1 as i32), spark["seed0"].as_i64().unwrap());
            assert_eq!(i64::from(murmur3_x86_32(key, h1, true) as i32), spark["seed_h1"].as_i64().unwrap());
            assert_eq!(xxh64(0, key), number(&entry["xxh64_seed0"]));
            assert_eq!(xxh64(0x3456_7891, key), number(&entry["xxh64_seed_0x34567891"]));
            // Go's first two locations are the low word of the first hash, and the high ones of both together.
            let after = murmur3_x64_128(key, &[1], 0);
            let locations = &entry["go_bloom_Locations_k9_u64"];
            assert_eq!(low, number(&locations[0]));
            assert_eq!(high.wrapping_add(after[1]), number(&locations[1]));
            assert_eq!(after, murmur3_x64_128(&[key, &[1]].concat(), b"", 0));
        }
    }

    /// SMHasher's own sanity check of MurmurHash64A and MurmurHash2: the hash of the hashes of {}, {0}, {0, 1} ...
    #[test]
    fn murmur2_verification_codes() {
        let key: Vec<u8> = (0..=255).collect();
        let of = |i: usize| (&key[..i], 256 - i as u32);
        let hashes: Vec<u8> =
            (0..256).flat_map(|i| murmur64a(of(i).0, of(i).1.into()).to_le_bytes()).collect();
        assert_eq!(murmur64a(&hashes, 0) as u32, 0x1f0d_3804);
        let hashes: Vec<u8> = (0..256).flat_map(|i| murmur2(of(i).0, of(i).1).to_le_bytes()).collect();
        assert_eq!(murmur2(&hashes, 0), 0x27864c1e);
    }
}
