//! How much memory is used. In a program of its own, because the memory of the whole process is measured.

use std::io::Read;

use bloom_wasm_cli::{Streams, run};
use peak_alloc::PeakAlloc;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// Half a gigabyte without a line end, plain or gzipped, takes no more memory than any other list.
#[test]
fn a_line_without_end_is_not_held() {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::copy(&mut (&b"first\n"[..]).chain(std::io::repeat(b'x').take(1 << 29)), &mut packed).unwrap();
    let packed = packed.finish().unwrap();
    let zeros = (&b"first\n"[..]).chain(std::io::repeat(0).take(1 << 29));
    let lists: [Box<dyn Read + Send>; 2] = [Box::new(zeros), Box::new(&packed[..])];
    for mut input in lists {
        let folder = tempfile::tempdir().unwrap();
        let output = folder.path().join("out").display().to_string();
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let streams = &mut Streams { input: &mut input, out: &mut out, err: &mut err, terminal: false };
        MEMORY.reset_peak_usage();
        let before = MEMORY.current_usage();
        assert_eq!(run(["bloom-wasm", "build", "-o", &output], streams), 0);
        let taken = MEMORY.peak_usage() - before;
        assert!(taken < 1 << 25, "{taken} bytes");
        let said = String::from_utf8(out).unwrap();
        assert!(said.contains("1 key, 1 skipped (longer than 1 MiB)"), "{said}");
    }
}
