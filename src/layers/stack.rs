//! Queries of a filter and its layers.

use std::sync::Arc;

use super::layer::{Layer, LayerKind};
use super::tags::{Names, RULE, Tagging, Tags};
use crate::batch::{BATCH, Batch};
use crate::error::{Error, Result};
use crate::filters::{AnyFilter, RibbonFilter};
use crate::hash::Hashing;
use crate::slots::{self, SLOTS, Slots};
use crate::vectors::{append, copied, push, shared};

/// The largest number of layers in a stack.
pub(super) const MAX: usize = 255;
pub(super) const TOO_MANY: &str = "a filter has at most 255 layers; build a new base";

/// Whether a number is among those of [`Stack::tag_numbers`].
pub(super) fn has_number(numbers: &[u64; 4], number: usize) -> bool {
    numbers.get(number / 64).is_some_and(|bits| bits >> (number % 64) & 1 == 1)
}

pub(super) fn add_numbers(numbers: &mut [u64; 4], more: &[u8]) {
    for &number in more {
        numbers[usize::from(number / 64)] |= 1 << (number % 64);
    }
}

/// A filter and its layers.
///
/// ```
/// use bloom_wasm::hash::digest;
/// use bloom_wasm::layers::{Stack, Update};
/// use bloom_wasm::{BloomFilter, Error};
///
/// let mut base = BloomFilter::with_capacity(2, 0.01, 0)?;
/// base.add(b"old.example");
/// base.add(b"gone.example");
/// let mut stack = Stack::from(base);
/// let [old, gone, new] = [&b"old.example"[..], b"gone.example", b"new.example"].map(|key| digest(0, key));
/// stack.update(Update { live: &[old, new], removed: &[gone], allowed: &[], fpr: 1e-6 })?;
/// assert!(stack.has(b"old.example") && stack.has(b"new.example") && !stack.has(b"gone.example"));
/// # Ok::<(), Error>(())
/// ```
///
/// A clone shares the bytes of the base and of the layers, until one of the two changes its base.
#[derive(Debug, Clone, PartialEq)]
pub struct Stack {
    pub(super) base: Arc<AnyFilter>,
    pub(super) layers: Vec<Arc<Layer>>,
    /// The number of live members. Its presence makes the stack read-only: there are layers, or was an update that needed
    /// none. Absent for a ribbon filter as it was built.
    pub(super) count: Option<u32>,
    /// The tags besides those of the includes, if the filter has tags.
    pub(super) tagging: Option<Tagging>,
}

impl<F: Into<AnyFilter>> From<F> for Stack {
    fn from(base: F) -> Self {
        Stack { base: Arc::new(base.into()), layers: Vec::new(), count: None, tagging: None }
    }
}

impl Stack {
    /// A filter without layers. Unlike `from`, it fails without the memory for it.
    pub(crate) fn new(base: impl Into<AnyFilter>) -> Result<Self> {
        Self::from_parts(base.into(), Vec::new(), None)
    }

    /// A stack of stored parts, the oldest layer first. `count` is the number of live members, which must be given with
    /// layers.
    pub(crate) fn from_parts(base: AnyFilter, layers: Vec<Arc<Layer>>, count: Option<u32>) -> Result<Self> {
        debug_assert!(layers.is_empty() || count.is_some(), "layers without a number of members");
        Ok(Stack { base: shared(base)?, count, layers, tagging: None })
    }

    /// The same with tags.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] as [`Stack::require_tags`]; [`Error::TooLarge`] without the memory.
    pub(crate) fn tagged(mut self, tagging: Tagging) -> Result<Self> {
        self.tagging = Some(tagging);
        self.require_tags()?;
        Ok(self)
    }

    /// The same with these numbers of members with each tag.
    pub(crate) fn counting(mut self, counts: &[u32]) -> Result<Self> {
        if let Some(tagging) = &mut self.tagging {
            tagging.counts = copied(counts)?;
        }
        Ok(self)
    }

