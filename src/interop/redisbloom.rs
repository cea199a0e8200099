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
//! All is little-endian. A later chunk holds the bytes before iterator - 1 of all links' bits. The layout of 2.2.1 and
//! later is written, whatever was read. LZF, with which `DUMP` may pack the bits, isn't unpacked.

use super::found::{Found, part};
use super::options::Options;
use crate::error::{Error, Result};
use crate::fields::{Cursor, Fields};
use crate::filters::ForeignFilter;
use crate::filters::foreign::{Part, Scheme};
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

/// A chain of links. The note of its filter holds what isn't in the parts: options and growth (u32 each), then each
/// link's size and entries (u64 each), error and bits per entry (f64 each) and n2 (u8).
struct Chain {
    scheme: Scheme,
    parts: Vec<Part>,
    note: Fields,
}

/// The bytes of a link in the note.
const LINK: usize = 33;

/// What a file says of a link.
struct Link {
    bytes: u64,
    bits: u64,
    hashes: u64,
    size: u64,
    entries: u64,
    error: f64,
    bits_per_entry: f64,
    n2: u8,
}

impl Chain {
    fn new(options: u32, growth: u32) -> Self {
        let scheme = if options & FORCE64 != 0 { Scheme::Murmur64A } else { Scheme::Murmur2 };
        let mut note = Fields::default();
        note.u32(options);
        note.u32(growth);
        Chain { scheme, parts: Vec::new(), note }
    }

    #[cfg_attr(target_arch = "wasm32", inline(never))]
    fn push(&mut self, link: &Link) -> Result<()> {
        push(&mut self.parts, link.part()?)?;
        link.write(&mut self.note);
        Ok(())
    }

    /// The chain with its bits, which must be complete.
    fn found(self, bytes: Vec<u8>) -> Result<Found> {
        let Chain { scheme, parts, note } = self;
        let needed = parts.iter().map(|part| u64::from(part.bytes)).sum();
        let have = bytes.len() as u64;
        if have < needed {
            return Err(Error::Truncated { needed, have });
        }
        if have > needed {
            return Err(Error::TrailingBytes { extra: have - needed });
        }
        Ok(Found { scheme, layout: 0, seed: 0, parts, note: note.finish()?, bytes })
    }
}

impl Link {
    fn part(&self) -> Result<Part> {
        // Up to 2.0, the number of bits isn't stored if it is a power of two.
        let power = 1_u64.checked_shl(self.n2.into()).unwrap_or(0);
        part(if self.n2 > 0 { power } else { self.bits }, self.bytes, self.hashes)
    }

    #[cfg_attr(target_arch = "wasm32", inline(never))]
    fn write(&self, note: &mut Fields) {
        note.u64(self.size);
        note.u64(self.entries);
        note.f64(self.error);
        note.f64(self.bits_per_entry);
        note.u8(self.n2.into());
    }
}

pub(super) fn read(file: &mut Cursor, _: &Options) -> Result<Found> {
    // The first chunk's iterator is 1, and a module's value begins with a 7.
    if file.left().first() == Some(&7) { read_dump(file) } else { read_chunks(file) }
}

#[cfg_attr(target_arch = "wasm32", inline(never))]
fn read_chunks(file: &mut Cursor) -> Result<Found> {
    let (iterator, header) = chunk(file);
    if iterator != 1 {
        return Err(Error::rule(
            "the bytes must be those of BF.SCANDUMP, from the iterator 1 on, or of DUMP",
        ));
    }
    let chain = chain(&mut Cursor::new(header), header.len() as u64)?;
    let mut bits = Vec::new();
    while !file.left().is_empty() {
        let (iterator, bytes) = chunk(file);
        // The module ends a dump with an iterator of 0, and a file may do the same.
        if (iterator, bytes.len(), file.left().len()) == (0, 0, 0) {
            break;
        }
        append(&mut bits, bytes)?;
        let rule = "redisbloom's chunks must come in their order, each once";
        file.rule(iterator == bits.len() as u64 + 1, rule);
    }
    chain.found(bits)
}

/// A chunk's iterator and bytes.
#[cfg_attr(target_arch = "wasm32", inline(never))]
fn chunk<'a>(file: &mut Cursor<'a>) -> (u64, &'a [u8]) {
    let (iterator, length) = (file.u64(), file.u32());
    (iterator, file.slice(length.into()))
}

/// The chain of a header of this length.
#[cfg_attr(target_arch = "wasm32", inline(never))]
fn chain(header: &mut Cursor, length: u64) -> Result<Chain> {
    header.u64();
    let n = u64::from(header.u32());
    let options = header.u32();
    header.rule((1..=255).contains(&n), LINKS);
    // The length alone tells which release wrote it.
    let grows = length >= 20 + 49 * n;
    let wide = length == 20 + 53 * n;
    let expected = if grows { 20 } else { 16 } + if wide { 53 } else { 49 } * n;
    header.rule(length == expected, "redisbloom's header must have a length that fits its links");
    header.done()?;
    let mut chain = Chain::new(options, if grows { header.u32() } else { 2 });
    for _ in 0..n {
        let (bytes, bits, size) = (header.u64(), header.u64(), header.u64());
        let (error, bits_per_entry, hashes) = (header.f64(), header.f64(), header.u32().into());
        let entries = if wide { header.u64() } else { header.u32().into() };
        let n2 = header.u8();
        chain.push(&Link { bytes, bits, hashes, size, entries, error, bits_per_entry, n2 })?;
    }
    Ok(chain)
}

