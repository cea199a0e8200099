//! Membership filters: "maybe present" or "definitely absent", from one compact blob.
//!
//! You build a filter from keys, write it as a blob ([`Blob::encode`]), send it anywhere, read it back
//! ([`Blob::decode`]) and query it. `FORMAT.md` specifies the bytes of a blob. The same crate, compiled to WebAssembly,
//! is the npm package `bloom-wasm`.
//!
//! ```
//! use bloom_wasm::{Blob, BloomFilter, Error};
//!
//! let mut filter = BloomFilter::with_capacity(1_000, 0.01, 0)?;
//! filter.add(b"evil.example");
//! let bytes = Blob::from(filter).encode()?;
//!
//! let blob = Blob::decode(bytes)?;
//! assert!(blob.filter().has(b"evil.example"));
//! assert!(!blob.filter().has(b"good.example"));
//! # Ok::<(), Error>(())
//! ```
//!
//! How to read the source (modules import only from the ones above them):
//!
//! - [`error`], [`kind`] and [`profile`] import nothing; `vectors` grows vectors without aborting.
//! - `fields` reads and writes numbers in order.
//! - [`slots`] says which shapes the keys of URLs have.
//! - [`hash`] turns a key into a 64-bit digest, [`digests`] works on sets of digests, and [`params`] holds the
//!   formulas.
//! - Each file in [`filters`] is one algorithm over digests; `batch` holds keys that are looked up together, and
//!   [`layers`] stacks filters.
//! - Only [`format`](mod@format) knows byte offsets, and [`info`] describes what it read.
//! - [`delta`] turns one blob into another.
//! - `interop` reads and writes the filters of other software, one format per file.
//! - [`keys`] turns what a user types, and the lines of lists, into keys. It knows no filter.
//! - [`shards`] says which of many blobs holds a key.
//! - `wasm/` is a thin layer over all that: the boundary of the npm package. The tool is another, in a package of its
//!   own.
//!
//! What is public but isn't documented here is only for the tool, and may change at any time.

#![forbid(unsafe_code)]

mod batch;
pub mod delta;
pub mod digests;
pub mod error;
mod fields;
pub mod filters;
pub mod format;
pub mod hash;
pub mod info;
#[cfg(feature = "interop")]
pub mod interop;
pub mod keys;
pub mod kind;
pub mod layers;
pub mod params;
pub mod profile;
pub mod shards;
pub mod slots;
#[doc(hidden)]
pub mod vectors;
#[cfg(all(feature = "npm", target_arch = "wasm32"))]
mod wasm;

pub use delta::Delta;
pub use error::Error;
pub use filters::{
    BloomFilter, CountingBloomFilter, CuckooFilter, Filter, ForeignFilter, RibbonFilter, ScalableBloomFilter,
};
pub use format::Blob;
pub use info::FilterInfo;
pub use kind::{Kind, KindOptions};
pub use layers::{Layer, LayerKind, Stack, Tagged, TaggedUpdate, Tags, Update};
pub use profile::Profile;

/// The Rust code of docs/rust.md, run as a test.
#[cfg(doctest)]
#[doc = include_str!("../docs/rust.md")]
struct InRust;
