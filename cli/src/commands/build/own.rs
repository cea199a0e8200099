//! A blob of one of our own kinds.

use anyhow::{Context, Result, bail};
use bloom_wasm::{Builder, Kind, KindOptions, Profile, digests};

use super::args::BuildArgs;
use crate::args::number::created_at;
use crate::args::secret::new_seed;
use crate::files::blob;
use crate::lists::digests::{allow, members, with_tags};
use crate::lists::keys::Summary;
use crate::rates::Rates;
use crate::streams::{Answer, Streams};
use crate::text::{counted, covered_in_words, repeated_in_words, tags_in_words};

pub fn build(args: &BuildArgs, kind: Kind, profile: Profile, streams: &mut Streams) -> Result<Answer> {
    if args.capacity.is_some() && !matches!(kind, Kind::Bloom | Kind::Counting | Kind::Cuckoo) {
        bail!("--capacity works only with --kind bloom, counting, cuckoo and other software's");
    }
    let counter_bits = if args.counter_bits == "8" { 8 } else { 4 };
    if counter_bits == 8 && kind != Kind::Counting {
        bail!("--counter-bits works only with --kind counting");
    }
    let fpr = args.fpr.unwrap_or(profile.default_fpr());
    let options = KindOptions { counter_bits, capacity: args.capacity, ..kind.into() };
    let secret = args.secret.read()?;
    let seed = new_seed(args.seed, secret.as_ref())?;
    let mut builder = Builder::new(profile).kind(options).fpr(fpr).seed(seed);
    if let Some(secret) = secret {
        builder = builder.secret(secret);
    }
    if let Some(name) = &args.name {
        builder = builder.name(name);
    }
    if let Some(time) = args.created_at {
        builder = builder.created_at(created_at(time)?);
    }
    let hashing = builder.digests();
    // Reports what is impossible before hours of reading.
    let possible = builder.validate();
    let tenth = || "with --profile url a key gets a tenth of --fpr";
    if builder.build_fpr() < fpr { possible.with_context(tenth) } else { possible.map_err(Into::into) }?;

    let (mut entries, mut summary) = members(&args.lists, profile, hashing, &args.omitted, streams)?;
    let mut tagged = None;
    if args.tags.any() {
        let (keys, of_tags) = with_tags(&args.tags, &mut entries, profile, hashing, &args.omitted, streams)?;
        summary.merge(of_tags);
        tagged = Some(keys);
    }
    let keys = summary.entries();
    args.require_lists(&summary)?;
    args.require_keys(keys)?;
    args.print_hint(&summary, streams);
    let mut rows = Vec::new();
    let mut allowed = None;
    let mut members = entries.members()?;
    digests::sort(&mut members)?;
    let distinct = members.len() as u64;
    if !args.allow.is_empty() {
        let found = allow(&args.allow, args.allow_wins, hashing, profile, &mut members, streams)?;
        let mut summary = Summary::default();
        found.lists.into_iter().for_each(|(_, more)| summary.merge(more));
        summary.print_notices(streams);
        found.notices.removed.print(streams);
        found.notices.kept.print(streams);
        args.require_lists(&summary)?;
        allowed = Some(found.digests);
        rows.push(("allowed", found.conflicts.in_words(&summary)));
        args.require_keys(members.len() as u64)?;
    }
    let (made, covered) = builder.build_entries(entries, members, tagged, allowed)?;
    if made.stack().is_tagged() {
        rows.push(("tags", tags_in_words(made.stack().tag_counts())));
    }
    let read = counted(distinct, "key", "keys") + &repeated_in_words(keys - distinct);
    rows.insert(0, ("read", read + &covered_in_words(covered as u64) + &summary.in_words()));
    let covered = hashing.is_slotted().then_some(covered as u64);
    let per = if profile == Profile::Url { " per URL" } else { "" };
    let fpr =
        ("fpr", format!("{fpr} asked for{per}; expected: {}", Rates::of(made.stack(), profile).in_words()));
    blob::save(&made, &args.output, args.json, covered, &rows, &[fpr], streams)
}
