//! The one error type of the crate, with a stable code for each case. Knows no other module.

use alloc::vec::Vec;
use core::fmt;

/// The result of everything here that can fail.
pub type Result<T, E = Error> = core::result::Result<T, E>;

/// What went wrong. The [code](Error::code) is API and never changes its meaning; the message may.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Error {
    /// The bytes don't start with the magic number.
    NotAFilter,
    /// The blob was written by a newer release.
    UnsupportedVersion {
        /// The version byte found.
        version: u8,
    },
    /// The blob holds a kind of filter that this release doesn't know.
    UnsupportedKind {
        /// The kind byte found.
        kind: u8,
    },
    /// An argument, or a field of a blob, is outside its range.
    InvalidParameter {
        /// What it must be, in words.
        rule: &'static str,
    },
    /// The blob ends too early.
    Truncated {
        /// The least number of bytes that the blob must have, as far as it could be read.
        needed: u64,
        /// The number of bytes given.
        have: u64,
    },
    /// There are bytes after the blob's end.
    TrailingBytes {
        /// How many bytes too many.
        extra: u64,
    },
    /// The checksum at the end doesn't fit the bytes before it.
    ChecksumMismatch {
        /// The checksum in the blob.
        stored: u64,
        /// The checksum of the bytes that are there.
        computed: u64,
    },
    /// Two filters differ in what must be equal.
    Incompatible,
    /// A ribbon filter can't be built from these keys under this seed.
    BuildFailed,
    /// Filters of these kinds can't be merged.
    NotMergeable,
    /// A cuckoo filter has no room for another key, or a scalable one for another slice; it is unchanged.
    FilterFull {
        /// How many keys it holds.
        count: u64,
    },
    /// The filter would need more memory than there is.
    TooLarge {
        /// The number of bytes asked for.
        bytes: u64,
    },
    /// The filter has layers over it, and so can't be changed in place.
    Layered,
}

impl Error {
    /// [`Error::InvalidParameter`]. The wasm for pages gets no parameters but those of blobs, and saves the words for
    /// each: 500 bytes.
    pub(crate) const fn rule(rule: &'static str) -> Self {
        let page = cfg!(all(feature = "npm", not(feature = "full")));
        Error::InvalidParameter { rule: if page { "a field of the blob is outside its range" } else { rule } }
    }

    /// The stable, machine-readable name of this error.
    pub fn code(&self) -> &'static str {
        self.parts().0
    }

    /// The code, the message with `{}` in place of its numbers, and the numbers. WebAssembly hands them over like
    /// this, because formatting costs 2 kB there.
    pub(crate) fn parts(&self) -> (&'static str, &'static str, [u64; 2]) {
        match *self {
            Error::NotAFilter => (
                "not_a_filter",
                "these bytes are not a bloom-wasm blob; is it another file, or a text-mode copy?",
                [0; 2],
            ),
            Error::UnsupportedVersion { version } => (
                "unsupported_version",
                "the blob has format version {}; update bloom-wasm",
                [version.into(), 0],
            ),
            Error::UnsupportedKind { kind } => (
                "unsupported_kind",
                "the blob holds a filter of unknown kind {}; update bloom-wasm",
                [kind.into(), 0],
            ),
            Error::InvalidParameter { rule } => ("invalid_parameter", rule, [0; 2]),
            Error::Truncated { needed, have } => (
                "truncated",
                "the blob is cut short: it needs {} bytes and has {}; fetch it again",
                [needed, have],
            ),
            Error::TrailingBytes { extra } => (
                "trailing_bytes",
                "there are {} bytes after the blob's end; was something appended?",
                [extra, 0],
            ),
            Error::ChecksumMismatch { .. } => (
                "checksum_mismatch",
                "the blob is damaged: its bytes don't fit its checksum; fetch it again",
                [0; 2],
            ),
            Error::Incompatible => (
                "incompatible",
                "the filters differ; build both with the same profile, bits, hashes and seed",
                [0; 2],
            ),
            Error::BuildFailed => {
                ("build_failed", "the keys collide under every hash; build with another seed", [0; 2])
            }
            Error::NotMergeable => {
                ("not_mergeable", "only bloom filters, or only counting ones, can be merged", [0; 2])
            }
            Error::FilterFull { count } => {
                ("filter_full", "the filter is full with {} keys; build one of a higher capacity", [count, 0])
            }
            Error::TooLarge { bytes } => {
                ("too_large", "there is no room for {} bytes; use fewer keys or a higher fpr", [bytes, 0])
            }
            Error::Layered => {
                ("layered", "a filter with layers is read-only; build a new one or add a layer", [0; 2])
            }
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let (_, message, numbers) = self.parts();
        let mut numbers = numbers.iter();
        for (i, text) in message.split("{}").enumerate() {
            if i > 0 {
                numbers.next().map_or(Ok(()), |number| number.fmt(f))?;
            }
            f.write_str(text)?;
        }
        Ok(())
    }
}

