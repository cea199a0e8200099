//! Lines of lists to their entries: a table of every kind of line, and any bytes.

use bloom_wasm::Profile;
use bloom_wasm::keys::Skip::{Local, NotCheckable, Pattern, SingleLabel};
use bloom_wasm::keys::list::Rules;
use bloom_wasm::keys::native::Native;
use bloom_wasm::keys::{Input, Skip, url_list};
use proptest::prelude::*;

fn entries(line: &[u8]) -> Vec<Result<&[u8], Skip>> {
    url_list::entries(line).collect()
}

fn assert_entries(line: &str, expected: &[Result<&str, Skip>]) {
    let expected: Vec<_> = expected.iter().map(|entry| entry.map(str::as_bytes)).collect();
    assert_eq!(entries(line.as_bytes()), expected, "{line:?}");
}

#[test]
fn comments_and_blank_lines_have_no_entries() {
    for line in [
        "",
        " ",
        "\t \r",
        "#",
        "# comment",
        "#comment",
        "  # comment",
        "\t# comment",
        "# 0.0.0.0 evil.com",
        "#0.0.0.0 evil.com",
        "##.ad",
        "###banner",
        "#@#.ad",
        "!",
        "! Title: bad hosts",
        "!||evil.com^",
        "[Adblock Plus 2.0]",
        "[Adblock]",
    ] {
        assert_entries(line, &[]);
    }
}

#[test]
fn plain_lines_are_themselves() {
    for line in [
        "evil.com",
        "EVIL.com",
        "localhost",
        "com",
        "evil.com.",
        ".evil.com",
        "evil.com:8080",
        "evil.com/",
        "evil.com/a",
        "evil.com/a/?b=c#d",
        "evil.com/a b",
        "evil.com/a$b",
        "evil.com/!",
        "evil.com?a",
        "evil.com#a",
        "//evil.com/a",
        "user:word@evil.com/",
        "bücher.example",
        "xn--bcher-kva.example",
        "1.2.3.4",
        "0.0.0.0",
        "1.2.3.4/a",
        "1.2.3.4.",
        "0X1020304",
        "3279880203/a",
        "[2001:db8::1]",
        "[2001:db8::1]:80/a",
        "[::1]",
        "https://[2001:db8::1]/",
        "http://evil.com",
        "HTTP://EVIL.com:80/%2e%2e/a",
        "http://evil.com\\@good.com/",
        "http://3279880203/",
        // A whole URL may contain what marks a rule.
        "http://evil.com/#a",
        "http://evil.com/a*b^c|d",
        "http://evil.com/$a",
        "evil.com/?to=http://good.com/",
        "evil.com/a b/?to=http://good.com/",
    ] {
        assert_entries(line, &[Ok(line)]);
        assert_entries(&format!(" \t{line}\t \r\n"), &[Ok(line)]);
    }
}

