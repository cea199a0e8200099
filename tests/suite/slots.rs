//! Slots: what a filter of URLs knows about the shapes of its keys. The oracle is a slot computed from strings, and
//! sets.

use std::collections::{BTreeMap, HashSet};

use bloom_wasm::filters::AnyFilter;
use bloom_wasm::hash::{Hashing, Secret, digest};
use bloom_wasm::keys::native::Native;
use bloom_wasm::keys::{Input, url};
use bloom_wasm::layers::{LayerKind, Stack, Update};
use bloom_wasm::slots::{self, SLOTS, Slots, slot, weight};
use bloom_wasm::{BloomFilter, Delta, Error, Filter, Kind, KindOptions, Profile, RibbonFilter};

use crate::naive;

/// The slots of the twelve keys of a URL such as `https://a.evil.example/b/c/d/e?f`.
const BUSY: [u32; 12] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11];

/// Numbers without a pattern.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 += 1;
        digest(0x51075, &self.0.to_le_bytes())
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
}

/// FORMAT-URLS.md, by splitting strings.
fn naive_slot(key: &str) -> u32 {
    let (host, rest) = match key.split_once('/') {
        Some((host, _)) => (host, &key[host.len()..]),
        None => (key, ""),
    };
    let labels: Vec<&str> = host.split('.').collect();
    let runs = labels.iter().all(|label| {
        !label.is_empty() && label.len() <= 3 && label.chars().all(|char| char.is_ascii_digit())
    });
    let address = host.starts_with('[') || labels.len() == 4 && runs;
    let h = if address || !(2..=5).contains(&labels.len()) { 4 } else { labels.len() as u32 - 2 };
    let slashes = rest.matches('/').count() as u32;
    let p = match rest {
        _ if rest.contains('?') => 5,
        _ if rest.ends_with('/') && slashes <= 4 => slashes - 1,
        _ => 4,
    };
    6 * h + p
}

fn hashing() -> Hashing {
    Hashing::from(7).with_slots()
}

/// A URL of any shape: odd hosts, addresses, ports, up to eight labels, up to seven folders.
fn any_url(random: &mut Random) -> String {
    const LABELS: [&str; 12] =
        ["a", "b-c", "www", "evil", "x1", "7", "0001", "999", "xn--bcher-kva", "_dmarc", "com", "1e3"];
    let host = match random.below(12) {
        0 => format!(
            "{}.{}.{}.{}",
            random.below(300),
            random.below(300),
            random.below(256),
            random.below(1000)
        ),
        1 => "[2001:db8::1.2.3.4]".to_owned(),
        2 => format!("{}", random.below(1 << 33)),
        3 => "localhost".to_owned(),
        4 => {
            ["[evil", "%5Bevil", "[1.2.3.4]x", "a.[b", "[a.b.c"][random.below(5) as usize].to_owned()
                + ".example"
        }
        _ => {
            let labels: Vec<_> =
                (0..1 + random.below(8)).map(|_| LABELS[random.below(12) as usize]).collect();
            labels.join(".") + [".example", ".evil.example", ".", "..example"][random.below(4) as usize]
        }
    };
    let port = ["", "", ":8080"][random.below(3) as usize];
    let folders: String = (0..random.below(8))
        .map(|i| {
            format!("/{}", ["f", "a.b", "%41", "..", "q", "x y"][(i as usize + random.below(6) as usize) % 6])
        })
        .collect();
    let end = ["", "/", "/i.html", "//"][random.below(4) as usize];
    let query = ["", "", "?", "?q=1", "?a/b?c"][random.below(5) as usize];
    format!("http://{host}{port}{folders}{end}{query}")
}

