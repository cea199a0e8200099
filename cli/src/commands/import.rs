//! `import`: wraps other software's filters.

use std::path::PathBuf;
use std::time::SystemTime;

use anyhow::{Context, Result, bail, ensure};
use bloom_wasm::Filter;
use bloom_wasm::interop::{self, Format};
use bloom_wasm::keys::Input;

use crate::args::foreign::{Choice, options, parse_choice, require_text};
use crate::args::kind::parse_format;
use crate::args::number::{created_at, parse_time};
use crate::args::omitted::Omitted;
use crate::args::profile::ProfileArg;
use crate::files::{blob, read, write};
use crate::lists::keys;
use crate::lists::lines::Place;
use crate::streams::{Answer, Streams, unless_closed};
use crate::text::{counted, grouped, quoted};

/// Wrap another software's filter in a blob
///
/// For every key, the blob gives the same answer as that software. It does so in the npm package too, where it needs no
/// options. `export` gives the original back, in the formats that it writes.
#[derive(clap::Args)]
pub struct ImportArgs {
    /// What the other software wrote; - for standard input
    file: PathBuf,
    /// The other software's format
    #[arg(long, value_parser = parse_format())]
    format: Format,
    /// A parameter that the file doesn't contain; can be repeated
    ///
    /// guava: funnel=utf8 (default), unencoded-chars, bytes, int or long
    /// spark: keys=string (default), bytes or long
    /// parquet-sbbf: keys=string (default), bytes, int32, int64, float or double
    /// pybloomfiltermmap3: keys=string (default), bytes or int
    /// bloom-filter2: keys=string (default) or bytes; bits=N and hashes=N, both required
    /// redis-bitmap: bits=N and hashes=N, both required
    /// npm-bloomfilter: hashes=N, if the file is an array; generation=fnv64 (default), fnv64-odd,
    ///   fnv32-triple, fnv32-seeded, fnv32-b or fnv32-b-signedmix
    /// xor, binary-fuse: layout=c (default), xorf-dma, xorf-json or xorf-bincode;
    ///   width=8, 16 or 32, if the file doesn't say
    #[arg(long = "option", value_name = "NAME=VALUE", value_parser = parse_choice, verbatim_doc_comment)]
    options: Vec<Choice>,
    /// Where to write the blob; - for standard output. An existing file is replaced atomically and keeps its mode
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// What the keys are
    #[arg(long, value_enum, default_value = "raw")]
    profile: ProfileArg,
    /// The passwords are in lower case, with --profile password
    #[arg(long)]
    lowercase: bool,
    /// Keys are SHA-1 hashes of passwords: lines of a list are HASH or HASH:COUNT, with HASH in hexadecimal. With
    /// --profile password
    #[arg(long)]
    sha1: bool,
    /// A list of keys that are in the filter; can be repeated. If one is absent, nothing is written
    #[arg(long, value_name = "LIST")]
    members: Vec<PathBuf>,
    /// A human-readable name, stored in the blob
    #[arg(long)]
    name: Option<String>,
    /// When the list was made, such as 2026-11-21T09:00:00Z, stored in the blob
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    created_at: Option<SystemTime>,
    /// Print the description of the blob as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: ImportArgs, streams: &mut Streams) -> Result<Answer> {
    read::check_stdin([&args.file].into_iter().chain(&args.members))?;
    write::check(&args.output)?;
    write::check_inputs("a list", &args.members, &args.output)?;
    write::check_inputs("the original", [&args.file], &args.output)?;
    let name = || read::name(&args.file);
    let profile = args.profile.with(args.lowercase, args.sha1)?;
    let options = options(&args.options, args.format, interop::reading_options(args.format)?)?;
    let bytes = read::any(&args.file, b"", streams)?;
    let filter = interop::read(args.format, &options, &bytes).with_context(name)?;
    require_text(filter.keys(), profile)?;
    drop(bytes);
    let mut made = Filter::new(profile, filter);
    made.describe(args.name, args.created_at.map(created_at).transpose()?)?;
    let mut rows = vec![("read", format!("{}, {}", name(), args.format.name()))];
    if !args.members.is_empty() {
        rows.push(("members", ask(&made, &args.members, streams).with_context(name)?));
    }
    let answer = blob::save(&made, &args.output, args.json, None, &rows, &[], streams)?;
    if args.members.is_empty() && !args.json && !write::is_stdout(&args.output) {
        let output = args.output.display();
        let how = format!("ask for a key that you know is in it: bloom-wasm check {output} KEY");
        unless_closed(streams.print_rows(&[("check", how)]))
            .with_context(|| format!("{output} is written"))?;
    }
    Ok(answer)
}

/// Asks for all keys of lists, and fails if one is absent. Returns how many there are, in words. A file is read even
/// with wrong options, and only a key that must be present reveals that.
fn ask(made: &Filter, lists: &[PathBuf], streams: &mut Streams) -> Result<String> {
    let (mut count, mut absent, mut first) = (0, 0, None);
    let take = |(count, absent, first): &mut (u64, u64, Option<String>), input: &Input, place: Place| {
        *count += 1;
        if !made.stack().has(&blob::key_of(made, input.own())?) {
            *absent += 1;
            first.get_or_insert_with(|| format!("{}: {}", place(), quoted(input.own())));
        }
        Ok(())
    };
    let (profile, omitted) = (made.profile(), Omitted::none());
    let summary = keys::for_each(lists, profile, &omitted, streams, Default::default, take, |more| {
        count += more.0;
        absent += more.1;
        first = first.take().or(more.2);
        Ok(())
    })?;
    summary.print_notices(streams);
    summary.require_lists(true)?;
    ensure!(count > 0, "the lists of --members have no key to ask for");
    let keys = counted(count, "key", "keys");
    if let Some(first) = first {
        bail!(
            "{} of {keys} absent, the first at {first}; was the filter made with another hash, --option or \
             --profile? Nothing was written",
            grouped(absent)
        );
    }
    Ok(format!("{keys}, 0 false negatives{}", summary.in_words()))
}
