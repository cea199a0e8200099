//! The keys that sign a feed, and how they are changed.

use std::fs;

use serde_json::Value;
use tempfile::TempDir;

use super::{at, copy, feed, publish, publish_refused, tell, with_state, write_list};
use crate::in_process::{self, PUBLIC_KEY, done, refused, told, tool, write};

const FORGOTTEN: &str = "another key has signed the feed until now, and clients may know only that one";

/// A feed with a list, and another key, whose public key is returned.
fn with_keys() -> (TempDir, String) {
    let folder = feed("");
    write_list(&folder, 0..10);
    let said = done(&folder, "feed keygen -o @other");
    (folder, said.split_whitespace().nth(2).unwrap().to_owned())
}

fn sign(folder: &TempDir, keys: &[&str], former: &[&str]) {
    tell(folder, &format!("sign = {keys:?}\nformer-keys = {former:?}"), "");
}

fn is_signed_by(folder: &TempDir, public: &str) -> bool {
    let (code, out, err) = tool(folder, &format!("feed verify @public --public-key={public}"));
    assert!(
        code == 0 && out.contains("by one of the given keys") || err.contains("none of these keys"),
        "{err}"
    );
    code == 0
}

fn manifest(folder: &TempDir) -> Value {
    serde_json::from_slice(&in_process::read(folder, "public/feed.json")).unwrap()
}

#[test]
fn keys_sign() {
    let (folder, other) = with_keys();
    refused(&folder, "feed keygen -o @other", "exists");
    sign(&folder, &["key", "other"], &[]);
    let said = done(&folder, "feed publish @feed.toml");
    assert!(said.contains(&format!("by {PUBLIC_KEY}, {other}")), "{said}");
    assert!(is_signed_by(&folder, PUBLIC_KEY) && is_signed_by(&folder, &other));
    // One of the given keys is enough.
    done(&folder, "feed keygen -o @third");
    let third = done(&folder, "feed pubkey @third");
    done(&folder, &format!("feed verify @public --public-key={} --public-key={other}", third.trim()));
    // A signature of something else, none, and another payload.
    let live = manifest(&folder);
    let changes: [fn(&mut Value); 3] = [
        |manifest| manifest["signatures"][0]["signature"] = manifest["signatures"][1]["signature"].clone(),
        |manifest| manifest["signatures"] = Value::Array(Vec::new()),
        |manifest| {
            let payload = manifest["payload"].as_str().unwrap();
            let [from, to] = if payload.contains('A') { ["A", "B"] } else { ["C", "D"] };
            manifest["payload"] = payload.replacen(from, to, 1).into();
        },
    ];
    for change in changes {
        let mut manifest = live.clone();
        change(&mut manifest);
        write(&folder, "public/feed.json", manifest.to_string());
        assert!(!is_signed_by(&folder, PUBLIC_KEY));
    }
    refused(&folder, "feed verify @public --public-key=abc", "43 characters");
    let no_point = "feed verify @public --public-key=1QZOYtCk_pE54WNAl7bolIXcyAWgY24WWHloSkdzpJA";
    refused(&folder, no_point, "this isn't a public key of Ed25519");
    write(&folder, "public/feed.json", "<!doctype html>");
    refused(&folder, "feed verify @public", "not a manifest");
}

