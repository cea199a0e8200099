//! The command line: arguments, dispatch, exit codes.
//!
//! How to read the source (each imports only from those above it):
//!
//! - `streams` is where a command reads and prints, `text` has words for people, `rates` measures a filter, and `random`
//!   has random numbers.
//! - `files` reads and writes whole files, and locks folders.
//! - `args` has arguments of several commands.
//! - `lists` reads lists as streams, line by line to keys, on all cores.
//! - `publishing` makes feeds and sharded filters, and decides what a publisher trusts.
//! - `commands` has a file for each command. None imports another.

mod args;
mod commands;
mod files;
mod lists;
mod publishing;
mod random;
mod rates;
mod streams;
mod text;

use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::process::ExitCode;

#[cfg(target_os = "wasi")]
use anyhow::Context;
use anyhow::{Result, bail};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, Parser, Subcommand};
use commands::{build, check, completions, export, feed, import, info, merge, verify};
use streams::{Answer, is_closed, not_printed};
use text::in_words;

pub use streams::Streams;

/// Membership filters: pack a list of keys into one compact blob, and ask it "maybe present" or "definitely absent".
///
/// Lists have one key per line, usually in UTF-8. `-` is standard input, and gzipped files are unpacked. CRLF line ends
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
    Merge(merge::MergeArgs),
    Feed(feed::FeedArgs),
    Import(import::ImportArgs),
    Export(export::ExportArgs),
    Info(info::InfoArgs),
    Check(check::CheckArgs),
    Verify(verify::VerifyArgs),
    Completions(completions::CompletionsArgs),
}

/// The tool.
pub fn main() -> ExitCode {
    let terminal = io::stdout().is_terminal();
    let (input, out, err) = (&mut io::stdin(), &mut io::stdout().lock(), &mut io::stderr());
    let streams = &mut Streams { input, out, err, terminal };
    #[cfg(target_os = "wasi")]
    if let Err(error) = enter_folder() {
        return told(&error, streams).into();
    }
    run(std::env::args_os(), streams).into()
}

/// WASI has no current folder, so whatever runs the tool passes it in PWD. Without that, relative paths would lead to
/// other files.
#[cfg(target_os = "wasi")]
fn enter_folder() -> Result<()> {
    let folder = std::env::var_os("PWD").context("PWD must be the current folder")?;
    std::env::set_current_dir(&folder).with_context(|| folder.display().to_string())
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
        Err(error) => told(&error, streams),
    }
}

/// Says why the tool failed. Returns the exit code.
fn told(error: &anyhow::Error, streams: &mut Streams) -> u8 {
    let code = error.downcast_ref::<bloom_wasm::Error>().map(|e| format!(" [{}]", e.code()));
    streams.warn(&format!("bloom-wasm: {}{}", in_words(error), code.unwrap_or_default()));
    2
}

/// Prints help if the arguments ask for it; otherwise fails with what is wrong with them.
fn not_parsed(error: clap::Error) -> Result<Answer> {
    if !error.use_stderr() {
        error.print().map_err(not_printed)?;
        return Ok(Answer::Yes);
    }
    // The first paragraph says what is wrong, and tips may follow; the rest is for people who look at a screen.
    let text = error.to_string();
    let others = others_with(&error);
    let paragraphs = text.split("\n\n").enumerate();
    let told = paragraphs.filter(|(i, paragraph)| {
        let tip = paragraph.trim_start();
        *i == 0 || tip.starts_with("tip: ") && (others.is_empty() || !tip.starts_with("tip: to pass"))
    });
    let words = told.flat_map(|(_, paragraph)| paragraph.split_whitespace()).collect::<Vec<_>>();
    let words = words.join(" ").trim_start_matches("error: ").replace(" tip: ", "; ");
    if others.is_empty() {
        bail!("{words}")
    }
    bail!("{words}; it is an option of {}", others.join(", "))
}

/// The commands that have an option which the given command doesn't.
fn others_with(error: &clap::Error) -> Vec<String> {
    fn search(command: &clap::Command, path: &str, option: &str, found: &mut Vec<String>) {
        if command.get_arguments().any(|argument| argument.get_long() == Some(option)) {
            found.push(format!("`{path}`"));
        }
        for command in command.get_subcommands() {
            search(command, format!("{path} {}", command.get_name()).trim_start(), option, found);
        }
    }
    let mut found = Vec::new();
    if let (ErrorKind::UnknownArgument, Some(ContextValue::String(given))) =
        (error.kind(), error.get(ContextKind::InvalidArg))
        && let Some(option) = given.strip_prefix("--")
    {
        search(&Cli::command(), "", option, &mut found);
    }
    found
}

impl Command {
    fn run(self, streams: &mut Streams) -> Result<Answer> {
        match self {
            Command::Build(args) => build::run(args, streams),
            Command::Merge(args) => merge::run(args, streams),
            Command::Feed(args) => feed::run(args, streams),
            Command::Import(args) => import::run(args, streams),
            Command::Export(args) => export::run(args, streams),
            Command::Info(args) => info::run(args, streams),
            Command::Check(args) => check::run(args, streams),
            Command::Verify(args) => verify::run(args, streams),
            Command::Completions(args) => completions::run(args, Cli::command(), streams),
        }
    }
}
