//! The digests of members and of allowed keys.

use std::path::PathBuf;
use std::slice::from_ref;

use anyhow::Result;
use bloom_wasm::hash::Hashing;
use bloom_wasm::keys::Input;
use bloom_wasm::keys::list::{Allowlist, Conflict, remove_conflicts};
use bloom_wasm::shards::Sharding;
use bloom_wasm::vectors::{append, copied};
use bloom_wasm::{Profile, Tagged};

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
    /// How many keys were read, also repeated ones.
    pub lines: u64,
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
    let mut lists = Vec::new();
    let (lines, its) = each_tag(tags, |TagList { name, list }| {
        let (digests, its) = members(from_ref(list), profile, hashing, omitted, streams)?;
        let lines = digests.len() as u64;
        lists.push((name.clone(), digests));
        Ok((lines, its))
    })?;
    summary.merge(its);
    let lines = lines + untagged.len() as u64;
    Ok(WithTags { keys: Tagged::new(lists, untagged)?, summary, lines })
}

/// Reads the list of each tag. `read` returns how many keys a list has, and what else; this returns the sums.
fn each_tag(
    tags: &TagArgs,
    mut read: impl FnMut(&TagList) -> Result<(u64, Summary)>,
) -> Result<(u64, Summary)> {
    tags.names(std::iter::empty())?;
    let (mut lines, mut summary) = (0, Summary::default());
    for tag in &tags.tags {
        let (more, mut its) = read(tag)?;
        lines += more;
        its.set_tag(&tag.name);
        summary.merge(its);
    }
    Ok((lines, summary))
}

/// Splits the digests of members over shards: first those of the lists without a tag, then a list for each tag. Returns
/// how many keys were read, and what else the lists held.
pub fn split(
    lists: &[PathBuf],
    tags: &TagArgs,
    sharding: &Sharding,
    omitted: &Omitted,
    spill: &mut Spill,
    streams: &mut Streams,
) -> Result<(u64, Summary)> {
    let take = |batch: &mut Buffer, input: &Input, _: Place| {
        batch.push(sharding.shard_of(input.own()), sharding.hashing().digest(input.own()));
        Ok(())
    };
    let mut read = |lists: &[PathBuf], spill: &mut Spill| {
        let mut lines = 0;
        let new = || Buffer::new(sharding);
        let summary = keys::for_each(lists, sharding.profile(), omitted, streams, new, take, |batch| {
            lines += batch.len();
            spill.extend(batch);
            Ok(())
        })?;
        Ok((lines, summary))
    };
    let (mut lines, mut summary) = read(lists, spill)?;
    let (more, its) = each_tag(tags, |TagList { list, .. }| {
        spill.end_list();
        read(from_ref(list), spill)
    })?;
    lines += more;
    summary.merge(its);
    Ok((lines, summary))
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

/// Reads the lists of allowed keys. With `wins`, removes members that are in both lists. Returns the allowed digests,
/// what else the lists held, and what to print about them.
pub fn allow(
    lists: &[PathBuf],
    wins: bool,
    hashing: Hashing,
    profile: Profile,
    members: &mut Vec<u64>,
    streams: &mut Streams,
) -> Result<(Vec<u64>, Summary, String)> {
    let new = || (0, Allowlist::new(hashing, wins));
    let (mut read, mut allowlist) = new();
    let take = |(read, allowlist): &mut (u64, Allowlist<_>), input: &Input, place: Place| {
        *read += 1;
        allowlist.push(members, input, place)
    };
    let summary = keys::for_each(lists, profile, &Omitted::none(), streams, new, take, |(more, later)| {
        read += more;
        allowlist.merge(later)
    })?;
    let (allowed, conflicts) = allowlist.finish()?;
    remove_conflicts(members, &conflicts)?;
    let mut notices = Notices::default();
    for Conflict { key, removed, place, .. } in &conflicts {
        let what = if *removed { "removed" } else { "kept" };
        notices.push(|| format!("{place}: in both lists, {what}: {}", quoted(key)));
    }
    notices.print(streams);
    let mut words = counted(read, "entry", "entries") + &summary.in_words();
    for (what, removed) in [("removed", true), ("kept", false)] {
        let count = conflicts.iter().filter(|conflict| conflict.removed == removed).count() as u64;
        if count > 0 {
            words += &format!(", {} in both lists ({what})", counted(count, "key", "keys"));
        }
    }
    Ok((allowed, summary, words))
}
