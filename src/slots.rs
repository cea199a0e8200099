//! Slots: which shapes of keys a list of URLs has. FORMAT-URLS.md, "Slots and sites".
//!
//! A check of a URL asks for up to 30 keys: five hosts with six paths each. Most lists have a few of these shapes only,
//! such as whole hosts. So the blob says which, in a map of 30 bits, and a key of another shape is absent without being
//! looked up. A key's slot depends only on its bytes, so it is the same for an entry and in a query. It is stored as
//! the highest 5 bits of the key's digest: layers, deltas and shards, which know only digests, know it too. (The lowest
//! bits would be wrong: a ribbon filter's fingerprints are made of them.)
//!
//! Since fewer shapes are looked up, each key may have a higher rate, for the same rate of a whole check. [`plan`] says
//! how high.
// Imports only `error`.

use std::f64::consts::LN_2;

use crate::error::{Error, Result};

/// The number of slots: five hosts and six paths.
pub const SLOTS: usize = 30;
/// The number of bits of a digest that are left for the key.
const BITS: u32 = 59;
/// Roughly the share of checked URLs that ask for a host of each shape, and for a path of each. They were counted on
/// old URLs with few queries, so none is taken as less than a quarter.
const HOST_WEIGHTS: [f64; 5] = [1.0, 1.0, 0.5, 0.25, 0.25];
const PATH_WEIGHTS: [f64; 6] = [1.0, 0.75, 0.375, 0.25, 0.75, 0.25];
/// The highest rate that any URL may get, as a multiple of the rate that was asked for.
const WORST: f64 = 2.5;
/// What a URL with three labels, a file, three folders and a query asks for: twelve keys. Nine of ten URLs ask for no
/// more.
const BUSY: Slots = Slots(0b111111_111111);
/// The highest rate that such a URL may get, as a multiple of the rate that was asked for.
const MOST_BUSY: f64 = 1.2;
/// What a second group must save, in bytes: its layer takes about half of that.
const WORTH: f64 = 64.0;

/// The slot of a key of URLs, 0 to 29.
///
/// ```
/// use bloom_wasm::slots::slot;
///
/// assert_eq!(slot(b"evil.example/"), 0); // two labels, and the path "/"
/// assert_eq!(slot(b"a.evil.example/x/"), 7); // three labels, and one folder
/// assert_eq!(slot(b"10.0.1.5/x?y"), 29); // an address, and a query
/// ```
pub fn slot(key: &[u8]) -> u32 {
    let end = key.iter().position(|&byte| byte == b'/').unwrap_or(key.len());
    let (host, rest) = key.split_at_checked(end).unwrap_or((key, &[]));
    6 * host_slot(host) + path_slot(rest)
}

/// 0 to 3 for a host of 2 to 5 labels, and 4 for any other host and for an address.
pub(crate) fn host_slot(host: &[u8]) -> u32 {
    let dots = host.iter().filter(|&&byte| byte == b'.').count() as u32;
    if (1..=4).contains(&dots) && !looks_like_address(host) { dots - 1 } else { 4 }
}

/// 0 to 3 for 1 to 4 slashes, the last one at the end, 5 with a query, and 4 for any other path.
fn path_slot(path: &[u8]) -> u32 {
    if path.contains(&b'?') {
        return 5;
    }
    let slashes = path.iter().filter(|&&byte| byte == b'/').count() as u32;
    if path.last() == Some(&b'/') && slashes <= 4 { slashes - 1 } else { 4 }
}

/// Whether the host of a key is an IP address: in brackets, or four runs of one to three digits.
pub(crate) fn looks_like_address(host: &[u8]) -> bool {
    let is_byte = |label: &[u8]| (1..=3).contains(&label.len()) && label.iter().all(u8::is_ascii_digit);
    let mut labels = host.rsplit(|&byte| byte == b'.');
    host.starts_with(b"[") || (0..4).all(|_| labels.next().is_some_and(is_byte)) && labels.next().is_none()
}

