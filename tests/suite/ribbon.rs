//! The ribbon filter against a naive one, which reads every bit by itself and solves the equations densely; no false
//! negatives, the rate that was asked for, the promised size, and the same bytes for the same keys.

use std::collections::BTreeSet;

use bloom_wasm::hash::digest;
use bloom_wasm::params::optimal;
use bloom_wasm::{Filter, RibbonFilter};
use proptest::prelude::*;

use crate::naive;

fn digests(count: u64) -> Vec<u64> {
    (0..count).map(|i| digest(0, &i.to_le_bytes())).collect()
}

fn build(count: u64, fpr: f64) -> RibbonFilter {
    RibbonFilter::from_digests(&mut digests(count), fpr, 0).unwrap()
}

/// False positives among `probes` keys that no filter of these tests holds.
fn false_positives(filter: &RibbonFilter, probes: u64) -> u64 {
    (0..probes).filter(|i| filter.has(&(i | 1 << 63).to_le_bytes())).count() as u64
}

/// All members present, and no more non-members than `fpr` and four standard deviations allow.
fn check(filter: &RibbonFilter, count: u64, fpr: f64, probes: u64) {
    assert!((0..count).all(|i| filter.has(&i.to_le_bytes())), "{count} keys at {fpr}: a false negative");
    let (hits, expected) = (false_positives(filter, probes) as f64, fpr * probes as f64);
    assert!(
        hits <= expected + 4.0 * expected.sqrt() + 4.0,
        "{count} keys at {fpr}: {hits} hits for {expected}"
    );
    let expected = filter.estimated_fpr() * probes as f64;
    assert!(
        (hits - expected).abs() <= 4.0 * expected.sqrt() + 4.0,
        "{count} keys at {fpr}: {hits} for {expected}"
    );
    assert!(filter.estimated_fpr() <= fpr);
}

const RATES: [f64; 5] = [1e-2, 1e-3, 1e-4, 1e-6, 1.0 / 256.0];

#[test]
fn every_size() {
    let mut counts: Vec<u64> = (0..=20).collect();
    counts.extend((5..=17).step_by(2).flat_map(around));
    counts.extend([1199, 1200, 1201]);
    counts.extend((11_480..=11_521).step_by(4));
    check_sizes(&counts);
}

#[test]
#[ignore = "long: npm run test:all"]
fn every_large_size() {
    let mut counts: Vec<u64> = (18..=21).flat_map(around).collect();
    counts.push(3_000_000);
    check_sizes(&counts);
}

/// A power of two and its neighbours.
fn around(power: u32) -> [u64; 3] {
    [(1 << power) - 1, 1 << power, (1 << power) + 1]
}

fn check_sizes(counts: &[u64]) {
    for (i, &count) in counts.iter().enumerate() {
        let fpr = RATES[i % RATES.len()];
        check(&build(count, fpr), count, fpr, 400_000);
    }
}

#[test]
fn every_rate() {
    for fpr in
        [0.999, 0.9, 0.7, 0.5, 0.49, 0.3, 0.25, 0.1, 0.05, 1.0 / 64.0, 0.004, 1e-5, 1e-7, 1e-9, 2.4e-10]
    {
        for count in [1, 40, 64, 700, 20_000] {
            check(&build(count, fpr), count, fpr, 400_000);
        }
    }
}

#[test]
fn impossible_rates() {
    assert_eq!(
        RibbonFilter::from_digests(&mut digests(10), 2.3e-10, 0).unwrap_err().code(),
        "invalid_parameter"
    );
    assert_eq!(RibbonFilter::from_digests(&mut digests(10), 1.0, 0).unwrap_err().code(), "invalid_parameter");
}

#[test]
#[ignore = "long: npm run test:all"]
fn rates() {
    check(&build(100_000, 0.01), 100_000, 0.01, 20_000_000);
    check(&build(100_000, 1e-6), 100_000, 1e-6, 100_000_000);
}

