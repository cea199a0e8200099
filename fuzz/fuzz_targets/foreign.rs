//! Any bytes at all as a filter of other software: they are read, and the result is queried, wrapped and written again.
//! The first two bytes choose the format and its options. `npm run fuzz -- --target foreign` runs it.

#![no_main]

use bloom_wasm::Filter;
use bloom_wasm::interop::{self, Format, Options};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let [format, choice, bytes @ ..] = bytes else { return };
    let format = Format::ALL[usize::from(*format) % Format::ALL.len()];
    let options = options(format, usize::from(*choice));
    let Ok(filter) = interop::read(format, &options, bytes) else { return };
    assert_eq!(filter.format(), format);
    // Nothing takes more room than the input has bytes; in JSON, 4 bytes take at least a digit and a comma.
    assert!(filter.as_bytes().len() <= 2 * bytes.len());
    for key in [&b""[..], b"key", "\u{0}é😀".as_bytes(), b"\xed\xa0\x80\xed", &[7; 4], &[0xff; 8]] {
        filter.has(key);
    }
    assert!((0.0..=1.0).contains(&filter.estimated_fpr()));
    assert!(filter.estimated_count() >= 0.0);

    let blob = Filter::from(filter);
    blob.info().unwrap();
    let encoded = blob.encode().unwrap();
    assert_eq!(Filter::expected_length(&encoded), Ok(Some(encoded.len() as u64)));
    assert_eq!(Filter::decode(encoded), Ok(blob.clone()));
    if let Ok(written) = interop::export(blob.stack().base(), format) {
        // If another layout was read, this is the current one.
        let again = interop::read(format, &options, &written).unwrap();
        assert_eq!(interop::write(&again), Ok(written));
        assert_eq!(again.as_bytes(), blob.stack().base().as_bytes());
    }
});

/// Some of a format's options.
fn options(format: Format, choice: usize) -> Options {
    let of = |texts: &[&str]| Some(texts[choice % texts.len()].to_owned()).filter(|text| !text.is_empty());
    let mut options = Options::default();
    match format {
        Format::Guava => options.funnel = of(&["", "unencoded-chars", "bytes", "int", "long"]),
        Format::Spark => options.keys = of(&["", "bytes", "long"]),
        Format::ParquetSbbf => options.keys = of(&["", "bytes", "int32", "int64", "float", "double"]),
        Format::PyBloomFilterMmap3 => options.keys = of(&["", "bytes", "int"]),
        Format::RedisBitmap => {
            options.bits = Some([500, 1, 8, 997, 1 << 32][choice % 5]);
            options.hashes = Some([4, 1, 1024, 7][choice / 5 % 4]);
        }
        Format::NpmBloomfilter => {
            let generations =
                ["", "fnv64-odd", "fnv32-triple", "fnv32-seeded", "fnv32-b", "fnv32-b-signedmix"];
            options.generation = of(&generations);
            options.hashes = Some(5).filter(|_| choice / 6 % 2 == 0);
        }
        Format::Xor | Format::BinaryFuse => {
            options.layout = of(&["", "xorf-dma", "xorf-json", "xorf-bincode"]);
            options.width = [None, Some(8), Some(16), Some(32)][choice / 4 % 4];
        }
        _ => {}
    }
    options
}
