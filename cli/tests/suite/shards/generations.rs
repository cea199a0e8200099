//! One generation after another: what is written, what stays, and what is deleted.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::time::SystemTime;

use bloom_wasm::hash;
use serde_json::Value;
use tempfile::TempDir;

use super::{begin, files, keys, named, payload, publish, shards, state, write};
use crate::in_process::{age, done, refused, tool_with};

/// Some hours after a time since when nothing has expired by the clock.
fn at(hours: u32) -> String {
    format!(" --created-at 2099-01-{:02}T{:02}:00:00Z", hours / 24 + 1, hours % 24)
}

/// When each file was written.
fn times(dir: &Path) -> BTreeMap<String, SystemTime> {
    let time = |name: String| {
        let written = fs::metadata(dir.join(&name)).unwrap().modified().unwrap();
        (name, written)
    };
    files(dir).into_iter().map(time).collect()
}

/// Which of `shards` has a key.
fn shard(key: &str, shards: u32) -> u64 {
    hash::digest(0, key.as_bytes()) >> (64 - shards.trailing_zeros())
}

/// The first key from this number on that is in this one of four shards.
fn key_in(which: u64, from: u32) -> String {
    keys(from..u32::MAX).find(|key| shard(key, 4) == which).unwrap()
}

#[test]
fn a_list_that_has_not_changed_writes_nothing() {
    let folder = TempDir::new().unwrap();
    let dir = folder.path().join("out");
    write(&folder, "list", keys(0..1000));
    done(&folder, &begin("out", 4));
    files(&dir).iter().for_each(|file| age(&dir.join(file), 3600));
    let before = times(&dir);
    let said = done(&folder, &(publish("out") + " --json"));
    assert_eq!(times(&dir), before);
    let report: Value = serde_json::from_str(&said).unwrap();
    assert_eq!([&report["generation"], &report["written"], &report["writtenBytes"]], [1, 0, 0]);
    assert_eq!([&report["shards"], &report["files"], &report["count"]], [4, 5, 1000]);
    assert_eq!((&report["published"], &report["byteLength"]), (&false.into(), &payload(&dir)["bytes"]));
    // Giving the same options again is no change either.
    assert!(done(&folder, &(begin("out", 4) + " --seed 0 --fpr 1e-3")).contains("unchanged"));
    assert_eq!(times(&dir), before);
}

#[test]
fn a_new_generation_keeps_what_has_not_changed() {
    let folder = TempDir::new().unwrap();
    let dir = folder.path().join("out");
    write(&folder, "list", keys(0..10_000));
    done(&folder, &(begin("out", 256) + " --name words"));
    let (first, before) = (payload(&dir), files(&dir));
    assert_eq!((&first["generation"], &first["name"]), (&1.into(), &"words".into()));
    assert!(done(&folder, &publish("out")).contains("unchanged"));
    assert_eq!((payload(&dir), files(&dir)), (first.clone(), before.clone()));

    before.iter().for_each(|file| age(&dir.join(file), 3600));
    let times_before = times(&dir);
    write(&folder, "list", keys(0..10_003));
    done(&folder, &publish("out"));
    let second = payload(&dir);
    assert_eq!((&second["generation"], &second["feedId"]), (&2.into(), &first["feedId"]));
    // The shards of the new keys and a page; the old files stay for those who are fetching them.
    let changed: BTreeSet<_> = keys(10_000..10_003).map(|key| shard(&key, 256)).collect();
    assert_eq!(files(&dir).len() - before.len(), changed.len() + 1);
    assert!(before.is_subset(&files(&dir)));
    let times = times(&dir);
    assert!(times_before.iter().all(|(name, time)| name == "shards.json" || times[name] == *time));
    shards(&dir);
    // What would soon expire is renewed.
    assert!(done(&folder, &(publish("out") + " --expires-in 1h")).contains("generation 3"));
}

