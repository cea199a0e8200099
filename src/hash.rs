//! Turns a key's bytes into its 64-bit digest, from which every filter derives everything else. Imports only
//! `error`, `kind`, `profile` and `slots`.
//!
//! The digest is XXH64 (<https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md>), seeded. It is the
//! fastest good hash that WebAssembly runs at native speed: XXH3, wyhash and rapidhash need the high half of a
//! 64 x 64 bit product, which costs ten times as much there. In a keyed filter it is SipHash-2-4 (Aumasson and
//! Bernstein 2012, "SipHash: a fast short-input PRF"), which nobody can compute without the secret. FORMAT.md section 3.

use std::fmt;
use std::hash::Hasher;

use sha1::{Digest, Sha1};
use siphasher::sip::SipHasher24;
use twox_hash::XxHash64;

use crate::error::{Error, Result};
use crate::kind::Kind;
use crate::profile::Profile;
use crate::slots::{slot, with_slot};

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

/// A secret of 128 bits. A filter whose digests depend on it, a keyed one, says nothing to those who don't have it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret([u8; 16]);

impl From<[u8; 16]> for Secret {
    fn from(bytes: [u8; 16]) -> Self {
        Secret(bytes)
    }
}

impl TryFrom<&[u8]> for Secret {
    type Error = Error;

    /// # Errors
    /// [`Error::InvalidParameter`] unless there are 16 bytes.
    fn try_from(bytes: &[u8]) -> Result<Self> {
        bytes.try_into().map(Secret).map_err(|_| Error::rule(Self::RULE))
    }
}

/// Without the bytes, which belong in no log.
impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

impl Secret {
    pub(crate) const RULE: &str = "a secret must have 16 bytes";

    /// One of the numbers that the secret and a filter's seed give: 0 is the check value, 1 and 2 are the filter's own
    /// key of SipHash. None of them tells anything about the others.
    fn derive(&self, seed: u64, which: u8) -> u64 {
        let mut message = [which; 9];
        message[..8].copy_from_slice(&seed.to_le_bytes());
        let halves = self.0.as_chunks().0;
        siphash([0, 1].map(|half| u64::from_le_bytes(halves[half])), &message)
    }
}

/// How a filter turns keys into digests: by XXH64 under a seed or, if it is keyed, by SipHash-2-4 under a secret and a
/// seed.
///
/// ```
/// use bloom_wasm::hash::{Hashing, Secret, digest};
///
/// assert_eq!(Hashing::from(42).digest(b"key"), digest(42, b"key"));
/// let secret = Secret::from([7; 16]);
/// assert_ne!(Hashing::keyed(&secret, 42).digest(b"key"), Hashing::keyed(&secret, 43).digest(b"key"));
/// ```
#[derive(Clone, Copy)]
pub struct Hashing {
    seed: u64,
    key: Option<Key>,
    slotted: bool,
}

/// Equal seeds, and equal secrets if there are any, as far as their check values tell; both with slots or neither.
impl PartialEq for Hashing {
    fn eq(&self, other: &Self) -> bool {
        (self.seed, self.check(), self.slotted) == (other.seed, other.check(), other.slotted)
    }
}

impl Eq for Hashing {}

/// What a secret gives with a seed.
#[derive(Clone, Copy)]
struct Key {
    sip: [u64; 2],
    check: u64,
}

impl From<u64> for Hashing {
    /// By XXH64 under this seed.
    fn from(seed: u64) -> Self {
        Hashing { seed, key: None, slotted: false }
    }
}

/// Without the key, which belongs in no log.
impl fmt::Debug for Hashing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hashing").field("seed", &self.seed).field("keyed", &self.is_keyed()).finish()
    }
}

impl Hashing {
    /// By SipHash-2-4 under a secret. Take a random seed for each filter: two filters of one secret and one seed show
    /// which keys they have in common.
    pub fn keyed(secret: &Secret, seed: u64) -> Self {
        let [check, first, second] = [0, 1, 2].map(|which| secret.derive(seed, which));
        Hashing { seed, key: Some(Key { sip: [first, second], check }), slotted: false }
    }

