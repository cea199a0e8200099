//! `redisbloom`: the chunks of `BF.SCANDUMP`, one after the other in a file, or the payload of `DUMP`, of the module at
//! <https://github.com/RedisBloom/RedisBloom>.
//!
//! ```text
//! a chunk      iterator (u64), length (u32), bytes; the first one's bytes are the header
//! header       size (u64), links (u32), options (u32), and from 2.2 on growth (u32); then each link
//! link         bytes (u64), bits (u64), size (u64), error (f64), bits per entry (f64), hashes (u32),
//!              entries (u64; u32 up to 2.2.0), n2 (u8)
//! ```
//!
//! All is little-endian. A later chunk holds the bytes before iterator - 1 of all links' bits. What is written is the layout
//! of 2.2.1 and later, whatever was read. LZF, which `DUMP` may pack the bits by, isn't unpacked.

use super::{Cursor, part};
use crate::error::{Error, Result};
use crate::filters::ForeignFilter;
use crate::filters::foreign::{Format, Part, Scheme};
use crate::vectors::{append, copied, push, zeroed};

/// The bits of a link aren't rounded up to a power of two.
const NOROUND: u32 = 1;
/// The hash has 64 bits.
const FORCE64: u32 = 4;
/// There is one link, and there will be no other.
const NO_SCALING: u32 = 8;
/// What every release since 2.2 sets: the entries are what was asked for (2).
const OPTIONS: u32 = NOROUND | FORCE64;
/// The longest chunk.
const CHUNK: usize = 16 << 20;
const LINKS: &str = "a redisbloom filter must have 1 to 255 links";

/// What is known of a chain beside its parts. The note of a filter holds it: options and growth (u32 each), and of each link
/// size and entries (u64 each), error and bits per entry (f64 each) and n2 (u8).
struct Chain {
    options: u32,
    growth: u32,
    links: Vec<Link>,
}

#[derive(Clone, Copy)]
struct Link {
    part: Part,
    size: u64,
    entries: u64,
    error: f64,
    bits_per_entry: f64,
    n2: u8,
}

impl Chain {
    /// The filter, which lacks its bytes.
    fn shaped(&self) -> Result<ForeignFilter> {
        let mut parts = Vec::new();
        self.links.iter().try_for_each(|link| push(&mut parts, link.part))?;
        let scheme = if self.options & FORCE64 != 0 { Scheme::Murmur64A } else { Scheme::Murmur2 };
        ForeignFilter::shaped(scheme, Format::RedisBloom.keys()[0].1, 0, 0, parts, self.note()?)
    }

    fn note(&self) -> Result<Vec<u8>> {
        let mut note = Vec::new();
        append(&mut note, &self.options.to_le_bytes())?;
        append(&mut note, &self.growth.to_le_bytes())?;
        for link in &self.links {
            let numbers = [link.size, link.entries, link.error.to_bits(), link.bits_per_entry.to_bits()];
            append(&mut note, numbers.map(u64::to_le_bytes).as_flattened())?;
            push(&mut note, link.n2)?;
        }
        Ok(note)
    }

    fn of(filter: &ForeignFilter) -> Result<Self> {
        let mut cursor = Cursor::new(filter.note());
        let (options, growth) = (cursor.u32()?, cursor.u32()?);
        let mut links = Vec::new();
        for &part in filter.parts() {
            let (size, entries, error) = (cursor.u64()?, cursor.u64()?, cursor.f64()?);
            push(
                &mut links,
                Link { part, size, entries, error, bits_per_entry: cursor.f64()?, n2: cursor.u8()? },
            )?;
        }
        Ok(Chain { options, growth, links })
    }
}

/// A link of stored numbers.
fn link(bytes: u64, bits: u64, hashes: u64, n2: u8, rest: (u64, u64, f64, f64)) -> Result<Link> {
    // Up to 2.0 the bits aren't said where they are a power of two.
    let bits = if n2 > 0 { 1_u64.checked_shl(n2.into()).unwrap_or(0) } else { bits };
    let (size, entries, error, bits_per_entry) = rest;
    Ok(Link { part: part(bits, bytes, hashes)?, size, entries, error, bits_per_entry, n2 })
}

