//! Asking the folder of a sharded filter, for `info`, `check` and `verify`.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::manifest::{self, ManifestPayload, ShardsPayload, hex, sha256};
use super::shards::count;
use crate::args::omitted::Omitted;
use crate::args::tags::TagArgs;
use crate::files::read;
use crate::lists::digests::{split, tagged};
use crate::lists::keys::Summary;
use crate::lists::spill::Spill;
use crate::rates::{self, Probes, Rates, random};
use crate::streams::Streams;
use bloom_wasm::hash::Secret;
use bloom_wasm::keys::Input;
use bloom_wasm::layers::has_number;
use bloom_wasm::shards::{Entry, PAGE, Sharding, read_page};
use bloom_wasm::{Blob, Profile};

/// A folder that is asked. A shard is read when it is first needed.
pub struct Folder {
    dir: PathBuf,
    pub shards: ShardsPayload,
    pub sharding: Sharding,
    secret: Option<Secret>,
    /// The names of the tags, by their numbers.
    names: Vec<String>,
    pages: HashMap<usize, Vec<Entry>>,
    blobs: HashMap<u32, Blob>,
    /// The bytes of those.
    held: u64,
}

/// The bytes of a whole page.
const LONGEST_PAGE: u64 = 40 * PAGE as u64;
/// How many bytes of shards stay in memory.
const HELD: u64 = 256 << 20;

impl Folder {
    /// `secret` is there if the filter is keyed.
    pub fn open(dir: &Path, secret: Option<Secret>) -> Result<Self> {
        let none = || {
            format!("{}: there is no {} here; `feed verify` reads a feed", dir.display(), ShardsPayload::FILE)
        };
        let shards = manifest::read::<ShardsPayload>(dir)?.with_context(none)?;
        let sharding = shards
            .sharding(secret.as_ref())
            .with_context(|| dir.join(ShardsPayload::FILE).display().to_string())?;
        Ok(Folder {
            dir: dir.to_owned(),
            names: shards.tag_names().map(str::to_owned).collect(),
            shards,
            sharding,
            secret,
            pages: HashMap::new(),
            blobs: HashMap::new(),
            held: 0,
        })
    }

    fn entry(&mut self, shard: u32) -> Result<Entry> {
        let entries = self.sharding.entries();
        let page = shard as usize / entries;
        if !self.pages.contains_key(&page) {
            let read = read_entries(&self.dir, &self.shards.pages[page], entries)?;
            self.pages.insert(page, read);
        }
        Ok(self.pages[&page][shard as usize % entries])
    }

    /// A shard.
    pub fn shard(&mut self, shard: u32) -> Result<&Blob> {
        if !self.blobs.contains_key(&shard) {
            let entry = self.entry(shard)?;
            let name = hex(&entry.sha256);
            let context = || self.dir.join(&name).display().to_string();
            let bytes = read_file(&self.dir, &name, Some(entry.bytes))?;
            let blob = Blob::decode_shard(bytes, self.secret.as_ref(), &self.names).with_context(context)?;
            if blob.profile() != self.sharding.profile()
                || blob.filter().hashing() != self.sharding.hashing()
                || count(&blob)? != entry.count
                || blob.filter().is_tagged() != self.shards.tags.is_some()
                || blob.filter().tag_names().count() != self.names.len()
            {
                bail!("{}: it isn't a shard of this filter", context());
            }
            if self.held > HELD {
                self.blobs.clear();
                self.held = 0;
            }
            self.held += u64::from(entry.bytes);
            self.blobs.insert(shard, blob);
        }
        Ok(&self.blobs[&shard])
    }

    /// Of each input, the tags of its keys; none if no key is maybe present.
    pub fn ask_each(&mut self, inputs: &[Option<Input>]) -> Result<Vec<Option<Vec<&str>>>> {
        let mut asked: BTreeMap<u32, Vec<(usize, u64)>> = BTreeMap::new();
        for (i, input) in inputs.iter().enumerate() {
            for key in input.iter().flat_map(Input::keys) {
                let digest = self.sharding.hashing().digest(key);
                asked.entry(self.sharding.shard_of(key)).or_default().push((i, digest));
            }
        }
        let mut answers = vec![None; inputs.len()];
        for (shard, keys) in asked {
            let filter = self.shard(shard)?.filter();
            for (i, digest) in keys.into_iter().filter(|(_, digest)| filter.has_digest(*digest)) {
                let answer = answers[i].get_or_insert([0; 4]);
                if filter.is_tagged() {
                    let more = filter.tag_numbers([digest])?;
                    answer.iter_mut().zip(more).for_each(|(answer, more)| *answer |= more);
                }
            }
        }
        let names = |numbers| {
            let names = self.names.iter().enumerate().filter(|(number, _)| has_number(&numbers, *number));
            names.map(|(_, name)| &name[..]).collect()
        };
        Ok(answers.into_iter().map(|answer| answer.map(names)).collect())
    }

