//! What is published: generations, times, signatures.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::{
    check, description, feed, files, key, names, publish, publish_refused, read, verify, write_list,
};
use crate::in_process::{PUBLIC_KEY, done, refused, tool, write};

#[test]
fn every_generation_is_exact_and_within_the_budget() {
    let folder = feed("--fpr 1e-2 --name Demo");
    let (mut deepest, mut bases, mut last) = (0, 0, 0);
    for day in 0..40 {
        // A list of 5,000 that moves on by 100 keys a day, and brings some old ones back.
        let (from, to) = (100 * day, 5000 + 100 * day);
        let back = (0..from).filter(|i| i % 1000 == day).collect::<BTreeSet<_>>();
        write_list(&folder, (from..to).chain(back.iter().copied()));
        let report = publish(&folder, 6 * day, "");
        assert_eq!(report["generation"], day + 1);
        let file = &report["file"];
        bases += u32::from(file["kind"] == "base");
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
        last = day;
    }
    assert_eq!(last, 39);
    assert!((3..=8).contains(&deepest), "{deepest} deltas");
    assert!((2..=5).contains(&bases), "{bases} bases");
}

/// The feed of tests/golden/feed: three generations of keys, signed by the key of RFC 8037.
#[test]
fn the_golden_feed() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/golden/feed");
    let folder = feed("--fpr 0.01 --seed 7");
    // A state that has published nothing, with another id and a name that is no single word.
    write(&folder, "empty", "");
    let begin = "feed publish @public @empty --state @state --profile raw --fpr 0.01 --seed 7 --allow-empty";
    done(&folder, &format!("{begin} --created-at 2026-11-21T00:00:00Z"));
    fs::remove_dir_all(folder.path().join("public")).unwrap();
    fs::create_dir(folder.path().join("public")).unwrap();
    let state = folder.path().join("state/state.json");
    let mut json: Value = serde_json::from_str(&fs::read_to_string(&state).unwrap()).unwrap();
    json["feedId"] = "000102030405060708090a0b0c0d0e0f".into();
    json["name"] = "golden ✓".into();
    for (field, value) in [("signed", json!(0)), ("members", Value::Null), ("manifest", json!(""))] {
        json[field] = value;
    }
    for field in ["files", "unlisted"] {
        json[field] = json!([]);
    }
    fs::write(&state, json.to_string()).unwrap();
    for (day, keys) in [(22, 0..2000), (23, 100..2100), (24, 150..2120)] {
        write_list(&folder, keys);
        let time = format!("--created-at 2026-11-{day}T00:00:00Z --expires-in 26280000m --grace 0s");
        done(&folder, &format!("feed publish @public @list --state @state --sign @key {time}"));
    }
    // To make the files anew, remove the old ones first.
    if std::env::var("GOLDEN").is_ok_and(|value| value == "write") && !golden.exists() {
        fs::create_dir(&golden).unwrap();
        files(&folder).iter().for_each(|(name, bytes)| fs::write(golden.join(name), bytes).unwrap());
    }
    let names = fs::read_dir(&golden).unwrap().map(|entry| entry.unwrap().file_name());
    let golden = names.map(|name| (name.to_str().unwrap().to_owned(), fs::read(golden.join(name)).unwrap()));
    assert!(files(&folder) == golden.collect(), "the same lists give other bytes");
    check(&read(&folder), 150..2120, (0..150).chain(2120..2200), 0.01);
}

#[test]
fn the_first_generation_of_urls_that_are_not_read_as_such_says_so() {
    for (options, hint) in [
        (
            "",
            "1 of 1 keys look like URLs or hosts: only --profile url, of `build` or `feed publish`, lets readers ask \
             `hasUrl`\n",
        ),
        ("--profile url", ""),
    ] {
        let folder = feed(options);
        let mut warned = Vec::new();
        for list in ["", "https://a.example/\n", "https://a.example/\nhttps://b.example/\n"] {
            write(&folder, "list", list);
            let args = format!(
                "feed publish @public @list --state @state --sign @key --json {}",
                description(&folder)
            );
            warned.push(tool(&folder, args.trim_end()).2);
        }
        assert_eq!(warned[1..], [hint, ""], "{options}");
        assert!(warned[0].contains("this list gave no key") && warned[0].lines().count() == 1, "{warned:?}");
    }
}

