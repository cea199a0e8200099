//! Builds stacks: from a list, and from what has changed since.

use super::layer::{Layer, LayerKind};
use super::level::{level, level_fpr, passes};
use super::stack::{MAX, Stack, TOO_MANY};
use super::tagged::{Tagged, Wanted};
use super::tags::{BASE_SALT, Names, Tagging};
use crate::digests::{distinct, nonmembers, select, sort};
use crate::error::{Error, Result};
use crate::filters::{AnyFilter, RibbonFilter, require_fpr};
use crate::hash::Hashing;
use crate::kind::{Kind, KindOptions};
use crate::params::require_rate;
use crate::slots::{self, Group, SLOTS, Slots};
use crate::vectors::{append, copied, push, shared};

/// The first layer's salt, and how far the salts of two layers are apart. Each level uses one salt. Under the salt 0, a
/// level's states would be those of the base a few rounds later.
const SALTS: u32 = 256;
const TOO_MANY_KEYS: Error = Error::rule("a filter with layers holds fewer than 2^32 keys");

/// What an update changes: digests under [`Stack::hashing`], in any order, repeated or not. There is no list of added
/// keys: a live key that would be absent is included.
#[derive(Debug, Clone, Copy)]
pub struct Update<'a> {
    /// All members after the update, whether the base, a layer or nothing yet holds them. A member that is missing here
    /// may get lost.
    pub live: &'a [u64],
    /// Keys that are no longer members. A live key stays.
    pub removed: &'a [u64],
    /// Keys that must be absent unless they are live. They aren't remembered, so pass them for each update.
    pub allowed: &'a [u64],
    /// The rate of the include, at least 2^-32 and below 1. It is also the chance that a removed key is a false
    /// positive of the include. If digests have [slots], it is the rate of a whole check of a URL, and
    /// [`slots::key_fpr`] gives the rate of a key.
    pub fpr: f64,
}

/// As [`Update`], for a filter with tags.
#[derive(Debug, Clone, Copy)]
pub struct TaggedUpdate<'a> {
    /// All members after the update, with the tags that they have then.
    pub live: &'a Tagged,
    /// Keys that are no longer members. A live key stays.
    pub removed: &'a [u64],
    /// Keys that must be absent unless they are live.
    pub allowed: &'a [u64],
    /// As [`Update::fpr`].
    pub fpr: f64,
}

impl Stack {
    /// Builds a filter of the members, with a layer that excludes the allowed keys if it needs one. Both lists hold
    /// digests, in any order, repeated or not. The members may be used up. With allowed keys, or an empty list of them, the
    /// filter is read-only.
    ///
    /// If digests have [slots], `fpr` is the rate of a whole check of a URL, and the filter may be in two parts: a base
    /// and an include, for keys of different slots.
    ///
    /// # Errors
    /// Those of [`AnyFilter::from_digests`] and [`Stack::update`].
    pub fn build(
        options: KindOptions,
        members: &mut Vec<u64>,
        allowed: Option<&[u64]>,
        fpr: f64,
        hashing: impl Into<Hashing>,
    ) -> Result<Self> {
        let hashing = hashing.into();
        let make = |members: &mut Vec<u64>| match options.kind {
            Kind::Ribbon if hashing.is_slotted() => {
                options.require_own()?;
                Self::of_slots(members, fpr, hashing, None)
            }
            _ => Stack::new(AnyFilter::from_digests(options, members, fpr, hashing)?),
        };
        let Some(allowed) = allowed else { return make(members) };
        sort(members)?;
        let mut stack = make(&mut copied(members)?)?;
        // There is nothing to include, so the rate of an include doesn't matter.
        stack.update(Update { live: members, removed: &[], allowed, fpr: 0.5 })?;
        Ok(stack)
    }

    /// As [`Stack::build`], for a ribbon filter that knows the tags of its members.
    ///
    /// # Errors
    /// Those of [`Stack::build`].
    pub fn build_tagged(
        members: &Tagged,
        allowed: Option<&[u64]>,
        fpr: f64,
        hashing: impl Into<Hashing>,
    ) -> Result<Self> {
        Self::build_wanted(members, members.wanted(std::iter::empty())?, allowed, fpr, hashing.into())
    }

