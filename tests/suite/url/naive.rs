//! The same rules, step by step, each in the most obvious way and on its own copy.

use super::*;

/// Passes from left to right, for as long as a pass changes something.
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
    format!("/{}", kept.join("/"))
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
    let (text, query) = text.split_at(text.find('?').unwrap_or(text.len()));
    let query = widen(&unescape(&narrow(query)));
    // The user as it stands, before its escapes are undone.
    let start = split(text).map_or(text.len(), |(_, start)| start);
    let (before, rest) = text.split_at(start);
    let end = rest.find('/').unwrap_or(rest.len());
    let user = rest[..end].rfind('@').map_or(0, |at| at + 1);
    let text = widen(&unescape(&narrow(&[before, &rest[user..]].concat())));

    let (scheme, start) = split(&text)?;
    let rest = &text[start..];
    let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    let path = if path.starts_with('/') { path.to_string() } else { format!("/{path}") };
    let mut path = path.replace('\\', "/");
    while path.contains("//") {
        path = path.replace("//", "/");
    }
    let host = host(authority);
    if host.is_empty() {
        return None;
    }
    let [host, path, query] = [&host, &resolve(&path), &query].map(|part| escape(&narrow(part)));
    let (host, path) = (host.replace('\\', "%5C"), path.replace('?', "%3F"));
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
