//! A feed with shards, of lists or of parts that were built elsewhere.

use std::path::Path;

use anyhow::{Context, Result, ensure};

use super::run::{Made, Run, stayed};
use crate::lists::keys::List;
use crate::publishing::parts;
use crate::publishing::shards::{ShardedFeed, Writer};
use crate::publishing::split::{Sources, Split};
use crate::publishing::state::Lists;
use crate::streams::{Answer, Streams};
use crate::text::{Row, counted, grouped, in_words};

pub fn publish(mut run: Run, mut feed: ShardedFeed, streams: &mut Streams) -> Result<Answer> {
    let spent = parts::clear(&mut feed);
    let is_first = feed.is_first();
    let mut writer = Writer::new(feed);
    let made = match (run.objection.take(), &run.lists[..]) {
        (None, [dir]) if dir.is_dir() => spent.and_then(|()| run.of_parts(dir, &mut writer, streams)),
        (objection, _) => {
            if let Err(why) = spent {
                streams.warn(&format!(
                    "parts that were published may not have been deleted: {}",
                    in_words(&why)
                ));
            }
            objection.map_or_else(|| run.of_lists(&mut writer, streams), Err)
        }
    };
    let (published, rows) = match made {
        Ok(made) => made,
        Err(why) => {
            if let Err(why) = writer.take_back(streams) {
                streams.warn(&format!("what this run wrote may not have been deleted: {}", in_words(&why)));
            }
            let renewal = writer.feed.renew(run.settings.expires_in, streams);
            return Err(stayed(why, renewal, writer.feed.generation()));
        }
    };
    if is_first {
        writer.feed.print_hint(streams);
    }
    let live = writer.feed.live().context("the manifest is gone")?;
    let (shards, tags) = (live.shards, live.tags_in_words());
    let size = (u64::from(shards) + live.pages.len() as u64, live.bytes);
    let (written, written_bytes) = (writer.written, writer.written_bytes);
    let made = Made::Sharded { shards, written, written_bytes, tags };
    run.report(&writer.feed, (made, published), size, rows, streams)
}

impl Run {
    fn of_parts(&self, dir: &Path, writer: &mut Writer, streams: &mut Streams) -> Result<(bool, Vec<Row>)> {
        ensure!(
            !self.tags.any() && self.settings.allow.is_empty(),
            "a folder of parts can't be combined with tags or an allowlist"
        );
        writer.tags = writer.feed.next_tags(&self.tags, &self.without)?;
        let dir = std::path::absolute(dir).with_context(|| dir.display().to_string())?;
        writer.entries = parts::read(&dir, &writer.feed)?;
        self.require_keys(writer.count())?;
        writer.check(&self.guard, writer.count())?;
        writer.begin()?;
        parts::copy(&dir, writer)?;
        let parts = parts::remember(&dir, writer)?;
        let published = writer.publish(Lists::default(), Some(parts), &self.settings, streams)?;
        let feed = &mut writer.feed;
        if let Err(why) = parts::clear(feed) {
            streams.warn(&format!(
                "generation {} is in place; the next run deletes the parts that it was made of: {}",
                feed.generation(),
                in_words(&why)
            ));
        }
        Ok((published, vec![("read", counted(writer.count(), "key", "keys") + ", of parts")]))
    }

    fn of_lists(&self, writer: &mut Writer, streams: &mut Streams) -> Result<(bool, Vec<Row>)> {
        writer.tags = writer.feed.next_tags(&self.tags, &self.without)?;
        let feed = &writer.feed;
        let (sharding, fpr, before) = (feed.sharding()?, feed.state.identity.fpr, feed.state.lists.clone());
        let (is_first, folder) = (feed.is_first(), feed.folder.path().to_owned());
        let sources = Sources {
            lists: &self.lists,
            tags: &self.tags,
            omitted: &self.settings.omitted(),
            allow: &self.settings.allow,
            allow_wins: self.settings.allow_wins,
        };
        let (split, summary, allowed) = Split::read(sources, &sharding, &folder, streams)?;
        summary.require_lists(self.allow_empty)?;
        allowed.require_lists(self.allow_empty)?;
        // Checked before hours of work, and again after it, when the repeated keys are known.
        let entries = summary.entries();
        self.require_keys(entries)?;
        writer.check(&self.guard, entries)?;
        if is_first {
            summary.print_hint(streams);
        }
        let read = summary.in_words();
        let names = writer.tag_names();
        let tags = self.tags.any().then_some((&self.tags, &names[..]));
        // The keys of a list are too many to be held, so its entries are counted.
        let (members_counts, allowed_counts) = (summary.entries_of_lists(), allowed.entries_of_lists());
        let lists = Lists { members: summary.into_lists(members_counts), allowed: Vec::new() };
        let is_given_up = |list: &List| list.tag.as_ref().is_some_and(|tag| self.without.gives_up(tag));
        let mut replaced = self.guard.check_lists(&before.members, &lists.members, is_given_up)?;
        writer.begin()?;
        let conflicts = split.build(fpr, tags, streams, |made| writer.put(made))?;
        let mut rows = Vec::new();
        let different = writer.count() + conflicts.removed;
        let repeated = match entries - different {
            0 => String::new(),
            repeated => format!(", {} repeated", grouped(repeated)),
        };
        rows.push(("read", format!("{}{repeated}{read}", counted(different, "key", "keys"))));
        if !self.settings.allow.is_empty() {
            rows.push(("allowed", conflicts.in_words(&allowed)));
        }
        let lists = Lists { allowed: allowed.into_lists(allowed_counts), ..lists };
        let is_given_up = |list: &List| self.dropped.contains(&list.name);
        replaced.extend(self.guard.check_lists(&before.allowed, &lists.allowed, is_given_up)?);
        rows.extend(replaced.into_iter().map(|words| ("list", words)));
        self.require_keys(writer.count())?;
        writer.check(&self.guard, writer.count())?;
        writer.check_tags(&self.guard, &self.tags)?;
        let published = writer.publish(lists, None, &self.settings, streams)?;
        Ok((published, rows))
    }
}
