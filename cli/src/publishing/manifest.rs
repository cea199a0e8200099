//! The signed manifest of a feed or a sharded filter: a JWS. FEED-FORMAT.md, "The format".

use std::marker::PhantomData;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use base64ct::{Base64UrlUnpadded, Encoding};
use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};
use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::files::read;
use crate::text::tags_in_words;
use bloom_wasm::hash::{Hashing, Secret};
use bloom_wasm::internal::require_tag_name;
use bloom_wasm::layers::MAX_TAGS;
use bloom_wasm::shards::{PAGE, Sharding};
use bloom_wasm::{Kind, Profile};

/// The most files of a feed.
pub const MAX_FILES: usize = 64;
/// The longest payload, in bytes.
const MAX_PAYLOAD: usize = 1 << 20;
/// The longest manifest, in bytes.
const MAX_LENGTH: usize = 1 << 21;
pub const MAX_SIGNATURES: usize = 16;
/// The version of the payload.
pub const VERSION: u32 = 1;
/// The largest integer that JavaScript reads from JSON exactly.
const MAX_NUMBER: u64 = (1 << 53) - 1;
/// The latest time of a JavaScript `Date`, in milliseconds.
const MAX_TIME: u64 = 8_640_000_000_000_000;
/// The longest name, homepage or license, in bytes.
pub const LONGEST_TEXT: usize = 255;
const ALGORITHM: &str = "EdDSA";

/// What a manifest describes.
pub trait ManifestPayload: Clone + PartialEq + Serialize + DeserializeOwned {
    /// The manifest's name in its folder.
    const FILE: &'static str;
    /// The `typ` of its signatures.
    const TYPE: &'static str;

    fn head(&self) -> &Head;

    fn head_mut(&mut self) -> &mut Head;

    /// How many shards there are; none in a feed of one filter.
    fn shards(&self) -> Option<u32>;

    /// Whether it says the same as another, apart from its generation and times.
    fn is_as(&self, other: &Self) -> bool {
        let Head { generation, created_at, expires, .. } = *other.head();
        let mut this = self.clone();
        *this.head_mut() = Head { generation, created_at, expires, ..this.head().clone() };
        this == *other
    }

    /// The names of the files that it lists; with shards, those of the pages.
    fn files(&self) -> Vec<String>;

    /// Fails unless it is as FEED-FORMAT.md describes.
    fn check(&self) -> Result<()>;
}

/// A manifest as it is on the host.
#[derive(Serialize, Deserialize)]
pub struct Manifest<P> {
    payload: String,
    /// Those that aren't [`Signed`] are somebody else's.
    signatures: Vec<Value>,
    #[serde(skip)]
    of: PhantomData<P>,
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

/// What a feed is, from its first generation to its last.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Identity {
    pub feed_id: String,
    #[serde(flatten)]
    pub people: People,
    profile: String,
    /// How passwords are compared, with the profile `password`.
    #[serde(default, skip_serializing_if = "is_false")]
    lowercase: bool,
    #[serde(default, skip_serializing_if = "is_false")]
    sha1: bool,
    pub fpr: f64,
    pub seed: String,
    /// The check value of the secret, in 16 hexadecimal digits, if the filter is keyed.
    #[serde(default, deserialize_with = "text", skip_serializing_if = "Option::is_none")]
    check: Option<String>,
}

/// What is only for people, and may change from one generation to the next.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct People {
    #[serde(default, deserialize_with = "text", skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(default, deserialize_with = "text", skip_serializing_if = "Option::is_none")]
    pub homepage: Option<String>,
    #[serde(default, deserialize_with = "text", skip_serializing_if = "Option::is_none")]
    pub license: Option<String>,
}

/// What both kinds of payloads begin with. Times are in milliseconds since 1970.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Head {
    pub version: u32,
    #[serde(flatten)]
    pub identity: Identity,
    pub generation: u64,
    pub created_at: u64,
    pub expires: u64,
    pub count: u64,
}

/// What the manifest of a feed says.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct FeedPayload {
    #[serde(flatten)]
    pub head: Head,
    #[serde(deserialize_with = "objects")]
    pub files: Vec<File>,
}

