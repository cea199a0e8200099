use std::collections::{BTreeMap, BTreeSet};

use bloom_wasm::Profile;
use bloom_wasm::hash::Hashing;
use proptest::prelude::*;

use super::super::declared::{List, Share};
use super::super::manifest::{FeedPayload, File, FileKind, People};
use super::super::record::Listed;
use super::*;
use crate::lists::sketch::Sketch;
use crate::rates::random;

const HOUR: u64 = 60 * 60 * 1000;
const DAY: u64 = 24 * HOUR;
/// The first list has this many keys, and each newer one has one more, so the number of keys gives its age.
const KEYS: u64 = 1000;
/// Another list has this many keys, while there is one. Its keys don't count for the age.
const MORE: u64 = 100_000;

/// What happens between two runs, or what a run is given.
#[derive(Debug, Clone)]
enum Event {
    /// A run, with what it is given; all steps after the first few fail, if that is said.
    Run(Given, Option<usize>),
    Hours(u64),
    StateLost,
    /// Restores the state from this many runs ago.
    StateRestored(usize),
    ManifestLost,
    /// The host goes back to the manifest from this many generations ago.
    RolledBack(usize),
    Planted,
    /// The other list is dropped, or comes back.
    Dropped(bool),
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Given {
    /// The list as it was, or a newer one.
    List { is_new: bool, all: bool },
    /// Half of it.
    Half,
    /// It can't be read.
    Nothing,
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let given = prop_oneof![
        6 => any::<(bool, bool)>().prop_map(|(is_new, all)| Given::List { is_new, all }),
        1 => Just(Given::Half),
        2 => Just(Given::Nothing),
    ];
    let stop = prop_oneof![3 => Just(None), 2 => (0_usize..8).prop_map(Some)];
    let event = prop_oneof![
        10 => (given, stop).prop_map(|(given, stop)| Event::Run(given, stop)),
        6 => (1..100_u64).prop_map(Event::Hours),
        1 => Just(Event::StateLost),
        1 => (1..8_usize).prop_map(Event::StateRestored),
        1 => Just(Event::ManifestLost),
        1 => (1..8_usize).prop_map(Event::RolledBack),
        1 => Just(Event::Planted),
        2 => any::<bool>().prop_map(Event::Dropped),
    ];
    proptest::collection::vec(event, 1..40)
}

/// A folder, a state and a clock.
#[derive(Default)]
struct World {
    clock: u64,
    live: Option<String>,
    files: BTreeSet<String>,
    record: Option<Record>,
    /// The number of keys of the newest list.
    keys: u64,
    /// Whether the other list is gone, and named in `dropped`.
    is_dropped: bool,
    min_keys: Option<u64>,
    grace: u64,
    /// The manifest in place when the newest one was signed, and that one.
    unfinished: Option<(String, String)>,
    /// All states and all manifests that there were.
    records: Vec<Record>,
    signed: Vec<String>,
    /// The manifests that were put in place, and when they were replaced.
    put: Vec<(String, Option<u64>)>,
    /// Whether a state was always the newest one.
    is_simple: bool,
}

fn payload(text: &str) -> FeedPayload {
    Manifest::parse(text.as_bytes()).unwrap().payload().unwrap()
}

fn seen(text: &str) -> Seen<FeedPayload> {
    Seen {
        text: text.to_owned(),
        hash: Manifest::<FeedPayload>::parse(text.as_bytes()).unwrap().hash(),
        payload: payload(text),
        is_signed_by_all: true,
        is_signed_by_known: true,
    }
}

fn sign(payload: &FeedPayload) -> String {
    Manifest::sign(payload, &[]).unwrap().text().unwrap()
}

fn age(payload: &FeedPayload) -> u64 {
    payload.head.count % MORE
}

/// The generation that is made from this many keys.
fn made(keys: u64) -> FeedPayload {
    let identity = Identity::new("0".repeat(32), People::default(), Profile::Raw, 0.1, &Hashing::from(0));
    FeedPayload {
        head: Head::unsigned(identity, keys),
        files: vec![File::new(FileKind::Base, &keys.to_le_bytes())],
    }
}

/// What lists gave, each with keys of its own.
fn listed(lists: &[(&str, u64)]) -> Lists {
    let list = |(i, (name, keys)): (usize, &(&str, u64))| {
        let start = (i as u64) << 32;
        let sketch = Sketch::of((start..start + 100).map(random));
        (name.to_string(), Listed { tag: None, keys: *keys, skipped: BTreeMap::new(), sketch })
    };
    lists.iter().enumerate().map(list).collect()
}

impl World {
    fn known(&self) -> Known<FeedPayload> {
        let text = |record: &Record| Some(record.manifest.clone()).filter(|text| !text.is_empty());
        Known {
            record: self.record.clone(),
            last: self.record.as_ref().and_then(text).map(|text| seen(&text)),
            live: match &self.live {
                None => Live::None,
                Some(text) if self.signed.contains(text) => Live::Ours(seen(text)),
                Some(_) => Live::Strange("feed.json: nobody has signed it".to_owned()),
            },
            clock: self.clock,
            now: self.clock,
            grace: Some(self.grace),
            signers: Vec::new(),
        }
    }

