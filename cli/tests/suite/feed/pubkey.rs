//! `feed pubkey`, against the key pair of RFC 8037.

use ed25519_dalek::SigningKey;
use ed25519_dalek::pkcs8::spki::der::pem::LineEnding;
use ed25519_dalek::pkcs8::{DecodePrivateKey, EncodePrivateKey, EncodePublicKey};
use tempfile::TempDir;

use crate::in_process::{KEY, PUBLIC_KEY, done, refused, tool, write};

#[test]
fn the_public_key_is_printed_again() {
    let folder = TempDir::new().unwrap();
    write(&folder, "key", KEY);
    assert_eq!(done(&folder, "feed pubkey @key"), format!("{PUBLIC_KEY}\n"));
    // With the public key in the file, and with the line ends of Windows, as other software writes it.
    let key = SigningKey::from_pkcs8_pem(KEY).unwrap();
    write(&folder, "both", key.to_pkcs8_pem(LineEnding::CRLF).unwrap().as_bytes());
    assert_eq!(done(&folder, "feed pubkey @both"), format!("{PUBLIC_KEY}\n"));
    let made = done(&folder, "feed keygen -o @new");
    assert!(made.contains(done(&folder, "feed pubkey @new").trim_end()), "{made}");
    refused(&folder, "feed keygen -o -", "a secret key isn't printed: give a file");
}

#[test]
fn what_is_no_secret_key_is_refused_without_showing_it() {
    let folder = TempDir::new().unwrap();
    let public =
        SigningKey::from_pkcs8_pem(KEY).unwrap().verifying_key().to_public_key_pem(LineEnding::LF).unwrap();
    let body = KEY.lines().nth(1).unwrap();
    for bytes in [
        &b""[..],
        b"\xff\xfe\0",
        PUBLIC_KEY.as_bytes(),
        public.as_bytes(),
        body.as_bytes(),
        &KEY.as_bytes()[..KEY.len() / 2],
        // Another algorithm: X25519, whose identifier ends with 110 instead of 112.
        KEY.replace("MC4CAQAwBQYDK2Vw", "MC4CAQAwBQYDK2Vu").as_bytes(),
        // A byte less than a key has.
        KEY.replace(body, &body[..60]).as_bytes(),
    ] {
        write(&folder, "key", bytes);
        refused(&folder, "feed pubkey @key", "/key: this is not an Ed25519 key in PKCS #8\n");
        let (_, out, err) = tool(&folder, "feed pubkey @key");
        assert!(out.is_empty() && !err.contains("J1hsZ3v"), "{out}{err}");
    }
    refused(&folder, "feed pubkey @nowhere", "nowhere: No such file");
    refused(&folder, "feed pubkey", "<KEY>");
}
