//! The equations of one stage of a ribbon filter, and their solution: Gaussian elimination while the keys are added,
//! bucket by bucket, and then back substitution.

use super::stage::{BUCKET, Stage, THRESHOLDS, WIDTH, enter, fingerprint, sum_rows};
use crate::error::Result;
use crate::vectors::{append, reserve, resize};

/// The system of equations of one stage, in echelon form. Row i holds the equation whose first coefficient is at i,
/// shifted so that this coefficient is bit 0. A row without coefficients has no equation.
#[derive(Default)]
pub(super) struct Rows {
    coefficients: Vec<u64>,
    fingerprints: Vec<u32>,
}

/// An equation contradicts the others.
pub(super) struct Conflict;

/// Whether a state is among sorted ones, of which there are usually none.
fn is_in(states: &[u64], state: u64) -> bool {
    !states.is_empty() && states.binary_search(&state).is_ok()
}

impl Rows {
    fn reset(&mut self, stage: &Stage) -> Result<()> {
        let rows = stage.rows as usize;
        self.coefficients.clear();
        self.fingerprints.clear();
        resize(&mut self.coefficients, rows)?;
        resize(&mut self.fingerprints, rows)
    }

    /// Adds a key's equation and returns its row; none if the equation follows from the others. If the key is one of
    /// the misses, its equation is wrong by one bit.
    #[cfg_attr(not(target_arch = "wasm32"), inline)]
    fn add(
        &mut self,
        stage: &Stage,
        state: u64,
        start: u32,
        is_miss: bool,
    ) -> Result<Option<usize>, Conflict> {
        let (mut row, mut coefficients, mut fingerprint) =
            (start as usize, stage.coefficients(state), fingerprint(state) ^ u32::from(is_miss));
        loop {
            // There is a row wherever a coefficient is 1.
            let (Some(there), Some(known)) = (self.coefficients.get_mut(row), self.fingerprints.get_mut(row))
            else {
                return Err(Conflict);
            };
            if *there == 0 {
                (*there, *known) = (coefficients, fingerprint);
                return Ok(Some(row));
            }
            coefficients ^= *there;
            fingerprint ^= *known;
            if coefficients == 0 {
                let columns = stage.columns + u32::from(stage.wide_blocks > 0);
                let mask = (1_u64 << columns) - 1;
                return if u64::from(fingerprint) & mask == 0 { Ok(None) } else { Err(Conflict) };
            }
            let skip = coefficients.trailing_zeros();
            coefficients >>= skip;
            row += skip as usize;
        }
    }

    /// Adds all keys. Returns whether they fit. The misses are sorted.
    pub(super) fn fit(&mut self, stage: &Stage, states: &[u64], misses: &[u64]) -> Result<bool> {
        self.reset(stage)?;
        Ok(states.iter().all(|state| {
            let is_miss = is_in(misses, *state);
            let state = enter(*state, stage.key);
            self.add(stage, state, stage.start(state), is_miss).is_ok()
        }))
    }

    /// Adds sorted keys, bucket by bucket, and in each from the last start row to the first. Returns the keys that are
    /// bumped. The previous bucket has spilled over into a bucket's first rows, so that is where keys get stuck. The
    /// misses are sorted too.
    pub(super) fn fill(
        &mut self,
        stage: &Stage,
        states: &[u64],
        misses: &[u64],
        bytes: &mut [u8],
    ) -> Result<Vec<u64>> {
        self.reset(stage)?;
        let mut bumped = Vec::new();
        let mut taken = Vec::new();
        let mut rest = states;
        while let Some(&first) = rest.first() {
            let bucket = stage.start(first) / BUCKET;
            let length = rest.iter().take_while(|&&state| stage.start(state) / BUCKET == bucket).count();
            let (keys, after) = rest.split_at(length);
            rest = after;
            taken.clear();
            reserve(&mut taken, keys.len())?;
            // The first threshold above the first key that contradicts the others, with its code.
            let mut threshold = None;
            for &state in keys.iter().rev() {
                let start = stage.start(state);
                match self.add(stage, state, start, is_in(misses, state)) {
                    // There is room for all bumped keys.
                    Ok(row) if taken.len() < taken.capacity() => taken.push(row),
                    _ => {
                        let mut thresholds = (0..).zip(THRESHOLDS.map(u32::from));
                        threshold = thresholds.find(|&(_, threshold)| threshold > start % BUCKET);
                        break;
                    }
                }
            }
            let Some((code, threshold)) = threshold else { continue };
            // Later equations never change earlier ones, so the last ones can be removed again.
            let kept =
                keys.iter().rev().take_while(|&&state| stage.start(state) % BUCKET >= threshold).count();
            for &row in taken.iter().skip(kept).flatten() {
                if let Some(coefficients) = self.coefficients.get_mut(row) {
                    *coefficients = 0;
                }
            }
            append(&mut bumped, &keys[..keys.len() - kept])?;
            if let Some(codes) = bytes.get_mut(stage.buckets + (bucket / 4) as usize) {
                *codes |= code << (bucket % 4 * 2);
            }
        }
        Ok(bumped)
    }

    /// Back substitution: computes every row's bit in every column, from the last row to the first. A row without an
    /// equation is 0.
    pub(super) fn solve(&self, stage: &Stage, bytes: &mut [u8]) {
        for plane in 0..stage.columns / 8 {
            let at = stage.planes + plane as usize * stage.rows as usize;
            for (row, coefficients, fingerprint) in self.upwards() {
                if coefficients != 0 {
                    let sum = sum_rows(bytes, at + row, coefficients);
                    if let Some(byte) = bytes.get_mut(at + row) {
                        *byte = sum ^ (fingerprint >> (8 * plane)) as u8;
                    }
                }
            }
        }
        let done = stage.columns / 8 * 8;
        let columns = stage.columns % 8 + u32::from(stage.wide_blocks > 0);
        // Bit j of a column is the solution in row + j.
        let mut solution = [0_u64; 8];
        for (row, coefficients, fingerprint) in self.upwards() {
            for (column, bits) in (done..).zip(&mut solution).take(columns as usize) {
                *bits <<= 1;
                if coefficients != 0 {
                    *bits |= u64::from((*bits & coefficients).count_ones() ^ fingerprint >> column) & 1;
                }
            }
            if row % WIDTH as usize == 0 {
                let block = row as u32 / WIDTH;
                let ((at, columns), length) = (stage.block(block), stage.column_bytes(block));
                for (column, bits) in solution.iter().take(columns as usize).enumerate() {
                    let bytes = &mut bytes[at + column * length..];
                    for (byte, bits) in bytes.iter_mut().take(length).zip(bits.to_le_bytes()) {
                        *byte = bits;
                    }
                }
            }
        }
    }

    /// The rows from the last to the first, with their coefficients and fingerprints.
    fn upwards(&self) -> impl Iterator<Item = (usize, u64, u32)> {
        let rows = self.coefficients.iter().zip(&self.fingerprints).enumerate().rev();
        rows.map(|(row, (&coefficients, &fingerprint))| (row, coefficients, fingerprint))
    }
}
