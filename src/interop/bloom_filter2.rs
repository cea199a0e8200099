//! `bloom-filter2`: the file that a `BloomFilter(..., filename=...)` of Python's `bloom_filter2` keeps, by any of its
//! three backends, <https://github.com/remram44/python-bloom-filter>: the bits, the lowest of a byte first, and two
//! bytes of 0. The file doesn't contain the numbers of bits and hashes; the program has them in `num_bits_m` and
//! `num_probes_k`.

use super::found::Found;
use super::options::Options;
use crate::error::Result;
use crate::fields::Cursor;
use crate::filters::foreign::Scheme;
use crate::vectors::copied;

pub(super) fn read(file: &mut Cursor, options: &Options) -> Result<Found> {
    let (bits, hashes) = options.shape("bloom-filter2 needs bits and hashes")?;
    let array = file.slice(bits.div_ceil(8));
    let end = file.last(2);
    let beyond = array.last().is_some_and(|&last| bits % 8 != 0 && last >> (bits % 8) != 0);
    file.rule(!beyond && end == [0; 2], "bits must be the number that the file was made with");
    Found::single(Scheme::Mersenne, bits, hashes.into(), copied(array)?)
}
