//! Bytes to a filter and back: the one file that knows offsets. FORMAT.md, which is normative, says the same in
//! words.
//!
//! ```text
//! offset  size
//!      0     4  magic b5 42 4c 4d
//!      4     1  version, 1
//!      5     1  kind: 1 bloom
//!      6     1  profile: 0 raw, 1 url, 2 password
//!      7     1  flags: 1 name, 2 creation time; the others 0
//!      8     8  seed
//!     16     5  bloom: bits (u32), hashes (u8)
//!      …  1 + n  with flag 1: length and UTF-8 bytes of the name
//!      …     8  with flag 2: creation time, milliseconds since 1970
//!      …        payload; bloom: ceil(bits / 8) bytes
//!      …     8  XXH64, seed 0, of everything before
//! ```
//!
//! All numbers are little-endian. A decoder checks in this order: magic, version, kind, parameters, lengths,
//! checksum, trailing bytes; it allocates nothing before the lengths are known to be there.

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;

use crate::error::{Error, Result, reserve};
use crate::filters::{BloomFilter, Filter, Kind};
use crate::hash::{Checksum, digest};
use crate::params::check_shape;

const MAGIC: [u8; 4] = [0xb5, b'B', b'L', b'M'];
const VERSION: u8 = 1;
const HAS_NAME: u8 = 1;
const HAS_CREATED_AT: u8 = 2;
const CHECKSUM: usize = 8;
const NAME_TOO_LONG: Error = Error::InvalidParameter {
    rule: "name must be at most 255 bytes of UTF-8",
};

/// What the keys of a blob are, and so how an input is turned into keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Profile {
    /// Bytes as they are given.
    #[default]
    Raw,
}

impl Profile {
    /// The name of the profile: `"raw"`.
    pub fn name(self) -> &'static str {
        match self {
            Profile::Raw => "raw",
        }
    }
}

/// A filter with what its blob says about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blob {
    /// What the keys are.
    pub profile: Profile,
    /// A name for people, at most 255 bytes.
    pub name: Option<String>,
    /// When the list was made: milliseconds since 1970. Given by the caller, never read from a clock.
    pub created_at: Option<u64>,
    /// The filter.
    pub filter: Filter,
}

impl<F: Into<Filter>> From<F> for Blob {
    fn from(filter: F) -> Self {
        Blob {
            profile: Profile::Raw,
            name: None,
            created_at: None,
            filter: filter.into(),
        }
    }
}

impl Blob {
    /// Reads a blob. The bytes are taken, so that the largest part of them becomes the filter without a copy.
    ///
    /// # Errors
    /// One of [`Error::NotAFilter`], [`Error::UnsupportedVersion`], [`Error::UnsupportedKind`],
    /// [`Error::InvalidParameter`], [`Error::Truncated`], [`Error::ChecksumMismatch`], [`Error::TrailingBytes`],
    /// looked for in this order.
    pub fn decode(mut bytes: Vec<u8>) -> Result<Self> {
        let header = Header::read(&bytes)?;
        let end = header.start + header.payload;
        let total = (end + CHECKSUM) as u64;
        let (body, rest) = bytes.split_at_checked(end).unwrap_or((&bytes, &[]));
        let Some((&stored, rest)) = rest.split_first_chunk::<CHECKSUM>() else {
            return Err(Error::Truncated {
                needed: total,
                have: bytes.len() as u64,
            });
        };
        let (stored, computed) = (u64::from_le_bytes(stored), digest(0, body));
        if stored != computed {
            return Err(Error::ChecksumMismatch { stored, computed });
        }
        if !rest.is_empty() {
            return Err(Error::TrailingBytes {
                extra: rest.len() as u64,
            });
        }
        let Header {
            profile,
            seed,
            params: Params::Bloom { bits, hashes },
            name,
            created_at,
            start,
            ..
        } = header;
        bytes.truncate(end);
        bytes.drain(..start);
        let filter = BloomFilter::from_parts(seed, bits, hashes, bytes)?.into();
        Ok(Blob {
            profile,
            name,
            created_at,
            filter,
        })
    }

    /// Sets the name and the creation time.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] for a name of more than 255 bytes; nothing is changed then.
    pub fn describe(&mut self, name: Option<String>, created_at: Option<u64>) -> Result<()> {
        if name
            .as_ref()
            .is_some_and(|name| name.len() > usize::from(u8::MAX))
        {
            return Err(NAME_TOO_LONG);
        }
        self.name = name;
        self.created_at = created_at;
        Ok(())
    }

