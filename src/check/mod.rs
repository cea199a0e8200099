//! From an input, or a line of a list, to the keys to test. Pure: knows no filter, only [`error`](crate::error).

#[cfg(feature = "cli")]
pub mod input;
pub mod list;
pub mod password;
pub mod url;

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
}
