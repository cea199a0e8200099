//! `--profile`: what the keys are.

use anyhow::{Context, Result};
use bloom_wasm::Profile;
use clap::ValueEnum;

/// What the keys are.
#[derive(Clone, Copy, PartialEq, ValueEnum)]
pub enum ProfileArg {
    /// Bytes as they are; lines that start with # are comments
    Raw,
    /// URLs, hosts, adblock's ||host^ and entries of hosts files, looked up as Safe Browsing does: a host covers all below
    /// it, bad.example/path/ a folder, and bad.example/path that page alone
    Url,
    /// Passwords in Unicode's normal form NFC
    Password,
}

impl ProfileArg {
    /// The profile. Fails for options that only passwords have.
    pub fn with(self, lowercase: bool, sha1: bool) -> Result<Profile> {
        let profile = match self {
            ProfileArg::Password => Some(Profile::Password { lowercase, sha1 }),
            _ if lowercase || sha1 => None,
            ProfileArg::Raw => Some(Profile::Raw),
            ProfileArg::Url => Some(Profile::Url),
        };
        profile.context("--lowercase and --sha1 need --profile password")
    }
}

/// How passwords become keys.
#[derive(clap::Args)]
pub struct PasswordArgs {
    /// Ignore case, also when checking, with --profile password
    #[arg(long)]
    pub lowercase: bool,
    /// Keys are SHA-1 hashes of passwords: lines of a list are HASH or HASH:COUNT, with HASH in hexadecimal. With
    /// --profile password
    #[arg(long, conflicts_with = "lowercase")]
    pub sha1: bool,
}
