//! Bytes that nobody should send: every decode ends in a filter or in a typed error, and takes no more memory than
//! the bytes it was given.

use std::collections::BTreeMap;
use std::ops::Range;

use bloom_wasm::filters::AnyFilter;
use bloom_wasm::hash::{Hashing, Secret, digest};
use bloom_wasm::interop::{Builder, Format, Options};
use bloom_wasm::layers::{Stack, Tagged, TaggedUpdate, Update};
use bloom_wasm::{
    BloomFilter, CountingBloomFilter, CuckooFilter, Error, Filter, Kind, Profile, RibbonFilter,
    ScalableBloomFilter,
};

use crate::naive;
/// Small blobs of every kind: without metadata, with all of it, and with bits to spare in the last byte.
fn named_blobs() -> Vec<(&'static str, Vec<u8>)> {
    let mut plain = BloomFilter::new(64, 3, 0).unwrap();
    plain.add(b"key");
    let mut odd = BloomFilter::with_capacity(50, 0.001, u64::MAX).unwrap();
    (0..50_u8).for_each(|i| {
        odd.add(&[i]);
    });
    let mut named = Filter::from(odd.clone());
    named.describe(Some("größer".to_owned()), Some(1_760_000_000_000)).unwrap();
    let digests = |count: u64| (0..count).map(|i| digest(0, &i.to_le_bytes())).collect::<Vec<_>>();
    let mut layered = Stack::from(RibbonFilter::from_digests(&mut digests(30), 0.1, 0).unwrap());
    let (all, allowed) = (digests(40), [7; 1]);
    let update = Update { live: &all[10..], removed: &all[..10], allowed: &allowed, fpr: 0.1 };
    layered.update(update).unwrap();
    assert!(layered.layers().len() >= 2);
    let hashing = Hashing::keyed(&secret(), 7);
    let keyed: Vec<u64> = (0..40_u64).map(|i| hashing.digest(&i.to_le_bytes())).collect();
    let mut keyed_layers =
        Stack::from(RibbonFilter::from_digests(&mut keyed[..30].to_vec(), 0.1, hashing).unwrap());
    let update = Update { live: &keyed[10..], removed: &keyed[..10], allowed: &[], fpr: 0.1 };
    keyed_layers.update(update).unwrap();
    let slotted = Hashing::from(7).with_slots();
    let hosts = ["evil.example/", "www.bad.example/", "worse.example/a/b?c", "10.0.0.1/"];
    let urls: Vec<u64> = hosts.iter().map(|key| slotted.digest(key.as_bytes())).collect();
    let mut urls_with_layers =
        Stack::build(Kind::Ribbon.into(), &mut urls[..2].to_vec(), None, 0.1, slotted).unwrap();
    let update = Update { live: &urls[1..], removed: &urls[..1], allowed: &[], fpr: 0.1 };
    urls_with_layers.update(update).unwrap();
    let tagged = |keys: &[u64], tags: [u64; 2]| {
        let list = |tag: u64| keys.iter().copied().filter(|key| key % 3 == tag).collect();
        Tagged::new(tags.map(|tag| (format!("tag-{tag}"), list(tag))).into(), keys.to_vec()).unwrap()
    };
    let mut tags = Stack::build_tagged(&tagged(&all[..30], [0, 1]), None, 0.1, 0).unwrap();
    let plain_tags = tags.clone();
    let update =
        TaggedUpdate { live: &tagged(&all[10..], [1, 2]), removed: &all[..10], allowed: &[7], fpr: 0.1 };
    tags.update_tagged(update).unwrap();
    assert!(tags.layers().len() >= 2);
    // With a default filter.
    let mut few = digests(400);
    let rare = ["rare", "rarer"].map(|name| (name.to_owned(), few.split_off(few.len() - 5)));
    let skewed = Stack::build_tagged(&Tagged::new(rare.into(), few).unwrap(), None, 0.5, 0).unwrap();
    assert!(skewed.base_tags().unwrap().default_filter().is_some());
    let blobs: [(&'static str, Filter); 16] = [
        ("bloom", plain.into()),
        ("odd bloom", odd.into()),
        ("named bloom", named),
        (
            "counting of 4 bits",
            CountingBloomFilter::from_digests(&mut digests(9), 0.05, 4, 0).unwrap().into(),
        ),
        (
            "counting of 8 bits",
            CountingBloomFilter::from_digests(&mut digests(9), 0.05, 8, 0).unwrap().into(),
        ),
        ("scalable", ScalableBloomFilter::from_digests(&mut digests(30), 5, 0.1, 2, 0.5, 0).unwrap().into()),
        ("cuckoo", CuckooFilter::from_digests(&mut digests(20), 0.01, 0).unwrap().into()),
        ("ribbon", RibbonFilter::from_digests(&mut digests(30), 0.01, 0).unwrap().into()),
        ("ribbon of two stages", RibbonFilter::from_digests(&mut digests(1250), 0.3, 0).unwrap().into()),
        ("layers", layered.into()),
        ("keyed", BloomFilter::from_digests(&mut keyed.clone(), 0.01, hashing).unwrap().into()),
        ("keyed layers", keyed_layers.into()),
        ("URLs with slots, and layers", Filter::new(Profile::Url, urls_with_layers)),
        ("tags", plain_tags.into()),
        ("tags and layers", tags.into()),
        ("tags with a default filter", skewed.into()),
    ];
    blobs.map(|(name, blob)| (name, blob.encode().unwrap())).to_vec()
}

fn blobs() -> Vec<Vec<u8>> {
    named_blobs().into_iter().map(|(_, blob)| blob).collect()
}

fn secret() -> Secret {
    Secret::from([9; 16])
}

/// Decodes, with the secret if it is asked for.
fn decode(bytes: Vec<u8>) -> Result<Filter, Error> {
    match Filter::decode(bytes.clone()) {
        Err(Error::SecretRequired) => Filter::decode_keyed(bytes, &secret()),
        decoded => decoded,
    }
}

fn expected_length(bytes: &[u8]) -> Result<Option<u64>, Error> {
    match Filter::expected_length(bytes) {
        Err(Error::SecretRequired) => Filter::expected_length_keyed(bytes, &secret()),
        expected => expected,
    }
}

/// The checksum made to fit, where the blob says that it ends or else at the very end, so that what comes after it is
/// tested as well.
fn reseal(bytes: &mut [u8]) {
    let length = expected_length(bytes).ok().flatten().unwrap_or(u64::MAX).min(bytes.len() as u64);
    let bytes = &mut bytes[..length as usize];
    if bytes.len() >= 4 {
        naive::seal(bytes);
    }
}

/// Decodes, and uses whatever comes out.
fn try_decode(bytes: &[u8]) -> Result<Filter, Error> {
    let _ = expected_length(bytes);
    let blob = decode(bytes.to_vec())?;
    let _ = (blob.stack().estimated_fpr(), blob.stack().estimated_count());
    (0..64_u64).for_each(|i| {
        blob.stack().has(&i.to_le_bytes());
        // A blob with false tags answers with some set of them, or was refused before.
        let tags = blob.stack().tags(&i.to_le_bytes());
        assert_eq!(tags.is_ok(), blob.stack().is_tagged());
    });
    assert_eq!(blob.encode().unwrap(), bytes, "a blob that can be read has only one form");
    assert_eq!(expected_length(bytes), Ok(Some(bytes.len() as u64)));
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
        for extra in [1, 3, 4, 1000] {
            let longer = [&blob[..], &vec![0; extra]].concat();
            assert_eq!(try_decode(&longer), Err(Error::TrailingBytes { extra: extra as u64 }));
        }
    }
}

