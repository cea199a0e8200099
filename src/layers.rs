//! Layers over a filter: what changed after it was built, and keys that must never be a "maybe". The base and its
//! layers are a [`Stack`]. Of the layers that a key hits, the newest decides; without one, the base does.
//!
//! An *include* is a ribbon filter of added keys. A key that hits it is maybe present.
//!
//! An *exclude* separates two sets without a mistake: the keys that must be absent, and all live members. Level 0 is a
//! ribbon filter of the excluded keys. If live keys are false positives of it, level 1 is one of those, which was also
//! built to miss every excluded key. A key that passes level 0 and misses level 1 is excluded.
//!
//! Keys here are digests: a removed key whose digest is also a live key's digest is live.

use std::sync::Arc;

use crate::batch::{BATCH, Batch};
use crate::digests::{distinct, select, sort, strangers};
use crate::error::{Error, Result};
use crate::filters::{Filter, RibbonFilter, require_fpr};
use crate::hash::{GOLDEN, Hashing, MULTIPLIER};
use crate::kind::{Kind, Recipe};
use crate::params::require_rate;
use crate::slots::{self, Group, SLOTS, Slots};
use crate::vectors::{append, copied, push, shared};

/// The largest number of layers in a stack.
const MAX: usize = 255;
/// How far the salts of two layers are apart. Each level takes one.
const SALTS: u32 = 256;
const TOO_MANY_KEYS: Error = Error::rule("a filter with layers holds fewer than 2^32 keys");
const TOO_MANY: &str = "a filter has at most 255 layers; build a new base";

/// What a layer does with the keys that it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LayerKind {
    /// They are maybe present.
    Include = 1,
    /// They are absent.
    Exclude = 2,
}

/// One layer over a base.
#[derive(Debug, Clone, PartialEq)]
pub struct Layer {
    kind: LayerKind,
    salt: u32,
    fpr: f64,
    /// The slots of the keys that it includes or excludes; any, unless digests have slots.
    slots: Slots,
    levels: Vec<RibbonFilter>,
}

impl Layer {
    /// A layer of stored levels, with the rates of [`level_fpr`].
    pub(crate) fn from_parts(
        kind: LayerKind,
        salt: u32,
        fpr: f64,
        slots: Slots,
        levels: Vec<RibbonFilter>,
    ) -> Result<Self> {
        let most = if kind == LayerKind::Include { 1 } else { 2 };
        if levels.is_empty() || levels.len() > most || levels.iter().any(|level| level.count() == 0) {
            let rule = "an include must have 1 level and an exclude 1 or 2, none of them empty";
            return Err(Error::rule(rule));
        }
        Ok(Layer { kind, salt, fpr, slots, levels })
    }

    /// What the layer does.
    pub fn kind(&self) -> LayerKind {
        self.kind
    }

    /// The salt of level 0; each further level has the next one.
    pub fn salt(&self) -> u32 {
        self.salt
    }

    /// The rate of level 0; every further level has 1/2.
    pub fn fpr(&self) -> f64 {
        self.fpr
    }

    /// The slots of the keys that it includes or excludes, if digests have slots. It isn't asked for other keys.
    pub fn slots(&self) -> Slots {
        self.slots
    }

    /// The levels: one in an include, one or two in an exclude.
    pub fn levels(&self) -> &[RibbonFilter] {
        &self.levels
    }

    pub(crate) fn levels_mut(&mut self) -> &mut [RibbonFilter] {
        &mut self.levels
    }

    /// What it says of a key that hits it.
    fn answer(&self) -> bool {
        self.kind == LayerKind::Include
    }

    /// Whether the layer decides about this key.
    fn hits(&self, digest: u64) -> bool {
        let mut levels = self.levels.iter();
        self.slots.holds(digest)
            && levels.next().is_some_and(|level| passes(level, digest, self.salt))
            && !levels.next().is_some_and(|level| passes(level, digest, self.salt.wrapping_add(1)))
    }

    /// The chance that the layer decides about an unknown key.
    fn hit_rate(&self) -> f64 {
        self.levels.iter().rev().fold(0.0, |next, level| level.estimated_fpr() * (1.0 - next))
    }
}

