//! Golden files, both ways: what a release wrote can always be read, and the same keys still give the same bytes.
//!
//! If a test here fails, released readers and writers disagree with this one: undo the change, or make a new format
//! version. Its README says which keys each file has, and `tests/readers/reader.py`, written from FORMAT.md alone, answers alike. A new
//! file is written by `GOLDEN=write cargo test --test suite -- golden`, which never touches one that exists.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use bloom_wasm::Profile;
use bloom_wasm::hash::{Hashing, Secret};
use bloom_wasm::interop::{self, Builder, Format, Options};
use bloom_wasm::layers::{Stack, Tagged, TaggedUpdate, Update};
use bloom_wasm::{
    BloomFilter, CountingBloomFilter, CuckooFilter, Delta, Filter, Kind, RibbonFilter, ScalableBloomFilter,
    hash,
};

fn key(i: u64) -> String {
    format!("key-{i}")
}

fn digests(count: u64, hashing: impl Into<Hashing>) -> Vec<u64> {
    let hashing = hashing.into();
    (0..count).map(|i| hashing.digest(key(i).as_bytes())).collect()
}

/// The secret of all keyed files: 00 01 02 … 0f.
fn secret() -> Secret {
    Secret::from(std::array::from_fn(|i| i as u8))
}

fn decode(bytes: Vec<u8>) -> Result<Filter, bloom_wasm::Error> {
    if bytes[7] & 32 != 0 { Filter::decode_keyed(bytes, &secret()) } else { Filter::decode(bytes) }
}

fn path(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(file)
}

/// A key of URLs in slot `i` mod 30.
fn url_key(i: u64) -> String {
    let host = match i / 6 % 5 {
        4 => format!("10.0.{}.{}", i / 256, i % 256),
        more => format!("{}host{i}.example", "w.".repeat(more as usize)),
    };
    host + ["/", "/a/", "/a/b/", "/a/b/c/", "/a", "/?q"][i as usize % 6]
}

/// The key of this number in a file of this name.
fn key_in(name: &str, i: u64) -> String {
    if name.contains("slots") { url_key(i) } else { key(i) }
}

/// The numbers of the keys that a filter takes for members, one per line.
fn answers_of(name: &str, blob: &Filter, keys: Range<u64>) -> String {
    let present = keys.filter(|&i| blob.stack().has(key_in(name, i).as_bytes()));
    present.map(|i| format!("{i}\n")).collect()
}

/// The bytes of a golden file, which is made of these if it is new and `GOLDEN=write` says so.
fn stored(file: &Path, made: &[u8]) -> Vec<u8> {
    if std::env::var("GOLDEN").is_ok_and(|value| value == "write") && !file.exists() {
        fs::write(file, made).unwrap();
    }
    let name = file.file_name().unwrap().display();
    fs::read(file).unwrap_or_else(|error| {
        panic!("{name}: {error}. Is it new? GOLDEN=write cargo test --test suite -- golden makes it")
    })
}

/// The filter made anew is the same as the file, and both answer as the text beside it says.
fn check(
    name: &str,
    blob: impl Into<Filter>,
    members: impl IntoIterator<Item = u64>,
    nonmembers: Range<u64>,
) {
    let (blob, members) = (blob.into(), Vec::from_iter(members));
    let bytes = blob.encode().unwrap();
    let (file, answers) = (path(&format!("{name}.bloom")), path(&format!("{name}.txt")));
    let answers_of = |blob: &Filter| answers_of(name, blob, nonmembers.clone());
    let golden = stored(&file, &bytes);
    assert!(bytes == golden, "{name}: the same keys give other bytes");
    let read = decode(golden).unwrap();
    assert_eq!(read, blob, "{name}");
    let answers = String::from_utf8(stored(&answers, answers_of(&blob).as_bytes())).unwrap();
    for blob in [blob, read] {
        assert!(
            members.iter().all(|&i| blob.stack().has(key_in(name, i).as_bytes())),
            "{name}: a false negative"
        );
        assert_eq!(answers_of(&blob), answers, "{name}: other answers");
    }
}

