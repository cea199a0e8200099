//! Why the lists of a run are refused. A list that shrinks is most often an error page, or is missing a part that failed to
//! arrive; one that has the keys of another is most often a file in the wrong place.

use std::collections::BTreeMap;
use std::path::Path;

use super::declared::{List, Share, Sources, toml_key, toml_string};
use super::record::Listed;
use crate::text::{counted, grouped};

/// A list of fewer keys may change completely.
const LEAST: u64 = 100;

/// What the lists gave, by their names.
pub type Lists = BTreeMap<String, Listed>;

/// How many keys something had, and how many of them are gone, at least.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Change {
    pub before: u64,
    pub removed: u64,
}

impl Change {
    /// The change of something of which only the number of keys is known, before and now.
    pub fn of_counts(before: u64, now: u64) -> Self {
        Change { before, removed: before.saturating_sub(now) }
    }

    /// The same without this many of the keys that are gone.
    pub fn without(self, keys: u64) -> Self {
        let keys = keys.min(self.removed);
        Change { before: self.before - keys, removed: self.removed - keys }
    }

    fn is_too_much(self, Share(max): Share) -> bool {
        self.before >= LEAST && self.removed as f64 > self.before as f64 * max
    }
}

/// What is said if somebody may know better.
fn or_all(words: &str) -> String {
    format!("{words}; if that is right, give --max-removed 100% for this run")
}

fn percent(share: f64) -> f64 {
    (share * 1e4).round() / 1e2
}

impl Sources {
    /// The share for all keys, or for those of a list.
    fn max(&self, list: Option<&List>) -> Share {
        self.this_run.or(list.and_then(|list| list.max_removed)).unwrap_or(self.max_removed)
    }

    /// Why lists are refused by themselves.
    pub fn of_lists(&self, gave: &Lists, told: &BTreeMap<String, List>) -> Option<String> {
        assert!(gave.keys().eq(told.keys()), "what each list gave");
        gave.iter().zip(told.values()).find_map(|((name, gave), list)| match (gave.keys, gave.skipped.len()) {
            (0, 0) if !list.allow_empty => {
                Some(format!("{name}: this list gave no key; `allow-empty = true` allows an empty list"))
            }
            (0, 1..) => Some(format!(
                "{name}: this list gave no key, since its lines were skipped; is it an error page, or of another profile?"
            )),
            (keys, _) => {
                let least = list.min_keys.filter(|least| keys < *least)?;
                let keys = counted(keys, "key", "keys");
                Some(format!("{name}: this list has {keys}, and `min-keys` is {}", grouped(least)))
            }
        })
    }

    /// Why they are refused after those that the last generation had.
    pub fn after(&self, [before, now]: [&Lists; 2], told: &BTreeMap<String, List>) -> Option<String> {
        let shrunk = |(name, old): (&String, &Listed)| {
            now.get(name).and_then(|new| self.shrunk(name, old, new, self.max(told.get(name))))
        };
        before.iter().find_map(shrunk).or_else(|| self.missing(before))
    }

    fn missing(&self, before: &Lists) -> Option<String> {
        // A list may also have moved between [lists] and [allow].
        let is_known = |name: &str| {
            self.dropped.contains(name) || self.lists.contains_key(name) || self.allow.contains_key(name)
        };
        let missing: Vec<_> = before.keys().filter(|name| !is_known(name)).collect();
        // A name stays in `dropped` once its list is gone, unless it is that of a file.
        let is_file = |name: &str| {
            let stem = Path::new(name).file_stem().and_then(|stem| stem.to_str());
            stem.is_some_and(|stem| stem != name && missing.iter().any(|missing| *missing == stem))
        };
        let (files, dropped): (Vec<_>, Vec<_>) = self.dropped.iter().partition(|name| is_file(name));
        let [is, it] = match missing[..] {
            [] => return None,
            [_] => ["this list is", "it is"],
            _ => ["these lists are", "they are"],
        };
        let quoted =
            |names: &[&String]| names.iter().map(|name| toml_string(name)).collect::<Vec<_>>().join(", ");
        let no_list = match &files[..] {
            [] => String::new(),
            files => format!(", and no list is called {}", quoted(files)),
        };
        let all = quoted(&[&missing[..], &dropped].concat());
        let missing = missing.iter().map(|name| &name[..]).collect::<Vec<_>>().join(", ");
        Some(format!("{missing}: {is} missing{no_list}; if {it} gone, write dropped = [{all}] above [lists]"))
    }

