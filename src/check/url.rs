//! A URL's canonical form and the keys made of it, by the rules of Safe Browsing. The WHATWG parser, a browser's or
//! a crate's, comes first and isn't here: it maps international hosts and says where a browser would go.

use alloc::vec::Vec;

use crate::error::{Error, Result, reserve};

/// The exact host and four of its suffixes.
const HOSTS: usize = 5;
/// The path with and without its query, `/` and three deeper directories.
const PATHS: usize = 6;

/// The schemes that have a host to check.
const SPECIAL: [&[u8]; 5] = [b"http", b"https", b"ftp", b"ws", b"wss"];

/// A URL in canonical form: `scheme://host/path?query` in ASCII, without user, port and fragment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Canonical {
    text: Vec<u8>,
    /// Where the host starts,
    host: usize,
    /// the path, with its slash,
    path: usize,
    /// and the query, with its question mark; the end if there is none.
    query: usize,
    /// Whether the host is an IP address.
    address: bool,
}

impl Canonical {
    /// The whole of it.
    pub fn as_bytes(&self) -> &[u8] {
        &self.text
    }

    /// The host alone.
    pub fn host(&self) -> &[u8] {
        self.text.get(self.host..self.path).unwrap_or_default()
    }

    /// The keys, at most 30 and each once: for every host, the exact one first and then the longest suffix, the path
    /// with its query, the path, and its directories from `/` on.
    pub fn expressions(&self) -> Expressions<'_> {
        let mut starts = [0; HOSTS];
        starts[0] = self.host;
        if !self.address {
            // Never the last label alone.
            let dots = self.host().iter().enumerate().rev().filter(|(_, byte)| **byte == b'.').skip(1);
            for (start, (dot, _)) in starts[1..].iter_mut().rev().zip(dots) {
                *start = self.host + dot + 1;
            }
        }

        let mut ends = [0; PATHS];
        if self.query + 1 < self.text.len() {
            ends[0] = self.text.len();
        }
        ends[1] = self.query;
        let path = self.text.get(self.path..self.query).unwrap_or_default();
        // A path that ends in a slash is its own last directory.
        let inner = path.get(..path.len().saturating_sub(1)).unwrap_or_default();
        let slashes = inner.iter().enumerate().filter(|(_, byte)| **byte == b'/');
        for (end, (slash, _)) in ends[2..].iter_mut().zip(slashes) {
            *end = self.path + slash + 1;
        }
        Expressions { text: &self.text, starts, ends, next: 0 }
    }
}

/// The keys of a URL. Each is a part of the canonical form, so nothing is copied.
#[derive(Debug, Clone)]
pub struct Expressions<'a> {
    text: &'a [u8],
    /// Zero where there is none.
    starts: [usize; HOSTS],
    ends: [usize; PATHS],
    next: usize,
}

impl<'a> Iterator for Expressions<'a> {
    type Item = &'a [u8];

    #[inline(never)]
    fn next(&mut self) -> Option<&'a [u8]> {
        loop {
            let start = *self.starts.get(self.next / PATHS)?;
            let end = self.ends[self.next % PATHS];
            self.next += 1;
            if start != 0 && end != 0 {
                return self.text.get(start..end);
            }
        }
    }
}

/// The canonical form of a parsed URL's `href`, or of bytes that the WHATWG parser refused. `None` if there is no
/// host, or a scheme without one. What comes out gives itself again.
pub fn canonicalize(href: &[u8]) -> Result<Option<Canonical>> {
    let mut text = clean(href)?;
    if let Some(fragment) = find(&text, b"#") {
        text.truncate(fragment);
    }
    let text = unescape(&text)?;
    let Some((scheme, rest)) = split(&text) else { return Ok(None) };

    let (authority, rest) = rest.split_at(find(rest, b"/?").unwrap_or(rest.len()));
    let (path, query) = rest.split_at(find(rest, b"?").unwrap_or(rest.len()));
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
    Ok(Some(Canonical { text, host: start, path: end, query: query_start, address }))
}

