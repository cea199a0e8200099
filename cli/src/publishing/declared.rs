//! `feed.toml`: everything that a feed is told. docs/hosting.md.
//!
//! It is read in two steps. [`Basis`] is what signing the last list anew needs, and [`Declared`] is all of it: a mistake
//! in the rest of the file must not let the list expire that clients have.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::io::ErrorKind;
use std::marker::PhantomData;
use std::ops::Range;
use std::path::{Path, PathBuf};

use anyhow::{Context, Error, Result, anyhow, bail, ensure};
use bloom_wasm::Profile;
use bloom_wasm::internal::require_tag_name;
use ed25519_dalek::VerifyingKey;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{self, DeserializeOwned, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use toml::Spanned;

use super::manifest::{self, LONGEST_TEXT, People};
use crate::args::number::whole_milliseconds;
use crate::args::omitted::Omitted;

/// The name of the file, unless another one is given.
pub const FILE: &str = "feed.toml";

const DAY: u64 = 24 * 60 * 60 * 1000;
/// Less than the third that is gone if one of three parts of a list is missing, and more than lists lose from day to
/// day.
const MAX_REMOVED: Share = Share(0.25);

/// What signing the last list anew needs.
#[derive(Debug)]
pub struct Basis {
    /// 32 hexadecimal digits.
    pub id: String,
    /// The folder that is served.
    pub public: PathBuf,
    pub state: PathBuf,
    /// The files of the secret keys; none for an unsigned feed.
    pub sign: Vec<PathBuf>,
    /// Keys that may stop signing.
    pub former_keys: Vec<VerifyingKey>,
    pub shards: Option<u32>,
}

/// What the file says besides. Times are in milliseconds.
#[derive(Debug)]
pub struct Declared {
    pub profile: Profile,
    pub fpr: f64,
    pub seed: u64,
    pub secret: Option<PathBuf>,
    pub people: People,
    pub expires_in: u64,
    pub grace: u64,
    pub sources: Sources,
    /// A folder with the files of `feed build-shard`, for a feed without lists.
    pub parts: Option<PathBuf>,
}

/// The lists, what is left out of those of members, and what may become of the keys.
#[derive(Debug)]
pub struct Sources {
    pub lists: BTreeMap<String, List>,
    /// Those of keys that must be absent.
    pub allow: BTreeMap<String, List>,
    pub allow_wins: bool,
    pub omitted: Omitted,
    /// The names of lists that are gone.
    pub dropped: BTreeSet<String>,
    pub max_removed: Share,
    /// That of a run, which overrides all others.
    pub this_run: Option<Share>,
}

/// A list, of members or of keys that must be absent.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(test, derive(Default))]
pub struct List {
    pub file: PathBuf,
    /// The same as it is written.
    pub told: PathBuf,
    pub tag: Option<String>,
    pub allow_empty: bool,
    pub min_keys: Option<u64>,
    pub max_removed: Option<Share>,
}

/// A share between 0 and 1, written in percent. Without the percent sign, 1 could mean all or a hundredth.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Share(pub f64);

impl Share {
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let percent = text.strip_suffix('%').and_then(|number| number.parse().ok());
        let percent = percent.filter(|percent| (0.0..=100.0).contains(percent));
        percent.map(|percent: f64| Share(percent / 100.0)).ok_or("give a share such as 50%, at most 100%")
    }
}

#[cfg(test)]
impl Sources {
    /// These lists, which may lose a quarter of their keys.
    pub fn of(lists: BTreeMap<String, List>) -> Self {
        Sources {
            lists,
            allow: BTreeMap::new(),
            allow_wins: false,
            omitted: Omitted::none(),
            dropped: BTreeSet::new(),
            max_removed: MAX_REMOVED,
            this_run: None,
        }
    }
}

/// Reads the file: what renewal needs, and the rest if that is right, too.
pub fn read(path: &Path) -> Result<(Basis, Result<Declared>)> {
    match fs::read_to_string(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            bail!("{}: there is no such file; `bloom-wasm feed init` begins a feed", path.display())
        }
        text => parse(path, &text.with_context(|| path.display().to_string())?),
    }
}

