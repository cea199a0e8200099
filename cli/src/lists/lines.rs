//! Lists, read as a stream of lines: plain or gzipped, from files or standard input.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use bloom_wasm::format::MAGIC;
use bloom_wasm::keys::lines::trim;
use bloom_wasm::keys::list::MAX_LINE;
use flate2::bufread::GzDecoder;
use indicatif::{ProgressBar, ProgressStyle};
use rayon::prelude::*;

use crate::files::read::name;

const BUFFER: usize = 1 << 16;
/// How many bytes a thread takes at a time, rounded up to the end of a line.
const CHUNK: usize = 1 << 16;

/// The place of a line, as `list:line`.
pub type Place<'a> = &'a dyn Fn() -> String;

/// Hands all lists to `map`, in chunks and on all cores, and the results to `merge`, in order. Reads on meanwhile, but
/// never more than a few chunks ahead.
///
/// A progress bar is drawn if standard error is a terminal. Errors name the file and the line.
pub fn for_each_chunk<T: Send>(
    paths: &[PathBuf],
    input: &mut (dyn Read + Send),
    map: impl Fn(&Chunk) -> Result<T> + Sync,
    mut merge: impl FnMut(T) -> bloom_wasm::error::Result<()>,
) -> Result<()> {
    let bar = progress_bar(paths);
    let mut chunks = Chunks { paths: paths.iter().enumerate(), input: Some(input), bar: &bar, list: None };
    let at_once = 8 * rayon::current_num_threads();
    let mut read = || chunks.by_ref().take(at_once).collect::<Result<Vec<_>>>();
    let mut batch = read()?;
    while !batch.is_empty() {
        let (next, made) = rayon::join(&mut read, || batch.par_iter().map(&map).collect::<Vec<_>>());
        for made in made {
            merge(made?)?;
        }
        batch = next?;
    }
    bar.finish_and_clear();
    Ok(())
}

/// Whole lines of a list.
pub struct Chunk<'a> {
    /// Which of the lists they are of.
    pub list: usize,
    path: &'a Path,
    /// The number of its first line.
    line: u64,
    text: Vec<u8>,
}

impl Chunk<'_> {
    /// The text of the list's first lines, if it begins here.
    pub fn beginning(&self) -> Option<&[u8]> {
        (self.line == 1).then_some(&self.text)
    }

    /// Calls `take` with every line that isn't blank, in order, and with the line's place as `list:line`.
    pub fn for_each_line(&self, mut take: impl FnMut(&[u8], Place) -> Result<()>) -> Result<()> {
        let mut rest = &self.text[..];
        for number in self.line.. {
            let text = rest;
            let length = rest.skip_until(b'\n')?;
            if length == 0 {
                break;
            }
            let key = trim(&text[..length]);
            let key = if number == 1 { key.strip_prefix(b"\xef\xbb\xbf").unwrap_or(key) } else { key };
            if !key.is_empty() {
                let here = || place(self.path, number);
                take(key, &here).with_context(here)?;
            }
        }
        Ok(())
    }
}

/// The chunks of lists.
struct Chunks<'a> {
    paths: std::iter::Enumerate<std::slice::Iter<'a, PathBuf>>,
    /// Standard input, until a list takes it.
    input: Option<&'a mut (dyn Read + Send)>,
    bar: &'a ProgressBar,
    /// The list that is open, which one it is, and the number of its next line.
    list: Option<(usize, &'a Path, Box<dyn BufRead + Send + 'a>, u64)>,
}

impl<'a> Iterator for Chunks<'a> {
    type Item = Result<Chunk<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some((list, path, reader, next)) = &mut self.list {
                let (list, path, line) = (*list, *path, *next);
                let mut text = Vec::with_capacity(CHUNK + 1024);
                let read = reader.take(CHUNK as u64).read_to_end(&mut text);
                let read = read.and_then(|_| end_line(reader, &mut text));
                *next += line_ends(&text);
                if let Err(error) = read {
                    return Some(Err(error).with_context(|| place(path, *next)));
                }
                if !text.is_empty() {
                    return Some(Ok(Chunk { list, path, line, text }));
                }
            }
            let (list, path) = self.paths.next()?;
            match self.open(path) {
                Ok(reader) => self.list = Some((list, path, reader, 1)),
                Err(error) => return Some(Err(error).with_context(|| name(path))),
            }
        }
    }
}

