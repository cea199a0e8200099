//! URLs to canonical forms and keys: published vectors, a naive canonicaliser, hostile inputs.

mod naive;
mod readings;

use std::cell::Cell;
use std::net::{Ipv4Addr, Ipv6Addr};

use bloom_wasm::keys::native::Native;
use bloom_wasm::keys::url::{self, Canonical, any_root, canonicalize, clean, plain};
use bloom_wasm::keys::{Platform, is_key};
use bloom_wasm::slots::Slots;
use bloom_wasm::{Error, Profile};
use proptest::prelude::*;
use serde_json::Value;

use crate::texts;

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn keys(url: &Canonical) -> Vec<String> {
    url.expressions().map(text).collect()
}

fn parse(input: &[u8]) -> Option<Canonical<'_>> {
    url::parse(&Native, input).unwrap()
}

/// What must be true of any result.
fn sound(url: &Canonical) {
    assert!(url.as_bytes().iter().all(|byte| matches!(byte, b'!'..=b'~')));
    assert_eq!(canonicalize(url.as_bytes()).unwrap().as_ref(), Some(url), "not idempotent");
    let keys = keys(url);
    let mut once = keys.clone();
    once.sort();
    once.dedup();
    assert!((1..=30).contains(&keys.len()) && once.len() == keys.len(), "{keys:?}");
    assert!(keys.iter().all(|key| key.contains('/') && !key.starts_with(['/', '.'])));
    assert!(keys.iter().all(|key| is_key(&Native, Profile::Url, key.as_bytes())), "{keys:?}");
    // They are in one shard. Only a host that can't exist, such as `a.1.2.3.4`, may have several sites.
    let mut sites: Vec<_> = keys.iter().map(|key| url::site(key.as_bytes())).collect();
    sites.dedup();
    assert!(sites.len() == 1 || !url.has_possible_host(), "{keys:?}: {sites:?}");
}

#[test]
fn what_a_key_can_be() {
    for key in ["", "evil.example", "/", "/a", "//evil.example/", "https://evil.example/", ":/", "a:/b/"] {
        assert!(!is_key(&Native, Profile::Url, key.as_bytes()), "{key}");
        assert!(is_key(&Native, Profile::Raw, key.as_bytes()), "{key}");
    }
    for key in ["evil.example/", "e/?q=https://a.example", "[::1]/", "a.example:8080/", "\u{e9}/"] {
        assert!(is_key(&Native, Profile::Url, key.as_bytes()), "{key}");
    }
}

/// As an entry of a list, or in the address bar of a browser, the canonical form of what can be opened is still the same.
/// (No name server knows an empty label, as in `0x..`.)
fn stable(input: &[u8], canonical: &Canonical) {
    let Ok(input) = str::from_utf8(input) else { return };
    let href = Native.parse_url(input).unwrap().unwrap_or_default();
    if href.starts_with(b"http") && !text(&href).contains("..") {
        let again = parse(canonical.as_bytes());
        assert_eq!(again.as_ref(), Some(canonical), "{input:?}: {}", text(canonical.as_bytes()));
    }
}

/// The canonical form comes first, each reading is one, and no key comes twice.
fn sound_readings(input: &[u8]) {
    let readings = url::readings(&Native, input).unwrap();
    assert_eq!(readings.canonical(), parse(input).as_ref());
    readings.canonical().into_iter().for_each(|canonical| stable(input, canonical));
    readings.iter().for_each(sound);
    let keys: Vec<_> = readings.keys().collect();
    let first: Vec<_> = readings.canonical().into_iter().flat_map(Canonical::expressions).collect();
    assert!(keys.starts_with(&first) && keys.len() <= 110);
    let mut once = keys.clone();
    once.sort();
    once.dedup();
    assert_eq!(once.len(), keys.len());
}

/// A parser of URLs as a function. All else is as the crates do it.
struct Parser<F>(F);

impl<F: Fn(&str) -> Option<Vec<u8>>> Platform for Parser<F> {
    fn parse_url(&self, text: &str) -> Result<Option<Vec<u8>>, Error> {
        Ok((self.0)(text))
    }

    fn normalize(&self, text: &str, lowercase: bool) -> Result<Vec<u8>, Error> {
        Native.normalize(text, lowercase)
    }

    fn is_normal(&self, text: &str, lowercase: bool) -> bool {
        Native.is_normal(text, lowercase)
    }
}

fn native(text: &str) -> Option<Vec<u8>> {
    Native.parse_url(text).unwrap()
}

