//! The class `Sha256`: the hash of bytes that arrive piece by piece, which WebCrypto can't do.

use js_sys::{JsString, Uint8Array};
use sha2::Digest;
use wasm_bindgen::prelude::*;

use super::{PIECE, extend, headroom, hex, pieces};
use crate::error::Result;
use crate::vectors::reserve;

/// The SHA-256 of the bytes so far.
#[wasm_bindgen]
#[derive(Default)]
pub struct Sha256 {
    hash: sha2::Sha256,
}

#[wasm_bindgen]
impl Sha256 {
    /// The hash of nothing yet.
    #[wasm_bindgen(constructor)]
    pub fn new() -> Result<Sha256> {
        headroom()?;
        Ok(Sha256::default())
    }

    /// Appends bytes.
    pub fn update(&mut self, bytes: &Uint8Array) -> Result<()> {
        let mut piece = Vec::new();
        reserve(&mut piece, PIECE.min(bytes.length() as usize))?;
        for (start, end) in pieces(bytes.length()) {
            piece.clear();
            extend(&mut piece, &bytes.subarray(start, end))?;
            self.hash.update(&piece);
        }
        Ok(())
    }

    /// The hash in 64 lower-case hexadecimal digits. Afterwards this is the hash of nothing again.
    pub fn finish(&mut self) -> Result<JsString> {
        hex(&self.hash.finalize_reset().into())
    }
}