#[test]
fn keys_have_the_slots_that_their_bytes_say() {
    let mut random = Random(1);
    let mut seen = HashSet::new();
    for _ in 0..20_000 {
        let url = any_url(&mut random);
        let Ok(Some(Input::Url(readings))) = Input::parse(&Native, Profile::Url, url.as_bytes()) else {
            continue;
        };
        for canonical in readings.iter() {
            let all: Vec<_> = canonical.expressions_in(Slots::ANY).collect();
            assert!(all.iter().map(|(_, key)| *key).eq(canonical.expressions()), "{url}");
            for &(found, key) in &all {
                let text = str::from_utf8(key).unwrap();
                assert_eq!(slot(key), naive_slot(text), "{text}");
                assert_eq!(found, slot(key), "{text} of {url}");
                seen.insert(found);
            }
            // No slot is asked for twice, on which the highest rate depends, except by hosts such as `a.1.2.3.4`, which
            // end in a number and which no browser opens.
            let different: HashSet<u32> = all.iter().map(|(slot, _)| *slot).collect();
            let ends_in_number =
                str::from_utf8(canonical.host()).unwrap().ends_with(|char: char| char.is_ascii_digit());
            assert!(different.len() == all.len() || ends_in_number, "{url}");
            let some = Slots::from_bits(random.next() as u32 & 0x3fff_ffff).unwrap();
            let expected = all.iter().filter(|(slot, _)| some.has(*slot));
            assert!(canonical.expressions_in(some).eq(expected.copied()), "{url}");
        }
    }
    assert_eq!(seen.len(), SLOTS, "{seen:?}");
    for _ in 0..100_000 {
        let bytes: String = (0..random.below(12))
            .map(|_| ['a', '.', '/', '?', '1', '2', '['][random.below(7) as usize])
            .collect();
        assert_eq!(slot(bytes.as_bytes()), naive_slot(&bytes), "{bytes}");
    }
}

/// The part of a URL that is read for a list of hosts gives the same keys as the whole URL, whatever follows the host;
/// and it is enough for most URLs.
#[test]
fn a_root_is_that_of_the_whole_url() {
    let mut random = Random(4);
    let vectors = include_str!("../url_vectors.json");
    let vectors: serde_json::Value = serde_json::from_str(vectors).unwrap();
    let vectors =
        vectors.as_array().unwrap().iter().map(|vector| vector["input"].as_str().unwrap().to_owned());
    const ENDS: [&str; 10] =
        ["#x", "\\\\@good.example/", "?@c.d/", "/../..//", "%2f%2e%00", " ", "\t/", "\u{ff0f}x", "/@a:b", ""];
    let made = (0..20_000).map(|i| any_url(&mut random) + ENDS[i % 10]);
    let (mut all, mut plain) = (0, 0);
    for url in vectors.chain(made) {
        let Some(root) = url::plain_root(url.as_bytes()) else { continue };
        let readings = url::readings(&Native, url.as_bytes()).unwrap();
        let of = |url: &url::Canonical| -> Vec<Vec<u8>> {
            url.expressions_in(Slots::HOSTS).map(|(_, key)| key.to_vec()).collect()
        };
        assert!(readings.canonical().is_some(), "{url}");
        assert!(readings.iter().all(|whole| of(whole) == of(&root)), "{url}");
        assert!(root.as_bytes().ends_with(b"/"));
        let mut seen = Vec::new();
        let mut note = |slot: u32, key: &[u8]| {
            assert_eq!(slots::slot(key), slot);
            seen.push(key.to_vec());
            false
        };
        assert_eq!(url::any_root(url.as_bytes(), Slots::HOSTS, &mut note), Some(false));
        seen.sort();
        let mut expected = of(&root);
        expected.sort();
        assert_eq!(seen, expected, "{url}");
        let some = slot(&expected[0]);
        let only = Slots::from_bits(1 << some).unwrap();
        assert_eq!(url::any_root(url.as_bytes(), only, |slot, _| slot == some), Some(true));
        all += 1;
        plain += usize::from(url::plain(url.as_bytes()).is_some());
    }
    assert!(all > 3_000 && plain < all, "{all} and {plain}");
    assert_eq!(Slots::HOSTS.iter().collect::<Vec<_>>(), [0, 6, 12, 18, 24]);
}

