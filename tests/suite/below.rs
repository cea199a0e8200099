//! URLs at or below the entries of lists, as pkg-tests/helpers/below.mjs makes them: none is missed, in whatever way
//! the blob is queried. `BELOW=FOLDER` names more of them; `NAME.bloom` is the blob for the URLs in `NAME.urls`, and of
//! those in `NAME.nonmembers`, if there are some, most are absent.

use std::path::{Path, PathBuf};

use bloom_wasm::hash::Hashing;
use bloom_wasm::keys::native::Native;
use bloom_wasm::keys::url::{self, Readings};
use bloom_wasm::layers::Stack;
use bloom_wasm::slots::Slots;
use bloom_wasm::{Filter, Kind, Profile};

/// Calls `ask` for each blob in the folders. Returns how many there are.
fn each(mut ask: impl FnMut(&str, &Stack, &dyn Fn(&str) -> Option<String>)) -> usize {
    let small = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/below"));
    let given = std::env::var_os("BELOW").map(PathBuf::from);
    let mut blobs = 0;
    for path in [small].into_iter().chain(given).flat_map(|folder| folder.read_dir().unwrap()) {
        let path = path.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "bloom") {
            continue;
        }
        let blob = Filter::decode(std::fs::read(&path).unwrap()).unwrap();
        assert_eq!(blob.profile(), Profile::Url);
        let beside =
            |extension: &str| std::fs::read_to_string(Path::new(&path.with_extension(extension))).ok();
        ask(&path.display().to_string(), blob.stack(), &beside);
        blobs += 1;
    }
    blobs
}

/// Looks up as a browser does: only keys whose slots the map has.
fn has_url(stack: &Stack, readings: &Readings) -> bool {
    let slots = stack.slots();
    readings.iter().any(|url| url.expressions_in(slots).any(|(slot, key)| stack.has_in(slot, key)))
}

/// The answers, which must be the same in every way of asking.
fn answers(stack: &Stack, urls: &str) -> Vec<bool> {
    let (mut answers, mut keys, mut counts) = (Vec::new(), Vec::new(), Vec::new());
    for text in urls.lines() {
        let readings = url::readings(&Native, text.as_bytes()).unwrap();
        let found = has_url(stack, &readings);
        assert_eq!(readings.keys().any(|key| stack.has(key)), found, "{text}");
        if let Some(plain) = url::plain(text.as_bytes()) {
            assert_eq!(has_url(stack, &plain.into()), found, "{text}");
        }
        if stack.slots().is_within(Slots::HOSTS) {
            let root = url::any_root(text.as_bytes(), stack.slots(), |slot, key| stack.has_in(slot, key));
            assert!(root.is_none_or(|root| root == found), "{text}");
        }
        let before = keys.len();
        keys.extend(readings.keys().map(<[u8]>::to_vec));
        counts.push(keys.len() - before);
        answers.push(found);
        if counts.len() == 1000 {
            assert_eq!(many(stack, &mut keys, &mut counts), answers[answers.len() - 1000..]);
        }
    }
    let rest = counts.len();
    assert_eq!(many(stack, &mut keys, &mut counts), answers[answers.len() - rest..]);
    answers
}

/// The answers for URLs with these numbers of keys. Both vectors are used up.
fn many(stack: &Stack, keys: &mut Vec<Vec<u8>>, counts: &mut Vec<usize>) -> Vec<bool> {
    let mut found = stack.has_many(keys.drain(..)).unwrap().into_iter();
    counts.drain(..).map(|count| found.by_ref().take(count).fold(false, |any, one| any | one)).collect()
}

#[test]
fn no_url_below_an_entry_is_missed() {
    let (mut asked, mut nonmembers, mut absent) = (0, 0, 0);
    let blobs = each(|name, stack, beside| {
        let urls = beside("urls").unwrap();
        let found = answers(stack, &urls);
        let missed: Vec<&str> =
            urls.lines().zip(&found).filter(|(_, found)| !**found).map(|(url, _)| url).collect();
        assert!(missed.is_empty(), "{name}: {} missed: {:?}", missed.len(), &missed[..missed.len().min(10)]);
        asked += found.len();
        if let Some(others) = beside("nonmembers") {
            let found = answers(stack, &others);
            nonmembers += found.len();
            absent += found.iter().filter(|found| !**found).count();
        }
    });
    println!(
        "below: {asked} URLs in {blobs} blobs: none missed; {absent} of {nonmembers} non-members absent"
    );
    assert!(asked >= 1000 && absent * 10 >= nonmembers * 9, "{absent} of {nonmembers}");
}

/// No entry of a list is such a key, but builders that take digests may have one.
#[test]
fn keys_without_a_slash_are_found() {
    each(|name, _, beside| {
        let urls = beside("urls").unwrap();
        let mut keys: Vec<String> = urls.lines().map(|url| url.replace(['/', '\\'], "")).collect();
        keys.truncate(200_000);
        let hashing = Hashing::from(5).with_slots();
        let mut digests: Vec<u64> = keys.iter().map(|key| hashing.digest(key.as_bytes())).collect();
        let stack = Stack::build(Kind::Ribbon.into(), &mut digests, None, 1e-6, hashing).unwrap();
        let read = Filter::decode(Filter::new(Profile::Url, stack).encode().unwrap()).unwrap();
        assert!(keys.iter().all(|key| read.stack().has(key.as_bytes())), "{name}");
        assert!(read.stack().has_many(&keys).unwrap().iter().all(|&found| found), "{name}");
        assert!(!read.stack().has(b"stranger"));
    });
}
