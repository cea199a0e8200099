//! How a feed goes on: what has changed, the file that says so, and the manifest. docs/feeds.md.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};

use super::guard::Change;
use super::manifest::{FeedPayload, File, FileKind, Head};
use super::publication::Publication;
use super::state::{Folder, Lists, Published, State, Unlisted};
use super::trust::{self, Trust};
use crate::files::blob::decode;
use crate::files::read;
use crate::files::write::{self, Cleaner};
use crate::streams::Streams;
use crate::text::in_words;
use bloom_wasm::digests::{sort, strangers};
use bloom_wasm::hash::{Hashing, Secret};
use bloom_wasm::layers::MAX_TAGS;
use bloom_wasm::vectors::{append, copied};
use bloom_wasm::{Blob, Delta, Kind, Stack, Tagged, TaggedUpdate, Update};

/// The most deltas over a base. Each makes a query a little slower.
const DELTAS: usize = 8;
/// The share of the false positives that the base may make. The includes of the deltas share the rest.
const BASE_SHARE: f64 = 0.8;

/// A feed that is being published: its folder and its state, which is locked.
pub struct Publisher {
    dir: PathBuf,
    folder: Folder,
    pub state: State,
    /// The secret, if the feed is keyed.
    pub secret: Option<Secret>,
    publication: Publication<FeedPayload>,
    /// How long a file stays that is no longer needed, in milliseconds.
    grace: u64,
    cleaner: Cleaner,
    /// Why the manifest in the folder isn't to be believed.
    pub strange: Option<anyhow::Error>,
}

impl Publisher {
    pub fn open(
        dir: &Path,
        state: &Path,
        secret: Option<Secret>,
        trust: Trust,
        now: u64,
        grace: u64,
        streams: &mut Streams,
    ) -> Result<Self> {
        let folder = Folder::open(state)?;
        let state = folder.load()?;
        // Fails for another secret than that of the feed.
        state.hashing(secret.as_ref()).with_context(|| dir.display().to_string())?;
        let (publication, strange) = Publication::open(dir, trust, Some(&state), now, streams)?;
        let (dir, cleaner) = (dir.to_owned(), Cleaner::default());
        let mut publisher = Publisher { dir, folder, state, secret, publication, grace, cleaner, strange };
        publisher.clear(streams)?;
        Ok(publisher)
    }

    /// Fails if clients expect a signature that the next manifest won't have, unless that is meant.
    pub fn require_signature(&self, unsigned: bool) -> Result<()> {
        self.publication.require_signature("feed", self.state.last()?, unsigned)
    }

    /// Whether the next generation is the first.
    pub fn is_first(&self) -> bool {
        self.state.generation == 0
    }

    pub fn print_hint(&self, streams: &mut Streams) {
        self.publication.print_hint(streams);
    }

    pub fn signers_in_words(&self) -> String {
        self.publication.signers_in_words()
    }

    /// How keys become digests.
    pub fn hashing(&self) -> Result<Hashing> {
        self.state.hashing(self.secret.as_ref())
    }

    /// When the manifest in place expires, in milliseconds since 1970; 0 if there is none.
    pub fn expires(&self) -> u64 {
        self.publication.live().map_or(0, |live| live.head.expires)
    }

    /// Whether the manifest in place is newer than the state, which is an old copy then.
    fn has_newer_live(&self) -> bool {
        self.publication.live().is_some_and(|live| live.head.generation > self.state.generation)
    }

    /// How many keys the last generation has, by its manifest.
    fn last_count(&self) -> Result<u64> {
        let last = self.state.payload()?;
        // If the state is an old copy, the manifest in place is the last.
        let all = last.as_ref().into_iter().chain(self.publication.live());
        Ok(all.max_by_key(|last| last.head.generation).map_or(0, |last| last.head.count))
    }

