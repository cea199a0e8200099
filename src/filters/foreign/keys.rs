//! What the keys of other software are, and which bytes of them it hashes. FORMAT-FOREIGN.md.

use std::borrow::Cow;
use std::str::FromStr;

use strum::FromRepr;

use super::hashes::number;
use crate::error::{Error, Result};
use crate::hash::sha1;
use crate::vectors::append;

/// What the keys of a foreign filter are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromRepr)]
#[repr(u8)]
pub enum KeyType {
    /// Bytes as they are given.
    Bytes = 0,
    /// Text in UTF-8, or any bytes.
    Text = 1,
    /// Text in UTF-8, with a `?` for each lone surrogate, as Java's `getBytes` has it.
    JavaText = 2,
    /// Text in UTF-16, the low byte of each code unit first.
    Utf16 = 3,
    /// Text in UTF-32, the low byte of each code point first.
    Utf32 = 4,
    /// Text in UTF-8, in which a lone surrogate swallows the code unit after it, as xxhashjs has it.
    XxhashJs = 5,
    /// Whole numbers of 32 bits, with a sign.
    Int32 = 6,
    /// Whole numbers of 64 bits, with a sign.
    Int64 = 7,
    /// Whole numbers of 64 bits, without a sign.
    Uint64 = 8,
    /// Floating-point numbers of 32 bits.
    Float = 9,
    /// Floating-point numbers of 64 bits.
    Double = 10,
    /// Whole numbers of 64 bits with a sign, by their `hash()` in Python.
    Python = 11,
    /// Text in UTF-8, or any bytes, by the first 8 bytes of their SHA-1.
    Sha1 = 12,
}

impl KeyType {
    /// The keys of this number in a blob.
    pub(crate) fn from_number(number: u8) -> Option<Self> {
        Self::from_repr(number)
    }

    /// The bytes of a number, if the keys are numbers: 4 or 8. A number is a key by its little-endian bytes.
    pub fn width(self) -> Option<usize> {
        match self {
            KeyType::Int32 | KeyType::Float => Some(4),
            KeyType::Int64 | KeyType::Uint64 | KeyType::Double | KeyType::Python => Some(8),
            _ => None,
        }
    }

    /// Whether lone surrogates matter: a text is then a key by its bytes in WTF-8
    /// (<https://simonsapin.github.io/wtf-8>), which is UTF-8 except that lone surrogates take 3 bytes each. Otherwise
    /// they count as U+FFFD, as in all our own kinds.
    pub fn is_wide(self) -> bool {
        matches!(self, KeyType::JavaText | KeyType::Utf16 | KeyType::Utf32 | KeyType::XxhashJs)
    }

