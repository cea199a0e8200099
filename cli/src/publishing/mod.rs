//! Feeds: folders for static hosts, with shards or without, their manifests, and what a publisher trusts and refuses.

// Nothing publishes by these yet: `declared`, `plan`, `record`, `refusal` and `sketch`.
#[allow(dead_code)]
pub mod declared;
pub mod description;
pub mod feed;
pub mod folder;
pub mod guard;
pub mod key;
pub mod manifest;
pub mod parts;
#[allow(dead_code)]
pub mod plan;
pub mod publication;
pub mod published;
#[allow(dead_code)]
pub mod record;
#[allow(dead_code)]
pub mod refusal;
pub mod shards;
#[allow(dead_code)]
pub mod sketch;
pub mod split;
pub mod state;
pub mod trust;
