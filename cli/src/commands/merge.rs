//! `merge`: blobs to one.

use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::args::secret::SecretArgs;
use crate::files::{blob, read, write};
use crate::streams::{Answer, Streams};

/// Combine blobs into one that holds the keys of all
///
/// The blobs must all be bloom filters, or all counting filters, with the same bits, hashes, seed and secret. The name
/// and the creation time are those of the first blob.
#[derive(clap::Args)]
pub struct MergeArgs {
    /// The blobs
    #[arg(required = true, num_args = 2..)]
    files: Vec<PathBuf>,
    /// Where to write the result; - for standard output. An existing file is replaced atomically and keeps its mode
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    #[command(flatten)]
    secret: SecretArgs,
    /// Print the description of the result as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: MergeArgs, streams: &mut Streams) -> Result<Answer> {
    read::check_stdin(&args.files)?;
    write::check(&args.output)?;
    args.secret.check_output(&args.output)?;
    let secret = args.secret.read()?;
    let mut merged = blob::open(&args.files[0], secret.as_ref(), streams)?;
    for file in &args.files[1..] {
        let other = blob::open(file, secret.as_ref(), streams)?;
        merged.combine(&other, true).with_context(|| {
            let name = read::name(file);
            // Keyed filters have random seeds, unless --seed was given.
            let hint = if secret.is_some() { ": build keyed filters to merge with one --seed" } else { "" };
            format!("{name}{hint}")
        })?;
    }
    let rows = [("merged", format!("{} blobs", args.files.len()))];
    blob::save(&merged, &args.output, args.json, None, &rows, &[], streams)
}