/// What the manifest of a sharded filter says.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct ShardsPayload {
    #[serde(flatten)]
    pub head: Head,
    /// The number of shards.
    pub shards: u32,
    /// The bytes of all shards together.
    pub bytes: u64,
    /// The SHA-256 of each page, in 64 hexadecimal digits.
    pub pages: Vec<String>,
    /// The tags by their numbers; none in a filter without tags.
    #[serde(default, deserialize_with = "tags", skip_serializing_if = "Option::is_none")]
    pub tags: Option<Vec<Tag>>,
}

/// A tag of a sharded filter.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct Tag {
    pub name: String,
    /// How many keys have it, in all shards.
    pub count: u64,
}

fn is_false(flag: &bool) -> bool {
    !flag
}

/// A text that may be missing, but not null.
fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    String::deserialize(deserializer).map(Some)
}

/// Serde would also take an array for a struct.
fn objects<'de, D: Deserializer<'de>, T: DeserializeOwned>(deserializer: D) -> Result<Vec<T>, D::Error> {
    let objects = Vec::<Map<String, Value>>::deserialize(deserializer)?;
    objects
        .into_iter()
        .map(|object| T::deserialize(Value::Object(object)).map_err(D::Error::custom))
        .collect()
}

/// Tags that may be missing, but not null.
fn tags<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<Tag>>, D::Error> {
    objects(deserializer).map(Some)
}

/// A file of a feed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct File {
    pub kind: FileKind,
    pub bytes: u64,
    /// Its hash in 64 hexadecimal digits, and its name.
    pub sha256: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", try_from = "String")]
pub enum FileKind {
    Base,
    Delta,
}

/// Serde would also take an object with the name of the kind.
impl TryFrom<String> for FileKind {
    type Error = &'static str;

    fn try_from(name: String) -> Result<Self, Self::Error> {
        match &name[..] {
            "base" => Ok(FileKind::Base),
            "delta" => Ok(FileKind::Delta),
            _ => Err("an unknown kind of file"),
        }
    }
}

impl File {
    pub fn new(kind: FileKind, bytes: &[u8]) -> Self {
        File { kind, bytes: bytes.len() as u64, sha256: sha256(bytes) }
    }
}

/// The SHA-256 of some bytes.
pub fn hash(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

/// The same in hexadecimal digits.
pub fn sha256(bytes: &[u8]) -> String {
    hex(&hash(bytes))
}

/// Bytes in hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    base16ct::lower::encode_string(bytes)
}

fn is_hex(text: &str, digits: usize) -> bool {
    text.len() == digits && base16ct::lower::decode_vec(text).is_ok()
}

/// The bytes that 64 hexadecimal digits stand for.
pub fn unhex(text: &str) -> Option<[u8; 32]> {
    base16ct::lower::decode_vec(text).ok()?.try_into().ok()
}

/// Whether a text may be a homepage. Pages show it as a link, so it mustn't be a script.
pub fn is_homepage(text: &str) -> bool {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    rest.is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_graphic()))
}

/// Fails for a time that a JavaScript `Date` can't hold.
pub fn check_expiry(time: u64) -> Result<()> {
    ensure!(time <= MAX_TIME, "the time is too late");
    Ok(())
}

impl Identity {
    pub fn new(feed_id: String, people: People, profile: Profile, fpr: f64, hashing: &Hashing) -> Self {
        let (lowercase, sha1) = profile.password();
        let check = hashing.check().map(|check| format!("{check:016x}"));
        let (profile, seed) = (profile.name().to_owned(), hashing.seed().to_string());
        Identity { feed_id, people, profile, lowercase, sha1, fpr, seed, check }
    }

    fn check(&self) -> Result<()> {
        ensure!(is_hex(&self.feed_id, 32), "a bad feedId");
        let People { name, homepage, license } = &self.people;
        let is_short = |text: &Option<String>| text.as_ref().is_none_or(|text| text.len() <= LONGEST_TEXT);
        ensure!([name, homepage, license].into_iter().all(is_short), "a text for people is too long");
        ensure!(homepage.as_ref().is_none_or(|url| is_homepage(url)), "a bad homepage");
        self.profile()?;
        ensure!(!(self.lowercase && self.sha1), "lowercase and sha1 exclude each other");
        ensure!(self.fpr > 0.0 && self.fpr < 1.0, "fpr is out of range");
        ensure!(self.seed.parse().is_ok_and(|seed: u64| seed.to_string() == self.seed), "a bad seed");
        ensure!(self.check.as_ref().is_none_or(|check| is_hex(check, 16)), "a bad check");
        Ok(())
    }

