//! What somebody who controls a publisher's host or its state can do to it: the table of SECURITY.md, row by row.

use std::fs;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use base64ct::{Base64UrlUnpadded, Encoding};
use bloom_wasm::{Filter, Profile, hash};
use ed25519_dalek::pkcs8::DecodePrivateKey;
use ed25519_dalek::{Signer, SigningKey};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::in_process::{KEY, PUBLIC_KEY, tool};

/// The highest generation that JSON carries, less the one that a publisher would add.
const HIGHEST: u64 = (1 << 53) - 2;
const MAX: u64 = 1 << 40;

const PUBLISH: &str = "feed publish @public @list --state @state --sign @key";
/// The same with options that can begin a feed, or continue one whose state was lost.
const BEGIN: &str = "feed publish @public @list --state @state --sign @key --profile raw";
const SHARDS: &str = "feed publish @public @list --state @state --sign @key --profile raw --shards 2";

/// Fails unless the tool succeeds without a warning.
fn done(folder: &TempDir, args: &str) {
    let (code, _, err) = tool(folder, args);
    assert_eq!((code, err.as_str()), (0, ""), "{args}");
}

/// Begins anew with a state that was lost.
fn recovered(folder: &TempDir, args: &str) {
    warned(folder, args, "the state was lost: tags, allowlists");
}

/// Fails unless the tool succeeds with a warning.
fn warned(folder: &TempDir, args: &str, words: &str) {
    let (code, _, err) = tool(folder, args);
    assert!(code == 0 && err.contains(words) && err.lines().count() == 1, "{args}: {code} {err}");
}

fn refused(folder: &TempDir, args: &str, words: &str) {
    let before = snapshot(folder);
    let (code, _, err) = tool(folder, args);
    assert!(code == 2 && err.contains(words) && err.lines().count() == 1, "{args}: {code} {err}");
    assert!(snapshot(folder) == before, "{args} has changed something");
}

/// What is published and remembered.
fn snapshot(folder: &TempDir) -> Vec<(String, Vec<u8>)> {
    let mut files = Vec::new();
    for dir in ["public", "state"].map(|dir| folder.path().join(dir)) {
        for entry in fs::read_dir(dir).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.file_name().unwrap() != "lock" {
                files.push((path.display().to_string(), fs::read(path).unwrap()));
            }
        }
    }
    files.sort();
    files
}

/// A folder with two keys and a list.
fn home() -> TempDir {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("key"), KEY).unwrap();
    done(&folder, "feed keygen -o @stranger");
    list(&folder, 100);
    folder
}

fn list(folder: &TempDir, keys: u32) {
    let keys = (0..keys).map(|i| format!("key-{i}.test\n"));
    fs::write(folder.path().join("list"), keys.collect::<String>()).unwrap();
}

/// A signed feed with some generations.
fn feed(generations: u32) -> TempDir {
    let folder = home();
    for i in 1..=generations {
        list(&folder, 100 + i);
        done(&folder, &format!("{BEGIN} --fpr 0.01 --seed 7 --name Demo"));
    }
    folder
}

/// A manifest in the folder `public`: `feed.json` or `shards.json`.
fn manifest(folder: &TempDir, name: &str) -> Vec<u8> {
    fs::read(folder.path().join("public").join(name)).unwrap()
}

fn plant(folder: &TempDir, name: &str, manifest: impl AsRef<[u8]>) {
    fs::write(folder.path().join("public").join(name), manifest).unwrap();
}

fn payload(manifest: &[u8]) -> Value {
    let manifest: Value = serde_json::from_slice(manifest).unwrap();
    serde_json::from_slice(&Base64UrlUnpadded::decode_vec(manifest["payload"].as_str().unwrap()).unwrap())
        .unwrap()
}

/// The same manifest with other members, signed by the key in some file, if any.
fn forged(folder: &TempDir, manifest: &[u8], changes: &Value, key: Option<&str>) -> Vec<u8> {
    let mut payload = payload(manifest);
    let typ = if payload.get("shards").is_some() { "bloom-wasm-shards" } else { "bloom-wasm-feed" };
    for (name, value) in changes.as_object().unwrap() {
        payload[name] = value.clone();
    }
    let encode = |value: &Value| Base64UrlUnpadded::encode_string(value.to_string().as_bytes());
    let (payload, protected) = (encode(&payload), encode(&json!({ "alg": "EdDSA", "typ": typ })));
    let sign = |key: &str| {
        let key = fs::read_to_string(folder.path().join(key)).unwrap();
        let signature =
            SigningKey::from_pkcs8_pem(&key).unwrap().sign(format!("{protected}.{payload}").as_bytes());
        json!({ "protected": protected, "signature": Base64UrlUnpadded::encode_string(&signature.to_bytes()) })
    };
    let signatures: Vec<Value> = key.map(sign).into_iter().collect();
    json!({ "payload": payload, "signatures": signatures }).to_string().into_bytes()
}

