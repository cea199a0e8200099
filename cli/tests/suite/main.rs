//! The tests of the tool, in one program that links once: a module a subject. What measures memory is in
//! `tests/memory.rs`.

mod cli;
mod diff;
mod feed;
mod import;
mod in_process;
mod keyed;
mod lists;
mod output;
mod program;
mod shards;
mod tags;
mod tool;
mod trust;
