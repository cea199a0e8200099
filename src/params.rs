//! The formulas for a Bloom filter's number of keys (n), false-positive rate (fpr, p), bits (m) and hashes (k).
//!
//! Sources: Bloom 1970, "Space/time trade-offs in hash coding with allowable errors"; Broder and Mitzenmacher
//! 2004, "Network applications of Bloom filters", section 2. Logarithms come from the `libm` crate, so that
//! native and WebAssembly builders choose the same numbers.
// Imports only `error` and `vectors`.

use std::f64::consts::LN_2;

use crate::error::{Error, Result};
use crate::vectors::zeroed;

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

/// The smallest Bloom filter that holds `count` keys at a false-positive rate of `fpr`: m = ceil(-n ln p / (ln 2)^2)
/// and k = max(1, round(m/n ln 2)). A count of 0 is sized as 1. With one or two hashes, rounding k would miss the rate
/// by up to a tenth. So at rates above 2^-2.5 = 0.177 m is ceil(-2 n / ln(1 - sqrt(p))), and above 2^-1.5 = 0.354
/// ceil(-n / ln(1 - p)). Below 1,000 keys, m is then raised by a few bits until the exact rate, which is the mean of
/// (set bits / m)^k, is at most p.
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
        while is_above(count.max(1), bits, hashes, fpr)? {
            bits += 1;
        }
    }
    Ok(Optimal { bits, hashes, bytes: bits.div_ceil(8) })
}

/// Whether [`mean_rate`] is above a rate.
fn is_above(count: u64, bits: u32, hashes: u32, fpr: f64) -> Result<bool> {
    let probes = count * u64::from(hashes);
    if probes <= EXACT {
        let (rate, error) = quick_rate(probes, bits, hashes);
        if (rate - fpr).abs() > error {
            return Ok(rate > fpr);
        }
    }
    Ok(mean_rate(count, bits, hashes)? > fpr)
}

/// The mean of (set bits / m)^k, and how far from [`exact_rate`] it may be. The time is proportional to k^2.
///
/// Let c(r, j) be the chance that j given bits are not set, and r random ones are. Then c(0, j) = (1 - j/m)^probes, and
/// c(r + 1, j) = (1 - j/m) (c(r, j) - c(r, j + 1)), because one more random bit is not set if it is one of the j, or
/// another that makes them j + 1. The mean is c(k, 0). Each difference doubles the errors, so all numbers have 32
/// digits.
fn quick_rate(probes: u64, bits: u32, hashes: u32) -> (f64, f64) {
    let mut chances = [Double(0.0, 0.0); MAX_HASHES as usize + 1];
    let chances = &mut chances[..=hashes as usize];
    for (j, chance) in chances.iter_mut().enumerate() {
        *chance = Double::share(j, bits).power(probes);
    }
    for left in (1..=hashes as usize).rev() {
        for j in 0..left {
            if let Some([chance, next]) = chances.get_mut(j..j + 2) {
                *chance = chance.minus(*next).times(Double::share(j, bits));
            }
        }
    }
    let rate = chances.first().map_or(0.0, |rate| rate.0);
    (rate, rate * 1e-9 + power(2.0, hashes.into()) * 1e-27)
}

/// A number as the sum of two, the second of which is too small to change the first: 32 digits.
///
/// Source: Dekker 1971, "A floating-point technique for extending the available precision".
#[derive(Clone, Copy)]
struct Double(f64, f64);

impl Double {
    /// 1 - j / m, or 0.
    fn share(j: usize, bits: u32) -> Self {
        let (m, rest) = (f64::from(bits), f64::from(bits.saturating_sub(j as u32)));
        let first = rest / m;
        let Double(product, error) = Self::product(first, m);
        Double(first, (rest - product - error) / m)
    }

    /// a b.
    #[cfg_attr(target_arch = "wasm32", inline(never))]
    fn product(a: f64, b: f64) -> Self {
        // Halves of 26 bits, whose products are exact.
        let half = |x: f64| {
            let scaled = x * 134_217_729.0;
            scaled - (scaled - x)
        };
        let (product, a1, b1) = (a * b, half(a), half(b));
        let (a2, b2) = (a - a1, b - b1);
        Double(product, a1 * b1 - product + a1 * b2 + a2 * b1 + a2 * b2)
    }

    #[cfg_attr(target_arch = "wasm32", inline(never))]
    fn times(self, other: Self) -> Self {
        let Double(product, error) = Self::product(self.0, other.0);
        Self::joined(product, error + self.0 * other.1 + self.1 * other.0)
    }

