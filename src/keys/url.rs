//! A URL's canonical form and the keys made of it, by the rules of Safe Browsing. The WHATWG parser, a browser's or
//! a crate's, comes first: it maps international hosts and says where a browser would go.

mod address;
mod punycode;
mod second;
mod unicode;

use std::borrow::Cow;
use std::str::Utf8Chunk;

pub(super) use self::address::is_address;
use self::address::{compress, ipv4, ipv6, number, value};
use self::second::{Second, has_long_host, second_reading};
use super::Platform;
use crate::error::{Error, Result};
use crate::vectors::{append, copied, push, reserve};

const HEX: &[u8; 16] = b"0123456789ABCDEF";
/// The exact host and four of its suffixes.
const HOSTS: usize = 5;
/// The path with and without its query, `/` and three deeper directories.
const PATHS: usize = 6;

/// The schemes that have a host to check.
const SPECIAL: [&[u8]; 5] = [b"http", b"https", b"ftp", b"ws", b"wss"];

/// A URL in canonical form: `scheme://host/path?query` in ASCII, without user, port and fragment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Canonical<'a> {
    text: Cow<'a, [u8]>,
    parts: Parts,
}

/// Where the parts of a canonical form start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Parts {
    host: usize,
    /// With its slash.
    path: usize,
    /// With its question mark; the end if there is none.
    query: usize,
    /// Whether the host is an IP address.
    address: bool,
}

impl Canonical<'_> {
    /// The whole of it.
    pub fn as_bytes(&self) -> &[u8] {
        &self.text
    }

    /// The host alone.
    pub fn host(&self) -> &[u8] {
        self.text.get(self.parts.host..self.parts.path).unwrap_or_default()
    }

    /// Whether such a host can exist. It can't in a line that isn't meant to be opened, such as `evil[.]com`,
    /// `http://http://evil.com` or `1.2.3.4-1.2.3.9`, or in one with an international host that the parser refused.
    pub fn has_possible_host(&self) -> bool {
        let host = self.host();
        let last = host.rsplit(|&byte| byte == b'.').next().unwrap_or_default();
        let number = last.iter().all(u8::is_ascii_digit) || value(last).is_some();
        let has = |text: &[u8]| host.windows(text.len()).any(|part| part == text);
        let broken = [&b"["[..], b"]", b"(.)", b"{.}", b"(dot)", b"{dot}"].into_iter().any(has);
        let refused = host.windows(2).any(|pair| pair[0] == b'%' && pair[1] >= b'8');
        self.parts.address || !number && !broken && !refused && !matches!(host, b"http" | b"https")
    }

    /// The keys, at most 30, each once. The hosts are the exact one and then its suffixes, the longest first. Each
    /// comes with the path and its query, the path, and the path's directories from `/` on.
    pub fn expressions(&self) -> Expressions<'_> {
        let (text, parts) = (self.as_bytes(), self.parts);
        let mut starts = [parts.host; HOSTS];
        // The shortest suffix comes last. The last label alone isn't a suffix.
        let mut free = HOSTS;
        let mut at = if parts.address { parts.host } else { parts.path };
        while at > parts.host && free > 0 {
            at -= 1;
            if text.get(at) == Some(&b'.') {
                if let Some(start) = starts.get_mut(free) {
                    *start = at + 1;
                }
                free -= 1;
            }
        }

        let mut ends = [text.len(); PATHS];
        ends[1] = parts.query;
        let mut last = 2;
        let mut at = parts.path;
        // A path that ends in a slash is its own last directory.
        while at + 1 < parts.query && last < PATHS {
            at += 1;
            if text.get(at - 1) == Some(&b'/') {
                ends[last] = at;
                last += 1;
            }
        }
        let first = if parts.query + 1 < text.len() { 0 } else { 1 };
        Expressions { text, starts, suffix: free + 1, host: 0, ends, paths: (first, last), path: first }
    }
}

