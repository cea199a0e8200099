//! Sharded filters: which shard has a key. JavaScript fetches it.

use js_sys::{JsString, Uint8Array};
use wasm_bindgen::prelude::*;

use super::runtime::{Runtime, utf8};
use super::{scratch, to_js};
use crate::error::Result;
use crate::hash::Access;
use crate::keys::password;
use crate::profile::Profile;
use crate::shards::Sharding;

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

/// The key of a password.
#[wasm_bindgen(js_name = passwordKey)]
pub fn password_key(password: &JsString, lowercase: bool, sha1: bool) -> Result<Uint8Array> {
    to_js(&password::key(&Runtime, &utf8(password)?, lowercase, sha1)?)
}