    /// Fails unless the names of all parts differ, and those that each part needs are known. Those of a delta are
    /// unknown until it is applied. Names that are stored elsewhere aren't compared: a shard has no others.
    pub(crate) fn require_tags(&self) -> Result<()> {
        let Some(tagging) = self.tagging.as_ref().filter(|tagging| tagging.base.is_some()) else {
            return Ok(());
        };
        let mut names = Names::default();
        let known = |names: &Names| tagging.elsewhere.len() + names.len();
        for tags in self.tags_of_parts() {
            names.append(tags.all_names())?;
            Error::unless(tags.is_below(known(&names)), RULE)?;
        }
        Error::unless(
            tagging.counts.len() <= known(&names),
            "a filter can't have more numbers of members than tags",
        )
    }

    /// The tags of the base and of each include, from the base on.
    fn tags_of_parts(&self) -> impl Iterator<Item = &Tags> {
        self.base_tags().into_iter().chain(self.layers.iter().filter_map(|layer| layer.tags()))
    }

    /// A stack that shares the base and the layers of this one, and has more layers on top. `count` is the number of
    /// its live members, if the base doesn't tell.
    ///
    /// # Errors
    /// [`Error::WrongKind`] over a foreign filter; [`Error::InvalidParameter`] with more than 255 layers;
    /// [`Error::TooLarge`] without the memory.
    pub(crate) fn with_layers(&self, more: &[Arc<Layer>], count: Option<u32>) -> Result<Self> {
        if count.is_some() {
            self.require_digests()?;
        }
        let mut layers = Vec::new();
        for layer in self.layers.iter().chain(more) {
            push(&mut layers, layer.clone())?;
        }
        Error::unless(layers.len() <= MAX, TOO_MANY)?;
        let mut tagging = None;
        if let Some(old) = &self.tagging {
            tagging = Some(Tagging {
                elsewhere: old.elsewhere.clone(),
                base: old.base.clone(),
                counts: copied(&old.counts)?,
            });
        }
        Ok(Stack { base: self.base.clone(), layers, count, tagging })
    }

    /// The layers on top of those of another stack that has the same base and, above it, the same layers; none if this
    /// isn't so.
    pub(crate) fn layers_over(&self, below: &Self) -> Option<&[Arc<Layer>]> {
        let is_tagged = self.is_tagged() == below.is_tagged();
        if self.base != below.base || !is_tagged || self.base_tags() != below.base_tags() {
            return None;
        }
        self.layers.strip_prefix(&below.layers[..])
    }

    /// Fails over a foreign filter, which knows no digests.
    pub(super) fn require_digests(&self) -> Result<()> {
        match *self.base {
            AnyFilter::Foreign(_) => Err(Error::WrongKind { kind: self.base.name() }),
            _ => Ok(()),
        }
    }

    /// The filter under all layers.
    pub fn base(&self) -> &AnyFilter {
        &self.base
    }

    /// The base, if there are no layers over it and its members are those that it was built with.
    ///
    /// # Errors
    /// [`Error::Layered`] if there are layers, or if there was an update or an allowlist that needed none.
    pub fn base_alone(&self) -> Result<&AnyFilter> {
        if self.count.is_none() { Ok(&self.base) } else { Err(Error::Layered) }
    }

    /// The base, to change it. If another stack shares it, this one has a copy from now on.
    ///
    /// # Errors
    /// As [`Stack::base_alone`]: layers were built for the base as it is. For a base that is shared,
    /// [`Error::TooLarge`] without the memory, and [`Error::WrongKind`] if its kind is read-only.
    pub fn base_mut(&mut self) -> Result<&mut AnyFilter> {
        self.base_alone()?;
        if Arc::get_mut(&mut self.base).is_none() {
            self.base = shared(self.base.try_clone()?)?;
        }
        Ok(Arc::get_mut(&mut self.base).expect("no other stack has it yet"))
    }

    /// The layers, the oldest first.
    pub fn layers(&self) -> &[Arc<Layer>] {
        &self.layers
    }

    /// The number of live members, if the base doesn't know it; always present if there are layers.
    pub(crate) fn layered_count(&self) -> Option<u32> {
        self.count
    }

