//! The only error type of the crate, with a stable code for each case.
// Imports no other module.

/// The result of everything in this crate that can fail.
pub type Result<T, E = Error> = core::result::Result<T, E>;

/// What went wrong. The [code](Error::code) is API and never changes its meaning; the message may change.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error, strum::IntoStaticStr, strum::VariantNames)]
#[strum(serialize_all = "snake_case")]
pub enum Error {
    /// The bytes don't start with the magic number.
    #[error(
        "this is not a bloom-wasm blob; is it an error page, a feed's manifest, gzipped, a text-mode copy, or a filter of other software?"
    )]
    NotAFilter,
    /// The blob was written by a newer release.
    #[error("the blob has format version {version}; update bloom-wasm")]
    UnsupportedVersion {
        /// The version byte found.
        version: u8,
    },
    /// The blob holds a kind of filter that this release doesn't know.
    #[error("the blob holds a filter of unknown kind {kind}; update bloom-wasm")]
    UnsupportedKind {
        /// The kind byte found.
        kind: u8,
    },
    /// The format of a foreign filter is unknown, or the filter is of an unsupported variant of it.
    #[error("{reason}{}{}", if known.is_empty() { "" } else { "; known are " }, known.join(", "))]
    UnsupportedFormat {
        /// What isn't supported, in words.
        reason: &'static str,
        /// The names of all formats if the name was unknown, and otherwise none.
        known: &'static [&'static str],
    },
    /// An argument, or a field of a blob, is out of range.
    #[error("{rule}")]
    InvalidParameter {
        /// What is required, in words.
        rule: &'static str,
    },
    /// A key has a wrong type, or the input gives no key or several.
    #[error("{reason}")]
    InvalidKey {
        /// What is wrong with it, in words.
        reason: &'static str,
    },
    /// The blob is cut short.
    #[error("the blob is cut short: it needs {needed} bytes and has {have}; fetch it again")]
    Truncated {
        /// The least number of bytes that the blob must have, judging from what could be read.
        needed: u64,
        /// The number of bytes given.
        have: u64,
    },
    /// There are bytes after the blob's end.
    #[error("bytes after the blob's end: {extra}; was something appended?")]
    TrailingBytes {
        /// How many extra bytes there are.
        extra: u64,
    },
    /// The checksum at the end doesn't match the bytes before it.
    #[error("the blob is damaged: its checksum is {stored:08x}, not {computed:08x}; fetch it again")]
    ChecksumMismatch {
        /// The checksum in the blob.
        stored: u64,
        /// The checksum of the blob's bytes.
        computed: u64,
    },
    /// Two filters differ where they must be equal.
    #[error(
        "the filters differ in what must be equal: profile, bits, hashes, seed, secret, or the hash itself"
    )]
    Incompatible,
    /// A ribbon filter can't be built from these keys under this seed.
    #[error("the keys collide under every hash; build with another seed")]
    BuildFailed,
    /// Filters of these kinds can't be merged.
    #[error("only bloom filters, or only counting ones, can be merged")]
    NotMergeable,
    /// A cuckoo filter has no room for another key, or a scalable one for another slice; it is unchanged.
    #[error("the filter is full with {count} keys; build one with a higher capacity")]
    FilterFull {
        /// How many keys it holds.
        count: u64,
    },
    /// The filter would need more memory than there is.
    #[error("there is no room for {bytes} bytes; use fewer keys or a higher fpr")]
    TooLarge {
        /// The number of bytes asked for.
        bytes: u64,
    },
    /// A delta was made for another filter.
    #[error("the delta is for the blob with the id {wanted:016x}, and this one is {found:016x}")]
    WrongBase {
        /// The id of the delta's parent.
        wanted: u64,
        /// The id of the blob at hand.
        found: u64,
    },
    /// The filter is keyed, and there is no secret.
    #[error("the filter is keyed; give its secret")]
    SecretRequired,
    /// The secret isn't that of the filter, or the filter has none.
    #[error("this is not the secret of the filter, or the filter has none")]
    WrongSecret,
    /// The filter has layers, was updated, or was built with allowed keys, even if it needed no layer: it can't be changed.
    #[error("a filter with layers, an update or an allowlist is read-only; build a new one")]
    Layered,
    /// Filters of this kind can't do that, or the blob is of another kind than asked for.
    #[error("a filter of kind {kind} can't do this{}", if *kind == "delta" { "; open its feed" } else { "" })]
    WrongKind {
        /// The name of the filter's kind.
        kind: &'static str,
    },
    /// The runtime that WebAssembly is in has no full URL parser. Never returned elsewhere.
    #[error("this runtime has no full URL parser")]
    UnsupportedRuntime,
    /// The filter wasn't built from URLs, or from passwords.
    #[error(
        "the filter was built with the profile {found}, not {wanted}; build it with the profile {wanted}"
    )]
    WrongProfile {
        /// The name of the filter's profile.
        found: &'static str,
        /// The name of the profile that the query needs.
        wanted: &'static str,
    },
}

