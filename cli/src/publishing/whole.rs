//! A feed of one filter: what has changed, and the file that says so. docs/hosting.md.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context, Result};
use bloom_wasm::digests::{nonmembers, sort, subtract};
use bloom_wasm::hash::Secret;
use bloom_wasm::internal::{append, copied};
use bloom_wasm::layers::{MAX_TAGS, Tagged, TaggedUpdate, Update};
use bloom_wasm::{Builder, Delta, Filter};

use super::manifest::{FeedPayload, File, FileKind, Head, Identity};
use super::plan::{Changes, Made, Outputs};
use super::published::{read_file, read_files};
use super::record::{DigestFile, FeedFile, Whole};
use super::sources::Keys;
use super::state::StateFolder;
use crate::text::in_words;

/// The most deltas over a base. Each makes a query a little slower.
const DELTAS: usize = 8;
/// Deltas of fewer changes are merged early. With 400 changes a day it makes no difference to bytes when they are
/// merged, with 4,000 a day it does.
const FEW: u64 = 2048;
/// The share of the false positives that the base may make. The includes of the deltas share the rest.
const BASE_SHARE: f64 = 0.8;

/// What the next generation builds on.
pub struct Last<'a> {
    pub dir: &'a Path,
    pub folder: &'a StateFolder,
    /// What the state says of the last one.
    pub whole: Option<&'a Whole>,
    /// What the feed is now.
    pub identity: &'a Identity,
    pub secret: Option<&'a Secret>,
    /// Why there is no last one to build on, if there isn't.
    pub none: &'static str,
}

/// The keys of the next generation, and how they differ from those of the last one.
pub struct Next {
    /// All keys of the lists, sorted.
    listed: Vec<u64>,
    /// Those that a delta must hold, and the others, which new keys cover.
    members: Members,
    left_out: Vec<u64>,
    /// Those that a new base does without, since others cover them.
    covered: Vec<u64>,
    allowed: Vec<u64>,
    pub changes: Changes,
    /// How many keys a delta adds and removes, or gives other tags; and those that it removes.
    changed: u64,
    removed: Vec<u64>,
    /// How many keys each tag has.
    pub tags: BTreeMap<String, u64>,
    /// Why nothing that was published can be used.
    unusable: Option<String>,
}

/// The keys of a filter, sorted, and with their tags if they have any.
struct Members {
    digests: Vec<u64>,
    tagged: Option<Tagged>,
}

impl Members {
    /// Those that aren't among these sorted ones.
    fn without(&self, others: &[u64]) -> Result<Self> {
        let (mut digests, mut tagged) = (copied(&self.digests)?, self.tagged.clone());
        subtract(&mut digests, others);
        if let Some(tagged) = tagged.as_mut().filter(|_| !others.is_empty()) {
            tagged.keep(&digests)?;
        }
        Ok(Members { digests, tagged })
    }
}

/// A new file, which replaces all files from number `keep` on.
struct NewFile {
    keep: usize,
    file: FeedFile,
    bytes: Vec<u8>,
    /// The keys that it removes.
    removed: Vec<u64>,
    /// Why it is a new base, if it is one.
    because: Option<String>,
}

/// A generation that was made.
pub struct Generation {
    pub made: Made<FeedPayload>,
    /// Its new file, if it has one, and why that is a new base, if it is one.
    pub file: Option<File>,
    pub because: Option<String>,
}

impl Last<'_> {
    fn files(&self) -> &[FeedFile] {
        self.whole.map_or(&[], |whole| &whole.files)
    }

    /// The filter that the first files make.
    fn filter(&self, files: usize) -> Result<Filter> {
        read_files(self.dir, self.files()[..files].iter().map(|file| &file.file), self.secret)
    }

    /// The keys of the last generation, and those of them that its files hold.
    fn keys(&self, whole: &Whole) -> Result<[Vec<u64>; 2]> {
        let listed = self.folder.read(&whole.members)?;
        let mut held = copied(&listed)?;
        if let Some(covered) = &whole.covered {
            subtract(&mut held, &self.folder.read(covered)?);
        }
        Ok([listed, held])
    }

    /// Why the next generation can't build on the published files, if it can't.
    pub fn damage(&self) -> Option<String> {
        if self.whole.is_none() {
            return Some(self.none.to_owned());
        }
        let read = |file: &FeedFile| read_file(self.dir, &file.file.sha256, Some(file.file.bytes)).err();
        self.files().iter().filter_map(read).next_back().map(|error| in_words(&error))
    }
}