    /// What differs from another one although it must stay the same for ever, and what it was there.
    pub fn difference(&self, before: &Identity) -> Option<(&'static str, String)> {
        let is_keyed = |identity: &Identity| identity.check.is_some();
        let differences = [
            ("id", self.feed_id != before.feed_id, before.feed_id.clone()),
            ("profile", self.profile != before.profile, before.profile.clone()),
            ("lowercase", self.lowercase != before.lowercase, before.lowercase.to_string()),
            ("sha1", self.sha1 != before.sha1, before.sha1.to_string()),
            ("fpr", self.fpr != before.fpr, before.fpr.to_string()),
            (
                "secret",
                self.check != before.check,
                if is_keyed(before) { "another" } else { "none" }.to_owned(),
            ),
            ("seed", self.seed != before.seed, before.seed.clone()),
        ];
        differences.into_iter().find(|(_, differs, _)| *differs).map(|(key, _, was)| (key, was))
    }

    /// What the keys are.
    pub fn profile(&self) -> Result<Profile> {
        let profile = Profile::from_name(&self.profile, self.lowercase, self.sha1);
        profile.context("an unknown profile, or lowercase or sha1 without the profile password")
    }

    pub fn is_keyed(&self) -> bool {
        self.check.is_some()
    }

    /// How keys become digests. `secret` is there if the filter is keyed, and must be that of the feed.
    pub fn hashing(&self, secret: Option<&Secret>) -> Result<Hashing> {
        let check = self.check.as_deref().map(|check| u64::from_str_radix(check, 16));
        let (seed, check) =
            (self.seed.parse().context("a bad seed")?, check.transpose().context("a bad check")?);
        let hashing = Hashing::of_blob(seed, check, secret)?;
        Ok(hashing.for_filter(self.profile()?, Kind::Ribbon))
    }
}

impl Head {
    /// That of a manifest that isn't signed yet, so that its number and times aren't known.
    pub fn unsigned(identity: Identity, count: u64) -> Self {
        Head { version: VERSION, identity, generation: 1, created_at: 0, expires: 0, count }
    }

    fn check(&self) -> Result<()> {
        ensure!(self.version <= VERSION, "a later version of this tool is needed");
        ensure!(self.version == VERSION, "a bad version");
        let numbers = [self.generation, self.count];
        ensure!(numbers.into_iter().all(|number| number <= MAX_NUMBER), "a number is too large");
        check_expiry(self.created_at.max(self.expires))?;
        ensure!(self.generation > 0, "generation is 0");
        self.identity.check()
    }

    /// Whether step 7 of "What a client must do" refuses it.
    pub fn is_over(&self, now: u64) -> bool {
        self.expires <= now
    }

    /// Whether more than half of its lifetime is left.
    pub fn is_fresh(&self, now: u64, expires_in: u64) -> bool {
        let left = self.expires.saturating_sub(now);
        // It may last too long if `expires-in` has become shorter or the clock was wrong.
        (expires_in / 2 + 1..=expires_in).contains(&left)
    }
}

impl ManifestPayload for FeedPayload {
    const FILE: &'static str = "feed.json";
    const TYPE: &'static str = "bloom-wasm-feed";

    fn head(&self) -> &Head {
        &self.head
    }

    fn head_mut(&mut self) -> &mut Head {
        &mut self.head
    }

    fn shards(&self) -> Option<u32> {
        None
    }

    fn files(&self) -> Vec<String> {
        self.files.iter().map(|file| file.sha256.clone()).collect()
    }

