//! Filters of other software, made and answered by that software itself (`tests/interop/`, whose README says how): each
//! file is read, wrapped, asked for every recorded key, and written again; and where it can be made here, it is made from
//! its keys to the byte. Then the same files, damaged.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use bloom_wasm::hash::digest;
use bloom_wasm::interop::{self, Builder, Format, KeyType, Options};
use bloom_wasm::{Blob, Error, Filter, FilterInfo, ForeignFilter};
use peak_alloc::PeakAlloc;
use proptest::prelude::*;
use serde_json::Value;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// A file of a case, and how it is to be read.
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

    /// Every file of the case that is read here. Those of Parquet are parts: what any has is present.
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
        // Whole Parquet files, and packed or hexadecimal forms, are what no reader takes.
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

/// The releases of which a format says that it doesn't read them.
fn is_unsupported(case: &Case) -> bool {
    case.value["blob_format"] == "npm-bloom-filters-json-v1-array"
}

/// What rbloom stores depends on the user's hash, and SHA-256 isn't among those here.
fn has_other_hash(case: &Case) -> bool {
    case.system == "rbloom" && case.params()["hash_func"].as_str().unwrap().contains("SHA-256")
}

fn wrapped(filter: &ForeignFilter) -> ForeignFilter {
    let blob = Blob::from(filter.clone()).encode().unwrap();
    assert_eq!(Blob::expected_length(&blob), Ok(Some(blob.len() as u64)));
    let blob = Blob::decode(blob).unwrap();
    match blob.filter().base() {
        Filter::Foreign(again) => {
            assert_eq!(again, filter);
            again.clone()
        }
        other => panic!("{}", other.name()),
    }
}

#[test]
fn every_recorded_answer() {
    let (mut files, mut refused) = (0, 0);
    let mut formats = Vec::new();
    for case in cases() {
        if has_other_hash(&case) {
            println!("skipped, hashed by SHA-256: {}", case.id());
            continue;
        }
        let mut filters = Vec::new();
        for File { name, format, options, bytes } in case.files() {
            let filter = interop::read(format, &options, &bytes);
            if is_unsupported(&case) {
                assert_eq!(filter.unwrap_err().code(), "unsupported_format", "{name}");
                refused += 1;
                continue;
            }
            let filter = wrapped(&filter.unwrap_or_else(|error| panic!("{name}: {error}")));
            assert_eq!(filter.format(), format, "{name}");
            // Parquet's bit sets alone, too.
            if format == Format::ParquetSbbf {
                let bare = &bytes[bytes.len() - filter.as_bytes().len()..];
                assert_eq!(interop::read(format, &options, bare).unwrap(), filter, "{name}");
            } else {
                case.check(&name, filter.keys(), |key| filter.has(key));
            }
            files += 1;
            formats.push(format);
            filters.push(filter);
        }
        if case.system == "parquet-sbbf" {
            let keys = filters[0].keys();
            case.check(&case.id(), keys, |key| filters.iter().any(|filter| filter.has(key)));
        }
    }
    assert!(files >= 140 && refused == 2, "{files} files, {refused} refused");
    let missing: Vec<_> = Format::ALL.iter().filter(|format| !formats.contains(format)).collect();
    assert!(missing.is_empty(), "tests/interop has no file of {missing:?}");
}

/// What `DUMP` gives is the same filter as the chunks, unless Redis packed it.
#[test]
fn dumps_of_redis() {
    let (mut read, mut packed) = (0, 0);
    for case in cases().iter().filter(|case| case.system == "redisbloom") {
        let id = case.value["id"].as_str().unwrap();
        let Ok(bytes) = fs::read(case.folder.join(id).join("dump.rdb-payload.bin")) else { continue };
        let file = case.files().remove(0);
        let chunks = interop::read(file.format, &file.options, &file.bytes).unwrap();
        match interop::read(file.format, &file.options, &bytes) {
            Ok(dump) => {
                let filter = wrapped(&dump);
                case.check(&case.id(), dump.keys(), |key| filter.has(key));
                assert_eq!(dump.as_bytes(), chunks.as_bytes(), "{id}");
                assert_eq!(dump.parts(), chunks.parts(), "{id}");
                read += 1;
            }
            Err(error) => {
                assert_eq!(error.code(), "unsupported_format", "{id}");
                assert!(error.to_string().contains("LZF"), "{id}: {error}");
                packed += 1;
            }
        }
        let mut damaged = bytes.clone();
        damaged[bytes.len() / 2] ^= 1;
        let error = interop::read(file.format, &file.options, &damaged).unwrap_err();
        assert_eq!(error.code(), "checksum_mismatch");
    }
    assert!(read >= 16 && packed >= 2, "{read} read, {packed} packed");
}

/// What is written is what was read; but of old layouts of RedisBloom it is the current one, with the same answers.
#[test]
fn export_gives_the_original_back() {
    let mut same = 0;
    for case in cases().iter().filter(|case| !is_unsupported(case) && !has_other_hash(case)) {
        for File { name, format, options, bytes } in case.files() {
            let filter = Filter::from(wrapped(&interop::read(format, &options, &bytes).unwrap()));
            let writable = matches!(
                format,
                Format::GoBloom | Format::Guava | Format::Spark | Format::RedisBitmap | Format::RedisBloom
            );
            let written = interop::export(&filter, format);
            if !writable {
                assert_eq!(written.unwrap_err().code(), "unsupported_format", "{name}");
                continue;
            }
            let written = written.unwrap();
            if case.params()["header_layout"] == "nogrowth+u32entries" {
                assert!(written.len() > bytes.len());
                let again = interop::read(format, &options, &written).unwrap();
                assert_eq!(Filter::from(again), filter, "{name}");
            } else {
                assert!(written == bytes, "{name}: other bytes");
                same += 1;
            }
            let other = if format == Format::Guava { Format::Spark } else { Format::Guava };
            assert_eq!(interop::export(&filter, other), Err(Error::Incompatible));
        }
    }
    assert!(same > 65, "{same} files");
}

