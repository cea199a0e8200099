//! What the publisher of a feed remembers from one run to the next: what the tool did, never what it was told.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::manifest::{self, Manifest, ManifestPayload};
use super::sketch::Sketch;
use super::state::{DigestFile, FeedFile, Parts, Unlisted};

/// Version 4 held what it was told.
const VERSION: u32 = 5;

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
    pub members: DigestFile,
    pub files: Vec<FeedFile>,
    /// Whether the files have tags. Only the files know which tags a key has.
    pub tagged: bool,
}

/// What a list gave.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Listed {
    /// Its keys. In a feed with shards, a key counts as often as it is in the list.
    pub keys: u64,
    /// The entries that gave none, except for those that were to be left out.
    pub skipped: u64,
    pub sketch: Sketch,
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
            whole: None,
            unlisted: Vec::new(),
            parts: None,
        }
    }

    /// The manifest that was signed last.
    pub fn last<P: ManifestPayload>(&self) -> Result<Option<Manifest<P>>> {
        let text = Some(&self.manifest).filter(|text| !text.is_empty());
        let manifest = text.map(|text| Manifest::parse(text.as_bytes())).transpose();
        manifest.context("the manifest in the state")
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
    }
}
