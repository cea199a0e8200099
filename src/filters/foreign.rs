//! Filters of other software, which give the same answer for every key as that software does. FORMAT-FOREIGN.md.
//!
//! Such a filter has four properties: its [`KeyType`], the [`Scheme`] by which a key becomes positions of bits or a
//! fingerprint, the shape of its [`Part`]s, and the bits. The bits are kept in the same order whatever the original's:
//! bit i is byte i / 8, mask 1 << i % 8, and a fingerprint's low byte comes first. `interop` reads and writes the
//! originals' bytes; this module has what every reader of a blob needs.

mod hashes;
mod keys;
mod mersenne;
mod scheme;

pub use keys::KeyType;
pub use scheme::{Format, Scheme};

#[cfg(test)]
pub(crate) use hashes::murmur3_x86_32 as murmur3;

use hashes::{
    FNV32_PRIME, FNV64, finish64, fnv1, fnv32, fnv32_mix, fnv64, murmur2, murmur3_x64_128, murmur3_x86_32,
    murmur64a, number, xxh64,
};

use super::payload::Payload;
use crate::error::{Error, Result};
use crate::hash::{Hashing, high_product};
use crate::params::power;

/// An array of bits, or of fingerprints. A filter that grows has several, and a key in any is maybe present.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// Positions are below this: 1 to 2^40. For a xor filter, the slots in a third; for a binary fuse filter, its
    /// SegmentCountLength.
    pub bits: u64,
    /// The number of bytes that are stored. They may end before the last position; the missing bits are 0.
    pub bytes: u32,
    /// Positions for each key, 1 to 1,024; or the bits of a fingerprint: 8, 16 or 32.
    pub hashes: u16,
}

impl Part {
    /// The fingerprints that there are, and how many of them make a segment of a binary fuse filter.
    #[cfg_attr(target_arch = "wasm32", inline(never))]
    fn fingerprints(&self) -> (u64, u64) {
        let all = u64::from(self.bytes) * 8 / u64::from(self.hashes);
        (all, all.saturating_sub(self.bits) / 2)
    }
}

/// The rate of a filter with at most this many bits is measured.
const FEW_BITS: u64 = 512;

/// The most hashes. An original may claim more, and with 2^32 a query would take minutes.
pub const MAX_HASHES: u32 = 1024;

/// A filter of other software.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignFilter {
    format: Format,
    scheme: Scheme,
    keys: KeyType,
    /// How the original's bytes are laid out, if there are several ways; only Go's has them.
    layout: u8,
    /// Only the seed of the scheme.
    hashing: Hashing,
    parts: Vec<Part>,
    /// Further parameters: the seeds of the positions, and what only a writer needs.
    note: Vec<u8>,
    bytes: Payload,
}

impl ForeignFilter {
    /// A filter with its shape, still without its bytes.
    pub(crate) fn shaped(
        scheme: Scheme,
        keys: KeyType,
        layout: u8,
        seed: u64,
        parts: Vec<Part>,
        note: Vec<u8>,
    ) -> Result<Self> {
        let format = scheme.format(keys).ok_or(Error::rule(SHAPE))?;
        let filter = ForeignFilter {
            format,
            scheme,
            keys,
            layout,
            hashing: seed.into(),
            parts,
            note,
            bytes: Payload::default(),
        };
        let total = filter.parts.iter().map(|part| u64::from(part.bytes)).sum::<u64>();
        let first = filter.parts.first().map_or(0, |part| usize::from(part.hashes));
        let several = filter.parts.len() > 1;
        let redisbloom = matches!(scheme, Scheme::Murmur64A | Scheme::Murmur2);
        let grows = redisbloom || scheme == Scheme::Xxh32Slices;
        let seeded = matches!(
            scheme,
            Scheme::Spark2
                | Scheme::Xxh32Pair
                | Scheme::Xxh32Slices
                | Scheme::Xor
                | Scheme::BinaryFuse
                | Scheme::Bloom12
        );
        let noted = match scheme {
            Scheme::Go => filter.go_length_holds(),
            Scheme::Seeds => filter.note.len() == 4 * first,
            _ if redisbloom => filter.note.len() == 8 + 33 * filter.parts.len(),
            _ => filter.note.is_empty(),
        };
        let holds = layout < if scheme == Scheme::Go { 8 } else { 1 }
            && (seeded || seed == 0)
            && !filter.parts.is_empty()
            && (!several || grows)
            && filter.parts.iter().all(|part| shape_holds(scheme, part))
            && total <= u64::from(u32::MAX)
            && noted;
        Error::unless(holds, SHAPE)?;
        Ok(filter)
    }