/// The site of a key: the last two labels of its host. An IP address is one by itself, and so is a single label.
pub fn site(key: &[u8]) -> &[u8] {
    let host = key.split(|&byte| byte == b'/').next().unwrap_or_default();
    let is_byte = |label: &[u8]| (1..=3).contains(&label.len()) && label.iter().all(u8::is_ascii_digit);
    let mut labels = host.rsplit(|&byte| byte == b'.');
    let (last, before) = (labels.next().unwrap_or_default(), labels.next());
    let is_address = is_byte(last)
        && before.is_some_and(is_byte)
        && labels.next().is_some_and(is_byte)
        && labels.next().is_some_and(is_byte)
        && labels.next().is_none();
    match before {
        Some(before) if !is_address && !host.starts_with(b"[") => {
            host.get(host.len() - last.len() - 1 - before.len()..).unwrap_or_default()
        }
        _ => host,
    }
}

/// The keys of a URL. Each is a part of the canonical form, so nothing is copied.
#[derive(Debug, Clone)]
pub struct Expressions<'a> {
    text: &'a [u8],
    /// The start of the host comes first. The starts of its suffixes are at the end, from `suffix` on.
    starts: [usize; HOSTS],
    suffix: usize,
    host: usize,
    ends: [usize; PATHS],
    /// The index of the first end that is used, and the index after the last.
    paths: (usize, usize),
    path: usize,
}

impl<'a> Iterator for Expressions<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        if self.path == self.paths.1 {
            self.path = self.paths.0;
            self.host = if self.host == 0 { self.suffix } else { self.host + 1 };
        }
        let (start, end) = (*self.starts.get(self.host)?, *self.ends.get(self.path)?);
        self.path += 1;
        Some(&self.text[start..end])
    }
}

/// What a URL is looked up by: its canonical form, and a second reading if some browser may read it differently.
///
/// An entry of a list has only the canonical form. FORMAT.md section 10.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Readings<'a> {
    canonical: Option<Canonical<'a>>,
    second: Option<Canonical<'a>>,
}

impl<'a> From<Canonical<'a>> for Readings<'a> {
    fn from(canonical: Canonical<'a>) -> Self {
        Readings { canonical: Some(canonical), second: None }
    }
}

impl<'a> Readings<'a> {
    /// The canonical form; `None` if no key can be made of it.
    pub fn canonical(&self) -> Option<&Canonical<'a>> {
        self.canonical.as_ref()
    }

    /// The canonical form, if there is one, and the second reading, if it differs.
    pub fn iter(&self) -> impl Iterator<Item = &Canonical<'a>> {
        self.canonical.iter().chain(&self.second)
    }

    /// The keys of the canonical form, then those that only the second reading has.
    pub fn keys(&self) -> impl Iterator<Item = &[u8]> {
        let first = self.canonical.iter().flat_map(Canonical::expressions);
        let met =
            |key: &&[u8]| self.canonical.iter().flat_map(Canonical::expressions).all(|first| first != *key);
        first.chain(self.second.iter().flat_map(Canonical::expressions).filter(met))
    }
}

/// The canonical form of a URL, a host or a host with a path; `None` if no key can be made of it.
///
/// # Errors
/// [`Error::TooLarge`] without the memory.
pub fn parse<'a>(platform: &impl Platform, input: impl Into<Cow<'a, [u8]>>) -> Result<Option<Canonical<'a>>> {
    Ok(readings(platform, input)?.canonical)
}

/// What a URL, a host or a host with a path is looked up by.
///
/// # Errors
/// [`Error::TooLarge`] without the memory.
pub fn readings<'a>(platform: &impl Platform, input: impl Into<Cow<'a, [u8]>>) -> Result<Readings<'a>> {
    let input = input.into();
    match plain_parts(&input) {
        Some(parts) => Ok(Canonical { text: input, parts }.into()),
        None => other_readings(platform, &input),
    }
}

fn other_readings(platform: &impl Platform, input: &[u8]) -> Result<Readings<'static>> {
    let input = cleaned(input)?;
    let (canonical, refused) = parse_cleaned(platform, &input)?;
    let second = second_reading(platform, &input, refused)?;
    Ok(match second {
        // So that lists are the same wherever they are read.
        Some(Second { url, is_newer: true }) if refused => url.into(),
        Some(Second { url, is_newer: true }) => {
            Readings { second: canonical.filter(|canonical| *canonical != url), canonical: Some(url) }
        }
        second => {
            let second = second.map(|second| second.url).filter(|second| canonical.as_ref() != Some(second));
            Readings { canonical, second }
        }
    })
}

