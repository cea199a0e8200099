//! The tool and tags: lists with names, in a blob and in a feed. The oracle is which lists a key is on.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use crate::in_process::{declare, done, payload, read, refused, told, tool, tool_with, write};
use bloom_wasm::layers::{Stack, Tagged};
use bloom_wasm::{Filter, Profile, hash};
use serde_json::Value;
use tempfile::TempDir;

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
        args += &format!(" --tag {name}=@{name}");
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
    let input = read(folder, "all");
    let (code, out, err) = tool_with(folder, &format!("check {file}"), &input);
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

/// Letters of every language stay in the name of a tag. What can't be seen is shown, into a pipe too.
#[test]
fn the_name_of_a_tag_is_no_other_line() {
    let folder = TempDir::new().unwrap();
    let lists = vec![("größe \u{5d0}\u{200b}".to_owned(), vec![hash::digest(0, b"good.example")])];
    let stack = Stack::build_tagged(&Tagged::new(lists, Vec::new()).unwrap(), None, 0.001, 0).unwrap();
    write(&folder, "blob", Filter::new(Profile::Raw, stack).encode().unwrap());
    assert_eq!(done(&folder, "check @blob good.example"), "good.example\tgröße \u{5d0}\\u{200b}\n");
}

#[test]
fn a_blob_with_tags() {
    let folder = TempDir::new().unwrap();
    let map = map(3000);
    let tags = lists(&folder, &map);
    let out = done(&folder, &format!("build @rest{tags} -o @blob"));
    assert!(out.contains("malware 600, phishing 2,400, spam 60"), "{out}");
    require_exact(&folder, "@blob", &map);
    let json = told(&folder, "info @blob");
    assert_eq!(json["tags"][1], serde_json::json!({ "name": "phishing", "count": 2400 }));

    // The same lists, whatever their order of keys, give the same bytes; and without tags there are none.
    done(&folder, &format!("build{tags} @rest -o @again"));
    assert_eq!(read(&folder, "blob"), read(&folder, "again"));
    done(&folder, "build @all -o @plain");
    assert_eq!(done(&folder, "check @plain key-0"), "key-0\n");
    let json = told(&folder, "info @plain");
    assert_eq!(json["tags"], Value::Null);

    // `verify` counts the keys with other tags.
    require_counted(&folder, "@blob", &tags);
    refused(&folder, &format!("verify @plain --probes 10{tags}"), "has no tags");
}

