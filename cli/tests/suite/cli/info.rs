//! `info`.

use std::fs;

use super::{run, text, with_filter};

#[test]
fn info_tells_every_field() {
    with_filter(|folder| {
        let output = run(folder, &["info", "f.bloom"], b"");
        for word in [
            "kind", "profile", "name", "created", "capacity", "fpr", "bits", "hashes", "seed", "layers", "id",
        ] {
            assert!(text(&output.stdout).contains(word), "{word}");
        }
        let piped = run(folder, &["info", "-", "--json"], &fs::read(folder.join("f.bloom")).unwrap());
        let json: serde_json::Value = serde_json::from_slice(&piped.stdout).unwrap();
        assert_eq!(
            (&json["kind"], &json["count"], &json["hashes"]),
            (&"ribbon".into(), &3.into(), &serde_json::Value::Null)
        );
    });
}
