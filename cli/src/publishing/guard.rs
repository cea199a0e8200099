//! The guard against a list that shrinks. Such a list is most often an error page, or is missing a part that failed to
//! arrive.

use anyhow::{Result, bail};

use crate::lists::keys::{Counts, List};
use crate::text::{counted, grouped};

/// Less than the third that is gone if one of three parts of a list is missing, and more than lists lose from day to
/// day.
const MAX_REMOVED: f64 = 0.25;
/// A list of fewer keys may change completely.
const LEAST: u64 = 100;

/// How much of a list may be removed.
#[derive(Clone, Copy, clap::Args)]
pub struct GuardArgs {
    /// The largest share of the keys that may be removed at once, such as 50%. More is refused if there were 100 keys
    /// or more; so is a list whose share of skipped lines grows by more than this. Default 25%
    #[arg(long, value_name = "SHARE", value_parser = share)]
    max_removed: Option<f64>,
}

/// Reads a share in percent. Without the percent sign, 1 could mean all or a hundredth.
fn share(text: &str) -> Result<f64, &'static str> {
    let percent = text.strip_suffix('%').and_then(|number| number.parse().ok());
    let percent = percent.filter(|percent| (0.0..=100.0).contains(percent));
    percent.map(|percent: f64| percent / 100.0).ok_or("give a share such as 50%, at most 100%")
}

/// How a list changes.
pub struct Change {
    /// How many keys it had.
    before: u64,
    /// How many of them are gone, at least.
    removed: u64,
}

impl Change {
    /// The change of a list of which only the number of keys is known, before and now.
    pub fn of_counts(before: u64, now: u64) -> Self {
        Change::new(before, before.saturating_sub(now))
    }

    /// The change of a list of which it is known how many keys are removed.
    pub fn new(before: u64, removed: u64) -> Self {
        Change { before, removed }
    }

    /// Why it is refused, if it is.
    fn objection(&self, max: f64) -> Option<String> {
        let &Change { before, removed } = self;
        is_too_much(removed, before, max).then(|| {
            let (removed, before, max) = (grouped(removed), grouped(before), percent(max));
            format!("{removed} of {before} keys would be removed, and at most {max}% may be")
        })
    }
}

/// Whether too many keys are removed.
fn is_too_much(removed: u64, before: u64, max: f64) -> bool {
    before >= LEAST && removed as f64 > before as f64 * max
}

/// Why the share of skipped lines is refused, if it is.
fn skipped(old: Counts, new: Counts, max: f64) -> Option<String> {
    let [was, is, max] = [old.skipped_share(), new.skipped_share(), max].map(percent);
    (is > was + max).then(|| format!("{is}% of the lines give no key, and {was}% gave none before"))
}

fn percent(share: f64) -> f64 {
    (share * 1e4).round() / 1e2
}

fn refused(words: String) -> Result<()> {
    bail!("{words}; if the list is right, give --max-removed 100% for this run")
}

/// Each list of the last run with its successor in this one: the list with its tag, or with its name or, since some
/// scripts give files new names each time, the first whose tag and name no old list had. Lists that are over and have
/// no successor are left out.
fn successors<'a>(
    before: &'a [List],
    now: &'a [List],
    is_over: impl Fn(&List) -> bool,
) -> Vec<(&'a List, Option<&'a List>)> {
    let same = |old: &List, new: &List| old.tag == new.tag && (old.tag.is_some() || old.name == new.name);
    let same_name = |old: &List, new: &List| old.name == new.name;
    let mut others = now.iter().filter(|new| !before.iter().any(|old| same(old, new) || same_name(old, new)));
    let mut pairs = Vec::new();
    for old in before {
        let find = |is: &dyn Fn(&List, &List) -> bool| now.iter().find(|new| is(old, new));
        let known = find(&same).or_else(|| find(&same_name));
        if known.is_some() || !is_over(old) {
            pairs.push((old, known.or_else(|| others.next())));
        }
    }
    pairs
}

impl GuardArgs {
    fn max(&self) -> f64 {
        self.max_removed.unwrap_or(MAX_REMOVED)
    }

    /// Fails for a list that loses too much.
    pub fn check(&self, change: &Change) -> Result<()> {
        change.objection(self.max()).map_or(Ok(()), refused)
    }

    /// Fails if one of the lists loses too much, or is missing and not over: in the total, a large list would hide
    /// that. Only the number of its keys is known, and a key may be in several lists. Returns which lists have replaced
    /// which, in words.
    pub fn check_lists(
        &self,
        before: &[List],
        now: &[List],
        is_over: impl Fn(&List) -> bool,
    ) -> Result<Vec<String>> {
        let mut replaced = Vec::new();
        for (old, new) in successors(before, now, is_over) {
            self.objection(old, new).map_or(Ok(()), refused)?;
            let has_tag = |new: &List| old.tag.is_some() && old.tag == new.tag;
            if let Some(new) = new.filter(|new| new.name != old.name && !has_tag(new)) {
                replaced.push(format!("{} replaces {}", new.name, old.name));
            }
        }
        Ok(replaced)
    }

