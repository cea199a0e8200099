//! The signed manifest of a feed: a JWS with what `feed.json` says. docs/feeds.md, "The format".

use anyhow::{Context, Result, bail, ensure};
use base64ct::{Base64UrlUnpadded, Encoding};
use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::Profile;

/// The most files of a feed.
pub const MAX_FILES: usize = 64;
/// The longest payload, in bytes.
const MAX_PAYLOAD: usize = 1 << 20;
/// The longest manifest, in bytes.
const MAX_LENGTH: usize = 1 << 21;
const MAX_SIGNATURES: usize = 16;
/// The version of the payload.
pub const VERSION: u32 = 1;
/// The largest whole number that JSON carries unharmed through JavaScript.
const MAX_NUMBER: u64 = (1 << 53) - 1;
/// The last time that JavaScript's dates have, in milliseconds.
const MAX_TIME: u64 = 8_640_000_000_000_000;
const ALGORITHM: &str = "EdDSA";
const TYPE: &str = "bloom-wasm-feed";

/// A manifest as it lies on the host.
#[derive(Serialize, Deserialize)]
pub struct Manifest {
    payload: String,
    /// Those that aren't [`Signed`] are somebody else's.
    signatures: Vec<Value>,
}

#[derive(Serialize, Deserialize)]
struct Signed {
    protected: String,
    signature: String,
}

#[derive(Serialize, Deserialize)]
struct Header {
    alg: String,
    typ: String,
}

/// What is signed. Times are in milliseconds since 1970.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Payload {
    pub version: u32,
    pub feed_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    pub generation: u64,
    pub created_at: u64,
    pub expires: u64,
    pub profile: String,
    pub fpr: f64,
    pub seed: String,
    pub count: u64,
    pub files: Vec<File>,
}

/// A file of a feed.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct File {
    pub kind: FileKind,
    pub bytes: u64,
    /// Its hash in 64 hexadecimal digits, and its name.
    pub sha256: String,
}

#[derive(Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FileKind {
    Base,
    Delta,
}

impl File {
    pub fn new(kind: FileKind, bytes: &[u8]) -> Self {
        File { kind, bytes: bytes.len() as u64, sha256: sha256(bytes) }
    }
}

/// The SHA-256 of some bytes, in hexadecimal digits.
fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn is_hex(text: &str, digits: usize) -> bool {
    text.len() == digits && text.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'))
}

impl Payload {
    /// Fails unless it is one as docs/feeds.md describes it.
    fn check(&self) -> Result<()> {
        ensure!(self.version <= VERSION, "a later version of this tool is needed");
        let numbers = [self.generation, self.count];
        ensure!(self.version == VERSION && is_hex(&self.feed_id, 32), "a bad feedId or version");
        ensure!(numbers.into_iter().all(|number| number <= MAX_NUMBER), "a number is too large");
        ensure!(self.created_at.max(self.expires) <= MAX_TIME, "a time is too late");
        ensure!(self.generation > 0, "generation is 0");
        ensure!(self.name.as_ref().is_none_or(|name| name.len() <= 255), "the name is too long");
        ensure!(Profile::from_name(&self.profile, false, false).is_some(), "an unknown profile");
        ensure!(self.fpr > 0.0 && self.fpr < 1.0, "fpr is out of range");
        ensure!(self.seed.parse().is_ok_and(|seed: u64| seed.to_string() == self.seed), "a bad seed");
        ensure!((1..=MAX_FILES).contains(&self.files.len()), "it must have 1 to {MAX_FILES} files");
        for (i, file) in self.files.iter().enumerate() {
            let expected = if i == 0 { FileKind::Base } else { FileKind::Delta };
            ensure!(file.kind == expected, "its files must be a base and then deltas");
            ensure!(is_hex(&file.sha256, 64), "a file has a bad sha256");
            ensure!((1..=i32::MAX as u64).contains(&file.bytes), "a file has a bad length");
        }
        Ok(())
    }
}

