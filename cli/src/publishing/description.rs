//! What a feed is, and how it is published: said once, by the run that begins it, and then remembered by its state.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use bloom_wasm::hash::Secret;
use bloom_wasm::layers::Stack;
use bloom_wasm::shards::Sharding;
use bloom_wasm::slots::{LOWEST, LOWEST_URL};
use bloom_wasm::{Kind, Profile};

use super::feed::include_fpr;
use super::manifest::{self, FeedPayload, Head, Identity, Manifest, ManifestPayload, People, ShardsPayload};
use super::state::{NO_STATE, Settings, State, StateFolder};
use super::trust::{self, Live, Trust};
use crate::args::number::{parse_fpr, whole_milliseconds};
use crate::args::profile::{PasswordArgs, ProfileArg};
use crate::args::secret::new_hashing;
use crate::args::tags::{TagArgs, TagList, WithoutArgs};
use crate::files::read::name;
use crate::files::write::is_same;
use crate::random;
use crate::text::rate;

/// What a feed is.
#[derive(clap::Args)]
#[command(next_help_heading = "What the feed is: given once, and remembered")]
pub struct DescriptionArgs {
    /// What the keys are. Required to begin a feed, or to continue one whose state was lost
    #[arg(long, value_enum)]
    profile: Option<ProfileArg>,
    #[command(flatten)]
    password: PasswordArgs,
    /// The false-positive rate: per check with --profile url, otherwise per key. Give 1e-6 to block a page, 1e-3 to warn
    /// or to ask the full list. Default 1e-3, or 1e-4 with --profile password. The base and all deltas share it
    #[arg(long, allow_negative_numbers = true, value_parser = parse_fpr)]
    fpr: Option<f64>,
    /// The seed of the hash, 0 to 2^64 - 1. Default 0, or random with --secret-file
    #[arg(long)]
    seed: Option<u64>,
    /// A human-readable name, stored in the manifest
    #[arg(long)]
    name: Option<String>,
    /// For a list too large to download: split it into N parts, a power of two up to 65536, of which a client fetches
    /// only those that it needs
    #[arg(long, value_name = "N")]
    shards: Option<u32>,
}

impl DescriptionArgs {
    /// Whether this run may begin a feed.
    pub fn begins(&self) -> bool {
        self.profile.is_some()
    }

    /// The state in the folder, or that of a new feed.
    pub fn state(
        &self,
        folder: &StateFolder,
        dir: &Path,
        state: &Path,
        trust: &Trust,
        secret: Option<&Secret>,
    ) -> Result<State> {
        let known = folder.load()?;
        match known {
            // Nothing was published, so nobody relies on what an earlier run said.
            Some(known) if known.manifest.is_empty() && self.begins() => {
                let mut state = self.begin(known.identity.feed_id, secret)?;
                state.unlisted = known.unlisted;
                // Whoever saw a manifest that was signed but never stayed must not see its number again.
                state.signed = known.signed;
                Ok(state)
            }
            Some(known) => Ok(known),
            None => {
                ensure!(self.begins(), "{}: {NO_STATE}", state.display());
                self.recover(dir, trust, secret)
            }
        }
    }

    /// Continues the feed in the folder, if there is one, or begins a new one.
    fn recover(&self, dir: &Path, trust: &Trust, secret: Option<&Secret>) -> Result<State> {
        let of_feed = self.live::<FeedPayload>(dir, trust, secret, |_| None);
        if let Some(state) = of_feed.with_context(|| dir.join(FeedPayload::FILE).display().to_string())? {
            return Ok(state);
        }
        let of_shards = self.live::<ShardsPayload>(dir, trust, secret, |live| Some(live.shards));
        if let Some(state) = of_shards.with_context(|| dir.join(ShardsPayload::FILE).display().to_string())? {
            return Ok(state);
        }
        // Clients follow the feedId of the manifest, so they would refuse another feed.
        ensure!(
            !has_files(dir)?,
            "{}: there are files of a feed here, but neither its manifest nor its state: put one of them back, or \
             begin in an empty folder",
            dir.display()
        );
        self.begin(random::id()?, secret)
    }

    /// The state of a feed whose state was lost.
    fn live<P: ManifestPayload>(
        &self,
        dir: &Path,
        trust: &Trust,
        secret: Option<&Secret>,
        shards: impl Fn(&P) -> Option<u32>,
    ) -> Result<Option<State>> {
        let (text, live) = match trust.judge::<P>(manifest::read_bytes::<P>(dir), None)? {
            Live::Believed(text, live) => (text, live),
            Live::None => return Ok(None),
            Live::Untrusted(why) => return Err(why),
        };
        let Head { identity, generation, .. } = live.head();
        // Fails for another secret.
        identity.hashing(secret)?;
        let mut state = State::new(identity.clone(), shards(&live));
        self.require_same(&state)?;
        state.signed = trust::least_generation()?.max(*generation);
        state.follow(&Manifest::<P>::parse(text.as_bytes())?);
        state.manifest = text;
        state.is_recovered = true;
        Ok(Some(state))
    }