pub(super) fn read(bytes: &[u8]) -> Result<ForeignFilter> {
    // The first chunk's iterator is 1, and a module's value begins with a 7.
    if bytes.first() == Some(&7) { read_dump(bytes) } else { read_chunks(bytes) }
}

fn read_chunks(bytes: &[u8]) -> Result<ForeignFilter> {
    let mut file = Cursor::new(bytes);
    let mut chunk = || {
        let (iterator, length) = (file.u64()?, file.u32()?);
        let bytes = file.slice(length.into())?;
        Ok((iterator, bytes, file.left() > 0))
    };
    let (iterator, header, mut more) = chunk()?;
    if iterator != 1 {
        return Err(Error::NotAFilter);
    }
    let filter = header_of(header)?.shaped()?;
    let mut bits = Vec::new();
    while more {
        let (iterator, bytes, another) = chunk()?;
        more = another;
        // The module ends with an iterator of 0, and so may a file.
        if (iterator, bytes.len(), more) == (0, 0, false) {
            break;
        }
        let end = (bits.len() + bytes.len()) as u64;
        Error::unless(iterator == end + 1, "redisbloom's chunks must come in their order, each once")?;
        append(&mut bits, bytes)?;
    }
    finish(filter, bits)
}

/// The filter with its bits, which must be all and no more.
fn finish(filter: ForeignFilter, bits: Vec<u8>) -> Result<ForeignFilter> {
    let (needed, have) = (filter.byte_length() as u64, bits.len() as u64);
    if have < needed {
        return Err(Error::Truncated { needed, have });
    }
    if have > needed {
        return Err(Error::TrailingBytes { extra: have - needed });
    }
    filter.with_bytes(bits)
}

fn header_of(header: &[u8]) -> Result<Chain> {
    let mut cursor = Cursor::new(header);
    cursor.u64()?;
    let total = cursor.u32()?;
    let options = cursor.u32()?;
    let n = u64::from(total);
    Error::unless((1..=255).contains(&n), LINKS)?;
    // The length alone tells which release wrote it.
    let length = header.len() as u64;
    let (grows, wide) = match () {
        () if length == 20 + 53 * n => (true, true),
        () if length == 20 + 49 * n => (true, false),
        () if length == 16 + 49 * n => (false, false),
        () => return Err(Error::rule("redisbloom's header must have a length that fits its links")),
    };
    let growth = if grows { cursor.u32()? } else { 2 };
    let mut links = Vec::new();
    for _ in 0..n {
        let (bytes, bits, size) = (cursor.u64()?, cursor.u64()?, cursor.u64()?);
        let (error, bits_per_entry, hashes) = (cursor.f64()?, cursor.f64()?, cursor.u32()?);
        let entries = if wide { cursor.u64()? } else { cursor.u32()?.into() };
        let rest = (size, entries, error, bits_per_entry);
        push(&mut links, link(bytes, bits, hashes.into(), cursor.u8()?, rest)?)?;
    }
    Ok(Chain { options, growth, links })
}

