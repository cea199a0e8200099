//! `shard index`.

use std::path::PathBuf;
use std::time::SystemTime;

use anyhow::{Context, Result, bail, ensure};
use bloom_wasm::Profile;
use bloom_wasm::shards::{Entry, MAX_SHARD, MAX_SHARDS, Sharding};

use crate::args::number::created_at;
use crate::args::secret::SecretArgs;
use crate::args::tags::TagArgs;
use crate::files::blob::decode;
use crate::files::read;
use crate::publishing::guard::GuardArgs;
use crate::publishing::manifest::hex;
use crate::publishing::parts::file_of_shard;
use crate::publishing::shards::{SigningArgs, Writer, count, entry_of, ribbon};
use crate::publishing::trust;
use crate::streams::{Answer, Streams};
use crate::text::in_words;

/// Make a sharded filter of the shards that `shard build` wrote into a folder
///
/// Every shard gets its hash as its name, and the manifest comes last. The files of `shard build` are then deleted.
#[derive(clap::Args)]
pub struct IndexArgs {
    /// The folder
    dir: PathBuf,
    /// How many shards there are, a power of two up to 65536
    #[arg(long, value_name = "N")]
    shards: u32,
    /// A name for people, kept in the manifest
    #[arg(long)]
    name: Option<String>,
    /// When the list was made, if not now, such as 2026-11-21T09:00:00Z
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_rfc3339_weak)]
    created_at: Option<SystemTime>,
    /// The number of this generation, if not the next
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=trust::MAX_GENERATION))]
    generation: Option<u64>,
    #[command(flatten)]
    guard: GuardArgs,
    #[command(flatten)]
    signing: SigningArgs,
    #[command(flatten)]
    secret: SecretArgs,
    /// Print what was done as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: IndexArgs, streams: &mut Streams) -> Result<Answer> {
    let secret = args.secret.read()?;
    let known = args.signing.read(&args.dir, streams)?;
    let (name, secret) = (args.name.as_deref(), secret.as_ref());
    let mut writer = Writer::open(&args.dir, name, secret, &TagArgs::none(), &args.signing, known)?;
    Sharding::new(Profile::Raw, 0, args.shards)?;
    let mut others = (args.shards..MAX_SHARDS).map(|shard| args.dir.join(file_of_shard(shard)));
    if let Some(other) = others.find(|path| path.exists()) {
        bail!("{}: --shards says that there are fewer", other.display());
    }
    let mut first = None;
    for shard in 0..args.shards {
        let path = args.dir.join(file_of_shard(shard));
        let name = || path.display().to_string();
        let bytes = read::regular(&path, MAX_SHARD.into())?;
        let entry = entry_of(&bytes).with_context(name)?;
        let blob = decode(bytes, secret).with_context(name)?;
        let filter = ribbon(&blob).with_context(name)?;
        let described = blob.name().is_some() || blob.created_at().is_some();
        let plain = !described && !blob.filter().is_tagged() && blob.profile() != Profile::Url;
        ensure!(plain, "{}: `shard build` didn't make this", name());
        writer.entries.push(Entry { count: count(&blob).with_context(name)?, ..entry });
        let made_with = (Sharding::new(blob.profile(), *filter.hashing(), args.shards)?, filter.fpr());
        let same = *first.get_or_insert(made_with) == made_with;
        ensure!(same, "{}: it has another profile, seed or fpr than the first", name());
    }
    let (sharding, fpr) = first.context("there is no shard")?;
    writer.require_profile(sharding.profile())?;
    writer.check(&args.guard, writer.count())?;
    let created_at = args.created_at.map(created_at).transpose()?;
    // Only now, so that a run that is refused leaves the folder as it was.
    let publish = |writer: &mut Writer, streams: &mut Streams| -> Result<_> {
        for shard in 0..args.shards {
            let path = args.dir.join(file_of_shard(shard));
            let bytes = read::regular(&path, MAX_SHARD.into())?;
            let sha256 = writer.entries[shard as usize].sha256;
            ensure!(entry_of(&bytes)?.sha256 == sha256, "{}: it has changed meanwhile", path.display());
            writer.write(&hex(&sha256), &bytes)?;
        }
        writer.is_of_parts = true;
        writer.publish(&sharding, fpr, args.name.clone(), created_at, args.generation, streams)
    };
    let published = publish(&mut writer, streams);
    let report = published.inspect_err(|_| writer.take_back(streams))?;
    // At last, so that a run that failed can be repeated.
    if let Err(why) = writer.delete_spent() {
        let generation = report.shards.head.generation;
        streams.warn(&format!(
            "generation {generation} is in place; the next run deletes what it was made of: {}",
            in_words(&why)
        ));
    }
    report.print(Vec::new(), args.json, streams)
}
