//! `diff`, `apply`, and `info` of a delta, in this process.

use std::fs;

use bloom_wasm::Blob;
use tempfile::TempDir;

use crate::in_process::{done, read, refused, tool};

fn hosts(range: std::ops::Range<u32>) -> String {
    range.map(|i| format!("host-{i}.example\n")).collect()
}

/// Three lists, a day apart, and the blob of the first.
fn days() -> TempDir {
    let folder = TempDir::new().unwrap();
    for (day, range) in [(0, 0..5000), (1, 100..5100), (2, 150..5300)] {
        fs::write(folder.path().join(format!("{day}.txt")), hosts(range)).unwrap();
    }
    done(&folder, "build @0.txt --profile url --name hosts -o @0.bloom");
    folder
}

#[test]
fn deltas_bring_a_blob_up_to_date() {
    let folder = days();
    let said =
        done(&folder, "diff @0.txt @1.txt --base @0.bloom -o @1.delta --created-at 2026-11-21T09:00:00Z");
    assert!(said.contains("100 keys added, 100 removed") && said.contains("a delta for "), "{said}");
    done(&folder, "apply @0.bloom @1.delta -o @1.bloom");
    done(&folder, "diff @1.txt @2.txt --base @1.bloom -o @2.delta --name newer");
    done(&folder, "apply @1.bloom @2.delta -o @2.bloom");
    done(&folder, "apply @0.bloom @1.delta @2.delta -o @both.bloom");
    assert_eq!(read(&folder, "both.bloom"), read(&folder, "2.bloom"));

    let blob = Blob::decode(read(&folder, "2.bloom")).unwrap();
    assert_eq!((blob.name(), blob.created_at()), (Some("newer"), None));
    let blob = Blob::decode(read(&folder, "1.bloom")).unwrap();
    assert_eq!((blob.name(), blob.created_at()), (Some("hosts"), Some(1_795_251_600_000)));
    for day in [1, 2] {
        let said = done(&folder, &format!("verify @{day}.bloom --members @{day}.txt --json"));
        assert!(said.contains("\"falseNegatives\": 0"), "{said}");
    }
    // All removed keys are absent, except for false positives of the added ones.
    fs::write(folder.path().join("removed.txt"), hosts(0..150)).unwrap();
    let said = done(&folder, "verify @2.bloom --members @2.txt --absent @removed.txt --json");
    let verdict: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert!(verdict["probes"] == 150 && verdict["falsePositives"].as_u64().unwrap() <= 2, "{said}");
    assert!(read(&folder, "1.delta").len() < read(&folder, "0.bloom").len() / 10);
}

#[test]
fn info_of_a_delta() {
    let folder = days();
    done(&folder, "diff @0.txt @1.txt --base @0.bloom -o @1.delta --created-at 2026-11-21T09:00:00Z");
    let info: serde_json::Value = serde_json::from_str(&done(&folder, "info @1.delta --json")).unwrap();
    let parent: serde_json::Value = serde_json::from_str(&done(&folder, "info @0.bloom --json")).unwrap();
    assert_eq!(info["parent"], parent["id"]);
    let bytes = read(&folder, "1.delta");
    let checksum = u32::from_le_bytes(bytes[bytes.len() - 4..].try_into().unwrap());
    let id = (bytes.len() as u64) << 32 | u64::from(checksum);
    assert_eq!(
        info,
        serde_json::json!({
            "kind": "delta", "parent": parent["id"], "profile": "url", "keyed": false, "count": 5000, "byteLength": bytes.len(),
            "layers": 2, "name": "hosts", "createdAt": 1_795_251_600_000_u64, "id": format!("{id:016x}"),
        })
    );
    assert_eq!(
        info,
        serde_json::from_str::<serde_json::Value>(&done(
            &folder,
            "diff @0.txt @1.txt --base @0.bloom -o @again.delta --created-at 2026-11-21T09:00:00Z --json",
        ))
        .unwrap()
    );
    let said = done(&folder, "info @1.delta");
    assert!(
        said.contains("delta: brings") && said.contains("2026-11-21T09:00:00Z") && said.contains("5,000"),
        "{said}"
    );
}

