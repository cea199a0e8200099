//! What signals do to a run: nothing is left behind, and one that is to be ignored is.

#![cfg(unix)]

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::output::with_list;
use crate::program::{not_tested, tool};

/// The tool with its temporary file written, waiting for somebody to read its report. The shell runs `before` first.
fn waiting(folder: &Path, before: &str) -> (Child, UnixStream) {
    fs::write(folder.join("out"), "old").unwrap();
    let (reader, mut writer) = UnixStream::pair().unwrap();
    writer.set_nonblocking(true).unwrap();
    let full = loop {
        if let Err(error) = writer.write(&[b'.'; 1 << 12]) {
            break error;
        }
    };
    assert_eq!(full.kind(), ErrorKind::WouldBlock);
    while writer.write(b".").is_ok() {}
    writer.set_nonblocking(false).unwrap();
    let mut command = Command::new("sh");
    command.args(["-c", &format!("{before} exec {:?} build list -o out", tool())]).current_dir(folder);
    let mut child = command.stdout(OwnedFd::from(writer)).stderr(Stdio::piped()).spawn().unwrap();
    let there = || {
        let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
        names.filter(|entry| entry.file_name().to_string_lossy().starts_with(".bloom-wasm-")).count()
    };
    while there() == 0 {
        assert!(child.try_wait().unwrap().is_none(), "the tool has ended");
        std::thread::yield_now();
    }
    (child, reader)
}

fn kill(child: &Child, signal: &str) {
    assert!(
        Command::new("sh")
            .args(["-c", &format!("kill -{signal} {}", child.id())])
            .status()
            .unwrap()
            .success()
    );
}

/// Whether these tests were started with a signal ignored, as by `nohup`: then their programs ignore it too.
fn is_ignored(signal: &str) -> bool {
    let status = Command::new("sh").args(["-c", &format!("ulimit -c 0; kill -{signal} $$")]).status();
    status.unwrap().signal().is_none()
}

#[test]
fn signals_leave_nothing_behind() {
    for (signal, number) in [("INT", 2), ("TERM", 15), ("HUP", 1), ("QUIT", 3)] {
        if is_ignored(signal) {
            not_tested(&format!("SIG{signal}, which is ignored here"));
            continue;
        }
        for times in 1..=2 {
            with_list(|folder, _| {
                let (mut child, _reader) = waiting(folder, "ulimit -c 0;");
                (0..times).for_each(|_| kill(&child, signal));
                let status = child.wait().unwrap();
                assert_eq!(status.signal(), Some(number), "{status}");
                assert_eq!(fs::read(folder.join("out")).unwrap(), b"old");
            });
        }
    }
    with_list(|folder, _| {
        let (mut child, _reader) = waiting(folder, "");
        ["INT", "TERM", "HUP"].iter().for_each(|signal| kill(&child, signal));
        assert!(child.wait().unwrap().signal().is_some());
    });
}

/// As with `nohup`, or a script's command that a shell runs in the background.
#[test]
#[cfg(target_os = "linux")]
fn a_signal_that_is_to_be_ignored_is() {
    if std::env::var_os("BLOOM_WASM_TOOL").is_some() {
        not_tested("ignored signals; Node takes every signal for one that wasn't");
        return;
    }
    with_list(|folder, blob| {
        let (mut child, mut reader) = waiting(folder, "trap '' HUP INT;");
        kill(&child, "HUP");
        kill(&child, "INT");
        reader.shutdown(Shutdown::Write).unwrap();
        let mut said = Vec::new();
        reader.read_to_end(&mut said).unwrap();
        assert!(child.wait().unwrap().success());
        assert!(String::from_utf8_lossy(&said).contains("wrote"));
        assert_eq!(fs::read(folder.join("out")).unwrap(), blob);
    });
}
