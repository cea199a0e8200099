//! A list that shrinks is not published, and the one before is signed anew meanwhile.

use std::collections::BTreeMap;
use std::fs;

use super::{
    at, check, description, feed, files, in_state, key, names, publish, publish_refused, read, verify,
    write_list,
};
use crate::in_process::{done, tool, tool_with, write};

/// What a host sends, with status 200, while it is being repaired.
const PAGE: &str = "<!doctype html>\n<title>Maintenance</title>\n<p>We will be back soon.</p>\n";
/// Another host sends this.
const EXCUSE: &str = "503 Service Unavailable\nWe will be back soon.\n";

#[test]
fn a_list_that_shrinks_is_not_published() {
    let folder = feed("");
    write_list(&folder, 0..1000);
    publish(&folder, 0, "");
    let before = files(&folder);
    write(&folder, "list", EXCUSE);
    let said = publish_refused(&folder, 1, "", "1,000 of 1,000 keys");
    assert!(said.contains("--max-removed 100%"), "{said}");
    assert_eq!(files(&folder), before);
    // A third of it, and one key more than a quarter.
    for left in [667, 749] {
        write_list(&folder, 0..left);
        publish_refused(&folder, 1, "", "--max-removed");
        // New keys don't make up for removed ones.
        write_list(&folder, (0..left).chain(5000..6000));
        publish_refused(&folder, 1, "", "--max-removed");
    }
    assert_eq!(files(&folder), before);
    write_list(&folder, 0..750);
    assert_eq!(publish(&folder, 2, "")["removed"], 250);
    write_list(&folder, 0..100);
    publish_refused(&folder, 3, "--max-removed 80%", "at most 80%");
    publish_refused(&folder, 3, "--max-removed 0.9", "such as 50%");
    assert_eq!(publish(&folder, 3, "--max-removed 87%")["removed"], 650);
    write_list(&folder, 50..99);
    publish_refused(&folder, 4, "", "51 of 100 keys");
    publish(&folder, 4, "--max-removed 100%");
    // This few keys may all change at once.
    write_list(&folder, 1000..1010);
    publish(&folder, 5, "");
    check(&read(&folder), 1000..1010, 0..1000, 1e-3);
}

#[test]
fn clients_keep_the_old_list_while_the_new_one_is_refused() {
    let folder = feed("");
    write_list(&folder, 0..1000);
    publish(&folder, 0, "");
    let before = files(&folder);
    for (text, words) in [(EXCUSE, "--max-removed"), (PAGE, "HTML"), ("", "--allow-empty")] {
        write(&folder, "list", text);
        publish_refused(&folder, 83, "", words);
        assert_eq!(files(&folder), before);
    }
    // Halfway to the end it is signed anew, with the keys that it had.
    let mut last = 1;
    for (hours, text) in [(84, PAGE), (84 + 84, ""), (84 + 84 + 84, EXCUSE)] {
        write(&folder, "list", text);
        last += 1;
        publish_refused(&folder, hours, "", &format!("signed anew as generation {last}\n"));
        publish_refused(&folder, hours + 1, "", &format!("generation {last} stays\n"));
        let info = verify(&folder);
        assert_eq!((&info["generation"], &info["count"]), (&last.into(), &1000.into()));
        assert_eq!(
            info["expires"].as_u64().unwrap() - info["createdAt"].as_u64().unwrap(),
            7 * 24 * 3_600_000
        );
        check(&read(&folder), 0..1000, 0..0, 1e-3);
    }
    let without_manifest = |mut files: BTreeMap<String, Vec<u8>>| files.remove("feed.json").map(|_| files);
    assert_eq!(without_manifest(files(&folder)), without_manifest(before));
    // The list is back.
    write_list(&folder, 10..1000);
    let report = publish(&folder, 254, "");
    assert_eq!((&report["added"], &report["removed"]), (&0.into(), &10.into()));
    check(&read(&folder), 10..1000, 0..10, 1e-3);
    // An empty list is another matter, with an option of its own.
    write(&folder, "list", "");
    publish_refused(&folder, 255, "--max-removed 100%", "--allow-empty");
    publish_refused(&folder, 255, "--allow-empty", "990 of 990 keys");
    assert_eq!(publish(&folder, 255, "--allow-empty --max-removed 100%")["removed"], 990);
}

