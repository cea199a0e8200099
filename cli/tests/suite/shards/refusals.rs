//! What is refused: what contradicts the feed, lists that shrink, and files that are damaged.

use std::fs;

use bloom_wasm::hash;
use serde_json::Value;
use tempfile::TempDir;

use super::{begin, files, keys, payload, publish, shards, write};
use crate::in_process::{age, done, refused, tool_with};

#[test]
fn what_is_damaged_is_refused_by_name() {
    let folder = TempDir::new().unwrap();
    let dir = folder.path().join("out");
    write(&folder, "list", keys(0..1000));
    done(&folder, &(begin("out", 2) + " --seed 1"));
    let page = payload(&dir)["pages"][0].as_str().unwrap().to_owned();
    let blobs: Vec<_> = files(&dir).into_iter().filter(|name| name.len() == 64 && *name != page).collect();
    let all = keys(0..100).collect::<Vec<_>>().join("\n");
    let refuses = |words: &str| {
        let (code, _, err) = tool_with(&folder, "check @out", all.as_bytes());
        assert!(code == 2 && err.contains(words) && err.lines().count() == 1, "{code}: {err}");
    };
    for name in blobs.iter().chain([&page]) {
        let path = dir.join(name);
        let bytes = fs::read(&path).unwrap();
        let mut changed = bytes.clone();
        changed[bytes.len() / 2] ^= 1;
        for damaged in [&bytes[..bytes.len() - 1], &[], &changed, &[&bytes[..], &[0]].concat()] {
            fs::write(&path, damaged).unwrap();
            refuses(&format!("{name} is damaged"));
        }
        fs::remove_file(&path).unwrap();
        refuses(name);
        fs::write(&path, bytes).unwrap();
    }
    // The other shard under this one's name.
    fs::copy(dir.join(&blobs[0]), dir.join(&blobs[1])).unwrap();
    refuses(&format!("{} is damaged", blobs[1]));
    // The next run mends it.
    let report: Value = serde_json::from_str(&done(&folder, &(publish("out") + " --json"))).unwrap();
    let mended = fs::metadata(dir.join(&blobs[1])).unwrap().len();
    assert_eq!((&report["published"], &report["written"]), (&false.into(), &1.into()));
    assert_eq!(report["writtenBytes"], mended);
    shards(&dir);
    // And a page too.
    fs::write(dir.join(&page), b"damaged").unwrap();
    done(&folder, &publish("out"));
    shards(&dir);
    fs::write(dir.join("shards.json"), "{}").unwrap();
    refuses("shards.json");
    fs::remove_file(dir.join("shards.json")).unwrap();
    refuses("shards.json");
}

#[test]
fn signatures() {
    let folder = TempDir::new().unwrap();
    write(&folder, "list", keys(0..100));
    done(&folder, "feed keygen -o @key");
    done(&folder, &(begin("out", 2) + " --sign @key"));
    refused(&folder, &publish("out"), "clients expect that: give --sign");
    assert!(done(&folder, &(publish("out") + " --sign @key")).contains("unchanged"));
    // `feed verify` reads such a folder, too.
    done(&folder, "feed keygen -o @other");
    let keys = ["key", "other"].map(|key| done(&folder, &format!("feed pubkey @{key}")).trim().to_owned());
    let [key, other] = keys.map(|key| format!("feed verify @out --public-key={key}"));
    let said = done(&folder, &key);
    assert!(said.contains("by one of the given keys") && said.contains("keys        100\n"), "{said}");
    assert!(done(&folder, "feed verify @out").contains("not checked: give --public-key"));
    let info: Value = serde_json::from_str(&done(&folder, &format!("{key} --json"))).unwrap();
    assert_eq!([&info["verified"], &info["expired"], &info["keyed"]], [true, false, false]);
    assert_eq!([&info["count"], &info["shards"]], [100, 2]);
    refused(&folder, &other, "shards.json: none of these keys has signed it");
    refused(&folder, "feed verify @nothing", "there is no feed.json or shards.json here");
    refused(&folder, "feed verify @out/shards.json", "shards.json: this is a file; give its folder");
    fs::create_dir(folder.path().join("copy")).unwrap();
    for name in files(&folder.path().join("out")) {
        fs::copy(folder.path().join("out").join(&name), folder.path().join("copy").join(&name)).unwrap();
    }
    let longest = files(&folder.path().join("copy")).into_iter().max_by_key(|name| {
        if name.len() == 64 { fs::metadata(folder.path().join("copy").join(name)).unwrap().len() } else { 0 }
    });
    fs::write(folder.path().join("copy").join(longest.unwrap()), "damaged").unwrap();
    refused(&folder, &key.replace("@out", "@copy"), "is damaged");
    done(&folder, &(begin("old", 2) + " --sign @key --created-at 2020-01-01T00:00:00Z"));
    let (code, said, _) = tool_with(&folder, &key.replace("@out", "@old"), b"");
    assert!(code == 1 && said.contains("so it has expired"), "{code} {said}");
    done(&folder, &(publish("out") + " --unsigned"));
    let manifest: Value =
        serde_json::from_slice(&fs::read(folder.path().join("out/shards.json")).unwrap()).unwrap();
    assert_eq!(manifest["signatures"], Value::Array(Vec::new()));
}

