//! The tool and tags: lists with names, in a blob and in a feed. The oracle is which lists a key is on.

mod in_process;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use bloom_wasm::{Blob, Delta};
use in_process::{done, refused, tool, write};
use serde_json::Value;
use tempfile::TempDir;

/// Keys, each with the names of its lists; they are separated and sorted by commas.
type Map = BTreeMap<String, BTreeSet<&'static str>>;

const NAMES: [&str; 3] = ["phishing", "malware", "spam"];

/// Writes a list for each name, and `rest` for the keys without one. Returns the arguments for them.
fn lists(folder: &TempDir, map: &Map) -> String {
    let list = |holds: &dyn Fn(&BTreeSet<&str>) -> bool| -> String {
        map.iter().filter(|(_, names)| holds(names)).map(|(key, _)| format!("{key}\n")).collect()
    };
    let mut args = String::new();
    for name in NAMES {
        write(folder, name, list(&|names| names.contains(name)));
        args += &format!(" --tag {name}={}", folder.path().join(name).display());
    }
    write(folder, "rest", list(&|names| names.is_empty()));
    args
}

fn map(total: usize) -> Map {
    let names = |i: usize| {
        let tags = [(i % 10 < 8, "phishing"), (i.is_multiple_of(5), "malware"), (i % 50 == 9, "spam")];
        tags.into_iter().filter_map(|(has, tag)| has.then_some(tag)).collect()
    };
    (0..total).map(|i| (format!("key-{i}"), names(i))).collect()
}

/// What `check` prints of all keys is what the map says.
fn require_exact(folder: &TempDir, file: &str, map: &Map) {
    write(folder, "all", map.keys().map(|key| format!("{key}\n")).collect::<String>());
    let input = in_process::read(folder, "all");
    let (code, out, err) = in_process::tool_with(folder, &format!("check {file}"), &input);
    assert_eq!((code, err.as_str()), (0, ""));
    let expected: String = map
        .iter()
        .map(|(key, names)| match names.is_empty() {
            true => format!("{key}\n"),
            false => {
                let in_order: Vec<_> = NAMES.into_iter().filter(|name| names.contains(name)).collect();
                format!("{key}\t{}\n", in_order.join(","))
            }
        })
        .collect();
    assert!(out == expected, "other tags");
}

#[test]
fn a_blob_with_tags() {
    let folder = TempDir::new().unwrap();
    let map = map(3000);
    let tags = lists(&folder, &map);
    let out = done(&folder, &format!("build @rest{tags} -o @blob"));
    assert!(out.contains("phishing 2,400, malware 600, spam 60"), "{out}");
    require_exact(&folder, "@blob", &map);
    assert_eq!(tool(&folder, "check @blob stranger").0, 1);
    assert!(done(&folder, "info @blob").contains("tags      phishing 2,400, malware 600, spam 60"));
    let json: Value = serde_json::from_str(&done(&folder, "info @blob --json")).unwrap();
    assert_eq!(json["tags"][1], serde_json::json!({ "name": "malware", "count": 600 }));

    // The same lists, whatever their order of keys, give the same bytes; and without tags there are none.
    done(&folder, &format!("build{tags} @rest -o @again"));
    assert_eq!(in_process::read(&folder, "blob"), in_process::read(&folder, "again"));
    done(&folder, "build @all -o @plain");
    assert_eq!(done(&folder, "check @plain key-0"), "key-0\n");
    let json: Value = serde_json::from_str(&done(&folder, "info @plain --json")).unwrap();
    assert_eq!(json["tags"], Value::Null);

    // `verify` counts the keys with other tags.
    let verify = format!("verify @blob --members @rest --probes 1000 --json{tags}");
    let json: Value = serde_json::from_str(&done(&folder, &verify)).unwrap();
    assert_eq!((&json["falseNegatives"], &json["wrongTags"]), (&0.into(), &0.into()));
    write(&folder, "spam", "key-1\nkey-9\n");
    let (code, out, _) = tool(&folder, &verify);
    let json: Value = serde_json::from_str(&out).unwrap();
    // key-1 isn't spam. The others that are spam are on no list now, so they aren't asked for.
    assert_eq!((code, &json["wrongTags"]), (1, &1.into()));
    refused(&folder, &format!("verify @plain --probes 10{tags}"), "has no tags");
}

#[test]
fn urls_have_the_tags_of_all_their_keys() {
    let folder = TempDir::new().unwrap();
    write(&folder, "hosts", "evil.example\n||bad.example^\n");
    write(&folder, "pages", "https://www.evil.example/a\nlocalhost\n");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let tags = format!("--tag hosts={} --tag pages={}", path("hosts"), path("pages"));
    done(&folder, &format!("build --profile url --fpr 1e-6 {tags} -o @blob"));
    let out =
        done(&folder, "check @blob http://www.evil.example/a?b https://x.bad.example/ http://good.example/");
    assert_eq!(out, "http://www.evil.example/a?b\thosts,pages\nhttps://x.bad.example/\thosts\n");
    // A key that is allowed is removed, and has no tags.
    write(&folder, "good", "bad.example\n");
    done(&folder, &format!("build --profile url {tags} --allow @good --allow-wins -o @blob"));
    assert_eq!(tool(&folder, "check @blob http://bad.example/").0, 1);
    assert!(done(&folder, "info @blob").contains("hosts 1, pages 2"));
}

