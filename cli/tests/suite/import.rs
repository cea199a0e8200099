//! `import`, `export`, `build` of other software's kinds and `build --capacity`, in this process.

use std::fs;
use std::path::Path;

use bloom_wasm::{Blob, Profile};
use tempfile::TempDir;

use crate::in_process::{read, tool, tool_with};

/// Fails unless the tool does it. Returns what it printed.
fn done(folder: &TempDir, args: &str, input: &[u8]) -> String {
    let (code, out, err) = tool_with(folder, args, input);
    assert!(code == 0, "{args}: {err}");
    out
}

fn vector(file: &str) -> Vec<u8> {
    fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/interop").join(file)).unwrap()
}

#[test]
fn a_filter_comes_in_answers_and_goes_out_again() {
    let folder = TempDir::new().unwrap();
    let file = "go-bits-and-blooms/medium/filter.json";
    done(&folder, &format!("import {{}}/{file} --from go-bloom --name list -o @a.bloom"), b"");
    let blob = Blob::decode(read(&folder, "a.bloom")).unwrap();
    assert_eq!((blob.name(), blob.profile()), (Some("list"), Profile::Raw));
    assert_eq!(done(&folder, "check @a.bloom", b"key-7\nno-such-key\nkey-9999\n"), "key-7\nkey-9999\n");
    let info: serde_json::Value = serde_json::from_str(&done(&folder, "info @a.bloom --json", b"")).unwrap();
    assert_eq!((&info["kind"], &info["count"], &info["hashes"]), (&"go-bloom".into(), &().into(), &7.into()));
    assert_eq!(info["foreign"], serde_json::json!({ "bits": 95851, "hashes": 7 }));
    let rows = done(&folder, "info @a.bloom", b"");
    assert!(rows.contains("go-bloom: of other software") && rows.contains("bits 95851, hashes 7"), "{rows}");
    assert!(rows.contains("about 9,985"), "Go's own ApproximatedSize: {rows}");
    done(&folder, "export @a.bloom --to go-bloom -o @out.json", b"");
    assert_eq!(read(&folder, "out.json"), vector(file));

    let (code, _, err) = tool(&folder, "export @a.bloom --to guava -o @out.guava");
    assert_eq!(code, 2);
    assert!(err.contains("of kind go-bloom, as guava") && err.contains("[incompatible]"), "{}", err);
    assert!(!folder.path().join("out.guava").exists());
    done(&folder, "build - --kind bloom -o @own.bloom", b"key\n");
    assert!(tool(&folder, "export @own.bloom --to go-bloom -o @out.go").2.contains("[incompatible]"));
    let own: serde_json::Value = serde_json::from_str(&done(&folder, "info @own.bloom --json", b"")).unwrap();
    assert_eq!(own["foreign"], serde_json::Value::Null);
}

#[test]
fn verify_measures_what_the_original_answers() {
    let folder = TempDir::new().unwrap();
    let members: String = (0..10_000).map(|i| format!("key-{i}\n")).collect();
    let absent: String = (0..20_000).map(|i| format!("absent-{i}\n")).collect();
    fs::write(folder.path().join("members"), members).unwrap();
    fs::write(folder.path().join("absent"), absent).unwrap();
    let manifest: serde_json::Value = serde_json::from_slice(&vector("guava/manifest.json")).unwrap();
    let case = manifest["cases"].as_array().unwrap().iter().find(|case| case["id"] == "medium-utf8").unwrap();
    let hits = case["probe_ranges"][0]["true_indices"].as_array().unwrap().len();
    done(&folder, "import {}/guava/medium-utf8/filter.bin --from guava -o @a.bloom", b"");
    let verify = "verify @a.bloom --members @members --json";
    let listed = done(&folder, &format!("{verify} --absent @absent"), b"");
    let listed: serde_json::Value = serde_json::from_str(&listed).unwrap();
    assert_eq!((&listed["falseNegatives"], &listed["probes"]), (&0.into(), &20_000.into()));
    assert_eq!(listed["falsePositives"], hits);
    let random: serde_json::Value = serde_json::from_str(&done(&folder, verify, b"")).unwrap();
    let fpr = random["measuredFpr"].as_f64().unwrap();
    assert!((0.009..0.011).contains(&fpr), "{fpr}");
}

