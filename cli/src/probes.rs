//! Random keys, which a filter is asked for to measure its rate.

use bloom_wasm::slots::{weight, with_slot};
use bloom_wasm::{Filter, Profile, Stack, hash};

/// How many random keys are asked together.
const BLOCK: usize = 1 << 14;

/// How many keys were asked, and how many of them are maybe present.
#[derive(Debug, Clone, Copy, Default)]
pub struct Probes {
    pub asked: u64,
    pub hits: u64,
    /// With the profile `url`, the most that the measured rate is for any URL.
    pub max_url_fpr: Option<f64>,
}

impl Probes {
    /// Asks for random keys: of a filter of URLs those that URLs ask for.
    pub fn of(filter: &Stack, profile: Profile, probes: u64) -> bloom_wasm::error::Result<Self> {
        if filter.hashing().is_slotted() {
            return Ok(Self::in_slots(filter, 0, probes));
        }
        let hits = random_keys(filter, probes)?;
        let max = filter.slots().iter().count() as f64 * hits as f64 / probes as f64;
        Ok(Probes { asked: probes, hits, max_url_fpr: (profile == Profile::Url).then_some(max) })
    }

    /// Asks for random digests, in each slot that the filter has as many as URLs ask for. The numbers of the digests
    /// begin with `first`.
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
        Probes { asked, hits, max_url_fpr: Some(max) }
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
            // Bytes that are no text would be the same U+FFFD to some.
            Filter::Foreign(foreign) => match foreign.keys().width() {
                Some(width) => filter.has_many(keys.map(|key| key.to_le_bytes()[..width].to_vec())),
                None => filter.has_many(keys.map(|key| format!("{key:032x}"))),
            },
            _ => filter.has_many(keys.map(|key| key.to_le_bytes())),
        };
        hits += answers?.into_iter().filter(|&answer| answer).count() as u64;
    }
    Ok(hits)
}
