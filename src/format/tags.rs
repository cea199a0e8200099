//! The bytes of tags. FORMAT.md section 13.

use crate::error::{Error, Result};
use crate::fields::{Cursor, Fields, Pieces};
use crate::hash::Hashing;
use crate::layers::{CODE_FPR, Dictionary, RULE, Tags};
use crate::vectors::push;

impl Cursor<'_> {
    /// Tags whose levels have no bytes yet. `salt` is that of their include, or that of a base.
    #[cfg_attr(target_arch = "wasm32", inline(never))]
    pub(super) fn tags(&mut self, hashing: Hashing, salt: u32) -> Result<Tags> {
        let mut dictionary = Dictionary::default();
        let Dictionary { names, lengths, sets, default } = &mut dictionary;
        for _ in 0..self.u8() {
            let length = self.u8();
            let name = self.slice(length.into());
            self.done()?;
            names.push(str::from_utf8(name).map_err(|_| Error::rule(RULE))?)?;
        }
        let longest = self.u8();
        self.rule(longest <= 32, RULE);
        self.done()?;
        let mut total = 0;
        for _ in 0..=longest {
            let count = self.u16();
            total += u32::from(count);
            push(lengths, count)?;
        }
        self.rule(total <= 65_535, RULE);
        self.done()?;
        for _ in 0..total {
            let length = self.u8();
            sets.push(self.slice(length.into()))?;
            self.done()?;
        }
        *default = self.u16();
        let has_filter = self.u8();
        self.rule(has_filter <= 1, RULE);
        let mut levels = Vec::new();
        for (is_there, is_filter) in [(has_filter == 1, true), (longest > 0, false)] {
            if is_there {
                let fpr = if is_filter { self.f64() } else { CODE_FPR };
                self.done()?;
                push(&mut levels, self.level(fpr, hashing)?)?;
            }
        }
        self.done()?;
        Tags::from_parts(dictionary, salt, has_filter == 1, levels)
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

impl Fields<Pieces<'_>> {
    pub(super) fn tags(&mut self, tags: &Tags) {
        self.u8(tags.names().len() as u32);
        for number in 0..tags.all_names().len() {
            let name = tags.all_names().get(number);
            self.u8(name.len() as u32);
            self.slice(name.as_bytes());
        }
        let lengths = tags.code_lengths();
        self.u8(lengths.len().saturating_sub(1) as u32);
        lengths.iter().for_each(|&count| self.u16(count.into()));
        for place in 0..tags.sets() {
            let set = tags.all_sets().get(place);
            self.u8(set.len() as u32);
            self.slice(set);
        }
        self.u16(tags.default().into());
        self.u8(tags.default_filter().is_some().into());
        if let Some(filter) = tags.default_filter() {
            self.f64(filter.fpr());
        }
        tags.levels().iter().for_each(|level| self.level(level));
    }

    pub(super) fn counts(&mut self, counts: &[u32]) {
        self.u8(counts.len() as u32);
        counts.iter().for_each(|&count| self.u32(count));
    }
}
