//! Keyed filters: nothing agrees without the secret, everything works with it, and a wrong one is told at once.

use std::fs;

use bloom_wasm::cli::{Streams, run};
use bloom_wasm::hash::{Hashing, Secret, digest};
use bloom_wasm::{Blob, Delta, Filter, Info, Kind, Profile, Stack, Update};
use serde_json::Value;
use tempfile::TempDir;

const KINDS: [Kind; 5] = [Kind::Bloom, Kind::Counting, Kind::Scalable, Kind::Cuckoo, Kind::Ribbon];

fn secret(number: u8) -> Secret {
    Secret::from([number; 16])
}

fn digests(keys: std::ops::Range<u64>, hashing: Hashing) -> Vec<u64> {
    keys.map(|i| hashing.digest(&i.to_le_bytes())).collect()
}

fn filter(kind: Kind, keys: u64, fpr: f64, hashing: Hashing) -> Filter {
    Filter::from_digests(kind.into(), &mut digests(0..keys, hashing), fpr, hashing).unwrap()
}

/// By how many standard deviations two payloads agree in more bits than independent ones would. Each of a byte's eight
/// bits has a share of ones of its own, since the upper bits of a counter are rarely set, and so has each stretch of
/// the payload, since the last slice of a scalable filter isn't full.
fn agreement(one: &[u8], other: &[u8]) -> f64 {
    let (mut more, mut variance) = (0.0, 0.0);
    for (one, other) in one.chunks(1024).zip(other.chunks(1024)) {
        let trials = one.len().min(other.len()) as f64;
        let count = |of: &dyn Fn(u8, u8) -> u8, bit: u32| {
            let ones = one.iter().zip(other).filter(|(a, b)| of(**a, **b) >> bit & 1 == 1);
            ones.count() as f64
        };
        for bit in 0..8 {
            let (a, b) = (count(&|a, _| a, bit) / trials, count(&|_, b| b, bit) / trials);
            let chance = a * b + (1.0 - a) * (1.0 - b);
            more += count(&|a, b| !(a ^ b), bit) - trials * chance;
            variance += trials * chance * (1.0 - chance);
        }
    }
    // Eight times the variance of independent bits: those of a byte may depend on each other.
    more / (8.0 * variance).sqrt()
}

#[test]
fn the_same_list_under_two_secrets_or_seeds_has_nothing_in_common() {
    for kind in KINDS {
        let made = |hashing: Hashing| filter(kind, 100_000, 0.004, hashing).as_bytes().to_vec();
        let first = made(Hashing::keyed(&secret(1), 7));
        for (what, other) in [
            ("another secret", Hashing::keyed(&secret(2), 7)),
            ("another seed", Hashing::keyed(&secret(1), 8)),
            ("no secret", Hashing::from(7)),
        ] {
            let sigmas = agreement(&first, &made(other));
            assert!(sigmas.abs() < 5.0, "{kind:?}, {what}: {sigmas} standard deviations");
        }
        assert_eq!(first, made(Hashing::keyed(&secret(1), 7)), "{kind:?}: the same of both");
        // The test can fail: ordinary filters of two lists that share a tenth agree far too often.
        let shared = filter(kind, 10_000, 0.004, 7.into()).as_bytes().to_vec();
        if kind == Kind::Bloom {
            assert!(agreement(&shared, filter(kind, 10_000, 0.004, 7.into()).as_bytes()) > 50.0);
        }
    }
}

#[test]
fn no_member_is_lost_and_the_rate_holds() {
    for kind in KINDS {
        for (keys, fpr) in [(1, 0.01), (63, 0.1), (1000, 0.001), (50_000, 0.01)] {
            let hashing = Hashing::keyed(&secret(3), keys);
            let stack = Stack::from(filter(kind, keys, fpr, hashing));
            assert!(
                (0..keys).all(|i| stack.has(&i.to_le_bytes())),
                "{kind:?}, {keys} keys: a false negative"
            );
            let strangers: Vec<_> = (keys..keys + 200_000).map(u64::to_le_bytes).collect();
            let hits = stack.has_many(&strangers).unwrap().into_iter().filter(|&hit| hit).count() as f64;
            let most = 200_000.0 * fpr;
            // A filter of one key has a fixed fill, and its own rate.
            let slack = if keys < 1000 { 2.0 } else { 1.1 };
            assert!(hits <= slack * most + 5.0 * most.sqrt(), "{kind:?}, {keys} keys at {fpr}: {hits} hits");
        }
    }
}

