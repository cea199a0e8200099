//! Any bytes at all: they are decoded, and the result is queried, written again, changed, and given to the tool. `npm
//! run fuzz` runs it.

#![no_main]

use std::sync::LazyLock;

use bloom_wasm::filters::AnyFilter;
use bloom_wasm::hash::{Hashing, Secret};
use bloom_wasm::{BloomFilter, Delta, Error, Filter};
use bloom_wasm_cli::{Streams, run};
use libfuzzer_sys::fuzz_target;
use twox_hash::XxHash32;

/// The longest blob that is made to fit its header; all golden files are shorter.
const LONGEST: usize = 1 << 15;
const CHECKSUM: usize = 4;

fuzz_target!(|bytes: &[u8]| {
    let bytes = &unlocked(bytes)[..];
    expected_length(bytes);
    let digests = digests(bytes);
    decode(bytes, &digests);
    delta(bytes, &digests);
    if let Some(blob) = fitted(bytes) {
        assert!(decode(&blob, &digests) || refused(&blob));
        delta(&blob, &digests);
    }
});

/// The secret of the golden files: 00 01 02 … 0f.
static SECRET: LazyLock<Secret> = LazyLock::new(|| Secret::from(std::array::from_fn(|i| i as u8)));

/// The input, with the right check value if it is a keyed filter, since the fuzzer would never guess that.
fn unlocked(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    if bytes.get(7).is_some_and(|flags| flags & 32 != 0)
        && let Some((head, _)) = bytes.split_at_mut_checked(25)
    {
        let seed = head[9..17].try_into().map(u64::from_le_bytes).unwrap();
        let check = Hashing::keyed(&SECRET, seed).check().unwrap();
        head[17..].copy_from_slice(&check.to_le_bytes());
    }
    bytes
}

/// Whether a blob has the flag of a keyed filter.
fn is_keyed(bytes: &[u8]) -> bool {
    bytes.get(7).is_some_and(|flags| flags & 32 != 0)
}

/// Reads a blob, with the secret if it needs one.
fn read(bytes: Vec<u8>) -> Result<Filter, Error> {
    if is_keyed(&bytes) { Filter::decode_keyed(bytes, &SECRET) } else { Filter::decode(bytes) }
}

fn length_of(prefix: &[u8]) -> Result<Option<u64>, Error> {
    if is_keyed(prefix) {
        Filter::expected_length_keyed(prefix, &SECRET)
    } else {
        Filter::expected_length(prefix)
    }
}

fn read_delta(bytes: Vec<u8>) -> Result<Delta, Error> {
    if is_keyed(&bytes) { Delta::decode_keyed(bytes, &SECRET) } else { Delta::decode(bytes) }
}

/// Digests to look up: both ends, and what the input ends with. After a whole blob, these are separate bytes.
fn digests(bytes: &[u8]) -> Vec<u64> {
    let last = bytes.as_rchunks().1.iter().rev().take(6).map(|&chunk| u64::from_le_bytes(chunk));
    [0, u64::MAX].into_iter().chain(last).collect()
}

/// The input, made as long as its header says by appending zeros, and with the right checksum. Otherwise hardly any
/// input would get past these two checks.
fn fitted(bytes: &[u8]) -> Option<Vec<u8>> {
    let length = usize::try_from(length_of(bytes).ok()??).ok()?;
    if length > LONGEST {
        return None;
    }
    let mut blob = bytes.to_vec();
    blob.resize(length, 0);
    let end = length - CHECKSUM;
    let checksum = XxHash32::oneshot(0, &blob[..end]);
    blob[end..].copy_from_slice(&checksum.to_le_bytes());
    Some(blob)
}

/// The only error that a fitted blob may have is a payload that its kind forbids.
fn refused(blob: &[u8]) -> bool {
    matches!(read(blob.to_vec()), Err(Error::InvalidParameter { .. } | Error::WrongKind { kind: "delta" }))
}

