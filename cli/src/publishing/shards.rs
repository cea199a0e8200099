//! A feed with shards: what is written, and the manifest. docs/hosting.md, FEED-FORMAT.md, "The folder of a sharded filter".

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use bloom_wasm::digests::subtract;
use bloom_wasm::filters::AnyFilter;
use bloom_wasm::layers::{MAX_TAGS, Stack, Tagged};
use bloom_wasm::shards::{Entry, MAX_SHARD, Sharding, write_page};
use bloom_wasm::{Filter, Kind, RibbonFilter};

use super::manifest::{self, Head, Identity, ShardsPayload, Tag, hex, sha256};
use super::plan::{Made, Outputs};
use super::published;
use super::record::Parts;
use super::state::StateFolder;
use crate::files::read::is_there;
use crate::files::write;
use crate::text::counted;

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
    /// How many keys its lists have, in all and with each tag, and how many of them others cover.
    keys: u64,
    tags: Vec<u64>,
    covered: u64,
}

impl Shard {
    /// The digests are sorted, and so are those of them that others cover. With tags, they are those of the tagged keys.
    pub fn new(
        sharding: &Sharding,
        fpr: f64,
        shard: u32,
        mut digests: Vec<u64>,
        covered: &[u64],
        tagged: Option<Tagged>,
        allowed: Option<&[u64]>,
    ) -> Result<Self> {
        let keys = digests.len() as u64;
        let name = format!("shard {shard}, of {}", counted(keys, "key", "keys"));
        let make = || -> Result<Self> {
            let hashing = *sharding.hashing();
            let tags = tagged.as_ref().map_or(Ok(Vec::new()), Tagged::counts)?;
            subtract(&mut digests, covered);
            let stack = match tagged {
                None => Stack::build(Kind::Ribbon.into(), &mut digests, allowed, fpr, hashing)?,
                Some(mut tagged) => {
                    tagged.keep(&digests)?;
                    Stack::build_tagged_shard(&tagged, allowed, fpr, hashing)?
                }
            };
            let blob = Filter::new(sharding.profile(), stack);
            let bytes = blob.encode()?;
            let entry = Entry { count: count(&blob)?, ..entry_of(&bytes)? };
            Ok(Shard { entry, bytes, keys, tags, covered: covered.len() as u64 })
        };
        make().context(name)
    }
}

/// The tags of the next generation, each without a key yet. The names that were there keep their numbers.
pub fn next_tags(last: Option<&ShardsPayload>, given: &[&str]) -> Result<Vec<Tag>> {
    if given.is_empty() {
        return Ok(Vec::new());
    }
    let mut names: Vec<_> = last.into_iter().flat_map(ShardsPayload::tag_names).collect();
    for name in given {
        if !names.contains(name) {
            names.push(name);
        }
    }
    ensure!(
        names.len() <= MAX_TAGS,
        "a feed has at most {MAX_TAGS} tags, and with shards it keeps those that it had; begin another feed"
    );
    Ok(names.into_iter().map(|name| Tag { name: name.to_owned(), count: 0 }).collect())
}

/// Writes the shards of the next generation into the folder.
pub struct Writer<'a> {
    dir: &'a Path,
    folder: &'a StateFolder,
    is_dry: bool,
    /// The hashes of the shards of the generation in place.
    there: HashSet<[u8; 32]>,
    pub entries: Vec<Entry>,
    /// How many keys the lists have, and how many of them others cover.
    pub keys: u64,
    pub covered: u64,
    /// The tags by their numbers; none in a filter without tags.
    pub tags: Vec<Tag>,
    /// The files that this run has written which the generation before didn't have.
    pub added: Vec<PathBuf>,
    /// How many files this run has written, also those that were damaged, and their bytes.
    pub written: u64,
    pub written_bytes: u64,
}

impl<'a> Writer<'a> {
    /// `live` is the manifest in place.
    pub fn new(
        dir: &'a Path,
        folder: &'a StateFolder,
        live: Option<&ShardsPayload>,
        tags: Vec<Tag>,
        is_dry: bool,
    ) -> Self {
        // A file that nothing names may be about to be deleted, so it is written anew.
        let there = live.map(|live| published::entries(dir, live));
        let there = match there {
            Some(Ok(entries)) => entries,
            // If its pages are damaged, everything is written anew.
            None | Some(Err(_)) => Vec::new(),
        };
        Writer {
            dir,
            folder,
            is_dry,
            there: there.iter().map(|entry| entry.sha256).collect(),
            entries: Vec::new(),
            keys: 0,
            covered: 0,
            tags,
            added: Vec::new(),
            written: 0,
            written_bytes: 0,
        }
    }

    /// The names of the tags, by their numbers.
    pub fn tag_names(&self) -> Vec<String> {
        self.tags.iter().map(|tag| tag.name.clone()).collect()
    }

    /// Writes the next shard, unless it is there already.
    pub fn put(&mut self, made: Shard) -> Result<()> {
        self.write(made.entry.sha256, &made.bytes)?;
        self.entries.push(made.entry);
        self.keys += made.keys;
        self.covered += made.covered;
        self.tags.iter_mut().zip(made.tags).for_each(|(tag, more)| tag.count += more);
        Ok(())
    }

    /// Writes a shard, whose name is its hash.
    pub fn write(&mut self, sha256: [u8; 32], bytes: &[u8]) -> Result<()> {
        let path = self.dir.join(hex(&sha256));
        if !(self.there.contains(&sha256) && is_there(&path, bytes)) {
            if !self.is_dry {
                write::publish(&path, bytes, || self.folder.check())?;
            }
            self.written += 1;
            self.written_bytes += bytes.len() as u64;
            if self.there.insert(sha256) {
                self.added.push(path);
            }
        }
        Ok(())
    }

    /// The generation with these shards. `parts` are those that it is made of, with the file of their hashes.
    pub fn make(
        &self,
        identity: Identity,
        sharding: &Sharding,
        expires_in: u64,
        parts: Option<(Parts, Vec<u64>)>,
    ) -> Made<ShardsPayload> {
        let pages = self.entries.chunks(sharding.entries()).map(write_page);
        let pages: Vec<_> = pages.map(|page| (sha256(&page), page)).collect();
        let payload = ShardsPayload {
            head: Head::unsigned(identity, self.keys),
            shards: sharding.shards(),
            bytes: self.entries.iter().map(|entry| u64::from(entry.bytes)).sum(),
            pages: pages.iter().map(|(name, _)| name.clone()).collect(),
            tags: (!self.tags.is_empty()).then(|| self.tags.clone()),
        };
        let files = pages.into_iter().filter(|(name, page)| !is_there(&self.dir.join(name), page)).collect();
        let (digests, parts) = parts.map(|(parts, hashes)| ((parts.hashes.clone(), hashes), parts)).unzip();
        let outputs = Outputs { digests: Vec::from_iter(digests), files };
        Made { payload, expires_in, whole: None, parts, outputs }
    }
}
