//! The native platform: the WHATWG parser of URLs and Unicode's normal forms, from crates.

use ::url::{ParseError, Url};
use unicode_normalization::UnicodeNormalization;

use super::platform::Platform;
use crate::error::Result;

/// The crates `url` and `unicode-normalization`.
///
/// ```
/// use bloom_wasm::keys::{native::Native, url};
///
/// let url = url::parse(&Native, "http://evil.com\\@good.com/".as_bytes())?;
/// assert_eq!(url.unwrap().as_bytes(), b"http://evil.com/@good.com/");
/// # Ok::<(), bloom_wasm::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Native;

impl Platform for Native {
    fn parse_url(&self, text: &str) -> Result<Option<Vec<u8>>> {
        Ok(parse(text).ok().map(|url| String::from(url).into_bytes()))
    }

    fn normalize(&self, text: &str, lowercase: bool) -> Result<Vec<u8>> {
        Ok(normal(text, lowercase).into_bytes())
    }

    fn is_normal(&self, text: &str, lowercase: bool) -> bool {
        normal(text, lowercase) == text
    }
}

fn normal(text: &str, lowercase: bool) -> String {
    let text: String = text.nfc().collect();
    if lowercase { text.to_lowercase().nfc().collect() } else { text }
}

/// Parses a URL. The crate takes a segment like `c:` of any path for a drive that `..` can't leave; in the standard,
/// only `file:` has drives. With its colon escaped, the segment isn't a drive, and the canonical form is the same.
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