/// The same for the text of a file with this path, from whose folder all paths count.
pub fn parse(path: &Path, text: &str) -> Result<(Basis, Result<Declared>)> {
    let source = Text { path, text };
    let basis = source.read::<BasisFile>()?.check(&source)?;
    let declared = source.read::<File>().and_then(|file| file.check(&source, &basis));
    Ok((basis, declared))
}

/// The text of a file, with an id that it lacks, or with another one than it has.
pub fn with_id(path: &Path, id: &str, is_new: bool) -> Result<String> {
    let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let source = Text { path, text: &text };
    let known = source.read::<BasisFile>()?.id;
    match (known, is_new) {
        (None, false) => {
            // Some editors put a byte order mark before the text.
            let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
            Ok(format!("id = \"{id}\"\n{text}"))
        }
        (Some(known), true) => {
            let Range { start, end } = known.span();
            Ok(format!("{}\"{id}\"{}", &text[..start], &text[end..]))
        }
        (Some(_), false) => {
            Err(source.whole("it has an id already; for a copy of a feed, --new-id gives it another"))
        }
        (None, true) => Err(source.whole("it has no id; without --new-id, it gets one")),
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct BasisFile {
    id: Option<Spanned<String>>,
    public: Option<PathBuf>,
    state: Option<PathBuf>,
    #[serde(default, deserialize_with = "key_files")]
    sign: Option<Vec<PathBuf>>,
    #[serde(default, deserialize_with = "public_keys")]
    former_keys: Vec<VerifyingKey>,
    shards: Option<u32>,
}

/// All keys of the file.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[expect(dead_code, reason = "the first six are read as those of `BasisFile`")]
struct File {
    id: IgnoredAny,
    public: Option<IgnoredAny>,
    state: Option<IgnoredAny>,
    sign: IgnoredAny,
    former_keys: Option<IgnoredAny>,
    shards: Option<IgnoredAny>,

    profile: Option<Spanned<String>>,
    #[serde(default)]
    lowercase: bool,
    #[serde(default)]
    sha1: bool,
    fpr: Option<Spanned<f64>>,
    seed: Option<u64>,
    secret: Option<PathBuf>,

    name: Option<Spanned<String>>,
    homepage: Option<Spanned<String>>,
    license: Option<Spanned<String>>,

    #[serde(default, deserialize_with = "duration")]
    expires_in: Option<u64>,
    #[serde(default, deserialize_with = "duration")]
    grace: Option<u64>,

    #[serde(default)]
    lists: BTreeMap<Spanned<String>, ListEntry>,
    #[serde(default)]
    allow: BTreeMap<Spanned<String>, ListEntry>,
    #[serde(default)]
    tags: bool,
    #[serde(default)]
    allow_wins: bool,
    #[serde(default)]
    allow_suffixes: bool,
    #[serde(default)]
    min_length: u64,
    #[serde(default)]
    min_count: u64,
    max_removed: Option<Share>,
    #[serde(default, deserialize_with = "names")]
    dropped: Vec<Spanned<String>>,
    parts: Option<PathBuf>,
}

/// A path alone, or a table.
struct ListEntry(ListTable);

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct ListTable {
    file: PathBuf,
    tag: Option<String>,
    #[serde(default)]
    allow_empty: bool,
    min_keys: Option<u64>,
    max_removed: Option<Share>,
}

impl<'de> Deserialize<'de> for ListEntry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = ListTable;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the path of a list, or a table such as { file = \"list.txt\", min-keys = 1000 }")
            }

            fn visit_str<E>(self, path: &str) -> Result<ListTable, E> {
                let file = path.into();
                Ok(ListTable { file, tag: None, allow_empty: false, min_keys: None, max_removed: None })
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<ListTable, A::Error> {
                ListTable::deserialize(MapAccessDeserializer::new(map))
            }
        }
        deserializer.deserialize_any(Either).map(ListEntry)
    }
}

impl<'de> Deserialize<'de> for Share {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Share::parse(&String::deserialize(deserializer)?).map_err(de::Error::custom)
    }
}

fn duration<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let text = String::deserialize(deserializer)?;
    let parsed = humantime::parse_duration(&text);
    let words = |error| de::Error::custom(format!("{error}; give a time such as 7d or 12h"));
    parsed.map(|time| Some(whole_milliseconds(time))).map_err(words)
}

