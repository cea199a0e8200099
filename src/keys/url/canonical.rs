//! The canonical form of URLs, and the keys made of it.

use std::borrow::Cow;

use super::address::{compress, ipv4, ipv6, number, value};
use super::parts::{HOSTS, Host, Parts, exact_slot, plain_parts};
use super::text::*;
use crate::error::Result;
use crate::slots::{Slots, looks_like_address};

/// The path with and without its query, `/` and three deeper directories.
const PATHS: usize = 6;

/// A URL in canonical form: `scheme://host/path?query` in ASCII, without user, port and fragment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Canonical<'a> {
    pub(super) text: Cow<'a, [u8]>,
    pub(super) parts: Parts,
}

impl Canonical<'_> {
    /// The whole canonical form.
    pub fn as_bytes(&self) -> &[u8] {
        &self.text
    }

    /// The scheme and the host.
    pub(super) fn origin(&self) -> &[u8] {
        &self.text[..self.parts.path]
    }

    /// Only the host.
    pub fn host(&self) -> &[u8] {
        &self.text[self.parts.host..self.parts.path]
    }

    /// Whether such a host can exist. It can't if the line isn't meant to be opened, such as `evil[.]com`,
    /// `http://http://evil.com` or `1.2.3.4-1.2.3.9`, if it is a row of a table, such as `https://evil.com,phishing`, or
    /// if the parser refused its international host.
    pub fn has_possible_host(&self) -> bool {
        let host = self.host();
        let last = host.rsplit(|&byte| byte == b'.').next().unwrap_or_default();
        let number = last.iter().all(u8::is_ascii_digit) || value(last).is_some();
        let has = |text: &[u8]| host.windows(text.len()).any(|part| part == text);
        let broken = host.iter().any(|byte| b"[](),;|^\"<>".contains(byte))
            || [&b"{.}"[..], b"{dot}", b"%5C"].into_iter().any(has);
        let refused = host.windows(2).any(|pair| pair[0] == b'%' && pair[1] >= b'8');
        self.parts.address || !number && !broken && !refused && !matches!(host, b"http" | b"https")
    }

    /// Whether the host has no dot and isn't an address. No host below it is looked up by its keys.
    pub fn is_single_label(&self) -> bool {
        !self.parts.address && self.parts.labels[0] == 0
    }

    /// The keys, at most 30, each once. The hosts are the exact one and then its suffixes, the longest first. Each
    /// comes with the path and its query, the path, and the path's directories from `/` on.
    pub fn expressions(&self) -> impl Iterator<Item = &[u8]> {
        self.expressions_in(Slots::ANY).map(|(_, key)| key)
    }

    /// Those keys that have one of these slots, each after its slot.
    pub fn expressions_in(&self, slots: Slots) -> Expressions<'_> {
        let (text, parts) = (self.as_bytes(), &self.parts);
        let [_, second, third, fourth, fifth] = parts.labels;
        let starts = [parts.host, fifth, fourth, third, second];
        let [root, first, deeper, deepest] = parts.folders;
        let ends = [text.len(), parts.query, root, first, deeper, deepest];
        // The exact path has the slot of its folders if it ends in a slash.
        let is_folder = parts.query.checked_sub(1).and_then(|at| text.get(at)) == Some(&b'/');
        let folders = ends.iter().skip(2).filter(|&&end| end > 0).count();
        let path_slots = [5, if is_folder { folders as u32 } else { 4 }, 0, 1, 2, 3];
        let has_query = parts.query + 1 < text.len();
        let paths = (4 << folders) - 1 - u32::from(!has_query);

        let mut left = 0;
        for (place, (&start, &slot)) in starts.iter().zip(&parts.slots).enumerate() {
            // The six paths of this host in the map, in the order of `ends`.
            let map = slots.bits() >> (6 * slot);
            let wanted = map >> 5 & 1 | (map >> path_slots[1] & 1) << 1 | (map & 15) << 2;
            if start > 0 {
                left |= (wanted & paths) << (PATHS * place);
            }
        }
        Expressions { text, starts, host_slots: parts.slots, ends, path_slots, left }
    }
}

/// The site of a key: the last two labels of its host. An IP address or a single label is a site by itself.
pub fn site(key: &[u8]) -> &[u8] {
    let (host, _) = split_at(key, b"/");
    let mut labels = host.rsplit(|&byte| byte == b'.');
    match (labels.next(), labels.next()) {
        (Some(last), Some(before)) if !looks_like_address(host) => {
            &host[host.len() - last.len() - 1 - before.len()..]
        }
        _ => host,
    }
}

/// Keys of a URL, each after its slot. A key is a part of the canonical form, so nothing is copied.
#[derive(Debug, Clone)]
pub struct Expressions<'a> {
    text: &'a [u8],
    /// The start of the host, then those of its suffixes of 5 to 2 labels.
    starts: [usize; HOSTS],
    host_slots: [u32; HOSTS],
    ends: [usize; PATHS],
    path_slots: [u32; PATHS],
    /// A bit for each key that is left, six for each host.
    left: u32,
}

