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
mod kinds;
mod layers;
mod lists;
mod naive;
mod password;
mod ribbon;
mod scalable;
mod slots;
mod tags;
mod url;

/// The rows of a file in `tests/vectors/`, which tests in every language may read.
fn vectors(file: &str) -> Vec<serde_json::Value> {
    let path = format!("{}/tests/vectors/{file}.json", env!("CARGO_MANIFEST_DIR"));
    let groups: std::collections::BTreeMap<String, Vec<serde_json::Value>> =
        serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    groups.into_values().flatten().collect()
}

/// The texts of a list in a row; none if the row has no such list.
fn texts(value: &serde_json::Value) -> Vec<&str> {
    value.as_array().into_iter().flatten().map(|text| text.as_str().unwrap()).collect()
}

/// Says what isn't tested here, and why. What `eprintln` prints is shown only of a test that fails.
fn not_tested(why: &str) {
    use std::io::Write;
    std::io::stderr().write_all(format!("not tested: {why}\n").as_bytes()).unwrap();
}

/// The step of a loop that takes only some of its cases. It is 1 where `EVERY` is set, as `npm run test:all` sets it.
fn every(step: usize) -> usize {
    if std::env::var_os("EVERY").is_some() { 1 } else { step }
}
