//! Bytes that nobody should send: every decode ends in a filter or in a typed error, and takes no more memory than
//! the bytes it was given.

use std::sync::LazyLock;

use bloom_wasm::hash::digest;
use bloom_wasm::{
    Blob, BloomFilter, CountingBloomFilter, CuckooFilter, Error, RibbonFilter, ScalableBloomFilter, Stack,
    Update,
};
use peak_alloc::PeakAlloc;
use proptest::prelude::*;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// Small blobs of every kind: without metadata, with all of it, and with bits to spare in the last byte.
fn blobs() -> Vec<Vec<u8>> {
    let mut plain = BloomFilter::new(64, 3, 0).unwrap();
    plain.add(b"key");
    let mut odd = BloomFilter::with_capacity(50, 0.001, u64::MAX).unwrap();
    (0..50_u8).for_each(|i| {
        odd.add(&[i]);
    });
    let mut named = Blob::from(odd.clone());
    named.describe(Some("größer".to_owned()), Some(1_760_000_000_000)).unwrap();
    let digests = |count: u64| (0..count).map(|i| digest(0, &i.to_le_bytes())).collect::<Vec<_>>();
    let mut layered = Stack::from(RibbonFilter::from_digests(&mut digests(30), 0.1, 0).unwrap());
    let (all, allowed) = (digests(40), [7; 1]);
    let update = Update { live: &all[10..], removed: &all[..10], allowed: &allowed, fpr: 0.1 };
    layered.update(update).unwrap();
    assert!(layered.layers().len() >= 2);
    let blobs: [Blob; 10] = [
        plain.into(),
        odd.into(),
        named,
        CountingBloomFilter::from_digests(&mut digests(9), 0.05, 4, 0).unwrap().into(),
        CountingBloomFilter::from_digests(&mut digests(9), 0.05, 8, 0).unwrap().into(),
        ScalableBloomFilter::from_digests(&mut digests(30), 5, 0.1, 2, 0.5, 0).unwrap().into(),
        CuckooFilter::from_digests(&mut digests(20), 0.01, 0).unwrap().into(),
        RibbonFilter::from_digests(&mut digests(30), 0.01, 0).unwrap().into(),
        RibbonFilter::from_digests(&mut digests(1250), 0.3, 0).unwrap().into(),
        layered.into(),
    ];
    blobs.map(|blob| blob.encode().unwrap()).to_vec()
}

/// The checksum made to fit, so that what comes after it is tested as well.
fn reseal(bytes: &mut [u8]) {
    if let Some(end) = bytes.len().checked_sub(8) {
        let checksum = digest(0, &bytes[..end]);
        bytes[end..].copy_from_slice(&checksum.to_le_bytes());
    }
}

/// Decodes, and uses whatever comes out.
fn try_decode(bytes: &[u8]) -> Result<Blob, Error> {
    let _ = Blob::expected_length(bytes);
    let blob = Blob::decode(bytes.to_vec())?;
    let _ = (blob.filter().estimated_fpr(), blob.filter().estimated_count());
    (0..64_u64).for_each(|i| {
        blob.filter().has(&i.to_le_bytes());
    });
    assert_eq!(blob.encode().unwrap(), bytes, "a blob that can be read has one form only");
    assert_eq!(Blob::expected_length(bytes), Ok(Some(bytes.len() as u64)));
    Ok(blob)
}

#[test]
fn every_truncation() {
    for blob in blobs() {
        for length in 0..blob.len() {
            let cut = Error::Truncated { needed: 0, have: length as u64 };
            assert_eq!(try_decode(&blob[..length]).unwrap_err().code(), cut.code(), "{length} bytes");
            let mut sealed = blob[..length].to_vec();
            reseal(&mut sealed);
            assert!(try_decode(&sealed).is_err());
        }
        for extra in [1, 7, 8, 1000] {
            let longer = [&blob[..], &vec![0; extra]].concat();
            assert_eq!(try_decode(&longer), Err(Error::TrailingBytes { extra: extra as u64 }));
        }
    }
}

#[test]
fn every_byte_changed_to_every_value() {
    for blob in blobs() {
        for at in 0..blob.len() {
            for change in 1..=255 {
                let mut bytes = blob.clone();
                bytes[at] ^= change;
                assert!(try_decode(&bytes).is_err(), "byte {at} xor {change} was not noticed");
                if at < blob.len() - 8 {
                    reseal(&mut bytes);
                    let _ = try_decode(&bytes);
                }
            }
        }
    }
}

