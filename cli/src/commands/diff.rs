//! `diff`: two lists to a delta.

use std::cmp::Ordering;
use std::path::PathBuf;
use std::slice::from_ref;
use std::time::SystemTime;

use anyhow::{Context, Result, bail};
use bloom_wasm::digests::{sort, strangers};
use bloom_wasm::slots::{LOWEST, LOWEST_URL};
use bloom_wasm::{Blob, BloomFilter, Delta, Filter, FilterInfo, Update};

use crate::args::number::{created_at, parse_fpr};
use crate::args::omitted::Omitted;
use crate::args::secret::SecretArgs;
use crate::files::delta::DeltaInfo;
use crate::files::{blob, read, write};
use crate::lists::digests::{allow, members};
use crate::publishing::guard::{Change, GuardArgs};
use crate::rates::Rates;
use crate::streams::{Answer, Streams};
use crate::text::{about, counted, grouped};

/// Make a delta, which brings a blob up to date
///
/// The delta adds the keys that are only in the new list, and removes those that are only in the old one. A removed key
/// is absent, unless it is a false positive of the added keys, at the rate of --fpr. So it is maybe present no more
/// often than a key that was never in a list. List it with --allow if it must be absent. A delta takes a few kilobytes
/// where a new blob would take a megabyte, but each one makes the filter a little slower and its false-positive rate a
/// little higher, so build a new blob now and then.
///
/// A base with tags is refused: its deltas are made by `feed publish --tag`.
#[derive(clap::Args)]
pub struct DiffArgs {
    /// The list that the base holds
    #[arg(value_name = "OLD")]
    old: PathBuf,
    /// The list as it is now
    #[arg(value_name = "NEW")]
    new: PathBuf,
    /// The blob to bring up to date: built from the old list, or brought up to it by deltas
    #[arg(long, value_name = "FILE")]
    base: PathBuf,
    /// Where to write the delta; - for standard output. An existing file is replaced atomically and keeps its mode
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// The false-positive rate that the added keys add, above 0 and below 1: per check with --profile url, otherwise
    /// per key. Default: a sixteenth of the rate of the base or, if that is empty, of the rate that it was built for
    #[arg(long, allow_negative_numbers = true, value_parser = parse_fpr)]
    fpr: Option<f64>,
    #[command(flatten)]
    omitted: Omitted,
    /// A list of keys that must never be false positives; can be repeated. Give the same lists for each delta
    #[arg(long, value_name = "LIST")]
    allow: Vec<PathBuf>,
    /// Leave out keys that are in both lists, as was done for the base
    #[arg(long, requires = "allow")]
    allow_wins: bool,
    /// Accept lists that are empty or have only comments. If no key is left, the list still counts as one that shrinks:
    /// see --max-removed
    #[arg(long)]
    allow_empty: bool,
    #[command(flatten)]
    guard: GuardArgs,
    /// A human-readable name, stored in the updated blob. Default: the name of the base
    #[arg(long)]
    name: Option<String>,
    /// When the new list was made, such as 2026-11-21T09:00:00Z, stored in the updated blob
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_rfc3339_weak)]
    created_at: Option<SystemTime>,
    #[command(flatten)]
    secret: SecretArgs,
    /// Print the description of the delta as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: DiffArgs, streams: &mut Streams) -> Result<Answer> {
    let all = || [&args.old, &args.new].into_iter().chain(&args.allow);
    read::check_stdin(all().chain([&args.base]))?;
    write::check(&args.output)?;
    write::check_inputs("a list", all(), &args.output)?;
    write::check_inputs("the base", [&args.base], &args.output)?;
    args.secret.check_output(&args.output)?;
    let parent = blob::open(&args.base, args.secret.read()?.as_ref(), streams)?;
    parent.filter().require_untagged().context(
        "diff doesn't know the tags of the keys; build a new blob, or publish a feed, with --tag for each list",
    )?;
    let profile = parent.profile();
    args.omitted.check(profile)?;
    let created_at = args.created_at.map(created_at).transpose()?;
    let hashing = *parent.filter().hashing();
    let fpr = match args.fpr {
        Some(fpr) => hashing.build_fpr(profile, fpr),
        None => {
            // With slots, the rate is that of a whole check.
            let (now, lowest) = match hashing.is_slotted() {
                true => (parent.filter().url_fpr(), LOWEST_URL),
                false => (parent.filter().estimated_fpr(), LOWEST),
            };
            // An empty base has no rate yet, but says what rate it was built for.
            let base = if now > 0.0 { now } else { FilterInfo::of(&parent)?.fpr };
            (base / 16.0).clamp(lowest, 0.5)
        }
    };

    let mut child = parent.try_clone()?;
    let (mut live, summary) = members(from_ref(&args.new), profile, hashing, &args.omitted, streams)?;
    summary.require_lists(args.allow_empty)?;
    sort(&mut live)?;
    let counts = summary.counts(live.len() as u64);
    let mut rows = vec![("read", counted(live.len() as u64, "key", "keys") + &summary.in_words())];
    let mut allowed = Vec::new();
    if !args.allow.is_empty() {
        let its = allow(&args.allow, args.allow_wins, hashing, profile, &mut live, streams)?;
        its.notices.print(streams);
        its.summary.require_lists(args.allow_empty)?;
        allowed = its.digests;
        rows.push(("allowed", its.words));
    }
    if live.is_empty() && !args.allow_empty {
        bail!("no key is left, so nothing was written; --allow-empty makes a delta that removes every key");
    }
    sort(&mut allowed)?;
    let (mut old, old_summary) = members(from_ref(&args.old), profile, hashing, &args.omitted, streams)?;
    sort(&mut old)?;
    let old_counts = old_summary.counts(old.len() as u64);
    let denied = |digest: &u64| !parent.filter().has_digest(*digest);
    // An allowlist took these keys out of the base.
    old.retain(|digest| !(args.allow_wins && denied(digest) && allowed.binary_search(digest).is_ok()));
    let lost = old.iter().filter(|digest| denied(digest)).count() as u64;
    if lost > 0 {
        let (base, old) = (read::name(&args.base), read::name(&args.old));
        let allowing =
            if args.allow_wins { "" } else { "; with --allow and --allow-wins if it was built with them" };
        bail!(
            "{base} lacks {} of {old}, so it isn't the blob of that list; {}{allowing}",
            counted(lost, "key", "keys"),
            args.omitted.advice(profile)
        );
    }
    require_all(&parent, &old, &args)?;
    let removed = strangers(&old, &live, &|_| true)?;
    let [before, gone] = [&old, &removed].map(|digests| digests.len() as u64);
    args.guard.check(&Change::new(before, gone, Some([old_counts, counts])))?;
    let added = live.len() - (old.len() - removed.len());
    child.filter_mut().update(Update { live: &live, removed: &removed, allowed: &allowed, fpr })?;
    child.describe(args.name.or(parent.name().map(str::to_owned)), created_at)?;
    let delta = Delta::between(&parent, &child)?;
    rows.push((
        "changes",
        format!("{} added, {} removed", counted(added as u64, "key", "keys"), grouped(removed.len() as u64)),
    ));

    let bytes = delta.encode()?;
    if write::is_stdout(&args.output) {
        streams.print_blob(&bytes)?;
        return Ok(Answer::Yes);
    }
    rows.push(("size", format!("{} bytes", grouped(bytes.len() as u64))));
    let [before, after] = [&parent, &child].map(|blob| Rates::of(blob.filter(), profile).in_words());
    rows.push(("fpr", format!("{after} expected; before {before}")));
    let wrote = format!("{}, a delta for {:016x}", args.output.display(), delta.parent());
    let info = args.json.then(|| DeltaInfo::of(&delta)).transpose()?;
    blob::save_bytes(&bytes, &args.output, info.as_ref(), rows, wrote, streams)
}

