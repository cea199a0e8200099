//! Filters of other software, made and answered by that software itself (`tests/interop/`, whose README says how): each
//! file is read, wrapped, asked for every recorded key, and written again; and where it can be made here, it is made from
//! its keys to the byte. Then the same files, damaged.

mod damaged;
mod documented;
mod recorded;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use bloom_wasm::filters::AnyFilter;
use bloom_wasm::interop::{self, Builder, Format, KeyType, Options};
use bloom_wasm::{Error, Filter, ForeignFilter};
use proptest::prelude::*;
use serde_json::Value;

/// A file of a case, and how to read it.
struct File {
    name: String,
    format: Format,
    options: Options,
    bytes: Vec<u8>,
}

/// A case of a manifest.
struct Case {
    system: String,
    folder: PathBuf,
    value: Value,
}

fn cases() -> Vec<Case> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/interop");
    let mut folders: Vec<_> = fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path()).collect();
    folders.sort();
    let mut cases = Vec::new();
    for folder in folders.into_iter().filter(|folder| folder.join("manifest.json").exists()) {
        let manifest = fs::read_to_string(folder.join("manifest.json")).unwrap();
        let manifest: Value = serde_json::from_str(&manifest).unwrap();
        let system = manifest["system"].as_str().unwrap().to_owned();
        for value in manifest["cases"].as_array().unwrap() {
            cases.push(Case { system: system.clone(), folder: folder.clone(), value: value.clone() });
        }
    }
    cases
}

fn text(value: &Value) -> Option<String> {
    Some(value.as_str()?.to_owned())
}

impl Case {
    fn id(&self) -> String {
        format!("{}/{}", self.system, self.value["id"].as_str().unwrap())
    }

    fn read(&self, file: &str) -> Vec<u8> {
        fs::read(self.folder.join(file)).unwrap_or_else(|error| panic!("{}: {file}: {error}", self.id()))
    }

    fn params(&self) -> &Value {
        &self.value["params"]
    }

    fn number(&self, param: &str) -> Option<u64> {
        self.params()[param].as_u64()
    }

    /// The format, and the options that say what the bytes don't.
    fn options(&self) -> (Format, Options) {
        let mut options = Options::default();
        let kind = self.params()["kind"].as_str().unwrap_or_default();
        let format = match self.system.as_str() {
            "xor-singleheader" | "xorf" if kind.starts_with("xor") => Format::Xor,
            "xor-singleheader" | "xorf" => Format::BinaryFuse,
            name => Format::from_name(name).unwrap_or_else(|_| panic!("{name} is the system, but no format")),
        };
        match format {
            Format::Guava => {
                let funnel = match self.params()["funnel"].as_str().unwrap() {
                    "stringFunnel(UTF_8)" => "utf8",
                    "unencodedCharsFunnel" => "unencoded-chars",
                    "byteArrayFunnel" => "bytes",
                    "integerFunnel" => "int",
                    "longFunnel" => "long",
                    other => panic!("{other}"),
                };
                options.funnel = Some(funnel.to_owned());
            }
            Format::Spark => {
                let keys = self.params()["item_type"].as_str().unwrap();
                options.keys = Some(if keys == "binary" { "bytes" } else { keys }.to_owned());
            }
            Format::BloomFilter2 => {
                options.bits = self.number("bits");
                options.hashes = self.number("hashes").map(|hashes| hashes as u32);
                let bytes = self.value["key_encoding"] == "hex-per-line";
                options.keys = Some(if bytes { "bytes" } else { "string" }.to_owned());
            }
            Format::RedisBitmap => {
                options.bits = self.number("size_bits");
                options.hashes = self.number("k").map(|k| k as u32);
            }
            Format::NpmBloomfilter => {
                options.generation = text(&self.params()["hash_generation"]);
                let array = self.value["blob_format"] == "npm-bloomfilter-bucket-array";
                options.hashes = self.number("k").map(|k| k as u32).filter(|_| array);
            }
            Format::ParquetSbbf => {
                let keys = match self.params()["physical_type"].as_str().unwrap() {
                    "BYTE_ARRAY" => "string",
                    "INT32" => "int32",
                    "INT64" => "int64",
                    other => panic!("{other}"),
                };
                options.keys = Some(keys.to_owned());
            }
            Format::PyBloomFilterMmap3 => {
                let keys = match self.value["key_encoding"].as_str().unwrap() {
                    "int64-decimal-per-line" => "int",
                    "hex-per-line" => "bytes",
                    _ => "string",
                };
                options.keys = Some(keys.to_owned());
            }
            _ => {}
        }
        (format, options)
    }