/// Layers and deltas use the same digests.
#[test]
fn layers_and_deltas() {
    let hashing = Hashing::keyed(&secret(4), 99);
    let of = |keys| digests(keys, hashing);
    let base = Blob::from(filter(Kind::Ribbon, 1000, 0.01, hashing));
    let mut child = base.clone();
    let (live, removed, allowed) = (of(50..1050), of(0..50), of(5000..9000));
    child
        .filter_mut()
        .update(Update { live: &live, removed: &removed, allowed: &allowed, fpr: 1e-6 })
        .unwrap();
    let has = |blob: &Blob, i: u64| blob.filter().has(&i.to_le_bytes());
    assert!((50..1050).all(|i| has(&child, i)) && !(0..50).chain(5000..9000).any(|i| has(&child, i)));

    let bytes = child.encode().unwrap();
    assert_eq!(bytes[4], 2);
    assert_eq!(Blob::decode_keyed(bytes, &secret(4)).unwrap(), child);
    let delta = Delta::between(&base, &child).unwrap().encode().unwrap();
    let code = |delta: Vec<u8>, of: Option<u8>| match of {
        Some(number) => Delta::decode_keyed(delta, &secret(number)).unwrap_err().code(),
        None => Delta::decode(delta).unwrap_err().code(),
    };
    assert_eq!(code(delta.clone(), None), "secret_required");
    assert_eq!(code(delta.clone(), Some(5)), "wrong_secret");
    let delta = Delta::decode_keyed(delta, &secret(4)).unwrap();
    assert_eq!(base.apply(delta.clone()).unwrap(), child);
    let other = Blob::from(filter(Kind::Ribbon, 1000, 0.01, Hashing::keyed(&secret(5), 99)));
    assert_eq!(other.apply(delta).unwrap_err().code(), "wrong_base");
}

/// Keys that pass a filter as somebody sees it who has only the blob.
fn searched(seen: &Stack, count: usize) -> Vec<[u8; 8]> {
    (1_000_000..).map(u64::to_le_bytes).filter(|key| seen.has(key)).take(count).collect()
}

#[test]
fn false_positives_cannot_be_made_up_without_the_secret() {
    const FPR: f64 = 0.001;
    for kind in KINDS {
        let open = Stack::from(filter(kind, 10_000, FPR, 42.into()));
        let made_up = searched(&open, 100);
        assert!(made_up.iter().all(|key| open.has(key)), "{kind:?}: all of them pass");

        let hashing = Hashing::keyed(&secret(1), 42);
        let target = Stack::from(filter(kind, 10_000, FPR, hashing));
        let bytes = Blob::from(target.base().clone()).encode().unwrap();
        // The blob without its secret: taken for an ordinary one with its seed, and as one of the attacker's own secret.
        let sealed = |body: &[u8]| [body, &digest(0, body).to_le_bytes()].concat();
        let body = &bytes[..bytes.len() - 8];
        let ordinary = sealed(&[&body[..4], &[1], &body[5..16], &body[24..]].concat());
        let own = Hashing::keyed(&secret(9), 42).check().unwrap().to_le_bytes();
        let own = sealed(&[&body[..16], &own, &body[24..]].concat());
        for seen in [Blob::decode(ordinary).unwrap(), Blob::decode_keyed(own, &secret(9)).unwrap()] {
            let made_up = searched(seen.filter(), 2000);
            let hits = made_up.iter().filter(|key| target.has(&key[..])).count();
            // 2 are expected; more than 12 happen once in a million times.
            assert!(hits <= 12, "{kind:?}: {hits} of 2,000");
        }
    }
}

