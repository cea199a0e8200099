//! The command line tool, run as a user runs it.

use std::fs;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use bloom_wasm::hash::Hashing;
use bloom_wasm::{Blob, Kind, Profile, RibbonFilter, Stack, hash};
use tempfile::TempDir;

/// The tool, or the one that the variable names: the npm package's has to do the same.
fn tool() -> String {
    std::env::var("BLOOM_WASM_TOOL").unwrap_or(env!("CARGO_BIN_EXE_bloom-wasm").to_owned())
}

fn run(folder: &Path, args: &[&str], stdin: &[u8]) -> Output {
    let mut child = Command::new(tool())
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

/// Builds `out`, and returns it with what was said on standard output and on standard error.
fn build(folder: &Path, args: &[&str], stdin: &[u8]) -> (Vec<u8>, String, String) {
    let output = run(folder, &[&["build", "-o", "out"], args].concat(), stdin);
    let [said, warned] = [&output.stdout, &output.stderr].map(|bytes| text(bytes).to_owned());
    assert!(output.status.success(), "{args:?}: {warned}");
    (fs::read(folder.join("out")).unwrap(), said, warned)
}

/// The lines of the keys that `out` takes for maybe present.
fn checked(folder: &Path, keys: &[u8]) -> Vec<u8> {
    let output = run(folder, &["check", "out"], keys);
    assert_eq!(output.status.code(), Some(i32::from(output.stdout.is_empty())), "{}", text(&output.stderr));
    output.stdout
}

fn info(folder: &Path) -> serde_json::Value {
    serde_json::from_slice(&run(folder, &["info", "out", "--json"], b"").stdout).unwrap()
}

/// The blob of these keys, and of no others.
fn blob_of(profile: Profile, fpr: f64, keys: &[&[u8]]) -> Vec<u8> {
    let hashing = Hashing::from(0).for_filter(profile, Kind::Ribbon);
    let mut digests = keys.iter().map(|key| hashing.digest(key)).collect();
    let filter = Stack::build(Kind::Ribbon.into(), &mut digests, None, fpr, hashing).unwrap();
    Blob::new(profile, filter).encode().unwrap()
}

fn url_blob(keys: &[&str]) -> Vec<u8> {
    blob_of(Profile::Url, 1e-3, &keys.iter().map(|key| key.as_bytes()).collect::<Vec<_>>())
}

const EXACT: Profile = Profile::Password { lowercase: false, sha1: false };

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
    fs::write(folder.join("packed"), [packed(b"a\nb\n"), packed(b"c\n")].concat()).unwrap();

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
    assert!(report.contains("4 keys, 1 repeated, 1 comments skipped"), "{report}");
    assert_eq!(built(&["--allow-empty"], b"").0, expected(&[]));
}

fn packed(text: &[u8]) -> Vec<u8> {
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gz.write_all(text).unwrap();
    gz.finish().unwrap()
}

/// What has no line ends is counted as skipped, and what comes after it is read.
#[test]
fn a_line_that_is_too_long_is_skipped() {
    const LONGEST: usize = 1 << 20;
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    let long = |length: usize| "x".repeat(length);
    let hash = "5baa61e4c9b93f3f0682250b6cf8331b7ee68fd8";
    for (options, first, last) in [
        (&[][..], "first", "last"),
        (&["--profile", "url"], "first.example", "last.example"),
        (&["--profile", "password"], "first", "last"),
        (&["--profile", "password", "--sha1-hex"], hash, "0000000000000000000000000000000000000001"),
    ] {
        let (expected, ..) = build(folder, options, format!("{first}\n{last}").as_bytes());
        for (length, end) in [(LONGEST + 1, "\n"), (LONGEST + 6, "\r\n"), (5 * LONGEST + 7, "\r\n")] {
            // The line after it keeps its number.
            let text = format!("{first}\n{}{end}{last}", long(length));
            for text in [text.as_bytes(), &packed(text.as_bytes())] {
                let (blob, said, warned) = build(folder, options, text);
                assert_eq!(blob, expected, "{options:?}, {length}");
                assert!(said.contains("2 keys, 1 skipped (longer than 1 MiB)"), "{said}");
                assert!(
                    warned.starts_with("standard input:2: skipped, longer than 1 MiB: \"xxx"),
                    "{warned}"
                );
                assert_eq!(warned.lines().count(), 1, "{}", warned.len());
            }
        }
    }
    // To the byte, whatever is around it: these are keys.
    let is_key = |text: &str, key: &str| {
        let (blob, said, _) = build(folder, &[], text.as_bytes());
        assert!(blob == blob_of(Profile::Raw, 1e-3, &[key.as_bytes(), b"last"]), "{said}");
    };
    let key = &long(LONGEST);
    for (before, after) in [("", "\n"), ("", "\r\n"), ("\u{feff}", "\r\n"), ("\n", "\n"), ("last\n", "\r\n")]
    {
        is_key(&format!("{before}{key}{after}last"), key);
    }
    is_key(&format!("last\n{key}"), key);
    // And these not: no part of them is.
    let (last, ..) = build(folder, &[], b"last\n");
    for text in [
        format!("\u{feff}{key}x\r\nlast"),
        format!("{key}x\nlast"),
        format!("last\n{key}x"),
        format!("last\n{key}{key}"),
        format!("last\n{key}{key}\n"),
        // What is cut off would be a carriage return.
        format!("{key}xxxxxxx\r\r\r\nlast"),
    ] {
        let (blob, said, _) = build(folder, &[], text.as_bytes());
        assert!(blob == last && said.contains("1 skipped"), "{said}");
    }
    // The numbers of the lines after several of them.
    let text = format!("{key}x\n{key}x\n{key}{key}\nevil[.]com\n");
    let (_, _, warned) = build(folder, &["--profile", "url", "--allow-empty"], text.as_bytes());
    assert!(warned.lines().last().unwrap().starts_with("standard input:4: skipped, not a URL"), "{warned}");
}

