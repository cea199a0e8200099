//! The guard against a list that shrinks. Most often it is an error page, or a part of it failed to arrive.

use anyhow::{Context, Result, bail};

use crate::lists::keys::{LineCounts, List};
use crate::text::grouped;

/// Below the third that is gone if one of three parts of a list is, and above what lists lose from day to day.
const MAX_REMOVED: f64 = 0.25;
/// A list of fewer keys may well change as a whole.
const LEAST: u64 = 100;

/// How much of a list may go.
#[derive(Clone, Copy, clap::Args)]
pub struct GuardArgs {
    /// The largest share of the keys that may be removed at once, such as 50%. More is refused, from 100 keys on; so is
    /// a list in which the share of skipped lines grows by more. Default 25%
    #[arg(long, value_name = "SHARE", value_parser = share)]
    max_removed: Option<f64>,
}

/// Reads a share in percent. Without the sign, nobody could tell whether 1 is all or a hundredth.
fn share(text: &str) -> Result<f64, &'static str> {
    let percent = text.strip_suffix('%').and_then(|number| number.parse().ok());
    let percent = percent.filter(|percent| (0.0..=100.0).contains(percent));
    percent.map(|percent: f64| percent / 100.0).ok_or("give a share such as 50%, at most 100%")
}

/// What becomes of a list.
pub struct Change {
    /// How many keys it had.
    pub before: u64,
    /// How many of them are gone, at least.
    pub removed: u64,
    /// How the lines were read, of the old list and of the new one, if both are known.
    pub lines: Option<[LineCounts; 2]>,
}

impl Change {
    /// What becomes of a list of which only the number of keys is known, before and now.
    pub fn of_counts(before: u64, now: u64) -> Self {
        Change { before, removed: before.saturating_sub(now), lines: None }
    }

    /// What becomes of a list of which only its lines are known.
    fn of_lines(before: LineCounts, now: LineCounts) -> Self {
        Change { lines: Some([before, now]), ..Change::of_counts(before.keys, now.keys) }
    }

    /// Why it is refused, if it is.
    fn objection(&self, max: f64) -> Option<String> {
        let &Change { before, removed, lines } = self;
        if before < LEAST {
            return None;
        }
        let percent = |share: f64| (share * 1e4).round() / 1e2;
        if removed as f64 > before as f64 * max {
            let (removed, before, max) = (grouped(removed), grouped(before), percent(max));
            return Some(format!("{removed} of {before} keys would be removed, and at most {max}% may be"));
        }
        let [old, new] = lines?.map(LineCounts::skipped_share);
        let [was, is, max] = [old, new, max].map(percent);
        (is > was + max).then(|| format!("{is}% of the lines give no key, and {was}% gave none before"))
    }
}

/// Each list of the last run with the one that took its place, if there is one: that of the same tag or name or, since
/// some scripts name files anew each time, the first of the others.
fn successors<'a>(
    before: impl Iterator<Item = &'a List>,
    now: &'a [List],
) -> Vec<(&'a List, Option<&'a List>)> {
    let is_same = |a: &List, b: &List| a.tag == b.tag && (a.tag.is_some() || a.name == b.name);
    let mut left: Vec<_> = now.iter().collect();
    let mut take = |is: &dyn Fn(&List) -> bool| left.iter().position(|list| is(list)).map(|i| left.remove(i));
    let mut pairs: Vec<_> = before.map(|old| (old, take(&|new| is_same(old, new)))).collect();
    for (_, new) in pairs.iter_mut().filter(|(_, new)| new.is_none()) {
        *new = take(&|_| true);
    }
    pairs
}

impl GuardArgs {
    fn max(&self) -> f64 {
        self.max_removed.unwrap_or(MAX_REMOVED)
    }

    /// Fails for a list that loses too much.
    pub fn check(&self, change: &Change) -> Result<()> {
        match change.objection(self.max()) {
            Some(words) => bail!("{words}; if the list is right, give --max-removed 100% for this run"),
            None => Ok(()),
        }
    }

    /// Fails if one of the lists loses too much, or is missing. A large one beside it would hide that.
    pub fn check_lists<'a>(&self, before: impl Iterator<Item = &'a List>, now: &'a [List]) -> Result<()> {
        for (old, new) in successors(before, now) {
            match new {
                Some(new) => {
                    self.check(&Change::of_lines(old.lines, new.lines)).with_context(|| new.name.clone())?;
                }
                None => self.check(&Change::of_counts(old.lines.keys, 0)).with_context(|| {
                    format!("{}: this list was given until now, and is missing", old.name)
                })?,
            }
        }
        Ok(())
    }

    /// Fails if it is given.
    pub fn require_none(&self) -> Result<()> {
        if self.max_removed.is_some() {
            bail!("--max-removed goes with --shards");
        }
        Ok(())
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
        let refused = |before, removed, max| Change { before, removed, lines: None }.objection(max).is_some();
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
            let lines = [old, new].map(|[keys, skipped]| LineCounts { keys, skipped });
            Change { before: 1000, removed: 0, lines: Some(lines) }.objection(max).is_some()
        };
        // An adblock list skips most of its lines, always.
        assert!(!refused([1000, 9000], [1000, 9000], 0.0));
        assert!(!refused([1000, 9000], [1000, 90_000], MAX_REMOVED));
        // As many keys, and as many lines that are none.
        assert!(refused([1000, 0], [1000, 1000], MAX_REMOVED));
        assert!(
            !refused([1000, 0], [1000, 333], MAX_REMOVED) && refused([1000, 0], [1000, 334], MAX_REMOVED)
        );
        assert!(!refused([1000, 0], [1000, 1_000_000_000], 1.0));
        // Fewer than before are no reason.
        assert!(!refused([1000, 9000], [1000, 0], 0.0));
        assert!(!refused([0, 0], [0, 0], 0.0));
    }
}
