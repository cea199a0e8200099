//! What feeds have in common, with shards and without: the folder, the state, the manifest in the folder and whether it
//! is trusted, and the next one.

use std::collections::HashSet;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};

use super::manifest::{self, FeedPayload, Head, Manifest, ManifestPayload, ShardsPayload, VERSION, hex};
use super::published::read_entries;
use super::state::{State, StateFolder, Unlisted};
use super::trust::{self, Live, Trust, require_signable};
use crate::args::number::now;
use crate::files::write::{self, Cleaner};
use crate::streams::{Streams, unless_closed};
use crate::text::in_words;
use bloom_wasm::hash::{Hashing, Secret};

/// The result of printing the report. If that failed, the error says that the generation is published all the same.
pub fn reported(printed: Result<()>, generation: u64, published: bool) -> Result<()> {
    let printed = unless_closed(printed);
    if published { printed.with_context(|| format!("generation {generation} is published")) } else { printed }
}

/// What became of the old list, when the next one was refused.
pub enum Renewal {
    /// There is none.
    None,
    /// It lasts long enough.
    NotYet,
    Signed,
    /// It isn't known: the state is an old copy.
    Unknown,
    /// It may be an old one that a host has put back: the state was lost.
    Lost,
}

/// A feed that is being published: its folder, and its state, which is locked.
pub struct Publication<P> {
    pub dir: PathBuf,
    pub folder: StateFolder,
    pub state: State,
    /// The secret, if the feed is keyed.
    pub secret: Option<Secret>,
    /// The place of its manifest.
    path: PathBuf,
    trust: Trust,
    /// The text of the manifest in the folder, and its payload, if it is trusted.
    live: Option<(String, P)>,
    /// Whether the state was an old copy when this run began.
    pub is_old_copy: bool,
    /// The time in milliseconds since 1970, and whether it was given.
    pub now: u64,
    is_told: bool,
    /// How long a file that is no longer needed stays, in milliseconds.
    grace: u64,
    cleaner: Cleaner,
}

/// What the arguments of a run say to all feeds.
pub struct Opened {
    pub dir: PathBuf,
    pub folder: StateFolder,
    pub state: State,
    pub secret: Option<Secret>,
    pub trust: Trust,
    /// The time of publication, unless it is now.
    pub now: Option<u64>,
    pub grace: u64,
    /// Whether the lack of a signature is intended.
    pub unsigned: bool,
}

impl<P: ManifestPayload> Publication<P> {
    /// Reads the manifest in the folder, and deletes what killed runs left.
    pub fn open(opened: Opened, streams: &mut Streams) -> Result<Self> {
        let Opened { dir, folder, state, secret, trust, now: given, grace, unsigned } = opened;
        // Fails for another secret than that of the feed.
        state.identity.hashing(secret.as_ref()).with_context(|| dir.display().to_string())?;
        for other in [FeedPayload::FILE, ShardsPayload::FILE].into_iter().filter(|file| *file != P::FILE) {
            let other = dir.join(other);
            let is_there = other.try_exists().with_context(|| other.display().to_string());
            // Somebody who can put a file there must not be able to stop a feed.
            if !state.manifest.is_empty() && !state.is_recovered {
                if is_there.unwrap_or(true) {
                    streams
                        .warn(&format!("{}: this belongs to no feed that was begun here", other.display()));
                }
            } else {
                ensure!(
                    !is_there?,
                    "{}: there is another feed here; a folder can have only one",
                    other.display()
                );
            }
        }
        let path = dir.join(P::FILE);
        let name = || path.display().to_string();
        write::check_place(&path)?;
        let (live, strange) =
            match trust.judge::<P>(manifest::read_bytes::<P>(&dir), Some(&state)).with_context(name)? {
                Live::None => (None, None),
                Live::Believed(text, live) => (Some((text, live)), None),
                Live::Untrusted(why) => (None, Some(why.context(name()))),
            };
        let (mut cleaner, is_told) = (Cleaner::default(), given.is_some());
        cleaner.delete_temporary(&dir, streams)?;
        let now = given.map_or_else(now, Ok)?;
        let mut publication = Publication {
            dir,
            folder,
            state,
            secret,
            path,
            trust,
            live,
            is_old_copy: false,
            now,
            is_told,
            grace,
            cleaner,
        };
        publication.is_old_copy = publication.has_newer_live()? && !publication.state.is_recovered;
        if publication.is_old_copy {
            // Later runs may have named such a file again, and dropped it a moment ago.
            let unlisted = publication.state.unlisted.iter_mut();
            unlisted.for_each(|unlisted| unlisted.since = Some(now));
        }
        publication.require_signature(unsigned)?;
        publication.clear(streams)?;
        if let Some(why) = strange {
            streams.warn(&format!("not trusted, so it will be replaced: {}", in_words(&why)));
        }
        Ok(publication)
    }