    /// Subtracts a number that isn't larger.
    fn minus(self, other: Self) -> Self {
        let first = self.0 - other.0;
        Self::joined(first, self.0 - first - other.0 + (self.1 - other.1))
    }

    /// By squaring.
    fn power(mut self, mut exponent: u64) -> Self {
        let mut product = Double(1.0, 0.0);
        while exponent > 0 {
            if exponent % 2 == 1 {
                product = product.times(self);
            }
            self = self.times(self);
            exponent /= 2;
        }
        product
    }

    fn joined(first: f64, second: f64) -> Self {
        let sum = first + second;
        Double(sum, second - (sum - first))
    }
}

/// Up to this many probes, [`mean_rate`] is exact.
const EXACT: u64 = 4096;

/// The mean of (set bits / m)^k, which is the rate for a small number of keys. Up to 4,096 probes it is exact. Beyond,
/// where k is below n, it is the second-order series about the mean of the set bits, exact to a few thousandths.
///
/// Source: Bose et al. 2008, "On the false-positive rate of Bloom filters".
fn mean_rate(count: u64, bits: u32, hashes: u32) -> Result<f64> {
    let probes = count * u64::from(hashes);
    if probes <= EXACT {
        return exact_rate(probes, bits, hashes);
    }
    let (m, k) = (f64::from(bits), f64::from(hashes));
    // The chances that one given bit, and that two given bits, are never hit. They give the variance of the share of
    // set bits.
    let (one, two) = (power(1.0 - 1.0 / m, probes), power(1.0 - 2.0 / m, probes));
    let variance = one / m + (1.0 - 1.0 / m) * two - one * one;
    let share = 1.0 - one;
    Ok(power(share, hashes.into()) * (1.0 + k * (k - 1.0) / 2.0 * variance / (share * share)))
}

/// Each probe sets one more bit, unless it hits one that is set already. The time is proportional to probes sqrt(m).
fn exact_rate(probes: u64, bits: u32, hashes: u32) -> Result<f64> {
    let share = |set: usize| set as f64 / f64::from(bits);
    // The chance of each number of set bits. Only those from `least` to `most` are likelier than one in 10^30; the
    // others change no digit.
    let mut chances: Vec<f64> = zeroed(bits as usize + 1)?;
    chances[0] = 1.0;
    let (mut least, mut most) = (0, 0);
    for _ in 0..probes {
        most = (most + 1).min(bits as usize);
        for set in (least + 1..=most).rev() {
            chances[set] = chances[set] * share(set) + chances[set - 1] * (1.0 - share(set - 1));
        }
        chances[least] *= share(least);
        while chances[least] < 1e-30 {
            least += 1;
        }
        while chances[most] < 1e-30 {
            most -= 1;
        }
    }
    Ok((least..=most).map(|set| chances[set] * power(share(set), hashes.into())).sum())
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

    /// Compares with a search that computes the exact rate each time. It takes milliseconds.
    #[test]
    fn the_quick_rate_leads_to_the_same_sizes() {
        for fpr in [0.99, 0.9, 0.5, 0.3, 0.2, 0.1, 0.03, 0.01, 1e-3, 1e-4, 1e-5, 1e-6, 1e-9, 1e-12, 1e-16] {
            for count in [1, 2, 3, 4, 5, 7, 10, 13, 20, 33, 50, 77, 100, 150, 222, 300, 409, 410, 600, 999] {
                let Optimal { mut bits, hashes, .. } = sized(count, bits_per_key(fpr)).unwrap();
                while mean_rate(count, bits, hashes).unwrap() > fpr {
                    bits += 1;
                }
                assert_eq!(smallest(count, fpr).unwrap().bits, bits, "{count} keys at {fpr}");
            }
        }
    }

    /// If it decided nothing, sizes would still be right, but slow to compute.
    #[test]
    fn the_quick_rate_decides() {
        let mut undecided = 0;
        for fpr in [0.9, 0.5, 0.1, 0.01, 1e-3, 1e-4, 1e-5, 1e-6, 1e-9, 1e-11] {
            for count in 1..1000 {
                let Optimal { bits, hashes, .. } = smallest(count, fpr).unwrap();
                if count * u64::from(hashes) > EXACT {
                    continue;
                }
                for bits in bits.saturating_sub(3).max(1)..bits + 3 {
                    let (rate, error) = quick_rate(count * u64::from(hashes), bits, hashes);
                    undecided += u32::from((rate - fpr).abs() <= error);
                }
            }
        }
        // One key in two bits has a rate of exactly a half.
        assert_eq!(undecided, 1);
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
