//! What makes the classes whole by themselves: questions that take strings and bytes, and builders that take arrays and
//! options.

use std::cell::OnceCell;
use std::rc::Rc;

use js_sys::{Array, Function, JsString, Object, Reflect, Uint8Array};
use serde::Deserialize;
use wasm_bindgen::prelude::*;

use super::filter::Filter;
use super::runtime::{Runtime, utf8};
use super::{FilterError, ascii, extend, holds, secret, to_js};
use crate::builder::{Builder, Lines};
use crate::error::{Error, Result};
use crate::hash::Hashing;
use crate::kind::{Kind, KindOptions};
use crate::profile::Profile;
use crate::vectors::{push, reserve};

/// A key, and whether it is a text.
fn key(value: &JsValue) -> Result<(Vec<u8>, bool)> {
    match (value.dyn_ref::<JsString>(), value.dyn_ref()) {
        (Some(text), _) => Ok((utf8(text)?, true)),
        (_, Some(array)) => {
            let mut bytes = Vec::new();
            extend(&mut bytes, array)?;
            Ok((bytes, false))
        }
        _ => Err(Error::InvalidKey { reason: "a key must be a string or a Uint8Array" }),
    }
}

fn text(value: &JsValue) -> Result<Vec<u8>> {
    utf8(value.dyn_ref().ok_or(Error::InvalidKey { reason: "a URL must be a string" })?)
}

impl Filter {
    /// The bytes of a key that the filter can hold.
    fn key(&self, value: &JsValue) -> Result<Vec<u8>> {
        let (key, is_text) = key(value)?;
        let reason =
            "the filter has keys of URLs or passwords, and this isn't one; ask hasUrl or hasPassword";
        if holds(&self.inner, &key, is_text) { Ok(key) } else { Err(Error::InvalidKey { reason }) }
    }
}

fn strings(names: Vec<&str>) -> Array {
    names.into_iter().map(JsValue::from_str).collect()
}

#[wasm_bindgen]
impl Filter {
    /// Looks up a key: true = maybe present, false = definitely absent. The keys of a filter of URLs look like
    /// `evil.example/`; a whole URL is never one and throws `invalid_key`: use `hasUrl`.
    pub fn has(&self, #[wasm_bindgen(unchecked_param_type = "Key")] key: &JsValue) -> Result<bool> {
        Ok(self.inner.stack().has(&self.key(key)?))
    }

    /// As `has`, for many keys: one byte for each, 1 = maybe present, 0 = definitely absent.
    #[wasm_bindgen(js_name = hasMany)]
    pub fn has_many(
        &self,
        #[wasm_bindgen(unchecked_param_type = "Key[]")] keys: &Array,
    ) -> Result<Uint8Array> {
        let mut found = Vec::new();
        reserve(&mut found, keys.length() as usize)?;
        keys.iter().try_for_each(|key| push(&mut found, self.has(&key)?.into()))?;
        to_js(&found)
    }

    /// Whether a URL, a host, or a host with a path is maybe on the list. Throws `wrong_profile` unless the filter was built
    /// with the profile `url`.
    #[wasm_bindgen(js_name = hasUrl)]
    pub fn has_url(&self, #[wasm_bindgen(unchecked_param_type = "string")] url: &JsValue) -> Result<bool> {
        Ok(self.inner.find_url(&Runtime, &text(url)?, |_| ())?.is_some())
    }

    /// The first key of a URL that is maybe present, such as `evil.example/`; null if the URL isn't on the list.
    #[wasm_bindgen(js_name = matchUrl, unchecked_return_type = "string | null")]
    pub fn match_url(
        &self,
        #[wasm_bindgen(unchecked_param_type = "string")] url: &JsValue,
    ) -> Result<JsValue> {
        Ok(self.inner.find_url(&Runtime, &text(url)?, ascii)?.map_or(JsValue::NULL, JsValue::from))
    }

    /// The tags of a key, such as the lists that it is on. Throws `wrong_kind` for a filter without tags.
    #[wasm_bindgen(unchecked_return_type = "string[]")]
    pub fn tags(&self, #[wasm_bindgen(unchecked_param_type = "Key")] key: &JsValue) -> Result<Array> {
        Ok(strings(self.inner.stack().tags(&self.key(key)?)?))
    }

