//! The bytes of layers and of their levels. FORMAT.md sections 5 and 7.

use crate::error::Result;
use crate::fields::{Cursor, Fields, Pieces};
use crate::filters::RibbonFilter;
use crate::hash::Hashing;
use crate::layers::{Layer, LayerKind, level_fpr};
use crate::vectors::push;

impl Fields<Pieces<'_>> {
    pub(super) fn layer(&mut self, layer: &Layer, hashing: &Hashing) {
        self.u8(layer.kind() as u32);
        self.u32(layer.salt());
        self.f64(layer.fpr());
        self.slots(hashing, layer.slots());
        self.u8(layer.levels().len() as u32);
        layer.levels().iter().for_each(|level| self.level(level));
        layer.tags().into_iter().for_each(|tags| self.tags(tags));
    }

    pub(super) fn level(&mut self, level: &RibbonFilter) {
        self.u32(level.count());
        self.stages(level);
    }
}

impl Cursor<'_> {
    /// A layer whose levels have no bytes yet.
    #[cfg_attr(target_arch = "wasm32", inline(never))]
    pub(super) fn layer(&mut self, hashing: Hashing, tagged: bool) -> Result<Layer> {
        let kind = self.u8();
        self.rule(matches!(kind, 1 | 2), "a layer must be 1 (include) or 2 (exclude)");
        let kind = if kind == 1 { LayerKind::Include } else { LayerKind::Exclude };
        let (salt, fpr) = (self.u32(), self.f64());
        let (slots, total) = (self.slots(hashing, false), self.u8());
        let mut levels = Vec::new();
        for i in 0..usize::from(total) {
            push(&mut levels, self.level(level_fpr(fpr, i), hashing)?)?;
        }
        self.done()?;
        let layer = Layer::from_parts(kind, salt, fpr, slots, levels)?;
        Ok(if tagged && kind == LayerKind::Include { layer.tagged(self.tags(hashing, salt)?) } else { layer })
    }

    /// A level without its bytes.
    #[cfg_attr(target_arch = "wasm32", inline(never))]
    pub(super) fn level(&mut self, fpr: f64, hashing: Hashing) -> Result<RibbonFilter> {
        let count = self.u32();
        let level = self.ribbon(count, fpr, hashing);
        self.done()?;
        level
    }
}
