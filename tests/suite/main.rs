//! The tests of the crate, in one program that links once, with a module for each subject. `tests/memory.rs` measures
//! memory.

mod batch;
mod below;
mod bloom;
mod builder;
mod common_tags;
mod counting;
mod covered;
mod cuckoo;
mod delta;
mod golden;
mod hostile;
mod interop;
mod keyed;
mod layers;
mod lists;
mod naive;
mod password;
mod ribbon;
mod scalable;
mod slots;
mod tags;
mod url;

/// Says what isn't tested here, and why. What `eprintln` prints is shown only of a test that fails.
fn not_tested(why: &str) {
    use std::io::Write;
    std::io::stderr().write_all(format!("not tested: {why}\n").as_bytes()).unwrap();
}

/// The step of a loop that takes only some of its cases. It is 1 where `EVERY` is set, as `npm run test:all` sets it.
fn every(step: usize) -> usize {
    if std::env::var_os("EVERY").is_some() { 1 } else { step }
}
