//! Sharded filters: `build --shards`, `shard`, and `info`, `check` and `verify` of a folder, in this process. The
//! oracle is FORMAT.md's text: digests and pages are taken apart here by hand.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use bloom_wasm::{Blob, Profile, RibbonFilter, Stack, hash};
use serde_json::Value;
use sha2::{Digest, Sha256};
use tempfile::TempDir;

use crate::in_process::{Hook, age, done, refused, tool_on, tool_with};

fn write(folder: &TempDir, name: &str, lines: impl IntoIterator<Item = String>) {
    let text: String = lines.into_iter().map(|line| line + "\n").collect();
    fs::write(folder.path().join(name), text).unwrap();
}

fn keys(range: std::ops::Range<u32>) -> impl Iterator<Item = String> {
    range.map(|i| format!("key-{i}"))
}

/// What the manifest in a folder says.
fn payload(dir: &Path) -> Value {
    let manifest: Value = serde_json::from_slice(&fs::read(dir.join("shards.json")).unwrap()).unwrap();
    let text = manifest["payload"].as_str().unwrap();
    // Base64url by hand, without padding.
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let (mut bytes, mut bits, mut held) = (Vec::new(), 0, 0_u32);
    for byte in text.bytes() {
        held = held << 6 | DIGITS.iter().position(|digit| *digit == byte).unwrap() as u32;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push((held >> bits) as u8);
        }
    }
    serde_json::from_slice(&bytes).unwrap()
}

/// The bytes and the count of every shard, by pages; every file must have its hash as its name.
fn shards(dir: &Path) -> Vec<(Vec<u8>, u32)> {
    let read = |name: &str| {
        let bytes = fs::read(dir.join(name)).unwrap();
        let hash: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hash, name);
        bytes
    };
    let payload = payload(dir);
    let mut shards = Vec::new();
    for page in payload["pages"].as_array().unwrap() {
        let page = read(page.as_str().unwrap());
        assert_eq!(page.len(), 40 * 256.min(payload["shards"].as_u64().unwrap() as usize));
        for entry in page.chunks(40) {
            let name: String = entry[..32].iter().map(|byte| format!("{byte:02x}")).collect();
            let number = |at: usize| u32::from_le_bytes(entry[at..at + 4].try_into().unwrap());
            let bytes = read(&name);
            assert_eq!(bytes.len(), number(32) as usize);
            shards.push((bytes, number(36)));
        }
    }
    assert_eq!(shards.len() as u64, payload["shards"].as_u64().unwrap());
    assert_eq!(
        shards.iter().map(|(bytes, _)| bytes.len() as u64).sum::<u64>(),
        payload["bytes"].as_u64().unwrap()
    );
    let count: u64 = shards.iter().map(|(_, count)| u64::from(*count)).sum();
    assert_eq!(count, payload["count"].as_u64().unwrap());
    shards
}

fn files(dir: &Path) -> BTreeSet<String> {
    let names = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.collect()
}

