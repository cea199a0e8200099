//! A filter as users have it: any kind, with its layers and what its blob says about it, and the questions about keys,
//! URLs and passwords.

use crate::error::{Error, Result};
use crate::filters::AnyFilter;
use crate::keys::list::Rules;
#[cfg(feature = "native")]
use crate::keys::native::Native;
use crate::keys::url::{self, Canonical};
use crate::keys::{Platform, is_key, password};
use crate::kind::Kind;
use crate::layers::Stack;
use crate::profile::Profile;
use crate::slots::Slots;
use crate::vectors::copied;

pub(crate) const NAME_TOO_LONG: Error = Error::rule("name must be at most 255 bytes of UTF-8");

/// Fails unless a filter can have this name.
pub fn require_name(name: &str) -> Result<()> {
    if name.len() > usize::from(u8::MAX) { Err(NAME_TOO_LONG) } else { Ok(()) }
}

/// A membership filter: "maybe present" may be wrong, at a known rate; "definitely absent" never is. A
/// [`Builder`](crate::Builder) makes one from keys, and [`Filter::encode`] and [`Filter::decode`] turn it into a blob and
/// back.
///
/// ```
/// use bloom_wasm::{Builder, Filter, Profile};
///
/// let bytes = Builder::new(Profile::Url).keys(["evil.example", "shop.example/login"]).build()?.encode()?;
///
/// let filter = Filter::decode(bytes)?;
/// assert!(filter.has_url("https://www.evil.example/some/page?q")?);
/// assert_eq!(filter.match_url("http://shop.example/login?next=/")?.as_deref(), Some("shop.example/login"));
/// assert!(!filter.has_url("https://good.example/")?);
/// # Ok::<(), bloom_wasm::Error>(())
/// ```
///
/// Equal filters have equal profiles, names, times and contents. A clone shares the filter's bytes until one of the two
/// is changed.
#[derive(Debug, Clone)]
pub struct Filter {
    profile: Profile,
    name: Option<String>,
    created_at: Option<u64>,
    stack: Stack,
    /// [`Filter::id`], as long as the filter hasn't changed since it was computed.
    pub(crate) known_id: Option<u64>,
}

impl PartialEq for Filter {
    fn eq(&self, other: &Self) -> bool {
        self.profile == other.profile
            && self.name == other.name
            && self.created_at == other.created_at
            && self.stack == other.stack
    }
}

impl<F: Into<Stack>> From<F> for Filter {
    /// A filter of the profile `raw`, without a name and a creation time.
    fn from(stack: F) -> Self {
        Filter::new(Profile::Raw, stack)
    }
}

impl Filter {
    /// A filter of keys of this profile, without a name and a creation time.
    pub fn new(profile: Profile, stack: impl Into<Stack>) -> Self {
        Filter { profile, name: None, created_at: None, stack: stack.into(), known_id: None }
    }

    /// What the keys are.
    pub fn profile(&self) -> Profile {
        self.profile
    }

    /// The human-readable name, at most 255 bytes.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// When the list was made: milliseconds since 1970. Given by the caller, never read from a clock.
    pub fn created_at(&self) -> Option<u64> {
        self.created_at
    }

    /// The base and the layers over it, which know digests and nothing of profiles.
    pub fn stack(&self) -> &Stack {
        &self.stack
    }

    /// The base and the layers, to change them.
    pub fn stack_mut(&mut self) -> &mut Stack {
        self.known_id = None;
        &mut self.stack
    }

    /// Sets the name and the creation time.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] for a name of more than 255 bytes; nothing is changed then.
    pub fn describe(&mut self, name: Option<String>, created_at: Option<u64>) -> Result<()> {
        name.as_deref().map_or(Ok(()), require_name)?;
        self.name = name;
        self.created_at = created_at;
        self.known_id = None;
        Ok(())
    }

    /// The union with another filter, or the intersection if `union` is false. The name and the creation time stay.
    ///
    /// # Errors
    /// [`Error::Incompatible`] for another profile, [`Error::NotMergeable`] for other kinds, [`Error::Layered`] if one has
    /// layers, and those of [`AnyFilter::combine`](crate::filters::AnyFilter::combine). Nothing is changed then.
    pub fn combine(&mut self, other: &Self, union: bool) -> Result<()> {
        if self.profile != other.profile {
            return Err(Error::Incompatible);
        }
        // Checked before the base is copied, if it is shared.
        let can_be_merged =
            |filter: &Self| matches!(filter.stack.base().kind(), Kind::Bloom | Kind::Counting);
        if !can_be_merged(self) || !can_be_merged(other) {
            return Err(Error::NotMergeable);
        }
        self.stack.base_alone()?;
        let other = other.stack.base_alone()?;
        self.stack_mut().base_mut()?.combine(other, union)
    }

