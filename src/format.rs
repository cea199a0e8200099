//! Bytes to a filter and back: the only file that knows offsets. FORMAT.md, which is normative, has the layout. A decoder
//! allocates no memory of a size that the blob states before that many bytes are there.

mod layers;
mod tags;

use crate::error::{Error, Result};
use crate::fields::{Cursor, Fields, Pieces};
use crate::filter::{Filter, NAME_TOO_LONG, text};
use crate::filters::foreign::{KeyType, Part, Scheme};
use crate::filters::scalable::Plan;
use crate::filters::{
    AnyFilter, BloomFilter, CountingBloomFilter, CuckooFilter, ForeignFilter, Payload, RibbonFilter,
    ScalableBloomFilter,
};
use crate::hash::{Access, Checksum, Hashing, Secret};
use crate::kind::Kind;
use crate::layers::{BASE_SALT, Names, Stack, Tagging};
use crate::profile::Profile;
use crate::slots::Slots;
use crate::vectors::{append, copied, push, reserve, shared};

/// What blobs and deltas begin with.
pub const MAGIC: [u8; 4] = *b"\xb5BLM";
const VERSION: u8 = 1;
/// The number of the kind that is no filter.
const DELTA: u8 = 7;
const HAS_NAME: u16 = 1;
const HAS_CREATED_AT: u16 = 2;
const HAS_LAYERS: u16 = 16;
const IS_KEYED: u16 = 32;
const HAS_SLOTS: u16 = 64;
const HAS_TAGS: u16 = 128;
const ALL_FLAGS: u16 =
    HAS_NAME | HAS_CREATED_AT | Profile::FLAGS | HAS_LAYERS | IS_KEYED | HAS_SLOTS | HAS_TAGS;
const CHECKSUM: usize = 4;

/// A blob's id.
pub(crate) fn id(length: u64, checksum: u32) -> u64 {
    length << 32 | u64::from(checksum)
}

/// Whether bytes begin like a delta.
pub(crate) fn is_delta(bytes: &[u8]) -> bool {
    bytes.starts_with(&MAGIC) && bytes.get(5) == Some(&DELTA)
}

const PROFILE_RULE: &str = "the profile must be 0 (raw), 1 (url) or 2 (password)";
const SLOTS_RULE: &str = "only the keys of URLs in ribbon filters have slots";
const TAGS_RULE: &str = "only ribbon filters have tags";

impl Filter {
    /// Reads a blob. The bytes are taken, so that the largest part of them becomes the filter without a copy.
    ///
    /// # Errors
    /// [`Error::NotAFilter`], [`Error::UnsupportedVersion`], [`Error::UnsupportedKind`], [`Error::SecretRequired`],
    /// [`Error::InvalidParameter`], [`Error::Truncated`], [`Error::ChecksumMismatch`], [`Error::TrailingBytes`], looked for
    /// in this order; [`Error::WrongKind`] for a delta, and [`Error::TooLarge`] without the memory.
    ///
    /// Of a blob that was whole once, all but [`Error::SecretRequired`] may mean damage, such as
    /// [`Error::InvalidParameter`] in the header, which is read before the checksum: fetch it again.
    pub fn decode(bytes: Vec<u8>) -> Result<Self> {
        Self::decode_hashed(bytes, Checksum::default(), None)
    }

