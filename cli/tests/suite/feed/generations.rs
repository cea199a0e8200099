//! What is published: generations and times.

use std::collections::BTreeSet;
use std::fs;

use serde_json::Value;

use super::{
    check, feed, files, generation, key, lines, names, publish, publish_keys, publish_refused, read,
    require_golden, tell, verify, write_list,
};
use crate::in_process::{done, refused, write};

#[test]
fn every_generation_is_exact_and_within_the_budget() {
    let folder = feed("fpr = 1e-2\nname = \"Demo\"");
    let (mut deepest, mut bases, mut last) = (0, 0, 0);
    for day in 0..40 {
        // A list of 5,000 that moves on by 100 keys a day, and brings some old ones back.
        let (from, to) = (100 * day, 5000 + 100 * day);
        let back = (0..from).filter(|i| i % 1000 == day).collect::<BTreeSet<_>>();
        let report = publish_keys(&folder, 6 * day, (from..to).chain(back.iter().copied()));
        assert!(report["generation"].as_u64().unwrap() > last);
        last = generation(&folder);
        assert_eq!(report["generation"], last);
        bases += u32::from(report["file"]["kind"] == "base");
        let info = verify(&folder);
        assert_eq!(info["count"], 5000 + back.len());
        assert_eq!(info["name"], "Demo");
        let deltas = info["files"].as_array().unwrap().len() - 1;
        deepest = deepest.max(deltas);
        let bytes: u64 =
            info["files"].as_array().unwrap().iter().map(|file| file["bytes"].as_u64().unwrap()).sum();
        assert!(bytes < 10_000, "{bytes}");
        let blob = read(&folder);
        assert!(blob.stack().estimated_fpr() <= 0.01);
        assert!((info["estimatedFpr"].as_f64().unwrap() - blob.stack().estimated_fpr()).abs() < 1e-12);
        let removed = (0..from).filter(|i| !back.contains(i));
        check(&blob, (from..to).chain(back.iter().copied()), removed, 0.01);
    }
    assert!((3..=8).contains(&deepest), "{deepest} deltas");
    assert!((2..=5).contains(&bases), "{bases} bases");
}

#[test]
fn small_deltas_are_merged_early_and_large_ones_when_there_are_eight() {
    // As many keys go as come, so the deltas are of 200 and 2,200.
    for (keys, moved, expected) in
        [(20_000, 100, &[1, 1, 2, 1, 2, 2, 3, 1][..]), (100_000, 1100, &[1, 2, 3, 4, 5, 6, 7, 8, 1])]
    {
        let folder = feed("fpr = 1e-2");
        publish_keys(&folder, 0, 0..keys);
        let deltas = (1..).zip(expected).map(|(hour, _)| {
            publish_keys(&folder, hour, moved * hour..keys + moved * hour);
            verify(&folder)["files"].as_array().unwrap().len() - 1
        });
        assert_eq!(deltas.collect::<Vec<_>>(), expected);
    }
}

/// The feed of tests/golden/feed: three generations of keys, signed by the key of RFC 8037.
#[test]
fn the_golden_feed() {
    let folder = feed("");
    let toml =
        "id = \"000102030405060708090a0b0c0d0e0f\"\nname = \"golden ✓\"\nprofile = \"raw\"\nsign = [\"key\"]
                fpr = 0.01\nseed = 7\nexpires-in = \"26280000m\"\ngrace = \"0s\"\nlists.list = \"list\"";
    write(&folder, "feed.toml", toml);
    for (day, keys) in [(22, 0..2000), (23, 100..2100), (24, 150..2120)] {
        write_list(&folder, keys);
        done(&folder, &format!("feed publish @feed.toml --created-at 2026-11-{day}T00:00:00Z"));
    }
    // The number of the generation is taken from the clock.
    require_golden(&folder, "feed", &["generation"]);
    check(&read(&folder), 150..2120, (0..150).chain(2120..2200), 0.01);
}