    /// Carries out some steps. Returns whether none failed.
    fn carry_out(&mut self, steps: Vec<Step>, files: &[String], left: &mut Option<usize>) -> bool {
        for step in steps {
            match left {
                Some(0) => return false,
                Some(left) => *left -= 1,
                None => {}
            }
            match step {
                Step::Require => {
                    let files = payload(&self.record.as_ref().unwrap().manifest).files();
                    if !files.iter().all(|file| self.files.contains(file)) {
                        return false;
                    }
                }
                Step::Spend => {}
                Step::Remember(record) => {
                    let is_new = !record.manifest.is_empty() && !self.signed.contains(&record.manifest);
                    if is_new {
                        self.signed(&record);
                    }
                    self.records.push((*record).clone());
                    self.record = Some(*record);
                }
                Step::Write => self.files.extend(files.iter().cloned()),
                Step::Put(text) => {
                    assert_eq!(self.record.as_ref().unwrap().manifest, text);
                    self.replace(Some(text.clone()));
                    self.put.push((text, None));
                }
                Step::Delete(due) => {
                    let record = self.record.as_mut().unwrap();
                    record.unlisted.retain(|unlisted| !due.contains(unlisted));
                    for Unlisted { sha256, .. } in due {
                        self.files.remove(&sha256);
                    }
                    self.records.push(record.clone());
                }
            }
            self.check_files();
        }
        true
    }

    /// Nobody has seen the number of what is signed, and its list isn't older than the one in place.
    fn signed(&mut self, record: &Record) {
        let new = payload(&record.manifest);
        let generation = new.head.generation;
        assert_eq!(record.signed, generation);
        for text in &self.signed {
            assert!(generation > payload(text).head.generation, "a number twice");
        }
        let live = self.live.as_ref().filter(|live| self.signed.contains(live));
        assert!(live.is_none_or(|live| age(&payload(live)) <= age(&new)), "an old list as new");
        self.unfinished = live.map(|live| (live.clone(), record.manifest.clone()));
        self.signed.push(record.manifest.clone());
    }

    fn replace(&mut self, text: Option<String>) {
        let clock = self.clock;
        self.put.iter_mut().for_each(|(_, replaced)| *replaced = replaced.or(Some(clock)));
        self.live = text;
    }

    /// The host replaces the manifest. No publisher can know until when it was there.
    fn tampered(&mut self, text: Option<String>) {
        self.put.retain(|(_, replaced)| replaced.is_some());
        self.replace(text);
    }

    /// Whoever has seen a manifest can fetch its files for the time of grace.
    fn check_files(&self) {
        for (text, replaced) in &self.put {
            if replaced.is_none_or(|replaced| self.clock < replaced + self.grace) {
                let files = payload(text).files();
                assert!(files.iter().all(|file| self.files.contains(file)), "a file is gone");
            }
        }
    }

