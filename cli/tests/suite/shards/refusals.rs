//! What is refused: what contradicts the feed, lists that shrink, and files that are damaged.

use std::fs;

use bloom_wasm::hash;
use serde_json::Value;
use tempfile::TempDir;

use super::{PUBLISH, begin, describe, files, keys, payload, raw, shards, write};
use crate::in_process::{age, declare, done, refused, tool_with};

#[test]
fn what_is_damaged_is_refused_by_name() {
    let folder = TempDir::new().unwrap();
    let dir = folder.path().join("out");
    write(&folder, "list", keys(0..1000));
    begin(&folder, "out", 2, "seed = 1");
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
    let report: Value = serde_json::from_str(&done(&folder, &format!("{PUBLISH} --json"))).unwrap();
    let mended = fs::metadata(dir.join(&blobs[1])).unwrap().len();
    assert_eq!((&report["published"], &report["written"]), (&false.into(), &1.into()));
    assert_eq!(report["writtenBytes"], mended);
    shards(&dir);
    // And a page too.
    fs::write(dir.join(&page), b"damaged").unwrap();
    done(&folder, PUBLISH);
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
    done(&folder, "feed keygen -o @other");
    let keys = ["key", "other"].map(|key| done(&folder, &format!("feed pubkey @{key}")).trim().to_owned());
    let signed = |dir: &str, sign: &str| {
        let above = format!("public = '{dir}'\nstate = '{dir}.state'\nprofile = 'raw'\nshards = 2\n{sign}");
        declare(&folder, &above, "list = 'list'");
    };
    signed("out", "sign = ['key']");
    done(&folder, PUBLISH);
    signed("out", "sign = []");
    refused(&folder, PUBLISH, "another key has signed the feed until now");
    signed("out", "sign = ['key']");
    assert!(done(&folder, PUBLISH).contains("unchanged"));
    // `feed verify` reads such a folder, too.
    let [key, other] = keys.each_ref().map(|key| format!("feed verify @out --public-key={key}"));
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
    signed("old", "sign = ['key']");
    done(&folder, &format!("{PUBLISH} --created-at 2020-01-01T00:00:00Z"));
    let (code, said, _) = tool_with(&folder, &key.replace("@out", "@old"), b"");
    assert!(code == 1 && said.contains("so it has expired"), "{code} {said}");
    signed("out", &format!("sign = []\nformer-keys = ['{}']", keys[0]));
    done(&folder, PUBLISH);
    let manifest: Value =
        serde_json::from_slice(&fs::read(folder.path().join("out/shards.json")).unwrap()).unwrap();
    assert_eq!(manifest["signatures"], Value::Array(Vec::new()));
}

#[test]
fn a_list_that_shrinks_is_not_published() {
    let folder = TempDir::new().unwrap();
    let dir = folder.path().join("out");
    write(&folder, "list", keys(0..1000));
    begin(&folder, "out", 4, "");
    let (before, there) = (payload(&dir), files(&dir));
    write(&folder, "list", ["<!doctype html>".to_owned(), "<title>Maintenance</title>".to_owned()]);
    refused(&folder, PUBLISH, "this is a page of HTML or XML");
    write(&folder, "list", ["503 Service Unavailable".to_owned(), "Please try again later.".to_owned()]);
    refused(&folder, PUBLISH, "list: this list has 2 keys, and had 1,000; at most 25% may be removed");
    write(&folder, "list", keys(0..749));
    refused(&folder, PUBLISH, "--max-removed 100%");
    assert_eq!(files(&dir), there);
    // Enough lines, but few keys.
    write(&folder, "list", keys(0..500).chain(keys(0..500)));
    refused(&folder, PUBLISH, "500 of 1,000 keys would be removed");
    // It had written its shards.
    assert_eq!((payload(&dir), files(&dir)), (before, there));
    refused(&folder, &format!("{PUBLISH} --max-removed 40%"), "at most 40%");
    write(&folder, "list", keys(0..750));
    done(&folder, PUBLISH);
    write(&folder, "list", []);
    let all = format!("{PUBLISH} --max-removed 100%");
    refused(&folder, &all, "list: this list gave no key; `allow-empty = true` allows an empty list");
    let above = "public = 'out'\nstate = 'out.state'\nsign = []\nprofile = 'raw'\nshards = 4";
    declare(&folder, above, "list = { file = 'list', allow-empty = true }");
    refused(&folder, PUBLISH, "list: this list has 0 keys, and had 750");
    done(&folder, &all);
    assert_eq!(payload(&dir)["count"], 0);

    // The same for shards that were built elsewhere.
    write(&folder, "list", keys(0..1000));
    begin(&folder, "of-parts", 1, "");
    let digests = (0..700).map(|i| hash::digest(0, format!("key-{i}").as_bytes()));
    let bytes: Vec<u8> = digests.flat_map(u64::to_le_bytes).collect();
    assert_eq!(tool_with(&folder, "feed build-shard --shards 1 --index 0 -o @parts", &bytes).0, 0);
    let above = "public = 'of-parts'\nstate = 'of-parts.state'\nsign = []\nprofile = 'raw'\nshards = 1";
    declare(&folder, &format!("{above}\nparts = 'parts'\ndropped = ['list']"), "");
    refused(&folder, PUBLISH, "300 of 1,000 keys would be removed");
    done(&folder, &format!("{PUBLISH} --max-removed 30%"));
    assert_eq!(payload(&folder.path().join("of-parts"))["count"], 700);
}

