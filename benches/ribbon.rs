//! The ribbon filter against the xorf crate's BinaryFuse8: building from a million digests, and asking for a million
//! members and a million strangers, both on one core. Ratios of interleaved rounds in one run; `cargo bench --bench ribbon`.

use std::hint::black_box;
use std::time::Instant;

use bloom_wasm::RibbonFilter;
use bloom_wasm::hash::digest;
use xorf::{BinaryFuse8, Filter};

const KEYS: u64 = 1_000_000;
const ROUNDS: usize = 9;

/// The seconds that `run` takes, and what it returns.
fn time<T>(run: impl FnOnce() -> T) -> (f64, T) {
    let start = Instant::now();
    let result = black_box(run());
    (start.elapsed().as_secs_f64(), result)
}

fn main() {
    rayon::ThreadPoolBuilder::new().num_threads(1).build_global().expect("no threads yet");
    let digests = |seed| (0..KEYS).map(|i| digest(seed, &i.to_le_bytes())).collect::<Vec<_>>();
    let (members, strangers) = (digests(0), digests(1));
    let mut rounds = [const { Vec::new() }; 3];
    for _ in 0..ROUNDS {
        let mut working_copy = members.clone();
        let (fuse_build, fuse) = time(|| BinaryFuse8::try_from(&members).expect("distinct digests"));
        let (build, ribbon) =
            time(|| RibbonFilter::from_digests(&mut working_copy, 1.0 / 256.0, 0).expect("memory"));
        rounds[0].push((build, fuse_build));
        for (keys, rounds) in [&members, &strangers].into_iter().zip(&mut rounds[1..]) {
            let (fuse, _) = time(|| keys.iter().filter(|key| fuse.contains(key)).count());
            let (ribbon, _) = time(|| keys.iter().filter(|&&key| ribbon.has_digest(key)).count());
            rounds.push((ribbon, fuse));
        }
    }
    for (what, mut rounds) in ["build", "members", "strangers"].into_iter().zip(rounds) {
        rounds.sort_by(|a, b| (a.0 / a.1).total_cmp(&(b.0 / b.1)));
        let (ribbon, fuse) = rounds[ROUNDS / 2];
        let per_key = 1e9 / KEYS as f64;
        println!(
            "{what:10} ribbon {:6.1} ns a key, BinaryFuse8 {:6.1}, median ratio {:.2}",
            ribbon * per_key,
            fuse * per_key,
            ribbon / fuse
        );
    }
}
