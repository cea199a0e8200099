//! The cuckoo filter, from which keys can be removed. It stores a short fingerprint of each key in one of two buckets.
//! A key is maybe present if one of the two holds its fingerprint. Fan, Andersen, Kaminsky and Mitzenmacher 2014,
//! "Cuckoo filter: practically better than Bloom". FORMAT.md section 6.4.
//!
//! For n buckets (an even number) and fingerprints of f bits, a key with digest d has, with mix(d) of the halves h and l,
//!
//! ```text
//! fingerprint  p  = 1 + floor(l (2^f - 1) / 2^32); 0 is an empty slot
//! first bucket b1 = floor(h n / 2^32)
//! other bucket b2 = (s - b1) mod n, where s = floor(h' n / 2^32) | 1, and h' is the high half of mix(p)
//! ```
//!
//! For more than 2^28 buckets, [`spread`] takes all 64 bits instead of h. The bucket and the fingerprint come from
//! different halves, so they are independent. The same step leads from either bucket to the other, since b1 = (s - b2)
//! mod n. So a fingerprint can move without its key. Because s is odd and n is even, one of the two buckets is even and
//! the other odd: they always differ.

use crate::digests::sort;
use crate::error::{Error, Result};
use crate::filters::payload::Payload;
use crate::hash::{Hashing, mix, spread};
use crate::params::{any_of, require_rate};
use crate::vectors::zeroed;

/// Slots in a bucket.
const WAYS: u64 = 4;
/// The content of an empty slot.
const EMPTY: u32 = 0;
/// While a filter fills to 95 %, two keys in a million take more than 256 kicks. Every further 128 kicks are 50 times
/// as rare.
const MAX_KICKS: u64 = 1024;
/// Zeros after the last slot, so that every slot lies within 8 bytes that exist.
const PADDING: usize = 7;

/// A cuckoo filter of `buckets` buckets with 4 slots each, for fingerprints of `fingerprint_bits` bits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CuckooFilter {
    hashing: Hashing,
    buckets: u32,
    fingerprint_bits: u32,
    /// Slot i is the bits i f to i f + f - 1, the lowest first; bit j is byte j / 8, mask 1 << j % 8.
    bytes: Payload,
}

impl CuckooFilter {
    /// An empty filter of `buckets` buckets (even, at least 2) and `fingerprint_bits` bits (1 to 32). With fewer than 5
    /// bits, keys share too many pairs of buckets to fill them.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] outside those ranges, [`Error::TooLarge`] from 2 GiB on or if there is no memory.
    pub fn new(buckets: u32, fingerprint_bits: u32, hashing: impl Into<Hashing>) -> Result<Self> {
        let filter = Self::shaped(buckets, fingerprint_bits, hashing.into())?;
        Ok(CuckooFilter { bytes: zeroed(filter.byte_length() + PADDING)?.into(), ..filter })
    }