    /// The same for keys of URLs: the highest 5 bits of a digest are the key's [slot].
    pub fn with_slots(self) -> Self {
        Hashing { slotted: true, ..self }
    }

    /// The seed.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Whether there is a secret.
    pub fn is_keyed(&self) -> bool {
        self.key.is_some()
    }

    /// The same for a new filter of this kind: with [slots](slot), if it is a ribbon filter of URLs.
    pub fn for_filter(self, profile: Profile, kind: Kind) -> Self {
        if profile == Profile::Url && kind == Kind::Ribbon { self.with_slots() } else { self }
    }

    /// The rate to build such a filter with, for a rate of whole checks. With slots it is the same, and the builder sees
    /// to the keys; otherwise it is that of a key.
    pub fn build_fpr(&self, profile: Profile, fpr: f64) -> f64 {
        if self.slotted { fpr } else { profile.key_fpr(fpr) }
    }

    /// Whether digests have [slots](slot).
    #[inline]
    pub fn is_slotted(&self) -> bool {
        self.slotted
    }

    /// What tells a wrong secret, in the blob of a keyed filter.
    pub fn check(&self) -> Option<u64> {
        self.key.map(|key| key.check)
    }

    /// The digest of a key.
    #[inline]
    pub fn digest(&self, key: &[u8]) -> u64 {
        if self.slotted { self.slotted_digest(key) } else { self.whole_digest(key) }
    }

    // Apart, so that the loops over other keys don't grow.
    #[inline(never)]
    fn slotted_digest(&self, key: &[u8]) -> u64 {
        with_slot(self.whole_digest(key), slot(key))
    }

    /// The digest of a key whose slot is known.
    #[inline]
    pub(crate) fn digest_in(&self, key: &[u8], slot: u32) -> u64 {
        // Without a secret straight away: a check of a URL asks for six keys.
        let digest = if self.is_keyed() { self.whole_digest(key) } else { digest(self.seed, key) };
        if self.slotted { with_slot(digest, slot) } else { digest }
    }

    /// The digest of a key without its slot: all 64 bits of the hash.
    // Not inlined in the wasm, like the functions that it calls.
    #[cfg_attr(target_arch = "wasm32", inline(never))]
    #[cfg_attr(not(target_arch = "wasm32"), inline)]
    pub(crate) fn whole_digest(&self, key: &[u8]) -> u64 {
        match self.key {
            None => digest(self.seed, key),
            Some(Key { sip, .. }) => siphash(sip, key),
        }
    }
}

/// SipHash-2-4.
// Cold, so that ordinary filters pay nothing for it.
#[cold]
#[inline(never)]
fn siphash([first, second]: [u64; 2], key: &[u8]) -> u64 {
    SipHasher24::new_with_keys(first, second).hash(key)
}

/// What is at hand to read a blob with.
#[derive(Debug, Clone, Copy)]
#[doc(hidden)]
pub enum Access<'a> {
    /// A secret, if there is one. It must be that of the blob, which is keyed then.
    Secret(Option<&'a Secret>),
    /// The hashing of a filter that the blob, a delta, is meant for. Whether it is must be asked later.
    As(Hashing),
}

impl Access<'_> {
    /// The hashing of a blob with this seed and, if it is keyed, this check value.
    ///
    /// # Errors
    /// [`Error::SecretRequired`] and [`Error::WrongSecret`].
    pub fn hashing(self, seed: u64, check: Option<u64>) -> Result<Hashing> {
        match (self, check) {
            (Access::Secret(Some(secret)), _) => {
                let hashing = Hashing::keyed(secret, seed);
                if hashing.check() == check { Ok(hashing) } else { Err(Error::WrongSecret) }
            }
            (_, None) => Ok(seed.into()),
            (Access::Secret(None), Some(_)) => Err(Error::SecretRequired),
            // Where seed or check value differ, it equals no other and is asked for nothing.
            (Access::As(Hashing { key, .. }), Some(check)) => {
                let sip = key.map_or([0; 2], |key| key.sip);
                Ok(Hashing { seed, key: Some(Key { sip, check }), slotted: false })
            }
        }
    }
}

