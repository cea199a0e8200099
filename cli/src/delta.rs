//! `diff`: two lists to a delta. `apply`: a blob and deltas to the blob that was published.

use std::path::PathBuf;
use std::slice::from_ref;
use std::time::SystemTime;

use anyhow::{Context, Result, bail};
use bloom_wasm::digests::{sort, strangers};
use bloom_wasm::{Delta, Update};
use serde::Serialize;

use super::build::{Row, allow, members, milliseconds, write, write_and_tell};
use super::guard::{Change, GuardArgs};
use super::inspect::{keyed_in_words, time_in_words};
use super::secret::SecretArgs;
use super::{Answer, Streams, grouped, keys, lists, output, rate, read_blob, read_file};

/// Make a delta, which brings a blob up to date
///
/// The delta adds the keys that are only in the new list, and removes those that are only in the old one, without a
/// mistake. It takes a few kilobytes where a new blob would take a megabyte, but each makes the filter a little slower
/// and its false-positive rate a little higher, so build a new blob now and then.
#[derive(clap::Args)]
pub struct DiffArgs {
    /// The list that the base holds
    #[arg(value_name = "OLD")]
    old: PathBuf,
    /// The list as it is now
    #[arg(value_name = "NEW")]
    new: PathBuf,
    /// The blob to bring up to date: of the old list, as it was built or as deltas made it
    #[arg(long, value_name = "FILE")]
    base: PathBuf,
    /// Where to write the delta; - for standard output. A file is replaced as a whole and keeps its mode
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// The false-positive rate that the added keys add, above 0 and below 1: per check with --profile url, otherwise per
    /// key. Default a sixteenth of what the base has
    #[arg(long, allow_negative_numbers = true, value_parser = super::fpr)]
    fpr: Option<f64>,
    #[command(flatten)]
    omitted: keys::Omitted,
    /// A list of keys that must never be false positives; can be repeated. Give the same lists for each delta
    #[arg(long, value_name = "LIST")]
    allow: Vec<PathBuf>,
    /// Leave out keys that are in both lists, as in the base
    #[arg(long, requires = "allow")]
    allow_wins: bool,
    /// Make a delta even if no line of the new list is a key: it removes every key
    #[arg(long)]
    allow_empty: bool,
    #[command(flatten)]
    guard: GuardArgs,
    /// A name for people, kept in the blob that results; otherwise that of the base
    #[arg(long)]
    name: Option<String>,
    /// When the new list was made, such as 2026-11-21T09:00:00Z, kept in the blob that results
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_rfc3339_weak)]
    created_at: Option<SystemTime>,
    #[command(flatten)]
    secret: SecretArgs,
    /// Print the description of the delta as JSON
    #[arg(long)]
    json: bool,
}

pub fn diff(args: DiffArgs, streams: &mut Streams) -> Result<Answer> {
    let all = || [&args.old, &args.new].into_iter().chain(&args.allow);
    lists::check_stdin(all().chain([&args.base]))?;
    output::check(&args.output)?;
    output::check_inputs("a list", all().chain([&args.base]), &args.output)?;
    args.secret.check_output(&args.output)?;
    let parent = read_blob(&args.base, args.secret.read()?.as_ref(), streams)?;
    let profile = parent.profile();
    args.omitted.check(profile)?;
    let created_at = args.created_at.map(milliseconds).transpose()?;
    let fpr = args.fpr.map(|fpr| profile.key_fpr(fpr));
    let fpr = fpr
        .unwrap_or_else(|| (parent.filter().estimated_fpr() / 16.0).clamp(f64::from(2_f32.powi(-32)), 0.5));

    let mut child = parent.try_clone()?;
    let hashing = *parent.filter().hashing();
    let (mut live, met) = members(from_ref(&args.new), profile, hashing, &args.omitted, streams)?;
    sort(&mut live)?;
    let mut rows = vec![("read", format!("{} keys", grouped(live.len() as u64)) + &met.summary())];
    let mut allowed = Vec::new();
    if !args.allow.is_empty() {
        let words;
        (allowed, words) = allow(&args.allow, args.allow_wins, hashing, profile, &mut live, streams)?;
        rows.push(("allowed", words));
    }
    if live.is_empty() && !args.allow_empty {
        bail!("the new list gave no key, so nothing was written; --allow-empty removes every key");
    }
    sort(&mut allowed)?;
    let (mut old, old_met) = members(from_ref(&args.old), profile, hashing, &args.omitted, streams)?;
    sort(&mut old)?;
    let denied = |digest: &u64| !parent.filter().has_digest(*digest);
    // Those that an allowlist took out of the base.
    old.retain(|digest| !(args.allow_wins && denied(digest) && allowed.binary_search(digest).is_ok()));
    let lost = old.iter().filter(|digest| denied(digest)).count() as u64;
    if lost > 0 {
        let (base, old) = (lists::name(&args.base), lists::name(&args.old));
        bail!("{base} denies {} keys of {old}, so it isn't the blob of that list", grouped(lost));
    }
    let removed = strangers(&old, &live, &|_| true)?;
    if !(live.is_empty() && args.allow_empty) {
        let [before, removed] = [&old, &removed].map(|digests| digests.len() as u64);
        args.guard.check(&Change { before, removed, lines: Some([old_met.lines(), met.lines()]) })?;
    }
    let added = live.len() - (old.len() - removed.len());
    child.filter_mut().update(Update { live: &live, removed: &removed, allowed: &allowed, fpr })?;
    child.describe(args.name.or(parent.name().map(str::to_owned)), created_at)?;
    let delta = Delta::between(&parent, &child)?;
    rows.push((
        "changes",
        format!("{} keys added, {} removed", grouped(added as u64), grouped(removed.len() as u64)),
    ));

    let bytes = delta.encode()?;
    if output::is_stdout(&args.output) {
        streams.print_blob(&bytes)?;
        return Ok(Answer::Yes);
    }
    rows.push(("size", format!("{} bytes", grouped(bytes.len() as u64))));
    let (before, after) = (parent.filter().estimated_fpr(), child.filter().estimated_fpr());
    rows.push(("fpr", format!("{} per key by the fill, {} before", rate(after), rate(before))));
    let wrote = format!("{}, a delta for {:016x}", args.output.display(), delta.parent());
    let info = args.json.then(|| Info::of(&delta)).transpose()?;
    write_and_tell(&bytes, &args.output, info.as_ref(), rows, wrote, streams)
}

