//! A URL's canonical form and the keys made from it, by the rules of Safe Browsing. The WHATWG parser, a browser's or a
//! crate's, comes first: it maps international hosts and says where a browser would go.

mod address;
mod canonical;
mod parts;
mod punycode;
mod second;
mod text;
mod unicode;

use std::borrow::Cow;
use std::iter;

pub use self::canonical::{Canonical, Expressions, any_root, canonicalize, plain, plain_root, site};
pub use self::text::{clean, has_port, is_special, missing_scheme};

pub(super) use self::address::is_address;
use self::parts::plain_parts;
use self::second::{both_readings, escaped_folders, has_long_host};
use self::text::{joined, scheme, utf8};
pub(super) use self::text::{split_at, without_user};
use super::platform::Platform;
use crate::error::Result;
use crate::vectors::{append, copied, push};

/// What a URL is looked up by: its canonical form, a second reading if some browser may read it differently, and for
/// each of both the folders of an escaped path.
///
/// An entry of a list has only the canonical form. FORMAT-URLS.md.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Readings<'a> {
    canonical: Option<Canonical<'a>>,
    others: Vec<Canonical<'a>>,
}

impl<'a> From<Canonical<'a>> for Readings<'a> {
    fn from(canonical: Canonical<'a>) -> Self {
        Readings { canonical: Some(canonical), others: Vec::new() }
    }
}

impl<'a> Readings<'a> {
    /// The canonical form; `None` if no key can be made of it.
    pub fn canonical(&self) -> Option<&Canonical<'a>> {
        self.canonical.as_ref()
    }

    /// The canonical form, if there is one, and then the others.
    pub fn iter(&self) -> impl Iterator<Item = &Canonical<'a>> {
        self.canonical.iter().chain(&self.others)
    }

    /// The keys of the canonical form, then those that only the others have, each once.
    pub fn keys(&self) -> impl Iterator<Item = &[u8]> {
        self.iter().enumerate().flat_map(move |(number, form)| {
            let before = move || self.iter().take(number).flat_map(Canonical::expressions);
            form.expressions().filter(move |key| before().all(|met| met != *key))
        })
    }
}

/// Whether a key may be that of a URL: it has a host, a slash and what follows. So neither `evil.example` nor
/// `https://evil.example/` is one.
pub fn is_key(key: &[u8]) -> bool {
    let mut parts = key.splitn(2, |&byte| byte == b'/');
    let end = parts.next().and_then(<[u8]>::last);
    parts.next().is_some() && end.is_some_and(|&byte| byte != b':')
}

/// The canonical form of a URL, a host or a host with a path; `None` if no key can be made of it.
///
/// # Errors
/// [`Error::TooLarge`](crate::Error::TooLarge) without the memory.
pub fn parse<'a>(platform: &impl Platform, input: impl Into<Cow<'a, [u8]>>) -> Result<Option<Canonical<'a>>> {
    Ok(readings(platform, input)?.canonical)
}

/// What a URL, a host or a host with a path is looked up by.
///
/// # Errors
/// [`Error::TooLarge`](crate::Error::TooLarge) without the memory.
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
    let (canonical, second) = both_readings(platform, &input, canonical, refused)?;
    let second = second.filter(|second| canonical.as_ref() != Some(second));
    let mut in_folders = Vec::new();
    // The root is asked for in any case.
    for folder in escaped_folders(&input)?.iter().filter(|path| path.len() > 1) {
        for form in canonical.iter().chain(&second) {
            let found = in_folder(form, folder)?;
            push(&mut in_folders, found.filter(|found| found != form))?;
        }
    }
    let mut others = Vec::new();
    for form in iter::once(second).chain(in_folders).flatten() {
        push(&mut others, form)?;
    }
    Ok(Readings { canonical, others })
}

/// The canonical form of a folder of the same host.
#[cfg_attr(target_arch = "wasm32", inline(never))]
fn in_folder(form: &Canonical, folder: &[u8]) -> Result<Option<Canonical<'static>>> {
    let mut text = copied(form.origin())?;
    append(&mut text, folder)?;
    canonicalize(text)
}

fn cleaned(input: &[u8]) -> Result<Cow<'_, [u8]>> {
    Ok(if input.iter().any(|&byte| byte <= b' ') { clean(input)?.into() } else { input.into() })
}

/// The canonical form of [cleaned](clean) bytes, and whether the parser refused them or wasn't asked.
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
