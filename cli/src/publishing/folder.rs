//! The folder of a feed as it is on a host, with shards or without: described, read and queried, for `info`, `check`,
//! `verify` and `feed verify`.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use ed25519_dalek::VerifyingKey;
use serde::Serialize;

use super::manifest::{self, FeedPayload, Head, Identity, ManifestPayload, People, ShardsPayload, hex};
use super::published::{read_entries, read_file, read_files};
use super::shards::count;
use crate::args::number::now;
use crate::args::omitted::Omitted;
use crate::args::tags::TagArgs;
use crate::lists::digests::{split, tagged};
use crate::lists::keys::Summary;
use crate::lists::spill::Spill;
use crate::rates::{self, Probes, Rates, random};
use crate::streams::Streams;
use crate::text::{Row, grouped, keyed_in_words, per_key, rate, tags_in_words, time_in_words};
use bloom_wasm::hash::Secret;
use bloom_wasm::keys::Input;
use bloom_wasm::shards::{Entry, Sharding};
use bloom_wasm::{Filter, Profile};

/// A feed that is read.
pub struct Folder {
    pub is_signed: bool,
    pub contents: Contents,
}

/// What can be queried.
pub enum Contents {
    /// One filter, and the feed's files.
    Whole(Box<Filter>, Box<FeedPayload>),
    Sharded(Box<Sharded>),
}

/// A feed with shards that is queried. A shard is read when it is first needed.
pub struct Sharded {
    dir: PathBuf,
    pub shards: ShardsPayload,
    pub sharding: Sharding,
    secret: Option<Secret>,
    /// The names of the tags, by their numbers.
    names: Vec<String>,
    pages: HashMap<usize, Vec<Entry>>,
    blobs: HashMap<u32, Filter>,
    /// The bytes of these blobs.
    held: u64,
}

/// A description of a feed, for programs.
#[derive(Serialize)]
#[serde(untagged)]
pub enum Description {
    #[serde(rename_all = "camelCase")]
    Whole {
        #[serde(flatten)]
        payload: FeedPayload,
        expired: bool,
        keyed: bool,
        byte_length: u64,
        #[serde(flatten)]
        rates: Rates,
        layers: usize,
    },
    Sharded {
        #[serde(flatten)]
        payload: ShardsPayload,
        expired: bool,
        keyed: bool,
    },
}

/// How many bytes of shards stay in memory.
const HELD: u64 = 256 << 20;

impl Folder {
    /// `secret` is there if the feed is keyed. If there are keys, one of them must have signed the manifest.
    pub fn open(dir: &Path, secret: Option<Secret>, keys: &[VerifyingKey]) -> Result<Self> {
        if let Some((payload, is_signed)) = manifest::read::<FeedPayload>(dir, keys)? {
            let name = || dir.join(FeedPayload::FILE).display().to_string();
            let hashing = payload.head.identity.hashing(secret.as_ref()).with_context(name)?;
            let blob = read_files(dir, payload.files.iter(), secret.as_ref())?;
            let fits =
                blob.profile() == payload.head.identity.profile()? && *blob.stack().hashing() == hashing;
            ensure!(fits, "{}: its files have another profile, seed or secret", name());
            return Ok(Folder { is_signed, contents: Contents::Whole(Box::new(blob), Box::new(payload)) });
        }
        let none = || format!("{}: there is no feed.json or shards.json here", dir.display());
        let (shards, is_signed) = manifest::read::<ShardsPayload>(dir, keys)?.with_context(none)?;
        let sharding = shards
            .sharding(secret.as_ref())
            .with_context(|| dir.join(ShardsPayload::FILE).display().to_string())?;
        let names = shards.tag_names().map(str::to_owned).collect();
        let (pages, blobs) = (HashMap::new(), HashMap::new());
        let dir = dir.to_owned();
        let sharded = Sharded { dir, names, shards, sharding, secret, pages, blobs, held: 0 };
        Ok(Folder { is_signed, contents: Contents::Sharded(Box::new(sharded)) })
    }

