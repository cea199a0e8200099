//! How a feed goes on: what has changed, the file that says so, and the manifest. docs/feeds.md.

use std::collections::BTreeSet;

use anyhow::{Context, Result, anyhow};

use super::guard::Change;
use super::manifest::{FeedPayload, File, FileKind};
use super::publication::{Publication, Renewal};
use super::published::{read_file, read_files};
use super::state::{FeedFile, Lists, Settings, State, Unlisted};
use crate::files::write;
use crate::streams::Streams;
use crate::text::in_words;
use bloom_wasm::digests::{sort, strangers};
use bloom_wasm::internal::{append, copied};
use bloom_wasm::layers::MAX_TAGS;
use bloom_wasm::layers::{Tagged, TaggedUpdate, Update};
use bloom_wasm::{Builder, Delta};

/// The most deltas over a base. Each makes a query a little slower.
const DELTAS: usize = 8;
/// The share of the false positives that the base may make. The includes of the deltas share the rest.
const BASE_SHARE: f64 = 0.8;

/// A feed of one filter that is being published.
pub type Feed = Publication<FeedPayload>;

impl Feed {
    /// Signs the list of the last generation anew if that is about to expire, since the next list was refused. If its
    /// files are missing or damaged, they are made anew. `allowed` is sorted; it is none if its lists can't be read.
    pub fn renew(
        &mut self,
        allowed: Option<Vec<u64>>,
        expires_in: u64,
        streams: &mut Streams,
    ) -> Result<Renewal> {
        self.folder.check()?;
        // If the state is an old copy, its list may be older than the one that clients have.
        let files = self.state.files.iter().map(|file| &file.file);
        let is_other = self.live().is_some_and(|live| !live.files.iter().eq(files));
        if is_other && self.has_newer_live()? {
            return Ok(Renewal::Unknown);
        }
        let Some(members) = &self.state.members else { return Ok(Renewal::None) };
        let lists = self.state.lists.clone();
        let Some(damage) = self.damage() else {
            if self.is_in_place(expires_in)? {
                return Ok(Renewal::NotYet);
            }
            // The files are those of the list, and its number of keys is known.
            self.unlist_replaced();
            self.publish_manifest(self.last_count()?, lists, None, expires_in)?;
            return Ok(Renewal::Signed);
        };
        let refused = |why: String| anyhow!("the old list can't be signed anew: {damage}; {why}");
        if self.state.tagged {
            return Err(refused("its tags are only in the files".to_owned()));
        }
        let members = self.folder.read(members).map_err(|error| refused(in_words(&error)))?;
        let allowed =
            allowed.ok_or_else(|| refused("the keys that must be absent aren't known".to_owned()))?;
        let allowed = strangers(&allowed, &members, &|_| true)?;
        let next = Next { members, allowed, lists, unusable: Some(damage), ..Next::default() };
        let made = next.make(self)?;
        let settings = self.state.settings.clone();
        self.publish(&next, made.as_ref(), &settings, streams)?;
        Ok(Renewal::Signed)
    }

    /// The tags of the last generation.
    pub fn tags(&self, streams: &mut Streams) -> Result<Vec<String>> {
        let State { lists, members, .. } = &self.state;
        // If the state was lost or is an old copy, the files in the folder have them.
        let is_known = members.is_some() && !self.has_newer_live()?;
        let Some(live) = self.live().filter(|_| !is_known) else {
            return Ok(lists.tags().map(str::to_owned).collect());
        };
        Ok(match read_files(&self.dir, live.files.iter(), self.secret.as_ref()) {
            Ok(blob) => blob.stack().tag_names().map(str::to_owned).collect(),
            Err(why) => {
                streams.warn(&format!("can't tell whether the feed had tags: {}", in_words(&why)));
                Vec::new()
            }
        })
    }

    /// Why the next generation can't build on the published files, if it can't.
    fn damage(&self) -> Option<String> {
        if self.state.files.is_empty() {
            return Some(
                if self.state.is_recovered { "the state was lost" } else { "it is the first" }.to_owned(),
            );
        }
        let damage = self
            .state
            .files
            .iter()
            .map(|file| read_file(&self.dir, &file.file.sha256, Some(file.file.bytes)));
        damage.filter_map(Result::err).next_back().map(|error| in_words(&error))
    }

