//! Lines of lists, and inputs to check, to the keys that a profile makes of them.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::Result;
use bloom_wasm::check::url::Canonical;
use bloom_wasm::check::{Skip, input, list, password};
use bloom_wasm::format::Profile;

use super::{grouped, lists};

/// How many lines of a sort are shown.
const SHOWN: usize = 10;

/// What is left out of lists, when a blob is built and when it is verified.
#[derive(clap::Args)]
pub struct Rules {
    /// Keep bare public suffixes, such as co.uk and github.io, with --profile url
    #[arg(long)]
    pub allow_suffixes: bool,
    /// Leave out passwords of fewer characters, with --profile password
    #[arg(long, value_name = "N", default_value = "0")]
    pub min_length: usize,
    /// Leave out hashes with a lower count, with --sha1-hex
    #[arg(long, value_name = "N", default_value = "0")]
    pub min_count: u64,
}

impl Rules {
    /// Nothing is left out.
    pub fn none() -> Self {
        Rules { allow_suffixes: true, min_length: 0, min_count: 0 }
    }
}

/// Where a line stands, as `list:line`.
pub type Place<'a> = &'a dyn Fn() -> String;

/// What a profile makes of an input: keys, of which the first is its own, the one that a list holds.
pub enum Input<'a> {
    Url(Canonical<'static>),
    Key(Cow<'a, [u8]>),
}

impl<'a> Input<'a> {
    /// An input to check; none if it can't be a key.
    pub fn parse(profile: Profile, input: &'a [u8]) -> Result<Option<Self>> {
        Ok(match profile {
            Profile::Raw => Some(Input::Key(input.into())),
            Profile::Url => input::url(input)?.map(Input::Url),
            Profile::Password { lowercase, sha1 } => {
                let normal = input::password(input, lowercase);
                Some(Input::Key(if sha1 { password::sha1(&normal).to_vec().into() } else { normal }))
            }
        })
    }

    /// The keys to test.
    pub fn keys(&self) -> Vec<&[u8]> {
        match self {
            Input::Url(url) => url.expressions().collect(),
            Input::Key(key) => vec![key],
        }
    }

    /// The key that a list holds.
    pub fn own(&self) -> &[u8] {
        match self {
            Input::Url(url) => url.expressions().next().unwrap_or_default(),
            Input::Key(key) => key,
        }
    }

    /// Whether it is a public suffix and nothing more. What is one only because any name in its place would be, as a
    /// single machine of a cloud is, belongs to one customer: it isn't, unless registries made the rule.
    fn is_suffix(&self) -> bool {
        let Input::Url(url) = self else { return false };
        let host = url.host();
        if self.own().len() != host.len() + 1 {
            return false;
        }
        let parent = host.iter().position(|&byte| byte == b'.').map_or(&b""[..], |dot| &host[dot..]);
        match suffix(host) {
            Some(psl::Type::Private) => suffix(&[b"no-such-name", parent].concat()).is_none(),
            suffix => suffix.is_some(),
        }
    }
}

/// Who made the rule by which a host is a public suffix; none if it isn't one.
fn suffix(host: &[u8]) -> Option<psl::Type> {
    psl::suffix(host).filter(|suffix| suffix.as_bytes() == host)?.typ()
}

/// What reading lists has met beside keys.
#[derive(Default)]
pub struct Met {
    comments: u64,
    not_utf8: u64,
    /// Lines by the reason in words.
    skipped: BTreeMap<&'static str, u64>,
    notices: Notices,
}

/// What standard error gets once the reading is done, so as not to tear a progress bar: the first ten, and how many more.
#[derive(Default)]
pub struct Notices {
    lines: Vec<String>,
    more: u64,
}

impl Notices {
    pub fn push(&mut self, line: impl FnOnce() -> String) {
        if self.lines.len() < SHOWN { self.lines.push(line()) } else { self.more += 1 }
    }

    pub fn print(&self) {
        let more = (self.more > 0).then(|| format!("and {} more", grouped(self.more)));
        for line in self.lines.iter().chain(&more) {
            // A closed standard error is nobody's failure.
            let _ = writeln!(io::stderr(), "{line}");
        }
    }
}

impl Met {
    fn skip(&mut self, skip: Skip, line: &[u8], place: Place) {
        *self.skipped.entry(in_words(skip)).or_default() += 1;
        // Nobody wants to see what they asked to leave out.
        if !matches!(skip, Skip::TooShort | Skip::TooRare) {
            self.notices.push(|| format!("{}: skipped, {}: {}", place(), in_words(skip), shown(line)));
        }
    }

    /// Appends what was met in later lines.
    fn merge(&mut self, later: Met) {
        self.comments += later.comments;
        self.not_utf8 += later.not_utf8;
        for (reason, count) in later.skipped {
            *self.skipped.entry(reason).or_default() += count;
        }
        for line in later.notices.lines {
            self.notices.push(|| line);
        }
        self.notices.more += later.notices.more;
    }

    /// In words, each after a comma.
    pub fn summary(&self) -> String {
        let mut words = String::new();
        if self.comments > 0 {
            words += &format!(", {} comments skipped", grouped(self.comments));
        }
        if self.not_utf8 > 0 {
            words += &format!(", {} not UTF-8 and kept as they are", grouped(self.not_utf8));
        }
        for (reason, count) in &self.skipped {
            words += &format!(", {} skipped ({reason})", grouped(*count));
        }
        words
    }
}

/// A line for people: no longer than they read, and without what a terminal would obey.
pub fn shown(line: &[u8]) -> String {
    let line: String = String::from_utf8_lossy(line).chars().take(100).collect();
    format!("{line:?}")
}

fn in_words(skip: Skip) -> &'static str {
    match skip {
        Skip::NotCheckable => "no URL and no host",
        Skip::Pattern => "an adblock rule that isn't ||host^",
        Skip::Local => "this computer's own name",
        Skip::PublicSuffix => "a public suffix; --allow-suffixes keeps it",
        Skip::NotAHash => "no SHA-1 hash in hexadecimal",
        Skip::TooShort => "shorter than asked for",
        Skip::TooRare => "rarer than asked for",
    }
}

