//! Feeds with shards: `shards` of feed.toml, `feed build-shard`, and `info`, `check` and `verify` of the folder, in this
//! process. The oracle is FORMAT.md's text: digests and pages are taken apart here by hand. What shards share with other
//! feeds is tested in `feed/`, for both kinds.

mod contents;
mod generations;
mod parts;
mod refusals;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::Value;
use sha2::{Digest, Sha256};
use tempfile::TempDir;

use crate::in_process::{self, declare, done};

fn write(folder: &TempDir, name: &str, lines: impl IntoIterator<Item = String>) {
    let text: String = lines.into_iter().map(|line| line + "\n").collect();
    fs::write(folder.path().join(name), text).unwrap();
}

fn keys(range: std::ops::Range<u32>) -> impl Iterator<Item = String> {
    range.map(|i| format!("key-{i}"))
}

/// Publishes what feed.toml says.
const PUBLISH: &str = "feed publish @feed.toml";

/// Describes a feed of `list` without signatures. The state lies beside its folder.
fn describe(folder: &TempDir, dir: &str, above: &str) {
    let folders = format!("public = \"{dir}\"\nstate = \"{dir}.state\"\nsign = []");
    declare(folder, &format!("{folders}\n{above}"), "list = \"list\"");
}

/// Describes a feed of raw keys with this number of shards.
fn raw(folder: &TempDir, dir: &str, shards: u32, more: &str) {
    describe(folder, dir, &format!("profile = \"raw\"\nshards = {shards}\n{more}"));
}

/// Begins such a feed. Returns what is said.
fn begin(folder: &TempDir, dir: &str, shards: u32, more: &str) -> String {
    raw(folder, dir, shards, more);
    done(folder, PUBLISH)
}

/// What the manifest in a folder says.
fn payload(dir: &Path) -> Value {
    in_process::payload(&fs::read(dir.join("shards.json")).unwrap())
}

/// What the state beside a folder says.
fn state(dir: &Path) -> Value {
    serde_json::from_slice(&fs::read(dir.with_extension("state").join("state.json")).unwrap()).unwrap()
}

/// The bytes and the count of every shard, by pages; every file must have its hash as its name.
fn shards(dir: &Path) -> Vec<(Vec<u8>, u32)> {
    let read = |name: &str| {
        let bytes = fs::read(dir.join(name)).unwrap();
        assert_eq!(hex(&Sha256::digest(&bytes)), name);
        bytes
    };
    let payload = payload(dir);
    let mut shards = Vec::new();
    for page in payload["pages"].as_array().unwrap() {
        let page = read(page.as_str().unwrap());
        assert_eq!(page.len(), 40 * 256.min(payload["shards"].as_u64().unwrap() as usize));
        for entry in page.chunks(40) {
            let name = hex(&entry[..32]);
            let number = |at: usize| u32::from_le_bytes(entry[at..at + 4].try_into().unwrap());
            let bytes = read(&name);
            assert_eq!(bytes.len(), number(32) as usize);
            shards.push((bytes, number(36)));
        }
    }
    assert_eq!(shards.len() as u64, payload["shards"].as_u64().unwrap());
    assert_eq!(
        shards.iter().map(|(bytes, _)| bytes.len() as u64).sum::<u64>(),
        payload["bytes"].as_u64().unwrap()
    );
    let count: u64 = shards.iter().map(|(_, count)| u64::from(*count)).sum();
    assert_eq!(count, payload["count"].as_u64().unwrap());
    shards
}

/// The files that the manifest names, and those that its pages name.
fn named(dir: &Path) -> BTreeSet<String> {
    let pages = payload(dir)["pages"].as_array().unwrap().clone();
    let mut named: BTreeSet<_> = pages.iter().map(|page| page.as_str().unwrap().to_owned()).collect();
    for page in pages {
        let page = fs::read(dir.join(page.as_str().unwrap())).unwrap();
        named.extend(page.chunks(40).map(|entry| hex(&entry[..32])));
    }
    named
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn files(dir: &Path) -> BTreeSet<String> {
    let names = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.collect()
}