/// A filter of the same keys, sized as the original was, is the same file.
#[test]
fn what_is_made_here_is_the_original() {
    let mut made = 0;
    for case in cases() {
        let (format, mut options) = case.options();
        let params = case.params();
        let number = |name: &str| params[name].as_u64();
        let created = &case.value["created_with"];
        let mut size = (case.value["member_count"].as_u64().unwrap(), 0.01);
        match format {
            Format::GoBloom => match params["created_with"][0].as_str().unwrap() {
                "est" => {
                    let with = &params["created_with"];
                    size = (with[1].as_u64().unwrap(), with[2].as_f64().unwrap());
                }
                _ => (options.bits, options.hashes) = (number("m"), number("k").map(|k| k as u32)),
            },
            Format::Guava => {
                size = (number("expected_insertions").unwrap(), params["fpp"].as_f64().unwrap());
                let mitz32 = params["strategy"] == "MURMUR128_MITZ_32";
                options.layout = Some(if mitz32 { "mitz-32" } else { "mitz-64" }.to_owned());
            }
            Format::Spark => {
                options.layout = Some(format!("v{}", number("format_version").unwrap()));
                options.seed = params["seed"].as_i64().map(|seed| seed as i32);
                let by = params["sized_by"].as_str().unwrap();
                match by.strip_prefix("fpp=") {
                    Some(fpp) => size = (number("expected_items").unwrap(), fpp.parse().unwrap()),
                    None => {
                        options.bits = by.strip_prefix("bits=").unwrap().parse().ok();
                        options.hashes = number("num_hash_functions").map(|k| k as u32);
                    }
                }
            }
            Format::RedisBitmap => {}
            Format::RedisBloom
                if params["header_layout"] != "growth+u64entries" || number("options").unwrap() & 1 == 0 =>
            {
                println!("skipped, as an old release sized it: {}", case.id());
                continue;
            }
            Format::RedisBloom => {
                let with = created.as_array();
                // BF.ADD alone reserves 100 at 0.01.
                size =
                    with.map_or((100, 0.01), |with| (with[2].as_u64().unwrap(), with[1].as_f64().unwrap()));
                options.expansion = with.and_then(|with| match with.get(3)?.as_str()? {
                    "NONSCALING" => Some(0),
                    _ => with[4].as_u64().map(|by| by as u32),
                });
            }
            _ => {
                let error = Builder::new(format, &options, 1, 0.5).unwrap_err();
                assert_eq!(error.code(), "unsupported_format");
                continue;
            }
        }
        let mut builder = Builder::new(format, &options, size.0, size.1).unwrap();
        for key in case.members(builder.keys()) {
            builder.add(&key).unwrap();
        }
        let filter = wrapped(&builder.finish().unwrap());
        let written = interop::write(&filter).unwrap();
        let original =
            case.files().into_iter().map(|file| file.bytes).find(|bytes| !bytes.starts_with(b"{")).unwrap();
        if params["bitset_byte_order"] == "little" {
            // A switch that nobody needs turned on: all but the order of bytes is equal.
            let again = interop::read(format, &Options::default(), &original).unwrap();
            assert_eq!(again.as_bytes(), filter.as_bytes());
        } else {
            assert!(written == original, "{}: other bytes", case.id());
        }
        made += 1;
    }
    assert!(made > 55, "{made} files");
}

/// The smallest file of each format and scheme, to be damaged.
fn small_files() -> Vec<File> {
    let mut files: Vec<File> = Vec::new();
    for case in cases().iter().filter(|case| !is_unsupported(case) && !has_other_hash(case)) {
        for file in case.files() {
            let scheme =
                |file: &File| interop::read(file.format, &file.options, &file.bytes).unwrap().scheme();
            let alike = |other: &&mut File| {
                other.format == file.format
                    && other.options.layout == file.options.layout
                    && other.bytes.first() == file.bytes.first()
                    && scheme(other) == scheme(&file)
            };
            match files.iter_mut().find(alike) {
                Some(smaller) if smaller.bytes.len() <= file.bytes.len() => {}
                Some(larger) => *larger = file,
                None => files.push(file),
            }
        }
    }
    let dump =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/interop/redisbloom/small/dump.rdb-payload.bin");
    let (name, bytes) = ("dump".to_owned(), fs::read(dump).unwrap());
    files.push(File { name, format: Format::RedisBloom, options: Options::default(), bytes });
    files
}

/// Reads, and if that works wraps and uses what comes out.
fn try_read(file: &File, bytes: &[u8]) -> Result<ForeignFilter, Error> {
    let filter = interop::read(file.format, &file.options, bytes)?;
    use_filter(&filter);
    assert_eq!(wrapped(&filter), filter);
    Ok(filter)
}

fn use_filter(filter: &ForeignFilter) {
    for length in 0..24_u8 {
        filter.has(&(0..length).map(|i| i.wrapping_mul(77)).collect::<Vec<_>>());
    }
    filter.has("\u{0}é😀".as_bytes());
    filter.has(b"\xed\xa0\x80\xed");
    assert!(filter.estimated_count() >= 0.0);
    // A small filter is asked for its rate, which takes milliseconds.
    static USED: AtomicUsize = AtomicUsize::new(0);
    if USED.fetch_add(1, Ordering::Relaxed).is_multiple_of(16) {
        let blob = Blob::from(filter.clone());
        let info = FilterInfo::of(&blob).unwrap();
        assert!((0.0..=1.0).contains(&info.fpr), "{}", info.fpr);
        assert_eq!((info.kind, info.fpr), (filter.format().name(), filter.estimated_fpr()));
    }
    if let Ok(written) = interop::write(filter) {
        assert!(written.len() < 100_000);
    }
}