/// Digests of the keys with these numbers, all in one slot.
fn digests_in(slot: u32, keys: std::ops::Range<u64>) -> Vec<u64> {
    let digests = keys.map(|i| digest(u64::from(slot) << 32 | 9, &i.to_le_bytes()));
    digests.map(|digest| digest << 5 >> 5 | u64::from(slot) << 59).collect()
}

/// Lists by the number of keys in each slot: only hosts, all shapes, one rare shape, and skewed ones.
fn lists() -> Vec<(&'static str, Vec<(u32, u64)>)> {
    vec![
        ("hosts", vec![(0, 9_000), (6, 4_000), (12, 700), (18, 50), (24, 2)]),
        ("mail domains", vec![(0, 12_000), (6, 300), (12, 5)]),
        ("all shapes", (0..30).map(|slot| (slot, 400)).collect()),
        (
            "URLs",
            (0..30)
                .map(|slot: u32| {
                    (slot, if slot % 6 == 4 { 9_000 / (slot + 1) } else { 1 + 900 / (slot + 1) })
                })
                .map(|(slot, keys)| (slot, keys.into()))
                .collect(),
        ),
        ("one rare shape", vec![(29, 3_000)]),
        ("queries", vec![(5, 3_000), (11, 5_000)]),
        ("pages, some with a query", vec![(4, 3_000), (5, 1_500), (10, 3_000), (11, 1_500), (0, 100)]),
        ("one key", vec![(7, 1)]),
        ("none", vec![]),
    ]
}

fn build(list: &[(u32, u64)], fpr: f64) -> Stack {
    let mut members: Vec<u64> = list.iter().flat_map(|&(slot, keys)| digests_in(slot, 0..keys)).collect();
    Stack::build(Kind::Ribbon.into(), &mut members, None, fpr, hashing()).unwrap()
}

/// Compares how many absent keys of each slot hit with what the filter says, and all of that with the rate that was
/// asked for.
fn rates_hold(probes: u64) {
    for (name, list) in lists() {
        for fpr in [0.5, 1e-2, 1e-3, 1e-4] {
            let stack = build(&list, fpr);
            let members = list.iter().flat_map(|&(slot, keys)| digests_in(slot, 0..keys));
            assert!(members.into_iter().all(|digest| stack.has_digest(digest)), "{name}: a false negative");
            let map = stack.slots();
            assert_eq!(
                map.iter().collect::<HashSet<_>>(),
                list.iter().map(|(slot, _)| *slot).collect(),
                "{name}"
            );
            let (mut typical, mut busy, mut most) = (0.0, 0.0, 0.0);
            for slot in 0..SLOTS as u32 {
                let nonmembers = digests_in(slot, 1 << 40..(1 << 40) + probes);
                let answers = stack.has_many_digests(&nonmembers).unwrap();
                assert!(
                    nonmembers.iter().map(|&digest| stack.has_digest(digest)).eq(answers.iter().copied())
                );
                let hits = answers.into_iter().filter(|&hit| hit).count() as f64;
                if !map.has(slot) {
                    assert_eq!(hits, 0.0, "{name}: slot {slot} isn't in the map");
                    continue;
                }
                let (promised, filter) = match stack.base() {
                    AnyFilter::Ribbon(base) if base.slots().has(slot) => (base.fpr(), base),
                    _ => (stack.layers()[0].fpr(), &stack.layers()[0].levels()[0]),
                };
                assert!((slots::LOWEST..=0.5).contains(&promised), "{promised}");
                // The columns of a filter with few rows may give it a lower rate than it was asked for.
                let [least, expected] = [filter.estimated_fpr(), promised].map(|rate| rate * probes as f64);
                assert!(
                    hits >= least - 5.0 * least.sqrt() - 5.0
                        && hits <= expected + 5.0 * expected.sqrt() + 5.0,
                    "{name} at {fpr}, slot {slot}: {hits} for {expected}"
                );
                typical += promised * weight(slot);
                most += promised;
                if BUSY.contains(&slot) {
                    busy += promised;
                }
            }
            assert!(
                typical.max(most / 2.5).max(busy / 1.2) <= fpr * 1.000_001,
                "{name} at {fpr}: {typical}, {busy}, {most}"
            );
            if list.iter().map(|(_, keys)| keys).sum::<u64>() > 1_000 {
                assert!(
                    (stack.url_fpr() / typical.min(1.0) - 1.0).abs() < 0.01
                        && (stack.max_url_fpr() / most.min(1.0) - 1.0).abs() < 0.01,
                    "{name}"
                );
                // Nothing is wasted: a typical, a busy or the worst URL gets the rate that was asked for, or a key gets
                // a half.
                let tight = typical > 0.999 * fpr || busy > 1.199 * fpr || most > 2.499 * fpr || map.iter().any(|slot| {
                    matches!(stack.base(), AnyFilter::Ribbon(base) if base.slots().has(slot) && base.fpr() == 0.5)
                });
                assert!(tight, "{name} at {fpr}: {typical}, {most}");
            }
        }
    }
}