/// A question is never answered by halves. It may be far longer than an entry of a list.
#[test]
fn a_question_may_be_long_and_is_refused_if_it_is_longer_than_any() {
    with_filter(|folder| {
        let ask = |text: &[u8]| {
            let output = run(folder, &["check", "f.bloom"], text);
            (output.status.code(), output.stdout, text_of(output.stderr))
        };
        run(folder, &["build", "list", "-o", "f.bloom", "--profile", "url"], b"");
        let url = format!("http://EVIL.example/?{}", "é".repeat(3_000_000));
        let (code, out, _) = ask(format!("good.example\n{url}\nbad.example\n").as_bytes());
        assert!(code == Some(0) && out == format!("{url}\nbad.example\n").as_bytes());
        let (code, _, said) = ask(&[&b"evil.example/"[..], &vec![b'x'; 1 << 26]].concat());
        assert_eq!(
            (code, said.as_str()),
            (Some(2), "bloom-wasm: standard input: a line is longer than 64 MiB\n")
        );
    });
}

fn text_of(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap()
}

#[test]
fn zeros_after_a_gzip_file_are_no_keys_and_garbage_is_refused() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    let file = [packed(b"a\nb\n"), packed(b"c\n")].concat();
    let expected = blob_of(Profile::Raw, 1e-3, &[b"a", b"b", b"c"]);
    for zeros in [0, 1, 9, 511, 200_000] {
        let padded = [&file[..], &vec![0; zeros]].concat();
        assert_eq!(build(folder, &[], &padded).0, expected, "{zeros} zeros");
        for garbage in [&b"a"[..], b"abc\n", &packed(b"d\n")] {
            if zeros == 0 && garbage.starts_with(b"\x1f\x8b") {
                continue;
            }
            fs::write(folder.join("list.gz"), [&padded, garbage].concat()).unwrap();
            let output = run(folder, &["build", "list.gz", "-o", "new"], b"");
            let error = text(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{zeros} zeros, {garbage:?}");
            assert!(error.starts_with("bloom-wasm: list.gz") && error.lines().count() == 1, "{error}");
        }
    }
    assert!(!folder.join("new").exists());
}

/// How files that hold no UTF-8 lines start, from their specifications.
const NO_LISTS: [(&[u8], &str); 14] = [
    (b"\xfd7zXZ\0\0\x04\xe6\xd6\xb4\x46", "xz file"),
    (b"PK\x03\x04\x0a\0\0\0\0\0", "zip file"),
    (b"PK\x05\x06\0\0\0\0\0\0", "zip file"),
    (b"BZh91AY&SY\x6c\x8b", "bzip2 file"),
    (b"BZh11AY&SY\x6c\x8b", "bzip2 file"),
    (b"BZh9\x17\x72\x45\x38\x50\x90\0\0", "bzip2 file"),
    (b"\x28\xb5\x2f\xfd\x04\x58", "zstd file"),
    (b"7z\xbc\xaf\x27\x1c\0\x04", "7z file"),
    (b"\xff\xfea\0\n\0", "UTF-16"),
    (b"\xfe\xff\0a\0\n", "UTF-16"),
    (b"\xff\xfe", "UTF-16"),
    (b"\xff\xfe\0\0a\0\0\0", "UTF-32"),
    (b"\0\0\xfe\xff\0\0\0a", "UTF-32"),
    (b"\xb5BLM\x01\x01", "blob"),
];