fn public_keys<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<VerifyingKey>, D::Error> {
    let texts: Vec<String> = several(deserializer, "a list of public keys")?;
    let words = |error| de::Error::custom(format!("`former-keys`: {error}"));
    texts.iter().map(|text| manifest::parse_public_key(text).map_err(words)).collect()
}

fn key_files<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<PathBuf>>, D::Error> {
    several(deserializer, "a list of files, such as [\"feed.key\"]").map(Some)
}

fn names<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Spanned<String>>, D::Error> {
    several(deserializer, "a list of names, such as [\"malware\"]")
}

/// A list, whose error says what is expected.
fn several<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
    expected: &'static str,
) -> Result<Vec<T>, D::Error> {
    struct Several<T>(&'static str, PhantomData<T>);
    impl<'de, T: Deserialize<'de>> Visitor<'de> for Several<T> {
        type Value = Vec<T>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(self.0)
        }

        fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Vec<T>, A::Error> {
            Vec::deserialize(SeqAccessDeserializer::new(seq))
        }
    }
    deserializer.deserialize_seq(Several(expected, PhantomData))
}

/// The text of a file, for messages that name the line.
struct Text<'a> {
    path: &'a Path,
    text: &'a str,
}

impl Text<'_> {
    fn read<T: DeserializeOwned>(&self) -> Result<T> {
        toml::from_str(self.text).map_err(|error| {
            let words = in_words(error.message());
            match error.span() {
                // What is missing is nowhere.
                Some(span) if !error.message().starts_with("missing field") => self.at(span, &words),
                _ => self.whole(&words),
            }
        })
    }

    fn at(&self, span: Range<usize>, words: &str) -> Error {
        let Some(before) = self.text.get(..span.start) else { return self.whole(words) };
        let line = before.matches('\n').count() + 1;
        anyhow!("{}:{line}: {words}", self.path.display())
    }

    fn whole(&self, words: &str) -> Error {
        anyhow!("{}: {words}", self.path.display())
    }

    /// For a key that is missing. It may be there with another spelling.
    fn missing(&self, key: &str, words: &str) -> Error {
        let known: Result<BTreeMap<Spanned<String>, IgnoredAny>, _> = toml::from_str(self.text);
        let unknown = known.into_iter().flatten().map(|(name, _)| name);
        let mut unknown = unknown.filter(|name| !KEYS.contains(&&name.get_ref()[..]));
        match unknown.find(|name| similar(name.get_ref(), [key].into_iter()).is_some()) {
            Some(name) => self.at(name.span(), &no_key(name.get_ref(), key)),
            None => self.whole(&format!("`{key}` is missing: {words}")),
        }
    }

    /// A path of the file.
    fn path(&self, path: &Path) -> PathBuf {
        self.path.parent().unwrap_or(Path::new("")).join(path)
    }
}

/// An error of the parser in one line. For an unknown key, it says which one is meant.
fn in_words(message: &str) -> String {
    let line = message.lines().collect::<Vec<_>>().join(", ");
    let Some(names) = line.strip_prefix("unknown field ") else { return line };
    let mut names = names.split('`').skip(1).step_by(2);
    let Some(unknown) = names.next() else { return line };
    if ["file", "allow-empty", "min-keys"].contains(&unknown) {
        let list = "phishing = { file = \"phishing.txt\", min-keys = 1000 }";
        return format!("`{unknown}` is a key of a list, such as {list}");
    }
    let all: Vec<_> = names.collect();
    match similar(unknown, all.iter().copied()) {
        Some(known) => no_key(unknown, known),
        None => format!("there is no key `{unknown}`; there are {}", all.join(", ")),
    }
}

fn no_key(unknown: &str, known: &str) -> String {
    format!("there is no key `{unknown}`; a similar one is `{known}`")
}

/// A text in quotes, as TOML has it. JSON's strings are strings of TOML.
pub fn toml_string(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// The name of a list as a key of TOML.
pub fn toml_key(name: &str) -> String {
    let is_bare = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
    if is_bare && !name.is_empty() { name.to_owned() } else { toml_string(name) }
}

/// The name that was probably meant, as clap finds it for options.
fn similar<'a>(unknown: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let near = names.map(|name| (strsim::jaro(unknown, name), name)).filter(|(near, _)| *near > 0.7);
    near.max_by(|one, other| one.0.total_cmp(&other.0)).map(|(_, name)| name)
}

