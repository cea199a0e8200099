//! `feed publish`.

mod make;
mod report;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context, Error, Result, anyhow, ensure};
use make::{Feed, Generation, Make};
use report::Report;

use crate::args::number::{self, created_at, parse_time};
use crate::files::read::place;
use crate::publishing::declared::{self, Basis, Declared, FILE, Share};
use crate::publishing::manifest::{FeedPayload, Head, ShardsPayload};
use crate::publishing::plan::{Plan, Renewal};
use crate::publishing::publication::{Opened, Publication};
use crate::publishing::state::StateFolder;
use crate::streams::{Answer, Streams};
use crate::text::in_words;

/// Publish a feed, as feed.toml describes it: the first generation, or the next
///
/// If no list has changed, nothing is written unless the manifest expires soon. If a list is refused or can't be read, the
/// last generation is signed anew before it expires, and the tool exits with 2. docs/hosting.md has the keys of feed.toml.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  bloom-wasm feed publish lists/feed.toml
  bloom-wasm feed publish lists/feed.toml --max-removed 100% --dry-run")]
pub struct PublishArgs {
    /// The file that describes the feed
    #[arg(default_value = FILE)]
    file: PathBuf,
    /// The largest share of the keys that this run may remove, or give other tags. It overrides what the file says
    #[arg(long, value_name = "SHARE", value_parser = Share::parse)]
    max_removed: Option<Share>,
    /// The time of publication, such as 2026-11-21T09:00:00Z, instead of now. All times count from it, but the
    /// generation's number comes from the clock
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    created_at: Option<SystemTime>,
    /// Print a report as JSON
    #[arg(long)]
    json: bool,
    /// Print only what needs a person, on standard error
    #[arg(long, conflicts_with = "json")]
    quiet: bool,
    /// Say what would be done, and change nothing
    #[arg(long)]
    dry_run: bool,
}

pub fn run(args: PublishArgs, streams: &mut Streams) -> Result<Answer> {
    let PublishArgs { ref file, max_removed, dry_run: is_dry, .. } = args;
    let created_at = args.created_at.map(created_at).transpose()?;
    // Read before the lock is taken: with a wrong clock, WASI ends the tool, and the lock would stay.
    let clock = number::now()?;
    let (basis, mut declared) = declared::read(file)?;
    if let Ok(declared) = &mut declared {
        declared.sources.this_run = max_removed;
    }
    require_private(file, &basis, &declared)?;
    let folder = if is_dry {
        StateFolder::look(&basis.state)
    } else {
        fs::create_dir_all(&basis.public).with_context(|| basis.public.display().to_string())?;
        // Only now do all paths lead somewhere.
        require_private(file, &basis, &declared)?;
        StateFolder::open(&basis.state)?
    };
    let record = folder.load()?;
    // A state that has published knows which kind of feed it is.
    let published = record.as_ref().filter(|record| !record.manifest.is_empty());
    let is_sharded = published.map_or(basis.shards.is_some(), |record| record.whole.is_none());
    let grace = declared.as_ref().ok().map(|declared| declared.grace);
    let opened = Opened { folder, record, clock, created_at, grace, is_dry };
    let feed = declared.as_ref().map_err(|why| anyhow!(in_words(why)));
    let feed = feed.and_then(|declared| Feed::new(&basis, declared));
    if is_sharded {
        publish(feed, Publication::<ShardsPayload>::open(&basis, opened, streams)?, &args, streams)
    } else {
        publish(feed, Publication::<FeedPayload>::open(&basis, opened, streams)?, &args, streams)
    }
}

fn publish<P: Make>(
    feed: Result<Feed>,
    mut publication: Publication<P>,
    args: &PublishArgs,
    streams: &mut Streams,
) -> Result<Answer> {
    let is_first = publication.known.before().is_none();
    let conflicts = publication.known.record.as_ref().map(|record| record.conflicts);
    let (feed, done) = match feed {
        Ok(feed) => {
            let done = go_on(&feed, &mut publication, streams);
            (Some(feed), done)
        }
        Err(why) => (None, Err(why)),
    };
    let (Generation { next, made, rows, covered }, published, plan) = match done {
        Ok(done) => done,
        Err(why) => return Err(refused(feed.as_ref(), publication, why, streams)),
    };
    if published.is_some() && !args.quiet {
        next.gave.notices.removed.print(streams);
    }
    if conflicts != Some(next.gave.conflicts.kept) {
        next.gave.notices.kept.print(streams);
    }
    if let Some(payload) = &published {
        publication.warn_if_expired(payload.head(), streams);
    }
    if is_first && publication.known.signers.is_empty() {
        streams.warn(
            "nobody has signed this, so whoever can write to the host can change the list: a key in `sign` prevents that",
        );
    }
    let is_new = published.is_some();
    let live = published.or_else(|| publication.known.ours().map(|live| live.payload.clone()));
    let live = live.context("the manifest is gone")?;
    let (files, byte_length) = live.size();
    let &Head { ref identity, generation, count, expires, .. } = live.head();
    let report = Report {
        feed_id: &identity.feed_id,
        generation,
        published: is_new,
        count,
        covered,
        made,
        files,
        byte_length,
        expires,
        dry_run: args.dry_run,
    };
    if !args.quiet {
        report.print(args.json, rows, publication.signers_in_words(), &plan, streams)?;
    }
    Ok(Answer::Yes)
}

