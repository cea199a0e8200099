//! Text to keys, one key a line: the rules that every list reader here shares. Knows no other module.

/// The keys in a text: lines end at LF, one trailing CR is dropped, and a final LF starts no further line.
/// A blank line is an empty slice, which builders skip and queries answer with "definitely absent".
pub fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = text;
    core::iter::from_fn(move || next(&mut rest))
}

/// Splits off one line. Not inlined: wasm has three callers.
#[inline(never)]
fn next<'a>(text: &mut &'a [u8]) -> Option<&'a [u8]> {
    let line = text.split_inclusive(|&byte| byte == b'\n').next()?;
    *text = &text[line.len()..];
    Some(trim(line))
}

/// One line without its LF, and without one CR before that.
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
