//! The questions of the npm package, and what changes a filter. Keys are in the [`scratch`], and each method takes their
//! length, so its name ends in "At".

use js_sys::{Array, JsString, Uint8Array};
use wasm_bindgen::prelude::*;

use super::super::filter::Filter;
use super::super::runtime::{Runtime, utf8};
use super::super::{ascii, holds, to_js};
use super::builder::DigestList;
use super::{each_chunk, scratch};
use crate::error::{Error, Result};
use crate::filter;
use crate::filters::AnyFilter;
use crate::keys::lines::lines;
use crate::keys::list::Rules;
use crate::keys::url::{self, Canonical, Readings};
use crate::profile::Profile;
use crate::slots::Slots;
use crate::vectors::copied;

/// More sets of tags than a part of a filter can have.
const SETS: usize = 1 << 16;

impl Filter {
    /// The first key that is maybe present, of the URL in the first `length` bytes of the scratch. For a list of hosts
    /// nothing after the host is read.
    fn find<T>(&self, length: usize, run: impl Fn(&[u8]) -> T) -> Result<Option<T>> {
        let inner = self.inner();
        inner.require_urls()?;
        let found = |url: &Canonical| inner.matching(url).map(&run);
        // Most URLs are canonical already. The others are copied, because the runtime is called meanwhile.
        let plain = scratch::with(length, |text| match inner.plain(text) {
            Some(url) => Ok(found(&url)),
            None => Err(copied(text)),
        });
        match plain {
            Ok(found) => Ok(found),
            Err(text) => Ok(url::readings(&Runtime, text?)?.iter().find_map(found)),
        }
    }

    /// Appends an answer for each key: 1 = maybe present, 0 = definitely absent or no key, and 2 = the filter can't hold
    /// it.
    fn has_each<'a, I>(&self, keys: impl Fn() -> I, is_text: bool, answers: &mut Vec<u8>) -> Result<()>
    where
        I: Iterator<Item = Option<&'a [u8]>>,
    {
        let before = answers.len();
        let inner = self.inner();
        inner.stack().has_each(keys(), answers)?;
        if inner.profile() != Profile::Raw {
            let refused = |key: Option<&[u8]>| key.is_some_and(|key| !holds(&inner, key, is_text));
            let answers = answers.iter_mut().skip(before).zip(keys());
            answers.filter(|(_, key)| refused(*key)).for_each(|(answer, _)| *answer = 2);
        }
        Ok(())
    }

    /// Calls `run` with the key in the first `length` bytes of the scratch, which is read like a line of a list.
    fn with_key<T>(&self, length: usize, run: impl FnOnce(&filter::Filter, &[u8]) -> Result<T>) -> Result<T> {
        let inner = self.inner();
        match inner.profile() {
            Profile::Raw => scratch::with(length, |key| run(&inner, key)),
            // Run on a copy, because the runtime is called meanwhile.
            profile => {
                let line = scratch::with(length, copied)?;
                run(&inner, &Rules::from(profile).only_key(&Runtime, &line)?)
            }
        }
    }

    /// The digest of that key.
    fn digest_at(&self, length: usize) -> Result<u64> {
        self.with_key(length, |inner, key| Ok(inner.stack().hashing().digest(key)))
    }
}

#[wasm_bindgen]
impl Filter {
    /// What the keys of a foreign filter are, by their number in FORMAT-FOREIGN.md; undefined for our own kinds.
    #[wasm_bindgen(getter, js_name = foreignKeys)]
    pub fn foreign_keys(&self) -> Option<u8> {
        match self.inner().stack().base() {
            AnyFilter::Foreign(filter) => Some(filter.keys() as u8),
            _ => None,
        }
    }

    /// Asks for the key in the first `length` bytes of the scratch, a text or bytes. Undefined for what the filter can't
    /// hold.
    #[wasm_bindgen(js_name = hasAt)]
    pub fn has_at(&self, length: usize, is_text: bool) -> Option<bool> {
        let inner = self.inner();
        scratch::with(length, |key| holds(&inner, key, is_text).then(|| inner.stack().has(key)))
    }

