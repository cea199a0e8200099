//! The formulas, and numbers from JavaScript.

use serde::Serialize;
use wasm_bindgen::prelude::*;

use super::serialize;
use crate::error::{Error, Result};
use crate::params;

/// An integer from a JavaScript number, which is exact below 2^53.
pub fn whole<N: TryFrom<u64>>(number: f64, rule: &'static str) -> Result<N> {
    let holds = number.fract() == 0.0 && (0.0..=9_007_199_254_740_991.0).contains(&number);
    Error::unless(holds, rule)?;
    N::try_from(number as u64).map_err(|_| Error::rule(rule))
}

pub const COUNT: &str = "count must be a whole number from 0 to 2^53 - 1";

#[derive(Serialize)]
struct Optimal {
    bits: u32,
    hashes: u32,
    bytes: u32,
}

/// The smallest Bloom filter that holds `count` keys at a rate of `fpr`: its bits, hashes and bytes.
#[wasm_bindgen(unchecked_return_type = "Optimal")]
pub fn optimal(count: f64, fpr: f64) -> Result<JsValue> {
    let params::Optimal { bits, hashes, bytes } = params::optimal(whole(count, COUNT)?, fpr)?;
    serialize(&Optimal { bits, hashes, bytes })
}

/// The false-positive rate of a Bloom filter with `count` keys.
#[wasm_bindgen(js_name = fprFor)]
pub fn fpr_for(count: f64, bits: f64, hashes: f64) -> Result<f64> {
    let (bits, hashes) = (whole(bits, params::BITS)?, whole(hashes, params::HASHES)?);
    params::fpr_for(whole(count, COUNT)?, bits, hashes)
}

/// The largest number of keys for which a Bloom filter needs no more than `bits` bits at a rate of `fpr`.
#[wasm_bindgen(js_name = countFor)]
pub fn count_for(bits: f64, fpr: f64) -> Result<f64> {
    Ok(params::count_for(whole(bits, params::BITS)?, fpr)? as f64)
}
