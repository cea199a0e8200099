//! The folder of a sharded filter: shards, pages and the manifest. docs/feeds.md, FEED-FORMAT.md, "Sharded filters".

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use bloom_wasm::hash::Secret;
use bloom_wasm::layers::MAX_TAGS;
use bloom_wasm::shards::{Entry, MAX_SHARD, Sharding, write_page};
use bloom_wasm::{Blob, Filter, Kind, Profile, RibbonFilter, Stack, Tagged};
use serde::Serialize;

use super::guard::{Change, GuardArgs};
use super::manifest::{self, Head, ManifestPayload, ShardsPayload, Tag, hex, sha256};
use super::parts::Spent;
use super::publication::{Publication, reported};
use super::trust::{self, KeyArgs};
use crate::args::number::{now, whole_milliseconds};
use crate::args::tags::{TagArgs, WithoutArgs};
use crate::files::lock::Lock;
use crate::files::read;
use crate::files::write::{self, Cleaner};
use crate::random;
use crate::streams::{Answer, Streams};
use crate::text::{Row, counted, grouped, time_in_words};

/// How long a manifest lasts, unless told otherwise: 90 days.
const EXPIRES_IN: Duration = Duration::from_secs(90 * 24 * 60 * 60);

/// How a manifest is signed, how long it lasts, and what it may lack.
#[derive(clap::Args)]
pub struct SigningArgs {
    #[command(flatten)]
    keys: KeyArgs,
    /// Publish without a signature what had one before
    #[arg(long, conflicts_with = "sign")]
    unsigned: bool,
    #[command(flatten)]
    without: WithoutArgs,
    /// Begin a new filter although files of another lie in the folder, whose shards.json is gone
    #[arg(long)]
    first: bool,
    /// How long clients may use this generation, such as 12h, with --shards. Default 90d
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    expires_in: Option<Duration>,
}

impl SigningArgs {
    /// Fails if there is any.
    pub fn require_none(&self) -> Result<()> {
        if self.keys.any() || self.unsigned || self.without.any() || self.first || self.expires_in.is_some() {
            bail!(
                "--sign, --public-key, --trust-unsigned, --unsigned, --without-tag, --first and --expires-in go with \
                 --shards"
            );
        }
        Ok(())
    }

    /// Takes the lock of the folder, and reads the keys and the manifest in it. There is no state, so nothing else says
    /// how the filter goes on.
    pub fn read(&self, dir: &Path, streams: &mut Streams) -> Result<(Lock, Publication<ShardsPayload>)> {
        let trust = self.keys.read_to_sign()?;
        let now = now()?;
        ensure!(dir.is_dir(), "{}: there is no such folder", dir.display());
        let lock = Lock::new(dir.join("shards.lock"))?;
        let (publication, strange) = Publication::open(dir, trust, None, now, streams)?;
        strange.map_or(Ok(()), Err)?;
        // Clients follow the `feedId` of the manifest, so they would refuse another filter.
        ensure!(
            publication.live().is_some() || self.first || !has_files(dir)?,
            "{}: shards of a filter lie here, but no {}: put the live one back. If there is none, since a first run \
             was killed, --first begins a new filter",
            dir.display(),
            ShardsPayload::FILE
        );
        Ok((lock, publication))
    }
}

/// Whether files of a sharded filter lie in a folder: those that have their hash as their name.
fn has_files(dir: &Path) -> Result<bool> {
    let has = || -> io::Result<bool> {
        for entry in fs::read_dir(dir)? {
            if entry?.file_name().to_str().is_some_and(|name| manifest::unhex(name).is_some()) {
                return Ok(true);
            }
        }
        Ok(false)
    };
    has().with_context(|| dir.display().to_string())
}

/// The number of different keys of a shard.
pub fn count(blob: &Blob) -> Result<u32> {
    ribbon(blob)?;
    let count = blob.filter().count().context("a shard must know its count")?;
    Ok(u32::try_from(count)?)
}

/// The filter of a shard, without its layers.
pub fn ribbon(blob: &Blob) -> Result<&RibbonFilter> {
    match blob.filter().base() {
        Filter::Ribbon(filter) => Ok(filter),
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
            let blob = Blob::new(sharding.profile(), stack);
            let bytes = blob.encode()?;
            let mut tags = vec![0; tagged.map_or(0, |tagged| tagged.names().len())];
            for set in tagged.into_iter().flat_map(Tagged::sets) {
                set.iter().for_each(|&number| tags[usize::from(number)] += 1);
            }
            Ok(Shard { entry: Entry { count: count(&blob)?, ..entry_of(&bytes)? }, bytes, tags })
        };
        make().context(name)
    }
}

/// Writes the folder of a sharded filter: shards, then pages, then the manifest.
pub struct Writer {
    dir: PathBuf,
    lock: Lock,
    publication: Publication<ShardsPayload>,
    expires_in: u64,
    pub entries: Vec<Entry>,
    /// The tags by their numbers; none in a filter without tags.
    tags: Vec<Tag>,
    /// Whether the generation is made of files of `shard build`.
    pub is_of_parts: bool,
    /// The files that this run has added to the folder.
    added: Vec<PathBuf>,
}