    /// Signs the list of the last generation anew if that is about to expire, since the next list was refused. If its
    /// files are missing or damaged, they are made anew. `allowed` is sorted; it is none if its lists can't be read.
    pub fn renew(
        &mut self,
        allowed: Option<Vec<u64>>,
        expires_in: u64,
        streams: &mut Streams,
    ) -> Result<Renewal> {
        // If the state is an old copy, its list may be older than the one that clients have.
        let files = self.state.files.iter().map(|file| &file.file);
        let is_other = self.publication.live().is_some_and(|live| !live.files.iter().eq(files));
        if is_other && self.has_newer_live() {
            return Ok(Renewal::Unknown);
        }
        let Some(members) = &self.state.members else { return Ok(Renewal::None) };
        let lists = self.state.lists.clone();
        let Some(damage) = self.damage() else {
            if self.is_in_place(expires_in)? {
                return Ok(Renewal::NotYet);
            }
            // The files are those of the list, and its number of keys is known.
            self.unlist();
            self.sign(self.last_count()?, lists, None, expires_in)?;
            return Ok(Renewal::Signed);
        };
        let refused = |why: String| anyhow!("the old list can't be signed anew: {damage}; {why}");
        if self.state.tagged {
            return Err(refused("its tags stand in the files alone".to_owned()));
        }
        let members = self.folder.read(members).map_err(|error| refused(in_words(&error)))?;
        let allowed =
            allowed.ok_or_else(|| refused("the keys that must be absent aren't known".to_owned()))?;
        let allowed = strangers(&allowed, &members, &|_| true)?;
        let next = Next { members, allowed, lists, unusable: Some(damage), ..Next::default() };
        let made = next.make(self)?;
        self.publish(&next, made.as_ref(), expires_in, streams)?;
        Ok(Renewal::Signed)
    }

    /// Why the files that were published can't be gone on from, if so.
    fn damage(&self) -> Option<String> {
        if self.state.files.is_empty() {
            return Some("it is the first".to_owned());
        }
        let damage = self.state.files.iter().map(|file| read_file(&self.dir, &file.file));
        damage.filter_map(Result::err).next_back().map(|error| in_words(&error))
    }

    /// Whether there is nothing to sign unless the list changes.
    fn is_in_place(&self, expires_in: u64) -> Result<bool> {
        Ok(self.publication.is_live(&self.state.manifest) && self.publication.is_fresh(expires_in)?)
    }

    /// Puts the next generation in place, unless the one that is there has nothing to be changed. First comes the new
    /// file, then the state, then the manifest: so a run that ends in between leaves a whole feed, and is made up for
    /// by the next. One that fails takes back what it wrote. Returns whether there is a new generation.
    pub fn publish(
        &mut self,
        next: &Next,
        made: Option<&NewFile>,
        expires_in: u64,
        streams: &mut Streams,
    ) -> Result<bool> {
        if let Some(made) = made {
            self.announce(&made.file.file.sha256);
        }
        let before = self.state.clone();
        match self.write(next, made, expires_in) {
            Ok(published) => {
                match self.clear(streams) {
                    // The run has done what it was for.
                    Err(why) if published => streams.warn(&format!(
                        "generation {} is published, but what isn't needed may have stayed: {}",
                        self.state.generation,
                        in_words(&why)
                    )),
                    cleared => cleared?,
                }
                Ok(published)
            }
            Err(error) => {
                if let Err(why) = self.take_back(before, streams) {
                    streams.warn(&format!("what this run wrote may have stayed: {}", in_words(&why)));
                }
                Err(error)
            }
        }
    }

    fn write(&mut self, next: &Next, made: Option<&NewFile>, expires_in: u64) -> Result<bool> {
        if let Some(made) = made {
            self.place(next, made)?;
        }
        self.unlist();
        let published = made.is_some() || !self.is_in_place(expires_in)?;
        if published {
            let is_other = next.changes() > 0 || next.unusable.is_some() || self.state.members.is_none();
            let members = is_other.then_some(&next.members[..]);
            self.sign(next.count(), next.lists.clone(), members, expires_in)?;
        } else if self.state.lists != next.lists {
            self.state.lists = next.lists.clone();
            self.folder.save(&self.state)?;
        }
        Ok(published)
    }

    /// Takes back what a run wrote that failed, and that no manifest in place names.
    fn take_back(&mut self, before: State, streams: &mut Streams) -> Result<()> {
        // If another run has taken its place, all is that one's.
        self.folder.check()?;
        self.state = self.folder.load()?;
        if self.state.generation > before.generation {
            // Maybe only the system said that it isn't there.
            if self.publication.is_there(&self.state.manifest)? {
                return Ok(());
            }
            // The number is used up, since the manifest was signed.
            let generation = self.state.generation;
            self.state = before;
            self.state.generation = generation;
            self.folder.save(&self.state)?;
        }
        self.clear(streams)
    }

    /// Notes that a file is going to be written, so that a later run deletes it if this one ends before a manifest names
    /// it. An old one of that name keeps its time.
    fn announce(&mut self, sha256: &str) {
        let unlisted = &mut self.state.unlisted;
        if unlisted.iter().all(|unlisted| unlisted.sha256 != sha256) {
            unlisted.push(Unlisted { sha256: sha256.to_owned(), since: None });
        }
    }

