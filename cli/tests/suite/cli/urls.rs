//! Lists of URLs.

use std::fs;

use tempfile::TempDir;

use super::{build, checked, publish, run, text, url_blob};

#[test]
fn lists_of_urls_become_their_keys() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    let list = "\u{feff}[Adblock Plus 2.0]\r
! Title: bad\r
# more\r
\r
||rule.example^\r
||rule.example^$third-party\r
@@||good.example^\r
*.star.example\r
good.example##.ad\r
0.0.0.0 localhost\r
0.0.0.0 one.example two.example # three.example\r
::1 ip6-localhost LOCALHOST\r
HTTP://User@Whole.Example:8080/a/../%62?c#d\r
path.example/dir/\r
b\u{fc}cher.example\r
0x7f.1/x\r
[2001:DB8:0::1]\r
mailto:a@b.example\r
bad.example worse.example\r
one.example";
    fs::write(folder.join("list"), list).unwrap();
    let (blob, said, warned) = build(folder, &["list", "--profile", "url"], b"");
    let keys = [
        "rule.example/",
        "star.example/",
        "one.example/",
        "two.example/",
        "whole.example/b?c",
        "path.example/dir/",
        "xn--bcher-kva.example/",
        "127.0.0.1/x",
        "[2001:db8::1]/",
    ];
    assert_eq!(blob, url_blob(&keys));
    let [rule, local, no] = ["an adblock rule other than ||host^", "a local name", "not a URL or a host"];
    let expected = [
        format!("list:6: skipped, {rule}: \"||rule.example^$third-party\""),
        format!("list:7: skipped, {rule}: \"@@||good.example^\""),
        format!("list:9: skipped, {rule}: \"good.example##.ad\""),
        format!("list:10: skipped, {local}: \"0.0.0.0 localhost\""),
        format!("list:12: skipped, {local}: \"::1 ip6-localhost LOCALHOST\""),
        format!("list:12: skipped, {local}: \"::1 ip6-localhost LOCALHOST\""),
        format!("list:18: skipped, {no}: \"mailto:a@b.example\""),
        format!("list:19: skipped, {no}: \"bad.example worse.example\""),
    ];
    assert_eq!(warned.lines().collect::<Vec<_>>(), expected);
    let read = said.lines().next().unwrap();
    assert!(read.contains("9 keys, 1 repeated, 3 comments"), "{read}");
    for count in [format!("3 skipped ({rule})"), format!("3 skipped ({local})"), format!("2 skipped ({no})")]
    {
        assert!(read.contains(&count), "{read}");
    }
    // Skipped lines give no members, and kept ones do.
    let verify = run(folder, &["verify", "out", "--members", "list", "--json"], b"");
    let json: serde_json::Value = serde_json::from_slice(&verify.stdout).unwrap();
    assert_eq!((&json["members"], &json["falseNegatives"]), (&10.into(), &0.into()));
}

