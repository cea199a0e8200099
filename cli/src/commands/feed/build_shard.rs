//! `feed build-shard`.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};
use bloom_wasm::Profile;
use bloom_wasm::digests::sort;
use bloom_wasm::hash::Hashing;
use bloom_wasm::shards::Sharding;

use crate::args::number::parse_fpr;
use crate::args::profile::{PasswordArgs, ProfileArg};
use crate::args::secret::{SecretArgs, new_seed};
use crate::files::write;
use crate::lists::spill;
use crate::publishing::parts::file_of_shard;
use crate::publishing::shards::Shard;
use crate::streams::{Answer, Streams, unless_closed};
use crate::text::counted;

/// Build one shard elsewhere, from digests on standard input, 8 bytes each, little-endian
///
/// The high half of a digest is the MurmurHash3_x86_32 of the key under the high half of the seed, and the low half is
/// its XXH32 under the low half. With a secret, a digest is the SipHash of the key. FORMAT.md describes both in section
/// 3. With --sha1, a key is the 20 bytes of a hash. The first bits of each digest must be those of the shard. `parts`
/// in feed.toml names the folder of all shards.
#[derive(clap::Args)]
pub struct ShardArgs {
    /// The number of shards, a power of two up to 65536
    #[arg(long, value_name = "N")]
    shards: u32,
    /// The number of this shard, from 0
    #[arg(long, value_name = "I")]
    index: u32,
    /// The seed of the digests, the same for all shards and in feed.toml. Default 0; with --secret-file it must be given
    #[arg(long)]
    seed: Option<u64>,
    #[command(flatten)]
    secret: SecretArgs,
    /// The false-positive rate, per key. Default 1e-3, or 1e-4 with --profile password
    #[arg(long, allow_negative_numbers = true, value_parser = parse_fpr)]
    fpr: Option<f64>,
    /// What the keys are: raw or password
    #[arg(long, value_enum, default_value = "raw")]
    profile: ProfileArg,
    #[command(flatten)]
    password: PasswordArgs,
    /// The folder for the file of this shard
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
}

pub fn run(args: ShardArgs, streams: &mut Streams) -> Result<Answer> {
    let profile = args.profile.with(args.password.lowercase, args.password.sha1)?;
    ensure!(profile != Profile::Url, "the digest of a URL doesn't tell its shard; use `feed publish`");
    let secret = args.secret.read()?;
    ensure!(secret.is_none() || args.seed.is_some(), "--secret-file needs --seed, the same for all shards");
    let hashing = Hashing::new(new_seed(args.seed, secret.as_ref())?, secret.as_ref());
    let sharding = Sharding::new(profile, hashing, args.shards)?;
    ensure!(args.index < args.shards, "--index must be below --shards");
    let mut bytes = Vec::new();
    streams.input.read_to_end(&mut bytes).context("standard input")?;
    ensure!(bytes.len().is_multiple_of(8), "standard input ends within a digest");
    let mut digests = spill::from_bytes(&bytes)?;
    drop(bytes);
    if let Some(digest) = digests.iter().find(|digest| sharding.shard_of_digest(**digest) != args.index) {
        bail!("the digest {digest:016x} belongs to shard {}", sharding.shard_of_digest(*digest));
    }
    sort(&mut digests)?;
    let fpr = args.fpr.unwrap_or(profile.default_fpr());
    let made = Shard::new(&sharding, fpr, args.index, digests, &[], None, None)?;
    fs::create_dir_all(&args.output).with_context(|| args.output.display().to_string())?;
    let path = args.output.join(file_of_shard(args.index, args.shards));
    write::publish(&path, &made.bytes, || Ok(()))?;
    let row = ("wrote", format!("{}, {}", path.display(), counted(made.entry.count.into(), "key", "keys")));
    unless_closed(streams.print_rows(&[row]))?;
    Ok(Answer::Yes)
}