/// Changes each byte in each of these ways, also under a checksum that fits.
fn change_every_byte(changes: impl Iterator<Item = u8> + Clone) {
    for blob in blobs() {
        for at in 0..blob.len() {
            for change in changes.clone() {
                let mut bytes = blob.clone();
                bytes[at] ^= change;
                assert!(try_decode(&bytes).is_err(), "byte {at} xor {change} was not noticed");
                if at < blob.len() - 4 {
                    reseal(&mut bytes);
                    let _ = try_decode(&bytes);
                }
            }
        }
    }
}

/// Each bit, all bits, and some values between.
#[test]
fn every_byte_changed() {
    change_every_byte((0..8).map(|bit| 1 << bit).chain((3..=255).step_by(14)));
}

#[test]
#[ignore = "long: npm run test:all"]
fn every_byte_changed_to_every_value() {
    change_every_byte(1..=255);
}

/// What is refused, and as what: the vectors in `tests/vectors/damage.json`. Each is a golden file with other bytes in
/// some places, or cut short, under a checksum that fits.
#[test]
fn the_rules_of_the_vectors() {
    let hex = |text: &str| -> Vec<u8> {
        let digits = text.as_bytes().chunks(2);
        digits.map(|two| u8::from_str_radix(str::from_utf8(two).unwrap(), 16).unwrap()).collect()
    };
    let vectors = crate::vectors("damage");
    assert!(vectors.len() > 130, "{}", vectors.len());
    for vector in vectors {
        let file = format!("tests/golden/{}.bloom", vector["file"].as_str().unwrap());
        let mut bytes = std::fs::read(file).unwrap();
        for (at, change) in vector["change"].as_object().into_iter().flatten() {
            let (at, change) = (at.parse::<usize>().unwrap(), hex(change.as_str().unwrap()));
            bytes[at..at + change.len()].copy_from_slice(&change);
        }
        match vector["cut"].as_u64() {
            Some(length) => bytes.truncate(length as usize),
            None => naive::seal(&mut bytes),
        }
        let mut secret: [u8; 16] = std::array::from_fn(|i| i as u8);
        if vector["secret"] == "wrong" {
            secret.reverse();
        }
        let read = match vector["secret"].as_str() {
            Some(_) => Filter::decode_keyed(bytes, &secret.into()),
            None => Filter::decode(bytes),
        };
        assert_eq!(read.err().map(|error| error.code()), vector["code"].as_str(), "{vector}");
    }
}

