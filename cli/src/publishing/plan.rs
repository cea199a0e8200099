//! What a run of `feed publish` does, as one value that is made before anything is done: from what is known, without a
//! disk, a clock or chance. [`Known::publish`] and [`Known::renew`] make it; carrying it out is a loop over its steps.
//! FEED-FORMAT.md, "What a publisher must do".

use std::collections::BTreeMap;

use anyhow::{Result, bail, ensure};
use ed25519_dalek::SigningKey;

use super::declared::Sources;
use super::manifest::{Head, Identity, Manifest, ManifestPayload};
use super::record::{DigestFile, Parts, Record, Unlisted, Whole};
use super::refusal::{Change, Lists, retagged};
use super::sources::Gave;

/// The highest generation that is believed or signed. The seconds since 1970 reach it in 34,000 years.
pub const MAX_GENERATION: u64 = 1 << 40;

/// What is known before a run. Times are in milliseconds since 1970.
pub struct Known<P> {
    /// What the state says, and the manifest that it has; none for both if there is no state.
    pub record: Option<Record>,
    pub last: Option<Seen<P>>,
    pub live: Live<P>,
    /// The time, and the one of publication.
    pub clock: u64,
    pub now: u64,
    /// How long a file that is no longer needed stays; none if the feed doesn't say so because of a mistake.
    pub grace: Option<u64>,
    /// The keys that sign; none for an unsigned feed.
    pub signers: Vec<SigningKey>,
}

/// The manifest in the folder that is served.
pub enum Live<P> {
    None,
    /// One that the feed's own keys have signed, or that the state knows.
    Ours(Seen<P>),
    /// One that isn't believed, and why.
    Strange(String),
}

/// A manifest.
#[derive(Clone)]
pub struct Seen<P> {
    pub text: String,
    /// The hash of its payload.
    pub hash: String,
    pub payload: P,
    /// Whether the keys of this run have signed it, and no others.
    pub is_signed_by_all: bool,
    /// Whether no others have signed it than the keys of this run and former ones.
    pub is_signed_by_known: bool,
}

/// What the lists gave, made into a generation, and what may become of it.
pub struct Next<'a, P> {
    pub made: Made<P>,
    pub gave: Gave,
    /// What has changed, if the keys of the last generation are known one by one.
    pub changes: Option<Changes>,
    /// How many keys each tag has.
    pub tags: BTreeMap<String, u64>,
    pub sources: &'a Sources,
}

/// A generation.
pub struct Made<P> {
    /// What its manifest says, apart from its number and times.
    pub payload: P,
    pub expires_in: u64,
    pub whole: Option<Whole>,
    pub parts: Option<Parts>,
    pub outputs: Outputs,
}

/// The files that must be written.
#[derive(Default)]
pub struct Outputs {
    /// Those of the state's folder.
    pub digests: Vec<(DigestFile, Vec<u64>)>,
    /// Those that are served, by their names.
    pub files: Vec<(String, Vec<u8>)>,
}

/// The keys that are new, that are gone, that stay, and those of them that get other tags.
#[derive(Debug, Clone, Copy)]
pub struct Changes {
    pub added: u64,
    pub removed: u64,
    pub stay: u64,
    pub retagged: u64,
}

/// What a run does, in this order. If a step fails, none that follows is carried out: the next run goes on from what is
/// there.
pub type Plan = Vec<Step>;

/// What becomes of the last list, if the next one is refused.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Renewal {
    /// There is none in place, or none that is this feed's.
    None,
    /// It lasts long enough.
    NotYet,
    /// It is signed anew, with this number.
    Signed(u64),
    /// It isn't known, since the state is an old copy: the manifest in place has another.
    Old,
    /// It isn't known, since the state was lost.
    Lost,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Nothing is signed unless the files of the last manifest are whole.
    Require,
    /// Saves the state.
    Remember(Box<Record>),
    /// Writes the files that were made.
    Write,
    /// Puts this manifest in place.
    Put(String),
    /// Deletes the parts that are used up, and then forgets them.
    Spend,
    /// Deletes these files, and then forgets those that are gone.
    Delete(Vec<Unlisted>),
}

