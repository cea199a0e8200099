//! From an input, or a line of a list, to the keys to test. Pure functions that know no filter.
//!
//! [`url`] and [`password`] turn one input into keys, and [`list`] the lines of a list. A URL parser and Unicode's
//! normal forms, which are built into browsers and are crates in Rust, come from a [`Platform`].

pub mod entries;
pub mod lines;
pub mod list;
#[cfg(feature = "native")]
pub mod native;
pub mod password;
mod platform;
mod skip;
pub mod url;
pub mod url_list;

use std::borrow::Cow;

pub use self::platform::Platform;
pub use self::skip::Skip;

use self::url::Readings;
use crate::error::Result;
use crate::profile::Profile;

/// Whether a filter of this profile can hold a key: whether it may be the [own](Input::own) key of an input. Anything
/// else is an input, which must first be turned into keys, so the answer "absent" would be wrong for it.
///
/// ```
/// use bloom_wasm::Profile;
/// use bloom_wasm::keys::{is_key, native::Native};
///
/// assert!(is_key(&Native, Profile::Url, b"evil.example/"));
/// assert!(!is_key(&Native, Profile::Url, b"evil.example"));
/// assert!(!is_key(&Native, Profile::Password { lowercase: false, sha1: true }, b"hunter2"));
/// ```
#[cfg_attr(target_arch = "wasm32", inline(never))]
pub fn is_key(platform: &impl Platform, profile: Profile, key: &[u8]) -> bool {
    match profile {
        Profile::Raw => true,
        Profile::Url => url::is_key(key),
        Profile::Password { lowercase, sha1 } => password::is_key(platform, key, lowercase, sha1),
    }
}

/// What a profile makes of an input: one or more keys. The first is its own key, the one that a list holds.
#[derive(Debug, Clone, PartialEq, Eq)]
// Nobody keeps many of them.
#[allow(clippy::large_enum_variant)]
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

    /// The keys to test: 1 to 30, or some hundreds for a URL that may be read in many ways.
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