/// What was published.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Published {
    #[serde(flatten)]
    pub shards: ShardsPayload,
    /// Whether this run made this generation.
    published: bool,
    #[serde(skip)]
    dir: PathBuf,
    #[serde(skip)]
    signers: String,
}

impl Writer {
    /// `secret` is there if the filter is keyed. It must be that of the filter which is there. With tags, the names which
    /// are there keep their numbers.
    pub fn open(
        dir: &Path,
        name: Option<&str>,
        secret: Option<&Secret>,
        tags: &TagArgs,
        signing: &SigningArgs,
        (lock, publication): (Lock, Publication<ShardsPayload>),
    ) -> Result<Self> {
        name.map_or(Ok(()), bloom_wasm::format::require_name)?;
        let expires_in = whole_milliseconds(signing.expires_in.unwrap_or(EXPIRES_IN));
        ensure!(expires_in > 0, "--expires-in must be longer than that");
        manifest::check_expiry(publication.now.saturating_add(expires_in))?;
        if let Some(live) = publication.live() {
            live.head.hashing(secret).with_context(|| dir.join(ShardsPayload::FILE).display().to_string())?;
        }
        publication.require_signature("filter", None, signing.unsigned)?;
        let known = || publication.live().into_iter().flat_map(ShardsPayload::tag_names);
        // A tag without a key may be one that was given up; it keeps its number.
        let with_keys = publication.live().and_then(|live| live.tags.as_ref()).into_iter().flatten();
        let with_keys = with_keys.filter(|tag| tag.count > 0).map(|tag| &tag.name[..]);
        signing.without.check(with_keys, tags)?;
        let names = if tags.any() { tags.names(known())? } else { Vec::new() };
        ensure!(
            names.len() <= MAX_TAGS,
            "a filter has at most {MAX_TAGS} tags, and keeps those that it had; build into a new folder"
        );
        let tags = names.into_iter().map(|name| Tag { name, count: 0 }).collect();
        let (entries, added) = (Vec::new(), Vec::new());
        // What an earlier run left that was killed: after another generation, nobody could tell.
        Spent::delete(dir, &lock)?;
        let dir = dir.to_owned();
        Ok(Writer { dir, lock, publication, expires_in, entries, tags, is_of_parts: false, added })
    }

    /// Refuses other keys than those of the filter that is there: its clients would find none of theirs.
    pub fn require_profile(&self, profile: Profile) -> Result<()> {
        let Some(live) = self.publication.live() else { return Ok(()) };
        ensure!(
            live.head.profile()? == profile,
            "the filter in this folder has another --profile, --lowercase or --sha1-hex, by which clients ask it; give \
             the same, or build into a new folder"
        );
        Ok(())
    }

    /// The names of the tags, by their numbers.
    pub fn tag_names(&self) -> Vec<String> {
        self.tags.iter().map(|tag| tag.name.clone()).collect()
    }

    /// How many keys the shards have.
    pub fn count(&self) -> u64 {
        self.entries.iter().map(|entry| u64::from(entry.count)).sum()
    }

    /// Fails if that is too few after those of the last generation.
    pub fn check(&self, guard: &GuardArgs, keys: u64) -> Result<()> {
        let before = self.publication.live().map_or(0, |live| live.head.count);
        guard.check(&Change::of_counts(before, keys))
    }

    /// The same for each tag of which a list was given. How many keys the others had, nobody remembers.
    pub fn check_tags(&self, guard: &GuardArgs, given: &TagArgs) -> Result<()> {
        let before = self.publication.live().and_then(|live| live.tags.as_ref()).into_iter().flatten();
        for (before, now) in before.zip(&self.tags).filter(|(_, now)| given.has(&now.name)) {
            guard
                .check(&Change::of_counts(before.count, now.count))
                .with_context(|| format!("--tag {}", now.name))?;
        }
        Ok(())
    }

    /// Writes the next shard, unless it is there already.
    pub fn put(&mut self, made: Shard) -> Result<()> {
        self.write(&hex(&made.entry.sha256), &made.bytes)?;
        self.entries.push(made.entry);
        self.tags.iter_mut().zip(made.tags).for_each(|(tag, more)| tag.count += more);
        Ok(())
    }

