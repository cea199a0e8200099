//! `feed`: a folder of files that keeps a filter up to date. docs/feeds.md.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result, bail, ensure};
use clap::Subcommand;
use ed25519_dalek::pkcs8::spki::der::pem::LineEnding;
use ed25519_dalek::pkcs8::{DecodePrivateKey, EncodePrivateKey, KeypairBytes};
use ed25519_dalek::{SigningKey, VerifyingKey};
use serde::Serialize;

use super::build::{Keys, Row, allow, members, milliseconds};
use super::guard::{GuardArgs, Lines};
use super::inspect::time_in_words;
use super::manifest::{self, Feed, File, Head, Manifest, Payload};
use super::publish::{Next, Publisher, Renewal, include_fpr, read_files};
use super::secret::{SecretArgs, new_hashing};
use super::state::{Folder, State};
use super::trust::{self, KeyArgs, Live};
use super::{Answer, Streams, grouped, keys, lists, output, rate};
use bloom_wasm::Profile;
use bloom_wasm::digests::sort;

/// Publish a filter that stays up to date, as a folder for any static host
#[derive(clap::Args)]
pub struct FeedArgs {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Init(InitArgs),
    Keygen(KeygenArgs),
    Publish(PublishArgs),
    Verify(VerifyArgs),
}

pub fn run(args: FeedArgs, streams: &mut Streams) -> Result<Answer> {
    match args.command {
        Command::Init(args) => init(args, streams),
        Command::Keygen(args) => keygen(args, streams),
        Command::Publish(args) => publish(args, streams),
        Command::Verify(args) => verify(args, streams),
    }
}

