//! How else a browser may read a URL. FORMAT.md section 10, "The second reading".

use super::unicode::{append_mapped, is_newer};
use super::{
    Canonical, Full, Platform, SPECIAL, append_unescaped, canonicalize, has_port, joined, part, punycode,
    scheme, special, split_at, too_large, utf8, without_port, without_user,
};
use crate::error::Result;
use crate::vectors::{append, copied, push};

/// How a browser takes [cleaned](clean) bytes apart, unless their scheme has no host.
struct Taken<'a> {
    scheme: &'static [u8],
    /// Without the user.
    host: &'a [u8],
    path: &'a [u8],
    /// With its question mark, or the fragment.
    query: &'a [u8],
    /// Whether the authority is ASCII without escapes.
    simple: bool,
}

impl<'a> Taken<'a> {
    fn of(input: &'a [u8]) -> Option<Self> {
        let named = scheme(input).and_then(|length| Some((special(&input[..length])?, &input[length + 1..])));
        let (scheme, rest) = match (named, input) {
            (Some(named), _) => named,
            (None, [b'?' | b'#', ..]) => return None,
            (None, [b'/', rest @ ..]) if !matches!(rest, [b'/' | b'\\', ..]) => return None,
            (None, _) if scheme(input).is_some() && !has_port(input) => return None,
            (None, _) => (SPECIAL[0], input),
        };
        let slashes = rest.iter().take_while(|byte| matches!(byte, b'/' | b'\\')).count();
        let (authority, rest) = split_at(&rest[slashes..], b"/\\?#");
        let (path, query) = split_at(rest, b"?#");
        let simple = authority.iter().all(|&byte| byte.is_ascii() && byte != b'%');
        Some(Taken { scheme, host: without_user(authority), path, query, simple })
    }

    /// Whether the host has characters that aren't ASCII.
    fn is_international(&self) -> Result<bool> {
        let mut host = Vec::new();
        append_unescaped(&mut host, self.host).map_err(|Full| too_large(self.host))?;
        Ok(!host.is_ascii())
    }

    /// The host with the characters of the newest tables, and its port.
    fn modern_host(&self) -> Result<Vec<u8>> {
        // Twice, because what one round makes of a character may complete an escape.
        modern_host(&modern_host(self.host)?)
    }
}

/// Whether the host of [cleaned](clean) bytes is longer than any that a browser opens. Parsers may take minutes for it.
pub(super) fn has_long_label(input: &[u8]) -> Result<bool> {
    match Taken::of(input) {
        Some(taken) if taken.host.len() >= LONG_LABEL => {
            Ok(taken.modern_host()?.split(|&byte| byte == b'.').any(is_long))
        }
        _ => Ok(false),
    }
}

/// Another way in which a URL may be read.
pub(super) struct Second {
    pub(super) url: Canonical<'static>,
    /// Whether the host wasn't ASCII, and is an international one by the newest tables.
    pub(super) is_international: bool,
}

/// How a browser may read [cleaned](clean) bytes that the platform's parser refused or reads by another version of
/// Unicode: with an international host, or with a host that has an invalid label.
pub(super) fn second_reading(
    platform: &impl Platform,
    input: &[u8],
    refused: bool,
) -> Result<Option<Second>> {
    let Some(taken) = Taken::of(input).filter(|taken| refused || !taken.simple) else { return Ok(None) };
    let host = taken.modern_host()?;
    let host = without_port(&host);

    let mut text = Vec::new();
    append(&mut text, taken.scheme)?;
    append(&mut text, b"://")?;
    let mut is_international = taken.is_international()?;
    let mut rest = Some(host);
    if host.starts_with(b"[") && host.len() < LONG_LABEL {
        for char in String::from_utf8_lossy(host).chars() {
            let mut room = [0; 4];
            let char = char.encode_utf8(&mut room).as_bytes();
            append(&mut text, &mapped(platform, char, &mut is_international)?)?;
        }
        rest = None;
    }
    // No name has more labels.
    for _ in 0..128 {
        let Some(label) = part(&mut rest, b'.') else { break };
        append(&mut text, &mapped(platform, label, &mut is_international)?)?;
        if rest.is_some() {
            push(&mut text, b'.')?;
        }
    }
    if rest.is_some() {
        return Ok(None);
    }
    for &byte in taken.path {
        push(&mut text, if byte == b'\\' { b'/' } else { byte })?;
    }
    append(&mut text, taken.query)?;
    Ok(canonicalize(text)?.map(|url| Second { url, is_international }))
}

