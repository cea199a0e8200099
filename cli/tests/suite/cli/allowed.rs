//! Allowlists.

use std::fs;

use tempfile::TempDir;

use super::{build, checked, info, publish, run, text};

#[test]
fn allowed_urls_never_match_and_members_always_do() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    let lines = |line: &dyn Fn(u32) -> String, count| (0..count).map(|i| line(i) + "\n").collect::<String>();
    let bad = lines(&|i| format!("bad{i}.example"), 3000);
    let good = lines(&|i| format!("https://www.shop{i}.example:8443/a/b{i}/c.html?id={i}#d"), 3000);
    fs::write(folder.join("bad"), &bad).unwrap();
    fs::write(folder.join("good"), &good).unwrap();
    fs::write(folder.join("hosts"), lines(&|i| format!("0.0.0.0 host{i}.other{i}.example # c"), 500))
        .unwrap();
    let hosts = lines(&|i| format!("host{i}.other{i}.example"), 500);

    build(folder, &["bad", "--profile", "url", "--fpr", "0.5"], b"");
    assert_eq!(info(folder)["layers"], 0);
    let hits = checked(folder, good.as_bytes()).iter().filter(|&&byte| byte == b'\n').count();
    // One of its 15 keys can be on a list of hosts with two labels, at a rate of 0.5.
    assert!((1000..2500).contains(&hits), "{hits}");

    for kind in ["ribbon", "bloom", "counting", "scalable", "cuckoo"] {
        let args = [
            "bad",
            "--profile",
            "url",
            "--fpr",
            "0.5",
            "--allow",
            "good",
            "--allow",
            "hosts",
            "--kind",
            kind,
        ];
        let (blob, said, warned) = build(folder, &args, b"");
        assert_eq!(warned, "");
        assert!(said.contains("allowed  3,500 entries\n"), "{said}");
        assert_eq!(text(&checked(folder, good.as_bytes())), "", "{kind}");
        assert_eq!(text(&checked(folder, hosts.as_bytes())), "", "{kind}");
        assert_eq!(text(&checked(folder, bad.as_bytes())), bad, "{kind}");
        // Every key of a good URL, looked up as a URL of its own.
        let parts = lines(&|i| format!("shop{i}.example/a/b{i}/"), 3000);
        assert_eq!(text(&checked(folder, parts.as_bytes())), "", "{kind}");
        let info = info(folder);
        assert!(info["layers"].as_u64().unwrap() > 0, "{info}");
        assert_eq!(info["count"], 3000);
        let verify = run(folder, &["verify", "out", "--members", "bad", "--absent", "good", "--json"], b"");
        let json: serde_json::Value = serde_json::from_slice(&verify.stdout).unwrap();
        assert_eq!(
            (&json["members"], &json["falseNegatives"], &json["probes"], &json["falsePositives"]),
            (&3000.into(), &0.into(), &3000.into(), &0.into())
        );
        assert_eq!(build(folder, &args, b"").0, blob, "the same lists, the same bytes");
    }
    // For all others, the rate is no higher than asked for, and is the one that is reported.
    build(folder, &["bad", "--profile", "url", "--fpr", "0.5", "--allow", "good"], b"");
    fs::write(folder.join("others"), lines(&|i| format!("stranger{i}.example"), 20_000)).unwrap();
    let verify = run(folder, &["verify", "out", "--members", "bad", "--absent", "others", "--json"], b"");
    let json: serde_json::Value = serde_json::from_slice(&verify.stdout).unwrap();
    let [measured, told] = ["measuredFpr", "estimatedFpr"].map(|name| json[name].as_f64().unwrap());
    assert!(told < 0.5 && (measured - told).abs() < 5.0 * (told / 20_000.0).sqrt(), "{json}");
}

