//! Keyed filters: nothing agrees without the secret, everything works with it, and a wrong one is reported at once.

use bloom_wasm::filters::AnyFilter;
use bloom_wasm::hash::{Hashing, Secret};
use bloom_wasm::layers::{Stack, Update};
use bloom_wasm::{Delta, Filter, Kind};

use crate::kinds::KINDS;
use crate::naive;

fn secret(number: u8) -> Secret {
    Secret::from([number; 16])
}

fn digests(keys: std::ops::Range<u64>, hashing: Hashing) -> Vec<u64> {
    keys.map(|i| hashing.digest(&i.to_le_bytes())).collect()
}

fn filter(kind: Kind, keys: u64, fpr: f64, hashing: Hashing) -> AnyFilter {
    AnyFilter::from_digests(kind.into(), &mut digests(0..keys, hashing), fpr, hashing).unwrap()
}

/// Layers and deltas use the same digests.
#[test]
fn layers_and_deltas() {
    let hashing = Hashing::keyed(&secret(4), 99);
    let of = |keys| digests(keys, hashing);
    let base = Filter::from(filter(Kind::Ribbon, 1000, 0.01, hashing));
    let mut child = base.clone();
    let (live, removed, allowed) = (of(50..1050), of(0..50), of(5000..9000));
    child
        .stack_mut()
        .update(Update { live: &live, removed: &removed, allowed: &allowed, fpr: 1e-6 })
        .unwrap();
    let has = |blob: &Filter, i: u64| blob.stack().has(&i.to_le_bytes());
    assert!((50..1050).all(|i| has(&child, i)) && !(0..50).chain(5000..9000).any(|i| has(&child, i)));

    let bytes = child.encode().unwrap();
    assert_eq!(bytes[7], 16 + 32);
    assert_eq!(Filter::decode_keyed(bytes, &secret(4)).unwrap(), child);
    let delta = Delta::between(&base, &child).unwrap().encode().unwrap();
    let code = |delta: Vec<u8>, of: Option<u8>| match of {
        Some(number) => Delta::decode_keyed(delta, &secret(number)).unwrap_err().code(),
        None => Delta::decode(delta).unwrap_err().code(),
    };
    assert_eq!(code(delta.clone(), None), "secret_required");
    assert_eq!(code(delta.clone(), Some(5)), "wrong_secret");
    let delta = Delta::decode_keyed(delta, &secret(4)).unwrap();
    assert_eq!(base.apply(delta.clone()).unwrap(), child);
    let other = Filter::from(filter(Kind::Ribbon, 1000, 0.01, Hashing::keyed(&secret(5), 99)));
    assert_eq!(other.apply(delta).unwrap_err().code(), "wrong_base");
}

/// Keys that pass a filter as it looks to somebody who has only the blob.
fn searched(seen: &Stack, count: usize) -> Vec<[u8; 8]> {
    (1_000_000..).map(u64::to_le_bytes).filter(|key| seen.has(key)).take(count).collect()
}

#[test]
fn false_positives_cannot_be_made_up_without_the_secret() {
    const FPR: f64 = 0.001;
    for kind in KINDS {
        let open = Stack::from(filter(kind, 10_000, FPR, 42.into()));
        let made_up = searched(&open, 100);
        assert!(made_up.iter().all(|key| open.has(key)), "{kind:?}: all of them pass");

        let hashing = Hashing::keyed(&secret(1), 42);
        let target = Stack::from(filter(kind, 10_000, FPR, hashing));
        let bytes = Filter::from(target.base().clone()).encode().unwrap();
        // The blob without its secret: taken for an ordinary one with its seed, and as one of the attacker's own secret.
        let sealed = |body: &[u8]| {
            let mut blob = [body, &[0; 4]].concat();
            naive::seal(&mut blob);
            blob
        };
        let body = &bytes[..bytes.len() - 4];
        let ordinary = sealed(&[&body[..7], &[0], &body[8..17], &body[25..]].concat());
        let own = Hashing::keyed(&secret(9), 42).check().unwrap().to_le_bytes();
        let own = sealed(&[&body[..17], &own, &body[25..]].concat());
        for seen in [Filter::decode(ordinary).unwrap(), Filter::decode_keyed(own, &secret(9)).unwrap()] {
            let made_up = searched(seen.stack(), 2000);
            let hits = made_up.iter().filter(|key| target.has(&key[..])).count();
            // 2 are expected; more than 12 happen once in a million times.
            assert!(hits <= 12, "{kind:?}: {hits} of 2,000");
        }
    }
}

#[test]
fn a_wrong_secret_is_told_before_anything_else() {
    let hashing = Hashing::keyed(&secret(1), 0x0123_4567_89ab_cdef);
    let keyed = Filter::from(filter(Kind::Bloom, 100, 0.01, hashing)).encode().unwrap();
    let open = Filter::from(filter(Kind::Bloom, 100, 0.01, 0.into())).encode().unwrap();
    let code = |result: Result<Filter, bloom_wasm::Error>| result.map_err(|error| error.code());
    for (bytes, given, expected) in [
        (&keyed, None, "secret_required"),
        (&keyed, Some(2), "wrong_secret"),
        (&open, Some(1), "wrong_secret"),
    ] {
        let decoded = |bytes: &[u8]| match given {
            Some(number) => Filter::decode_keyed(bytes.to_vec(), &secret(number)),
            None => Filter::decode(bytes.to_vec()),
        };
        let length = |bytes: &[u8]| match given {
            Some(number) => Filter::expected_length_keyed(bytes, &secret(number)),
            None => Filter::expected_length(bytes),
        };
        // From the first 25 bytes on, and whatever follows them.
        assert_eq!(code(decoded(bytes)), Err(expected));
        assert_eq!(code(decoded(&bytes[..25])), Err(expected));
        assert_eq!(length(&bytes[..25]).map_err(|error| error.code()), Err(expected));
        assert_eq!(length(&bytes[..12]), Ok(None));
    }
    let read = Filter::decode_keyed(keyed.clone(), &secret(1)).unwrap();
    assert!(read.info().unwrap().keyed && !Filter::decode(open).unwrap().info().unwrap().keyed);
    assert_eq!(Filter::expected_length_keyed(&keyed, &secret(1)), Ok(Some(keyed.len() as u64)));
    // What was read is changed and merged like any other.
    let mut merged = read.clone();
    merged.combine(&read, true).unwrap();
    assert_eq!(merged, read);
    let other = Filter::from(filter(Kind::Bloom, 100, 0.01, Hashing::keyed(&secret(2), hashing.seed())));
    assert_eq!(merged.combine(&other, true).unwrap_err().code(), "incompatible");
}
