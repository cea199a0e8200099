//! The tool and tags: lists with names, in a blob and in a feed. The oracle is which lists a key is on.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crate::in_process::{done, refused, tool, write};
use bloom_wasm::layers::{Stack, Tagged};
use bloom_wasm::{Delta, Filter, Profile, hash};
use serde_json::Value;
use tempfile::TempDir;
use twox_hash::XxHash32;

/// Keys, each with the names of its lists; they are separated and sorted by commas.
type Map = BTreeMap<String, BTreeSet<&'static str>>;

const NAMES: [&str; 3] = ["phishing", "malware", "spam"];

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
    assert!(out.contains("phishing 2,400, malware 600, spam 60"), "{out}");
    require_exact(&folder, "@blob", &map);
    assert_eq!(tool(&folder, "check @blob stranger").0, 1);
    assert!(done(&folder, "info @blob").contains("tags      phishing 2,400, malware 600, spam 60"));
    let json: Value = serde_json::from_str(&done(&folder, "info @blob --json")).unwrap();
    assert_eq!(json["tags"][1], serde_json::json!({ "name": "malware", "count": 600 }));

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
    build(&format!("--tag a={list} --tag a={list}"), "twice");
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
    let publish = |args: &str| format!("feed publish @folder {args} --state @state --profile raw --shards 4");
    let build = |args: &str, words: &str| {
        refused(&folder, &publish(args), words);
        assert!(!folder.path().join("folder/shards.json").exists());
    };
    build("--tag a", "NAME=LIST");
    build(&format!("--tag a,b={list}"), "commas");
    build(&format!("--tag a={list} --tag a={list}"), "twice");
    build(&format!("--tag a={list} --tag b={none}"), "none: this list gave no key");
    build(&format!("--tag a={list} --without-tag a"), "name the same tag, a");
    build("--tag a=- --tag b=-", "only once");
    build(&many, "at most 255");
    refused(&folder, &format!("build {list} --without-tag a -o @blob"), "--without-tag");
    done(&folder, &publish(&format!("--tag a={list} --tag b={none} --allow-empty")));
    assert!(done(&folder, "info @folder").contains("tags        a 1, b 0"));
    refused(&folder, &publish(&format!("{most} --without-tag a")), "begin another");
    done(&folder, &format!("feed publish @most{most} --state @most.state --profile raw --shards 4"));
    assert_eq!(done(&folder, "check @most key").matches(',').count(), 254, "a key in all lists");
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
    assert_eq!(payload(&folder.path().join("folder/shards.json"))["tags"], Value::from(expected));
}

