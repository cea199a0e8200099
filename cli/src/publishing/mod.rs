//! Feeds: folders for static hosts, with shards or without, their manifests, and what a publisher trusts and refuses.

// Nothing publishes by it yet.
#[allow(dead_code)]
pub mod declared;
pub mod description;
pub mod feed;
pub mod folder;
pub mod guard;
pub mod key;
pub mod manifest;
pub mod parts;
pub mod publication;
pub mod published;
pub mod shards;
pub mod split;
pub mod state;
pub mod trust;