    /// The state of a new feed.
    fn begin(&self, feed_id: String, secret: Option<&Secret>) -> Result<State> {
        let profile = self.profile()?.context("--profile is missing")?;
        let fpr = self.fpr.unwrap_or(profile.default_fpr());
        let hashing = new_hashing(self.seed, secret)?.for_filter(profile, Kind::Ribbon);
        if let Some(shards) = self.shards {
            Sharding::new(profile, hashing, shards).context("--shards")?;
            // Reports what is impossible before hours of reading.
            Stack::build(Kind::Ribbon.into(), &mut Vec::new(), None, fpr, hashing).context("--fpr")?;
        } else {
            let lowest = if profile == Profile::Url { LOWEST_URL } else { LOWEST };
            let least = lowest / include_fpr(1.0);
            ensure!(
                fpr >= least && fpr < 1.0,
                "--fpr must be a number of at least {} and below 1",
                rate(least)
            );
        }
        self.name
            .as_ref()
            .map_or(Ok(()), |name| bloom_wasm::internal::require_name(name))
            .context("--name")?;
        let people = People { name: self.name.clone(), ..People::default() };
        Ok(State::new(Identity::new(feed_id, people, profile, fpr, &hashing), self.shards))
    }

    /// What the keys are, if that is said.
    fn profile(&self) -> Result<Option<Profile>> {
        self.profile.map(|profile| self.password.of(profile)).transpose()
    }

    /// Fails for options that contradict the state: clients rely on what they say.
    pub fn require_same(&self, state: &State) -> Result<()> {
        let has = |option: &str, is: String| {
            format!("--{option}: the feed has {is}; begin another feed to change that")
        };
        let Identity { people: People { name, .. }, fpr, seed, .. } = &state.identity;
        let profile = state.identity.profile()?;
        if let Some(given) = self.profile()? {
            ensure!(given == profile, "{}", has("profile", in_options(profile)));
        }
        let (lowercase, sha1) = profile.password();
        ensure!(!self.password.lowercase || lowercase, "{}", has("lowercase", in_options(profile)));
        ensure!(!self.password.sha1 || sha1, "{}", has("sha1", in_options(profile)));
        ensure!(self.fpr.is_none_or(|given| given == *fpr), "{}", has("fpr", fpr.to_string()));
        ensure!(self.seed.is_none_or(|given| given.to_string() == *seed), "{}", has("seed", seed.clone()));
        let quoted = name.as_ref().map_or("none".to_owned(), |name| format!("\"{name}\""));
        ensure!(self.name.is_none() || self.name == *name, "{}", has("name", quoted));
        let shards = state.shards.map_or("none".to_owned(), |shards| shards.to_string());
        ensure!(self.shards.is_none() || self.shards == state.shards, "{}", has("shards", shards));
        Ok(())
    }
}

/// A profile as it is given.
fn in_options(profile: Profile) -> String {
    let (lowercase, sha1) = profile.password();
    let and = |is, option| if is { option } else { "" };
    format!("--profile {}{}{}", profile.name(), and(lowercase, " --lowercase"), and(sha1, " --sha1"))
}