    /// Writes the new file, and puts it into the state.
    fn place(&mut self, next: &Next, made: &NewFile) -> Result<()> {
        let mut file = made.file.clone();
        let sha256 = file.file.sha256.clone();
        self.folder.save(&self.state)?;
        write::publish(&self.dir.join(&sha256), &made.bytes, || self.folder.check())?;
        if file.file.kind == FileKind::Delta {
            let removed = next.all_removed(self, made.keep)?;
            file.removed = Some(self.folder.write(format!("removed-{}", &sha256[..16]), &removed)?);
        }
        self.state.tagged = next.tagged.is_some();
        let since = Some(self.publication.now);
        for dropped in self.state.files.drain(made.keep..) {
            self.state.unlisted.push(Unlisted { sha256: dropped.file.sha256, since });
        }
        self.state.files.push(file);
        Ok(())
    }

    /// Brings the list of unlisted files up to date. The manifest in place may name some that this state doesn't know: a
    /// state that was lost, or a newer one than this, published them.
    fn unlist(&mut self) {
        let State { files, unlisted, .. } = &mut self.state;
        for File { sha256, .. } in self.publication.live().into_iter().flat_map(|live| &live.files) {
            unlisted.retain(|unlisted| unlisted.sha256 != *sha256);
            unlisted.push(Unlisted { sha256: sha256.clone(), since: Some(self.publication.now) });
        }
        unlisted.retain(|unlisted| files.iter().all(|file| file.file.sha256 != unlisted.sha256));
    }

    /// Writes the state and the manifest of the next generation. `members` are there if they are others than before.
    fn sign(&mut self, count: u64, lists: Lists, members: Option<&[u64]>, expires_in: u64) -> Result<()> {
        let live = self.publication.live().map_or(0, |live| live.head.generation);
        let generation = trust::next(self.state.generation.max(live))?;
        let State { feed_id, name, fpr, .. } = &self.state;
        let (profile, hashing) = (self.state.profile()?, self.hashing()?);
        let now = self.publication.now;
        let head = Head {
            generation,
            created_at: now,
            expires: now.saturating_add(expires_in),
            count,
            ..Head::new(feed_id.clone(), name.clone(), profile, *fpr, &hashing)
        };
        let files = self.state.files.iter().map(|file| file.file.clone()).collect();
        let payload = FeedPayload { head, files };
        let text = self.publication.sign(&payload)?;
        self.state.manifest = text.clone();
        self.state.generation = generation;
        if let Some(members) = members {
            self.state.members = Some(self.folder.write(format!("members-{generation}"), members)?);
        }
        self.state.lists = lists;
        self.folder.save(&self.state)?;
        self.publication.put(text, payload, || self.folder.check())?;
        Ok(())
    }

    /// Deletes what nobody needs any more: what runs left that failed or were killed, and the files that have been
    /// unlisted for as long as they stay.
    fn clear(&mut self, streams: &mut Streams) -> Result<()> {
        self.folder.check()?;
        self.folder.clear(&self.state, &mut self.cleaner, streams)?;
        self.unlist();
        let (now, grace, dir) = (self.publication.now, self.grace, &self.dir);
        let before = self.state.unlisted.clone();
        self.state.unlisted.retain_mut(|Unlisted { sha256, since }| {
            // A clock may have been wrong.
            *since = since.map(|since| since.min(now));
            let stays = since.is_some_and(|since| now < since.saturating_add(grace));
            stays || !self.cleaner.delete(&dir.join(sha256), streams)
        });
        if self.state.unlisted == before { Ok(()) } else { self.folder.save(&self.state) }
    }
}

/// What became of the old list, when the next one was refused.
pub enum Renewal {
    /// There is none.
    None,
    /// It lasts for long enough.
    NotYet,
    Signed,
    /// It isn't known: the state is an old copy.
    Unknown,
}

/// What the next generation holds.
#[derive(Default)]
pub struct Next {
    members: Vec<u64>,
    /// The members with their tags, if they have some.
    tagged: Option<Tagged>,
    /// Members of the last generation that have other tags now.
    pub retagged: u64,
    allowed: Vec<u64>,
    /// How the lists were read.
    lists: Lists,
    pub added: u64,
    /// Members of the last generation that are none any more.
    pub removed: Vec<u64>,
    /// Why nothing that was published can be used.
    unusable: Option<String>,
}

/// A new file, which takes the place of all files from the one with the number `keep` on.
pub struct NewFile {
    keep: usize,
    pub file: Published,
    bytes: Vec<u8>,
    /// Why it is a new base, if it is one.
    pub replaced: Option<String>,
}