/// Beside a large list, nobody would miss the few keys of a small one.
#[test]
fn one_dead_list_of_several_is_not_published() {
    let folder = feed("");
    write_list(&folder, 0..1000);
    write(&folder, "small", "a\nb\n");
    let args = |hours, more: &str| {
        let about = description(&folder);
        format!("feed publish @public @list @small --state @state --sign @key {more} {} {about}", at(hours))
    };
    done(&folder, &args(0, ""));
    let before = files(&folder);
    let small = folder.path().join("small").display().to_string();
    for (text, words) in [
        ("", "gave no key"),
        ("# a\n\n", "gave no key"),
        (PAGE, "HTML"),
        (&format!("\u{feff}{PAGE}"), "HTML"),
    ] {
        write(&folder, "small", text);
        for more in ["", "--max-removed 100%"] {
            let (code, _, err) = tool(&folder, &args(1, more));
            assert!(code == 2 && err.contains(&small) && err.contains(words), "{err}");
        }
        // The same for a list with a tag, and for one of allowed keys.
        for option in ["--tag=small=", "--allow="] {
            let (code, _, err) = tool(&folder, &args(1, "").replace("@small", &format!("{option}{small}")));
            assert!(code == 2 && err.contains(&small) && err.contains(words), "{err}");
        }
    }
    assert_eq!(files(&folder), before);
    // A page is never a list. An empty list is one if --allow-empty says so.
    assert!(tool(&folder, &args(1, "--allow-empty")).2.contains("HTML"));
    write(&folder, "small", "# nothing of our own\n");
    assert!(done(&folder, &args(1, "--allow-empty")).contains("2 removed"));
    check(&read(&folder), 0..1000, 0..0, 1e-3);
    // But not one that can't be read.
    let folder_of_urls = feed("--profile url");
    write(&folder_of_urls, "list", "a.example\n");
    for text in
        ["Bad Gateway\n", "error code: 1020\n", "{\"error\":\"not found\"}\n", "# all\n404: Not Found\n"]
    {
        write(&folder_of_urls, "small", text);
        for more in ["", "--allow-empty"] {
            let about = description(&folder_of_urls);
            let (code, _, err) = tool(&folder_of_urls, &format!("{} {about}", args(0, more)));
            assert!(
                code == 2 && err.contains("small: this list gave no key, since its lines were skipped"),
                "{err}"
            );
        }
    }
    // --allow-empty doesn't allow that all keys are removed.
    write(&folder, "list", "");
    let (code, _, err) = tool(&folder, &args(2, "--allow-empty"));
    // Of several lists, the message names the one.
    assert!(code == 2 && err.contains("list: this list has 0 keys, and had 1,000;"), "{err}");
}

