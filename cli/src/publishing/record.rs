//! What the publisher of a feed remembers from one run to the next: what the tool did, never what it was told.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::Result;
use bloom_wasm::digests::sort;
use bloom_wasm::hash;
use serde::{Deserialize, Serialize};

use super::manifest::{self, File};
use crate::lists::keys::Summary;
use crate::lists::sketch::Sketch;
use crate::lists::spill;

/// Version 5 didn't know which keys were covered.
pub const VERSION: u32 = 6;

/// How many manifests are known as its own.
const HISTORY: usize = 1000;

/// What `state.json` says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Record {
    version: u32,
    /// The highest generation that was ever signed, even if its manifest was never put in place; 0 for none.
    pub signed: u64,
    /// The manifest that was signed last, to the byte; empty if there was none.
    pub manifest: String,
    /// The hashes of the payloads of the manifests that its list follows, its own the last; at most [`HISTORY`].
    history: Vec<String>,
    /// What the lists of that manifest gave, by their names: those of members, and of keys that must be absent.
    pub lists: BTreeMap<String, Listed>,
    pub allow: BTreeMap<String, Listed>,
    /// How many keys are in lists of both.
    pub conflicts: u64,
    /// How many keys each tag had.
    pub tags: BTreeMap<String, u64>,
    /// What the next generation is made from. A feed with shards is made anew each time.
    #[serde(deserialize_with = "Option::deserialize")]
    pub whole: Option<Whole>,
    /// Files of the feed that its manifest doesn't name. With shards these are pages, and stand for the shards that they
    /// name.
    pub unlisted: Vec<Unlisted>,
    /// The parts that are used up once the manifest is in place: see [`super::parts`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parts: Option<Parts>,
}

/// A feed of one filter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Whole {
    /// The keys of its lists, and those of them that the files don't hold, since others cover them.
    pub members: DigestFile,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub covered: Option<DigestFile>,
    pub files: Vec<FeedFile>,
    /// Whether the files have tags. Only the files know which tags a key has.
    pub tagged: bool,
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

/// A file of digests in the state's folder, 8 bytes each, little-endian.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DigestFile {
    pub name: String,
    /// The digest of the file under seed 0 (FORMAT.md section 3), in hexadecimal digits.
    pub checksum: String,
}

/// What a list gave.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Listed {
    /// The tag of its keys.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tag: Option<String>,
    /// Its keys. In a feed with shards, a key counts as often as it is in the list.
    pub keys: u64,
    /// How many entries gave none for each reason, except for those that were to be left out.
    pub skipped: BTreeMap<String, u64>,
    pub sketch: Sketch,
}

impl Listed {
    /// What a list gave whose keys are in memory, one for each entry. They are sorted here, and lose those that are
    /// repeated.
    ///
    /// # Errors
    /// If it is a page.
    pub fn of(tag: Option<&str>, digests: &mut Vec<u64>, summary: &Summary) -> Result<Self> {
        sort(digests)?;
        let sketch = Sketch::of(digests.iter().copied());
        Ok(Listed { keys: digests.len() as u64, ..Self::of_entries(tag, sketch, summary)? })
    }

    /// The same for one whose keys aren't, so that its entries count.
    ///
    /// # Errors
    /// If it is a page.
    pub fn of_entries(tag: Option<&str>, sketch: Sketch, summary: &Summary) -> Result<Self> {
        summary.require_no_page()?;
        let (tag, skipped) = (tag.map(str::to_owned), summary.skipped());
        Ok(Listed { tag, keys: summary.entries(), skipped, sketch })
    }

    /// The share of the entries that gave no key.
    pub fn skipped_share(&self) -> f64 {
        let skipped: u64 = self.skipped.values().sum();
        skipped as f64 / (self.keys + skipped).max(1) as f64
    }
}

/// How the names of files of digests end. Such files are deleted once no state names them, so no list of a user may be
/// called like one.
const DIGESTS: &str = ".digests";

/// Whether a file of digests has this name.
pub fn is_digests(name: &str) -> bool {
    let Some(name) = name.strip_suffix(DIGESTS) else { return false };
    let rest = ["members-", "covered-", "removed-", "parts-"]
        .into_iter()
        .find_map(|prefix| name.strip_prefix(prefix));
    rest.is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

impl DigestFile {
    /// The file with these digests: of members, of removed keys, or of parts.
    pub fn of(what: &str, digests: &[u64]) -> Result<Self> {
        let checksum = Self::checksum(&spill::to_bytes(digests)?);
        let name = format!("{what}-{checksum}{DIGESTS}");
        debug_assert!(is_digests(&name));
        Ok(DigestFile { name, checksum })
    }

    pub fn checksum(bytes: &[u8]) -> String {
        format!("{:016x}", hash::digest(0, bytes))
    }
}

impl Record {
    /// That of a feed before its first generation.
    pub fn new() -> Self {
        Record {
            version: VERSION,
            signed: 0,
            manifest: String::new(),
            history: Vec::new(),
            lists: BTreeMap::new(),
            allow: BTreeMap::new(),
            conflicts: 0,
            tags: BTreeMap::new(),
            whole: None,
            unlisted: Vec::new(),
            parts: None,
        }
    }

    /// Whether its list is that of a manifest, or follows it.
    pub fn follows(&self, hash: &str) -> bool {
        self.history.iter().any(|known| known == hash)
    }

    /// Notes that its list has a manifest, or follows it.
    pub fn follow(&mut self, hash: String) {
        self.history.retain(|known| *known != hash);
        self.history.push(hash);
        let old = self.history.len().saturating_sub(HISTORY);
        self.history.drain(..old);
    }

    /// Notes that a file is going to be written, so that a later run deletes it if this one ends before a manifest
    /// names it. A file of that name that was unlisted before keeps its time.
    pub fn announce(&mut self, sha256: &str) {
        if self.unlisted.iter().all(|unlisted| unlisted.sha256 != sha256) {
            self.unlisted.push(Unlisted { sha256: sha256.to_owned(), since: None });
        }
    }

    /// Notes that clients may be fetching these files until now, unless the next manifest names them.
    pub fn unlist(&mut self, files: Vec<String>, named: &[String], now: u64) {
        for sha256 in files {
            self.unlisted.retain(|unlisted| unlisted.sha256 != sha256);
            self.unlisted.push(Unlisted { sha256, since: Some(now) });
        }
        self.unlisted.retain(|unlisted| !named.contains(&unlisted.sha256));
    }

    /// Whether all files that it names are in the two folders, since they are going to be deleted.
    pub fn has_plain_names(&self) -> bool {
        let files = self.whole.iter().flat_map(|whole| &whole.files).map(|file| &file.file.sha256);
        let mut files = files.chain(self.unlisted.iter().map(|unlisted| &unlisted.sha256));
        files.all(|sha256| manifest::unhex(sha256).is_some())
            && self.digests().iter().all(|digests| is_digests(&digests.name))
    }

    /// The files of digests that it names.
    pub fn digests(&self) -> Vec<&DigestFile> {
        let removed =
            self.whole.iter().flat_map(|whole| &whole.files).filter_map(|file| file.removed.as_ref());
        let parts = self.parts.iter().map(|parts| &parts.hashes);
        let members = self.whole.iter().flat_map(|whole| [Some(&whole.members), whole.covered.as_ref()]);
        members.flatten().chain(removed).chain(parts).collect()
    }
}
