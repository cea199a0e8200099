//! `completions`: what shells do with them.

use std::io::ErrorKind;
use std::process::Command;

use tempfile::TempDir;

use super::{output, run, text, text_of};
use crate::program::not_tested;

fn script(shell: &str) -> String {
    let output = run(TempDir::new().unwrap().path(), &["completions", shell], b"");
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

/// Each script is checked by its shell, where there is one, and names every command.
#[test]
fn every_shell_has_its_script() {
    for (shell, program, check) in [
        ("bash", "bash", Some("-n")),
        ("zsh", "zsh", Some("-n")),
        ("fish", "fish", Some("--no-execute")),
        ("powershell", "pwsh", None),
        ("elvish", "elvish", Some("-compileonly")),
    ] {
        let script = script(shell);
        for name in ["build", "check", "publish", "--allow-wins", "completions"] {
            let name = if shell == "fish" { name.trim_start_matches("--") } else { name };
            assert!(script.contains(name), "{shell}: {name}");
        }
        let Some(check) = check else { continue };
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), &script).unwrap();
        match Command::new(program).arg(check).arg(file.path()).status() {
            Ok(status) => assert!(status.success(), "{shell}"),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                not_tested(&format!("{shell}, which isn't here"))
            }
            Err(error) => panic!("{shell}: {error}"),
        }
    }
    let output = run(TempDir::new().unwrap().path(), &["completions", "csh"], b"");
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("[possible values: bash, "), "{}", text(&output.stderr));
}