/// The promised size, including header and checksum, in units of n log2(1/fpr).
#[test]
#[ignore = "long: npm run test:all"]
fn size() {
    for fpr in RATES {
        for (count, bound, bound_at_1e_2) in
            [(1_000_000, 1.01, 1.02), (100_000, 1.02, 1.02), (10_000, 1.05, 1.06), (1_000, 1.15, 1.15)]
        {
            let bytes = Filter::from(build(count, fpr)).encode().unwrap().len() as f64;
            let ratio = bytes * 8.0 / (count as f64 * -fpr.log2());
            let bound = if fpr == 1e-2 { bound_at_1e_2 } else { bound };
            assert!(ratio <= bound, "{count} keys at {fpr}: {ratio}");
        }
        for count in (0..200).chain((200..5000).step_by(101)).chain([20_000, 50_000]) {
            let bytes = Filter::from(build(count, fpr)).encode().unwrap().len();
            let bloom = optimal(count, fpr).unwrap().bytes as usize + 29;
            assert!(bytes <= bloom + 64, "{count} keys at {fpr}: {bytes} for a Bloom filter's {bloom}");
        }
    }
}

/// The filter in a blob without metadata, as FORMAT.md section 6.5 describes it: every bit is looked up by itself.
struct Naive<'a> {
    attempt: u64,
    stages: Vec<NaiveStage>,
    payload: &'a [u8],
}

#[derive(Clone, Copy)]
struct NaiveStage {
    number: u64,
    last: bool,
    rows: usize,
    starts: usize,
    /// c, and V: keys that start below it have one column more.
    columns: usize,
    wide_starts: usize,
    wide_blocks: usize,
    /// Where the buckets, the planes and the blocks begin, and where they end.
    offsets: [usize; 4],
}

/// A key in a stage.
struct Equation {
    state: u64,
    start: usize,
    coefficients: u64,
    fingerprint: u32,
}

const THRESHOLDS: [usize; 4] = [0, 15, 44, 128];

impl<'a> Naive<'a> {
    fn read(blob: &'a [u8]) -> Self {
        assert_eq!([blob[5], blob[7], blob[8]], [5, 0, 0], "a ribbon filter without metadata and layers");
        let number = |at: usize| u32::from_le_bytes(blob[at..at + 4].try_into().unwrap()) as usize;
        let fpr = f64::from_le_bytes(blob[21..29].try_into().unwrap());
        let (attempt, count) = (blob[29].into(), usize::from(blob[30]));
        let columns = (0..).find(|&c| 0.5_f64.powi(c + 1) < fpr && fpr <= 0.5_f64.powi(c)).unwrap();
        let share = 2.0 - 2.0 * fpr * 2_f64.powi(columns);
        let mut stages: Vec<NaiveStage> = Vec::new();
        for i in 0..count {
            let (rows, last) = (number(31 + 4 * i), i + 1 == count);
            let (starts, columns) = (rows.saturating_sub(63).max(1), columns as usize);
            let wide_starts = (share * starts as f64).ceil() as usize;
            let wide_blocks = match wide_starts {
                0 => 0,
                _ => (wide_starts.div_ceil(64) + 1).min(rows.div_ceil(64)),
            };
            let buckets = stages.last().map_or(0, |stage| stage.offsets[3]);
            let planes = buckets + if last { 0 } else { (2 * starts.div_ceil(128)).div_ceil(8) };
            let blocks = planes + columns / 8 * rows;
            let end = blocks + columns % 8 * (rows / 8) + (64 * wide_blocks).min(rows) / 8;
            let offsets = [buckets, planes, blocks, end];
            let number = i as u64;
            stages.push(NaiveStage {
                number,
                last,
                rows,
                starts,
                columns,
                wide_starts,
                wide_blocks,
                offsets,
            });
        }
        let payload = &blob[31 + 4 * count..blob.len() - 4];
        assert_eq!(payload.len(), stages.last().map_or(0, |stage| stage.offsets[3]));
        Naive { attempt, stages, payload }
    }

    /// Bit `bit` of the bit array that begins at `byte`.
    fn bit(&self, byte: usize, bit: usize) -> bool {
        self.payload[byte + bit / 8] >> (bit % 8) & 1 == 1
    }

    /// The solution in a row and column.
    fn solution(&self, stage: &NaiveStage, row: usize, column: usize) -> bool {
        let [_, planes, blocks, _] = stage.offsets;
        let in_planes = stage.columns / 8 * 8;
        if column < in_planes {
            return self.bit(planes + column / 8 * stage.rows + row, column % 8);
        }
        let block = row / 64;
        let before = 8 * (stage.columns % 8 * block + block.min(stage.wide_blocks));
        let bytes = (stage.rows - 64 * block).min(64) / 8;
        self.bit(blocks + before + (column - in_planes) * bytes, row % 64)
    }