#[test]
fn passwords_and_bytes_have_allowlists_too() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    let lines = |from: u32, to: u32| (from..to).map(|i| format!("Stra\u{df}e{i}\n")).collect::<String>();
    fs::write(folder.join("bad"), lines(0, 1000)).unwrap();
    fs::write(folder.join("good"), lines(1000, 3000).to_uppercase().replace("SS", "\u{1e9e}")).unwrap();
    for (profile, more) in [("raw", &[][..]), ("password", &[]), ("password", &["--lowercase"])] {
        let args = [&["bad", "--fpr", "0.5", "--profile", profile, "--allow", "good"], more].concat();
        build(folder, &args, b"");
        let good = fs::read(folder.join("good")).unwrap();
        assert_eq!(text(&checked(folder, &good)), "", "{args:?}");
        assert_eq!(text(&checked(folder, lines(0, 1000).as_bytes())), lines(0, 1000), "{args:?}");
        let spelled = text(&checked(folder, lines(1000, 3000).as_bytes())).lines().count();
        if more.is_empty() {
            assert!((300..1200).contains(&spelled), "{spelled}");
        } else {
            assert_eq!(spelled, 0);
        }
    }
}

#[test]
fn keys_in_both_lists() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    let bad = ["evil.com", "worse.com/a/", "shop.example", "page.example/x?y", "alone.com"];
    fs::write(folder.join("bad"), bad.join("\n")).unwrap();
    let good = [
        // Its own key is a member's,
        "HTTP://Shop.example:80/",
        "page.example/x?y",
        // its parent's,
        "http://good.evil.com/a",
        "http://worse.com/a/b",
        // nobody's.
        "good.com",
    ];
    fs::write(folder.join("good"), good.join("\n")).unwrap();
    let common = ["bad", "--profile", "url", "--fpr", "1e-6", "--allow", "good"];

    let (_, said, warned) = build(folder, &common, b"");
    let mut conflicts: Vec<_> = warned.lines().collect();
    conflicts.sort();
    assert_eq!(
        conflicts,
        [
            "good:1: listed and allowed, kept: \"shop.example/\"",
            "good:2: listed and allowed, kept: \"page.example/x?y\"",
            "good:3: listed and allowed, kept: \"evil.com/\"",
            "good:4: listed and allowed, kept: \"worse.com/a/\"",
        ]
    );
    assert!(said.contains("5 entries, 4 keys listed and allowed (kept)"), "{said}");
    let all = [&bad[..], &good].concat().join("\n") + "\n";
    assert_eq!(text(&checked(folder, all.as_bytes())), all.replace("good.com\n", ""));

    let (_, said, warned) = build(folder, &[&common[..], &["--allow-wins"]].concat(), b"");
    let mut conflicts: Vec<_> = warned.lines().collect();
    conflicts.sort();
    assert_eq!(
        conflicts,
        [
            "good:1: listed and allowed, removed: \"shop.example/\"",
            "good:2: listed and allowed, removed: \"page.example/x?y\"",
            "good:3: listed and allowed, kept: \"evil.com/\"",
            "good:4: listed and allowed, kept: \"worse.com/a/\"",
        ]
    );
    assert!(
        said.contains("5 entries, 2 keys listed and allowed (removed), 2 keys listed and allowed (kept)"),
        "{said}"
    );
    let asked = "evil.com\ngood.evil.com/a\nother.evil.com\nworse.com/a/\nworse.com/a/b\nshop.example\n\
        www.shop.example/a\npage.example/x?y\npage.example/x\nalone.com\ngood.com\n";
    let present = "evil.com\ngood.evil.com/a\nother.evil.com\nworse.com/a/\nworse.com/a/b\nalone.com\n";
    assert_eq!(text(&checked(folder, asked.as_bytes())), present);
    assert_eq!(info(folder)["count"].as_u64().unwrap_or(3), 3);
    // The blob is that of the members which are left.
    assert_eq!(
        build(folder, &["-", "--profile", "url", "--fpr", "1e-6"], b"evil.com\nworse.com/a/\nalone.com").0,
        build(folder, &[&common[..], &["--allow-wins"]].concat(), b"").0
    );
    // A key that is one entry's own key and another's parent is removed, in whatever order they come.
    for good in ["evil.com\na.evil.com", "a.evil.com\nevil.com"] {
        fs::write(folder.join("good"), good).unwrap();
        let (_, said, _) = build(folder, &[&common[..], &["--allow-wins"]].concat(), b"");
        assert!(said.contains("2 entries, 1 key listed and allowed (removed)\n"), "{said}");
        assert_eq!(text(&checked(folder, b"evil.com\nb.evil.com\na.evil.com\nalone.com")), "alone.com\n");
    }
    // Twelve conflicts: ten are shown, all are counted.
    let hosts: String = (0..12).map(|i| format!("host{i}.example\n")).collect();
    fs::write(folder.join("good"), &hosts).unwrap();
    let (_, said, warned) = build(folder, &["--profile", "url", "--allow", "good"], hosts.as_bytes());
    assert_eq!((warned.lines().count(), warned.lines().last()), (11, Some("and 2 more")));
    assert!(said.contains("12 entries, 12 keys listed and allowed (kept)"), "{said}");
    // Public suffixes, and lines that give no key, in a list of allowed keys.
    fs::write(folder.join("good"), "co.uk\nx.*\n# c\n").unwrap();
    let (_, said, warned) = build(folder, &["--profile", "url", "--allow", "good"], b"evil.co.uk");
    assert!(said.contains("allowed  1 entry, 1 comment"), "{said}");
    assert!(said.contains("1 skipped (an adblock rule"), "{said}");
    assert_eq!(warned, "good:2: skipped, an adblock rule other than ||host^: \"x.*\"\n");
    assert_eq!(checked(folder, b"evil.co.uk"), b"evil.co.uk\n");
}

