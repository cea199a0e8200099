//! `--secret-file`: the secret of keyed filters. It comes from a file alone, because everybody on a machine can read
//! the command lines of others.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::Error;
use crate::hash::{Hashing, Secret};

/// Where the secret is.
#[derive(clap::Args)]
pub struct SecretArgs {
    /// A file with the secret of a keyed filter: 16 bytes, or 32 hexadecimal digits
    #[arg(long, value_name = "FILE")]
    secret_file: Option<PathBuf>,
}

impl SecretArgs {
    pub fn is_given(&self) -> bool {
        self.secret_file.is_some()
    }

    /// The secret, if there is one.
    pub fn read(&self) -> Result<Option<Secret>> {
        let Some(path) = &self.secret_file else { return Ok(None) };
        let read = || -> Result<Secret> {
            let bytes = fs::read(path)?;
            // No message may show any of it.
            let secret = <[u8; 16]>::try_from(&bytes[..]).ok().or_else(|| of_digits(bytes.trim_ascii()));
            let rule = Error::rule("a secret must have 16 bytes, or 32 hexadecimal digits");
            Ok(secret.ok_or(rule)?.into())
        };
        read().with_context(|| path.display().to_string()).map(Some)
    }
}

fn of_digits(text: &[u8]) -> Option<[u8; 16]> {
    let text = str::from_utf8(text).ok()?;
    let is_hex = text.len() == 32 && text.bytes().all(|digit| digit.is_ascii_hexdigit());
    is_hex.then(|| u128::from_str_radix(text, 16)).and_then(Result::ok).map(u128::to_be_bytes)
}

/// How a new filter hashes: without a secret under the seed 0, and with one under a random seed, unless it is given.
pub fn new_hashing(seed: Option<u64>, secret: Option<&Secret>) -> Result<Hashing> {
    let Some(secret) = secret else { return Ok(seed.unwrap_or(0).into()) };
    let seed = match seed {
        Some(seed) => seed,
        None => {
            let mut random = [0; 8];
            getrandom::fill(&mut random)?;
            u64::from_le_bytes(random)
        }
    };
    Ok(Hashing::keyed(secret, seed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits() {
        let digits = of_digits(b"000102030405060708090a0b0C0D0E0F");
        assert_eq!(digits, Some([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]));
        for wrong in
            [&b"000102030405060708090a0b0c0d0e0"[..], b"+00102030405060708090a0b0c0d0e0f", b"", b"\xff"]
        {
            assert_eq!(of_digits(wrong), None);
        }
    }
}
