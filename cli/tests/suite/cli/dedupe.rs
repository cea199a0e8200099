//! `dedupe`, against a set of the lines themselves.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use bloom_wasm::hash::digest;
use tempfile::TempDir;

use super::{packed, run, text};

/// Each line where it comes first.
fn firsts<'a>(lines: impl Iterator<Item = &'a str>) -> String {
    let mut seen = HashSet::new();
    lines.filter(|line| seen.insert(*line)).map(|line| line.to_owned() + "\n").collect()
}

/// So many lines, of which about two thirds are different.
fn repetitive(count: u64) -> Vec<String> {
    (0..count).map(|i| format!("line-{}", digest(0, &i.to_le_bytes()) % count)).collect()
}

/// What is printed of these lines.
fn printed(folder: &Path, args: &[&str], lines: &[u8]) -> Vec<u8> {
    let output = run(folder, &[&["dedupe"], args].concat(), lines);
    assert!(output.status.success() && output.stderr.is_empty(), "{}", text(&output.stderr));
    output.stdout
}

#[test]
fn each_line_is_printed_once_in_order() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    let lines = repetitive(1 << 17);
    let expected = firsts(lines.iter().map(String::as_str));
    assert!((50_000..120_000).contains(&expected.lines().count()), "{}", expected.lines().count());
    assert!(text(&printed(folder, &[], lines.join("\n").as_bytes())) == expected);

    // Several files, one of them gzipped and one standard input, the first without an end of its last line.
    let (one, rest) = lines.split_at(1000);
    fs::write(folder.join("one"), one.join("\n")).unwrap();
    fs::write(folder.join("two.gz"), packed(rest[..2000].join("\r\n").as_bytes())).unwrap();
    let output = run(folder, &["dedupe", "one", "-", "two.gz"], b"\xef\xbb\xbfline-x\n");
    let all = one.iter().map(String::as_str).chain(["line-x"]).chain(rest[..2000].iter().map(String::as_str));
    assert!(text(&output.stdout) == firsts(all));
}

#[test]
fn a_line_is_any_bytes() {
    let folder = TempDir::new().unwrap();
    let long = "x".repeat(2_000_000);
    let other = format!("{}y", &long[1..]);
    let input = format!("\u{feff}# a\n\nb\r\nb\n B\n# a\n\n{long}\n{other}\n{long}\nb ");
    let input = [input.as_bytes(), b"\n\xff\xfe\n\xff\n\xff\xfe"].concat();
    let expected = format!("# a\n\nb\n B\n{long}\n{other}\nb \n");
    assert!(printed(folder.path(), &[], &input) == [expected.as_bytes(), b"\xff\xfe\n\xff\n"].concat());
    let nothing = run(folder.path(), &["dedupe"], b"");
    assert!(nothing.status.success() && nothing.stdout.is_empty());
}

/// A repeated line is never printed. How many new ones are dropped is at most what the binomial allows.
#[test]
fn with_a_rate_new_lines_are_dropped_at_that_rate_at_most() {
    let folder = TempDir::new().unwrap();
    let lines = repetitive(1 << 17);
    let expected = firsts(lines.iter().map(String::as_str));
    let all = expected.lines().count() as f64;
    for rate in [0.3, 0.01] {
        let printed = printed(folder.path(), &["--fpr", &rate.to_string()], lines.join("\n").as_bytes());
        let printed: Vec<_> = text(&printed).lines().collect();
        let mut all_lines = expected.lines();
        assert!(printed.iter().all(|line| all_lines.any(|other| other == *line)), "in order, and once");
        let dropped = all - printed.len() as f64;
        assert!(dropped <= all * rate + 5.0 * (all * rate).sqrt(), "{rate}: {dropped} of {all}");
    }
    // There is room for a million, so few were dropped. Of as many, some are.
    let lines: Vec<_> = (0..1_000_000).map(|i| i.to_string()).collect();
    let printed = printed(folder.path(), &["--fpr", "0.3"], lines.join("\n").as_bytes());
    let dropped = lines.len() - text(&printed).lines().count();
    assert!((1000..300_000).contains(&dropped), "{dropped}");
}

#[test]
fn what_it_cannot_do_is_refused() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    fs::write(folder.join("list"), "a\n").unwrap();
    fs::write(folder.join("no.zip"), b"PK\x03\x04zip").unwrap();
    for (args, message) in [
        (&["dedupe", "nowhere"][..], "nowhere: "),
        (&["dedupe", "no.zip"], "this is a zip file"),
        (&["dedupe", "-", "-"], "standard input can be read only once"),
        (&["dedupe", "--fpr", "2"], "[invalid_parameter]"),
        (&["dedupe", "--fpr", "0"], "[invalid_parameter]"),
        (&["dedupe", "--fpr", "1%"], "give a number such as 0.001"),
    ] {
        let output = run(folder, args, b"");
        let error = text(&output.stderr);
        assert!(output.status.code() == Some(2) && output.stdout.is_empty(), "{args:?}: {error}");
        assert!(error.contains(message) && error.lines().count() == 1, "{args:?}: {error}");
    }
    // What came before stands.
    let output = run(folder, &["dedupe", "list", "nowhere"], b"");
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(2), "a\n"));
}
