//! `feed init`.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use bloom_wasm::slots::{LOWEST, LOWEST_URL};
use bloom_wasm::{Kind, Profile};

use crate::args::number::parse_fpr;
use crate::args::profile::ProfileArg;
use crate::args::secret::{SecretArgs, new_hashing};
use crate::publishing::feed::include_fpr;
use crate::publishing::manifest::{self, FeedPayload};
use crate::publishing::state::{Folder, State};
use crate::publishing::trust::{self, KeyArgs, Live};
use crate::random;
use crate::streams::{Answer, Streams};
use crate::text::rate;

/// Begin a feed, or go on with one whose state was lost
///
/// If the folder has a manifest already, the feed keeps its id and its description. Its generations go on from the
/// higher of the manifest's and the seconds since 1970, and the next one has a new base. Give the key that has signed
/// that manifest.
#[derive(clap::Args)]
pub struct InitArgs {
    /// The folder of the feed, which is served
    dir: PathBuf,
    /// A folder for what the publisher remembers, which is not served
    #[arg(long, value_name = "DIR")]
    state: PathBuf,
    /// The false-positive rate of the base and all deltas together: per check with --profile url, otherwise per key.
    /// Default 1e-3, or 1e-4 with --profile password
    #[arg(long, allow_negative_numbers = true, value_parser = parse_fpr)]
    fpr: Option<f64>,
    /// What the keys are
    #[arg(long, value_enum)]
    profile: Option<ProfileArg>,
    /// Ignore case, also when checking, with --profile password
    #[arg(long)]
    lowercase: bool,
    /// Lists hold SHA-1 hashes of passwords in hexadecimal, as HASH or HASH:COUNT, with --profile password
    #[arg(long, conflicts_with = "lowercase")]
    sha1_hex: bool,
    /// The seed of the hash, 0 to 2^64 - 1. Default 0, or with --secret-file a random one
    #[arg(long)]
    seed: Option<u64>,
    #[command(flatten)]
    secret: SecretArgs,
    /// A name for people, kept in the manifest
    #[arg(long)]
    name: Option<String>,
    #[command(flatten)]
    keys: KeyArgs,
}

pub fn run(args: InitArgs, streams: &mut Streams) -> Result<Answer> {
    let trust = args.keys.read()?;
    fs::create_dir_all(&args.dir).with_context(|| args.dir.display().to_string())?;
    Folder::create(&args.state)?;
    if let (Ok(dir), Ok(state)) = (args.dir.canonicalize(), args.state.canonicalize()) {
        ensure!(!state.starts_with(dir), "the state must not lie in the folder that is served");
    }
    let secret = args.secret.read()?;
    let folder = Folder::open(&args.state)?;
    ensure!(
        !folder.has_state()?,
        "{}: there is the state of a feed here already; another feed needs folders of its own",
        args.state.display()
    );
    let (lowercase, sha1) = (args.lowercase, args.sha1_hex);
    let live = trust.judge::<FeedPayload>(manifest::read_bytes::<FeedPayload>(&args.dir), None);
    let live = live.with_context(|| format!("{}: there is a feed here already", args.dir.display()))?;
    let state = match live {
        Live::Believed(text, FeedPayload { head: live, .. }) => {
            let given = [
                args.fpr.is_some(),
                args.profile.is_some(),
                args.seed.is_some(),
                args.name.is_some(),
                lowercase,
                sha1,
            ];
            let dir = args.dir.display();
            ensure!(
                !given.contains(&true),
                "{dir}: there is a feed here already, which keeps what describes it"
            );
            let hashing = live.hashing(secret.as_ref()).context(dir.to_string())?;
            let profile = live.profile()?;
            let mut state = State::new(live.feed_id, live.name, profile, live.fpr, hashing);
            state.generation = live.generation.max(trust::least_generation()?);
            state.manifest = text;
            state
        }
        Live::Untrusted(why) => return Err(why),
        Live::None => {
            let profile = args.profile.unwrap_or(ProfileArg::Raw).with(lowercase, sha1);
            let profile = profile.context("--lowercase and --sha1-hex need --profile password")?;
            let fpr = args.fpr.unwrap_or(profile.default_fpr());
            let lowest = if profile == Profile::Url { LOWEST_URL } else { LOWEST };
            let least = lowest / include_fpr(1.0);
            ensure!(
                fpr >= least && fpr < 1.0,
                "--fpr must be a number of at least {} and below 1",
                rate(least)
            );
            let id = random::id()?;
            ensure!(args.name.as_ref().is_none_or(|name| name.len() <= 255), "--name has at most 255 bytes");
            let hashing = new_hashing(args.seed, secret.as_ref())?.for_filter(profile, Kind::Ribbon);
            State::new(id, args.name, profile, fpr, hashing)
        }
    };
    folder.save(&state)?;
    streams.print_rows(&[
        ("feed", state.feed_id),
        ("next", format!("generation {}", state.generation + 1)),
        ("wrote", args.state.join("state.json").display().to_string()),
    ])?;
    Ok(Answer::Yes)
}
