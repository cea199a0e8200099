//! Finds the URLs and hosts in a line of a list: plain ones, adblock rules, entries of hosts files, and rows of the tables
//! of URLhaus and PhishTank. What can't be read with certainty is skipped: a key that matches nothing would be worse.

use super::skip::Skip;
use super::url::{is_address, split_at, without_user};

/// Names in hosts files for the local computer and its network. Some files use an address as its own name.
const LOCAL: [&[u8]; 19] = [
    b"localhost",
    b"localhost.localdomain",
    b"localhost4",
    b"localhost4.localdomain4",
    b"localhost6",
    b"localhost6.localdomain6",
    b"local",
    b"broadcasthost",
    b"ip6-localhost",
    b"ip6-loopback",
    b"ip6-localnet",
    b"ip6-mcastprefix",
    b"ip6-allnodes",
    b"ip6-allrouters",
    b"ip6-allhosts",
    b"0.0.0.0",
    b"127.0.0.1",
    b"::",
    b"::1",
];

/// The options that may come first after the `$` of an adblock rule.
const OPTIONS: [&[u8]; 73] = [
    b"1p",
    b"3p",
    b"all",
    b"app",
    b"badfilter",
    b"client",
    b"cname",
    b"content",
    b"cookie",
    b"csp",
    b"css",
    b"ctag",
    b"denyallow",
    b"dnsrewrite",
    b"dnstype",
    b"doc",
    b"document",
    b"domain",
    b"elemhide",
    b"empty",
    b"extension",
    b"first-party",
    b"font",
    b"frame",
    b"from",
    b"genericblock",
    b"generichide",
    b"ghide",
    b"header",
    b"image",
    b"important",
    b"inline-font",
    b"inline-script",
    b"ipaddress",
    b"jsinject",
    b"match-case",
    b"media",
    b"method",
    b"mp4",
    b"network",
    b"noop",
    b"object",
    b"object-subrequest",
    b"object_subrequest",
    b"other",
    b"permissions",
    b"ping",
    b"popunder",
    b"popup",
    b"queryprune",
    b"redirect",
    b"redirect-rule",
    b"removeheader",
    b"removeparam",
    b"replace",
    b"rewrite",
    b"script",
    b"shide",
    b"specifichide",
    b"stealth",
    b"strict1p",
    b"strict3p",
    b"stylesheet",
    b"subdocument",
    b"third-party",
    b"to",
    b"urlblock",
    b"urlskip",
    b"urltransform",
    b"webrtc",
    b"websocket",
    b"xhr",
    b"xmlhttprequest",
];

/// The URLs and hosts in a line: none in a comment (`#`, and adblock's `!`), all hosts of an entry of a hosts file
/// (`0.0.0.0 evil.com # comment`), the host of `||evil.com^`, the URL in a row of URLhaus's or PhishTank's CSV, otherwise
/// the line itself, without a comment or a date at its end. `*.evil.com` is `evil.com`, which stands for all hosts below
/// it. If something can't be a key, such as an adblock rule with `$options`, the reason is returned instead.
///
/// ```
/// use bloom_wasm::keys::{Skip, url_list};
///
/// let entries: Vec<_> = url_list::entries(b"0.0.0.0 localhost evil.com # bad").collect();
/// assert_eq!(entries, [Err(Skip::Local), Ok(&b"evil.com"[..])]);
/// ```
pub fn entries(line: &[u8]) -> impl Iterator<Item = Result<&[u8], Skip>> {
    let line = line.trim_ascii();
    let is_comment = matches!(line, [] | [b'#' | b'!', ..]) || line.starts_with(b"[Adblock");
    let (names, other) = match () {
        // Several lines: the first of them may be a comment, but the rest isn't.
        () if line.contains(&b'\r') || line.contains(&b'\n') => (&[][..], Some(Err(Skip::NotCheckable))),
        () if is_comment => (&[][..], None),
        () => names_or_entry(line),
    };
    names.split(u8::is_ascii_whitespace).filter_map(host).chain(other)
}