#[test]
fn what_is_no_list_is_refused_by_its_name() {
    with_filter(|folder| {
        let refused = |args: &[&str], stdin: &[u8], name: &str| {
            let output = run(folder, args, stdin);
            let error = text(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{args:?}: {error}");
            assert!(error.contains("this is a") || error.contains("this is UTF"), "{args:?}: {error}");
            assert!(error.contains(name) && error.lines().count() == 1, "{args:?}: {error}");
            assert!(output.stdout.is_empty());
        };
        let within = packed(&packed(b"a\n"));
        let gzip = (&within[..], "gzip file in a gzip file");
        for (bytes, name) in NO_LISTS.into_iter().chain([gzip]) {
            fs::write(folder.join("no"), bytes).unwrap();
            fs::write(folder.join("no.gz"), packed(bytes)).unwrap();
            for list in ["no", "no.gz"] {
                for profile in ["raw", "url", "password"] {
                    refused(&["build", list, "-o", "new", "--profile", profile], b"", name);
                }
                refused(&["build", "list", "--allow", list, "-o", "new"], b"", name);
                refused(&["verify", "f.bloom", "--members", list], b"", name);
                refused(&["verify", "f.bloom", "--members", "list", "--absent", list], b"", name);
            }
            refused(&["build", "-o", "new"], bytes, name);
            refused(&["check", "f.bloom"], bytes, name);
        }
        assert!(!folder.join("new").exists());
        // What can be a key is one.
        let keys = "BZh9 is a name\nPK\n7z\n";
        build(folder, &["--fpr", "1e-9"], keys.as_bytes());
        assert_eq!(text(&checked(folder, keys.as_bytes())), keys);
        assert_eq!(text(&checked(folder, &packed(keys.as_bytes()))), keys);
    });
}

#[test]
fn a_rate_out_of_range_is_told_as_such() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    let said = |args: &[&str]| {
        let output = run(folder, args, b"");
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(output.stdout.is_empty());
        text(&output.stderr).to_owned()
    };
    let told = |args: &[&str]| {
        let said = said(args);
        assert!(said.starts_with("bloom-wasm: fpr must be a number "), "{args:?}: {said}");
        assert!(said.ends_with(" below 1 [invalid_parameter]\n"), "{args:?}: {said}");
        assert_eq!(said.lines().count(), 1);
    };
    for fpr in ["nan", "NaN", "-nan", "inf", "-inf", "0", "-0", "-1", "-1e-3", "1", "2", "1e400"] {
        let fpr = format!("--fpr={fpr}");
        for kind in ["ribbon", "bloom", "counting", "scalable", "cuckoo"] {
            for profile in ["raw", "url", "password"] {
                told(&["build", "-o", "out", &fpr, "--kind", kind, "--profile", profile]);
            }
        }
        told(&["calc", "--count", "3", &fpr]);
        told(&["calc", "--bytes", "3", &fpr]);
    }
    told(&["build", "-o", "out", "--fpr", "-1"]);
    told(&["calc", "--count", "3", "--fpr", "-1"]);
    // A rate that is too low for a key only is told with the reason for that.
    let low = said(&["build", "-o", "out", "--kind", "bloom", "--profile", "url", "--fpr", "5e-17"]);
    assert!(low.contains("with --profile url a key gets a tenth of --fpr: fpr must be at least"), "{low}");
    assert!(!folder.join("out").exists());
}

/// The threads take a list in parts, which what comes out must not tell.
/// In the file's first line it is none of the key's, and in any other it is, also in the first of a part.
#[test]
fn a_byte_order_mark_stands_at_the_start_of_a_list() {
    let folder = TempDir::new().unwrap();
    let keys: Vec<String> = (0..30_000).map(|i| format!("\u{feff}{i}")).collect();
    let list = format!("\u{feff}{}", keys.join("\n"));
    let (blob, _, _) = build(folder.path(), &["--fpr", "0.01"], list.as_bytes());
    let keys: Vec<&[u8]> = keys.iter().map(String::as_bytes).collect();
    assert_eq!(blob, blob_of(Profile::Raw, 0.01, &keys));
}

