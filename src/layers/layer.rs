//! One layer: what it does, and which keys it decides about. FORMAT.md section 7.

use super::level::passes;
use super::tags::Tags;
use crate::error::{Error, Result};
use crate::filters::RibbonFilter;
use crate::slots::Slots;

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
    /// The slots of the keys that it includes or excludes; all slots, unless digests have slots.
    slots: Slots,
    levels: Vec<RibbonFilter>,
    /// The tags of what it includes, if the filter has tags.
    tags: Option<Tags>,
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
        Ok(Layer { kind, salt, fpr, slots, levels, tags: None })
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

    /// The slots of the keys that it includes or excludes, if digests have slots. It isn't consulted for other keys.
    pub fn slots(&self) -> Slots {
        self.slots
    }

    /// The levels: one in an include, one or two in an exclude.
    pub fn levels(&self) -> &[RibbonFilter] {
        &self.levels
    }

    /// The same include with tags.
    pub(crate) fn tagged(self, tags: Tags) -> Self {
        Layer { tags: Some(tags), ..self }
    }

    /// The tags of what it includes. Every include has them, if the filter has tags.
    pub fn tags(&self) -> Option<&Tags> {
        self.tags.as_ref()
    }

    /// Its levels and those of its tags, in the order of a blob.
    pub(super) fn levels_mut(&mut self) -> impl Iterator<Item = &mut RibbonFilter> {
        self.levels.iter_mut().chain(self.tags.iter_mut().flat_map(Tags::levels_mut))
    }

    /// What it says of a key that hits it.
    pub(super) fn answer(&self) -> bool {
        self.kind == LayerKind::Include
    }

    /// Whether the layer decides about this key.
    // Always inlined, here and where this is referred to: a call would take as long as what it saves, and a check of a
    // URL asks for six keys.
    #[inline(always)]
    pub(super) fn hits(&self, digest: u64) -> bool {
        let mut levels = self.levels.iter();
        self.slots.holds(digest)
            && levels.next().is_some_and(|level| passes(level, digest, self.salt))
            && !levels.next().is_some_and(|level| passes(level, digest, self.salt.wrapping_add(1)))
    }

    /// The chance that the layer decides about an unknown key.
    pub(super) fn hit_rate(&self) -> f64 {
        self.levels.iter().rev().fold(0.0, |next, level| level.estimated_fpr() * (1.0 - next))
    }
}
