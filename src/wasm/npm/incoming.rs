//! The class `Incoming`: a blob that arrives piece by piece.

use js_sys::Uint8Array;
use wasm_bindgen::prelude::*;

use super::super::filter::Filter;
use super::super::{extend, headroom, secret, to_js};
use super::pieces;
use crate::error::{Error, Result};
use crate::filter;
use crate::hash::{Checksum, Secret};
use crate::vectors::reserve;

/// The first bytes of a blob. They are hashed as they arrive.
#[wasm_bindgen]
#[derive(Default)]
pub struct Incoming {
    pub(super) bytes: Vec<u8>,
    checksum: Checksum,
    secret: Option<Secret>,
}

#[wasm_bindgen]
impl Incoming {
    /// An empty one, with room for `room` bytes, and the secret if the filter is keyed.
    #[wasm_bindgen(constructor)]
    pub fn new(room: usize, secret: Option<Uint8Array>) -> Result<Incoming> {
        headroom()?;
        let mut incoming = Incoming { secret: self::secret(secret.into())?, ..Default::default() };
        reserve(&mut incoming.bytes, room)?;
        Ok(incoming)
    }

    /// Appends bytes, and makes room for `room` of them in all.
    pub fn push(&mut self, bytes: &Uint8Array, room: usize) -> Result<()> {
        reserve(&mut self.bytes, room)?;
        for (start, end) in pieces(bytes.length()) {
            extend(&mut self.bytes, &bytes.subarray(start, end))?;
            // The last 4 bytes may be the checksum to compare with.
            self.checksum.advance(self.bytes.split_last_chunk::<4>().map_or(&[], |(body, _)| body));
        }
        Ok(())
    }

    /// The length of the whole blob according to its header; 0 until enough of the header has arrived.
    #[wasm_bindgen(js_name = expectedLength)]
    pub fn expected_length(&self) -> Result<usize> {
        let bytes = filter::Filter::expected(&self.bytes, self.secret.as_ref())?.unwrap_or(0);
        usize::try_from(bytes).map_err(|_| Error::TooLarge { bytes })
    }

    /// A copy of all bytes.
    #[wasm_bindgen(js_name = toBytes)]
    pub fn to_bytes(&self) -> Result<Uint8Array> {
        to_js(&self.bytes)
    }

    /// The filter, if the whole blob has arrived. Afterwards this is empty, even after a failure.
    pub fn decode(&mut self) -> Result<Filter> {
        let Incoming { bytes, checksum, secret } = std::mem::take(self);
        Filter::new(filter::Filter::decode_hashed(bytes, checksum, secret.as_ref())?)
    }
}

#[wasm_bindgen]
impl Filter {
    /// Reads a blob, with the secret if the filter is keyed.
    pub fn decode(bytes: &Uint8Array, secret: Option<Uint8Array>) -> Result<Filter> {
        let mut incoming = Incoming::new(bytes.length() as usize, secret)?;
        incoming.push(bytes, 0)?;
        incoming.decode()
    }
}