/// The payload of `DUMP`: a value of a module, in the format of Redis's RDB files.
fn read_dump(bytes: &[u8]) -> Result<ForeignFilter> {
    const UNSUPPORTED: Error =
        Error::UnsupportedFormat { reason: "this DUMP payload isn't one that RedisBloom makes" };
    let have = bytes.len() as u64;
    let Some((body, &stored)) = bytes.split_last_chunk() else {
        return Err(Error::Truncated { needed: 8, have });
    };
    let (stored, computed) = (u64::from_le_bytes(stored), crc64(body));
    if stored != computed {
        return Err(Error::ChecksumMismatch { stored, computed });
    }
    let mut cursor = Cursor::new(body);
    cursor.u8()?;
    let module = length(&mut cursor)?.ok_or(UNSUPPORTED)?;
    // Nine characters of six bits, and the encoding's version.
    if module >> 10 != name(b"MBbloom--") {
        return Err(UNSUPPORTED);
    }
    let version = module & 0x3ff;
    let total = {
        whole(&mut cursor)?;
        whole(&mut cursor)?
    };
    Error::unless((1..=255).contains(&total), LINKS)?;
    let options = if version >= 2 { whole(&mut cursor)? as u32 } else { 0 };
    let growth = if version >= 4 { whole(&mut cursor)? as u32 } else { 2 };
    let (mut links, mut bits) = (Vec::new(), Vec::new());
    for _ in 0..total {
        let entries = whole(&mut cursor)?;
        let error = double(&mut cursor)?;
        let hashes = whole(&mut cursor)?;
        let bits_per_entry = double(&mut cursor)?;
        let modulus = whole(&mut cursor)?;
        let n2 = whole(&mut cursor)?.min(255) as u8;
        let array = string(&mut cursor)?;
        let size = whole(&mut cursor)?;
        append(&mut bits, array)?;
        let rest = (size, entries, error, bits_per_entry);
        push(&mut links, link(array.len() as u64, modulus, hashes, n2, rest)?)?;
    }
    if length(&mut cursor)? != Some(0) {
        return Err(UNSUPPORTED);
    }
    // The version of RDB files.
    cursor.u16()?;
    cursor.end()?;
    return finish(Chain { options, growth, links }.shaped()?, bits);

    /// A length of RDB's, or how a string is packed, which isn't one.
    fn length(cursor: &mut Cursor) -> Result<Option<u64>> {
        let first = cursor.u8()?;
        Ok(match first {
            0..0x40 => Some(first.into()),
            0x40..0x80 => Some(u64::from(first & 0x3f) << 8 | u64::from(cursor.u8()?)),
            0x80 => Some(cursor.u32_be()?.into()),
            0x81 => Some(cursor.u64_be()?),
            _ => None,
        })
    }
    fn opcode(cursor: &mut Cursor, wanted: &[u64]) -> Result<()> {
        let holds = length(cursor)?.is_some_and(|opcode| wanted.contains(&opcode));
        if holds { Ok(()) } else { Err(UNSUPPORTED) }
    }
    fn whole(cursor: &mut Cursor) -> Result<u64> {
        opcode(cursor, &[1, 2])?;
        length(cursor)?.ok_or(UNSUPPORTED)
    }
    fn double(cursor: &mut Cursor) -> Result<f64> {
        opcode(cursor, &[4])?;
        cursor.f64()
    }
    fn string<'a>(cursor: &mut Cursor<'a>) -> Result<&'a [u8]> {
        opcode(cursor, &[5])?;
        let reason = "the bits of this DUMP payload are packed by LZF; use BF.SCANDUMP";
        let length = length(cursor)?.ok_or(Error::UnsupportedFormat { reason })?;
        cursor.slice(length)
    }
}

/// A module's name as RDB files have it.
fn name(name: &[u8; 9]) -> u64 {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let digit = |byte: &u8| DIGITS.iter().position(|digit| digit == byte).unwrap_or(0) as u64;
    name.iter().fold(0, |id, byte| id << 6 | digit(byte))
}

/// Redis's CRC-64: of Jones, reflected, from 0.
fn crc64(bytes: &[u8]) -> u64 {
    let step = |crc: u64| crc >> 1 ^ if crc & 1 == 1 { 0x95ac_9329_ac4b_c9b5 } else { 0 };
    let table: [u64; 256] = std::array::from_fn(|byte| (0..8).fold(byte as u64, |crc, _| step(crc)));
    bytes.iter().fold(0, |crc, &byte| table[usize::from(crc as u8 ^ byte)] ^ crc >> 8)
}

pub(super) fn write(filter: &ForeignFilter) -> Result<Vec<u8>> {
    let Chain { options, growth, links } = Chain::of(filter)?;
    let mut header = Vec::new();
    let size = links.iter().fold(0, |size: u64, link| size.wrapping_add(link.size));
    append(&mut header, &size.to_le_bytes())?;
    for number in [links.len() as u32, options, growth] {
        append(&mut header, &number.to_le_bytes())?;
    }
    for Link { part, size, entries, error, bits_per_entry, n2 } in links {
        let numbers = [part.bytes.into(), part.bits, size, error.to_bits(), bits_per_entry.to_bits()];
        append(&mut header, numbers.map(u64::to_le_bytes).as_flattened())?;
        append(&mut header, &u32::from(part.hashes).to_le_bytes())?;
        append(&mut header, &entries.to_le_bytes())?;
        push(&mut header, n2)?;
    }
    let mut file = Vec::new();
    let mut chunk = |iterator: usize, bytes: &[u8]| {
        append(&mut file, &(iterator as u64).to_le_bytes())?;
        append(&mut file, &(bytes.len() as u32).to_le_bytes())?;
        append(&mut file, bytes)
    };
    chunk(1, &header)?;
    let mut end = 1;
    for array in filter.arrays_of_bytes() {
        for bytes in array.chunks(CHUNK) {
            end += bytes.len();
            chunk(end, bytes)?;
        }
    }
    Ok(file)
}

