//! The lists of a feed, each read by itself.

use std::slice::from_ref;

use anyhow::Result;
use bloom_wasm::digests::{sort, subtract};
use bloom_wasm::hash::Hashing;
use bloom_wasm::internal::{append, copied};
use bloom_wasm::keys::Input;
use bloom_wasm::keys::entries::Entries;
use bloom_wasm::layers::Tagged;
use bloom_wasm::{Builder, Profile};

use super::declared::{List, Sources};
use super::record::Listed;
use super::refusal::Lists;
use crate::lists::digests::{ConflictNotices, Conflicts, allow};
use crate::lists::keys::{self, Summary};
use crate::lists::lines::Place;
use crate::streams::Streams;

/// What they gave: those of members, and of keys that must be absent.
#[derive(Default)]
pub struct Gave {
    pub members: Given,
    pub allowed: Given,
    /// The keys of both. They aren't known one by one in a feed with shards.
    pub conflicts: Conflicts,
    pub notices: ConflictNotices,
}

/// What lists gave, and what their lines held.
#[derive(Default)]
pub struct Given {
    pub lists: Lists,
    pub summary: Summary,
}

/// The keys for a filter.
pub struct Keys {
    /// The digests, sorted. No digest is in both.
    pub members: Vec<u64>,
    pub allowed: Vec<u64>,
    /// The members that others cover, sorted.
    pub covered: Vec<u64>,
    /// The members with their tags, if they have any.
    pub tagged: Option<Tagged>,
}

impl Sources {
    /// The lists of members, those without a tag first and those of each tag together, with their tags and names.
    pub fn lists_by_tag(&self) -> Vec<(Option<&str>, &String, &List)> {
        let mut lists: Vec<_> =
            self.lists.iter().map(|(name, list)| (list.tag.as_deref(), name, list)).collect();
        lists.sort_by_key(|(tag, ..)| *tag);
        lists
    }

    /// Reads all of them. `before` is what both kinds gave to the last generation.
    pub fn read(
        &self,
        before: &[Lists; 2],
        profile: Profile,
        hashing: Hashing,
        streams: &mut Streams,
    ) -> Result<(Keys, Gave)> {
        let (mut gave, mut entries) = (Gave::default(), Entries::default());
        let is_tagged = self.lists.values().any(|list| list.tag.is_some());
        let mut untagged = Vec::new();
        let mut of_tags: Vec<(String, Vec<u64>)> = Vec::new();
        for (tag, name, list) in self.lists_by_tag() {
            let take = |more: &mut Entries, input: &Input, _: Place| more.push(&hashing, input);
            let first = entries.keys().len();
            let files = from_ref(&list.file);
            let summary =
                keys::for_each(files, profile, &self.omitted, streams, Entries::default, take, |more| {
                    entries.append(more)
                })?;
            let mut own = copied(&entries.keys()[first..])?;
            gave.members.note(name, Listed::of(tag, &mut own, &summary)?, summary, &before[0], streams);
            match (tag, of_tags.last_mut()) {
                (None, _) if is_tagged => append(&mut untagged, &own)?,
                (None, _) => {}
                (Some(tag), Some((last, all))) if tag == last => append(all, &own)?,
                (Some(tag), _) => of_tags.push((tag.to_owned(), own)),
            }
        }
        let mut tagged = if is_tagged { Some(Tagged::new(of_tags, untagged)?) } else { None };
        let mut members = entries.members()?;
        sort(&mut members)?;
        let files = self.allow.values().map(|list| &list.file);
        let found = allow(files, self.allow_wins, hashing, profile, &mut members, streams)?;
        let mut allowed = found.digests;
        for (name, (mut own, summary)) in self.allow.keys().zip(found.lists) {
            gave.allowed.note(name, Listed::of(None, &mut own, &summary)?, summary, &before[1], streams);
        }
        sort(&mut allowed)?;
        subtract(&mut allowed, &members);
        if let Some(tagged) = &mut tagged {
            tagged.keep(&members)?;
        }
        let covered = Builder::covered(&entries, &members, tagged.as_ref())?;
        (gave.conflicts, gave.notices) = (found.conflicts, found.notices);
        Ok((Keys { members, allowed, covered, tagged }, gave))
    }

    /// The keys that must be absent alone, sorted, also those that are members.
    pub fn read_allowed(
        &self,
        profile: Profile,
        hashing: Hashing,
        streams: &mut Streams,
    ) -> Result<(Vec<u64>, Lists)> {
        let files = self.allow.values().map(|list| &list.file);
        let found = allow(files, false, hashing, profile, &mut Vec::new(), streams)?;
        let (mut digests, names) = (found.digests, self.allow.keys());
        sort(&mut digests)?;
        let lists = names
            .zip(found.lists)
            .map(|(name, (mut own, summary))| Ok((name.clone(), Listed::of(None, &mut own, &summary)?)));
        Ok((digests, lists.collect::<Result<_>>()?))
    }
}

impl Given {
    /// Notes what a list gave. Prints the first lines that were skipped, unless it is as it was in the last generation:
    /// cron would mail them each time.
    pub fn note(
        &mut self,
        name: &str,
        listed: Listed,
        summary: Summary,
        before: &Lists,
        streams: &mut Streams,
    ) {
        let is_known = before.get(name).is_some_and(|before| {
            let grown = listed.skipped_share() - before.skipped_share();
            before.skipped.keys().eq(listed.skipped.keys()) && grown.abs() < NEWS
        });
        if !is_known {
            summary.print_notices(streams);
        }
        self.lists.insert(name.to_owned(), listed);
        self.summary.merge(summary);
    }
}

/// A share of skipped lines that differs by less is no news.
const NEWS: f64 = 0.01;