#[test]
fn bloom() {
    let mut blob = Filter::from(BloomFilter::from_digests(&mut digests(1000, 42), 0.01, 42).unwrap());
    blob.describe(Some("golden".to_owned()), Some(1_700_000_000_000)).unwrap();
    check("bloom", blob, 0..1000, 1000..3000);
}

#[test]
fn counting() {
    for bits in [4, 8] {
        let mut filter = CountingBloomFilter::from_digests(&mut digests(1000, 42), 0.01, bits, 42).unwrap();
        (0..20).for_each(|_| {
            filter.add(key(0).as_bytes());
        });
        assert!((1..100).all(|i| filter.remove(key(i).as_bytes())));
        check(&format!("counting{bits}"), filter, 100..1000, 1000..3000);
    }
}

#[test]
fn scalable() {
    let filter = ScalableBloomFilter::from_digests(&mut digests(1000, 42), 100, 0.05, 2, 0.5, 42);
    check("scalable", filter.unwrap(), 0..1000, 1000..3000);
    let filter = ScalableBloomFilter::from_digests(&mut digests(1000, 42), 50, 0.8, 3, 0.7, 42);
    check("scalable-high", filter.unwrap(), 0..1000, 1000..3000);
    let filter = ScalableBloomFilter::from_digests(&mut digests(1000, 42), 50, 0.8, 3, 0.3, 42).unwrap();
    assert_eq!(filter.shapes().next().unwrap().1, 1, "no slice of one hash");
    check("scalable-one", filter, 0..1000, 1000..3000);
    // The shapes of slices follow from the header, so those for a few keys are fixed too.
    for capacity in 1..=4 {
        let filter = ScalableBloomFilter::from_digests(&mut digests(100, 42), capacity, 0.01, 2, 0.5, 42);
        check(&format!("scalable-from-{capacity}"), filter.unwrap(), 0..100, 1000..3000);
    }
}

#[test]
fn cuckoo() {
    check(
        "cuckoo",
        CuckooFilter::from_digests(&mut digests(1000, 42), 0.01, 42).unwrap(),
        0..1000,
        1000..3000,
    );
}

#[test]
fn ribbon() {
    let ribbon = |count, seed, fpr| RibbonFilter::from_digests(&mut digests(count, seed), fpr, seed).unwrap();
    check("ribbon", ribbon(1000, 42, 0.01), 0..1000, 1000..3000);
    check("ribbon-small", ribbon(5, 42, 0.25), 0..5, 1000..3000);
    check("ribbon-wide", ribbon(1000, 7, 0.0015), 0..1000, 1000..30_000);
    check("ribbon-stages", ribbon(20_000, 42, 0.004), 0..20_000, 20_000..30_000);
    check("ribbon-empty", ribbon(0, 42, 0.01), 0..0, 1000..3000);
}

/// Layers over a filter of `key-0` to `key-999`, after two updates.
fn layered(base: impl Into<Stack>) -> Stack {
    let mut stack = base.into();
    let keys = |range: Range<u64>| range.map(|i| hash::digest(42, key(i).as_bytes())).collect();
    let [removed, allowed, newer]: [Vec<u64>; 3] = [keys(0..50), keys(1500..3000), keys(1000..1010)];
    let live = [keys(50..1000), keys(1000..1050)].concat();
    stack.update(Update { live: &live, removed: &removed, allowed: &allowed, fpr: 0.01 }).unwrap();
    let live = [keys(0..10), keys(50..1000), keys(1010..1050)].concat();
    stack.update(Update { live: &live, removed: &newer, allowed: &allowed, fpr: 0.02 }).unwrap();
    stack
}

