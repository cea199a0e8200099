//! Deltas: the child that they make is the blob that was published, to the byte; damaged, foreign and misplaced ones are
//! refused and change nothing.

use bloom_wasm::filters::AnyFilter;
use bloom_wasm::hash::digest;
use bloom_wasm::interop::{Builder, Format, Options};
use bloom_wasm::layers::{Stack, Update};
use bloom_wasm::{BloomFilter, CuckooFilter, Delta, Filter, Profile, RibbonFilter, ScalableBloomFilter};

use crate::naive;

fn keys(range: std::ops::Range<u64>) -> Vec<u64> {
    range.map(|i| digest(3, &i.to_le_bytes())).collect()
}

fn described(filter: impl Into<Stack>, name: &str) -> Filter {
    let mut blob = Filter::new(Profile::Url, filter);
    blob.describe(Some(name.to_owned()), Some(1_700_000_000_000)).unwrap();
    blob
}

/// The parent, updated.
fn child(parent: &Filter, live: std::ops::Range<u64>, removed: std::ops::Range<u64>, name: &str) -> Filter {
    let mut stack = parent.stack().clone();
    let (live, removed) = (keys(live), keys(removed));
    stack.update(Update { live: &live, removed: &removed, allowed: &[], fpr: 1e-3 }).unwrap();
    described(stack, name)
}

fn bases() -> Vec<AnyFilter> {
    let members = keys(0..1000);
    let mut scalable = ScalableBloomFilter::new(100, 0.02, 2, 0.5, 3).unwrap();
    members.iter().for_each(|&digest| assert!(scalable.add_digest(digest).is_ok()));
    vec![
        BloomFilter::from_digests(&mut members.clone(), 0.02, 3).unwrap().into(),
        scalable.into(),
        CuckooFilter::from_digests(&mut members.clone(), 0.02, 3).unwrap().into(),
        RibbonFilter::from_digests(&mut members.clone(), 0.02, 3).unwrap().into(),
    ]
}

#[test]
fn one_after_another_they_make_what_was_published() {
    for base in bases() {
        let mut published = described(base, "day 0");
        let mut followed = Filter::decode(published.encode().unwrap()).unwrap();
        for day in 1..6 {
            let next = child(
                &published,
                100 * day..1000 + 100 * day,
                100 * (day - 1)..100 * day,
                &format!("day {day}"),
            );
            let bytes = Delta::between(&published, &next).unwrap().encode().unwrap();
            let delta = Delta::decode(bytes.clone()).unwrap();
            assert_eq!(delta.encode().unwrap(), bytes);
            assert_eq!((delta.parent(), delta.count()), (published.id().unwrap(), Some(1000)));
            assert!(bytes.len() < next.encode().unwrap().len() / 2);
            followed = followed.apply(delta.clone()).unwrap();
            assert_eq!(followed.encode().unwrap(), next.encode().unwrap());
            let live = keys(100 * day..1000 + 100 * day);
            assert!(live.iter().all(|&digest| followed.stack().has_digest(digest)));
            published = next;
        }
    }
}

#[test]
fn nothing_new_is_a_delta_too() {
    let parent = described(RibbonFilter::from_digests(&mut keys(0..1000), 0.01, 3).unwrap(), "old");
    let layered = child(&parent, 10..1010, 0..10, "old");
    for parent in [parent, layered] {
        let mut renamed = parent.clone();
        renamed.describe(Some("new".to_owned()), None).unwrap();
        let delta = Delta::between(&parent, &renamed).unwrap();
        assert_eq!(delta.layers().len(), 0);
        let delta = Delta::decode(delta.encode().unwrap()).unwrap();
        let applied = parent.apply(delta.clone()).unwrap();
        assert_eq!(applied.encode().unwrap(), renamed.encode().unwrap());
        assert_eq!((applied.name(), applied.created_at()), (Some("new"), None));
    }
}