/// Rules that no change of a golden file breaks.
#[test]
fn the_other_rules() {
    for (bytes, code) in [
        (&b""[..], "truncated"),
        (b"\xb5BL", "truncated"),
        (b"{", "not_a_filter"),
        (b"\xb5a", "not_a_filter"),
    ] {
        assert_eq!(try_decode(bytes).unwrap_err().code(), code, "{bytes:?}");
    }
    // Other bytes in place of some, under a checksum that fits.
    let code = |blob: &[u8], at: Range<usize>, bytes: &[u8]| {
        let mut changed = [&blob[..at.start], bytes, &blob[at.end..]].concat();
        reseal(&mut changed);
        try_decode(&changed).map_or_else(|error| error.code(), |_| "ok")
    };
    let bad = "invalid_parameter";
    // Options of passwords in a filter of URLs, before the secret.
    assert_eq!(code(&blobs()[0], 6..8, &[1, 0x20]), "wrong_secret");
    assert_eq!(code(&blobs()[0], 6..8, &[1, 0x24]), bad);
    // 59 bits in 8 bytes leave 5 that must be 0.
    let filter = Filter::from(BloomFilter::new(59, 1, 0).unwrap()).encode().unwrap();
    assert_eq!(code(&filter, 29..30, &[0b0000_1000]), bad);
    assert_eq!(code(&filter, 29..30, &[0b0000_0100]), "ok");
    // Stages of 8 rows each: one more than there can be.
    let stages = |count: u8| [&[count][..], &[8, 0, 0, 0].repeat(count.into())].concat();
    let ribbon = &blobs()[8];
    assert_eq!(code(ribbon, 30..39, &stages(4)), "trailing_bytes");
    assert_eq!(code(ribbon, 30..39, &stages(5)), bad);
    // A map without keys.
    let slots = Hashing::from(7).with_slots();
    let empty = Stack::build(Kind::Ribbon.into(), &mut Vec::new(), None, 0.1, slots).unwrap();
    let empty = Filter::new(Profile::Url, empty).encode().unwrap();
    assert_eq!(code(&empty, 31..35, &[0; 4]), "ok");
    assert_eq!(code(&empty, 31..35, &[1, 0, 0, 0]), bad);
    // A foreign filter with the secret's check value.
    let foreign = Builder::new(Format::Guava, &Options::default(), 1, 0.1).unwrap().finish().unwrap();
    let foreign = Filter::from(foreign).encode().unwrap();
    let check = Hashing::keyed(&secret(), 0).check().unwrap().to_le_bytes();
    let keyed = [&[0x20][..], &foreign[8..17], &check].concat();
    assert_eq!(code(&foreign, 7..17, &foreign[7..17]), "ok");
    assert_eq!(code(&foreign, 7..17, &keyed), bad);
}

/// How many mutations there are of each blob; `MUTATIONS` asks for another number.
fn mutations() -> u64 {
    std::env::var("MUTATIONS").map_or(5_000, |number| number.parse().unwrap())
}

/// Pseudo-random numbers, the same in every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 += 1;
        digest(99, &self.0.to_le_bytes())
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    /// True once in `times` times.
    fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }
}

/// At least these percentages of all blobs end with these codes.
const FLOORS: [(&str, f64); 8] = [
    ("unsupported_version", 0.05),
    ("unsupported_kind", 0.05),
    ("wrong_secret", 0.0),
    // A delta that changes no key, whose header is whole.
    ("wrong_kind", 0.0),
    ("invalid_parameter", 1.0),
    ("truncated", 1.0),
    ("checksum_mismatch", 1.0),
    // A scalable or cuckoo filter larger than any memory; the other kinds only reach what 64 bits address.
    ("too_large", 0.0),
];

