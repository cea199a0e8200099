//! The options of other software's formats.

use anyhow::{Result, bail};
use bloom_wasm::Profile;
use bloom_wasm::interop::{KeyType, Options};

/// What the bytes of a foreign format don't say.
#[derive(clap::Args)]
#[command(next_help_heading = "Options of other software's formats")]
pub struct ForeignArgs {
    /// guava: what the keys are: utf8 (default), unencoded-chars, bytes, int or long
    #[arg(long)]
    funnel: Option<String>,
    /// What the keys are. spark: string (default), bytes or long; parquet-sbbf: string (default), bytes, int32, int64,
    /// float or double; pybloomfiltermmap3: string (default), bytes or int; bloom-filter2: string (default) or bytes
    #[arg(long)]
    keys: Option<String>,
    /// redis-bitmap, bloom-filter2: how many bits
    #[arg(long)]
    bits: Option<u64>,
    /// redis-bitmap, bloom-filter2, and npm-bloomfilter where the file doesn't say: how many hashes
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
    pub fn options(&self) -> Options {
        let ReadingArgs { foreign, generation, layout, width } = self;
        let (generation, layout) = (generation.clone(), layout.clone());
        Options { generation, layout, width: *width, ..foreign.options() }
    }
}

impl BuildingArgs {
    pub fn options(&self) -> Options {
        let BuildingArgs { foreign, layout, expansion } = self;
        Options { layout: layout.clone(), expansion: *expansion, ..foreign.options() }
    }

    /// Whether there is any.
    pub fn any(&self) -> bool {
        self.options() != Options::default()
    }
}

/// Fails for numbers as keys in a profile that makes text of its input, and for hashes that would be hashed again.
pub fn require_text(keys: KeyType, profile: Profile) -> Result<()> {
    if profile != Profile::Raw && keys.width().is_some() {
        bail!("--profile {} can't go with keys that are numbers", profile.name());
    }
    if keys == KeyType::Sha1 && matches!(profile, Profile::Password { sha1: true, .. }) {
        bail!("--sha1 can't go with filterpassword, which hashes the passwords itself");
    }
    Ok(())
}