    /// What tells stacks apart that share their base: clones, of which none was changed. 0 if nobody shares it.
    #[allow(dead_code)] // only src/wasm/ needs it
    pub(crate) fn sharing(&self) -> usize {
        if Arc::strong_count(&self.base) > 1 { Arc::as_ptr(&self.base).addr() } else { 0 }
    }

    /// The base, to give it its bytes, while nobody shares it.
    pub(crate) fn unshared_base(&mut self) -> &mut AnyFilter {
        Arc::get_mut(&mut self.base).expect("not shared yet")
    }

    /// Hands all ribbon filters over the base to `run`, in the order of a blob: those of its tags, and those of the layers
    /// and their tags.
    // No iterator, which would be copied into each caller.
    pub(crate) fn each_level<'a>(
        &'a self,
        run: &mut dyn FnMut(&'a RibbonFilter) -> Result<()>,
    ) -> Result<()> {
        let base = self.base_tags().map_or(&[][..], Tags::levels);
        base.iter().try_for_each(&mut *run)?;
        for layer in &self.layers {
            layer.levels().iter().try_for_each(&mut *run)?;
            layer.tags().map_or(&[][..], Tags::levels).iter().try_for_each(&mut *run)?;
        }
        Ok(())
    }

    /// As [`Stack::each_level`], to give them their bytes. Nobody shares them yet.
    pub(crate) fn levels_mut(&mut self) -> impl Iterator<Item = &mut RibbonFilter> {
        fn unshared<T>(part: &mut Arc<T>) -> &mut T {
            Arc::get_mut(part).expect("not shared yet")
        }
        let base = self.tagging.as_mut().and_then(|tagging| tagging.base.as_mut()).map(unshared);
        let layers = self.layers.iter_mut().map(unshared).flat_map(Layer::levels_mut);
        base.into_iter().flat_map(Tags::levels_mut).chain(layers)
    }

    /// The tags besides those of the includes, if the filter has tags.
    pub(crate) fn tagging(&self) -> Option<&Tagging> {
        self.tagging.as_ref()
    }

    /// The tags of the members of the base, if the filter has tags.
    pub fn base_tags(&self) -> Option<&Tags> {
        self.tagging.as_ref().and_then(|tagging| tagging.base.as_deref())
    }

    /// Whether the filter knows which tags its members have.
    pub fn is_tagged(&self) -> bool {
        self.tagging.is_some()
    }

    /// The names of all tags, by their numbers.
    pub fn tag_names(&self) -> impl Iterator<Item = &str> {
        (0..).map_while(|number| self.tag_name(number))
    }

    /// The name of the tag of this number, if there is one.
    #[cfg_attr(target_arch = "wasm32", inline(never))]
    fn tag_name(&self, mut number: usize) -> Option<&str> {
        let elsewhere = self.tagging.as_ref().map(|tagging| &*tagging.elsewhere);
        for names in elsewhere.into_iter().chain(self.tags_of_parts().map(Tags::all_names)) {
            if number < names.len() {
                return Some(names.get(number));
            }
            number -= names.len();
        }
        None
    }

    /// How many members have each tag, by its number; none where the blob doesn't say.
    pub fn tag_counts(&self) -> impl Iterator<Item = (&str, Option<u32>)> {
        let count = |number| self.tagging.as_ref().and_then(|tagging| tagging.counts.get(number)).copied();
        self.tag_names().enumerate().map(move |(number, name)| (name, count(number)))
    }

    /// The tags of a key. A member has exactly its own, and a key that is definitely absent has none. Any other key
    /// that is maybe present gets some set of tags that occurs.
    ///
    /// # Errors
    /// [`Error::WrongKind`] for a filter without tags; [`Error::TooLarge`] without the memory.
    pub fn tags(&self, key: &[u8]) -> Result<Vec<&str>> {
        self.tags_of_all(std::iter::once(self.hashing().digest(key)))
    }

    /// The tags that any of these keys has, such as those of a URL: digests under [`Stack::hashing`]. Each tag once, in
    /// the order of its number.
    ///
    /// # Errors
    /// As [`Stack::tags`].
    pub fn tags_of_all(&self, digests: impl IntoIterator<Item = u64>) -> Result<Vec<&str>> {
        let numbers = self.tag_numbers(digests)?;
        let mut names = Vec::new();
        self.names_of(&numbers).try_for_each(|name| push(&mut names, name))?;
        Ok(names)
    }