/// The results for a number of blobs: how many ended with each code, and how many are filters.
#[derive(Debug, Default)]
struct Outcomes(BTreeMap<&'static str, u64>);

impl Outcomes {
    fn count(&mut self, bytes: &[u8]) {
        let outcome = try_decode(bytes).map_or_else(|error| error.code(), change);
        *self.0.entry(outcome).or_default() += 1;
    }

    /// Fails unless at least these percentages ended with each of these codes, and none with another.
    fn require(&self, what: &str, floors: &[(&str, f64)]) {
        println!("{what}: {:?}", self.0);
        let all: u64 = self.0.values().sum();
        for &(code, percent) in floors {
            let share = 100.0 * self.0.get(code).copied().unwrap_or(0) as f64 / all as f64;
            assert!(share >= percent, "{what}: only {share:.2} % are {code}, of {:?}", self.0);
        }
        assert!(self.0.keys().all(|code| floors.iter().any(|(known, _)| code == known)), "{:?}", self.0);
    }
}

/// Uses a blob that could be read: what was added is there, and a failure leaves everything as it was.
fn change(mut blob: Filter) -> &'static str {
    let added = [0, 1, u64::MAX];
    let asked = || (0..100_u64).map(|i| digest(1, &i.to_le_bytes())).chain(added);
    let answers = |base: &AnyFilter| asked().map(|digest| base.has_digest(digest)).collect::<Vec<_>>();
    let layered = blob.encode().unwrap()[7] & 16 != 0;
    match blob.stack_mut().base_mut() {
        Err(error) => assert!(layered && error == Error::Layered),
        Ok(base) => match (base.count(), answers(base), base.add_digests(&added)) {
            (_, before, Ok(new)) => {
                assert!(new <= 3 && (new > 0) != before.ends_with(&[true; 3]));
                assert!(added.iter().all(|&digest| base.has_digest(digest)));
                match base {
                    AnyFilter::Counting(filter) => {
                        assert!(added.iter().all(|&key| filter.remove_digest(key)))
                    }
                    AnyFilter::Cuckoo(filter) => assert!(added.iter().all(|&key| filter.remove_digest(key))),
                    _ => {}
                }
                let before = base.clone();
                let _ = base.combine(&before, true);
                base.clear().unwrap();
                assert!(added.iter().all(|&digest| !base.has_digest(digest)));
                let cleared = blob.encode().unwrap();
                assert_eq!(try_decode(&cleared), Ok(blob));
            }
            (count, before, Err(error)) => {
                assert!(["wrong_kind", "filter_full", "too_large"].contains(&error.code()), "{error:?}");
                assert_eq!((base.count(), answers(base)), (count, before));
            }
        },
    }
    if layered { "layered" } else { "filter" }
}

/// As long as the header says, if that isn't far: longer ones would only take longer.
fn fit(bytes: &mut Vec<u8>, mut more: impl FnMut() -> u8) {
    if let Ok(Some(length)) = expected_length(bytes)
        && length < 4096
    {
        bytes.resize_with(length as usize, &mut more);
    }
}