    /// Looks at the clock again: building may have taken hours.
    pub fn look_at_clock(&mut self) -> Result<()> {
        if !self.is_told {
            self.now = now()?;
        }
        Ok(())
    }

    /// Whether nothing was published yet.
    pub fn is_first(&self) -> bool {
        self.state.manifest.is_empty()
    }

    /// How keys become digests.
    pub fn hashing(&self) -> Result<Hashing> {
        self.state.identity.hashing(self.secret.as_ref())
    }

    /// What the manifest in place says.
    pub fn live(&self) -> Option<&P> {
        self.live.as_ref().map(|(_, live)| live)
    }

    /// Whether the manifest in place may be newer than the list of the state, which is an old copy then: whether it is one
    /// that the list doesn't follow. Numbers and times don't tell, since two copies of a state may go on from the same
    /// generation, and sign numbers and lists that the other doesn't know.
    pub fn has_newer_live(&self) -> Result<bool> {
        let Some(live) = self.manifest()? else { return Ok(false) };
        Ok(!self.state.history.contains(&live.hash()))
    }

    /// The generation in place, or the highest that was signed if there is none.
    pub fn generation(&self) -> u64 {
        self.live().map_or(self.state.signed, |live| live.head().generation)
    }

    /// What the last manifest says. If the state is an old copy, it is the one in place.
    pub fn last(&self) -> Result<Option<P>> {
        if self.has_newer_live()? { Ok(self.live().cloned()) } else { self.state.payload() }
    }

    /// How many keys the last generation has, by its manifest.
    pub fn last_count(&self) -> Result<u64> {
        Ok(self.last()?.map_or(0, |last| last.head().count))
    }

    /// Whether this manifest is in the folder now, whatever was there before.
    fn is_there(&self, text: &str) -> Result<bool> {
        Ok(manifest::read_bytes::<P>(&self.dir)?.is_some_and(|bytes| bytes == text.as_bytes()))
    }

    /// Whether the manifest in place is the one that the state has published.
    pub fn is_published(&self) -> bool {
        self.live.as_ref().is_some_and(|(live, _)| *live == self.state.manifest)
    }

    /// Whether there is nothing to sign unless the list changes.
    pub fn is_in_place(&self, expires_in: u64) -> Result<bool> {
        Ok(self.is_published() && self.is_fresh(expires_in)?)
    }

    /// Warns what it means to publish without a signature.
    pub fn print_hint(&self, streams: &mut Streams) {
        if self.trust.signers.is_empty() {
            streams.warn(
                "nobody has signed this, so whoever can write to the host can change the list: --sign prevents that, \
                 with a key of `feed keygen`",
            );
        }
    }

    pub fn signers_in_words(&self) -> String {
        self.trust.signers_in_words()
    }

    fn manifest(&self) -> Result<Option<Manifest<P>>> {
        self.live.as_ref().map(|(text, _)| Manifest::parse(text.as_bytes())).transpose()
    }

    /// Fails if clients expect a signature that the next manifest won't have. `unsigned` says that the lack of one is
    /// intended.
    fn require_signature(&self, unsigned: bool) -> Result<()> {
        // A state that was lost knows no manifest, but the folder has one.
        let manifests: Vec<_> = self.manifest()?.into_iter().chain(self.state.last()?).collect();
        let was_signed = manifests.iter().any(Manifest::is_signed);
        let signs = !self.trust.signers.is_empty();
        ensure!(
            !was_signed || signs || unsigned,
            "the feed was signed until now, and clients expect that: give --sign; with --unsigned, they would refuse the feed"
        );
        // The newest one. Of two with the same generation, it is that of the state, since a host can add signatures to
        // its own.
        let mut newest = None;
        for manifest in manifests {
            let generation = manifest.payload()?.head().generation;
            if newest.as_ref().is_none_or(|(newest, _)| *newest <= generation) {
                newest = Some((generation, manifest));
            }
        }
        ensure!(
            !signs || newest.is_none_or(|(_, newest)| self.trust.knows_all_signers(&newest)),
            "another key has signed the feed until now, and clients may know only that one: sign with both; if the \
             other is lost, or no client needs it any more, give its public key with --without-key"
        );
        Ok(())
    }

