//! One generation after another: what is written, what stays, and what is deleted.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::time::SystemTime;

use bloom_wasm::hash;
use serde_json::Value;
use tempfile::TempDir;

use super::{PUBLISH, begin, files, keys, named, payload, raw, shards, state, write};
use crate::in_process::{age, declare, done, refused, told};

/// Some hours after a time since when nothing has expired by the clock.
fn at(hours: u32) -> String {
    format!("{PUBLISH} --created-at 2099-01-{:02}T{:02}:00:00Z", hours / 24 + 1, hours % 24)
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
fn a_new_generation_keeps_what_has_not_changed() {
    let folder = TempDir::new().unwrap();
    let dir = folder.path().join("out");
    write(&folder, "list", keys(0..10_000));
    begin(&folder, "out", 256, "name = 'words'");
    let (first, before) = (payload(&dir), files(&dir));
    before.iter().for_each(|file| age(&dir.join(file), 3600));
    let times_before = times(&dir);
    let report = told(&folder, PUBLISH);
    assert_eq!(times(&dir), times_before);
    assert_eq!([&report["published"], &report["generation"]], [&false.into(), &first["generation"]]);
    assert_eq!([&report["written"], &report["writtenBytes"]], [0, 0]);
    assert_eq!([&report["shards"], &report["files"], &report["count"]], [256, 257, 10_000]);
    assert_eq!(report["byteLength"], first["bytes"]);

    write(&folder, "list", keys(0..10_003));
    done(&folder, PUBLISH);
    let second = payload(&dir);
    assert!(second["generation"].as_u64() > first["generation"].as_u64());
    // The shards of the new keys and a page; the old files stay for those who are fetching them.
    let changed: BTreeSet<_> = keys(10_000..10_003).map(|key| shard(&key, 256)).collect();
    assert_eq!(files(&dir).len() - before.len(), changed.len() + 1);
    let times = times(&dir);
    assert!(times_before.iter().all(|(name, time)| name == "shards.json" || times[name] == *time));
    shards(&dir);
    // What would soon expire is renewed.
    let said = begin(&folder, "out", 256, "name = 'words'\nexpires-in = '1h'");
    assert!(said.contains("wrote") && payload(&dir)["pages"] == second["pages"], "{said}");
}

/// A day, or `grace`, after the next generation was published; with a shard that comes back in between.
#[test]
fn what_no_generation_within_grace_names_is_deleted() {
    for (option, grace) in [("", 24), ("grace = '12h'", 12)] {
        let folder = TempDir::new().unwrap();
        let dir = folder.path().join("out");
        raw(&folder, "out", 4, option);
        // The first shard is that of the first generation again in the last one.
        let generations = [vec![], vec![key_in(0, 5000)], vec![key_in(1, 5000)]].into_iter().zip([0, 5, 10]);
        let generations = generations.map(|(more, hours)| {
            write(&folder, "list", keys(0..1000).chain(more));
            done(&folder, &at(hours));
            named(&dir)
        });
        let [one, two, three] = &generations.collect::<Vec<_>>()[..] else { panic!() };
        assert!(!one.is_disjoint(three) && one.intersection(three).any(|shard| !two.contains(shard)));
        for (hours, kept) in [
            (4 + grace, &[one, two, three][..]),
            (5 + grace, &[two, three]),
            (9 + grace, &[two, three]),
            (10 + grace, &[three]),
        ] {
            assert!(done(&folder, &at(hours)).contains("unchanged"));
            let names = kept.iter().flat_map(|names| names.iter().cloned());
            assert_eq!(files(&dir), names.chain(["shards.json".to_owned()]).collect(), "{hours} hours");
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
    write(&folder, "good", keys(9000..9200));
    let above = "public = 'out'\nstate = 'out.state'\nsign = []\nprofile = 'raw'\nshards = 4";
    declare(&folder, above, "list = 'list'\n[allow]\ngood = 'good'");
    done(&folder, PUBLISH);
    let (one, old) = (named(&dir), fs::read(dir.join("shards.json")).unwrap());
    write(&folder, "list", keys(0..1000).chain((0..4).map(|which| key_in(which, 5000))));
    done(&folder, PUBLISH);
    assert!(one.is_disjoint(&named(&dir)));
    let before = files(&dir);
    // Enough lines, but few keys: those of one shard of the first generation, and a new one. It has written its shards.
    let of_first: Vec<_> = keys(0..1000).filter(|key| shard(key, 4) == 0).chain([key_in(3, 7000)]).collect();
    write(&folder, "list", std::iter::repeat_n(of_first, 5).flatten());
    refused(&folder, PUBLISH, "keys would be removed");
    assert_eq!(files(&dir), before);
    // Clients may have the generation that the state knows, whatever manifest lies in the folder.
    let last = fs::read(dir.join("shards.json")).unwrap();
    fs::write(dir.join("shards.json"), old).unwrap();
    write(&folder, "good", keys(9000..9010));
    refused(&folder, PUBLISH, "at most 25% may be removed");
    fs::write(dir.join("shards.json"), last).unwrap();
    shards(&dir);
}

/// But not while shards are damaged: nobody can make them without their lists.
#[test]
fn an_old_list_is_signed_anew_when_the_next_is_refused() {
    let folder = TempDir::new().unwrap();
    let dir = folder.path().join("out");
    write(&folder, "list", keys(0..1000));
    raw(&folder, "out", 4, "");
    done(&folder, &at(0));
    let first = payload(&dir);
    fs::remove_file(folder.path().join("list")).unwrap();
    refused(&folder, &at(84), "the last list was signed anew as generation ");
    let second = payload(&dir);
    assert!(second["generation"].as_u64() > first["generation"].as_u64());
    assert_eq!([&second["pages"], &second["count"]], [&first["pages"], &first["count"]]);
    let shard =
        named(&dir).into_iter().max_by_key(|name| fs::metadata(dir.join(name)).unwrap().len()).unwrap();
    fs::write(dir.join(&shard), "damaged").unwrap();
    let words = format!("the last list can't be signed anew: {}", dir.join(&shard).display());
    refused(&folder, &at(200), &words);
    assert_eq!(payload(&dir), second);
}

/// It leaves its state, and shards that no manifest names.
#[test]
fn a_first_run_that_was_killed_is_repeated() {
    // Nothing was published, so the feed may be another one.
    for (shards, more) in [(4, ""), (8, "fpr = 0.1\nseed = 5")] {
        let folder = TempDir::new().unwrap();
        let dir = folder.path().join("out");
        write(&folder, "list", keys(0..1000));
        // As far as that, and no further.
        let above =
            "public = 'out'\nstate = 'out.state'\nsign = []\nprofile = 'raw'\nshards = 4\nallow-wins = true";
        declare(&folder, above, "list = 'list'\n[allow]\ngood = 'list'");
        refused(&folder, PUBLISH, "no key is left");
        write(&folder, "list", keys(500..1500));
        begin(&folder, "other", 4, "");
        let left = named(&folder.path().join("other"));
        for name in &left {
            fs::copy(folder.path().join("other").join(name), dir.join(name)).unwrap();
        }
        write(&folder, "list", keys(0..1000));
        begin(&folder, "out", shards, more);
        done(&folder, "verify @out --members @list --probes 1000");
        assert_eq!(payload(&dir)["shards"], shards);
        // Only `feed forget` knows what it left.
        assert!(left.is_subset(&files(&dir)));
        done(&folder, "feed forget @out --grace 0s");
        assert_eq!(files(&dir), named(&dir).into_iter().chain(["shards.json".to_owned()]).collect());
    }
}