/// The error for digests without slots.
pub(crate) const NO_SLOT: Error = Error::rule("the highest 5 bits of these digests must be slots, 0 to 29");

/// The slot of a digest.
#[inline]
pub(crate) fn of(digest: u64) -> u32 {
    (digest >> BITS) as u32
}

/// A digest with a slot, 0 to 29, in place of its highest bits.
#[inline]
pub fn with_slot(digest: u64, slot: u32) -> u64 {
    digest << (64 - BITS) >> (64 - BITS) | u64::from(slot) << BITS
}

/// A set of slots, such as the map of a filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slots(u32);

impl Slots {
    /// The slots of whole hosts, with the path `/`.
    pub const HOSTS: Slots = Slots(0b1000001000001000001000001);

    /// No slot.
    pub const NONE: Slots = Slots(0);
    /// All slots, and any other value of a digest's highest bits: the set of a filter without a map.
    pub const ANY: Slots = Slots(u32::MAX);

    /// The slots of these digests.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] if one of them has no slot.
    pub fn of(digests: &[u64]) -> Result<Self> {
        let bits = digests.iter().fold(0, |bits, digest| bits | 1 << (digest >> BITS));
        Self::from_bits(bits).ok_or(NO_SLOT)
    }

    /// The set with these bits, the lowest of which is slot 0; none if a bit isn't a slot.
    pub fn from_bits(bits: u32) -> Option<Self> {
        (bits >> SLOTS == 0).then_some(Slots(bits))
    }

    /// A bit for each slot.
    pub fn bits(self) -> u32 {
        self.0
    }

    /// Whether this slot is in the set.
    #[inline]
    pub fn has(self, slot: u32) -> bool {
        self.0 >> slot & 1 == 1
    }

    /// Whether the slot of a digest is in the set.
    #[inline]
    pub(crate) fn holds(self, digest: u64) -> bool {
        self.0 >> (digest >> BITS) & 1 == 1
    }

    /// The set with one slot more.
    fn with(self, slot: u32) -> Self {
        Slots(self.0 | 1 << slot)
    }

    /// The slots that aren't in the other set.
    fn without(self, other: Self) -> Self {
        Slots(self.0 & !other.0)
    }

    /// The slots that are in the other set too.
    fn within(self, other: Self) -> Self {
        Slots(self.0 & other.0)
    }

    /// The number of slots.
    fn len(self) -> f64 {
        self.iter().count() as f64
    }

    /// The slots of both sets.
    #[inline]
    pub fn union(self, other: Self) -> Self {
        Slots(self.0 | other.0)
    }

    /// Whether all slots are in the other set.
    #[inline]
    pub fn is_within(self, other: Self) -> bool {
        self.0 & !other.0 == 0
    }

    /// Whether no slot is in both sets.
    pub fn is_disjoint(self, other: Self) -> bool {
        self.0 & other.0 == 0
    }

    /// Whether there is no slot.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The slots, in ascending order.
    pub fn iter(self) -> impl Iterator<Item = u32> {
        (0..SLOTS as u32).filter(move |&slot| self.has(slot))
    }

    /// How many of these slots a typical check asks for.
    pub fn weight(self) -> f64 {
        self.iter().map(weight).sum()
    }
}

/// The chance that a typical check asks for a key of this slot, 0 to 29.
///
/// # Panics
/// For any other number.
pub fn weight(slot: u32) -> f64 {
    HOST_WEIGHTS[slot as usize / 6] * PATH_WEIGHTS[slot as usize % 6]
}

/// Keys that are built together: their slots, and the rate of each.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Group {
    /// The slots of the keys, which no other keys have.
    pub slots: Slots,
    /// The chance that another key of these slots is maybe present.
    pub fpr: f64,
}

