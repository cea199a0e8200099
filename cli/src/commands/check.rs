//! `check`: looks keys up in a blob or a folder.

use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use bloom_wasm::Filter;
use bloom_wasm::keys::native::Native;
use bloom_wasm::keys::{Input, lines};

use crate::args::secret::SecretArgs;
use crate::files::blob::{self, key_of};
use crate::lists;
use crate::publishing::folder::{Contents, Folder, Sharded};
use crate::streams::{Answer, Streams, not_printed, write_line};

/// About how many bytes of lines are looked up together, so that they stay in the processor's cache.
const BLOCK: usize = 1 << 14;
/// The same for a sharded filter: each block reads most of a long filter's shards.
const FOLDER_BLOCK: usize = 1 << 22;

/// Print the keys that are maybe present
///
/// Keys are URLs or passwords if the blob says so. Exits with 0 if any key is maybe present, and with 1 if all are
/// definitely absent. With --invert it is the other way round: it prints what is definitely absent, and exits with 0 if
/// anything is.
///
/// If the blob has tags, each key is followed by a tab and its tags, separated by commas. A URL has the tags of all its
/// keys.
///
/// Keys are printed unchanged, except to a terminal: there, control characters and the like are escaped.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  bloom-wasm check urls.bloom https://evil.example/login
  bloom-wasm check --invert passwords.bloom < candidates.txt")]
pub struct CheckArgs {
    /// The blob, or the folder of a feed
    file: PathBuf,
    /// The keys. A single -, or no key at all, reads the lines of standard input, gzipped or not
    #[arg(allow_negative_numbers = true)]
    keys: Vec<String>,
    /// Print the keys that are definitely absent instead, including what isn't a URL if the keys are URLs
    #[arg(long)]
    invert: bool,
    #[command(flatten)]
    secret: SecretArgs,
}

pub fn run(args: CheckArgs, streams: &mut Streams) -> Result<Answer> {
    let reads_lines = args.keys.is_empty() || args.keys == ["-"];
    if args.file.as_os_str() == "-" && reads_lines {
        bail!("standard input can't be both the blob and the keys");
    }
    if !reads_lines && args.keys.iter().any(|key| key == "-") {
        bail!(
            "- is standard input and can't be combined with other keys; to ask for the key -, make it a line of the input"
        );
    }
    let secret = args.secret.read()?;
    let mut asked = if args.file.is_dir() {
        match Folder::open(&args.file, secret, &[])?.contents {
            Contents::Whole(blob, _) => Asked::Filter(*blob),
            Contents::Sharded(sharded) => Asked::Sharded(sharded),
        }
    } else {
        Asked::Filter(blob::open(&args.file, secret.as_ref(), streams)?)
    };
    let block = if matches!(asked, Asked::Sharded(_)) { FOLDER_BLOCK } else { BLOCK };
    let Streams { input, out, terminal, .. } = streams;
    let mut out = io::BufWriter::new(out);
    let mut answer = Answer::No;
    let mut show = |block: &[&[u8]], answers: Vec<Option<String>>| -> Result<()> {
        for (line, tags) in block.iter().zip(answers) {
            let tags = match (tags, args.invert) {
                (Some(tags), false) => tags,
                // An absent key has no tags.
                (None, true) => String::new(),
                _ => continue,
            };
            answer = Answer::Yes;
            write_line(&mut out, line, &tags, *terminal)?;
        }
        Ok(())
    };
    let mut ask = |block: &[&[u8]]| match asked.has_each(block) {
        // One line is refused, but those before it still get their answers.
        Err(_) if block.len() > 1 => block.chunks(1).try_for_each(|line| show(line, asked.has_each(line)?)),
        answers => show(block, answers?),
    };
    if reads_lines {
        let mut input = lists::lines::text(input).context("standard input")?;
        let mut text = Vec::new();
        let mut first = true;
        loop {
            while text.len() < block
                && lists::lines::read_question(&mut input, &mut text).context("standard input")? > 0
            {
            }
            if text.is_empty() {
                break;
            }
            // As in a list, a byte order mark is skipped.
            let start = if first { text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&text) } else { &text };
            first = false;
            ask(&lines::lines(start).filter(|line| !line.is_empty()).collect::<Vec<_>>())?;
            text.clear();
        }
    } else {
        args.keys.iter().try_for_each(|key| ask(&[key.as_bytes()]))?;
    }
    out.flush().map_err(not_printed)?;
    Ok(answer)
}

/// What keys are looked up in.
enum Asked {
    Filter(Filter),
    Sharded(Box<Sharded>),
}

impl Asked {
    /// For each line, the tags of its keys, separated by commas; none if no key is maybe present.
    fn has_each(&mut self, block: &[&[u8]]) -> Result<Vec<Option<String>>> {
        let profile = match self {
            Asked::Filter(blob) => blob.profile(),
            Asked::Sharded(sharded) => sharded.sharding.profile(),
        };
        let inputs = block.iter().map(|line| Input::parse(&Native, profile, line));
        let inputs: Vec<_> = inputs.collect::<bloom_wasm::error::Result<_>>()?;
        match self {
            Asked::Filter(blob) => {
                let found = has_each(blob, &inputs)?;
                let tags =
                    inputs.iter().zip(found).map(|(input, found)| tags_of(blob, input.as_ref(), found));
                Ok(tags.collect::<bloom_wasm::error::Result<_>>()?)
            }
            Asked::Sharded(sharded) => {
                let found = sharded.ask_each(&inputs)?.into_iter();
                Ok(found.map(|tags| tags.map(|tags| tags.join(","))).collect())
            }
        }
    }
}

/// The tags of all keys of an input that was found.
fn tags_of(blob: &Filter, input: Option<&Input>, found: bool) -> bloom_wasm::error::Result<Option<String>> {
    let filter = blob.stack();
    if !found || !filter.is_tagged() {
        return Ok(found.then(String::new));
    }
    let keys = input.into_iter().flat_map(Input::keys);
    Ok(Some(filter.tags_of_all(keys.map(|key| filter.hashing().digest(key)))?.join(",")))
}

/// Whether a key of each input is maybe present.
fn has_each(blob: &Filter, inputs: &[Option<Input>]) -> bloom_wasm::error::Result<Vec<bool>> {
    let (mut keys, mut counts) = (Vec::new(), Vec::with_capacity(inputs.len()));
    for input in inputs {
        let before = keys.len();
        for key in input.iter().flat_map(Input::keys) {
            keys.push(key_of(blob, key)?);
        }
        counts.push(keys.len() - before);
    }
    let mut answers = blob.stack().has_many(&keys)?.into_iter();
    let any = |count| answers.by_ref().take(count).fold(false, |found, answer| found | answer);
    Ok(counts.into_iter().map(any).collect())
}