#[test]
fn adblock_rules() {
    for (line, host) in [
        ("||evil.com^", "evil.com"),
        ("||a.b.evil.com^", "a.b.evil.com"),
        ("||EVIL.com^", "EVIL.com"),
        ("||evil.com:80^", "evil.com:80"),
        ("||1.2.3.4^", "1.2.3.4"),
        ("||[::1]^", "[::1]"),
        (" ||evil.com^ \r", "evil.com"),
        ("||*.evil.com^", "evil.com"),
        // What adblockers call all hosts below one.
        ("*.evil.com", "evil.com"),
        ("*.EVIL.com:80/a?b", "EVIL.com:80/a?b"),
    ] {
        assert_entries(line, &[Ok(host)]);
    }
    for line in [
        "||a.b",
        "||a.b/",
        "||a.b^$third-party",
        "||a.b^$all",
        "||a.b$script",
        "||a.b^|",
        "||a.b^^",
        "||a.b/path^",
        "||a.b/path",
        "||a.b\\path^",
        "||a.b?c^",
        "||a.b#c^",
        "||a b^",
        "||a.b ^",
        "|| a.b^",
        "|| ^",
        "||^",
        "||",
        "||*.*.a.b^",
        "||a.*.b^",
        "||a.*^",
        "||*^",
        "||||a.b^",
        "||http://a.b^",
        "|a.b^",
        "|a.b",
        "|http://a.b^",
        "|http://a.b/",
        "|https://a.b/|",
        "|",
        "@@||a.b^",
        "@@||a.b^$document",
        "@@a.b",
        "@@http://a.b/",
        "*.*.a.b",
        "*.",
        "*./a",
        "a.*.b",
        "*",
        "a.*",
        "a.b/*",
        "a.b/*/c",
        "//a.b/*",
        "a.b/*?to=http://c.d/",
        "http://*.a.b/",
        "*://a.b/",
        "a.b/c.js$script",
        "a.b/c$~third-party,domain=d.e",
        "a.b/c?$image",
        "a.b^",
        "a.b^path",
        "/banner/*/img^",
        "a.b$script",
        "a.b$redirect=http://c.d/",
        "a.b|",
        "a.b##.ad",
        "a.b,c.d##.ad",
        "a.b,~c.d##+js(x)",
        "a.b#@#.ad",
        "a.b#?#.ad",
        "a.b#@?#.ad",
        "a.b#$#.ad { color: red }",
        "a.b#@$#.ad { color: red }",
        "a.b#$?#.ad { color: red }",
        "a.b#@$?#.ad { color: red }",
        "a.b#%#//scriptlet('x')",
        "a.b#@%#//scriptlet('x')",
        "a.b$$script[data-src='c']",
    ] {
        assert_entries(line, &[Err(Pattern)]);
    }
}

