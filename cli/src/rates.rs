//! The false-positive rates of a filter: by its fill, and measured with random keys.

use std::collections::BTreeSet;

use bloom_wasm::filters::AnyFilter;
use bloom_wasm::keys::entries::Entries;
use bloom_wasm::layers::{Stack, Tagged};
use bloom_wasm::slots::{weight, with_slot};
use bloom_wasm::{Profile, hash};
use serde::Serialize;

use crate::text::rate;

/// How many random keys are looked up together.
const BLOCK: usize = 1 << 14;

/// The rates of a filter by its fill.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Rates {
    /// The rate of a key.
    estimated_fpr: f64,
    /// With the profile `url`, the rate of a typical URL, and the highest of any.
    url_fpr: Option<f64>,
    max_url_fpr: Option<f64>,
}

impl Rates {
    pub fn of(filter: &Stack, profile: Profile) -> Self {
        let is_url = profile == Profile::Url;
        Rates {
            estimated_fpr: filter.estimated_fpr(),
            url_fpr: is_url.then(|| filter.url_fpr()),
            max_url_fpr: is_url.then(|| filter.max_url_fpr()),
        }
    }

    /// The rates of a sharded filter, of which a check asks one shard.
    pub fn mean(shards: &[Self]) -> Self {
        Rates {
            estimated_fpr: mean(shards, |shard| shard.estimated_fpr),
            url_fpr: mean_if_any(shards, |shard| shard.url_fpr),
            max_url_fpr: mean_if_any(shards, |shard| shard.max_url_fpr),
        }
    }

    /// The rate of a key or, with the profile `url`, of URLs.
    pub fn in_words(&self) -> String {
        match (self.url_fpr, self.max_url_fpr) {
            (Some(typical), Some(most)) => of_urls(rate(typical), most),
            _ => rate(self.estimated_fpr),
        }
    }
}

/// How many keys have other tags in the filter than they should, also if those of the listed keys that cover them count.
pub fn wrong_tags(filter: &Stack, entries: &Entries, keys: &Tagged) -> bloom_wasm::error::Result<u64> {
    let names: Vec<_> = keys.names().collect();
    let tags_of = |numbers: &[u8]| -> BTreeSet<_> {
        numbers.iter().map(|&number| names[usize::from(number)]).collect()
    };
    let mut wrong = BTreeSet::new();
    for (key, parents) in entries.iter() {
        let wanted = tags_of(keys.numbers_of(key).expect("every entry is one of the keys"));
        if BTreeSet::from_iter(filter.tags_of_all([key])?) == wanted {
            continue;
        }
        let listed = parents.iter().filter(|&&parent| keys.numbers_of(parent).is_some());
        let listed: Vec<_> = listed.copied().filter(|&parent| filter.has_digest(parent)).collect();
        let is_covered = !listed.is_empty();
        if !is_covered || !wanted.is_subset(&BTreeSet::from_iter(filter.tags_of_all(listed)?)) {
            wrong.insert(key);
        }
    }
    Ok(wrong.len() as u64)
}

/// The rate of a typical URL and the highest of any, in words.
pub fn of_urls(typical: String, most: f64) -> String {
    format!("{typical} for a typical URL, {} at most", rate(most))
}

fn mean<T>(shards: &[T], of: impl Fn(&T) -> f64) -> f64 {
    shards.iter().map(of).sum::<f64>() / shards.len() as f64
}

fn mean_if_any<T>(shards: &[T], of: impl Fn(&T) -> Option<f64>) -> Option<f64> {
    shards.iter().map(of).sum::<Option<f64>>().map(|sum| sum / shards.len() as f64)
}

/// How many keys were asked, and how many of them are maybe present.
#[derive(Debug, Clone, Copy)]
pub struct Probes {
    pub asked: u64,
    pub hits: u64,
    /// How many such keys a typical check asks for: one, except with the profile `url`.
    pub keys_of_check: f64,
    /// With the profile `url`, the highest measured rate of any URL.
    pub max_url_fpr: Option<f64>,
}