#[test]
fn allowed_keys_stay_absent() {
    let folder = days();
    // Hosts that are false positives of the layers.
    fs::write(
        folder.path().join("good.txt"),
        (0..20_000).map(|i| format!("good-{i}.example\n")).collect::<String>(),
    )
    .unwrap();
    let diff = "diff @0.txt @1.txt --base @0.bloom --fpr 0.05";
    done(&folder, &format!("{diff} --allow @good.txt -o @1.delta"));
    done(&folder, &format!("{diff} -o @without.delta"));
    let false_positives = |delta: &str| {
        done(&folder, &format!("apply @0.bloom @{delta} -o @1.bloom"));
        let said = done(&folder, "verify @1.bloom --members @1.txt --absent @good.txt --json");
        let verdict: serde_json::Value = serde_json::from_str(&said).unwrap();
        assert_eq!(verdict["falseNegatives"], 0);
        verdict["falsePositives"].as_u64().unwrap()
    };
    assert!(false_positives("without.delta") > 20);
    assert_eq!(false_positives("1.delta"), 0);
}

/// A base that an allowlist took keys out of goes on without them.
#[test]
fn an_allowlist_that_wins() {
    let folder = days();
    fs::write(folder.path().join("good.txt"), "host-200.example\nhost-5050.example\nother.example\n")
        .unwrap();
    let wins = "--allow @good.txt --allow-wins";
    done(&folder, &format!("build @0.txt --profile url {wins} -o @0.bloom"));
    refused(&folder, "diff @0.txt @1.txt --base @0.bloom -o @1.delta", "lacks 1 key of");
    let said = done(&folder, &format!("diff @0.txt @1.txt --base @0.bloom {wins} -o @1.delta"));
    assert!(said.contains("99 keys added, 100 removed"), "{said}");
    done(&folder, "apply @0.bloom @1.delta -o @1.bloom");
    let (code, out, _) = tool(&folder, "check @1.bloom host-200.example host-5050.example other.example");
    assert_eq!((code, out.as_str()), (1, ""));
    assert_eq!(tool(&folder, "check @1.bloom host-201.example host-5051.example").0, 0);
    // Nothing is left.
    let all = "diff @0.txt @1.txt --base @0.bloom --allow @1.txt --allow-wins --max-removed 100% -o @2.delta";
    let (code, _, err) = tool(&folder, all);
    assert!(code == 2 && err.contains("--allow-empty makes a delta that removes every key"), "{err}");
}

#[test]
fn a_list_that_shrinks_gives_no_delta() {
    let folder = days();
    let write = |text: String| fs::write(folder.path().join("new.txt"), text).unwrap();
    let diff = "diff @0.txt @new.txt --base @0.bloom -o @x";
    // What a host sends, with status 200, while it is being repaired; one of its words could be a host.
    write("<!doctype html>\n<title>Maintenance</title>\nlocalhost\n".to_owned());
    assert!(tool(&folder, diff).2.ends_with("new.txt: this is a page of HTML or XML, not a list\n"));
    write("We will be back soon.\nlocalhost\n".to_owned());
    let (code, _, err) = tool(&folder, diff);
    let last = err.lines().last().unwrap_or_default();
    assert!(
        code == 2 && last.contains("5,000 of 5,000 keys") && last.contains("--max-removed 100%"),
        "{err}"
    );
    for (range, words) in [(0..3334, "1,666 of 5,000"), (1251..9000, "1,251 of 5,000")] {
        write(hosts(range));
        refused(&folder, diff, words);
    }
    assert!(!folder.path().join("x").exists());
    write(hosts(1250..5000));
    assert!(done(&folder, diff).contains("1,250 removed"));
    write(hosts(0..10));
    refused(&folder, &format!("{diff} --max-removed 99%"), "at most 99%");
    assert!(done(&folder, &format!("{diff} --max-removed 99.8%")).contains("4,990 removed"));
    // As many keys as before, and as many lines again that give no key.
    write(hosts(0..5000) + &"not a host\n".repeat(5000));
    let (code, _, err) = tool(&folder, diff);
    assert!(code == 2 && err.contains("50% of the lines give no key, and 0% gave none before"), "{err}");
    done(&folder, &format!("{diff} --max-removed 100%"));
    // If the old list has them too, they are normal for this list.
    fs::copy(folder.path().join("new.txt"), folder.path().join("0.txt")).unwrap();
    done(&folder, diff);
    // The same goes for a list that has named each key four times until now.
    fs::write(folder.path().join("0.txt"), hosts(0..5000).repeat(4) + &"not a host\n".repeat(5000)).unwrap();
    done(&folder, diff);
}