/// Calls `take` with what the profile makes of every line of every list, and its place. Lines of lists for a profile
/// with SHA-1 are hashes. Each thread collects in a `T` of its own; `merge` gets them in the order of the lines.
pub fn for_each<T: Default + Send>(
    paths: &[PathBuf],
    profile: Profile,
    rules: &Rules,
    take: impl Fn(&mut T, &Input, Place) + Sync,
    mut merge: impl FnMut(T),
) -> Result<Met> {
    let mut met = Met::default();
    let collect = |chunk: &lists::Chunk| {
        let (mut taken, mut met) = Default::default();
        chunk.for_each_line(|line, place| {
            line_keys(line, place, profile, rules, &mut met, |input| take(&mut taken, input, place))
        })?;
        Ok((taken, met))
    };
    lists::for_each_chunk(paths, collect, |(taken, more)| {
        merge(taken);
        met.merge(more);
    })?;
    met.notices.print();
    Ok(met)
}

/// Calls `take` with what the profile makes of a line.
fn line_keys(
    line: &[u8],
    place: Place,
    profile: Profile,
    rules: &Rules,
    met: &mut Met,
    mut take: impl FnMut(&Input),
) -> Result<()> {
    match profile {
        Profile::Raw if line.starts_with(b"#") => met.comments += 1,
        Profile::Raw => take(&Input::Key(line.into())),
        Profile::Url => {
            let mut any = false;
            for entry in list::entries(line) {
                any = true;
                let input = match entry {
                    Ok(entry) => input::url(entry)?.map(Input::Url).ok_or(Skip::NotCheckable),
                    Err(skip) => Err(skip),
                };
                match input {
                    Ok(input) if input.is_suffix() && !rules.allow_suffixes => {
                        met.skip(Skip::PublicSuffix, line, place);
                    }
                    Ok(input) => take(&input),
                    Err(skip) => met.skip(skip, line, place),
                }
            }
            met.comments += u64::from(!any);
        }
        Profile::Password { sha1: true, .. } => match password::hash_line(line) {
            Ok((_, count)) if count < rules.min_count => met.skip(Skip::TooRare, line, place),
            Ok((hash, _)) => take(&Input::Key(hash.as_slice().into())),
            Err(skip) => met.skip(skip, line, place),
        },
        Profile::Password { lowercase, sha1: false } => {
            met.not_utf8 += u64::from(str::from_utf8(line).is_err());
            let key = input::password(line, lowercase);
            // As it is typed, not as it is lower-cased: that may take more characters.
            let typed = input::password(line, false);
            if String::from_utf8_lossy(&typed).chars().count() < rules.min_length {
                met.skip(Skip::TooShort, line, place);
            } else {
                take(&Input::Key(key));
            }
        }
    }
    Ok(())
}