    fn check(&self) -> Result<()> {
        self.head.check()?;
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

impl ShardsPayload {
    /// The names of the tags, by their numbers; none in a filter without tags.
    pub fn tag_names(&self) -> impl Iterator<Item = &str> {
        self.tags.iter().flatten().map(|tag| &tag.name[..])
    }

    /// How many keys have each tag; none in a filter without tags.
    pub fn tags_in_words(&self) -> Option<String> {
        let tags = self.tags.as_ref()?;
        Some(tags_in_words(tags.iter().map(|tag| (&tag.name[..], Some(tag.count)))))
    }

    /// How keys are assigned to shards. `secret` is there if the filter is keyed.
    pub fn sharding(&self, secret: Option<&Secret>) -> Result<Sharding> {
        Ok(Sharding::new(self.head.identity.profile()?, self.head.identity.hashing(secret)?, self.shards)?)
    }
}

impl ManifestPayload for ShardsPayload {
    const FILE: &'static str = "shards.json";
    const TYPE: &'static str = "bloom-wasm-shards";

    fn head(&self) -> &Head {
        &self.head
    }

    fn head_mut(&mut self) -> &mut Head {
        &mut self.head
    }

    fn shards(&self) -> Option<u32> {
        Some(self.shards)
    }

    fn files(&self) -> Vec<String> {
        self.pages.clone()
    }

    fn check(&self) -> Result<()> {
        self.head.check()?;
        let pages = Sharding::new(self.head.identity.profile()?, 0, self.shards)?.pages();
        ensure!(self.pages.len() == pages, "{} shards have {pages} pages of {PAGE}", self.shards);
        ensure!(self.pages.iter().all(|page| is_hex(page, 64)), "a page has a bad sha256");
        ensure!(self.bytes <= MAX_NUMBER, "a number is too large");
        let Some(tags) = &self.tags else { return Ok(()) };
        ensure!((1..=MAX_TAGS).contains(&tags.len()), "it must have 1 to {MAX_TAGS} tags");
        for (i, Tag { name, count }) in tags.iter().enumerate() {
            require_tag_name(name)?;
            ensure!(tags[..i].iter().all(|other| other.name != *name), "a tag appears twice");
            ensure!(*count <= MAX_NUMBER, "a number is too large");
        }
        Ok(())
    }
}

impl<P: ManifestPayload> Manifest<P> {
    /// The hash of its payload, whoever has signed it.
    pub fn hash(&self) -> String {
        sha256(self.payload.as_bytes())
    }

    /// Signs a payload with each of the keys.
    pub fn sign(payload: &P, keys: &[SigningKey]) -> Result<Self> {
        payload.check()?;
        ensure!(keys.len() <= MAX_SIGNATURES, "a manifest has at most {MAX_SIGNATURES} signatures");
        let payload = encode(payload)?;
        require_short(&payload)?;
        let header = Header { alg: ALGORITHM.into(), typ: P::TYPE.into() };
        let protected = encode(&header)?;
        let signed = |key: &SigningKey| {
            let signature = key.sign(format!("{protected}.{payload}").as_bytes()).to_bytes();
            let signature = Base64UrlUnpadded::encode_string(&signature);
            serde_json::to_value(Signed { protected: protected.clone(), signature })
        };
        let signatures = keys.iter().map(signed).collect::<serde_json::Result<_>>()?;
        Ok(Manifest { payload, signatures, of: PhantomData })
    }

    /// Reads a manifest, whatever signatures it has.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        ensure!(bytes.len() <= MAX_LENGTH, "this is longer than any manifest");
        let manifest: Manifest<P> = object(bytes)?;
        ensure!(manifest.signatures.len() <= MAX_SIGNATURES, "more than {MAX_SIGNATURES} signatures");
        Ok(manifest)
    }

    /// The manifest as a file.
    pub fn text(&self) -> Result<String> {
        Ok(serde_json::to_string(self)? + "\n")
    }

    pub fn payload(&self) -> Result<P> {
        require_short(&self.payload)?;
        // Before the other fields, which a later version may not have.
        #[derive(Deserialize)]
        struct Versioned {
            version: u64,
        }
        let Versioned { version } = decode(&self.payload)?;
        if version > VERSION.into() {
            bail!("this manifest has version {version}, newer than this tool");
        }
        let payload: P = decode(&self.payload)?;
        payload.check().context("this is not a manifest")?;
        Ok(payload)
    }

    pub fn is_signed(&self) -> bool {
        !self.signatures.is_empty()
    }

    /// Whether one of the signatures is by this key.
    pub fn is_signed_by(&self, key: &VerifyingKey) -> bool {
        self.signatures.iter().any(|signed| self.is_by(signed, key))
    }

    /// Whether none of the signatures is by another key than these. What clients ignore is none.
    pub fn is_signed_only_by(&self, keys: &[VerifyingKey]) -> bool {
        let is_one = |signed: &&Value| read_signed(signed).is_some_and(|it| is_ours(&it.protected, P::TYPE));
        let mut signatures = self.signatures.iter().filter(is_one);
        signatures.all(|signed| keys.iter().any(|key| self.is_by(signed, key)))
    }

    /// Whether a signature is by this key.
    fn is_by(&self, signed: &Value, key: &VerifyingKey) -> bool {
        let Some(Signed { protected, signature }) = read_signed(signed) else { return false };
        let signature = Base64UrlUnpadded::decode_vec(&signature).ok();
        let signature = signature.and_then(|bytes| Signature::from_slice(&bytes).ok());
        let message = format!("{protected}.{}", self.payload);
        is_ours(&protected, P::TYPE)
            && signature.is_some_and(|signature| key.verify_strict(message.as_bytes(), &signature).is_ok())
    }

    /// Whether these keys and no others have signed it.
    pub fn has_signers(&self, keys: &[SigningKey]) -> bool {
        self.signatures.len() == keys.len() && keys.iter().all(|key| self.is_signed_by(&key.verifying_key()))
    }
}

/// An element of the signatures, if it is one. Serde would also take an array.
fn read_signed(signed: &Value) -> Option<Signed> {
    signed.as_object().and(Signed::deserialize(signed).ok())
}

/// Whether a signature with this header counts for this type of manifest.
fn is_ours(protected: &str, typ: &str) -> bool {
    decode::<Map<String, Value>>(protected).is_ok_and(|header| {
        let is = |name, value| header.get(name).and_then(Value::as_str) == Some(value);
        let extended = ["crit", "b64"].into_iter().any(|name| header.contains_key(name));
        is("alg", ALGORITHM) && is("typ", typ) && !extended
    })
}

/// The bytes of the manifest in a folder; none if there isn't one.
pub fn read_bytes<P: ManifestPayload>(dir: &Path) -> Result<Option<Vec<u8>>> {
    ensure!(!dir.is_file(), "{}: this is a file; give its folder", dir.display());
    let path = dir.join(P::FILE);
    let is_there = path.try_exists().with_context(|| path.display().to_string())?;
    is_there.then(|| read::regular(&path, MAX_LENGTH as u64)).transpose()
}

/// What the manifest in a folder says, if there is one, and whether it is signed. If there are keys, one of them must have
/// signed it.
pub fn read<P: ManifestPayload>(dir: &Path, keys: &[VerifyingKey]) -> Result<Option<(P, bool)>> {
    let Some(bytes) = read_bytes::<P>(dir)? else { return Ok(None) };
    let read = || -> Result<(P, bool)> {
        let manifest = Manifest::<P>::parse(&bytes)?;
        let is_known = keys.is_empty() || keys.iter().any(|key| manifest.is_signed_by(key));
        ensure!(is_known, "none of these keys has signed it");
        Ok((manifest.payload()?, manifest.is_signed()))
    };
    read().map(Some).with_context(|| dir.join(P::FILE).display().to_string())
}

/// Fails for a payload, in base64url, that is longer than allowed.
fn require_short(payload: &str) -> Result<()> {
    let bytes = payload.len() / 4 * 3 + (payload.len() % 4).saturating_sub(1);
    ensure!(bytes <= MAX_PAYLOAD, "the payload is longer than {MAX_PAYLOAD} bytes");
    Ok(())
}

fn encode(value: &impl Serialize) -> Result<String> {
    Ok(Base64UrlUnpadded::encode_string(&serde_json::to_vec(value)?))
}

fn decode<T: DeserializeOwned>(text: &str) -> Result<T> {
    let json = Base64UrlUnpadded::decode_vec(text).ok().context("this is not a manifest: bad base64url")?;
    object(&json)
}

/// Reads a JSON object. Serde would also take an array for a struct.
fn object<T: DeserializeOwned>(json: &[u8]) -> Result<T> {
    let object: Map<String, Value> = serde_json::from_slice(json).context("this is not a manifest")?;
    T::deserialize(Value::Object(object)).context("this is not a manifest")
}

/// A public key as it is printed: 32 bytes in base64url without padding.
pub fn public_key(key: &VerifyingKey) -> String {
    Base64UrlUnpadded::encode_string(key.as_bytes())
}

/// Reads a public key.
pub fn parse_public_key(text: &str) -> Result<VerifyingKey, &'static str> {
    let bytes = Base64UrlUnpadded::decode_vec(text).ok().and_then(|bytes| <[u8; 32]>::try_from(bytes).ok());
    let bytes = bytes.ok_or("give the 43 characters that `feed keygen` printed")?;
    VerifyingKey::from_bytes(&bytes).map_err(|_| "this isn't a public key of Ed25519; is a character wrong?")
}