#[test]
fn an_output_is_no_input() {
    let folder = days();
    done(&folder, "diff @0.txt @1.txt --base @0.bloom -o @1.delta");
    let before = read(&folder, "1.delta");
    refused(&folder, "apply @0.bloom @1.delta -o @1.delta", "and the output");
    assert_eq!(read(&folder, "1.delta"), before);
    done(&folder, "apply @0.bloom @1.delta -o @0.bloom");
    done(&folder, "verify @0.bloom --members @1.txt --probes 10");
}

/// An empty filter has no rate yet, so the rate that it was built for counts.
#[test]
fn a_delta_over_an_empty_base_has_a_rate() {
    let folder = days();
    fs::write(folder.path().join("empty.txt"), "").unwrap();
    for options in ["--profile url", "--kind ribbon", "--kind bloom --capacity 9"] {
        done(&folder, &format!("build @empty.txt --allow-empty {options} --fpr 0.25 -o @none.bloom"));
        done(&folder, "diff @empty.txt @0.txt --base @none.bloom -o @first.delta");
        done(&folder, "apply @none.bloom @first.delta -o @first.bloom");
        let first = Blob::decode(read(&folder, "first.bloom")).unwrap();
        let [layer] = first.filter().layers() else { panic!("{options}") };
        assert!((layer.fpr() * 16.0 - 0.25).abs() < 0.01, "{options}: {}", layer.fpr());
    }
}

/// A list whose keys are in two groups has a layer from the beginning.
#[test]
fn info_says_what_a_fresh_layer_is() {
    let folder = days();
    let pages: String = (0..300).map(|i| format!("page-{i}.example/a/b\n")).collect();
    fs::write(folder.path().join("two.txt"), hosts(0..30_000) + &pages).unwrap();
    done(&folder, "build @two.txt --profile url -o @two.bloom");
    let said = done(&folder, "info @two.bloom");
    assert!(said.contains("layers    1 that holds the keys of other shapes\n"), "{said}");
    assert!(done(&folder, "info @0.bloom").contains("layers    none\n"));
    done(&folder, "diff @two.txt @0.txt --base @two.bloom -o @less.delta --max-removed 100%");
    done(&folder, "apply @two.bloom @less.delta -o @less.bloom");
    let said = done(&folder, "info @less.bloom");
    assert!(
        said.contains("layers    1 that holds more keys, 1 of keys that are certainly absent\n"),
        "{said}"
    );
}