impl<P: ManifestPayload> Known<P> {
    pub fn ours(&self) -> Option<&Seen<P>> {
        if let Live::Ours(seen) = &self.live { Some(seen) } else { None }
    }

    /// The manifests of the state and in the folder.
    pub fn both(&self) -> impl Iterator<Item = &Seen<P>> {
        self.last.iter().chain(self.ours())
    }

    /// The files that these name.
    pub fn named(&self) -> Vec<String> {
        self.both().flat_map(|seen| seen.payload.files()).collect()
    }

    /// The highest generation that was signed.
    pub fn signed(&self) -> u64 {
        self.record.as_ref().map_or(0, |record| record.signed)
    }

    /// Whether the manifest in place may have a newer list than the state. Numbers and times don't tell, since two copies
    /// of a state may go on from the same generation.
    pub fn is_old(&self) -> bool {
        let follows = |record: &Record| self.ours().is_none_or(|live| record.follows(&live.hash));
        self.record.as_ref().is_some_and(|record| !follows(record))
    }

    /// Whether the manifest in place is the one that the state has.
    pub fn is_in_place(&self) -> bool {
        self.ours().zip(self.last.as_ref()).is_some_and(|(live, last)| live.text == last.text)
    }

    /// The manifest with the list that clients have, or soon will.
    pub fn before(&self) -> Option<&Seen<P>> {
        if self.is_old() { self.ours() } else { self.last.as_ref().or(self.ours()) }
    }

    /// The manifest whose keys are those that clients may know.
    fn newest(&self) -> Option<&Seen<P>> {
        let (live, last) = (self.ours(), self.last.as_ref());
        // Of two with one number it is the state's, since a host can add signatures to its own.
        let number = |seen: &Seen<P>| seen.payload.head().generation;
        match (live, last) {
            (Some(live), Some(last)) => Some(if number(live) > number(last) { live } else { last }),
            (live, last) => live.or(last),
        }
    }

    /// Fails if this run may sign nothing, not even the last list anew.
    pub fn require_signable(&self) -> Result<()> {
        if let (Live::Strange(why), None) = (&self.live, &self.last) {
            bail!("{why}; and no state tells what was published");
        }
        let is_known = self.newest().is_none_or(|newest| newest.is_signed_by_known);
        ensure!(
            is_known,
            "another key has signed the feed until now, and clients may know only that one: add it to `sign`; if it is \
             lost, or no client needs it any more, add its public key to `former-keys`"
        );
        self.number().map(|_| ())
    }

    /// Fails for a feed that contradicts what was published: clients rely on it.
    pub fn require_same(&self, identity: &Identity, shards: Option<u32>) -> Result<()> {
        for before in self.both().map(|seen| &seen.payload) {
            if let Some((key, was)) = identity.difference(&before.head().identity) {
                bail!("`{key}` was {was}, and a feed keeps it for ever; begin another feed to change that");
            }
            let was = before.shards().map_or("none".to_owned(), |shards| shards.to_string());
            ensure!(
                before.shards() == shards,
                "`shards` was {was}, and a feed keeps it for ever; begin another feed to change that"
            );
        }
        Ok(())
    }

    /// The number of the next generation: one that nobody has seen, whatever was lost or restored.
    fn number(&self) -> Result<u64> {
        let live = self.ours().map_or(0, |live| live.payload.head().generation);
        let known = live.max(self.signed());
        ensure!(
            known < MAX_GENERATION,
            "generation {known} is much too high: the feed may have been taken over; docs/hosting.md says how to go on"
        );
        Ok((known + 1).max(self.clock / 1000))
    }

    /// What the lists of the last generation gave: those of members, and of keys that must be absent.
    pub fn last_lists(&self) -> [Lists; 2] {
        self.record
            .as_ref()
            .map_or_else(Default::default, |record| [record.lists.clone(), record.allow.clone()])
    }

