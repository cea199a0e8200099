//! Shards that were built elsewhere: `feed build-shard`, and `parts` of feed.toml instead of lists.

use std::fs;
use std::io;
use std::path::PathBuf;

use bloom_wasm::hash;
use tempfile::TempDir;

use super::{counts, payload, publish, state};
use crate::feed::{PUBLISH, change_state, feed, key, names, tell, tell_lists, write_list};
use crate::in_process::{Hook, age, done, refused, told, tool, tool_on, tool_with};

/// Builds one of 2^`bits` shards, from the keys that it has of these.
fn build(folder: &TempDir, keys: impl Iterator<Item = u32>, (seed, fpr): (u64, f64), shard: u64, bits: u32) {
    let digests = keys.map(|i| hash::digest(seed, key(i).as_bytes()));
    let own: Vec<u8> =
        digests.filter(|digest| digest >> (64 - bits) == shard).flat_map(u64::to_le_bytes).collect();
    let shards = 1 << bits;
    let args =
        format!("feed build-shard --shards {shards} --index {shard} --seed {seed} --fpr {fpr} -o @parts");
    let (code, _, err) = tool_with(folder, &args, &own);
    assert_eq!(code, 0, "{err}");
}

/// Describes a feed of the parts in a folder.
fn of_parts(folder: &TempDir, parts: &str, above: &str) {
    tell_lists(folder, &format!("parts = \"{parts}\"\n{above}"), "");
}

/// How many files are in the folder of the parts.
fn left(folder: &TempDir) -> usize {
    fs::read_dir(folder.path().join("parts")).unwrap().count()
}

/// Building each shard by itself, and then the folder, gives the same as building all at once.
#[test]
fn shards_that_were_built_elsewhere() {
    let above = "shards = 32\nseed = 42\nfpr = 0.01";
    let [whole, folder] = [feed(above), feed("")];
    publish(&whole, 3000);
    // Repeated, in any order, and once more after a run that failed.
    for shard in (0..32).rev().chain([5]) {
        build(&folder, (0..3000).chain(0..100), (42, 0.01), shard, 5);
    }
    of_parts(&folder, "parts", above);
    let said = done(&folder, PUBLISH);
    assert!(said.contains("3,000 keys, of parts"), "{said}");
    assert_eq!(names(&whole), names(&folder));
    counts(&folder);
    assert_eq!(left(&folder), 0, "they are used up");
    assert_eq!(payload(&whole)["pages"], payload(&folder)["pages"]);
}

/// Builds one of four shards.
fn job(folder: &TempDir, shard: u64, range: std::ops::Range<u32>) {
    build(folder, range, (0, 0.001), shard, 2);
}

/// Builds all four.
fn jobs(folder: &TempDir, range: std::ops::Range<u32>) {
    (0..4).for_each(|shard| job(folder, shard, range.clone()));
}

/// Publishes a list of this many keys.
fn of_list(folder: &TempDir, keys: u32) {
    tell(folder, "shards = 4\ngrace = '0s'", "");
    publish(folder, keys);
}

fn part(folder: &TempDir, shard: u64) -> PathBuf {
    folder.path().join(format!("parts/shard-{shard:05}-of-00004.bloom"))
}

/// Describes the feed of parts that had a list before.
fn of_four_parts(folder: &TempDir) {
    of_parts(folder, "parts", "shards = 4\ngrace = '0s'\ndropped = ['list']");
}

fn manifest(folder: &TempDir) -> PathBuf {
    folder.path().join("public/shards.json")
}

fn generation(folder: &TempDir) -> u64 {
    payload(folder)["generation"].as_u64().unwrap()
}

