//! How else a browser may read a URL. FORMAT.md section 10, "The second reading".

use super::super::platform::Platform;
use super::canonical::{Canonical, canonicalize, without_dots};
use super::punycode;
use super::text::{
    Full, SPECIAL, append_unescaped, has_port, joined, part, scheme, special, split_at, too_large, utf8,
    without_port, without_user,
};
use super::unicode::{append_mapped, is_newer};
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

    /// The host without escapes, once.
    fn unescaped(&self) -> Result<Vec<u8>> {
        let mut host = Vec::new();
        append_unescaped(&mut host, self.host).map_err(|Full| too_large(self.host))?;
        Ok(host)
    }

    /// The host with the characters of the newest tables, and its port.
    fn modern_host(&self, joiners: bool) -> Result<Vec<u8>> {
        // Twice, because what one round makes of a character may complete an escape.
        modern_host(&modern_host(self.host, joiners)?, joiners)
    }
}

/// Whether the host of [cleaned](clean) bytes is longer than any that a browser opens. Parsers may take minutes for it.
pub(super) fn has_long_host(input: &[u8]) -> Result<bool> {
    match Taken::of(input) {
        Some(taken) if taken.host.len() >= LONG_LABEL => Ok(is_long(&taken.modern_host(false)?)),
        _ => Ok(false),
    }
}

/// Another way in which a URL may be read.
pub(super) struct Second {
    pub(super) url: Canonical<'static>,
    /// Whether this is how the newest parsers read it, which lists go by, and the platform's parser doesn't.
    pub(super) is_newer: bool,
}

/// How a browser may read [cleaned](clean) bytes that the platform's parser refused or reads by another version of
/// Unicode: with an international host, or with a host that has an invalid label.
pub(super) fn second_reading(
    platform: &impl Platform,
    input: &[u8],
    refused: bool,
) -> Result<Option<Second>> {
    let Some(taken) = Taken::of(input).filter(|taken| refused || !taken.simple) else { return Ok(None) };
    let unescaped = taken.unescaped()?;
    // Only if they may be dropped is it another reading than the parser's.
    let host = taken.modern_host(refused)?;
    let host = without_port(&host);
    let mut labels = Labels { platform, is_long: is_long(host), is_newer: refused };
    // The only character that older tables map, and differently. Its capital stands for two letters there.
    let has_sharp_s = unescaped.windows(3).any(|bytes| bytes == "\u{1E9E}".as_bytes());
    let may_be_newer = match refused {
        true => !unescaped.is_ascii() || host.split(|&byte| byte == b'.').any(punycode::has_prefix),
        false => has_sharp_s,
    };

    let mut text = Vec::new();
    append(&mut text, taken.scheme)?;
    append(&mut text, b"://")?;
    let mut rest = Some(host);
    if host.starts_with(b"[") && host.len() < LONG_LABEL {
        for char in String::from_utf8_lossy(host).chars() {
            let mut room = [0; 4];
            append(&mut text, &labels.mapped(char.encode_utf8(&mut room).as_bytes())?)?;
        }
        rest = None;
    }
    // No name has more labels.
    for _ in 0..128 {
        let Some(label) = part(&mut rest, b'.') else { break };
        append(&mut text, &labels.mapped(label)?)?;
        if rest.is_some() {
            push(&mut text, b'.')?;
        }
    }
    if rest.is_some() {
        return Ok(None);
    }
    // As a parser does before any other escape is replaced.
    let mut path = copied(taken.path)?;
    path.iter_mut().filter(|byte| **byte == b'\\').for_each(|byte| *byte = b'/');
    append(&mut text, &without_dots(&path).map_err(|Full| too_large(input))?)?;
    append(&mut text, taken.query)?;
    let is_newer = may_be_newer && (labels.is_newer || !refused);
    Ok(canonicalize(text)?.map(|url| Second { url, is_newer }))
}

/// A host without escapes, and with the characters of the newest tables.
fn modern_host(host: &[u8], joiners: bool) -> Result<Vec<u8>> {
    let mut escaped = Vec::new();
    append_unescaped(&mut escaped, host).map_err(|Full| too_large(host))?;
    let mut out = Vec::new();
    for chunk in escaped.utf8_chunks() {
        for char in chunk.valid().chars() {
            match char {
                '\0'..='\x7F' => push(&mut out, char as u8)?,
                _ if joiners && is_joiner(char) => {
                    append(&mut out, char.encode_utf8(&mut [0; 4]).as_bytes())?
                }
                _ => append_mapped(&mut out, char)?,
            }
        }
        append(&mut out, chunk.invalid())?;
    }
    Ok(out)
}