/// The keys of a feed, of which none may be the name of a list: one that stands below `[lists]` would be a list.
const KEYS: [&str; 27] = [
    "id",
    "profile",
    "lowercase",
    "sha1",
    "fpr",
    "seed",
    "shards",
    "secret",
    "name",
    "homepage",
    "license",
    "public",
    "state",
    "sign",
    "former-keys",
    "expires-in",
    "grace",
    "lists",
    "allow",
    "tags",
    "allow-wins",
    "allow-suffixes",
    "min-length",
    "min-count",
    "max-removed",
    "dropped",
    "parts",
];

impl BasisFile {
    fn check(self, source: &Text) -> Result<Basis> {
        let BasisFile { id, public, state, sign, former_keys, shards } = self;
        let missing = |key, words| move || source.missing(key, words);
        let id = id.ok_or_else(missing("id", "`bloom-wasm feed init` adds one"))?;
        let is_id = id.get_ref().len() == 32 && base16ct::lower::decode_vec(id.get_ref()).is_ok();
        ensure!(is_id, source.at(id.span(), "`id` must be 32 lower-case hexadecimal digits"));
        let sign = sign.ok_or_else(missing(
            "sign",
            "name the files of the keys, or write sign = [] for a feed that nobody signs",
        ))?;
        let path = |given: Option<PathBuf>, name| source.path(&given.unwrap_or(PathBuf::from(name)));
        Ok(Basis {
            id: id.into_inner(),
            public: path(public, "public"),
            state: path(state, "state"),
            sign: sign.iter().map(|key| source.path(key)).collect(),
            former_keys,
            shards,
        })
    }
}

impl File {
    fn check(self, source: &Text, basis: &Basis) -> Result<Declared> {
        let whole = |words: &str| source.whole(words);
        let profile = self.profile(source)?;
        let people = self.people(source)?;
        let fpr = self.fpr.as_ref().map_or(profile.default_fpr(), |fpr| *fpr.get_ref());
        if let Some(given) = self.fpr.as_ref().filter(|_| !(fpr > 0.0 && fpr < 1.0)) {
            bail!(source.at(given.span(), "`fpr` must be above 0 and below 1"));
        }
        let seed = match (self.seed, &self.secret) {
            (Some(seed), _) => seed,
            (None, None) => 0,
            // As random as the id, and the same for ever.
            (None, Some(_)) => u64::from_str_radix(&basis.id[..16], 16)?,
        };
        let expires_in = self.expires_in.unwrap_or(7 * DAY);
        ensure!(expires_in > 0, whole("`expires-in` must be at least 1ms"));
        let omitted = Omitted {
            allow_suffixes: self.allow_suffixes,
            min_length: self.min_length,
            min_count: self.min_count,
        };
        let (is_password, sha1) = (matches!(profile, Profile::Password { .. }), self.sha1);
        for (is_wrong, words) in [
            (omitted.allow_suffixes && profile != Profile::Url, "`allow-suffixes` needs profile = \"url\""),
            (
                omitted.min_length > 0 && (sha1 || !is_password),
                "`min-length` needs profile = \"password\", without `sha1`: a hash doesn't tell how long its password is",
            ),
            (omitted.min_count > 0 && !sha1, "`min-count` needs `sha1`"),
            (self.allow_wins && self.allow.is_empty(), "`allow-wins` needs [allow]"),
        ] {
            ensure!(!is_wrong, whole(words));
        }
        if self.parts.is_some() {
            ensure!(basis.shards.is_some(), whole("`parts` needs `shards`"));
            let alone = self.lists.is_empty() && self.allow.is_empty() && !self.tags;
            ensure!(alone, whole("`parts` can't be combined with [lists], [allow] or `tags`"));
            let alone = !omitted.allow_suffixes && omitted.min_length == 0 && omitted.min_count == 0;
            ensure!(alone, whole("of `parts`, nothing can be left out"));
        } else {
            let words = "it has no list: name one below [lists], such as phishing = \"phishing.txt\"";
            ensure!(!self.lists.is_empty(), whole(words));
        }
        let lists = lists_of(&self.lists, self.tags, source)?;
        if let Some((name, _)) = self.allow.iter().find(|(_, ListEntry(table))| table.tag.is_some()) {
            let words = format!("{}: keys that must be absent have no tag", name.get_ref());
            bail!(source.at(name.span(), &words));
        }
        let allow = lists_of(&self.allow, false, source)?;
        if let Some(name) = allow.keys().find(|name| lists.contains_key(*name)) {
            bail!(whole(&format!("{name}: this is in [lists] and in [allow]")));
        }
        let mut dropped = BTreeSet::new();
        for name in self.dropped {
            let span = name.span();
            let name = name.into_inner();
            if lists.contains_key(&name) || allow.contains_key(&name) {
                bail!(source.at(span, &format!("`dropped` has {name}, and there is a list of this name")));
            }
            dropped.insert(name);
        }
        Ok(Declared {
            profile,
            fpr,
            seed,
            secret: self.secret.as_deref().map(|path| source.path(path)),
            people,
            expires_in,
            grace: self.grace.unwrap_or(DAY),
            sources: Sources {
                lists,
                allow,
                allow_wins: self.allow_wins,
                omitted,
                dropped,
                max_removed: self.max_removed.unwrap_or(MAX_REMOVED),
                this_run: None,
            },
            parts: self.parts.as_deref().map(|path| source.path(path)),
        })
    }

