//! `feed verify`.

use std::path::PathBuf;

use anyhow::Result;
use ed25519_dalek::VerifyingKey;
use serde::Serialize;

use crate::args::secret::SecretArgs;
use crate::publishing::folder::{Description, Folder};
use crate::publishing::manifest;
use crate::streams::{Answer, Streams, unless_closed};

/// Read a feed as a client would, and describe it
///
/// Exits with 1 if it has expired. To package a feed with an app, copy its folder as it is, and verify the copy.
#[derive(clap::Args)]
pub struct ReadArgs {
    /// The folder of the feed
    dir: PathBuf,
    /// A public key that must have signed the feed; if repeated, one of them must have
    #[arg(long, value_name = "KEY", value_parser = manifest::parse_public_key, allow_hyphen_values = true)]
    public_key: Vec<VerifyingKey>,
    #[command(flatten)]
    secret: SecretArgs,
    /// Print the description as JSON
    #[arg(long)]
    json: bool,
}

/// What is printed for programs.
#[derive(Serialize)]
struct Report {
    #[serde(flatten)]
    description: Description,
    /// Whether one of the keys has signed it; null without keys.
    verified: Option<bool>,
}

pub fn run(args: ReadArgs, streams: &mut Streams) -> Result<Answer> {
    let mut folder = Folder::open(&args.dir, args.secret.read()?, &args.public_key)?;
    folder.read_all()?;
    let answer = if folder.is_expired()? { Answer::No } else { Answer::Yes };
    let is_checked = !args.public_key.is_empty();
    if args.json {
        let description = folder.describe()?;
        // The exit code answers even if nobody reads the rest.
        unless_closed(streams.print_json(&Report { description, verified: is_checked.then_some(true) }))?;
        return Ok(answer);
    }
    let mut rows = folder.rows()?;
    let signature = match (is_checked, folder.is_signed) {
        (true, _) => "by one of the given keys",
        (false, true) => "not checked: give --public-key",
        (false, false) => "none",
    };
    rows.push(("signature", signature.to_owned()));
    unless_closed(streams.print_rows(&rows))?;
    Ok(answer)
}