/// A key that matches nothing would be a silent loss.
#[test]
fn tables_and_line_ends_that_would_hide_a_list_are_told() {
    let folder = TempDir::new().unwrap();
    let read = |list: &str, profile: &str| {
        fs::write(folder.path().join("list"), list).unwrap();
        let output = run(folder.path(), &["build", "list", "-o", "out", "--profile", profile], b"");
        (output.status.code().unwrap(), text(&output.stderr).to_owned())
    };
    for profile in ["url", "raw", "password"] {
        let (code, said) = read("# list\rhttps://evil.example/\rhttps://b.example/\r", profile);
        assert!(code == 2 && said.contains("list: its lines end in CR alone"), "{said}");
    }
    assert!(!folder.path().join("out").exists());
    let table =
        "https://a.example/x,phishing\nhttps://b.example/y,malware\nhttps://c.example/,x\nd.example/,\n";
    let (code, said) = read(table, "url");
    assert!(code == 0 && said.matches("skipped, not a URL").count() == 2, "{said}");
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
    for output in [&[][..], &["--json"], &["-o", "-"]] {
        let output = match output {
            ["-o", "-"] => run(folder, &["build", "one", "two", "--profile", "url", "-o", "-"], b""),
            _ => run(
                folder,
                &[&["build", "one", "two", "--profile", "url", "-o", "out"], output].concat(),
                b"",
            ),
        };
        let warned = text(&output.stderr);
        let places: Vec<_> = warned.lines().map(|line| line.split(": ").next().unwrap()).collect();
        let expected = "one:3 one:4 one:5 one:6 one:7 one:8 two:1 two:2 two:3 two:4 and 1,196 more";
        assert_eq!(places.join(" "), expected, "{warned}");
        assert!(
            !warned.contains('\u{1b}') && warned.lines().all(|line| line.chars().count() < 160),
            "{warned}"
        );
    }
    let (blob, said, _) = build(folder, &["one", "two", "--profile", "url"], b"");
    assert_eq!(blob, url_blob(&["evil.example/"]));
    assert!(said.contains("1,205 skipped (an adblock rule other than ||host^)"), "{said}");
    assert!(said.contains("1 skipped (not a URL or a host)"), "{said}");

    // Skipped lines of lists of non-members are reported as well.
    let verify = run(folder, &["verify", "out", "--members", "one", "--absent", "two"], b"");
    let said = text(&verify.stdout);
    assert!(said.contains("1 key, 0 false negatives, 5 skipped (an adblock rule"), "{said}");
    assert!(said.contains("0 listed keys, 0 false positives, 1,200 skipped (an adblock rule"), "{said}");
    assert!(text(&verify.stderr).contains("two:1: skipped"));
}

#[test]
fn public_suffixes_are_skipped_unless_allowed() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    let suffixes = [
        "co.uk",
        "github.io",
        "HTTP://CO.UK.:80/",
        "||blogspot.com^",
        "0.0.0.0 github.io",
        "\u{516c}\u{53f8}.cn",
        // A registry's rule for any name.
        "any.kawasaki.jp",
    ];
    let others = [
        ("evil.co.uk", "evil.co.uk/"),
        ("evil.github.io", "evil.github.io/"),
        ("github.io/evil/", "github.io/evil/"),
        ("co.uk/?a", "co.uk/?a"),
        // A machine, which a wildcard rule of the suffix list makes a suffix.
        ("ec2-3-84-126-255.compute-1.amazonaws.com", "ec2-3-84-126-255.compute-1.amazonaws.com/"),
        ("city.kawasaki.jp", "city.kawasaki.jp/"),
        ("no-such-domain", "no-such-domain/"),
        // Nothing below it is looked up.
        ("http://com/", "com/"),
        ("1.2.3.4", "1.2.3.4/"),
    ];
    let kept = others.map(|(_, key)| key);
    let lines = [&suffixes[..], &others.map(|(line, _)| line)].concat().join("\n");
    let (blob, said, warned) = build(folder, &["--profile", "url"], lines.as_bytes());
    assert_eq!(blob, url_blob(&kept));
    assert!(said.contains("9 keys, 7 skipped (a public suffix; --allow-suffixes keeps it)"), "{said}");
    for (i, (line, suffix)) in warned.lines().zip(suffixes).enumerate() {
        let start = format!("standard input:{}: skipped, a public suffix;", i + 1);
        assert!(line.starts_with(&start) && line.ends_with(&format!("{suffix:?}")), "{line}");
    }
    assert_eq!(warned.lines().count(), suffixes.len());
    assert_eq!(checked(folder, b"a.co.uk\nb.github.io\nevil.co.uk\n"), b"evil.co.uk\n");

    let (blob, said, warned) = build(folder, &["--profile", "url", "--allow-suffixes"], lines.as_bytes());
    let more = ["co.uk/", "github.io/", "blogspot.com/", "xn--55qx5d.cn/", "any.kawasaki.jp/"];
    let is_covered = |key: &&str| ["co.uk/", "github.io/"].iter().any(|suffix| key.contains(suffix));
    let kept: Vec<_> = kept.into_iter().filter(|key| !is_covered(key)).collect();
    assert_eq!((blob, &*warned), (url_blob(&[&kept[..], &more].concat()), ""));
    assert!(said.contains("14 keys, 2 repeated, 4 covered by others"), "{said}");
    assert_eq!(checked(folder, b"a.co.uk\nb.github.io\nc.org\n"), b"a.co.uk\nb.github.io\n");
    // The rules of the build are those of its verification.
    fs::write(folder.join("list"), &lines).unwrap();
    for (args, members) in [(&["--allow-suffixes"][..], 16), (&[], 9)] {
        let args = [&["verify", "out", "--probes", "1", "--json", "--members", "list"], args].concat();
        let output = run(folder, &args, b"");
        let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!((&json["members"], &json["falseNegatives"]), (&members.into(), &0.into()));
    }
}