#[test]
fn each_shard_is_the_filter_of_the_keys_with_its_first_bits() {
    let folder = TempDir::new().unwrap();
    write(&folder, "list", keys(0..20_000).chain(keys(0..50)));
    for (count, bits) in [(1, 0), (2, 1), (64, 6), (512, 9)] {
        let dir = format!("out-{count}");
        let said = done(&folder, &format!("build @list --shards {count} --seed 7 --fpr 0.01 -o @{dir}"));
        assert!(said.contains("20,000 keys, 50 repeated"), "{said}");
        let mut groups: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
        for key in keys(0..20_000) {
            let digest = hash::digest(7, key.as_bytes());
            groups.entry(if bits == 0 { 0 } else { digest >> (64 - bits) }).or_default().push(digest);
        }
        for (i, (bytes, keys)) in shards(&folder.path().join(&dir)).into_iter().enumerate() {
            let mut group = groups.remove(&(i as u64)).unwrap_or_default();
            assert_eq!(group.len(), keys as usize);
            let filter = RibbonFilter::from_digests(&mut group, 0.01, 7).unwrap();
            assert_eq!(Blob::new(Profile::Raw, Stack::from(filter)).encode().unwrap(), bytes);
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
    done(&folder, "build @list --shards 4 --fpr 1e-6 -o @out");
    let (code, said, _) = tool_with(&folder, "verify @out --members @more --probes 1000", b"");
    assert!(code == 1 && said.contains("1,010 keys, 10 false negatives"), "{said}");
}

/// All keys of a URL lie in one shard: that of the last two labels of its host.
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
    let said = done(&folder, "build @list --profile url --shards 16 --seed 3 -o @out");
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
    done(&folder, "build @list --shards 8 --fpr 0.1 --allow @allow -o @kept");
    assert_eq!(tool_with(&folder, "check @kept", allowed.as_bytes()), (1, String::new(), String::new()));
    done(&folder, "verify @kept --members @list --probes 1000");
    let said = done(&folder, "build @list --shards 8 --fpr 0.1 --allow @allow -o @kept-again");
    assert!(said.contains("10 keys in both lists (kept)"), "{said}");
    let said = done(&folder, "build @list --shards 8 --fpr 0.1 --allow @allow --allow-wins -o @won");
    assert!(said.contains("5,000 keys") && said.contains("10 keys in both lists (removed)"), "{said}");
    let all = keys(4990..200_000).collect::<Vec<_>>().join("\n");
    assert_eq!(tool_with(&folder, "check @won", all.as_bytes()), (1, String::new(), String::new()));
    // Nothing is left: that is as little wanted as an empty list.
    for output in ["-o @none", "-o @none --shards 2"] {
        let args = format!("build @list {output} --allow @list --allow-wins");
        let (code, _, err) = tool_with(&folder, &args, b"");
        assert!(code == 2 && err.contains("--allow-empty makes a filter of no keys"), "{args}: {err}");
        let none = folder.path().join("none");
        assert!(!none.is_file() && (!none.exists() || files(&none).is_empty()));
    }
    done(&folder, "build @list -o @none --shards 2 --allow @list --allow-wins --allow-empty");
    assert!(folder.path().join("none/shards.json").exists());
}

#[test]
fn a_new_generation_keeps_what_has_not_changed() {
    let folder = TempDir::new().unwrap();
    let dir = folder.path().join("out");
    write(&folder, "list", keys(0..10_000));
    done(&folder, "build @list --shards 256 --name words -o @out");
    let (first, before) = (payload(&dir), files(&dir));
    assert_eq!((&first["generation"], &first["name"]), (&1.into(), &"words".into()));
    assert!(done(&folder, "build @list --shards 256 --name words -o @out").contains("unchanged"));
    assert_eq!((payload(&dir), files(&dir)), (first.clone(), before.clone()));

    write(&folder, "list", keys(0..10_003));
    done(&folder, "build @list --shards 256 --name words -o @out");
    let second = payload(&dir);
    assert_eq!((&second["generation"], &second["feedId"]), (&2.into(), &first["feedId"]));
    // Three shards at most and a page; the old files stay for those who are fetching them.
    assert!((2..=4).contains(&(files(&dir).len() - before.len())));
    assert!(before.is_subset(&files(&dir)));
    shards(&dir);
    // What would soon expire is renewed.
    assert!(
        done(&folder, "build @list --shards 256 --name words -o @out --expires-in 1h")
            .contains("generation 3")
    );
}

/// Each shard by itself and the folder afterwards is the same as all at once.
#[test]
fn shards_that_were_built_elsewhere() {
    let folder = TempDir::new().unwrap();
    write(&folder, "list", keys(0..3000));
    let same = "--seed 42 --fpr 0.01";
    done(&folder, &format!("build @list --shards 32 {same} -o @whole"));
    // Repeated, in any order, and once more after a run that failed.
    for shard in (0..32).rev().chain([5]) {
        let digests = keys(0..3000).chain(keys(0..100)).map(|key| hash::digest(42, key.as_bytes()));
        let bytes: Vec<u8> =
            digests.filter(|digest| digest >> 59 == shard).flat_map(|digest| digest.to_le_bytes()).collect();
        let args = format!("shard build --shards 32 --index {shard} {same} -o @parts");
        let (code, _, err) = tool_with(&folder, &args, &bytes);
        assert_eq!(code, 0, "{err}");
    }
    let said = done(&folder, "shard index @parts --shards 32");
    assert!(said.contains("32 shards"), "{said}");
    let [whole, parts] = ["whole", "parts"].map(|dir| folder.path().join(dir));
    assert_eq!(files(&whole), files(&parts));
    assert_eq!(shards(&whole), shards(&parts));
    let without_id = |dir| {
        let mut payload = payload(dir);
        for name in ["feedId", "createdAt", "expires"] {
            payload[name].take();
        }
        payload
    };
    assert_eq!(without_id(&whole), without_id(&parts));
    // One with layers is asked for all of its keys, and counts them.
    write(&folder, "old", keys(0..100));
    write(&folder, "new", keys(0..150));
    done(&folder, "build @old -o @old.bloom");
    done(&folder, "diff @old @new --base @old.bloom -o @delta");
    fs::create_dir(folder.path().join("layered")).unwrap();
    done(&folder, "apply @old.bloom @delta -o @layered/shard-00000.bloom");
    done(&folder, "shard index @layered --shards 1");
    assert_eq!(payload(&folder.path().join("layered"))["count"], 150);
    assert_eq!(done(&folder, "check @layered key-149"), "key-149\n");
    // SHA-1 hashes: a key has 20 bytes.
    write(&folder, "hashes", (0..500).map(|i| format!("{i:040X}:7")));
    done(&folder, "build @hashes --shards 2 --profile password --sha1-hex --seed 42 -o @hashed");
    fs::create_dir(folder.path().join("hashed-parts")).unwrap();
    for shard in 0..2 {
        let key = |i: u32| [&[0; 16][..], &i.to_be_bytes()].concat();
        let digests = (0..500).map(|i| hash::digest(42, &key(i))).filter(|digest| digest >> 63 == shard);
        let bytes: Vec<u8> = digests.flat_map(u64::to_le_bytes).collect();
        let args = format!(
            "shard build --shards 2 --index {shard} --seed 42 --profile password --sha1-hex -o @hashed-parts"
        );
        assert_eq!(tool_with(&folder, &args, &bytes).0, 0);
    }
    done(&folder, "shard index @hashed-parts --shards 2");
    assert_eq!(shards(&folder.path().join("hashed")), shards(&folder.path().join("hashed-parts")));
}

/// Builds one of four shards.
fn job(folder: &TempDir, shard: u64, range: std::ops::Range<u32>) {
    let digests = keys(range).map(|key| hash::digest(0, key.as_bytes()));
    let bytes: Vec<u8> = digests.filter(|digest| digest >> 62 == shard).flat_map(u64::to_le_bytes).collect();
    let args = format!("shard build --shards 4 --index {shard} -o @out");
    assert_eq!(tool_with(folder, &args, &bytes).0, 0);
}

/// Builds all four.
fn jobs(folder: &TempDir, range: std::ops::Range<u32>) {
    (0..4).for_each(|shard| job(folder, shard, range.clone()));
}

fn part(folder: &TempDir, shard: u64) -> PathBuf {
    folder.path().join(format!("out/shard-{shard:05}.bloom"))
}

const INDEX: &str = "shard index @out --shards 4";

/// Publishes the first generation, and is killed when its manifest is there.
fn killed(folder: &TempDir) {
    // It says that nobody has signed this, and there it ends.
    let mut killed = Hook(|_: &[u8]| -> io::Result<()> { resume_unwind(Box::new(())) });
    let run = AssertUnwindSafe(|| tool_on(folder, INDEX, &mut io::empty(), &mut io::sink(), &mut killed));
    assert!(catch_unwind(run).is_err());
    let dir = folder.path().join("out");
    assert_eq!(payload(&dir)["generation"], 1);
    assert!(dir.join("shards.spent").exists());
}

/// The next run, for which the job of the first shard is lost, doesn't take the old one; with a new one it publishes.
fn only_the_first_is_missing(folder: &TempDir, generation: u64) {
    let dir = folder.path().join("out");
    let before = payload(&dir);
    refused(folder, INDEX, "shard-00000.bloom: No such file");
    assert_eq!(payload(&dir), before);
    // What was built since has stayed.
    assert!((1..4).all(|shard| part(folder, shard).exists()));
    job(folder, 0, 0..1100);
    is_published(folder, generation);
}

/// All shards are those of 1,100 keys, and nothing is left.
fn is_published(folder: &TempDir, generation: u64) {
    let dir = folder.path().join("out");
    done(folder, INDEX);
    write(folder, "list", keys(0..1100));
    done(folder, "verify @out --members @list --probes 1000");
    assert_eq!(payload(&dir)["generation"], generation);
    assert!(files(&dir).iter().all(|name| name.len() == 64 || name == "shards.json"));
}

/// A run is killed when the manifest is there, and the next job of a shard is lost.
#[test]
fn a_shard_that_was_published_is_not_taken_for_the_next_one() {
    for deleted in [0, 2] {
        let folder = TempDir::new().unwrap();
        jobs(&folder, 0..1000);
        killed(&folder);
        (0..deleted).for_each(|i| fs::remove_file(part(&folder, 3 - i)).unwrap());
        // Nobody else minds what it left.
        write(&folder, "list", keys(0..1000));
        for command in ["verify @out --members @list --probes 1000", "info @out", "feed verify @out"] {
            done(&folder, command);
        }
        assert!(done(&folder, "feed forget @out").contains("0 files"));

        (1..4).for_each(|shard| job(&folder, shard, 0..1100));
        only_the_first_is_missing(&folder, 2);
    }
}

/// As in a copy of the folder.
#[test]
fn a_published_shard_with_a_new_time_is_spent() {
    let folder = TempDir::new().unwrap();
    jobs(&folder, 0..1000);
    killed(&folder);
    age(&part(&folder, 0), 0);
    (1..4).for_each(|shard| job(&folder, shard, 0..1100));
    only_the_first_is_missing(&folder, 2);
}

/// The machine that built one of them has a clock that is ahead.
#[test]
fn a_new_shard_with_an_old_time_is_not_spent() {
    let folder = TempDir::new().unwrap();
    jobs(&folder, 0..1000);
    let ahead = SystemTime::now() + Duration::from_secs(3600);
    fs::File::options().write(true).open(part(&folder, 2)).unwrap().set_modified(ahead).unwrap();
    killed(&folder);
    jobs(&folder, 0..1100);
    is_published(&folder, 2);
}

/// The run was killed between the marker and the manifest.
#[test]
fn shards_of_a_manifest_that_never_came_are_not_spent() {
    let folder = TempDir::new().unwrap();
    let dir = folder.path().join("out");
    jobs(&folder, 0..1100);
    killed(&folder);
    fs::remove_file(dir.join("shards.json")).unwrap();
    done(&folder, &format!("{INDEX} --first"));
    assert!(files(&dir).iter().all(|name| name.len() == 64 || name == "shards.json"));
    // The same after another generation.
    let first = fs::read(dir.join("shards.json")).unwrap();
    fs::write(dir.join("shards.json"), "{}").unwrap();
    fs::remove_file(dir.join("shards.json")).unwrap();
    fs::write(dir.join("shards.json"), first).unwrap();
    jobs(&folder, 0..1100);
    is_published(&folder, 1);
}

/// A job is done again when the shard was read.
#[test]
fn a_shard_that_is_replaced_meanwhile_is_not_spent() {
    let folder = TempDir::new().unwrap();
    let dir = folder.path().join("out");
    jobs(&folder, 0..1000);
    let mut said = String::new();
    let mut err = Hook(|bytes: &[u8]| {
        // The manifest is there.
        if said.is_empty() {
            job(&folder, 1, 0..1100);
            age(&part(&folder, 1), 3600);
        }
        said += std::str::from_utf8(bytes).unwrap();
        Ok(())
    });
    let code = tool_on(&folder, INDEX, &mut io::empty(), &mut io::sink(), &mut err);
    assert!(code == 0 && said.starts_with("nobody has signed this") && said.lines().count() == 1, "{said}");
    assert_eq!([0, 1, 2, 3].map(|shard| part(&folder, shard).exists()), [false, true, false, false]);
    assert!(!dir.join("shards.spent").exists());
    [0, 2, 3].into_iter().for_each(|shard| job(&folder, shard, 0..1100));
    is_published(&folder, 2);
}

/// After a run that was killed, `build --shards` publishes the next generation.
#[test]
fn published_shards_are_spent_whoever_comes_next() {
    let folder = TempDir::new().unwrap();
    jobs(&folder, 0..1000);
    killed(&folder);
    write(&folder, "list", keys(0..1050));
    done(&folder, "build @list --shards 4 -o @out");
    (1..4).for_each(|shard| job(&folder, shard, 0..1100));
    only_the_first_is_missing(&folder, 3);
}

/// That is a shard too few, which is told, and never an old one.
#[test]
fn a_shard_that_is_built_again_with_the_same_bytes_is_spent() {
    let folder = TempDir::new().unwrap();
    jobs(&folder, 0..1100);
    killed(&folder);
    jobs(&folder, 0..1100);
    refused(&folder, INDEX, "shard-00000.bloom: No such file");
    jobs(&folder, 0..1100);
    is_published(&folder, 1);
}

/// The marker is of four shards, and the next run is of two.
#[test]
fn the_marker_says_how_many_are_spent() {
    let folder = TempDir::new().unwrap();
    jobs(&folder, 0..1000);
    killed(&folder);
    for shard in 0..2 {
        let digests = keys(0..1000).map(|key| hash::digest(0, key.as_bytes()));
        let bytes: Vec<u8> =
            digests.filter(|digest| digest >> 63 == shard).flat_map(u64::to_le_bytes).collect();
        let args = format!("shard build --shards 2 --index {shard} -o @out");
        assert_eq!(tool_with(&folder, &args, &bytes).0, 0);
    }
    done(&folder, "shard index @out --shards 2");
    assert_eq!(payload(&folder.path().join("out"))["shards"], 2);
}

/// There it is a folder.
#[test]
fn a_published_shard_that_cannot_be_deleted_is_told() {
    let folder = TempDir::new().unwrap();
    let dir = folder.path().join("out");
    jobs(&folder, 0..1000);
    let mut said = String::new();
    let mut err = Hook(|bytes: &[u8]| {
        // The manifest is there.
        if said.is_empty() {
            fs::remove_file(part(&folder, 1))?;
            fs::create_dir(part(&folder, 1))?;
        }
        said += std::str::from_utf8(bytes).unwrap();
        Ok(())
    });
    let code = tool_on(&folder, INDEX, &mut io::empty(), &mut io::sink(), &mut err);
    assert!(code == 0 && said.lines().count() == 2, "{code} {said}");
    let stuck = "shard-00001.bloom: this is not a file";
    assert!(said.contains("generation 1 is in place; ") && said.contains(stuck), "{said}");
    // From the last one on.
    assert_eq!([0, 1, 2, 3].map(|shard| part(&folder, shard).exists()), [true, true, false, false]);
    assert!(dir.join("shards.spent").exists());
    (2..4).for_each(|shard| job(&folder, shard, 0..1100));
    refused(&folder, INDEX, stuck);
    fs::remove_dir(part(&folder, 1)).unwrap();
    job(&folder, 1, 0..1100);
    only_the_first_is_missing(&folder, 2);
}

/// Whoever damages the marker gets an error, and nothing is deleted.
#[test]
fn a_damaged_marker_is_refused() {
    let folder = TempDir::new().unwrap();
    let dir = folder.path().join("out");
    let marker = dir.join("shards.spent");
    jobs(&folder, 0..1000);
    killed(&folder);
    let there = files(&dir);
    let good = fs::read_to_string(&marker).unwrap();
    for text in ["", "{}", "{\"newest\":1}", "null", &good[1..], &good[..good.len() - 1]] {
        fs::write(&marker, text).unwrap();
        refused(&folder, INDEX, "shards.spent: ");
        assert_eq!(files(&dir), there, "{text}");
    }
    fs::write(&marker, good).unwrap();
    refused(&folder, INDEX, "shard-00000.bloom: No such file");
}

#[test]
fn what_is_damaged_is_refused_by_name() {
    let folder = TempDir::new().unwrap();
    let dir = folder.path().join("out");
    write(&folder, "list", keys(0..1000));
    done(&folder, "build @list --shards 2 --seed 1 -o @out");
    let page = payload(&dir)["pages"][0].as_str().unwrap().to_owned();
    let blobs: Vec<_> = files(&dir).into_iter().filter(|name| name.len() == 64 && *name != page).collect();
    let all = keys(0..100).collect::<Vec<_>>().join("\n");
    let refuses = |words: &str| {
        let (code, _, err) = tool_with(&folder, "check @out", all.as_bytes());
        assert!(code == 2 && err.contains(words) && err.lines().count() == 1, "{code}: {err}");
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
    // The next run mends it, and a page too.
    fs::write(dir.join(&page), b"damaged").unwrap();
    done(&folder, "build @list --shards 2 --seed 1 -o @out");
    shards(&dir);
    fs::write(dir.join("shards.json"), "{}").unwrap();
    refuses("shards.json");
    fs::remove_file(dir.join("shards.json")).unwrap();
    refuses("shards.json");
}

#[test]
fn signatures() {
    let folder = TempDir::new().unwrap();
    write(&folder, "list", keys(0..100));
    done(&folder, "feed keygen -o @key");
    done(&folder, "build @list --shards 2 --sign @key -o @out");
    refused(&folder, "build @list --shards 2 -o @out", "clients expect it: give --sign");
    assert!(done(&folder, "build @list --shards 2 --sign @key -o @out").contains("unchanged"));
    // `feed verify` reads such a folder, too.
    done(&folder, "feed keygen -o @other");
    let keys = ["key", "other"].map(|key| done(&folder, &format!("feed pubkey @{key}")).trim().to_owned());
    let [key, other] = keys.map(|key| format!("feed verify @out --public-key={key}"));
    let said = done(&folder, &key);
    assert!(said.contains("by one of the given keys") && said.contains("keys        100\n"), "{said}");
    assert!(done(&folder, "feed verify @out").contains("not checked: give --public-key"));
    let info: Value = serde_json::from_str(&done(&folder, &format!("{key} --json"))).unwrap();
    assert_eq!([&info["verified"], &info["expired"], &info["keyed"]], [true, false, false]);
    assert_eq!([&info["count"], &info["shards"]], [100, 2]);
    refused(&folder, &other, "shards.json: none of these keys has signed it");
    refused(&folder, "feed verify @nothing", "there is no feed.json or shards.json here");
    refused(&folder, "feed verify @out/shards.json", "shards.json: this is a file; give its folder");
    fs::create_dir(folder.path().join("copy")).unwrap();
    for name in files(&folder.path().join("out")) {
        fs::copy(folder.path().join("out").join(&name), folder.path().join("copy").join(&name)).unwrap();
    }
    let longest = files(&folder.path().join("copy")).into_iter().max_by_key(|name| {
        if name.len() == 64 { fs::metadata(folder.path().join("copy").join(name)).unwrap().len() } else { 0 }
    });
    fs::write(folder.path().join("copy").join(longest.unwrap()), "damaged").unwrap();
    refused(&folder, &key.replace("@out", "@copy"), "is damaged");
    done(&folder, "build @list --shards 2 --sign @key --expires-in 1ms -o @short");
    // It may still be that millisecond.
    let mut looks = (0..1000).map(|_| tool_with(&folder, &key.replace("@out", "@short"), b""));
    assert!(looks.any(|(code, out, _)| code == 1 && out.contains("so it has expired")));
    done(&folder, "build @list --shards 2 --unsigned -o @out");
    let manifest: Value =
        serde_json::from_slice(&fs::read(folder.path().join("out/shards.json")).unwrap()).unwrap();
    assert_eq!(manifest["signatures"], Value::Array(Vec::new()));
}

#[test]
fn a_list_that_shrinks_is_not_published() {
    let folder = TempDir::new().unwrap();
    let dir = folder.path().join("out");
    let build = "build @list --shards 4 -o @out";
    write(&folder, "list", keys(0..1000).chain(keys(0..1000)));
    done(&folder, build);
    // Fewer lines, and the same keys.
    write(&folder, "list", keys(0..1000));
    assert!(done(&folder, build).contains("unchanged"));
    let (before, there) = (payload(&dir), files(&dir));
    write(&folder, "list", ["<!doctype html>".to_owned(), "<title>Maintenance</title>".to_owned()]);
    refused(&folder, build, "this is a page of HTML or XML");
    write(&folder, "list", ["503 Service Unavailable".to_owned(), "Please try again later.".to_owned()]);
    refused(&folder, build, "998 of 1,000 keys would be removed, and at most 25% may be");
    write(&folder, "list", keys(0..749));
    refused(&folder, build, "--max-removed 100%");
    assert_eq!(files(&dir), there);
    // Enough lines, but few keys.
    write(&folder, "list", keys(0..500).chain(keys(0..500)));
    refused(&folder, build, "500 of 1,000 keys");
    // It had written its shards.
    assert_eq!((payload(&dir), files(&dir)), (before, there));
    refused(&folder, &format!("{build} --max-removed 40%"), "at most 40%");
    refused(&folder, "build @list -o @blob --max-removed 40%", "goes with --shards");
    write(&folder, "list", keys(0..750));
    done(&folder, build);
    write(&folder, "list", []);
    refused(&folder, &format!("{build} --max-removed 100%"), "--allow-empty");
    refused(&folder, &format!("{build} --allow-empty"), "750 of 750 keys");
    // Of two lists, or of a list and those who are allowed, one is empty.
    write(&folder, "whole", keys(0..750));
    for more in ["@whole", "--allow @whole"] {
        refused(&folder, &format!("{build} {more}"), "list: this list gave no key");
    }
    refused(&folder, "build @whole --allow @list --shards 4 -o @out", "list: this list gave no key");
    done(&folder, &format!("{build} @whole --allow-empty"));
    done(&folder, &format!("{build} --allow-empty --max-removed 100%"));
    assert_eq!(payload(&dir)["count"], 0);

    // The same for shards that were built elsewhere.
    write(&folder, "list", keys(0..1000));
    done(&folder, build);
    let shard = |keys: std::ops::Range<u32>| {
        let digests = keys.map(|i| hash::digest(0, format!("key-{i}").as_bytes()));
        let bytes: Vec<u8> = digests.flat_map(u64::to_le_bytes).collect();
        assert_eq!(tool_with(&folder, "shard build --shards 1 --index 0 -o @out", &bytes).0, 0);
    };
    shard(0..700);
    refused(&folder, "shard index @out --shards 1", "300 of 1,000 keys");
    done(&folder, "shard index @out --shards 1 --max-removed 30%");
    assert_eq!(payload(&dir)["count"], 700);
}

/// Without the manifest nobody knows the `feedId`, by which clients follow the filter.
#[test]
fn a_folder_without_its_manifest_begins_no_other_filter() {
    let folder = TempDir::new().unwrap();
    let dir = folder.path().join("out");
    let build = "build @list --shards 4 -o @out";
    write(&folder, "list", keys(0..1000));
    done(&folder, build);
    let (first, manifest) = (payload(&dir), fs::read(dir.join("shards.json")).unwrap());
    fs::remove_file(dir.join("shards.json")).unwrap();
    let digests = (0..1000).map(|i| hash::digest(0, format!("key-{i}").as_bytes()));
    let bytes: Vec<u8> = digests.flat_map(u64::to_le_bytes).collect();
    assert_eq!(tool_with(&folder, "shard build --shards 1 --index 0 -o @out", &bytes).0, 0);
    let there = files(&dir);
    for command in [build, "shard index @out --shards 1"] {
        refused(&folder, command, "shards of a filter lie here, but no shards.json: put the live one back");
        assert_eq!(files(&dir), there);
    }
    // The live one is put back, or there is none.
    fs::write(dir.join("shards.json"), &manifest).unwrap();
    assert!(done(&folder, build).contains("unchanged"));
    assert_eq!(payload(&dir)["feedId"], first["feedId"]);
    fs::remove_file(dir.join("shards.json")).unwrap();
    done(&folder, &format!("{build} --first"));
    assert_ne!(payload(&dir)["feedId"], first["feedId"]);
    // The option changes nothing of a filter that goes on.
    let other = payload(&dir);
    write(&folder, "list", keys(0..1001));
    done(&folder, &format!("{build} --first"));
    assert_eq!([&payload(&dir)["feedId"], &payload(&dir)["generation"]], [&other["feedId"], &2.into()]);
    refused(&folder, "build @list -o @blob --first", "go with --shards");
}

#[test]
fn a_filter_keeps_its_profile() {
    let folder = TempDir::new().unwrap();
    write(&folder, "list", "5BAA61E4C9B93F3F0682250B6CF8331B7EE68FD8".lines().map(str::to_owned));
    let other = "has another --profile, --lowercase or --sha1-hex";
    let all = [
        "",
        " --profile url",
        " --profile password",
        " --profile password --lowercase",
        " --profile password --sha1-hex",
    ];
    for (i, first) in all.iter().enumerate() {
        done(&folder, &format!("build @list --shards 2 -o @out-{i} --allow-empty{first}"));
        for next in &all {
            let args = format!("build @list --shards 2 -o @out-{i} --allow-empty{next}");
            if first == next { drop(done(&folder, &args)) } else { refused(&folder, &args, other) }
        }
    }
    // The same for shards that were built elsewhere.
    let shard = |options: &str| {
        done(&folder, &format!("shard build --shards 1 --index 0 -o @parts{options}"));
        "shard index @parts --shards 1"
    };
    done(&folder, shard(" --profile password"));
    refused(&folder, shard(" --profile password --lowercase"), other);
    done(&folder, shard(" --profile password"));
}

#[test]
fn one_run_at_a_time() {
    let folder = TempDir::new().unwrap();
    write(&folder, "list", keys(0..10));
    done(&folder, "build @list --shards 1 -o @out");
    done(&folder, "shard build --shards 1 --index 0 -o @out");
    let lock = folder.path().join("out/shards.lock");
    assert!(!lock.exists());
    let before = files(&folder.path().join("out"));
    fs::write(&lock, "0123456789abcdef0123456789abcdef").unwrap();
    refused(&folder, "build @list --shards 1 -o @out", "another run writes here just now");
    refused(&folder, "shard index @out --shards 1", "another run writes here just now");
    age(&lock, 61);
    done(&folder, "build @list --shards 1 -o @out");
    assert_eq!(files(&folder.path().join("out")), before);
}

#[test]
fn errors() {
    let folder = TempDir::new().unwrap();
    write(&folder, "list", keys(0..100));
    write(&folder, "empty", []);
    for shards in ["0", "3", "131072"] {
        refused(&folder, &format!("build @list --shards {shards} -o @out"), "a power of two");
    }
    refused(&folder, "build @list --shards 2 --kind bloom -o @out", "--kind ribbon");
    refused(&folder, "build @list --shards 2 -o @list", "list");
    refused(&folder, "build @list --shards 2 -o -", "-o is a folder");
    refused(&folder, "build @list --shards 2 --expires-in 500000y -o @late", "a time is too late");
    refused(&folder, "build @list --shards 2 --fpr 5e-10 --profile url -o @late", "--fpr: fpr must be");
    let long = "n".repeat(256);
    refused(&folder, &format!("build @list --shards 2 --name {long} -o @late"), "255");
    refused(&folder, "build @list --sign @key -o @out", "--shards");
    refused(&folder, "build @list --expires-in 1d -o @out", "--shards");
    refused(&folder, "build @empty --shards 2 -o @out", "--allow-empty");
    refused(&folder, "build @missing --shards 2 -o @out", "missing");
    refused(&folder, "verify @out --members @list --absent @list", "--absent");
    assert!(!folder.path().join("out/shards.json").exists());
    done(&folder, "build @empty --shards 4 --allow-empty -o @out");
    assert_eq!(files(&folder.path().join("out")).len(), 3, "one file for all shards without keys");
    assert_eq!(tool_with(&folder, "check @out key-1", b"").0, 1);

    let part = |args: &str, input: &[u8], words: &str| {
        let (code, _, err) = tool_with(&folder, &format!("shard build {args} -o @parts"), input);
        assert!(code == 2 && err.contains(words), "{args}: {err}");
    };
    part("--shards 4 --index 4", b"", "--index");
    part("--shards 4 --index 1", &[0; 8], "shard 0");
    part("--shards 4 --index 0", &[0; 7], "within a digest");
    part("--shards 4 --index 0 --profile url", b"", "build --shards");
    refused(&folder, "shard index @parts --shards 4", "parts: there is no such folder");
    fs::create_dir(folder.path().join("parts")).unwrap();
    refused(&folder, "shard index @parts --shards 4", "shard-00000.bloom");
    for shard in [0, 1, 3] {
        done(&folder, &format!("shard build --shards 4 --index {shard} -o @parts"));
    }
    refused(&folder, "shard index @parts --shards 4", "shard-00002.bloom");
    done(&folder, "shard build --shards 4 --index 2 --seed 1 -o @parts");
    refused(&folder, "shard index @parts --shards 4", "shard-00002.bloom: it has another");
    done(&folder, "shard build --shards 4 --index 2 -o @parts");
    refused(&folder, "shard index @parts --shards 2", "shard-00002.bloom: --shards says");
    refused(&folder, "shard index @parts --shards 3", "a power of two");
    done(&folder, "shard build --shards 4 --index 2 --fpr 0.1 -o @parts");
    refused(&folder, "shard index @parts --shards 4", "shard-00002.bloom: it has another");
    done(&folder, "build @list --name n -o @parts/shard-00002.bloom");
    refused(&folder, "shard index @parts --shards 4", "`shard build` didn't make this");
    assert_eq!(files(&folder.path().join("parts")).len(), 4, "nothing is written unless all can be");
    done(&folder, "shard build --shards 4 --index 2 -o @parts");
    refused(&folder, "shard index @parts --shards 4 --generation 0", "--generation");
    done(&folder, "shard index @parts --shards 4 --generation 7");
    assert_eq!(payload(&folder.path().join("parts"))["generation"], 7);
    // The same once more, with a generation of its own.
    for shard in 0..4 {
        done(&folder, &format!("shard build --shards 4 --index {shard} -o @parts"));
    }
    done(&folder, "shard index @parts --shards 4 --generation 9");
    assert_eq!(payload(&folder.path().join("parts"))["generation"], 9);
}

/// The folders of tests/golden/shards are made again of their lists, byte for byte but for the manifest.
#[test]
fn golden_folders() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/golden/shards");
    let folder = TempDir::new().unwrap();
    write(&folder, "secret", ["000102030405060708090a0b0c0d0e0f".to_owned()]);
    for (name, options) in [
        ("url", "--profile url --shards 4"),
        ("password", "--profile password --lowercase --shards 2 --seed 18446744073709551615"),
        ("sha1", "--profile password --sha1-hex --shards 4 --seed 42"),
        ("keyed", "--shards 4 --seed 42 --secret-file @secret"),
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
                "build {list} {options} -o @{name} --created-at 2026-11-23T00:00:00Z --expires-in 26280000m --name golden"
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
