//! `feed publish`.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use anyhow::{Error, Result, anyhow, bail, ensure};
use bloom_wasm::Tagged;
use bloom_wasm::digests::sort;
use bloom_wasm::vectors::copied;
use clap::builder::ArgPredicate;
use serde::Serialize;

use crate::args::number::{created_at, now, whole_milliseconds};
use crate::args::omitted::Omitted;
use crate::args::secret::SecretArgs;
use crate::args::tags::{TagArgs, WithoutArgs};
use crate::files::read;
use crate::lists::digests::{allow, members, with_tags};
use crate::lists::keys::List;
use crate::publishing::feed::{Next, Publisher, Renewal};
use crate::publishing::guard::GuardArgs;
use crate::publishing::manifest::File;
use crate::publishing::publication::reported;
use crate::publishing::state::Lists;
use crate::publishing::trust::KeyArgs;
use crate::streams::{Answer, Streams};
use crate::text::{Row, counted, grouped, in_words, time_in_words};

/// Publish the next generation
///
/// A list that hasn't changed writes nothing, unless the manifest expires soon.
#[derive(clap::Args)]
pub struct PublishArgs {
    /// The folder of the feed
    dir: PathBuf,
    /// Lists of keys, one a line
    #[arg(value_name = "LIST", default_value = "-", default_value_if("tags", ArgPredicate::IsPresent, None))]
    lists: Vec<PathBuf>,
    #[command(flatten)]
    tags: TagArgs,
    /// The folder that `feed init` made
    #[arg(long, value_name = "DIR")]
    state: PathBuf,
    #[command(flatten)]
    keys: KeyArgs,
    /// Publish a feed without a signature that had one before
    #[arg(long, conflicts_with = "sign")]
    unsigned: bool,
    #[command(flatten)]
    without: WithoutArgs,
    /// A list of keys that must never be false positives; can be repeated. Give the same lists each time
    #[arg(long, value_name = "LIST")]
    allow: Vec<PathBuf>,
    /// Leave out keys that are in both lists
    #[arg(long, requires = "allow")]
    allow_wins: bool,
    #[command(flatten)]
    omitted: Omitted,
    /// How long clients may use this generation, such as 7d or 12h
    #[arg(long, value_name = "TIME", default_value = "7d", value_parser = humantime::parse_duration)]
    expires_in: Duration,
    /// How long files that are no longer needed stay, for those who fetch them just now
    #[arg(long, value_name = "TIME", default_value = "1d", value_parser = humantime::parse_duration)]
    grace: Duration,
    /// The time of publication, such as 2026-11-21T09:00:00Z. It replaces the clock: all times count from it
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_rfc3339_weak)]
    created_at: Option<SystemTime>,
    /// Take empty lists, and those of comments alone. If no key is left, that is a list that shrinks: see --max-removed
    #[arg(long)]
    allow_empty: bool,
    #[command(flatten)]
    guard: GuardArgs,
    #[command(flatten)]
    secret: SecretArgs,
    /// Print what was done as JSON
    #[arg(long)]
    json: bool,
}

/// What a run did, for programs.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PublishReport {
    feed_id: String,
    /// The generation in place, and whether this run made it.
    generation: u64,
    published: bool,
    count: u64,
    added: u64,
    removed: u64,
    /// Keys that have other tags than before; none in a feed without tags.
    #[serde(skip_serializing_if = "Option::is_none")]
    retagged: Option<u64>,
    /// The file that this run made.
    file: Option<File>,
    /// All files of the feed: their number and bytes.
    files: usize,
    byte_length: u64,
    /// In milliseconds since 1970.
    expires: u64,
}