    /// An empty filter that holds `count` different keys at a false-positive rate of at most `fpr`. Fingerprints have f
    /// = ceil(log2(8 / fpr)) bits, because a key is compared with 8 slots, but at least 5. The keys fill at most 95 %
    /// of the slots. Small filters vary more, so there are 8 more buckets: of 16 million filters, none got
    /// [full](Error::FilterFull) too early. At rates above 1/8 fingerprints are shorter, and a few filters in a million
    /// do. The last argument is the seed, such as 0, or a [`Hashing`].
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] unless 2^-29 <= fpr < 1 and fpr >= 100 count / 2^64, and as
    /// [`CuckooFilter::new`].
    ///
    /// ```
    /// # use bloom_wasm::filters::CuckooFilter;
    /// let mut sessions = CuckooFilter::with_capacity(1_000_000, 0.001, 0)?;
    /// sessions.add(b"alice")?;
    /// assert!(sessions.has(b"alice"));
    /// assert!(sessions.remove(b"alice"));
    /// assert!(!sessions.has(b"alice"));
    /// # Ok::<(), bloom_wasm::Error>(())
    /// ```
    pub fn with_capacity(count: u64, fpr: f64, hashing: impl Into<Hashing>) -> Result<Self> {
        let (buckets, fingerprint_bits) = size(count, fpr)?;
        Self::new(buckets, fingerprint_bits, hashing)
    }

    /// Builds a filter from the digests of keys, sized by the number of different ones. Each is added once. The vector
    /// is sorted, and repeated digests are dropped. If the keys don't fit, the filter gets a few more buckets.
    ///
    /// # Errors
    /// As [`CuckooFilter::with_capacity`], and [`Error::FilterFull`] if twice the size isn't enough. That happens only
    /// if somebody has chosen keys that collide.
    pub fn from_digests(digests: &mut Vec<u64>, fpr: f64, hashing: impl Into<Hashing>) -> Result<Self> {
        let hashing = hashing.into();
        sort(digests)?;
        let (least, fingerprint_bits) = size(digests.len() as u64, fpr)?;
        let mut buckets = least;
        loop {
            let mut filter = Self::new(buckets, fingerprint_bits, hashing)?;
            // A filter that gets full is thrown away.
            match digests.iter().try_for_each(|&digest| filter.insert(digest).map(drop)) {
                Err(Error::FilterFull { .. }) if buckets < 2 * least => buckets += buckets / 64 * 2 + 2,
                added => return added.map(|()| filter),
            }
        }
    }

    /// A filter with its shape, still without its slots.
    pub(crate) fn shaped(buckets: u32, fingerprint_bits: u32, hashing: Hashing) -> Result<Self> {
        if buckets == 0 || !buckets.is_multiple_of(2) {
            return Err(Error::rule("buckets must be even and at least 2"));
        }
        if fingerprint_bits == 0 || fingerprint_bits > 32 {
            return Err(Error::rule("fingerprint bits must be a whole number from 1 to 32"));
        }
        let bytes = u64::from(buckets / 2) * u64::from(fingerprint_bits);
        if bytes > i32::MAX as u64 {
            return Err(Error::TooLarge { bytes });
        }
        Ok(CuckooFilter { hashing, buckets, fingerprint_bits, bytes: Payload::default() })
    }

    /// How many bytes the slots take. Eight slots of f bits are f bytes, and n is even, so these are whole bytes.
    pub(crate) fn byte_length(&self) -> usize {
        (self.buckets / 2) as usize * self.fingerprint_bits as usize
    }

    /// Gives the filter its slots, [`CuckooFilter::byte_length`] bytes. Any content is legal.
    pub(crate) fn set_bytes(&mut self, bytes: Payload) -> Result<()> {
        debug_assert_eq!(bytes.len(), self.byte_length());
        self.bytes = bytes;
        self.bytes.resize(self.byte_length() + PADDING)?;
        Ok(())
    }

    /// The number of buckets (n), of 4 slots each.
    pub fn buckets(&self) -> u32 {
        self.buckets
    }

    /// The number of bits of a fingerprint (f).
    pub fn fingerprint_bits(&self) -> u32 {
        self.fingerprint_bits
    }

    /// How keys become digests.
    pub fn hashing(&self) -> &Hashing {
        &self.hashing
    }

    /// The slots, one after another without gaps, the lowest bit first.
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.split_last_chunk::<PADDING>().map_or(&[], |(slots, _)| slots)
    }

    /// The number of keys that fill 95 % of the slots. Above 98.0 %, no choice of buckets can place all keys (Cain,
    /// Sanders and Wormald 2007, "The random graph threshold for k-orientability").
    pub fn capacity(&self) -> u64 {
        self.slots() * 19 / 20
    }

    /// The number of copies of keys in the filter, by looking at every slot.
    pub fn count(&self) -> u64 {
        (0..self.slots()).filter(|&slot| self.get(slot) != EMPTY).count() as u64
    }

    fn slots(&self) -> u64 {
        u64::from(self.buckets) * WAYS
    }

    /// True = maybe present, false = definitely absent.
    pub fn has(&self, key: &[u8]) -> bool {
        self.has_digest(self.hashing.digest(key))
    }

    /// Like [`CuckooFilter::has`], for a key's digest under [`CuckooFilter::hashing`].
    #[inline]
    pub fn has_digest(&self, digest: u64) -> bool {
        self.locate(digest).is_some()
    }

    /// Adds a copy of a key. True = the key was definitely not there before; false = it may have been, and is now there
    /// once more. After that it takes as many [removals](CuckooFilter::remove) as additions to get rid of it.
    ///
    /// # Errors
    /// [`Error::FilterFull`] if there is no room; the filter is then unchanged. There is never room for a ninth copy of
    /// a key.
    pub fn add(&mut self, key: &[u8]) -> Result<bool> {
        self.add_digest(self.hashing.digest(key))
    }

    /// Like [`CuckooFilter::add`], for a key's digest under [`CuckooFilter::hashing`].
    pub fn add_digest(&mut self, digest: u64) -> Result<bool> {
        let new = !self.has_digest(digest);
        self.insert(digest).map(|_| new)
    }

    /// Adds a copy of a key, or fails and changes nothing. Returns how its walk ended: the slot times [`MAX_KICKS`],
    /// plus the kicks.
    // Not inlined, like the next, so that the wasm has one copy.
    #[cfg_attr(target_arch = "wasm32", inline(never))]
    fn insert(&mut self, digest: u64) -> Result<u64> {
        let (fingerprint, [first, second]) = self.place(digest);
        // A random walk. Each kick puts the fingerprint in hand into a slot of a full bucket, takes the one that was
        // there, and goes on to that one's other bucket.
        let mut bucket = if self.find(first, EMPTY).is_some() { first } else { second };
        let mut hand = fingerprint;
        for kick in 0..MAX_KICKS {
            let slot = self.find(bucket, EMPTY).unwrap_or(slot(bucket, way(digest, kick)));
            hand = self.replace(slot, hand);
            if hand == EMPTY {
                return Ok(slot * MAX_KICKS + kick);
            }
            bucket = self.other(bucket, hand);
        }
        self.walk_back(digest, bucket, hand, MAX_KICKS);
        Err(Error::FilterFull { count: self.count() })
    }

    /// Undoes the kicks of a walk that has come to a bucket. The fingerprint in hand tells where it came from, so
    /// taking the same steps backwards undoes everything.
    #[cfg_attr(target_arch = "wasm32", inline(never))]
    fn walk_back(&mut self, digest: u64, mut bucket: u32, mut hand: u32, kicks: u64) {
        for kick in (0..kicks).rev() {
            bucket = self.other(bucket, hand);
            hand = self.replace(slot(bucket, way(digest, kick)), hand);
        }
    }

    /// Adds a copy of each key, given by its digest under this filter's hashing. Returns how many were definitely not
    /// there.
    ///
    /// # Errors
    /// [`Error::FilterFull`] if there isn't room for all of them; none is added then.
    pub fn add_digests(&mut self, digests: &[u64]) -> Result<usize> {
        let mut new = 0;
        // After the last key there is nothing to undo.
        let mut walks: Vec<u64> = zeroed(digests.len().saturating_sub(1))?;
        for (i, &digest) in digests.iter().enumerate() {
            let was_new = !self.has_digest(digest);
            match self.insert(digest) {
                Ok(walk) => walks.iter_mut().skip(i).take(1).for_each(|old| *old = walk),
                Err(error) => {
                    // Just removing the keys would not move back the fingerprints that they kicked.
                    for (&digest, walk) in digests.iter().zip(&walks).take(i).rev() {
                        let (slot, kicks) = (walk / MAX_KICKS, walk % MAX_KICKS);
                        let hand = self.replace(slot, EMPTY);
                        self.walk_back(digest, (slot / WAYS) as u32, hand, kicks);
                    }
                    return Err(error);
                }
            }
            new += usize::from(was_new);
        }
        Ok(new)
    }

    /// Removes one copy of a key; true = there was one. Remove only what you added: another key may have the same
    /// fingerprint in the same buckets. The filter can't tell the two apart, so it may remove that key's copy, and
    /// `has` then returns false for a key that was added.
    pub fn remove(&mut self, key: &[u8]) -> bool {
        self.remove_digest(self.hashing.digest(key))
    }

    /// Like [`CuckooFilter::remove`], for a key's digest under [`CuckooFilter::hashing`].
    pub fn remove_digest(&mut self, digest: u64) -> bool {
        let found = self.locate(digest);
        if let Some(slot) = found {
            self.replace(slot, EMPTY);
        }
        found.is_some()
    }

    /// Removes all keys.
    pub fn clear(&mut self) {
        self.bytes.fill(0);
    }

    /// The chance that a key which was never added is "maybe present", if the copies are of different keys.
    ///
    /// A fingerprint and a pair of buckets make a place. There are M = n (2^f - 1) / 2 places, and a key falls into
    /// each with the same chance. The chance that the place of an absent key holds none of c keys is (1 - 1/M)^c =
    /// e^(-c/M), with a relative error of 1/2M.
    pub fn estimated_fpr(&self) -> f64 {
        self.fpr_of(self.count())
    }

    /// The same with `count` copies.
    pub(crate) fn fpr_of(&self, count: u64) -> f64 {
        let places = f64::from(self.buckets) * f64::from(self.mask()) / 2.0;
        any_of(count, 1.0 / places)
    }

    /// A key's fingerprint and its two buckets.
    #[inline]
    fn place(&self, digest: u64) -> (u32, [u32; 2]) {
        let state = mix(digest, 0);
        let fingerprint = 1 + spread(state << 32, self.mask());
        let first = spread(state, self.buckets);
        (fingerprint, [first, self.other(first, fingerprint)])
    }

    /// A slot with a key's fingerprint.
    #[inline]
    fn locate(&self, digest: u64) -> Option<u64> {
        let (fingerprint, [first, second]) = self.place(digest);
        self.find(first, fingerprint).or_else(|| self.find(second, fingerprint))
    }

    /// The other bucket of a fingerprint.
    #[inline]
    fn other(&self, bucket: u32, fingerprint: u32) -> u32 {
        let sum = spread(mix(fingerprint.into(), 0), self.buckets) | 1;
        if bucket <= sum { sum - bucket } else { sum + (self.buckets - bucket) }
    }

    /// The first slot of a bucket that holds the fingerprint. [`EMPTY`] finds a free slot.
    // One copy in the wasm instead of six.
    #[cfg_attr(target_arch = "wasm32", inline(never))]
    #[cfg_attr(not(target_arch = "wasm32"), inline)]
    fn find(&self, bucket: u32, fingerprint: u32) -> Option<u64> {
        (0..WAYS).map(|way| slot(bucket, way)).find(|&slot| self.get(slot) == fingerprint)
    }

    /// The largest fingerprint, 2^f - 1.
    #[inline]
    fn mask(&self) -> u32 {
        u32::MAX >> (32 - self.fingerprint_bits)
    }

    /// The byte and the bit at which a slot begins.
    #[inline]
    fn offset(&self, slot: u64) -> (usize, u64) {
        let bit = slot * u64::from(self.fingerprint_bits);
        ((bit / 8) as usize, bit % 8)
    }

    #[inline]
    fn get(&self, slot: u64) -> u32 {
        let (at, shift) = self.offset(slot);
        debug_assert!(at + 8 <= self.bytes.len(), "a decoded filter has all of its slots");
        let word = self
            .bytes
            .get(at..)
            .and_then(|rest| rest.first_chunk())
            .map_or(0, |&word| u64::from_le_bytes(word));
        (word >> shift) as u32 & self.mask()
    }

    /// Puts a fingerprint into a slot and returns what was there.
    fn replace(&mut self, slot: u64, fingerprint: u32) -> u32 {
        let old = self.get(slot);
        let (at, shift) = self.offset(slot);
        if let Some(bytes) = self.bytes.get_mut(at..).and_then(|rest| rest.first_chunk_mut()) {
            *bytes = (u64::from_le_bytes(*bytes) ^ u64::from(old ^ fingerprint) << shift).to_le_bytes();
        }
        old
    }
}

