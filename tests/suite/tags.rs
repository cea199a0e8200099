//! Tags: which lists a member is on. FORMAT.md section 13. The oracle is a map from keys to the names of their lists.

use std::collections::{BTreeMap, BTreeSet};

use bloom_wasm::hash::{Hashing, digest};
use bloom_wasm::layers::{LayerKind, Stack, Tagged, TaggedUpdate, Tags, Update};
use bloom_wasm::slots::{slot, with_slot};
use bloom_wasm::{Delta, Filter, Profile, RibbonFilter};

use crate::common_tags::{Map, Random, lists_of, sixty_four_lists, skewed};
use crate::naive;

const FPR: f64 = 0.001;

fn tagged(map: &Map, hashing: impl Into<Hashing>) -> Tagged {
    let hashing = hashing.into();
    let (lists, untagged) = lists_of(map);
    let digests = |keys: Vec<String>| keys.iter().map(|key| hashing.digest(key.as_bytes())).collect();
    let lists = lists.into_iter().map(|(name, keys)| (name, digests(keys))).collect();
    Tagged::new(lists, digests(untagged)).unwrap()
}

/// Every member has exactly its names, and absent keys have none.
fn require_exact(stack: &Stack, map: &Map) {
    for (key, names) in map {
        assert!(stack.has(key.as_bytes()), "{key} is missing");
        let found: BTreeSet<_> = stack.tags(key.as_bytes()).unwrap().into_iter().map(str::to_owned).collect();
        assert_eq!(found, *names, "{key}");
    }
    let counts: BTreeMap<_, _> = stack.tag_counts().collect();
    for name in map.values().flatten().collect::<BTreeSet<_>>() {
        let expected = map.values().filter(|names| names.contains(name)).count();
        assert_eq!(counts[&**name], Some(expected as u32), "{name}");
    }
}

/// Keys that aren't members have no tags if they are absent, and otherwise a set that occurs.
fn require_known_sets(stack: &Stack, map: &Map) {
    let sets: BTreeSet<_> = map.values().cloned().collect();
    let mut met = 0;
    for i in 0..200_000 {
        let key = format!("stranger-{i}");
        let found: BTreeSet<_> = stack.tags(key.as_bytes()).unwrap().into_iter().map(str::to_owned).collect();
        if stack.has(key.as_bytes()) {
            met += 1;
            assert!(sets.contains(&found), "{key} has {found:?}");
        } else {
            assert!(found.is_empty(), "{key} is absent and has {found:?}");
        }
    }
    assert!(met > 50, "only {met} non-members were there by chance");
}

/// The bytes of the levels of tags, and the sum of code lengths, in bits, by the counts of sets: Huffman's sum is that of
/// all inner nodes.
fn sizes(tags: &Tags, map: &Map) -> (usize, u64) {
    let bytes =
        tags.default_filter().into_iter().chain(tags.codes()).map(|level| level.as_bytes().len()).sum();
    let mut counts: BTreeMap<_, u64> = BTreeMap::new();
    map.values().for_each(|names| *counts.entry(names).or_default() += 1);
    let mut heap: std::collections::BinaryHeap<_> = counts.into_values().map(std::cmp::Reverse).collect();
    let mut sum = 0;
    while heap.len() > 1 {
        let two = heap.pop().unwrap().0 + heap.pop().unwrap().0;
        sum += two;
        heap.push(std::cmp::Reverse(two));
    }
    (bytes, sum)
}

/// As small as promised compared with a filter without tags, and exact, also after encoding and decoding.
fn require_small(map: &Map, most: f64) -> f64 {
    let stack = Stack::build_tagged(&tagged(map, 7), None, FPR, 7).unwrap();
    require_exact(&stack, map);
    let digests: Vec<u64> = map.keys().map(|key| digest(7, key.as_bytes())).collect();
    let untagged = RibbonFilter::from_digests(&mut digests.clone(), FPR, 7).unwrap();
    let plain = Filter::from(untagged).byte_length().unwrap();
    let tags = stack.base_tags().unwrap();
    let (bytes, code_bits) = sizes(tags, map);
    let blob = Filter::from(stack.clone()).encode().unwrap();
    let dictionary = blob.len() as u64 - plain - bytes as u64;
    let per_key = bytes as f64 * 8.0 / map.len() as f64;
    println!(
        "{} keys, {} sets: {bytes} bytes of tags, {per_key:.3} bits a key, {:.4} times the {code_bits} bits of codes; \
         the dictionary {dictionary}, the filter without tags {plain}",
        map.len(),
        tags.sets(),
        bytes as f64 * 8.0 / code_bits as f64,
    );
    assert!(bytes as f64 * 8.0 <= most * code_bits as f64);
    assert_eq!(Filter::decode(blob).unwrap(), Filter::from(stack));
    per_key
}