/// The bytes before the user's data.
fn flor_length(file: &[u8]) -> usize {
    48 + file[32..40].iter().rev().fold(0, |bits, &byte| bits << 8 | usize::from(byte)).div_ceil(64) * 8
}

#[test]
fn cut_and_lengthened_files() {
    let files = small_files();
    assert!(files.len() > 30, "{}", files.len());
    for file in &files {
        for length in 0..file.bytes.len() {
            // A shorter bitmap is one of Redis's that ended earlier; half a Parquet filter may be one too, of fewer blocks;
            // and flor's user puts what they like at the end.
            match try_read(file, &file.bytes[..length]) {
                Ok(_) => assert!(
                    matches!(file.format, Format::RedisBitmap | Format::Rbloom)
                        || file.format == Format::ParquetSbbf && length % 32 == 0
                        || file.format == Format::Flor && length >= flor_length(&file.bytes),
                    "{}: {length} bytes are enough",
                    file.name
                ),
                Err(Error::UnsupportedFormat { .. } | Error::TooLarge { .. }) => {
                    panic!("{}: {length} bytes", file.name)
                }
                Err(_) => {}
            }
        }
        for extra in [&b"\0"[..], &[255; 4], &[0; 32], &[b'7'; 100]] {
            let longer = [&file.bytes[..], extra].concat();
            if let Ok(filter) = try_read(file, &longer) {
                let tolerant = matches!(
                    file.format,
                    Format::RedisBitmap | Format::Rbloom | Format::BinaryFuse | Format::Flor
                );
                assert!(tolerant, "{}: {} more bytes, {filter:?}", file.name, extra.len());
            }
        }
    }
}

#[test]
fn every_byte_of_a_file_changed() {
    for file in &small_files() {
        // The parameters come first, or last with pyprobables; changed bits are as good as others.
        let length = file.bytes.len();
        for at in (0..length).filter(|at| *at < 160 || length - at < 30) {
            for change in [1, 2, 4, 8, 16, 32, 64, 128, 255, b'"', b'9' ^ file.bytes[at]] {
                let mut bytes = file.bytes.clone();
                bytes[at] ^= change;
                let _ = try_read(file, &bytes);
            }
        }
    }
}