#[test]
fn bad_input() {
    let folder = TempDir::new().unwrap();
    write(&folder, "list", "key\n");
    write(&folder, "none", "");
    for (args, words) in [
        ("--tag a", "NAME=LIST"),
        ("--tag =@list", "1 to 255 bytes"),
        ("--tag a\u{202e}b=@list", "marks of direction"),
        ("--tag a,b=@list", "commas"),
        ("--tag a=@list --kind bloom", "--kind ribbon"),
        ("--tag a=@list --tag b=@none", "none: this list gave no key"),
        ("--tag a=- --tag b=-", "only once"),
    ] {
        refused(&folder, &format!("build {args} -o @blob"), words);
        assert!(!folder.path().join("blob").exists());
    }
    done(&folder, "build --tag a=@list --tag b=@none --allow-empty -o @blob");
    assert!(done(&folder, "info @blob").contains("tags      a 1, b 0"));
    // A feed with shards keeps the numbers of the tags that it had.
    let lines = |tags: u32| (0..tags).map(|i| format!("tag-{i} = \"list\"\n")).collect::<String>();
    let sharded = "sign = []\nprofile = \"raw\"\nshards = 4\ntags = true";
    declare(&folder, sharded, &lines(256));
    refused(&folder, "feed publish @feed.toml", "at most 255");
    assert!(!folder.path().join("public/shards.json").exists());
    declare(&folder, sharded, "a = \"list\"\nb = { file = \"none\", allow-empty = true }");
    done(&folder, "feed publish @feed.toml");
    assert!(done(&folder, "info @public").contains("tags        a 1, b 0"));
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
    let tags = "--tag x=@one --tag y=@three --tag x=@two";
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

/// The tags of a folder's manifest, as the map has them.
fn require_counts(folder: &TempDir, map: &Map, names: &[&str]) {
    let count = |name: &&str| map.values().filter(|its| its.contains(name)).count();
    let expected: Vec<_> =
        names.iter().map(|name| serde_json::json!({ "name": name, "count": count(name) })).collect();
    assert_eq!(payload(&read(folder, "public/shards.json"))["tags"], Value::from(expected));
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

    let files = || -> BTreeSet<Vec<u8>> {
        fs::read_dir(&dir).unwrap().map(|entry| fs::read(entry.unwrap().path()).unwrap()).collect()
    };
    let has_names = |file: &Vec<u8>| String::from_utf8_lossy(file).contains("phishing");
    assert!(!files().iter().any(has_names), "its names stand in the manifest");

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

    // Tags aren't taken from most keys by mistake.
    let untagged = "malware = \"malware\"\nphishing = \"phishing\"\nanew = \"anew\"\nrest = { file = \"rest\", allow-empty = true }";
    declare(&folder, &format!("dropped = [\"spam\"]\n{above}"), untagged);
    refused(&folder, "feed publish @feed.toml", "keys would get other tags");
    assert!(!done(&folder, "feed publish @feed.toml --max-removed 100%").contains("tags"));
    assert_eq!(payload(&read(&folder, "public/shards.json")).get("tags"), None);
    refused(&folder, &format!("verify @public --probes 10{tags}"), "has no tags");
}

/// With a secret, URLs, and lists of allowed keys.
#[test]
fn folders_of_other_keys() {
    let folder = TempDir::new().unwrap();
    write(&folder, "secret", "000102030405060708090a0b0c0d0e0f\n");
    let hosts = |line: &dyn Fn(u32) -> String| (0..300).map(|i| line(i) + "\n").collect::<String>();
    write(&folder, "hosts", hosts(&|i| format!("host{i}.example")));
    write(&folder, "pages", hosts(&|i| format!("http://www.host{i}.example/a/b")));
    write(&folder, "good", "host7.example\nhost8.example/a\n");
    let above = "sign = []\nprofile = \"url\"\nfpr = 1e-6\nshards = 16\ntags = true\nsecret = \"secret\"";
    let both = "hosts = \"hosts\"\npages = \"pages\"";
    declare(&folder, above, both);
    done(&folder, "feed publish @feed.toml");
    let urls = "http://www.host7.example/a/b?c http://host8.example/ http://good.example/";
    let out = done(&folder, &format!("check @public {urls} --secret-file @secret"));
    assert_eq!(out, "http://www.host7.example/a/b?c\thosts,pages\nhttp://host8.example/\thosts\n");
    refused(&folder, "check @public http://host8.example/", "secret_required");
    declare(&folder, &format!("{above}\nallow-wins = true"), &format!("{both}\n[allow]\ngood = \"good\""));
    let out = done(&folder, "feed publish @feed.toml");
    assert!(out.contains("tags     hosts 299, pages 300"), "{out}");
    assert_eq!(tool(&folder, "check @public http://host7.example/ --secret-file @secret").0, 1);
    let verify = "verify @public --probes 10 --tag pages=@pages --secret-file @secret";
    assert!(done(&folder, verify).contains("tags          0 keys"));
}

/// What each generation holds is what the lists say; and the deltas are small.
#[test]
fn a_feed_with_tags() {
    let folder = TempDir::new().unwrap();
    let mut map = map(5000);
    let above = "sign = []\nprofile = \"raw\"\nfpr = 0.01";
    declare(&folder, above, LISTS);
    let publish = |map: &Map| -> Value {
        lists(&folder, map);
        let report = told(&folder, "feed publish @feed.toml");
        require_exact(&folder, "@public", map);
        report
    };
    assert_eq!(publish(&map)["file"]["kind"], "base");
    for day in 0..6 {
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
        let report = publish(&map);
        let changes = [&report["added"], &report["removed"], &report["retagged"]];
        assert_eq!((changes, &report["file"]["kind"]), ([&5.into(), &5.into(), &9.into()], &"delta".into()));
    }
    // If nothing is new, nothing is published.
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
    declare(&folder, above, untagged.replace("spam = \"spam\"\n", "").as_str());
    let out = done(&folder, "feed publish @feed.toml --max-removed 100%");
    assert!(out.contains("the lists have no tags any more"), "{out}");
    declare(&folder, above, &two);
    let out = done(&folder, "feed publish @feed.toml");
    assert!(out.contains("the lists have tags now"), "{out}");
    require_exact(&folder, "@public", &map);
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
    let said = done(&folder, "check @public a");
    assert!(said.contains("tag-130") && said.contains("tag-259") && !said.contains("tag-129"), "{said}");
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
