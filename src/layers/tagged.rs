//! Keys with their tags, and the codes that are made for them. FORMAT.md section 13.

use std::cmp::Ordering;
use std::f64::consts::LN_2;

use super::level::{level, passes};
use super::stack::{add_numbers, has_number};
use super::tags::{
    CODE_FPR, CODE_SALT, Dictionary, FILTER_SALT, LONGEST, MAX_SETS, MAX_TAGS, Names, Sets, Tags,
};
use crate::digests::sort;
use crate::error::{Error, Result};
use crate::filters::RibbonFilter;
use crate::hash::{Hashing, mix};
use crate::vectors::{append, copied, push, reserve, resize, zeroed};

const TOO_MANY_SETS: Error = Error::rule(
    "the keys have more than 65535 different sets of tags; use fewer tags, or a filter for each half of them",
);

/// Keys, as digests under one hashing, with the tags of each: what a tagged filter is built from.
///
/// ```
/// use bloom_wasm::hash::digest;
/// use bloom_wasm::Error;
/// use bloom_wasm::layers::{Stack, Tagged};
///
/// let [a, b] = [&b"a.example"[..], b"b.example"].map(|key| digest(0, key));
/// let lists = vec![("phishing".to_owned(), vec![a, b]), ("malware".to_owned(), vec![b])];
/// let stack = Stack::build_tagged(&Tagged::new(lists, Vec::new())?, None, 0.001, 0)?;
/// assert_eq!(stack.tags(b"a.example")?, ["phishing"]);
/// assert_eq!(stack.tags(b"b.example")?, ["phishing", "malware"]);
/// assert!(stack.tags(b"c.example")?.is_empty());
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Tagged {
    names: Names,
    sets: Sets,
    /// In ascending order.
    digests: Vec<u64>,
    /// The place of each digest's set.
    places: Vec<u32>,
}

impl Tagged {
    /// The keys of all lists, each with the names of the lists that it is on, and keys without a tag. Digests may come
    /// in any order and be repeated. Names are numbered in the order of the lists.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] with more than 255 lists, two with the same name, a name that is empty or longer
    /// than 255 bytes, or more than 65,535 different sets of tags; [`Error::TooLarge`] without the memory.
    pub fn new(mut lists: Vec<(String, Vec<u64>)>, untagged: Vec<u64>) -> Result<Self> {
        let mut names = Names::default();
        let mut digests = untagged;
        for (name, list) in &mut lists {
            names.push(name)?;
            sort(list)?;
            append(&mut digests, list)?;
        }
        sort(&mut digests)?;
        let mut tagged = Tagged { names, places: zeroed(digests.len())?, digests, ..Tagged::default() };
        tagged.sets.push(&[])?;
        for (number, (_, list)) in (0..=u8::MAX).zip(&lists) {
            tagged.add(number, list)?;
        }
        tagged.compact()?;
        Ok(tagged)
    }

    /// Adds a name, higher than all before, to the sets of sorted digests.
    fn add(&mut self, number: u8, list: &[u64]) -> Result<()> {
        // What the sets so far become with this name; 0 if no key has needed that yet.
        let mut with: Vec<u32> = zeroed(self.sets.len())?;
        let mut at = 0;
        for digest in list {
            at += self.digests[at..].partition_point(|other| other < digest);
            // Every digest of a list is there.
            assert_eq!(self.digests[at], *digest);
            let place = &mut self.places[at];
            let with = &mut with[*place as usize];
            if *with == 0 {
                *with = self.sets.len() as u32;
                let mut set = copied(self.sets.get(*place as usize))?;
                push(&mut set, number)?;
                self.sets.push(&set)?;
            }
            *place = *with;
        }
        Ok(())
    }

    /// Drops the sets that no key has. The sets that are left are in the order of their numbers.
    fn compact(&mut self) -> Result<()> {
        let mut is_used: Vec<u8> = zeroed(self.sets.len())?;
        for &place in &self.places {
            is_used[place as usize] = 1;
        }
        let mut order = Vec::new();
        for (place, _) in (0..).zip(&is_used).filter(|(_, used)| **used == 1) {
            push(&mut order, place)?;
        }
        sort_by(&mut order, &|a, b| self.sets.get(a).cmp(self.sets.get(b)))?;
        if order.len() > MAX_SETS {
            return Err(TOO_MANY_SETS);
        }
        let mut sets = Sets::default();
        let mut new_places: Vec<u32> = zeroed(self.sets.len())?;
        for &place in &order {
            new_places[place as usize] = sets.len() as u32;
            sets.push(self.sets.get(place as usize))?;
        }
        self.places.iter_mut().for_each(|place| *place = new_places[*place as usize]);
        self.sets = sets;
        Ok(())
    }