/// Lengths that the bytes don't have, hashes that would take minutes, and no bits at all.
#[test]
fn absurd_files_are_refused_and_take_no_memory() {
    let options = |layout: &str, width| Options {
        layout: Some(layout.to_owned()).filter(|layout| !layout.is_empty()),
        width,
        ..Options::default()
    };
    let none = Options::default;
    let words = |numbers: &[u64]| numbers.iter().flat_map(|number| number.to_be_bytes()).collect::<Vec<_>>();
    let le = |numbers: &[u64]| numbers.iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<_>>();
    let ints = |seed: u64, numbers: &[u32], more: usize| {
        let numbers = numbers.iter().flat_map(|number| number.to_le_bytes());
        seed.to_le_bytes().into_iter().chain(numbers).chain(vec![0; more]).collect::<Vec<_>>()
    };
    let bitmap = |bits, hashes| Options { bits: Some(bits), hashes: Some(hashes), ..none() };
    let buckets = |hashes| Options { hashes: Some(hashes), ..none() };
    let max = u64::MAX;
    let deep =
        |open: &str, close: &str| [open.repeat(1_000_000), close.repeat(1_000_000)].concat().into_bytes();
    const SLICE: &str = "[{\"content\":\"AA==\"}]";
    let partitioned = |hashes: &str, m: &str, slices: &str| {
        let numbers = format!("\"_nbHashes\":{hashes},\"_m\":{m}");
        format!("{{\"type\":\"PartitionedBloomFilter\",{numbers},\"_filter\":{slices},\"_seed\":1}}")
    };
    let scalable = |seed: &str, filters: &[String]| {
        let filters = filters.join(",");
        format!("{{\"type\":\"ScalableBloomFilter\",\"_filters\":[{filters}],\"_seed\":{seed}}}").into_bytes()
    };
    let files: Vec<(&str, Format, Options, Vec<u8>, &str)> = vec![
        ("no bits", Format::GoBloom, none(), words(&[0, 1, 64, 0]), "invalid_parameter"),
        ("no hash", Format::GoBloom, none(), words(&[64, 0, 64, 0]), "invalid_parameter"),
        ("k = 2^32", Format::GoBloom, none(), words(&[64, 1 << 32, 64, 0]), "invalid_parameter"),
        ("k = 2^64 - 1", Format::GoBloom, none(), words(&[64, max, 64, 0]), "invalid_parameter"),
        ("a set of 2^64 - 1 bits", Format::GoBloom, none(), words(&[64, 1, max, 0]), "truncated"),
        ("m = 2^63", Format::GoBloom, none(), words(&[1 << 63, 1, 64, 0]), "invalid_parameter"),
        ("nothing", Format::GoBloom, none(), vec![], "truncated"),
        ("deep JSON", Format::GoBloom, none(), deep("{\"a\":", "}"), "invalid_parameter"),
        ("deep arrays", Format::GoBloom, none(), deep("{\"a\":[", "]}"), "invalid_parameter"),
        ("open JSON", Format::GoBloom, none(), deep("{\"a\":[[", ""), "invalid_parameter"),
        ("k in JSON", Format::GoBloom, none(), b"{\"m\":64,\"k\":4294967296,\"b\":\"AAAAAAAAAEAAAAAAAAAAAA==\"}".into(), "invalid_parameter"),
        ("no base64", Format::GoBloom, none(), b"{\"m\":64,\"k\":1,\"b\":\"\\u0000\"}".into(), "invalid_parameter"),
        ("an empty set in JSON", Format::GoBloom, none(), b"{\"m\":64,\"k\":1,\"b\":\"\"}".into(), "truncated"),
        ("2^31 longs", Format::Guava, none(), [&[1, 7, 0x80, 0, 0, 0][..], &[0; 8]].concat(), "invalid_parameter"),
        ("2^31 - 1 longs", Format::Guava, none(), [&[1, 7, 0x7f, 255, 255, 255][..], &[0; 8]].concat(), "truncated"),
        ("no longs", Format::Guava, none(), vec![1, 7, 0, 0, 0, 0], "invalid_parameter"),
        ("strategy 2", Format::Guava, none(), [&[2, 7, 0, 0, 0, 1][..], &[0; 8]].concat(), "unsupported_format"),
        ("k = 2^32 - 1", Format::Spark, none(), [&words(&[1 << 32 | 0xffff_ffff])[..], &[0, 0, 0, 1], &[0; 8]].concat(), "invalid_parameter"),
        ("version 3", Format::Spark, none(), vec![0, 0, 0, 3], "unsupported_format"),
        ("a bitmap of no bits", Format::RedisBitmap, bitmap(0, 1), vec![], "invalid_parameter"),
        ("a bitmap of 2^33 bits", Format::RedisBitmap, bitmap(1 << 33, 1), vec![], "invalid_parameter"),
        ("a bitmap by 2^32 - 1 hashes", Format::RedisBitmap, bitmap(8, u32::MAX), vec![0], "invalid_parameter"),
        ("a bitmap past its end", Format::RedisBitmap, bitmap(7, 1), vec![1], "invalid_parameter"),
        ("a bitmap without options", Format::RedisBitmap, none(), vec![1], "invalid_parameter"),
        ("another's option", Format::GoBloom, bitmap(7, 1), words(&[64, 1, 64, 0]), "invalid_parameter"),
        ("another's first chunk", Format::RedisBloom, none(), le(&[2, 0, 0]), "not_a_filter"),
        ("a chunk of 2^32 - 1 bytes", Format::RedisBloom, none(), [&le(&[1])[..], &[255; 4], &[0; 8]].concat(), "truncated"),
        ("2^32 - 1 links", Format::RedisBloom, none(), [&le(&[1])[..], &[20, 0, 0, 0], &[255; 20]].concat(), "invalid_parameter"),
        ("no links", Format::RedisBloom, none(), [&le(&[1])[..], &[20, 0, 0, 0], &[0; 20]].concat(), "invalid_parameter"),
        ("an array of none", Format::NpmBloomfilter, buckets(1), b"[]".into(), "invalid_parameter"),
        ("2^32 - 1 hashes", Format::NpmBloomfilter, buckets(u32::MAX), b"[1]".into(), "invalid_parameter"),
        ("a bucket of 33 bits", Format::NpmBloomfilter, buckets(1), b"[4294967296]".into(), "invalid_parameter"),
        ("a deep bucket", Format::NpmBloomfilter, buckets(1), deep("[", "]"), "invalid_parameter"),
        ("another m", Format::NpmBloomfilter, none(), b"{\"version\":1,\"m\":64,\"k\":1,\"buckets\":[1]}".into(), "invalid_parameter"),
        ("1.x", Format::NpmBloomFilters, none(), b"{\"type\":\"BloomFilter\",\"_filter\":[0,1]}".into(), "unsupported_format"),
        ("4.0", Format::NpmBloomFilters, none(), b"{\"_seed\":{\"$bf$bigint\":\"1\"}}".into(), "unsupported_format"),
        ("a large seed", Format::NpmBloomFilters, none(), b"{\"type\":\"BloomFilter\",\"_size\":8,\"_nbHashes\":1,\"_filter\":{\"size\":8,\"content\":\"AA==\"},\"_seed\":9007199254740993}".into(), "invalid_parameter"),
        ("another of its filters", Format::NpmBloomFilters, none(), b"{\"type\":\"CuckooFilter\",\"_size\":8}".into(), "unsupported_format"),
        ("slices of 2.0", Format::NpmBloomFilters, none(), partitioned("1", "8", "[[0,1]]").into_bytes(), "unsupported_format"),
        ("no slices", Format::NpmBloomFilters, none(), partitioned("1", "8", "[]").into_bytes(), "invalid_parameter"),
        ("a filter inside without hashes", Format::NpmBloomFilters, none(), scalable("1", &[partitioned("1", "8", SLICE), partitioned("0", "8", "[]")]), "invalid_parameter"),
        ("too few slices", Format::NpmBloomFilters, none(), partitioned("2", "8", SLICE).into_bytes(), "invalid_parameter"),
        ("too short slices", Format::NpmBloomFilters, none(), partitioned("1", "9", SLICE).into_bytes(), "invalid_parameter"),
        ("too long slices", Format::NpmBloomFilters, none(), partitioned("1", "0", SLICE).into_bytes(), "invalid_parameter"),
        ("uneven slices", Format::NpmBloomFilters, none(), partitioned("2", "8", "[{\"content\":\"AA==\"},{\"content\":\"\"}]").into_bytes(), "invalid_parameter"),
        ("2^64 - 1 slices", Format::NpmBloomFilters, none(), partitioned("18446744073709551615", "8", SLICE).into_bytes(), "invalid_parameter"),
        ("2^64 - 1 bits in a slice", Format::NpmBloomFilters, none(), partitioned("1", "18446744073709551615", SLICE).into_bytes(), "invalid_parameter"),
        ("1,025 slices", Format::NpmBloomFilters, none(), partitioned("1025", "8", &format!("[{}]", ["{\"content\":\"AA==\"}"; 1025].join(","))).into_bytes(), "invalid_parameter"),
        ("a scalable filter of none", Format::NpmBloomFilters, none(), scalable("1", &[]), "invalid_parameter"),
        ("a scalable filter of 256", Format::NpmBloomFilters, none(), scalable("1", &vec![partitioned("1", "8", SLICE); 256]), "invalid_parameter"),
        ("a scalable filter of seeds", Format::NpmBloomFilters, none(), scalable("2", &[partitioned("1", "8", SLICE)]), "invalid_parameter"),
        ("a Bloom filter inside", Format::NpmBloomFilters, none(), scalable("1", &[partitioned("1", "8", SLICE).replace("Partitioned", "")]), "unsupported_format"),
        ("a deep scalable filter", Format::NpmBloomFilters, none(), deep("{\"_filters\":[", "]}"), "unsupported_format"),
        ("no block", Format::ParquetSbbf, none(), vec![], "invalid_parameter"),
        ("2^31 - 32 bytes", Format::ParquetSbbf, none(), [&[0x15, 0xc0, 0xff, 0xff, 0xff, 0x0f, 0x1c, 0x1c, 0, 0, 0x1c, 0x1c, 0, 0, 0x1c, 0x1c, 0, 0, 0][..], &[0; 64]].concat(), "truncated"),
        ("an endless number", Format::ParquetSbbf, none(), [&[0x15][..], &[255; 40]].concat(), "invalid_parameter"),
        ("a block of 2^62", Format::Xor, none(), le(&[1, 1 << 62, 0]), "truncated"),
        ("a block of none", Format::Xor, none(), le(&[1, 0]), "invalid_parameter"),
        ("2^64 - 1 fingerprints", Format::Xor, options("xorf-bincode", None), le(&[1, 1, max]), "truncated"),
        ("no width", Format::Xor, options("xorf-json", None), b"{}".into(), "invalid_parameter"),
        ("a width of 64", Format::Xor, options("xorf-json", Some(64)), b"{}".into(), "invalid_parameter"),
        ("a wide fingerprint", Format::Xor, options("xorf-json", Some(8)), b"{\"seed\":1,\"block_length\":1,\"fingerprints\":[256,0,0]}".into(), "invalid_parameter"),
        ("a few fingerprints", Format::Xor, options("xorf-json", Some(8)), b"{\"seed\":1,\"block_length\":2,\"fingerprints\":[1,0,0]}".into(), "invalid_parameter"),
        ("segments of 3", Format::BinaryFuse, options("xorf-dma", None), ints(1, &[3, 2, 3], 9), "invalid_parameter"),
        ("segments of none", Format::BinaryFuse, options("xorf-dma", None), ints(1, &[0, u32::MAX, 3], 9), "invalid_parameter"),
        ("another mask", Format::BinaryFuse, options("xorf-dma", None), ints(1, &[4, 7, 4], 12), "invalid_parameter"),
        ("half a segment", Format::BinaryFuse, options("xorf-dma", None), ints(1, &[4, 3, 6], 14), "invalid_parameter"),
        ("no segments", Format::BinaryFuse, options("xorf-dma", None), ints(1, &[4, 3, 0], 8), "invalid_parameter"),
        ("2^32 - 1 together", Format::BinaryFuse, options("xorf-dma", None), ints(1, &[1 << 31, (1 << 31) - 1, 1 << 31], 8), "truncated"),
        ("C's array too short", Format::BinaryFuse, none(), ints(1, &[9, 4, 1, 4, 11], 11), "invalid_parameter"),
        ("C's array too long", Format::BinaryFuse, none(), ints(1, &[9, 4, 1, 4, u32::MAX], 12), "invalid_parameter"),
        ("another cookie", Format::FilterPassword, none(), le(&[7, 7, 7, 7]), "not_a_filter"),
        ("2^64 - 1 words", Format::FilterPassword, none(), le(&[1_234_568, 7, max, 7]), "truncated"),
        ("no words", Format::FilterPassword, none(), le(&[1_234_568, 7, 0]), "invalid_parameter"),
        ("another magic", Format::PyBloomFilterMmap3, none(), vec![b'M'; 2000], "not_a_filter"),
        ("a rate of 1", Format::PyProbables, none(), [&[0; 32][..], &le(&[1, 1]), &1_f32.to_le_bytes()].concat(), "invalid_parameter"),
        ("2^64 - 1 keys", Format::PyProbables, none(), [&[0; 32][..], &le(&[max, 1]), &0.5_f32.to_le_bytes()].concat(), "invalid_parameter"),
        ("2^64 - 1 hashes", Format::Rbloom, none(), le(&[max, 0]), "invalid_parameter"),
        ("hashes of nothing", Format::Rbloom, none(), le(&[1]), "invalid_parameter"),
        ("a file without options", Format::BloomFilter2, none(), vec![0; 3], "invalid_parameter"),
        ("a file of too many bits", Format::BloomFilter2, bitmap(9, 1), vec![0; 3], "truncated"),
        ("a file of 2^64 - 1 bits", Format::BloomFilter2, bitmap(max, 1), vec![0; 3], "truncated"),
        ("a file of too few bits", Format::BloomFilter2, bitmap(8, 1), vec![0; 4], "trailing_bytes"),
        ("a file of no bits", Format::BloomFilter2, bitmap(0, 1), vec![0; 2], "invalid_parameter"),
        ("a bit past the last", Format::BloomFilter2, bitmap(7, 1), vec![128, 0, 0], "invalid_parameter"),
        ("bits at the end", Format::BloomFilter2, bitmap(8, 1), vec![0, 0, 1], "invalid_parameter"),
        ("a file without hashes", Format::BloomFilter2, bitmap(8, 0), vec![0; 3], "invalid_parameter"),
        ("a file by 2^32 - 1 hashes", Format::BloomFilter2, bitmap(8, u32::MAX), vec![0; 3], "invalid_parameter"),
        ("version 2", Format::Flor, none(), le(&[2, 1, 1, 1, 64, 1, 0]), "unsupported_format"),
        ("gzip", Format::Flor, none(), [&[0x1f, 0x8b, 8, 0][..], &[0; 60]].concat(), "unsupported_format"),
        ("2^64 - 1 bits", Format::Flor, none(), le(&[1, 1, 1, 1, max, 1, 0]), "truncated"),
        ("2^40 bits", Format::Flor, none(), le(&[1, 1, 1, 1, 1 << 40, 1, 0]), "truncated"),
        ("65 bits in a word", Format::Flor, none(), le(&[1, 1, 1, 1, 65, 1, 0]), "truncated"),
        ("no bits of flor's", Format::Flor, none(), le(&[1, 1, 1, 1, 0, 1, 0]), "invalid_parameter"),
        ("no hash of flor's", Format::Flor, none(), le(&[1, 1, 1, 0, 64, 1, 0]), "invalid_parameter"),
        ("2^64 - 1 hashes of flor's", Format::Flor, none(), le(&[1, 1, 1, max, 64, 1, 0]), "invalid_parameter"),
    ];
    for (name, format, options, bytes, code) in files {
        let given = bytes.len();
        MEMORY.reset_peak_usage();
        let before = MEMORY.current_usage();
        let result = interop::read(format, &options, &bytes);
        let taken = MEMORY.peak_usage().saturating_sub(before);
        assert_eq!(result.map(|_| ()).map_err(|error| error.code()), Err(code), "{name}");
        // Other tests of this file run beside this one and take some too.
        assert!(taken < 40 << 20, "{name}: {taken} bytes for {given}");
    }
}