    /// Every file of the case that can be read. Those of Parquet are parts: a key in any of them is present.
    fn files(&self) -> Vec<File> {
        let (format, options) = self.options();
        let file = |name: &str, options: &Options, bytes: Vec<u8>| {
            let name = format!("{}: {name}", self.id());
            File { name, format, options: options.clone(), bytes }
        };
        if format == Format::RedisBloom {
            let mut chunks = Vec::new();
            for chunk in self.value["chunks"].as_array().unwrap() {
                let bytes = self.read(chunk["file"].as_str().unwrap());
                chunks.extend(chunk["iter"].as_u64().unwrap().to_le_bytes());
                chunks.extend((bytes.len() as u32).to_le_bytes());
                chunks.extend(bytes);
            }
            return vec![file("chunks", &options, chunks)];
        }
        let kind = self.params()["kind"].as_str().unwrap_or_default().to_owned();
        let mut names = vec![self.value["blob"].as_str().unwrap().to_owned()];
        let folder = Path::new(&names[0]).parent().unwrap().to_str().unwrap().to_owned();
        if let Some(alternate) = self.value["alternate"].as_object() {
            names.extend(alternate.keys().map(|name| format!("{folder}/{name}")));
        }
        names.sort();
        names.dedup();
        // No reader takes whole Parquet files, or packed or hexadecimal forms.
        names.retain(|name| {
            !(name.ends_with(".parquet") || name.ends_with(".base64.txt") || name.ends_with(".hex.txt"))
        });
        let width = |kind: &str| kind.trim_start_matches(|c: char| c.is_ascii_alphabetic()).parse().ok();
        let read = |name: &String| {
            let mut options = options.clone();
            if self.system == "xorf" {
                let json = name.ends_with(".json");
                let layout = if json { "xorf-json" } else { "xorf-dma" };
                let layout = if name.ends_with(".bincode") { "xorf-bincode" } else { layout };
                options.layout = Some(layout.to_owned());
                options.width = width(&kind).filter(|_| json);
            }
            file(name, &options, self.read(name))
        };
        names.iter().map(read).collect()
    }

    /// A key in a line of a file.
    fn key(&self, line: &str, keys: KeyType) -> Vec<u8> {
        let unhex = |text: &str| -> Vec<u8> {
            (0..text.len() / 2).map(|i| u8::from_str_radix(&text[2 * i..][..2], 16).unwrap()).collect()
        };
        match self.value["key_encoding"].as_str().unwrap() {
            "json-string-per-line" => encoded(&json_units(line), keys),
            "utf16be-hex-per-line" => {
                let units: Vec<u16> =
                    unhex(line).chunks(2).map(|pair| u16::from_be_bytes([pair[0], pair[1]])).collect();
                encoded(&units, keys)
            }
            "hex-per-line" => unhex(line),
            "int64-decimal-per-line" | "uint64-decimal-per-line" => {
                keys.parse(line.as_bytes()).unwrap().into_owned()
            }
            other => panic!("{other}"),
        }
    }

    /// The keys of a rule.
    fn rule(&self, rule: &Value, keys: KeyType) -> Vec<Vec<u8>> {
        let whole =
            |name: &str| rule[name].as_i64().map(i128::from).or(rule[name].as_u64().map(i128::from)).unwrap();
        let (mul, add) = (whole("mul"), whole("add"));
        (whole("from")..whole("to"))
            .map(|i| {
                let value = i * mul + add;
                match rule["type"].as_str().unwrap() {
                    "format" => {
                        let formats = rule["formats"].as_array().unwrap();
                        let format = formats[i as usize % formats.len()].as_str().unwrap();
                        let text = format.replace("%d", &value.to_string());
                        encoded(&text.encode_utf16().collect::<Vec<_>>(), keys)
                    }
                    "int" => keys.parse((value as i64).to_string().as_bytes()).unwrap().into_owned(),
                    "u64" => keys.parse((value as u64).to_string().as_bytes()).unwrap().into_owned(),
                    other => panic!("{other}"),
                }
            })
            .collect()
    }

    fn members(&self, keys: KeyType) -> Vec<Vec<u8>> {
        let mut members = Vec::new();
        for source in self.value["members"].as_array().unwrap() {
            if let Some(file) = source["file"].as_str() {
                let lines = String::from_utf8(self.read(file)).unwrap();
                members.extend(lines.lines().map(|line| self.key(line, keys)));
            } else {
                members.extend(self.rule(&source["rule"], keys));
            }
        }
        members
    }