    /// Drops all keys except these, whose digests are sorted.
    ///
    /// # Errors
    /// [`Error::TooLarge`] without the memory.
    pub fn keep(&mut self, digests: &[u64]) -> Result<()> {
        let mut kept = self.digests.iter().map(|digest| digests.binary_search(digest).is_ok());
        self.places.retain(|_| kept.next() == Some(true));
        self.digests.retain(|digest| digests.binary_search(digest).is_ok());
        self.compact()
    }

    /// The names, by their numbers.
    pub fn names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.names.iter()
    }

    /// The digests, in ascending order, each once.
    pub fn digests(&self) -> &[u64] {
        &self.digests
    }

    /// The numbers of the names of each digest.
    pub fn sets(&self) -> impl Iterator<Item = &[u8]> {
        self.places.iter().map(|&place| self.sets.get(place as usize))
    }

    /// The numbers of the names of a digest; none unless it is there.
    pub fn numbers_of(&self, digest: u64) -> Option<&[u8]> {
        let at = self.digests.binary_search(&digest).ok()?;
        Some(self.sets.get(self.places[at] as usize))
    }

    /// Whether each name of a key is also a name of one of these other keys, of which there must be one.
    pub(crate) fn is_covered(&self, key: u64, parents: &[u64]) -> bool {
        let mut of_parents = [0; 4];
        parents
            .iter()
            .filter_map(|&key| self.numbers_of(key))
            .for_each(|of| add_numbers(&mut of_parents, of));
        let is_one = |numbers: &[u8]| numbers.iter().all(|&number| has_number(&of_parents, number.into()));
        !parents.is_empty() && self.numbers_of(key).is_some_and(is_one)
    }

    /// How many keys have each name.
    ///
    /// # Errors
    /// [`Error::TooLarge`] without the memory.
    pub fn counts(&self) -> Result<Vec<u64>> {
        let mut counts: Vec<u64> = zeroed(self.names.len())?;
        for &number in self.sets().flatten() {
            counts[usize::from(number)] += 1;
        }
        Ok(counts)
    }

    /// The digests, each with the place of its set.
    fn pairs(&self) -> impl Iterator<Item = (u64, u32)> {
        self.digests.iter().copied().zip(self.places.iter().copied())
    }

    /// The keys with the numbers of a filter that has the names `known`. Names that it doesn't know come after those.
    pub(super) fn wanted<'a>(&self, known: impl Iterator<Item = &'a str>) -> Result<Wanted<'_>> {
        let mut theirs = Vec::new();
        for name in known {
            push(&mut theirs, name)?;
        }
        let mut total = theirs.len();
        let mut names = Names::default();
        // The number of each of our names in that filter.
        let mut numbers: Vec<usize> = Vec::new();
        for name in self.names.iter() {
            let known = theirs.iter().position(|&their| their == name);
            push(&mut numbers, known.unwrap_or(total))?;
            if known.is_none() {
                names.push(name)?;
                total += 1;
            }
        }
        Error::unless(total <= MAX_TAGS, "a filter has at most 255 tags; build a new base")?;
        let mut sets = Sets::default();
        for set in self.sets.iter() {
            let mut there: Vec<u8> = zeroed(total)?;
            for &ours in set {
                there[numbers[usize::from(ours)]] = 1;
            }
            let mut list = Vec::new();
            for (number, _) in (0..=u8::MAX).zip(&there).filter(|(_, is_there)| **is_there == 1) {
                push(&mut list, number)?;
            }
            sets.push(&list)?;
        }
        let mut counts = zeroed(total)?;
        for (_, place) in self.pairs() {
            for &number in sets.get(place as usize) {
                counts[usize::from(number)] += 1;
            }
        }
        Ok(Wanted { keys: self, names, sets, counts })
    }
}

/// Keys with their tags, by the numbers of the filter that they are for.
pub(super) struct Wanted<'a> {
    keys: &'a Tagged,
    /// Names that the filter doesn't know yet.
    pub(super) names: Names,
    sets: Sets,
    /// How many keys have the tag of each number.
    pub(super) counts: Vec<u32>,
}

impl Wanted<'_> {
    /// The names that a filter without a base knows: all or none.
    pub(super) fn known(&self) -> Result<Names> {
        let mut known = Names::default();
        if self.names.len() == 0 {
            known.append(&self.keys.names)?;
        }
        Ok(known)
    }

    pub(super) fn digests(&self) -> &[u64] {
        &self.keys.digests
    }

    /// The digests, each with its tags.
    pub(super) fn keys(&self) -> impl Iterator<Item = (u64, &[u8])> {
        self.keys.pairs().map(|(digest, place)| (digest, self.sets.get(place as usize)))
    }

    /// The tags of the keys that pass the test. `names` are those that are new.
    pub(super) fn tags(
        &self,
        names: &Names,
        test: &dyn Fn(u64) -> bool,
        salt: u32,
        hashing: Hashing,
    ) -> Result<Tags> {
        let mut keys = Vec::new();
        reserve(&mut keys, self.keys.digests.len())?;
        for pair in self.keys.pairs().filter(|(digest, _)| test(*digest)) {
            push(&mut keys, pair)?;
        }
        build(names, &self.sets, &keys, salt, hashing)
    }
}

