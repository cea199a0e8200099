//! What shards hold. Which keys a filter has is the crate's.

use std::fs;
use std::path::Path;

use bloom_wasm::hash;
use tempfile::TempDir;

use super::{PUBLISH, begin, describe, files, keys, payload, shards, write};
use crate::in_process::{declare, done, refused, told, tool_with};

#[test]
fn each_shard_has_the_keys_with_its_first_bits() {
    let folder = TempDir::new().unwrap();
    write(&folder, "list", keys(0..20_000).chain(keys(0..50)));
    for (count, bits) in [(1, 0), (2, 1), (512, 9)] {
        let dir = format!("out-{count}");
        let said = begin(&folder, &dir, count, "seed = 7\nfpr = 0.01");
        assert!(said.contains("20,000 keys, 50 repeated"), "{said}");
        let mut expected = vec![0; count as usize];
        for key in keys(0..20_000) {
            expected[hash::digest(7, key.as_bytes()).checked_shr(64 - bits).unwrap_or(0) as usize] += 1;
        }
        let counts: Vec<u32> =
            shards(&folder.path().join(&dir)).into_iter().map(|(_, count)| count).collect();
        assert_eq!(counts, expected);
        let verdict = told(&folder, &format!("verify @{dir} --members @list --probes 300001"));
        assert_eq!((&verdict["falseNegatives"], &verdict["probes"]), (&0.into(), &300_001.into()));
        let fpr = verdict["measuredFpr"].as_f64().unwrap();
        // A filter of a few keys has a lower rate than asked for.
        assert!((0.007..0.011).contains(&fpr), "{fpr}");
    }
    write(&folder, "more", keys(0..20_010));
    let (code, said, _) = tool_with(&folder, "verify @out-512 --members @more --probes 1000", b"");
    assert!(code == 1 && said.contains("20,010 keys, 10 false negatives"), "{said}");
}

/// All keys of a URL are in one shard: that of the last two labels of its host.
#[test]
fn a_site_has_one_shard() {
    let folder = TempDir::new().unwrap();
    let lines = (0..300).flat_map(|i| {
        let address = format!("10.0.{}.{}", i / 250, i % 250);
        [format!("host-{i}.evil.example"), format!("site-{i}.test/a/{i}.html"), address]
    });
    write(&folder, "list", lines.chain(["[2001:db8::1]".to_owned()]));
    describe(&folder, "out", "profile = \"url\"\nshards = 16\nseed = 3");
    done(&folder, PUBLISH);
    let counts: Vec<u32> = shards(&folder.path().join("out")).into_iter().map(|(_, count)| count).collect();
    let shard = |site: &str| (hash::digest(3, site.as_bytes()) >> 60) as usize;
    let mut expected = [0; 16];
    expected[shard("evil.example")] += 300;
    for i in 0..300 {
        expected[shard(&format!("site-{i}.test"))] += 1;
        expected[shard(&format!("10.0.{}.{}", i / 250, i % 250))] += 1;
    }
    expected[shard("[2001:db8::1]")] += 1;
    assert_eq!(counts, expected);
    let urls = "https://a.b.host-7.evil.example/x?y\nhttp://10.0.1.5:8080/login\n";
    assert_eq!(tool_with(&folder, "check @out", urls.as_bytes()).1, urls);
    assert_eq!(tool_with(&folder, "check @out http://evil.example/ http://site-9.test/a/", b"").0, 1);
}

#[test]
fn members_win_over_allowed_keys_unless_told_otherwise() {
    let folder = TempDir::new().unwrap();
    write(&folder, "list", keys(0..5000));
    write(&folder, "allow", keys(4990..20_000));
    let begin = |dir: &str, more: &str, list: &str| {
        let above = format!("public = \"{dir}\"\nstate = \"{dir}.state\"\nsign = []\nprofile = \"raw\"");
        let lists = format!("list = {list}\n[allow]\ngood = \"allow\"");
        declare(&folder, &format!("{above}\nfpr = 0.1\nshards = 8\n{more}"), &lists);
    };
    for (dir, more, first, words) in [
        ("kept", "", 5000, "10 keys listed and allowed (kept)"),
        ("won", "allow-wins = true", 4990, "10 keys listed and allowed (removed)"),
    ] {
        begin(dir, more, "\"list\"");
        let (code, said, _) = tool_with(&folder, PUBLISH, b"");
        assert!(code == 0 && said.contains("5,000 keys") && said.contains(words), "{said}");
        let allowed = keys(first..20_000).collect::<Vec<_>>().join("\n");
        assert_eq!(tool_with(&folder, &format!("check @{dir}"), allowed.as_bytes()).1, "");
        assert_eq!(payload(&folder.path().join(dir))["count"], first);
    }
    done(&folder, "verify @kept --members @list --probes 1000");
    // If nothing is left, that is refused like an empty list.
    fs::copy(folder.path().join("list"), folder.path().join("allow")).unwrap();
    begin("none", "allow-wins = true", "\"list\"");
    refused(&folder, PUBLISH, "no key is left; `allow-empty = true` of all lists");
    assert!(files(&folder.path().join("none")).is_empty());
    begin("none", "allow-wins = true", "{ file = \"list\", allow-empty = true }");
    done(&folder, PUBLISH);
    // One file for all shards without keys.
    assert_eq!(files(&folder.path().join("none")).len(), 3);
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