const DUMP: &str = "this DUMP payload isn't one that RedisBloom makes";

/// The payload of `DUMP`: a value of a module, in the format of Redis's RDB files.
#[cfg_attr(target_arch = "wasm32", inline(never))]
fn read_dump(file: &mut Cursor) -> Result<Found> {
    let body = file.slice(file.left().len().saturating_sub(8) as u64);
    let (stored, computed) = (file.u64(), crc64(body));
    if stored != computed {
        file.refuse(Error::ChecksumMismatch { stored, computed });
    }
    file.done()?;
    let mut dump = Cursor::new(body);
    dump.u8();
    let module = length(&mut dump).unwrap_or(0);
    if module >> 10 != MODULE {
        dump.unsupported(DUMP);
    }
    let version = module & 0x3ff;
    whole(&mut dump);
    let links = whole(&mut dump);
    dump.rule((1..=255).contains(&links), LINKS);
    let options = if version >= 2 { whole(&mut dump) as u32 } else { 0 };
    let growth = if version >= 4 { whole(&mut dump) as u32 } else { 2 };
    let (mut chain, mut array) = (Chain::new(options, growth), Vec::new());
    for _ in 0..links {
        let entries = whole(&mut dump);
        let error = double(&mut dump);
        let hashes = whole(&mut dump);
        let bits_per_entry = double(&mut dump);
        let bits = whole(&mut dump);
        let n2 = whole(&mut dump).min(255) as u8;
        opcode(&mut dump, 5);
        let Some(length) = length(&mut dump) else {
            let reason = "the bits of this DUMP payload are packed by LZF; use BF.SCANDUMP";
            return Err(Error::unsupported(reason));
        };
        let link = dump.slice(length);
        let (bytes, size) = (link.len() as u64, whole(&mut dump));
        dump.done()?;
        append(&mut array, link)?;
        chain.push(&Link { bytes, bits, hashes, size, entries, error, bits_per_entry, n2 })?;
    }
    // The value's end, and the version of RDB files.
    if length(&mut dump) != Some(0) {
        dump.unsupported(DUMP);
    }
    dump.u16();
    dump.end();
    dump.done()?;
    return chain.found(array);

    /// A length in RDB's encoding; none if it says how a string is packed.
    #[cfg_attr(target_arch = "wasm32", inline(never))]
    fn length(dump: &mut Cursor) -> Option<u64> {
        let first = dump.u8();
        match first {
            0..0x40 => Some(first.into()),
            0x40..0x80 => Some(u64::from(first & 0x3f) << 8 | u64::from(dump.u8())),
            0x80 => Some(dump.u32_be().into()),
            0x81 => Some(dump.u64_be()),
            _ => None,
        }
    }
    /// Refuses any opcode except the wanted one: 2 for an integer, for which 1 is fine too, 4 for a double, 5 for a
    /// string.
    #[cfg_attr(target_arch = "wasm32", inline(never))]
    fn opcode(dump: &mut Cursor, wanted: u64) {
        let found = length(dump);
        if found != Some(wanted) && (found, wanted) != (Some(1), 2) {
            dump.unsupported(DUMP);
        }
    }
    #[cfg_attr(target_arch = "wasm32", inline(never))]
    fn whole(dump: &mut Cursor) -> u64 {
        opcode(dump, 2);
        let found = length(dump);
        if found.is_none() {
            dump.unsupported(DUMP);
        }
        found.unwrap_or(0)
    }
    fn double(dump: &mut Cursor) -> f64 {
        opcode(dump, 4);
        dump.f64()
    }
}

/// A module's name in RDB files: nine characters of six bits, in the alphabet of base64 for URLs. `"MBbloom--"`.
const MODULE: u64 = 0x0c_05b9_68a2_6fbe;

/// Redis's CRC-64: of Jones, reflected, from 0.
fn crc64(bytes: &[u8]) -> u64 {
    let step = |crc: u64| crc >> 1 ^ if crc & 1 == 1 { 0x95ac_9329_ac4b_c9b5 } else { 0 };
    let table: [u64; 256] = std::array::from_fn(|byte| (0..8).fold(byte as u64, |crc, _| step(crc)));
    bytes.iter().fold(0, |crc, &byte| table[usize::from(crc as u8 ^ byte)] ^ crc >> 8)
}

