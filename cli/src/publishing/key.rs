//! Secret keys to sign with.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, anyhow, ensure};
use ed25519_dalek::SigningKey;
use ed25519_dalek::pkcs8::spki::der::pem::LineEnding;
use ed25519_dalek::pkcs8::{DecodePrivateKey, EncodePrivateKey, KeypairBytes};

use super::manifest;
use crate::files::write;
use crate::random;

/// Reads one in PKCS #8.
pub fn read(path: &Path) -> Result<SigningKey> {
    let name = || path.display().to_string();
    let bytes = fs::read(path).with_context(name)?;
    let key = str::from_utf8(&bytes).ok().and_then(|pem| SigningKey::from_pkcs8_pem(pem).ok());
    key.context("this is not an Ed25519 key in PKCS #8").with_context(name)
}

/// Makes one, which nobody else may read, and returns its public key.
///
/// # Errors
/// If there is a file already.
pub fn make(path: &Path) -> Result<String> {
    ensure!(!write::is_stdout(path), "a secret key isn't printed: give a file");
    let secret_key = random::bytes()?;
    let public = manifest::public_key(&SigningKey::from_bytes(&secret_key).verifying_key());
    // Without the public key in it: OpenSSL 3.0 doesn't read a file with both.
    let pem = KeypairBytes { secret_key, public_key: None }.to_pkcs8_pem(LineEnding::LF);
    let pem = pem.map_err(|error| anyhow!("{error}"))?;
    write::write_secret(path, pem.as_bytes())?;
    Ok(public)
}
