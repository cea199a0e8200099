//! Which tags the members of a base or of an include have. FORMAT.md section 13.
//!
//! A member has a set of tags. The sets have Huffman codes, and a ribbon filter holds the bits of all codes: it answers
//! "maybe present" for a bit of a key that is 1. If one set is far more frequent than the rest, a filter of the members
//! with another set comes first, and only the keys that it holds have codes. A key that isn't a member gets some set.

use std::ops::Range;
use std::sync::Arc;

use super::level::passes;
use crate::error::{Error, Result};
use crate::filters::RibbonFilter;
use crate::vectors::{append, push};

/// The most tags of a filter.
pub const MAX_TAGS: usize = 255;
/// The most different sets of tags in one part of a filter.
pub(super) const MAX_SETS: usize = 65_535;
/// The longest code of a set, in bits.
pub(super) const LONGEST: usize = 32;
/// Used instead of a layer's salt for the tags of a base. No layer of a filter with tags has it.
pub(crate) const BASE_SALT: u32 = 0xffff_ff00;
/// What is added to the salt for the default filter, and for the first bit of a code.
pub(super) const FILTER_SALT: u32 = 2;
pub(super) const CODE_SALT: u32 = 3;
/// The rate of a level of codes.
pub(crate) const CODE_FPR: f64 = 0.5;

/// Where an item is, given where each item ends. The item must exist.
fn span(ends: &[u32], place: usize) -> Range<usize> {
    let (before, rest) = ends.split_at(place);
    let end = |ends: Option<&u32>| ends.map_or(0, |&end| end as usize);
    debug_assert!(!rest.is_empty(), "an item out of range");
    end(before.last())..end(rest.first())
}

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

    /// The list at this place, which must exist.
    // One copy in the wasm.
    #[cfg_attr(target_arch = "wasm32", inline(never))]
    pub(crate) fn get(&self, place: usize) -> &[u8] {
        &self.numbers[span(&self.ends, place)]
    }

    /// Appends a list, which must be in ascending order.
    #[cfg_attr(target_arch = "wasm32", inline(never))]
    pub(crate) fn push(&mut self, list: &[u8]) -> Result<()> {
        Error::unless(list.windows(2).all(|pair| pair[0] < pair[1]), RULE)?;
        append(&mut self.numbers, list)?;
        push(&mut self.ends, self.numbers.len() as u32)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.len()).map(|place| self.get(place))
    }
}

/// Names, one after another.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Names {
    text: String,
    /// Where each name ends.
    ends: Vec<u32>,
}

impl Names {
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The name of this number, which must exist.
    // One copy in the wasm.
    #[cfg_attr(target_arch = "wasm32", inline(never))]
    pub(crate) fn get(&self, number: usize) -> &str {
        let name = self.text.get(span(&self.ends, number));
        debug_assert!(name.is_some(), "a name out of range");
        name.unwrap_or_default()
    }

    /// Appends a name, which must differ from all before.
    #[cfg_attr(target_arch = "wasm32", inline(never))]
    pub(crate) fn push(&mut self, name: &str) -> Result<()> {
        let is_new = (0..self.len()).all(|number| self.get(number) != name);
        require_tag_name(name)?;
        Error::unless(is_new && self.len() < MAX_TAGS, NAMES)?;
        let length = self.text.len() + name.len();
        self.text.try_reserve_exact(name.len()).map_err(|_| Error::TooLarge { bytes: length as u64 })?;
        self.text.push_str(name);
        push(&mut self.ends, length as u32)
    }

    #[cfg_attr(target_arch = "wasm32", inline(never))]
    pub(crate) fn append(&mut self, more: &Names) -> Result<()> {
        (0..more.len()).try_for_each(|number| self.push(more.get(number)))
    }

    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = &str> {
        (0..self.len()).map(|number| self.get(number))
    }
}

/// The tags of what a base or an include holds.
#[derive(Debug, Clone, PartialEq)]
pub struct Tags {
    names: Names,
    /// How many sets have a code of 0, 1, ... bits.
    lengths: Vec<u16>,
    /// In the order of their codes.
    sets: Sets,
    /// The set of the keys that the default filter doesn't hold.
    default: u16,
    salt: u32,
    has_default_filter: bool,
    /// The default filter, if there is one, and the level of codes, if there are several.
    levels: Vec<RibbonFilter>,
}

/// What is stored of tags besides their levels.
#[derive(Debug, Default)]
pub(crate) struct Dictionary {
    pub(crate) names: Names,
    pub(crate) lengths: Vec<u16>,
    pub(crate) sets: Sets,
    pub(crate) default: u16,
}