#[test]
fn exact_and_small_at_10_000_keys() {
    require_small(&skewed(10_000, [80, 15, 4, 1]), 1.04);
    require_small(&skewed(10_000, [25, 25, 25, 25]), 1.04);
    require_small(&sixty_four_lists(10_000, 1), 1.04);
    assert!(require_small(&skewed(10_000, [97, 1, 1, 1]), 1.04) <= 0.3);
}

/// At a million keys, sets of tags take at most 2 % more than their entropy.
#[test]
#[ignore = "takes a minute: `npm run test:all` runs it"]
fn exact_and_small_at_a_million_keys() {
    require_small(&skewed(1_000_000, [80, 15, 4, 1]), 1.02);
    require_small(&sixty_four_lists(1_000_000, 1), 1.02);
    assert!(require_small(&skewed(1_000_000, [97, 1, 1, 1]), 1.02) <= 0.3);
}

/// A few keys, or none, or only one set.
#[test]
fn small_lists() {
    for total in [0, 1, 2, 3, 10, 100] {
        for sets in [1, 2, 3, 7] {
            let map: Map = (0..total)
                .map(|i| {
                    (
                        format!("key-{i}"),
                        (0..3).filter(|j| i % sets >> j & 1 == 1).map(|j| format!("tag-{j}")).collect(),
                    )
                })
                .collect();
            let stack = Stack::build_tagged(&tagged(&map, 3), None, FPR, 3).unwrap();
            require_exact(&stack, &map);
            let bytes = Filter::from(stack.clone()).encode().unwrap();
            assert_eq!(Filter::decode(bytes).unwrap().stack(), &stack);
            assert_eq!(stack.tags(b"stranger").unwrap(), <[&str; 0]>::default());
        }
    }
}

#[test]
fn nonmembers_get_a_set_that_occurs() {
    for map in [skewed(3000, [80, 15, 4, 1]), skewed(3000, [97, 1, 1, 1]), sixty_four_lists(3000, 2)] {
        require_known_sets(&Stack::build_tagged(&tagged(&map, 5), None, FPR, 5).unwrap(), &map);
    }
}

/// Days of change: keys come, go, and get other tags. Every delta leads to the same filter as the update that it was made
/// of, and a clone of the first day's blob follows.
fn follow(mut map: Map, days: usize, hashing: Hashing, fpr: f64) {
    let mut random = Random(days as u64);
    let names: Vec<String> = map.values().flatten().cloned().collect::<BTreeSet<_>>().into_iter().collect();
    let mut stack = Stack::build_tagged(&tagged(&map, hashing), None, fpr, hashing).unwrap();
    let mut follower = Filter::from(stack.clone());
    let changes = map.len() / 100;
    for day in 0..days {
        let keys: Vec<_> = map.keys().cloned().collect();
        let pick = |random: &mut Random| keys[random.below(keys.len())].clone();
        let removed: BTreeSet<_> = (0..changes).map(|_| pick(&mut random)).collect();
        map.retain(|key, _| !removed.contains(key));
        for _ in 0..changes {
            let key = pick(&mut random);
            if let Some(tags) = map.get_mut(&key) {
                let name = names[random.below(names.len())].clone();
                // At most three names, or there would be too many sets.
                if !tags.remove(&name) && tags.len() < 3 {
                    tags.insert(name);
                }
            }
        }
        for i in 0..changes {
            // Also a name that no earlier day had.
            let name = if i == 0 { format!("day-{day}") } else { names[random.below(names.len())].clone() };
            map.insert(format!("added-{day}-{i}"), BTreeSet::from([name]));
        }
        let live = tagged(&map, hashing);
        let removed: Vec<u64> = removed.iter().map(|key| hashing.digest(key.as_bytes())).collect();
        stack
            .update_tagged(TaggedUpdate { live: &live, removed: &removed, allowed: &[], fpr: fpr / 16.0 })
            .unwrap();
        let child = Filter::from(stack.clone());
        let delta = Delta::between(&follower, &child).unwrap().encode().unwrap();
        follower = follower.apply(Delta::decode_for(&follower, delta).unwrap()).unwrap();
        assert_eq!(follower, child);
        // What was removed has no tags, unless the include answers for it by chance.
        let gone = removed.iter().filter(|digest| live.digests().binary_search(digest).is_err());
        let there = gone.filter(|digest| stack.has_digest(**digest)).count();
        let expected = fpr / 16.0 * removed.len() as f64;
        assert!(
            there as f64 <= 4.0 + 4.0 * expected,
            "{there} removed keys are there, of {expected} expected"
        );
    }
    require_exact(follower.stack(), &map);
    let bytes = follower.encode().unwrap();
    let read = match hashing.is_keyed() {
        true => Filter::decode_keyed(bytes, &SECRET.into()).unwrap(),
        false => Filter::decode(bytes).unwrap(),
    };
    assert_eq!(read, follower);
    let includes = stack.layers().iter().filter(|layer| layer.kind() == LayerKind::Include);
    assert!(includes.clone().count() == days && includes.clone().all(|layer| layer.tags().is_some()));
}