#[test]
fn hosts_files() {
    for address in [
        "0.0.0.0",
        "127.0.0.1",
        "127.0.1.1",
        "255.255.255.255",
        "10.11.12.13",
        "::",
        "::1",
        "fe80::1%lo0",
        "fe80::1%25",
        "FF02::2",
        "2001:db8:1:2:3:4:5:6",
        "::ffff:1.2.3.4",
        "1.2.3.4%x",
    ] {
        let has = |names: &str, expected: &[Result<&str, Skip>]| {
            assert_entries(&format!("{address}{names}"), expected);
        };
        let is_sink = !["2001:db8:1:2:3:4:5:6", "1.2.3.4%x"].contains(&address);
        has(" evil.com", &[Ok("evil.com")]);
        has("\tevil.com", &[Ok("evil.com")]);
        has(" \t  evil.com \t", &[Ok("evil.com")]);
        has(" evil.com\r", &[Ok("evil.com")]);
        has(" evil.com # comment", &[Ok("evil.com")]);
        has(" evil.com #comment", &[Ok("evil.com")]);
        has(" evil.com# comment evil2.com", &[Ok("evil.com")]);
        has(" evil.com\t#\t0.0.0.0 # evil2.com", &[Ok("evil.com")]);
        has(" evil.com evil2.com\tevil3.com", &[Ok("evil.com"), Ok("evil2.com"), Ok("evil3.com")]);
        has(" EVIL.com", &[Ok("EVIL.com")]);
        has(" localhost", &[Err(Local)]);
        has(" LOCALHOST", &[Err(Local)]);
        has(" LocalHost.LocalDomain evil.com", &[Err(Local), Ok("evil.com")]);
        has(
            " evil.com localhost evil2.com local",
            &[Ok("evil.com"), Err(Local), Ok("evil2.com"), Err(Local)],
        );
        has(" localhost.evil.com", &[Ok("localhost.evil.com")]);
        for local in ["0.0.0.0", "127.0.0.1", "::", "::1"] {
            has(&format!(" {local} evil.com"), &[Err(Local), Ok("evil.com")]);
        }
        // Another address isn't a local name.
        has(" 44.221.255.38", &[Err(NotCheckable)]);
        if is_sink {
            has(" 2001:db8::1 evil.com", &[Err(NotCheckable), Ok("evil.com")]);
        }
        has(" *.evil.com worse.com", &[Ok("evil.com"), Ok("worse.com")]);
        has(" a.*.com evil.com", &[Err(Pattern), Ok("evil.com")]);
        has(" 9", &[Err(NotCheckable)]);
        has(" 0.95 443 1.2.3 0x7f", &[Err(NotCheckable); 4][..if is_sink { 4 } else { 1 }]);
        has(" evil.com 2026-11-28 10:00:05", &[Ok("evil.com")]);
        has(" evil.com // good.com", &[Ok("evil.com")]);
        if is_sink {
            has(" # comment", &[Err(NotCheckable)]);
            has(" #evil.com", &[Err(NotCheckable)]);
        } else {
            // An address and words about it.
            has(" seen with www.good.com", &[Err(NotCheckable)]);
        }
        // An address followed by nothing else gives no host.
        assert_entries(&format!("  {address} evil.com"), &[Ok("evil.com")]);
        assert_entries(&format!("#{address} evil.com"), &[]);
    }
    for name in [
        "localhost",
        "localhost.localdomain",
        "localhost4",
        "localhost6.localdomain6",
        "local",
        "broadcasthost",
        "ip6-localhost",
        "ip6-loopback",
        "ip6-localnet",
        "ip6-mcastprefix",
        "ip6-allnodes",
        "ip6-allrouters",
        "ip6-allhosts",
        "IP6-AllHosts",
    ] {
        assert_entries(&format!("0.0.0.0 {name}"), &[Err(Local)]);
        assert_entries(&format!("0.0.0.0 {name}.com"), &[Ok(&format!("{name}.com"))]);
    }
    // The first word isn't an address, so the line isn't an entry of a hosts file.
    for line in ["0 evil.com", "127.1 evil.com", "1.2.3 evil.com", "1.2.3.256 evil.com", "01.2.3.4 evil.com"]
    {
        assert_entries(line, &[Err(NotCheckable)]);
    }
}

#[test]
fn lines_whose_key_nobody_would_ask_for() {
    for line in [
        "bob@gmail.com",
        "evil.com,malware",
        "\"evil.com\"",
        "'evil.com'",
        "evil.com;",
        "(evil.com)",
        "evil.com evil2.com",
        "evil.com\tevil2.com",
        "1\tevil.com",
        "evil.com:80 x",
        "bad host/a",
        "http://evil.com evil2.com",
        "http://evil.com/a\tphishing",
        "evil.com/a\tphishing",
        "2026-11-21\thttp://evil.com/",
        "phishing http://evil.com/",
        "// comment",
        // A bare IPv6 address would become the host before its first colon: 2001 is 0.0.7.209.
        "2001:db8::1",
        "::1",
        "::ffff:1.2.3.4",
        "fe80::1%lo0",
        // Networks.
        "1.2.3.0/24",
        "1.2.3.4/32",
        "10.0.0.0/8",
        "2001:db8::/32",
        "::/0",
    ] {
        assert_entries(line, &[Err(NotCheckable)]);
    }
}

/// What the keys of a line are, or why there are none.
fn keys(line: &str) -> Vec<Result<String, Skip>> {
    let mut keys = Vec::new();
    let take = &mut |input: Result<Input, Skip>| {
        keys.push(input.map(|input| String::from_utf8(input.own().to_vec()).unwrap()));
        Ok(())
    };
    Rules::from(Profile::Url).read(&Native, line.as_bytes(), take).unwrap();
    keys
}