fn form(input: &str) -> Option<String> {
    let url = parse(input.as_bytes())?;
    sound(&url);
    stable(input.as_bytes(), &url);
    Some(text(url.as_bytes()))
}

/// The same without the WHATWG parser.
fn raw(input: &[u8]) -> Option<String> {
    let input = clean(input).unwrap();
    let url = canonicalize(&input).unwrap()?;
    sound(&url);
    Some(text(url.as_bytes()))
}

/// Those that Safe Browsing and others published, and ours.
#[test]
fn vectors() {
    let vectors: Vec<Value> = serde_json::from_str(include_str!("../url_vectors.json")).unwrap();
    assert_eq!(vectors.len(), 85);
    for vector in vectors {
        let url = parse(vector["input"].as_str().unwrap().as_bytes());
        let found = url.as_ref().map(|url| text(url.as_bytes()));
        assert_eq!(found.as_deref(), vector["canonical"].as_str(), "{vector}");
        assert_eq!(url.as_ref().map(keys).unwrap_or_default(), texts(&vector["expressions"]), "{vector}");
        url.iter().for_each(sound);
    }
    // And ours, with the keys of every reading.
    let vectors = crate::vectors("urls");
    assert!(vectors.len() > 160, "{}", vectors.len());
    for vector in vectors {
        let input = vector["input"].as_str().unwrap();
        assert_eq!(form(input).as_deref(), vector["canonical"].as_str(), "{vector}");
        let readings = url::readings(&Native, input.as_bytes()).unwrap();
        assert_eq!(readings.keys().map(text).collect::<Vec<_>>(), texts(&vector["keys"]), "{vector}");
        sound_readings(input.as_bytes());
    }
}

/// A host that no browser opens isn't given to a parser, which may take minutes for it; one with zeros before it is.
#[test]
fn long_hosts_are_not_parsed() {
    let short = Parser(|text: &str| {
        assert!(text.chars().filter(|char| !char.is_ascii()).count() < 1000, "{} bytes", text.len());
        native(text)
    });
    let different: Vec<char> = ('\u{4E00}'..'\u{9FA0}').collect();
    let joined = |with: &str| different.iter().map(|char| format!("{char}{with}")).collect::<String>();
    let escaped = text(joined("").bytes().map(|byte| format!("%{byte:02x}")).collect::<String>().as_bytes());
    for host in
        [joined(""), joined("\u{AD}"), joined("%C2%AD"), escaped, format!("xn--{}", "z9a".repeat(100_000))]
    {
        for input in [host.clone(), format!("http://{host}/"), format!("HTTP:\\\\u:p@{host}.evil.com:80\\a")]
        {
            let readings = url::readings(&short, input.as_bytes()).unwrap();
            assert!(readings.keys().count() <= 60);
            let is_evil = readings.keys().any(|key| key == b"evil.com/");
            assert_eq!(is_evil, input.contains("evil"), "{}", &input[..20]);
        }
    }
    for zeros in ["0".repeat(5000), "𝟎".repeat(5000), "0x".to_owned() + &"０".repeat(5000)] {
        let host = format!("{zeros}{}", if zeros.contains('x') { "C0000207" } else { "30000001007" });
        for input in [host.clone(), format!("http:\\\\{host}:80\\"), format!("http://a@{host}/")] {
            let readings = url::readings(&Native, input.as_bytes()).unwrap();
            assert!(readings.keys().any(|key| key == b"192.0.2.7/"), "{}", &input[..20]);
        }
    }
}

#[test]
fn bytes_that_are_no_text() {
    let url = |input: &[u8]| text(parse(input).unwrap().as_bytes());
    assert_eq!(url(b"http://a.b/\xff\xc3\xbc"), "http://a.b/%FF%C3%BC");
    assert_eq!(url(b"http://a\xff.b/"), "http://a%FF.b/");
    assert_eq!(url(b"http://a.b/%ff"), "http://a.b/%FF");
}

