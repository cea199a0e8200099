//! A sharded filter, for lists too large to download. docs/feeds.md, "Sharded filters".

use std::fs;
use std::ops::Range;

use anyhow::{Context, Result, ensure};
use bloom_wasm::digests::{sort, subtract};
use bloom_wasm::hash::{Hashing, Secret};
use bloom_wasm::keys::Input;
use bloom_wasm::shards::Sharding;
use bloom_wasm::vectors::copied;
use bloom_wasm::{Kind, Profile, Stack};
use rayon::prelude::*;

use super::args::BuildArgs;
use crate::args::number::created_at;
use crate::args::omitted::Omitted;
use crate::args::secret::new_hashing;
use crate::args::tags::TagArgs;
use crate::files::write;
use crate::lists::digests::{split, tagged};
use crate::lists::keys::{self, Summary};
use crate::lists::lines::Place;
use crate::lists::spill::{Buffer, Shards, Spill};
use crate::publishing::manifest::{ManifestPayload, ShardsPayload};
use crate::publishing::shards::{Shard, Writer};
use crate::streams::{Answer, Streams};
use crate::text::{counted, grouped};

/// How many bytes are built with at once, on all cores.
const AT_ONCE: usize = BYTES << 22;
/// The bytes that building takes for a key, and for a key of one list of many with tags.
const BYTES: usize = 40;
const TAGGED_BYTES: usize = 160;
/// A shard of more keys is announced, since building it takes more memory than usual.
const LARGE: usize = 1_000_000;

/// Builds a sharded filter from lists.
pub fn build(args: &BuildArgs, shards: u32, profile: Profile, streams: &mut Streams) -> Result<Answer> {
    let secret = args.secret.read()?;
    ensure!(!write::is_stdout(&args.output), "with --shards, -o is a folder");
    fs::create_dir_all(&args.output).with_context(|| args.output.display().to_string())?;
    let known = args.signing.read(&args.output, streams)?;
    let hashing = hashing(args, secret.as_ref(), known.1.live())?.for_filter(profile, Kind::Ribbon);
    let sharding = Sharding::new(profile, hashing, shards)?;
    let fpr = args.fpr.unwrap_or(profile.default_fpr());
    // Reports what is impossible before hours of reading.
    Stack::build(Kind::Ribbon.into(), &mut Vec::new(), None, fpr, hashing).context("--fpr")?;
    let name = args.name.as_deref();
    let mut writer = Writer::open(&args.output, name, secret.as_ref(), &args.tags, &args.signing, known)?;
    writer.require_profile(profile)?;

    let (split, mut read) = Split::read(args, &sharding, streams)?;
    // Before hours of work; repeated keys are known only after it.
    let check = |writer: &Writer, keys| {
        args.require_keys(keys)?;
        writer.check(&args.guard, keys)
    };
    let entries = read.summary.entries();
    check(&writer, entries)?;
    args.print_hint(&read.summary, streams);
    let names = writer.tag_names();
    let tags = args.tags.any().then_some((&args.tags, &names[..]));
    let created_at = args.created_at.map(created_at).transpose()?;
    let publish = |writer: &mut Writer, streams: &mut Streams| -> Result<_> {
        let conflicts = split.build(fpr, tags, streams, |made| writer.put(made))?;
        check(writer, writer.count())?;
        writer.check_tags(&args.guard, &args.tags)?;
        Ok((conflicts, writer.publish(&sharding, fpr, args.name.clone(), created_at, None, streams)?))
    };
    let published = publish(&mut writer, streams);
    let (conflicts, report) = published.inspect_err(|_| writer.take_back(streams))?;

    let different = report.shards.head.count + conflicts.removed;
    let repeated = match entries - different {
        0 => String::new(),
        repeated => format!(", {} repeated", grouped(repeated)),
    };
    let mut rows =
        vec![("read", format!("{}{repeated}{}", counted(different, "key", "keys"), read.summary.in_words()))];
    if let Some(allowed) = read.allowed.take() {
        let mut words = counted(allowed.entries(), "entry", "entries") + &allowed.in_words();
        for (what, count) in [("removed", conflicts.removed), ("kept", conflicts.kept)] {
            if count > 0 {
                words += &format!(", {} in both lists ({what})", counted(count, "key", "keys"));
            }
        }
        rows.push(("allowed", words));
    }
    report.print(rows, args.json, streams)
}