const SECRET: [u8; 16] = [7; 16];

#[test]
fn exact_after_days_of_change() {
    follow(skewed(2000, [80, 15, 4, 1]), 60, 1.into(), 0.5);
    follow(skewed(2000, [97, 1, 1, 1]), 20, 1.into(), 0.01);
    follow(sixty_four_lists(5000, 3), 20, 2.into(), 0.1);
    follow(skewed(2000, [40, 30, 20, 10]), 10, Hashing::keyed(&SECRET.into(), 9), 0.1);
}

/// A feed of two months.
#[test]
#[ignore = "takes a minute: `npm run test:all` runs it, and `npm run test:scale` with KEYS=1000000"]
fn exact_after_60_days() {
    let keys = std::env::var("KEYS").map_or(30_000, |keys| keys.parse().unwrap());
    follow(skewed(keys, [80, 15, 4, 1]), 60, 1.into(), FPR);
    follow(sixty_four_lists(keys, 4), 60, 2.into(), FPR);
}

/// An include with a high rate answers by chance for many members below it. If it didn't have their tags, these would
/// be wrong, and this test would fail.
#[test]
fn an_include_covers_what_it_answers_by_chance() {
    let mut map = skewed(1000, [40, 30, 20, 10]);
    let mut stack = Stack::build_tagged(&tagged(&map, 1), None, FPR, 1).unwrap();
    map.insert("new".to_owned(), BTreeSet::from(["tag-0".to_owned()]));
    let live = tagged(&map, 1);
    stack.update_tagged(TaggedUpdate { live: &live, removed: &[], allowed: &[], fpr: 0.5 }).unwrap();
    let codes = stack.layers()[0].tags().unwrap().codes().unwrap();
    assert!(codes.count() > 500, "{} bits are covered", codes.count());
    require_exact(&stack, &map);
}

/// The example in FORMAT.md, section 13.
#[test]
fn the_example() {
    let [abc, a] = [&b"abc"[..], b"a"].map(|key| digest(0, key));
    let lists = vec![("a".to_owned(), vec![abc]), ("b".to_owned(), vec![abc, a])];
    let stack = Stack::build_tagged(&Tagged::new(lists, Vec::new()).unwrap(), None, 0.5, 0).unwrap();
    let page = include_str!("../../FORMAT.md").split("## 13. Tags").nth(1).unwrap();
    let line = page.lines().find(|line| line.starts_with("    02 ")).unwrap();
    let expected: Vec<u8> =
        line.split_whitespace().map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect();
    // After the header, and the parameters of one stage.
    let blob = Filter::from(stack).encode().unwrap();
    assert_eq!(blob[17 + 14 + 4..][..expected.len()], expected);
    for (digest, key) in [(abc, "abc"), (a, "a")] {
        // As in section 7.
        let mixed = format!("`{:016x}`", naive::mix(digest, 0xffff_ff03));
        assert!(page.contains(&mixed), "{mixed} of {key}");
    }
}