/// A large list would hide that. The lines of a list are counted, since its keys are too many to be held in memory.
#[test]
fn one_list_of_several_that_shrinks_or_is_missing_is_not_published() {
    let folder = TempDir::new().unwrap();
    let dir = folder.path().join("out");
    write(&folder, "list", keys(0..10_000));
    write(&folder, "small", keys(20_000..20_200));
    write(&folder, "good", keys(30_000..30_200));
    let above = "public = 'out'\nstate = 'out.state'\nsign = []\nprofile = 'raw'\nshards = 4";
    let both = "list = 'list'\nsmall = 'small'\n[allow]\ngood = 'good'";
    declare(&folder, above, both);
    done(&folder, PUBLISH);
    let before = (payload(&dir), files(&dir));
    write(&folder, "small", keys(20_000..20_149));
    refused(&folder, PUBLISH, "small: this list has 149 keys, and had 200; at most 25% may be removed");
    declare(&folder, above, "list = 'list'\n[allow]\ngood = 'good'");
    refused(
        &folder,
        PUBLISH,
        "small: this list is missing; if it is gone, write dropped = [\"small\"] above [lists]",
    );
    declare(&folder, above, both);
    write(&folder, "small", keys(20_000..20_200));
    write(&folder, "good", keys(30_000..30_149));
    refused(&folder, PUBLISH, "good: this list has 149 keys, and had 200");
    assert_eq!((payload(&dir), files(&dir)), before);
    done(&folder, &format!("{PUBLISH} --max-removed 26%"));
    declare(&folder, &format!("{above}\ndropped = ['small', 'good']"), "list = 'list'");
    done(&folder, PUBLISH);
    assert_eq!(payload(&dir)["count"], 10_000);
}

/// Another copy has published a list since, which this one doesn't know.
#[test]
fn an_old_copy_of_a_state_signs_no_old_list_anew() {
    let folder = TempDir::new().unwrap();
    let dir = folder.path().join("out");
    let json = folder.path().join("out.state/state.json");
    write(&folder, "list", keys(0..1000));
    begin(&folder, "out", 4, "");
    let old = fs::read(&json).unwrap();
    write(&folder, "list", keys(0..1100));
    done(&folder, PUBLISH);
    let (second, there) = (payload(&dir), files(&dir));
    fs::write(&json, old).unwrap();
    write(&folder, "list", keys(0..10));
    refused(&folder, PUBLISH, "; the state is an old copy, so the last list wasn't signed anew");
    assert_eq!((payload(&dir), files(&dir)), (second.clone(), there.clone()));
    write(&folder, "list", keys(0..1200));
    done(&folder, PUBLISH);
    assert!(payload(&dir)["generation"].as_u64() > second["generation"].as_u64());
    assert!(there.is_subset(&files(&dir)));
    done(&folder, "verify @out --members @list --probes 1000");
}

