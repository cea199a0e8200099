//! Filters that don't fit any cache, queried one by one and in batches: a million digests, half of them absent. `npm
//! run test:scale` runs this and prints the ratios. Building takes far longer than the queries, so each filter is built
//! once, and a single process interleaves the rounds.

mod processor;

use bloom_wasm::hash::digest;
use bloom_wasm::layers::Stack;
use bloom_wasm::{BloomFilter, RibbonFilter};
use criterion::Throughput;

const QUERIES: u64 = 1_000_000;

fn number(variable: &str, usual: u64) -> u64 {
    std::env::var(variable).map_or(usual, |value| value.parse().expect("a number"))
}

fn main() {
    let count = number("BLOOM_WASM_KEYS", 10_000_000);
    let rounds = number("BLOOM_WASM_ROUNDS", 1);
    let key = |i: u64| digest(0, &i.to_le_bytes());
    // Spread over all members; every other one is absent.
    let queries: Vec<u64> =
        (0..QUERIES).map(|i| key(key(i) % count + if i % 2 == 0 { 0 } else { count })).collect();
    let hits = |filter: &Stack| queries.iter().filter(|&&digest| filter.has_digest(digest)).count();
    let hits_of_many = |filter: &Stack| {
        filter.has_many_digests(&queries).expect("memory").iter().filter(|&&answer| answer).count()
    };

    let mut criterion = processor::criterion();
    for fpr in [0.01, 0.001] {
        let members = || (0..count).map(key).collect::<Vec<_>>();
        let bloom = Stack::from(BloomFilter::from_digests(&mut members(), fpr, 0).expect("memory"));
        let ribbon = Stack::from(RibbonFilter::from_digests(&mut members(), fpr, 0).expect("memory"));
        for filter in [&bloom, &ribbon] {
            assert!(hits(filter) as u64 >= QUERIES / 2);
            assert_eq!(hits(filter), hits_of_many(filter));
        }
        let mut contestants: [(&str, &dyn Fn() -> usize); 4] = [
            ("BloomFilter", &|| hits(&bloom)),
            ("BloomFilter.has_many_digests", &|| hits_of_many(&bloom)),
            ("RibbonFilter", &|| hits(&ribbon)),
            ("RibbonFilter.has_many_digests", &|| hits_of_many(&ribbon)),
        ];
        for round in 0..rounds {
            let mut group = criterion.benchmark_group(format!("large {fpr} {round}"));
            group.throughput(Throughput::Elements(QUERIES));
            for (name, ask) in contestants {
                group.bench_function(name, |bencher| bencher.iter(ask));
            }
            group.finish();
            contestants.rotate_left(1);
        }
    }
}
