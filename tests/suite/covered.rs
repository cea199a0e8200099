//! Entries that others cover are left out of ribbon filters of URLs, and no answer changes. Compared with sets of all keys.

use std::collections::{BTreeMap, BTreeSet};

use bloom_wasm::keys::entries::Entries;
use bloom_wasm::keys::native::Native;
use bloom_wasm::keys::{Input, url};
use bloom_wasm::{Builder, Filter, Kind, Profile};
use proptest::collection::vec;
use proptest::prelude::*;

/// Hosts below each other, and folders and pages in each other.
fn entry() -> impl Strategy<Value = String> {
    let host = prop_oneof![
        "([ab]\\.){0,6}(x\\.com|y\\.co\\.uk)",
        Just("1.2.3.4".to_owned()),
        Just("local".to_owned())
    ];
    (host, "(/|/[pq]|(/[pq]){1,6}/?|/p%2Fq/r|/p/%2e%2e/q|//p)?(\\?[pq])?")
        .prop_map(|(host, path)| host + &path)
}

/// URLs to ask for, some of them spelled in odd ways.
fn question() -> impl Strategy<Value = String> {
    let before = prop_oneof!["(https?://|HTTP:\\\\\\\\|//)?(user@|c\\.|A\\.)?", Just(String::new())];
    (before, entry(), "(:80|/|/q|%2F|%3F|#f|\\?q|/\\.\\./p)?")
        .prop_map(|(before, entry, after)| before + &entry + &after)
}

fn keys(text: &str) -> Vec<String> {
    let readings = url::readings(&Native, text.as_bytes()).unwrap();
    readings.keys().map(|key| String::from_utf8(key.to_vec()).unwrap()).collect()
}

/// The key of an entry.
fn own(entry: &str) -> String {
    keys(entry).remove(0)
}

/// The keys of lists with their tags, and those of them that are needed.
struct Naive {
    tags: BTreeMap<String, BTreeSet<usize>>,
    needed: BTreeSet<String>,
}

impl Naive {
    fn of(lists: &[Vec<String>], removed: &[String]) -> Self {
        let mut tags = BTreeMap::<String, BTreeSet<usize>>::new();
        for (number, list) in lists.iter().enumerate() {
            for entry in list {
                // The first list has no tag.
                tags.entry(own(entry)).or_default().extend((number > 0).then_some(number));
            }
        }
        removed.iter().for_each(|entry| {
            tags.remove(&own(entry));
        });
        let is_needed = |(key, of_key): &(&String, &BTreeSet<usize>)| {
            let form = url::parse(&Native, key.as_bytes()).unwrap().unwrap();
            let parents = form.expressions().skip(1).filter_map(|key| tags.get(str::from_utf8(key).unwrap()));
            let parents: Vec<_> = parents.collect();
            parents.is_empty() || !of_key.iter().all(|tag| parents.iter().any(|parent| parent.contains(tag)))
        };
        let needed = tags.iter().filter(is_needed).map(|(key, _)| key.clone()).collect();
        Naive { tags, needed }
    }

    /// The tags of a URL, if it has a key on a list.
    fn ask(&self, url: &str) -> Option<BTreeSet<usize>> {
        let found: Vec<_> = keys(url).iter().filter_map(|key| self.tags.get(key)).collect();
        (!found.is_empty()).then(|| found.into_iter().flatten().copied().collect())
    }
}

/// A rate at which no false positive is to be expected here.
const NEVER: f64 = 1e-8;

fn build(lists: &[Vec<String>], allow: &[String]) -> Filter {
    let mut builder = Builder::new(Profile::Url).fpr(NEVER).keys(&lists[0]).allow(allow).allow_wins();
    for (number, list) in lists.iter().enumerate().skip(1) {
        builder = builder.tag(number.to_string(), list);
    }
    builder.build().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn no_answer_changes(
        lists in vec(vec(entry(), 0..12), 1..4),
        allow in vec(entry(), 0..3),
        urls in vec(question(), 40),
    ) {
        let naive = Naive::of(&lists, &allow);
        let filter = build(&lists, &allow);
        prop_assert_eq!(filter.info().unwrap().count, Some(naive.needed.len() as u64));
        for url in lists.iter().flatten().chain(&urls) {
            let expected = naive.ask(url);
            // What an allowlist takes away is absent even if a false positive would say otherwise.
            prop_assert_eq!(filter.has_url(url).unwrap(), expected.is_some(), "{}", url);
            if lists.len() > 1 {
                let tags = filter.url_tags(url).unwrap().iter().map(|tag| tag.parse().unwrap()).collect();
                prop_assert_eq!(expected.unwrap_or_default(), tags, "{}", url);
            }
        }
    }

    /// Why that is so: whoever asks for a key asks for what covers it.
    #[test]
    fn who_asks_for_a_key_asks_for_its_parents(url in question()) {
        let asked = keys(&url);
        for key in &asked {
            let form = url::parse(&Native, key.as_bytes()).unwrap().unwrap();
            let mut its = form.expressions().map(|key| str::from_utf8(key).unwrap());
            // A folder may be none by itself.
            if its.next() == Some(key) {
                its.for_each(|parent| assert!(asked.iter().any(|key| key == parent), "{url} {key} {parent}"));
            }
        }
    }
}

/// Two Bloom filters of one size can be combined, and a key may be added below another and stay when that goes.
#[test]
fn other_kinds_and_profiles_have_every_key() {
    for kind in [Kind::Bloom, Kind::Counting, Kind::Scalable, Kind::Cuckoo] {
        let filter =
            Builder::new(Profile::Url).kind(kind).keys(["evil.com", "www.evil.com"]).build().unwrap();
        assert!(filter.has("www.evil.com/").unwrap(), "{kind:?}");
    }
    let filter = Builder::new(Profile::Raw).keys(["evil.com/", "www.evil.com/"]).build().unwrap();
    assert_eq!(filter.info().unwrap().count, Some(2));
    let hashing = Builder::new(Profile::Url).kind(Kind::Bloom).digests();
    let mut entries = Entries::default();
    entries.push(&hashing, &Input::parse(&Native, Profile::Url, b"www.evil.com").unwrap().unwrap()).unwrap();
    assert!(entries.iter().all(|(_, parents)| parents.is_empty()));
}