#[test]
fn each_slot_has_the_rate_that_the_filter_promises() {
    rates_hold(20_000);
}

#[test]
#[ignore = "long: npm run test:all"]
fn each_slot_has_the_rate_that_the_filter_promises_at_length() {
    rates_hold(1_000_000);
}

/// All ways to cut the slots in two, by the formulas of the paper with logarithms of std.
#[test]
fn two_groups_are_the_best_cut() {
    let mut random = Random(2);
    for round in 0..300 {
        let mut counts = [0; SLOTS];
        for _ in 0..1 + random.below(30) {
            counts[random.below(30) as usize] = 1 + random.next() % (1 << (1 + random.below(20)));
        }
        let fpr = [1e-2, 1e-3, 1e-4, 0.3][round % 4];
        let (first, second) = slots::plan(&counts, fpr);
        let keys = |slots: &[u32]| slots.iter().map(|&slot| counts[slot as usize] as f64).sum::<f64>();
        let used: Vec<u32> = (0..30).filter(|&slot| counts[slot as usize] > 0).collect();
        let total = keys(&used);
        // The bytes of groups, with their rates limited as [`slots::plan`] limits them.
        let cost = |groups: &[Vec<u32>]| -> f64 {
            let rates: Vec<f64> = groups
                .iter()
                .map(|group| {
                    let weights: f64 = group.iter().map(|&slot| weight(slot)).sum();
                    fpr * keys(group) / total / weights
                })
                .collect();
            let worst: f64 = rates.iter().zip(groups).map(|(rate, group)| rate * group.len() as f64).sum();
            let highest = rates.iter().copied().fold(0.0, f64::max);
            let busy: f64 = rates
                .iter()
                .zip(groups)
                .map(|(rate, group)| rate * group.iter().filter(|slot| BUSY.contains(slot)).count() as f64)
                .sum();
            let scale = 1_f64.min(2.5 * fpr / worst).min(1.2 * fpr / busy).min(0.5 / highest);
            rates.iter().zip(groups).map(|(rate, group)| keys(group) * -(rate * scale).log2() / 8.0).sum()
        };
        let one = cost(std::slice::from_ref(&used));
        let mut order = used.clone();
        order.sort_by(|&a, &b| {
            let density = |slot: u32| counts[slot as usize] as f64 / weight(slot);
            density(b).partial_cmp(&density(a)).unwrap().then(a.cmp(&b))
        });
        let best = (1..order.len())
            .map(|cut| cost(&[order[..cut].to_vec(), order[cut..].to_vec()]))
            .fold(f64::INFINITY, f64::min);
        let made: Vec<Vec<u32>> =
            [Some(first), second].into_iter().flatten().map(|group| group.slots.iter().collect()).collect();
        assert_eq!(made.iter().flatten().copied().collect::<HashSet<_>>(), used.iter().copied().collect());
        let expected = if best < one - 64.0 { best } else { one };
        assert!((cost(&made) - expected).abs() < 1e-6 * expected.max(1.0), "{}: {expected}", cost(&made));
        if let Some(second) = second {
            assert!(first.slots.is_disjoint(second.slots));
        }
    }
}

