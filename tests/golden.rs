//! Golden files, both ways: what a release wrote is read for ever, and the same keys still give the same bytes.
//!
//! If a test here fails, released readers and writers disagree with this one: undo the change, or make a new format
//! version. The keys of each file are in FORMAT.md, section 9.

use bloom_wasm::{Blob, BloomFilter, hash};

/// `key-0` to `key-999`.
fn keys() -> impl Iterator<Item = String> {
    (0..1000).map(|i| format!("key-{i}"))
}

#[test]
fn bloom() {
    let golden = include_bytes!("golden/bloom.bloom");
    let mut digests = keys().map(|key| hash::digest(42, key.as_bytes())).collect();
    let mut blob = Blob::from(BloomFilter::from_digests(&mut digests, 0.01, 42).unwrap());
    blob.describe(Some("golden".to_owned()), Some(1_700_000_000_000))
        .unwrap();
    assert!(blob.encode().unwrap() == golden, "the same keys give other bytes");

    let read = Blob::decode(golden.to_vec()).unwrap();
    assert_eq!(read, blob);
    assert!(keys().all(|key| read.filter.has(key.as_bytes())));
    let strangers: Vec<_> = (1000..1300)
        .filter(|i| read.filter.has(format!("key-{i}").as_bytes()))
        .collect();
    assert_eq!(strangers, BLOOM_FALSE_POSITIVES);
}

/// Worked out by a separate program that knows FORMAT.md only.
const BLOOM_FALSE_POSITIVES: [u32; 4] = [1037, 1090, 1167, 1206];