/// A week, unless another time is given, which is then remembered.
#[test]
fn settings_are_remembered() {
    let folder = TempDir::new().unwrap();
    let dir = folder.path().join("out");
    write(&folder, "list", keys(0..2000));
    write(&folder, "allow", keys(2000..3000));
    write(&folder, "more", keys(3000..4000));
    let lasts = || payload(&dir)["expires"].as_u64().unwrap() - payload(&dir)["createdAt"].as_u64().unwrap();
    const HOUR: u64 = 60 * 60 * 1000;
    done(&folder, &(begin("out", 4) + " --fpr 0.1 --allow @allow"));
    assert_eq!(lasts(), 7 * 24 * HOUR);
    done(&folder, &(publish("out") + " --expires-in 12h --allow @more"));
    write(&folder, "list", keys(0..1999));
    done(&folder, &publish("out"));
    assert_eq!((lasts(), &payload(&dir)["generation"]), (12 * HOUR, &3.into()));
    let found = |range| {
        let all = keys(range).collect::<Vec<_>>().join("\n");
        tool_with(&folder, "check @out", all.as_bytes()).1.lines().count()
    };
    assert_eq!(found(2000..4000), 0, "both lists");
    done(&folder, &(publish("out") + " --without-allow @more"));
    assert_eq!(found(2000..3000), 0);
    assert!(found(3000..4000) > 30, "a tenth of them");
    refused(&folder, &(publish("out") + " --without-allow @more"), "the feed has no such allowlist");
    refused(&folder, &(publish("out") + " --without-allow @allow --allow @allow"), "name the same list");
    // A list is known by its file.
    fs::create_dir(folder.path().join("sub")).unwrap();
    done(&folder, &(publish("out") + " --allow @sub/../allow"));
    assert_eq!(state(&dir)["settings"]["allow"].as_array().unwrap().len(), 1);
    refused(
        &folder,
        &(publish("out") + " --without-allow @sub/../allow --allow @allow"),
        "name the same list",
    );
    // An allowlist that is missing is told.
    fs::remove_file(folder.path().join("allow")).unwrap();
    refused(&folder, &publish("out"), "allow: No such file");
    done(&folder, &(publish("out") + " --without-allow @allow"));
    // --allow-wins is kept until it is taken back.
    write(&folder, "list", keys(0..2000));
    write(&folder, "allow", keys(1900..2000));
    done(&folder, &(publish("out") + " --allow @allow --allow-wins"));
    done(&folder, &publish("out"));
    assert_eq!(payload(&dir)["count"], 1900);
    done(&folder, &(publish("out") + " --allow-wins=false"));
    assert_eq!(payload(&dir)["count"], 2000);
}

/// A day, or --grace, after the next generation was published; with a shard that comes back in between.
#[test]
fn what_no_generation_within_grace_names_is_deleted() {
    for (option, grace) in [("", 24), (" --grace 12h", 12)] {
        let folder = TempDir::new().unwrap();
        let dir = folder.path().join("out");
        let list = |more: &[String]| write(&folder, "list", keys(0..1000).chain(more.iter().cloned()));
        let [first, second] = [0, 1].map(|which| key_in(which, 5000));
        let mut generations = Vec::new();
        let begin = begin("out", 4) + option;
        for (hours, command, more) in [
            (0, begin, &[][..]),
            (5, publish("out"), std::slice::from_ref(&first)),
            // The first shard is the one of the first generation again.
            (10, publish("out"), std::slice::from_ref(&second)),
        ] {
            list(more);
            done(&folder, &(command + &at(hours)));
            generations.push(named(&dir));
        }
        let [one, two, three] = &generations[..] else { panic!() };
        assert!(!one.is_disjoint(three) && one.intersection(three).any(|shard| !two.contains(shard)));
        let expected = |generations: &[&BTreeSet<String>]| {
            let names = generations.iter().flat_map(|names| names.iter().cloned());
            names.chain(["shards.json".to_owned()]).collect::<BTreeSet<_>>()
        };
        for (hours, kept) in [
            (4 + grace, &[one, two, three][..]),
            (5 + grace, &[two, three]),
            (9 + grace, &[two, three]),
            (10 + grace, &[three]),
        ] {
            assert!(done(&folder, &(publish("out") + &at(hours))).contains("unchanged"));
            assert_eq!(files(&dir), expected(kept), "{hours} hours");
            shards(&dir);
        }
        assert_eq!(state(&dir)["unlisted"], Value::Array(Vec::new()));
    }
}