#[test]
fn numbers_are_lines_of_digits() {
    let folder = TempDir::new().unwrap();
    let file = "guava/longs-small/filter.bin";
    done(&folder, &format!("import {{}}/{file} --from guava --funnel long -o @a.bloom"), b"");
    let members = String::from_utf8(vector("guava/longs-small/members.txt")).unwrap();
    assert_eq!(done(&folder, "check @a.bloom", members.as_bytes()), members);
    assert_eq!(done(&folder, "check @a.bloom -1", b""), "-1\n");
    let (code, _, err) = tool(&folder, "check @a.bloom 1.5");
    assert!(code == 2 && err.contains("[invalid_key]"), "{}", err);
    // Lines are asked in blocks. Those before a line that is refused have their answers.
    let many = members.repeat(2_000);
    assert!(many.len() > 1 << 16);
    assert_eq!(done(&folder, "check @a.bloom", many.as_bytes()), many);
    let (code, out, _) = tool_with(&folder, "check @a.bloom", format!("{members}x\n{members}").as_bytes());
    assert_eq!((code, out), (2, members.clone()));
    fs::write(folder.path().join("members"), &members).unwrap();
    done(&folder, "verify @a.bloom --members @members --probes 1000", b"");

    // The same keys give the same file, sized for 22 at 0.05 as the original was.
    done(&folder, "build @members --kind guava --funnel long --fpr 0.05 -o @b.bloom", b"");
    done(&folder, "export @b.bloom --to guava -o @b.guava", b"");
    assert_eq!(read(&folder, "b.guava"), vector(file));
    let (code, _, err) =
        tool_with(&folder, "build @members - --kind guava --funnel long -o @c.bloom", b"1\nx\n");
    assert!(code == 2 && err.contains("standard input:2") && err.contains("[invalid_key]"), "{}", err);
    let (code, _, err) =
        tool(&folder, &format!("import {{}}/{file} --from guava --funnel long --profile url -o @d.bloom"));
    assert!(code == 2 && err.contains("numbers"), "{}", err);
}

#[test]
fn profiles_go_with_other_hashes_too() {
    let folder = TempDir::new().unwrap();
    for kind in ["go-bloom", "guava", "spark", "redis-bitmap", "redisbloom"] {
        let list = b"http://evil.example/a?b\nbad.example\nbad.example\n";
        let out =
            done(&folder, &format!("build - --kind {kind} --profile url --fpr 0.0001 -o @a.bloom"), list);
        assert!(out.contains("2 keys, 1 repeated"), "{out}");
        let asked = b"https://evil.example/a?b#c\nhttp://sub.bad.example/x\nhttp://good.example/\n";
        let found = "https://evil.example/a?b#c\nhttp://sub.bad.example/x\n";
        assert_eq!(done(&folder, "check @a.bloom", asked), found, "{kind}");
        // Unwrapped and wrapped again it's the same blob.
        done(&folder, &format!("export @a.bloom --to {kind} -o @a"), b"");
        let info: serde_json::Value =
            serde_json::from_str(&done(&folder, "info @a.bloom --json", b"")).unwrap();
        let shape = match kind {
            "redis-bitmap" => format!(" --bits {} --hashes {}", info["bits"], info["hashes"]),
            _ => String::new(),
        };
        done(&folder, &format!("import @a --from {kind} --profile url{shape} -o @b.bloom"), b"");
        assert_eq!(read(&folder, "a.bloom"), read(&folder, "b.bloom"), "{kind}");
    }
    done(&folder, "build - --kind guava --profile password --lowercase -o @p.bloom", b"Secret\n");
    assert_eq!(done(&folder, "check @p.bloom SECRET", b""), "SECRET\n");
}