/// After a generation of a list, publishes the parts, but the manifest can't be put in place. Returns the old one,
/// which is away.
fn unfinished(folder: &TempDir) -> Vec<u8> {
    let manifest = manifest(folder);
    of_list(folder, 500);
    let before = fs::read(&manifest).unwrap();
    of_four_parts(folder);
    // The tool says that this isn't its own, and meanwhile a folder comes into the place of the manifest.
    let other = folder.path().join("public/feed.json");
    fs::write(&other, "").unwrap();
    let mut said = String::new();
    let mut err = Hook(|bytes: &[u8]| {
        if manifest.is_file() {
            fs::remove_file(&manifest)?;
            fs::create_dir(&manifest)?;
        }
        said += std::str::from_utf8(bytes).unwrap();
        Ok(())
    });
    let code = tool_on(folder, PUBLISH, &mut io::empty(), &mut io::sink(), &mut err);
    assert!(code == 2 && said.contains("shards.json: is a directory"), "{code} {said}");
    fs::remove_file(other).unwrap();
    fs::remove_dir(&manifest).unwrap();
    assert!((0..4).all(|shard| part(folder, shard).exists()), "they are needed");
    let state = state(folder);
    let dir = folder.path().join("parts").display().to_string();
    assert_eq!((&state["parts"]["dir"], &state["parts"]["published"]), (&dir.into(), &false.into()));
    before
}

/// What a run leaves that publishes the parts and is killed before it deletes one: when the manifest is in place, or
/// when the state says so, too.
fn killed(folder: &TempDir, is_remembered: bool) -> Vec<u8> {
    let before = unfinished(folder);
    change_state(folder, |state| {
        fs::write(manifest(folder), state["manifest"].as_str().unwrap()).unwrap();
        state["parts"]["published"] = is_remembered.into();
    });
    before
}

/// The next run, for which the job of the first shard is lost, doesn't take the old one; with a new one it publishes.
fn only_the_first_is_missing(folder: &TempDir) {
    let before = payload(folder);
    refused(folder, PUBLISH, "shard-00000-of-00004.bloom: No such file");
    assert_eq!(payload(folder), before);
    // What was built since has stayed.
    assert!((1..4).all(|shard| part(folder, shard).exists()));
    job(folder, 0, 0..1100);
    is_published(folder);
    assert!(generation(folder) > before["generation"].as_u64().unwrap());
}

/// All shards are those of 1,100 keys, and nothing is left.
fn is_published(folder: &TempDir) {
    done(folder, PUBLISH);
    write_list(folder, 0..1100);
    done(folder, "verify @public --members @list --probes 1000");
    assert!(names(folder).iter().all(|name| name.len() == 64 || name == "shards.json"));
    assert_eq!(left(folder), 0);
    assert_eq!(state(folder).get("parts"), None);
}

/// A run is killed when the manifest is there, and the next job of a shard is lost.
#[test]
fn a_shard_that_was_published_is_not_taken_for_the_next_one() {
    for (is_remembered, deleted) in [(false, 0), (true, 0), (true, 2)] {
        let folder = feed("");
        jobs(&folder, 0..1000);
        killed(&folder, is_remembered);
        (0..deleted).for_each(|i| fs::remove_file(part(&folder, 3 - i)).unwrap());
        // What it left disturbs no other command.
        write_list(&folder, 0..1000);
        for command in ["verify @public --members @list --probes 1000", "info @public", "feed verify @public"]
        {
            done(&folder, command);
        }
        // As in a copy of the folder, where times differ.
        age(&part(&folder, 0), 0);
        (1..4).for_each(|shard| job(&folder, shard, 0..1100));
        only_the_first_is_missing(&folder);
    }
}

/// The manifest couldn't be put in place, or the run was killed before.
#[test]
fn shards_of_a_manifest_that_never_came_are_not_spent() {
    for first in [true, false] {
        let folder = feed("");
        jobs(&folder, 0..1100);
        let before = unfinished(&folder);
        // There is none, or it is the old one.
        if !first {
            fs::write(manifest(&folder), before).unwrap();
        }
        is_published(&folder);
    }
}

