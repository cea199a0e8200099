//! The command line tool, run as a user runs it: one file for each command, and several for `build`.

mod allowed;
mod build;
mod check;
mod completions;
mod failures;
mod help;
mod info;
mod lists;
mod merge;
mod passwords;
mod urls;
mod verify;

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output};

use bloom_wasm::hash::Hashing;
use bloom_wasm::layers::Stack;
use bloom_wasm::{Filter, Kind, Profile};
use tempfile::TempDir;

use crate::in_process::declare;
use crate::program::{output, tool};

fn run(folder: &Path, args: &str, stdin: &[u8]) -> Output {
    output(Command::new(tool()).args(args.split_whitespace()).current_dir(folder), stdin)
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

fn text_of(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap()
}

/// Publishes a feed with these keys and lists in its feed.toml.
fn publish(folder: &Path, above: &str, lists: &str) -> Output {
    declare(folder, above, lists);
    run(folder, "feed publish", b"")
}

/// Builds `out`, and returns it with what was printed on standard output and on standard error.
fn build(folder: &Path, args: &str, stdin: &[u8]) -> (Vec<u8>, String, String) {
    let output = run(folder, &format!("build -o out {args}"), stdin);
    let [said, warned] = [&output.stdout, &output.stderr].map(|bytes| text(bytes).to_owned());
    assert!(output.status.success(), "{args}: {warned}");
    (fs::read(folder.join("out")).unwrap(), said, warned)
}

/// The lines of the keys that `out` takes for maybe present.
fn checked(folder: &Path, keys: &[u8]) -> Vec<u8> {
    let output = run(folder, "check out", keys);
    assert_eq!(output.status.code(), Some(i32::from(output.stdout.is_empty())), "{}", text(&output.stderr));
    output.stdout
}

fn info(folder: &Path) -> serde_json::Value {
    serde_json::from_slice(&run(folder, "info out --json", b"").stdout).unwrap()
}

/// The blob of these keys, and of no others.
fn blob_of(profile: Profile, fpr: f64, keys: &[&[u8]]) -> Vec<u8> {
    let hashing = Hashing::from(0).for_filter(profile, Kind::Ribbon);
    let mut digests = keys.iter().map(|key| hashing.digest(key)).collect();
    let filter = Stack::build(Kind::Ribbon.into(), &mut digests, None, fpr, hashing).unwrap();
    Filter::new(profile, filter).encode().unwrap()
}

fn url_blob(keys: &[&str]) -> Vec<u8> {
    blob_of(Profile::Url, 1e-3, &keys.iter().map(|key| key.as_bytes()).collect::<Vec<_>>())
}

fn packed(text: &[u8]) -> Vec<u8> {
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gz.write_all(text).unwrap();
    gz.finish().unwrap()
}

/// Runs in a new folder with a list of three hosts and their filter.
fn with_filter(test: impl FnOnce(&Path)) {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("list"), "evil.example\nbad.example\nworse.example\n").unwrap();
    let output = run(folder.path(), "build list -o f.bloom", b"");
    assert!(output.status.success(), "{}", text(&output.stderr));
    test(folder.path());
}
