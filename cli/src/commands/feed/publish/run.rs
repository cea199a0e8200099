//! What a run of `feed publish` publishes, and what it says.

use std::path::PathBuf;

use anyhow::{Context, Error, Result, anyhow, ensure};
use serde::Serialize;

use crate::args::tags::{TagArgs, WithoutArgs};
use crate::lists::keys::Notices;
use crate::publishing::guard::GuardArgs;
use crate::publishing::manifest::{File, ManifestPayload};
use crate::publishing::publication::{Publication, Renewal, reported};
use crate::publishing::state::Settings;
use crate::streams::{Answer, Streams};
use crate::text::{Row, counted, grouped, in_words, per_key, time_in_words};

/// What a run publishes, and what it may do.
pub struct Run {
    pub lists: Vec<PathBuf>,
    pub tags: TagArgs,
    pub without: WithoutArgs,
    pub allow_empty: bool,
    pub guard: GuardArgs,
    pub settings: Settings,
    /// The names of the allowlists that the last run had and this one drops.
    pub dropped: Vec<String>,
    /// Why nothing new is published, if the options alone decide that.
    pub objection: Option<Error>,
    /// Keys that are in both lists. They are shown only when something is published: otherwise cron would mail them
    /// each time.
    pub notices: Notices,
    /// Whether the state was lost.
    pub is_recovered: bool,
    pub json: bool,
}

/// What a run did, for programs.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    feed_id: String,
    /// The generation in place, and whether this run made it.
    generation: u64,
    published: bool,
    count: u64,
    #[serde(flatten)]
    made: Made,
    /// All files of the feed: their number and bytes. With shards, the bytes are those of the shards.
    files: u64,
    byte_length: u64,
    /// In milliseconds since 1970.
    expires: u64,
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

impl Run {
    /// Refuses to publish a feed without keys.
    pub fn require_keys(&self, keys: u64) -> Result<()> {
        ensure!(
            keys > 0 || self.allow_empty,
            "no key is left, so nothing was published; --allow-empty publishes a feed without keys"
        );
        Ok(())
    }

    /// Says what was done. The first rows say how the lists were read.
    pub fn report<P: ManifestPayload>(
        &self,
        publication: &Publication<P>,
        (made, published): (Made, bool),
        (files, byte_length): (u64, u64),
        mut rows: Vec<Row>,
        streams: &mut Streams,
    ) -> Result<Answer> {
        let live = publication.live().context("the manifest is gone")?.head();
        if self.is_recovered {
            streams.warn(
                "the state was lost: tags, allowlists and everything else that it remembered now come from this run",
            );
        }
        if publication.is_old_copy {
            streams.warn(
                "the state was an old copy: what later runs were told, such as --allow, has to be given again",
            );
        }
        let report = Report {
            feed_id: live.identity.feed_id.clone(),
            generation: live.generation,
            published,
            count: live.count,
            made,
            files,
            byte_length,
            expires: live.expires,
        };
        rows.extend(report.rows());
        rows.push(("signed", publication.signers_in_words()));
        let generation =
            format!("generation {}, which expires {}", live.generation, time_in_words(live.expires));
        rows.push(if published { ("wrote", generation) } else { ("unchanged", generation) });
        let printed = if self.json { streams.print_json(&report) } else { streams.print_rows(&rows) };
        reported(printed, report.generation, published)?;
        Ok(Answer::Yes)
    }
}

impl Report {
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

/// Why the next generation was refused, and what became of the old one. Clients must not lose the list that they have
/// because the new one is wrong for days, so the old one is signed anew if it is about to expire.
pub fn stayed(why: Error, renewal: Result<Renewal>, generation: u64) -> Error {
    let words = in_words(&why);
    match renewal {
        // Another run has taken over, so nothing is this one's any more.
        Err(error) if in_words(&error) == words => why,
        Err(error) => error.context(words),
        Ok(Renewal::None) => why,
        Ok(Renewal::NotYet) => anyhow!("{words}; generation {generation} stays"),
        Ok(Renewal::Signed) => anyhow!("{words}; the old list was signed anew as generation {generation}"),
        Ok(Renewal::Lost) => anyhow!("{words}; the state was lost, so no old list was signed anew"),
        Ok(Renewal::Unknown) => anyhow!("{words}; the state is an old copy, so no old list was signed anew"),
    }
}
