//! The tool and tags: lists with names, in a blob and in a feed. The oracle is which lists a key is on.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crate::in_process::{declare, done, refused, tool, write};
use bloom_wasm::layers::{Stack, Tagged};
use bloom_wasm::{Delta, Filter, Profile, hash};
use serde_json::Value;
use tempfile::TempDir;
use twox_hash::XxHash32;

/// Keys, each with the names of its lists; they are separated and sorted by commas.
type Map = BTreeMap<String, BTreeSet<&'static str>>;

const NAMES: [&str; 3] = ["malware", "phishing", "spam"];

/// Writes a list for each name, and `rest` for the keys without one. Returns the arguments for them.
fn lists(folder: &TempDir, map: &Map) -> String {
    let list = |holds: &dyn Fn(&BTreeSet<&str>) -> bool| -> String {
        map.iter().filter(|(_, names)| holds(names)).map(|(key, _)| format!("{key}\n")).collect()
    };
    let mut args = String::new();
    for name in NAMES {
        write(folder, name, list(&|names| names.contains(name)));
        args += &format!(" --tag {name}={}", folder.path().join(name).display());
    }
    write(folder, "rest", list(&|names| names.is_empty()));
    args
}

fn map(total: usize) -> Map {
    let names = |i: usize| {
        let tags = [(i % 10 < 8, "phishing"), (i.is_multiple_of(5), "malware"), (i % 50 == 9, "spam")];
        tags.into_iter().filter_map(|(has, tag)| has.then_some(tag)).collect()
    };
    (0..total).map(|i| (format!("key-{i}"), names(i))).collect()
}

/// What `check` prints of all keys is what the map says.
fn require_exact(folder: &TempDir, file: &str, map: &Map) {
    write(folder, "all", map.keys().map(|key| format!("{key}\n")).collect::<String>());
    let input = crate::in_process::read(folder, "all");
    let (code, out, err) = crate::in_process::tool_with(folder, &format!("check {file}"), &input);
    assert_eq!((code, err.as_str()), (0, ""));
    let expected: String = map
        .iter()
        .map(|(key, names)| match names.is_empty() {
            true => format!("{key}\n"),
            false => {
                let in_order: Vec<_> = NAMES.into_iter().filter(|name| names.contains(name)).collect();
                format!("{key}\t{}\n", in_order.join(","))
            }
        })
        .collect();
    assert!(out == expected, "other tags");
}

/// `verify` finds no key with other tags than its lists say, and then one.
fn require_counted(folder: &TempDir, file: &str, tags: &str) {
    let verify = format!("verify {file} --members @rest --probes 1000 --json{tags}");
    let json: Value = serde_json::from_str(&done(folder, &verify)).unwrap();
    assert_eq!((&json["falseNegatives"], &json["wrongTags"]), (&0.into(), &0.into()));
    write(folder, "spam", "key-1\nkey-9\n");
    let (code, out, _) = tool(folder, &verify);
    let json: Value = serde_json::from_str(&out).unwrap();
    // key-1 isn't spam. The others that are spam are on no list now, so they aren't asked for.
    assert_eq!((code, &json["wrongTags"]), (1, &1.into()));
}