#[test]
fn allowed_keys_are_absent_in_every_generation() {
    let folder = feed("--fpr 0.2");
    let allowed: Vec<u32> = (500_000..502_000).collect();
    let write_allowed = |keys: &[u32]| {
        write(&folder, "allow", keys.iter().map(|i| key(*i) + "\n").collect::<String>());
    };
    let has = |i: &u32| read(&folder).stack().has(key(*i).as_bytes());
    write_allowed(&allowed[..1000]);
    for day in 0..6 {
        write_list(&folder, 100 * day..4000 + 100 * day);
        publish(&folder, day, "--allow @allow");
        let blob = read(&folder);
        assert!(allowed[..1000].iter().all(|i| !blob.stack().has(key(*i).as_bytes())));
        check(&blob, 100 * day..4000 + 100 * day, 0..100 * day, 0.2);
    }
    assert_eq!(publish(&folder, 6, "--allow @allow")["published"], false);
    // The list is the same, but more must be absent.
    let mistaken = *allowed[1000..].iter().find(|i| has(i)).unwrap();
    write_allowed(&[&allowed[..1000], &[mistaken]].concat());
    let report = publish(&folder, 7, "--allow @allow");
    assert_eq!((&report["published"], &report["added"]), (&true.into(), &0.into()));
    assert!(!has(&mistaken));
    // A key of the list stays, and is left out if the allowlist wins.
    write_allowed(&[1000]);
    publish(&folder, 8, "--allow @allow --max-removed 100%");
    assert!(has(&1000));
    publish(&folder, 9, "--allow @allow --allow-wins");
    assert!(!has(&1000));
    // If nothing is left, that is refused like an empty list.
    let all = "feed publish @public @list --state @state --sign @key --allow @list --allow-wins";
    let (code, _, err) = tool(&folder, all);
    assert!(code == 2 && err.contains("--allow-empty"), "{err}");
}

#[test]
fn a_list_that_has_not_changed_writes_nothing_until_the_manifest_expires_soon() {
    let folder = feed("");
    write_list(&folder, 0..100);
    assert_eq!(publish(&folder, 0, "")["published"], true);
    let before = files(&folder);
    for hours in [1, 24, 83] {
        let report = publish(&folder, hours, "");
        assert_eq!((&report["published"], &report["generation"]), (&false.into(), &1.into()));
        assert_eq!(files(&folder), before);
    }
    // Half of seven days.
    let report = publish(&folder, 84, "");
    assert_eq!((&report["published"], &report["generation"]), (&true.into(), &2.into()));
    let after = files(&folder);
    assert_ne!(after["feed.json"], before["feed.json"]);
    assert!(before.iter().all(|(name, bytes)| name == "feed.json" || after[name] == *bytes));
    assert_eq!(after.len(), before.len());
    let info = verify(&folder);
    assert_eq!(info["expires"].as_u64().unwrap() - info["createdAt"].as_u64().unwrap(), 7 * 24 * 3_600_000);
    // The same keys in another order, some twice, are the same list.
    write_list(&folder, (0..100).rev().chain(0..10));
    assert_eq!(publish(&folder, 85, "")["published"], false);
}

#[test]
fn a_manifest_that_lasts_too_long_is_signed_anew() {
    let folder = feed("");
    write_list(&folder, 0..10);
    publish(&folder, 0, "--expires-in 365d");
    let expires = |report: &Value| report["expires"].as_u64().unwrap();
    let report = publish(&folder, 1, "--expires-in 1d");
    assert_eq!(report["published"], true);
    assert_eq!(publish(&folder, 2, "--expires-in 1d")["published"], false);
    // The clock was a day fast, and isn't any more.
    assert_eq!(publish(&folder, 26, "--expires-in 1d")["published"], true);
    let later = publish(&folder, 2, "--expires-in 1d");
    assert_eq!(later["published"], true);
    assert_eq!(expires(&later), expires(&report) + 3_600_000);
}

#[test]
fn a_time_of_any_length() {
    let folder = feed("");
    write_list(&folder, 0..1000);
    publish(&folder, 0, "");
    let first = names(&folder);
    write_list(&folder, 1000..2000);
    // In milliseconds, both are a little more than 2^64.
    publish(&folder, 1, "--grace 18446744073709552s --max-removed 100%");
    publish(&folder, 2, "--grace 18446744073709552s");
    assert!(first.is_subset(&names(&folder)));
    let args = "feed publish @public @list --state @state --sign @key --expires-in 18446744073709552s";
    refused(&folder, args, "the time is too late");
}

