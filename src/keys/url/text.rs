//! URLs as text: taking them apart, and escapes.

use std::borrow::Cow;
use std::str::Utf8Chunk;

use crate::error::{Error, Result};
use crate::vectors::{append, push, reserve};

pub(super) const HEX: &[u8; 16] = b"0123456789ABCDEF";

/// The schemes that have a host to check.
pub(super) const SPECIAL: [&[u8]; 5] = [b"http", b"https", b"ftp", b"ws", b"wss"];

pub(super) fn joined(prefix: &str, text: &[u8]) -> Result<Vec<u8>> {
    let mut joined = Vec::new();
    reserve(&mut joined, prefix.len() + text.len() + 1)?;
    append(&mut joined, prefix.as_bytes())?;
    append(&mut joined, text)?;
    Ok(joined)
}

/// The parser takes UTF-8. Other bytes are escaped, which gives the same result.
pub(super) fn utf8(input: &[u8]) -> Result<Cow<'_, str>> {
    if let Ok(text) = str::from_utf8(input) {
        return Ok(text.into());
    }
    let escaped = |chunk: Utf8Chunk| chunk.valid().len() + 3 * chunk.invalid().len();
    let mut text = String::new();
    text.try_reserve_exact(input.utf8_chunks().map(escaped).sum()).map_err(|_| too_large(input))?;
    for chunk in input.utf8_chunks() {
        text.push_str(chunk.valid());
        for byte in chunk.invalid() {
            text.extend(['%', HEX[usize::from(byte >> 4)].into(), HEX[usize::from(byte & 15)].into()]);
        }
    }
    Ok(text.into())
}

/// The input without tabs and line ends, and without blanks and control characters at both ends.
pub fn clean(input: &[u8]) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    let mut blanks = 0;
    for &byte in input {
        if !matches!(byte, b'\t' | b'\n' | b'\r') && (byte > b' ' || !out.is_empty()) {
            push(&mut out, byte)?;
            blanks = if byte > b' ' { 0 } else { blanks + 1 };
        }
    }
    out.truncate(out.len() - blanks);
    Ok(out)
}

/// There is no memory. Unlike [`Error`] it has no size, because it is passed on at every byte written.
pub(super) struct Full;

pub(super) fn too_large(input: &[u8]) -> Error {
    Error::TooLarge { bytes: input.len() as u64 }
}

/// Whether a parsed URL of this scheme has a host to check.
pub fn is_special(scheme: &[u8]) -> bool {
    special(scheme).is_some()
}

/// The scheme in lower case.
pub(super) fn special(scheme: &[u8]) -> Option<&'static [u8]> {
    SPECIAL.into_iter().find(|special| special.eq_ignore_ascii_case(scheme))
}

/// Whether this is `name:digits`, which the WHATWG parser takes for a scheme.
pub fn has_port(text: &[u8]) -> bool {
    let Some(length) = scheme(text) else { return false };
    let port = &text[length + 1..];
    let digits = port.iter().take_while(|byte| byte.is_ascii_digit()).count();
    digits > 0 && matches!(port.get(digits), None | Some(b'/' | b'?' | b'#'))
}

/// The prefix to parse a text with again, if the WHATWG parser refused it or its host looks like a scheme.
pub fn missing_scheme(text: &[u8]) -> Option<&'static str> {
    match text {
        [b'/', b'/', ..] => Some("http:"),
        [b'/' | b'?' | b'#', ..] => None,
        _ if scheme(text).is_some() && !has_port(text) => None,
        _ => Some("http://"),
    }
}

/// The length of the scheme before the first colon.
pub(super) fn scheme(text: &[u8]) -> Option<usize> {
    let other = |byte: &u8| !byte.is_ascii_alphanumeric() && !matches!(byte, b'+' | b'-' | b'.');
    let length = text.iter().position(other)?;
    (text.get(length) == Some(&b':') && text.first()?.is_ascii_alphabetic()).then_some(length)
}

/// The scheme in lower case, and the text from the authority on.
pub(super) fn split(text: &[u8]) -> Option<(&'static [u8], &[u8])> {
    let Some(length) = scheme(text) else {
        return Some((SPECIAL[0], text.strip_prefix(b"//").unwrap_or(text)));
    };
    let (name, rest) = text.split_at_checked(length)?;
    if let Some(rest) = rest.strip_prefix(b"://") {
        return Some((special(name)?, rest));
    }
    has_port(text).then_some((SPECIAL[0], text))
}

/// The text before the first of these bytes, and the rest from there on.
#[cfg_attr(target_arch = "wasm32", inline(never))]
pub(in crate::keys) fn split_at<'a>(text: &'a [u8], bytes: &[u8]) -> (&'a [u8], &'a [u8]) {
    let found = text.iter().position(|byte| bytes.contains(byte));
    text.split_at(found.unwrap_or(text.len()))
}