/// What somebody without a key can put where the manifest should be.
fn planted(folder: &TempDir, manifest: &[u8]) -> Vec<Vec<u8>> {
    let all = json!({
        "generation": HIGHEST, "feedId": "0".repeat(32), "name": "mine", "profile": "url", "fpr": 0.5, "seed": "8",
    });
    let changes = [
        json!({ "generation": HIGHEST }),
        json!({ "generation": 1 }),
        json!({ "feedId": "0".repeat(32) }),
        all,
        json!({ "version": 2 }),
        json!({}),
    ];
    let mut planted: Vec<_> = changes
        .iter()
        .flat_map(|changes| [None, Some("stranger")].map(|key| forged(folder, manifest, changes, key)))
        .collect();
    // The signature of the one before over something else.
    let mut swapped: Value =
        serde_json::from_slice(&forged(folder, manifest, &json!({ "generation": 9 }), None)).unwrap();
    swapped["signatures"] = serde_json::from_slice::<Value>(manifest).unwrap()["signatures"].clone();
    planted.push(swapped.to_string().into_bytes());
    planted
        .extend([&b""[..], b"{}", b"null", b"<!doctype html>", b"\xff\xfe", &[b' '; 3 << 20]].map(Vec::from));
    planted
}

fn seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

fn verified(folder: &TempDir) {
    done(folder, &format!("feed verify @public --public-key {PUBLIC_KEY}"));
}

/// Keeps a folder as it is.
fn copy(folder: &TempDir, from: &str, to: &str) {
    let [from, to] = [from, to].map(|name| folder.path().join(name));
    fs::create_dir(&to).unwrap();
    for entry in fs::read_dir(&from).unwrap() {
        let name = entry.unwrap().file_name();
        fs::copy(from.join(&name), to.join(&name)).unwrap();
    }
}

#[test]
fn a_planted_manifest_is_ignored() {
    let folder = feed(2);
    let mut last = payload(&manifest(&folder, "feed.json"));
    for bytes in planted(&folder, &manifest(&folder, "feed.json")) {
        plant(&folder, "feed.json", &bytes);
        warned(&folder, PUBLISH, "feed.json");
        verified(&folder);
        let next = payload(&manifest(&folder, "feed.json"));
        let expected = last["generation"].as_u64().unwrap() + 1;
        assert_eq!(next["generation"], expected, "{}", String::from_utf8_lossy(&bytes));
        for same in ["feedId", "name", "profile", "fpr", "seed", "files", "count"] {
            assert_eq!(next[same], last[same], "{same}");
        }
        // The next run prints no warning.
        done(&folder, PUBLISH);
        last = next;
    }
    // One's own that a newer tool has written is another matter.
    let live = manifest(&folder, "feed.json");
    plant(&folder, "feed.json", forged(&folder, &live, &json!({ "version": 2 }), Some("key")));
    refused(&folder, PUBLISH, "newer than this tool");
    plant(&folder, "feed.json", live);
    // A feed that has no generation yet has nothing to go on from.
    fs::remove_dir_all(folder.path().join("state")).unwrap();
    let bytes = manifest(&folder, "feed.json");
    plant(&folder, "feed.json", forged(&folder, &bytes, &json!({ "generation": HIGHEST }), None));
    refused(&folder, BEGIN, "nobody has signed it");
}

