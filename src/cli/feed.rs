//! `feed`: a folder of files that keeps a filter up to date. docs/feeds.md.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result, bail, ensure};
use clap::Subcommand;
use ed25519_dalek::pkcs8::spki::der::pem::LineEnding;
use ed25519_dalek::pkcs8::{DecodePrivateKey, EncodePrivateKey, KeypairBytes};
use ed25519_dalek::{SigningKey, VerifyingKey};
use serde::Serialize;

use super::build::{Keys, Row, allow, members, milliseconds};
use super::inspect::time_in_words;
use super::manifest::{self, File, FileKind, Manifest, Payload};
use super::state::{Folder, Published, State, Unlisted};
use super::{Answer, Streams, grouped, keys, lists, output, rate};
use crate::digests::{sort, strangers};
use crate::{Blob, Delta, Kind, Profile, Stack, Update};

/// The most deltas over a base. Each makes a query a little slower.
const DELTAS: usize = 8;
/// The share of the false positives that the base may make. The includes of the deltas share the rest.
const BASE_SHARE: f64 = 0.8;
const MANIFEST: &str = "feed.json";

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
/// If the folder has a manifest already, the feed keeps its id, its description and its generations. Its next
/// generation has a new base.
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
    /// The seed of the hash, 0 to 2^64 - 1. Default 0
    #[arg(long)]
    seed: Option<u64>,
    /// A name for people, kept in the manifest
    #[arg(long)]
    name: Option<String>,
}