/// Splits off the part before the next separator. The rest is `None` after the last part.
#[cfg_attr(target_arch = "wasm32", inline(never))]
pub(super) fn part<'a>(rest: &mut Option<&'a [u8]>, separator: u8) -> Option<&'a [u8]> {
    let (part, more) = split_at((*rest)?, &[separator]);
    *rest = more.get(1..);
    Some(part)
}

/// The authority without the user.
pub(in crate::keys) fn without_user(authority: &[u8]) -> &[u8] {
    let user = authority.iter().rposition(|&byte| byte == b'@').map_or(0, |at| at + 1);
    &authority[user..]
}

/// A host without its port.
pub(super) fn without_port(host: &[u8]) -> &[u8] {
    let closing = if host.starts_with(b"[") { split_at(host, b"]").1 } else { host };
    let (_, port) = split_at(if closing.is_empty() { host } else { closing }, b":");
    &host[..host.len() - port.len()]
}

/// The text without escapes, even those that another escape stood for. The user is dropped while a slash in it is still
/// escaped, because a browser doesn't take such a user for the host.
pub(super) fn unescape(text: &[u8]) -> Result<Vec<u8>, Full> {
    let rest = split(text).map_or(&[][..], |(_, rest)| rest);
    let (authority, after) = split_at(rest, b"/");
    let before = &text[..text.len() - rest.len()];

    let mut out = with_room(text.len())?;
    for part in [before, without_user(authority), after] {
        append_unescaped(&mut out, part)?;
    }
    Ok(out)
}

/// Appends a text without its escapes, including those that arise when others are replaced.
pub(super) fn append_unescaped(out: &mut Vec<u8>, text: &[u8]) -> Result<(), Full> {
    for &byte in text {
        put_byte(out, byte)?;
        // Only the end is new, and its replacement may complete another escape.
        while let [.., b'%', high, low] = out[..]
            && let (Some(high), Some(low)) = (digit(high), digit(low))
        {
            out.truncate(out.len() - 3);
            put(out, &[high << 4 | low])?;
        }
    }
    Ok(())
}

/// The text with each escape replaced once.
pub(super) fn unescaped_once(text: &[u8]) -> Result<Vec<u8>, Full> {
    let mut out = with_room(text.len())?;
    let mut rest = text;
    while let [byte, more @ ..] = rest {
        let (byte, more) = match more {
            [high, low, after @ ..] if *byte == b'%' => match (digit(*high), digit(*low)) {
                (Some(high), Some(low)) => (high << 4 | low, after),
                _ => (*byte, more),
            },
            _ => (*byte, more),
        };
        put_byte(&mut out, byte)?;
        rest = more;
    }
    Ok(out)
}

/// Whether a byte isn't escaped.
pub(super) const fn stays(byte: u8) -> bool {
    matches!(byte, b'!'..=b'~') && !matches!(byte, b'#' | b'%')
}

/// Appends the bytes. Those that can't be in a URL, or would start an escape, are escaped.
#[cfg_attr(target_arch = "wasm32", inline(never))]
pub(super) fn escape(out: &mut Vec<u8>, bytes: &[u8]) -> Result<(), Full> {
    for &byte in bytes {
        if stays(byte) {
            put_byte(out, byte)?;
        } else {
            put(out, &[b'%', HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]])?;
        }
    }
    Ok(())
}

/// The same for a path, in which a question mark would begin the query.
pub(super) fn escape_path(out: &mut Vec<u8>, path: &[u8]) -> Result<(), Full> {
    for (i, part) in path.split(|&byte| byte == b'?').enumerate() {
        if i > 0 {
            put(out, b"%3F")?;
        }
        escape(out, part)?;
    }
    Ok(())
}

/// The value of a hexadecimal digit.
pub(super) fn digit(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        _ => match byte | 32 {
            lower @ b'a'..=b'f' => Some(lower - b'a' + 10),
            _ => None,
        },
    }
}

/// A vector with room for some bytes.
pub(super) fn with_room(bytes: usize) -> Result<Vec<u8>, Full> {
    let mut out = Vec::new();
    reserve(&mut out, bytes).map_err(|_| Full)?;
    Ok(out)
}

/// [`put`] of one byte.
#[inline]
pub(super) fn put_byte(out: &mut Vec<u8>, byte: u8) -> Result<(), Full> {
    push(out, byte).map_err(|_| Full)
}

#[cfg_attr(target_arch = "wasm32", inline(never))]
pub(super) fn put(out: &mut Vec<u8>, bytes: &[u8]) -> Result<(), Full> {
    append(out, bytes).map_err(|_| Full)
}
