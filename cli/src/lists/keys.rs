//! Lists for the tool: lines to keys on all cores, and the report about lines that give no keys.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Result, anyhow, bail, ensure};
use bloom_wasm::Profile;
use bloom_wasm::keys::native::Native;
use bloom_wasm::keys::{Input, Skip, list};

use super::lines::{self, Place};
use super::look::{Hash, has_bare_ends, is_page, is_url};
use crate::args::omitted::Omitted;
use crate::files::read::name;
use crate::streams::Streams;
use crate::text::{counted, grouped, quoted};

/// How many notices are shown.
const SHOWN: usize = 10;

/// Why an input is left out: it is a public suffix and nothing more. A host that matches only a wildcard rule, such as a
/// single machine in a cloud, belongs to one customer, so it doesn't count unless a registry made the rule. Nothing below a
/// suffix of one label is looked up, so a whole URL of it may be meant.
fn suffix_skip(input: &Input, line: &[u8]) -> Option<Skip> {
    let Input::Url(url) = input else { return None };
    let url = url.canonical()?;
    let host = str::from_utf8(url.host()).ok()?;
    if input.own().len() != host.len() + 1 {
        return None;
    }
    let parent = host.find('.').map_or("", |dot| &host[dot..]);
    let is_suffix = match suffix(host) {
        Some(psl2::Type::Private) => suffix(&format!("no-such-name{parent}")).is_none(),
        suffix => suffix.is_some(),
    };
    match (is_suffix, url.is_single_label()) {
        (true, false) => Some(Skip::PublicSuffix),
        (true, true) if !line.windows(3).any(|bytes| bytes == b"://") => Some(Skip::SingleLabel),
        _ => None,
    }
}

/// Whether the key of a URL may be a row of a table.
fn is_row(key: &[u8]) -> bool {
    key.contains(&b',') || key.windows(3).any(|bytes| bytes == b"%20")
}

/// Who made the rule that makes a host a public suffix; none if it isn't one.
fn suffix(host: &str) -> Option<psl2::Type> {
    psl2::lookup(host).filter(psl2::Domain::is_public_suffix)?.typ()
}

/// How the lines of a list were read.
#[derive(Clone, Copy, Default)]
struct LineCounts {
    /// The entries that gave a key, also a repeated one.
    keys: u64,
    /// Those that gave none, except for those that were to be left out.
    skipped: u64,
}

/// What the lists contained besides keys.
#[derive(Default)]
pub struct Summary {
    comments: u64,
    not_utf8: u64,
    lines: LineCounts,
    /// The same for each list, with its name.
    lists: Vec<(String, LineCounts)>,
    /// The lists that begin as a page of HTML or XML does.
    pages: Vec<String>,
    /// The lines that look like something other than they are read as.
    urls: u64,
    commas: u64,
    hashes: u64,
    other_hashes: u64,
    /// The number of skipped lines for each reason, in words.
    skipped: BTreeMap<&'static str, u64>,
    notices: Notices,
}

/// What is printed on standard error after the reading, so that it doesn't break the progress bar: the first ten
/// notices and how many more there are.
#[derive(Default)]
pub struct Notices {
    lines: Vec<String>,
    more: u64,
}

impl Notices {
    pub fn push(&mut self, line: impl FnOnce() -> String) {
        if self.lines.len() < SHOWN { self.lines.push(line()) } else { self.more += 1 }
    }

    pub fn print(&self, streams: &mut Streams) {
        let more = (self.more > 0).then(|| format!("and {} more", grouped(self.more)));
        for line in self.lines.iter().chain(&more) {
            streams.warn(line);
        }
    }
}

/// Why a line was skipped, and what would keep it.
fn words(skip: Skip) -> &'static str {
    match skip {
        Skip::PublicSuffix => "a public suffix; --allow-suffixes keeps it",
        skip => skip.words(),
    }
}

impl Summary {
    fn skip(&mut self, skip: Skip, line: &[u8], place: Place) {
        *self.skipped.entry(words(skip)).or_default() += 1;
        // Nobody needs to see what they asked to leave out.
        if !matches!(skip, Skip::TooShort | Skip::TooRare) {
            self.lines.skipped += 1;
            self.notices.push(|| format!("{}: skipped, {}: {}", place(), words(skip), quoted(line)));
        }
    }

    /// Appends what later lines contained.
    pub fn merge(&mut self, later: Summary) {
        self.comments += later.comments;
        self.not_utf8 += later.not_utf8;
        self.pages.extend(later.pages);
        self.lists.extend(later.lists);
        self.urls += later.urls;
        self.commas += later.commas;
        self.hashes += later.hashes;
        self.other_hashes += later.other_hashes;
        self.lines.keys += later.lines.keys;
        self.lines.skipped += later.lines.skipped;
        for (reason, count) in later.skipped {
            *self.skipped.entry(reason).or_default() += count;
        }
        for line in later.notices.lines {
            self.notices.push(|| line);
        }
        self.notices.more += later.notices.more;
    }

    /// How many entries gave a key, also a repeated one.
    pub fn entries(&self) -> u64 {
        self.lines.keys
    }

    /// How many entries gave none for each reason, except for those that were to be left out.
    pub fn skipped(&self) -> BTreeMap<String, u64> {
        let is_meant =
            |reason: &str| [Skip::TooShort, Skip::TooRare].iter().any(|skip| words(*skip) == reason);
        let skipped = self.skipped.iter().filter(|(reason, _)| !is_meant(reason));
        skipped.map(|(reason, count)| ((*reason).to_owned(), *count)).collect()
    }

    /// Prints the first of the lines that were skipped.
    pub fn print_notices(&self, streams: &mut Streams) {
        self.notices.print(streams);
    }