/// The rate of a level in a layer of this rate.
#[cfg_attr(target_arch = "wasm32", inline(never))]
pub(crate) fn level_fpr(fpr: f64, level: usize) -> f64 {
    if level == 0 { fpr } else { 0.5 }
}

/// The digest that a level with this salt uses. FORMAT.md section 7.
fn mix(digest: u64, salt: u32) -> u64 {
    let mut x = digest ^ u64::from(salt).wrapping_mul(GOLDEN);
    for multiplier in [MULTIPLIER, GOLDEN] {
        x = (x ^ x >> 32).wrapping_mul(multiplier);
    }
    x ^ x >> 32
}

fn passes(level: &RibbonFilter, digest: u64, salt: u32) -> bool {
    level.has_digest(mix(digest, salt))
}

/// What an update changes: digests under [`Stack::hashing`], in any order, repeated or not. There is no list of added
/// keys: a live key that the stack would deny is included.
#[derive(Debug, Clone, Copy)]
pub struct Update<'a> {
    /// All members after the update, whether the base, a layer or nothing yet holds them. A member that is missing here
    /// may get lost.
    pub live: &'a [u64],
    /// Keys that are no longer members. A live key stays.
    pub removed: &'a [u64],
    /// Keys that must be absent unless they are live. Later updates don't know them, so pass them each time.
    pub allowed: &'a [u64],
    /// The rate of the include, at least 2^-32 and below 1. It is also the chance that the include brings a removed key
    /// back. If digests have [slots], it is the rate of a whole check of a URL, and a key gets what [`slots::key_fpr`]
    /// makes of it.
    pub fpr: f64,
}

/// A filter and its layers.
///
/// ```
/// use bloom_wasm::hash::digest;
/// use bloom_wasm::{BloomFilter, Error, Stack, Update};
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
    base: Arc<Filter>,
    layers: Vec<Arc<Layer>>,
    /// The live members, known if there are layers.
    count: Option<u32>,
}

impl<F: Into<Filter>> From<F> for Stack {
    fn from(base: F) -> Self {
        Stack { base: Arc::new(base.into()), layers: Vec::new(), count: None }
    }
}

impl Stack {
    /// A filter without layers, which unlike `from` fails without the memory for it.
    pub(crate) fn new(base: impl Into<Filter>) -> Result<Self> {
        Self::from_parts(base.into(), Vec::new(), 0)
    }

    /// Builds a filter of the members, with a layer that excludes the allowed keys if there are any. Both lists hold
    /// digests, in any order, repeated or not. The members may be used up.
    ///
    /// If digests have [slots], `fpr` is the rate of a whole check of a URL, and the filter may be in two parts: a base
    /// and an include, for keys of different slots.
    ///
    /// # Errors
    /// Those of [`Filter::from_digests`] and [`Stack::update`].
    pub fn build(
        recipe: Recipe,
        members: &mut Vec<u64>,
        allowed: Option<&[u64]>,
        fpr: f64,
        hashing: impl Into<Hashing>,
    ) -> Result<Self> {
        let hashing = hashing.into();
        let make = |members: &mut Vec<u64>| match recipe.kind {
            Kind::Ribbon if hashing.is_slotted() => Self::of_slots(members, fpr, hashing),
            _ => Stack::new(Filter::from_digests(recipe, members, fpr, hashing)?),
        };
        let Some(allowed) = allowed else { return make(members) };
        sort(members)?;
        let mut stack = make(&mut copied(members)?)?;
        // There is nothing to include, so the rate of an include doesn't matter.
        stack.update(Update { live: members, removed: &[], allowed, fpr: 0.5 })?;
        Ok(stack)
    }

    /// A ribbon filter of digests that have slots, in the groups of [`slots::plan`].
    fn of_slots(members: &mut Vec<u64>, fpr: f64, hashing: Hashing) -> Result<Self> {
        slots::require_url_fpr(fpr)?;
        sort(members)?;
        let count = u32::try_from(members.len()).map_err(|_| TOO_MANY_KEYS)?;
        let mut counts = [0; SLOTS];
        for &digest in &*members {
            let count = counts.get_mut(slots::of(digest) as usize);
            *count.ok_or(slots::NO_SLOT)? += 1;
        }
        let (first, second) = slots::plan(&counts, fpr);
        // Digests have 5 bits less for the key.
        for group in [Some(first), second].into_iter().flatten() {
            require_rate(u64::from(count) << 5, group.fpr)?;
        }
        let Some(Group { slots, fpr }) = second else {
            return Stack::new(RibbonFilter::from_digests(members, first.fpr, hashing)?);
        };
        let mut group = select(members, &|digest| slots.holds(digest))?;
        members.retain(|&digest| first.slots.holds(digest));
        let mut stack = Stack::new(RibbonFilter::from_digests(members, first.fpr, hashing)?)?;
        stack.include(&mut group, fpr, slots)?;
        stack.count = Some(count);
        Ok(stack)
    }

