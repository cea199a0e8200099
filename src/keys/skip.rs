//! Lines that give no key.

use strum::IntoStaticStr;

/// Why a line of a list gives no key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Skip {
    /// It has no host, or a scheme whose URLs have none.
    NotCheckable,
    /// An adblock rule that blocks less, or more, than a whole host.
    Pattern,
    /// A name in a hosts file for the local computer or its network, such as `localhost`.
    Local,
    /// A rule such as `*.com`, or an entry of a hosts file, whose host has no dot: no URL is looked up by the last label of
    /// its host. A line that is just `com` is kept: it lists that one host.
    SingleLabel,
    /// A host under which anybody can have a site, such as `co.uk` and `github.io`. Only the tool leaves it
    /// out.
    PublicSuffix,
    /// Not a SHA-1 in hexadecimal.
    NotAHash,
    /// A line of more than [`MAX_LINE`](super::list::MAX_LINE) bytes.
    TooLong,
    /// A password that is shorter than asked for.
    TooShort,
    /// A password that was seen less often than asked for.
    TooRare,
}

impl Skip {
    /// The reason's name, which is API: `"not_checkable"`, `"pattern"`, `"local"`, `"single_label"`, `"public_suffix"`,
    /// `"not_a_hash"`, `"too_long"`, `"too_short"` or `"too_rare"`.
    pub fn code(self) -> &'static str {
        self.into()
    }

    /// The reason in words, after "skipped, ".
    pub fn words(self) -> &'static str {
        match self {
            Skip::NotCheckable => "not a URL or a host",
            Skip::Pattern => "an adblock rule other than ||host^",
            Skip::Local => "a local name",
            Skip::SingleLabel => {
                "a name without a dot, below which nothing is looked up; http://NAME/ lists that one host"
            }
            Skip::PublicSuffix => "a public suffix",
            Skip::NotAHash => "not a SHA-1 in hexadecimal",
            Skip::TooLong => "longer than 1 MiB",
            Skip::TooShort => "below the minimum length",
            Skip::TooRare => "below the minimum count",
        }
    }
}