    fn run(&mut self, given: Given, mut left: Option<usize>) {
        // Two runs within a second are told apart by what is remembered.
        self.clock += 1000;
        if !self.carry_out(self.known().tidy(), &[], &mut left) {
            return;
        }
        let before = self.live.clone();
        let known = self.known();
        let is_lost = known.last.is_none();
        let ours = known.ours().map(|live| live.payload.clone());
        // Nobody can know that the first list is half of what it should be.
        let given = if given == Given::Half && is_lost && ours.is_none() { Given::Nothing } else { given };
        if let Given::List { is_new: true, .. } = given {
            self.keys += 1;
        }
        let keys = if given == Given::Half { self.keys / 2 } else { self.keys };
        let min_keys = self.min_keys;
        let list = List { min_keys, ..List::default() };
        let mut named = vec![("list", keys)];
        if !self.is_dropped {
            named.push(("more", MORE));
        }
        let lists = named.iter().map(|(name, _)| (name.to_string(), list.clone())).collect();
        let dropped = self.is_dropped.then(|| "more".to_owned()).into_iter().collect();
        let this_run = matches!(given, Given::List { all: true, .. }).then_some(Share(1.0));
        let sources = Sources { dropped, this_run, ..Sources::of(lists) };
        let total = named.iter().map(|(_, keys)| keys).sum();
        let payload = made(total);
        let is_there = |file: &String| {
            known.last.as_ref().is_some_and(|last| last.payload.files().contains(file))
                && self.files.contains(file)
        };
        let files: Vec<_> = payload.files().into_iter().filter(|file| !is_there(file)).collect();
        let outputs = Outputs {
            files: files.iter().map(|file| (file.clone(), Vec::new())).collect(),
            digests: Vec::new(),
        };
        let made = Made { payload, expires_in: 7 * DAY, whole: None, parts: None, outputs };
        let mut gave = Gave::default();
        gave.members.lists = listed(&named);
        let next = Next { made, gave, changes: None, tags: BTreeMap::new(), sources: &sources };
        if is_lost && matches!(known.live, Live::Strange(_)) {
            assert!(known.publish(&next).is_err() && known.renew(None).is_err());
            return;
        }
        let published = if given == Given::Nothing { None } else { known.publish(&next).ok() };
        // That the other list was there is known from the state alone.
        let had_more = known.before().is_some_and(|before| before.payload.head.count >= MORE);
        let is_strange = (is_lost || known.is_old()) && had_more && self.is_dropped;
        let is_guarded = is_lost && ours.is_some() && min_keys.is_none() || is_strange;
        let may_publish = match given {
            Given::List { all, .. } => all || !is_guarded,
            Given::Half | Given::Nothing => false,
        };
        let due = known.last.as_ref().zip(known.ours()).is_some_and(|(last, live)| {
            let of_both = Some((live.text.clone(), last.text.clone()));
            let is_expiring = known.is_in_place() && !live.payload.head.is_fresh(self.clock, 7 * DAY);
            is_expiring || of_both == self.unfinished
        });
        assert_eq!(published.is_some(), may_publish);
        let (published, plan) = match published {
            Some((payload, plan)) => (Some(payload), plan),
            None => {
                let (renewal, plan) = known.renew(None).unwrap();
                let is_signed = matches!(renewal, Renewal::Signed(_));
                assert!(is_signed || !due && plan.is_empty(), "{renewal:?}");
                (None, plan)
            }
        };
        if !self.carry_out(plan, &files, &mut left) {
            return;
        }
        // After a run that didn't fail, the newest list is in place.
        if let Some(new) = published {
            let live = self::payload(self.live.as_ref().unwrap());
            assert_eq!(live.head.count, total);
            assert_eq!(age(&live), self.keys);
            assert_eq!(new.is_some(), self.live != before);
            assert!(new.is_none_or(|new| new == live));
            assert!(live.head.expires > self.clock + 7 * DAY / 2);
            assert!(live.files().iter().all(|file| self.files.contains(file)));
            if self.is_simple {
                let record = self.record.as_ref().unwrap();
                let unlisted = record.unlisted.iter().map(|unlisted| unlisted.sha256.clone());
                let all: BTreeSet<_> = live.files().into_iter().chain(unlisted).collect();
                assert!(self.files.is_subset(&all), "a file that nobody will delete");
            }
        }
    }

