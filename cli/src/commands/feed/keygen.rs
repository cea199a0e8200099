//! `feed keygen`.

use std::path::PathBuf;

use anyhow::Result;

use crate::publishing::key;
use crate::streams::{Answer, Streams};

/// Make a signing key, and print the public key for the clients of the feed
#[derive(clap::Args)]
pub struct KeygenArgs {
    /// Where to write the secret key, in PKCS #8. The file must not exist yet
    #[arg(short, long, value_name = "KEY")]
    output: PathBuf,
}

pub fn run(args: KeygenArgs, streams: &mut Streams) -> Result<Answer> {
    let public = key::make(&args.output)?;
    let wrote = format!("{}, to be kept secret: whoever has it can publish", args.output.display());
    streams.print_rows(&[("public key", public), ("wrote", wrote)])?;
    Ok(Answer::Yes)
}