#[test]
fn layers() {
    let ribbon = RibbonFilter::from_digests(&mut digests(1000, 42), 0.1, 42).unwrap();
    let stack = layered(ribbon);
    assert!(stack.layers().len() >= 5, "{} layers", stack.layers().len());
    check("layers", stack, 50..1000, 0..4000);

    let keys = |range: Range<u64>| range.map(|i| hash::digest(42, key(i).as_bytes())).collect::<Vec<_>>();
    let base = CountingBloomFilter::from_digests(&mut digests(1000, 42), 0.1, 4, 42).unwrap();
    let mut blob = Filter::from(base);
    let update = Update { live: &keys(5..3000), removed: &keys(0..5), allowed: &[], fpr: 0.003 };
    blob.stack_mut().update(update).unwrap();
    blob.describe(Some("golden".to_owned()), None).unwrap();
    check("counting-layers", blob, 5..3000, 0..4000);
}

/// A parent, a delta and their child.
#[test]
fn deltas() {
    let parent = Filter::decode(fs::read(path("ribbon.bloom")).unwrap()).unwrap();
    let keys = |range: Range<u64>| range.map(|i| hash::digest(42, key(i).as_bytes())).collect::<Vec<_>>();
    let mut child = parent.clone();
    let update = Update { live: &keys(50..1050), removed: &keys(0..50), allowed: &[], fpr: 0.001 };
    child.stack_mut().update(update).unwrap();
    child.describe(Some("golden".to_owned()), Some(1_700_000_000_000)).unwrap();
    check("ribbon-child", child.clone(), 50..1050, 0..3000);

    check_delta("ribbon.delta", &parent, &child);
}

/// A delta of keys that the parent holds by chance: no layer, but another number of keys.
#[test]
fn delta_without_layers() {
    let parent = Filter::decode(fs::read(path("bloom.bloom")).unwrap()).unwrap();
    let by_chance = fs::read_to_string(path("bloom.txt")).unwrap();
    let members: Vec<u64> = (0..1000).chain(by_chance.lines().map(|line| line.parse().unwrap())).collect();
    let live: Vec<u64> = members.iter().map(|&i| hash::digest(42, key(i).as_bytes())).collect();
    let mut child = parent.clone();
    child.stack_mut().update(Update { live: &live, removed: &[], allowed: &[], fpr: 0.01 }).unwrap();
    child.describe(Some("by chance".to_owned()), None).unwrap();
    assert_eq!((child.stack().layers().len(), child.stack().count()), (0, Some(live.len() as u64)));
    check("bloom-child", child.clone(), members, 1000..3000);
    check_delta("bloom.delta", &parent, &child);
}

/// The delta made anew is the file, and makes the child of the parent.
fn check_delta(name: &str, parent: &Filter, child: &Filter) {
    let delta = Delta::between(parent, child).unwrap();
    let golden = stored(&path(name), &delta.encode().unwrap());
    assert!(delta.encode().unwrap() == golden, "{name}: the same keys give another delta");
    let read =
        if golden[7] & 32 != 0 { Delta::decode_keyed(golden, &secret()) } else { Delta::decode(golden) };
    assert_eq!(&parent.apply(read.unwrap()).unwrap(), child);
}

#[test]
fn profiles() {
    let url = RibbonFilter::from_digests(&mut digests(1000, 42), 0.01, 42).unwrap();
    check("url", Filter::new(Profile::Url, url), 0..1000, 1000..3000);

    let password = BloomFilter::from_digests(&mut digests(1000, 42), 0.01, 42).unwrap();
    let profile = Profile::Password { lowercase: true, sha1: false };
    check("password-lowercase", Filter::new(profile, password.clone()), 0..1000, 1000..3000);
    let mut blob = Filter::new(Profile::Password { lowercase: true, sha1: true }, layered(password));
    blob.describe(Some("golden".to_owned()), Some(1_700_000_000_000)).unwrap();
    check("password-sha1-layers", blob, 50..1000, 0..4000);
}

