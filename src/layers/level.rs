//! A level of a layer: a ribbon filter that uses digests of its own. FORMAT.md section 7.

use crate::error::Result;
use crate::filters::RibbonFilter;
use crate::hash::{Hashing, mix};

/// The rate of a level in a layer with this rate.
#[cfg_attr(target_arch = "wasm32", inline(never))]
pub(crate) fn level_fpr(fpr: f64, level: usize) -> f64 {
    if level == 0 { fpr } else { 0.5 }
}

pub(super) fn passes(level: &RibbonFilter, digest: u64, salt: u32) -> bool {
    level.has_digest(mix(digest, salt))
}

/// Builds a level from these digests, which are used up. It misses those of them that are in `misses`.
pub(super) fn level(
    digests: &mut Vec<u64>,
    mut misses: Vec<u64>,
    fpr: f64,
    hashing: Hashing,
    salt: u32,
) -> Result<RibbonFilter> {
    for digests in [&mut *digests, &mut misses] {
        digests.iter_mut().for_each(|digest| *digest = mix(*digest, salt));
    }
    RibbonFilter::separating(digests, misses, fpr, hashing)
}
