//! The ribbon filter: bumped ribbon retrieval (BuRR), read-only and within 1 % of the information bound. FORMAT.md
//! section 6.5. Dillinger, Hübschle-Schneider, Sanders and Walzer 2022, "Fast succinct retrieval and approximate
//! membership using ribbon".
//!
//! Each key has a start row, 64 coefficients for the rows from there on, and a fingerprint. The filter stores one
//! bit for each row and column, chosen so that for every key and every column the bits under the key's coefficients
//! add up (mod 2) to the fingerprint's bit. An absent key passes r columns with a chance of 2^-r.
//!
//! Gaussian elimination solves this, in linear time because the coefficients form a narrow band. It needs more rows
//! than keys, unless some keys may be left out. So a stage gets 7 % *fewer* rows than keys, or 3 % fewer if it is
//! small, and all rows fill up. Rows come in buckets of 128. If a bucket overflows, its keys that start in its first
//! 15, 44 or 128 rows are bumped to the next stage, which is built from only the bumped keys. The last stage bumps
//! nothing. It has a few more rows than keys, and tries one hash after another until everything fits.
//!
//! A rate between two powers of two mixes two widths: the first blocks of 64 rows carry one column more.

mod rows;
mod stage;

use rows::Rows;
use stage::{Stage, enter, leave};

use crate::batch::{BATCH, Places, fetch};
use crate::digests::sort;
use crate::error::{Error, Result};
use crate::filters::payload::Payload;
use crate::hash::Hashing;
use crate::params::{power, require_rate};
use crate::slots::{self, Slots};
use crate::vectors::push;

/// The most stages. At most 3 of them bump.
const MAX_STAGES: usize = 4;
/// A stage with at least this many keys bumps.
const MIN_BUMPING: usize = 1200;
/// A stage with at least this many keys has 93 % as many rows, and a smaller one 97 %: measured to take the fewest bits
/// per key at nearly every size and rate, such as 9.998 instead of 10.010 for a million keys at 0.001.
const LARGE_STAGE: usize = 4096;
const TOO_MANY: Error = Error::rule("a ribbon filter holds fewer than 2^32 keys");

/// A read-only filter, and the smallest kind.
#[derive(Debug, Clone)]
pub struct RibbonFilter {
    hashing: Hashing,
    count: u32,
    fpr: f64,
    /// The slots of the keys; all slots, unless digests have slots.
    slots: Slots,
    attempt: u8,
    stages: Vec<Stage>,
    /// The stages' buckets and blocks, one after another.
    bytes: Payload,
}

impl RibbonFilter {
    /// Builds a filter from the digests of keys. Repeated digests cost nothing. The vector is used up as working space.
    /// Besides the result this takes at most 12 bytes per key, and 8 more for a moment while it sorts.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] unless 2^-32 <= fpr < 1 and fpr >= 100 n / 2^64, or with 2^32 keys;
    /// [`Error::TooLarge`] without the memory; [`Error::BuildFailed`] for keys that were chosen to collide.
    pub fn from_digests(digests: &mut Vec<u64>, fpr: f64, hashing: impl Into<Hashing>) -> Result<Self> {
        let hashing = hashing.into();
        let slots = if hashing.is_slotted() { Slots::of(digests)? } else { Slots::ANY };
        Self::separating(digests, Vec::new(), fpr, hashing).map(|filter| filter.only(slots))
    }

    /// The filter, for keys that are only in these slots.
    pub(crate) fn only(self, slots: Slots) -> Self {
        RibbonFilter { slots, ..self }
    }