/// One rule for lists, the tool and blobs: no name looks like another line or two names, or changes the direction of
/// the text after it.
#[test]
fn the_name_of_a_tag_is_no_other_line() {
    let folder = TempDir::new().unwrap();
    let build = |name: &str| {
        let lists = vec![(name.to_owned(), vec![hash::digest(0, b"good.example")])];
        let stack = Stack::build_tagged(&Tagged::new(lists, Vec::new())?, None, 0.001, 0)?;
        Filter::new(Profile::Raw, stack).encode()
    };
    // Letters of every language stay; what can't be seen is shown, into a pipe too.
    write(&folder, "blob", build("größe \u{5d0}\u{200b}").unwrap());
    assert_eq!(done(&folder, "check @blob good.example"), "good.example\tgröße \u{5d0}\\u{200b}\n");
    write(&folder, "list", "key\n");
    let list = folder.path().join("list").display().to_string();
    let plain = build("ads.x").unwrap();
    let at = plain.windows(5).position(|bytes| bytes == b"ads.x").unwrap();
    for c in
        "\n\t\0\x7f\u{85},\u{61c}\u{200e}\u{200f}\u{2028}\u{2029}\u{202a}\u{202e}\u{2066}\u{2069}".chars()
    {
        assert_eq!(build(&format!("a{c}b")).unwrap_err().code(), "invalid_parameter", "{c:?}");
        let arguments =
            ["bloom-wasm", "build", "--tag", &format!("a{c}b={list}"), "-o", "x"].map(str::to_owned);
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let streams = &mut bloom_wasm_cli::Streams {
            input: &mut &b""[..],
            out: &mut out,
            err: &mut err,
            terminal: false,
        };
        assert_eq!(bloom_wasm_cli::run(arguments, streams), 2, "{c:?}");
        let err = String::from_utf8(err).unwrap();
        assert!(err.contains("without commas, control characters and marks of direction"), "{c:?}: {err}");
        if c.is_ascii() {
            let mut bytes = plain[..plain.len() - 4].to_vec();
            bytes[at + 3] = c as u8;
            let checksum = XxHash32::oneshot(0, &bytes);
            let error = Filter::decode([&bytes[..], &checksum.to_le_bytes()].concat()).unwrap_err();
            assert_eq!(error.code(), "invalid_parameter", "{c:?}");
        }
    }
}

#[test]
fn a_blob_with_tags() {
    let folder = TempDir::new().unwrap();
    let map = map(3000);
    let tags = lists(&folder, &map);
    let out = done(&folder, &format!("build @rest{tags} -o @blob"));
    assert!(out.contains("malware 600, phishing 2,400, spam 60"), "{out}");
    require_exact(&folder, "@blob", &map);
    assert_eq!(tool(&folder, "check @blob stranger").0, 1);
    assert!(done(&folder, "info @blob").contains("tags      malware 600, phishing 2,400, spam 60"));
    let json: Value = serde_json::from_str(&done(&folder, "info @blob --json")).unwrap();
    assert_eq!(json["tags"][1], serde_json::json!({ "name": "phishing", "count": 2400 }));

    // The same lists, whatever their order of keys, give the same bytes; and without tags there are none.
    done(&folder, &format!("build{tags} @rest -o @again"));
    assert_eq!(crate::in_process::read(&folder, "blob"), crate::in_process::read(&folder, "again"));
    done(&folder, "build @all -o @plain");
    assert_eq!(done(&folder, "check @plain key-0"), "key-0\n");
    let json: Value = serde_json::from_str(&done(&folder, "info @plain --json")).unwrap();
    assert_eq!(json["tags"], Value::Null);

    // `verify` counts the keys with other tags.
    require_counted(&folder, "@blob", &tags);
    refused(&folder, &format!("verify @plain --probes 10{tags}"), "has no tags");
}

#[test]
fn urls_have_the_tags_of_all_their_keys() {
    let folder = TempDir::new().unwrap();
    write(&folder, "hosts", "evil.example\n||bad.example^\n");
    write(&folder, "pages", "https://www.evil.example/a\nlocalhost\n");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let tags = format!("--tag hosts={} --tag pages={}", path("hosts"), path("pages"));
    done(&folder, &format!("build --profile url --fpr 1e-6 {tags} -o @blob"));
    let out =
        done(&folder, "check @blob http://www.evil.example/a?b https://x.bad.example/ http://good.example/");
    assert_eq!(out, "http://www.evil.example/a?b\thosts,pages\nhttps://x.bad.example/\thosts\n");
    // A key that is allowed is removed, and has no tags.
    write(&folder, "good", "bad.example\n");
    done(&folder, &format!("build --profile url {tags} --allow @good --allow-wins -o @blob"));
    assert_eq!(tool(&folder, "check @blob http://bad.example/").0, 1);
    assert!(done(&folder, "info @blob").contains("hosts 1, pages 2"));
}

