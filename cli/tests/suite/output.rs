//! Where the tool writes: files whole or not at all, through links; devices, pipes and sockets never replaced.

#![cfg(unix)]

use std::fs::{self, File, Permissions};
use std::io::Read;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use bloom_wasm::{Filter, RibbonFilter, hash};
use tempfile::TempDir;

use crate::in_process::declare;
use crate::program::{not_tested, tool};

/// A new folder with a list, and the blob that a correct tool makes of it.
pub fn with_list(test: impl FnOnce(&Path, &[u8])) {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("list"), "a\nb\n").unwrap();
    let mut digests = [b"a", b"b"].map(|key| hash::digest(0, key)).to_vec();
    let blob = Filter::from(RibbonFilter::from_digests(&mut digests, 1e-3, 0).unwrap()).encode().unwrap();
    test(folder.path(), &blob);
    let names = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
    let left: Vec<_> = names.filter(|name| name.to_string_lossy().starts_with(".bloom-wasm-")).collect();
    assert!(left.is_empty(), "{left:?}");
}

/// A command of the shell, in which `tool` is the tool.
fn shell(folder: &Path, script: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("tool() {{ {:?} \"$@\"; }}; {script}", tool())]).current_dir(folder);
    command
}

fn sh(folder: &Path, script: &str) -> Output {
    shell(folder, script).output().unwrap()
}

