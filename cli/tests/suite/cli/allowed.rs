//! Allowlists.

use std::fs;

use tempfile::TempDir;

use super::{build, checked, info, run, text};
use crate::in_process::{declare, done};

/// What such a filter answers is the crate's.
#[test]
fn allowed_keys_are_read_and_counted() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    let lines = |name: &str| (0..3000).map(|i| format!("{name}{i}.example\n")).collect::<String>();
    ["bad", "good", "hosts"].iter().for_each(|name| fs::write(folder.join(name), lines(name)).unwrap());
    for kind in ["ribbon", "bloom", "counting", "scalable", "cuckoo"] {
        let args = format!("bad --profile url --fpr 0.5 --allow good --allow hosts --kind {kind}");
        let (_, said, warned) = build(folder, &args, b"");
        assert!(said.contains("allowed  6,000 entries\n") && warned.is_empty(), "{said}{warned}");
        assert!(info(folder)["layers"].as_u64().unwrap() > 0);
        for list in ["good", "hosts"] {
            let verify = run(folder, &format!("verify out --members bad --absent {list} --json"), b"");
            let json: serde_json::Value = serde_json::from_slice(&verify.stdout).unwrap();
            let counts = ["members", "falseNegatives", "probes", "falsePositives"].map(|name| &json[name]);
            assert_eq!(counts, [3000, 0, 3000, 0], "{kind}");
        }
    }
}

#[test]
fn keys_in_both_lists() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    let bad = ["evil.com", "worse.com/a/", "shop.example", "page.example/x?y", "alone.com"];
    fs::write(folder.join("bad"), bad.join("\n")).unwrap();
    // Two entries whose own key is a member's, two with that of a parent, and nobody's.
    let good =
        "HTTP://Shop.example:80/\npage.example/x?y\nhttp://good.evil.com/a\nhttp://worse.com/a/b\ngood.com";
    fs::write(folder.join("good"), good).unwrap();
    let common = "bad --profile url --allow good";
    let keys = ["shop.example/", "page.example/x?y", "evil.com/", "worse.com/a/"];
    for (more, removed, words) in [
        ("", 0, "5 entries, 4 keys listed and allowed (kept)"),
        (
            "--allow-wins",
            2,
            "5 entries, 2 keys listed and allowed (removed), 2 keys listed and allowed (kept)",
        ),
    ] {
        let (_, said, warned) = build(folder, &format!("{common} {more}"), b"");
        let mut conflicts: Vec<_> = warned.lines().collect();
        conflicts.sort();
        let what = |i: usize| if i < removed { "removed" } else { "kept" };
        let told = |(i, key)| format!("good:{}: listed and allowed, {}: \"{key}\"", i + 1, what(i));
        assert_eq!(conflicts, keys.iter().enumerate().map(told).collect::<Vec<_>>());
        assert!(said.contains(words), "{said}");
        let left = bad.join("\n") + "\n";
        let left = if removed == 0 { left } else { left.replace("shop.example\npage.example/x?y\n", "") };
        assert_eq!(text(&checked(folder, bad.join("\n").as_bytes())), left);
    }
    // A key that is one entry's own key and another's parent is removed, in whatever order they come.
    for good in ["evil.com\na.evil.com", "a.evil.com\nevil.com"] {
        fs::write(folder.join("good"), good).unwrap();
        let (_, said, _) = build(folder, &format!("{common} --allow-wins"), b"");
        assert!(said.contains("2 entries, 1 key listed and allowed (removed)\n"), "{said}");
        assert_eq!(text(&checked(folder, b"evil.com\nb.evil.com\na.evil.com\nalone.com")), "alone.com\n");
    }
    // Twelve conflicts: ten are shown, all are counted.
    let hosts: String = (0..12).map(|i| format!("host{i}.example\n")).collect();
    fs::write(folder.join("good"), &hosts).unwrap();
    let (_, said, warned) = build(folder, "--profile url --allow good", hosts.as_bytes());
    assert_eq!((warned.lines().count(), warned.lines().last()), (11, Some("and 2 more")));
    assert!(said.contains("12 entries, 12 keys listed and allowed (kept)"), "{said}");
    // A public suffix counts in a list of allowed keys, and a line that gives no key is told.
    fs::write(folder.join("good"), "co.uk\nx.*\n# c\n").unwrap();
    let (_, said, warned) = build(folder, "--profile url --allow good", b"evil.co.uk");
    assert!(
        said.contains("allowed  1 entry, 1 comment") && warned.starts_with("good:2: skipped, "),
        "{said}"
    );
    // If nothing is left, that is refused like an empty list.
    let args = "build good --profile url --allow-suffixes --allow good --allow-wins -o new";
    let output = run(folder, args, b"");
    let words = "--allow-empty makes a filter without keys";
    assert!(output.status.code() == Some(2) && text(&output.stderr).contains(words), "{output:?}");
    assert!(!folder.join("new").exists());
}

/// A list of members may become an allowlist without another name.
#[test]
fn a_list_moves_to_the_allowlists() {
    let folder = TempDir::new().unwrap();
    for (name, keys) in [("a", "a\nb\n"), ("b", "b\nc\n")] {
        fs::write(folder.path().join(name), keys).unwrap();
    }
    let above = "sign = []\nprofile = \"raw\"\nfpr = 1e-6";
    declare(&folder, above, "a = \"a\"\nb = \"b\"");
    done(&folder, "feed publish @feed.toml");
    declare(&folder, above, "a = \"a\"\n[allow]\nb = \"b\"");
    done(&folder, "feed publish @feed.toml");
    assert_eq!(done(&folder, "check @public a b c"), "a\nb\n");
}
