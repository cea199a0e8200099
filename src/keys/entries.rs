//! The entries of lists, and which of them others cover. FORMAT-URLS.md, "What a list may leave out".

use std::{iter, mem};

use super::Input;
use crate::digests::{sort, subtract};
use crate::error::Result;
use crate::hash::{Hashing, spread};
use crate::slots::{self, Slots};
use crate::vectors::{append, copied, push, reserve};

/// The digests of the entries of lists, in their order, repeated or not. For a ribbon filter of URLs, each comes with the
/// digests of all other keys that a question for it looks up: its parents, such as `evil.example/` for
/// `www.evil.example/`. An entry takes 8 bytes, and then 8 for each parent and one more.
///
/// ```
/// use bloom_wasm::hash::Hashing;
/// use bloom_wasm::keys::entries::Entries;
/// use bloom_wasm::keys::{Input, native::Native};
/// use bloom_wasm::{Builder, Profile};
///
/// let hashing = Builder::new(Profile::Url).digests();
/// let mut entries = Entries::default();
/// for url in ["evil.example", "www.evil.example/login", "other.example"] {
///     let input = Input::parse(&Native, Profile::Url, url.as_bytes())?;
///     entries.push(&hashing, &input.expect("a URL"))?;
/// }
/// let mut members = entries.keys().to_vec();
/// members.sort();
/// let covered = entries.covered(&members, &|_, parents| !parents.is_empty())?;
/// assert_eq!(covered, [hashing.digest(b"www.evil.example/login")]);
/// # Ok::<(), bloom_wasm::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Entries {
    keys: Vec<u64>,
    /// The parents of the keys, one after the other; those after the last block have none.
    blocks: Vec<Block>,
    /// How many keys the blocks have.
    counted: usize,
}

/// The parents of some keys. There are many blocks, since a vector needs three times its room while it grows.
#[derive(Debug, Clone, Default)]
struct Block {
    parents: Vec<u64>,
    /// How many parents each key has.
    counts: Vec<u8>,
}

/// A block with this many parents is full.
const FULL: usize = 1 << 16;

impl Entries {
    /// Adds an entry.
    ///
    /// # Errors
    /// [`Error::TooLarge`](crate::Error::TooLarge) without the memory.
    pub fn push(&mut self, hashing: &Hashing, input: &Input) -> Result<()> {
        let form = match input {
            Input::Url(url) if hashing.is_slotted() => url.canonical(),
            _ => None,
        };
        let Some(form) = form else { return self.push_key(hashing.digest(input.own())) };
        // Another reading of the entry isn't one of every URL that asks for its key, so its keys are no parents.
        for (i, (slot, key)) in form.expressions_in(Slots::ANY).enumerate() {
            let digest = hashing.digest_in(key, slot);
            if i == 0 { self.push_key(digest) } else { self.push_parent(digest) }?;
        }
        Ok(())
    }

    /// Adds the digest of an entry.
    ///
    /// # Errors
    /// [`Error::TooLarge`](crate::Error::TooLarge) without the memory.
    pub fn push_key(&mut self, digest: u64) -> Result<()> {
        push(&mut self.keys, digest)
    }

    /// Adds a parent, of which there are at most 255, to the last entry.
    ///
    /// # Errors
    /// [`Error::TooLarge`](crate::Error::TooLarge) without the memory.
    pub fn push_parent(&mut self, digest: u64) -> Result<()> {
        self.count_all()?;
        let Block { parents, counts } = self.blocks.last_mut().expect("it has been counted");
        push(parents, digest)?;
        *counts.last_mut().expect("it has been counted") += 1;
        Ok(())
    }

    fn count_all(&mut self) -> Result<()> {
        while self.counted < self.keys.len() {
            if self.blocks.last().is_none_or(|block| block.parents.len() >= FULL) {
                push(&mut self.blocks, Block::default())?;
            }
            push(&mut self.blocks.last_mut().expect("there is one").counts, 0)?;
            self.counted += 1;
        }
        Ok(())
    }

    /// Appends those of later lines or lists.
    ///
    /// # Errors
    /// [`Error::TooLarge`](crate::Error::TooLarge) without the memory.
    pub fn append(&mut self, later: Self) -> Result<()> {
        if later.counted > 0 {
            self.count_all()?;
            self.counted += later.counted;
        }
        append(&mut self.keys, &later.keys)?;
        later.blocks.into_iter().try_for_each(|block| push(&mut self.blocks, block))
    }

