//! Any bytes at all as a URL, and as a line of a list: a canonical form is its own canonical form, and has at most 30
//! keys. `npm run fuzz -- --target url` runs it.

#![no_main]

use bloom_wasm::keys::url::{canonicalize, clean, has_port, missing_scheme};
use bloom_wasm::keys::{password, url_list};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    for entry in url_list::entries(bytes).flatten() {
        assert_eq!(entry, entry.trim_ascii());
        assert!(!entry.is_empty());
    }
    let _ = password::hash_line(bytes);
    has_port(bytes);
    missing_scheme(bytes);
    let cleaned = clean(bytes).unwrap();
    assert_eq!(clean(&cleaned).unwrap(), cleaned);

    let Some(url) = canonicalize(&cleaned).unwrap() else { return };
    assert!(url.as_bytes().iter().all(u8::is_ascii_graphic));
    assert!(!url.host().is_empty());
    assert_eq!(canonicalize(url.as_bytes()).unwrap().as_ref(), Some(&url));

    let keys: Vec<_> = url.expressions().collect();
    assert!((1..=30).contains(&keys.len()));
    let mut once = keys.clone();
    once.sort_unstable();
    once.dedup();
    assert_eq!(once.len(), keys.len());
});
