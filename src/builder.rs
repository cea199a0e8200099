//! From lists of keys to a filter.

use crate::digests::{sort, subtract};
use crate::error::{Error, Result};
use crate::filter::Filter;
use crate::hash::{Hashing, Secret};
use crate::keys::entries::Entries;
use crate::keys::list::{Allowlist, Conflict, Rules, remove_conflicts};
use crate::keys::{Input, Platform, Skip};
use crate::kind::{Kind, KindOptions};
use crate::layers::tags::require_tag_name;
use crate::layers::{Stack, Tagged};
use crate::profile::Profile;
use crate::vectors::{append, copied, push};

/// Calls its argument with each line of a list.
pub(crate) type Lines<'a> = Box<dyn FnOnce(&mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> + 'a>;

type OnSkip<'a> = Box<dyn FnMut(&[u8], Skip) + 'a>;
type OnConflict<'a> = Box<dyn FnMut(&[u8], bool) + 'a>;

/// What to build, and of which keys. Nothing is read before [`Builder::build`], so options may come in any order. A key
/// takes 8 bytes once it is read, however long it is, and 16 to 30 while the filter is built; with tags, up to 45. For a
/// ribbon filter of URLs it takes 9 and, for each key that may cover it, 8 more: about 20 if it is a host, and 75 if it is
/// a page.
///
/// ```
/// use bloom_wasm::{Builder, Profile};
///
/// let list = "# phishing\nevil.example\nhttps://shop.example/login\n";
/// let filter = Builder::new(Profile::Url)
///     .fpr(1e-6)
///     .keys(list.lines())
///     .tag("malware", ["bad.example"])
///     .allow(["good.example"])
///     .build()?;
///
/// assert!(filter.has_url("http://www.evil.example/")?);
/// assert_eq!(filter.url_tags("http://bad.example/")?, ["malware"]);
/// assert!(!filter.has_url("http://good.example/")?);
/// # Ok::<(), bloom_wasm::Error>(())
/// ```
#[must_use = "nothing is built before `build`"]
pub struct Builder<'a> {
    pub(crate) rules: Rules,
    pub(crate) options: KindOptions,
    pub(crate) fpr: f64,
    seed: u64,
    secret: Option<Secret>,
    pub(crate) name: Option<String>,
    pub(crate) created_at: Option<u64>,
    /// The lists of members, each with its tag if it has one.
    lists: Vec<(Option<String>, Lines<'a>)>,
    allowed: Vec<Lines<'a>>,
    allow_wins: bool,
    on_skip: Option<OnSkip<'a>>,
    on_conflict: Option<OnConflict<'a>>,
}

impl<'a> Builder<'a> {
    /// A ribbon filter, the smallest kind, of keys of this profile, at the profile's [default
    /// rate](Profile::default_fpr), and with the seed 0.
    pub fn new(profile: Profile) -> Self {
        Builder {
            rules: profile.into(),
            options: Kind::Ribbon.into(),
            fpr: profile.default_fpr(),
            seed: 0,
            secret: None,
            name: None,
            created_at: None,
            lists: Vec::new(),
            allowed: Vec::new(),
            allow_wins: false,
            on_skip: None,
            on_conflict: None,
        }
    }

    /// Another kind, with its defaults or with [options of its own](KindOptions). Unless they say how many keys a Bloom,
    /// counting or cuckoo filter is for, it is full with the keys that it is built from.
    pub fn kind(mut self, kind: impl Into<KindOptions>) -> Self {
        self.options = kind.into();
        self
    }

    /// The chance that what isn't on the list is "maybe present", below 1: that of a key or, for URLs, of a whole check of a
    /// typical one; [`FilterInfo::max_url_fpr`](crate::FilterInfo::max_url_fpr) has the worst. The lowest possible one
    /// depends on the kind and the number of keys, and is near 1e-9. Give 1e-6 to block a page or to skip it for good, 1e-3
    /// to warn, and 1e-2 to ask the full list or a database after a "maybe".
    pub fn fpr(mut self, fpr: f64) -> Self {
        self.fpr = fpr;
        self
    }

    /// The seed of the hash, 0 unless it is given. Equal keys, options and seeds give equal bytes. If others choose keys,
    /// take a random one.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Makes the filter keyed: whoever doesn't have the secret can't ask. Take a random [seed](Self::seed) for each filter.
    pub fn secret(mut self, secret: Secret) -> Self {
        self.secret = Some(secret);
        self
    }

    /// A human-readable name, at most 255 bytes.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// When the list was made: milliseconds since 1970.
    pub fn created_at(mut self, milliseconds: u64) -> Self {
        self.created_at = Some(milliseconds);
        self
    }

