//! Membership filters: "maybe present" or "definitely absent", from one compact blob.
//!
//! A filter is built from keys, written as a blob ([`Blob::encode`]), sent anywhere, read back
//! ([`Blob::decode`]) and asked. The blob's bytes are specified in `FORMAT.md`; the same crate, compiled to
//! WebAssembly, is the npm package `bloom-wasm`.
//!
//! ```
//! use bloom_wasm::{Blob, BloomFilter, Error};
//!
//! let mut filter = BloomFilter::with_capacity(1_000, 0.01, 0)?;
//! filter.add(b"evil.example");
//! let bytes = Blob::from(filter).encode()?;
//!
//! let blob = Blob::decode(bytes)?;
//! assert!(blob.filter.has(b"evil.example"));
//! assert!(!blob.filter.has(b"good.example"));
//! # Ok::<(), Error>(())
//! ```
//!
//! How to read the source: a key becomes a 64-bit digest in [`hash`]; [`params`] holds the formulas; each file
//! in [`filters`] is one algorithm over digests; [`layers`] stacks them; [`format`](mod@format) alone knows byte
//! offsets; `wasm/` and `cli/` are the two thin shells. Arrows run one way, in that order. [`check`] stands aside: it
//! makes keys of what a user types, and of the lines of lists.

// Without the standard library, whose panic messages alone weigh 4 kB, for the npm package.
#![forbid(unsafe_code)]
#![cfg_attr(all(feature = "npm", target_arch = "wasm32"), no_std)]

extern crate alloc;

pub mod check;
pub mod error;
pub mod filters;
pub mod format;
pub mod hash;
pub mod info;
pub mod layers;
pub mod lines;
pub mod params;
#[cfg(all(feature = "npm", target_arch = "wasm32"))]
mod wasm;

pub use error::Error;
pub use filters::{
    BloomFilter, CountingBloomFilter, CuckooFilter, Filter, RibbonFilter, ScalableBloomFilter,
};
pub use format::Blob;
pub use info::Info;
pub use layers::{Layer, LayerKind, Stack, Update};

/// The README's Rust code, run as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
