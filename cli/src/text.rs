//! Words for people. A blob, a list or a file name may contain what a terminal obeys, or line ends that forge our lines:
//! both are escaped here.

use std::fmt::Write as _;
use std::io;
use std::time::{Duration, SystemTime};

/// A name and a value.
pub type Row = (&'static str, String);

/// Rows of a name and a value as lines, the values in one column.
pub fn rows(rows: &[Row]) -> Vec<String> {
    let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    rows.iter().map(|(name, value)| format!("{name:width$}  {}\n", escaped(value))).collect()
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
pub fn is_plain(c: char) -> bool {
    c == '\'' || format!("a{c}").escape_debug().count() == 2
}

/// 1234567 as 1,234,567.
pub fn grouped(number: u64) -> String {
    indicatif::HumanCount(number).to_string()
}

/// A number and its noun: "1 key", "1,234 keys".
pub fn counted(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", grouped(number), if number == 1 { one } else { many })
}

/// How many entries repeat a key, as the end of a phrase; nothing if there are none.
pub fn repeated_in_words(entries: u64) -> String {
    if entries == 0 { String::new() } else { format!(", {} repeated", grouped(entries)) }
}

/// How many keys others cover, as the end of a phrase; nothing if there are none.
pub fn covered_in_words(keys: u64) -> String {
    if keys == 0 { String::new() } else { format!(", {} covered by others", grouped(keys)) }
}

/// How much a key takes, as the end of a phrase; nothing without keys.
pub fn per_key(bytes: u64, count: u64) -> String {
    if count == 0 { String::new() } else { format!(", {:.2} bits a key", bytes as f64 * 8.0 / count as f64) }
}

/// An estimate of how many keys a filter holds, which is infinite if every bit is set.
pub fn about(keys: f64) -> String {
    if keys.is_finite() {
        format!("about {}", grouped(keys.round() as u64))
    } else {
        "too many to tell: every bit is set".to_owned()
    }
}

/// The tags of a filter, and how many keys have each.
pub fn tags_in_words<'a>(tags: impl Iterator<Item = (&'a str, Option<impl Into<u64>>)>) -> String {
    let tags = tags.map(|(name, count)| match count {
        Some(count) => format!("{name} {}", grouped(count.into())),
        None => name.to_owned(),
    });
    let tags: Vec<_> = tags.collect();
    if tags.is_empty() { "none".to_owned() } else { tags.join(", ") }
}

/// A rate in a readable number of digits.
pub fn rate(rate: f64) -> String {
    if rate == 0.0 || rate >= 0.001 { format!("{rate:.6}") } else { format!("{rate:.3e}") }
}

/// A time in milliseconds since 1970.
pub fn time_in_words(milliseconds: u64) -> String {
    let time = SystemTime::UNIX_EPOCH.checked_add(Duration::from_millis(milliseconds));
    let mut text = String::new();
    match time.map(|time| write!(text, "{}", humantime::format_rfc3339_seconds(time))) {
        Some(Ok(())) => text,
        // humantime can't print a year of five digits.
        _ => format!("{} ms after 1970, later than the year 9999", grouped(milliseconds)),
    }
}

/// What `info` says of the secret.
pub fn keyed_in_words(keyed: bool) -> String {
    if keyed { "yes: it answers only with its secret" } else { "no" }.to_owned()
}

/// An error and its causes, without the operating system's error numbers.
pub fn in_words(error: &anyhow::Error) -> String {
    let words = error.chain().map(|cause| {
        let number = cause.downcast_ref::<io::Error>().and_then(io::Error::raw_os_error);
        let words = cause.to_string();
        number
            .and_then(|number| words.strip_suffix(&format!(" (os error {number})")))
            .map_or(words.clone(), str::to_owned)
    });
    let mut words: Vec<_> = words.collect();
    // Who reads a file names it, and so may whoever asked for it.
    words.dedup();
    words.join(": ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_estimate_is_rounded() {
        for (keys, words) in [
            (0.0, "about 0"),
            (999.5, "about 1,000"),
            (1234.4, "about 1,234"),
            (f64::INFINITY, "too many to tell: every bit is set"),
        ] {
            assert_eq!(about(keys), words);
        }
    }

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
