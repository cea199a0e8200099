//! What a reader makes of a file, and what several readers need.

use crate::error::{Error, Result};
use crate::filters::ForeignFilter;
use crate::filters::foreign::{Format, KeyType, MAX_HASHES, Part, Scheme};
use crate::vectors::{copied, push};

/// A format that is only read.
pub(super) const READ_ONLY: Error = Error::unsupported("this format is only read, not written");

/// A file never leads to this; it means that `Scheme::formats` lacks the format.
const OTHER_FORMAT: Error = Error::unsupported("another format has this scheme and these keys");

/// What a reader makes of a file: all of a filter except its key type.
pub(super) struct Found {
    pub(super) scheme: Scheme,
    pub(super) layout: u8,
    pub(super) seed: u64,
    pub(super) parts: Vec<Part>,
    pub(super) note: Vec<u8>,
    pub(super) bytes: Vec<u8>,
}

impl Found {
    /// One array, without layout, seed and note.
    #[cfg_attr(target_arch = "wasm32", inline(never))]
    pub(super) fn single(scheme: Scheme, bits: u64, hashes: u64, bytes: Vec<u8>) -> Result<Self> {
        let mut parts = Vec::new();
        push(&mut parts, part(bits, bytes.len() as u64, hashes)?)?;
        Ok(Found { scheme, layout: 0, seed: 0, parts, note: Vec::new(), bytes })
    }

    #[cfg_attr(target_arch = "wasm32", inline(never))]
    pub(super) fn filter(self, format: Format, keys: KeyType) -> Result<ForeignFilter> {
        let Found { scheme, layout, seed, parts, note, bytes } = self;
        if scheme.format(keys) != Some(format) {
            return Err(OTHER_FORMAT);
        }
        ForeignFilter::shaped(scheme, keys, layout, seed, parts, note)?.with_bytes(bytes)
    }
}

/// A part of these bits, bytes and hashes.
#[cfg_attr(target_arch = "wasm32", inline(never))]
pub(super) fn part(bits: u64, bytes: u64, hashes: u64) -> Result<Part> {
    let most = u64::from(MAX_HASHES);
    Error::unless((1..=most).contains(&hashes), "the filter must have 1 to 1,024 hashes")?;
    Error::unless((1..=1 << 40).contains(&bits), "the filter must have 1 to 2^40 bits")?;
    let bytes = u32::try_from(bytes).map_err(|_| Error::TooLarge { bytes })?;
    Ok(Part { bits, bytes, hashes: hashes as u16 })
}

/// A copy with the bytes of each 64-bit word reversed: from big-endian to our order, or back.
#[cfg_attr(target_arch = "wasm32", inline(never))]
pub(super) fn swap_words(words: &[u8]) -> Result<Vec<u8>> {
    let mut bytes = copied(words)?;
    bytes.chunks_mut(8).for_each(<[u8]>::reverse);
    Ok(bytes)
}
