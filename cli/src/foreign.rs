//! `import`, `export`, and `build` of a kind that is other software's.

use std::path::PathBuf;
use std::time::SystemTime;

use anyhow::{Context, Result, bail};
use bloom_wasm::interop::{self, Builder, Format, Keys, Options};
use bloom_wasm::keys::Input;
use bloom_wasm::vectors::append;
use bloom_wasm::{Blob, Error, Kind, Profile, digests, hash};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use super::build::{self, BuildArgs, Row};
use super::{Answer, Streams, grouped, keys, lists, output, rate, read_blob, read_file};

/// A kind of filter, our own or another software's.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum AnyKind {
    /// Our own.
    Own(Kind),
    /// Another software's.
    Foreign(Format),
}

/// Our own kinds, in the order of the help.
const KINDS: [(Kind, &str); 5] = [
    (Kind::Ribbon, "Read-only, and the smallest"),
    (Kind::Bloom, "A classic Bloom filter; keys can be added later"),
    (Kind::Counting, "A Bloom filter with counters; keys can be added and removed later"),
    (Kind::Scalable, "A Bloom filter that grows, from 1,000 keys on"),
    (Kind::Cuckoo, "Small at low rates; keys can be added and removed later"),
];

/// The formats that are written.
const WRITTEN: [Format; 5] =
    [Format::GoBloom, Format::Guava, Format::Spark, Format::RedisBitmap, Format::RedisBloom];

/// Reads a kind that a filter can be built of.
pub fn parse_kind() -> impl TypedValueParser<Value = AnyKind> {
    let own = KINDS.map(|(kind, help)| (kind.name(), help, AnyKind::Own(kind)));
    let foreign = WRITTEN.map(|format| (format.name(), software(format), AnyKind::Foreign(format)));
    one_of(own.into_iter().chain(foreign))
}

/// Reads the name of a format.
fn parse_format() -> impl TypedValueParser<Value = Format> {
    one_of(Format::ALL.map(|format| (format.name(), software(format), format)))
}

/// Reads one of some values, each with its name and what the help says of it.
fn one_of<T: Copy + Send + Sync + 'static>(
    values: impl IntoIterator<Item = (&'static str, &'static str, T)>,
) -> impl TypedValueParser<Value = T> {
    let values: Vec<_> = values.into_iter().collect();
    let named = values.iter().map(|(name, help, _)| PossibleValue::new(name).help(help));
    let names = PossibleValuesParser::new(named);
    names.try_map(move |given| {
        let value = values.iter().find(|(name, ..)| *name == given).map(|(.., value)| *value);
        value.context("this is none of the values")
    })
}

/// Whose a format is.
fn software(format: Format) -> &'static str {
    match format {
        Format::GoBloom => "Go's bits-and-blooms/bloom, version 3",
        Format::Guava => "Guava's BloomFilter",
        Format::Spark => "Apache Spark's BloomFilter",
        Format::RedisBitmap => "A bitmap in Redis, hashed by mmh3 with the seeds 0, 1, 2 and so on",
        Format::RedisBloom => "The RedisBloom module's BF.SCANDUMP, or DUMP",
        Format::NpmBloomfilter => "The npm package bloomfilter",
        Format::NpmBloomFilters => "The npm package bloom-filters, 2.x and 3.x",
        Format::ParquetSbbf => "The Bloom filter of a Parquet column",
        Format::Xor => "Xor filters of xor_singleheader and xorf",
        Format::BinaryFuse => "Binary fuse filters of xor_singleheader and xorf",
        Format::FilterPassword => "FilterPassword",
        Format::PyBloomFilterMmap3 => "Python's pybloomfiltermmap3",
        Format::PyProbables => "Python's pyprobables",
        Format::Rbloom => "Python's rbloom, hashed by mmh3.hash128, signed",
    }
}

/// What the bytes of a foreign format don't say.
#[derive(clap::Args)]
#[command(next_help_heading = "Options of other software's formats")]
pub struct ForeignArgs {
    /// guava: what the keys are: utf8 (default), unencoded-chars, bytes, int or long
    #[arg(long)]
    funnel: Option<String>,
    /// What the keys are. spark: string (default), bytes or long; parquet-sbbf: string (default), bytes, int32, int64,
    /// float or double; pybloomfiltermmap3: string (default), bytes or int
    #[arg(long)]
    keys: Option<String>,
    /// redis-bitmap: how many bits
    #[arg(long)]
    bits: Option<u64>,
    /// redis-bitmap, and npm-bloomfilter where the file doesn't say: how many hashes
    #[arg(long)]
    hashes: Option<u32>,
}