#[test]
fn bad_input() {
    let folder = TempDir::new().unwrap();
    write(&folder, "list", "key\n");
    write(&folder, "none", "");
    let list = folder.path().join("list").display().to_string();
    let none = folder.path().join("none").display().to_string();
    let build = |args: &str, words: &str| {
        refused(&folder, &format!("build {args} -o @blob"), words);
        assert!(!folder.path().join("blob").exists());
    };
    build("--tag a", "NAME=LIST");
    build(&format!("--tag ={list}"), "1 to 255 bytes");
    build(&format!("--tag {}={list}", "x".repeat(256)), "1 to 255 bytes");
    build(&format!("--tag a,b={list}"), "commas");
    build(&format!("--tag a={list} --kind bloom"), "--kind ribbon");
    build(&format!("--tag a={list} --kind guava"), "--kind ribbon");
    build(&format!("--tag a={list} --tag b={none}"), "none: this list gave no key");
    build("--tag a=- --tag b=-", "only once");
    let many: String = (0..256).map(|i| format!(" --tag tag-{i}={list}")).collect();
    build(&many, "255");
    let most: String = (0..255).map(|i| format!(" --tag tag-{i}={list}")).collect();
    done(&folder, &format!("build{most} -o @blob"));
    assert_eq!(done(&folder, "check @blob key").matches(',').count(), 254, "a key in all lists");
    done(&folder, &format!("build --tag a={list} --tag b={none} --allow-empty -o @blob"));
    assert!(done(&folder, "info @blob").contains("tags      a 1, b 0"));
    // The same for a feed with shards, which has no manifest then.
    let lines = |tags: u32| (0..tags).map(|i| format!("tag-{i} = \"list\"\n")).collect::<String>();
    let sharded = "sign = []\nprofile = \"raw\"\nshards = 4\ntags = true";
    for (lists, words) in [
        ("\"a,b\" = \"list\"", "commas"),
        ("a = { file = \"list\", tag = \"\" }", "1 to 255 bytes"),
        ("a = \"list\"\nb = \"none\"", "b: this list gave no key"),
        (&lines(256), "at most 255"),
    ] {
        declare(&folder, sharded, lists);
        refused(&folder, "feed publish @feed.toml", words);
        assert!(!folder.path().join("public/shards.json").exists());
    }
    declare(&folder, sharded, "a = \"list\"\nb = { file = \"none\", allow-empty = true }");
    done(&folder, "feed publish @feed.toml");
    assert!(done(&folder, "info @public").contains("tags        a 1, b 0"));
    // The numbers of those that there were are kept.
    declare(&folder, &format!("dropped = [\"a\", \"b\"]\n{sharded}"), &lines(254));
    refused(&folder, "feed publish @feed.toml --max-removed 100%", "begin another");
    declare(&folder, &format!("dropped = [\"a\", \"b\"]\n{sharded}"), &lines(253));
    done(&folder, "feed publish @feed.toml --max-removed 100%");
    assert_eq!(done(&folder, "check @public key").matches(',').count(), 252, "a key in all lists");
}

/// A tag may have several lists, in a blob and in both kinds of feeds.
#[test]
fn a_tag_of_several_lists() {
    let folder = TempDir::new().unwrap();
    for (name, keys) in [("one", "a\nb\n"), ("two", "b\nc\n"), ("three", "c\n"), ("rest", "d\n")] {
        write(&folder, name, keys);
    }
    let path = |name: &str| folder.path().join(name).display().to_string();
    let tags = format!("--tag x={} --tag y={} --tag x={}", path("one"), path("three"), path("two"));
    done(&folder, &format!("build {tags} @rest --fpr 1e-6 -o @blob"));
    let expected = "a\tx\nb\tx\nc\tx,y\nd\n";
    assert_eq!(done(&folder, "check @blob a b c d"), expected);
    done(&folder, &format!("verify @blob {tags} --members @rest --probes 10"));
    for shards in ["", "\nshards = 2"] {
        fs::remove_dir_all(folder.path().join("public")).ok();
        fs::remove_dir_all(folder.path().join("state")).ok();
        let lists = "1 = { file = \"one\", tag = \"x\" }\n2 = { file = \"three\", tag = \"y\" }\n\
                     3 = { file = \"two\", tag = \"x\" }\n4 = \"rest\"";
        declare(&folder, &format!("sign = []\nprofile = \"raw\"\nfpr = 1e-6{shards}"), lists);
        done(&folder, "feed publish @feed.toml");
        assert_eq!(done(&folder, "check @public a b c d"), expected);
        done(&folder, &format!("verify @public {tags} --members @rest --probes 10"));
    }
}