/// How keys become digests. A keyed filter keeps the seed that it has, so that shards with the same keys stay as they
/// are.
fn hashing(args: &BuildArgs, secret: Option<&Secret>, live: Option<&ShardsPayload>) -> Result<Hashing> {
    match live {
        Some(live) if secret.is_some() && args.seed.is_none() => live
            .head
            .hashing(secret)
            .with_context(|| args.output.join(ShardsPayload::FILE).display().to_string()),
        _ => new_hashing(args.seed, secret),
    }
}

/// The digests of lists, split over the shards, on disk.
struct Split<'a> {
    sharding: &'a Sharding,
    folder: String,
    members: Spill,
    /// The keys that must be absent, if there is a list of them.
    allowed: Option<Spill>,
    /// Those that are removed from the members.
    won: Spill,
}

/// What the lists held.
struct Read {
    summary: Summary,
    /// The same for the allowlist, if there is one.
    allowed: Option<Summary>,
}

/// How many keys are in both lists.
#[derive(Default)]
struct Conflicts {
    removed: u64,
    kept: u64,
}

impl<'a> Split<'a> {
    fn read(args: &BuildArgs, sharding: &'a Sharding, streams: &mut Streams) -> Result<(Self, Read)> {
        let folder = args.output.display().to_string();
        let spill = || Spill::new(sharding, &args.output).with_context(|| folder.clone());
        let (mut members, mut allowed, mut won) = (spill()?, spill()?, spill()?);
        let BuildArgs { lists, tags, omitted, .. } = args;
        let summary = split(lists, tags, sharding, omitted, &mut members, streams)?;
        args.require_lists(&summary)?;
        let new = || Buffer::new(sharding);
        let push = |batch: &mut Buffer, key: &[u8]| {
            batch.push(sharding.shard_of(key), sharding.hashing().digest(key));
        };
        let take = |(all, own): &mut (Buffer, Buffer), input: &Input, _: Place| {
            input.keys().for_each(|key| push(all, key));
            push(own, input.own());
            Ok(())
        };
        let omitted = Omitted::none();
        let allowed_summary = keys::for_each(
            &args.allow,
            sharding.profile(),
            &omitted,
            streams,
            || (new(), new()),
            take,
            |(all, own)| {
                allowed.extend(all);
                if args.allow_wins {
                    won.extend(own);
                }
                Ok(())
            },
        )?;
        args.require_lists(&allowed_summary)?;
        let is_given = !args.allow.is_empty();
        let read = Read { summary, allowed: is_given.then_some(allowed_summary) };
        Ok((Split { sharding, folder, members, allowed: is_given.then_some(allowed), won }, read))
    }

    /// Builds all shards, in order, as many at once as fit into the memory. Meanwhile it writes those before, and reads
    /// the digests of those after.
    fn build(
        self,
        fpr: f64,
        tags: Option<(&TagArgs, &[String])>,
        streams: &mut Streams,
        mut put: impl FnMut(Shard) -> Result<()> + Send,
    ) -> Result<Conflicts> {
        let Split { sharding, folder, members, allowed, won } = self;
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
                for (shard, its) in made? {
                    conflicts.removed += its.removed;
                    conflicts.kept += its.kept;
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
    /// The end of those among some shards that are built at once: at least one. Large ones are announced. `first` is the
    /// number of the part's first shard.
    fn fitting(&self, shards: Range<usize>, first: u32, tagged: bool, streams: &mut Streams) -> usize {
        let each = if tagged { TAGGED_BYTES } else { BYTES };
        let (mut end, mut keys) = (shards.start, 0);
        while end < shards.end && (end == shards.start || keys * each < AT_ONCE) {
            let of_this = self.members[end].all().len();
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
        tags: Option<(&TagArgs, &[String])>,
        first: u32,
        place: usize,
    ) -> Result<(Shard, Conflicts)> {
        let sorted = |part: &Shards| -> Result<Vec<u64>> {
            let mut digests = copied(part[place].all())?;
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
        let made = Shard::new(sharding, fpr, shard, &mut digests, keys.as_ref(), allowed.as_deref())?;
        Ok((made, Conflicts { removed, kept }))
    }
}