    /// Whether Go's bit set has as many words as its length says. The length is in the note if it differs from the
    /// number of positions.
    fn go_length_holds(&self) -> bool {
        let Some(part) = self.parts.first() else { return false };
        let length = match self.note.as_slice() {
            [] => part.bits,
            note => match note.as_chunks() {
                (&[length], []) if u64::from_le_bytes(length) != part.bits => u64::from_le_bytes(length),
                _ => return false,
            },
        };
        length.div_ceil(64).checked_mul(8) == Some(part.bytes.into())
    }

    /// How many bytes all parts take.
    pub(crate) fn byte_length(&self) -> usize {
        self.parts.iter().map(|part| part.bytes as usize).sum()
    }

    /// Gives the filter its bytes, [`ForeignFilter::byte_length`] of them.
    pub(crate) fn set_bytes(&mut self, bytes: Payload) -> Result<()> {
        debug_assert_eq!(bytes.len(), self.byte_length());
        self.bytes = bytes;
        Ok(())
    }

    /// The software that the filter is from.
    pub fn format(&self) -> Format {
        self.format
    }

    /// How a key becomes positions.
    pub fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// What the keys are.
    pub fn keys(&self) -> KeyType {
        self.keys
    }

    /// How the original's bytes are laid out. For `go-bloom`, 1 = JSON, 2 = a little-endian bit set, 4 = standard
    /// base64.
    pub(crate) fn layout(&self) -> u8 {
        self.layout
    }

    /// The seed of the scheme; there is no secret.
    pub(super) fn hashing(&self) -> &Hashing {
        &self.hashing
    }

    /// The seed of the scheme, 0 where it has none.
    pub fn seed(&self) -> u64 {
        self.hashing.seed()
    }

    /// The arrays, the oldest first. There is one, except in a `redisbloom` that has grown.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// Further parameters, which depend on the scheme.
    pub(crate) fn note(&self) -> &[u8] {
        &self.note
    }

    /// The bits of all parts.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The parts with their bytes.
    fn arrays(&self) -> impl Iterator<Item = (&Part, &[u8])> {
        let mut rest = &self.bytes[..];
        self.parts.iter().map(move |part| {
            let (array, after) = rest.split_at(part.bytes as usize);
            rest = after;
            (part, array)
        })
    }

    /// True = maybe present, false = definitely absent, as the original says. Pass a number as its little-endian bytes,
    /// and a text in UTF-8, or in WTF-8 if [`KeyType::is_wide`].
    ///
    /// Some schemes copy the key; without the memory for that, every key is maybe present. In the formats that
    /// SECURITY.md names, a query takes up to [`MAX_HASHES`] times as long as hashing the key.
    // Not inlined, like some below: wasm has several callers.
    #[cfg_attr(target_arch = "wasm32", inline(never))]
    pub fn has(&self, key: &[u8]) -> bool {
        match self.keys.hashed(key) {
            Ok(Some(key)) => self.arrays().any(|(part, bytes)| self.has_in(part, bytes, &key)),
            Ok(None) => false,
            Err(_) => true,
        }
    }

    fn has_in(&self, part: &Part, bytes: &[u8], key: &[u8]) -> bool {
        if self.scheme.is_static() {
            return self.has_fingerprint(part, bytes, key);
        }
        self.all_positions(part, key, &mut |at| byte(bytes, at).is_some_and(|byte| byte >> (at & 7) & 1 == 1))
    }