#[test]
fn long_lists_are_read_as_short_ones() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    let bad = |number: usize| number.is_multiple_of(1501);
    let lines: Vec<String> = (1..=20_000)
        .map(|number| match number {
            _ if bad(number) => "*".to_owned(),
            // Longer than a part.
            9999 => format!("evil.com/{}", "a".repeat(300_000)),
            _ => format!("evil.com/{number}/{}", "b".repeat(number % 90)),
        })
        .collect();
    let keys: Vec<&str> = lines.iter().map(String::as_str).filter(|line| *line != "*").collect();
    let blob = url_blob(&keys);
    let list = format!("\u{feff}{}", lines.join("\r\n"));
    fs::write(folder.join("plain"), &list).unwrap();
    fs::write(folder.join("packed"), packed(list.as_bytes())).unwrap();
    fs::write(folder.join("half"), lines[..4600].join("\n")).unwrap();
    fs::write(folder.join("rest"), lines[4600..].join("\n") + "\n").unwrap();

    let numbers: Vec<usize> = (1..=20_000).filter(|&number| bad(number)).collect();
    let places = |place: &dyn Fn(usize) -> String| {
        let mut places: Vec<_> = numbers[..10].iter().map(|&number| place(number)).collect();
        places.push(format!("and {} more", numbers.len() - 10));
        places
    };
    for (args, stdin, expected) in [
        (&["plain"][..], "", places(&|number| format!("plain:{number}"))),
        (&["packed"], "", places(&|number| format!("packed:{number}"))),
        (&[], &list, places(&|number| format!("standard input:{number}"))),
        (
            &["half", "rest"],
            "",
            places(&|number| {
                if number > 4600 { format!("rest:{}", number - 4600) } else { format!("half:{number}") }
            }),
        ),
    ] {
        let (built, _, warned) = build(folder, &[args, &["--profile", "url"]].concat(), stdin.as_bytes());
        assert!(built == blob, "{args:?}");
        let told: Vec<_> = warned.lines().map(|line| line.split(": ").next().unwrap()).collect();
        assert_eq!(told, expected);
        let members = if args.is_empty() { "plain" } else { args[0] };
        let verify = ["verify", "out", "--json", "--members", members, "--absent", "plain"];
        let output = run(folder, &verify, b"");
        let verdict: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let some = if members == "half" { 4600 - 3 } else { keys.len() };
        assert_eq!((&verdict["members"], &verdict["falseNegatives"]), (&some.into(), &0.into()));
        assert_eq!(verdict["probes"], keys.len() - some);
    }

    let torn = &packed(list.as_bytes())[..20_000];
    fs::write(folder.join("torn"), torn).unwrap();
    let mut readable = Vec::new();
    flate2::read::GzDecoder::new(torn).read_to_end(&mut readable).unwrap_err();
    let line = 1 + readable.iter().filter(|&&byte| byte == b'\n').count();
    assert!(line > 1000);
    let output = run(folder, &["build", "torn", "-o", "out"], b"");
    let error = text(&output.stderr);
    assert!(error.starts_with(&format!("bloom-wasm: torn:{line}: ")), "{line}: {error}");
}

/// A list that was held in memory would take twice as much.
#[test]
#[cfg(target_os = "linux")]
fn building_takes_at_most_32_bytes_a_line_beside_the_result() {
    // A number of lines for which the array of their digests has just grown.
    const LINES: usize = (1 << 20) + 1;
    let folder = TempDir::new().unwrap();
    let list: String =
        (0..LINES).map(|i| format!("https://www.example.com/some/path/of/60/bytes/{i:014}\n")).collect();
    assert_eq!(list.len(), 61 * LINES);
    fs::write(folder.path().join("list"), list).unwrap();
    let mut child = Command::new(tool())
        .args(["build", "list", "-o", "-"])
        .env("RAYON_NUM_THREADS", "2")
        .current_dir(folder.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut out = child.stdout.take().unwrap();
    let mut blob = vec![0];
    out.read_exact(&mut blob).unwrap();
    // Its work is done, and it waits for somebody to read on.
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.strip_suffix("kB")).unwrap();
    out.read_to_end(&mut blob).unwrap();
    assert!(child.wait().unwrap().success());
    let taken = peak.trim().parse::<usize>().unwrap() * 1024 - blob.len();
    assert!(taken > 8 * LINES && taken <= 32 * LINES, "{} bytes a line", taken as f64 / LINES as f64);
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
    assert_eq!((blob.name(), blob.created_at()), (Some("n"), Some(1500)));
    assert_eq!(blob.filter().seed(), u64::MAX);
    assert_eq!(
        (&json["seed"], &json["bits"], &json["name"]),
        (&"18446744073709551615".into(), &12.into(), &"n".into())
    );
    assert_eq!(json["byteLength"], fs::metadata(folder.join("out")).unwrap().len());
}

