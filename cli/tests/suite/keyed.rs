//! The tool and secrets: they are read from files, and a wrong one is reported at once.

use std::fs;

use bloom_wasm::hash::{Hashing, Secret};
use tempfile::TempDir;

use crate::feed::{PUBLISH, feed, lines, lose, tell, tell_lists, write_list};
use crate::in_process::{done, read, refused, told, tool, tool_with, write};

/// A folder with secrets and a list.
fn with_secrets() -> TempDir {
    let folder = feed("");
    write(&folder, "secret", "000102030405060708090a0b0c0d0e0f\n");
    write(&folder, "other", [7; 16]);
    write(&folder, "short", "0001020304\n");
    write(&folder, "list", "evil.example\nbad.example\n");
    folder
}

/// Fails with this code, in one line that shows nothing of a secret.
fn fails(folder: &TempDir, args: &str, code: &str) {
    let (exit, out, err) = tool(folder, args);
    assert!(exit == 2 && err.contains(&format!("[{code}]")) && out.is_empty(), "{args}: {out}{err}");
    assert!(err.lines().count() == 1 && !err.contains("0001020304"), "{args}: {err}");
}

#[test]
fn the_tool_reads_a_secret_from_a_file() {
    let folder = with_secrets();
    done(&folder, "build @list -o @keyed --secret-file @secret --profile url");
    done(&folder, "build @list -o @again --secret-file @secret --profile url");
    assert_ne!(read(&folder, "keyed"), read(&folder, "again"), "a random seed each");
    done(&folder, "build @list -o @plain --profile url");
    let out = done(&folder, "check @keyed http://evil.example/a --secret-file @secret");
    assert_eq!(out, "http://evil.example/a\n");
    let json = told(&folder, "info @keyed --secret-file @secret");
    assert_eq!(json["keyed"], true);
    done(&folder, "verify @keyed --members @list --probes 1000 --secret-file @secret");
    // 16 bytes are the same as their digits.
    write(&folder, "raw", (0..16).collect::<Vec<u8>>());
    done(&folder, "verify @keyed --members @list --probes 1000 --secret-file @raw");
    // And so are digits behind a byte order mark.
    write(&folder, "marked", ["\u{feff}".as_bytes(), &read(&folder, "secret")].concat());
    done(&folder, "verify @keyed --members @list --probes 1000 --secret-file @marked");

    write(&folder, "delta", fs::read("../tests/golden/keyed.delta").unwrap());
    let json = told(&folder, "info @delta --secret-file @secret");
    assert_eq!((&json["kind"], &json["keyed"]), (&"delta".into(), &true.into()));
    for part in ["one", "two"] {
        done(
            &folder,
            &format!("build @list -o @{part} --kind bloom --capacity 9 --seed 5 --secret-file @secret"),
        );
    }
    done(&folder, "merge @one @two -o @merged --secret-file @secret");
    done(&folder, "build @list -o @random --kind bloom --capacity 9 --secret-file @secret");

    let all = [
        "check @keyed evil.example",
        "info @keyed",
        "info @delta",
        "verify @keyed --members @list",
        "merge @one @two -o @never",
    ];
    for args in all {
        fails(&folder, args, "secret_required");
        fails(&folder, &format!("{args} --secret-file @other"), "wrong_secret");
        fails(&folder, &format!("{args} --secret-file @short"), "invalid_parameter");
    }
    fails(&folder, "check @plain evil.example --secret-file @secret", "wrong_secret");
    fails(&folder, "build @list -o @never --secret-file @short", "invalid_parameter");
    write(&folder, "word", "correct horse b\n");
    fails(&folder, "build @list -o @never --secret-file @word", "invalid_parameter");
    write(&folder, "long", [b'0'; 5000]);
    fails(&folder, "build @list -o @never --secret-file @long", "invalid_parameter");
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
        refused(&folder, args, words);
    }
    assert!(!folder.path().join("never").exists());
    assert_eq!(read(&folder, "secret").len(), 33);
}

/// Nobody publishes the list by forgetting the secret, or under another one; also if the state was lost.
fn require_secret(folder: &TempDir, above: &str) {
    for secret in ["", "secret = 'other'"] {
        // The seed of a feed with a secret is that of its id.
        tell(folder, &format!("{above}\n{secret}\nseed = {}", 0x0011_2233_4455_6677_u64), "");
        refused(folder, PUBLISH, "`secret` was another, and a feed keeps it for ever");
    }
    tell(folder, &format!("{above}\nsecret = 'secret'"), "");
}

