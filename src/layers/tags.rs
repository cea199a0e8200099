//! Which tags the members of a base or of an include have. FORMAT.md section 13.
//!
//! A member has a set of tags. The sets have Huffman codes, and a ribbon filter holds the bits of all codes: it answers
//! "maybe present" for a bit of a key that is 1. If one set is far more frequent than the rest, a filter of the members
//! with another set comes first, and only the keys that it holds have codes. A key that is no member gets some set.

use std::sync::Arc;

use super::level::passes;
use crate::error::{Error, Result};
use crate::filters::RibbonFilter;
use crate::vectors::{append, push, within};

/// The most tags of a filter.
pub const MAX_TAGS: usize = 255;
/// The most different sets of tags in one part of a filter.
pub(super) const MAX_SETS: usize = 65_535;
/// The longest code of a set, in bits.
pub(super) const LONGEST: usize = 32;
/// In place of a layer's salt for the tags of a base. No layer of a filter with tags has it.
pub(crate) const BASE_SALT: u32 = 0xffff_ff00;
/// What is added to the salt for the default filter, and for the first bit of a code.
pub(super) const FILTER_SALT: u32 = 2;
pub(super) const CODE_SALT: u32 = 3;
/// The rate of a level of codes.
pub(crate) const CODE_FPR: f64 = 0.5;

/// Lists of the numbers of tags, each in ascending order.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Sets {
    numbers: Vec<u8>,
    /// Where each list ends among the numbers.
    ends: Vec<u32>,
}

impl Sets {
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The list of this place; empty past the last.
    pub(crate) fn get(&self, place: usize) -> &[u8] {
        let end = |place: usize| self.ends.get(place).map_or(0, |&end| end as usize);
        let Some(last) = self.ends.get(place) else { return &[] };
        within(&self.numbers, if place == 0 { 0 } else { end(place - 1) }..*last as usize)
    }

    pub(crate) fn push(&mut self, list: &[u8]) -> Result<()> {
        append(&mut self.numbers, list)?;
        push(&mut self.ends, self.numbers.len() as u32)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.len()).map(|place| self.get(place))
    }
}

/// The tags of what a base or an include holds.
#[derive(Debug, Clone, PartialEq)]
pub struct Tags {
    names: Vec<String>,
    /// How many sets have a code of 0, 1, ... bits.
    lengths: Vec<u16>,
    /// In the order of their codes.
    sets: Sets,
    /// The set of the keys that the default filter doesn't hold.
    default: u16,
    salt: u32,
    default_filter: Option<RibbonFilter>,
    codes: Option<RibbonFilter>,
}

/// What is stored of tags beside their levels.
#[derive(Debug, Default)]
pub(crate) struct Dictionary {
    pub(crate) names: Vec<String>,
    pub(crate) lengths: Vec<u16>,
    pub(crate) sets: Sets,
    pub(crate) default: u16,
}

impl Tags {
    /// Tags of stored parts. `salt` is that of the include, or [`BASE_SALT`].
    pub(crate) fn from_parts(
        Dictionary { names, lengths, sets, default }: Dictionary,
        salt: u32,
        default_filter: Option<RibbonFilter>,
        codes: Option<RibbonFilter>,
    ) -> Result<Self> {
        let known = names.iter().enumerate().all(|(i, name)| {
            !name.is_empty() && name.len() <= 255 && names.iter().take(i).all(|other| other != name)
        });
        Error::unless(known && names.len() <= MAX_TAGS, NAMES)?;
        Error::unless(lengths.len() <= LONGEST + 1, CODES)?;
        // A code of l bits takes 2^-l of all codes.
        let longest_first = lengths.iter().rev().map(|&count| u64::from(count));
        let (taken, all) = longest_first.fold((0, 1_u64), |(sum, one), count| (sum + count * one, 2 * one));
        let complete = taken * 2 == all && lengths.last() != Some(&0);
        let total: usize = lengths.iter().map(|&count| usize::from(count)).sum();
        Error::unless(complete && total <= MAX_SETS && total == sets.len(), CODES)?;
        Error::unless(sets.iter().all(|set| set.is_sorted_by(|a, b| a < b)), SETS)?;
        let mut first = 0;
        for &count in &lengths {
            let end = first + usize::from(count);
            let ascend = (first + 1..end).all(|place| sets.get(place - 1) < sets.get(place));
            Error::unless(ascend, SETS)?;
            first = end;
        }
        let is_coded = lengths.len() > 1;
        let fits = usize::from(default) < total
            && is_coded == codes.is_some()
            && (is_coded || default_filter.is_none())
            && default_filter.iter().chain(&codes).all(|level| level.count() > 0);
        Error::unless(fits, LEVELS)?;
        Ok(Tags { names, lengths, sets, default, salt, default_filter, codes })
    }

