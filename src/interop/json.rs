//! As much of JSON (RFC 8259) as filters are written in: objects, arrays, whole numbers and strings, read from left to
//! right without a tree. Nothing recurses, so that no depth of brackets is too much.

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use crate::error::{Error, Result};
use crate::vectors::{append, push, zeroed};

const NOT_JSON: Error = Error::rule("this must be the JSON that the format has");

/// A text of which the beginning is read.
pub(super) struct Json<'a> {
    rest: &'a [u8],
}

impl<'a> Json<'a> {
    pub(super) fn new(text: &'a [u8]) -> Self {
        Json { rest: text }
    }

    /// The next character that isn't a space.
    pub(super) fn peek(&mut self) -> Option<u8> {
        while let [b' ' | b'\t' | b'\r' | b'\n', rest @ ..] = self.rest {
            self.rest = rest;
        }
        self.rest.first().copied()
    }

    /// Takes a character if it comes next.
    fn takes(&mut self, byte: u8) -> bool {
        let comes = self.peek() == Some(byte);
        if comes {
            self.rest = &self.rest[1..];
        }
        comes
    }

    fn expect(&mut self, byte: u8) -> Result<()> {
        if self.takes(byte) { Ok(()) } else { Err(NOT_JSON) }
    }

    /// Fails if more than spaces are left.
    pub(super) fn end(&mut self) -> Result<()> {
        if self.peek().is_none() {
            Ok(())
        } else {
            Err(Error::TrailingBytes { extra: self.rest.len() as u64 })
        }
    }

    /// Reads an object. `member` gets each name and reads the value, or says that it hasn't, and the value is skipped.
    #[inline(never)]
    pub(super) fn object(&mut self, member: &mut dyn FnMut(&mut Self, &[u8]) -> Result<bool>) -> Result<()> {
        self.expect(b'{')?;
        if self.takes(b'}') {
            return Ok(());
        }
        loop {
            let name = self.string()?;
            self.expect(b':')?;
            if !member(self, &name)? {
                self.skip()?;
            }
            if !self.takes(b',') {
                return self.expect(b'}');
            }
        }
    }

    /// Reads an array, each item by `item`.
    #[inline(never)]
    pub(super) fn array(&mut self, item: &mut dyn FnMut(&mut Self) -> Result<()>) -> Result<()> {
        self.expect(b'[')?;
        if self.takes(b']') {
            return Ok(());
        }
        loop {
            item(self)?;
            if !self.takes(b',') {
                return self.expect(b']');
            }
        }
    }

    /// A whole number, -2^64 < x < 2^64.
    #[inline(never)]
    pub(super) fn number(&mut self) -> Result<i128> {
        let negative = self.takes(b'-');
        let length = self.rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (digits, rest) = self.rest.split_at(length);
        let fraction = matches!(rest.first(), Some(b'.' | b'e' | b'E'));
        if digits.is_empty() || fraction || digits.len() > 1 && digits[0] == b'0' {
            return Err(NOT_JSON);
        }
        self.rest = rest;
        let value = digits
            .iter()
            .try_fold(0_u64, |value, digit| value.checked_mul(10)?.checked_add(u64::from(digit - b'0')));
        let value = i128::from(value.ok_or(NOT_JSON)?);
        Ok(if negative { -value } else { value })
    }

    /// A whole number from 0 to 2^64 - 1.
    pub(super) fn unsigned(&mut self) -> Result<u64> {
        u64::try_from(self.number()?).map_err(|_| NOT_JSON)
    }

    /// The bytes of a string.
    #[inline(never)]
    pub(super) fn string(&mut self) -> Result<Vec<u8>> {
        self.expect(b'"')?;
        let mut text = Vec::new();
        loop {
            let (&byte, rest) = self.rest.split_first().ok_or(NOT_JSON)?;
            self.rest = rest;
            match byte {
                b'"' => return Ok(text),
                b'\\' => self.escape(&mut text)?,
                0..0x20 => return Err(NOT_JSON),
                _ => push(&mut text, byte)?,
            }
        }
    }

    /// What stands for itself, or a code unit by its number. Pairs of these never matter here.
    fn escape(&mut self, text: &mut Vec<u8>) -> Result<()> {
        let (&byte, rest) = self.rest.split_first().ok_or(NOT_JSON)?;
        self.rest = rest;
        let plain = match byte {
            b'"' | b'\\' | b'/' => byte,
            b'b' => 8,
            b'f' => 12,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'u' => {
                let (digits, rest) = rest.split_at_checked(4).ok_or(NOT_JSON)?;
                self.rest = rest;
                let unit =
                    digits.iter().try_fold(0, |unit, &digit| Some(unit << 4 | (digit as char).to_digit(16)?));
                let char = char::from_u32(unit.ok_or(NOT_JSON)?).unwrap_or(char::REPLACEMENT_CHARACTER);
                return append(text, char.encode_utf8(&mut [0; 4]).as_bytes());
            }
            _ => return Err(NOT_JSON),
        };
        push(text, plain)
    }

