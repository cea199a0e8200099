//! `verify`.

use std::fs;

use super::{run, text, with_filter};

#[test]
fn verify_counts() {
    with_filter(|folder| {
        let verify = |args: &str| {
            let output = run(folder, &format!("verify f.bloom --json {args}"), b"");
            (output.status.code(), serde_json::from_slice::<serde_json::Value>(&output.stdout).unwrap())
        };
        let (code, json) = verify("--members list");
        assert_eq!(code, Some(0));
        assert_eq!(
            (&json["members"], &json["falseNegatives"], &json["probes"]),
            (&3.into(), &0.into(), &1_000_000.into())
        );
        let (measured, estimated) =
            (json["measuredFpr"].as_f64().unwrap(), json["estimatedFpr"].as_f64().unwrap());
        assert!((measured - estimated).abs() < 4.0 * (estimated / 1e6).sqrt(), "{measured} for {estimated}");

        fs::write(folder.join("other"), "evil.example\nnot.there\nnor.this\n").unwrap();
        let (code, json) = verify("--members list --absent other");
        assert_eq!((code, &json["probes"], &json["falsePositives"]), (Some(0), &2.into(), &0.into()));
        let (code, json) = verify("--members other");
        assert_eq!((code, &json["falseNegatives"]), (Some(1), &2.into()));
    });
}

/// A download that failed says nothing of a filter.
#[test]
fn lists_that_are_none_verify_nothing() {
    with_filter(|folder| {
        fs::write(folder.join("empty"), "").unwrap();
        fs::write(folder.join("page"), "<!doctype html>\n").unwrap();
        assert!(run(folder, "build empty --allow-empty -o none.bloom", b"").status.success());
        let built = "build list --profile url -o url.bloom";
        assert!(run(folder, built, b"").status.success());
        for (blob, list, words) in [
            ("f.bloom", "empty", "empty: this list gave no key"),
            ("f.bloom", "page", "page: this is a page of HTML or XML"),
            ("url.bloom", "page", "page: this is a page of HTML or XML"),
        ] {
            let output = run(folder, &format!("verify {blob} --members {list} --probes 9"), b"");
            assert!(output.status.code() == Some(2) && text(&output.stderr).contains(words), "{output:?}");
        }
        let output = run(folder, "verify none.bloom --members empty --probes 9", b"");
        assert!(output.status.success(), "{output:?}");
        // With tags, lists are read twice.
        assert!(run(folder, "build --tag x=list -o tagged.bloom", b"").status.success());
        for list in ["-", "/dev/null"] {
            let args = format!("verify tagged.bloom --tag x={list} --probes 9");
            let output = run(folder, &args, b"");
            let words = "with --tag, the lists are read twice, so each must be a file";
            assert!(output.status.code() == Some(2) && text(&output.stderr).contains(words), "{output:?}");
        }
    });
}
