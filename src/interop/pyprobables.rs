//! `pyprobables`: the file of a `BloomFilter` of Python's <https://github.com/barrust/pyprobables>, with its default
//! hash, and of the same author's C library: the bits, the lowest of a byte first, then the number of keys that it was
//! made for, the number added (u64 each), and the rate (f32). The numbers of bits and hashes follow from the first and
//! the last of these.

use std::f64::consts::LN_2;

use super::found::Found;
use super::options::Options;
use crate::error::Result;
use crate::fields::Cursor;
use crate::filters::foreign::Scheme;
use crate::vectors::copied;

pub(super) fn read(file: &mut Cursor, _: &Options) -> Result<Found> {
    const FOOTER: usize = 20;
    let array = file.slice(file.left().len().saturating_sub(FOOTER) as u64);
    let (count, _added) = (file.u64(), file.u64());
    let fpr = f64::from(f32::from_bits(file.u32()));
    file.rule(count > 0 && fpr > 0.0 && fpr < 1.0, "the footer must hold a count and a rate");
    let bits = libm::ceil(-(count as f64) * libm::log(fpr) / 0.480_453_013_918_2);
    // Python rounds a half to the even number.
    let hashes = libm::rint(LN_2 * bits / count as f64);
    file.rule(
        libm::ceil(bits / 8.0) == array.len() as f64,
        "there must be as many bits as the footer's count and rate need",
    );
    Found::single(Scheme::FnvStarts, bits as u64, hashes as u64, copied(array)?)
}