#[test]
fn with_the_state_lost_a_planted_manifest_is_refused() {
    let folder = feed(2);
    let live = manifest(&folder, "feed.json");
    fs::remove_dir_all(folder.path().join("state")).unwrap();
    done(&folder, "feed keygen -o @new");
    let new = BEGIN.replace("@key", "@new");
    for bytes in planted(&folder, &live) {
        plant(&folder, "feed.json", &bytes);
        for script in [BEGIN, &format!("{new} --without-key {PUBLIC_KEY}")] {
            refused(&folder, script, "feed.json: ");
        }
    }
    // The right manifest isn't accepted either, unless its key is given.
    plant(&folder, "feed.json", &live);
    refused(&folder, &BEGIN.replace(" --sign @key", ""), "clients expect that: give --sign");
    refused(&folder, &format!("{new} --trust-unsigned"), "none of the given keys");
    refused(&folder, &new, "none of the given keys");
    recovered(&folder, &format!("{new} --without-key {PUBLIC_KEY}"));
    let [before, after] = [live, manifest(&folder, "feed.json")].map(|bytes| payload(&bytes));
    for same in ["feedId", "name", "profile", "fpr", "seed"] {
        assert_eq!(after[same], before[same], "{same}");
    }
}

#[test]
fn an_old_manifest_sets_a_state_not_back() {
    let folder = feed(1);
    let old = manifest(&folder, "feed.json");
    for i in 2..5 {
        list(&folder, 100 + i);
        done(&folder, PUBLISH);
    }
    plant(&folder, "feed.json", &old);
    done(&folder, PUBLISH);
    assert_eq!(payload(&manifest(&folder, "feed.json"))["generation"], 5);
    verified(&folder);
}

#[test]
fn an_old_manifest_sets_a_lost_state_not_back() {
    let folder = feed(1);
    let old = manifest(&folder, "feed.json");
    list(&folder, 200);
    done(&folder, PUBLISH);
    plant(&folder, "feed.json", &old);
    fs::remove_dir_all(folder.path().join("state")).unwrap();
    let before = seconds();
    recovered(&folder, BEGIN);
    let after = seconds();
    let generation = payload(&manifest(&folder, "feed.json"))["generation"].as_u64().unwrap();
    assert!((before + 1..=after + 1).contains(&generation), "{generation}");
    verified(&folder);
    // If the clock is behind what was published, the generations go on from the latter.
    let ahead = seconds() + 1_000_000;
    plant(&folder, "feed.json", forged(&folder, &old, &json!({ "generation": ahead }), Some("key")));
    fs::remove_dir_all(folder.path().join("state")).unwrap();
    recovered(&folder, BEGIN);
    assert_eq!(payload(&manifest(&folder, "feed.json"))["generation"], ahead + 1);
}

#[test]
fn an_absurd_generation_is_refused_even_if_it_is_signed() {
    let folder = feed(2);
    let live = manifest(&folder, "feed.json");
    let at = |generation: u64| forged(&folder, &live, &json!({ "generation": generation }), Some("key"));
    for (generation, words) in [
        (HIGHEST, "taken over"),
        (MAX, "taken over"),
        (MAX - 1, "much too high"),
        (2 + (1 << 20) + 1, "much too high"),
    ] {
        plant(&folder, "feed.json", at(generation));
        refused(&folder, PUBLISH, words);
    }
    plant(&folder, "feed.json", at(2 + (1 << 20)));
    warned(&folder, PUBLISH, "the state was an old copy");
    assert_eq!(payload(&manifest(&folder, "feed.json"))["generation"], 2 + (1 << 20) + 1);
    fs::remove_dir_all(folder.path().join("state")).unwrap();
    for generation in [HIGHEST, MAX] {
        plant(&folder, "feed.json", at(generation));
        refused(&folder, BEGIN, "taken over");
    }
    plant(&folder, "feed.json", at(MAX - 1));
    recovered(&folder, BEGIN);
    assert_eq!(payload(&manifest(&folder, "feed.json"))["generation"], MAX);
    // That was the last one.
    list(&folder, 200);
    let (code, _, err) = tool(&folder, PUBLISH);
    assert!(code == 2 && err.contains("taken over"), "{err}");
}

#[test]
fn an_old_state_needs_the_manifest_of_the_old_key_after_a_change() {
    let folder = feed(1);
    copy(&folder, "state", "old");
    for i in 2..5 {
        list(&folder, 100 + i);
        done(&folder, PUBLISH);
    }
    let publish = "feed publish @public @list --state @old --sign @stranger";
    copy(&folder, "public", "copy");
    warned(&folder, &format!("{publish} --without-key {PUBLIC_KEY}"), "the state was an old copy");
    assert_eq!(payload(&manifest(&folder, "feed.json"))["generation"], 5);
}