/// An update may need layers, or none because the keys are there by chance already.
#[test]
fn the_count_is_right_after_every_delta() {
    let (mut by_chance, mut empty) = (0, 0);
    let bases: Vec<AnyFilter> = (0..40)
        .flat_map(|seed| {
            let mut two = vec![digest(seed, b"a"), digest(seed, b"b")];
            let ribbon = RibbonFilter::from_digests(&mut two.clone(), 0.5, seed).unwrap();
            [ribbon.into(), BloomFilter::from_digests(&mut two, 0.5, seed).unwrap().into()]
        })
        .collect();
    for base in bases {
        let seed = base.hashing().seed();
        let mut published = Filter::new(Profile::Raw, base);
        let mut followed = Filter::decode(published.encode().unwrap()).unwrap();
        let mut old = vec![digest(seed, b"a"), digest(seed, b"b")];
        for keys in [&["a", "b", "c"][..], &[], &["d"], &["d", "e"], &["e"]] {
            let live: Vec<u64> = keys.iter().map(|key| digest(seed, key.as_bytes())).collect();
            let removed: Vec<u64> = old.iter().copied().filter(|digest| !live.contains(digest)).collect();
            let mut next = published.clone();
            next.stack_mut()
                .update(Update { live: &live, removed: &removed, allowed: &[], fpr: 0.5 })
                .unwrap();
            let delta = Delta::between(&published, &next).unwrap().encode().unwrap();
            let delta = Delta::decode(delta).unwrap();
            by_chance += usize::from(delta.layers().is_empty());
            empty += usize::from(next.stack().layers().is_empty());
            followed = followed.apply(delta).unwrap();
            let read = Filter::decode(followed.encode().unwrap()).unwrap();
            for blob in [&next, &followed, &read] {
                assert_eq!(blob.stack().count(), Some(live.len() as u64), "{keys:?} under {seed}");
                assert_eq!(blob, &next);
            }
            (published, old) = (next, live);
        }
    }
    assert!(by_chance > 40 && empty > 10, "{by_chance} deltas without layers, {empty} filters");
}

#[test]
fn another_parent_is_refused() {
    let parent = described(RibbonFilter::from_digests(&mut keys(0..1000), 0.01, 3).unwrap(), "a");
    let next = child(&parent, 10..1010, 0..10, "b");
    let delta = Delta::between(&parent, &next).unwrap();
    // The same filter under another name is another blob.
    let mut renamed = parent.clone();
    renamed.describe(Some("c".to_owned()), None).unwrap();
    for other in [&renamed, &next] {
        let error = other.apply(delta.clone()).unwrap_err();
        assert_eq!(error.code(), "wrong_base");
        assert!(error.to_string().contains(&format!("{:016x}", parent.id().unwrap())), "{error}");
    }
    // Only more layers over the same base make a delta.
    let unlike = described(RibbonFilter::from_digests(&mut keys(1..1001), 0.01, 3).unwrap(), "a");
    // After an update that needed no layer, a filter is read-only, and no delta takes that back.
    let open = described(BloomFilter::from_digests(&mut keys(0..1000), 0.01, 3).unwrap(), "a");
    let closed = child(&open, 0..1000, 0..0, "a");
    let mut raw = Filter::new(Profile::Raw, next.stack().clone());
    raw.describe(Some("b".to_owned()), None).unwrap();
    for (one, other) in [(&unlike, &next), (&next, &parent), (&parent, &raw), (&closed, &open)] {
        assert_eq!(Delta::between(one, other).unwrap_err().code(), "incompatible");
    }
}

#[test]
fn a_delta_is_no_filter_and_a_filter_no_delta() {
    let parent = described(RibbonFilter::from_digests(&mut keys(0..1000), 0.01, 3).unwrap(), "a");
    let delta = Delta::between(&parent, &child(&parent, 10..1010, 0..10, "b")).unwrap().encode().unwrap();
    assert_eq!(Filter::decode(delta.clone()).unwrap_err().code(), "wrong_kind");
    assert_eq!(Filter::expected_length(&delta), Ok(Some(delta.len() as u64)));
    assert_eq!(Delta::decode(parent.encode().unwrap()).unwrap_err().code(), "wrong_kind");
}

/// A delta with one byte changed, and a checksum that fits.
fn with(delta: &[u8], at: usize, byte: u8) -> Vec<u8> {
    let mut bytes = delta.to_vec();
    bytes[at] = byte;
    naive::seal(&mut bytes);
    bytes
}

