//! URLs to canonical forms and keys: published vectors, a naive canonicaliser, hostile inputs.

use std::cell::Cell;
use std::net::{Ipv4Addr, Ipv6Addr};

use bloom_wasm::keys::native::Native;
use bloom_wasm::keys::url::{
    self, Canonical, any_root, canonicalize, clean, has_port, missing_scheme, plain,
};
use bloom_wasm::keys::{Platform, is_key};
use bloom_wasm::slots::Slots;
use bloom_wasm::{Error, Profile};
use proptest::prelude::*;
use serde_json::Value;

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
    // They lie in one shard. Only a host that can't exist, such as `a.1.2.3.4`, may have several sites.
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
    assert!(keys.starts_with(&first) && keys.len() <= 60);
    let mut once = keys.clone();
    once.sort();
    once.dedup();
    assert_eq!(once.len(), keys.len());
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

#[test]
fn vectors() {
    let vectors: Vec<Value> = serde_json::from_str(include_str!("url_vectors.json")).unwrap();
    assert_eq!(vectors.len(), 85);
    for vector in vectors {
        let url = parse(vector["input"].as_str().unwrap().as_bytes());
        assert_eq!(
            url.as_ref().map(|url| text(url.as_bytes())).as_deref(),
            vector["canonical"].as_str(),
            "{vector}"
        );
        let expected: Vec<&str> =
            vector["expressions"].as_array().unwrap().iter().map(|key| key.as_str().unwrap()).collect();
        assert_eq!(url.as_ref().map(keys).unwrap_or_default(), expected, "{vector}");
        url.iter().for_each(sound);
    }
}

#[test]
fn goes_where_a_browser_goes() {
    for (input, canonical) in [
        ("http://evil.com\\@good.com/", "http://evil.com/@good.com/"),
        ("https:///evil.com/", "https://evil.com/"),
        ("HTTP://EVIL.com:80/%2e%2e/a", "http://evil.com/a"),
        ("http://3279880203/", "http://195.127.0.11/"),
        ("http://evil.com./", "http://evil.com/"),
        // An escaped slash doesn't end the user, nor does a twice escaped one.
        ("http://good.com%2F@evil.com/", "http://evil.com/"),
        ("http://good.com%252F@evil.com/", "http://evil.com/"),
        ("http://good.com%3F:%2f@evil.com/x", "http://evil.com/x"),
        ("http:evil.com", "http://evil.com/"),
        ("\\\\evil.com\\a", "http://evil.com/a"),
        ("ht\ntp://ev\til.com\r/", "http://evil.com/"),
        ("user%2F@evil.com/", "http://evil.com/"),
        ("wss://evil.com", "wss://evil.com/"),
        ("evil.com:8080", "http://evil.com/"),
        ("evil.com:8080?a", "http://evil.com/?a"),
        ("localhost:80", "http://localhost/"),
        ("1.2.3.4:80/x", "http://1.2.3.4/x"),
        ("evil.com/a b", "http://evil.com/a%20b"),
        ("http://ama\u{ad}zon.xyz/", "http://amazon.xyz/"),
        ("ｅｖｉｌ．com", "http://evil.com/"),
        ("http://a.b/%252e%252e%252fc?%252e", "http://a.b/c?."),
        ("http://a.b/c//../d", "http://a.b/c/d"),
        ("http://a.b/c%5cd\\e?f%5c\\", "http://a.b/c%5Cd/e?f\\\\"),
        ("http://a.b/c/%252f%252e%252e/d", "http://a.b/c/d"),
        // What no browser opens, but some other client may.
        ("http://%20leadingspace.com/", "http://%20leadingspace.com/"),
        ("http%3A%2F%2Fwackyurl.com:80/", "http://wackyurl.com/"),
        ("http://evil.com:99999/", "http://evil.com/"),
    ] {
        assert_eq!(form(input).as_deref(), Some(canonical), "{input}");
    }
    for input in [
        "",
        " ",
        "http://",
        "http:///",
        "https://?",
        "https://...",
        "/",
        "/a",
        "?a",
        "#a",
        "//",
        "mailto:a@b.c",
        "data:,a",
        "javascript:a",
        "about:blank",
        "blob:http://a.b/c",
        "file:///a",
        "file://a/b",
        "chrome-extension://abc/d",
        "foo://a.b/",
        "foo://a b/",
        "a:b@c",
        "a:80b",
    ] {
        assert_eq!(form(input), None, "{input}");
    }
}

