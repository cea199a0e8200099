//! The ribbon filter: bumped ribbon retrieval (BuRR), read-only and within 1 % of the information bound. FORMAT.md
//! section 6.5. Dillinger, Hübschle-Schneider, Sanders and Walzer 2022, "Fast succinct retrieval and approximate
//! membership using ribbon".
//!
//! Each key has a start row, 64 coefficients for the rows from there on, and a fingerprint. The filter stores one
//! bit for each row and column, chosen so that for every key and every column the bits under the key's coefficients
//! add up (mod 2) to the fingerprint's bit. An absent key passes r columns with a chance of 2^-r.
//!
//! Gaussian elimination solves this, in linear time because the coefficients form a narrow band. It needs more rows
//! than keys, unless some keys may be left out. So a stage gets 7 % *fewer* rows than keys, a small one 3 %, and all rows fill up.
//! Rows come in buckets of 128. If a bucket overflows, its keys that start in its first 15, 44 or 128 rows are bumped
//! to the next stage, which is built from the bumped keys alone. The last stage bumps nothing. It has a few more rows
//! than keys, and tries one hash after another until everything fits.
//!
//! A rate between two powers of two mixes two widths: the first blocks of 64 rows carry one column more.

mod rows;

use std::array::from_fn;

use rows::Rows;

use crate::batch::{BATCH, Places, fetch};
use crate::digests::sort;
use crate::error::{Error, Result};
use crate::filters::payload::Payload;
use crate::hash::{GOLDEN, Hashing, MULTIPLIER, spread};
use crate::params::{power, require_rate};
use crate::slots::{self, Slots};
use crate::vectors::{push, within, zeroed};

/// Rows in a bucket.
const BUCKET: u32 = 128;
/// Keys that start in the first 0, 15, 44 or 128 rows of a bucket are bumped. A bucket stores the index of its
/// threshold.
const THRESHOLDS: [u8; 4] = [0, 15, 44, 128];
/// The most stages. At most 3 of them bump.
const MAX_STAGES: usize = 4;
/// A stage with at least this many keys bumps.
const MIN_BUMPING: usize = 1200;
/// A stage with at least this many keys has 93 % as many rows, and a smaller one 97 %: by measurement the least bits a
/// key at nearly every size and rate, such as 9.998 in place of 10.010 for a million keys at 0.001.
const LARGE_STAGE: usize = 4096;
/// The inverse of [`MULTIPLIER`] mod 2^64.
const INVERSE: u64 = 0x7814_94a5_5daa_ed0d;
const TOO_MANY: Error = Error::rule("a ribbon filter holds fewer than 2^32 keys");
/// The number of rows that one key's coefficients cover.
const WIDTH: u32 = 64;

/// A read-only filter, and the smallest kind.
#[derive(Debug, Clone)]
pub struct RibbonFilter {
    hashing: Hashing,
    count: u32,
    fpr: f64,
    /// The slots of the keys; any, unless digests have slots.
    slots: Slots,
    attempt: u8,
    stages: Vec<Stage>,
    /// The stages' buckets and blocks, one after another.
    bytes: Payload,
}

/// The place and the shape of a stage. Everything follows from the rows, the fpr and the stage's index.
#[derive(Debug, Clone)]
struct Stage {
    rows: u32,
    /// The number of start rows: a key starts in one of the first `starts` rows.
    starts: u32,
    /// Keys that start below this row have one column more.
    wide_starts: u32,
    /// Blocks of 64 rows that carry one column more.
    wide_blocks: u32,
    /// The number of columns of the other blocks.
    columns: u32,
    /// The coefficients that have rows: all of them, except in a stage of fewer than 64 rows.
    mask: u64,
    /// Turns a key's state from the stage before into its state here.
    key: u64,
    /// Where the buckets begin, two bits each. The last stage has none.
    buckets: usize,
    /// The same buckets unpacked to one threshold each.
    thresholds: Vec<u8>,
    /// Where the planes begin: eight columns each, a byte a row.
    planes: usize,
    /// Where the blocks begin: 64 rows of the remaining columns, one word per column.
    blocks: usize,
    end: usize,
}