impl core::error::Error for Error {}

// Vectors grow by these functions alone: the standard library's own abort without memory. Each asks once more for what
// it has just made sure of, which shows the compiler that the aborting branch is never taken, and it is left out.

/// `len` zero bytes.
pub(crate) fn zeroed(len: usize) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    resize(&mut bytes, len)?;
    Ok(bytes)
}

/// A copy of some items.
pub(crate) fn copied<T: Copy>(items: &[T]) -> Result<Vec<T>> {
    let mut copy = Vec::new();
    reserve(&mut copy, items.len())?;
    append(&mut copy, items)?;
    Ok(copy)
}

/// Makes room for `total` items in all, or fails with [`Error::TooLarge`] and changes nothing.
pub(crate) fn reserve<T>(items: &mut Vec<T>, total: usize) -> Result<()> {
    let additional = total.saturating_sub(items.len());
    items
        .try_reserve_exact(additional)
        .map_err(|_| Error::TooLarge { bytes: total as u64 * size_of::<T>() as u64 })
}

/// Makes it `len` items long, new ones being 0; fails as [`reserve`].
pub(crate) fn resize<T: Copy + Default>(items: &mut Vec<T>, len: usize) -> Result<()> {
    let Some(additional) = len.checked_sub(items.len()) else {
        items.truncate(len);
        return Ok(());
    };
    reserve(items, len)?;
    if has_room(items, additional) {
        items.resize(items.len() + additional, T::default());
    }
    Ok(())
}

/// Appends an item; makes twice the room when there is none left, and fails as [`reserve`].
#[inline(never)]
pub(crate) fn push<T>(items: &mut Vec<T>, item: T) -> Result<()> {
    if !has_room(items, 1) {
        reserve(items, items.len() * 2 + 4)?;
    }
    if has_room(items, 1) {
        items.push(item);
    }
    Ok(())
}

/// As [`push`], with many items.
#[inline(never)]
pub(crate) fn append<T: Copy>(items: &mut Vec<T>, more: &[T]) -> Result<()> {
    if !has_room(items, more.len()) {
        let total = items.len() + more.len();
        reserve(items, total.max(items.len() * 2))?;
    }
    if has_room(items, more.len()) {
        items.extend_from_slice(more);
    }
    Ok(())
}

#[inline(always)]
fn has_room<T>(items: &Vec<T>, additional: usize) -> bool {
    additional <= items.capacity().wrapping_sub(items.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The JavaScript layer has every code of this file, and some of its own.
    #[test]
    fn javascript_knows_every_code() {
        let typescript = include_str!("../js/error.ts");
        let mut error = Some(Error::NotAFilter);
        while let Some(this) = error {
            assert!(
                typescript.contains(&alloc::format!("\n  \"{}\",", this.code())),
                "{} is missing",
                this.code()
            );
            // Each to the next: a new variant doesn't compile until it stands here.
            error = match this {
                Error::NotAFilter => Some(Error::UnsupportedVersion { version: 2 }),
                Error::UnsupportedVersion { .. } => Some(Error::UnsupportedKind { kind: 9 }),
                Error::UnsupportedKind { .. } => Some(Error::InvalidParameter { rule: "" }),
                Error::InvalidParameter { .. } => Some(Error::Truncated { needed: 1, have: 0 }),
                Error::Truncated { .. } => Some(Error::TrailingBytes { extra: 1 }),
                Error::TrailingBytes { .. } => Some(Error::ChecksumMismatch { stored: 0, computed: 1 }),
                Error::ChecksumMismatch { .. } => Some(Error::Incompatible),
                Error::Incompatible => Some(Error::BuildFailed),
                Error::BuildFailed => Some(Error::NotMergeable),
                Error::NotMergeable => Some(Error::FilterFull { count: 1 }),
                Error::FilterFull { .. } => Some(Error::TooLarge { bytes: 1 }),
                Error::TooLarge { .. } => Some(Error::Layered),
                Error::Layered => None,
            };
        }
    }

    #[test]
    fn messages() {
        let cut = Error::Truncated { needed: 29, have: 3 };
        assert_eq!(cut.to_string(), "the blob is cut short: it needs 29 bytes and has 3; fetch it again");
        assert_eq!(Error::InvalidParameter { rule: "x" }.to_string(), "x");
    }
}
