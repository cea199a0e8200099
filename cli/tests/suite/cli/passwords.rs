//! Lists of passwords and of their hashes.

use std::fs;

use bloom_wasm::Profile;
use tempfile::TempDir;

use super::{EXACT, blob_of, build, checked, run, text};

#[test]
fn lists_of_passwords() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    let list =
        b"Passwo\xcc\x88rd1\r\n# hash\n#1\n two  words \n \n\nGeheim\n\xff\xfeX\n!||^\nPassw\xc3\xb6rd1\n";
    fs::write(folder.join("list"), list).unwrap();
    let (blob, said, warned) = build(folder, &["list", "--profile", "password"], b"");
    let keys: [&[u8]; 8] =
        [b"Passw\xc3\xb6rd1", b"# hash", b"#1", b" two  words ", b" ", b"Geheim", b"\xff\xfeX", b"!||^"];
    assert_eq!(blob, blob_of(EXACT, 1e-4, &keys));
    assert_eq!(warned, "");
    assert!(said.contains("8 keys, 1 repeated, 1 not UTF-8 and kept as they are\n"), "{said}");

    build(folder, &["list", "--profile", "password", "--fpr", "1e-9"], b"");
    // Only the same passwords are present, and they are printed as they were asked for.
    let asked = b"Passwo\xcc\x88rd1\nPassw\xc3\xb6rd1\r\npassw\xc3\xb6rd1\nPasswo\xcc\x88rd\n# hash\n#1\n# hash \n two  words \n\
        two  words\n \n  \nGeheim\ngeheim\nGeheim1\nx\xff\xfeX\n\xff\xfeX\n\xff\xfex\n\xef\xbf\xbd\xef\xbf\xbdX\n!||^";
    assert_eq!(
        checked(folder, asked),
        b"Passwo\xcc\x88rd1\nPassw\xc3\xb6rd1\n# hash\n#1\n two  words \n \nGeheim\n\xff\xfeX\n!||^\n"
    );
    let verify = run(folder, &["verify", "out", "--members", "list", "--probes", "1"], b"");
    assert!(
        text(&verify.stdout).contains("9 keys, 0 false negatives, 1 not UTF-8"),
        "{}",
        text(&verify.stdout)
    );

    let (blob, ..) = build(folder, &["list", "--profile", "password", "--lowercase"], b"");
    let lower: Vec<Vec<u8>> =
        keys.iter().map(|key| if key[0] == 0xff { key.to_vec() } else { key.to_ascii_lowercase() }).collect();
    let lower: Vec<&[u8]> = lower.iter().map(|key| &key[..]).collect();
    assert_eq!(blob, blob_of(Profile::Password { lowercase: true, sha1: false }, 1e-4, &lower));
    // The blob remembers it.
    build(folder, &["list", "--profile", "password", "--lowercase", "--fpr", "1e-9"], b"");
    let asked = b"PASSWO\xcc\x88RD1\nPASSW\xc3\x96RD1\nGEHEIM\n\xff\xfex\n\xff\xfeX\nTWO  WORDS\n";
    assert_eq!(checked(folder, asked), b"PASSWO\xcc\x88RD1\nPASSW\xc3\x96RD1\nGEHEIM\n\xff\xfeX\n");
    assert!(text(&run(folder, &["info", "out"], b"").stdout).contains("passwords, lower-cased"));
}

#[test]
fn short_passwords_are_left_out_and_counted() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    // Characters after NFC: not bytes, and not as they were written.
    let list = "four\nfiver\nfo\u{308}ur\nfi\u{308}ver\n\u{1f600}\u{1f600}\u{1f600}\u{1f600}\n\u{1f600}\u{1f600}\u{1f600}\u{1f600}\u{1f600}\n     \n";
    let (blob, said, warned) =
        build(folder, &["--profile", "password", "--min-length", "5"], list.as_bytes());
    let keys =
        ["fiver", "f\u{ef}ver", "\u{1f600}\u{1f600}\u{1f600}\u{1f600}\u{1f600}", "     "].map(str::as_bytes);
    assert_eq!(blob, blob_of(EXACT, 1e-4, &keys));
    assert_eq!(warned, "", "they were asked for");
    assert!(said.contains("4 keys, 3 skipped (below the minimum length)"), "{said}");
    fs::write(folder.join("list"), list).unwrap();
    for (length, members) in [("0", 7), ("5", 4), ("6", 0)] {
        let args = ["verify", "out", "--probes", "1", "--members", "list", "--json", "--min-length", length];
        let output = run(folder, &args, b"");
        let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(json["members"], members);
        assert_eq!(output.status.code(), Some(i32::from(members == 7)));
    }
    // In invalid UTF-8, every byte that doesn't begin a character counts as one.
    let list = b"ab\xff\nab\xff\xff\xff";
    let (blob, ..) = build(folder, &["--profile", "password", "--min-length", "5"], list);
    assert_eq!(blob, blob_of(EXACT, 1e-4, &[b"ab\xff\xff\xff"]));
}

