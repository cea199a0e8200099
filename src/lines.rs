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
    if text.is_empty() {
        return None;
    }
    let mut rest = *text;
    // Eight bytes at a time, which in wasm is four times as fast as one by one.
    while let Some((&eight, after)) = rest.split_first_chunk()
        && !has_lf(eight)
    {
        rest = after;
    }
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte == b'\n' {
            break;
        }
    }
    let line = text.get(..text.len() - rest.len())?;
    *text = rest;
    Some(trim(line))
}

/// Whether one of the bytes is LF: then a byte of their difference from LFs is 0, which alone borrows from the next when
/// 1 is subtracted from each. Mycroft 1987, <https://graphics.stanford.edu/~seander/bithacks.html#ZeroInWord>.
fn has_lf(eight: [u8; 8]) -> bool {
    let ones = u64::from_le_bytes([1; 8]);
    let difference = u64::from_le_bytes(eight) ^ u64::from_le_bytes([b'\n'; 8]);
    difference.wrapping_sub(ones) & !difference & ones << 7 != 0
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

    #[test]
    fn finds_the_first_lf_wherever_it_is() {
        // Bytes that differ from LF in one bit, and by one.
        let others = [0, 9, 11, 0x8a, 0x0b, 0xff];
        for length in 0..40 {
            for at in 0..=length {
                for other in others {
                    let mut text = vec![other; length];
                    if let Some(byte) = text.get_mut(at) {
                        *byte = b'\n';
                    }
                    let mut rest = text.as_slice();
                    let line = next(&mut rest);
                    assert_eq!(line.map(<[u8]>::len), (length > 0).then_some(at), "{length} {other}");
                    assert_eq!(rest.len(), length.saturating_sub(at + 1));
                }
            }
        }
    }
}
