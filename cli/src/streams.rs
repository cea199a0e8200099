//! What a command reads and where it prints, and what it says through its exit code. Everything that people see is printed
//! here, escaped by `text`.

use std::borrow::Cow;
use std::io::{self, Read, Write};

use anyhow::{Context, Result};

use crate::text::{self, Row, escaped, is_plain};

/// What a successful command says through its exit code.
pub enum Answer {
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

impl Streams<'_> {
    /// Prints bytes as they are, and flushes them: what is left in a buffer would be lost at exit.
    pub fn print(&mut self, bytes: &[u8]) -> Result<()> {
        self.out.write_all(bytes).and_then(|()| self.out.flush()).map_err(not_printed)
    }

    /// Prints a blob. It is of no use unless all of it is read, so a reader that closes its end is a failure here.
    pub fn print_blob(&mut self, bytes: &[u8]) -> Result<()> {
        self.out.write_all(bytes).and_then(|()| self.out.flush()).context("standard output")
    }

    /// Prints one value as JSON.
    pub fn print_json(&mut self, value: &impl serde::Serialize) -> Result<()> {
        let mut json = String::new();
        for c in serde_json::to_string_pretty(value).map_err(io::Error::from)?.chars() {
            // A character that isn't ASCII is inside a string, where an escape means the same.
            if c.is_ascii() && c != '\x7f' || is_plain(c) {
                json.push(c);
            } else {
                c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| json += &format!("\\u{unit:04x}"));
            }
        }
        self.print((json + "\n").as_bytes())
    }

    /// Prints rows of a name and a value, the values in one column.
    pub fn print_rows(&mut self, rows: &[Row]) -> Result<()> {
        self.print(text::rows(rows).concat().as_bytes())
    }

    /// Prints one line on standard error. It doesn't matter if that is closed.
    pub fn warn(&mut self, line: &str) {
        let _ = writeln!(self.err, "{}", escaped(line));
    }
}

/// Writes a line that was read, and its tags after a tab. Programs get the line unchanged; a terminal would obey it. Tags
/// are whatever the file says, so none may look like another line.
pub fn write_line(out: &mut impl Write, line: &[u8], tags: &str, terminal: bool) -> Result<()> {
    let shown = if terminal {
        escaped(&String::from_utf8_lossy(line)).into_bytes().into()
    } else {
        Cow::Borrowed(line)
    };
    let tags = if tags.is_empty() { "\n".to_owned() } else { format!("\t{}\n", escaped(tags)) };
    out.write_all(&shown).and_then(|()| out.write_all(tags.as_bytes())).map_err(not_printed)
}

/// Whoever reads standard output has closed it.
#[derive(Debug)]
pub struct Closed;

impl std::fmt::Display for Closed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("standard output")
    }
}

/// The error of printing.
pub fn not_printed(error: io::Error) -> anyhow::Error {
    let closed = error.kind() == io::ErrorKind::BrokenPipe;
    let error = anyhow::Error::from(error);
    if closed { error.context(Closed) } else { error.context("standard output") }
}

/// Whether nobody reads standard output any more. A file that can't be written is a failure.
pub fn is_closed(error: &anyhow::Error) -> bool {
    error.is::<Closed>()
}

/// Ignores the error if nobody reads what was printed.
pub fn unless_closed(printed: Result<()>) -> Result<()> {
    printed.or_else(|error| if is_closed(&error) { Ok(()) } else { Err(error) })
}
