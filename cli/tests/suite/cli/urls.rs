//! Lists of URLs.

use std::fs;

use tempfile::TempDir;

use super::{build, publish, run, text, url_blob};

/// A key that matches nothing would be a silent loss.
#[test]
fn tables_and_line_ends_that_would_hide_a_list_are_told() {
    let folder = TempDir::new().unwrap();
    let read = |list: &str, profile: &str| {
        fs::write(folder.path().join("list"), list).unwrap();
        let output = run(folder.path(), &format!("build list -o out --profile {profile}"), b"");
        (output.status.code().unwrap(), text(&output.stderr).to_owned())
    };
    for profile in ["url", "raw", "password"] {
        let (code, said) = read("# list\rhttps://evil.example/\rhttps://b.example/\r", profile);
        assert!(code == 2 && said.contains("list: its lines end in CR alone"), "{said}");
    }
    assert!(!folder.path().join("out").exists());
    let table: String = (0..10).map(|i| format!("https://a.example/{i},phishing\n")).collect();
    let (code, said) = read(&table, "url");
    assert!(code == 0 && said.contains("10 of 10 keys look like rows of a table"), "{said}");
}

#[test]
fn ten_skipped_lines_are_shown_and_all_are_counted() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    let long = format!("x y{}", "z".repeat(200));
    fs::write(folder.join("one"), format!("evil.example\n\n*a\n*b\n*c\n*d\u{1b}[31m\n{long}\n*f\n")).unwrap();
    fs::write(folder.join("two"), "*g\n".repeat(1200) + "evil.example\n").unwrap();
    for output in ["-o out", "-o out --json", "-o -"] {
        let output = run(folder, &format!("build one two --profile url {output}"), b"");
        let warned = text(&output.stderr);
        let places: Vec<_> = warned.lines().map(|line| line.split(": ").next().unwrap()).collect();
        let expected = "one:3 one:4 one:5 one:6 one:7 one:8 two:1 two:2 two:3 two:4 and 1,196 more";
        assert_eq!(places.join(" "), expected, "{warned}");
        assert!(
            !warned.contains('\u{1b}') && warned.lines().all(|line| line.chars().count() < 160),
            "{warned}"
        );
    }
    let (blob, said, _) = build(folder, "one two --profile url", b"");
    assert_eq!(blob, url_blob(&["evil.example/"]));
    assert!(said.contains("1,205 skipped (an adblock rule other than ||host^)"), "{said}");
    assert!(said.contains("1 skipped (not a URL or a host)"), "{said}");

    // Skipped lines of lists of non-members are reported as well.
    let verify = run(folder, "verify out --members one --absent two", b"");
    let said = text(&verify.stdout);
    assert!(said.contains("1 key, 0 false negatives, 5 skipped (an adblock rule"), "{said}");
    assert!(said.contains("0 listed keys, 0 false positives, 1,200 skipped (an adblock rule"), "{said}");
    assert!(text(&verify.stderr).contains("two:1: skipped"));
}