impl Next {
    /// `members` and `allowed` are sorted, and have no digest in common.
    pub fn of(
        publisher: &Publisher,
        members: Vec<u64>,
        tagged: Option<Tagged>,
        allowed: Vec<u64>,
        lists: Lists,
    ) -> Result<Self> {
        let Publisher { folder, state, .. } = publisher;
        let mut next = Next { members, tagged, allowed, lists, ..Next::default() };
        let old = match &state.members {
            Some(old) => folder.read(old),
            None => Ok(Vec::new()),
        };
        let old = old.unwrap_or_else(|error| {
            next.unusable = Some(in_words(&error));
            Vec::new()
        });
        next.removed = strangers(&old, &next.members, &|_| true)?;
        next.added = (next.members.len() - (old.len() - next.removed.len())) as u64;
        next.unusable = publisher.damage().or(next.unusable);
        next.retagged = next.retagged(publisher, &old)?;
        Ok(next)
    }

    /// How many members of the last generation have other tags now. Without a generation to go on from, nobody knows.
    fn retagged(&mut self, Publisher { dir, state, secret, .. }: &Publisher, old: &[u64]) -> Result<u64> {
        if self.unusable.is_some() {
            return Ok(0);
        }
        if self.tagged.is_some() != state.tagged {
            let words =
                if state.tagged { "the lists have no tags any more" } else { "the lists have tags now" };
            self.unusable = Some(words.to_owned());
        }
        let Some(tagged) = self.tagged.as_ref().filter(|_| state.tagged) else { return Ok(0) };
        let blob = match read_files(dir, state.files.iter().map(|file| &file.file), secret.as_ref()) {
            Ok(blob) => blob,
            Err(error) => {
                self.unusable = Some(in_words(&error));
                return Ok(0);
            }
        };
        let stays = |digest: &u64| old.binary_search(digest).is_ok();
        // Those of the base and of its deltas add up, those that were given up too.
        let names: BTreeSet<_> = blob.filter().tag_names().chain(tagged.names()).collect();
        if names.len() > MAX_TAGS {
            self.unusable =
                Some(format!("with the tags that were given up, there would be more than {MAX_TAGS}"));
            return Ok(0);
        }
        let changed = blob.filter().changed_tags(tagged)?;
        Ok(changed.iter().filter(|digest| stays(digest)).count() as u64)
    }

    /// What becomes of the keys of the last generation.
    pub fn change(&self, publisher: &Publisher) -> Result<Change> {
        let (count, kept) = (self.count(), self.count() - self.added);
        let (last, removed) = (publisher.last_count()?, self.removed.len() as u64);
        // Those that aren't known one by one, since the state is an old copy, or it or a part of it was lost.
        let is_known = kept + removed >= last && !publisher.has_newer_live();
        Ok(if is_known { Change::new(last, removed, None) } else { Change::of_counts(last, count) })
    }

    /// How the lists were read.
    pub fn lists(&self) -> &Lists {
        &self.lists
    }

    /// The keys that must be absent.
    pub fn into_allowed(self) -> Vec<u64> {
        self.allowed
    }

    /// The number of members.
    pub fn count(&self) -> u64 {
        self.members.len() as u64
    }

    /// How many keys are added and removed, or get other tags.
    fn changes(&self) -> u64 {
        self.added + self.removed.len() as u64 + self.retagged
    }

    /// The file that the next generation needs; none if nothing has changed.
    pub fn make(&self, publisher: &Publisher) -> Result<Option<NewFile>> {
        let state = &publisher.state;
        if let Some(reason) = &self.unusable {
            return self.base(publisher, reason.clone()).map(Some);
        }
        let changes = self.changes();
        if changes == 0 && !self.has_new_allowed(publisher)? {
            return Ok(None);
        }
        // Deltas that are together as large as the one before them are merged with it. So there is one for each power
        // of two, and a key is published again only as often.
        let (mut keep, mut total) = (state.files.len(), changes);
        while keep > 1 && (state.files[keep - 1].changes <= total || keep > DELTAS) {
            keep -= 1;
            total += state.files[keep].changes;
        }
        let delta = match self.delta(publisher, keep) {
            Ok(delta) => delta,
            Err(error) if error.is::<Unusable>() => {
                return self.base(publisher, format!("{:#}", error.root_cause())).map(Some);
            }
            Err(error) => return Err(error),
        };
        let file = Published { file: File::new(FileKind::Delta, &delta), changes: total, removed: None };
        let deltas = state.files[1..keep].iter().map(|file| file.file.bytes).sum::<u64>() + file.file.bytes;
        if deltas > state.files[0].file.bytes / 2 {
            return self
                .base(publisher, "the deltas would weigh more than half of the base".to_owned())
                .map(Some);
        }
        Ok(Some(NewFile { keep, file, bytes: delta, replaced: None }))
    }

