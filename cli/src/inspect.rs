//! `info`, `check` and `verify`: what a blob says by itself, and compared with lists.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, Write};
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result, bail};
use bloom_wasm::info::Parameter;
use bloom_wasm::keys::native::Native;
use bloom_wasm::keys::{Input, lines};
use bloom_wasm::vectors::append;
use bloom_wasm::{Blob, Delta, Filter, Info, Kind, LayerKind, Profile, Stack, hash};
use serde::Serialize;

use super::keys::{self, Met, Place};
use super::secret::SecretArgs;
use super::sharded::{Measured, Sharded};
use super::show::{escaped, not_printed};
use super::{Answer, Streams, decode, delta, grouped, lists, rate, read_blob, read_file, unless_closed};

/// About how many bytes of lines, and how many random keys, are asked together: they stay in the processor's cache.
const BLOCK: usize = 1 << 14;
/// The same for lines that a sharded filter is asked about: each block reads most of a long filter's shards.
const FOLDER_BLOCK: usize = 1 << 22;

/// Show what a blob holds
#[derive(clap::Args)]
pub struct InfoArgs {
    /// The blob; - for standard input. Or the folder of a sharded filter
    file: PathBuf,
    #[command(flatten)]
    secret: SecretArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn info(args: InfoArgs, streams: &mut Streams) -> Result<Answer> {
    let secret = args.secret.read()?;
    if args.file.is_dir() {
        return Sharded::open(&args.file, secret)?.info(args.json, streams);
    }
    let bytes = read_file(&args.file, streams)?;
    let name = || lists::name(&args.file);
    if Blob::is_delta(&bytes) {
        let delta = match &secret {
            Some(secret) => Delta::decode_keyed(bytes, secret),
            None => Delta::decode(bytes),
        };
        let delta = delta.with_context(name)?;
        let info = delta::Info::of(&delta)?;
        if args.json {
            streams.print_json(&info)?
        } else {
            streams.print_rows(&info.rows())?
        }
        return Ok(Answer::Yes);
    }
    let blob = decode(bytes, secret.as_ref()).with_context(name)?;
    let info = Info::of(&blob)?;
    if args.json {
        streams.print_json(&info)?;
        return Ok(Answer::Yes);
    }
    let or = |value: Option<String>, otherwise: &str| value.unwrap_or_else(|| otherwise.to_owned());
    let estimate = blob.filter().estimated_count();
    let mut rows = vec![
        ("kind", format!("{}: {}", info.kind, kind_in_words(blob.filter().base().kind()))),
        ("profile", format!("{}: {}", info.profile, profile_in_words(blob.profile()))),
        ("name", or(info.name.map(str::to_owned), "none")),
        ("created", or(info.created_at.map(time_in_words), "unknown")),
        (
            "keys",
            match info.count {
                Some(count) => grouped(count),
                None if estimate.is_finite() => {
                    format!("about {}, estimated from the share of set bits", grouped(estimate as u64))
                }
                None => "too many to tell: every bit is set".to_owned(),
            },
        ),
        (
            "capacity",
            match info.capacity {
                // Its rate is the present one.
                Some(keys) if info.foreign.is_some() => format!("{} keys, by its size", grouped(keys)),
                Some(keys) => format!("{} keys, at a rate of {}", grouped(keys), rate(info.fpr)),
                None if info.foreign.is_some() => "not said".to_owned(),
                None => format!("any number of keys; the rate stays below {}", rate(info.fpr)),
            },
        ),
        (
            "fpr now",
            format!(
                "{}: the chance that an absent key is maybe present",
                rate(blob.filter().estimated_fpr())
            ),
        ),
        ("bits", grouped(info.bits)),
        (
            "hashes",
            match info.hashes {
                Some(hashes) => format!("{hashes} per key"),
                None if info.foreign.is_some() => "as its software has them".to_owned(),
                None => "one per key, split into parts".to_owned(),
            },
        ),
        ("seed", info.seed.to_string()),
        ("keyed", keyed_in_words(info.keyed)),
        ("layers", layers_in_words(blob.filter())),
        ("size", {
            let per_key = info.bits_per_key.map(|bits| format!(", {bits:.2} bits a key")).unwrap_or_default();
            format!("{} bytes{per_key}", grouped(info.byte_length))
        }),
        ("id", format!("{:016x}, the checksum", info.id)),
    ];
    if let Some(foreign) = &info.foreign {
        rows.insert(1, ("foreign", foreign_in_words(foreign)));
    }
    streams.print_rows(&rows)?;
    Ok(Answer::Yes)
}

pub fn time_in_words(milliseconds: u64) -> String {
    let time = SystemTime::UNIX_EPOCH.checked_add(Duration::from_millis(milliseconds));
    let mut text = String::new();
    match time.map(|time| write!(text, "{}", humantime::format_rfc3339_seconds(time))) {
        Some(Ok(())) => text,
        // humantime can't print a year of five digits.
        _ => format!("{} ms after 1970, later than the year 9999", grouped(milliseconds)),
    }
}

fn kind_in_words(kind: Kind) -> &'static str {
    match kind {
        Kind::Bloom => "keys can be added, never removed",
        Kind::Counting => "keys can be added and removed",
        Kind::Scalable => "any number of keys can be added, none removed",
        Kind::Cuckoo => "keys can be added until it is full, and removed",
        Kind::Ribbon => "read-only, and the smallest",
        Kind::Foreign => "of other software, and asked as that asks it",
    }
}