    /// Fails if a list is a page.
    pub fn require_no_page(&self) -> Result<()> {
        let page = self.pages.first();
        page.map_or(Ok(()), |list| Err(anyhow!("{list}: this is a page of HTML or XML, not a list")))
    }

    /// A summary in words, each part after a comma.
    pub fn in_words(&self) -> String {
        let mut words = String::new();
        if self.comments > 0 {
            words += &format!(", {} skipped", counted(self.comments, "comment", "comments"));
        }
        if self.not_utf8 > 0 {
            words += &format!(", {} not UTF-8 and kept as they are", grouped(self.not_utf8));
        }
        for (reason, count) in &self.skipped {
            words += &format!(", {} skipped ({reason})", grouped(*count));
        }
        words
    }

    /// Fails if one of the lists is more likely a download that failed than a list: an error page, or nothing at all.
    /// `allow_empty` accepts lists without lines, but not lists whose lines were all skipped.
    pub fn require_lists(&self, allow_empty: bool) -> Result<()> {
        self.require_no_page()?;
        for (name, LineCounts { keys, skipped }) in &self.lists {
            match (keys, skipped) {
                (0, 0) if !allow_empty => {
                    bail!("{name}: this list gave no key; `build --allow-empty` allows an empty list")
                }
                (0, 1..) => bail!(
                    "{name}: this list gave no key, since its lines were skipped; is it an error page, or of another \
                     profile?"
                ),
                _ => {}
            }
        }
        Ok(())
    }

    /// Warns if many keys look like something other than they are read as.
    pub fn print_hint(&self, streams: &mut Streams) {
        let keys = self.lines.keys;
        // Many lists have a few hosts, but only lists of hashes have hashes.
        for (like, least, words) in [
            (
                self.commas,
                (keys / 10 * 9).max(2),
                "rows of a table, and no URL is at such a key: leave only the column of the URLs",
            ),
            (self.urls, keys / 2, "URLs or hosts: only the profile url lets readers ask `hasUrl`"),
            (
                self.hashes,
                keys / 10,
                "SHA-1 hashes: only the profile password with sha1 lets readers ask \
                 `hasPassword` for their passwords",
            ),
            (
                self.other_hashes,
                keys / 10,
                "NTLM hashes, or SHA-1 hashes without their first digits: no reader can ask for their passwords",
            ),
        ] {
            if like > least {
                streams.warn(&format!("{} of {} keys look like {words}", grouped(like), grouped(keys)));
            }
        }
    }
}

/// Calls `take` with each input that the profile finds in the lines of the lists, and with its place. With a profile
/// with SHA-1, the lines are hashes. Each thread collects into its own `T`, made by `new`; `merge` gets these in the
/// order of the lines. Prints nothing: that is for whoever knows whether the lines that were skipped are news.
pub fn for_each<T: Send>(
    paths: &[PathBuf],
    profile: Profile,
    omitted: &Omitted,
    streams: &mut Streams,
    new: impl Fn() -> T + Sync,
    take: impl Fn(&mut T, &Input, Place) -> bloom_wasm::error::Result<()> + Sync,
    mut merge: impl FnMut(T) -> bloom_wasm::error::Result<()>,
) -> Result<Summary> {
    let rules = list::Rules { profile, min_length: omitted.min_length, min_count: omitted.min_count };
    let mut summary = Summary::default();
    let mut counts = vec![LineCounts::default(); paths.len()];
    let collect = |chunk: &lines::Chunk| {
        let (mut taken, mut summary) = (new(), Summary::default());
        if let Some(beginning) = chunk.beginning() {
            let name = || name(&paths[chunk.list]);
            ensure!(
                !has_bare_ends(beginning),
                "{}: its lines end in CR alone; convert them first, with `tr '\\r' '\\n'`",
                name()
            );
            if is_page(beginning, profile == Profile::Url) {
                summary.pages.push(name());
            }
        }
        chunk.for_each_line(|line, place| {
            let kept =
                matches!(profile, Profile::Password { sha1: false, .. }) && line.len() <= list::MAX_LINE;
            summary.not_utf8 += u64::from(kept && str::from_utf8(line).is_err());
            // In a list of URLs, a line without an entry is a comment.
            let mut comment = profile == Profile::Url;
            if profile == Profile::Raw && line.starts_with(b"#") {
                summary.comments += 1;
                return Ok(());
            }
            let hash = if profile.password().1 { None } else { Hash::of(line, kept) };
            match hash {
                Some(Hash::Sha1) => summary.hashes += 1,
                Some(Hash::Other) => summary.other_hashes += 1,
                None => summary.urls += u64::from(profile == Profile::Raw && is_url(line)),
            }
            rules.read_line(&Native, line, &mut |input| {
                comment = false;
                let suffix =
                    |input: &Input| if omitted.allow_suffixes { None } else { suffix_skip(input, line) };
                match input.and_then(|input| suffix(&input).map_or(Ok(input), Err)) {
                    Ok(input) => {
                        summary.lines.keys += 1;
                        summary.commas += u64::from(profile == Profile::Url && is_row(input.own()));
                        take(&mut taken, &input, place)?;
                    }
                    Err(skip) => summary.skip(skip, line, place),
                }
                Ok(())
            })?;
            summary.comments += u64::from(comment);
            Ok(())
        })?;
        Ok((chunk.list, taken, summary))
    };
    lines::for_each_chunk(paths, streams.input, collect, |(list, taken, more)| {
        counts[list].keys += more.lines.keys;
        counts[list].skipped += more.lines.skipped;
        summary.merge(more);
        merge(taken)
    })?;
    summary.lists = paths.iter().map(|path| name(path)).zip(counts).collect();
    Ok(summary)
}
