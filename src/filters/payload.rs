//! The payload of a blob: the bytes of a filter.

use std::ops::{Deref, DerefMut};

use crate::error::Result;
use crate::vectors::resize;

/// A filter's bytes. They may follow a blob's header, so that a blob becomes a filter without being moved.
#[derive(Debug, Clone, Default)]
pub(crate) struct Payload {
    bytes: Vec<u8>,
    start: usize,
}

impl Payload {
    /// The bytes after the first `start` ones.
    pub(crate) fn after(start: usize, bytes: Vec<u8>) -> Self {
        Payload { bytes, start }
    }

    /// Drops the bytes from `length` on.
    #[cfg(feature = "interop")]
    pub(crate) fn truncate(&mut self, length: usize) {
        self.bytes.truncate(self.start.saturating_add(length));
    }

    /// Makes it `length` bytes long, new ones being 0; fails without the memory, and then changes nothing.
    pub(super) fn resize(&mut self, length: usize) -> Result<()> {
        resize(&mut self.bytes, self.start.saturating_add(length))
    }
}

impl From<Vec<u8>> for Payload {
    fn from(bytes: Vec<u8>) -> Self {
        Payload { bytes, start: 0 }
    }
}

impl Deref for Payload {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        &self.bytes[self.start..]
    }
}

impl DerefMut for Payload {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[self.start..]
    }
}

impl PartialEq for Payload {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for Payload {}
