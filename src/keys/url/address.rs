//! IP addresses as hosts. They are read in all forms of `inet_aton` and RFC 4291, and written in one form.

use super::text::{Full, digit, part, put, split_at};

/// One to four numbers, decimal, octal or hexadecimal. The last one fills the bytes that are left.
#[cfg_attr(target_arch = "wasm32", inline(never))]
pub(super) fn ipv4(host: &[u8]) -> Option<u32> {
    let mut address = 0;
    let mut room = 32;
    let mut rest = Some(host);
    while let Some(part) = part(&mut rest, b'.') {
        let value = value(part)?;
        // The last one fills all the bytes that are left; every other one is a single byte.
        let bits = if rest.is_none() { room } else { 8 };
        if room < 8 || value >> bits != 0 {
            return None;
        }
        room -= bits;
        address |= value << room;
    }
    u32::try_from(address).ok()
}

/// A number as C writes it.
pub(super) fn value(text: &[u8]) -> Option<u64> {
    let (base, digits) = match text {
        [b'0', b'x' | b'X', rest @ ..] => (16, rest),
        [b'0', rest @ ..] if !rest.is_empty() => (8, rest),
        _ => (10, text),
    };
    if digits.is_empty() {
        return None;
    }
    let mut value = 0_u64;
    for &byte in digits {
        let digit = u64::from(digit(byte)?);
        if digit >= base {
            return None;
        }
        value = value.saturating_mul(base).saturating_add(digit);
    }
    Some(value)
}

/// The eight groups of an IPv6 address.
pub(super) fn ipv6(text: &[u8]) -> Option<[u16; 8]> {
    let mut groups = [0; 8];
    let Some(gap) = text.windows(2).position(|pair| pair == b"::") else {
        return (read_groups(text, &mut groups)? == 8).then_some(groups);
    };
    let mut tail = [0; 8];
    let head = text.get(..gap)?;
    let before = read_groups(head, &mut groups)?;
    let after = read_groups(text.get(gap + 2..)?, &mut tail)?;
    // Decimals can only be at the end.
    if before + after > 7 || !split_at(head, b".").1.is_empty() {
        return None;
    }
    for (group, value) in groups.iter_mut().skip(8 - after).zip(tail) {
        *group = value;
    }
    Some(groups)
}

/// Reads groups with colons between them, the last two perhaps as four decimals. Returns their number.
#[cfg_attr(target_arch = "wasm32", inline(never))]
fn read_groups(text: &[u8], groups: &mut [u16; 8]) -> Option<usize> {
    let mut count = 0;
    let mut rest = (!text.is_empty()).then_some(text);
    while let Some(piece) = part(&mut rest, b':') {
        if rest.is_none() && !split_at(piece, b".").1.is_empty() {
            let address = decimals(piece)?;
            *groups.get_mut(count)? = (address >> 16) as u16;
            count += 1;
            *groups.get_mut(count)? = address as u16;
        } else {
            if !matches!(piece.len(), 1..=4) {
                return None;
            }
            let mut value = 0;
            for &byte in piece {
                value = value << 4 | u16::from(digit(byte)?);
            }
            *groups.get_mut(count)? = value;
        }
        count += 1;
    }
    Some(count)
}

/// Whether this is an IP address in its usual form, which may name a zone as `fe80::1%lo0` does.
pub fn is_address(text: &[u8]) -> bool {
    let (address, _) = split_at(text, b"%");
    decimals(address).is_some() || ipv6(address).is_some()
}

/// An IPv4 address in its one usual form.
fn decimals(text: &[u8]) -> Option<u32> {
    let mut count = 0;
    let mut rest = Some(text);
    while let Some(number) = part(&mut rest, b'.') {
        if matches!(number, [b'0', _, ..]) {
            return None;
        }
        count += 1;
    }
    if count == 4 { ipv4(text) } else { None }
}

/// Writes an IPv6 address in brackets. The first of the longest runs of two or more zeros becomes `::`.
pub(super) fn compress(out: &mut Vec<u8>, groups: &[u16; 8]) -> Result<(), Full> {
    let (mut end, mut longest, mut run) = (0, 1, 0);
    for (i, &group) in groups.iter().enumerate() {
        run = if group == 0 { run + 1 } else { 0 };
        if run > longest {
            (end, longest) = (i + 1, run);
        }
    }
    put(out, b"[")?;
    for (i, &group) in groups.iter().enumerate() {
        if i >= end || i + longest < end {
            // There is no colon before the first group, or before the first one after a gap.
            if i != 0 && i != end {
                put(out, b":")?;
            }
            number(out, group.into(), 16)?;
        } else if i + 1 == end {
            put(out, b"::")?;
        }
    }
    put(out, b"]")
}

/// Writes a number below `base` to the power of four.
#[cfg_attr(target_arch = "wasm32", inline(never))]
pub(super) fn number(out: &mut Vec<u8>, value: u32, base: u32) -> Result<(), Full> {
    let mut unit = base * base * base;
    while unit > 0 {
        if value >= unit || unit == 1 {
            let digit = (value / unit % base) as u8;
            put(out, &[if digit < 10 { b'0' + digit } else { b'a' - 10 + digit }])?;
        }
        unit /= base;
    }
    Ok(())
}