/// The tags of keys, each with the place of its set.
fn build(names: &Names, sets: &Sets, keys: &[(u64, u32)], salt: u32, hashing: Hashing) -> Result<Tags> {
    let mut dictionary = Dictionary::default();
    dictionary.names.append(names)?;
    if keys.is_empty() {
        // Only the empty set, whose code has no bits.
        push(&mut dictionary.lengths, 1)?;
        dictionary.sets.push(&[])?;
        return Tags::from_parts(dictionary, salt, false, Vec::new());
    }
    let mut counts: Vec<u64> = zeroed(sets.len())?;
    for &(_, place) in keys {
        counts[place as usize] += 1;
    }
    // The most frequent set; among equally frequent ones, the smallest.
    let by_count = |a: usize, b: usize| counts[a].cmp(&counts[b]).then_with(|| sets.get(b).cmp(sets.get(a)));
    let default = (1..counts.len()).fold(0, |most, set| if by_count(most, set).is_lt() { set } else { most });
    let others = keys.len() as u64 - counts[default];
    let filter_fpr = default_fpr(&counts, default, others, sets)?;
    let default_filter = match filter_fpr {
        None => None,
        Some(fpr) => {
            let mut digests = Vec::new();
            for &(digest, _) in keys.iter().filter(|(_, place)| *place as usize != default) {
                push(&mut digests, digest)?;
            }
            Some(level(&mut digests, Vec::new(), fpr, hashing, salt.wrapping_add(FILTER_SALT))?)
        }
    };
    let is_coded = |digest| {
        default_filter
            .as_ref()
            .is_none_or(|filter: &RibbonFilter| passes(filter, digest, salt.wrapping_add(FILTER_SALT)))
    };
    if default_filter.is_some() {
        let coded = keys.iter().filter(|(digest, place)| *place as usize == default && is_coded(*digest));
        counts[default] = (coded.count() as u64).max(1);
    }
    let lengths = code_lengths(&counts, sets)?;
    let codes = Codes::of(&counts, &lengths, sets)?;
    for &place in &codes.order {
        if place as usize == default {
            dictionary.default = dictionary.sets.len() as u16;
        }
        dictionary.sets.push(sets.get(place as usize))?;
    }
    dictionary.lengths = codes.lengths;
    let (mut bits, mut zeros) = (Vec::new(), Vec::new());
    for &(digest, place) in keys.iter().filter(|(digest, _)| is_coded(*digest)) {
        let (code, length) = codes.codes[place as usize];
        for j in 0..u32::from(length) {
            let digest = mix(digest, salt.wrapping_add(CODE_SALT + j));
            push(&mut bits, digest)?;
            if code >> (u32::from(length) - 1 - j) & 1 == 0 {
                push(&mut zeros, digest)?;
            }
        }
    }
    let codes = if bits.is_empty() {
        None
    } else {
        Some(RibbonFilter::separating(&mut bits, zeros, CODE_FPR, hashing)?)
    };
    let has_default_filter = default_filter.is_some();
    let mut levels = Vec::new();
    default_filter.into_iter().chain(codes).try_for_each(|level| push(&mut levels, level))?;
    Tags::from_parts(dictionary, salt, has_default_filter, levels)
}

/// The rate of a filter of the keys that don't have the default set, if that saves more than it takes.
fn default_fpr(counts: &[u64], default: usize, others: u64, sets: &Sets) -> Result<Option<f64>> {
    let all: u64 = counts.iter().sum();
    if others == 0 || others * 2 >= all {
        return Ok(None);
    }
    let bits = |counts: &[u64]| -> Result<u64> {
        let lengths = code_lengths(counts, sets)?;
        Ok(counts.iter().zip(&lengths).map(|(&count, &length)| count * u64::from(length)).sum())
    };
    // The parameters of a level.
    const HEADER: f64 = 8.0 * 24.0;
    let (mut best, mut least) = (None, bits(counts)? as f64 - HEADER);
    let mut counts = copied(counts)?;
    // A default key that passes by chance has a code of about this many bits. Each other key costs log2(1/fpr) bits in
    // the filter: the sum is smallest at fpr = others / (ln 2 defaults bits).
    for length in 1..=4 {
        let fpr = (others as f64 / (LN_2 * (all - others) as f64 * f64::from(length))).min(0.5);
        counts[default] = (((all - others) as f64 * fpr) as u64).max(1);
        let sum = -libm::log(fpr) / LN_2 * others as f64 + bits(&counts)? as f64;
        if sum < least {
            (best, least) = (Some(fpr), sum);
        }
    }
    Ok(best)
}

