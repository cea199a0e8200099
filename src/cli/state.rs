//! What the publisher of a feed remembers from one run to the next, in a folder of its own: the digests of all members,
//! those that each delta removed, and what was published.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use serde::{Deserialize, Serialize};

use super::guard::Lines;
use super::lock::Lock;
use super::manifest::{self, File};
use super::{output, spill};
use crate::hash::{Hashing, Secret};
use crate::{Profile, hash};

const VERSION: u32 = 1;
/// The version of keyed feeds. A tool that doesn't know them would publish their lists without the secret.
const KEYED: u32 = 2;

/// What `state.json` says.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct State {
    version: u32,
    pub feed_id: String,
    pub name: Option<String>,
    profile: String,
    lowercase: bool,
    sha1: bool,
    pub fpr: f64,
    seed: String,
    /// The check value of the secret, in 16 hexadecimal digits, if the feed is keyed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    check: Option<String>,
    /// The generation that was published last; 0 for none.
    pub generation: u64,
    /// The members after it. Like `lines`, it must be there, if only as null: what is missing isn't the first run.
    #[serde(deserialize_with = "Option::deserialize")]
    pub members: Option<Digests>,
    /// How its lists were read.
    #[serde(deserialize_with = "Option::deserialize")]
    pub lines: Option<Lines>,
    pub files: Vec<Published>,
    /// Files of the feed that its manifest doesn't name.
    pub unlisted: Vec<Unlisted>,
    /// The manifest that was published last, to the byte.
    pub manifest: String,
}

/// A file of the feed.
#[derive(Clone, Serialize, Deserialize)]
pub struct Published {
    #[serde(flatten)]
    pub file: File,
    /// How many keys it adds and removes.
    pub changes: u64,
    /// The keys that it removes.
    pub removed: Option<Digests>,
}

/// A file that may be deleted some time after `since`, in milliseconds since 1970.
#[derive(Clone, Serialize, Deserialize)]
pub struct Unlisted {
    pub sha256: String,
    pub since: u64,
}

/// A file of sorted digests, 8 bytes each, little-endian.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct Digests {
    name: String,
    /// The XXH64 of the file, in hexadecimal digits.
    checksum: String,
}

impl State {
    /// The state of a feed before its first generation.
    pub fn new(feed_id: String, name: Option<String>, profile: Profile, fpr: f64, hashing: Hashing) -> Self {
        let (lowercase, sha1) = match profile {
            Profile::Password { lowercase, sha1 } => (lowercase, sha1),
            _ => (false, false),
        };
        State {
            version: if hashing.is_keyed() { KEYED } else { VERSION },
            feed_id,
            name,
            profile: profile.name().to_owned(),
            lowercase,
            sha1,
            fpr,
            seed: hashing.seed().to_string(),
            check: manifest::check_of(&hashing),
            generation: 0,
            members: None,
            lines: None,
            files: Vec::new(),
            unlisted: Vec::new(),
            manifest: String::new(),
        }
    }

    pub fn profile(&self) -> Result<Profile> {
        Profile::from_name(&self.profile, self.lowercase, self.sha1)
            .context("the state has an unknown profile")
    }

    /// How keys become digests. `secret` is there if the feed is keyed.
    pub fn hashing(&self, secret: Option<&Secret>) -> Result<Hashing> {
        manifest::hashing(&self.seed, self.check.as_deref(), secret)
    }

    /// The files of digests that it names.
    pub fn digests(&self) -> Vec<Digests> {
        let removed = self.files.iter().filter_map(|published| published.removed.clone());
        self.members.iter().cloned().chain(removed).collect()
    }
}

/// The folder of a state, which only one run at a time may use.
pub struct Folder {
    path: PathBuf,
    lock: Lock,
}

impl Folder {
    /// Locks the folder.
    pub fn open(path: &Path) -> Result<Self> {
        Ok(Folder { path: path.to_owned(), lock: Lock::new(path.join("feed.lock"))? })
    }

    /// Fails if another run has taken the lock over.
    pub fn check(&self) -> Result<()> {
        self.lock.check()
    }

    fn json(&self) -> PathBuf {
        self.path.join("state.json")
    }

    /// Whether there is a state.
    pub fn has_state(&self) -> Result<bool> {
        let json = self.json();
        json.try_exists().with_context(|| json.display().to_string())
    }

    pub fn load(&self) -> Result<State> {
        let name = || self.json().display().to_string();
        let text = match fs::read_to_string(self.json()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                bail!("{}: there is no state of a feed here; `feed init` makes one", self.path.display())
            }
            text => text.with_context(name)?,
        };
        let state: State = serde_json::from_str(&text).with_context(name)?;
        let version = if state.check.is_some() { KEYED } else { VERSION };
        ensure!(state.version == version, "{}: this is of another version of the tool", name());
        Ok(state)
    }

    pub fn save(&self, state: &State) -> Result<()> {
        let text = serde_json::to_string_pretty(state)? + "\n";
        output::write(&self.json(), text.as_bytes(), || self.check())
    }

    /// Writes sorted digests.
    pub fn write(&self, name: String, digests: &[u64]) -> Result<Digests> {
        let bytes = spill::to_bytes(digests)?;
        output::write(&self.path.join(&name), &bytes, || self.check())?;
        Ok(Digests { name, checksum: checksum(&bytes) })
    }

    /// Reads them.
    pub fn read(&self, digests: &Digests) -> Result<Vec<u64>> {
        let path = self.path.join(&digests.name);
        let bytes = fs::read(&path).with_context(|| path.display().to_string())?;
        ensure!(checksum(&bytes) == digests.checksum, "{}: this file is damaged", path.display());
        Ok(spill::from_bytes(&bytes)?)
    }

    /// Removes them. It doesn't matter if that fails.
    pub fn remove(&self, digests: &Digests) {
        let _ = fs::remove_file(self.path.join(&digests.name));
    }
}

fn checksum(bytes: &[u8]) -> String {
    format!("{:016x}", hash::digest(0, bytes))
}
