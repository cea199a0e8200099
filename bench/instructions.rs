//! The workloads of `scripts/instructions.mjs`, which counts the instructions inside [`measured`] for the name in the
//! first argument. Prints the number of operations: keys, canonicalised URLs, kilobytes decoded. Without a name it
//! prints all names. Like the wasm, it is built without the feature `parallel`, so that threads don't blur the numbers.

use std::hint::black_box;

use bloom_wasm::filters::AnyFilter;
use bloom_wasm::hash::digest;
use bloom_wasm::keys::url::canonicalize;
use bloom_wasm::layers::Stack;
use bloom_wasm::{BloomFilter, Filter, RibbonFilter};

/// Keys in a filter, and queries of one workload.
const KEYS: u32 = 100_000;
const NAMES: [&str; 11] = [
    "bloom hit",
    "bloom miss",
    "bloom many",
    "bloom add",
    "bloom build",
    "ribbon hit",
    "ribbon miss",
    "ribbon many",
    "ribbon build",
    "ribbon decode",
    "url keys",
];

/// Only the instructions between its call and its return are counted.
#[inline(never)]
fn measured(run: &mut dyn FnMut()) {
    run();
}

/// Keys of 30 to 35 bytes.
fn keys(of: &str) -> Vec<String> {
    (0..KEYS).map(|i| format!("https://{of}.example/page/{i}")).collect()
}

fn digests() -> Vec<u64> {
    keys("member").iter().map(|key| digest(0, key.as_bytes())).collect()
}

fn ribbon() -> AnyFilter {
    RibbonFilter::from_digests(&mut digests(), 0.001, 0).expect("memory").into()
}

fn bloom() -> BloomFilter {
    BloomFilter::from_digests(&mut digests(), 0.001, 0).expect("memory")
}

/// Looks keys up one by one.
fn ask(filter: &AnyFilter, of: &str) -> u32 {
    let keys = keys(of);
    measured(&mut || {
        for key in &keys {
            black_box(filter.has(black_box(key.as_bytes())));
        }
    });
    KEYS
}

/// Looks keys up in batches; half of them are members.
fn ask_many(filter: AnyFilter) -> u32 {
    let filter = Stack::from(filter);
    let mut keys = keys("member");
    keys.truncate(KEYS as usize / 2);
    keys.extend(self::keys("stranger").into_iter().skip(keys.len()));
    measured(&mut || {
        black_box(filter.has_many(black_box(&keys)).expect("memory"));
    });
    KEYS
}

/// Runs a workload; returns its number of operations.
fn run(name: &str) -> u32 {
    match name {
        "bloom hit" => ask(&bloom().into(), "member"),
        "bloom miss" => ask(&bloom().into(), "stranger"),
        "ribbon hit" => ask(&ribbon(), "member"),
        "ribbon miss" => ask(&ribbon(), "stranger"),
        "bloom many" => ask_many(bloom().into()),
        "ribbon many" => ask_many(ribbon()),
        "bloom add" => {
            let mut filter = BloomFilter::with_capacity(KEYS.into(), 0.001, 0).expect("memory");
            let keys = keys("member");
            measured(&mut || {
                for key in &keys {
                    black_box(filter.add(black_box(key.as_bytes())));
                }
            });
            KEYS
        }
        "bloom build" => {
            let mut digests = digests();
            measured(&mut || {
                black_box(BloomFilter::from_digests(&mut digests, 0.001, 0).expect("memory"));
            });
            KEYS
        }
        "ribbon build" => {
            let mut digests = digests();
            measured(&mut || {
                black_box(RibbonFilter::from_digests(&mut digests, 0.001, 0).expect("memory"));
            });
            KEYS
        }
        "ribbon decode" => {
            // A rate of 2^-32 gives a blob of 400 kB from only these keys.
            let filter = RibbonFilter::from_digests(&mut digests(), 1.0 / 4_294_967_296.0, 0);
            let bytes = Filter::from(filter.expect("memory")).encode().expect("memory");
            let kilobytes = bytes.len() as u32 / 1000;
            let mut bytes = Some(bytes);
            measured(&mut || {
                black_box(Filter::decode(bytes.take().unwrap_or_default()).expect("a blob"));
            });
            kilobytes
        }
        "url keys" => {
            let urls: Vec<_> = (0..1000)
                .map(|i| format!("https://a.b{i}.example.com/dir/./page%2{i}.html?q={i}#top"))
                .collect();
            measured(&mut || {
                for url in &urls {
                    let url = canonicalize(black_box(url.as_bytes())).expect("memory").expect("a host");
                    for key in url.expressions() {
                        black_box(key);
                    }
                }
            });
            urls.len() as u32
        }
        _ => panic!("no workload is called {name}"),
    }
}

fn main() {
    match std::env::args().nth(1).filter(|argument| argument != "--bench") {
        Some(name) => println!("{}", run(&name)),
        None => println!("{}", NAMES.join("\n")),
    }
}