    /// Whether a test holds for all positions of a key, as hashed, in a part. Stops at the first for which it doesn't.
    #[cfg_attr(target_arch = "wasm32", inline(never))]
    fn all_positions(&self, part: &Part, key: &[u8], test: &mut dyn FnMut(u64) -> bool) -> bool {
        let (m, signed) = (part.bits, part.bits as i64);
        let start = self.start(m, key);
        // Positions that are a polynomial in i are computed by differences: x grows by y, y by z, and z by w.
        let [mut x, mut y, mut z, w] = start;
        (0..u64::from(part.hashes)).all(|i| {
            let at = match self.scheme {
                Scheme::Go => {
                    let odd = i & 1;
                    let by = start[2 + ((i + odd) as usize & 3) / 2];
                    start[odd as usize].wrapping_add(i.wrapping_mul(by)) % m
                }
                Scheme::Mitz64 => (x & i64::MAX as u64) % m,
                // If the sign bit is set, all bits are flipped.
                Scheme::Mitz32 | Scheme::Spark1 => (x as i32 ^ x as i32 >> 31) as u64 % m,
                Scheme::Spark2 => (x as i64 ^ x as i64 >> 63) as u64 % m,
                Scheme::Mmh3 => {
                    i64::from(murmur3_x86_32(key, i as u32, false) as i32).rem_euclid(signed) as u64
                }
                Scheme::Fnv32Seeded | Scheme::Fnv32B | Scheme::Fnv32BSignedMix => {
                    (x as i64).rem_euclid(signed) as u64
                }
                Scheme::Sbbf => {
                    let block = (x >> 32).wrapping_mul(m / 256) >> 32;
                    let bit = (x as u32).wrapping_mul(SALT[i as usize % 8]) >> 27;
                    block * 256 + i * 32 + u64::from(bit)
                }
                Scheme::Bloom12 => u64::from(high_product(x, (m / 64) as u32)) * 64 + (x & 63),
                Scheme::Seeds => {
                    let seed =
                        self.note.as_chunks().0.get(i as usize).map_or(0, |&seed| u32::from_le_bytes(seed));
                    let [h1, h2] = murmur3_x64_128(key, b"", seed);
                    (h1 ^ h2) % m
                }
                Scheme::FnvStarts => fnv64(key, 4, FNV64.wrapping_add(31 * i)) % m,
                Scheme::Lcg128 => {
                    let state = (u128::from(y) << 64 | u128::from(x)).wrapping_mul(LCG).wrapping_add(1);
                    [x, y] = [state as u64, (state >> 64) as u64];
                    return test((state >> 32) as u64 % m);
                }
                Scheme::Mersenne => {
                    let next = mersenne::next(x, y, start);
                    [x, y] = next;
                    return test(mersenne::remainder(next, m));
                }
                Scheme::Xxh32Slices => {
                    let slice = m / u64::from(part.hashes);
                    i * slice.next_multiple_of(8) + x % slice
                }
                Scheme::Fnv1Prime => {
                    x = x.wrapping_mul(FLOR_G) % FLOR_M;
                    x % m
                }
                _ => x % m,
            };
            x = x.wrapping_add(y);
            y = y.wrapping_add(z);
            z = z.wrapping_add(w);
            test(at)
        })
    }