    /// The code of a bucket's threshold; 0 where there are no buckets.
    fn code(&self, stage: &NaiveStage, bucket: usize) -> usize {
        let bit = |i| usize::from(self.bit(stage.offsets[0], 2 * bucket + i));
        if stage.last { 0 } else { bit(0) + 2 * bit(1) }
    }

    fn bumps(&self, stage: &NaiveStage, start: usize) -> bool {
        start % 128 < THRESHOLDS[self.code(stage, start / 128)]
    }

    fn has_digest(&self, digest: u64) -> bool {
        let mut state = digest;
        for stage in &self.stages {
            let key = stage.equation(state, self.attempt);
            state = key.state;
            if !self.bumps(stage, key.start) {
                let columns = stage.columns + usize::from(key.start < stage.wide_starts);
                return (0..columns).all(|column| {
                    let ones = (0..64).filter(|j| key.coefficients >> j & 1 == 1);
                    let sum = ones.filter(|j| self.solution(stage, key.start + j, column)).count();
                    sum % 2 == (key.fingerprint >> column & 1) as usize
                });
            }
        }
        false
    }
}

impl NaiveStage {
    /// A key by its state in the stage before.
    fn equation(&self, state: u64, attempt: u64) -> Equation {
        let number = self.number * 256 + if self.last { attempt } else { 0 };
        let state = naive::mix(state, number as u32);
        let start = naive::place(state, self.starts as u128) as usize;
        let mut coefficients = naive::round(naive::round(state)) as u64 | 1;
        if self.rows < 64 {
            coefficients %= 1 << self.rows;
        }
        Equation { state: state as u64, start, coefficients, fingerprint: state as u32 }
    }

    /// The columns that the builder solves, for every key: those that all blocks have, and the one that some have.
    fn solved(&self) -> usize {
        self.columns + usize::from(self.wide_starts > 0)
    }

    /// A coefficient for every row of the stage, and then what each column's sum must be.
    fn dense(&self, key: &Equation) -> Vec<bool> {
        let mut equation = vec![false; self.rows + self.solved()];
        (0..64).filter(|j| key.coefficients >> j & 1 == 1).for_each(|j| equation[key.start + j] = true);
        (0..self.solved()).for_each(|i| equation[self.rows + i] = key.fingerprint >> i & 1 == 1);
        equation
    }

    fn is_solvable(&self, states: &[u64], attempt: u64) -> bool {
        let mut system = System(vec![None; self.rows]);
        states.iter().all(|&state| system.add(self.dense(&self.equation(state, attempt))))
    }
}

/// A dense system of linear equations mod 2. One whose first coefficient is in row i is at i.
#[derive(Clone)]
struct System(Vec<Option<Vec<bool>>>);

impl System {
    /// Gaussian elimination by one equation more; false if it contradicts the others.
    fn add(&mut self, mut equation: Vec<bool>) -> bool {
        while let Some(first) = equation.iter().position(|&bit| bit) {
            match self.0.get(first) {
                None => return false,
                Some(None) => {
                    self.0[first] = Some(equation);
                    return true;
                }
                Some(Some(pivot)) => equation.iter_mut().zip(pivot).for_each(|(bit, other)| *bit ^= other),
            }
        }
        true
    }

    /// The solution that is 0 in every row without an equation, by row and column.
    fn solve(&self, columns: usize) -> Vec<Vec<bool>> {
        let mut solution = vec![vec![false; columns]; self.0.len()];
        for (row, equation) in self.0.iter().enumerate().rev() {
            let Some((coefficients, sums)) = equation.as_ref().map(|all| all.split_at(self.0.len())) else {
                continue;
            };
            for column in 0..columns {
                let others =
                    (row + 1..coefficients.len()).filter(|&i| coefficients[i] && solution[i][column]);
                solution[row][column] = sums[column] ^ (others.count() % 2 == 1);
            }
        }
        solution
    }
}

