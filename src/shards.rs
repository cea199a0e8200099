//! Sharded filters: a filter that is too large to download, split into many small blobs, of which a query needs one.
//! Which shard holds a key, and the pages that list the shards. FORMAT.md section 12.

use crate::error::{Error, Result};
use crate::fields::Cursor;
use crate::hash::Hashing;
use crate::keys::url;
use crate::profile::Profile;

/// The most shards: 2^16.
pub const MAX_SHARDS: u32 = 1 << 16;
/// How many shards a page lists.
pub const PAGE: usize = 256;
/// The bytes of an [`Entry`] in a page.
pub const ENTRY: usize = 40;
/// The most bytes of a shard: a client fetches the whole of it for one answer.
pub const MAX_SHARD: u32 = 16 << 20;

/// How the keys of a sharded filter are assigned to its shards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sharding {
    profile: Profile,
    hashing: Hashing,
    shards: u32,
}

impl Sharding {
    /// # Errors
    /// [`Error::InvalidParameter`] unless the number of shards is a power of two up to [`MAX_SHARDS`].
    pub fn new(profile: Profile, hashing: impl Into<Hashing>, shards: u32) -> Result<Self> {
        if !shards.is_power_of_two() || shards > MAX_SHARDS {
            return Err(Error::rule("shards must be a power of two, from 1 to 65536"));
        }
        Ok(Sharding { profile, hashing: hashing.into(), shards })
    }

    /// What the keys are.
    pub fn profile(&self) -> Profile {
        self.profile
    }

    /// How keys become digests.
    pub fn hashing(&self) -> &Hashing {
        &self.hashing
    }

    /// The number of shards.
    pub fn shards(&self) -> u32 {
        self.shards
    }

    /// The shard of a key: the first bits of its digest, or, with the profile `url`, of the digest of its
    /// [site](url::site), so that all keys of a URL are in the same shard.
    pub fn shard_of(&self, key: &[u8]) -> u32 {
        let key = if self.profile == Profile::Url { url::site(key) } else { key };
        self.shard_of_digest(self.hashing.whole_digest(key))
    }

    /// The shard of a key with this digest, for any profile except `url`.
    pub fn shard_of_digest(&self, digest: u64) -> u32 {
        // Two shifts, since a shift by 64 bits isn't possible.
        (digest >> 1 >> (63 - self.shards.trailing_zeros())) as u32
    }

    /// How many entries a page has.
    pub fn entries(&self) -> usize {
        PAGE.min(self.shards as usize)
    }

    /// The number of pages.
    pub fn pages(&self) -> usize {
        self.shards as usize / self.entries()
    }
}

/// What a page says of a shard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// The SHA-256 of the blob, which is also the name of its file.
    pub sha256: [u8; 32],
    /// The length of the blob.
    pub bytes: u32,
    /// The number of different keys.
    pub count: u32,
}

impl Entry {
    fn read(fields: &mut Cursor) -> Self {
        Entry {
            sha256: fields.slice(32).try_into().unwrap_or_default(),
            bytes: fields.u32(),
            count: fields.u32(),
        }
    }
}

/// A page: the entries of shards that follow each other.
pub fn write_page(entries: &[Entry]) -> Vec<u8> {
    let bytes =
        |entry: &Entry| [&entry.sha256[..], &entry.bytes.to_le_bytes(), &entry.count.to_le_bytes()].concat();
    entries.iter().flat_map(bytes).collect()
}

/// Reads a page.
///
/// # Errors
/// [`Error::Truncated`] or [`Error::TrailingBytes`] unless the page has exactly `entries` entries, and
/// [`Error::InvalidParameter`] for a shard that is empty or longer than [`MAX_SHARD`].
pub fn read_page(bytes: &[u8], entries: usize) -> Result<Vec<Entry>> {
    (0..entries).map(|number| read_entry(bytes, entries, number)).collect()
}

/// Reads entry `number` of a page of `entries` entries. Fails as [`read_page`].
fn read_entry(bytes: &[u8], entries: usize, number: usize) -> Result<Entry> {
    let (needed, have) = ((entries * ENTRY) as u64, bytes.len() as u64);
    if have < needed {
        return Err(Error::Truncated { needed, have });
    }
    if have > needed {
        return Err(Error::TrailingBytes { extra: have - needed });
    }
    let mut fields = Cursor::new(&bytes[number * ENTRY..]);
    let entry = Entry::read(&mut fields);
    fields.rule((1..=MAX_SHARD).contains(&entry.bytes), "a shard must have 1 byte to 16 MiB");
    fields.done()?;
    Ok(entry)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_bits() {
        for (shards, expected) in [(1, 0), (2, 1), (256, 0xfe), (65536, 0xfedc)] {
            let sharding = Sharding::new(Profile::Raw, 0, shards).unwrap();
            assert_eq!(sharding.shard_of_digest(0xfedc_ba98_7654_3210), expected);
            assert_eq!(sharding.entries() * sharding.pages(), shards as usize);
        }
        let urls = Sharding::new(Profile::Url, 0, 65536).unwrap();
        assert_eq!(urls.shard_of(b"www.evil.example/a/b?c"), urls.shard_of(b"evil.example/"));
        for shards in [0, 3, 1 << 17] {
            assert_eq!(Sharding::new(Profile::Raw, 0, shards).unwrap_err().code(), "invalid_parameter");
        }
    }

    #[test]
    fn pages() {
        let entry = |i: u32| Entry { sha256: [i as u8; 32], bytes: 1 + i, count: 2 * i };
        let entries: Vec<_> = (0..256).map(entry).collect();
        let bytes = write_page(&entries);
        assert_eq!(bytes.len(), 256 * ENTRY);
        assert_eq!(bytes[40..80], [&[1; 32][..], &[2, 0, 0, 0, 2, 0, 0, 0]].concat());
        assert_eq!(read_page(&bytes, 256).unwrap(), entries);
        let code = |bytes: &[u8], entries| read_page(bytes, entries).unwrap_err().code();
        assert_eq!(code(&bytes, 255), "trailing_bytes");
        assert_eq!(code(&bytes, 257), "truncated");
        for bytes_of_shard in [0, MAX_SHARD + 1] {
            let page = write_page(&[Entry { bytes: bytes_of_shard, ..entries[0] }]);
            assert_eq!(code(&page, 1), "invalid_parameter");
        }
    }
}
