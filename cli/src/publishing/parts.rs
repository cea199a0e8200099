//! The files of `shard build`, of which `shard index` makes a generation, and which it then deletes. One that stayed,
//! since the run was killed, would be signed again when a later job of its shard is lost, and members would be absent.
//! So a marker says that they are spent, from before the manifest is there until the last of them is gone. It goes by
//! hashes: a copy of the folder may have other times, and so may a machine that builds a shard.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use bloom_wasm::shards::{Entry, MAX_SHARD, MAX_SHARDS};
use serde::{Deserialize, Serialize};

use super::manifest::{self, ShardsPayload, hex, sha256};
use crate::files::lock::Lock;
use crate::files::{read, write};

/// What `shard build` calls the file of a shard, until `shard index` gives it its hash as its name.
pub fn file_of_shard(shard: u32) -> String {
    format!("shard-{shard:05}.bloom")
}

/// Says which files are spent once a manifest is there: the hash of that, and of the file of each shard.
#[derive(Serialize, Deserialize)]
pub struct Spent {
    manifest: String,
    shards: Vec<String>,
}

impl Spent {
    /// The marker.
    const FILE: &str = "shards.spent";
    /// More than the hashes of the most shards take.
    const LONGEST: u64 = 100 * MAX_SHARDS as u64;

    /// Writes the marker, before this manifest is put. Returns its path.
    pub fn write(dir: &Path, manifest: &[u8], entries: &[Entry], lock: &Lock) -> Result<PathBuf> {
        let shards = entries.iter().map(|entry| hex(&entry.sha256)).collect();
        let spent = Spent { manifest: sha256(manifest), shards };
        let path = dir.join(Self::FILE);
        write::publish(&path, &serde_json::to_vec(&spent)?, || lock.check())?;
        Ok(path)
    }

    /// If there is a marker, deletes the files that are spent, and then the marker. Those that were built since stay, and
    /// so do all if the manifest never came.
    pub fn delete(dir: &Path, lock: &Lock) -> Result<()> {
        let marker = dir.join(Self::FILE);
        let name = || marker.display().to_string();
        if !marker.try_exists().with_context(name)? {
            return Ok(());
        }
        let spent: Spent =
            serde_json::from_slice(&read::regular(&marker, Self::LONGEST)?).with_context(name)?;
        let live = manifest::read_bytes::<ShardsPayload>(dir)?;
        if live.is_some_and(|live| sha256(&live) == spent.manifest) {
            for (shard, published) in (0..MAX_SHARDS).zip(&spent.shards).rev() {
                let path = dir.join(file_of_shard(shard));
                delete_if(&path, published, lock).with_context(|| path.display().to_string())?;
            }
        }
        lock.check()?;
        fs::remove_file(&marker).with_context(name)
    }
}

/// Deletes a file, if it is there and has this hash.
fn delete_if(path: &Path, published: &str, lock: &Lock) -> Result<()> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        file => file?,
    };
    if sha256(&read::regular(path, MAX_SHARD.into())?) == published {
        // If another run has taken its place, all is that one's.
        lock.check()?;
        fs::remove_file(path).context("it is spent, and can't be deleted")?;
    }
    Ok(())
}
