//! The tool and secrets: they are read from files, and a wrong one is reported at once.

use std::fs;

use bloom_wasm::hash::{Hashing, Secret};
use tempfile::TempDir;

use crate::in_process::told;

/// The tool, with files in a folder of its own.
struct Tool(TempDir);

impl Tool {
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let tool = Tool(folder);
        tool.write("secret", b"000102030405060708090a0b0c0d0e0f\n");
        tool.write("other", &[7; 16]);
        tool.write("short", b"0001020304\n");
        tool.write("list", b"evil.example\nbad.example\n");
        tool
    }

    fn write(&self, name: &str, bytes: &[u8]) {
        crate::in_process::write(&self.0, name, bytes);
    }

    fn read(&self, name: &str) -> Vec<u8> {
        crate::in_process::read(&self.0, name)
    }

    fn run_with(&self, args: &str, input: &[u8]) -> (u8, String, String) {
        crate::in_process::tool_with(&self.0, args, input)
    }

    fn done(&self, args: &str) -> String {
        crate::in_process::done(&self.0, args)
    }

    /// Fails with this code, in one line that shows nothing of a secret.
    fn refused(&self, args: &str, code: &str) {
        let (exit, out, err) = self.run_with(args, b"");
        assert!(exit == 2 && err.contains(&format!("[{code}]")) && out.is_empty(), "{args}: {out}{err}");
        assert!(err.lines().count() == 1 && !err.contains("0001020304"), "{args}: {err}");
    }
}

#[test]
fn the_tool_reads_a_secret_from_a_file() {
    let tool = Tool::new();
    tool.done("build @list -o @keyed --secret-file @secret --profile url");
    tool.done("build @list -o @again --secret-file @secret --profile url");
    assert_ne!(tool.read("keyed"), tool.read("again"), "a random seed each");
    tool.done("build @list -o @plain --profile url");
    let out = tool.done("check @keyed http://evil.example/a --secret-file @secret");
    assert_eq!(out, "http://evil.example/a\n");
    let json = told(&tool.0, "info @keyed --secret-file @secret");
    assert_eq!(json["keyed"], true);
    tool.done("verify @keyed --members @list --probes 1000 --secret-file @secret");
    // 16 bytes are the same as their digits.
    tool.write("raw", &(0..16).collect::<Vec<u8>>());
    tool.done("verify @keyed --members @list --probes 1000 --secret-file @raw");
    // And so are digits behind a byte order mark.
    tool.write("marked", &["\u{feff}".as_bytes(), &tool.read("secret")].concat());
    tool.done("verify @keyed --members @list --probes 1000 --secret-file @marked");

    tool.write("delta", &fs::read("../tests/golden/keyed.delta").unwrap());
    let json = told(&tool.0, "info @delta --secret-file @secret");
    assert_eq!((&json["kind"], &json["keyed"]), (&"delta".into(), &true.into()));
    for part in ["one", "two"] {
        tool.done(&format!(
            "build @list -o @{part} --kind bloom --capacity 9 --seed 5 --secret-file @secret"
        ));
    }
    tool.done("merge @one @two -o @merged --secret-file @secret");
    tool.done("build @list -o @random --kind bloom --capacity 9 --secret-file @secret");

    let all = [
        "check @keyed evil.example",
        "info @keyed",
        "info @delta",
        "verify @keyed --members @list",
        "merge @one @two -o @never",
    ];
    for args in all {
        tool.refused(args, "secret_required");
        tool.refused(&format!("{args} --secret-file @other"), "wrong_secret");
        tool.refused(&format!("{args} --secret-file @short"), "invalid_parameter");
    }
    tool.refused("check @plain evil.example --secret-file @secret", "wrong_secret");
    tool.refused("build @list -o @never --secret-file @short", "invalid_parameter");
    tool.write("word", b"correct horse b\n");
    tool.refused("build @list -o @never --secret-file @word", "invalid_parameter");
    tool.write("long", &[b'0'; 5000]);
    tool.refused("build @list -o @never --secret-file @long", "invalid_parameter");
    for (args, words) in [
        ("build @list -o @never --secret-file @missing", "missing"),
        ("build @list -o @secret --secret-file @secret", "both the secret and the output"),
        ("merge @one @two -o @secret --secret-file @secret", "both the secret and the output"),
        ("build @list -o @never --secret-file -", "not standard input"),
        // The argument isn't shown, since it may be the secret.
        (
            "build @list -o @never --secret-file 0123456789abcdef0123456789abcdef",
            "bloom-wasm: --secret-file takes",
        ),
        ("build @list -o @never --kind guava --secret-file @secret", "other software"),
        ("export @one -o @never --format guava", "no other software reads keyed filters"),
        ("merge @one @random -o @never --secret-file @secret", "with one --seed"),
    ] {
        let (code, _, err) = tool.run_with(args, b"");
        assert!(code == 2 && err.contains(words) && err.lines().count() == 1, "{args}: {err}");
    }
    assert!(!tool.0.path().join("never").exists());
    assert_eq!(tool.read("secret").len(), 33);
}

/// Describes a keyed feed, or another one, and returns the command that publishes it.
fn describe(tool: &Tool, dir: &str, list: &str, above: &str) -> String {
    let above = format!("public = '{dir}'\nstate = '{dir}.state'\nsign = []\nprofile = 'raw'\n{above}");
    crate::in_process::declare(&tool.0, &above, &format!("list = '{list}'"));
    "feed publish @feed.toml".to_owned()
}