#[test]
fn an_allowlist_of_a_feed_is_missed_until_it_is_dropped() {
    let folder = TempDir::new().unwrap();
    let keys = |from: u32, to: u32| (from..to).map(|i| format!("key-{i}\n")).collect::<String>();
    fs::write(folder.path().join("list"), keys(0, 300)).unwrap();
    for shards in ["", "shards = 2\n"] {
        let dir = if shards.is_empty() { "whole" } else { "sharded" };
        let above = format!("public = '{dir}'\nstate = '{dir}.state'\nsign = []\nprofile = 'raw'\n{shards}");
        let publish = |more: &str, allow: &str| {
            let output =
                publish(folder.path(), &format!("{above}{more}"), &format!("list = 'list'\n{allow}"));
            (output.status.code(), format!("{}{}", text(&output.stdout), text(&output.stderr)))
        };
        let allow = "[allow]\ngood = 'allow'";
        fs::write(folder.path().join("allow"), keys(300, 900)).unwrap();
        let (code, said) = publish("", allow);
        assert!(code == Some(0) && said.contains("600 entries"), "{said}");
        fs::write(folder.path().join("allow"), keys(300, 320)).unwrap();
        let (code, said) = publish("", allow);
        assert!(code == Some(2) && said.contains("good: this list has 20 keys, and had 600"), "{said}");
        fs::remove_file(folder.path().join("allow")).unwrap();
        let (code, said) = publish("", allow);
        assert!(code == Some(2) && said.contains("allow: No such file"), "{said}");
        let (code, said) = publish("", "");
        assert!(code == Some(2) && said.contains("good: this list is missing"), "{said}");
        let (code, said) = publish("dropped = ['good']", "");
        assert!(code == Some(0) && !said.contains("entries"), "{said}");
    }
}

/// A list of members may become an allowlist without another name.
#[test]
fn a_list_moves_to_the_allowlists() {
    let folder = TempDir::new().unwrap();
    for (name, keys) in [("a", "a\nb\n"), ("b", "b\nc\n")] {
        fs::write(folder.path().join(name), keys).unwrap();
    }
    let above = "sign = []\nprofile = \"raw\"\nfpr = 1e-6";
    crate::in_process::declare(&folder, above, "a = \"a\"\nb = \"b\"");
    crate::in_process::done(&folder, "feed publish @feed.toml");
    crate::in_process::declare(&folder, above, "a = \"a\"\n[allow]\nb = \"b\"");
    crate::in_process::done(&folder, "feed publish @feed.toml");
    assert_eq!(crate::in_process::done(&folder, "check @public a b c"), "a\nb\n");
}
