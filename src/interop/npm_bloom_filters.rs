//! `npm-bloom-filters`: the npm package `bloom-filters`, 2.x and 3.x, <https://github.com/Callidon/bloom-filters>:
//!
//! ```text
//! {"type":"BloomFilter","_size":s,"_nbHashes":k,"_filter":{"size":8 ceil(s/8),"content":base64},"_seed":seed}
//! ```
//!
//! 1.x has an array of 0 and 1 for a filter, doesn't say by which of two ways it hashed, and isn't read; nor is 4.0, with other
//! positions for the same seed, which it writes as a text.

use super::found::Found;
use super::json::from_base64;
use super::options::Options;
use crate::error::Result;
use crate::fields::Cursor;
use crate::filters::foreign::Scheme;

const ONLY: &str = "of bloom-filters, only its BloomFilter of 2.x and 3.x is supported";

pub(super) fn read(file: &mut Cursor, _: &Options) -> Result<Found> {
    let (mut named, mut size, mut hashes, mut seed, mut content) = (false, None, None, None, None);
    file.begin_text();
    let mut first = true;
    while let Some(name) = file.member(&mut first) {
        let value = file.peek();
        match name.as_slice() {
            b"type" => named = file.string() == b"BloomFilter",
            b"_size" => size = Some(file.unsigned()),
            b"_nbHashes" => hashes = Some(file.unsigned()),
            b"_seed" if value == Some(b'{') => file.unsupported("bloom-filters 4.0 isn't supported"),
            b"_seed" => seed = Some(file.signed()),
            b"_filter" if value == Some(b'[') && named => {
                file.unsupported("bloom-filters 1.x isn't supported")
            }
            // Another of its filters, or the type comes later.
            b"_filter" if value == Some(b'[') => file.unsupported(ONLY),
            b"_filter" => {
                let mut first = true;
                while let Some(name) = file.member(&mut first) {
                    if name == b"content" {
                        let text = file.string();
                        content = Some(file.keep(from_base64(&text)).0);
                    } else {
                        file.skip();
                    }
                }
            }
            _ => file.skip(),
        }
    }
    file.end_text();
    if !named {
        file.unsupported(ONLY);
    }
    let rule = "the JSON must have _size, _nbHashes, _filter and _seed";
    file.rule(size.is_some() && hashes.is_some() && seed.is_some() && content.is_some(), rule);
    let (size, seed, content) = (size.unwrap_or(0), seed.unwrap_or(0), content.unwrap_or_default());
    // Beyond, JavaScript's numbers aren't whole ones any more.
    file.rule(seed.unsigned_abs() <= 1 << 53, "_seed must be a whole number from -2^53 to 2^53");
    file.rule(content.len() as u64 == size.div_ceil(8), "content must have _size bits");
    let found = Found::single(Scheme::Xxh32Pair, size, hashes.unwrap_or(0), content)?;
    Ok(Found { seed: seed as u64, ..found })
}