#[test]
fn a_keyed_feed() {
    let folder = with_secrets();
    tell(&folder, "secret = 'secret'", "");
    done(&folder, PUBLISH);
    write_list(&folder, 0..500);
    done(&folder, PUBLISH);
    let verified = told(&folder, "feed verify @public --secret-file @secret");
    assert_eq!((&verified["keyed"], &verified["count"]), (&true.into(), &500.into()));
    assert_eq!(verified["files"].as_array().unwrap().len(), 1, "a new base");
    write_list(&folder, 0..501);
    done(&folder, PUBLISH);
    let manifest = read(&folder, "public/feed.json");
    fails(&folder, "feed verify @public", "secret_required");
    fails(&folder, "feed verify @public --secret-file @other", "wrong_secret");
    require_secret(&folder, "");
    lose(&folder, "state");
    require_secret(&folder, "");
    assert_eq!(read(&folder, "public/feed.json"), manifest);
    // Even if its files can't be read.
    lose(&folder, "public");
    fs::create_dir(folder.path().join("public")).unwrap();
    write(&folder, "public/feed.json", manifest);
    require_secret(&folder, "");
    done(&folder, &format!("{PUBLISH} --max-removed 100%"));
    done(&folder, "feed verify @public --secret-file @secret");
}

#[test]
fn a_keyed_feed_with_shards() {
    let folder = with_secrets();
    write_list(&folder, 0..2000);
    let keyed = "shards = 8\nsecret = 'secret'";
    tell(&folder, keyed, "");
    done(&folder, PUBLISH);
    let before = read(&folder, "public/shards.json");
    let out = done(&folder, PUBLISH);
    assert!(out.contains("unchanged"), "the same seed again: {out}");
    assert_eq!(read(&folder, "public/shards.json"), before);
    done(&folder, "verify @public --members @list --probes 10000 --secret-file @secret");
    assert_eq!(done(&folder, "check @public key-7.example --secret-file @secret"), "key-7.example\n");
    for args in ["check @public key-7", "info @public", "verify @public --members @list"] {
        fails(&folder, args, "secret_required");
        fails(&folder, &format!("{args} --secret-file @other"), "wrong_secret");
    }
    require_secret(&folder, "shards = 8");
    lose(&folder, "state");
    require_secret(&folder, "shards = 8");
    assert_eq!(read(&folder, "public/shards.json"), before);
    let plain = with_secrets();
    tell(&plain, "shards = 8", "");
    done(&plain, PUBLISH);
    fails(&plain, "check @public key-7 --secret-file @secret", "wrong_secret");
    tell(&plain, &format!("{keyed}\nseed = 0"), "");
    refused(&plain, PUBLISH, "`secret` was none, and a feed keeps it for ever");
}

/// From digests that follow FORMAT.md, section 3.
#[test]
fn keyed_shards_that_were_built_elsewhere() {
    let folder = with_secrets();
    let hashing = Hashing::keyed(&Secret::from(std::array::from_fn(|i| i as u8)), 5);
    let build = |shard: u64, secret: &str| {
        let digests: Vec<_> = lines(0..2000).lines().map(|key| hashing.digest(key.as_bytes())).collect();
        let own = digests.into_iter().filter(|digest| digest >> 63 == shard).flat_map(u64::to_le_bytes);
        let args = format!("feed build-shard --shards 2 --index {shard} --seed 5 -o @parts{secret}");
        let (code, _, err) = tool_with(&folder, &args, &own.collect::<Vec<u8>>());
        assert_eq!(code, 0, "{err}");
    };
    (0..2).for_each(|shard| build(shard, " --secret-file @secret"));
    let with = |secret: &str| {
        tell_lists(&folder, &format!("shards = 2\nseed = 5\nparts = 'parts'\n{secret}"), "");
    };
    with("");
    fails(&folder, PUBLISH, "secret_required");
    with("secret = 'other'");
    fails(&folder, PUBLISH, "wrong_secret");
    with("secret = 'secret'");
    done(&folder, PUBLISH);
    write_list(&folder, 0..2000);
    done(&folder, "verify @public --members @list --probes 1000 --secret-file @secret");
    // One of them was built without the secret.
    build(0, " --secret-file @secret");
    build(1, "");
    refused(&folder, PUBLISH, "shard-00001-of-00002.bloom: this is not the secret of the filter");
    let args = "feed build-shard --shards 2 --index 0 -o @parts --secret-file @secret";
    refused(&folder, args, "--secret-file needs --seed");
}