/// What a host would have if the line wasn't a URL alone: a column, a rule or a text around it.
#[test]
fn what_follows_a_host_is_no_part_of_it() {
    for mark in [",", ";", "|", "^", "\"", "<", ">", "(", ")", "%2C", "%7c", "%22"] {
        for line in
            ["https://evil.com{}phishing", "https://evil.com{}", "evil.com{}x/a", "https://a{}b.evil.com/a?b"]
        {
            let line = line.replace("{}", mark);
            assert!(matches!(keys(&line)[..], [Err(NotCheckable | Pattern)]), "{line}: {:?}", keys(&line));
        }
    }
    for (line, skip) in [
        ("https://evil.com^$third-party", Pattern),
        ("https://evil.com$third-party", Pattern),
        ("https://evil.com/ads/$third-party", Pattern),
        ("https://evil.com/ads/*$script,domain=a.com", Pattern),
        ("https://evil.com/?$third-party", Pattern),
        ("https://evil.com/*", Pattern),
        ("https://evil.com/a/*", Pattern),
        ("https://evil.com/a*", Pattern),
        ("https://evil.com\\*", Pattern),
        ("https://evil.com*", Pattern),
        ("https://*.evil.com/", Pattern),
        ("https://evil.com/|", Pattern),
        ("https://evil.com/ads^", Pattern),
        ("|https://evil.com/", Pattern),
        ("https://evil.com##.ad", Pattern),
        ("evil.com/ads##.ad", Pattern),
        ("evil.com/ads#@#.ad", Pattern),
        ("evil.com ##.ad", NotCheckable),
        ("evil.com#div(class)", Pattern),
        ("evil.com/ad$xhr", Pattern),
        ("evil.com/ad$~from=a.com", Pattern),
        ("12:http://evil.com/x", NotCheckable),
        ("12:evil.com", NotCheckable),
        ("404", NotCheckable),
        ("1.2.3", NotCheckable),
        ("http://evil%5Cx.example/", NotCheckable),
        ("https://evil.com/,phishing", NotCheckable),
        ("https://evil.com/;phishing", NotCheckable),
        ("https://evil.com/a\"", NotCheckable),
        ("https://evil.com/a\",", NotCheckable),
        ("<https://evil.com/a>", NotCheckable),
        ("<a href=\"https://evil.com/a\">", NotCheckable),
        ("https://evil.com/ phishing", NotCheckable),
        ("https://evil.com phishing", NotCheckable),
        ("https://evil.com/a 2026-11-28 phishing", NotCheckable),
        ("https://evil.com/Scan 2026-11-28 10:00.pdf", NotCheckable),
        ("https://evil.com\\a - b", NotCheckable),
        ("||404^", Pattern),
        ("https://evil.com/a\rhttps://evil.com/b", NotCheckable),
        ("# comment\rhttps://evil.com/b", NotCheckable),
        ("0.0.0.0 evil.com\r0.0.0.0 evil.org", NotCheckable),
    ] {
        assert_eq!(keys(line), [Err(skip)], "{line}");
    }
}