    /// The tags of all keys of a URL, each once.
    #[wasm_bindgen(js_name = urlTags, unchecked_return_type = "string[]")]
    pub fn url_tags(&self, #[wasm_bindgen(unchecked_param_type = "string")] url: &JsValue) -> Result<Array> {
        Ok(strings(self.inner.url_tags_on(&Runtime, &text(url)?)?))
    }

    /// Adds a key, read like a line of a list; true = it was definitely not there before. Throws `wrong_kind` for a filter
    /// that is read-only.
    pub fn add(&mut self, #[wasm_bindgen(unchecked_param_type = "Key")] key: &JsValue) -> Result<bool> {
        self.inner.add_on(&Runtime, &self::key(key)?.0)
    }

    /// Removes a key from a counting or a cuckoo filter; false = it was definitely not there.
    pub fn remove(&mut self, #[wasm_bindgen(unchecked_param_type = "Key")] key: &JsValue) -> Result<bool> {
        self.inner.remove_on(&Runtime, &self::key(key)?.0)
    }

    /// Builds a filter of keys. With the profile `url`, a key is a line of a list: a URL, a host, a host with a path, an
    /// adblock rule or a line of a hosts file.
    pub fn from(
        #[wasm_bindgen(unchecked_param_type = "Key[]")] keys: &Array,
        #[wasm_bindgen(unchecked_optional_param_type = "BuildOptions")] options: JsValue,
    ) -> Result<Filter, JsValue> {
        let thrown = Thrown::default();
        let mut builder = Options::read(options)?.builder(&thrown)?;
        builder.push_list(None, list(keys.clone()));
        build(builder, &thrown)
    }

    /// Builds a ribbon filter whose `tags` tell which lists a key is on: `lists` has the keys of each under its name.
    #[wasm_bindgen(js_name = fromTagged)]
    pub fn from_tagged(
        #[wasm_bindgen(unchecked_param_type = "{ [tag: string]: Key[] }")] lists: &Object,
        #[wasm_bindgen(unchecked_optional_param_type = "BuildOptions")] options: JsValue,
    ) -> Result<Filter, JsValue> {
        let thrown = Thrown::default();
        let mut builder = Options::read(options)?.builder(&thrown)?;
        for entry in Object::entries(lists) {
            let entry = Array::from(&entry);
            let (name, keys) = (entry.get(0), entry.get(1));
            let name = String::from_utf8(text(&name)?).map_err(|_| Error::rule("a tag must be text"))?;
            let keys = keys.dyn_into().map_err(|_| Error::rule("the keys of a tag must be an array"))?;
            builder.push_list(Some(name), list(keys));
        }
        build(builder, &thrown)
    }
}

/// What `onSkip` threw first. It is thrown again once the call that it came from has ended.
type Thrown = Rc<OnceCell<JsValue>>;

fn build(builder: Builder, thrown: &Thrown) -> Result<Filter, JsValue> {
    let built = builder.build_on(&Runtime);
    if let Some(error) = thrown.get() {
        return Err(error.clone());
    }
    Ok(Filter::new(built?)?)
}

fn list<'a>(keys: Array) -> Lines<'a> {
    Box::new(move |take| keys.iter().try_for_each(|value| take(&key(&value)?.0)))
}

/// The names of [`Options`].
const NAMES: [&str; 19] = [
    "kind",
    "profile",
    "lowercase",
    "sha1",
    "fpr",
    "seed",
    "secret",
    "minLength",
    "minCount",
    "name",
    "createdAt",
    "capacity",
    "counterBits",
    "initialCapacity",
    "growth",
    "tightening",
    "allow",
    "allowWins",
    "onSkip",
];

/// `BuildOptions` of types.d.ts.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Options {
    kind: Option<String>,
    profile: Option<String>,
    lowercase: bool,
    sha1: bool,
    fpr: Option<f64>,
    seed: Option<u64>,
    #[serde(with = "serde_wasm_bindgen::preserve")]
    secret: JsValue,
    min_length: u64,
    min_count: u64,
    name: Option<String>,
    created_at: Option<u64>,
    capacity: Option<u64>,
    counter_bits: Option<u32>,
    initial_capacity: Option<u32>,
    growth: Option<u32>,
    tightening: Option<f64>,
    #[serde(with = "serde_wasm_bindgen::preserve")]
    allow: JsValue,
    allow_wins: bool,
    #[serde(with = "serde_wasm_bindgen::preserve")]
    on_skip: JsValue,
}