/// A blob keeps its map and its second group; the rules of FORMAT.md.
#[test]
fn a_blob_has_its_map() {
    let two = ["hosts", "mail domains", "URLs", "pages, some with a query"];
    for (name, list) in lists() {
        for hashing in [hashing(), Hashing::keyed(&Secret::from([3; 16]), 5).with_slots()] {
            let mut members: Vec<u64> =
                list.iter().flat_map(|&(slot, keys)| digests_in(slot, 0..keys)).collect();
            let stack = Stack::build(Kind::Ribbon.into(), &mut members, None, 1e-3, hashing).unwrap();
            let keys: u64 = list.iter().map(|(_, keys)| keys).sum();
            assert_eq!(stack.count(), Some(keys), "{name}");
            let blob = Filter::new(Profile::Url, stack);
            let bytes = blob.encode().unwrap();
            let read = match hashing.is_keyed() {
                true => Filter::decode_keyed(bytes.clone(), &Secret::from([3; 16])).unwrap(),
                false => Filter::decode(bytes.clone()).unwrap(),
            };
            assert_eq!(read, blob, "{name}");
            assert_eq!(read.encode().unwrap(), bytes);
            let info = read.info().unwrap();
            assert_eq!((info.count, info.capacity), (Some(keys), Some(keys)), "{name}");
            assert_eq!(info.layers, u32::from(two.contains(&name)), "{name}");
            if let AnyFilter::Ribbon(base) = read.stack().base() {
                // The rate of two groups is their mean.
                assert_eq!(info.fpr != base.fpr(), two.contains(&name), "{name}");
            }
        }
    }
    let raw = Filter::new(Profile::Raw, build(&[(0, 10)], 0.01));
    assert_eq!(raw.encode().unwrap_err().code(), "invalid_parameter");
    let bloom = BloomFilter::from_digests(&mut digests_in(0, 0..10), 0.01, hashing()).unwrap();
    assert_eq!(Filter::new(Profile::Url, bloom).encode().unwrap_err().code(), "invalid_parameter");
}

/// Impossible rates are refused before anything is built, and so are digests without slots.
#[test]
fn bad_input() {
    let build =
        |members: &mut Vec<u64>, fpr| Stack::build(Kind::Ribbon.into(), members, None, fpr, hashing());
    for fpr in [0.0, 1e-9, 1.0, f64::NAN, -1.0] {
        assert_eq!(build(&mut digests_in(0, 0..5), fpr).unwrap_err().code(), "invalid_parameter", "{fpr}");
        let mut stack = build(&mut digests_in(0, 0..5), 0.1).unwrap();
        let before = stack.clone();
        let update = Update { live: &digests_in(0, 0..6), removed: &[], allowed: &[], fpr };
        assert_eq!(stack.update(update).unwrap_err().code(), "invalid_parameter", "{fpr}");
        assert_eq!(stack, before);
    }
    // Digests without slots.
    for highest in [30, 31_u64] {
        let digest = highest << 59 | 7;
        assert_eq!(build(&mut vec![digest], 0.1).unwrap_err().code(), "invalid_parameter");
        let ribbon = RibbonFilter::from_digests(&mut vec![digest], 0.1, hashing());
        assert_eq!(ribbon.unwrap_err().code(), "invalid_parameter");
        let mut stack = build(&mut digests_in(0, 0..5), 0.1).unwrap();
        let before = stack.clone();
        let live = [digests_in(0, 0..5), vec![digest]].concat();
        let error = stack.update(Update { live: &live, removed: &[], allowed: &[], fpr: 0.1 }).unwrap_err();
        assert!(error.to_string().contains("slots") && stack == before, "{error}");
    }
    build(&mut (0..30).flat_map(|slot| digests_in(slot, 0..40)).collect(), slots::LOWEST_URL).unwrap();
}