#[test]
fn a_list_that_shrinks_is_not_published() {
    let folder = TempDir::new().unwrap();
    let dir = folder.path().join("out");
    let run = publish("out");
    write(&folder, "list", keys(0..1000));
    done(&folder, &begin("out", 4));
    let (before, there) = (payload(&dir), files(&dir));
    write(&folder, "list", ["<!doctype html>".to_owned(), "<title>Maintenance</title>".to_owned()]);
    refused(&folder, &run, "this is a page of HTML or XML");
    write(&folder, "list", ["503 Service Unavailable".to_owned(), "Please try again later.".to_owned()]);
    refused(&folder, &run, "998 of 1,000 keys would be removed, and at most 25% may be");
    write(&folder, "list", keys(0..749));
    refused(&folder, &run, "--max-removed 100%");
    assert_eq!(files(&dir), there);
    // Enough lines, but few keys.
    write(&folder, "list", keys(0..500).chain(keys(0..500)));
    refused(&folder, &run, "500 of 1,000 keys");
    // It had written its shards.
    assert_eq!((payload(&dir), files(&dir)), (before, there));
    refused(&folder, &format!("{run} --max-removed 40%"), "at most 40%");
    write(&folder, "list", keys(0..750));
    done(&folder, &run);
    write(&folder, "list", []);
    refused(&folder, &format!("{run} --max-removed 100%"), "--allow-empty");
    refused(&folder, &format!("{run} --allow-empty"), "750 of 750 keys");
    // One of two lists, or of a list and an allowlist, is empty.
    write(&folder, "whole", keys(0..750));
    for more in ["@whole", "--allow @whole"] {
        refused(&folder, &format!("{run} {more}"), "list: this list gave no key");
    }
    let of_whole = run.replace("@list", "@whole");
    refused(&folder, &format!("{of_whole} --allow @list"), "list: this list gave no key");
    done(&folder, &format!("{run} @whole --allow-empty --max-removed 100%"));
    done(&folder, &format!("{run} --allow-empty --max-removed 100%"));
    assert_eq!(payload(&dir)["count"], 0);

    // The same for shards that were built elsewhere.
    write(&folder, "list", keys(0..1000));
    done(&folder, &begin("of-parts", 1));
    let digests = (0..700).map(|i| hash::digest(0, format!("key-{i}").as_bytes()));
    let bytes: Vec<u8> = digests.flat_map(u64::to_le_bytes).collect();
    assert_eq!(tool_with(&folder, "feed build-shard --shards 1 --index 0 -o @parts", &bytes).0, 0);
    let of_parts = publish("of-parts").replace("@list", "@parts");
    refused(&folder, &of_parts, "300 of 1,000 keys");
    done(&folder, &format!("{of_parts} --max-removed 30%"));
    assert_eq!(payload(&folder.path().join("of-parts"))["count"], 700);
}

/// A large list would hide that. The lines of a list are counted, since its keys are too many to be held in memory.
#[test]
fn one_list_of_several_that_shrinks_or_is_missing_is_not_published() {
    let folder = TempDir::new().unwrap();
    let dir = folder.path().join("out");
    write(&folder, "list", keys(0..10_000));
    write(&folder, "small", keys(20_000..20_200));
    write(&folder, "allow", keys(30_000..30_200));
    let run = publish("out") + " @small";
    done(&folder, &(begin("out", 4) + " @small --allow @allow"));
    let before = (payload(&dir), files(&dir));
    write(&folder, "small", keys(20_000..20_149));
    refused(&folder, &run, "small: this list has 149 keys, and had 200; at most 25% may be removed");
    refused(&folder, &publish("out"), "small: this list is missing, and had 200 keys");
    write(&folder, "small", keys(20_000..20_200));
    write(&folder, "allow", keys(30_000..30_149));
    refused(&folder, &run, "allow: this list has 149 keys, and had 200");
    assert_eq!((payload(&dir), files(&dir)), before);
    done(&folder, &format!("{run} --max-removed 26%"));
    done(&folder, &format!("{} --max-removed 100%", publish("out")));
    assert_eq!(payload(&dir)["count"], 10_000);
    done(&folder, &publish("out"));
}

