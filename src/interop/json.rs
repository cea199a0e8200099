//! The part of JSON (RFC 8259) that filters are written in: objects, arrays, whole numbers and strings, read from left
//! to right without a tree. Nothing recurses, so any depth of brackets is fine.

use crate::error::{Error, Result};
use crate::fields::Cursor;
use crate::vectors::{append, push, reserve};

const NOT_JSON: Error = Error::rule("this must be the JSON that the format has");

/// Some editors put this before a text in UTF-8.
pub(super) const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

impl Cursor<'_> {
    /// Skips a byte order mark.
    #[cfg_attr(target_arch = "wasm32", inline(never))]
    pub(super) fn begin_text(&mut self) {
        if self.left().starts_with(BYTE_ORDER_MARK) {
            self.slice(BYTE_ORDER_MARK.len() as u64);
        }
    }

    /// The next character that isn't a space.
    #[cfg_attr(target_arch = "wasm32", inline(never))]
    pub(super) fn peek(&mut self) -> Option<u8> {
        loop {
            match self.left().first() {
                Some(b' ' | b'\t' | b'\r' | b'\n') => self.slice(1),
                next => return next.copied(),
            };
        }
    }

    /// Takes a character if it comes next.
    #[cfg_attr(target_arch = "wasm32", inline(never))]
    fn takes(&mut self, byte: u8) -> bool {
        let comes = self.peek() == Some(byte);
        if comes {
            self.slice(1);
        }
        comes
    }

    fn expect(&mut self, byte: u8) {
        if !self.takes(byte) {
            self.refuse(NOT_JSON);
        }
    }

    /// Refuses anything but whitespace at the end.
    pub(super) fn end_text(&mut self) {
        self.peek();
        self.end();
    }

    /// Goes on to the next value of an object or an array; false at its end. `first` is true before the first call.
    #[cfg_attr(target_arch = "wasm32", inline(never))]
    fn next(&mut self, first: &mut bool, open: u8, close: u8) -> bool {
        let begins = std::mem::take(first);
        if begins {
            self.expect(open);
        }
        if self.takes(close) {
            return false;
        }
        if !begins {
            self.expect(b',');
        }
        self.done().is_ok()
    }

    /// The name of an object's next member, whose value must be read or skipped; none at the end.
    #[cfg_attr(target_arch = "wasm32", inline(never))]
    pub(super) fn member(&mut self, first: &mut bool) -> Option<Vec<u8>> {
        if !self.next(first, b'{', b'}') {
            return None;
        }
        let name = self.string();
        self.expect(b':');
        Some(name)
    }

    /// Whether an array has a next item, which must be read.
    pub(super) fn item(&mut self, first: &mut bool) -> bool {
        self.next(first, b'[', b']')
    }

    /// A whole number from 0 to 2^64 - 1.
    #[cfg_attr(target_arch = "wasm32", inline(never))]
    pub(super) fn unsigned(&mut self) -> u64 {
        self.peek();
        let text = self.left();
        let length = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let digits = self.slice(length as u64);
        let fraction = matches!(text.get(length), Some(b'.' | b'e' | b'E'));
        let value = digits
            .iter()
            .try_fold(0_u64, |value, digit| value.checked_mul(10)?.checked_add(u64::from(digit - b'0')));
        let whole = !digits.is_empty() && !fraction && (digits.len() == 1 || digits[0] != b'0');
        if value.is_none() || !whole {
            self.refuse(NOT_JSON);
        }
        value.unwrap_or(0)
    }

    /// A whole number, -2^63 < x < 2^63.
    pub(super) fn signed(&mut self) -> i64 {
        let negative = self.takes(b'-');
        let value = i64::try_from(self.unsigned()).unwrap_or_else(|_| {
            self.refuse(NOT_JSON);
            0
        });
        if negative { -value } else { value }
    }

    /// The bytes of a string.
    #[cfg_attr(target_arch = "wasm32", inline(never))]
    pub(super) fn string(&mut self) -> Vec<u8> {
        self.expect(b'"');
        let mut text = Vec::new();
        loop {
            match self.character() {
                b'"' => return text,
                b'\\' => {
                    let char = self.escaped();
                    self.keep(append(&mut text, char.encode_utf8(&mut [0; 4]).as_bytes()));
                }
                byte => self.keep(push(&mut text, byte)),
            }
        }
    }

    /// The next byte of a string, or its end if there is none.
    fn character(&mut self) -> u8 {
        match self.slice(self.left().len().min(1) as u64) {
            [byte @ 0x20..=0xff] => *byte,
            _ => {
                self.refuse(NOT_JSON);
                b'"'
            }
        }
    }

    /// The character of an escape sequence. Surrogate pairs never matter here.
    fn escaped(&mut self) -> char {
        let char = match self.character() {
            byte @ (b'"' | b'\\' | b'/') => Some(byte.into()),
            b'b' => Some('\x08'),
            b'f' => Some('\x0c'),
            b'n' => Some('\n'),
            b'r' => Some('\r'),
            b't' => Some('\t'),
            b'u' => (0..4)
                .try_fold(0, |unit, _| Some(unit << 4 | char::from(self.character()).to_digit(16)?))
                .map(|unit| char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER)),
            _ => None,
        };
        char.unwrap_or_else(|| {
            self.refuse(NOT_JSON);
            '"'
        })
    }

    /// Skips a value of any type.
    #[cfg_attr(target_arch = "wasm32", inline(never))]
    pub(super) fn skip(&mut self) {
        let mut depth = 0_u64;
        loop {
            match self.peek() {
                Some(b'"') => drop(self.string()),
                Some(b'[' | b'{') => {
                    depth += 1;
                    self.slice(1);
                    continue;
                }
                Some(b']' | b'}') if depth > 0 => {
                    depth -= 1;
                    self.slice(1);
                }
                Some(b',' | b':') if depth > 0 => {
                    self.slice(1);
                    continue;
                }
                _ => {
                    let plain =
                        |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.');
                    let length = self.left().iter().take_while(|byte| plain(byte)).count();
                    if self.slice(length as u64).is_empty() {
                        return self.refuse(NOT_JSON);
                    }
                }
            }
            if depth == 0 {
                return;
            }
        }
    }
}

