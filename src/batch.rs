//! Many keys asked at once. One key after another, the processor waits at every branch that it guessed wrong: is the
//! key there, after which probe does it drop out? So a batch is hashed first and then asked in passes, each of which does
//! the same for every key that is left. Imports only `error` and `vectors`.

use std::array::from_fn;
use std::hint::black_box;

use crate::error::Result;
use crate::vectors::append;

/// How many keys are asked together. Their digests and places stay in the processor's first cache, and a place fits a
/// byte.
pub(crate) const BATCH: usize = 256;

/// From this many bytes on a filter is larger than what a processor's core has of its caches.
const LARGE: usize = 1 << 22;

/// Reads the bytes at some places of a large filter, before a pass that needs them. Nothing waits for these bytes, so the
/// processor fetches many at once. In the pass it would wait for one key's after the other.
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
    /// The places of up to [`BATCH`] digests for which `is_left` says so. Whether a place is kept is no branch, so that
    /// `is_left` had better have none either.
    #[inline]
    pub(crate) fn filter(digests: &[u64], mut is_left: impl FnMut(usize, u64) -> bool) -> Self {
        let mut left = Places { places: [0; BATCH], count: 0 };
        for (place, &digest) in digests.iter().enumerate() {
            // In bounds, as no more were kept than were asked before.
            left.places[left.count % BATCH] = place as u8;
            left.count += usize::from(is_left(place, digest));
        }
        left
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = usize> {
        self.places.iter().take(self.count).map(|&place| place.into())
    }
}

/// Keys that wait to be asked together, as digests.
pub(crate) struct Batch {
    digests: [u64; BATCH],
    /// Whether there is a key: a blank line is none.
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
    /// batch is empty then.
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
