//! A feed of one filter: a base and deltas.

use anyhow::{Context, Error, Result};
use bloom_wasm::digests::sort;
use bloom_wasm::internal::copied;
use bloom_wasm::layers::Tagged;

use super::run::{Made, Run, stayed};
use crate::lists::digests::{allow, members, with_tags};
use crate::lists::keys::List;
use crate::publishing::feed::{Feed, NewFile, Next};
use crate::publishing::state::Lists;
use crate::streams::{Answer, Streams};
use crate::text::{Row, counted};

pub fn publish(mut run: Run, mut feed: Feed, streams: &mut Streams) -> Result<Answer> {
    let expires_in = run.settings.expires_in;
    let is_first = feed.is_first();
    let (next, rows, made, published) = match run.put(&mut feed, streams) {
        Ok(put) => put,
        Err(Refused { why, allowed }) => {
            let renewal = feed.renew(allowed, expires_in, streams);
            return Err(stayed(why, renewal, feed.generation()));
        }
    };
    if published {
        run.notices.print(streams);
    }
    if is_first {
        feed.print_hint(streams);
    }
    let (file, because) = match made {
        Some(made) => (Some(made.file.file), made.replaced),
        None => (None, None),
    };
    let files = &feed.state.files;
    let size = (files.len() as u64, files.iter().map(|file| file.file.bytes).sum());
    let retagged = run.tags.any().then_some(next.retagged);
    let made = Made::Whole { added: next.added, removed: next.removed.len() as u64, retagged, file, because };
    run.report(&feed, (made, published), size, rows, streams)
}

/// Why there is no next generation: its lists are refused, or it can't be made or written.
struct Refused {
    why: Error,
    /// The keys that must be absent, sorted, unless their lists can't be read or are refused themselves.
    allowed: Option<Vec<u64>>,
}

/// What the lists hold.
struct Read {
    /// The digests of the members and of the allowed keys, sorted.
    members: Vec<u64>,
    allowed: Vec<u64>,
    /// The members with their tags, if they have any.
    tagged: Option<Tagged>,
    /// Why a list looks like a failed download, if one does: first of members, then of allowed keys.
    objections: [Result<()>; 2],
    lists: Lists,
    /// The rows to print about the lists.
    rows: Vec<Row>,
}

impl Run {
    /// Puts the next generation in place. Returns what [`Self::next`] does, its file, and whether it is a new one.
    fn put(
        &mut self,
        feed: &mut Feed,
        streams: &mut Streams,
    ) -> Result<(Next, Vec<Row>, Option<NewFile>, bool), Refused> {
        let (next, rows) = self.next(feed, streams)?;
        let put = next.make(feed).and_then(|made| {
            let published = feed.publish(&next, made.as_ref(), &self.settings, streams)?;
            Ok((made, published))
        });
        match put {
            Ok((made, published)) => Ok((next, rows, made, published)),
            Err(why) => Err(Refused { why, allowed: Some(next.into_allowed()) }),
        }
    }

    /// The next generation, and the rows to print about the lists.
    fn next(&mut self, feed: &Feed, streams: &mut Streams) -> Result<(Next, Vec<Row>), Refused> {
        let before = &feed.state.lists;
        let has_none = self.settings.allow.is_empty() && before.allowed.is_empty();
        let unread = |why| Refused { why, allowed: has_none.then(Vec::new) };
        let Read { members, tagged, allowed, objections: [of_members, of_allowed], lists, mut rows } =
            match self.objection.take() {
                Some(why) => Err(why),
                None => self.read(feed, streams),
            }
            .map_err(unread)?;
        let next = Next::of(feed, members, tagged, allowed, lists).map_err(unread)?;
        let is_given_up = |list: &List| self.dropped.contains(&list.name);
        let allowed = of_allowed
            .and_then(|()| self.guard.check_lists(&before.allowed, &next.lists().allowed, is_given_up));
        match of_members.and_then(|()| self.check(&next, feed)) {
            Ok(mut replaced) => {
                replaced.extend(allowed.map_err(|why| Refused { why, allowed: None })?);
                rows.extend(replaced.into_iter().map(|words| ("list", words)));
                Ok((next, rows))
            }
            Err(why) => Err(Refused { why, allowed: allowed.is_ok().then(|| next.into_allowed()) }),
        }
    }

    fn read(&mut self, feed: &Feed, streams: &mut Streams) -> Result<Read> {
        let (profile, hashing) = (feed.state.identity.profile()?, feed.hashing()?);
        let tags = feed.tags(streams)?;
        let before: Vec<_> = tags.iter().map(String::as_str).collect();
        self.without.check(&before, &feed.state.lists.tags().collect::<Vec<_>>(), &self.tags)?;
        let omitted = self.settings.omitted();
        let (mut members, summary) = members(&self.lists, profile, hashing, &omitted, streams)?;
        let mut counts = summary.count_keys(&mut members);
        sort(&mut members)?;
        let (mut tagged, summary) = if self.tags.any() {
            let untagged = std::mem::take(&mut members);
            let read = with_tags(&self.tags, untagged, summary, profile, hashing, &omitted, streams)?;
            members = copied(read.keys.digests())?;
            counts.extend(read.counts);
            (Some(read.keys), read.summary)
        } else {
            (None, summary)
        };
        // Only now, since the feed keeps its profile.
        if feed.is_first() {
            summary.print_hint(streams);
        }
        let mut rows = vec![("read", counted(members.len() as u64, "key", "keys") + &summary.in_words())];
        let mut objections = [summary.require_lists(self.allow_empty), Ok(())];
        let mut lists = Lists { members: summary.into_lists(counts), allowed: Vec::new() };
        let mut allowed = Vec::new();
        if !self.settings.allow.is_empty() {
            let its = allow(
                &self.settings.allow,
                self.settings.allow_wins,
                hashing,
                profile,
                &mut members,
                streams,
            )?;
            allowed = its.digests;
            sort(&mut members)?;
            sort(&mut allowed)?;
            objections[1] = its.summary.require_lists(self.allow_empty);
            self.notices = its.notices;
            lists.allowed = its.summary.into_lists(its.counts);
            rows.push(("allowed", its.words));
        }
        if let Some(tagged) = &mut tagged {
            tagged.keep(&members)?;
        }
        Ok(Read { members, tagged, allowed, objections, lists, rows })
    }

    /// Fails for lists that are more likely a mistake than intended. Returns which lists have replaced which.
    fn check(&self, next: &Next, feed: &Feed) -> Result<Vec<String>> {
        self.require_keys(next.count())?;
        let is_given_up = |list: &List| list.tag.as_ref().is_some_and(|tag| self.without.gives_up(tag));
        let (total, now) = (next.change(feed)?, &next.lists().members);
        let of_lists = self.guard.check_lists(&feed.state.lists.members, now, is_given_up);
        // Of several lists, people want to know which one it is.
        if now.len() > 1 && of_lists.is_err() {
            return of_lists;
        }
        self.guard.check(&total)?;
        // An allowlist may have removed the keys of a whole list.
        for (name, change) in next.tag_changes().iter().filter(|(name, _)| self.tags.has(name)) {
            self.guard.check(change).with_context(|| format!("--tag {name}"))?;
        }
        of_lists
    }
}