/// What the manifest in a folder says.
fn payload(manifest: &Path) -> Value {
    let manifest: Value = serde_json::from_slice(&fs::read(manifest).unwrap()).unwrap();
    serde_json::from_slice(&decoded(manifest["payload"].as_str().unwrap())).unwrap()
}

/// The tags of a folder's manifest, as the map has them.
fn require_counts(folder: &TempDir, map: &Map, names: &[&str]) {
    let count = |name: &&str| map.values().filter(|its| its.contains(name)).count();
    let expected: Vec<_> =
        names.iter().map(|name| serde_json::json!({ "name": name, "count": count(name) })).collect();
    assert_eq!(payload(&folder.path().join("public/shards.json"))["tags"], Value::from(expected));
}

/// The lists of the map in `feed.toml`, each with its name as its tag, and those without a tag.
const LISTS: &str = "malware = { file = \"malware\", tag = \"malware\" }\nphishing = { file = \"phishing\", tag = \
                     \"phishing\" }\nspam = { file = \"spam\", tag = \"spam\" }\nrest = { file = \"rest\", allow-empty = true }";

/// The folder of a feed with shards: each shard is the filter of its keys, and the manifest has the names.
#[test]
fn a_folder_with_tags() {
    let folder = TempDir::new().unwrap();
    let dir = folder.path().join("public");
    let mut map = map(5000);
    let above = "sign = []\nprofile = \"raw\"\nseed = 7\nfpr = 0.01\nshards = 128";
    declare(&folder, above, LISTS);
    let tags = lists(&folder, &map);
    let out = done(&folder, "feed publish @feed.toml");
    assert!(out.contains("tags     malware 1,000, phishing 4,000, spam 100"), "{out}");
    require_exact(&folder, "@public", &map);
    require_counts(&folder, &map, &NAMES);
    assert!(done(&folder, "info @public").contains("tags        malware 1,000, phishing 4,000, spam 100"));

    // Shards as the crate makes them, of the keys with their first bits.
    let mut shards: BTreeMap<u64, Vec<(u64, &BTreeSet<&str>)>> = BTreeMap::new();
    for (key, names) in &map {
        let digest = hash::digest(7, key.as_bytes());
        shards.entry(digest >> 57).or_default().push((digest, names));
    }
    let files = || -> BTreeSet<Vec<u8>> {
        let files = fs::read_dir(&dir).unwrap().map(|entry| fs::read(entry.unwrap().path()).unwrap());
        files.collect()
    };
    let written = files();
    for keys in shards.values() {
        let list = |holds: &dyn Fn(&BTreeSet<&str>) -> bool| {
            keys.iter().filter(|(_, names)| holds(names)).map(|(digest, _)| *digest).collect()
        };
        let lists = NAMES.map(|name| (name.to_owned(), list(&|names| names.contains(name))));
        let tagged = Tagged::new(lists.into(), list(&|names| names.is_empty())).unwrap();
        let stack = Stack::build_tagged_shard(&tagged, None, 0.01, 7).unwrap();
        let blob = Filter::from(stack).encode().unwrap();
        assert!(written.contains(&blob));
        assert!(!String::from_utf8_lossy(&blob).contains("phishing"), "its names stand in the manifest");
        let names = NAMES.map(str::to_owned);
        let read = Filter::decode_shard(blob.clone(), None, &names).unwrap();
        for (digest, names) in keys {
            let found: BTreeSet<_> = read.stack().tags_of_all([*digest]).unwrap().into_iter().collect();
            assert_eq!(found, **names);
        }
        // Without the names it is no blob.
        assert_eq!(Filter::decode(blob).unwrap_err().code(), "invalid_parameter");
    }

    // `verify` counts the keys with other tags.
    require_counted(&folder, "@public", &tags);

    // If nothing is new, nothing is published.
    lists(&folder, &map);
    let before = files();
    assert!(done(&folder, "feed publish @feed.toml").contains("unchanged"));
    assert!(files() == before);
    // A new name is appended, an old one stays, and a shard whose keys are the same is the same file.
    map.get_mut("key-17").unwrap().insert("anew");
    map.values_mut().for_each(|names| {
        names.remove("spam");
    });
    lists(&folder, &map);
    write(&folder, "anew", "key-17\n");
    let without_spam = LISTS
        .replace("spam = { file = \"spam\", tag = \"spam\" }", "anew = { file = \"anew\", tag = \"anew\" }");
    declare(&folder, above, &without_spam);
    refused(
        &folder,
        "feed publish @feed.toml",
        "spam: this list is missing; if it is gone, write dropped = [\"spam\"] above [lists]",
    );
    declare(&folder, &format!("dropped = [\"spam\"]\n{above}"), &without_spam);
    done(&folder, "feed publish @feed.toml");
    require_counts(&folder, &map, &["malware", "phishing", "spam", "anew"]);
    let changed = (0..100).map(|i| hash::digest(7, format!("key-{}", 50 * i + 9).as_bytes()) >> 57);
    let changed: BTreeSet<_> = changed.chain([hash::digest(7, b"key-17") >> 57]).collect();
    // And a page and the manifest, in place of the old one.
    assert_eq!(files().len(), before.len() + changed.len() + 1);

    // The keys of each tag are guarded by themselves, however many other keys there are, and however often they are in
    // the list.
    write(&folder, "malware", "key-1\n");
    let words = "malware: this list has 1 key, and had 1,000; at most 25% may be removed";
    refused(&folder, "feed publish @feed.toml", words);
    write(&folder, "malware", "key-1\n".repeat(1000));
    refused(&folder, "feed publish @feed.toml", "malware: 999 of 1,000 keys would be removed");

    // Nor are tags taken from most keys by mistake.
    lists(&folder, &map);
    let untagged = "malware = \"malware\"\nphishing = \"phishing\"\nanew = \"anew\"\nrest = { file = \"rest\", allow-empty = true }";
    declare(&folder, &format!("dropped = [\"spam\"]\n{above}"), untagged);
    refused(&folder, "feed publish @feed.toml", "keys would get other tags");
    assert!(!done(&folder, "feed publish @feed.toml --max-removed 100%").contains("tags"));
    assert_eq!(payload(&dir.join("shards.json")).get("tags"), None);
    refused(&folder, &format!("verify @public --probes 10{tags}"), "has no tags");
}