    /// The length in bytes of the blob that starts with `prefix`, or `None` if more of it must be seen first;
    /// 512 bytes are always enough.
    ///
    /// # Errors
    /// Those of [`Blob::decode`] that the prefix shows.
    pub fn expected_length(prefix: &[u8]) -> Result<Option<u64>> {
        match Header::read(prefix) {
            Ok(header) => Ok(Some((header.start + header.payload + CHECKSUM) as u64)),
            Err(Error::Truncated { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Writes the blob. Equal filters with equal metadata give equal bytes.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] for a name of more than 255 bytes, [`Error::TooLarge`] without the memory.
    pub fn encode(&self) -> Result<Vec<u8>> {
        let head = self.head()?;
        let Filter::Bloom(bloom) = &self.filter;
        let payload = bloom.as_bytes();
        let mut bytes = Vec::new();
        reserve(&mut bytes, head.len() + payload.len() + CHECKSUM)?;
        bytes.extend_from_slice(&head);
        bytes.extend_from_slice(payload);
        let checksum = digest(0, &bytes);
        bytes.extend_from_slice(&checksum.to_le_bytes());
        Ok(bytes)
    }

    /// The length and the checksum of [`Blob::encode`], without writing it.
    pub(crate) fn length_and_checksum(&self) -> Result<(u64, u64)> {
        let head = self.head()?;
        let Filter::Bloom(bloom) = &self.filter;
        let payload = bloom.as_bytes();
        let mut checksum = Checksum::default();
        checksum.update(&head);
        checksum.update(payload);
        Ok(((head.len() + payload.len() + CHECKSUM) as u64, checksum.finish()))
    }

    /// Everything before the payload.
    fn head(&self) -> Result<Vec<u8>> {
        let Filter::Bloom(bloom) = &self.filter;
        let flags = if self.name.is_some() { HAS_NAME } else { 0 }
            | if self.created_at.is_some() {
                HAS_CREATED_AT
            } else {
                0
            };
        let mut head = Vec::with_capacity(64);
        head.extend_from_slice(&MAGIC);
        head.extend_from_slice(&[VERSION, self.filter.kind() as u8, self.profile as u8, flags]);
        head.extend_from_slice(&bloom.seed().to_le_bytes());
        head.extend_from_slice(&bloom.bits().to_le_bytes());
        head.push(bloom.hashes() as u8);
        if let Some(name) = &self.name {
            let length = u8::try_from(name.len()).map_err(|_| NAME_TOO_LONG)?;
            head.push(length);
            head.extend_from_slice(name.as_bytes());
        }
        if let Some(time) = self.created_at {
            head.extend_from_slice(&time.to_le_bytes());
        }
        Ok(head)
    }
}

/// A blob's bytes before the payload, checked field by field.
struct Header {
    profile: Profile,
    seed: u64,
    params: Params,
    name: Option<String>,
    created_at: Option<u64>,
    /// Where the payload starts.
    start: usize,
    /// The payload's length in bytes.
    payload: usize,
}

/// The parameters that only one kind has.
enum Params {
    Bloom { bits: u32, hashes: u32 },
}

impl Header {
    fn read(bytes: &[u8]) -> Result<Self> {
        let mut cursor = Cursor { bytes, at: 0 };
        let there = bytes.len().min(MAGIC.len());
        if bytes[..there] != MAGIC[..there] {
            return Err(Error::NotAFilter);
        }
        cursor.take::<4>()?;
        let version = cursor.u8()?;
        if version != VERSION {
            return Err(Error::UnsupportedVersion { version });
        }
        let kind = cursor.u8()?;
        if kind != Kind::Bloom as u8 {
            return Err(Error::UnsupportedKind { kind });
        }
        let profile = match cursor.u8()? {
            0 => Profile::Raw,
            _ => {
                return Err(Error::InvalidParameter {
                    rule: "the profile must be 0 (raw)",
                });
            }
        };
        let flags = cursor.u8()?;
        if flags & !(HAS_NAME | HAS_CREATED_AT) != 0 {
            return Err(Error::InvalidParameter {
                rule: "the flags must be made of 1 and 2",
            });
        }
        let seed = cursor.u64()?;
        let (bits, hashes) = (cursor.u32()?, u32::from(cursor.u8()?));
        check_shape(bits, hashes)?;
        let name = if flags & HAS_NAME != 0 {
            Some(cursor.name()?)
        } else {
            None
        };
        let created_at = if flags & HAS_CREATED_AT != 0 {
            Some(cursor.u64()?)
        } else {
            None
        };
        let payload = bits.div_ceil(8) as usize;
        Ok(Header {
            profile,
            seed,
            params: Params::Bloom { bits, hashes },
            name,
            created_at,
            start: cursor.at,
            payload,
        })
    }
}

/// Reads fields in order and never past the end.
struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Cursor<'_> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N]> {
        let rest = &self.bytes[self.at..];
        let Some(&field) = rest.first_chunk::<N>() else {
            return Err(self.truncated(N));
        };
        self.at += N;
        Ok(field)
    }

    fn u8(&mut self) -> Result<u8> {
        self.take::<1>().map(|[byte]| byte)
    }

    fn u32(&mut self) -> Result<u32> {
        self.take().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Result<u64> {
        self.take().map(u64::from_le_bytes)
    }

    fn name(&mut self) -> Result<String> {
        let length = usize::from(self.u8()?);
        let Some(name) = self.bytes[self.at..].get(..length) else {
            return Err(self.truncated(length));
        };
        self.at += length;
        match core::str::from_utf8(name) {
            Ok(name) => Ok(name.to_owned()),
            Err(_) => Err(Error::InvalidParameter {
                rule: "the name must be UTF-8",
            }),
        }
    }

    fn truncated(&self, field: usize) -> Error {
        Error::Truncated {
            needed: (self.at + field) as u64,
            have: self.bytes.len() as u64,
        }
    }
}