/// Where Chromium or Firefox go, and another parser refuses the text or reads it otherwise.
#[test]
fn second_readings() {
    let all = |input: &str| -> Vec<String> {
        url::readings(&Native, input.as_bytes()).unwrap().keys().map(text).collect()
    };
    for input in [
        "http://xn--.evil.com\\@good.com/",
        "http:\\\\xn--.evil.com/",
        "http:///xn--.evil.com/",
        "http:xn--.evil.com",
        "//\\xn--.evil.com",
        "/\\evil.com/",
        "/\t/evil.com/",
        "\\\\xn--.evil.com\\a?b\\c",
        "xn--.ＥＶＩＬ．com:80\\a",
        "http://good.com@xn--.%65vil%2Ecom\\@good.com",
        "http://evi\u{2061}l.com/",
        "http://xn--.evi%E2%81%A1l%e3%80%82com/",
        "http://\u{1CCDA}v\u{1CCDE}l.com/",
        "http://ev％69l.com/",
        "http://evil﹪2ecom/",
        "http://evil%EF%BC%852ecom\\@good.com",
    ] {
        assert!(all(input).contains(&"evil.com/".to_owned()), "{input}: {:?}", all(input));
    }
    assert!(all("http://STRA\u{1E9E}E.de/").contains(&"xn--strae-oqa.de/".to_owned()));
    for input in [
        "http://\u{FEFF}[::1]/",
        "http://[::１]/",
        "http://[::¹]/",
        "http://[::%EF%BC%91]/",
        "http://％5b::1]:80/",
    ] {
        assert!(all(input).contains(&"[::1]/".to_owned()), "{input}: {:?}", all(input));
    }
    assert_eq!(all("/\\a.b\\c/?d\\"), ["a.b/c/?d\\", "a.b/c/", "a.b/"]);
    // The canonical form's come first, none twice.
    assert_eq!(all("http://x^.a.b\\@a.b/"), ["a.b/", "x^.a.b/@a.b/", "x^.a.b/", "a.b/@a.b/"]);
    assert_eq!(all("http://evil.com:99999/"), ["evil.com/"]);
    assert_eq!(all("http://b\u{fc}cher.de/%41"), ["xn--bcher-kva.de/A", "xn--bcher-kva.de/"]);
    for input in [
        "",
        "/a.b",
        "?a.b",
        "#//a.b",
        "mailto:a\u{ad}@b.c",
        "foo://a b/",
        "file://a%/b",
        "javascript:%//a.b/",
    ] {
        assert_eq!(all(input), [""; 0], "{input}");
    }
    assert!(all(&"é.".repeat(200)).len() <= 30);
}

/// A parser that refuses all but ASCII, so that only FORMAT.md's own table reads the rest.
struct Ascii;

impl Platform for Ascii {
    fn parse_url(&self, text: &str) -> Result<Option<Vec<u8>>, Error> {
        if text.is_ascii() { Native.parse_url(text) } else { Ok(None) }
    }

    fn normalize(&self, text: &str, lowercase: bool) -> Result<Vec<u8>, Error> {
        Native.normalize(text, lowercase)
    }

    fn is_normal(&self, text: &str, lowercase: bool) -> bool {
        Native.is_normal(text, lowercase)
    }
}

#[test]
fn second_readings_where_the_parser_knows_no_such_character() {
    let plain = || ('a'..='z').chain('0'..='9');
    let outlined = ('\u{1CCD6}'..='\u{1CCF9}').zip(plain());
    let wide = ('\u{FF41}'..='\u{FF5A}').chain('\u{FF10}'..='\u{FF19}').zip(plain());
    let others = [('\u{A7F1}', 's'), ('\u{3002}', '.'), ('\u{FF61}', '.')];
    for (odd, plain) in outlined.chain(wide).chain(others) {
        let input = format!("http://x{odd}y.com/");
        let readings = url::readings(&Ascii, input.as_bytes()).unwrap();
        let keys: Vec<String> = readings.keys().map(text).collect();
        assert!(keys.contains(&format!("x{plain}y.com/")), "{input}: {keys:?}");
    }
}

/// A parser with older tables, which don't know some characters.
struct Older<'a>(&'a [char]);

impl Platform for Older<'_> {
    fn parse_url(&self, text: &str) -> Result<Option<Vec<u8>>, Error> {
        if text.contains(self.0) { Ok(None) } else { Native.parse_url(text) }
    }

    fn normalize(&self, text: &str, lowercase: bool) -> Result<Vec<u8>, Error> {
        Native.normalize(text, lowercase)
    }

    fn is_normal(&self, text: &str, lowercase: bool) -> bool {
        Native.is_normal(text, lowercase)
    }
}