#[test]
fn allowed_keys_are_absent_in_every_generation() {
    let folder = feed("");
    let allow = |above: &str| tell(&folder, &format!("fpr = 0.2\n{above}"), "[allow]\ngood = \"good\"");
    allow("");
    let allowed: Vec<u32> = (500_000..502_000).collect();
    let write_allowed = |keys: &[u32]| {
        write(&folder, "good", lines(keys.iter().copied()));
    };
    let has = |i: &u32| read(&folder).stack().has(key(*i).as_bytes());
    write_allowed(&allowed[..1000]);
    for day in 0..6 {
        publish_keys(&folder, day, 100 * day..4000 + 100 * day);
        let blob = read(&folder);
        assert!(allowed[..1000].iter().all(|i| !blob.stack().has(key(*i).as_bytes())));
        check(&blob, 100 * day..4000 + 100 * day, 0..100 * day, 0.2);
    }
    assert_eq!(publish(&folder, 6, "")["published"], false);
    // The list is the same, but more must be absent.
    let exempted = *allowed[1000..].iter().find(|i| has(i)).unwrap();
    write_allowed(&[&allowed[..1000], &[exempted]].concat());
    let report = publish(&folder, 7, "");
    assert_eq!((&report["published"], &report["added"]), (&true.into(), &0.into()));
    assert!(!has(&exempted));
    // A key of the list stays, and is left out if the allowlist wins.
    write_allowed(&[1000]);
    publish(&folder, 8, "--max-removed 100%");
    assert!(has(&1000));
    allow("allow-wins = true");
    publish(&folder, 9, "");
    assert!(!has(&1000));
    // If nothing is left, that is refused like an empty list.
    tell(&folder, "fpr = 0.2\nallow-wins = true", "[allow]\ngood = \"list\"");
    publish_refused(&folder, 10, "--max-removed 100%", "no key is left; `allow-empty = true` of all lists");
}

#[test]
fn a_list_that_has_not_changed_writes_nothing_until_the_manifest_expires_soon() {
    let folder = feed("");
    let first = publish_keys(&folder, 0, 0..100)["generation"].as_u64().unwrap();
    let before = files(&folder);
    for hours in [1, 24, 83] {
        let report = publish(&folder, hours, "");
        assert_eq!((&report["published"], &report["generation"]), (&false.into(), &first.into()));
        assert_eq!(files(&folder), before);
    }
    // Half of seven days.
    assert_eq!(publish(&folder, 84, "")["published"], true);
    assert!(generation(&folder) > first);
    let after = files(&folder);
    assert_ne!(after["feed.json"], before["feed.json"]);
    assert!(before.iter().all(|(name, bytes)| name == "feed.json" || after[name] == *bytes));
    assert_eq!(after.len(), before.len());
    let info = verify(&folder);
    assert_eq!(info["expires"].as_u64().unwrap() - info["createdAt"].as_u64().unwrap(), 7 * 24 * 3_600_000);
    // The same keys in another order, some twice, are the same list.
    assert_eq!(publish_keys(&folder, 85, (0..100).rev().chain(0..10))["published"], false);
}

#[test]
fn a_manifest_that_lasts_too_long_is_signed_anew() {
    let folder = feed("expires-in = \"365d\"");
    publish_keys(&folder, 0, 0..10);
    tell(&folder, "expires-in = \"1d\"", "");
    let report = publish(&folder, 1, "");
    assert_eq!(report["published"], true);
    assert_eq!(publish(&folder, 2, "")["published"], false);
    // The clock was a day fast, and isn't any more.
    assert_eq!(publish(&folder, 26, "")["published"], true);
    let later = publish(&folder, 2, "");
    assert_eq!(later["published"], true);
    let expires = |report: &Value| report["expires"].as_u64().unwrap();
    assert_eq!(expires(&later), expires(&report) + 3_600_000);
}

#[test]
fn a_time_of_any_length() {
    // In milliseconds, both are a little more than 2^64.
    let folder = feed("grace = \"18446744073709552s\"");
    publish_keys(&folder, 0, 0..1000);
    let first = names(&folder);
    write_list(&folder, 1000..2000);
    publish(&folder, 1, "--max-removed 100%");
    publish(&folder, 2, "");
    assert!(first.is_subset(&names(&folder)));
    tell(&folder, "expires-in = \"18446744073709552s\"", "");
    publish_refused(&folder, 3, "", "the time is too late");
}