/// Its counters are arrays, as the bits of version 1 are, but its version isn't what is wrong.
#[test]
fn another_filter_of_npm_bloom_filters_is_told_which_are_supported() {
    for kind in ["CountingBloomFilter", "CuckooFilter"] {
        let json = format!(
            "{{\"type\":\"{kind}\",\"_size\":2,\"_nbHashes\":1,\"_length\":1,\"_filter\":[[1,1],[0,0]],\"_seed\":1}}"
        );
        let error = interop::read(Format::NpmBloomFilters, &Options::default(), json.as_bytes()).unwrap_err();
        let words = "only BloomFilter, PartitionedBloomFilter and ScalableBloomFilter are supported";
        assert!(error.to_string().contains(words), "{kind}: {error}");
    }
}

/// The checksum made to fit, so that what comes after it is tested as well.
fn reseal(bytes: &mut [u8]) {
    if let Some(end) = bytes.len().checked_sub(8) {
        let checksum = digest(0, &bytes[..end]);
        bytes[end..].copy_from_slice(&checksum.to_le_bytes());
    }
}

/// A wrapped blob that was changed and sealed again is refused, or can be used like any other.
fn try_decode(bytes: &[u8]) {
    let Ok(blob) = Blob::decode(bytes.to_vec()) else { return };
    assert_eq!(blob.encode().unwrap(), bytes, "a blob that can be read has one form only");
    if let Filter::Foreign(filter) = blob.filter().base() {
        use_filter(filter);
    }
}

