//! Shards that were built elsewhere: `feed build-shard`, and a folder of its files instead of lists.

use std::fs;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use bloom_wasm::layers::Update;
use bloom_wasm::{Filter, RibbonFilter, hash};
use tempfile::TempDir;

use super::{begin, files, keys, payload, publish, shards, state, write};
use crate::in_process::{Hook, age, done, refused, tool_on, tool_with};

/// The digests of one shard, of 2^`bits`.
fn digests(digests: impl Iterator<Item = u64>, shard: u64, bits: u32) -> Vec<u8> {
    digests.filter(|digest| digest >> (64 - bits) == shard).flat_map(u64::to_le_bytes).collect()
}

/// Building each shard by itself, and then the folder, gives the same as building all at once.
#[test]
fn shards_that_were_built_elsewhere() {
    let folder = TempDir::new().unwrap();
    let same = "--seed 42 --fpr 0.01";
    write(&folder, "list", keys(0..3000));
    done(&folder, &format!("{} {same}", begin("whole", 32)));
    // Repeated, in any order, and once more after a run that failed.
    for shard in (0..32).rev().chain([5]) {
        let all = keys(0..3000).chain(keys(0..100)).map(|key| hash::digest(42, key.as_bytes()));
        let args = format!("feed build-shard --shards 32 --index {shard} {same} -o @parts");
        let (code, _, err) = tool_with(&folder, &args, &digests(all, shard, 5));
        assert_eq!(code, 0, "{err}");
    }
    let publish_parts = |dir: &str, parts: &str| format!("feed publish @{dir} @{parts} --state @{dir}.state");
    let raw = "--profile raw --shards";
    let said = done(&folder, &format!("{} {raw} 32 {same}", publish_parts("out", "parts")));
    assert!(said.contains("32 shards") && said.contains("3,000 keys, of parts"), "{said}");
    let [whole, out, parts] = ["whole", "out", "parts"].map(|dir| folder.path().join(dir));
    assert_eq!(files(&whole), files(&out));
    assert_eq!(shards(&whole), shards(&out));
    assert!(files(&parts).is_empty(), "they are used up");
    let without_id = |dir| {
        let mut payload = payload(dir);
        for name in ["feedId", "createdAt", "expires"] {
            payload[name].take();
        }
        payload
    };
    assert_eq!(without_id(&whole), without_id(&out));
    // In a shard with layers, all keys are found and counted.
    let digests_of = |range| -> Vec<u64> {
        let mut all: Vec<_> = keys(range).map(|key| hash::digest(0, key.as_bytes())).collect();
        all.sort_unstable();
        all
    };
    let mut blob = Filter::from(RibbonFilter::from_digests(&mut digests_of(0..100), 0.001, 0).unwrap());
    let update = Update { live: &digests_of(0..150), removed: &[], allowed: &[], fpr: 1e-4 };
    blob.stack_mut().update(update).unwrap();
    fs::create_dir(folder.path().join("layers")).unwrap();
    fs::write(folder.path().join("layers/shard-00000.bloom"), blob.encode().unwrap()).unwrap();
    done(&folder, &format!("{} {raw} 1", publish_parts("layered", "layers")));
    assert_eq!(payload(&folder.path().join("layered"))["count"], 150);
    assert_eq!(done(&folder, "check @layered key-149"), "key-149\n");
    // SHA-1 hashes: a key has 20 bytes.
    write(&folder, "list", (0..500).map(|i| format!("{i:040X}:7")));
    let options = "--profile password --sha1 --shards 2 --seed 42";
    done(&folder, &format!("{} {options}", publish("hashed")));
    for shard in 0..2 {
        let all = (0..500_u32).map(|i| hash::digest(42, &[&[0; 16][..], &i.to_be_bytes()].concat()));
        let args = format!("feed build-shard {options} --index {shard} -o @hashed-parts");
        assert_eq!(tool_with(&folder, &args, &digests(all, shard, 1)).0, 0);
    }
    done(&folder, &format!("{} {options}", publish_parts("of-parts", "hashed-parts")));
    assert_eq!(shards(&folder.path().join("hashed")), shards(&folder.path().join("of-parts")));
}

/// Builds one of four shards.
fn job(folder: &TempDir, shard: u64, range: std::ops::Range<u32>) {
    let all = keys(range).map(|key| hash::digest(0, key.as_bytes()));
    let args = format!("feed build-shard --shards 4 --index {shard} -o @parts");
    assert_eq!(tool_with(folder, &args, &digests(all, shard, 2)).0, 0);
}

