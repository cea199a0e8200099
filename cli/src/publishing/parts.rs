//! The files of `shard build`, of which `shard index` makes a generation, and which it then deletes. One that stayed,
//! since the run was killed, would be signed again when a later job of its shard is lost, and members would be absent.
//! So a marker says that they are spent, from before the manifest is there until the last of them is gone.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context, Result};
use bloom_wasm::shards::MAX_SHARDS;
use serde::{Deserialize, Serialize};

use crate::files::lock::Lock;
use crate::files::{read, write};

/// What `shard build` calls the file of a shard, until `shard index` gives it its hash as its name.
pub fn file_of_shard(shard: u32) -> String {
    format!("shard-{shard:05}.bloom")
}

/// Says which files are spent: those that aren't newer than the newest of which the generation was made.
#[derive(Serialize, Deserialize)]
pub struct Spent {
    newest: SystemTime,
}

impl Spent {
    /// The marker.
    const FILE: &str = "shards.spent";
    const LONGEST: u64 = 1000;

    pub fn none() -> Self {
        Spent { newest: SystemTime::UNIX_EPOCH }
    }

    /// Adds a file.
    pub fn add(&mut self, path: &Path) -> Result<()> {
        let written = fs::symlink_metadata(path).and_then(|file| file.modified());
        self.newest = self.newest.max(written.with_context(|| path.display().to_string())?);
        Ok(())
    }

    /// Writes the marker. Returns its path.
    pub fn write(&self, dir: &Path, lock: &Lock) -> Result<PathBuf> {
        let path = dir.join(Self::FILE);
        write::publish(&path, &serde_json::to_vec(self)?, || lock.check())?;
        Ok(path)
    }

    /// If there is a marker, deletes the files that are spent, and then the marker. Those that were built since stay.
    pub fn delete(dir: &Path, lock: &Lock) -> Result<()> {
        let marker = dir.join(Self::FILE);
        let name = || marker.display().to_string();
        if !marker.try_exists().with_context(name)? {
            return Ok(());
        }
        let spent: Spent =
            serde_json::from_slice(&read::regular(&marker, Self::LONGEST)?).with_context(name)?;
        for shard in (0..MAX_SHARDS).rev() {
            let path = dir.join(file_of_shard(shard));
            spent.delete_file(&path, lock).with_context(|| path.display().to_string())?;
        }
        lock.check()?;
        fs::remove_file(&marker).with_context(name)
    }

    fn delete_file(&self, path: &Path, lock: &Lock) -> Result<()> {
        let file = match fs::symlink_metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            file => file?,
        };
        if file.modified()? <= self.newest {
            // If another run has taken its place, all is that one's.
            lock.check()?;
            fs::remove_file(path).context("it is spent, and can't be deleted")?;
        }
        Ok(())
    }
}
