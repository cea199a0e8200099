//! The examples in the help run as they stand.

use std::fs;

use tempfile::TempDir;

use super::{run, text};

#[test]
fn the_examples_of_the_help_run() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    for (name, content) in [
        ("urls.txt", "evil.example\n"),
        ("passwords.txt", "123456\nPassword1\n"),
        ("candidates.txt", "password1\ncorrect horse battery staple\n"),
    ] {
        fs::write(folder.join(name), content).unwrap();
    }
    let lists = folder.join("lists");
    fs::create_dir(&lists).unwrap();
    assert!(run(&lists, "feed init ../urls.txt --profile url", b"").status.success());
    let mut printed = String::new();
    for command in ["build", "check", "feed publish"] {
        let help = run(folder, &format!("{command} --help"), b"");
        let (_, examples) = text(&help.stdout).split_once("Examples:\n").unwrap();
        let examples: Vec<_> =
            examples.lines().map_while(|line| line.strip_prefix("  bloom-wasm ")).collect();
        assert_eq!(examples.len(), 2, "{command}");
        for example in examples {
            let (args, input) = example.split_once(" < ").unwrap_or((example, ""));
            let input = if input.is_empty() { Vec::new() } else { fs::read(folder.join(input)).unwrap() };
            let output = run(folder, args, &input);
            assert!(output.status.success(), "{example}: {}", text(&output.stderr));
            printed += text(&output.stdout);
        }
    }
    assert!(printed.contains("https://evil.example/login\ncorrect horse battery staple\n"), "{printed}");
}