/// The SHA-1 of some bytes.
// One copy in the wasm, too.
#[cfg_attr(target_arch = "wasm32", inline(never))]
pub(crate) fn sha1(bytes: &[u8]) -> [u8; 20] {
    Sha1::digest(bytes).into()
}

/// The [`digest`] with seed 0 of bytes that are in several parts.
pub(crate) struct PartsDigest(XxHash64);

impl PartsDigest {
    pub(crate) fn of(first: &[u8]) -> Self {
        let mut digest = PartsDigest(XxHash64::with_seed(0));
        digest.add(first);
        digest
    }

    pub(crate) fn add(&mut self, part: &[u8]) {
        self.0.write(part);
    }

    pub(crate) fn finish(&self) -> u64 {
        self.0.finish()
    }
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
    #[cfg_attr(target_arch = "wasm32", inline(never))]
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

    /// The first vectors of the reference implementation (<https://github.com/veorq/SipHash/blob/master/vectors.h>), and
    /// the example of the paper's appendix: the key 00 01 … 0f, and the bytes 00 01 … as a message.
    #[test]
    fn siphash_vectors() {
        let [first, second] = [0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908];
        let message: Vec<u8> = (0..15).collect();
        for (length, expected) in
            [(0, 0x726f_db47_dd0e_0e31), (1, 0x74f8_39c5_93dc_67fd), (15, 0xa129_ca61_49be_45e5_u64)]
        {
            assert_eq!(siphash([first, second], &message[..length]), expected);
        }
    }

    /// The examples of FORMAT.md section 3, which were computed by another program.
    #[test]
    fn digests_of_a_keyed_filter() {
        let hashing = Hashing::keyed(&Secret::from(std::array::from_fn(|i| i as u8)), 42);
        assert_eq!(hashing.check(), Some(0xa60d_e2c9_c8fd_cef1));
        assert_eq!(hashing.digest(b""), 0xe0b8_d9eb_53a9_d29a);
        assert_eq!(hashing.digest(b"abc"), 0xb9fb_a278_6927_6de3);
        assert_eq!(hashing.digest(&[b'a'; 300]), 0x543a_1d7f_cef2_a2fe);
    }

    #[test]
    fn a_secret_is_in_no_log() {
        let secret = Secret::from([0xab; 16]);
        let hashing = Hashing::keyed(&secret, 1);
        assert_eq!(format!("{secret:?} {hashing:?}"), "Secret Hashing { seed: 1, keyed: true }");
        assert_eq!(Secret::try_from(&[0; 15][..]).unwrap_err().code(), "invalid_parameter");
    }

    #[test]
    fn access() {
        let (secret, other) = (Secret::from([1; 16]), Secret::from([2; 16]));
        let hashing = Hashing::keyed(&secret, 5);
        let check = hashing.check();
        let code = |access: Access, check| access.hashing(5, check).map_err(|error| error.code());
        assert_eq!(code(Access::Secret(None), None), Ok(5.into()));
        assert_eq!(code(Access::Secret(None), check), Err("secret_required"));
        assert_eq!(code(Access::Secret(Some(&secret)), check), Ok(hashing));
        assert_eq!(code(Access::Secret(Some(&other)), check), Err("wrong_secret"));
        assert_eq!(code(Access::Secret(Some(&secret)), None), Err("wrong_secret"));
        assert_eq!(code(Access::As(hashing), check), Ok(hashing));
        for other in [Hashing::keyed(&other, 5), Hashing::keyed(&secret, 6), 5.into()] {
            assert_ne!(code(Access::As(other), check), Ok(other));
        }
        assert_eq!(code(Access::As(hashing), None), Ok(5.into()));
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