/// More of it, which only reading needs.
#[derive(clap::Args)]
#[command(next_help_heading = "Options of other software's formats")]
pub struct ReadingArgs {
    #[command(flatten)]
    foreign: ForeignArgs,
    /// npm-bloomfilter: the hash: fnv64 (default, from 0.0.21 on), fnv64-odd, fnv32-triple, fnv32-seeded, fnv32-b or
    /// fnv32-b-signedmix
    #[arg(long)]
    generation: Option<String>,
    /// xor, binary-fuse: c (default), xorf-dma, xorf-json or xorf-bincode
    #[arg(long)]
    layout: Option<String>,
    /// xor, binary-fuse: the bits of a fingerprint where the file doesn't say: 8, 16 or 32
    #[arg(long)]
    width: Option<u32>,
}

/// More of it, which only building needs.
#[derive(clap::Args)]
#[command(next_help_heading = "Options of other software's formats")]
pub struct BuildingArgs {
    #[command(flatten)]
    foreign: ForeignArgs,
    /// go-bloom: binary (default) or json; guava: mitz-64 (default) or mitz-32; spark: v1 (default) or v2
    #[arg(long)]
    layout: Option<String>,
    /// redisbloom: each link holds so many times as many keys as the one before, 2 if not said; 0 never grows
    #[arg(long)]
    expansion: Option<u32>,
}

impl ForeignArgs {
    fn options(&self) -> Options {
        let ForeignArgs { funnel, keys, bits, hashes } = self;
        Options {
            funnel: funnel.clone(),
            keys: keys.clone(),
            bits: *bits,
            hashes: *hashes,
            ..Default::default()
        }
    }
}

impl ReadingArgs {
    fn options(&self) -> Options {
        let ReadingArgs { foreign, generation, layout, width } = self;
        let (generation, layout) = (generation.clone(), layout.clone());
        Options { generation, layout, width: *width, ..foreign.options() }
    }
}

impl BuildingArgs {
    fn options(&self) -> Options {
        let BuildingArgs { foreign, layout, expansion } = self;
        Options { layout: layout.clone(), expansion: *expansion, ..foreign.options() }
    }

    /// Whether there is any.
    pub fn any(&self) -> bool {
        self.options() != Options::default()
    }
}

/// Wrap another software's filter in a blob
///
/// The blob answers as that software does, key for key, in the package too, and needs no option there. `export` gives the
/// original back.
#[derive(clap::Args)]
pub struct ImportArgs {
    /// What the other software wrote; - for standard input
    file: PathBuf,
    /// The other software's format
    #[arg(long, value_parser = parse_format())]
    from: Format,
    /// Where to write the blob; - for standard output. A file is replaced whole, and keeps its mode
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// What the keys are
    #[arg(long, value_enum, default_value = "raw")]
    profile: build::Keys,
    /// The passwords are in lower case, with --profile password
    #[arg(long)]
    lowercase: bool,
    /// The keys are SHA-1 hashes of passwords, 20 bytes each, with --profile password
    #[arg(long)]
    sha1: bool,
    #[command(flatten)]
    options: ReadingArgs,
    /// A name for people, kept in the blob
    #[arg(long)]
    name: Option<String>,
    /// When the list was made, kept in the blob, as 2026-11-21T09:00:00Z
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_rfc3339_weak)]
    created_at: Option<SystemTime>,
    /// Print the description of the blob as JSON
    #[arg(long)]
    json: bool,
}

pub fn import(args: ImportArgs, streams: &mut Streams) -> Result<Answer> {
    output::check(&args.output)?;
    let name = || lists::name(&args.file);
    let profile = args.profile.with(args.lowercase, args.sha1);
    let profile = profile.context("--lowercase and --sha1 need --profile password")?;
    let bytes = read_file(&args.file, streams)?;
    let filter = interop::read(args.from, &args.options.options(), &bytes).with_context(name)?;
    require_text(filter.keys(), profile)?;
    drop(bytes);
    let mut blob = Blob::new(profile, filter);
    blob.describe(args.name, args.created_at.map(build::milliseconds).transpose()?)?;
    let rows = [("read", format!("{}, {}", name(), args.from.name()))];
    build::write(&blob, &args.output, args.json, &rows, &[], streams)
}

/// Fails for numbers as keys in a profile that makes text of its input, and for hashes that would be hashed again.
fn require_text(keys: Keys, profile: Profile) -> Result<()> {
    if profile != Profile::Raw && keys.width().is_some() {
        bail!("--profile {} can't go with keys that are numbers", profile.name());
    }
    if keys == Keys::Sha1 && matches!(profile, Profile::Password { sha1: true, .. }) {
        bail!("--sha1 can't go with filterpassword, which hashes the passwords itself");
    }
    Ok(())
}