impl<'a> Chunks<'a> {
    fn open(&mut self, path: &Path) -> io::Result<Box<dyn BufRead + Send + 'a>> {
        let file: Box<dyn Read + Send + 'a> = match self.input.take_if(|_| path == Path::new("-")) {
            Some(input) => Box::new(input),
            None => Box::new(File::open(path)?),
        };
        text(self.bar.wrap_read(file))
    }
}

/// Reads to the end of the last line of a text. Of a line that is too long for a key, only the beginning is kept:
/// enough that it is still too long without a byte order mark and the line end.
fn end_line(reader: &mut impl BufRead, text: &mut Vec<u8>) -> io::Result<()> {
    let start = text.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
    let room = (start + MAX_LINE + 8).saturating_sub(text.len());
    if !text.is_empty() && start == text.len() {
        return Ok(());
    }
    reader.by_ref().take(room as u64).read_until(b'\n', text)?;
    if text.len() - start >= MAX_LINE + 8 && !text.ends_with(b"\n") && reader.skip_until(b'\n')? > 0 {
        text.push(b'\n');
    }
    Ok(())
}

/// Reads a line to look up, which may be far longer than one of a list. Returns its length including the line end.
///
/// # Errors
/// If it is longer than 64 MiB: part of a line isn't looked up.
pub fn read_question(reader: &mut impl BufRead, text: &mut Vec<u8>) -> io::Result<usize> {
    const MAX: usize = 1 << 26;
    let length = reader.by_ref().take(MAX as u64 + 1).read_until(b'\n', text)?;
    if length > MAX && !text.ends_with(b"\n") {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "a line is longer than 64 MiB"));
    }
    Ok(length)
}

/// How many lines end in a text. The sums are single bytes, because a processor adds dozens of those at once.
fn line_ends(text: &[u8]) -> u64 {
    let ends = |text: &[u8]| text.iter().map(|&byte| u8::from(byte == b'\n')).sum::<u8>();
    text.chunks(255).map(|text| u64::from(ends(text))).sum()
}

fn place(path: &Path, line: u64) -> String {
    format!("{}:{line}", name(path))
}

/// The text of a list, unpacked if it is gzipped.
pub fn text<'a>(file: impl Read + Send + 'a) -> io::Result<Box<dyn BufRead + Send + 'a>> {
    let (start, file) = peek(Ending { file, ended: false })?;
    let file = BufReader::with_capacity(BUFFER, file);
    if !start.starts_with(GZIP) {
        refuse(&start)?;
        return Ok(Box::new(file));
    }
    let (start, unpacked) = peek(Gzip { member: Some(GzDecoder::new(file)) })?;
    refuse(&start)?;
    Ok(Box::new(BufReader::with_capacity(BUFFER, unpacked)))
}

/// Reads nothing after the end: a terminal would wait for more input.
struct Ending<R> {
    file: R,
    ended: bool,
}

impl<R: Read> Read for Ending<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        if self.ended {
            return Ok(0);
        }
        let length = self.file.read(bytes)?;
        self.ended = length == 0 && !bytes.is_empty();
        Ok(length)
    }
}

/// The first bytes of a file, and all of it.
fn peek<'a>(mut file: impl Read + Send + 'a) -> io::Result<(Vec<u8>, impl Read + Send + 'a)> {
    let mut start = Vec::new();
    file.by_ref().take(10).read_to_end(&mut start)?;
    Ok((start.clone(), Cursor::new(start).chain(file)))
}

const GZIP: &[u8] = b"\x1f\x8b";

const UTF16: &str = "UTF-16 text; convert it to UTF-8 first";

