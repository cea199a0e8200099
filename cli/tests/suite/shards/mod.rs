//! Feeds with shards: `shards` of feed.toml, `feed build-shard`, and `info`, `check` and `verify` of the folder, in this
//! process. The oracle is FORMAT.md's text: digests and pages are taken apart here by hand. What shards share with other
//! feeds is tested in `feed/`, for both kinds.

mod contents;
mod generations;
mod parts;
mod refusals;

use std::collections::BTreeSet;

use base16ct::lower::encode_string as hex;
use serde_json::Value;
use sha2::{Digest, Sha256};
use tempfile::TempDir;

use crate::feed::{PUBLISH, write_list};
use crate::in_process::{self, done, read};

/// Publishes a list of this many keys. Returns what is said.
fn publish(folder: &TempDir, keys: u32) -> String {
    write_list(folder, 0..keys);
    done(folder, PUBLISH)
}

/// What the manifest says.
fn payload(folder: &TempDir) -> Value {
    in_process::payload(&read(folder, "public/shards.json"))
}

/// What the state says.
fn state(folder: &TempDir) -> Value {
    serde_json::from_slice(&read(folder, "state/state.json")).unwrap()
}

/// The entries of a page, of 40 bytes each: names, lengths and counts.
fn entries(page: &[u8]) -> impl Iterator<Item = (String, usize, u32)> {
    let number = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().unwrap());
    page.chunks(40)
        .map(move |entry| (hex(&entry[..32]), number(&entry[32..36]) as usize, number(&entry[36..])))
}

/// The pages that the manifest names.
fn pages(folder: &TempDir) -> Vec<String> {
    let pages = payload(folder)["pages"].as_array().unwrap().clone();
    pages.iter().map(|page| page.as_str().unwrap().to_owned()).collect()
}

/// The count of every shard; every file must have its hash as its name.
fn counts(folder: &TempDir) -> Vec<u32> {
    let read = |name: &str| {
        let bytes = read(folder, &format!("public/{name}"));
        assert_eq!(hex(&Sha256::digest(&bytes)), name);
        bytes
    };
    let (payload, mut total, mut counts) = (payload(folder), 0, Vec::new());
    for page in pages(folder) {
        let page = read(&page);
        assert_eq!(page.len(), 40 * 256.min(payload["shards"].as_u64().unwrap() as usize));
        for (name, bytes, count) in entries(&page) {
            assert_eq!(read(&name).len(), bytes);
            total += bytes;
            counts.push(count);
        }
    }
    let said = ["shards", "bytes", "count"].map(|name| payload[name].as_u64().unwrap());
    assert_eq!(said, [counts.len() as u64, total as u64, counts.iter().map(|count| u64::from(*count)).sum()]);
    counts
}

/// The files that the manifest names, and those that its pages name.
fn named(folder: &TempDir) -> BTreeSet<String> {
    let shards = |page: &String| {
        let page = read(folder, &format!("public/{page}"));
        entries(&page).map(|(name, ..)| name).collect::<Vec<_>>()
    };
    let pages = pages(folder);
    pages.iter().flat_map(shards).chain(pages.clone()).collect()
}