    /// Reads what a client may need: all of it.
    pub fn read_all(&mut self) -> Result<()> {
        let Contents::Sharded(sharded) = &mut self.contents else { return Ok(()) };
        let mut keys = 0;
        for shard in 0..sharded.shards.shards {
            keys += u64::from(count(sharded.shard(shard)?)?);
        }
        let name = sharded.dir.join(ShardsPayload::FILE);
        // A key that others cover needn't be in a shard.
        let is_url = sharded.sharding.profile() == Profile::Url;
        let count = sharded.shards.head.count;
        ensure!(
            keys == count || is_url && keys < count,
            "{}: its shards have {} keys",
            name.display(),
            grouped(keys)
        );
        Ok(())
    }

    fn head(&self) -> &Head {
        match &self.contents {
            Contents::Whole(_, payload) => &payload.head,
            Contents::Sharded(sharded) => &sharded.shards.head,
        }
    }

    /// Whether clients refuse it by now.
    pub fn is_expired(&self) -> Result<bool> {
        Ok(self.head().is_over(now()?))
    }

    /// What it is, for programs.
    pub fn describe(&self) -> Result<Description> {
        let expired = self.is_expired()?;
        Ok(match &self.contents {
            Contents::Whole(blob, payload) => Description::Whole {
                payload: (**payload).clone(),
                expired,
                keyed: payload.head.identity.is_keyed(),
                byte_length: payload.files.iter().map(|file| file.bytes).sum(),
                rates: Rates::of(blob.stack(), blob.profile()),
                layers: blob.stack().layers().len(),
            },
            Contents::Sharded(sharded) => Description::Sharded {
                payload: sharded.shards.clone(),
                expired,
                keyed: sharded.shards.head.identity.is_keyed(),
            },
        })
    }

    /// The same for people.
    pub fn rows(&self) -> Result<Vec<Row>> {
        let Head { identity, generation, created_at, expires, count, .. } = self.head();
        let Identity { feed_id, people: People { name, homepage, license }, fpr, seed, .. } = identity;
        let profile = identity.profile()?;
        let (lowercase, sha1) = profile.password();
        let and = |is, what| if is { what } else { "" };
        let expired = and(self.is_expired()?, ", so it has expired");
        let per = if profile == Profile::Url { "URL" } else { "key" };
        let mut rows = vec![
            ("feed", feed_id.clone()),
            ("name", name.clone().unwrap_or("none".to_owned())),
            ("generation", generation.to_string()),
            ("created", time_in_words(*created_at)),
            ("expires", time_in_words(*expires) + expired),
            (
                "profile",
                format!(
                    "{}{}{}",
                    profile.name(),
                    and(lowercase, ", lower-cased"),
                    and(sha1, ", hashed by SHA-1")
                ),
            ),
            ("keys", grouped(*count)),
        ];
        let more = [("homepage", homepage), ("license", license)];
        rows.extend(more.into_iter().filter_map(|(what, text)| Some((what, text.clone()?))));
        let budget = ("budget", format!("{} per {per}", rate(*fpr)));
        match &self.contents {
            Contents::Whole(blob, payload) => {
                let bytes = payload.files.iter().map(|file| file.bytes).sum();
                if blob.stack().is_tagged() {
                    rows.push(("tags", tags_in_words(blob.stack().tag_counts())));
                }
                rows.extend([
                    ("files", format!("{}, {} bytes in total", payload.files.len(), grouped(bytes))),
                    ("layers", blob.stack().layers().len().to_string()),
                    budget,
                    ("fpr", format!("{} expected", Rates::of(blob.stack(), profile).in_words())),
                ]);
            }
            Contents::Sharded(sharded) => {
                let (bytes, count) = (sharded.shards.bytes, sharded.shards.head.count);
                rows.extend(sharded.shards.tags_in_words().map(|tags| ("tags", tags)));
                rows.extend([
                    ("shards", grouped(sharded.shards.shards.into())),
                    ("size", format!("{} bytes{}", grouped(bytes), per_key(bytes, count))),
                    budget,
                ]);
            }
        }
        rows.extend([("seed", seed.clone()), ("keyed", keyed_in_words(identity.is_keyed()))]);
        Ok(rows)
    }
}