#[test]
fn wrapped_blobs_changed_and_sealed_again() {
    for file in small_files() {
        let filter = interop::read(file.format, &file.options, &file.bytes).unwrap();
        let blob = Blob::from(filter).encode().unwrap();
        for at in 0..blob.len().min(200) {
            for change in [1, 2, 4, 8, 16, 32, 64, 128, 255] {
                let mut bytes = blob.clone();
                bytes[at] ^= change;
                assert!(Blob::decode(bytes.clone()).is_err(), "byte {at} xor {change} was not noticed");
                if at < blob.len() - 8 {
                    reseal(&mut bytes);
                    try_decode(&bytes);
                }
            }
        }
        for length in 0..blob.len() {
            let mut cut = blob[..length].to_vec();
            assert_eq!(Blob::decode(cut.clone()).unwrap_err().code(), "truncated");
            reseal(&mut cut);
            assert!(Blob::decode(cut).is_err());
        }
    }
}

/// What a reader of FORMAT.md refuses, and as what.
#[test]
fn rules_of_wrapped_blobs() {
    let filter = interop::read(
        Format::GoBloom,
        &Options::default(),
        &[64_u64, 1, 64, 7].map(u64::to_be_bytes).concat(),
    );
    let blob = Blob::from(filter.unwrap()).encode().unwrap();
    assert_eq!(blob.len(), 17 + 6 + 14 + 8 + 8);
    let with = |at: usize, field: &[u8]| {
        let mut bytes = blob.clone();
        bytes[at..at + field.len()].copy_from_slice(field);
        reseal(&mut bytes);
        Blob::decode(bytes).map(|_| ()).map_err(|error| error.code())
    };
    assert_eq!(with(9, &[0]), Ok(()));
    for (at, field, code) in [
        (7, &[16][..], "invalid_parameter"), // layers
        (9, &[1], "invalid_parameter"),      // a seed
        (17, &[0], "unsupported_kind"),      // schemes
        (17, &[26], "unsupported_kind"),
        (17, &[2], "unsupported_kind"),  // Guava's, which has no such keys
        (18, &[13], "unsupported_kind"), // keys
        (18, &[0], "unsupported_kind"),
        (19, &[8], "invalid_parameter"),    // layout
        (20, &[0], "invalid_parameter"),    // parts
        (23, &[0; 8], "invalid_parameter"), // bits
        (23, &[1, 0, 0, 0, 0, 1], "invalid_parameter"),
        (23, &[65], "invalid_parameter"),   // two words
        (31, &[16], "invalid_parameter"),   // bytes
        (35, &[0, 0], "invalid_parameter"), // hashes
        (35, &[1, 4], "invalid_parameter"),
    ] {
        assert_eq!(with(at, field), Err(code), "{field:?} at {at}");
    }
    assert_eq!(with(35, &[0, 4]), Ok(()));
    // Whatever follows in a later release.
    let unknown = Blob::decode([&blob[..17], &[2, 1]].concat());
    assert_eq!(unknown.unwrap_err().code(), "unsupported_kind");
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
}