    /// A stack of stored parts, the oldest layer first. `count` is the number of live members.
    pub(crate) fn from_parts(base: Filter, layers: Vec<Arc<Layer>>, count: u32) -> Result<Self> {
        Ok(Stack { base: shared(base)?, count: (!layers.is_empty()).then_some(count), layers })
    }

    /// A stack that shares the base and the layers of this one, and has more layers on top. `count` is the number of
    /// its live members, if there are layers.
    ///
    /// # Errors
    /// [`Error::WrongKind`] over a foreign filter; [`Error::InvalidParameter`] with more than 255 layers;
    /// [`Error::TooLarge`] without the memory.
    pub(crate) fn with_layers(&self, more: &[Arc<Layer>], count: Option<u32>) -> Result<Self> {
        if !more.is_empty() {
            self.require_digests()?;
        }
        let mut layers = Vec::new();
        for layer in self.layers.iter().chain(more) {
            push(&mut layers, layer.clone())?;
        }
        Error::unless(layers.len() <= MAX, TOO_MANY)?;
        let count = count.filter(|_| !layers.is_empty());
        Ok(Stack { base: self.base.clone(), layers, count })
    }

    /// The layers on top of those of another stack that has the same base and, above it, the same layers; none if this
    /// isn't so.
    pub(crate) fn layers_over(&self, below: &Self) -> Option<&[Arc<Layer>]> {
        if self.base != below.base {
            return None;
        }
        self.layers.strip_prefix(&below.layers[..])
    }

    /// Fails over a foreign filter, which knows no digests.
    fn require_digests(&self) -> Result<()> {
        match *self.base {
            Filter::Foreign(_) => Err(Error::WrongKind { kind: self.base.name() }),
            _ => Ok(()),
        }
    }

    /// The filter under all layers.
    pub fn base(&self) -> &Filter {
        &self.base
    }

    /// The base, if there are no layers over it.
    ///
    /// # Errors
    /// [`Error::Layered`] if there are layers.
    pub fn base_alone(&self) -> Result<&Filter> {
        if self.layers.is_empty() { Ok(&self.base) } else { Err(Error::Layered) }
    }