/// Beside a large list, a small one could shrink by any share.
#[test]
fn each_list_is_guarded_by_itself() {
    let folder = feed("--profile url");
    let hosts = |name: &str, prefix: &str, count: u32| {
        write(&folder, name, (0..count).map(|i| format!("{prefix}-{i}.example\n")).collect::<String>());
    };
    let publish = |lists: &str| {
        let more = format!("{} {}", at(0), description(&folder));
        tool(&folder, &format!("feed publish @public {lists} --state @state --sign @key {more}"))
    };
    let refuses = |lists: &str, words: &str| {
        let before = files(&folder);
        let (code, _, err) = publish(lists);
        assert!(code == 2 && err.contains(words) && err.contains("--max-removed 100%"), "{lists}: {err}");
        assert_eq!(files(&folder), before);
    };
    let accepts = |lists: &str| {
        let (code, out, err) = publish(lists);
        assert_eq!(code, 0, "{lists}: {err}");
        out
    };
    hosts("large", "large", 5000);
    hosts("small", "small", 300);
    hosts("few", "few", 99);
    accepts("@large @small @few");

    hosts("small", "small", 224);
    refuses("@large @small @few", "small: this list has 224 keys, and had 300; at most 25% may be removed");
    // A single label is a host, so to a feed of URLs this is a list.
    write(&folder, "small", "Forbidden\n");
    refuses("@large @small @few", "small: this list has 1 key, and had 300");
    hosts("small", "small", 300);
    for lists in ["@large @few", "@few @large"] {
        refuses(lists, "small: this list is missing, and had 300 keys");
    }
    // A list of few keys may change as a whole, or be left out.
    write(&folder, "few", "few-1.example\n");
    accepts("@large @small @few");
    accepts("@large @small");
    accepts("@large @small @few");
    // The order of the lists doesn't matter, unless they have new names: then it tells which list is which.
    let said = accepts("@small @few @large");
    assert!(!said.contains(" replaces "), "{said}");
    fs::copy(folder.path().join("small"), folder.path().join("extra")).unwrap();
    let said = accepts("@extra @few @large");
    assert!(said.contains("extra replaces /") && said.contains("/small\n"), "{said}");
    accepts("@small @few @large");
    for (old, new) in [("large", "a"), ("small", "b"), ("few", "c")] {
        fs::rename(folder.path().join(old), folder.path().join(new)).unwrap();
    }
    refuses("@a @b @c", "c: this list has 1 key, and ");
    accepts("@b @c @a");
    // An additional list in one run isn't required later.
    accepts("@b @c @a @b");
    accepts("@b @c @a");
    // A list may get a tag, even under another name.
    accepts("--tag s=@b @c @a".replace("=@", &format!("={}/", folder.path().display())).as_str());
    let tag = |list: &str| format!("--tag s={}", folder.path().join(list).display());
    hosts("b", "small", 200);
    refuses(&format!("@c @a {}", tag("b")), "b: this list has 200 keys, and had 300");
    hosts("d", "small", 290);
    let said = accepts(&format!("@c @a {}", tag("d")));
    assert!(!said.contains(" replaces "), "{said}");
    // Lists with tags are known by these.
    let tags = |s: &str, t: &str| format!("@c {} {}", tag(s), tag(t).replace("--tag s=", "--tag t="));
    accepts(&format!("{} --max-removed 100%", tags("d", "a")));
    for name in ["a", "d"] {
        fs::copy(folder.path().join(name), folder.path().join(format!("{name}-2"))).unwrap();
    }
    let [c, s, t] = ["@c".to_owned(), tag("d-2"), tag("a-2").replace("--tag s=", "--tag t=")];
    accepts(&[t, s, c].join(" "));
    accepts(&format!("@a @c {} --without-tag t --max-removed 100%", tag("d")));
    // A dropped tag's list isn't missing, and no list takes its place.
    accepts("@a @c --without-tag s");
    accepts("@a @c @d");
    accepts("@a @c --max-removed 100%");
    accepts("@a @c");

    // A list given twice is still the same list, and so is one that has lost its tag.
    accepts("@a @c @d");
    refuses("@a @c @a", "d: this list is missing, and had 290 keys");
    accepts(&format!("@a @c {}", tag("d")));
    hosts("d", "small", 1);
    refuses("@a @c @d --without-tag s", "d: this list has 1 key, and had 290");
    hosts("d", "small", 290);
    accepts("@a @c @d --without-tag s");

    // More skipped lines, of which the large list has plenty.
    let skipped = "http://\n".repeat(400);
    write(&folder, "a", fs::read_to_string(folder.path().join("a")).unwrap() + &skipped);
    hosts("d", "small", 290);
    accepts("@a @c @d");
    write(&folder, "d", fs::read_to_string(folder.path().join("d")).unwrap() + &skipped);
    refuses("@a @c @d", "d: 57.97% of the lines give no key, and 0% gave none before");
    hosts("d", "small", 290);

    // The same for those that must be absent.
    hosts("good", "good", 500);
    accepts("@a @c @d --allow @good");
    hosts("good", "good", 300);
    // Its file is remembered.
    refuses("@a @c @d", "good: this list has 300 keys, and had 500");
    accepts("@a @c @d --without-allow @good");
    check_urls(&folder, "large", 5000);
    check_urls(&folder, "small", 290);

    // Nobody knows the lists of a state that was lost.
    fs::remove_dir_all(folder.path().join("state")).unwrap();
    accepts("@a @c");
    refuses("@c", "of 5,");
}

