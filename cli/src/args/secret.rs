//! `--secret-file`: the secret of keyed filters. It can only come from a file, because everybody on a machine can read
//! other users' command lines.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::files::write;
use crate::random;
use bloom_wasm::Error;
use bloom_wasm::hash::Secret;

/// The most bytes that are read from a file: there may be whitespace around the digits.
const LONGEST: u64 = 1 << 10;

/// Where the secret is.
#[derive(clap::Args)]
pub struct SecretArgs {
    /// A file with the secret of a keyed filter: 16 random bytes, or 32 hexadecimal digits
    #[arg(long, value_name = "FILE")]
    secret_file: Option<PathBuf>,
}

impl SecretArgs {
    pub fn is_given(&self) -> bool {
        self.secret_file.is_some()
    }

    /// Fails if the secret would be replaced.
    pub fn check_output(&self, output: &Path) -> Result<()> {
        match &self.secret_file {
            Some(path) if write::is_same(path, output) => {
                bail!("{}: this is both the secret and the output", output.display())
            }
            _ => Ok(()),
        }
    }

    /// The secret, if there is one.
    pub fn read(&self) -> Result<Option<Secret>> {
        let Some(path) = &self.secret_file else { return Ok(None) };
        // The message may end up in a log, so it doesn't show the argument.
        if path.to_str().is_some_and(|text| of_digits(text.as_bytes()).is_some()) {
            bail!("--secret-file takes a file with the secret, not the secret itself");
        }
        if ["-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"].into_iter().any(|name| path == Path::new(name))
        {
            bail!("--secret-file takes a file, not standard input");
        }
        read(path).map(Some)
    }
}

/// Reads the file of a secret.
pub fn read(path: &Path) -> Result<Secret> {
    let read = || -> Result<Secret> {
        let mut bytes = Vec::new();
        File::open(path)?.take(LONGEST).read_to_end(&mut bytes)?;
        // 16 random bytes are hardly ever text. 16 bytes of text would be a phrase that somebody thought up.
        let is_text = bytes.iter().all(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace());
        let raw = <[u8; 16]>::try_from(&bytes[..]).ok().filter(|_| !is_text);
        let rule =
            Error::InvalidParameter { rule: "a secret must be 16 random bytes or 32 hexadecimal digits" };
        // Some editors put a byte order mark before the digits.
        let text = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&bytes);
        Ok(raw.or_else(|| of_digits(text.trim_ascii())).ok_or(rule)?.into())
    };
    read().with_context(|| path.display().to_string())
}

fn of_digits(text: &[u8]) -> Option<[u8; 16]> {
    let text = str::from_utf8(text).ok()?;
    let is_hex = text.len() == 32 && text.bytes().all(|digit| digit.is_ascii_hexdigit());
    is_hex.then(|| u128::from_str_radix(text, 16)).and_then(Result::ok).map(u128::to_be_bytes)
}

/// The seed of a new filter. One that isn't given is 0 without a secret, and random with one.
pub fn new_seed(seed: Option<u64>, secret: Option<&Secret>) -> Result<u64> {
    match (seed, secret) {
        (Some(seed), _) => Ok(seed),
        (None, None) => Ok(0),
        (None, Some(_)) => Ok(u64::from_le_bytes(random::bytes()?)),
    }
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
