//! Turns a key's bytes into its 64-bit digest, from which every filter derives everything else.
//!
//! The digest is made of two hashes of 32 bits, so that JavaScript computes it as fast as WebAssembly: XXH32
//! (<https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md>) is the low half, and MurmurHash3_x86_32
//! (<https://github.com/aappleby/smhasher/blob/master/src/MurmurHash3.cpp>) the high one. Two XXH32 would collide at
//! the same keys: within a lane, a difference in one word is undone by one in the next. In a keyed filter the digest is
//! SipHash-2-4 (Aumasson and Bernstein 2012, "SipHash: a fast short-input PRF"), which nobody can compute without the
//! secret. FORMAT.md section 3.
// Imports only `error`, `kind`, `profile`, `slots` and `vectors`.

use std::fmt;
use std::hash::Hasher;

use sha1::{Digest, Sha1};
use siphasher::sip::SipHasher24;
use twox_hash::XxHash32;

use crate::error::{Error, Result};
use crate::kind::Kind;
use crate::profile::Profile;
use crate::slots::{slot, with_slot};

/// The primes of XXH32.
const P: [u32; 5] = [0x9e37_79b1, 0x85eb_ca77, 0xc2b2_ae3d, 0x27d4_eb2f, 0x1656_67b1];

/// The digest of a key under a seed. Its low half is the XXH32 under the seed's low half, its high half the
/// MurmurHash3_x86_32 under the seed's high half. Both are computed in one pass, which takes five sixths of the time of
/// two.
// Not inlined: otherwise the wasm has a kilobyte at every caller. The call costs a nanosecond.
#[cfg_attr(target_arch = "wasm32", inline(never))]
#[cfg_attr(not(target_arch = "wasm32"), inline)]
pub fn digest(seed: u64, key: &[u8]) -> u64 {
    let length = key.len() as u32;
    let (seed, mut murmur) = (seed as u32, (seed >> 32) as u32);
    let (stripes, rest) = key.as_chunks::<16>();
    let mut xxh = seed.wrapping_add(P[4]);
    if !stripes.is_empty() {
        let mut a = seed.wrapping_add(P[0]).wrapping_add(P[1]);
        let mut b = seed.wrapping_add(P[1]);
        let mut c = seed;
        let mut d = seed.wrapping_sub(P[0]);
        for stripe in stripes {
            // Written out, since the lanes of an array would be in memory.
            let stripe = u128::from_le_bytes(*stripe);
            let words = [stripe as u32, (stripe >> 32) as u32, (stripe >> 64) as u32, (stripe >> 96) as u32];
            a = lane(a, words[0]);
            b = lane(b, words[1]);
            c = lane(c, words[2]);
            d = lane(d, words[3]);
            murmur = murmur_step(murmur, words[0]);
            murmur = murmur_step(murmur, words[1]);
            murmur = murmur_step(murmur, words[2]);
            murmur = murmur_step(murmur, words[3]);
        }
        let sum = a.rotate_left(1).wrapping_add(b.rotate_left(7));
        xxh = sum.wrapping_add(c.rotate_left(12)).wrapping_add(d.rotate_left(18));
    }
    xxh = xxh.wrapping_add(length);
    let (words, rest) = rest.as_chunks::<4>();
    for word in words {
        let word = u32::from_le_bytes(*word);
        xxh = xxh.wrapping_add(word.wrapping_mul(P[2])).rotate_left(17).wrapping_mul(P[3]);
        murmur = murmur_step(murmur, word);
    }
    let mut last = 0;
    for (i, byte) in rest.iter().enumerate() {
        let byte = u32::from(*byte);
        xxh = xxh.wrapping_add(byte.wrapping_mul(P[4])).rotate_left(11).wrapping_mul(P[0]);
        last |= byte << (8 * i);
    }
    xxh = (xxh ^ xxh >> 15).wrapping_mul(P[1]);
    xxh = (xxh ^ xxh >> 13).wrapping_mul(P[2]);
    murmur ^= murmur_word(last) ^ length;
    murmur = (murmur ^ murmur >> 16).wrapping_mul(0x85eb_ca6b);
    murmur = (murmur ^ murmur >> 13).wrapping_mul(0xc2b2_ae35);
    u64::from(murmur ^ murmur >> 16) << 32 | u64::from(xxh ^ xxh >> 16)
}

