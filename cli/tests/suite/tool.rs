//! The tool on blobs that nobody should send: it answers or says in one line what is wrong, and prints nothing that a
//! terminal would obey. Most is called in this process; some hundred times the program itself runs. Also checks that
//! every command has tests and is documented.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use bloom_wasm::filters::AnyFilter;
use bloom_wasm::hash::{Secret, digest};
use bloom_wasm::interop::{self, Format};
use bloom_wasm::{Filter, RibbonFilter};
use bloom_wasm_cli::{Streams, run};
use tempfile::TempDir;
use twox_hash::XxHash32;

struct Ran {
    code: u8,
    out: Vec<u8>,
    err: String,
}

/// Runs the tool in this process.
fn tool(args: &[&str], mut input: &[u8], terminal: bool) -> Ran {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let streams = &mut Streams { input: &mut input, out: &mut out, err: &mut err, terminal };
    let code = run([&["bloom-wasm"], args].concat(), streams);
    Ran { code, out, err: String::from_utf8(err).unwrap() }
}

/// Behaves like a terminal: after the end, a further read would give more.
struct Terminal(std::vec::IntoIter<&'static [u8]>);

impl std::io::Read for Terminal {
    fn read(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
        let text = self.0.next().expect("nothing is read after the end");
        bytes[..text.len()].copy_from_slice(text);
        Ok(text.len())
    }
}

#[test]
fn input_ends_where_it_ends() {
    for args in [&["build", "-o", "-"][..], &["check", "../tests/golden/bloom.bloom"]] {
        for lines in [vec![&b"a\n"[..], b""], vec![b"a\n", b"bc\n", b""]] {
            let (mut out, mut err) = (Vec::new(), Vec::new());
            let input = &mut Terminal(lines.into_iter());
            let streams = &mut Streams { input, out: &mut out, err: &mut err, terminal: false };
            assert!(run([&["bloom-wasm"], args].concat(), streams) < 2, "{args:?}");
        }
    }
}

/// Runs the tool as a program.
fn program(args: &[&str], input: &[u8]) -> Ran {
    let output = crate::program::output(Command::new(crate::program::tool()).args(args), input);
    let code = output.status.code().expect("an exit code").try_into().unwrap();
    Ran { code, out: output.stdout, err: String::from_utf8(output.stderr).unwrap() }
}

/// The golden blobs.
fn golden() -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/golden");
    let mut paths: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "bloom"));
    paths.sort();
    assert!(paths.len() >= 15);
    paths.iter().map(|path| fs::read(path).unwrap()).collect()
}

/// Names that would forge rows, colour the screen, or turn the direction of what follows.
fn names() -> [String; 12] {
    [
        "\x1b[2J\x1b]0;title\x07".into(),
        "a\nkind      cuckoo: forged".into(),
        "a\r\nbloom-wasm: forged".into(),
        "\u{202e}moolb\u{2066}\u{200f}".into(),
        "a\u{2028}b\u{2029}c\u{85}d\u{9b}31me".into(),
        "\0\x7f\t\x08".into(),
        "\"\\\u{feff}{}%s".into(),
        "\x1b".repeat(255),
        "\u{10ffff}".repeat(63),
        "\u{300}".repeat(127),
        "größer 東京 हिन्दी".into(),
        String::new(),
    ]
}

const TIMES: [u64; 8] = [
    0,
    1,
    253_402_300_799_999,
    253_402_300_800_000,
    8_640_000_000_000_001,
    1 << 53,
    i64::MAX as u64,
    u64::MAX,
];

/// Whether there is nothing that a terminal would obey. Written independently of how the tool decides.
fn is_harmless(text: &str) -> bool {
    let obeyed = |c: char| {
        c != '\n' && (c < ' ' || ('\x7f'..='\u{9f}').contains(&c))
            || "\u{61c}\u{200b}\u{200e}\u{200f}\u{2028}\u{2029}\u{feff}".contains(c)
            || ('\u{202a}'..='\u{202e}').contains(&c)
            || ('\u{2066}'..='\u{2069}').contains(&c)
    };
    !text.contains(obeyed)
}