    /// Leaves out passwords with fewer characters.
    pub fn min_length(mut self, characters: u64) -> Self {
        self.rules.min_length = characters;
        self
    }

    /// Leaves out hashes of passwords that were seen less often: those of lines like `HASH:COUNT`.
    pub fn min_count(mut self, count: u64) -> Self {
        self.rules.min_count = count;
        self
    }

    /// Adds keys: each item is a line of a list, without its end. With the profile `url`, that is a URL, a host, a host with a
    /// path, an adblock rule or a line of a hosts file, and comments and blank lines are passed over. A public suffix such as
    /// `co.uk` is a host like any other, and blocks every `*.co.uk`; the tool leaves them out. With the other profiles every
    /// item is a key as it is, also an empty one, and one that begins with `#` or a byte order mark. The tool, and the npm
    /// package where it reads a text, skip blank lines:
    ///
    /// ```
    /// use bloom_wasm::keys::lines::lines;
    /// use bloom_wasm::{Builder, Profile};
    ///
    /// let text = b"key-1\r\n\nkey-2\n"; // such as what fs::read gives
    /// let filter = Builder::new(Profile::Raw).keys(lines(text).filter(|line| !line.is_empty())).build()?;
    /// assert_eq!(filter.info()?.count, Some(2));
    /// # Ok::<(), bloom_wasm::Error>(())
    /// ```
    ///
    /// A file that is too large for that is read line by line, up to the first error:
    ///
    /// ```
    /// use std::io::BufRead;
    ///
    /// use bloom_wasm::{Builder, Profile};
    ///
    /// # let file = &b"evil.example\n"[..];
    /// let mut failed = None; // file is a BufReader
    /// let lines = file.lines().map_while(|line| line.map_err(|error| failed = Some(error)).ok());
    /// let built = Builder::new(Profile::Url).keys(lines).build();
    /// if let Some(error) = failed {
    ///     return Err(error.into());
    /// }
    /// assert!(built?.has_url("http://evil.example/")?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[cfg(feature = "native")]
    pub fn keys<K: AsRef<[u8]>>(mut self, keys: impl IntoIterator<Item = K> + 'a) -> Self {
        self.lists.push((None, lines(keys)));
        self
    }

    /// Adds keys with a tag, such as the name of their list. [`Filter::tags`] and [`Filter::url_tags`] tell it. Only
    /// ribbon filters have tags, at most 255, which are numbered in the order of these calls. Lists of one tag are joined.
    #[cfg(feature = "native")]
    pub fn tag<K: AsRef<[u8]>>(
        mut self,
        tag: impl Into<String>,
        keys: impl IntoIterator<Item = K> + 'a,
    ) -> Self {
        self.lists.push((Some(tag.into()), lines(keys)));
        self
    }

    /// Keys that must never be "maybe present", unless they are also members. The filter is then read-only, whatever its kind:
    /// a key that is added could bring them back. Of a URL, these are all keys that it is looked up by, so an allowed URL
    /// still matches if a listed host is above it:
    ///
    /// ```
    /// use bloom_wasm::{Builder, Error, Kind, Profile};
    ///
    /// let mut both = Vec::new();
    /// let mut filter = Builder::new(Profile::Url)
    ///     .kind(Kind::Bloom)
    ///     .keys(["example.com"])
    ///     .allow(["sub.example.com", "good.example"])
    ///     .on_conflict(|key, _| both.push(key.to_vec()))
    ///     .build()?;
    /// assert!(filter.has_url("https://sub.example.com/")?);
    /// assert_eq!(filter.add("other.example"), Err(Error::Layered));
    /// drop(filter);
    /// assert_eq!(both, [b"example.com/"]);
    /// # Ok::<(), Error>(())
    /// ```
    #[cfg(feature = "native")]
    pub fn allow<K: AsRef<[u8]>>(mut self, keys: impl IntoIterator<Item = K> + 'a) -> Self {
        self.allowed.push(lines(keys));
        self
    }

    /// Removes keys that are members and allowed from the members. Otherwise they stay members. Of an allowed URL only its
    /// own key is removed, since its other keys, such as its host, belong to other URLs, too.
    pub fn allow_wins(mut self) -> Self {
        self.allow_wins = true;
        self
    }

    /// Called with each line that gives no key, and the reason; also with lines of [`allow`](Self::allow). A line of several
    /// hosts is passed whole for each that is skipped, even if others are kept. Without this, a list is refused if it has
    /// lines but none of them gives a key, as an error page has; with this, look at how many there were.
    pub fn on_skip(mut self, run: impl FnMut(&[u8], Skip) + 'a) -> Self {
        self.on_skip = Some(Box::new(run));
        self
    }