    fn shrunk(&self, name: &str, old: &Listed, new: &Listed, max: Share) -> Option<String> {
        let change = Change::of_counts(old.keys, new.keys);
        if change.is_too_much(max) {
            let (has, had, max) = (counted(new.keys, "key", "keys"), grouped(old.keys), percent(max.0));
            let words = format!("{name}: this list has {has}, and had {had}; at most {max}% may be removed");
            return Some(or_all(&words));
        }
        let [was, is] = [old, new].map(Listed::skipped_share);
        (old.keys >= LEAST && percent(is) > percent(was + max.0)).then(|| {
            let (is, was) = (percent(is), percent(was));
            or_all(&format!("{name}: {is}% of the lines give no key, and {was}% gave none before"))
        })
    }

    /// Why a name is refused that has the keys of another one.
    pub fn renamed(&self, [before, now]: [&Lists; 2]) -> Option<String> {
        let is_still =
            |name: &str, of: &Listed| before.get(name).is_some_and(|old| of.sketch.is_mostly_in(&old.sketch));
        let is_allowed = |name: &str| self.max(self.lists.get(name)).0 >= 1.0;
        for (name, new) in now.iter().filter(|(name, new)| !is_still(name, new) && !is_allowed(name)) {
            for (other, old) in
                before.iter().filter(|(other, _)| *other != name && !self.dropped.contains(*other))
            {
                // A new list may have the keys of one that still has them, too.
                let is_kept =
                    !before.contains_key(name) && now.get(other).is_some_and(|now| is_still(other, now));
                if new.sketch.is_mostly_in(&old.sketch) && !is_kept {
                    let way = if now.contains_key(other) {
                        format!("if that is right, give {name} max-removed = \"100%\"")
                    } else {
                        format!("to rename {other}, add it to `dropped`")
                    };
                    return Some(format!("{name}: this list has the keys that {other} had; {way}"));
                }
            }
        }
        None
    }

    /// How many keys the lists had that are dropped, or those of them with a tag. That they go was asked for. Lists
    /// overlap, so these are the most that may be gone with them. None count if another list may hide behind that: if it
    /// has lost most of its keys, has another tag, or is new and may have been cut from a dropped one.
    pub fn dropped_keys(&self, [before, now]: [&Lists; 2], tag: Option<&str>) -> u64 {
        // Parts take the place of lists, and nothing else guards them.
        if self.lists.is_empty() {
            return 0;
        }
        let dropped: Vec<_> =
            before.iter().filter(|(name, _)| self.dropped.contains(*name)).map(|(_, old)| old).collect();
        let is_certain = |(name, new): (&String, &Listed)| match before.get(name) {
            Some(old) if old.keys < LEAST => old.tag == new.tag,
            Some(old) => old.tag == new.tag && old.sketch.is_mostly_in(&new.sketch),
            None => dropped.iter().all(|old| old.keys < LEAST || new.sketch.is_mostly_not_in(&old.sketch)),
        };
        if !now.iter().all(is_certain) {
            return 0;
        }
        let of_tag = dropped.iter().filter(|old| tag.is_none() || old.tag.as_deref() == tag);
        of_tag.map(|old| old.keys).fold(0, u64::saturating_add)
    }

    /// Why too many of all keys are removed, or of those with a tag. `dropped` are those of lists that are dropped.
    pub fn removed(&self, what: &str, change: Change, dropped: u64) -> Option<String> {
        let change = change.without(dropped);
        self.too_many(change, dropped, ["be removed", "may be"]).map(|words| format!("{what}{words}"))
    }

    /// Why too many of the keys that stay get other tags, if these do.
    pub fn retagged(&self, stay: u64, retagged: u64, dropped: u64) -> Option<String> {
        let change = Change { before: stay, removed: retagged }.without(dropped);
        self.too_many(change, dropped, ["get other tags", "may"])
    }

    fn too_many(&self, change: Change, dropped: u64, [would, may]: [&str; 2]) -> Option<String> {
        let max = self.max(None);
        change.is_too_much(max).then(|| {
            let [gone, all] = [change.removed, change.before].map(grouped);
            let besides = if dropped > 0 { ", besides those of dropped lists" } else { "" };
            let max = percent(max.0);
            or_all(&format!("{gone} of {all} keys would {would}{besides}, and at most {max}% {may}"))
        })
    }