pub fn run(args: PublishArgs, streams: &mut Streams) -> Result<Answer> {
    read::check_stdin(args.lists.iter().chain(&args.allow).chain(args.tags.lists()))?;
    let trust = args.keys.read_to_sign()?;
    let now = args.created_at.map_or_else(now, created_at)?;
    let [expires_in, grace] = [args.expires_in, args.grace].map(whole_milliseconds);
    ensure!(expires_in > 0, "--expires-in must be longer than that");
    let secret = args.secret.read()?;
    let mut publisher = Publisher::open(&args.dir, &args.state, secret, trust, now, grace, streams)?;
    publisher.require_signature(args.unsigned)?;
    if let Some(why) = publisher.strange.take() {
        streams.warn(&format!("not believed, so it will be replaced: {}", in_words(&why)));
    }

    let (next, mut rows) = match args.next(&publisher, streams) {
        Ok(next) => next,
        Err(Refused { why, allowed }) => return Err(stay(&mut publisher, why, allowed, expires_in, streams)),
    };
    let made = next.make(&publisher)?;
    let is_first = publisher.is_first();
    let published = publisher.publish(&next, made.as_ref(), expires_in, streams)?;
    if is_first {
        publisher.print_hint(streams);
    }

    let state = &publisher.state;
    let report = PublishReport {
        feed_id: state.feed_id.clone(),
        generation: state.generation,
        published,
        count: next.count(),
        added: next.added,
        removed: next.removed.len() as u64,
        retagged: args.tags.any().then_some(next.retagged),
        file: made.as_ref().map(|made| made.file.file.clone()),
        files: state.files.len(),
        byte_length: state.files.iter().map(|file| file.file.bytes).sum(),
        expires: publisher.expires(),
    };
    rows.extend(report.rows(made.and_then(|made| made.replaced), publisher.signers_in_words()));
    let printed = if args.json { streams.print_json(&report) } else { streams.print_rows(&rows) };
    reported(printed, report.generation, published)?;
    Ok(Answer::Yes)
}

/// Why there is no next generation.
struct Refused {
    why: Error,
    /// The keys that must be absent, sorted, unless their lists can't be read or are refused themselves.
    allowed: Option<Vec<u64>>,
}

/// Keeps the list that is published, and signs it anew if it is about to expire: a list that is wrong for days is no
/// reason for clients to lose the one that they have. Returns why the next one was refused, and what became of the old one.
fn stay(
    publisher: &mut Publisher,
    why: Error,
    allowed: Option<Vec<u64>>,
    expires_in: u64,
    streams: &mut Streams,
) -> Error {
    let words = in_words(&why);
    let renewal = match publisher.renew(allowed, expires_in, streams) {
        Ok(renewal) => renewal,
        Err(error) => return error.context(words),
    };
    let generation = publisher.state.generation;
    match renewal {
        Renewal::None => why,
        Renewal::NotYet => anyhow!("{words}; generation {generation} stays"),
        Renewal::Signed => anyhow!("{words}; the old list was signed anew as generation {generation}"),
        Renewal::Unknown => anyhow!("{words}; the state is an old copy, so no old list was signed anew"),
    }
}

/// What the lists hold.
struct Read {
    /// The digests of the members and of the allowed keys, sorted.
    members: Vec<u64>,
    allowed: Vec<u64>,
    /// The members with their tags, if they have some.
    tagged: Option<Tagged>,
    /// Why one of the lists is hardly what was meant, if so: of those of members, and of allowed keys.
    objections: [Result<()>; 2],
    lists: Lists,
    /// What is to be said of the lists.
    rows: Vec<Row>,
}

impl PublishArgs {
    /// The next generation, and what is to be said of the lists.
    fn next(&self, publisher: &Publisher, streams: &mut Streams) -> Result<(Next, Vec<Row>), Refused> {
        let before = &publisher.state.lists;
        let has_none = self.allow.is_empty() && before.allowed.is_empty();
        let unread = |why| Refused { why, allowed: has_none.then(Vec::new) };
        let Read { members, tagged, allowed, objections: [of_members, of_allowed], lists, mut rows } =
            self.read(publisher, streams).map_err(unread)?;
        let next = Next::of(publisher, members, tagged, allowed, lists).map_err(unread)?;
        let allowed = of_allowed
            .and_then(|()| self.guard.check_lists(&before.allowed, &next.lists().allowed, |_| false));
        match of_members.and_then(|()| self.check(&next, publisher)) {
            Ok(mut replaced) => {
                replaced.extend(allowed.map_err(|why| Refused { why, allowed: None })?);
                rows.extend(replaced.into_iter().map(|words| ("list", words)));
                Ok((next, rows))
            }
            Err(why) => Err(Refused { why, allowed: allowed.is_ok().then(|| next.into_allowed()) }),
        }
    }