/// All commands that read a blob, which they get on standard input.
struct Commands<'a> {
    info: [&'a str; 2],
    all: Vec<Vec<&'a str>>,
    /// What a keyed blob needs besides.
    secret: [&'a str; 2],
}

impl<'a> Commands<'a> {
    fn new(folder: &'a TempDir, paths: &'a [String; 3]) -> Self {
        let [list, bloom, secret] = paths.each_ref().map(String::as_str);
        fs::write(secret, "000102030405060708090a0b0c0d0e0f").unwrap();
        let hashes = (0..50).map(|i| format!("key-{i}\n{:040x}:{i}\nhttp://a{i}.example/b\n", i * i));
        fs::write(list, hashes.collect::<String>()).unwrap();
        fs::write(bloom, fs::read("../tests/golden/bloom.bloom").unwrap()).unwrap();
        assert!(folder.path().exists());
        let all = [
            &["info", "-"][..],
            &["info", "-", "--json"],
            &["check", "-", "key-1", "http://evil.example/\x1b", "", "\u{202e}"],
            &["verify", "-", "--members", list, "--probes", "20"],
            &["verify", "-", "--members", list, "--absent", list, "--json"],
            &["merge", "-", bloom, "-o", "-"],
            &["merge", bloom, "-", "-o", "-", "--json"],
            &["export", "-", "--format", "guava", "-o", "-"],
        ];
        let secret = ["--secret-file", secret];
        Commands { info: ["info", "-"], all: all.map(<[_]>::to_vec).to_vec(), secret }
    }

    /// Runs all of them.
    fn run(&self, blob: &[u8], how: impl Fn(&[&str], &[u8]) -> Ran) {
        let secret = if is_keyed(blob) { &self.secret[..] } else { &[] };
        for args in &self.all {
            let Ran { code, out, err } = how(&[args, secret].concat(), blob);
            assert!(code <= 2, "{args:?}: {code}");
            // Skipped lines of lists are reported too.
            let skipped = |line: &&str| line.contains(": skipped, ") || line.starts_with("and ");
            let errors: Vec<_> = err.lines().filter(|line| args[0] != "verify" || !skipped(line)).collect();
            assert_eq!(errors.len(), usize::from(code == 2), "{args:?}: {err}");
            assert!(errors.iter().all(|line| line.starts_with("bloom-wasm: ")), "{args:?}: {err}");
            assert!(is_harmless(&err), "{args:?}: {err:?}");
            let writes_blob = args.contains(&"-o");
            if args.contains(&"--json") && code < 2 && !writes_blob {
                serde_json::from_slice::<serde_json::Value>(&out).unwrap();
            }
            if !writes_blob && args[0] != "check" {
                assert!(is_harmless(std::str::from_utf8(&out).unwrap()), "{args:?}");
            }
            assert!(code < 2 || out.is_empty(), "{args:?}");
        }
        let rows = how(&[&self.info, secret].concat(), blob);
        if rows.code == 0 {
            let rows = String::from_utf8(rows.out).unwrap();
            let decoded = match decode(blob.to_vec()) {
                // A delta has rows of its own. A blob without a payload is one if its kind says so.
                Err(bloom_wasm::Error::WrongKind { kind: "delta" }) => return,
                decoded => decoded.unwrap(),
            };
            let foreign: &[_] =
                if matches!(decoded.stack().base(), AnyFilter::Foreign(_)) { &["foreign"] } else { &[] };
            let tags: &[_] = if decoded.stack().is_tagged() { &["tags"] } else { &[] };
            let first = [&["kind"][..], foreign, &["profile", "name", "created", "keys"], tags].concat();
            let last = ["capacity", "fpr now", "bits", "hashes", "seed", "keyed", "layers", "size", "id"];
            let names = [&first[..], &last].concat();
            let starts = rows.lines().zip(&names).all(|(row, name)| row.starts_with(&format!("{name:10}")));
            assert!(starts && rows.lines().count() == names.len(), "{rows}");
        }
    }
}

/// Decodes, with the secret of the golden files if the blob is keyed.
fn decode(bytes: Vec<u8>) -> Result<Filter, bloom_wasm::Error> {
    let secret = Secret::from(std::array::from_fn(|i| i as u8));
    if is_keyed(&bytes) { Filter::decode_keyed(bytes, &secret) } else { Filter::decode(bytes) }
}

fn is_keyed(blob: &[u8]) -> bool {
    blob.get(7).is_some_and(|flags| flags & 32 != 0)
}

fn paths(folder: &TempDir) -> [String; 3] {
    ["list", "other.bloom", "secret"].map(|name| folder.path().join(name).to_str().unwrap().to_owned())
}

/// The step of a loop that takes only some of its cases. It is 1 where `EVERY` is set, as `npm run test:all` sets it.
fn every(step: usize) -> usize {
    if std::env::var_os("EVERY").is_some() { 1 } else { step }
}

#[test]
fn every_command_on_every_golden_blob_with_hostile_metadata() {
    let folder = TempDir::new().unwrap();
    let paths = paths(&folder);
    let commands = Commands::new(&folder, &paths);
    let step = every(4);
    for (at, bytes) in golden().into_iter().enumerate() {
        let mut blob = decode(bytes).unwrap();
        let (names, mut times) = (names(), TIMES.into_iter().cycle());
        let cases = names.iter().map(|name| (Some(name), times.next())).collect::<Vec<_>>();
        let cases = cases.into_iter().chain([(None, None)]).chain(TIMES.map(|time| (None, Some(time))));
        for (name, time) in cases.skip(at % step).step_by(step) {
            blob.describe(name.cloned(), time).unwrap();
            let bytes = blob.encode().unwrap();
            commands.run(&bytes, |args, blob| tool(args, blob, false));
            let secret = if is_keyed(&bytes) { &commands.secret[..] } else { &[] };
            let json = tool(&[&["info", "-", "--json"], secret].concat(), &bytes, false);
            let json: serde_json::Value = serde_json::from_slice(&json.out).unwrap();
            assert_eq!(json["name"].as_str(), name.map(String::as_str));
            assert_eq!(json["createdAt"].as_f64(), time.map(|time| time as f64));
        }
    }
    let mut blob = Filter::decode(golden().remove(0)).unwrap();
    for (name, time) in names().into_iter().zip(TIMES.into_iter().cycle()).step_by(step) {
        blob.describe(Some(name), Some(time)).unwrap();
        commands.run(&blob.encode().unwrap(), program);
    }
}

/// Numbers as random as a hash.
fn number(i: u64, part: u64) -> u64 {
    digest(part, &i.to_le_bytes())
}

/// A golden blob with up to five bytes changed, mostly of the header, and a checksum that fits.
fn mutation(golden: &[Vec<u8>], i: u64) -> Vec<u8> {
    let mut bytes = golden[number(i, 0) as usize % golden.len()].clone();
    let end = bytes.len() - 4;
    for edit in 0..=number(i, 1) % 5 {
        let reach = if number(i, 2 + edit).is_multiple_of(4) { end } else { end.min(80) };
        let at = 5 + number(i, 10 + edit) as usize % (reach - 5);
        let value = number(i, 20 + edit).to_le_bytes();
        bytes[at] = if value[1].is_multiple_of(2) { bytes[at] ^ 1 << (value[0] % 8) } else { value[0] };
    }
    // As long as its header says, if that isn't far from its length, so that more of them are legal.
    if let Ok(Some(length)) = Filter::expected_length(&bytes)
        && length < 1 << 16
    {
        bytes.resize(length as usize, 0);
    }
    let end = bytes.len() - 4;
    let checksum = XxHash32::oneshot(0, &bytes[..end]);
    bytes[end..].copy_from_slice(&checksum.to_le_bytes());
    bytes
}

/// `MUTATIONS` asks for another number of them; every hundredth, and no more than some hundred, goes to the program.
#[test]
fn every_command_on_mutated_blobs() {
    let folder = TempDir::new().unwrap();
    let paths = paths(&folder);
    let commands = Commands::new(&folder, &paths);
    let cases = std::env::var("MUTATIONS").map_or(200, |number| number.parse().unwrap());
    let golden: Vec<_> = golden().into_iter().filter(|blob| blob.len() < 10_000).collect();
    let mut legal = 0;
    for i in 0..cases {
        let bytes = mutation(&golden, i);
        legal += u64::from(decode(bytes.clone()).is_ok());
        commands.run(&bytes, |args, blob| tool(args, blob, false));
    }
    assert!(legal > cases / 4, "only {legal} of {cases} are legal");
    (0..cases.div_ceil(20).min(40)).for_each(|i| commands.run(&mutation(&golden, i), program));
}

#[test]
fn keys_are_escaped_for_a_terminal_and_for_nobody_else() {
    let keys = ["größer", "\x1b[31mred", "a\u{202e}b", "\u{9b}1m"];
    let mut digests = keys.map(|key| digest(0, key.as_bytes())).to_vec();
    let blob = Filter::from(RibbonFilter::from_digests(&mut digests, 1e-6, 0).unwrap()).encode().unwrap();
    let asked = [&["check", "-"], &keys[..]].concat();
    let raw = tool(&asked, &blob, false);
    assert_eq!((raw.code, String::from_utf8(raw.out).unwrap()), (0, keys.join("\n") + "\n"));
    let shown = tool(&asked, &blob, true);
    let expected = "größer\n\\u{1b}[31mred\na\\u{202e}b\n\\u{9b}1m\n";
    assert_eq!((shown.code, String::from_utf8(shown.out).unwrap()), (0, expected.to_owned()));
}

#[test]
#[cfg(unix)]
fn names_of_files_and_lines_of_lists_are_escaped() {
    let folder = TempDir::new().unwrap();
    let hostile =
        |name: &str| folder.path().join(format!("{name}\x1b[2J\n\u{202e}")).to_str().unwrap().to_owned();
    let [list, out, damaged, nowhere] = ["list", "out", "damaged", "nowhere"].map(hostile);
    fs::write(&list, "evil.example\n*\x1b[2J\u{202e}\nhost.example/#\u{9b}\n* हिन्दी\n").unwrap();
    fs::write(&damaged, fs::read("../tests/golden/bloom.bloom").unwrap().split_last().unwrap().1).unwrap();
    let harmless = |args: &[&str], code| {
        let ran = tool(args, b"", true);
        assert_eq!(ran.code, code, "{args:?}: {}", ran.err);
        let out = String::from_utf8(ran.out).unwrap();
        assert!(is_harmless(&ran.err) && is_harmless(&out), "{args:?}: {:?} {out:?}", ran.err);
        if code == 2 {
            assert_eq!(ran.err.lines().count(), 1, "{args:?}: {}", ran.err);
        }
        ran.err + &out
    };
    let said = harmless(&["build", &list, "--allow", &list, "--profile", "url", "-o", &out], 0);
    assert!(said.contains(r"list\u{1b}[2J\n\u{202e}:2: skipped") && said.contains("\"* हिन्दी\""), "{said}");
    assert!(said.lines().any(|row| row.starts_with("wrote ")), "{said}");
    harmless(&["build", &list, "--name", "\x1b[2J\n\u{202e}", "-o", &out, "--json"], 0);
    harmless(&["verify", &out, "--members", &list, "--absent", &list], 0);
    harmless(&["build", &list, "--kind", "bloom", "-o", &out], 0);
    harmless(&["merge", &out, &out, "-o", &out], 0);
    for path in [&damaged, &nowhere, &list] {
        harmless(&["info", path], 2);
        harmless(&["check", path, "\x1b"], 2);
        harmless(&["verify", path, "--members", &list], 2);
        harmless(&["merge", &out, path, "-o", &out], 2);
        harmless(&["build", &nowhere, "--allow", path, "-o", &out], 2);
    }
    harmless(&["build", &list, "-o", &(nowhere.clone() + "/a")], 2);
    harmless(&["build", &list, "-o", folder.path().to_str().unwrap()], 2);
    harmless(&["verify", &out, "--members", &nowhere], 2);
    harmless(&["info", &out, "--\x1b\u{202e}"], 2);
    harmless(&["build", "-o", &out, "--fpr", "\x1b\n\nforged\u{202e}"], 2);
}

/// All commands, such as `feed publish`, each with its help.
fn helps(above: &str) -> Vec<(String, String)> {
    let args: Vec<_> = above.split_whitespace().chain(["--help"]).collect();
    let help = String::from_utf8(program(&args, b"").out).unwrap();
    let Some((_, listed)) = help.split_once("\nCommands:\n") else { return vec![(above.to_owned(), help)] };
    let names = listed.lines().map_while(|line| line.strip_prefix("  ")?.split(' ').next());
    let names = names.filter(|name| !["", "help"].contains(name));
    names.flat_map(|name| helps(format!("{above} {name}").trim_start())).collect()
}

#[test]
fn the_help_has_the_options_of_each_format() {
    type Options = fn(Format) -> bloom_wasm::error::Result<&'static [&'static str]>;
    for (command, options) in
        [("import", interop::reading_options as Options), ("build", interop::making_options)]
    {
        let help = String::from_utf8(program(&[command, "--help"], b"").out).unwrap();
        assert!(!help.contains("pybloom-live"), "a format that isn't read is refused, and never shown");
        let (_, rows) = help.split_once("--option <NAME=VALUE>").unwrap();
        let (rows, _) = rows.split_once("\n\n").unwrap();
        // `guava: funnel=utf8 (default), ...`, of which further lines begin two columns later.
        let rows = rows.replace("\n            ", " ");
        for &format in Format::ALL {
            let its = rows.lines().filter_map(|row| row.trim().split_once(": "));
            let its = its.filter(|(formats, _)| formats.split(", ").any(|name| name == format.name()));
            let told = its.flat_map(|(_, words)| words.split(' ').filter_map(|word| word.split_once('=')));
            let told: BTreeSet<_> = told.map(|(name, _)| name).collect();
            let expected = options(format).into_iter().flatten().copied().collect();
            assert_eq!(told, expected, "{command}: {}", format.name());
        }
    }
}