#[test]
fn a_wrong_secret_is_told_before_anything_else() {
    let hashing = Hashing::keyed(&secret(1), 0x0123_4567_89ab_cdef);
    let keyed = Blob::from(filter(Kind::Bloom, 100, 0.01, hashing)).encode().unwrap();
    let open = Blob::from(filter(Kind::Bloom, 100, 0.01, 0.into())).encode().unwrap();
    let code = |result: Result<Blob, bloom_wasm::Error>| result.map_err(|error| error.code());
    for (bytes, given, expected) in [
        (&keyed, None, "secret_required"),
        (&keyed, Some(2), "wrong_secret"),
        (&open, Some(1), "wrong_secret"),
    ] {
        let decoded = |bytes: &[u8]| match given {
            Some(number) => Blob::decode_keyed(bytes.to_vec(), &secret(number)),
            None => Blob::decode(bytes.to_vec()),
        };
        let length = |bytes: &[u8]| match given {
            Some(number) => Blob::expected_length_keyed(bytes, &secret(number)),
            None => Blob::expected_length(bytes),
        };
        // From the first 24 bytes on, and whatever follows them.
        assert_eq!(code(decoded(bytes)), Err(expected));
        assert_eq!(code(decoded(&bytes[..24])), Err(expected));
        assert_eq!(length(&bytes[..24]).map_err(|error| error.code()), Err(expected));
        assert_eq!(length(&bytes[..12]), Ok(None));
    }
    let read = Blob::decode_keyed(keyed.clone(), &secret(1)).unwrap();
    assert!(Info::of(&read).unwrap().keyed && !Info::of(&Blob::decode(open).unwrap()).unwrap().keyed);
    assert_eq!(Blob::expected_length_keyed(&keyed, &secret(1)), Ok(Some(keyed.len() as u64)));
    // What was read is changed and merged like any other.
    let mut merged = read.clone();
    merged.combine(&read, true).unwrap();
    assert_eq!(merged, read);
    let other = Blob::from(filter(Kind::Bloom, 100, 0.01, Hashing::keyed(&secret(2), hashing.seed())));
    assert_eq!(merged.combine(&other, true).unwrap_err().code(), "incompatible");
}

/// The tool, with files in a folder of its own.
struct Tool(TempDir);

impl Tool {
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let tool = Tool(folder);
        tool.write("secret", b"000102030405060708090a0b0c0d0e0f\n");
        tool.write("other", &[7; 16]);
        tool.write("short", b"0001020304\n");
        tool.write("list", b"evil.example\nbad.example\n");
        tool
    }

    fn write(&self, name: &str, bytes: &[u8]) {
        fs::write(self.0.path().join(name), bytes).unwrap();
    }

    fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.0.path().join(name)).unwrap()
    }

    /// Arguments that begin with @ are files.
    fn run_with(&self, args: &str, mut input: &[u8]) -> (u8, String, String) {
        let path = |arg: &str| match arg.strip_prefix('@') {
            Some(file) => self.0.path().join(file).display().to_string(),
            None => arg.to_owned(),
        };
        let args = ["bloom-wasm".to_owned()].into_iter().chain(args.split(' ').map(path));
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let streams = &mut Streams { input: &mut input, out: &mut out, err: &mut err, terminal: false };
        let code = run(args.collect::<Vec<_>>(), streams);
        (code, String::from_utf8(out).unwrap(), String::from_utf8(err).unwrap())
    }

    fn done(&self, args: &str) -> String {
        let (code, out, err) = self.run_with(args, b"");
        assert_eq!(code, 0, "{args}: {err}");
        out
    }

    /// Fails with this code, in one line that shows nothing of a secret.
    fn refused(&self, args: &str, code: &str) {
        let (exit, out, err) = self.run_with(args, b"");
        assert!(exit == 2 && err.contains(&format!("[{code}]")) && out.is_empty(), "{args}: {out}{err}");
        assert!(err.lines().count() == 1 && !err.contains("0001020304"), "{args}: {err}");
    }
}