impl Next {
    /// The keys of lists. A key that others cover is left out, unless it was published: until the next base it costs less
    /// to leave it there than to remove it.
    pub fn new(last: &Last, keys: Keys) -> Result<Self> {
        let Keys { members: listed, allowed, covered, tagged } = keys;
        let mut unusable = last.damage();
        let [before, mut held] = match last.whole.map(|whole| last.keys(whole)) {
            None => [Vec::new(), Vec::new()],
            Some(Ok(keys)) => keys,
            Some(Err(error)) => {
                unusable.get_or_insert(in_words(&error));
                [Vec::new(), Vec::new()]
            }
        };
        let tags = tagged.as_ref().map_or(Ok(BTreeMap::new()), |tagged| -> Result<_> {
            Ok(tagged.names().map(str::to_owned).zip(tagged.counts()?).collect())
        })?;
        let left_out = nonmembers(&covered, &held, &|_| true)?;
        let members = Members { digests: copied(&listed)?, tagged }.without(&left_out)?;
        let removed = nonmembers(&held, &listed, &|_| true)?;
        subtract(&mut held, &removed);
        let changed = (members.digests.len() - held.len() + removed.len()) as u64;
        let gone = nonmembers(&before, &listed, &|_| true)?.len();
        let stay = before.len() - gone;
        let added = (listed.len() - stay) as u64;
        let changes = Changes { added, removed: gone as u64, stay: stay as u64, retagged: 0 };
        let mut next =
            Next { listed, members, left_out, covered, allowed, changes, changed, removed, tags, unusable };
        if next.unusable.is_none() {
            next.compare_tags(last, &held)?;
        }
        Ok(next)
    }

    /// Finds how many keys that are held and stay have other tags now.
    fn compare_tags(&mut self, last: &Last, held: &[u64]) -> Result<()> {
        let had_tags = last.whole.is_some_and(|whole| whole.tagged);
        if self.members.tagged.is_some() != had_tags {
            let words = if had_tags { "the lists have no tags any more" } else { "the lists have tags now" };
            self.unusable = Some(words.to_owned());
        }
        let Some(tagged) = self.members.tagged.as_ref().filter(|_| had_tags) else { return Ok(()) };
        let blob = match last.filter(last.files().len()) {
            Ok(blob) => blob,
            Err(error) => {
                self.unusable = Some(in_words(&error));
                return Ok(());
            }
        };
        // The tags of the base and its deltas add up, including those that were dropped.
        let names: BTreeSet<_> = blob.stack().tag_names().chain(tagged.names()).collect();
        if names.len() > MAX_TAGS {
            self.unusable =
                Some(format!("with the tags that were dropped, there would be more than {MAX_TAGS}"));
            return Ok(());
        }
        let retagged = blob.stack().changed_tags(tagged)?;
        self.changes.retagged = retagged.iter().filter(|key| held.binary_search(key).is_ok()).count() as u64;
        self.changed += self.changes.retagged;
        Ok(())
    }

    /// Makes the generation.
    pub fn make(&self, last: &Last, expires_in: u64) -> Result<Generation> {
        let mut files = last.files().to_vec();
        let mut outputs = Outputs::default();
        let (mut file, mut because) = (None, None);
        let mut left_out = &self.left_out;
        if let Some(new) = self.new_file(last)? {
            if let Some(removed) = &new.file.removed {
                outputs.digests.push((removed.clone(), new.removed));
            }
            if new.file.file.kind == FileKind::Base {
                left_out = &self.covered;
            }
            because = new.because;
            file = Some(new.file.file.clone());
            outputs.files.push((new.file.file.sha256.clone(), new.bytes));
            files.truncate(new.keep);
            files.push(new.file);
        }
        let mut remember = |what: &str, digests: &[u64]| -> Result<DigestFile> {
            let file = DigestFile::of(what, digests)?;
            let there = last.whole.map(|whole| [Some(&whole.members), whole.covered.as_ref()]);
            if self.unusable.is_some() || !there.into_iter().flatten().any(|there| there == Some(&file)) {
                outputs.digests.push((file.clone(), copied(digests)?));
            }
            Ok(file)
        };
        let members = remember("members", &self.listed)?;
        let covered = if left_out.is_empty() { None } else { Some(remember("covered", left_out)?) };
        let payload = FeedPayload {
            head: Head::unsigned(last.identity.clone(), self.listed.len() as u64),
            files: files.iter().map(|file| file.file.clone()).collect(),
        };
        let tagged = self.members.tagged.is_some();
        let whole = Some(Whole { members, covered, files, tagged });
        let made = Made { payload, expires_in, whole, parts: None, outputs };
        Ok(Generation { made, file, because })
    }

