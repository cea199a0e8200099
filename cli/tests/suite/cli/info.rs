//! `info`.

use std::fs;
use std::path::Path;

use super::{run, text, text_of};

/// What tells blobs apart: the length and the checksum. FORMAT.md section 2.
fn id_of(file: &str) -> String {
    let bytes = fs::read(format!("../tests/golden/{file}")).unwrap();
    let checksum = u32::from_le_bytes(*bytes.last_chunk().unwrap());
    format!("{:08x}{checksum:08x}", bytes.len())
}

#[test]
fn info_of_a_delta() {
    let folder = Path::new("../tests/golden");
    let info = |args: &str| text_of(run(folder, &format!("info ribbon.delta {args}"), b"").stdout);
    let json: serde_json::Value = serde_json::from_str(&info("--json")).unwrap();
    let length = fs::metadata(folder.join("ribbon.delta")).unwrap().len();
    // As tests/suite/golden.rs makes it.
    let expected = serde_json::json!({
        "kind": "delta", "parent": id_of("ribbon.bloom"), "profile": "raw", "keyed": false, "count": 1000,
        "byteLength": length, "layers": 2, "name": "golden", "createdAt": 1_700_000_000_000_u64,
        "id": id_of("ribbon.delta"),
    });
    assert_eq!(json, expected);
    let said = info("");
    for words in ["kind     delta: ", &format!("for      the blob with the id {}\n", id_of("ribbon.bloom"))] {
        assert!(said.contains(words), "{said}");
    }
    // It is no filter.
    let refused = run(folder, "check ribbon.delta key-1", b"");
    assert_eq!(refused.status.code(), Some(2));
    let said = text(&refused.stderr);
    assert!(said.contains("kind delta") && said.ends_with("open its feed [wrong_kind]\n"), "{said}");
    let cut = run(folder, "info -", &fs::read(folder.join("ribbon.delta")).unwrap()[..50]);
    assert!(cut.status.code() == Some(2) && text(&cut.stderr).ends_with("[truncated]\n"));
}

#[test]
fn info_says_what_layers_hold() {
    let layers_of = |blob: &[u8]| {
        let said = text_of(run(Path::new("."), "info -", blob).stdout);
        said.lines().find_map(|line| line.strip_prefix("layers    ")).unwrap().to_owned()
    };
    let golden = |name: &str| fs::read(format!("../tests/golden/{name}.bloom")).unwrap();
    assert_eq!(layers_of(&golden("ribbon")), "none");
    assert_eq!(
        layers_of(&golden("ribbon-child")),
        "1 that holds more keys, 1 of keys that are certainly absent"
    );
    // A list whose keys are in two groups has a layer from the beginning.
    let hosts: String = (0..30_000).map(|i| format!("host-{i}.example\n")).collect();
    let pages: String = (0..300).map(|i| format!("page-{i}.example/a/b\n")).collect();
    let built = run(Path::new("."), "build --profile url -o -", (hosts + &pages).as_bytes());
    assert_eq!(layers_of(&built.stdout), "1 that holds the keys of other shapes");
}

/// It may be huge, or have no end.
#[test]
#[cfg(unix)]
fn what_is_no_blob_is_not_read_to_its_end() {
    for args in ["info /dev/zero", "check /dev/zero a", "export /dev/zero --format guava -o -"] {
        let refused = run(Path::new("/"), args, b"");
        assert!(refused.status.code() == Some(2) && text(&refused.stderr).ends_with("[not_a_filter]\n"));
    }
}
