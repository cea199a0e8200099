//! The digests of members and of allowed keys.

use std::path::PathBuf;

use anyhow::{Result, ensure};
use bloom_wasm::hash::Hashing;
use bloom_wasm::keys::Input;
use bloom_wasm::keys::list::{Allowlist, Conflict, remove_conflicts};
use bloom_wasm::vectors::append;
use bloom_wasm::{Profile, Tagged};

use super::keys::{self, Notices, Summary};
use super::lines::Place;
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
    allow_empty: bool,
    profile: Profile,
    hashing: Hashing,
    omitted: &Omitted,
    streams: &mut Streams,
) -> Result<WithTags> {
    let mut lines = untagged.len() as u64;
    let mut lists = Vec::new();
    for TagList { name, list } in &tags.tags {
        ensure!(lists.iter().all(|(other, _)| other != name), "--tag {name} is there twice; join its lists");
        let (digests, its) = members(std::slice::from_ref(list), profile, hashing, omitted, streams)?;
        ensure!(
            !digests.is_empty() || allow_empty,
            "the list of --tag {name} gave no key, so nothing was written; --allow-empty takes it for empty"
        );
        lines += digests.len() as u64;
        summary.merge(its);
        lists.push((name.clone(), digests));
    }
    Ok(WithTags { keys: Tagged::new(lists, untagged)?, summary, lines })
}

/// Reads the lists of allowed keys. With `wins`, removes members that are in both lists. Returns the allowed digests,
/// and what to print about them.
pub fn allow(
    lists: &[PathBuf],
    wins: bool,
    hashing: Hashing,
    profile: Profile,
    members: &mut Vec<u64>,
    streams: &mut Streams,
) -> Result<(Vec<u64>, String)> {
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
    Ok((allowed, words))
}
