//! `pyprobables`: the file of a `BloomFilter` of Python's <https://github.com/barrust/pyprobables>, with its default hash, and
//! of the same author's C library: the bits, the lowest of a byte first, then the count that it was made for and the
//! count added (u64 each) and the rate (f32). The number of bits and of hashes follow from the first and the last.

use std::f64::consts::LN_2;

use super::{Cursor, single};
use crate::error::{Error, Result};
use crate::filters::ForeignFilter;
use crate::filters::foreign::{Format, Scheme};
use crate::vectors::copied;

pub(super) fn read(bytes: &[u8]) -> Result<ForeignFilter> {
    let Some((array, footer)) = bytes.split_last_chunk::<20>() else {
        return Err(Error::Truncated { needed: 20, have: bytes.len() as u64 });
    };
    let mut footer = Cursor::new(footer);
    let (count, _added) = (footer.u64()?, footer.u64()?);
    let fpr = f64::from(f32::from_bits(footer.u32()?));
    Error::unless(count > 0 && fpr > 0.0 && fpr < 1.0, "the footer must hold a count and a rate")?;
    let bits = libm::ceil(-(count as f64) * libm::log(fpr) / 0.480_453_013_918_2);
    // Python rounds a half to the even number.
    let hashes = libm::rint(LN_2 * bits / count as f64);
    let length = libm::ceil(bits / 8.0);
    Error::unless(
        length == array.len() as f64,
        "there must be as many bits as the footer's count and rate need",
    )?;
    let keys = Format::PyProbables.keys()[0].1;
    single(Scheme::FnvStarts, keys, 0, 0, (bits as u64, hashes as u64), Vec::new(), copied(array)?)
}
