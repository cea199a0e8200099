//! Finds the URLs and hosts in a line of a list: plain ones, adblock rules, and entries of hosts files.

use super::skip::Skip;
use super::url::is_address;
use crate::vectors::halves;

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
const OPTIONS: [&[u8]; 28] = [
    b"1p",
    b"3p",
    b"all",
    b"badfilter",
    b"csp",
    b"css",
    b"doc",
    b"document",
    b"domain",
    b"first-party",
    b"font",
    b"frame",
    b"image",
    b"important",
    b"match-case",
    b"media",
    b"object",
    b"other",
    b"ping",
    b"popup",
    b"redirect",
    b"removeparam",
    b"script",
    b"stylesheet",
    b"subdocument",
    b"third-party",
    b"websocket",
    b"xmlhttprequest",
];

/// The URLs and hosts in a line: none in a comment (`#`, and adblock's `!`), all hosts of an entry of a hosts file
/// (`0.0.0.0 evil.com # comment`), the host of `||evil.com^`, otherwise the line itself. `*.evil.com` is `evil.com`,
/// which stands for all hosts below it. If something can't be a key, such as an adblock rule with `$options`, the
/// reason is returned instead.
///
/// ```
/// use bloom_wasm::keys::{Skip, url_list};
///
/// let entries: Vec<_> = url_list::entries(b"0.0.0.0 localhost evil.com # bad").collect();
/// assert_eq!(entries, [Err(Skip::Local), Ok(&b"evil.com"[..])]);
/// ```
pub fn entries(line: &[u8]) -> impl Iterator<Item = Result<&[u8], Skip>> {
    let line = line.trim_ascii();
    let comment = matches!(line, [] | [b'#' | b'!', ..]) || line.starts_with(b"[Adblock");
    let hosts = hosts(line);
    let other = match hosts {
        // Only an address before a comment: this isn't from a hosts file, or all its names were removed.
        Some(hosts) => hosts.trim_ascii().is_empty().then_some(Err(Skip::NotCheckable)),
        None => (!comment).then(|| entry(line)),
    };
    hosts.unwrap_or_default().split(u8::is_ascii_whitespace).filter_map(host).chain(other)
}

/// The names in an entry of a hosts file, after the address and before a comment.
fn hosts(line: &[u8]) -> Option<&[u8]> {
    let blank = line.iter().position(u8::is_ascii_whitespace)?;
    let (address, names) = line.split_at_checked(blank)?;
    is_address(address).then(|| names.split(|&byte| byte == b'#').next().unwrap_or_default())
}

fn host(name: &[u8]) -> Option<Result<&[u8], Skip>> {
    let local = LOCAL.iter().any(|local| name.eq_ignore_ascii_case(local));
    (!name.is_empty()).then(|| match () {
        () if local => Err(Skip::Local),
        () if is_address(name) => Err(Skip::NotCheckable),
        () => entry(name),
    })
}

/// A line that is neither a comment nor from a hosts file.
fn entry(line: &[u8]) -> Result<&[u8], Skip> {
    if let Some(rule) = line.strip_prefix(b"||") {
        let host = below(rule.strip_suffix(b"^").ok_or(Skip::Pattern)?);
        return if !host.is_empty() && host.iter().all(is_plain) { Ok(host) } else { Err(Skip::Pattern) };
    }
    let line = below(line);
    let has_scheme = line.windows(3).position(|bytes| bytes == b"://").is_some_and(|at| {
        let scheme = line.iter().take(at);
        scheme.copied().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
    });
    // A parser would take a blank as part of the path, and drop a tab. But what follows may be a comment or a column.
    if line.contains(&b'\t') || line.windows(2).any(|bytes| bytes == b" #") {
        return Err(Skip::NotCheckable);
    }
    if has_scheme {
        // A whole URL may hold anything, except for a blank or a star in its host.
        let after = line.splitn(3, |&byte| byte == b'/').nth(2).unwrap_or_default();
        let authority = after.split(|byte| b"/\\?#".contains(byte)).next().unwrap_or_default();
        let host = authority.rsplit(|&byte| byte == b'@').next().unwrap_or_default();
        return match () {
            () if host.contains(&b'*') => Err(Skip::Pattern),
            () if host.contains(&b' ') => Err(Skip::NotCheckable),
            () => Ok(line),
        };
    }

    let rest = line.strip_prefix(b"//").unwrap_or(line);
    let end = rest.iter().position(|byte| b"/?#".contains(byte)).unwrap_or(rest.len());
    let (authority, path) = halves(rest, end);
    // Marks of cosmetic rules, as `##`, `#@#` and `#@$?#`.
    let mark = path.strip_prefix(b"#").and_then(|mark| mark.iter().find(|byte| !b"@$?%".contains(byte)));
    let option = path.rsplit(|&byte| byte == b'$').next().filter(|option| option.len() < path.len());
    let option = option.and_then(|option| option.split(|byte| b",=".contains(byte)).next());
    let option = option.map(|option| option.strip_prefix(b"~").unwrap_or(option));
    let rule = line.starts_with(b"@@")
        || mark == Some(&b'#')
        || option.is_some_and(|option| OPTIONS.contains(&option))
        || line.iter().any(|byte| b"*^".contains(byte))
        || authority.iter().any(|byte| b"$|".contains(byte));
    if rule {
        return Err(Skip::Pattern);
    }
    // An e-mail address, a column after a comma or a word in quotes isn't a host. A parser would take an IPv6 address
    // without brackets for a host and a port, and the prefix length of a network for a path.
    let mail = path.is_empty() && !authority.contains(&b':') && authority.contains(&b'@');
    let bare = authority.contains(&b':') && is_address(authority);
    let prefix = path.strip_prefix(b"/").and_then(|path| str::from_utf8(path).ok()?.parse::<u8>().ok());
    let network = is_address(authority) && prefix.is_some_and(|prefix| prefix <= 32 || bare && prefix <= 128);
    let host = authority.rsplit(|&byte| byte == b'@').next().unwrap_or_default();
    if mail || bare || network || !host.iter().all(is_plain) { Err(Skip::NotCheckable) } else { Ok(line) }
}

/// The host in `*.host`.
fn below(text: &[u8]) -> &[u8] {
    text.strip_prefix(b"*.").filter(|host| host.first().is_some_and(is_plain)).unwrap_or(text)
}

/// Whether a byte may be in a host, or in the port after it.
fn is_plain(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || !byte.is_ascii() || b"-_.:%[]".contains(byte)
}