fn cleaned(input: &[u8]) -> Result<Cow<'_, [u8]>> {
    Ok(if input.iter().any(|&byte| byte <= b' ') { clean(input)?.into() } else { input.into() })
}

/// The canonical form of [cleaned](clean) bytes, and whether the parser refused them, or wasn't asked.
fn parse_cleaned(platform: &impl Platform, input: &[u8]) -> Result<(Option<Canonical<'static>>, bool)> {
    if has_long_host(input)? {
        return Ok((canonicalize(copied(input)?)?, true));
    }
    if scheme(input).is_none() {
        // A host, as most lines of lists are.
        let mut http = joined("http://", input)?;
        if !input.contains(&b'/') {
            push(&mut http, b'/')?;
        }
        if let Some(parts) = plain_parts(&http) {
            return Ok((Some(Canonical { text: http.into(), parts }), false));
        }
    }
    if let Some(href) = platform.parse_url(&utf8(input)?)? {
        if scheme(&href).is_some_and(|length| is_special(&href[..length])) {
            return Ok((canonicalize(href)?, false));
        }
        if !has_port(input) {
            return Ok((None, false));
        }
    }
    // Refused, or a host and a port that look like a scheme.
    let again = match missing_scheme(input) {
        Some(prefix) => platform.parse_url(&utf8(&joined(prefix, input)?)?)?,
        None => None,
    };
    match again {
        Some(href) => Ok((canonicalize(href)?, false)),
        None => Ok((canonicalize(copied(input)?)?, true)),
    }
}

fn joined(prefix: &str, text: &[u8]) -> Result<Vec<u8>> {
    let mut joined = Vec::new();
    reserve(&mut joined, prefix.len() + text.len() + 1)?;
    append(&mut joined, prefix.as_bytes())?;
    append(&mut joined, text)?;
    Ok(joined)
}

/// The parser takes UTF-8. Other bytes are escaped, which gives the same result.
fn utf8(input: &[u8]) -> Result<Cow<'_, str>> {
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

/// The canonical form of a parsed URL's `href`, or of [cleaned](clean) bytes that the WHATWG parser refused. `None` if
/// there is no host, or a scheme without one. The canonical form of a canonical form is itself.
pub fn canonicalize<'a>(href: impl Into<Cow<'a, [u8]>>) -> Result<Option<Canonical<'a>>> {
    let href = href.into();
    match plain_parts(&href) {
        Some(parts) => Ok(Some(Canonical { text: href, parts })),
        None => canonical(&href).map_err(|Full| too_large(&href)),
    }
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
struct Full;

fn too_large(input: &[u8]) -> Error {
    Error::TooLarge { bytes: input.len() as u64 }
}

/// A URL that is canonical already, as most are. The WHATWG parser and the rest of this file would give the same, so
/// neither is needed. A URL that may have an address, an international name or a dot segment isn't plain.
pub fn plain(href: &[u8]) -> Option<Canonical<'_>> {
    plain_parts(href).map(|parts| Canonical { text: href.into(), parts })
}

fn plain_parts(href: &[u8]) -> Option<Parts> {
    let host =
        [b"http://".as_slice(), b"https://"].into_iter().find(|scheme| href.starts_with(scheme))?.len();
    let mut at = host;
    let mut last = b'.';
    let mut number = false;
    loop {
        let byte = *href.get(at)?;
        match byte {
            b'/' => break,
            // An empty label, or one like xn--.
            b'.' | b'-' if last == byte => return None,
            b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' => {}
            _ => return None,
        }
        if last == b'.' {
            number = byte.is_ascii_digit();
        }
        last = byte;
        at += 1;
    }
    if last == b'.' || number {
        return None;
    }
    let path = at;
    while let Some(&byte) = href.get(at)
        && byte != b'?'
    {
        if !stays(byte) || byte == b'\\' || last == b'/' && matches!(byte, b'/' | b'.') {
            return None;
        }
        last = byte;
        at += 1;
    }
    let plain = href.get(at..)?.iter().all(|&byte| stays(byte));
    plain.then_some(Parts { host, path, query: at, address: false })
}

