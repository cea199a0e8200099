//! `--profile`: what the keys are.

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
    /// The profile; none if there are options that only passwords have.
    pub fn with(self, lowercase: bool, sha1: bool) -> Option<Profile> {
        match self {
            ProfileArg::Password => Some(Profile::Password { lowercase, sha1 }),
            _ if lowercase || sha1 => None,
            ProfileArg::Raw => Some(Profile::Raw),
            ProfileArg::Url => Some(Profile::Url),
        }
    }
}