    /// Like [`RibbonFilter::from_digests`], for a filter that also misses some of its digests without fail: the lowest
    /// bit of their fingerprints is flipped in their equations. All of `misses` are among the digests, and the fpr is
    /// 1/2 at most, so that every key has a column. Queries need no change for this.
    pub(crate) fn separating(
        digests: &mut Vec<u64>,
        mut misses: Vec<u64>,
        fpr: f64,
        hashing: Hashing,
    ) -> Result<Self> {
        require_fpr(fpr)?;
        debug_assert!(misses.is_empty() || fpr <= 0.5);
        let mut filter = RibbonFilter {
            hashing,
            count: 0,
            fpr,
            slots: Slots::ANY,
            attempt: 0,
            stages: Vec::new(),
            bytes: Payload::default(),
        };
        let mut rows = Rows::default();
        let mut states = std::mem::take(digests);
        loop {
            let key = filter.next_key(0);
            states.iter_mut().for_each(|state| *state = enter(*state, key));
            sort(&mut states)?;
            misses.iter_mut().for_each(|state| *state = enter(*state, key));
            sort(&mut misses)?;
            if filter.stages.is_empty() {
                require_rate(states.len() as u64, fpr)?;
                filter.count = u32::try_from(states.len()).map_err(|_| TOO_MANY)?;
            }
            if states.is_empty() {
                return Ok(filter);
            }
            if filter.stages.len() == MAX_STAGES - 1 || states.len() < MIN_BUMPING {
                for states in [&mut states, &mut misses] {
                    states.iter_mut().for_each(|state| *state = leave(*state, key));
                }
                sort(&mut misses)?;
                filter.last(&mut rows, &states, &misses)?;
                return Ok(filter);
            }
            let percent = if states.len() < LARGE_STAGE { 97 } else { 93 };
            let wanted = (states.len() as u64 * percent / 100) as u32 & !7;
            let mut stage = filter.next_stage(wanted, false, key)?;
            filter.bytes_for(&stage)?;
            states = rows.fill(&stage, &states, &misses, &mut filter.bytes)?;
            rows.solve(&stage, &mut filter.bytes);
            stage.unpack(&filter.bytes)?;
            push(&mut filter.stages, stage)?;
        }
    }

    /// The number that turns a key's state into its state in the next stage. It differs for each stage and attempt.
    fn next_key(&self, attempt: u8) -> u32 {
        (self.stages.len() as u32) << 8 | u32::from(attempt)
    }

    fn next_stage(&self, rows: u32, last: bool, key: u32) -> Result<Stage> {
        Stage::new(rows, last, self.fpr, key, self.stages.last().map_or(0, |stage| stage.end))
    }

    fn bytes_for(&mut self, stage: &Stage) -> Result<()> {
        self.bytes.resize(stage.end)
    }

    /// Builds the stage that bumps nothing. It starts with as many rows as keys, and tries 16 hashes for each number of
    /// rows.
    fn last(&mut self, rows: &mut Rows, states: &[u64], misses: &[u64]) -> Result<()> {
        let mut wanted = (states.len() as u32 + 7) & !7;
        loop {
            for attempt in 0..16 {
                let stage = self.next_stage(wanted, true, self.next_key(attempt))?;
                if rows.fit(&stage, states, misses)? {
                    self.attempt = attempt;
                    self.bytes_for(&stage)?;
                    rows.solve(&stage, &mut self.bytes);
                    return push(&mut self.stages, stage);
                }
            }
            wanted += (wanted / 64).max(1).next_multiple_of(8);
            // A few rounds are enough, unless the keys were chosen to collide under every hash.
            if wanted as usize > 2 * states.len() + 1024 {
                return Err(Error::BuildFailed);
            }
        }
    }

    /// A filter from its stored parts, with the stages' rows in order, and still without its bytes. Hand
    /// [`RibbonFilter::byte_length`] bytes to [`RibbonFilter::set_bytes`] next.
    pub(crate) fn shaped(count: u32, fpr: f64, attempt: u8, rows: &[u32], hashing: Hashing) -> Result<Self> {
        require_fpr(fpr)?;
        let stages = rows.len();
        if stages > MAX_STAGES || (stages == 0) != (count == 0) {
            return Err(Error::rule("a ribbon filter has 1 to 4 stages, or none if it is empty"));
        }
        let mut filter = RibbonFilter {
            hashing,
            count,
            fpr,
            slots: Slots::ANY,
            attempt,
            stages: Vec::new(),
            bytes: Payload::default(),
        };
        for (i, &rows) in rows.iter().enumerate() {
            if rows == 0 || rows % 8 != 0 {
                return Err(Error::rule("a stage's rows must be a multiple of 8 above 0"));
            }
            let last = i + 1 == stages;
            let key = filter.next_key(if last { attempt } else { 0 });
            let stage = filter.next_stage(rows, last, key)?;
            push(&mut filter.stages, stage)?;
        }
        Ok(filter)
    }

    /// How many bytes the stages take.
    pub(crate) fn byte_length(&self) -> usize {
        self.stages.last().map_or(0, |stage| stage.end)
    }

    /// Gives the filter its bytes, [`RibbonFilter::byte_length`] of them.
    // One copy in the wasm.
    #[cfg_attr(target_arch = "wasm32", inline(never))]
    pub(crate) fn set_bytes(&mut self, bytes: Payload) -> Result<()> {
        debug_assert_eq!(bytes.len(), self.byte_length());
        self.bytes = bytes;
        self.stages.iter_mut().try_for_each(|stage| stage.unpack(&self.bytes))
    }

    /// The number of different keys.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// The rate that was asked for.
    pub fn fpr(&self) -> f64 {
        self.fpr
    }