    /// Compares the filter with the lists of its members, and asks for random keys.
    pub fn measure(
        &mut self,
        members: &[PathBuf],
        tags: &TagArgs,
        omitted: &Omitted,
        probes: Option<u64>,
        streams: &mut Streams,
    ) -> Result<Measured> {
        let sharding = self.sharding;
        // WASI has no such folder, and needs none.
        let folder = if cfg!(target_os = "wasi") { PathBuf::new() } else { std::env::temp_dir() };
        let name = || folder.display().to_string();
        let mut spill = Spill::new(&sharding, &folder).with_context(name)?;
        let summary = split(members, tags, &sharding, omitted, &mut spill, streams)?;
        let names = tags.names(std::iter::empty())?;
        let (mut false_negatives, mut wrong_tags) = (0, 0);
        let fpr = self.shards.head.fpr;
        let probes = probes.unwrap_or(((100.0 / fpr).min(1e9) as u64).max(1_000_000));
        let shards = sharding.shards();
        let (mut asked, mut rates, mut measured) = (0, Vec::new(), Vec::new());
        let mut next = 0..;
        for part in spill.parts() {
            for (digests, shard) in part.with_context(name)?.into_iter().zip(next.by_ref()) {
                let filter = self.shard(shard)?.filter();
                rates.push(Rates::of(filter, sharding.profile()));
                let denied = digests.all().iter().filter(|&&digest| !filter.has_digest(digest));
                false_negatives += denied.count() as u64;
                if tags.any() {
                    wrong_tags += rates::wrong_tags(filter, &tagged(&digests, tags, &names)?)?;
                }
                // The first shards get one more each, if it doesn't come out even.
                let count =
                    probes / u64::from(shards) + u64::from(u64::from(shard) < probes % u64::from(shards));
                let probes = if sharding.profile() == Profile::Url {
                    Probes::in_slots(filter, asked, count)
                } else {
                    // A key of this shard has these first bits.
                    let bits = shards.trailing_zeros();
                    let first_bits = if bits == 0 { 0 } else { u64::from(shard) << (64 - bits) };
                    let digest = |i: u64| first_bits | random(i) >> bits;
                    let hits =
                        (asked..asked + count).filter(|&i| filter.has_digest(digest(i))).count() as u64;
                    Probes::of_checks(count, hits)
                };
                asked += probes.asked;
                measured.push(probes);
            }
        }
        Ok(Measured {
            members: summary.entries(),
            false_negatives,
            wrong_tags: tags.any().then_some(wrong_tags),
            probes: Probes::of_shards(&measured),
            rates: Rates::mean(&rates),
            summary,
        })
    }
}

/// A file whose name is its hash.
fn read_file(dir: &Path, name: &str, bytes: Option<u32>) -> Result<Vec<u8>> {
    let path = dir.join(name);
    let found = read::regular(&path, bytes.map_or(LONGEST_PAGE, u64::from))?;
    if sha256(&found) != name || bytes.is_some_and(|bytes| found.len() != bytes as usize) {
        bail!("{} is damaged: it doesn't have the hash that is its name", path.display());
    }
    Ok(found)
}

/// The entries of a page.
fn read_entries(dir: &Path, page: &str, entries: usize) -> Result<Vec<Entry>> {
    let bytes = read_file(dir, page, None)?;
    read_page(&bytes, entries).with_context(|| dir.join(page).display().to_string())
}

/// The names of all files of a sharded filter, but for its manifest.
pub fn names(dir: &Path, shards: &ShardsPayload) -> Result<Vec<String>> {
    // How the keys are spread doesn't depend on what they are.
    let entries = Sharding::new(Profile::Raw, 0, shards.shards)?.entries();
    let mut names = shards.pages.clone();
    for page in &shards.pages {
        names.extend(read_entries(dir, page, entries)?.iter().map(|entry| hex(&entry.sha256)));
    }
    Ok(names)
}

/// What a filter says of its members and of others.
pub struct Measured {
    pub members: u64,
    pub false_negatives: u64,
    /// Members with other tags than they should have; none unless these were given.
    pub wrong_tags: Option<u64>,
    pub probes: Probes,
    pub rates: Rates,
    pub summary: Summary,
}
