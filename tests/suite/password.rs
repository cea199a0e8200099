//! Passwords to keys: the vectors in `tests/vectors/passwords.json`, SHA-1, and any texts.

use std::borrow::Cow;

use bloom_wasm::Profile;
use bloom_wasm::keys::Skip::NotAHash;
use bloom_wasm::keys::list::Rules;
use bloom_wasm::keys::native::Native;
use bloom_wasm::keys::{is_key, password};
use proptest::prelude::*;

use crate::vectors;

fn normal(input: &[u8], lowercase: bool) -> Cow<'_, [u8]> {
    password::normal(&Native, input, lowercase).unwrap()
}

fn sha1(input: &[u8]) -> Vec<u8> {
    password::key(&Native, input, false, true).unwrap().into_owned()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The last is "password" as Have I Been Pwned lists it.
#[test]
fn sha1_of_a_password() {
    for (text, hash) in [
        ("", "da39a3ee5e6b4b0d3255bfef95601890afd80709"),
        (
            "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
            "84983e441c3bd26ebaae4aa1f95129e5e54670f1",
        ),
        ("password", "5baa61e4c9b93f3f0682250b6cf8331b7ee68fd8"),
    ] {
        assert_eq!(hex(&sha1(text.as_bytes())), hash, "{text}");
    }
}

#[test]
fn passwords_and_lines_of_hashes_are_those_of_the_vectors() {
    for vector in vectors("passwords") {
        let text = |name: &str| vector[name].as_str();
        match (text("typed"), text("line")) {
            (Some(typed), _) => {
                assert_eq!(normal(typed.as_bytes(), false), text("exact").unwrap().as_bytes(), "{vector}");
                assert_eq!(normal(typed.as_bytes(), true), text("lower").unwrap().as_bytes(), "{vector}");
            }
            (_, line) => {
                let read = password::hash_line(line.unwrap().as_bytes());
                let count = text("count").map_or(u64::MAX, |count| count.parse().unwrap());
                let expected = text("hash").map(|hash| (hash.to_owned(), count)).ok_or(NotAHash);
                assert_eq!(read.map(|(hash, count)| (hex(&hash), count)), expected, "{vector}");
            }
        }
    }
}

#[test]
fn what_is_not_utf8_stays() {
    for input in [
        &b"\xff"[..],
        b"Passw\xf6rd1",
        b"PASSWO\xcc\x88RD\xff",
        b"\xc3",
        b"O\xcc",
        // Surrogates and overlong forms.
        b"A\xed\xa0\x80",
        b"A\xc0\xaf",
        b"\xf4\x90\x80\x80",
    ] {
        for lowercase in [false, true] {
            assert!(matches!(normal(input, lowercase), Cow::Borrowed(same) if same == input));
        }
    }
}

/// Letters that change their length, order or neighbours, among any others.
fn texts() -> impl Strategy<Value = String> {
    let character = prop_oneof![
        any::<char>(),
        proptest::sample::select(
            "\u{130}I\u{307}\u{131}\u{df}\u{1e9e}\u{3a3}\u{3c2}\u{301}\u{308}\u{323}\u{345}\u{1fb3}H\u{331}aO'. \u{1100}\u{1161}"
                .chars()
                .collect::<Vec<_>>()
        ),
    ];
    proptest::collection::vec(character, 0..12).prop_map(String::from_iter)
}

#[test]
fn what_a_key_can_be() {
    for sha1 in [false, true] {
        for lowercase in [false, true] {
            let profile = Profile::Password { lowercase, sha1 };
            let is_key = |key: &[u8]| is_key(&Native, profile, key);
            assert_eq!(is_key(b"hunter2"), !sha1);
            assert_eq!(is_key(b"Hunter2"), !sha1 && !lowercase);
            assert_eq!(is_key("gr\u{f6}\u{df}er".as_bytes()), !sha1);
            assert_eq!(is_key("Gr\u{f6}\u{df}er".as_bytes()), !sha1 && !lowercase);
            assert!(!is_key("gro\u{308}\u{df}er".as_bytes()));
            assert_eq!(is_key(b"PASSW\xf6RD"), !sha1, "what isn't UTF-8 stays");
            // The hash of hunter2 in hexadecimal digits, and in bytes.
            assert_eq!(is_key(b"f3bbbd66a63d4bf1747940578ec3d0103530e21d"), !sha1);
            assert!(is_key(
                b"\xf3\xbb\xbd\x66\xa6\x3d\x4b\xf1\x74\x79\x40\x57\x8e\xc3\xd0\x10\x35\x30\xe2\x1d"
            ));
            assert_eq!(is_key(b"\xf3\xbb\xbd\x66"), !sha1);
        }
    }
}

/// Each character alone, as a capital beside a mark, and after a letter.
fn require_keys(chars: impl Iterator<Item = char> + Clone) {
    for lowercase in [false, true] {
        let profile = Profile::Password { lowercase, sha1: false };
        for char in chars.clone() {
            for text in [format!("{char}"), format!("H{char}\u{331}"), format!("\u{39f}\u{3a3}{char}")] {
                let key = normal(text.as_bytes(), lowercase);
                assert!(is_key(&Native, profile, &key), "{char:?} {lowercase}");
            }
        }
    }
}

#[test]
fn no_member_is_refused() {
    require_keys(('\0'..=char::MAX).step_by(7));
}

#[test]
#[ignore = "long: npm run test:all"]
fn no_member_of_any_character_is_refused() {
    require_keys('\0'..=char::MAX);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    #[test]
    fn idempotent(text in texts(), lowercase in any::<bool>()) {
        let once = normal(text.as_bytes(), lowercase).into_owned();
        prop_assert_eq!(&normal(&once, lowercase), &once);
        // Whether it was in the normal form before makes no difference.
        let exact = normal(text.as_bytes(), false).into_owned();
        prop_assert_eq!(&normal(&exact, lowercase), &once);
    }

    /// No member is refused, and nothing is accepted that isn't its own normal form.
    #[test]
    fn keys_of_a_list(text in texts(), lowercase in any::<bool>()) {
        let profile = Profile::Password { lowercase, sha1: false };
        Rules::from(profile).read(&Native, text.as_bytes(), &mut |input| {
            let input = input.unwrap();
            assert!(is_key(&Native, profile, input.own()), "{:?}", input.own());
            assert_eq!(is_key(&Native, profile, text.as_bytes()), input.own() == text.as_bytes());
            Ok(())
        }).unwrap();
    }
}
