//! How much memory is used. In a program of its own, because the memory of the whole process is measured, and one test
//! at a time.

use std::sync::Mutex;

use bloom_wasm::hash::digest;
use bloom_wasm::interop::{self, Builder, Format, Options};
use bloom_wasm::{BloomFilter, Filter};
use peak_alloc::PeakAlloc;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

static MEASURING: Mutex<()> = Mutex::new(());

#[test]
fn absurd_lengths_and_noise_take_no_memory() {
    let _alone = MEASURING.lock().unwrap();
    let mut plain = BloomFilter::new(64, 3, 0).unwrap();
    plain.add(b"key");
    let plain = Filter::from(plain).encode().unwrap();
    let noise: Vec<u8> =
        (0..10_000_000_u64 / 8).flat_map(|i| digest(1, &i.to_le_bytes()).to_le_bytes()).collect();
    let mut dressed = noise.clone();
    dressed[..9].copy_from_slice(&plain[..9]);
    dressed[21] = 7;
    let mut huge = plain;
    huge[17..21].copy_from_slice(&u32::MAX.to_le_bytes());

    for (bytes, code) in [(noise, "not_a_filter"), (dressed, ""), (huge, "truncated")] {
        let given = bytes.capacity();
        MEMORY.reset_peak_usage();
        let before = MEMORY.current_usage();
        let error = Filter::decode(bytes).unwrap_err();
        let taken = MEMORY.peak_usage().saturating_sub(before);
        assert!(code.is_empty() || error.code() == code, "{error:?}");
        assert!(taken < (1 << 20), "{taken} bytes for {given} bytes of input");
    }
}

/// Lengths that the bytes don't have, hashes that would take minutes, and no bits at all.
#[test]
fn absurd_files_are_refused_and_take_no_memory() {
    let _alone = MEASURING.lock().unwrap();
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
        ("another's first chunk", Format::RedisBloom, none(), le(&[2, 0, 0]), "invalid_parameter"),
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
        ("a header of a length alone", Format::ParquetSbbf, none(), [&[0x15, 0x40, 0][..], &[0; 32]].concat(), "invalid_parameter"),
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
        ("another cookie", Format::FilterPassword, none(), le(&[7, 7, 7, 7]), "invalid_parameter"),
        ("2^64 - 1 words", Format::FilterPassword, none(), le(&[1_234_568, 7, max, 7]), "truncated"),
        ("a mask of other segments", Format::FilterPassword, none(), [&le(&[1_234_569])[..], &ints(7, &[4, 7, 1, 4, 12], 12)].concat(), "invalid_parameter"),
        ("no words", Format::FilterPassword, none(), le(&[1_234_568, 7, 0]), "invalid_parameter"),
        ("another magic", Format::PyBloomFilterMmap3, none(), vec![b'M'; 2000], "invalid_parameter"),
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
        assert!(taken < 40 << 20, "{name}: {taken} bytes for {given}");
    }
}

/// What can't be made is refused before memory is taken for it: a bitmap beyond what SETBIT can reach, other filters of
/// 4 GiB and more.
#[test]
fn filters_that_are_too_large() {
    let _alone = MEASURING.lock().unwrap();
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