    /// The names that are new here. They are numbered after those of the parts below.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// How many different sets occur.
    pub fn sets(&self) -> usize {
        self.sets.len()
    }

    /// How many sets have a code of 0, 1, ... bits.
    pub fn code_lengths(&self) -> &[u16] {
        &self.lengths
    }

    /// The filter of those keys that have another set than the default one.
    pub fn default_filter(&self) -> Option<&RibbonFilter> {
        self.default_filter.as_ref()
    }

    /// The filter of the bits of all codes.
    pub fn codes(&self) -> Option<&RibbonFilter> {
        self.codes.as_ref()
    }

    pub(crate) fn all_sets(&self) -> &Sets {
        &self.sets
    }

    pub(crate) fn default(&self) -> u16 {
        self.default
    }

    /// The highest number of a name in a set.
    pub(crate) fn highest(&self) -> Option<u8> {
        self.sets.iter().filter_map(|set| set.last().copied()).max()
    }

    pub(crate) fn levels(&self) -> impl Iterator<Item = &RibbonFilter> {
        self.default_filter.iter().chain(&self.codes)
    }

    pub(crate) fn levels_mut(&mut self) -> impl Iterator<Item = &mut RibbonFilter> {
        self.default_filter.iter_mut().chain(&mut self.codes)
    }

    /// The place of a key's set among the sets.
    pub(super) fn set_of(&self, digest: u64) -> usize {
        if let Some(filter) = &self.default_filter
            && !passes(filter, digest, self.salt.wrapping_add(FILTER_SALT))
        {
            return self.default.into();
        }
        // The code so far, the first code of its length, and the place of that one's set.
        let (mut code, mut first, mut place) = (0_u64, 0_u64, 0_u64);
        let mut salt = self.salt.wrapping_add(CODE_SALT);
        for &count in &self.lengths {
            let count = u64::from(count);
            if code - first < count {
                return (place + code - first) as usize;
            }
            place += count;
            first = (first + count) << 1;
            code =
                code << 1 | u64::from(self.codes.as_ref().is_some_and(|codes| passes(codes, digest, salt)));
            salt = salt.wrapping_add(1);
        }
        // Never, as the codes are complete.
        self.default.into()
    }
}

const NAMES: &str = "a filter has at most 255 tags, with different names of 1 to 255 bytes";
const CODES: &str =
    "the codes of a filter's tags must be complete, with at most 32 bits for at most 65535 sets";
const SETS: &str = "the sets of a filter's tags must ascend";
const LEVELS: &str = "the tags of a filter need their levels, and a default set";

/// The tags of a filter, besides those of its includes.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Tagging {
    /// The names that stand elsewhere: in the manifest of a sharded filter.
    pub(crate) elsewhere: Arc<Vec<String>>,
    /// The tags of the base; none for the layers of a delta.
    pub(crate) base: Option<Arc<Tags>>,
    /// How many members have the tag of each number, as far as the blob says so.
    pub(crate) counts: Vec<u32>,
}