/// A pass over 1 MB for each escape in it would take hours, so this would not end.
#[test]
#[ignore = "long: npm run test:all"]
fn long_inputs_take_linear_time() {
    let million = |part: &str| part.repeat(1_000_000 / part.len());
    for part in [
        "%25", "25", "%", "%2", "/", "/..", "/a", ".", "a.", "@", ":", "[", "]", "0", "1.", "?", "a/../",
        "::", "é",
    ] {
        for start in ["http://a.b/%", "http://a.b/?%", "http://", "http://[", "http://a@", "a.b/", ""] {
            let input = format!("{start}{}", million(part));
            if let Some(url) = canonicalize(input.as_bytes()).unwrap() {
                sound(&url);
            }
        }
    }
    let nested = format!("http://a.b/%{}41", million("25"));
    assert_eq!(raw(nested.as_bytes()).as_deref(), Some("http://a.b/A"));
    // The crate `url` is linear too.
    for part in ["%25", "/..", "a.", "/"] {
        parse(format!("http://a.b/{}", million(part)).as_bytes());
    }
}

/// Texts made of parts that matter to some rule.
fn odd() -> impl Strategy<Value = Vec<u8>> {
    let parts = prop::sample::select(vec![
        "%", "%", "%2", "25", "%25", "%2e", "%2F", "%41", "%3A", "%40", "%3f", "%23", "%5b", "%00", "%ff",
        "%0a", ".", ".", "..", "/", "/", "//", "/../", "/./", "?", "#", "@", ":", ":80", "://", "[", "]",
        "::", "ffff", "64:ff9b:", "[::", "1.2.3.4", "0x", "0", "1", "7", "255", "256", "a", "A", "f", "b.c",
        "com", "http", "https", "ftp://", "foo", "\\", " ", "\t", "\n", "\0", "é", "-", "+",
    ]);
    let bytes = prop_oneof![9 => parts.prop_map(|part| part.as_bytes().to_vec()), 1 => prop::collection::vec(any::<u8>(), 1..3)];
    let start = prop::sample::select(vec![
        "",
        "",
        "http://",
        "http://",
        "HTTPS://",
        "http://[",
        "http://a.b/",
        "//",
        "http:",
    ]);
    (start, prop::collection::vec(bytes, 0..24))
        .prop_map(|(start, parts)| [start.as_bytes().to_vec(), parts.concat()].concat())
}

/// URLs, about half of which are plain.
fn nearly_plain() -> impl Strategy<Value = String> {
    let some = |parts: &'static [&'static str], most| {
        prop::collection::vec(prop::sample::select(parts), 0..most).prop_map(|parts| parts.concat())
    };
    let scheme =
        prop::sample::select(vec!["http://", "https://", "https://", "HTTP://", "ftp://", "http:/", ""]);
    let host = some(
        &["a", "b1", "-", "_", ".", ".c", ".com", ".1", ".0x1", "xn", "--", "A", "é", ":1", "@", "[", "!"],
        5,
    );
    let path = some(
        &["/", "/a", "b", ".", "..", "/.", "/b.c", "@", ":", "\\", "\"<>`{}|^'", "%41", " ", "\t", "é", "~"],
        6,
    );
    let query = some(&["?", "a=b", "&", "/", "//", "/../", "\\", "\"<>`{}|^'", "%", "#", " ", "é"], 4);
    (scheme, host, path, query)
        .prop_map(|(scheme, host, path, query)| [scheme, "a", &host, "/", &path, "?", &query].concat())
}

#[test]
fn what_is_plain() {
    for url in [
        "https://www.example.com/",
        "http://a-b_c.d0.example/1/2.html?q=//..&r=\\",
        "http://1a.example/~/!$&'()*+,;=:@|\"<>",
    ] {
        assert!(plain(url.as_bytes()).is_some(), "{url}");
    }
}

/// Hosts of up to 64 bytes are read by bits. So all lengths around that, with labels of every length.
#[test]
fn hosts_of_every_length() {
    let mut plain_ones = 0;
    for length in 1..=100 {
        for label in 1..=length {
            let host: String =
                (0..length).map(|i| if i % (label + 1) == label { '.' } else { 'a' }).collect();
            for odd in ["", "-", "--", "..", "9"] {
                let mut host = host.clone();
                host.replace_range(length - odd.len().min(length).., odd);
                for end in ["", "/", "/a", "/b/c?d"] {
                    let url = format!("https://{host}{end}");
                    let read = canonicalize(url.as_bytes()).unwrap();
                    let canonical = naive::canonicalize(url.as_bytes());
                    assert_eq!(read.as_ref().map(|url| text(url.as_bytes())), canonical, "{url}");
                    let (Some(read), Some(canonical)) = (read, canonical) else { continue };
                    assert_eq!(keys(&read), naive::keys(&canonical), "{url}");
                    let mut roots = Vec::new();
                    let note = |_: u32, key: &[u8]| {
                        roots.push(text(key));
                        false
                    };
                    if any_root(url.as_bytes(), Slots::ANY, note).is_some() {
                        plain_ones += 1;
                        let mut wanted = naive::keys(&canonical);
                        wanted.retain(|key| key.find('/') == Some(key.len() - 1));
                        roots.sort();
                        wanted.sort();
                        assert_eq!(roots, wanted, "{url}");
                    }
                }
            }
        }
    }
    assert!(plain_ones > 5_000, "{plain_ones}");
}

