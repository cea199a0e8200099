//! One run at a time, and runs that are killed.

use std::fs;
use std::process::{Command, Stdio};

use tempfile::TempDir;

use super::{
    check, feed, generation, lines, names, publish, publish_keys, publish_refused, read, tell, told_as,
    verify, write_list,
};
use crate::in_process::{age, arguments, done};

#[test]
fn one_run_at_a_time() {
    let folder = feed("");
    write_list(&folder, 0..10);
    ["state", "public"].iter().for_each(|dir| fs::create_dir(folder.path().join(dir)).unwrap());
    let lock = folder.path().join("state/feed.lock");
    fs::write(&lock, "0123456789abcdef0123456789abcdef").unwrap();
    let before = names(&folder);
    for seconds in [0, 50] {
        age(&lock, seconds);
        publish_refused(&folder, 0, "", "another run is writing here");
    }
    assert_eq!(names(&folder), before);
    age(&lock, 61);
    publish(&folder, 0, "");
    assert!(!lock.exists());
    publish(&folder, 0, "");
}

/// A run that waits for its list, which is a pipe, and that has the lock.
#[cfg(unix)]
fn waiting(folder: &TempDir) -> (std::process::Child, fs::File) {
    let pipe = folder.path().join("pipe");
    if pipe.exists() {
        fs::remove_file(&pipe).unwrap();
    }
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    told_as(folder, "pipe", "\"list\"", "\"pipe\"");
    let args = arguments(folder, "feed publish @pipe.toml");
    let mut command = Command::new(env!("CARGO_BIN_EXE_bloom-wasm"));
    let mut child = command.args(&args[1..]).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    // Ends when the run has opened the other end. If the run fails, that is never.
    let opening = std::thread::spawn(|| fs::File::options().write(true).open(pipe).unwrap());
    while !opening.is_finished() {
        assert_eq!(child.try_wait().unwrap(), None, "the run ended, and read nothing");
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    (child, opening.join().unwrap())
}

#[cfg(unix)]
fn signal(child: &std::process::Child, name: &str) {
    assert!(Command::new("kill").args(["-s", name, &child.id().to_string()]).status().unwrap().success());
}

#[test]
#[cfg(unix)]
fn a_run_that_lost_its_lock_changes_nothing() {
    use std::io::Write;
    let folder = feed("");
    publish_keys(&folder, 0, 0..100);
    let lock = folder.path().join("state/feed.lock");
    let state = || fs::read(folder.path().join("state/state.json")).unwrap();
    let (child, list) = waiting(&folder);
    publish_refused(&folder, 1, "", "another run");
    // It stands still long enough for another run to take its place and finish.
    signal(&child, "STOP");
    age(&lock, 61);
    publish_keys(&folder, 1, 0..120);
    let before = (verify(&folder), state());
    signal(&child, "CONT");
    let keys = lines(0..110);
    // What it did while it had the lock may stay.
    let lost = |child: std::process::Child, mut list: fs::File, before| {
        list.write_all(keys.as_bytes()).unwrap();
        drop(list);
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(2) && said.ends_with("another took its place\n"), "{said}");
        assert_eq!((verify(&folder), state()), before);
    };
    lost(child, list, before);
    // Another run has the lock, and keeps it.
    let (child, list) = waiting(&folder);
    fs::write(&lock, "0123456789abcdef0123456789abcdef").unwrap();
    lost(child, list, (verify(&folder), state()));
    assert!(lock.exists());
}

#[test]
#[cfg(unix)]
fn a_signal_takes_the_lock_away_and_kill_9_does_not() {
    let folder = feed("");
    write_list(&folder, 0..10);
    let lock = folder.path().join("state/feed.lock");
    for (name, left) in [("INT", false), ("TERM", false), ("HUP", false), ("KILL", true)] {
        let (mut child, _list) = waiting(&folder);
        assert!(lock.exists());
        signal(&child, name);
        assert_eq!(child.wait().unwrap().code(), None);
        assert_eq!(lock.exists(), left, "{name}");
    }
    publish_refused(&folder, 0, "", "if it was killed, the next one can begin in ");
    age(&lock, 61);
    publish(&folder, 0, "");
}

fn spawn(folder: &TempDir, args: &str) -> std::process::Child {
    let args = arguments(folder, args);
    let mut command = Command::new(env!("CARGO_BIN_EXE_bloom-wasm"));
    command.args(&args[1..]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// Kills a run at 50 moments, spread over its whole duration. Whatever it leaves is a whole feed, and the next run goes
/// on.
#[test]
#[ignore = "long: npm run test:all"]
fn a_killed_publisher_leaves_a_whole_feed() {
    let folder = feed("expires-in = \"36500d\"");
    let args = "feed publish @feed.toml";
    write_list(&folder, 0..50_000);
    let begun = std::time::Instant::now();
    assert!(spawn(&folder, args).wait().unwrap().success());
    let mut whole = begun.elapsed();
    // The generation in place, and the first key of its list.
    let (mut killed, mut taking_over, mut last) = (0, 0, (generation(&folder), 0));
    for i in 0..50 {
        let from = 10 * i + 10;
        write_list(&folder, from..50_000 + from);
        let mut child = spawn(&folder, args);
        // Doesn't wait for anything, so that the moments are spread all over a run.
        std::thread::sleep(whole.mul_f64(f64::from(i + 1) / 40.0));
        child.kill().unwrap();
        if !child.wait().unwrap().success() {
            killed += 1;
        } else if i < 30 {
            // The first run took longer than this one: other tests were running beside it.
            whole = whole.mul_f64(0.75);
        }
        // Makes the lock count as dead at once. The run may have been killed while it took over from the one before.
        let files = fs::read_dir(folder.path().join("state")).unwrap().map(|entry| entry.unwrap().path());
        // The successor of a run that was killed before it wrote its id is `.lock`, which has no extension.
        let locks: Vec<_> = files.filter(|path| path.to_string_lossy().ends_with(".lock")).collect();
        taking_over += u32::from(locks.len() > 1);
        locks.iter().for_each(|lock| age(lock, 61));
        let generation = verify(&folder)["generation"].as_u64().unwrap();
        if generation != last.0 {
            assert!(generation > last.0);
            last = (generation, from);
        }
        let removed = (0..last.1).chain(50_000 + last.1..50_510);
        check(&read(&folder), last.1..50_000 + last.1, removed, 1e-3);
    }
    assert!(killed >= 10, "only {killed} were killed in time");
    println!("{taking_over} of {killed} were killed while they took over the lock");
    done(&folder, args);
    let named = verify(&folder)["files"].as_array().unwrap().len();
    // Everything else goes, even what killed runs wrote.
    tell(&folder, "expires-in = \"36500d\"\ngrace = \"0s\"", "");
    assert!(spawn(&folder, args).wait().unwrap().success());
    assert_eq!(names(&folder).len(), named + 1);
}