impl Tags {
    /// Tags of stored parts. `salt` is that of the include, or [`BASE_SALT`].
    pub(crate) fn from_parts(
        Dictionary { names, lengths, sets, default }: Dictionary,
        salt: u32,
        has_default_filter: bool,
        levels: Vec<RibbonFilter>,
    ) -> Result<Self> {
        Error::unless(lengths.len() <= LONGEST + 1, RULE)?;
        let total: usize = lengths.iter().map(|&count| usize::from(count)).sum();
        Error::unless(total == sets.len() && total <= MAX_SETS, RULE)?;
        // A code of l bits takes 2^-l of all codes.
        let (mut left, mut start, mut ascend) = (1_u64, 0, true);
        for &count in &lengths {
            let end = start + usize::from(count);
            ascend &= (start + 1..end).all(|place| sets.get(place - 1) < sets.get(place));
            start = end;
            // What isn't taken yet, in codes of the next length.
            left = left.checked_sub(count.into()).ok_or(Error::rule(RULE))? * 2;
        }
        let complete = left == 0 && lengths.last() != Some(&0);
        Error::unless(complete && ascend, RULE)?;
        let is_coded = lengths.len() > 1;
        let fits = usize::from(default) < total
            && is_coded >= has_default_filter
            && levels.len() == usize::from(is_coded) + usize::from(has_default_filter)
            && levels.iter().all(|level| level.count() > 0);
        Error::unless(fits, RULE)?;
        Ok(Tags { names, lengths, sets, default, salt, has_default_filter, levels })
    }

    /// The names that are new here. They are numbered after those of the parts below.
    pub fn names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.names.iter()
    }

    pub(crate) fn all_names(&self) -> &Names {
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

    /// The filter of the keys that don't have the default set.
    pub fn default_filter(&self) -> Option<&RibbonFilter> {
        self.levels.first().filter(|_| self.has_default_filter)
    }

    /// The filter of the bits of all codes.
    pub fn codes(&self) -> Option<&RibbonFilter> {
        // There is no default filter without codes.
        self.levels.last()
    }

    pub(crate) fn all_sets(&self) -> &Sets {
        &self.sets
    }

    pub(crate) fn default(&self) -> u16 {
        self.default
    }

    /// Whether its sets have only numbers below this.
    pub(crate) fn is_below(&self, known: usize) -> bool {
        self.sets.numbers.iter().all(|&number| usize::from(number) < known)
    }

    /// The default filter and the codes, as far as they exist.
    pub(crate) fn levels(&self) -> &[RibbonFilter] {
        &self.levels
    }

    pub(crate) fn levels_mut(&mut self) -> &mut [RibbonFilter] {
        &mut self.levels
    }

    /// The place of a key's set among the sets.
    pub(super) fn set_of(&self, digest: u64) -> usize {
        if let Some(filter) = self.default_filter()
            && !passes(filter, digest, self.salt.wrapping_add(FILTER_SALT))
        {
            return self.default.into();
        }
        // The code so far, the first code of its length, and the place of that first code's set.
        let (mut code, mut first, mut place) = (0_u64, 0_u64, 0_u64);
        let mut salt = self.salt.wrapping_add(CODE_SALT);
        for &count in &self.lengths {
            let count = u64::from(count);
            if code - first < count {
                return (place + code - first) as usize;
            }
            place += count;
            first = (first + count) << 1;
            code = code << 1 | u64::from(self.codes().is_some_and(|codes| passes(codes, digest, salt)));
            salt = salt.wrapping_add(1);
        }
        // Never reached, since the codes are complete.
        self.default.into()
    }
}

const NAMES: &str = "a filter has at most 255 tags, with different names";

/// Fails unless a tag can have this name. FORMAT.md section 13: names are printed in one line, with commas between them.
#[cfg_attr(target_arch = "wasm32", inline(never))]
pub fn require_tag_name(name: &str) -> Result<()> {
    let is_shown = |c: char| {
        !c.is_control()
            && !matches!(c, ',' | '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    Error::unless(
        (1..=255).contains(&name.len()) && name.chars().all(is_shown),
        "the name of a tag must have 1 to 255 bytes of UTF-8, without commas, control characters and marks of direction",
    )
}
/// One message for all of them, since each takes room in the wasm.
pub(crate) const RULE: &str = "the tags of a filter must be as FORMAT.md says, in section 13";

/// The tags of a filter, besides those of its includes.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Tagging {
    /// The names that are stored elsewhere, in the manifest of a sharded filter. Those of the base and of the includes
    /// follow.
    pub(crate) elsewhere: Arc<Names>,
    /// The tags of the base; none for the layers of a delta.
    pub(crate) base: Option<Arc<Tags>>,
    /// How many members have the tag of each number, as far as the blob says so.
    pub(crate) counts: Vec<u32>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names_and_sets() -> (Names, Sets) {
        let (mut names, mut sets) = (Names::default(), Sets::default());
        for (name, set) in [("phishing", &[][..]), ("\u{df}", &[0, 2]), ("malware", &[1])] {
            names.push(name).unwrap();
            sets.push(set).unwrap();
        }
        (names, sets)
    }

    #[test]
    fn each_item_is_what_was_pushed() {
        let (names, sets) = names_and_sets();
        assert_eq!(names.iter().collect::<Vec<_>>(), ["phishing", "\u{df}", "malware"]);
        assert_eq!(sets.iter().collect::<Vec<_>>(), [&[][..], &[0, 2], &[1]]);
    }

    #[test]
    #[cfg(debug_assertions)]
    #[should_panic(expected = "out of range")]
    fn there_is_no_name_past_the_last() {
        names_and_sets().0.get(3);
    }

    #[test]
    #[cfg(debug_assertions)]
    #[should_panic(expected = "out of range")]
    fn there_is_no_set_past_the_last() {
        names_and_sets().1.get(3);
    }
}