    /// The names of the tags with these numbers.
    pub(crate) fn names_of(&self, numbers: &[u64; 4]) -> impl Iterator<Item = &str> {
        self.tag_names().enumerate().filter(|(number, _)| has_number(numbers, *number)).map(|(_, name)| name)
    }

    /// The numbers of the tags that any of these keys has, a bit each.
    ///
    /// # Errors
    /// [`Error::WrongKind`] for a filter without tags.
    fn tag_numbers(&self, digests: impl IntoIterator<Item = u64>) -> Result<[u64; 4]> {
        self.require_tagged()?;
        let mut numbers = [0; 4];
        for (_, tags, set) in digests.into_iter().filter_map(|digest| self.set_of(digest)) {
            add_numbers(&mut numbers, tags.all_sets().get(set));
        }
        Ok(numbers)
    }

    /// Adds the numbers of the tags in a set of a part, as [`Stack::set_of`] gives them.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] if there is no such set.
    #[allow(dead_code)] // only src/wasm/ needs it
    pub(crate) fn add_tag_numbers(&self, numbers: &mut [u64; 4], part: usize, set: usize) -> Result<()> {
        let tags = match part.checked_sub(1) {
            None => self.base_tags(),
            Some(layer) => self.layers.get(layer).and_then(|layer| layer.tags()),
        };
        let tags =
            tags.filter(|tags| set < tags.sets()).ok_or(Error::rule("there is no such set of tags"))?;
        add_numbers(numbers, tags.all_sets().get(set));
        Ok(())
    }

    /// Fails for a filter without tags.
    pub(crate) fn require_tagged(&self) -> Result<()> {
        let kind = match &*self.base {
            _ if self.is_tagged() => return Ok(()),
            AnyFilter::Ribbon(_) => "ribbon without tags",
            base => base.name(),
        };
        Err(Error::WrongKind { kind })
    }

    /// Where the tags of a key that is maybe present are: the number of the part, 0 for the base and from 1 on for the
    /// layers, and the place of the set there. None if the key is absent, or the filter has no tags.
    // One copy in the wasm.
    #[cfg_attr(target_arch = "wasm32", inline(never))]
    pub(crate) fn set_of(&self, digest: u64) -> Option<(usize, &Tags, usize)> {
        for (number, layer) in self.layers.iter().enumerate().rev() {
            if layer.hits(digest) {
                let tags = layer.tags()?;
                return Some((number + 1, tags, tags.set_of(digest)));
            }
        }
        let tags = self.base_tags()?;
        self.base.has_digest(digest).then(|| (0, tags, tags.set_of(digest)))
    }

    /// The numbers of the tags of a key that is maybe present; none if it is absent.
    pub(super) fn numbers_of(&self, digest: u64) -> Option<&[u8]> {
        self.set_of(digest).map(|(_, tags, set)| tags.all_sets().get(set))
    }

    /// How keys become digests.
    #[inline]
    pub fn hashing(&self) -> &Hashing {
        self.base.hashing()
    }

    /// True = maybe present, false = definitely absent.
    #[inline]
    pub fn has(&self, key: &[u8]) -> bool {
        // A foreign filter, which knows no digests, never has layers.
        if self.layers.is_empty() { self.base.has(key) } else { self.has_digest(self.hashing().digest(key)) }
    }

    /// Like [`Stack::has`], for a key's digest under [`Stack::hashing`].
    #[inline]
    pub fn has_digest(&self, digest: u64) -> bool {
        let base = self.base.has_digest(digest);
        if self.layers.is_empty() { base } else { self.through_layers(digest, base) }
    }

    /// The slots of the keys that can be present; all slots, unless digests have slots.
    pub fn slots(&self) -> Slots {
        let base = match &*self.base {
            AnyFilter::Ribbon(ribbon) => ribbon.slots(),
            _ => return Slots::ANY,
        };
        let includes = self.layers.iter().filter(|layer| layer.kind() == LayerKind::Include);
        includes.fold(base, |slots, layer| slots.union(layer.slots()))
    }