    /// Like `hasAt`, for the `count` keys in the first `length` bytes of the scratch, texts or bytes, which begin with the
    /// keys' lengths (u32, little-endian). Returns 1 or 0 for each, and 2 for what the filter can't hold.
    #[wasm_bindgen(js_name = hasManyAt)]
    pub fn has_many_at(&self, count: usize, length: usize, is_text: bool) -> Result<Uint8Array> {
        let mut answers = Vec::new();
        scratch::with(length, |text| {
            self.has_each(|| scratch::keys(text, count).map(Some), is_text, &mut answers)
        })?;
        to_js(&answers)
    }

    /// Like `hasAt`, for each line of a UTF-8 text. Returns 1 or 0 for each, 0 for a blank line, and 2 for what the filter
    /// can't hold.
    #[wasm_bindgen(js_name = hasLines)]
    pub fn has_lines(&self, text: &Uint8Array) -> Result<Uint8Array> {
        let mut answers = Vec::new();
        each_chunk(text, |chunk| {
            self.has_each(|| lines(chunk).map(|key| (!key.is_empty()).then_some(key)), true, &mut answers)
        })?;
        to_js(&answers)
    }

    /// Like `hasUrlAt`, for a URL that is canonical already, as most are: this can't fail. Undefined for any other URL,
    /// and if the keys aren't URLs; `hasUrlAt` must then be called next, and reads the same scratch. A `Result` would
    /// take 40 ns more.
    #[wasm_bindgen(js_name = hasPlainUrlAt)]
    pub fn has_plain_url_at(&self, length: usize) -> Option<bool> {
        let inner = self.inner();
        if inner.profile() != Profile::Url {
            return None;
        }
        let filter = inner.stack();
        let slots = filter.slots();
        scratch::first(length, |text| {
            if slots.is_within(Slots::HOSTS) {
                return url::any_root(text, slots, |slot, key| filter.has_in(slot, key));
            }
            Some(inner.matching(&url::plain(text)?).is_some())
        })
    }

    /// Whether a key of the URL in the first `length` bytes of the scratch is maybe present.
    #[wasm_bindgen(js_name = hasUrlAt)]
    pub fn has_url_at(&self, length: usize) -> Result<bool> {
        Ok(self.find(length, |_| ())?.is_some())
    }

    /// The first key of the URL in the first `length` bytes of the scratch that is maybe present.
    #[wasm_bindgen(js_name = matchUrlAt)]
    pub fn match_url_at(&self, length: usize) -> Result<Option<JsString>> {
        self.find(length, ascii)
    }

    /// Whether a password is maybe present.
    #[wasm_bindgen(js_name = hasPassword)]
    pub fn has_password(&self, password: &JsString) -> Result<bool> {
        self.inner().has_password_on(&Runtime, &utf8(password)?)
    }

    /// The tags of the key in the first `length` bytes of the scratch, a text or bytes: the number of its set, from 0
    /// on, which `tagNames` takes. -1 if the key is absent, -2 for a filter without tags, and -3 for what the filter
    /// can't hold. A `Result` would take longer.
    #[wasm_bindgen(js_name = tagSetAt)]
    pub fn tag_set_at(&self, length: usize, is_text: bool) -> f64 {
        let inner = self.inner();
        let stack = inner.stack();
        if !stack.is_tagged() {
            return -2.0;
        }
        let Some(digest) =
            scratch::with(length, |key| holds(&inner, key, is_text).then(|| stack.hashing().digest(key)))
        else {
            return -3.0;
        };
        stack.set_of(digest).map_or(-1.0, |(part, _, set)| (part * SETS + set) as f64)
    }

