//! What is looked up if parsers of hosts differ: second readings of a URL, and entries of lists by older parsers.

use proptest::test_runner::TestRunner;

use super::*;

/// All keys that a URL is looked up by.
fn all(input: &str) -> Vec<String> {
    url::readings(&Native, input.as_bytes()).unwrap().keys().map(text).collect()
}

/// A host of very many labels has no second reading.
#[test]
fn long_hosts_have_few_keys() {
    assert!(all(&"é.".repeat(200)).len() <= 30);
}

/// Each escape replaced once.
fn decoded(text: &str) -> Vec<u8> {
    let bytes = text.as_bytes();
    let mut out = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let hex = bytes.get(at + 1..at + 3).filter(|hex| hex.iter().all(u8::is_ascii_hexdigit));
        let escape = hex.filter(|_| bytes[at] == b'%').map(|hex| str::from_utf8(hex).unwrap());
        out.push(escape.map_or(bytes[at], |hex| u8::from_str_radix(hex, 16).unwrap()));
        at += if escape.is_some() { 3 } else { 1 };
    }
    out
}

/// How a host finds a file.
#[derive(Clone, Copy, Debug)]
enum Reads {
    /// The names of files have escapes, as in stores of files.
    Literally,
    /// Escapes first, then slashes and dots. `true`: a backslash is a slash, as on Windows.
    Decoded(bool),
}

/// The names of the folders and the file that a URL leads to, and its query. The last name of a folder is empty.
type Opened = (Vec<Vec<u8>>, Option<Vec<u8>>);

fn opened(url: &str, reads: Reads) -> Opened {
    let sent = String::from_utf8(Native.parse_url(url).unwrap().unwrap()).unwrap();
    let sent = sent.split('#').next().unwrap().strip_prefix("https://store.example/").unwrap();
    let (path, query) = sent.split_once('?').map_or((sent, None), |(path, query)| (path, Some(query)));
    let query = query.filter(|query| !query.is_empty()).map(decoded);
    let Reads::Decoded(backslashes) = reads else {
        return (path.split('/').map(decoded).collect(), query);
    };
    let path = decoded(path);
    let parts: Vec<_> = path.split(|&byte| byte == b'/' || backslashes && byte == b'\\').collect();
    let mut names: Vec<Vec<u8>> = Vec::new();
    for &part in &parts {
        match part {
            b"" | b"." => {}
            b".." => drop(names.pop()),
            _ => names.push(part.to_vec()),
        }
    }
    if matches!(parts.last(), Some(&(b"" | b"." | b".."))) {
        names.push(Vec::new());
    }
    (names, query)
}

/// Whether an entry of a list has a URL, by what a host finds.
fn is_below(entry: &str, url: &str, reads: Reads) -> bool {
    let ((listed, of_entry), (names, query)) = (opened(entry, reads), opened(url, reads));
    match listed.split_last() {
        Some((last, folder)) if last.is_empty() && of_entry.is_none() => {
            names.len() > folder.len() && names.starts_with(folder)
        }
        _ => names == listed && (of_entry.is_none() || of_entry == query),
    }
}

/// A character as it may stand in a path, or in a query.
fn spelled(char: u8, how: u8) -> String {
    let raw = matches!(char, b'!'..=b'~') && !b"/\\?#%".contains(&char);
    match how % 4 {
        0 => format!("%{char:02x}"),
        1 => format!("%{char:02X}"),
        _ if raw => char::from(char).to_string(),
        _ => format!("%{char:02X}"),
    }
}

