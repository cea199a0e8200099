//! Making and changing filters: the class `DigestList`, and more methods of the class `Filter`.

use js_sys::{Array, Date, JsString, Uint8Array};
use serde::Serialize;
use serde_bytes::Bytes;
use wasm_bindgen::prelude::*;

use super::filter::Filter;
use super::runtime::{Runtime, utf8};
use super::{each_chunk, headroom, scratch, serialize};
use crate::digests::sort;
use crate::error::{Error, Result};
use crate::filters::{BloomFilter, CountingBloomFilter, CuckooFilter, Filter as AnyFilter};
use crate::format::{Blob, require_name};
use crate::hash::Hashing;
use crate::keys::lines::lines;
use crate::keys::list::{Allowlist, Conflict, Rules, remove_conflicts};
use crate::keys::{Input, Skip};
use crate::kind::{Kind, KindOptions};
use crate::layers::{Stack, Tagged, require_tag_name};
use crate::params;
use crate::profile::Profile;
use crate::vectors::{copied, push};

/// An integer from a JavaScript number, which is exact below 2^53.
pub(super) fn whole<N: TryFrom<u64>>(number: f64, rule: &'static str) -> Result<N> {
    let holds = number.fract() == 0.0 && (0.0..=9_007_199_254_740_991.0).contains(&number);
    Error::unless(holds, rule)?;
    N::try_from(number as u64).map_err(|_| Error::rule(rule))
}

pub(super) const COUNT: &str = "count must be a whole number from 0 to 2^53 - 1";
const INITIAL_CAPACITY: &str = "initialCapacity must be a whole number from 1 to 2^32 - 1";

#[wasm_bindgen]
impl Filter {
    /// Adds the key in the first `length` bytes of the scratch; true = it was definitely not there before.
    pub fn add(&mut self, length: usize) -> Result<bool> {
        with_key(self.blob.profile(), length, |key| {
            let filter = self.blob.filter_mut().base_mut()?;
            Ok(filter.add_digests(&[filter.hashing().digest(key)])? > 0)
        })
    }

    /// Like `add`, for cases that can't fail: raw keys, into a Bloom or counting filter without layers. In all other
    /// cases it returns undefined and changes nothing. A `Result` would take 40 ns of 200.
    #[wasm_bindgen(js_name = addKey)]
    pub fn add_key(&mut self, length: usize) -> Option<bool> {
        if self.blob.profile() != Profile::Raw {
            return None;
        }
        match self.blob.filter_mut().base_mut().ok()? {
            AnyFilter::Bloom(filter) => Some(scratch::with(length, |key| filter.add(key))),
            AnyFilter::Counting(filter) => Some(scratch::with(length, |key| filter.add(key))),
            _ => None,
        }
    }

    /// Adds all of the digests or, if that fails, none; returns how many were new.
    #[wasm_bindgen(js_name = addDigests)]
    pub fn add_digests(&mut self, digests: &DigestList) -> Result<usize> {
        self.blob.filter_mut().base_mut()?.add_digests(&digests.members)
    }

    /// Removes the key in the first `length` bytes of the scratch; false = it was definitely not there.
    pub fn remove(&mut self, length: usize) -> Result<bool> {
        with_key(self.blob.profile(), length, |key| match self.blob.filter_mut().base_mut()? {
            AnyFilter::Counting(filter) => Ok(filter.remove(key)),
            AnyFilter::Cuckoo(filter) => Ok(filter.remove(key)),
            other => Err(wrong_kind(other)),
        })
    }

    /// The most times that a counting filter may hold the key in the first `length` bytes of the scratch.
    pub fn count(&self, length: usize) -> Result<u32> {
        with_key(self.blob.profile(), length, |key| match self.blob.filter().base_alone()? {
            AnyFilter::Counting(filter) => Ok(filter.count(key)),
            other => Err(wrong_kind(other)),
        })
    }

    /// Removes all keys.
    pub fn clear(&mut self) -> Result<()> {
        self.blob.filter_mut().base_mut()?.clear();
        Ok(())
    }

    /// Adds every key of another filter of the same shape.
    pub fn union(&mut self, other: &Filter) -> Result<()> {
        self.blob.combine(&other.blob, true)
    }

    /// Keeps the keys that are in both filters, which must have the same shape.
    pub fn intersect(&mut self, other: &Filter) -> Result<()> {
        self.blob.combine(&other.blob, false)
    }

    /// The Bloom filter of a counting filter's keys.
    #[wasm_bindgen(js_name = toBloom)]
    pub fn to_bloom(&self) -> Result<Filter> {
        match self.blob.filter().base_alone()? {
            AnyFilter::Counting(filter) => {
                let mut blob = Blob::new(self.blob.profile(), Stack::new(filter.to_bloom()?)?);
                blob.describe(self.blob.name().map(str::to_owned), self.blob.created_at())?;
                Filter::new(blob)
            }
            other => Err(wrong_kind(other)),
        }
    }

