//! The runtime's built-in URL parser, Unicode normal forms and UTF-8, as a [`Platform`].

use js_sys::{JsString, Uint8Array};
use wasm_bindgen::prelude::*;

use crate::error::{Error, Result};
use crate::keys::Platform;
use crate::vectors::zeroed;

// These are in JavaScript, so that nothing is thrown into Rust. What an import returns besides an error that it throws
// stays in wasm-bindgen's table of references forever (seen in 0.2.130), and a table that can't grow ends the module.
#[wasm_bindgen(module = "/js/parser.js")]
extern "C" {
    #[wasm_bindgen(js_name = parseUrl)]
    fn parse_url(text: &str) -> JsValue;
}

#[wasm_bindgen(inline_js = r#"
/** An array of zeros; undefined without the memory. */
export function new_bytes(length) {
  try {
    return new Uint8Array(length);
  } catch {}
}
"#)]
extern "C" {
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