#[test]
fn a_dash_is_standard_input_to_check_too() {
    with_filter(|folder| {
        let keys = b"good.example\nevil.example\n";
        for args in [&["check", "f.bloom", "-"][..], &["check", "f.bloom"], &["check", "f.bloom", "--", "-"]]
        {
            let output = run(folder, args, keys);
            assert_eq!((output.status.code(), text(&output.stdout)), (Some(0), "evil.example\n"), "{args:?}");
        }
        for (args, words) in [
            (&["check", "f.bloom", "evil.example", "-"][..], "goes with no other keys"),
            (&["check", "f.bloom", "-", "-"], "goes with no other keys"),
            (&["check", "-", "-"], "can't be both"),
        ] {
            let output = run(folder, args, keys);
            let said = text(&output.stderr);
            assert!(output.status.code() == Some(2) && said.contains(words), "{args:?}: {said}");
            assert!(output.stdout.is_empty() && said.lines().count() == 1, "{args:?}: {said}");
        }
        // The key itself.
        assert!(run(folder, &["build", "-o", "dash"], b"-\n").status.success());
        assert_eq!(text(&run(folder, &["check", "dash", "-"], b"a\n-\n").stdout), "-\n");
    });
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
        // As a list does, the input may start with a byte order mark.
        let marked = "\u{feff}evil.example\n\u{feff}bad.example\n";
        let output = run(folder, &["check", "f.bloom"], marked.as_bytes());
        assert_eq!((output.status.code(), text(&output.stdout)), (Some(0), "evil.example\n"));
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
    assert_eq!(calc(&["--count", "3"]), calc(&["--count", "3", "--fpr", "0.001"]));
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
            (&["build", "torn.gz", "-o", "out"], "torn.gz: "),
            (&["build", "list", "-o", "no/such/folder"], "no/such/folder"),
            (&["build", "list", "-o", "out", "--fpr", "2"], "[invalid_parameter]"),
            (&["info", "list"], "list: this is not a bloom-wasm blob"),
            (&["info", "damaged"], "[truncated]"),
            (&["check", "nowhere", "key"], "nowhere"),
            (&["calc", "--bytes", "3"], "two of"),
            (&["calc", "--fpr", "0.1%"], "give a number such as 0.001"),
            (&["build", "-", "-", "-o", "out"], "standard input can be read only once"),
            (&["build", "--allow", "-", "-o", "out"], "standard input can be read only once"),
            (
                &["verify", "f.bloom", "--members", "-", "--absent", "-"],
                "standard input can be read only once",
            ),
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
fn a_filter_of_no_keys_is_made_only_if_asked_for() {
    with_filter(|folder| {
        let old = fs::read(folder.join("f.bloom")).unwrap();
        let hashes: &[&str] = &["--profile", "password", "--sha1-hex"];
        for (args, input) in [
            (&[][..], &b""[..]),
            (&[], b"# comment\n\n"),
            (hashes, b"password\n"),
            (&["--kind", "guava"], b""),
        ] {
            let built =
                |more: &[&str]| run(folder, &[&["build", "-o", "f.bloom"], args, more].concat(), input);
            let refused = built(&[]);
            let error = text(&refused.stderr);
            assert_eq!(refused.status.code(), Some(2), "{args:?}: {error}");
            assert!(error.lines().last().unwrap().contains("--allow-empty"), "{error}");
            assert_eq!(fs::read(folder.join("f.bloom")).unwrap(), old);
            assert!(built(&["--allow-empty"]).status.success());
            assert_ne!(fs::read(folder.join("f.bloom")).unwrap(), old);
            fs::write(folder.join("f.bloom"), &old).unwrap();
        }
        // A part of a list may well be empty.
        let part = run(folder, &["build", "--kind", "bloom", "--capacity", "9", "-o", "part"], b"");
        assert!(part.status.success());
    });
}

#[test]
fn a_list_is_never_replaced_by_its_filter() {
    with_filter(|folder| {
        let list = fs::read(folder.join("list")).unwrap();
        for args in [&["list"][..], &["f.bloom", "./list"], &["-", "--allow", "list"]] {
            let output = run(folder, &[&["build", "-o", "list"], args].concat(), b"a\n");
            assert_eq!(output.status.code(), Some(2), "{args:?}");
            assert_eq!(text(&output.stderr), "bloom-wasm: list: this is a list, and the output too\n");
            assert_eq!(fs::read(folder.join("list")).unwrap(), list);
        }
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
        "one.example/",
        "two.example/",
        "whole.example/b?c",
        "path.example/dir/",
        "xn--bcher-kva.example/",
        "127.0.0.1/x",
        "[2001:db8::1]/",
    ];
    assert_eq!(blob, url_blob(&keys));
    let [rule, local, no] =
        ["an adblock rule other than ||host^", "this computer's own name", "not a URL or a host"];
    let expected = [
        format!("list:6: skipped, {rule}: \"||rule.example^$third-party\""),
        format!("list:7: skipped, {rule}: \"@@||good.example^\""),
        format!("list:8: skipped, {rule}: \"*.star.example\""),
        format!("list:9: skipped, {rule}: \"good.example##.ad\""),
        format!("list:10: skipped, {local}: \"0.0.0.0 localhost\""),
        format!("list:12: skipped, {local}: \"::1 ip6-localhost LOCALHOST\""),
        format!("list:12: skipped, {local}: \"::1 ip6-localhost LOCALHOST\""),
        format!("list:18: skipped, {no}: \"mailto:a@b.example\""),
        format!("list:19: skipped, {no}: \"bad.example worse.example\""),
    ];
    assert_eq!(warned.lines().collect::<Vec<_>>(), expected);
    let read = said.lines().next().unwrap();
    assert!(read.contains("8 keys, 1 repeated, 3 comments"), "{read}");
    for count in [format!("4 skipped ({rule})"), format!("3 skipped ({local})"), format!("2 skipped ({no})")]
    {
        assert!(read.contains(&count), "{read}");
    }
    // What was skipped is no member, and what was kept is.
    let verify = run(folder, &["verify", "out", "--members", "list", "--json"], b"");
    let json: serde_json::Value = serde_json::from_slice(&verify.stdout).unwrap();
    assert_eq!((&json["members"], &json["falseNegatives"]), (&9.into(), &0.into()));
}

#[test]
fn ten_skipped_lines_are_shown_and_all_are_counted() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    let long = format!("x y{}", "z".repeat(200));
    fs::write(folder.join("one"), format!("evil.example\n\n*a\n*b\n*c\n*d\u{1b}[31m\n{long}\n*f\n")).unwrap();
    fs::write(folder.join("two"), "*g\n".repeat(1200)).unwrap();
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

    // Lines that aren't members are told of as well.
    let verify = run(folder, &["verify", "out", "--members", "one", "--absent", "two"], b"");
    let said = text(&verify.stdout);
    assert!(said.contains("1 keys, 0 false negatives, 5 skipped (an adblock rule"), "{said}");
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
        "com",
        "HTTP://CO.UK.:80/",
        "||blogspot.com^",
        "0.0.0.0 github.io",
        "\u{516c}\u{53f8}.cn",
        // A rule of a registry for whatever name.
        "any.kawasaki.jp",
    ];
    let others = [
        ("evil.co.uk", "evil.co.uk/"),
        ("evil.github.io", "evil.github.io/"),
        ("github.io/evil/", "github.io/evil/"),
        ("co.uk/?a", "co.uk/?a"),
        // A machine, which the list has for a suffix by a rule for any name in its place.
        ("ec2-3-84-126-255.compute-1.amazonaws.com", "ec2-3-84-126-255.compute-1.amazonaws.com/"),
        ("city.kawasaki.jp", "city.kawasaki.jp/"),
        ("no-such-domain", "no-such-domain/"),
        ("1.2.3.4", "1.2.3.4/"),
    ];
    let kept = others.map(|(_, key)| key);
    let lines = [&suffixes[..], &others.map(|(line, _)| line)].concat().join("\n");
    let (blob, said, warned) = build(folder, &["--profile", "url"], lines.as_bytes());
    assert_eq!(blob, url_blob(&kept));
    assert!(said.contains("8 keys, 8 skipped (a public suffix; --allow-suffixes keeps it)"), "{said}");
    for (i, (line, suffix)) in warned.lines().zip(suffixes).enumerate() {
        let start = format!("standard input:{}: skipped, a public suffix;", i + 1);
        assert!(line.starts_with(&start) && line.ends_with(&format!("{suffix:?}")), "{line}");
    }
    assert_eq!(warned.lines().count(), suffixes.len());
    assert_eq!(checked(folder, b"a.co.uk\nb.github.io\nevil.co.uk\n"), b"evil.co.uk\n");

    let (blob, said, warned) = build(folder, &["--profile", "url", "--allow-suffixes"], lines.as_bytes());
    let more = ["co.uk/", "github.io/", "com/", "blogspot.com/", "xn--55qx5d.cn/", "any.kawasaki.jp/"];
    assert_eq!((blob, &*warned), (url_blob(&[&kept[..], &more].concat()), ""));
    assert!(said.contains("14 keys, 2 repeated"), "{said}");
    assert_eq!(checked(folder, b"a.co.uk\nb.github.io\nc.org\n"), b"a.co.uk\nb.github.io\n");
    // The rules of the build are those of its verification.
    fs::write(folder.join("list"), &lines).unwrap();
    for (args, members) in [(&["--allow-suffixes"][..], 16), (&[], 8)] {
        let args = [&["verify", "out", "--probes", "1", "--json", "--members", "list"], args].concat();
        let output = run(folder, &args, b"");
        let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!((&json["members"], &json["falseNegatives"]), (&members.into(), &0.into()));
    }
}