/// The filter of `BF.RESERVE key fpr count EXPANSION expansion`, or `NONSCALING` with an expansion of 0.
pub(super) fn create(count: u64, fpr: f64, expansion: u32) -> Result<ForeignFilter> {
    let scales = expansion > 0;
    let options = if scales { OPTIONS } else { OPTIONS | NO_SCALING };
    // The first link has half of the rate, so that all together keep it.
    let link = new_link(count.max(1), if scales { fpr * 0.5 } else { fpr })?;
    let mut links = Vec::new();
    push(&mut links, link)?;
    Chain { options, growth: if scales { expansion } else { 2 }, links }.shaped()?.empty()
}

fn new_link(entries: u64, error: f64) -> Result<Link> {
    let bits_per_entry = (logarithm(error) / 0.480_453_013_918_201).abs();
    // The module's own digits, one short of ln 2.
    #[allow(clippy::approx_constant)]
    let hashes = libm::ceil(0.693_147_180_559_945 * bits_per_entry) as u64;
    let bits = (entries as f64 * bits_per_entry) as u64;
    let bytes = bits.max(1).div_ceil(64).saturating_mul(8);
    link(bytes, bytes.saturating_mul(8), hashes, 0, (0, entries, error, bits_per_entry))
}

/// The natural logarithm of a rate up to 1/2 to the last bit, as C's is nearly always: what is computed of it is written into the file. `libm`'s
/// may be one unit off. It is e ln 2 + 2 artanh((m - 1) / (m + 1)) of m 2^e, in 62 binary digits after the point.
fn logarithm(x: f64) -> f64 {
    const ONE: i128 = 1 << 62;
    const LN_2: i128 = 0x2c5c_85fd_f473_de6b;
    let (m, e) = libm::frexp(x);
    let m = (m * ONE as f64) as i128;
    let mut power = ((m - ONE) << 62) / (m + ONE);
    let square = power * power >> 62;
    let mut sum = 0;
    for odd in (1..60).step_by(2) {
        sum += power / odd;
        power = power * square >> 62;
    }
    (2 * sum + i128::from(e) * LN_2) as f64 / ONE as f64
}

/// Makes room for another key, if the last link has all that it should hold, and counts it.
pub(super) fn count_one(filter: &mut ForeignFilter) -> Result<()> {
    let mut chain = Chain::of(filter)?;
    let Some(&last) = chain.links.last() else { return Ok(()) };
    if last.size >= last.entries {
        if chain.options & NO_SCALING != 0 || chain.links.len() == 255 {
            let count = chain.links.iter().fold(0, |count: u64, link| count.saturating_add(link.size));
            return Err(Error::FilterFull { count });
        }
        let entries = last.entries.saturating_mul(chain.growth.into());
        push(&mut chain.links, new_link(entries, last.error * 0.5)?)?;
    }
    let Some(last) = chain.links.last_mut() else { return Ok(()) };
    last.size += 1;
    let added = last.part;
    let note = chain.note()?;
    let grown = chain.links.len() > filter.parts().len();
    let (notes, parts, bytes) = filter.parts_mut();
    if grown {
        let mut more = copied(bytes)?;
        append(&mut more, &zeroed(added.bytes as usize)?)?;
        push(parts, added)?;
        *bytes = more.into();
    }
    *notes = note;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By Python's decimal module, with 50 digits.
    #[test]
    fn logarithms() {
        for (x, ln) in [
            (0.5, -std::f64::consts::LN_2),
            (0.01, -4.605_170_185_988_091),
            (0.005, -5.298_317_366_548_036),
            (0.0025, -5.991_464_547_107_982),
            (0.00125, -6.684_611_727_667_927),
            (1e-9, -20.723_265_836_946_41),
            (1e-300, -690.775_527_898_213_7),
        ] {
            assert_eq!(logarithm(x), ln, "{x}");
        }
    }
}