/// Unwrap another software's filter from a blob
///
/// What was read is written again: of go-bloom the same bytes, JSON or not, of guava, spark and redis-bitmap too, and of
/// redisbloom the chunks of BF.SCANDUMP, as 2.2.1 and later write them. What one hash made can't become another's.
#[derive(clap::Args)]
pub struct ExportArgs {
    /// The blob; - for standard input
    file: PathBuf,
    /// The other software's format
    #[arg(long, value_parser = parse_format())]
    to: Format,
    /// Where to write it; - for standard output. A file is replaced whole, and keeps its mode
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
}

pub fn export(args: ExportArgs, streams: &mut Streams) -> Result<Answer> {
    output::check(&args.output)?;
    let blob = read_blob(&args.file, None, streams).map_err(|error| match error.downcast_ref() {
        Some(Error::SecretRequired) => error.context("no other software reads keyed filters"),
        _ => error,
    })?;
    let filter = blob.filter().base_alone().with_context(|| lists::name(&args.file))?;
    let bytes = interop::export(filter, args.to).with_context(|| {
        format!("{}: a {} filter as {}", lists::name(&args.file), filter.name(), args.to.name())
    })?;
    if output::is_stdout(&args.output) {
        streams.print_blob(&bytes)?;
        return Ok(Answer::Yes);
    }
    let rows = vec![("size", format!("{} bytes", grouped(bytes.len() as u64)))];
    let wrote = format!("{}, {}", args.output.display(), args.to.name());
    build::write_and_tell(&bytes, &args.output, None::<&()>, rows, wrote, streams)
}

/// As `build`, of another software's kind. All keys are held at once, since its hash needs them.
pub fn build(args: &BuildArgs, format: Format, profile: Profile, streams: &mut Streams) -> Result<Answer> {
    if args.secret.is_given() {
        bail!("--secret-file goes with our own kinds: other software knows no secret");
    }
    if !args.allow.is_empty() {
        bail!("--allow goes with our own kinds: nothing can lie over another software's filter");
    }
    let fpr = args.fpr.unwrap_or(profile.default_fpr());
    let key_fpr = profile.key_fpr(fpr);
    let seed =
        i32::try_from(args.seed.unwrap_or(0)).context("--seed of other software's filters is below 2^31")?;
    let options = Options { seed: Some(seed).filter(|seed| *seed != 0), ..args.foreign.options() };
    // What is impossible is told before hours of reading.
    let new = |count| Builder::new(format, &options, count, key_fpr);
    let all = new(args.capacity.unwrap_or(1))?.keys();
    require_text(all, profile)?;
    if let Some(name) = &args.name {
        bloom_wasm::format::require_name(name)?;
    }
    let created_at = args.created_at.map(build::milliseconds).transpose()?;

    // Each key after its length.
    let mut text = Vec::new();
    let mut members = Vec::new();
    let take = |(text, members): &mut (Vec<u8>, Vec<u64>), input: &Input, _: keys::Place| {
        let key = all.parse(input.own())?;
        let rule = Error::InvalidKey { reason: "a key must have less than 2^32 bytes" };
        let length = u32::try_from(key.len()).map_err(|_| rule)?;
        text.extend(length.to_le_bytes());
        text.extend_from_slice(&key);
        members.push(hash::digest(0, &key));
        Ok(())
    };
    let met = keys::for_each(
        &args.lists,
        profile,
        &args.omitted,
        streams,
        Default::default,
        take,
        |(more, digests)| {
            append(&mut text, &more)?;
            append(&mut members, &digests)
        },
    )?;
    let keys = members.len() as u64;
    args.require_keys(keys)?;
    digests::sort(&mut members)?;
    let distinct = members.len() as u64;
    drop(members);
    let mut builder = new(args.capacity.unwrap_or(distinct))?;
    let mut rest = &text[..];
    while let Some((&length, after)) = rest.split_first_chunk() {
        let (key, after) = after.split_at(u32::from_le_bytes(length) as usize);
        builder.add(key)?;
        rest = after;
    }
    drop(text);
    let mut blob = Blob::new(profile, builder.finish()?);
    blob.describe(args.name.clone(), created_at)?;
    let mut read = format!("{} keys", grouped(distinct));
    if keys > distinct {
        read += &format!(", {} repeated", grouped(keys - distinct));
    }
    let rows: [Row; 1] = [("read", read + &met.summary())];
    let fpr =
        ("fpr", format!("{fpr} asked for, {} of a key by the fill", rate(blob.filter().estimated_fpr())));
    build::write(&blob, &args.output, args.json, &rows, &[fpr], streams)
}