#[test]
fn urls_are_checked_where_a_browser_goes() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    for (list, url) in [
        ("evil.com", "http://evil.com\\@good.com/"),
        ("evil.com", "https:///evil.com/"),
        ("evil.com/a", "HTTP://EVIL.com:80/%2e%2e/a"),
        ("195.127.0.11", "http://3279880203/"),
        ("evil.com", "http://evil.com./"),
        ("evil.com", "evil.com"),
        ("evil.com", "https://user:word@a.b.evil.com:8443/c/d?e#f"),
        ("http://evil.com\\@good.com/", "evil.com/@good.com/"),
        ("http://3279880203/", "195.127.0.11/a?b"),
        ("HTTP://EVIL.com:80/%2e%2e/a", "evil.com/a?b"),
        ("||evil.com^", "www.evil.com/a"),
        ("127.0.0.1 evil.com", "ftp://evil.com/a"),
        ("evil.com/a/", "evil.com/a/b/c?d"),
        ("evil.com/a?x", "http://www.evil.com/a?x"),
    ] {
        build(folder, &["--profile", "url", "--fpr", "1e-6"], list.as_bytes());
        let output = run(folder, &["check", "out", url], b"");
        assert_eq!((output.status.code(), text(&output.stdout)), (Some(0), &*format!("{url}\n")), "{list}");
        assert_eq!(checked(folder, url.as_bytes()), format!("{url}\n").as_bytes());
        let others = "http://good.com/\nnotevil.com\nevil.com.good.com\ncom\nmailto:a@evil.com\n\
            evil.com:80b\ngood.com/evil.com/\nhttp:///\n \nevil.org/a?x\n";
        assert_eq!(text(&checked(folder, others.as_bytes())), "", "{list}");
    }
    // A directory's key isn't its site's, a page's isn't its directory's.
    build(folder, &["--profile", "url", "--fpr", "1e-6"], b"evil.com/a/\nworse.com/a?x");
    let lines = b"evil.com\nevil.com/a\nevil.com/a/b\nworse.com/a\nworse.com/a?x\nworse.com/a?xy";
    assert_eq!(text(&checked(folder, lines)), "evil.com/a/b\nworse.com/a?x\n");
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
        // Every key of a good URL, asked as a URL of its own.
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
    // For all others the rate is no higher than asked for, and the one that is told.
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
            "good:1: in both lists, kept: \"shop.example/\"",
            "good:2: in both lists, kept: \"page.example/x?y\"",
            "good:3: in both lists, kept: \"evil.com/\"",
            "good:4: in both lists, kept: \"worse.com/a/\"",
        ]
    );
    assert!(said.contains("5 entries, 4 keys in both lists (kept)"), "{said}");
    let all = [&bad[..], &good].concat().join("\n") + "\n";
    assert_eq!(text(&checked(folder, all.as_bytes())), all.replace("good.com\n", ""));

    let (_, said, warned) = build(folder, &[&common[..], &["--allow-wins"]].concat(), b"");
    let mut conflicts: Vec<_> = warned.lines().collect();
    conflicts.sort();
    assert_eq!(
        conflicts,
        [
            "good:1: in both lists, removed: \"shop.example/\"",
            "good:2: in both lists, removed: \"page.example/x?y\"",
            "good:3: in both lists, kept: \"evil.com/\"",
            "good:4: in both lists, kept: \"worse.com/a/\"",
        ]
    );
    assert!(
        said.contains("5 entries, 2 keys in both lists (removed), 2 keys in both lists (kept)"),
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
    // A key that is one entry's own and another's parent goes, in whatever order they come.
    for good in ["evil.com\na.evil.com", "a.evil.com\nevil.com"] {
        fs::write(folder.join("good"), good).unwrap();
        let (_, said, _) = build(folder, &[&common[..], &["--allow-wins"]].concat(), b"");
        assert!(said.contains("2 entries, 1 keys in both lists (removed)\n"), "{said}");
        assert_eq!(text(&checked(folder, b"evil.com\nb.evil.com\na.evil.com\nalone.com")), "alone.com\n");
    }
    // Twelve conflicts: ten are shown, all are counted.
    let hosts: String = (0..12).map(|i| format!("host{i}.example\n")).collect();
    fs::write(folder.join("good"), &hosts).unwrap();
    let (_, said, warned) = build(folder, &["--profile", "url", "--allow", "good"], hosts.as_bytes());
    assert_eq!((warned.lines().count(), warned.lines().last()), (11, Some("and 2 more")));
    assert!(said.contains("12 entries, 12 keys in both lists (kept)"), "{said}");
    // Suffixes and lines that are no keys, in a list of allowed ones.
    fs::write(folder.join("good"), "co.uk\n*.x\n# c\n").unwrap();
    let (_, said, warned) = build(folder, &["--profile", "url", "--allow", "good"], b"evil.co.uk");
    assert!(said.contains("allowed  1 entries, 1 comments"), "{said}");
    assert!(said.contains("1 skipped (an adblock rule"), "{said}");
    assert_eq!(warned, "good:2: skipped, an adblock rule other than ||host^: \"*.x\"\n");
    assert_eq!(checked(folder, b"evil.co.uk"), b"evil.co.uk\n");
}

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
    // Only what is the same password is present, and it comes back as it was asked.
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
    // Of what isn't UTF-8 every byte that begins no character is one.
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

    let (blob, said, warned) = build(folder, &["list", "--profile", "password", "--sha1-hex"], b"");
    assert_eq!(blob, blob_of(sha1, 1e-4, &[a, rare, ten, uncounted, upper]));
    assert!(said.contains("5 keys, 3 skipped (not a SHA-1 in hexadecimal)"), "{said}");
    let places: Vec<_> = warned.lines().map(|line| line.split(": ").next().unwrap()).collect();
    assert_eq!(places, ["list:6", "list:7", "list:8"]);

    let args = ["list", "--profile", "password", "--sha1-hex", "--min-count", "10"];
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

    // Asked are passwords, in whatever form, and never hashes.
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

    // A list of allowed ones has hashes too.
    fs::write(folder.join("good"), format!("{}\n{}:1\nten\n", hex[1], hex[2])).unwrap();
    let more = ["--fpr", "1e-9", "--allow", "good", "--allow-wins"];
    let (blob, said, _) = build(folder, &[&args[..], &more].concat(), b"");
    assert_eq!(blob, blob_of(sha1, 1e-9, &[a, uncounted, upper]));
    assert!(
        said.contains("2 entries, 1 skipped (not a SHA-1 in hexadecimal), 1 keys in both lists (removed)"),
        "{said}"
    );
}

