//! The digests of members and of allowed keys.

use std::path::PathBuf;
use std::slice::from_ref;

use anyhow::Result;
use bloom_wasm::Profile;
use bloom_wasm::hash::Hashing;
use bloom_wasm::internal::{append, copied};
use bloom_wasm::keys::Input;
use bloom_wasm::keys::list::{Allowlist, Conflict, remove_conflicts};
use bloom_wasm::layers::Tagged;
use bloom_wasm::shards::Sharding;

use super::keys::{self, Notices, Summary};
use super::lines::Place;
use super::spill::{Buffer, Digests, Spill};
use crate::args::omitted::Omitted;
use crate::args::tags::{TagArgs, TagList};
use crate::streams::Streams;
use crate::text::{counted, quoted};

/// The digest of every key in the lists, in their order, and what else the lists held.
pub fn members(
    lists: &[PathBuf],
    profile: Profile,
    hashing: Hashing,
    omitted: &Omitted,
    streams: &mut Streams,
) -> Result<(Vec<u64>, Summary)> {
    let mut members = Vec::new();
    let digest = |digests: &mut Vec<u64>, input: &Input, _: Place| {
        digests.push(hashing.digest(input.own()));
        Ok(())
    };
    let summary = keys::for_each(lists, profile, omitted, streams, Vec::new, digest, |digests| {
        append(&mut members, &digests)
    })?;
    Ok((members, summary))
}

/// What lists with tags hold.
pub struct WithTags {
    pub keys: Tagged,
    pub summary: Summary,
    /// How many different keys the list of each tag has.
    pub counts: Vec<u64>,
}

/// Reads lists with tags, after one of keys without.
#[allow(clippy::too_many_arguments)]
pub fn with_tags(
    tags: &TagArgs,
    untagged: Vec<u64>,
    mut summary: Summary,
    profile: Profile,
    hashing: Hashing,
    omitted: &Omitted,
    streams: &mut Streams,
) -> Result<WithTags> {
    let (mut lists, mut counts) = (Vec::new(), Vec::new());
    summary.merge(each_tag(tags, |TagList { name, list }| {
        let (mut digests, its) = members(from_ref(list), profile, hashing, omitted, streams)?;
        counts.extend(its.count_keys(&mut digests));
        lists.push((name.clone(), digests));
        Ok(its)
    })?);
    Ok(WithTags { keys: Tagged::new(lists, untagged)?, summary, counts })
}

/// Reads the list of each tag. `read` returns what one list held; this returns the total.
fn each_tag(tags: &TagArgs, mut read: impl FnMut(&TagList) -> Result<Summary>) -> Result<Summary> {
    tags.names(std::iter::empty())?;
    let mut summary = Summary::default();
    for tag in &tags.tags {
        let mut its = read(tag)?;
        its.set_tag(&tag.name);
        summary.merge(its);
    }
    Ok(summary)
}

/// Splits the digests of members over shards: first those of the lists without a tag, then a list for each tag. Returns
/// what the lists held.
pub fn split(
    lists: &[PathBuf],
    tags: &TagArgs,
    sharding: &Sharding,
    omitted: &Omitted,
    spill: &mut Spill,
    streams: &mut Streams,
) -> Result<Summary> {
    let take = |batch: &mut Buffer, input: &Input, _: Place| {
        batch.push(sharding.shard_of(input.own()), sharding.hashing().digest(input.own()));
        Ok(())
    };
    let mut read = |lists: &[PathBuf], spill: &mut Spill| {
        let new = || Buffer::new(sharding);
        keys::for_each(lists, sharding.profile(), omitted, streams, new, take, |batch| {
            spill.extend(batch);
            Ok(())
        })
    };
    let mut summary = read(lists, spill)?;
    summary.merge(each_tag(tags, |TagList { list, .. }| {
        spill.end_list();
        read(from_ref(list), spill)
    })?);
    Ok(summary)
}

/// The keys of a shard, as [`split`] has put them there. `names` are those of all tags, by their numbers.
pub fn tagged(digests: &Digests, tags: &TagArgs, names: &[String]) -> bloom_wasm::error::Result<Tagged> {
    let (untagged, lists) = digests.lists();
    debug_assert_eq!(lists.len(), tags.tags.len(), "a list for each tag");
    let given: Vec<_> = tags.tags.iter().map(|tag| &tag.name).zip(lists).collect();
    let its =
        |name: &String| given.iter().find(|(other, _)| *other == name).map_or(&[][..], |(_, list)| list);
    let lists = names.iter().map(|name| Ok((name.clone(), copied(its(name))?)));
    Tagged::new(lists.collect::<bloom_wasm::error::Result<_>>()?, copied(untagged)?)
}

/// What lists of allowed keys hold.
pub struct Allowed {
    /// The digests of all keys of each entry.
    pub digests: Vec<u64>,
    pub summary: Summary,
    /// How many different keys each list has. A URL counts as one, as in lists of members.
    pub counts: Vec<u64>,
    /// What to print about them.
    pub words: String,
    /// The keys that are in both lists.
    pub notices: Notices,
}

/// Reads the lists of allowed keys. With `wins`, removes members that are in both lists.
pub fn allow(
    lists: &[PathBuf],
    wins: bool,
    hashing: Hashing,
    profile: Profile,
    members: &mut Vec<u64>,
    streams: &mut Streams,
) -> Result<Allowed> {
    let new = || (Vec::new(), Allowlist::new(hashing, wins));
    let (mut own, mut allowlist) = new();
    let take = |(own, allowlist): &mut (Vec<u64>, Allowlist<_>), input: &Input, place: Place| {
        own.push(hashing.digest(input.own()));
        allowlist.push(members, input, place)
    };
    let summary = keys::for_each(lists, profile, &Omitted::none(), streams, new, take, |(more, later)| {
        append(&mut own, &more)?;
        allowlist.merge(later)
    })?;
    let counts = summary.count_keys(&mut own);
    let (digests, conflicts) = allowlist.finish()?;
    remove_conflicts(members, &conflicts)?;
    let mut notices = Notices::default();
    for Conflict { key, removed, place, .. } in &conflicts {
        let what = if *removed { "removed" } else { "kept" };
        notices.push(|| format!("{place}: in both lists, {what}: {}", quoted(key)));
    }
    let removed = conflicts.iter().filter(|conflict| conflict.removed).count() as u64;
    let words = Conflicts { removed, kept: conflicts.len() as u64 - removed }.in_words(&summary);
    Ok(Allowed { digests, summary, counts, words, notices })
}

/// How many keys are in both lists.
#[derive(Default)]
pub struct Conflicts {
    pub removed: u64,
    pub kept: u64,
}

impl Conflicts {
    /// What the allowlists held, in words.
    pub fn in_words(&self, allowed: &Summary) -> String {
        let mut words = counted(allowed.entries(), "entry", "entries") + &allowed.in_words();
        for (what, count) in [("removed", self.removed), ("kept", self.kept)] {
            if count > 0 {
                words += &format!(", {} in both lists ({what})", counted(count, "key", "keys"));
            }
        }
        words
    }
}
