//! Splits text into keys, one per line, by the rules that all list readers share.
// Imports no other module.

/// The lines of a text. Lines end at LF, and one CR before it is dropped. A final LF starts no further line. A blank line is
/// an empty slice, and no key: [`Builder::keys`](crate::Builder#method.keys) says how to skip it.
pub fn lines(text: &[u8]) -> Lines<'_> {
    Lines { rest: text }
}

/// The iterator that [`lines`] returns.
#[derive(Debug, Clone)]
pub struct Lines<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Lines<'a> {
    type Item = &'a [u8];

    // Inlined, like the search, because lines are short: a call would cost as much as the line.
    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        if self.rest.is_empty() {
            return None;
        }
        let (line, rest) = self.rest.split_at(line_length(self.rest));
        self.rest = rest;
        Some(trim(line))
    }
}

/// The length of the first line with its LF, found eight bytes at a time.
#[inline]
fn line_length(text: &[u8]) -> usize {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    let (words, _) = text.as_chunks::<8>();
    for (i, &word) in words.iter().enumerate() {
        // LF bytes become 0. The lowest 0 byte is the lowest byte whose high bit is set in the difference.
        let zeros = u64::from_le_bytes(word) ^ ONES * u64::from(b'\n');
        let found = zeros.wrapping_sub(ONES) & !zeros & ONES << 7;
        if found != 0 {
            return 8 * i + found.trailing_zeros() as usize / 8 + 1;
        }
    }
    let last = words.len() * 8;
    text.iter().skip(last).position(|&byte| byte == b'\n').map_or(text.len(), |at| last + at + 1)
}

/// A line without its LF, and without one CR before it.
#[inline]
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
