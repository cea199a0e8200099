//! Lists: which keys a line has, what is left out and why, and which keys are in two lists.

use super::{Input, Platform, Skip, password, url, url_list};
use crate::digests::{sort, subtract};
use crate::error::{Error, Result};
use crate::hash::Hashing;
use crate::profile::Profile;
use crate::vectors::{append, copied, push, zeroed};

/// The most bytes of a line, without its end. Lists come from elsewhere, and a file without line ends would fill the
/// memory.
pub const MAX_LINE: usize = 1 << 20;

/// How the lines of a list become keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Rules {
    /// What the keys are. With SHA-1, a list of passwords is a list of hashes.
    pub profile: Profile,
    /// Passwords with fewer characters are left out.
    pub min_length: u64,
    /// Hashes with a lower count are left out.
    pub min_count: u64,
}

impl From<Profile> for Rules {
    /// The rules that leave nothing out.
    fn from(profile: Profile) -> Self {
        Rules { profile, ..Default::default() }
    }
}

impl Rules {
    /// Fails if the rules contradict each other.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`]
    pub fn validate(&self) -> Result<()> {
        let (passwords, lowercase, hashes) = match self.profile {
            Profile::Password { lowercase, sha1 } => (true, lowercase, sha1),
            _ => (false, false, false),
        };
        Error::unless(!(hashes && lowercase), "a list of hashes can't be lower-cased")?;
        Error::unless(self.min_length == 0 || passwords, "only passwords can have a minimum length")?;
        Error::unless(self.min_length == 0 || !hashes, "a hash doesn't tell how long its password is")?;
        Error::unless(self.min_count == 0 || hashes, "only a list of hashes can have a minimum count")
    }

    /// Like [`Rules::read`], for a line of a text: one of more than [`MAX_LINE`] bytes is skipped.
    ///
    /// # Errors
    /// Those of `take`, and [`Error::TooLarge`] without the memory.
    pub fn read_line(
        &self,
        platform: &impl Platform,
        line: &[u8],
        take: &mut dyn FnMut(Result<Input, Skip>) -> Result<()>,
    ) -> Result<()> {
        if line.len() > MAX_LINE { take(Err(Skip::TooLong)) } else { self.read(platform, line, take) }
    }

    /// The one key in a line.
    ///
    /// # Errors
    /// [`Error::InvalidKey`] if it gives none or several, and [`Error::TooLarge`] without the memory.
    pub fn only_key(&self, platform: &impl Platform, line: &[u8]) -> Result<Vec<u8>> {
        let mut key = None;
        self.read(platform, line, &mut |input| match key.replace(copied(input.map_err(no_key)?.own())?) {
            None => Ok(()),
            Some(_) => Err(Error::InvalidKey { reason: "this gives several keys, not one" }),
        })?;
        key.ok_or(NO_KEY)
    }

    /// Hands each key in a line to `take`, or the reason why there is none. For a comment in a list of URLs, `take`
    /// isn't called. The line has no line end.
    ///
    /// # Errors
    /// Those of `take`, and [`Error::TooLarge`] without the memory.
    pub fn read(
        &self,
        platform: &impl Platform,
        line: &[u8],
        take: &mut dyn FnMut(Result<Input, Skip>) -> Result<()>,
    ) -> Result<()> {
        match self.profile {
            Profile::Raw => take(Ok(Input::Key(line.into()))),
            Profile::Url => url_list::entries(line).try_for_each(|entry| {
                take(match entry {
                    Ok(entry) => {
                        let url = url::readings(platform, entry)?;
                        // In an adblock rule or a hosts file, the entry is only a part of the line.
                        let is_whole = entry.len() == line.trim_ascii().len();
                        match url.canonical() {
                            Some(url) if !url.has_possible_host() => Err(Skip::NotCheckable),
                            Some(url) if !is_whole && url.is_single_label() => Err(Skip::SingleLabel),
                            Some(_) => Ok(Input::Url(url)),
                            None => Err(Skip::NotCheckable),
                        }
                    }
                    Err(skip) => Err(skip),
                })
            }),
            Profile::Password { sha1: true, .. } => take(match password::hash_line(line) {
                Ok((_, count)) if count < self.min_count => Err(Skip::TooRare),
                Ok((hash, _)) => Ok(Input::Key(copied(&hash)?.into())),
                Err(skip) => Err(skip),
            }),
            Profile::Password { lowercase, sha1: false } => {
                let short =
                    self.min_length > 0 && (password::length(platform, line)? as u64) < self.min_length;
                take(match short {
                    true => Err(Skip::TooShort),
                    false => Ok(Input::Key(password::normal(platform, line, lowercase)?)),
                })
            }
        }
    }
}

