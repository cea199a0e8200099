//! Files that are no longer needed are deleted: old ones, and those of runs that failed or were killed.

use std::fs;
use std::io::{self, Read};

use serde_json::{Value, json};

use super::{at, check, description, feed, files, names, publish, read, verify, write_list};
use crate::in_process::{Hook, done, tool, tool_on, write};

/// Something that can't be deleted: a folder where the file should be.
fn put_folder(path: &std::path::Path) {
    if path.exists() {
        fs::remove_file(path).unwrap();
    }
    fs::create_dir(path).unwrap();
}

/// Publishes the list. Returns the exit code, and what was said on standard error.
fn run(folder: &tempfile::TempDir, hours: u32) -> (u8, String) {
    let more = format!("{} {}", at(hours), description(folder));
    let args = format!("feed publish @public @list --state @state --sign @key {more}");
    let (code, _, err) = tool(folder, &args);
    (code, err)
}

/// A crontab's line says none of it, whatever became of the run that said it: the first, or the first after a loss.
#[test]
fn a_run_that_begins_and_fails_has_said_what_the_feed_is() {
    for is_lost in [false, true] {
        let folder = feed("");
        let manifest = folder.path().join("public/feed.json");
        let state = folder.path().join("state");
        write_list(&folder, 0..1000);
        write(&folder, "good", "key-1.example\n");
        let publish = "feed publish @public @list --state @state --sign @key";
        if is_lost {
            done(&folder, &format!("{publish} --profile raw"));
            fs::remove_dir_all(&state).unwrap();
        }
        // Everything is ready but the manifest, where a folder appears.
        let old = fs::read(&manifest).ok();
        let mut input = Hook(|_: &[u8]| {
            if !manifest.is_dir() {
                put_folder(&manifest);
            }
            Ok(())
        });
        let list = folder.path().join("list").display().to_string();
        let begin = format!(
            "feed publish @public - --state @state --sign @key --profile raw --allow-empty --tag x={list} --allow \
             @good --allow-wins --expires-in 1d"
        );
        let mut err = Vec::new();
        assert_eq!(tool_on(&folder, &begin, &mut input, &mut io::sink(), &mut err), 2);
        let err = String::from_utf8(err).unwrap();
        assert!(err.contains("feed.json: is a directory") || err.contains("Is a directory"), "{err}");
        fs::remove_dir(&manifest).unwrap();
        if let Some(old) = old {
            fs::write(&manifest, old).unwrap();
        }
        done(&folder, publish);
        let head = verify(&folder);
        let lasts = head["expires"].as_u64().unwrap() - head["createdAt"].as_u64().unwrap();
        assert_eq!((lasts, &head["count"]), (24 * 60 * 60 * 1000, &999.into()));
        let blob = read(&folder);
        assert_eq!(blob.stack().tags(b"key-2.example").unwrap(), ["x"]);
        assert!(!blob.stack().has(b"key-1.example"));
    }
}

/// Nobody relies on a feed that never came, even if its first number is used up.
#[test]
fn a_feed_that_was_never_published_can_be_described_anew() {
    let folder = feed("");
    write_list(&folder, 0..100);
    done(&folder, "feed publish @public @list --state @state --profile url");
    // As a run leaves it that couldn't put its manifest in place.
    fs::remove_dir_all(folder.path().join("public")).unwrap();
    let json = folder.path().join("state/state.json");
    let mut state: Value = serde_json::from_slice(&fs::read(&json).unwrap()).unwrap();
    for (field, value) in [("members", Value::Null), ("manifest", json!("")), ("files", json!([]))] {
        state[field] = value;
    }
    fs::write(&json, state.to_string()).unwrap();
    let (code, out, err) = tool(&folder, "feed publish @public @list --state @state --profile raw");
    assert!(code == 0 && out.contains("generation 2"), "{out}{err}");
    assert!(err.contains("nobody has signed this"), "{err}");
}