    /// Makes room for this many entries in all.
    ///
    /// # Errors
    /// [`Error::TooLarge`](crate::Error::TooLarge) without the memory.
    pub fn reserve(&mut self, entries: usize) -> Result<()> {
        reserve(&mut self.keys, entries)
    }

    /// Removes all entries.
    pub fn clear(&mut self) {
        self.keys.clear();
        self.counted = 0;
        self.blocks.truncate(1);
        for Block { parents, counts } in &mut self.blocks {
            parents.clear();
            counts.clear();
        }
    }

    /// The digests of the entries, in their order.
    pub fn keys(&self) -> &[u64] {
        &self.keys
    }

    /// The digests of the entries, for the set of members. They aren't kept if no entry has a parent.
    ///
    /// # Errors
    /// [`Error::TooLarge`](crate::Error::TooLarge) without the memory.
    pub fn members(&mut self) -> Result<Vec<u64>> {
        if self.parents() == 0 { Ok(mem::take(&mut self.keys)) } else { copied(&self.keys) }
    }

    /// How many parents all entries have.
    pub fn parents(&self) -> usize {
        self.blocks.iter().map(|block| block.parents.len()).sum()
    }

    /// The parents of the entries in order, and how many each has, in parts; entries after these have none.
    #[allow(dead_code)] // only src/wasm/ needs it
    pub(crate) fn parts(&self) -> impl Iterator<Item = (&[u64], &[u8])> {
        self.blocks.iter().map(|Block { parents, counts }| (&parents[..], &counts[..]))
    }

    /// What has these keys, and this only part.
    #[allow(dead_code)] // only src/wasm/ needs it
    pub(crate) fn from_part(keys: Vec<u64>, parents: Vec<u64>, counts: Vec<u8>) -> Result<Self> {
        let counted = counts.len();
        let mut blocks = Vec::new();
        push(&mut blocks, Block { parents, counts })?;
        Ok(Entries { keys, blocks, counted })
    }

    /// Each entry with its parents.
    pub fn iter(&self) -> impl Iterator<Item = (u64, &[u64])> {
        let counted = self.blocks.iter().flat_map(|Block { parents, counts }| {
            let mut rest = &parents[..];
            counts.iter().map(move |&count| {
                let (parents, later) = rest.split_at(count.into());
                rest = later;
                parents
            })
        });
        self.keys.iter().copied().zip(counted.chain(iter::repeat(&[][..])))
    }

    /// The members that need no key of their own, in ascending order: whoever asks for one also asks for its parents, and
    /// of those there are enough left. The members are sorted, and each has an entry here. `is_enough` gets the digest of
    /// a member and those of its parents that are members, too. It must say yes to more parents if it does to fewer.
    ///
    /// # Errors
    /// [`Error::TooLarge`](crate::Error::TooLarge) without the memory.
    pub fn covered(&self, members: &[u64], is_enough: &dyn Fn(u64, &[u64]) -> bool) -> Result<Vec<u64>> {
        let mut covered = Vec::new();
        if self.parents() == 0 {
            return Ok(covered);
        }
        let listed = Set::of(members)?;
        let mut left = Vec::new();
        let mut is_covered = |key, parents: &[u64], is_left: &dyn Fn(u64) -> bool| -> Result<bool> {
            left.clear();
            for &parent in parents.iter().filter(|&&parent| listed.has(parent) && is_left(parent)) {
                push(&mut left, parent)?;
            }
            Ok(is_enough(key, &left))
        };
        for (key, parents) in self.iter().filter(|(_, parents)| !parents.is_empty()) {
            if is_covered(key, parents, &|_| true)? && listed.has(key) {
                push(&mut covered, key)?;
            }
        }
        sort(&mut covered)?;
        // Parents that are covered themselves don't count: theirs are parents of the same entries. That matters only if
        // two keys have one digest, as a list can be made to have: then each could be covered by the other. And every
        // entry with this digest must be covered.
        let mut needed = Vec::new();
        let uncertain = Set::of(&covered)?;
        for (key, parents) in self.iter().filter(|(key, _)| uncertain.has(*key)) {
            if !is_covered(key, parents, &|parent| !uncertain.has(parent))? {
                push(&mut needed, key)?;
            }
        }
        sort(&mut needed)?;
        subtract(&mut covered, &needed);
        Ok(covered)
    }
}