impl Stage {
    fn new(rows: u32, last: bool, fpr: f64, key: u64, at: usize) -> Result<Self> {
        let starts = rows.saturating_sub(WIDTH - 1).max(1);
        // fpr = s 2^-columns with 1/2 < s <= 1. A share v of the keys with one column more gives a rate of
        // 2^-columns (1 - v/2), so v = 2 - 2s. All of this is exact in floating point.
        let (mut s, mut columns) = (fpr, 0);
        while s <= 0.5 {
            s *= 2.0;
            columns += 1;
        }
        let wide_starts = libm::ceil((2.0 - 2.0 * s) * f64::from(starts)) as u32;
        // A key that starts in one block reaches into the next one, which needs the column too.
        let all_blocks = rows.div_ceil(WIDTH);
        let wide_blocks =
            if wide_starts == 0 { 0 } else { (wide_starts.div_ceil(WIDTH) + 1).min(all_blocks) };
        // In 64 bits, even if addresses are shorter, so that no sum can wrap around.
        let planes = at as u64 + if last { 0 } else { u64::from(starts.div_ceil(BUCKET).div_ceil(4)) };
        let wide_rows = u64::from(rows.min(wide_blocks.saturating_mul(WIDTH)));
        let plane_bytes = u64::from(rows) * u64::from(columns / 8);
        let bytes = planes + plane_bytes + (u64::from(rows) * u64::from(columns % 8) + wide_rows) / 8;
        let end = match usize::try_from(bytes) {
            Ok(end) if end <= isize::MAX as usize => end,
            _ => return Err(Error::TooLarge { bytes }),
        };
        let (planes, blocks) = (planes as usize, (planes + plane_bytes) as usize);
        let mask = if rows < WIDTH { (1 << rows) - 1 } else { u64::MAX };
        Ok(Stage {
            rows,
            starts,
            wide_starts,
            wide_blocks,
            columns,
            mask,
            key,
            buckets: at,
            thresholds: Vec::new(),
            planes,
            blocks,
            end,
        })
    }

    fn start(&self, state: u64) -> u32 {
        spread(state, self.starts)
    }

    /// The coefficients of the rows from the start on, the first in bit 0, which is always set.
    fn coefficients(&self, state: u64) -> u64 {
        let product = state.wrapping_mul(GOLDEN);
        ((product ^ product >> 32) | 1) & self.mask
    }

    /// Unpacks the thresholds, and up to three more that fill the last byte and must be 0.
    fn unpack(&mut self, bytes: &[u8]) -> Result<()> {
        let codes = within(bytes, self.buckets..self.planes);
        self.thresholds = zeroed(4 * codes.len())?;
        let (fours, _) = self.thresholds.as_chunks_mut::<4>();
        for (four, code) in fours.iter_mut().zip(codes) {
            *four = [0, 2, 4, 6].map(|shift| THRESHOLDS[usize::from(code >> shift & 3)]);
        }
        let beyond = self.thresholds.iter().skip(self.starts.div_ceil(BUCKET) as usize);
        if beyond.copied().any(|threshold| threshold != 0) {
            return Err(Error::rule("the bits after the last bucket must be 0"));
        }
        Ok(())
    }

    #[inline]
    fn bumps(&self, start: u32) -> bool {
        let threshold = self.thresholds.get((start / BUCKET) as usize);
        debug_assert!(threshold.is_some() || self.thresholds.is_empty(), "a bucket without its threshold");
        threshold.is_some_and(|&threshold| start % BUCKET < threshold.into())
    }

    /// Where a block begins, and how many columns it has.
    fn block(&self, block: u32) -> (usize, u32) {
        let columns = self.columns % 8;
        let words = block as usize * columns as usize + block.min(self.wide_blocks) as usize;
        (self.blocks + 8 * words, columns + u32::from(block < self.wide_blocks))
    }

    /// The bytes of one column in a block: 8, or fewer in a last block that isn't full.
    fn column_bytes(&self, block: u32) -> usize {
        (self.rows.saturating_sub(block * WIDTH) / 8).min(8) as usize
    }

