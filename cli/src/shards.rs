//! Making sharded filters, for lists too large to download: `build --shards` and `shard`. docs/feeds.md, "Sharded
//! filters".

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result, bail, ensure};
use clap::Subcommand;
use rayon::prelude::*;
use serde::Serialize;

use super::build::{BuildArgs, Keys, Row, milliseconds};
use super::guard::{Change, GuardArgs};
use super::inspect::time_in_words;
use super::lock::Lock;
use super::manifest::{self, Head, Manifest, Payload, Shards, hex, sha256, unhex};
use super::secret::{SecretArgs, new_hashing};
use super::spill::{self, Batch, Spill};
use super::trust::{self, KeyArgs, Live, Trust};
use super::{Answer, Streams, decode, grouped, keys, output, rate, read_regular};
use bloom_wasm::digests::{sort, subtract};
use bloom_wasm::hash::{Hashing, Secret};
use bloom_wasm::keys::Input;
use bloom_wasm::shards::{Entry, MAX_SHARD, MAX_SHARDS, Sharding, write_page};
use bloom_wasm::vectors::copied;
use bloom_wasm::{Blob, Filter, Kind, Profile, RibbonFilter, Stack};

/// How many keys are built at once, on all cores: it bounds the memory.
const AT_ONCE: usize = 1 << 22;
/// A shard of more keys is announced, since building it takes more memory than usual.
const LARGE: usize = 1_000_000;

/// How long a manifest lasts, unless told otherwise: 90 days.
const EXPIRES_IN: Duration = Duration::from_secs(90 * 24 * 60 * 60);

/// How a manifest is signed, and how long it lasts.
#[derive(clap::Args)]
pub struct SigningArgs {
    #[command(flatten)]
    keys: KeyArgs,
    /// Publish without a signature what had one before
    #[arg(long, conflicts_with = "sign")]
    unsigned: bool,
    /// How long clients may use this generation, such as 12h, with --shards. Default 90d
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    expires_in: Option<Duration>,
}

impl SigningArgs {
    /// Fails if there is any.
    pub fn require_none(&self) -> Result<()> {
        if self.keys.any() || self.unsigned || self.expires_in.is_some() {
            bail!("--sign, --public-key, --trust-unsigned, --unsigned and --expires-in go with --shards");
        }
        Ok(())
    }

    /// Takes the lock of the folder, and reads the keys and the manifest in it. There is no state, so nothing else says
    /// how the filter goes on.
    fn read(&self, dir: &Path) -> Result<Known> {
        let trust = self.keys.read_to_sign()?;
        let lock = Lock::new(dir.join("shards.lock"))?;
        output::check_place(&dir.join(Shards::FILE))?;
        let name = || dir.join(Shards::FILE).display().to_string();
        let live = match trust.judge(manifest::read_bytes::<Shards>(dir), None).with_context(name)? {
            Live::Believed(text, live) => Some((text, live)),
            Live::None => None,
            Live::Strange(why) => return Err(why.context(name())),
        };
        Ok(Known { lock, trust, live })
    }
}

/// What is known of a folder before it is written to.
struct Known {
    lock: Lock,
    trust: Trust,
    /// The manifest in it, and its payload.
    live: Option<(String, Shards)>,
}

/// Build a sharded filter elsewhere: each shard by itself, and then the folder
#[derive(clap::Args)]
pub struct ShardArgs {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Build(ShardBuildArgs),
    Index(IndexArgs),
}

pub fn run(args: ShardArgs, streams: &mut Streams) -> Result<Answer> {
    match args.command {
        Command::Build(args) => build_shard(args, streams),
        Command::Index(args) => index(args, streams),
    }
}

/// Build one shard from digests on standard input, 8 bytes each, little-endian
///
/// A digest is the XXH64 of a key under the seed; Spark's xxhash64 is that with seed 42. With a secret it is the SipHash
/// that FORMAT.md describes. Their first bits must be those of the shard. `shard index` takes the files of all shards.
#[derive(clap::Args)]
struct ShardBuildArgs {
    /// How many shards there are, a power of two up to 65536
    #[arg(long, value_name = "N")]
    shards: u32,
    /// The number of this one, from 0
    #[arg(long, value_name = "I")]
    index: u32,
    /// The seed of the digests. Default 0; with --secret-file it must be given, the same for all shards
    #[arg(long)]
    seed: Option<u64>,
    #[command(flatten)]
    secret: SecretArgs,
    /// The false-positive rate, per key. Default 1e-3, or 1e-4 with --profile password
    #[arg(long, allow_negative_numbers = true, value_parser = super::fpr)]
    fpr: Option<f64>,
    /// What the keys are: raw or password
    #[arg(long, value_enum, default_value = "raw")]
    profile: Keys,
    /// Case is ignored, with --profile password
    #[arg(long)]
    lowercase: bool,
    /// The keys are SHA-1 hashes of passwords, 20 bytes each, with --profile password
    #[arg(long, conflicts_with = "lowercase")]
    sha1_hex: bool,
    /// The folder for the file of this shard
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
}