/// The input without tabs and line ends, and trimmed of blanks and controls.
pub fn clean(input: &[u8]) -> Result<Vec<u8>> {
    let text = |byte: &u8| *byte > b' ';
    let start = input.iter().position(text).unwrap_or(input.len());
    let end = input.iter().rposition(text).map_or(start, |last| last + 1);
    let mut kept = Vec::new();
    put(&mut kept, input.get(start..end).unwrap_or_default())?;
    kept.retain(|byte| !matches!(byte, b'\t' | b'\n' | b'\r'));
    Ok(kept)
}

/// Whether a parsed URL of this scheme has a host to check.
pub fn is_special(scheme: &[u8]) -> bool {
    SPECIAL.contains(&scheme)
}

/// Whether this is `name:digits`, which the WHATWG parser takes for a scheme.
pub fn has_port(text: &[u8]) -> bool {
    let Some(length) = scheme(text) else { return false };
    let port = text.get(length + 1..).unwrap_or_default();
    let digits = port.iter().take_while(|byte| byte.is_ascii_digit()).count();
    digits > 0 && matches!(port.get(digits), None | Some(b'/' | b'?' | b'#'))
}

/// What to put in front of a text that the WHATWG parser refused, or that has a port for a scheme, to parse it again.
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
    let other = |byte: &u8| !byte.is_ascii_alphanumeric() && !b"+-.".contains(byte);
    let length = text.iter().position(other)?;
    (text.get(length) == Some(&b':') && text.first()?.is_ascii_alphabetic()).then_some(length)
}

/// The scheme in lower case, and what follows it from the authority on.
fn split(text: &[u8]) -> Option<(&'static [u8], &[u8])> {
    let Some(length) = scheme(text) else {
        return Some((SPECIAL[0], text.strip_prefix(b"//").unwrap_or(text)));
    };
    let (name, rest) = text.split_at_checked(length)?;
    if let Some(rest) = rest.strip_prefix(b"://") {
        let special = SPECIAL.iter().find(|special| special.eq_ignore_ascii_case(name))?;
        return Some((special, rest));
    }
    has_port(text).then_some((SPECIAL[0], text))
}

/// Where one of these bytes is first.
fn find(text: &[u8], bytes: &[u8]) -> Option<usize> {
    text.iter().position(|byte| bytes.contains(byte))
}

/// The text without escapes, those in what an escape stood for included. The user is dropped while a slash in it is
/// still escaped, for a browser doesn't take it for the host.
fn unescape(text: &[u8]) -> Result<Vec<u8>> {
    let rest = split(text).map_or(text, |(_, rest)| rest);
    let (before, rest) = text.split_at(text.len() - rest.len());
    let authority = rest.get(..find(rest, b"/?").unwrap_or(rest.len())).unwrap_or_default();
    let user = authority.iter().rposition(|&byte| byte == b'@').map_or(0, |at| at + 1);

    let mut out = Vec::new();
    reserve(&mut out, text.len())?;
    for &byte in before.iter().chain(rest.get(user..).unwrap_or_default()) {
        put(&mut out, &[byte])?;
        // Only the end is new, and what it becomes may end another escape.
        while let [.., b'%', high, low] = out[..]
            && let (Some(high), Some(low)) = (digit(high), digit(low))
        {
            out.truncate(out.len() - 3);
            put(&mut out, &[high << 4 | low])?;
        }
    }
    Ok(out)
}

/// Appends the bytes, those escaped that can't stand in a URL or would start an escape.
#[inline(never)]
fn escape(out: &mut Vec<u8>, bytes: &[u8]) -> Result<()> {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    let rare = |byte: &u8| !matches!(byte, b'!'..=b'~') || matches!(byte, b'#' | b'%');
    let more = bytes.iter().filter(|byte| rare(byte)).count();
    reserve(out, out.len() + bytes.len() + 2 * more)?;
    for byte in bytes {
        if rare(byte) {
            let (high, low) = (HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]);
            put(out, &[b'%', high, low])?;
        } else {
            put(out, &[*byte])?;
        }
    }
    Ok(())
}

