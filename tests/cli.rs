//! The command line tool, run as a user runs it.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use bloom_wasm::{Blob, RibbonFilter, hash};
use tempfile::TempDir;

fn run(folder: &Path, args: &[&str], stdin: &[u8]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_bloom-wasm"))
        .args(args)
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A program that fails early may not read its input; that is its right.
    let _ = child.stdin.take().unwrap().write_all(stdin);
    child.wait_with_output().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// Runs in a new folder with a list of three hosts and their filter.
fn with_filter(test: impl FnOnce(&Path)) {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("list"), "evil.example\nbad.example\nworse.example\n").unwrap();
    let output = run(folder.path(), &["build", "list", "-o", "f.bloom"], b"");
    assert!(output.status.success(), "{}", text(&output.stderr));
    test(folder.path());
}

#[test]
fn lists_are_read_as_documented() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    fs::write(folder.join("plain"), "a\nb\n\nc").unwrap();
    fs::write(folder.join("messy"), "\u{feff}a\r\n# comment\n\r\nb\nb\n c#d\nc").unwrap();
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gz.write_all(b"a\nb\n").unwrap();
    let mut packed = gz.finish().unwrap();
    let mut gz = flate2::write::GzEncoder::new(&mut packed, flate2::Compression::default());
    gz.write_all(b"c\n").unwrap();
    gz.finish().unwrap();
    fs::write(folder.join("packed"), packed).unwrap();

    let built = |args: &[&str], stdin: &[u8]| {
        let output = run(folder, &[&["build", "-o", "out"], args].concat(), stdin);
        assert!(output.status.success(), "{}", text(&output.stderr));
        (fs::read(folder.join("out")).unwrap(), text(&output.stdout).to_owned())
    };
    let expected = |keys: &[&[u8]]| {
        let mut digests = keys.iter().map(|key| hash::digest(0, key)).collect();
        Blob::from(RibbonFilter::from_digests(&mut digests, 1e-3, 0).unwrap()).encode().unwrap()
    };
    let abc = expected(&[b"a", b"b", b"c"]);
    assert_eq!(built(&["plain"], b"").0, abc);
    assert_eq!(built(&["packed"], b"").0, abc);
    assert_eq!(built(&[], b"c\nb\na\n").0, abc);
    assert_eq!(built(&["-", "plain"], b"a\n").0, abc);
    let (messy, report) = built(&["messy"], b"");
    assert_eq!(messy, expected(&[b"a", b"b", b" c#d", b"c"]));
    assert!(report.contains("4 keys, 1 repeated ones dropped, 1 lines starting with # skipped"), "{report}");
    assert_eq!(built(&[], b"").0, expected(&[]));
}

#[test]
fn options_reach_the_blob() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    let args = [
        "build",
        "-o",
        "out",
        "--kind",
        "bloom",
        "--fpr",
        "0.01",
        "--seed",
        "18446744073709551615",
        "--name",
        "n",
        "--json",
    ];
    let output = run(folder, &[&args[..], &["--created-at", "1970-01-01T00:00:01.5Z"]].concat(), b"a\n");
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let blob = Blob::decode(fs::read(folder.join("out")).unwrap()).unwrap();
    assert_eq!((blob.name.as_deref(), blob.created_at), (Some("n"), Some(1500)));
    assert_eq!(blob.filter.seed(), u64::MAX);
    assert_eq!(
        (&json["seed"], &json["bits"], &json["name"]),
        (&"18446744073709551615".into(), &10.into(), &"n".into())
    );
    assert_eq!(json["byteLength"], fs::metadata(folder.join("out")).unwrap().len());
}

#[test]
fn check_prints_what_is_maybe_present() {
    with_filter(|folder| {
        let output = run(folder, &["check", "f.bloom", "good.example", "evil.example"], b"");
        assert_eq!((output.status.code(), text(&output.stdout)), (Some(0), "evil.example\n"));
        let output = run(folder, &["check", "f.bloom"], b"good.example\r\n\r\nbad.example\r\nworse.example");
        assert_eq!((output.status.code(), text(&output.stdout)), (Some(0), "bad.example\nworse.example\n"));
        let output = run(folder, &["check", "f.bloom", "good.example"], b"");
        assert_eq!((output.status.code(), text(&output.stdout)), (Some(1), ""));
    });
}

#[test]
fn verify_counts() {
    with_filter(|folder| {
        let verify = |args: &[&str]| {
            let output = run(folder, &[&["verify", "f.bloom", "--json"], args].concat(), b"");
            (output.status.code(), serde_json::from_slice::<serde_json::Value>(&output.stdout).unwrap())
        };
        let (code, json) = verify(&["--members", "list"]);
        assert_eq!(code, Some(0));
        assert_eq!(
            (&json["members"], &json["falseNegatives"], &json["probes"]),
            (&3.into(), &0.into(), &1_000_000.into())
        );
        let (measured, estimated) =
            (json["measuredFpr"].as_f64().unwrap(), json["estimatedFpr"].as_f64().unwrap());
        assert!((measured - estimated).abs() < 4.0 * (estimated / 1e6).sqrt(), "{measured} for {estimated}");

        fs::write(folder.join("other"), "evil.example\nnot.there\nnor.this\n").unwrap();
        let (code, json) = verify(&["--members", "list", "--absent", "other"]);
        assert_eq!((code, &json["probes"], &json["falsePositives"]), (Some(0), &2.into(), &0.into()));
        let (code, json) = verify(&["--members", "other"]);
        assert_eq!((code, &json["falseNegatives"]), (Some(1), &2.into()));
    });
}

