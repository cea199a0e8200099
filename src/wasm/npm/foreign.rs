//! The class `Foreign`: reading and making the filters of other software, and more methods of the class `Filter`.

use js_sys::{JsString, Uint8Array};
use wasm_bindgen::prelude::*;

use super::super::filter::Filter;
use super::super::params::{COUNT, whole};
use super::super::{extend, headroom, to_js};
use super::builder::name;
use super::scratch;
use crate::error::{Error, Result};
use crate::filter;
use crate::filters::AnyFilter;
use crate::interop::{self, Builder, Format, KeyBuffer, Options};
use crate::layers::Stack;
use crate::profile::Profile;
use crate::vectors::reserve;

/// A filter of other software that is arriving, or the keys of one that is to be made. `js/wasm/load.ts` uses it like
/// an `Incoming`.
#[wasm_bindgen]
pub struct Foreign {
    format: Format,
    options: Options,
    profile: Profile,
    /// What has arrived.
    pub(super) bytes: Vec<u8>,
    pub(super) keys: KeyBuffer,
}

#[wasm_bindgen]
impl Foreign {
    /// An empty one, of the format with this name.
    #[wasm_bindgen(constructor)]
    pub fn new(format: &JsString) -> Result<Foreign> {
        headroom()?;
        Ok(Foreign {
            format: Format::from_name(&name(format)?)?,
            options: Options::default(),
            profile: Profile::Raw,
            bytes: Vec::new(),
            keys: KeyBuffer::default(),
        })
    }

    /// Sets an option, a string or a number, by its name in JavaScript.
    pub fn set(&mut self, option: &JsString, value: &JsValue) -> Result<()> {
        let option = name(option)?;
        match (value.as_f64(), value.dyn_ref::<JsString>()) {
            (Some(number), _) => {
                let holds = number.fract() == 0.0 && number.abs() < 9_007_199_254_740_992.0;
                Error::unless(holds, "the options of foreign formats are texts and whole numbers")?;
                self.options.set_number(&option, number as i64)
            }
            (_, Some(text)) if option == "profile" => {
                let rule = Error::rule("profile must be raw, url or password");
                self.profile = Profile::from_name(&name(text)?, false, false).ok_or(rule)?;
                Ok(())
            }
            (_, Some(text)) => self.options.set_text(&option, name(text)?),
            _ => Err(Error::rule("the options of foreign formats are texts and whole numbers")),
        }
    }

    /// Appends bytes that arrive, and makes room for `room` of them in all.
    pub fn push(&mut self, bytes: &Uint8Array, room: usize) -> Result<()> {
        reserve(&mut self.bytes, room)?;
        extend(&mut self.bytes, bytes)
    }

    /// 0, because few formats say how long they are.
    #[wasm_bindgen(js_name = expectedLength)]
    pub fn expected_length(&self) -> Result<usize> {
        Ok(0)
    }

    /// A copy of all bytes.
    #[wasm_bindgen(js_name = toBytes)]
    pub fn to_bytes(&self) -> Result<Uint8Array> {
        to_js(&self.bytes)
    }

    /// The filter, if all of it has arrived.
    pub fn decode(&mut self) -> Result<Filter> {
        let bytes = std::mem::take(&mut self.bytes);
        let filter = interop::read(self.format, &self.options, &bytes)?;
        let holds = self.profile == Profile::Raw || filter.keys().width().is_none();
        Error::unless(holds, "profile must be raw where the keys are numbers")?;
        Filter::new(filter::Filter::new(self.profile, Stack::new(filter)?))
    }

    /// What the keys of a new filter are, by their number in FORMAT-FOREIGN.md. Fails if no filter can be made with
    /// these options.
    #[wasm_bindgen(js_name = foreignKeys)]
    pub fn foreign_keys(&self, fpr: f64) -> Result<u8> {
        Ok(Builder::new(self.format, &self.options, 1, fpr)?.keys() as u8)
    }

    /// Takes the `count` keys in the first `length` bytes of the scratch, which begin with the keys' lengths (u32,
    /// little-endian).
    #[wasm_bindgen(js_name = pushKeysAt)]
    pub fn push_keys_at(&mut self, count: usize, length: usize) -> Result<()> {
        scratch::with(length, |text| scratch::keys(text, count).try_for_each(|key| self.keys.push(key)))
    }

    /// Builds the filter, for `count` keys or else for the number of distinct ones. The keys are used up.
    pub fn build(&mut self, count: Option<f64>, fpr: f64) -> Result<Filter> {
        let keys = std::mem::take(&mut self.keys);
        let count = count.map(|count| whole(count, COUNT)).transpose()?;
        let (filter, _) = keys.build(self.format, &self.options, count, fpr)?;
        Filter::new(filter::Filter::new(Profile::Raw, Stack::new(filter)?))
    }
}

#[wasm_bindgen]
impl Filter {
    /// What the filter's own software wrote, or would.
    #[wasm_bindgen(js_name = toForeign)]
    pub fn to_foreign(&self) -> Result<Uint8Array> {
        let inner = self.inner();
        match inner.stack().base_alone()? {
            AnyFilter::Foreign(filter) => to_js(&interop::write(filter)?),
            _ => Err(Error::Incompatible),
        }
    }
}