    /// Why the successor of a list, or its absence, is refused, if it is.
    fn objection(&self, old: &List, new: Option<&List>) -> Option<String> {
        let (had, max) = (old.counts.keys, self.max());
        let has = new.map_or(0, |new| new.counts.keys);
        let is_too_short = is_too_much(had.saturating_sub(has), had, max);
        let before = grouped(had);
        let Some(new) = new else {
            return is_too_short
                .then(|| format!("{}: this list is missing, and had {before} keys", old.name));
        };
        let words = if is_too_short {
            let whose = if old.name == new.name { "" } else { &format!("{}, which it replaces, ", old.name) };
            let (has, max) = (counted(has, "key", "keys"), percent(max));
            format!("this list has {has}, and {whose}had {before}; at most {max}% may be removed")
        } else {
            skipped(old.counts, new.counts, max).filter(|_| had >= LEAST)?
        };
        Some(format!("{}: {words}", new.name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares() {
        for (text, expected) in [("0%", 0.0), ("25%", 0.25), ("12.5%", 0.125), ("100%", 1.0), ("1e1%", 0.1)] {
            assert_eq!(share(text), Ok(expected), "{text}");
        }
        for text in ["", "%", "1", "0.5", "50 %", "-1%", "100.1%", "NaN%", "inf%", "half"] {
            assert!(share(text).is_err(), "{text}");
        }
    }

    #[test]
    fn removed_keys() {
        let refused = |before, removed, max| Change::new(before, removed).objection(max).is_some();
        // A third, by default, from 100 keys on.
        for (before, removed, expected) in [
            (300, 100, true),
            (300, 75, false),
            (300, 76, true),
            (100, 100, true),
            (99, 99, false),
            (0, 0, false),
        ] {
            assert_eq!(refused(before, removed, MAX_REMOVED), expected, "{removed} of {before}");
        }
        assert!(refused(1000, 1, 0.0) && !refused(1000, 0, 0.0));
        assert!(!refused(1000, 1000, 1.0));
        // Numbers that aren't exact as f64.
        assert!(refused(u64::MAX, u64::MAX, 0.99) && !refused(u64::MAX, u64::MAX, 1.0));
        assert_eq!(Change::of_counts(100, 130).removed, 0);
        assert_eq!(Change::of_counts(100, 30).removed, 70);
    }

    #[test]
    fn skipped_lines() {
        let refused = |old: [u64; 2], new: [u64; 2], max| {
            let [old, new] = [old, new].map(|[keys, skipped]| Counts { keys, skipped });
            skipped(old, new, max).is_some()
        };
        // An adblock list skips most of its lines, always.
        assert!(!refused([1000, 9000], [1000, 9000], 0.0));
        assert!(!refused([1000, 9000], [1000, 90_000], MAX_REMOVED));
        // The same number of keys, and as many skipped lines again.
        assert!(refused([1000, 0], [1000, 1000], MAX_REMOVED));
        assert!(
            !refused([1000, 0], [1000, 333], MAX_REMOVED) && refused([1000, 0], [1000, 334], MAX_REMOVED)
        );
        assert!(!refused([1000, 0], [1000, 1_000_000_000], 1.0));
        // Fewer skipped lines than before are no reason to refuse.
        assert!(!refused([1000, 9000], [1000, 0], 0.0));
        assert!(!refused([0, 0], [0, 0], 0.0));
    }

    #[test]
    fn what_lists_become() {
        let list = |text: &str| {
            let (tag, name) =
                text.split_once('=').map_or((None, text), |(tag, name)| (Some(tag.to_owned()), name));
            List { name: name.to_owned(), tag, counts: Counts { keys: 0, skipped: 0 } }
        };
        let lists = |text: &str| text.split_whitespace().map(list).collect::<Vec<_>>();
        for (before, now, expected) in [
            ("a b", "b a", "a:a b:b"),
            ("a b", "c d", "a:c b:d"),
            ("a b", "d b", "a:d b:b"),
            ("a b", "b", "a:- b:b"),
            ("", "a", ""),
            // The same list twice, or with a tag, is no other list.
            ("a b", "a a", "a:a b:-"),
            ("a a", "a", "a:a a:a"),
            ("a a b", "a c", "a:a a:a b:c"),
            ("a b", "a t=a", "a:a b:-"),
            // Tags count more than names, and a list may get one.
            ("t=a u=b", "u=a t=b", "a:b b:a"),
            ("a b", "t=b a", "a:a b:b"),
            ("t=a a", "a t=a", "a:a a:a"),
            ("t=a b", "t=c d", "a:c b:d"),
            // A list that is over may be left out, or stay without its tag, and no list takes its place.
            ("over=a b", "c", "b:c"),
            ("over=a b", "a c", "a:a b:c"),
            ("over=a b", "b", "b:b"),
        ] {
            let (before, now) = (lists(before), lists(now));
            let pairs = successors(&before, &now, |list| list.tag.as_deref() == Some("over"));
            let pairs =
                pairs.iter().map(|(old, new)| format!("{}:{}", old.name, new.map_or("-", |new| &new.name)));
            assert_eq!(pairs.collect::<Vec<_>>().join(" "), expected);
        }
    }
}