/// The first bytes of files that aren't lists, and what to say about them. If one entry is the beginning of another,
/// the longer one comes first.
const OTHERS: [(&[u8], &str); 11] = [
    (GZIP, "a gzip file in a gzip file; unpack it first"),
    (b"\xfd7zXZ\0", "an xz file; unpack it first"),
    (b"PK\x03\x04", "a zip file; unpack it first"),
    (b"PK\x05\x06", "an empty zip file"),
    (b"\x28\xb5\x2f\xfd", "a zstd file; unpack it first"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z file; unpack it first"),
    (b"\xff\xfe\0\0", "UTF-32 text; convert it to UTF-8 first"),
    (b"\0\0\xfe\xff", "UTF-32 text; convert it to UTF-8 first"),
    (b"\xff\xfe", UTF16),
    (b"\xfe\xff", UTF16),
    (&MAGIC, "a blob, not a list"),
];

/// Fails if these first bytes show that the file isn't a list.
fn refuse(start: &[u8]) -> io::Result<()> {
    // A key may start with BZh, so the magic number after it counts too: that of a block, or of the end.
    let bzip2 = start.starts_with(b"BZh") && matches!(start.get(4..), Some(b"1AY&SY" | b"\x17rE8P\x90"));
    let other = OTHERS.iter().find(|(magic, _)| start.starts_with(magic)).map(|(_, words)| *words);
    // ASCII without a byte order mark.
    let utf16 = matches!(start, [1..=127, 0, 1..=127, 0, ..] | [0, 1..=127, 0, 1..=127, ..]).then_some(UTF16);
    match other.or(bzip2.then_some("a bzip2 file; unpack it first")).or(utf16) {
        Some(words) => Err(io::Error::new(io::ErrorKind::InvalidData, format!("this is {words}"))),
        None => Ok(()),
    }
}

/// The members of a gzip file, one after another. Zeros may follow the last one, as they do on tapes.
struct Gzip<R> {
    /// None after the end.
    member: Option<GzDecoder<R>>,
}

impl<R: BufRead> Read for Gzip<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        while let Some(member) = &mut self.member {
            let length = member.read(bytes)?;
            if length > 0 || bytes.is_empty() {
                return Ok(length);
            }
            let file = member.get_mut();
            let zeros = skip_zeros(file)?;
            let ends = file.fill_buf()?.is_empty();
            if zeros > 0 && !ends {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    "there are bytes after the end of the gzip file",
                ));
            }
            self.member =
                self.member.take().filter(|_| !ends).map(|member| GzDecoder::new(member.into_inner()));
        }
        Ok(0)
    }
}

/// Skips zeros, and returns how many there were.
fn skip_zeros(file: &mut impl BufRead) -> io::Result<u64> {
    let mut skipped = 0;
    loop {
        let bytes = file.fill_buf()?;
        let zeros = bytes.iter().take_while(|&&byte| byte == 0).count();
        file.consume(zeros);
        skipped += zeros as u64;
        if zeros == 0 {
            return Ok(skipped);
        }
    }
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

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::{Compression, write::GzEncoder};

    use super::*;

    /// Gives one byte at a time, as a pipe may do.
    struct Drops(Cursor<Vec<u8>>);

    impl Read for Drops {
        fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
            let length = bytes.len().min(1);
            self.0.read(&mut bytes[..length])
        }
    }

    #[test]
    fn all_line_ends_are_counted() {
        assert_eq!(line_ends(&[b'\n'; 1000]), 1000);
    }

    #[test]
    fn gzip_is_recognised_in_any_chunks() {
        let mut packed = GzEncoder::new(Vec::new(), Compression::default());
        packed.write_all(b"a\nb\n").unwrap();
        let packed = packed.finish().unwrap();
        for (bytes, expected) in
            [(packed, "a\nb\n"), (b"a\nb".to_vec(), "a\nb"), (b"\x1f".to_vec(), "\x1f"), (vec![], "")]
        {
            let mut read = String::new();
            text(Drops(Cursor::new(bytes))).unwrap().read_to_string(&mut read).unwrap();
            assert_eq!(read, expected);
        }
    }
}
