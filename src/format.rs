//! Bytes to a filter and back: the one file that knows offsets. FORMAT.md, which is normative, says the same in
//! words.
//!
//! ```text
//! offset  size
//!      0     4  magic b5 42 4c 4d
//!      4     1  version, 1
//!      5     1  kind: 1 bloom, 2 counting, 3 scalable, 4 cuckoo, 5 ribbon
//!      6     1  profile: 0 raw
//!      7     1  flags: 1 name, 2 creation time; the others 0
//!      8     8  seed
//!     16        parameters of the kind
//!               bloom:     bits (u32), hashes (u8)
//!               counting:  bits (u32), hashes (u8), counter bits (u8)
//!               scalable:  initial capacity (u32), growth (u8), fpr (f64), tightening (f64), slices (u8);
//!                          keys in the newest slice (u64)
//!               cuckoo:    buckets (u32), fingerprint bits (u8)
//!               ribbon:    count (u32), fpr (f64), salt (u32), attempt (u8), layers (u8); rows (u32) of each
//!      …  1 + n  with flag 1: length and UTF-8 bytes of the name
//!      …     8  with flag 2: creation time, milliseconds since 1970
//!      …        payload: the filter's bytes; their length follows from the parameters
//!      …     8  XXH64, seed 0, of everything before
//! ```
//!
//! All numbers are little-endian. A decoder checks in this order: magic, version, kind, parameters, lengths,
//! checksum, trailing bytes; it allocates nothing of a size that the blob names before as many bytes are there.

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;

use crate::error::{Error, Result, reserve};
use crate::filters::{BloomFilter, Filter, RibbonFilter};
#[cfg(feature = "dynamic")]
use crate::filters::{CountingBloomFilter, CuckooFilter, ScalableBloomFilter, cuckoo, scalable::Plan};
use crate::hash::{Checksum, digest};
use crate::params::check_shape;