/// The names in an entry of a hosts file, or the entry that any other line is.
fn names_or_entry(line: &[u8]) -> (&[u8], Option<Result<&[u8], Skip>>) {
    let one = |entry| (&[][..], Some(entry));
    if let Some(url) = url_of_row(line) {
        // Its ends are certain, so nothing in it is a column or a rule.
        return one(Ok(url));
    }
    let (first, _) = split_at(line, b" \t\x0c");
    let is_hosts = is_address(first);
    let (text, _) = if is_hosts { split_at(line, b"#") } else { (line, &[][..]) };
    let text = match without_column(text.trim_ascii_end()) {
        Ok(text) => text,
        Err(skip) => return one(Err(skip)),
    };
    let Some(names) = text.strip_prefix(first) else { return one(Err(Skip::NotCheckable)) };
    let is_word = |name: &[u8]| !name.is_empty() && !name.contains(&b'.') && !is_local(name);
    match () {
        () if !is_hosts => one(entry(text)),
        // Only an address before a comment: its names were removed, unless it is no address of a hosts file.
        () if names.is_empty() && text.len() < line.len() && is_sink(first) => one(Err(Skip::NotCheckable)),
        () if names.is_empty() => one(entry(text)),
        // An address and words about it, which may contain a name.
        () if !is_sink(first) && names.split(u8::is_ascii_whitespace).any(is_word) => {
            one(Err(Skip::NotCheckable))
        }
        () => (names, None),
    }
}

/// Whether an address leads nowhere or stays in the local network, as those of hosts files do that block.
fn is_sink(address: &[u8]) -> bool {
    let starts = ["0.", "127.", "255.", "10.", "192.168.", "::", "0:0:", "fe80:", "ff0"];
    let begins = |start: &str| {
        address.get(..start.len()).is_some_and(|text| text.eq_ignore_ascii_case(start.as_bytes()))
    };
    starts.into_iter().any(begins)
}

fn is_local(name: &[u8]) -> bool {
    LOCAL.iter().any(|local| name.eq_ignore_ascii_case(local))
}

/// A name after the address of a hosts file.
fn host(name: &[u8]) -> Option<Result<&[u8], Skip>> {
    (!name.is_empty()).then(|| match () {
        () if is_local(name) => Err(Skip::Local),
        () if is_address(name) || is_number(split_at(name, b":").0) => Err(Skip::NotCheckable),
        () => entry(name),
    })
}

/// Whether a host is only a number, or numbers with dots between them, which a parser would take for an address.
fn is_number(host: &[u8]) -> bool {
    match host {
        [b'0', b'x' | b'X', digits @ ..] => digits.iter().all(u8::is_ascii_hexdigit),
        _ => !host.is_empty() && host.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.'),
    }
}

/// Whether a number isn't meant as an address, such as `404` and `1.2.3`. An address as one number has at least 8 digits,
/// or it begins with `0x`.
fn is_other_number(host: &[u8]) -> bool {
    let host = host.strip_suffix(b".").unwrap_or(host);
    let is_whole = host.len() >= 8 && !host.contains(&b'.') || matches!(host, [b'0', b'x' | b'X', ..]);
    is_number(host) && !is_whole && !is_address(host)
}

/// The URL in a row of a table, which is known by the link back that each row has. None if a quote in it is doubled.
///
/// URLhaus, CSV: `"id","dateadded","url","url_status","last_online","threat","tags","urlhaus_link","reporter"`.
/// PhishTank, CSV: `phish_id,url,phish_detail_url,submission_time,verified,verification_time,online,target`.
fn url_of_row(row: &[u8]) -> Option<&[u8]> {
    let is_id = |id: &[u8]| (1..=20).contains(&id.len()) && id.iter().all(u8::is_ascii_digit);
    let url = if let Some(row) = row.strip_prefix(b"\"") {
        let (id, rest) = split_once(row, b"\",\"").filter(|(id, _)| is_id(id))?;
        let (_, rest) = split_once(rest, b"\",\"")?;
        let (url, rest) = split_once(rest, b"\",\"")?;
        split_once(rest, &[b"\",\"https://urlhaus.abuse.ch/url/", id, b"/\","].concat())?;
        url
    } else {
        let (id, rest) = split_once(row, b",").filter(|(id, _)| is_id(id))?;
        let link = [b"://www.phishtank.com/phish_detail.php?phish_id=", id, b","].concat();
        let (before, _) = split_once(rest, &link)?;
        let url = before.strip_suffix(b",https").or(before.strip_suffix(b",http"))?;
        url.strip_prefix(b"\"").and_then(|url| url.strip_suffix(b"\"")).unwrap_or(url)
    };
    (!url.contains(&b'"') && split_once(url, b"://").is_some()).then_some(url)
}