#[test]
fn the_rate_of_each_profile() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    let hash = "a9993e364706816aba3e25717850c26c9cd0d89d";
    for (args, fpr, name) in [
        (&[][..], 1e-3, "raw"),
        (&["--profile", "raw"], 1e-3, "raw"),
        // A host of one label is asked for by a quarter of the URLs, and any URL gets 2.5 times the rate at most.
        (&["--profile", "url"], 2.5e-3, "url"),
        // A tenth of what a whole check may have.
        (&["--profile", "url", "--kind", "scalable"], 1e-4, "url"),
        (&["--profile", "password"], 1e-4, "password"),
        (&["--profile", "password", "--lowercase"], 1e-4, "password"),
        (&["--profile", "password", "--sha1-hex"], 1e-4, "password"),
        (&["--profile", "url", "--fpr", "0.5"], 0.5, "url"),
        (&["--profile", "url", "--fpr", "0.999"], 0.5, "url"),
        (&["--profile", "password", "--fpr", "0.25"], 0.25, "password"),
        (&["--fpr", "0.25"], 0.25, "raw"),
    ] {
        build(folder, args, hash.as_bytes());
        let info = info(folder);
        let stored = info["fpr"].as_f64().unwrap();
        assert!((stored / fpr - 1.0).abs() < 1e-9, "{args:?}: {stored}");
        assert_eq!(info["profile"], name);
        let (_, _, shown) = build(folder, args, hash.as_bytes());
        assert_eq!(shown, "");
    }
}