/// Sorted digests, of which one is found without a search: a search in many digests waits for memory at each step.
struct Set<'a> {
    digests: &'a [u64],
    /// The first bucket of the digests with each slot, and how many buckets they have.
    slots: [(u32, u32); 32],
    /// Where the digests of each bucket begin, and the last one ends.
    starts: Vec<u32>,
}

impl<'a> Set<'a> {
    fn of(digests: &'a [u64]) -> Result<Self> {
        let mut set = Set { digests, slots: [(0, 0); 32], starts: Vec::new() };
        for &digest in digests {
            set.slots[slots::of(digest) as usize].1 += 1;
        }
        let mut first = 0;
        for (start, buckets) in &mut set.slots {
            *start = first;
            first += *buckets;
        }
        reserve(&mut set.starts, digests.len() + 1)?;
        for (place, &digest) in (0..).zip(digests) {
            let bucket = set.bucket(digest).expect("its slot has been counted");
            set.starts.resize(bucket + 1, place);
        }
        set.starts.resize(digests.len() + 1, digests.len() as u32);
        Ok(set)
    }

    /// By the bits behind the slot, so that it isn't lower than those of lower digests. None if no digest has this slot.
    fn bucket(&self, digest: u64) -> Option<usize> {
        let (first, buckets) = self.slots[slots::of(digest) as usize];
        (buckets > 0).then(|| (first + spread(digest << 5, buckets)) as usize)
    }

    fn has(&self, digest: u64) -> bool {
        self.bucket(digest).is_some_and(|bucket| {
            let [start, end] = [self.starts[bucket], self.starts[bucket + 1]];
            self.digests[start as usize..end as usize].contains(&digest)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(of: &[(u64, &[u64])]) -> Entries {
        let mut entries = Entries::default();
        for (key, parents) in of {
            entries.push_key(*key).unwrap();
            parents.iter().for_each(|&parent| entries.push_parent(parent).unwrap());
        }
        entries
    }

    fn covered(of: &[(u64, &[u64])]) -> Vec<u64> {
        let entries = entries(of);
        let mut members = entries.keys().to_vec();
        sort(&mut members).unwrap();
        entries.covered(&members, &|_, parents| !parents.is_empty()).unwrap()
    }

    /// The digests of two keys may be equal. Then nothing is lost.
    #[test]
    fn what_is_left_out_has_a_parent_that_is_left() {
        assert_eq!(covered(&[(1, &[]), (2, &[1]), (3, &[1, 2]), (4, &[5])]), [2, 3]);
        // Each would be covered by the other, or by itself.
        assert!(covered(&[(1, &[2]), (2, &[1])]).is_empty());
        assert!(covered(&[(1, &[1])]).is_empty());
        // 2 is a parent of 3, and has the digest of a key below 1.
        assert_eq!(covered(&[(1, &[]), (2, &[1]), (3, &[2])]), [2]);
        // One of the two keys with the digest 2 has no parent.
        let [none, one] = [&[][..], &[1][..]];
        for all in [[(1, none), (2, one), (2, none)], [(2, none), (2, one), (1, none)]] {
            assert!(covered(&all).is_empty());
        }
    }

    #[test]
    fn full_blocks_are_followed_by_others() {
        let mut all = Entries::default();
        for key in 0..3 * FULL as u64 {
            all.push_key(key).unwrap();
            (0..key % 3).for_each(|parent| all.push_parent(key + parent).unwrap());
        }
        assert_eq!((all.blocks.len(), all.parents()), (3, 3 * FULL));
        let is_right = |(key, parents): (u64, &[u64])| parents.iter().copied().eq(key..key + key % 3);
        assert!(all.iter().all(is_right) && all.iter().count() == 3 * FULL);
    }

    #[test]
    fn lists_are_joined_in_order() {
        let (plain, parents) = (entries(&[(1, &[]), (2, &[])]), entries(&[(3, &[1]), (4, &[])]));
        for order in [[&plain, &parents, &plain], [&parents, &plain, &parents]] {
            let mut all = Entries::default();
            order.iter().for_each(|more| all.append((*more).clone()).unwrap());
            let expected: Vec<_> = order.iter().flat_map(|more| more.iter()).collect();
            assert_eq!(all.iter().collect::<Vec<_>>(), expected);
        }
    }
}
