//! Lists that are refused: those that shrink, are pages, or are missing, renamed or swapped. The rules themselves are
//! tested beside `cli/src/publishing/refusal.rs`.

use std::fs;

use tempfile::TempDir;

use super::{
    at, check, copy, feed, files, in_state, lines, lose, publish, publish_keys, publish_refused, read, tell,
    told_as, verify, write_list,
};
use crate::in_process::{done, tool, tool_with, write};

/// Feeds of one filter, and with shards.
pub const KINDS: [&str; 2] = ["", "shards = 4"];

/// What a host sends, with status 200, while it is being repaired.
pub const PAGE: &str = "<!doctype html>\n<title>Maintenance</title>\n<p>We will be back soon.</p>\n";
/// Another host sends this.
pub const EXCUSE: &str = "503 Service Unavailable\nWe will be back soon.\n";

fn hosts(folder: &TempDir, name: &str, prefix: &str, count: u32) {
    write(folder, name, (0..count).map(|i| format!("{prefix}-{i}.example\n")).collect::<String>());
}

/// What a refused run says, which changes nothing. Lines that were skipped are shown first.
fn refused_after_notices(folder: &TempDir, hours: u32, words: &str) {
    let before = files(folder);
    let (code, _, err) = tool(folder, &at(hours));
    assert!(code == 2 && err.lines().last().unwrap().contains(words), "{err}");
    assert!(files(folder) == before);
}

#[test]
fn a_list_that_shrinks_is_not_published() {
    for shards in KINDS {
        let folder = feed(shards);
        publish_keys(&folder, 0, 0..1000);
        let before = files(&folder);
        write(&folder, "list", EXCUSE);
        let said = publish_refused(&folder, 1, "", "list: this list has 2 keys, and had 1,000; at most 25%");
        assert!(said.contains("--max-removed 100%"), "{said}");
        // New keys don't make up for removed ones, nor do repeated ones.
        write_list(&folder, (0..749).chain(if shards.is_empty() { 5000..6000 } else { 0..700 }));
        publish_refused(&folder, 1, "", "of 1,000 keys would be removed, and at most 25% may be");
        assert_eq!(files(&folder), before);
        publish_keys(&folder, 2, 0..750);
        write_list(&folder, 0..100);
        publish_refused(&folder, 3, "--max-removed 80%", "at most 80%");
        publish_refused(&folder, 3, "--max-removed 0.9", "such as 50%");
        tell(&folder, &format!("max-removed = \"87%\"\n{shards}"), "");
        publish_refused(&folder, 3, "--max-removed 80%", "at most 80%");
        publish(&folder, 3, "");
        // This few keys may all change at once.
        publish_keys(&folder, 4, 1..100);
        publish_keys(&folder, 5, 1000..1010);
        done(&folder, "verify @public --members @list --probes 1000");
    }
}

/// Beside a large list, nobody would miss the few keys of a small one.
#[test]
fn one_dead_list_of_several_is_not_published() {
    let folder = feed("");
    write_list(&folder, 0..1000);
    let with = |below: &str| tell(&folder, "", below);
    write(&folder, "small", "a\nb\n");
    with("small = \"small\"");
    publish(&folder, 0, "");
    for (text, words) in [("\u{feff}# a\n\n", "this list gave no key"), (PAGE, "HTML")] {
        write(&folder, "dead", text);
        // The same for a list with a tag, and for one of keys that must be absent.
        for (name, below) in [
            ("small: ", "small = \"dead\""),
            ("small: ", "small = { file = \"dead\", tag = \"x\" }"),
            ("more: ", "small = \"small\"\n[allow]\nmore = \"dead\""),
        ] {
            with(below);
            let said = publish_refused(&folder, 1, "--max-removed 100%", words);
            assert!(said.contains(name) || said.contains("dead: "), "{said}");
        }
    }
    // A page is never a list. An empty list is one if it is said so.
    with("small = { file = \"small\", allow-empty = true }");
    write(&folder, "small", PAGE);
    publish_refused(&folder, 1, "", "HTML");
    write(&folder, "small", "# nothing of our own\n");
    assert_eq!(publish(&folder, 1, "")["removed"], 2);
    // Not one that can't be read.
    let urls = feed("");
    tell(&urls, "profile = \"url\"", "small = { file = \"small\", allow-empty = true }");
    write(&urls, "list", "a.example\n");
    write(&urls, "small", "# all\n404: Not Found\n");
    let (code, _, err) = tool(&urls, "feed publish @feed.toml");
    assert!(code == 2 && err.contains("small: this list gave no key, since its lines were skipped"), "{err}");
    // That it may be empty doesn't allow that all keys are removed.
    let folder = feed("");
    told_as(&folder, "feed", "\"list\"", "{ file = \"list\", allow-empty = true }");
    publish_keys(&folder, 0, 0..1000);
    write(&folder, "list", "");
    publish_refused(&folder, 1, "", "list: this list has 0 keys, and had 1,000");
    assert_eq!(publish(&folder, 1, "--max-removed 100%")["removed"], 1000);
    assert_eq!(publish(&folder, 2, "")["published"], false);
}

