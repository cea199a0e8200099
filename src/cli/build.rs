//! `build`: lists to a blob.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context, Result, bail};
use bloom_wasm::{Blob, BloomFilter, Info, hash};

use super::{Answer, Kind, grouped, lists, print_json, print_rows, write_file};

/// Pack lists of keys into one blob
///
/// Keys are read as a stream and held as 8 bytes each, however long they are. Repeated keys count once.
#[derive(clap::Args)]
pub struct Args {
    /// Lists of keys, one a line; standard input if none
    #[arg(value_name = "LIST")]
    lists: Vec<PathBuf>,
    /// Where to write the blob; - for standard output
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// The kind of filter
    #[arg(long, value_enum, default_value = "bloom")]
    kind: Kind,
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

pub fn run(args: Args) -> Result<Answer> {
    let stdin = [PathBuf::from("-")];
    let paths = if args.lists.is_empty() {
        &stdin[..]
    } else {
        &args.lists
    };
    // An impossible rate is told before hours of reading.
    bloom_wasm::params::optimal(1, args.fpr)?;

    let mut digests = Vec::new();
    let comments = lists::for_each_key(paths, |key| {
        digests.push(hash::digest(args.seed, key));
        Ok(())
    })?;
    let keys = digests.len() as u64;
    let mut blob: Blob = match args.kind {
        Kind::Bloom => BloomFilter::from_digests(&mut digests, args.fpr, args.seed)?.into(),
    };
    let distinct = digests.chunk_by(|a, b| a == b).count() as u64;
    drop(digests);
    blob.describe(args.name, args.created_at.map(milliseconds).transpose()?)?;
    write_file(&args.output, &blob.encode()?)?;

    if args.output == Path::new("-") {
        return Ok(Answer::Yes);
    }
    let info = Info::of(&blob)?;
    if args.json {
        print_json(&info)?;
        return Ok(Answer::Yes);
    }
    let per_key = if distinct > 0 {
        info.byte_length as f64 * 8.0 / distinct as f64
    } else {
        0.0
    };
    let mut read = format!("{} keys", grouped(distinct));
    if keys > distinct {
        read += &format!(", {} repeated ones dropped", grouped(keys - distinct));
    }
    if comments > 0 {
        read += &format!(", {} lines starting with # skipped", grouped(comments));
    }
    print_rows(&[
        ("read", read),
        (
            "wrote",
            format!("{}, a {} filter", args.output.display(), info.kind),
        ),
        (
            "size",
            format!("{} bytes, {per_key:.2} bits a key", grouped(info.byte_length)),
        ),
        (
            "fpr",
            format!(
                "{} asked for, {} by the fill",
                args.fpr,
                super::rate(blob.filter.estimated_fpr())
            ),
        ),
    ])?;
    Ok(Answer::Yes)
}

fn milliseconds(time: SystemTime) -> Result<u64> {
    let Ok(since) = time.duration_since(SystemTime::UNIX_EPOCH) else {
        bail!("--created-at must be 1970 or later")
    };
    u64::try_from(since.as_millis()).context("--created-at is too late")
}
