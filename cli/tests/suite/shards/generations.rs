//! One generation after another: what is written, what stays, and what is deleted.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::time::SystemTime;

use bloom_wasm::hash;
use serde_json::Value;
use tempfile::TempDir;

use super::{PUBLISH, begin, files, keys, named, payload, raw, shards, state, write};
use crate::in_process::{age, declare, done, refused};

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
    begin(&folder, "out", 4, "");
    files(&dir).iter().for_each(|file| age(&dir.join(file), 3600));
    let before = times(&dir);
    let said = done(&folder, "feed publish @feed.toml --json");
    assert_eq!(times(&dir), before);
    let report: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(report["generation"], payload(&dir)["generation"]);
    assert_eq!([&report["written"], &report["writtenBytes"]], [0, 0]);
    assert_eq!([&report["shards"], &report["files"], &report["count"]], [4, 5, 1000]);
    assert_eq!((&report["published"], &report["byteLength"]), (&false.into(), &payload(&dir)["bytes"]));
    // Giving the same options again is no change either.
    assert!(begin(&folder, "out", 4, "seed = 0\nfpr = 1e-3").contains("unchanged"));
    assert_eq!(times(&dir), before);
}

#[test]
fn a_new_generation_keeps_what_has_not_changed() {
    let folder = TempDir::new().unwrap();
    let dir = folder.path().join("out");
    write(&folder, "list", keys(0..10_000));
    begin(&folder, "out", 256, "name = 'words'");
    let (first, before) = (payload(&dir), files(&dir));
    assert_eq!(first["name"], "words");
    assert!(done(&folder, PUBLISH).contains("unchanged"));
    assert_eq!((payload(&dir), files(&dir)), (first.clone(), before.clone()));

    before.iter().for_each(|file| age(&dir.join(file), 3600));
    let times_before = times(&dir);
    write(&folder, "list", keys(0..10_003));
    done(&folder, PUBLISH);
    let second = payload(&dir);
    assert!(second["generation"].as_u64() > first["generation"].as_u64());
    // The shards of the new keys and a page; the old files stay for those who are fetching them.
    let changed: BTreeSet<_> = keys(10_000..10_003).map(|key| shard(&key, 256)).collect();
    assert_eq!(files(&dir).len() - before.len(), changed.len() + 1);
    assert!(before.is_subset(&files(&dir)));
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
        let list = |more: &[String]| write(&folder, "list", keys(0..1000).chain(more.iter().cloned()));
        let [first, second] = [0, 1].map(|which| key_in(which, 5000));
        let mut generations = Vec::new();
        raw(&folder, "out", 4, option);
        let run = |hours| done(&folder, &(PUBLISH.to_owned() + &at(hours)));
        // The first shard is that of the first generation again in the last one.
        for (hours, more) in
            [(0, &[][..]), (5, std::slice::from_ref(&first)), (10, std::slice::from_ref(&second))]
        {
            list(more);
            run(hours);
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
            assert!(run(hours).contains("unchanged"));
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
    begin(&folder, "out", 4, "");
    let one = named(&dir);
    write(&folder, "list", keys(0..1000).chain((0..4).map(|which| key_in(which, 5000))));
    done(&folder, PUBLISH);
    assert!(one.is_disjoint(&named(&dir)));
    let before = files(&dir);
    // Enough lines, but few keys: those of one shard of the first generation.
    let of_first: Vec<_> = keys(0..1000).filter(|key| shard(key, 4) == 0).collect();
    write(&folder, "list", std::iter::repeat_n(of_first, 5).flatten());
    refused(&folder, PUBLISH, "keys would be removed");
    assert_eq!(files(&dir), before);
}

/// The list is wrong for days: the old one is signed anew when half of its time is over.
#[test]
fn an_old_list_is_signed_anew_when_the_next_is_refused() {
    let folder = TempDir::new().unwrap();
    let dir = folder.path().join("out");
    write(&folder, "list", keys(0..1000));
    done(&folder, "feed keygen -o @key");
    let signed = "public = 'out'\nstate = 'out.state'\nsign = ['key']\nprofile = 'raw'\nshards = 4";
    declare(&folder, signed, "list = 'list'");
    let run = |hours| PUBLISH.to_owned() + &at(hours);
    done(&folder, &run(0));
    let (first, before) = (payload(&dir), files(&dir));
    write(&folder, "list", keys(0..10));
    refused(&folder, &run(83), "list: this list has 10 keys, and had 1,000; at most 25% may be removed");
    refused(&folder, &run(83), &format!("; generation {} stays", first["generation"]));
    assert_eq!(payload(&dir), first);
    refused(&folder, &run(84), "; the last list was signed anew as generation ");
    let second = payload(&dir);
    refused(&folder, &run(85), &format!("; generation {} stays", second["generation"]));
    let passed = |name: &str| second[name].as_u64().unwrap() - first[name].as_u64().unwrap();
    assert_eq!([passed("createdAt"), passed("expires")], [302_400_000; 2]);
    assert!(passed("generation") > 0);
    assert_eq!([&second["pages"], &second["count"]], [&first["pages"], &first["count"]]);
    assert_eq!(files(&dir), before);
    let key = done(&folder, "feed pubkey @key");
    done(&folder, &format!("feed verify @out --public-key {}", key.trim()));
    // The same for a list that can't be read, but not for shards that are damaged.
    fs::remove_file(folder.path().join("list")).unwrap();
    refused(&folder, &run(200), "the last list was signed anew as generation ");
    let third = payload(&dir);
    let shard =
        named(&dir).into_iter().max_by_key(|name| fs::metadata(dir.join(name)).unwrap().len()).unwrap();
    fs::write(dir.join(&shard), "damaged").unwrap();
    refused(
        &folder,
        &run(300),
        &format!("the last list can't be signed anew: {}", dir.join(&shard).display()),
    );
    assert_eq!(payload(&dir), third);
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
        let other = folder.path().join("other");
        let left = named(&other);
        for name in &left {
            fs::copy(other.join(name), dir.join(name)).unwrap();
        }

        write(&folder, "list", keys(0..1000));
        begin(&folder, "out", shards, more);
        done(&folder, "verify @out --members @list --probes 1000");
        assert_eq!(payload(&dir)["shards"], shards);
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
    begin(&folder, "out", 4, "grace = '30d'");
    let old = fs::read(&manifest).unwrap();
    write(&folder, "list", keys(0..1100));
    done(&folder, PUBLISH);
    fs::remove_dir_all(folder.path().join("out.state")).unwrap();
    fs::write(&manifest, &old).unwrap();
    write(&folder, "list", keys(0..10));
    refused(
        &folder,
        &(PUBLISH.to_owned() + &at(0)),
        "the state was lost, so the last list wasn't signed anew",
    );
    assert!(fs::read(&manifest).unwrap() == old);
}

/// Clients may have the generation that the state knows, whatever manifest lies in the folder.
#[test]
fn a_refused_run_spares_the_shards_of_the_last_generation() {
    let folder = TempDir::new().unwrap();
    let manifest = folder.path().join("out/shards.json");
    write(&folder, "list", keys(0..1000));
    write(&folder, "good", keys(9000..9200));
    let above = "public = 'out'\nstate = 'out.state'\nsign = []\nprofile = 'raw'\nshards = 4";
    declare(&folder, above, "list = 'list'\n[allow]\ngood = 'good'");
    done(&folder, PUBLISH);
    let old = fs::read(&manifest).unwrap();
    write(&folder, "list", keys(0..1100));
    done(&folder, PUBLISH);
    let last = fs::read(&manifest).unwrap();
    fs::write(&manifest, old).unwrap();
    write(&folder, "good", keys(9000..9010));
    refused(&folder, PUBLISH, "at most 25% may be removed");
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
    begin(&folder, "out", 4, "name = 'words'\nfpr = 0.01");
    let first = payload(&dir);
    fs::remove_file(dir.join("shards.json")).unwrap();
    done(&folder, PUBLISH);
    let second = payload(&dir);
    assert_eq!(second["pages"], first["pages"]);
    assert!(second["generation"].as_u64() > first["generation"].as_u64());

    fs::remove_dir_all(folder.path().join("out.state")).unwrap();
    let manifest = fs::read(dir.join("shards.json")).unwrap();
    for (shards, more, words) in [
        (8, "fpr = 0.01", "`shards` was 4, and a feed keeps it for ever"),
        (4, "fpr = 0.1", "`fpr` was 0.01, and a feed keeps it for ever"),
        (4, "fpr = 0.01", "the state was lost, so nothing tells whether a list was cut short"),
    ] {
        raw(&folder, "out", shards, more);
        refused(&folder, PUBLISH, words);
    }
    assert!(fs::read(dir.join("shards.json")).unwrap() == manifest);
    // Even if the list is the same.
    done(&folder, &format!("{PUBLISH} --max-removed 100%"));
    assert!(payload(&dir)["generation"].as_u64() > second["generation"].as_u64());
    assert_eq!(payload(&dir)["pages"], second["pages"]);
}
