//! `feed keygen`.

use std::path::PathBuf;

use anyhow::{Result, ensure};
use ed25519_dalek::SigningKey;
use ed25519_dalek::pkcs8::spki::der::pem::LineEnding;
use ed25519_dalek::pkcs8::{EncodePrivateKey, KeypairBytes};

use crate::files::write;
use crate::publishing::manifest;
use crate::random;
use crate::streams::{Answer, Streams};

/// Make a signing key, and print the public key for the clients of the feed
#[derive(clap::Args)]
pub struct KeygenArgs {
    /// Where to write the secret key, in PKCS #8. The file must not exist yet
    #[arg(short, long, value_name = "KEY")]
    output: PathBuf,
}

pub fn run(args: KeygenArgs, streams: &mut Streams) -> Result<Answer> {
    ensure!(!write::is_stdout(&args.output), "a secret key isn't printed: give a file");
    let secret_key = random::bytes()?;
    let public = manifest::public_key(&SigningKey::from_bytes(&secret_key).verifying_key());
    // Without the public key in it: OpenSSL 3.0 doesn't read a file with both.
    let pem = KeypairBytes { secret_key, public_key: None }.to_pkcs8_pem(LineEnding::LF);
    let pem = pem.map_err(|error| anyhow::anyhow!("{error}"))?;
    write::write_secret(&args.output, pem.as_bytes())?;
    let wrote = format!("{}, to be kept secret: whoever has it can publish", args.output.display());
    streams.print_rows(&[("public key", public), ("wrote", wrote)])?;
    Ok(Answer::Yes)
}
