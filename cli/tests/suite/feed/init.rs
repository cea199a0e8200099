//! `feed init`, which works in the current folder.

use std::fs;
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

use crate::in_process::{done, read, told, write};
use crate::program::{output, tool};

/// Runs it in the folder. Returns what it printed, or why it was refused.
fn init(folder: &TempDir, args: &str) -> Result<String, String> {
    let mut command = Command::new(tool());
    let command = command.args(["feed", "init"]).args(args.split_whitespace()).current_dir(folder.path());
    let output = output(command, b"");
    let [out, err] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    if output.status.success() { Ok(out) } else { Err(err) }
}

fn text(folder: &TempDir, file: &str) -> String {
    String::from_utf8(read(folder, file)).unwrap()
}

/// The id that feed.toml has.
fn id(folder: &TempDir) -> String {
    let text = text(folder, "feed.toml");
    text.split("id = \"").nth(1).unwrap().split('"').next().unwrap().to_owned()
}

#[test]
fn a_feed_begins() {
    let folder = TempDir::new().unwrap();
    fs::create_dir(folder.path().join("lists")).unwrap();
    write(&folder, "lists/bad.txt", "a.example\n");
    let missing = init(&folder, "lists/bad.txt").unwrap_err();
    assert!(missing.contains("--profile is missing: raw, url or password"), "{missing}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing was written");
    let said = init(&folder, "lists/bad.txt --profile url").unwrap();
    let public = said.split_whitespace().nth(2).unwrap();
    assert!(said.contains("feed.key, feed.toml, .gitignore"), "{said}");
    assert_eq!(done(&folder, "feed pubkey @feed.key"), format!("{public}\n"));
    // Also a key that comes later is ignored.
    assert_eq!(text(&folder, ".gitignore"), "*.key\n/state\n");
    let toml = text(&folder, "feed.toml");
    assert!(toml.contains("profile = \"url\"") && toml.contains("\n[lists]\nbad = \"lists/bad.txt\"\n"));
    done(&folder, "feed publish @feed.toml");
    let verified = told(&folder, &format!("feed verify @public --public-key={public}"));
    assert_eq!([&verified["feedId"], &verified["count"]], [&Value::from(id(&folder)), &1.into()]);

    // A second run changes nothing.
    let before = ["feed.toml", "feed.key", ".gitignore"].map(|file| read(&folder, file));
    for (args, words) in [
        ("", "feed.toml: it has an id already; for a copy of a feed, --new-id gives it another"),
        ("--profile url", "feed.toml: it is there already"),
        ("lists/bad.txt", "feed.toml: it is there already"),
        ("--new-id", "state: this is of the feed that was copied; delete it first"),
    ] {
        let said = init(&folder, args).unwrap_err();
        assert!(said.contains(words) && said.lines().count() == 1, "{args}: {said}");
    }
    assert_eq!(["feed.toml", "feed.key", ".gitignore"].map(|file| read(&folder, file)), before);

    // A copy of the folder.
    fs::remove_dir_all(folder.path().join("state")).unwrap();
    assert!(init(&folder, "--new-id").unwrap_err().contains("public: this is of the feed that was copied"));
    fs::remove_dir_all(folder.path().join("public")).unwrap();
    let old = id(&folder);
    let said = init(&folder, "--new-id").unwrap();
    assert!(said.contains(public) && id(&folder) != old, "{said}");
    assert_eq!(text(&folder, "feed.toml").replace(&id(&folder), &old), toml);
    assert_eq!(text(&folder, ".gitignore"), "*.key\n/state\n");
}

#[test]
fn a_file_that_somebody_wrote_gets_an_id_and_keys() {
    let folder = TempDir::new().unwrap();
    let toml = "sign = [\"./a.key\", \"b.key\", \"c.pem\"]\nstate = \"./x/../remembered\"\nprofile = \"raw\"\n[lists]\na = \"a\"\n";
    // As an editor of Windows may write it.
    write(&folder, "feed.toml", format!("\u{feff}{toml}"));
    write(&folder, ".gitignore", "/b.key\ndist");
    let public = done(&folder, "feed keygen -o @b.key").split_whitespace().nth(2).unwrap().to_owned();
    assert!(init(&folder, "--new-id").unwrap_err().contains("without --new-id, it gets one"));
    let said = init(&folder, "").unwrap();
    assert!(said.contains(&public) && said.contains("a.key, c.pem, feed.toml, .gitignore"), "{said}");
    assert_eq!(text(&folder, "feed.toml"), format!("id = \"{}\"\n{toml}", id(&folder)));
    assert_eq!(text(&folder, ".gitignore"), "/b.key\ndist\n*.key\n/c.pem\n/remembered\n");
    write(&folder, "a", "key\n");
    done(&folder, "feed publish @feed.toml");
    assert!(folder.path().join("remembered/state.json").exists());
}

#[test]
fn what_makes_no_feed_is_refused_before_anything_is_written() {
    let folder = TempDir::new().unwrap();
    for (args, words) in [
        ("--new-id", "feed.toml: there is none here"),
        ("--profile raw a.txt b/a.txt", "b/a.txt: there are two lists of the name a"),
        ("--profile raw public.txt", "`public` is a key of the feed"),
        ("--profile raw -", "each run reads this list, so it must be a file"),
        ("--profile url --new-id", "cannot be used with"),
    ] {
        let said = init(&folder, args).unwrap_err();
        assert!(said.contains(words), "{args}: {said}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "{args}");
    }
    // Names that TOML must quote.
    init(&folder, "--profile raw bad.list.txt ü.txt").unwrap();
    let toml = text(&folder, "feed.toml");
    assert!(toml.ends_with("\n[lists]\n\"bad.list\" = \"bad.list.txt\"\n\"ü\" = \"ü.txt\"\n"), "{toml}");
}
