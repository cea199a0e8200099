//! `rbloom`: what `Bloom.save` of Python's <https://github.com/KenanHanke/rbloom> writes: hashes (u64), then the bits, the
//! lowest of a byte first. The hash is the user's own; here it is `mmh3.hash128(key)` of mmh3, without more.

use super::{Cursor, MAX_HASHES, single};
use crate::error::Result;
use crate::filters::ForeignFilter;
use crate::filters::foreign::{Format, Scheme};
use crate::vectors::copied;

pub(super) fn read(bytes: &[u8]) -> Result<ForeignFilter> {
    let mut cursor = Cursor::new(bytes);
    let hashes = cursor.u64()?.min(u64::from(MAX_HASHES) + 1);
    let array = cursor.rest();
    let keys = Format::Rbloom.keys()[0].1;
    single(Scheme::Lcg128, keys, 0, 0, (array.len() as u64 * 8, hashes), Vec::new(), copied(array)?)
}
