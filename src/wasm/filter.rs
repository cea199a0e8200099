//! The class `Filter`: a filter of any kind, and its queries.

use js_sys::{Array, JsString, Object, Reflect, Uint8Array};
use wasm_bindgen::prelude::*;

use super::runtime::{Runtime, utf8};
use super::{ascii, each_chunk, extend, headroom, scratch, serialize, to_js};
use crate::error::{Error, Result};
use crate::filters::Filter as AnyFilter;
use crate::format::Blob;
use crate::info::{FilterInfo, Parameter};
use crate::keys::lines::lines;
use crate::keys::password;
use crate::keys::url::{self, Canonical, Readings};
use crate::layers::{Stack, has_number};
use crate::profile::Profile;
use crate::slots::Slots;
use crate::vectors::copied;

/// More sets of tags than a part of a filter can have.
const SETS: usize = 1 << 16;

/// A filter of any kind.
#[wasm_bindgen]
pub struct Filter {
    pub(super) blob: Blob,
}

impl Filter {
    pub(super) fn new(blob: Blob) -> Result<Self> {
        headroom()?;
        Ok(Filter { blob })
    }

    /// The first key that is maybe present, of the URL in the first `length` bytes of the scratch. Keys of shapes that
    /// the list doesn't have aren't looked up, and for a list of hosts nothing after the host is read.
    fn find<T>(&self, length: usize, run: impl Fn(&[u8]) -> T) -> Result<Option<T>> {
        let slots = self.blob.filter().slots();
        let found = |url: &Canonical| self.matching(slots, url).map(&run);
        // Most URLs are canonical already. The others are copied, because the runtime is called meanwhile.
        let plain = scratch::with(length, |text| match Self::plain(slots, text) {
            Some(url) => Ok(found(&url)),
            None => Err(copied(text)),
        });
        match plain {
            Ok(found) => Ok(found),
            Err(text) => Ok(url::readings(&Runtime, text?)?.iter().find_map(found)),
        }
    }

    /// A URL that is canonical already, as far as keys of these slots need it.
    #[inline]
    fn plain(slots: Slots, text: &[u8]) -> Option<Canonical<'_>> {
        if slots.is_within(Slots::HOSTS) { url::plain_root(text) } else { url::plain(text) }
    }

    /// The first key of a URL that is maybe present.
    #[inline]
    fn matching<'a>(&self, slots: Slots, url: &'a Canonical) -> Option<&'a [u8]> {
        let mut keys = url.expressions_in(slots);
        keys.find(|(slot, key)| self.blob.filter().has_in(*slot, key)).map(|(_, key)| key)
    }

    /// Appends an answer for each key: 1 = maybe present, 0 = definitely absent or no key, and 2 = the filter can't hold
    /// it.
    fn has_each<'a, I>(&self, keys: impl Fn() -> I, is_text: bool, answers: &mut Vec<u8>) -> Result<()>
    where
        I: Iterator<Item = Option<&'a [u8]>>,
    {
        let before = answers.len();
        self.blob.filter().has_each(keys(), answers)?;
        if self.blob.profile() != Profile::Raw {
            let answers = answers.iter_mut().skip(before);
            for (answer, _) in
                answers.zip(keys()).filter(|(_, key)| key.is_some_and(|key| !self.holds(key, is_text)))
            {
                *answer = 2;
            }
        }
        Ok(())
    }

    /// Whether the filter can hold a key.
    fn holds(&self, key: &[u8], is_text: bool) -> bool {
        super::holds(self.blob.profile(), key, is_text)
    }

    /// Fails unless the keys are URLs.
    fn require_urls(&self) -> Result<()> {
        match self.blob.profile() {
            Profile::Url => Ok(()),
            other => Err(Error::WrongProfile { found: other.name(), wanted: Profile::Url.name() }),
        }
    }
}

#[wasm_bindgen]
impl Filter {
    /// The kind of filter.
    #[wasm_bindgen(getter)]
    pub fn kind(&self) -> JsString {
        self.blob.filter().base().name().into()
    }

    /// What the keys are: "raw", "url" or "password".
    #[wasm_bindgen(getter)]
    pub fn profile(&self) -> JsString {
        self.blob.profile().name().into()
    }

    /// What the keys of a foreign filter are, by their number in FORMAT.md; undefined for our own kinds.
    #[wasm_bindgen(getter, js_name = foreignKeys)]
    pub fn foreign_keys(&self) -> Option<u8> {
        match self.blob.filter().base() {
            AnyFilter::Foreign(filter) => Some(filter.keys() as u8),
            _ => None,
        }
    }

