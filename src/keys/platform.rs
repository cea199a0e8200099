//! The platform: a parser of URLs, and Unicode's normal forms.

use crate::error::Result;

/// What a platform must provide: from crates natively, from the runtime in WebAssembly.
pub trait Platform {
    /// The [`href`](https://url.spec.whatwg.org/#dom-url-href) of a URL by the WHATWG parser; `None` if it refuses the
    /// text.
    fn parse_url(&self, text: &str) -> Result<Option<Vec<u8>>>;

    /// The text in Unicode's normal form NFC. With `lowercase`, it is then lower-cased by Unicode's default mapping,
    /// which is the same for all languages, and brought to NFC again.
    fn normalize(&self, text: &str, lowercase: bool) -> Result<Vec<u8>>;

    /// Whether a text is what `normalize` makes of it.
    fn is_normal(&self, text: &str, lowercase: bool) -> bool;
}
