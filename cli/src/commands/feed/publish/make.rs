//! The next generation, from what `feed.toml` says.

use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use bloom_wasm::hash::{Hashing, Secret};
use bloom_wasm::layers::Stack;
use bloom_wasm::shards::Sharding;
use bloom_wasm::slots::{LOWEST, LOWEST_URL};
use bloom_wasm::{Kind, Profile};

use super::report;
use crate::args::secret;
use crate::publishing::declared::{Basis, Declared, Sources};
use crate::publishing::manifest::{FeedPayload, Identity, ShardsPayload};
use crate::publishing::parts;
use crate::publishing::plan::{Made, Next};
use crate::publishing::publication::Publication;
use crate::publishing::published::Published;
use crate::publishing::record::Parts;
use crate::publishing::shards::{Writer, next_tags};
use crate::publishing::sources::{Gave, Given};
use crate::publishing::split::Split;
use crate::publishing::whole::{self, Last, include_fpr};
use crate::streams::Streams;
use crate::text::{Row, counted, covered_in_words, rate, repeated_in_words};

/// What `feed.toml` says, with the secret.
pub struct Feed<'a> {
    declared: &'a Declared,
    pub identity: Identity,
    hashing: Hashing,
    pub shards: Option<u32>,
    secret: Option<Secret>,
}

impl<'a> Feed<'a> {
    pub fn new(basis: &Basis, declared: &'a Declared) -> Result<Self> {
        let Declared { profile, fpr, .. } = *declared;
        let secret = declared.secret.as_deref().map(secret::read).transpose()?;
        let hashing = Hashing::new(declared.seed, secret.as_ref()).for_filter(profile, Kind::Ribbon);
        if let Some(shards) = basis.shards {
            Sharding::new(profile, hashing, shards).context("`shards`")?;
            // Reports what is impossible before hours of reading.
            Stack::build(Kind::Ribbon.into(), &mut Vec::new(), None, fpr, hashing).context("`fpr`")?;
        } else {
            let lowest = if profile == Profile::Url { LOWEST_URL } else { LOWEST };
            let least = lowest / include_fpr(1.0);
            ensure!(fpr >= least, "`fpr` must be at least {} and below 1", rate(least));
        }
        let identity = Identity::new(basis.id.clone(), declared.people.clone(), profile, fpr, &hashing);
        Ok(Feed { declared, identity, hashing, shards: basis.shards, secret })
    }

    /// What a feed of one file is made of. Fails for a feed that is now made of parts.
    fn lists(&self) -> Result<&'a Sources> {
        ensure!(self.declared.parts.is_none(), "`parts` needs `shards`");
        Ok(&self.declared.sources)
    }

    /// The row about the allowlists, if there are any.
    fn row_of_allowed(&self, gave: &Gave) -> Option<Row> {
        let row = || ("allowed", gave.conflicts.in_words(&gave.allowed.summary));
        (!self.declared.sources.allow.is_empty()).then(row)
    }
}

/// A generation that was made.
pub struct Generation<'a, P> {
    pub next: Next<'a, P>,
    pub made: report::Made,
    /// How the lists were read.
    pub rows: Vec<Row>,
    /// How many keys others cover.
    pub covered: u64,
}

/// How each kind of feed is made.
pub trait Make: Published {
    /// Makes the next generation.
    fn make<'a>(
        feed: &Feed<'a>,
        publication: &mut Publication<Self>,
        streams: &mut Streams,
    ) -> Result<Generation<'a, Self>>;

    /// Makes the files of the last list anew, if they were damaged and that can be done.
    fn again(
        feed: Option<&Feed>,
        publication: &Publication<Self>,
        streams: &mut Streams,
    ) -> Result<Option<Made<Self>>>;

    /// Its number of files, and their bytes. With shards, the bytes are those of the shards.
    fn size(&self) -> (u64, u64);
}

/// Fails for what is refused.
fn allowed(objection: Option<String>) -> Result<()> {
    objection.map_or(Ok(()), |why| bail!("{why}"))
}