/// Nobody publishes the list by forgetting the secret, or under another one; also if the state was lost.
fn require_secret(tool: &Tool, dir: &str, list: &str, above: &str) {
    for secret in ["", "secret = 'other'"] {
        // The seed of a feed with a secret is that of its id.
        let above = format!("{above}\n{secret}\nseed = {}", 0x0011_2233_4455_6677_u64);
        let (code, _, err) = tool.run_with(&describe(tool, dir, list, &above), b"");
        let words = "`secret` was another, and a feed keeps it for ever";
        assert!(code == 2 && err.contains(words) && err.lines().count() == 1, "{secret}: {err}");
    }
}

#[test]
fn a_keyed_feed() {
    let tool = Tool::new();
    let publish = |list: &str| describe(&tool, "public", list, "secret = 'secret'");
    tool.done(&publish("list"));
    let keys = (0..500).map(|i| format!("key-{i}\n")).collect::<String>();
    tool.write("long", [&tool.read("list"), keys.as_bytes()].concat().as_slice());
    tool.done(&publish("long"));
    let verified = told(&tool.0, "feed verify @public --secret-file @secret");
    assert_eq!((&verified["keyed"], &verified["count"]), (&true.into(), &502.into()));
    assert_eq!(verified["files"].as_array().unwrap().len(), 1, "a new base");
    tool.write("next", [&tool.read("long"), &b"one-more\n"[..]].concat().as_slice());
    tool.done(&publish("next"));
    let manifest = tool.read("public/feed.json");
    tool.refused("feed verify @public", "secret_required");
    tool.refused("feed verify @public --secret-file @other", "wrong_secret");
    require_secret(&tool, "public", "next", "");
    fs::remove_dir_all(tool.0.path().join("public.state")).unwrap();
    // Even if its files can't be read.
    fs::create_dir(tool.0.path().join("alone")).unwrap();
    fs::write(tool.0.path().join("alone/feed.json"), &manifest).unwrap();
    for dir in ["alone", "public"] {
        require_secret(&tool, dir, "next", "");
    }
    assert_eq!(tool.read("public/feed.json"), manifest);
    tool.done(&(publish("list") + " --max-removed 100%"));
    tool.done("feed verify @public --secret-file @secret");
}

#[test]
fn a_keyed_feed_with_shards() {
    let tool = Tool::new();
    let keys = (0..2000).map(|i| format!("key-{i}\n")).collect::<String>();
    tool.write("keys", keys.as_bytes());
    let publish = |dir: &str, above: &str| describe(&tool, dir, "keys", above);
    tool.done(&publish("sharded", "shards = 8\nsecret = 'secret'"));
    let before = tool.read("sharded/shards.json");
    let out = tool.done(&publish("sharded", "shards = 8\nsecret = 'secret'"));
    assert!(out.contains("unchanged"), "the same seed again: {out}");
    assert_eq!(tool.read("sharded/shards.json"), before);
    tool.done("verify @sharded --members @keys --probes 10000 --secret-file @secret");
    assert_eq!(tool.done("check @sharded key-7 --secret-file @secret"), "key-7\n");
    for args in ["check @sharded key-7", "info @sharded", "verify @sharded --members @keys"] {
        tool.refused(args, "secret_required");
        tool.refused(&format!("{args} --secret-file @other"), "wrong_secret");
    }
    tool.done(&publish("plain", "shards = 8"));
    tool.refused("check @plain key-7 --secret-file @secret", "wrong_secret");
    let (code, _, err) = tool.run_with(&publish("plain", "shards = 8\nseed = 0\nsecret = 'secret'"), b"");
    assert!(code == 2 && err.contains("`secret` was none, and a feed keeps it for ever"), "{err}");
    require_secret(&tool, "sharded", "keys", "shards = 8");
    fs::remove_dir_all(tool.0.path().join("sharded.state")).unwrap();
    require_secret(&tool, "sharded", "keys", "shards = 8");
    assert_eq!(tool.read("sharded/shards.json"), before);

    // Built elsewhere, from digests that follow FORMAT.md, section 3.
    let hashing = Hashing::keyed(&Secret::from(std::array::from_fn(|i| i as u8)), 5);
    let build = |shard: u64, secret: &str| {
        let digests = (0..2000).map(|i| hashing.digest(format!("key-{i}").as_bytes()));
        let digests = digests.filter(|digest| digest >> 63 == shard).flat_map(u64::to_le_bytes);
        let args = format!("feed build-shard --shards 2 --index {shard} --seed 5 -o @parts{secret}");
        let (code, _, err) = tool.run_with(&args, &digests.collect::<Vec<u8>>());
        assert_eq!(code, 0, "{err}");
    };
    (0..2).for_each(|shard| build(shard, " --secret-file @secret"));
    let of_parts = |secret: &str| {
        let above = "public = 'elsewhere'\nsign = []\nprofile = 'raw'\nshards = 2\nseed = 5";
        crate::in_process::declare(&tool.0, &format!("{above}\nparts = 'parts'\n{secret}"), "");
        "feed publish @feed.toml"
    };
    tool.refused(of_parts(""), "secret_required");
    tool.refused(of_parts("secret = 'other'"), "wrong_secret");
    tool.done(of_parts("secret = 'secret'"));
    tool.done("verify @elsewhere --members @keys --probes 1000 --secret-file @secret");
    // One of them was built without the secret.
    build(0, " --secret-file @secret");
    build(1, "");
    let (code, _, err) = tool.run_with(of_parts("secret = 'secret'"), b"");
    assert!(
        code == 2 && err.contains("shard-00001-of-00002.bloom: this is not the secret of the filter"),
        "{err}"
    );
    let (code, _, err) =
        tool.run_with("feed build-shard --shards 2 --index 0 -o @parts --secret-file @secret", b"");
    assert!(code == 2 && err.contains("--seed"), "{err}");
}
