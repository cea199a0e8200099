//! What somebody who controls a publisher's host or its state can do to it: the lists of SECURITY.md, one by one.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use base64ct::{Base64UrlUnpadded, Encoding};
use bloom_wasm::hash;
use ed25519_dalek::pkcs8::DecodePrivateKey;
use ed25519_dalek::{Signer, SigningKey};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{PUBLISH, all, change_state, check, copy, feed, in_state, lose, read, tell, told_as, write_list};
use crate::in_process::{self, PUBLIC_KEY, done, payload, tool, write};

/// The highest generation that JSON carries, less the one that a publisher would add.
const HIGHEST: u64 = (1 << 53) - 2;
const MAX: u64 = 1 << 40;

/// After the loss of a state.
const RECOVER: &str = "feed publish @feed.toml --max-removed 100%";

/// A feed with some generations. There is another publisher's key, too.
fn begun(above: &str, generations: u32) -> TempDir {
    let folder = feed(above);
    done(&folder, "feed keygen -o @stranger");
    write_list(&folder, 0..100);
    for i in 1..=generations {
        write_list(&folder, 0..100 + i);
        done(&folder, PUBLISH);
    }
    folder
}

/// Fails unless the tool succeeds with a warning.
fn warned(folder: &TempDir, args: &str, words: &str) {
    let (code, _, err) = tool(folder, args);
    assert!(code == 0 && err.contains(words) && err.lines().count() == 1, "{args}: {code} {err}");
}

/// Fails unless it is refused, and changes no file.
fn refused(folder: &TempDir, args: &str, words: &str) {
    let files = || all(folder.path()).into_iter().filter(|(_, bytes)| bytes.is_some());
    let before = files();
    in_process::refused(folder, args, words);
    assert!(files().eq(before), "{args} has changed something");
}

/// A manifest in the folder `public`: `feed.json` or `shards.json`.
fn manifest(folder: &TempDir, name: &str) -> Vec<u8> {
    in_process::read(folder, &format!("public/{name}"))
}

fn generation(folder: &TempDir, name: &str) -> u64 {
    payload(&manifest(folder, name))["generation"].as_u64().unwrap()
}

fn plant(folder: &TempDir, name: &str, manifest: impl AsRef<[u8]>) {
    write(folder, &format!("public/{name}"), manifest);
}

/// The same manifest with other members, signed by the key in some file, if any.
fn forged(folder: &TempDir, manifest: &[u8], changes: &Value, key: Option<&str>) -> Vec<u8> {
    let mut payload = payload(manifest);
    for (name, value) in changes.as_object().unwrap() {
        payload[name] = value.clone();
    }
    let typ = TYPES[usize::from(payload.get("shards").is_some())];
    signed(folder, &payload, typ, key)
}

/// The types of the manifests of both kinds of feeds.
const TYPES: [&str; 2] = ["bloom-wasm-feed", "bloom-wasm-shards"];

fn signed(folder: &TempDir, payload: &Value, typ: &str, key: Option<&str>) -> Vec<u8> {
    let encode = |value: &Value| Base64UrlUnpadded::encode_string(value.to_string().as_bytes());
    let (payload, protected) = (encode(payload), encode(&json!({ "alg": "EdDSA", "typ": typ })));
    let sign = |key: &str| {
        let key = fs::read_to_string(folder.path().join(key)).unwrap();
        let message = format!("{protected}.{payload}");
        let signature = SigningKey::from_pkcs8_pem(&key).unwrap().sign(message.as_bytes());
        json!({ "protected": protected, "signature": Base64UrlUnpadded::encode_string(&signature.to_bytes()) })
    };
    let signatures: Vec<Value> = key.map(sign).into_iter().collect();
    json!({ "payload": payload, "signatures": signatures }).to_string().into_bytes()
}

