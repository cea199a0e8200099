//! The files of a feed in its folder: each is named by its hash.

use std::path::Path;

use anyhow::{Context, Result, bail};
use bloom_wasm::hash::Secret;
use bloom_wasm::shards::{ENTRY, Entry, PAGE, Sharding, read_page};
use bloom_wasm::{Delta, Filter, Profile};

use super::manifest::{FeedPayload, File, ManifestPayload, ShardsPayload, hex, sha256};
use crate::files::blob::decode;
use crate::files::read;

/// The bytes of a whole page.
const LONGEST_PAGE: u64 = (ENTRY * PAGE) as u64;

/// The contents of a file. `bytes` is its known length; none for a page.
pub fn read_file(dir: &Path, name: &str, bytes: Option<u64>) -> Result<Vec<u8>> {
    let path = dir.join(name);
    let found = read::regular(&path, bytes.unwrap_or(LONGEST_PAGE))?;
    if sha256(&found) != name || bytes.is_some_and(|bytes| found.len() as u64 != bytes) {
        bail!("{} is damaged: it doesn't have the hash that is its name", path.display());
    }
    Ok(found)
}

/// The filter that the files of a feed make, the base first.
pub fn read_files<'a>(
    dir: &Path,
    files: impl Iterator<Item = &'a File>,
    secret: Option<&Secret>,
) -> Result<Filter> {
    let mut blob = None;
    for file in files {
        let name = || dir.join(&file.sha256).display().to_string();
        let bytes = read_file(dir, &file.sha256, Some(file.bytes))?;
        blob = Some(match blob {
            None => decode(bytes, secret).with_context(name)?,
            Some(blob) => {
                let delta = Delta::decode_for(&blob, bytes).with_context(name)?;
                Filter::apply(&blob, delta).with_context(name)?
            }
        });
    }
    blob.context("there is no base")
}

/// The entries of a page, in a feed of this many shards.
pub fn read_entries(dir: &Path, page: &str, shards: u32) -> Result<Vec<Entry>> {
    // The number of entries doesn't depend on the profile.
    let entries = Sharding::new(Profile::Raw, 0, shards)?.entries();
    let bytes = read_file(dir, page, None)?;
    read_page(&bytes, entries).with_context(|| dir.join(page).display().to_string())
}

/// The entries of all shards.
pub fn entries(dir: &Path, shards: &ShardsPayload) -> Result<Vec<Entry>> {
    let pages = shards.pages.iter().map(|page| read_entries(dir, page, shards.shards));
    Ok(pages.collect::<Result<Vec<_>>>()?.concat())
}

/// What a publisher needs of both kinds of manifests.
pub trait Published: ManifestPayload {
    /// The names and lengths of the files that hold the keys, so not of pages, which are read.
    fn blobs(&self, dir: &Path) -> Result<Vec<(String, u64)>>;

    /// Fails unless all files of the feed are there and whole.
    fn require_whole(&self, dir: &Path) -> Result<()> {
        let read = |(name, bytes): &(String, u64)| read_file(dir, name, Some(*bytes)).map(|_| ());
        self.blobs(dir)?.iter().try_for_each(read)
    }
}

impl Published for FeedPayload {
    fn blobs(&self, _: &Path) -> Result<Vec<(String, u64)>> {
        Ok(self.files.iter().map(|file| (file.sha256.clone(), file.bytes)).collect())
    }
}

impl Published for ShardsPayload {
    fn blobs(&self, dir: &Path) -> Result<Vec<(String, u64)>> {
        Ok(entries(dir, self)?.iter().map(|entry| (hex(&entry.sha256), entry.bytes.into())).collect())
    }
}
