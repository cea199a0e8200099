//! Layers over a filter: what changed after it was built, and keys that must never be a "maybe". The base and its
//! layers are a [`Stack`]. Of the layers that a key hits, the newest decides; without one, the base does.
//!
//! An *include* is a ribbon filter of added keys. A key that hits it is maybe present.
//!
//! An *exclude* separates two sets without a mistake: the keys that must be absent, and all live members. Level 0 is a
//! ribbon filter of the excluded keys. If live keys are false positives of it, level 1 is one of those, which was also
//! built to miss every excluded key. A key that passes level 0 and misses level 1 is excluded.
//!
//! Keys here are digests: a removed key whose digest is also a live key's digest is live.
//!
//! `layer` is one layer, `stack` asks a base and its layers, and `build` builds them.

mod build;
mod layer;
mod stack;

pub use build::Update;
pub(crate) use layer::level_fpr;
pub use layer::{Layer, LayerKind};
pub use stack::Stack;