fn init(args: InitArgs, streams: &mut Streams) -> Result<Answer> {
    for folder in [&args.dir, &args.state] {
        fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    }
    if let (Ok(dir), Ok(state)) = (args.dir.canonicalize(), args.state.canonicalize()) {
        ensure!(!state.starts_with(dir), "the state must not lie in the folder that is served");
    }
    let folder = Folder::open(&args.state)?;
    ensure!(!folder.has_state()?, "{}: there is the state of a feed here already", args.state.display());
    let (lowercase, sha1) = (args.lowercase, args.sha1_hex);
    let state = match read_live(&args.dir)? {
        Some((_, live)) => {
            let given =
                [args.fpr.is_some(), args.profile.is_some(), args.seed.is_some(), args.name.is_some()];
            let dir = args.dir.display();
            ensure!(
                !given.contains(&true),
                "{dir}: there is a feed here already, which keeps what describes it"
            );
            let told = Profile::from_name(&live.profile, lowercase, sha1);
            let told = told.context("--lowercase and --sha1-hex go with the profile password")?;
            // The base knows, and the manifest doesn't, how passwords are compared.
            let base = read_files(&args.dir, live.files.iter().take(1));
            let profile = base.map_or(told, |base| base.profile());
            ensure!(
                profile == told || !(lowercase || sha1),
                "{dir}: the passwords of this feed are compared in another way than --lowercase or --sha1-hex says"
            );
            let mut state = State::new(live.feed_id, live.name, profile, live.fpr, live.seed.parse()?);
            state.generation = live.generation;
            state
        }
        None => {
            let profile = args.profile.unwrap_or(Keys::Raw).with(lowercase, sha1);
            let profile = profile.context("--lowercase and --sha1-hex need --profile password")?;
            let fpr = args.fpr.unwrap_or(profile.default_fpr());
            let least = f64::from(2_f32.powi(-32)) / include_fpr(profile, 1.0);
            ensure!(
                fpr >= least && fpr < 1.0,
                "--fpr must be a number of at least {} and below 1",
                rate(least)
            );
            let mut id = [0; 16];
            getrandom::fill(&mut id)?;
            let id = id.iter().map(|byte| format!("{byte:02x}")).collect();
            ensure!(args.name.as_ref().is_none_or(|name| name.len() <= 255), "--name has at most 255 bytes");
            State::new(id, args.name, profile, fpr, args.seed.unwrap_or(0))
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

fn read_key(path: &Path) -> Result<SigningKey> {
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
    /// Lists of keys, one a line; standard input if none
    #[arg(value_name = "LIST")]
    lists: Vec<PathBuf>,
    /// The folder that `feed init` made
    #[arg(long, value_name = "DIR")]
    state: PathBuf,
    /// A secret key to sign with; can be repeated
    #[arg(long, value_name = "KEY")]
    sign: Vec<PathBuf>,
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
    let stdin = [PathBuf::from("-")];
    let paths = if args.lists.is_empty() { &stdin[..] } else { &args.lists };
    lists::check_stdin(paths.iter().chain(&args.allow))?;
    let signers = args.sign.iter().map(|path| read_key(path)).collect::<Result<Vec<_>>>()?;
    let now = milliseconds(args.created_at.unwrap_or_else(SystemTime::now))?;
    let [expires_in, grace] =
        [args.expires_in, args.grace].map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
    ensure!(expires_in > 0, "--expires-in must be longer than that");

    let folder = Folder::open(&args.state)?;
    let mut state = folder.load()?;
    let live = read_live(&args.dir)?;
    if let Some((_, live)) = &live {
        let dir = args.dir.display();
        ensure!(live.feed_id == state.feed_id, "{dir}: this is another feed than that of the state");
    }

    // A state that was lost knows no manifest, but the folder has one.
    let is_signed = |text: &String| Manifest::parse(text).is_ok_and(|manifest| manifest.is_signed());
    let was_signed = is_signed(&state.manifest) || live.as_ref().is_some_and(|(text, _)| is_signed(text));
    if was_signed && signers.is_empty() && !args.unsigned {
        bail!("the feed was signed until now, and clients expect it; give --sign, or --unsigned");
    }
    let (profile, seed) = (state.profile()?, state.seed()?);
    args.omitted.check(profile)?;
    let (mut members, met) = members(paths, profile, seed, &args.omitted, streams)?;
    sort(&mut members)?;
    let mut rows = vec![("read", format!("{} keys", grouped(members.len() as u64)) + &met.summary())];
    let mut allowed = Vec::new();
    if !args.allow.is_empty() {
        let words;
        (allowed, words) = allow(&args.allow, args.allow_wins, seed, profile, &mut members, streams)?;
        sort(&mut members)?;
        sort(&mut allowed)?;
        rows.push(("allowed", words));
    }
    if members.is_empty() && !args.allow_empty {
        bail!("the lists gave no key, so nothing was published; --allow-empty removes every key");
    }

    let next = Next::of(&state, &folder, &args.dir, members, allowed)?;
    let (added, removed) = (next.added, next.removed.len() as u64);
    rows.push(("changes", format!("{} keys added, {} removed", grouped(added), grouped(removed))));
    let count = next.members.len() as u64;
    let made = next.make(&state, &folder, &args.dir)?;
    let is_live = live.as_ref().is_some_and(|(text, _)| *text == state.manifest);
    let before = state.digests();
    if let Some(Made { keep, file, bytes, replaced }) = &made {
        rows.push((
            "file",
            format!("{} of {} bytes", file.file.kind.in_words(), grouped(bytes.len() as u64)),
        ));
        if let Some(replaced) = replaced {
            rows.push(("because", replaced.clone()));
        }
        // If the run ends here, a later one deletes the file.
        state.unlisted.push(Unlisted { sha256: file.file.sha256.clone(), since: now });
        folder.save(&state)?;
        output::write(&args.dir.join(&file.file.sha256), bytes, || Ok(()))?;
        let mut file = file.clone();
        if file.file.kind == FileKind::Delta {
            let removed = next.all_removed(&state, &folder, *keep)?;
            file.removed = Some(folder.write(format!("removed-{}", &file.file.sha256[..16]), &removed)?);
        }
        for dropped in state.files.drain(keep..) {
            state.unlisted.push(Unlisted { sha256: dropped.file.sha256, since: now });
        }
        state.files.push(file);
    }
    if !is_live && let Some((_, live)) = &live {
        // A state that was lost, or a newer one than this, published these.
        state.unlisted.retain(|unlisted| live.files.iter().all(|file| file.sha256 != unlisted.sha256));
        let files = live.files.iter().map(|file| file.sha256.clone());
        state.unlisted.extend(files.map(|sha256| Unlisted { sha256, since: now }));
    }
    let listed = |sha256: &String| state.files.iter().any(|file| file.file.sha256 == *sha256);
    state.unlisted.retain(|unlisted| !listed(&unlisted.sha256));
    let is_fresh = live.as_ref().is_some_and(|(text, live)| {
        let left = live.expires.saturating_sub(now);
        // It may last too long, if --expires-in is shorter now or the clock was wrong.
        (expires_in / 2 + 1..=expires_in).contains(&left)
            && Manifest::parse(text).is_ok_and(|manifest| manifest.has_signers(&signers))
    });
    let published = made.is_some() || !is_live || !is_fresh;
    let mut expires = live.as_ref().map_or(0, |(_, live)| live.expires);
    if published {
        expires = now.saturating_add(expires_in);
        let generation = state.generation.max(live.as_ref().map_or(0, |(_, live)| live.generation)) + 1;
        let payload = Payload {
            version: manifest::VERSION,
            feed_id: state.feed_id.clone(),
            name: state.name.clone(),
            generation,
            created_at: now,
            expires,
            profile: profile.name().to_owned(),
            fpr: state.fpr,
            seed: seed.to_string(),
            count,
            files: state.files.iter().map(|file| file.file.clone()).collect(),
        };
        state.manifest = Manifest::sign(&payload, &signers)?.text()?;
        state.generation = generation;
        if added + removed > 0 || state.members.is_none() {
            state.members = Some(folder.write(format!("members-{generation}"), &next.members)?);
        }
        folder.save(&state)?;
        output::write(&args.dir.join(MANIFEST), state.manifest.as_bytes(), || Ok(()))?;
    }
    // From here on everything is published, and what is left over only takes room.
    for digests in before.iter().filter(|digests| !state.digests().contains(digests)) {
        folder.remove(digests);
    }
    let pruned = prune(&mut state, &args.dir, now, grace);
    if pruned {
        folder.save(&state)?;
    }

    let byte_length = state.files.iter().map(|file| file.file.bytes).sum();
    let report = Report {
        feed_id: state.feed_id.clone(),
        generation: state.generation,
        published,
        count,
        added,
        removed,
        file: made.map(|made| made.file.file),
        files: state.files.len(),
        byte_length,
        expires,
    };
    let files = state.files.len();
    let plural = if files == 1 { "" } else { "s" };
    rows.push(("feed", format!("{files} file{plural} of {} bytes together", grouped(byte_length))));
    let generation = format!("generation {}, which expires {}", state.generation, time_in_words(expires));
    rows.push(if published { ("wrote", generation) } else { ("unchanged", generation) });
    super::unless_closed(if args.json { streams.print_json(&report) } else { streams.print_rows(&rows) })?;
    Ok(Answer::Yes)
}

/// Deletes the files that were unlisted for long enough. Returns whether there were any.
fn prune(state: &mut State, dir: &Path, now: u64, grace: u64) -> bool {
    let before = state.unlisted.len();
    state.unlisted.retain(|Unlisted { sha256, since }| {
        let gone = now >= since.saturating_add(grace)
            && fs::remove_file(dir.join(sha256))
                .map_or_else(|error| error.kind() == io::ErrorKind::NotFound, |()| true);
        !gone
    });
    state.unlisted.len() < before
}

/// What the next generation holds.
struct Next {
    members: Vec<u64>,
    allowed: Vec<u64>,
    added: u64,
    /// Members of the last generation that are none any more.
    removed: Vec<u64>,
    /// Why nothing that was published can be used.
    unusable: Option<String>,
}

/// A new file, which takes the place of all files from the one with the number `keep` on.
struct Made {
    keep: usize,
    file: Published,
    bytes: Vec<u8>,
    /// Why it is a new base, if it is one.
    replaced: Option<String>,
}

impl Next {
    fn of(state: &State, folder: &Folder, dir: &Path, members: Vec<u64>, allowed: Vec<u64>) -> Result<Self> {
        let mut next = Next { members, allowed, added: 0, removed: Vec::new(), unusable: None };
        let old = match &state.members {
            Some(old) => folder.read(old),
            None => Ok(Vec::new()),
        };
        let old = old.unwrap_or_else(|error| {
            next.unusable = Some(format!("{error:#}"));
            Vec::new()
        });
        next.removed = strangers(&old, &next.members, &|_| true)?;
        next.added = (next.members.len() - (old.len() - next.removed.len())) as u64;
        for Published { file, .. } in &state.files {
            if let Err(error) = read_file(dir, file) {
                next.unusable = Some(format!("{error:#}"));
            }
        }
        if state.files.is_empty() {
            next.unusable = Some("it is the first".to_owned());
        }
        Ok(next)
    }

    /// The file that the next generation needs; none if nothing has changed.
    fn make(&self, state: &State, folder: &Folder, dir: &Path) -> Result<Option<Made>> {
        if let Some(reason) = &self.unusable {
            return self.base(state, reason.clone()).map(Some);
        }
        let changes = self.added + self.removed.len() as u64;
        if changes == 0 && !self.has_new_allowed(state, dir)? {
            return Ok(None);
        }
        // Deltas that are together as large as the one before them are merged with it. So there is one for each power
        // of two, and a key is published again only as often.
        let (mut keep, mut total) = (state.files.len(), changes);
        while keep > 1 && (state.files[keep - 1].changes <= total || keep > DELTAS) {
            keep -= 1;
            total += state.files[keep].changes;
        }
        let delta = match self.delta(state, folder, dir, keep) {
            Ok(delta) => delta,
            Err(error) if error.is::<Unusable>() => {
                return self.base(state, format!("{:#}", error.root_cause())).map(Some);
            }
            Err(error) => return Err(error),
        };
        let file = Published { file: File::new(FileKind::Delta, &delta), changes: total, removed: None };
        let deltas = state.files[1..keep].iter().map(|file| file.file.bytes).sum::<u64>() + file.file.bytes;
        if deltas > state.files[0].file.bytes / 2 {
            return self.base(state, "the deltas weigh more than half of the base".to_owned()).map(Some);
        }
        Ok(Some(Made { keep, file, bytes: delta, replaced: None }))
    }

    fn base(&self, state: &State, reason: String) -> Result<Made> {
        let (profile, seed) = (state.profile()?, state.seed()?);
        let fpr = profile.key_fpr(state.fpr) * BASE_SHARE;
        let allowed = (!self.allowed.is_empty()).then_some(&self.allowed[..]);
        let stack = Stack::build(Kind::Ribbon.into(), &mut self.members.clone(), allowed, fpr, seed)?;
        let mut blob = Blob::new(profile, stack);
        blob.describe(state.name.clone(), None)?;
        let bytes = blob.encode()?;
        let file = Published { file: File::new(FileKind::Base, &bytes), changes: 0, removed: None };
        Ok(Made { keep: 0, file, bytes, replaced: Some(reason) })
    }

    fn delta(&self, state: &State, folder: &Folder, dir: &Path, keep: usize) -> Result<Vec<u8>> {
        let parent = read_files(dir, state.files[..keep].iter().map(|file| &file.file)).context(Unusable)?;
        let removed = self.all_removed(state, folder, keep).context(Unusable)?;
        let mut child = parent.try_clone()?;
        let fpr = include_fpr(state.profile()?, state.fpr);
        child.filter_mut().update(Update {
            live: &self.members,
            removed: &removed,
            allowed: &self.allowed,
            fpr,
        })?;
        child.describe(state.name.clone(), None)?;
        Ok(Delta::between(&parent, &child)?.encode()?)
    }

    /// The keys that were removed since the file before the one with the number `keep`.
    fn all_removed(&self, state: &State, folder: &Folder, keep: usize) -> Result<Vec<u64>> {
        let mut removed = self.removed.clone();
        for digests in state.files[keep..].iter().filter_map(|file| file.removed.as_ref()) {
            removed.extend(folder.read(digests)?);
        }
        sort(&mut removed)?;
        Ok(strangers(&removed, &self.members, &|_| true)?)
    }

    /// Whether a key that must be absent isn't.
    fn has_new_allowed(&self, state: &State, dir: &Path) -> Result<bool> {
        if self.allowed.is_empty() {
            return Ok(false);
        }
        let blob = read_files(dir, state.files.iter().map(|file| &file.file))?;
        let hits = |digest| blob.filter().has_digest(digest);
        Ok(!strangers(&self.allowed, &self.members, &hits)?.is_empty())
    }
}

/// What was published can't be gone on from.
#[derive(Debug)]
struct Unusable;

impl std::fmt::Display for Unusable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("what was published can't be read")
    }
}

impl FileKind {
    fn in_words(self) -> &'static str {
        match self {
            FileKind::Base => "a new base",
            FileKind::Delta => "a delta",
        }
    }
}