/// Beside a letter that the parser refuses, every character is what the parser makes of it, and so is an entry of a list.
#[test]
#[ignore = "long: npm run test:all"]
fn labels_that_older_parsers_refuse() {
    let (old, newer) = ('ა', '\u{A7CD}');
    let mut found = 0;
    for char in '\u{80}'..=char::MAX {
        for (label, unknown) in [
            (format!("{newer}{char}Y"), newer),
            (format!("{char}{newer}"), newer),
            (format!("{old}{char}Y"), old),
        ] {
            let input = format!("http://{label}.com/");
            let Some(there) = Native.parse_url(&input).unwrap() else { continue };
            let expected = canonicalize(&there).unwrap();
            let readings = url::readings(&Older(&[unknown]), input.as_bytes()).unwrap();
            assert!(readings.iter().any(|url| Some(url) == expected.as_ref()), "U+{:04X}", u32::from(char));
            // Of an old letter nobody would know that it isn't a newer one.
            assert!(unknown == old || readings.canonical() == expected.as_ref(), "U+{:04X}", u32::from(char));
            found += 1;
        }
    }
    assert!(found > 400_000, "{found}");
}

/// A parser that does with a text what its function says, and otherwise what the newest does.
struct Odd<F>(F);

impl<F: Fn(&str) -> Option<Option<String>>> Platform for Odd<F> {
    fn parse_url(&self, text: &str) -> Result<Option<Vec<u8>>, Error> {
        match (self.0)(text) {
            None => Native.parse_url(text),
            Some(None) => Ok(None),
            Some(Some(text)) => Native.parse_url(&text),
        }
    }

    fn normalize(&self, text: &str, lowercase: bool) -> Result<Vec<u8>, Error> {
        Native.normalize(text, lowercase)
    }

    fn is_normal(&self, text: &str, lowercase: bool) -> bool {
        Native.is_normal(text, lowercase)
    }
}

/// An entry of a list is the same for older parsers as for the newest.
#[test]
fn entries_by_older_parsers() {
    let newer = "\u{1C8A}";
    let unknown = Odd(|text: &str| (text.contains(newer) || text.contains("xn--d4f")).then_some(None));
    let together = |text: &str| (text.contains('א') && text.contains('\u{1ACF}')).then_some(None);
    let sharp = |text: &str| text.contains('ẞ').then(|| Some(text.replace('ẞ', "ss")));
    let canonical = |platform: &dyn Fn(&[u8]) -> Option<Vec<u8>>, input: &str| {
        let newest = parse(input.as_bytes()).map(|url| url.as_bytes().to_vec());
        assert!(newest.is_some(), "{input}");
        assert_eq!(platform(input.as_bytes()), newest, "{input}");
    };
    let of = |input: &[u8]| url::parse(&unknown, input).unwrap().map(|url| url.as_bytes().to_vec());
    for input in [
        // Joiners that have a meaning stay in another label.
        "http://\u{646}\u{627}\u{645}\u{647}\u{200c}\u{627}\u{6cc}.\u{1c8a}.com/",
        "http://\u{915}\u{94d}\u{200d}\u{937}.\u{1c8a}.com/",
        "http://xn--d4f.com\\a",
        "http:xn--D4F.com",
        "http:\\\\a.xn--d4f.com:80\\a",
        "//u:p@\u{1c8a}.com/",
        // The path is resolved before it loses its escapes.
        "http://\u{1c8a}.com/a/b%2f../../c",
        "http://\u{1c8a}.com/%3f/../c?d/../e",
        "http://\u{1c8a}.com\\a%2F..\\.%2E\\%2e\\c//.%252e\\%2E%2e",
    ] {
        canonical(&of, input);
    }
    let of = |input: &[u8]| url::parse(&Odd(together), input).unwrap().map(|url| url.as_bytes().to_vec());
    canonical(&of, "http://\u{5d0}\u{1acf}.com/");
    let of = |input: &[u8]| url::parse(&Odd(sharp), input).unwrap().map(|url| url.as_bytes().to_vec());
    canonical(&of, "http://fa\u{1e9e}.com/");
    // Where it is opened as the older parser says, that is asked too.
    let readings = url::readings(&Odd(sharp), b"http://fa\xe1\xba\x9e.com/a".as_slice()).unwrap();
    let keys: Vec<_> = readings.keys().map(text).collect();
    assert_eq!(keys, ["xn--fa-hia.com/a", "xn--fa-hia.com/", "fass.com/a", "fass.com/"]);
    // What is no newer letter, or none at all, makes no entry.
    for input in ["http://a\u{378}.com/", "http://a\u{1c8a}\u{378}.com/", "http://a%ff\u{1c8a}.com/"] {
        let url = url::parse(&unknown, input.as_bytes()).unwrap().unwrap();
        assert!(!url.has_possible_host(), "{input}");
    }
}

/// What a parser makes of some texts, and otherwise what the crate makes of them.
struct Lenient<'a>(&'a [(&'a str, &'a str)]);