    /// Whether more than half of the lifetime of the manifest in place is left, and it is signed by exactly these keys.
    fn is_fresh(&self, expires_in: u64) -> Result<bool> {
        let Some(live) = self.live() else { return Ok(false) };
        let is_signed = self.manifest()?.is_some_and(|manifest| manifest.has_signers(&self.trust.signers));
        Ok(is_signed && live.head().is_fresh(self.now, expires_in))
    }

    /// The head of the next manifest.
    pub fn next_head(&self, count: u64, expires_in: u64) -> Result<Head> {
        let live = self.live().map_or(0, |live| live.head().generation);
        let generation = trust::next(self.state.signed.max(live))?;
        let (created_at, expires) = (self.now, self.now.saturating_add(expires_in));
        Ok(Head {
            version: VERSION,
            identity: self.state.identity.clone(),
            generation,
            created_at,
            expires,
            count,
        })
    }

    /// The manifest that says this, signed.
    pub fn sign(&self, payload: &P) -> Result<String> {
        require_signable(payload.head())?;
        Manifest::sign(payload, &self.trust.signers)?.text()
    }

    /// Saves the state with this manifest, and then puts that in place.
    pub fn put(&mut self, text: String, payload: P) -> Result<()> {
        for manifest in self.manifest()?.into_iter().chain([Manifest::parse(text.as_bytes())?]) {
            self.state.follow(&manifest);
        }
        self.state.manifest = text.clone();
        self.state.signed = payload.head().generation;
        self.state.is_recovered = false;
        self.folder.save(&self.state)?;
        write::publish(&self.path, text.as_bytes(), || self.folder.check())?;
        self.live = Some((text, payload));
        Ok(())
    }

    /// Saves the state if something in it was changed that isn't published.
    pub fn save_if_changed(&self) -> Result<()> {
        match self.folder.load()? {
            Some(saved) if saved == self.state => Ok(()),
            _ => self.folder.save(&self.state),
        }
    }

    /// Cleans up after a run that has put a generation in place or left it as it was. After a run that failed, takes
    /// back what it wrote. `before` is the state that the run began with.
    pub fn finish(&mut self, before: State, written: Result<bool>, streams: &mut Streams) -> Result<bool> {
        match written {
            Ok(published) => {
                match self.clear(streams) {
                    // The run has done what it was for.
                    Err(why) if published => streams.warn(&format!(
                        "generation {} is published, but files that aren't needed may not have been deleted: {}",
                        self.state.signed,
                        in_words(&why)
                    )),
                    cleared => cleared?,
                }
                Ok(published)
            }
            Err(error) => {
                if let Err(why) = self.take_back(before, streams) {
                    streams
                        .warn(&format!("what this run wrote may not have been deleted: {}", in_words(&why)));
                }
                Err(error)
            }
        }
    }

    /// Takes back what a failed run wrote, unless the manifest in place names it.
    fn take_back(&mut self, before: State, streams: &mut Streams) -> Result<()> {
        // If another run has taken over, everything belongs to that one.
        self.folder.check()?;
        // A first run that failed early has saved no state.
        self.state = self.folder.load()?.unwrap_or_else(|| before.clone());
        if self.state.signed > before.signed {
            // The manifest may be in place although the system reported a failure.
            if self.is_there(&self.state.manifest)? {
                return Ok(());
            }
            // The number is used up, since the manifest was signed.
            let signed = self.state.signed;
            self.state = before;
            self.state.signed = signed;
            self.folder.save(&self.state)?;
        }
        self.clear(streams)
    }

    /// Notes that a file is going to be written, so that a later run deletes it if this one ends before a manifest
    /// names it. A file of that name that was unlisted before keeps its time.
    pub fn announce(&mut self, sha256: &str) {
        let unlisted = &mut self.state.unlisted;
        if unlisted.iter().all(|unlisted| unlisted.sha256 != sha256) {
            unlisted.push(Unlisted { sha256: sha256.to_owned(), since: None });
        }
    }

