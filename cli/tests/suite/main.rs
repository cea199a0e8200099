//! The tests of the tool, in one program that links once, with a module for each subject. `tests/memory.rs` measures
//! memory.

mod cli;
mod covered;
mod feed;
mod import;
mod in_process;
mod keyed;
mod output;
mod program;
mod shards;
mod signals;
mod tags;
mod tool;
