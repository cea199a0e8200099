//! `feed forget`.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result, ensure};

use crate::publishing::manifest::{self, FeedPayload, ShardsPayload};
use crate::publishing::published::Published;
use crate::streams::{Answer, Streams, unless_closed};
use crate::text::{Row, counted, grouped};

/// Delete the files of older generations from the folder of a feed
///
/// `feed publish` itself deletes the files that its state knows. This command is for files that only a lost state knew,
/// and for shards left by a run that was killed. Don't publish meanwhile.
///
/// It deletes files that are named by a hash, aren't listed in the manifest, and are older than --grace. But while the
/// manifest itself is younger than --grace, it deletes nothing, because clients may still be reading the previous
/// generation. It trusts the manifest, as `check` does, and verifies no signature.
#[derive(clap::Args)]
pub struct ForgetArgs {
    /// The folder
    dir: PathBuf,
    /// How long a generation must have been in place before the files of older ones are deleted
    #[arg(long, value_name = "TIME", default_value = "1d", value_parser = humantime::parse_duration)]
    grace: Duration,
}

pub fn run(args: ForgetArgs, streams: &mut Streams) -> Result<Answer> {
    let dir = &args.dir;
    let name = || dir.display().to_string();
    let feeds = [of_feed::<FeedPayload>(&args)?, of_feed::<ShardsPayload>(&args)?];
    let feeds: Vec<_> = feeds.into_iter().flatten().collect();
    ensure!(!feeds.is_empty(), "{}: there is no feed.json or shards.json here", name());
    let is_settled = feeds.iter().all(|(_, is_settled)| *is_settled);
    let needed: HashSet<_> = feeds.into_iter().flat_map(|(needed, _)| needed).collect();
    let (mut deleted, mut young) = (Files::default(), Files::default());
    for entry in fs::read_dir(dir).with_context(name)? {
        let entry = entry.with_context(name)?;
        let is_needed = |name: &str| manifest::unhex(name).is_none() || needed.contains(name);
        if entry.file_name().to_str().is_none_or(is_needed) {
            continue;
        }
        let path = entry.path();
        let file = entry.metadata().with_context(|| path.display().to_string())?;
        if !file.is_file() {
            continue;
        }
        if is_settled && is_older(&path, args.grace)? {
            fs::remove_file(&path).with_context(|| path.display().to_string())?;
            deleted.add(file.len());
        } else {
            young.add(file.len());
        }
    }
    let mut rows: Vec<Row> = vec![("deleted", deleted.in_words())];
    if young.number > 0 {
        rows.push(("kept", format!("{}, which clients may still read; see --grace", young.in_words())));
    }
    unless_closed(streams.print_rows(&rows))?;
    Ok(Answer::Yes)
}

/// The files that a manifest in the folder needs, and whether it is old enough for others to be deleted.
fn of_feed<P: Published>(ForgetArgs { dir, grace }: &ForgetArgs) -> Result<Option<(Vec<String>, bool)>> {
    let Some((payload, _)) = manifest::read::<P>(dir, &[])? else { return Ok(None) };
    let mut needed = payload.files();
    needed.extend(payload.blobs(dir)?.into_iter().map(|(name, _)| name));
    Ok(Some((needed, is_older(&dir.join(P::FILE), *grace)?)))
}

/// Whether a file is at least this old. One from the future isn't.
fn is_older(path: &Path, age: Duration) -> Result<bool> {
    let written = || fs::symlink_metadata(path)?.modified();
    let written = written().with_context(|| path.display().to_string())?;
    Ok(SystemTime::now().duration_since(written).is_ok_and(|passed| passed >= age))
}

/// Files of older generations.
#[derive(Default)]
struct Files {
    number: u64,
    bytes: u64,
}

impl Files {
    fn add(&mut self, bytes: u64) {
        self.number += 1;
        self.bytes += bytes;
    }

    fn in_words(&self) -> String {
        format!("{} of {} bytes", counted(self.number, "file", "files"), grouped(self.bytes))
    }
}