#[test]
fn a_change_of_key_that_clients_cannot_follow_is_refused() {
    let lost =
        format!("feed publish @public @list --state @state --sign @stranger --without-key {PUBLIC_KEY}");
    let alone = "feed publish @public @list --state @state --sign @stranger";
    for is_there in [true, false] {
        let folder = feed(1);
        if !is_there {
            fs::remove_file(folder.path().join("public/feed.json")).unwrap();
        }
        refused(&folder, alone, "another key has signed the feed until now");
        done(&folder, &lost);
        done(&folder, alone);
    }
    // With both, and then with the new one, once somebody says that the old one is gone.
    let folder = feed(1);
    copy(&folder, "state", "old");
    done(&folder, &format!("{PUBLISH} --sign @stranger"));
    done(&folder, &format!("{PUBLISH} --sign @stranger"));
    copy(&folder, "public", "both");
    let forgotten = "another key has signed the feed until now";
    // A script that knows only one of them, also if a cache of CI brings back a state of before.
    for script in [alone, PUBLISH] {
        refused(&folder, script, forgotten);
        refused(&folder, &script.replace("@state", "@old"), forgotten);
    }
    // What a host puts there can neither drop a key nor add one.
    let both = manifest(&folder, "feed.json");
    for change in [
        |signatures: &mut Vec<Value>| drop(signatures.remove(1)),
        |signatures: &mut Vec<Value>| drop(signatures.remove(0)),
        Vec::clear,
    ] {
        let mut planted: Value = serde_json::from_slice(&both).unwrap();
        change(planted["signatures"].as_array_mut().unwrap());
        plant(&folder, "feed.json", planted.to_string());
        for script in [alone, PUBLISH] {
            refused(&folder, script, forgotten);
        }
    }
    let mut planted: Value = serde_json::from_slice(&both).unwrap();
    let mut more = planted["signatures"][0].clone();
    more["signature"] = "A".repeat(86).into();
    planted["signatures"].as_array_mut().unwrap().push(more);
    plant(&folder, "feed.json", planted.to_string());
    done(&folder, &lost);
    done(&folder, alone);
    // And with the old state, whose manifest has one signature: that in the folder has two.
    for (is_old, words) in [(true, forgotten), (false, "")] {
        let state = if is_old { "@old" } else { "@state" };
        fs::remove_dir_all(folder.path().join("public")).unwrap();
        copy(&folder, "both", "public");
        let script = alone.replace("@state", state);
        if is_old { refused(&folder, &script, words) } else { done(&folder, &script) }
    }
}

/// What a host can still do: if an old state is restored, it can serve the manifest of that time.
#[test]
fn an_old_state_and_an_old_manifest_sign_a_generation_twice() {
    let folder = feed(1);
    copy(&folder, "state", "old");
    let old = manifest(&folder, "feed.json");
    list(&folder, 200);
    done(&folder, PUBLISH);
    plant(&folder, "feed.json", &old);
    list(&folder, 300);
    done(&folder, &PUBLISH.replace("@state", "@old"));
    assert_eq!(payload(&manifest(&folder, "feed.json"))["generation"], 2);
}

#[test]
fn without_the_manifest_a_state_goes_on() {
    let folder = feed(3);
    let before = payload(&manifest(&folder, "feed.json"));
    fs::remove_file(folder.path().join("public/feed.json")).unwrap();
    done(&folder, PUBLISH);
    let after = payload(&manifest(&folder, "feed.json"));
    assert_eq!((&after["generation"], &after["feedId"]), (&4.into(), &before["feedId"]));
    // Without the state either, it would be another feed, and clients would refuse that.
    fs::remove_file(folder.path().join("public/feed.json")).unwrap();
    fs::remove_dir_all(folder.path().join("state")).unwrap();
    refused(&folder, BEGIN, "neither its manifest nor its state");
}

#[test]
fn another_feed_of_the_same_key_stops_a_publisher() {
    let folder = feed(1);
    let other = feed(3);
    let live = manifest(&folder, "feed.json");
    plant(&folder, "feed.json", manifest(&other, "feed.json"));
    refused(&folder, PUBLISH, "another feed");
    plant(&folder, "feed.json", live);
    done(&folder, PUBLISH);
    // Without the state, nothing tells them apart.
    plant(&folder, "feed.json", manifest(&other, "feed.json"));
    fs::remove_dir_all(folder.path().join("state")).unwrap();
    assert_eq!(tool(&folder, BEGIN).0, 0);
    let [ours, theirs] = [&folder, &other].map(|folder| payload(&manifest(folder, "feed.json")));
    assert_eq!(ours["feedId"], theirs["feedId"]);
}