/// Whether a folder has files of a feed: those that are named by a hash.
fn has_files(dir: &Path) -> Result<bool> {
    let name = || dir.display().to_string();
    for entry in fs::read_dir(dir).with_context(name)? {
        let entry = entry.with_context(name)?;
        if entry.file_name().to_str().is_some_and(|name| manifest::unhex(name).is_some()) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// How a feed is published. What isn't given is as it was before.
#[derive(clap::Args)]
#[command(next_help_heading = "How it is published: remembered, and changed by giving it again")]
pub struct SettingsArgs {
    /// A list of keys that must never be false positives; can be repeated
    #[arg(long, value_name = "LIST")]
    pub allow: Vec<PathBuf>,
    /// Leave out keys that are in both lists
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    allow_wins: Option<bool>,
    /// Keep bare public suffixes, such as co.uk and github.io, with --profile url
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    allow_suffixes: Option<bool>,
    /// Leave out passwords with fewer characters, with --profile password
    #[arg(long, value_name = "N")]
    min_length: Option<u64>,
    /// Leave out hashes with a lower count, with --sha1
    #[arg(long, value_name = "N")]
    min_count: Option<u64>,
    /// How long clients may use a generation, such as 7d or 12h. Default 7d
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    expires_in: Option<Duration>,
    /// How long files that are no longer needed stay, for clients that are still fetching them. Default 1d
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    grace: Option<Duration>,
    /// A remembered allowlist to drop; can be repeated
    #[arg(long, value_name = "LIST")]
    without_allow: Vec<PathBuf>,
}

/// The current folder.
fn here() -> Result<PathBuf> {
    env::current_dir().context("the current folder")
}

/// Whether an allowlist is given with the same path, or for the same file, also if that is gone.
fn is_again(before: &Settings, here: &Path, old: &Path, given: &Path) -> bool {
    let (before, now) = (before.allow_from.join(old), here.join(given));
    old == given || before.components().eq(now.components()) || is_same(&before, &now)
}

impl SettingsArgs {
    /// The names of the allowlists that this run drops.
    pub fn dropped(&self, before: &Settings) -> Result<Vec<String>> {
        let here = here()?;
        let is_dropped =
            |old: &&PathBuf| self.without_allow.iter().any(|list| is_again(before, &here, old, list));
        Ok(before.allow.iter().filter(is_dropped).map(|old| name(old)).collect())
    }

    /// The settings of this run.
    pub fn after(&self, before: &Settings, profile: Profile, now: u64) -> Result<Settings> {
        let here = here()?;
        let is_again = |old: &Path, given: &Path| is_again(before, &here, old, given);
        for list in &self.without_allow {
            let name = list.display();
            let is_known = before.allow.iter().any(|old| is_again(old, list));
            ensure!(is_known, "--without-allow {name}: the feed has no such allowlist");
            let is_given = self.allow.iter().any(|given| given == list || is_same(given, list));
            ensure!(!is_given, "--allow and --without-allow name the same list, {name}");
        }
        let mut allow = Vec::new();
        for old in &before.allow {
            if self.without_allow.iter().any(|list| is_again(old, list)) {
                continue;
            }
            // In another folder, the path may lead to another list, or to none.
            let is_same_place = old.is_absolute() || before.allow_from == here;
            let given = self.allow.iter().find(|given| is_again(old, given));
            let (name, folder) = (old.display(), before.allow_from.display());
            let list = Some(old).filter(|_| is_same_place).or(given).with_context(|| {
                format!("--allow {name}: it was given in {folder}; give it again, or drop it with --without-allow {name}")
            })?;
            allow.push(list.clone());
        }
        for list in &self.allow {
            // The next run couldn't read it.
            let is_descriptor =
                ["-", "/dev/stdin", "/dev/fd", "/proc"].iter().any(|path| list.starts_with(path));
            let is_stream = is_descriptor || fs::metadata(list).is_ok_and(|there| !there.is_file());
            let name = list.display();
            ensure!(!is_stream, "--allow {name}: each run reads this list, so it must be a file");
            let is_text = list.to_str().and(here.to_str()).is_some();
            ensure!(is_text, "--allow {name}: its path is remembered, so it must be UTF-8");
            if !allow.iter().any(|other| other == list || is_same(other, list)) {
                allow.push(list.clone());
            }
        }
        let settings = Settings {
            // Without an allowlist, nothing can win.
            allow_wins: self.allow_wins.unwrap_or(before.allow_wins && !allow.is_empty()),
            allow_from: if allow.is_empty() { PathBuf::new() } else { here },
            allow,
            allow_suffixes: self.allow_suffixes.unwrap_or(before.allow_suffixes),
            min_length: self.min_length.unwrap_or(before.min_length),
            min_count: self.min_count.unwrap_or(before.min_count),
            expires_in: self.expires_in.map_or(before.expires_in, whole_milliseconds),
            grace: self.grace.map_or(before.grace, whole_milliseconds),
        };
        ensure!(settings.expires_in > 0, "--expires-in must be at least 1ms");
        manifest::check_expiry(now.saturating_add(settings.expires_in)).context("--expires-in")?;
        ensure!(
            !settings.allow_wins || !settings.allow.is_empty(),
            "--allow-wins needs --allow; --allow-wins=false turns it off"
        );
        settings.omitted().check(profile)?;
        Ok(settings)
    }
}

/// Gives each list the tags that it had in the last generation, by its path, except for those that are dropped.
pub fn with_known_tags(
    lists: &[PathBuf],
    mut tags: TagArgs,
    without: &WithoutArgs,
    state: &State,
) -> (Vec<PathBuf>, TagArgs) {
    let mut untagged = Vec::new();
    for list in lists {
        let known = &state.lists.members;
        let is_named = known.iter().any(|known| known.name == name(list));
        // A path may be written in another way than last time.
        let its = known.iter().filter(|known| match is_named {
            true => known.name == name(list),
            false => is_same(Path::new(&known.name), list),
        });
        let before = tags.tags.len();
        for name in its.filter_map(|known| known.tag.clone()) {
            let is_given = (tags.tags.iter())
                .any(|tag| tag.name == name && (tag.list == *list || is_same(&tag.list, list)));
            if !is_given && !without.gives_up(&name) {
                tags.tags.push(TagList { name, list: list.clone() });
            }
        }
        if tags.tags.len() == before {
            untagged.push(list.clone());
        }
    }
    (untagged, tags)
}