#[test]
fn the_tool_reads_a_secret_from_a_file() {
    let tool = Tool::new();
    tool.done("build @list -o @keyed --secret-file @secret --profile url");
    tool.done("build @list -o @again --secret-file @secret --profile url");
    assert_ne!(tool.read("keyed"), tool.read("again"), "a random seed each");
    tool.done("build @list -o @plain --profile url");
    let out = tool.done("check @keyed http://evil.example/a --secret-file @secret");
    assert_eq!(out, "http://evil.example/a\n");
    let json: Value = serde_json::from_str(&tool.done("info @keyed --json --secret-file @secret")).unwrap();
    assert_eq!(json["keyed"], true);
    assert!(tool.done("info @keyed --secret-file @secret").contains("keyed     yes"));
    tool.done("verify @keyed --members @list --probes 1000 --secret-file @secret");
    // 16 bytes are the same as their digits.
    tool.write("raw", &(0..16).collect::<Vec<u8>>());
    tool.done("verify @keyed --members @list --probes 1000 --secret-file @raw");
    // And so are digits behind a byte order mark.
    tool.write("marked", &["\u{feff}".as_bytes(), &tool.read("secret")].concat());
    tool.done("verify @keyed --members @list --probes 1000 --secret-file @marked");

    tool.write("more", b"evil.example\nnew.example\n");
    tool.done("diff @list @more --base @keyed -o @delta --secret-file @secret");
    tool.done("info @delta --secret-file @secret");
    tool.done("apply @keyed @delta -o @new --secret-file @secret");
    tool.done("verify @new --members @more --probes 1000 --secret-file @secret");
    for part in ["one", "two"] {
        tool.done(&format!(
            "build @list -o @{part} --kind bloom --capacity 9 --seed 5 --secret-file @secret"
        ));
    }
    tool.done("merge @one @two -o @merged --secret-file @secret");
    tool.done("build @list -o @random --kind bloom --capacity 9 --secret-file @secret");

    let all = [
        "check @keyed evil.example",
        "info @keyed",
        "info @delta",
        "verify @keyed --members @list",
        "diff @list @more --base @keyed -o @never",
        "apply @keyed @delta -o @never",
        "merge @one @two -o @never",
    ];
    for args in all {
        tool.refused(args, "secret_required");
        tool.refused(&format!("{args} --secret-file @other"), "wrong_secret");
        tool.refused(&format!("{args} --secret-file @short"), "invalid_parameter");
    }
    tool.refused("check @plain evil.example --secret-file @secret", "wrong_secret");
    tool.refused("build @list -o @never --secret-file @short", "invalid_parameter");
    tool.write("word", b"correct horse b\n");
    tool.refused("build @list -o @never --secret-file @word", "invalid_parameter");
    tool.write("long", &[b'0'; 5000]);
    tool.refused("build @list -o @never --secret-file @long", "invalid_parameter");
    for (args, words) in [
        ("build @list -o @never --secret-file @missing", "missing"),
        ("build @list -o @secret --secret-file @secret", "output too"),
        ("merge @one @two -o @secret --secret-file @secret", "output too"),
        ("build @list -o @never --secret-file -", "not standard input"),
        // What should be a file isn't shown.
        (
            "build @list -o @never --secret-file 0123456789abcdef0123456789abcdef",
            "bloom-wasm: --secret-file takes",
        ),
        ("build @list -o @never --kind guava --secret-file @secret", "other software"),
        ("export @one -o @never --to guava", "no other software reads keyed filters"),
        ("merge @one @random -o @never --secret-file @secret", "with one --seed"),
    ] {
        let (code, _, err) = tool.run_with(args, b"");
        assert!(code == 2 && err.contains(words) && err.lines().count() == 1, "{args}: {err}");
    }
    assert!(!tool.0.path().join("never").exists());
    assert_eq!(tool.read("secret").len(), 33);
}

#[test]
fn a_keyed_feed() {
    let tool = Tool::new();
    tool.done("feed init @public --state @state --secret-file @secret");
    tool.done("feed publish @public @list --state @state --secret-file @secret");
    tool.write("list", b"evil.example\nbad.example\nnew.example\n");
    let keys = (0..500).map(|i| format!("key-{i}\n")).collect::<String>();
    tool.write("long", [&tool.read("list"), keys.as_bytes()].concat().as_slice());
    tool.done("feed publish @public @long --state @state --secret-file @secret");
    let verified: Value =
        serde_json::from_str(&tool.done("feed verify @public --json --secret-file @secret")).unwrap();
    assert_eq!((&verified["keyed"], &verified["count"]), (&true.into(), &503.into()));
    assert_eq!(verified["files"].as_array().unwrap().len(), 1, "a new base");
    tool.write("next", [&tool.read("long"), &b"one-more\n"[..]].concat().as_slice());
    tool.done("feed publish @public @next --state @state --secret-file @secret");
    let manifest = tool.read("public/feed.json");
    for args in ["feed publish @public @long --state @state", "feed verify @public"] {
        tool.refused(args, "secret_required");
        tool.refused(&format!("{args} --secret-file @other"), "wrong_secret");
    }
    // A tool that doesn't know keyed feeds takes no such state.
    let state: Value = serde_json::from_slice(&tool.read("state/state.json")).unwrap();
    assert_eq!(state["version"], 2);
    // A state that was lost: the secret must still be that of the feed, even if its files can't be read.
    fs::remove_dir_all(tool.0.path().join("state")).unwrap();
    fs::create_dir(tool.0.path().join("alone")).unwrap();
    fs::write(tool.0.path().join("alone/feed.json"), &manifest).unwrap();
    tool.refused("feed init @alone --state @state --trust-unsigned", "secret_required");
    tool.refused("feed init @alone --state @state --trust-unsigned --secret-file @other", "wrong_secret");
    tool.refused("feed init @public --state @state --trust-unsigned", "secret_required");
    tool.refused("feed init @public --state @state --trust-unsigned --secret-file @other", "wrong_secret");
    assert_eq!(tool.read("public/feed.json"), manifest);
    tool.done("feed init @public --state @state --trust-unsigned --secret-file @secret");
    tool.done("feed publish @public @list --state @state --secret-file @secret --max-removed 100%");
    tool.done("feed verify @public --secret-file @secret");
}