    /// A line of a list as a key: a number in decimal digits if the keys are numbers, otherwise the line itself.
    ///
    /// # Errors
    /// [`Error::InvalidKey`] if the line isn't such a number.
    pub fn parse(self, line: &[u8]) -> Result<Cow<'_, [u8]>> {
        fn number<T: FromStr, const N: usize>(line: &[u8], bytes: fn(T) -> [u8; N]) -> Option<Vec<u8>> {
            Some(bytes(str::from_utf8(line).ok()?.parse().ok()?).to_vec())
        }
        let bytes = match self {
            KeyType::Int32 => number(line, i32::to_le_bytes),
            KeyType::Int64 | KeyType::Python => number(line, i64::to_le_bytes),
            KeyType::Uint64 => number(line, u64::to_le_bytes),
            KeyType::Float => number(line, f32::to_le_bytes),
            KeyType::Double => number(line, f64::to_le_bytes),
            _ => return Ok(line.into()),
        };
        let reason = "the filter's keys are numbers, and this is not such a number";
        bytes.map(Cow::Owned).ok_or(Error::InvalidKey { reason })
    }

    /// The bytes of a key that are hashed; none if it doesn't have the length of the numbers that the keys are.
    ///
    /// # Errors
    /// [`Error::TooLarge`] without the memory for a copy.
    pub(super) fn hashed(self, key: &[u8]) -> Result<Option<Cow<'_, [u8]>>> {
        if self.width().is_some_and(|width| key.len() != width) {
            return Ok(None);
        }
        let mut bytes = Vec::new();
        match self {
            KeyType::Python => append(&mut bytes, &python_hash(number(key)).to_le_bytes())?,
            KeyType::Sha1 => {
                // A number, whose high byte is the first.
                append(&mut bytes, &sha1(key))?;
                bytes.truncate(8);
                bytes.reverse();
            }
            KeyType::JavaText if has_surrogate(key) => {
                let mut rest = key;
                while let Some((&byte, after)) = rest.split_first() {
                    let lone = has_surrogate(&rest[..rest.len().min(2)]);
                    append(&mut bytes, &[if lone { b'?' } else { byte }])?;
                    // At the end it may be cut off.
                    rest = if lone { &rest[rest.len().min(3)..] } else { after };
                }
            }
            KeyType::XxhashJs if !has_surrogate(key) => return Ok(Some(key.into())),
            KeyType::Utf16 | KeyType::Utf32 | KeyType::XxhashJs => {
                let mut rest = key;
                // The surrogate that takes the next unit, with xxhashjs.
                let mut taking = None;
                while let Some(point) = code_point(&mut rest) {
                    if self == KeyType::Utf32 {
                        append(&mut bytes, &point.to_le_bytes())?;
                        continue;
                    }
                    // One code unit, or two.
                    let above = point.wrapping_sub(0x1_0000);
                    let pair = [0xd800 | above >> 10, 0xdc00 | above & 0x3ff];
                    let only = [point];
                    for &unit in if point > 0xffff { &pair[..] } else { &only } {
                        if self == KeyType::Utf16 {
                            append(&mut bytes, &(unit as u16).to_le_bytes())?;
                        } else if let Some(first) = taking.take() {
                            append_utf8(&mut bytes, joined(first, unit))?;
                        } else if unit & 0xf800 == 0xd800 {
                            taking = Some(unit);
                        } else {
                            append_utf8(&mut bytes, unit)?;
                        }
                    }
                }
                if let Some(first) = taking {
                    append_utf8(&mut bytes, joined(first, 0))?;
                }
            }
            _ => return Ok(Some(key.into())),
        }
        Ok(Some(bytes.into()))
    }
}

/// Python's `hash` of a whole number: its remainder by 2^61 - 1 with its sign, with -2 instead of -1.
fn python_hash(key: u64) -> i64 {
    match key as i64 % ((1 << 61) - 1) {
        -1 => -2,
        hash => hash,
    }
}

/// Whether a surrogate is in WTF-8: in UTF-8 nothing is between ED A0 and ED BF.
#[cfg_attr(target_arch = "wasm32", inline(never))]
fn has_surrogate(text: &[u8]) -> bool {
    text.windows(2).any(|pair| pair[0] == 0xed && pair[1] >= 0xa0)
}

/// The code point of a surrogate and the unit after it, whatever it is.
fn joined(first: u32, unit: u32) -> u32 {
    0x1_0000 + ((first & 0x3ff) << 10 | unit & 0x3ff)
}

/// Appends a code point that isn't a surrogate.
#[cfg_attr(target_arch = "wasm32", inline(never))]
fn append_utf8(bytes: &mut Vec<u8>, point: u32) -> Result<()> {
    let char = char::from_u32(point).unwrap_or(char::REPLACEMENT_CHARACTER);
    append(bytes, char.encode_utf8(&mut [0; 4]).as_bytes())
}

