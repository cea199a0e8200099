//! `redis-bitmap`: what `GET` gives of a bitmap in which `SETBIT` set the bits mmh3.hash(item, s) mod bits, s being 0 to
//! hashes - 1. The highest bit of a byte comes first; Redis's string ends with the last byte that was written.

use super::{Options, only, single};
use crate::error::{Error, Result};
use crate::filters::ForeignFilter;
use crate::filters::foreign::{Format, Scheme};
use crate::vectors::copied;

pub(super) fn read(options: &Options, bytes: &[u8]) -> Result<ForeignFilter> {
    let (Some(bits), Some(hashes)) = (options.bits, options.hashes) else {
        return Err(Error::rule("redis-bitmap needs bits and hashes"));
    };
    Error::unless((1..=1 << 32).contains(&bits), "bits must be a whole number from 1 to 2^32")?;
    let string = mirrored(copied(bytes)?);
    let past = string.get((bits / 8) as usize..).unwrap_or_default();
    let beyond =
        past.iter().enumerate().any(|(i, &byte)| if i == 0 { byte >> (bits % 8) != 0 } else { byte != 0 });
    Error::unless(!beyond, "bits must be above every bit that is set")?;
    let keys = Format::RedisBitmap.keys()[0].1;
    single(Scheme::Mmh3, keys, 0, 0, (bits, hashes.into()), Vec::new(), string)
}

pub(super) fn write(filter: &ForeignFilter) -> Result<Vec<u8>> {
    Ok(mirrored(copied(only(filter)?.1)?))
}

/// The bits of each byte in the other order.
fn mirrored(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.iter_mut().for_each(|byte| *byte = byte.reverse_bits());
    bytes
}
