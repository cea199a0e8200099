//! Splits text into keys, one per line, by the rules that all list readers share. Imports no other module.

use memchr::memchr;

/// The keys in a text. Lines end at LF, and one CR before it is dropped. A final LF starts no further line. A blank
/// line is an empty slice: builders skip it, and queries answer "definitely absent".
pub fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let length = memchr(b'\n', rest).map_or(rest.len(), |at| at + 1);
        let (line, after) = rest.split_at(length);
        rest = after;
        Some(trim(line))
    })
}

/// A line without its LF, and without one CR before it.
pub fn trim(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits() {
        let split = |text: &'static str| lines(text.as_bytes()).collect::<Vec<_>>();
        assert_eq!(split(""), [b""; 0]);
        assert_eq!(split("\n"), [b""]);
        assert_eq!(split("a\r\nb\n\nc"), [b"a".as_slice(), b"b", b"", b"c"]);
        assert_eq!(split("a\r\r\n"), [b"a\r"]);
        assert_eq!(split("a\n"), [b"a"]);
    }
}