impl<'a> Iterator for Expressions<'a> {
    type Item = (u32, &'a [u8]);

    #[inline]
    fn next(&mut self) -> Option<(u32, &'a [u8])> {
        if self.left == 0 {
            return None;
        }
        let key = self.left.trailing_zeros() as usize;
        self.left &= self.left - 1;
        let (host, path) = (key / PATHS, key % PATHS);
        let slot = 6 * self.host_slots[host] + self.path_slots[path];
        Some((slot, &self.text[self.starts[host]..self.ends[path]]))
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

/// The root of a URL whose host is canonical already: all that a list of hosts needs. What follows the host's slash
/// can't change the host, so it isn't read.
pub fn plain_root(href: &[u8]) -> Option<Canonical<'_>> {
    let host = Host::of(href)?;
    let text = &href[..host.path + 1];
    Some(Canonical { text: text.into(), parts: Parts::of(text, host.start, host.path, host.path + 1, false) })
}

/// Whether a key of [`plain_root`] passes a test, which gets its slot too; none if the host isn't plain. The keys are
/// those of [`Canonical::expressions_in`] in another order, and are found with less work.
#[inline]
pub fn any_root(href: &[u8], slots: Slots, mut test: impl FnMut(u32, &[u8]) -> bool) -> Option<bool> {
    let host = Host::of(href)?;
    let labels = host.labels();
    let mut passes = |start: usize, slot: u32| slots.has(slot) && test(slot, &href[start..host.path + 1]);
    // The last label of a plain host isn't a number, so neither the host nor a suffix of it is an address.
    let [_, second, third, fourth, fifth] = labels;
    for (slot, start) in [(0, second), (6, third), (12, fourth), (18, fifth)] {
        if start > 0 && passes(start, slot) {
            return Some(true);
        }
    }
    Some(passes(host.start, 6 * exact_slot(labels)))
}

pub(super) fn canonical<'a>(href: &[u8]) -> Result<Option<Canonical<'a>>, Full> {
    let (text, _) = split_at(href, b"#");
    // Split before any escape is replaced: a path may contain an escaped question mark.
    let (text, query) = split_at(text, b"?");
    let text = unescape(text)?;
    let Some((scheme, rest)) = split(&text) else { return Ok(None) };

    let (authority, path) = split_at(rest, b"/?");
    let (host, address) = canonical_host(authority)?;
    if host.is_empty() {
        return Ok(None);
    }

    let mut text = with_room(href.len())?;
    escape(&mut text, scheme)?;
    escape(&mut text, b"://")?;
    let start = text.len();
    for (i, part) in host.split(|&byte| byte == b'\\').enumerate() {
        if i > 0 {
            put(&mut text, b"%5C")?;
        }
        escape(&mut text, part)?;
    }
    let end = text.len();
    let mut path = Cow::Borrowed(path);
    if path.contains(&b'\\') {
        let mut slashed = with_room(path.len())?;
        put(&mut slashed, &path)?;
        slashed.iter_mut().filter(|byte| **byte == b'\\').for_each(|byte| *byte = b'/');
        path = slashed.into();
    }
    escape_path(&mut text, &without_dots(&single_slashes(&path)?)?)?;
    let query_start = text.len();
    if query.contains(&b'%') {
        let mut plain = with_room(query.len())?;
        append_unescaped(&mut plain, query)?;
        escape(&mut text, &plain)?;
    } else {
        escape(&mut text, query)?;
    }
    let parts = Parts::of(&text, start, end, query_start, address);
    Ok(Some(Canonical { text: text.into(), parts }))
}

/// The path without dot segments, which may be escaped, as the WHATWG parser resolves it.
pub(super) fn without_dots(path: &[u8]) -> Result<Vec<u8>, Full> {
    let mut out = with_room(path.len() + 1)?;
    let mut is_dots = false;
    // A segment includes the slash before it, and empty segments count.
    let mut rest = Some(path.strip_prefix(b"/").unwrap_or(path));
    while let Some(segment) = part(&mut rest, b'/') {
        let dots = dots(segment);
        is_dots = matches!(dots, 1 | 2);
        if dots == 2 {
            while out.pop().is_some_and(|byte| byte != b'/') {}
        }
        if !is_dots {
            put(&mut out, b"/")?;
            put(&mut out, segment)?;
        }
    }
    if is_dots {
        put(&mut out, b"/")?;
    }
    Ok(out)
}

/// How many dots a segment is; 0 if it is anything else.
fn dots(mut segment: &[u8]) -> usize {
    let mut count = 0;
    while let [b'.', rest @ ..] | [b'%', b'2', b'e' | b'E', rest @ ..] = segment {
        segment = rest;
        count += 1;
    }
    if segment.is_empty() { count } else { 0 }
}

/// A path with one slash for each run of slashes, as most hosts read it.
pub(super) fn single_slashes(path: &[u8]) -> Result<Cow<'_, [u8]>, Full> {
    if !path.windows(2).any(|pair| pair == b"//") {
        return Ok(path.into());
    }
    let mut single = with_room(path.len())?;
    for &byte in path {
        if byte != b'/' || single.last() != Some(&b'/') {
            put_byte(&mut single, byte)?;
        }
    }
    Ok(single.into())
}

/// The host of an authority, and whether it is an IP address.
pub(super) fn canonical_host(authority: &[u8]) -> Result<(Vec<u8>, bool), Full> {
    let mut out = with_room(authority.len())?;
    let mut rest = Some(without_port(without_user(authority)));
    while let Some(label) = part(&mut rest, b'.') {
        if !label.is_empty() {
            if !out.is_empty() {
                put(&mut out, b".")?;
            }
            for byte in label {
                put_byte(&mut out, byte.to_ascii_lowercase())?;
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