/// The filter of these digests is, to the bit, the result of dense elimination, and every answer is the naive filter's.
/// Returns how many stages there are.
fn check_naively(digests: &[u64], fpr: f64) -> usize {
    let filter = RibbonFilter::from_digests(&mut digests.to_vec(), fpr, 0).unwrap();
    let blob = Filter::from(filter.clone()).encode().unwrap();
    let naive = Naive::read(&blob);
    let mut states: Vec<u64> = digests.iter().copied().collect::<BTreeSet<u64>>().into_iter().collect();
    assert_eq!(filter.count() as usize, states.len());
    for stage in &naive.stages {
        let least = NaiveStage { rows: states.len().next_multiple_of(8), ..*stage };
        if stage.last && least.rows < stage.rows {
            let least = NaiveStage { starts: least.rows.saturating_sub(63).max(1), ..least };
            assert!((0..16).all(|attempt| !least.is_solvable(&states, attempt)), "more rows than it takes");
        }
        if stage.last {
            let sooner = (0..naive.attempt).find(|&attempt| stage.is_solvable(&states, attempt));
            assert_eq!(sooner, None, "a later attempt than it takes");
        }
        let keys: Vec<Equation> = states.iter().map(|&state| stage.equation(state, naive.attempt)).collect();
        let mut system = System(vec![None; stage.rows]);
        for bucket in 0..stage.starts.div_ceil(128) {
            // The least threshold with which the bucket's keys, and those of all before, can be solved.
            let code = (0..4).find(|&code| {
                let mut more = system.clone();
                let mut kept = keys
                    .iter()
                    .filter(|key| key.start / 128 == bucket && key.start % 128 >= THRESHOLDS[code]);
                let solvable = kept.all(|key| more.add(stage.dense(key)));
                if solvable {
                    system = more;
                }
                solvable
            });
            assert_eq!(code, Some(naive.code(stage, bucket)), "{digests:?}: bucket {bucket}");
        }
        for (row, solution) in system.solve(stage.solved()).iter().enumerate() {
            let stored = stage.columns + usize::from(row < 64 * stage.wide_blocks);
            for (column, &bit) in solution.iter().enumerate().take(stored) {
                assert_eq!(naive.solution(stage, row, column), bit, "row {row}, column {column}");
            }
        }
        states = keys.iter().filter(|key| naive.bumps(stage, key.start)).map(|key| key.state).collect();
    }
    assert!(states.is_empty(), "keys that no stage holds");
    assert!(digests.iter().all(|&digest| naive.has_digest(digest)));
    for stranger in (0..3000_u64).map(|i| digest(1, &i.to_le_bytes())) {
        assert_eq!(filter.has_digest(stranger), naive.has_digest(stranger), "{stranger:x}");
    }
    naive.stages.len()
}

#[test]
fn golden_files_answer_as_a_naive_reader_does() {
    for name in ["ribbon", "ribbon-small", "ribbon-wide", "ribbon-stages", "ribbon-empty", "url"] {
        let bytes = std::fs::read(format!("tests/golden/{name}.bloom")).unwrap();
        let blob = Filter::decode(bytes.clone()).unwrap();
        let naive = Naive::read(&bytes);
        for i in 0..30_000 {
            let digest = digest(blob.stack().hashing().seed(), format!("key-{i}").as_bytes());
            assert_eq!(blob.stack().has_digest(digest), naive.has_digest(digest), "{name}: key-{i}");
        }
    }
}

/// Keys that all start in the first bucket, so that the stage bumps nearly all of them.
#[test]
fn a_naive_filter_of_three_stages() {
    let digests: Vec<u64> = (0..1600_u64).map(|i| naive::unmix(i << 45 | i)).collect();
    assert_eq!(check_naively(&digests, 0.003), 3);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn agrees_with_a_naive_filter(
        count in prop_oneof![3 => 0..200_u64, 1 => 1200..1600_u64],
        fpr in prop_oneof![1e-9..1e-3_f64, 1e-3..0.999_f64, Just(0.5), Just(1.0 / 256.0)],
        seed: u64,
    ) {
        let digests: Vec<u64> = (0..count).map(|i| digest(seed, &i.to_le_bytes())).collect();
        let stages = check_naively(&digests, fpr);
        prop_assert_eq!(stages, usize::from(count > 0) + usize::from(count >= 1200));
    }

    /// Digests as an enemy would choose them: all in one bucket, or with their low bits in a pattern.
    #[test]
    fn adversarial_digests(count in 1..3000_u64, shift in 0..64_u32, base: u64) {
        let chosen: Vec<u64> = (0..count).map(|i| base.wrapping_add(i << shift)).collect();
        let filter = RibbonFilter::from_digests(&mut chosen.clone(), 0.01, 0).unwrap();
        prop_assert!(chosen.iter().all(|&digest| filter.has_digest(digest)));
    }
}
