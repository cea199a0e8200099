//! `feed init`, `publish`, `verify`, `forget`, `keygen` and `pubkey`. What is published is read back with only the
//! library: the payload from the manifest, each file by its name, the deltas one after another.

mod damage;
mod forget;
mod generations;
mod guard;
mod host;
mod init;
mod keys;
mod leftovers;
mod lock;
mod pubkey;
mod renewal;
mod said;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use bloom_wasm::{Delta, Filter};
use serde_json::Value;
use tempfile::TempDir;

use crate::in_process::{self, KEY, PUBLIC_KEY, declare, payload, told, tool, write};

/// Publishes what feed.toml says, now.
pub const PUBLISH: &str = "feed publish @feed.toml";

/// A folder for a feed of one list that has no generation yet, with these lines in its feed.toml.
pub fn feed(above: &str) -> TempDir {
    let folder = TempDir::new().unwrap();
    write(&folder, "key", KEY);
    tell(&folder, above, "");
    folder
}

/// Writes feed.toml: these lines, and what stands below the list.
pub fn tell(folder: &TempDir, above: &str, below: &str) {
    tell_lists(folder, above, &format!("list = \"list\"\n{below}"));
}

/// The same with other lists, or none. The feed has raw keys, and is signed, unless the lines say otherwise.
pub fn tell_lists(folder: &TempDir, above: &str, lists: &str) {
    let defaults = [("profile", "\"raw\""), ("sign", "[\"key\"]")];
    let defaults = defaults.iter().filter(|(key, _)| !above.contains(&format!("{key} =")));
    let defaults: String = defaults.map(|(key, value)| format!("{key} = {value}\n")).collect();
    declare(folder, &(defaults + above), lists);
}

/// Writes NAME.toml, which says the same as feed.toml with other words.
fn told_as(folder: &TempDir, name: &str, from: &str, to: &str) {
    let text = String::from_utf8(in_process::read(folder, "feed.toml")).unwrap();
    assert!(text.contains(from), "{text}");
    write(folder, &format!("{name}.toml"), text.replace(from, to));
}

/// Writes NAME.toml, which says the same with another folder for the state.
fn with_state(folder: &TempDir, name: &str) {
    told_as(folder, name, "id = ", &format!("state = \"{name}\"\nid = "));
}

/// Copies a folder, replacing what was there.
pub fn copy(folder: &TempDir, from: &str, to: &str) {
    let [from, to] = [from, to].map(|name| folder.path().join(name));
    if to.exists() {
        fs::remove_dir_all(&to).unwrap();
    }
    fs::create_dir(&to).unwrap();
    for entry in fs::read_dir(&from).unwrap() {
        let name = entry.unwrap().file_name();
        fs::copy(from.join(&name), to.join(&name)).unwrap();
    }
}

pub fn lose(folder: &TempDir, dir: &str) {
    fs::remove_dir_all(folder.path().join(dir)).unwrap();
}

pub fn key(i: u32) -> String {
    format!("key-{i}.example")
}

pub fn lines(keys: impl IntoIterator<Item = u32>) -> String {
    keys.into_iter().map(|i| key(i) + "\n").collect()
}

pub fn write_list(folder: &TempDir, keys: impl IntoIterator<Item = u32>) {
    write(folder, "list", lines(keys));
}

/// When the first list is published. `feed verify` reads the clock, and nothing from this month has expired by it.
const MONTH: &str = "2099-01";

/// Publishes what feed.toml says, some hours after the first time.
pub fn at(hours: u32) -> String {
    format!("{PUBLISH} --created-at {MONTH}-{:02}T{:02}:00:00Z", hours / 24 + 1, hours % 24)
}

/// Publishes the feed some hours after the first time. Returns the report.
fn publish(folder: &TempDir, hours: u32, options: &str) -> Value {
    told(folder, &format!("{} {options}", at(hours)))
}

/// Publishes a list of these keys.
fn publish_keys(folder: &TempDir, hours: u32, keys: impl IntoIterator<Item = u32>) -> Value {
    write_list(folder, keys);
    publish(folder, hours, "")
}

/// Publishes the feed, which must be refused with these words in the only line. Returns that line.
fn publish_refused(folder: &TempDir, hours: u32, options: &str, words: &str) -> String {
    let (code, out, err) = tool(folder, &format!("{} {options}", at(hours)));
    assert!(code == 2 && out.is_empty() && err.contains(words), "{options}: {out}{err}");
    assert_eq!(err.lines().count(), 1, "{err}");
    err
}

