//! `import`, `export`, `build` of other software's kinds and `build --capacity`, in this process.

use std::fs;
use std::path::Path;

use bloom_wasm::{Filter, Profile};
use bloom_wasm_cli::{Streams, run};
use tempfile::TempDir;

use crate::in_process::{arguments, read, told, tool, tool_with};

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
    done(&folder, &format!("import {{}}/{file} --format go-bloom --name list -o @a.bloom"), b"");
    let blob = Filter::decode(read(&folder, "a.bloom")).unwrap();
    assert_eq!((blob.name(), blob.profile()), (Some("list"), Profile::Raw));
    assert_eq!(done(&folder, "check @a.bloom", b"key-7\nno-such-key\nkey-9999\n"), "key-7\nkey-9999\n");
    let info = told(&folder, "info @a.bloom");
    assert_eq!((&info["kind"], &info["count"], &info["hashes"]), (&"go-bloom".into(), &().into(), &7.into()));
    assert_eq!(info["foreign"], serde_json::json!({ "bits": 95851, "hashes": 7 }));
    done(&folder, "export @a.bloom --format go-bloom -o @out.json", b"");
    assert_eq!(read(&folder, "out.json"), vector(file));

    let (code, _, err) = tool(&folder, "export @a.bloom --format guava -o @out.guava");
    assert_eq!(code, 2);
    assert!(err.contains("of kind go-bloom, as guava") && err.contains("[incompatible]"), "{}", err);
    assert!(!folder.path().join("out.guava").exists());
    done(&folder, "build - --kind bloom -o @own.bloom", b"key\n");
    assert!(tool(&folder, "export @own.bloom --format go-bloom -o @out.go").2.contains("[incompatible]"));
    let own = told(&folder, "info @own.bloom");
    assert_eq!(own["foreign"], serde_json::Value::Null);
}

#[test]
fn an_import_says_how_to_see_that_it_was_right() {
    let folder = TempDir::new().unwrap();
    let import = "import {}/guava/medium-utf8/filter.bin --format guava";
    let out = done(&folder, &format!("{import} -o @a.bloom"), b"");
    let path = folder.path().join("a.bloom").display().to_string();
    let [.., wrote, next] = &out.lines().collect::<Vec<_>>()[..] else { panic!("{out}") };
    assert_eq!(*wrote, format!("wrote  {path}, of kind guava"));
    assert_eq!(*next, format!("check  ask for a key that you know is in it: bloom-wasm check {path} KEY"));
    assert!(!done(&folder, &format!("{import} -o @b.bloom --json"), b"").contains("KEY"));
    let (mut blob, mut err) = (Vec::new(), Vec::new());
    let streams = &mut Streams { input: &mut &b""[..], out: &mut blob, err: &mut err, terminal: false };
    assert_eq!(run(arguments(&folder, &format!("{import} -o -")), streams), 0);
    assert_eq!(blob, read(&folder, "a.bloom"));
}

