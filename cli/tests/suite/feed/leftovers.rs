//! Files that are no longer needed are deleted: old ones, and those of runs that failed or were killed.

use std::fs;
use std::io;

use serde_json::Value;

use super::{
    at, change_state, check, feed, files, generation, in_state, names, publish, publish_keys, read, tell,
    verify, write_list,
};
use crate::in_process::{Hook, tool, tool_on, write};

/// Something that can't be deleted: a folder where the file should be.
fn put_folder(path: &std::path::Path) {
    if path.exists() {
        fs::remove_file(path).unwrap();
    }
    fs::create_dir(path).unwrap();
}

/// Publishes the list. Returns the exit code, and what was said on standard error.
fn run(folder: &tempfile::TempDir, hours: u32) -> (u8, String) {
    let (code, _, err) = tool(folder, &at(hours));
    (code, err)
}

/// Nobody relies on a feed that never came, even if its first number is used up.
#[test]
fn a_feed_that_was_never_published_can_be_described_anew() {
    let folder = feed("profile = \"url\"");
    write_list(&folder, 0..100);
    // As a run leaves it that couldn't put its manifest in place.
    publish(&folder, 0, "");
    let before = generation(&folder);
    fs::remove_dir_all(folder.path().join("public")).unwrap();
    change_state(&folder, |state| (state["whole"], state["manifest"]) = (Value::Null, "".into()));
    tell(&folder, "", "");
    publish(&folder, 1, "");
    assert!(generation(&folder) > before);
}

#[test]
fn what_cannot_be_deleted_is_told_by_each_run() {
    let folder = feed("");
    for (hours, keys) in [(0, 3000), (1, 3010)] {
        publish_keys(&folder, hours, 0..keys);
    }
    let path = |name: &str| folder.path().join(name);
    let delta = verify(&folder)["files"][1]["sha256"].as_str().unwrap().to_owned();
    write_list(&folder, 0..3030);
    // Merges the delta before.
    publish(&folder, 2, "");
    put_folder(&path("public").join(&delta));
    let told = |err: &str, name: &str| {
        assert!(err.contains(&format!("{name}: this file isn't needed, and can't be deleted: ")), "{err}");
        assert_eq!(err.lines().count(), 1, "{err}");
    };
    assert_eq!(run(&folder, 25), (0, String::new()));
    for hours in [26, 27] {
        let (code, err) = run(&folder, hours);
        assert_eq!(code, 0);
        told(&err, &delta);
    }
    // Also by one that publishes, and once by one that is refused.
    write_list(&folder, 0..3040);
    let (code, err) = run(&folder, 28);
    assert_eq!(code, 0);
    told(&err, &delta);
    write_list(&folder, 0..10);
    let (code, err) = run(&folder, 29);
    assert_eq!((code, err.lines().count()), (2, 2), "{err}");
    fs::remove_dir(path("public").join(&delta)).unwrap();
    write_list(&folder, 0..3040);
    assert_eq!(run(&folder, 30), (0, String::new()));
    // The same for digests, and for what a killed run leaves.
    for name in ["state/members-77.digests", "state/.bloom-wasm-private-a", "public/.bloom-wasm-own-a"] {
        put_folder(&path(name));
        write_list(&folder, 0..3050);
        let (code, err) = run(&folder, 31);
        assert_eq!(code, 0);
        told(&err, name);
        fs::remove_dir(path(name)).unwrap();
        assert_eq!(run(&folder, 31), (0, String::new()));
    }
    check(&read(&folder), 0..3050, 0..0, 1e-3);
}

/// The state can be written before the manifest, but not again after it.
#[test]
fn a_generation_that_is_published_is_no_failure_if_cleaning_fails() {
    let folder = feed("");
    for (hours, keys) in [(0, 3000), (1, 3010)] {
        publish_keys(&folder, hours, 0..keys);
    }
    tell(&folder, "grace = \"0s\"", "");
    write_list(&folder, 0..3030);
    let path = |name: &str| folder.path().join(name);
    let delta = verify(&folder)["files"][1]["sha256"].as_str().unwrap().to_owned();
    put_folder(&path("public").join(&delta));
    let (state, kept) = (path("state/state.json"), path("kept"));
    let mut said = String::new();
    // The first line is about the file that can't be deleted, once the manifest is in place.
    let mut err = Hook(|bytes: &[u8]| {
        if said.is_empty() {
            fs::rename(&state, &kept)?;
            fs::create_dir(&state)?;
        }
        said += std::str::from_utf8(bytes).unwrap();
        Ok(())
    });
    let code = tool_on(&folder, &at(2), &mut io::empty(), &mut io::sink(), &mut err);
    assert!(code == 0 && said.contains(&delta), "{code} {said}");
    let words =
        format!("generation {} is published, but not all that isn't needed was deleted", generation(&folder));
    assert!(said.contains(&words) && said.contains("state.json: is a directory"), "{said}");
    assert_eq!(verify(&folder)["count"], 3030);
    [&state, &path("public").join(&delta)].iter().for_each(|folder| fs::remove_dir(folder).unwrap());
    fs::rename(&kept, &state).unwrap();
    assert_eq!(publish(&folder, 3, "")["published"], false);
    assert_eq!(names(&folder).len(), 2);
    check(&read(&folder), 0..3030, 0..0, 1e-3);
}

/// As on a full disk, where each run would make it fuller.
#[test]
fn a_run_that_fails_leaves_nothing() {
    let [folder, other] = [feed(""), feed("")];
    for folder in [&folder, &other] {
        publish_keys(folder, 0, 0..3000);
        write_list(folder, 5..3010);
    }
    // A folder is in the way of the digests, whose name another feed of the same lists tells.
    publish(&other, 1, "");
    let name = in_state(&other, "members-").file_name().unwrap().to_owned();
    let digests = folder.path().join("state").join(name);
    fs::create_dir(&digests).unwrap();
    fs::write(digests.join("file"), "").unwrap();
    let all = || (files(&folder), fs::read_dir(folder.path().join("state")).unwrap().count());
    let before = all();
    for hours in 1..6 {
        let (code, err) = run(&folder, hours);
        assert!(code == 2 && err.lines().last().unwrap().contains(": is a directory"), "{err}");
        assert!(all() == before, "{hours}");
    }
    // The last list is signed anew, for which its damaged base is mended.
    let base = verify(&folder)["files"][0]["sha256"].as_str().unwrap().to_owned();
    write(&folder, &format!("public/{base}"), "damaged");
    let (code, err) = run(&folder, 6);
    assert!(code == 2 && err.contains("the last list was signed anew"), "{err}");
    assert_eq!(names(&folder), before.0.keys().cloned().collect());
    check(&read(&folder), 0..3000, 0..0, 1e-3);
    fs::remove_dir_all(digests).unwrap();
    assert_eq!(publish(&folder, 7, "")["files"], 2);
    assert_eq!(names(&folder).len(), 3);
    check(&read(&folder), 5..3010, 0..5, 1e-3);
}
