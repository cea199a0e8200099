//! What Unicode 18 brought to hosts, where tables of Unicode 15 refuse a character or map it differently: the mapping
//! of UTS #46. Node 20 has such tables. `pkg-tests/url/hosts.long.test.mjs` compares every runtime's with these.
//!
//! The tables are those of `js/plain` too: `scripts/unicode.mjs` writes both from `scripts/unicode.txt`.

mod tables;

use self::tables::{INVISIBLE, MAPPED, TEXTS, VALID};
use crate::error::Result;
use crate::vectors::append;

/// Whether a character is in one of the ranges.
fn is_in(ranges: &[(u32, u32)], char: char) -> bool {
    ranges.iter().any(|(first, last)| (*first..=*last).contains(&char.into()))
}

/// Appends a character of a host, mapped as Unicode 18 says.
pub(super) fn append_mapped(out: &mut Vec<u8>, char: char) -> Result<()> {
    if is_in(&INVISIBLE, char) {
        return Ok(());
    }
    let point = u32::from(char);
    if let Some((_, text)) = TEXTS.iter().find(|(key, _)| *key == point) {
        return append(out, text.as_bytes());
    }
    let row = MAPPED.iter().find(|(first, last, _)| (*first..=*last).contains(&point));
    let mapped = row.and_then(|(first, _, to)| char::from_u32(point - first + to)).unwrap_or(char);
    append(out, mapped.encode_utf8(&mut [0; 4]).as_bytes())
}

/// Whether Unicode 18 allows a character in a host that older tables refuse.
pub(super) fn is_newer(char: char) -> bool {
    is_in(&VALID, char)
}