#[test]
fn each_report_says_who_has_signed_and_the_first_what_it_means_that_nobody_has() {
    const HINT: &str = "nobody has signed this, so whoever can write to the host can change the list: --sign prevents \
                        that, with a key of `feed keygen`\n";
    let by_key = &format!("by {PUBLIC_KEY}")[..];
    let said = |folder: &TempDir, args: &str, signers: &str, hint: &str| {
        let (code, said, err) = tool(folder, args);
        assert_eq!((code, &err[..]), (0, hint), "{args}");
        let row = said.lines().find_map(|row| row.strip_prefix("signed "));
        assert!(row.map(str::trim_start) == Some(signers) || args.contains("--json"), "{args}: {said}");
    };
    for command in [BEGIN, SHARDS] {
        let unsigned = command.replace(" --sign @key", "");
        said(&home(), command, by_key, "");
        said(&home(), &format!("{unsigned} --json"), "no", HINT);
        let folder = home();
        said(&folder, &unsigned, "no", HINT);
        list(&folder, 120);
        said(&folder, &unsigned, "no", "");
    }
}

#[test]
fn from_unsigned_to_signed_only_when_told() {
    for begin in [BEGIN, SHARDS] {
        let file = if begin == BEGIN { "feed.json" } else { "shards.json" };
        let folder = home();
        warned(&folder, &begin.replace(" --sign @key", ""), "nobody has signed this");
        refused(&folder, PUBLISH, "--trust-unsigned");
        refused(&folder, &PUBLISH.replace("--sign @key", "--trust-unsigned"), "--sign");
        done(&folder, &format!("{PUBLISH} --trust-unsigned"));
        assert_eq!(payload(&manifest(&folder, file))["generation"], 2);
        verified(&folder);
        // If the option stayed in a script, the tool would trust whatever the host puts there.
        refused(&folder, &format!("{PUBLISH} --trust-unsigned"), "the feed is signed already");
        done(&folder, PUBLISH);

        // With the state lost, only the users know that it is theirs.
        let folder = home();
        warned(&folder, &begin.replace(" --sign @key", ""), "nobody has signed this");
        let live = manifest(&folder, file);
        fs::remove_dir_all(folder.path().join("state")).unwrap();
        refused(&folder, begin, "--trust-unsigned");
        plant(&folder, file, forged(&folder, &live, &json!({ "generation": HIGHEST }), None));
        refused(&folder, &format!("{begin} --trust-unsigned"), "taken over");
        plant(&folder, file, &live);
        recovered(&folder, &format!("{begin} --trust-unsigned"));
        assert_eq!(payload(&manifest(&folder, file))["feedId"], payload(&live)["feedId"]);
    }
}

#[test]
fn a_planted_manifest_of_shards_is_refused() {
    let folder = home();
    done(&folder, SHARDS);
    let live = manifest(&folder, "shards.json");
    // With the state lost it is refused, and otherwise replaced.
    copy(&folder, "state", "kept");
    fs::remove_dir_all(folder.path().join("state")).unwrap();
    for bytes in planted(&folder, &live) {
        plant(&folder, "shards.json", bytes);
        refused(&folder, SHARDS, "shards.json");
    }
    plant(&folder, "shards.json", &live);
    let stranger = SHARDS.replace("@key", "@stranger");
    refused(&folder, &stranger, "--without-key");
    for generation in [HIGHEST, MAX] {
        let signed = forged(&folder, &live, &json!({ "generation": generation }), Some("key"));
        plant(&folder, "shards.json", signed);
        refused(&folder, SHARDS, "taken over");
    }
    for bytes in planted(&folder, &live) {
        plant(&folder, "shards.json", bytes);
        fs::remove_dir_all(folder.path().join("state")).unwrap();
        copy(&folder, "kept", "state");
        warned(&folder, SHARDS, "not trusted, so it will be replaced");
        assert_eq!(payload(&manifest(&folder, "shards.json"))["generation"], 2);
        verified(&folder);
    }
    list(&folder, 200);
    done(&folder, &format!("{stranger} --without-key {PUBLIC_KEY}"));
    assert_eq!(payload(&manifest(&folder, "shards.json"))["feedId"], payload(&live)["feedId"]);
}