/// Without the manifest and the state nobody knows the `feedId`, by which clients follow the feed.
#[test]
fn a_folder_without_its_manifest_begins_no_other_feed() {
    let folder = TempDir::new().unwrap();
    let dir = folder.path().join("out");
    write(&folder, "list", keys(0..1000));
    done(&folder, &begin("out", 4));
    let (first, manifest) = (payload(&dir), fs::read(dir.join("shards.json")).unwrap());
    fs::remove_file(dir.join("shards.json")).unwrap();
    let [state, away] = ["out.state", "away"].map(|name| folder.path().join(name));
    fs::rename(&state, &away).unwrap();
    let there = files(&dir);
    for options in [" --profile raw --shards 4", " --profile raw --shards 1", " --profile url"] {
        let words =
            "there are files of a feed here, but neither its manifest nor its state: put one of them back";
        refused(&folder, &(publish("out") + options), words);
        assert_eq!(files(&dir), there);
    }
    refused(&folder, &publish("out"), "there is no state of a feed here");
    // Either is put back.
    fs::remove_dir_all(&state).unwrap();
    fs::rename(&away, &state).unwrap();
    done(&folder, &publish("out"));
    fs::remove_dir_all(&state).unwrap();
    fs::write(dir.join("shards.json"), &manifest).unwrap();
    done(&folder, &begin("out", 4));
    assert_eq!(payload(&dir)["feedId"], first["feedId"]);
    // In another folder, another one begins.
    done(&folder, &begin("other", 4));
    assert_ne!(payload(&folder.path().join("other"))["feedId"], first["feedId"]);
}

#[test]
fn a_feed_keeps_its_profile() {
    let folder = TempDir::new().unwrap();
    write(&folder, "list", "5BAA61E4C9B93F3F0682250B6CF8331B7EE68FD8".lines().map(str::to_owned));
    let all = [
        " --profile raw",
        " --profile url",
        " --profile password",
        " --profile password --lowercase",
        " --profile password --sha1",
    ];
    for (i, first) in all.iter().enumerate() {
        let run = publish(&format!("out-{i}")) + " --allow-empty";
        done(&folder, &format!("{run} --shards 2{first}"));
        for next in &all {
            let args = format!("{run}{next}");
            if first == next {
                done(&folder, &args);
            } else {
                refused(&folder, &args, &format!(": the feed has{first}; begin another feed to change that"));
            }
        }
        for option in ["--lowercase", "--sha1"] {
            let args = format!("{run} {option}");
            if first.contains(option) {
                done(&folder, &args);
            } else {
                refused(&folder, &args, &format!("{option}: the feed has{first};"));
            }
        }
    }
}

#[test]
fn what_contradicts_the_feed_is_refused_by_name() {
    let folder = TempDir::new().unwrap();
    let dir = folder.path().join("out");
    write(&folder, "list", keys(0..100));
    write(&folder, "secret", ["000102030405060708090a0b0c0d0e0f".to_owned()]);
    done(&folder, &(begin("out", 4) + " --fpr 0.01 --seed 7"));
    let read = || {
        (
            fs::read(dir.join("shards.json")).unwrap(),
            fs::read(folder.path().join("out.state/state.json")).unwrap(),
        )
    };
    let (before, there) = (read(), files(&dir));
    // Nor is the next list published.
    write(&folder, "list", keys(0..101));
    for (option, words) in [
        ("--shards 8", "out.state: --shards: the feed has 4; begin another feed to change that"),
        ("--profile url", "--profile: the feed has --profile raw; "),
        ("--fpr 0.02", "--fpr: the feed has 0.01; "),
        ("--seed 8", "--seed: the feed has 7; "),
        ("--name words", "--name: the feed has none; "),
        ("--sha1", "--sha1: the feed has --profile raw; "),
        ("--secret-file @secret", "[wrong_secret]"),
    ] {
        refused(&folder, &format!("{} {option}", publish("out")), words);
        assert!(read() == before && files(&dir) == there, "{option}");
    }
    done(&folder, &(begin("out", 4) + " --fpr 0.01 --seed 7"));
    assert_eq!(payload(&dir)["generation"], 2);
    // One without shards has none.
    done(&folder, &format!("{} --profile raw", publish("whole")));
    refused(&folder, &begin("whole", 4), "--shards: the feed has none; ");
}