    /// Where the positions of a key start: x, y, z and w, or four words of hashes.
    #[cfg_attr(target_arch = "wasm32", inline(never))]
    fn start(&self, m: u64, key: &[u8]) -> [u64; 4] {
        let sign = |half: u32| half as i32 as u64;
        match self.scheme {
            Scheme::Go => {
                let ([h0, h1], [h2, h3]) = (murmur3_x64_128(key, b"", 0), murmur3_x64_128(key, &[1], 0));
                [h0, h1, h2, h3]
            }
            Scheme::Mitz64 | Scheme::Lcg128 => {
                let [h1, h2] = murmur3_x64_128(key, b"", 0);
                [h1, h2, 0, 0]
            }
            Scheme::Mitz32 => {
                let [h, _] = murmur3_x64_128(key, b"", 0);
                [h.wrapping_add(h >> 32), h >> 32, 0, 0]
            }
            Scheme::Spark1 | Scheme::Spark2 => {
                let h1 = murmur3_x86_32(key, self.seed() as u32, true);
                let h2 = sign(murmur3_x86_32(key, h1, true));
                let times = if self.scheme == Scheme::Spark1 { 1 } else { 0x7fff_ffff };
                [sign(h1).wrapping_mul(times).wrapping_add(h2), h2, 0, 0]
            }
            Scheme::Murmur64A => {
                let a = murmur64a(key, 0xc6a4_a793_5bd1_e995);
                [a, murmur64a(key, a), 0, 0]
            }
            Scheme::Murmur2 => {
                let a = murmur2(key, 0x9747_b28c);
                [a.into(), murmur2(key, a).into(), 0, 0]
            }
            Scheme::Fnv64 | Scheme::Fnv64Odd => {
                let h = fnv64(key, 2, FNV64);
                let [a, b] = [h >> 32, h].map(|half| (sign(half as u32) as i64).rem_euclid(m as i64) as u64);
                [a, if self.scheme == Scheme::Fnv64Odd { b | 1 } else { b }, 1, 1]
            }
            Scheme::Fnv32Triple => {
                let a = fnv32(key, FNV32, false);
                let b = fnv32_mix(a.wrapping_mul(FNV32_PRIME), false);
                let c = fnv32_mix(b.wrapping_mul(FNV32_PRIME), false);
                let [x, y, z] = [a, b, c].map(|h| u64::from(h & 0x7fff_ffff) % m);
                [x, y | 1, z, 0]
            }
            Scheme::Fnv32Seeded => {
                let [a, b] = [FNV32, FNV32 ^ 1_576_284_489].map(|start| sign(fnv32(key, start, false)));
                [a, b, 0, 0]
            }
            Scheme::Fnv32B | Scheme::Fnv32BSignedMix => {
                let signed = self.scheme == Scheme::Fnv32BSignedMix;
                let a = fnv32(key, FNV32, signed);
                [sign(a), sign(fnv32_mix(a.wrapping_mul(FNV32_PRIME), signed)), 0, 0]
            }
            Scheme::Xxh32Pair | Scheme::Xxh32Slices => {
                let half = |add: f64| {
                    // The seed is a JavaScript number. 0 counts as no seed, and of other seeds only 32 bits matter.
                    let seed = self.seed() as i64 as f64 + add;
                    let seed = if seed == 0.0 { 0x12_3456_7890 } else { seed as i64 };
                    xxh64(u64::from(seed as u32), key) & 0xffff_ffff
                };
                [half(1.0), half(2.0), 1, 1]
            }
            Scheme::Sbbf => [xxh64(0, key), 0, 0, 0],
            Scheme::Mersenne => mersenne::hashes(key, if self.keys == KeyType::Utf32 { 4 } else { 1 }),
            Scheme::Fnv1Prime => [fnv1(key) % FLOR_M, 0, 0, 0],
            Scheme::Bloom12 => {
                let h = self.mixed(key);
                [h.rotate_left(32), h, 0, 0]
            }
            Scheme::Mmh3 | Scheme::Seeds | Scheme::FnvStarts | Scheme::Xor | Scheme::BinaryFuse => [0; 4],
        }
    }

    /// A 64-bit number, mixed with the seed.
    fn mixed(&self, key: &[u8]) -> u64 {
        finish64(number(key).wrapping_add(self.seed()))
    }

    fn has_fingerprint(&self, part: &Part, bytes: &[u8], key: &[u8]) -> bool {
        let h = self.mixed(key);
        let (_, segment) = part.fingerprints();
        let (mask, width) = (segment.wrapping_sub(1), usize::from(part.hashes / 8));
        let start = u64::from(high_product(h, part.bits as u32));
        let mut sum = (h ^ h >> 32) & (u64::MAX >> (64 - part.hashes));
        for j in 0..3 {
            let place = if self.scheme == Scheme::Xor {
                let third = u64::from(h.rotate_left(21 * j) as u32).wrapping_mul(part.bits) >> 32;
                u64::from(j) * part.bits + third
            } else {
                // The first segment uses no bits of h, the second those from bit 18 on, the third the lowest.
                let turn = [0, h >> 18, h].get(j as usize).map_or(0, |turn| turn & mask);
                (start + u64::from(j) * segment) ^ turn
            };
            let at = place as usize * width;
            sum ^= number(&bytes[at..at + width]);
        }
        sum == 0
    }