/// A lane of XXH32 after a word.
#[inline]
fn lane(sum: u32, word: u32) -> u32 {
    sum.wrapping_add(word.wrapping_mul(P[1])).rotate_left(13).wrapping_mul(P[0])
}

/// How MurmurHash3 scrambles a word before it takes it in. 0 stays 0.
#[inline]
fn murmur_word(word: u32) -> u32 {
    word.wrapping_mul(0xcc9e_2d51).rotate_left(15).wrapping_mul(0x1b87_3593)
}

/// How MurmurHash3 takes in a whole word.
#[inline]
fn murmur_step(hash: u32, word: u32) -> u32 {
    (hash ^ murmur_word(word)).rotate_left(13).wrapping_mul(5).wrapping_add(0xe654_6b64)
}

/// One round of a Feistel network: of the halves *a* and *b* of a state, the high one first, it makes *b* xor f(*a*)
/// and *a*. Each bit of f depends on many, and the round is invertible.
#[inline]
pub(crate) fn round(a: u32, b: u32) -> (u32, u32) {
    (b ^ stirred(a), a)
}

/// The state that follows from a state, or a digest, and a number: a permutation of all states. There are three rounds;
/// after two, the states of digests that differ in few bits are still similar. FORMAT.md section 3.
#[inline]
pub(crate) fn mix(state: u64, number: u32) -> u64 {
    let (a, b) = halves(state);
    let (a, b) = round(a ^ number, b);
    let (a, b) = round(a, b);
    let (a, b) = round(a, b);
    joined(a, b)
}

/// The inverse of [`mix`].
#[inline]
pub(crate) fn unmix(state: u64, number: u32) -> u64 {
    // The inverse of a round is a round with the halves exchanged before and after.
    let (a, b) = halves(state);
    let (b, a) = round(b, a);
    let (b, a) = round(b, a);
    let (b, a) = round(b, a);
    joined(a ^ number, b)
}

#[inline]
fn stirred(x: u32) -> u32 {
    let y = x.wrapping_mul(P[0]);
    y ^ y >> 15
}

/// The high and the low half of a state.
#[inline]
pub(crate) fn halves(state: u64) -> (u32, u32) {
    ((state >> 32) as u32, state as u32)
}

#[inline]
pub(crate) fn joined(high: u32, low: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

/// A secret of 128 bits. A filter whose digests depend on it, a keyed filter, reveals nothing to those who don't have
/// it.
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

/// Without the bytes, which must not end up in a log.
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

/// How a filter turns keys into digests: by [`digest`] under a seed or, if it is keyed, by SipHash-2-4 under a secret and a
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

/// Equal seeds, and equal secrets if there are any, judging by their check values; both with slots or neither.
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
    /// By [`digest`] under this seed.
    fn from(seed: u64) -> Self {
        Hashing { seed, key: None, slotted: false }
    }
}

/// Without the key, which must not end up in a log.
impl fmt::Debug for Hashing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hashing").field("seed", &self.seed).field("keyed", &self.is_keyed()).finish()
    }
}

impl Hashing {
    /// With a secret, if there is one.
    pub fn new(seed: u64, secret: Option<&Secret>) -> Self {
        secret.map_or_else(|| seed.into(), |secret| Self::keyed(secret, seed))
    }

    /// By SipHash-2-4 under a secret. Take a random seed for each filter: two filters with the same secret and seed
    /// reveal which keys they have in common.
    pub fn keyed(secret: &Secret, seed: u64) -> Self {
        let [check, first, second] = [0, 1, 2].map(|which| secret.derive(seed, which));
        Hashing { seed, key: Some(Key { sip: [first, second], check }), slotted: false }
    }

    /// The filter's own key of SipHash, which [`Hashing::with_key`] takes; zeros if there is none.
    #[allow(dead_code)] // only src/wasm/ needs it
    pub(crate) fn key(&self) -> [u64; 2] {
        self.key.map_or([0; 2], |key| key.sip)
    }

    /// What a blob that was written with this key can be read with. Nothing checks that they belong together.
    #[allow(dead_code)] // only src/wasm/ needs it
    pub(crate) fn with_key(sip: [u64; 2]) -> Self {
        Hashing { seed: 0, key: Some(Key { sip, check: 0 }), slotted: false }
    }