    /// Every recorded answer holds.
    fn check(&self, name: &str, keys: KeyType, has: impl Fn(&[u8]) -> bool) {
        let members = self.members(keys);
        assert_eq!(members.len() as u64, self.value["member_count"].as_u64().unwrap());
        for key in members {
            assert!(has(&key), "{name}: the member {key:x?} is absent");
        }
        let probes = String::from_utf8(self.read(self.value["probes"].as_str().unwrap())).unwrap();
        assert_eq!(probes.lines().count() as u64, self.value["probe_count"].as_u64().unwrap());
        for line in probes.lines() {
            let (answer, key) = line.split_once('\t').unwrap();
            assert_eq!(has(&self.key(key, keys)), answer == "1", "{name}: {line}");
        }
        for range in self.value["probe_ranges"].as_array().unwrap() {
            let expected =
                range["true_indices"].as_array().unwrap().iter().map(|i| i.as_u64().unwrap() as usize);
            let keys = self.rule(&range["rule"], keys);
            let found = keys.iter().enumerate().filter(|(_, key)| has(key)).map(|(i, _)| i);
            assert!(found.eq(expected), "{name}: {}", range["rule"]);
        }
    }
}

/// A text as a key: in WTF-8 where that matters, else with U+FFFD for a lone surrogate.
fn encoded(units: &[u16], keys: KeyType) -> Vec<u8> {
    let mut bytes = Vec::new();
    for item in char::decode_utf16(units.iter().copied()) {
        match item {
            Ok(char) => bytes.extend(char.encode_utf8(&mut [0; 4]).as_bytes()),
            Err(lone) if keys.is_wide() => {
                let unit = lone.unpaired_surrogate();
                bytes.extend([
                    0xe0 | (unit >> 12) as u8,
                    0x80 | (unit >> 6 & 0x3f) as u8,
                    0x80 | (unit & 0x3f) as u8,
                ]);
            }
            Err(_) => bytes.extend("\u{fffd}".as_bytes()),
        }
    }
    bytes
}

/// The code units of a literal of JSON, which may be lone surrogates.
fn json_units(literal: &str) -> Vec<u16> {
    let inner = literal.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap();
    let mut units = Vec::new();
    let mut chars = inner.chars();
    while let Some(char) = chars.next() {
        if char != '\\' {
            units.extend(char.encode_utf16(&mut [0; 2]).iter());
            continue;
        }
        units.push(match chars.next().unwrap() {
            'u' => u16::from_str_radix(&chars.by_ref().take(4).collect::<String>(), 16).unwrap(),
            'n' => 10,
            'r' => 13,
            't' => 9,
            'b' => 8,
            'f' => 12,
            plain => plain as u16,
        });
    }
    units
}

/// Releases that a format explicitly doesn't read.
fn is_unsupported(case: &Case) -> bool {
    case.value["blob_format"] == "npm-bloom-filters-json-v1-array"
}

/// What rbloom stores depends on the user's hash, and SHA-256 isn't supported.
fn has_other_hash(case: &Case) -> bool {
    case.system == "rbloom" && case.params()["hash_func"].as_str().unwrap().contains("SHA-256")
}

fn wrapped(filter: &ForeignFilter) -> ForeignFilter {
    let blob = Filter::from(filter.clone()).encode().unwrap();
    assert_eq!(Filter::expected_length(&blob), Ok(Some(blob.len() as u64)));
    let blob = Filter::decode(blob).unwrap();
    match blob.stack().base() {
        AnyFilter::Foreign(again) => {
            assert_eq!(again, filter);
            again.clone()
        }
        other => panic!("{}", other.name()),
    }
}

/// RedisBloom up to 2.0 made links of fewer than 64 bits, in 8 bytes. LOADCHUNK of today wants 8 bits for each byte,
/// and takes the positions from n2 all the same.
#[test]
fn small_old_links_of_redisbloom() {
    let link = |bits: u64| {
        [
            [8_u64, bits, 1, 0x3f84_7ae1_47ae_147b, 0x4023_2b86_56ab_5dd7].map(u64::to_le_bytes).concat(),
            vec![7, 0, 0, 0],
        ]
        .concat()
    };
    let file = |header: Vec<u8>| {
        let length = (header.len() as u32).to_le_bytes();
        let chunk = [&9_u64.to_le_bytes()[..], &[8, 0, 0, 0], &[0x92, 0x24, 0, 0, 0, 0, 0, 0]].concat();
        [&1_u64.to_le_bytes()[..], &length, &header, &chunk].concat()
    };
    let head = |growth: &[u8]| [&[1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 4, 0, 0, 0], growth].concat();
    let old = file([&head(&[])[..], &link(0), &[1, 0, 0, 0, 4]].concat());
    let new = file([&head(&[2, 0, 0, 0])[..], &link(64), &[1, 0, 0, 0, 0, 0, 0, 0, 4]].concat());
    let [old, again] = [old, new.clone()]
        .map(|bytes| interop::read(Format::RedisBloom, &Options::default(), &bytes).unwrap());
    assert_eq!(old.parts()[0].bits, 16);
    assert_eq!(interop::write(&old).unwrap(), new);
    assert_eq!(old, again);
    // A chunk more than the links have, and one out of order.
    for (iterator, code) in [(17_u64, "trailing_bytes"), (18, "invalid_parameter")] {
        let more = [&new[..], &iterator.to_le_bytes(), &[8, 0, 0, 0], &[0; 8]].concat();
        let error = interop::read(Format::RedisBloom, &Options::default(), &more).unwrap_err();
        assert_eq!(error.code(), code);
    }
}

