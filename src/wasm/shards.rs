//! Sharded filters: which shard has a key. JavaScript fetches it.

use js_sys::{Array, JsString, Uint8Array};
use wasm_bindgen::prelude::*;

use super::runtime::{Runtime, utf8};
use super::{extend, hex, scratch, to_js};
use crate::error::Result;
use crate::hash::Access;
use crate::keys::password;
use crate::profile::Profile;
use crate::shards::{Entry, Sharding, read_entry};

/// The shard of the key in the first `length` bytes of the scratch. `is_url` says that the profile is `url`; a keyed
/// filter has a check value, and needs its secret.
#[wasm_bindgen(js_name = shardOf)]
pub fn shard_of(
    length: usize,
    is_url: bool,
    seed: u64,
    shards: u32,
    check: Option<u64>,
    secret: Option<Uint8Array>,
) -> Result<u32> {
    let profile = if is_url { Profile::Url } else { Profile::Raw };
    let secret = super::secret(secret)?;
    let hashing = Access::Secret(secret.as_ref()).hashing(seed, check)?;
    let sharding = Sharding::new(profile, hashing, shards)?;
    Ok(scratch::with(length, |key| sharding.shard_of(key)))
}

/// What a page of `entries` shards says of the one of this number: the SHA-256 of its file in hexadecimal, its length, and
/// how many keys it has.
#[wasm_bindgen(js_name = pageEntry)]
pub fn page_entry(page: &Uint8Array, entries: usize, number: usize) -> Result<Array> {
    let mut bytes = Vec::new();
    extend(&mut bytes, page)?;
    let Entry { sha256, bytes, count } = read_entry(&bytes, entries, number)?;
    Ok(Array::of3(&hex(&sha256)?.into(), &bytes.into(), &count.into()))
}

/// Fails unless the secret is that of this check value, or there is neither.
#[wasm_bindgen(js_name = requireSecret)]
pub fn require_secret(seed: u64, check: Option<u64>, secret: Option<Uint8Array>) -> Result<()> {
    let secret = super::secret(secret)?;
    Access::Secret(secret.as_ref()).hashing(seed, check).map(drop)
}

/// Whether the key in the first `length` bytes of the scratch, a text or bytes, is one that a filter of URLs, or else of
/// passwords, can hold.
#[wasm_bindgen(js_name = isKey)]
pub fn is_key(length: usize, is_text: bool, is_url: bool, lowercase: bool, sha1: bool) -> bool {
    let profile = if is_url { Profile::Url } else { Profile::Password { lowercase, sha1 } };
    scratch::with(length, |key| super::holds(profile, key, is_text))
}

/// The key of a password.
#[wasm_bindgen(js_name = passwordKey)]
pub fn password_key(password: &JsString, lowercase: bool, sha1: bool) -> Result<Uint8Array> {
    to_js(&password::key(&Runtime, &utf8(password)?, lowercase, sha1)?)
}