/// Beside a large list, a small one could shrink by any share. The same for keys that must be absent.
#[test]
fn each_list_is_guarded_by_itself() {
    for shards in KINDS {
        let folder = feed(shards);
        let with = |above: &str, below: &str| {
            tell(&folder, &format!("profile = \"url\"\n{shards}\n{above}"), below);
        };
        let both = "small = \"small\"\n[allow]\ngood = \"good\"";
        with("", both);
        hosts(&folder, "list", "large", 5000);
        hosts(&folder, "small", "small", 300);
        hosts(&folder, "good", "good", 500);
        publish(&folder, 0, "");
        let before = files(&folder);
        hosts(&folder, "good", "good", 300);
        publish_refused(&folder, 1, "", "good: this list has 300 keys, and had 500");
        hosts(&folder, "good", "good", 500);
        // A single label is a host, so to a feed of URLs this is a list.
        write(&folder, "small", "Forbidden\n");
        publish_refused(
            &folder,
            1,
            "",
            "small: this list has 1 key, and had 300; at most 25% may be removed",
        );
        hosts(&folder, "small", "small", 224);
        for (least, max, words) in
            [(1, "10%", "at most 10% may be removed"), (225, "30%", "`min-keys` is 225")]
        {
            let small =
                format!("small = {{ file = \"small\", min-keys = {least}, max-removed = \"{max}\" }}");
            with("", &both.replace("small = \"small\"", &small));
            publish_refused(&folder, 1, "", words);
        }
        let small = "small = { file = \"small\", min-keys = 224, max-removed = \"30%\" }";
        with("", small);
        let missing = "good: this list is missing; if it is gone, write dropped = [\"good\"] above [lists]";
        publish_refused(&folder, 1, "", missing);
        assert_eq!(files(&folder), before);
        with("dropped = [\"good\"]", small);
        publish(&folder, 1, "");
        let urls: String = (0..5000).map(|i| format!("https://large-{i}.example/login\n")).collect();
        assert_eq!(tool_with(&folder, "check @public", urls.as_bytes()).1, urls);
    }
}

/// That a list goes was asked for. What goes with it wasn't.
#[test]
fn a_list_that_is_dropped_needs_no_other_consent_and_gives_none_for_others() {
    for above in KINDS {
        let folder = feed("");
        // The lists, one beside the other, each with its own keys and maybe with a tag.
        let with = |dropped: &str, names: &[&str]| {
            let lists: String = names.iter().map(|name| format!("{name} = \"{name}\"\n")).collect();
            tell(&folder, &format!("{above}\ntags = true\ndropped = {dropped}"), &lists);
        };
        write_list(&folder, 0..1000);
        hosts(&folder, "phishing", "phishing", 5000);
        hosts(&folder, "malware", "malware", 5060);
        // All of its keys are in another list, too.
        hosts(&folder, "same", "phishing", 4000);
        with("[]", &["phishing", "malware", "same"]);
        publish(&folder, 0, "");
        with("[\"phishing\"]", &["malware", "same"]);
        hosts(&folder, "malware", "malware", 1500);
        publish_refused(&folder, 1, "", "malware: this list has 1,500 keys, and had 5,060");
        hosts(&folder, "malware", "malware", 5060);
        publish(&folder, 1, "");
        assert_eq!(verify(&folder)["count"], 1000 + 5060 + 4000);
        // The keys of a list that stay in another one lose its tag.
        hosts(&folder, "phishing", "phishing", 4000);
        with("[]", &["phishing", "malware", "same"]);
        publish(&folder, 2, "--max-removed 100%");
        with("[\"same\", \"malware\"]", &["phishing"]);
        publish(&folder, 3, "");
        assert_eq!(verify(&folder)["count"], 5000);
        // An allowlist removes too many others.
        hosts(&folder, "good", "phishing", 1600);
        let lists = "phishing = \"phishing\"\n[allow]\ngood = \"good\"";
        hosts(&folder, "more", "more", 300);
        with("[]", &["phishing", "more"]);
        publish(&folder, 4, "");
        tell(&folder, &format!("{above}\ntags = true\nallow-wins = true\ndropped = [\"more\"]"), lists);
        let words =
            "1,600 of 5,000 keys would be removed, besides those of dropped lists, and at most 25% may be";
        publish_refused(&folder, 5, "", words);
        // Another list under its name and its tag isn't the same list.
        with("[]", &["phishing", "more"]);
        hosts(&folder, "more", "renamed", 5000);
        publish(&folder, 5, "--max-removed 100%");
        hosts(&folder, "less", "renamed", 1500);
        let less = "less = { file = \"less\", tag = \"more\" }\nphishing = \"phishing\"";
        tell(&folder, &format!("{above}\ntags = true\ndropped = [\"more\"]"), less);
        publish_refused(&folder, 6, "", "3,500 of ");
        hosts(&folder, "less", "another", 1500);
        publish(&folder, 6, "");
    }
}