#[test]
fn bad_input() {
    let folder = TempDir::new().unwrap();
    write(&folder, "list", "key\n");
    write(&folder, "none", "");
    let list = folder.path().join("list").display().to_string();
    let none = folder.path().join("none").display().to_string();
    let build = |args: &str, words: &str| {
        refused(&folder, &format!("build {args} -o @blob"), words);
        assert!(!folder.path().join("blob").exists());
    };
    build("--tag a", "NAME=LIST");
    build(&format!("--tag ={list}"), "1 to 255 bytes");
    build(&format!("--tag {}={list}", "x".repeat(256)), "1 to 255 bytes");
    build(&format!("--tag a,b={list}"), "commas");
    build(&format!("--tag a={list} --tag a={list}"), "twice");
    build(&format!("--tag a={list} --kind bloom"), "--kind ribbon");
    build(&format!("--tag a={list} --kind guava"), "--kind ribbon");
    build(&format!("--tag a={list} --shards 4"), "--shards");
    build(&format!("--tag a={list} --tag b={none}"), "the list of --tag b gave no key");
    build("--tag a=- --tag b=-", "only once");
    let many: String = (0..256).map(|i| format!(" --tag tag-{i}={list}")).collect();
    build(&many, "255");
    let most: String = (0..255).map(|i| format!(" --tag tag-{i}={list}")).collect();
    done(&folder, &format!("build{most} -o @blob"));
    assert_eq!(done(&folder, "check @blob key").matches(',').count(), 254, "a key in all lists");
    done(&folder, &format!("build --tag a={list} --tag b={none} --allow-empty -o @blob"));
    assert!(done(&folder, "info @blob").contains("tags      a 1, b 0"));
    // There is no list of updates with tags for `diff`.
    refused(&folder, "diff @list @list --base @blob -o @delta", "tags");
}

/// What a client has after each generation is what the lists say; and the deltas are small.
#[test]
fn a_feed_with_tags() {
    let folder = TempDir::new().unwrap();
    let mut map = map(5000);
    done(&folder, "feed init @feed --state @state --fpr 0.01");
    let publish = |folder: &TempDir, map: &Map, more: &str| {
        let tags = lists(folder, map);
        let rest = if map.values().any(BTreeSet::is_empty) { "@rest" } else { "" };
        tool(folder, &format!("feed publish @feed {rest} --state @state --json{tags}{more}"))
    };
    let mut bases = 0;
    for day in 0..12 {
        let (code, out, err) = publish(&folder, &map, "");
        assert_eq!(code, 0, "{err}");
        let report: Value = serde_json::from_str(&out).unwrap();
        bases += usize::from(report["file"]["kind"] == "base");
        if day > 0 {
            assert_eq!(
                [&report["added"], &report["removed"], &report["retagged"]],
                [&5, &5, &9],
                "day {day}"
            );
        }
        fs::write(folder.path().join("blob"), client(&folder)).unwrap();
        require_exact(&folder, "@blob", &map);

        for i in 0..5 {
            map.remove(&format!("key-{}", day * 5 + i));
            map.insert(format!("new-{day}-{i}"), [NAMES[i % 3]].into());
        }
        for i in 0..9 {
            let names = map.get_mut(&format!("key-{}", 1000 + day * 9 + i)).unwrap();
            if !names.remove("spam") {
                names.insert("spam");
            }
        }
    }
    assert_eq!(bases, 1, "all but the first are deltas");
    // Nothing new is nothing to publish.
    let (_, out, _) = publish(&folder, &map, "");
    assert!(out.contains("\"published\": true"));
    let (_, out, _) = publish(&folder, &map, "");
    assert!(out.contains("\"published\": false") && out.contains("\"retagged\": 0"), "{out}");

    // Tags are neither forgotten nor dropped by mistake.
    write(&folder, "list", map.keys().map(|key| format!("{key}\n")).collect::<String>());
    refused(&folder, "feed publish @feed @list --state @state", "--without-tags");
    let out = done(&folder, "feed publish @feed @list --state @state --without-tags");
    assert!(out.contains("the lists have no tags any more"), "{out}");
    assert_eq!(done(&folder, "feed publish @feed @list --state @state").matches("unchanged").count(), 1);
    let (_, out, _) = publish(&folder, &map, "");
    assert!(out.contains("\"kind\": \"base\""), "{out}");
    fs::write(folder.path().join("blob"), client(&folder)).unwrap();
    require_exact(&folder, "@blob", &map);
}

/// The blob that a client makes of the files of the feed.
fn client(folder: &TempDir) -> Vec<u8> {
    let dir = folder.path().join("feed");
    let manifest: Value = serde_json::from_slice(&fs::read(dir.join("feed.json")).unwrap()).unwrap();
    let payload = decoded(manifest["payload"].as_str().unwrap());
    let payload: Value = serde_json::from_slice(&payload).unwrap();
    let files = payload["files"].as_array().unwrap().iter();
    let mut files = files.map(|file| fs::read(dir.join(file["sha256"].as_str().unwrap())).unwrap());
    let base = Blob::decode(files.next().unwrap()).unwrap();
    let apply = |blob: Blob, delta| blob.apply(Delta::decode_for(&blob, delta).unwrap()).unwrap();
    files.fold(base, apply).encode().unwrap()
}

/// Base64 for URLs.
fn decoded(text: &str) -> Vec<u8> {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut bits = 0;
    let mut held = 0;
    let mut bytes = Vec::new();
    for digit in text.bytes() {
        let digit = DIGITS.iter().position(|other| *other == digit).unwrap();
        (bits, held) = ((bits << 6 | digit) & 0xffff, held + 6);
        if held >= 8 {
            held -= 8;
            bytes.push((bits >> held) as u8);
        }
    }
    bytes
}