    /// Reads the blob of a keyed filter.
    ///
    /// # Errors
    /// Those of [`Filter::decode`], with [`Error::WrongSecret`] instead of [`Error::SecretRequired`]: for another secret,
    /// and for a blob that isn't keyed.
    ///
    /// ```
    /// use bloom_wasm::hash::{Hashing, Secret};
    /// use bloom_wasm::{Filter, BloomFilter, Error};
    ///
    /// let secret = Secret::from(*b"0123456789abcdef");
    /// let mut filter = BloomFilter::with_capacity(1_000, 0.01, Hashing::keyed(&secret, 0x5eed))?;
    /// filter.add(b"evil.example");
    /// let bytes = Filter::from(filter).encode()?;
    ///
    /// assert_eq!(Filter::decode(bytes.clone()), Err(Error::SecretRequired));
    /// assert_eq!(Filter::decode_keyed(bytes.clone(), &Secret::from([0; 16])), Err(Error::WrongSecret));
    /// assert!(Filter::decode_keyed(bytes, &secret)?.stack().has(b"evil.example"));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn decode_keyed(bytes: Vec<u8>, secret: &Secret) -> Result<Self> {
        Self::decode_hashed(bytes, Checksum::default(), Some(secret))
    }

    /// As [`Filter::decode`] or [`Filter::decode_keyed`], with a checksum that has already taken the first bytes.
    pub(crate) fn decode_hashed(bytes: Vec<u8>, checksum: Checksum, secret: Option<&Secret>) -> Result<Self> {
        Self::decode_part(bytes, checksum, secret, Names::default())
    }

    /// As [`Filter::decode`], for a blob that was written with this key of SipHash: see [`Hashing::with_key`].
    #[allow(dead_code)] // only src/wasm/ needs it
    pub(crate) fn decode_as(bytes: Vec<u8>, hashing: Hashing) -> Result<Self> {
        let (blob, _) = Self::decode_any(bytes, Checksum::default(), Access::As(hashing), Names::default())?;
        Ok(blob)
    }

    /// Reads a shard of a filter with tags of these names. A blob that brings names of its own is no shard; it then has
    /// more names than these.
    ///
    /// # Errors
    /// Those of [`Filter::decode`] and [`Filter::decode_keyed`].
    pub fn decode_shard(bytes: Vec<u8>, secret: Option<&Secret>, tags: &[String]) -> Result<Self> {
        let mut names = Names::default();
        tags.iter().try_for_each(|name| names.push(name))?;
        Self::decode_part(bytes, Checksum::default(), secret, names)
    }

    pub(crate) fn decode_part(
        bytes: Vec<u8>,
        checksum: Checksum,
        secret: Option<&Secret>,
        names: Names,
    ) -> Result<Self> {
        match Self::decode_any(bytes, checksum, Access::Secret(secret), names)? {
            (blob, None) => Ok(blob),
            (_, Some(_)) => Err(Error::WrongKind { kind: "delta" }),
        }
    }

    /// Reads a blob of any kind. A delta has the id of its parent, and its layers are over an empty filter. `names` are
    /// those of tags that are stored elsewhere.
    pub(crate) fn decode_any(
        mut bytes: Vec<u8>,
        checksum: Checksum,
        access: Access,
        names: Names,
    ) -> Result<(Self, Option<u64>)> {
        let (mut blob, parent, start) = Self::shaped(&bytes, access, names)?;
        let needed = blob.length(start);
        let end = usize::try_from(needed - CHECKSUM as u64).ok();
        let parts = end.and_then(|end| bytes.split_at_checked(end));
        let Some((body, (&stored, extra))) =
            parts.and_then(|(body, rest)| Some((body, rest.split_first_chunk()?)))
        else {
            return Err(Error::Truncated { needed, have: bytes.len() as u64 });
        };
        let (stored, computed) = (u32::from_le_bytes(stored), checksum.finish(body));
        if stored != computed {
            return Err(Error::ChecksumMismatch { stored: stored.into(), computed: computed.into() });
        }
        if !extra.is_empty() {
            return Err(Error::TrailingBytes { extra: extra.len() as u64 });
        }
        let is_layered = !blob.stack().layers().is_empty();
        let mut at = start + blob.stack().base().byte_length();
        for level in blob.stack_mut().levels_mut() {
            let from = at;
            at += level.byte_length();
            level.set_bytes(copied(&bytes[from..at])?.into())?;
        }
        let base = blob.stack_mut().unshared_base();
        bytes.truncate(start + base.byte_length());
        // Layers have copied their part, and there may be far more bytes than the base's.
        let payload = if is_layered { copied(&bytes[start..])?.into() } else { Payload::after(start, bytes) };
        base.set_bytes(payload)?;
        blob.known_id = Some(id(needed, stored));
        Ok((blob, parent))
    }

    /// The length in bytes of the blob that starts with `prefix`, or `None` if more of it must be seen first;
    /// 512 bytes are always enough for one of our own kinds without layers and tags.
    ///
    /// # Errors
    /// Those of [`Filter::decode`] that the prefix shows.
    pub fn expected_length(prefix: &[u8]) -> Result<Option<u64>> {
        Self::expected(prefix, None)
    }

    /// As [`Filter::expected_length`], for the blob of a keyed filter.
    ///
    /// # Errors
    /// Those of [`Filter::decode_keyed`] that the prefix shows.
    pub fn expected_length_keyed(prefix: &[u8], secret: &Secret) -> Result<Option<u64>> {
        Self::expected(prefix, Some(secret))
    }

    pub(crate) fn expected(prefix: &[u8], secret: Option<&Secret>) -> Result<Option<u64>> {
        match Self::shaped(prefix, Access::Secret(secret), Names::default()) {
            Ok((blob, _, start)) => Ok(Some(blob.length(start))),
            Err(Error::Truncated { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Writes the blob. Equal filters with equal metadata give equal bytes.
    ///
    /// # Errors
    /// [`Error::TooLarge`] without the memory.
    pub fn encode(&self) -> Result<Vec<u8>> {
        self.encode_any(None)
    }

    /// Writes the blob or, with the id of a parent, the delta of its layers; see [`Filter::decode_any`].
    pub(crate) fn encode_any(&self, parent: Option<u64>) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        reserve(&mut bytes, self.length_with(parent)? as usize)?;
        self.write(parent, &mut |part| append(&mut bytes, part))?;
        Ok(bytes)
    }

    /// Hands the blob or delta to `run`, piece by piece. This takes no memory.
    pub(crate) fn write(&self, parent: Option<u64>, run: Pieces) -> Result<()> {
        let checksum = self.write_body(parent, run)?;
        run(&checksum.to_le_bytes())
    }

    /// Hands all but the checksum to `run`, and returns that.
    fn write_body(&self, parent: Option<u64>, run: Pieces) -> Result<u32> {
        let known = self.known_id.filter(|_| parent.is_none());
        let mut checksum = Checksum::default();
        let mut hashed = |part: &[u8]| {
            if known.is_none() {
                checksum.add(part);
            }
            run(part)
        };
        self.header(true, parent, &mut hashed)?;
        self.payload(&mut hashed)?;
        Ok(known.map_or_else(|| checksum.value(), |id| id as u32))
    }

    /// The length of the whole blob in bytes.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] for a filter that no blob can hold, which nothing makes.
    pub fn byte_length(&self) -> Result<u64> {
        self.length_with(None)
    }

    /// The length of the blob or delta in bytes.
    fn length_with(&self, parent: Option<u64>) -> Result<u64> {
        let mut start = 0;
        self.header(true, parent, &mut |part| {
            start += part.len();
            Ok(())
        })?;
        Ok(self.length(start))
    }

    /// What tells blobs apart: the length in bytes, modulo 2^32, and the checksum, 32 bits each. If the blob was
    /// changed since it was read, it is hashed again.
    ///
    /// # Errors
    /// Those of [`Filter::byte_length`].
    pub fn id(&self) -> Result<u64> {
        if let Some(id) = self.known_id {
            return Ok(id);
        }
        Ok(id(self.byte_length()?, self.write_body(None, &mut |_| Ok(()))?))
    }

    /// Whether they have the same profile and equal filters: equal bytes, except for name and creation time.
    ///
    /// # Errors
    /// [`Error::TooLarge`] without the memory for two headers.
    pub fn equals(&self, other: &Self) -> Result<bool> {
        let header = |filter: &Self| {
            let mut bytes = Vec::new();
            filter.header(false, None, &mut |part| append(&mut bytes, part)).map(|()| bytes)
        };
        if header(self)? != header(other)? {
            return Ok(false);
        }
        // Both have the same number of parts.
        let mut parts = Vec::new();
        self.payload(&mut |part| push(&mut parts, part))?;
        let (mut at, mut are_equal) = (0, true);
        other.payload(&mut |part| {
            are_equal &= parts.get(at).is_some_and(|other| *other == part);
            at += 1;
            Ok(())
        })?;
        Ok(are_equal)
    }

    /// Hands the parts of the payload to `run`: the base's bytes, then each level's.
    fn payload<'a>(&'a self, run: &mut dyn FnMut(&'a [u8]) -> Result<()>) -> Result<()> {
        run(self.stack().base().as_bytes())?;
        self.stack().each_level(&mut |level| run(level.as_bytes()))
    }

    /// The length of the whole, if the payload starts at `start`.
    fn length(&self, start: usize) -> u64 {
        let mut length = (start + CHECKSUM) as u64 + self.stack().base().byte_length() as u64;
        let added = self.stack().each_level(&mut |level| {
            length += level.byte_length() as u64;
            Ok(())
        });
        debug_assert!(added.is_ok());
        length
    }

    /// What the bytes before the payload say, checked field by field: a blob whose filter has no bytes yet, a delta's
    /// parent, and where the filter's bytes start.
    fn shaped(bytes: &[u8], access: Access, names: Names) -> Result<(Self, Option<u64>, usize)> {
        let there = bytes.len().min(MAGIC.len());
        if bytes[..there] != MAGIC[..there] {
            return Err(Error::NotAFilter);
        }
        let mut cursor = Cursor::new(bytes);
        cursor.slice(MAGIC.len() as u64);
        let version = cursor.u8();
        if version != VERSION {
            cursor.refuse(Error::UnsupportedVersion { version });
        }
        let kind = cursor.u8();
        let known = Kind::from_number(kind);
        let is_delta = kind == DELTA;
        if known.is_none() && !is_delta {
            cursor.refuse(Error::UnsupportedKind { kind });
        }
        let profile = cursor.u8();
        cursor.rule(profile <= 2, PROFILE_RULE);
        let flags = cursor.u16();
        cursor.rule(flags & !ALL_FLAGS == 0, "the flags must be a sum of 1, 2, 4, 8, 16, 32, 64 and 128");
        let options = flags & Profile::FLAGS;
        cursor.rule(profile == 2 || options == 0, "only the profile password has options");
        let slotted = flags & HAS_SLOTS != 0;
        let may_be_slotted = profile == 1 && [Kind::Ribbon.number(), DELTA].contains(&kind);
        cursor.rule(!slotted || may_be_slotted, SLOTS_RULE);
        let tagged = flags & HAS_TAGS != 0;
        cursor.rule(!tagged || [Kind::Ribbon.number(), DELTA].contains(&kind), TAGS_RULE);
        let seed = cursor.u64();
        let check = if flags & IS_KEYED != 0 { Some(cursor.u64()) } else { None };
        // Only if they are all there, since a cursor without bytes gives zeros.
        cursor.done()?;
        let hashing = access.hashing(seed, check)?;
        let hashing = if slotted { hashing.with_slots() } else { hashing };
        let parent = if is_delta { Some(cursor.u64()) } else { None };
        let base = if is_delta {
            let slots = if slotted { Slots::NONE } else { Slots::ANY };
            RibbonFilter::shaped(0, 0.5, 0, &[], hashing).map(|filter| filter.only(slots).into())
        } else {
            // The kind of an unknown number doesn't matter: that error comes first.
            cursor.filter(known.unwrap_or(Kind::Bloom), hashing)
        };
        cursor.done()?;
        let base = base?;
        let mut tagging = if tagged { Some(Tagging::default()) } else { None };
        if let Some(tagging) = &mut tagging {
            tagging.elsewhere = shared(names)?;
            if !is_delta {
                tagging.base = Some(shared(cursor.tags(hashing, BASE_SALT)?)?);
            }
        }
        if let AnyFilter::Foreign(foreign) = &base {
            let holds =
                flags & (HAS_LAYERS | IS_KEYED) == 0 && (profile == 0 || foreign.keys().width().is_none());
            cursor.rule(
                holds,
                "a foreign filter must have no layers and no secret, and be raw if its keys are numbers",
            );
        }
        let name = if flags & HAS_NAME != 0 { Some(cursor.name()?) } else { None };
        let created_at = if flags & HAS_CREATED_AT != 0 { Some(cursor.u64()) } else { None };
        if let Some(tagging) = &mut tagging {
            tagging.counts = cursor.counts()?;
        }
        let mut layers = Vec::new();
        let mut count = None;
        if flags & HAS_LAYERS != 0 {
            let total = cursor.u8();
            count = Some(cursor.u32());
            for _ in 0..total {
                push(&mut layers, shared(cursor.layer(hashing, tagged)?)?)?;
            }
        }
        cursor.done()?;
        let profile = Profile::from_number(profile, options).ok_or(Error::rule(PROFILE_RULE))?;
        let mut stack = Stack::from_parts(base, layers, count)?;
        if let Some(tagging) = tagging {
            stack = stack.tagged(tagging)?;
        }
        let mut filter = Filter::new(profile, stack);
        filter.describe(name, created_at)?;
        Ok((filter, parent, cursor.at()))
    }

    /// Hands everything before the payload to `run`; with name and creation time only if `described`. With a parent, the
    /// header of a delta.
    fn header(&self, described: bool, parent: Option<u64>, run: Pieces) -> Result<()> {
        let name = self.name().filter(|_| described);
        let created_at = self.created_at().filter(|_| described);
        let (profile, options) = self.profile().number();
        let base = self.stack().base();
        let check = base.hashing().check();
        let flags = options
            | if name.is_some() { HAS_NAME } else { 0 }
            | if created_at.is_some() { HAS_CREATED_AT } else { 0 }
            | if self.stack().layered_count().is_some() { HAS_LAYERS } else { 0 }
            | if check.is_some() { IS_KEYED } else { 0 }
            | if base.hashing().is_slotted() { HAS_SLOTS } else { 0 }
            | if self.stack().is_tagged() { HAS_TAGS } else { 0 };
        let may_be_slotted = self.profile() == Profile::Url && base.kind() == Kind::Ribbon;
        Error::unless(flags & HAS_SLOTS == 0 || may_be_slotted, SLOTS_RULE)?;
        let mut fields = Fields::to(run);
        fields.slice(&MAGIC);
        fields.u8(VERSION.into());
        fields.u8(if parent.is_some() { DELTA } else { base.kind().number() }.into());
        fields.u8(profile.into());
        fields.u16(flags.into());
        fields.u64(base.hashing().seed());
        if let Some(check) = check {
            fields.u64(check);
        }
        match (parent, base) {
            (Some(parent), _) => fields.u64(parent),
            (None, AnyFilter::Bloom(bloom)) => {
                fields.u32(bloom.bits());
                fields.u8(bloom.hashes());
            }
            (None, AnyFilter::Counting(counting)) => {
                fields.u32(counting.bits());
                fields.u8(counting.hashes());
                fields.u8(counting.counter_bits());
            }
            (None, AnyFilter::Scalable(scalable)) => {
                fields.u32(scalable.initial_capacity());
                fields.u8(scalable.growth());
                fields.f64(scalable.fpr());
                fields.f64(scalable.tightening());
                fields.u64(scalable.count());
            }
            (None, AnyFilter::Cuckoo(cuckoo)) => {
                fields.u32(cuckoo.buckets());
                fields.u8(cuckoo.fingerprint_bits());
            }
            (None, AnyFilter::Ribbon(ribbon)) => {
                fields.u32(ribbon.count());
                fields.f64(ribbon.fpr());
                fields.stages(ribbon);
                fields.slots(ribbon.hashing(), ribbon.slots());
                if let Some(tagging) = self.stack().tagging() {
                    tagging.base.iter().for_each(|tags| fields.tags(tags));
                }
            }
            (None, AnyFilter::Foreign(foreign)) => {
                fields.u8(foreign.scheme() as u32);
                fields.u8(foreign.keys() as u32);
                fields.u8(foreign.layout().into());
                fields.u8(foreign.parts().len() as u32);
                fields.u16(foreign.note().len() as u32);
                for part in foreign.parts() {
                    fields.u64(part.bits);
                    fields.u32(part.bytes);
                    fields.u16(part.hashes.into());
                }
                fields.slice(foreign.note());
            }
        }
        if let Some(name) = name {
            let length = u8::try_from(name.len()).map_err(|_| NAME_TOO_LONG)?;
            fields.u8(length.into());
            fields.slice(name.as_bytes());
        }
        if let Some(time) = created_at {
            fields.u64(time);
        }
        if let Some(tagging) = self.stack().tagging() {
            fields.counts(&tagging.counts);
        }
        if let Some(count) = self.stack().layered_count() {
            fields.u8(self.stack().layers().len() as u32);
            fields.u32(count);
            self.stack().layers().iter().for_each(|layer| fields.layer(layer, base.hashing()));
        }
        fields.finish().map(|_| ())
    }
}

impl Fields<Pieces<'_>> {
    /// A map, if there are slots.
    fn slots(&mut self, hashing: &Hashing, slots: Slots) {
        if hashing.is_slotted() {
            self.u32(slots.bits());
        }
    }

    #[cfg_attr(target_arch = "wasm32", inline(never))]
    fn stages(&mut self, ribbon: &RibbonFilter) {
        self.u8(ribbon.attempt().into());
        self.u8(ribbon.rows().len() as u32);
        ribbon.rows().for_each(|rows| self.u32(rows));
    }
}

impl Cursor<'_> {
    /// The parameters of a kind, as a filter without its bytes. An error of the cursor's own comes first.
    fn filter(&mut self, kind: Kind, hashing: Hashing) -> Result<AnyFilter> {
        Ok(match kind {
            Kind::Counting => {
                let (bits, hashes, counter_bits) = (self.u32(), self.u8(), self.u8());
                CountingBloomFilter::shaped(bits, hashes.into(), counter_bits.into(), hashing)?.into()
            }
            Kind::Scalable => {
                let (initial_capacity, growth) = (self.u32(), self.u8().into());
                let (fpr, tightening, count) = (self.f64(), self.f64(), self.u64());
                let plan = Plan { initial_capacity, fpr, growth, tightening };
                ScalableBloomFilter::shaped(plan, count, hashing)?.into()
            }
            Kind::Cuckoo => {
                let (buckets, fingerprint_bits) = (self.u32(), self.u8());
                CuckooFilter::shaped(buckets, fingerprint_bits.into(), hashing)?.into()
            }
            Kind::Ribbon => {
                let (count, fpr) = (self.u32(), self.f64());
                let ribbon = self.ribbon(count, fpr, hashing);
                let slots = self.slots(hashing, count == 0);
                self.done()?;
                ribbon?.only(slots).into()
            }
            Kind::Bloom => {
                let (bits, hashes) = (self.u32(), self.u8());
                BloomFilter::shaped(bits, hashes.into(), hashing)?.into()
            }
            Kind::Foreign => self.foreign(hashing.seed())?.into(),
        })
    }

    /// A map, if there are slots. It must be empty if and only if `is_empty`.
    fn slots(&mut self, hashing: Hashing, is_empty: bool) -> Slots {
        if !hashing.is_slotted() {
            return Slots::ANY;
        }
        let slots = Slots::from_bits(self.u32());
        self.rule(slots.is_some(), "the highest two bits of a map must be 0");
        let slots = slots.unwrap_or(Slots::NONE);
        self.rule(slots.is_empty() == is_empty, "a map must be 0 where there are no keys, and only there");
        slots
    }

    /// The rest of a ribbon filter's parameters.
    fn ribbon(&mut self, count: u32, fpr: f64, hashing: Hashing) -> Result<RibbonFilter> {
        let (attempt, stages) = (self.u8(), self.u8());
        self.rule(stages <= 4, "a ribbon filter must have at most 4 stages");
        let mut rows = [0; 4];
        let rows = &mut rows[..usize::from(stages).min(4)];
        rows.fill_with(|| self.u32());
        RibbonFilter::shaped(count, fpr, attempt, rows, hashing)
    }

    /// The parameters of a foreign filter. A scheme, a key type, or a pair of them that only a later release knows is
    /// an unknown kind.
    #[cfg_attr(target_arch = "wasm32", inline(never))]
    fn foreign(&mut self, seed: u64) -> Result<ForeignFilter> {
        let scheme = Scheme::from_number(self.u8());
        let keys = KeyType::from_number(self.u8());
        self.done()?;
        let unknown = Error::UnsupportedKind { kind: Kind::Foreign.number() };
        let (scheme, keys) = (scheme.ok_or(unknown)?, keys.ok_or(unknown)?);
        scheme.format(keys).ok_or(unknown)?;
        let (layout, total, length) = (self.u8(), self.u8(), self.u16());
        let mut parts = Vec::new();
        for _ in 0..total {
            let (bits, bytes, hashes) = (self.u64(), self.u32(), self.u16());
            self.done()?;
            push(&mut parts, Part { bits, bytes, hashes })?;
        }
        let note = copied(self.slice(length.into()))?;
        self.done()?;
        ForeignFilter::shaped(scheme, keys, layout, seed, parts, note)
    }

    fn name(&mut self) -> Result<String> {
        let length = self.u8();
        text(self.slice(length.into()))
    }
}