/// Every character of ASCII, escaped and not, at every place of an entry and of a URL below it. The oracle is what a host
/// finds: one that takes escapes literally, or one that replaces them once.
#[test]
fn what_a_host_finds_below_an_entry_is_caught() {
    let char = || {
        prop_oneof![
            any::<u8>().prop_map(|byte| byte & 127),
            prop::sample::select(b"./?#%\\;2eE5cC3fF".to_vec())
        ]
    };
    let word = || prop::collection::vec((char(), any::<u8>()), 1..4);
    let noise = || {
        let parts = vec![
            "",
            "",
            "x%2F..%2F",
            "x/%2e%2e/",
            "x%5C..%5c",
            "%2F",
            "//",
            "/./",
            "..%2f",
            "x//..%2f",
            "%3Fq/..%2F",
            "%23/../",
            ";a/..%2f",
            "%3f",
            "?",
            "%252e%252e/",
            "%252e%252e%252fa",
            "x%2F.%2E%2f",
            "a%2F..%2F..%2F..%2F",
        ];
        prop::collection::vec(prop::sample::select(parts), 0..3).prop_map(|parts| parts.concat())
    };
    let entry = (prop::collection::vec(word(), 1..4), any::<bool>(), prop::option::weighted(0.2, word()));
    let cases = (
        entry,
        prop::collection::vec(any::<u8>(), 16),
        [noise(), noise(), noise()],
        word(),
        prop::option::of(word()),
    );
    let (found, hidden) = (Cell::new(0), Cell::new(0));
    let config = ProptestConfig { cases: 30_000, failure_persistence: None, ..ProptestConfig::default() };
    let checked = TestRunner::new(config).run(
        &cases,
        |((names, is_folder, query), hows, [before, between, after], rest, extra)| {
            let mut hows = hows.into_iter().cycle();
            let mut again = |word: &[(u8, u8)]| -> String {
                word.iter().map(|(char, _)| spelled(*char, hows.next().unwrap())).collect()
            };
            let once = |word: &[(u8, u8)]| -> String {
                word.iter().map(|(char, how)| spelled(*char, *how)).collect()
            };
            let listed: Vec<_> = names.iter().map(|name| once(name)).collect();
            let mut entry = format!("https://store.example/{}", listed.join("/"));
            let mut url = format!(
                "https://store.example/{before}{}",
                names.iter().map(|name| again(name)).collect::<Vec<_>>().join("/")
            );
            if is_folder {
                entry += "/";
                url += &format!("/{between}{}{after}", once(&rest));
            }
            match (&query, &extra) {
                (Some(query), _) if !is_folder => {
                    entry += &format!("?{}", once(query));
                    url += &format!("?{}", again(query));
                }
                (_, Some(extra)) => url += &format!("?{}", once(extra)),
                _ => {}
            }
            let own = url::parse(&Native, entry.as_bytes()).unwrap().unwrap();
            // More than one part of an entry that leads out of a folder is more than FORMAT.md promises.
            let sent = Native.parse_url(entry.split('?').next().unwrap()).unwrap().unwrap();
            let leads_out = |part: &&[u8]| {
                naive::unescape(part).split(|byte| b"/\\".contains(byte)).any(|part| part == b"..")
            };
            let hidden_parts = sent.split(|&byte| byte == b'/').filter(leads_out).count();
            let deep = own.as_bytes().iter().filter(|&&byte| byte == b'/').count() > 6;
            let is_root = own.as_bytes() == b"https://store.example/";
            if hidden_parts > 1 || deep || is_root {
                return Ok(());
            }
            for reads in [Reads::Literally, Reads::Decoded(false), Reads::Decoded(true)] {
                if is_below(&entry, &url, reads) {
                    found.set(found.get() + 1);
                    let readings = url::readings(&Native, url.as_bytes()).unwrap();
                    let key = own.expressions().next().unwrap();
                    prop_assert!(readings.keys().any(|asked| asked == key), "{entry} has {url}, {reads:?}");
                    hidden.set(
                        hidden.get()
                            + usize::from(
                                !readings.canonical().unwrap().expressions().any(|asked| asked == key),
                            ),
                    );
                }
            }
            Ok(())
        },
    );
    checked.unwrap();
    assert!(found.get() > 15_000 && hidden.get() > 500, "{} {}", found.get(), hidden.get());
}

/// If a parser refuses all but ASCII, FORMAT-URLS.md's own table reads the rest.
#[test]
fn second_readings_where_the_parser_knows_no_such_character() {
    let plain = || ('a'..='z').chain('0'..='9');
    let outlined = ('\u{1CCD6}'..='\u{1CCF9}').zip(plain());
    let wide = ('\u{FF41}'..='\u{FF5A}').chain('\u{FF10}'..='\u{FF19}').zip(plain());
    let others = [('\u{A7F1}', 's'), ('\u{3002}', '.'), ('\u{FF61}', '.')];
    for (odd, plain) in outlined.chain(wide).chain(others) {
        let input = format!("http://x{odd}y.com/");
        let ascii = Parser(|text: &str| native(text).filter(|_| text.is_ascii()));
        let readings = url::readings(&ascii, input.as_bytes()).unwrap();
        let keys: Vec<String> = readings.keys().map(text).collect();
        assert!(keys.contains(&format!("x{plain}y.com/")), "{input}: {keys:?}");
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
            let older = Parser(|text: &str| native(text).filter(|_| !text.contains(unknown)));
            let readings = url::readings(&older, input.as_bytes()).unwrap();
            assert!(readings.iter().any(|url| Some(url) == expected.as_ref()), "U+{:04X}", u32::from(char));
            // For an old letter, nobody could tell that it isn't a newer one.
            assert!(unknown == old || readings.canonical() == expected.as_ref(), "U+{:04X}", u32::from(char));
            found += 1;
        }
    }
    assert!(found > 400_000, "{found}");
}

