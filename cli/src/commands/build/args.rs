//! The arguments of `build`.

use std::path::PathBuf;
use std::time::SystemTime;

use anyhow::{Result, bail};
use bloom_wasm::Profile;
use clap::builder::ArgPredicate;

use crate::args::foreign::{Choice, parse_choice};
use crate::args::kind::{AnyKind, parse_kind};
use crate::args::number::{parse_fpr, parse_time};
use crate::args::omitted::Omitted;
use crate::args::profile::{PasswordArgs, ProfileArg};
use crate::args::secret::SecretArgs;
use crate::args::tags::TagArgs;
use crate::lists::keys::Summary;
use crate::streams::Streams;

/// Pack lists of keys into one blob
///
/// Keys are read as a stream. Each takes 8 bytes of memory, however long it is; with --profile url a host takes about 20,
/// and a page 75. Repeated keys count once. Lines that can't be keys are counted, and the first ten are shown.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  bloom-wasm build urls.txt --profile url --fpr 1e-6 -o urls.bloom
  bloom-wasm build --profile password --lowercase -o passwords.bloom < passwords.txt")]
pub struct BuildArgs {
    /// Lists of keys, one per line
    #[arg(value_name = "LIST", default_value = "-", default_value_if("tags", ArgPredicate::IsPresent, None))]
    pub lists: Vec<PathBuf>,
    #[command(flatten)]
    pub tags: TagArgs,
    /// Where to write the blob; - for standard output. An existing file is replaced atomically and keeps its mode
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// The kind of filter: one of our own, or other software's
    #[arg(long, value_parser = parse_kind(), default_value = "ribbon")]
    pub kind: AnyKind,
    /// An option of the other software's filter; can be repeated
    ///
    /// go-bloom: layout=binary (default) or json
    /// guava: funnel=utf8 (default), unencoded-chars, bytes, int or long;
    ///   layout=mitz-64 (default) or mitz-32
    /// spark: keys=string (default), bytes or long; layout=v1 (default) or v2; seed=N, with v2
    /// redisbloom: expansion=N, the growth from link to link: 2 (default), or 0, which never grows
    /// go-bloom, guava, spark, redis-bitmap: bits=N and hashes=N, to set the size yourself
    #[arg(long = "option", value_name = "NAME=VALUE", value_parser = parse_choice, verbatim_doc_comment)]
    pub options: Vec<Choice>,
    /// Size the filter for N keys, however many the lists have. Filters of parts of a list, all sized for the same N,
    /// can be merged, except those of --kind cuckoo. With --kind bloom, counting, cuckoo and other software's
    #[arg(long, value_name = "N")]
    pub capacity: Option<u64>,
    /// Bits per counter, with --kind counting: 4 or 8
    #[arg(long, default_value = "4", value_parser = ["4", "8"])]
    pub counter_bits: String,
    /// The false-positive rate, above 0 and below 1: per check with --profile url, otherwise per key. Give 1e-6 to block
    /// a page or to skip it for good, 1e-3 to warn, 1e-2 to ask the full list or a database after a "maybe". Default
    /// 1e-3, or 1e-4 with --profile password
    #[arg(long, allow_negative_numbers = true, value_parser = parse_fpr)]
    pub fpr: Option<f64>,
    /// What the keys are. Default raw
    #[arg(long, value_enum)]
    profile: Option<ProfileArg>,
    #[command(flatten)]
    password: PasswordArgs,
    #[command(flatten)]
    pub omitted: Omitted,
    /// A list of keys that must never be false positives; can be repeated. A URL counts as all of its keys. The filter is
    /// then read-only, and can't be merged
    #[arg(long, value_name = "LIST")]
    pub allow: Vec<PathBuf>,
    /// Remove a key that is listed and allowed; otherwise it stays and is shown. A URL removes only its own key, not those
    /// of its parents
    #[arg(long, requires = "allow")]
    pub allow_wins: bool,
    /// The seed of the hash, 0 to 2^64 - 1. Default 0, or random with --secret-file. With our own kinds
    #[arg(long)]
    pub seed: Option<u64>,
    #[command(flatten)]
    pub secret: SecretArgs,
    /// A human-readable name, stored in the blob
    #[arg(long)]
    pub name: Option<String>,
    /// When the list was made, such as 2026-11-21T09:00:00Z, stored in the blob
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub created_at: Option<SystemTime>,
    /// Accept lists that are empty or have only comments, and build a filter without keys. Implied by --capacity
    #[arg(long)]
    pub allow_empty: bool,
    /// Print the description of the blob as JSON
    #[arg(long)]
    pub json: bool,
}

impl BuildArgs {
    /// Whether a list may be empty.
    fn may_be_empty(&self) -> bool {
        self.allow_empty || self.capacity.is_some()
    }

    /// Refuses lists that are more likely failed downloads.
    pub fn require_lists(&self, summary: &Summary) -> Result<()> {
        summary.require_lists(self.may_be_empty())
    }

    /// Refuses to build a filter without keys.
    pub fn require_keys(&self, keys: u64) -> Result<()> {
        if keys == 0 && !self.may_be_empty() {
            bail!("no key is left, so nothing was written; --allow-empty makes a filter without keys");
        }
        Ok(())
    }

    /// Says what the keys look like, unless --profile raw says what they are.
    pub fn print_hint(&self, summary: &Summary, streams: &mut Streams) {
        if self.profile != Some(ProfileArg::Raw) {
            summary.print_hint(streams);
        }
    }

    /// What the keys are.
    pub fn profile(&self) -> Result<Profile> {
        let PasswordArgs { lowercase, sha1 } = self.password;
        let profile = self.profile.unwrap_or(ProfileArg::Raw).with(lowercase, sha1)?;
        self.omitted.check(profile)?;
        Ok(profile)
    }
}
