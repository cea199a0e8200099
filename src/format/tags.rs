//! The bytes of tags. FORMAT.md section 13.

use super::text;
use crate::error::Result;
use crate::fields::{Cursor, Fields};
use crate::hash::Hashing;
use crate::layers::{CODE_FPR, Dictionary, Tags};
use crate::vectors::push;

impl Cursor<'_> {
    /// Tags whose levels lack their bytes. `salt` is that of their include, or that of a base.
    #[cfg_attr(target_arch = "wasm32", inline(never))]
    pub(super) fn tags(&mut self, hashing: Hashing, salt: u32) -> Result<Tags> {
        let mut dictionary = Dictionary::default();
        let Dictionary { names, lengths, sets, default } = &mut dictionary;
        for _ in 0..self.u8() {
            let length = self.u8();
            push(names, text(self.slice(length.into()))?)?;
        }
        let longest = self.u8();
        self.rule(longest <= 32, "a code of tags must have at most 32 bits");
        self.done()?;
        let mut total = 0;
        for _ in 0..=longest {
            let count = self.u16();
            total += u32::from(count);
            push(lengths, count)?;
        }
        self.rule(total <= 65_535, "a filter must have at most 65535 sets of tags");
        self.done()?;
        for _ in 0..total {
            let length = self.u8();
            sets.push(self.slice(length.into()))?;
            self.done()?;
        }
        *default = self.u16();
        let has_filter = self.u8();
        self.rule(has_filter <= 1, "whether there is a default filter must be 0 or 1");
        let default_filter = if has_filter == 1 {
            let fpr = self.f64();
            self.done()?;
            Some(self.level(fpr, hashing)?)
        } else {
            None
        };
        let codes = if longest > 0 { Some(self.level(CODE_FPR, hashing)?) } else { None };
        self.done()?;
        Tags::from_parts(dictionary, salt, default_filter, codes)
    }

    /// How many members have each tag.
    #[cfg_attr(target_arch = "wasm32", inline(never))]
    pub(super) fn counts(&mut self) -> Result<Vec<u32>> {
        let mut counts = Vec::new();
        for _ in 0..self.u8() {
            push(&mut counts, self.u32())?;
        }
        self.done()?;
        Ok(counts)
    }
}

impl Fields {
    pub(super) fn tags(&mut self, tags: &Tags) {
        self.u8(tags.names().len() as u32);
        for name in tags.names() {
            self.u8(name.len() as u32);
            self.slice(name.as_bytes());
        }
        let lengths = tags.code_lengths();
        self.u8(lengths.len().saturating_sub(1) as u32);
        lengths.iter().for_each(|&count| self.u16(count.into()));
        for set in tags.all_sets().iter() {
            self.u8(set.len() as u32);
            self.slice(set);
        }
        self.u16(tags.default().into());
        self.u8(tags.default_filter().is_some().into());
        if let Some(filter) = tags.default_filter() {
            self.f64(filter.fpr());
        }
        tags.levels().for_each(|level| self.level(level));
    }

    pub(super) fn counts(&mut self, counts: &[u32]) {
        self.u8(counts.len() as u32);
        counts.iter().for_each(|&count| self.u32(count));
    }
}