    /// As [`Stack::build_tagged`], for a shard. The names are in the manifest, not in its blob:
    /// [`Filter::decode_shard`](crate::Filter::decode_shard) reads it.
    ///
    /// # Errors
    /// Those of [`Stack::build`].
    pub fn build_tagged_shard(
        members: &Tagged,
        allowed: Option<&[u64]>,
        fpr: f64,
        hashing: impl Into<Hashing>,
    ) -> Result<Self> {
        Self::build_wanted(members, members.wanted(members.names())?, allowed, fpr, hashing.into())
    }

    fn build_wanted(
        members: &Tagged,
        wanted: Wanted,
        allowed: Option<&[u64]>,
        fpr: f64,
        hashing: Hashing,
    ) -> Result<Self> {
        let mut digests = copied(wanted.digests())?;
        let mut stack = if hashing.is_slotted() {
            Self::of_slots(&mut digests, fpr, hashing, Some(&wanted))?
        } else {
            let filter = RibbonFilter::from_digests(&mut digests, fpr, hashing)?;
            Stack::new(filter)?.with_base_tags(&wanted)?
        };
        // Called even without an allowlist, since it checks every member.
        let allowed = allowed.unwrap_or(&[]);
        stack.update_tagged(TaggedUpdate { live: members, removed: &[], allowed, fpr: 0.5 })?;
        Ok(stack)
    }

    /// Gives the base its tags. Names that aren't new are stored elsewhere.
    fn with_base_tags(self, wanted: &Wanted) -> Result<Self> {
        let holds = |digest| self.base().has_digest(digest);
        let base = wanted.tags(&wanted.names, &holds, BASE_SALT, *self.hashing())?;
        let elsewhere = wanted.known()?;
        // A shard doesn't say how many members it has.
        let counts = if elsewhere.len() == 0 { copied(&wanted.counts)? } else { Vec::new() };
        self.tagged(Tagging { elsewhere: shared(elsewhere)?, base: Some(shared(base)?), counts })
    }

    /// A ribbon filter of digests that have slots, in the groups of [`slots::plan`].
    fn of_slots(members: &mut Vec<u64>, fpr: f64, hashing: Hashing, wanted: Option<&Wanted>) -> Result<Self> {
        slots::require_url_fpr(fpr)?;
        sort(members)?;
        let count = u32::try_from(members.len()).map_err(|_| TOO_MANY_KEYS)?;
        let mut counts = [0; SLOTS];
        for &digest in &*members {
            let count = counts.get_mut(slots::of(digest) as usize);
            *count.ok_or(slots::NO_SLOT)? += 1;
        }
        let (first, second) = slots::plan(&counts, fpr);
        // Digests have 5 bits fewer for the key.
        for group in [Some(first), second].into_iter().flatten() {
            require_rate(u64::from(count) << 5, group.fpr)?;
        }
        let mut group = match second {
            Some(Group { slots, .. }) => select(members, &|digest| slots.holds(digest))?,
            None => Vec::new(),
        };
        members.retain(|&digest| second.is_none() || first.slots.holds(digest));
        let mut stack = Stack::new(RibbonFilter::from_digests(members, first.fpr, hashing)?)?;
        if let Some(wanted) = wanted {
            stack = stack.with_base_tags(wanted)?;
        }
        let Some(Group { slots, fpr }) = second else { return Ok(stack) };
        // All names are those of the base.
        let none = Names::default();
        stack.include(&mut group, fpr, slots, wanted.map(|wanted| (wanted, &none)))?;
        stack.count = Some(count);
        Ok(stack)
    }

    /// Puts layers on top, so that every live key is maybe present, and every removed or allowed key that isn't live is
    /// absent, with one exception: if there is a new include, a removed key that isn't also allowed may still be a
    /// false positive of it. No empty layers are made. The same sets give the same layers.
    ///
    /// Besides the layers, this takes up to 50 bytes for each key that goes into one, and 8 MiB.
    ///
    /// # Errors
    /// [`Error::WrongKind`] for a foreign filter, which knows no digests, and for a filter with tags, which needs
    /// [`Stack::update_tagged`]; [`Error::InvalidParameter`] if the fpr is out of range, or with more than 255 layers;
    /// [`Error::TooLarge`] without the memory; [`Error::BuildFailed`] for keys that were chosen to collide. The stack
    /// is unchanged then.
    pub fn update(&mut self, update: Update) -> Result<()> {
        if self.is_tagged() {
            return Err(Error::WrongKind { kind: "ribbon with tags" });
        }
        self.update_all(update, None)
    }

