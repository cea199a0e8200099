//! How else a browser may read a URL. FORMAT.md section 10, "The second reading".

use super::{
    Canonical, Full, Platform, SPECIAL, append_unescaped, canonicalize, has_port, joined, part, scheme,
    special, split_at, too_large, utf8, without_port, without_user,
};
use crate::error::Result;
use crate::vectors::{append, copied, push};

/// How a browser may read [cleaned](clean) bytes that the platform's parser refused or reads by another version of
/// Unicode: with an international host, or with a host that has an invalid label.
pub(super) fn second_reading(
    platform: &impl Platform,
    input: &[u8],
    refused: bool,
) -> Result<Option<Canonical<'static>>> {
    let named = scheme(input).and_then(|length| Some((special(&input[..length])?, &input[length + 1..])));
    let (scheme, rest) = match (named, input) {
        (Some(named), _) => named,
        (None, [b'?' | b'#', ..]) => return Ok(None),
        (None, [b'/', rest @ ..]) if !matches!(rest, [b'/' | b'\\', ..]) => return Ok(None),
        (None, _) if scheme(input).is_some() && !has_port(input) => return Ok(None),
        (None, _) => (SPECIAL[0], input),
    };
    let slashes = rest.iter().take_while(|byte| matches!(byte, b'/' | b'\\')).count();
    let (authority, rest) = split_at(rest.get(slashes..).unwrap_or_default(), b"/\\?#");
    let (path, query) = split_at(rest, b"?#");
    if !refused && authority.iter().all(|&byte| byte.is_ascii() && byte != b'%') {
        return Ok(None);
    }

    let mut host = copied(without_user(authority))?;
    // Twice, because what one round makes of a character may complete an escape.
    for _ in 0..2 {
        host = modern_host(&host)?;
    }
    let host = without_port(&host);

    let mut text = Vec::new();
    append(&mut text, scheme)?;
    append(&mut text, b"://")?;
    let mut rest = Some(host);
    if host.starts_with(b"[") && host.len() < LONG_LABEL {
        for char in String::from_utf8_lossy(host).chars() {
            append(&mut text, &mapped(platform, char.encode_utf8(&mut [0; 4]).as_bytes())?)?;
        }
        rest = None;
    }
    // No name has more labels.
    for _ in 0..128 {
        let Some(label) = part(&mut rest, b'.') else { break };
        append(&mut text, &mapped(platform, label)?)?;
        if rest.is_some() {
            push(&mut text, b'.')?;
        }
    }
    for &byte in path {
        push(&mut text, if byte == b'\\' { b'/' } else { byte })?;
    }
    append(&mut text, query)?;
    if rest.is_some() { Ok(None) } else { canonicalize(text) }
}

/// A host without escapes, and with the characters of the newest tables.
fn modern_host(host: &[u8]) -> Result<Vec<u8>> {
    let mut escaped = Vec::new();
    append_unescaped(&mut escaped, host).map_err(|Full| too_large(host))?;
    let mut out = Vec::new();
    for chunk in escaped.utf8_chunks() {
        for char in chunk.valid().chars().filter_map(modern) {
            append(&mut out, char.encode_utf8(&mut [0; 4]).as_bytes())?;
        }
        append(&mut out, chunk.invalid())?;
    }
    Ok(out)
}

/// No label that becomes one of 63 characters is this long. A parser may take quadratic time for longer ones.
const LONG_LABEL: usize = 1000;

/// An international label, or a character of an address, in ASCII. It stays as it is if it is too long or the parser
/// refuses it.
fn mapped(platform: &impl Platform, label: &[u8]) -> Result<Vec<u8>> {
    if !label.is_ascii() && label.len() < LONG_LABEL {
        let mut url = joined("http://", label)?;
        append(&mut url, b".a/")?;
        let href = platform.parse_url(&utf8(&url)?)?.unwrap_or_default();
        if let Some(label) = href.strip_prefix(b"http://").and_then(|href| href.strip_suffix(b".a/")) {
            return copied(label);
        }
    }
    copied(label)
}

/// Maps a character of a host as the newest tables of UTS #46 (Unicode 17) do, where older tables refuse it or differ.
/// `None` if it is invisible: Default_Ignorable_Code_Point in DerivedCoreProperties.txt.
fn modern(char: char) -> Option<char> {
    match char {
        '\u{AD}' | '\u{34F}' | '\u{61C}' | '\u{115F}'..='\u{1160}' | '\u{17B4}'..='\u{17B5}' => None,
        '\u{180B}'..='\u{180F}' | '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}' => None,
        '\u{2060}'..='\u{206F}' | '\u{3164}' | '\u{FE00}'..='\u{FE0F}' | '\u{FEFF}' | '\u{FFA0}' => None,
        '\u{FFF0}'..='\u{FFF8}' | '\u{1BCA0}'..='\u{1BCA3}' | '\u{1D173}'..='\u{1D17A}' => None,
        '\u{E0000}'..='\u{E0FFF}' => None,
        // Dots, percent signs, and all the other full-width characters.
        '\u{3002}' | '\u{FF61}' => Some('.'),
        '\u{FE6A}' => Some('%'),
        '\u{FF01}'..='\u{FF5E}' => char::from_u32(u32::from(char) - 0xFEE0),
        // The capital of the German letter. Older tables turn it into ss.
        '\u{1E9E}' => Some('ß'),
        '\u{A7F1}' => Some('s'),
        // Outlined letters and digits.
        '\u{1CCD6}'..='\u{1CCEF}' => char::from_u32(u32::from(char) - 0x1CCD6 + u32::from('a')),
        '\u{1CCF0}'..='\u{1CCF9}' => char::from_u32(u32::from(char) - 0x1CCF0 + u32::from('0')),
        _ => Some(char),
    }
}
