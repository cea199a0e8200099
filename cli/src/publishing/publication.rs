//! A feed that is being published, with shards or without: what is known of it, and the carrying out of a [`Plan`].

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail, ensure};
use ed25519_dalek::{SigningKey, VerifyingKey};

use super::declared::Basis;
use super::key;
use super::manifest::{
    self, FeedPayload, Head, MAX_SIGNATURES, Manifest, ManifestPayload, ShardsPayload, hex,
};
use super::parts;
use super::plan::{Known, Live, Outputs, Plan, Seen, Step};
use super::published::{Published, read_entries};
use super::record::{Record, Unlisted};
use super::state::StateFolder;
use crate::args::number::now;
use crate::files::write::{self, Cleaner};
use crate::streams::Streams;
use crate::text::{in_words, time_in_words};

/// A feed that is being published: its folder, and its state, which is locked.
pub struct Publication<P> {
    /// The id that feed.toml has.
    id: String,
    pub dir: PathBuf,
    pub folder: StateFolder,
    pub known: Known<P>,
    /// How many shards there are; none in a feed of one filter.
    pub shards: Option<u32>,
    /// The place of its manifest.
    path: PathBuf,
    /// The keys that sign, and those that did.
    keys: Vec<VerifyingKey>,
    /// Whether the time of publication was given.
    is_told: bool,
    /// Whether nothing is written.
    pub is_dry: bool,
    /// The shards that this run has written, which go with it if it is refused.
    pub added: Vec<PathBuf>,
    cleaner: Cleaner,
    /// What was said already.
    warned: BTreeSet<String>,
}

/// What a run is told. Times are in milliseconds.
pub struct Opened {
    pub folder: StateFolder,
    pub record: Option<Record>,
    /// The time by the clock, and the one of publication, if it was given.
    pub clock: u64,
    pub created_at: Option<u64>,
    pub grace: Option<u64>,
    pub is_dry: bool,
}

impl<P: Published> Publication<P> {
    /// Looks at what is there, and deletes what killed runs left.
    ///
    /// # Errors
    /// If nothing may be signed. They say what clients keep.
    pub fn open(basis: &Basis, opened: Opened, streams: &mut Streams) -> Result<Self> {
        let last = opened.record.as_ref().map(|record| record.manifest.clone());
        let now = opened.created_at.unwrap_or(opened.clock);
        Self::begin(basis, opened, streams).map_err(|why| {
            // It is in place, and the state knows it, so no key is needed to believe it.
            let live = manifest::read_bytes::<P>(&basis.public).ok().flatten();
            let live = live.filter(|live| last.as_ref().is_some_and(|last| last.as_bytes() == live));
            let payload = live.and_then(|live| Manifest::<P>::parse(&live).ok()?.payload().ok());
            match payload {
                Some(payload) => anyhow!("{}; {}", in_words(&why), stays(payload.head(), now)),
                None => why,
            }
        })
    }

    fn begin(basis: &Basis, opened: Opened, streams: &mut Streams) -> Result<Self> {
        let Opened { folder, record, clock, created_at, grace, is_dry } = opened;
        let signers = signers(basis)?;
        let own: Vec<_> = signers.iter().map(SigningKey::verifying_key).collect();
        if let Some(key) = own.iter().find(|key| basis.former_keys.contains(key)) {
            bail!("`sign` and `former-keys` have the same key, {}", manifest::public_key(key));
        }
        let keys = own.iter().chain(&basis.former_keys).copied().collect();
        let now = created_at.unwrap_or(clock);
        let mut publication = Publication {
            id: basis.id.clone(),
            path: basis.public.join(P::FILE),
            dir: basis.public.clone(),
            folder,
            known: Known { record, last: None, live: Live::None, clock, now, grace, signers },
            shards: basis.shards,
            keys,
            is_told: created_at.is_some(),
            is_dry,
            added: Vec::new(),
            cleaner: Cleaner::default(),
            warned: BTreeSet::new(),
        };
        write::check_place(&publication.path)?;
        publication.see()?;
        publication.require_alone(streams)?;
        publication.known.require_signable()?;
        if let Live::Strange(why) = &publication.known.live {
            streams.warn(&format!("not trusted, so it will be replaced: {why}"));
        }
        publication.tidy(streams)?;
        Ok(publication)
    }

