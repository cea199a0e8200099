//! What lines look like, whatever they are read as: for hints about a profile that doesn't fit.

/// What a hash of a password looks like.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Hash {
    /// SHA-1 in hexadecimal digits.
    Sha1,
    /// NTLM, or SHA-1 without its first five digits, as the range API of Have I Been Pwned has it.
    Other,
}

impl Hash {
    /// What a line looks like. `alone` says that a hash counts as one even without a count after it.
    pub fn of(line: &[u8], alone: bool) -> Option<Hash> {
        let digits = line.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
        let hash = match digits {
            40 => Hash::Sha1,
            32 | 35 => Hash::Other,
            _ => return None,
        };
        let rest = line[digits..].trim_ascii_start();
        let is_count = |count: &[u8]| !count.is_empty() && count.iter().all(u8::is_ascii_digit);
        let is_hash = match rest.split_first() {
            None => alone,
            Some((b':', count)) => is_count(count.trim_ascii()),
            Some(_) => false,
        };
        is_hash.then_some(hash)
    }
}

/// Whether a line looks like a URL, a host, or a line of a hosts file or an adblock list.
pub fn is_url(line: &[u8]) -> bool {
    let starts = ["http://", "https://", "||", "0.0.0.0 ", "127.0.0.1 "];
    starts.iter().any(|start| line.starts_with(start.as_bytes())) || is_host(line)
}

/// Whether a line is a host below a public suffix, or below the one that is reserved for examples (RFC 2606).
fn is_host(line: &[u8]) -> bool {
    let is_of_host = |byte: &u8| byte.is_ascii_alphanumeric() || b".-_".contains(byte);
    if !line.contains(&b'.') || !line.iter().all(is_of_host) {
        return false;
    }
    let Ok(host) = str::from_utf8(line) else { return false };
    let host = host.to_ascii_lowercase();
    host.ends_with(".example")
        || psl2::lookup(&host).is_some_and(|host| host.is_known() && !host.is_public_suffix())
}

/// Whether a list begins as a page of HTML or XML does, such as the error pages of hosts.
pub fn is_page(beginning: &[u8]) -> bool {
    let mut text = beginning.strip_prefix(b"\xef\xbb\xbf").unwrap_or(beginning).trim_ascii_start();
    while let Some(comment) = text.strip_prefix(b"<!--") {
        let Some(end) = comment.windows(3).position(|end| end == b"-->") else { return false };
        text = comment[end + 3..].trim_ascii_start();
    }
    let begins =
        |start: &str| text.get(..start.len()).is_some_and(|text| text.eq_ignore_ascii_case(start.as_bytes()));
    ["<!doctype html", "<html", "<head", "<body", "<title", "<?xml ", "<error>", "<rss", "<svg"]
        .into_iter()
        .any(begins)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks() {
        let sha1 = "5BAA61E4C9B93F3F0682250B6CF8331B7EE68FD8";
        let (ntlm, suffix) = (&sha1[..32], &sha1[5..]);
        for line in [
            "http://a",
            "https://evil.example/login",
            "evil.example",
            "Www.Evil.CO.UK",
            "a_b.github.io",
            "||evil.example^",
            "0.0.0.0 evil.com",
            "127.0.0.1 evil.com",
        ] {
            assert!(is_url(line.as_bytes()), "{line}");
        }
        for line in
            ["id-4711", "1.2.3.4", "co.uk", "a.b c", "3.14159", "a.b@c.com", "", ".", "..com", "münchen.de"]
        {
            assert!(!is_url(line.as_bytes()), "{line}");
            assert_eq!(Hash::of(line.as_bytes(), true), None, "{line}");
        }
        for (hash, look) in [(sha1, Hash::Sha1), (ntlm, Hash::Other), (suffix, Hash::Other)] {
            let lower = hash.to_lowercase();
            for hash in [hash, &lower] {
                assert_eq!(Hash::of(hash.as_bytes(), true), Some(look));
                assert_eq!(Hash::of(hash.as_bytes(), false), None, "ids often look like this");
                for count in [":3", ":10434004", " : 3", ":3 "] {
                    assert_eq!(
                        Hash::of(format!("{hash}{count}").as_bytes(), false),
                        Some(look),
                        "{hash}{count}"
                    );
                }
                for more in [":", ":x", ":3x", "3", " 3", "g", "::3"] {
                    assert_eq!(Hash::of(format!("{hash}{more}").as_bytes(), true), None, "{hash}{more}");
                }
            }
        }
    }

    #[test]
    fn pages() {
        for page in [
            "<!DOCTYPE html>\n",
            "\u{feff}\r\n <!doctype HTML><p>",
            "<html lang=en>",
            "<!-- one --> <!---->\n<html>",
            "<?xml version=\"1.0\"?><Error>",
            "<Error><Code>NoSuchKey</Code>",
            "<HEAD><TITLE>404 Not Found</TITLE></HEAD>",
            "<body>",
            "<title>Log in</title>",
            "<rss version=\"2.0\">",
            "<svg xmlns=\"http://www.w3.org/2000/svg\">",
        ] {
            assert!(is_page(page.as_bytes()), "{page}");
        }
        for list in [
            "",
            "<",
            "<htm",
            "||evil.example^\n<html>",
            "# <html>\n",
            "! Title\n",
            "<b>key</b>\n",
            "<!-- <html>",
            "<!-- one -->key",
        ] {
            assert!(!is_page(list.as_bytes()), "{list}");
        }
    }
}