/// The slot of a full bucket into which a kick goes.
#[inline]
fn way(digest: u64, kick: u64) -> u64 {
    mix(digest ^ kick, 0) >> 62
}

#[inline]
fn slot(bucket: u32, way: u64) -> u64 {
    u64::from(bucket) * WAYS + way
}

/// The buckets and the fingerprint bits of [`CuckooFilter::with_capacity`].
fn size(count: u64, fpr: f64) -> Result<(u32, u32)> {
    require_rate(count, fpr)?;
    // The least f with 2^f fpr >= 8. Doubling is exact; a logarithm can be off by one near a power of two.
    let (mut bits, mut scaled) = (5, 32.0 * fpr);
    while scaled < 8.0 {
        scaled *= 2.0;
        bits += 1;
    }
    if bits > 32 {
        let rule = "for a cuckoo filter fpr must be at least 2^-29 (1.87e-9), with the profile url ten times that \
                    (1.87e-8)";
        return Err(Error::rule(rule));
    }
    // Two buckets have 8 slots, and 95 % of 8 is 38 / 5.
    let pairs = (5 * count).div_ceil(38) + 4;
    let bytes = pairs * u64::from(bits);
    let buckets = u32::try_from(2 * pairs).map_err(|_| Error::TooLarge { bytes })?;
    Ok((buckets, bits))
}
