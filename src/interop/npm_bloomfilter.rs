//! `npm-bloomfilter`: Jason Davies's npm package `bloomfilter`, <https://github.com/jasondavies/bloomfilter.js>.
//!
//! From 1.0 on, `{"version":1,"m":m,"k":k,"buckets":[...]}` with buckets of u32; before that, a bare array of i32, with
//! k only in the application. Nothing in an array says which release hashed its keys; see [`Options::generation`].

use super::found::Found;
use super::options::Options;
use crate::error::Result;
use crate::fields::Cursor;
use crate::filters::foreign::{Format, Scheme};
use crate::vectors::append;

pub(super) fn read(file: &mut Cursor, options: &Options) -> Result<Found> {
    let generation = options.generation.as_deref().unwrap_or("fnv64");
    let scheme = Scheme::from_name(Format::NpmBloomfilter, generation);
    let rule =
        "generation must be fnv64, fnv64-odd, fnv32-triple, fnv32-seeded, fnv32-b or fnv32-b-signedmix";
    file.rule(scheme.is_some(), rule);

    let asked = options.hashes.map(u64::from);
    let (mut m, mut k, mut buckets) = (None, None, Vec::new());
    file.begin_text();
    if file.peek() == Some(b'[') {
        buckets = array(file);
        file.rule(asked.is_some(), "an array of buckets needs hashes");
    } else {
        let mut first = true;
        while let Some(name) = file.member(&mut first) {
            match name.as_slice() {
                b"version" if file.unsigned() == 1 => {}
                b"version" => file.unsupported("bloomfilter's version must be 1"),
                b"m" => m = Some(file.unsigned()),
                b"k" => k = Some(file.unsigned()),
                b"buckets" => buckets = array(file),
                _ => file.skip(),
            }
        }
        file.rule(m.is_some() && k.is_some(), "the JSON must have m, k and buckets");
    }
    file.end_text();
    let bits = buckets.len() as u64 * 8;
    file.rule(m.is_none_or(|m| m == bits), "m must be 32 for each bucket");
    file.rule(k.is_none() || asked.is_none() || k == asked, "hashes must be the k of the JSON");
    Found::single(scheme.unwrap_or(Scheme::Fnv64), bits, k.or(asked).unwrap_or(0), buckets)
}

/// An array of buckets, as little-endian numbers.
#[cfg_attr(target_arch = "wasm32", inline(never))]
fn array(file: &mut Cursor) -> Vec<u8> {
    let mut buckets = Vec::new();
    let mut first = true;
    while file.item(&mut first) {
        let bucket = file.signed();
        let range = i32::MIN.into()..=u32::MAX.into();
        file.rule(range.contains(&bucket), "a bucket must be a whole number of 32 bits");
        file.keep(append(&mut buckets, &(bucket as u32).to_le_bytes()));
    }
    buckets
}