#[test]
fn an_import_that_lacks_a_member_writes_nothing() {
    let folder = TempDir::new().unwrap();
    let members: String = (0..10_000).map(|i| format!("key-{i}\n")).collect();
    fs::write(folder.path().join("members"), &members).unwrap();
    fs::write(folder.path().join("one"), "# nobody\nno-such-key\nkey-1\n").unwrap();
    fs::write(folder.path().join("empty"), "").unwrap();
    let import = "import {}/guava/medium-utf8/filter.bin --format guava -o @a.bloom --members";
    let numbers = "import {}/guava/longs-small/filter.bin --format guava --option funnel=long -o @a.bloom";
    for (args, words) in [
        (
            format!("{import} @members --option funnel=unencoded-chars"),
            "of 10,000 keys absent, the first at ",
        ),
        (format!("{import} @members --members @one"), "1 of 10,002 keys absent, the first at "),
        (format!("{import} @one"), "one:2: \"no-such-key\"; was the filter made with another hash, --option"),
        (format!("{import} @one"), "filter.bin: 1 of 2 keys absent"),
        (format!("{import} @empty"), "the lists of --members have no key to ask for"),
        (format!("{import} @nowhere"), "nowhere"),
        (format!("{numbers} --members @one"), "one:2: "),
        (
            "import - --format guava --members - -o @a.bloom".to_owned(),
            "standard input can be read only once",
        ),
        (format!("{import} @a.bloom"), "a.bloom: "),
    ] {
        let (code, out, err) = tool(&folder, &args);
        assert!(code == 2 && out.is_empty() && err.lines().count() == 1, "{args}: {err}");
        assert!(err.contains(words), "{args}: {err}");
        assert!(!folder.path().join("a.bloom").exists());
    }
    let out = done(&folder, &format!("{import} - --members @members"), b"key-3\n");
    assert!(out.contains("members  10,001 keys, 0 false negatives\n") && !out.contains("KEY"), "{out}");
    let (code, _, err) = tool(&folder, &format!("{} @one", import.replace("@a.bloom", "@one")));
    assert!(code == 2 && err.contains("this is both a list and the output"), "{err}");
}

#[test]
fn numbers_are_lines_of_digits() {
    let folder = TempDir::new().unwrap();
    let file = "guava/longs-small/filter.bin";
    done(&folder, &format!("import {{}}/{file} --format guava --option funnel=long -o @a.bloom"), b"");
    let members = String::from_utf8(vector("guava/longs-small/members.txt")).unwrap();
    assert_eq!(done(&folder, "check @a.bloom", members.as_bytes()), members);
    assert_eq!(done(&folder, "check @a.bloom -1", b""), "-1\n");
    let (code, _, err) = tool(&folder, "check @a.bloom 1.5");
    assert!(code == 2 && err.contains("[invalid_key]"), "{}", err);
    // Lines are looked up in blocks. Those before a line that is refused still get their answers.
    let many = members.repeat(2_000);
    assert!(many.len() > 1 << 16);
    assert_eq!(done(&folder, "check @a.bloom", many.as_bytes()), many);
    let (code, out, _) = tool_with(&folder, "check @a.bloom", format!("{members}x\n{members}").as_bytes());
    assert_eq!((code, out), (2, members.clone()));
    fs::write(folder.path().join("members"), &members).unwrap();
    // Of 22 keys, at a rate of 0.05.
    let random = told(&folder, "verify @a.bloom --members @members");
    let rates = ["measuredFpr", "estimatedFpr"].map(|name| random[name].as_f64().unwrap());
    assert!((rates[0] / rates[1] - 1.0).abs() < 0.1, "{random}");

    let (code, _, err) =
        tool_with(&folder, "build @members - --kind guava --option funnel=long -o @c.bloom", b"1\nx\n");
    assert!(code == 2 && err.contains("standard input:2") && err.contains("[invalid_key]"), "{}", err);
    let (code, _, err) = tool(
        &folder,
        &format!("import {{}}/{file} --format guava --option funnel=long --profile url -o @d.bloom"),
    );
    assert!(code == 2 && err.contains("numbers"), "{}", err);
}