    /// Why lists are refused, whatever is made of them.
    pub fn objection_to_lists(&self, gave: &Gave, sources: &Sources) -> Option<String> {
        let lists = &gave.members.lists;
        let [before, _] = self.last_lists();
        let is_lost = self.last.is_none() && self.ours().is_some();
        sources
            .of_lists(lists, &sources.lists)
            .or_else(|| sources.after([&before, lists], &sources.lists))
            .or_else(|| self.objection_to_allowed(&gave.allowed.lists, sources))
            .or_else(|| sources.renamed([&before, lists]))
            .or_else(|| is_lost.then(|| sources.unknown(lists)).flatten())
    }

    /// The same for those of keys that must be absent.
    pub fn objection_to_allowed(&self, allow: &Lists, sources: &Sources) -> Option<String> {
        let [_, before] = self.last_lists();
        sources.of_lists(allow, &sources.allow).or_else(|| sources.after([&before, allow], &sources.allow))
    }

    /// How many keys the last generation had of lists that are dropped, or of those of them with a tag.
    fn dropped_keys(&self, lists: &Lists, tag: Option<&str>, sources: &Sources) -> u64 {
        // An old state doesn't tell which lists the last generation had.
        if self.is_old() { 0 } else { sources.dropped_keys([&self.last_lists()[0], lists], tag) }
    }

    /// Why a generation with this many keys of these lists is refused. `changes` say more than the count, if they are
    /// known.
    pub fn objection_to_count(
        &self,
        count: u64,
        changes: Option<Changes>,
        lists: &Lists,
        sources: &Sources,
    ) -> Option<String> {
        let may_be_empty = !sources.lists.is_empty() && sources.lists.values().all(|list| list.allow_empty);
        if count == 0 && !may_be_empty {
            let or =
                if sources.lists.is_empty() { "" } else { "; `allow-empty = true` of all lists allows that" };
            return Some("no key is left".to_owned() + or);
        }
        let last = self.before().map_or(0, |seen| seen.payload.head().count);
        let total = match changes.filter(|changes| !self.is_old() && changes.stay + changes.removed >= last) {
            Some(changes) => Change { before: last, removed: changes.removed },
            None => Change::of_counts(last, count),
        };
        sources.removed("", total, self.dropped_keys(lists, None, sources))
    }

    /// Why the next list is refused, if it is.
    fn objection(&self, next: &Next<P>) -> Option<String> {
        let Next { made, gave, changes, tags, sources } = next;
        let lists = &gave.members.lists;
        let head = made.payload.head();
        let of_tags = || {
            let had = |tag| self.record.as_ref().and_then(|record| record.tags.get(tag));
            let mut both =
                tags.iter().filter_map(|(tag, now)| Some((tag, Change::of_counts(*had(tag)?, *now))));
            both.find_map(|(tag, change)| {
                let dropped = self.dropped_keys(lists, Some(tag), sources);
                sources.removed(&format!("{tag}: "), change, dropped)
            })
        };
        let (stay, retagged, dropped) = match changes {
            // A key of a dropped list that another list has loses a tag.
            Some(Changes { stay, retagged, removed, .. }) if *retagged > 0 => {
                (*stay, *retagged, self.dropped_keys(lists, None, sources).saturating_sub(*removed))
            }
            _ => {
                let (stay, retagged) = retagged(&self.last_lists()[0], lists);
                (stay, retagged, 0)
            }
        };
        self.require_same(&head.identity, made.payload.shards())
            .err()
            .map(|why| format!("{why:#}"))
            .or_else(|| self.objection_to_lists(gave, sources))
            .or_else(|| self.objection_to_count(head.count, *changes, lists, sources))
            .or_else(of_tags)
            .or_else(|| sources.retagged(stay, retagged, dropped))
    }