/// A comment or a date after a blank ends the entry. Everything else may belong to it.
#[test]
fn a_line_ends_before_a_comment_or_a_date() {
    for end in [
        " # comment",
        " #comment",
        "\t# comment",
        "  #",
        " // comment",
        " ; comment",
        " ! comment",
        " - mail.good.com",
        " 2026-11-28",
        " 2026/11/28",
        " 28.11.2026",
        "\t2026-11-28T19:00:00Z",
        " 2026-11-28 19:00:00",
        " 2026-11-28 # comment",
    ] {
        for (entry, key) in [
            ("https://evil.com/", "evil.com/"),
            ("https://evil.com", "evil.com/"),
            ("https://evil.com/a b", "evil.com/a%20b"),
            ("evil.com/a?b#c", "evil.com/a?b"),
            ("evil.com", "evil.com/"),
            ("||evil.com^", "evil.com/"),
            ("192.0.2.7", "192.0.2.7/"),
            ("192.0.2.7:443", "192.0.2.7/"),
            ("https://192.0.2.7/a", "192.0.2.7/a"),
        ] {
            // What may be a part of a path is no comment behind one.
            let is_unclear =
                key.contains("/a") && [" // ", " ; ", " ! ", " - "].iter().any(|mark| end.starts_with(mark));
            let expected = if is_unclear { Err(NotCheckable) } else { Ok(key.to_owned()) };
            assert_eq!(keys(&format!("{entry}{end}")), [expected], "{entry}{end}");
        }
    }
    for (line, key) in [
        ("https://evil.com/a b.html", "evil.com/a%20b.html"),
        ("https://evil.com/a 2026.html", "evil.com/a%202026.html"),
        ("https://evil.com/a ;b", "evil.com/a%20;b"),
        ("https://evil.com/a 2026-11-28.html", "evil.com/a%202026-11-28.html"),
        ("https://evil.com 2026-11-28 19:00:00 online", "evil.com/"),
        ("0.0.0.0 2020-01-01.evil.com", "2020-01-01.evil.com/"),
        ("https://evil.com#:~:text=a(b)", "evil.com/"),
        ("https://evil.com/a,b;c(d)|e^f*g", "evil.com/a,b;c(d)|e^f*g"),
        ("https://evil.com/a?b=\"c\"&d", "evil.com/a?b=\"c\"&d"),
        ("https://evil.com/a$b", "evil.com/a$b"),
    ] {
        assert_eq!(keys(line), [Ok(key.to_owned())], "{line}");
    }
}