/// The folder of a feed with shards: each shard is the filter of its keys, and the manifest has the names.
#[test]
fn a_folder_with_tags() {
    let folder = TempDir::new().unwrap();
    let dir = folder.path().join("folder");
    let mut map = map(5000);
    let build = |map: &Map, more: &str| {
        let tags = lists(&folder, map);
        let rest = if map.values().any(BTreeSet::is_empty) { "@rest" } else { "" };
        done(&folder, &format!("feed publish @folder {rest}{tags} --state @state{more}"))
    };
    let out = build(&map, " --profile raw --seed 7 --fpr 0.01 --shards 128");
    assert!(out.contains("tags     phishing 4,000, malware 1,000, spam 100"), "{out}");
    require_exact(&folder, "@folder", &map);
    require_counts(&folder, &map, &NAMES);
    assert!(done(&folder, "info @folder").contains("tags        phishing 4,000, malware 1,000, spam 100"));

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
    let tags = lists(&folder, &map);
    require_counted(&folder, "@folder", &tags);

    // If nothing is new, nothing is published, whatever the order of the lists.
    build(&map, "");
    let (before, generation) = (files(), payload(&dir.join("shards.json"))["generation"].clone());
    let list = |name: &str| format!(" --tag {name}={}", folder.path().join(name).display());
    let turned: String = NAMES.into_iter().rev().map(list).collect();
    let out = done(&folder, &format!("feed publish @folder{turned} @rest --state @state"));
    assert!(out.contains("unchanged"), "{out}");
    assert!(files() == before);
    // A list has its tag from the first run on.
    let out = done(&folder, "feed publish @folder @spam @phishing @rest @malware --state @state");
    assert!(out.contains("unchanged"), "{out}");
    assert!(files() == before);
    // A new name is appended, an old one stays, and a shard whose keys are the same is the same file.
    write(&folder, "new", "key-17\n");
    map.get_mut("key-17").unwrap().insert("new");
    for names in map.values_mut() {
        names.remove("spam");
    }
    let new = list("new");
    write(
        &folder,
        "rest",
        map.iter()
            .filter(|(_, names)| names.is_empty())
            .map(|(key, _)| format!("{key}\n"))
            .collect::<String>(),
    );
    done(
        &folder,
        &format!("feed publish @folder @rest @malware @phishing{new} --state @state --without-tag spam"),
    );
    require_counts(&folder, &map, &["phishing", "malware", "spam", "new"]);
    assert_eq!(payload(&dir.join("shards.json"))["generation"], generation.as_u64().unwrap() + 1);
    let changed = (0..100).map(|i| hash::digest(7, format!("key-{}", 50 * i + 9).as_bytes()) >> 57);
    let changed: BTreeSet<_> = changed.chain([hash::digest(7, b"key-17") >> 57]).collect();
    // And a page and the manifest, in place of the old one.
    assert_eq!(files().len(), before.len() + changed.len() + 1);

    // The keys of each tag are guarded by themselves, however many other keys there are.
    write(&folder, "malware", "key-1\n");
    let few = "feed publish @folder @rest @new @malware @phishing --state @state";
    refused(&folder, few, "malware: this list has 1 key, and had 1,000; at most 25% may be removed");
    // Also if its lines are as many as before.
    write(&folder, "malware", "key-1\n".repeat(1000));
    refused(&folder, few, "--tag malware: 999 of 1,000 keys would be removed");

    // Tags aren't dropped by mistake.
    let rest = "feed publish @folder @rest --state @state --max-removed 100%";
    let names = payload(&dir.join("shards.json"))["tags"].as_array().unwrap().clone();
    let with_keys: Vec<_> = names.iter().filter(|tag| tag["count"] != 0).collect();
    let given_up: String =
        with_keys.iter().map(|tag| format!(" --without-tag {}", tag["name"].as_str().unwrap())).collect();
    assert!(with_keys.len() > 1);
    let all_but_one = given_up.rsplit_once(" --without-tag").unwrap().0;
    for some in ["", all_but_one] {
        refused(&folder, &format!("{rest}{some}"), "the feed had a tag");
    }
    refused(
        &folder,
        &format!("{rest}{given_up} --without-tag a"),
        "--without-tag a: the feed has no such tag",
    );
    assert!(!done(&folder, &format!("{rest}{given_up}")).contains("tags"));
    assert_eq!(payload(&dir.join("shards.json")).get("tags"), None);
    done(&folder, rest);
    refused(&folder, &format!("verify @folder --probes 10{tags}"), "has no tags");
}