    /// Brings the list of unlisted files up to date. The manifest in place may name some that this state doesn't know: a
    /// state that was lost, or a newer one than this, published them. `named` are those of the next manifest.
    pub fn unlist(&mut self, named: &[String]) {
        let live = self.live.iter().flat_map(|(_, live)| live.files());
        for sha256 in live {
            self.state.unlisted.retain(|unlisted| unlisted.sha256 != sha256);
            self.state.unlisted.push(Unlisted { sha256, since: Some(self.now) });
        }
        self.state.unlisted.retain(|unlisted| !named.contains(&unlisted.sha256));
    }

    /// The files that the state has published last.
    fn named(&self) -> Result<Vec<String>> {
        if P::FILE == FeedPayload::FILE {
            return Ok(self.state.files.iter().map(|file| file.file.sha256.clone()).collect());
        }
        Ok(self.state.payload::<P>()?.map_or(Vec::new(), |last| last.files()))
    }

    /// Deletes what nobody needs any more: what failed or killed runs left, and the files that have been unlisted for
    /// the time of grace.
    pub fn clear(&mut self, streams: &mut Streams) -> Result<()> {
        self.folder.check()?;
        self.folder.clear(&self.state, &mut self.cleaner, streams)?;
        let named = self.named()?;
        self.unlist(&named);
        let before = self.state.unlisted.clone();
        let (now, grace) = (self.now, self.grace);
        let live: Vec<_> = self.live.iter().flat_map(|(_, live)| live.files()).collect();
        let stays = |unlisted: &Unlisted| {
            live.contains(&unlisted.sha256)
                || unlisted.since.is_some_and(|since| now < since.saturating_add(grace))
        };
        for unlisted in &mut self.state.unlisted {
            // A clock may have been wrong.
            unlisted.since = unlisted.since.map(|since| since.min(now));
        }
        let (kept, due): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.state.unlisted).into_iter().partition(stays);
        let shards = self.shards_of(&due, &kept, &named);
        self.state.unlisted = kept;
        match shards {
            Ok(shards) => {
                for shard in shards {
                    self.cleaner.delete(&self.dir.join(shard), streams);
                }
                for unlisted in due {
                    if !self.cleaner.delete(&self.dir.join(&unlisted.sha256), streams) {
                        self.state.unlisted.push(unlisted);
                    }
                }
            }
            Err(why) => {
                streams.warn(&format!("no file that isn't needed was deleted: {}", in_words(&why)));
                self.state.unlisted.extend(due);
            }
        }
        if self.state.unlisted == before { Ok(()) } else { self.folder.save(&self.state) }
    }

    /// The shards of a page.
    fn shards_of_page(&self, page: &str, shards: u32) -> Result<Vec<String>> {
        let entries = read_entries(&self.dir, page, shards)?;
        Ok(entries.iter().map(|entry| hex(&entry.sha256)).collect())
    }

    /// The shards of a page that the manifest doesn't name. It has none if `feed forget` has deleted it.
    fn shards_of_unlisted(&self, page: &Unlisted, shards: u32) -> Result<Vec<String>> {
        let path = self.dir.join(&page.sha256);
        let is_there = path.try_exists().with_context(|| path.display().to_string())?;
        if is_there { self.shards_of_page(&page.sha256, shards) } else { Ok(Vec::new()) }
    }

    /// The shards of the pages that stay although the manifest doesn't name them.
    pub fn unlisted_shards(&self) -> Result<Vec<String>> {
        let Some(shards) = self.state.shards else { return Ok(Vec::new()) };
        let pages = self.state.unlisted.iter().filter(|page| page.since.is_some());
        let shards = pages.map(|page| self.shards_of_unlisted(page, shards));
        Ok(shards.collect::<Result<Vec<_>>>()?.concat())
    }

    /// The shards that only pages to be deleted name.
    fn shards_of(&self, due: &[Unlisted], kept: &[Unlisted], named: &[String]) -> Result<HashSet<String>> {
        let Some(shards) = self.state.shards.filter(|_| !due.is_empty()) else { return Ok(HashSet::new()) };
        let mut gone = HashSet::new();
        for Unlisted { sha256, .. } in due {
            // A run that was killed may not have written it. Without it, its shards are left to `feed forget`.
            if let Ok(names) = self.shards_of_page(sha256, shards) {
                gone.extend(names);
            }
        }
        let live = self.live.iter().flat_map(|(_, live)| live.files());
        let of_manifests = named.iter().cloned().chain(live).map(|page| self.shards_of_page(&page, shards));
        for names in kept.iter().map(|page| self.shards_of_unlisted(page, shards)).chain(of_manifests) {
            for name in names? {
                gone.remove(&name);
            }
        }
        Ok(gone)
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, io};

    use bloom_wasm::Profile;
    use clap::Parser;

    use super::super::manifest::{File, FileKind, Identity, People, sha256};
    use super::super::trust::KeyArgs;
    use super::*;

    #[derive(Parser)]
    struct Args {
        #[command(flatten)]
        keys: KeyArgs,
    }

    const DAY: u64 = 24 * 60 * 60 * 1000;

    /// A state of generation 1 beside the manifest of generation 2, and a run that signs generation 3 but can't write its
    /// manifest. `renew` signs the old list anew, if it may.
    fn a_failed_run_stays_old<P: ManifestPayload>(
        shards: Option<u32>,
        payload: impl Fn(Head) -> P,
        renew: impl Fn(&mut Publication<P>, &mut Streams) -> Result<Renewal>,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let [dir, private] = ["public", "state"].map(|name| folder.path().join(name));
        fs::create_dir(&dir).unwrap();
        StateFolder::create(&private).unwrap();
        let identity = Identity::new("0".repeat(32), People::default(), Profile::Raw, 0.1, &Hashing::from(0));
        let signed = |generation| {
            let (created_at, expires) = (generation, generation + DAY);
            let identity = identity.clone();
            let head = Head { version: VERSION, identity, generation, created_at, expires, count: 1 };
            let payload = payload(head);
            (Manifest::sign(&payload, &[]).unwrap().text().unwrap(), payload)
        };
        fs::write(dir.join(P::FILE), signed(2).0).unwrap();
        let mut state = State::new(identity.clone(), shards);
        (state.signed, state.manifest) = (1, signed(1).0);
        state.follow(&state.last::<P>().unwrap().unwrap());
        let opened = Opened {
            dir,
            folder: StateFolder::open(&private).unwrap(),
            state,
            secret: None,
            trust: Args::parse_from(["publish"]).keys.read().unwrap(),
            now: Some(DAY),
            grace: DAY,
            unsigned: true,
        };
        let (mut input, mut out, mut err) = (io::empty(), Vec::new(), Vec::new());
        let mut streams = Streams { input: &mut input, out: &mut out, err: &mut err, terminal: false };
        let mut feed = Publication::<P>::open(opened, &mut streams).unwrap();
        assert!(feed.is_old_copy);

        let before = feed.state.clone();
        let path = std::mem::replace(&mut feed.path, folder.path().join("missing/manifest"));
        let (text, payload) = signed(3);
        let failed = feed.put(text, payload);
        feed.path = path;
        feed.finish(before, failed.map(|()| true), &mut streams).unwrap_err();
        let saved = feed.folder.load().unwrap().unwrap();
        let age = saved.payload::<P>().unwrap().unwrap().head().generation;
        assert_eq!((saved.signed, age), (3, 1));
        assert!(feed.has_newer_live().unwrap());
        assert!(matches!(renew(&mut feed, &mut streams).unwrap(), Renewal::Unknown));
        assert_eq!(feed.next_head(1, DAY).unwrap().generation, 4);
    }

    /// The number that it used up doesn't make its list newer.
    #[test]
    fn an_old_copy_stays_old_after_a_run_that_fails() {
        let file = |head: &Head| File::new(FileKind::Base, &head.generation.to_le_bytes());
        a_failed_run_stays_old(
            None,
            |head| FeedPayload { files: vec![file(&head)], head },
            |feed, streams| feed.renew(None, DAY, streams),
        );
        let page = |head: &Head| sha256(&head.generation.to_le_bytes());
        a_failed_run_stays_old(
            Some(1),
            |head| ShardsPayload { shards: 1, bytes: 1, pages: vec![page(&head)], tags: None, head },
            |feed, streams| feed.renew(DAY, streams),
        );
    }
}
