//! Made-up lists with tags, for tests and examples.

use std::collections::{BTreeMap, BTreeSet};

/// Keys, each with the names of its lists.
pub type Map = BTreeMap<String, BTreeSet<String>>;

/// Numbers without a pattern: SplitMix64 (Steele, Lea and Flood 2014).
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    pub fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }
}

/// Keys with one of four tags each, in these shares of a hundred.
pub fn skewed(total: usize, shares: [usize; 4]) -> Map {
    let tag = |i: usize| {
        let (mut place, mut rest) = (i * 37 % 100, shares.iter());
        rest.by_ref().position(|share| {
            let met = place < *share;
            place = place.saturating_sub(*share);
            met
        })
    };
    (0..total).map(|i| (format!("key-{i}"), BTreeSet::from([format!("tag-{}", tag(i).unwrap())]))).collect()
}

/// Keys on one to three of 64 lists each, each number equally likely. The lists are drawn anew until they differ, list
/// *i* (from 1) with a chance in proportion to 1 / i.
pub fn sixty_four_lists(total: usize, seed: u64) -> Map {
    let mut random = Random(seed);
    let mut ends = Vec::new();
    let mut sum = 0.0;
    for i in 1..=64 {
        sum += 1.0 / f64::from(i);
        ends.push(sum);
    }
    let keys = (0..total).map(|i| {
        let wanted = 1 + random.below(3);
        let mut names = BTreeSet::new();
        while names.len() < wanted {
            let place = random.next() as f64 / 2_f64.powi(64) * sum;
            names.insert(format!("list-{}", ends.partition_point(|end| *end <= place).min(63)));
        }
        (format!("key-{i}"), names)
    });
    keys.collect()
}

/// The lists of keys by their names, and the keys that are on none.
pub fn lists_of(map: &Map) -> (Vec<(String, Vec<String>)>, Vec<String>) {
    let mut lists: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let mut untagged = Vec::new();
    for (key, names) in map {
        names.iter().for_each(|name| lists.entry(name).or_default().push(key.clone()));
        if names.is_empty() {
            untagged.push(key.clone());
        }
    }
    (lists.into_iter().map(|(name, keys)| (name.to_owned(), keys)).collect(), untagged)
}
