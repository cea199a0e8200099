//! The command line: arguments, dispatch, exit codes. The files in this folder are the only ones of the crate that
//! read files or print. It is the tool's, and no part of the library's interface.

mod build;
mod calc;
mod delta;
mod feed;
mod foreign;
mod guard;
mod inspect;
mod keys;
mod lists;
mod lock;
mod manifest;
mod output;
mod publish;
mod secret;
mod sharded;
mod shards;
mod show;
mod spill;
mod state;
mod trust;

use std::ffi::OsString;
use std::fs;
use std::io::{self, IsTerminal, Read, Write};
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result, bail, ensure};
use bloom_wasm::Blob;
use bloom_wasm::hash::Secret;
use clap::error::ErrorKind;
use clap::{Parser, Subcommand};
use show::{grouped, rate};

/// Membership filters: pack a list of keys into one compact blob, and ask it "maybe present" or "definitely absent".
///
/// Lists have one key a line, usually in UTF-8. `-` is standard input, and gzipped files are unpacked. CRLF line ends
/// are fine. A byte order mark, blank lines, and lines that start with `#` are skipped (in a list of passwords, `#` is
/// a character like any other). A failure exits with 2 and prints one line on standard error.
#[derive(Parser)]
#[command(name = "bloom-wasm", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Build(build::BuildArgs),
    Merge(build::MergeArgs),
    Diff(delta::DiffArgs),
    Apply(delta::ApplyArgs),
    Feed(feed::FeedArgs),
    Shard(shards::ShardArgs),
    Import(foreign::ImportArgs),
    Export(foreign::ExportArgs),
    Info(inspect::InfoArgs),
    Check(inspect::CheckArgs),
    Verify(inspect::VerifyArgs),
    Calc(calc::Args),
}

/// What a successful command says through its exit code.
enum Answer {
    Yes,
    No,
}

/// What a command reads and where it prints: the process's own, or a test's.
pub struct Streams<'a> {
    /// Standard input.
    pub input: &'a mut (dyn Read + Send),
    /// Standard output.
    pub out: &'a mut dyn Write,
    /// Standard error.
    pub err: &'a mut dyn Write,
    /// Whether `out` is a terminal, which would obey control characters in a key.
    pub terminal: bool,
}

/// The tool.
pub fn main() -> ExitCode {
    // WASI has no current folder, so whoever runs the tool tells it.
    #[cfg(target_os = "wasi")]
    let _ = std::env::var_os("PWD").map(std::env::set_current_dir);
    let terminal = io::stdout().is_terminal();
    let (input, out, err) = (&mut io::stdin(), &mut io::stdout().lock(), &mut io::stderr());
    run(std::env::args_os(), &mut Streams { input, out, err, terminal }).into()
}

/// Runs the command that the arguments give; the first one is the tool's name. Returns the exit code.
pub fn run(args: impl IntoIterator<Item = impl Into<OsString> + Clone>, streams: &mut Streams) -> u8 {
    let parsed = Cli::try_parse_from(args);
    if let Err(error) = &parsed
        && error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
    {
        let _ = error.print();
        return 2;
    }
    match parsed.map_or_else(not_parsed, |cli| cli.command.run(streams)) {
        Ok(Answer::Yes) => 0,
        Ok(Answer::No) => 1,
        // Whoever reads our output has closed it, as `head` does. That isn't a failure.
        Err(error) if is_closed(&error) => 0,
        Err(error) => {
            let code = error.downcast_ref::<bloom_wasm::Error>().map(|e| format!(" [{}]", e.code()));
            streams.warn(&format!("bloom-wasm: {}{}", in_words(&error), code.unwrap_or_default()));
            2
        }
    }
}

/// An error and its causes, without the numbers that the system has for some.
fn in_words(error: &anyhow::Error) -> String {
    let words = error.chain().map(|cause| {
        let number = cause.downcast_ref::<io::Error>().and_then(io::Error::raw_os_error);
        let words = cause.to_string();
        number
            .and_then(|number| words.strip_suffix(&format!(" (os error {number})")))
            .map_or(words.clone(), str::to_owned)
    });
    words.collect::<Vec<_>>().join(": ")
}

/// Prints help if the arguments ask for it; otherwise fails with what is wrong with them.
fn not_parsed(error: clap::Error) -> Result<Answer> {
    if !error.use_stderr() {
        error.print().map_err(show::not_printed)?;
        return Ok(Answer::Yes);
    }
    // The first paragraph says what is wrong; usage and hints, for people who look at a screen, follow.
    let text = error.to_string();
    let words = text.split("\n\n").next().unwrap_or_default().split_whitespace();
    let line = words.collect::<Vec<_>>().join(" ");
    bail!("{}", line.trim_start_matches("error: "))
}

/// Reads a false-positive rate. Whether it is in range is told later.
fn fpr(text: &str) -> std::result::Result<f64, &'static str> {
    text.parse().map_err(|_| "give a number such as 0.001")
}

/// Whether nobody reads standard output. A file that can't be written is another matter.
fn is_closed(error: &anyhow::Error) -> bool {
    error.is::<show::Closed>()
}

/// No failure if nobody reads what was printed.
fn unless_closed(printed: Result<()>) -> Result<()> {
    printed.or_else(|error| if is_closed(&error) { Ok(()) } else { Err(error) })
}

impl Command {
    fn run(self, streams: &mut Streams) -> Result<Answer> {
        match self {
            Command::Build(args) => build::build(args, streams),
            Command::Merge(args) => build::merge(args, streams),
            Command::Diff(args) => delta::diff(args, streams),
            Command::Apply(args) => delta::apply(args, streams),
            Command::Feed(args) => feed::run(args, streams),
            Command::Shard(args) => shards::run(args, streams),
            Command::Import(args) => foreign::import(args, streams),
            Command::Export(args) => foreign::export(args, streams),
            Command::Info(args) => inspect::info(args, streams),
            Command::Check(args) => inspect::check(args, streams),
            Command::Verify(args) => inspect::verify(args, streams),
            Command::Calc(args) => calc::run(args, streams),
        }
    }
}

/// Reads a blob; `-` is standard input.
fn read_blob(path: &Path, secret: Option<&Secret>, streams: &mut Streams) -> Result<Blob> {
    decode(read_file(path, streams)?, secret).with_context(|| lists::name(path))
}

/// Reads the blob of a filter that is keyed if there is a secret.
fn decode(bytes: Vec<u8>, secret: Option<&Secret>) -> bloom_wasm::error::Result<Blob> {
    match secret {
        Some(secret) => Blob::decode_keyed(bytes, secret),
        None => Blob::decode(bytes),
    }
}

/// Reads a file of a folder, and no more than `most` bytes and one. A pipe could hold up the tool for ever, and a device
/// has no end.
fn read_regular(path: &Path, most: u64) -> Result<Vec<u8>> {
    let read = || -> Result<Vec<u8>> {
        let file = fs::metadata(path)?;
        ensure!(file.is_file(), "this is not a file");
        let mut bytes = Vec::new();
        fs::File::open(path)?.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    read().with_context(|| path.display().to_string())
}

/// Reads a file; `-` is standard input.
fn read_file(path: &Path, streams: &mut Streams) -> Result<Vec<u8>> {
    let bytes = if path == Path::new("-") {
        let mut bytes = Vec::new();
        streams.input.read_to_end(&mut bytes).map(|_| bytes)
    } else {
        fs::read(path)
    };
    bytes.with_context(|| lists::name(path))
}