fn canonical<'a>(href: &[u8]) -> Result<Option<Canonical<'a>>, Full> {
    let (text, _) = split_at(href, b"#");
    let text = unescape(text)?;
    let Some((scheme, rest)) = split(&text) else { return Ok(None) };

    let (authority, rest) = split_at(rest, b"/?");
    let (path, query) = split_at(rest, b"?");
    let (host, address) = canonical_host(authority)?;
    if host.is_empty() {
        return Ok(None);
    }

    let mut text = Vec::new();
    escape(&mut text, scheme)?;
    escape(&mut text, b"://")?;
    let start = text.len();
    escape(&mut text, &host)?;
    let end = text.len();
    escape(&mut text, &resolve(path)?)?;
    let query_start = text.len();
    escape(&mut text, query)?;
    let parts = Parts { host: start, path: end, query: query_start, address };
    Ok(Some(Canonical { text: text.into(), parts }))
}

/// Whether a parsed URL of this scheme has a host to check.
pub fn is_special(scheme: &[u8]) -> bool {
    special(scheme).is_some()
}

/// The scheme in lower case.
fn special(scheme: &[u8]) -> Option<&'static [u8]> {
    SPECIAL.into_iter().find(|special| special.eq_ignore_ascii_case(scheme))
}

/// Whether this is `name:digits`, which the WHATWG parser takes for a scheme.
pub fn has_port(text: &[u8]) -> bool {
    let Some(length) = scheme(text) else { return false };
    let port = text.get(length + 1..).unwrap_or_default();
    let digits = port.iter().take_while(|byte| byte.is_ascii_digit()).count();
    digits > 0 && matches!(port.get(digits), None | Some(b'/' | b'?' | b'#'))
}

/// The prefix with which to parse a text again that the WHATWG parser refused, or whose host looks like a scheme.
pub fn missing_scheme(text: &[u8]) -> Option<&'static str> {
    match text {
        [b'/', b'/', ..] => Some("http:"),
        [b'/' | b'?' | b'#', ..] => None,
        _ if scheme(text).is_some() && !has_port(text) => None,
        _ => Some("http://"),
    }
}

/// The length of the scheme before the first colon.
fn scheme(text: &[u8]) -> Option<usize> {
    let other = |byte: &u8| !byte.is_ascii_alphanumeric() && !matches!(byte, b'+' | b'-' | b'.');
    let length = text.iter().position(other)?;
    (text.get(length) == Some(&b':') && text.first()?.is_ascii_alphabetic()).then_some(length)
}

/// The scheme in lower case, and the text from the authority on.
fn split(text: &[u8]) -> Option<(&'static [u8], &[u8])> {
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
#[inline(never)]
fn split_at<'a>(text: &'a [u8], bytes: &[u8]) -> (&'a [u8], &'a [u8]) {
    let found = text.iter().position(|byte| bytes.contains(byte));
    text.split_at_checked(found.unwrap_or(text.len())).unwrap_or_default()
}

/// Splits off the part before the next separator. The rest is `None` after the last part.
#[inline(never)]
fn part<'a>(rest: &mut Option<&'a [u8]>, separator: u8) -> Option<&'a [u8]> {
    let (part, more) = split_at((*rest)?, &[separator]);
    *rest = more.get(1..);
    Some(part)
}

/// The authority without the user.
fn without_user(authority: &[u8]) -> &[u8] {
    let user = authority.iter().rposition(|&byte| byte == b'@').map_or(0, |at| at + 1);
    authority.get(user..).unwrap_or_default()
}

/// A host without its port.
fn without_port(host: &[u8]) -> &[u8] {
    let closing = if host.starts_with(b"[") { split_at(host, b"]").1 } else { host };
    let (_, port) = split_at(if closing.is_empty() { host } else { closing }, b":");
    host.get(..host.len() - port.len()).unwrap_or_default()
}

