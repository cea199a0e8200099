//! `filterpassword`: <https://github.com/FastFilter/FilterPassword>. The key of a password is the first 8 bytes of its
//! SHA-1. All little-endian:
//!
//! ```text
//! xor8              1234567 (u64), seed (u64), block length (u64), 3 block lengths of bytes
//! bloom12           1234568 (u64), seed (u64), words (u64), the words (u64)
//! binary fuse 8/16  1234569 or 1234570 (u64), seed (u64), segment length, mask, segments, their length together, array
//!                   length (u32 each), fingerprints
//! ```

use super::found::Found;
use super::options::Options;
use super::xor;
use crate::error::{Error, Result};
use crate::fields::Cursor;
use crate::filters::foreign::Scheme;
use crate::vectors::copied;

pub(super) fn read(file: &mut Cursor, _: &Options) -> Result<Found> {
    let cookie = file.u64();
    let seed = file.u64();
    let found = match cookie {
        1_234_567 => {
            let block = file.u64();
            let fingerprints = file.last(block.saturating_mul(3));
            Found::single(Scheme::Xor, block, 8, copied(fingerprints)?)?
        }
        1_234_568 => {
            let words = file.u64();
            let words = copied(file.last(words.saturating_mul(8)))?;
            Found::single(Scheme::Bloom12, words.len() as u64 * 8, 8, words)?
        }
        1_234_569 | 1_234_570 => {
            let width = if cookie == 1_234_569 { 8 } else { 16 };
            let [segment, mask, _count, segments, array] = [(); 5].map(|()| u64::from(file.u32()));
            let fingerprints = file.last(array * width / 8);
            file.rule(mask + 1 == segment, "the mask must be that of the segments");
            xor::fuse(file, segments, segment, width, copied(fingerprints)?)?
        }
        _ => return Err(Error::rule("the file must begin with one of FilterPassword's three magic numbers")),
    };
    Ok(Found { seed, ..found })
}
