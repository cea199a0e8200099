//! The class `DigestList`: lists on their way into filters, in batches.

use js_sys::{Array, Date, JsString, Uint8Array};
use serde::Serialize;
use serde_bytes::Bytes;
use wasm_bindgen::prelude::*;

use super::super::filter::Filter;
use super::super::params::{COUNT, whole};
use super::super::runtime::{Runtime, utf8};
use super::super::{headroom, secret, serialize};
use super::{each_chunk, scratch};
use crate::builder::Builder;
use crate::digests::sort;
use crate::error::{Error, Result};
use crate::filter::require_name;
use crate::filters::{BloomFilter, CountingBloomFilter, CuckooFilter};
use crate::hash::Hashing;
use crate::keys::entries::Entries;
use crate::keys::lines::lines;
use crate::keys::list::{Allowlist, Conflict, NO_KEY, no_key, remove_conflicts};
use crate::keys::{Input, Skip};
use crate::kind::Kind;
use crate::layers::Tagged;
use crate::layers::tags::require_tag_name;
use crate::params;
use crate::profile::Profile;
use crate::vectors::{copied, push};

const INITIAL_CAPACITY: &str = "initialCapacity must be a whole number from 1 to 2^32 - 1";

/// A batch of keys on their way into a filter, and of allowed keys if there are any. Each takes 8 bytes, however long
/// it is; in a ribbon filter of URLs, 8 more for each key that may cover it.
#[wasm_bindgen]
pub struct DigestList {
    builder: Builder<'static>,
    /// Those of the builder.
    hashing: Hashing,
    /// Those of all lists of members.
    pub(super) entries: Entries,
    /// The complete lists with a tag: their names, and how many entries each has.
    pub(super) lists: Vec<(String, usize)>,
    /// All members with their tags, once their lists are complete.
    tags: Option<Tagged>,
    /// The members, sorted, once an allowlist follows.
    members: Vec<u64>,
    allowlist: Option<Allowlist>,
    allowed: Option<Vec<u64>>,
    /// Whether a line that gives no key is an error.
    strict: bool,
}

impl DigestList {
    /// Takes the keys in a line of a text, or in a line that is a whole input.
    fn read(&mut self, line: &[u8], of_text: bool, skipped: &mut Skipped) -> Result<()> {
        let DigestList {
            builder: Builder { rules, .. }, hashing, entries, members, allowlist, strict, ..
        } = self;
        let index = skipped.read;
        skipped.read += 1;
        let mut is_comment = true;
        let take = &mut |input: Result<Input, Skip>| {
            is_comment = false;
            match (input, &mut *allowlist) {
                (Ok(input), None) => entries.push(hashing, &input),
                (Ok(input), Some(allowlist)) => allowlist.push(members, &input, || ()),
                (Err(skip), _) if *strict => Err(no_key(skip)),
                (Err(skip), _) => {
                    let line = SkippedLine { index, line: Bytes::new(line), reason: skip.code() };
                    skipped.lines.push(&serialize(&line)?);
                    Ok(())
                }
            }
        };
        if of_text {
            return rules.read_line(&Runtime, line, take);
        }
        rules.read(&Runtime, line, take)?;
        if is_comment && *strict { Err(NO_KEY) } else { Ok(()) }
    }

    /// The digests of the entries since the last list with a tag.
    fn begun(&self) -> &[u64] {
        self.entries.keys().split_at(self.lists.iter().map(|(_, keys)| keys).sum()).1
    }

    /// Whether the last list of members has ended.
    pub(super) fn is_complete(&self) -> bool {
        self.tags.is_some() || self.allowlist.is_some() || self.allowed.is_some()
    }

    fn with(builder: Builder<'static>, hashing: Hashing) -> Result<DigestList> {
        headroom()?;
        Ok(DigestList {
            hashing,
            builder,
            entries: Entries::default(),
            lists: Vec::new(),
            tags: None,
            members: Vec::new(),
            allowlist: None,
            allowed: None,
            strict: false,
        })
    }
}

#[wasm_bindgen]
extern "C" {
    /// What js/build/options.ts reads of the options of a builder, and the kind: an object of our own. Numbers are as
    /// JavaScript has them, and an option that is undefined has the builder's default.
    pub type ListOptions;
    #[wasm_bindgen(method, getter)]
    fn kind(this: &ListOptions) -> JsString;
    #[wasm_bindgen(method, getter)]
    fn profile(this: &ListOptions) -> JsString;
    #[wasm_bindgen(method, getter)]
    fn lowercase(this: &ListOptions) -> bool;
    #[wasm_bindgen(method, getter)]
    fn sha1(this: &ListOptions) -> bool;
    #[wasm_bindgen(method, getter)]
    fn seed(this: &ListOptions) -> u64;
    #[wasm_bindgen(method, getter)]
    fn secret(this: &ListOptions) -> JsValue;
    #[wasm_bindgen(method, getter)]
    fn fpr(this: &ListOptions) -> Option<f64>;
    #[wasm_bindgen(method, getter, js_name = counterBits)]
    fn counter_bits(this: &ListOptions) -> Option<f64>;
    #[wasm_bindgen(method, getter, js_name = initialCapacity)]
    fn initial_capacity(this: &ListOptions) -> Option<f64>;
    #[wasm_bindgen(method, getter)]
    fn growth(this: &ListOptions) -> Option<f64>;
    #[wasm_bindgen(method, getter)]
    fn tightening(this: &ListOptions) -> Option<f64>;
    #[wasm_bindgen(method, getter, js_name = minLength)]
    fn min_length(this: &ListOptions) -> Option<f64>;
    #[wasm_bindgen(method, getter, js_name = minCount)]
    fn min_count(this: &ListOptions) -> Option<f64>;
}