/// With a secret, URLs, and lists of allowed keys.
#[test]
fn folders_of_other_keys() {
    let folder = TempDir::new().unwrap();
    let map = map(500);
    let tags = lists(&folder, &map);
    write(&folder, "secret", "000102030405060708090a0b0c0d0e0f\n");
    declare(&folder, "sign = []\nprofile = \"raw\"\nsecret = \"secret\"\nshards = 4", LISTS);
    done(&folder, "feed publish @feed.toml");
    require_counts(&folder, &map, &NAMES);
    let verify = format!("verify @public --members @rest{tags} --probes 10 --secret-file @secret");
    assert!(done(&folder, &verify).contains("tags          0 keys"));
    refused(&folder, "check @public key-0", "secret_required");

    let folder = TempDir::new().unwrap();
    write(&folder, "hosts", (0..300).map(|i| format!("host{i}.example\n")).collect::<String>());
    write(
        &folder,
        "pages",
        (0..300).map(|i| format!("http://www.host{i}.example/a/b\n")).collect::<String>(),
    );
    write(&folder, "good", "host7.example\nhost8.example/a\n");
    let above = "sign = []\nprofile = \"url\"\nfpr = 1e-6\nshards = 16\ntags = true\nallow-wins = true";
    let both = "hosts = \"hosts\"\npages = \"pages\"";
    declare(&folder, &above.replace("\nallow-wins = true", ""), both);
    done(&folder, "feed publish @feed.toml");
    let out = done(
        &folder,
        "check @public http://www.host7.example/a/b?c http://host8.example/ http://good.example/",
    );
    assert_eq!(out, "http://www.host7.example/a/b?c\thosts,pages\nhttp://host8.example/\thosts\n");
    declare(&folder, above, &format!("{both}\n[allow]\ngood = \"good\""));
    let out = done(&folder, "feed publish @feed.toml");
    assert!(out.contains("tags     hosts 299, pages 300"), "{out}");
    assert_eq!(tool(&folder, "check @public http://host7.example/").0, 1);
    let list = folder.path().join("pages").display().to_string();
    let verified = done(&folder, &format!("verify @public --probes 10 --tag pages={list}"));
    assert!(verified.contains("tags          0 keys"), "{verified}");
}