    /// Reads the manifests of the state and of the folder.
    fn see(&mut self) -> Result<()> {
        let text = self.known.record.as_ref().map(|record| &record.manifest).filter(|text| !text.is_empty());
        let last = text.map(|text| self.seen(&Manifest::parse(text.as_bytes())?, text.clone()));
        self.known.last = last.transpose().context("the manifest in the state")?;
        let name = || self.path.display().to_string();
        self.known.live = match manifest::read_bytes::<P>(&self.dir) {
            Ok(None) => Live::None,
            Ok(Some(bytes)) => match Manifest::parse(&bytes) {
                Ok(found) if self.believes(&found) => {
                    let seen =
                        String::from_utf8(bytes).map_err(Into::into).and_then(|text| self.seen(&found, text));
                    let seen = seen.with_context(name)?;
                    // A host may have another feed of the same key.
                    if seen.payload.head().identity.feed_id == self.id() {
                        Live::Ours(seen)
                    } else {
                        Live::Strange(format!("{}: this is another feed", name()))
                    }
                }
                Ok(found) if found.is_signed() => {
                    let words = "none of the feed's keys has signed it; if another one of yours has, add its public key \
                                 to `former-keys`";
                    Live::Strange(format!("{}: {words}", name()))
                }
                Ok(_) => Live::Strange(format!("{}: nobody has signed it", name())),
                Err(why) => Live::Strange(in_words(&why.context(name()))),
            },
            Err(why) => Live::Strange(in_words(&why)),
        };
        self.shards = self.known.both().next().map_or(self.shards, |seen| seen.payload.shards());
        Ok(())
    }

    fn seen(&self, found: &Manifest<P>, text: String) -> Result<Seen<P>> {
        Ok(Seen {
            text,
            hash: found.hash(),
            payload: found.payload()?,
            is_signed_by_all: found.has_signers(&self.known.signers),
            is_signed_by_known: found.is_signed_only_by(&self.keys),
        })
    }

    /// The id of what was published, or of what will be.
    fn id(&self) -> &str {
        self.known.last.as_ref().map_or(&self.id, |last| &last.payload.head().identity.feed_id)
    }

    /// Whether a manifest is this feed's: one of its keys has signed it, or the state knows it. If nobody signs the feed,
    /// its publisher believes any manifest, as its clients do.
    fn believes(&self, found: &Manifest<P>) -> bool {
        let is_remembered = || self.known.record.as_ref().is_some_and(|record| record.follows(&found.hash()));
        self.known.signers.is_empty()
            || self.keys.iter().any(|key| found.is_signed_by(key))
            || is_remembered()
    }

    /// Fails if there is another kind of feed in the folder. Somebody who can put a file there must not be able to stop a
    /// feed that has a state, though.
    fn require_alone(&self, streams: &mut Streams) -> Result<()> {
        for other in [FeedPayload::FILE, ShardsPayload::FILE].into_iter().filter(|file| *file != P::FILE) {
            let other = self.dir.join(other);
            let is_there = other.try_exists().with_context(|| other.display().to_string());
            let name = other.display();
            if self.known.last.is_none() {
                ensure!(!is_there?, "{name}: there is another feed here; a folder can have only one");
            } else if is_there.unwrap_or(true) {
                streams.warn(&format!("{name}: this belongs to no feed that was begun here"));
            }
        }
        Ok(())
    }

    /// Looks at the clock again: building may have taken hours.
    pub fn look_at_clock(&mut self) -> Result<()> {
        self.known.clock = now()?;
        if !self.is_told {
            self.known.now = self.known.clock;
        }
        Ok(())
    }

    /// Deletes what failed and killed runs left.
    fn tidy(&mut self, streams: &mut Streams) -> Result<()> {
        if self.is_dry {
            return Ok(());
        }
        self.folder.clear(self.known.record.as_ref(), &mut self.cleaner, streams)?;
        self.cleaner.delete_temporary(&self.dir, streams)?;
        for step in self.known.tidy() {
            // Parts that can't be deleted only matter to a run that reads parts, which refuses them.
            let is_spending = step == Step::Spend;
            match self.step(step, None, streams) {
                Err(why) if is_spending && self.folder.check().is_ok() => {
                    self.warn_once(in_words(&why), streams);
                }
                done => done?,
            }
        }
        Ok(())
    }

