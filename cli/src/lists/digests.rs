//! The digests of members and of allowed keys.

use std::path::PathBuf;
use std::slice::from_ref;

use anyhow::Result;
use bloom_wasm::Profile;
use bloom_wasm::hash::Hashing;
use bloom_wasm::internal::{append, copied};
use bloom_wasm::keys::Input;
use bloom_wasm::keys::entries::Entries;
use bloom_wasm::keys::list::{Allowlist, Conflict, remove_conflicts};
use bloom_wasm::layers::Tagged;
use bloom_wasm::shards::Sharding;

use super::keys::{self, Notices, Summary};
use super::lines::Place;
use super::spill::{Buffer, Shard, Spill};
use crate::args::omitted::Omitted;
use crate::args::tags::{TagArgs, TagList};
use crate::streams::Streams;
use crate::text::{counted, quoted};

/// The entries of the lists, in their order, and what else the lists held.
pub fn members(
    lists: &[PathBuf],
    profile: Profile,
    hashing: Hashing,
    omitted: &Omitted,
    streams: &mut Streams,
) -> Result<(Entries, Summary)> {
    let mut members = Entries::default();
    let take = |entries: &mut Entries, input: &Input, _: Place| entries.push(&hashing, input);
    let summary = keys::for_each(lists, profile, omitted, streams, Entries::default, take, |more| {
        members.append(more)
    })?;
    summary.print_notices(streams);
    Ok((members, summary))
}

/// Adds the entries of lists with tags to those without. Returns the keys of all, and what else the lists with tags held.
pub fn with_tags(
    tags: &TagArgs,
    entries: &mut Entries,
    profile: Profile,
    hashing: Hashing,
    omitted: &Omitted,
    streams: &mut Streams,
) -> Result<(Tagged, Summary)> {
    let mut summary = Summary::default();
    let untagged = copied(entries.keys())?;
    let mut lists: Vec<_> = tags.names().into_iter().map(|name| (name, Vec::new())).collect();
    for TagList { name, list } in &tags.tags {
        let (more, read) = members(from_ref(list), profile, hashing, omitted, streams)?;
        let (_, all) = lists.iter_mut().find(|(other, _)| other == name).expect("each tag has a place");
        append(all, more.keys())?;
        entries.append(more)?;
        summary.merge(read);
    }
    Ok((Tagged::new(lists, untagged)?, summary))
}

/// Splits the entries of members over shards: first those of the lists without a tag, then a list for each tag. Returns
/// what the lists held.
pub fn split(
    lists: &[PathBuf],
    tags: &TagArgs,
    sharding: &Sharding,
    omitted: &Omitted,
    spill: &mut Spill,
    streams: &mut Streams,
) -> Result<Summary> {
    let take = |batch: &mut Buffer, input: &Input, _: Place| batch.push_entry(sharding, input).map(|_| ());
    let mut read = |lists: &[PathBuf], spill: &mut Spill| {
        let new = || Buffer::new(sharding);
        let summary = keys::for_each(lists, sharding.profile(), omitted, streams, new, take, |batch| {
            spill.extend(batch);
            Ok(())
        })?;
        summary.print_notices(streams);
        anyhow::Ok(summary)
    };
    let mut summary = read(lists, spill)?;
    for TagList { list, .. } in &tags.tags {
        spill.end_list();
        summary.merge(read(from_ref(list), spill)?);
    }
    Ok(summary)
}

/// The keys of a shard: those without a tag, and then lists, of which `given` are the tags. `names` are those of all tags,
/// by their numbers.
pub fn tagged(shard: &Shard, given: &[&str], names: &[String]) -> bloom_wasm::error::Result<Tagged> {
    let (untagged, lists) = shard.lists();
    assert_eq!(lists.len(), given.len(), "a list for each tag");
    let mut all: Vec<_> = names.iter().map(|name| (name.clone(), Vec::new())).collect();
    for (name, digests) in given.iter().zip(lists) {
        let (_, of_tag) = all.iter_mut().find(|(other, _)| other == name).expect("each tag has a number");
        append(of_tag, digests)?;
    }
    Tagged::new(all, copied(untagged)?)
}

/// What lists of allowed keys hold.
pub struct Allowed {
    /// The digests of all keys of each entry.
    pub digests: Vec<u64>,
    /// What each list held: the digest of the first key of each entry, and what else.
    pub lists: Vec<(Vec<u64>, Summary)>,
    /// The keys that are listed and allowed.
    pub conflicts: Conflicts,
    pub notices: ConflictNotices,
}

/// The keys that are listed and allowed. That some are removed was asked for.
#[derive(Default)]
pub struct ConflictNotices {
    pub removed: Notices,
    pub kept: Notices,
}

/// Reads the lists of allowed keys, and prints nothing. With `wins`, removes members that are allowed, too.
pub fn allow<'a>(
    paths: impl IntoIterator<Item = &'a PathBuf>,
    wins: bool,
    hashing: Hashing,
    profile: Profile,
    members: &mut Vec<u64>,
    streams: &mut Streams,
) -> Result<Allowed> {
    let new = || (Vec::new(), Allowlist::new(hashing, wins));
    let (_, mut allowlist) = new();
    let mut lists = Vec::new();
    for path in paths {
        let mut own = Vec::new();
        let take = |(own, allowlist): &mut (Vec<u64>, Allowlist<_>), input: &Input, place: Place| {
            own.push(hashing.digest(input.own()));
            allowlist.push(members, input, place)
        };
        let summary = keys::for_each(
            from_ref(path),
            profile,
            &Omitted::none(),
            streams,
            new,
            take,
            |(more, later)| {
                append(&mut own, &more)?;
                allowlist.merge(later)
            },
        )?;
        lists.push((own, summary));
    }
    let (digests, found) = allowlist.finish()?;
    remove_conflicts(members, &found)?;
    let mut notices = ConflictNotices::default();
    for Conflict { key, removed, place, .. } in &found {
        let (what, notice) =
            if *removed { ("removed", &mut notices.removed) } else { ("kept", &mut notices.kept) };
        notice.push(|| format!("{place}: listed and allowed, {what}: {}", quoted(key)));
    }
    let removed = found.iter().filter(|conflict| conflict.removed).count() as u64;
    let conflicts = Conflicts { removed, kept: found.len() as u64 - removed };
    Ok(Allowed { digests, lists, conflicts, notices })
}

/// How many keys are listed and allowed.
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
                words += &format!(", {} listed and allowed ({what})", counted(count, "key", "keys"));
            }
        }
        words
    }
}
