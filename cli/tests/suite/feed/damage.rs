//! What is lost, old or damaged, in the state and in the folder.

use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::Value;

use super::{at, check, feed, in_state, names, publish, publish_refused, read, verify, write_list};
use crate::in_process::{PUBLIC_KEY, done, refused, write};

#[test]
fn a_lost_state_goes_on_with_a_new_base() {
    let folder = feed("--fpr 1e-2 --seed 7 --name Demo");
    write_list(&folder, 0..1000);
    publish(&folder, 0, "");
    write_list(&folder, 0..1020);
    publish(&folder, 1, "");
    let before = verify(&folder);
    fs::remove_dir_all(folder.path().join("state")).unwrap();
    let again = "feed publish @public @list --state @state --sign @key --profile raw";
    refused(&folder, &again.replace(" --profile raw", ""), "there is no state of a feed here");
    refused(&folder, &format!("{again} --fpr 0.1"), "--fpr: the feed has 0.01");
    let seconds = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let begun = seconds();
    let report = publish(&folder, 2, "");
    let last = seconds();
    assert_eq!(report["file"]["kind"], "base");
    let after = verify(&folder);
    assert!((begun + 1..=last + 1).contains(&after["generation"].as_u64().unwrap()), "{after}");
    assert_eq!(after["files"].as_array().unwrap().len(), 1);
    for same in ["feedId", "name", "fpr", "seed", "profile", "count"] {
        assert_eq!(after[same], before[same], "{same}");
    }
    // The state of another feed.
    done(&folder, "feed publish @elsewhere @list --state @other --profile raw");
    refused(&folder, "feed publish @public @list --state @other", "another feed");
}

#[test]
fn what_a_lost_state_published_is_signed_on_and_cleared_away() {
    let folder = feed("");
    write_list(&folder, 0..1000);
    publish(&folder, 0, "");
    write_list(&folder, 0..1020);
    publish(&folder, 1, "");
    let old = names(&folder);
    assert_eq!(old.len(), 3);
    fs::remove_dir_all(folder.path().join("state")).unwrap();
    let unsigned = "feed publish @public @list --state @state --profile raw";
    refused(&folder, &format!("{unsigned} --without-key {PUBLIC_KEY}"), "the feed was signed until now");
    write_list(&folder, 0..1030);
    publish(&folder, 2, "");
    assert!(old.is_subset(&names(&folder)));
    publish(&folder, 25, "");
    assert!(old.is_subset(&names(&folder)));
    publish(&folder, 26, "");
    assert_eq!(names(&folder).len(), 2);
    assert_eq!(verify(&folder)["count"], 1030);
}

#[test]
fn the_manifest_tells_a_new_state_how_passwords_are_compared() {
    // The SHA-1 of "password", by sha1sum.
    let hash = "5baa61e4c9b93f3f0682250b6cf8331b7ee68fd8";
    for (option, list) in [("--sha1", hash), ("--lowercase", "Password"), ("", "Password")] {
        for is_base_lost in [false, true] {
            let folder = feed(format!("--profile password {option}").trim_end());
            write(&folder, "list", list);
            publish(&folder, 0, "");
            let before = read(&folder);
            fs::remove_dir_all(folder.path().join("state")).unwrap();
            if is_base_lost {
                let files = names(&folder).into_iter().filter(|name| name != "feed.json");
                files.for_each(|name| write(&folder, &format!("public/{name}"), "lost"));
            }
            let again = "feed publish @public @list --state @state --sign @key --profile password";
            for given in ["", "--lowercase", "--sha1"].into_iter().filter(|given| *given != option) {
                let words = format!("--profile: the feed has --profile password {option}");
                refused(&folder, format!("{again} {given}").trim_end(), words.trim_end());
            }
            publish(&folder, 1, "");
            let after = read(&folder);
            assert_eq!(after.profile(), before.profile(), "{option}");
            assert_eq!(after.stack(), before.stack(), "{option}");
        }
    }
}

/// Even with no grace at all.
#[test]
fn a_refused_run_with_a_new_state_leaves_what_is_in_place() {
    let folder = feed("");
    write_list(&folder, 0..1000);
    publish(&folder, 0, "");
    fs::remove_dir_all(folder.path().join("state")).unwrap();
    write_list(&folder, 0..10);
    publish_refused(&folder, 1, "--grace 0s", "keys would be removed");
    check(&read(&folder), 0..1000, 0..0, 1e-3);
}

