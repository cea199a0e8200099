//! `export`: unwraps other software's filters.

use std::path::PathBuf;

use anyhow::{Context, Result};
use bloom_wasm::Error;
use bloom_wasm::interop::{self, Format};

use crate::args::kind::parse_format;
use crate::files::{blob, read, write};
use crate::streams::{Answer, Streams};
use crate::text::grouped;

/// Unwrap another software's filter from a blob
///
/// Writes what `import` has read: the same bytes for go-bloom (JSON or not), guava, spark and redis-bitmap, and for
/// redisbloom the chunks of BF.SCANDUMP, as 2.2.1 and later write them. A filter can't be converted to another format,
/// since each software hashes in its own way.
#[derive(clap::Args)]
pub struct ExportArgs {
    /// The blob; - for standard input
    file: PathBuf,
    /// The other software's format
    #[arg(long, value_parser = parse_format())]
    format: Format,
    /// Where to write it; - for standard output. An existing file is replaced atomically and keeps its mode
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
}

pub fn run(args: ExportArgs, streams: &mut Streams) -> Result<Answer> {
    write::check(&args.output)?;
    write::check_inputs("the blob", [&args.file], &args.output)?;
    let wrapped = blob::open(&args.file, None, streams).map_err(|error| match error.downcast_ref() {
        Some(Error::SecretRequired) => error.context("no other software reads keyed filters"),
        _ => error,
    })?;
    let filter = wrapped.stack().base_alone().with_context(|| read::name(&args.file))?;
    let bytes = interop::export(filter, args.format).with_context(|| {
        format!("{}, of kind {}, as {}", read::name(&args.file), filter.name(), args.format.name())
    })?;
    if write::is_stdout(&args.output) {
        streams.print_blob(&bytes)?;
        return Ok(Answer::Yes);
    }
    let rows = vec![("size", format!("{} bytes", grouped(bytes.len() as u64)))];
    let wrote = format!("{}, {}", args.output.display(), args.format.name());
    blob::save_bytes(&bytes, &args.output, None::<&()>, rows, wrote, streams)
}
