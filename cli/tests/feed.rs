//! `feed init`, `keygen`, `publish` and `verify`. What is published is read back by the library alone: the payload from
//! the manifest, each file by its name, the deltas one after another.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

use bloom_wasm::{Blob, Delta};
use bloom_wasm_cli::{Streams, run};
use serde_json::Value;
use tempfile::TempDir;

/// The key of RFC 8037, appendix A.1, as OpenSSL writes it, and its public key from A.2.
const KEY: &str = "-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g
-----END PRIVATE KEY-----
";
const PUBLIC_KEY: &str = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo";

/// Runs the tool; arguments that begin with @ are files in the folder. Returns its exit code and what it printed.
fn tool(folder: &TempDir, args: &str) -> (u8, String, String) {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let streams = &mut Streams { input: &mut &b""[..], out: &mut out, err: &mut err, terminal: false };
    let code = run(arguments(folder, args), streams);
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (code, text(out), text(err))
}

fn arguments(folder: &TempDir, args: &str) -> Vec<String> {
    let path = |arg: &str| match arg.strip_prefix('@') {
        Some(file) => folder.path().join(file).display().to_string(),
        None => arg.to_owned(),
    };
    ["bloom-wasm".to_owned()].into_iter().chain(args.split(' ').map(path)).collect()
}

fn done(folder: &TempDir, args: &str) -> String {
    let (code, out, err) = tool(folder, args);
    assert_eq!(code, 0, "{args}: {out}{err}");
    out
}

fn refused(folder: &TempDir, args: &str, words: &str) {
    let (code, _, err) = tool(folder, args);
    assert!(code == 2 && err.contains(words) && err.lines().count() == 1, "{args}: {err}");
}

/// A folder with a feed that has no generation yet.
fn feed(options: &str) -> TempDir {
    let folder = TempDir::new().unwrap();
    write(&folder, "key", KEY);
    done(&folder, format!("feed init @public --state @state {options}").trim_end());
    folder
}

fn write(folder: &TempDir, file: &str, text: impl AsRef<[u8]>) {
    fs::write(folder.path().join(file), text).unwrap();
}

fn key(i: u32) -> String {
    format!("key-{i}.example")
}

fn write_list(folder: &TempDir, keys: impl IntoIterator<Item = u32>) {
    write(folder, "list", keys.into_iter().map(|i| key(i) + "\n").collect::<String>());
}

/// When the first list is published. `feed verify` reads the clock, to which nothing of this month has expired.
const MONTH: &str = "2099-01";

/// Some hours after the first time.
fn at(hours: u32) -> String {
    format!("--created-at {MONTH}-{:02}T{:02}:00:00Z", hours / 24 + 1, hours % 24)
}

/// Publishes the list some hours after the first time. Returns the report.
fn publish(folder: &TempDir, hours: u32, options: &str) -> Value {
    let at = format!("{} {options}", at(hours));
    let args = format!("feed publish @public @list --state @state --sign @key --json {}", at.trim_end());
    serde_json::from_str(&done(folder, &args)).unwrap()
}

/// What the manifest says, by `feed verify`.
fn verify(folder: &TempDir) -> Value {
    serde_json::from_str(&done(folder, &format!("feed verify @public --json --public-key {PUBLIC_KEY}")))
        .unwrap()
}

/// The filter in the folder.
fn read(folder: &TempDir) -> Blob {
    let mut blob = None;
    for file in verify(folder)["files"].as_array().unwrap() {
        let bytes = fs::read(folder.path().join("public").join(file["sha256"].as_str().unwrap())).unwrap();
        blob = Some(match blob {
            None => Blob::decode(bytes).unwrap(),
            Some(blob) => Blob::apply(&blob, Delta::decode(bytes).unwrap()).unwrap(),
        });
    }
    blob.unwrap()
}

/// Everything in the folder that is served.
fn files(folder: &TempDir) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(folder.path().join("public")).unwrap().map(|entry| entry.unwrap().path());
    entries
        .map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), fs::read(path).unwrap()))
        .collect()
}

fn names(folder: &TempDir) -> BTreeSet<String> {
    files(folder).into_keys().collect()
}

