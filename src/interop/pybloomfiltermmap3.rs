//! `pybloomfiltermmap3`: the file of Python's <https://github.com/prashnts/pybloomfiltermmap3>, as 64-bit systems write it:
//!
//! ```text
//!    0  "MBITARRAY"
//!    9  bits (u64)
//!   17  length of the header, 1200 (i32)
//!   21  the header: at 16 hashes (u32), at 20 a seed (u32) for each of up to 256 hashes, at 1056 the version, 1 (u8)
//! 1280  the bits
//! ```

use super::{Cursor, Options, single};
use crate::error::{Error, Result};
use crate::filters::ForeignFilter;
use crate::filters::foreign::{Format, Scheme};
use crate::vectors::copied;

pub(super) fn read(options: &Options, bytes: &[u8]) -> Result<ForeignFilter> {
    let keys = options.keys(Format::PyBloomFilterMmap3)?;
    let mut cursor = Cursor::new(bytes);
    if cursor.slice(9)? != b"MBITARRAY" {
        return Err(Error::NotAFilter);
    }
    let (bits, header) = (cursor.u64()?, cursor.u32()?);
    if header != 1200 {
        return Err(Error::UnsupportedFormat { reason: "the header must be that of a 64-bit system" });
    }
    let mut head = Cursor::new(cursor.slice(1280 - 21)?);
    head.slice(16)?;
    let hashes = head.u32()?;
    Error::unless((1..=256).contains(&hashes), "the header must have 1 to 256 hashes")?;
    let seeds = head.slice(1024)?.get(..hashes as usize * 4).unwrap_or_default();
    head.slice(1056 - 20 - 1024)?;
    if head.u8()? != 1 {
        return Err(Error::UnsupportedFormat { reason: "the header's version must be 1" });
    }
    let array = cursor.last(bits.div_ceil(8))?;
    single(Scheme::Seeds, keys, 0, 0, (bits, hashes.into()), copied(seeds)?, copied(array)?)
}
