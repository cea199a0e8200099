//! `merge`. That parts make the whole is tested with `build --capacity`, in `import.rs`.

use std::fs;

use super::{run, text, with_filter};

#[test]
fn what_does_not_merge_is_refused() {
    with_filter(|folder| {
        for (name, kind) in [("one", "bloom"), ("smaller", "bloom"), ("counting", "counting")] {
            let list = if name == "smaller" { &b"a\n"[..] } else { b"a\nb\nc\n" };
            assert!(run(folder, &format!("build -o {name} --kind {kind}"), list).status.success());
        }
        let one = fs::read(folder.join("one")).unwrap();
        for (files, words) in [
            ("one smaller", "smaller: "),
            ("one smaller", "[incompatible]"),
            ("one counting", "counting: "),
            ("f.bloom f.bloom", "[not_mergeable]"),
            ("- -", "standard input can be read only once"),
        ] {
            let output = run(folder, &format!("merge -o none {files}"), &one);
            assert!(output.status.code() == Some(2) && text(&output.stderr).contains(words), "{output:?}");
        }
        assert!(!folder.join("none").exists());
    });
}
