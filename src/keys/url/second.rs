//! How else a browser may read a URL. FORMAT-URLS.md, "The second reading".

use super::super::platform::Platform;
use super::canonical::{Canonical, canonicalize, single_slashes, without_dots};
use super::punycode;
use super::text::{
    Full, SPECIAL, append_unescaped, escape_path, has_port, joined, part, put, scheme, special, split_at,
    too_large, unescaped_once, utf8, with_room, without_port, without_user,
};
use super::unicode::{append_mapped, is_newer};
use crate::error::Result;
use crate::vectors::{append, copied, push};

/// How a browser splits [cleaned](clean) bytes, unless their scheme has no host.
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

    /// What a parser makes of the path, before it replaces any other escape.
    #[cfg_attr(target_arch = "wasm32", inline(never))]
    fn parsed_path(&self) -> Result<Vec<u8>> {
        let mut path = copied(self.path)?;
        path.iter_mut().filter(|byte| **byte == b'\\').for_each(|byte| *byte = b'/');
        without_dots(&path).map_err(|Full| too_large(&path))
    }

    /// The host without escapes, once.
    fn unescaped(&self) -> Result<Vec<u8>> {
        let mut host = Vec::new();
        append_unescaped(&mut host, self.host).map_err(|Full| too_large(self.host))?;
        Ok(host)
    }

    /// The host with the characters of the newest tables, and its port. With `joiners`, the joiners stay. With `older`,
    /// U+1E9E, the only character that older tables map differently, is mapped as by them.
    fn modern_host(&self, joiners: bool, older: bool) -> Result<Vec<u8>> {
        // Twice, because what one round makes of a character may complete an escape.
        modern_host(&modern_host(self.host, joiners, older)?, joiners, older)
    }
}

/// Where a host finds a page if it takes the escapes of [cleaned](clean) bytes literally, or replaces each of them once, and
/// the canonical form may be elsewhere: folders above the page, or a path and a query. FORMAT-URLS.md, "The folders
/// of an escaped path".
#[cfg_attr(target_arch = "wasm32", inline(never))]
pub(super) fn escaped_folders(input: &[u8]) -> Result<Vec<Vec<u8>>> {
    let Some(taken) = Taken::of(input).filter(|taken| taken.path.contains(&b'%')) else {
        return Ok(Vec::new());
    };
    let literal = taken.parsed_path()?;
    let mut found = Vec::new();
    let mut folders = || -> Result<(), Full> {
        if !push_folders(&mut found, &literal)? {
            return Ok(());
        }
        let mut once = unescaped_once(&literal)?;
        loop {
            let mut path = with_room(once.len())?;
            escape_path(&mut path, &single_slashes(&once)?)?;
            let mut path = without_dots(&path)?;
            push_folders(&mut found, &path)?;
            put(&mut path, taken.query)?;
            push(&mut found, path).map_err(|_| Full)?;
            // Once more, with backslashes as slashes.
            if !once.contains(&b'\\') {
                return Ok(());
            }
            once.iter_mut().filter(|byte| **byte == b'\\').for_each(|byte| *byte = b'/');
        }
    };
    folders().map_err(|Full| too_large(input))?;
    Ok(found)
}

/// Adds the folders before the first two parts of a path whose escapes stand for a part `..`. Returns whether there is
/// such a part. Two, since an entry of a list may have one itself.
fn push_folders(found: &mut Vec<Vec<u8>>, path: &[u8]) -> Result<bool, Full> {
    let (mut end, mut hidden) = (0, 0);
    for part in path.split_inclusive(|&byte| byte == b'/') {
        let mut plain = with_room(part.len())?;
        append_unescaped(&mut plain, part)?;
        if plain.split(|byte| b"/\\".contains(byte)).any(|part| part == b"..") {
            push(found, copied(&path[..end]).map_err(|_| Full)?).map_err(|_| Full)?;
            hidden += 1;
        }
        if hidden == 2 {
            break;
        }
        end += part.len();
    }
    Ok(hidden > 0)
}

/// Whether the host of [cleaned](clean) bytes is longer than any that a browser opens. Parsers may take minutes for it.
pub(super) fn has_long_host(input: &[u8]) -> Result<bool> {
    match Taken::of(input) {
        Some(taken) if taken.host.len() >= LONG_LABEL => Ok(is_long(&taken.modern_host(false, false)?)),
        _ => Ok(false),
    }
}

/// What [cleaned](clean) bytes are looked up by: first the reading that lists use, then another one, if there is one.
/// `parsed` is what the platform's parser makes of them, and `refused` whether it refused them. A browser may read them
/// differently if the host is international, has an invalid label, or depends on the version of Unicode.
pub(super) fn both_readings(
    platform: &impl Platform,
    input: &[u8],
    parsed: Option<Canonical<'static>>,
    refused: bool,
) -> Result<(Option<Canonical<'static>>, Option<Canonical<'static>>)> {
    let Some(taken) = Taken::of(input).filter(|taken| refused || !taken.simple) else {
        return Ok((parsed, None));
    };
    let unescaped = taken.unescaped()?;
    // This differs from the parser's reading only if joiners may be dropped.
    let host = taken.modern_host(refused, false)?;
    let Reading { url, is_certain, is_normal } = reading(platform, &taken, &host)?;
    let has_sharp = unescaped.windows(3).any(|bytes| bytes == "\u{1E9E}".as_bytes());
    let is_plain =
        unescaped.is_ascii() && !without_port(&host).split(|&byte| byte == b'.').any(punycode::has_prefix);
    let is_first = is_certain && (has_sharp || !is_normal || refused && !is_plain);
    // So that lists are the same wherever they are read.
    Ok(match is_first {
        false => (parsed, url),
        true if has_sharp => (url, reading(platform, &taken, &taken.modern_host(refused, true)?)?.url),
        true => (url, parsed.filter(|_| !refused)),
    })
}