#[test]
fn hostile_deltas() {
    let parent = described(RibbonFilter::from_digests(&mut keys(0..1000), 0.01, 3).unwrap(), "a");
    let good = Delta::between(&parent, &child(&parent, 10..1010, 0..10, "b")).unwrap().encode().unwrap();
    for length in 0..good.len() {
        assert_eq!(Delta::decode(good[..length].to_vec()).unwrap_err().code(), "truncated", "{length}");
        let mut flipped = good.clone();
        flipped[length] ^= 1 << (length % 8);
        assert!(Delta::decode(flipped).is_err(), "{length}");
        // A delta with a good checksum is refused when it is read, or when it is applied, or applies. In no case is the
        // parent changed.
        if length < good.len() - 4 {
            for byte in [0, 1, 255, good[length] ^ 128] {
                let Ok(delta) = Delta::decode(with(&good, length, byte)) else { continue };
                let before = parent.clone();
                if let Ok(applied) = parent.apply(delta.clone()) {
                    keys(0..50).iter().for_each(|&digest| _ = applied.stack().has_digest(digest));
                    Filter::decode(applied.encode().unwrap()).unwrap();
                }
                assert_eq!(before, parent);
            }
        }
    }
    assert_eq!(Delta::decode([&good[..], b"x"].concat()).unwrap_err().code(), "trailing_bytes");
    let code = |at, byte| Delta::decode(with(&good, at, byte)).unwrap_err().code();
    // Without flag 16 there is no table: the blob ends before it.
    assert_eq!(code(7, 3), "checksum_mismatch");
    // Another profile or seed, for the right parent.
    for (at, byte) in [(6, 0), (9, 4)] {
        let delta = Delta::decode(with(&good, at, byte)).unwrap();
        assert_eq!(parent.apply(delta.clone()).unwrap_err().code(), "incompatible");
    }
}

#[test]
fn a_foreign_filter_takes_no_layers() {
    let mut builder = Builder::new(Format::GoBloom, &Options::default(), 10, 0.01).unwrap();
    builder.add(b"a").unwrap();
    let foreign = Filter::from(builder.finish().unwrap());
    let parent = Filter::from(RibbonFilter::from_digests(&mut keys(0..1000), 0.01, 0).unwrap());
    let mut next = parent.clone();
    let live = keys(0..1001);
    next.stack_mut().update(Update { live: &live, removed: &[], allowed: &[], fpr: 0.1 }).unwrap();
    let mut bytes = Delta::between(&parent, &next).unwrap().encode().unwrap();
    bytes[17..25].copy_from_slice(&foreign.id().unwrap().to_le_bytes());
    let last = bytes.len() - 9;
    let byte = bytes[last];
    let delta = Delta::decode(with(&bytes, last, byte)).unwrap();
    assert_eq!(foreign.apply(delta.clone()).unwrap_err().code(), "wrong_kind");
}

#[test]
fn at_most_255_layers() {
    let mut published = described(RibbonFilter::from_digests(&mut keys(0..10), 0.01, 3).unwrap(), "a");
    let mut i = 10;
    while published.stack().layers().len() < 200 {
        i += 1;
        published = child(&published, 0..i, 0..0, "a");
    }
    // A delta that says it is for the parent of 200 layers, with 200 of its own.
    let base = described(published.stack().base().clone(), "a");
    let bytes = Delta::between(&base, &published).unwrap().encode().unwrap();
    let mut bytes = [&bytes[..17], &published.id().unwrap().to_le_bytes(), &bytes[25..]].concat();
    let last = bytes.len() - 9;
    bytes = with(&bytes, last, bytes[last]);
    let delta = Delta::decode(bytes.clone()).unwrap();
    assert_eq!(published.apply(delta.clone()).unwrap_err().code(), "invalid_parameter");
}

/// Bytes are shared until they are changed.
#[test]
fn a_child_and_a_clone_do_not_see_each_others_changes() {
    let mut parent = Filter::from(BloomFilter::from_digests(&mut keys(0..1000), 0.01, 3).unwrap());
    let before = parent.encode().unwrap();
    let mut next = parent.try_clone().unwrap();
    let live = keys(0..1001);
    next.stack_mut().update(Update { live: &live, removed: &[], allowed: &[], fpr: 0.1 }).unwrap();
    let applied = parent.apply(Delta::between(&parent, &next).unwrap()).unwrap();
    let (published, copy) = (applied.encode().unwrap(), parent.try_clone().unwrap());
    assert!(parent.stack_mut().base_mut().unwrap().add_digests(&keys(5000..6000)).unwrap() > 900);
    assert_ne!(parent.encode().unwrap(), before);
    assert_eq!(copy.encode().unwrap(), before);
    assert_eq!(applied.encode().unwrap(), published);
    for base in bases() {
        let blob = Filter::from(base);
        let (before, mut copy) = (blob.encode().unwrap(), blob.clone());
        let read_only = matches!(blob.stack().base(), AnyFilter::Ribbon(_));
        match copy.stack_mut().base_mut() {
            Ok(base) => assert!(!read_only && base.add_digests(&keys(5000..5010)).is_ok()),
            Err(error) => assert!(read_only && error.code() == "wrong_kind", "{error}"),
        }
        assert!(read_only || copy.encode().unwrap() != before);
        assert_eq!(blob.encode().unwrap(), before);
    }
}
