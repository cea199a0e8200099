//! What the publisher of a feed remembers from one run to the next, in a folder of its own: what describes the feed, and
//! what was published. Without shards also the digests of all members, and those that each delta removed.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

use super::manifest::{self, File, Identity, Manifest, ManifestPayload};
use crate::args::omitted::Omitted;
use crate::files::lock::Lock;
use crate::files::read;
use crate::files::write::{self, Cleaner};
use crate::lists::keys::List;
use crate::lists::spill;
use crate::streams::Streams;
use bloom_wasm::hash;

/// Version 3 took the last number signed for that of its list.
const VERSION: u32 = 4;

/// How many manifests a state knows as its own.
const HISTORY: usize = 1000;

/// The message if there is no state.
pub const NO_STATE: &str = "there is no state of a feed here; is the path right? To begin a feed, or to go on with one \
                            whose state was lost, say what its keys are: --profile raw, url or password; and repeat its \
                            --tag, --allow and other options";

/// What `state.json` says.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct State {
    version: u32,
    #[serde(flatten)]
    pub identity: Identity,
    /// How many shards it has; none if it is one filter.
    #[serde(deserialize_with = "Option::deserialize")]
    pub shards: Option<u32>,
    pub settings: Settings,
    /// The highest generation that was ever signed, even if its manifest was never put in place; 0 for none. The list
    /// that this state holds may be older: it is that of `manifest`.
    pub signed: u64,
    /// The hashes of the payloads of the manifests that this list follows, its own the last; at most [`HISTORY`].
    pub history: Vec<String>,
    /// The members after it. The field must be present, if only as null: if it is missing, that doesn't mean a first
    /// run.
    #[serde(deserialize_with = "Option::deserialize")]
    pub members: Option<DigestFile>,
    /// What the lists held that gave these members, or the same ones later.
    pub lists: Lists,
    pub files: Vec<FeedFile>,
    /// Whether the files have tags. Only the files know which tags a key has.
    pub tagged: bool,
    /// Files of the feed that its manifest doesn't name. With shards these are pages, and stand for the shards that they
    /// name.
    pub unlisted: Vec<Unlisted>,
    /// The parts that are used up once the manifest is in place: see [`super::parts`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parts: Option<Parts>,
    /// The manifest that was published last, to the byte. After a loss, the one that was found in the folder.
    pub manifest: String,
    /// Whether the state before it was lost, and no list has been published since.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_recovered: bool,
}

/// How the feed is published, as it was said last. Times are in milliseconds.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Settings {
    pub allow: Vec<PathBuf>,
    /// The current folder of the run that said so: the paths may be relative to it.
    pub allow_from: PathBuf,
    pub allow_wins: bool,
    pub allow_suffixes: bool,
    pub min_length: u64,
    pub min_count: u64,
    pub expires_in: u64,
    pub grace: u64,
}

impl Default for Settings {
    fn default() -> Self {
        const DAY: u64 = 24 * 60 * 60 * 1000;
        Settings {
            allow: Vec::new(),
            allow_from: PathBuf::new(),
            allow_wins: false,
            allow_suffixes: false,
            min_length: 0,
            min_count: 0,
            expires_in: 7 * DAY,
            grace: DAY,
        }
    }
}

impl Settings {
    /// What is left out of lists.
    pub fn omitted(&self) -> Omitted {
        let &Settings { allow_suffixes, min_length, min_count, .. } = self;
        Omitted { allow_suffixes, min_length, min_count }
    }
}

/// The lists of a run: those of members, and of keys that must be absent. None are known before the first generation,
/// or after a loss.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Lists {
    pub members: Vec<List>,
    pub allowed: Vec<List>,
}

impl Lists {
    /// The tags that there were.
    pub fn tags(&self) -> impl Iterator<Item = &str> {
        self.members.iter().filter_map(|list| list.tag.as_deref())
    }
}

/// A file of the feed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FeedFile {
    #[serde(flatten)]
    pub file: File,
    /// How many keys it adds and removes.
    pub changes: u64,
    /// The keys that it removes.
    pub removed: Option<DigestFile>,
}

/// A file that no manifest names any more.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Unlisted {
    pub sha256: String,
    /// The time, in milliseconds since 1970, from which only clients that are already fetching it need it; null if no
    /// manifest has named it yet, so that it can be deleted at once.
    #[serde(deserialize_with = "Option::deserialize")]
    pub since: Option<u64>,
}

/// The parts of which a generation was made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Parts {
    pub dir: PathBuf,
    /// The first 8 bytes of the hash of each, in the order of the shards.
    pub hashes: DigestFile,
    /// Whether that generation was in place, so that the parts are used up whatever is in the folder now.
    pub published: bool,
}

/// A file of digests, 8 bytes each, little-endian.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DigestFile {
    name: String,
    /// The digest of the file under seed 0 (FORMAT.md section 3), in hexadecimal digits.
    checksum: String,
}

impl State {
    /// The state of a feed before its first generation.
    pub fn new(identity: Identity, shards: Option<u32>) -> Self {
        State {
            version: VERSION,
            identity,
            shards,
            settings: Settings::default(),
            signed: 0,
            history: Vec::new(),
            members: None,
            lists: Lists::default(),
            tagged: false,
            files: Vec::new(),
            unlisted: Vec::new(),
            parts: None,
            manifest: String::new(),
            is_recovered: false,
        }
    }