/// Whether a character joins its neighbours or keeps them apart. Some browsers drop it, and others do so only where it
/// has no meaning.
fn is_joiner(char: char) -> bool {
    matches!(char, '\u{200C}' | '\u{200D}')
}

/// No label that becomes one of 63 characters is this long, but a number with zeros before it. A parser may take
/// quadratic time for a longer one.
const LONG_LABEL: usize = 1000;
/// No number has as many bytes besides its zeros.
const LONG_NUMBER: usize = 64;
/// No host that becomes one of 253 characters has as many bytes, besides zeros and empty labels.
const LONG_HOST: usize = 4096;

/// Whether a host is longer than any that a browser opens.
fn is_long(host: &[u8]) -> bool {
    let digits = |bytes: &[u8]| bytes.iter().filter(|&&byte| byte != b'0' && byte != b'.').count();
    digits(host) >= LONG_HOST
        || host
            .split(|&byte| byte == b'.')
            .any(|label| label.len() >= LONG_LABEL && digits(label) >= LONG_NUMBER)
}

/// The labels of a host on their way into ASCII.
struct Labels<'a, P> {
    platform: &'a P,
    /// Whether the host is longer than any that a browser opens.
    is_long: bool,
    /// Whether all labels so far are as the newest parsers read them.
    is_newer: bool,
}

impl<P: Platform> Labels<'_, P> {
    /// An international label, or a character of an address, in ASCII. It stays as it is if it can't be one.
    fn mapped(&mut self, label: &[u8]) -> Result<Vec<u8>> {
        if self.is_long {
            self.is_newer = false;
            return copied(label);
        }
        if label.is_ascii() && !(self.is_newer && punycode::has_prefix(label)) {
            return copied(label);
        }
        if let Some(parsed) = parsed(self.platform, label)? {
            return Ok(parsed);
        }
        if label.is_ascii() {
            // The newest parsers take it if it is what they would write.
            let mut lower = copied(label)?;
            lower.make_ascii_lowercase();
            let decoded = punycode::decode(&lower)?;
            self.is_newer &= match decoded {
                Some(text) => self.newer(&utf8(&text)?)? == lower,
                None => false,
            };
            return copied(label);
        }
        let text = match str::from_utf8(label) {
            Ok(text) if !text.chars().any(is_forbidden) => text,
            _ => {
                self.is_newer = false;
                return copied(label);
            }
        };
        let mut joined = Vec::new();
        for char in text.chars().filter(|&char| !is_joiner(char)) {
            append(&mut joined, char.encode_utf8(&mut [0; 4]).as_bytes())?;
        }
        if joined.len() < label.len() { self.mapped(&joined) } else { self.newer(text) }
    }

    /// A label that the platform's parser refuses, as a parser with newer tables may read it: what the platform's makes
    /// of each character, by itself or after a letter that combines with none, since a label can't begin with a mark.
    /// What it doesn't know is newer than its tables.
    fn newer(&mut self, label: &str) -> Result<Vec<u8>> {
        let platform = self.platform;
        let mut text = Vec::new();
        let mut has_newer = false;
        for char in label.chars() {
            if char.is_ascii() {
                push(&mut text, char.to_ascii_lowercase() as u8)?;
                continue;
            }
            has_newer |= is_newer(char);
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
                    self.is_newer &= is_newer(char);
                }
            }
        }
        self.is_newer &= has_newer;
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

/// What the platform's parser makes of a character after a text; none if it refuses both together.
#[cfg_attr(target_arch = "wasm32", inline(never))]
fn known(platform: &impl Platform, before: &[u8], char: &str) -> Result<Option<Vec<u8>>> {
    let mut label = copied(before)?;
    append(&mut label, char.as_bytes())?;
    let Some(label) = parsed(platform, &label)? else { return Ok(None) };
    let label = punycode::decode(&label)?;
    label.as_deref().and_then(|label| label.strip_prefix(before)).map(copied).transpose()
}