/// Which lines give their key, and why the others don't: without --allow-suffixes, and with it.
#[test]
fn public_suffixes_are_skipped_unless_allowed() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    let lines = [
        ("HTTP://CO.UK.:80/", "a public suffix", "co.uk/"),
        ("||blogspot.com^", "a public suffix", "blogspot.com/"),
        ("0.0.0.0 \u{516c}\u{53f8}.cn", "a public suffix", "xn--55qx5d.cn/"),
        // A registry's rule for any name.
        ("any.kawasaki.jp", "a public suffix", "any.kawasaki.jp/"),
        // Below a single label nothing is looked up, unless the whole URL says that only one host is meant.
        ("com", "a name without a dot", "com/"),
        ("http://net/", "", "net/"),
        ("github.io/evil/", "", "github.io/evil/"),
        ("org/?a", "", "org/?a"),
        // A machine, which a wildcard rule of the suffix list makes a suffix.
        ("ec2-3-84-126-255.compute-1.amazonaws.com", "", "ec2-3-84-126-255.compute-1.amazonaws.com/"),
        ("city.kawasaki.jp", "", "city.kawasaki.jp/"),
        ("1.2.3.4", "", "1.2.3.4/"),
    ];
    let kept: Vec<_> = lines.iter().filter(|(_, skip, _)| skip.is_empty()).map(|(.., key)| *key).collect();
    fs::write(folder.join("list"), lines.map(|(line, ..)| line).join("\n")).unwrap();
    let (blob, said, warned) = build(folder, "list --profile url", b"");
    assert_eq!(blob, url_blob(&kept));
    assert!(
        said.contains("6 keys") && said.contains("4 skipped (a public suffix; --allow-suffixes"),
        "{said}"
    );
    for (i, (line, (text, skip, _))) in warned.lines().zip(lines).enumerate() {
        let start = format!("list:{}: skipped, {skip}", i + 1);
        assert!(line.starts_with(&start) && line.ends_with(&format!("{text:?}")), "{line}");
    }
    assert_eq!(warned.lines().count(), 5);
    let (blob, _, warned) = build(folder, "list --profile url --allow-suffixes", b"");
    assert_eq!((blob, &*warned), (url_blob(&lines.map(|(.., key)| key)), ""));
    // The rules of the build are those of its verification.
    for (args, members) in [("--allow-suffixes", 11), ("", 6)] {
        let args = format!("verify out --probes 1 --json --members list {args}");
        let json: serde_json::Value = serde_json::from_slice(&run(folder, &args, b"").stdout).unwrap();
        assert_eq!((&json["members"], &json["falseNegatives"]), (&members.into(), &0.into()));
    }
}

/// What each line looks like is tested beside `cli/src/lists/look.rs`.
#[test]
fn urls_and_hashes_that_are_not_read_as_such_are_pointed_out() {
    let folder = TempDir::new().unwrap();
    run(folder.path(), "feed keygen -o key", b"");
    let urls = "http://a.example/\nevil.com\n# https://c.example/\nhttp-example\n";
    let hash = "5BAA61E4C9B93F3F0682250B6CF8331B7EE68FD8";
    let counted = format!("{hash}:3\n{}:4\nx\n", hash.replace('5', "6"));
    let others = format!("{}:3\n{} : 4\nx\n", &hash[..32], &hash[5..]);
    // A few hosts may be there by accident, but a few hashes aren't.
    let few = format!("{hash}:3\nevil.com\n{}", (0..7).map(|i| format!("key-{i}\n")).collect::<String>());
    let [of_urls, of_hashes, of_others] =
        ["`hasUrl`\n", "`hasPassword` for their passwords\n", "no reader can ask"];
    for (args, list, hint) in [
        ("-o out", urls, of_urls),
        ("-o -", urls, of_urls),
        ("-o out --json", urls, of_urls),
        ("-o out --kind guava", urls, of_urls),
        ("-o out --tag all=-", urls, of_urls),
        ("-o out --profile raw", urls, ""),
        ("-o out --profile password", urls, ""),
        ("-o out", "http://a.example/\nb\n", ""),
        ("-o out", &counted, of_hashes),
        ("-o out --profile url", &counted, of_hashes),
        ("-o out --profile raw", &counted, ""),
        // Ids look like hashes, too, unless there is a count after them.
        ("-o out", &counted.replace([':', '3', '4'], ""), ""),
        ("-o out --profile password", hash, of_hashes),
        ("-o out --profile password --sha1", hash, ""),
        ("-o out", &others, of_others),
        ("-o out", &few, of_hashes),
    ] {
        let output = run(folder.path(), &format!("build {args}"), list.as_bytes());
        let warned = text(&output.stderr);
        assert!(output.status.success() && warned.contains(hint), "{args}: {warned}");
        assert_eq!(warned.lines().count(), usize::from(!hint.is_empty()), "{args}: {warned}");
    }
    // A feed says it once.
    fs::write(folder.path().join("urls"), urls).unwrap();
    for shards in ["", "shards = 2"] {
        for hint in [of_urls, ""] {
            let above = format!(
                "public = 'p{shards}'\nstate = 's{shards}'\nsign = ['key']\nprofile = 'raw'\n{shards}"
            );
            let output = publish(folder.path(), &above, "urls = 'urls'");
            let warned = text(&output.stderr);
            assert!(output.status.success() && warned.ends_with(hint), "{shards}: {warned}");
            assert_eq!(warned.is_empty(), hint.is_empty(), "{shards}: {warned}");
        }
    }
}
