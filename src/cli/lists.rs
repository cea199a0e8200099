//! Lists, read as a stream of lines: plain or gzipped, from files or standard input.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use bloom_wasm::lines::trim;
use flate2::bufread::MultiGzDecoder;
use indicatif::{ProgressBar, ProgressStyle};

const BUFFER: usize = 1 << 16;

/// Calls `take` with every line of every list that isn't blank, in order, and with its place as `list:line`.
///
/// A progress bar is drawn if standard error is a terminal. Errors name the file and the line.
pub fn for_each_line(
    paths: &[PathBuf],
    mut take: impl FnMut(&[u8], &dyn Fn() -> String) -> Result<()>,
) -> Result<()> {
    let bar = progress_bar(paths);
    for path in paths {
        let mut line_number = 0;
        let place = |line: u64| {
            if line == 0 { name(path) } else { format!("{}:{line}", name(path)) }
        };
        let mut reader = open(path, &bar).with_context(|| place(0))?;
        let mut line = Vec::new();
        loop {
            line.clear();
            line_number += 1;
            if reader.read_until(b'\n', &mut line).with_context(|| place(line_number))? == 0 {
                break;
            }
            let key = trim(&line);
            let key = if line_number == 1 { key.strip_prefix(b"\xef\xbb\xbf").unwrap_or(key) } else { key };
            if !key.is_empty() {
                let here = || place(line_number);
                take(key, &here).with_context(here)?;
            }
        }
    }
    bar.finish_and_clear();
    Ok(())
}

/// Refuses to read standard input twice: the second time there would be nothing.
pub fn check_stdin<'a>(paths: impl IntoIterator<Item = &'a PathBuf>) -> Result<()> {
    if paths.into_iter().filter(|path| path.as_os_str() == "-").count() > 1 {
        bail!("standard input can be read only once");
    }
    Ok(())
}

/// What to call a list in a message.
pub fn name(path: &Path) -> String {
    if path == Path::new("-") { "standard input".to_owned() } else { path.display().to_string() }
}

fn open(path: &Path, bar: &ProgressBar) -> io::Result<Box<dyn BufRead>> {
    let file: Box<dyn Read> =
        if path == Path::new("-") { Box::new(io::stdin()) } else { Box::new(File::open(path)?) };
    let mut reader = BufReader::with_capacity(BUFFER, bar.wrap_read(file));
    if reader.fill_buf()?.starts_with(&[0x1f, 0x8b]) {
        return Ok(Box::new(BufReader::with_capacity(BUFFER, MultiGzDecoder::new(reader))));
    }
    Ok(Box::new(reader))
}

/// A bar if the sizes of all lists are known, else a spinner; neither draws anything into a pipe.
fn progress_bar(paths: &[PathBuf]) -> ProgressBar {
    let size = |path: &PathBuf| {
        std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file).map(|file| file.len())
    };
    let (bar, template) = match paths.iter().map(size).sum::<Option<u64>>() {
        Some(total) => (ProgressBar::new(total), "{bar:40} {bytes}/{total_bytes} {eta}"),
        None => (ProgressBar::new_spinner(), "{spinner} {bytes} {bytes_per_sec}"),
    };
    bar.set_style(ProgressStyle::with_template(template).expect("a valid template"));
    bar
}
