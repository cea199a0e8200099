//! `build`: lists to a blob. `merge`: blobs to one.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context, Result, bail};
use bloom_wasm::hash::Hashing;
use bloom_wasm::keys::Input;
use bloom_wasm::keys::list::{Allowlist, Conflict, remove_conflicts};
use bloom_wasm::vectors::append;
use bloom_wasm::{Blob, Filter, Info, Kind, Profile, Recipe, Stack, digests};
use clap::ValueEnum;
use serde::Serialize;

use super::foreign::{self, AnyKind};
use super::guard::GuardArgs;
use super::secret::{SecretArgs, new_hashing};
use super::show::quoted;
use super::{Answer, Streams, grouped, keys, lists, output, rate, read_blob, shards, show, unless_closed};

/// Pack lists of keys into one blob
///
/// Keys are read as a stream. Each takes 8 bytes of memory, however long it is. Repeated keys count once. Lines that
/// can't be keys are counted, and the first ten are shown.
#[derive(clap::Args)]
pub struct BuildArgs {
    /// Lists of keys, one a line
    #[arg(value_name = "LIST", default_value = "-")]
    pub lists: Vec<PathBuf>,
    /// Where to write the blob; - for standard output. A file is replaced as a whole and keeps its mode
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// The kind of filter, or the other software that it is for
    #[arg(long, value_parser = foreign::parse_kind(), default_value = "ribbon")]
    kind: AnyKind,
    /// Make it as large as so many keys need, however many there are: parts of a list that have one shape can be merged.
    /// With --kind bloom, counting and other software's
    #[arg(long, value_name = "N")]
    pub capacity: Option<u64>,
    /// Bits of a counter, with --kind counting: 4 or 8
    #[arg(long, default_value = "4", value_parser = ["4", "8"])]
    counter_bits: String,
    /// The false-positive rate, above 0 and below 1: per check with --profile url, otherwise per key. Default 1e-3, or
    /// 1e-4 with --profile password
    #[arg(long, allow_negative_numbers = true, value_parser = super::fpr)]
    pub fpr: Option<f64>,
    /// What the keys are
    #[arg(long, value_enum, default_value = "raw")]
    profile: Keys,
    /// Ignore case, also when checking, with --profile password
    #[arg(long)]
    lowercase: bool,
    /// Lists hold SHA-1 hashes of passwords in hexadecimal, as HASH or HASH:COUNT, with --profile password
    #[arg(long, conflicts_with = "lowercase")]
    sha1_hex: bool,
    #[command(flatten)]
    pub omitted: keys::Omitted,
    /// A list of keys that must never be false positives; can be repeated. A URL stands for all its keys
    #[arg(long, value_name = "LIST")]
    pub allow: Vec<PathBuf>,
    /// Remove a key that is in both lists; otherwise it stays and is shown. A URL removes only its own key, not its
    /// parents
    #[arg(long, requires = "allow")]
    pub allow_wins: bool,
    /// The seed of the hash, 0 to 2^64 - 1. Default 0, or with --secret-file a random one
    #[arg(long)]
    pub seed: Option<u64>,
    #[command(flatten)]
    pub secret: SecretArgs,
    /// A name for people, kept in the blob
    #[arg(long)]
    pub name: Option<String>,
    /// When the list was made, such as 2026-11-21T09:00:00Z, kept in the blob
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_rfc3339_weak)]
    pub created_at: Option<SystemTime>,
    /// Write a filter even if no line of the lists is a key; with --capacity that needs no option
    #[arg(long)]
    pub allow_empty: bool,
    /// Print the description of the blob as JSON
    #[arg(long)]
    pub json: bool,
    /// Make a sharded filter, for a list too large to download: -o is a folder for a static host, and N, a power of two
    /// up to 65536, is how many parts it has
    #[arg(long, value_name = "N")]
    shards: Option<u32>,
    #[command(flatten)]
    pub guard: GuardArgs,
    #[command(flatten)]
    pub signing: shards::SigningArgs,
    #[command(flatten)]
    pub foreign: foreign::BuildingArgs,
}

/// What the keys of a list are.
#[derive(Clone, Copy, PartialEq, ValueEnum)]
pub enum Keys {
    /// Bytes as they are; lines that start with # are comments
    Raw,
    /// URLs, hosts, adblock's ||host^ and entries of hosts files, looked up as Safe Browsing does
    Url,
    /// Passwords in Unicode's normal form NFC
    Password,
}

impl Keys {
    /// The profile; none if there are options that only passwords have.
    pub fn with(self, lowercase: bool, sha1: bool) -> Option<Profile> {
        match self {
            Keys::Password => Some(Profile::Password { lowercase, sha1 }),
            _ if lowercase || sha1 => None,
            Keys::Raw => Some(Profile::Raw),
            Keys::Url => Some(Profile::Url),
        }
    }
}

