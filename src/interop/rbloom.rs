//! `rbloom`: what `Bloom.save` of Python's <https://github.com/KenanHanke/rbloom> writes: hashes (u64), then the bits,
//! the lowest of a byte first. The hash function is the user's choice; supported is `mmh3.hash128(key, signed=True)`.
//! rbloom refuses hashes from 2^127 on, which half of the unsigned ones are.

use super::found::Found;
use super::options::Options;
use crate::error::Result;
use crate::fields::Cursor;
use crate::filters::foreign::{MAX_HASHES, Scheme};
use crate::vectors::copied;

pub(super) fn read(file: &mut Cursor, _: &Options) -> Result<Found> {
    let hashes = file.u64().min(u64::from(MAX_HASHES) + 1);
    let array = copied(file.rest())?;
    Found::single(Scheme::Lcg128, array.len() as u64 * 8, hashes, array)
}