    /// The base, to change it. If another stack shares it, this one has a copy from now on.
    ///
    /// # Errors
    /// [`Error::Layered`] if there are layers: they were built for the base as it is. For a base that is shared,
    /// [`Error::TooLarge`] without the memory, and [`Error::WrongKind`] if its kind is read-only.
    pub fn base_mut(&mut self) -> Result<&mut Filter> {
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

    /// The number of live members, if there are layers.
    pub(crate) fn layered_count(&self) -> Option<u32> {
        self.count
    }

    /// The base and the layers, to give them their bytes, while nobody shares them.
    pub(crate) fn parts_mut(&mut self) -> (&mut Filter, &mut [Arc<Layer>]) {
        (Arc::get_mut(&mut self.base).expect("not shared yet"), &mut self.layers)
    }

    /// The levels of all layers.
    pub(crate) fn levels(&self) -> impl Iterator<Item = &RibbonFilter> {
        self.layers.iter().flat_map(|layer| layer.levels())
    }

    /// How keys become digests.
    #[inline]
    pub fn hashing(&self) -> &Hashing {
        self.base.hashing()
    }

    /// The seed of the digests.
    pub fn seed(&self) -> u64 {
        self.base.seed()
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

    /// The slots of the keys that can be present; any, unless digests have slots.
    pub fn slots(&self) -> Slots {
        let base = match &*self.base {
            Filter::Ribbon(ribbon) => ribbon.slots(),
            _ => return Slots::ANY,
        };
        let includes = self.layers.iter().filter(|layer| layer.kind == LayerKind::Include);
        includes.fold(base, |slots, layer| slots.union(layer.slots))
    }

    /// Like [`Stack::has`], for a key of URLs whose slot is known, as
    /// [`Canonical::expressions_in`](crate::keys::url::Canonical::expressions_in) gives them for [`Stack::slots`]: this
    /// is how to look up a URL without hashing keys that can't be there.
    #[inline]
    pub fn has_in(&self, slot: u32, key: &[u8]) -> bool {
        match &*self.base {
            Filter::Foreign(filter) => filter.has(key),
            _ => self.has_digest(self.hashing().digest_in(key, slot)),
        }
    }

    /// What the layers make of the base's answer. The newest layer that the digest hits decides. So if it hits none of
    /// those that say otherwise than the base, the others needn't be asked; of an update that is one of two layers.
    fn through_layers(&self, digest: u64, base: bool) -> bool {
        let newest_hit = |layers: &[Arc<Layer>], answer: bool| {
            layers.iter().rposition(|layer| layer.answer() == answer && layer.hits(digest))
        };
        match newest_hit(&self.layers, !base) {
            Some(place) if newest_hit(&self.layers[place + 1..], base).is_none() => !base,
            _ => base,
        }
    }

    /// As [`Stack::has`], for many keys: an answer each, in their order. This is up to half again as fast as one by one.
    ///
    /// # Errors
    /// [`Error::TooLarge`] without the memory for the answers.
    ///
    /// ```
    /// # use bloom_wasm::{BloomFilter, Stack};
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
        if let Filter::Foreign(filter) = &*self.base {
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

    /// The answers for up to [`BATCH`] digests; those beyond mean nothing.
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

    /// The rate of keys that are asked of those parts alone whose slots pass the test.
    fn rate(&self, asks: impl Fn(Slots) -> bool) -> f64 {
        let base = match &*self.base {
            Filter::Ribbon(ribbon) if !asks(ribbon.slots()) => 0.0,
            base => base.estimated_fpr(),
        };
        self.layers.iter().filter(|layer| asks(layer.slots)).fold(base, |below, layer| {
            let (hit, include) = (layer.hit_rate(), layer.kind == LayerKind::Include);
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

    /// At most this chance has any URL that a browser opens, for a filter of URLs: the rate of all slots together. A URL
    /// with a second reading has twice that.
    pub fn max_url_fpr(&self) -> f64 {
        self.rates().map(|(_, rate)| rate).sum::<f64>().min(1.0)
    }

    /// The rate of each slot.
    fn rates(&self) -> impl Iterator<Item = (u32, f64)> {
        (0..SLOTS as u32).map(|slot| (slot, self.rate(|slots| slots.has(slot))))
    }

    /// The include that holds the second group of the keys of a list of URLs, if they are in two; or an update's, if it has
    /// no shape of the base's. Such a filter is described as a whole.
    pub(crate) fn second_group(&self) -> Option<&Layer> {
        let Filter::Ribbon(base) = &*self.base else { return None };
        let first = self.layers.first().filter(|layer| layer.kind == LayerKind::Include)?;
        first.slots.is_disjoint(base.slots()).then_some(first)
    }

    /// The number of live members, if it is known: always if there are layers, otherwise like [`Filter::count`].
    pub fn count(&self) -> Option<u64> {
        self.count.map(u64::from).or_else(|| self.base.count())
    }

    /// [`Stack::count`], or the estimate of [`Filter::estimated_count`] if that is unknown.
    pub fn estimated_count(&self) -> f64 {
        self.count.map_or_else(|| self.base.estimated_count(), f64::from)
    }

    /// Puts layers on top, so that every live key is maybe present, and every other removed or allowed key is absent.
    /// There is one exception: if there is a new include, a removed key that isn't also allowed may still be a false
    /// positive of it. No empty layers are made. The same sets give the same layers.
    ///
    /// Besides the layers, this takes up to 50 bytes for each key that goes into one, and 8 MiB.
    ///
    /// # Errors
    /// [`Error::WrongKind`] over a foreign filter, which knows no digests;
    /// [`Error::InvalidParameter`] if the fpr is out of its range, or with more than 255 layers;
    /// [`Error::TooLarge`] without the memory; [`Error::BuildFailed`] for keys that were chosen to collide. The stack
    /// is unchanged then.
    pub fn update(&mut self, update: Update) -> Result<()> {
        self.require_digests()?;
        let layers = self.layers.len();
        match self.try_update(update) {
            Ok(count) => self.count = (!self.layers.is_empty()).then_some(count),
            Err(error) => {
                self.layers.truncate(layers);
                return Err(error);
            }
        }
        Ok(())
    }

    /// Like [`Stack::update`], but may leave some layers behind if it fails. Returns how many keys are live.
    fn try_update(&mut self, Update { live, removed, allowed, fpr }: Update) -> Result<u32> {
        if self.hashing().is_slotted() { slots::require_url_fpr(fpr) } else { require_fpr(fpr) }?;
        let count = u32::try_from(distinct(live)?).map_err(|_| TOO_MANY_KEYS)?;
        self.exclude(removed, live, count)?;

        let below = self.layers.len();
        // A live key that is a maybe already, even by chance, needn't be here: all later layers know that it is live.
        let mut denied = select(live, &|digest| !self.has_digest(digest))?;
        if !denied.is_empty() {
            let slots = self.slots_of(&denied)?;
            let fpr = if self.hashing().is_slotted() { slots::key_fpr(slots, fpr) } else { fpr };
            self.include(&mut denied, fpr, slots)?;
        }

        self.exclude(allowed, live, count)?;
        let include = self.layers.get(below).filter(|layer| layer.kind == LayerKind::Include);
        let by_chance = |digest| include.is_some_and(|layer| layer.hits(digest));
        if live.iter().all(|&digest| self.has_digest(digest))
            && strangers(allowed, live, &|digest| self.has_digest(digest))?.is_empty()
            && strangers(removed, live, &|digest| self.has_digest(digest) && !by_chance(digest))?.is_empty()
        {
            return Ok(count);
        }
        Err(Error::BuildFailed)
    }

    /// The slots of digests; any, unless digests have slots.
    fn slots_of(&self, digests: &[u64]) -> Result<Slots> {
        if self.hashing().is_slotted() { Slots::of(digests) } else { Ok(Slots::ANY) }
    }

    /// Includes digests of these slots, which are used up.
    fn include(&mut self, digests: &mut Vec<u64>, fpr: f64, slots: Slots) -> Result<()> {
        let salt = self.next_salt()?;
        let mut levels = Vec::new();
        push(&mut levels, level(digests, Vec::new(), fpr, *self.hashing(), salt)?)?;
        self.push(LayerKind::Include, salt, fpr, slots, levels)
    }

    /// Excludes the digests that are maybes and not live. `count` is the number of live keys.
    fn exclude(&mut self, digests: &[u64], live: &[u64], count: u32) -> Result<()> {
        let excluded = strangers(digests, live, &|digest| self.has_digest(digest))?;
        if excluded.is_empty() {
            return Ok(());
        }
        let slots = self.slots_of(&excluded)?;
        // Those live keys that aren't asked for need no care.
        let asked = if slots == Slots::ANY {
            count as usize
        } else {
            live.iter().filter(|&&digest| slots.holds(digest)).count()
        };
        // Each of the n excluded keys costs log2(1/fpr) bits at level 0. All of them, and the live keys that pass level
        // 0, cost 1 bit each at level 1. The sum is smallest at fpr = n / (ln 2 live).
        let n = excluded.len() as f64;
        let least = (n * 100.0 / 4_294_967_296.0).max(1.0) / 4_294_967_296.0;
        let fpr = (n / (std::f64::consts::LN_2 * asked.max(1) as f64)).max(least).min(0.5);
        let salt = self.next_salt()?;
        let levels = separate(excluded, live, slots, fpr, *self.hashing(), salt)?;
        self.push(LayerKind::Exclude, salt, fpr, slots, levels)
    }

    /// A salt above those of all levels here.
    fn next_salt(&self) -> Result<u32> {
        let Some(highest) = self.layers.iter().map(|layer| layer.salt).max() else { return Ok(0) };
        let rule = "there is no salt left for another layer; build a new base";
        highest.checked_add(SALTS).ok_or(Error::rule(rule))
    }

    fn push(
        &mut self,
        kind: LayerKind,
        salt: u32,
        fpr: f64,
        slots: Slots,
        levels: Vec<RibbonFilter>,
    ) -> Result<()> {
        if self.layers.len() == MAX {
            return Err(Error::rule(TOO_MANY));
        }
        let layer = Layer::from_parts(kind, salt, fpr, slots, levels)?;
        push(&mut self.layers, shared(layer)?)
    }
}

/// The levels of an exclude; no digest is in both sets.
fn separate(
    excluded: Vec<u64>,
    live: &[u64],
    slots: Slots,
    fpr: f64,
    hashing: Hashing,
    salt: u32,
) -> Result<Vec<RibbonFilter>> {
    let mut levels = Vec::new();
    let first = level(&mut copied(&excluded)?, Vec::new(), fpr, hashing, salt)?;
    let mistaken = select(live, &|digest| slots.holds(digest) && passes(&first, digest, salt))?;
    push(&mut levels, first)?;
    if !mistaken.is_empty() {
        let mut all = copied(&excluded)?;
        append(&mut all, &mistaken)?;
        push(&mut levels, level(&mut all, excluded, level_fpr(fpr, 1), hashing, salt.wrapping_add(1))?)?;
    }
    Ok(levels)
}

/// Builds a level from these digests, which are used up. It misses those of them that are in `misses`.
fn level(
    digests: &mut Vec<u64>,
    mut misses: Vec<u64>,
    fpr: f64,
    hashing: Hashing,
    salt: u32,
) -> Result<RibbonFilter> {
    for digests in [&mut *digests, &mut misses] {
        digests.iter_mut().for_each(|digest| *digest = mix(*digest, salt));
    }
    RibbonFilter::separating(digests, misses, fpr, hashing)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filters::BloomFilter;
    use crate::hash::digest;

    fn stack() -> Stack {
        let [old, new] = [0..1000, 500..1500].map(|keys| keys.map(|i: u64| digest(7, &i.to_le_bytes())));
        let (mut old, new): (Vec<u64>, Vec<u64>) = (old.collect(), new.collect());
        let mut stack = Stack::from(RibbonFilter::from_digests(&mut old.clone(), 0.01, 7).unwrap());
        old.truncate(500);
        stack.update(Update { live: &new, removed: &old, allowed: &[], fpr: 0.01 }).unwrap();
        assert_eq!(stack.layers.len(), 2);
        stack
    }

    #[test]
    fn layers_that_can_not_be() {
        let stack = stack();
        let Layer { salt, fpr, levels, .. } = &*stack.layers[0];
        assert_eq!(levels.len(), 2);
        let empty = RibbonFilter::from_digests(&mut Vec::new(), 0.5, 7).unwrap();
        let refused = |kind, levels: &[RibbonFilter]| {
            let layer = Layer::from_parts(kind, *salt, *fpr, Slots::ANY, levels.to_vec());
            layer.is_err_and(|error| error.code() == "invalid_parameter")
        };
        assert!(!refused(LayerKind::Exclude, &levels[..2]));
        assert!(!refused(LayerKind::Include, &levels[..1]));
        assert!(refused(LayerKind::Exclude, &[]));
        assert!(refused(LayerKind::Include, &levels[..2]));
        assert!(refused(LayerKind::Include, &[]));
        assert!(refused(LayerKind::Exclude, &[levels[0].clone(), empty]));
    }

    #[test]
    fn salts_never_meet_and_run_out() {
        let mut stack = stack();
        let update = Update { live: &[1], removed: &[], allowed: &[], fpr: 0.5 };
        assert_eq!(stack.layers.iter().map(|layer| layer.salt).collect::<Vec<_>>(), [0, 256]);
        Arc::get_mut(&mut stack.layers[0]).unwrap().salt = 0xffff_ff00;
        assert_eq!(stack.update(update).unwrap_err().code(), "invalid_parameter");
    }

    /// Blank lines keep their place, also where a batch begins and ends, and the empty key isn't asked for them.
    #[test]
    fn no_key_is_no() {
        let mut filter = BloomFilter::with_capacity(10, 1e-9, 0).unwrap();
        filter.add(b"");
        filter.add(b"member");
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