fn succeeds(folder: &Path, script: &str) -> String {
    let output = sh(folder, script);
    assert!(output.status.success(), "{script}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn fails(folder: &Path, script: &str) {
    let output = sh(folder, script);
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{script}: {error}");
    assert!(error.starts_with("bloom-wasm: ") && error.lines().count() == 1, "{script}: {error}");
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o7777
}

#[test]
fn a_file_keeps_its_mode_and_a_new_one_has_the_umasks() {
    with_list(|folder, blob| {
        let out = folder.join("out");
        for (umask, expected) in [("022", 0o644), ("027", 0o640), ("077", 0o600), ("000", 0o666)] {
            succeeds(folder, &format!("umask {umask}; tool build list -o out"));
            assert_eq!(mode(&out), expected, "umask {umask}");
            fs::remove_file(&out).unwrap();
        }
        for kept in [0o600, 0o640, 0o666, 0o755, 0o444] {
            fs::write(&out, "old").unwrap();
            fs::set_permissions(&out, Permissions::from_mode(kept)).unwrap();
            let before = File::open(&out).unwrap();
            succeeds(folder, "umask 022; tool build list -o out");
            assert_eq!((fs::read(&out).unwrap(), mode(&out)), (blob.to_vec(), kept));
            // A process that has the old file open can read it to its end: the file was replaced, not overwritten.
            let mut old = String::new();
            { before }.read_to_string(&mut old).unwrap();
            assert_eq!(old, "old");
            fs::remove_file(&out).unwrap();
        }
        fs::write(&out, "old").unwrap();
        if std::os::unix::fs::chown(&out, Some(1), Some(1)).is_ok() {
            succeeds(folder, "tool build list -o out");
            let out = fs::metadata(&out).unwrap();
            assert_eq!((out.uid(), out.gid()), (1, 1));
        } else {
            not_tested("who owns a replaced file; only root can give files away");
        }
    });
}

#[test]
fn links_are_followed() {
    with_list(|folder, blob| {
        for (there, what) in [(true, "a file"), (false, "nothing")] {
            fs::create_dir_all(folder.join("deep/er")).unwrap();
            let target = folder.join("deep/target");
            let links = [
                ("link", "deep/target".into()),
                ("deep/chain", "../link".into()),
                ("absolute", target.clone()),
            ];
            for (name, to) in &links {
                symlink(to, folder.join(name)).unwrap();
            }
            // A link in a folder that is itself behind a link: `..` is the real folder's parent.
            symlink("deep/er", folder.join("folder")).unwrap();
            symlink("../target", folder.join("deep/er/up")).unwrap();
            for name in ["link", "deep/chain", "absolute", "folder/up"] {
                let _ = fs::remove_file(&target);
                if there {
                    fs::write(&target, "old").unwrap();
                    fs::set_permissions(&target, Permissions::from_mode(0o600)).unwrap();
                }
                succeeds(folder, &format!("umask 022; tool build list -o {name}"));
                assert!(folder.join(name).is_symlink(), "{name} to {what} was replaced");
                assert!(!target.is_symlink());
                assert_eq!(fs::read(&target).unwrap(), blob, "{name} to {what}");
                assert_eq!(mode(&target), if there { 0o600 } else { 0o644 });
            }
            for name in ["link", "deep", "absolute", "folder"] {
                let path = folder.join(name);
                if path.is_symlink() { fs::remove_file(path) } else { fs::remove_dir_all(path) }.unwrap();
            }
        }
        symlink("two", folder.join("one")).unwrap();
        symlink("one", folder.join("two")).unwrap();
        fails(folder, "tool build list -o one");
        assert!(folder.join("one").is_symlink() && folder.join("two").is_symlink());
    });
}

#[test]
fn folders_are_refused() {
    with_list(|folder, _| {
        fs::create_dir(folder.join("folder")).unwrap();
        symlink("folder", folder.join("link")).unwrap();
        for output in ["folder", "folder/", "link", "link/", ".", "nowhere/", "nowhere/out", "list/out", "''"]
        {
            fails(folder, &format!("tool build list -o {output}"));
        }
        assert_eq!(fs::read_dir(folder.join("folder")).unwrap().count(), 0);
        // This is reported before standard input has ended.
        let mut child = Command::new(tool());
        let child = child.args(["build", "-o", "folder"]).current_dir(folder);
        let mut child = child.stdin(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let _open = child.stdin.take();
        assert_eq!(child.wait().unwrap().code(), Some(2));
    });
}

#[test]
fn pipes_sockets_and_devices_stay() {
    with_list(|folder, blob| {
        let is = |name: &str, test: fn(&fs::FileType) -> bool| {
            assert!(
                test(&fs::symlink_metadata(folder.join(name)).unwrap().file_type()),
                "{name} was replaced"
            );
        };
        // First some links that can be spared: as root, the tool could replace the devices below.
        let _socket = UnixListener::bind(folder.join("socket")).unwrap();
        fails(folder, "tool build list -o socket");
        is("socket", FileTypeExt::is_socket);

        // As these links would be, the devices themselves would be replaced.
        symlink("/dev/null", folder.join("null")).unwrap();
        succeeds(folder, "tool build list -o null");
        is("null", fs::FileType::is_symlink);
        if Path::new("/dev/full").exists() {
            symlink("/dev/full", folder.join("full")).unwrap();
            fails(folder, "tool build list -o full");
            is("full", fs::FileType::is_symlink);
        }
        if sh(folder, "mknod device c 1 3").status.success() {
            succeeds(folder, "tool build list -o device");
            is("device", FileTypeExt::is_char_device);
        } else {
            not_tested("a device node; only root can make one");
        }
        succeeds(folder, "mkfifo fifo && ln -s fifo link");
        for name in ["fifo", "link"] {
            // The shell holds both ends open, so that nothing waits forever.
            let read = format!("test -p fifo && head -c {} <&3 > got", blob.len());
            succeeds(folder, &format!("{{ tool build list -o {name} && {read}; }} 3<>fifo"));
            assert_eq!(fs::read(folder.join("got")).unwrap(), blob);
            is("fifo", FileTypeExt::is_fifo);
        }
        for name in ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "-"] {
            succeeds(folder, &format!("tool build list -o {name} > got"));
            assert_eq!(fs::read(folder.join("got")).unwrap(), blob);
            // What others write there stays.
            succeeds(folder, &format!("{{ echo a; tool build list -o {name}; echo b; }} > got"));
            assert_eq!(fs::read(folder.join("got")).unwrap(), [b"a\n", blob, b"b\n"].concat());
        }
        // Behind what is in an open file there would be no blob.
        for open in ["3>>all", "3<>all", "3<all"] {
            succeeds(
                folder,
                &format!(
                    "echo a > all; exec {open}; ! tool build list -o /dev/fd/3 2> said; grep -q 'open file' said"
                ),
            );
            assert_eq!(fs::read(folder.join("all")).unwrap(), b"a\n");
        }
        succeeds(folder, "tool build list -o /dev/stdout | cat > got");
        assert_eq!(fs::read(folder.join("got")).unwrap(), blob);
    });
}

#[test]
fn a_report_that_fails_leaves_the_old_file() {
    if !Path::new("/dev/full").exists() {
        not_tested("there is no /dev/full");
        return;
    }
    with_list(|folder, blob| {
        fs::write(folder.join("out"), "old").unwrap();
        succeeds(folder, "tool build list --kind bloom -o bloom && mkfifo fifo");
        for command in
            ["build list -o", "build list --json -o", "merge bloom bloom -o", "merge bloom bloom --json -o"]
        {
            fails(folder, &format!("tool {command} out > /dev/full"));
            assert_eq!(fs::read(folder.join("out")).unwrap(), b"old");
            fails(folder, &format!("tool {command} new > /dev/full"));
            assert!(!folder.join("new").exists());
            // Only what the shell prints afterwards is in the pipe.
            let read = "echo . >&3; head -c 1 <&3 > got; exit $s";
            fails(folder, &format!("exec 3<>fifo; tool {command} fifo > /dev/full; s=$?; {read}"));
            assert_eq!(fs::read(folder.join("got")).unwrap(), b".");
        }
        for command in [
            "info bloom",
            "info bloom --json",
            "check bloom a",
            "help",
            "build list -o -",
            "verify bloom --members list --probes 1",
        ] {
            fails(folder, &format!("tool {command} > /dev/full"));
        }
        // If nobody reads the report, the file is still wanted.
        assert_eq!(nobody_reads(folder, "build list -o out"), Some(0));
        assert_eq!(fs::read(folder.join("out")).unwrap(), blob);
    });
}

/// And nothing is said to be written before it is.
#[test]
fn a_blob_cut_short_is_a_failure() {
    with_list(|folder, _| {
        succeeds(folder, "i=0; while [ $i -lt 90000 ]; do echo $i; i=$((i+1)); done > long; mkfifo fifo");
        fails(folder, "head -c 1 fifo > got & tool build long -o fifo > report");
        assert!(!fs::read_to_string(folder.join("report")).unwrap().contains("wrote"));
        assert_eq!(nobody_reads(folder, "build list -o -"), Some(2));
        if Path::new("/dev/full").exists() {
            succeeds(folder, "tool build list -o out --kind redis-bitmap --option bits=99 --option hashes=2");
            fails(folder, "tool export out --format redis-bitmap -o /dev/full > report");
            assert!(!fs::read_to_string(folder.join("report")).unwrap().contains("wrote"));
        }
    });
}

/// The exit code of the tool if its standard output is closed.
fn nobody_reads(folder: &Path, args: &str) -> Option<i32> {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    shell(folder, &format!("tool {args}")).stdout(writer).status().unwrap().code()
}

/// The exit code answers even if nobody reads the rest.
#[test]
fn a_closed_output_is_no_failure_and_no_answer() {
    with_list(|folder, _| {
        raw(folder, "public", "state", "");
        succeeds(folder, "tool feed publish --created-at 2020-01-01T00:00:00Z");
        succeeds(folder, "tool build list -o out && echo other > others");
        for (args, code) in [
            ("verify out --members list --probes 1", 0),
            ("verify out --members others --probes 1", 1),
            ("verify out --members others --probes 1 --json", 1),
            // It has expired.
            ("feed verify public", 1),
            ("feed verify public --json", 1),
            ("info out", 0),
            ("help", 0),
        ] {
            assert_eq!(nobody_reads(folder, args), Some(code), "{args}");
        }
    });
}

#[test]
#[cfg(target_os = "linux")]
fn a_folder_that_cannot_be_written_to_is_told_by_the_outputs_name() {
    let folder = Path::new("/sys");
    let list = std::env::temp_dir().join(format!("bloom-wasm-list-{}", std::process::id()));
    fs::write(&list, "a\n").unwrap();
    let output = sh(folder, &format!("tool build {} -o /sys/out", list.display()));
    fs::remove_file(&list).unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(error.starts_with("bloom-wasm: /sys/out: "), "{error}");
    assert!(!error.contains(".bloom-wasm-") && !error.contains("os error"), "{error}");
}

/// A report of what is published already says so when it can't be printed.
#[test]
fn a_report_that_fails_says_what_is_published() {
    if !Path::new("/dev/full").exists() {
        not_tested("there is no /dev/full");
        return;
    }
    for json in ["", " --json"] {
        with_list(|folder, _| {
            succeeds(folder, "tool feed keygen -o key");
            let signed = "sign = ['key']\nprofile = 'raw'";
            for (dir, more) in [("public", ""), ("shards", "shards = 1")] {
                let above = format!("public = '{dir}'\nstate = '{dir}.state'\n{signed}\n{more}");
                declare(folder, &above, "list = 'list'");
                // The second time, nothing has changed.
                for said in [" is published: ", ""] {
                    let output = sh(folder, &format!("tool feed publish{json} > /dev/full"));
                    let error = String::from_utf8(output.stderr).unwrap();
                    let is_meant = error.contains(&format!("{said}standard output: "))
                        && error.contains("generation") != said.is_empty();
                    assert!(is_meant && error.lines().count() == 1, "{dir}: {error}");
                    assert_eq!(output.status.code(), Some(2));
                }
            }
        });
    }
}

/// The tool may not write a byte: the system ends it, or refuses the write if that signal is ignored.
#[test]
fn a_key_is_written_as_a_whole_or_not_at_all() {
    with_list(|folder, _| {
        let key = folder.join("key");
        for ignored in ["", "trap '' XFSZ;"] {
            let output = sh(folder, &format!("{ignored} ulimit -f 0; tool feed keygen -o key"));
            assert!(!output.status.success() && output.stdout.is_empty());
            assert!(!key.exists(), "{ignored}");
        }
        succeeds(folder, "umask 000; tool feed keygen -o key");
        assert_eq!(mode(&key), 0o600);
        let before = fs::read(&key).unwrap();
        assert!(before.starts_with(b"-----BEGIN PRIVATE KEY-----\n"));
        symlink("nowhere", folder.join("link")).unwrap();
        for there in ["key", "link", "."] {
            fails(folder, &format!("tool feed keygen -o {there}"));
        }
        assert_eq!(fs::read(&key).unwrap(), before);
        assert!(!folder.join("nowhere").exists());
    });
}

/// The names in a folder.
fn names(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.collect();
    names.sort();
    names
}

/// Describes a feed of raw keys that nobody signs.
fn raw(folder: &Path, dir: &str, state: &str, more: &str) {
    let above = format!("public = '{dir}'\nstate = '{state}'\nsign = []\nprofile = 'raw'\n{more}");
    declare(folder, &above, "list = 'list'");
}

/// A feed with a base and a delta.
fn feed(folder: &Path) {
    raw(folder, "public", "made/state", "");
    succeeds(folder, "seq 3000 > list; tool feed publish");
    succeeds(folder, "seq 2990 > list; tool feed publish; cp feed.toml whole.toml");
}

/// A feed of two shards.
fn sharded_feed(folder: &Path) {
    raw(folder, "shards", "state", "shards = 2");
    succeeds(folder, "tool feed publish; cp feed.toml shards.toml");
}

#[test]
fn the_state_is_for_its_owner_alone() {
    with_list(|folder, _| {
        raw(folder, "other", "open", "");
        succeeds(folder, "umask 000; tool feed publish");
        assert_eq!(mode(&folder.join("open")), 0o700);
        feed(folder);
        let state = folder.join("made/state");
        // A file that became readable by accident no longer is after the next run.
        fs::set_permissions(state.join("state.json"), Permissions::from_mode(0o644)).unwrap();
        succeeds(folder, "seq 2980 > list; tool feed publish");
        let remembered: Vec<_> = names(&state).into_iter().filter(|name| !name.starts_with("lock")).collect();
        assert_eq!(remembered.len(), 3, "{remembered:?}");
        for name in remembered {
            assert_eq!(mode(&state.join(&name)), 0o600, "{name}");
        }
        assert_eq!(mode(&state), 0o700);
        // What is published is for everybody.
        for name in names(&folder.join("public")) {
            assert_ne!(mode(&folder.join("public").join(&name)) & 0o044, 0, "{name}");
        }
    });
}

/// A crontab may have another umask than the shell of the first run, and clients need all that the manifest names.
#[test]
fn what_is_published_is_as_readable_as_its_folder() {
    with_list(|folder, _| {
        for (umask, expected) in [("022", 0o644), ("027", 0o640), ("077", 0o600)] {
            raw(folder, &format!("public-{umask}"), &format!("state-{umask}"), "");
            succeeds(folder, &format!("umask {umask}; seq 3000 > list; tool feed publish"));
            for later in ["077", "000"] {
                succeeds(folder, &format!("umask {later}; echo {later} >> list; tool feed publish"));
            }
            let public = folder.join(format!("public-{umask}"));
            let modes: Vec<_> = names(&public).iter().map(|name| mode(&public.join(name))).collect();
            assert_eq!(modes, vec![expected; 4], "umask {umask}");
        }
    });
}

/// Whatever way leads to it.
#[test]
fn no_input_is_replaced() {
    with_list(|folder, _| {
        let secret = "000102030405060708090a0b0c0d0e0f";
        succeeds(folder, &format!("echo {secret} > secret; mkdir sub; ln -s . here; ln -s ../list sub/link"));
        succeeds(folder, "cp list new; echo c >> new; ln list hard; tool build list -o base");
        let files = ["list", "new", "base", "secret"];
        let read = || files.map(|name| fs::read(folder.join(name)).unwrap());
        let before = read();
        for to in ["sub/..", "here", "$PWD", "../$(basename \"$PWD\")"] {
            for (script, what) in [
                (format!("build {to}/list -o list"), "a list"),
                (format!("build list -o {to}/list"), "a list"),
                ("build sub/link -o list".to_owned(), "a list"),
                (format!("build -o list < {to}/list"), "a list"),
                (format!("build new - -o {to}/list < list"), "a list"),
                (format!("build hard -o {to}/list"), "a list"),
                (format!("import - --format guava -o list < {to}/list"), "the original"),
                (format!("build list -o - >> {to}/list"), "a list"),
                (format!("build - -o /dev/stdout < list 1<> {to}/list"), "a list"),
                (format!("build new --allow {to}/list -o list"), "a list"),
                (format!("build new --tag x={to}/list -o list"), "a list"),
                (format!("build new --secret-file {to}/secret -o secret"), "the secret"),
                (format!("export {to}/base --format guava -o base"), "the blob"),
                (format!("import {to}/list --format guava -o list"), "the original"),
            ] {
                let output = sh(folder, &format!("tool {script}"));
                let said = String::from_utf8(output.stderr).unwrap();
                assert_eq!(output.status.code(), Some(2), "{script}: {said}");
                assert!(
                    said.ends_with(&format!(": this is both {what} and the output\n")),
                    "{script}: {said}"
                );
                assert!(read() == before, "{script}");
            }
        }
        for name in ["/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"] {
            let output = sh(folder, &format!("tool build list -o {name} <> base"));
            assert_eq!(output.status.code(), Some(2), "{name}");
            let said = String::from_utf8(output.stderr).unwrap();
            assert!(said.ends_with(": standard input can't be the output\n"), "{said}");
            assert!(read() == before, "{name}");
        }
    });
}

/// What a run leaves that was killed between writing a file and renaming it, or before the state names it.
#[test]
fn what_killed_runs_left_is_cleared_away() {
    with_list(|folder, _| {
        feed(folder);
        sharded_feed(folder);
        // What others are writing into the same folder stays.
        succeeds(folder, "cd public; touch .bloom-wasm-Xyz123 .htaccess members-1; cp .b* .h* m* ../shards");
        succeeds(
            folder,
            "touch made/state/notes made/state/members-old.digests made/state/members-20261128 state/parts-7",
        );
        let folders = ["public", "made/state", "shards", "state"].map(|name| folder.join(name));
        let before = folders.each_ref().map(|folder| names(folder));
        succeeds(folder, "touch public/.bloom-wasm-own-Abc123 shards/.bloom-wasm-own-Abc123");
        let left = "touch .bloom-wasm-private-Abc123 members-7.digests removed-0123456789abcdef.digests";
        succeeds(folder, &format!("cd made/state; {left}; cd ../../state; {left}"));
        // Also by a run that publishes nothing.
        assert!(succeeds(folder, "tool feed publish whole.toml").contains("unchanged"));
        assert!(succeeds(folder, "tool feed publish shards.toml").contains("unchanged"));
        assert_eq!(folders.each_ref().map(|folder| names(folder)), before);
        fs::remove_file(folder.join("public/.bloom-wasm-Xyz123")).unwrap();
    });
}

/// The exit code of a command, which must end by itself.
fn ends(folder: &Path, script: &str) -> i32 {
    let mut child = shell(folder, &format!("exec {:?} {script}", tool()))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let id = child.id().to_string();
    let (ended, end) = std::sync::mpsc::channel();
    std::thread::spawn(move || ended.send(child.wait().unwrap().code()));
    let code = end.recv_timeout(std::time::Duration::from_secs(60));
    if code.is_err() {
        Command::new("kill").args(["-KILL", &id]).status().unwrap();
    }
    code.unwrap_or_else(|_| panic!("{script} hangs")).unwrap()
}

/// There is a pipe where a file should be, and nobody writes to it. A publisher replaces one that it serves, which
/// `feed/host.rs` tests.
#[test]
fn a_pipe_in_the_place_of_a_file_holds_nothing_up() {
    with_list(|folder, _| {
        feed(folder);
        sharded_feed(folder);
        let pipe = |path: &Path| {
            fs::remove_file(path).unwrap();
            assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
        };
        let state = folder.join("made/state");
        let publish = "feed publish whole.toml";
        // Without its digests, a new base.
        pipe(&state.join(names(&state).into_iter().find(|name| name.starts_with("members-")).unwrap()));
        assert_eq!(ends(folder, publish), 0);
        pipe(&state.join("state.json"));
        assert_eq!(ends(folder, publish), 2);
        for (dir, command) in [("public", "feed verify public"), ("shards", "check shards 1")] {
            assert_eq!(ends(folder, command), 0);
            names(&folder.join(dir)).iter().for_each(|name| pipe(&folder.join(dir).join(name)));
            assert_eq!(ends(folder, command), 2);
        }
        assert_eq!(ends(folder, "feed publish shards.toml"), 0);
        assert_eq!(ends(folder, "check shards 1"), 0);
    });
}