    /// A copy. Unlike `clone`, it fails without the memory for it.
    ///
    /// # Errors
    /// [`Error::TooLarge`] without the memory.
    pub fn try_clone(&self) -> Result<Self> {
        let name = self.name.as_ref().map(|name| text(name.as_bytes())).transpose()?;
        let stack = self.stack.with_layers(&[], self.stack.layered_count())?;
        Ok(Filter { name, stack, ..*self })
    }
}

/// A copy of a name's bytes as text.
#[cfg_attr(target_arch = "wasm32", inline(never))]
pub(crate) fn text(bytes: &[u8]) -> Result<String> {
    String::from_utf8(copied(bytes)?).map_err(|_| Error::rule("the name must be UTF-8"))
}

/// Questions, for any platform.
impl Filter {
    /// Whether the keys are numbers, as those of some foreign filters.
    #[allow(dead_code)] // only src/wasm/ needs it
    pub(crate) fn has_numbers(&self) -> bool {
        self.number_width().is_some()
    }

    /// Whether a key has the length of a number, if the keys are numbers.
    pub(crate) fn fits(&self, key: &[u8]) -> bool {
        self.number_width().is_none_or(|width| key.len() == width)
    }

    fn number_width(&self) -> Option<usize> {
        match self.stack.base() {
            AnyFilter::Foreign(filter) => filter.keys().width(),
            _ => None,
        }
    }

    /// Whether the filter can hold a key.
    pub(crate) fn holds(&self, platform: &impl Platform, key: &[u8]) -> bool {
        is_key(platform, self.profile, key)
    }

    /// Fails unless the keys are URLs.
    pub(crate) fn require_urls(&self) -> Result<()> {
        match self.profile {
            Profile::Url => Ok(()),
            other => Err(Error::WrongProfile { found: other.name(), wanted: Profile::Url.name() }),
        }
    }

    /// A URL that is canonical already, as most are, and as far as this filter's keys need it: for a list of hosts,
    /// nothing after the host is read.
    #[inline]
    pub(crate) fn plain<'a>(&self, url: &'a [u8]) -> Option<Canonical<'a>> {
        if self.stack.slots().is_within(Slots::HOSTS) { url::plain_root(url) } else { url::plain(url) }
    }

    /// The first key of a URL that is maybe present. Keys of shapes that the list doesn't have aren't looked up.
    #[inline]
    pub(crate) fn matching<'a>(&self, url: &'a Canonical) -> Option<&'a [u8]> {
        let mut keys = url.expressions_in(self.stack.slots());
        keys.find(|(slot, key)| self.stack.has_in(*slot, key)).map(|(_, key)| key)
    }

    /// Hands the first key of a URL that is maybe present to `run`.
    pub(crate) fn find_url<T>(
        &self,
        platform: &impl Platform,
        url: &[u8],
        run: impl Fn(&[u8]) -> T,
    ) -> Result<Option<T>> {
        self.require_urls()?;
        let found = |url: &Canonical| self.matching(url).map(&run);
        match self.plain(url) {
            Some(url) => Ok(found(&url)),
            None => Ok(url::readings(platform, url)?.iter().find_map(found)),
        }
    }

    /// [`Filter::url_tags`].
    pub(crate) fn url_tags_on(&self, platform: &impl Platform, url: &[u8]) -> Result<Vec<&str>> {
        self.require_urls()?;
        let readings = url::readings(platform, url)?;
        self.stack.tags_of_all(readings.keys().map(|key| self.stack.hashing().digest(key)))
    }

    /// [`Filter::has_password`].
    pub(crate) fn has_password_on(&self, platform: &impl Platform, password: &[u8]) -> Result<bool> {
        let Profile::Password { lowercase, sha1 } = self.profile else {
            return Err(Error::WrongProfile { found: self.profile.name(), wanted: "password" });
        };
        Ok(self.stack.has(&password::key(platform, password, lowercase, sha1)?))
    }

    /// The digest of the one key in a line.
    pub(crate) fn digest_on(&self, platform: &impl Platform, line: &[u8]) -> Result<u64> {
        Ok(self.stack.hashing().digest(&Rules::from(self.profile).only_key(platform, line)?))
    }

    /// [`Filter::add`].
    pub(crate) fn add_digest(&mut self, digest: u64) -> Result<bool> {
        Ok(self.stack_mut().base_mut()?.add_digests(&[digest])? > 0)
    }

    /// [`Filter::remove`].
    pub(crate) fn remove_digest(&mut self, digest: u64) -> Result<bool> {
        self.stack_mut().base_mut()?.remove_digest(digest)
    }
}

