//! What is left out of lists, both when a blob is built and when it is verified.

use anyhow::{Result, bail};
use bloom_wasm::Profile;

/// What is left out of lists, both when a blob is built and when it is verified.
#[derive(Debug, clap::Args)]
pub struct Omitted {
    /// Keep bare public suffixes, such as co.uk and github.io, with --profile url
    #[arg(long)]
    pub allow_suffixes: bool,
    /// Leave out passwords with fewer characters, with --profile password
    #[arg(long, value_name = "N", default_value = "0")]
    pub min_length: u64,
    /// Leave out hashes with a lower count, with --sha1
    #[arg(long, value_name = "N", default_value = "0")]
    pub min_count: u64,
}

impl Omitted {
    /// Leaves out nothing.
    pub fn none() -> Self {
        Omitted { allow_suffixes: true, min_length: 0, min_count: 0 }
    }

    /// Fails for an option that means nothing with this profile.
    pub fn check(&self, profile: Profile) -> Result<()> {
        match profile {
            Profile::Password { sha1: true, .. } if self.min_length > 0 => {
                bail!(
                    "--min-length can't be used with --sha1, because a hash doesn't tell how long its password is"
                )
            }
            Profile::Raw | Profile::Url if self.min_length > 0 => {
                bail!("--min-length needs --profile password")
            }
            Profile::Password { sha1: true, .. } => {}
            _ if self.min_count > 0 => bail!("--min-count needs --sha1"),
            _ => {}
        }
        if self.allow_suffixes && profile != Profile::Url {
            bail!("--allow-suffixes needs --profile url");
        }
        Ok(())
    }
}