#[test]
fn what_cannot_be_deleted_is_told_by_each_run() {
    let folder = feed("");
    for (hours, keys) in [(0, 3000), (1, 3010)] {
        write_list(&folder, 0..keys);
        publish(&folder, hours, "");
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

/// The other copy of the state may have named a file again since, and dropped it a moment ago.
#[test]
fn an_old_copy_of_a_state_deletes_nothing_before_its_time() {
    let folder = feed("");
    let [first, second] = [0..1000, 5000..6000];
    let base = || verify(&folder)["files"][0]["sha256"].as_str().unwrap().to_owned();
    write_list(&folder, first.clone());
    publish(&folder, 0, "");
    let of_first = base();
    write_list(&folder, second.clone());
    publish(&folder, 1, "--max-removed 100%");
    assert_ne!(base(), of_first);
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("other")).unwrap();
    for file in fs::read_dir(at("state")).unwrap().map(|file| file.unwrap().path()) {
        fs::copy(&file, at("other").join(file.file_name().unwrap())).unwrap();
    }
    write_list(&folder, first);
    publish(&folder, 2, "--max-removed 100%");
    assert_eq!(base(), of_first);
    write_list(&folder, second);
    publish(&folder, 3, "--max-removed 100%");
    // A day after the copy saw the file dropped, but not after it was.
    for (hours, is_kept) in [(26, true), (26 + 23, true), (26 + 24, false)] {
        let at = super::at(hours);
        done(&folder, &format!("feed publish @public @list --state @other --sign @key {at}"));
        assert_eq!(names(&folder).contains(&of_first), is_kept, "{hours}");
    }
}

/// The state can be written before the manifest, but not again after it.
#[test]
fn a_generation_that_is_published_is_no_failure_if_cleaning_fails() {
    let folder = feed("");
    for (hours, keys) in [(0, 3000), (1, 3010)] {
        write_list(&folder, 0..keys);
        publish(&folder, hours, "");
    }
    write_list(&folder, 0..3030);
    let path = |name: &str| folder.path().join(name);
    let (state, kept, stuck) = (path("state/state.json"), path("kept"), path("state/members-77.digests"));
    let list = fs::read(path("list")).unwrap();
    // Cleaning comes first, too, and each file that can't be deleted is told once.
    let mut list = list.chain(Hook(|_: &[u8]| if stuck.exists() { Ok(()) } else { fs::create_dir(&stuck) }));
    let mut said = String::new();
    let mut err = Hook(|bytes: &[u8]| {
        if said.is_empty() {
            fs::rename(&state, &kept)?;
            fs::create_dir(&state)?;
        }
        said += std::str::from_utf8(bytes).unwrap();
        Ok(())
    });
    // Merges the delta before, which goes at once.
    let args = format!("feed publish @public - --state @state --sign @key --grace 0s {}", at(2));
    let code = tool_on(&folder, &args, &mut list, &mut io::sink(), &mut err);
    assert!(code == 0 && said.lines().count() == 2, "{code} {said}");
    let words = "generation 3 is published, but files that aren't needed may not have been deleted: ";
    assert!(said.contains(words) && said.contains("state.json: is a directory"), "{said}");
    assert_eq!(verify(&folder)["generation"], 3);
    [&state, &stuck].iter().for_each(|folder| fs::remove_dir(folder).unwrap());
    fs::rename(&kept, &state).unwrap();
    assert_eq!(publish(&folder, 3, "")["published"], false);
    check(&read(&folder), 0..3030, 0..0, 1e-3);
}

/// As on a full disk, where each run would make it fuller.
#[test]
fn a_run_that_fails_leaves_nothing() {
    let folder = feed("");
    write_list(&folder, 0..3000);
    publish(&folder, 0, "");
    let before = files(&folder);
    // Here a run fails after it has written its delta.
    let digests = folder.path().join("state/members-2.digests");
    put_folder(&digests);
    for i in 1..6 {
        write_list(&folder, 0..3000 + 10 * i);
        let (code, err) = run(&folder, i);
        assert!(
            code == 2 && err.lines().last().unwrap().contains("members-2.digests: is a directory"),
            "{err}"
        );
        assert_eq!(files(&folder), before);
    }
    // A new base, since the old one is damaged. The old list is to be signed anew instead, for which its base is mended.
    let base = verify(&folder)["files"][0]["sha256"].as_str().unwrap().to_owned();
    write(&folder, &format!("public/{base}"), "damaged");
    assert_eq!(run(&folder, 6).0, 2);
    assert_eq!(files(&folder), before);
    fs::remove_dir(digests).unwrap();
    let report = publish(&folder, 7, "");
    assert_eq!((&report["generation"], &report["files"]), (&2.into(), &2.into()));
    assert_eq!(names(&folder).len(), 3);
    check(&read(&folder), 0..3050, 0..0, 1e-3);
}

/// Whether that run publishes or is refused.
#[test]
fn the_next_run_deletes_what_a_killed_one_left() {
    let folder = feed("");
    write_list(&folder, 0..1000);
    publish(&folder, 0, "");
    let before = names(&folder);
    let path = folder.path().join("state/state.json");
    for keys in [10, 1000, 1010] {
        // No manifest has named it.
        let name = "ab".repeat(32);
        write(&folder, &format!("public/{name}"), "left");
        write(&folder, "state/removed-abababababababab.digests", "left");
        let mut state: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        state["unlisted"].as_array_mut().unwrap().push(json!({ "sha256": name, "since": null }));
        fs::write(&path, state.to_string()).unwrap();
        write_list(&folder, 0..keys);
        assert_eq!(run(&folder, 1).0, if keys < 1000 { 2 } else { 0 });
        assert!(!names(&folder).contains(&name));
        assert!(!folder.path().join("state/removed-abababababababab.digests").exists());
        assert!(before.is_subset(&names(&folder)));
    }
    check(&read(&folder), 0..1010, 0..0, 1e-3);
}

/// Somebody may take a folder for the state that holds lists already, called like files of the state.
#[test]
fn a_list_in_the_folder_of_the_state_stays() {
    let folder = feed("");
    let lists = ["members-20261128", "removed-cafe", "parts-1"];
    fs::create_dir(folder.path().join("data")).unwrap();
    for shards in ["", " --shards 2"] {
        lists.iter().for_each(|list| write(&folder, &format!("data/{list}"), "a\nb\n"));
        let args = format!("@public{} @data/{} --state @data --profile raw{shards}", shards.len(), lists[0]);
        done(&folder, &format!("feed publish {args}"));
        for list in lists {
            assert_eq!(fs::read_to_string(folder.path().join("data").join(list)).unwrap(), "a\nb\n");
        }
        fs::remove_file(folder.path().join("data/state.json")).unwrap();
    }
}
