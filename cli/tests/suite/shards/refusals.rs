//! What is refused: files that are damaged or of another feed, and what contradicts the feed.

use std::fs;

use base64ct::{Base64UrlUnpadded, Encoding};
use serde_json::json;
use sha2::{Digest, Sha256};

use super::{counts, hex, named, pages, payload, publish};
use crate::feed::{PUBLISH, feed, files, lines, lose, names, tell, write_list};
use crate::in_process::{done, read, refused, told, tool, tool_with, write};

#[test]
fn what_is_damaged_is_refused_by_name() {
    let folder = feed("shards = 2\nseed = 1");
    let dir = folder.path().join("public");
    publish(&folder, 1000);
    let page = pages(&folder).remove(0);
    let blobs: Vec<_> = named(&folder).into_iter().filter(|name| *name != page).collect();
    let all = lines(0..100);
    let refuses = |words: &str| {
        let (code, _, err) = tool_with(&folder, "check @public", all.as_bytes());
        assert!(code == 2 && err.contains(words) && err.lines().count() == 1, "{code}: {err}");
        // `feed verify` reads all files.
        refused(&folder, "feed verify @public", words);
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
    counts(&folder);
    // And a page too.
    fs::write(dir.join(&page), b"damaged").unwrap();
    done(&folder, PUBLISH);
    counts(&folder);
    // A page that tells another number of keys than its shards have.
    let mut other = fs::read(dir.join(&page)).unwrap();
    other[36] ^= 1;
    let name = hex(&Sha256::digest(&other));
    fs::write(dir.join(&name), other).unwrap();
    let mut payload = payload(&folder);
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
    let folder = feed("shards = 2");
    write_list(&folder, 0..100);
    done(&folder, &format!("{PUBLISH} --created-at 2020-01-01T00:00:00Z"));
    let (code, said, _) = tool(&folder, "feed verify @public --json");
    let info: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert_eq!(code, 1, "it has expired");
    let told = ["verified", "expired", "keyed", "count", "shards"].map(|name| info[name].clone());
    assert_eq!(told, [json!(null), json!(true), json!(false), json!(100), json!(2)]);
    refused(&folder, "feed verify @public/shards.json", "shards.json: this is a file; give its folder");
    refused(&folder, "verify @public --members @list --absent @list", "--absent");
}

#[test]
fn a_feed_keeps_what_it_began_with() {
    let same = "profile = 'raw'\nshards = 4\nfpr = 0.01\nseed = 7";
    let folder = feed(same);
    write(&folder, "secret", "000102030405060708090a0b0c0d0e0f");
    publish(&folder, 100);
    let all = || (files(&folder), read(&folder, "state/state.json"));
    let before = all();
    // Nor is the next list published.
    write_list(&folder, 0..101);
    for (key, other, words) in [
        ("shards = 4", "shards = 8", "`shards` was 4"),
        ("shards = 4\n", "", "`shards` was 4"),
        ("'raw'", "'url'", "`profile` was "),
        ("'raw'", "'password'", "`profile` was "),
        ("fpr = 0.01", "fpr = 0.02", "`fpr` was 0.01"),
        ("seed = 7", "seed = 8", "`seed` was 7"),
        ("seed = 7", "seed = 7\nsecret = 'secret'", "`secret` was "),
    ] {
        tell(&folder, &same.replace(key, other), "");
        refused(&folder, PUBLISH, words);
        assert!(all() == before, "{other}");
    }
    // With the state lost, the manifest tells.
    lose(&folder, "state");
    tell(&folder, &same.replace("shards = 4", "shards = 8"), "");
    refused(
        &folder,
        PUBLISH,
        "`shards` was 4, and a feed keeps it for ever; begin another feed to change that",
    );
    tell(&folder, same, "");
    done(&folder, &format!("{PUBLISH} --max-removed 100%"));
    assert_eq!(payload(&folder)["count"], 101);
}

#[test]
fn a_folder_has_one_feed() {
    let [sharded, whole] = [feed("shards = 4"), feed("")];
    for folder in [&sharded, &whole] {
        publish(folder, 100);
    }
    write(&sharded, "public/feed.json", read(&whole, "public/feed.json"));
    write(&whole, "public/shards.json", read(&sharded, "public/shards.json"));
    // Another feed, with a state of its own, in the folder of the first.
    let before = files(&sharded);
    tell(&sharded, "state = 'lost'", "");
    refused(&sharded, PUBLISH, "shards.json: there is another feed here; a folder can have only one");
    assert!(files(&sharded) == before);
    tell(&sharded, "shards = 4", "");
    // Somebody who can put a file there can't stop a feed that has begun.
    for folder in [&sharded, &whole] {
        let (code, _, err) = tool(folder, PUBLISH);
        assert!(code == 0 && err.contains("json: this belongs to no feed that was begun here"), "{err}");
    }
}

#[test]
fn impossible_shards_are_refused() {
    let folder = feed("");
    write_list(&folder, 0..100);
    for shards in [0, 3, 131_072] {
        tell(&folder, &format!("shards = {shards}"), "");
        refused(&folder, PUBLISH, "`shards`: ");
    }
    tell(&folder, "profile = 'url'\nshards = 2\nfpr = 5e-10", "");
    refused(&folder, PUBLISH, "`fpr`: ");
    assert!(names(&folder).is_empty());
}
