//! The commands, a file each. None imports another.

pub mod build;
pub mod check;
pub mod completions;
pub mod export;
pub mod feed;
pub mod import;
pub mod info;
pub mod merge;
pub mod verify;