/// Builds all four.
fn jobs(folder: &TempDir, range: std::ops::Range<u32>) {
    (0..4).for_each(|shard| job(folder, shard, range.clone()));
}

fn part(folder: &TempDir, shard: u64) -> PathBuf {
    folder.path().join(format!("parts/shard-{shard:05}.bloom"))
}

const PUBLISH: &str = "feed publish @out @parts --state @out.state";

/// Publishes the parts as the second generation. When its manifest is there, and the parts are too, something happens:
/// a folder lies in the place of a page of the first generation, so that the tool says that it can't delete that.
fn publish_and(folder: &TempDir, mut then: impl FnMut() -> io::Result<()>) -> (u8, String) {
    let dir = folder.path().join("out");
    write(folder, "list", keys(0..500));
    done(folder, &(begin("out", 4) + " --grace 0s"));
    let page = dir.join(payload(&dir)["pages"][0].as_str().unwrap());
    let good = fs::read(&page).unwrap();
    fs::remove_file(&page).unwrap();
    fs::create_dir(&page).unwrap();
    let mut said = String::new();
    let mut err = Hook(|bytes: &[u8]| {
        if said.is_empty() {
            assert_eq!((&payload(&dir)["generation"], part(folder, 0).exists()), (&2.into(), true));
            fs::remove_dir(&page)?;
            fs::write(&page, &good)?;
            then()?;
        }
        said += std::str::from_utf8(bytes).unwrap();
        Ok(())
    });
    let code = tool_on(folder, PUBLISH, &mut io::empty(), &mut io::sink(), &mut err);
    assert!(said.contains("this file isn't needed, and can't be deleted"), "{code} {said}");
    (code, said)
}

/// Publishes the second generation, and is killed when its manifest is there.
fn killed(folder: &TempDir) {
    let run = AssertUnwindSafe(|| publish_and(folder, || resume_unwind(Box::new(()))));
    assert!(catch_unwind(run).is_err());
    let spent = folder.path().join("parts").canonicalize().unwrap();
    assert_eq!(state(&folder.path().join("out"))["parts"]["dir"], spent.display().to_string());
}

/// The next run, for which the job of the first shard is lost, doesn't take the old one; with a new one it publishes.
fn only_the_first_is_missing(folder: &TempDir, generation: u64) {
    let dir = folder.path().join("out");
    let before = payload(&dir);
    refused(folder, PUBLISH, "shard-00000.bloom: No such file");
    assert_eq!(payload(&dir), before);
    // What was built since has stayed.
    assert!((1..4).all(|shard| part(folder, shard).exists()));
    job(folder, 0, 0..1100);
    is_published(folder, generation);
}

/// All shards are those of 1,100 keys, and nothing is left.
fn is_published(folder: &TempDir, generation: u64) {
    let dir = folder.path().join("out");
    done(folder, PUBLISH);
    write(folder, "list", keys(0..1100));
    done(folder, "verify @out --members @list --probes 1000");
    assert_eq!(payload(&dir)["generation"], generation);
    assert!(files(&dir).iter().all(|name| name.len() == 64 || name == "shards.json"));
    assert!(files(&folder.path().join("parts")).is_empty());
    assert_eq!(state(&dir).get("parts"), None);
}

