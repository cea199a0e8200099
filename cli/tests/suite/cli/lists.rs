//! How lists are read: lines, gzip, and files that aren't lists.

use std::fs;
use std::io::Read;

use bloom_wasm::Profile;
use tempfile::TempDir;

use super::{blob_of, build, checked, packed, run, text, url_blob, with_filter};

#[test]
fn lists_are_read_as_documented() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    fs::write(folder.join("plain"), "a\nb\n\nc").unwrap();
    fs::write(folder.join("messy"), "\u{feff}a\r\n# comment\n\r\nb\nb\n c#d\nc").unwrap();
    fs::write(folder.join("packed"), [packed(b"a\nb\n"), packed(b"c\n")].concat()).unwrap();

    let abc = blob_of(Profile::Raw, 1e-3, &[b"a", b"b", b"c"]);
    assert_eq!(build(folder, "plain", b"").0, abc);
    assert_eq!(build(folder, "packed", b"").0, abc);
    assert_eq!(build(folder, "", b"c\nb\na\n").0, abc);
    assert_eq!(build(folder, "- plain", b"a\n").0, abc);
    let (messy, report, _) = build(folder, "messy", b"");
    assert_eq!(messy, blob_of(Profile::Raw, 1e-3, &[b"a", b"b", b" c#d", b"c"]));
    assert!(report.contains("4 keys, 1 repeated, 1 comment skipped"), "{report}");
    assert_eq!(build(folder, "--allow-empty", b"").0, blob_of(Profile::Raw, 1e-3, &[]));
}

/// A line that is too long is counted as skipped, and what comes after it is read. A limit that is exact to the byte,
/// whatever is around the line.
#[test]
fn a_line_that_is_too_long_is_skipped() {
    const LONGEST: usize = 1 << 20;
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    let key = &"x".repeat(LONGEST);
    for (text, is_key) in [
        (format!("{key}\nlast"), true),
        (format!("{key}\r\nlast"), true),
        (format!("\u{feff}{key}\r\nlast"), true),
        (format!("last\n{key}"), true),
        (format!("\u{feff}{key}x\r\nlast"), false),
        (format!("{key}x\nlast"), false),
        (format!("last\n{key}x"), false),
        (format!("last\n{key}{key}\n"), false),
        // What is cut off would be a carriage return.
        (format!("{key}xxxxxxx\r\r\r\nlast"), false),
    ] {
        let expected: &[&[u8]] = if is_key { &[key.as_bytes(), b"last"] } else { &[b"last"] };
        let (blob, said, _) = build(folder, "", text.as_bytes());
        assert!(blob == blob_of(Profile::Raw, 1e-3, expected), "{said}");
        assert_ne!(said.contains("1 skipped (longer than 1 MiB)"), is_key, "{said}");
    }
    // The numbers of the lines after several of them.
    let text = format!("{key}x\n{key}x\n{}\nevil[.]com\nevil.com\n", key.repeat(5));
    for text in [text.as_bytes(), &packed(text.as_bytes())] {
        let (blob, _, warned) = build(folder, "--profile url", text);
        assert_eq!(blob, url_blob(&["evil.com/"]));
        assert!(
            warned.starts_with("standard input:1: skipped, longer than 1 MiB: \"xxx"),
            "{}",
            warned.len()
        );
        let last = warned.lines().nth(3).unwrap();
        assert!(last.starts_with("standard input:4: skipped, not a URL"), "{last}");
    }
}

/// In the file's first line, it isn't part of the key; in any other line it is, even in the first line of a thread's
/// part.
#[test]
fn a_byte_order_mark_stands_at_the_start_of_a_list() {
    let folder = TempDir::new().unwrap();
    let keys: Vec<String> = (0..30_000).map(|i| format!("\u{feff}{i}")).collect();
    let list = format!("\u{feff}{}", keys.join("\n"));
    let (blob, _, _) = build(folder.path(), "--fpr 0.01", list.as_bytes());
    let keys: Vec<&[u8]> = keys.iter().map(String::as_bytes).collect();
    assert_eq!(blob, blob_of(Profile::Raw, 0.01, &keys));
}

