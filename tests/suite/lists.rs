//! Lines of lists to their keys: the vectors in `tests/vectors/lists.json`, and any bytes.

use bloom_wasm::Profile;
use bloom_wasm::keys::list::{MAX_LINE, Rules};
use bloom_wasm::keys::native::Native;
use bloom_wasm::keys::{Input, Skip, url_list};
use proptest::prelude::*;

use crate::{texts, vectors};

#[test]
fn lines_have_the_keys_of_the_vectors() {
    let vectors = vectors("lists");
    assert!(vectors.len() > 450, "{}", vectors.len());
    for vector in vectors {
        let (mut keys, mut skipped) = (Vec::<String>::new(), Vec::new());
        let line = vector["line"].as_str().unwrap();
        Rules::from(Profile::Url)
            .read(&Native, line.as_bytes(), &mut |input| {
                match input {
                    Ok(input) => keys.push(String::from_utf8(input.own().to_vec()).unwrap()),
                    Err(skip) => skipped.push(skip.code()),
                }
                Ok(())
            })
            .unwrap();
        assert_eq!(keys, texts(&vector["keys"]), "{line:?}");
        assert_eq!(skipped, texts(&vector["skipped"]), "{line:?}");
    }
}

#[test]
fn a_line_has_at_most_a_mebibyte() {
    for (length, is_read) in [(MAX_LINE, true), (MAX_LINE + 1, false)] {
        let take = &mut |input: Result<Input, Skip>| {
            assert_eq!(input.err(), (!is_read).then_some(Skip::TooLong), "{length}");
            Ok(())
        };
        Rules::from(Profile::Raw).read_line(&Native, &vec![b'a'; length], take).unwrap();
    }
}

fn entries(line: &[u8]) -> Vec<Result<&[u8], Skip>> {
    url_list::entries(line).collect()
}

/// The marks of all kinds of line, which meet in the lines below.
const MARKS: [&str; 28] = [
    "||", "^", "$", "*", "@@", "|", "#", "##", "#@#", "!", " ", "\t", "\r", "\u{c}", "/", "?", ":", "://",
    "http://", "0.0.0.0", "::1", "evil.com", "local", "[Adblock", "[::1]", "\\", "%", "a",
];

fn lines() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        proptest::sample::select(&MARKS).prop_map(|piece| piece.as_bytes().to_vec()),
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
        // Nor is a number a name.
        let is_hexadecimal = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        prop_assume!(!host.to_lowercase().strip_prefix("0x").is_some_and(is_hexadecimal));
        let entry = format!("0.0.0.0 {host} # {host}");
        prop_assert_eq!(entries(entry.as_bytes()), [Ok(host.as_bytes())]);
    }
}
