//! Everything that people see is printed here. A blob, a list or a file name may contain what a terminal obeys, or line
//! ends that forge our lines. Both are escaped here.

use std::io;

use anyhow::{Context, Result};

use super::Streams;

impl Streams<'_> {
    /// Prints bytes as they are, and flushes them: what is left in a buffer would be lost at exit.
    pub(super) fn print(&mut self, bytes: &[u8]) -> Result<()> {
        self.out.write_all(bytes).and_then(|()| self.out.flush()).map_err(not_printed)
    }

    /// Prints a blob. It is of no use unless all of it is read, so a reader that closes its end is a failure here.
    pub(super) fn print_blob(&mut self, bytes: &[u8]) -> Result<()> {
        self.out.write_all(bytes).and_then(|()| self.out.flush()).context("standard output")
    }

    /// Prints one value as JSON.
    pub(super) fn print_json(&mut self, value: &impl serde::Serialize) -> Result<()> {
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
    pub(super) fn print_rows(&mut self, rows: &[(&str, String)]) -> Result<()> {
        self.print(self::rows(rows).concat().as_bytes())
    }

    /// Prints one line on standard error. It doesn't matter if that is closed.
    pub(super) fn warn(&mut self, line: &str) {
        let _ = writeln!(self.err, "{}", escaped(line));
    }
}

/// Rows of a name and a value as lines, the values in one column.
pub fn rows(rows: &[(&str, String)]) -> Vec<String> {
    let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    rows.iter().map(|(name, value)| format!("{name:width$}  {}\n", escaped(value))).collect()
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

/// Escapes what moves the cursor, colours the screen, changes the direction of writing or can't be seen. Letters of
/// every language stay as they are.
pub fn escaped(text: &str) -> String {
    escape(text.chars(), |c| is_plain(c) || matches!(c, '"' | '\\'))
}

/// The first 100 characters of a line of a list, in quotes.
pub fn quoted(line: &[u8]) -> String {
    format!("\"{}\"", escape(String::from_utf8_lossy(line).chars().take(100), is_plain))
}

fn escape(text: impl Iterator<Item = char>, keeps: impl Fn(char) -> bool) -> String {
    let mut escaped = String::new();
    for c in text {
        if keeps(c) { escaped.push(c) } else { escaped.extend(c.escape_debug()) }
    }
    escaped
}

/// Whether Rust would print a character as itself within a text. It escapes a combining mark only at the start of a
/// text.
fn is_plain(c: char) -> bool {
    c == '\'' || format!("a{c}").escape_debug().count() == 2
}

/// 1234567 as 1,234,567.
pub fn grouped(number: u64) -> String {
    indicatif::HumanCount(number).to_string()
}

/// A rate in a readable number of digits.
pub fn rate(rate: f64) -> String {
    if rate == 0.0 || rate >= 0.001 { format!("{rate:.6}") } else { format!("{rate:.3e}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_stay_and_what_a_terminal_obeys_is_escaped() {
        for plain in ["größer", "e\u{301}", "हिन्दी", "עברית", "東京", "👍", "a \"b\" 'c' C:\\d", "\\n"]
        {
            assert_eq!(escaped(plain), plain);
        }
        assert_eq!(escaped("a\nb\r\t\0\x1b[2J\x7f"), r"a\nb\r\t\0\u{1b}[2J\u{7f}");
        // A C1 control character, line and paragraph separators, direction marks, characters without width.
        let hidden = "\u{9b}\u{85}\u{2028}\u{2029}\u{202e}\u{2066}\u{200f}\u{61c}\u{200b}\u{feff}\u{e0041}";
        for c in hidden.chars() {
            assert_eq!(escaped(&format!("a{c}b")), format!("a\\u{{{:x}}}b", u32::from(c)));
        }
        assert_eq!(quoted(b"a\"\\'\n\xff"), "\"a\\\"\\\\'\\n\u{fffd}\"");
        assert_eq!(quoted(&[b'x'; 200]).len(), 102);
    }
}