/// The rate of a delta's include.
fn include_fpr(profile: Profile, fpr: f64) -> f64 {
    profile.key_fpr(fpr) * (1.0 - BASE_SHARE) / DELTAS as f64
}

/// The manifest in a folder, and its payload.
fn read_live(dir: &Path) -> Result<Option<(String, Payload)>> {
    let path = dir.join(MANIFEST);
    let name = || path.display().to_string();
    match fs::read_to_string(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        text => {
            let text = text.with_context(name)?;
            let payload =
                Manifest::parse(&text).and_then(|manifest| manifest.payload()).with_context(name)?;
            Ok(Some((text, payload)))
        }
    }
}

/// The bytes of a file that is as it was published.
fn read_file(dir: &Path, file: &File) -> Result<Vec<u8>> {
    let path = dir.join(&file.sha256);
    let bytes = fs::read(&path).with_context(|| path.display().to_string())?;
    if File::new(file.kind, &bytes) != *file {
        bail!("{} is damaged: it doesn't have the hash that is its name", path.display());
    }
    Ok(bytes)
}

/// The filter that files make, the base first.
fn read_files<'a>(dir: &Path, files: impl Iterator<Item = &'a File>) -> Result<Blob> {
    let mut blob = None;
    for file in files {
        let name = || dir.join(&file.sha256).display().to_string();
        let bytes = read_file(dir, file)?;
        blob = Some(match blob {
            None => Blob::decode(bytes).with_context(name)?,
            Some(blob) => Blob::apply(&blob, Delta::decode(bytes).with_context(name)?).with_context(name)?,
        });
    }
    blob.context("there is no base")
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
    /// Print the description as JSON
    #[arg(long)]
    json: bool,
}

