//! `import`: wraps other software's filters.

use std::path::PathBuf;
use std::time::SystemTime;

use anyhow::{Context, Result};
use bloom_wasm::Blob;
use bloom_wasm::interop::{self, Format};

use crate::args::foreign::{ReadingArgs, require_text};
use crate::args::kind::parse_format;
use crate::args::number::created_at;
use crate::args::profile::ProfileArg;
use crate::files::{blob, read, write};
use crate::streams::{Answer, Streams};

/// Wrap another software's filter in a blob
///
/// The blob answers as that software does, key for key, in the package too, and needs no option there. `export` gives the
/// original back.
#[derive(clap::Args)]
pub struct ImportArgs {
    /// What the other software wrote; - for standard input
    file: PathBuf,
    /// The other software's format
    #[arg(long, value_parser = parse_format())]
    from: Format,
    /// Where to write the blob; - for standard output. A file is replaced whole, and keeps its mode
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// What the keys are
    #[arg(long, value_enum, default_value = "raw")]
    profile: ProfileArg,
    /// The passwords are in lower case, with --profile password
    #[arg(long)]
    lowercase: bool,
    /// The keys are SHA-1 hashes of passwords, 20 bytes each, with --profile password
    #[arg(long)]
    sha1: bool,
    #[command(flatten)]
    options: ReadingArgs,
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

pub fn run(args: ImportArgs, streams: &mut Streams) -> Result<Answer> {
    write::check(&args.output)?;
    let name = || read::name(&args.file);
    let profile = args.profile.with(args.lowercase, args.sha1);
    let profile = profile.context("--lowercase and --sha1 need --profile password")?;
    let bytes = read::any(&args.file, streams)?;
    let filter = interop::read(args.from, &args.options.options(), &bytes).with_context(name)?;
    require_text(filter.keys(), profile)?;
    drop(bytes);
    let mut made = Blob::new(profile, filter);
    made.describe(args.name, args.created_at.map(created_at).transpose()?)?;
    let rows = [("read", format!("{}, {}", name(), args.from.name()))];
    blob::save(&made, &args.output, args.json, &rows, &[], streams)
}