    /// Skips a value, of whatever form.
    #[inline(never)]
    fn skip(&mut self) -> Result<()> {
        let mut depth = 0_u64;
        loop {
            match self.peek().ok_or(NOT_JSON)? {
                b'"' => drop(self.string()?),
                b'[' | b'{' => {
                    depth += 1;
                    self.rest = &self.rest[1..];
                    continue;
                }
                b']' | b'}' if depth > 0 => {
                    depth -= 1;
                    self.rest = &self.rest[1..];
                }
                b',' | b':' if depth > 0 => {
                    self.rest = &self.rest[1..];
                    continue;
                }
                _ => {
                    let plain =
                        |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.');
                    let length = self.rest.iter().take_while(|byte| plain(byte)).count();
                    if length == 0 {
                        return Err(NOT_JSON);
                    }
                    self.rest = &self.rest[length..];
                }
            }
            if depth == 0 {
                return Ok(());
            }
        }
    }
}

const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// The bytes of a text in base64, in either alphabet and with or without padding; and whether it has a character of the
/// standard alphabet alone.
pub(super) fn from_base64(mut text: Vec<u8>) -> Result<(Vec<u8>, bool)> {
    let standard = text.iter().any(|byte| matches!(byte, b'+' | b'/'));
    for byte in &mut text {
        *byte = match *byte {
            b'-' => b'+',
            b'_' => b'/',
            other => other,
        };
    }
    let mut bytes = zeroed(base64::decoded_len_estimate(text.len()))?;
    let length = BASE64.decode_slice(&text, &mut bytes).map_err(|_| Error::rule("this must be base64"))?;
    bytes.truncate(length);
    Ok((bytes, standard))
}

/// Bytes in base64 with padding, in the alphabet for URLs or in the standard one.
pub(super) fn to_base64(bytes: &[u8], standard: bool) -> Result<Vec<u8>> {
    let mut text = zeroed(bytes.len().div_ceil(3) * 4)?;
    BASE64.encode_slice(bytes, &mut text).map_err(|_| Error::TooLarge { bytes: bytes.len() as u64 })?;
    for byte in text.iter_mut().filter(|_| !standard) {
        *byte = match *byte {
            b'+' => b'-',
            b'/' => b'_',
            other => other,
        };
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values() {
        let text = br#" { "a" : [ 1 , -2, 18446744073709551615 ] , "b\u0041\/":"x\n", "c":{"d":[[],{},null,1.5e3,"]"]} ,"e":7} "#;
        let mut json = Json::new(text);
        let (mut numbers, mut seen) = (Vec::new(), 0);
        json.object(&mut |json, name| {
            match name {
                b"a" => json.array(&mut |json| {
                    numbers.push(json.number()?);
                    Ok(())
                })?,
                b"bA/" => assert_eq!(json.string()?, b"x\n"),
                b"e" => assert_eq!(json.unsigned()?, 7),
                _ => return Ok(false),
            }
            seen += 1;
            Ok(true)
        })
        .unwrap();
        json.end().unwrap();
        assert_eq!((seen, numbers), (3, vec![1, -2, i128::from(u64::MAX)]));
        for broken in ["", "-", "01", "1.0", "1e3", "18446744073709551616", "x", "+1", "\"1\""] {
            assert_eq!(Json::new(broken.as_bytes()).number(), Err(NOT_JSON), "{broken}");
        }
        for broken in [
            "",
            "{",
            "{\"a\"",
            "{\"a\":",
            "{\"a\":1",
            "{\"a\":1,",
            "{\"a\":1,}",
            "{a:1}",
            "{\"a\":]}",
            "{\"a\":[}",
        ] {
            assert!(Json::new(broken.as_bytes()).object(&mut |_, _| Ok(false)).is_err(), "{broken}");
        }
        let deep = ["{\"a\":", &"[".repeat(1 << 20), &"]".repeat(1 << 20), "}"].concat();
        Json::new(deep.as_bytes()).object(&mut |_, _| Ok(false)).unwrap();
    }

    #[test]
    fn base64_of_both_alphabets() {
        for (text, standard) in [("-_-_", false), ("+/+/", true), ("+_+_", true)] {
            assert_eq!(from_base64(text.into()).unwrap(), (vec![0xfb, 0xff, 0xbf], standard));
        }
        assert_eq!(from_base64("AQ".into()).unwrap().0, from_base64("AQ==".into()).unwrap().0);
        assert_eq!(to_base64(&[0xfb, 0xff], false).unwrap(), b"-_8=");
        assert_eq!(to_base64(&[0xfb, 0xff], true).unwrap(), b"+/8=");
        assert!(from_base64("A".into()).is_err() && from_base64("A*==".into()).is_err());
    }
}
