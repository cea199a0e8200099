//! What runs say, to people and to cron, and runs that only say what they would do.

use super::guard::{KINDS, PAGE};
use super::{all, at, feed, publish, tell, write_list};
use crate::in_process::{told, tool, write};

#[test]
fn a_dry_run_changes_nothing() {
    for above in KINDS {
        let folder = feed(above);
        write_list(&folder, 0..1000);
        let dry = |hours: u32| {
            let before = all(folder.path());
            let said = tool(&folder, &(at(hours) + " --dry-run"));
            assert!(all(folder.path()) == before, "{hours} hours");
            said
        };
        let (code, out, _) = dry(0);
        let rows = |out: &str| out.lines().filter(|row| row.starts_with("would ")).count();
        assert!(
            code == 0 && out.contains("put the manifest in place") && out.contains("1,000 keys"),
            "{out}"
        );
        publish(&folder, 0, "");
        let (code, out, err) = dry(1);
        assert_eq!((code, rows(&out), &*err), (0, 0, ""), "{out}");
        assert!(out.contains("unchanged, generation"), "{out}");
        // The next list, which drops a file that is due at once, beside what a killed run left.
        tell(&folder, &format!("grace = \"0s\"\n{above}"), "");
        write(&folder, "state/removed-abababababababab.digests", "left");
        write_list(&folder, 100..1100);
        let (code, out, _) = dry(1);
        assert!(code == 0 && out.contains("put the manifest in place") && rows(&out) > 3, "{out}");
        let report = told(&folder, &(at(1) + " --dry-run"));
        assert_eq!([&report["dryRun"], &report["published"]], [true, true]);
        // The list is refused, and the last one is about to expire.
        write(&folder, "list", PAGE);
        for (hours, words) in [
            (1, "stays until 2099-01-08T00:00:00Z\n"),
            (90, "the last list would be signed anew as generation "),
        ] {
            let (code, out, err) = dry(hours);
            assert!(code == 2 && out.is_empty() && err.contains(words), "{err}");
        }
    }
}

/// That allowed keys are removed was asked for, so only the others need a person.
#[test]
fn keys_that_are_listed_and_allowed() {
    let folder = feed("");
    write_list(&folder, 0..100);
    write(&folder, "good", "key-1.example\nkey-2.example\n");
    let with = |above: &str| tell(&folder, above, "[allow]\ngood = \"good\"");
    let said = |options: &str| {
        let (code, out, err) = tool(&folder, &format!("feed publish @feed.toml {options}"));
        assert_eq!(code, 0, "{out}{err}");
        err.lines().filter(|line| line.contains("good:")).map(str::to_owned).collect::<Vec<_>>()
    };
    with("");
    assert!(said("--quiet")[0].ends_with("good:1: listed and allowed, kept: \"key-1.example\""));
    assert!(said("--quiet").is_empty() && said("").is_empty());
    with("allow-wins = true");
    assert!(said("--quiet").is_empty());
    write_list(&folder, 0..101);
    assert!(said("")[1].ends_with("good:2: listed and allowed, removed: \"key-2.example\""));
    assert!(said("").is_empty());
}

/// A time that was given may be too long ago.
#[test]
fn a_generation_that_has_expired_already_is_told() {
    let folder = feed("");
    write(&folder, "list", "one\ntwo\n");
    let args = "feed publish @feed.toml --quiet --created-at 2020-01-01T00:00:00Z";
    let words = "expired 2020-01-08T00:00:00Z, so clients refuse it\n";
    let (code, out, err) = tool(&folder, args);
    assert!(code == 0 && out.is_empty(), "{err}");
    let warning = "--created-at is too long ago: generation ";
    assert!(err.starts_with(warning) && err.ends_with(words) && err.lines().count() == 1, "{err}");
    // A list that is signed anew, too.
    write(&folder, "list", PAGE);
    let (code, _, err) = tool(&folder, &args.replace("01-01", "01-06"));
    assert!(code == 2 && err.starts_with(warning) && err.contains("signed anew as generation "), "{err}");
}

/// Cron mails what is printed.
#[test]
fn a_quiet_run_says_only_what_is_new_and_needs_a_person() {
    for shards in KINDS {
        let above = format!("profile = \"url\"\n{shards}");
        let folder = feed(&above);
        let lines = |keys: u32, bad: &[(&str, u32)]| {
            let keys = (0..keys).map(|i| format!("host-{i}.example\n")).collect::<String>();
            let bad: String =
                bad.iter().map(|(line, times)| format!("{line}\n").repeat(*times as usize)).collect();
            write(&folder, "list", keys + &bad);
        };
        let said = |hours: u32| {
            let (code, out, err) = tool(&folder, &(at(hours) + " --quiet"));
            assert!(code == 0 && out.is_empty(), "{out}{err}");
            err.lines().map(str::to_owned).collect::<Vec<_>>()
        };
        let bad = "http://";
        lines(1000, &[(bad, 10)]);
        let err = said(0);
        assert!(
            err.len() == 10 && err.iter().all(|line| line.contains("list:") && line.contains("skipped")),
            "{err:?}"
        );
        assert_eq!(said(1), [""; 0]);
        // Another list with as many of these lines, by a point.
        lines(1010, &[(bad, 19)]);
        assert_eq!(said(2), [""; 0]);
        lines(1010, &[(bad, 40)]);
        let err = said(3);
        assert!(err.len() == 11 && err[10] == "and 30 more", "{err:?}");
        assert_eq!(said(4), [""; 0]);
        // Another reason.
        lines(1010, &[(bad, 40), ("||a.example^$script", 1)]);
        assert_eq!(said(5).len(), 11);
        assert_eq!(said(6), [""; 0]);
        // A renewal is told, each time.
        write(&folder, "list", PAGE);
        for hours in [100, 101] {
            let (code, out, err) = tool(&folder, &(at(hours) + " --quiet"));
            assert!(code == 2 && out.is_empty() && err.contains("HTML") && err.lines().count() == 1, "{err}");
        }
    }
}