/// A delta has only one form, and turns its parent into a filter. The parent is the one that the input names by its id.
fn delta(bytes: &[u8], digests: &[u64]) {
    let Ok(delta) = read_delta(bytes.to_vec()) else { return };
    assert_eq!(delta.encode().unwrap(), bytes);
    let mut parent = Filter::new(delta.profile(), BloomFilter::new(64, 1, *delta.hashing()).unwrap());
    parent.stack_mut().base_mut().unwrap().add_digests(digests).unwrap();
    assert!(matches!(parent.apply(delta.clone()), Err(Error::WrongBase { .. })));
    let mut fitting = bytes[..bytes.len() - CHECKSUM].to_vec();
    let at = if delta.hashing().is_keyed() { 25 } else { 17 };
    fitting[at..at + 8].copy_from_slice(&parent.id().unwrap().to_le_bytes());
    fitting.extend(XxHash32::oneshot(0, &fitting).to_le_bytes());
    let applied = parent.apply(Delta::decode_for(&parent, fitting).unwrap());
    // Only ribbon filters have tags.
    if bytes[7] & 128 != 0 {
        assert_eq!(applied, Err(Error::Incompatible));
        return;
    }
    let child = applied.unwrap();
    digests.iter().for_each(|&digest| _ = child.stack().has_digest(digest));
    assert_eq!(read(child.encode().unwrap()).unwrap(), child);
}

/// What a prefix shows stays true, and 512 bytes are enough if there are no layers.
fn expected_length(bytes: &[u8]) {
    let whole = length_of(bytes);
    for length in [0, 4, 7, 16, 20, 30, 50, 100, bytes.len() / 2] {
        let prefix = length_of(&bytes[..length.min(bytes.len())]);
        assert!(prefix == Ok(None) || prefix == whole);
    }
    // A table of layers may be longer, and the parts of a foreign filter.
    // And a dictionary of tags.
    if bytes.get(7).is_none_or(|flags| flags & (16 | 128) == 0) && bytes.get(5) != Some(&6) {
        let start = &bytes[..bytes.len().min(512)];
        assert_eq!(length_of(start), whole);
        assert!(bytes.len() < 512 || whole != Ok(None));
    }
}

/// Decodes and, if that works, does all that can be done with a blob.
fn decode(bytes: &[u8], digests: &[u64]) -> bool {
    let Ok(blob) = read(bytes.to_vec()) else { return false };
    let length = bytes.len() as u64;
    assert_eq!(blob.encode().unwrap(), bytes, "a blob that can be read has only one form");
    assert_eq!(length_of(bytes), Ok(Some(length)));
    let longer = [bytes, &[0]].concat();
    assert_eq!(read(longer), Err(Error::TrailingBytes { extra: 1 }));
    let shorter = bytes[..bytes.len() - 1].to_vec();
    assert_eq!(read(shorter), Err(Error::Truncated { needed: length, have: length - 1 }));

    let filter = blob.stack();
    filter.has(b"");
    for &digest in digests {
        filter.has_digest(digest);
        filter.has(&digest.to_le_bytes());
        // An absent key has no tags.
        match filter.tags_of_all([digest]) {
            Ok(tags) => assert!(filter.is_tagged() && (tags.is_empty() || filter.has_digest(digest))),
            Err(error) => assert!(!filter.is_tagged() && error.code() == "wrong_kind"),
        }
    }
    assert!((0.0..=1.0).contains(&filter.estimated_fpr()));
    assert!(filter.estimated_count() >= 0.0);
    let info = blob.info().unwrap();
    assert_eq!(info.byte_length, length);
    assert_eq!(bytes[bytes.len() - CHECKSUM..], (info.id as u32).to_le_bytes());
    assert_eq!(info.id >> 32, length as u64);

    tool(bytes);
    change(blob, digests);
    true
}

/// A list for `verify`, which reads no list from standard input if the blob comes from there.
static LIST: LazyLock<String> = LazyLock::new(|| {
    let path = std::env::temp_dir().join(format!("bloom-wasm-fuzz-{}.txt", std::process::id()));
    std::fs::write(&path, "key-1\nhttp://evil.example/a?b\n0000000000000000000000000000000000000000:7\n")
        .unwrap();
    path.into_os_string().into_string().unwrap()
});

/// A file with the secret.
static KEY: LazyLock<String> = LazyLock::new(|| {
    let path = std::env::temp_dir().join(format!("bloom-wasm-fuzz-{}.secret", std::process::id()));
    std::fs::write(&path, "000102030405060708090a0b0c0d0e0f").unwrap();
    path.into_os_string().into_string().unwrap()
});