#[test]
fn an_old_manifest_of_shards_sets_nothing_back() {
    let folder = home();
    done(&folder, SHARDS);
    let old = manifest(&folder, "shards.json");
    assert_eq!(payload(&old)["generation"], 1);
    list(&folder, 200);
    done(&folder, SHARDS);
    let generation = || payload(&manifest(&folder, "shards.json"))["generation"].as_u64().unwrap();
    plant(&folder, "shards.json", &old);
    done(&folder, SHARDS);
    assert_eq!(generation(), 3);
    // Nor when the state is lost.
    plant(&folder, "shards.json", &old);
    fs::remove_dir_all(folder.path().join("state")).unwrap();
    let before = seconds();
    recovered(&folder, SHARDS);
    assert!((before..=seconds() + 1).contains(&generation()), "{}", generation());
}

/// The digests in the state.
fn digests(folder: &TempDir) -> Vec<u64> {
    let state = fs::read_dir(folder.path().join("state")).unwrap().map(|entry| entry.unwrap().path());
    let members = state.into_iter().find(|path| path.display().to_string().contains("members-")).unwrap();
    fs::read(members).unwrap().as_chunks().0.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect()
}

#[test]
fn who_reads_the_state_can_try_keys() {
    let folder = feed(1);
    let members = digests(&folder);
    assert!(members.contains(&hash::digest(7, b"key-5.test")));
    assert!(!members.contains(&hash::digest(7, b"key-5000.test")));
    let text: Vec<u8> = snapshot(&folder).into_iter().flat_map(|(_, bytes)| bytes).collect();
    assert!(!text.windows(7).any(|word| word == b"example"), "a key stands there as it is");
    // For a keyed feed, they also need the secret.
    let folder = home();
    fs::write(folder.path().join("secret"), "000102030405060708090a0b0c0d0e0f").unwrap();
    done(&folder, &format!("{BEGIN} --seed 7 --secret-file @secret"));
    done(&folder, &format!("{PUBLISH} --secret-file @secret"));
    assert!(!digests(&folder).contains(&hash::digest(7, b"key-5.test")));
}

fn change_state(folder: &TempDir, change: impl FnOnce(&mut Value)) {
    let path = folder.path().join("state/state.json");
    let mut state: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    change(&mut state);
    fs::write(path, state.to_string()).unwrap();
}

#[test]
fn who_writes_the_state_has_things_signed() {
    let folder = feed(1);
    change_state(&folder, |state| {
        state["name"] = "mine".into();
        state["signed"] = (MAX - 1).into();
    });
    list(&folder, 200);
    done(&folder, PUBLISH);
    let live = payload(&manifest(&folder, "feed.json"));
    assert_eq!((&live["name"], &live["generation"]), (&"mine".into(), &MAX.into()));
    verified(&folder);
    // No member becomes absent because of it.
    let members: Vec<_> = (0..200).map(|i| format!("key-{i}.test")).collect();
    let has_all = |folder: &TempDir| {
        let files = payload(&manifest(folder, "feed.json"))["files"].as_array().unwrap().clone();
        let read =
            |file: &Value| fs::read(folder.path().join("public").join(file["sha256"].as_str().unwrap()));
        let mut blob = Filter::decode(read(&files[0]).unwrap()).unwrap();
        for file in &files[1..] {
            blob = Filter::apply(&blob, bloom_wasm::Delta::decode(read(file).unwrap()).unwrap()).unwrap();
        }
        assert_eq!(blob.profile(), Profile::Raw);
        members.iter().all(|key| blob.stack().has(key.as_bytes()))
    };
    assert!(has_all(&folder));
    // Generations have a limit.
    list(&folder, 201);
    let (code, _, err) = tool(&folder, PUBLISH);
    assert!(code == 2 && err.contains("taken over"), "{err}");
}

/// A first run that failed has used up a number, but what lies in the folder isn't its own.
#[test]
fn a_feed_that_never_came_replaces_no_other() {
    let [folder, other] = [feed(1), feed(1)];
    // As a run leaves it that couldn't put its manifest in place.
    change_state(&folder, |state| {
        for (field, value) in [("members", Value::Null), ("manifest", json!("")), ("files", json!([]))] {
            state[field] = value;
        }
    });
    let live = manifest(&other, "feed.json");
    plant(&folder, "feed.json", forged(&other, &live, &json!({}), Some("stranger")));
    refused(&folder, BEGIN, "none of the given keys has signed it");
    fs::remove_file(folder.path().join("public/feed.json")).unwrap();
    plant(&folder, "shards.json", live);
    refused(&folder, BEGIN, "there is another feed here");
    fs::remove_file(folder.path().join("public/shards.json")).unwrap();
    done(&folder, BEGIN);
    assert_eq!(payload(&manifest(&folder, "feed.json"))["generation"], 2);
}