/// Lists of URLs with slots: in one group and in two, with a delta that adds shapes, and under a secret.
#[test]
fn slots() {
    let digests = |keys: &[u64], hashing: Hashing| -> Vec<u64> {
        keys.iter().map(|&i| hashing.digest(url_key(i).as_bytes())).collect()
    };
    let build = |keys: &[u64], hashing| {
        let stack = Stack::build(Kind::Ribbon.into(), &mut digests(keys, hashing), None, 0.02, hashing);
        Filter::new(Profile::Url, stack.unwrap())
    };
    let hashing = Hashing::from(42).with_slots();
    // Hosts, and hosts of three labels.
    let hosts: Vec<u64> = (0..9000).filter(|i| i % 30 == 0 || i % 30 == 6 && i % 60 == 6).collect();
    let one = build(&hosts, hashing);
    assert_eq!((hosts.len(), one.stack().layers().len()), (450, 0));
    check("slots-one", one.clone(), hosts.iter().copied(), 9000..30_000);

    // Many hosts, and a few URLs of every shape.
    let mixed: Vec<u64> = (0..60_000).filter(|i| i % 30 == 0 || *i < 300).collect();
    let two = build(&mixed, hashing);
    assert_eq!((mixed.len(), two.stack().layers().len()), (2290, 1));
    check("slots-two", two.clone(), mixed.iter().copied(), 60_000..90_000);

    // Some hosts go, and URLs come whose shapes the base lacks.
    let live: Vec<u64> = hosts[20..].iter().copied().chain((9000..9300).filter(|i| i % 30 == 10)).collect();
    let mut child = one.clone();
    let (live_digests, removed) = (digests(&live, hashing), digests(&hosts[..20], hashing));
    let update = Update { live: &live_digests, removed: &removed, allowed: &[], fpr: 0.002 };
    child.stack_mut().update(update).unwrap();
    child.describe(Some("golden".to_owned()), None).unwrap();
    check("slots-child", child.clone(), live, 0..30_000);
    check_delta("slots.delta", &one, &child);

    let keyed = build(&mixed, Hashing::keyed(&secret(), 42).with_slots());
    check("keyed-slots", keyed, mixed, 60_000..90_000);
}

/// The tags of `key-i` in most files.
fn kinds(i: u64) -> Vec<&'static str> {
    let is_phishing = !i.is_multiple_of(100) && ![7, 8].contains(&(i % 10));
    let tags = [
        (is_phishing, "phishing"),
        (i % 10 > 6, "malware"),
        (i > 999, "spam"),
        ((100..120).contains(&i), "spam"),
    ];
    tags.into_iter().filter_map(|(has, tag)| has.then_some(tag)).collect()
}

/// `kinds` before there was any spam.
fn old_kinds(i: u64) -> Vec<&'static str> {
    kinds(i).into_iter().filter(|tag| *tag != "spam").collect()
}

fn tagged(
    names: &[&str],
    keys: &[u64],
    of: impl Fn(u64) -> Vec<&'static str>,
    digest: impl Fn(u64) -> u64,
) -> Tagged {
    let list = |name: &&str| {
        let on = keys.iter().copied().filter(|&i| of(i).contains(name));
        ((*name).to_owned(), on.map(&digest).collect())
    };
    Tagged::new(names.iter().map(list).collect(), keys.iter().copied().map(&digest).collect()).unwrap()
}

/// Members have their tags, and false positives have those in the file, one line each: the key's number and its tags.
fn check_tags(
    name: &str,
    blob: Filter,
    members: &[u64],
    of: impl Fn(u64) -> Vec<&'static str>,
    nonmembers: Range<u64>,
) {
    check(name, blob.clone(), members.iter().copied(), nonmembers.clone());
    let read = decode(blob.encode().unwrap()).unwrap();
    let tags = |i| read.stack().tags(key_in(name, i).as_bytes()).unwrap();
    for &i in members {
        assert_eq!(tags(i), of(i), "{name}: the tags of {i}");
    }
    let present =
        nonmembers.filter(|&i| read.stack().has(key_in(name, i).as_bytes()) && !members.contains(&i));
    let found: String = present.map(|i| format!("{i} {}\n", tags(i).join(" "))).collect();
    let file = stored(&path(&format!("{name}.tags")), found.as_bytes());
    assert_eq!(String::from_utf8(file).unwrap(), found, "{name}: other tags");
}

