//! `npm-bloom-filters`: the npm package `bloom-filters`, 2.x and 3.x, <https://github.com/Callidon/bloom-filters>:
//!
//! ```text
//! {"type":"BloomFilter","_size":s,"_nbHashes":k,"_filter":{"size":8 ceil(s/8),"content":base64},"_seed":seed}
//! ```
//!
//! 1.x has an array of 0 and 1 for a filter, doesn't say by which of two ways it hashed, and isn't read; nor is 4.0, with other
//! positions for the same seed, which it writes as a text.

use super::json::{Json, from_base64};
use super::single;
use crate::error::{Error, Result};
use crate::filters::ForeignFilter;
use crate::filters::foreign::{Format, Scheme};

pub(super) fn read(bytes: &[u8]) -> Result<ForeignFilter> {
    let mut json = Json::new(bytes);
    let (mut named, mut size, mut hashes, mut seed, mut content) = (false, None, None, None, None);
    json.object(&mut |json, name| {
        match name {
            b"type" => named = json.string()? == b"BloomFilter",
            b"_size" => size = Some(json.unsigned()?),
            b"_nbHashes" => hashes = Some(json.unsigned()?),
            b"_seed" if json.peek() == Some(b'{') => {
                return Err(Error::UnsupportedFormat { reason: "bloom-filters 4.0 isn't supported" });
            }
            b"_seed" => seed = Some(json.number()?),
            b"_filter" if json.peek() == Some(b'[') => {
                return Err(Error::UnsupportedFormat { reason: "bloom-filters 1.x isn't supported" });
            }
            b"_filter" => json.object(&mut |json, name| {
                if name == b"content" {
                    content = Some(from_base64(json.string()?)?.0);
                }
                Ok(name == b"content")
            })?,
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    json.end()?;
    if !named {
        return Err(Error::UnsupportedFormat { reason: "the JSON must be of the type BloomFilter" });
    }
    let (Some(size), Some(hashes), Some(seed), Some(content)) = (size, hashes, seed, content) else {
        return Err(Error::rule("the JSON must have _size, _nbHashes, _filter and _seed"));
    };
    // Beyond, JavaScript's numbers aren't whole ones any more.
    Error::unless(seed.unsigned_abs() <= 1 << 53, "_seed must be a whole number from -2^53 to 2^53")?;
    Error::unless(content.len() as u64 == size.div_ceil(8), "content must have _size bits")?;
    let keys = Format::NpmBloomFilters.keys()[0].1;
    single(Scheme::Xxh32Pair, keys, 0, seed as u64, (size, hashes), Vec::new(), content)
}