fn profile_in_words(profile: Profile) -> String {
    let and = |set, what| if set { what } else { "" };
    match profile {
        Profile::Raw => "keys are bytes as they are given".to_owned(),
        Profile::Url => "keys are host and path expressions of URLs".to_owned(),
        Profile::Password { lowercase, sha1 } => {
            format!("keys are passwords{}{}", and(lowercase, ", lower-cased"), and(sha1, ", hashed by SHA-1"))
        }
    }
}

fn foreign_in_words(parameters: &[(&'static str, Parameter)]) -> String {
    let words = parameters.iter().map(|(name, value)| match value {
        Parameter::Text(text) => format!("{name} {text}"),
        Parameter::Number(number) => format!("{name} {number}"),
    });
    words.collect::<Vec<_>>().join(", ")
}

/// The bytes of a key: where the keys are numbers, those of the number that a line says.
fn key_of<'a>(blob: &Blob, line: &'a [u8]) -> bloom_wasm::error::Result<Cow<'a, [u8]>> {
    match blob.filter().base() {
        Filter::Foreign(filter) => filter.keys().parse(line),
        _ => Ok(line.into()),
    }
}

/// What `info` says of the secret.
pub fn keyed_in_words(keyed: bool) -> String {
    if keyed { "yes: it answers with its secret alone" } else { "no" }.to_owned()
}

fn layers_in_words(stack: &Stack) -> String {
    let includes = stack.layers().iter().filter(|layer| layer.kind() == LayerKind::Include).count();
    let excludes = stack.layers().len() - includes;
    match (includes, excludes) {
        (0, 0) => "none".to_owned(),
        _ => format!("{includes} of added keys, {excludes} of keys that are certainly absent"),
    }
}

/// Print the keys that are maybe present
///
/// Keys are URLs or passwords if the blob says so. Exits with 0 if any key is maybe present, and with 1 if all are
/// definitely absent.
///
/// Keys are printed unchanged, except to a terminal: there, control characters and the like are escaped.
#[derive(clap::Args)]
pub struct CheckArgs {
    /// The blob, or the folder of a sharded filter
    file: PathBuf,
    /// Keys; - alone, or none, for the lines of standard input, gzipped or not
    #[arg(allow_negative_numbers = true)]
    keys: Vec<String>,
    #[command(flatten)]
    secret: SecretArgs,
}