    /// How the keys of a blob with this seed become digests. It is keyed if it has a check value, and then there must be a
    /// secret, which that value belongs to.
    ///
    /// # Errors
    /// [`Error::SecretRequired`] and [`Error::WrongSecret`].
    pub fn of_blob(seed: u64, check: Option<u64>, secret: Option<&Secret>) -> Result<Self> {
        Access::Secret(secret).hashing(seed, check)
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
        Hashing { slotted: profile == Profile::Url && kind == Kind::Ribbon, ..self }
    }

    /// Whether digests have [slots](slot).
    #[inline]
    pub fn is_slotted(&self) -> bool {
        self.slotted
    }

    /// The check value in the blob of a keyed filter, which reveals a wrong secret.
    pub fn check(&self) -> Option<u64> {
        self.key.map(|key| key.check)
    }

    /// The digest of a key.
    #[inline]
    pub fn digest(&self, key: &[u8]) -> u64 {
        if self.slotted { self.slotted_digest(key) } else { self.whole_digest(key) }
    }

    // Separate, so that the loops over other keys don't grow.
    #[inline(never)]
    fn slotted_digest(&self, key: &[u8]) -> u64 {
        with_slot(self.whole_digest(key), slot(key))
    }

    /// The digest of a key whose slot is known.
    #[inline]
    pub(crate) fn digest_in(&self, key: &[u8], slot: u32) -> u64 {
        let digest = self.whole_digest(key);
        if self.slotted { with_slot(digest, slot) } else { digest }
    }

    /// The digest of a key without its slot: all 64 bits of the hash.
    #[inline]
    pub(crate) fn whole_digest(&self, key: &[u8]) -> u64 {
        match self.key {
            None => digest(self.seed, key),
            Some(Key { sip, .. }) => siphash(sip, key),
        }
    }
}

/// SipHash-2-4.
// Cold, so that it costs ordinary filters nothing.
#[cold]
#[inline(never)]
fn siphash([first, second]: [u64; 2], key: &[u8]) -> u64 {
    SipHasher24::new_with_keys(first, second).hash(key)
}

/// What a blob can be read with.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Access<'a> {
    /// A secret, if there is one. The blob must then be keyed with it.
    Secret(Option<&'a Secret>),
    /// The hashing of the filter that the blob, a delta, is meant for. Whether it fits must be checked later.
    As(Hashing),
}

impl Access<'_> {
    /// The hashing of a blob with this seed and, if it is keyed, this check value.
    ///
    /// # Errors
    /// [`Error::SecretRequired`] and [`Error::WrongSecret`].
    pub(crate) fn hashing(self, seed: u64, check: Option<u64>) -> Result<Hashing> {
        match (self, check) {
            (Access::Secret(Some(secret)), _) => {
                let hashing = Hashing::keyed(secret, seed);
                if hashing.check() == check { Ok(hashing) } else { Err(Error::WrongSecret) }
            }
            (_, None) => Ok(seed.into()),
            (Access::Secret(None), Some(_)) => Err(Error::SecretRequired),
            // If the seed or the check value differs, this equals no other hashing and hashes nothing.
            (Access::As(Hashing { key, .. }), Some(check)) => {
                let sip = key.map_or([0; 2], |key| key.sip);
                Ok(Hashing { seed, key: Some(Key { sip, check }), slotted: false })
            }
        }
    }
}

/// The SHA-1 of some bytes.
// Not inlined, so that the wasm has one copy.
#[cfg_attr(target_arch = "wasm32", inline(never))]
pub(crate) fn sha1(bytes: &[u8]) -> [u8; 20] {
    Sha1::digest(bytes).into()
}

/// The checksum of a blob, XXH32 with seed 0, while its bytes still arrive.
#[derive(Debug, Clone)]
pub(crate) struct Checksum {
    hasher: XxHash32,
    /// How many bytes were hashed so far.
    taken: usize,
}

impl Default for Checksum {
    fn default() -> Self {
        Checksum { hasher: XxHash32::with_seed(0), taken: 0 }
    }
}

impl Checksum {
    /// The checksum of bytes that are all there.
    pub(crate) fn of(bytes: &[u8]) -> u32 {
        XxHash32::oneshot(0, bytes)
    }

    /// Hashes what was appended to the bytes since the last call.
    // Not inlined, so that V8 optimises it while a blob still arrives.
    #[cfg_attr(target_arch = "wasm32", inline(never))]
    pub(crate) fn advance(&mut self, bytes: &[u8]) {
        self.hasher.write(&bytes[self.taken..]);
        self.taken = self.taken.max(bytes.len());
    }