    /// The positions of the bits of the key in the first `length` bytes of the scratch, in a Bloom filter.
    pub fn locations(&self, length: usize) -> Result<Array> {
        with_key(self.blob.profile(), length, |key| match self.blob.filter().base() {
            AnyFilter::Bloom(filter) => Ok(filter.locations(key).map(JsValue::from).collect()),
            other => Err(wrong_kind(other)),
        })
    }
}

fn wrong_kind(filter: &AnyFilter) -> Error {
    Error::WrongKind { kind: filter.name() }
}

/// Calls `run` with the key in the first `length` bytes of the scratch, which is read like a line of a list.
fn with_key<T>(profile: Profile, length: usize, run: impl FnOnce(&[u8]) -> Result<T>) -> Result<T> {
    match profile {
        Profile::Raw => scratch::with(length, run),
        // Run on a copy, because the runtime is called meanwhile.
        _ => run(&only_key(profile, &scratch::with(length, copied)?)?),
    }
}

/// The error for a blank line, or a comment.
const NO_KEY: Error = Error::InvalidKey { reason: "this gives no key" };

fn no_key(skip: Skip) -> Error {
    Error::InvalidKey { reason: skip.words() }
}

/// The one key in a line.
fn only_key(profile: Profile, line: &[u8]) -> Result<Vec<u8>> {
    let mut key = None;
    Rules::from(profile).read(&Runtime, line, &mut |input| {
        let input = input.map_err(no_key)?;
        match key.replace(copied(input.own())?) {
            None => Ok(()),
            Some(_) => Err(Error::InvalidKey { reason: "this gives several keys, not one" }),
        }
    })?;
    key.ok_or(NO_KEY)
}

/// A batch of keys on their way into a filter, and of allowed keys if there are any. Each takes 8 bytes, however long
/// it is.
#[wasm_bindgen]
pub struct DigestList {
    hashing: Hashing,
    rules: Rules,
    options: KindOptions,
    fpr: f64,
    name: Option<String>,
    created_at: Option<u64>,
    members: Vec<u64>,
    /// The complete lists with a tag, by their names.
    tagged: Vec<(String, Vec<u64>)>,
    /// All members, once their lists are complete.
    tags: Option<Tagged>,
    allowlist: Option<Allowlist>,
    allowed: Option<Vec<u64>>,
    /// Whether a line that gives no key is an error.
    strict: bool,
}

