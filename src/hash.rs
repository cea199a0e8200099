//! A key's bytes to its 64-bit digest, from which every filter derives everything else. Knows no other module but `error`.
//!
//! The digest is XXH64 (<https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md>), seeded. It is the
//! fastest good hash that WebAssembly runs at native speed: XXH3, wyhash and rapidhash need the high half of a
//! 64 x 64 bit product, which costs ten times as much there. FORMAT.md section 3.
//!
//! It is written out here, for blobs are hashed while they arrive: the crates' hashers of streams can panic, as the
//! compiler sees it, and are 0.3 (twox-hash) to 1.4 kB (xxhash-rust) of a page's 20. twox-hash is the tests' oracle.

use alloc::vec::Vec;

use crate::error::Result;
#[cfg(any(test, not(feature = "parallel")))]
use crate::error::copied;

/// A full-period multiplier for 64-bit congruential generators with good spectra in 2 to 8 dimensions. Steele and Vigna
/// 2022, "Computationally easy, spectrally good multipliers for congruential pseudorandom number generators", table 6.
pub(crate) const MULTIPLIER: u64 = 0xf135_7aea_2e62_a9c5;

/// 2^64 divided by the golden ratio: bits without a pattern. Knuth, "The Art of Computer Programming", section 6.4.
pub(crate) const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

// The primes of XXH64.
const PRIME_1: u64 = 0x9e37_79b1_85eb_ca87;
const PRIME_2: u64 = 0xc2b2_ae3d_27d4_eb4f;
const PRIME_3: u64 = 0x1656_67b1_9e37_79f9;
const PRIME_4: u64 = 0x85eb_ca77_c2b2_ae63;
const PRIME_5: u64 = 0x27d4_eb2f_1656_67c5;

/// The digest of a key under a seed: XXH64.
// One copy in the wasm instead of a kilobyte at every caller; the call costs a nanosecond.
#[cfg_attr(target_arch = "wasm32", inline(never))]
#[cfg_attr(not(target_arch = "wasm32"), inline)]
pub fn digest(seed: u64, key: &[u8]) -> u64 {
    let mut lanes = Lanes::new(seed);
    let rest = lanes.take_stripes(key);
    lanes.finish(seed, key.len(), rest)
}

/// What XXH64 has made of whole stripes of 32 bytes.
#[derive(Debug, Clone)]
struct Lanes([u64; 4]);

impl Lanes {
    fn new(seed: u64) -> Self {
        let first = seed.wrapping_add(PRIME_1).wrapping_add(PRIME_2);
        Lanes([first, seed.wrapping_add(PRIME_2), seed, seed.wrapping_sub(PRIME_1)])
    }

    /// Takes all whole stripes from the front, and returns what is left.
    #[inline]
    fn take_stripes<'a>(&mut self, mut bytes: &'a [u8]) -> &'a [u8] {
        let [mut a, mut b, mut c, mut d] = self.0;
        while let Some((stripe, rest)) = bytes.split_first_chunk::<32>() {
            let word = |i: usize| stripe.as_chunks().0.get(i).map_or(0, |&word| u64::from_le_bytes(word));
            a = round(a, word(0));
            b = round(b, word(1));
            c = round(c, word(2));
            d = round(d, word(3));
            bytes = rest;
        }
        self.0 = [a, b, c, d];
        bytes
    }

    /// The digest of `length` bytes, of which the last, less than 32, are still to be taken.
    // One copy for a page; elsewhere 3 % of a query are worth more than its 300 bytes.
    #[cfg_attr(all(target_arch = "wasm32", not(feature = "full")), inline(never))]
    #[cfg_attr(any(not(target_arch = "wasm32"), feature = "full"), inline(always))]
    fn finish(&self, seed: u64, length: usize, mut rest: &[u8]) -> u64 {
        let [a, b, c, d] = self.0;
        let mut x = if length < 32 {
            seed.wrapping_add(PRIME_5)
        } else {
            let sum = a.rotate_left(1).wrapping_add(b.rotate_left(7));
            let sum = sum.wrapping_add(c.rotate_left(12)).wrapping_add(d.rotate_left(18));
            let merge = |x: u64, lane| (x ^ round(0, lane)).wrapping_mul(PRIME_1).wrapping_add(PRIME_4);
            merge(merge(merge(merge(sum, a), b), c), d)
        };
        x = x.wrapping_add(length as u64);
        while let Some((&word, after)) = rest.split_first_chunk() {
            x ^= round(0, u64::from_le_bytes(word));
            x = x.rotate_left(27).wrapping_mul(PRIME_1).wrapping_add(PRIME_4);
            rest = after;
        }
        while let Some((&half, after)) = rest.split_first_chunk() {
            x ^= u64::from(u32::from_le_bytes(half)).wrapping_mul(PRIME_1);
            x = x.rotate_left(23).wrapping_mul(PRIME_2).wrapping_add(PRIME_3);
            rest = after;
        }
        for &byte in rest {
            x ^= u64::from(byte).wrapping_mul(PRIME_5);
            x = x.rotate_left(11).wrapping_mul(PRIME_1);
        }
        x = (x ^ x >> 33).wrapping_mul(PRIME_2);
        x = (x ^ x >> 29).wrapping_mul(PRIME_3);
        x ^ x >> 32
    }
}

/// The [`digest`] under the seed 0 of bytes that are still growing at their end.
#[derive(Debug, Clone)]
pub(crate) struct Checksum {
    lanes: Lanes,
    /// How many bytes are in the lanes.
    taken: usize,
}

