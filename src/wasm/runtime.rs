//! The runtime's built-in URL parser, Unicode normal forms and UTF-8, as a [`Platform`].

use js_sys::{JsString, Uint8Array};
use wasm_bindgen::prelude::*;

use crate::error::{Error, Result};
use crate::keys::Platform;
use crate::vectors::zeroed;

// In JavaScript, so that nothing is thrown into Rust. What an import returns besides an error that it throws stays in
// wasm-bindgen's table of references forever (seen in 0.2.130), and a table that can't grow ends the module.
#[wasm_bindgen(inline_js = r#"
/** Whether the runtime's parser has passed a test: some only join strings. */
let isParser = false;

/** The URL as the runtime's parser writes it; undefined if that refuses it, and null if there is no parser. */
export function parse_url(text) {
  try {
    isParser ||= new URL("http://\uff22\xfc.a:80/..").href === "http://xn--b-eha.a/";
    if (!isParser) return null;
    const { href } = new URL(text);
    return typeof href === "string" ? href : null;
  } catch (error) {
    // By its name, because another realm has another class; Firefox's has a name of its own.
    const { name } = Object(error);
    if (isParser && name === "TypeError") return undefined;
    // The stack ran out within the parser, so no answer can be right: that ends all use of the module.
    if (["RangeError", "InternalError"].includes(name)) throw error;
    return null;
  }
}

/** An array of zeros; undefined without the memory. */
export function new_bytes(length) {
  try {
    return new Uint8Array(length);
  } catch {}
}
"#)]
extern "C" {
    fn parse_url(text: &str) -> JsValue;

    fn new_bytes(length: usize) -> Option<Uint8Array>;
}

#[wasm_bindgen]
extern "C" {
    type TextEncoder;

    #[wasm_bindgen(constructor)]
    fn new() -> TextEncoder;

    #[wasm_bindgen(method, js_name = encodeInto)]
    fn encode_into(this: &TextEncoder, text: &JsString, bytes: &mut [u8]) -> Encoded;

    type Encoded;

    #[wasm_bindgen(method, getter)]
    fn written(this: &Encoded) -> u32;
}

thread_local! {
    static ENCODER: TextEncoder = TextEncoder::new();
}

/// An array of zeros.
pub fn bytes(length: usize) -> Result<Uint8Array> {
    new_bytes(length).ok_or(Error::TooLarge { bytes: length as u64 })
}

/// A text as UTF-8.
pub fn utf8(text: &JsString) -> Result<Vec<u8>> {
    let mut bytes = zeroed(3 * text.length() as usize)?;
    let written = ENCODER.with(|encoder| encoder.encode_into(text, &mut bytes).written());
    bytes.truncate(written as usize);
    Ok(bytes)
}

/// The longest text that the runtime is given, in bytes. It may become three times as long, and must stay below the
/// longest possible string (2^29 characters in V8), which would throw.
const MAX_TEXT: usize = 1 << 27;

fn require_room(text: &str) -> Result<()> {
    if text.len() > MAX_TEXT { Err(Error::TooLarge { bytes: text.len() as u64 }) } else { Ok(()) }
}

/// The runtime.
pub struct Runtime;

impl Platform for Runtime {
    fn parse_url(&self, text: &str) -> Result<Option<Vec<u8>>> {
        require_room(text)?;
        let href = parse_url(text);
        if href.is_undefined() {
            return Ok(None);
        }
        utf8(href.dyn_ref::<JsString>().ok_or(Error::UnsupportedRuntime)?).map(Some)
    }

    fn normalize(&self, text: &str, lowercase: bool) -> Result<Vec<u8>> {
        require_room(text)?;
        utf8(&normal(&text.into(), lowercase))
    }

    fn is_normal(&self, text: &str, lowercase: bool) -> bool {
        // `normalize` doesn't take a longer one.
        text.len() <= MAX_TEXT && {
            let text = text.into();
            normal(&text, lowercase) == text
        }
    }
}

fn normal(text: &JsString, lowercase: bool) -> JsString {
    let text = text.normalize("NFC");
    if lowercase { text.to_lower_case().normalize("NFC") } else { text }
}