/// The rate of a key in a filter with this map, for a rate of whole checks. It is `fpr` if the map is empty.
pub fn key_fpr(map: Slots, fpr: f64) -> f64 {
    if map.is_empty() {
        return fpr;
    }
    let mut groups = [Group { slots: map, fpr: fpr / map.weight() }];
    limit(&mut groups, fpr);
    groups[0].fpr
}

/// Scales all rates down together, so that no URL gets more than [`WORST`] times the rate of a check, nine of ten get at
/// most [`MOST_BUSY`] times that, and no key gets more than a half.
#[cfg_attr(target_arch = "wasm32", inline(never))]
fn limit(groups: &mut [Group], fpr: f64) {
    let asking =
        |url: Slots| -> f64 { groups.iter().map(|group| group.slots.within(url).len() * group.fpr).sum() };
    let (worst, busy) = (asking(Slots::ANY), asking(BUSY));
    let highest = groups.iter().map(|group| group.fpr).fold(0.0, f64::max);
    let scale = (WORST * fpr / worst).min(MOST_BUSY * fpr / busy).min(0.5 / highest).min(1.0);
    groups.iter_mut().for_each(|group| group.fpr *= scale);
}

/// How a list is built for this rate of a whole check: as one group, or as two if that is smaller. The first of two
/// groups has more keys in relation to the weight of its slots. `counts` are the numbers of different keys in each
/// slot.
///
/// One group has the rate that gives a typical check the rate `fpr`. Two groups share this in proportion to their keys,
/// which is optimal: keys of a shape that is looked up often, but that few entries have, get a lower rate.
pub fn plan(counts: &[u64; SLOTS], fpr: f64) -> (Group, Option<Group>) {
    let all =
        (0..).zip(counts).filter(|(_, count)| **count > 0).fold(Slots::NONE, |all, (slot, _)| all.with(slot));
    let keys = |slots: Slots| slots.iter().map(|slot| counts[slot as usize] as f64).sum::<f64>();
    let bytes = |groups: &[Group]| -> f64 {
        groups.iter().map(|group| -libm::log(group.fpr) / LN_2 * keys(group.slots) / 8.0).sum()
    };
    let one = Group { slots: all, fpr: key_fpr(all, fpr) };
    let density = |slot: u32| counts[slot as usize] as f64 / weight(slot);
    let (mut first, mut best, mut least) = (Slots::NONE, None, bytes(&[one]) - WORTH);
    // The slot with the most keys for its weight; among equal ones, that with the lowest number.
    let densest =
        |slots: Slots| slots.iter().max_by(|&a, &b| density(a).total_cmp(&density(b)).then(b.cmp(&a)));
    while let Some(slot) = densest(all.without(first)) {
        first = first.with(slot);
        let second = all.without(first);
        if second.is_empty() {
            break;
        }
        let share = |slots: Slots| Group { slots, fpr: fpr * keys(slots) / (keys(all) * slots.weight()) };
        let mut groups = [share(first), share(second)];
        limit(&mut groups, fpr);
        // A ribbon filter has no lower rates.
        let is_possible = groups.iter().all(|group| group.fpr >= LOWEST);
        let size = bytes(&groups);
        if is_possible && size < least {
            (best, least) = (Some((groups[0], Some(groups[1]))), size);
        }
    }
    best.unwrap_or((one, None))
}

/// The lowest rate of a key in a ribbon filter: 2^-32.
pub const LOWEST: f64 = 1.0 / 4_294_967_296.0;
/// The lowest rate of a whole check: with it, the rate of a key isn't below [`LOWEST`], whatever the map is.
pub const LOWEST_URL: f64 = LOWEST * SLOTS as f64 / WORST;

/// Fails for a rate of whole checks that isn't possible.
///
/// # Errors
/// [`Error::InvalidParameter`] unless it is from [`LOWEST_URL`] on and below 1.
pub fn require_url_fpr(fpr: f64) -> Result<()> {
    let rule = "fpr must be a number of at least 12 / 2^32 (2.8e-9), with the profile url, and below 1";
    Error::unless((LOWEST_URL..1.0).contains(&fpr), rule)
}
