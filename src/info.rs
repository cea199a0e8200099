//! The description of a blob, for people and programs: `info()` in JavaScript and `bloom-wasm info`.

use crate::error::Result;
use crate::filter::Filter;
use crate::filters::foreign::Format;
use crate::filters::{AnyFilter, ForeignFilter};
use crate::layers::Stack;
use crate::params::power;
use crate::profile::Profile;
use crate::vectors::push;

/// A description of a filter, without the bits themselves. The tool prints it as JSON, and JavaScript's `info()`
/// returns it.
#[derive(Debug, Clone, PartialEq)]
pub struct FilterInfo<'a> {
    /// The kind of filter; for a foreign one, its format.
    pub kind: &'static str,
    /// What the keys are.
    pub profile: &'static str,
    /// Whether passwords are compared in lower case; only with the profile `password`.
    pub lowercase: bool,
    /// Whether the keys are the SHA-1 hashes of passwords; only with the profile `password`.
    pub sha1: bool,
    /// The number of different keys; none if the kind doesn't know it (bloom and counting). A cuckoo filter knows only
    /// how often keys were added: one that was added twice counts twice.
    pub count: Option<u64>,
    /// The number of keys that the filter is made for. For bloom and counting, this many keys set half of the bits; for
    /// cuckoo, they fill 95 % of the slots; for ribbon, it is the number of keys. None for scalable, which grows. For a
    /// foreign filter, it is the number as for bloom or, if it holds a fixed set, the number by its size.
    pub capacity: Option<u64>,
    /// The false-positive rate at that capacity, 0 to 1; the present rate is [`AnyFilter::estimated_fpr`]. For a foreign
    /// filter it is the present rate, since nothing tells how many keys its software made it for. It is the rate of a
    /// key; for a list of URLs whose keys have two rates, their mean.
    pub fpr: f64,
    /// With the profile `url`, the chance that a typical URL which isn't on the list is "maybe present", 0 to 1.
    pub url_fpr: Option<f64>,
    /// With the profile `url`, the highest such chance of any URL that a browser opens, 0 to 1. A URL that browsers may
    /// read in two ways has up to twice that.
    pub max_url_fpr: Option<f64>,
    /// The number of bits of the filter.
    pub bits: u64,
    /// Hashes per key; none for scalable, cuckoo and ribbon, and for a foreign filter of fingerprints or several parts.
    pub hashes: Option<u32>,
    /// Bits of the whole blob per key (by the estimated count if `count` is none); none if there are no keys.
    pub bits_per_key: Option<f64>,
    /// The length of the whole blob in bytes.
    pub byte_length: u64,
    /// The seed of the hash. In JSON it is a decimal string, because exact numbers end at 2^53 there.
    pub seed: u64,
    /// Whether the digests depend on a secret, which isn't in the blob.
    pub keyed: bool,
    /// The names of the tags that members may have, by their numbers, and how many have each; none for a filter without
    /// tags. A tag may have no members.
    pub tags: Option<Vec<TagInfo<'a>>>,
    /// The number of layers over the base filter: those of updates and allowlists, and one if a list of URLs was built in
    /// two groups.
    pub layers: u32,
    /// The parameters of a foreign filter, by name: an object in JSON; none for our own kinds.
    pub foreign: Option<Vec<(&'static str, Parameter)>>,
    /// The name that it was given when it was built.
    pub name: Option<&'a str>,
    /// The time that it was given when it was built, in milliseconds since 1970.
    pub created_at: Option<u64>,
    /// The blob's length and checksum, which tell blobs apart. In JSON it has 16 hexadecimal digits.
    pub id: u64,
}

/// A tag, and how many members have it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TagInfo<'a> {
    /// The name.
    pub name: &'a str,
    /// The number of members; none in a part of a sharded filter, which doesn't say.
    pub count: Option<u32>,
}

/// The tags of a filter.
fn tags(stack: &Stack) -> Result<Option<Vec<TagInfo<'_>>>> {
    if !stack.is_tagged() {
        return Ok(None);
    }
    let mut tags = Vec::new();
    for (name, count) in stack.tag_counts() {
        push(&mut tags, TagInfo { name, count })?;
    }
    Ok(Some(tags))
}