    /// A run that fails tidies up twice.
    fn warn_once(&mut self, words: String, streams: &mut Streams) {
        if !self.warned.contains(&words) {
            streams.warn(&words);
            self.warned.insert(words);
        }
    }

    /// Carries out a plan. Once its manifest is in place, the run has done what it was for.
    pub fn carry_out(&mut self, plan: &Plan, outputs: Option<&Outputs>, streams: &mut Streams) -> Result<()> {
        let mut is_in_place = false;
        for step in plan {
            let is_put = matches!(step, Step::Put(_));
            match self.step(step.clone(), outputs, streams) {
                Err(why) if is_in_place => {
                    let generation = self.known.signed();
                    streams.warn(&format!(
                        "generation {generation} is published, but not all that isn't needed was deleted; the next run \
                         does that: {}",
                        in_words(&why)
                    ));
                    return Ok(());
                }
                done => done?,
            }
            is_in_place |= is_put;
        }
        if is_in_place
            && let Err(why) = self.folder.clear(self.known.record.as_ref(), &mut self.cleaner, streams)
        {
            streams.warn(&in_words(&why));
        }
        Ok(())
    }

    fn step(&mut self, step: Step, outputs: Option<&Outputs>, streams: &mut Streams) -> Result<()> {
        match step {
            Step::Require => {
                let last = self.known.last.as_ref().context("there is no manifest in the state")?;
                last.payload.require_whole(&self.dir).context("the last list can't be signed anew")
            }
            Step::Remember(record) => {
                self.folder.save(&record)?;
                self.known.record = Some(*record);
                Ok(())
            }
            Step::Write => {
                let outputs = outputs.context("nothing was made that could be written")?;
                for (file, digests) in &outputs.digests {
                    self.folder.write(file, digests)?;
                }
                let put = |(name, bytes): &(String, Vec<u8>)| {
                    write::publish(&self.dir.join(name), bytes, || self.folder.check())
                };
                outputs.files.iter().try_for_each(put)
            }
            Step::Put(text) => {
                write::publish(&self.path, text.as_bytes(), || self.folder.check())?;
                self.see()
            }
            Step::Spend => {
                let Some(Record { parts: Some(parts), .. }) = &self.known.record else {
                    bail!("the state has no parts to delete")
                };
                parts::delete(parts, &self.folder)?;
                self.change(|record| record.parts = None)
            }
            Step::Delete(due) => self.delete(due, streams),
        }
    }

    fn change(&mut self, change: impl FnOnce(&mut Record)) -> Result<()> {
        let record = self.known.record.as_mut().context("there is no state")?;
        change(record);
        self.folder.save(record)
    }

    /// Deletes files that nobody needs, and forgets those that are gone.
    fn delete(&mut self, due: Vec<Unlisted>, streams: &mut Streams) -> Result<()> {
        self.folder.check()?;
        let shards = match self.shards_of(&due) {
            Ok(shards) => shards,
            Err(why) => {
                self.warn_once(format!("no file that isn't needed was deleted: {}", in_words(&why)), streams);
                return Ok(());
            }
        };
        for shard in shards {
            self.cleaner.delete(&self.dir.join(shard), streams);
        }
        let gone: Vec<_> = due
            .into_iter()
            .filter(|unlisted| self.cleaner.delete(&self.dir.join(&unlisted.sha256), streams))
            .collect();
        self.change(|record| record.unlisted.retain(|unlisted| !gone.contains(unlisted)))
    }

    /// The shards of a page.
    fn shards_of_page(&self, page: &str, shards: u32) -> Result<Vec<String>> {
        let entries = read_entries(&self.dir, page, shards)?;
        Ok(entries.iter().map(|entry| hex(&entry.sha256)).collect())
    }

