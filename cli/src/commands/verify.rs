//! `verify`: a blob or a folder, compared with lists.

use std::fs;
use std::path::PathBuf;

use anyhow::{Result, bail, ensure};
use bloom_wasm::Filter;
use bloom_wasm::filters::AnyFilter;
use bloom_wasm::internal::append;
use bloom_wasm::keys::Input;
use serde::Serialize;

use crate::args::omitted::Omitted;
use crate::args::secret::SecretArgs;
use crate::args::tags::TagArgs;
use crate::files::blob::{self, key_of};
use crate::files::read;
use crate::lists::digests::{members, with_tags};
use crate::lists::keys::{self, Summary};
use crate::lists::lines::Place;
use crate::publishing::folder::{Contents, Folder, Measured, Sharded};
use crate::rates::{self, Probes, Rates, of_urls};
use crate::streams::{Answer, Streams, unless_closed};
use crate::text::{counted, rate};

/// Check a blob against its list: count false negatives and measure the false-positive rate
///
/// Without --absent, the blob is asked for random keys: at least 1,000,000, and enough for 100 false positives at the
/// rate that the blob estimates for itself. With the profile `url`, the keys have the shapes that URLs ask for, and the
/// rate is that of a typical URL. Exits with 1 if a member is absent.
///
/// Lists are read as `build` reads them for the blob's profile, so give the same options. A URL in a list of --absent
/// is looked up by all of its keys. So is a member of a ribbon filter, since others may cover it. One that --allow-wins
/// removed counts as a false negative, unless a listed parent stays.
#[derive(clap::Args)]
pub struct VerifyArgs {
    /// The blob, or the folder of a feed
    file: PathBuf,
    /// The list that the blob was built from; can be repeated
    #[arg(long, required_unless_present = "tags", value_name = "LIST")]
    members: Vec<PathBuf>,
    /// As for `build`. Members whose tags aren't exactly those of their lists are counted, and make the exit code 1
    #[command(flatten)]
    tags: TagArgs,
    /// A list of keys that are not members; can be repeated. Lines that are members aren't counted
    #[arg(long, value_name = "LIST")]
    absent: Vec<PathBuf>,
    #[command(flatten)]
    omitted: Omitted,
    /// How many random keys to ask for
    #[arg(long, conflicts_with = "absent", value_parser = clap::value_parser!(u64).range(1..))]
    probes: Option<u64>,
    #[command(flatten)]
    secret: SecretArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

const NO_TAGS: &str = "the filter has no tags, so --tag can't be checked";

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Verdict {
    members: u64,
    false_negatives: u64,
    /// Members with other tags than they should have; none without --tag.
    #[serde(skip_serializing_if = "Option::is_none")]
    wrong_tags: Option<u64>,
    probes: u64,
    false_positives: u64,
    /// False positives / probes; none without a probe. With the profile `url`, this is the rate of a typical URL:
    /// multiplied by the number of keys that it asks for, unless whole URLs were asked.
    measured_fpr: Option<f64>,
    /// The 95 % interval of the measured rate: Wilson's, which also holds for few hits or none.
    interval: Option<[f64; 2]>,
    /// The highest measured rate of any URL.
    measured_max_url_fpr: Option<f64>,
    #[serde(flatten)]
    rates: Rates,
}

pub fn run(args: VerifyArgs, streams: &mut Streams) -> Result<Answer> {
    let inputs = [&args.file].into_iter().chain(&args.members).chain(&args.absent);
    read::check_stdin(inputs.chain(args.tags.lists()))?;
    let whole = if args.file.is_dir() {
        match Folder::open(&args.file, args.secret.read()?, &[])?.contents {
            Contents::Whole(blob, _) => Some(*blob),
            Contents::Sharded(sharded) => return verify_sharded(*sharded, &args, streams),
        }
    } else {
        None
    };
    for list in args.members.iter().chain(args.tags.lists()).filter(|_| args.tags.any()) {
        let is_stream = list.as_os_str() == "-" || fs::metadata(list).is_ok_and(|there| !there.is_file());
        ensure!(
            !is_stream,
            "{}: with --tag, the lists are read twice, so each must be a file",
            read::name(list)
        );
    }
    let blob = match whole {
        Some(blob) => blob,
        None => blob::open(&args.file, args.secret.read()?.as_ref(), streams)?,
    };
    let mut members = Vec::new();
    let is_slotted = blob.stack().hashing().is_slotted();
    let (mut count, mut false_negatives) = (0, 0);
    let take = |(count, missing, digests): &mut (u64, u64, Vec<u64>), input: &Input, _: Place| {
        *count += 1;
        let key = key_of(&blob, input.own())?;
        let digest = blob.stack().hashing().digest(&key);
        // A listed URL may be covered by another, so it is asked as URLs are: for each of its keys.
        let is_covered = || is_slotted && input.keys().any(|key| blob.stack().has(key));
        *missing += u64::from(!has(&blob, &key, digest) && !is_covered());
        if !args.absent.is_empty() {
            digests.push(digest);
        }
        Ok(())
    };
    let wrong_tags = if args.tags.any() { Some(wrong_tags(&blob, &args, streams)?) } else { None };
    let lists: Vec<PathBuf> = args.members.iter().chain(args.tags.lists()).cloned().collect();
    let summary = keys::for_each(
        &lists,
        blob.profile(),
        &args.omitted,
        streams,
        Default::default,
        take,
        |(more, missing, digests)| {
            count += more;
            false_negatives += missing;
            append(&mut members, &digests)
        },
    )?;
    summary.print_notices(streams);
    members.sort_unstable();
    let filter = blob.stack();
    require_members(&args, &summary, count, filter.count() == Some(0) || filter.estimated_count() == 0.0)?;

    let estimated_fpr = filter.estimated_fpr();
    let (probes, absent_summary) = if args.absent.is_empty() {
        let enough = if estimated_fpr > 0.0 { (100.0 / estimated_fpr).min(1e9) as u64 } else { 0 };
        let probes = args.probes.unwrap_or(enough.max(1_000_000));
        (Probes::of(filter, blob.profile(), probes)?, Summary::default())
    } else {
        listed_probes(&blob, &args.absent, &members, streams)?
    };
    let rates = Rates::of(filter, blob.profile());
    let measured = Measured { members: count, false_negatives, wrong_tags, probes, rates, summary };
    Verdict::from(&measured).tell(&args, &measured.summary, &absent_summary, streams)
}

/// How many keys of lists with tags, and of those without, have other tags than those of their lists.
fn wrong_tags(blob: &Filter, args: &VerifyArgs, streams: &mut Streams) -> Result<u64> {
    let filter = blob.stack();
    let (profile, hashing) = (blob.profile(), *filter.hashing());
    ensure!(filter.is_tagged(), "{NO_TAGS}");
    let (mut entries, _) = members(&args.members, profile, hashing, &args.omitted, streams)?;
    let (keys, _) = with_tags(&args.tags, &mut entries, profile, hashing, &args.omitted, streams)?;
    Ok(rates::wrong_tags(filter, &entries, &keys)?)
}

/// The same for a feed with shards.
fn verify_sharded(mut sharded: Sharded, args: &VerifyArgs, streams: &mut Streams) -> Result<Answer> {
    if !args.absent.is_empty() {
        bail!("--absent can't be used with shards, which are asked for random keys");
    }
    ensure!(!args.tags.any() || sharded.shards.tags.is_some(), "{NO_TAGS}");
    let measured = sharded.measure(&args.members, &args.tags, &args.omitted, args.probes, streams)?;
    require_members(args, &measured.summary, measured.members, sharded.shards.head.count == 0)?;
    Verdict::from(&measured).tell(args, &measured.summary, &Summary::default(), streams)
}

/// Fails if there was no member to ask for, unless that was to be expected: the list is more likely a failed download.
fn require_members(args: &VerifyArgs, summary: &Summary, members: u64, is_empty: bool) -> Result<()> {
    let may_be_none = is_empty || args.omitted.min_length > 0 || args.omitted.min_count > 0;
    summary.require_lists(may_be_none)?;
    ensure!(members > 0 || may_be_none, "the lists have no key to ask for");
    Ok(())
}

impl From<&Measured> for Verdict {
    fn from(measured: &Measured) -> Self {
        let &Measured { members, false_negatives, wrong_tags, probes, rates, .. } = measured;
        let Probes { asked, hits, keys_of_check, max_url_fpr } = probes;
        let of_check = |rate: f64| (rate * keys_of_check).min(1.0);
        Verdict {
            members,
            false_negatives,
            wrong_tags,
            probes: asked,
            false_positives: hits,
            measured_fpr: (asked > 0).then(|| of_check(hits as f64 / asked as f64)),
            interval: (asked > 0).then(|| wilson(hits as f64, asked as f64).map(of_check)),
            measured_max_url_fpr: max_url_fpr.map(|rate| rate.min(1.0)),
            rates,
        }
    }
}

impl Verdict {
    fn tell(
        &self,
        args: &VerifyArgs,
        summary: &Summary,
        absent_summary: &Summary,
        streams: &mut Streams,
    ) -> Result<Answer> {
        let Verdict { members, false_negatives, probes, false_positives, .. } = self;
        let said = if args.json {
            streams.print_json(self)
        } else {
            let (one, source) = if args.absent.is_empty() {
                ("random key", "random keys")
            } else {
                ("listed key", "listed keys")
            };
            let mut rows = vec![
                (
                    "members",
                    format!(
                        "{}, {}",
                        counted(*members, "key", "keys"),
                        counted(*false_negatives, "false negative", "false negatives")
                    ) + &summary.in_words(),
                ),
                (
                    "absent",
                    format!(
                        "{}, {}",
                        counted(*probes, one, source),
                        counted(*false_positives, "false positive", "false positives")
                    ) + &absent_summary.in_words(),
                ),
                (
                    "measured fpr",
                    match (self.measured_fpr, self.interval) {
                        (Some(fpr), Some([low, high])) => {
                            let measured = format!("{} (95 %: {} to {})", rate(fpr), rate(low), rate(high));
                            match self.measured_max_url_fpr {
                                Some(most) => of_urls(measured, most),
                                // Keys, or the URLs of a list, which need not be typical.
                                None => measured,
                            }
                        }
                        _ => "none: no keys to ask for".to_owned(),
                    },
                ),
                ("expected fpr", self.rates.in_words()),
            ];
            if let Some(wrong) = self.wrong_tags {
                rows.insert(
                    1,
                    (
                        "tags",
                        format!(
                            "{} with other tags than those of their lists",
                            counted(wrong, "key", "keys")
                        ),
                    ),
                );
            }
            streams.print_rows(&rows)
        };
        // The exit code answers even if nobody reads the rest.
        unless_closed(said)?;
        let is_right = *false_negatives == 0 && self.wrong_tags.is_none_or(|wrong| wrong == 0);
        Ok(if is_right { Answer::Yes } else { Answer::No })
    }
}

/// Asks for a key by its digest, unless the filter hashes its own way.
fn has(blob: &Filter, key: &[u8], digest: u64) -> bool {
    match blob.stack().base() {
        AnyFilter::Foreign(filter) => filter.has(key),
        _ => blob.stack().has_digest(digest),
    }
}

/// Asks for the lines of lists, except for those with a member among their keys. The members are sorted.
fn listed_probes(
    blob: &Filter,
    lists: &[PathBuf],
    members: &[u64],
    streams: &mut Streams,
) -> Result<(Probes, Summary)> {
    let (mut probes, mut hits) = (0, 0);
    let take = |(probes, hits): &mut (u64, u64), input: &Input, _: Place| {
        let keys = input.keys().map(|key| {
            let key = key_of(blob, key)?;
            Ok((blob.stack().hashing().digest(&key), key))
        });
        let keys = keys.collect::<bloom_wasm::error::Result<Vec<_>>>()?;
        if !keys.iter().any(|(digest, _)| members.binary_search(digest).is_ok()) {
            *probes += 1;
            *hits += u64::from(keys.iter().any(|(digest, key)| has(blob, key, *digest)));
        }
        Ok(())
    };
    let summary = keys::for_each(
        lists,
        blob.profile(),
        &Omitted::none(),
        streams,
        Default::default,
        take,
        |(more, found)| {
            probes += more;
            hits += found;
            Ok(())
        },
    )?;
    summary.print_notices(streams);
    Ok((Probes::of_checks(probes, hits), summary))
}

/// Wilson 1927, "Probable inference, the law of succession, and statistical inference", at 95 %.
fn wilson(hits: f64, probes: f64) -> [f64; 2] {
    const Z: f64 = 1.959_963_984_540_054;
    let (rate, z2) = (hits / probes, Z * Z / probes);
    let center = (rate + z2 / 2.0) / (1.0 + z2);
    let half = Z / (1.0 + z2) * (rate * (1.0 - rate) / probes + z2 / (4.0 * probes)).sqrt();
    [(center - half).max(0.0), (center + half).min(1.0)]
}

#[cfg(test)]
mod tests {
    /// Newcombe 1998, "Two-sided confidence intervals for the single proportion", table I: 81/263 and 0/20.
    #[test]
    fn wilson_interval() {
        let near = |interval: [f64; 2], low: f64, high: f64| {
            assert!((interval[0] - low).abs() < 5e-5 && (interval[1] - high).abs() < 5e-5, "{interval:?}");
        };
        near(super::wilson(81.0, 263.0), 0.2553, 0.3662);
        near(super::wilson(0.0, 20.0), 0.0, 0.1611);
    }
}