fn file_of_shard(shard: u32) -> String {
    format!("shard-{shard:05}.bloom")
}

fn build_shard(args: ShardBuildArgs, streams: &mut Streams) -> Result<Answer> {
    let profile = args.profile.with(args.lowercase, args.sha1_hex);
    let profile = profile.context("--lowercase and --sha1-hex need --profile password")?;
    ensure!(profile != Profile::Url, "a URL's shard isn't told by its digest; use `build --shards`");
    let secret = args.secret.read()?;
    ensure!(secret.is_none() || args.seed.is_some(), "--secret-file needs --seed, the same for all shards");
    let sharding = Sharding::new(profile, new_hashing(args.seed, secret.as_ref())?, args.shards)?;
    ensure!(args.index < args.shards, "--index must be below --shards");
    let mut bytes = Vec::new();
    streams.input.read_to_end(&mut bytes).context("standard input")?;
    ensure!(bytes.len().is_multiple_of(8), "standard input ends within a digest");
    let mut digests = spill::from_bytes(&bytes)?;
    drop(bytes);
    if let Some(digest) = digests.iter().find(|digest| sharding.shard_of_digest(**digest) != args.index) {
        bail!("the digest {digest:016x} belongs to shard {}", sharding.shard_of_digest(*digest));
    }
    let fpr = args.fpr.unwrap_or(profile.default_fpr());
    let made = Made::new(&sharding, profile.key_fpr(fpr), args.index, &mut digests, None)?;
    let path = args.output.join(file_of_shard(args.index));
    output::publish(&path, &made.bytes, || Ok(()))?;
    let row = ("wrote", format!("{}, {} keys", path.display(), grouped(made.entry.count.into())));
    super::unless_closed(streams.print_rows(&[row]))?;
    Ok(Answer::Yes)
}