/// What clients should have had by now is signed anew, and then its parts are used up.
#[test]
fn an_unfinished_generation_is_put_in_place_if_the_next_is_refused() {
    let folder = feed("");
    jobs(&folder, 0..1000);
    let before = unfinished(&folder);
    fs::write(manifest(&folder), before).unwrap();
    fs::remove_file(part(&folder, 2)).unwrap();
    job(&folder, 3, 0..1100);
    refused(&folder, PUBLISH, "; the last list was signed anew as generation ");
    assert_eq!(payload(&folder)["count"], 1000);
    assert_eq!([0, 1, 2, 3].map(|shard| part(&folder, shard).exists()), [false, false, false, true]);
    (1..3).for_each(|shard| job(&folder, shard, 0..1100));
    only_the_first_is_missing(&folder);
}

/// Whatever comes next: an old manifest that a host puts back, the same parts again, or parts from another folder.
#[test]
fn shards_that_were_published_are_spent() {
    for what in ["manifest", "again", "folder", "moved"] {
        let folder = feed("");
        jobs(&folder, 0..1100);
        let before = killed(&folder, true);
        let others = "shards = 4\ndropped = ['list']";
        match what {
            "manifest" => fs::write(manifest(&folder), before).unwrap(),
            "again" => jobs(&folder, 0..1100),
            "moved" => {
                let [parts, moved] = ["parts", "others"].map(|name| folder.path().join(name));
                fs::rename(&parts, &moved).unwrap();
                of_parts(&folder, "others", others);
                let (code, _, err) = tool(&folder, PUBLISH);
                let is_told =
                    err.contains("parts that were published are in no folder of this name any more");
                assert!(code == 2 && is_told, "{code} {err}");
                fs::rename(&moved, &parts).unwrap();
                fs::create_dir(moved).unwrap();
            }
            _ => {
                fs::create_dir(folder.path().join("others")).unwrap();
                of_parts(&folder, "others", others);
            }
        }
        refused(&folder, PUBLISH, "shard-00000-of-00004.bloom: No such file");
        assert_eq!(left(&folder), 0);
        of_four_parts(&folder);
        // Those that change nothing are used up, too.
        jobs(&folder, 0..1100);
        is_published(&folder);
    }
}

/// The next generation is made of a list again, and the one after it of parts.
#[test]
fn published_shards_are_spent_whoever_comes_next() {
    let folder = feed("");
    jobs(&folder, 0..1000);
    killed(&folder, true);
    of_list(&folder, 1050);
    assert_eq!((&payload(&folder)["count"], left(&folder)), (&1050.into(), 0));
    jobs(&folder, 0..1100);
    of_parts(&folder, "parts", "shards = 4");
    // A list that is gone is refused, whatever comes instead.
    refused(&folder, PUBLISH, "list: this list is missing; if it is gone, write dropped = [\"list\"] above");
    of_four_parts(&folder);
    is_published(&folder);
}

/// There it is a folder. Only a run that takes parts may not go on.
#[test]
fn a_published_shard_that_cannot_be_deleted_is_told() {
    let folder = feed("");
    jobs(&folder, 0..1000);
    killed(&folder, true);
    fs::remove_file(part(&folder, 1)).unwrap();
    fs::create_dir(part(&folder, 1)).unwrap();
    let stuck = "shard-00001-of-00004.bloom: this is not a file";
    of_list(&folder, 1050);
    let (code, said, err) = tool(&folder, PUBLISH);
    assert!(code == 0 && said.contains("unchanged"), "{said}{err}");
    assert!(err.contains(stuck) && err.lines().count() == 1, "{err}");
    // From the last one on.
    assert_eq!([0, 1, 2, 3].map(|shard| part(&folder, shard).exists()), [true, true, false, false]);
    let before = fs::read(manifest(&folder)).unwrap();
    of_four_parts(&folder);
    (2..4).for_each(|shard| job(&folder, shard, 0..1100));
    let (code, _, err) = tool(&folder, PUBLISH);
    let words = "parts that were published before can't be deleted, so these may be the same; generation ";
    assert!(code == 2 && err.contains(stuck) && err.contains(words), "{code} {err}");
    assert_eq!(err.lines().count(), 2, "each is said once: {err}");
    assert!(fs::read(manifest(&folder)).unwrap() == before);
    fs::remove_dir(part(&folder, 1)).unwrap();
    job(&folder, 1, 0..1100);
    only_the_first_is_missing(&folder);
}

