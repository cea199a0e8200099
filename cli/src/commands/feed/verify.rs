//! `feed verify`.

use std::path::PathBuf;
use std::time::SystemTime;

use anyhow::{Context, Result, bail, ensure};
use bloom_wasm::Profile;
use ed25519_dalek::VerifyingKey;
use serde::Serialize;

use crate::args::number::milliseconds;
use crate::args::secret::SecretArgs;
use crate::publishing::feed::read_files;
use crate::publishing::manifest::{self, FeedPayload, Head, Manifest, ManifestPayload};
use crate::publishing::trust::is_over;
use crate::rates::Rates;
use crate::streams::{Answer, Streams};
use crate::text::{Row, grouped, rate, time_in_words};

/// Read a feed as a client would, and describe it
///
/// Exits with 1 if the feed has expired.
#[derive(clap::Args)]
pub struct VerifyArgs {
    /// The folder of the feed
    dir: PathBuf,
    /// A public key that must have signed it; if repeated, one of them
    #[arg(long, value_name = "KEY", value_parser = manifest::parse_public_key, allow_hyphen_values = true)]
    public_key: Vec<VerifyingKey>,
    #[command(flatten)]
    secret: SecretArgs,
    /// Print the description as JSON
    #[arg(long)]
    json: bool,
}

/// A description of a feed, for programs.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FeedInfo {
    #[serde(flatten)]
    payload: FeedPayload,
    /// Whether one of the keys has signed it; null without keys.
    verified: Option<bool>,
    expired: bool,
    byte_length: u64,
    keyed: bool,
    #[serde(flatten)]
    rates: Rates,
    layers: usize,
}

pub fn run(args: VerifyArgs, streams: &mut Streams) -> Result<Answer> {
    let name = || args.dir.join(FeedPayload::FILE).display().to_string();
    let bytes = manifest::read_bytes::<FeedPayload>(&args.dir)?
        .context("there is no such file")
        .with_context(name)?;
    let manifest = Manifest::<FeedPayload>::parse(&bytes).with_context(name)?;
    if !args.public_key.is_empty() && !args.public_key.iter().any(|key| manifest.is_signed_by(key)) {
        bail!("{}: none of these keys has signed it", name());
    }
    let payload = manifest.payload().with_context(name)?;
    let secret = args.secret.read()?;
    let hashing = payload.head.hashing(secret.as_ref()).with_context(name)?;
    let blob = read_files(&args.dir, payload.files.iter(), secret.as_ref())?;
    let profile = blob.profile();
    let fits = profile == payload.head.profile()? && *blob.filter().hashing() == hashing;
    ensure!(fits, "{}: its files have another profile, seed or secret", name());
    let info = FeedInfo {
        verified: (!args.public_key.is_empty()).then_some(true),
        expired: is_over(&payload.head, milliseconds(SystemTime::now())?),
        byte_length: payload.files.iter().map(|file| file.bytes).sum(),
        keyed: blob.filter().hashing().is_keyed(),
        rates: Rates::of(blob.filter(), profile),
        layers: blob.filter().layers().len(),
        payload,
    };
    let answer = if info.expired { Answer::No } else { Answer::Yes };
    if args.json {
        streams.print_json(&info)?;
        return Ok(answer);
    }
    let FeedPayload { head, files } = &info.payload;
    let Head { feed_id, name, generation, created_at, expires, fpr, count, .. } = head;
    let signature = match (info.verified, manifest.is_signed()) {
        (Some(_), _) => "by one of the given keys",
        (None, true) => "not checked: give --public-key",
        (None, false) => "none",
    };
    let per = if profile == Profile::Url { "URL" } else { "key" };
    let expired = if info.expired { ", so it has expired" } else { "" };
    let rows: Vec<Row> = vec![
        ("feed", feed_id.clone()),
        ("name", name.clone().unwrap_or("none".to_owned())),
        ("generation", generation.to_string()),
        ("created", time_in_words(*created_at)),
        ("expires", time_in_words(*expires) + expired),
        ("signature", signature.to_owned()),
        ("profile", profile.name().to_owned()),
        ("keys", grouped(*count)),
        ("files", format!("{}, of {} bytes together", files.len(), grouped(info.byte_length))),
        ("layers", info.layers.to_string()),
        ("budget", format!("{} per {per}", rate(*fpr))),
        ("fpr", format!("{} by the fill", info.rates.in_words())),
    ];
    streams.print_rows(&rows)?;
    Ok(answer)
}
