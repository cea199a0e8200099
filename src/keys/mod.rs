//! From an input, or a line of a list, to the keys to test. Pure, and knows no filter.
//!
//! [`url`] and [`password`] turn one input into keys, and [`list`] the lines of a list. A URL parser and Unicode's
//! normal forms, which are built into browsers and are crates in Rust, come from a [`Platform`].

pub mod lines;
pub mod list;
#[cfg(feature = "native")]
pub mod native;
pub mod password;
pub mod url;
pub mod url_list;

use std::borrow::Cow;

use self::url::Readings;
use crate::error::Result;
use crate::profile::Profile;

/// What a platform must provide: natively from crates, in WebAssembly from the runtime.
pub trait Platform {
    /// The [`href`](https://url.spec.whatwg.org/#dom-url-href) of a URL by the WHATWG parser; `None` if it refuses the
    /// text.
    fn parse_url(&self, text: &str) -> Result<Option<Vec<u8>>>;

    /// The text in Unicode's normal form NFC. With `lowercase`, it is then lower-cased by Unicode's default mapping,
    /// which is the same for all languages, and brought to NFC again.
    fn normalize(&self, text: &str, lowercase: bool) -> Result<Vec<u8>>;
}

/// Why a line of a list gives no key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Skip {
    /// It has no host, or a scheme whose URLs have none.
    NotCheckable,
    /// An adblock rule that blocks less, or more, than a whole host.
    Pattern,
    /// An entry of a hosts file that names this computer or its network.
    Local,
    /// A host under which anybody can have a site, such as `co.uk` and `github.io`.
    PublicSuffix,
    /// Not a SHA-1 in hexadecimal.
    NotAHash,
    /// A line of more than [`MAX_LINE`](list::MAX_LINE) bytes.
    TooLong,
    /// A password that is shorter than asked for.
    TooShort,
    /// A password that was seen less often than asked for.
    TooRare,
}

impl Skip {
    /// The reason's name, which is API: `"not_checkable"`, `"pattern"`, `"local"`, `"public_suffix"`, `"not_a_hash"`,
    /// `"too_long"`, `"too_short"` or `"too_rare"`.
    pub fn code(self) -> &'static str {
        match self {
            Skip::NotCheckable => "not_checkable",
            Skip::Pattern => "pattern",
            Skip::Local => "local",
            Skip::PublicSuffix => "public_suffix",
            Skip::NotAHash => "not_a_hash",
            Skip::TooLong => "too_long",
            Skip::TooShort => "too_short",
            Skip::TooRare => "too_rare",
        }
    }

    /// The reason in words, after "skipped, ".
    pub fn words(self) -> &'static str {
        match self {
            Skip::NotCheckable => "not a URL or a host",
            Skip::Pattern => "an adblock rule other than ||host^",
            Skip::Local => "this computer's own name",
            Skip::PublicSuffix => "a public suffix",
            Skip::NotAHash => "not a SHA-1 in hexadecimal",
            Skip::TooLong => "longer than 1 MiB",
            Skip::TooShort => "below the minimum length",
            Skip::TooRare => "below the minimum count",
        }
    }
}

/// What a profile makes of an input: one or more keys. The first is its own key, the one that a list holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input<'a> {
    /// A URL, which is looked up by all of its [keys](Readings::keys).
    Url(Readings<'a>),
    /// One key: bytes as given, a password in its normal form, or a hash.
    Key(Cow<'a, [u8]>),
}

impl<'a> Input<'a> {
    /// Parses an input to check; none if it can't be a key.
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

    /// The keys to test: 1 to 30, or up to 60 for a URL with a second reading.
    pub fn keys(&self) -> impl Iterator<Item = &[u8]> {
        let (url, key) = match self {
            Input::Url(url) => (Some(url.keys()), None),
            Input::Key(key) => (None, Some(&key[..])),
        };
        url.into_iter().flatten().chain(key)
    }

    /// The key that a list holds.
    ///
    /// # Panics
    /// For a URL without keys, which neither [`parse`](Self::parse) nor [`Rules`](list::Rules) give.
    pub fn own(&self) -> &[u8] {
        self.keys().next().expect("an input has a key")
    }
}