    /// Like [`Stack::has`], for a key of URLs whose slot is known, as
    /// [`Canonical::expressions_in`](crate::keys::url::Canonical::expressions_in) gives them for [`Stack::slots`]: this
    /// is how to look up a URL without hashing keys that can't be there.
    #[inline]
    pub fn has_in(&self, slot: u32, key: &[u8]) -> bool {
        match &*self.base {
            AnyFilter::Foreign(filter) => filter.has(key),
            // Like the last arm, with fewer steps: nearly all lists of URLs are ribbon filters.
            AnyFilter::Ribbon(filter) => {
                let digest = filter.hashing().digest_in(key, slot);
                self.through_layers(digest, filter.has_digest(digest))
            }
            _ => self.has_digest(self.hashing().digest_in(key, slot)),
        }
    }

    /// What the layers make of the base's answer. The newest layer that the digest hits decides. So if it hits no layer
    /// that disagrees with the base, the others needn't be consulted; of an update's two layers, that is one.
    #[inline(always)] // as `Layer::hits`
    fn through_layers(&self, digest: u64, base: bool) -> bool {
        let newest_hit = |layers: &[Arc<Layer>], answer: bool| {
            layers.iter().rposition(|layer| layer.answer() == answer && layer.hits(digest))
        };
        match newest_hit(&self.layers, !base) {
            Some(place) if newest_hit(&self.layers[place + 1..], base).is_none() => !base,
            _ => base,
        }
    }

    /// As [`Stack::has`], for many keys: an answer for each, in their order. This is up to one and a half times as fast
    /// as looking them up one by one.
    ///
    /// # Errors
    /// [`Error::TooLarge`] without the memory for the answers.
    ///
    /// ```
    /// # use bloom_wasm::{BloomFilter, layers::Stack};
    /// let mut seen = BloomFilter::with_capacity(1_000, 0.001, 0)?;
    /// seen.add(b"first");
    /// let seen = Stack::from(seen);
    /// assert_eq!(seen.has_many(["first", "other"])?, [true, false]);
    /// # Ok::<(), bloom_wasm::Error>(())
    /// ```
    pub fn has_many<K: AsRef<[u8]>>(&self, keys: impl IntoIterator<Item = K>) -> Result<Vec<bool>> {
        let mut answers = Vec::new();
        self.has_each(keys.into_iter().map(Some), &mut answers)?;
        Ok(answers.into_iter().map(|answer| answer == 1).collect())
    }

    /// As [`Stack::has_many`], for digests of keys under [`Stack::hashing`].
    ///
    /// # Errors
    /// As [`Stack::has_many`].
    pub fn has_many_digests(&self, digests: &[u64]) -> Result<Vec<bool>> {
        let mut all = Vec::new();
        for batch in digests.chunks(BATCH) {
            append(&mut all, &self.has_batch(batch)[..batch.len()])?;
        }
        Ok(all)
    }

    /// Appends an answer for each key: 1 = maybe present, 0 = definitely absent or no key.
    #[inline]
    pub(crate) fn has_each<K: AsRef<[u8]>>(
        &self,
        mut keys: impl Iterator<Item = Option<K>>,
        answers: &mut Vec<u8>,
    ) -> Result<()> {
        if let AnyFilter::Foreign(filter) = &*self.base {
            // It hashes keys its own way.
            return keys
                .try_for_each(|key| push(answers, key.is_some_and(|key| filter.has(key.as_ref())).into()));
        }
        let hashing = self.hashing();
        let mut batch = Batch::new();
        for key in keys {
            batch.push(key.map(|key| hashing.digest(key.as_ref())));
            if batch.is_full() {
                self.ask(&mut batch, answers)?;
            }
        }
        self.ask(&mut batch, answers)
    }

    // One copy in the wasm.
    #[cfg_attr(target_arch = "wasm32", inline(never))]
    fn ask(&self, batch: &mut Batch, answers: &mut Vec<u8>) -> Result<()> {
        batch.ask(|digests| self.has_batch(digests), answers)
    }

