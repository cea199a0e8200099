//! Files: read whole, written whole or not at all, and locked.

pub mod blob;
pub mod delta;
pub mod lock;
pub mod read;
pub mod signals;
pub mod write;
