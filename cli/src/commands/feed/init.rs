//! `feed init`.

use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use clap::ValueEnum;

use crate::args::profile::ProfileArg;
use crate::files::read::place;
use crate::files::write;
use crate::publishing::declared::{self, Basis, FILE};
use crate::publishing::{key, manifest};
use crate::random;
use crate::streams::{Answer, Streams};

/// The key that a new feed is signed with.
const KEY: &str = "feed.key";
const IGNORED: &str = ".gitignore";
/// The line for keys there.
const KEYS: &str = "*.key";

/// Begin a feed: write feed.toml, a signing key, and a .gitignore for keys and the state
///
/// Prints the public key, which the clients of the feed need. Nothing is replaced: a feed.toml that has no id gets one,
/// and a key that is there is used.
#[derive(clap::Args)]
pub struct InitArgs {
    /// Lists of keys, one per line. Each is named after its file, without the extension
    lists: Vec<PathBuf>,
    /// What the keys are. Required, unless there is a feed.toml
    #[arg(long, value_enum)]
    profile: Option<ProfileArg>,
    /// Give the feed.toml of a copied folder another id, so that no host can serve one feed for the other
    #[arg(long, conflicts_with_all = ["lists", "profile"])]
    new_id: bool,
}

pub fn run(args: InitArgs, streams: &mut Streams) -> Result<Answer> {
    let file = Path::new(FILE);
    let is_there = file.try_exists().context(FILE)?;
    let id = random::id()?;
    let text = match (is_there, args.new_id) {
        (true, is_new) => {
            let told = args.lists.is_empty() && args.profile.is_none();
            ensure!(told, "{FILE}: it is there already: write its lists and profile into it");
            declared::with_id(file, &id, is_new)?
        }
        (false, true) => bail!("{FILE}: there is none here"),
        (false, false) => new(&args, &id)?,
    };
    let (basis, declared) = declared::parse(file, &text)?;
    if args.new_id {
        require_new(&basis)?;
    }
    let mut wrote = Vec::new();
    let mut keys = Vec::new();
    for path in &basis.sign {
        let public = if path.try_exists().with_context(|| path.display().to_string())? {
            manifest::public_key(&key::read(path)?.verifying_key())
        } else {
            wrote.push(path.display().to_string());
            key::make(path)?
        };
        keys.push(("public key", public));
    }
    write::write(file, text.as_bytes(), || Ok(()))?;
    wrote.push(FILE.to_owned());
    let secret = declared.ok().and_then(|declared| declared.secret);
    if ignore(&basis, secret.as_deref())? {
        wrote.push(IGNORED.to_owned());
    }
    let mut rows = keys;
    rows.push(("wrote", wrote.join(", ")));
    streams.print_rows(&rows)?;
    Ok(Answer::Yes)
}

/// The text of a new file.
fn new(args: &InitArgs, id: &str) -> Result<String> {
    let profile = args.profile.context("--profile is missing: raw, url or password")?;
    let (sample, fpr) = match profile {
        ProfileArg::Raw => ("Seen ids", "1e-6 # without it, 1e-3"),
        ProfileArg::Url => ("Dangerous pages", "1e-6 # to block pages; without it, 1e-3"),
        ProfileArg::Password => ("Common passwords", "1e-6 # without it, 1e-4"),
    };
    let profile = profile.to_possible_value().context("a profile has a name")?;
    let mut text = format!(
        "# A feed. docs/hosting.md has all keys of this file, and `bloom-wasm feed publish` publishes what it says.\n\
         id = \"{id}\"\nprofile = \"{}\"\nsign = [\"{KEY}\"]\n# name = \"{sample}\"\n# homepage = \
         \"https://lists.example/\"\n# license = \"CC0-1.0\"\n# fpr = {fpr}\n\n[lists]\n",
        profile.get_name()
    );
    if args.lists.is_empty() {
        text += "# phishing = \"phishing.txt\"\n";
    }
    let mut names = BTreeSet::new();
    for list in &args.lists {
        let shown = list.display();
        let name = list.file_stem().and_then(|name| name.to_str());
        let (Some(name), Some(path)) = (name, list.to_str()) else {
            bail!("{shown}: the name of a list must be UTF-8")
        };
        ensure!(names.insert(name), "{shown}: there are two lists of the name {name}; write {FILE} by hand");
        text += &format!("{} = {}\n", declared::toml_key(name), declared::toml_string(path));
    }
    if !args.lists.is_empty() {
        // Says what is wrong with a name.
        declared::parse(Path::new(FILE), &text)?.1?;
    }
    Ok(text)
}

/// Fails if what the feed published is still there, which was copied with it.
fn require_new(basis: &Basis) -> Result<()> {
    for folder in [&basis.state, &basis.public] {
        let is_empty = match fs::read_dir(folder) {
            Err(error) if error.kind() == ErrorKind::NotFound => true,
            files => files.with_context(|| folder.display().to_string())?.next().is_none(),
        };
        let name = folder.display();
        ensure!(
            is_empty,
            "{name}: this is of the feed that was copied; delete it first, or name another folder in {FILE}"
        );
    }
    Ok(())
}

/// Adds the keys, the secret and the state to the files that Git ignores. Returns whether they weren't there.
fn ignore(basis: &Basis, secret: Option<&Path>) -> Result<bool> {
    let path = Path::new(IGNORED);
    let mut text = if path.try_exists().context(IGNORED)? {
        fs::read_to_string(path).context(IGNORED)?
    } else {
        String::new()
    };
    let here = place(Path::new("."))?;
    // Also those that a later `feed keygen` makes.
    let mut lines = vec![KEYS.to_owned()];
    let named = |path: &&Path| path.extension().is_none_or(|extension| extension != "key");
    for path in basis.sign.iter().chain([&basis.state]).map(PathBuf::as_path).chain(secret).filter(named) {
        // What is elsewhere is none of this folder's.
        if let Ok(inside) = place(path)?.strip_prefix(&here) {
            let special = |c: char| if "\\*?[".contains(c) { format!("\\{c}") } else { c.to_string() };
            let parts =
                inside.iter().map(|part| part.to_string_lossy().chars().map(special).collect::<String>());
            lines.push(format!("/{}", parts.collect::<Vec<_>>().join("/")));
        }
    }
    let missing: Vec<_> = lines.iter().filter(|line| text.lines().all(|known| known != *line)).collect();
    if missing.is_empty() {
        return Ok(false);
    }
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    missing.iter().for_each(|line| text += &format!("{line}\n"));
    write::write(path, text.as_bytes(), || Ok(()))?;
    Ok(true)
}
