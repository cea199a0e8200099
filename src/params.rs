//! The formulas for a Bloom filter's number of keys (n), false-positive rate (fpr, p), bits (m) and hashes (k).
//!
//! Sources: Bloom 1970, "Space/time trade-offs in hash coding with allowable errors"; Broder and Mitzenmacher
//! 2004, "Network applications of Bloom filters", section 2. Logarithms come from the `libm` crate, so that
//! native and WebAssembly builders choose the same numbers.
// Imports only `error`.

use std::f64::consts::LN_2;

use crate::error::{Error, Result};

/// The largest number of hashes of a Bloom filter.
pub const MAX_HASHES: u32 = 64;

pub(crate) const BITS: &str = "bits must be a whole number from 1 to 2^32 - 1";
pub(crate) const HASHES: &str = "hashes must be a whole number from 1 to 64";

/// The size of a Bloom filter for a number of keys and a rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Optimal {
    /// Bits in the filter (m), 1 to 2^32 - 1.
    pub bits: u32,
    /// Hashes per key (k), 1 to 64.
    pub hashes: u32,
    /// Bytes for these bits. A blob without a name adds at most 64 more.
    pub bytes: u32,
}

/// A Bloom filter that holds `count` keys at a false-positive rate of `fpr`: m = ceil(-n ln p / (ln 2)^2)
/// and k = max(1, round(m/n ln 2)). A count of 0 is sized as 1. With one or two hashes, rounding k would miss the rate
/// by up to a tenth. So at rates above 2^-2.5 = 0.177 m is ceil(-2 n / ln(1 - sqrt(p))), and above 2^-1.5 = 0.354
/// ceil(-n / ln(1 - p)). For fewer than 1,000 keys these formulas are a little too small, so m is then raised by a few bits
/// until an upper bound of the rate is at most p.
///
/// # Errors
/// [`Error::InvalidParameter`] unless 0 < fpr < 1 and fpr >= 100 n / 2^64: digests have 64 bits, and their collisions
/// alone would exceed a rate near n / 2^64. [`Error::TooLarge`] if the bits would not fit 32 bits (512 MiB).
///
/// ```
/// let optimal = bloom_wasm::params::optimal(1_000_000, 0.01)?;
/// assert_eq!((optimal.bits, optimal.hashes, optimal.bytes), (9_585_059, 7, 1_198_133));
/// # Ok::<(), bloom_wasm::Error>(())
/// ```
pub fn optimal(count: u64, fpr: f64) -> Result<Optimal> {
    require_rate(count, fpr)?;
    smallest(count, fpr)
}

/// Like [`optimal`], for any rate.
fn smallest(count: u64, fpr: f64) -> Result<Optimal> {
    let Optimal { mut bits, hashes, .. } = sized(count, bits_per_key(fpr))?;
    if count < 1000 {
        while upper_bound(count.max(1), bits, hashes) > fpr {
            bits += 1;
        }
    }
    Ok(Optimal { bits, hashes, bytes: bits.div_ceil(8) })
}

/// A rate that few keys don't exceed, unlike [`fpr_for`]: (1 - e^(-k (n + 1/2) / (m - 1)))^k.
///
/// Source: Goel and Gupta 2010, "Small subset queries and Bloom filters using ternary associative memories, with
/// applications", theorem 4.3.
fn upper_bound(count: u64, bits: u32, hashes: u32) -> f64 {
    let set = -libm::expm1(-f64::from(hashes) * (count as f64 + 0.5) / f64::from(bits - 1));
    power(set, hashes.into())
}

/// The size of a filter for this many keys, with this many bits per key.
pub(crate) fn sized(count: u64, bits_per_key: f64) -> Result<Optimal> {
    let count = count.max(1) as f64;
    let bits = libm::ceil(count * bits_per_key);
    if bits > f64::from(u32::MAX) {
        return Err(Error::TooLarge { bytes: (bits / 8.0) as u64 });
    }
    let hashes = libm::round(bits / count * LN_2).max(1.0) as u32;
    let bits = bits as u32;
    Ok(Optimal { bits, hashes, bytes: bits.div_ceil(8) })
}