#[test]
fn parts_that_are_none_of_the_feed_are_refused() {
    let folder = feed("");
    for (args, input, words) in [
        ("4", &[][..], "--index must be below --shards"),
        ("1", &[0; 8], "belongs to shard 0"),
        ("0", &[0; 7], "within a digest"),
        ("0 --profile url", &[], "use `feed publish`"),
    ] {
        let args = format!("feed build-shard --shards 4 -o @parts --index {args}");
        let (code, _, err) = tool_with(&folder, &args, input);
        assert!(code == 2 && err.contains(words), "{args}: {err}");
    }
    let with = |above: &str| of_parts(&folder, "parts", above);
    let four = "shards = 4";
    with(four);
    refused(&folder, PUBLISH, "parts: No such file");
    jobs(&folder, 0..1000);
    fs::remove_file(part(&folder, 2)).unwrap();
    refused(&folder, PUBLISH, "shard-00002-of-00004.bloom: No such file");
    let build = |shard: u64, options: &str| {
        done(&folder, &format!("feed build-shard --shards 4 --index {shard}{options} -o @parts"))
    };
    for (options, words) in [
        (" --seed 1", "its seed is 1; that of the feed is 0"),
        (" --fpr 0.1", "its fpr is 0.1; that of the feed is 0.001"),
        (" --profile password --fpr 1e-3", "its profile or secret is not that of the feed"),
    ] {
        build(2, options);
        refused(&folder, PUBLISH, &format!("shard-00002-of-00004.bloom: {words}"));
    }
    write_list(&folder, 0..100);
    for options in ["--name n @list", "--tag a=@list"] {
        done(&folder, &format!("build {options} -o @parts/shard-00002-of-00004.bloom"));
        refused(&folder, PUBLISH, "`feed build-shard` didn't make this");
    }
    job(&folder, 2, 0..1000);
    for (above, words) in [
        ("shards = 2", "-of-00004.bloom: the feed has 2 shards"),
        ("shards = 8", "-of-00004.bloom: the feed has 8 shards"),
        ("shards = 4\n[allow]\ngood = 'list'", "`parts` can't be combined with [lists], [allow] or `tags`"),
    ] {
        with(above);
        refused(&folder, PUBLISH, words);
    }
    with(four);
    assert!(names(&folder).is_empty(), "nothing is written unless all can be");
    assert_eq!(left(&folder), 4);
    // Nobody can say that there may be no keys.
    (0..4).for_each(|shard| drop(build(shard, "")));
    refused(&folder, PUBLISH, "no key is left");
    jobs(&folder, 0..1000);
    assert_eq!(told(&folder, PUBLISH)["count"], 1000);
    jobs(&folder, 0..700);
    refused(&folder, PUBLISH, "300 of 1,000 keys would be removed");
    // Two jobs for one shard would lose the keys of the other.
    jobs(&folder, 0..1000);
    fs::copy(part(&folder, 1), part(&folder, 2)).unwrap();
    refused(&folder, PUBLISH, "shard-00002-of-00004.bloom: this is the part of shard 1");
    // Parts with another profile than the feed are refused later too.
    (0..4).for_each(|shard| drop(build(shard, " --profile password --lowercase --fpr 1e-3")));
    refused(&folder, PUBLISH, "shard-00000-of-00004.bloom: its profile or secret is not that of the feed");
}