    fn happen(&mut self, event: &Event) {
        match event {
            Event::Run(given, left) => self.run(*given, *left),
            Event::Hours(hours) => self.clock += hours * HOUR,
            Event::StateLost => {
                self.is_simple = false;
                self.record = None;
            }
            Event::StateRestored(ago) => {
                self.is_simple = false;
                let old = self.records.iter().rev().nth(*ago).cloned();
                self.record = old.or(self.record.take());
            }
            Event::ManifestLost => self.tampered(None),
            Event::RolledBack(ago) => {
                self.is_simple = false;
                if let Some((text, _)) = self.put.iter().rev().nth(*ago).cloned() {
                    self.replace(Some(text));
                    // Its files may be gone, and a state of that time knows nothing of what came later.
                    self.put.clear();
                }
            }
            Event::Dropped(is_dropped) => self.is_dropped = *is_dropped,
            Event::Planted => self.tampered(Some("planted".to_owned())),
        }
        let is_ours = self.live.as_ref().is_some_and(|live| self.signed.contains(live));
        if !self.is_simple && !is_ours {
            // Neither the folder nor the state tells what clients may still be fetching.
            self.put.clear();
        }
    }
}

/// Whatever is lost or wrong, no number is used twice.
#[test]
fn the_number_of_the_next_generation() {
    let with = |generation: u64| {
        let mut payload = made(KEYS);
        payload.head.generation = generation;
        seen(&sign(&payload))
    };
    for (signed, live, seconds, expected) in [
        (None, None, 1000, Some(1000)),
        (Some(5), None, 1000, Some(1000)),
        (Some(1000), None, 1000, Some(1001)),
        // A clock that is behind.
        (Some(2000), None, 1000, Some(2001)),
        (Some(2000), Some(1500), 1000, Some(2001)),
        (Some(2000), Some(2500), 1000, Some(2501)),
        (None, Some(2500), 1000, Some(2501)),
        (Some(MAX_GENERATION - 1), None, 1000, Some(MAX_GENERATION)),
        (Some(MAX_GENERATION), None, 1000, None),
        (Some(5), Some(MAX_GENERATION), 1000, None),
    ] {
        let record = signed.map(|signed| {
            let mut record = Record::new();
            record.signed = signed;
            record
        });
        let live = live.map_or(Live::None, |live| Live::Ours(with(live)));
        let known = Known { record, live, clock: seconds * 1000 + 999, ..World::default().known() };
        assert_eq!(known.number().ok(), expected);
    }
}

/// It counts from the list that clients have, whatever the state knows.
#[test]
fn a_list_that_is_cut_short_after_a_loss() {
    let sources = Sources::of(BTreeMap::new());
    for (state, live, follows, count, refused) in [
        (Some(1000), Some(1000), true, 800, false),
        (Some(1000), Some(1000), true, 700, true),
        // The state was lost, or is older than what is in place.
        (None, Some(1000), false, 700, true),
        (Some(400), Some(1000), false, 700, true),
        // What is in place is older, or gone.
        (Some(1000), Some(400), true, 700, true),
        (Some(1000), None, true, 700, true),
        (None, None, true, 1, false),
    ] {
        let live = live.map(|keys| seen(&sign(&made(keys))));
        let last = state.map(|keys| seen(&sign(&made(keys))));
        let mut record = Record::new();
        last.iter().for_each(|last| record.follow(last.hash.clone()));
        live.iter().filter(|_| follows).for_each(|live| record.follow(live.hash.clone()));
        let record = last.is_some().then_some(record);
        let live = live.map_or(Live::None, Live::Ours);
        let known = Known { record, last, live, ..World::default().known() };
        assert_eq!(
            known.objection_to_count(count, None, &Lists::new(), &sources).is_some(),
            refused,
            "{state:?} {count}"
        );
    }
}

/// That lists go was asked for, and nothing else is allowed with it: it is as if they had never been there.
#[test]
fn keys_of_lists_that_are_dropped() {
    // The keys of "a", which stays, before and now, and those of "b", which is dropped.
    for (before, now, dropped, refused) in [
        (1000, 1000, 300, false),
        (1000, 1000, 50_000, false),
        (1000, 750, 50_000, false),
        (1000, 749, 50_000, true),
        (1000, 749, 300, true),
    ] {
        let mut record = Record::new();
        let last = seen(&sign(&made(before + dropped)));
        record.follow(last.hash.clone());
        record.lists = listed(&[("a", before), ("b", dropped)]);
        let known = Known { record: Some(record), last: Some(last), ..World::default().known() };
        let objection = |names: &[&str], gave: &Lists, changes| {
            let dropped = names.iter().map(|name| name.to_string()).collect();
            let lists = BTreeMap::from([("a".to_owned(), List::default())]);
            known.objection_to_count(now, changes, gave, &Sources { dropped, ..Sources::of(lists) })
        };
        let gave = listed(&[("a", now)]);
        let changes = Changes { added: 0, removed: before + dropped - now, stay: now, retagged: 0 };
        for changes in [None, Some(changes)] {
            assert_eq!(objection(&["b", "x"], &gave, changes).is_some(), refused, "{before} {now} {dropped}");
            assert!(dropped < 500 || objection(&["x"], &gave, changes).is_some());
            // With a new list that has its keys, it is renamed, and guarded still.
            let renamed = listed(&[("a", now), ("c", 1)]);
            assert!(dropped < 500 || objection(&["b"], &renamed, changes).is_some());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn whatever_happens_members_stay_and_nothing_old_is_signed_as_new(
        events in events(),
        min_keys in any::<bool>(),
        grace in prop_oneof![Just(0), Just(DAY)],
    ) {
        let min_keys = min_keys.then_some(KEYS);
        let clock = 1_800_000_000_000;
        let mut world =
            World { clock, keys: KEYS, min_keys, grace, is_dropped: true, is_simple: true, ..World::default() };
        for event in &events {
            world.happen(event);
        }
    }
}
