//! What the software itself gave: its answers, and its files to the byte.

use super::*;
use crate::not_tested;

#[test]
fn every_recorded_answer() {
    let (mut files, mut refused) = (0, 0);
    let mut formats = Vec::new();
    for case in cases() {
        if has_other_hash(&case) {
            not_tested(&format!("{}, which is hashed by SHA-256", case.id()));
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

/// What is written is what was read, except for old layouts of RedisBloom: they become the current one, with the same
/// answers.
#[test]
fn export_gives_the_original_back() {
    let mut same = 0;
    for case in cases().iter().filter(|case| !is_unsupported(case) && !has_other_hash(case)) {
        for File { name, format, options, bytes } in case.files() {
            let filter = AnyFilter::from(wrapped(&interop::read(format, &options, &bytes).unwrap()));
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
                assert_eq!(AnyFilter::from(again), filter, "{name}");
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
                not_tested(&format!("the size of {}, which is that of an old release", case.id()));
                continue;
            }
            Format::RedisBloom => {
                let with = created.as_array();
                // BF.ADD by itself reserves 100 keys at 0.01.
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
            // An unusual setting was turned on: everything except the byte order is equal.
            let again = interop::read(format, &Options::default(), &original).unwrap();
            assert_eq!(again.as_bytes(), filter.as_bytes());
        } else {
            assert!(written == original, "{}: other bytes", case.id());
        }
        made += 1;
    }
    assert!(made > 55, "{made} files");
}