    /// As [`Stack::update`], for a filter with tags. A live key whose tags have changed is included again.
    ///
    /// # Errors
    /// Those of [`Stack::update`], [`Error::WrongKind`] for a filter without tags, and [`Error::InvalidParameter`] with
    /// more than 255 tags.
    pub fn update_tagged(&mut self, update: TaggedUpdate) -> Result<()> {
        self.require_tagged()?;
        let TaggedUpdate { live, removed, allowed, fpr } = update;
        let wanted = live.wanted(self.tag_names())?;
        self.update_all(Update { live: wanted.digests(), removed, allowed, fpr }, Some(&wanted))
    }

    fn update_all(&mut self, update: Update, wanted: Option<&Wanted>) -> Result<()> {
        self.require_digests()?;
        let layers = self.layers.len();
        match self.try_update(update, wanted) {
            Ok(count) => {
                // A ribbon filter that nothing has changed yet knows the count itself. Any other base could change, and
                // the count says that it no longer may: an allowed key would come back.
                let is_as_built = match &*self.base {
                    AnyFilter::Ribbon(ribbon) => {
                        self.count.is_none() && self.layers.is_empty() && ribbon.count() == count
                    }
                    _ => false,
                };
                if !is_as_built {
                    self.count = Some(count);
                }
            }
            Err(error) => {
                self.layers.truncate(layers);
                return Err(error);
            }
        }
        Ok(())
    }

    /// Like [`Stack::update`], but may leave some layers behind if it fails. Returns how many keys are live.
    fn try_update(
        &mut self,
        Update { live, removed, allowed, fpr }: Update,
        wanted: Option<&Wanted>,
    ) -> Result<u32> {
        if self.hashing().is_slotted() { slots::require_url_fpr(fpr) } else { require_fpr(fpr) }?;
        let count = u32::try_from(distinct(live)?).map_err(|_| TOO_MANY_KEYS)?;
        self.exclude(removed, live, count)?;

        let below = self.layers.len();
        let mut denied = match wanted {
            // A live key that is maybe present already, even by chance, needn't be included: all later layers know that
            // it is live.
            None => select(live, &|digest| !self.has_digest(digest))?,
            // The same goes for one that has its tags already.
            Some(wanted) => self.outdated(wanted)?,
        };
        if !denied.is_empty() {
            let slots = self.slots_of(&denied)?;
            let fpr = if self.hashing().is_slotted() { slots::key_fpr(slots, fpr) } else { fpr };
            let tags = wanted.map(|wanted| (wanted, &wanted.names));
            self.include(&mut denied, fpr, slots, tags)?;
        }

        self.exclude(allowed, live, count)?;
        let include = self.layers.get(below).filter(|layer| layer.kind() == LayerKind::Include);
        let by_chance = |digest| include.is_some_and(|layer| layer.hits(digest));
        let is_exact = match wanted {
            None => live.iter().all(|&digest| self.has_digest(digest)),
            Some(wanted) => self.outdated(wanted)?.is_empty(),
        };
        if is_exact
            && nonmembers(allowed, live, &|digest| self.has_digest(digest))?.is_empty()
            && nonmembers(removed, live, &|digest| self.has_digest(digest) && !by_chance(digest))?.is_empty()
        {
            if let Some(wanted) = wanted {
                self.count_tags(wanted)?;
            }
            return Ok(count);
        }
        Err(Error::BuildFailed)
    }

    /// The keys that are absent in this filter, or have other tags: those that [`Stack::update_tagged`] would include.
    ///
    /// # Errors
    /// [`Error::WrongKind`] for a filter without tags, [`Error::InvalidParameter`] with more than 255 tags, and
    /// [`Error::TooLarge`] without the memory.
    pub fn changed_tags(&self, live: &Tagged) -> Result<Vec<u64>> {
        self.require_tagged()?;
        self.outdated(&live.wanted(self.tag_names())?)
    }

    /// The keys that are absent in this filter, or have other tags.
    fn outdated(&self, wanted: &Wanted) -> Result<Vec<u64>> {
        let mut outdated = Vec::new();
        for (digest, tags) in wanted.keys() {
            if self.numbers_of(digest) != Some(tags) {
                push(&mut outdated, digest)?;
            }
        }
        Ok(outdated)
    }