impl DigestList {
    /// Takes the keys in a line of a text, or in a line that is a whole input.
    fn read(&mut self, line: &[u8], of_text: bool, skipped: &mut Skipped) -> Result<()> {
        let DigestList { hashing, rules, members, allowlist, strict, .. } = self;
        let index = skipped.read;
        skipped.read += 1;
        let mut is_comment = true;
        let take = &mut |input: Result<Input, Skip>| {
            is_comment = false;
            match (input, &mut *allowlist) {
                (Ok(input), None) => push(members, hashing.digest(input.own())),
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

    fn with(kind: Kind, profile: Profile, hashing: Hashing) -> Result<DigestList> {
        headroom()?;
        Ok(DigestList {
            hashing,
            rules: profile.into(),
            options: kind.into(),
            fpr: hashing.build_fpr(profile, profile.default_fpr()),
            name: None,
            created_at: None,
            members: Vec::new(),
            tagged: Vec::new(),
            tags: None,
            allowlist: None,
            allowed: None,
            strict: false,
        })
    }
}

#[wasm_bindgen]
impl DigestList {
    /// An empty batch, for building a filter of this kind; a keyed one if there is a secret.
    #[wasm_bindgen(constructor)]
    pub fn new(
        kind: &JsString,
        profile: &JsString,
        lowercase: bool,
        sha1: bool,
        seed: u64,
        secret: Option<Uint8Array>,
    ) -> Result<DigestList> {
        let kind = Kind::from_name(&name(kind)?).ok_or(Error::rule("there is no such kind"))?;
        let rule = "profile must be raw, url or password; lowercase and sha1 need password";
        let profile = Profile::from_name(&name(profile)?, lowercase, sha1).ok_or(Error::rule(rule))?;
        let hashing = match super::secret(secret)? {
            Some(secret) => Hashing::keyed(&secret, seed),
            None => seed.into(),
        };
        Self::with(kind, profile, hashing.for_filter(profile, kind))
    }

    /// An empty batch, for adding keys to a filter. A line that gives no key is an error.
    pub fn of(filter: &Filter) -> Result<DigestList> {
        let stack = filter.blob.filter();
        let digests = Self::with(stack.base().kind(), filter.blob.profile(), *stack.hashing())?;
        Ok(DigestList { strict: true, ..digests })
    }

    /// Sets an option that is a number, by its name in JavaScript. A kind or profile ignores the options of others.
    pub fn set(&mut self, option: &JsString, number: f64) -> Result<()> {
        let DigestList { rules, options, .. } = self;
        match name(option)?.as_str() {
            "fpr" => self.fpr = self.hashing.build_fpr(rules.profile, number),
            "counterBits" => options.counter_bits = whole(number, "counterBits must be 4 or 8")?,
            "initialCapacity" => options.initial_capacity = whole(number, INITIAL_CAPACITY)?,
            "growth" => options.growth = whole(number, "growth must be a whole number from 1 to 16")?,
            "tightening" => options.tightening = number,
            "minLength" => rules.min_length = whole(number, "minLength must be a whole number, 0 or more")?,
            "minCount" => rules.min_count = whole(number, "minCount must be a whole number, 0 or more")?,
            _ => return Err(Error::rule("there is no such option")),
        }
        Ok(())
    }

    /// Fails if no filter can be built with these options, before any key is read.
    pub fn validate(&self) -> Result<()> {
        self.rules.validate()?;
        Stack::build(self.options, &mut Vec::new(), None, self.fpr, self.hashing).map(|_| ())
    }

    /// An empty Bloom or counting filter of this shape.
    pub fn empty(&self, bits: f64, hashes: f64) -> Result<Filter> {
        let (bits, hashes) = (whole(bits, params::BITS)?, whole(hashes, params::HASHES)?);
        let filter = match self.options.kind {
            Kind::Bloom => BloomFilter::new(bits, hashes, self.hashing)?.into(),
            Kind::Counting => {
                CountingBloomFilter::new(bits, hashes, self.options.counter_bits, self.hashing)?.into()
            }
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
        (self.name, self.created_at) = (name, created_at);
        Ok(())
    }

    /// Takes the `count` lines in the first `length` bytes of the scratch, which begin with the lines' lengths (u32,
    /// little-endian). Returns those that give no key, as `{ index, line, reason }`.
    #[wasm_bindgen(js_name = pushKeys)]
    pub fn push_keys(&mut self, count: usize, length: usize) -> Result<Array> {
        // A copy, because the runtime may be called meanwhile.
        let text = scratch::with(length, copied)?;
        let mut skipped = Skipped::default();
        scratch::keys(&text, count).try_for_each(|line| self.read(line, false, &mut skipped))?;
        Ok(skipped.lines)
    }

    /// Like `pushKeys`, for each line of a UTF-8 text that isn't blank. Lines that are too long are skipped.
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
        push(&mut self.tagged, (tag, std::mem::take(&mut self.members)))
    }

    /// Ends the lists of members with tags. The members since the last list have none.
    #[wasm_bindgen(js_name = endTags)]
    pub fn end_tags(&mut self) -> Result<()> {
        let tags = Tagged::new(std::mem::take(&mut self.tagged), std::mem::take(&mut self.members))?;
        self.members = copied(tags.digests())?;
        self.tags = Some(tags);
        Ok(())
    }

    /// Ends the list of members. The keys that follow are allowed keys. With `wins`, a key that is in both lists is
    /// removed from the members.
    pub fn allow(&mut self, wins: bool) -> Result<()> {
        sort(&mut self.members)?;
        // The minimum length and count don't apply to allowed keys.
        self.rules = self.rules.profile.into();
        self.allowlist = Some(Allowlist::new(self.hashing, wins));
        Ok(())
    }

    /// Ends the list of allowed keys. If allowed keys win, removes the keys in both lists from the members. Returns all
    /// keys in both lists, as `{ key, removed }`.
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
        self.allowlist.as_ref().map_or(self.members.is_empty(), Allowlist::is_empty)
    }

    /// Builds the filter. The keys are used up.
    pub fn build(&mut self) -> Result<Filter> {
        let (mut members, allowed) = (std::mem::take(&mut self.members), self.allowed.take());
        let stack = match self.tags.take() {
            None => Stack::build(self.options, &mut members, allowed.as_deref(), self.fpr, self.hashing)?,
            Some(mut tags) => {
                tags.keep(&members)?;
                Stack::build_tagged(&tags, allowed.as_deref(), self.fpr, self.hashing)?
            }
        };
        let mut blob = Blob::new(self.rules.profile, stack);
        blob.describe(self.name.take(), self.created_at)?;
        Filter::new(blob)
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

/// The smallest Bloom filter that holds `count` keys at a rate of `fpr`: its bits, hashes and bytes.
#[wasm_bindgen]
pub fn optimal(count: f64, fpr: f64) -> Result<JsValue> {
    serialize(&params::optimal(whole(count, COUNT)?, fpr)?)
}

/// The false-positive rate of a Bloom filter with `count` keys.
#[wasm_bindgen(js_name = fprFor)]
pub fn fpr_for(count: f64, bits: f64, hashes: f64) -> Result<f64> {
    let (bits, hashes) = (whole(bits, params::BITS)?, whole(hashes, params::HASHES)?);
    params::fpr_for(whole(count, COUNT)?, bits, hashes)
}

/// The largest number of keys for which a Bloom filter needs no more than `bits` bits at a rate of `fpr`.
#[wasm_bindgen(js_name = countFor)]
pub fn count_for(bits: f64, fpr: f64) -> Result<f64> {
    Ok(params::count_for(whole(bits, params::BITS)?, fpr)? as f64)
}
