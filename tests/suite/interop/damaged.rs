//! Files of other software, and blobs that wrap them, cut, lengthened and changed.

use super::*;
use crate::naive;

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
    // The rate of a small filter is measured, which takes milliseconds.
    static USED: AtomicUsize = AtomicUsize::new(0);
    if USED.fetch_add(1, Ordering::Relaxed).is_multiple_of(16) {
        let blob = Filter::from(filter.clone());
        let info = blob.info().unwrap();
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
        // The parameters come first, or last with pyprobables; changed bits of the filter are as valid as any others.
        let length = file.bytes.len();
        let fields = (0..length).filter(|at| *at < 160 || length - at < 30);
        for at in fields.step_by(crate::every(3)) {
            for change in [1, 2, 4, 8, 16, 32, 64, 128, 255, b'"', b'9' ^ file.bytes[at]] {
                let mut bytes = file.bytes.clone();
                bytes[at] ^= change;
                let _ = try_read(file, &bytes);
            }
        }
    }
}

/// The checksum made to fit, so that what comes after it is tested as well.
fn reseal(bytes: &mut [u8]) {
    if bytes.len() >= 4 {
        naive::seal(bytes);
    }
}

/// A wrapped blob that was changed and sealed again is refused, or can be used like any other.
fn try_decode(bytes: &[u8]) {
    let Ok(blob) = Filter::decode(bytes.to_vec()) else { return };
    assert_eq!(blob.encode().unwrap(), bytes, "a blob that can be read has only one form");
    if let AnyFilter::Foreign(filter) = blob.stack().base() {
        use_filter(filter);
    }
}

#[test]
fn wrapped_blobs_changed_and_sealed_again() {
    for file in small_files() {
        let filter = interop::read(file.format, &file.options, &file.bytes).unwrap();
        let blob = Filter::from(filter).encode().unwrap();
        for at in (0..blob.len().min(200)).step_by(crate::every(3)) {
            for change in [1, 2, 4, 8, 16, 32, 64, 128, 255] {
                let mut bytes = blob.clone();
                bytes[at] ^= change;
                assert!(Filter::decode(bytes.clone()).is_err(), "byte {at} xor {change} was not noticed");
                if at < blob.len() - 4 {
                    reseal(&mut bytes);
                    try_decode(&bytes);
                }
            }
        }
        for length in 0..blob.len() {
            let mut cut = blob[..length].to_vec();
            assert_eq!(Filter::decode(cut.clone()).unwrap_err().code(), "truncated");
            reseal(&mut cut);
            assert!(Filter::decode(cut).is_err());
        }
    }
}

/// How many mutations there are; `MUTATIONS` asks for another number.
fn mutations() -> u32 {
    std::env::var("MUTATIONS").map_or(25_000, |number| number.parse().unwrap())
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
            bytes = Filter::from(interop::read(file.format, &file.options, &bytes).unwrap()).encode().unwrap();
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
