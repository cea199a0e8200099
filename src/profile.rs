//! Profiles: what the keys of a blob are, and so how an input is turned into keys.
// Imports no other module.

/// The flags of the profile `password`, as a blob has them.
const LOWERCASE: u16 = 4;
const SHA1: u16 = 8;

/// What the keys of a blob are, and so how an input is turned into keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Profile {
    /// Bytes as they are given.
    #[default]
    Raw,
    /// The host and path expressions of URLs.
    Url,
    /// Passwords in Unicode's normal form NFC.
    Password {
        /// Whether they were lower-cased, as Unicode says without regard to a language: `STRASSE` isn't `straße`. A
        /// [`Builder`](crate::Builder) refuses it together with `sha1`, since a hash can't be lower-cased.
        lowercase: bool,
        /// Whether a key is a password's SHA-1 hash instead of itself.
        sha1: bool,
    },
}

impl Profile {
    /// The flags that a profile may have in a blob.
    pub(crate) const FLAGS: u16 = LOWERCASE | SHA1;

    /// The name of the profile: `"raw"`, `"url"` or `"password"`.
    pub fn name(self) -> &'static str {
        match self {
            Profile::Raw => "raw",
            Profile::Url => "url",
            Profile::Password { .. } => "password",
        }
    }

    /// The profile of this name. `None` for an unknown name, or if another profile than `password` is to be lower-cased
    /// or hashed.
    pub fn from_name(name: &str, lowercase: bool, sha1: bool) -> Option<Self> {
        match name {
            "raw" if !lowercase && !sha1 => Some(Profile::Raw),
            "url" if !lowercase && !sha1 => Some(Profile::Url),
            "password" => Some(Profile::Password { lowercase, sha1 }),
            _ => None,
        }
    }

    /// How passwords are compared: whether in lower case, and whether by their SHA-1 hashes. False for other profiles.
    pub fn password(self) -> (bool, bool) {
        match self {
            Profile::Password { lowercase, sha1 } => (lowercase, sha1),
            _ => (false, false),
        }
    }

    /// The profile's number in a blob, 0 to 2, and its flags.
    pub(crate) fn number(self) -> (u8, u16) {
        match self {
            Profile::Raw => (0, 0),
            Profile::Url => (1, 0),
            Profile::Password { lowercase, sha1 } => {
                (2, u16::from(lowercase) * LOWERCASE | u16::from(sha1) * SHA1)
            }
        }
    }

    /// The profile of this number and these flags. Flags other than [`Profile::FLAGS`] are ignored.
    pub(crate) fn from_number(number: u8, flags: u16) -> Option<Self> {
        let (lowercase, sha1) = (flags & LOWERCASE != 0, flags & SHA1 != 0);
        let name = ["raw", "url", "password"].get(usize::from(number))?;
        Self::from_name(name, lowercase, sha1)
    }

    /// The default false-positive rate: 1 in 1,000, and 1 in 10,000 for passwords.
    pub fn default_fpr(self) -> f64 {
        if let Profile::Password { .. } = self { 1e-4 } else { 1e-3 }
    }

    /// The rate of a single key, for a rate of whole checks. For URLs it is a tenth: a URL has up to 30 keys, and nine
    /// of ten URLs have at most 10. A ribbon filter of URLs computes this more exactly, see [`slots`](crate::slots).
    pub fn key_fpr(self, fpr: f64) -> f64 {
        // A rate that is out of range stays out of range, so that the builder refuses it.
        if self == Profile::Url && fpr < 1.0 { fpr / 10.0 } else { fpr }
    }
}