#[test]
fn lists_of_hashes() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    let hash = |password: &str| sha1_smol::Sha1::from(password).digest();
    let of = ["Passw\u{f6}rd1", "rare", "ten", "uncounted", "upper"].map(hash);
    let hex = of.each_ref().map(ToString::to_string);
    let list = format!(
        "{}:500\r\n{}:9\r\n{}:10\n{}\n{}:3645804\n# comment\n{}:x\nletmein\n",
        hex[0],
        hex[1],
        hex[2],
        hex[3],
        hex[4].to_uppercase(),
        hex[0]
    );
    fs::write(folder.join("list"), &list).unwrap();
    let sha1 = Profile::Password { lowercase: false, sha1: true };
    let bytes = of.map(|digest| digest.bytes());
    let [a, rare, ten, uncounted, upper] = bytes.each_ref().map(|bytes| &bytes[..]);

    let (blob, said, warned) = build(folder, &["list", "--profile", "password", "--sha1"], b"");
    assert_eq!(blob, blob_of(sha1, 1e-4, &[a, rare, ten, uncounted, upper]));
    assert!(said.contains("5 keys, 3 skipped (not a SHA-1 in hexadecimal)"), "{said}");
    let places: Vec<_> = warned.lines().map(|line| line.split(": ").next().unwrap()).collect();
    assert_eq!(places, ["list:6", "list:7", "list:8"]);

    let args = ["list", "--profile", "password", "--sha1", "--min-count", "10"];
    let (blob, said, warned) = build(folder, &args, b"");
    assert_eq!(blob, blob_of(sha1, 1e-4, &[a, ten, uncounted, upper]));
    assert!(
        said.contains("1 skipped (below the minimum count), 3 skipped (not a SHA-1 in hexadecimal)"),
        "{said}"
    );
    assert_eq!(warned.lines().count(), 3);
    for (count, code) in [("0", 1), ("10", 0)] {
        let args = ["verify", "out", "--members", "list", "--probes", "1", "--min-count", count];
        assert_eq!(run(folder, &args, b"").status.code(), Some(code));
    }

    // Queries are passwords, in whatever form, and never hashes.
    build(folder, &[&args[..], &["--fpr", "1e-9"]].concat(), b"");
    let asked = format!(
        "Passwo\u{308}rd1\nPassw\u{f6}rd1\npassw\u{f6}rd1\nrare\nten\nTen\nuncounted\nupper\n{}\n",
        hex[2]
    );
    assert_eq!(
        text(&checked(folder, asked.as_bytes())),
        "Passwo\u{308}rd1\nPassw\u{f6}rd1\nten\nuncounted\nupper\n"
    );
    assert!(text(&run(folder, &["info", "out"], b"").stdout).contains("passwords, hashed by SHA-1"));

    // A list of allowed passwords has hashes too.
    fs::write(folder.join("good"), format!("{}\n{}:1\nten\n", hex[1], hex[2])).unwrap();
    let more = ["--fpr", "1e-9", "--allow", "good", "--allow-wins"];
    let (blob, said, _) = build(folder, &[&args[..], &more].concat(), b"");
    assert_eq!(blob, blob_of(sha1, 1e-9, &[a, uncounted, upper]));
    assert!(
        said.contains(
            "2 entries, 1 skipped (not a SHA-1 in hexadecimal), 1 key listed and allowed (removed)"
        ),
        "{said}"
    );
}