impl Error {
    /// [`Error::InvalidParameter`].
    pub(crate) const fn rule(rule: &'static str) -> Self {
        Error::InvalidParameter { rule }
    }

    /// [`Error::UnsupportedFormat`] of a known format.
    #[cfg(feature = "interop")]
    pub(crate) const fn unsupported(reason: &'static str) -> Self {
        Error::UnsupportedFormat { reason, known: &[] }
    }

    /// [`Error::InvalidParameter`] unless the rule holds.
    pub(crate) fn unless(holds: bool, rule: &'static str) -> Result<()> {
        if holds { Ok(()) } else { Err(Self::rule(rule)) }
    }

    /// [`Error::InvalidKey`] unless the key is one.
    #[allow(dead_code)] // as the next one
    pub(crate) fn unless_key(holds: bool, reason: &'static str) -> Result<()> {
        if holds { Ok(()) } else { Err(Error::InvalidKey { reason }) }
    }

    /// The message, written without allocating; one that doesn't fit ends in three full stops.
    #[allow(dead_code)] // only src/wasm/ needs it
    pub(crate) fn message_in<'a, const ROOM: usize>(&self, room: &'a mut [u8; ROOM]) -> &'a str {
        use std::io::Write;
        let mut rest = &mut room[..];
        let is_whole = write!(rest, "{self}").is_ok();
        let length = ROOM - rest.len();
        if !is_whole {
            room[ROOM - 3..].fill(b'.');
        }
        // Our messages are ASCII, so none is cut within a character.
        str::from_utf8(&room[..length]).unwrap_or("...")
    }

    /// The stable, machine-readable name of this error. It is the name of its variant, such as `"not_a_filter"`.
    pub fn code(&self) -> &'static str {
        self.into()
    }
}

#[cfg(test)]
mod tests {
    use strum::VariantNames;

    use super::*;

    /// The JavaScript layer has every code of this file, and a few more.
    #[test]
    fn javascript_knows_every_code() {
        let javascript = include_str!("../js/error.js");
        assert_eq!(Error::NotAFilter.code(), "not_a_filter");
        for code in Error::VARIANTS {
            assert!(javascript.contains(&format!("\n  \"{code}\",")), "{code} is missing");
        }
    }

    #[test]
    fn a_message_that_is_cut_says_so() {
        let error = Error::UnsupportedFormat { reason: "unknown", known: &["one", "two"] };
        let whole = "unknown; known are one, two";
        assert_eq!((error.message_in(&mut [0; 27]), error.message_in(&mut [0; 512])), (whole, whole));
        assert_eq!(error.message_in(&mut [0; 26]), "unknown; known are one,...");
        assert_eq!(error.message_in(&mut [0; 10]), "unknown...");
    }
}