/// Reads a capital sharp s as parsers did before Unicode 15.1.
fn sharp(text: &str) -> Option<Vec<u8>> {
    native(&text.replace('ẞ', "ss"))
}

/// An entry of a list is the same for older parsers as for the newest.
#[test]
fn entries_by_older_parsers() {
    let newer = "\u{1C8A}";
    let is_newer = |text: &str| text.contains(newer) || text.contains("xn--d4f");
    let unknown = Parser(|text: &str| native(text).filter(|_| !is_newer(text)));
    let meet = |text: &str| text.contains('א') && text.contains('\u{1ACF}');
    let together = Parser(|text: &str| native(text).filter(|_| !meet(text)));
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
    let of = |input: &[u8]| url::parse(&together, input).unwrap().map(|url| url.as_bytes().to_vec());
    canonical(&of, "http://\u{5d0}\u{1acf}.com/");
    let of = |input: &[u8]| url::parse(&Parser(sharp), input).unwrap().map(|url| url.as_bytes().to_vec());
    canonical(&of, "http://fa\u{1e9e}.com/");
    // If the older parser opens another host, that is looked up too.
    let readings = url::readings(&Parser(sharp), b"http://fa\xe1\xba\x9e.com/a".as_slice()).unwrap();
    let keys: Vec<_> = readings.keys().map(text).collect();
    assert_eq!(keys, ["xn--fa-hia.com/a", "xn--fa-hia.com/", "fass.com/a", "fass.com/"]);
    // A character that isn't a newer letter, or isn't one at all, makes no entry.
    for input in ["http://a\u{378}.com/", "http://a\u{1c8a}\u{378}.com/", "http://a%ff\u{1c8a}.com/"] {
        let url = url::parse(&unknown, input.as_bytes()).unwrap().unwrap();
        assert!(!url.has_possible_host(), "{input}");
    }
}

/// What a parser makes of some texts, and otherwise what the crate makes of them.
fn lenient<'a>(opened: &'a [(&str, &str)]) -> Parser<impl Fn(&str) -> Option<Vec<u8>> + 'a> {
    Parser(|text: &str| match opened.iter().find(|(input, _)| *input == text) {
        Some((_, href)) => Some(href.as_bytes().to_vec()),
        None => native(text),
    })
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
        for platform in [lenient(&[]), lenient(&opened)] {
            let readings = url::readings(&platform, input.as_bytes()).unwrap();
            let all: Vec<_> = readings.iter().map(|url| text(url.as_bytes())).collect();
            assert_eq!(all, [href], "{input}");
            assert!(readings.canonical().unwrap().has_possible_host());
        }
    }
    // What a parser opens that knows only the label.
    let label = [("http://xn--aAxn--.a/", "http://xn--aaxn--.a/")];
    for platform in [lenient(&[]), lenient(&label)] {
        let url = url::parse(&platform, "http://xn--a％41xn--.com/".as_bytes()).unwrap().unwrap();
        assert_eq!(text(url.as_bytes()), "http://xn--aaxn--.com/");
    }
}

/// Node 24 and 26 leave a mark where it is, behind a letter with another accent. An entry is still in NFC, and a URL is
/// found. The host that such a parser opens is looked up second.
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
        let all = |opened: &[(&str, &str)]| -> Vec<_> {
            let readings = url::readings(&lenient(opened), input.as_bytes()).unwrap();
            readings.iter().map(|url| text(url.as_bytes())).collect()
        };
        assert_eq!(all(&[]), [format!("http://{normal}.com/a")]);
        assert_eq!(all(&opened), [format!("http://{normal}.com/a"), format!("http://{odd}.com/a")]);
    }
}

/// Old parsers and new ones ask for the same hosts, which are those of the vectors.
#[test]
fn a_capital_sharp_s_is_asked_for_as_old_and_new_parsers_read_it() {
    for input in
        ["http://faẞ.com/a", "HTTP:\\\\FA%e1%ba%9E.com:80/a", "http://ẞẞ.faẞ.com/", "http://faẞא.com/a"]
    {
        let readings = url::readings(&Parser(sharp), input.as_bytes()).unwrap();
        assert_eq!(readings.keys().map(text).collect::<Vec<_>>(), all(input), "{input}");
    }
}

/// However many characters a parser refuses, it is called for only a few of them.
#[test]
fn hosts_of_nonmembers_are_read_soon() {
    let asked = Cell::new(0);
    let counting = Parser(|_: &str| {
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
