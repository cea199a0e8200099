//! Feeds: folders for static hosts, with shards or without, their manifests, and what a publisher trusts and refuses.

pub mod declared;
pub mod folder;
pub mod key;
pub mod manifest;
pub mod parts;
pub mod plan;
pub mod publication;
pub mod published;
pub mod record;
pub mod refusal;
pub mod shards;
pub mod sources;
pub mod split;
pub mod state;
pub mod whole;
