//! `merge`.

use tempfile::TempDir;

use super::{run, text};

#[test]
fn merge_is_the_filter_of_both_lists() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    for kind in ["bloom", "counting"] {
        let build = |keys: &str, output: &str| {
            let args = ["build", "-o", output, "--kind", kind, "--fpr", "0.01"];
            assert!(run(folder, &args, keys.as_bytes()).status.success());
        };
        build("a\nb\nc\n", "one");
        build("d\ne\nf\n", "two");
        build("g\nh\n", "smaller");
        assert!(run(folder, &["merge", "one", "two", "-o", "both"], b"").status.success());
        let output = run(folder, &["check", "both"], b"a\nb\nc\nd\ne\nf\n");
        assert_eq!(text(&output.stdout), "a\nb\nc\nd\ne\nf\n", "{kind}");
        let output = run(folder, &["merge", "one", "smaller", "-o", "none"], b"");
        assert_eq!(output.status.code(), Some(2));
        assert!(
            text(&output.stderr).contains("smaller: ") && text(&output.stderr).contains("[incompatible]")
        );
    }
    // The second has two groups of keys, and so a layer.
    for (list, profile) in [("a\n", "raw"), ("a.example\nb.example/c/d\n", "url")] {
        assert!(
            run(folder, &["build", "-o", "ribbon", "--profile", profile], list.as_bytes()).status.success()
        );
        let output = run(folder, &["merge", "ribbon", "ribbon", "-o", "none"], b"");
        assert!(text(&output.stderr).contains("[not_mergeable]"), "{}", text(&output.stderr));
    }
    let output = run(folder, &["merge", "-", "-", "-o", "none"], &std::fs::read(folder.join("one")).unwrap());
    assert!(
        text(&output.stderr).contains("standard input can be read only once"),
        "{}",
        text(&output.stderr)
    );
    assert!(!folder.join("none").exists());
}