#[test]
fn the_checks_in_their_order() {
    let blob = &blobs()[0];
    let with = |at: usize, value: u8| {
        let mut bytes = blob.clone();
        bytes[at] = value;
        try_decode(&bytes).unwrap_err()
    };
    assert_eq!(with(0, 0), Error::NotAFilter);
    assert_eq!(with(4, 2), Error::UnsupportedVersion { version: 2 });
    assert_eq!(with(5, 200), Error::UnsupportedKind { kind: 200 });
    assert_eq!(with(6, 9).code(), "invalid_parameter");
    assert_eq!(with(7, 0x80).code(), "invalid_parameter");
    assert_eq!(with(20, 0).code(), "invalid_parameter"); // no hashes
    assert_eq!(with(20, 65).code(), "invalid_parameter");
    assert_eq!(with(16, 128).code(), "truncated"); // twice the bits
    assert_eq!(with(16, 32).code(), "checksum_mismatch"); // half the bits: checked before trailing bytes
    assert_eq!(with(8, 1).code(), "checksum_mismatch"); // another seed
    assert_eq!(with(blob.len() - 1, 0).code(), "checksum_mismatch");
    assert_eq!(try_decode(b"").unwrap_err().code(), "truncated");
    assert_eq!(try_decode(b"\xb5BL").unwrap_err().code(), "truncated");
    assert_eq!(try_decode(b"{").unwrap_err(), Error::NotAFilter);

    // 59 bits in 8 bytes leave 5 that must be 0.
    let mut filter = Blob::from(BloomFilter::new(59, 1, 0).unwrap()).encode().unwrap();
    filter[21 + 7] = 0b0000_1000;
    reseal(&mut filter);
    assert_eq!(try_decode(&filter).unwrap_err().code(), "invalid_parameter");
    filter[21 + 7] = 0b0000_0100;
    reseal(&mut filter);
    assert!(try_decode(&filter).is_ok());
}

#[test]
fn absurd_lengths_and_noise_take_no_memory() {
    let noise: Vec<u8> =
        (0..10_000_000_u64 / 8).flat_map(|i| digest(1, &i.to_le_bytes()).to_le_bytes()).collect();
    let mut dressed = noise.clone();
    dressed[..8].copy_from_slice(&blobs()[0][..8]);
    dressed[20] = 7;
    let mut huge = blobs()[0].clone();
    huge[16..20].copy_from_slice(&u32::MAX.to_le_bytes());

    for (bytes, code) in [(noise, "not_a_filter"), (dressed, ""), (huge, "truncated")] {
        let given = bytes.capacity();
        MEMORY.reset_peak_usage();
        let before = MEMORY.current_usage();
        let error = Blob::decode(bytes).unwrap_err();
        let taken = MEMORY.peak_usage().saturating_sub(before);
        assert!(code.is_empty() || error.code() == code, "{error:?}");
        // Other tests of this file run beside this one and take some too.
        assert!(taken < (1 << 20), "{taken} bytes for {given} bytes of input");
    }
}

/// How many mutations there are of all blobs together; `MUTATIONS` asks for another number.
fn cases() -> u32 {
    std::env::var("MUTATIONS").map_or(1_100_000, |number| number.parse().unwrap())
}

static BLOBS: LazyLock<Vec<Vec<u8>>> = LazyLock::new(blobs);

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]

    #[test]
    fn mutations(
        which in 0..10_usize,
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut: Option<prop::sample::Index>,
        sealed: bool,
    ) {
        let mut bytes = BLOBS[which].clone();
        for (at, value) in edits {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        if sealed {
            reseal(&mut bytes);
        }
        let _ = try_decode(&bytes);
    }

    #[test]
    fn noise(bytes in prop::collection::vec(any::<u8>(), 0..200), dressed: bool, which in 0..10_usize) {
        let mut bytes = bytes;
        if dressed {
            let head = &BLOBS[which][..6];
            bytes.splice(..6.min(bytes.len()), head.iter().copied());
        }
        let _ = try_decode(&bytes);
    }
}
