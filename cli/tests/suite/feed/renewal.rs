//! The last list is signed anew while the next one is refused or can't be made, but never an old one as new.

use std::fs;

use super::guard::{EXCUSE, KINDS, PAGE};
use super::{
    check, copy, feed, files, generation, in_state, key, lines, lose, names, publish, publish_keys,
    publish_refused, read, renewed, stays, tell, verify, write_list,
};
use crate::in_process::{self, done, write};

#[test]
fn clients_keep_the_old_list_while_the_new_one_is_refused() {
    let folder = feed("");
    publish_keys(&folder, 0, 0..1000);
    let before = files(&folder);
    // Halfway to the end it is signed anew, with the keys that it had.
    for (hours, text, words) in [(84, PAGE, "HTML"), (84 * 2, EXCUSE, "--max-removed")] {
        write(&folder, "list", text);
        stays(&folder, hours - 1, words);
        renewed(&folder, hours, words);
        stays(&folder, hours + 1, words);
        let info = verify(&folder);
        assert_eq!(info["count"], 1000);
        assert_eq!(
            info["expires"].as_u64().unwrap() - info["createdAt"].as_u64().unwrap(),
            7 * 24 * 3_600_000
        );
        check(&read(&folder), 0..1000, 0..0, 1e-3);
    }
    assert!(files(&folder).keys().eq(before.keys()));
    // The list is back.
    let report = publish_keys(&folder, 170, 10..1000);
    assert_eq!((&report["added"], &report["removed"]), (&0.into(), &10.into()));
    check(&read(&folder), 10..1000, 0..10, 1e-3);
}

/// A mistake in feed.toml, or a list that isn't there, is no reason for clients to lose the list that they have.
#[test]
fn the_old_list_is_signed_anew_while_the_next_cannot_be_made() {
    let folder = feed("expires-in = \"1d\"");
    publish_keys(&folder, 0, 0..1000);
    let mut hours = 0;
    for (above, below, words) in [
        ("nme = \"x\"", "", "feed.toml:4: there is no key `nme`"),
        ("fpr = 0.5", "", "`fpr` was 0.001, and a feed keeps it for ever"),
        ("fpr = 1e-9", "", "`fpr` must be at least"),
        ("secret = \"nothing\"", "", "nothing: "),
        ("shards = 2", "", "`shards` was none, and a feed keeps it for ever"),
        ("expires-in = \"300000y\"", "", "the time is too late"),
        ("", "more = \"nothing\"", "nothing: No such file"),
        ("", "[allow]\nmore = \"nothing\"", "nothing: No such file"),
        ("", "more = \"cut-short\"", "cut-short"),
    ] {
        write(&folder, "cut-short", b"\x1f\x8b\x08\0\0");
        tell(&folder, above, below);
        stays(&folder, hours, words);
        hours += 13;
        renewed(&folder, hours, words);
    }
    check(&read(&folder), 0..1000, 2000..3000, 1e-3);
    // Without these, nothing may be signed.
    for (above, words) in [("sign = [\"nothing\"]", "nothing: "), ("former-keys = [\"x\"]", "43 characters")]
    {
        tell(&folder, above, "");
        let before = files(&folder);
        let said = publish_refused(&folder, hours + 11, "", words);
        assert!(files(&folder) == before, "{said}");
        // With a key, the folder and its state aren't even known.
        let stays = format!("; generation {} stays until 2099-01-", generation(&folder));
        assert_eq!(said.contains(&stays), above.starts_with("sign"), "{said}");
    }
    tell(&folder, "sign = [\"nothing\"]", "");
    let said = publish_refused(&folder, hours + 90, "", "`sign`: ");
    assert!(said.contains(&format!("; generation {} expired 2099-01-", generation(&folder))), "{said}");
    tell(&folder, "", "");
    publish(&folder, hours + 90, "");
}

/// If a file is missing or damaged, new clients couldn't load the feed. It is made anew, for which what must be absent is
/// needed, from lists that aren't refused.
#[test]
fn what_is_signed_anew_is_whole() {
    let good = |from: u32| lines(from..3000);
    for damage in ["", "damaged"] {
        let folder = feed("");
        let allow = |file: &str| tell(&folder, "", &format!("[allow]\ngood = \"{file}\""));
        allow("good");
        write_list(&folder, 0..1000);
        write(&folder, "good", good(1000));
        publish(&folder, 0, "");
        let base = names(&folder).into_iter().find(|name| name != "feed.json").unwrap();
        match damage {
            "" => fs::remove_file(folder.path().join("public").join(&base)).unwrap(),
            text => write(&folder, &format!("public/{base}"), text),
        }
        let before = files(&folder);
        // Whether the members' list is refused or missing.
        for is_missing in [false, true] {
            write(&folder, "list", PAGE);
            if is_missing {
                fs::remove_file(folder.path().join("list")).unwrap();
            }
            for (text, words) in
                [(PAGE, "HTML"), ("", "gave no key"), ("key-1000.example\n", "1 key, and had 2,000")]
            {
                write(&folder, "good", text);
                let said = publish_refused(&folder, 1, "", words);
                assert!(said.contains("the last list can't be signed anew"), "{said}");
            }
            allow("nothing");
            publish_refused(&folder, 1, "", "the last list can't be signed anew");
            allow("good");
        }
        assert!(files(&folder) == before);
        // Some members are to be absent now. They stay members of the old list.
        write(&folder, "good", good(500));
        write(&folder, "list", PAGE);
        publish_refused(&folder, 1, "", "the last list was signed anew as generation ");
        stays(&folder, 2, "HTML");
        check(&read(&folder), 0..1000, 0..0, 1e-3);
        let filter = read(&folder);
        assert!((1000..3000).all(|i| !filter.stack().has(key(i).as_bytes())));
        assert_eq!(verify(&folder)["count"], 1000);
    }
}