#[test]
fn a_feed_that_expired_says_so() {
    let folder = feed("");
    write_list(&folder, 0..10);
    done(
        &folder,
        "feed publish @public @list --state @state --created-at 2020-01-01T00:00:00Z --profile raw",
    );
    let (code, out, _) = tool(&folder, "feed verify @public");
    assert_eq!(code, 1);
    assert!(out.contains("2020-01-08T00:00:00Z, so it has expired"), "{out}");
}

#[test]
fn files_stay_for_a_time_of_grace() {
    let folder = feed("");
    fs::create_dir(folder.path().join("public")).unwrap();
    write(&folder, "public/index.html", "mine");
    write_list(&folder, 0..3000);
    publish(&folder, 0, "");
    let first = names(&folder);
    write_list(&folder, 0..3010);
    publish(&folder, 1, "");
    write_list(&folder, 0..3030);
    // Merges the delta before.
    let report = publish(&folder, 2, "");
    assert_eq!(report["files"], 2);
    assert_eq!(names(&folder).len(), first.len() + 2);
    publish(&folder, 25, "");
    assert_eq!(names(&folder).len(), first.len() + 2);
    publish(&folder, 26, "");
    assert_eq!(names(&folder).len(), first.len() + 1);
    assert!(first.is_subset(&names(&folder)));
    // A file that is named again stays, although it was on its way out.
    write_list(&folder, 0..3000);
    fs::remove_file(folder.path().join("public").join(report["file"]["sha256"].as_str().unwrap())).unwrap();
    publish(&folder, 27, "--grace 0s");
    assert_eq!(names(&folder), first);
    assert_eq!(verify(&folder)["generation"], 4);
}

/// Files that a run with a wrong clock took out of the feed are deleted a day after the next run.
#[test]
fn a_file_does_not_stay_until_a_clock_that_was_fast() {
    let folder = feed("");
    for (hours, keys) in [(0, 3000), (1, 3010), (600, 3030)] {
        write_list(&folder, 0..keys);
        publish(&folder, hours, "");
    }
    let with_the_old = names(&folder).len();
    publish(&folder, 2, "");
    assert_eq!(names(&folder).len(), with_the_old);
    publish(&folder, 26, "");
    assert_eq!(names(&folder).len(), with_the_old - 1);
}

