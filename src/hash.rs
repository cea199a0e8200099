//! Turns a key's bytes into its 64-bit digest, from which every filter derives everything else. Imports no other
//! module.
//!
//! The digest is XXH64 (<https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md>), seeded. It is the
//! fastest good hash that WebAssembly runs at native speed: XXH3, wyhash and rapidhash need the high half of a
//! 64 x 64 bit product, which costs ten times as much there. FORMAT.md section 3.

use std::hash::Hasher;

use sha1::{Digest, Sha1};
use twox_hash::XxHash64;

/// A full-period multiplier for 64-bit congruential generators with good spectra in 2 to 8 dimensions. Steele and Vigna
/// 2022, "Computationally easy, spectrally good multipliers for congruential pseudorandom number generators", table 6.
pub(crate) const MULTIPLIER: u64 = 0xf135_7aea_2e62_a9c5;

/// 2^64 divided by the golden ratio: bits without a pattern. Knuth, "The Art of Computer Programming", section 6.4.
pub(crate) const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// The digest of a key under a seed: XXH64.
// Not inlined: otherwise the wasm has a kilobyte at every caller. The call costs a nanosecond.
#[cfg_attr(target_arch = "wasm32", inline(never))]
#[cfg_attr(not(target_arch = "wasm32"), inline)]
pub fn digest(seed: u64, key: &[u8]) -> u64 {
    XxHash64::oneshot(seed, key)
}

/// The SHA-1 of some bytes.
// One copy in the wasm, too.
#[inline(never)]
pub(crate) fn sha1(bytes: &[u8]) -> [u8; 20] {
    Sha1::digest(bytes).into()
}

/// The [`digest`] with seed 0 of bytes that are in several parts.
pub(crate) fn digest_of_parts<'a>(parts: impl Iterator<Item = &'a [u8]>) -> u64 {
    let mut hasher = XxHash64::with_seed(0);
    parts.for_each(|part| hasher.write(part));
    hasher.finish()
}

/// The [`digest`] with seed 0 of bytes that still grow at their end.
#[derive(Debug, Clone)]
pub(crate) struct Checksum {
    hasher: XxHash64,
    /// How many bytes were hashed so far.
    taken: usize,
}

impl Default for Checksum {
    fn default() -> Self {
        Checksum { hasher: XxHash64::with_seed(0), taken: 0 }
    }
}

impl Checksum {
    /// Hashes what was appended to the bytes since the last call.
    // Not inlined, so that V8 optimises it while a blob still arrives.
    #[inline(never)]
    pub(crate) fn advance(&mut self, bytes: &[u8]) {
        self.hasher.write(bytes.get(self.taken..).unwrap_or_default());
        self.taken = self.taken.max(bytes.len());
    }

    /// The digest of the bytes. They may be fewer than were hashed so far.
    pub(crate) fn finish(mut self, bytes: &[u8]) -> u64 {
        if self.taken > bytes.len() {
            return digest(0, bytes);
        }
        self.advance(bytes);
        self.hasher.finish()
    }
}

/// The high 64 bits of `x * range`, for a `range` of 32 bits. This spreads `x` evenly over `0..range`.
#[inline]
pub fn spread(x: u64, range: u32) -> u32 {
    #[cfg(not(target_arch = "wasm32"))]
    return ((u128::from(x) * u128::from(range)) >> 64) as u32;
    #[cfg(target_arch = "wasm32")]
    spread_by_halves(x, range)
}

/// Two products of 32 x 32 bits instead of one of 64 x 64: WebAssembly can't compute the high half of that.
#[cfg(any(test, target_arch = "wasm32"))]
fn spread_by_halves(x: u64, range: u32) -> u32 {
    let range = u64::from(range);
    let low = ((x & 0xffff_ffff) * range) >> 32;
    (((x >> 32) * range + low) >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checksum_is_the_digest_however_the_bytes_come() {
        let bytes: Vec<u8> = (0..300_u64).flat_map(|i| (i * i * 7919).to_le_bytes()).take(300).collect();
        for length in 0..=bytes.len() {
            let bytes = &bytes[..length];
            for pieces in [1, 7, 31, 32, 33, 100] {
                let mut checksum = Checksum::default();
                (0..length).step_by(pieces).for_each(|end| checksum.advance(&bytes[..end]));
                assert_eq!(checksum.clone().finish(bytes), digest(0, bytes), "{length} bytes by {pieces}");
                // The checksum may have hashed bytes that turn out not to belong to the blob.
                let shorter = &bytes[..length.saturating_sub(40)];
                assert_eq!(checksum.finish(shorter), digest(0, shorter), "{length} bytes by {pieces}");
            }
        }
    }

    /// From the xxHash specification's reference implementation (`xxhsum -H64`) and its sanity test vectors.
    #[test]
    fn xxh64_vectors() {
        assert_eq!(digest(0, b""), 0xef46_db37_51d8_e999);
        assert_eq!(digest(0, b"a"), 0xd24e_c4f1_a98c_6e5b);
        assert_eq!(digest(0, b"abc"), 0x44bc_2cf5_ad77_0999);
        assert_eq!(digest(0x9e37_79b1, b""), 0xac75_fda2_929b_17ef);
    }

    #[test]
    fn both_ways_to_spread_agree() {
        for x in [0, 1, 0xffff_ffff, 0x1_0000_0000, 0x0123_4567_89ab_cdef, u64::MAX] {
            for range in [1, 2, 3, 1000, 0x8000_0001, u32::MAX] {
                assert_eq!(spread_by_halves(x, range), spread(x, range));
            }
        }
    }
}
