//! Folders for static hosts: feeds and sharded filters, their manifests, and what a publisher believes and refuses.

pub mod feed;
pub mod folder;
pub mod guard;
pub mod key;
pub mod manifest;
pub mod parts;
pub mod publication;
pub mod shards;
pub mod state;
pub mod trust;