/// What somebody without a key can put where the manifest should be.
fn planted(folder: &TempDir, manifest: &[u8]) -> Vec<Vec<u8>> {
    let all = json!({
        "generation": HIGHEST, "feedId": "0".repeat(32), "name": "mine", "profile": "url", "fpr": 0.5, "seed": "8",
    });
    let changes = [
        json!({ "generation": HIGHEST }),
        json!({ "generation": 1 }),
        json!({ "feedId": "0".repeat(32) }),
        all,
        json!({ "version": 2 }),
        json!({}),
    ];
    let mut planted: Vec<_> = changes
        .iter()
        .flat_map(|changes| [None, Some("stranger")].map(|key| forged(folder, manifest, changes, key)))
        .collect();
    // By the right key, for the other kind of feed.
    let other = if payload(manifest).get("shards").is_some() { TYPES[0] } else { TYPES[1] };
    planted.push(signed(folder, &payload(manifest), other, Some("key")));
    // The signature of the one before over something else.
    let mut swapped: Value =
        serde_json::from_slice(&forged(folder, manifest, &json!({ "generation": 9 }), None)).unwrap();
    swapped["signatures"] = serde_json::from_slice::<Value>(manifest).unwrap()["signatures"].clone();
    planted.push(swapped.to_string().into_bytes());
    planted
        .extend([&b""[..], b"{}", b"null", b"<!doctype html>", b"\xff\xfe", &[b' '; 3 << 20]].map(Vec::from));
    planted
}

fn seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

fn verified(folder: &TempDir) {
    done(folder, &format!("feed verify @public --public-key {PUBLIC_KEY}"));
}

/// The two kinds of feeds: what feed.toml says, and the manifest.
const KINDS: [(&str, &str); 2] = [("", "feed.json"), ("shards = 2", "shards.json")];

#[test]
fn a_planted_manifest_is_ignored() {
    for (above, file) in KINDS {
        let folder = begun(above, 2);
        let live = manifest(&folder, file);
        let last = payload(&live);
        for bytes in planted(&folder, &live) {
            let before = generation(&folder, file);
            plant(&folder, file, &bytes);
            warned(&folder, PUBLISH, "not trusted, so it will be replaced: ");
            verified(&folder);
            let next = payload(&manifest(&folder, file));
            let now = next["generation"].as_u64().unwrap();
            assert!((before + 1..seconds() + 60).contains(&now), "{}", String::from_utf8_lossy(&bytes));
            for same in ["feedId", "profile", "fpr", "seed", "files", "pages", "count"] {
                assert_eq!(next[same], last[same], "{same}");
            }
            // The next run prints no warning.
            assert_eq!(tool(&folder, PUBLISH).2, "");
        }
        // One's own that a newer tool has written is another matter.
        plant(&folder, file, forged(&folder, &live, &json!({ "version": 2 }), Some("key")));
        refused(&folder, PUBLISH, "newer than this tool");
    }
}

#[test]
fn with_the_state_lost_a_planted_manifest_is_refused() {
    for (above, file) in KINDS {
        let folder = begun(above, 2);
        let live = manifest(&folder, file);
        lose(&folder, "state");
        for bytes in planted(&folder, &live) {
            plant(&folder, file, &bytes);
            refused(&folder, RECOVER, &format!("{file}: "));
        }
        // Signed by one's own key, but not of this feed.
        plant(&folder, file, forged(&folder, &live, &json!({ "feedId": "0".repeat(32) }), Some("key")));
        in_process::refused(&folder, RECOVER, "this is another feed; and no state tells what was published");
        // The right manifest isn't accepted either, unless its key is known.
        plant(&folder, file, &live);
        tell(&folder, &format!("sign = [\"stranger\"]\n{above}"), "");
        refused(&folder, RECOVER, "none of the feed's keys has signed it");
        tell(&folder, &format!("sign = [\"stranger\"]\nformer-keys = [\"{PUBLIC_KEY}\"]\n{above}"), "");
        done(&folder, RECOVER);
        assert!(generation(&folder, file) > payload(&live)["generation"].as_u64().unwrap());
    }
}

#[test]
fn an_old_manifest_sets_nothing_back() {
    for (above, file) in KINDS {
        let folder = begun(above, 1);
        let old = manifest(&folder, file);
        write_list(&folder, 0..200);
        done(&folder, PUBLISH);
        let before = generation(&folder, file);
        plant(&folder, file, &old);
        done(&folder, PUBLISH);
        assert!(generation(&folder, file) > before);
        verified(&folder);
        // Nor when the state is lost, or is an old copy, too: the clock tells.
        for is_lost in [true, false] {
            let ancient = forged(&folder, &old, &json!({ "generation": 5 }), Some("key"));
            plant(&folder, file, &ancient);
            if is_lost {
                lose(&folder, "state");
            } else {
                change_state(&folder, |state| {
                    state["signed"] = 5.into();
                    state["manifest"] = String::from_utf8(ancient).unwrap().into();
                });
            }
            let before = seconds();
            done(&folder, RECOVER);
            assert!((before..=seconds()).contains(&generation(&folder, file)));
            verified(&folder);
        }
        // If the clock is behind what was published, the generations go on from the latter.
        let ahead = seconds() + 1_000_000;
        plant(&folder, file, forged(&folder, &old, &json!({ "generation": ahead }), Some("key")));
        lose(&folder, "state");
        done(&folder, RECOVER);
        assert_eq!(generation(&folder, file), ahead + 1);
    }
}