/// The keys of a URL of the list, and the list as text.
fn entries(urls: &[String]) -> Vec<(String, u64)> {
    let own = |url: &String| match Input::parse(&Native, Profile::Url, url.as_bytes()) {
        Ok(Some(input)) => Some((url.clone(), hashing().digest(input.own()))),
        _ => None,
    };
    urls.iter().filter_map(own).collect()
}

fn has_url(stack: &Stack, text: &str) -> Result<bool, Error> {
    let readings = url::readings(&Native, text.as_bytes())?;
    Ok(readings
        .iter()
        .any(|url| url.expressions_in(stack.slots()).any(|(slot, key)| stack.has_in(slot, key))))
}

/// Every entry, looked up as itself, and the keys of the list, looked up one by one. `below.rs` has URLs below entries.
#[test]
fn no_member_is_lost() {
    let mut random = Random(3);
    for size in [1, 3, 40, 3_000] {
        let urls: Vec<String> = (0..size).map(|_| any_url(&mut random)).collect();
        let entries = entries(&urls);
        let members: Vec<u64> = entries.iter().map(|(_, digest)| *digest).collect();
        let allowed: Vec<u64> = digests_in(0, 0..3000);
        for allowed in [None, Some(&allowed[..])] {
            let stack =
                Stack::build(Kind::Ribbon.into(), &mut members.clone(), allowed, 1e-3, hashing()).unwrap();
            assert!(allowed.into_iter().flatten().all(|digest| !stack.has_digest(*digest)));
            for (text, _) in &entries {
                let input = Input::parse(&Native, Profile::Url, text.as_bytes()).unwrap().unwrap();
                let own = str::from_utf8(input.own()).unwrap();
                assert!(has_url(&stack, text).unwrap() && stack.has(own.as_bytes()), "{text}");
                assert_eq!(stack.has_many([own]).unwrap(), [true], "{text}");
            }
        }
    }
}

/// Keys of a second reading that look like addresses but aren't: those that are excluded are looked up in the same
/// slot.
#[test]
fn an_allowlist_holds_for_every_spelling() {
    let mut members = digests_in(0, 0..20_000);
    let good: Vec<String> = (0..2_000).map(|i| format!("http://[a{i}.test\\\\@good{i}.test/")).collect();
    let mut allowed = Vec::new();
    for text in &good {
        let readings = url::readings(&Native, text.as_bytes()).unwrap();
        assert!(readings.keys().any(|key| key.starts_with(b"[")), "{text}");
        allowed.extend(readings.keys().map(|key| hashing().digest(key)));
    }
    let stack = Stack::build(Kind::Ribbon.into(), &mut members, Some(&allowed), 0.5, hashing()).unwrap();
    let hits = good.iter().filter(|text| has_url(&stack, text).unwrap()).count();
    assert_eq!(hits, 0, "of {}", good.len());
}

/// The highest rates that all slots can have: the sum is above 1, and the rate of a key is still given.
#[test]
fn the_rate_of_a_key_is_no_share_of_a_certainty() {
    let digests: Vec<u64> = (0..30).flat_map(|slot| digests_in(slot, 0..200)).collect();
    let stack = Stack::from(RibbonFilter::from_digests(&mut digests.clone(), 0.5, hashing()).unwrap());
    assert!((stack.estimated_fpr() - 0.5).abs() < 0.01, "{}", stack.estimated_fpr());
    assert_eq!((stack.url_fpr(), stack.max_url_fpr()), (1.0, 1.0));
}