    /// Puts the next generation in place, unless nothing has changed. First comes the new file, then the state, then
    /// the manifest, so a run that ends in between leaves a complete feed, and the next run makes up for it. A run that
    /// fails takes back what it wrote. Returns whether there is a new generation.
    pub fn publish(
        &mut self,
        next: &Next,
        made: Option<&NewFile>,
        settings: &Settings,
        streams: &mut Streams,
    ) -> Result<bool> {
        if let Some(made) = made {
            self.announce(&made.file.file.sha256);
        }
        let before = self.state.clone();
        let written = self.write(next, made, settings);
        self.finish(before, written, streams)
    }

    fn write(&mut self, next: &Next, made: Option<&NewFile>, settings: &Settings) -> Result<bool> {
        let expires_in = settings.expires_in;
        if let Some(made) = made {
            self.place(next, made)?;
        }
        self.unlist_replaced();
        // Only now, so that a run which fails doesn't change them.
        self.state.settings = settings.clone();
        let published = made.is_some() || !self.is_in_place(expires_in)?;
        if published {
            let is_other = next.changes() > 0 || next.unusable.is_some() || self.state.members.is_none();
            let members = is_other.then_some(&next.members[..]);
            self.publish_manifest(next.count(), next.lists.clone(), members, expires_in)?;
        } else {
            self.state.lists = next.lists.clone();
            self.save_if_changed()?;
        }
        Ok(published)
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
        let since = Some(self.now);
        for dropped in self.state.files.drain(made.keep..) {
            self.state.unlisted.push(Unlisted { sha256: dropped.file.sha256, since });
        }
        self.state.files.push(file);
        Ok(())
    }

    fn unlist_replaced(&mut self) {
        let named: Vec<_> = self.state.files.iter().map(|file| file.file.sha256.clone()).collect();
        self.unlist(&named);
    }

    /// Writes the state and the manifest of the next generation. `members` are given if they have changed.
    fn publish_manifest(
        &mut self,
        count: u64,
        lists: Lists,
        members: Option<&[u64]>,
        expires_in: u64,
    ) -> Result<()> {
        let files = self.state.files.iter().map(|file| file.file.clone()).collect();
        let payload = FeedPayload { head: self.next_head(count, expires_in)?, files };
        let text = self.sign(&payload)?;
        if let Some(members) = members {
            let name = format!("members-{}", payload.head.generation);
            self.state.members = Some(self.folder.write(name, members)?);
        }
        self.state.lists = lists;
        self.put(text, payload)
    }
}

/// What the next generation holds.
#[derive(Default)]
pub struct Next {
    members: Vec<u64>,
    /// The members with their tags, if they have any.
    tagged: Option<Tagged>,
    /// Members of the last generation that have other tags now.
    pub retagged: u64,
    /// How many keys each tag of the last generation had, and has now.
    tag_changes: Vec<(String, Change)>,
    allowed: Vec<u64>,
    /// How the lists were read.
    lists: Lists,
    pub added: u64,
    /// Members of the last generation that no longer are.
    pub removed: Vec<u64>,
    /// Why nothing that was published can be used.
    unusable: Option<String>,
}

/// A new file, which replaces all files from number `keep` on.
pub struct NewFile {
    keep: usize,
    pub file: FeedFile,
    bytes: Vec<u8>,
    /// Why it is a new base, if it is one.
    pub replaced: Option<String>,
}