/// All keys stay, so only what is known of each list tells.
#[test]
fn lists_that_are_swapped_are_not_published() {
    for shards in KINDS {
        let folder = feed("");
        write_list(&folder, 0..100);
        tell(&folder, shards, "one = \"one\"\ntwo = \"two\"");
        for (hour, [one, two]) in [["a", "b"], ["b", "a"]].into_iter().enumerate() {
            hosts(&folder, "one", one, 500);
            hosts(&folder, "two", two, 500);
            match hour {
                0 => drop(publish(&folder, 0, "")),
                _ => drop(publish_refused(&folder, 1, "", "one: this list has the keys that two had")),
            }
        }
    }
}

/// What a list that goes takes with it isn't known, so no other list may be replaced, cut or tagged otherwise behind it.
#[test]
fn no_list_hides_behind_one_that_is_dropped() {
    for shards in KINDS {
        for (renamed, name, keys, tag) in [
            (false, "other", 1000, ""),
            (false, "list", 1000, ", tag = \"t\""),
            (true, "list", 90, ""),
            (true, "list", 900, ""),
        ] {
            let folder = feed("");
            hosts(&folder, "one", "list", 1000);
            hosts(&folder, "two", "list", 1000);
            let above = |dropped: &str| format!("{shards}\ndropped = {dropped}");
            tell(&folder, &above("[]"), "one = { file = \"one\", tag = \"s\" }\ntwo = \"two\"");
            publish_keys(&folder, 0, 0..100);
            hosts(&folder, "one", name, keys);
            let tag = if tag.is_empty() { ", tag = \"s\"" } else { tag };
            let list = format!("{{ file = \"one\"{tag} }}");
            // Renamed, and cut.
            let (dropped, called) =
                if renamed { ("[\"one\", \"two\"]", "three") } else { ("[\"two\"]", "one") };
            tell(&folder, &above(dropped), &format!("{called} = {list}"));
            // Shards don't know their keys one by one.
            let is_fine = renamed && keys == 900 || name == "other" && !shards.is_empty();
            let (code, _, err) = tool(&folder, &at(1));
            assert_eq!(code == 0, is_fine, "{renamed} {name} {keys} {tag}: {err}");
        }
    }
}

