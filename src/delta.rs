//! What turns one filter into another: the layers that come on top. A publisher sends a [`Delta`] to clients that
//! already have the parent. FORMAT.md section 6.7.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::filter::Filter;
use crate::filters::RibbonFilter;
use crate::format::{self, id};
use crate::hash::{Access, Checksum, Hashing, Secret};
use crate::layers::{Layer, Names, Stack, Tagging};
use crate::profile::Profile;

/// The layers that a child has over its parent, and what the child's blob says about itself.
///
/// ```
/// use bloom_wasm::hash::digest;
/// use bloom_wasm::layers::Update;
/// use bloom_wasm::{Delta, Error, Filter, RibbonFilter};
///
/// let [gone, old, new] = [&b"gone.example"[..], b"old.example", b"new.example"].map(|key| digest(0, key));
/// let parent = Filter::from(RibbonFilter::from_digests(&mut vec![gone, old], 0.001, 0)?);
/// let mut child = parent.clone();
/// child.stack_mut().update(Update { live: &[old, new], removed: &[gone], allowed: &[], fpr: 1e-4 })?;
/// let bytes = Delta::between(&parent, &child)?.encode()?;
///
/// // Elsewhere, where the parent is:
/// assert_eq!(parent.apply(Delta::decode(bytes)?)?, child);
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Delta {
    parent: u64,
    /// The new layers over an empty filter, with the child's profile, name, creation time and number of members.
    blob: Filter,
}

impl Delta {
    /// The delta that makes the child of the parent.
    ///
    /// # Errors
    /// [`Error::Incompatible`] unless the child is the parent with more layers on top, or none;
    /// [`Error::TooLarge`] without the memory.
    pub fn between(parent: &Filter, child: &Filter) -> Result<Self> {
        let more = child.stack().layers_over(parent.stack());
        let more = more.filter(|_| parent.profile() == child.profile()).ok_or(Error::Incompatible)?;
        let nothing =
            Stack::new(RibbonFilter::from_digests(&mut Vec::new(), 0.5, *child.stack().hashing())?)?;
        let count = child.stack().layered_count();
        if count.is_none() && parent.stack().layered_count().is_some() {
            return Err(Error::Incompatible);
        }
        let mut layers = nothing.with_layers(more, count)?;
        if let Some(tagging) = child.stack().tagging() {
            layers = layers.tagged(Tagging::default())?.counting(&tagging.counts)?;
        }
        let mut blob = Filter::new(child.profile(), layers);
        blob.describe(child.name().map(str::to_owned), child.created_at())?;
        Ok(Delta { parent: parent.id()?, blob })
    }

    /// The [`Filter::id`] of the parent.
    pub fn parent(&self) -> u64 {
        self.parent
    }

    /// What tells deltas apart, as [`Filter::id`] of the delta itself.
    ///
    /// # Errors
    /// [`Error::TooLarge`] without the memory.
    pub fn id(&self) -> Result<u64> {
        let bytes = self.encode()?;
        let have = bytes.len() as u64;
        let checksum = bytes.last_chunk().ok_or(Error::Truncated { needed: have.max(4), have })?;
        Ok(id(have, u32::from_le_bytes(*checksum)))
    }

    /// What the keys are.
    pub fn profile(&self) -> Profile {
        self.blob.profile()
    }

    /// How keys become digests.
    pub fn hashing(&self) -> &Hashing {
        self.blob.stack().hashing()
    }

    /// The child's name.
    pub fn name(&self) -> Option<&str> {
        self.blob.name()
    }

    /// The child's creation time, in milliseconds since 1970.
    pub fn created_at(&self) -> Option<u64> {
        self.blob.created_at()
    }

    /// The new layers, the oldest first.
    pub fn layers(&self) -> &[Arc<Layer>] {
        self.blob.stack().layers()
    }

    /// The number of the child's members; none if the delta changes only the description.
    pub fn count(&self) -> Option<u32> {
        self.blob.stack().layered_count()
    }

    /// Whether bytes begin like a delta.
    pub fn is_delta(bytes: &[u8]) -> bool {
        format::is_delta(bytes)
    }

    /// Reads a delta.
    ///
    /// # Errors
    /// Those of [`Filter::decode`], and [`Error::WrongKind`] for a filter.
    pub fn decode(bytes: Vec<u8>) -> Result<Self> {
        Self::decode_with(bytes, Access::Secret(None))
    }

    /// Reads a delta that is meant for this blob. If the blob is keyed, so is the delta, and it needs no secret again.
    ///
    /// # Errors
    /// Those of [`Filter::decode`], and [`Error::WrongKind`] for a filter. [`Filter::apply`] checks whether the delta fits.
    pub fn decode_for(parent: &Filter, bytes: Vec<u8>) -> Result<Self> {
        Self::decode_with(bytes, Access::As(*parent.stack().hashing()))
    }

    /// Reads a delta for a keyed filter.
    ///
    /// # Errors
    /// Those of [`Delta::decode`] and [`Filter::decode_keyed`].
    pub fn decode_keyed(bytes: Vec<u8>, secret: &Secret) -> Result<Self> {
        Self::decode_with(bytes, Access::Secret(Some(secret)))
    }

    fn decode_with(bytes: Vec<u8>, access: Access) -> Result<Self> {
        match Filter::decode_any(bytes, Checksum::default(), access, Names::default())? {
            (blob, Some(parent)) => Ok(Delta { parent, blob }),
            (blob, None) => Err(Error::WrongKind { kind: blob.stack().base().name() }),
        }
    }

    /// Writes the delta. Equal deltas give equal bytes.
    ///
    /// # Errors
    /// [`Error::TooLarge`] without the memory.
    pub fn encode(&self) -> Result<Vec<u8>> {
        self.blob.encode_any(Some(self.parent))
    }
}

impl Filter {
    /// The child that a delta makes of this blob. They share the bytes that they have in common.
    ///
    /// # Errors
    /// [`Error::WrongBase`] if the delta was made for another blob; [`Error::Incompatible`] for a delta of another
    /// profile, seed or secret, or if only one of the two has tags; [`Error::WrongKind`] for a delta that changes the
    /// keys of a foreign filter ([`Delta::between`] makes neither); [`Error::InvalidParameter`] with more than 255
    /// layers; [`Error::TooLarge`] without the memory.
    pub fn apply(&self, Delta { parent, mut blob }: Delta) -> Result<Self> {
        let found = self.id()?;
        if found != parent {
            return Err(Error::WrongBase { wanted: parent, found });
        }
        let tagged = |blob: &Filter| blob.stack().is_tagged();
        if (self.profile(), self.stack().hashing()) != (blob.profile(), blob.stack().hashing())
            || tagged(self) != tagged(&blob)
        {
            return Err(Error::Incompatible);
        }
        let count = blob.stack().layered_count().or(self.stack().layered_count());
        let mut stack = self.stack().with_layers(blob.stack().layers(), count)?;
        if let Some(tagging) = blob.stack().tagging() {
            stack = stack.counting(&tagging.counts)?;
        }
        stack.require_tags()?;
        *blob.stack_mut() = stack;
        Ok(blob)
    }
}
