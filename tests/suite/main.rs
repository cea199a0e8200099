//! The tests of the crate, in one program that links once, with a module for each subject. `tests/memory.rs` measures
//! memory.

mod batch;
mod below;
mod bloom;
mod common_tags;
mod counting;
mod cuckoo;
mod delta;
mod golden;
mod hostile;
mod interop;
mod keyed;
mod layers;
mod naive;
mod password;
mod ribbon;
mod scalable;
mod slots;
mod tags;
mod url;