/// Make a sharded filter of the shards that `shard build` wrote into a folder
///
/// Every shard gets its hash as its name, and the manifest comes last. The files of `shard build` are then deleted.
#[derive(clap::Args)]
struct IndexArgs {
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

fn index(args: IndexArgs, streams: &mut Streams) -> Result<Answer> {
    let secret = args.secret.read()?;
    let known = args.signing.read(&args.dir)?;
    let mut writer = Writer::open(&args.dir, args.name.as_deref(), secret.as_ref(), &args.signing, known)?;
    Sharding::new(Profile::Raw, 0, args.shards)?;
    let mut others = (args.shards..MAX_SHARDS).map(|shard| args.dir.join(file_of_shard(shard)));
    if let Some(other) = others.find(|path| path.exists()) {
        bail!("{}: --shards says that there are fewer", other.display());
    }
    let mut first = None;
    for shard in 0..args.shards {
        let path = args.dir.join(file_of_shard(shard));
        let name = || path.display().to_string();
        let bytes = read_regular(&path, MAX_SHARD.into())?;
        let entry = entry_of(&bytes).with_context(name)?;
        let blob = decode(bytes, secret.as_ref()).with_context(name)?;
        let filter = ribbon(&blob).with_context(name)?;
        let plain = blob.name().is_none() && blob.created_at().is_none() && blob.profile() != Profile::Url;
        ensure!(plain, "{}: `shard build` didn't make this", name());
        writer.entries.push(Entry { count: filter.count(), ..entry });
        let made_with = (Sharding::new(blob.profile(), *filter.hashing(), args.shards)?, filter.fpr());
        let same = *first.get_or_insert(made_with) == made_with;
        ensure!(same, "{}: it has another profile, seed or fpr than the first", name());
        writer.write(&hex(&entry.sha256), &blob.encode()?)?;
    }
    let (sharding, fpr) = first.context("there is no shard")?;
    writer.check(&args.guard, writer.count())?;
    let created_at = args.created_at.map(milliseconds).transpose()?;
    let report = writer.publish(&sharding, fpr, args.name, created_at, args.generation)?;
    // Only now, so that a run that failed can be repeated.
    for shard in 0..args.shards {
        let path = args.dir.join(file_of_shard(shard));
        fs::remove_file(&path).with_context(|| path.display().to_string())?;
    }
    report.print(Vec::new(), args.json, streams)
}

/// The filter of a shard, without its layers.
pub fn ribbon(blob: &Blob) -> Result<&RibbonFilter> {
    match blob.filter().base() {
        Filter::Ribbon(filter) => Ok(filter),
        _ => bail!("a shard must be a ribbon filter"),
    }
}

fn entry_of(bytes: &[u8]) -> Result<Entry> {
    ensure!(bytes.len() <= MAX_SHARD as usize, "it would have more than 16 MiB; use more shards");
    let sha256 = unhex(&sha256(bytes)).unwrap_or_default();
    Ok(Entry { sha256, bytes: u32::try_from(bytes.len())?, count: 0 })
}

/// A shard that was built.
struct Made {
    bytes: Vec<u8>,
    entry: Entry,
}

impl Made {
    fn new(
        sharding: &Sharding,
        key_fpr: f64,
        shard: u32,
        digests: &mut Vec<u64>,
        allowed: Option<&[u64]>,
    ) -> Result<Self> {
        let name = format!("shard {shard}, of {} keys", grouped(digests.len() as u64));
        let mut make = || -> Result<Self> {
            let hashing = *sharding.hashing();
            let stack = Stack::build(Kind::Ribbon.into(), digests, allowed, key_fpr, hashing)?;
            let blob = Blob::new(sharding.profile(), stack);
            let bytes = blob.encode()?;
            Ok(Made { entry: Entry { count: ribbon(&blob)?.count(), ..entry_of(&bytes)? }, bytes })
        };
        make().context(name)
    }
}

/// Builds a sharded filter from lists.
pub fn build(args: &BuildArgs, shards: u32, profile: Profile, streams: &mut Streams) -> Result<Answer> {
    let secret = args.secret.read()?;
    ensure!(!output::is_stdout(&args.output), "with --shards, -o is a folder");
    fs::create_dir_all(&args.output).with_context(|| args.output.display().to_string())?;
    let known = args.signing.read(&args.output)?;
    let sharding = Sharding::new(profile, hashing(args, secret.as_ref(), known.live.as_ref())?, shards)?;
    let fpr = args.fpr.unwrap_or(profile.default_fpr());
    let key_fpr = profile.key_fpr(fpr);
    // Reports what is impossible before hours of reading.
    let share = if key_fpr < fpr {
        format!("a key gets {} of --fpr", rate(key_fpr / fpr))
    } else {
        "--fpr".to_owned()
    };
    RibbonFilter::from_digests(&mut Vec::new(), key_fpr, *sharding.hashing()).context(share)?;
    let name = args.name.as_deref();
    let mut writer = Writer::open(&args.output, name, secret.as_ref(), &args.signing, known)?;

    let (split, mut read) = Split::read(args, &sharding, streams)?;
    // Before hours of work; repeated keys are known only after it.
    let check = |writer: &Writer, keys| match keys {
        0 if args.allow_empty => Ok(()),
        0 => args.require_keys(0),
        _ => writer.check(&args.guard, keys),
    };
    check(&writer, read.keys)?;
    let met = split.build(key_fpr, streams, |made| writer.put(made))?;
    check(&writer, writer.count())?;
    let created_at = args.created_at.map(milliseconds).transpose()?;
    let report = writer.publish(&sharding, fpr, args.name.clone(), created_at, None)?;

    let different = report.shards.head.count + met.removed;
    let repeated = match read.keys - different {
        0 => String::new(),
        repeated => format!(", {} repeated", grouped(repeated)),
    };
    let mut rows = vec![("read", format!("{} keys{repeated}{}", grouped(different), read.met.summary()))];
    if let Some((entries, allowed_met)) = read.allowed.take() {
        let mut words = format!("{} entries", grouped(entries)) + &allowed_met.summary();
        for (what, count) in [("removed", met.removed), ("kept", met.kept)] {
            if count > 0 {
                words += &format!(", {} keys in both lists ({what})", grouped(count));
            }
        }
        rows.push(("allowed", words));
    }
    report.print(rows, args.json, streams)
}

/// How keys become digests. A keyed filter keeps the seed that it has, so that shards with the same keys stay as they
/// are.
fn hashing(args: &BuildArgs, secret: Option<&Secret>, live: Option<&(String, Shards)>) -> Result<Hashing> {
    match live {
        Some((_, live)) if secret.is_some() && args.seed.is_none() => {
            live.head.hashing(secret).with_context(|| args.output.join(Shards::FILE).display().to_string())
        }
        _ => new_hashing(args.seed, secret),
    }
}

/// The digests of lists, split over the shards, on disk.
struct Split<'a> {
    sharding: &'a Sharding,
    folder: String,
    members: Spill,
    /// The keys that must be absent, if there is a list of them.
    allowed: Option<Spill>,
    /// Those that are removed from the members.
    won: Spill,
}

