//! The parts that a generation with shards can be made of: the files of `feed build-shard`, in a folder of their own.
//! They are deleted once they are published. A part that stayed because the run was killed would be published again if
//! a later job for its shard is lost, and members would be absent. So the state records the parts that are used up,
//! from before the manifest is in place until the last part is deleted. It identifies them by their hashes, because
//! times may differ in a copy of the folder, or on a machine that builds a shard.

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use bloom_wasm::Profile;
use bloom_wasm::hash::Secret;
use bloom_wasm::shards::{Entry, MAX_SHARD, Sharding};

use super::manifest;
use super::record::{DigestFile, Parts};
use super::shards::{Writer, count, entry_of, ribbon};
use super::state::StateFolder;
use crate::files::blob::decode;
use crate::files::read;

/// What `feed build-shard` calls the file of a shard. Its bytes don't tell which shard of how many it is; in the place of
/// another one, its members would be absent.
pub fn file_of_shard(shard: u32, shards: u32) -> String {
    format!("shard-{shard:05}-of-{shards:05}.bloom")
}

/// The entries of all parts, which must be those of a generation of this feed.
pub fn read(dir: &Path, sharding: &Sharding, fpr: f64, secret: Option<&Secret>) -> Result<Vec<Entry>> {
    let shards = sharding.shards();
    let ours: HashSet<OsString> = (0..shards).map(|shard| file_of_shard(shard, shards).into()).collect();
    for file in fs::read_dir(dir).with_context(|| dir.display().to_string())? {
        let name = file.with_context(|| dir.display().to_string())?.file_name();
        let is_part =
            name.to_str().is_some_and(|name| name.starts_with("shard-") && name.ends_with(".bloom"));
        let is_other = is_part && !ours.contains(&name);
        ensure!(!is_other, "{}: the feed has {shards} shards", dir.join(&name).display());
    }
    let part = |shard| -> Result<Entry> {
        let path = dir.join(file_of_shard(shard, shards));
        let name = || path.display().to_string();
        let bytes = read::regular(&path, MAX_SHARD.into())?;
        let entry = entry_of(&bytes).with_context(name)?;
        let blob = decode(bytes, secret).with_context(name)?;
        let filter = ribbon(&blob).with_context(name)?;
        let described = blob.name().is_some() || blob.created_at().is_some();
        let plain = !described && !blob.stack().is_tagged() && blob.profile() != Profile::Url;
        ensure!(plain, "{}: `feed build-shard` didn't make this", name());
        let (of_feed, of_part) = (sharding.hashing().seed(), filter.hashing().seed());
        ensure!(of_feed == of_part, "{}: its seed is {of_part}; that of the feed is {of_feed}", name());
        ensure!(filter.fpr() == fpr, "{}: its fpr is {}; that of the feed is {fpr}", name(), filter.fpr());
        let is_ours = blob.profile() == sharding.profile() && filter.hashing() == sharding.hashing();
        ensure!(is_ours, "{}: its profile or secret is not that of the feed", name());
        Ok(Entry { count: count(&blob).with_context(name)?, ..entry })
    };
    let entries = (0..shards).map(part).collect::<Result<Vec<_>>>()?;
    // The first bits of their digests differ, so no two shards with keys are the same.
    let mut first = HashMap::new();
    for (shard, entry) in (0..).zip(&entries).filter(|(_, entry)| entry.count > 0) {
        if let Some(other) = first.insert(entry.sha256, shard) {
            bail!("{}: this is the part of shard {other}", dir.join(file_of_shard(shard, shards)).display());
        }
    }
    Ok(entries)
}

/// Copies them into the folder of the feed.
pub fn copy(dir: &Path, writer: &mut Writer) -> Result<()> {
    let hashes: Vec<_> = writer.entries.iter().map(|entry| entry.sha256).collect();
    let shards = u32::try_from(hashes.len())?;
    for (shard, sha256) in (0..shards).zip(hashes) {
        let path = dir.join(file_of_shard(shard, shards));
        let bytes = read::regular(&path, MAX_SHARD.into())?;
        ensure!(entry_of(&bytes)?.sha256 == sha256, "{}: it has changed meanwhile", path.display());
        writer.write(sha256, &bytes)?;
    }
    Ok(())
}

/// What the state remembers of parts, and the file that goes with it.
pub fn remember(dir: &Path, entries: &[Entry]) -> Result<(Parts, Vec<u64>)> {
    let hashes: Vec<_> = entries.iter().map(|entry| start(&entry.sha256)).collect();
    let parts = Parts { dir: dir.to_owned(), hashes: DigestFile::of("parts", &hashes)?, published: false };
    Ok((parts, hashes))
}

/// Deletes the parts that were published, also by a run that was killed before it could; others may have been built since.
pub fn delete(parts: &Parts, folder: &StateFolder) -> Result<()> {
    let name = || parts.dir.display().to_string();
    // Nobody knows whether they have gone with it, or come back elsewhere.
    let words =
        "parts that were published are in no folder of this name any more; if they are gone, make it again";
    ensure!(parts.dir.try_exists().with_context(name)?, "{}: {words}", name());
    let hashes = folder.read(&parts.hashes)?;
    let shards = u32::try_from(hashes.len())?;
    for (shard, hash) in (0..shards).zip(&hashes).rev() {
        let path = parts.dir.join(file_of_shard(shard, shards));
        delete_if(&path, *hash, || folder.check()).with_context(|| path.display().to_string())?;
    }
    Ok(())
}

/// The first 8 bytes of a hash.
fn start(sha256: &[u8; 32]) -> u64 {
    u64::from_be_bytes(*sha256.first_chunk().expect("a hash is longer"))
}

/// Deletes a file, if it is there and has this hash.
fn delete_if(path: &Path, published: u64, check: impl Fn() -> Result<()>) -> Result<()> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        file => file?,
    };
    if start(&manifest::hash(&read::regular(path, MAX_SHARD.into())?)) == published {
        // If another run has taken over, everything belongs to that one.
        check()?;
        fs::remove_file(path).context("it was published, and can't be deleted")?;
    }
    Ok(())
}