/// Go never looks at the bits after the length, and other readers shouldn't either.
#[test]
fn bits_after_the_last_one_of_go() {
    let read = |word: u64| {
        let file = [3, 1, 3, word].map(u64::to_be_bytes).concat();
        interop::read(Format::GoBloom, &Options::default(), &file).unwrap()
    };
    assert_eq!(read(0xff), read(7));
}

/// A C filter whose seed begins like JSON isn't JSON: one filter in 65,536 has such a seed.
#[test]
fn seeds_that_look_like_json() {
    let seed = b"{\"seed\":";
    for (format, numbers) in [(Format::Xor, &[1_u32, 0][..]), (Format::BinaryFuse, &[1, 1, 1, 1, 3])] {
        let numbers = numbers.iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<_>>();
        let file = [&seed[..], &numbers, &[7, 8, 9]].concat();
        let filter = interop::read(format, &Options::default(), &file).unwrap();
        assert_eq!((filter.seed(), filter.as_bytes()), (u64::from_le_bytes(*seed), &[7, 8, 9][..]));
    }
}

/// What other software couldn't read isn't made.
#[test]
fn limits_of_other_software() {
    let hashes = |hashes| Options { bits: Some(1000), hashes: Some(hashes), ..Options::default() };
    let seeded = |layout: &str| Options { seed: Some(-7), layout: Some(layout.into()), ..Options::default() };
    for (format, options, fpr, code) in [
        (Format::Guava, hashes(255), 0.01, Ok(())),
        (Format::Guava, hashes(256), 0.01, Err("invalid_parameter")),
        (Format::Guava, Options::default(), 1e-80, Err("invalid_parameter")),
        (
            Format::Guava,
            Options { layout: Some("v1".into()), ..Options::default() },
            0.01,
            Err("invalid_parameter"),
        ),
        (Format::Spark, seeded("v2"), 0.01, Ok(())),
        (Format::Spark, seeded("v1"), 0.01, Err("invalid_parameter")),
        (Format::Spark, Options { seed: Some(0), ..Options::default() }, 0.01, Err("invalid_parameter")),
    ] {
        let made = Builder::new(format, &options, 10, fpr);
        assert_eq!(made.map(drop).map_err(|error| error.code()), code, "{format:?} {options:?}");
    }
}

/// What a foreign filter can't do, unlike our own kinds, fails with an error, and no answer is wrong.
#[test]
fn what_a_foreign_filter_can_not() {
    let mut builder = Builder::new(Format::Guava, &Options::default(), 10, 0.01).unwrap();
    assert!(builder.add(b"key").unwrap() && !builder.add(b"key").unwrap());
    let mut blob = Filter::from(builder.finish().unwrap());
    let wrong = Err(Error::WrongKind { kind: "guava" });
    assert_eq!(blob.stack_mut().base_mut().unwrap().add_digests(&[1]), wrong.map(|()| 0));
    let update = bloom_wasm::layers::Update { live: &[1], removed: &[], allowed: &[2], fpr: 0.5 };
    assert_eq!(blob.stack_mut().update(update), wrong);
    let other = blob.clone();
    assert_eq!(blob.combine(&other, true), Err(Error::NotMergeable));
    assert_eq!(blob.stack().count(), None);
    assert!(blob.stack().has(b"key") && !blob.stack().has(b"other"));
    assert!(blob.stack().has_digest(0), "what a digest can't tell is maybe present");
    let own = AnyFilter::from(bloom_wasm::BloomFilter::new(64, 1, 0).unwrap());
    assert_eq!(interop::export(&own, Format::Guava), Err(Error::Incompatible));
}

#[test]
fn options_by_their_names() {
    let mut options = Options::default();
    options.set_text("funnel", "long".to_owned()).unwrap();
    options.set_number("bits", 1 << 40).unwrap();
    options.set_number("seed", -7).unwrap();
    assert_eq!(
        (options.funnel.as_deref(), options.bits, options.seed),
        (Some("long"), Some(1 << 40), Some(-7))
    );
    for (name, number) in [("bits", -1), ("hashes", 1 << 32), ("seed", 1 << 31), ("funnel", 1), ("fpr", 1)] {
        assert_eq!(options.set_number(name, number).unwrap_err().code(), "invalid_parameter");
    }
    assert_eq!(options.set_text("bits", "1".to_owned()).unwrap_err().code(), "invalid_parameter");
    for &format in Format::ALL {
        assert_eq!(Format::from_name(format.name()), Ok(format));
    }
    assert_eq!(Format::from_name("bloom").unwrap_err().code(), "unsupported_format");
}