impl Platform for Lenient<'_> {
    fn parse_url(&self, text: &str) -> Result<Option<Vec<u8>>, Error> {
        match self.0.iter().find(|(input, _)| *input == text) {
            Some((_, href)) => Ok(Some(href.as_bytes().to_vec())),
            None => Native.parse_url(text),
        }
    }

    fn normalize(&self, text: &str, lowercase: bool) -> Result<Vec<u8>, Error> {
        Native.normalize(text, lowercase)
    }

    fn is_normal(&self, text: &str, lowercase: bool) -> bool {
        Native.is_normal(text, lowercase)
    }
}

/// An entry is the same whatever rules for labels a parser checks: those for letters from right to left, for marks, and
/// for labels that begin with xn--. Node 20 and 22 open the first ones, and Node 24 the last; the crate opens none.
#[test]
fn entries_by_parsers_with_fewer_rules() {
    let opened = [
        ("http://bא.b/", "http://xn--b-0hc.b/"),
        ("http://١.shop/", "http://xn--9hb.shop/"),
        ("http://ｘn--aaxn--.com/", "http://xn--aaxn--.com/"),
        ("http://xn--.com/a/b", "http://xn--.com/a/b"),
        ("http://xn--.com\\a/b", "http://xn--.com/a/b"),
    ];
    for (input, href) in opened {
        assert_eq!(Native.parse_url(input).unwrap(), None, "{input}");
        for platform in [Lenient(&[]), Lenient(&opened)] {
            let readings = url::readings(&platform, input.as_bytes()).unwrap();
            let all: Vec<_> = readings.iter().map(|url| text(url.as_bytes())).collect();
            assert_eq!(all, [href], "{input}");
            assert!(readings.canonical().unwrap().has_possible_host());
        }
    }
    // What one opens that knows the label alone.
    let label = [("http://xn--aAxn--.a/", "http://xn--aaxn--.a/")];
    for platform in [Lenient(&[]), Lenient(&label)] {
        let url = url::parse(&platform, "http://xn--a％41xn--.com/".as_bytes()).unwrap().unwrap();
        assert_eq!(text(url.as_bytes()), "http://xn--aaxn--.com/");
    }
}

/// Node 24 and 26 leave a mark where it is, behind a letter with another accent. An entry is in NFC all the same, and a
/// URL is found. Where that parser leads is asked second.
#[test]
fn entries_by_parsers_that_forget_a_normal_form() {
    // The second as U+1E61, for which U+1E9B stands, and U+0323.
    for (host, normal, odd) in
        [("é\u{323}", "xn--lsa503l", "xn--9ca45i"), ("\u{1e9b}\u{323}", "xn--1ig", "xn--kta160l")]
    {
        let texts =
            ["com/a", "a/"].map(|end| [format!("http://{host}.{end}"), format!("http://{odd}.{end}")]);
        let opened: Vec<_> = texts.iter().map(|[input, href]| (input.as_str(), href.as_str())).collect();
        let input = &texts[0][0];
        let all = |platform: &Lenient| -> Vec<_> {
            let readings = url::readings(platform, input.as_bytes()).unwrap();
            readings.iter().map(|url| text(url.as_bytes())).collect()
        };
        assert_eq!(all(&Lenient(&[])), [format!("http://{normal}.com/a")]);
        assert_eq!(all(&Lenient(&opened)), [format!("http://{normal}.com/a"), format!("http://{odd}.com/a")]);
    }
}

/// Before Unicode 15.1 a browser went elsewhere from a capital sharp s. Both hosts are asked for, wherever that is.
#[test]
fn a_capital_sharp_s_is_asked_for_as_old_and_new_parsers_read_it() {
    let sharp = |text: &str| text.contains('ẞ').then(|| Some(text.replace('ẞ', "ss")));
    for (input, expected) in [
        ("http://faẞ.com/a", ["xn--fa-hia.com/a", "xn--fa-hia.com/", "fass.com/a", "fass.com/"]),
        ("HTTP:\\\\FA%e1%ba%9E.com:80/a", ["xn--fa-hia.com/a", "xn--fa-hia.com/", "fass.com/a", "fass.com/"]),
        (
            "http://ẞẞ.faẞ.com/",
            ["xn--zcaa.xn--fa-hia.com/", "xn--fa-hia.com/", "ssss.fass.com/", "fass.com/"],
        ),
        // Refused by some, for its letters from right to left.
        (
            "http://faẞא.com/a",
            ["xn--fa-hia471c.com/a", "xn--fa-hia471c.com/", "xn--fass-otf.com/a", "xn--fass-otf.com/"],
        ),
    ] {
        let keys = |readings: url::Readings| readings.keys().map(text).collect::<Vec<_>>();
        assert_eq!(keys(url::readings(&Native, input.as_bytes()).unwrap()), expected, "{input}");
        assert_eq!(keys(url::readings(&Odd(sharp), input.as_bytes()).unwrap()), expected, "{input}");
    }
}