#[test]
fn each_command_is_documented_and_tested() {
    let read = |path: &str| fs::read_to_string(Path::new("..").join(path)).unwrap();
    let contain = |paths: &[&str], text: &str| {
        let found = paths.iter().any(|path| read(path).contains(text));
        assert!(found, "{text:?} is missing: {}", paths.join(" or "));
    };
    let all = helps("");
    assert!(all.len() > 10, "{all:?}");
    let with = |words: &str| -> Vec<&str> {
        all.iter().filter(|(_, help)| help.contains(words)).map(|(name, _)| name.as_str()).collect()
    };
    for name in with("") {
        contain(
            &["docs/tool.md", "docs/hosting.md", "docs/publish-a-list.md", "docs/bring-a-filter.md"],
            &format!("bloom-wasm {name} "),
        );
        contain(&["pkg-tests/tool/npx.long.test.mjs"], &format!("tool {name} "));
    }
    for name in with("--secret-file <FILE>") {
        contain(&["cli/tests/suite/keyed.rs"], &format!("\"{name} "));
    }
    let folder = TempDir::new().unwrap();
    let paths = paths(&folder);
    let mut tested: Vec<_> = Commands::new(&folder, &paths).all.iter().map(|args| args[0]).collect();
    tested.dedup();
    tested.sort_unstable();
    // As the help calls what is to be a blob.
    let mut read_blobs = with("  The blob");
    read_blobs.sort_unstable();
    assert_eq!(tested, read_blobs);
}