/// The bytes of a text in base64, in either alphabet and with or without padding; and whether it has a character that
/// only the standard alphabet has.
// The crate `base64` takes 2 kB of the wasm.
#[cfg_attr(target_arch = "wasm32", inline(never))]
pub(super) fn from_base64(text: &[u8]) -> Result<(Vec<u8>, bool)> {
    const RULE: Error = Error::rule("this must be base64");
    let standard = text.iter().any(|byte| matches!(byte, b'+' | b'/'));
    let length = text.iter().position(|&byte| byte == b'=').unwrap_or(text.len());
    let (digits, padding) = text.split_at(length);
    let mut bytes = Vec::new();
    reserve(&mut bytes, length / 4 * 3 + 2)?;
    let mut bits = 0_u32;
    for (i, &digit) in digits.iter().enumerate() {
        let value = match digit {
            b'A'..=b'Z' => digit - b'A',
            b'a'..=b'z' => digit - b'a' + 26,
            b'0'..=b'9' => digit - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return Err(RULE),
        };
        // Every digit except the first of four completes a byte, and the bits after that are left over.
        bits = bits << 6 | u32::from(value);
        let over = 6 - 2 * (i % 4);
        if over < 6 {
            push(&mut bytes, (bits >> over) as u8)?;
            bits &= (1 << over) - 1;
        }
    }
    let most = [0, 0, 2, 1][length % 4];
    let padded = padding.len() <= most && padding.iter().all(|&byte| byte == b'=');
    if bits != 0 || length % 4 == 1 || !padded {
        return Err(RULE);
    }
    Ok((bytes, standard))
}

/// Bytes in base64 with padding, in the alphabet for URLs or in the standard one.
pub(super) fn to_base64(bytes: &[u8], standard: bool) -> Result<Vec<u8>> {
    let mut text = Vec::new();
    reserve(&mut text, bytes.len().div_ceil(3) * 4)?;
    for group in bytes.chunks(3) {
        let bits = (0..3).fold(0, |bits, i| bits << 8 | u32::from(group.get(i).copied().unwrap_or(0)));
        for i in 0..4 {
            let value = (bits >> (18 - 6 * i)) as u8 & 63;
            let digit = match value {
                _ if i > group.len() => b'=',
                0..26 => b'A' + value,
                26..52 => b'a' - 26 + value,
                52..62 => value - 52 + b'0',
                62 => {
                    if standard {
                        b'+'
                    } else {
                        b'-'
                    }
                }
                _ => {
                    if standard {
                        b'/'
                    } else {
                        b'_'
                    }
                }
            };
            push(&mut text, digit)?;
        }
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members_skipped(text: &str) -> Result<()> {
        let mut json = Cursor::new(text.as_bytes());
        let mut first = true;
        while json.member(&mut first).is_some() {
            json.skip();
        }
        json.done()
    }

    #[test]
    fn values() {
        let text = br#" { "a" : [ 1 , -2, 9223372036854775807 ] , "b\u0041\/":"x\n", "c":{"d":[[],{},null,1.5e3,"]"]} ,"e":18446744073709551615} "#;
        let mut json = Cursor::new(text);
        let (mut numbers, mut seen) = (Vec::new(), 0);
        let mut first = true;
        while let Some(name) = json.member(&mut first) {
            seen += 1;
            match name.as_slice() {
                b"a" => {
                    let mut first = true;
                    while json.item(&mut first) {
                        numbers.push(json.signed());
                    }
                }
                b"bA/" => assert_eq!(json.string(), b"x\n"),
                b"e" => assert_eq!(json.unsigned(), u64::MAX),
                _ => json.skip(),
            }
        }
        json.end_text();
        json.done().unwrap();
        assert_eq!((seen, numbers), (4, vec![1, -2, i64::MAX]));
        for broken in ["", "-", "01", "1.0", "1e3", "18446744073709551616", "x", "+1", "\"1\""] {
            let mut json = Cursor::new(broken.as_bytes());
            json.signed();
            assert_eq!(json.done(), Err(NOT_JSON), "{broken}");
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
            assert!(members_skipped(broken).is_err(), "{broken}");
        }
        let deep = ["{\"a\":", &"[".repeat(1 << 20), &"]".repeat(1 << 20), "}"].concat();
        members_skipped(&deep).unwrap();
    }

    #[test]
    fn base64_of_both_alphabets() {
        for (text, standard) in [("-_-_", false), ("+/+/", true), ("+_+_", true)] {
            assert_eq!(from_base64(text.as_bytes()).unwrap(), (vec![0xfb, 0xff, 0xbf], standard));
        }
        assert_eq!(from_base64(b"AQ").unwrap().0, from_base64(b"AQ==").unwrap().0);
        assert_eq!(to_base64(&[0xfb, 0xff], false).unwrap(), b"-_8=");
        assert_eq!(to_base64(&[0xfb, 0xff], true).unwrap(), b"+/8=");
        for broken in ["A", "A*==", "AR==", "AQI==", "AQ=A", "AQID=", "====", "AQ==="] {
            assert!(from_base64(broken.as_bytes()).is_err(), "{broken}");
        }
    }
}
