//! What lines look like, whatever they are read as: for hints about a profile that doesn't fit.

use bloom_wasm::keys::lines::lines;

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

/// Whether the first lines end in CR alone, as on old Macs. Each reader would take them for one line.
pub fn has_bare_ends(beginning: &[u8]) -> bool {
    let text = beginning.trim_ascii_end();
    !text.contains(&b'\n') && text.contains(&b'\r')
}

/// Whether a list begins as a page of HTML or XML does, such as the error pages of hosts. No URL begins as a tag does,
/// but other keys may, such as `<id@host>` and `<love3r`, unless their line has an end tag or an attribute.
pub fn is_page(beginning: &[u8], of_urls: bool) -> bool {
    let mut text = beginning.strip_prefix(b"\xef\xbb\xbf").unwrap_or(beginning).trim_ascii_start();
    while let Some(comment) = text.strip_prefix(b"<!--") {
        let Some(end) = comment.windows(3).position(|end| end == b"-->") else { return false };
        text = comment[end + 3..].trim_ascii_start();
    }
    let Some(first) = lines(text).next() else { return false };
    let Some(name) = first.strip_prefix(b"<") else { return false };
    let end = name.iter().position(|byte| b" \t/>".contains(byte)).unwrap_or(name.len());
    let is_known = end < name.len()
        && ["!doctype", "?xml", "html", "head", "body", "title", "error", "rss", "svg"]
            .into_iter()
            .any(|known| name[..end].eq_ignore_ascii_case(known.as_bytes()));
    let is_tag = |line: &[u8]| matches!(line, [b'<', letter, ..] if letter.is_ascii_alphabetic());
    // An end tag, or an attribute.
    let is_markup = |line: &[u8]| {
        line.windows(3).any(|bytes| matches!(bytes, [b'<', b'/', letter] if letter.is_ascii_alphabetic()))
            || line.windows(2).any(|bytes| bytes == b"/>" || bytes == b"=\"")
    };
    // Three keys of a kind are a list of them.
    let full = || lines(text).filter(|line| !line.is_empty());
    let is_list = || full().count() > 2 && full().all(is_tag);
    let is_written = || lines(text).take(5).any(is_markup) && !is_list();
    is_known || is_tag(first) && (of_urls || is_written())
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
            "<Error xmlns=\"x\"><Code>NoSuchKey</Code></Error>",
            "<ListBucketResult xmlns=\"x\">",
            "<EnumerationResults ServiceEndpoint=\"x\">",
            "<b>key</b>\n",
        ] {
            assert!(is_page(page.as_bytes(), true), "{page}");
        }
        for page in [
            "<?xml version=\"1.0\"?><Error>",
            "<Error xmlns=\"x\"><Code>NoSuchKey</Code></Error>",
            "<html>\n<head><title>404</title></head>\n<body>\n<center>404</center>\n</body>\n</html>\n",
            "<EnumerationResults ServiceEndpoint=\"x\">\n",
            "<Response><Error/></Response>\n",
            "<center>\n<h1>404</h1>\n</center>\n",
            "<ListBucketResult>\n  <Name>a</Name>\n  <Name>b</Name>\n</ListBucketResult>",
        ] {
            assert!(is_page(page.as_bytes(), false), "{page}");
        }
        for list in [
            "<a1@mail.example>",
            "<a1@mail.example>\nkey\n",
            "<love3r\n<lovely\npassword1\n",
            "<header1\n",
            "<head\n</3\n",
            "<b>1</b>\n<b>2</b>\n\n<b>3</b>",
        ] {
            assert!(!is_page(list.as_bytes(), false), "{list}");
        }
        for list in [
            "",
            "<",
            "<1",
            "||evil.example^\n<html>",
            "# <html>\n",
            "! Title\n",
            "<!-- <html>",
            "<!-- one -->key",
        ] {
            assert!(!is_page(list.as_bytes(), true), "{list}");
        }
    }

    #[test]
    fn line_ends() {
        for (text, is_bare) in [
            ("a\rb", true),
            ("a\rb\r", true),
            ("a\r", false),
            ("a\r\nb\rc", false),
            ("a\rb\n", true),
            ("", false),
        ] {
            assert_eq!(has_bare_ends(text.as_bytes()), is_bare, "{text:?}");
        }
    }
}
