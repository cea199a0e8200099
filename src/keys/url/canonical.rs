//! The canonical form of URLs, and the keys made of it.

use std::borrow::Cow;

use super::address::{compress, ipv4, ipv6, number, value};
use super::text::*;
use crate::error::Result;
use crate::slots::{Slots, host_slot, looks_like_address};
use crate::vectors::within;

/// The exact host and four of its suffixes.
const HOSTS: usize = 5;
/// The path with and without its query, `/` and three deeper directories.
const PATHS: usize = 6;

/// A URL in canonical form: `scheme://host/path?query` in ASCII, without user, port and fragment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Canonical<'a> {
    pub(super) text: Cow<'a, [u8]>,
    pub(super) parts: Parts,
}

/// Where the parts of a canonical form start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Parts {
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
        within(&self.text, self.parts.host..self.parts.path)
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
    pub fn expressions(&self) -> impl Iterator<Item = &[u8]> {
        self.expressions_in(Slots::ANY).map(|(_, key)| key)
    }

    /// Those keys that have one of these slots, each after its slot.
    pub fn expressions_in(&self, slots: Slots) -> Expressions<'_> {
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
        // The exact path has the slot of its folders if it ends in a slash.
        let folder = parts.query.checked_sub(1).and_then(|at| text.get(at)) == Some(&b'/');
        let path_slots = [5, if folder { last as u32 - 2 } else { 4 }, 0, 1, 2, 3];
        // Suffixes have 5 to 2 labels. An exact host of one label or of more than five has the last slot.
        let exact = if free == HOSTS { 4 } else { (HOSTS - 1 - free) as u32 };
        let mut host_slots = [exact, 3, 2, 1, 0];
        let host = self.host();
        if host.last().is_some_and(u8::is_ascii_digit) || host.contains(&b'[') {
            // One that looks like an address may be none, and a name that no browser opens may look like one.
            host_slots = starts.map(|start| host_slot(within(text, start..parts.path)));
        }
        let paths = (first, last);
        Expressions {
            text,
            slots,
            starts,
            suffix: free + 1,
            host: 0,
            host_slots,
            ends,
            paths,
            path: first,
            path_slots,
        }
    }
}

/// The site of a key: the last two labels of its host. An IP address is one by itself, and so is a single label.
pub fn site(key: &[u8]) -> &[u8] {
    let host = key.split(|&byte| byte == b'/').next().unwrap_or_default();
    let mut labels = host.rsplit(|&byte| byte == b'.');
    match (labels.next(), labels.next()) {
        (Some(last), Some(before)) if !looks_like_address(host) => {
            within(host, host.len() - last.len() - 1 - before.len()..)
        }
        _ => host,
    }
}

/// Keys of a URL, each after its slot. A key is a part of the canonical form, so nothing is copied.
#[derive(Debug, Clone)]
pub struct Expressions<'a> {
    text: &'a [u8],
    /// Keys of other slots are left out.
    slots: Slots,
    /// The start of the host comes first. The starts of its suffixes are at the end, from `suffix` on.
    starts: [usize; HOSTS],
    suffix: usize,
    host: usize,
    host_slots: [u32; HOSTS],
    ends: [usize; PATHS],
    /// The index of the first end that is used, and the index after the last.
    paths: (usize, usize),
    path: usize,
    path_slots: [u32; PATHS],
}