    /// Why nothing is published after the loss of a state: the total alone would hide one list of ten that was cut
    /// short.
    pub fn unknown(&self, gave: &Lists) -> Option<String> {
        let is_known = |list: &List| self.max(Some(list)).0 >= 1.0 || list.min_keys.is_some();
        let words = "the state was lost, so nothing tells whether a list was cut short: ";
        if self.lists.is_empty() {
            return (self.max(None).0 < 1.0)
                .then(|| words.to_owned() + "give --max-removed 100% for this run");
        }
        let lacking: Vec<_> = self.lists.iter().filter(|(_, list)| !is_known(list)).collect();
        let (name, list) = lacking.first()?;
        let gave = gave.get(*name).expect("every list was read");
        let keys = gave.keys as f64 * (1.0 - self.max(Some(list)).0);
        let file = toml_string(&list.told.to_string_lossy());
        let line = format!("{} = {{ file = {file}, min-keys = {} }}", toml_key(name), keys.floor());
        let all = lacking.iter().map(|(name, _)| &name[..]).collect::<Vec<_>>().join(", ");
        let give = "look at the lists, and give each the least number of keys, such as";
        Some(format!(
            "{words}no `min-keys` for {all}; {give} {line}, or give --max-removed 100% for this run"
        ))
    }
}