    /// Asks for a key, a string or a `Uint8Array`: true = maybe present, false = definitely absent.
    pub fn has(&self, key: &JsValue) -> Result<bool> {
        let mut bytes = Vec::new();
        let text = key.dyn_ref::<JsString>();
        match (text, key.dyn_ref()) {
            (Some(text), _) => bytes = utf8(text)?,
            (_, Some(array)) => extend(&mut bytes, array)?,
            _ => return Err(Error::InvalidKey { reason: "a key must be a string or a Uint8Array" }),
        }
        let reason =
            "the filter has keys of URLs or passwords, and this isn't one; ask hasUrl or hasPassword";
        if self.holds(&bytes, text.is_some()) {
            Ok(self.blob.filter().has(&bytes))
        } else {
            Err(Error::InvalidKey { reason })
        }
    }

    /// Like `has`, for the key in the first `length` bytes of the scratch, a text or bytes. Undefined for what the filter
    /// can't hold.
    #[wasm_bindgen(js_name = hasKey)]
    pub fn has_key(&self, length: usize, is_text: bool) -> Option<bool> {
        scratch::with(length, |key| self.holds(key, is_text).then(|| self.blob.filter().has(key)))
    }

    /// Like `has`, for the `count` keys in the first `length` bytes of the scratch, texts or bytes, which begin with the
    /// keys' lengths (u32, little-endian). Returns 1 or 0 for each, and 2 for what the filter can't hold.
    #[wasm_bindgen(js_name = hasKeys)]
    pub fn has_keys(&self, count: usize, length: usize, is_text: bool) -> Result<Uint8Array> {
        let mut answers = Vec::new();
        scratch::with(length, |text| {
            self.has_each(|| scratch::keys(text, count).map(Some), is_text, &mut answers)
        })?;
        to_js(&answers)
    }

    /// Like `has`, for each line of a UTF-8 text. Returns 1 or 0 for each, 0 for a blank line, and 2 for what the filter
    /// can't hold.
    #[wasm_bindgen(js_name = hasLines)]
    pub fn has_lines(&self, text: &Uint8Array) -> Result<Uint8Array> {
        let mut answers = Vec::new();
        each_chunk(text, |chunk| {
            self.has_each(|| lines(chunk).map(|key| (!key.is_empty()).then_some(key)), true, &mut answers)
        })?;
        to_js(&answers)
    }

    /// Like `hasUrl`, for a URL that is canonical already, as most are: this can't fail. Undefined for any other URL,
    /// and if the keys aren't URLs; `hasUrl` must then be called next, and reads the same scratch. A `Result` would
    /// take 40 ns more.
    #[wasm_bindgen(js_name = hasPlainUrl)]
    pub fn has_plain_url(&self, length: usize) -> Option<bool> {
        if self.blob.profile() != Profile::Url {
            return None;
        }
        let filter = self.blob.filter();
        let slots = filter.slots();
        scratch::first(length, |text| {
            if slots.is_within(Slots::HOSTS) {
                return url::any_root(text, slots, |slot, key| filter.has_in(slot, key));
            }
            Some(self.matching(slots, &url::plain(text)?).is_some())
        })
    }

    /// Whether a key of the URL in the first `length` bytes of the scratch is maybe present.
    #[wasm_bindgen(js_name = hasUrl)]
    pub fn has_url(&self, length: usize) -> Result<bool> {
        self.require_urls()?;
        Ok(self.find(length, |_| ())?.is_some())
    }

    /// The first key of the URL in the first `length` bytes of the scratch that is maybe present.
    #[wasm_bindgen(js_name = matchUrl)]
    pub fn match_url(&self, length: usize) -> Result<Option<JsString>> {
        self.require_urls()?;
        self.find(length, ascii)
    }

    /// The tags of the key in the first `length` bytes of the scratch, a text or bytes: the number of its set, from 0
    /// on, which `tagNames` takes. -1 if the key is absent, -2 for a filter without tags, and -3 for what the filter
    /// can't hold. A `Result` would take longer.
    #[wasm_bindgen(js_name = tagSet)]
    pub fn tag_set(&self, length: usize, is_text: bool) -> f64 {
        let stack = self.blob.filter();
        if !stack.is_tagged() {
            return -2.0;
        }
        let Some(digest) =
            scratch::with(length, |key| self.holds(key, is_text).then(|| stack.hashing().digest(key)))
        else {
            return -3.0;
        };
        stack.set_of(digest).map_or(-1.0, |(part, _, set)| (part * SETS + set) as f64)
    }