/// The false-positive rate of `count` keys in `bits` bits with `hashes` hashes, as the textbooks' product form
/// (1 - (1 - 1/m)^(kn))^k. It takes the share of set bits at its mean. From a thousand keys on, that is exact to 1 % at any
/// rate down to 1e-6. For a handful of keys it is too low.
///
/// # Errors
/// [`Error::InvalidParameter`] unless bits >= 1 and 1 <= hashes <= 64.
///
/// ```
/// let fpr = bloom_wasm::params::fpr_for(100, 200, 1)?;
/// assert!((fpr - 0.3942).abs() < 0.0001);
/// # Ok::<(), bloom_wasm::Error>(())
/// ```
pub fn fpr_for(count: u64, bits: u32, hashes: u32) -> Result<f64> {
    require_shape(bits, hashes)?;
    Ok(power(any_of(count.saturating_mul(hashes.into()), 1.0 / f64::from(bits)), hashes.into()))
}

/// Like [`fpr_for`], in the exponential form (1 - e^(-kn/m))^k that most papers quote. The two agree for large m.
///
/// # Errors
/// As [`fpr_for`].
pub fn fpr_exponential(count: u64, bits: u32, hashes: u32) -> Result<f64> {
    require_shape(bits, hashes)?;
    let set = -libm::expm1(-f64::from(hashes) * count as f64 / f64::from(bits));
    Ok(power(set, hashes.into()))
}

/// The largest number of keys for which [`optimal`] needs at most `bits` bits at a rate of `fpr`.
///
/// # Errors
/// [`Error::InvalidParameter`] unless bits >= 1 and [`optimal`] accepts the fpr for one key.
///
/// ```
/// assert_eq!(bloom_wasm::params::count_for(9_585_059, 0.01)?, 1_000_000);
/// # Ok::<(), bloom_wasm::Error>(())
/// ```
pub fn count_for(bits: u32, fpr: f64) -> Result<u64> {
    require_shape(bits, 1)?;
    require_rate(1, fpr)?;
    let mut count = libm::floor(f64::from(bits) / bits_per_key(fpr)) as u64;
    while (1..1000).contains(&count) && smallest(count, fpr)?.bits > bits {
        count -= 1;
    }
    Ok(count)
}

/// `base` to a whole power, by squaring.
// Not inlined, like the next: wasm has several callers.
#[cfg_attr(target_arch = "wasm32", inline(never))]
pub(crate) fn power(mut base: f64, mut exponent: u64) -> f64 {
    let mut product = 1.0;
    while exponent > 0 {
        if exponent % 2 == 1 {
            product *= base;
        }
        base *= base;
        exponent /= 2;
    }
    product
}

/// The chance that at least one of `times` independent events of this chance happens: 1 - (1 - chance)^times, to six
/// digits.
#[cfg_attr(target_arch = "wasm32", inline(never))]
pub(crate) fn any_of(times: u64, chance: f64) -> f64 {
    let mean = times as f64 * chance;
    if mean > 1e-3 {
        // A million events give the same result as more events with a smaller chance, whose digits 1 - chance would
        // lose.
        let times = times.min(1 << 20);
        return 1.0 - power(1.0 - (mean / times as f64).min(1.0), times);
    }
    // The first two terms of the binomial series.
    mean - mean * (mean - chance) / 2.0
}

/// The chance that two given keys share a digest: 2^-64.
const COLLISION: f64 = 1.0 / 18_446_744_073_709_551_616.0;

/// The fewest bits per key with which a Bloom filter reaches this rate.
pub(crate) fn bits_per_key(fpr: f64) -> f64 {
    let bits = -libm::log(fpr) / (LN_2 * LN_2);
    match libm::round(bits * LN_2) as u32 {
        0 | 1 => -1.0 / libm::log(1.0 - fpr),
        2 => -2.0 / libm::log(1.0 - fpr.sqrt()),
        _ => bits,
    }
}

fn require_fpr(fpr: f64) -> Result<()> {
    if fpr > 0.0 && fpr < 1.0 {
        return Ok(());
    }
    Err(Error::rule("fpr must be a number above 0 and below 1"))
}