    /// The answers for up to [`BATCH`] digests; the answers after those mean nothing.
    fn has_batch(&self, digests: &[u64]) -> [bool; BATCH] {
        let mut answers = self.base.has_batch(digests);
        if !self.layers.is_empty() {
            for (answer, &digest) in answers.iter_mut().zip(digests) {
                *answer = self.through_layers(digest, *answer);
            }
        }
        answers
    }

    /// The chance that a key which was neither added nor removed nor allowed is "maybe present". If digests have slots,
    /// it is that of a key which can be present, as URLs ask for them.
    pub fn estimated_fpr(&self) -> f64 {
        let slots = self.slots();
        if !self.hashing().is_slotted() || slots.is_empty() {
            return self.rate(|_| true);
        }
        self.typical_rate() / slots.weight()
    }

    /// The rate of keys that are looked up only in parts whose slots pass the test.
    fn rate(&self, asks: impl Fn(Slots) -> bool) -> f64 {
        let base = match &*self.base {
            AnyFilter::Ribbon(ribbon) if !asks(ribbon.slots()) => 0.0,
            base => base.estimated_fpr(),
        };
        self.layers.iter().filter(|layer| asks(layer.slots())).fold(base, |below, layer| {
            let (hit, include) = (layer.hit_rate(), layer.kind() == LayerKind::Include);
            hit * f64::from(u8::from(include)) + (1.0 - hit) * below
        })
    }

    /// The chance that a typical URL which isn't on the list is "maybe present", for a filter of URLs: the rate of each
    /// [slot](slots), times the chance that a check asks for it.
    pub fn url_fpr(&self) -> f64 {
        self.typical_rate().min(1.0)
    }

    fn typical_rate(&self) -> f64 {
        self.rates().map(|(slot, rate)| rate * slots::weight(slot)).sum()
    }

    /// The highest such chance of any URL that a browser opens, for a filter of URLs: the rate of all slots together. A
    /// URL with a second reading has up to twice that.
    pub fn max_url_fpr(&self) -> f64 {
        self.rates().map(|(_, rate)| rate).sum::<f64>().min(1.0)
    }

    /// The rate of each slot.
    fn rates(&self) -> impl Iterator<Item = (u32, f64)> {
        (0..SLOTS as u32).map(|slot| (slot, self.rate(|slots| slots.has(slot))))
    }

    /// The include that holds the second group of a list of URLs that was built in two groups; or that of an update, if
    /// it has no slot in common with the base. Such a filter is described as one.
    pub(crate) fn second_group(&self) -> Option<&Layer> {
        let AnyFilter::Ribbon(base) = &*self.base else { return None };
        let first = self.layers.first().filter(|layer| layer.kind() == LayerKind::Include)?;
        first.slots().is_disjoint(base.slots()).then_some(first)
    }

    /// The number of live members, if it is known: always after an update, otherwise like [`AnyFilter::count`].
    pub fn count(&self) -> Option<u64> {
        self.count.map(u64::from).or_else(|| self.base.count())
    }

    /// [`Stack::count`], or the estimate of [`AnyFilter::estimated_count`] if that is unknown.
    pub fn estimated_count(&self) -> f64 {
        self.count.map_or_else(|| self.base.estimated_count(), f64::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filters::BloomFilter;

    /// Blank lines keep their place, also where a batch begins or ends, and aren't looked up as the empty key.
    #[test]
    fn no_key_is_no() {
        let mut filter = BloomFilter::with_capacity(10, 1e-9, 0).unwrap();
        filter.add(b"");
        filter.add(b"member");
        // A blank line has this digest.
        filter.add_digest(0);
        let stack = Stack::from(filter);
        for length in [1, 2, 255, 256, 257, 511, 512, 513] {
            for blank in [0, 1, 254, 255, 256, 257, 510, 511, 512] {
                let keys = (0..length).map(|i| (i != blank).then_some(["member", "", "other"][i % 3]));
                let expected: Vec<u8> = (0..length).map(|i| (i != blank && i % 3 < 2).into()).collect();
                let mut answers = Vec::new();
                stack.has_each(keys, &mut answers).unwrap();
                assert_eq!(answers, expected, "{length} keys, none at {blank}");
            }
        }
    }
}