/// Keys of URLs with slots, in one group and in two.
#[test]
fn urls_with_slots() {
    let hashing = Hashing::from(42).with_slots();
    for paths in [0, 500] {
        let mut map = Map::new();
        for i in 0..3000 {
            map.insert(format!("host{i}.example/"), BTreeSet::from([format!("tag-{}", i % 3)]));
        }
        for i in 0..paths {
            map.insert(format!("host{i}.example/a/b"), BTreeSet::from(["paths".to_owned()]));
        }
        let stack = Stack::build_tagged(&tagged(&map, hashing), None, FPR, hashing).unwrap();
        assert_eq!(stack.layers().len(), usize::from(paths > 0));
        require_exact(&stack, &map);
        let blob = Filter::new(Profile::Url, stack);
        assert_eq!(Filter::decode(blob.encode().unwrap()).unwrap(), blob);
        // The union over all keys of a URL.
        let keys = ["host7.example/a/b", "host7.example/", "other.example/"];
        let digests = keys.map(|key| with_slot(digest(42, key.as_bytes()), slot(key.as_bytes())));
        let expected = if paths > 0 { &["tag-1", "paths"][..] } else { &["tag-1"] };
        let mut found = blob.stack().tags_of_all(digests).unwrap();
        found.sort_by_key(|name| *name == "paths");
        assert_eq!(found, expected);
    }
}

/// An allowlist excludes what the stack answers for by chance, and changes no tag.
#[test]
fn allowed_keys_have_no_tags() {
    let map = skewed(2000, [80, 15, 4, 1]);
    let allowed: Vec<u64> = (0..5000).map(|i| digest(1, format!("good-{i}").as_bytes())).collect();
    let stack = Stack::build_tagged(&tagged(&map, 1), Some(&allowed), 0.1, 1).unwrap();
    assert_eq!(stack.layers().len(), 1);
    require_exact(&stack, &map);
    assert!(allowed.iter().all(|digest| stack.tags_of_all([*digest]).unwrap().is_empty()));
}

/// Lists with their keys in any order give the same bytes, and it doesn't matter whether a key is in several lists or
/// twice in one.
#[test]
fn the_same_lists_give_the_same_bytes() {
    let keys = |numbers: &[u64]| numbers.iter().map(|i| digest(1, &i.to_le_bytes())).collect::<Vec<_>>();
    let bytes = |a: &[u64], b: &[u64]| {
        let lists = vec![("a".to_owned(), keys(a)), ("b".to_owned(), keys(b))];
        let stack = Stack::build_tagged(&Tagged::new(lists, keys(&[9])).unwrap(), None, FPR, 1).unwrap();
        Filter::from(stack).encode().unwrap()
    };
    assert_eq!(bytes(&[1, 2, 3], &[3, 4]), bytes(&[3, 1, 2, 2], &[4, 3]));
    assert_ne!(bytes(&[1, 2, 3], &[3, 4]), bytes(&[1, 2, 3], &[3, 5]));
}

#[test]
fn lists_that_can_not_be() {
    let code = |lists: Vec<(String, Vec<u64>)>| {
        Tagged::new(lists, Vec::new()).map(drop).map_err(|error| error.code())
    };
    let named = |name: &str| (name.to_owned(), vec![1]);
    let many = |total: usize| (0..total).map(|i| named(&format!("tag-{i}"))).collect::<Vec<_>>();
    assert_eq!(code(many(256)), Err("invalid_parameter"));
    assert_eq!(code(vec![named("a"), named("a")]), Err("invalid_parameter"));
    assert_eq!(code(vec![named("")]), Err("invalid_parameter"));
    assert_eq!(code(vec![named(&"x".repeat(256))]), Err("invalid_parameter"));
    assert_eq!(code(vec![named(&"x".repeat(255))]), Ok(()));
    // 255 lists, and a key in all of them; a list without keys.
    let mut lists = many(254);
    lists.push(("empty".to_owned(), Vec::new()));
    let stack = Stack::build_tagged(&Tagged::new(lists, vec![2]).unwrap(), None, FPR, 0).unwrap();
    assert_eq!(stack.tags_of_all([1]).unwrap().len(), 254);
    assert_eq!(stack.tags_of_all([2]).unwrap().len(), 0);
    assert_eq!(stack.tag_counts().last(), Some(("empty", Some(0))));
    // 2^16 different sets, one more than allowed.
    let all = |keys: std::ops::Range<u64>| {
        let list = |bit: u64| keys.clone().filter(|key| key >> bit & 1 == 1).collect();
        (0..17).map(|bit| (format!("bit-{bit}"), list(bit))).collect()
    };
    assert_eq!(code(all(1..65_536)), Ok(()));
    assert_eq!(code(all(1..65_537)), Err("invalid_parameter"));
    let lists = Tagged::new(all(1..65_536), Vec::new()).unwrap();
    let stack = Stack::build_tagged(&lists, None, 0.5, 0).unwrap();
    assert_eq!(stack.base_tags().unwrap().sets(), 65_535);
    let blob = Filter::from(stack);
    assert_eq!(Filter::decode(blob.encode().unwrap()).unwrap(), blob);
}