/// Fails unless 64-bit digests can give this rate to this many keys.
pub(crate) fn require_rate(count: u64, fpr: f64) -> Result<()> {
    require_fpr(fpr)?;
    if fpr < 100.0 * count.max(1) as f64 * COLLISION {
        let rule = "fpr must be at least 100 * count / 2^64, because digests have 64 bits; with the profile url ten \
                    times that";
        return Err(Error::rule(rule));
    }
    Ok(())
}

pub(crate) fn require_shape(bits: u32, hashes: u32) -> Result<()> {
    if bits == 0 {
        return Err(Error::rule(BITS));
    }
    if hashes == 0 || hashes > MAX_HASHES {
        return Err(Error::rule(HASHES));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_sizes() {
        assert_eq!(optimal(1_000_000, 0.01), Ok(Optimal { bits: 9_585_059, hashes: 7, bytes: 1_198_133 }));
        assert_eq!(optimal(0, 0.5), optimal(1, 0.5));
        assert_eq!(optimal(u64::MAX, 0.5).unwrap_err().code(), "invalid_parameter");
        assert_eq!(optimal(1 << 40, 0.01).unwrap_err().code(), "too_large");
    }

    /// The table of a Bloom filter's rates for n = 100, as printed in textbooks to four digits.
    #[test]
    fn known_rates() {
        let table = [
            (1, [0.3942, 0.2214, 0.1536, 0.1176, 0.0952]),
            (3, [0.4704, 0.1473, 0.0610, 0.0306, 0.0174]),
            (5, [0.6535, 0.1855, 0.0579, 0.0217, 0.0094]),
        ];
        for (hashes, rates) in table {
            for (bits, rate) in (200..=1000).step_by(200).zip(rates) {
                let product = fpr_for(100, bits, hashes).unwrap();
                assert!((product - rate).abs() <= 0.000_05, "k = {hashes}, m = {bits}: {product} for {rate}");
                let exponential = fpr_exponential(100, bits, hashes).unwrap();
                assert!((exponential / product - 1.0).abs() < 0.01, "k = {hashes}, m = {bits}");
            }
        }
    }

    #[test]
    fn count_is_the_inverse_of_optimal() {
        for fpr in [0.5, 0.1, 0.01, 1e-3, 1e-6] {
            for count in [1, 2, 10, 999, 12_345, 1_000_000] {
                let bits = optimal(count, fpr).unwrap().bits;
                // ceil may leave room for a few more keys where a key costs less than a bit.
                let fits = count_for(bits, fpr).unwrap();
                assert!(fits >= count, "{count} keys at {fpr} fit {bits} bits, not {fits}");
                assert!(optimal(fits, fpr).unwrap().bits <= bits);
                assert!(optimal(fits + 1, fpr).unwrap().bits > bits);
            }
        }
    }

    #[test]
    fn chances_to_six_digits() {
        for chance in [1.0_f64, 0.5, 0.01, 1e-3, 1e-5, 1e-8, 2.3e-10, 1e-15, 1e-18] {
            for times in [0, 1, 2, 3, 10, 1000, 123_456, 1_000_000_000, 1 << 40, u64::MAX] {
                let exact = -(times as f64 * (-chance).ln_1p()).exp_m1();
                let exact = if times == 0 { 0.0 } else { exact };
                let any = any_of(times, chance);
                assert!((any - exact).abs() <= 1e-6 * exact, "{times} times {chance}: {any} for {exact}");
            }
        }
    }

    #[test]
    fn edges() {
        assert_eq!(fpr_for(0, 1, 1), Ok(0.0));
        assert_eq!(fpr_for(1, 1, 64), Ok(1.0));
        assert_eq!(fpr_for(1, 0, 1).unwrap_err().code(), "invalid_parameter");
        assert_eq!(fpr_for(1, 1, 65).unwrap_err().code(), "invalid_parameter");
        for fpr in [0.0, -0.1, 1.0, 2.0, f64::NAN, f64::INFINITY] {
            assert_eq!(optimal(10, fpr).unwrap_err().code(), "invalid_parameter");
            assert_eq!(count_for(10, fpr).unwrap_err().code(), "invalid_parameter");
        }
    }
}