/// Bring a blob up to date by deltas
///
/// The result is the very blob from which `diff` made the last delta. A delta fits only the blob that it was made for.
#[derive(clap::Args)]
pub struct ApplyArgs {
    /// The blob
    file: PathBuf,
    /// The deltas, the oldest first
    #[arg(required = true, value_name = "DELTA")]
    deltas: Vec<PathBuf>,
    /// Where to write the result; - for standard output. A file is replaced as a whole and keeps its mode
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    #[command(flatten)]
    secret: SecretArgs,
    /// Print the description of the result as JSON
    #[arg(long)]
    json: bool,
}

pub fn apply(args: ApplyArgs, streams: &mut Streams) -> Result<Answer> {
    lists::check_stdin([&args.file].into_iter().chain(&args.deltas))?;
    output::check(&args.output)?;
    // The blob may well be replaced by what it becomes.
    output::check_inputs("a delta", &args.deltas, &args.output)?;
    args.secret.check_output(&args.output)?;
    let mut blob = read_blob(&args.file, args.secret.read()?.as_ref(), streams)?;
    for path in &args.deltas {
        let name = || lists::name(path);
        let delta = Delta::decode_for(&blob, read_file(path, streams)?).with_context(name)?;
        blob = blob.apply(delta).with_context(name)?;
    }
    let count = args.deltas.len();
    let rows = [("applied", format!("{count} delta{}", if count == 1 { "" } else { "s" }))];
    write(&blob, &args.output, args.json, &rows, &[], streams)
}

/// A description of a delta, for programs.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Info<'a> {
    kind: &'static str,
    /// The id of the blob that it is for, in 16 hexadecimal digits.
    parent: String,
    profile: &'static str,
    keyed: bool,
    /// The number of different keys of the child; null if the delta changes no key.
    count: Option<u32>,
    byte_length: usize,
    /// The number of layers that it adds.
    layers: usize,
    name: Option<&'a str>,
    created_at: Option<u64>,
    /// The delta's own checksum.
    id: String,
}

impl<'a> Info<'a> {
    pub fn of(delta: &'a Delta) -> Result<Self> {
        Ok(Info {
            kind: "delta",
            parent: format!("{:016x}", delta.parent()),
            profile: delta.profile().name(),
            keyed: delta.hashing().is_keyed(),
            count: delta.count(),
            byte_length: delta.encode()?.len(),
            layers: delta.layers().len(),
            name: delta.name(),
            created_at: delta.created_at(),
            id: format!("{:016x}", delta.id()?),
        })
    }

    /// The same in words.
    pub fn rows(&self) -> Vec<Row> {
        let count = self.count.map_or("as before".to_owned(), |count| grouped(count.into()));
        vec![
            ("kind", "delta: brings a blob up to date".to_owned()),
            ("for", format!("the blob with the id {}", self.parent)),
            ("profile", self.profile.to_owned()),
            ("name", self.name.unwrap_or("none").to_owned()),
            ("created", self.created_at.map_or("unknown".to_owned(), time_in_words)),
            ("keys", count),
            ("keyed", keyed_in_words(self.keyed)),
            ("layers", self.layers.to_string()),
            ("size", format!("{} bytes", grouped(self.byte_length as u64))),
            ("id", format!("{}, the checksum", self.id)),
        ]
    }
}