#[test]
fn an_older_state_never_lowers_the_generation() {
    let folder = feed("");
    write_list(&folder, 0..1000);
    publish(&folder, 0, "");
    let [state, copy] = ["state", "copy"].map(|name| folder.path().join(name));
    fs::create_dir(&copy).unwrap();
    for entry in fs::read_dir(&state).unwrap() {
        let name = entry.unwrap().file_name();
        fs::copy(state.join(&name), copy.join(&name)).unwrap();
    }
    for i in 1..4 {
        write_list(&folder, 0..1000 + 10 * i);
        publish(&folder, i, "");
    }
    write_list(&folder, 5..1002);
    let args = format!("feed publish @public @list --state @copy --sign @key --json {}", at(5));
    let report: Value = serde_json::from_str(&done(&folder, &args)).unwrap();
    assert_eq!(report["generation"], 5);
    check(&read(&folder), 5..1002, 0..5, 1e-3);
}

#[test]
fn what_is_missing_or_damaged_is_made_anew() {
    for (target, words) in
        [("public", "hash"), ("removed", "damaged"), ("members", "damaged"), ("gone", "No such file")]
    {
        let folder = feed("");
        write_list(&folder, 0..3000);
        publish(&folder, 0, "");
        write_list(&folder, 10..3000);
        publish(&folder, 1, "");
        let delta = verify(&folder)["files"][1]["sha256"].as_str().unwrap().to_owned();
        let public = folder.path().join("public").join(delta);
        let path = match target {
            "public" | "gone" => public,
            _ => in_state(&folder, &format!("{target}-")),
        };
        if target == "gone" {
            fs::remove_file(path).unwrap();
        } else {
            let mut bytes = fs::read(&path).unwrap();
            *bytes.last_mut().unwrap() ^= 1;
            fs::write(&path, bytes).unwrap();
        }
        // As large as the one before, so that they'd be merged; but half as large if it is to be built on.
        let to = if target == "public" { 2997 } else { 2980 };
        write_list(&folder, 10..to);
        let said = done(&folder, &format!("feed publish @public @list --state @state --sign @key {}", at(2)));
        assert!(said.contains("a new base") && said.contains(words), "{target}: {said}");
        check(&read(&folder), 10..to, (0..10).chain(to..3000), 1e-3);
    }
}

#[test]
fn damage_is_mended_even_if_the_list_has_not_changed() {
    let folder = feed("");
    write_list(&folder, 0..3000);
    publish(&folder, 0, "");
    let base = verify(&folder)["files"][0]["sha256"].as_str().unwrap().to_owned();
    write(&folder, &format!("public/{base}"), "damaged");
    let report = publish(&folder, 1, "");
    assert_eq!((&report["published"], &report["generation"]), (&true.into(), &2.into()));
    check(&read(&folder), 0..3000, 0..0, 1e-3);
}

/// The damaged digests are written anew, even if no key is left.
#[test]
fn damage_of_a_list_that_is_empty_now_is_mended_once() {
    let folder = feed("");
    write_list(&folder, 0..10);
    publish(&folder, 0, "");
    fs::write(in_state(&folder, "members-"), "damaged").unwrap();
    write_list(&folder, 0..0);
    assert_eq!(publish(&folder, 1, "--allow-empty --max-removed 100%")["generation"], 2);
    assert_eq!(publish(&folder, 2, "--allow-empty")["published"], false);
}

#[test]
fn a_state_that_misses_something_is_refused() {
    let folder = feed("");
    write_list(&folder, 0..10);
    publish(&folder, 0, "");
    let path = folder.path().join("state/state.json");
    let text = fs::read_to_string(&path).unwrap();
    for field in ["members", "lists", "tagged", "shards", "settings"] {
        let mut state: serde_json::Map<String, Value> = serde_json::from_str(&text).unwrap();
        state.remove(field).expect("it is there");
        fs::write(&path, serde_json::to_string(&state).unwrap()).unwrap();
        publish_refused(&folder, 1, "", &format!("missing field `{field}`"));
    }
    fs::write(&path, &text[..text.len() / 2]).unwrap();
    publish_refused(&folder, 1, "", "state.json: the state is damaged: delete it");
}

/// Its fields may have other meanings.
#[test]
fn a_state_of_another_version_is_refused() {
    let folder = feed("");
    write_list(&folder, 0..10);
    publish(&folder, 0, "");
    let path = folder.path().join("state/state.json");
    let mut state: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    let version = state["version"].as_u64().unwrap();
    for other in [version - 1, version + 1] {
        state["version"] = other.into();
        fs::write(&path, state.to_string()).unwrap();
        publish_refused(&folder, 1, "", "of another version of the tool; begin a new state");
    }
    // The message says how to go on.
    let args = format!("feed publish @public @list --state @new --sign @key --profile raw {}", at(1));
    assert!(done(&folder, &args).contains("a new base"));
}
