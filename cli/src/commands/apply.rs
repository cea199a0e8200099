//! `apply`: a blob and deltas to the blob that was published.

use std::path::PathBuf;

use anyhow::{Context, Result};
use bloom_wasm::Delta;

use crate::args::secret::SecretArgs;
use crate::files::{blob, read, write};
use crate::streams::{Answer, Streams};

/// Bring a blob up to date with deltas
///
/// The result is byte for byte the updated blob that `diff` had when it made the last delta. A delta fits only the blob
/// that it was made for.
#[derive(clap::Args)]
pub struct ApplyArgs {
    /// The blob
    file: PathBuf,
    /// The deltas, the oldest first
    #[arg(required = true, value_name = "DELTA")]
    deltas: Vec<PathBuf>,
    /// Where to write the result; - for standard output. An existing file is replaced atomically and keeps its mode
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    #[command(flatten)]
    secret: SecretArgs,
    /// Print the description of the result as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: ApplyArgs, streams: &mut Streams) -> Result<Answer> {
    read::check_stdin([&args.file].into_iter().chain(&args.deltas))?;
    write::check(&args.output)?;
    // The output may replace the blob, but not a delta.
    write::check_inputs("a delta", &args.deltas, &args.output)?;
    args.secret.check_output(&args.output)?;
    let mut child = blob::open(&args.file, args.secret.read()?.as_ref(), streams)?;
    for path in &args.deltas {
        let name = || read::name(path);
        let delta = Delta::decode_for(&child, read::any(path, streams)?).with_context(name)?;
        child = child.apply(delta).with_context(name)?;
    }
    let count = args.deltas.len();
    let rows = [("applied", format!("{count} delta{}", if count == 1 { "" } else { "s" }))];
    blob::save(&child, &args.output, args.json, &rows, &[], streams)
}