impl ListOptions {
    fn builder(&self) -> Result<Builder<'static>> {
        let kind = Kind::from_name(&name(&self.kind())?).ok_or(Error::rule("there is no such kind"))?;
        let rule = "profile must be raw, url or password; lowercase and sha1 need password";
        let profile = Profile::from_name(&name(&self.profile())?, self.lowercase(), self.sha1())
            .ok_or(Error::rule(rule))?;
        let mut builder = Builder::new(profile).kind(kind).seed(self.seed());
        if let Some(secret) = secret(self.secret())? {
            builder = builder.secret(secret);
        }
        let Builder { rules, options, fpr, .. } = &mut builder;
        if let Some(given) = self.fpr() {
            *fpr = given;
        }
        if let Some(bits) = self.counter_bits() {
            options.counter_bits = whole(bits, "counterBits must be 4 or 8")?;
        }
        if let Some(capacity) = self.initial_capacity() {
            options.initial_capacity = whole(capacity, INITIAL_CAPACITY)?;
        }
        if let Some(growth) = self.growth() {
            options.growth = whole(growth, "growth must be a whole number from 1 to 16")?;
        }
        if let Some(tightening) = self.tightening() {
            options.tightening = tightening;
        }
        if let Some(length) = self.min_length() {
            rules.min_length = whole(length, "minLength must be a whole number, 0 or more")?;
        }
        if let Some(count) = self.min_count() {
            rules.min_count = whole(count, "minCount must be a whole number, 0 or more")?;
        }
        Ok(builder)
    }
}

#[wasm_bindgen]
impl DigestList {
    /// An empty batch, for building a filter; a keyed one if there is a secret. Fails if no filter can be built with
    /// these options, before any key is read.
    #[wasm_bindgen(constructor)]
    pub fn new(options: &ListOptions) -> Result<DigestList> {
        let builder = options.builder()?;
        builder.validate()?;
        let hashing = builder.digests();
        Self::with(builder, hashing)
    }

    /// An empty batch, for adding keys to a filter. A line that gives no key is an error.
    pub fn of(filter: &Filter) -> Result<DigestList> {
        let inner = filter.inner();
        let digests = Self::with(Builder::new(inner.profile()), *inner.stack().hashing())?;
        Ok(DigestList { strict: true, ..digests })
    }

    /// An empty Bloom or counting filter of this shape.
    pub fn empty(&self, bits: f64, hashes: f64) -> Result<Filter> {
        let (bits, hashes) = (whole(bits, params::BITS)?, whole(hashes, params::HASHES)?);
        let (options, hashing) = (self.builder.options, self.hashing);
        let filter = match options.kind {
            Kind::Bloom => BloomFilter::new(bits, hashes, hashing)?.into(),
            Kind::Counting => CountingBloomFilter::new(bits, hashes, options.counter_bits, hashing)?.into(),
            kind => return Err(Error::WrongKind { kind: kind.name() }),
        };
        Filter::new(filter)
    }

    /// An empty cuckoo filter.
    #[wasm_bindgen(js_name = withCapacity)]
    pub fn with_capacity(&self, count: f64, fpr: f64) -> Result<Filter> {
        Filter::new(CuckooFilter::with_capacity(whole(count, COUNT)?, fpr, self.hashing)?.into())
    }

    /// A human-readable name, and the time when the list was made.
    pub fn describe(&mut self, name: Option<JsString>, created_at: Option<Date>) -> Result<()> {
        let rule = "createdAt must be 1970 or later, in whole milliseconds";
        let is_text = name.as_ref().is_none_or(JsString::is_valid_utf16);
        Error::unless(is_text, "name must be text, without lone surrogates")?;
        let name = name.map(|name| self::name(&name)).transpose()?;
        let created_at = created_at.map(|date| whole(date.get_time(), rule)).transpose()?;
        name.as_deref().map_or(Ok(()), require_name)?;
        (self.builder.name, self.builder.created_at) = (name, created_at);
        Ok(())
    }