    #[inline]
    fn has(&self, bytes: &[u8], state: u64, start: u32) -> bool {
        if self.columns >= 16 {
            return self.rest_agrees(bytes, state, start, 0);
        }
        let first = self.first_agrees(bytes, state, start);
        // Where the first plane is all there is, its answer is no branch.
        if self.has_rest(start) { first && self.columns_agree(bytes, state, start) } else { first }
    }

    /// Whether the first plane, if there is one, agrees with the fingerprint.
    #[inline]
    fn first_agrees(&self, bytes: &[u8], state: u64, start: u32) -> bool {
        let at = self.planes + start as usize;
        self.columns < 8 || sum_rows(bytes, at, self.coefficients(state)) == fingerprint(state) as u8
    }

    /// Where the rows of the first plane begin and end.
    #[inline]
    fn places_of_plane(&self, start: u32) -> [usize; 2] {
        let at = self.planes + start as usize;
        [at, at + WIDTH as usize - 1]
    }

    /// Where the columns of a key's two blocks begin, and where they end.
    #[inline]
    fn places_of_columns(&self, start: u32) -> [usize; 3] {
        let (at, columns) = self.block(start / WIDTH);
        [at, at + 8 * columns as usize, at + 16 * columns as usize]
    }

    /// Whether there is more than one plane.
    #[inline]
    fn has_rest(&self, start: u32) -> bool {
        self.columns != 8 || start < self.wide_starts
    }

    /// Whether the planes from this one on and the columns agree.
    // Apart from the rest, so that what the planes have in common is computed once.
    #[cfg_attr(target_arch = "wasm32", inline(never))]
    fn rest_agrees(&self, bytes: &[u8], state: u64, start: u32, from: u32) -> bool {
        let (coefficients, fingerprint) = (self.coefficients(state), u64::from(fingerprint(state)));
        for plane in from..self.columns / 8 {
            let at = self.planes + plane as usize * self.rows as usize + start as usize;
            if sum_rows(bytes, at, coefficients) != (fingerprint >> (8 * plane)) as u8 {
                return false;
            }
        }
        self.columns_agree(bytes, state, start)
    }

    /// Whether the columns after the planes agree.
    #[inline]
    fn columns_agree(&self, bytes: &[u8], state: u64, start: u32) -> bool {
        let columns = self.columns % 8 + u32::from(start < self.wide_starts);
        let fingerprint = (u64::from(fingerprint(state)) >> (self.columns / 8 * 8)) as u32;
        // The coefficients of rows in this block and in the next.
        let (coefficients, block, shift) = (self.coefficients(state), start / WIDTH, start % WIDTH);
        let (low, high) = (coefficients << shift, coefficients >> 1 >> (WIDTH - 1 - shift));
        let sums = self.sums(bytes, block, low, high);
        let sums = sums.unwrap_or_else(|| self.last_sums(bytes, block, low, high));
        (sums ^ fingerprint) & ((1 << columns) - 1) == 0
    }

    /// The sums of the columns, a bit each, where both blocks are full; none if the bytes end too soon. More than a few
    /// are all summed at once, as if there were eight: a branch for each would be guessed wrong too often.
    #[inline]
    fn sums(&self, bytes: &[u8], block: u32, low: u64, high: u64) -> Option<u32> {
        if block + 2 > self.rows / WIDTH {
            return None;
        }
        let (at, stored) = self.block(block);
        let (here, next) = bytes.get(at..)?.as_chunks::<8>().0.split_at_checked(stored as usize)?;
        let sum = |(here, next): (&[u8; 8], &[u8; 8])| {
            u64::from_le_bytes(*here) & low ^ u64::from_le_bytes(*next) & high
        };
        if stored <= 3 {
            let sums = here.iter().zip(next).map(sum);
            return Some(sums.rev().fold(0, |sums, sum| sums << 1 | sum.count_ones() & 1));
        }
        let words = bytes.get(at..)?.as_chunks::<8>().0;
        let (here, next) = (words.first_chunk::<8>()?, next.first_chunk::<8>()?);
        Some(parities(from_fn(|i| sum((&here[i], &next[i])))))
    }

