//! A blob of one of our own kinds.

use anyhow::{Context, Result, bail};
use bloom_wasm::vectors::copied;
use bloom_wasm::{Blob, Filter, Kind, KindOptions, Profile, Stack, digests};

use super::args::BuildArgs;
use crate::args::number::created_at;
use crate::args::secret::new_hashing;
use crate::files::blob;
use crate::lists::digests::{allow, members, with_tags};
use crate::rates::Rates;
use crate::streams::{Answer, Streams};
use crate::text::{counted, grouped, tags_in_words};

pub fn build(args: &BuildArgs, kind: Kind, profile: Profile, streams: &mut Streams) -> Result<Answer> {
    if args.capacity.is_some() && !matches!(kind, Kind::Bloom | Kind::Counting) {
        bail!("--capacity works only with --kind bloom, counting and other software's");
    }
    let fpr = args.fpr.unwrap_or(profile.default_fpr());
    let counter_bits = if args.counter_bits == "8" { 8 } else { 4 };
    let options = KindOptions { counter_bits, capacity: args.capacity, ..kind.into() };
    let created_at = args.created_at.map(created_at).transpose()?;
    let hashing = new_hashing(args.seed, args.secret.read()?.as_ref())?.for_filter(profile, kind);
    let build_fpr = hashing.build_fpr(profile, fpr);
    // Reports what is impossible before hours of reading.
    let tenth = || "with --profile url a key gets a tenth of --fpr";
    let empty = Stack::build(options, &mut Vec::new(), None, build_fpr, hashing);
    let empty = if build_fpr < fpr { empty.with_context(tenth) } else { empty.map_err(Into::into) };
    let mut made = Blob::new(profile, empty?);
    made.describe(args.name.clone(), created_at)?;

    let (mut members, summary) = members(&args.lists, profile, hashing, &args.omitted, streams)?;
    let (mut tagged, summary) = if args.tags.any() {
        let untagged = std::mem::take(&mut members);
        let read = with_tags(&args.tags, untagged, summary, profile, hashing, &args.omitted, streams)?;
        members = copied(read.keys.digests())?;
        (Some(read.keys), read.summary)
    } else {
        (None, summary)
    };
    let keys = summary.entries();
    args.require_lists(&summary)?;
    args.require_keys(keys)?;
    args.print_hint(&summary, streams);
    let mut rows = Vec::new();
    let mut allowed = None;
    let mut distinct = None;
    if !args.allow.is_empty() {
        digests::sort(&mut members)?;
        distinct = Some(members.len() as u64);
        let its = allow(&args.allow, args.allow_wins, hashing, profile, &mut members, streams)?;
        its.notices.print(streams);
        args.require_lists(&its.summary)?;
        allowed = Some(its.digests);
        rows.push(("allowed", its.words));
        args.require_keys(members.len() as u64)?;
    }
    *made.filter_mut() = match &mut tagged {
        None => Stack::build(options, &mut members, allowed.as_deref(), build_fpr, hashing)?,
        Some(tagged) => {
            tagged.keep(&members)?;
            Stack::build_tagged(tagged, allowed.as_deref(), build_fpr, hashing)?
        }
    };
    if made.filter().is_tagged() {
        rows.push(("tags", tags_in_words(made.filter().tag_counts())));
    }
    let distinct = match (distinct, made.filter().base()) {
        (Some(distinct), _) => distinct,
        // The ribbon filter has used them up.
        (None, Filter::Ribbon(_)) => made.filter().count().context("a ribbon filter must know its count")?,
        (None, _) => members.len() as u64,
    };
    let mut read = counted(distinct, "key", "keys");
    if keys > distinct {
        read += &format!(", {} repeated", grouped(keys - distinct));
    }
    rows.insert(0, ("read", read + &summary.in_words()));
    drop(members);
    let per = if profile == Profile::Url { " per URL" } else { "" };
    let fpr =
        ("fpr", format!("{fpr} asked for{per}; expected: {}", Rates::of(made.filter(), profile).in_words()));
    blob::save(&made, &args.output, args.json, &rows, &[fpr], streams)
}
