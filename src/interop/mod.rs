//! The filters of other software: their bytes to a [`ForeignFilter`] and back, one format per file, and how to build
//! one. Queries are in [`filters::foreign`](crate::filters::foreign); this module has what a client of a wrapped blob
//! never needs.
//!
//! Every reader checks what the bytes claim before it allocates memory for it, and returns a filter or a typed error.
//!
//! ```
//! use bloom_wasm::interop::{self, Format, Options};
//! use bloom_wasm::{Filter, Error};
//!
//! // What Go's `filter.WriteTo` wrote: 64 bits and one hash, nothing added.
//! let bytes = [64_u64, 1, 64, 0].map(u64::to_be_bytes).concat();
//! let filter = interop::read(Format::GoBloom, &Options::default(), &bytes)?;
//! assert!(!filter.has(b"key"));
//! let blob = Filter::from(filter).encode()?;
//!
//! let blob = Filter::decode(blob)?;
//! assert_eq!(interop::export(blob.stack().base(), Format::GoBloom)?, bytes);
//! # Ok::<(), Error>(())
//! ```

mod bloom_filter2;
mod builder;
mod filterpassword;
mod flor;
mod formats;
mod found;
mod go_bloom;
mod guava;
mod json;
mod npm_bloom_filters;
mod npm_bloomfilter;
mod options;
mod parquet_sbbf;
mod pybloomfiltermmap3;
mod pyprobables;
mod rbloom;
mod redis_bitmap;
mod redisbloom;
mod spark;
mod xor;

pub use builder::{Builder, KeyBuffer};
pub use formats::{making_options, reading_options};
pub use options::Options;

pub use crate::filters::foreign::{Format, KeyType};

use self::formats::{Row, row};
use self::found::READ_ONLY;
use crate::error::{Error, Result};
use crate::fields::{Cursor, Fields};
use crate::filters::{AnyFilter, ForeignFilter};

/// Reads what other software wrote. A missing option has the format's default.
///
/// # Errors
/// [`Error::InvalidParameter`] for options that are unknown to the format, missing or invalid, and for bytes that break
/// its rules; [`Error::Truncated`], [`Error::TrailingBytes`] and [`Error::ChecksumMismatch`] as for our own blobs;
/// [`Error::UnsupportedFormat`] for a variant that isn't read; [`Error::TooLarge`] without the memory.
pub fn read(format: Format, options: &Options, bytes: &[u8]) -> Result<ForeignFilter> {
    let Row { read, reading, .. } = row(format)?;
    options.only(reading)?;
    let keys = options.keys(format)?;
    let mut file = Cursor::new(bytes);
    let found = read(&mut file, options);
    // What was made of the zeros after an error doesn't matter.
    file.done()?;
    found?.filter(format, keys)
}

/// Writes a filter as its own software does: the bytes that were read, if there is only one way to write the format.
/// Otherwise see FORMAT-FOREIGN.md.
///
/// # Errors
/// [`Error::UnsupportedFormat`] for a format that is only read; [`Error::TooLarge`] without the memory.
pub fn write(filter: &ForeignFilter) -> Result<Vec<u8>> {
    let (_, write) = row(filter.format())?.written.ok_or(READ_ONLY)?;
    let part = filter.parts().first().ok_or(Error::rule("the filter must have a part"))?;
    let mut fields = Fields::default();
    write(&mut fields, filter, *part)?;
    fields.finish()
}

/// As [`write`](fn@write), for any filter. A filter can't be converted, since each format hashes in its own way.
///
/// # Errors
/// [`Error::Incompatible`] unless the filter is of this format; and those of [`write`](fn@write).
pub fn export(filter: &AnyFilter, to: Format) -> Result<Vec<u8>> {
    match filter {
        AnyFilter::Foreign(filter) if filter.format() == to => write(filter),
        _ => Err(Error::Incompatible),
    }
}