#[test]
fn a_folder_has_one_feed() {
    let folder = TempDir::new().unwrap();
    write(&folder, "list", keys(0..100));
    done(&folder, &begin("out", 4));
    done(&folder, &(publish("whole") + " --profile raw"));
    let out = folder.path().join("out");
    let put = |name: &str, dir: &str| {
        fs::copy(
            folder.path().join(dir).join(name),
            folder.path().join(if dir == "out" { "whole" } else { "out" }).join(name),
        )
        .unwrap();
    };
    // Another feed, with a state of its own, in the folder of the first.
    let other = publish("out").replace("@out.state", "@other") + " --profile raw";
    refused(&folder, &(other + " --shards 8"), "--shards: the feed has 4");
    put("feed.json", "whole");
    put("shards.json", "out");
    let before = files(&out);
    let lost = publish("out").replace("@out.state", "@lost");
    refused(
        &folder,
        &(lost + " --profile raw"),
        "shards.json: there is another feed here; a folder can have only one",
    );
    assert_eq!(files(&out), before);
    // Somebody who can put a file there can't stop a feed that has begun.
    for dir in ["out", "whole"] {
        let (code, _, err) = tool_with(&folder, &publish(dir), b"");
        assert!(code == 0 && err.contains("json: this belongs to no feed that was begun here"), "{err}");
    }
}

#[test]
fn one_run_at_a_time() {
    let folder = TempDir::new().unwrap();
    write(&folder, "list", keys(0..10));
    done(&folder, &begin("out", 1));
    done(&folder, "feed build-shard --shards 1 --index 0 -o @parts");
    let lock = folder.path().join("out.state/feed.lock");
    assert!(!lock.exists());
    let before = files(&folder.path().join("out"));
    fs::write(&lock, "0123456789abcdef0123456789abcdef").unwrap();
    refused(&folder, &publish("out"), "another run is writing here");
    let of_parts = publish("out").replace("@list", "@parts");
    refused(&folder, &of_parts, "another run is writing here");
    assert!(folder.path().join("parts/shard-00000.bloom").exists());
    age(&lock, 61);
    done(&folder, &publish("out"));
    assert_eq!(files(&folder.path().join("out")), before);
}

#[test]
fn errors() {
    let folder = TempDir::new().unwrap();
    write(&folder, "list", keys(0..100));
    write(&folder, "empty", []);
    for shards in ["0", "3", "131072"] {
        let args = format!("{} --profile raw --shards {shards}", publish("out"));
        refused(&folder, &args, "--shards: ");
        refused(&folder, &args, "a power of two");
    }
    refused(&folder, &publish("out"), "--profile raw, url or password");
    refused(&folder, &(publish("out") + " --shards 4"), "--profile raw, url or password");
    refused(&folder, &begin("list", 2), "list");
    refused(
        &folder,
        &begin("served", 2).replace("@served.state", "@served/state"),
        "must not be in the folder",
    );
    refused(&folder, &(begin("out", 2) + " --expires-in 500000y"), "the time is too late");
    refused(&folder, &(begin("out", 2) + " --expires-in 0s"), "--expires-in");
    let url = publish("out") + " --profile url --shards 2 --fpr 5e-10";
    refused(&folder, &url, "--fpr: fpr must be");
    let long = "n".repeat(256);
    refused(&folder, &(begin("out", 2) + " --name " + &long), "255");
    refused(
        &folder,
        "build @list --shards 2 -o @out",
        "it is an option of `feed publish`, `feed build-shard`",
    );
    let of_empty = begin("out", 4).replace("@list", "@empty");
    refused(&folder, &of_empty, "--allow-empty");
    refused(&folder, &begin("out", 2).replace("@list", "@missing"), "missing");
    assert!(!folder.path().join("out/shards.json").exists());
    done(&folder, &(of_empty + " --allow-empty"));
    assert_eq!(files(&folder.path().join("out")).len(), 3, "one file for all shards without keys");
    assert_eq!(tool_with(&folder, "check @out key-1", b"").0, 1);
    refused(&folder, "verify @out --members @list --absent @list", "--absent");
}
