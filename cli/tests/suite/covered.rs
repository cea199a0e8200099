//! Entries that others cover: what is built, published and verified. The oracle is the set of all keys, by their names.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;

use bloom_wasm::keys::native::Native;
use bloom_wasm::keys::url;
use serde_json::Value;
use tempfile::TempDir;

use crate::in_process::{declare, done, refused, told, tool, tool_with, write};

/// Numbers by chance, always the same.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }
}

/// Hosts below each other, with folders and pages.
fn entry(random: &mut Random) -> String {
    let mut entry = String::new();
    for _ in 0..random.below(5) {
        entry += ["a.", "b."][random.below(2)];
    }
    entry += ["x.example", "y.example", "z.example"][random.below(3)];
    entry + ["", "", "", "/", "/p", "/p/", "/p/q", "/p/q/", "/p?q", "/p/q/r/s"][random.below(10)]
}

fn keys(text: &str) -> Vec<String> {
    let readings = url::readings(&Native, text.as_bytes()).unwrap();
    readings.keys().map(|key| String::from_utf8(key.to_vec()).unwrap()).collect()
}

/// Lists whose entries come and go, with tags or without, and an allowlist that wins.
struct Lists {
    random: Random,
    /// The entries of each list; the first has no tag.
    lists: Vec<BTreeSet<String>>,
    allow: BTreeSet<String>,
}

impl Lists {
    /// Adds and removes entries, and sometimes a parent of many.
    fn change(&mut self) {
        let Lists { random, lists, allow } = self;
        for list in lists {
            for _ in 0..random.below(6) {
                list.insert(entry(random));
            }
            for _ in 0..random.below(5) {
                let at = random.below(list.len().max(1));
                let gone = list.iter().nth(at).cloned();
                gone.map(|entry| list.remove(&entry));
            }
        }
        if random.below(3) == 0 {
            allow.insert(entry(random));
        }
        if random.below(3) == 0 {
            allow.pop_first();
        }
    }

    fn write(&self, folder: &TempDir) {
        let text = |entries: &BTreeSet<String>| {
            entries.iter().fold(String::new(), |text, entry| text + entry + "\n")
        };
        for (number, list) in self.lists.iter().enumerate() {
            write(folder, &format!("list-{number}"), text(list));
        }
        write(folder, "allow", text(&self.allow));
    }

    /// The tags of each key.
    fn keys(&self) -> BTreeMap<String, BTreeSet<String>> {
        let mut all = BTreeMap::<String, BTreeSet<String>>::new();
        for (number, list) in self.lists.iter().enumerate() {
            for entry in list {
                let tags = all.entry(keys(entry).remove(0)).or_default();
                tags.extend((number > 0).then(|| format!("tag-{number}")));
            }
        }
        self.allow.iter().for_each(|entry| {
            all.remove(&keys(entry)[0]);
        });
        all
    }
}

/// Over 50 generations every URL has the answer, and the tags, that the set of all keys gives; `verify` agrees.
#[test]
fn feeds_in_which_parents_come_and_go() {
    let mut bases = 0;
    for (shards, tags) in [(false, 0), (false, 2), (true, 0), (true, 2)] {
        let folder = TempDir::new().unwrap();
        let random = Random(7 + tags as u64 + u64::from(shards));
        let lists = vec![BTreeSet::new(); 1 + tags];
        let mut lists = Lists { random, lists, allow: BTreeSet::new() };
        (0..12).for_each(|_| lists.change());
        let names = (0..=tags).fold(String::new(), |mut text, number| {
            let tag = if number > 0 { format!(", tag = \"tag-{number}\"") } else { String::new() };
            writeln!(text, "list-{number} = {{ file = \"list-{number}\", allow-empty = true{tag} }}")
                .unwrap();
            text
        });
        let above = "profile = \"url\"\nfpr = 1e-6\nsign = []\nallow-wins = true\nmax-removed = \"100%\"\n";
        let above = above.to_owned() + if shards { "shards = 4" } else { "" };
        declare(
            &folder,
            &above,
            &format!("{names}[allow]\nfine = {{ file = \"allow\", allow-empty = true }}"),
        );
        for generation in 0..50 {
            lists.change();
            if generation % 5 == 0 {
                lists.allow.clear();
            }
            lists.write(&folder);
            let said: Value = told(&folder, "feed publish @feed.toml");
            let all = lists.keys();
            assert_eq!(said["count"], all.len());
            bases += u32::from(said["file"]["kind"] == "base");

            let mut urls: Vec<_> = lists.lists.iter().flatten().cloned().collect();
            urls.extend((0..100).map(|_| format!("http://{}", entry(&mut lists.random))));
            urls.extend((0..100).map(|_| format!("https://c.{}/t?u", entry(&mut lists.random))));
            urls.extend(lists.allow.iter().cloned());
            let mut expected = String::new();
            for url in &urls {
                let found: Vec<_> = keys(url).iter().filter_map(|key| all.get(key)).collect();
                let tags: BTreeSet<_> = found.iter().copied().flatten().map(|tag| &tag[..]).collect();
                if !found.is_empty() {
                    expected += url;
                    let tags = Vec::from_iter(tags).join(",");
                    expected += &if tags.is_empty() { "\n".to_owned() } else { format!("\t{tags}\n") };
                }
            }
            let (_, out, err) = tool_with(&folder, "check @public", urls.join("\n").as_bytes());
            let differs = out.lines().zip(expected.lines()).find(|(found, expected)| found != expected);
            assert_eq!(differs, None, "{err}");
            assert_eq!(out, expected);

            let given = lists.lists.iter().enumerate().filter(|(_, list)| !list.is_empty());
            let arguments = given.fold(String::new(), |text, (number, _)| match number {
                0 => text + " --members @list-0",
                _ => text + &format!(" --tag tag-{number}=@list-{number}"),
            });
            if lists.allow.is_empty() && !arguments.is_empty() {
                done(&folder, &format!("verify @public --probes 1{arguments}"));
            }
        }
    }
    assert!(bases > 4, "{bases} bases");
}