/// The path without dot segments, and then without runs of slashes.
fn resolve(path: &[u8]) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    reserve(&mut out, path.len() + 1)?;
    let mut dots = false;
    // A segment has the slash before it, and an empty one counts: so the WHATWG parser resolves what isn't escaped.
    for segment in path.strip_prefix(b"/").unwrap_or(path).split(|&byte| byte == b'/') {
        dots = matches!(segment, b"." | b"..");
        if segment == b".." {
            out.truncate(out.iter().rposition(|&byte| byte == b'/').unwrap_or(0));
        }
        if !dots {
            put(&mut out, b"/")?;
            put(&mut out, segment)?;
        }
    }
    if dots {
        put(&mut out, b"/")?;
    }
    out.dedup_by(|a, b| (*a, *b) == (b'/', b'/'));
    Ok(out)
}

/// The host of an authority, and whether it is an IP address.
fn canonical_host(authority: &[u8]) -> Result<(Vec<u8>, bool)> {
    let host = authority.rsplit(|&byte| byte == b'@').next().unwrap_or_default();
    let literal = if host.starts_with(b"[") { find(host, b"]").unwrap_or(0) } else { 0 };
    let port =
        find(host.get(literal..).unwrap_or_default(), b":").map_or(host.len(), |colon| literal + colon);

    let mut out = Vec::new();
    for label in host.get(..port).unwrap_or_default().split(|&byte| byte == b'.') {
        if !label.is_empty() {
            if !out.is_empty() {
                put(&mut out, b".")?;
            }
            put(&mut out, label)?;
        }
    }
    out.make_ascii_lowercase();

    let literal = out.strip_prefix(b"[").and_then(|host| host.strip_suffix(b"]"));
    let groups = literal.and_then(ipv6);
    let address = match groups {
        None => ipv4(&out),
        Some([0, 0, 0, 0, 0, 0xFFFF, high, low] | [0x64, 0xFF9B, 0, 0, 0, 0, high, low]) => {
            Some(u32::from(high) << 16 | u32::from(low))
        }
        Some(_) => None,
    };
    if let Some(address) = address {
        out.clear();
        for (i, byte) in address.to_be_bytes().into_iter().enumerate() {
            put(&mut out, if i == 0 { b"" } else { b"." })?;
            number(&mut out, byte.into(), 10)?;
        }
    } else if let Some(groups) = groups {
        out.clear();
        compress(&mut out, &groups)?;
    }
    Ok((out, address.is_some() || groups.is_some()))
}

/// One to four numbers, decimal, octal or hexadecimal, of which the last fills the bytes that are left.
fn ipv4(host: &[u8]) -> Option<u32> {
    let mut address = 0;
    let mut room = 32;
    let mut parts = host.split(|&byte| byte == b'.').peekable();
    while let Some(part) = parts.next() {
        let value = value(part)?;
        // The last one takes all the room, any other one byte of it.
        let last = parts.peek().is_none();
        let bits = if last { room } else { 8 };
        if room < 8 || value >> bits != 0 {
            return None;
        }
        room -= bits;
        address |= value << room;
    }
    u32::try_from(address).ok()
}

/// A number as C writes it.
fn value(text: &[u8]) -> Option<u64> {
    let (base, digits) = match text {
        [b'0', b'x' | b'X', rest @ ..] => (16, rest),
        [b'0', rest @ ..] if !rest.is_empty() => (8, rest),
        _ => (10, text),
    };
    if digits.is_empty() {
        return None;
    }
    let mut value = 0_u64;
    for &byte in digits {
        let digit = u64::from(digit(byte)?);
        if digit >= base {
            return None;
        }
        value = value.saturating_mul(base).saturating_add(digit);
    }
    Some(value)
}

