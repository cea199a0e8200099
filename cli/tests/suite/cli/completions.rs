//! `completions`: what shells do with them.

use std::process::Command;

use tempfile::TempDir;

use super::{output, run, text, text_of};

fn script(shell: &str) -> String {
    let output = run(TempDir::new().unwrap().path(), &format!("completions {shell}"), b"");
    assert!(output.status.success(), "{}", text(&output.stderr));
    text_of(output.stdout)
}

/// What bash offers for the last of these words.
#[cfg(unix)]
fn offered(words: &str) -> Vec<String> {
    let ask = format!(
        "source /dev/stdin; COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
        $(complete -p bloom-wasm | sed 's/.* -F \\([^ ]*\\) .*/\\1/') bloom-wasm \"${{COMP_WORDS[COMP_CWORD]}}\" \\
            \"${{COMP_WORDS[COMP_CWORD-1]}}\"; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    );
    let output = output(Command::new("bash").args(["-c", &ask]), script("bash").as_bytes());
    assert!(output.status.success());
    text(&output.stdout).lines().map(str::to_owned).collect()
}

#[test]
#[cfg(unix)]
fn bash_completes_commands_options_and_values() {
    assert_eq!(offered("bloom-wasm fe"), ["feed"]);
    assert_eq!(offered("bloom-wasm feed publ"), ["publish"]);
    assert_eq!(offered("bloom-wasm check --inv"), ["--invert"]);
    assert_eq!(offered("bloom-wasm build --kind ri"), ["ribbon"]);
    assert_eq!(offered("bloom-wasm build --profile ''"), ["raw", "url", "password"]);
}

#[test]
fn every_shell_has_its_script() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = script(shell);
        for name in ["build", "check", "publish", "allow-wins", "completions"] {
            assert!(script.contains(name), "{shell}: {name}");
        }
    }
    let output = run(TempDir::new().unwrap().path(), "completions csh", b"");
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("[possible values: bash, "), "{}", text(&output.stderr));
}