    /// Called with each key that is a member and allowed, and whether it was removed from the members.
    pub fn on_conflict(mut self, run: impl FnMut(&[u8], bool) + 'a) -> Self {
        self.on_conflict = Some(Box::new(run));
        self
    }
}

/// The same with lists that may fail.
#[allow(dead_code)] // only src/wasm/ needs it
impl<'a> Builder<'a> {
    pub(crate) fn push_list(&mut self, tag: Option<String>, list: Lines<'a>) {
        self.lists.push((tag, list));
    }

    pub(crate) fn push_allowed(&mut self, list: Lines<'a>) {
        self.allowed.push(list);
    }
}

#[cfg(feature = "native")]
fn lines<'a, K: AsRef<[u8]>>(keys: impl IntoIterator<Item = K> + 'a) -> Lines<'a> {
    Box::new(move |take| keys.into_iter().try_for_each(|key| take(key.as_ref())))
}

/// For lists that are read elsewhere, such as on all cores: these take digests under [`Builder::digests`].
impl Builder<'_> {
    /// How keys become the digests that this filter is built from.
    pub fn digests(&self) -> Hashing {
        Hashing::new(self.seed, self.secret.as_ref()).for_filter(self.rules.profile, self.options.kind)
    }

    /// The rate that the [`Stack`] is built with. A ribbon filter of URLs takes that of a whole check, and derives the rates
    /// of the keys; all others take that of a key.
    pub fn build_fpr(&self) -> f64 {
        if self.digests().is_slotted() { self.fpr } else { self.rules.profile.key_fpr(self.fpr) }
    }

    /// Fails if no filter can be built with these options, before any key is read.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] if an option is out of range, or doesn't go with the others, or a tag can't have this
    /// name; [`Error::WrongKind`] for tags in another kind than ribbon.
    pub fn validate(&self) -> Result<()> {
        self.rules.validate()?;
        let mut tags = self.lists.iter().filter_map(|(tag, _)| tag.as_deref()).peekable();
        if tags.peek().is_some() {
            self.require_ribbon()?;
        }
        tags.try_for_each(require_tag_name)?;
        self.of_digests(&mut Vec::new(), None).map(|_| ())
    }

    /// Builds the filter of members, in any order, repeated or not; they may be used up. With a list of allowed keys, it is
    /// read-only, and has a layer that excludes them if it needs one.
    ///
    /// # Errors
    /// Those of [`Stack::build`], and [`Error::InvalidParameter`] for a builder with lists, which only [`Builder::build`]
    /// reads.
    pub fn build_digests(&self, members: &mut Vec<u64>, allowed: Option<&[u64]>) -> Result<Filter> {
        self.require_no_list()?;
        self.of_digests(members, allowed)
    }

    fn of_digests(&self, members: &mut Vec<u64>, allowed: Option<&[u64]>) -> Result<Filter> {
        self.described(Stack::build(self.options, members, allowed, self.build_fpr(), self.digests())?)
    }

    /// Builds the filter of members with tags.
    ///
    /// # Errors
    /// Those of [`Stack::build_tagged`], [`Error::WrongKind`] for another kind than ribbon, and
    /// [`Error::InvalidParameter`] for a builder with lists.
    pub fn build_tagged(&self, members: &Tagged, allowed: Option<&[u64]>) -> Result<Filter> {
        self.require_no_list()?;
        self.require_ribbon()?;
        self.described(Stack::build_tagged(members, allowed, self.build_fpr(), self.digests())?)
    }

    /// The members that a ribbon filter of URLs does without, in ascending order: those that others cover, as
    /// `evil.example` covers `www.evil.example/login`. [`Filter::has_url`] finds them all the same, and
    /// [`Filter::url_tags`] finds each of their tags, since a member with a tag that none above it has isn't covered. Members
    /// are sorted, those with tags are the same, and `entries` has all of them.
    ///
    /// # Errors
    /// [`Error::TooLarge`] without the memory.
    pub fn covered(entries: &Entries, members: &[u64], tagged: Option<&Tagged>) -> Result<Vec<u64>> {
        match tagged {
            None => entries.covered(members, &|_, parents| !parents.is_empty()),
            Some(tagged) => entries.covered(members, &|key, parents| tagged.is_covered(key, parents)),
        }
    }

    /// Builds the filter of the members of these entries, except for those that others cover, and says how many these are.
    /// `tagged` may have more members.
    ///
    /// # Errors
    /// Those of [`Builder::build_digests`] and [`Builder::build_tagged`].
    pub fn build_entries(
        &self,
        entries: Entries,
        mut members: Vec<u64>,
        tagged: Option<Tagged>,
        allowed: Option<Vec<u64>>,
    ) -> Result<(Filter, usize)> {
        sort(&mut members)?;
        let covered = Self::covered(&entries, &members, tagged.as_ref())?;
        // Building takes memory, too.
        drop(entries);
        subtract(&mut members, &covered);
        let filter = match tagged {
            None => self.build_digests(&mut members, allowed.as_deref())?,
            Some(mut tagged) => {
                tagged.keep(&members)?;
                self.build_tagged(&tagged, allowed.as_deref())?
            }
        };
        Ok((filter, covered.len()))
    }

    fn require_no_list(&self) -> Result<()> {
        let holds = self.lists.is_empty() && self.allowed.is_empty();
        Error::unless(holds, "only `build` reads the lists of a builder")
    }

    fn require_ribbon(&self) -> Result<()> {
        let kind = self.options.kind;
        if kind == Kind::Ribbon {
            self.options.require_own()
        } else {
            Err(Error::WrongKind { kind: kind.name() })
        }
    }

    fn described(&self, stack: Stack) -> Result<Filter> {
        let mut filter = Filter::new(self.rules.profile, stack);
        filter.describe(self.name.clone(), self.created_at)?;
        Ok(filter)
    }
}