    fn profile(&self, source: &Text) -> Result<Profile> {
        const NAMES: &str = "\"raw\", \"url\" or \"password\"";
        let Some(given) = &self.profile else {
            bail!(source.whole(&format!("`profile` is missing: {NAMES}")))
        };
        let at = |words: &str| source.at(given.span(), words);
        let name = given.get_ref();
        ensure!(Profile::from_name(name, false, false).is_some(), at(&format!("`profile` must be {NAMES}")));
        ensure!(!(self.lowercase && self.sha1), at("`lowercase` and `sha1` exclude each other"));
        let profile = Profile::from_name(name, self.lowercase, self.sha1);
        profile.ok_or_else(|| at("`lowercase` and `sha1` need profile = \"password\""))
    }

    fn people(&self, source: &Text) -> Result<People> {
        let given = [("name", &self.name), ("homepage", &self.homepage), ("license", &self.license)];
        for (key, text) in given.into_iter().filter_map(|(key, text)| Some((key, text.as_ref()?))) {
            let words = format!("`{key}` must have 1 to {LONGEST_TEXT} bytes");
            ensure!((1..=LONGEST_TEXT).contains(&text.get_ref().len()), source.at(text.span(), &words));
        }
        if let Some(url) = &self.homepage {
            let words = "`homepage` must be a URL such as https://lists.example/, in ASCII";
            ensure!(manifest::is_homepage(url.get_ref()), source.at(url.span(), words));
        }
        let text = |text: &Option<Spanned<String>>| text.as_ref().map(|text| text.get_ref().clone());
        Ok(People { name: text(&self.name), homepage: text(&self.homepage), license: text(&self.license) })
    }
}

/// With `tags`, each list has its name as its tag, unless it is given another.
fn lists_of(
    entries: &BTreeMap<Spanned<String>, ListEntry>,
    tags: bool,
    source: &Text,
) -> Result<BTreeMap<String, List>> {
    let list = |(name, ListEntry(table)): (&Spanned<String>, &ListEntry)| {
        let at = |words: &str| source.at(name.span(), words);
        let name = name.get_ref();
        let misplaced =
            format!("`{name}` is a key of the feed, and here it would be a list: move it above [lists]");
        ensure!(!KEYS.contains(&&name[..]), at(&misplaced));
        ensure!((1..=LONGEST_TEXT).contains(&name.len()), at("the name of a list must have 1 to 255 bytes"));
        let &ListTable { ref file, ref tag, allow_empty, min_keys, max_removed } = table;
        let is_file = !file.as_os_str().is_empty() && file != Path::new("-");
        ensure!(is_file, at(&format!("{name}: each run reads this list, so it must be a file")));
        let tag = tag.clone().or(tags.then(|| name.clone()));
        let is_tag = tag.as_ref().map_or(Ok(()), |tag| require_tag_name(tag));
        is_tag.map_err(|error| at(&format!("{name}: {error}")))?;
        let (file, told) = (source.path(file), file.clone());
        Ok((name.clone(), List { file, told, tag, allow_empty, min_keys, max_removed }))
    };
    entries.iter().map(list).collect()
}

#[cfg(test)]
mod tests;
