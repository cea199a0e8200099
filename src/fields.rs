//! Numbers in a file, one after the other: read by [`Cursor`], written by [`Fields`]. They are little-endian unless
//! said otherwise. Both keep their first error until they are asked for it, so that no field needs a check of its own.

use crate::error::{Error, Result};
use crate::vectors::append;

/// Reads fields in order and never past the end. The first error is kept; everything that is read after it is 0 or
/// empty.
pub(crate) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
    error: Option<Error>,
}

// The functions that aren't inlined have a dozen callers in the wasm.
impl<'a> Cursor<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Cursor { bytes, at: 0, error: None }
    }

    /// Fails with the first error.
    pub(crate) fn done(&self) -> Result<()> {
        self.error.map_or(Ok(()), Err)
    }

    #[cfg_attr(target_arch = "wasm32", inline(never))]
    pub(crate) fn refuse(&mut self, error: Error) {
        self.error.get_or_insert(error);
    }

    #[cfg_attr(target_arch = "wasm32", inline(never))]
    pub(crate) fn rule(&mut self, holds: bool, rule: &'static str) {
        if !holds {
            self.refuse(Error::rule(rule));
        }
    }

    /// How many bytes were read.
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    /// The next `length` bytes, or none if they aren't all there.
    #[cfg_attr(target_arch = "wasm32", inline(never))]
    pub(crate) fn slice(&mut self, length: u64) -> &'a [u8] {
        let (start, have) = (self.at, self.bytes.len() as u64);
        let needed = (start as u64).saturating_add(length);
        if needed > have {
            self.refuse(Error::Truncated { needed, have });
        }
        if self.error.is_some() {
            return &[];
        }
        self.at = needed as usize;
        &self.bytes[start..self.at]
    }

    /// A number of at most 8 bytes.
    #[cfg_attr(target_arch = "wasm32", inline(never))]
    fn number(&mut self, length: u64) -> u64 {
        self.slice(length).iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte))
    }

    pub(crate) fn u8(&mut self) -> u8 {
        self.number(1) as u8
    }

    pub(crate) fn u16(&mut self) -> u16 {
        self.number(2) as u16
    }

    pub(crate) fn u32(&mut self) -> u32 {
        self.number(4) as u32
    }

    pub(crate) fn u64(&mut self) -> u64 {
        self.number(8)
    }

    pub(crate) fn f64(&mut self) -> f64 {
        f64::from_bits(self.u64())
    }
}

/// What the readers of other software's filters also need.
#[cfg(feature = "interop")]
impl<'a> Cursor<'a> {
    /// What was made of the bytes, or a default if it failed.
    pub(crate) fn keep<T: Default>(&mut self, made: Result<T>) -> T {
        made.unwrap_or_else(|error| {
            self.refuse(error);
            T::default()
        })
    }

    #[cfg_attr(target_arch = "wasm32", inline(never))]
    pub(crate) fn unsupported(&mut self, reason: &'static str) {
        self.refuse(Error::unsupported(reason));
    }

    /// Big-endian.
    pub(crate) fn u32_be(&mut self) -> u32 {
        self.u32().swap_bytes()
    }

    /// Big-endian.
    pub(crate) fn u64_be(&mut self) -> u64 {
        self.u64().swap_bytes()
    }

    /// The bytes that aren't read yet.
    #[cfg_attr(target_arch = "wasm32", inline(never))]
    pub(crate) fn left(&self) -> &'a [u8] {
        if self.error.is_some() {
            return &[];
        }
        &self.bytes[self.at..]
    }

    /// All bytes that are left.
    pub(crate) fn rest(&mut self) -> &'a [u8] {
        self.slice(self.left().len() as u64)
    }

    /// The last `length` bytes: all that are left.
    #[cfg_attr(target_arch = "wasm32", inline(never))]
    pub(crate) fn last(&mut self, length: u64) -> &'a [u8] {
        let slice = self.slice(length);
        self.end();
        slice
    }

    /// Refuses bytes that are left.
    #[cfg_attr(target_arch = "wasm32", inline(never))]
    pub(crate) fn end(&mut self) {
        let extra = self.left().len() as u64;
        if extra > 0 {
            self.refuse(Error::TrailingBytes { extra });
        }
    }
}

/// Where fields are written.
pub(crate) trait Sink {
    fn take(&mut self, bytes: &[u8]) -> Result<()>;
}

impl Sink for Vec<u8> {
    fn take(&mut self, bytes: &[u8]) -> Result<()> {
        append(self, bytes)
    }
}

/// A function that is handed the bytes, piece by piece.
pub(crate) type Pieces<'a> = &'a mut dyn FnMut(&[u8]) -> Result<()>;

impl Sink for Pieces<'_> {
    fn take(&mut self, bytes: &[u8]) -> Result<()> {
        self(bytes)
    }
}

/// Writes fields in order.
pub(crate) struct Fields<S = Vec<u8>> {
    sink: S,
    done: Result<()>,
}

impl Default for Fields {
    fn default() -> Self {
        Fields::to(Vec::new())
    }
}

impl<S: Sink> Fields<S> {
    pub(crate) fn to(sink: S) -> Self {
        Fields { sink, done: Ok(()) }
    }

    // This and the next aren't inlined: wasm has two dozen callers.
    #[cfg_attr(target_arch = "wasm32", inline(never))]
    pub(crate) fn slice(&mut self, bytes: &[u8]) {
        if self.done.is_ok() {
            self.done = self.sink.take(bytes);
        }
    }

    /// The first bytes of a number.
    #[cfg_attr(target_arch = "wasm32", inline(never))]
    fn number(&mut self, number: u64, length: usize) {
        self.slice(&number.to_le_bytes()[..length]);
    }

    /// A number below 256.
    pub(crate) fn u8(&mut self, number: u32) {
        self.number(number.into(), 1);
    }

    /// A number below 65,536.
    pub(crate) fn u16(&mut self, number: u32) {
        self.number(number.into(), 2);
    }

    pub(crate) fn u32(&mut self, number: u32) {
        self.number(number.into(), 4);
    }

    pub(crate) fn u64(&mut self, number: u64) {
        self.number(number, 8);
    }

    pub(crate) fn f64(&mut self, number: f64) {
        self.u64(number.to_bits());
    }

    /// Big-endian.
    #[cfg(feature = "interop")]
    pub(crate) fn u32_be(&mut self, number: u32) {
        self.u32(number.swap_bytes());
    }

    /// Big-endian.
    #[cfg(feature = "interop")]
    pub(crate) fn u64_be(&mut self, number: u64) {
        self.u64(number.swap_bytes());
    }

    /// The sink, with all that was written.
    pub(crate) fn finish(self) -> Result<S> {
        self.done.map(|()| self.sink)
    }
}
