//! Lists: what the keys in a line are, what is left out and why, and what is in two lists.

use super::url::Canonical;
use super::{Input, Platform, Skip, password, url, url_list};
use crate::digests::{sort, subtract};
use crate::error::{Error, Result};
use crate::hash::digest;
use crate::profile::Profile;
use crate::vectors::{copied, push, zeroed};

/// How the lines of a list become keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Rules {
    /// What the keys are. A list of passwords by their SHA-1 is one of hashes.
    pub profile: Profile,
    /// Passwords of fewer characters are left out.
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
        Error::unless(self.min_length == 0 || passwords, "only passwords can have a least length")?;
        Error::unless(self.min_length == 0 || !hashes, "a hash doesn't tell the length of its password")?;
        Error::unless(self.min_count == 0 || hashes, "only a list of hashes can have a least count")
    }

    /// Hands each key in a line to `take`, or why there is none. A comment in a list of URLs has neither. The line comes
    /// without its end.
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
                    Ok(entry) => Some(url::readings(platform, entry)?)
                        .filter(|url| url.canonical().is_some_and(Canonical::has_possible_host))
                        .map(Input::Url)
                        .ok_or(Skip::NotCheckable),
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

/// A key that is a member and allowed too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict<P = ()> {
    /// The key.
    pub key: Vec<u8>,
    /// Its digest.
    pub digest: u64,
    /// Whether it is no member any more; else it is still answered with "maybe present".
    pub removed: bool,
    /// Where it was met first among the allowed ones.
    pub place: P,
}

/// Keys that must be answered with "definitely absent", held against the members: a list of allowed keys.
#[derive(Debug, Clone)]
pub struct Allowlist<P = ()> {
    seed: u64,
    wins: bool,
    digests: Vec<u64>,
    conflicts: Vec<Conflict<P>>,
}

impl<P> Allowlist<P> {
    /// Of no keys yet. With `wins` a key that is in both lists is to be no member any more.
    pub fn new(seed: u64, wins: bool) -> Self {
        Allowlist { seed, wins, digests: Vec::new(), conflicts: Vec::new() }
    }

    /// Takes all keys of an input. The members are digests, sorted. Of a URL only its own key can be taken out of them: its
    /// other keys are those of other URLs too.
    ///
    /// # Errors
    /// [`Error::TooLarge`] without the memory.
    pub fn push(&mut self, members: &[u64], input: &Input, place: impl Fn() -> P) -> Result<()> {
        for (i, key) in input.keys().enumerate() {
            let digest = digest(self.seed, key);
            push(&mut self.digests, digest)?;
            if members.binary_search(&digest).is_ok() {
                let removed = self.wins && i == 0;
                let conflict = Conflict { key: copied(key)?, digest, removed, place: place() };
                push(&mut self.conflicts, conflict)?;
            }
        }
        Ok(())
    }

    /// Appends what was met in later lines.
    pub fn merge(&mut self, later: Self) {
        self.digests.extend(later.digests);
        self.conflicts.extend(later.conflicts);
    }

    /// The allowed digests, and the conflicts, each key once, in the order in which they were met.
    ///
    /// # Errors
    /// [`Error::TooLarge`] without the memory.
    pub fn finish(mut self) -> Result<(Vec<u64>, Vec<Conflict<P>>)> {
        let mut different = Vec::new();
        self.conflicts.iter().try_for_each(|conflict| push(&mut different, conflict.digest))?;
        sort(&mut different)?;
        // Of each, whether it was met, and whether it is removed.
        let mut states: Vec<(bool, bool)> = zeroed(different.len())?;
        let place = |conflict: &Conflict<P>| different.binary_search(&conflict.digest).unwrap_or_default();
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

/// Takes the conflicts that say so out of the members, which are sorted.
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