/// What the tool does with a legal blob: it answers with lines that the blob can't forge. A command takes far longer
/// than all the rest, so only some blobs get one, chosen by their checksum.
fn tool(bytes: &[u8]) {
    let secret = if bytes[7] & 32 != 0 { &["--secret-file", &KEY[..]][..] } else { &[] };
    let (command, lines): (&[&str], _) = match bytes[bytes.len() - CHECKSUM] {
        0..4 => (&["info", "-"], 14..=16),
        4..8 => (&["info", "-", "--json"], 20..=29 + 255 * 4),
        8..12 => (&["check", "-", "key", "http://evil.example/\x1b\n"], 0..=2),
        12..16 => (&["verify", "-", "--members", &LIST, "--absent", &LIST], 4..=4),
        16..20 => (&["verify", "-", "--members", &LIST, "--probes", "9"], 4..=4),
        _ => return,
    };
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let streams = &mut Streams { input: &mut &*bytes, out: &mut out, err: &mut err, terminal: true };
    let code = run([&["bloom-wasm"], command, secret].concat(), streams);
    let err = String::from_utf8(err).unwrap();
    if err.contains("[invalid_key]") {
        // The keys of some foreign filters are numbers, and those here aren't.
        return;
    }
    assert!(code < 2, "{err}");
    let out = String::from_utf8(out).unwrap();
    assert!(!out.contains(|c: char| c != '\n' && c.is_control()));
    assert!(lines.contains(&out.lines().count()), "{command:?}: {out}");
}

/// Adds and removes. Errors are fine if there is no room, but then nothing may change.
fn change(mut blob: Filter, digests: &[u64]) {
    let Ok(base) = blob.stack_mut().base_mut() else { return };
    match base {
        AnyFilter::Bloom(filter) => {
            for &digest in digests {
                let there = filter.has_digest(digest);
                assert_eq!(filter.add_digest(digest), !there);
                assert!(filter.has_digest(digest));
            }
            let before = filter.clone();
            filter.union(&before).unwrap();
            filter.intersect(&before).unwrap();
            assert_eq!(*filter, before);
        }
        AnyFilter::Counting(filter) => {
            let max = (1 << filter.counter_bits()) - 1;
            for &digest in digests {
                let count = filter.count_digest(digest);
                assert_eq!(filter.add_digest(digest), count == 0);
                let more = filter.count_digest(digest);
                assert_eq!(more, max.min(count + 1));
                assert!(filter.remove_digest(digest));
                assert_eq!(filter.count_digest(digest), if more == max { max } else { count });
                filter.add_digest(digest);
            }
            let bloom = filter.to_bloom().unwrap();
            assert!(digests.iter().all(|&digest| filter.has_digest(digest) && bloom.has_digest(digest)));
            let before = filter.clone();
            filter.union(&before).unwrap();
            for &digest in digests {
                assert_eq!(filter.count_digest(digest), max.min(2 * before.count_digest(digest)));
            }
        }
        AnyFilter::Scalable(filter) => {
            for &digest in digests {
                let (there, count) = (filter.has_digest(digest), filter.count());
                let added = filter.add_digest(digest);
                assert_eq!(there, added == Ok(false));
                assert_eq!(filter.count(), count + u64::from(added == Ok(true)));
                assert_eq!(filter.has_digest(digest), added.is_ok());
            }
        }
        AnyFilter::Cuckoo(filter) => {
            let mut added = Vec::new();
            for &digest in digests {
                let before = filter.clone();
                match filter.add_digest(digest) {
                    Ok(new) => {
                        assert_eq!(new, !before.has_digest(digest));
                        assert_eq!(filter.count(), before.count() + 1);
                        added.push(digest);
                    }
                    Err(_) => assert_eq!(*filter, before),
                }
                let kept = |&digest: &u64| filter.has_digest(digest) || !before.has_digest(digest);
                assert!(digests.iter().all(kept));
            }
            let count = filter.count();
            assert!(added.iter().all(|&digest| filter.has_digest(digest)));
            assert!(added.iter().all(|&digest| filter.remove_digest(digest)));
            assert_eq!(filter.count(), count - added.len() as u64);
        }
        _ => {}
    }
    assert_eq!(read(blob.encode().unwrap()), Ok(blob));
}
