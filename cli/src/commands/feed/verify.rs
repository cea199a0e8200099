//! `feed verify`.

use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};
use bloom_wasm::Profile;
use ed25519_dalek::VerifyingKey;
use serde::Serialize;

use crate::args::number::now;
use crate::args::secret::SecretArgs;
use crate::publishing::feed::read_files;
use crate::publishing::folder::Folder;
use crate::publishing::manifest::{self, FeedPayload, Head, Manifest, ManifestPayload, ShardsPayload};
use crate::publishing::shards::{count, size_in_words};
use crate::publishing::trust::is_over;
use crate::rates::Rates;
use crate::streams::{Answer, Streams};
use crate::text::{Row, grouped, rate, tags_in_words, time_in_words};

/// Read a feed or a sharded filter as a client would, and describe it
///
/// Exits with 1 if it has expired.
#[derive(clap::Args)]
pub struct VerifyArgs {
    /// The folder of the feed, or of the sharded filter
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

/// The same of a sharded filter.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ShardedInfo {
    #[serde(flatten)]
    payload: ShardsPayload,
    verified: Option<bool>,
    expired: bool,
    keyed: bool,
}

pub fn run(args: VerifyArgs, streams: &mut Streams) -> Result<Answer> {
    if let Some(bytes) = manifest::read_bytes::<FeedPayload>(&args.dir)? {
        return feed(&args, &bytes, streams);
    }
    match manifest::read_bytes::<ShardsPayload>(&args.dir)? {
        Some(bytes) => sharded(&args, &bytes, streams),
        None => bail!("{}: there is no feed.json or shards.json here", args.dir.display()),
    }
}

/// What a manifest says, if one of the given keys has signed it, and what to print of its signature.
fn trusted<P: ManifestPayload>(args: &VerifyArgs, bytes: &[u8]) -> Result<(P, &'static str)> {
    let manifest = Manifest::<P>::parse(bytes)?;
    let signature = match (args.public_key.is_empty(), manifest.is_signed()) {
        (false, _) if args.public_key.iter().any(|key| manifest.is_signed_by(key)) => {
            "by one of the given keys"
        }
        (false, _) => bail!("none of these keys has signed it"),
        (true, true) => "not checked: give --public-key",
        (true, false) => "none",
    };
    Ok((manifest.payload()?, signature))
}

fn is_expired(head: &Head) -> Result<bool> {
    Ok(is_over(head, now()?))
}

/// The first rows of both.
fn rows(head: &Head, is_expired: bool, signature: &str) -> Vec<Row> {
    let Head { feed_id, name, generation, created_at, expires, profile, count, .. } = head;
    let expired = if is_expired { ", so it has expired" } else { "" };
    vec![
        ("feed", feed_id.clone()),
        ("name", name.clone().unwrap_or("none".to_owned())),
        ("generation", generation.to_string()),
        ("created", time_in_words(*created_at)),
        ("expires", time_in_words(*expires) + expired),
        ("signature", signature.to_owned()),
        ("profile", profile.clone()),
        ("keys", grouped(*count)),
    ]
}

fn feed(args: &VerifyArgs, bytes: &[u8], streams: &mut Streams) -> Result<Answer> {
    let name = || args.dir.join(FeedPayload::FILE).display().to_string();
    let (payload, signature) = trusted::<FeedPayload>(args, bytes).with_context(name)?;
    let secret = args.secret.read()?;
    let hashing = payload.head.hashing(secret.as_ref()).with_context(name)?;
    let blob = read_files(&args.dir, payload.files.iter(), secret.as_ref())?;
    let profile = blob.profile();
    let fits = profile == payload.head.profile()? && *blob.filter().hashing() == hashing;
    ensure!(fits, "{}: its files have another profile, seed or secret", name());
    let info = FeedInfo {
        verified: (!args.public_key.is_empty()).then_some(true),
        expired: is_expired(&payload.head)?,
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
    let mut rows = rows(head, info.expired, signature);
    if blob.filter().is_tagged() {
        rows.push(("tags", tags_in_words(blob.filter().tag_counts())));
    }
    rows.extend([
        ("files", format!("{}, of {} bytes together", files.len(), grouped(info.byte_length))),
        ("layers", info.layers.to_string()),
        ("budget", format!("{} per {}", rate(head.fpr), per(profile))),
        ("fpr", format!("{} expected", info.rates.in_words())),
    ]);
    streams.print_rows(&rows)?;
    Ok(answer)
}

fn sharded(args: &VerifyArgs, bytes: &[u8], streams: &mut Streams) -> Result<Answer> {
    let name = || args.dir.join(ShardsPayload::FILE).display().to_string();
    let (payload, signature) = trusted::<ShardsPayload>(args, bytes).with_context(name)?;
    let mut folder = Folder::open(&args.dir, args.secret.read()?)?;
    let mut keys = 0;
    for shard in 0..payload.shards {
        keys += u64::from(count(folder.shard(shard)?)?);
    }
    ensure!(keys == payload.head.count, "{}: its shards have {} keys", name(), grouped(keys));
    let info = ShardedInfo {
        verified: (!args.public_key.is_empty()).then_some(true),
        expired: is_expired(&payload.head)?,
        keyed: folder.sharding.hashing().is_keyed(),
        payload,
    };
    let answer = if info.expired { Answer::No } else { Answer::Yes };
    if args.json {
        streams.print_json(&info)?;
        return Ok(answer);
    }
    let head = &info.payload.head;
    let mut rows = rows(head, info.expired, signature);
    rows.extend(info.payload.tags_in_words().map(|tags| ("tags", tags)));
    rows.extend([
        ("shards", grouped(info.payload.shards.into())),
        ("size", size_in_words(&info.payload)),
        ("budget", format!("{} per {}", rate(head.fpr), per(folder.sharding.profile()))),
    ]);
    streams.print_rows(&rows)?;
    Ok(answer)
}

/// What a rate is of.
fn per(profile: Profile) -> &'static str {
    if profile == Profile::Url { "URL" } else { "key" }
}
