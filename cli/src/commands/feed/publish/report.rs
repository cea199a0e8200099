//! What a run of `feed publish` says.

use anyhow::{Context, Result};
use serde::Serialize;

use crate::publishing::manifest::File;
use crate::publishing::plan::Step;
use crate::streams::{Streams, unless_closed};
use crate::text::{Row, counted, grouped, per_key, time_in_words};

/// What a run did, for programs.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report<'a> {
    pub feed_id: &'a str,
    /// The generation in place, and whether this run made it.
    pub generation: u64,
    pub published: bool,
    pub count: u64,
    /// How many of the keys others cover.
    pub covered: u64,
    #[serde(flatten)]
    pub made: Made,
    /// All files of the feed: their number and bytes. With shards, the bytes are those of the shards.
    pub files: u64,
    pub byte_length: u64,
    /// In milliseconds since 1970.
    pub expires: u64,
    /// Whether it only said what would be done.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
}

/// What a run made.
#[derive(Serialize)]
#[serde(untagged)]
pub enum Made {
    #[serde(rename_all = "camelCase")]
    Whole {
        added: u64,
        removed: u64,
        /// Keys that have other tags than before; none in a feed without tags.
        #[serde(skip_serializing_if = "Option::is_none")]
        retagged: Option<u64>,
        /// The file that this run made.
        file: Option<File>,
        /// Why it is a new base, if it is one.
        #[serde(skip)]
        because: Option<String>,
    },
    #[serde(rename_all = "camelCase")]
    Sharded {
        shards: u32,
        /// The shards that this run wrote: their number and bytes.
        written: u64,
        written_bytes: u64,
        /// How many keys have each tag, in words.
        #[serde(skip)]
        tags: Option<String>,
    },
}

impl Report<'_> {
    /// Prints it. The first rows say how the lists were read.
    pub fn print(
        &self,
        json: bool,
        mut rows: Vec<Row>,
        signers: String,
        steps: &[Step],
        streams: &mut Streams,
    ) -> Result<()> {
        let generation =
            format!("generation {}, which expires {}", self.generation, time_in_words(self.expires));
        rows.extend(self.rows());
        rows.push(("signed", signers));
        if self.dry_run {
            rows.extend(steps.iter().map(|step| ("would", step.in_words())));
            let unchanged = if self.published { "" } else { "unchanged, " };
            rows.push(("result", unchanged.to_owned() + &generation));
        } else {
            rows.push((if self.published { "wrote" } else { "unchanged" }, generation));
        }
        let printed = unless_closed(if json { streams.print_json(self) } else { streams.print_rows(&rows) });
        if self.published && !self.dry_run {
            return printed.with_context(|| format!("generation {} is published", self.generation));
        }
        printed
    }

    /// The same for people.
    fn rows(&self) -> Vec<Row> {
        let &Report { files, byte_length, count, .. } = self;
        let mut rows = Vec::new();
        match &self.made {
            Made::Whole { added, removed, retagged, file, because } => {
                let changes =
                    format!("{} added, {} removed", counted(*added, "key", "keys"), grouped(*removed));
                rows.push(("changes", changes));
                rows.extend(retagged.filter(|&keys| keys > 0).map(|keys| {
                    ("tags", format!("{} other tags than before", counted(keys, "key has", "keys have")))
                }));
                rows.extend(file.as_ref().map(|File { kind, bytes, .. }| {
                    ("file", format!("{} of {} bytes", kind.in_words(), grouped(*bytes)))
                }));
                rows.extend(because.clone().map(|reason| ("because", reason)));
                let files = counted(files, "file", "files");
                rows.push(("feed", format!("{files}, {} bytes in total", grouped(byte_length))));
            }
            Made::Sharded { shards, written, written_bytes, tags } => {
                rows.extend(tags.clone().map(|tags| ("tags", tags)));
                let files = counted(*written, "file", "files");
                rows.push(("changes", format!("{files} of {} bytes", grouped(*written_bytes))));
                let shards = counted((*shards).into(), "shard", "shards");
                let size = grouped(byte_length);
                rows.push((
                    "feed",
                    format!("{shards}, {size} bytes in total{}", per_key(byte_length, count)),
                ));
            }
        }
        rows
    }
}

impl Step {
    fn in_words(&self) -> String {
        match self {
            Step::Require => "read the files of the last list".to_owned(),
            Step::Remember(_) => "save the state".to_owned(),
            Step::Write => "write the new files".to_owned(),
            Step::Put(_) => "put the manifest in place".to_owned(),
            Step::Spend => "delete the parts that are used up".to_owned(),
            Step::Delete(files) => {
                format!("delete {} that nobody needs", counted(files.len() as u64, "file", "files"))
            }
        }
    }
}