/// The text without escapes, even those that another escape stood for. The user is dropped while a slash in it is still
/// escaped, because a browser doesn't take such a user for the host.
fn unescape(text: &[u8]) -> Result<Vec<u8>, Full> {
    let rest = split(text).map_or(&[][..], |(_, rest)| rest);
    let (authority, after) = split_at(rest, b"/?");
    let before = text.get(..text.len() - rest.len()).unwrap_or_default();

    let mut out = Vec::new();
    for part in [before, without_user(authority), after] {
        append_unescaped(&mut out, part)?;
    }
    Ok(out)
}

/// Appends a text without its escapes, and without those that arise when they are replaced.
fn append_unescaped(out: &mut Vec<u8>, text: &[u8]) -> Result<(), Full> {
    for &byte in text {
        put(out, &[byte])?;
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

/// Whether a byte isn't escaped.
fn stays(byte: u8) -> bool {
    matches!(byte, b'!'..=b'~') && !matches!(byte, b'#' | b'%')
}

/// Appends the bytes. Those that can't be in a URL, or would start an escape, are escaped.
#[inline(never)]
fn escape(out: &mut Vec<u8>, bytes: &[u8]) -> Result<(), Full> {
    for &byte in bytes {
        if stays(byte) {
            put(out, &[byte])?;
        } else {
            put(out, &[b'%', HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]])?;
        }
    }
    Ok(())
}

/// The path without dot segments, and then without runs of slashes.
fn resolve(path: &[u8]) -> Result<Vec<u8>, Full> {
    let mut out = Vec::new();
    let mut dots = false;
    // A segment includes the slash before it, and empty segments count, as in the WHATWG parser.
    let mut rest = Some(path.strip_prefix(b"/").unwrap_or(path));
    while let Some(segment) = part(&mut rest, b'/') {
        dots = matches!(segment, b"." | b"..");
        if segment == b".." {
            while out.pop().is_some_and(|byte| byte != b'/') {}
        }
        if !dots {
            put(&mut out, b"/")?;
            put(&mut out, segment)?;
        }
    }
    if dots {
        put(&mut out, b"/")?;
    }
    let mut single = Vec::new();
    let mut last = 0;
    for &byte in &out {
        if byte != b'/' || last != b'/' {
            put(&mut single, &[byte])?;
        }
        last = byte;
    }
    Ok(single)
}

/// The host of an authority, and whether it is an IP address.
fn canonical_host(authority: &[u8]) -> Result<(Vec<u8>, bool), Full> {
    let mut out = Vec::new();
    let mut rest = Some(without_port(without_user(authority)));
    while let Some(label) = part(&mut rest, b'.') {
        if !label.is_empty() {
            if !out.is_empty() {
                put(&mut out, b".")?;
            }
            for byte in label {
                put(&mut out, &[byte.to_ascii_lowercase()])?;
            }
        }
    }

    let groups = match &out[..] {
        [b'[', literal @ .., b']'] => ipv6(literal),
        _ => None,
    };
    let address = match groups {
        None => ipv4(&out),
        Some([0, 0, 0, 0, 0, 0xFFFF, high, low] | [0x64, 0xFF9B, 0, 0, 0, 0, high, low]) => {
            Some(u32::from(high) << 16 | u32::from(low))
        }
        Some(_) => None,
    };
    if let Some(address) = address {
        out.clear();
        for byte in address.to_be_bytes() {
            if !out.is_empty() {
                put(&mut out, b".")?;
            }
            number(&mut out, byte.into(), 10)?;
        }
    } else if let Some(groups) = groups {
        out.clear();
        compress(&mut out, &groups)?;
    }
    Ok((out, address.is_some() || groups.is_some()))
}

/// The value of a hexadecimal digit.
fn digit(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        _ => match byte | 32 {
            lower @ b'a'..=b'f' => Some(lower - b'a' + 10),
            _ => None,
        },
    }
}

#[inline(never)]
fn put(out: &mut Vec<u8>, bytes: &[u8]) -> Result<(), Full> {
    append(out, bytes).map_err(|_| Full)
}