#[test]
fn tags() {
    let names = ["phishing", "malware"];
    let keys: Vec<u64> = (0..1000).collect();
    let plain = |i| hash::digest(42, key(i).as_bytes());
    let build = |tagged: &Tagged, fpr, hashing| Stack::build_tagged(tagged, None, fpr, hashing).unwrap();
    let parent = Filter::from(build(&tagged(&names, &keys, old_kinds, plain), 0.01, Hashing::from(42)));
    check_tags("tags", parent.clone(), &keys, old_kinds, 1000..3000);
    let empty = build(&tagged(&names, &[], old_kinds, plain), 0.01, 42.into());
    check_tags("tags-empty", empty.into(), &[], old_kinds, 1000..1010);

    // 97 of 100 keys have the same set.
    let rare = |i: u64| if i.is_multiple_of(33) { vec!["common", "rare"] } else { vec!["common"] };
    let skewed = build(&tagged(&["common", "rare"], &keys, rare, plain), 0.01, 42.into());
    assert!(skewed.base_tags().unwrap().default_filter().is_some());
    check_tags("tags-default", skewed.into(), &keys, rare, 1000..3000);

    let mut child = parent.clone();
    let live: Vec<u64> = (50..1050).collect();
    let removed: Vec<u64> = (0..50).map(plain).collect();
    let live_tags = tagged(&["spam", "phishing", "malware"], &live, kinds, plain);
    let update = TaggedUpdate { live: &live_tags, removed: &removed, allowed: &[], fpr: 0.2 };
    child.stack_mut().update_tagged(update).unwrap();
    child.describe(Some("golden".to_owned()), Some(1_700_000_000_000)).unwrap();
    check_tags("tags-child", child.clone(), &live, kinds, 0..3000);
    check_delta("tags.delta", &parent, &child);

    let hashing = Hashing::keyed(&secret(), 42);
    let keyed = tagged(&names, &keys, old_kinds, |i| hashing.digest(key(i).as_bytes()));
    check_tags("keyed-tags", build(&keyed, 0.01, hashing).into(), &keys, old_kinds, 1000..3000);

    let hashing = Hashing::from(42).with_slots();
    let mixed: Vec<u64> = (0..60_000).filter(|i| i % 30 == 0 || *i < 300).collect();
    let shapes = |i: u64| if i.is_multiple_of(30) { vec!["hosts"] } else { vec!["others"] };
    let urls = tagged(&["hosts", "others"], &mixed, shapes, |i| hashing.digest(url_key(i).as_bytes()));
    let urls = build(&urls, 0.02, hashing);
    assert_eq!(urls.layers().len(), 1);
    check_tags("tags-slots", Filter::new(Profile::Url, urls), &mixed, shapes, 60_000..90_000);
}

/// Each kind under a secret, and a delta.
#[test]
fn keyed() {
    let hashing = Hashing::keyed(&secret(), 42);
    let members = || digests(1000, hashing);
    let mut bloom = Filter::from(BloomFilter::from_digests(&mut members(), 0.01, hashing).unwrap());
    bloom.describe(Some("golden".to_owned()), Some(1_700_000_000_000)).unwrap();
    check("keyed-bloom", bloom, 0..1000, 1000..3000);
    let counting = CountingBloomFilter::from_digests(&mut members(), 0.01, 4, hashing).unwrap();
    check("keyed-counting", counting, 0..1000, 1000..3000);
    let scalable = ScalableBloomFilter::from_digests(&mut members(), 100, 0.05, 2, 0.5, hashing).unwrap();
    check("keyed-scalable", scalable, 0..1000, 1000..3000);
    let cuckoo = CuckooFilter::from_digests(&mut members(), 0.01, hashing).unwrap();
    check("keyed-cuckoo", cuckoo, 0..1000, 1000..3000);
    let ribbon = Filter::from(RibbonFilter::from_digests(&mut members(), 0.01, hashing).unwrap());
    check("keyed-ribbon", ribbon.clone(), 0..1000, 1000..3000);

    let all = digests(1050, hashing);
    let mut child = ribbon.clone();
    let update = Update { live: &all[50..], removed: &all[..50], allowed: &[], fpr: 0.001 };
    child.stack_mut().update(update).unwrap();
    check("keyed-child", child.clone(), 50..1050, 0..3000);
    check_delta("keyed.delta", &ribbon, &child);
}