/// Names of updates count, too.
#[test]
fn no_more_than_255_tags_in_all() {
    let lists = |names: std::ops::Range<u64>| {
        let lists = names.map(|i| (format!("tag-{i}"), vec![i])).collect();
        Tagged::new(lists, Vec::new()).unwrap()
    };
    let mut stack = Stack::build_tagged(&lists(0..200), None, FPR, 0).unwrap();
    let before = stack.clone();
    let update = |stack: &mut Stack, live| {
        stack
            .update_tagged(TaggedUpdate { live: &lists(live), removed: &[], allowed: &[], fpr: FPR })
            .map_err(|error| error.code())
    };
    assert_eq!(update(&mut stack, 100..300), Err("invalid_parameter"));
    assert_eq!(stack, before);
    assert_eq!(update(&mut stack, 100..255), Ok(()));
    assert_eq!(stack.tag_names().count(), 255);
    assert_eq!(update(&mut stack, 100..256), Err("invalid_parameter"));
}

/// Whatever its names are, they come after those of the manifest, so a reader with the manifest sees that there are
/// more.
#[test]
fn a_blob_with_names_of_its_own_is_no_shard() {
    let map = skewed(100, [40, 30, 20, 10]);
    let live = tagged(&map, 1);
    let own: Vec<String> = live.names().map(str::to_owned).collect();
    let bytes = Filter::from(Stack::build_tagged(&live, None, FPR, 1).unwrap()).encode().unwrap();
    let many = (0..255).map(|i| format!("tag-{i}")).collect();
    for names in [own[..1].to_vec(), own.clone(), vec!["another".to_owned()], many] {
        let blob = Filter::decode_shard(bytes.clone(), None, &names).unwrap();
        let found: Vec<_> = blob.stack().tag_names().collect();
        assert_eq!(found, [&names[..], &own].concat());
        for key in map.keys() {
            assert!(blob.stack().tags(key.as_bytes()).is_ok_and(|tags| tags.len() <= own.len()));
        }
    }
    // The names of a manifest must differ, and so must those of a blob.
    let twice = ["a".to_owned(), "a".to_owned()];
    assert_eq!(Filter::decode_shard(bytes, None, &twice).unwrap_err().code(), "invalid_parameter");
}

/// Filters with tags and without don't mix, and only ribbon filters have tags.
#[test]
fn with_tags_or_without() {
    let map = skewed(100, [40, 30, 20, 10]);
    let live = tagged(&map, 1);
    let mut with = Stack::build_tagged(&live, None, FPR, 1).unwrap();
    let mut without = Stack::from(RibbonFilter::from_digests(&mut live.digests().to_vec(), FPR, 1).unwrap());
    let update = Update { live: live.digests(), removed: &[], allowed: &[], fpr: FPR };
    let tagged_update = TaggedUpdate { live: &live, removed: &[], allowed: &[], fpr: FPR };
    assert_eq!(with.update(update).unwrap_err().code(), "wrong_kind");
    assert_eq!(without.update_tagged(tagged_update).unwrap_err().code(), "wrong_kind");
    assert_eq!(without.tags(b"key").unwrap_err().code(), "wrong_kind");

    // There is no delta between the two, and a delta forged for the other one is refused.
    assert_eq!(
        Delta::between(&with.clone().into(), &without.clone().into()).unwrap_err().code(),
        "incompatible"
    );
    let parent = Filter::from(without.clone());
    let mut child = parent.clone();
    child.stack_mut().update(Update { live: &[1], ..update }).unwrap();
    let mut delta = Delta::between(&parent, &child).unwrap().encode().unwrap();
    let parent = Filter::from(with);
    delta[17..25].copy_from_slice(&parent.id().unwrap().to_le_bytes());
    naive::seal(&mut delta);
    let error = parent.apply(Delta::decode(delta).unwrap()).unwrap_err();
    assert_eq!(error.code(), "incompatible");
}