    fn read(&self, publisher: &Publisher, streams: &mut Streams) -> Result<Read> {
        let (profile, hashing) = (publisher.state.profile()?, publisher.hashing()?);
        self.without.check(publisher.state.lists.tags(), &self.tags)?;
        self.omitted.check(profile)?;
        let (mut members, summary) = members(&self.lists, profile, hashing, &self.omitted, streams)?;
        let mut counts = summary.count_keys(&mut members);
        sort(&mut members)?;
        let (mut tagged, summary) = if self.tags.any() {
            let untagged = std::mem::take(&mut members);
            let read = with_tags(&self.tags, untagged, summary, profile, hashing, &self.omitted, streams)?;
            members = copied(read.keys.digests())?;
            counts.extend(read.counts);
            (Some(read.keys), read.summary)
        } else {
            (None, summary)
        };
        // Later, the feed keeps its profile.
        if publisher.is_first() {
            summary.print_hint(streams);
        }
        let mut rows = vec![("read", counted(members.len() as u64, "key", "keys") + &summary.in_words())];
        let mut objections = [summary.require_lists(self.allow_empty), Ok(())];
        let mut lists = Lists { members: summary.into_lists(counts), allowed: Vec::new() };
        let mut allowed = Vec::new();
        if !self.allow.is_empty() {
            let its = allow(&self.allow, self.allow_wins, hashing, profile, &mut members, streams)?;
            allowed = its.digests;
            sort(&mut members)?;
            sort(&mut allowed)?;
            objections[1] = its.summary.require_lists(self.allow_empty);
            lists.allowed = its.summary.into_lists(its.counts);
            rows.push(("allowed", its.words));
        }
        if let Some(tagged) = &mut tagged {
            tagged.keep(&members)?;
        }
        Ok(Read { members, tagged, allowed, objections, lists, rows })
    }

    /// Fails for lists that are more likely an error than what is wanted. Returns which have taken the place of which.
    fn check(&self, next: &Next, publisher: &Publisher) -> Result<Vec<String>> {
        if next.count() == 0 && !self.allow_empty {
            bail!("no key is left, so nothing was published; --allow-empty publishes a feed without keys");
        }
        self.guard.check(&next.change(publisher)?)?;
        let is_given_up = |list: &List| list.tag.as_ref().is_some_and(|tag| self.without.gives_up(tag));
        self.guard.check_lists(&publisher.state.lists.members, &next.lists().members, is_given_up)
    }
}

impl PublishReport {
    /// The same for people. `because` is why there is a new base.
    fn rows(&self, because: Option<String>, signers: String) -> Vec<Row> {
        let &PublishReport { added, removed, files, byte_length, .. } = self;
        let mut rows = vec![(
            "changes",
            format!("{} added, {} removed", counted(added, "key", "keys"), grouped(removed)),
        )];
        rows.extend(
            self.retagged.filter(|&keys| keys > 0).map(|keys| {
                ("tags", format!("{} others than before", counted(keys, "key has", "keys have")))
            }),
        );
        if let Some(File { kind, bytes, .. }) = &self.file {
            rows.push(("file", format!("{} of {} bytes", kind.in_words(), grouped(*bytes))));
        }
        rows.extend(because.map(|reason| ("because", reason)));
        let plural = if files == 1 { "" } else { "s" };
        rows.push(("feed", format!("{files} file{plural} of {} bytes together", grouped(byte_length))));
        rows.push(("signed", signers));
        let generation =
            format!("generation {}, which expires {}", self.generation, time_in_words(self.expires));
        rows.push(if self.published { ("wrote", generation) } else { ("unchanged", generation) });
        rows
    }
}
