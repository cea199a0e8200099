//! A feed with shards: what is written, and the manifest. docs/feeds.md, FEED-FORMAT.md, "The folder of a sharded filter".

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail, ensure};
use bloom_wasm::filters::AnyFilter;
use bloom_wasm::layers::MAX_TAGS;
use bloom_wasm::layers::{Stack, Tagged};
use bloom_wasm::shards::{Entry, MAX_SHARD, Sharding, write_page};
use bloom_wasm::{Filter, Kind, RibbonFilter};

use super::guard::{Change, GuardArgs};
use super::manifest::{self, ManifestPayload, ShardsPayload, Tag, hex, sha256};
use super::publication::{Publication, Renewal};
use super::published;
use super::state::{Lists, Parts, Settings};
use crate::args::tags::{TagArgs, WithoutArgs};
use crate::files::read;
use crate::files::write::{self, Cleaner};
use crate::streams::Streams;
use crate::text::{counted, in_words};

/// The number of different keys of a shard.
pub fn count(blob: &Filter) -> Result<u32> {
    ribbon(blob)?;
    let count = blob.stack().count().context("a shard must know its count")?;
    Ok(u32::try_from(count)?)
}

/// The filter of a shard, without its layers.
pub fn ribbon(blob: &Filter) -> Result<&RibbonFilter> {
    match blob.stack().base() {
        AnyFilter::Ribbon(filter) => Ok(filter),
        _ => bail!("a shard must be a ribbon filter"),
    }
}

pub fn entry_of(bytes: &[u8]) -> Result<Entry> {
    ensure!(bytes.len() <= MAX_SHARD as usize, "it would have more than 16 MiB; use more shards");
    Ok(Entry { sha256: manifest::hash(bytes), bytes: u32::try_from(bytes.len())?, count: 0 })
}

/// A shard that was built.
pub struct Shard {
    pub bytes: Vec<u8>,
    pub entry: Entry,
    /// How many keys have each tag.
    tags: Vec<u64>,
}

impl Shard {
    /// With tags, the digests are those of the tagged keys.
    pub fn new(
        sharding: &Sharding,
        fpr: f64,
        shard: u32,
        digests: &mut Vec<u64>,
        tagged: Option<&Tagged>,
        allowed: Option<&[u64]>,
    ) -> Result<Self> {
        let name = format!("shard {shard}, of {}", counted(digests.len() as u64, "key", "keys"));
        let mut make = || -> Result<Self> {
            let hashing = *sharding.hashing();
            let stack = match tagged {
                None => Stack::build(Kind::Ribbon.into(), digests, allowed, fpr, hashing)?,
                Some(tagged) => Stack::build_tagged_shard(tagged, allowed, fpr, hashing)?,
            };
            let blob = Filter::new(sharding.profile(), stack);
            let bytes = blob.encode()?;
            let tags = tagged.map_or(Ok(Vec::new()), Tagged::counts)?;
            Ok(Shard { entry: Entry { count: count(&blob)?, ..entry_of(&bytes)? }, bytes, tags })
        };
        make().context(name)
    }
}

/// A feed with shards that is being published.
pub type ShardedFeed = Publication<ShardsPayload>;

impl ShardedFeed {
    /// How keys are assigned to shards.
    pub fn sharding(&self) -> Result<Sharding> {
        let shards = self.state.shards.context("the state is of a feed without shards")?;
        Ok(Sharding::new(self.state.identity.profile()?, self.hashing()?, shards)?)
    }

    /// Signs the list of the last generation anew if that is about to expire, since the next list was refused.
    pub fn renew(&mut self, expires_in: u64, streams: &mut Streams) -> Result<Renewal> {
        self.folder.check()?;
        let Some(last) = self.state.payload::<ShardsPayload>()? else { return Ok(Renewal::None) };
        if self.state.is_recovered {
            return Ok(Renewal::Lost);
        }
        if self.has_newer_live()? && self.live().is_some_and(|live| live.pages != last.pages) {
            return Ok(Renewal::Unknown);
        }
        if self.is_in_place(expires_in)? {
            return Ok(Renewal::NotYet);
        }
        let whole = || -> Result<()> {
            for entry in published::entries(&self.dir, &last)? {
                published::read_file(&self.dir, &hex(&entry.sha256), Some(entry.bytes.into()))?;
            }
            Ok(())
        };
        whole().map_err(|damage| anyhow!("the old list can't be signed anew: {}", in_words(&damage)))?;
        let before = self.state.clone();
        let sign = |feed: &mut Self| -> Result<bool> {
            let payload = ShardsPayload { head: feed.next_head(last.head.count, expires_in)?, ..last };
            let text = feed.sign(&payload)?;
            feed.unlist(&payload.pages);
            feed.put(text, payload)?;
            Ok(true)
        };
        let signed = sign(self);
        self.finish(before, signed, streams)?;
        Ok(Renewal::Signed)
    }

