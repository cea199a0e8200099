//! `feed pubkey`.

use std::path::PathBuf;

use anyhow::Result;

use crate::publishing::{key, manifest};
use crate::streams::{Answer, Streams};

/// Print the public key of a secret key, and nothing else
#[derive(clap::Args)]
pub struct PubkeyArgs {
    /// The file that `feed keygen` wrote, or another Ed25519 key in PKCS #8
    #[arg(value_name = "KEY")]
    key: PathBuf,
}

pub fn run(args: PubkeyArgs, streams: &mut Streams) -> Result<Answer> {
    let public = manifest::public_key(&key::read(&args.key)?.verifying_key());
    streams.print(format!("{public}\n").as_bytes())?;
    Ok(Answer::Yes)
}
