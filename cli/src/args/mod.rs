//! Arguments that several commands have.

pub mod foreign;
pub mod kind;
pub mod number;
pub mod omitted;
pub mod profile;
pub mod secret;
pub mod tags;
