//! `redis-bitmap`: what `GET` gives of a bitmap in which `SETBIT` set the bits mmh3.hash(item, s) mod bits, s being 0 to
//! hashes - 1. The highest bit of a byte comes first; Redis's string ends with the last byte that was written.

use super::found::Found;
use super::options::Options;
use crate::error::Result;
use crate::fields::{Cursor, Fields};
use crate::filters::ForeignFilter;
use crate::filters::foreign::{Part, Scheme};
use crate::vectors::copied;

pub(super) fn read(file: &mut Cursor, options: &Options) -> Result<Found> {
    let (bits, hashes) = options.shape("redis-bitmap needs bits and hashes")?;
    file.rule((1..=1 << 32).contains(&bits), "bits must be a whole number from 1 to 2^32");
    let string = mirrored(file.rest())?;
    let past = string.get((bits / 8) as usize..).unwrap_or_default();
    let beyond =
        past.iter().enumerate().any(|(i, &byte)| if i == 0 { byte >> (bits % 8) != 0 } else { byte != 0 });
    file.rule(!beyond, "bits must be above every bit that is set");
    Found::single(Scheme::Mmh3, bits, hashes.into(), string)
}

pub(super) fn write(fields: &mut Fields, filter: &ForeignFilter, _: Part) -> Result<()> {
    fields.slice(&mirrored(filter.as_bytes())?);
    Ok(())
}

/// A copy with the bits of each byte in the other order.
fn mirrored(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut bytes = copied(bytes)?;
    bytes.iter_mut().for_each(|byte| *byte = byte.reverse_bits());
    Ok(bytes)
}