impl BuildArgs {
    /// Refuses to make a filter of nothing, which is more often a list that failed to arrive than what is wanted.
    pub fn require_keys(&self, keys: u64) -> Result<()> {
        if keys == 0 && !self.allow_empty && self.capacity.is_none() {
            bail!("the lists gave no key, so nothing was written; --allow-empty makes a filter of no keys");
        }
        Ok(())
    }
}

pub fn build(args: BuildArgs, streams: &mut Streams) -> Result<Answer> {
    lists::check_stdin(args.lists.iter().chain(&args.allow))?;
    if let Some(shards) = args.shards {
        let ribbon = matches!(args.kind, AnyKind::Own(Kind::Ribbon));
        if !ribbon || args.capacity.is_some() || args.foreign.any() {
            bail!("--shards goes with --kind ribbon, and without --capacity");
        }
        return shards::build(&args, shards, profile(&args)?, streams);
    }
    args.signing.require_none()?;
    args.guard.require_none()?;
    output::check(&args.output)?;
    output::check_inputs("a list", args.lists.iter().chain(&args.allow), &args.output)?;
    args.secret.check_output(&args.output)?;
    let profile = profile(&args)?;
    let kind = match args.kind {
        AnyKind::Own(kind) => kind,
        AnyKind::Foreign(format) => return foreign::build(&args, format, profile, streams),
    };
    if args.foreign.any() {
        bail!("--funnel, --keys, --bits, --hashes, --layout and --expansion are for other software's kinds");
    }
    if args.capacity.is_some() && !matches!(kind, Kind::Bloom | Kind::Counting) {
        bail!("--capacity goes with --kind bloom, counting and other software's");
    }
    let fpr = args.fpr.unwrap_or(profile.default_fpr());
    let key_fpr = profile.key_fpr(fpr);
    let counter_bits = if args.counter_bits == "8" { 8 } else { 4 };
    let recipe = Recipe { counter_bits, capacity: args.capacity, ..kind.into() };
    let created_at = args.created_at.map(milliseconds).transpose()?;
    let hashing = new_hashing(args.seed, args.secret.read()?.as_ref())?;
    // Reports what is impossible before hours of reading.
    let tenth = || "with --profile url a key gets a tenth of --fpr";
    let empty = Filter::from_digests(recipe, &mut Vec::new(), key_fpr, hashing);
    let empty = if key_fpr < fpr { empty.with_context(tenth) } else { empty.map_err(Into::into) };
    let mut blob = Blob::new(profile, empty?);
    blob.describe(args.name.clone(), created_at)?;

    let (mut members, met) = members(&args.lists, profile, hashing, &args.omitted, streams)?;
    let keys = members.len() as u64;
    args.require_keys(keys)?;
    let mut rows = Vec::new();
    let mut allowed = None;
    let mut distinct = None;
    if !args.allow.is_empty() {
        digests::sort(&mut members)?;
        distinct = Some(members.len() as u64);
        let (digests, words) = allow(&args.allow, args.allow_wins, hashing, profile, &mut members, streams)?;
        allowed = Some(digests);
        rows.push(("allowed", words));
        args.require_keys(members.len() as u64)?;
    }
    *blob.filter_mut() = Stack::build(recipe, &mut members, allowed.as_deref(), key_fpr, hashing)?;
    let distinct = distinct.unwrap_or_else(|| match blob.filter().base() {
        // The ribbon filter has used them up.
        Filter::Ribbon(filter) => filter.count().into(),
        _ => members.len() as u64,
    });
    let mut read = format!("{} keys", grouped(distinct));
    if keys > distinct {
        read += &format!(", {} repeated", grouped(keys - distinct));
    }
    rows.insert(0, ("read", read + &met.summary()));
    drop(members);
    let now = rate(blob.filter().estimated_fpr());
    let asked = if profile == Profile::Url {
        "asked for per URL, {} per key by the fill"
    } else {
        "asked for, {} by the fill"
    };
    let fpr = ("fpr", format!("{fpr} {}", asked.replace("{}", &now)));
    write(&blob, &args.output, args.json, &rows, &[fpr], streams)
}

/// The digest of every key in the lists, in their order, and what else the lists held.
pub fn members(
    lists: &[PathBuf],
    profile: Profile,
    hashing: Hashing,
    omitted: &keys::Omitted,
    streams: &mut Streams,
) -> Result<(Vec<u64>, keys::Met)> {
    let mut members = Vec::new();
    let digest = |digests: &mut Vec<u64>, input: &Input, _: keys::Place| {
        digests.push(hashing.digest(input.own()));
        Ok(())
    };
    let met = keys::for_each(lists, profile, omitted, streams, Vec::new, digest, |digests| {
        append(&mut members, &digests)
    })?;
    Ok((members, met))
}

fn profile(args: &BuildArgs) -> Result<Profile> {
    let profile = args.profile.with(args.lowercase, args.sha1_hex);
    let profile = profile.context("--lowercase, --sha1-hex and --min-length need --profile password")?;
    args.omitted.check(profile)?;
    Ok(profile)
}