/// A description of a feed, for programs.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Info {
    #[serde(flatten)]
    payload: Payload,
    /// Whether one of the keys has signed it; null without keys.
    verified: Option<bool>,
    expired: bool,
    byte_length: u64,
    /// The rate of the whole stack, per key.
    estimated_fpr: f64,
    layers: usize,
}

fn verify(args: VerifyArgs, streams: &mut Streams) -> Result<Answer> {
    let path = args.dir.join(MANIFEST);
    let name = || path.display().to_string();
    let manifest = fs::read_to_string(&path).map_err(Into::into).and_then(|text| Manifest::parse(&text));
    let manifest = manifest.with_context(name)?;
    if !args.public_key.is_empty() && !args.public_key.iter().any(|key| manifest.is_signed_by(key)) {
        bail!("{}: none of these keys has signed it", name());
    }
    let payload = manifest.payload().with_context(name)?;
    let blob = read_files(&args.dir, payload.files.iter())?;
    let profile = blob.profile();
    let fits = profile.name() == payload.profile && blob.filter().seed().to_string() == payload.seed;
    ensure!(fits, "{}: its files have another profile or seed", name());
    let info = Info {
        verified: (!args.public_key.is_empty()).then_some(true),
        expired: payload.expires <= milliseconds(SystemTime::now())?,
        byte_length: payload.files.iter().map(|file| file.bytes).sum(),
        estimated_fpr: blob.filter().estimated_fpr(),
        layers: blob.filter().layers().len(),
        payload,
    };
    let answer = if info.expired { Answer::No } else { Answer::Yes };
    if args.json {
        streams.print_json(&info)?;
        return Ok(answer);
    }
    let Payload { feed_id, name, generation, created_at, expires, fpr, count, files, .. } = &info.payload;
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