/// A seed of C's that begins as JSON does is no JSON: of 65,536 filters one has such.
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

/// What can't be made is told before room is made for it: of a bitmap what SETBIT can't reach, of others 4 GiB
/// and more.
#[test]
fn filters_that_are_too_large() {
    let made = |format, options: &Options, count| {
        MEMORY.reset_peak_usage();
        let before = MEMORY.current_usage();
        let result = Builder::new(format, options, count, 0.001);
        let taken = MEMORY.peak_usage().saturating_sub(before);
        assert!(taken < 40 << 20, "{format:?}: {taken} bytes");
        result.map(|_| ()).unwrap_err().code()
    };
    let sized = |bits| Options { bits: Some(bits), hashes: Some(1), ..Options::default() };
    assert_eq!(made(Format::RedisBitmap, &sized((1 << 32) + 1), 1), "invalid_parameter");
    assert_eq!(made(Format::RedisBitmap, &Options::default(), 1_000_000_000), "invalid_parameter");
    for format in [Format::GoBloom, Format::Guava, Format::Spark] {
        assert_eq!(made(format, &sized(1 << 35), 1), "too_large");
        assert_eq!(made(format, &sized(1 << 41), 1), "invalid_parameter");
    }
    assert_eq!(made(Format::RedisBloom, &Options::default(), 1 << 40), "invalid_parameter");
}

/// As editors and shells of Windows save it.
#[test]
fn a_byte_order_mark_before_json() {
    let mut formats = Vec::new();
    for file in small_files().iter().filter(|file| matches!(file.bytes[0], b'{' | b'[')) {
        let plain = try_read(file, &file.bytes).unwrap();
        for before in ["\u{feff}", "\u{feff} \r\n"] {
            assert_eq!(
                try_read(file, &[before.as_bytes(), &file.bytes].concat()),
                Ok(plain.clone()),
                "{}",
                file.name
            );
        }
        let twice = ["\u{feff}\u{feff}".as_bytes(), &file.bytes].concat();
        assert!(try_read(file, &twice).is_err(), "{}", file.name);
        formats.push(file.format);
    }
    for format in
        [Format::GoBloom, Format::NpmBloomfilter, Format::NpmBloomFilters, Format::Xor, Format::BinaryFuse]
    {
        assert!(formats.contains(&format), "{format:?}");
    }
}

/// Each limit of other software is named.
#[test]
fn limits_of_other_software() {
    let reason = |format, options: &Options, fpr| {
        let error = Builder::new(format, options, 10, fpr).unwrap_err();
        assert_eq!(error.code(), "invalid_parameter");
        error.to_string()
    };
    let hashes = |hashes| Options { bits: Some(1000), hashes: Some(hashes), ..Options::default() };
    for error in [
        reason(Format::Guava, &hashes(256), 0.01),
        reason(Format::Guava, &Options::default(), 1e-80),
        reason(Format::Guava, &Options { layout: Some("mitz-32".into()), ..hashes(1024) }, 0.01),
    ] {
        assert!(error.contains("guava") && error.contains("255 hashes"), "{error}");
    }
    Builder::new(Format::Guava, &hashes(255), 10, 0.01).unwrap();
    for layout in [None, Some("v1")] {
        for seed in [0, 7] {
            let options = Options { seed: Some(seed), layout: layout.map(Into::into), ..Options::default() };
            let error = reason(Format::Spark, &options, 0.01);
            assert!(error.contains("seed") && error.contains("v2"), "{error}");
        }
    }
    let options = Options { seed: Some(-7), layout: Some("v2".into()), ..Options::default() };
    Builder::new(Format::Spark, &options, 10, 0.01).unwrap();
}