#[test]
fn profiles_go_with_other_hashes_too() {
    let folder = TempDir::new().unwrap();
    let list = b"http://evil.example/a?b\nbad.example\nbad.example\n";
    let out = done(&folder, "build - --kind guava --profile url --fpr 0.0001 -o @a.bloom", list);
    assert!(out.contains("2 keys, 1 repeated"), "{out}");
    let asked = b"https://evil.example/a?b#c\nhttp://sub.bad.example/x\nhttp://good.example/\n";
    let found = "https://evil.example/a?b#c\nhttp://sub.bad.example/x\n";
    assert_eq!(done(&folder, "check @a.bloom", asked), found);
    // Unwrapped and wrapped again it's the same blob.
    done(&folder, "export @a.bloom --format guava -o @a", b"");
    done(&folder, "import @a --format guava --profile url -o @b.bloom", b"");
    assert_eq!(read(&folder, "a.bloom"), read(&folder, "b.bloom"));
    // And so do the options of the format.
    let options = "--option keys=long --option layout=v2 --option seed=-7 --option bits=64 --option hashes=3";
    done(&folder, &format!("build - --kind spark {options} -o @a.bloom"), b"5\n");
    let info = told(&folder, "info @a.bloom");
    let expected = serde_json::json!({ "scheme": "v2", "keys": "long", "bits": 64, "hashes": 3 });
    assert_eq!((&info["foreign"], &info["seed"]), (&expected, &(-7_i64 as u64).to_string().into()));
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
    }
    // With an allowlist a filter is read-only, even if it needs no layer.
    fs::write(folder.path().join("good"), "good\n").unwrap();
    let build = "build - --kind bloom --capacity 3000 --fpr 1e-6 --allow @good -o";
    done(&folder, &format!("{build} @a.bloom"), lines(0..10).as_bytes());
    let (code, _, error) = tool_with(&folder, "merge @a.bloom @a.bloom -o @b.bloom", b"");
    assert!(code == 2 && error.contains("an allowlist is read-only"), "{code}: {error}");
}

#[test]
fn what_does_not_go_together_is_refused() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("list"), "key\n").unwrap();
    for (args, words) in [
        ("build @list --capacity 10", "--capacity works only with"),
        ("build @list --kind scalable --capacity 10", "--capacity works only with"),
        ("build @list --kind bloom --counter-bits 8", "--counter-bits works only with"),
        ("build @list --kind guava --counter-bits 8", "--counter-bits works only with"),
        (
            "build @list --kind guava --seed 1",
            "--seed works only with our own kinds; spark has --option seed=N\n",
        ),
        ("build @list --kind guava --allow @list", "--allow works only with our own kinds"),
        ("build @list --kind guava --fpr 1", "fpr must be"),
        ("build @missing --kind spark --capacity 100000000000", "2^40 bits"),
        ("build @missing --kind redis-bitmap --capacity 1000000000", "redis-bitmap: 2^32"),
        ("build @list --kind foreign", "invalid value 'foreign'"),
        // Options of formats.
        ("build @list --option funnel=utf8", "--option works only with other software's kinds"),
        ("build @list --kind guava --option funnel=utf16", "funnel must be"),
        (
            "build @list --kind spark --option funnel=8",
            "--option funnel=8: there is no such option; spark has keys, ",
        ),
        ("import @list --format flor --option x=1", "--option x=1: there is no such option; flor has none\n"),
        (
            "import @list --format redis-bitmap --option bits=1 --option bits=1",
            "bits=1: this option is given twice; ",
        ),
        ("import @list --format redis-bitmap --option bits=many", "bits=many: this option is a number; "),
        (
            "import @list --format redis-bitmap --option hashes=4294967296",
            "number is out of its range; redis-bitmap",
        ),
        ("import @list --format redis-bitmap", "redis-bitmap needs bits and hashes"),
        (
            "import @list --format guava --option funnel=8",
            "--option funnel=8: this option is a text; guava has",
        ),
        ("import @list --format guava --option utf8", "give a name and a value, such as funnel=utf8"),
        // What is imported.
        ("import @list --format pybloom-live", "not supported: rebuild the filter from its keys"),
        ("import @list --format guava --lowercase", "--profile password"),
        ("import @list --format guava", "[unsupported_format]"),
        ("import @list", "--format"),
        ("import @missing --format guava", "missing"),
        // The message is about the format that was named.
        ("import {}/go-bits-and-blooms/medium/filter.bin --format redisbloom", "BF.SCANDUMP"),
        (
            "import {}/filterpassword/xor8-small/filter.bin --format filterpassword --profile password --sha1",
            "hashes the passwords itself",
        ),
    ] {
        let (code, _, err) = tool(&folder, &format!("{args} -o @a"));
        assert!(code == 2 && err.contains(words) && err.lines().count() == 1, "{args}: {err}");
        assert!(!folder.path().join("a").exists());
    }
}
