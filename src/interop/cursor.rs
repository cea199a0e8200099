//! Reads the numbers of a foreign file in order and never past the end.

use crate::error::{Error, Result};

/// The bytes, and how many are read.
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Cursor { bytes, at: 0 }
    }

    /// The next `length` bytes.
    #[inline(never)]
    pub(super) fn slice(&mut self, length: u64) -> Result<&'a [u8]> {
        let (have, start) = (self.bytes.len() as u64, self.at);
        let needed = (start as u64).saturating_add(length);
        if needed > have {
            return Err(Error::Truncated { needed, have });
        }
        self.at = needed as usize;
        Ok(&self.bytes[start..self.at])
    }

    #[inline(never)]
    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut array = [0; N];
        array.copy_from_slice(self.slice(N as u64)?);
        Ok(array)
    }

    pub(super) fn u8(&mut self) -> Result<u8> {
        self.array().map(u8::from_le_bytes)
    }

    pub(super) fn u16(&mut self) -> Result<u16> {
        self.array().map(u16::from_le_bytes)
    }

    pub(super) fn u32(&mut self) -> Result<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self) -> Result<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// Big-endian.
    pub(super) fn u32_be(&mut self) -> Result<u32> {
        self.u32().map(u32::swap_bytes)
    }

    /// Big-endian.
    pub(super) fn u64_be(&mut self) -> Result<u64> {
        self.u64().map(u64::swap_bytes)
    }

    pub(super) fn f64(&mut self) -> Result<f64> {
        self.u64().map(f64::from_bits)
    }

    /// How many bytes are left.
    pub(super) fn left(&self) -> u64 {
        (self.bytes.len() - self.at) as u64
    }

    /// All bytes that are left.
    pub(super) fn rest(&mut self) -> &'a [u8] {
        let start = std::mem::replace(&mut self.at, self.bytes.len());
        &self.bytes[start..]
    }

    /// The last `length` bytes: all that are left.
    pub(super) fn last(&mut self, length: u64) -> Result<&'a [u8]> {
        let slice = self.slice(length)?;
        self.end()?;
        Ok(slice)
    }

    /// Fails if bytes are left.
    pub(super) fn end(&self) -> Result<()> {
        match self.left() {
            0 => Ok(()),
            extra => Err(Error::TrailingBytes { extra }),
        }
    }
}
