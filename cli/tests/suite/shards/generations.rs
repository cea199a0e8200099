//! One generation after another: what is written, what stays, and what is deleted.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::time::SystemTime;

use bloom_wasm::hash;
use serde_json::Value;
use tempfile::TempDir;

use super::{counts, named, payload, publish, state};
use crate::feed::{PUBLISH, at, feed, key, lines, names, tell, write_list};
use crate::in_process::{age, done, read, refused, told, write};

/// When each file was written.
fn times(folder: &TempDir) -> BTreeMap<String, SystemTime> {
    let dir = folder.path().join("public");
    let time = |name: &String| fs::metadata(dir.join(name)).unwrap().modified().unwrap();
    names(folder).into_iter().map(|name| (name.clone(), time(&name))).collect()
}

/// Which of `shards` has a key.
fn shard(i: u32, shards: u32) -> u64 {
    hash::digest(0, key(i).as_bytes()) >> (64 - shards.trailing_zeros())
}

/// The first key from this number on that is in this one of four shards.
fn key_in(which: u64, from: u32) -> u32 {
    (from..).find(|i| shard(*i, 4) == which).unwrap()
}

#[test]
fn a_new_generation_keeps_what_has_not_changed() {
    let folder = feed("shards = 256\nname = 'words'");
    publish(&folder, 10_000);
    let (first, before) = (payload(&folder), names(&folder));
    before.iter().for_each(|file| age(&folder.path().join("public").join(file), 3600));
    let times_before = times(&folder);
    let report = told(&folder, PUBLISH);
    assert_eq!(times(&folder), times_before);
    assert_eq!([&report["published"], &report["generation"]], [&false.into(), &first["generation"]]);
    assert_eq!([&report["written"], &report["writtenBytes"]], [0, 0]);
    assert_eq!([&report["shards"], &report["files"], &report["count"]], [256, 257, 10_000]);
    assert_eq!(report["byteLength"], first["bytes"]);

    publish(&folder, 10_003);
    let second = payload(&folder);
    assert!(second["generation"].as_u64() > first["generation"].as_u64());
    // The shards of the new keys and a page; the old files stay for those who are fetching them.
    let changed: BTreeSet<_> = (10_000..10_003).map(|i| shard(i, 256)).collect();
    assert_eq!(names(&folder).len() - before.len(), changed.len() + 1);
    let times = times(&folder);
    assert!(times_before.iter().all(|(name, time)| name == "shards.json" || times[name] == *time));
    counts(&folder);
    // What would soon expire is renewed.
    tell(&folder, "shards = 256\nname = 'words'\nexpires-in = '1h'", "");
    let said = done(&folder, PUBLISH);
    assert!(said.contains("wrote") && payload(&folder)["pages"] == second["pages"], "{said}");
}

/// A day, or `grace`, after the next generation was published; with a shard that comes back in between.
#[test]
fn what_no_generation_within_grace_names_is_deleted() {
    for (option, grace) in [("", 24), ("grace = '12h'", 12)] {
        let folder = feed(&format!("shards = 4\n{option}"));
        // The first shard is that of the first generation again in the last one.
        let generations = [vec![], vec![key_in(0, 5000)], vec![key_in(1, 5000)]].into_iter().zip([0, 5, 10]);
        let generations = generations.map(|(more, hours)| {
            write_list(&folder, (0..1000).chain(more));
            done(&folder, &at(hours));
            named(&folder)
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
            assert_eq!(
                self::names(&folder),
                names.chain(["shards.json".to_owned()]).collect(),
                "{hours} hours"
            );
            counts(&folder);
        }
        assert_eq!(state(&folder)["unlisted"], Value::Array(Vec::new()));
    }
}

/// Clients may be reading the generation before, so its shards stay when a run is refused which has made them anew.
#[test]
fn a_run_that_is_refused_deletes_nothing_that_is_needed() {
    let folder = feed("");
    write(&folder, "good", lines(9000..9200));
    tell(&folder, "shards = 4", "[allow]\ngood = 'good'");
    publish(&folder, 1000);
    let (one, old) = (named(&folder), read(&folder, "public/shards.json"));
    write_list(&folder, (0..1000).chain((0..4).map(|which| key_in(which, 5000))));
    done(&folder, PUBLISH);
    assert!(one.is_disjoint(&named(&folder)));
    let before = names(&folder);
    // Enough lines, but few keys: those of one shard of the first generation, and a new one. It has written its shards.
    let of_first = (0..1000).filter(|i| shard(*i, 4) == 0).chain([key_in(3, 7000)]);
    write(&folder, "list", lines(of_first).repeat(5));
    refused(&folder, PUBLISH, "keys would be removed");
    assert_eq!(names(&folder), before);
    // Clients may have the generation that the state knows, whatever manifest lies in the folder.
    let last = read(&folder, "public/shards.json");
    write(&folder, "public/shards.json", old);
    write(&folder, "good", lines(9000..9010));
    refused(&folder, PUBLISH, "at most 25% may be removed");
    write(&folder, "public/shards.json", last);
    counts(&folder);
}

/// But not while shards are damaged: nobody can make them without their lists.
#[test]
fn an_old_list_is_signed_anew_when_the_next_is_refused() {
    let folder = feed("shards = 4");
    let dir = folder.path().join("public");
    write_list(&folder, 0..1000);
    done(&folder, &at(0));
    let first = payload(&folder);
    fs::remove_file(folder.path().join("list")).unwrap();
    refused(&folder, &at(84), "the last list was signed anew as generation ");
    let second = payload(&folder);
    assert!(second["generation"].as_u64() > first["generation"].as_u64());
    assert_eq!([&second["pages"], &second["count"]], [&first["pages"], &first["count"]]);
    let shard =
        named(&folder).into_iter().max_by_key(|name| fs::metadata(dir.join(name)).unwrap().len()).unwrap();
    fs::write(dir.join(&shard), "damaged").unwrap();
    let words = format!("the last list can't be signed anew: {}", dir.join(&shard).display());
    refused(&folder, &at(200), &words);
    assert_eq!(payload(&folder), second);
}

/// It leaves its state, and shards that no manifest names.
#[test]
fn a_first_run_that_was_killed_is_repeated() {
    // Nothing was published, so the feed may be another one.
    for (shards, more) in [(4, ""), (8, "fpr = 0.1\nseed = 5")] {
        let [folder, other] = [feed(""), feed("shards = 4")];
        write(&folder, "list", "one\ntwo\n");
        // As far as that, and no further.
        tell(&folder, "shards = 4\nallow-wins = true", "[allow]\ngood = 'list'");
        refused(&folder, PUBLISH, "no key is left");
        write_list(&other, 500..1500);
        done(&other, PUBLISH);
        let left = named(&other);
        for name in left.iter().map(|name| format!("public/{name}")) {
            write(&folder, &name, read(&other, &name));
        }
        tell(&folder, &format!("shards = {shards}\n{more}"), "");
        publish(&folder, 1000);
        done(&folder, "verify @public --members @list --probes 1000");
        assert_eq!(payload(&folder)["shards"], shards);
        // Only `feed forget` knows what it left.
        assert!(left.is_subset(&names(&folder)));
        done(&folder, "feed forget @public --grace 0s");
        assert_eq!(names(&folder), named(&folder).into_iter().chain(["shards.json".to_owned()]).collect());
    }
}