    fn base(&self, publisher: &Publisher, reason: String) -> Result<NewFile> {
        let state = &publisher.state;
        let (profile, hashing) = (state.profile()?, publisher.hashing()?);
        let fpr = state.fpr * BASE_SHARE;
        let allowed = (!self.allowed.is_empty()).then_some(&self.allowed[..]);
        let stack = match &self.tagged {
            None => Stack::build(Kind::Ribbon.into(), &mut copied(&self.members)?, allowed, fpr, hashing)?,
            Some(tagged) => Stack::build_tagged(tagged, allowed, fpr, hashing)?,
        };
        let mut blob = Blob::new(profile, stack);
        blob.describe(state.name.clone(), None)?;
        let bytes = blob.encode()?;
        let file = Published { file: File::new(FileKind::Base, &bytes), changes: 0, removed: None };
        Ok(NewFile { keep: 0, file, bytes, replaced: Some(reason) })
    }

    fn delta(&self, publisher: &Publisher, keep: usize) -> Result<Vec<u8>> {
        let Publisher { dir, state, secret, .. } = publisher;
        let files = state.files[..keep].iter().map(|file| &file.file);
        let parent = read_files(dir, files, secret.as_ref()).context(Unusable)?;
        let removed = self.all_removed(publisher, keep).context(Unusable)?;
        let mut child = parent.try_clone()?;
        let fpr = include_fpr(state.fpr);
        let (removed, allowed) = (&removed[..], &self.allowed[..]);
        match &self.tagged {
            None => child.filter_mut().update(Update { live: &self.members, removed, allowed, fpr })?,
            Some(live) => child.filter_mut().update_tagged(TaggedUpdate { live, removed, allowed, fpr })?,
        }
        child.describe(state.name.clone(), None)?;
        Ok(Delta::between(&parent, &child)?.encode()?)
    }

    /// The keys that were removed since the file before the one with the number `keep`.
    fn all_removed(&self, Publisher { state, folder, .. }: &Publisher, keep: usize) -> Result<Vec<u64>> {
        let mut removed = copied(&self.removed)?;
        for digests in state.files[keep..].iter().filter_map(|file| file.removed.as_ref()) {
            append(&mut removed, &folder.read(digests)?)?;
        }
        sort(&mut removed)?;
        Ok(strangers(&removed, &self.members, &|_| true)?)
    }

    /// Whether a key that must be absent isn't.
    fn has_new_allowed(&self, Publisher { state, dir, secret, .. }: &Publisher) -> Result<bool> {
        if self.allowed.is_empty() {
            return Ok(false);
        }
        let blob = read_files(dir, state.files.iter().map(|file| &file.file), secret.as_ref())?;
        let hits = |digest| blob.filter().has_digest(digest);
        Ok(!strangers(&self.allowed, &self.members, &hits)?.is_empty())
    }
}

/// What was published can't be gone on from.
#[derive(Debug)]
struct Unusable;

impl std::fmt::Display for Unusable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("what was published can't be read")
    }
}

impl FileKind {
    pub fn in_words(self) -> &'static str {
        match self {
            FileKind::Base => "a new base",
            FileKind::Delta => "a delta",
        }
    }
}

/// The rate of a delta's include.
pub fn include_fpr(fpr: f64) -> f64 {
    fpr * (1.0 - BASE_SHARE) / DELTAS as f64
}

/// The bytes of a file that is as it was published.
fn read_file(dir: &Path, file: &File) -> Result<Vec<u8>> {
    let path = dir.join(&file.sha256);
    let bytes = read::regular(&path, file.bytes)?;
    if File::new(file.kind, &bytes) != *file {
        bail!("{} is damaged: it doesn't have the hash that is its name", path.display());
    }
    Ok(bytes)
}

/// The filter that files make, the base first.
pub fn read_files<'a>(
    dir: &Path,
    files: impl Iterator<Item = &'a File>,
    secret: Option<&Secret>,
) -> Result<Blob> {
    let mut blob = None;
    for file in files {
        let name = || dir.join(&file.sha256).display().to_string();
        let bytes = read_file(dir, file)?;
        blob = Some(match blob {
            None => decode(bytes, secret).with_context(name)?,
            Some(blob) => {
                let delta = Delta::decode_for(&blob, bytes).with_context(name)?;
                Blob::apply(&blob, delta).with_context(name)?
            }
        });
    }
    blob.context("there is no base")
}
