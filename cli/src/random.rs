//! Random numbers from the operating system.

use anyhow::Result;

/// Random bytes.
pub fn bytes<const LENGTH: usize>() -> Result<[u8; LENGTH]> {
    let mut bytes = [0; LENGTH];
    getrandom::fill(&mut bytes)?;
    Ok(bytes)
}

/// A random name, in 32 hexadecimal digits.
pub fn id() -> Result<String> {
    Ok(base16ct::lower::encode_string(&bytes::<16>()?))
}