#[test]
fn what_does_not_go_together_is_refused() {
    let folder = days();
    done(&folder, "diff @0.txt @1.txt --base @0.bloom -o @1.delta");
    done(&folder, "apply @0.bloom @1.delta -o @1.bloom");
    refused(&folder, "apply @1.bloom @1.delta -o @x", "[wrong_base]");
    refused(&folder, "apply @0.bloom @0.bloom -o @x", "[wrong_kind]");
    refused(&folder, "apply @1.delta @1.delta -o @x", "[wrong_kind]");
    refused(&folder, "check @1.delta host-1.example", "[wrong_kind]");
    refused(&folder, "diff @2.txt @1.txt --base @0.bloom -o @x", "it isn't the blob of that list");
    refused(&folder, "diff @0.txt @1.txt --base @0.bloom --fpr 2 -o @x", "[invalid_parameter]");
    refused(&folder, "diff @0.txt @1.txt --base @0.bloom -o @0.txt", "and the output");
    fs::write(folder.path().join("empty.txt"), "# the download failed\n").unwrap();
    refused(&folder, "diff @0.txt @empty.txt --base @0.bloom -o @x", "--allow-empty");
    let all = "diff @0.txt @empty.txt --base @0.bloom -o @all.delta --allow-empty";
    refused(&folder, all, "5,000 of 5,000 keys");
    done(&folder, &format!("{all} --max-removed 100%"));
    refused(
        &folder,
        "diff @0.txt @1.txt --base @0.bloom --allow @empty.txt -o @x",
        "empty.txt: this list gave no key",
    );
    done(&folder, "apply @0.bloom @all.delta -o @none.bloom");
    assert_eq!(tool(&folder, "check @none.bloom host-1.example host-4999.example").0, 1);
    refused(&folder, "diff - - --base @0.bloom -o @x", "standard input");
    refused(&folder, "diff @0.txt @no.txt --base @0.bloom -o @x", "no.txt");
    fs::write(folder.path().join("cut"), &read(&folder, "1.delta")[..50]).unwrap();
    refused(&folder, "apply @0.bloom @cut -o @x", "[truncated]");
    refused(&folder, "info @cut", "[truncated]");
    assert!(!folder.path().join("x").exists());
}

/// Keys of the base that the old list lacks could get lost, so they are reported: by the base's own count, or by its
/// bits.
#[test]
fn an_old_list_that_is_not_the_base_s_is_refused() {
    let folder = TempDir::new().unwrap();
    let numbers = |range: std::ops::Range<u32>| range.map(|i| format!("{i}\n")).collect::<String>();
    for (name, range) in [("all", 1..1001), ("part", 101..1001), ("less", 101..801), ("next", 1..1011)] {
        fs::write(folder.path().join(name), numbers(range)).unwrap();
    }
    fs::write(folder.path().join("repeated"), numbers(1..1001).repeat(2)).unwrap();
    for kind in ["ribbon", "cuckoo", "bloom", "counting", "scalable"] {
        done(&folder, &format!("build @all --kind {kind} --fpr 0.1 -o @base"));
        let (code, _, err) = tool(&folder, "diff @part @less --base @base --max-removed 100% -o @x");
        assert!(
            code == 2 && err.contains("part lacks ") && err.contains("base, so it isn't the list"),
            "{kind}: {err}"
        );
        if let "ribbon" | "cuckoo" = kind {
            assert!(err.contains("lacks 100 keys of the 1,000 keys in "), "{err}");
        }
        // The base's own list is accepted, also with repeated lines; then the child's, and no other.
        done(&folder, "diff @repeated @next --base @base -o @delta");
        done(&folder, "apply @base @delta -o @child");
        done(&folder, "diff @next @all --base @child -o @delta");
        refused(&folder, "diff @part @next --base @child -o @x", "part lacks 110 keys of the 1,010 keys in ");
    }
    // One key that is absent from the base, and many that it may hold by chance.
    done(&folder, "build @all --fpr 0.5 -o @base");
    refused(&folder, "diff @next @all --base @base -o @x", "give the list that it was made from");
    assert!(!folder.path().join("x").exists());
}

