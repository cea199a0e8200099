//! `build`: lists to a blob. `merge`: blobs to one.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context, Result, bail};
use bloom_wasm::{
    Blob, BloomFilter, CountingBloomFilter, CuckooFilter, Error, Filter, Info, RibbonFilter,
    ScalableBloomFilter, Stack, hash,
};

use super::{Answer, Kind, grouped, lists, print_json, print_rows, read_blob, write_file};

/// Pack lists of keys into one blob
///
/// Keys are read as a stream and held as 8 bytes each, however long they are. Repeated keys count once.
#[derive(clap::Args)]
pub struct BuildArgs {
    /// Lists of keys, one a line; standard input if none
    #[arg(value_name = "LIST")]
    lists: Vec<PathBuf>,
    /// Where to write the blob; - for standard output
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// The kind of filter
    #[arg(long, value_enum, default_value = "ribbon")]
    kind: Kind,
    /// Bits of a counter, with --kind counting: 4 or 8
    #[arg(long, default_value = "4", value_parser = clap::value_parser!(u32).range(4..=8))]
    counter_bits: u32,
    /// The false-positive rate, above 0 and below 1
    #[arg(long, default_value = "1e-3")]
    fpr: f64,
    /// The seed of the hash, 0 to 2^64 - 1
    #[arg(long, default_value = "0")]
    seed: u64,
    /// A name for people, kept in the blob
    #[arg(long)]
    name: Option<String>,
    /// When the list was made, kept in the blob, as 2026-11-21T09:00:00Z
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_rfc3339_weak)]
    created_at: Option<SystemTime>,
    /// Print the description of the blob as JSON
    #[arg(long)]
    json: bool,
}

pub fn build(args: BuildArgs) -> Result<Answer> {
    let stdin = [PathBuf::from("-")];
    let paths = if args.lists.is_empty() { &stdin[..] } else { &args.lists };
    // What is impossible is told before hours of reading.
    filter(&args, &mut Vec::new())?;

    let mut digests = Vec::new();
    let comments = lists::for_each_key(paths, |key| {
        digests.push(hash::digest(args.seed, key));
        Ok(())
    })?;
    let keys = digests.len() as u64;
    let mut blob: Blob = filter(&args, &mut digests)?.into();
    // A ribbon filter has used the digests up; the others leave the different ones.
    let distinct =
        if digests.is_empty() { blob.filter.count().unwrap_or_default() } else { digests.len() as u64 };
    drop(digests);
    blob.describe(args.name, args.created_at.map(milliseconds).transpose()?)?;
    write_file(&args.output, &blob.encode()?)?;

    let mut read = format!("{} keys", grouped(distinct));
    if keys > distinct {
        read += &format!(", {} repeated ones dropped", grouped(keys - distinct));
    }
    if comments > 0 {
        read += &format!(", {} lines starting with # skipped", grouped(comments));
    }
    let fpr =
        ("fpr", format!("{} asked for, {} by the fill", args.fpr, super::rate(blob.filter.estimated_fpr())));
    report(&blob, &args.output, args.json, &[("read", read)], &[fpr])
}

fn filter(args: &BuildArgs, digests: &mut Vec<u64>) -> Result<Filter> {
    let (fpr, seed) = (args.fpr, args.seed);
    Ok(match args.kind {
        Kind::Ribbon => RibbonFilter::from_digests(digests, fpr, seed)?.into(),
        Kind::Bloom => BloomFilter::from_digests(digests, fpr, seed)?.into(),
        Kind::Counting => CountingBloomFilter::from_digests(digests, fpr, args.counter_bits, seed)?.into(),
        Kind::Scalable => ScalableBloomFilter::from_digests(digests, 1000, fpr, 2, 0.5, seed)?.into(),
        Kind::Cuckoo => CuckooFilter::from_digests(digests, fpr, seed)?.into(),
    })
}

/// Combine blobs into one that holds the keys of all
///
/// The blobs must be bloom filters, or all counting ones, with the same bits, hashes and seed. Name and creation time
/// are the first one's.
#[derive(clap::Args)]
pub struct MergeArgs {
    /// The blobs
    #[arg(required = true, num_args = 2..)]
    files: Vec<PathBuf>,
    /// Where to write the result; - for standard output
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Print the description of the result as JSON
    #[arg(long)]
    json: bool,
}

pub fn merge(args: MergeArgs) -> Result<Answer> {
    let mut merged = read_blob(&args.files[0])?;
    for file in &args.files[1..] {
        let mut blob = read_blob(file)?;
        let same = if blob.profile == merged.profile { Ok(()) } else { Err(Error::Incompatible) };
        same.and_then(|()| union(&mut merged.filter, &mut blob.filter))
            .with_context(|| file.display().to_string())?;
    }
    write_file(&args.output, &merged.encode()?)?;
    report(&merged, &args.output, args.json, &[("merged", format!("{} blobs", args.files.len()))], &[])
}

fn union(merged: &mut Stack, other: &mut Stack) -> Result<(), Error> {
    match (merged.base_mut()?, other.base_mut()?) {
        (Filter::Bloom(merged), Filter::Bloom(other)) => merged.union(other),
        (Filter::Counting(merged), Filter::Counting(other)) => merged.union(other),
        _ => Err(Error::NotMergeable),
    }
}

/// Says what was written, unless that went to standard output.
fn report(blob: &Blob, output: &Path, json: bool, before: &[Row], after: &[Row]) -> Result<Answer> {
    if output == Path::new("-") {
        return Ok(Answer::Yes);
    }
    let info = Info::of(blob)?;
    if json {
        print_json(&info)?;
        return Ok(Answer::Yes);
    }
    let per_key = info.bits_per_key.map(|bits| format!(", {bits:.2} bits a key")).unwrap_or_default();
    let wrote = [
        ("wrote", format!("{}, a {} filter", output.display(), info.kind)),
        ("size", format!("{} bytes{per_key}", grouped(info.byte_length))),
    ];
    print_rows(&[before, &wrote, after].concat())?;
    Ok(Answer::Yes)
}

type Row = (&'static str, String);

fn milliseconds(time: SystemTime) -> Result<u64> {
    let Ok(since) = time.duration_since(SystemTime::UNIX_EPOCH) else {
        bail!("--created-at must be 1970 or later")
    };
    u64::try_from(since.as_millis()).context("--created-at is too late")
}