/// Clients may be reading the generation before, so its shards stay when a run is refused which has made them anew.
#[test]
fn a_run_that_is_refused_deletes_nothing_that_is_needed() {
    let folder = TempDir::new().unwrap();
    let dir = folder.path().join("out");
    write(&folder, "list", keys(0..1000));
    done(&folder, &begin("out", 4));
    let one = named(&dir);
    write(&folder, "list", keys(0..1000).chain((0..4).map(|which| key_in(which, 5000))));
    done(&folder, &publish("out"));
    assert!(one.is_disjoint(&named(&dir)));
    let before = files(&dir);
    // Enough lines, but few keys: those of one shard of the first generation.
    let of_first: Vec<_> = keys(0..1000).filter(|key| shard(key, 4) == 0).collect();
    write(&folder, "list", std::iter::repeat_n(of_first, 5).flatten());
    refused(&folder, &publish("out"), "keys would be removed");
    assert_eq!(files(&dir), before);
}

/// The list is wrong for days: the old one is signed anew when half of its time is over.
#[test]
fn an_old_list_is_signed_anew_when_the_next_is_refused() {
    let folder = TempDir::new().unwrap();
    let dir = folder.path().join("out");
    write(&folder, "list", keys(0..1000));
    done(&folder, "feed keygen -o @key");
    done(&folder, &(begin("out", 4) + " --sign @key" + &at(0)));
    let (first, before) = (payload(&dir), files(&dir));
    write(&folder, "list", keys(0..10));
    let run = |hours| publish("out") + " --sign @key" + &at(hours);
    refused(&folder, &run(83), "990 of 1,000 keys would be removed");
    refused(&folder, &run(83), "; generation 1 stays");
    assert_eq!(payload(&dir), first);
    refused(&folder, &run(84), "; the old list was signed anew as generation 2");
    refused(&folder, &run(85), "; generation 2 stays");
    let second = payload(&dir);
    let passed = |name: &str| second[name].as_u64().unwrap() - first[name].as_u64().unwrap();
    assert_eq!([passed("createdAt"), passed("expires"), passed("generation")], [302_400_000, 302_400_000, 1]);
    assert_eq!([&second["pages"], &second["count"]], [&first["pages"], &first["count"]]);
    assert_eq!(files(&dir), before);
    let key = done(&folder, "feed pubkey @key");
    done(&folder, &format!("feed verify @out --public-key {}", key.trim()));
    // The same for a list that can't be read, but not for shards that are damaged.
    fs::remove_file(folder.path().join("list")).unwrap();
    refused(&folder, &run(200), "the old list was signed anew as generation 3");
    let shard =
        named(&dir).into_iter().max_by_key(|name| fs::metadata(dir.join(name)).unwrap().len()).unwrap();
    fs::write(dir.join(&shard), "damaged").unwrap();
    refused(
        &folder,
        &run(300),
        &format!("the old list can't be signed anew: {}", dir.join(&shard).display()),
    );
    assert_eq!(payload(&dir)["generation"], 3);
}

/// It leaves its state, and shards that no manifest names.
#[test]
fn a_first_run_that_was_killed_is_repeated() {
    // The description may be another one. The settings are remembered.
    let same = " --without-allow @list --allow-wins=false";
    for options in [same, " --profile raw --shards 4", " --profile raw --shards 8 --fpr 0.1 --seed 5"] {
        let folder = TempDir::new().unwrap();
        let dir = folder.path().join("out");
        write(&folder, "list", keys(0..1000));
        // As far as that, and no further.
        refused(&folder, &(begin("out", 4) + " --allow @list --allow-wins"), "no key is left");
        let id = state(&dir)["feedId"].clone();
        write(&folder, "list", keys(500..1500));
        done(&folder, &begin("other", 4));
        let other = folder.path().join("other");
        let left = named(&other);
        for name in &left {
            fs::copy(other.join(name), dir.join(name)).unwrap();
        }

        write(&folder, "list", keys(0..1000));
        done(&folder, &(publish("out") + options));
        done(&folder, "verify @out --members @list --probes 1000");
        assert_eq!([&payload(&dir)["feedId"], &payload(&dir)["generation"]], [&id, &1.into()]);
        assert_eq!(payload(&dir)["shards"], if options.contains('8') { 8 } else { 4 });
        // Only `feed forget` knows what it left.
        assert!(left.is_subset(&files(&dir)));
        done(&folder, "feed forget @out --grace 0s");
        let mut expected = named(&dir);
        expected.insert("shards.json".to_owned());
        assert_eq!(files(&dir), expected);
    }
}

