//! From an input, or a line of a list, to the keys to test. Pure, and knows no filter.
//!
//! [`url`] and [`password`] make keys of one input, [`list`] of the lines of a list. What a browser has built in and Rust
//! has in crates, a parser of URLs and Unicode's normal forms, comes from a [`Platform`].

pub mod lines;
pub mod list;
#[cfg(feature = "cli")]
pub mod native;
pub mod password;
pub mod url;
pub mod url_list;

use std::borrow::Cow;

use self::url::Readings;
use crate::error::Result;
use crate::profile::Profile;

/// What a platform must give: the crates natively, in WebAssembly the runtime itself.
pub trait Platform {
    /// The [`href`](https://url.spec.whatwg.org/#dom-url-href) of a URL by the WHATWG parser; `None` if it refuses the
    /// text.
    fn parse_url(&self, text: &str) -> Result<Option<Vec<u8>>>;

    /// The text in Unicode's normal form NFC; with `lowercase` then in lower case by Unicode's default mapping, which
    /// knows no language, and in NFC again.
    fn normalize(&self, text: &str, lowercase: bool) -> Result<Vec<u8>>;
}

/// Why a line of a list gives no key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Skip {
    /// There is no host in it, or a scheme whose URLs have none.
    NotCheckable,
    /// An adblock rule that blocks less, or more, than a whole host.
    Pattern,
    /// An entry of a hosts file that names this computer or its network.
    Local,
    /// A host under which anybody can have one, such as `co.uk` and `github.io`.
    PublicSuffix,
    /// Not the SHA-1 of anything.
    NotAHash,
    /// A password that is shorter than asked for.
    TooShort,
    /// A password that was seen less often than asked for.
    TooRare,
}

impl Skip {
    /// The reason's name, which is API: `"not_checkable"`, `"pattern"`, `"local"`, `"public_suffix"`, `"not_a_hash"`,
    /// `"too_short"` or `"too_rare"`.
    pub fn code(self) -> &'static str {
        match self {
            Skip::NotCheckable => "not_checkable",
            Skip::Pattern => "pattern",
            Skip::Local => "local",
            Skip::PublicSuffix => "public_suffix",
            Skip::NotAHash => "not_a_hash",
            Skip::TooShort => "too_short",
            Skip::TooRare => "too_rare",
        }
    }

    /// The reason in words, after "skipped, ".
    pub fn words(self) -> &'static str {
        match self {
            Skip::NotCheckable => "no URL and no host",
            Skip::Pattern => "an adblock rule that isn't ||host^",
            Skip::Local => "this computer's own name",
            Skip::PublicSuffix => "a public suffix; --allow-suffixes keeps it",
            Skip::NotAHash => "no SHA-1 hash in hexadecimal",
            Skip::TooShort => "shorter than asked for",
            Skip::TooRare => "rarer than asked for",
        }
    }
}

/// What a profile makes of an input: keys, of which the first is its own, the one that a list holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input<'a> {
    /// A URL, which is looked up by all of its [keys](Readings::keys).
    Url(Readings<'a>),
    /// One key: bytes as they were given, a password in its normal form, or a hash.
    Key(Cow<'a, [u8]>),
}

impl<'a> Input<'a> {
    /// An input to check; none if it can't be a key.
    ///
    /// # Errors
    /// [`Error::TooLarge`](crate::Error::TooLarge) without the memory.
    pub fn parse(platform: &impl Platform, profile: Profile, input: &'a [u8]) -> Result<Option<Self>> {
        Ok(match profile {
            Profile::Raw => Some(Input::Key(input.into())),
            Profile::Url => {
                let url = Input::Url(url::readings(platform, input)?);
                Some(url).filter(|url| url.keys().next().is_some())
            }
            Profile::Password { lowercase, sha1 } => {
                Some(Input::Key(password::key(platform, input, lowercase, sha1)?))
            }
        })
    }

    /// The keys to test: 1 to 30, or up to 60 of a URL with a second reading.
    pub fn keys(&self) -> impl Iterator<Item = &[u8]> {
        let (url, key) = match self {
            Input::Url(url) => (Some(url.keys()), None),
            Input::Key(key) => (None, Some(&key[..])),
        };
        url.into_iter().flatten().chain(key)
    }

    /// The key that a list holds.
    pub fn own(&self) -> &[u8] {
        self.keys().next().unwrap_or_default()
    }
}
