//! `pybloomfiltermmap3`: the file of Python's <https://github.com/prashnts/pybloomfiltermmap3>, as 64-bit systems write it:
//!
//! ```text
//!    0  "MBITARRAY"
//!    9  bits (u64)
//!   17  length of the header, 1200 (i32)
//!   21  the header: at 16 hashes (u32), at 20 a seed (u32) for each of up to 256 hashes, at 1056 the version, 1 (u8)
//! 1280  the bits
//! ```

use super::found::Found;
use super::options::Options;
use crate::error::Result;
use crate::fields::Cursor;
use crate::filters::foreign::Scheme;
use crate::vectors::copied;

pub(super) fn read(file: &mut Cursor, _: &Options) -> Result<Found> {
    let magic = file.slice(9) == b"MBITARRAY";
    file.rule(magic, "the file must begin with MBITARRAY");
    let (bits, header) = (file.u64(), file.u32());
    if header != 1200 {
        file.unsupported("the header must be that of a 64-bit system");
    }
    let mut head = Cursor::new(file.slice(1280 - 21));
    head.slice(16);
    let hashes = head.u32();
    file.rule((1..=256).contains(&hashes), "the header must have 1 to 256 hashes");
    let seeds = head.slice(1024).get(..hashes as usize * 4).unwrap_or_default();
    head.slice(1056 - 20 - 1024);
    if head.u8() != 1 {
        file.unsupported("the header's version must be 1");
    }
    let array = file.last(bits.div_ceil(8));
    Ok(Found { note: copied(seeds)?, ..Found::single(Scheme::Seeds, bits, hashes.into(), copied(array)?)? })
}