/// Fails unless the filter has all of these keys, and none of those more often than a stranger.
fn check(blob: &Blob, members: impl Iterator<Item = u32>, removed: impl Iterator<Item = u32>, fpr: f64) {
    let has = |i: u32| blob.filter().has(key(i).as_bytes());
    for i in members {
        assert!(has(i), "key {i} is lost");
    }
    let strangers = 1_000_000..1_100_000;
    let expected = strangers.len() as f64 * fpr;
    let hits = strangers.filter(|&i| has(i)).count() as f64;
    assert!(hits < expected + 5.0 * expected.sqrt() + 1.0, "{hits} strangers for {expected}");
    let removed: Vec<u32> = removed.collect();
    let expected = removed.len() as f64 * fpr;
    let hits = removed.into_iter().filter(|&i| has(i)).count() as f64;
    assert!(hits <= expected + 5.0 * expected.sqrt() + 1.0, "{hits} removed keys for {expected}");
}

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
        assert!(blob.filter().estimated_fpr() <= 0.01);
        assert!((info["estimatedFpr"].as_f64().unwrap() - blob.filter().estimated_fpr()).abs() < 1e-12);
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
    let state = folder.path().join("state/state.json");
    let mut json: Value = serde_json::from_str(&fs::read_to_string(&state).unwrap()).unwrap();
    json["feedId"] = "000102030405060708090a0b0c0d0e0f".into();
    json["name"] = "golden ✓".into();
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
    refused(&folder, args, "a time is too late");
}