#[test]
fn a_feed_keeps_what_it_began_with() {
    let folder = TempDir::new().unwrap();
    let dir = folder.path().join("out");
    write(&folder, "list", keys(0..100));
    write(&folder, "secret", ["000102030405060708090a0b0c0d0e0f".to_owned()]);
    let same = "profile = 'raw'\nshards = 4\nfpr = 0.01\nseed = 7";
    describe(&folder, "out", same);
    done(&folder, PUBLISH);
    let read = || {
        (
            fs::read(dir.join("shards.json")).unwrap(),
            fs::read(folder.path().join("out.state/state.json")).unwrap(),
        )
    };
    let (before, there) = (read(), files(&dir));
    // Nor is the next list published.
    write(&folder, "list", keys(0..101));
    for (key, other, words) in [
        ("shards = 4", "shards = 8", "`shards` was 4"),
        ("shards = 4\n", "", "`shards` was 4"),
        ("'raw'", "'url'", "`profile` was "),
        ("'raw'", "'password'", "`profile` was "),
        ("fpr = 0.01", "fpr = 0.02", "`fpr` was 0.01"),
        ("seed = 7", "seed = 8", "`seed` was 7"),
        ("seed = 7", "seed = 7\nsecret = 'secret'", "`secret` was "),
    ] {
        describe(&folder, "out", &same.replace(key, other));
        refused(&folder, PUBLISH, words);
        refused(&folder, PUBLISH, ", and a feed keeps it for ever; begin another feed to change that");
        assert!(read() == before && files(&dir) == there, "{other}");
    }
    describe(&folder, "out", same);
    done(&folder, PUBLISH);
    assert_eq!(payload(&dir)["count"], 101);
    // One without shards has none.
    describe(&folder, "whole", "profile = 'raw'");
    done(&folder, PUBLISH);
    raw(&folder, "whole", 4, "");
    refused(&folder, PUBLISH, "`shards` was none, and a feed keeps it for ever");
}

#[test]
fn a_folder_has_one_feed() {
    let folder = TempDir::new().unwrap();
    write(&folder, "list", keys(0..100));
    begin(&folder, "out", 4, "");
    describe(&folder, "whole", "profile = 'raw'");
    done(&folder, PUBLISH);
    let [out, whole] = ["out", "whole"].map(|dir| folder.path().join(dir));
    fs::copy(whole.join("feed.json"), out.join("feed.json")).unwrap();
    fs::copy(out.join("shards.json"), whole.join("shards.json")).unwrap();
    // Another feed, with a state of its own, in the folder of the first.
    let before = files(&out);
    declare(&folder, "public = 'out'\nstate = 'lost'\nsign = []\nprofile = 'raw'", "list = 'list'");
    refused(&folder, PUBLISH, "shards.json: there is another feed here; a folder can have only one");
    assert_eq!(files(&out), before);
    // Somebody who can put a file there can't stop a feed that has begun.
    for (dir, above) in [("out", "profile = 'raw'\nshards = 4"), ("whole", "profile = 'raw'")] {
        describe(&folder, dir, above);
        let (code, _, err) = tool_with(&folder, PUBLISH, b"");
        assert!(code == 0 && err.contains("json: this belongs to no feed that was begun here"), "{err}");
    }
}

#[test]
fn one_run_at_a_time() {
    let folder = TempDir::new().unwrap();
    write(&folder, "list", keys(0..10));
    begin(&folder, "out", 1, "");
    done(&folder, "feed build-shard --shards 1 --index 0 -o @parts");
    let lock = folder.path().join("out.state/feed.lock");
    assert!(!lock.exists());
    let before = files(&folder.path().join("out"));
    fs::write(&lock, "0123456789abcdef0123456789abcdef").unwrap();
    refused(&folder, PUBLISH, "another run is writing here");
    let above = "public = 'out'\nstate = 'out.state'\nsign = []\nprofile = 'raw'\nshards = 1";
    declare(&folder, &format!("{above}\nparts = 'parts'\ndropped = ['list']"), "");
    refused(&folder, PUBLISH, "another run is writing here");
    assert!(folder.path().join("parts/shard-00000.bloom").exists());
    age(&lock, 61);
    begin(&folder, "out", 1, "");
    assert_eq!(files(&folder.path().join("out")), before);
}

#[test]
fn errors() {
    let folder = TempDir::new().unwrap();
    write(&folder, "list", keys(0..100));
    for shards in [0, 3, 131_072] {
        raw(&folder, "out", shards, "");
        refused(&folder, PUBLISH, "`shards`: ");
        refused(&folder, PUBLISH, "a power of two");
    }
    describe(&folder, "out", "profile = 'url'\nshards = 2\nfpr = 5e-10");
    refused(&folder, PUBLISH, "`fpr`: ");
    raw(&folder, "out", 2, "expires-in = '500000y'");
    refused(&folder, PUBLISH, "the time is too late");
    refused(&folder, "build @list --shards 2 -o @out", "it is an option of `feed build-shard`");
    assert!(!folder.path().join("out/shards.json").exists());
    write(&folder, "list", []);
    let above = "public = 'out'\nstate = 'out.state'\nsign = []\nprofile = 'raw'\nshards = 4";
    declare(&folder, above, "list = { file = 'list', allow-empty = true }");
    done(&folder, PUBLISH);
    assert_eq!(files(&folder.path().join("out")).len(), 3, "one file for all shards without keys");
    assert_eq!(tool_with(&folder, "check @out key-1", b"").0, 1);
    refused(&folder, "verify @out --members @list --absent @list", "--absent");
}