#[test]
fn options_that_do_not_fit_are_refused() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    fs::write(folder.join("list"), "evil.example\n").unwrap();
    fs::write(folder.join("f.bloom"), build(folder, &["list"], b"").0).unwrap();
    for (args, message) in [
        (&["build", "--lowercase"][..], "--profile password"),
        (&["build", "--profile", "url", "--lowercase"], "--profile password"),
        (&["build", "--sha1-hex"], "--profile password"),
        (&["build", "--profile", "url", "--sha1-hex"], "--profile password"),
        (&["build", "--min-length", "8"], "--profile password"),
        (&["build", "--profile", "url", "--min-length", "8"], "--profile password"),
        (&["build", "--min-count", "8"], "--sha1-hex"),
        (&["build", "--profile", "url", "--min-count", "8"], "--sha1-hex"),
        (&["build", "--profile", "password", "--min-count", "8"], "--sha1-hex"),
        (&["build", "--profile", "password", "--sha1-hex", "--lowercase"], "'--lowercase'"),
        (&["build", "--profile", "password", "--sha1-hex", "--min-length", "8"], "--min-length"),
        (&["build", "--allow-suffixes"], "--profile url"),
        (&["build", "--profile", "password", "--allow-suffixes"], "--profile url"),
        (&["build", "--allow-wins"], "--allow <LIST>"),
        (&["build", "--allow", "nowhere"], "nowhere"),
        (&["build", "--profile", "urls"], "[possible values: raw, url, password]"),
        (&["build", "--profile", "password", "--min-length", "-1"], "'-1'"),
        (&["build", "--profile", "password", "--min-length", "x"], "'x'"),
        (&["build", "--profile", "url", "--fpr", "1"], "[invalid_parameter]"),
        (&["build", "--profile", "url", "--fpr", "9"], "[invalid_parameter]"),
        (&["build", "--profile", "url", "--fpr", "0"], "[invalid_parameter]"),
        (&["build", "--profile", "url", "--fpr", "-1"], "[invalid_parameter]"),
        (&["build", "--profile", "url", "--fpr=-1"], "[invalid_parameter]"),
        (&["build", "--profile", "password", "--fpr", "NaN"], "[invalid_parameter]"),
        (&["verify", "f.bloom"], "--members <LIST>"),
        (&["verify", "f.bloom", "--members", "list", "--absent", "list", "--probes", "3"], "'--probes"),
        (&["verify", "f.bloom", "--members", "list", "--profile", "url"], "'--profile'"),
        (&["check", "f.bloom", "--lowercase"], "'--lowercase'"),
        (&["chek", "f.bloom"], "'chek'"),
    ] {
        let output: &[&str] = if args[0] == "build" { &["-o", "new", "list"] } else { &[] };
        let output = run(folder, &[args, output].concat(), b"");
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {error}");
        assert!(error.starts_with("bloom-wasm: ") && error.contains(message), "{args:?}: {error}");
        assert_eq!(error.lines().count(), 1, "{args:?}: {error}");
        assert!(output.stdout.is_empty());
    }
    assert!(!folder.join("new").exists());
    // To ask for help is no failure, and is answered at length.
    for args in [&["help"][..], &["--help"], &["build", "--help"]] {
        let output = run(folder, args, b"");
        assert!(output.status.success() && text(&output.stdout).lines().count() > 5);
    }
    let nothing = run(folder, &[], b"");
    assert!(text(&nothing.stderr).contains("Usage:") && nothing.status.code() == Some(2));
}
