//! What makes the classes whole by themselves: questions that take strings and bytes, and builders that take arrays and
//! options.

use std::cell::OnceCell;
use std::rc::Rc;

use js_sys::{Array, Function, JsString, Uint8Array};
use serde::Deserialize;
use wasm_bindgen::prelude::*;

use super::filter::Filter;
use super::runtime::{Runtime, utf8};
use super::{ascii, extend, holds, returned_error, secret, to_js};
use crate::builder::{Builder, Lines};
use crate::error::{Error, Result};
use crate::filter;
use crate::hash::Checksum;
use crate::keys::Skip;
use crate::kind::{Kind, KindOptions};
use crate::profile::Profile;
use crate::vectors::{push, reserve};

// They never throw: an exception that passes through Rust leaves its stack behind.
#[wasm_bindgen(module = "/src/wasm/arguments.js")]
extern "C" {
    type Refused;

    #[wasm_bindgen(method, getter)]
    fn error(this: &Refused) -> JsValue;

    #[wasm_bindgen(js_name = key)]
    fn plain_key(value: &JsValue) -> JsValue;
    #[wasm_bindgen(js_name = keys)]
    fn plain_keys(values: &JsValue) -> JsValue;
    #[wasm_bindgen(js_name = text)]
    fn plain_text(value: &JsValue) -> JsValue;
    #[wasm_bindgen(js_name = blob)]
    fn plain_blob(value: &JsValue) -> JsValue;
    #[wasm_bindgen(js_name = secret)]
    fn plain_secret(value: &JsValue) -> JsValue;
    #[wasm_bindgen(js_name = lists)]
    fn plain_lists(value: &JsValue) -> JsValue;
    #[wasm_bindgen(js_name = options)]
    fn plain_options(value: &JsValue) -> JsValue;
    fn tell(run: &Function, key: &Uint8Array, reason: &str) -> JsValue;
}

/// An argument that was made plain, or the error for it.
fn plain<T: JsCast>(value: JsValue) -> Result<T, JsValue> {
    match value.dyn_ref::<Refused>() {
        Some(refused) => Err(refused.error()),
        None => Ok(value.unchecked_into()),
    }
}

/// The bytes of a plain key, and whether it is a text.
fn bytes(key: &JsValue) -> Result<(Vec<u8>, bool)> {
    let mut bytes = Vec::new();
    match key.dyn_ref::<JsString>() {
        Some(text) => Ok((utf8(text)?, true)),
        None => extend(&mut bytes, key.unchecked_ref()).map(|()| (bytes, false)),
    }
}

fn text(value: &JsValue) -> Result<Vec<u8>, JsValue> {
    Ok(utf8(&plain(plain_text(value))?)?)
}

impl Filter {
    /// The bytes of a plain key that the filter can hold.
    fn key(&self, key: &JsValue) -> Result<Vec<u8>> {
        let (bytes, is_text) = bytes(key)?;
        let reason =
            "the filter has keys of URLs or passwords, and this isn't one; ask hasUrl or hasPassword";
        Error::unless_key(holds(&self.inner(), &bytes, is_text), reason)?;
        let reason = "the filter's keys are numbers: ask for their bytes, in little-endian order";
        Error::unless_key(self.inner().fits(&bytes) && !(is_text && self.inner().has_numbers()), reason)?;
        let is_whole = key.dyn_ref().is_none_or(JsString::is_valid_utf16);
        Error::unless_key(is_whole, "a key must not have lone surrogates; ask for its bytes")?;
        Ok(bytes)
    }
}

fn strings(names: Vec<&str>) -> Array {
    names.into_iter().map(JsValue::from_str).collect()
}

#[wasm_bindgen]
impl Filter {
    /// Reads a blob. A keyed one needs its secret.
    pub fn decode(
        #[wasm_bindgen(unchecked_param_type = "Uint8Array | ArrayBuffer")] bytes: &JsValue,
        #[wasm_bindgen(unchecked_optional_param_type = "Uint8Array")] secret: JsValue,
    ) -> Result<Filter, JsValue> {
        let secret = plain::<JsValue>(plain_secret(&secret))?;
        let secret = self::secret(secret)?;
        let mut blob = Vec::new();
        extend(&mut blob, &plain(plain_blob(bytes))?)?;
        Ok(Filter::new(filter::Filter::decode_hashed(blob, Checksum::default(), secret.as_ref())?)?)
    }