/// A parameter of a foreign filter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Parameter {
    /// A name.
    Text(&'static str),
    /// A whole number.
    Number(u64),
}

/// The parameters of a foreign filter with their names. One that is an option for reading the original has its name.
#[cfg_attr(target_arch = "wasm32", inline(never))]
fn parameters(filter: &ForeignFilter) -> Result<Vec<(&'static str, Parameter)>> {
    let (format, parts) = (filter.format(), filter.parts());
    let mut found = Vec::new();
    if let Some(name) = filter.scheme().name() {
        let option = if format == Format::NpmBloomfilter { "generation" } else { "scheme" };
        push(&mut found, (option, Parameter::Text(name)))?;
    }
    let choice = format.keys().iter().find(|(_, keys)| *keys == filter.keys());
    if let Some((name, _)) = choice.filter(|_| format.keys().len() > 1) {
        push(&mut found, (if format == Format::Guava { "funnel" } else { "keys" }, Parameter::Text(name)))?;
    }
    if format == Format::RedisBloom || parts.len() > 1 {
        let name = if format == Format::RedisBloom { "links" } else { "filters" };
        push(&mut found, (name, Parameter::Number(parts.len() as u64)))?;
    }
    if let [part] = parts {
        let (bits, hashes) = (Parameter::Number(part.bits), Parameter::Number(part.hashes.into()));
        if filter.scheme().is_static() {
            push(&mut found, ("width", hashes))?;
        } else {
            push(&mut found, ("bits", bits))?;
            push(&mut found, ("hashes", hashes))?;
        }
    }
    Ok(found)
}

/// As JSON has it, and JavaScript's `info()`. Not derived: the classes of `src/wasm/` need it without the feature `serde`,
/// and one condition here is better than one at each field.
#[cfg(any(feature = "serde", all(target_arch = "wasm32", target_os = "unknown")))]
mod serialized {
    use serde::ser::{Serialize, SerializeStruct, Serializer};

    use crate::info::{FilterInfo, Parameter, TagInfo};

    /// A number as JavaScript holds it: exact below 2^53, and the nearest such number above.
    struct Number(Option<u64>);

    impl Serialize for Number {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            match self.0 {
                None => serializer.serialize_none(),
                Some(number) if number < 1 << 53 => serializer.serialize_u64(number),
                Some(number) => serializer.serialize_f64(number as f64),
            }
        }
    }

    /// The parameters of a foreign filter, as an object.
    struct Parameters<'a>(&'a [(&'static str, Parameter)]);

    impl Serialize for Parameters<'_> {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.collect_map(self.0.iter().copied())
        }
    }

    impl Serialize for Parameter {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            match self {
                Parameter::Text(text) => serializer.serialize_str(text),
                Parameter::Number(number) => Number(Some(*number)).serialize(serializer),
            }
        }
    }

    impl Serialize for TagInfo<'_> {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            let mut tag = serializer.serialize_struct("TagInfo", 2)?;
            tag.serialize_field("name", self.name)?;
            tag.serialize_field("count", &self.count)?;
            tag.end()
        }
    }

    impl Serialize for FilterInfo<'_> {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            let mut info = serializer.serialize_struct("FilterInfo", 21)?;
            info.serialize_field("kind", self.kind)?;
            info.serialize_field("profile", self.profile)?;
            info.serialize_field("lowercase", &self.lowercase)?;
            info.serialize_field("sha1", &self.sha1)?;
            info.serialize_field("count", &Number(self.count))?;
            info.serialize_field("capacity", &Number(self.capacity))?;
            info.serialize_field("fpr", &self.fpr)?;
            info.serialize_field("urlFpr", &self.url_fpr)?;
            info.serialize_field("maxUrlFpr", &self.max_url_fpr)?;
            info.serialize_field("bits", &self.bits)?;
            info.serialize_field("hashes", &self.hashes)?;
            info.serialize_field("bitsPerKey", &self.bits_per_key)?;
            info.serialize_field("byteLength", &self.byte_length)?;
            info.serialize_field("seed", &format_args!("{}", self.seed))?;
            info.serialize_field("keyed", &self.keyed)?;
            info.serialize_field("tags", &self.tags)?;
            info.serialize_field("layers", &self.layers)?;
            info.serialize_field("foreign", &self.foreign.as_deref().map(Parameters))?;
            info.serialize_field("name", &self.name)?;
            info.serialize_field("createdAt", &Number(self.created_at))?;
            info.serialize_field("id", &format_args!("{:016x}", self.id))?;
            info.end()
        }
    }
}