    /// The chance that a key which was never added is "maybe present", from the present fill: 0 to 1. In a small
    /// filter, positions that are made of two hashes meet far more often than by chance, so its rate is measured, with
    /// up to 8,192 keys.
    #[cfg_attr(target_arch = "wasm32", inline(never))]
    pub fn estimated_fpr(&self) -> f64 {
        if self.bits() <= FEW_BITS && !self.scheme.is_static() {
            return self.measured_fpr();
        }
        1.0 - self.arrays().fold(1.0, |absent, (part, bytes)| {
            let hit = match self.scheme {
                Scheme::Xor | Scheme::BinaryFuse => power(0.5, part.hashes.into()),
                // The chance of hitting a block is the product of its words' shares of set bits.
                Scheme::Sbbf => {
                    let blocks = bytes.as_chunks::<32>().0.iter().map(|block| {
                        block
                            .as_chunks::<4>()
                            .0
                            .iter()
                            .map(|word| f64::from(ones(word) as u32) / 32.0)
                            .product::<f64>()
                    });
                    blocks.sum::<f64>() / (part.bits as f64 / 256.0)
                }
                _ => power(fill(part, bytes), part.hashes.into()),
            };
            absent * (1.0 - hit)
        })
    }

    /// The share of some pseudo-random keys that are maybe present.
    fn measured_fpr(&self) -> f64 {
        let hashes = self.parts.first().map_or(0, |part| part.hashes.into());
        let asked = (1_u32 << 17) / u32::max(hashes, 16);
        let mut hits = 0;
        for i in 0..asked {
            // Texts are ASCII.
            let ascii = if self.keys.width().is_some() { 0 } else { 0x4040_4040_4040_4040 };
            let key = xxh64(0, &i.to_le_bytes()) & !(ascii << 1) | ascii;
            let key = key.to_le_bytes();
            hits += u32::from(self.has(&key[..self.keys.width().unwrap_or(key.len())]));
        }
        f64::from(hits) / f64::from(asked)
    }

    /// About how many different keys the filter holds, by its fill or, for a fixed set, by its size. Infinite when it
    /// is too full to tell.
    #[cfg_attr(target_arch = "wasm32", inline(never))]
    pub fn estimated_count(&self) -> f64 {
        self.arrays().map(|(part, bytes)| self.count_in(part, fill(part, bytes))).sum()
    }

    /// The number of keys that sets half of the bits; for a fixed set, [`ForeignFilter::estimated_count`].
    #[cfg_attr(target_arch = "wasm32", inline(never))]
    pub(crate) fn capacity(&self) -> u64 {
        self.parts.iter().map(|part| self.count_in(part, 0.5)).sum::<f64>() as u64
    }

    /// The number of keys in a part with this share of set bits.
    #[cfg_attr(target_arch = "wasm32", inline(never))]
    fn count_in(&self, part: &Part, fill: f64) -> f64 {
        let all = part.fingerprints().0 as f64;
        match self.scheme {
            // The inverse of how both are sized.
            Scheme::Xor => libm::round((all - 32.0) / 1.23).max(0.0),
            Scheme::BinaryFuse => libm::round(all / 1.125),
            _ => libm::round(part.bits as f64 / f64::from(part.hashes) * libm::log(1.0 - fill)).abs(),
        }
    }

    /// The number of bits.
    #[cfg_attr(target_arch = "wasm32", inline(never))]
    pub(crate) fn bits(&self) -> u64 {
        self.parts
            .iter()
            .map(|part| if self.scheme.is_static() { u64::from(part.bytes) * 8 } else { part.bits })
            .sum()
    }
}

/// What `interop` needs to make filters for other software.
#[cfg(feature = "interop")]
impl ForeignFilter {
    /// The filter with these bytes.
    pub(crate) fn with_bytes(mut self, bytes: Vec<u8>) -> Result<Self> {
        Error::unless(bytes.len() == self.byte_length(), SHAPE)?;
        self.bytes = bytes.into();
        Ok(self)
    }