pub fn check(args: CheckArgs, streams: &mut Streams) -> Result<Answer> {
    let reads_lines = args.keys.is_empty() || args.keys == ["-"];
    if args.file.as_os_str() == "-" && reads_lines {
        bail!("standard input can't be both the blob and the keys");
    }
    if !reads_lines && args.keys.iter().any(|key| key == "-") {
        bail!("- is standard input, and goes with no other keys; the key - can be one of its lines");
    }
    let secret = args.secret.read()?;
    let mut asked = if args.file.is_dir() {
        Asked::Folder(Box::new(Sharded::open(&args.file, secret)?))
    } else {
        Asked::Blob(read_blob(&args.file, secret.as_ref(), streams)?)
    };
    let block = if matches!(asked, Asked::Folder(_)) { FOLDER_BLOCK } else { BLOCK };
    let Streams { input, out, terminal, .. } = streams;
    let mut out = io::BufWriter::new(out);
    let mut answer = Answer::No;
    let mut show = |block: &[&[u8]], answers: Vec<bool>| -> Result<()> {
        for (line, _) in block.iter().zip(answers).filter(|(_, found)| *found) {
            answer = Answer::Yes;
            // Programs get the key unchanged.
            let shown = terminal.then(|| escaped(&String::from_utf8_lossy(line)));
            let shown = shown.as_ref().map_or(*line, |shown| shown.as_bytes());
            out.write_all(shown).and_then(|()| out.write_all(b"\n")).map_err(not_printed)?;
        }
        Ok(())
    };
    let mut ask = |block: &[&[u8]]| match asked.has_each(block) {
        // A line is refused. Those before it have their answers.
        Err(_) if block.len() > 1 => block.chunks(1).try_for_each(|line| show(line, asked.has_each(line)?)),
        answers => show(block, answers?),
    };
    if reads_lines {
        let mut input = lists::text(input).context("standard input")?;
        let mut text = Vec::new();
        let mut first = true;
        loop {
            while text.len() < block
                && lists::read_question(&mut input, &mut text).context("standard input")? > 0
            {}
            if text.is_empty() {
                break;
            }
            // As in a list.
            let start = if first { text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&text) } else { &text };
            first = false;
            ask(&lines::lines(start).filter(|line| !line.is_empty()).collect::<Vec<_>>())?;
            text.clear();
        }
    } else {
        args.keys.iter().try_for_each(|key| ask(&[key.as_bytes()]))?;
    }
    out.flush().map_err(not_printed)?;
    Ok(answer)
}

/// What keys are looked up in.
enum Asked {
    Blob(Blob),
    Folder(Box<Sharded>),
}

impl Asked {
    /// Whether a key of each line is maybe present.
    fn has_each(&mut self, block: &[&[u8]]) -> Result<Vec<bool>> {
        let profile = match self {
            Asked::Blob(blob) => blob.profile(),
            Asked::Folder(sharded) => sharded.sharding.profile(),
        };
        let inputs = block.iter().map(|line| Input::parse(&Native, profile, line));
        let inputs: Vec<_> = inputs.collect::<bloom_wasm::error::Result<_>>()?;
        match self {
            Asked::Blob(blob) => Ok(has_each(blob, &inputs)?),
            Asked::Folder(sharded) => sharded.has_each(&inputs),
        }
    }
}

/// Whether a key of each input is maybe present.
fn has_each(blob: &Blob, inputs: &[Option<Input>]) -> bloom_wasm::error::Result<Vec<bool>> {
    let (mut keys, mut counts) = (Vec::new(), Vec::with_capacity(inputs.len()));
    for input in inputs {
        let before = keys.len();
        for key in input.iter().flat_map(Input::keys) {
            keys.push(key_of(blob, key)?);
        }
        counts.push(keys.len() - before);
    }
    let mut answers = blob.filter().has_many(&keys)?.into_iter();
    let any = |count| answers.by_ref().take(count).fold(false, |found, answer| found | answer);
    Ok(counts.into_iter().map(any).collect())
}