    /// Looks up a key: true = maybe present, false = definitely absent. The keys of a filter of URLs look like
    /// `evil.example/`; a whole URL is never one and throws `invalid_key`: use `hasUrl`. A key that another one of its list
    /// covers is absent.
    pub fn has(&self, #[wasm_bindgen(unchecked_param_type = "Key")] key: &JsValue) -> Result<bool, JsValue> {
        Ok(self.inner().stack().has(&self.key(&plain(plain_key(key))?)?))
    }

    /// As `has`, for many keys: one byte for each, 1 = maybe present, 0 = definitely absent.
    #[wasm_bindgen(js_name = hasMany)]
    pub fn has_many(
        &self,
        #[wasm_bindgen(unchecked_param_type = "Iterable<Key>")] keys: &JsValue,
    ) -> Result<Uint8Array, JsValue> {
        let keys: Array = plain(plain_keys(keys))?;
        let mut found = Vec::new();
        reserve(&mut found, keys.length() as usize)?;
        keys.iter()
            .try_for_each(|key| push(&mut found, self.inner().stack().has(&self.key(&key)?).into()))?;
        Ok(to_js(&found)?)
    }

    /// Whether a URL, a host, or a host with a path is maybe on the list. Throws `wrong_profile` unless the filter was built
    /// with the profile `url`.
    #[wasm_bindgen(js_name = hasUrl)]
    pub fn has_url(
        &self,
        #[wasm_bindgen(unchecked_param_type = "string")] url: &JsValue,
    ) -> Result<bool, JsValue> {
        Ok(self.inner().find_url(&Runtime, &text(url)?, |_| ())?.is_some())
    }

    /// Whether a password is maybe present. Throws `wrong_profile` unless the filter was built with the profile
    /// `password`.
    #[wasm_bindgen(js_name = hasPassword)]
    pub fn has_password(
        &self,
        #[wasm_bindgen(unchecked_param_type = "string")] password: &JsValue,
    ) -> Result<bool, JsValue> {
        Ok(self.inner().has_password_on(&Runtime, &text(password)?)?)
    }

    /// The first key of a URL that is maybe present, such as `evil.example/`; null if the URL isn't on the list.
    #[wasm_bindgen(js_name = matchUrl, unchecked_return_type = "string | null")]
    pub fn match_url(
        &self,
        #[wasm_bindgen(unchecked_param_type = "string")] url: &JsValue,
    ) -> Result<JsValue, JsValue> {
        Ok(self.inner().find_url(&Runtime, &text(url)?, ascii)?.map_or(JsValue::NULL, JsValue::from))
    }

    /// The tags of a key, such as the lists that it is on. Throws `wrong_kind` for a filter without tags.
    #[wasm_bindgen(unchecked_return_type = "string[]")]
    pub fn tags(
        &self,
        #[wasm_bindgen(unchecked_param_type = "Key")] key: &JsValue,
    ) -> Result<Array, JsValue> {
        let key = self.key(&plain(plain_key(key))?)?;
        Ok(strings(self.inner().stack().tags(&key)?))
    }

    /// The tags of all keys of a URL, each once.
    #[wasm_bindgen(js_name = urlTags, unchecked_return_type = "string[]")]
    pub fn url_tags(
        &self,
        #[wasm_bindgen(unchecked_param_type = "string")] url: &JsValue,
    ) -> Result<Array, JsValue> {
        Ok(strings(self.inner().url_tags_on(&Runtime, &text(url)?)?))
    }

    /// Adds a key, read like a line of a list; true = it was definitely not there before. Throws `wrong_kind` for a filter
    /// that is read-only.
    pub fn add(&self, #[wasm_bindgen(unchecked_param_type = "Key")] key: &JsValue) -> Result<bool, JsValue> {
        let digest = self.inner().digest_on(&Runtime, &bytes(&plain(plain_key(key))?)?.0)?;
        Ok(self.change().add_digest(digest)?)
    }

    /// Removes a key from a counting or a cuckoo filter; false = it was definitely not there.
    pub fn remove(
        &self,
        #[wasm_bindgen(unchecked_param_type = "Key")] key: &JsValue,
    ) -> Result<bool, JsValue> {
        let digest = self.inner().digest_on(&Runtime, &bytes(&plain(plain_key(key))?)?.0)?;
        Ok(self.change().remove_digest(digest)?)
    }