    /// A key's bytes as hashed.
    pub(crate) fn hashed<'a>(&self, key: &'a [u8]) -> Result<std::borrow::Cow<'a, [u8]>> {
        let reason = "the filter's keys are numbers, and this is not such a number";
        self.keys.hashed(key)?.ok_or(Error::InvalidKey { reason })
    }

    /// Whether a key, as hashed, is maybe present.
    pub(crate) fn has_hashed(&self, key: &[u8]) -> bool {
        self.arrays().any(|(part, bytes)| self.has_in(part, bytes, key))
    }

    /// Sets the bits of a key, as hashed, in the last part, which has all its bytes.
    pub(crate) fn set_hashed(&mut self, key: &[u8]) -> Result<()> {
        let part = *self.parts.last().ok_or(Error::rule(SHAPE))?;
        let mut bytes = std::mem::take(&mut self.bytes);
        let start = bytes.len().saturating_sub(part.bytes as usize);
        let array = &mut bytes[start..];
        self.all_positions(&part, key, &mut |at| {
            if let Some(byte) = usize::try_from(at >> 3).ok().and_then(|i| array.get_mut(i)) {
                *byte |= 1 << (at & 7);
            }
            true
        });
        self.bytes = bytes;
        Ok(())
    }

    /// The note, the parts and the bytes, to change them.
    pub(crate) fn parts_mut(&mut self) -> (&mut Vec<u8>, &mut Vec<Part>, &mut Payload) {
        (&mut self.note, &mut self.parts, &mut self.bytes)
    }

    /// The bytes of each part.
    pub(crate) fn arrays_of_bytes(&self) -> impl Iterator<Item = &[u8]> {
        self.arrays().map(|(_, bytes)| bytes)
    }
}

const SHAPE: &str = "a foreign filter's keys, seed, bits, bytes, hashes and note must fit its scheme";

/// Whether a part's numbers are sane, and no lookup reaches outside of it.
fn shape_holds(scheme: Scheme, part: &Part) -> bool {
    let Part { bits, bytes, hashes } = *part;
    let whole = bits == u64::from(bytes) * 8;
    let width = matches!(hashes, 8 | 16 | 32);
    let (all, segment) = if width { part.fingerprints() } else { (0, 0) };
    (1..=1 << 40).contains(&bits)
        && (1..=MAX_HASHES).contains(&hashes.into())
        && match scheme {
            Scheme::Mitz64 | Scheme::Mitz32 => hashes <= 255 && whole && bytes % 8 == 0,
            Scheme::Spark1 | Scheme::Spark2 => whole && bytes % 8 == 0,
            Scheme::Sbbf => hashes == 8 && whole && bytes % 32 == 0,
            Scheme::Bloom12 => hashes == 8 && whole && bytes % 8 == 0,
            Scheme::Xxh32Slices => {
                let k = u64::from(hashes);
                bits % k == 0 && u64::from(bytes) == k * (bits / k).div_ceil(8)
            }
            Scheme::Xor => width && all == 3 * bits && u64::from(bytes) * 8 == all * u64::from(hashes),
            Scheme::BinaryFuse => {
                width
                    && segment.is_power_of_two()
                    && bits % segment == 0
                    && u64::from(bytes) * 8 == (bits + 2 * segment) * u64::from(hashes)
            }
            _ => true,
        }
}

/// Where FNV-1a for 32 bits starts.
const FNV32: u32 = 0x811c_9dc5;

/// The multipliers of rbloom's generator.
const LCG: u128 = 47_026_247_687_942_121_848_144_207_491_837_418_733;

/// The modulus of flor, the largest prime below 2^64, and what it multiplies by.
const FLOR_M: u64 = 18_446_744_073_709_551_557;
const FLOR_G: u64 = 18_446_744_073_709_550_147;

/// The multipliers of a split-block Bloom filter, one for each word.
/// <https://parquet.apache.org/docs/file-format/bloomfilter/>
const SALT: [u32; 8] =
    [0x47b6_137b, 0x4497_4d91, 0x8824_ad5b, 0xa2b7_289d, 0x7054_95c7, 0x2df1_424b, 0x9efc_4947, 0x5c6b_fb31];

/// The byte of a bit. None beyond the end, where other software reads a 0, such as in a shorter bit set of Go.
fn byte(bytes: &[u8], bit: u64) -> Option<u8> {
    bytes.get(usize::try_from(bit >> 3).ok()?).copied()
}

fn ones(bytes: &[u8]) -> u64 {
    bytes.iter().map(|byte| u64::from(byte.count_ones())).sum()
}

/// The share of a part's bits that are set, 0 to 1.
#[cfg_attr(target_arch = "wasm32", inline(never))]
fn fill(part: &Part, bytes: &[u8]) -> f64 {
    (ones(bytes) as f64 / part.bits as f64).min(1.0)
}
