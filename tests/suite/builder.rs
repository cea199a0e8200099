//! What users of the crate meet first: `Builder` and the questions of `Filter`.

use std::fs;

use bloom_wasm::layers::Tagged;
use bloom_wasm::{
    BloomFilter, Builder, CuckooFilter, Error, Filter, Kind, KindOptions, Profile, Secret, interop,
};

const PASSWORDS: Profile = Profile::Password { lowercase: true, sha1: false };

fn golden(name: &str) -> Vec<u8> {
    fs::read(format!("{}/tests/golden/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

fn keys() -> impl Iterator<Item = String> {
    (0..1000).map(|i| format!("key-{i}"))
}

/// Whoever builds, and in whatever order the options come.
#[test]
fn the_bytes_are_those_of_the_golden_files() {
    let bloom = Builder::new(Profile::Raw).keys(keys()).kind(Kind::Bloom).fpr(0.01).seed(42);
    let bloom = bloom.name("golden").created_at(1_700_000_000_000).build().unwrap();
    assert_eq!(bloom.encode().unwrap(), golden("bloom.bloom"));
    let options = KindOptions { initial_capacity: 100, growth: 2, tightening: 0.5, ..Kind::Scalable.into() };
    let scalable = Builder::new(Profile::Raw).fpr(0.05).kind(options).seed(42).keys(keys()).build().unwrap();
    assert_eq!(scalable.encode().unwrap(), golden("scalable.bloom"));
}

#[test]
fn urls() {
    let list =
        "! a list\nevil.example\n\n||ads.example^\nhttps://shop.example/login\n127.0.0.1 host.example\n";
    let filter = Builder::new(Profile::Url).fpr(1e-6).keys(list.lines()).build().unwrap();
    let filter = Filter::decode(filter.encode().unwrap()).unwrap();
    for (url, key) in [
        ("https://www.evil.example/page?q#f", Some("evil.example/")),
        ("EVIL.example", Some("evil.example/")),
        ("http://x.ads.example/", Some("ads.example/")),
        ("http://shop.example/login?next=/", Some("shop.example/login")),
        ("http://shop.example/", None),
        ("http://host.example:8080/", Some("host.example/")),
        ("mailto:me@evil.example", None),
        ("", None),
    ] {
        assert_eq!(filter.match_url(url).unwrap().as_deref(), key, "{url}");
        assert_eq!(filter.has_url(url).unwrap(), key.is_some(), "{url}");
    }
    assert!(filter.has("evil.example/").unwrap());
    for no_key in ["evil.example", "https://evil.example/"] {
        assert!(matches!(filter.has(no_key), Err(Error::InvalidKey { .. })), "{no_key}");
        assert!(matches!(filter.has_many(&["evil.example/", no_key]), Err(Error::InvalidKey { .. })));
    }
    assert_eq!(filter.has_many(&["evil.example/", "other.example/"]).unwrap(), [true, false]);
    assert!(matches!(filter.has_password("x"), Err(Error::WrongProfile { .. })));
    assert!(matches!(filter.url_tags("http://evil.example/"), Err(Error::WrongKind { .. })));
}

#[test]
fn passwords() {
    let filter = Builder::new(PASSWORDS).min_length(4).keys(["Caf\u{e9}", "abc"]).build().unwrap();
    // The same letter in two characters, and in upper case.
    for typed in ["Cafe\u{301}", "CAF\u{c9}"] {
        assert!(filter.has_password(typed).unwrap());
    }
    assert!(!filter.has_password("abc").unwrap());
    // Characters count, not bytes; and the minimum isn't for allowed ones.
    let short = || Builder::new(PASSWORDS).min_length(4).keys(["\u{e4}\u{f6}\u{fc}"]);
    assert!(matches!(short().build(), Err(Error::InvalidKey { .. })));
    assert!(Builder::new(PASSWORDS).min_length(4).keys(["long"]).allow(["abc"]).build().is_ok());
    assert!(matches!(filter.has("CAF\u{c9}"), Err(Error::InvalidKey { .. })));
    assert!(matches!(filter.has_url("http://a.example/"), Err(Error::WrongProfile { .. })));
    // The SHA-1 of "password", as Have I Been Pwned lists it.
    let hash = "5BAA61E4C9B93F3F0682250B6CF8331B7EE68FD8";
    let sha1 = Profile::Password { lowercase: false, sha1: true };
    let filter = Builder::new(sha1).min_count(5).keys([format!("{hash}:5"), format!("{}:4", "0".repeat(40))]);
    let filter = filter.build().unwrap();
    assert!(filter.has_password("password").unwrap());
    assert_eq!(filter.info().unwrap().count, Some(1));
}

#[test]
fn every_raw_key_is_a_key() {
    let all: [&[u8]; 4] = [b"", b"# not a comment", b"\xff\0", b" a "];
    let filter = Builder::new(Profile::Raw).fpr(1e-9).keys(all).build().unwrap();
    for key in all {
        assert!(filter.has(key).unwrap(), "{key:?}");
    }
    assert!(!filter.has("other").unwrap());
    let none = Builder::new(Profile::Raw).build().unwrap();
    assert!(!none.has("").unwrap() && none.info().unwrap().count == Some(0));
    assert_eq!(none.info().unwrap().url_fpr, None);
}

#[test]
fn tags_allowlists_and_what_is_told() {
    let (mut skipped, mut conflicts) = (Vec::new(), Vec::new());
    let filter = Builder::new(Profile::Url)
        .tag("phishing", ["evil.example", "both.example", "||*^"])
        .tag("malware", ["both.example"])
        .keys(["plain.example", "good.example"])
        .tag("phishing", ["again.example"])
        .allow(["http://good.example/"])
        .allow_wins()
        .on_skip(|line, why| skipped.push((line.to_vec(), why.code())))
        .on_conflict(|key, removed| conflicts.push((key.to_vec(), removed)))
        .build()
        .unwrap();
    for (host, tags) in [
        ("evil.example", &["phishing"][..]),
        ("both.example", &["phishing", "malware"]),
        ("again.example", &["phishing"]),
        ("plain.example", &[]),
    ] {
        assert_eq!(filter.url_tags(&format!("https://www.{host}/x")).unwrap(), tags, "{host}");
        assert_eq!(filter.tags(format!("{host}/")).unwrap(), tags, "{host}");
    }
    assert!(!filter.has_url("http://good.example/").unwrap());
    assert_eq!(skipped, [(b"||*^".to_vec(), "pattern")]);
    assert_eq!(conflicts, [(b"good.example/".to_vec(), true)]);
    // Without `allow_wins` it stays a member.
    let filter = Builder::new(Profile::Url).keys(["good.example"]).allow(["good.example"]).build().unwrap();
    assert!(filter.has_url("http://good.example/").unwrap());
}

/// A key that is added could bring an allowed one back, whether the allowlist needed a layer or not.
#[test]
fn with_an_allowlist_filters_are_read_only() {
    let mut without_layers = 0;
    for kind in [Kind::Bloom, Kind::Counting, Kind::Scalable, Kind::Cuckoo] {
        for seed in 0..10 {
            let builder =
                || Builder::new(Profile::Raw).kind(kind).seed(seed).fpr(0.01).keys(keys().take(100));
            let allowed: Vec<String> = (0..50).map(|i| format!("allowed-{i}")).collect();
            let made = builder().allow(&allowed).build().unwrap();
            without_layers += u32::from(made.stack().layers().is_empty());
            let decoded = Filter::decode(made.encode().unwrap()).unwrap();
            let mut plain = builder().build().unwrap();
            for mut filter in [made.clone(), decoded, made] {
                let before = filter.clone();
                assert_eq!(filter.add("new"), Err(Error::Layered), "{kind:?} {seed}");
                assert_eq!(filter.remove("key-1"), Err(Error::Layered));
                assert_eq!(filter.stack_mut().base_mut().unwrap_err(), Error::Layered);
                if matches!(kind, Kind::Bloom | Kind::Counting) {
                    assert_eq!(filter.combine(&before, true), Err(Error::Layered));
                    assert_eq!(plain.combine(&before, true), Err(Error::Layered));
                }
                assert_eq!(filter, before);
                assert_eq!(filter.info().unwrap().count, Some(100));
                assert!(!filter.has_many(&allowed).unwrap().contains(&true));
            }
            assert!(plain.add("new").is_ok());
        }
        let empty = Builder::new(Profile::Raw).kind(kind).keys(["a"]).allow([""; 0]).build();
        assert_eq!(empty.unwrap().add("b"), Err(Error::Layered));
    }
    assert!(without_layers >= 10, "{without_layers}");
    // A ribbon filter is read-only anyway, and its bytes are the same.
    let ribbon = || Builder::new(Profile::Raw).fpr(1e-9).keys(keys());
    assert_eq!(ribbon().allow(["allowed"]).build(), ribbon().build());
}

#[test]
fn options_of_another_kind_are_refused() {
    let all = [Kind::Bloom, Kind::Counting, Kind::Scalable, Kind::Cuckoo, Kind::Ribbon];
    let (sized, grows) = (&[Kind::Bloom, Kind::Counting, Kind::Cuckoo][..], &[Kind::Scalable][..]);
    let none = KindOptions::from(Kind::Ribbon);
    for (options, name, kinds) in [
        (KindOptions { capacity: Some(7), ..none }, "capacity", sized),
        (KindOptions { counter_bits: 8, ..none }, "counter_bits", &[Kind::Counting][..]),
        (KindOptions { initial_capacity: 7, ..none }, "initial_capacity", grows),
        (KindOptions { growth: 3, ..none }, "growth", grows),
        (KindOptions { tightening: 0.8, ..none }, "tightening", grows),
    ] {
        for kind in all {
            for profile in [Profile::Raw, Profile::Url] {
                let builder = Builder::new(profile).kind(KindOptions { kind, ..options });
                let (valid, built) = (builder.validate(), builder.keys(["a.example"]).build());
                match kinds.contains(&kind) {
                    true => assert!(valid.is_ok() && built.is_ok(), "{name} {kind:?}"),
                    false => {
                        assert!(valid.unwrap_err().to_string().contains(name), "{name} {kind:?}");
                        assert!(matches!(built, Err(Error::InvalidParameter { .. })));
                    }
                }
            }
        }
    }
    let options = KindOptions { capacity: Some(7), ..none };
    let tagged = Builder::new(Profile::Raw).kind(options).build_tagged(&Tagged::default(), None);
    assert!(matches!(tagged, Err(Error::InvalidParameter { .. })));
}

#[test]
fn the_capacity_of_a_cuckoo_filter() {
    let options = KindOptions { capacity: Some(1000), ..Kind::Cuckoo.into() };
    let mut filter = Builder::new(Profile::Raw).kind(options).fpr(1e-6).keys(["a"]).build().unwrap();
    let empty = CuckooFilter::with_capacity(1000, 1e-6, 0).unwrap();
    assert_eq!(filter.stack().base().as_bytes().len(), empty.as_bytes().len());
    assert!(keys().all(|key| filter.add(key).unwrap()));
    assert!(filter.has("a").unwrap() && keys().all(|key| filter.has(key).unwrap()));
    let options = KindOptions { capacity: Some(500), ..Kind::Cuckoo.into() };
    let full = Builder::new(Profile::Raw).kind(options).keys(keys()).build();
    assert!(matches!(full, Err(Error::FilterFull { .. })));
}

#[test]
fn what_cannot_be_built_is_refused() {
    let raw = || Builder::new(Profile::Raw).keys(["a"]);
    let invalid = |builder: Builder| {
        assert!(matches!(builder.validate(), Err(Error::InvalidParameter { .. })));
        assert!(matches!(builder.build(), Err(Error::InvalidParameter { .. })));
    };
    for fpr in [0.0, 1.0, -1.0, f64::NAN] {
        invalid(raw().fpr(fpr));
    }
    invalid(raw().name("x".repeat(256)));
    invalid(raw().min_length(3));
    invalid(Builder::new(PASSWORDS).min_count(3));
    invalid(raw().tag("a,b", ["c"]));
    let tagged = || raw().kind(Kind::Bloom).tag("a", ["c"]);
    assert_eq!(tagged().validate(), Err(Error::WrongKind { kind: "bloom" }));
    assert_eq!(tagged().build(), Err(Error::WrongKind { kind: "bloom" }));
    // Lists that it wouldn't read.
    let digests = raw().build_digests(&mut vec![1], None);
    assert!(matches!(digests, Err(Error::InvalidParameter { .. })));
    let allowed = Builder::new(Profile::Raw).allow(["a"]);
    assert!(matches!(allowed.build_tagged(&Tagged::default(), None), Err(Error::InvalidParameter { .. })));
    assert_eq!(raw().kind(Kind::Foreign).build(), Err(Error::WrongKind { kind: "foreign" }));
    // A list in which nothing is a URL is more likely something else.
    let page = || Builder::new(Profile::Url).keys(["<html>", "<body>"]);
    let allowed = Builder::new(Profile::Url).keys(["a.example"]).allow(["<html>"]);
    let tagged = Builder::new(Profile::Url).keys(["a.example"]).tag("a", ["<html>"]);
    for (builder, list) in [
        (page(), "a list"),
        (page().keys(["a.example"]), "a list"),
        (tagged, "a list with a tag"),
        (allowed, "an allowlist"),
    ] {
        let error = builder.build().unwrap_err();
        assert_eq!(
            (error.code(), error.to_string()),
            ("invalid_key", format!("no line of {list} gives a key"))
        );
    }
    assert!(!page().on_skip(|_, _| ()).build().unwrap().has_url("http://a.example/").unwrap());
}

#[test]
fn keys_are_added_and_removed() {
    for kind in [Kind::Bloom, Kind::Counting, Kind::Scalable, Kind::Cuckoo] {
        let mut filter = Builder::new(Profile::Url).kind(kind).keys(["a.example"]).build().unwrap();
        // A filter that was read remembers its id, until it is changed.
        let read = |filter: &Filter| Filter::decode(filter.encode().unwrap()).unwrap();
        let before = filter.id().unwrap();
        filter = read(&filter);
        filter.describe(Some("another".to_owned()), None).unwrap();
        let renamed = filter.id().unwrap();
        assert_ne!(renamed, before);
        filter = read(&filter);
        assert!(filter.add("https://B.example").unwrap());
        assert_ne!(filter.id().unwrap(), renamed);
        filter = read(&filter);
        assert!(filter.has_url("http://x.b.example/").unwrap(), "{kind:?}");
        for line in ["# comment", "a.example b.example", "0.0.0.0 a.example b.example", "||*^"] {
            assert!(matches!(filter.add(line), Err(Error::InvalidKey { .. })), "{line}");
        }
        assert!(!filter.add("a.example").unwrap(), "{kind:?}");
        match filter.remove("b.example") {
            Ok(removed) => assert!(removed && !filter.has_url("http://b.example/").unwrap()),
            Err(error) => assert_eq!(error, Error::WrongKind { kind: kind.name() }),
        }
    }
    let mut ribbon = Builder::new(Profile::Raw).keys(["a"]).build().unwrap();
    assert_eq!(ribbon.add("b"), Err(Error::WrongKind { kind: "ribbon" }));
    assert_eq!(ribbon.remove("a"), Err(Error::WrongKind { kind: "ribbon" }));
}

#[test]
fn keyed() {
    let secret = Secret::from(*b"0123456789abcdef");
    let one = || Builder::new(Profile::Url).keys(["evil.example"]);
    let orders = [one().seed(7).secret(secret.clone()), one().secret(secret.clone()).seed(7)];
    let [first, second] = orders.map(|builder| builder.build().unwrap());
    assert_eq!(first, second);
    let filter =
        Builder::new(Profile::Url).secret(secret.clone()).seed(7).keys(["evil.example"]).build().unwrap();
    let bytes = filter.encode().unwrap();
    assert_eq!(Filter::decode(bytes.clone()), Err(Error::SecretRequired));
    let filter = Filter::decode_keyed(bytes, &secret).unwrap();
    assert!(filter.has_url("http://evil.example/").unwrap());
}

/// Two lines in one item give no key of both.
#[test]
fn an_item_is_one_line() {
    let text = "https://evil.example/a\nhttps://other.example/\n";
    let builder = || Builder::new(Profile::Url).keys([text]);
    assert!(matches!(builder().build(), Err(Error::InvalidKey { .. })));
    let mut filter = Builder::new(Profile::Url).kind(Kind::Scalable).build().unwrap();
    assert!(matches!(filter.add(text), Err(Error::InvalidKey { .. })));
    assert!(filter.add("evil.example\n").unwrap() && filter.has_url("http://evil.example/").unwrap());
}

/// A text isn't the number that it spells, so "absent" would be wrong for it.
#[test]
fn numbers_are_keys_by_their_bytes() {
    let options = interop::Options { keys: Some("long".to_owned()), ..Default::default() };
    let mut builder =
        interop::Builder::new(interop::Format::from_name("spark").unwrap(), &options, 10, 1e-3).unwrap();
    builder.add(&42_u64.to_le_bytes()).unwrap();
    let filter = Filter::from(builder.finish().unwrap());
    assert!(filter.has(42_u64.to_le_bytes()).unwrap());
    for no_number in [&b"42"[..], b"", b"123456789"] {
        assert!(matches!(filter.has(no_number), Err(Error::InvalidKey { .. })));
        assert!(matches!(filter.has_many(&[no_number]), Err(Error::InvalidKey { .. })));
    }
}

/// Digests that are hashed elsewhere make the same filter.
#[test]
fn digests() {
    for profile in [Profile::Raw, Profile::Url, PASSWORDS] {
        for kind in [Kind::Ribbon, Kind::Bloom] {
            let builder = || Builder::new(profile).kind(kind).fpr(1e-3).seed(7);
            let keys = || (0..100).map(|i| format!("host{i}.example/"));
            let hashing = builder().digests();
            let mut digests: Vec<u64> = keys().map(|key| hashing.digest(key.as_bytes())).collect();
            let made = builder().build_digests(&mut digests, None).unwrap();
            assert_eq!(made, builder().keys(keys()).build().unwrap(), "{profile:?} {kind:?}");
        }
    }
}

/// A key of a list of URLs gets a tenth of the rate, and what is equal or merged has the same profile.
#[test]
fn profiles_differ() {
    let build = |profile: Profile, name: &str| {
        Builder::new(profile).kind(Kind::Bloom).fpr(0.01).keys(["a.example/"]).name(name)
    };
    assert_eq!([Profile::Url, Profile::Raw].map(|profile| build(profile, "").build_fpr()), [0.001, 0.01]);
    let mut raw = build(Profile::Raw, "one").build().unwrap();
    let url = Filter::new(Profile::Url, raw.stack().clone());
    assert_eq!(raw.combine(&url, true), Err(Error::Incompatible));
    assert!(raw.equals(&build(Profile::Raw, "another").build().unwrap()).unwrap());
    assert!(!raw.equals(&url).unwrap());
}

#[test]
fn filters_are_shared_between_threads() {
    fn shared<T: Send + Sync>(_: &T) {}
    let filter = Filter::from(BloomFilter::with_capacity(10, 0.1, 0).unwrap());
    shared(&filter);
    shared(&Error::NotAFilter);
}