/// How many keys were read, and what else was met.
struct Read {
    keys: u64,
    met: keys::Met,
    /// The same for the allowlist, if there is one.
    allowed: Option<(u64, keys::Met)>,
}

/// How many keys are in both lists.
#[derive(Default)]
struct Both {
    removed: u64,
    kept: u64,
}

impl<'a> Split<'a> {
    fn read(args: &BuildArgs, sharding: &'a Sharding, streams: &mut Streams) -> Result<(Self, Read)> {
        let folder = args.output.display().to_string();
        let spill = || Spill::new(sharding, &args.output).with_context(|| folder.clone());
        let (mut members, mut allowed, mut won) = (spill()?, spill()?, spill()?);
        let new = || Batch::new(sharding);
        let push = |batch: &mut Batch, key: &[u8]| {
            batch.push(sharding.shard_of(key), sharding.hashing().digest(key));
        };
        let mut keys = 0;
        let take = |batch: &mut Batch, input: &Input, _: keys::Place| {
            push(batch, input.own());
            Ok(())
        };
        let profile = sharding.profile();
        let met = keys::for_each(&args.lists, profile, &args.omitted, streams, new, take, |batch| {
            keys += batch.len();
            members.extend(batch);
            Ok(())
        })?;
        let take = |(all, own): &mut (Batch, Batch), input: &Input, _: keys::Place| {
            input.keys().for_each(|key| push(all, key));
            push(own, input.own());
            Ok(())
        };
        let omitted = keys::Omitted::none();
        let mut entries = 0;
        let allowed_met = keys::for_each(
            &args.allow,
            profile,
            &omitted,
            streams,
            || (new(), new()),
            take,
            |(all, own)| {
                entries += own.len();
                allowed.extend(all);
                if args.allow_wins {
                    won.extend(own);
                }
                Ok(())
            },
        )?;
        let is_given = !args.allow.is_empty();
        let read = Read { keys, met, allowed: is_given.then_some((entries, allowed_met)) };
        Ok((Split { sharding, folder, members, allowed: is_given.then_some(allowed), won }, read))
    }

    /// Builds all shards, in order, as many at once as fit into the memory. Meanwhile it writes those before, and reads
    /// the digests of those after.
    fn build(
        self,
        key_fpr: f64,
        streams: &mut Streams,
        mut put: impl FnMut(Made) -> Result<()> + Send,
    ) -> Result<Both> {
        let Split { sharding, folder, members, allowed, won } = self;
        let (mut members, mut won) = (members.parts(), won.parts());
        let mut allowed = allowed.map(Spill::parts);
        let mut read = || -> Result<Option<Part>> {
            let part =
                |of: &mut dyn Iterator<Item = _>| of.next().transpose().with_context(|| folder.clone());
            let Some(members) = part(&mut members)? else { return Ok(None) };
            let allowed = allowed.as_mut().map(|allowed| part(allowed)).transpose()?.flatten();
            Ok(Some(Part { members, allowed, won: part(&mut won)?.unwrap_or_default() }))
        };
        let mut both = Both::default();
        let (mut next, mut built) = (read()?, Vec::new());
        let mut first = 0;
        while let Some(part) = next.take() {
            let count = part.members.len();
            let mut start = 0;
            while start < count {
                let end = part.fitting(start..count, first, streams);
                let make = |i| part.make(sharding, key_fpr, first, i);
                let (made, done) = rayon::join(
                    || (start..end).into_par_iter().map(make).collect::<Result<Vec<_>>>(),
                    || -> Result<()> {
                        built.drain(..).try_for_each(&mut put)?;
                        if end == count {
                            next = read()?;
                        }
                        Ok(())
                    },
                );
                done?;
                for (made, met) in made? {
                    both.removed += met.removed;
                    both.kept += met.kept;
                    built.push(made);
                }
                start = end;
            }
            first += count as u32;
        }
        built.into_iter().try_for_each(put)?;
        Ok(both)
    }
}

