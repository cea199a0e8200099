//! The keys of lists, split over shards on disk, and the shards that are built from them, so that a list can be larger
//! than memory.

use std::ops::Range;
use std::path::Path;
use std::slice::from_ref;

use anyhow::{Context, Result};
use bloom_wasm::Builder;
use bloom_wasm::digests::{sort, subtract};
use bloom_wasm::internal::copied;
use bloom_wasm::keys::Input;
use bloom_wasm::shards::Sharding;
use rayon::prelude::*;

use super::declared::Sources;
use super::record::Listed;
use super::refusal::Lists;
use super::shards::Shard;
use super::sources::Gave;
use crate::args::omitted::Omitted;
use crate::lists::digests::{Conflicts, tagged};
use crate::lists::keys;
use crate::lists::lines::Place;
use crate::lists::sketch::Sketch;
use crate::lists::spill::{Buffer, Shards, Spill};
use crate::streams::Streams;
use crate::text::grouped;

/// How many bytes building may use at once, on all cores.
const AT_ONCE: usize = BYTES << 22;
/// The bytes that building takes per key, and per key with tags.
const BYTES: usize = 40;
const TAGGED_BYTES: usize = 160;
/// A shard of more keys is announced, since building it takes more memory than usual.
const LARGE: usize = 1_000_000;

/// The digests of lists, split over the shards, on disk.
pub struct Split<'a> {
    sharding: &'a Sharding,
    /// The name of the folder where they are.
    folder: String,
    /// The tag of each list of members after those without one.
    tags: Vec<&'a str>,
    members: Spill,
    /// The keys that must be absent, if there is a list of them.
    allowed: Option<Spill>,
    /// The keys that are removed from the members.
    won: Spill,
}

impl<'a> Split<'a> {
    /// Reads lists into temporary files in the folder. Also returns what they gave. `before` is what both kinds gave to
    /// the last generation.
    pub fn read(
        sources: &'a Sources,
        before: &[Lists; 2],
        sharding: &'a Sharding,
        folder: &Path,
        streams: &mut Streams,
    ) -> Result<(Self, Gave)> {
        let name = folder.display().to_string();
        let spill = || Spill::new(sharding, folder).with_context(|| name.clone());
        let (mut members, mut allowed, mut won) = (spill()?, spill()?, spill()?);
        let (mut gave, mut tags) = (Gave::default(), Vec::new());
        let (profile, new) =
            (sharding.profile(), || (Buffer::new(sharding), Buffer::new(sharding), Sketch::default()));
        let push = |buffer: &mut Buffer, key: &[u8]| {
            let digest = sharding.hashing().digest(key);
            buffer.push(sharding.shard_of(key), digest);
            digest
        };
        for (tag, name, list) in sources.lists_by_tag() {
            if tag != tags.last().copied() {
                members.end_list();
                tags.extend(tag);
            }
            let take = |(own, _, sketch): &mut (Buffer, Buffer, Sketch), input: &Input, _: Place| {
                sketch.add(own.push_entry(sharding, input)?);
                Ok(())
            };
            let mut sketch = Sketch::default();
            let files = from_ref(&list.file);
            let summary =
                keys::for_each(files, profile, &sources.omitted, streams, new, take, |(own, _, more)| {
                    members.extend(own);
                    sketch.merge(&more);
                    Ok(())
                })?;
            // The keys of a list are too many to be held, so its entries are counted.
            let listed = Listed::of_entries(tag, sketch, &summary)?;
            gave.members.note(name, listed, summary, &before[0], streams);
        }
        for (name, list) in &sources.allow {
            let take = |(own, all, sketch): &mut (Buffer, Buffer, Sketch), input: &Input, _: Place| {
                input.keys().for_each(|key| {
                    push(all, key);
                });
                sketch.add(push(own, input.own()));
                Ok(())
            };
            let mut sketch = Sketch::default();
            let files = from_ref(&list.file);
            let nothing = Omitted::none();
            let summary =
                keys::for_each(files, profile, &nothing, streams, new, take, |(own, all, more)| {
                    allowed.extend(all);
                    if sources.allow_wins {
                        won.extend(own);
                    }
                    sketch.merge(&more);
                    Ok(())
                })?;
            let listed = Listed::of_entries(None, sketch, &summary)?;
            gave.allowed.note(name, listed, summary, &before[1], streams);
        }
        let allowed = (!sources.allow.is_empty()).then_some(allowed);
        Ok((Split { sharding, folder: name, tags, members, allowed, won }, gave))
    }