    /// Writes a file whose name is its hash.
    pub fn write(&mut self, name: &str, bytes: &[u8]) -> Result<()> {
        let path = self.dir.join(name);
        let there = fs::symlink_metadata(&path);
        let is_new = there.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::NotFound);
        let is_there = there.is_ok_and(|there| there.is_file() && there.len() == bytes.len() as u64)
            && read::regular(&path, bytes.len() as u64).is_ok_and(|there| there == bytes);
        if is_there {
            return Ok(());
        }
        write::publish(&path, bytes, || self.lock.check())?;
        if is_new {
            self.added.push(path);
        }
        Ok(())
    }

    /// Deletes the files of `shard build` that were published.
    pub fn delete_spent(&self) -> Result<()> {
        Spent::delete(&self.dir, &self.lock)
    }

    /// After a run that failed, deletes the files that it has added, and first the marker of spent ones.
    pub fn take_back(&self, streams: &mut Streams) {
        let mut cleaner = Cleaner::default();
        for path in self.added.iter().rev() {
            // If another run has taken its place, all is that one's.
            if self.lock.check().is_err() {
                break;
            }
            cleaner.delete(path, streams);
        }
    }

    /// Says which files are spent once this manifest is there.
    fn mark_spent(&mut self, manifest: &[u8]) -> Result<()> {
        if self.is_of_parts {
            self.added.push(Spent::write(&self.dir, manifest, &self.entries, &self.lock)?);
        }
        Ok(())
    }

    /// Writes the pages and the manifest.
    pub fn publish(
        &mut self,
        sharding: &Sharding,
        fpr: f64,
        name: Option<String>,
        created_at: Option<u64>,
        generation: Option<u64>,
        streams: &mut Streams,
    ) -> Result<Published> {
        // Building may have taken hours.
        self.publication.now = now()?;
        let now = self.publication.now;
        let pages: Vec<_> = self.entries.chunks(sharding.entries()).map(write_page).collect();
        let live = self.publication.live();
        let feed_id = match live {
            Some(live) => live.head.feed_id.clone(),
            None => random::id()?,
        };
        let last = live.map_or(0, |live| live.head.generation);
        // Then it is published even if nothing has changed.
        let asked = generation.is_some();
        let generation = match generation {
            Some(generation) => generation,
            // The manifest that is there may be an old one, which a host has put back.
            None if last > 0 && self.publication.signs() => {
                trust::next(last)?.max(trust::least_generation()?)
            }
            None => trust::next(last)?,
        };
        ensure!(generation > last, "--generation must be more than {last}, the one that is there");
        let head = Head {
            generation,
            created_at: created_at.unwrap_or(now),
            expires: now.saturating_add(self.expires_in),
            count: self.count(),
            ..Head::new(feed_id, name, sharding.profile(), fpr, sharding.hashing())
        };
        let shards = ShardsPayload {
            head,
            shards: sharding.shards(),
            bytes: self.entries.iter().map(|entry| u64::from(entry.bytes)).sum(),
            pages: pages.iter().map(|page| sha256(page)).collect(),
            tags: (!self.tags.is_empty()).then(|| self.tags.clone()),
        };
        // First, since it may be refused.
        let text = self.publication.sign(&shards)?;
        for (name, page) in shards.pages.iter().zip(&pages) {
            self.write(name, page)?;
        }
        let (dir, signers) = (self.dir.clone(), self.publication.signers_in_words());
        if let Some(live) = self.publication.live()
            && !asked
            && shards.is_as(live)
            && self.publication.is_fresh(self.expires_in)?
        {
            let live_text =
                manifest::read_bytes::<ShardsPayload>(&self.dir)?.context("the manifest is gone")?;
            let shards = live.clone();
            self.mark_spent(&live_text)?;
            return Ok(Published { shards, published: false, dir, signers });
        }
        self.mark_spent(text.as_bytes())?;
        if let Err(error) = self.publication.put(text.clone(), shards.clone(), || self.lock.check()) {
            // Unless it is sure that the manifest isn't there, its files stay.
            if !matches!(self.publication.is_there(&text), Ok(false)) {
                self.added.clear();
            }
            return Err(error);
        }
        // Once is enough.
        if last == 0 {
            self.publication.print_hint(streams);
        }
        Ok(Published { shards, published: true, dir, signers })
    }
}

impl Published {
    pub fn print(&self, mut rows: Vec<Row>, json: bool, streams: &mut Streams) -> Result<Answer> {
        let ShardsPayload { head, shards, bytes, .. } = &self.shards;
        rows.extend(self.shards.tags_in_words().map(|tags| ("tags", tags)));
        rows.push(("size", size_in_words(&self.shards)));
        rows.push(("signed", self.signers.clone()));
        let generation =
            format!("generation {}, which expires {}", head.generation, time_in_words(head.expires));
        if self.published {
            let dir = self.dir.display();
            rows.push((
                "wrote",
                format!(
                    "{dir}, {} shards of {} bytes on average",
                    grouped((*shards).into()),
                    grouped(bytes / u64::from(*shards))
                ),
            ));
        }
        rows.push(if self.published { ("published", generation) } else { ("unchanged", generation) });
        let printed = if json { streams.print_json(self) } else { streams.print_rows(&rows) };
        reported(printed, head.generation, self.published)?;
        Ok(Answer::Yes)
    }
}

pub fn size_in_words(shards: &ShardsPayload) -> String {
    let per_key = match shards.head.count {
        0 => String::new(),
        count => format!(", {:.2} bits a key", shards.bytes as f64 * 8.0 / count as f64),
    };
    format!("{} bytes{per_key}", grouped(shards.bytes))
}