/// The digests of some shards, in memory.
struct Part {
    members: spill::Part,
    allowed: Option<spill::Part>,
    won: spill::Part,
}

impl Part {
    /// The end of those among some shards that are built at once: at least one. Large ones are announced. `first` is the
    /// number of the part's first shard.
    fn fitting(&self, shards: Range<usize>, first: u32, streams: &mut Streams) -> usize {
        let (mut end, mut keys) = (shards.start, 0);
        while end < shards.end && (end == shards.start || keys < AT_ONCE) {
            let of_this = self.members[end].len();
            if of_this > LARGE {
                let (shard, keys) = (first as usize + end, grouped(of_this as u64));
                let bytes = grouped(of_this as u64 * 40);
                streams.warn(&format!("shard {shard} has {keys} keys and needs {bytes} bytes"));
            }
            keys += of_this;
            end += 1;
        }
        end
    }

    /// Builds the shard with this place in the part.
    fn make(&self, sharding: &Sharding, key_fpr: f64, first: u32, place: usize) -> Result<(Made, Both)> {
        let sorted = |part: &spill::Part| -> Result<Vec<u64>> {
            let mut digests = copied(&part[place])?;
            sort(&mut digests)?;
            Ok(digests)
        };
        let mut digests = sorted(&self.members)?;
        let all = digests.len();
        subtract(&mut digests, &sorted(&self.won)?);
        let removed = (all - digests.len()) as u64;
        let allowed = self.allowed.as_ref().map(sorted).transpose()?;
        let is_member = |key: &&u64| digests.binary_search(key).is_ok();
        let kept = allowed.iter().flatten().filter(is_member).count() as u64;
        let made = Made::new(sharding, key_fpr, first + place as u32, &mut digests, allowed.as_deref())?;
        Ok((made, Both { removed, kept }))
    }
}

/// Writes the folder of a sharded filter: shards, then pages, then the manifest.
struct Writer {
    dir: PathBuf,
    lock: Lock,
    trust: Trust,
    expires_in: u64,
    /// The manifest in the folder, and its payload.
    live: Option<(String, Shards)>,
    entries: Vec<Entry>,
}

/// What was published.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    #[serde(flatten)]
    shards: Shards,
    /// Whether this run made this generation.
    published: bool,
    #[serde(skip)]
    dir: PathBuf,
}

impl Writer {
    /// `secret` is there if the filter is keyed. It must be that of the filter which is there.
    fn open(
        dir: &Path,
        name: Option<&str>,
        secret: Option<&Secret>,
        signing: &SigningArgs,
        known: Known,
    ) -> Result<Self> {
        name.map_or(Ok(()), bloom_wasm::format::require_name)?;
        let Known { lock, trust, live } = known;
        let expires_in =
            u64::try_from(signing.expires_in.unwrap_or(EXPIRES_IN).as_millis()).unwrap_or(u64::MAX);
        ensure!(expires_in > 0, "--expires-in must be longer than that");
        manifest::check_expiry(milliseconds(SystemTime::now())?.saturating_add(expires_in))?;
        ensure!(
            trust.signers.len() <= manifest::MAX_SIGNATURES,
            "--sign can be repeated {} times",
            manifest::MAX_SIGNATURES
        );
        if let Some((text, live)) = &live {
            live.head.hashing(secret).with_context(|| dir.join(Shards::FILE).display().to_string())?;
            let was_signed = Manifest::<Shards>::parse(text.as_bytes())?.is_signed();
            if was_signed && trust.signers.is_empty() && !signing.unsigned {
                bail!("the filter was signed until now, and clients expect it; give --sign, or --unsigned");
            }
        }
        output::clear(dir)?;
        Ok(Writer { dir: dir.to_owned(), lock, trust, expires_in, live, entries: Vec::new() })
    }

    /// How many keys the shards have.
    fn count(&self) -> u64 {
        self.entries.iter().map(|entry| u64::from(entry.count)).sum()
    }

    /// Fails if that is too few after those of the last generation.
    fn check(&self, guard: &GuardArgs, keys: u64) -> Result<()> {
        let before = self.live.as_ref().map_or(0, |(_, live)| live.head.count);
        guard.check(&Change::of_counts(before, keys))
    }

