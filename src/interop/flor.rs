//! `flor`: what DCSO's <https://github.com/DCSO/bloom> in Go writes, and its twin flor in Python, as CIRCL's hashlookup
//! publishes it. All little-endian:
//!
//! ```text
//!  0  version, 1 (u8), and 7 bytes of flags that neither reads
//!  8  keys that it is for (u64), rate (f64), hashes (u64), bits (u64), keys that were added (u64)
//! 48  the bits, in words (u64); then data of the user's
//! ```

use super::found::Found;
use super::options::Options;
use crate::error::Result;
use crate::fields::Cursor;
use crate::filters::foreign::Scheme;
use crate::vectors::copied;

pub(super) fn read(file: &mut Cursor, _: &Options) -> Result<Found> {
    let [flags, _keys, _rate, hashes, bits, _added] = [(); 6].map(|()| file.u64());
    if flags as u8 != 1 {
        file.unsupported(
            "flor's version must be 1, and a file that is packed by gzip must be unpacked first",
        );
    }
    let words = file.slice(bits.div_ceil(64).saturating_mul(8));
    Found::single(Scheme::Fnv1Prime, bits, hashes, copied(words)?)
}
