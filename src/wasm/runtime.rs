//! The runtime's built-in URL parser, Unicode normal forms and UTF-8, as a [`Platform`].

use js_sys::{JsString, Reflect, Uint8Array};
use wasm_bindgen::prelude::*;

use crate::error::{Error, Result};
use crate::keys::Platform;
use crate::vectors::zeroed;

#[wasm_bindgen]
extern "C" {
    type URL;

    #[wasm_bindgen(constructor, catch)]
    fn new(url: &str) -> Result<URL, JsValue>;

    #[wasm_bindgen(method, getter, catch)]
    fn href(this: &URL) -> Result<JsValue, JsValue>;

    type TextEncoder;

    #[wasm_bindgen(constructor)]
    fn new() -> TextEncoder;

    #[wasm_bindgen(method, js_name = encodeInto)]
    fn encode_into(this: &TextEncoder, text: &JsString, bytes: &mut [u8]) -> Encoded;

    type Encoded;

    #[wasm_bindgen(method, getter)]
    fn written(this: &Encoded) -> u32;

    #[wasm_bindgen(js_name = Uint8Array, extends = Uint8Array)]
    type Bytes;

    #[wasm_bindgen(constructor, catch, js_class = "Uint8Array")]
    fn new(length: usize) -> Result<Bytes, JsValue>;
}

thread_local! {
    static ENCODER: TextEncoder = TextEncoder::new();
}

/// An array of zeros.
pub fn bytes(length: usize) -> Result<Uint8Array> {
    let array = Bytes::new(length).map_err(|_| Error::TooLarge { bytes: length as u64 })?;
    Ok(array.into())
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

/// Recognised by its name, because another realm has another class. Firefox throws an InternalError if the stack runs
/// out.
fn is_fatal(error: &JsValue) -> bool {
    let name = Reflect::get(error, &"name".into()).ok().and_then(|name| name.dyn_into().ok());
    let name = name.and_then(|name: JsString| utf8(&name).ok());
    matches!(name.as_deref(), Some(b"RangeError" | b"InternalError" | b"ReferenceError"))
}

/// The runtime.
pub struct Runtime;

impl Platform for Runtime {
    fn parse_url(&self, text: &str) -> Result<Option<Vec<u8>>> {
        require_room(text)?;
        match URL::new(text).and_then(|url| url.href()).map(JsValue::dyn_into::<JsString>) {
            Ok(Ok(href)) => utf8(&href).map(Some),
            // The stack ran out within the parser, or there is no parser, so no answer can be right. `js/` then ends
            // all use of the module.
            Err(error) if is_fatal(&error) => wasm_bindgen::throw_val(error),
            // A TypeError by the standard. A polyfill may throw anything.
            _ => Ok(None),
        }
    }

    fn normalize(&self, text: &str, lowercase: bool) -> Result<Vec<u8>> {
        require_room(text)?;
        let mut text = JsString::from(text).normalize("NFC");
        if lowercase {
            text = text.to_lower_case().normalize("NFC");
        }
        utf8(&text)
    }
}