    /// The sums of the columns where a block is not full, or the bytes end soon after.
    #[cold]
    fn last_sums(&self, bytes: &[u8], block: u32, low: u64, high: u64) -> u32 {
        let (at, stored) = self.block(block);
        let (here_bytes, next_bytes) = (self.column_bytes(block), self.column_bytes(block + 1));
        let next = at + here_bytes * stored as usize;
        (0..stored as usize).fold(0, |sums, column| {
            let (here, next) =
                (word(bytes, at + column * here_bytes), word(bytes, next + column * next_bytes));
            sums | ((here & low ^ next & high).count_ones() & 1) << column
        })
    }
}

/// Whether the number of ones in a word is odd, for eight words: a bit each, the first one's lowest.
#[inline]
fn parities(words: [u64; 8]) -> u32 {
    #[cfg(target_arch = "wasm32")]
    return parities_by_counting(words);
    #[cfg(not(target_arch = "wasm32"))]
    parities_in_a_tree(words)
}

/// For WebAssembly, which has an instruction to count ones.
#[cfg(any(test, target_arch = "wasm32"))]
#[inline]
fn parities_by_counting(words: [u64; 8]) -> u32 {
    words.iter().rev().fold(0, |bits, word| bits << 1 | word.count_ones() & 1)
}

/// For processors that may have none: two words are folded into one, in which each half has the parity of its own, and
/// so on until each byte has the parity of a word.
#[cfg(any(test, not(target_arch = "wasm32")))]
#[inline]
fn parities_in_a_tree([a, b, c, d, e, f, g, h]: [u64; 8]) -> u32 {
    let fold = |a: u64, b: u64, shift: u32, low: u64| (a ^ a >> shift) & low | (b ^ b << shift) & !low;
    let halves = |a, b| fold(a, b, 32, 0x0000_0000_ffff_ffff);
    let quarters = |a, b| fold(a, b, 16, 0x0000_ffff_0000_ffff);
    let (evens, odds) = (quarters(halves(a, e), halves(c, g)), quarters(halves(b, f), halves(d, h)));
    let mut bytes = fold(evens, odds, 8, 0x00ff_00ff_00ff_00ff);
    for shift in [4, 2, 1] {
        bytes ^= bytes >> shift;
    }
    // The lowest bits of the bytes, moved to the highest byte.
    ((bytes & 0x0101_0101_0101_0101).wrapping_mul(0x0102_0408_1020_4080) >> 56) as u32
}

/// The sum (mod 2) of the rows of a plane, one byte each, that have a coefficient of 1.
// One copy in the wasm.
#[cfg_attr(target_arch = "wasm32", inline(never))]
#[cfg_attr(not(target_arch = "wasm32"), inline)]
fn sum_rows(bytes: &[u8], at: usize, coefficients: u64) -> u8 {
    let rows = match bytes.get(at..).and_then(<[u8]>::first_chunk::<64>) {
        Some(rows) => rows,
        None => &last_rows(bytes, at),
    };
    #[cfg(not(target_arch = "wasm32"))]
    return sum(rows, coefficients);
    #[cfg(target_arch = "wasm32")]
    sum_by_words(rows, coefficients)
}

/// All rows at once, in a form that the compiler turns into vector instructions.
#[cfg(not(target_arch = "wasm32"))]
#[inline]
fn sum(rows: &[u8; 64], coefficients: u64) -> u8 {
    let eights = coefficients.to_le_bytes();
    let masks: [u8; 64] = from_fn(|i| if eights[i / 8] >> (i % 8) & 1 == 1 { 0xff } else { 0 });
    rows.iter().zip(masks).fold(0, |sum, (row, mask)| sum ^ row & mask)
}

/// Eight rows at a time, for WebAssembly without vectors.
#[cfg(any(test, target_arch = "wasm32"))]
fn sum_by_words(rows: &[u8; 64], coefficients: u64) -> u8 {
    // The coefficients as a matrix of 8 x 8 bits, transposed: the coefficients of eight rows are now one bit of each
    // byte.
    let mut bits = coefficients;
    for (shift, mask) in [(7, 0x00aa_00aa_00aa_00aa), (14, 0x0000_cccc_0000_cccc), (28, 0xf0f0_f0f0)] {
        let swap = (bits ^ bits >> shift) & mask;
        bits ^= swap ^ swap << shift;
    }
    let mut sum = 0;
    for (i, &word) in rows.as_chunks::<8>().0.iter().enumerate() {
        sum ^= u64::from_le_bytes(word) & ((bits >> i & 0x0101_0101_0101_0101) * 0xff);
    }
    sum ^= sum >> 32;
    sum ^= sum >> 16;
    (sum ^ sum >> 8) as u8
}

