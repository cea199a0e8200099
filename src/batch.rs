//! Many keys looked up at once. If keys are looked up one after another, the processor waits at every branch that it
//! mispredicts: whether the key is there, and after which probe it drops out. So a batch is hashed first and then
//! looked up in passes, each of which does the same for every key that is left.
// Imports only `error` and `vectors`.

use std::array::from_fn;
use std::hint::black_box;

use crate::error::Result;
use crate::vectors::append;

/// How many keys are looked up together. Their digests and places stay in the processor's L1 cache, and a place fits in
/// a byte.
pub(crate) const BATCH: usize = 256;

/// From this many bytes on, a filter is larger than a core's share of the processor's caches.
const LARGE: usize = 1 << 22;

/// Reads the bytes at some places of a large filter, before a pass that needs them. Nothing waits for these bytes, so
/// the processor fetches many at once. In the pass itself, it would wait for one key's bytes after another's.
#[inline]
pub(crate) fn fetch(bytes: &[u8], places: impl Iterator<Item = usize>) {
    if bytes.len() >= LARGE {
        let sum = places.fold(0, |sum, place| sum ^ bytes.get(place).copied().unwrap_or_default());
        black_box(sum);
    }
}

/// The places of some of a batch's keys: those that are left after a pass.
pub(crate) struct Places {
    places: [u8; BATCH],
    count: usize,
}

impl Places {
    /// The places of up to [`BATCH`] digests for which `is_left` says so. Keeping a place takes no branch, so `is_left`
    /// should have none either.
    #[inline]
    pub(crate) fn filter(digests: &[u64], mut is_left: impl FnMut(usize, u64) -> bool) -> Self {
        let mut left = Places { places: [0; BATCH], count: 0 };
        for (place, &digest) in digests.iter().enumerate() {
            // In bounds, since no more places were kept than were looked at before.
            left.places[left.count % BATCH] = place as u8;
            left.count += usize::from(is_left(place, digest));
        }
        left
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = usize> {
        self.places.iter().take(self.count).map(|&place| place.into())
    }
}

/// Keys that wait to be looked up together, as digests.
pub(crate) struct Batch {
    digests: [u64; BATCH],
    /// Whether there is a key: a blank line has none.
    is_key: [bool; BATCH],
    count: usize,
}

impl Batch {
    pub(crate) fn new() -> Self {
        Batch { digests: [0; BATCH], is_key: [false; BATCH], count: 0 }
    }

    pub(crate) fn is_full(&self) -> bool {
        self.count == BATCH
    }

    /// Appends the digest of a key, or none. The batch isn't full.
    #[inline]
    pub(crate) fn push(&mut self, digest: Option<u64>) {
        self.is_key[self.count] = digest.is_some();
        self.digests[self.count] = digest.unwrap_or(0);
        self.count += 1;
    }

    /// Appends the keys' answers, which `has` gives for their digests: 1 or 0 each, and 0 where there is no key. The
    /// batch is empty afterwards.
    pub(crate) fn ask(
        &mut self,
        has: impl FnOnce(&[u64]) -> [bool; BATCH],
        answers: &mut Vec<u8>,
    ) -> Result<()> {
        let found = has(&self.digests[..self.count]);
        let bytes: [u8; BATCH] = from_fn(|place| (found[place] & self.is_key[place]).into());
        append(answers, &bytes[..self.count])?;
        self.count = 0;
        Ok(())
    }
}