impl Manifest {
    /// Signs a payload with each of the keys.
    pub fn sign(payload: &Payload, keys: &[SigningKey]) -> Result<Self> {
        payload.check()?;
        ensure!(keys.len() <= MAX_SIGNATURES, "a manifest has at most {MAX_SIGNATURES} signatures");
        let payload = encode(payload)?;
        ensure!(payload.len() / 4 * 3 <= MAX_PAYLOAD, "the manifest is too long");
        let header = Header { alg: ALGORITHM.into(), typ: TYPE.into() };
        let protected = encode(&header)?;
        let signed = |key: &SigningKey| {
            let signature = key.sign(format!("{protected}.{payload}").as_bytes()).to_bytes();
            let signature = Base64UrlUnpadded::encode_string(&signature);
            serde_json::to_value(Signed { protected: protected.clone(), signature })
        };
        let signatures = keys.iter().map(signed).collect::<serde_json::Result<_>>()?;
        Ok(Manifest { payload, signatures })
    }

    /// Reads one, with whatever signatures it has.
    pub fn parse(text: &str) -> Result<Self> {
        ensure!(text.len() <= MAX_LENGTH, "this is longer than any manifest");
        let manifest: Manifest = serde_json::from_str(text).context("this is not a manifest")?;
        ensure!(manifest.signatures.len() <= MAX_SIGNATURES, "more than {MAX_SIGNATURES} signatures");
        Ok(manifest)
    }

    /// The manifest as a file.
    pub fn text(&self) -> Result<String> {
        Ok(serde_json::to_string(self)? + "\n")
    }

    pub fn payload(&self) -> Result<Payload> {
        ensure!(self.payload.len() / 4 * 3 <= MAX_PAYLOAD, "the payload is longer than {MAX_PAYLOAD} bytes");
        // Before the other fields, which a later version may not have.
        #[derive(Deserialize)]
        struct Versioned {
            version: u64,
        }
        let Versioned { version } = decode(&self.payload)?;
        if version > VERSION.into() {
            bail!("this manifest has version {version}, newer than this tool");
        }
        let payload: Payload = decode(&self.payload)?;
        payload.check().context("this is not a manifest")?;
        Ok(payload)
    }

    pub fn is_signed(&self) -> bool {
        !self.signatures.is_empty()
    }

    /// Whether one of the signatures is by this key.
    pub fn is_signed_by(&self, key: &VerifyingKey) -> bool {
        self.signatures.iter().any(|signed| {
            let Ok(Signed { protected, signature }) = Signed::deserialize(signed) else { return false };
            let signature = Base64UrlUnpadded::decode_vec(&signature).ok();
            let signature = signature.and_then(|bytes| Signature::from_slice(&bytes).ok());
            let message = format!("{protected}.{}", self.payload);
            is_ours(&protected)
                && signature
                    .is_some_and(|signature| key.verify_strict(message.as_bytes(), &signature).is_ok())
        })
    }

    /// Whether these keys and no others have signed it.
    pub fn has_signers(&self, keys: &[SigningKey]) -> bool {
        self.signatures.len() == keys.len() && keys.iter().all(|key| self.is_signed_by(&key.verifying_key()))
    }
}

/// Whether a signature with this header is one of a feed.
fn is_ours(protected: &str) -> bool {
    decode::<Map<String, Value>>(protected).is_ok_and(|header| {
        let is = |name, value| header.get(name).and_then(Value::as_str) == Some(value);
        let extended = ["crit", "b64"].into_iter().any(|name| header.contains_key(name));
        is("alg", ALGORITHM) && is("typ", TYPE) && !extended
    })
}

fn encode(value: &impl Serialize) -> Result<String> {
    Ok(Base64UrlUnpadded::encode_string(&serde_json::to_vec(value)?))
}

fn decode<T: DeserializeOwned>(text: &str) -> Result<T> {
    let json = Base64UrlUnpadded::decode_vec(text).ok().context("this is not a manifest: bad base64url")?;
    serde_json::from_slice(&json).context("this is not a manifest")
}

/// A public key as it is printed: 32 bytes in base64url without padding.
pub fn public_key(key: &VerifyingKey) -> String {
    Base64UrlUnpadded::encode_string(key.as_bytes())
}

/// Reads a public key.
pub fn parse_public_key(text: &str) -> Result<VerifyingKey, &'static str> {
    let bytes = Base64UrlUnpadded::decode_vec(text).ok().and_then(|bytes| <[u8; 32]>::try_from(bytes).ok());
    let key = bytes.and_then(|bytes| VerifyingKey::from_bytes(&bytes).ok());
    key.ok_or("give the 43 characters that `feed keygen` printed")
}
