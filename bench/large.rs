//! Filters that no cache holds, asked one by one and in batches: a million digests, half of them strangers.
//! `npm run test:scale` interleaves these and tells their ratios.

mod processor;

use bloom_wasm::hash::digest;
use bloom_wasm::{BloomFilter, RibbonFilter, Stack};
use criterion::Throughput;

const QUERIES: u64 = 1_000_000;

fn main() {
    let count: u64 =
        std::env::var("BLOOM_WASM_KEYS").map_or(10_000_000, |count| count.parse().expect("a number"));
    let key = |i: u64| digest(0, &i.to_le_bytes());
    // Spread over all members; every other one is a stranger.
    let queries: Vec<u64> =
        (0..QUERIES).map(|i| key(key(i) % count + if i % 2 == 0 { 0 } else { count })).collect();
    let members = || (0..count).map(key).collect::<Vec<_>>();

    let mut criterion = processor::criterion();
    for fpr in [0.01, 0.001] {
        let mut group = criterion.benchmark_group(format!("large {fpr}"));
        group.throughput(Throughput::Elements(QUERIES));
        for kind in ["BloomFilter", "RibbonFilter"] {
            let build = || match kind {
                "BloomFilter" => {
                    Stack::from(BloomFilter::from_digests(&mut members(), fpr, 0).expect("memory"))
                }
                _ => Stack::from(RibbonFilter::from_digests(&mut members(), fpr, 0).expect("memory")),
            };
            let hits = |filter: &Stack| queries.iter().filter(|&&digest| filter.has_digest(digest)).count();
            let hits_of_many = |filter: &Stack| {
                filter.has_many_digests(&queries).expect("memory").iter().filter(|&&answer| answer).count()
            };
            group.bench_function(kind, |bencher| {
                let filter = build();
                assert!(hits(&filter) as u64 >= QUERIES / 2);
                bencher.iter(|| hits(&filter));
            });
            group.bench_function(format!("{kind}.has_many_digests"), |bencher| {
                let filter = build();
                assert_eq!(hits_of_many(&filter), hits(&filter));
                bencher.iter(|| hits_of_many(&filter));
            });
        }
        group.finish();
    }
}
