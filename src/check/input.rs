//! One string, as a user or a list has it, to its canonical form, with what JavaScript has built in and Rust has in
//! crates: the WHATWG parser of URLs, which comes first, as in a browser, and Unicode's normal forms. JavaScript does
//! the same in the same order; all else is in [`url`](super::url) and [`password`](super::password).

use alloc::borrow::Cow;
use alloc::string::String;
use core::fmt::Write;

use ::url::{ParseError, Url};
use unicode_normalization::UnicodeNormalization;

use super::url::{Canonical, canonicalize, clean, has_port, is_special, missing_scheme};
use crate::error::Result;

/// The canonical form of a URL, a host or a host with a path; `None` for what no key can be made of.
///
/// ```
/// let url = bloom_wasm::check::input::url("http://evil.com\\@good.com/".as_bytes())?;
/// assert_eq!(url.unwrap().as_bytes(), b"http://evil.com/@good.com/");
/// # Ok::<(), bloom_wasm::Error>(())
/// ```
pub fn url(input: &[u8]) -> Result<Option<Canonical<'static>>> {
    let owned = |text: &[u8]| Ok(canonicalize(text)?.map(Canonical::into_owned));
    let input = clean(input)?;
    let text = utf8(&input);
    match parse(&text) {
        Ok(url) if is_special(url.scheme().as_bytes()) => return owned(url.as_str().as_bytes()),
        Ok(_) if !has_port(&input) => return Ok(None),
        _ => {}
    }
    if let Some(prefix) = missing_scheme(&input)
        && let Ok(url) = parse(&[prefix, &text].concat())
    {
        return owned(url.as_str().as_bytes());
    }
    owned(&input)
}

/// Parses a URL. To the crate a part of any path like `c:` is a drive, which `..` doesn't leave; by the standard only a
/// `file:` has drives. One with its colon escaped is none, and the canonical form is the same.
fn parse(text: &str) -> Result<Url, ParseError> {
    let slash = |byte: &u8| matches!(byte, b'/' | b'\\');
    let bytes = text.as_bytes();
    let scheme = text.find(':').map_or(0, |colon| colon + 1);
    let authority = scheme + bytes[scheme..].iter().take_while(|byte| slash(byte)).count();
    let path = text[authority..].find(['/', '\\', '?', '#']).map_or(text.len(), |at| authority + at);
    let end = text[path..].find(['?', '#']).map_or(text.len(), |at| path + at);
    let mut escaped = String::from(&text[..path]);
    for (at, char) in text[path..end].char_indices() {
        let drive = matches!(char, ':' | '|')
            && matches!(&bytes[path..path + at], [.., before, letter] if slash(before) && letter.is_ascii_alphabetic())
            && bytes[path + at + 1..end].first().is_none_or(slash);
        if drive { escaped.push_str(if char == ':' { "%3A" } else { "%7C" }) } else { escaped.push(char) }
    }
    escaped.push_str(&text[end..]);
    Url::parse(&escaped)
}

/// A password in the normal form NFC; with `lowercase` in lower case by Unicode's default mapping, which knows no
/// language, and in NFC again. What isn't UTF-8 stays as it is.
pub fn password(input: &[u8], lowercase: bool) -> Cow<'_, [u8]> {
    let Ok(text) = str::from_utf8(input) else { return input.into() };
    let mut text: String = text.nfc().collect();
    if lowercase {
        text = text.to_lowercase().nfc().collect();
    }
    text.into_bytes().into()
}

/// The parser takes UTF-8. Other bytes are escaped, which comes to the same.
fn utf8(input: &[u8]) -> Cow<'_, str> {
    match str::from_utf8(input) {
        Ok(text) => text.into(),
        Err(_) => {
            let mut text = String::new();
            for chunk in input.utf8_chunks() {
                text.push_str(chunk.valid());
                for byte in chunk.invalid() {
                    // A string takes all that is written.
                    let _ = write!(text, "%{byte:02X}");
                }
            }
            text.into()
        }
    }
}
