//! Secret keys to sign with.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use ed25519_dalek::SigningKey;
use ed25519_dalek::pkcs8::DecodePrivateKey;

/// Reads one in PKCS #8.
pub fn read(path: &Path) -> Result<SigningKey> {
    let name = || path.display().to_string();
    let bytes = fs::read(path).with_context(name)?;
    let key = str::from_utf8(&bytes).ok().and_then(|pem| SigningKey::from_pkcs8_pem(pem).ok());
    key.context("this is not an Ed25519 key in PKCS #8").with_context(name)
}
