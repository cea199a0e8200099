//! Describes deltas.

use anyhow::Result;
use bloom_wasm::Delta;
use serde::Serialize;

use crate::text::{Row, grouped, keyed_in_words, time_in_words};

/// A description of a delta, for programs.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DeltaInfo<'a> {
    kind: &'static str,
    /// The id of the blob that it is for, in 16 hexadecimal digits.
    parent: String,
    profile: &'static str,
    keyed: bool,
    /// The number of different keys of the child; null if the delta changes no key.
    count: Option<u32>,
    byte_length: usize,
    /// The number of layers that it adds.
    layers: usize,
    name: Option<&'a str>,
    created_at: Option<u64>,
    /// The delta's own id.
    id: String,
}

impl<'a> DeltaInfo<'a> {
    pub fn of(delta: &'a Delta) -> Result<Self> {
        Ok(DeltaInfo {
            kind: "delta",
            parent: format!("{:016x}", delta.parent()),
            profile: delta.profile().name(),
            keyed: delta.hashing().is_keyed(),
            count: delta.count(),
            byte_length: delta.encode()?.len(),
            layers: delta.layers().len(),
            name: delta.name(),
            created_at: delta.created_at(),
            id: format!("{:016x}", delta.id()?),
        })
    }

    /// The same in words.
    pub fn rows(&self) -> Vec<Row> {
        let count = self.count.map_or("as before".to_owned(), |count| grouped(count.into()));
        vec![
            ("kind", "delta: brings a blob up to date, as a file of a feed".to_owned()),
            ("for", format!("the blob with the id {}", self.parent)),
            ("profile", self.profile.to_owned()),
            ("name", self.name.unwrap_or("none").to_owned()),
            ("created", self.created_at.map_or("unknown".to_owned(), time_in_words)),
            ("keys", count),
            ("keyed", keyed_in_words(self.keyed)),
            ("layers", self.layers.to_string()),
            ("size", format!("{} bytes", grouped(self.byte_length as u64))),
            ("id", format!("{}, of length and checksum", self.id)),
        ]
    }
}