/// The same, and the last list must be signed anew.
fn renewed(folder: &TempDir, hours: u32, words: &str) {
    let before = generation(folder);
    let said = publish_refused(folder, hours, "", words);
    let now = generation(folder);
    assert!(now > before && said.ends_with(&format!("the last list was signed anew as generation {now}\n")));
}

/// The same, and it must stay as it is.
fn stays(folder: &TempDir, hours: u32, words: &str) {
    let before = files(folder);
    let said = publish_refused(folder, hours, "", words);
    assert!(said.contains(&format!("; generation {} stays until {MONTH}-", generation(folder))), "{said}");
    assert!(files(folder) == before);
}

fn generation(folder: &TempDir) -> u64 {
    verify(folder)["generation"].as_u64().unwrap()
}

/// What the manifest says, by `feed verify`.
fn verify(folder: &TempDir) -> Value {
    told(folder, &format!("feed verify @public --public-key {PUBLIC_KEY}"))
}

/// The filter in the folder.
fn read(folder: &TempDir) -> Filter {
    let mut blob = None;
    for file in verify(folder)["files"].as_array().unwrap() {
        let bytes = fs::read(folder.path().join("public").join(file["sha256"].as_str().unwrap())).unwrap();
        blob = Some(match blob {
            None => Filter::decode(bytes).unwrap(),
            Some(blob) => Filter::apply(&blob, Delta::decode(bytes).unwrap()).unwrap(),
        });
    }
    blob.unwrap()
}

/// Everything in the folder that is served.
pub fn files(folder: &TempDir) -> BTreeMap<String, Vec<u8>> {
    files_in(&folder.path().join("public"))
}

fn files_in(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    entries
        .map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), fs::read(path).unwrap()))
        .collect()
}

/// Fails unless the folder that is served is this one of tests/golden, but for some members of the manifest.
pub fn require_golden(folder: &TempDir, name: &str, members: &[&str]) {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/golden").join(name);
    // To make the files anew, remove the old ones first.
    if std::env::var("GOLDEN").is_ok_and(|value| value == "write") && !golden.exists() {
        fs::create_dir(&golden).unwrap();
        files(folder).iter().for_each(|(name, bytes)| fs::write(golden.join(name), bytes).unwrap());
    }
    let [made, golden] = [files(folder), files_in(&golden)].map(|mut files| {
        for (_, manifest) in files.iter_mut().filter(|(name, _)| name.ends_with(".json")) {
            let mut payload = payload(manifest);
            members.iter().for_each(|member| drop(payload[member].take()));
            *manifest = payload.to_string().into_bytes();
        }
        files
    });
    assert!(made == golden, "{name}: the same lists give other bytes");
}

/// Everything in a folder and below it.
fn all(dir: &Path) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
    let mut found = BTreeMap::new();
    for path in fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            found.extend(all(&path));
        }
        found.insert(path.clone(), fs::read(path).ok());
    }
    found
}

/// Changes what the state says.
pub fn change_state(folder: &TempDir, change: impl FnOnce(&mut Value)) {
    let mut state: Value = serde_json::from_slice(&in_process::read(folder, "state/state.json")).unwrap();
    change(&mut state);
    write(folder, "state/state.json", state.to_string());
}

/// The file of the state with this in its name.
fn in_state(folder: &TempDir, part: &str) -> PathBuf {
    let mut paths = fs::read_dir(folder.path().join("state")).unwrap().map(|entry| entry.unwrap().path());
    paths.find(|path| path.file_name().unwrap().to_string_lossy().contains(part)).unwrap()
}

pub fn names(folder: &TempDir) -> BTreeSet<String> {
    files(folder).into_keys().collect()
}

/// Fails unless the filter has all members, and has removed keys no more often than any absent key.
fn check(blob: &Filter, members: impl Iterator<Item = u32>, removed: impl Iterator<Item = u32>, fpr: f64) {
    let has = |i: u32| blob.stack().has(key(i).as_bytes());
    for i in members {
        assert!(has(i), "key {i} is lost");
    }
    let nonmembers = 1_000_000..1_100_000;
    let expected = nonmembers.len() as f64 * fpr;
    let hits = nonmembers.filter(|&i| has(i)).count() as f64;
    assert!(hits < expected + 5.0 * expected.sqrt() + 1.0, "{hits} non-members for {expected}");
    let removed: Vec<u32> = removed.collect();
    let expected = removed.len() as f64 * fpr;
    let hits = removed.into_iter().filter(|&i| has(i)).count() as f64;
    assert!(hits <= expected + 5.0 * expected.sqrt() + 1.0, "{hits} removed keys for {expected}");
}
