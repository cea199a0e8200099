//! What shards hold.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use bloom_wasm::layers::Stack;
use bloom_wasm::{Filter, Profile, RibbonFilter, hash};
use serde_json::Value;
use tempfile::TempDir;

use super::{PUBLISH, begin, describe, files, keys, payload, shards, write};
use crate::in_process::{declare, done, tool_with};

#[test]
fn each_shard_is_the_filter_of_the_keys_with_its_first_bits() {
    let folder = TempDir::new().unwrap();
    write(&folder, "list", keys(0..20_000).chain(keys(0..50)));
    for (count, bits) in [(1, 0), (2, 1), (64, 6), (512, 9)] {
        let dir = format!("out-{count}");
        let said = begin(&folder, &dir, count, "seed = 7\nfpr = 0.01");
        assert!(said.contains("20,000 keys, 50 repeated"), "{said}");
        let mut groups: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
        for key in keys(0..20_000) {
            let digest = hash::digest(7, key.as_bytes());
            groups.entry(if bits == 0 { 0 } else { digest >> (64 - bits) }).or_default().push(digest);
        }
        for (i, (bytes, keys)) in shards(&folder.path().join(&dir)).into_iter().enumerate() {
            let mut group = groups.remove(&(i as u64)).expect("each shard has keys");
            assert_eq!(group.len(), keys as usize);
            let filter = RibbonFilter::from_digests(&mut group, 0.01, 7).unwrap();
            assert_eq!(Filter::new(Profile::Raw, Stack::from(filter)).encode().unwrap(), bytes);
        }
        // All keys are found by `check`, and few others.
        let ask = |range| keys(range).collect::<Vec<_>>().join("\n");
        let (code, found, _) = tool_with(&folder, &format!("check @{dir}"), ask(0..20_000).as_bytes());
        assert_eq!((code, found.lines().count()), (0, 20_000));
        let (_, found, _) = tool_with(&folder, &format!("check @{dir}"), ask(100_000..120_000).as_bytes());
        assert!((120..290).contains(&found.lines().count()), "{}", found.lines().count());
        let said = done(&folder, &format!("verify @{dir} --members @list --probes 300001 --json"));
        let verdict: Value = serde_json::from_str(&said).unwrap();
        assert_eq!((&verdict["falseNegatives"], &verdict["probes"]), (&0.into(), &300_001.into()));
        let fpr = verdict["measuredFpr"].as_f64().unwrap();
        // A filter of a few keys has a lower rate than asked for.
        assert!((0.007..0.011).contains(&fpr), "{fpr}");
    }
}

#[test]
fn a_member_that_is_missing_is_told() {
    let folder = TempDir::new().unwrap();
    write(&folder, "list", keys(0..1000));
    write(&folder, "more", keys(0..1010));
    begin(&folder, "out", 4, "fpr = 1e-6");
    let (code, said, _) = tool_with(&folder, "verify @out --members @more --probes 1000", b"");
    assert!(code == 1 && said.contains("1,010 keys, 10 false negatives"), "{said}");
}

/// All keys of a URL are in one shard: that of the last two labels of its host.
#[test]
fn a_site_has_one_shard() {
    let folder = TempDir::new().unwrap();
    let lines = (0..3000).flat_map(|i| {
        [
            format!("host-{i}.evil.example"),
            format!("site-{i}.test/a/{i}.html"),
            format!("10.0.{}.{}", i / 250, i % 250),
        ]
    });
    write(&folder, "list", lines.chain(["single".to_owned(), "[2001:db8::1]".to_owned()]));
    describe(&folder, "out", "profile = \"url\"\nshards = 16\nseed = 3");
    let said = done(&folder, PUBLISH);
    assert!(said.contains("9,002 keys"), "{said}");
    let counts: Vec<u32> = shards(&folder.path().join("out")).into_iter().map(|(_, count)| count).collect();
    let shard = |site: &str| (hash::digest(3, site.as_bytes()) >> 60) as usize;
    let mut expected = [0; 16];
    expected[shard("evil.example")] += 3000;
    for i in 0..3000 {
        expected[shard(&format!("site-{i}.test"))] += 1;
        expected[shard(&format!("10.0.{}.{}", i / 250, i % 250))] += 1;
    }
    expected[shard("single")] += 1;
    expected[shard("[2001:db8::1]")] += 1;
    assert_eq!(counts, expected);
    for url in [
        "https://a.b.host-7.evil.example/x?y",
        "http://www.site-9.test/a/9.html",
        "http://10.0.1.5:8080/login",
        "http://single/",
        "http://[2001:db8:0::1]/a",
    ] {
        assert_eq!(tool_with(&folder, &format!("check @out {url}"), b"").0, 0, "{url}");
    }
    assert_eq!(tool_with(&folder, "check @out http://evil.example/ http://site-9.test/a/", b"").0, 1);
}

