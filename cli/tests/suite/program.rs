//! Runs the tool as a program of its own.

use std::io::{ErrorKind, Write};
use std::process::{Command, Output, Stdio};

/// The tool, or the one that the variable names: the npm package's tool must behave the same.
pub fn tool() -> String {
    std::env::var("BLOOM_WASM_TOOL").unwrap_or(env!("CARGO_BIN_EXE_bloom-wasm").to_owned())
}

/// Says what isn't tested here, and why. What `eprintln` prints is shown only of a test that fails.
pub fn not_tested(why: &str) {
    std::io::stderr().write_all(format!("not tested: {why}\n").as_bytes()).unwrap();
}

/// Runs a command with this as its standard input. What it prints is read meanwhile, or both would wait for each other.
pub fn output(command: &mut Command, stdin: &[u8]) -> Output {
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            // A program that fails early need not read its input.
            if let Err(error) = input.write_all(stdin) {
                assert_eq!(error.kind(), ErrorKind::BrokenPipe);
            }
        });
        child.wait_with_output().unwrap()
    })
}