/// Check a blob against its list: count false negatives and measure the false-positive rate
///
/// Without --absent, the blob is asked for random keys: at least 1,000,000, and enough for 100 false positives at the
/// rate that the blob estimates for itself. Exits with 1 if a member is absent.
///
/// Lists are read as `build` reads them for the blob's profile, so give the same options. A URL in a list of --absent
/// is looked up by all of its keys. A member that --allow-wins removed counts as a false negative.
#[derive(clap::Args)]
pub struct VerifyArgs {
    /// The blob, or the folder of a sharded filter
    file: PathBuf,
    /// The list that the blob was built from; can be repeated
    #[arg(long, required = true, value_name = "LIST")]
    members: Vec<PathBuf>,
    /// A list of keys that are not members; can be repeated. Lines that are members aren't counted
    #[arg(long, value_name = "LIST")]
    absent: Vec<PathBuf>,
    #[command(flatten)]
    omitted: keys::Omitted,
    /// How many random keys to ask for
    #[arg(long, conflicts_with = "absent", value_parser = clap::value_parser!(u64).range(1..))]
    probes: Option<u64>,
    #[command(flatten)]
    secret: SecretArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Verdict {
    members: u64,
    false_negatives: u64,
    probes: u64,
    false_positives: u64,
    /// False positives / probes; none without a probe.
    measured_fpr: Option<f64>,
    /// The 95 % interval of the measured rate: Wilson's, which also holds for few hits or none.
    interval: Option<[f64; 2]>,
    estimated_fpr: f64,
}

pub fn verify(args: VerifyArgs, streams: &mut Streams) -> Result<Answer> {
    lists::check_stdin([&args.file].into_iter().chain(&args.members).chain(&args.absent))?;
    if args.file.is_dir() {
        return verify_folder(&args, streams);
    }
    let blob = read_blob(&args.file, args.secret.read()?.as_ref(), streams)?;
    let mut members = Vec::new();
    let (mut count, mut false_negatives) = (0, 0);
    let take = |(count, missing, digests): &mut (u64, u64, Vec<u64>), input: &Input, _: Place| {
        *count += 1;
        let key = key_of(&blob, input.own())?;
        let digest = blob.filter().hashing().digest(&key);
        *missing += u64::from(!has(&blob, &key, digest));
        if !args.absent.is_empty() {
            digests.push(digest);
        }
        Ok(())
    };
    let met = keys::for_each(
        &args.members,
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
    members.sort_unstable();

    let estimated_fpr = blob.filter().estimated_fpr();
    let (probes, false_positives, absent_met) = if args.absent.is_empty() {
        let enough = if estimated_fpr > 0.0 { (100.0 / estimated_fpr).min(1e9) as u64 } else { 0 };
        let (probes, hits) = random_probes(blob.filter(), args.probes.unwrap_or(enough.max(1_000_000)))?;
        (probes, hits, Met::default())
    } else {
        listed_probes(&blob, &args.absent, &members, streams)?
    };
    let measured = Measured { members: count, false_negatives, probes, false_positives, estimated_fpr, met };
    Verdict::from(&measured).tell(&args, blob.profile(), &measured.met, &absent_met, streams)
}

/// The same for a sharded filter.
fn verify_folder(args: &VerifyArgs, streams: &mut Streams) -> Result<Answer> {
    if !args.absent.is_empty() {
        bail!("--absent goes with a blob; a sharded filter is asked for random keys");
    }
    let mut sharded = Sharded::open(&args.file, args.secret.read()?)?;
    let measured = sharded.measure(&args.members, &args.omitted, args.probes, streams)?;
    let profile = sharded.sharding.profile();
    Verdict::from(&measured).tell(args, profile, &measured.met, &Met::default(), streams)
}

impl From<&Measured> for Verdict {
    fn from(measured: &Measured) -> Self {
        let &Measured { members, false_negatives, probes, false_positives, estimated_fpr, .. } = measured;
        Verdict {
            members,
            false_negatives,
            probes,
            false_positives,
            measured_fpr: (probes > 0).then(|| false_positives as f64 / probes as f64),
            interval: (probes > 0).then(|| wilson(false_positives as f64, probes as f64)),
            estimated_fpr,
        }
    }
}

impl Verdict {
    fn tell(
        &self,
        args: &VerifyArgs,
        profile: Profile,
        met: &Met,
        absent_met: &Met,
        streams: &mut Streams,
    ) -> Result<Answer> {
        let Verdict { members, false_negatives, probes, false_positives, .. } = self;
        let said = if args.json {
            streams.print_json(self)
        } else {
            let per_key = if profile == Profile::Url { " per key" } else { "" };
            let source = if args.absent.is_empty() { "random keys" } else { "listed keys" };
            streams.print_rows(&[
                (
                    "members",
                    format!("{} keys, {} false negatives", grouped(*members), grouped(*false_negatives))
                        + &met.summary(),
                ),
                (
                    "absent",
                    format!("{} {source}, {} false positives", grouped(*probes), grouped(*false_positives))
                        + &absent_met.summary(),
                ),
                (
                    "measured fpr",
                    match (self.measured_fpr, self.interval) {
                        (Some(fpr), Some([low, high])) => {
                            format!("{} (95 %: {} to {})", rate(fpr), rate(low), rate(high))
                        }
                        _ => "none: no keys to ask for".to_owned(),
                    },
                ),
                ("expected fpr", format!("{}{per_key} by the fill", rate(self.estimated_fpr))),
            ])
        };
        // The exit code answers even if nobody reads the rest.
        unless_closed(said)?;
        Ok(if *false_negatives == 0 { Answer::Yes } else { Answer::No })
    }
}

/// Asks for a key by its digest, unless the filter hashes its own way.
fn has(blob: &Blob, key: &[u8], digest: u64) -> bool {
    match blob.filter().base() {
        Filter::Foreign(filter) => filter.has(key),
        _ => blob.filter().has_digest(digest),
    }
}

/// Asks for random keys of 16 bytes. The chance that one of them is a given member is 2^-128.
fn random_probes(filter: &Stack, probes: u64) -> Result<(u64, u64)> {
    let key = |i: u64| {
        let half = |seed| u128::from(hash::digest(seed, &i.to_le_bytes()));
        half(0x5eed_0001) << 64 | half(0x5eed_0002)
    };
    let mut hits = 0;
    for start in (0..probes).step_by(BLOCK) {
        let keys = (start..probes).take(BLOCK).map(key);
        let answers = match filter.base() {
            // Bytes that are no text would be the same U+FFFD to some.
            Filter::Foreign(foreign) => match foreign.keys().width() {
                Some(width) => filter.has_many(keys.map(|key| key.to_le_bytes()[..width].to_vec())),
                None => filter.has_many(keys.map(|key| format!("{key:032x}"))),
            },
            _ => filter.has_many(keys.map(|key| key.to_le_bytes())),
        };
        hits += answers?.into_iter().filter(|&answer| answer).count() as u64;
    }
    Ok((probes, hits))
}

/// Asks for the lines of lists, except for those with a member among their keys. The members are sorted.
fn listed_probes(
    blob: &Blob,
    lists: &[PathBuf],
    members: &[u64],
    streams: &mut Streams,
) -> Result<(u64, u64, Met)> {
    let (mut probes, mut hits) = (0, 0);
    let take = |(probes, hits): &mut (u64, u64), input: &Input, _: Place| {
        let keys = input.keys().map(|key| {
            let key = key_of(blob, key)?;
            Ok((blob.filter().hashing().digest(&key), key))
        });
        let keys = keys.collect::<bloom_wasm::error::Result<Vec<_>>>()?;
        if !keys.iter().any(|(digest, _)| members.binary_search(digest).is_ok()) {
            *probes += 1;
            *hits += u64::from(keys.iter().any(|(digest, key)| has(blob, key, *digest)));
        }
        Ok(())
    };
    let met = keys::for_each(
        lists,
        blob.profile(),
        &keys::Omitted::none(),
        streams,
        Default::default,
        take,
        |(more, found)| {
            probes += more;
            hits += found;
            Ok(())
        },
    )?;
    Ok((probes, hits, met))
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