fn check_urls(folder: &tempfile::TempDir, prefix: &str, count: u32) {
    fs::write(folder.path().join("blob"), read(folder).encode().unwrap()).unwrap();
    let urls: String = (0..count).map(|i| format!("https://{prefix}-{i}.example/login\n")).collect();
    let (code, out, _) = tool_with(folder, "check @blob", urls.as_bytes());
    assert_eq!((code, out), (0, urls));
}

/// A list counts by its different keys: `sort -u` removes none, nor does dropping the `::` lines from a hosts file.
/// Keys that lists share count in each.
#[test]
fn lines_that_repeat_a_key_do_not_count() {
    let folder = feed("--profile url");
    // A given number of hosts for each address, then lines that give no key.
    let hosts = |name: &str, count: u32, addresses: &[&str], skipped: usize| {
        let line =
            |address: &&str| (0..count).map(|i| format!("{address} host-{i}.example\n")).collect::<String>();
        let text = addresses.iter().map(line).collect::<String>() + &"http://\n".repeat(skipped);
        write(&folder, name, text);
    };
    let path = |name: &str| folder.path().join(name).display().to_string();
    let args = format!("@large @one @two --tag t={} --allow @good", path("tagged"));
    let publish = |more: &str| {
        let more = format!("{} {more} {}", at(0), description(&folder));
        let args = format!("feed publish @public {args} --state @state --sign @key {more}");
        let (code, _, err) = tool(&folder, &args);
        (code, err)
    };
    let named = ["one", "two", "tagged", "good"];
    let all = |count, addresses: &[&str], skipped| {
        named.iter().for_each(|name| hosts(name, count, addresses, skipped));
    };
    write(&folder, "large", (0..9000).map(|i| format!("large-{i}.example\n")).collect::<String>());
    all(500, &["0.0.0.0", "::", "127.0.0.1", ""], 100);
    assert_eq!(publish("").0, 0);
    // A third of what is left gives no key then; of all lines it was a twentieth.
    for addresses in [&["0.0.0.0", ""][..], &["0.0.0.0"], &["0.0.0.0", "::", "127.0.0.1", ""], &[""]] {
        all(500, addresses, 250);
        let (code, err) = publish("");
        assert_eq!(code, 0, "{addresses:?}: {err}");
    }
    // As many lines, and fewer keys.
    for name in named {
        hosts(name, 374, &["0.0.0.0", "::"], 0);
        let (code, err) = publish("");
        let words = format!("{name}: this list has 374 keys, and had 500; at most 25% may be removed");
        assert!(code == 2 && err.contains(&words), "{err}");
        hosts(name, 375, &["0.0.0.0", "::"], 0);
        assert_eq!(publish("").0, 0, "{name}");
    }
    // Keys that are in two lists of a later run count in each.
    hosts("one", 375, &[""], 0);
    hosts("two", 281, &[""], 0);
    let (code, err) = publish("");
    assert!(code == 2 && err.contains("two: this list has 281 keys, and had 375"), "{err}");
}

/// The disk is full, or the next file can't be made: that is no reason for clients to lose the list that they have.
#[test]
fn the_old_list_is_signed_anew_while_the_next_cannot_be_written() {
    let [folder, other] = [feed(""), feed("")];
    for (folder, last) in [(&folder, 1000), (&other, 1001)] {
        write_list(folder, 0..1000);
        publish(folder, 0, "");
        write_list(folder, 0..last);
    }
    publish(&other, 1, "");
    let delta = verify(&other)["files"][1]["sha256"].as_str().unwrap().to_owned();
    // A folder of that name is in the way.
    fs::create_dir_all(folder.path().join("public").join(&delta).join("taken")).unwrap();
    write_list(&folder, 0..1001);
    for (hours, words) in
        [(83, "generation 1 stays\n"), (84, "signed anew as generation 2\n"), (85, "generation 2 stays\n")]
    {
        let args = format!("feed publish @public @list --state @state --sign @key {}", at(hours));
        let (code, _, said) = tool(&folder, &args);
        assert!(code == 2 && said.contains(&delta) && said.ends_with(words), "{said}");
        check(&read(&folder), 0..1000, 0..0, 1e-3);
    }
    fs::remove_dir_all(folder.path().join("public").join(&delta)).unwrap();
    assert_eq!(publish(&folder, 86, "")["added"], 1);
    check(&read(&folder), 0..1001, 0..0, 1e-3);
}