/// Rows as the services document them. All but the rows of URLhaus and PhishTank, which are known by their links back,
/// are skipped.
#[test]
fn tables() {
    for (row, key) in [
        // https://urlhaus.abuse.ch/api/#csv
        (
            r#""3391234","2026-11-28 19:05:06","http://61.52.35.25:47398/bin.sh","online","2026-11-28 19:05:06","malware_download","32-bit,elf,mips","https://urlhaus.abuse.ch/url/3391234/","geenensp""#,
            Some("61.52.35.25/bin.sh"),
        ),
        (
            r#""7","2026-11-28 19:05:06","https://evil.com/a,b?c=""d""","online","","malware_download","None","https://urlhaus.abuse.ch/url/7/","x""#,
            None,
        ),
        (
            r#""7","2026-11-28 19:05:06","https://evil.com/a,b","offline","","malware_download","None","https://urlhaus.abuse.ch/url/7/","x""#,
            Some("evil.com/a,b"),
        ),
        // In a row, the ends of the URL are certain.
        (
            r#""7","2026-11-28 19:05:06","https://evil.com/Invoice 2026-11-28","offline","","malware_download","None","https://urlhaus.abuse.ch/url/7/","x""#,
            Some("evil.com/Invoice%202026-11-28"),
        ),
        (
            r#""7","2026-11-28 19:05:06","https://evil.com/a ! b?c=$image","offline","","malware_download","None","https://urlhaus.abuse.ch/url/7/","x""#,
            Some("evil.com/a%20!%20b?c=$image"),
        ),
        ("# id,dateadded,url,url_status,last_online,threat,tags,urlhaus_link,reporter", Some("")),
        // https://phishtank.org/developer_info.php
        ("phish_id,url,phish_detail_url,submission_time,verified,verification_time,online,target", None),
        (
            "8912345,https://evil.com/login?a=b,http://www.phishtank.com/phish_detail.php?phish_id=8912345,2026-11-28T19:05:06+00:00,yes,2026-11-28T19:10:06+00:00,yes,Other",
            Some("evil.com/login?a=b"),
        ),
        (
            "8912346,\"https://evil.com/a,b\",https://www.phishtank.com/phish_detail.php?phish_id=8912346,2026-11-28T19:05:06+00:00,yes,2026-11-28T19:10:06+00:00,yes,\"Bank, Inc.\"",
            Some("evil.com/a,b"),
        ),
        // A link to another row, and one in the URL.
        ("1,https://evil.com/,http://www.phishtank.com/phish_detail.php?phish_id=2,x", None),
        ("1,https://evil.com/?http://www.phishtank.com/phish_detail.php?phish_id=1,x", None),
        // https://openphish.com/feed.txt
        ("https://evil.com/a/?b=c,d", Some("evil.com/a/?b=c,d")),
        // https://threatfox.abuse.ch/export/#csv
        (
            r#""2026-11-28 19:05:06", "1", "http://evil.com/", "url", "payload_delivery", "elf.mirai", "None", "Mirai", "", "100", "", "None", "0", "x""#,
            None,
        ),
        // https://data.phishtank.com/data/online-valid.json
        (r#"    "url": "https://evil.com/","#, None),
        (r#"[{"phish_id":1,"url":"https://evil.com/"}]"#, None),
    ] {
        let expected = match key {
            Some("") => vec![],
            Some(key) => vec![Ok(key.to_owned())],
            None => vec![Err(NotCheckable)],
        };
        assert_eq!(keys(row), expected, "{row}");
    }
}

#[test]
fn hosts_that_can_not_be() {
    for line in [
        "evil[.]com",
        "http://evil[.]com/login",
        "http://evil%5B.%5Dcom/",
        "http://evil(.)com/",
        "https://evil{dot}com",
        "http://evil(dot)com/",
        "http://a\u{378}.com/",
        "hxxp://evil.com/",
        "hxxps://evil[.]com/",
        "http://[evil].com/",
        "http://http://evil.com/",
        "https://https://evil.com/",
        "http://https//evil.com/",
        "https//evil.com/",
        "1.2.3.4-1.2.3.9",
        "256.1.1.1",
        "1.2.3.4.5",
        "http://[1.2.3.4]/",
        "||evil[.]com^",
    ] {
        assert_eq!(keys(line), [Err(NotCheckable)], "{line}");
    }
    for (line, key) in [
        ("http://a!b.evil.com/x", "a!b.evil.com/x"),
        ("http://evil.com?q=a*b", "evil.com/?q=a*b"),
        ("http://evil.com?x y", "evil.com/?x%20y"),
        ("http://evil.com#*", "evil.com/"),
        ("http://u*r:p@evil.com/", "evil.com/"),
        ("1.2.3.4/404", "1.2.3.4/404"),
        ("1.2.3.4/33", "1.2.3.4/33"),
        ("http://xn--.evil.com/", "xn--.evil.com/"),
        ("http://%20leadingspace.com/", "%20leadingspace.com/"),
        ("http-server", "http-server/"),
        ("localhost", "localhost/"),
        ("1.2.3.4/a", "1.2.3.4/a"),
        ("1.2.3.4/1234", "1.2.3.4/1234"),
        ("1.2.3.4/+8", "1.2.3.4/+8"),
        ("evil.com/24", "evil.com/24"),
        ("1.2.3.4/33", "1.2.3.4/33"),
        ("[2001:db8::1]/32", "[2001:db8::1]/32"),
        ("http://3279880203/", "195.127.0.11/"),
    ] {
        assert_eq!(keys(line), [Ok(key.to_owned())], "{line}");
    }
}

/// No URL is looked up by only the last label of its host. So a line that stands for all hosts below a single label
/// gives no key. A line that is just the label is a host.
#[test]
fn a_rule_for_a_single_label_gives_no_key() {
    for name in ["zip", "TK", "http-server", "рф", "xn--p1ai", "com.", "com:80"] {
        for line in
            [format!("*.{name}"), format!("||{name}^"), format!("||*.{name}^"), format!(" *.{name}/a ")]
        {
            assert_eq!(keys(&line), [Err(SingleLabel)], "{line}");
        }
        let entry = format!("0.0.0.0 {name} evil.com *.{name}");
        assert_eq!(keys(&entry), [Err(SingleLabel), Ok("evil.com/".into()), Err(SingleLabel)]);
        for line in [name.to_owned(), format!(" {name}\t\r"), format!("{name}/a"), format!("http://{name}")] {
            let own = keys(&line);
            assert!(matches!(&own[..], [Ok(key)] if key.contains('/') && !key.contains('.')), "{own:?}");
            // It isn't a key of the hosts below it.
            let below = format!("http://evil.{name}/a");
            let readings = bloom_wasm::keys::url::readings(&Native, below.as_bytes()).unwrap();
            let mut below = readings.keys().map(|key| str::from_utf8(key).unwrap());
            assert!(below.all(|key| own != [Ok(key.to_owned())]), "{own:?}");
        }
    }
    for (line, key) in [
        ("*.co.uk", "co.uk/"),
        ("||co.uk^", "co.uk/"),
        ("0.0.0.0 co.uk", "co.uk/"),
        ("*.evil.com/a", "evil.com/a"),
        ("||[::1]^", "[::1]/"),
        ("||2130706433^", "127.0.0.1/"),
    ] {
        assert_eq!(keys(line), [Ok(key.to_owned())], "{line}");
    }
}

/// The marks of all kinds of line, so that they meet.
fn lines() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        proptest::sample::select(vec![
            "||",
            "^",
            "$",
            "*",
            "@@",
            "|",
            "#",
            "##",
            "#@#",
            "!",
            " ",
            "\t",
            "\r",
            "\u{c}",
            "/",
            "?",
            ":",
            "://",
            "http://",
            "0.0.0.0",
            "::1",
            "evil.com",
            "localhost",
            "[Adblock",
            "[::1]",
            "\\",
            "%",
            "a"
        ])
        .prop_map(|piece| piece.as_bytes().to_vec()),
        any::<u8>().prop_map(|byte| vec![byte]),
    ];
    prop_oneof![
        proptest::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat()),
        proptest::collection::vec(any::<u8>(), 0..200),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    #[test]
    fn any_bytes(line in lines()) {
        let all = entries(&line);
        for entry in all.iter().flatten() {
            prop_assert!(line.as_ptr_range().start <= entry.as_ptr() && entry.as_ptr_range().end <= line.as_ptr_range().end);
            prop_assert!(!entry.is_empty());
            prop_assert_eq!(entry.trim_ascii(), *entry);
        }
        let text = line.trim_ascii();
        let is_comment = text.is_empty() || b"#!".contains(&text[0]) || text.starts_with(b"[Adblock");
        let silent = is_comment && !text.iter().any(|byte| b"\r\n".contains(byte));
        prop_assert_eq!(all.is_empty(), silent);
        // Blanks around it change nothing.
        let wider = [b" \t", &line[..], b" \r\n"].concat();
        prop_assert_eq!(entries(&wider), all);
    }

    #[test]
    fn plain_hosts(host in "[a-zA-Z0-9_-]{1,20}(\\.[a-zA-Z0-9_-]{1,20}){0,5}", path in "(/[a-z][a-z0-9 =&,]*[a-z])?") {
        prop_assume!(host.contains(|c: char| c.is_ascii_alphabetic()));
        let line = host.clone() + &path;
        prop_assert_eq!(entries(line.as_bytes()), [Ok(line.as_bytes())]);
        let rule = format!("||{host}^");
        prop_assert_eq!(entries(rule.as_bytes()), [Ok(host.as_bytes())]);
        prop_assume!(!host.to_lowercase().starts_with("local"));
        prop_assume!(!["broadcasthost"].contains(&&*host.to_lowercase()) && !host.to_lowercase().starts_with("ip6-"));
        let entry = format!("0.0.0.0 {host} # {host}");
        prop_assert_eq!(entries(entry.as_bytes()), [Ok(host.as_bytes())]);
    }
}
