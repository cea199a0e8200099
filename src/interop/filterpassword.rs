//! `filterpassword`: <https://github.com/FastFilter/FilterPassword>. A password is a key by the first 8 bytes of its SHA-1.
//! All little-endian:
//!
//! ```text
//! xor8              1234567 (u64), seed (u64), block length (u64), 3 block lengths of bytes
//! bloom12           1234568 (u64), seed (u64), words (u64), the words (u64)
//! binary fuse 8/16  1234569 or 1234570 (u64), seed (u64), segment length, mask, segments, their length together, array
//!                   length (u32 each), fingerprints
//! ```

use super::{Cursor, Keys, single, xor};
use crate::error::{Error, Result};
use crate::filters::ForeignFilter;
use crate::filters::foreign::Scheme;
use crate::vectors::copied;

pub(super) fn read(bytes: &[u8]) -> Result<ForeignFilter> {
    let mut cursor = Cursor::new(bytes);
    let cookie = cursor.u64()?;
    let seed = cursor.u64()?;
    match cookie {
        1_234_567 => {
            let block = cursor.u64()?;
            let fingerprints = cursor.last(block.saturating_mul(3))?;
            xor::xor(Keys::Sha1, seed, block, 8, copied(fingerprints)?)
        }
        1_234_568 => {
            let words = cursor.u64()?;
            let words = cursor.last(words.saturating_mul(8))?;
            single(
                Scheme::Bloom12,
                Keys::Sha1,
                0,
                seed,
                (words.len() as u64 * 8, 8),
                Vec::new(),
                copied(words)?,
            )
        }
        1_234_569 | 1_234_570 => {
            let width = if cookie == 1_234_569 { 8 } else { 16 };
            let mut next = || cursor.u32().map(u64::from);
            let [segment, mask, _count, segments, array] = [next()?, next()?, next()?, next()?, next()?];
            let fingerprints = cursor.last(array * width / 8)?;
            Error::unless(mask + 1 == segment, "the mask must be that of the segments")?;
            xor::fuse(Keys::Sha1, seed, (segments, segment), width, copied(fingerprints)?)
        }
        _ => Err(Error::NotAFilter),
    }
}
