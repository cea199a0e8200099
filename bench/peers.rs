//! The filters against fastbloom and xorf on a million made-up URLs, the keys of `npm run bench`, which interleaves
//! these and prints their ratios. `cargo bench --manifest-path bench/Cargo.toml` runs them one after the other.

mod processor;

use std::hint::black_box;

use bloom_wasm::hash::digest;
use bloom_wasm::keys::lines::lines;
use bloom_wasm::layers::Stack;
use bloom_wasm::{BloomFilter, RibbonFilter};
use criterion::{BatchSize, SamplingMode, Throughput};
use xorf::{BinaryFuse8, Filter};

const FPRS: [f64; 2] = [0.01, 0.001];

fn mix(mut x: u32) -> u32 {
    x = (x ^ (x >> 16)).wrapping_mul(0x85eb_ca6b);
    x = (x ^ (x >> 13)).wrapping_mul(0xc2b2_ae35);
    x ^ (x >> 16)
}

/// The keys as lines, as `bench/keys.mjs` makes them: `kind` says whether each one is a member, 0, or absent, 1.
fn keys(count: u32, kind: impl Fn(u32) -> u32) -> Vec<u8> {
    let pattern = *b"https://www.********.example/**********/********.html?id=**\n";
    let mut text = Vec::with_capacity(count as usize * pattern.len());
    for i in 0..count {
        let mut state = mix(2 * i + kind(i));
        text.extend(pattern.map(|byte| {
            if byte != b'*' {
                return byte;
            }
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            b"abcdefghijklmnopqrstuvwxyz234567"[(state >> 27) as usize]
        }));
    }
    text
}

fn count_of(answers: &[bool]) -> usize {
    answers.iter().filter(|&&answer| answer).count()
}

/// For how many of the lines a filter says "maybe present".
fn hits(text: &[u8], has: impl Fn(&[u8]) -> bool) -> usize {
    lines(text).filter(|key| has(key)).count()
}

fn main() {
    let count: u32 =
        std::env::var("BLOOM_WASM_KEYS").map_or(1_000_000, |count| count.parse().expect("a number"));
    let members = keys(count, |_| 0);
    let nonmembers = keys(count, |_| 1);
    let queries = keys(count, |i| mix(!i) & 1);
    assert!(nonmembers.starts_with(b"https://www.pm4556rf.example/vue3sispkr/cqmuiehr.html?id=kd\n"));
    let digests = |text| lines(text).map(|key| digest(0, key)).collect::<Vec<_>>();
    let member_digests = digests(&members);

    let mut criterion = processor::criterion();
    for fpr in FPRS {
        let mut group = criterion.benchmark_group(format!("has {fpr}"));
        group.throughput(Throughput::Elements(count.into())).sampling_mode(SamplingMode::Flat);
        group.bench_function("BloomFilter", |bencher| {
            let filter = BloomFilter::from_digests(&mut member_digests.clone(), fpr, 0).expect("memory");
            assert_eq!(hits(&members, |key| filter.has(key)), count as usize);
            bencher.iter(|| hits(&queries, |key| filter.has(key)));
        });
        group.bench_function("BloomFilter.has_many", |bencher| {
            let filter = BloomFilter::from_digests(&mut member_digests.clone(), fpr, 0).expect("memory");
            let filter = Stack::from(filter);
            let hits = |text| count_of(&filter.has_many(lines(text)).expect("memory"));
            assert_eq!(hits(&members), count as usize);
            bencher.iter(|| hits(&queries));
        });
        group.bench_function("RibbonFilter", |bencher| {
            let filter = RibbonFilter::from_digests(&mut member_digests.clone(), fpr, 0).expect("memory");
            assert_eq!(hits(&members, |key| filter.has(key)), count as usize);
            bencher.iter(|| hits(&queries, |key| filter.has(key)));
        });
        group.bench_function("RibbonFilter.has_many", |bencher| {
            let filter = RibbonFilter::from_digests(&mut member_digests.clone(), fpr, 0).expect("memory");
            let filter = Stack::from(filter);
            let hits = |text| count_of(&filter.has_many(lines(text)).expect("memory"));
            assert_eq!(hits(&members), count as usize);
            bencher.iter(|| hits(&queries));
        });
        group.bench_function("fastbloom", |bencher| {
            let mut filter =
                fastbloom::BloomFilter::with_false_pos(fpr).seed(&1).expected_items(count as usize);
            lines(&members).for_each(|key| _ = filter.insert(key));
            assert_eq!(hits(&members, |key| filter.contains(key)), count as usize);
            bencher.iter(|| hits(&queries, |key| filter.contains(key)));
        });
        group.finish();

        let mut group = criterion.benchmark_group(format!("add {fpr}"));
        group.throughput(Throughput::Elements(count.into())).sampling_mode(SamplingMode::Flat);
        group.bench_function("BloomFilter", |bencher| {
            bencher.iter(|| {
                let mut filter = BloomFilter::with_capacity(count.into(), fpr, 0).expect("memory");
                lines(&members).for_each(|key| _ = filter.add(key));
                filter
            });
        });
        group.bench_function("fastbloom", |bencher| {
            bencher.iter(|| {
                let mut filter =
                    fastbloom::BloomFilter::with_false_pos(fpr).seed(&1).expected_items(count as usize);
                lines(&members).for_each(|key| _ = filter.insert(key));
                filter
            });
        });
        group.finish();
    }

    // BinaryFuse8 has no other rate, and takes only digests.
    let fpr = 1.0 / 256.0;
    let query_digests = digests(&queries);
    let mut group = criterion.benchmark_group("has digests");
    group.throughput(Throughput::Elements(count.into())).sampling_mode(SamplingMode::Flat);
    group.bench_function("RibbonFilter", |bencher| {
        let filter = RibbonFilter::from_digests(&mut member_digests.clone(), fpr, 0).expect("memory");
        bencher.iter(|| query_digests.iter().filter(|&&key| filter.has_digest(key)).count());
    });
    group.bench_function("RibbonFilter.has_many_digests", |bencher| {
        let filter = RibbonFilter::from_digests(&mut member_digests.clone(), fpr, 0).expect("memory");
        let filter = Stack::from(filter);
        bencher.iter(|| count_of(&filter.has_many_digests(&query_digests).expect("memory")));
    });
    group.bench_function("BinaryFuse8", |bencher| {
        let filter = BinaryFuse8::try_from(&member_digests).expect("distinct digests");
        assert!(member_digests.iter().all(|key| filter.contains(key)));
        bencher.iter(|| query_digests.iter().filter(|key| filter.contains(key)).count());
    });
    group.finish();
    let mut group = criterion.benchmark_group("build of digests");
    group.throughput(Throughput::Elements(count.into())).sampling_mode(SamplingMode::Flat);
    group.bench_function("RibbonFilter", |bencher| {
        let build = |mut digests| RibbonFilter::from_digests(&mut digests, fpr, 0).expect("memory");
        bencher.iter_batched(|| member_digests.clone(), build, BatchSize::PerIteration);
    });
    group.bench_function("BinaryFuse8", |bencher| {
        bencher.iter(|| BinaryFuse8::try_from(black_box(&member_digests)).expect("distinct digests"));
    });
    group.finish();
}