/// A suffix that --allow-suffixes keeps matches the names below it. A rule for all hosts below a single label can't do
/// that, so it is skipped even then.
#[test]
fn rules_for_a_single_label_are_skipped_whatever_is_allowed() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    let lines = ["*.zip", "||mov^", "0.0.0.0 tk", "*.co.uk", "com"];
    let words = "a name without a dot, below which nothing is looked up; http://NAME/ lists that one host";
    for (args, skipped, keys) in [
        (&["--allow-suffixes"][..], &lines[..3], &["co.uk/", "com/"][..]),
        (&[], &[lines[0], lines[1], lines[2], lines[4]], &[]),
    ] {
        let list = format!("{}\nevil.example\n", lines.join("\n"));
        let (blob, said, warned) = build(folder, &[&["--profile", "url"], args].concat(), list.as_bytes());
        assert_eq!(blob, url_blob(&[keys, &["evil.example/"]].concat()));
        assert!(said.contains(&format!("{} skipped ({words})", skipped.len())), "{said}");
        let told: Vec<_> =
            warned.lines().filter_map(|line| line.split_once(&format!("skipped, {words}: "))).collect();
        assert_eq!(told.iter().map(|(_, line)| line.trim_matches('"')).collect::<Vec<_>>(), skipped);
        let below = checked(folder, b"a.zip\nb.mov\nc.tk\nd.com\ne.co.uk\n");
        assert_eq!(below, if args.is_empty() { &b""[..] } else { b"e.co.uk\n" });
    }
}

#[test]
fn a_list_has_one_blob_however_it_is_written() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    let expected = url_blob(&["evil.com/", "worse.com/a?b", "195.127.0.11/"]);
    for lines in [
        "evil.com\nworse.com/a?b\n195.127.0.11\n",
        "worse.com/a?b\n195.127.0.11\nevil.com",
        "http://3279880203/\r\nhttp://EVIL.com:80/\r\nhttps://u@worse.com./%61?b#c\r\n",
        "||evil.com^\n//worse.com/x/../a?b\n0xc37f000b\nEvil.Com.\n195.127.11\n",
        "0.0.0.0 evil.com evil.com # evil.com\nftp://worse.com/./a?b\n\t[::ffff:195.127.0.11]:443/ \n# c\n",
    ] {
        assert_eq!(build(folder, &["--profile", "url"], lines.as_bytes()).0, expected, "{lines}");
    }
}