const MAGIC: [u8; 4] = [0xb5, b'B', b'L', b'M'];
const VERSION: u8 = 1;
const HAS_NAME: u8 = 1;
const HAS_CREATED_AT: u8 = 2;
const CHECKSUM: usize = 8;
const TOO_MANY_LAYERS: Error = Error::InvalidParameter { rule: "a ribbon filter must have at most 4 layers" };
const NAME_TOO_LONG: Error = Error::InvalidParameter { rule: "name must be at most 255 bytes of UTF-8" };

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
#[derive(Debug, Clone, PartialEq)]
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
        Blob { profile: Profile::Raw, name: None, created_at: None, filter: filter.into() }
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
        // An end that no address reaches lies past the bytes that are there all the same.
        let total = header.total();
        let end = usize::try_from(total).map_or(usize::MAX, |total| total - CHECKSUM);
        let (body, rest) = bytes.split_at_checked(end).unwrap_or((&bytes, &[]));
        let Some((&stored, rest)) = rest.split_first_chunk::<CHECKSUM>() else {
            return Err(Error::Truncated { needed: total, have: bytes.len() as u64 });
        };
        let (stored, computed) = (u64::from_le_bytes(stored), digest(0, body));
        if stored != computed {
            return Err(Error::ChecksumMismatch { stored, computed });
        }
        if !rest.is_empty() {
            return Err(Error::TrailingBytes { extra: rest.len() as u64 });
        }
        bytes.truncate(end);
        bytes.drain(..header.start);
        let filter = header.params.filter(header.seed, bytes)?;
        Ok(Blob { profile: header.profile, name: header.name, created_at: header.created_at, filter })
    }

    /// Sets the name and the creation time.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] for a name of more than 255 bytes; nothing is changed then.
    pub fn describe(&mut self, name: Option<String>, created_at: Option<u64>) -> Result<()> {
        if name.as_ref().is_some_and(|name| name.len() > usize::from(u8::MAX)) {
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
            Ok(header) => Ok(Some(header.total())),
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
        let mut length = head.len() + CHECKSUM;
        for_payload(&self.filter, &mut |part| length += part.len());
        let mut bytes = Vec::new();
        reserve(&mut bytes, length)?;
        bytes.extend_from_slice(&head);
        for_payload(&self.filter, &mut |part| bytes.extend_from_slice(part));
        let checksum = digest(0, &bytes);
        bytes.extend_from_slice(&checksum.to_le_bytes());
        Ok(bytes)
    }

    /// The length and the checksum of [`Blob::encode`], without writing it.
    pub(crate) fn length_and_checksum(&self) -> Result<(u64, u64)> {
        let head = self.head()?;
        let mut length = (head.len() + CHECKSUM) as u64;
        let mut checksum = Checksum::default();
        checksum.update(&head);
        for_payload(&self.filter, &mut |part| {
            length += part.len() as u64;
            checksum.update(part);
        });
        Ok((length, checksum.finish()))
    }

    /// Everything before the payload.
    fn head(&self) -> Result<Vec<u8>> {
        let flags = if self.name.is_some() { HAS_NAME } else { 0 }
            | if self.created_at.is_some() { HAS_CREATED_AT } else { 0 };
        let mut head = Vec::with_capacity(64);
        head.extend_from_slice(&MAGIC);
        head.extend_from_slice(&[VERSION, self.filter.kind() as u8, self.profile as u8, flags]);
        head.extend_from_slice(&self.filter.seed().to_le_bytes());
        write_params(&self.filter, &mut head);
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

fn write_params(filter: &Filter, head: &mut Vec<u8>) {
    match filter {
        Filter::Bloom(bloom) => {
            head.extend_from_slice(&bloom.bits().to_le_bytes());
            head.push(bloom.hashes() as u8);
        }
        #[cfg(feature = "dynamic")]
        Filter::Counting(counting) => {
            head.extend_from_slice(&counting.bits().to_le_bytes());
            head.extend_from_slice(&[counting.hashes() as u8, counting.counter_bits() as u8]);
        }
        #[cfg(feature = "dynamic")]
        Filter::Scalable(scalable) => {
            head.extend_from_slice(&scalable.initial_capacity().to_le_bytes());
            head.push(scalable.growth() as u8);
            head.extend_from_slice(&scalable.fpr().to_le_bytes());
            head.extend_from_slice(&scalable.tightening().to_le_bytes());
            head.push(scalable.slices().len() as u8);
            let newest = scalable.slices().last().map_or(0, |(_, count)| count);
            head.extend_from_slice(&newest.to_le_bytes());
        }
        #[cfg(feature = "dynamic")]
        Filter::Cuckoo(cuckoo) => {
            head.extend_from_slice(&cuckoo.buckets().to_le_bytes());
            head.push(cuckoo.fingerprint_bits() as u8);
        }
        Filter::Ribbon(ribbon) => {
            head.extend_from_slice(&ribbon.count().to_le_bytes());
            head.extend_from_slice(&ribbon.fpr().to_le_bytes());
            head.extend_from_slice(&ribbon.salt().to_le_bytes());
            head.extend_from_slice(&[ribbon.attempt(), ribbon.rows().len() as u8]);
            ribbon.rows().for_each(|rows| head.extend_from_slice(&rows.to_le_bytes()));
        }
    }
}

/// Hands over the payload, in one or more parts.
fn for_payload(filter: &Filter, take: &mut dyn FnMut(&[u8])) {
    match filter {
        Filter::Bloom(bloom) => take(bloom.as_bytes()),
        #[cfg(feature = "dynamic")]
        Filter::Counting(counting) => take(counting.as_bytes()),
        #[cfg(feature = "dynamic")]
        Filter::Scalable(scalable) => scalable.slices().for_each(|(slice, _)| take(slice.as_bytes())),
        #[cfg(feature = "dynamic")]
        Filter::Cuckoo(cuckoo) => take(cuckoo.as_bytes()),
        Filter::Ribbon(ribbon) => take(ribbon.as_bytes()),
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
}

impl Header {
    /// The bytes of the whole blob.
    fn total(&self) -> u64 {
        self.params.payload() + (self.start + CHECKSUM) as u64
    }

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
        let known = matches!(kind, 1 | 5) || cfg!(feature = "dynamic") && matches!(kind, 2..=4);
        if !known {
            return Err(Error::UnsupportedKind { kind });
        }
        let profile = match cursor.u8()? {
            0 => Profile::Raw,
            _ => return Err(Error::InvalidParameter { rule: "the profile must be 0 (raw)" }),
        };
        let flags = cursor.u8()?;
        if flags & !(HAS_NAME | HAS_CREATED_AT) != 0 {
            return Err(Error::InvalidParameter { rule: "the flags must be made of 1 and 2" });
        }
        let seed = cursor.u64()?;
        let params = Params::read(kind, seed, &mut cursor)?;
        let name = if flags & HAS_NAME != 0 { Some(cursor.name()?) } else { None };
        let created_at = if flags & HAS_CREATED_AT != 0 { Some(cursor.u64()?) } else { None };
        Ok(Header { profile, seed, params, name, created_at, start: cursor.at })
    }
}

/// The parameters that only one kind has.
enum Params {
    Bloom {
        bits: u32,
        hashes: u32,
    },
    #[cfg(feature = "dynamic")]
    Counting {
        bits: u32,
        hashes: u32,
        counter_bits: u32,
        payload: u64,
    },
    #[cfg(feature = "dynamic")]
    Scalable {
        plan: Plan,
        slices: u32,
        newest: u64,
        payload: u64,
    },
    #[cfg(feature = "dynamic")]
    Cuckoo {
        buckets: u32,
        fingerprint_bits: u32,
        payload: u64,
    },
    Ribbon(RibbonFilter),
}

impl Params {
    fn read(kind: u8, seed: u64, cursor: &mut Cursor) -> Result<Self> {
        Ok(match kind {
            #[cfg(feature = "dynamic")]
            2 => {
                let (bits, hashes, counter_bits) = (cursor.u32()?, cursor.u8()?.into(), cursor.u8()?.into());
                check_shape(bits, hashes)?;
                let payload = CountingBloomFilter::length(bits, counter_bits)? as u64;
                Params::Counting { bits, hashes, counter_bits, payload }
            }
            #[cfg(feature = "dynamic")]
            3 => {
                let (initial_capacity, growth) = (cursor.u32()?, cursor.u8()?.into());
                let (fpr, tightening) = (cursor.f64()?, cursor.f64()?);
                let plan = Plan { initial_capacity, fpr, growth, tightening };
                let (slices, newest) = (cursor.u8()?.into(), cursor.u64()?);
                let mut payload = 0;
                for i in 0..slices {
                    payload += u64::from(plan.slice(i)?.1.bytes);
                }
                Params::Scalable { plan, slices, newest, payload }
            }
            #[cfg(feature = "dynamic")]
            4 => {
                let (buckets, fingerprint_bits) = (cursor.u32()?, cursor.u8()?.into());
                let payload = cuckoo::payload(buckets, fingerprint_bits)? as u64;
                Params::Cuckoo { buckets, fingerprint_bits, payload }
            }
            5 => {
                let (count, fpr, salt) = (cursor.u32()?, cursor.f64()?, cursor.u32()?);
                let (attempt, layers) = (cursor.u8()?, cursor.u8()?);
                let mut rows = [0; 4];
                let rows = rows.get_mut(..usize::from(layers)).ok_or(TOO_MANY_LAYERS)?;
                for rows in rows.iter_mut() {
                    *rows = cursor.u32()?;
                }
                Params::Ribbon(RibbonFilter::from_parts(
                    seed,
                    count,
                    fpr,
                    salt,
                    attempt,
                    rows.iter().copied(),
                )?)
            }
            _ => {
                let (bits, hashes) = (cursor.u32()?, cursor.u8()?.into());
                check_shape(bits, hashes)?;
                Params::Bloom { bits, hashes }
            }
        })
    }

    /// The length of the payload in bytes.
    fn payload(&self) -> u64 {
        match self {
            Params::Bloom { bits, .. } => bits.div_ceil(8).into(),
            #[cfg(feature = "dynamic")]
            Params::Counting { payload, .. }
            | Params::Scalable { payload, .. }
            | Params::Cuckoo { payload, .. } => *payload,
            Params::Ribbon(ribbon) => ribbon.byte_length() as u64,
        }
    }

    /// The filter with these parameters and this payload, which is as long as it should be.
    fn filter(self, seed: u64, bytes: Vec<u8>) -> Result<Filter> {
        Ok(match self {
            Params::Bloom { bits, hashes } => BloomFilter::from_parts(seed, bits, hashes, bytes)?.into(),
            #[cfg(feature = "dynamic")]
            Params::Counting { bits, hashes, counter_bits, .. } => {
                CountingBloomFilter::from_parts(seed, bits, hashes, counter_bits, bytes)?.into()
            }
            #[cfg(feature = "dynamic")]
            Params::Scalable { plan, slices, newest, .. } => {
                let (mut parts, mut rest) = (Vec::new(), &bytes[..]);
                reserve(&mut parts, slices as usize)?;
                for i in 0..slices {
                    let (capacity, size) = plan.slice(i)?;
                    let (part, after) = rest.split_at(size.bytes as usize);
                    let mut slice = Vec::new();
                    reserve(&mut slice, part.len())?;
                    slice.extend_from_slice(part);
                    parts.push((if i + 1 == slices { newest } else { capacity }, slice));
                    rest = after;
                }
                ScalableBloomFilter::from_parts(seed, plan, parts)?.into()
            }
            #[cfg(feature = "dynamic")]
            Params::Cuckoo { buckets, fingerprint_bits, .. } => {
                CuckooFilter::from_parts(seed, buckets, fingerprint_bits, bytes)?.into()
            }
            Params::Ribbon(ribbon) => ribbon.with_bytes(bytes)?.into(),
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

    fn f64(&mut self) -> Result<f64> {
        self.take().map(f64::from_le_bytes)
    }

    fn name(&mut self) -> Result<String> {
        let length = usize::from(self.u8()?);
        let Some(name) = self.bytes[self.at..].get(..length) else {
            return Err(self.truncated(length));
        };
        self.at += length;
        match core::str::from_utf8(name) {
            Ok(name) => Ok(name.to_owned()),
            Err(_) => Err(Error::InvalidParameter { rule: "the name must be UTF-8" }),
        }
    }

    fn truncated(&self, field: usize) -> Error {
        Error::Truncated { needed: (self.at + field) as u64, have: self.bytes.len() as u64 }
    }
}
