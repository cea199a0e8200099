//! Vectors that grow without aborting. The standard library's own methods abort if there is no memory, and here a
//! caller or a blob may choose a length.
// Imports only `error`.

use std::sync::Arc;

use crate::error::{Error, Result};

/// `Arc::new`, after checking that there is memory for it.
pub(crate) fn shared<T>(item: T) -> Result<Arc<T>> {
    let mut room = Vec::<(T, [usize; 2])>::new();
    reserve(&mut room, 1)?;
    std::hint::black_box(&room);
    drop(room);
    Ok(Arc::new(item))
}

/// `len` zeros.
pub(crate) fn zeroed<T: Clone + Default>(len: usize) -> Result<Vec<T>> {
    let mut items = Vec::new();
    resize(&mut items, len)?;
    Ok(items)
}

/// A copy of some items.
pub fn copied<T: Copy>(items: &[T]) -> Result<Vec<T>> {
    let mut copy = Vec::new();
    reserve(&mut copy, items.len())?;
    copy.extend_from_slice(items);
    Ok(copy)
}

/// Makes room for `total` items in all and no more, or fails with [`Error::TooLarge`] and changes nothing.
pub fn reserve<T>(items: &mut Vec<T>, total: usize) -> Result<()> {
    let additional = total.saturating_sub(items.len());
    items.try_reserve_exact(additional).map_err(|_| too_large::<T>(total))
}

/// Makes the vector `len` items long. New items are 0. Fails like [`reserve`].
pub(crate) fn resize<T: Clone + Default>(items: &mut Vec<T>, len: usize) -> Result<()> {
    reserve(items, len)?;
    items.resize(len, T::default());
    Ok(())
}

/// Appends an item. Doubles the room if there is none left. Fails like [`reserve`].
#[inline]
pub(crate) fn push<T>(items: &mut Vec<T>, item: T) -> Result<()> {
    if items.len() == items.capacity() {
        grow(items, 1)?;
    }
    items.push(item);
    Ok(())
}

/// Appends many items. Doubles the room if there is none left. Fails like [`reserve`].
#[cfg_attr(target_arch = "wasm32", inline(never))]
pub fn append<T: Copy>(items: &mut Vec<T>, more: &[T]) -> Result<()> {
    if more.len() > items.capacity() - items.len() {
        grow(items, more.len())?;
    }
    items.extend_from_slice(more);
    Ok(())
}

/// Like [`push`], with many zeros.
#[allow(dead_code)] // only src/wasm/ needs it
pub(crate) fn lengthen(items: &mut Vec<u8>, additional: usize) -> Result<()> {
    if additional > items.capacity() - items.len() {
        grow(items, additional)?;
    }
    items.resize(items.len() + additional, 0);
    Ok(())
}

#[cold]
fn grow<T>(items: &mut Vec<T>, additional: usize) -> Result<()> {
    let total = items.len().saturating_add(additional);
    items.try_reserve(additional).map_err(|_| too_large::<T>(total))
}

fn too_large<T>(items: usize) -> Error {
    Error::TooLarge { bytes: items as u64 * size_of::<T>() as u64 }
}