#[test]
fn files_stay_for_a_time_of_grace() {
    let folder = feed("");
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
    assert_eq!(publish(&folder, 1, "")["published"], true);
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
    publish(&folder, 2, "");
    let mut manifest: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    let payload = manifest["payload"].as_str().unwrap();
    let other =
        if payload.contains('A') { payload.replacen('A', "B", 1) } else { payload.replacen('C', "D", 1) };
    manifest["payload"] = other.into();
    fs::write(&path, manifest.to_string()).unwrap();
    refused(&folder, &format!("feed verify @public --public-key={PUBLIC_KEY}"), "none of these keys");
    write(&folder, "bad", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n");
    refused(&folder, "feed publish @public @list --state @state --sign @bad", "not an Ed25519 key");
    refused(&folder, "feed verify @public --public-key=abc", "43 characters");
    // A signature that is forgotten would lock all clients out.
    fs::remove_file(&path).unwrap();
    refused(&folder, "feed publish @public @list --state @state", "--unsigned");
    done(&folder, "feed publish @public @list --state @state --unsigned");
    done(&folder, "feed publish @public @list --state @state");
}

#[test]
fn an_unsigned_feed() {
    let folder = feed("");
    write_list(&folder, 0..10);
    done(&folder, "feed publish @public @list --state @state");
    assert!(done(&folder, "feed verify @public").contains("signature   none"));
    refused(&folder, &format!("feed verify @public --public-key={PUBLIC_KEY}"), "none of these keys");
}

#[test]
fn a_feed_that_expired_says_so() {
    let folder = feed("");
    write_list(&folder, 0..10);
    done(&folder, "feed publish @public @list --state @state --created-at 2020-01-01T00:00:00Z");
    let (code, out, _) = tool(&folder, "feed verify @public");
    assert_eq!(code, 1);
    assert!(out.contains("2020-01-08T00:00:00Z, so it has expired"), "{out}");
}

#[test]
fn a_lost_state_goes_on_with_a_new_base() {
    let folder = feed("--fpr 1e-2 --seed 7 --name Demo");
    write_list(&folder, 0..1000);
    publish(&folder, 0, "");
    write_list(&folder, 0..1020);
    publish(&folder, 1, "");
    let before = verify(&folder);
    fs::remove_dir_all(folder.path().join("state")).unwrap();
    refused(&folder, "feed publish @public @list --state @state", "state");
    refused(&folder, "feed init @public --state @state --fpr 0.1", "there is a feed here already");
    let seconds = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let begun = seconds();
    done(&folder, &format!("feed init @public --state @state --public-key {PUBLIC_KEY}"));
    let last = seconds();
    refused(&folder, "feed init @public --state @state", "already");
    let report = publish(&folder, 2, "");
    assert_eq!(report["file"]["kind"], "base");
    let after = verify(&folder);
    assert!((begun + 1..=last + 1).contains(&after["generation"].as_u64().unwrap()), "{after}");
    assert_eq!(after["files"].as_array().unwrap().len(), 1);
    for same in ["feedId", "name", "fpr", "seed", "profile", "count"] {
        assert_eq!(after[same], before[same], "{same}");
    }
    // The state of another feed.
    done(&folder, "feed init @elsewhere --state @other");
    refused(&folder, "feed publish @public @list --state @other", "another feed");
}

#[test]
fn what_a_lost_state_published_is_signed_on_and_cleared_away() {
    let folder = feed("");
    write_list(&folder, 0..1000);
    publish(&folder, 0, "");
    write_list(&folder, 0..1020);
    publish(&folder, 1, "");
    let old = names(&folder);
    assert_eq!(old.len(), 3);
    fs::remove_dir_all(folder.path().join("state")).unwrap();
    done(&folder, "feed init @public --state @state --sign @key");
    refused(&folder, "feed publish @public @list --state @state", "the feed was signed until now");
    write_list(&folder, 0..1030);
    publish(&folder, 2, "");
    assert!(old.is_subset(&names(&folder)));
    publish(&folder, 25, "");
    assert!(old.is_subset(&names(&folder)));
    publish(&folder, 26, "");
    assert_eq!(names(&folder).len(), 2);
    assert_eq!(verify(&folder)["count"], 1030);
}

#[test]
fn the_manifest_tells_a_new_state_how_passwords_are_compared() {
    // The SHA-1 of "password", by sha1sum.
    let hash = "5baa61e4c9b93f3f0682250b6cf8331b7ee68fd8";
    for (option, list) in [("--sha1-hex", hash), ("--lowercase", "Password"), ("", "Password")] {
        for is_base_lost in [false, true] {
            let folder = feed(format!("--profile password {option}").trim_end());
            write(&folder, "list", list);
            publish(&folder, 0, "");
            let before = read(&folder);
            fs::remove_dir_all(folder.path().join("state")).unwrap();
            if is_base_lost {
                let files = names(&folder).into_iter().filter(|name| name != "feed.json");
                files.for_each(|name| write(&folder, &format!("public/{name}"), "lost"));
            }
            let init = "feed init @public --state @state --sign @key";
            for given in ["--lowercase", "--sha1-hex"] {
                refused(&folder, &format!("{init} {given}"), "keeps what describes it");
            }
            done(&folder, init);
            publish(&folder, 1, "");
            let after = read(&folder);
            assert_eq!(after.profile(), before.profile(), "{option}");
            assert_eq!(after.filter(), before.filter(), "{option}");
        }
    }
}

#[test]
fn an_older_state_never_lowers_the_generation() {
    let folder = feed("");
    write_list(&folder, 0..1000);
    publish(&folder, 0, "");
    let [state, copy] = ["state", "copy"].map(|name| folder.path().join(name));
    fs::create_dir(&copy).unwrap();
    for entry in fs::read_dir(&state).unwrap() {
        let name = entry.unwrap().file_name();
        fs::copy(state.join(&name), copy.join(&name)).unwrap();
    }
    for i in 1..4 {
        write_list(&folder, 0..1000 + 10 * i);
        publish(&folder, i, "");
    }
    write_list(&folder, 5..1002);
    let args = format!("feed publish @public @list --state @copy --sign @key --json {}", at(5));
    let report: Value = serde_json::from_str(&done(&folder, &args)).unwrap();
    assert_eq!(report["generation"], 5);
    check(&read(&folder), 5..1002, 0..5, 1e-3);
}

#[test]
fn what_is_missing_or_damaged_is_made_anew() {
    for (target, words) in
        [("public", "hash"), ("removed", "damaged"), ("members", "damaged"), ("gone", "No such file")]
    {
        let folder = feed("");
        write_list(&folder, 0..3000);
        publish(&folder, 0, "");
        write_list(&folder, 10..3000);
        publish(&folder, 1, "");
        let delta = verify(&folder)["files"][1]["sha256"].as_str().unwrap().to_owned();
        let public = folder.path().join("public").join(delta);
        let state = fs::read_dir(folder.path().join("state")).unwrap().map(|entry| entry.unwrap().path());
        let path = match target {
            "public" | "gone" => public,
            _ => state
                .into_iter()
                .find(|path| path.display().to_string().contains(&format!("{target}-")))
                .unwrap(),
        };
        if target == "gone" {
            fs::remove_file(path).unwrap();
        } else {
            let mut bytes = fs::read(&path).unwrap();
            *bytes.last_mut().unwrap() ^= 1;
            fs::write(&path, bytes).unwrap();
        }
        // As large as the one before, so they'd be merged; but half as many when it is to be built upon.
        let to = if target == "public" { 2997 } else { 2980 };
        write_list(&folder, 10..to);
        let said = done(&folder, &format!("feed publish @public @list --state @state --sign @key {}", at(2)));
        assert!(said.contains("a new base") && said.contains(words), "{target}: {said}");
        check(&read(&folder), 10..to, (0..10).chain(to..3000), 1e-3);
    }
}

#[test]
fn damage_is_mended_even_if_the_list_has_not_changed() {
    let folder = feed("");
    write_list(&folder, 0..3000);
    publish(&folder, 0, "");
    let base = verify(&folder)["files"][0]["sha256"].as_str().unwrap().to_owned();
    write(&folder, &format!("public/{base}"), "damaged");
    let report = publish(&folder, 1, "");
    assert_eq!((&report["published"], &report["generation"]), (&true.into(), &2.into()));
    check(&read(&folder), 0..3000, 0..0, 1e-3);
}

#[test]
fn allowed_keys_are_absent_in_every_generation() {
    let folder = feed("--fpr 0.2");
    let allowed: Vec<u32> = (500_000..502_000).collect();
    let write_allowed = |keys: &[u32]| {
        write(&folder, "allow", keys.iter().map(|i| key(*i) + "\n").collect::<String>());
    };
    let has = |i: &u32| read(&folder).filter().has(key(*i).as_bytes());
    write_allowed(&allowed[..1000]);
    for day in 0..6 {
        write_list(&folder, 100 * day..4000 + 100 * day);
        publish(&folder, day, "--allow @allow");
        let blob = read(&folder);
        assert!(allowed[..1000].iter().all(|i| !blob.filter().has(key(*i).as_bytes())));
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
    publish(&folder, 8, "--allow @allow");
    assert!(has(&1000));
    publish(&folder, 9, "--allow @allow --allow-wins");
    assert!(!has(&1000));
    // Nothing is left: that is as little wanted as an empty list.
    let all = "feed publish @public @list --state @state --sign @key --allow @list --allow-wins";
    let (code, _, err) = tool(&folder, all);
    assert!(code == 2 && err.contains("--allow-empty"), "{err}");
}

#[test]
fn what_does_not_go_together_is_refused() {
    let folder = feed("--profile password --lowercase");
    write_list(&folder, 0..10);
    refused(&folder, "feed init @other --state @other/state", "must not lie");
    refused(&folder, "feed init @a --state @b --fpr 1e-9", "--fpr must be");
    refused(&folder, "feed init @a --state @c --fpr 1", "--fpr must be");
    refused(&folder, "feed init @a --state @c --lowercase", "--profile password");
    refused(&folder, "feed publish @public @nothing --state @state", "nothing");
    refused(&folder, "feed publish @public @list --state @nowhere", "nowhere");
    refused(&folder, "feed publish @public @list --state @state --expires-in 0s", "--expires-in");
    refused(&folder, "feed publish @public @list --state @state --min-count 2", "--min-count");
    refused(&folder, "feed publish @public @list --state @state --allow-suffixes", "--allow-suffixes");
    write(&folder, "list", "# nothing\n");
    write(&folder, "list", "");
    refused(&folder, "feed publish @public @list --state @state", "--allow-empty removes every key\n");
    assert!(!folder.path().join("public/feed.json").exists());
    done(&folder, "feed publish @public @list --state @state --allow-empty");
    refused(&folder, "feed verify @state", "feed.json");
    write(&folder, "public/feed.json", "<!doctype html>");
    refused(&folder, "feed verify @public", "not a manifest");
    refused(&folder, "feed publish @public @list --state @state --allow-empty", "not a manifest");
}

/// Publishes the list, which must be refused with these words in the only line. Returns that line.
fn publish_refused(folder: &TempDir, hours: u32, options: &str, words: &str) -> String {
    let at = format!("{} {options}", at(hours));
    let args = format!("feed publish @public @list --state @state --sign @key {}", at.trim_end());
    let (code, out, err) = tool(folder, &args);
    assert!(code == 2 && out.is_empty() && err.contains(words), "{args}: {out}{err}");
    assert_eq!(err.lines().count(), 1, "{err}");
    err
}

/// What a host sends, with status 200, while it is being repaired.
const PAGE: &str = "<!doctype html>\n<title>Maintenance</title>\n<p>We will be back soon.</p>\n";

#[test]
fn a_list_that_shrinks_is_not_published() {
    let folder = feed("");
    write_list(&folder, 0..1000);
    publish(&folder, 0, "");
    let before = files(&folder);
    write(&folder, "list", PAGE);
    let said = publish_refused(&folder, 1, "", "1,000 of 1,000 keys");
    assert!(said.contains("--max-removed 100%"), "{said}");
    assert_eq!(files(&folder), before);
    // A third of it, and one key more than a quarter.
    for left in [667, 749] {
        write_list(&folder, 0..left);
        publish_refused(&folder, 1, "", "--max-removed");
        // Keys that are new don't make up for it.
        write_list(&folder, (0..left).chain(5000..6000));
        publish_refused(&folder, 1, "", "--max-removed");
    }
    assert_eq!(files(&folder), before);
    write_list(&folder, 0..750);
    assert_eq!(publish(&folder, 2, "")["removed"], 250);
    write_list(&folder, 0..100);
    publish_refused(&folder, 3, "--max-removed 80%", "at most 80%");
    publish_refused(&folder, 3, "--max-removed 0.9", "such as 50%");
    assert_eq!(publish(&folder, 3, "--max-removed 87%")["removed"], 650);
    write_list(&folder, 50..99);
    publish_refused(&folder, 4, "", "51 of 100 keys");
    publish(&folder, 4, "--max-removed 100%");
    // So few may change as a whole.
    write_list(&folder, 1000..1010);
    publish(&folder, 5, "");
    check(&read(&folder), 1000..1010, 0..1000, 1e-3);
}

#[test]
fn clients_keep_the_old_list_while_the_new_one_is_refused() {
    let folder = feed("");
    write_list(&folder, 0..1000);
    publish(&folder, 0, "");
    let before = files(&folder);
    for (text, words) in [(PAGE, "--max-removed"), ("", "--allow-empty")] {
        write(&folder, "list", text);
        publish_refused(&folder, 83, "", words);
        assert_eq!(files(&folder), before);
    }
    // Halfway to the end it is signed anew, with the keys that it had.
    let mut last = 1;
    for (hours, text) in [(84, PAGE), (84 + 84, ""), (84 + 84 + 84, PAGE)] {
        write(&folder, "list", text);
        last += 1;
        publish_refused(&folder, hours, "", &format!("signed anew as generation {last}\n"));
        publish_refused(&folder, hours + 1, "", &format!("generation {last} stays\n"));
        let info = verify(&folder);
        assert_eq!((&info["generation"], &info["count"]), (&last.into(), &1000.into()));
        assert_eq!(
            info["expires"].as_u64().unwrap() - info["createdAt"].as_u64().unwrap(),
            7 * 24 * 3_600_000
        );
        check(&read(&folder), 0..1000, 0..0, 1e-3);
    }
    let without_manifest = |mut files: BTreeMap<String, Vec<u8>>| files.remove("feed.json").map(|_| files);
    assert_eq!(without_manifest(files(&folder)), without_manifest(before));
    // The list is back.
    write_list(&folder, 10..1000);
    let report = publish(&folder, 254, "");
    assert_eq!((&report["added"], &report["removed"]), (&0.into(), &10.into()));
    check(&read(&folder), 10..1000, 0..10, 1e-3);
    // An empty list is another matter, with an option of its own.
    write(&folder, "list", "");
    publish_refused(&folder, 255, "--max-removed 100%", "--allow-empty");
    assert_eq!(publish(&folder, 255, "--allow-empty")["removed"], 990);
}

#[test]
fn a_list_of_which_more_lines_are_skipped_is_not_published() {
    let folder = feed("--profile url");
    let hosts = |keys: u32, rules: u32| {
        let hosts = (0..keys).map(|i| format!("||host-{i}.example^\n"));
        let rules = (0..rules).map(|i| format!("||host-{i}.example^$script\n"));
        write(&folder, "list", hosts.chain(rules).collect::<String>());
    };
    let refused = |hours| {
        let args = format!("feed publish @public @list --state @state --sign @key {}", at(hours));
        let (code, _, err) = tool(&folder, &args);
        assert!(
            code == 2 && err.contains("of the lines give no key") && err.contains("--max-removed"),
            "{err}"
        );
        // After the ten that are always shown.
        assert_eq!(err.lines().count(), 12, "{err}");
    };
    // An adblock list skips most of its lines, always.
    hosts(1000, 9000);
    publish(&folder, 0, "");
    hosts(1010, 9100);
    assert_eq!(publish(&folder, 1, "")["added"], 10);
    hosts(1010, 0);
    publish(&folder, 2, "");
    let report = publish(&folder, 3, "");
    assert_eq!(report["published"], false);
    // Nothing was signed, so this is still compared with what was.
    hosts(1010, 9100);
    publish(&folder, 4, "");
    hosts(1020, 0);
    publish(&folder, 5, "");
    let before = files(&folder);
    hosts(1030, 9100);
    refused(6);
    assert_eq!(files(&folder), before);
    publish(&folder, 7, "--max-removed 100%");
    hosts(1040, 9100);
    publish(&folder, 8, "");
}

/// What is known of the last generation is its number of keys.
#[test]
fn a_list_that_shrinks_is_not_published_when_the_state_was_lost() {
    let folder = feed("");
    write_list(&folder, 0..1000);
    publish(&folder, 0, "");
    let path = |name: &str| folder.path().join(name);
    let members = fs::read_dir(path("state")).unwrap().map(|entry| entry.unwrap().path());
    let members = members.into_iter().find(|path| path.display().to_string().contains("members-")).unwrap();
    fs::write(members, "damaged").unwrap();
    write_list(&folder, 0..500);
    publish_refused(&folder, 1, "", "500 of 1,000 keys");
    fs::remove_dir_all(path("state")).unwrap();
    done(&folder, "feed init @public --state @state --sign @key");
    publish_refused(&folder, 1, "", "500 of 1,000 keys");
    // Nor if the manifest has gone meanwhile.
    let manifest = fs::read(path("public/feed.json")).unwrap();
    fs::remove_file(path("public/feed.json")).unwrap();
    publish_refused(&folder, 1, "", "500 of 1,000 keys");
    fs::write(path("public/feed.json"), manifest).unwrap();
    write_list(&folder, 0..900);
    publish(&folder, 1, "");
    check(&read(&folder), 0..900, 900..1000, 1e-3);
}

/// CI keeps no state of a run that failed, so the manifest is newer than it, and the list the same.
#[test]
fn a_list_is_signed_anew_again_and_again_while_the_next_is_refused() {
    let folder = feed("");
    write_list(&folder, 0..1000);
    publish(&folder, 0, "");
    let path = folder.path().join("state/state.json");
    let state = fs::read(&path).unwrap();
    write_list(&folder, 0..10);
    for generation in 2..5 {
        let words = format!("the old list was signed anew as generation {generation}");
        publish_refused(&folder, (generation - 1) * 4 * 24, "", &words);
        fs::write(&path, &state).unwrap();
    }
    check(&read(&folder), 0..1000, 2000..3000, 1e-3);
}

/// Where a file is missing or damaged, clients that come anew would be lost.
#[test]
fn what_is_signed_anew_is_whole() {
    for damaged in ["", "damaged"] {
        let folder = feed("");
        write_list(&folder, 0..1000);
        write(&folder, "allow", (1000..3000).map(|i| key(i) + "\n").collect::<String>());
        publish(&folder, 0, "--allow @allow");
        let base = names(&folder).into_iter().find(|name| name != "feed.json").unwrap();
        match damaged {
            "" => fs::remove_file(folder.path().join("public").join(&base)).unwrap(),
            text => write(&folder, &format!("public/{base}"), text),
        }
        // Some that were members are to be absent now. They stay what they are in the old list.
        write(&folder, "allow", (500..3000).map(|i| key(i) + "\n").collect::<String>());
        write(&folder, "list", PAGE);
        publish_refused(&folder, 1, "--allow @allow", "signed anew as generation 2\n");
        publish_refused(&folder, 2, "--allow @allow", "generation 2 stays\n");
        check(&read(&folder), 0..1000, 0..0, 1e-3);
        let filter = read(&folder);
        assert!((1000..3000).all(|i| !filter.filter().has(key(i).as_bytes())));
        assert_eq!(verify(&folder)["count"], 1000);
    }
}

/// The files are whole, so clients need not lose them because a part of the state is.
#[test]
fn a_list_is_signed_anew_without_its_digests() {
    let folder = feed("");
    write_list(&folder, 0..1000);
    publish(&folder, 0, "");
    write_list(&folder, 0..1020);
    publish(&folder, 1, "");
    let members = || {
        let state = fs::read_dir(folder.path().join("state")).unwrap().map(|entry| entry.unwrap().path());
        state.into_iter().find(|path| path.display().to_string().contains("members-")).unwrap()
    };
    fs::write(members(), "damaged").unwrap();
    write(&folder, "list", PAGE);
    publish_refused(&folder, 2, "", "generation 2 stays\n");
    publish_refused(&folder, 90, "", "signed anew as generation 3\n");
    assert_eq!(verify(&folder)["count"], 1020);
    check(&read(&folder), 0..1020, 2000..3000, 1e-3);
    // With a file of those damaged too, nothing is known to be right.
    let base = names(&folder).into_iter().find(|name| name != "feed.json").unwrap();
    let kept = fs::read(folder.path().join("public").join(&base)).unwrap();
    write(&folder, &format!("public/{base}"), "damaged");
    let before = files(&folder);
    publish_refused(&folder, 180, "", "members-");
    assert_eq!(files(&folder), before);
    fs::write(folder.path().join("public").join(&base), kept).unwrap();
    // The list is back: a new base.
    write_list(&folder, 0..1030);
    publish(&folder, 181, "");
    check(&read(&folder), 0..1030, 2000..3000, 1e-3);
    publish(&folder, 182, "");
}

/// The list of an old copy, as CI restores one, is older than the one that clients have.
#[test]
fn an_old_state_does_not_sign_its_list_anew() {
    let folder = feed("");
    write_list(&folder, 0..1000);
    publish(&folder, 0, "");
    let state = |name: &str| folder.path().join("state").join(name);
    let old: Vec<_> =
        fs::read_dir(folder.path().join("state")).unwrap().map(|entry| entry.unwrap().path()).collect();
    let old: Vec<_> = old.into_iter().map(|path| (path.clone(), fs::read(path).unwrap())).collect();
    write_list(&folder, 0..1200);
    publish(&folder, 1, "");
    fs::remove_dir_all(folder.path().join("state")).unwrap();
    fs::create_dir(folder.path().join("state")).unwrap();
    for (path, bytes) in old {
        fs::write(path, bytes).unwrap();
    }
    assert!(state("state.json").exists());
    let before = files(&folder);
    // What is gone is counted from the list that clients have.
    write_list(&folder, 0..850);
    publish_refused(&folder, 2, "", "of 1,200 keys");
    write_list(&folder, 0..10);
    // It is about to expire, and no list is known that may be signed.
    publish_refused(&folder, 6 * 24, "", "the state is an old copy");
    assert!(files(&folder) == before);
    write_list(&folder, 0..1300);
    publish(&folder, 6 * 24, "");
    check(&read(&folder), 0..1300, 2000..3000, 1e-3);
}

#[test]
fn a_state_that_misses_something_is_refused() {
    let folder = feed("");
    write_list(&folder, 0..10);
    publish(&folder, 0, "");
    let path = folder.path().join("state/state.json");
    let text = fs::read_to_string(&path).unwrap();
    for field in ["members", "lines"] {
        let mut state: serde_json::Map<String, Value> = serde_json::from_str(&text).unwrap();
        state.remove(field).expect("it is there");
        fs::write(&path, serde_json::to_string(&state).unwrap()).unwrap();
        publish_refused(&folder, 1, "", &format!("missing field `{field}`"));
    }
}

/// Gives a lock the time of one whose run was killed so many seconds ago.
fn age(lock: &Path, seconds: u64) {
    let then = std::time::SystemTime::now() - std::time::Duration::from_secs(seconds);
    fs::File::options().write(true).open(lock).unwrap().set_modified(then).unwrap();
}

#[test]
fn one_run_at_a_time() {
    let folder = feed("");
    write_list(&folder, 0..10);
    let lock = folder.path().join("state/feed.lock");
    assert!(!lock.exists());
    fs::write(&lock, "0123456789abcdef0123456789abcdef").unwrap();
    let before = names(&folder);
    for seconds in [0, 50] {
        age(&lock, seconds);
        publish_refused(&folder, 0, "", "another run writes here just now");
    }
    assert_eq!(names(&folder), before);
    age(&lock, 61);
    publish(&folder, 0, "");
    assert!(!lock.exists());
    publish(&folder, 0, "");
}

/// A run that waits for its list, which is a pipe, and that has the lock.
#[cfg(unix)]
fn waiting(folder: &TempDir) -> (std::process::Child, fs::File) {
    let pipe = folder.path().join("pipe");
    let _ = fs::remove_file(&pipe);
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let args = arguments(folder, "feed publish @public @pipe --state @state --sign @key --expires-in 36500d");
    let mut command = Command::new(env!("CARGO_BIN_EXE_bloom-wasm"));
    let child = command.args(&args[1..]).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    // Comes to an end when the run has opened the other one.
    let writer = fs::File::options().write(true).open(pipe).unwrap();
    (child, writer)
}

#[cfg(unix)]
fn signal(child: &std::process::Child, name: &str) {
    assert!(Command::new("kill").args(["-s", name, &child.id().to_string()]).status().unwrap().success());
}

#[test]
#[cfg(unix)]
fn a_run_that_lost_its_lock_changes_nothing() {
    use std::io::Write;
    let folder = feed("");
    write_list(&folder, 0..100);
    publish(&folder, 0, "");
    let lock = folder.path().join("state/feed.lock");
    let state = || fs::read(folder.path().join("state/state.json")).unwrap();
    let (child, list) = waiting(&folder);
    publish_refused(&folder, 1, "", "another run");
    // It stands still for so long that another run takes its place, and is done.
    signal(&child, "STOP");
    age(&lock, 61);
    write_list(&folder, 0..120);
    publish(&folder, 1, "");
    signal(&child, "CONT");
    let before = (verify(&folder), state());
    let keys: String = (0..110).map(|i| key(i) + "\n").collect();
    let lost = |child: std::process::Child, mut list: fs::File| {
        list.write_all(keys.as_bytes()).unwrap();
        drop(list);
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(2) && said.contains("another took its place"), "{said}");
        assert_eq!((verify(&folder), state()), before);
    };
    lost(child, list);
    // Another has it just now, and keeps it.
    let (child, list) = waiting(&folder);
    fs::write(&lock, "0123456789abcdef0123456789abcdef").unwrap();
    lost(child, list);
    assert!(lock.exists());
}

#[test]
#[cfg(unix)]
fn a_signal_takes_the_lock_away_and_kill_9_does_not() {
    let folder = feed("");
    write_list(&folder, 0..10);
    let lock = folder.path().join("state/feed.lock");
    for (name, left) in [("INT", false), ("TERM", false), ("HUP", false), ("KILL", true)] {
        let (mut child, _list) = waiting(&folder);
        assert!(lock.exists());
        signal(&child, name);
        assert_eq!(child.wait().unwrap().code(), None);
        assert_eq!(lock.exists(), left, "{name}");
    }
    publish_refused(&folder, 0, "", "if that was killed, the next can begin in ");
    age(&lock, 61);
    publish(&folder, 0, "");
}

fn spawn(folder: &TempDir, args: &str) -> std::process::Child {
    let args = arguments(folder, args);
    let mut command = Command::new(env!("CARGO_BIN_EXE_bloom-wasm"));
    command.args(&args[1..]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// Kills a run at 50 moments, spread over its whole duration. Whatever it leaves is a whole feed, and the next run goes
/// on.
#[test]
#[ignore = "long: npm run test:all"]
fn a_killed_publisher_leaves_a_whole_feed() {
    let folder = feed("");
    let args = "feed publish @public @list --state @state --sign @key --expires-in 36500d";
    write_list(&folder, 0..50_000);
    let begun = std::time::Instant::now();
    assert!(spawn(&folder, args).wait().unwrap().success());
    let whole = begun.elapsed();
    // The generation in place, and the first key of its list.
    let (mut killed, mut taking_over, mut last) = (0, 0, (1, 0));
    for i in 0..50 {
        let from = 10 * i + 10;
        write_list(&folder, from..50_000 + from);
        let mut child = spawn(&folder, args);
        // Not to wait for anything: moments all over a run.
        std::thread::sleep(whole.mul_f64(f64::from(i + 1) / 40.0));
        child.kill().unwrap();
        killed += u32::from(!child.wait().unwrap().success());
        // Not to wait until it counts as dead. It may have been killed while it took the place of the one before.
        let files = fs::read_dir(folder.path().join("state")).unwrap().map(|entry| entry.unwrap().path());
        // That of one which was killed before it wrote its id is followed by `.lock`, which has no extension.
        let locks: Vec<_> = files.filter(|path| path.to_string_lossy().ends_with(".lock")).collect();
        taking_over += u32::from(locks.len() > 1);
        locks.iter().for_each(|lock| age(lock, 61));
        let generation = verify(&folder)["generation"].as_u64().unwrap();
        if generation != last.0 {
            assert!(generation > last.0);
            last = (generation, from);
        }
        let removed = (0..last.1).chain(50_000 + last.1..50_510);
        check(&read(&folder), last.1..50_000 + last.1, removed, 1e-3);
    }
    assert!(killed >= 10, "only {killed} were killed in time");
    println!("{taking_over} of {killed} were killed while they took over the lock");
    done(&folder, args);
    check(&read(&folder), 500..50_500, 0..500, 1e-3);
    let named = verify(&folder)["files"].as_array().unwrap().len();
    // Everything else goes, even what killed runs wrote.
    assert!(spawn(&folder, &format!("{args} --grace 0s")).wait().unwrap().success());
    assert_eq!(names(&folder).len(), named + 1);
    let state: Vec<_> =
        fs::read_dir(folder.path().join("state")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    let json = fs::read_to_string(folder.path().join("state/state.json")).unwrap();
    let remembered = state.iter().map(|name| name.to_str().unwrap());
    let unknown: Vec<_> =
        remembered.filter(|name| !json.contains(name) && !["lock", "state.json"].contains(name)).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
}

/// Of two runs at once one is refused, or begins when the other has ended.
#[test]
#[ignore = "long: npm run test:all"]
fn two_publishers_never_collide() {
    let folder = feed("");
    for i in 0..20 {
        write_list(&folder, 10 * i..20_000 + 10 * i);
        let args = "feed publish @public @list --state @state --sign @key --expires-in 36500d";
        let mut children = [spawn(&folder, args), spawn(&folder, args)];
        let codes = children.each_mut().map(|child| child.wait().unwrap().code().unwrap());
        assert!(codes == [0, 0] || codes == [0, 2] || codes == [2, 0], "{codes:?}");
        assert_eq!(verify(&folder)["generation"], i + 1);
        assert!(Path::new(&folder.path().join("state/state.json")).exists());
    }
}