impl Sharded {
    fn entry(&mut self, shard: u32) -> Result<Entry> {
        let entries = self.sharding.entries();
        let page = shard as usize / entries;
        if !self.pages.contains_key(&page) {
            let read = read_entries(&self.dir, &self.shards.pages[page], self.shards.shards)?;
            self.pages.insert(page, read);
        }
        Ok(self.pages[&page][shard as usize % entries])
    }

    /// A shard.
    pub fn shard(&mut self, shard: u32) -> Result<&Filter> {
        if !self.blobs.contains_key(&shard) {
            let entry = self.entry(shard)?;
            let name = hex(&entry.sha256);
            let context = || self.dir.join(&name).display().to_string();
            let bytes = read_file(&self.dir, &name, Some(entry.bytes.into()))?;
            let blob =
                Filter::decode_shard(bytes, self.secret.as_ref(), &self.names).with_context(context)?;
            if blob.profile() != self.sharding.profile()
                || blob.stack().hashing() != self.sharding.hashing()
                || count(&blob)? != entry.count
                || blob.stack().is_tagged() != self.shards.tags.is_some()
                || blob.stack().tag_names().count() != self.names.len()
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

    /// For each input, the tags of its keys; none if no key is maybe present.
    pub fn ask_each(&mut self, inputs: &[Option<Input>]) -> Result<Vec<Option<Vec<&str>>>> {
        let mut asked: BTreeMap<u32, Vec<(usize, u64)>> = BTreeMap::new();
        for (i, input) in inputs.iter().enumerate() {
            for key in input.iter().flat_map(Input::keys) {
                let digest = self.sharding.hashing().digest(key);
                asked.entry(self.sharding.shard_of(key)).or_default().push((i, digest));
            }
        }
        let mut answers: Vec<Option<BTreeSet<String>>> = vec![None; inputs.len()];
        for (shard, keys) in asked {
            let filter = self.shard(shard)?.stack();
            for (i, digest) in keys.into_iter().filter(|(_, digest)| filter.has_digest(*digest)) {
                let answer = answers[i].get_or_insert_default();
                if filter.is_tagged() {
                    answer.extend(filter.tags_of_all([digest])?.into_iter().map(str::to_owned));
                }
            }
        }
        let names = |found: BTreeSet<String>| {
            self.names.iter().filter(|name| found.contains(*name)).map(|name| &name[..]).collect()
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
        // WASI has no temporary folder, and needs none.
        let folder = if cfg!(target_os = "wasi") { PathBuf::new() } else { std::env::temp_dir() };
        let name = || folder.display().to_string();
        let mut spill = Spill::new(&sharding, &folder).with_context(name)?;
        let summary = split(members, tags, &sharding, omitted, &mut spill, streams)?;
        let (given, names) = (tags.of_lists(), tags.names());
        let (mut false_negatives, mut wrong_tags) = (0, 0);
        let fpr = self.shards.head.identity.fpr;
        let probes = probes.unwrap_or(((100.0 / fpr).min(1e9) as u64).max(1_000_000));
        let shards = sharding.shards();
        let (mut asked, mut rates, mut measured) = (0, Vec::new(), Vec::new());
        let mut next = 0..;
        for part in spill.parts() {
            for (listed, shard) in part.with_context(name)?.into_iter().zip(next.by_ref()) {
                let filter = self.shard(shard)?.stack();
                rates.push(Rates::of(filter, sharding.profile()));
                // As a URL asks: for each of its keys.
                let has = |digest| filter.has_digest(digest);
                let denied = listed
                    .entries
                    .iter()
                    .filter(|(key, parents)| !has(*key) && !parents.iter().any(|&parent| has(parent)));
                false_negatives += denied.count() as u64;
                if tags.any() {
                    let keys = tagged(&listed, &given, &names)?;
                    wrong_tags += rates::wrong_tags(filter, &listed.entries, &keys)?;
                }
                // If the number doesn't divide evenly, the first shards get one more each.
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

/// How a filter answers for its members and for other keys.
pub struct Measured {
    pub members: u64,
    pub false_negatives: u64,
    /// Members with other tags than they should have; none unless these were given.
    pub wrong_tags: Option<u64>,
    pub probes: Probes,
    pub rates: Rates,
    pub summary: Summary,
}