/// Takes the first code point of a text in WTF-8. An invalid byte counts as U+FFFD.
#[cfg_attr(target_arch = "wasm32", inline(never))]
fn code_point(text: &mut &[u8]) -> Option<u32> {
    let (&lead, rest) = text.split_first()?;
    *text = rest;
    // How many bytes follow, and the first code point that needs that many.
    let (more, least) = match lead {
        0..0x80 => return Some(lead.into()),
        0xc0..0xe0 => (1, 0x80),
        0xe0..0xf0 => (2, 0x800),
        0xf0..0xf8 => (3, 0x1_0000),
        _ => return Some(0xfffd),
    };
    let Some((following, after)) = rest.split_at_checked(more) else { return Some(0xfffd) };
    let start = u32::from(lead) & (0x3f >> more);
    let point = following.iter().fold(start, |point, &byte| point << 6 | u32::from(byte) & 0x3f);
    let whole = following.iter().all(|byte| byte & 0xc0 == 0x80);
    if !whole || !(least..0x11_0000).contains(&point) {
        return Some(0xfffd);
    }
    *text = after;
    Some(point)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hashed(keys: KeyType, key: &[u8]) -> Vec<u8> {
        keys.hashed(key).unwrap().unwrap().into_owned()
    }

    fn units(key: &[u8]) -> Vec<u16> {
        hashed(KeyType::Utf16, key).as_chunks().0.iter().map(|&unit| u16::from_le_bytes(unit)).collect()
    }

    fn points(key: &[u8]) -> Vec<u32> {
        hashed(KeyType::Utf32, key).as_chunks().0.iter().map(|&point| u32::from_le_bytes(point)).collect()
    }

    #[test]
    fn texts() {
        let ends = "\u{fffd}\u{ffff}\u{10000}\u{10ffff}\u{7f}\u{80}\u{7ff}\u{800}\u{d7ff}\u{e000}";
        for text in ["", "a", "é", "€", "😀x", ends] {
            let key = text.as_bytes();
            assert!(text.encode_utf16().eq(units(key)), "{text}");
            assert!(text.chars().map(u32::from).eq(points(key)), "{text}");
            assert_eq!(hashed(KeyType::JavaText, key), key);
            assert_eq!(hashed(KeyType::XxhashJs, key), key);
        }
        // a, U+D800, U+DC00, b: lone ones, since a pair has 4 bytes in WTF-8.
        let lone = b"a\xed\xa0\x80\xed\xb0\x80b";
        assert_eq!(units(lone), [0x61, 0xd800, 0xdc00, 0x62]);
        assert_eq!(points(lone), [0x61, 0xd800, 0xdc00, 0x62]);
        assert_eq!(hashed(KeyType::JavaText, lone), b"a??b");
        assert_eq!(hashed(KeyType::XxhashJs, lone), "a\u{10000}b".as_bytes());
        assert_eq!(hashed(KeyType::XxhashJs, b"\xed\xb0\x81"), "\u{10400}".as_bytes());
        // One takes the first half of a pair, and the other half the x.
        assert_eq!(
            hashed(KeyType::XxhashJs, b"\xed\xa0\x80\xf0\x9f\x98\x80x"),
            "\u{1003d}\u{90078}".as_bytes()
        );
        // Invalid UTF-8: a lone continuation, an overlong form, a cut one, past the last code point, cut surrogates.
        for broken in [&b"\x80"[..], b"\xc0", b"\xe2", b"\xff", b"\xed"] {
            assert_eq!(points(broken), [0xfffd], "{broken:x?}");
        }
        assert_eq!(points(b"\xc1\xbf\xf4\x90\x80\x80"), [0xfffd; 6]);
        assert_eq!(hashed(KeyType::JavaText, b"\xed\xa0"), b"?");
    }

    #[test]
    fn numbers() {
        let hash = |key: i64| python_hash(key as u64);
        let m = (1 << 61) - 1;
        assert_eq!([0, 1, -1, -2, m - 1, m, m + 1, -m, -m - 1].map(hash), [0, 1, -2, -2, m - 1, 0, 1, 0, -2]);
        assert_eq!(KeyType::Int32.hashed(&[0; 8]), Ok(None));
        assert_eq!(KeyType::Int32.parse(b"-2").unwrap()[..], (-2_i32).to_le_bytes());
        assert_eq!(KeyType::Uint64.parse(b"18446744073709551615").unwrap()[..], [255; 8]);
        assert_eq!(KeyType::Double.parse(b"-0.5").unwrap()[..], (-0.5_f64).to_le_bytes());
        for (keys, line) in [
            (KeyType::Int32, "2147483648"),
            (KeyType::Uint64, "-1"),
            (KeyType::Int64, "1.0"),
            (KeyType::Int64, ""),
        ] {
            assert_eq!(keys.parse(line.as_bytes()).unwrap_err().code(), "invalid_key");
        }
    }
}
