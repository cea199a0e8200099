//! Layers over a filter: what changed after it was built, and keys that must never be "maybe present". The base and its
//! layers are a [`Stack`]. Of the layers that a key hits, the newest decides; without one, the base does.
//!
//! An *include* is a ribbon filter of added keys. A key that hits it is maybe present.
//!
//! An *exclude* separates two sets without errors: the keys that must be absent, and all live members. Level 0 is a
//! ribbon filter of the excluded keys. If live keys are false positives of it, level 1 is one of those, which was also
//! built to miss every excluded key. A key that passes level 0 and misses level 1 is excluded.
//!
//! Keys here are digests: a removed key whose digest is also a live key's digest is live.
//!
//! A filter may have *tags*, which say which lists each member is on. The base and each include have tags of their own,
//! and the one that answers for a key says which tags it has.
//!
//! ```
//! use bloom_wasm::layers::{Stack, Update};
//! use bloom_wasm::{Filter, RibbonFilter, hash::digest};
//!
//! let [old, gone, new, good] =
//!     [&b"old.example"[..], b"gone.example", b"new.example", b"good.example"].map(|key| digest(0, key));
//! let mut stack = Stack::from(RibbonFilter::from_digests(&mut vec![old, gone], 0.01, 0)?);
//! // All current members must be known; each of them stays "maybe present".
//! stack.update(Update { live: &[old, new], removed: &[gone], allowed: &[good], fpr: 0.001 })?;
//! assert!(stack.has(b"old.example") && stack.has(b"new.example"));
//! assert!(!stack.has(b"good.example")); // gone.example is "maybe present" with a chance of 1 in 1,000
//! let blob = Filter::from(stack).encode()?; // it holds the layers, too
//! # Ok::<(), bloom_wasm::Error>(())
//! ```

// `level` is one ribbon filter of a layer, `tags` says which tags a key has, `layer` is one layer, and `stack` queries
// a base and its layers. `tagged` makes codes of tags, and `build` builds stacks.

mod build;
mod layer;
mod level;
mod stack;
mod tagged;
pub(crate) mod tags;

pub use build::{TaggedUpdate, Update};
pub use layer::{Layer, LayerKind};
pub(crate) use level::level_fpr;
pub use stack::Stack;
pub use tagged::Tagged;
pub(crate) use tags::{BASE_SALT, CODE_FPR, Dictionary, Names, RULE, Tagging};
pub use tags::{MAX_TAGS, Tags};