/// A scalable filter's count leaves out keys that were false positives when they were added, so only its bits tell what
/// the list lacks.
#[test]
fn an_old_list_that_a_scalable_base_seems_to_cover_is_refused() {
    let folder = TempDir::new().unwrap();
    let numbers = |range: std::ops::Range<u32>| range.map(|i| format!("{i}\n")).collect::<String>();
    fs::write(folder.path().join("all"), numbers(1..1001)).unwrap();
    fs::write(folder.path().join("less"), numbers(1..601)).unwrap();
    for (rate, seed) in [("0.1", 1), ("0.5", 2), ("0.5", 3)] {
        done(&folder, &format!("build @all --kind scalable --fpr {rate} --seed {seed} -o @base"));
        let info = done(&folder, "info @base --json");
        let count = serde_json::from_str::<serde_json::Value>(&info).unwrap()["count"].as_u64().unwrap();
        assert!(count < 990, "{count} of 1000 counted at {rate}");
        // More keys than it counts.
        fs::write(folder.path().join("part"), numbers(11..1001)).unwrap();
        refused(&folder, "diff @part @less --base @base --max-removed 100% -o @x", "part lacks about ");
        done(&folder, "diff @all @less --base @base --max-removed 100% -o @delta");
    }
    // Every bit is set, so no number can be estimated.
    fs::write(folder.path().join("all"), numbers(1..9)).unwrap();
    fs::write(folder.path().join("part"), "1\n").unwrap();
    done(&folder, "build @all --kind bloom --fpr 0.999 -o @base");
    refused(&folder, "diff @part @part --base @base -o @x", "part lacks some of the keys in ");
    assert!(!folder.path().join("x").exists());
}

/// A list is read by the same rules as that of the base, or the option that differs is named.
#[test]
fn other_rules_than_those_of_the_base_are_refused() {
    let folder = TempDir::new().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    let list = hosts(0..300) + "github.io\nco.uk\n";
    write("0.txt", &list);
    write("1.txt", &(list + "new.example\n"));
    done(&folder, "build @0.txt --profile url --allow-suffixes -o @kept.bloom");
    done(&folder, "build @0.txt --profile url -o @skipped.bloom");
    let without = |base: &str, options: &str| {
        let (code, _, err) = tool(&folder, &format!("diff @0.txt @1.txt --base @{base} {options} -o @x"));
        assert!(code == 2 && !folder.path().join("x").exists(), "{err}");
        err.lines().last().unwrap().to_owned()
    };
    let said = without("kept.bloom", "");
    assert!(
        said.contains("lacks 2 keys of the 302 keys") && said.contains("and --allow-suffixes if"),
        "{said}"
    );
    let said = without("skipped.bloom", "--allow-suffixes");
    assert!(said.contains("lacks 2 keys of") && said.contains("without --allow-suffixes if"), "{said}");
    done(&folder, "diff @0.txt @1.txt --base @kept.bloom --allow-suffixes -o @kept.delta");
    done(&folder, "apply @kept.bloom @kept.delta -o @kept.bloom");
    assert_eq!(tool(&folder, "check @kept.bloom github.io").0, 0);
    done(&folder, "diff @0.txt @1.txt --base @skipped.bloom -o @skipped.delta");

    write("words.txt", "short\na longer one\n");
    done(&folder, "build @words.txt --profile password --min-length 8 -o @words.bloom");
    let diff = "diff @words.txt @words.txt --base @words.bloom -o @y";
    refused(&folder, diff, "and the --min-length that it was built with");
    done(&folder, &format!("{diff} --min-length 8"));

    write("all.txt", "one\ntwo\n");
    write("allow.txt", "two\n");
    done(&folder, "build @all.txt --allow @allow.txt --allow-wins -o @left.bloom");
    let diff = "diff @all.txt @all.txt --base @left.bloom -o @z";
    refused(&folder, diff, "with --allow and --allow-wins if it was built with them");
    done(&folder, &format!("{diff} --allow @allow.txt --allow-wins"));
}
