//! Failures are reported in one line.

use std::fs;

use tempfile::TempDir;

use super::{build, run, text, with_filter};

#[test]
fn failures_are_one_line_and_exit_code_2() {
    with_filter(|folder| {
        fs::write(folder.join("torn.gz"), [0x1f, 0x8b, 8, 0]).unwrap();
        fs::write(folder.join("damaged"), &fs::read(folder.join("f.bloom")).unwrap()[..30]).unwrap();
        for (args, message) in [
            (&["build", "nowhere", "-o", "out"][..], "nowhere"),
            (&["build", "torn.gz", "-o", "out"], "torn.gz: "),
            (&["build", "list", "-o", "no/such/folder"], "no/such/folder"),
            (&["build", "list", "-o", "out", "--fpr", "2"], "[invalid_parameter]"),
            (&["info", "list"], "list: this is not a bloom-wasm blob"),
            (&["info", "damaged"], "[truncated]"),
            (&["check", "nowhere", "key"], "nowhere"),
            (&["build", "list", "-o", "out", "--fpr", "0.1%"], "give a number such as 0.001"),
            (&["build", "-", "-", "-o", "out"], "standard input can be read only once"),
            (&["build", "--allow", "-", "-o", "out"], "standard input can be read only once"),
            (
                &["verify", "f.bloom", "--members", "-", "--absent", "-"],
                "standard input can be read only once",
            ),
        ] {
            let output = run(folder, args, b"");
            let error = text(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{args:?}: {error}");
            assert!(error.starts_with("bloom-wasm: ") && error.contains(message), "{args:?}: {error}");
            assert_eq!(error.lines().count(), 1, "{args:?}: {error}");
            assert!(output.stdout.is_empty());
        }
        assert!(!folder.join("out").exists());
    });
}

#[test]
fn options_that_do_not_fit_are_refused() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    fs::write(folder.join("list"), "evil.example\n").unwrap();
    fs::write(folder.join("f.bloom"), build(folder, &["list"], b"").0).unwrap();
    for (args, message) in [
        (&["build", "--lowercase"][..], "--profile password"),
        (&["build", "--profile", "url", "--lowercase"], "--profile password"),
        (&["build", "--sha1"], "--profile password"),
        (&["build", "--profile", "url", "--sha1"], "--profile password"),
        (&["build", "--min-length", "8"], "--profile password"),
        (&["build", "--profile", "url", "--min-length", "8"], "--profile password"),
        (&["build", "--min-count", "8"], "--sha1"),
        (&["build", "--profile", "url", "--min-count", "8"], "--sha1"),
        (&["build", "--profile", "password", "--min-count", "8"], "--sha1"),
        (&["build", "--profile", "password", "--sha1", "--lowercase"], "'--lowercase'"),
        (&["build", "--profile", "password", "--sha1", "--min-length", "8"], "--min-length"),
        (&["build", "--allow-suffixes"], "--profile url"),
        (&["build", "--profile", "password", "--allow-suffixes"], "--profile url"),
        (&["build", "--allow-wins"], "--allow <LIST>"),
        (&["build", "--profile", "url", "--allow", "nowhere"], "nowhere"),
        (&["build", "--profile", "urls"], "[possible values: raw, url, password]"),
        (&["build", "--profile", "password", "--min-length", "-1"], "'-1'"),
        (&["build", "--profile", "password", "--min-length", "x"], "'x'"),
        (&["build", "--profile", "url", "--fpr", "1"], "[invalid_parameter]"),
        (&["build", "--profile", "url", "--fpr", "9"], "[invalid_parameter]"),
        (&["build", "--profile", "url", "--fpr", "0"], "[invalid_parameter]"),
        (&["build", "--profile", "url", "--fpr", "-1"], "[invalid_parameter]"),
        (&["build", "--profile", "url", "--fpr=-1"], "[invalid_parameter]"),
        (&["build", "--profile", "password", "--fpr", "NaN"], "[invalid_parameter]"),
        (&["verify", "f.bloom"], "--members <LIST>"),
        (&["verify", "f.bloom", "--members", "list", "--absent", "list", "--probes", "3"], "'--probes"),
        (
            &["verify", "f.bloom", "--members", "list", "--profile", "url"],
            "'--profile' found; a similar argument exists: '--probes'; it is an option of `build`, `feed init`, `feed build-shard`, `import`\n",
        ),
        (&["feed", "publish", "a", "--counter-bits", "8"], "; it is an option of `build`\n"),
        (&["build", "--shards", "4"], "it is an option of `feed build-shard`\n"),
        (
            &["check", "f.bloom", "--lowercase"],
            "'--lowercase' found; it is an option of `build`, `feed build-shard`,",
        ),
        (
            &["check", "f.bloom", "--members=list"],
            "'--members' found; it is an option of `import`, `verify`\n",
        ),
        (&["check", "f.bloom", "--my-key"], "to pass '--my-key' as a value, use '-- --my-key'\n"),
        (&["chek", "f.bloom"], "'chek'; a similar subcommand exists: 'check'"),
        (&["feed", "pubish"], "'pubish'; a similar subcommand exists: 'publish'"),
        (&["build", "--profil", "url"], "'--profil' found; a similar argument exists: '--profile'"),
        (&["build", "--sha"], "'--sha' found; a similar argument exists: '--sha1'"),
        (&["build", "--kind", "ribon"], "redisbloom]; a similar value exists: 'ribbon'"),
    ] {
        let output: &[&str] = if args[0] == "build" { &["-o", "new", "list"] } else { &[] };
        let output = run(folder, &[args, output].concat(), b"");
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {error}");
        assert!(error.starts_with("bloom-wasm: ") && error.contains(message), "{args:?}: {error}");
        assert_eq!(error.lines().count(), 1, "{args:?}: {error}");
        assert!(output.stdout.is_empty());
    }
    assert!(!folder.join("new").exists());
    // Asking for help isn't a failure, and the answer may be long.
    for args in [&["help"][..], &["--help"], &["build", "--help"]] {
        let output = run(folder, args, b"");
        assert!(output.status.success() && text(&output.stdout).lines().count() > 5);
    }
    let nothing = run(folder, &[], b"");
    assert!(text(&nothing.stderr).contains("Usage:") && nothing.status.code() == Some(2));
}
