//! What is lost, old or damaged, in the state and in the folder.

use std::fs;

use serde_json::{Map, Value};

use super::{
    at, check, copy, feed, generation, in_state, lose, names, publish, publish_keys, publish_refused, read,
    tell, told_as, verify, with_state, write_list,
};
use crate::in_process::{done, read as read_file, write};

#[test]
fn a_lost_state_goes_on_with_a_new_base() {
    let folder = feed("fpr = 1e-2\nseed = 7");
    publish_keys(&folder, 0, 0..1000);
    publish_keys(&folder, 1, 0..1020);
    let (before, old) = (verify(&folder), names(&folder));
    assert_eq!(old.len(), 3);
    lose(&folder, "state");
    write_list(&folder, 0..1030);
    let report = publish(&folder, 2, "--max-removed 100%");
    assert_eq!((&report["file"]["kind"], &report["files"]), (&"base".into(), &1.into()));
    let after = verify(&folder);
    assert!(after["generation"].as_u64() > before["generation"].as_u64());
    for same in ["feedId", "fpr", "seed", "profile"] {
        assert_eq!(after[same], before[same], "{same}");
    }
    // What the lost one published goes after a day.
    for (hours, is_there) in [(2, true), (25, true), (26, false)] {
        publish(&folder, hours, "");
        assert_eq!(old.is_subset(&names(&folder)), is_there, "{hours}");
    }
    assert_eq!(names(&folder).len(), 2);
    check(&read(&folder), 0..1030, 2000..3000, 1e-2);
    // What it was is kept, all the same.
    lose(&folder, "state");
    tell(&folder, "fpr = 0.1\nseed = 7", "");
    publish_refused(&folder, 27, "--max-removed 100%", "`fpr` was 0.01");
}

#[test]
fn a_feed_keeps_how_passwords_are_compared() {
    // The SHA-1 of "password", by sha1sum.
    let hash = "5baa61e4c9b93f3f0682250b6cf8331b7ee68fd8";
    let kinds = [("", "Password"), ("lowercase = true", "Password"), ("sha1 = true", hash)];
    let told = |kind: &str| format!("profile = \"password\"\n{kind}");
    for (kind, list) in kinds {
        let folder = feed(&told(kind));
        write(&folder, "list", list);
        publish(&folder, 0, "");
        for (other, _) in kinds.iter().filter(|(other, _)| *other != kind) {
            tell(&folder, &told(other), "");
            publish_refused(&folder, 1, "", "and a feed keeps it for ever");
        }
    }
}

#[test]
fn an_older_state_never_lowers_the_generation() {
    let folder = feed("");
    with_state(&folder, "old");
    publish_keys(&folder, 0, 0..1000);
    copy(&folder, "state", "old");
    for i in 1..4 {
        publish_keys(&folder, i, 0..1000 + 10 * i);
    }
    let before = generation(&folder);
    write_list(&folder, 5..1002);
    done(&folder, &at(5).replace("feed.toml", "old.toml"));
    assert!(generation(&folder) > before);
    check(&read(&folder), 5..1002, 0..5, 1e-3);
}

#[test]
fn what_is_missing_or_damaged_is_made_anew() {
    for (target, words) in
        [("public", "hash"), ("removed", "damaged"), ("members", "damaged"), ("gone", "No such file")]
    {
        let folder = feed("");
        publish_keys(&folder, 0, 0..3000);
        publish_keys(&folder, 1, 10..3000);
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
        let said = done(&folder, &at(2));
        assert!(said.contains("a new base") && said.contains(words), "{target}: {said}");
        check(&read(&folder), 10..to, (0..10).chain(to..3000), 1e-3);
    }
}

/// Even if the list hasn't changed, or if no key is left; then the damaged digests are written anew, once.
#[test]
fn damage_is_mended_without_news() {
    let folder = feed("");
    told_as(&folder, "feed", "\"list\"", "{ file = \"list\", allow-empty = true }");
    publish_keys(&folder, 0, 0..10);
    let base = verify(&folder)["files"][0]["sha256"].as_str().unwrap().to_owned();
    write(&folder, &format!("public/{base}"), "damaged");
    assert_eq!(publish(&folder, 1, "")["published"], true);
    check(&read(&folder), 0..10, 0..0, 1e-3);
    fs::write(in_state(&folder, "members-"), "damaged").unwrap();
    assert_eq!(publish_keys(&folder, 2, 0..0)["published"], true);
    assert_eq!(publish(&folder, 3, "")["published"], false);
}

/// A state of another version may mean something else by its fields.
#[test]
fn a_state_that_is_damaged_or_of_another_version_is_refused() {
    let folder = feed("");
    publish_keys(&folder, 0, 0..10);
    let text = String::from_utf8(read_file(&folder, "state/state.json")).unwrap();
    let good: Map<String, Value> = serde_json::from_str(&text).unwrap();
    for field in ["signed", "lists", "allow", "whole", "unlisted"] {
        let mut state = good.clone();
        state.remove(field).expect("it is there");
        write(&folder, "state/state.json", Value::Object(state).to_string());
        publish_refused(&folder, 1, "", &format!("missing field `{field}`"));
    }
    for other in [good["version"].as_u64().unwrap() - 1, good["version"].as_u64().unwrap() + 1] {
        let mut state = good.clone();
        state["version"] = other.into();
        write(&folder, "state/state.json", Value::Object(state).to_string());
        publish_refused(&folder, 1, "", "of another version of the tool; delete it");
    }
    write(&folder, "state/state.json", &text[..text.len() / 2]);
    publish_refused(&folder, 1, "", "state.json: the state is damaged: delete it");
    // The message says how to go on.
    lose(&folder, "state");
    assert_eq!(publish(&folder, 1, "--max-removed 100%")["file"]["kind"], "base");
}