    /// Writes the next shard, unless it is there already.
    fn put(&mut self, made: Made) -> Result<()> {
        self.write(&hex(&made.entry.sha256), &made.bytes)?;
        self.entries.push(made.entry);
        Ok(())
    }

    /// Writes a file whose name is its hash.
    fn write(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let path = self.dir.join(name);
        let is_there = fs::symlink_metadata(&path)
            .is_ok_and(|there| there.is_file() && there.len() == bytes.len() as u64)
            && read_regular(&path, bytes.len() as u64).is_ok_and(|there| there == bytes);
        if is_there { Ok(()) } else { output::publish(&path, bytes, || self.lock.check()) }
    }

    /// Writes the pages and the manifest.
    fn publish(
        &self,
        sharding: &Sharding,
        fpr: f64,
        name: Option<String>,
        created_at: Option<u64>,
        generation: Option<u64>,
    ) -> Result<Report> {
        let now = milliseconds(SystemTime::now())?;
        let pages: Vec<_> = self.entries.chunks(sharding.entries()).map(write_page).collect();
        let live = self.live.as_ref().map(|(_, live)| live);
        let feed_id = match live {
            Some(live) => live.head.feed_id.clone(),
            None => manifest::random_id()?,
        };
        let last = live.map_or(0, |live| live.head.generation);
        // Then it is published even if nothing has changed.
        let asked = generation.is_some();
        let generation = match generation {
            Some(generation) => generation,
            // The manifest that is there may be an old one, which a host has put back.
            None if last > 0 && !self.trust.signers.is_empty() => {
                trust::next(last)?.max(trust::least_generation()?)
            }
            None => trust::next(last)?,
        };
        ensure!(generation > last, "--generation must be more than {last}, the one that is there");
        ensure!(
            generation <= trust::MAX_GENERATION,
            "--generation must be at most {}",
            trust::MAX_GENERATION
        );
        let created_at = created_at.unwrap_or(now);
        let (lowercase, sha1) = sharding.profile().password();
        let head = Head {
            version: manifest::VERSION,
            feed_id,
            name,
            generation,
            created_at,
            expires: now.saturating_add(self.expires_in),
            profile: sharding.profile().name().to_owned(),
            lowercase,
            sha1,
            fpr,
            seed: sharding.hashing().seed().to_string(),
            check: manifest::check_of(sharding.hashing()),
            count: self.count(),
        };
        let shards = Shards {
            head,
            shards: sharding.shards(),
            bytes: self.entries.iter().map(|entry| u64::from(entry.bytes)).sum(),
            pages: pages.iter().map(|page| sha256(page)).collect(),
        };
        for (name, page) in shards.pages.iter().zip(&pages) {
            self.write(name, page)?;
        }
        let dir = self.dir.clone();
        if let Some((text, live)) = &self.live
            && !asked
            && shards.is_as(live)
            && live.head.is_fresh(now, self.expires_in)
            && Manifest::<Shards>::parse(text.as_bytes())?.has_signers(&self.trust.signers)
        {
            return Ok(Report { shards: live.clone(), published: false, dir });
        }
        let text = Manifest::sign(&shards, &self.trust.signers)?.text()?;
        output::publish(&self.dir.join(Shards::FILE), text.as_bytes(), || self.lock.check())?;
        Ok(Report { shards, published: true, dir })
    }
}

impl Report {
    fn print(&self, mut rows: Vec<Row>, json: bool, streams: &mut Streams) -> Result<Answer> {
        let Shards { head, shards, bytes, .. } = &self.shards;
        rows.push(("size", size_in_words(&self.shards)));
        let generation =
            format!("generation {}, which expires {}", head.generation, time_in_words(head.expires));
        if self.published {
            let dir = self.dir.display();
            rows.push((
                "wrote",
                format!(
                    "{dir}, {} shards of {} bytes on average",
                    grouped((*shards).into()),
                    grouped(bytes / u64::from(*shards))
                ),
            ));
        }
        rows.push(if self.published { ("published", generation) } else { ("unchanged", generation) });
        super::unless_closed(if json { streams.print_json(self) } else { streams.print_rows(&rows) })?;
        Ok(Answer::Yes)
    }
}

pub fn size_in_words(shards: &Shards) -> String {
    let per_key = match shards.head.count {
        0 => String::new(),
        count => format!(", {:.2} bits a key", shards.bytes as f64 * 8.0 / count as f64),
    };
    format!("{} bytes{per_key}", grouped(shards.bytes))
}
