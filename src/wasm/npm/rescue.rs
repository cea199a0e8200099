//! What brings filters, and what is still arriving or being built, into a new instance of the module after a call was cut
//! off: because the stack ran out, or because something that JavaScript has replaced threw. The allocator and
//! wasm-bindgen's tables may then be halfway through a change. So `save` takes no memory, and no JavaScript value goes
//! in or out. `js/wasm/instance.ts` is the other side.

use js_sys::Uint8Array;
use wasm_bindgen::prelude::*;

use super::super::extend;
use super::super::filter::Filter;
use super::builder::DigestList;
use super::foreign::Foreign;
use super::incoming::Incoming;
use crate::error::Result;
use crate::fields::{Cursor, Pieces};
use crate::filter;
use crate::hash::Hashing;
use crate::keys::entries::Entries;
use crate::vectors::{copied, push};

#[wasm_bindgen(module = "/js/saved.js")]
extern "C" {
    fn keep(part: &[u8], length: f64);
}

/// Has the next call of any function make a new instance, and drop this one.
#[wasm_bindgen]
pub fn abandon() {
    wasm_bindgen::handler::schedule_reinit();
}

/// Hands over all that `write` writes, `length` bytes. Returns whether that was possible.
fn save(length: usize, write: impl FnOnce(Pieces) -> Result<()>) -> bool {
    let kept = write(&mut |part| {
        keep(part, length as f64);
        Ok(())
    });
    kept.is_ok()
}

#[wasm_bindgen]
impl Filter {
    /// Hands over the filter. False if a change of it was cut off.
    pub fn save(&self) -> bool {
        let Ok(inner) = self.inner.try_borrow() else { return false };
        let Ok(length) = inner.byte_length() else { return false };
        save(16 + length as usize, |run| {
            inner.stack().hashing().key().iter().try_for_each(|half| run(&half.to_le_bytes()))?;
            inner.write(None, run)
        })
    }

    /// What tells filters apart that share their memory: clones, of which none was changed. 0 for one that shares nothing.
    pub fn sharing(&self) -> usize {
        self.inner.try_borrow().map_or(0, |inner| inner.stack().sharing())
    }

    /// Reads what was handed over.
    pub fn restore(saved: &Uint8Array) -> Result<Filter> {
        let mut bytes = Vec::new();
        extend(&mut bytes, &saved.subarray(0, 16))?;
        let mut key = Cursor::new(&bytes);
        let hashing = Hashing::with_key([key.u64(), key.u64()]);
        let mut blob = Vec::new();
        extend(&mut blob, &saved.subarray(16, saved.length()))?;
        Filter::new(filter::Filter::decode_as(blob, hashing)?)
    }
}

#[wasm_bindgen]
impl Incoming {
    /// Hands over what has arrived.
    pub fn save(&self) -> bool {
        save(self.bytes.len(), |run| run(&self.bytes))
    }
}

#[wasm_bindgen]
impl Foreign {
    /// Hands over what has arrived, and the keys.
    pub fn save(&self) -> bool {
        let keys = self.keys.as_bytes();
        save(8 + self.bytes.len() + keys.len(), |run| {
            run(&(self.bytes.len() as u64).to_le_bytes())?;
            run(&self.bytes)?;
            run(keys)
        })
    }

    /// Takes what was handed over, after the options.
    pub fn restore(&mut self, saved: &Uint8Array) -> Result<()> {
        let mut all = Vec::new();
        extend(&mut all, saved)?;
        let mut saved = Cursor::new(&all);
        let length = saved.u64();
        self.bytes = copied(saved.slice(length))?;
        while !saved.left().is_empty() {
            let length = saved.u32();
            self.keys.push(saved.slice(length.into()))?;
        }
        saved.done()
    }
}

#[wasm_bindgen]
impl DigestList {
    /// Hands over the keys of all lists. False after the last list has ended: then the filter is built at once.
    pub fn save(&self) -> bool {
        if self.is_complete() {
            return false;
        }
        let (keys, parents) = (self.entries.keys(), self.entries.parents());
        let counts: usize = self.entries.parts().map(|(_, counts)| counts.len()).sum();
        let names: usize = self.lists.iter().map(|(tag, _)| 9 + tag.len()).sum();
        save(names + 17 + 8 * (keys.len() + parents) + counts, |run| {
            for (tag, keys) in &self.lists {
                run(&[tag.len() as u8])?;
                run(tag.as_bytes())?;
                run(&(*keys as u64).to_le_bytes())?;
            }
            run(&[0])?;
            run(&(keys.len() as u64).to_le_bytes())?;
            hand_over(keys, run)?;
            run(&(parents as u64).to_le_bytes())?;
            self.entries.parts().try_for_each(|(parents, _)| hand_over(parents, run))?;
            self.entries.parts().try_for_each(|(_, counts)| run(counts))
        })
    }

    /// Takes what was handed over, after the options.
    pub fn restore(&mut self, saved: &Uint8Array) -> Result<()> {
        let mut all = Vec::new();
        extend(&mut all, saved)?;
        let mut saved = Cursor::new(&all);
        loop {
            // The name of a tag is never empty.
            let length = saved.u8();
            if length == 0 {
                break;
            }
            let tag = String::from_utf8_lossy(&copied(saved.slice(length.into()))?).into_owned();
            push(&mut self.lists, (tag, saved.u64() as usize))?;
        }
        let mut digests = || {
            let count = saved.u64();
            digests(saved.slice(count.saturating_mul(8)))
        };
        let (keys, parents) = (digests()?, digests()?);
        self.entries = Entries::from_part(keys, parents, copied(saved.rest())?)?;
        saved.done()
    }
}

fn hand_over(digests: &[u64], run: Pieces) -> Result<()> {
    const MANY: usize = 512;
    for digests in digests.chunks(MANY) {
        let mut bytes = [0; 8 * MANY];
        for (bytes, digest) in bytes.as_chunks_mut().0.iter_mut().zip(digests) {
            *bytes = digest.to_le_bytes();
        }
        run(&bytes[..8 * digests.len()])?;
    }
    Ok(())
}

fn digests(bytes: &[u8]) -> Result<Vec<u64>> {
    let mut digests = Vec::new();
    bytes.as_chunks().0.iter().try_for_each(|&bytes| push(&mut digests, u64::from_le_bytes(bytes)))?;
    Ok(digests)
}