/// `feed build-shard` knows no tags.
#[test]
fn shards_that_were_built_elsewhere_have_no_tags() {
    let folder = TempDir::new().unwrap();
    write(&folder, "list", "a\nb\n");
    let above = "sign = []\nprofile = \"raw\"\nshards = 1\ndropped = [\"list\"]\nparts = \"parts\"";
    let digests: Vec<u8> = [b"a", b"b"].iter().flat_map(|key| hash::digest(0, *key).to_le_bytes()).collect();
    let shard = "feed build-shard --shards 1 --index 0 -o @parts";
    assert_eq!(crate::in_process::tool_with(&folder, shard, &digests).0, 0);
    declare(&folder, &format!("tags = true\n{above}"), "");
    refused(&folder, "feed publish @feed.toml", "`parts` can't be combined with [lists], [allow] or `tags`");
    declare(&folder, above, "");
    let list = folder.path().join("list").display().to_string();
    done(&folder, "feed publish @feed.toml");
    done(&folder, &format!("build --tag a={list} -o @parts/shard-00000.bloom"));
    refused(&folder, "feed publish @feed.toml", "`feed build-shard` didn't make this");
}

/// What a client has after each generation is what the lists say; and the deltas are small.
#[test]
fn a_feed_with_tags() {
    let folder = TempDir::new().unwrap();
    let mut map = map(5000);
    let above = "sign = []\nprofile = \"raw\"\nfpr = 0.01";
    declare(&folder, above, LISTS);
    let publish = |map: &Map| -> Value {
        lists(&folder, map);
        serde_json::from_str(&done(&folder, "feed publish @feed.toml --json")).unwrap()
    };
    let require_client = |map: &Map| {
        fs::write(folder.path().join("blob"), client(&folder)).unwrap();
        require_exact(&folder, "@blob", map);
    };
    let mut bases = 0;
    for day in 0..12 {
        let report = publish(&map);
        bases += usize::from(report["file"]["kind"] == "base");
        if day > 0 {
            let changes = [&report["added"], &report["removed"], &report["retagged"]];
            assert_eq!(changes, [&5, &5, &9], "day {day}");
        }
        require_client(&map);
        for i in 0..5 {
            map.remove(&format!("key-{}", day * 5 + i));
            map.insert(format!("new-{day}-{i}"), [NAMES[i % 3]].into());
        }
        for i in 0..9 {
            let names = map.get_mut(&format!("key-{}", 1000 + day * 9 + i)).unwrap();
            if !names.remove("spam") {
                names.insert("spam");
            }
        }
    }
    assert_eq!(bases, 1, "all but the first are deltas");
    // If nothing is new, nothing is published.
    assert_eq!(publish(&map)["published"], true);
    let report = publish(&map);
    assert_eq!([&report["published"], &report["retagged"]], [&Value::from(false), &Value::from(0)]);

    // Tags aren't taken from most keys by mistake, nor given to the keys of another list.
    let untagged = "malware = \"malware\"\nphishing = \"phishing\"\nspam = \"spam\"\nrest = \"rest\"";
    declare(&folder, above, untagged);
    refused(&folder, "feed publish @feed.toml", "keys would get other tags");
    let swapped = LISTS
        .replace("file = \"malware\"", "file = \"x\"")
        .replace("file = \"phishing\"", "file = \"malware\"");
    declare(&folder, above, &swapped.replace("file = \"x\"", "file = \"phishing\""));
    refused(&folder, "feed publish @feed.toml", "phishing: this list has ");
    // A tag may go with its list, and all of them when that is meant.
    map.values_mut().for_each(|names| {
        names.remove("spam");
    });
    let two = LISTS.replace("spam = { file = \"spam\", tag = \"spam\" }\n", "");
    declare(&folder, &format!("dropped = [\"spam\"]\n{above}"), &two);
    publish(&map);
    require_client(&map);
    declare(&folder, above, untagged.replace("spam = \"spam\"\n", "").as_str());
    let out = done(&folder, "feed publish @feed.toml --max-removed 100%");
    assert!(out.contains("the lists have no tags any more"), "{out}");
    declare(&folder, above, &two);
    let out = done(&folder, "feed publish @feed.toml");
    assert!(out.contains("the lists have tags now"), "{out}");
    require_client(&map);
}