/// The eight groups of an IPv6 address.
fn ipv6(text: &[u8]) -> Option<[u16; 8]> {
    let mut groups = [0; 8];
    let Some(gap) = text.windows(2).position(|pair| pair == b"::") else {
        return (read_groups(text, &mut groups)? == 8).then_some(groups);
    };
    let mut tail = [0; 8];
    let before = read_groups(text.get(..gap)?, &mut groups)?;
    let after = read_groups(text.get(gap + 2..)?, &mut tail)?;
    if before + after > 7 {
        return None;
    }
    for (group, value) in groups.iter_mut().skip(8 - after).zip(tail) {
        *group = value;
    }
    Some(groups)
}

/// Reads groups with a colon between two, the last two perhaps as four decimals, and gives their number.
#[inline(never)]
fn read_groups(text: &[u8], groups: &mut [u16; 8]) -> Option<usize> {
    if text.is_empty() {
        return Some(0);
    }
    let mut count = 0;
    let mut parts = text.split(|&byte| byte == b':').peekable();
    while let Some(part) = parts.next() {
        if parts.peek().is_none() && part.contains(&b'.') {
            let decimal = |number: &[u8]| number == b"0" || !number.starts_with(b"0");
            let mut numbers = part.split(|&byte| byte == b'.');
            if numbers.clone().count() != 4 || !numbers.all(decimal) {
                return None;
            }
            let address = ipv4(part)?;
            *groups.get_mut(count)? = (address >> 16) as u16;
            *groups.get_mut(count + 1)? = address as u16;
            return Some(count + 2);
        }
        if !matches!(part.len(), 1..=4) {
            return None;
        }
        let mut value = 0;
        for &byte in part {
            value = value << 4 | u16::from(digit(byte)?);
        }
        *groups.get_mut(count)? = value;
        count += 1;
    }
    Some(count)
}

/// Writes an IPv6 address in brackets, the first of the longest runs of two zeros or more as `::`.
fn compress(out: &mut Vec<u8>, groups: &[u16; 8]) -> Result<()> {
    let (mut gap, mut longest, mut run) = (0, 1, 0);
    for (i, &group) in groups.iter().enumerate() {
        run = if group == 0 { run + 1 } else { 0 };
        if run > longest {
            (gap, longest) = (i + 1 - run, run);
        }
    }
    put(out, b"[")?;
    for (i, &group) in groups.iter().enumerate() {
        let skipped = longest > 1 && (gap..gap + longest).contains(&i);
        if skipped && i == gap {
            put(out, b"::")?;
        }
        if !skipped {
            // After a gap there are colons already.
            put(out, if i == 0 || longest > 1 && i == gap + longest { b"" } else { b":" })?;
            number(out, group.into(), 16)?;
        }
    }
    put(out, b"]")
}

/// Writes a number below `base` to the power of four.
fn number(out: &mut Vec<u8>, value: u32, base: u32) -> Result<()> {
    let mut unit = base * base * base;
    while unit > 0 {
        if value >= unit || unit == 1 {
            let digit = (value / unit % base) as u8;
            put(out, &[if digit < 10 { b'0' + digit } else { b'a' - 10 + digit }])?;
        }
        unit /= base;
    }
    Ok(())
}

/// What a hexadecimal digit stands for.
fn digit(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        _ => match byte | 32 {
            lower @ b'a'..=b'f' => Some(lower - b'a' + 10),
            _ => None,
        },
    }
}

/// Appends bytes where `Vec::extend_from_slice` would abort for want of memory.
#[inline(never)]
fn put(out: &mut Vec<u8>, bytes: &[u8]) -> Result<()> {
    out.try_reserve(bytes.len()).map_err(|_| Error::TooLarge { bytes: (out.len() + bytes.len()) as u64 })?;
    out.extend_from_slice(bytes);
    Ok(())
}