/// Makes the next generation, and puts it in place. Returns it, what its manifest says if it has a new one, and what was
/// done.
fn go_on<'a, P: Make>(
    feed: &Feed<'a>,
    publication: &mut Publication<P>,
    streams: &mut Streams,
) -> Result<(Generation<'a, P>, Option<P>, Plan)> {
    publication.known.require_same(&feed.identity, feed.shards)?;
    let generation = P::make(feed, publication, streams)?;
    // Building may have taken hours.
    publication.look_at_clock()?;
    let (published, plan) = publication.known.publish(&generation.next)?;
    if !publication.is_dry {
        publication.carry_out(&plan, Some(&generation.next.made.outputs), streams)?;
    }
    Ok((generation, published, plan))
}

/// Why the next generation was refused, and what became of the last one. Clients must not lose the list that they have
/// because the new one is wrong for days, so the last one is signed anew if it is about to expire.
fn refused<P: Make>(
    feed: Option<&Feed>,
    mut publication: Publication<P>,
    why: Error,
    streams: &mut Streams,
) -> Error {
    // If another run has taken over, nothing is this one's any more.
    if publication.folder.check().is_err() {
        return why;
    }
    let last = publication.known.last.as_ref().map(|last| last.text.clone());
    let words = in_words(&why);
    if !publication.is_dry
        && let Err(error) = publication.recover(streams)
    {
        streams.warn(&format!("what this run wrote may not have been deleted: {}", in_words(&error)));
    }
    // A number that this run has used up is no reason for another one.
    if publication.known.last.as_ref().is_some_and(|now| last.as_ref() != Some(&now.text)) {
        return why;
    }
    let renewed = renew(feed, &mut publication, streams);
    let stays = publication.stays().map_or(String::new(), |stays| format!("; {stays}"));
    match renewed {
        Err(error) => anyhow!("{words}: {}{stays}", in_words(&error)),
        Ok(Renewal::None) if publication.known.last.is_none() => why,
        Ok(Renewal::None) => anyhow!("{words}; there is no manifest in place that could be signed anew"),
        Ok(Renewal::NotYet) => anyhow!("{words}{stays}"),
        Ok(Renewal::Signed(generation)) if publication.is_dry => {
            anyhow!("{words}; the last list would be signed anew as generation {generation}")
        }
        Ok(Renewal::Signed(generation)) => {
            anyhow!("{words}; the last list was signed anew as generation {generation}")
        }
        Ok(Renewal::Lost) => {
            anyhow!("{words}; the state was lost, so the last list wasn't signed anew{stays}")
        }
        Ok(Renewal::Old) => {
            anyhow!("{words}; the state is an old copy, so the last list wasn't signed anew{stays}")
        }
    }
}

fn renew<P: Make>(
    feed: Option<&Feed>,
    publication: &mut Publication<P>,
    streams: &mut Streams,
) -> Result<Renewal> {
    publication.look_at_clock()?;
    let again = match publication.known.renewable() {
        Ok(_) => P::again(feed, publication, streams).context("the last list can't be signed anew")?,
        Err(_) => None,
    };
    let (renewal, plan) = publication.known.renew(again.as_ref())?;
    if !publication.is_dry {
        publication.carry_out(&plan, again.as_ref().map(|made| &made.outputs), streams)?;
        if let (Renewal::Signed(_), Some(live)) = (renewal, publication.known.ours()) {
            publication.warn_if_expired(live.payload.head(), streams);
        }
    }
    Ok(renewal)
}

/// Fails if the state, a key or the secret is in the folder that is served.
fn require_private(file: &Path, basis: &Basis, declared: &Result<Declared>) -> Result<()> {
    let served = place(&basis.public)?;
    let secret = declared.as_ref().ok().and_then(|declared| declared.secret.as_deref());
    let paths = [("the state", &*basis.state)].into_iter();
    let paths = paths.chain(basis.sign.iter().map(|key| ("a secret key", &**key)));
    for (what, path) in paths.chain(secret.map(|secret| ("the secret", secret))) {
        // A link in the folder is served like a file, and one elsewhere may lead there.
        let name = path.parent().zip(path.file_name()).map(|(parent, name)| Ok(place(parent)?.join(name)));
        let places = [Ok(place(path)?)].into_iter().chain(name).collect::<Result<Vec<_>>>()?;
        let is_served = places.iter().any(|place| place.starts_with(&served));
        ensure!(!is_served, "{}: {what} must not be in the folder that is served", file.display());
    }
    Ok(())
}