impl<'a> Iterator for Expressions<'a> {
    type Item = (u32, &'a [u8]);

    fn next(&mut self) -> Option<(u32, &'a [u8])> {
        loop {
            if self.path == self.paths.1 {
                self.path = self.paths.0;
                self.host = if self.host == 0 { self.suffix } else { self.host + 1 };
            }
            let (start, end) = (*self.starts.get(self.host)?, *self.ends.get(self.path)?);
            let slot = 6 * self.host_slots[self.host] + self.path_slots[self.path];
            self.path += 1;
            if self.slots.has(slot) {
                return Some((slot, &self.text[start..end]));
            }
        }
    }
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

/// A URL that is canonical already, as most are. The WHATWG parser and the rest of this file would give the same, so
/// neither is needed. A URL that may have an address, an international name or a dot segment isn't plain.
pub fn plain(href: &[u8]) -> Option<Canonical<'_>> {
    plain_parts(href).map(|parts| Canonical { text: href.into(), parts })
}

/// The root of a URL whose host is canonical already: all that is asked of a list of hosts. What follows the host's slash
/// can't change the host, so it isn't read.
pub fn plain_root(href: &[u8]) -> Option<Canonical<'_>> {
    let (host, path) = plain_host(href)?;
    let parts = Parts { host, path, query: path + 1, address: false };
    Some(Canonical { text: within(href, ..path + 1).into(), parts })
}

/// Whether a key of [`plain_root`] passes a test, which gets its slot too; none if the host isn't plain. The keys are
/// those of [`Canonical::expressions_in`] in another order, and are found with less work.
#[inline]
pub fn any_root(href: &[u8], slots: Slots, mut test: impl FnMut(u32, &[u8]) -> bool) -> Option<bool> {
    let (host, path) = plain_host(href)?;
    let mut passes = |start: usize, labels: usize| {
        // The last label of a plain host is no number, so neither it nor a suffix is an address.
        let slot = if (2..=HOSTS).contains(&labels) { 6 * (labels as u32 - 2) } else { 24 };
        slots.has(slot) && test(slot, within(href, start..path + 1))
    };
    let mut labels = 1;
    for at in (host..path).rev() {
        if href.get(at) == Some(&b'.') {
            if labels > 1 && passes(at + 1, labels) {
                return Some(true);
            }
            labels += 1;
            if labels > HOSTS {
                break;
            }
        }
    }
    Some(passes(host, labels))
}

/// What a byte may be in a plain host.
#[derive(Clone, Copy, PartialEq, Eq)]
enum HostByte {
    Other,
    Letter,
    Digit,
    /// It must not follow itself: an empty label, or one like `xn--`.
    Mark,
    Slash,
}

static HOST_BYTES: [HostByte; 256] = {
    let mut bytes = [HostByte::Other; 256];
    let mut byte = 0;
    while byte < 256 {
        bytes[byte] = match byte as u8 {
            b'a'..=b'z' | b'_' => HostByte::Letter,
            b'0'..=b'9' => HostByte::Digit,
            b'.' | b'-' => HostByte::Mark,
            b'/' => HostByte::Slash,
            _ => HostByte::Other,
        };
        byte += 1;
    }
    bytes
};

/// Where the host of a URL begins, and its path, if the host is plain.
#[inline]
fn plain_host(href: &[u8]) -> Option<(usize, usize)> {
    let host =
        [b"http://".as_slice(), b"https://"].into_iter().find(|scheme| href.starts_with(scheme))?.len();
    let mut last = b'.';
    let mut number = false;
    for (at, &byte) in href.iter().enumerate().skip(host) {
        let class = HOST_BYTES[usize::from(byte)];
        match class {
            HostByte::Letter | HostByte::Digit => {}
            HostByte::Mark if byte != last => {}
            HostByte::Slash => return (last != b'.' && !number).then_some((host, at)),
            _ => return None,
        }
        if last == b'.' {
            number = class == HostByte::Digit;
        }
        last = byte;
    }
    None
}

pub(super) fn plain_parts(href: &[u8]) -> Option<Parts> {
    let (host, path) = plain_host(href)?;
    let mut at = path;
    let mut last = 0;
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

pub(super) fn canonical<'a>(href: &[u8]) -> Result<Option<Canonical<'a>>, Full> {
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

/// The path without dot segments, and then without runs of slashes.
pub(super) fn resolve(path: &[u8]) -> Result<Vec<u8>, Full> {
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
pub(super) fn canonical_host(authority: &[u8]) -> Result<(Vec<u8>, bool), Full> {
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
