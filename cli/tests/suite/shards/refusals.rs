//! What is refused: files that are damaged or of another feed, and what contradicts the feed.

use std::fs;

use base64ct::{Base64UrlUnpadded, Encoding};
use serde_json::json;
use sha2::{Digest, Sha256};
use tempfile::TempDir;

use super::{PUBLISH, begin, describe, files, hex, keys, payload, raw, shards, write};
use crate::in_process::{declare, done, refused, told, tool_with};

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
        // `feed verify` reads all files.
        refused(&folder, "feed verify @out", words);
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
    let report = told(&folder, PUBLISH);
    let mended = fs::metadata(dir.join(&blobs[1])).unwrap().len();
    assert_eq!((&report["published"], &report["written"]), (&false.into(), &1.into()));
    assert_eq!(report["writtenBytes"], mended);
    shards(&dir);
    // And a page too.
    fs::write(dir.join(&page), b"damaged").unwrap();
    done(&folder, PUBLISH);
    shards(&dir);
    // A page that tells another number of keys than its shards have.
    let mut other = fs::read(dir.join(&page)).unwrap();
    other[36] ^= 1;
    let name = hex(&Sha256::digest(&other));
    fs::write(dir.join(&name), other).unwrap();
    let mut payload = payload(&dir);
    payload["pages"] = json!([name]);
    let payload = Base64UrlUnpadded::encode_string(payload.to_string().as_bytes());
    fs::write(dir.join("shards.json"), json!({ "payload": payload, "signatures": [] }).to_string()).unwrap();
    refuses("it isn't a shard of this filter");
    fs::write(dir.join("shards.json"), "{}").unwrap();
    refuses("shards.json");
    fs::remove_file(dir.join("shards.json")).unwrap();
    refuses("there is no feed.json or shards.json here");
}

#[test]
fn feed_verify_describes_shards() {
    let folder = TempDir::new().unwrap();
    write(&folder, "list", keys(0..100));
    raw(&folder, "out", 2, "");
    done(&folder, &format!("{PUBLISH} --created-at 2020-01-01T00:00:00Z"));
    let (code, said, _) = tool_with(&folder, "feed verify @out --json", b"");
    let info: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert_eq!(code, 1, "it has expired");
    let told = ["verified", "expired", "keyed", "count", "shards"].map(|name| info[name].clone());
    assert_eq!(told, [json!(null), json!(true), json!(false), json!(100), json!(2)]);
    refused(&folder, "feed verify @out/shards.json", "shards.json: this is a file; give its folder");
    refused(&folder, "verify @out --members @list --absent @list", "--absent");
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
        ["out/shards.json", "out.state/state.json"].map(|file| fs::read(folder.path().join(file)).unwrap())
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
        assert!(read() == before && files(&dir) == there, "{other}");
    }
    // With the state lost, the manifest tells.
    fs::remove_dir_all(folder.path().join("out.state")).unwrap();
    describe(&folder, "out", &same.replace("shards = 4", "shards = 8"));
    refused(
        &folder,
        PUBLISH,
        "`shards` was 4, and a feed keeps it for ever; begin another feed to change that",
    );
    describe(&folder, "out", same);
    done(&folder, &format!("{PUBLISH} --max-removed 100%"));
    assert_eq!(payload(&dir)["count"], 101);
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
fn impossible_shards_are_refused() {
    let folder = TempDir::new().unwrap();
    write(&folder, "list", keys(0..100));
    for shards in [0, 3, 131_072] {
        raw(&folder, "out", shards, "");
        refused(&folder, PUBLISH, "`shards`: ");
    }
    describe(&folder, "out", "profile = 'url'\nshards = 2\nfpr = 5e-10");
    refused(&folder, PUBLISH, "`fpr`: ");
    assert!(!folder.path().join("out/shards.json").exists());
}