    /// The names of all tags in these sets: an array of strings. The set -1 has none. Fails for a filter without tags.
    #[wasm_bindgen(js_name = tagNames)]
    pub fn tag_names(&self, sets: &[f64]) -> Result<Array> {
        let stack = self.blob.filter();
        stack.require_tagged()?;
        let mut numbers = [0; 4];
        for set in sets.iter().copied().filter(|&set| set >= 0.0) {
            stack.add_tag_numbers(&mut numbers, set as usize / SETS, set as usize % SETS)?;
        }
        let names = Array::new();
        for (number, name) in stack.tag_names().enumerate() {
            if has_number(&numbers, number) {
                names.push(&JsValue::from_str(name));
            }
        }
        Ok(names)
    }

    /// Whether a password is maybe present.
    #[wasm_bindgen(js_name = hasPassword)]
    pub fn has_password(&self, password: &JsString) -> Result<bool> {
        let profile = self.blob.profile();
        let Profile::Password { lowercase, sha1 } = profile else {
            return Err(Error::WrongProfile { found: profile.name(), wanted: "password" });
        };
        let typed = utf8(password)?;
        let key = password::key(&Runtime, &typed, lowercase, sha1)?;
        Ok(self.blob.filter().has(&key))
    }

    /// A description: a plain object.
    pub fn info(&self) -> Result<JsValue> {
        let info = FilterInfo::of(&self.blob)?;
        let object = serialize(&info)?;
        let foreign = match &info.foreign {
            Some(parameters) => parameters_to_js(parameters),
            None => JsValue::NULL,
        };
        set(&object, "foreign", &foreign);
        set(&object, "tags", &tags_to_js(self.blob.filter()));
        Ok(object)
    }

    /// The chance that a key which was never added is "maybe present", 0 to 1, from the present fill.
    #[wasm_bindgen(getter, js_name = estimatedFpr)]
    pub fn estimated_fpr(&self) -> f64 {
        self.blob.filter().estimated_fpr()
    }

    /// About how many different keys the filter holds; infinite when it is too full to tell.
    #[wasm_bindgen(getter, js_name = estimatedCount)]
    pub fn estimated_count(&self) -> f64 {
        self.blob.filter().estimated_count()
    }

    /// The blob.
    #[wasm_bindgen(js_name = toBytes)]
    pub fn to_bytes(&self) -> Result<Uint8Array> {
        to_js(&self.blob.encode()?)
    }

    /// Whether both have equal profiles, parameters and contents.
    pub fn equals(&self, other: &Filter) -> Result<bool> {
        self.blob.equals(&other.blob)
    }

    /// An independent copy.
    #[wasm_bindgen(js_name = clone)]
    pub fn copy(&self) -> Result<Filter> {
        Filter::new(self.blob.try_clone()?)
    }
}

/// An object of a foreign filter's parameters.
fn parameters_to_js(parameters: &[(&str, Parameter)]) -> JsValue {
    let object = Object::new().into();
    for (name, value) in parameters {
        let value = match value {
            Parameter::Text(text) => JsValue::from_str(text),
            Parameter::Number(number) => JsValue::from_f64(*number as f64),
        };
        set(&object, name, &value);
    }
    object
}

/// An array of tags, or null.
fn tags_to_js(stack: &Stack) -> JsValue {
    if !stack.is_tagged() {
        return JsValue::NULL;
    }
    let array = Array::new();
    for (name, count) in stack.tag_counts() {
        let object = Object::new().into();
        set(&object, "name", &JsValue::from_str(name));
        set(&object, "count", &count.map_or(JsValue::NULL, JsValue::from));
        array.push(&object);
    }
    array.into()
}

/// Sets a property of a plain object, which can't fail.
#[inline(never)]
fn set(object: &JsValue, name: &str, value: &JsValue) {
    let _ = Reflect::set(object, &name.into(), value);
}

/// The keys of the URL in the first `length` bytes of the scratch: at most 30, or up to 110 if it may be
/// read in more than one way.
#[wasm_bindgen(js_name = urlExpressions)]
pub fn url_expressions(length: usize) -> Result<Array> {
    Ok(readings(length)?.keys().map(ascii).map(JsValue::from).collect())
}

/// What the URL in the first `length` bytes of the scratch is looked up by.
fn readings(length: usize) -> Result<Readings<'static>> {
    // A copy, because the runtime is called meanwhile.
    url::readings(&Runtime, scratch::with(length, copied)?)
}