impl Options {
    fn read(options: JsValue) -> Result<Self, JsValue> {
        if options.is_undefined() {
            return Ok(Options::default());
        }
        let wrong = |why: serde_wasm_bindgen::Error| {
            FilterError::new("invalid_parameter", &format!("the options are wrong: {why}"))
        };
        // serde-wasm-bindgen asks for each field by its name, so it never sees another one.
        let given = options.dyn_ref::<Object>().map(Object::keys).unwrap_or_else(Array::new);
        for name in given.iter().filter_map(|name| name.as_string()) {
            if !NAMES.contains(&name.as_str()) {
                let message = format!("there is no option {name}; known are {}", NAMES.join(", "));
                return Err(FilterError::new("invalid_parameter", &message).into());
            }
        }
        Ok(serde_wasm_bindgen::from_value(options).map_err(wrong)?)
    }

    fn builder(self, thrown: &Thrown) -> Result<Builder<'static>> {
        let rule = "profile must be raw, url or password; lowercase and sha1 need password";
        let profile = self.profile.as_deref().unwrap_or("raw");
        let profile = Profile::from_name(profile, self.lowercase, self.sha1).ok_or(Error::rule(rule))?;
        let kind = self.kind.as_deref().unwrap_or("ribbon");
        let defaults: KindOptions = Kind::from_name(kind).ok_or(Error::rule("there is no such kind"))?.into();
        let options = KindOptions {
            capacity: self.capacity,
            counter_bits: self.counter_bits.unwrap_or(defaults.counter_bits),
            initial_capacity: self.initial_capacity.unwrap_or(defaults.initial_capacity),
            growth: self.growth.unwrap_or(defaults.growth),
            tightening: self.tightening.unwrap_or(defaults.tightening),
            ..defaults
        };
        let wrong = Error::rule("secret must be a Uint8Array of 16 bytes");
        let hashing =
            match optional(self.secret, wrong)?.map(|bytes| secret(Some(bytes))).transpose()?.flatten() {
                None => self.seed.unwrap_or(0).into(),
                Some(secret) => {
                    let seed = self.seed.ok_or(Error::rule("a keyed filter needs a random seed"))?;
                    Hashing::keyed(&secret, seed)
                }
            };
        let mut builder = Builder::new(profile)
            .kind(options)
            .fpr(self.fpr.unwrap_or(profile.default_fpr()))
            .hashing(hashing)
            .min_length(self.min_length)
            .min_count(self.min_count);
        if let Some(name) = self.name {
            builder = builder.name(name);
        }
        if let Some(time) = self.created_at {
            builder = builder.created_at(time);
        }
        let wrong = Error::rule("allow must be an array of keys");
        match optional::<Array>(self.allow, wrong)? {
            Some(keys) => builder.push_allowed(list(keys)),
            None => Error::unless(!self.allow_wins, "allowWins needs allow")?,
        }
        if self.allow_wins {
            builder = builder.allow_wins();
        }
        let wrong = Error::rule("onSkip must be a function");
        if let Some(run) = optional::<Function>(self.on_skip, wrong)? {
            let thrown = thrown.clone();
            builder = builder.on_skip(move |line, skip| {
                if let Err(error) = tell(&run, line, skip.code()) {
                    thrown.get_or_init(|| error);
                }
            });
        }
        Ok(builder)
    }
}

/// An option that serde doesn't read; none if it is undefined.
fn optional<T: JsCast>(value: JsValue, wrong: Error) -> Result<Option<T>> {
    if value.is_undefined() { Ok(None) } else { value.dyn_into().map(Some).map_err(|_| wrong) }
}

/// Tells `onSkip` of a line.
fn tell(run: &Function, line: &[u8], reason: &str) -> Result<(), JsValue> {
    let skipped = Object::new();
    Reflect::set(&skipped, &"key".into(), &to_js(line)?.into())?;
    Reflect::set(&skipped, &"reason".into(), &reason.into())?;
    run.call1(&JsValue::UNDEFINED, &skipped).map(|_| ())
}