/// A run is killed when the manifest is there, and the next job of a shard is lost.
#[test]
fn a_shard_that_was_published_is_not_taken_for_the_next_one() {
    for deleted in [0, 2] {
        let folder = TempDir::new().unwrap();
        jobs(&folder, 0..1000);
        killed(&folder);
        (0..deleted).for_each(|i| fs::remove_file(part(&folder, 3 - i)).unwrap());
        // What it left disturbs no other command.
        write(&folder, "list", keys(0..1000));
        for command in ["verify @out --members @list --probes 1000", "info @out", "feed verify @out"] {
            done(&folder, command);
        }
        assert!(done(&folder, "feed forget @out").contains("0 files"));

        (1..4).for_each(|shard| job(&folder, shard, 0..1100));
        only_the_first_is_missing(&folder, 3);
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
    only_the_first_is_missing(&folder, 3);
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
    is_published(&folder, 3);
}

/// The run was killed between the state and the manifest.
#[test]
fn shards_of_a_manifest_that_never_came_are_not_spent() {
    for first in [true, false] {
        let folder = TempDir::new().unwrap();
        let manifest = folder.path().join("out/shards.json");
        jobs(&folder, 0..1100);
        write(&folder, "list", keys(0..500));
        done(&folder, &(begin("out", 4) + " --grace 0s"));
        let before = fs::read(&manifest).unwrap();
        killed(&folder);
        // There was none before, or it is the old one.
        if first {
            fs::remove_file(&manifest).unwrap()
        } else {
            fs::write(&manifest, before).unwrap()
        }
        let dir = folder.path().join("out");
        let mut state = state(&dir);
        state["parts"]["published"] = false.into();
        fs::write(dir.with_extension("state").join("state.json"), state.to_string()).unwrap();
        is_published(&folder, 3);
    }
}

/// A host can put an old manifest back, which doesn't make spent parts new.
#[test]
fn shards_of_a_manifest_that_was_replaced_are_spent() {
    let folder = TempDir::new().unwrap();
    let manifest = folder.path().join("out/shards.json");
    jobs(&folder, 0..1100);
    write(&folder, "list", keys(0..500));
    done(&folder, &(begin("out", 4) + " --grace 0s"));
    let before = fs::read(&manifest).unwrap();
    killed(&folder);
    fs::write(&manifest, before).unwrap();
    job(&folder, 0, 0..1100);
    refused(&folder, PUBLISH, "No such file");
    assert!(files(&folder.path().join("parts")).is_empty());
}

/// A job is done again when the shard was read.
#[test]
fn a_shard_that_is_replaced_meanwhile_is_not_spent() {
    let folder = TempDir::new().unwrap();
    jobs(&folder, 0..1000);
    let (code, said) = publish_and(&folder, || {
        job(&folder, 1, 0..1100);
        age(&part(&folder, 1), 3600);
        Ok(())
    });
    assert!(code == 0 && said.lines().count() == 1, "{said}");
    assert_eq!([0, 1, 2, 3].map(|shard| part(&folder, shard).exists()), [false, true, false, false]);
    [0, 2, 3].into_iter().for_each(|shard| job(&folder, shard, 0..1100));
    is_published(&folder, 3);
}

/// After a run that was killed, the next generation is published of a list.
#[test]
fn published_shards_are_spent_whoever_comes_next() {
    let folder = TempDir::new().unwrap();
    jobs(&folder, 0..1000);
    killed(&folder);
    write(&folder, "list", keys(0..1050));
    done(&folder, &publish("out"));
    assert!(files(&folder.path().join("parts")).is_empty());
    (1..4).for_each(|shard| job(&folder, shard, 0..1100));
    only_the_first_is_missing(&folder, 4);
}

/// A missing shard is reported, and an old one is never taken for it.
#[test]
fn a_shard_that_is_built_again_with_the_same_bytes_is_spent() {
    let folder = TempDir::new().unwrap();
    jobs(&folder, 0..1100);
    killed(&folder);
    jobs(&folder, 0..1100);
    refused(&folder, PUBLISH, "shard-00000.bloom: No such file");
    jobs(&folder, 0..1100);
    is_published(&folder, 2);
}

/// This is so even if the next run takes its parts from another folder.
#[test]
fn the_state_says_which_folder_is_spent() {
    let folder = TempDir::new().unwrap();
    jobs(&folder, 0..1000);
    killed(&folder);
    fs::create_dir(folder.path().join("others")).unwrap();
    refused(&folder, &PUBLISH.replace("@parts", "@others"), "shard-00000.bloom: No such file");
    assert!(files(&folder.path().join("parts")).is_empty());
    jobs(&folder, 0..1100);
    is_published(&folder, 3);
}

/// There it is a folder.
#[test]
fn a_published_shard_that_cannot_be_deleted_is_told() {
    let folder = TempDir::new().unwrap();
    jobs(&folder, 0..1000);
    let (code, said) = publish_and(&folder, || {
        fs::remove_file(part(&folder, 1))?;
        fs::create_dir(part(&folder, 1))
    });
    let stuck = "shard-00001.bloom: this is not a file";
    assert!(code == 0 && said.lines().count() == 2, "{code} {said}");
    assert!(said.contains("generation 2 is in place; ") && said.contains(stuck), "{said}");
    // From the last one on.
    assert_eq!([0, 1, 2, 3].map(|shard| part(&folder, shard).exists()), [true, true, false, false]);
    (2..4).for_each(|shard| job(&folder, shard, 0..1100));
    refused(&folder, PUBLISH, stuck);
    fs::remove_dir(part(&folder, 1)).unwrap();
    job(&folder, 1, 0..1100);
    only_the_first_is_missing(&folder, 3);
}

/// If the state, which says what is used up, is damaged, that is an error, and nothing is deleted.
#[test]
fn a_damaged_state_is_refused() {
    let folder = TempDir::new().unwrap();
    let (dir, parts) = (folder.path().join("out"), folder.path().join("parts"));
    let json = folder.path().join("out.state/state.json");
    jobs(&folder, 0..1000);
    killed(&folder);
    let there = (files(&dir), files(&parts));
    let good = fs::read_to_string(&json).unwrap();
    for text in ["", "{}", "{\"version\":3}", "null", &good[1..], &good[..good.len() - 3]] {
        fs::write(&json, text).unwrap();
        refused(&folder, PUBLISH, "state.json: ");
        assert_eq!((files(&dir), files(&parts)), there, "{text}");
    }
    fs::write(&json, good).unwrap();
    refused(&folder, PUBLISH, "shard-00000.bloom: No such file");
}

#[test]
fn parts_that_are_none_of_the_feed_are_refused() {
    let folder = TempDir::new().unwrap();
    let build = |args: &str, input: &[u8], words: &str| {
        let (code, _, err) = tool_with(&folder, &format!("feed build-shard {args} -o @parts"), input);
        assert!(code == 2 && err.contains(words), "{args}: {err}");
    };
    build("--shards 4 --index 4", b"", "--index");
    build("--shards 4 --index 1", &[0; 8], "shard 0");
    build("--shards 4 --index 0", &[0; 7], "within a digest");
    build("--shards 4 --index 0 --profile url", b"", "use `feed publish`");
    let begin = |shards| format!("{PUBLISH} --profile raw --shards {shards} --allow-empty");
    let four = begin(4);
    // It isn't a list either.
    refused(&folder, &four, "parts: No such file");
    fs::create_dir(folder.path().join("parts")).unwrap();
    refused(&folder, &four, "shard-00000.bloom");
    let part = |shard, options: &str| {
        done(&folder, &format!("feed build-shard --shards 4 --index {shard}{options} -o @parts"))
    };
    for shard in [0, 1, 3] {
        part(shard, "");
    }
    refused(&folder, &four, "shard-00002.bloom");
    for (options, words) in [
        (" --seed 1", "its seed is 1; that of the feed is 0"),
        (" --fpr 0.1", "its fpr is 0.1; that of the feed is 0.001"),
        (" --profile password --fpr 1e-3", "its profile or secret is not that of the feed"),
    ] {
        part(2, options);
        refused(&folder, &four, &format!("shard-00002.bloom: {words}"));
    }
    write(&folder, "list", keys(0..100));
    done(&folder, "build @list --name n -o @parts/shard-00002.bloom");
    refused(&folder, &four, "`feed build-shard` didn't make this");
    part(2, "");
    refused(&folder, &begin(2), "shard-00002.bloom: the feed has 2 shards");
    refused(&folder, &begin(8), "shard-00004.bloom");
    refused(&folder, &begin(3), "a power of two");
    refused(
        &folder,
        &format!("{four} --allow @list"),
        "a folder of parts can't be combined with tags or an allowlist",
    );
    refused(&folder, &four.replace("--allow-empty", ""), "--allow-empty publishes a feed without keys");
    assert!(files(&folder.path().join("out")).is_empty(), "nothing is written unless all can be");
    assert_eq!(files(&folder.path().join("parts")).len(), 4);
    done(&folder, &four);
    assert_eq!(payload(&folder.path().join("out"))["count"], 0);
    // Two jobs for one shard would lose the keys of the other.
    jobs(&folder, 0..1000);
    fs::copy(self::part(&folder, 1), self::part(&folder, 2)).unwrap();
    refused(&folder, PUBLISH, "shard-00002.bloom: this is the part of shard 1");
    // Parts with another profile than the feed are refused later too.
    (0..4).for_each(|shard| drop(part(shard, " --profile password --lowercase --fpr 1e-3")));
    refused(&folder, PUBLISH, "shard-00000.bloom: its profile or secret is not that of the feed");
}