    /// Takes over how many members have each tag that has a name in this filter.
    fn count_tags(&mut self, wanted: &Wanted) -> Result<()> {
        let names = self.tag_names().count();
        if let Some(tagging) = self.tagging.as_mut().filter(|tagging| tagging.elsewhere.len() == 0) {
            let known = wanted.counts.get(..names);
            tagging.counts = copied(known.unwrap_or(&wanted.counts))?;
        }
        Ok(())
    }

    /// The slots of digests; all slots, unless digests have slots.
    fn slots_of(&self, digests: &[u64]) -> Result<Slots> {
        if self.hashing().is_slotted() { Slots::of(digests) } else { Ok(Slots::ANY) }
    }

    /// Includes digests of these slots. The vector is used up. `tags` has the wanted tags and the names that are new;
    /// the include also has the tags of live keys that hit it by chance.
    fn include(
        &mut self,
        digests: &mut Vec<u64>,
        fpr: f64,
        slots: Slots,
        tags: Option<(&Wanted, &Names)>,
    ) -> Result<()> {
        let salt = self.next_salt()?;
        let mut levels = Vec::new();
        push(&mut levels, level(digests, Vec::new(), fpr, *self.hashing(), salt)?)?;
        let mut layer = Layer::from_parts(LayerKind::Include, salt, fpr, slots, levels)?;
        if let Some((wanted, names)) = tags {
            let tags = wanted.tags(names, &|digest| layer.hits(digest), salt, *self.hashing())?;
            layer = layer.tagged(tags);
        }
        self.push(layer)
    }

    /// Excludes the digests that are maybe present and not live. `count` is the number of live keys.
    fn exclude(&mut self, digests: &[u64], live: &[u64], count: u32) -> Result<()> {
        let excluded = nonmembers(digests, live, &|digest| self.has_digest(digest))?;
        if excluded.is_empty() {
            return Ok(());
        }
        let slots = self.slots_of(&excluded)?;
        // Live keys of other slots don't matter.
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
        self.push(Layer::from_parts(LayerKind::Exclude, salt, fpr, slots, levels)?)
    }

    /// A salt above those of all levels here.
    fn next_salt(&self) -> Result<u32> {
        let rule = "there is no salt left for another layer; build a new base";
        let next = match self.layers.iter().map(|layer| layer.salt()).max() {
            None => Some(SALTS),
            Some(highest) => highest.checked_add(SALTS),
        };
        // The last salts are those of the base's tags.
        next.filter(|&salt| !self.is_tagged() || salt <= BASE_SALT - SALTS).ok_or(Error::rule(rule))
    }

    fn push(&mut self, layer: Layer) -> Result<()> {
        if self.layers.len() == MAX {
            return Err(Error::rule(TOO_MANY));
        }
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
    let denied = select(live, &|digest| slots.holds(digest) && passes(&first, digest, salt))?;
    push(&mut levels, first)?;
    if !denied.is_empty() {
        let mut all = copied(&excluded)?;
        append(&mut all, &denied)?;
        push(&mut levels, level(&mut all, excluded, level_fpr(fpr, 1), hashing, salt.wrapping_add(1))?)?;
    }
    Ok(levels)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::hash::digest;

    #[test]
    fn salts_never_meet_and_run_out() {
        let [old, new] = [0..1000, 500..1500].map(|keys| keys.map(|i: u64| digest(7, &i.to_le_bytes())));
        let (mut old, new): (Vec<u64>, Vec<u64>) = (old.collect(), new.collect());
        let mut stack = Stack::from(RibbonFilter::from_digests(&mut old.clone(), 0.01, 7).unwrap());
        old.truncate(500);
        stack.update(Update { live: &new, removed: &old, allowed: &[], fpr: 0.01 }).unwrap();
        assert_eq!(stack.layers.iter().map(|layer| layer.salt()).collect::<Vec<_>>(), [256, 512]);

        let include = &stack.layers[1];
        let levels = include.levels().to_vec();
        let last = Layer::from_parts(LayerKind::Include, 0xffff_ff00, include.fpr(), Slots::ANY, levels);
        stack.layers[1] = Arc::new(last.unwrap());
        let update = Update { live: &[1], removed: &[], allowed: &[], fpr: 0.5 };
        assert_eq!(stack.update(update).unwrap_err().code(), "invalid_parameter");
    }
}