/// The texts before and after the first occurrence of a separator.
fn split_once<'a>(text: &'a [u8], separator: &[u8]) -> Option<(&'a [u8], &'a [u8])> {
    let at = text.windows(separator.len()).position(|bytes| bytes == separator)?;
    Some((text.get(..at)?, text.get(at + separator.len()..)?))
}

/// What a line has after its entry.
enum After {
    /// A comment or a date.
    Column,
    /// What may be part of a path as well.
    Mark,
    /// The mark of a rule.
    Rule,
    Nothing,
}

/// What a text after a blank is.
fn after_blank(text: &[u8]) -> After {
    let ends = |rest: &[u8]| rest.first().is_none_or(u8::is_ascii_whitespace);
    match text {
        [b'#', rest @ ..] => {
            // `##` and `#@#` are marks of cosmetic rules.
            let is_comment = ends(rest) || rest[0].is_ascii_alphanumeric();
            return if is_comment { After::Column } else { After::Rule };
        }
        [b'/', b'/', rest @ ..] | [b';' | b'!' | b'-', rest @ ..] if ends(rest) => return After::Mark,
        _ => {}
    }
    let like = |shape: &[u8]| {
        let fits = |(byte, shape): (&u8, &u8)| match shape {
            b'0' => byte.is_ascii_digit(),
            b'-' => b"-/.".contains(byte),
            shape => byte == shape,
        };
        text.get(..shape.len()).is_some_and(|text| text.iter().zip(shape).all(fits))
    };
    let Some(date) = ["0000-00-00", "00-00-0000"].into_iter().find(|shape| like(shape.as_bytes())) else {
        return After::Nothing;
    };
    let (_, rest) = text.split_at(date.len());
    match rest {
        // `2026-11-28.html` is a file, and `2026-11-28.evil.com` a host.
        [next, ..] if !next.is_ascii_whitespace() && !b"T,;".contains(next) => After::Nothing,
        // At most a time and a zone, or a comment.
        _ if rest.iter().all(|byte| byte.is_ascii_digit() || b" \tT:.Z+-".contains(byte)) => After::Column,
        _ if rest.trim_ascii_start().starts_with(b"#") => After::Column,
        // `Invoice 2026-11-28 final.pdf` is a file, too.
        _ => After::Mark,
    }
}

/// A line without a comment or a date at its end.
fn without_column(line: &[u8]) -> Result<&[u8], Skip> {
    let is_blank = |at: usize| line.get(at).is_some_and(u8::is_ascii_whitespace);
    for at in (1..line.len()).filter(|&at| is_blank(at - 1) && !is_blank(at)) {
        let (entry, after) = line.split_at(at);
        let entry = entry.trim_ascii_end();
        let has_path = || {
            let host = split_once(entry, b"://").map_or(entry, |(_, rest)| rest);
            host.strip_suffix(b"/").unwrap_or(host).iter().any(|byte| b"/\\?#".contains(byte))
        };
        match after_blank(after) {
            After::Mark if has_path() => return Err(Skip::NotCheckable),
            After::Column | After::Mark => return Ok(entry),
            After::Rule => return Err(Skip::NotCheckable),
            After::Nothing => {}
        }
    }
    Ok(line)
}