#[test]
fn urls_and_hashes_that_are_not_read_as_such_are_pointed_out() {
    let folder = TempDir::new().unwrap();
    run(folder.path(), &["feed", "keygen", "-o", "key"], b"");
    let urls = b"http://a.example/\nhttps://b.example/x\n# https://c.example/\nhttp-example\n";
    let hash = "5BAA61E4C9B93F3F0682250B6CF8331B7EE68FD8";
    let hashes = format!("{hash}:3\n{}\nx\n", hash.to_lowercase());
    let hint_of_urls =
        "2 of 3 keys look like URLs or hosts: only the profile url lets readers ask `hasUrl`\n";
    let hint_of_hashes = "2 of 3 keys look like SHA-1 hashes: only the profile password with sha1 lets \
                          readers ask `hasPassword` for their passwords\n";
    let counted = format!("{hash}:3\n{}:4\nx\n", hash.replace('5', "6"));
    let hint_of_others = "2 of 3 keys look like NTLM hashes, or SHA-1 hashes without their first digits: no reader can \
                          ask for their passwords\n";
    let others = format!("{}:3\n{} : 4\nx\n", &hash[..32], &hash[5..]);
    // A few hosts may be there by accident, but a few hashes aren't.
    let few = format!("{hash}:3\nevil.com\n{}", (0..7).map(|i| format!("key-{i}\n")).collect::<String>());
    let hint_of_few = hint_of_hashes.replace("2 of 3", "1 of 9");
    for (args, list, hint) in [
        ("-o out", &urls[..], hint_of_urls),
        ("-o -", urls, hint_of_urls),
        ("-o out --json", urls, hint_of_urls),
        ("-o out --kind guava", urls, hint_of_urls),
        ("-o out --tag all=-", urls, hint_of_urls),
        ("-o out --profile raw", urls, ""),
        ("-o out --profile url", urls, ""),
        ("-o out --profile password", urls, ""),
        ("-o out", b"http://a.example/\nb\n", ""),
        ("-o out", b"httpx\n", ""),
        ("-o out --profile password", hashes.as_bytes(), hint_of_hashes),
        ("-o out --profile password --sha1", &hashes.as_bytes()[..43], ""),
        ("-o out", hashes.as_bytes(), &hint_of_hashes.replace("2 of 3", "1 of 3")),
        ("-o out", hashes.replace(":3", "").as_bytes(), ""),
        ("-o out", counted.as_bytes(), hint_of_hashes),
        ("-o out --profile raw", counted.as_bytes(), ""),
        ("-o out --profile url", counted.as_bytes(), hint_of_hashes),
        ("-o out", b"evil.com\nwww.evil.co.uk\nid-4711\n", hint_of_urls),
        ("-o out", b"||evil.com^\n0.0.0.0 evil.com\nid-4711\n", hint_of_urls),
        ("-o out --profile raw", b"evil.com\nwww.evil.co.uk\nid-4711\n", ""),
        ("-o out", others.as_bytes(), hint_of_others),
        ("-o out --profile password", others.as_bytes(), hint_of_others),
        ("-o out", few.as_bytes(), &hint_of_few),
        ("-o out --profile password --sha1", &counted.as_bytes()[..43], ""),
    ] {
        let output = run(folder.path(), &format!("build {args}").split(' ').collect::<Vec<_>>(), list);
        let warned = text(&output.stderr);
        assert!(output.status.success() && warned == hint, "{args}: {warned}");
    }
    // A feed says it once.
    fs::write(folder.path().join("urls"), urls).unwrap();
    for (shards, hint) in [("", hint_of_urls), ("shards = 2", hint_of_urls), ("", ""), ("shards = 2", "")] {
        let dir = if shards.is_empty() { "whole" } else { "sharded" };
        let above =
            format!("public = '{dir}'\nstate = '{dir}.state'\nsign = ['key']\nprofile = 'raw'\n{shards}");
        let output = publish(folder.path(), &above, "urls = 'urls'");
        let warned = text(&output.stderr);
        assert!(output.status.success() && warned == hint, "{dir}: {warned}");
    }
    // Nothing else is different.
    let said = build(folder.path(), &[], urls);
    let meant = build(folder.path(), &["--profile", "raw"], urls);
    assert_eq!((said.0, said.1), (meant.0, meant.1));
}
