//! Passwords to keys. Whoever calls has brought them to Unicode's normal form NFC: that takes tables, which JavaScript
//! has and a crate brings to the command line tool.

use super::Skip;

/// The bytes of a SHA-1 hash.
pub const SHA1: usize = 20;

/// The SHA-1 of a password (RFC 3174): the key where a blob says so.
// The crates are four times as large, 1.3 kB gzipped of the 20 that a page may load; the tests compare with one.
pub fn sha1(password: &[u8]) -> [u8; SHA1] {
    let mut state = [0x6745_2301_u32, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476, 0xc3d2_e1f0];
    // After the password come a bit of 1, zeros up to the end of a block of 64 bytes, and there its length in bits.
    let end = (password.len() + 9).next_multiple_of(64);
    let byte = |i: usize| match password.get(i) {
        Some(&byte) => byte,
        None if i == password.len() => 0x80,
        None if i + 8 >= end => (password.len() as u64 * 8 >> (8 * (end - 1 - i))) as u8,
        None => 0,
    };
    for block in (0..end).step_by(64) {
        let mut words = [0_u32; 80];
        for t in 0..80 {
            words[t] = if t < 16 {
                (0..4).fold(0, |word, i| word << 8 | u32::from(byte(block + 4 * t + i)))
            } else {
                (words[t - 3] ^ words[t - 8] ^ words[t - 14] ^ words[t - 16]).rotate_left(1)
            };
        }
        let [mut a, mut b, mut c, mut d, mut e] = state;
        for (t, word) in words.into_iter().enumerate() {
            let (f, constant) = match t / 20 {
                0 => (b & c | !b & d, 0x5a82_7999_u32),
                1 => (b ^ c ^ d, 0x6ed9_eba1),
                2 => (b & c | b & d | c & d, 0x8f1b_bcdc),
                _ => (b ^ c ^ d, 0xca62_c1d6),
            };
            let next =
                a.rotate_left(5).wrapping_add(f).wrapping_add(e).wrapping_add(constant).wrapping_add(word);
            (a, b, c, d, e) = (next, a, b.rotate_left(30), c, d);
        }
        for (sum, value) in state.iter_mut().zip([a, b, c, d, e]) {
            *sum = sum.wrapping_add(value);
        }
    }
    let mut hash = [0; SHA1];
    for (bytes, word) in hash.as_chunks_mut().0.iter_mut().zip(state) {
        *bytes = word.to_be_bytes();
    }
    hash
}

/// The hash and the count in a line of the list of Have I Been Pwned: `HASH` or `HASH:COUNT`, the hash in 40
/// hexadecimal digits. Without a count it is as high as can be, for nobody knows that the password is rare.
///
/// # Errors
/// [`Skip::NotAHash`] for anything else.
pub fn hash_line(line: &[u8]) -> Result<([u8; SHA1], u64), Skip> {
    let (digits, count) = line.split_first_chunk::<{ 2 * SHA1 }>().ok_or(Skip::NotAHash)?;
    let mut hash = [0; SHA1];
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
