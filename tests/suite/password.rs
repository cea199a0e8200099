//! Passwords to keys: SHA-1 against RFC 3174 and a crate, lines of hashes, Unicode's normal form and lower case.

use std::borrow::Cow;

use bloom_wasm::Profile;
use bloom_wasm::keys::Skip::NotAHash;
use bloom_wasm::keys::list::Rules;
use bloom_wasm::keys::native::Native;
use bloom_wasm::keys::{is_key, password};
use proptest::prelude::*;

fn normal(input: &[u8], lowercase: bool) -> Cow<'_, [u8]> {
    password::normal(&Native, input, lowercase).unwrap()
}

fn sha1(input: &[u8]) -> Vec<u8> {
    password::key(&Native, input, false, true).unwrap().into_owned()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// RFC 3174, section 7.3, and the hash of nothing.
#[test]
fn sha1_vectors() {
    for (text, times, hash) in [
        ("", 1, "da39a3ee5e6b4b0d3255bfef95601890afd80709"),
        ("abc", 1, "a9993e364706816aba3e25717850c26c9cd0d89d"),
        (
            "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
            1,
            "84983e441c3bd26ebaae4aa1f95129e5e54670f1",
        ),
        ("a", 1_000_000, "34aa973cd4c4daa4f61eeb2bdbad27316534016f"),
        (
            "0123456701234567012345670123456701234567012345670123456701234567",
            10,
            "dea356a2cddd90c7a7ecedc5ebb563934f460452",
        ),
        ("password", 1, "5baa61e4c9b93f3f0682250b6cf8331b7ee68fd8"),
    ] {
        assert_eq!(hex(&sha1(text.repeat(times).as_bytes())), hash, "{text}");
    }
}

#[test]
fn sha1_of_every_length() {
    let bytes: Vec<u8> = (0..=300_u32).map(|i| (i * 167 + i / 7 + 200) as u8).collect();
    for length in 0..=300 {
        let of_crate = sha1_smol::Sha1::from(&bytes[..length]).digest().bytes();
        assert_eq!(sha1(&bytes[..length]), of_crate, "{length}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn sha1_of_long_ones(bytes in proptest::collection::vec(any::<u8>(), 300..20_000)) {
        prop_assert_eq!(sha1(&bytes), sha1_smol::Sha1::from(&bytes).digest().bytes());
    }
}

#[test]
fn lines_of_hashes() {
    let hash = [
        0x00, 0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef, 0xff, 0x10, 0x32, 0x54, 0x76, 0x98, 0xba, 0xdc,
        0xfe, 0x0a, 0xa0,
    ];
    const HASH: &str = "000123456789ABCDEFFF1032547698BADCFE0AA0";
    for (end, count) in [
        ("", u64::MAX),
        (":0", 0),
        (":1", 1),
        (":52256179", 52_256_179),
        (":007", 7),
        (":18446744073709551615", u64::MAX),
    ] {
        for line in [format!("{HASH}{end}"), format!("{}{end}", HASH.to_lowercase())] {
            assert_eq!(password::hash_line(line.as_bytes()), Ok((hash, count)), "{line}");
        }
    }
    let mixed: String =
        HASH.chars().enumerate().map(|(i, c)| if i % 2 == 0 { c.to_ascii_lowercase() } else { c }).collect();
    assert_eq!(password::hash_line(mixed.as_bytes()), Ok((hash, u64::MAX)));
    for end in [
        ":",
        "::1",
        ":+5",
        ":-1",
        ":-0",
        ": 1",
        ":1 ",
        ":1:2",
        ":1,000",
        ":1.0",
        ":0x1",
        ":1e3",
        ":\u{661}",
        ":18446744073709551616",
        ":99999999999999999999999999999999999999999999",
        " ",
        "\t",
        " :1",
        " 1",
        "\r",
        ";1",
        "0",
        "0:1",
        "00",
    ] {
        assert_eq!(password::hash_line(format!("{HASH}{end}").as_bytes()), Err(NotAHash), "{end:?}");
    }
    // One digit is missing, wrong or preceded by something, wherever that is.
    for i in 0..HASH.len() {
        let (before, after) = (&HASH[..i], &HASH[i + 1..]);
        assert_eq!(password::hash_line(format!("{before}{after}").as_bytes()), Err(NotAHash));
        assert_eq!(password::hash_line(format!("{before}{after}:5").as_bytes()), Err(NotAHash));
        for bad in ["g", "G", " ", ":", "/", "@", "`", "\0", "+"] {
            assert_eq!(password::hash_line(format!("{before}{bad}{after}").as_bytes()), Err(NotAHash));
        }
        let mut bytes = HASH.as_bytes().to_vec();
        bytes[i] |= 0x80;
        assert_eq!(password::hash_line(&bytes), Err(NotAHash));
    }
    for line in ["", " ", "#", ":5", "password", "# 000123456789ABCDEFFF1032547698BADCFE0AA0"] {
        assert_eq!(password::hash_line(line.as_bytes()), Err(NotAHash), "{line}");
    }
    assert_eq!(password::hash_line(format!(" {HASH}").as_bytes()), Err(NotAHash));
    assert_eq!(password::hash_line(format!("0x{HASH}").as_bytes()), Err(NotAHash));
}

#[test]
fn normal_form_and_case() {
    for (input, exact, lower) in [
        ("", "", ""),
        ("PassWord", "PassWord", "password"),
        // No blank and no byte order mark is removed.
        (" a\t b \r", " a\t b \r", " a\t b \r"),
        ("\u{feff}a", "\u{feff}a", "\u{feff}a"),
        ("\0", "\0", "\0"),
        ("Passw\u{f6}rd1", "Passw\u{f6}rd1", "passw\u{f6}rd1"),
        ("Passwo\u{308}rd1", "Passw\u{f6}rd1", "passw\u{f6}rd1"),
        ("PASSW\u{d6}RD1", "PASSW\u{d6}RD1", "passw\u{f6}rd1"),
        ("PASSWO\u{308}RD1", "PASSW\u{d6}RD1", "passw\u{f6}rd1"),
        // NFC, not NFKC: compatible characters stay apart.
        ("\u{fb01}\u{b2}\u{ff21}", "\u{fb01}\u{b2}\u{ff21}", "\u{fb01}\u{b2}\u{ff41}"),
        // Singletons: the signs Angstrom, Kelvin and Ohm.
        ("\u{212b}\u{212a}\u{2126}", "\u{c5}K\u{3a9}", "\u{e5}k\u{3c9}"),
        // Marks in another order.
        ("a\u{302}\u{323}", "\u{1ead}", "\u{1ead}"),
        ("\u{1100}\u{1161}\u{11a8}", "\u{ac01}", "\u{ac01}"),
        // The dotted I becomes two characters that have no common one, in whatever language.
        ("\u{130}", "\u{130}", "i\u{307}"),
        ("I\u{307}", "\u{130}", "i\u{307}"),
        ("I\u{131}", "I\u{131}", "i\u{131}"),
        ("\u{df}\u{1e9e}", "\u{df}\u{1e9e}", "\u{df}\u{df}"),
        // A sigma at the end of a word has another form.
        ("\u{39f}\u{394}\u{39f}\u{3a3}", "\u{39f}\u{394}\u{39f}\u{3a3}", "\u{3bf}\u{3b4}\u{3bf}\u{3c2}"),
        ("\u{3a3}\u{3a3}1", "\u{3a3}\u{3a3}1", "\u{3c3}\u{3c2}1"),
        ("\u{3a3}", "\u{3a3}", "\u{3c3}"),
        // Upper-case letters that have no common one with the mark, but their lower-case ones do.
        ("H\u{331}T\u{308}J\u{30c}", "H\u{331}T\u{308}J\u{30c}", "\u{1e96}\u{1e97}\u{1f0}"),
        ("\u{1f600}\u{1f3fd}", "\u{1f600}\u{1f3fd}", "\u{1f600}\u{1f3fd}"),
    ] {
        assert_eq!(normal(input.as_bytes(), false), exact.as_bytes(), "{input:?}");
        assert_eq!(normal(input.as_bytes(), true), lower.as_bytes(), "{input:?}");
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

    #[test]
    fn ascii_is_only_lower_cased(text in "[ -~]{0,40}") {
        prop_assert_eq!(normal(text.as_bytes(), false), text.as_bytes());
        let lower = text.to_ascii_lowercase();
        prop_assert_eq!(normal(text.as_bytes(), true), lower.as_bytes());
    }

    #[test]
    fn any_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..40), lowercase in any::<bool>()) {
        let key = normal(&bytes, lowercase);
        if str::from_utf8(&bytes).is_err() {
            prop_assert_eq!(&*key, &bytes[..]);
        } else {
            prop_assert!(str::from_utf8(&key).is_ok());
        }
        let _ = password::hash_line(&bytes);
    }
}