    /// Takes the `count` lines in the first `length` bytes of the scratch, which begin with the lines' lengths (u32,
    /// little-endian). Returns those that give no key, as `{ index, line, reason }`.
    #[wasm_bindgen(js_name = pushKeysAt)]
    pub fn push_keys_at(&mut self, count: usize, length: usize) -> Result<Array> {
        // A copy, because the runtime may be called meanwhile.
        let text = scratch::with(length, copied)?;
        let mut skipped = Skipped::default();
        scratch::keys(&text, count).try_for_each(|line| self.read(line, false, &mut skipped))?;
        Ok(skipped.lines)
    }

    /// Like `pushKeysAt`, for each line of a UTF-8 text that isn't blank. Lines that are too long are skipped.
    #[wasm_bindgen(js_name = pushLines)]
    pub fn push_lines(&mut self, text: &Uint8Array) -> Result<Array> {
        let mut skipped = Skipped::default();
        each_chunk(text, |chunk| {
            let mut lines = lines(chunk).filter(|line| !line.is_empty());
            lines.try_for_each(|line| self.read(line, true, &mut skipped))
        })?;
        Ok(skipped.lines)
    }

    /// Ends the list of members with this tag: all those since the last call.
    pub fn tag(&mut self, tag: &JsString) -> Result<()> {
        let rule = "the name of a tag must be text";
        Error::unless(tag.is_valid_utf16(), rule)?;
        let tag = self::name(tag)?;
        require_tag_name(&tag)?;
        let keys = self.begun().len();
        push(&mut self.lists, (tag, keys))
    }

    /// Ends the lists of members with tags. The members since the last list have none.
    #[wasm_bindgen(js_name = endTags)]
    pub fn end_tags(&mut self) -> Result<()> {
        let (mut lists, mut rest) = (Vec::new(), self.entries.keys());
        for (tag, keys) in std::mem::take(&mut self.lists) {
            let (list, later) = rest.split_at(keys);
            push(&mut lists, (tag, copied(list)?))?;
            rest = later;
        }
        self.tags = Some(Tagged::new(lists, copied(rest)?)?);
        Ok(())
    }

    /// Ends the list of members. The keys that follow are allowed keys. With `wins`, a key that is listed and allowed is
    /// removed from the members.
    pub fn allow(&mut self, wins: bool) -> Result<()> {
        self.members = self.entries.members()?;
        sort(&mut self.members)?;
        // The minimum length and count don't apply to allowed keys.
        self.builder.rules = self.builder.rules.profile.into();
        self.allowlist = Some(Allowlist::new(self.hashing, wins));
        Ok(())
    }

    /// Ends the list of allowed keys. If allowed keys win, removes the listed and allowed keys from the members. Returns all
    /// of these keys, as `{ key, removed }`.
    pub fn conflicts(&mut self) -> Result<Array> {
        let met = Array::new();
        if let Some(allowlist) = self.allowlist.take() {
            let (allowed, conflicts) = allowlist.finish()?;
            self.allowed = Some(allowed);
            remove_conflicts(&mut self.members, &conflicts)?;
            for Conflict { key, removed, .. } in &conflicts {
                let key = match str::from_utf8(key) {
                    // JavaScript has no strings that are longer.
                    Ok(text) if text.len() < 1 << 28 => Key::Text(text),
                    _ => Key::Bytes(Bytes::new(key)),
                };
                met.push(&serialize(&KeyConflict { key, removed: *removed })?);
            }
        }
        Ok(met)
    }

    /// Whether no line of the list that is being read has given a key.
    #[wasm_bindgen(js_name = isEmpty)]
    pub fn is_empty(&self) -> bool {
        self.allowlist.as_ref().map_or(self.begun().is_empty(), Allowlist::is_empty)
    }

    /// Builds the filter. The keys are used up.
    pub fn build(&mut self) -> Result<Filter> {
        let mut entries = std::mem::take(&mut self.entries);
        let allowed = self.allowed.take();
        let members = match allowed {
            None => entries.members()?,
            Some(_) => std::mem::take(&mut self.members),
        };
        Filter::new(self.builder.build_entries(entries, members, self.tags.take(), allowed)?.0)
    }
}

/// A short text.
pub(super) fn name(text: &JsString) -> Result<String> {
    String::from_utf8(utf8(text)?).map_err(|_| Error::rule("a text must be UTF-8"))
}

/// The lines of a batch that give no key.
#[derive(Default)]
struct Skipped {
    lines: Array,
    /// How many lines were read so far.
    read: u32,
}

/// A line that gives no key.
#[derive(Serialize)]
struct SkippedLine<'a> {
    /// The position of the line in its batch.
    index: u32,
    line: &'a Bytes,
    reason: &'static str,
}

/// A key that is both a member and allowed.
#[derive(Serialize)]
struct KeyConflict<'a> {
    key: Key<'a>,
    removed: bool,
}

/// A string if the key is UTF-8, otherwise a `Uint8Array`.
#[derive(Serialize)]
#[serde(untagged)]
enum Key<'a> {
    Text(&'a str),
    Bytes(&'a Bytes),
}