/// A list that isn't there, or can't be read, is no reason for clients to lose the one that they have.
#[test]
fn the_old_list_is_signed_anew_while_one_cannot_be_read() {
    let folder = feed("");
    write_list(&folder, 0..1000);
    write(&folder, "allow", (1000..3000).map(|i| key(i) + "\n").collect::<String>());
    publish(&folder, 0, "--allow @allow");
    let tagged = format!("--tag a={}", folder.path().join("nothing").display());
    let path = folder.path().join("list");
    for (hours, options) in [(1, ""), (90, ""), (91, "--allow @nothing"), (180, "--allow @nothing")] {
        let (words, refused) = match hours {
            90 => ("signed anew as generation 2", "list"),
            180 => ("signed anew as generation 3", "nothing"),
            91 => ("generation 2 stays", "nothing"),
            _ => ("generation 1 stays", "list"),
        };
        if refused == "list" {
            fs::remove_file(&path).unwrap();
        }
        let said = publish_refused(&folder, hours, options, words);
        assert!(said.contains(refused), "{said}");
        write_list(&folder, 0..1000);
    }
    // So are a list cut short, one with a tag, options that don't go together, and a tag that is missing.
    write(&folder, "list", b"\x1f\x8b\x08\0\0");
    publish_refused(&folder, 181, "--allow @allow", "generation 3 stays");
    write_list(&folder, 0..1000);
    publish_refused(&folder, 181, &format!("--allow @allow {tagged}"), "generation 3 stays");
    publish_refused(&folder, 181, "--allow @allow --min-count 3", "generation 3 stays");
    publish_refused(
        &folder,
        181,
        "--fpr 0.5",
        "--fpr: the feed has 0.001; begin another feed to change that; generation 3",
    );
    check(&read(&folder), 0..1000, 0..0, 1e-3);
    // A file that must be made anew needs the keys that must be absent, from lists that weren't refused.
    let base = names(&folder).into_iter().find(|name| name != "feed.json").unwrap();
    write(&folder, &format!("public/{base}"), "damaged");
    let before = files(&folder);
    write(&folder, "good", fs::read(folder.path().join("allow")).unwrap());
    for (text, words) in
        [(PAGE, "HTML"), ("", "--allow-empty"), ("key-1000.example\n", "1 key, and had 2,000")]
    {
        write(&folder, "allow", text);
        let said = publish_refused(&folder, 182, "--allow @allow", words);
        assert!(said.contains("can't be signed anew"), "{said}");
    }
    let said = publish_refused(&folder, 182, "--allow @nothing", "can't be signed anew");
    assert!(said.contains("nothing"), "{said}");
    // The same if the members' list is refused, or missing, as well.
    for text in [Some(PAGE), None] {
        match text {
            Some(text) => write(&folder, "list", text),
            None => fs::remove_file(&path).unwrap(),
        }
        for options in ["", "--allow @allow"] {
            publish_refused(&folder, 182, options, "can't be signed anew");
        }
    }
    publish_refused(&folder, 182, "--allow @good --without-allow @allow", "list");
    assert_eq!(files(&folder), before);
    write(&folder, "list", PAGE);
    publish_refused(&folder, 182, "--allow @good --without-allow @allow", "signed anew as generation 4");
    let filter = read(&folder);
    assert!((1000..3000).all(|i| !filter.stack().has(key(i).as_bytes())));
    check(&read(&folder), 0..1000, 0..0, 1e-3);
}