impl Make for FeedPayload {
    fn make<'a>(
        feed: &Feed<'a>,
        publication: &mut Publication<Self>,
        streams: &mut Streams,
    ) -> Result<Generation<'a, Self>> {
        let known = &publication.known;
        let sources = feed.lists()?;
        let before = known.last_lists();
        let (keys, gave) = sources.read(&before, feed.declared.profile, feed.hashing, streams)?;
        let (count, covered) = (keys.members.len() as u64, keys.covered.len() as u64);
        let Given { lists, summary } = &gave.members;
        let read = counted(count, "key", "keys") + &covered_in_words(covered) + &summary.in_words();
        let mut rows = vec![("read", read)];
        rows.extend(feed.row_of_allowed(&gave));
        allowed(known.objection_to_lists(&gave, sources))?;
        if known.before().is_none() {
            summary.print_hint(streams);
        }
        let is_tagged = keys.tagged.is_some();
        let last = last(publication, &feed.identity, feed.secret.as_ref());
        let next = whole::Next::new(&last, keys)?;
        let changes = next.changes;
        allowed(known.objection_to_count(count, Some(changes), lists, sources))?;
        let whole::Generation { made, file, because } = next.make(&last, feed.declared.expires_in)?;
        let report = report::Made::Whole {
            added: changes.added,
            removed: changes.removed,
            retagged: is_tagged.then_some(changes.retagged),
            file,
            because,
        };
        let next = Next { made, gave, changes: Some(changes), tags: next.tags, sources };
        Ok(Generation { next, made: report, rows, covered })
    }

    fn again(
        feed: Option<&Feed>,
        publication: &Publication<Self>,
        streams: &mut Streams,
    ) -> Result<Option<Made<Self>>> {
        let Some(before) = &publication.known.last else { return Ok(None) };
        let head = &before.payload.head;
        let secret = feed.and_then(|feed| feed.secret.as_ref());
        let last = last(publication, &head.identity, secret);
        let Some(damage) = last.damage() else { return Ok(None) };
        let mut make = || -> Result<whole::Generation> {
            let feed = feed.context("what else it needs isn't known")?;
            let sources = feed.lists()?;
            let hashing = head.identity.hashing(secret)?;
            let (absent, lists) = sources.read_allowed(head.identity.profile()?, hashing, streams)?;
            allowed(publication.known.objection_to_allowed(&lists, sources))?;
            let expires_in = head.expires.saturating_sub(head.created_at);
            whole::again(&last, damage.clone(), &absent, expires_in)
        };
        let generation = make().with_context(|| damage.clone())?;
        Ok(Some(generation.made))
    }

    fn size(&self) -> (u64, u64) {
        (self.files.len() as u64, self.files.iter().map(|file| file.bytes).sum())
    }
}

fn last<'a>(
    publication: &'a Publication<FeedPayload>,
    identity: &'a Identity,
    secret: Option<&'a Secret>,
) -> Last<'a> {
    let Publication { dir, folder, known, .. } = publication;
    let whole = known.record.as_ref().and_then(|record| record.whole.as_ref());
    let none = if known.ours().is_some() { "the state was lost" } else { "it is the first" };
    Last { dir, folder, whole, identity, secret, none }
}

impl Make for ShardsPayload {
    fn make<'a>(
        feed: &Feed<'a>,
        publication: &mut Publication<Self>,
        streams: &mut Streams,
    ) -> Result<Generation<'a, Self>> {
        let shards = feed.shards.context("`shards` is missing")?;
        let sharding = Sharding::new(feed.declared.profile, feed.hashing, shards)?;
        let last = publication.known.before().map(|seen| seen.payload.clone());
        let Declared { expires_in, ref sources, ref parts, .. } = *feed.declared;
        let tags: Vec<_> = sources.lists.values().filter_map(|list| list.tag.as_deref()).collect();
        let Publication { ref dir, ref folder, ref known, is_dry, .. } = *publication;
        let live = known.ours().map(|live| &live.payload);
        let mut writer = Writer::new(dir, folder, live, next_tags(last.as_ref(), &tags)?, is_dry);
        let written = match parts {
            Some(dir) => of_parts(feed, dir, &sharding, publication, &mut writer),
            None => of_lists(feed, &sharding, publication, &mut writer, streams),
        };
        publication.added = std::mem::take(&mut writer.added);
        let Written { gave, parts, rows } = written?;
        let made = writer.make(feed.identity.clone(), &sharding, expires_in, parts);
        let Writer { written, written_bytes, covered, .. } = writer;
        let report =
            report::Made::Sharded { shards, written, written_bytes, tags: made.payload.tags_in_words() };
        // The tags that were dropped keep their numbers, without keys.
        let given = writer.tags.into_iter().filter(|tag| tags.contains(&&tag.name[..]));
        let tags = given.map(|tag| (tag.name, tag.count)).collect();
        let next = Next { made, gave, changes: None, tags, sources };
        Ok(Generation { next, made: report, rows, covered })
    }

    /// Shards aren't made without their lists.
    fn again(_: Option<&Feed>, _: &Publication<Self>, _: &mut Streams) -> Result<Option<Made<Self>>> {
        Ok(None)
    }

    fn size(&self) -> (u64, u64) {
        (u64::from(self.shards) + self.pages.len() as u64, self.bytes)
    }
}