/// Fails unless the old list has exactly the keys of the base, as far as the kind of filter tells: a key that the list
/// lacks could get lost.
fn require_all(parent: &Blob, old: &[u64], args: &DiffArgs) -> Result<()> {
    let blooms = match parent.filter().base_alone() {
        Ok(Filter::Bloom(bloom)) => vec![bloom.clone()],
        Ok(Filter::Counting(counting)) => vec![counting.to_bloom()?],
        // Its count leaves out keys that were false positives when they were added.
        Ok(Filter::Scalable(scalable)) => scalable.to_blooms()?,
        _ => Vec::new(),
    };
    let words = match parent.filter().count() {
        Some(count) if blooms.is_empty() => other_count(count, old.len() as u64),
        _ => unknown_bits(&blooms, old)?,
    };
    let Some(words) = words else { return Ok(()) };
    let (base, old) = (read::name(&args.base), read::name(&args.old));
    bail!(
        "{old} {words} in {base}, so it isn't the list of that blob; {}",
        args.omitted.advice(parent.profile())
    )
}

/// How a list of `found` keys differs from a base of `count` keys, in words; none if it doesn't.
fn other_count(count: u64, found: u64) -> Option<String> {
    let number = |keys| counted(keys, "key", "keys");
    match count.cmp(&found) {
        Ordering::Equal => None,
        Ordering::Greater => Some(format!("lacks {} of the {}", number(count - found), number(count))),
        Ordering::Less => Some(format!("has {} more than the {}", number(found - count), number(count))),
    }
}

/// How many keys of the base this list lacks, in words; none unless the base has bits that no key of the list sets.
fn unknown_bits(blooms: &[BloomFilter], old: &[u64]) -> Result<Option<String>> {
    let (mut is_known, mut lacks) = (true, 0.0);
    for bloom in blooms {
        let mut known = BloomFilter::new(bloom.bits(), bloom.hashes(), *bloom.hashing())?;
        old.iter().filter(|&&digest| bloom.has_digest(digest)).for_each(|&digest| {
            known.add_digest(digest);
        });
        if known != *bloom {
            is_known = false;
            lacks += (bloom.estimated_count() - known.estimated_count()).max(1.0);
        }
    }
    // With every bit set, nothing tells how many there are.
    let number = if lacks.is_finite() { &about(lacks) } else { "some" };
    Ok((!is_known).then(|| format!("lacks {number} of the keys")))
}