/// The files are whole, so clients need not lose them because a part of the state is.
#[test]
fn a_list_is_signed_anew_without_its_digests() {
    let folder = feed("");
    publish_keys(&folder, 0, 0..1000);
    publish_keys(&folder, 1, 0..1020);
    fs::write(in_state(&folder, "members-"), "damaged").unwrap();
    write(&folder, "list", PAGE);
    stays(&folder, 2, "HTML");
    renewed(&folder, 90, "HTML");
    assert_eq!(verify(&folder)["count"], 1020);
    check(&read(&folder), 0..1020, 2000..3000, 1e-3);
    // With a file of those damaged too, nothing is known to be right.
    let base = verify(&folder)["files"][0]["sha256"].as_str().unwrap().to_owned();
    let kept = in_process::read(&folder, &format!("public/{base}"));
    write(&folder, &format!("public/{base}"), "damaged");
    let before = files(&folder);
    publish_refused(&folder, 180, "", "members-");
    assert_eq!(files(&folder), before);
    write(&folder, &format!("public/{base}"), kept);
    // The list is back: a new base.
    publish_keys(&folder, 181, 0..1030);
    check(&read(&folder), 0..1030, 2000..3000, 1e-3);
    publish(&folder, 182, "");
}

/// CI keeps no state of a run that failed, so the manifest is newer than the state, with the same list.
#[test]
fn a_list_is_signed_anew_again_and_again_while_the_next_is_refused() {
    let folder = feed("");
    publish_keys(&folder, 0, 0..1000);
    copy(&folder, "state", "old");
    write_list(&folder, 0..10);
    for days in [4, 8, 12] {
        renewed(&folder, days * 24, "this list has 10 keys");
        copy(&folder, "old", "state");
    }
    check(&read(&folder), 0..1000, 2000..3000, 1e-3);
}

/// Without the state, the list in the folder may be an old one that a host kept. Without a manifest, nobody knows what
/// became of the host.
#[test]
fn a_lost_state_or_manifest_signs_nothing_anew() {
    for shards in KINDS {
        let folder = feed(&format!("grace = \"0s\"\n{shards}"));
        publish_keys(&folder, 0, 0..1000);
        let before = files(&folder);
        copy(&folder, "state", "kept");
        lose(&folder, "state");
        write_list(&folder, 0..10);
        let words = "the state was lost, so the last list wasn't signed anew";
        let said = publish_refused(&folder, 6 * 24, "", words);
        assert!(
            said.contains("; generation ") && said.ends_with(" stays until 2099-01-08T00:00:00Z\n"),
            "{said}"
        );
        assert!(files(&folder) == before);
        copy(&folder, "kept", "state");
        for name in ["feed.json", "shards.json"] {
            fs::remove_file(folder.path().join("public").join(name)).ok();
        }
        publish_refused(&folder, 6 * 24, "", "there is no manifest in place that could be signed anew");
        assert!(files(&folder).keys().all(|name| before.contains_key(name) && name.len() == 64));
    }
}

/// The list of an old copy, as CI restores one, is older than the one that clients have.
#[test]
fn an_old_state_does_not_sign_its_list_anew() {
    for shards in KINDS {
        let folder = feed(shards);
        publish_keys(&folder, 0, 0..1000);
        copy(&folder, "state", "old");
        publish_keys(&folder, 1, 0..1200);
        copy(&folder, "old", "state");
        let before = files(&folder);
        // What is gone is counted from the list that clients have.
        write_list(&folder, 0..850);
        publish_refused(&folder, 2, "", "of 1,200 keys");
        write_list(&folder, 0..10);
        // It is about to expire, and there is no known list that may be signed.
        let words = "the state is an old copy, so the last list wasn't signed anew";
        let said = publish_refused(&folder, 6 * 24, "", words);
        assert!(said.ends_with(" stays until 2099-01-08T01:00:00Z\n"), "{said}");
        assert!(files(&folder) == before);
        publish_keys(&folder, 6 * 24, 0..1300);
        done(&folder, "verify @public --members @list --probes 1000");
    }
}