/// Many keys get a parent, and lose it again.
#[test]
fn what_was_published_stays_until_the_next_base() {
    let folder = TempDir::new().unwrap();
    let others: String = (0..4000).map(|i| format!("other-{i}.example\n")).collect();
    let children: String = (0..1000).map(|i| format!("child-{i}.parent.example\n")).collect();
    declare(&folder, "profile = \"url\"\nsign = []\nmax-removed = \"100%\"", "list = \"list\"");
    let publish = |list: &[&str]| -> Value {
        write(&folder, "list", list.concat());
        told(&folder, "feed publish @feed.toml")
    };
    let numbers =
        |said: &Value| ["count", "covered", "added", "removed"].map(|name| said[name].as_u64().unwrap());
    let said = publish(&[&others, &children]);
    assert_eq!(numbers(&said), [5000, 0, 5000, 0]);
    let said = publish(&[&others, &children, "parent.example\n"]);
    assert_eq!(numbers(&said), [5001, 1000, 1, 0]);
    assert!(said["file"]["kind"] == "delta" && said["file"]["bytes"].as_u64().unwrap() < 100, "{said}");
    // A new child is left out.
    let new = "new.parent.example\n";
    let said = publish(&[&others, &children, "parent.example\n", new]);
    assert_eq!(numbers(&said), [5002, 1001, 1, 0]);
    assert!(said["file"].is_null() && said["published"] == true, "{said}");
    // It comes when the parent goes, in the same generation.
    let said = publish(&[&others, &children, new]);
    assert_eq!(numbers(&said), [5001, 0, 0, 1]);
    let (_, out, _) =
        tool(&folder, "check @public new.parent.example child-7.parent.example any.parent.example");
    assert_eq!(out, "new.parent.example\nchild-7.parent.example\n");
    // A new base has none that others cover. One is made if a file is gone.
    for file in fs::read_dir(folder.path().join("public")).unwrap() {
        let path = file.unwrap().path();
        if path.file_name().unwrap() != "feed.json" {
            fs::remove_file(path).unwrap();
        }
    }
    let said = publish(&[&others, &children, "parent.example\n"]);
    assert_eq!((numbers(&said), &said["file"]["kind"]), ([5001, 1000, 1, 1], &"base".into()));
    // What it has none of can go and come without a file.
    for (list, expected) in [
        (&[&others, "parent.example\n"][..], [4001, 0, 0, 1000]),
        (&[&others, &children, "parent.example\n"], [5001, 1000, 1000, 0]),
    ] {
        let said = publish(list);
        assert_eq!(numbers(&said), expected);
        assert!(said["file"].is_null(), "{said}");
    }
    let said = publish(&[&others, &children]);
    assert_eq!(numbers(&said), [5000, 0, 0, 1]);
    let (_, out, _) = tool(&folder, "check @public child-7.parent.example any.parent.example");
    assert_eq!(out, "child-7.parent.example\n");
}

