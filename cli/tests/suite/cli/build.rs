//! `build`: its options and its output.

use std::fs;
use std::io::Read;
use std::process::{Command, Stdio};

use bloom_wasm::Filter;
use tempfile::TempDir;

use super::{build, info, run, text, tool, with_filter};
use crate::program::not_tested;

#[test]
fn options_reach_the_blob() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    let args = "build -o out --kind bloom --fpr 0.01 --seed 18446744073709551615 --name n --json \
                --created-at 1970-01-01T00:00:01.5Z";
    let output = run(folder, args, b"a\n");
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let blob = Filter::decode(fs::read(folder.join("out")).unwrap()).unwrap();
    assert_eq!((blob.name(), blob.created_at()), (Some("n"), Some(1500)));
    assert_eq!(blob.stack().hashing().seed(), u64::MAX);
    assert_eq!(
        (&json["seed"], &json["bits"], &json["name"]),
        (&"18446744073709551615".into(), &16.into(), &"n".into())
    );
    assert_eq!(json["byteLength"], fs::metadata(folder.join("out")).unwrap().len());
}

#[test]
fn every_kind_is_built_and_answers() {
    with_filter(|folder| {
        for kind in ["ribbon", "bloom", "counting", "scalable", "cuckoo"] {
            let args = format!("build list -o k.bloom --kind {kind} --fpr 1e-6 --json");
            let json: serde_json::Value = serde_json::from_slice(&run(folder, &args, b"").stdout).unwrap();
            assert_eq!(json["kind"], kind);
            let output = run(folder, "check k.bloom evil.example good.example", b"");
            assert_eq!(text(&output.stdout), "evil.example\n", "{kind}");
        }
    });
}

/// What each kind makes of its rate is the crate's.
#[test]
fn the_rate_that_is_asked_for() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    for (args, fpr, name) in [
        ("", 1e-3, "raw"),
        // A quarter of the URLs ask for a host of one label, and no URL gets more than 2.5 times the rate.
        ("--profile url", 2.5e-3, "url"),
        ("--profile password", 1e-4, "password"),
        ("--profile password --fpr 0.25", 0.25, "password"),
        ("--fpr 0.25", 0.25, "raw"),
    ] {
        build(folder, args, b"listed");
        let info = info(folder);
        let stored = info["fpr"].as_f64().unwrap();
        assert!((stored / fpr - 1.0).abs() < 1e-9, "{args}: {stored}");
        assert_eq!(info["profile"], name);
    }
    let said = |args: &str| {
        let output = run(folder, &format!("build -o new {args}"), b"");
        assert!(output.status.code() == Some(2) && output.stdout.is_empty(), "{args}");
        text(&output.stderr).to_owned()
    };
    for fpr in ["NaN", "inf", "0", "-1e-3", "1", "1e400"] {
        let said = said(&format!("--fpr={fpr}"));
        assert!(said.starts_with("bloom-wasm: fpr must be a number "), "{fpr}: {said}");
        assert!(
            said.ends_with(" below 1 [invalid_parameter]\n") && said.lines().count() == 1,
            "{fpr}: {said}"
        );
    }
    assert!(said("--fpr -1").contains("[invalid_parameter]"));
    assert!(said("--fpr 0.1%").contains("give a number such as 0.001"));
    // If the rate is too low only for a key, the message says why.
    let low = said("--kind bloom --profile url --fpr 5e-17");
    assert!(low.contains("with --profile url a key gets a tenth of --fpr: fpr must be at least"), "{low}");
    assert!(!folder.join("new").exists());
}

#[test]
fn a_filter_of_no_keys_is_made_only_if_asked_for() {
    with_filter(|folder| {
        let old = fs::read(folder.join("f.bloom")).unwrap();
        let hashes = "--profile password --sha1";
        for (args, input) in
            [("", &b""[..]), ("", b"# comment\n\n"), (hashes, b"password\n"), ("--kind guava", b"")]
        {
            let built = |more: &str| run(folder, &format!("build -o f.bloom {args} {more}"), input);
            let refused = built("");
            let error = text(&refused.stderr);
            assert_eq!(refused.status.code(), Some(2), "{args}: {error}");
            let words = if args == hashes { "since its lines were skipped" } else { "--allow-empty" };
            assert!(error.lines().last().unwrap().contains(words), "{error}");
            assert_eq!(fs::read(folder.join("f.bloom")).unwrap(), old);
            // A list that can't be read isn't empty.
            let allowed = built("--allow-empty");
            if args == hashes {
                assert!(text(&allowed.stderr).contains(words));
                continue;
            }
            assert!(allowed.status.success());
            assert_ne!(fs::read(folder.join("f.bloom")).unwrap(), old);
            fs::write(folder.join("f.bloom"), &old).unwrap();
        }
        // A part of a list may be empty.
        let part = run(folder, "build --kind bloom --capacity 9 -o part", b"");
        assert!(part.status.success());
    });
}

/// A list that was held in memory would take twice as much.
#[test]
#[cfg(target_os = "linux")]
fn building_takes_at_most_32_bytes_a_line_beside_the_result() {
    if std::env::var_os("BLOOM_WASM_TOOL").is_some() {
        not_tested("the memory of a build; Node's own is larger");
        return;
    }
    let folder = TempDir::new().unwrap();
    // The most memory that the tool has had when it writes its result, without that.
    let peak = |lines: usize| {
        let list: String =
            (0..lines).map(|i| format!("https://www.example.com/some/path/of/60/bytes/{i:014}\n")).collect();
        assert_eq!(list.len(), 61 * lines);
        fs::write(folder.path().join("list"), list).unwrap();
        let mut child = Command::new(tool())
            .args(["build", "list", "--profile", "raw", "-o", "-"])
            .env("RAYON_NUM_THREADS", "2")
            .current_dir(folder.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut out = child.stdout.take().unwrap();
        let mut blob = vec![0];
        out.read_exact(&mut blob).unwrap();
        // It has finished its work, and waits for its output to be read.
        let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.strip_suffix("kB")).unwrap();
        out.read_to_end(&mut blob).unwrap();
        assert!(child.wait().unwrap().success());
        peak.trim().parse::<usize>().unwrap() * 1024 - blob.len()
    };
    // Numbers of lines for which the array of their digests has just grown. The result of the few fills a pipe, too.
    let [few, many] = [(1 << 17) + 1, (1 << 20) + 1];
    let each = (peak(many) - peak(few)) as f64 / (many - few) as f64;
    assert!(each > 8.0 && each <= 32.0, "{each} bytes a line");
}