/// 60 days of changes, some of shapes that the base lacks: through deltas and back.
#[test]
fn updates_add_shapes() {
    let shape = |day: u64| [(day % 30) as u32, (day * 7 % 30) as u32];
    let mut live: BTreeMap<u64, ()> =
        (0..4_000).flat_map(|i| digests_in(0, i..i + 1)).map(|digest| (digest, ())).collect();
    let first: Vec<u64> = live.keys().copied().collect();
    let mut stack = Stack::build(Kind::Ribbon.into(), &mut first.clone(), None, 8e-4, hashing()).unwrap();
    let mut published = Filter::new(Profile::Url, stack.clone());
    let mut gone: Vec<u64> = Vec::new();
    for day in 1..=60_u64 {
        let removed: Vec<u64> = live.keys().copied().step_by(97).take(20).collect();
        removed.iter().for_each(|digest| _ = live.remove(digest));
        gone.extend(&removed);
        for slot in shape(day) {
            live.extend(
                digests_in(slot, 10_000 * day..10_000 * day + 15).into_iter().map(|digest| (digest, ())),
            );
        }
        let all: Vec<u64> = live.keys().copied().collect();
        let update = Update { live: &all, removed: &gone, allowed: &[], fpr: 1e-3 / 40.0 };
        stack.update(update).unwrap();
        let child = Filter::new(Profile::Url, stack.clone());
        let made = Delta::between(&published, &child).unwrap();
        let delta = made.encode().unwrap();
        assert_eq!(Delta::decode(delta.clone()).unwrap(), made);
        assert_eq!(delta[7] & 64, 64);
        published = published.apply(Delta::decode(delta).unwrap()).unwrap();
        assert_eq!(published, child);
        assert!(all.iter().all(|&digest| stack.has_digest(digest)), "day {day}: a member is absent");
        let back = gone.iter().filter(|&&digest| stack.has_digest(digest)).count();
        assert!(back <= 3, "day {day}: {back} of {} came back", gone.len());
    }
    // A layer holds only the shapes of its day.
    for layer in stack.layers().iter().filter(|layer| layer.kind() == LayerKind::Include) {
        assert!(layer.slots().iter().count() <= 2, "{:?}", layer.slots());
    }
    assert!(stack.slots().iter().count() > 25);
    let nonmembers: u64 = stack
        .slots()
        .iter()
        .map(|slot| {
            digests_in(slot, 1 << 41..(1 << 41) + 20_000)
                .into_iter()
                .filter(|&digest| stack.has_digest(digest))
                .count() as u64
        })
        .sum();
    let expected = stack.max_url_fpr() * 20_000.0;
    assert!(
        (nonmembers as f64 - expected).abs() < 5.0 * expected.sqrt() + 5.0,
        "{nonmembers} for {expected}"
    );
    // Without slots, a delta doesn't fit.
    let plain = RibbonFilter::from_digests(&mut first.clone(), 1e-4, 7).unwrap();
    let other = Filter::new(Profile::Url, plain);
    let mut delta = Delta::between(&other, &other).unwrap().encode().unwrap();
    delta[17..25].copy_from_slice(&published.id().unwrap().to_le_bytes());
    naive::seal(&mut delta);
    assert_eq!(published.apply(Delta::decode(delta).unwrap()).unwrap_err().code(), "incompatible");
}

/// An allowlist excludes only what the mapped filter passes.
#[test]
fn allowlists_shrink() {
    let members = digests_in(0, 0..20_000);
    let allowed: Vec<u64> = (0..30).flat_map(|slot| digests_in(slot, 1 << 42..(1 << 42) + 2_000)).collect();
    let slotted =
        Stack::build(Kind::Ribbon.into(), &mut members.clone(), Some(&allowed), 0.1, hashing()).unwrap();
    assert!(slotted.layers().iter().all(|layer| layer.slots() == Slots::of(&members).unwrap()));
    let plain =
        Stack::build(KindOptions::from(Kind::Ribbon), &mut members.clone(), Some(&allowed), 0.1, 7).unwrap();
    let excluded = |stack: &Stack| stack.layers().iter().map(|layer| layer.levels()[0].count()).sum::<u32>();
    assert!(excluded(&slotted) < excluded(&plain) / 10, "{} and {}", excluded(&slotted), excluded(&plain));
    assert!(members.iter().all(|&digest| slotted.has_digest(digest)));
    assert!(allowed.iter().all(|&digest| !slotted.has_digest(digest)));
}