/// With a secret, URLs, and lists of allowed keys.
#[test]
fn folders_of_other_keys() {
    let folder = TempDir::new().unwrap();
    let map = map(500);
    let tags = lists(&folder, &map);
    write(&folder, "secret", "000102030405060708090a0b0c0d0e0f\n");
    let publish = format!("feed publish @folder @rest{tags} --state @state --secret-file @secret");
    done(&folder, &format!("{publish} --profile raw --shards 4"));
    require_counts(&folder, &map, &NAMES);
    write(&folder, "all", map.keys().map(|key| format!("{key}\n")).collect::<String>());
    let verify = format!("verify @folder --members @rest{tags} --probes 10 --secret-file @secret");
    assert!(done(&folder, &verify).contains("tags          0 keys"));
    refused(&folder, "check @folder key-0", "secret_required");

    let hosts: String = (0..300).map(|i| format!("host{i}.example\n")).collect();
    let pages: String = (0..300).map(|i| format!("http://www.host{i}.example/a/b\n")).collect();
    write(&folder, "hosts", hosts);
    write(&folder, "pages", pages);
    write(&folder, "good", "host7.example\nhost8.example/a\n");
    let list = |name: &str| folder.path().join(name).display().to_string();
    let tags = format!("--tag hosts={} --tag pages={}", list("hosts"), list("pages"));
    let publish = format!("feed publish @urls {tags} --state @state-of-urls");
    done(&folder, &format!("{publish} --profile url --fpr 1e-6 --shards 16"));
    let out = done(
        &folder,
        "check @urls http://www.host7.example/a/b?c http://host8.example/ http://good.example/",
    );
    assert_eq!(out, "http://www.host7.example/a/b?c\thosts,pages\nhttp://host8.example/\thosts\n");
    let out = done(&folder, &format!("{publish} --allow @good --allow-wins"));
    assert!(out.contains("tags     hosts 299, pages 300"), "{out}");
    assert_eq!(tool(&folder, "check @urls http://host7.example/").0, 1);
    assert!(
        done(&folder, &format!("verify @urls --probes 10 --tag pages={}", list("pages")))
            .contains("tags          0 keys")
    );
}

/// `feed build-shard` knows no tags.
#[test]
fn shards_that_were_built_elsewhere_have_no_tags() {
    let folder = TempDir::new().unwrap();
    let list = folder.path().join("list").display().to_string();
    write(&folder, "list", "a\nb\n");
    done(&folder, &format!("feed publish @folder --tag a={list} --state @state --profile raw --shards 1"));
    let digests: Vec<u8> = [b"a", b"b"].iter().flat_map(|key| hash::digest(0, *key).to_le_bytes()).collect();
    let shard = "feed build-shard --shards 1 --index 0 -o @parts";
    assert_eq!(crate::in_process::tool_with(&folder, shard, &digests).0, 0);
    let publish = "feed publish @folder @parts --state @state";
    refused(&folder, publish, "--without-tag a");
    refused(
        &folder,
        &format!("{publish} --tag a={list}"),
        "a folder of parts can't be combined with tags or an allowlist",
    );
    done(&folder, &format!("{publish} --without-tag a"));
    done(&folder, &format!("build --tag a={list} -o @parts/shard-00000.bloom"));
    refused(&folder, publish, "`feed build-shard` didn't make this");
}