/// Invalid dictionaries of tags, with a checksum that fits, are refused; and long ones take time in proportion to their
/// length.
#[test]
fn dictionaries_that_lie() {
    /// What follows the parameters of a ribbon filter without keys.
    fn code(dictionary: &[u8]) -> Result<(), &'static str> {
        let head = [0xb5, 0x42, 0x4c, 0x4d, 1, 5, 0, 128, 0].into_iter().chain([0; 8]).chain([0; 4]);
        let mut bytes: Vec<u8> = head.chain(0.01_f64.to_le_bytes()).chain([0, 0]).collect();
        bytes.extend(dictionary);
        bytes.extend([0; 4]);
        reseal(&mut bytes);
        try_decode(&bytes).map(drop).map_err(|error| error.code())
    }
    let bad = Err("invalid_parameter");
    // No name, one set, and no counts.
    assert_eq!(code(&[0, 0, 1, 0, 0, 0, 0, 0, 0]), Ok(()));
    assert_eq!(code(&[1, 1, b'a', 0, 1, 0, 1, 0, 0, 0, 0, 1, 9, 0, 0, 0]), Ok(()));
    for dictionary in [
        &[1, 0, 0, 1, 0, 0, 0, 0, 0, 0][..],                  // an empty name
        &[1, 1, 0xff, 0, 1, 0, 0, 0, 0, 0, 0],                // a name that isn't text
        &[2, 1, b'a', 1, b'a', 0, 1, 0, 0, 0, 0, 0, 0],       // a name twice
        &[0, 33, 1, 0],                                       // too long a code
        &[0, 0, 0, 0, 0, 0, 0, 0],                            // no set
        &[0, 0, 2, 0, 0, 0, 0, 0, 0, 0],                      // two sets without bits
        &[0, 0, 1, 0, 1, 0, 0, 0, 0, 0],                      // a number without a name
        &[2, 1, b'a', 1, b'b', 0, 1, 0, 2, 1, 0, 0, 0, 0, 0], // numbers that don't ascend
        &[2, 1, b'a', 1, b'b', 0, 1, 0, 2, 0, 0, 0, 0, 0, 0], // a number twice
        &[0, 0, 1, 0, 0, 1, 0, 0, 0],                         // no such default set
        &[0, 0, 1, 0, 0, 0, 0, 2, 0],                         // neither with a default filter nor without
        &[0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0],             // a count without a name
        &[1, 1, b'a', 1, 0, 0, 1, 0, 0, 0, 0, 0, 0],          // codes that aren't complete
        &[1, 1, b'a', 1, 0, 0, 3, 0, 0, 1, 0, 0, 0, 0, 0],    // more than there can be
        &[1, 1, b'a', 1, 1, 0, 0, 0, 0, 0, 0, 0, 0],          // no code of the longest
        &[1, 1, b'a', 1, 0, 0, 2, 0, 1, 0, 0, 0, 0, 0],       // sets that don't ascend
        &[1, 1, b'a', 1, 0, 0, 2, 0, 0, 0, 0, 0, 0],          // a set twice
    ] {
        // With more bytes, so that none of what follows in its place is missing.
        assert_eq!(code(&[dictionary, &[0; 4]].concat()), bad, "{dictionary:?}");
    }
    // A default filter, and none to read codes from.
    let filter: Vec<u8> =
        [&[0, 0, 1, 0, 0, 0, 0, 1][..], &0.5_f64.to_le_bytes(), &[1, 0, 0, 0, 0, 1, 8, 0, 0, 0, 0]].concat();
    assert_eq!(code(&[&filter[..], &[0; 5]].concat()), bad);

    // As many sets as there can be, each as long as it can be, in as many codes as possible: 16 MiB.
    let mut dictionary = vec![255];
    for i in 0..255_u8 {
        dictionary.extend([2, b'a' + i / 16, b'a' + i % 16]);
    }
    dictionary.push(16);
    let mut lengths = [0_u16; 17];
    (lengths[1], lengths[16]) = (1, 1 << 15);
    dictionary.extend(lengths.iter().flat_map(|count| count.to_le_bytes()));
    let all: Vec<u8> = (0..255).collect();
    for i in 0..=1_u32 << 15 {
        // The last numbers differ.
        let set: Vec<u8> = all.iter().copied().filter(|&j| j < 239 || i >> (254 - j) & 1 == 0).collect();
        dictionary.push(set.len() as u8);
        dictionary.extend(set);
    }
    // Comparing each set with each would take many minutes, instead of a second.
    let (done, end) = std::sync::mpsc::channel();
    std::thread::spawn(move || done.send(code(&dictionary)));
    assert_eq!(end.recv_timeout(std::time::Duration::from_secs(60)).expect("it takes minutes"), bad);
}

#[test]
fn mutations_of_every_kind() {
    for (name, blob) in named_blobs() {
        let mut random = Random(0);
        let mut outcomes = Outcomes::default();
        for _ in 0..mutations() {
            let mut bytes = blob.clone();
            for _ in 0..=random.below(4) {
                let reach = if random.once_in(2) { bytes.len() } else { bytes.len().min(80) };
                let at = random.below(reach);
                let bit = 1 << random.below(8);
                bytes[at] = if random.once_in(2) { bytes[at] ^ bit } else { random.next() as u8 };
            }
            match random.below(16) {
                0 => bytes.truncate(random.below(blob.len())),
                1 => bytes.extend_from_slice(&random.next().to_le_bytes()),
                2..9 => fit(&mut bytes, || 0),
                _ => {}
            }
            if !random.once_in(4) {
                reseal(&mut bytes);
            }
            outcomes.count(&bytes);
        }
        let (own, other) =
            if name.ends_with("layers") { ("layered", "filter") } else { ("filter", "layered") };
        let floors = [(own, 10.0), (other, 0.0), ("not_a_filter", 0.1), ("trailing_bytes", 0.1)];
        outcomes.require(name, &[&floors[..], &FLOORS].concat());
    }
}