    /// The shards of the manifests, and of the pages that stay although no manifest names them. Those have none if `feed
    /// forget` has deleted them.
    fn needed_shards(&self, shards: u32, due: &[Unlisted]) -> Result<HashSet<String>> {
        let mut needed = HashSet::new();
        for page in self.known.named() {
            needed.extend(self.shards_of_page(&page, shards)?);
        }
        let unlisted = self.known.record.iter().flat_map(|record| &record.unlisted);
        for page in unlisted.filter(|page| page.since.is_some() && !due.contains(page)) {
            let path = self.dir.join(&page.sha256);
            if path.try_exists().with_context(|| path.display().to_string())? {
                needed.extend(self.shards_of_page(&page.sha256, shards)?);
            }
        }
        Ok(needed)
    }

    /// The shards that only pages to be deleted name.
    fn shards_of(&self, due: &[Unlisted]) -> Result<HashSet<String>> {
        let Some(shards) = self.shards.filter(|_| !due.is_empty()) else { return Ok(HashSet::new()) };
        let mut gone = HashSet::new();
        for Unlisted { sha256, .. } in due {
            // A run that was killed may not have written it. Without it, its shards are left to `feed forget`.
            if let Ok(names) = self.shards_of_page(sha256, shards) {
                gone.extend(names);
            }
        }
        let needed = self.needed_shards(shards, due)?;
        gone.retain(|name| !needed.contains(name));
        Ok(gone)
    }

    /// Deletes the shards that this run has written, unless they are needed.
    fn take_back(&mut self, streams: &mut Streams) -> Result<()> {
        let Some(shards) = self.shards.filter(|_| !self.added.is_empty()) else { return Ok(()) };
        let needed = self.needed_shards(shards, &[])?;
        let is_needed = |path: &Path| {
            path.file_name().and_then(|name| name.to_str()).is_some_and(|name| needed.contains(name))
        };
        for path in self.added.iter().rev().filter(|path| !is_needed(path)) {
            self.cleaner.delete(path, streams);
        }
        Ok(())
    }

    /// Looks again after a step that failed, and deletes what was written.
    pub fn recover(&mut self, streams: &mut Streams) -> Result<()> {
        // If another run has taken over, everything belongs to that one.
        self.folder.check()?;
        self.known.record = self.folder.load()?;
        self.see()?;
        self.take_back(streams)?;
        self.tidy(streams)
    }

    /// What clients have if this run signs nothing; none if there is no manifest in place.
    pub fn stays(&self) -> Option<String> {
        self.known.ours().map(|live| stays(live.payload.head(), self.known.now))
    }

    /// Warns of a manifest that no client takes, since its time of publication was given.
    pub fn warn_if_expired(&self, head: &Head, streams: &mut Streams) {
        if head.expires <= self.known.clock {
            streams.warn(&format!(
                "--created-at is too long ago: generation {} expired {}, so clients refuse it",
                head.generation,
                time_in_words(head.expires)
            ));
        }
    }

    /// Whose signatures the manifest gets, for people.
    pub fn signers_in_words(&self) -> String {
        if self.known.signers.is_empty() {
            return "no".to_owned();
        }
        let keys = self.known.signers.iter().map(|key| manifest::public_key(&key.verifying_key()));
        format!("by {}", keys.collect::<Vec<_>>().join(", "))
    }
}

/// Until when clients have a generation.
fn stays(&Head { generation, expires, .. }: &Head, now: u64) -> String {
    let until = time_in_words(expires);
    if expires > now {
        format!("generation {generation} stays until {until}")
    } else {
        format!("generation {generation} expired {until}")
    }
}

/// The secret keys that sign.
fn signers(basis: &Basis) -> Result<Vec<SigningKey>> {
    let signers = basis.sign.iter().map(|path| key::read(path)).collect::<Result<Vec<_>>>();
    let signers = signers.context("`sign`")?;
    // A key rotation that gives one file twice would sign only with the old key.
    let is_twice = signers.iter().enumerate().any(|(i, key)| signers[..i].contains(key));
    ensure!(!is_twice, "`sign` names one key twice");
    ensure!(signers.len() <= MAX_SIGNATURES, "`sign` has at most {MAX_SIGNATURES} keys");
    Ok(signers)
}