    /// The manifest that was published last, if it is known.
    pub fn last<P: ManifestPayload>(&self) -> Result<Option<Manifest<P>>> {
        let text = Some(&self.manifest).filter(|text| !text.is_empty());
        let manifest = text.map(|text| Manifest::parse(text.as_bytes())).transpose();
        manifest.context("the manifest in the state")
    }

    /// What it says.
    pub fn payload<P: ManifestPayload>(&self) -> Result<Option<P>> {
        self.last()?.map(|manifest| manifest.payload()).transpose().context("the manifest in the state")
    }

    /// Notes that its list follows a manifest, or has it.
    pub fn follow<P: ManifestPayload>(&mut self, manifest: &Manifest<P>) {
        let hash = manifest.hash();
        self.history.retain(|known| *known != hash);
        self.history.push(hash);
        let old = self.history.len().saturating_sub(HISTORY);
        self.history.drain(..old);
    }

    /// Whether all files that it names are in the two folders, since they are going to be deleted.
    fn has_plain_names(&self) -> bool {
        let files = self.files.iter().map(|published| &published.file.sha256);
        let mut published = files.chain(self.unlisted.iter().map(|unlisted| &unlisted.sha256));
        published.all(|sha256| manifest::unhex(sha256).is_some())
            && self.digests().iter().all(|digests| is_digests(&digests.name))
    }

    /// The files of digests that it names.
    fn digests(&self) -> Vec<DigestFile> {
        let removed = self.files.iter().filter_map(|published| published.removed.clone());
        let parts = self.parts.iter().map(|parts| parts.hashes.clone());
        self.members.iter().cloned().chain(removed).chain(parts).collect()
    }
}

/// How the names of files of digests end. Such files are deleted once no state names them, so no list of a user may be
/// called like one.
const DIGESTS: &str = ".digests";

/// Whether a file of digests has this name.
fn is_digests(name: &str) -> bool {
    let Some(name) = name.strip_suffix(DIGESTS) else { return false };
    let rest = ["members-", "removed-", "parts-"].into_iter().find_map(|prefix| name.strip_prefix(prefix));
    rest.is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// The folder of a state, which only one run at a time may use.
pub struct StateFolder {
    path: PathBuf,
    lock: Lock,
}

impl StateFolder {
    /// Makes the folder, which nobody else may read.
    pub fn create(path: &Path) -> Result<()> {
        let name = || path.display().to_string();
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).with_context(name)?;
        }
        write::create_private_folder(path).with_context(name)
    }

    /// Locks the folder.
    pub fn open(path: &Path) -> Result<Self> {
        let is_there = path.try_exists().with_context(|| path.display().to_string())?;
        ensure!(is_there, "{}: {NO_STATE}", path.display());
        Ok(StateFolder { path: path.to_owned(), lock: Lock::new(path.join("feed.lock"))? })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Fails if another run has taken over the lock.
    pub fn check(&self) -> Result<()> {
        self.lock.check()
    }

    fn json(&self) -> PathBuf {
        self.path.join("state.json")
    }

    /// The state; none if there isn't one.
    pub fn load(&self) -> Result<Option<State>> {
        let json = self.json();
        let name = || json.display().to_string();
        if !json.try_exists().with_context(name)? {
            return Ok(None);
        }
        let text = read::regular(&json, u64::MAX)?;
        #[derive(Deserialize)]
        struct Versioned {
            version: u32,
        }
        let damaged = || {
            format!(
                "{}: the state is damaged: delete it, and go on as docs/feeds.md says after the loss of a state",
                name()
            )
        };
        let Versioned { version } = serde_json::from_slice(&text).with_context(damaged)?;
        ensure!(
            version == VERSION,
            "{}: this is of another version of the tool; begin a new state in another folder",
            name()
        );
        let state: State = serde_json::from_slice(&text).with_context(damaged)?;
        ensure!(state.has_plain_names(), "{}: it names files that no feed has", name());
        Ok(Some(state))
    }

    /// Deletes what failed or killed runs left.
    pub fn clear(&self, state: &State, cleaner: &mut Cleaner, streams: &mut Streams) -> Result<()> {
        cleaner.delete_temporary(&self.path, streams)?;
        let named = state.digests();
        let is_left = |name: &str| is_digests(name) && named.iter().all(|digests| digests.name != name);
        cleaner.delete_all(&self.path, is_left, streams)
    }

    pub fn save(&self, state: &State) -> Result<()> {
        let text = serde_json::to_string_pretty(state)? + "\n";
        write::remember(&self.json(), text.as_bytes(), || self.check())
    }

    /// Writes digests.
    pub fn write(&self, name: String, digests: &[u64]) -> Result<DigestFile> {
        let name = name + DIGESTS;
        let bytes = spill::to_bytes(digests)?;
        write::remember(&self.path.join(&name), &bytes, || self.check())?;
        Ok(DigestFile { name, checksum: checksum(&bytes) })
    }

    /// Reads them.
    pub fn read(&self, digests: &DigestFile) -> Result<Vec<u64>> {
        let path = self.path.join(&digests.name);
        let bytes = read::regular(&path, u64::MAX)?;
        ensure!(checksum(&bytes) == digests.checksum, "{}: this file is damaged", path.display());
        Ok(spill::from_bytes(&bytes)?)
    }
}

fn checksum(bytes: &[u8]) -> String {
    format!("{:016x}", hash::digest(0, bytes))
}
