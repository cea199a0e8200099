//! One string, as a user or a list has it, to its canonical form. The WHATWG parser comes first, as in a browser;
//! JavaScript has its own and does the same in the same order. All else is in [`url`](super::url).

use alloc::borrow::Cow;
use alloc::string::String;
use core::fmt::Write;

use ::url::Url;

use super::url::{Canonical, canonicalize, clean, has_port, is_special, missing_scheme};
use crate::error::Result;

/// The canonical form of a URL, a host or a host with a path; `None` for what no key can be made of.
///
/// ```
/// let url = bloom_wasm::check::input::parse("http://evil.com\\@good.com/".as_bytes())?;
/// assert_eq!(url.unwrap().as_bytes(), b"http://evil.com/@good.com/");
/// # Ok::<(), bloom_wasm::Error>(())
/// ```
pub fn parse(input: &[u8]) -> Result<Option<Canonical>> {
    let input = clean(input)?;
    let text = utf8(&input);
    match Url::parse(&text) {
        Ok(url) if is_special(url.scheme().as_bytes()) => return canonicalize(url.as_str().as_bytes()),
        Ok(_) if !has_port(&input) => return Ok(None),
        _ => {}
    }
    if let Some(prefix) = missing_scheme(&input)
        && let Ok(url) = Url::parse(&[prefix, &text].concat())
    {
        return canonicalize(url.as_str().as_bytes());
    }
    canonicalize(&input)
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