#[test]
fn keys_sign() {
    let folder = feed("");
    write_list(&folder, 0..10);
    let public = done(&folder, "feed keygen -o @other");
    let public = public.split_whitespace().nth(2).unwrap();
    assert_eq!(public.len(), 43);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::metadata(folder.path().join("other")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    refused(&folder, "feed keygen -o @other", "exists");
    publish(&folder, 0, "--sign @other");
    for key in [PUBLIC_KEY, public] {
        let said = done(&folder, &format!("feed verify @public --public-key={key}"));
        assert!(said.contains("by one of the given keys"), "{said}");
    }
    // A key that is no longer used, or a new one, is a reason to sign anew.
    assert_eq!(publish(&folder, 1, "--sign @other")["published"], false);
    publish_refused(&folder, 1, "", "another key has signed the feed until now");
    assert_eq!(publish(&folder, 1, &format!("--without-key={public}"))["published"], true);
    refused(&folder, &format!("feed verify @public --public-key={public}"), "none of these keys");
    assert_eq!(publish(&folder, 1, "--sign @other")["published"], true);
    done(&folder, &format!("feed verify @public --public-key={public}"));
    // A signature of something else.
    let path = folder.path().join("public/feed.json");
    let mut manifest: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    manifest["signatures"][0]["signature"] = manifest["signatures"][1]["signature"].clone();
    fs::write(&path, manifest.to_string()).unwrap();
    refused(&folder, &format!("feed verify @public --public-key={PUBLIC_KEY}"), "none of these keys");
    manifest["signatures"] = Value::Array(Vec::new());
    fs::write(&path, manifest.to_string()).unwrap();
    refused(&folder, &format!("feed verify @public --public-key={PUBLIC_KEY}"), "none of these keys");
    publish(&folder, 2, "--sign @other");
    let mut manifest: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    let payload = manifest["payload"].as_str().unwrap();
    let other =
        if payload.contains('A') { payload.replacen('A', "B", 1) } else { payload.replacen('C', "D", 1) };
    manifest["payload"] = other.into();
    fs::write(&path, manifest.to_string()).unwrap();
    refused(&folder, &format!("feed verify @public --public-key={PUBLIC_KEY}"), "none of these keys");
    write(&folder, "bad", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n");
    refused(&folder, "feed publish @public @list --state @state --sign @bad", "not an Ed25519 key");
    refused(
        &folder,
        "feed publish @public @list --state @state --sign @key --sign @key",
        "names one key twice",
    );
    refused(&folder, "feed verify @public --public-key=abc", "43 characters");
    let no_point = "feed verify @public --public-key=1QZOYtCk_pE54WNAl7bolIXcyAWgY24WWHloSkdzpJA";
    refused(&folder, no_point, "this isn't a public key of Ed25519");
    // Forgetting to sign would lock out all clients.
    fs::remove_file(&path).unwrap();
    refused(&folder, "feed publish @public @list --state @state", "--unsigned");
    done(&folder, "feed publish @public @list --state @state --unsigned");
    done(&folder, "feed publish @public @list --state @state");
}

#[test]
fn options_of_a_run_that_fails_are_not_remembered() {
    let folder = feed("");
    write_list(&folder, 0..10);
    publish(&folder, 0, "");
    write_list(&folder, 0..20);
    publish_refused(&folder, 1, "--expires-in 300000y", "the time is too late");
    assert_eq!(publish(&folder, 1, "")["added"], 10);
}

#[test]
fn an_unsigned_feed() {
    let folder = feed("");
    write_list(&folder, 0..10);
    done(&folder, "feed publish @public @list --state @state --profile raw");
    assert!(done(&folder, "feed verify @public").contains("signature   none"));
    refused(&folder, &format!("feed verify @public --public-key={PUBLIC_KEY}"), "none of these keys");
}

#[test]
fn what_does_not_go_together_is_refused() {
    let folder = feed("");
    write_list(&folder, 0..10);
    let begin = |more: &str| format!("feed publish @a @list --state @b {more}");
    refused(&folder, &begin("--profile raw").replace("@b", "@a/state"), "must not be in");
    // Whoever can read the folder could sign what clients believe, or ask a keyed filter.
    fs::create_dir_all(folder.path().join("a/keys")).unwrap();
    fs::copy(folder.path().join("key"), folder.path().join("a/keys/key")).unwrap();
    write(&folder, "a/secret", [7; 16]);
    refused(&folder, &begin("--profile raw --sign @a/keys/key"), "a secret key must not be in the folder");
    refused(
        &folder,
        &begin("--profile raw --sign @a/../a/keys/key"),
        "a secret key must not be in the folder",
    );
    refused(&folder, &begin("--profile raw --secret-file @a/secret"), "the secret must not be in the folder");
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("../key", folder.path().join("a/link")).unwrap();
        refused(&folder, &begin("--profile raw --sign @a/link"), "a secret key must not be in the folder");
    }
    fs::remove_dir_all(folder.path().join("a")).unwrap();
    refused(&folder, &begin("--profile raw --fpr 1e-9"), "--fpr must be");
    refused(&folder, &begin("--profile raw --fpr 1"), "--fpr must be");
    refused(&folder, &begin("--profile raw --lowercase"), "--profile password");
    refused(&folder, &begin("--profile raw --shards 3"), "--shards: ");
    refused(&folder, &begin("--profile password --lowercase").replace("@list", "@nothing"), "nothing");
    refused(&folder, &begin("--profile password --expires-in 0s"), "--expires-in");
    refused(&folder, &begin("--profile password --min-count 2"), "--min-count");
    refused(&folder, &begin("--profile password --allow-suffixes"), "--allow-suffixes");
    refused(&folder, &begin("--profile password --allow-wins"), "--allow");
    refused(&folder, &begin("--profile password --allow -"), "must be a file");
    refused(&folder, &begin("--profile password --allow @list --without-allow @list"), "no such allowlist");
    refused(&folder, "feed publish @public @list --state @nowhere", "nowhere");
    assert!(!folder.path().join("nowhere").exists() && !folder.path().join("public").exists());
    write(&folder, "list", "# nothing\n");
    write(&folder, "list", "");
    refused(
        &folder,
        "feed publish @public @list --state @state --profile raw",
        "this list gave no key; --allow-empty allows an empty list\n",
    );
    assert!(!folder.path().join("public/feed.json").exists());
    done(&folder, "feed publish @public @list --state @state --allow-empty --profile raw");
    refused(&folder, "feed verify @state", "feed.json");
    write(&folder, "public/feed.json", "<!doctype html>");
    refused(&folder, "feed verify @public", "not a manifest");
    refused(&folder, "feed publish @public @list --state @state --allow-empty", "not a manifest");
}