/// What a client has after each generation is what the lists say; and the deltas are small.
#[test]
fn a_feed_with_tags() {
    let folder = TempDir::new().unwrap();
    let mut map = map(5000);
    let publish = |folder: &TempDir, map: &Map, more: &str| {
        let tags = lists(folder, map);
        let rest = if map.values().any(BTreeSet::is_empty) { "@rest" } else { "" };
        tool(folder, &format!("feed publish @feed {rest} --state @state --json{tags}{more}"))
    };
    let mut bases = 0;
    for day in 0..12 {
        let first = if day == 0 { " --profile raw --fpr 0.01" } else { "" };
        let (code, out, err) = publish(&folder, &map, first);
        assert_eq!(code, 0, "{err}");
        let report: Value = serde_json::from_str(&out).unwrap();
        bases += usize::from(report["file"]["kind"] == "base");
        if day > 0 {
            assert_eq!(
                [&report["added"], &report["removed"], &report["retagged"]],
                [&5, &5, &9],
                "day {day}"
            );
        }
        fs::write(folder.path().join("blob"), client(&folder)).unwrap();
        require_exact(&folder, "@blob", &map);

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
    let (_, out, _) = publish(&folder, &map, "");
    assert!(out.contains("\"published\": true"));
    let (_, out, _) = publish(&folder, &map, "");
    assert!(out.contains("\"published\": false") && out.contains("\"retagged\": 0"), "{out}");

    // Tags are neither forgotten nor dropped by mistake.
    write(&folder, "list", map.keys().map(|key| format!("{key}\n")).collect::<String>());
    let without = |names: &[&str]| {
        let without: String = names.iter().map(|name| format!(" --without-tag {name}")).collect();
        format!("feed publish @feed @list --state @state{without}")
    };
    for names in [&[][..], &NAMES[1..], &NAMES[..1]] {
        refused(&folder, &without(names), "the feed had a tag");
    }
    // Tags can be dropped one by one.
    let list = folder.path().join("list").display().to_string();
    let one =
        format!("feed publish @feed --state @state --tag {}={list} --tag {}={list}", NAMES[0], NAMES[2]);
    refused(&folder, &one, &format!("the feed had a tag {}", NAMES[1]));
    // The list of all keys takes the place of the one of those without a tag.
    let one_less = format!("{one} --without-tag {}", NAMES[1]);
    refused(&folder, &one_less, "rest: this list is missing, and had 874 keys");
    done(&folder, &format!("{one_less} --max-removed 100%"));
    done(&folder, &one);
    let out = done(&folder, &without(&[NAMES[0], NAMES[2]]));
    assert!(out.contains("the lists have no tags any more"), "{out}");
    assert_eq!(done(&folder, "feed publish @feed @list --state @state").matches("unchanged").count(), 1);
    // It is split again.
    let (code, _, err) = publish(&folder, &map, "");
    assert!(code == 2 && err.contains("rest: ") && err.contains("--max-removed"), "{err}");
    let (_, out, _) = publish(&folder, &map, " --max-removed 100%");
    assert!(out.contains("\"kind\": \"base\""), "{out}");
    let verified = done(&folder, "feed verify @feed");
    assert!(verified.contains("tags        phishing "), "{verified}");
    fs::write(folder.path().join("blob"), client(&folder)).unwrap();
    require_exact(&folder, "@blob", &map);
}

#[test]
fn a_list_keeps_its_tag() {
    for shards in ["", " --shards 2"] {
        let folder = TempDir::new().unwrap();
        write(&folder, "list", "a\nb\n");
        write(&folder, "other", "c\n");
        let publish = "feed publish @feed @list @other --state @state";
        let tag = format!("{publish} --tag t={}", folder.path().join("list").display());
        done(&folder, &format!("{tag} --profile raw --fpr 1e-6{shards}"));
        for again in [&tag, publish] {
            assert!(done(&folder, again).contains("unchanged"), "{again}");
        }
        assert_eq!(done(&folder, "check @feed a c"), "a\tt\nc\n");
        // As cron may write the path: it is the file that counts.
        let elsewhere = publish.replace("@list", "@feed/../list");
        assert!(done(&folder, &elsewhere).contains("unchanged"));
        assert_eq!(done(&folder, "check @feed a c"), "a\tt\nc\n");
        // Twice, however it is written, is once.
        let twice = publish.replace("@list", "@list @feed/../list");
        assert!(done(&folder, &twice).contains("unchanged"));
        // Another list with this tag would silently take it away.
        let other = format!("{publish} --tag t={}", folder.path().join("other").display());
        refused(&folder, &other, "--tag t is given twice; join its lists");
        done(&folder, &format!("{publish} --without-tag t"));
        assert_eq!(done(&folder, "check @feed a c"), "a\nc\n");
        assert!(done(&folder, publish).contains("unchanged"));
    }
}

#[test]
fn tags_are_given_up_once() {
    let folder = TempDir::new().unwrap();
    write(&folder, "list", "a\nb\n");
    write(&folder, "other", "c\n");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let publish = format!("feed publish @feed --state @state --tag list={}", path("list"));
    done(&folder, &format!("{publish} --tag other={} --profile raw --fpr 0.01", path("other")));
    refused(
        &folder,
        &format!("{publish} --without-tag othr"),
        "--without-tag othr: the feed has no such tag",
    );
    // A tag without keys is dropped without any change.
    write(&folder, "other", "");
    done(&folder, &format!("{publish} --tag other={} --allow-empty", path("other")));
    refused(&folder, &publish, "the feed had a tag other");
    assert!(done(&folder, &format!("{publish} --without-tag other")).contains("unchanged"));
    done(&folder, &publish);
    // Their names add up until there is a new base.
    let tags =
        |range: std::ops::Range<u32>, option: &dyn Fn(u32) -> String| range.map(option).collect::<String>();
    let list = path("list");
    let with = |i| format!(" --tag tag-{i}={list}");
    let without = |i| format!(" --without-tag tag-{i}");
    done(&folder, &format!("feed publish @feed --state @state --without-tag list{}", tags(0..130, &with)));
    let replaced = format!("{}{}", tags(130..260, &with), tags(0..130, &without));
    let said = done(&folder, &format!("feed publish @feed --state @state{replaced}"));
    assert!(said.contains("with the tags that were dropped, there would be more than 255"), "{said}");
    fs::write(folder.path().join("blob"), client(&folder)).unwrap();
    let said = done(&folder, "check @blob a");
    assert!(said.contains("tag-130") && said.contains("tag-259") && !said.contains("tag-129"), "{said}");
}

/// The blob that a client makes of the files of the feed.
fn client(folder: &TempDir) -> Vec<u8> {
    let dir = folder.path().join("feed");
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

/// Whoever brings back an old copy of the state can't know which tags have come since.
#[test]
fn an_old_state_drops_no_tag() {
    for shards in ["", " --shards 2"] {
        let folder = TempDir::new().unwrap();
        write(&folder, "list", "a\nb\n");
        write(&folder, "other", "c\n");
        let path = |name: &str| folder.path().join(name).display().to_string();
        let publish = "feed publish @feed --state @state @list";
        done(&folder, &format!("{publish} --tag list={} --profile raw --fpr 0.01{shards}", path("list")));
        let state = ["state.json", "members-1.digests"].map(|name| folder.path().join("state").join(name));
        let old: Vec<_> =
            state.iter().filter(|path| path.exists()).map(|path| fs::read(path).unwrap()).collect();
        done(&folder, &format!("{publish} --tag other={}", path("other")));
        state.iter().zip(&old).for_each(|(path, bytes)| fs::write(path, bytes).unwrap());
        refused(&folder, &format!("{publish} @other"), "the feed had a tag other, which clients may ask for");
        assert_eq!(done(&folder, "check @feed a c"), "a\tlist\nc\tother\n");
        let (code, _, err) = tool(&folder, &format!("{publish} --without-tag other --max-removed 100%"));
        assert!(code == 0 && err.contains("the state was an old copy") && err.lines().count() == 1, "{err}");
        assert_eq!(done(&folder, "check @feed a"), "a\tlist\n");
    }
}

/// The keys of a tag may also go because an allowlist has grown.
#[test]
fn an_allowlist_that_takes_the_keys_of_a_tag_is_refused() {
    for shards in ["", " --shards 2"] {
        let folder = TempDir::new().unwrap();
        let keys =
            |prefix: &str, count: u32| (0..count).map(|i| format!("{prefix}-{i}\n")).collect::<String>();
        write(&folder, "large", keys("large", 5000));
        write(&folder, "small", keys("small", 150));
        write(&folder, "allow", "good\n");
        let path = |name: &str| folder.path().join(name).display().to_string();
        let tags = format!("--tag large={} --tag small={}", path("large"), path("small"));
        let publish = format!("feed publish @feed --state @state {tags}");
        done(&folder, &format!("{publish} --profile raw --allow {} --allow-wins{shards}", path("allow")));
        write(&folder, "allow", keys("small", 30));
        done(&folder, &publish);
        write(&folder, "allow", keys("small", 150));
        let words = "--tag small: 120 of 120 keys would be removed, and at most 25% may be";
        refused(&folder, &publish, words);
        done(&folder, &format!("{publish} --max-removed 100%"));
    }
}
