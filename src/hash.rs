//! A key's bytes to its 64-bit digest, from which every filter derives everything else. Knows no other module but `error`.
//!
//! The digest is XXH64 (<https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md>), seeded. It is the
//! fastest good hash that WebAssembly runs at native speed: XXH3, wyhash and rapidhash need the high half of a
//! 64 x 64 bit product, which costs ten times as much there. FORMAT.md section 3.

use alloc::vec::Vec;

use twox_hash::XxHash64;

use crate::error::Result;
#[cfg(any(test, not(feature = "parallel")))]
use crate::error::copied;

/// A full-period multiplier for 64-bit congruential generators with good spectra in 2 to 8 dimensions. Steele and Vigna
/// 2022, "Computationally easy, spectrally good multipliers for congruential pseudorandom number generators", table 6.
pub(crate) const MULTIPLIER: u64 = 0xf135_7aea_2e62_a9c5;

/// 2^64 divided by the golden ratio: bits without a pattern. Knuth, "The Art of Computer Programming", section 6.4.
pub(crate) const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// The digest of a key under a seed.
// One copy in the wasm instead of a kilobyte at every caller; the call costs a nanosecond.
#[cfg_attr(target_arch = "wasm32", inline(never))]
#[cfg_attr(not(target_arch = "wasm32"), inline)]
pub fn digest(seed: u64, key: &[u8]) -> u64 {
    XxHash64::oneshot(seed, key)
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