/// A canonical form, and what is known about it.
struct Reading {
    url: Option<Canonical<'static>>,
    /// Whether every parser that takes the host reads it so.
    is_certain: bool,
    /// Whether the platform's parser brings the host to NFC.
    is_normal: bool,
}

/// The canonical form with this host, which may have a port, in ASCII.
#[cfg_attr(target_arch = "wasm32", inline(never))]
fn reading(platform: &impl Platform, taken: &Taken, host: &[u8]) -> Result<Reading> {
    let host = without_port(host);
    let mut labels = Labels { platform, is_long: is_long(host), is_certain: true, is_normal: true };
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
        return Ok(Reading { url: None, is_certain: false, is_normal: true });
    }
    append(&mut text, &taken.parsed_path()?)?;
    append(&mut text, taken.query)?;
    let url = canonicalize(text)?;
    let is_certain = labels.is_certain && url.is_some();
    Ok(Reading { url, is_certain, is_normal: labels.is_normal })
}

/// A host without escapes, and with the characters of the newest tables.
#[cfg_attr(target_arch = "wasm32", inline(never))]
fn modern_host(host: &[u8], joiners: bool, older: bool) -> Result<Vec<u8>> {
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
                '\u{1E9E}' if older => append(&mut out, b"ss")?,
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

/// No label that maps to 63 characters or fewer is this long, except a number with leading zeros. A parser may take
/// quadratic time for a longer one.
const LONG_LABEL: usize = 1000;
/// No number has this many bytes besides its zeros.
const LONG_NUMBER: usize = 64;
/// No host that maps to 253 characters or fewer has this many bytes, besides zeros and empty labels.
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
    /// Whether every parser that takes the labels so far reads them so.
    is_certain: bool,
    /// Whether the platform's parser brings the labels so far to NFC.
    is_normal: bool,
}

impl<P: Platform> Labels<'_, P> {
    /// An international label, or a character of an address, in ASCII. It stays as it is if it can't be one.
    fn mapped(&mut self, label: &[u8]) -> Result<Vec<u8>> {
        if label.is_ascii() {
            return copied(label);
        }
        let text = match str::from_utf8(label) {
            Ok(text) if !self.is_long && !text.chars().any(is_forbidden) => text,
            _ => {
                self.is_certain = false;
                return copied(label);
            }
        };
        if let Some(parsed) = parsed(self.platform, text)? {
            let Some(decoded) = punycode::decode(&parsed)? else { return Ok(parsed) };
            let decoded = utf8(&decoded)?;
            if self.platform.is_normal(&decoded, false) {
                return Ok(parsed);
            }
            self.is_normal = false;
            return punycode::encode(&utf8(&self.platform.normalize(&decoded, false)?)?);
        }
        let mut joined = Vec::new();
        for char in text.chars().filter(|&char| !is_joiner(char)) {
            append(&mut joined, char.encode_utf8(&mut [0; 4]).as_bytes())?;
        }
        if joined.len() < label.len() { self.mapped(&joined) } else { self.by_character(text) }
    }

    /// A label that the platform's parser refuses, as a parser with newer tables or fewer rules may read it: what the
    /// platform's parser makes of each character, by itself or after a letter that combines with none, since a label
    /// can't begin with a mark, or with a digit that is written from right to left. Characters that it doesn't know are
    /// newer than its tables.
    fn by_character(&mut self, label: &str) -> Result<Vec<u8>> {
        let platform = self.platform;
        let mut text = Vec::new();
        for char in label.chars() {
            if char.is_ascii() {
                push(&mut text, char.to_ascii_lowercase() as u8)?;
                continue;
            }
            let mut room = [0; 4];
            let utf8 = char.encode_utf8(&mut room);
            let mut form = None;
            for before in ["", "中", "א"] {
                if form.is_none() {
                    form = known(platform, before, utf8)?;
                }
            }
            match form {
                Some(known) => append(&mut text, &known)?,
                None => {
                    append(&mut text, &platform.normalize(utf8, true)?)?;
                    self.is_certain &= is_newer(char);
                }
            }
        }
        let text = platform.normalize(&utf8(&text)?, false)?;
        let mut ascii = Vec::new();
        // Some characters map to a text that contains a dot.
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
fn parsed(platform: &impl Platform, label: &str) -> Result<Option<Vec<u8>>> {
    let mut url = joined("http://", label.as_bytes())?;
    append(&mut url, b".a/")?;
    let href = platform.parse_url(&utf8(&url)?)?;
    let label = href.as_deref().and_then(|href| href.strip_prefix(b"http://")?.strip_suffix(b".a/"));
    label.map(copied).transpose()
}

/// Whether no version of Unicode will allow a character in a label: the URL Standard's forbidden domain code points,
/// and the replacement character, for bytes that weren't text.
fn is_forbidden(char: char) -> bool {
    matches!(char, '\0'..=' ' | '#' | '%' | '/' | ':' | '<' | '>' | '?' | '@' | '['..='^' | '|' | '\x7F' | '\u{FFFD}')
}

/// What the platform's parser makes of a character after a text; none if it refuses both together.
#[cfg_attr(target_arch = "wasm32", inline(never))]
fn known(platform: &impl Platform, before: &str, char: &str) -> Result<Option<Vec<u8>>> {
    let label = joined(before, char.as_bytes())?;
    let Some(label) = parsed(platform, &utf8(&label)?)? else { return Ok(None) };
    let label = punycode::decode(&label)?;
    label.as_deref().and_then(|label| label.strip_prefix(before.as_bytes())).map(copied).transpose()
}