/// A line that is neither a comment nor from a hosts file.
fn entry(line: &[u8]) -> Result<&[u8], Skip> {
    if let Some(rule) = line.strip_prefix(b"||") {
        let host = below(rule.strip_suffix(b"^").ok_or(Skip::Pattern)?);
        let is_host = !host.is_empty() && host.iter().all(is_plain) && !is_other_number(host);
        return if is_host { Ok(host) } else { Err(Skip::Pattern) };
    }
    let line = below(line);
    let of_scheme = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
    let after =
        split_once(line, b"://").filter(|(scheme, _)| scheme.iter().all(of_scheme)).map(|(_, rest)| rest);
    // A parser would drop a tab, and take a blank as part of the path. No name of a file begins with one.
    let follows = |bytes: &[u8]| bytes == b"/ ";
    if line.contains(&b'\t') || line.windows(2).any(follows) {
        return Err(Skip::NotCheckable);
    }
    let rest = after.unwrap_or(line.strip_prefix(b"//").unwrap_or(line));
    let ends: &[u8] = if after.is_some() { b"/?#\\" } else { b"/?#" };
    let (authority, path) = split_at(rest, ends);
    let host = without_user(authority);
    let (shown, _) = split_once(path, b"#").unwrap_or((path, b""));
    // Marks of cosmetic rules, as `##`, `#@#` and `#@$?#`.
    let mark = split_once(path, b"#").and_then(|(_, mark)| mark.iter().find(|byte| !b"@$?%".contains(byte)));
    let option = path.rsplit(|&byte| byte == b'$').next().filter(|option| option.len() < path.len());
    let option = option.and_then(|option| option.split(|byte| b",=".contains(byte)).next());
    let option = option.map(|option| option.strip_prefix(b"~").unwrap_or(option));
    let is_rule = line.starts_with(b"@@")
        || mark == Some(&b'#')
        || after.is_none() && path.starts_with(b"#") && path.contains(&b'(')
        || option.is_some_and(|option| OPTIONS.contains(&option))
        || host.iter().any(|byte| b"*^$|".contains(byte))
        || matches!(shown.last(), Some(b'*' | b'^' | b'|'));
    if is_rule {
        return Err(Skip::Pattern);
    }
    // What a row of a table or of a program has after a URL, or a text around it.
    if matches!(shown, [b'/', b',' | b';', ..] | [.., b'"' | b'>'] | [.., b'"', b',']) {
        return Err(Skip::NotCheckable);
    }
    if after.is_some() {
        // What else is in a whole URL may belong to it.
        return if host.contains(&b' ') { Err(Skip::NotCheckable) } else { Ok(line) };
    }
    if line.iter().any(|byte| b"*^".contains(byte)) {
        return Err(Skip::Pattern);
    }
    let (name, port) = if host.starts_with(b"[") { (host, &[][..]) } else { split_at(host, b":") };
    let number = is_other_number(name);
    let word = !port.iter().skip(1).all(u8::is_ascii_digit) && !is_address(authority);
    // An e-mail address, a column after a comma or a word in quotes isn't a host. A parser would take an IPv6 address
    // without brackets for a host and a port, and the prefix length of a network for a path.
    let mail = path.is_empty() && !authority.contains(&b':') && authority.contains(&b'@');
    let bare = authority.contains(&b':') && is_address(authority);
    let prefix = path.strip_prefix(b"/").filter(|prefix| prefix.iter().all(u8::is_ascii_digit));
    let prefix = prefix.and_then(|prefix| str::from_utf8(prefix).ok()?.parse::<u8>().ok());
    let network = is_address(authority) && prefix.is_some_and(|prefix| prefix <= 32 || bare && prefix <= 128);
    if mail || bare || network || number || word || !host.iter().all(is_plain) {
        Err(Skip::NotCheckable)
    } else {
        Ok(line)
    }
}

/// The host in `*.host`.
fn below(text: &[u8]) -> &[u8] {
    text.strip_prefix(b"*.").filter(|host| host.first().is_some_and(is_plain)).unwrap_or(text)
}

/// Whether a byte may be in a host, or in the port after it.
fn is_plain(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || !byte.is_ascii() || b"-_.:%[]".contains(byte)
}