/// A host without escapes, and with the characters of the newest tables.
fn modern_host(host: &[u8]) -> Result<Vec<u8>> {
    let mut escaped = Vec::new();
    append_unescaped(&mut escaped, host).map_err(|Full| too_large(host))?;
    let mut out = Vec::new();
    for chunk in escaped.utf8_chunks() {
        for char in chunk.valid().chars() {
            append_mapped(&mut out, char)?;
        }
        append(&mut out, chunk.invalid())?;
    }
    Ok(out)
}

/// No label that becomes one of 63 characters is this long, but a number with zeros before it. A parser may take
/// quadratic time for a longer one.
const LONG_LABEL: usize = 1000;
/// No number has as many bytes besides its zeros.
const LONG_NUMBER: usize = 64;

fn is_long(label: &[u8]) -> bool {
    label.len() >= LONG_LABEL && label.iter().filter(|&&byte| byte != b'0').nth(LONG_NUMBER - 1).is_some()
}

/// An international label, or a character of an address, in ASCII. It stays as it is if it is too long or can't be one.
/// `is_international` becomes false unless it is one by the newest tables.
fn mapped(platform: &impl Platform, label: &[u8], is_international: &mut bool) -> Result<Vec<u8>> {
    if label.is_ascii() {
        return copied(label);
    }
    if !is_long(label) {
        if let Some(parsed) = parsed(platform, label)? {
            return Ok(parsed);
        }
        if let Ok(text) = str::from_utf8(label)
            && !text.chars().any(is_forbidden)
        {
            return newer(platform, text, is_international);
        }
    }
    *is_international = false;
    copied(label)
}

/// What the platform's parser makes of a label; none if it refuses that.
fn parsed(platform: &impl Platform, label: &[u8]) -> Result<Option<Vec<u8>>> {
    let mut url = joined("http://", label)?;
    append(&mut url, b".a/")?;
    let href = platform.parse_url(&utf8(&url)?)?;
    let label = href.as_deref().and_then(|href| href.strip_prefix(b"http://")?.strip_suffix(b".a/"));
    label.map(copied).transpose()
}

/// Whether no version of Unicode will allow a character in a label: the URL Standard's forbidden domain code points,
/// and what stands for bytes that were no text.
fn is_forbidden(char: char) -> bool {
    matches!(char, '\0'..=' ' | '#' | '%' | '/' | ':' | '<' | '>' | '?' | '@' | '['..='^' | '|' | '\x7F' | '\u{FFFD}')
}

/// A label that the platform's parser refuses, as a parser with newer tables may read it: what the platform's makes of
/// each character, by itself or after a letter that combines with none, since a label can't begin with a mark. What it
/// doesn't know is newer than its tables.
fn newer(platform: &impl Platform, label: &str, is_international: &mut bool) -> Result<Vec<u8>> {
    let mut text = Vec::new();
    let mut has_newer = false;
    for char in label.chars() {
        if char.is_ascii() {
            push(&mut text, char.to_ascii_lowercase() as u8)?;
            continue;
        }
        let mut room = [0; 4];
        let utf8 = char.encode_utf8(&mut room);
        let known = match known(platform, b"", utf8)? {
            None => known(platform, "中".as_bytes(), utf8)?,
            known => known,
        };
        match known {
            Some(known) => append(&mut text, &known)?,
            None => {
                append(&mut text, &platform.normalize(utf8, true)?)?;
                has_newer = true;
                *is_international &= is_newer(char);
            }
        }
    }
    *is_international &= has_newer;
    let text = platform.normalize(&utf8(&text)?, false)?;
    let mut ascii = Vec::new();
    // Some characters stand for a dot, and more.
    let mut rest = Some(&text[..]);
    while let Some(label) = part(&mut rest, b'.') {
        append(&mut ascii, &punycode::encode(&utf8(label)?)?)?;
        if rest.is_some() {
            push(&mut ascii, b'.')?;
        }
    }
    Ok(ascii)
}

/// What the platform's parser makes of a character after a text; none if it refuses both together.
#[inline(never)]
fn known(platform: &impl Platform, before: &[u8], char: &str) -> Result<Option<Vec<u8>>> {
    let mut label = copied(before)?;
    append(&mut label, char.as_bytes())?;
    let Some(label) = parsed(platform, &label)? else { return Ok(None) };
    let label = punycode::decode(&label)?;
    label.as_deref().and_then(|label| label.strip_prefix(before)).map(copied).transpose()
}