#[test]
fn allowed_keys_are_absent_and_members_win_unless_told_otherwise() {
    let folder = TempDir::new().unwrap();
    write(&folder, "list", keys(0..5000));
    write(&folder, "allow", keys(4990..200_000));
    let allowed = keys(5000..200_000).collect::<Vec<_>>().join("\n");
    let begin = |dir: &str, more: &str, list: &str| {
        let above = format!("public = \"{dir}\"\nstate = \"{dir}.state\"\nsign = []\nprofile = \"raw\"");
        let lists = format!("list = {list}\n[allow]\ngood = \"allow\"");
        declare(&folder, &format!("{above}\nfpr = 0.1\nshards = 8\n{more}"), &lists);
    };
    begin("kept", "", "\"list\"");
    let said = done(&folder, PUBLISH);
    assert!(said.contains("10 keys listed and allowed (kept)"), "{said}");
    assert_eq!(tool_with(&folder, "check @kept", allowed.as_bytes()), (1, String::new(), String::new()));
    done(&folder, "verify @kept --members @list --probes 1000");
    begin("won", "allow-wins = true", "\"list\"");
    let (_, said, _) = tool_with(&folder, PUBLISH, b"");
    assert!(said.contains("5,000 keys") && said.contains("10 keys listed and allowed (removed)"), "{said}");
    let all = keys(4990..200_000).collect::<Vec<_>>().join("\n");
    assert_eq!(tool_with(&folder, "check @won", all.as_bytes()), (1, String::new(), String::new()));
    // If nothing is left, that is refused like an empty list.
    let all_allowed = "--allow @list --allow-wins";
    let (code, _, err) = tool_with(&folder, &format!("build @list -o @blob {all_allowed}"), b"");
    assert!(code == 2 && err.contains("--allow-empty makes a filter without keys"), "{err}");
    assert!(!folder.path().join("blob").exists());
    fs::copy(folder.path().join("list"), folder.path().join("allow")).unwrap();
    begin("none", "allow-wins = true", "\"list\"");
    let (code, _, err) = tool_with(&folder, PUBLISH, b"");
    assert!(code == 2 && err.contains("no key is left; `allow-empty = true` of all lists"), "{err}");
    assert_eq!(files(&folder.path().join("none")), BTreeSet::new());
    begin("none", "allow-wins = true", "{ file = \"list\", allow-empty = true }");
    done(&folder, PUBLISH);
    assert!(folder.path().join("none/shards.json").exists());
}

/// The folders of tests/golden/shards are made again from their lists, byte for byte except for the manifest.
#[test]
fn golden_folders() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/golden/shards");
    let folder = TempDir::new().unwrap();
    write(&folder, "secret", ["000102030405060708090a0b0c0d0e0f".to_owned()]);
    for (name, options) in [
        ("url", "profile = \"url\"\nshards = 4"),
        ("password", "profile = \"password\"\nlowercase = true\nshards = 2\nseed = 18446744073709551615"),
        ("sha1", "profile = \"password\"\nsha1 = true\nshards = 4\nseed = 42"),
        ("keyed", "profile = \"raw\"\nshards = 4\nseed = 42\nsecret = \"secret\""),
        ("tags", "profile = \"url\"\nshards = 4\nseed = 42"),
    ] {
        let path = |name: &str| golden.join(format!("{name}.txt")).display().to_string();
        let mut lists = format!("plain = '{}'", path(name));
        if name == "tags" {
            // By their names, phishing would be the second tag.
            for (list, tag) in [("a", "phishing"), ("b", "malware")] {
                lists +=
                    &format!("\n{list} = {{ file = '{}', tag = '{tag}' }}", path(&format!("tags-{tag}")));
            }
        }
        let above = format!("public = '{name}'\nstate = 'state-{name}'\nsign = []\n{options}");
        declare(&folder, &format!("{above}\nname = 'golden'\nexpires-in = '26280000m'"), &lists);
        done(&folder, "feed publish @feed.toml --created-at 2026-11-23T00:00:00Z");
        let [made, kept] = [folder.path().join(name), golden.join(name)];
        // To make the files anew, remove the old ones first.
        if std::env::var("GOLDEN").is_ok_and(|value| value == "write") && !kept.exists() {
            fs::create_dir(&kept).unwrap();
            files(&made).iter().for_each(|file| {
                fs::copy(made.join(file), kept.join(file)).unwrap();
            });
        }
        assert!(files(&made) == files(&kept), "{name}");
        for file in files(&kept).iter().filter(|file| file.len() == 64) {
            assert!(
                fs::read(made.join(file)).unwrap() == fs::read(kept.join(file)).unwrap(),
                "{name}/{file}"
            );
        }
        let [made, kept] = [made, kept].map(|dir| {
            let mut payload = payload(&dir);
            for member in ["feedId", "generation", "expires"] {
                payload[member].take();
            }
            payload
        });
        assert_eq!(made, kept);
    }
}
