//! Membership filters: "maybe present" or "definitely absent", from one compact blob. A server turns a list of keys into
//! a blob with a [`Builder`], and whoever has the blob asks a [`Filter`]. The list is never shipped, and the key never
//! leaves the machine.
//!
//! ```
//! use bloom_wasm::{Builder, Filter, Profile};
//!
//! // A list of URLs, hosts, adblock rules, or a hosts file: a host covers everything below it.
//! let list = "evil.example\nhttps://shop.example/login\n";
//! let blob = Builder::new(Profile::Url).fpr(1e-6).keys(list.lines()).build()?.encode()?;
//!
//! let filter = Filter::decode(blob)?;
//! assert!(filter.has_url("https://www.evil.example/page?q")?);
//! assert!(!filter.has_url("https://good.example/")?);
//!
//! // Passwords, in any case; and keys as they are, with the names of their lists.
//! let leaked = Builder::new(Profile::Password { lowercase: true, sha1: false }).keys(["Hunter2"]).build()?;
//! assert!(leaked.has_password("hunter2")?);
//! let ids = Builder::new(Profile::Raw).tag("blocked", ["id-1"]).tag("seen", ["id-1", "id-2"]).build()?;
//! assert_eq!(ids.tags("id-1")?, ["blocked", "seen"]);
//! # Ok::<(), bloom_wasm::Error>(())
//! ```
//!
//! The same keys, options and seed give the same blob here, in the tool `bloom-wasm` (the crate `bloom-wasm-cli`) and in
//! the npm package `bloom-wasm`, which is this crate in WebAssembly.
//! [FORMAT.md](https://github.com/OWNER/bloom-wasm/blob/main/FORMAT.md) specifies its bytes. A filter is `Send` and `Sync`,
//! so threads can share one in an `Arc`. There are examples of
//! [a program that checks URLs](https://github.com/OWNER/bloom-wasm/blob/main/examples/check_urls.rs) and of
//! [a service with threads](https://github.com/OWNER/bloom-wasm/blob/main/examples/service.rs).
//!
//! # Filters that change
//!
//! The kinds [`Bloom`](Kind::Bloom), [`Counting`](Kind::Counting), [`Scalable`](Kind::Scalable) and
//! [`Cuckoo`](Kind::Cuckoo) take keys later, by [`Filter::add`], unless they were built with [`Builder::allow`]. A scalable
//! filter grows; the others are made for a number of keys, and a [`Builder`] takes the number that it is given, unless
//! [`KindOptions::capacity`] says otherwise. To begin with nothing, make one of its type, also for URLs:
//!
//! ```
//! use bloom_wasm::{BloomFilter, Filter, Profile, ScalableBloomFilter};
//!
//! let mut seen = BloomFilter::with_capacity(1_000, 0.01, 0)?; // the last argument is the seed
//! assert!(seen.add(b"id-1"));
//! assert!(!seen.add(b"id-1"));
//!
//! // However many there will be: the first 1,000, growth 2 and tightening 0.5, which are the Builder's defaults.
//! let fpr = Profile::Url.key_fpr(0.001);
//! let mut hosts = Filter::new(Profile::Url, ScalableBloomFilter::new(1_000, fpr, 2, 0.5, 0)?);
//! hosts.add("evil.example")?;
//! let blob = hosts.encode()?;
//!
//! let mut hosts = Filter::decode(blob)?; // later
//! hosts.add("other.example")?;
//! assert!(hosts.has_url("https://www.evil.example/")? && hosts.has_url("http://other.example/")?);
//! # Ok::<(), bloom_wasm::Error>(())
//! ```
//!
//! # Digests
//!
//! If lists are read elsewhere, or on many cores, hash each key with [`Builder::digests`] and pass the digests to
//! [`Builder::build_digests`]. [`layers`] brings a shipped filter up to date, and [`delta`] sends only what changed.
//!
//! # Features
//!
//! - `native`, on by default: builds from lists, and asks for URLs and passwords, by the crates `url` and
//!   `unicode-normalization`. Without it, ask [`Filter::stack`] for keys.
//! - `wasm`, on by default: the classes for `wasm-pack build`. It does nothing but on `wasm32-unknown-unknown`; turn it off
//!   in a program that exports its own.
//! - `interop` reads and writes the filters of Go, Java, Spark, Redis, Python and npm packages.
//! - `parallel` sorts on all cores while it builds.
//! - `serde` makes [`FilterInfo`] serializable.

// Modules import only from the ones above them:
//
// - `error` and `profile` import nothing, `kind` only `error`; `vectors` grows vectors without aborting.
// - `fields` reads and writes numbers in order.
// - `slots` says which shapes the keys of URLs have.
// - `hash` turns a key into a 64-bit digest, `digests` works on sets of digests, and `params` holds the formulas.
// - Each file in `filters` is one algorithm over digests; `batch` holds keys that are looked up together, and `layers`
//   stacks filters.
// - `keys` turns what a user types, and the lines of lists, into keys. It knows no filter.
// - `filter` is what users ask, `builder` makes one, and `info` describes it.
// - Only `format` knows byte offsets. `delta` turns one filter into another.
// - `interop` reads and writes the filters of other software, one format per file.
// - `shards` says which of many blobs holds a key.
// - `wasm/` is a thin layer over all that, the boundary for JavaScript. The tool is another, in a package of its own.

#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]
// What asks for URLs and passwords on any platform has no caller then.
#![cfg_attr(not(feature = "native"), allow(dead_code))]

mod batch;
mod builder;
pub mod delta;
pub mod digests;
pub mod error;
mod fields;
mod filter;
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
mod vectors;
#[cfg(all(any(feature = "npm", feature = "wasm"), target_arch = "wasm32", target_os = "unknown"))]
mod wasm;

pub use builder::Builder;
pub use delta::Delta;
pub use error::Error;
pub use filter::Filter;
pub use filters::{
    BloomFilter, CountingBloomFilter, CuckooFilter, ForeignFilter, RibbonFilter, ScalableBloomFilter,
};
pub use hash::Secret;
pub use info::FilterInfo;
pub use kind::{Kind, KindOptions};
pub use profile::Profile;

/// What the tool shares with this crate although nobody else needs it: rules that the tool checks before it reads a list,
/// and vectors that fail instead of aborting. It may change in any release, so the tool asks for exactly this version.
#[doc(hidden)]
pub mod internal {
    pub use crate::filter::require_name;
    pub use crate::layers::tags::require_tag_name;
    pub use crate::vectors::{append, copied, reserve};
}

/// The Rust code of the README, run as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct InReadme;