    /// The file that the generation needs; none if nothing has changed.
    fn new_file(&self, last: &Last) -> Result<Option<NewFile>> {
        if let Some(reason) = &self.unusable {
            return self.base(last, reason.clone()).map(Some);
        }
        let changes = self.changed;
        if changes == 0 && !self.has_new_allowed(last)? {
            return Ok(None);
        }
        // A delta is merged once the later ones are together as large. Keys are published again each time, so if they are
        // many, that waits until there is no room for another delta. For few keys it doesn't pay: an entry of the manifest
        // costs as much as they do, and each delta makes a query slower.
        let files = last.files();
        let (mut keep, mut total) = (files.len(), changes);
        let is_full = keep > DELTAS;
        let pays = |file: &FeedFile, later: u64| file.changes <= later && (is_full || file.changes < FEW);
        while keep > 1 && (keep > DELTAS || pays(&files[keep - 1], total)) {
            keep -= 1;
            total += files[keep].changes;
        }
        let (bytes, removed) = match self.delta(last, keep) {
            Ok(delta) => delta,
            Err(error) if error.is::<Unusable>() => {
                return self.base(last, format!("{:#}", error.root_cause())).map(Some);
            }
            Err(error) => return Err(error),
        };
        let digests = Some(DigestFile::of("removed", &removed)?);
        let file = FeedFile { file: File::new(FileKind::Delta, &bytes), changes: total, removed: digests };
        let deltas = files[1..keep].iter().map(|file| file.file.bytes).sum::<u64>() + file.file.bytes;
        if deltas > files[0].file.bytes / 2 {
            return self.base(last, "the deltas would be larger than half of the base".to_owned()).map(Some);
        }
        Ok(Some(NewFile { keep, file, bytes, removed, because: None }))
    }

    fn base(&self, last: &Last, reason: String) -> Result<NewFile> {
        let Identity { fpr, seed, people, .. } = last.identity;
        let allowed = (!self.allowed.is_empty()).then_some(&self.allowed[..]);
        let mut builder = Builder::new(last.identity.profile()?).fpr(fpr * BASE_SHARE).seed(seed.parse()?);
        if let Some(secret) = last.secret {
            builder = builder.secret(secret.clone());
        }
        if let Some(name) = &people.name {
            builder = builder.name(name);
        }
        let Members { mut digests, tagged } = self.members.without(&self.covered)?;
        let filter = match &tagged {
            None => builder.build_digests(&mut digests, allowed)?,
            Some(tagged) => builder.build_tagged(tagged, allowed)?,
        };
        let bytes = filter.encode()?;
        let file = FeedFile { file: File::new(FileKind::Base, &bytes), changes: 0, removed: None };
        Ok(NewFile { keep: 0, file, bytes, removed: Vec::new(), because: Some(reason) })
    }

    /// A delta after the first files, and the keys that it removes.
    fn delta(&self, last: &Last, keep: usize) -> Result<(Vec<u8>, Vec<u64>)> {
        let parent = last.filter(keep).context(Unusable)?;
        let all_removed = self.all_removed(last, keep).context(Unusable)?;
        let mut child = parent.try_clone()?;
        let fpr = include_fpr(last.identity.fpr);
        let (removed, allowed) = (&all_removed[..], &self.allowed[..]);
        match &self.members.tagged {
            None => {
                child.stack_mut().update(Update { live: &self.members.digests, removed, allowed, fpr })?
            }
            Some(live) => child.stack_mut().update_tagged(TaggedUpdate { live, removed, allowed, fpr })?,
        }
        child.describe(last.identity.people.name.clone(), None)?;
        Ok((Delta::between(&parent, &child)?.encode()?, all_removed))
    }

    /// The keys that were removed since the file before the one with the number `keep`.
    fn all_removed(&self, last: &Last, keep: usize) -> Result<Vec<u64>> {
        let mut removed = copied(&self.removed)?;
        for digests in last.files()[keep..].iter().filter_map(|file| file.removed.as_ref()) {
            append(&mut removed, &last.folder.read(digests)?)?;
        }
        sort(&mut removed)?;
        Ok(nonmembers(&removed, &self.members.digests, &|_| true)?)
    }

    /// Whether a key that must be absent is maybe present.
    fn has_new_allowed(&self, last: &Last) -> Result<bool> {
        if self.allowed.is_empty() {
            return Ok(false);
        }
        let blob = last.filter(last.files().len())?;
        let hits = |digest| blob.stack().has_digest(digest);
        Ok(!nonmembers(&self.allowed, &self.members.digests, &hits)?.is_empty())
    }
}

/// The files of the last list, made anew since they were damaged. `allowed` is sorted.
///
/// # Errors
/// If the state doesn't tell all of it.
pub fn again(last: &Last, damage: String, allowed: &[u64], expires_in: u64) -> Result<Generation> {
    let whole = last.whole.context("the state has no keys")?;
    anyhow::ensure!(!whole.tagged, "its tags are only in the files");
    let [listed, held] = last.keys(whole)?;
    let covered = nonmembers(&listed, &held, &|_| true)?;
    let next = Next {
        allowed: nonmembers(allowed, &listed, &|_| true)?,
        members: Members { digests: held, tagged: None },
        left_out: copied(&covered)?,
        covered,
        changes: Changes { added: 0, removed: 0, stay: listed.len() as u64, retagged: 0 },
        listed,
        changed: 0,
        removed: Vec::new(),
        tags: BTreeMap::new(),
        unusable: Some(damage),
    };
    next.make(last, expires_in)
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
