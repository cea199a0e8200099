//! A stage of a ribbon filter: where its rows are, and whether they agree with a key.

use std::array::from_fn;

use crate::error::{Error, Result};
use crate::hash::{halves, joined, mix, round, spread, unmix};
use crate::vectors::zeroed;

/// Rows in a bucket.
pub(super) const BUCKET: u32 = 128;
/// Keys that start in the first 0, 15, 44 or 128 rows of a bucket are bumped. A bucket stores the index of its
/// threshold.
pub(super) const THRESHOLDS: [u8; 4] = [0, 15, 44, 128];
/// The number of rows that one key's coefficients cover.
pub(super) const WIDTH: u32 = 64;

/// The place and the shape of a stage. Everything follows from the rows, the fpr and the stage's index.
#[derive(Debug, Clone)]
pub(super) struct Stage {
    pub(super) rows: u32,
    /// The number of start rows: a key starts in one of the first `starts` rows.
    pub(super) starts: u32,
    /// Keys that start below this row have one column more.
    pub(super) wide_starts: u32,
    /// Blocks of 64 rows that carry one column more.
    pub(super) wide_blocks: u32,
    /// The number of columns of the other blocks.
    pub(super) columns: u32,
    /// The coefficients that have rows: all of them, except in a stage of fewer than 64 rows.
    mask: u64,
    /// What turns a key's state from the stage before into its state here.
    pub(super) key: u32,
    /// Where the buckets begin, two bits each. The last stage has none.
    pub(super) buckets: usize,
    /// The same buckets unpacked to one threshold each.
    thresholds: Vec<u8>,
    /// Where the planes begin: eight columns each, one byte per row.
    pub(super) planes: usize,
    /// Where the blocks begin: 64 rows of the remaining columns, one word per column.
    blocks: usize,
    pub(super) end: usize,
}

impl Stage {
    pub(super) fn new(rows: u32, last: bool, fpr: f64, key: u32, at: usize) -> Result<Self> {
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

    pub(super) fn start(&self, state: u64) -> u32 {
        spread(state, self.starts)
    }

    /// The coefficients of the rows from the start on, the first in bit 0, which is always set.
    pub(super) fn coefficients(&self, state: u64) -> u64 {
        let (a, b) = halves(state);
        let (a, b) = round(a, b);
        let (a, b) = round(a, b);
        (joined(a, b) | 1) & self.mask
    }

    /// Unpacks the thresholds, and up to three more that fill the last byte and must be 0.
    pub(super) fn unpack(&mut self, bytes: &[u8]) -> Result<()> {
        let codes = &bytes[self.buckets..self.planes];
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
    pub(super) fn bumps(&self, start: u32) -> bool {
        let threshold = self.thresholds.get((start / BUCKET) as usize);
        debug_assert!(threshold.is_some() || self.thresholds.is_empty(), "a bucket without its threshold");
        threshold.is_some_and(|&threshold| start % BUCKET < threshold.into())
    }

    /// Where a block begins, and how many columns it has.
    pub(super) fn block(&self, block: u32) -> (usize, u32) {
        let columns = self.columns % 8;
        let words = block as usize * columns as usize + block.min(self.wide_blocks) as usize;
        (self.blocks + 8 * words, columns + u32::from(block < self.wide_blocks))
    }

    /// The bytes of one column in a block: 8, or fewer in a last block that isn't full.
    pub(super) fn column_bytes(&self, block: u32) -> usize {
        (self.rows.saturating_sub(block * WIDTH) / 8).min(8) as usize
    }

    #[inline]
    pub(super) fn has(&self, bytes: &[u8], state: u64, start: u32) -> bool {
        if self.columns >= 16 {
            return self.rest_agrees(bytes, state, start, 0);
        }
        let first = self.first_agrees(bytes, state, start);
        // If there is only the first plane, its answer takes no branch.
        if self.has_rest(start) { first && self.columns_agree(bytes, state, start) } else { first }
    }

    /// Whether the first plane, if there is one, agrees with the fingerprint.
    #[inline]
    pub(super) fn first_agrees(&self, bytes: &[u8], state: u64, start: u32) -> bool {
        let at = self.planes + start as usize;
        self.columns < 8 || sum_rows(bytes, at, self.coefficients(state)) == fingerprint(state) as u8
    }

    /// Where the rows of the first plane begin and end.
    #[inline]
    pub(super) fn places_of_plane(&self, start: u32) -> [usize; 2] {
        let at = self.planes + start as usize;
        [at, at + WIDTH as usize - 1]
    }

    /// Where the columns of a key's two blocks begin, and where they end.
    #[inline]
    pub(super) fn places_of_columns(&self, start: u32) -> [usize; 3] {
        let (at, columns) = self.block(start / WIDTH);
        [at, at + 8 * columns as usize, at + 16 * columns as usize]
    }

    /// Whether there is more than one plane.
    #[inline]
    pub(super) fn has_rest(&self, start: u32) -> bool {
        self.columns != 8 || start < self.wide_starts
    }

    /// Whether the planes from this one on and the columns agree.
    // Separate from the rest, so that what the planes have in common is computed once.
    #[cfg_attr(target_arch = "wasm32", inline(never))]
    pub(super) fn rest_agrees(&self, bytes: &[u8], state: u64, start: u32, from: u32) -> bool {
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

    /// The sums of the columns, a bit each, where both blocks are full; none if the bytes end too soon. If there are
    /// more than a few, they are all summed at once, as if there were eight: a branch for each would be mispredicted
    /// too often.
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

/// Whether the number of ones in a word is odd, for eight words: one bit each, that of the first word lowest.
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
pub(super) fn sum_rows(bytes: &[u8], at: usize, coefficients: u64) -> u8 {
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
pub(super) fn sum(rows: &[u8; 64], coefficients: u64) -> u8 {
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
pub(super) fn enter(state: u64, key: u32) -> u64 {
    mix(state, key)
}

/// The inverse of [`enter`].
pub(super) fn leave(state: u64, key: u32) -> u64 {
    unmix(state, key)
}

/// The low half of a state. The high half gives the start, so two keys of one start have different ones.
pub(super) fn fingerprint(state: u64) -> u32 {
    state as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::digest;

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
                state = enter(state, 5);
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
