//! `feed forget`: what is deleted, and when.

use std::collections::BTreeSet;
use std::fs;
use std::time::{Duration, SystemTime};

use tempfile::TempDir;

use super::{PUBLISH, at, feed, names, publish_keys, verify, write_list};
use crate::in_process::{age, done, refused, tool, write};

const DAY: u64 = 24 * 60 * 60;
const SHARDED: &str = "shards = 512\nfpr = 0.01";

/// Makes everything in the folder look as if it had been written `seconds` ago.
fn age_all(folder: &TempDir, seconds: u64) {
    names(folder).iter().for_each(|name| age(&folder.path().join("public").join(name), seconds));
}

/// The names of the files of the generation in place.
fn named(folder: &TempDir) -> BTreeSet<String> {
    let files = verify(folder)["files"].as_array().unwrap().clone();
    files.iter().map(|file| file["sha256"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn files_that_a_lost_state_left_go_once_the_generation_is_a_day_old() {
    let folder = feed("");
    publish_keys(&folder, 0, 0..1000);
    publish_keys(&folder, 1, 0..1020);
    let needed = named(&folder);
    let strange = "ab".repeat(32);
    write(&folder, &format!("public/{strange}"), "left");
    for other in ["index.html", "AB", &strange.to_uppercase(), &strange[1..]] {
        write(&folder, &format!("public/{other}"), "no file of a feed");
    }
    fs::create_dir(folder.path().join("public").join("cd".repeat(32))).unwrap();

    let before = fs::read_dir(folder.path().join("public")).unwrap().count();
    let count = || fs::read_dir(folder.path().join("public")).unwrap().count();
    let kept = "deleted  0 files of 0 bytes\nkept     1 file of 4 bytes, which clients may still read; see --grace\n";
    let ages = |seconds| {
        for name in needed.iter().chain([&strange, &"feed.json".to_owned()]) {
            age(&folder.path().join("public").join(name), seconds);
        }
    };
    assert_eq!(done(&folder, "feed forget @public"), kept);
    // The file is old, and the manifest is not: it may have been named until now.
    ages(DAY + 60);
    age(&folder.path().join("public/feed.json"), DAY - 60);
    assert_eq!(done(&folder, "feed forget @public"), kept);
    // The other way round: a run may be about to name it.
    ages(DAY + 60);
    age(&folder.path().join("public").join(&strange), DAY - 60);
    assert_eq!(done(&folder, "feed forget @public"), kept);
    // A clock was wrong.
    let future = SystemTime::now() + Duration::from_secs(9 * DAY);
    let manifest = fs::File::options().write(true).open(folder.path().join("public/feed.json")).unwrap();
    manifest.set_modified(future).unwrap();
    assert_eq!(done(&folder, "feed forget @public --grace 0s"), kept.replace("1day", "0s"));
    assert_eq!(count(), before);
    ages(DAY + 60);
    assert_eq!(done(&folder, "feed forget @public"), "deleted  1 file of 4 bytes\n");
    assert_eq!(count(), before - 1);
    assert!(!folder.path().join("public").join(&strange).exists());
    assert_eq!(named(&folder), needed);
    // The feed goes on.
    assert_eq!(publish_keys(&folder, 2, 0..1030)["file"]["kind"], "delta");
}

#[test]
fn generations_of_a_sharded_filter_go_but_the_last() {
    let folder = feed(SHARDED);
    let build = |range: std::ops::Range<u32>| {
        write_list(&folder, range);
        done(&folder, PUBLISH);
    };
    build(0..3000);
    let first = names(&folder);
    build(0..3001);
    let both = names(&folder);
    // One shard and one page are new, and all other files are the same.
    assert_eq!(both.difference(&first).count(), 2);
    assert_eq!(done(&folder, "feed forget @public").lines().next().unwrap(), "deleted  0 files of 0 bytes");
    age_all(&folder, DAY + 60);
    let said = done(&folder, "feed forget @public");
    assert!(said.starts_with("deleted  2 files of ") && said.lines().count() == 1, "{said}");
    assert_eq!(names(&folder).len(), first.len());
    done(&folder, "verify @public --members @list --probes 1000");
}

#[test]
fn what_cannot_be_read_is_no_reason_to_delete() {
    let folder = feed(SHARDED);
    write_list(&folder, 0..3000);
    fs::create_dir(folder.path().join("empty")).unwrap();
    write(&folder, &format!("empty/{}", "ab".repeat(32)), "somebody's");
    refused(&folder, "feed forget @empty --grace 0s", "there is no feed.json or shards.json here");
    refused(&folder, "feed forget @nowhere", "nowhere");
    done(&folder, PUBLISH);
    write_list(&folder, 0..3001);
    done(&folder, PUBLISH);
    let all = names(&folder);
    // A page is as long as 256 entries of 40 bytes.
    let length = |name: &str| fs::metadata(folder.path().join("public").join(name)).unwrap().len();
    let pages: Vec<_> = all.iter().filter(|name| length(name) == 256 * 40).collect();
    assert_eq!(pages.len(), 3);
    let mut refusals = 0;
    for page in pages {
        let path = folder.path().join("public").join(page);
        let bytes = fs::read(&path).unwrap();
        fs::write(&path, [&bytes[..bytes.len() - 1], b"x"].concat()).unwrap();
        let (code, _, err) = tool(&folder, "feed forget @public --grace 1h");
        refusals += u32::from(code == 2 && err.contains("is damaged"));
        fs::write(&path, &bytes).unwrap();
    }
    assert_eq!(refusals, 2, "the manifest names two pages");
    write(&folder, "public/feed.json", "{}");
    refused(&folder, "feed forget @public --grace 0s", "feed.json");
    fs::remove_file(folder.path().join("public/feed.json")).unwrap();
    assert_eq!(names(&folder), all);
    done(&folder, "feed forget @public --grace 0s");
    assert_eq!(names(&folder).len(), all.len() - 2);
}

/// The state still lists the pages that are gone.
#[test]
fn a_feed_with_shards_goes_on_after_its_old_pages_were_deleted() {
    let folder = feed(SHARDED);
    let publish = |hours: u32| {
        write_list(&folder, 0..3000 + hours);
        let (code, _, err) = tool(&folder, &at(hours));
        (code, err)
    };
    assert_eq!(publish(0).0, 0);
    for hours in [12, 20] {
        assert_eq!(publish(hours), (0, String::new()));
    }
    let (all, said) = (names(&folder).len(), done(&folder, "feed forget @public --grace 0s"));
    assert!(names(&folder).len() < all, "{said}");
    for hours in [37, 46, 71] {
        assert_eq!(publish(hours), (0, String::new()));
    }
    // The manifest, the shards, the two pages of the last generation and of the one before it, and at most 25 shards of
    // that one. Those of 37 hours are gone.
    assert!(names(&folder).len() <= 1 + 512 + 4 + 25, "{}", names(&folder).len());
}
