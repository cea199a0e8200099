//! `feed publish`.

mod run;
mod sharded;
mod whole;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context, Result, ensure};
use clap::builder::ArgPredicate;

use run::Run;

use crate::args::number::{self, created_at, parse_time};
use crate::args::secret::SecretArgs;
use crate::args::tags::{TagArgs, WithoutArgs};
use crate::files::read;
use crate::lists::keys::{List, Notices};
use crate::publishing::description::{DescriptionArgs, SettingsArgs, with_known_tags};
use crate::publishing::guard::GuardArgs;
use crate::publishing::publication::{Opened, Publication};
use crate::publishing::state::StateFolder;
use crate::publishing::trust::KeyArgs;
use crate::streams::{Answer, Streams};

/// Publish a filter that stays up to date, as a folder for any static host: the first generation, or the next
///
/// The run that begins a feed describes it, at least by --profile. The state remembers the description, so later runs
/// need only the lists and the signing keys. If the state was lost, give the description again: the feed in the folder
/// keeps its id, its generations continue from that of the manifest or from the seconds since 1970, whichever is
/// higher, and all files are built anew.
///
/// If no list has changed, nothing is written unless the manifest expires soon. A list keeps the tag that it was given.
#[derive(clap::Args)]
pub struct PublishArgs {
    /// The folder of the feed, which you serve
    dir: PathBuf,
    /// Lists of keys, one per line; or, for a feed with shards, a folder with the files of `feed build-shard`, which
    /// are deleted once they are published
    #[arg(value_name = "LIST", default_value = "-", default_value_if("tags", ArgPredicate::IsPresent, None))]
    lists: Vec<PathBuf>,
    /// A folder for what the publisher remembers. Don't serve it
    #[arg(long, value_name = "DIR")]
    state: PathBuf,
    #[command(flatten)]
    keys: KeyArgs,
    #[command(flatten)]
    tags: TagArgs,
    #[command(flatten)]
    without: WithoutArgs,
    /// Accept lists that are empty or have only comments. If no key is left, the list still counts as one that shrinks:
    /// see --max-removed
    #[arg(long)]
    allow_empty: bool,
    #[command(flatten)]
    guard: GuardArgs,
    #[command(flatten)]
    secret: SecretArgs,
    /// The time of publication, such as 2026-11-21T09:00:00Z. It is used instead of the clock: all times count from it
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    created_at: Option<SystemTime>,
    /// Print a report as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    description: DescriptionArgs,
    #[command(flatten)]
    settings: SettingsArgs,
}

pub fn run(args: PublishArgs, streams: &mut Streams) -> Result<Answer> {
    let PublishArgs { dir, lists, state, keys, tags, without, allow_empty, guard, secret, json, .. } = args;
    read::check_stdin(lists.iter().chain(&args.settings.allow).chain(tags.lists()))?;
    let trust = keys.read()?;
    let now = args.created_at.map(created_at).transpose()?;
    // Read before the lock is taken: with a wrong clock, WASI ends the tool, and the lock would stay.
    let time = now.map_or_else(number::now, Ok)?;
    let secret_of = secret.file().map(|file| ("the secret", file.to_owned()));
    let secret = secret.read()?;
    let keys_of = keys.secret_keys().map(|key| ("a secret key", key.to_owned()));
    let private: Vec<_> =
        [("the state", state.clone())].into_iter().chain(keys_of).chain(secret_of).collect();
    if args.description.begins() {
        fs::create_dir_all(&dir).with_context(|| dir.display().to_string())?;
        require_private(&private, &dir)?;
        StateFolder::create(&state)?;
    }
    // Only now do all paths lead somewhere.
    require_private(&private, &dir)?;
    let folder = StateFolder::open(&state)?;
    let path = state;
    let mut state = args.description.state(&folder, &dir, &path, &trust, secret.as_ref())?;
    // Wrong options are reported later: they are no reason to let the old list expire.
    let same = args.description.require_same(&state).with_context(|| path.display().to_string());
    let profile = state.identity.profile()?;
    let before = &state.settings;
    let chosen =
        same.and_then(|()| Ok((args.settings.after(before, profile, time)?, args.settings.dropped(before)?)));
    let (settings, dropped, objection) = match chosen {
        Ok((settings, dropped)) => (settings, dropped, None),
        Err(why) => (before.clone(), Vec::new(), Some(why)),
    };
    let (lists, tags) = with_known_tags(&lists, tags, &without, &state);
    if state.manifest.is_empty() || state.is_recovered {
        // If this run fails, the next one goes on with what this one was told.
        state.settings = settings.clone();
        state.lists.members = tags.tags.iter().map(List::unread).collect();
    }
    let (is_sharded, is_recovered) = (state.shards.is_some(), state.is_recovered);
    let unsigned = keys.unsigned;
    let opened = Opened { dir, folder, state, secret, trust, now, grace: settings.grace, unsigned };
    let run = Run {
        lists,
        tags,
        without,
        allow_empty,
        guard,
        settings,
        dropped,
        objection,
        notices: Notices::default(),
        is_recovered,
        json,
    };
    if is_sharded {
        sharded::publish(run, Publication::open(opened, streams)?, streams)
    } else {
        whole::publish(run, Publication::open(opened, streams)?, streams)
    }
}

/// Fails if one of the paths leads into the folder that is served.
fn require_private(paths: &[(&str, PathBuf)], dir: &Path) -> Result<()> {
    let served = place(dir)?;
    for (what, path) in paths {
        // A link in the folder is served like a file, and one elsewhere may lead there.
        let name = path.parent().zip(path.file_name()).map(|(parent, name)| Ok(place(parent)?.join(name)));
        let places = [Ok(place(path)?)].into_iter().chain(name).collect::<Result<Vec<_>>>()?;
        let is_served = places.iter().any(|place| place.starts_with(&served));
        ensure!(!is_served, "{what} must not be in the folder that is served");
    }
    Ok(())
}

/// Where a path leads. If it can't be followed, as one of what isn't there yet, it is only made absolute.
fn place(path: &Path) -> Result<PathBuf> {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    path.canonicalize().or_else(|_| std::path::absolute(path)).with_context(|| path.display().to_string())
}
