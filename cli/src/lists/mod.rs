//! Lists: read as a stream, on all cores, line by line to keys.

pub mod digests;
pub mod keys;
pub mod lines;
mod look;
pub mod sketch;
pub mod spill;
