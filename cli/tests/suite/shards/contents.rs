//! What shards hold.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use bloom_wasm::layers::Stack;
use bloom_wasm::{Filter, Profile, RibbonFilter, hash};
use serde_json::Value;
use tempfile::TempDir;

use super::{begin, files, keys, payload, publish, shards, write};
use crate::in_process::{done, refused, tool_with};

#[test]
fn each_shard_is_the_filter_of_the_keys_with_its_first_bits() {
    let folder = TempDir::new().unwrap();
    write(&folder, "list", keys(0..20_000).chain(keys(0..50)));
    for (count, bits) in [(1, 0), (2, 1), (64, 6), (512, 9)] {
        let dir = format!("out-{count}");
        let said = done(&folder, &format!("{} --seed 7 --fpr 0.01", begin(&dir, count)));
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
    done(&folder, &(begin("out", 4) + " --fpr 1e-6"));
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
    let said = done(&folder, &(publish("out") + " --profile url --shards 16 --seed 3"));
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
    let begin = |dir: &str, more: &str| format!("{} --fpr 0.1 --allow @allow{more}", begin(dir, 8));
    let said = done(&folder, &begin("kept", ""));
    assert!(said.contains("10 keys in both lists (kept)"), "{said}");
    assert_eq!(tool_with(&folder, "check @kept", allowed.as_bytes()), (1, String::new(), String::new()));
    done(&folder, "verify @kept --members @list --probes 1000");
    let said = done(&folder, &begin("won", " --allow-wins"));
    assert!(said.contains("5,000 keys") && said.contains("10 keys in both lists (removed)"), "{said}");
    let all = keys(4990..200_000).collect::<Vec<_>>().join("\n");
    assert_eq!(tool_with(&folder, "check @won", all.as_bytes()), (1, String::new(), String::new()));
    // If nothing is left, that is refused like an empty list.
    let all_allowed = "--allow @list --allow-wins";
    let (code, _, err) = tool_with(&folder, &format!("build @list -o @blob {all_allowed}"), b"");
    assert!(code == 2 && err.contains("--allow-empty makes a filter without keys"), "{err}");
    assert!(!folder.path().join("blob").exists());
    let none = format!("{} --profile raw --shards 2 {all_allowed}", publish("none"));
    refused(&folder, &none, "--allow-empty publishes a feed without keys");
    assert_eq!(files(&folder.path().join("none")), BTreeSet::new());
    done(&folder, &(none + " --allow-empty"));
    assert!(folder.path().join("none/shards.json").exists());
}

/// The folders of tests/golden/shards are made again from their lists, byte for byte except for the manifest.
#[test]
fn golden_folders() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/golden/shards");
    let folder = TempDir::new().unwrap();
    write(&folder, "secret", ["000102030405060708090a0b0c0d0e0f".to_owned()]);
    for (name, options) in [
        ("url", "--profile url --shards 4"),
        ("password", "--profile password --lowercase --shards 2 --seed 18446744073709551615"),
        ("sha1", "--profile password --sha1 --shards 4 --seed 42"),
        ("keyed", "--profile raw --shards 4 --seed 42 --secret-file @secret"),
        ("tags", "--profile url --shards 4 --seed 42"),
    ] {
        let path = |name: &str| golden.join(format!("{name}.txt")).display().to_string();
        let mut list = path(name);
        if name == "tags" {
            list +=
                &format!(" --tag phishing={} --tag malware={}", path("tags-phishing"), path("tags-malware"));
        }
        done(
            &folder,
            &format!(
                "feed publish @{name} {list} --state @state-{name} {options} --name golden \
                 --created-at 2026-11-23T00:00:00Z --expires-in 26280000m"
            ),
        );
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
            for member in ["feedId", "expires"] {
                payload[member].take();
            }
            payload
        });
        assert_eq!(made, kept);
    }
}
