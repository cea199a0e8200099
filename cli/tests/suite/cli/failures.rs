//! Failures are reported in one line.

use std::fs;

use super::{run, text, with_filter};

#[test]
fn failures_are_one_line_and_exit_code_2() {
    with_filter(|folder| {
        fs::write(folder.join("torn.gz"), [0x1f, 0x8b, 8, 0]).unwrap();
        fs::write(folder.join("damaged"), &fs::read(folder.join("f.bloom")).unwrap()[..30]).unwrap();
        for (args, message) in [
            ("build nowhere -o out", "nowhere"),
            ("build torn.gz -o out", "torn.gz: "),
            ("build list -o no/such/folder", "no/such/folder"),
            ("info list", "list: this is not a bloom-wasm blob"),
            ("info damaged", "[truncated]"),
            ("check nowhere key", "nowhere"),
            ("build - - -o out", "standard input can be read only once"),
            ("build --allow - -o out", "standard input can be read only once"),
            ("verify f.bloom --members - --absent -", "standard input can be read only once"),
            // Options that don't fit.
            ("build list -o out --lowercase", "--profile password"),
            ("build list -o out --profile url --sha1", "--profile password"),
            ("build list -o out --min-length 8", "--profile password"),
            ("build list -o out --profile url --min-length 8", "--profile password"),
            ("build list -o out --profile password --min-count 8", "--sha1"),
            ("build list -o out --profile password --sha1 --lowercase", "'--lowercase'"),
            ("build list -o out --profile password --sha1 --min-length 8", "--min-length"),
            ("build list -o out --allow-suffixes", "--profile url"),
            ("build list -o out --profile password --allow-suffixes", "--profile url"),
            ("build list -o out --allow-wins", "--allow <LIST>"),
            ("build list -o out --profile url --allow nowhere", "nowhere"),
            ("build list -o out --profile urls", "[possible values: raw, url, password]"),
            ("build list -o out --profile password --min-length -1", "'-1'"),
            ("verify f.bloom", "--members <LIST>"),
            ("verify f.bloom --members list --absent list --probes 3", "'--probes"),
            // Options of another command, or misspelt.
            (
                "verify f.bloom --members list --profile url",
                "'--profile' found; a similar argument exists: '--probes'; it is an option of `build`, `feed init`, `feed build-shard`, `import`\n",
            ),
            ("feed publish a --counter-bits 8", "; it is an option of `build`\n"),
            ("check f.bloom --members=list", "'--members' found; it is an option of `import`, `verify`\n"),
            ("check f.bloom --my-key", "to pass '--my-key' as a value, use '-- --my-key'\n"),
            ("chek f.bloom", "'chek'; a similar subcommand exists: 'check'"),
            ("build list -o out --kind ribon", "redisbloom]; a similar value exists: 'ribbon'"),
        ] {
            let output = run(folder, args, b"");
            let error = text(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{args}: {error}");
            assert!(error.starts_with("bloom-wasm: ") && error.contains(message), "{args}: {error}");
            assert_eq!(error.lines().count(), 1, "{args}: {error}");
            assert!(output.stdout.is_empty());
        }
        assert!(!folder.join("out").exists());
        // Asking for help isn't a failure, and the answer may be long.
        for args in ["help", "build --help"] {
            let output = run(folder, args, b"");
            assert!(output.status.success() && text(&output.stdout).lines().count() > 5);
        }
        let nothing = run(folder, "", b"");
        assert!(text(&nothing.stderr).contains("Usage:") && nothing.status.code() == Some(2));
    });
}