#[test]
fn a_list_of_which_more_lines_are_skipped_is_not_published() {
    let folder = feed("--profile url");
    let hosts = |keys: u32, rules: u32| {
        let hosts = (0..keys).map(|i| format!("||host-{i}.example^\n"));
        let rules = (0..rules).map(|i| format!("||host-{i}.example^$script\n"));
        write(&folder, "list", hosts.chain(rules).collect::<String>());
    };
    let refused = |hours| {
        let args = format!("feed publish @public @list --state @state --sign @key {}", at(hours));
        let (code, _, err) = tool(&folder, &args);
        assert!(
            code == 2 && err.contains("of the lines give no key") && err.contains("--max-removed"),
            "{err}"
        );
        // After the ten that are always shown.
        assert_eq!(err.lines().count(), 12, "{err}");
    };
    // An adblock list skips most of its lines, always.
    hosts(1000, 9000);
    publish(&folder, 0, "");
    hosts(1010, 9100);
    assert_eq!(publish(&folder, 1, "")["added"], 10);
    hosts(1010, 0);
    publish(&folder, 2, "");
    let report = publish(&folder, 3, "");
    assert_eq!(report["published"], false);
    // Nothing was signed, but the list was taken, so the next one is compared with it.
    let before = files(&folder);
    hosts(1010, 9100);
    refused(4);
    hosts(1020, 0);
    publish(&folder, 5, "");
    assert_ne!(files(&folder), before);
    let before = files(&folder);
    hosts(1030, 9100);
    refused(6);
    assert_eq!(files(&folder), before);
    publish(&folder, 7, "--max-removed 100%");
    hosts(1040, 9100);
    publish(&folder, 8, "");
}

/// What is known of the last generation is its number of keys.
#[test]
fn a_list_that_shrinks_is_not_published_when_the_state_was_lost() {
    let folder = feed("");
    write_list(&folder, 0..1000);
    publish(&folder, 0, "");
    let path = |name: &str| folder.path().join(name);
    fs::write(in_state(&folder, "members-"), "damaged").unwrap();
    write_list(&folder, 0..500);
    publish_refused(&folder, 1, "", "500 of 1,000 keys");
    fs::remove_dir_all(path("state")).unwrap();
    publish_refused(&folder, 1, "", "500 of 1,000 keys");
    // Nor if the manifest has gone meanwhile.
    let manifest = fs::read(path("public/feed.json")).unwrap();
    fs::remove_file(path("public/feed.json")).unwrap();
    publish_refused(&folder, 1, "", "neither its manifest nor its state");
    fs::write(path("public/feed.json"), manifest).unwrap();
    write_list(&folder, 0..900);
    publish(&folder, 1, "");
    check(&read(&folder), 0..900, 900..1000, 1e-3);
}

/// CI keeps no state of a run that failed, so the manifest is newer than the state, with the same list.
#[test]
fn a_list_is_signed_anew_again_and_again_while_the_next_is_refused() {
    let folder = feed("");
    write_list(&folder, 0..1000);
    publish(&folder, 0, "");
    let path = folder.path().join("state/state.json");
    let state = fs::read(&path).unwrap();
    write_list(&folder, 0..10);
    for generation in 2..5 {
        let words = format!("the old list was signed anew as generation {generation}");
        publish_refused(&folder, (generation - 1) * 4 * 24, "", &words);
        fs::write(&path, &state).unwrap();
    }
    check(&read(&folder), 0..1000, 2000..3000, 1e-3);
}

/// If a file is missing or damaged, new clients couldn't load the feed.
#[test]
fn what_is_signed_anew_is_whole() {
    for damaged in ["", "damaged"] {
        let folder = feed("");
        write_list(&folder, 0..1000);
        write(&folder, "allow", (1000..3000).map(|i| key(i) + "\n").collect::<String>());
        publish(&folder, 0, "--allow @allow");
        let base = names(&folder).into_iter().find(|name| name != "feed.json").unwrap();
        match damaged {
            "" => fs::remove_file(folder.path().join("public").join(&base)).unwrap(),
            text => write(&folder, &format!("public/{base}"), text),
        }
        // Some members are to be absent now. They stay members of the old list.
        write(&folder, "allow", (500..3000).map(|i| key(i) + "\n").collect::<String>());
        write(&folder, "list", PAGE);
        publish_refused(&folder, 1, "--allow @allow", "signed anew as generation 2\n");
        publish_refused(&folder, 2, "--allow @allow", "generation 2 stays\n");
        check(&read(&folder), 0..1000, 0..0, 1e-3);
        let filter = read(&folder);
        assert!((1000..3000).all(|i| !filter.stack().has(key(i).as_bytes())));
        assert_eq!(verify(&folder)["count"], 1000);
    }
}