#[test]
fn files_stay_for_a_time_of_grace() {
    let folder = feed("");
    fs::create_dir(folder.path().join("public")).unwrap();
    write(&folder, "public/index.html", "mine");
    publish_keys(&folder, 0, 0..3000);
    let first = names(&folder);
    publish_keys(&folder, 1, 0..3010);
    write_list(&folder, 0..3030);
    // Merges the delta before.
    let report = publish(&folder, 2, "");
    assert_eq!(report["files"], 2);
    for (hours, more) in [(2, 2), (25, 2), (26, 1)] {
        publish(&folder, hours, "");
        assert_eq!(names(&folder).len(), first.len() + more, "{hours}");
    }
    assert!(first.is_subset(&names(&folder)));
    // A file that is named again stays, although it was on its way out.
    write_list(&folder, 0..3000);
    fs::remove_file(folder.path().join("public").join(report["file"]["sha256"].as_str().unwrap())).unwrap();
    tell(&folder, "grace = \"0s\"", "");
    assert_eq!(publish(&folder, 27, "")["published"], true);
    assert_eq!(names(&folder), first);
}

/// Files that a run with a wrong clock took out of the feed are deleted a day after the next run.
#[test]
fn a_file_does_not_stay_until_a_clock_that_was_fast() {
    let folder = feed("");
    for (hours, keys) in [(0, 3000), (1, 3010), (600, 3030)] {
        publish_keys(&folder, hours, 0..keys);
    }
    let with_the_old = names(&folder).len();
    publish(&folder, 2, "");
    assert_eq!(names(&folder).len(), with_the_old);
    publish(&folder, 26, "");
    assert_eq!(names(&folder).len(), with_the_old - 1);
}

/// Whoever can read the folder could sign what clients believe, or ask a keyed filter.
#[test]
fn nothing_secret_is_in_the_folder_that_is_served() {
    let folder = feed("");
    write_list(&folder, 0..10);
    fs::create_dir_all(folder.path().join("public/keys")).unwrap();
    fs::copy(folder.path().join("key"), folder.path().join("public/keys/key")).unwrap();
    write(&folder, "public/secret", [7; 16]);
    #[cfg(unix)]
    std::os::unix::fs::symlink("../key", folder.path().join("public/link")).unwrap();
    for (above, what) in [
        ("state = \"public/state\"", "the state"),
        ("state = \"nowhere/../public/state\"", "the state"),
        ("public = \".\"", "the state"),
        ("sign = [\"public/keys/key\"]", "a secret key"),
        ("sign = [\"public/../public/keys/key\"]", "a secret key"),
        #[cfg(unix)]
        ("sign = [\"public/link\"]", "a secret key"),
        ("secret = \"public/secret\"", "the secret"),
    ] {
        tell(&folder, above, "");
        refused(&folder, "feed publish @feed.toml", &format!("{what} must not be in the folder"));
        assert!(!folder.path().join("public/state").exists(), "{above}");
    }
}

/// The other mistakes of the file are tested beside `cli/src/publishing/declared.rs`.
#[test]
fn what_no_feed_can_have_is_refused_before_anything_is_published() {
    let folder = feed("");
    write_list(&folder, 0..10);
    for (above, words) in [
        ("fpr = 1e-9", "`fpr` must be at least"),
        ("sign = [\"list\"]", "not an Ed25519 key"),
        ("sign = [\"key\", \"key\"]", "`sign` names one key twice"),
    ] {
        tell(&folder, above, "");
        refused(&folder, "feed publish @feed.toml", words);
        assert!(names(&folder).is_empty(), "{above}");
    }
    refused(&folder, "feed publish @none.toml", "none.toml: there is no such file; `bloom-wasm feed init`");
    refused(&folder, "feed publish @feed.toml --quiet --json", "cannot be used with");
}