    /// The tags of the next generation. The names that are there keep their numbers.
    pub fn next_tags(&self, tags: &TagArgs, without: &WithoutArgs) -> Result<Vec<Tag>> {
        let last = self.last()?;
        let known = || last.iter().flat_map(ShardsPayload::tag_names);
        // A tag without a key may be one that was dropped; it keeps its number.
        let with_keys = last.iter().filter_map(|last| last.tags.as_ref()).flatten();
        let with_keys: Vec<_> = with_keys.filter(|tag| tag.count > 0).map(|tag| &tag.name[..]).collect();
        without.check(&with_keys, &self.state.lists.tags().collect::<Vec<_>>(), tags)?;
        let names = if tags.any() { tags.names(known())? } else { Vec::new() };
        ensure!(
            names.len() <= MAX_TAGS,
            "a feed has at most {MAX_TAGS} tags, and with shards it keeps those that it had; begin another feed"
        );
        Ok(names.into_iter().map(|name| Tag { name, count: 0 }).collect())
    }
}

/// Writes the folder of a feed with shards: shards, then pages, then the state and the manifest.
pub struct Writer {
    pub feed: ShardedFeed,
    /// The hashes of the shards of the generation in place.
    there: HashSet<[u8; 32]>,
    pub entries: Vec<Entry>,
    /// The tags by their numbers; none in a filter without tags.
    pub tags: Vec<Tag>,
    /// The files that this run has written which the generation before didn't have.
    added: Vec<PathBuf>,
    /// How many files this run has written, also those that were damaged, and their bytes.
    pub written: u64,
    pub written_bytes: u64,
}

impl Writer {
    pub fn new(feed: ShardedFeed) -> Self {
        // A file that nothing names may be about to be deleted, so it is written anew.
        let there = match feed.live() {
            Some(live) => published::entries(&feed.dir, live),
            None => Ok(Vec::new()),
        };
        // If its pages are damaged, everything is written anew.
        let there = there.unwrap_or_else(|_| Vec::new()).iter().map(|entry| entry.sha256).collect();
        let (entries, tags, added) = (Vec::new(), Vec::new(), Vec::new());
        Writer { feed, there, entries, tags, added, written: 0, written_bytes: 0 }
    }

    /// Saves the state of a new feed, so that a killed run doesn't leave files without one.
    pub fn begin(&self) -> Result<()> {
        if self.feed.is_first() { self.feed.folder.save(&self.feed.state) } else { Ok(()) }
    }

    /// The names of the tags, by their numbers.
    pub fn tag_names(&self) -> Vec<String> {
        self.tags.iter().map(|tag| tag.name.clone()).collect()
    }

    /// How many keys the shards have.
    pub fn count(&self) -> u64 {
        self.entries.iter().map(|entry| u64::from(entry.count)).sum()
    }

    /// Fails if these are too few after the last generation.
    pub fn check(&self, guard: &GuardArgs, keys: u64) -> Result<()> {
        guard.check(&Change::of_counts(self.feed.last_count()?, keys))
    }

    /// The same for each tag whose list was given. The counts of the others aren't remembered.
    pub fn check_tags(&self, guard: &GuardArgs, given: &TagArgs) -> Result<()> {
        let last = self.feed.last()?;
        let before = last.iter().filter_map(|last| last.tags.as_ref()).flatten();
        for (before, now) in before.zip(&self.tags).filter(|(_, now)| given.has(&now.name)) {
            guard
                .check(&Change::of_counts(before.count, now.count))
                .with_context(|| format!("--tag {}", now.name))?;
        }
        Ok(())
    }

