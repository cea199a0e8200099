//! From an input to the keys to test. Pure: knows no filter, only [`error`](crate::error).

#[cfg(feature = "cli")]
pub mod input;
pub mod url;