pub(super) fn write(fields: &mut Fields, filter: &ForeignFilter, _: Part) -> Result<()> {
    let (mut header, mut size) = (Fields::default(), 0_u64);
    header.u32(filter.parts().len() as u32);
    let mut note = Cursor::new(filter.note());
    header.slice(note.slice(8));
    for part in filter.parts() {
        let (held, entries, rates, n2) = (note.u64(), note.u64(), note.slice(16), note.u8());
        size = size.wrapping_add(held);
        header.u64(part.bytes.into());
        // LOADCHUNK refuses any number of bits except that of the bytes, even if a smaller power of two is what counts.
        header.u64(if n2 > 0 { u64::from(part.bytes) * 8 } else { part.bits });
        header.u64(held);
        // Error and bits per entry.
        header.slice(rates);
        header.u32(part.hashes.into());
        header.u64(entries);
        header.u8(n2.into());
    }
    let header = header.finish()?;
    fields.u64(1);
    fields.u32(header.len() as u32 + 8);
    fields.u64(size);
    fields.slice(&header);
    let mut end = 1;
    for array in filter.arrays_of_bytes() {
        for bytes in array.chunks(CHUNK) {
            end += bytes.len() as u64;
            fields.u64(end);
            fields.u32(bytes.len() as u32);
            fields.slice(bytes);
        }
    }
    Ok(())
}

/// The filter of `BF.RESERVE key fpr count EXPANSION expansion`, or `NONSCALING` with an expansion of 0.
pub(super) fn create(count: u64, fpr: f64, expansion: u32) -> Result<Found> {
    let scales = expansion > 0;
    let options = if scales { OPTIONS } else { OPTIONS | NO_SCALING };
    let mut chain = Chain::new(options, if scales { expansion } else { 2 });
    // The first link has half of the rate, so that all links together keep to the rate.
    let link = Link::new(count.max(1), if scales { fpr * 0.5 } else { fpr });
    chain.push(&link)?;
    let bytes = usize::try_from(link.bytes).map_err(|_| Error::TooLarge { bytes: link.bytes })?;
    chain.found(zeroed(bytes)?)
}

impl Link {
    /// A link without keys.
    #[cfg_attr(target_arch = "wasm32", inline(never))]
    fn new(entries: u64, error: f64) -> Self {
        let bits_per_entry = (logarithm(error) / 0.480_453_013_918_201).abs();
        // The module's own digits, one fewer than those of ln 2.
        #[allow(clippy::approx_constant)]
        let hashes = libm::ceil(0.693_147_180_559_945 * bits_per_entry) as u64;
        let bits = (entries as f64 * bits_per_entry) as u64;
        let bytes = bits.max(1).div_ceil(64).saturating_mul(8);
        let bits = bytes.saturating_mul(8);
        Link { bytes, bits, hashes, size: 0, entries, error, bits_per_entry, n2: 0 }
    }
}

/// The natural logarithm of a rate, exact to the last bit, as C's nearly always is: what is computed from it is written
/// into the file. `libm`'s may be one unit off. It is e ln 2 - 2 artanh((1 - m) / (1 + m)) of m 2^e, in 62 binary digits
/// after the point.
fn logarithm(x: f64) -> f64 {
    const ONE: u64 = 1 << 62;
    const LN_2: u64 = 0x2c5c_85fd_f473_de6b;
    let (m, e) = libm::frexp(x);
    let m = (m * ONE as f64) as u64;
    // A division digit by digit: one of 128 bits would be a kilobyte of wasm.
    let (mut rest, mut power) = (ONE - m, 0);
    for _ in 0..62 {
        let next = rest << 1;
        let digit = next >= ONE + m;
        rest = if digit { next - (ONE + m) } else { next };
        power = power << 1 | u64::from(digit);
    }
    let times = |a: u64, b: u64| (u128::from(a) * u128::from(b) >> 62) as u64;
    let square = times(power, power);
    let mut sum = 0;
    for odd in (1..60).step_by(2) {
        sum += power / odd;
        power = times(power, square);
    }
    (i128::from(e) * i128::from(LN_2) - 2 * i128::from(sum)) as f64 / ONE as f64
}

/// Makes room for another key, if the last link is full, and counts the key.
pub(super) fn count_one(filter: &mut ForeignFilter) -> Result<()> {
    let (note, parts, bytes) = filter.parts_mut();
    let mut cursor = Cursor::new(note);
    let (options, growth) = (cursor.u32(), u64::from(cursor.u32()));
    let (mut count, mut size, mut entries, mut error) = (0_u64, 0, 0, 0.0);
    for _ in 0..parts.len() {
        (size, entries, error) = (cursor.u64(), cursor.u64(), cursor.f64());
        count = count.saturating_add(size);
        cursor.slice(9);
    }
    if size >= entries {
        if options & NO_SCALING != 0 || parts.len() == 255 {
            return Err(Error::FilterFull { count });
        }
        let link = Link::new(entries.saturating_mul(growth), error * 0.5);
        let (mut more, mut noted) = (copied(bytes)?, Fields::default());
        let part = link.part()?;
        append(&mut more, &zeroed(part.bytes as usize)?)?;
        link.write(&mut noted);
        append(note, &noted.finish()?)?;
        push(parts, part).inspect_err(|_| note.truncate(note.len() - LINK))?;
        *bytes = more.into();
        size = 0;
    }
    let at = note.len().saturating_sub(LINK);
    note.iter_mut().skip(at).zip((size + 1).to_le_bytes()).for_each(|(byte, new)| *byte = new);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Computed by Python's decimal module, with 50 digits.
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