#[test]
fn an_absurd_generation_is_refused_even_if_it_is_signed() {
    for (above, file) in KINDS {
        let folder = begun(above, 1);
        let live = manifest(&folder, file);
        copy(&folder, "state", "kept");
        for (is_lost, high) in [(false, HIGHEST), (false, MAX), (true, HIGHEST), (true, MAX)] {
            plant(&folder, file, forged(&folder, &live, &json!({ "generation": high }), Some("key")));
            copy(&folder, "kept", "state");
            if is_lost {
                lose(&folder, "state");
            }
            refused(&folder, RECOVER, "is much too high: the feed may have been taken over");
        }
    }
}

#[test]
fn without_the_manifest_a_state_goes_on() {
    let folder = begun("", 3);
    let before = generation(&folder, "feed.json");
    fs::remove_file(folder.path().join("public/feed.json")).unwrap();
    done(&folder, PUBLISH);
    assert!(generation(&folder, "feed.json") > before);
    // Without the state either, the id and the clock are enough.
    let begun = seconds();
    ["public", "state"].iter().for_each(|dir| lose(&folder, dir));
    done(&folder, PUBLISH);
    assert!(generation(&folder, "feed.json") >= begun);
    verified(&folder);
}

/// Clients ignore what is no signature, so it is no reason to stop.
#[test]
fn what_is_no_signature_is_ignored() {
    let folder = begun("", 1);
    let mut live: Value = serde_json::from_slice(&manifest(&folder, "feed.json")).unwrap();
    for junk in [json!({}), json!([]), json!({ "protected": "e30", "signature": "AAAA" })] {
        live["signatures"].as_array_mut().unwrap().push(junk);
    }
    plant(&folder, "feed.json", live.to_string());
    lose(&folder, "state");
    done(&folder, RECOVER);
}

#[test]
fn another_feed_of_the_same_key_is_replaced() {
    let folder = begun("", 1);
    let live = manifest(&folder, "feed.json");
    let other = begun("", 0);
    told_as(&other, "feed", "00112233", "ffffffff");
    write_list(&other, 0..300);
    done(&other, PUBLISH);
    plant(&folder, "feed.json", manifest(&other, "feed.json"));
    let theirs = manifest(&other, "feed.json");
    let (code, _, err) = in_process::tool(&folder, PUBLISH);
    assert!(code == 0 && err.contains("feed.json: this is another feed"), "{err}");
    // Without the state, nothing tells which of them is the feed's.
    plant(&folder, "feed.json", theirs);
    lose(&folder, "state");
    in_process::refused(&folder, RECOVER, "this is another feed; and no state tells what was published");
    plant(&folder, "feed.json", live);
    done(&folder, RECOVER);
}

#[test]
fn from_unsigned_to_signed_only_with_the_state() {
    for (above, file) in KINDS {
        let folder = begun(&format!("sign = []\n{above}"), 1);
        let live = manifest(&folder, file);
        copy(&folder, "state", "kept");
        tell(&folder, above, "");
        // With the state lost, only the users know that it is theirs.
        lose(&folder, "state");
        refused(&folder, RECOVER, "nobody has signed it; and no state tells what was published");
        copy(&folder, "kept", "state");
        // Whatever the host puts there meanwhile.
        plant(&folder, file, forged(&folder, &live, &json!({ "generation": HIGHEST }), None));
        warned(&folder, PUBLISH, "nobody has signed it");
        verified(&folder);
        lose(&folder, "public");
        fs::create_dir(folder.path().join("public")).unwrap();
        copy(&folder, "kept", "state");
        plant(&folder, file, &live);
        assert_eq!(tool(&folder, PUBLISH).0, 0);
        verified(&folder);
    }
    // An unsigned feed believes what is there.
    let folder = begun("sign = []", 1);
    let live = manifest(&folder, "feed.json");
    plant(&folder, "feed.json", forged(&folder, &live, &json!({ "generation": HIGHEST }), None));
    refused(&folder, RECOVER, "taken over");
    // Whoever reads it finds that its files aren't as it says.
    plant(&folder, "feed.json", forged(&folder, &live, &json!({ "seed": "8" }), None));
    in_process::refused(&folder, "feed verify @public", "its files have another profile, seed or secret");
}