/// Filters of other software, made here and made by it. `tests/suite/interop.rs` compares them with that software
/// itself.
#[test]
fn foreign() {
    let text = |text: &str| Some(text.to_owned());
    let build = |format, options: Options, count| {
        let mut builder = Builder::new(format, &options, count, 0.01).unwrap();
        (0..1000).for_each(|i| assert!(builder.add(key(i).as_bytes()).is_ok()));
        builder.finish().unwrap()
    };
    let made = |name: &str, blob: Filter| check(&format!("foreign-{name}"), blob, 0..1000, 1000..3000);
    let mut go =
        Filter::from(build(Format::GoBloom, Options { layout: text("json"), ..Options::default() }, 1000));
    go.describe(Some("golden".to_owned()), Some(1_700_000_000_000)).unwrap();
    made("go-bloom", go);
    made("guava", build(Format::Guava, Options::default(), 1000).into());
    let chars = Options { funnel: text("unencoded-chars"), layout: text("mitz-32"), ..Options::default() };
    made("guava-chars", build(Format::Guava, chars, 1000).into());
    made("spark", build(Format::Spark, Options::default(), 1000).into());
    let seeded = Options { layout: text("v2"), seed: Some(-7), ..Options::default() };
    made("spark-v2", Filter::new(Profile::Url, build(Format::Spark, seeded, 1000)));
    made("redis-bitmap", build(Format::RedisBitmap, Options::default(), 1000).into());
    let grown = build(Format::RedisBloom, Options::default(), 300);
    assert_eq!(grown.parts().len(), 3);
    made("redisbloom", Filter::new(Profile::Password { lowercase: true, sha1: false }, grown));

    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/interop");
    for (format, file) in [
        (Format::NpmBloomfilter, "npm-bloomfilter/v1.1.0-medium/filter.json"),
        (Format::NpmBloomFilters, "npm-bloom-filters/v3.0.4-medium/filter.json"),
        (Format::ParquetSbbf, "parquet-sbbf/arrow-cpp-string-medium/bloom-header-and-bitset-rg0.bin"),
        (Format::PyBloomFilterMmap3, "pybloomfiltermmap3/medium/filter.bloom"),
        (Format::PyProbables, "pyprobables/medium/filter.blm"),
        (Format::Rbloom, "rbloom/medium-mmh3/filter.bin"),
        (Format::Flor, "flor/python-medium/filter.bloom"),
        (Format::BloomFilter2, "bloom-filter2/mmap-medium/filter.bin"),
    ] {
        let shape = Options { bits: Some(95_851), hashes: Some(7), ..Options::default() };
        let options = if format == Format::BloomFilter2 { shape } else { Options::default() };
        let filter = interop::read(format, &options, &fs::read(root.join(file)).unwrap()).unwrap();
        check(&format!("foreign-{}", format.name()), filter, 0..10_000, 10_000..30_000);
    }

    let scalable = fs::read(root.join("npm-bloom-filters/v3.0.4-scalable-medium/filter.json")).unwrap();
    let scalable = interop::read(Format::NpmBloomFilters, &Options::default(), &scalable).unwrap();
    check("foreign-npm-bloom-filters-scalable", scalable, 0..10_000, 10_000..30_000);

    // These have no file, because tests/interop has no filter of `key-0` and so on for them: the keys of the first two
    // are numbers, and those of the last are `password-0` and so on.
    let none = [Format::Xor, Format::BinaryFuse, Format::FilterPassword];
    for format in Format::ALL.iter().filter(|format| !none.contains(format)) {
        let name = format!("foreign-{}.bloom", format.name());
        assert!(
            path(&name).exists(),
            "tests/golden has no {name}; `foreign` in tests/suite/golden.rs is to make it"
        );
    }
}