/// At the very end, fewer than 64 rows are left. No coefficient beyond them is 1.
#[cold]
fn last_rows(bytes: &[u8], at: usize) -> [u8; 64] {
    from_fn(|i| bytes.get(at + i).copied().unwrap_or(0))
}

/// The next 8 bytes as a number. No coefficient is 1 for bytes after a short column or after the very end.
#[inline]
fn word(bytes: &[u8], at: usize) -> u64 {
    let bytes = bytes.get(at..).unwrap_or_default();
    match bytes.first_chunk() {
        Some(&word) => u64::from_le_bytes(word),
        None => bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte)),
    }
}

/// A key's state in a stage, from its state in the stage before or, at first, its digest.
fn enter(state: u64, key: u64) -> u64 {
    let state = (state ^ key).wrapping_mul(MULTIPLIER);
    state ^ state >> 32
}

/// The inverse of [`enter`].
fn leave(state: u64, key: u64) -> u64 {
    (state ^ state >> 32).wrapping_mul(INVERSE) ^ key
}

fn fingerprint(state: u64) -> u32 {
    (state ^ state >> 32) as u32
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

    /// The filter of keys in these slots alone.
    pub(crate) fn only(self, slots: Slots) -> Self {
        RibbonFilter { slots, ..self }
    }

    /// Like [`RibbonFilter::from_digests`], for a filter that also misses some of its digests without fail: the lowest
    /// bit of their fingerprints is flipped in their equations. All of `misses` are among the digests, and the fpr is
    /// 1/2 at most, so that every key has a column. A query knows nothing of this.
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
    fn next_key(&self, attempt: u8) -> u64 {
        let number = (self.stages.len() as u64) << 8 | u64::from(attempt);
        number.wrapping_mul(GOLDEN)
    }

    fn next_stage(&self, rows: u32, last: bool, key: u64) -> Result<Stage> {
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

    /// The seed of the digests.
    pub fn seed(&self) -> u64 {
        self.hashing.seed()
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

    /// As [`RibbonFilter::has_digest`], for up to [`BATCH`] digests: the first plane of each key, and the rest of those
    /// that are left.
    pub(crate) fn has_batch(&self, digests: &[u64]) -> [bool; BATCH] {
        let bytes = self.as_bytes();
        let located = digests.iter().filter_map(|&digest| self.locate(digest));
        let mut answers = [false; BATCH];
        if self.stages.first().is_none_or(|stage| stage.columns < 8) {
            // Without a plane every key is left.
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

    #[test]
    fn parities_are_those_of_the_ones() {
        for seed in 0..1000_u64 {
            let words: [u64; 8] = from_fn(|i| digest(seed, &i.to_le_bytes()) >> (seed % 64));
            let expected = words.iter().rev().fold(0, |bits, word| bits << 1 | word.count_ones() % 2);
            assert_eq!(parities_by_counting(words), expected, "{words:x?}");
            assert_eq!(parities_in_a_tree(words), expected, "{words:x?}");
        }
    }

    #[test]
    fn both_ways_to_sum_agree() {
        let mut state = 1;
        for _ in 0..1000 {
            let rows = from_fn(|_| {
                state = enter(state, GOLDEN);
                state as u8
            });
            let one_by_one = |coefficients: u64| {
                (0..64).filter(|i| coefficients >> i & 1 == 1).fold(0, |sum, i: usize| sum ^ rows[i])
            };
            for coefficients in [0, 1, 1 << 63, u64::MAX, state] {
                assert_eq!(sum(&rows, coefficients), one_by_one(coefficients));
                assert_eq!(sum_by_words(&rows, coefficients), one_by_one(coefficients));
            }
        }
    }
}