/// Reads the lists of allowed keys. With `wins`, removes members that are in both lists. Returns the allowed digests,
/// and what to print about them.
pub fn allow(
    lists: &[PathBuf],
    wins: bool,
    hashing: Hashing,
    profile: Profile,
    members: &mut Vec<u64>,
    streams: &mut Streams,
) -> Result<(Vec<u64>, String)> {
    let new = || (0, Allowlist::new(hashing, wins));
    let (mut read, mut allowlist) = new();
    let take = |(read, allowlist): &mut (u64, Allowlist<_>), input: &Input, place: keys::Place| {
        *read += 1;
        allowlist.push(members, input, place)
    };
    let met = keys::for_each(lists, profile, &keys::Omitted::none(), streams, new, take, |(more, later)| {
        read += more;
        allowlist.merge(later)
    })?;
    let (allowed, conflicts) = allowlist.finish()?;
    remove_conflicts(members, &conflicts)?;
    let mut notices = keys::Notices::default();
    for Conflict { key, removed, place, .. } in &conflicts {
        let what = if *removed { "removed" } else { "kept" };
        notices.push(|| format!("{place}: in both lists, {what}: {}", quoted(key)));
    }
    notices.print(streams);
    let mut words = format!("{} entries", grouped(read)) + &met.summary();
    for (what, removed) in [("removed", true), ("kept", false)] {
        let count = conflicts.iter().filter(|conflict| conflict.removed == removed).count() as u64;
        if count > 0 {
            words += &format!(", {} keys in both lists ({what})", grouped(count));
        }
    }
    Ok((allowed, words))
}

/// Combine blobs into one that holds the keys of all
///
/// The blobs must all be bloom filters, or all counting filters, with the same bits, hashes, seed and secret. The name
/// and the creation time are those of the first blob.
#[derive(clap::Args)]
pub struct MergeArgs {
    /// The blobs
    #[arg(required = true, num_args = 2..)]
    files: Vec<PathBuf>,
    /// Where to write the result; - for standard output. A file is replaced as a whole and keeps its mode
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    #[command(flatten)]
    secret: SecretArgs,
    /// Print the description of the result as JSON
    #[arg(long)]
    json: bool,
}

pub fn merge(args: MergeArgs, streams: &mut Streams) -> Result<Answer> {
    output::check(&args.output)?;
    args.secret.check_output(&args.output)?;
    let secret = args.secret.read()?;
    let mut merged = read_blob(&args.files[0], secret.as_ref(), streams)?;
    for file in &args.files[1..] {
        let blob = read_blob(file, secret.as_ref(), streams)?;
        merged.combine(&blob, true).with_context(|| {
            let name = lists::name(file);
            // Each has a random seed, unless it was given.
            let hint = if secret.is_some() { ": build keyed filters to merge with one --seed" } else { "" };
            format!("{name}{hint}")
        })?;
    }
    let rows = [("merged", format!("{} blobs", args.files.len()))];
    write(&merged, &args.output, args.json, &rows, &[], streams)
}

/// Writes a blob, and says so unless it goes to standard output.
pub fn write(
    blob: &Blob,
    output: &Path,
    json: bool,
    before: &[Row],
    after: &[Row],
    streams: &mut Streams,
) -> Result<Answer> {
    let bytes = blob.encode()?;
    if output::is_stdout(output) {
        streams.print_blob(&bytes)?;
        return Ok(Answer::Yes);
    }
    let info = Info::of(blob)?;
    let per_key = info.bits_per_key.map(|bits| format!(", {bits:.2} bits a key")).unwrap_or_default();
    let size = [("size", format!("{} bytes{per_key}", grouped(info.byte_length)))];
    let rows = [before, &size, after].concat();
    let wrote = format!("{}, a {} filter", output.display(), info.kind);
    write_and_tell(&bytes, output, json.then_some(&info), rows, wrote, streams)
}

/// Writes a file. What it holds is told before it is in its place, so that nothing has changed if that fails; that it
/// is written is told when it is. That nobody reads this doesn't matter.
pub fn write_and_tell(
    bytes: &[u8],
    output: &Path,
    json: Option<&impl Serialize>,
    mut rows: Vec<Row>,
    wrote: String,
    streams: &mut Streams,
) -> Result<Answer> {
    rows.push(("wrote", wrote));
    let rows = show::rows(&rows);
    let (last, before) = rows.split_last().expect("a row that was pushed");
    output::write(output, bytes, || {
        unless_closed(match json {
            Some(info) => streams.print_json(info),
            None => streams.print(before.concat().as_bytes()),
        })
    })?;
    if json.is_none() {
        unless_closed(streams.print(last.as_bytes()))
            .with_context(|| format!("{} is written", output.display()))?;
    }
    Ok(Answer::Yes)
}

pub type Row = (&'static str, String);

pub fn milliseconds(time: SystemTime) -> Result<u64> {
    let Ok(since) = time.duration_since(SystemTime::UNIX_EPOCH) else {
        bail!("--created-at must be 1970 or later")
    };
    u64::try_from(since.as_millis()).context("--created-at is too late")
}
