//! Turns passwords into keys.

use std::borrow::Cow;

use super::platform::Platform;
use super::skip::Skip;
use crate::error::Result;
use crate::hash;
use crate::vectors::copied;

/// The bytes of a SHA-1 hash.
pub const HASH: usize = 20;

/// A password's key: its [normal form](normal), or the SHA-1 of that (RFC 3174).
///
/// # Errors
/// [`Error::TooLarge`](crate::Error::TooLarge) without the memory.
pub fn key<'a>(
    platform: &impl Platform,
    password: &'a [u8],
    lowercase: bool,
    sha1: bool,
) -> Result<Cow<'a, [u8]>> {
    let normal = normal(platform, password, lowercase)?;
    if sha1 { Ok(copied(&hash::sha1(&normal))?.into()) } else { Ok(normal) }
}

/// A password in Unicode's normal form NFC, and in lower case with `lowercase`. Bytes that aren't UTF-8 stay as they
/// are.
///
/// # Errors
/// [`Error::TooLarge`](crate::Error::TooLarge) without the memory.
pub fn normal<'a>(platform: &impl Platform, password: &'a [u8], lowercase: bool) -> Result<Cow<'a, [u8]>> {
    if is_plain(password, lowercase) {
        return Ok(password.into());
    }
    match str::from_utf8(password) {
        Ok(text) => Ok(platform.normalize(text, lowercase)?.into()),
        Err(_) => Ok(password.into()),
    }
}

/// Whether a password is ASCII, and its own normal form.
fn is_plain(password: &[u8], lowercase: bool) -> bool {
    password.is_ascii() && !(lowercase && password.iter().any(u8::is_ascii_uppercase))
}

/// Whether a key may be that of a password: it has the length of a hash with `sha1`, and otherwise it is its own
/// [normal form](normal).
pub fn is_key(platform: &impl Platform, key: &[u8], lowercase: bool, sha1: bool) -> bool {
    if sha1 {
        return key.len() == HASH;
    }
    is_plain(key, lowercase) || str::from_utf8(key).map_or(true, |text| platform.is_normal(text, lowercase))
}

/// The number of characters of a password as it is typed. Lower-casing may make it longer.
///
/// # Errors
/// [`Error::TooLarge`](crate::Error::TooLarge) without the memory.
pub fn length(platform: &impl Platform, password: &[u8]) -> Result<usize> {
    let typed = normal(platform, password, false)?;
    // Each invalid sequence counts as one character, as U+FFFD in its place would.
    Ok(typed
        .utf8_chunks()
        .map(|chunk| chunk.valid().chars().count() + usize::from(!chunk.invalid().is_empty()))
        .sum())
}

/// The hash and the count in a line of the list of Have I Been Pwned: `HASH` or `HASH:COUNT`, the hash in 40
/// hexadecimal digits. A missing count is taken as the highest possible one, since nothing says that the password is
/// rare.
///
/// # Errors
/// [`Skip::NotAHash`] for anything else.
pub fn hash_line(line: &[u8]) -> Result<([u8; HASH], u64), Skip> {
    let (digits, count) = line.split_first_chunk::<{ 2 * HASH }>().ok_or(Skip::NotAHash)?;
    let mut hash = [0; HASH];
    for (byte, &[high, low]) in hash.iter_mut().zip(digits.as_chunks().0) {
        *byte = digit(high)? << 4 | digit(low)?;
    }
    let count = match count {
        [] => u64::MAX,
        [b':', count @ ..] => decimal(count)?,
        _ => return Err(Skip::NotAHash),
    };
    Ok((hash, count))
}

fn digit(byte: u8) -> Result<u8, Skip> {
    let digit = char::from(byte).to_digit(16).ok_or(Skip::NotAHash)?;
    Ok(digit as u8)
}

fn decimal(digits: &[u8]) -> Result<u64, Skip> {
    let number = str::from_utf8(digits).ok().filter(|digits| !digits.starts_with('+'));
    number.and_then(|digits| digits.parse().ok()).ok_or(Skip::NotAHash)
}
