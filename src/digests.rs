//! Sets of digests: sorted, without duplicates. Knows no filter.

use crate::error::Result;
use crate::hash::spread;
#[cfg(any(test, not(feature = "parallel")))]
use crate::vectors::copied;
use crate::vectors::{push, zeroed};

/// Sorts digests in ascending order and drops repeated ones. With the feature `parallel`, it uses all cores and no
/// second array.
///
/// # Errors
/// Without that feature, [`Error::TooLarge`](crate::Error::TooLarge) if there is no memory for the second array; the
/// order is then unchanged.
pub fn sort(digests: &mut Vec<u64>) -> Result<()> {
    #[cfg(feature = "parallel")]
    rayon::slice::ParallelSliceMut::par_sort_unstable(digests.as_mut_slice());
    #[cfg(not(feature = "parallel"))]
    radix_sort(digests)?;
    digests.dedup();
    Ok(())
}

/// A radix sort by 11 bits at a time, from the lowest, with a second array of the same length. It is linear in the
/// digests, and smaller in wasm than the standard library's comparison sort.
#[cfg(any(test, not(feature = "parallel")))]
fn radix_sort(digests: &mut Vec<u64>) -> Result<()> {
    const BITS: usize = 11;
    const PASSES: usize = 64_usize.div_ceil(BITS);
    if digests.is_empty() {
        return Ok(());
    }
    let digit = |digest: u64, pass: usize| (digest >> (pass * BITS)) as usize % (1 << BITS);

    let mut other = copied(digests)?;
    // First the number of digests with each digit, then the place where the next digest with that digit goes.
    let mut places = [[0_usize; 1 << BITS]; PASSES];
    for &digest in digests.iter() {
        for (pass, places) in places.iter_mut().enumerate() {
            places[digit(digest, pass)] += 1;
        }
    }
    for (pass, places) in places.iter_mut().enumerate() {
        let mut next = 0;
        for place in places.iter_mut() {
            next += std::mem::replace(place, next);
        }
        for &digest in digests.iter() {
            let place = &mut places[digit(digest, pass)];
            if let Some(other) = other.get_mut(*place) {
                *other = digest;
            }
            *place += 1;
        }
        std::mem::swap(digests, &mut other);
    }
    Ok(())
}

/// Removes some digests from others. Both are sorted.
pub fn subtract(digests: &mut Vec<u64>, others: &[u64]) {
    let mut others = others.iter().peekable();
    digests.retain(|digest| {
        while others.next_if(|&other| other < digest).is_some() {}
        others.peek() != Some(&digest)
    });
}

/// The digests that pass the test.
pub(crate) fn select(digests: &[u64], test: &dyn Fn(u64) -> bool) -> Result<Vec<u64>> {
    let mut selected = Vec::new();
    for &digest in digests {
        if test(digest) {
            push(&mut selected, digest)?;
        }
    }
    Ok(selected)
}

/// The distinct digests that pass the test and aren't live, in ascending order.
pub fn nonmembers(digests: &[u64], live: &[u64], test: &dyn Fn(u64) -> bool) -> Result<Vec<u64>> {
    let mut found = select(digests, test)?;
    if found.is_empty() {
        return Ok(found);
    }
    sort(&mut found)?;
    let mut is_live: Vec<u8> = zeroed(found.len())?;
    for digest in live {
        let found = found.binary_search(digest).ok();
        if let Some(found) = found.and_then(|i| is_live.get_mut(i)) {
            *found = 1;
        }
    }
    let mut is_live = is_live.into_iter();
    found.retain(|_| is_live.next() == Some(0));
    Ok(found)
}

/// How many different digests there are. They are counted in parts of about 2^18, so that only one part is copied at a
/// time.
pub(crate) fn distinct(digests: &[u64]) -> Result<usize> {
    let parts = (digests.len() >> 18) as u32 + 1;
    let mut total = 0;
    for part in 0..parts {
        let mut found = select(digests, &|digest| spread(digest, parts) == part)?;
        sort(&mut found)?;
        total += found.len();
    }
    Ok(total)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::digest;

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
    fn many_digests_are_counted_in_parts() {
        let digests: Vec<u64> = (0..600_000_u64).map(|i| digest(7, &(i / 2).to_le_bytes())).collect();
        assert_eq!(distinct(&digests), Ok(300_000));
    }
}