    /// Hashes bytes that come after all others.
    pub(crate) fn add(&mut self, part: &[u8]) {
        self.hasher.write(part);
        self.taken += part.len();
    }

    /// The checksum of what was hashed.
    pub(crate) fn value(&self) -> u32 {
        self.hasher.finish_32()
    }

    /// The checksum of the bytes. They may be fewer than were hashed so far.
    pub(crate) fn finish(mut self, bytes: &[u8]) -> u32 {
        if self.taken > bytes.len() {
            return Self::of(bytes);
        }
        self.advance(bytes);
        self.value()
    }
}

/// The largest range that only the high half of a state is spread over.
const FINE: u32 = 1 << 28;

/// Maps a state to a number in `0..range`: floor(*a* range / 2^32), where *a* is its high half. For ranges above 2^28
/// that would be too coarse, so it is floor(state range / 2^64).
#[inline]
pub fn spread(state: u64, range: u32) -> u32 {
    if range > FINE {
        return high_product(state, range);
    }
    (((state >> 32) * u64::from(range)) >> 32) as u32
}

/// floor(x range / 2^64), by two products of 32 x 32 bits, since WebAssembly can't compute the high half of a product
/// of 64 x 64.
pub(crate) fn high_product(x: u64, range: u32) -> u32 {
    let range = u64::from(range);
    let low = ((x & 0xffff_ffff) * range) >> 32;
    (((x >> 32) * range + low) >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filters::foreign::murmur3;

    #[test]
    fn a_checksum_is_the_same_however_the_bytes_come() {
        let bytes: Vec<u8> = (0..300_u64).flat_map(|i| (i * i * 7919).to_le_bytes()).take(300).collect();
        for length in 0..=bytes.len() {
            let bytes = &bytes[..length];
            for pieces in [1, 7, 31, 32, 33, 100] {
                let mut checksum = Checksum::default();
                (0..length).step_by(pieces).for_each(|end| checksum.advance(&bytes[..end]));
                assert_eq!(checksum.clone().finish(bytes), Checksum::of(bytes), "{length} bytes by {pieces}");
                // The checksum may have hashed bytes that turn out not to belong to the blob.
                let shorter = &bytes[..length.saturating_sub(40)];
                assert_eq!(checksum.finish(shorter), Checksum::of(shorter), "{length} bytes by {pieces}");
            }
        }
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
    fn places_are_spread_evenly() {
        for x in [0, 1, 0xffff_ffff, 0x1_0000_0000, 0x0123_4567_89ab_cdef, u64::MAX] {
            for range in [1, 2, 3, 1000, FINE, FINE + 1, 0x8000_0001, u32::MAX] {
                let whole = ((u128::from(x) * u128::from(range)) >> 64) as u32;
                assert_eq!(high_product(x, range), whole);
                let high = ((u128::from(x >> 32) * u128::from(range)) >> 32) as u32;
                assert_eq!(spread(x, range), if range > FINE { whole } else { high });
            }
        }
    }

    /// Both halves agree with other implementations. The last two values are known ones of XXH32 and
    /// MurmurHash3_x86_32.
    #[test]
    fn digests_are_two_hashes() {
        for length in 0..200_usize {
            let key: Vec<u8> = (0..length).map(|i| (i * i * 7919 >> 3) as u8).collect();
            for seed in [0, 1, 1 << 32, u64::MAX, 0x0123_4567_89ab_cdef] {
                let low = XxHash32::oneshot(seed as u32, &key);
                let high = murmur3(&key, (seed >> 32) as u32, false);
                assert_eq!(digest(seed, &key), u64::from(high) << 32 | u64::from(low), "{length} bytes");
            }
        }
        assert_eq!(digest(0, b""), 0x0000_0000_02cc_5d05);
        assert_eq!(digest(0, b"abc"), 0xb3dd_93fa_32d1_53ff);
    }

    #[test]
    fn a_mix_can_be_taken_back() {
        let mut state = 1;
        for number in [0, 1, 255, 256, u32::MAX] {
            for _ in 0..100 {
                state = mix(state, number);
                assert_eq!(mix(unmix(state, number), number), state);
            }
        }
    }
}