    /// The names of all tags in these sets: an array of strings. The set -1 has none. Fails for a filter without tags.
    #[wasm_bindgen(js_name = tagNames)]
    pub fn tag_names(&self, sets: &[f64]) -> Result<Array> {
        let inner = self.inner();
        let stack = inner.stack();
        stack.require_tagged()?;
        let mut numbers = [0; 4];
        for set in sets.iter().copied().filter(|&set| set >= 0.0) {
            stack.add_tag_numbers(&mut numbers, set as usize / SETS, set as usize % SETS)?;
        }
        Ok(stack.names_of(&numbers).map(JsValue::from_str).collect())
    }

    /// Adds the key in the first `length` bytes of the scratch; true = it was definitely not there before.
    #[wasm_bindgen(js_name = addAt)]
    pub fn add_at(&self, length: usize) -> Result<bool> {
        let digest = self.digest_at(length)?;
        self.change().add_digest(digest)
    }

    /// Like `addAt`, for cases that can't fail: raw keys, into a Bloom or counting filter without layers. In all other
    /// cases it returns undefined and changes nothing. A `Result` would take 40 ns of 200.
    #[wasm_bindgen(js_name = addRawAt)]
    pub fn add_raw_at(&self, length: usize) -> Option<bool> {
        let hashing = {
            let inner = self.inner();
            let is_simple =
                matches!(inner.stack().base_alone(), Ok(AnyFilter::Bloom(_) | AnyFilter::Counting(_)));
            (is_simple && inner.profile() == Profile::Raw).then(|| *inner.stack().hashing())?
        };
        let digest = scratch::with(length, |key| hashing.digest(key));
        match self.change().stack_mut().base_mut().ok()? {
            AnyFilter::Bloom(filter) => Some(filter.add_digest(digest)),
            AnyFilter::Counting(filter) => Some(filter.add_digest(digest)),
            _ => None,
        }
    }

    /// Adds all of the digests or, if that fails, none; returns how many were new.
    #[wasm_bindgen(js_name = addDigests)]
    pub fn add_digests(&self, digests: &DigestList) -> Result<usize> {
        self.change().stack_mut().base_mut()?.add_digests(digests.entries.keys())
    }

    /// Removes the key in the first `length` bytes of the scratch; false = it was definitely not there.
    #[wasm_bindgen(js_name = removeAt)]
    pub fn remove_at(&self, length: usize) -> Result<bool> {
        let digest = self.digest_at(length)?;
        self.change().remove_digest(digest)
    }

    /// The most times that a counting filter may hold the key in the first `length` bytes of the scratch.
    #[wasm_bindgen(js_name = countAt)]
    pub fn count_at(&self, length: usize) -> Result<u32> {
        self.with_key(length, |inner, key| match inner.stack().base_alone()? {
            AnyFilter::Counting(filter) => Ok(filter.count(key)),
            other => Err(Error::WrongKind { kind: other.name() }),
        })
    }

    /// The positions of the bits of the key in the first `length` bytes of the scratch, in a Bloom filter.
    #[wasm_bindgen(js_name = locationsAt)]
    pub fn locations_at(&self, length: usize) -> Result<Array> {
        self.with_key(length, |inner, key| match inner.stack().base() {
            AnyFilter::Bloom(filter) => Ok(filter.locations(key).map(JsValue::from).collect()),
            other => Err(Error::WrongKind { kind: other.name() }),
        })
    }
}

/// The keys of the URL in the first `length` bytes of the scratch: at most 30, or up to 110 if it may be read in more than
/// one way.
#[wasm_bindgen(js_name = urlExpressionsAt)]
pub fn url_expressions_at(length: usize) -> Result<Array> {
    Ok(readings(length)?.keys().map(ascii).map(JsValue::from).collect())
}

/// What the URL in the first `length` bytes of the scratch is looked up by.
fn readings(length: usize) -> Result<Readings<'static>> {
    // A copy, because the runtime is called meanwhile.
    url::readings(&Runtime, scratch::with(length, copied)?)
}