/// Texts that are likely to be an address.
fn address() -> impl Strategy<Value = String> {
    let number = prop_oneof![
        (0_u64..300).prop_map(|n| n.to_string()),
        (0_u64..300).prop_map(|n| format!("0{n:o}")),
        (0_u64..300).prop_map(|n| format!("0x{n:X}")),
        any::<u32>().prop_map(|n| n.to_string()),
        (0_u64..1 << 33).prop_map(|n| format!("0x{n:x}")),
    ];
    let group = prop_oneof![3 => Just("0".to_string()), 2 => any::<u16>().prop_map(|n| format!("{n:x}")), 1 => Just(String::new())];
    prop_oneof![
        prop::collection::vec(number, 1..6).prop_map(|parts| parts.join(".")),
        prop::collection::vec(group, 2..10).prop_map(|groups| format!("[{}]", groups.join(":"))),
        any::<[u8; 16]>().prop_map(|bytes| format!("[{}]", Ipv6Addr::from(bytes))),
        (any::<u32>(), prop::sample::select(vec!["::ffff:", "64:ff9b::", "::", "1::"]))
            .prop_map(|(address, prefix)| format!("[{prefix}{}]", Ipv4Addr::from(address))),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn like_the_naive_one(input in odd()) {
        let input = clean(&input).unwrap();
        let url = canonicalize(&input).unwrap();
        url.iter().for_each(sound);
        let form = url.as_ref().map(|url| text(url.as_bytes()));
        prop_assert_eq!(&form, &naive::canonicalize(&input));
        if let Some(url) = url {
            prop_assert_eq!(keys(&url), naive::keys(&form.unwrap()));
        }
    }

    #[test]
    fn what_is_plain_is_what_the_parser_and_all_the_rest_give(input in nearly_plain()) {
        if let Some(url) = plain(input.as_bytes()) {
            prop_assert_eq!(url.as_bytes(), input.as_bytes());
            prop_assert_eq!(Some(url), parse(input.as_bytes()));
            prop_assert_eq!(Some(input.clone()), naive::canonicalize(input.as_bytes()));
        }
    }

    #[test]
    fn addresses_like_the_naive_ones(host in address(), end in prop::sample::select(vec!["/", ":80/a", ".", ""])) {
        let url = format!("http://{host}{end}");
        let form = raw(url.as_bytes());
        prop_assert_eq!(form, naive::canonicalize(url.as_bytes()));
    }

    #[test]
    fn unescapes_like_many_passes(parts in prop::collection::vec(prop::sample::select(vec!["%", "2", "5", "25", "%25", "%3", "4", "1", "35", "g"]), 0..60)) {
        let part = parts.concat();
        let expected = format!("http://a.b/?{}", naive::escape(&naive::unescape(part.as_bytes())));
        prop_assert_eq!(raw(format!("http://a.b/?{part}").as_bytes()), Some(expected));
    }

    #[test]
    fn any_bytes(input in prop::collection::vec(any::<u8>(), 0..200)) {
        canonicalize(&input).unwrap().iter().for_each(sound);
        parse(&input).iter().for_each(sound);
        sound_readings(&input);
    }

    #[test]
    fn odd_inputs(input in odd()) {
        parse(&input).iter().for_each(sound);
        sound_readings(&input);
    }
}

/// The last two labels of a host, unless it is an address.
#[test]
fn sites() {
    for (key, expected) in [
        ("a.b.evil.example/x?y", "evil.example"),
        ("evil.example/", "evil.example"),
        ("localhost/a.b/c", "localhost"),
        ("10.0.1.5/", "10.0.1.5"),
        ("1.10.0.1.5/", "1.5"),
        ("10.0.1.5a/", "1.5a"),
        ("[2001:db8::1]/a", "[2001:db8::1]"),
        ("[::1.2.3.4]/", "[::1.2.3.4]"),
        ("/", ""),
    ] {
        assert_eq!(url::site(key.as_bytes()), expected.as_bytes(), "{key}");
    }
}
