//! `info`: what a blob or a folder says by itself.

use std::path::PathBuf;

use anyhow::{Context, Result};
use bloom_wasm::filters::AnyFilter;
use bloom_wasm::format::MAGIC;
use bloom_wasm::info::Parameter;
use bloom_wasm::layers::{LayerKind, Stack};
use bloom_wasm::{Delta, Kind, Profile};

use crate::args::secret::SecretArgs;
use crate::files::blob::decode;
use crate::files::delta::DeltaInfo;
use crate::files::read;
use crate::publishing::folder::Folder;
use crate::rates::Rates;
use crate::streams::{Answer, Streams};
use crate::text::{about, counted, grouped, keyed_in_words, rate, tags_in_words, time_in_words};

/// Show what a blob holds
#[derive(clap::Args)]
pub struct InfoArgs {
    /// The blob; - for standard input. Or the folder of a feed
    file: PathBuf,
    #[command(flatten)]
    secret: SecretArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: InfoArgs, streams: &mut Streams) -> Result<Answer> {
    let secret = args.secret.read()?;
    if args.file.is_dir() {
        let folder = Folder::open(&args.file, secret, &[])?;
        if args.json {
            streams.print_json(&folder.describe()?)?
        } else {
            streams.print_rows(&folder.rows()?)?
        }
        return Ok(Answer::Yes);
    }
    let bytes = read::any(&args.file, &MAGIC, streams)?;
    let name = || read::name(&args.file);
    if Delta::is_delta(&bytes) {
        let delta = match &secret {
            Some(secret) => Delta::decode_keyed(bytes, secret),
            None => Delta::decode(bytes),
        };
        let delta = delta.with_context(name)?;
        let info = DeltaInfo::of(&delta)?;
        if args.json {
            streams.print_json(&info)?
        } else {
            streams.print_rows(&info.rows())?
        }
        return Ok(Answer::Yes);
    }
    let blob = decode(bytes, secret.as_ref()).with_context(name)?;
    let info = blob.info()?;
    if args.json {
        streams.print_json(&info)?;
        return Ok(Answer::Yes);
    }
    let or = |value: Option<String>, otherwise: &str| value.unwrap_or_else(|| otherwise.to_owned());
    let mut rows = vec![
        ("kind", format!("{}: {}", info.kind, kind_in_words(blob.stack().base().kind()))),
        ("profile", format!("{}: {}", info.profile, profile_in_words(blob.profile()))),
        ("name", or(info.name.map(str::to_owned), "none")),
        ("created", or(info.created_at.map(time_in_words), "unknown")),
        (
            "keys",
            match info.count {
                Some(count) => grouped(count),
                None => about(blob.stack().estimated_count()),
            },
        ),
        (
            "capacity",
            match info.capacity {
                // No rate: that of other software's filter is the present one.
                Some(keys) if info.foreign.is_some() => {
                    format!("{}, by its size", counted(keys, "key", "keys"))
                }
                Some(keys) => format!("{}, at a rate of {}", counted(keys, "key", "keys"), rate(info.fpr)),
                None if info.foreign.is_some() => "unknown".to_owned(),
                None => format!("any number of keys; the rate stays below {}", rate(info.fpr)),
            },
        ),
        ("fpr now", {
            let absent =
                if blob.profile() == Profile::Url { "a URL that isn't listed" } else { "an absent key" };
            let rate = Rates::of(blob.stack(), blob.profile()).in_words();
            format!("{rate}: the chance that {absent} is maybe present")
        }),
        ("bits", grouped(info.bits)),
        (
            "hashes",
            match info.hashes {
                Some(hashes) => format!("{hashes} per key"),
                None if info.foreign.is_some() => "as its software defines them".to_owned(),
                None => "one per key, split into parts".to_owned(),
            },
        ),
        ("seed", info.seed.to_string()),
        ("keyed", keyed_in_words(info.keyed)),
        ("layers", layers_in_words(blob.stack())),
        ("size", {
            let per_key = info.bits_per_key.map(|bits| format!(", {bits:.2} bits a key")).unwrap_or_default();
            format!("{} bytes{per_key}", grouped(info.byte_length))
        }),
        ("id", format!("{:016x}, of length and checksum", info.id)),
    ];
    if info.tags.is_some() {
        let keys = rows.iter().position(|(name, _)| *name == "keys").map_or(rows.len(), |at| at + 1);
        rows.insert(keys, ("tags", tags_in_words(blob.stack().tag_counts())));
    }
    if let Some(foreign) = &info.foreign {
        rows.insert(1, ("foreign", foreign_in_words(foreign)));
    }
    streams.print_rows(&rows)?;
    Ok(Answer::Yes)
}

fn kind_in_words(kind: Kind) -> &'static str {
    match kind {
        Kind::Bloom => "keys can be added, never removed",
        Kind::Counting => "keys can be added and removed",
        Kind::Scalable => "any number of keys can be added, none removed",
        Kind::Cuckoo => "keys can be added until it is full, and removed",
        Kind::Ribbon => "read-only, and the smallest",
        Kind::Foreign => "of other software, and queried as that does",
    }
}

fn profile_in_words(profile: Profile) -> String {
    let and = |set, what| if set { what } else { "" };
    match profile {
        Profile::Raw => "keys are bytes as they are given".to_owned(),
        Profile::Url => "keys are host and path expressions of URLs".to_owned(),
        Profile::Password { lowercase, sha1 } => {
            format!("keys are passwords{}{}", and(lowercase, ", lower-cased"), and(sha1, ", hashed by SHA-1"))
        }
    }
}

fn foreign_in_words(parameters: &[(&'static str, Parameter)]) -> String {
    let words = parameters.iter().map(|(name, value)| match value {
        Parameter::Text(text) => format!("{name} {text}"),
        Parameter::Number(number) => format!("{name} {number}"),
    });
    words.collect::<Vec<_>>().join(", ")
}

fn layers_in_words(stack: &Stack) -> String {
    let includes = stack.layers().iter().filter(|layer| layer.kind() == LayerKind::Include).count();
    let excludes = stack.layers().len() - includes;
    // A list of URLs is built like this if its keys fall into two groups.
    let other_shapes = match (stack.base(), stack.layers().first()) {
        (AnyFilter::Ribbon(base), Some(first)) => {
            first.kind() == LayerKind::Include
                && !base.slots().is_empty()
                && first.slots().is_disjoint(base.slots())
        }
        _ => false,
    };
    match (includes, excludes) {
        (0, 0) => "none".to_owned(),
        (1, 0) if other_shapes => "1 that holds the keys of other shapes".to_owned(),
        (1, _) => format!("1 that holds more keys, {excludes} of keys that are certainly absent"),
        _ => format!("{includes} that hold more keys, {excludes} of keys that are certainly absent"),
    }
}