    /// What a run does before it reads any list: it deletes what failed or killed runs left.
    pub fn tidy(&self) -> Plan {
        let record = self.start();
        let is_used_up = record.parts.as_ref().is_some_and(|parts| parts.published || self.is_in_place());
        let delete = self.delete(&record, self.ours().map(|live| &live.payload));
        let is_known = self.record.as_ref().map_or(record.unlisted.is_empty(), |known| *known == record);
        let remember = (!is_known).then(|| Step::Remember(Box::new(record)));
        let spend = is_used_up.then_some(Step::Spend);
        remember.into_iter().chain(spend).chain(delete).collect()
    }

    /// The state at the start of a run.
    fn start(&self) -> Record {
        let mut record = self.record.clone().unwrap_or_else(Record::new);
        let named = self.last.as_ref().map_or(Vec::new(), |last| last.payload.files());
        let live = self.ours().map_or(Vec::new(), |live| live.payload.files());
        record.unlist(live, &named, self.now);
        let is_sure = match (&self.last, self.ours()) {
            (Some(_), Some(live)) => record.follows(&live.hash),
            (last, live) => last.is_none() && live.is_none(),
        };
        for unlisted in &mut record.unlisted {
            // Runs that this state doesn't know may have named such a file again, and dropped it a moment ago. And a
            // clock may have been wrong.
            let since = if is_sure { unlisted.since } else { Some(self.now) };
            unlisted.since = since.map(|since| since.min(self.now));
        }
        record
    }

    /// What a run does that publishes this, and what its manifest says; none if the list, and the manifest in place, are
    /// as they were.
    ///
    /// # Errors
    /// If it is refused.
    pub fn publish(&self, next: &Next<P>) -> Result<(Option<P>, Plan)> {
        self.require_signable()?;
        if let Some(why) = self.objection(next) {
            bail!(why);
        }
        let made = &next.made;
        let is_same = made.outputs.files.is_empty() && self.is_fresh(made.expires_in);
        let mut record = self.start();
        record.lists.clone_from(&next.gave.members.lists);
        record.allow.clone_from(&next.gave.allowed.lists);
        (record.conflicts, record.tags) = (next.gave.conflicts.kept, next.tags.clone());
        if is_same && self.last.as_ref().is_some_and(|last| made.payload.is_as(&last.payload)) {
            let mut steps = Vec::new();
            let delete = self.delete(&record, self.ours().map(|live| &live.payload));
            if let Some(parts) = &made.parts {
                // They are those in place, so they are used up.
                record.parts = Some(Parts { published: true, ..parts.clone() });
                steps = vec![Step::Write, Step::Remember(Box::new(record)), Step::Spend];
            } else {
                // The files may hold all that there is to hold of other lists.
                if record.whole != made.whole {
                    record.whole.clone_from(&made.whole);
                    steps.push(Step::Write);
                }
                if self.record.as_ref() != Some(&record) {
                    steps.push(Step::Remember(Box::new(record)));
                }
            }
            if !steps.is_empty() {
                steps.extend(delete);
            }
            return Ok((None, steps));
        }
        let (payload, steps) = self.sign(made, record)?;
        Ok((Some(payload), steps))
    }

    /// The manifest whose list may be signed anew, or why there is none. Nothing old is signed as new.
    pub fn renewable(&self) -> Result<&Seen<P>, Renewal> {
        match (&self.last, self.ours()) {
            (Some(last), Some(live)) if self.is_old() && !is_same_list(&last.payload, &live.payload) => {
                Err(Renewal::Old)
            }
            (Some(last), Some(_)) => Ok(last),
            (None, Some(_)) => Err(Renewal::Lost),
            (_, None) => Err(Renewal::None),
        }
    }