    /// The slots of the keys, if digests have slots. A key of another slot is absent.
    pub fn slots(&self) -> Slots {
        self.slots
    }

    /// How keys become digests.
    pub fn hashing(&self) -> &Hashing {
        &self.hashing
    }

    /// The number of the hash that the last stage uses.
    pub(crate) fn attempt(&self) -> u8 {
        self.attempt
    }

    /// The rows of each stage.
    pub(crate) fn rows(&self) -> impl ExactSizeIterator<Item = u32> {
        self.stages.iter().map(|stage| stage.rows)
    }

    /// The stages' buckets, planes and blocks.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The chance that a key which isn't in the filter is "maybe present": 2^-columns (1 - v/2), where a share v of
    /// the keys has one column more.
    pub fn estimated_fpr(&self) -> f64 {
        self.stages.first().map_or(0.0, |stage| {
            let wide = f64::from(stage.wide_starts) / f64::from(stage.starts);
            power(0.5, stage.columns.into()) * (1.0 - wide / 2.0)
        })
    }

    /// True = maybe present, false = definitely absent.
    pub fn has(&self, key: &[u8]) -> bool {
        self.has_digest(self.hashing.digest(key))
    }

    /// Like [`RibbonFilter::has`], for a key's digest under [`RibbonFilter::hashing`].
    pub fn has_digest(&self, digest: u64) -> bool {
        self.slots.holds(digest)
            && self.locate(digest).is_some_and(|(stage, state, start)| stage.has(&self.bytes, state, start))
    }

    /// As [`RibbonFilter::has_digest`], for up to [`BATCH`] digests: the first plane of each key, and then the rest for
    /// the keys that are left.
    pub(crate) fn has_batch(&self, digests: &[u64]) -> [bool; BATCH] {
        let bytes = self.as_bytes();
        let located = digests.iter().filter_map(|&digest| self.locate(digest));
        let mut answers = [false; BATCH];
        if self.stages.first().is_none_or(|stage| stage.columns < 8) {
            // Without a plane, every key is left.
            fetch(bytes, located.flat_map(|(stage, _, start)| stage.places_of_columns(start)));
            for (answer, &digest) in answers.iter_mut().zip(digests) {
                *answer = self.has_digest(digest);
            }
            return answers;
        }
        fetch(bytes, located.flat_map(|(stage, _, start)| stage.places_of_plane(start)));
        let mut found = [None; BATCH];
        let left = Places::filter(digests, |place, digest| {
            found[place] = self.locate(digest);
            self.slots.holds(digest)
                & found[place].is_some_and(|(stage, state, start)| stage.first_agrees(bytes, state, start))
        });
        let rest = left.iter().filter_map(|place| found[place]);
        fetch(bytes, rest.flat_map(|(stage, _, start)| stage.places_of_columns(start)));
        for place in left.iter() {
            answers[place] = found[place].is_some_and(|(stage, state, start): (&Stage, u64, u32)| {
                !stage.has_rest(start) || stage.rest_agrees(bytes, state, start, 1)
            });
        }
        answers
    }

    /// The stage that answers for a digest, the key's state there and its start row; none in an empty filter.
    #[inline]
    fn locate(&self, digest: u64) -> Option<(&Stage, u64, u32)> {
        let mut state = digest;
        self.stages.iter().find_map(|stage| {
            state = enter(state, stage.key);
            let start = stage.start(state);
            (!stage.bumps(start)).then_some((stage, state, start))
        })
    }
}

impl PartialEq for RibbonFilter {
    fn eq(&self, other: &Self) -> bool {
        let numbers =
            |filter: &Self| (filter.hashing, filter.count, filter.fpr, filter.slots, filter.attempt);
        numbers(self) == numbers(other) && self.rows().eq(other.rows()) && self.bytes == other.bytes
    }
}

/// Fails for a rate that a ribbon filter can't have.
pub(crate) fn require_fpr(fpr: f64) -> Result<()> {
    if (slots::LOWEST..1.0).contains(&fpr) {
        return Ok(());
    }
    let rule = "fpr must be a number of at least 2^-32 (2.33e-10) and below 1";
    Err(Error::rule(rule))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::digest;

    /// One in 200 such filters has no solution with as many rows as keys.
    #[test]
    fn the_last_layer_gets_more_rows_if_no_hash_fits() {
        let rows = (0..1000).map(|seed| {
            let mut digests = (0..48_u64).map(|i| digest(seed, &i.to_le_bytes())).collect();
            RibbonFilter::from_digests(&mut digests, 0.01, seed).unwrap().rows().next()
        });
        assert_eq!(rows.max(), Some(Some(56)));
    }
}