#[test]
fn info_tells_every_field() {
    with_filter(|folder| {
        let output = run(folder, &["info", "f.bloom"], b"");
        for word in [
            "kind", "profile", "name", "created", "capacity", "fpr", "bits", "hashes", "seed", "layers", "id",
        ] {
            assert!(text(&output.stdout).contains(word), "{word}");
        }
        let piped = run(folder, &["info", "-", "--json"], &fs::read(folder.join("f.bloom")).unwrap());
        let json: serde_json::Value = serde_json::from_slice(&piped.stdout).unwrap();
        assert_eq!(
            (&json["kind"], &json["count"], &json["hashes"]),
            (&"ribbon".into(), &3.into(), &serde_json::Value::Null)
        );
    });
}

#[test]
fn calc_solves_for_the_third() {
    let folder = TempDir::new().unwrap();
    let calc = |args: &[&str]| -> serde_json::Value {
        let output = run(folder.path(), &[&["calc", "--json"], args].concat(), b"");
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let size = calc(&["--count", "1000000", "--fpr", "0.01"]);
    assert_eq!(
        (&size["bits"], &size["hashes"], &size["bytes"]),
        (&9_585_059.into(), &7.into(), &1_198_133.into())
    );
    assert_eq!(calc(&["--bytes", "1198133", "--fpr", "0.01"])["count"], 1_000_000);
    let rate = calc(&["--bytes", "1198133", "--count", "1000000"])["fpr"].as_f64().unwrap();
    assert!((rate - 0.010_039).abs() < 1e-6, "{rate}");
}

#[test]
fn failures_are_one_line_and_exit_code_2() {
    with_filter(|folder| {
        fs::write(folder.join("torn.gz"), [0x1f, 0x8b, 8, 0]).unwrap();
        fs::write(folder.join("damaged"), &fs::read(folder.join("f.bloom")).unwrap()[..30]).unwrap();
        for (args, message) in [
            (&["build", "nowhere", "-o", "out"][..], "nowhere"),
            (&["build", "torn.gz", "-o", "out"], "torn.gz:1"),
            (&["build", "list", "-o", "no/such/folder"], "no/such/folder"),
            (&["build", "list", "-o", "out", "--fpr", "2"], "[invalid_parameter]"),
            (&["info", "list"], "list: these bytes are not a bloom-wasm blob"),
            (&["info", "damaged"], "[truncated]"),
            (&["check", "nowhere", "key"], "nowhere"),
            (&["calc", "--count", "3"], "two of"),
        ] {
            let output = run(folder, args, b"");
            let error = text(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{args:?}: {error}");
            assert!(error.starts_with("bloom-wasm: ") && error.contains(message), "{args:?}: {error}");
            assert_eq!(error.lines().count(), 1, "{args:?}: {error}");
            assert!(output.stdout.is_empty());
        }
        assert!(!folder.join("out").exists());
    });
}

#[test]
fn a_failed_build_leaves_the_old_file_and_no_other() {
    with_filter(|folder| {
        let old = fs::read(folder.join("f.bloom")).unwrap();
        fs::write(folder.join("torn.gz"), [0x1f, 0x8b, 8, 0]).unwrap();
        assert_eq!(run(folder, &["build", "torn.gz", "-o", "f.bloom"], b"").status.code(), Some(2));
        assert_eq!(fs::read(folder.join("f.bloom")).unwrap(), old);
        let mut names: Vec<_> =
            fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["f.bloom", "list", "torn.gz"]);
    });
}

#[test]
fn every_kind_is_built_and_answers() {
    with_filter(|folder| {
        for kind in ["ribbon", "bloom", "counting", "scalable", "cuckoo"] {
            let args = ["build", "list", "-o", "k.bloom", "--kind", kind, "--fpr", "1e-6", "--json"];
            let json: serde_json::Value = serde_json::from_slice(&run(folder, &args, b"").stdout).unwrap();
            assert_eq!(json["kind"], kind);
            let output =
                run(folder, &["check", "k.bloom", "evil.example", "good.example", "bad.example"], b"");
            assert_eq!(text(&output.stdout), "evil.example\nbad.example\n", "{kind}");
            assert!(
                text(&run(folder, &["info", "k.bloom"], b"").stdout)
                    .starts_with(&format!("kind      {kind}: "))
            );
        }
    });
}

#[test]
fn merge_is_the_filter_of_both_lists() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    for kind in ["bloom", "counting"] {
        let build = |keys: &str, output: &str| {
            let args = ["build", "-o", output, "--kind", kind, "--fpr", "0.01"];
            assert!(run(folder, &args, keys.as_bytes()).status.success());
        };
        build("a\nb\nc\n", "one");
        build("d\ne\nf\n", "two");
        build("g\nh\n", "smaller");
        assert!(run(folder, &["merge", "one", "two", "-o", "both"], b"").status.success());
        let output = run(folder, &["check", "both"], b"a\nb\nc\nd\ne\nf\n");
        assert_eq!(text(&output.stdout), "a\nb\nc\nd\ne\nf\n", "{kind}");
        let output = run(folder, &["merge", "one", "smaller", "-o", "none"], b"");
        assert_eq!(output.status.code(), Some(2));
        assert!(
            text(&output.stderr).contains("smaller: ") && text(&output.stderr).contains("[incompatible]")
        );
    }
    assert!(run(folder, &["build", "-o", "ribbon"], b"a\n").status.success());
    let output = run(folder, &["merge", "ribbon", "ribbon", "-o", "none"], b"");
    assert!(text(&output.stderr).contains("[not_mergeable]"), "{}", text(&output.stderr));
    assert!(!folder.join("none").exists());
}