/// The files are whole, so clients need not lose them because a part of the state is.
#[test]
fn a_list_is_signed_anew_without_its_digests() {
    let folder = feed("");
    write_list(&folder, 0..1000);
    publish(&folder, 0, "");
    write_list(&folder, 0..1020);
    publish(&folder, 1, "");
    fs::write(in_state(&folder, "members-"), "damaged").unwrap();
    write(&folder, "list", PAGE);
    publish_refused(&folder, 2, "", "generation 2 stays\n");
    publish_refused(&folder, 90, "", "signed anew as generation 3\n");
    assert_eq!(verify(&folder)["count"], 1020);
    check(&read(&folder), 0..1020, 2000..3000, 1e-3);
    // With a file of those damaged too, nothing is known to be right.
    let base = names(&folder).into_iter().find(|name| name != "feed.json").unwrap();
    let kept = fs::read(folder.path().join("public").join(&base)).unwrap();
    write(&folder, &format!("public/{base}"), "damaged");
    let before = files(&folder);
    publish_refused(&folder, 180, "", "members-");
    assert_eq!(files(&folder), before);
    fs::write(folder.path().join("public").join(&base), kept).unwrap();
    // The list is back: a new base.
    write_list(&folder, 0..1030);
    publish(&folder, 181, "");
    check(&read(&folder), 0..1030, 2000..3000, 1e-3);
    publish(&folder, 182, "");
}

/// The list of an old copy, as CI restores one, is older than the one that clients have.
#[test]
fn an_old_state_does_not_sign_its_list_anew() {
    let folder = feed("");
    write_list(&folder, 0..1000);
    publish(&folder, 0, "");
    let state = |name: &str| folder.path().join("state").join(name);
    let old: Vec<_> =
        fs::read_dir(folder.path().join("state")).unwrap().map(|entry| entry.unwrap().path()).collect();
    let old: Vec<_> = old.into_iter().map(|path| (path.clone(), fs::read(path).unwrap())).collect();
    write_list(&folder, 0..1200);
    publish(&folder, 1, "");
    fs::remove_dir_all(folder.path().join("state")).unwrap();
    fs::create_dir(folder.path().join("state")).unwrap();
    for (path, bytes) in old {
        fs::write(path, bytes).unwrap();
    }
    assert!(state("state.json").exists());
    let before = files(&folder);
    // What is gone is counted from the list that clients have.
    write_list(&folder, 0..850);
    publish_refused(&folder, 2, "", "of 1,200 keys");
    write_list(&folder, 0..10);
    // It is about to expire, and there is no known list that may be signed.
    publish_refused(&folder, 6 * 24, "", "the state is an old copy");
    assert!(files(&folder) == before);
    write_list(&folder, 0..1300);
    publish(&folder, 6 * 24, "");
    check(&read(&folder), 0..1300, 2000..3000, 1e-3);
}