/// The threads take a list in parts, which must not show in the result.
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
    for (args, expected) in [
        ("packed", places(&|number| format!("packed:{number}"))),
        ("", places(&|number| format!("standard input:{number}"))),
        (
            "half rest",
            places(&|number| {
                if number > 4600 { format!("rest:{}", number - 4600) } else { format!("half:{number}") }
            }),
        ),
    ] {
        let (built, _, warned) = build(folder, &format!("{args} --profile url"), list.as_bytes());
        assert!(built == blob, "{args}");
        let told: Vec<_> = warned.lines().map(|line| line.split(": ").next().unwrap()).collect();
        assert_eq!(told, expected);
    }
    let verify = "verify out --json --members half --absent plain";
    let verdict: serde_json::Value = serde_json::from_slice(&run(folder, verify, b"").stdout).unwrap();
    let some = 4600 - 3;
    assert_eq!((&verdict["members"], &verdict["falseNegatives"]), (&some.into(), &0.into()));
    assert_eq!(verdict["probes"], keys.len() - some);

    let torn = &packed(list.as_bytes())[..20_000];
    fs::write(folder.join("torn"), torn).unwrap();
    let mut readable = Vec::new();
    flate2::read::GzDecoder::new(torn).read_to_end(&mut readable).unwrap_err();
    let line = 1 + readable.iter().filter(|&&byte| byte == b'\n').count();
    assert!(line > 1000);
    let output = run(folder, "build torn -o out", b"");
    let error = text(&output.stderr);
    assert!(error.starts_with(&format!("bloom-wasm: torn:{line}: ")), "{line}: {error}");
}

#[test]
fn zeros_after_a_gzip_file_are_no_keys_and_garbage_is_refused() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    let file = [packed(b"a\nb\n"), packed(b"c\n")].concat();
    let expected = blob_of(Profile::Raw, 1e-3, &[b"a", b"b", b"c"]);
    for zeros in [0, 1, 200_000] {
        let padded = [&file[..], &vec![0; zeros]].concat();
        assert_eq!(build(folder, "", &padded).0, expected, "{zeros} zeros");
        // Another file may follow at once.
        for garbage in [&b"abc\n"[..], &packed(b"d\n")].iter().take(if zeros == 0 { 1 } else { 2 }) {
            fs::write(folder.join("list.gz"), [&padded, *garbage].concat()).unwrap();
            let output = run(folder, "build list.gz -o new", b"");
            let error = text(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{zeros} zeros, {garbage:?}");
            assert!(error.starts_with("bloom-wasm: list.gz") && error.lines().count() == 1, "{error}");
        }
    }
    assert!(!folder.join("new").exists());
}

/// How files that hold no UTF-8 lines start, from their specifications.
const NO_LISTS: [(&[u8], &str); 16] = [
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
    (b"a\0\n\0b\0", "UTF-16"),
    (b"\0a\0\n\0b", "UTF-16"),
    (b"\xff\xfe\0\0a\0\0\0", "UTF-32"),
    (b"\0\0\xfe\xff\0\0\0a", "UTF-32"),
    (b"\xb5BLM\x01\x01", "blob"),
];

#[test]
fn what_is_no_list_is_refused_by_its_name() {
    with_filter(|folder| {
        let refused = |args: &str, stdin: &[u8], name: &str| {
            let output = run(folder, args, stdin);
            let error = text(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{args}: {error}");
            assert!(error.contains("this is a") || error.contains("this is UTF"), "{args}: {error}");
            assert!(error.contains(name) && error.lines().count() == 1, "{args}: {error}");
            assert!(output.stdout.is_empty());
        };
        let within = packed(&packed(b"a\n"));
        let gzip = (&within[..], "gzip file in a gzip file");
        for (bytes, name) in NO_LISTS.into_iter().chain([gzip]) {
            fs::write(folder.join("no"), bytes).unwrap();
            fs::write(folder.join("no.gz"), packed(bytes)).unwrap();
            refused("build no -o new --profile url", b"", name);
            refused("build no.gz -o new --profile raw", b"", name);
            refused("check f.bloom", bytes, name);
        }
        for args in [
            "build list --profile raw --allow no -o new",
            "verify f.bloom --members no",
            "verify f.bloom --members list --absent no",
        ] {
            refused(args, b"", "gzip file in a gzip file");
        }
        assert!(!folder.join("new").exists());
        // These can be keys, so they are.
        let keys = "BZh9 is a name\nPK\n7z\n";
        build(folder, "--fpr 1e-9", keys.as_bytes());
        assert_eq!(text(&checked(folder, keys.as_bytes())), keys);
        assert_eq!(text(&checked(folder, &packed(keys.as_bytes()))), keys);
    });
}