impl Default for Checksum {
    fn default() -> Self {
        Checksum { lanes: Lanes::new(0), taken: 0 }
    }
}

impl Checksum {
    /// Takes whole stripes of what has been appended to the bytes since.
    #[inline(never)]
    pub(crate) fn advance(&mut self, bytes: &[u8]) {
        let new = bytes.get(self.taken..).unwrap_or_default();
        self.taken += new.len() - self.lanes.take_stripes(new).len();
    }

    /// The digest of the bytes.
    pub(crate) fn finish(mut self, bytes: &[u8]) -> u64 {
        // There were bytes after the blob's end, and some are in it.
        if self.taken > bytes.len() {
            self = Checksum::default();
        }
        self.advance(bytes);
        self.lanes.finish(0, bytes.len(), bytes.get(self.taken..).unwrap_or_default())
    }
}

#[inline]
fn round(lane: u64, word: u64) -> u64 {
    lane.wrapping_add(word.wrapping_mul(PRIME_2)).rotate_left(31).wrapping_mul(PRIME_1)
}

/// The high 64 bits of `x * range`, for a `range` of 32 bits: an even spread of `x` over `0..range`.
#[inline]
pub fn spread(x: u64, range: u32) -> u32 {
    #[cfg(not(target_arch = "wasm32"))]
    return ((u128::from(x) * u128::from(range)) >> 64) as u32;
    #[cfg(target_arch = "wasm32")]
    spread_by_halves(x, range)
}

/// Two products of 32 x 32 bits instead of one of 64 x 64, whose high half WebAssembly hasn't got.
#[cfg(any(test, target_arch = "wasm32"))]
fn spread_by_halves(x: u64, range: u32) -> u32 {
    let range = u64::from(range);
    let low = ((x & 0xffff_ffff) * range) >> 32;
    (((x >> 32) * range + low) >> 32) as u32
}

/// Sorts digests, ascending, and drops repeated ones; with the feature `parallel` on all cores and in place.
///
/// # Errors
/// [`Error::TooLarge`](crate::Error::TooLarge) if there is no memory for the second array that it takes without that
/// feature; the order is unchanged then.
pub fn sort(digests: &mut Vec<u64>) -> Result<()> {
    #[cfg(feature = "parallel")]
    rayon::slice::ParallelSliceMut::par_sort_unstable(digests.as_mut_slice());
    #[cfg(not(feature = "parallel"))]
    radix_sort(digests)?;
    digests.dedup();
    Ok(())
}

/// By 11 bits at a time from the lowest, which takes a second array of the same length. It is linear in the digests, and
/// smaller in wasm than the standard library's comparison sort.
#[cfg(any(test, not(feature = "parallel")))]
fn radix_sort(digests: &mut Vec<u64>) -> Result<()> {
    const BITS: usize = 11;
    const PASSES: usize = 64_usize.div_ceil(BITS);
    let digit = |digest: u64, pass: usize| (digest >> (pass * BITS)) as usize % (1 << BITS);

    let mut other = copied(digests)?;
    // How many digests have each digit, and then where the next one with it goes.
    let mut places = [[0_usize; 1 << BITS]; PASSES];
    for &digest in digests.iter() {
        for (pass, places) in places.iter_mut().enumerate() {
            places[digit(digest, pass)] += 1;
        }
    }
    for (pass, places) in places.iter_mut().enumerate() {
        let mut next = 0;
        for place in places.iter_mut() {
            next += core::mem::replace(place, next);
        }
        for &digest in digests.iter() {
            let place = &mut places[digit(digest, pass)];
            if let Some(other) = other.get_mut(*place) {
                *other = digest;
            }
            *place += 1;
        }
        core::mem::swap(digests, &mut other);
    }
    Ok(())
}

/// Takes out of sorted digests those that are among others, which are sorted too.
pub fn subtract(digests: &mut Vec<u64>, others: &[u64]) {
    digests.retain(|digest| others.binary_search(digest).is_err());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_to_sort_agree_with_the_standard_one() {
        for length in [0, 1, 2, 255, 10_000] {
            let mut digests: Vec<u64> =
                (0..length).map(|i: u64| digest(i % 7, &(i / 2).to_le_bytes())).collect();
            let mut expected = digests.clone();
            expected.sort();
            let mut by_digits = digests.clone();
            radix_sort(&mut by_digits).unwrap();
            assert_eq!(by_digits, expected);
            expected.dedup();
            sort(&mut digests).unwrap();
            assert_eq!(digests, expected);
        }
    }

    #[test]
    fn digest_and_checksum_agree_with_another_xxh64() {
        let bytes: Vec<u8> = (0..300_u64).flat_map(|i| (i * i * 7919).to_le_bytes()).take(300).collect();
        for length in 0..=bytes.len() {
            let bytes = &bytes[..length];
            for seed in [0, 1, u64::MAX, GOLDEN] {
                assert_eq!(digest(seed, bytes), twox_hash::XxHash64::oneshot(seed, bytes), "{length} bytes");
            }
            for pieces in [1, 7, 31, 32, 33, 100] {
                let mut checksum = Checksum::default();
                (0..length).step_by(pieces).for_each(|end| checksum.advance(&bytes[..end]));
                assert_eq!(checksum.clone().finish(bytes), digest(0, bytes), "{length} bytes by {pieces}");
                // It may have gone on over bytes that turn out not to belong to it.
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
