//! `dedupe`: each line once.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::PathBuf;

use anyhow::{Context, Result};
use bloom_wasm::hash::{Hashing, Secret};
use bloom_wasm::keys::lines::trim;
use bloom_wasm::{Error, ScalableBloomFilter};
use sha2::{Digest, Sha256};

use crate::args::number::parse_fpr;
use crate::files::read;
use crate::lists::lines;
use crate::random;
use crate::streams::{Answer, Streams, not_printed, write_line};

/// How many lines the filter has room for before it grows.
const CAPACITY: u32 = 1 << 20;

/// Print each line once, where it comes first
///
/// Any file of lines will do: comments and blank lines are lines too. A byte order mark and CRLF line ends are dropped.
///
/// The first 16 bytes of the SHA-256 of each different line stay in memory. With the table around them that is 20 to 40
/// bytes a line, and up to 60 while the table grows. With --fpr a filter takes their place: at 0.001, 3 to 10 bytes a
/// line, and 2 MB at least.
#[derive(clap::Args)]
pub struct DedupeArgs {
    /// Files of lines, gzipped or not; - for standard input
    #[arg(value_name = "FILE", default_value = "-")]
    files: Vec<PathBuf>,
    /// Take less memory, and drop a new line at this rate at most, as if it had been there: other lines at each run
    #[arg(long, value_name = "RATE", value_parser = parse_fpr)]
    fpr: Option<f64>,
}

/// The lines that were there.
enum Seen {
    /// By the first half of their SHA-256.
    Exact(HashSet<[u8; 16]>),
    /// With a secret of this run, so that nobody can write a line that is dropped.
    Filter(ScalableBloomFilter),
}

impl Seen {
    fn new(fpr: Option<f64>) -> Result<Self> {
        let Some(fpr) = fpr else { return Ok(Seen::Exact(HashSet::new())) };
        let hashing = Hashing::keyed(&Secret::from(random::bytes()?), 0);
        Ok(Seen::Filter(ScalableBloomFilter::new(CAPACITY, fpr, 2, 0.8, hashing)?))
    }

    /// Whether the line wasn't there before.
    fn add(&mut self, line: &[u8]) -> Result<bool> {
        match self {
            Seen::Exact(seen) => {
                let hash = Sha256::digest(line);
                let room = seen.capacity() as u64;
                seen.try_reserve(1).map_err(|_| Error::TooLarge { bytes: room.saturating_mul(40) })?;
                Ok(seen.insert(hash[..16].try_into()?))
            }
            Seen::Filter(seen) => Ok(seen.add(line)?),
        }
    }
}

pub fn run(args: DedupeArgs, streams: &mut Streams) -> Result<Answer> {
    read::check_stdin(&args.files)?;
    let mut seen = Seen::new(args.fpr)?;
    let Streams { input, out, terminal, .. } = streams;
    let mut out = io::BufWriter::new(out);
    for path in &args.files {
        let name = || read::name(path);
        let file: Box<dyn Read + Send> = match path.to_str() {
            Some("-") => Box::new(&mut *input),
            _ => Box::new(File::open(path).with_context(name)?),
        };
        let mut file = lines::text(file).with_context(name)?;
        let mut line = Vec::new();
        let mut start = &b"\xef\xbb\xbf"[..];
        while lines::read_question(&mut file, &mut line).with_context(name)? > 0 {
            let key = trim(&line);
            let key = key.strip_prefix(std::mem::take(&mut start)).unwrap_or(key);
            if seen.add(key).with_context(name)? {
                write_line(&mut out, key, "", *terminal)?;
            }
            line.clear();
        }
    }
    out.flush().map_err(not_printed)?;
    Ok(Answer::Yes)
}