/// A host can put an old manifest back, and a new state can't tell.
#[test]
fn a_new_state_signs_no_old_list_anew() {
    let folder = TempDir::new().unwrap();
    let manifest = folder.path().join("out/shards.json");
    write(&folder, "list", keys(0..1000));
    done(&folder, &(begin("out", 4) + " --grace 30d"));
    let old = fs::read(&manifest).unwrap();
    write(&folder, "list", keys(0..1100));
    done(&folder, &publish("out"));
    fs::remove_dir_all(folder.path().join("out.state")).unwrap();
    fs::write(&manifest, &old).unwrap();
    write(&folder, "list", keys(0..10));
    let again = publish("out") + " --profile raw --created-at 2099-01-01T00:00:00Z";
    refused(&folder, &again, "the state was lost, so no old list was signed anew");
    assert!(fs::read(&manifest).unwrap() == old);
}

/// Clients may have the generation that the state knows, whatever manifest lies in the folder.
#[test]
fn a_refused_run_spares_the_shards_of_the_last_generation() {
    let folder = TempDir::new().unwrap();
    let manifest = folder.path().join("out/shards.json");
    write(&folder, "list", keys(0..1000));
    write(&folder, "good", keys(9000..9200));
    done(&folder, &(begin("out", 4) + " --allow @good"));
    let old = fs::read(&manifest).unwrap();
    write(&folder, "list", keys(0..1100));
    done(&folder, &publish("out"));
    let last = fs::read(&manifest).unwrap();
    fs::write(&manifest, old).unwrap();
    write(&folder, "good", keys(9000..9010));
    refused(&folder, &publish("out"), "at most 25% may be removed");
    fs::write(&manifest, last).unwrap();
    done(&folder, "feed verify @out");
    done(&folder, "verify @out --members @list --probes 1000");
}

/// If the manifest is lost, the state knows the feed; if the state is lost, the manifest does.
#[test]
fn a_feed_that_lost_its_manifest_or_its_state_goes_on() {
    let folder = TempDir::new().unwrap();
    let dir = folder.path().join("out");
    write(&folder, "list", keys(0..1000));
    done(&folder, &(begin("out", 4) + " --name words --fpr 0.01"));
    let first = payload(&dir);
    fs::remove_file(dir.join("shards.json")).unwrap();
    done(&folder, &publish("out"));
    let second = payload(&dir);
    assert_eq!([&second["feedId"], &second["pages"]], [&first["feedId"], &first["pages"]]);
    assert_eq!(second["generation"], 2);

    fs::remove_dir_all(folder.path().join("out.state")).unwrap();
    let manifest = fs::read(dir.join("shards.json")).unwrap();
    refused(&folder, &publish("out"), "say what its keys are: --profile raw, url or password");
    for (contradiction, words) in [
        ("--profile url", "--profile: the feed has --profile raw; begin another feed to change that"),
        ("--profile raw --shards 8", "--shards: the feed has 4; "),
        ("--profile raw --fpr 0.1", "--fpr: the feed has 0.01; "),
        ("--profile raw --name others", "--name: the feed has \"words\"; "),
    ] {
        refused(&folder, &format!("{} {contradiction}", publish("out")), words);
    }
    assert!(fs::read(dir.join("shards.json")).unwrap() == manifest);
    // Even if the list is the same.
    done(&folder, &(publish("out") + " --profile raw"));
    let third = payload(&dir);
    // The seconds since 1970: the manifest may have been an old copy.
    assert!(third["generation"].as_u64().unwrap() > 1_700_000_000);
    for member in ["feedId", "name", "fpr", "shards"] {
        assert_eq!(third[member], first[member]);
    }
}