#[test]
fn parts_of_one_shape_merge_to_the_whole() {
    let folder = TempDir::new().unwrap();
    let lines = |range: std::ops::Range<u32>| range.map(|i| format!("key-{i}\n")).collect::<String>();
    for kind in ["bloom", "counting"] {
        let build = format!("build - --kind {kind} --capacity 3000 --fpr 0.01 --seed 7 -o");
        done(&folder, &format!("{build} @a.bloom"), lines(0..1000).as_bytes());
        done(&folder, &format!("{build} @b.bloom"), lines(1000..1001).as_bytes());
        done(&folder, &format!("{build} @c.bloom"), lines(1001..3000).as_bytes());
        done(&folder, &format!("{build} @whole.bloom"), lines(0..3000).as_bytes());
        done(&folder, "merge @a.bloom @b.bloom @c.bloom -o @merged.bloom", b"");
        assert_eq!(read(&folder, "merged.bloom"), read(&folder, "whole.bloom"), "{kind}");
        // What is sized by its keys is the same where these are as many.
        done(
            &folder,
            &format!("build - --kind {kind} --fpr 0.01 --seed 7 -o @plain.bloom"),
            lines(0..3000).as_bytes(),
        );
        assert_eq!(read(&folder, "plain.bloom"), read(&folder, "whole.bloom"), "{kind}");
    }
    // More keys than that only raise the rate.
    done(&folder, "build - --kind bloom --capacity 10 --fpr 0.01 -o @full.bloom", lines(0..100).as_bytes());
    let all = lines(0..100);
    assert_eq!(done(&folder, "check @full.bloom", all.as_bytes()), all);
    done(
        &folder,
        "build - --kind go-bloom --capacity 10000 --fpr 0.01 -o @go.bloom",
        lines(0..100).as_bytes(),
    );
    let info: serde_json::Value = serde_json::from_str(&done(&folder, "info @go.bloom --json", b"")).unwrap();
    assert_eq!((&info["bits"], &info["hashes"]), (&95_851.into(), &7.into()));
}

#[test]
fn what_does_not_go_together_is_refused() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("list"), "key\n").unwrap();
    for (args, words) in [
        ("build @list --capacity 10 -o @a", "--capacity goes with"),
        ("build @list --kind cuckoo --capacity 10 -o @a", "--capacity goes with"),
        ("build @list --funnel utf8 -o @a", "other software's kinds"),
        ("build @list --kind spark --funnel utf8 -o @a", "an option that the format hasn't got"),
        ("build @list --kind guava --funnel utf16 -o @a", "funnel must be"),
        ("build @list --kind guava --fpr 1 -o @a", "fpr must be"),
        ("build @list --kind guava --seed 1 -o @a", "option that the format hasn't got"),
        ("build @list --kind guava --allow @list -o @a", "--allow goes with our own kinds"),
        ("build @missing --kind spark --capacity 100000000000 -o @a", "at most 2^40 bits"),
        ("build @missing --kind redis-bitmap --capacity 1000000000 -o @a", "of redis-bitmap 2^32"),
        ("build @list --kind xor -o @a", "invalid value 'xor'"),
        ("build @list --kind foreign -o @a", "invalid value 'foreign'"),
        ("import @list --from guava --lowercase -o @a", "--profile password"),
        ("import @list --from guava -o @a", "[unsupported_format]"),
        ("import @list --from redis-bitmap -o @a", "redis-bitmap needs bits and hashes"),
        (
            "import {}/filterpassword/xor8-small/filter.bin --from filterpassword --profile password --sha1 -o @a",
            "hashes the passwords itself",
        ),
        ("import @missing --from guava -o @a", "missing"),
        ("import @list -o @a", "--from"),
    ] {
        let (code, _, err) = tool(&folder, args);
        assert_eq!(code, 2, "{args}");
        assert!(err.contains(words), "{args}: {}", err);
        assert_eq!(err.lines().count(), 1, "{args}: {}", err);
        assert!(!folder.path().join("a").exists());
    }
}