/// The error for a blank line, or a comment.
pub(crate) const NO_KEY: Error = Error::InvalidKey { reason: "this gives no key" };

/// The error for a line that gives no key where one is needed.
pub(crate) fn no_key(skip: Skip) -> Error {
    Error::InvalidKey { reason: skip.words() }
}

/// A key that is both a member and allowed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict<P = ()> {
    /// The key.
    pub key: Vec<u8>,
    /// Its digest.
    pub digest: u64,
    /// Whether it is removed from the members. Otherwise it stays "maybe present".
    pub removed: bool,
    /// Where it first occurs among the allowed keys.
    pub place: P,
}

/// A list of allowed keys: they must be "definitely absent". Finds those that are also members.
#[derive(Debug, Clone)]
pub struct Allowlist<P = ()> {
    hashing: Hashing,
    wins: bool,
    digests: Vec<u64>,
    conflicts: Vec<Conflict<P>>,
}

impl<P> Allowlist<P> {
    /// An empty list. With `wins`, a key that is listed and allowed will be removed from the members.
    pub fn new(hashing: impl Into<Hashing>, wins: bool) -> Self {
        Allowlist { hashing: hashing.into(), wins, digests: Vec::new(), conflicts: Vec::new() }
    }

    /// Whether nothing was added.
    pub fn is_empty(&self) -> bool {
        self.digests.is_empty()
    }

    /// Adds all keys of an input. `members` are sorted digests. Only a URL's own key can be removed from them, because
    /// its other keys also belong to other URLs.
    ///
    /// # Errors
    /// [`Error::TooLarge`] without the memory.
    pub fn push(&mut self, members: &[u64], input: &Input, place: impl Fn() -> P) -> Result<()> {
        for (i, key) in input.keys().enumerate() {
            let digest = self.hashing.digest(key);
            push(&mut self.digests, digest)?;
            if members.binary_search(&digest).is_ok() {
                let removed = self.wins && i == 0;
                let conflict = Conflict { key: copied(key)?, digest, removed, place: place() };
                push(&mut self.conflicts, conflict)?;
            }
        }
        Ok(())
    }

    /// Appends the list from later lines.
    ///
    /// # Errors
    /// [`Error::TooLarge`] without the memory.
    pub fn merge(&mut self, later: Self) -> Result<()> {
        append(&mut self.digests, &later.digests)?;
        later.conflicts.into_iter().try_for_each(|conflict| push(&mut self.conflicts, conflict))
    }

    /// The allowed digests, and the conflicts: each key once, in the order of the list.
    ///
    /// # Errors
    /// [`Error::TooLarge`] without the memory.
    pub fn finish(mut self) -> Result<(Vec<u64>, Vec<Conflict<P>>)> {
        let mut different = Vec::new();
        self.conflicts.iter().try_for_each(|conflict| push(&mut different, conflict.digest))?;
        sort(&mut different)?;
        // For each conflict, whether it was seen, and whether it is removed.
        let mut states: Vec<(bool, bool)> = zeroed(different.len())?;
        let place = |conflict: &Conflict<P>| different.partition_point(|&digest| digest < conflict.digest);
        for conflict in &self.conflicts {
            states[place(conflict)].1 |= conflict.removed;
        }
        self.conflicts.retain_mut(|conflict| {
            let (met, removed) = &mut states[place(conflict)];
            conflict.removed = *removed;
            !std::mem::replace(met, true)
        });
        Ok((self.digests, self.conflicts))
    }
}

/// Removes the keys of those conflicts that say so from the sorted members.
///
/// # Errors
/// [`Error::TooLarge`] without the memory.
pub fn remove_conflicts<P>(members: &mut Vec<u64>, conflicts: &[Conflict<P>]) -> Result<()> {
    let mut gone = Vec::new();
    conflicts
        .iter()
        .filter(|conflict| conflict.removed)
        .try_for_each(|conflict| push(&mut gone, conflict.digest))?;
    sort(&mut gone)?;
    subtract(members, &gone);
    Ok(())
}