/// Begin a feed, or go on with one whose state was lost
///
/// If the folder has a manifest already, the feed keeps its id and its description. Its generations go on from the
/// higher of the manifest's and the seconds since 1970, and the next one has a new base. Give the key that has signed
/// that manifest.
#[derive(clap::Args)]
struct InitArgs {
    /// The folder of the feed, which is served
    dir: PathBuf,
    /// A folder for what the publisher remembers, which is not served
    #[arg(long, value_name = "DIR")]
    state: PathBuf,
    /// The false-positive rate of the base and all deltas together: per check with --profile url, otherwise per key.
    /// Default 1e-3, or 1e-4 with --profile password
    #[arg(long, allow_negative_numbers = true, value_parser = super::fpr)]
    fpr: Option<f64>,
    /// What the keys are
    #[arg(long, value_enum)]
    profile: Option<Keys>,
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

fn init(args: InitArgs, streams: &mut Streams) -> Result<Answer> {
    let trust = args.keys.read()?;
    fs::create_dir_all(&args.dir).with_context(|| args.dir.display().to_string())?;
    Folder::create(&args.state)?;
    if let (Ok(dir), Ok(state)) = (args.dir.canonicalize(), args.state.canonicalize()) {
        ensure!(!state.starts_with(dir), "the state must not lie in the folder that is served");
    }
    let secret = args.secret.read()?;
    let folder = Folder::open(&args.state)?;
    ensure!(!folder.has_state()?, "{}: there is the state of a feed here already", args.state.display());
    let (lowercase, sha1) = (args.lowercase, args.sha1_hex);
    let live = trust.judge::<Feed>(manifest::read_bytes::<Feed>(&args.dir), None);
    let live = live.with_context(|| format!("{}: there is a feed here already", args.dir.display()))?;
    let state = match live {
        Live::Believed(text, Feed { head: live, .. }) => {
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
        Live::Strange(why) => return Err(why),
        Live::None => {
            let profile = args.profile.unwrap_or(Keys::Raw).with(lowercase, sha1);
            let profile = profile.context("--lowercase and --sha1-hex need --profile password")?;
            let fpr = args.fpr.unwrap_or(profile.default_fpr());
            let least = f64::from(2_f32.powi(-32)) / include_fpr(profile, 1.0);
            ensure!(
                fpr >= least && fpr < 1.0,
                "--fpr must be a number of at least {} and below 1",
                rate(least)
            );
            let id = manifest::random_id()?;
            ensure!(args.name.as_ref().is_none_or(|name| name.len() <= 255), "--name has at most 255 bytes");
            State::new(id, args.name, profile, fpr, new_hashing(args.seed, secret.as_ref())?)
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

/// Make a key to sign with, and print the public key for those who follow the feed
#[derive(clap::Args)]
struct KeygenArgs {
    /// Where to write the secret key, in PKCS #8. There must be no file yet
    #[arg(short, long, value_name = "KEY")]
    output: PathBuf,
}

fn keygen(args: KeygenArgs, streams: &mut Streams) -> Result<Answer> {
    let mut secret_key = [0; 32];
    getrandom::fill(&mut secret_key)?;
    let public = manifest::public_key(&SigningKey::from_bytes(&secret_key).verifying_key());
    // Without the public key in it: OpenSSL 3.0 doesn't read a file with both.
    let pem = KeypairBytes { secret_key, public_key: None }.to_pkcs8_pem(LineEnding::LF);
    let pem = pem.map_err(|error| anyhow::anyhow!("{error}"))?;
    output::write_secret(&args.output, pem.as_bytes())?;
    streams.print_rows(&[("public key", public), ("wrote", args.output.display().to_string())])?;
    Ok(Answer::Yes)
}

pub fn read_key(path: &Path) -> Result<SigningKey> {
    let name = || path.display().to_string();
    let pem = fs::read_to_string(path).with_context(name)?;
    SigningKey::from_pkcs8_pem(&pem).ok().context("this is not an Ed25519 key in PKCS #8").with_context(name)
}

/// Publish the next generation
///
/// A list that hasn't changed writes nothing, unless the manifest expires soon.
#[derive(clap::Args)]
struct PublishArgs {
    /// The folder of the feed
    dir: PathBuf,
    /// Lists of keys, one a line
    #[arg(value_name = "LIST", default_value = "-")]
    lists: Vec<PathBuf>,
    /// The folder that `feed init` made
    #[arg(long, value_name = "DIR")]
    state: PathBuf,
    #[command(flatten)]
    keys: KeyArgs,
    /// Publish a feed without a signature that had one before
    #[arg(long, conflicts_with = "sign")]
    unsigned: bool,
    /// A list of keys that must never be false positives; can be repeated. Give the same lists each time
    #[arg(long, value_name = "LIST")]
    allow: Vec<PathBuf>,
    /// Leave out keys that are in both lists
    #[arg(long, requires = "allow")]
    allow_wins: bool,
    #[command(flatten)]
    omitted: keys::Omitted,
    /// How long clients may use this generation, such as 7d or 12h
    #[arg(long, value_name = "TIME", default_value = "7d", value_parser = humantime::parse_duration)]
    expires_in: Duration,
    /// How long files that are no longer needed stay, for those who fetch them just now
    #[arg(long, value_name = "TIME", default_value = "1d", value_parser = humantime::parse_duration)]
    grace: Duration,
    /// The time of publication, if not now, such as 2026-11-21T09:00:00Z
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_rfc3339_weak)]
    created_at: Option<SystemTime>,
    /// Publish even if no line of the lists is a key: it removes every key
    #[arg(long)]
    allow_empty: bool,
    #[command(flatten)]
    guard: GuardArgs,
    #[command(flatten)]
    secret: SecretArgs,
    /// Print what was done as JSON
    #[arg(long)]
    json: bool,
}

/// What a run did, for programs.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    feed_id: String,
    /// The generation in place, and whether this run made it.
    generation: u64,
    published: bool,
    count: u64,
    added: u64,
    removed: u64,
    /// The file that this run made.
    file: Option<File>,
    /// All files of the feed: their number and bytes.
    files: usize,
    byte_length: u64,
    /// In milliseconds since 1970.
    expires: u64,
}

fn publish(args: PublishArgs, streams: &mut Streams) -> Result<Answer> {
    lists::check_stdin(args.lists.iter().chain(&args.allow))?;
    let trust = args.keys.read_to_sign()?;
    let signs = !trust.signers.is_empty();
    let now = milliseconds(args.created_at.unwrap_or_else(SystemTime::now))?;
    let [expires_in, grace] =
        [args.expires_in, args.grace].map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
    ensure!(expires_in > 0, "--expires-in must be longer than that");
    let mut publisher = Publisher::open(&args.dir, &args.state, args.secret.read()?, trust, now)?;
    if publisher.is_signed()? && !signs && !args.unsigned {
        bail!("the feed was signed until now, and clients expect it; give --sign, or --unsigned");
    }
    if let Some(why) = publisher.strange.take() {
        streams.warn(&format!("not believed: {why:#}"));
    }

    let Read { members, allowed, lines, mut rows } = args.read(&publisher, streams)?;
    let next = Next::of(&publisher, members, allowed, lines)?;
    if let Err(refusal) = args.check(&next, &publisher) {
        // A list that is wrong for days is no reason for clients to lose the one that they have.
        match publisher.renew(next.into_allowed(), expires_in).with_context(|| format!("{refusal:#}"))? {
            Renewal::None => return Err(refusal),
            Renewal::NotYet => bail!("{refusal:#}; generation {} stays", publisher.state.generation),
            Renewal::Signed => {
                bail!(
                    "{refusal:#}; the old list was signed anew as generation {}",
                    publisher.state.generation
                )
            }
            Renewal::Unknown => {
                bail!("{refusal:#}; the state is an old copy, so no old list was signed anew")
            }
        }
    }
    let made = next.make(&publisher)?;
    let published = publisher.publish(&next, made.as_ref(), expires_in)?;
    publisher.prune(grace)?;

    let state = &publisher.state;
    let report = Report {
        feed_id: state.feed_id.clone(),
        generation: state.generation,
        published,
        count: next.count(),
        added: next.added,
        removed: next.removed.len() as u64,
        file: made.as_ref().map(|made| made.file.file.clone()),
        files: state.files.len(),
        byte_length: state.files.iter().map(|file| file.file.bytes).sum(),
        expires: publisher.expires(),
    };
    rows.extend(report.rows(made.and_then(|made| made.replaced)));
    super::unless_closed(if args.json { streams.print_json(&report) } else { streams.print_rows(&rows) })?;
    Ok(Answer::Yes)
}

/// What the lists hold.
struct Read {
    /// The digests of the members and of the allowed keys, sorted.
    members: Vec<u64>,
    allowed: Vec<u64>,
    /// How the members' lines were read.
    lines: Lines,
    /// What is to be said of the lists.
    rows: Vec<Row>,
}

impl PublishArgs {
    fn read(&self, publisher: &Publisher, streams: &mut Streams) -> Result<Read> {
        let (profile, hashing) = (publisher.state.profile()?, publisher.hashing()?);
        self.omitted.check(profile)?;
        let (mut members, met) = members(&self.lists, profile, hashing, &self.omitted, streams)?;
        sort(&mut members)?;
        let mut rows = vec![("read", format!("{} keys", grouped(members.len() as u64)) + &met.summary())];
        let mut allowed = Vec::new();
        if !self.allow.is_empty() {
            let words;
            (allowed, words) = allow(&self.allow, self.allow_wins, hashing, profile, &mut members, streams)?;
            sort(&mut members)?;
            sort(&mut allowed)?;
            rows.push(("allowed", words));
        }
        Ok(Read { members, allowed, lines: met.lines(), rows })
    }

    /// Fails for lists that are more likely an error than what is wanted.
    fn check(&self, next: &Next, publisher: &Publisher) -> Result<()> {
        match next.count() {
            0 if self.allow_empty => Ok(()),
            0 => bail!("the lists gave no key, so nothing was published; --allow-empty removes every key"),
            _ => self.guard.check(&next.change(publisher)?),
        }
    }
}

impl Report {
    /// The same for people. `because` is why there is a new base.
    fn rows(&self, because: Option<String>) -> Vec<Row> {
        let &Report { added, removed, files, byte_length, .. } = self;
        let mut rows =
            vec![("changes", format!("{} keys added, {} removed", grouped(added), grouped(removed)))];
        if let Some(File { kind, bytes, .. }) = &self.file {
            rows.push(("file", format!("{} of {} bytes", kind.in_words(), grouped(*bytes))));
        }
        rows.extend(because.map(|reason| ("because", reason)));
        let plural = if files == 1 { "" } else { "s" };
        rows.push(("feed", format!("{files} file{plural} of {} bytes together", grouped(byte_length))));
        let generation =
            format!("generation {}, which expires {}", self.generation, time_in_words(self.expires));
        rows.push(if self.published { ("wrote", generation) } else { ("unchanged", generation) });
        rows
    }
}

/// Read a feed as a client would, and describe it
///
/// Exits with 1 if the feed has expired.
#[derive(clap::Args)]
struct VerifyArgs {
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
struct Info {
    #[serde(flatten)]
    payload: Feed,
    /// Whether one of the keys has signed it; null without keys.
    verified: Option<bool>,
    expired: bool,
    byte_length: u64,
    keyed: bool,
    /// The rate of the whole stack, per key.
    estimated_fpr: f64,
    layers: usize,
}

fn verify(args: VerifyArgs, streams: &mut Streams) -> Result<Answer> {
    let name = || args.dir.join(Feed::FILE).display().to_string();
    let bytes =
        manifest::read_bytes::<Feed>(&args.dir)?.context("there is no such file").with_context(name)?;
    let manifest = Manifest::<Feed>::parse(&bytes).with_context(name)?;
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
    let info = Info {
        verified: (!args.public_key.is_empty()).then_some(true),
        expired: payload.head.expires <= milliseconds(SystemTime::now())?,
        byte_length: payload.files.iter().map(|file| file.bytes).sum(),
        keyed: blob.filter().hashing().is_keyed(),
        estimated_fpr: blob.filter().estimated_fpr(),
        layers: blob.filter().layers().len(),
        payload,
    };
    let answer = if info.expired { Answer::No } else { Answer::Yes };
    if args.json {
        streams.print_json(&info)?;
        return Ok(answer);
    }
    let Feed { head, files } = &info.payload;
    let Head { feed_id, name, generation, created_at, expires, fpr, count, .. } = head;
    let signature = match (info.verified, manifest.is_signed()) {
        (Some(_), _) => "by one of the given keys",
        (None, true) => "not checked: give --public-key",
        (None, false) => "none",
    };
    let per = if profile == Profile::Url { "URL" } else { "key" };
    let budget = profile.key_fpr(*fpr);
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
        ("budget", format!("{} per {per}, so {} per key", rate(*fpr), rate(budget))),
        ("fpr", format!("{} per key by the fill", rate(info.estimated_fpr))),
    ];
    streams.print_rows(&rows)?;
    Ok(answer)
}