impl Probes {
    /// What was asked, by whole checks.
    pub fn of_checks(asked: u64, hits: u64) -> Self {
        Probes { asked, hits, keys_of_check: 1.0, max_url_fpr: None }
    }

    /// The probes of a sharded filter, of which a check asks one shard.
    pub fn of_shards(shards: &[Self]) -> Self {
        let asked = shards.iter().map(|shard| shard.asked).sum();
        let hits = shards.iter().map(|shard| shard.hits).sum();
        let max_url_fpr = mean_if_any(shards, |shard| shard.max_url_fpr);
        // Shards with fewer shapes have higher rates, so the mean of the products isn't the product of the means.
        let keys_of_check = if max_url_fpr.is_some() && hits > 0 {
            mean(shards, |shard| shard.rate() * shard.keys_of_check) / (hits as f64 / asked as f64)
        } else {
            mean(shards, |shard| shard.keys_of_check)
        };
        Probes { asked, hits, keys_of_check, max_url_fpr }
    }

    /// The measured rate of a key.
    fn rate(&self) -> f64 {
        self.hits as f64 / self.asked.max(1) as f64
    }

    /// Asks for random keys: of a filter of URLs those that URLs ask for.
    pub fn of(filter: &Stack, profile: Profile, probes: u64) -> bloom_wasm::error::Result<Self> {
        if filter.hashing().is_slotted() {
            return Ok(Self::in_slots(filter, 0, probes));
        }
        let hits = random_keys(filter, probes)?;
        if profile != Profile::Url {
            return Ok(Self::of_checks(probes, hits));
        }
        let slots = filter.slots();
        let max = slots.iter().count() as f64 * hits as f64 / probes as f64;
        Ok(Probes { asked: probes, hits, keys_of_check: slots.weight(), max_url_fpr: Some(max) })
    }

    /// Asks for random digests: in each slot of the filter, in proportion to how often URLs ask for it. The numbers of
    /// the digests begin with `first`.
    pub fn in_slots(filter: &Stack, first: u64, probes: u64) -> Self {
        let slots = filter.slots();
        let (mut asked, mut hits, mut max) = (0, 0, 0.0);
        for slot in slots.iter() {
            let share = (probes as f64 * weight(slot) / slots.weight()).ceil() as u64;
            let digests = (first + asked..first + asked + share).map(|i| with_slot(random(i), slot));
            let found = digests.filter(|&digest| filter.has_digest(digest)).count() as u64;
            max += found as f64 / share.max(1) as f64;
            (asked, hits) = (asked + share, hits + found);
        }
        Probes { asked, hits, keys_of_check: slots.weight(), max_url_fpr: Some(max) }
    }
}

/// Half of the bits of a random key, or a random digest.
pub fn random(i: u64) -> u64 {
    hash::digest(0x5eed_0001, &i.to_le_bytes())
}

/// Asks for random keys of 16 bytes. The chance that one of them is a given member is 2^-128.
fn random_keys(filter: &Stack, probes: u64) -> bloom_wasm::error::Result<u64> {
    let key = |i: u64| u128::from(random(i)) << 64 | u128::from(hash::digest(0x5eed_0002, &i.to_le_bytes()));
    let mut hits = 0;
    for start in (0..probes).step_by(BLOCK) {
        let keys = (start..probes).take(BLOCK).map(key);
        let answers = match filter.base() {
            // Some software would read all invalid text as the same U+FFFD.
            AnyFilter::Foreign(foreign) => match foreign.keys().width() {
                Some(width) => filter.has_many(keys.map(|key| key.to_le_bytes()[..width].to_vec())),
                None => filter.has_many(keys.map(|key| format!("{key:032x}"))),
            },
            _ => filter.has_many(keys.map(|key| key.to_le_bytes())),
        };
        hits += answers?.into_iter().filter(|&answer| answer).count() as u64;
    }
    Ok(hits)
}
