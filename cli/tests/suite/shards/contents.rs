//! What shards hold. Which keys a filter has is the crate's.

use bloom_wasm::hash;

use super::{counts, payload};
use crate::feed::{PUBLISH, feed, key, lines, names, require_golden, tell, tell_lists, write_list};
use crate::in_process::{done, refused, told, tool, tool_with, write};

#[test]
fn each_shard_has_the_keys_with_its_first_bits() {
    for (count, bits) in [(1, 0), (2, 1), (512, 9)] {
        let folder = feed(&format!("shards = {count}\nseed = 7\nfpr = 0.01"));
        write_list(&folder, (0..20_000).chain(0..50));
        let said = done(&folder, PUBLISH);
        assert!(said.contains("20,000 keys, 50 repeated"), "{said}");
        let mut expected = vec![0; count];
        for i in 0..20_000 {
            let digest = u128::from(hash::digest(7, key(i).as_bytes()));
            expected[(digest << bits >> 64) as usize] += 1;
        }
        assert_eq!(counts(&folder), expected);
        let verdict = told(&folder, "verify @public --members @list --probes 300001");
        assert_eq!((&verdict["falseNegatives"], &verdict["probes"]), (&0.into(), &300_001.into()));
        let fpr = verdict["measuredFpr"].as_f64().unwrap();
        // A filter of a few keys has a lower rate than asked for.
        assert!((0.007..0.011).contains(&fpr), "{fpr}");
        write_list(&folder, 0..20_010);
        let (code, said, _) = tool(&folder, "verify @public --members @list --probes 1000");
        assert!(code == 1 && said.contains("20,010 keys, 10 false negatives"), "{said}");
    }
}

/// All keys of a URL are in one shard: that of the last two labels of its host.
#[test]
fn a_site_has_one_shard() {
    let folder = feed("profile = \"url\"\nshards = 16\nseed = 3");
    let lines = (0..300).flat_map(|i| {
        let address = format!("10.0.{}.{}", i / 250, i % 250);
        [format!("host-{i}.evil.example"), format!("site-{i}.test/a/{i}.html"), address]
    });
    let lines = lines.chain(["[2001:db8::1]".to_owned()]);
    write(&folder, "list", lines.collect::<Vec<_>>().join("\n"));
    done(&folder, PUBLISH);
    let shard = |site: &str| (hash::digest(3, site.as_bytes()) >> 60) as usize;
    let mut expected = [0; 16];
    expected[shard("evil.example")] += 300;
    for i in 0..300 {
        expected[shard(&format!("site-{i}.test"))] += 1;
        expected[shard(&format!("10.0.{}.{}", i / 250, i % 250))] += 1;
    }
    expected[shard("[2001:db8::1]")] += 1;
    assert_eq!(counts(&folder), expected);
    let urls = "https://a.b.host-7.evil.example/x?y\nhttp://10.0.1.5:8080/login\n";
    assert_eq!(tool_with(&folder, "check @public", urls.as_bytes()).1, urls);
    assert_eq!(tool(&folder, "check @public http://evil.example/ http://site-9.test/a/").0, 1);
}

#[test]
fn members_win_over_allowed_keys_unless_told_otherwise() {
    for (above, first, words) in [
        ("fpr = 0.1\nshards = 8", 5000, "10 keys listed and allowed (kept)"),
        ("fpr = 0.1\nshards = 8\nallow-wins = true", 4990, "10 keys listed and allowed (removed)"),
    ] {
        let folder = feed("");
        tell(&folder, above, "[allow]\ngood = \"good\"");
        write_list(&folder, 0..5000);
        write(&folder, "good", lines(4990..20_000));
        let said = done(&folder, PUBLISH);
        assert!(said.contains("5,000 keys") && said.contains(words), "{said}");
        assert_eq!(tool_with(&folder, "check @public", lines(first..20_000).as_bytes()).1, "");
        assert_eq!(payload(&folder)["count"], first);
        let (code, _, _) = tool(&folder, "verify @public --members @list --probes 1000");
        assert_eq!(code == 0, first == 5000);
    }
    // If nothing is left, that is refused like an empty list.
    let folder = feed("");
    write(&folder, "list", "one\ntwo\n");
    let above = "shards = 8\nallow-wins = true";
    tell(&folder, above, "[allow]\ngood = \"list\"");
    refused(&folder, PUBLISH, "no key is left; `allow-empty = true` of all lists");
    assert!(names(&folder).is_empty());
    let lists = "list = { file = \"list\", allow-empty = true }\n[allow]\ngood = \"list\"";
    tell_lists(&folder, above, lists);
    done(&folder, PUBLISH);
    // One file for all shards without keys.
    assert_eq!(names(&folder).len(), 3);
}

/// The folders of tests/golden/shards are made again from their lists, byte for byte except for the manifest.
#[test]
fn golden_folders() {
    let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/golden/shards");
    for (name, options) in [
        ("url", "profile = \"url\"\nshards = 4"),
        ("password", "profile = \"password\"\nlowercase = true\nshards = 2\nseed = 18446744073709551615"),
        ("sha1", "profile = \"password\"\nsha1 = true\nshards = 4\nseed = 42"),
        ("keyed", "profile = \"raw\"\nshards = 4\nseed = 42\nsecret = \"secret\""),
        ("tags", "profile = \"url\"\nshards = 4\nseed = 42"),
    ] {
        let folder = feed("");
        write(&folder, "secret", "000102030405060708090a0b0c0d0e0f");
        let mut lists = format!("plain = '{golden}/{name}.txt'");
        if name == "tags" {
            // By their names, phishing would be the second tag.
            for (list, tag) in [("a", "phishing"), ("b", "malware")] {
                lists += &format!("\n{list} = {{ file = '{golden}/tags-{tag}.txt', tag = '{tag}' }}");
            }
        }
        let above = format!("sign = []\nname = 'golden'\nexpires-in = '26280000m'\n{options}");
        tell_lists(&folder, &above, &lists);
        done(&folder, "feed publish @feed.toml --created-at 2026-11-23T00:00:00Z");
        require_golden(&folder, &format!("shards/{name}"), &["feedId", "generation", "expires"]);
    }
}