/// Two copies of a state, each of which has signed numbers that the other doesn't know. What one of them published was
/// lost on the way to the host, so its number may be as high as the live one, or higher.
#[test]
fn of_two_copies_of_a_state_the_older_list_is_not_signed_anew() {
    for lost in 1..4 {
        let folder = feed("");
        write_list(&folder, 0..1000);
        publish(&folder, 0, "");
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("other")).unwrap();
        for file in fs::read_dir(at("state")).unwrap().map(|file| file.unwrap().path()) {
            fs::copy(&file, at("other").join(file.file_name().unwrap())).unwrap();
        }
        let first = fs::read(at("public/feed.json")).unwrap();
        for i in 1..=lost {
            write_list(&folder, 0..1000 + 10 * i);
            publish(&folder, i, "");
        }
        fs::write(at("public/feed.json"), first).unwrap();
        write_list(&folder, 0..1100);
        let by_other = |hours, more: &str| {
            let more = format!("{} {more}", super::at(hours));
            tool(&folder, &format!("feed publish @public @list --state @other --sign @key {more}"))
        };
        assert_eq!(by_other(24, "").0, 0);
        assert_eq!(verify(&folder)["generation"], 2);
        let before = files(&folder);
        write_list(&folder, 0..10);
        publish_refused(&folder, 6 * 24, "", "the state is an old copy");
        assert!(files(&folder) == before, "{lost}");
        // The other one may, since its list is the live one.
        let (code, _, err) = by_other(6 * 24, "");
        assert!(code == 2 && err.contains("the old list was signed anew"), "{err}");
        check(&read(&folder), 0..1100, 2000..3000, 1e-3);
        // A tag that only the other one knows isn't dropped silently.
        write_list(&folder, 0..1100);
        let (code, _, err) = by_other(7 * 24, &format!("--tag new={}", at("list").display()));
        assert_eq!(code, 0, "{err}");
        publish_refused(&folder, 7 * 24 + 1, "", "new");
    }
}

/// Signing a list anew raises its number and its time, but the list is as old as before. And a clock that went back makes
/// no list older.
#[test]
fn what_a_list_follows_says_how_old_it_is() {
    let folder = feed("");
    let at = |name: &str| folder.path().join(name);
    let first = || fs::read(at("public/feed.json")).unwrap();
    let copy = || {
        fs::create_dir(at("other")).unwrap();
        for file in fs::read_dir(at("state")).unwrap().map(|file| file.unwrap().path()) {
            fs::copy(&file, at("other").join(file.file_name().unwrap())).unwrap();
        }
    };
    write_list(&folder, 0..1000);
    publish(&folder, 10, "");
    let live = first();
    copy();
    for generation in [2, 3] {
        write_list(&folder, 0..10);
        publish_refused(
            &folder,
            72 + 24 * generation,
            "",
            &format!("signed anew as generation {generation}"),
        );
        fs::write(at("public/feed.json"), &live).unwrap();
    }
    // The upload was lost, but this state has signed what is live, so it may go on.
    publish_refused(&folder, 150, "", "signed anew as generation 4");
    fs::write(at("public/feed.json"), &live).unwrap();
    write_list(&folder, 500..1600);
    let more = super::at(152) + " --max-removed 100%";
    done(&folder, &format!("feed publish @public @list --state @other --sign @key {more}"));
    let before = files(&folder);
    write_list(&folder, 0..10);
    publish_refused(&folder, 300, "", "the state is an old copy");
    assert!(files(&folder) == before);

    // The second generation is dated before the first, and only the first reaches the host.
    let folder = feed("");
    let live = || folder.path().join("public/feed.json");
    write_list(&folder, 0..1000);
    publish(&folder, 10, "");
    let first = fs::read(live()).unwrap();
    write_list(&folder, 0..1050);
    publish(&folder, 9, "");
    fs::write(live(), first).unwrap();
    write_list(&folder, 0..10);
    publish_refused(&folder, 100, "", "signed anew as generation 3");
    check(&read(&folder), 0..1050, 2000..3000, 1e-3);
}

/// The keys that it would remove aren't in the list that clients have.
#[test]
fn an_old_state_does_not_refuse_the_list_in_place() {
    let folder = feed("");
    write_list(&folder, 0..1500);
    publish(&folder, 0, "");
    let state = folder.path().join("state");
    let old = ["state.json", "members-1.digests"]
        .map(|name| (state.join(name), fs::read(state.join(name)).unwrap()));
    write_list(&folder, 0..1000);
    publish(&folder, 1, "--max-removed 100%");
    old.into_iter().for_each(|(path, bytes)| fs::write(path, bytes).unwrap());
    publish_refused(&folder, 2, "", "list: this list has 1,000 keys, and had 1,500");
    write_list(&folder, 0..700);
    publish_refused(&folder, 2, "", "300 of 1,000 keys");
    write_list(&folder, 0..1000);
    publish(&folder, 2, "--max-removed 40%");
    check(&read(&folder), 0..1000, 1000..1500, 1e-3);
}