/// Sorts places, by merging runs. The standard library's sorts are larger in wasm, and this file needs three.
fn sort_by(places: &mut Vec<u32>, order: &dyn Fn(usize, usize) -> Ordering) -> Result<()> {
    let mut width = 1;
    while width < places.len() {
        let mut merged = Vec::new();
        reserve(&mut merged, places.len())?;
        for run in places.chunks(2 * width) {
            let (mut left, mut right) = run.split_at(width.min(run.len()));
            loop {
                let taken = match (left, right) {
                    ([a, ..], [b, ..]) if order(*b as usize, *a as usize).is_lt() => &mut right,
                    ([], _) => &mut right,
                    _ => &mut left,
                };
                let Some((first, rest)) = taken.split_first() else { break };
                push(&mut merged, *first)?;
                *taken = rest;
            }
        }
        *places = merged;
        width *= 2;
    }
    Ok(())
}

/// The lengths of Huffman codes, at most 32 bits; 0 for sets that don't occur, and for the only set.
fn code_lengths(counts: &[u64], sets: &Sets) -> Result<Vec<u8>> {
    let mut order = Vec::new();
    for (place, _) in (0..).zip(counts).filter(|(_, count)| **count > 0) {
        push(&mut order, place)?;
    }
    let mut lengths = zeroed(counts.len())?;
    let leaves = order.len();
    if leaves < 2 {
        return Ok(lengths);
    }
    // Counts are halved until no code is too long.
    for shift in 0.. {
        let weight = |place: usize| (counts[place] >> shift).max(1);
        sort_by(&mut order, &|a, b| weight(a).cmp(&weight(b)).then_with(|| sets.get(a).cmp(sets.get(b))))?;
        // Two queues, of the sets and of the joined pairs, both in ascending order. The two lightest nodes are joined.
        let mut joined: Vec<u64> = Vec::new();
        let mut parents: Vec<u32> = zeroed(2 * leaves - 1)?;
        let (mut leaf, mut node) = (0, 0);
        for parent in leaves..2 * leaves - 1 {
            let mut sum = 0;
            for _ in 0..2 {
                let single = order.get(leaf).map(|&place| weight(place as usize));
                // If no set is left, there is a pair.
                let child = match single {
                    Some(single) if joined.get(node).is_none_or(|&pair| single <= pair) => {
                        sum += single;
                        leaf += 1;
                        leaf - 1
                    }
                    _ => {
                        sum += joined[node];
                        node += 1;
                        leaves + node - 1
                    }
                };
                parents[child] = parent as u32;
            }
            push(&mut joined, sum)?;
        }
        let mut depths: Vec<u8> = zeroed(2 * leaves - 1)?;
        for child in (0..2 * leaves - 2).rev() {
            depths[child] = depths[parents[child] as usize] + 1;
        }
        for (&place, &depth) in order.iter().zip(&depths) {
            lengths[place as usize] = depth;
        }
        if lengths.iter().all(|&length: &u8| usize::from(length) <= LONGEST) {
            break;
        }
    }
    Ok(lengths)
}

/// Canonical codes.
struct Codes {
    /// The places of the sets that have a code, in the order of their codes.
    order: Vec<u32>,
    /// How many codes have 0, 1, ... bits.
    lengths: Vec<u16>,
    /// The code of each place, and its length.
    codes: Vec<(u32, u8)>,
}

impl Codes {
    /// The codes of the sets that occur, with these lengths. If there is only one set, its code has 0 bits.
    fn of(counts: &[u64], lengths: &[u8], sets: &Sets) -> Result<Self> {
        let mut codes = Codes { order: Vec::new(), lengths: Vec::new(), codes: zeroed(lengths.len())? };
        let longest = lengths.iter().fold(0, |longest, &length| longest.max(length));
        resize(&mut codes.lengths, usize::from(longest) + 1)?;
        for (place, _) in (0..).zip(counts).filter(|(_, count)| **count > 0) {
            push(&mut codes.order, place)?;
        }
        let length_of = |place: usize| lengths[place];
        let by_length = |a, b| length_of(a).cmp(&length_of(b)).then_with(|| sets.get(a).cmp(sets.get(b)));
        sort_by(&mut codes.order, &by_length)?;
        let (mut code, mut before) = (0_u64, 0);
        for &place in &codes.order {
            let length = length_of(place as usize);
            code <<= length - before;
            codes.codes[place as usize] = (code as u32, length);
            codes.lengths[usize::from(length)] += 1;
            (code, before) = (code + 1, length);
        }
        Ok(codes)
    }
}
