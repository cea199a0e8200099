//! Lists of passwords and of their hashes: what is left out of them, and what is said of that.

use std::fs;

use bloom_wasm::Profile;
use tempfile::TempDir;

use super::{blob_of, build, run, text};

#[test]
fn short_passwords_are_left_out_and_counted() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    // A character in two code points, and a byte that is none. Both lines are kept, and so is one like a comment.
    fs::write(folder.join("list"), b"four\nfiver\nfo\xcc\x88ur\n# five\n\xff1234\n").unwrap();
    let (blob, said, warned) = build(folder, "list --profile password --min-length 5", b"");
    let exact = Profile::Password { lowercase: false, sha1: false };
    assert_eq!(blob, blob_of(exact, 1e-4, &[b"fiver", b"# five", b"\xff1234"]));
    assert_eq!(warned, "", "they were asked for");
    let words = "3 keys, 1 not UTF-8 and kept as they are, 2 skipped (below the minimum length)";
    assert!(said.contains(words), "{said}");
    for (length, members) in [("0", 5), ("5", 3), ("9", 0)] {
        let args = format!("verify out --probes 1 --members list --json --min-length {length}");
        let output = run(folder, &args, b"");
        let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(json["members"], members);
        assert_eq!(output.status.code(), Some(i32::from(members == 5)));
    }
}

#[test]
fn rare_hashes_are_left_out_and_counted() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    let hash = |password: &str| sha1_smol::Sha1::from(password).digest();
    let [rare, ten, uncounted] = ["rare", "ten", "uncounted"].map(hash);
    fs::write(folder.join("list"), format!("{rare}:9\r\n{ten}:10\n{uncounted}\n# comment\nten\n")).unwrap();
    let sha1 = Profile::Password { lowercase: false, sha1: true };
    let args = "list --profile password --sha1 --min-count 10";
    let (blob, said, warned) = build(folder, args, b"");
    assert_eq!(blob, blob_of(sha1, 1e-4, &[&ten.bytes(), &uncounted.bytes()]));
    let words = "1 skipped (below the minimum count), 2 skipped (not a SHA-1 in hexadecimal)";
    assert!(said.contains(words) && warned.lines().count() == 2, "{said}{warned}");
    for (count, code) in [("0", 1), ("10", 0)] {
        let args = format!("verify out --members list --probes 1 --min-count {count}");
        assert_eq!(run(folder, &args, b"").status.code(), Some(code));
    }
    // A question is a password. A list of allowed ones has hashes.
    assert_eq!(text(&run(folder, &format!("check out ten {ten}"), b"").stdout), "ten\n");
    fs::write(folder.join("good"), format!("{rare}\n{ten}:1\nten\n")).unwrap();
    let more = "--fpr 1e-9 --allow good --allow-wins";
    let (blob, said, _) = build(folder, &format!("{args} {more}"), b"");
    assert_eq!(blob, blob_of(sha1, 1e-9, &[&uncounted.bytes()]));
    let words = "2 entries, 1 skipped (not a SHA-1 in hexadecimal), 1 key listed and allowed (removed)";
    assert!(said.contains(words), "{said}");
}
