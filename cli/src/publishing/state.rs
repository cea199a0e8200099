//! The folder with what the publisher of a feed remembers: the [`Record`], and without shards also the digests of all
//! members, and those that each delta removed. Only one run at a time may use it.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use super::record::{DigestFile, Record, VERSION, is_digests};
use crate::files::lock::Lock;
use crate::files::read;
use crate::files::write::{self, Cleaner};
use crate::lists::spill;
use crate::streams::Streams;

pub struct StateFolder {
    path: PathBuf,
    /// None for a run that only looks.
    lock: Option<Lock>,
}

impl StateFolder {
    /// Makes the folder unless it is there, so that nobody else may read it, and locks it.
    pub fn open(path: &Path) -> Result<Self> {
        let name = || path.display().to_string();
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).with_context(name)?;
        }
        write::create_private_folder(path).with_context(name)?;
        Ok(StateFolder { path: path.to_owned(), lock: Some(Lock::new(path.join("feed.lock"))?) })
    }

    /// For a run that writes nothing.
    pub fn look(path: &Path) -> Self {
        StateFolder { path: path.to_owned(), lock: None }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Fails if another run has taken over the lock.
    pub fn check(&self) -> Result<()> {
        self.lock.as_ref().map_or(Ok(()), Lock::check)
    }

    fn json(&self) -> PathBuf {
        self.path.join("state.json")
    }

    /// The record; none if there isn't one.
    pub fn load(&self) -> Result<Option<Record>> {
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
                "{}: the state is damaged: delete it, and go on as docs/hosting.md says after the loss of a state",
                name()
            )
        };
        let Versioned { version } = serde_json::from_slice(&text).with_context(damaged)?;
        ensure!(
            version == VERSION,
            "{}: this is of another version of the tool; delete it, and go on as docs/hosting.md says after the loss of a \
             state",
            name()
        );
        let record: Record = serde_json::from_slice(&text).with_context(damaged)?;
        ensure!(record.has_plain_names(), "{}: it names files that no feed has", name());
        Ok(Some(record))
    }

    /// Deletes what failed or killed runs left.
    pub fn clear(&self, record: Option<&Record>, cleaner: &mut Cleaner, streams: &mut Streams) -> Result<()> {
        self.check()?;
        cleaner.delete_temporary(&self.path, streams)?;
        let named = record.map_or(Vec::new(), Record::digests);
        let is_left = |name: &str| is_digests(name) && named.iter().all(|digests| digests.name != name);
        cleaner.delete_all(&self.path, is_left, streams)
    }

    pub fn save(&self, record: &Record) -> Result<()> {
        let text = serde_json::to_string_pretty(record)? + "\n";
        write::remember(&self.json(), text.as_bytes(), || self.check())
    }

    /// Writes digests.
    pub fn write(&self, file: &DigestFile, digests: &[u64]) -> Result<()> {
        write::remember(&self.path.join(&file.name), &spill::to_bytes(digests)?, || self.check())
    }

    /// Reads them.
    pub fn read(&self, file: &DigestFile) -> Result<Vec<u64>> {
        let path = self.path.join(&file.name);
        let bytes = read::regular(&path, u64::MAX)?;
        ensure!(DigestFile::checksum(&bytes) == file.checksum, "{}: this file is damaged", path.display());
        Ok(spill::from_bytes(&bytes)?)
    }
}
