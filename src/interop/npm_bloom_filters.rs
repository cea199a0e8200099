//! `npm-bloom-filters`: what `saveAsJSON` gives for three filters of the npm package `bloom-filters`, 3.x, and for the
//! first also in 2.x, <https://github.com/Callidon/bloom-filters>:
//!
//! ```text
//! {"type":"BloomFilter","_size":s,"_nbHashes":k,"_filter":{"size":8 ceil(s/8),"content":base64},"_seed":seed}
//! {"type":"PartitionedBloomFilter","_nbHashes":k,"_m":m,"_filter":[k times {"size":...,"content":base64}],"_seed":seed}
//! {"type":"ScalableBloomFilter","_filters":[a PartitionedBloomFilter or more],"_seed":seed}
//! ```
//!
//! 1.x and the other filters of 2.x have arrays of 0 and 1, and aren't read: 1.x doesn't say which of two ways it
//! hashed in. 4.0 isn't read either: it has other positions for the same seed, which it writes as a string.

use super::found::{Found, part};
use super::json::from_base64;
use super::options::Options;
use crate::error::Result;
use crate::fields::Cursor;
use crate::filters::foreign::Scheme;
use crate::vectors::{append, push};

const ONLY: &str =
    "of bloom-filters, only BloomFilter, PartitionedBloomFilter and ScalableBloomFilter are supported";
const BITS: &str = "a filter must have a _seed, and as many filters, bit sets and bits as it says";
const ARRAYS: &str = "bloom-filters 1.x, and arrays of 0 and 1, aren't supported";

const KINDS: [&[u8]; 3] = [b"BloomFilter", b"PartitionedBloomFilter", b"ScalableBloomFilter"];

pub(super) fn read(file: &mut Cursor, _: &Options) -> Result<Found> {
    let mut found = Found {
        scheme: Scheme::Xxh32Slices,
        layout: 0,
        seed: NO_SEED,
        parts: Vec::new(),
        note: Vec::new(),
        bytes: Vec::new(),
    };
    file.begin_text();
    object(file, &mut found, true);
    file.end_text();
    Ok(found)
}

/// No valid seed has this value.
const NO_SEED: u64 = 1 << 63;

/// Reads the object of a filter: of any kind, or of one inside another.
#[cfg_attr(target_arch = "wasm32", inline(never))]
fn object(file: &mut Cursor, found: &mut Found, outside: bool) {
    let (mut kind, mut size, mut m, mut hashes) = (Vec::new(), 0, 0, 0);
    let start = found.bytes.len();
    // How many sets of bits there are, and the bytes of each.
    let (mut sets, mut length) = (0, 0);
    let mut first = true;
    while let Some(name) = file.member(&mut first) {
        let value = file.peek();
        match name.as_slice() {
            b"type" => {
                kind = file.string();
                // Refused at once, since what follows may not be bits at all.
                if !KINDS.contains(&&kind[..]) {
                    file.unsupported(ONLY);
                }
            }
            b"_size" => size = file.unsigned(),
            b"_m" => m = file.unsigned(),
            b"_nbHashes" => hashes = file.unsigned(),
            b"_seed" if value == Some(b'{') => file.unsupported("bloom-filters 4.0 isn't supported"),
            b"_seed" => {
                let seed = file.signed();
                // Beyond that, JavaScript's numbers aren't exact integers.
                let whole = seed.unsigned_abs() <= 1 << 53;
                let agrees = found.seed == NO_SEED || found.seed == seed as u64;
                file.rule(whole && agrees, "_seed must be one whole number from -2^53 to 2^53");
                found.seed = seed as u64;
            }
            b"_filter" if value == Some(b'[') => {
                let mut first = true;
                while file.item(&mut first) {
                    bit_set(file, found, &mut sets, &mut length);
                }
            }
            b"_filter" => bit_set(file, found, &mut sets, &mut length),
            b"_filters" if outside => {
                let mut first = true;
                while file.item(&mut first) {
                    object(file, found, false);
                }
            }
            _ => file.skip(),
        }
    }
    let kind = KINDS.iter().position(|known| *known == kind);
    if kind.is_none() || !outside && kind != Some(1) {
        file.unsupported(ONLY);
    }
    if kind == Some(0) {
        found.scheme = Scheme::Xxh32Pair;
        m = size;
    }
    let needed = [1, hashes, 0][kind.unwrap_or(2)];
    if kind != Some(2) {
        file.rule(sets == needed && length as u64 == m.div_ceil(8), BITS);
        let part = part(m.saturating_mul(sets), (found.bytes.len() - start) as u64, hashes);
        if let Some(part) = file.keep(part.map(Some)) {
            file.keep(push(&mut found.parts, part));
        }
    }
    let whole = found.seed != NO_SEED && (1..=255).contains(&found.parts.len());
    file.rule(whole && sets == needed, BITS);
}

/// Reads one of several sets of bits, which all have the same length in bytes. Counts it in `sets`.
#[cfg_attr(target_arch = "wasm32", inline(never))]
fn bit_set(file: &mut Cursor, found: &mut Found, sets: &mut u64, length: &mut usize) {
    if file.peek().is_some_and(|value| value != b'{') {
        file.unsupported(ARRAYS);
    }
    let start = found.bytes.len();
    let mut first = true;
    while let Some(name) = file.member(&mut first) {
        if name == b"content" {
            let text = file.string();
            let (bytes, _) = file.keep(from_base64(&text));
            file.keep(append(&mut found.bytes, &bytes));
        } else {
            file.skip();
        }
    }
    let read = found.bytes.len() - start;
    file.rule(*sets == 0 || read == *length, BITS);
    *sets += 1;
    *length = read;
}