impl Next {
    /// `members` and `allowed` are sorted, and have no digest in common.
    pub fn of(
        publisher: &Feed,
        members: Vec<u64>,
        tagged: Option<Tagged>,
        allowed: Vec<u64>,
        lists: Lists,
    ) -> Result<Self> {
        let Feed { folder, state, .. } = publisher;
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

    /// How many members of the last generation have other tags now. Without a generation to go on from, this is 0.
    fn retagged(&mut self, Feed { dir, state, secret, .. }: &Feed, old: &[u64]) -> Result<u64> {
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
        let counts = tagged.counts()?;
        for (name, before) in blob.stack().tag_counts() {
            let before = before.context("a feed must know how many keys have a tag")?;
            let number = tagged.names().position(|now| now == name);
            let change = Change::of_counts(before.into(), number.map_or(0, |number| counts[number]));
            self.tag_changes.push((name.to_owned(), change));
        }
        let stays = |digest: &u64| old.binary_search(digest).is_ok();
        // The tags of the base and its deltas add up, including those that were dropped.
        let names: BTreeSet<_> = blob.stack().tag_names().chain(tagged.names()).collect();
        if names.len() > MAX_TAGS {
            self.unusable =
                Some(format!("with the tags that were dropped, there would be more than {MAX_TAGS}"));
            return Ok(0);
        }
        let changed = blob.stack().changed_tags(tagged)?;
        Ok(changed.iter().filter(|digest| stays(digest)).count() as u64)
    }

    /// What becomes of the keys of the last generation.
    pub fn change(&self, publisher: &Feed) -> Result<Change> {
        let (count, kept) = (self.count(), self.count() - self.added);
        let (last, removed) = (publisher.last_count()?, self.removed.len() as u64);
        // The removed keys aren't known one by one if the state is an old copy, or if it or a part of it was lost.
        let is_known = kept + removed >= last && !publisher.has_newer_live()?;
        Ok(if is_known { Change::new(last, removed) } else { Change::of_counts(last, count) })
    }

    /// How many keys each tag of the last generation had, and has now.
    pub fn tag_changes(&self) -> &[(String, Change)] {
        &self.tag_changes
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
    pub fn make(&self, publisher: &Feed) -> Result<Option<NewFile>> {
        let state = &publisher.state;
        if let Some(reason) = &self.unusable {
            return self.base(publisher, reason.clone()).map(Some);
        }
        let changes = self.changes();
        if changes == 0 && !self.has_new_allowed(publisher)? {
            return Ok(None);
        }
        // Deltas that are together as large as the one before them are merged with it. So there is one for each power
        // of two, and a key is published again only that many times.
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
        let file = FeedFile { file: File::new(FileKind::Delta, &delta), changes: total, removed: None };
        let deltas = state.files[1..keep].iter().map(|file| file.file.bytes).sum::<u64>() + file.file.bytes;
        if deltas > state.files[0].file.bytes / 2 {
            return self
                .base(publisher, "the deltas would be larger than half of the base".to_owned())
                .map(Some);
        }
        Ok(Some(NewFile { keep, file, bytes: delta, replaced: None }))
    }

    fn base(&self, publisher: &Feed, reason: String) -> Result<NewFile> {
        let state = &publisher.state;
        let (profile, hashing) = (state.identity.profile()?, publisher.hashing()?);
        let fpr = state.identity.fpr * BASE_SHARE;
        let allowed = (!self.allowed.is_empty()).then_some(&self.allowed[..]);
        let mut builder = Builder::new(profile).fpr(fpr).seed(hashing.seed());
        if let Some(secret) = &publisher.secret {
            builder = builder.secret(secret.clone());
        }
        if let Some(name) = &state.identity.people.name {
            builder = builder.name(name);
        }
        let filter = match &self.tagged {
            None => builder.build_digests(&mut copied(&self.members)?, allowed)?,
            Some(tagged) => builder.build_tagged(tagged, allowed)?,
        };
        let bytes = filter.encode()?;
        let file = FeedFile { file: File::new(FileKind::Base, &bytes), changes: 0, removed: None };
        Ok(NewFile { keep: 0, file, bytes, replaced: Some(reason) })
    }

    fn delta(&self, publisher: &Feed, keep: usize) -> Result<Vec<u8>> {
        let Feed { dir, state, secret, .. } = publisher;
        let files = state.files[..keep].iter().map(|file| &file.file);
        let parent = read_files(dir, files, secret.as_ref()).context(Unusable)?;
        let removed = self.all_removed(publisher, keep).context(Unusable)?;
        let mut child = parent.try_clone()?;
        let fpr = include_fpr(state.identity.fpr);
        let (removed, allowed) = (&removed[..], &self.allowed[..]);
        match &self.tagged {
            None => child.stack_mut().update(Update { live: &self.members, removed, allowed, fpr })?,
            Some(live) => child.stack_mut().update_tagged(TaggedUpdate { live, removed, allowed, fpr })?,
        }
        child.describe(state.identity.people.name.clone(), None)?;
        Ok(Delta::between(&parent, &child)?.encode()?)
    }

    /// The keys that were removed since the file before the one with the number `keep`.
    fn all_removed(&self, Feed { state, folder, .. }: &Feed, keep: usize) -> Result<Vec<u64>> {
        let mut removed = copied(&self.removed)?;
        for digests in state.files[keep..].iter().filter_map(|file| file.removed.as_ref()) {
            append(&mut removed, &folder.read(digests)?)?;
        }
        sort(&mut removed)?;
        Ok(strangers(&removed, &self.members, &|_| true)?)
    }

    /// Whether a key that must be absent is maybe present.
    fn has_new_allowed(&self, Feed { state, dir, secret, .. }: &Feed) -> Result<bool> {
        if self.allowed.is_empty() {
            return Ok(false);
        }
        let blob = read_files(dir, state.files.iter().map(|file| &file.file), secret.as_ref())?;
        let hits = |digest| blob.stack().has_digest(digest);
        Ok(!strangers(&self.allowed, &self.members, &hits)?.is_empty())
    }
}

/// The published files can't be built on.
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
