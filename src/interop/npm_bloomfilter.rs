//! `npm-bloomfilter`: Jason Davies's npm package `bloomfilter`, <https://github.com/jasondavies/bloomfilter.js>.
//!
//! From 1.0 on `{"version":1,"m":m,"k":k,"buckets":[...]}` of u32, before a bare array of i32, with k in the application.
//! Nothing in an array says which release hashed its keys; see [`Options::generation`].

use super::json::Json;
use super::{Options, single};
use crate::error::{Error, Result};
use crate::filters::ForeignFilter;
use crate::filters::foreign::{Format, Scheme};
use crate::vectors::append;

pub(super) fn read(options: &Options, bytes: &[u8]) -> Result<ForeignFilter> {
    let generation = options.generation.as_deref().unwrap_or("fnv64");
    let scheme = Scheme::from_name(Format::NpmBloomfilter, generation);
    let rule =
        "generation must be fnv64, fnv64-odd, fnv32-triple, fnv32-seeded, fnv32-b or fnv32-b-signedmix";
    let scheme = scheme.ok_or(Error::rule(rule))?;

    let mut json = Json::new(bytes);
    let (mut m, mut k, mut buckets) = (None, None, Vec::new());
    let mut array = |json: &mut Json| {
        buckets.clear();
        json.array(&mut |json| {
            let bucket = json.number()?;
            let rule = "a bucket must be a whole number of 32 bits";
            Error::unless((i32::MIN.into()..=u32::MAX.into()).contains(&bucket), rule)?;
            append(&mut buckets, &(bucket as u32).to_le_bytes())
        })
    };
    if json.peek() == Some(b'[') {
        array(&mut json)?;
    } else {
        json.object(&mut |json, name| {
            match name {
                b"version" if json.unsigned()? == 1 => {}
                b"version" => {
                    return Err(Error::UnsupportedFormat { reason: "bloomfilter's version must be 1" });
                }
                b"m" => m = Some(json.unsigned()?),
                b"k" => k = Some(json.unsigned()?),
                b"buckets" => array(json)?,
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        Error::unless(m.is_some() && k.is_some(), "the JSON must have m, k and buckets")?;
    }
    json.end()?;
    let bits = buckets.len() as u64 * 8;
    Error::unless(m.is_none_or(|m| m == bits), "m must be 32 for each bucket")?;
    let asked = options.hashes.map(u64::from);
    Error::unless(
        k.is_none() || asked.is_none_or(|hashes| k == Some(hashes)),
        "hashes must be the k of the JSON",
    )?;
    let hashes = k.or(asked).ok_or(Error::rule("an array of buckets needs hashes"))?;
    single(scheme, Format::NpmBloomfilter.keys()[0].1, 0, 0, (bits, hashes), Vec::new(), buckets)
}
