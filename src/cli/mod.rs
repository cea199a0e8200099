//! The command line: arguments, dispatch, exit codes. The files in this folder are the only ones of the crate that
//! read files or print.

mod build;
mod calc;
mod inspect;
mod keys;
mod lists;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use bloom_wasm::Blob;
use clap::error::ErrorKind;
use clap::{Parser, Subcommand};

/// Membership filters: pack a list of keys into one compact blob, and ask it "maybe present" or "definitely absent".
///
/// Lists have one key a line. `-` is standard input, a gzipped file is read as it is, CRLF is accepted, and a byte
/// order mark and blank lines are skipped, as are lines that start with `#`, but for passwords. A failure exits with 2
/// and one line on standard error.
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
    Info(inspect::InfoArgs),
    Check(inspect::CheckArgs),
    Verify(inspect::VerifyArgs),
    Calc(calc::Args),
}

/// What a command that didn't fail says through its exit code.
enum Answer {
    Yes,
    No,
}

pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error)
            if error.use_stderr() && error.kind() != ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand =>
        {
            // The first paragraph says what is wrong; usage and hints, for people who look at a screen, follow.
            let text = error.to_string();
            let words = text.split("\n\n").next().unwrap_or_default().split_whitespace();
            let line = words.collect::<Vec<_>>().join(" ");
            let _ = writeln!(io::stderr(), "bloom-wasm: {}", line.trim_start_matches("error: "));
            return ExitCode::from(2);
        }
        Err(error) => error.exit(),
    };
    let result = match cli.command {
        Command::Build(args) => build::build(args),
        Command::Merge(args) => build::merge(args),
        Command::Info(args) => inspect::info(args),
        Command::Check(args) => inspect::check(args),
        Command::Verify(args) => inspect::verify(args),
        Command::Calc(args) => calc::run(args),
    };
    match result {
        Ok(Answer::Yes) => ExitCode::SUCCESS,
        Ok(Answer::No) => ExitCode::from(1),
        // The reader of our output has had enough, as `head` has: that is no failure.
        Err(error)
            if error.downcast_ref::<io::Error>().is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe) =>
        {
            ExitCode::SUCCESS
        }
        Err(error) => {
            let code = error.downcast_ref::<bloom_wasm::Error>().map(|e| format!(" [{}]", e.code()));
            let _ = writeln!(io::stderr(), "bloom-wasm: {error:#}{}", code.unwrap_or_default());
            ExitCode::from(2)
        }
    }
}

/// Reads a blob; `-` is standard input.
fn read_blob(path: &Path) -> Result<Blob> {
    let bytes = if path == Path::new("-") {
        let mut bytes = Vec::new();
        io::Read::read_to_end(&mut io::stdin().lock(), &mut bytes).map(|_| bytes)
    } else {
        std::fs::read(path)
    };
    let name = || path.display().to_string();
    Blob::decode(bytes.with_context(name)?).with_context(name)
}

/// Writes a file whole or not at all: to a temporary name beside it, then renamed. `-` is standard output.
fn write_file(path: &Path, bytes: &[u8]) -> Result<()> {
    if path == Path::new("-") {
        let mut out = io::stdout().lock();
        // What is left in the buffer would be lost at exit, and its error with it.
        return Ok(out.write_all(bytes).and_then(|()| out.flush())?);
    }
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder.to_owned(),
        _ => PathBuf::from("."),
    };
    let write = || -> io::Result<()> {
        let mut builder = tempfile::Builder::new();
        // An ordinary file's rights, less what the umask takes; the crate's default is for secrets.
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let mut file = builder.prefix(".bloom-wasm-").tempfile_in(&folder)?;
        file.write_all(bytes)?;
        file.as_file().sync_all()?;
        file.persist(path)?;
        Ok(())
    };
    write().with_context(|| path.display().to_string())
}

/// Prints one value as JSON.
fn print_json(value: &impl serde::Serialize) -> Result<()> {
    let mut out = io::stdout().lock();
    serde_json::to_writer_pretty(&mut out, value).map_err(io::Error::from)?;
    Ok(writeln!(out)?)
}

/// Prints rows of a name and a value, the values in one column.
fn print_rows(rows: &[(&str, String)]) -> Result<()> {
    let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let mut out = io::stdout().lock();
    for (name, value) in rows {
        writeln!(out, "{name:width$}  {value}")?;
    }
    Ok(())
}

/// 1234567 as 1,234,567.
fn grouped(number: u64) -> String {
    indicatif::HumanCount(number).to_string()
}

/// A rate in the fewest digits that tell it.
fn rate(rate: f64) -> String {
    if rate == 0.0 || rate >= 0.001 { format!("{rate:.6}") } else { format!("{rate:.3e}") }
}