#[test]
fn a_keyed_sharded_filter() {
    let tool = Tool::new();
    let keys = (0..2000).map(|i| format!("key-{i}\n")).collect::<String>();
    tool.write("keys", keys.as_bytes());
    tool.done("build @keys --shards 8 -o @sharded --secret-file @secret");
    let before = tool.read("sharded/shards.json");
    let out = tool.done("build @keys --shards 8 -o @sharded --secret-file @secret");
    assert!(out.contains("unchanged"), "the same seed again: {out}");
    assert_eq!(tool.read("sharded/shards.json"), before);
    tool.done("verify @sharded --members @keys --probes 10000 --secret-file @secret");
    assert_eq!(tool.done("check @sharded key-7 --secret-file @secret"), "key-7\n");
    assert!(tool.done("info @sharded --secret-file @secret").contains("keyed       yes"));
    for args in ["check @sharded key-7", "info @sharded", "verify @sharded --members @keys"] {
        tool.refused(args, "secret_required");
        tool.refused(&format!("{args} --secret-file @other"), "wrong_secret");
    }
    tool.done("build @keys --shards 8 -o @plain");
    tool.refused("check @plain key-7 --secret-file @secret", "wrong_secret");
    // Nobody publishes the list by forgetting an option, or under another secret.
    tool.refused("build @keys --shards 8 -o @sharded", "secret_required");
    tool.refused("build @keys --shards 8 -o @sharded --secret-file @other", "wrong_secret");
    tool.refused("build @keys --shards 8 -o @plain --secret-file @secret", "wrong_secret");
    assert_eq!(tool.read("sharded/shards.json"), before);

    // Built elsewhere, of digests that follow FORMAT.md, section 3.
    let hashing = Hashing::keyed(&Secret::from(std::array::from_fn(|i| i as u8)), 5);
    tool.done("build @keys --shards 2 -o @whole --seed 5 --secret-file @secret");
    fs::create_dir(tool.0.path().join("elsewhere")).unwrap();
    for shard in 0..2 {
        let digests = (0..2000).map(|i| hashing.digest(format!("key-{i}").as_bytes()));
        let digests = digests.filter(|digest| digest >> 63 == shard).flat_map(u64::to_le_bytes);
        let args =
            format!("shard build --shards 2 --index {shard} --seed 5 -o @elsewhere --secret-file @secret");
        let (code, _, err) = tool.run_with(&args, &digests.collect::<Vec<u8>>());
        assert_eq!(code, 0, "{err}");
    }
    tool.refused("shard index @elsewhere --shards 2", "secret_required");
    tool.done("shard index @elsewhere --shards 2 --secret-file @secret");
    let names = |dir: &str| {
        let files = fs::read_dir(tool.0.path().join(dir)).unwrap().map(|file| file.unwrap().file_name());
        files.filter(|name| name != "shards.json").collect::<std::collections::BTreeSet<_>>()
    };
    assert_eq!(names("elsewhere"), names("whole"));
    let (code, _, err) =
        tool.run_with("shard build --shards 2 --index 0 -o @elsewhere --secret-file @secret", b"");
    assert!(code == 2 && err.contains("--seed"), "{err}");
}

/// Profiles change keys, and no digests.
#[test]
fn passwords() {
    let hashing = Hashing::keyed(&secret(6), 1);
    let profile = Profile::Password { lowercase: true, sha1: false };
    let filter =
        Filter::from_digests(Kind::Ribbon.into(), &mut vec![hashing.digest(b"hunter2")], 1e-4, hashing);
    let bytes = Blob::new(profile, filter.unwrap()).encode().unwrap();
    let read = Blob::decode_keyed(bytes, &secret(6)).unwrap();
    assert!(read.profile() == profile && read.filter().has(b"hunter2") && !read.filter().has(b"hunter3"));
}