/// A list counts by its different keys: `sort -u` removes none, nor does dropping the `::` lines from a hosts file.
#[test]
fn lines_that_repeat_a_key_do_not_count() {
    let folder = feed("");
    let named = ["one", "two", "tagged", "good"];
    tell(
        &folder,
        "profile = \"url\"",
        "one = \"one\"\ntwo = \"two\"\ntagged = { file = \"tagged\", tag = \"t\" }\n[allow]\ngood = \"good\"",
    );
    // A given number of hosts for each address, then lines that give no key.
    let write_all = |names: &[&str], count: u32, addresses: &[&str], skipped: usize| {
        let line =
            |address: &&str| (0..count).map(|i| format!("{address} host-{i}.example\n")).collect::<String>();
        let text = addresses.iter().map(line).collect::<String>() + &"http://\n".repeat(skipped);
        names.iter().for_each(|name| write(&folder, name, &text));
    };
    hosts(&folder, "list", "large", 9000);
    write_all(&named, 500, &["0.0.0.0", "::", "127.0.0.1", ""], 100);
    publish(&folder, 0, "");
    // A third of what is left gives no key then; of all lines it was a twentieth.
    for addresses in [&["0.0.0.0"][..], &["0.0.0.0", "::", "127.0.0.1", ""]] {
        write_all(&named, 500, addresses, 250);
        publish(&folder, 0, "");
    }
    // As many lines, and fewer keys.
    for name in named {
        write_all(&[name], 374, &["0.0.0.0", "::"], 0);
        let words = format!("{name}: this list has 374 keys, and had 500; at most 25% may be removed");
        refused_after_notices(&folder, 0, &words);
        write_all(&[name], 375, &["0.0.0.0", "::"], 0);
        publish(&folder, 0, "");
    }
}

/// Nothing was signed for the second list, but it was taken, so the next one is compared with it.
#[test]
fn a_list_of_which_more_lines_are_skipped_is_not_published() {
    let folder = feed("profile = \"url\"");
    let hosts = |rules: u32| {
        let hosts = (0..1000).map(|i| format!("||host-{i}.example^\n"));
        let rules = (0..rules).map(|i| format!("||host-{i}.example^$script\n"));
        write(&folder, "list", hosts.chain(rules).collect::<String>());
    };
    hosts(9000);
    publish(&folder, 0, "");
    hosts(0);
    assert_eq!(publish(&folder, 1, "")["published"], false);
    hosts(9100);
    refused_after_notices(&folder, 2, "of the lines give no key");
    publish(&folder, 3, "--max-removed 100%");
}

/// Of a state that was lost, nothing tells what each list had.
#[test]
fn without_the_state_each_list_needs_a_least_number_of_keys() {
    let folder = feed("");
    publish_keys(&folder, 0, 0..1000);
    lose(&folder, "state");
    let lost = "the state was lost, so nothing tells whether a list was cut short";
    publish_refused(&folder, 1, "", lost);
    tell(&folder, "", "\"last.one\" = \"list\"\nmore = { file = \"list\", min-keys = 1 }");
    let words = "no `min-keys` for last.one, list; look at the lists, and give each the least number of keys, such as \
                 \"last.one\" = { file = \"list\", min-keys = 750 }, or give --max-removed 100% for this run";
    publish_refused(&folder, 1, "", words);
    let least = |keys: u32| {
        tell(&folder, "", "");
        let list = format!("{{ file = \"list\", min-keys = {keys} }}");
        told_as(&folder, "feed", "\"list\"", &list);
    };
    // The number in place counts, too.
    write_list(&folder, 0..500);
    least(400);
    publish_refused(&folder, 1, "", "500 of 1,000 keys would be removed");
    write_list(&folder, 0..900);
    least(901);
    publish_refused(&folder, 1, "", "`min-keys` is 901");
    least(900);
    publish(&folder, 1, "");
    check(&read(&folder), 0..900, 900..1000, 1e-3);
    // A part of the state that is damaged is no loss of it.
    fs::write(in_state(&folder, "members-"), "damaged").unwrap();
    tell(&folder, "", "");
    write_list(&folder, 0..450);
    publish_refused(&folder, 2, "", "this list has 450 keys, and had 900");
    publish_keys(&folder, 2, 0..901);
}

/// As a cache of CI restores one from a week ago. What must be absent is in feed.toml alone.
#[test]
fn an_old_state_brings_no_allowlist_back() {
    let folder = feed("");
    write_list(&folder, 0..1000);
    write(&folder, "good", lines(0..100));
    tell(&folder, "allow-wins = true", "[allow]\ngood = \"good\"");
    publish(&folder, 0, "");
    assert_eq!(verify(&folder)["count"], 900);
    copy(&folder, "state", "old");
    tell(&folder, "dropped = [\"good\"]", "");
    publish(&folder, 1, "");
    copy(&folder, "old", "state");
    publish_keys(&folder, 7 * 24, 0..1001);
    check(&read(&folder), 0..1001, 2000..3000, 1e-3);
    done(&folder, "verify @public --members @list --probes 1000");
}