/// The digests in the state.
fn digests(folder: &TempDir) -> Vec<u64> {
    let bytes = fs::read(in_state(folder, "members-")).unwrap();
    bytes.as_chunks().0.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect()
}

#[test]
fn who_reads_the_state_can_try_keys() {
    let digest = hash::digest(7, b"key-5.example");
    let folder = begun("seed = 7", 1);
    assert!(digests(&folder).contains(&digest));
    let files = ["public", "state"].into_iter().flat_map(|dir| all(&folder.path().join(dir)).into_values());
    let text: Vec<u8> = files.flatten().flatten().collect();
    assert!(!text.windows(7).any(|word| word == b"example"), "a key stands there as it is");
    // For a keyed feed, they also need the secret.
    let folder = begun("seed = 7\nsecret = \"secret\"", 0);
    write(&folder, "secret", "000102030405060708090a0b0c0d0e0f");
    done(&folder, PUBLISH);
    assert!(!digests(&folder).contains(&digest));
}

#[test]
fn who_writes_the_state_chooses_the_next_generation() {
    let folder = begun("", 1);
    change_state(&folder, |state| state["signed"] = (MAX - 1).into());
    write_list(&folder, 0..200);
    done(&folder, PUBLISH);
    assert_eq!(generation(&folder, "feed.json"), MAX);
    verified(&folder);
    check(&read(&folder), 0..200, 0..0, 1e-3);
    // Generations have a limit.
    write_list(&folder, 0..201);
    refused(&folder, PUBLISH, "taken over");
}

/// A first run that failed has used up a number, but what lies in the folder isn't its own.
#[test]
fn a_feed_that_never_came_replaces_no_other() {
    let [folder, other] = [begun("", 1), begun("", 1)];
    // As a run leaves it that couldn't put its manifest in place.
    change_state(&folder, |state| (state["whole"], state["manifest"]) = (Value::Null, "".into()));
    let live = manifest(&other, "feed.json");
    plant(&folder, "feed.json", forged(&other, &live, &json!({}), Some("stranger")));
    refused(&folder, RECOVER, "none of the feed's keys has signed it");
    fs::remove_file(folder.path().join("public/feed.json")).unwrap();
    plant(&folder, "shards.json", live);
    refused(&folder, RECOVER, "there is another feed here");
    fs::remove_file(folder.path().join("public/shards.json")).unwrap();
    done(&folder, RECOVER);
}

/// Somebody who also controls the folder can put a base there that isn't of this list.
#[test]
fn who_writes_the_state_and_the_folder_has_any_list_signed() {
    let [folder, other] = [begun("", 1), begun("", 0)];
    write(&other, "list", "mine.test\n");
    done(&other, PUBLISH);
    let base = payload(&manifest(&other, "feed.json"))["files"][0].clone();
    let name = format!("public/{}", base["sha256"].as_str().unwrap());
    write(&folder, &name, in_process::read(&other, &name));
    change_state(&folder, |state| {
        for member in ["kind", "bytes", "sha256"] {
            state["whole"]["files"][0][member] = base[member].clone();
        }
    });
    done(&folder, PUBLISH);
    verified(&folder);
    assert_eq!(payload(&manifest(&folder, "feed.json"))["files"], json!([base]));
}

#[test]
fn who_writes_the_state_has_no_other_files_deleted() {
    let folder = begun("", 2);
    write(&folder, "mine", "mine");
    copy(&folder, "state", "kept");
    for name in ["../mine", "mine", "", "/etc/passwd"] {
        let changes: [fn(&mut Value, &str); 3] = [
            |state, name| state["unlisted"] = json!([{ "sha256": name, "since": 0 }]),
            |state, name| state["whole"]["members"]["name"] = name.into(),
            |state, name| state["whole"]["files"][0]["sha256"] = name.into(),
        ];
        for change in changes {
            change_state(&folder, |state| change(state, name));
            refused(&folder, PUBLISH, "it names files that no feed has");
            copy(&folder, "kept", "state");
        }
    }
    assert_eq!(in_process::read(&folder, "mine"), b"mine");
    done(&folder, PUBLISH);
}

/// The files of the folder `public`, whose names end like this.
fn published(folder: &TempDir, ending: &str) -> Vec<PathBuf> {
    let paths = fs::read_dir(folder.path().join("public")).unwrap().map(|entry| entry.unwrap().path());
    let ends = |path: &PathBuf| path.display().to_string().ends_with(ending);
    paths.filter(|path| ends(path) && !path.is_dir()).collect()
}