impl Filter {
    /// A description: the parameters, what the filter holds, and what its blob says about it.
    ///
    /// # Errors
    /// As [`Filter::id`].
    pub fn info(&self) -> Result<FilterInfo<'_>> {
        let (stack, filter) = (self.stack(), self.stack().base());
        let byte_length = self.byte_length()?;
        let per_key = byte_length as f64 * 8.0 / stack.estimated_count();
        let (capacity, fpr, bits, hashes) = match filter {
            AnyFilter::Bloom(bloom) => (
                Some(bloom.capacity()),
                power(0.5, bloom.hashes().into()),
                u64::from(bloom.bits()),
                Some(bloom.hashes()),
            ),
            AnyFilter::Counting(counting) => {
                let hashes = counting.hashes();
                (
                    Some(counting.capacity()),
                    power(0.5, hashes.into()),
                    u64::from(counting.bits()),
                    Some(hashes),
                )
            }
            AnyFilter::Scalable(scalable) => (None, scalable.fpr(), scalable.bits(), None),
            AnyFilter::Cuckoo(cuckoo) => {
                let bits = u64::from(cuckoo.buckets()) * 4 * u64::from(cuckoo.fingerprint_bits());
                (Some(cuckoo.capacity()), cuckoo.fpr_of(cuckoo.capacity()), bits, None)
            }
            AnyFilter::Ribbon(ribbon) => {
                let second =
                    stack.second_group().and_then(|layer| Some((layer.fpr(), layer.levels().first()?)));
                let groups = [(ribbon.fpr(), ribbon)].into_iter().chain(second);
                let count: u64 = groups.clone().map(|(_, group)| u64::from(group.count())).sum();
                let bytes: usize = groups.clone().map(|(_, group)| group.as_bytes().len()).sum();
                let hits: f64 = groups.map(|(fpr, group)| fpr * f64::from(group.count())).sum();
                let fpr = if second.is_some() { hits / count as f64 } else { ribbon.fpr() };
                (Some(count), fpr, bytes as u64 * 8, None)
            }
            AnyFilter::Foreign(foreign) => {
                let only = foreign.parts().first().filter(|_| foreign.parts().len() == 1);
                let hashes: Option<u32> =
                    only.filter(|_| !foreign.scheme().is_static()).map(|part| part.hashes.into());
                (Some(foreign.capacity()), foreign.estimated_fpr(), foreign.bits(), hashes)
            }
        };
        let (lowercase, sha1) = self.profile().password();
        Ok(FilterInfo {
            kind: filter.name(),
            profile: self.profile().name(),
            lowercase,
            sha1,
            count: stack.count(),
            capacity,
            fpr,
            url_fpr: (self.profile() == Profile::Url).then(|| stack.url_fpr()),
            max_url_fpr: (self.profile() == Profile::Url).then(|| stack.max_url_fpr()),
            bits,
            hashes,
            bits_per_key: (per_key.is_finite() && per_key > 0.0).then_some(per_key),
            byte_length,
            seed: filter.hashing().seed(),
            keyed: filter.hashing().is_keyed(),
            tags: tags(stack)?,
            layers: stack.layers().len() as u32,
            foreign: match filter {
                AnyFilter::Foreign(foreign) => Some(parameters(foreign)?),
                _ => None,
            },
            name: self.name(),
            created_at: self.created_at(),
            id: self.id()?,
        })
    }
}