/// What our own kinds can and a foreign filter can't says so, and no answer is wrong.
#[test]
fn what_a_foreign_filter_can_not() {
    let mut builder = Builder::new(Format::Guava, &Options::default(), 10, 0.01).unwrap();
    assert!(builder.add(b"key").unwrap() && !builder.add(b"key").unwrap());
    let mut blob = Blob::from(builder.finish().unwrap());
    let wrong = Err(Error::WrongKind { kind: "guava" });
    assert_eq!(blob.filter_mut().base_mut().unwrap().add_digests(&[1]), wrong.map(|()| 0));
    let update = bloom_wasm::Update { live: &[1], removed: &[], allowed: &[2], fpr: 0.5 };
    assert_eq!(blob.filter_mut().update(update), wrong);
    let other = blob.clone();
    assert_eq!(blob.combine(&other, true), Err(Error::NotMergeable));
    assert_eq!(blob.filter().count(), None);
    assert!(blob.filter().has(b"key") && !blob.filter().has(b"other"));
    assert!(blob.filter().has_digest(0), "what a digest can't tell is maybe present");
    let own = Filter::from(bloom_wasm::BloomFilter::new(64, 1, 0).unwrap());
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

/// How many mutations there are; `MUTATIONS` asks for another number.
fn mutations() -> u32 {
    std::env::var("MUTATIONS").map_or(100_000, |number| number.parse().unwrap())
}

static FILES: std::sync::LazyLock<Vec<File>> = std::sync::LazyLock::new(small_files);

proptest! {
    #![proptest_config(ProptestConfig::with_cases(mutations()))]

    #[test]
    fn mutated_files(
        which: prop::sample::Index,
        edits in prop::collection::vec((any::<prop::sample::Index>(), 0..200_usize, any::<u8>(), any::<bool>()), 1..6),
        cut: Option<prop::sample::Index>,
        wrap: bool,
    ) {
        let file = which.get(&FILES);
        let mut bytes = file.bytes.clone();
        if wrap {
            bytes = Blob::from(interop::read(file.format, &file.options, &bytes).unwrap()).encode().unwrap();
        }
        for (at, near, value, head) in edits {
            let at = if head { near.min(bytes.len() - 1) } else { at.index(bytes.len()) };
            bytes[at] = value;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        if wrap {
            reseal(&mut bytes);
            try_decode(&bytes);
        } else {
            let _ = try_read(file, &bytes);
        }
    }
}

/// The words of a text that stand in quotation marks of a kind.
fn quoted(text: &str, mark: char) -> impl Iterator<Item = String> {
    text.split(mark).skip(1).step_by(2).map(str::to_owned)
}

/// Formats, and the options of each.
type Table = BTreeMap<String, BTreeSet<String>>;

#[test]
fn types_and_docs_have_the_table_of_formats() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |file: &str| fs::read_to_string(root.join(file)).unwrap();
    let table = |options: fn(Format) -> Option<&'static [&'static str]>| -> Table {
        let row = |format: &Format| {
            let options = options(*format)?.iter().map(|&name| name.to_owned());
            Some((format.name().to_owned(), options.collect()))
        };
        Format::ALL.iter().filter_map(row).collect()
    };
    let mut wrong = Vec::new();
    let mut compare = |place: &str, found: &Table, expected: &Table| {
        let names: BTreeSet<_> = found.keys().chain(expected.keys()).collect();
        for name in names {
            match (found.get(name), expected.get(name)) {
                (None, _) => wrong.push(format!("{place} lacks {name}")),
                (_, None) => wrong.push(format!("{place} has {name}, and shouldn't")),
                (Some(found), Some(expected)) if found != expected => {
                    wrong.push(format!("{place} has {name} with the options {found:?}, not {expected:?}"));
                }
                _ => {}
            }
        }
    };

    let info = read("js/boundary/info.ts");
    let (_, names) = info.split_once("type ForeignFormat =").unwrap();
    let (names, _) = names.split_once(';').unwrap();
    let names = quoted(names, '"').map(|name| (name, BTreeSet::new())).collect();
    compare("js/boundary/info.ts, ForeignFormat,", &names, &table(|_| Some(&[])));

    // `| { from: "xor" | "binary-fuse"; layout?: ...; width?: ... }`, a member a format or several.
    let types = read("js/foreign/foreign.ts");
    let members = |from: &str, until: &str, tag: &str| {
        let (_, rest) = types.split_once(from).unwrap();
        let (text, _) = rest.split_once(until).unwrap();
        let mut found = Table::new();
        for member in text.split("  | {").skip(1) {
            let code: String = member.lines().filter(|line| !line.trim().starts_with(['*', '/'])).collect();
            let (_, tagged) = code.split_once(tag).unwrap();
            let names = quoted(tagged.split([';', '}']).next().unwrap(), '"');
            let fields = code.split(';').filter_map(|field| field.split_once(": "));
            let fields = fields.map(|(name, _)| name.trim().trim_end_matches('?').to_owned());
            let fields: BTreeSet<_> = fields.filter(|name| !tag.contains(name.as_str())).collect();
            found.extend(names.map(|name| (name, fields.clone())));
        }
        found
    };
    let reading = table(|format| interop::reading_options(format).ok());
    let found = members("type Reading =", "/** Options of", " from: ");
    compare("js/foreign/foreign.ts, Reading,", &found, &reading);
    let mut making = table(|format| interop::making_options(format).ok());
    // It stands apart: it has no `bits`.
    making.remove("redisbloom");
    making.values_mut().for_each(|options| options.retain(|name| name != "bits" && name != "hashes"));
    let found = members("type Making =", "/** The size", " format: ");
    compare("js/foreign/foreign.ts, Making,", &found, &making);

    let page = read("docs/moving.md");
    let (_, rows) = page.split_once("| `from` | other options |").unwrap();
    let mut found = Table::new();
    for row in rows.lines().skip(2).take_while(|line| line.starts_with('|')) {
        let (formats, options) = row.trim_matches('|').split_once(" | ").unwrap();
        let options: BTreeSet<_> = quoted(options, '`').filter(|word| !word.starts_with('"')).collect();
        found.extend(quoted(formats, '`').map(|name| (name, options.clone())));
    }
    compare("docs/moving.md, the table of `from`,", &found, &reading);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