/// How many keys stay, and how many of them get another tag, as far as their lists tell.
pub fn retagged(before: &Lists, now: &Lists) -> (u64, u64) {
    let (mut stay, mut retagged) = (0, 0);
    for (name, new) in now {
        let is_the_same = |old: &&Listed| new.sketch.is_mostly_in(&old.sketch);
        let Some(old) = before.get(name).or_else(|| before.values().find(is_the_same)) else { continue };
        let keys = old.keys.min(new.keys);
        stay += keys;
        if old.tag.is_some() && old.tag != new.tag {
            retagged += keys;
        }
    }
    (stay, retagged)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lists::sketch::Sketch;
    use crate::rates::random;

    /// Lists such as "a=100" or "a=100+5", of keys and skipped lines; "a=100/b" has the keys that are b's by default.
    fn gave(text: &str) -> Lists {
        let list = |text: &str| {
            let (name, rest) = text.split_once('=').unwrap();
            let (counts, whose) = rest.split_once('/').unwrap_or((rest, name));
            let (keys, skipped) = counts.split_once('+').unwrap_or((counts, "0"));
            let keys: u64 = keys.parse().unwrap();
            let start = u64::from(whose.as_bytes()[0]) << 32;
            let sketch = Sketch::of((start..start + keys).map(random));
            let skipped = Some(skipped.parse().unwrap()).filter(|skipped| *skipped > 0);
            let skipped = skipped.map(|skipped| ("a bad line".to_owned(), skipped)).into_iter().collect();
            (name.to_owned(), Listed { tag: None, keys, skipped, sketch })
        };
        text.split_whitespace().map(list).collect()
    }

    fn told(gave: &Lists, change: impl Fn(&str, &mut List)) -> BTreeMap<String, List> {
        let list = |name: &String| {
            let mut list = List { told: name.into(), ..List::default() };
            change(name, &mut list);
            (name.clone(), list)
        };
        gave.keys().map(list).collect()
    }

    /// Why lists are refused after others, with these dropped.
    fn refused(before: &str, now: &str, dropped: &str, this_run: Option<f64>) -> Option<String> {
        let (before, now) = (gave(before), gave(now));
        // A list called m may lose half of its keys.
        let lists = told(&now, |name, list| list.max_removed = (name == "m").then_some(Share(0.5)));
        let dropped = dropped.split_whitespace().map(str::to_owned).collect();
        let sources = Sources { dropped, this_run: this_run.map(Share), ..Sources::of(lists) };
        sources.after([&before, &now], &sources.lists).or_else(|| sources.renamed([&before, &now]))
    }

    #[test]
    fn what_becomes_of_lists() {
        for (before, now, dropped, words) in [
            ("a=300", "a=300", "", ""),
            // A third, from 100 keys on.
            ("a=300", "a=225", "", ""),
            ("a=300", "a=224", "", "a: this list has 224 keys, and had 300; at most 25% may be removed"),
            ("a=99", "a=1", "", ""),
            ("m=300", "m=150", "", ""),
            ("m=300", "m=149", "", "m: this list has 149 keys, and had 300; at most 50%"),
            // A name that is gone, of a list of any size.
            (
                "a=300 b=1",
                "a=300",
                "",
                "b: this list is missing; if it is gone, write dropped = [\"b\"] above [lists]",
            ),
            (
                "a=300 b=1 c=1",
                "a=300",
                "old",
                "b, c: these lists are missing; if they are gone, write dropped = [\"b\", \"c\", \"old\"] above",
            ),
            // The file of a list, and names that stay when their lists are gone.
            (
                "a=300 b=1",
                "a=300",
                "lists/b.txt b.2 c.txt",
                "b: this list is missing, and no list is called \"b.2\", \"lists/b.txt\"; if it is gone, write \
                 dropped = [\"b\", \"c.txt\"]",
            ),
            ("a=300 b=1", "a=300", "b b.txt", ""),
            ("a=300 b=1", "a=300", "b", ""),
            ("a=300", "a=300", "b", ""),
            // Skipped lines: as many again as there were keys.
            ("a=1000", "a=1000+333", "", ""),
            ("a=1000", "a=1000+334", "", "a: 25.04% of the lines give no key, and 0% gave none before"),
            ("a=1000+9000", "a=1000+90000", "", ""),
            ("a=99", "a=99+1000", "", ""),
            // Renamed, swapped, moved along, and what is neither.
            ("a=300", "b=300/a", "", "a: this list is missing"),
            ("a=300", "b=300/a", "a", ""),
            ("a=300 b=300", "a=300/b b=300/a", "", "a: this list has the keys that b had"),
            ("a=300 b=300", "a=300/b c=300/a", "b", "c: this list has the keys that a had"),
            ("a=300 b=300", "a=300/b b=300/c", "", "a: this list has the keys that b had"),
            ("a=300 b=300", "a=300 b=300 c=300/a", "", ""),
            ("a=300 b=300/a", "a=300 b=300/a", "", ""),
            ("a=300 b=300", "a=300/c b=300", "", ""),
            // Too few to tell.
            ("a=9 b=9", "a=9/b b=9/a", "", ""),
        ] {
            let said = refused(before, now, dropped, None);
            match words {
                "" => assert_eq!(said, None, "{before}: {now}"),
                words => assert!(
                    said.as_ref().is_some_and(|said| said.starts_with(words)),
                    "{before}: {now}: {said:?}"
                ),
            }
            let said = refused(before, now, dropped, Some(1.0));
            assert_eq!(said.is_some(), words.contains("missing"), "{before}: {now}: {said:?}");
        }
        assert!(refused("m=300", "m=290", "", Some(0.01)).is_some(), "that of a run overrides all others");
    }

    #[test]
    fn what_lists_are_by_themselves() {
        for (now, words) in [
            ("a=1", ""),
            ("a=0", "a: this list gave no key; `allow-empty"),
            ("a=1 e=0", ""),
            ("e=0+1", "e: this list gave no key, since its lines were skipped"),
            ("k=1000", ""),
            ("k=999", "k: this list has 999 keys, and `min-keys` is 1,000"),
        ] {
            let now = gave(now);
            let lists = told(&now, |name, list| {
                list.allow_empty = name == "e";
                list.min_keys = (name == "k").then_some(1000);
            });
            let sources = Sources::of(lists);
            let said = sources.of_lists(&now, &sources.lists);
            match words {
                "" => assert_eq!(said, None),
                words => assert!(said.as_ref().is_some_and(|said| said.starts_with(words)), "{said:?}"),
            }
            // After a loss, the number of keys must be known of each.
            assert_eq!(sources.unknown(&now).is_none(), now.keys().all(|name| name == "k"));
            assert_eq!(Sources { this_run: Some(Share(1.0)), ..sources }.unknown(&now), None);
        }
    }

    #[test]
    fn other_tags() {
        // Lists with the tag that is named after them.
        let tagged = |text: &str, tags: &str| {
            let mut lists = gave(text);
            for (list, tag) in lists.values_mut().zip(tags.split(' ')) {
                list.tag = Some(tag.to_owned()).filter(|tag| tag != "-");
            }
            lists
        };
        for (before, now, expected) in [
            (("a=300", "x"), ("a=300", "x"), (300, 0)),
            (("a=300", "x"), ("a=200", "y"), (200, 200)),
            (("a=300", "x"), ("a=300", "-"), (300, 300)),
            // A feed that gets tags.
            (("a=300", "-"), ("a=300", "x"), (300, 0)),
            // A list with another name.
            (("a=300 b=100", "x y"), ("b=100 c=300/a", "y z"), (400, 300)),
            (("a=300", "x"), ("b=300", "y"), (0, 0)),
        ] {
            let [before, now] = [before, now].map(|(lists, tags)| tagged(lists, tags));
            assert_eq!(retagged(&before, &now), expected);
        }
    }

    #[test]
    fn removed_keys() {
        let is_too_much = |before, removed, max| Change { before, removed }.is_too_much(Share(max));
        for (before, removed, expected) in
            [(300, 75, false), (300, 76, true), (100, 100, true), (99, 99, false), (0, 0, false)]
        {
            assert_eq!(is_too_much(before, removed, 0.25), expected, "{removed} of {before}");
        }
        assert!(is_too_much(1000, 1, 0.0) && !is_too_much(1000, 0, 0.0));
        // Numbers that aren't exact as f64.
        assert!(is_too_much(u64::MAX, u64::MAX, 0.99) && !is_too_much(u64::MAX, u64::MAX, 1.0));
        assert_eq!(Change::of_counts(100, 130).removed, 0);
        assert_eq!(Change::of_counts(100, 30).removed, 70);
    }
}