/// Guards count entries, covered or not: the verdicts are the same with shards.
#[test]
fn guards_count_entries() {
    let hosts = |name: &str, count| (0..count).map(|i| format!("{name}{i}.p.example\n")).collect::<String>();
    let below = |host: &str, each: usize| -> String {
        host.lines().flat_map(|host| (0..each).map(move |i| format!("c{i}.{host}\n"))).collect()
    };
    let [some, others] = ["x", "z"].map(|name| hosts(name, 100));
    for shards in ["", "shards = 1"] {
        let folder = TempDir::new().unwrap();
        let tell = |lists: &str| declare(&folder, &format!("profile = \"url\"\nsign = []\n{shards}"), lists);
        let begin = |lists: &str, texts: &[(&str, String)]| {
            for dir in
                ["public", "state"].map(|dir| folder.path().join(dir)).iter().filter(|dir| dir.exists())
            {
                fs::remove_dir_all(dir).unwrap();
            }
            tell(lists);
            texts.iter().for_each(|(list, text)| write(&folder, list, text));
            done(&folder, "feed publish @feed.toml");
        };
        let list = |name: &str, tag: &str| format!("{name} = {{ file = \"{name}\", tag = \"{tag}\" }}\n");

        // A sixth of the entries of a tag are replaced by their parent.
        let lists = list("a", "A") + &list("b", "B");
        begin(&lists, &[("a", some.clone() + &below(&some, 5)), ("b", hosts("y", 100))]);
        write(&folder, "a", "p.example\n".to_owned() + &below(&some, 5));
        done(&folder, "feed publish @feed.toml");

        // A sixth get another tag, and they covered all others of the first.
        let lists = |tag| list("a", tag) + &list("b", "A") + &list("c", "B");
        begin(&lists("A"), &[("a", some.clone()), ("b", below(&some, 5)), ("c", hosts("y", 10))]);
        tell(&lists("B"));
        done(&folder, "feed publish @feed.toml");

        // Nearly all entries of a tag go, and few keys of the filter.
        let lists =
            list("a", "A") + &list("b", "A").replace(" }", ", max-removed = \"100%\" }") + &list("c", "C");
        begin(&lists, &[("a", some.clone()), ("b", below(&some, 20)), ("c", hosts("y", 9000))]);
        write(&folder, "b", below(&others, 1));
        refused(&folder, "feed publish @feed.toml", "A: 1,900 of 2,100 keys would be removed");
    }
    // All entries are replaced by as many. Shards don't know their keys one by one.
    let folder = TempDir::new().unwrap();
    declare(&folder, "profile = \"url\"\nsign = []", "list = \"list\"");
    write(&folder, "list", some.clone() + &below(&some, 9));
    done(&folder, "feed publish @feed.toml");
    write(&folder, "list", others.clone() + &below(&others, 9));
    refused(&folder, "feed publish @feed.toml", "1,000 of 1,000 keys would be removed");
}

#[test]
fn build_and_verify_say_how_many() {
    let folder = TempDir::new().unwrap();
    write(&folder, "a", "evil.example\nwww.evil.example\nwww.evil.example/login?x\n");
    write(&folder, "b", "evil.example\nfine.example\nwww.fine.example\n");
    let said = done(&folder, "build @a --profile url -o @blob");
    assert!(said.contains("3 keys, 2 covered by others"), "{said}");
    let info = told(&folder, "build @a --profile url -o @blob");
    assert_eq!((&info["count"], &info["covered"]), (&1.into(), &2.into()));
    done(&folder, "verify @blob --members @a --probes 1");
    let count = |args: &str| -> Value {
        serde_json::from_str(&tool(&folder, &format!("verify {args} --json --probes 1")).1).unwrap()
    };
    assert_eq!(count("@blob --members @b")["falseNegatives"], 2);
    done(&folder, "build --profile url -o @tagged --tag one=@a --tag two=@b");
    let right = count("@tagged --tag one=@a --tag two=@b");
    assert_eq!([&right["falseNegatives"], &right["wrongTags"]], [0, 0]);
    // www.evil.example would have the tags of evil.example, and one of them is right.
    write(&folder, "c", "evil.example\nfine.example\nwww.fine.example\nwww.evil.example\n");
    let wrong = count("@tagged --tag one=@c --tag two=@a");
    assert_eq!([&wrong["falseNegatives"], &wrong["wrongTags"]], [0, 2]);
    // A Bloom filter has all keys, so that two of one size can be combined.
    assert!(told(&folder, "build @a --profile url --kind bloom -o @bloom")["covered"].is_null());
}