    /// Writes the next shard, unless it is there already.
    pub fn put(&mut self, made: Shard) -> Result<()> {
        self.write(made.entry.sha256, &made.bytes)?;
        self.entries.push(made.entry);
        self.tags.iter_mut().zip(made.tags).for_each(|(tag, more)| tag.count += more);
        Ok(())
    }

    /// Writes a shard, whose name is its hash.
    pub fn write(&mut self, sha256: [u8; 32], bytes: &[u8]) -> Result<()> {
        let path = self.feed.dir.join(hex(&sha256));
        if !(self.there.contains(&sha256) && is_there(&path, bytes)) {
            write::publish(&path, bytes, || self.feed.folder.check())?;
            self.written += 1;
            self.written_bytes += bytes.len() as u64;
            if self.there.insert(sha256) {
                self.added.push(path);
            }
        }
        Ok(())
    }

    /// After a run that failed, deletes the files that it added, except those of generations that clients may still
    /// read.
    pub fn take_back(&self, streams: &mut Streams) -> Result<()> {
        // If another run has taken over, everything belongs to that one.
        self.feed.folder.check()?;
        let live = manifest::read::<ShardsPayload>(&self.feed.dir)?;
        let mut named: HashSet<_> = self.feed.unlisted_shards()?.into_iter().collect();
        // If its manifest isn't there, clients may still have the last generation.
        for shards in live.into_iter().chain(self.feed.state.payload()?) {
            named.extend(published::names(&self.feed.dir, &shards)?);
        }
        let is_named =
            |path: &Path| path.file_name().and_then(OsStr::to_str).is_some_and(|file| named.contains(file));
        let mut cleaner = Cleaner::default();
        self.added.iter().rev().filter(|path| !is_named(path)).for_each(|path| {
            cleaner.delete(path, streams);
        });
        Ok(())
    }

    /// Writes the pages, the state and the manifest, unless nothing has changed. `parts` are those that the generation
    /// is made of. Returns whether there is a new generation.
    pub fn publish(
        &mut self,
        lists: Lists,
        parts: Option<Parts>,
        settings: &Settings,
        streams: &mut Streams,
    ) -> Result<bool> {
        let expires_in = settings.expires_in;
        self.feed.look_at_clock()?;
        let sharding = self.feed.sharding()?;
        let pages: Vec<_> = self.entries.chunks(sharding.entries()).map(write_page).collect();
        let names: Vec<_> = pages.iter().map(|page| sha256(page)).collect();
        names.iter().for_each(|name| self.feed.announce(name));
        self.feed.folder.save(&self.feed.state)?;
        let before = self.feed.state.clone();
        let payload = ShardsPayload {
            head: self.feed.next_head(self.count(), expires_in)?,
            shards: sharding.shards(),
            bytes: self.entries.iter().map(|entry| u64::from(entry.bytes)).sum(),
            pages: names,
            tags: (!self.tags.is_empty()).then(|| self.tags.clone()),
        };
        let write = |feed: &mut ShardedFeed| -> Result<bool> {
            for (name, page) in payload.pages.iter().zip(&pages) {
                let path = feed.dir.join(name);
                let is_live = feed.live().is_some_and(|live| live.pages.contains(name));
                if !(is_live && is_there(&path, page)) {
                    write::publish(&path, page, || feed.folder.check())?;
                }
            }
            feed.unlist(&payload.pages);
            feed.state.lists = lists;
            feed.state.settings = settings.clone();
            if parts.is_some() {
                feed.state.parts = parts;
            }
            // After a loss, the manifest in place may be an old one that a host has put back.
            let is_same = !feed.state.is_recovered && feed.live().is_some_and(|live| payload.is_as(live));
            if is_same && feed.is_in_place(expires_in)? {
                feed.save_if_changed()?;
                return Ok(false);
            }
            let text = feed.sign(&payload)?;
            feed.put(text, payload)?;
            if let Some(parts) = &mut feed.state.parts {
                parts.published = true;
                feed.folder.save(&feed.state)?;
            }
            Ok(true)
        };
        let written = write(&mut self.feed);
        self.feed.finish(before, written, streams)
    }
}

/// Whether a file has these bytes. A link to the same ones may lead elsewhere tomorrow.
fn is_there(path: &Path, bytes: &[u8]) -> bool {
    fs::symlink_metadata(path).is_ok_and(|there| there.is_file())
        && read::regular(path, bytes.len() as u64).is_ok_and(|there| there == bytes)
}