    /// Builds all shards, in order, as many at once as fit into the memory. Meanwhile it writes those before, and reads
    /// the digests of those after. `names` are those of the tags, by their numbers.
    pub fn build(
        self,
        fpr: f64,
        names: &[String],
        streams: &mut Streams,
        mut put: impl FnMut(Shard) -> Result<()> + Send,
    ) -> Result<Conflicts> {
        let Split { sharding, folder, tags, members, allowed, won } = self;
        let tags = (!names.is_empty()).then_some((&tags[..], names));
        let (mut members, mut won) = (members.parts(), won.parts());
        let mut allowed = allowed.map(Spill::parts);
        let mut read = || -> Result<Option<Group>> {
            let part =
                |of: &mut dyn Iterator<Item = _>| of.next().transpose().with_context(|| folder.clone());
            let Some(members) = part(&mut members)? else { return Ok(None) };
            let allowed = allowed.as_mut().map(|allowed| part(allowed)).transpose()?.flatten();
            Ok(Some(Group { members, allowed, won: part(&mut won)?.context("a temporary file is missing")? }))
        };
        let mut conflicts = Conflicts::default();
        let (mut next, mut built) = (read()?, Vec::new());
        let mut first = 0;
        while let Some(part) = next.take() {
            let count = part.members.len();
            let mut start = 0;
            while start < count {
                let end = part.fitting(start..count, first, tags.is_some(), streams);
                let make = |i| part.make(sharding, fpr, tags, first, i);
                let (made, done) = rayon::join(
                    || (start..end).into_par_iter().map(make).collect::<Result<Vec<_>>>(),
                    || -> Result<()> {
                        built.drain(..).try_for_each(&mut put)?;
                        if end == count {
                            next = read()?;
                        }
                        Ok(())
                    },
                );
                done?;
                for (shard, found) in made? {
                    conflicts.removed += found.removed;
                    conflicts.kept += found.kept;
                    built.push(shard);
                }
                start = end;
            }
            first += count as u32;
        }
        built.into_iter().try_for_each(put)?;
        Ok(conflicts)
    }
}

/// The digests of some shards, in memory.
struct Group {
    members: Shards,
    allowed: Option<Shards>,
    won: Shards,
}

impl Group {
    /// The end of the first of these shards that are built at once: at least one. Large ones are announced. `first` is
    /// the number of the part's first shard.
    fn fitting(&self, shards: Range<usize>, first: u32, tagged: bool, streams: &mut Streams) -> usize {
        let each = if tagged { TAGGED_BYTES } else { BYTES };
        let (mut end, mut keys) = (shards.start, 0);
        while end < shards.end && (end == shards.start || keys * each < AT_ONCE) {
            let of_this = self.members[end].entries.keys().len();
            if of_this > LARGE {
                let (shard, keys) = (first as usize + end, grouped(of_this as u64));
                let bytes = grouped((of_this * each) as u64);
                streams.warn(&format!("shard {shard} has {keys} keys and needs {bytes} bytes"));
            }
            keys += of_this;
            end += 1;
        }
        end
    }

    /// Builds the shard with this place in the part.
    fn make(
        &self,
        sharding: &Sharding,
        fpr: f64,
        tags: Option<(&[&str], &[String])>,
        first: u32,
        place: usize,
    ) -> Result<(Shard, Conflicts)> {
        let sorted = |part: &Shards| -> Result<Vec<u64>> {
            let mut digests = copied(part[place].entries.keys())?;
            sort(&mut digests)?;
            Ok(digests)
        };
        let shard = first + place as u32;
        let keys = tags.map(|(tags, names)| tagged(&self.members[place], tags, names)).transpose();
        let mut keys = keys.with_context(|| format!("shard {shard}"))?;
        let mut digests = sorted(&self.members)?;
        let all = digests.len();
        subtract(&mut digests, &sorted(&self.won)?);
        let removed = (all - digests.len()) as u64;
        let allowed = self.allowed.as_ref().map(sorted).transpose()?;
        let is_member = |key: &&u64| digests.binary_search(key).is_ok();
        let kept = allowed.iter().flatten().filter(is_member).count() as u64;
        if let Some(keys) = keys.as_mut().filter(|_| removed > 0) {
            keys.keep(&digests)?;
        }
        let covered = Builder::covered(&self.members[place].entries, &digests, keys.as_ref())?;
        let made = Shard::new(sharding, fpr, shard, digests, &covered, keys, allowed.as_deref())?;
        Ok((made, Conflicts { removed, kept }))
    }
}