/// What can be put in the place of a file: links to a file of mine, to nothing and in a circle, and a pipe.
#[cfg(unix)]
const ODD: [&str; 4] = ["mine", "nothing", "circle", "pipe"];

#[cfg(unix)]
fn put_in_place(folder: &TempDir, path: &Path, what: &str) {
    use std::os::unix::fs::symlink;
    fs::remove_file(path).unwrap();
    match what {
        "pipe" => assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success()),
        "circle" => symlink(path.file_name().unwrap(), path).unwrap(),
        other => symlink(folder.path().join(other), path).unwrap(),
    }
}

/// Fails unless all is as it was, and every file in `public` is one.
#[cfg(unix)]
fn only_replaced(folder: &TempDir, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    assert_eq!(fs::read(folder.path().join("mine")).unwrap(), b"mine");
    assert!(!folder.path().join("nothing").exists());
    for path in published(folder, "") {
        let file = fs::symlink_metadata(&path).unwrap();
        assert!(file.is_file() && file.permissions().mode() & 0o777 == mode, "{}", path.display());
    }
}

#[cfg(unix)]
#[test]
fn no_link_of_the_folder_is_followed() {
    use std::os::unix::fs::PermissionsExt;
    for (above, file) in KINDS {
        let folder = begun(above, 1);
        let mine = folder.path().join("mine");
        fs::write(&mine, "mine").unwrap();
        fs::set_permissions(&mine, PermissionsExt::from_mode(0o777)).unwrap();
        let mode = published(&folder, file)[0].metadata().unwrap().permissions().mode() & 0o777;
        for what in ODD {
            for path in published(&folder, "") {
                put_in_place(&folder, &path, what);
            }
            let (code, _, err) = tool(&folder, PUBLISH);
            assert!(code == 0 && err.lines().count() <= 1, "{what}: {err}");
            assert_eq!(err.contains("not trusted"), what != "nothing", "{what}: {err}");
            only_replaced(&folder, mode);
            done(&folder, "check @public key-1.example");
            verified(&folder);
        }
        if above.is_empty() {
            continue;
        }
        // A link that leads to the same bytes may lead elsewhere tomorrow.
        let path = published(&folder, "").into_iter().find(|path| !path.ends_with(file)).unwrap();
        fs::copy(&path, &mine).unwrap();
        put_in_place(&folder, &path, "mine");
        done(&folder, PUBLISH);
        assert!(fs::symlink_metadata(&path).unwrap().is_file());
    }
}

#[test]
fn a_folder_in_the_place_of_a_file_is_told() {
    for (above, file) in KINDS {
        let folder = begun(above, 1);
        for path in published(&folder, "").into_iter().filter(|path| above.is_empty() || path.ends_with(file))
        {
            let kept = fs::read(&path).unwrap();
            fs::remove_file(&path).unwrap();
            fs::create_dir(&path).unwrap();
            in_process::refused(&folder, PUBLISH, &format!("{}: is a directory", path.display()));
            fs::remove_dir(&path).unwrap();
            fs::write(&path, kept).unwrap();
        }
        done(&folder, PUBLISH);
        verified(&folder);
    }
}

/// Every attack in SECURITY.md's lists names an existing test.
#[test]
fn every_listed_attack_has_a_test() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let text = fs::read_to_string(root.join("SECURITY.md")).unwrap();
    let (_, section) = text.split_once("## Who can do what to a feed").unwrap();
    let attacks: Vec<_> = section.split("\n- ").skip(1).collect();
    assert!(attacks.len() >= 20, "{} attacks", attacks.len());
    let tests = fs::read_dir(root.join("cli/tests/suite/feed")).unwrap();
    let publishers: String = tests.map(|file| fs::read_to_string(file.unwrap().path()).unwrap()).collect();
    for attack in attacks {
        let mut names = 0;
        for code in attack.split('`').skip(1).step_by(2) {
            // A test without a file is one of the publisher's.
            let (source, name) = match code.split_once(": ") {
                Some((file, name)) => (fs::read_to_string(root.join(file)).unwrap(), name),
                None if publishers.contains(&format!("fn {code}()")) => (publishers.clone(), code),
                None => continue,
            };
            let found =
                source.contains(&format!("fn {name}()")) || source.contains(&format!("test(\"{name}"));
            assert!(found, "there is no test {code:?}");
            names += 1;
        }
        assert!(names > 0, "{attack}");
    }
}
