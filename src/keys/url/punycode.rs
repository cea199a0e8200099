//! Punycode, RFC 3492: how an international label is written in ASCII.

use std::slice::Iter;

use crate::error::Result;
use crate::vectors::{append, copied, push};

const BASE: u64 = 36;
const T_MIN: u64 = 1;
const T_MAX: u64 = 26;
const SKEW: u64 = 38;
const DAMP: u64 = 700;
const FIRST_BIAS: u64 = 72;
/// The first code point that isn't ASCII.
const FIRST: u64 = 0x80;

/// The prefix of an encoded label.
const PREFIX: &[u8] = b"xn--";

/// Whether a label begins like one that isn't ASCII.
pub(super) fn has_prefix(label: &[u8]) -> bool {
    label.get(..PREFIX.len()).is_some_and(|start| start.eq_ignore_ascii_case(PREFIX))
}

/// The threshold of the digit at position `k`: a smaller digit ends the number.
fn threshold(k: u64, bias: u64) -> u64 {
    k.saturating_sub(bias).clamp(T_MIN, T_MAX)
}

/// The bias after a delta (section 6.1).
fn adapt(delta: u64, count: u64, first: bool) -> u64 {
    let mut delta = delta / if first { DAMP } else { 2 };
    delta += delta / count;
    let mut k = 0;
    while delta > (BASE - T_MIN) * T_MAX / 2 {
        delta /= BASE - T_MIN;
        k += BASE;
    }
    k + (BASE - T_MIN + 1) * delta / (delta + SKEW)
}

/// A label in ASCII.
pub(super) fn encode(label: &str) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    let mut points = Vec::new();
    for char in label.chars() {
        push(&mut points, u64::from(u32::from(char)))?;
        if char.is_ascii() {
            push(&mut out, char as u8)?;
        }
    }
    if out.len() == points.len() {
        return Ok(out);
    }
    let basic = out.len() as u64;
    if basic > 0 {
        push(&mut out, b'-')?;
    }
    let (mut done, mut last, mut delta, mut bias) = (basic, FIRST, 0, FIRST_BIAS);
    // From the smallest code point up. Each delta is the number of places that were passed since the last one.
    while let Some(next) = points.iter().copied().filter(|&point| point >= last).min() {
        delta += (next - last) * (done + 1);
        for &point in &points {
            if point < next {
                delta += 1;
            } else if point == next {
                write(&mut out, delta, bias)?;
                bias = adapt(delta, done + 1, done == basic);
                delta = 0;
                done += 1;
            }
        }
        delta += 1;
        last = next + 1;
    }
    let mut label = copied(PREFIX)?;
    append(&mut label, &out)?;
    Ok(label)
}

/// Appends a number, the lowest digit first.
fn write(out: &mut Vec<u8>, mut number: u64, bias: u64) -> Result<()> {
    let mut k = BASE;
    loop {
        let least = threshold(k, bias);
        if number < least {
            return push(out, digit(number));
        }
        push(out, digit(least + (number - least) % (BASE - least)))?;
        number = (number - least) / (BASE - least);
        k += BASE;
    }
}

fn digit(value: u64) -> u8 {
    value as u8 + if value < 26 { b'a' } else { b'0' - 26 }
}

/// The label that ASCII stands for, in UTF-8; none if it is invalid.
pub(super) fn decode(ascii: &[u8]) -> Result<Option<Vec<u8>>> {
    let Some(encoded) = ascii.strip_prefix(PREFIX) else { return copied(ascii).map(Some) };
    let basic = encoded.iter().rposition(|&byte| byte == b'-').filter(|&at| at > 0);
    let (basic, digits) = basic.map_or((&[][..], encoded), |at| (&encoded[..at], &encoded[at + 1..]));
    let mut points = Vec::new();
    for &byte in basic {
        push(&mut points, char::from(byte))?;
    }
    if insert(&mut points, digits)?.is_none() {
        return Ok(None);
    }
    let mut out = Vec::new();
    for char in points {
        append(&mut out, char.encode_utf8(&mut [0; 4]).as_bytes())?;
    }
    Ok(Some(out))
}

/// Inserts what the digits say into the basic code points.
fn insert(points: &mut Vec<char>, digits: &[u8]) -> Result<Option<()>> {
    let (mut point, mut at, mut bias) = (FIRST, 0, FIRST_BIAS);
    let mut digits = digits.iter();
    while !digits.as_slice().is_empty() {
        let Some(delta) = number(&mut digits, bias) else { return Ok(None) };
        let count = points.len() as u64 + 1;
        bias = adapt(delta, count, at == 0);
        at += delta;
        point += at / count;
        at %= count;
        let Some(char) = u32::try_from(point).ok().and_then(char::from_u32) else { return Ok(None) };
        push(points, char)?;
        for place in (at as usize + 1..points.len()).rev() {
            points.swap(place, place - 1);
        }
        at += 1;
    }
    Ok(Some(()))
}

/// The next number below 2^32, the lowest digit first.
fn number(digits: &mut Iter<u8>, bias: u64) -> Option<u64> {
    let (mut number, mut weight, mut k) = (0, 1, BASE);
    loop {
        let value = match *digits.next()? {
            letter @ b'a'..=b'z' => letter - b'a',
            digit @ b'0'..=b'9' => digit - b'0' + 26,
            _ => return None,
        };
        number += u64::from(value) * weight;
        let least = threshold(k, bias);
        if number >> 32 != 0 {
            return None;
        }
        if u64::from(value) < least {
            return Some(number);
        }
        weight *= BASE - least;
        k += BASE;
        // The next digit isn't 0, or it would be the last.
        if weight >> 32 != 0 {
            return None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The oracle is the crate `idna`.
        #[test]
        fn is_that_of_the_crate_idna(label in "[a-z0-9-]{0,20}\\PC{1,20}[a-z0-9-]{0,20}") {
            let expected = match label.is_ascii() {
                true => label.clone(),
                false => format!("xn--{}", idna::punycode::encode_str(&label).unwrap()),
            };
            prop_assert_eq!(encode(&label).unwrap(), expected.as_bytes());
            prop_assert_eq!(decode(expected.as_bytes()).unwrap(), Some(label.into_bytes()));
        }

        #[test]
        fn decodes_like_the_crate_idna(encoded in "[a-z0-9-]{0,24}") {
            let expected = idna::punycode::decode_to_string(&encoded).map(String::into_bytes);
            prop_assert_eq!(decode(format!("xn--{encoded}").as_bytes()).unwrap(), expected);
        }
    }

    #[test]
    fn the_longest_labels() {
        for char in ['\u{80}', 'é', '中', '\u{10FFFF}'] {
            for count in [2, 59, 249, 333] {
                let label: String = (0..count).map(|i| if i % 7 == 6 { 'x' } else { char }).collect();
                let expected = format!("xn--{}", idna::punycode::encode_str(&label).unwrap());
                assert_eq!(encode(&label).unwrap(), expected.as_bytes());
            }
        }
    }
}