/// Somebody who also controls the folder can put a base there that isn't of this list.
#[test]
fn who_writes_the_state_and_the_folder_has_any_list_signed() {
    let folder = feed(1);
    let other = feed(0);
    fs::write(other.path().join("list"), "mine.test\n").unwrap();
    done(&other, &format!("{BEGIN} --fpr 0.01 --seed 7 --name Demo"));
    let base = payload(&manifest(&other, "feed.json"))["files"][0].clone();
    let name = base["sha256"].as_str().unwrap().to_owned();
    fs::copy(other.path().join("public").join(&name), folder.path().join("public").join(&name)).unwrap();
    change_state(&folder, |state| {
        for member in ["kind", "bytes", "sha256"] {
            state["files"][0][member] = base[member].clone();
        }
        state["manifest"] = "".into();
    });
    done(&folder, PUBLISH);
    verified(&folder);
    assert_eq!(payload(&manifest(&folder, "feed.json"))["files"], json!([base]));
}

#[test]
fn who_writes_the_state_has_no_other_files_deleted() {
    let folder = feed(2);
    let mine = folder.path().join("mine");
    fs::write(&mine, "mine").unwrap();
    let state = fs::read(folder.path().join("state/state.json")).unwrap();
    let wrong = "it names files that no feed has";
    for name in ["../mine", "mine", "", "/etc/passwd"] {
        change_state(&folder, |state| state["unlisted"] = json!([{ "sha256": name, "since": 0 }]));
        refused(&folder, PUBLISH, wrong);
        fs::write(folder.path().join("state/state.json"), &state).unwrap();
        change_state(&folder, |state| state["members"]["name"] = name.into());
        refused(&folder, PUBLISH, wrong);
        fs::write(folder.path().join("state/state.json"), &state).unwrap();
        change_state(&folder, |state| state["files"][0]["sha256"] = name.into());
        refused(&folder, PUBLISH, wrong);
        fs::write(folder.path().join("state/state.json"), &state).unwrap();
    }
    assert_eq!(fs::read(mine).unwrap(), b"mine");
    done(&folder, PUBLISH);
}

/// The files of the folder `public`, whose names end like this.
fn published(folder: &TempDir, ending: &str) -> Vec<std::path::PathBuf> {
    let paths = fs::read_dir(folder.path().join("public")).unwrap().map(|entry| entry.unwrap().path());
    let ends = |path: &std::path::PathBuf| path.display().to_string().ends_with(ending);
    paths.filter(|path| ends(path) && !path.is_dir()).collect()
}

/// What can be put in the place of a file: links to a file of mine, to nothing and in a circle, and a pipe.
#[cfg(unix)]
const ODD: [&str; 4] = ["mine", "nothing", "circle", "pipe"];

#[cfg(unix)]
fn put_in_place(folder: &TempDir, path: &Path, what: &str) {
    use std::os::unix::fs::symlink;
    fs::remove_file(path).unwrap();
    match what {
        "pipe" => assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success()),
        "circle" => symlink(path.file_name().unwrap(), path).unwrap(),
        other => symlink(folder.path().join(other), path).unwrap(),
    }
}

/// Fails unless all is as it was, and every file in `public` is one.
#[cfg(unix)]
fn only_replaced(folder: &TempDir, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    assert_eq!(fs::read(folder.path().join("mine")).unwrap(), b"mine");
    assert!(!folder.path().join("nothing").exists());
    for path in published(folder, "") {
        let file = fs::symlink_metadata(&path).unwrap();
        assert!(file.is_file() && file.permissions().mode() & 0o777 == mode, "{}", path.display());
    }
}