    /// Builds a filter of keys. With the profile `url`, a key is a line of a list: a URL, a host, a host with a path, an
    /// adblock rule or a line of a hosts file.
    pub fn from(
        #[wasm_bindgen(unchecked_param_type = "Iterable<Key>")] keys: &JsValue,
        #[wasm_bindgen(unchecked_optional_param_type = "BuildOptions")] options: JsValue,
    ) -> Result<Filter, JsValue> {
        let thrown = Thrown::default();
        let mut builder = Options::read(&options)?.builder(&thrown)?;
        builder.push_list(None, list(plain(plain_keys(keys))?));
        build(builder, &thrown)
    }

    /// Builds a ribbon filter whose `tags` tell which lists a key is on: `lists` has the keys of each under its name.
    #[wasm_bindgen(js_name = fromTagged)]
    pub fn from_tagged(
        #[wasm_bindgen(
            unchecked_param_type = "{ [tag: string]: Iterable<Key> } | ReadonlyMap<string, Iterable<Key>>"
        )]
        lists: &JsValue,
        #[wasm_bindgen(unchecked_optional_param_type = "BuildOptions")] options: JsValue,
    ) -> Result<Filter, JsValue> {
        let thrown = Thrown::default();
        let mut builder = Options::read(&options)?.builder(&thrown)?;
        if builder.options.kind != Kind::Ribbon {
            return Err(Error::WrongKind { kind: builder.options.kind.name() }.into());
        }
        for entry in plain::<Array>(plain_lists(lists))? {
            let [name, keys] = [0, 1].map(|at| entry.unchecked_ref::<Array>().get(at));
            let name = String::from_utf8(utf8(name.unchecked_ref())?)
                .map_err(|_| Error::rule("a tag must be text"))?;
            builder.push_list(Some(name), list(keys.unchecked_into()));
        }
        build(builder, &thrown)
    }
}

/// What `onSkip` threw. It is thrown again once the call that it came from has ended.
type Thrown = Rc<OnceCell<JsValue>>;

fn build(builder: Builder, thrown: &Thrown) -> Result<Filter, JsValue> {
    let built = builder.build_on(&Runtime);
    if let Some(error) = thrown.get() {
        return Err(error.clone());
    }
    Ok(Filter::new(built?)?)
}

/// The lines of an array of plain keys.
fn list<'a>(keys: Array) -> Lines<'a> {
    Box::new(move |take| keys.iter().try_for_each(|key| take(&bytes(&key)?.0)))
}

/// `BuildOptions` of types.d.ts, as arguments.js reads them.
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
    fn read(options: &JsValue) -> Result<Self, JsValue> {
        let wrong = |why: serde_wasm_bindgen::Error| {
            returned_error("invalid_parameter", &format!("the options are wrong: {why}"))
        };
        serde_wasm_bindgen::from_value(plain(plain_options(options))?).map_err(wrong)
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
        let mut builder = Builder::new(profile)
            .kind(options)
            .fpr(self.fpr.unwrap_or(profile.default_fpr()))
            .min_length(self.min_length)
            .min_count(self.min_count);
        if let Some(seed) = self.seed {
            builder = builder.seed(seed);
        }
        if let Some(secret) = secret(self.secret)? {
            Error::unless(self.seed.is_some(), "a keyed filter needs a random seed")?;
            builder = builder.secret(secret);
        }
        if let Some(name) = self.name {
            builder = builder.name(name);
        }
        if let Some(time) = self.created_at {
            builder = builder.created_at(time);
        }
        match self.allow.dyn_into() {
            Ok(keys) => builder.push_allowed(list(keys)),
            Err(_) => Error::unless(!self.allow_wins, "allowWins needs allow")?,
        }
        if self.allow_wins {
            builder = builder.allow_wins();
        }
        if let Ok(run) = self.on_skip.dyn_into::<Function>() {
            let thrown = thrown.clone();
            builder = builder.on_skip(move |line, skip| report(&run, line, skip, &thrown));
        }
        Ok(builder)
    }
}

/// Tells `onSkip` of a line, unless it has thrown.
fn report(run: &Function, line: &[u8], skip: Skip, thrown: &Thrown) {
    if thrown.get().is_none() {
        let told = to_js(line).map_err(JsValue::from);
        let told = told.and_then(|line| plain::<JsValue>(tell(run, &line, skip.code())));
        if let Err(error) = told {
            thrown.get_or_init(|| error);
        }
    }
}