/// The error for a key that the filter can't hold.
#[cfg(feature = "native")]
const NO_KEY: &str =
    "the filter has keys of URLs or passwords, and this isn't one; ask has_url or has_password";
#[cfg(feature = "native")]
const NO_NUMBER: &str = "the filter's keys are numbers of 4 or 8 bytes, in little-endian order";

/// Questions.
#[cfg(feature = "native")]
impl Filter {
    /// Looks up a key: true = maybe present, false = definitely absent. The keys of a filter of URLs look like
    /// `evil.example/`; a whole URL or a bare host is never one. Those of passwords by SHA-1 are the 20 bytes of the hash,
    /// and those of a foreign filter may be numbers: their bytes in little-endian order.
    ///
    /// # Errors
    /// [`Error::InvalidKey`] for what can't be a key of the filter's profile: ask [`Filter::has_url`] or
    /// [`Filter::has_password`].
    pub fn has(&self, key: impl AsRef<[u8]>) -> Result<bool> {
        Ok(self.stack.has(self.require_key(key.as_ref())?))
    }

    /// As [`Filter::has`], for many keys: an answer for each, in their order. This is up to one and a half times as fast
    /// as asking one by one.
    ///
    /// # Errors
    /// Those of [`Filter::has`], and [`Error::TooLarge`] without the memory.
    pub fn has_many(&self, keys: &[impl AsRef<[u8]>]) -> Result<Vec<bool>> {
        keys.iter().try_for_each(|key| self.require_key(key.as_ref()).map(|_| ()))?;
        self.stack.has_many(keys)
    }

    /// Whether a URL, a host, or a host with a path is maybe on the list: whether any of its keys is maybe present. False
    /// for a URL without a host to check.
    ///
    /// # Errors
    /// [`Error::WrongProfile`] unless the filter was built from URLs; [`Error::TooLarge`] without the memory.
    pub fn has_url(&self, url: &str) -> Result<bool> {
        Ok(self.find_url(&Native, url.as_bytes(), |_| ())?.is_some())
    }

    /// The first key of a URL that is maybe present, such as `evil.example/`; none if the URL isn't on the list.
    ///
    /// # Errors
    /// As [`Filter::has_url`].
    pub fn match_url(&self, url: &str) -> Result<Option<String>> {
        // Keys of URLs are ASCII.
        self.find_url(&Native, url.as_bytes(), |key| String::from_utf8_lossy(key).into_owned())
    }

    /// The tags of all keys of a URL, such as the lists that it is on, each once.
    ///
    /// # Errors
    /// As [`Filter::has_url`], and [`Error::WrongKind`] for a filter without tags.
    pub fn url_tags(&self, url: &str) -> Result<Vec<&str>> {
        self.url_tags_on(&Native, url.as_bytes())
    }

    /// The tags of a key. A member has exactly its own, and a key that is definitely absent has none. Any other key that is
    /// maybe present gets some set of tags that occurs.
    ///
    /// # Errors
    /// As [`Filter::has`], and [`Error::WrongKind`] for a filter without tags.
    pub fn tags(&self, key: impl AsRef<[u8]>) -> Result<Vec<&str>> {
        self.stack.tags(self.require_key(key.as_ref())?)
    }

    /// Whether a password is maybe present. It is normalized and hashed as the list was.
    ///
    /// # Errors
    /// [`Error::WrongProfile`] unless the filter was built from passwords; [`Error::TooLarge`] without the memory.
    pub fn has_password(&self, password: &str) -> Result<bool> {
        self.has_password_on(&Native, password.as_bytes())
    }

    /// Adds a key, read like a line of a list; true = it was definitely not there before.
    ///
    /// # Errors
    /// [`Error::InvalidKey`] for a line that gives no key or several; [`Error::WrongKind`] for a ribbon filter and a foreign
    /// one, which are read-only; [`Error::Layered`] for a filter with layers, an update or an allowlist;
    /// [`Error::FilterFull`]. Nothing is changed then.
    pub fn add(&mut self, line: impl AsRef<[u8]>) -> Result<bool> {
        self.add_digest(self.digest_on(&Native, line.as_ref())?)
    }

    /// Removes a key, read like a line of a list, from a counting or a cuckoo filter; false = it was definitely not there.
    ///
    /// # Errors
    /// As [`Filter::add`], with [`Error::WrongKind`] for all other kinds.
    pub fn remove(&mut self, line: impl AsRef<[u8]>) -> Result<bool> {
        self.remove_digest(self.digest_on(&Native, line.as_ref())?)
    }

    fn require_key<'a>(&self, key: &'a [u8]) -> Result<&'a [u8]> {
        Error::unless_key(self.holds(&Native, key), NO_KEY)?;
        Error::unless_key(self.fits(key), NO_NUMBER)?;
        Ok(key)
    }
}