#[cfg(feature = "native")]
impl Builder<'_> {
    /// Reads the lists and builds the filter.
    ///
    /// # Errors
    /// Those of [`Builder::validate`]; [`Error::InvalidKey`] for a list whose lines give no key;
    /// [`Error::InvalidParameter`] with more than 255 tags, or 2^32 keys and more; [`Error::TooLarge`] without the memory; [`Error::BuildFailed`] for keys that were chosen to collide.
    pub fn build(self) -> Result<Filter> {
        self.build_on(&crate::keys::native::Native)
    }
}

impl Builder<'_> {
    /// [`Builder::build`], for any platform.
    pub(crate) fn build_on(mut self, platform: &impl Platform) -> Result<Filter> {
        self.validate()?;
        let hashing = self.digests();
        let mut entries = Entries::default();
        let (mut untagged, mut lists) = (Vec::new(), Vec::<(String, Vec<u64>)>::new());
        for (tag, list) in std::mem::take(&mut self.lists) {
            let no_key = match tag {
                None => "no line of a list gives a key",
                Some(_) => "no line of a list with a tag gives a key",
            };
            let first = entries.keys().len();
            self.read(platform, self.rules, list, no_key, &mut |input| entries.push(&hashing, input))?;
            let (_, digests) = entries.keys().split_at(first);
            match tag.map(|tag| (lists.iter().position(|(name, _)| *name == tag), tag)) {
                None => append(&mut untagged, digests)?,
                Some((Some(place), _)) => append(&mut lists[place].1, digests)?,
                Some((None, tag)) => push(&mut lists, (tag, copied(digests)?))?,
            }
        }
        let tagged = if lists.is_empty() { None } else { Some(Tagged::new(lists, untagged)?) };
        let mut allowed = None;
        let mut members = entries.members()?;
        if !self.allowed.is_empty() {
            sort(&mut members)?;
            let mut allowlist = Allowlist::new(hashing, self.allow_wins);
            for list in std::mem::take(&mut self.allowed) {
                // The minimum length and count don't apply to allowed keys.
                let rules = self.rules.profile.into();
                let no_key = "no line of an allowlist gives a key";
                self.read(platform, rules, list, no_key, &mut |input| {
                    allowlist.push(&members, input, || ())
                })?;
            }
            let (digests, conflicts) = allowlist.finish()?;
            remove_conflicts(&mut members, &conflicts)?;
            if let Some(run) = &mut self.on_conflict {
                conflicts.iter().for_each(|Conflict { key, removed, .. }| run(key, *removed));
            }
            allowed = Some(digests);
        }
        Ok(self.build_entries(entries, members, tagged, allowed)?.0)
    }

    /// Hands each input of a list to `take`. Fails with `no_key` if the list has lines but no input, unless somebody is told
    /// why.
    fn read(
        &mut self,
        platform: &impl Platform,
        rules: Rules,
        list: Lines,
        no_key: &'static str,
        take: &mut dyn FnMut(&Input) -> Result<()>,
    ) -> Result<()> {
        let (mut taken, mut skipped) = (0_u64, 0_u64);
        let on_skip = &mut self.on_skip;
        list(&mut |line| {
            rules.read(platform, line, &mut |input| match input {
                Ok(input) => {
                    taken += 1;
                    take(&input)
                }
                Err(skip) => {
                    skipped += 1;
                    if let Some(run) = on_skip {
                        run(line, skip);
                    }
                    Ok(())
                }
            })
        })?;
        let is_none = taken == 0 && skipped > 0 && self.on_skip.is_none();
        if is_none { Err(Error::InvalidKey { reason: no_key }) } else { Ok(()) }
    }
}