/// Old clients know the old key until all have heard of the new one.
#[test]
fn a_key_is_changed_in_three_steps() {
    let (folder, other) = with_keys();
    publish(&folder, 0, "");
    sign(&folder, &["other", "key"], &[]);
    // A new key is a reason to sign anew, and so is one less.
    assert_eq!(publish(&folder, 1, "")["published"], true);
    assert_eq!(publish(&folder, 2, "")["published"], false);
    assert!(is_signed_by(&folder, PUBLIC_KEY) && is_signed_by(&folder, &other));
    sign(&folder, &["other"], &[]);
    let said = publish_refused(&folder, 3, "", FORGOTTEN);
    assert!(said.ends_with("stays until 2099-01-08T01:00:00Z\n"), "{said}");
    // Nor may the list be signed anew with it.
    write(&folder, "list", "");
    publish_refused(&folder, 90, "", FORGOTTEN);
    write_list(&folder, 0..10);
    sign(&folder, &["other"], &[PUBLIC_KEY]);
    assert_eq!(publish(&folder, 3, "")["published"], true);
    assert!(!is_signed_by(&folder, PUBLIC_KEY) && is_signed_by(&folder, &other));
    sign(&folder, &["other"], &[]);
    assert_eq!(publish(&folder, 4, "")["published"], false);
    sign(&folder, &["other"], &[PUBLIC_KEY, &other]);
    publish_refused(&folder, 5, "", "`sign` and `former-keys` have the same key");
    // If the new one is lost at once, the old one goes on.
    sign(&folder, &["key"], &[&other]);
    assert_eq!(publish(&folder, 5, "")["published"], true);
    assert!(is_signed_by(&folder, PUBLIC_KEY) && !is_signed_by(&folder, &other));
}

/// What a host puts there can neither drop a key nor add one, also if a cache of CI brings back a state of before.
#[test]
fn no_host_forgets_a_key() {
    let (folder, other) = with_keys();
    publish(&folder, 0, "");
    copy(&folder, "state", "old");
    sign(&folder, &["key", "other"], &[]);
    publish(&folder, 1, "");
    let both = manifest(&folder);
    let changes: [fn(&mut Vec<Value>); 5] = [
        |_| (),
        |signatures| drop(signatures.remove(1)),
        |signatures| drop(signatures.remove(0)),
        |signatures| signatures.clear(),
        |signatures| {
            let mut more = signatures[0].clone();
            more["signature"] = "A".repeat(86).into();
            signatures.push(more);
        },
    ];
    for change in changes {
        let mut planted = both.clone();
        change(planted["signatures"].as_array_mut().unwrap());
        write(&folder, "public/feed.json", planted.to_string());
        for key in ["key", "other"] {
            sign(&folder, &[key], &[]);
            refused(&folder, "feed publish @feed.toml", FORGOTTEN);
        }
    }
    // The old state's manifest has one signature, and the one in the folder has two.
    write(&folder, "public/feed.json", both.to_string());
    for (key, former) in [("other", PUBLIC_KEY), ("key", other.as_str())] {
        copy(&folder, "public", "kept");
        sign(&folder, &[key], &[]);
        with_state(&folder, "old");
        refused(&folder, "feed publish @old.toml", FORGOTTEN);
        sign(&folder, &[key], &[former]);
        with_state(&folder, "old");
        copy(&folder, "old", "older");
        done(&folder, "feed publish @old.toml");
        copy(&folder, "older", "old");
        copy(&folder, "kept", "public");
    }
}

#[test]
fn an_unsigned_feed() {
    let (folder, _) = with_keys();
    sign(&folder, &[], &[]);
    let (code, said, err) = tool(&folder, "feed publish @feed.toml");
    assert!(code == 0 && said.contains("signed   no\n"), "{said}");
    assert!(
        err.contains("nobody has signed this, so whoever can write to the host can change the list"),
        "{err}"
    );
    assert_eq!(told(&folder, "feed verify @public")["verified"], Value::Null);
    assert!(!is_signed_by(&folder, PUBLIC_KEY));
    write_list(&folder, 0..11);
    assert_eq!(tool(&folder, "feed publish @feed.toml").2, "", "it is said once");
    // Nobody has signed the last generation, but the state knows it.
    sign(&folder, &["key"], &[]);
    let (code, _, err) = tool(&folder, &at(0));
    assert_eq!((code, &err[..]), (0, ""));
    // Forgetting to sign would lock out all clients.
    assert!(is_signed_by(&folder, PUBLIC_KEY));
    for is_there in [true, false] {
        sign(&folder, &[], &[]);
        publish_refused(&folder, 1, "", FORGOTTEN);
        if is_there {
            fs::remove_file(folder.path().join("public/feed.json")).unwrap();
        }
    }
    sign(&folder, &[], &[PUBLIC_KEY]);
    publish(&folder, 1, "");
    assert!(!is_signed_by(&folder, PUBLIC_KEY));
}