/// The names of tags add up until there is a new base.
#[test]
fn more_tags_than_a_filter_can_have() {
    let folder = TempDir::new().unwrap();
    write(&folder, "list", "a\nb\n");
    let lines =
        |tags: std::ops::Range<u32>| tags.map(|i| format!("tag-{i} = \"list\"\n")).collect::<String>();
    let above = "sign = []\nprofile = \"raw\"\nfpr = 0.01\ntags = true";
    declare(&folder, above, &lines(0..130));
    done(&folder, "feed publish @feed.toml");
    let dropped: Vec<_> = (0..130).map(|i| format!("\"tag-{i}\"")).collect();
    declare(&folder, &format!("dropped = [{}]\n{above}", dropped.join(", ")), &lines(130..260));
    let said = done(&folder, "feed publish @feed.toml");
    assert!(said.contains("with the tags that were dropped, there would be more than 255"), "{said}");
    fs::write(folder.path().join("blob"), client(&folder)).unwrap();
    let said = done(&folder, "check @blob a");
    assert!(said.contains("tag-130") && said.contains("tag-259") && !said.contains("tag-129"), "{said}");
}

/// The blob that a client makes of the files of the feed.
fn client(folder: &TempDir) -> Vec<u8> {
    let dir = folder.path().join("public");
    let payload = payload(&dir.join("feed.json"));
    let files = payload["files"].as_array().unwrap().iter();
    let mut files = files.map(|file| fs::read(dir.join(file["sha256"].as_str().unwrap())).unwrap());
    let base = Filter::decode(files.next().unwrap()).unwrap();
    let apply = |blob: Filter, delta| blob.apply(Delta::decode_for(&blob, delta).unwrap()).unwrap();
    files.fold(base, apply).encode().unwrap()
}

/// Base64 for URLs.
fn decoded(text: &str) -> Vec<u8> {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut bits = 0;
    let mut held = 0;
    let mut bytes = Vec::new();
    for digit in text.bytes() {
        let digit = DIGITS.iter().position(|other| *other == digit).unwrap();
        (bits, held) = ((bits << 6 | digit) & 0xffff, held + 6);
        if held >= 8 {
            held -= 8;
            bytes.push((bits >> held) as u8);
        }
    }
    bytes
}

/// The keys of a tag may also go because an allowlist has grown.
#[test]
fn an_allowlist_that_takes_the_keys_of_a_tag_is_refused() {
    for shards in ["", "\nshards = 2"] {
        let folder = TempDir::new().unwrap();
        let keys =
            |prefix: &str, count: u32| (0..count).map(|i| format!("{prefix}-{i}\n")).collect::<String>();
        write(&folder, "large", keys("large", 5000));
        write(&folder, "small", keys("small", 150));
        write(&folder, "allow", "good\n");
        let above = format!("sign = []\nprofile = \"raw\"\ntags = true\nallow-wins = true{shards}");
        declare(&folder, &above, "large = \"large\"\nsmall = \"small\"\n[allow]\ngood = \"allow\"");
        done(&folder, "feed publish @feed.toml");
        write(&folder, "allow", keys("small", 30));
        done(&folder, "feed publish @feed.toml");
        write(&folder, "allow", keys("small", 150));
        let words = "small: 120 of 120 keys would be removed, and at most 25% may be";
        refused(&folder, "feed publish @feed.toml", words);
        done(&folder, "feed publish @feed.toml --max-removed 100%");
    }
}