/// What shards were made of.
struct Written {
    /// Nothing if they are parts.
    gave: Gave,
    /// The parts, with their hashes.
    parts: Option<(Parts, Vec<u64>)>,
    rows: Vec<Row>,
}

fn of_parts(
    feed: &Feed,
    dir: &Path,
    sharding: &Sharding,
    publication: &Publication<ShardsPayload>,
    writer: &mut Writer,
) -> Result<Written> {
    let known = &publication.known;
    // Those of a generation that was never in place are needed still.
    let parts = known.record.as_ref().and_then(|record| record.parts.as_ref());
    let is_left = parts.is_some_and(|parts| parts.published || known.is_in_place());
    // A run that only looks hasn't tried to delete them.
    ensure!(
        !is_left || publication.is_dry,
        "parts that were published before can't be deleted, so these may be the same"
    );
    let dir = std::path::absolute(dir).with_context(|| dir.display().to_string())?;
    writer.entries = parts::read(&dir, sharding, feed.identity.fpr, feed.secret.as_ref())?;
    writer.keys = writer.entries.iter().map(|entry| u64::from(entry.count)).sum();
    let (gave, sources) = (Gave::default(), &feed.declared.sources);
    allowed(known.objection_to_lists(&gave, sources))?;
    allowed(known.objection_to_count(writer.keys, None, &gave.members.lists, sources))?;
    parts::copy(&dir, writer)?;
    let parts = Some(parts::remember(&dir, &writer.entries)?);
    let rows = vec![("read", counted(writer.keys, "key", "keys") + ", of parts")];
    Ok(Written { gave, parts, rows })
}

fn of_lists(
    feed: &Feed,
    sharding: &Sharding,
    publication: &Publication<ShardsPayload>,
    writer: &mut Writer,
    streams: &mut Streams,
) -> Result<Written> {
    let known = &publication.known;
    let sources = &feed.declared.sources;
    // A run that writes nothing may have no state. WASI has no temporary folder, and needs none.
    let folder = match (publication.is_dry, cfg!(target_os = "wasi")) {
        (true, false) => std::env::temp_dir(),
        _ => publication.folder.path().to_owned(),
    };
    let (split, mut gave) = Split::read(sources, &known.last_lists(), sharding, &folder, streams)?;
    // Checked before hours of work, and again after it, when the repeated keys are known.
    let Given { lists, summary } = &gave.members;
    let entries = summary.entries();
    allowed(known.objection_to_lists(&gave, sources))?;
    allowed(known.objection_to_count(entries, None, lists, sources))?;
    if known.before().is_none() {
        summary.print_hint(streams);
    }
    let names = writer.tag_names();
    gave.conflicts = split.build(feed.identity.fpr, &names, streams, |made| writer.put(made))?;
    let different = writer.keys + gave.conflicts.removed;
    let read = counted(different, "key", "keys") + &repeated_in_words(entries - different);
    let read = read + &covered_in_words(writer.covered) + &gave.members.summary.in_words();
    let mut rows = vec![("read", read)];
    rows.extend(feed.row_of_allowed(&gave));
    Ok(Written { gave, parts: None, rows })
}
