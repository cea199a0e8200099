//! The WebAssembly boundary. Only this folder mentions wasm_bindgen. It has classes over the core, and no logic.
//!
//! [`Filter`](filter::Filter) can be asked and changed. With the feature `wasm`, the default, wasm-pack makes a package of them that works by itself: [`classes`]
//! takes strings, arrays and options. With the feature `npm` instead, [`npm`] has what `js/` composes into the npm
//! package.
//!
//! A method that can fail returns a `Result`, and the glue throws the error as a `FilterError`, the real one from
//! `js/error.js`. That takes 20 ns per call, so methods that can't fail return plain values. serde-wasm-bindgen makes
//! `info()` from the same `FilterInfo` that the tool prints as JSON, and reads options. Everything else except keys
//! crosses through js-sys.
//!
//! UTF-8 lines and blobs cross in pieces of 64 KiB, and each piece is used while it is in the processor's cache. A blob is
//! hashed piece by piece as it arrives, and meanwhile V8 optimises the hash. The blob's bytes then stay where they are,
//! and the filter knows where its own part begins.
//!
//! V8 collects all garbage whenever memory grows, and an allocator would grow it by exactly what is asked for, so
//! `headroom` grows it by at least a sixteenth. The standard library aborts when there is no memory, so vectors whose
//! length a blob or a caller chooses grow through `vectors`, which fails with `too_large`. An abort, a panic or a stack
//! overflow leaves a call half done: `js/wasm/instance.ts` takes everything thrown that Rust didn't return for one of
//! these, and moves all filters into a new instance. `simd128` is off: hashing can't use it, and what the compiler makes of a ribbon
//! filter's sums is slower with it.

#[cfg(not(feature = "npm"))]
mod classes;
mod filter;
#[cfg(feature = "npm")]
mod npm;
mod params;
mod runtime;

use std::arch::wasm32::memory_size;
use std::cell::Cell;

use js_sys::{JsString, Uint8Array};
use wasm_bindgen::prelude::*;

use self::runtime::Runtime;
use crate::error::{Error, Result};
use crate::hash::Secret;
use crate::profile::Profile;
use crate::vectors::{lengthen, reserve};

/// What `info()` returns.
#[wasm_bindgen(typescript_custom_section)]
const INFO: &str = include_str!("../../js/boundary/info.ts");

/// The other types that wasm-bindgen can't know.
#[wasm_bindgen(typescript_custom_section)]
const TYPES: &str = include_str!("types.d.ts");

#[wasm_bindgen(module = "/js/error.js")]
extern "C" {
    /// A `FilterError`, for a call to return.
    #[wasm_bindgen(js_name = returnedError)]
    fn returned_error(code: &str, message: &str) -> JsValue;
}

impl From<Error> for JsValue {
    fn from(error: Error) -> Self {
        // Not `to_string`, because the error may be that there is no memory.
        let mut room = [0; 512];
        returned_error(error.code(), error.message_in(&mut room))
    }
}

/// Makes wasm-bindgen's table of JavaScript values as large as it will need to be, while there is memory for it.
#[wasm_bindgen(start, skip_typescript)]
fn start() {
    std::hint::black_box(js_sys::Object::new());
}

thread_local! {
    /// The pages that memory had after the last call of [`headroom`].
    static PAGES: Cell<usize> = const { Cell::new(0) };
}

/// Makes sure that a few hundred bytes are free: wasm-bindgen needs them for an instance of a class, and serde for a
/// cache, and both abort without them. A long scratch whose key was never read is freed first.
///
/// Memory grows by a sixteenth if possible, unless it has just grown by that for a large filter. V8 collects all garbage
/// whenever memory grows. If it grew page by page, making many small filters would get slower and slower. Memory that
/// isn't used stays untouched.
fn headroom() -> Result<()> {
    #[cfg(feature = "npm")]
    npm::scratch::give_back();
    let pages = memory_size::<0>();
    let grown = pages - PAGES.get();
    let mut room = Vec::<u8>::new();
    if grown > pages / 16 || room.try_reserve_exact(pages << 12).is_err() {
        reserve(&mut room, 4096)?;
    }
    std::hint::black_box(room);
    PAGES.set(memory_size::<0>());
    Ok(())
}

/// Whether a filter can hold a key. A text isn't a hash, even if it has the length of one.
fn holds(filter: &crate::Filter, key: &[u8], is_text: bool) -> bool {
    let is_hash = matches!(filter.profile(), Profile::Password { sha1: true, .. });
    !(is_hash && is_text) && filter.holds(&Runtime, key)
}

/// Appends JavaScript's bytes to others.
fn extend(bytes: &mut Vec<u8>, more: &Uint8Array) -> Result<()> {
    let at = bytes.len();
    lengthen(bytes, more.length() as usize)?;
    more.copy_to(&mut bytes[at..]);
    Ok(())
}

/// The secret that JavaScript passed, or none for undefined.
fn secret(value: JsValue) -> Result<Option<Secret>> {
    if value.is_undefined() {
        return Ok(None);
    }
    let bytes: Uint8Array = value.dyn_into().map_err(|_| Error::rule(Secret::RULE))?;
    let mut secret = [0; 16];
    Error::unless(bytes.length() == 16, Secret::RULE)?;
    bytes.copy_to(&mut secret);
    Ok(Some(secret.into()))
}

/// A new array of bytes. The constructor of js-sys doesn't expect that there may be no memory.
fn to_js(bytes: &[u8]) -> Result<Uint8Array> {
    let array = runtime::bytes(bytes.len())?;
    array.copy_from(bytes);
    Ok(array)
}

/// A text of ASCII.
fn ascii(text: &[u8]) -> JsString {
    str::from_utf8(text).unwrap_or_else(|_| wasm_bindgen::throw_str("a key of a URL isn't ASCII")).into()
}

/// What serde makes of a value, with null for `None` as in JSON, and bytes as a `Uint8Array`.
fn serialize(value: &impl serde::Serialize) -> Result<JsValue> {
    headroom()?;
    let serializer = serde_wasm_bindgen::Serializer::json_compatible().serialize_bytes_as_arrays(false);
    value.serialize(&serializer).map_err(|_| Error::rule("this can't be passed to JavaScript"))
}