/// However many characters a parser refuses, it is asked for few of them.
#[test]
fn hosts_of_strangers_are_read_soon() {
    let asked = Cell::new(0);
    let counting = Odd(|_: &str| {
        asked.set(asked.get() + 1);
        None
    });
    for (part, count) in [("\u{378}", 499), ("\u{fdfa}", 332), ("é", 1), ("\u{378}", 1), ("é\u{378}", 40)] {
        for labels in [3, 127, 128, 100_000 / count] {
            let host = format!("{}.", part.repeat(count)).repeat(labels);
            asked.set(0);
            url::readings(&counting, format!("http://{host}evil.com/").as_bytes()).unwrap();
            assert!(asked.get() < 2 * 4096, "{} times for {labels} labels of {part}", asked.get());
        }
    }
}

/// A host that no browser opens isn't given to a parser, which may take minutes for it; one with zeros before it is.
#[test]
fn long_hosts_are_not_parsed() {
    struct Short;

    impl Platform for Short {
        fn parse_url(&self, text: &str) -> Result<Option<Vec<u8>>, Error> {
            assert!(text.chars().filter(|char| !char.is_ascii()).count() < 1000, "{} bytes", text.len());
            Native.parse_url(text)
        }

        fn normalize(&self, text: &str, lowercase: bool) -> Result<Vec<u8>, Error> {
            Native.normalize(text, lowercase)
        }

        fn is_normal(&self, text: &str, lowercase: bool) -> bool {
            Native.is_normal(text, lowercase)
        }
    }

    let different: Vec<char> = ('\u{4E00}'..'\u{9FA0}').collect();
    let joined = |with: &str| different.iter().map(|char| format!("{char}{with}")).collect::<String>();
    let escaped = text(joined("").bytes().map(|byte| format!("%{byte:02x}")).collect::<String>().as_bytes());
    for host in
        [joined(""), joined("\u{AD}"), joined("%C2%AD"), escaped, format!("xn--{}", "z9a".repeat(100_000))]
    {
        for input in [host.clone(), format!("http://{host}/"), format!("HTTP:\\\\u:p@{host}.evil.com:80\\a")]
        {
            let readings = url::readings(&Short, input.as_bytes()).unwrap();
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

#[test]
fn addresses() {
    for (host, canonical) in [
        ("0x7f.1", "127.0.0.1"),
        ("0X7F.0.1", "127.0.0.1"),
        ("1.2.3", "1.2.0.3"),
        ("1.65536", "1.1.0.0"),
        ("1.16777216", "1.16777216"),
        ("0", "0.0.0.0"),
        ("00000000000000000000000000000000000001", "0.0.0.1"),
        ("99999999999999999999999999", "99999999999999999999999999"),
        ("256.1.1.1", "256.1.1.1"),
        ("1.2.3.256", "1.2.3.256"),
        ("1.2.3.4.5", "1.2.3.4.5"),
        ("08.1", "08.1"),
        ("0x", "0x"),
        ("0xg", "0xg"),
        (".1.2.3..4.", "1.2.3.4"),
        ("[::]", "[::]"),
        ("[::1]", "[::1]"),
        ("[1::]", "[1::]"),
        ("[1:2:3:4:5:6:7::]", "[1:2:3:4:5:6:7:0]"),
        ("[::2:3:4:5:6:7:8]", "[0:2:3:4:5:6:7:8]"),
        ("[1:0:0:2:0:0:0:3]", "[1:0:0:2::3]"),
        ("[1:0:0:2:0:0:3:4]", "[1::2:0:0:3:4]"),
        ("[0001:000A:0:b:00c0:D:0:e]", "[1:a:0:b:c0:d:0:e]"),
        ("[::ffff:1.2.3.4]", "1.2.3.4"),
        ("[::FFFF:102:304]", "1.2.3.4"),
        ("[64:ff9b::102:304]", "1.2.3.4"),
        ("[64:ff9b:1::102:304]", "[64:ff9b:1::102:304]"),
        ("[::1.2.3.4]", "[::102:304]"),
        ("[1:2:3:4:5:6:1.2.3.4]", "[1:2:3:4:5:6:102:304]"),
        ("[1:2:3:4:5:6:7:1.2.3.4]", "[1:2:3:4:5:6:7:1.2.3.4]"),
        ("[1:2:3:4:5:6:7:8::]", "[1:2:3:4:5:6:7:8::]"),
        ("[1:2:3:4:5:6:7:8:9]", "[1:2:3:4:5:6:7:8:9]"),
        ("[1:2:3]", "[1:2:3]"),
        ("[:::]", "[:::]"),
        ("[1.2.3.4::]", "[1.2.3.4::]"),
        ("[::1.2.3]", "[::1.2.3]"),
        ("[::1.2.3.04]", "[::1.2.3.04]"),
        ("[::1.2.3.4:5]", "[::1.2.3.4:5]"),
        ("[1::2::3]", "[1::2::3]"),
        ("[12345::]", "[12345::]"),
        ("[::1%25eth0]", "[::1%25eth0]"),
        ("[]", "[]"),
        ("[", "["),
    ] {
        for end in ["", ":80"] {
            let url = format!("http://{host}{end}/");
            assert_eq!(raw(url.as_bytes()), Some(format!("http://{canonical}/")), "{url}");
        }
    }
    // Of an address there are no suffixes, of what isn't one there are.
    let count = |url: &str| keys(&canonicalize(url.as_bytes()).unwrap().unwrap()).len();
    assert_eq!(count("1.2.3.4/a"), 2);
    assert_eq!(count("1.2.3.256/a"), 6);
    assert_eq!(count("[1:2:3:4:5:6:7:8]/a"), 2);
}

#[test]
fn keys_in_order() {
    let all = |url: &str| keys(&parse(url.as_bytes()).unwrap());
    assert_eq!(all("a.b"), ["a.b/"]);
    assert_eq!(all("a"), ["a/"]);
    assert_eq!(all("a.b?c"), ["a.b/?c", "a.b/"]);
    assert_eq!(all("a.b/c?"), ["a.b/c", "a.b/"]);
    assert_eq!(all("a.b/c/d/e/"), ["a.b/c/d/e/", "a.b/", "a.b/c/", "a.b/c/d/"]);
    assert_eq!(all("1.2.3.4.5/"), ["1.2.3.4.5/", "2.3.4.5/", "3.4.5/", "4.5/"]);
    assert_eq!(all("0.1.2.3.4.5/"), ["0.1.2.3.4.5/", "1.2.3.4.5/", "2.3.4.5/", "3.4.5/", "4.5/"]);
    assert_eq!(all("a.b.c.d.e.f.g/1/2/3/4/5?6").len(), 30);
}

/// Only a `file:` has drives, whatever the crate `url` thinks; what Node 20 gives.
#[test]
fn no_drives() {
    for (input, expected) in [
        ("http://a.com/y:/../z", "http://a.com/z"),
        ("http://a.com/b/y|/../z", "http://a.com/b/z"),
        ("http:\\\\a.com\\y:\\..\\z", "http://a.com/z"),
        ("a.com/y:/..?q=/y:/..", "http://a.com/?q=/y:/.."),
        ("a.com:80/y:/..", "http://a.com/"),
        ("//a.com/y:/../z#/y:/", "http://a.com/z"),
        ("http://y:/../z", "http://y/z"),
        ("http:y:/../z", "http://y/z"),
        ("http://a.com/y:", "http://a.com/y:"),
        ("http://a.com/y|/", "http://a.com/y|/"),
    ] {
        assert_eq!(form(input).as_deref(), Some(expected), "{input}");
    }
}

/// What JavaScript will ask before and after its own parser.
#[test]
fn prefixes() {
    assert_eq!(clean(b" \0\ta \n b\r \x1f").unwrap(), b"a  b");
    assert_eq!(clean(b"\t ").unwrap(), b"");
    for (input, port, prefix) in [
        ("a.b", false, Some("http://")),
        ("//a.b", false, Some("http:")),
        ("/a", false, None),
        ("?a", false, None),
        ("#a", false, None),
        ("a:1", true, Some("http://")),
        ("a:1/", true, Some("http://")),
        ("a:1?b", true, Some("http://")),
        ("a:1#b", true, Some("http://")),
        ("a:", false, None),
        ("a:/", false, None),
        ("a:1b", false, None),
        ("1.2:3", false, Some("http://")),
        ("a^b:3", false, Some("http://")),
        ("", false, Some("http://")),
    ] {
        assert_eq!(has_port(input.as_bytes()), port, "{input}");
        assert_eq!(missing_scheme(input.as_bytes()), prefix, "{input}");
    }
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

/// The same rules, step by step, each in the most obvious way and on a copy of its own.
mod naive {
    use super::*;

    /// One pass from left to right, as long as one changes something.
    pub fn unescape(text: &[u8]) -> Vec<u8> {
        let mut text = text.to_vec();
        loop {
            let mut out = Vec::new();
            let mut at = 0;
            while at < text.len() {
                let hex = text.get(at + 1..at + 3).filter(|hex| hex.iter().all(u8::is_ascii_hexdigit));
                match hex {
                    Some(hex) if text[at] == b'%' => {
                        out.push(u8::from_str_radix(str::from_utf8(hex).unwrap(), 16).unwrap());
                        at += 3;
                    }
                    _ => {
                        out.push(text[at]);
                        at += 1;
                    }
                }
            }
            if out == text {
                return out;
            }
            text = out;
        }
    }

    pub fn escape(text: &[u8]) -> String {
        let one = |&byte: &u8| match byte {
            0..=0x20 | 0x7F.. | b'#' | b'%' => format!("%{byte:02X}"),
            _ => char::from(byte).to_string(),
        };
        text.iter().map(one).collect()
    }

    /// Latin-1, so that a string can hold any bytes.
    fn widen(text: &[u8]) -> String {
        text.iter().map(|&byte| char::from(byte)).collect()
    }

    fn narrow(text: &str) -> Vec<u8> {
        text.chars().map(|c| u8::try_from(u32::from(c)).unwrap()).collect()
    }

    fn resolve(path: &str) -> String {
        let parts: Vec<&str> = path.split('/').skip(1).collect();
        let mut kept: Vec<&str> = Vec::new();
        for (i, &part) in parts.iter().enumerate() {
            match part {
                "." => {}
                ".." => drop(kept.pop()),
                _ => kept.push(part),
            }
            if matches!(part, "." | "..") && i + 1 == parts.len() {
                kept.push("");
            }
        }
        let mut path = format!("/{}", kept.join("/"));
        while path.contains("//") {
            path = path.replace("//", "/");
        }
        path
    }

    fn ipv4(host: &str) -> Option<Ipv4Addr> {
        let part = |part: &str| {
            let (base, digits) = match part.strip_prefix("0x") {
                Some(hex) => (16, hex),
                None if part.len() > 1 && part.starts_with('0') => (8, part),
                None => (10, part),
            };
            // `from_str_radix` takes a sign.
            let digits = digits.chars().all(|c| c.is_digit(base)).then_some(digits)?;
            u128::from_str_radix(digits, base).ok().filter(|&value| value < 1 << 32)
        };
        let parts: Vec<u128> = host.split('.').map(part).collect::<Option<_>>()?;
        let (last, bytes) = parts.split_last()?;
        if bytes.len() > 3 || bytes.iter().any(|&byte| byte > 255) || *last >= 1 << (8 * (4 - bytes.len())) {
            return None;
        }
        let high: u128 = bytes.iter().zip([24, 16, 8]).map(|(byte, bits)| byte << bits).sum();
        Some(Ipv4Addr::from((high + last) as u32))
    }

    fn host(authority: &str) -> String {
        let host = &authority[authority.rfind('@').map_or(0, |at| at + 1)..];
        let bracket = if host.starts_with('[') { host.find(']').unwrap_or(0) } else { 0 };
        let host = &host[..host[bracket..].find(':').map_or(host.len(), |at| bracket + at)];
        let mut host = host.trim_matches('.').to_ascii_lowercase();
        while host.contains("..") {
            host = host.replace("..", ".");
        }
        if let Some(address) = ipv4(&host) {
            return address.to_string();
        }
        let literal = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        let Some(address) = literal.and_then(|literal| literal.parse::<Ipv6Addr>().ok()) else { return host };
        let nat = u128::from(address) >> 32 == 0x64_FF9B << 64;
        if nat {
            return Ipv4Addr::from(u128::from(address) as u32).to_string();
        }
        match address.to_ipv4_mapped() {
            Some(address) => address.to_string(),
            None => {
                // The standard library writes `::1.2.3.4` where WHATWG has `::102:304`.
                let text = address.to_string();
                match text.strip_prefix("::").filter(|rest| rest.contains('.')) {
                    Some(rest) => {
                        let address = u32::from(rest.parse::<Ipv4Addr>().unwrap());
                        format!("[::{:x}:{:x}]", address >> 16, address & 0xFFFF)
                    }
                    None => format!("[{text}]"),
                }
            }
        }
    }

    /// The scheme and where the authority starts.
    fn split(text: &str) -> Option<(String, usize)> {
        let name = |name: &str| {
            name.starts_with(|c: char| c.is_ascii_alphabetic())
                && name.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
        };
        match text.split_once(':').filter(|(before, _)| name(before)) {
            Some((before, rest)) if rest.starts_with("//") => {
                let scheme = before.to_ascii_lowercase();
                let special = ["http", "https", "ftp", "ws", "wss"].contains(&scheme.as_str());
                special.then_some((scheme, before.len() + 3))
            }
            Some((_, rest)) => {
                let port = &rest[..rest.find(['/', '?', '#']).unwrap_or(rest.len())];
                let digits = !port.is_empty() && port.chars().all(|c| c.is_ascii_digit());
                digits.then_some(("http".into(), 0))
            }
            None => Some(("http".into(), if text.starts_with("//") { 2 } else { 0 })),
        }
    }

    pub fn canonicalize(input: &[u8]) -> Option<String> {
        let text = widen(input).replace(['\t', '\r', '\n'], "");
        let text = text.trim_matches(|c| c <= ' ');
        let text = text.split('#').next().unwrap();
        // The user as it stands, before its escapes are undone.
        let start = split(text).map_or(text.len(), |(_, start)| start);
        let (before, rest) = text.split_at(start);
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let user = rest[..end].rfind('@').map_or(0, |at| at + 1);
        let text = widen(&unescape(&narrow(&[before, &rest[user..]].concat())));

        let (scheme, start) = split(&text)?;
        let rest = &text[start..];
        let (authority, rest) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
        let (path, query) = rest.split_at(rest.find('?').unwrap_or(rest.len()));
        let host = host(authority);
        if host.is_empty() {
            return None;
        }
        let [host, path, query] = [&host, &resolve(path), query].map(|part| escape(&narrow(part)));
        let path = path.replace('\\', "%5C");
        Some(format!("{scheme}://{host}{path}{query}"))
    }

    pub fn keys(canonical: &str) -> Vec<String> {
        let (_, rest) = canonical.split_once("://").unwrap();
        let (host, path) = rest.split_at(rest.find('/').unwrap());
        let mut hosts = vec![host.to_string()];
        let literal = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        let literal = literal.is_some_and(|literal| literal.parse::<Ipv6Addr>().is_ok());
        if !literal && host.parse::<Ipv4Addr>().is_err() {
            let labels: Vec<&str> = host.split('.').collect();
            for count in (2..=5).rev().filter(|&count| count < labels.len()) {
                hosts.push(labels[labels.len() - count..].join("."));
            }
        }
        let plain = path.split('?').next().unwrap();
        let mut paths = vec![plain.to_string()];
        if path.len() > plain.len() + 1 {
            paths.insert(0, path.to_string());
        }
        let names: Vec<&str> = plain[1..].split('/').collect();
        for count in 0..names.len().min(4) {
            let directory: String = names[..count].iter().map(|name| format!("{name}/")).collect();
            paths.push(format!("/{directory}"));
        }
        let mut keys = Vec::new();
        for host in hosts {
            for path in &paths {
                let key = format!("{host}{path}");
                if !keys.contains(&key) {
                    keys.push(key);
                }
            }
        }
        keys
    }
}

/// Texts of what matters to some rule.
fn odd() -> impl Strategy<Value = Vec<u8>> {
    let parts = prop::sample::select(vec![
        "%",
        "%",
        "%2",
        "25",
        "%25",
        "%2e",
        "%2F",
        "%41",
        "%3A",
        "%40",
        "%3f",
        "%23",
        "%5b",
        "%00",
        "%ff",
        "%0a",
        ".",
        ".",
        "..",
        "/",
        "/",
        "//",
        "/../",
        "/./",
        "?",
        "#",
        "@",
        ":",
        ":80",
        "://",
        "[",
        "]",
        "::",
        "ffff",
        "64:ff9b::",
        "[::",
        "1.2.3.4",
        "0x",
        "0",
        "1",
        "7",
        "255",
        "256",
        "a",
        "A",
        "f",
        "b.c",
        "com",
        "http",
        "https",
        "ftp://",
        "foo",
        "\\",
        " ",
        "\t",
        "\n",
        "\0",
        "é",
        "-",
        "+",
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

/// URLs of which about every second is plain.
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
    for (url, is) in [
        ("https://www.example.com/", true),
        ("http://a-b_c.d0.example/1/2.html?q=//..&r=\\", true),
        ("http://1a.example/~/!$&'()*+,;=:@|\"<>", true),
        ("http://a.com", false),
        ("http:///", false),
        ("http://a.com./", false),
        ("http://.a.com/", false),
        ("http://a..com/", false),
        ("http://A.com/", false),
        ("http://xn--a.com/", false),
        ("http://1.2.3.4/", false),
        ("http://a.0x1/", false),
        ("http://a.com:80/", false),
        ("http://a@b.com/", false),
        ("http://a.com/a//b", false),
        ("http://a.com/./b", false),
        ("http://a.com/\\b", false),
        ("http://a.com/%41", false),
        ("http://a.com/#", false),
        ("http://a.com/?é", false),
        ("http://a.com/ ", false),
        (" http://a.com/", false),
        ("HTTP://a.com/", false),
        ("ftp://a.com/", false),
        ("a.com/", false),
        ("", false),
    ] {
        assert_eq!(plain(url.as_bytes()).is_some(), is, "{url}");
    }
}

/// Texts that are likely to be an address.
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