#[cfg(unix)]
#[test]
fn no_link_of_the_folder_is_followed() {
    use std::os::unix::fs::PermissionsExt;
    let folder = feed(1);
    let mine = folder.path().join("mine");
    fs::write(&mine, "mine").unwrap();
    fs::set_permissions(&mine, PermissionsExt::from_mode(0o777)).unwrap();
    let mode = published(&folder, "feed.json")[0].metadata().unwrap().permissions().mode() & 0o777;
    for what in ODD {
        let manifest = folder.path().join("public/feed.json");
        for path in published(&folder, "") {
            put_in_place(&folder, &path, what);
        }
        let (code, _, err) = tool(&folder, PUBLISH);
        assert!(code == 0 && err.lines().count() <= 1, "{what}: {err}");
        assert_eq!(err.contains("not trusted"), what != "nothing", "{what}: {err}");
        assert!(manifest.is_file());
        only_replaced(&folder, mode);
        verified(&folder);
    }
}

#[cfg(unix)]
#[test]
fn no_link_of_a_folder_of_shards_is_followed() {
    use std::os::unix::fs::PermissionsExt;
    let folder = home();
    done(&folder, SHARDS);
    let mine = folder.path().join("mine");
    fs::write(&mine, "mine").unwrap();
    fs::set_permissions(&mine, PermissionsExt::from_mode(0o777)).unwrap();
    let mode = published(&folder, "shards.json")[0].metadata().unwrap().permissions().mode() & 0o777;
    for what in ODD {
        for path in published(&folder, "") {
            put_in_place(&folder, &path, what);
        }
        let (code, _, err) = tool(&folder, SHARDS);
        assert!(code == 0, "{what}: {err}");
        only_replaced(&folder, mode);
        done(&folder, "check @public key-1.test");
        verified(&folder);
    }
    // A link that leads to the same bytes may lead elsewhere tomorrow.
    let shard = published(&folder, "").into_iter().find(|path| !path.ends_with("shards.json")).unwrap();
    fs::copy(&shard, &mine).unwrap();
    put_in_place(&folder, &shard, "mine");
    done(&folder, SHARDS);
    assert!(fs::symlink_metadata(&shard).unwrap().is_file());
}

#[test]
fn a_folder_in_the_place_of_a_file_is_told() {
    let folder = feed(1);
    let manifest = folder.path().join("public/feed.json");
    let kept = fs::read(&manifest).unwrap();
    fs::remove_file(&manifest).unwrap();
    fs::create_dir(&manifest).unwrap();
    refused_at(&folder, PUBLISH, "feed.json: is a directory");
    fs::remove_dir(&manifest).unwrap();
    fs::write(&manifest, kept).unwrap();
    let base = published(&folder, "").into_iter().find(|path| *path != manifest).unwrap();
    fs::remove_file(&base).unwrap();
    fs::create_dir(&base).unwrap();
    refused_at(&folder, PUBLISH, &format!("{}: is a directory", base.display()));
    fs::remove_dir(&base).unwrap();
    done(&folder, PUBLISH);
    verified(&folder);

    let folder = home();
    done(&folder, SHARDS);
    let manifest = folder.path().join("public/shards.json");
    fs::remove_file(&manifest).unwrap();
    fs::create_dir(&manifest).unwrap();
    refused_at(&folder, SHARDS, "shards.json: is a directory");
    fs::remove_dir(&manifest).unwrap();
    done(&folder, SHARDS);
}

fn refused_at(folder: &TempDir, args: &str, words: &str) {
    let (code, _, err) = tool(folder, args);
    assert!(code == 2 && err.contains(words) && err.lines().count() == 1, "{args}: {code} {err}");
}

/// Every row of SECURITY.md's table names an existing test.
#[test]
fn every_row_of_the_table_has_a_test() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let text = fs::read_to_string(root.join("SECURITY.md")).unwrap();
    let (_, section) = text.split_once("## Who can do what to a feed").unwrap();
    let section = section.split("\n## ").next().unwrap();
    let rows: Vec<_> = section.lines().filter(|line| line.starts_with("| ")).collect();
    assert!(rows.len() > 20, "{} rows", rows.len());
    for row in rows.iter().filter(|row| !row.starts_with("| ---")) {
        let cell = row.trim_end_matches(" |").rsplit("| ").next().unwrap();
        if cell == "test" {
            continue;
        }
        let mut names = 0;
        for (file, name) in cell.split('`').filter_map(|code| code.split_once(": ")) {
            let source = fs::read_to_string(root.join(file)).unwrap();
            let found =
                source.contains(&format!("fn {name}()")) || source.contains(&format!("test(\"{name}"));
            assert!(found, "{file} has no test {name:?}");
            names += 1;
        }
        assert!(names > 0, "{row}");
    }
}