    /// What a run does if the next list is refused. Clients must not lose the list that they have because the next one is
    /// wrong for days, so it is signed anew for as long again if it is about to expire. `again` are its files, made anew,
    /// if they were damaged.
    ///
    /// # Errors
    /// If it may sign nothing.
    pub fn renew(&self, again: Option<&Made<P>>) -> Result<(Renewal, Plan)> {
        self.require_signable()?;
        let last = match self.renewable() {
            Ok(last) => last,
            Err(renewal) => return Ok((renewal, Vec::new())),
        };
        let Head { created_at, expires, .. } = *last.payload.head();
        let expires_in = expires.saturating_sub(created_at);
        if again.is_none() && self.is_fresh(expires_in) {
            return Ok((Renewal::NotYet, Vec::new()));
        }
        let record = self.start();
        let as_it_was = || Made {
            payload: last.payload.clone(),
            expires_in,
            whole: record.whole.clone(),
            parts: record.parts.clone().filter(|parts| !parts.published),
            outputs: Outputs::default(),
        };
        let (payload, mut steps) = match again {
            Some(again) => self.sign(again, record)?,
            None => self.sign(&as_it_was(), record)?,
        };
        if again.is_none() {
            steps.insert(0, Step::Require);
        }
        Ok((Renewal::Signed(payload.head().generation), steps))
    }

    /// Whether the state's manifest is in place, is signed as it should be, and more than half of its lifetime is left.
    fn is_fresh(&self, expires_in: u64) -> bool {
        let is_fresh =
            |live: &Seen<P>| live.is_signed_by_all && live.payload.head().is_fresh(self.now, expires_in);
        self.is_in_place() && self.ours().is_some_and(is_fresh)
    }

    /// What the next manifest says, and the steps that put it in place and delete what nobody needs any more.
    fn sign(&self, made: &Made<P>, mut record: Record) -> Result<(P, Plan)> {
        let mut payload = made.payload.clone();
        let head = payload.head_mut();
        head.generation = self.number()?;
        (head.created_at, head.expires) = (self.now, self.now.saturating_add(made.expires_in));
        let manifest = Manifest::sign(&payload, &self.signers)?;
        let text = manifest.text()?;
        let mut steps = Vec::new();
        // The files that the state has already are there.
        let has_new_parts = made.parts.is_some() && made.parts != record.parts;
        if !made.outputs.files.is_empty() || has_new_parts || made.whole != record.whole {
            let mut announced = self.start();
            made.outputs.files.iter().for_each(|(file, _)| announced.announce(file));
            steps.extend([Step::Remember(Box::new(announced)), Step::Write]);
        }
        record.unlist(self.named(), &payload.files(), self.now);
        self.ours().into_iter().for_each(|live| record.follow(live.hash.clone()));
        record.follow(manifest.hash());
        record.signed = payload.head().generation;
        record.manifest.clone_from(&text);
        record.whole.clone_from(&made.whole);
        // Those that are used up are remembered until they are deleted.
        record.parts = made.parts.clone().or(record.parts.filter(|parts| parts.published));
        let delete = self.delete(&record, Some(&payload));
        steps.extend([Step::Remember(Box::new(record.clone())), Step::Put(text)]);
        if let Some(parts) = record.parts.as_mut().filter(|parts| !parts.published) {
            // Now they are, whatever is in the folder later.
            parts.published = true;
            steps.extend([Step::Remember(Box::new(record)), Step::Spend]);
        }
        steps.extend(delete);
        Ok((payload, steps))
    }

    /// The files that nobody needs any more: no client, and no manifest.
    fn delete(&self, record: &Record, live: Option<&P>) -> Option<Step> {
        let live = live.map_or(Vec::new(), |live| live.files());
        let is_fetched = |since: u64| self.grace.is_none_or(|grace| self.now < since.saturating_add(grace));
        let stays =
            |unlisted: &&Unlisted| unlisted.since.is_some_and(is_fetched) || live.contains(&unlisted.sha256);
        let due: Vec<_> = record.unlisted.iter().filter(|unlisted| !stays(unlisted)).cloned().collect();
        (!due.is_empty()).then_some(Step::Delete(due))
    }
}

/// Whether both have one list of one feed.
fn is_same_list<P: ManifestPayload>(one: &P, other: &P) -> bool {
    let id = |payload: &P| payload.head().identity.feed_id.clone();
    id(one) == id(other) && one.files() == other.files()
}

#[cfg(test)]
mod tests;
