//! `verify`.

use std::fs;

use super::{run, with_filter};

#[test]
fn verify_counts() {
    with_filter(|folder| {
        let verify = |args: &[&str]| {
            let output = run(folder, &[&["verify", "f.bloom", "--json"], args].concat(), b"");
            (output.status.code(), serde_json::from_slice::<serde_json::Value>(&output.stdout).unwrap())
        };
        let (code, json) = verify(&["--members", "list"]);
        assert_eq!(code, Some(0));
        assert_eq!(
            (&json["members"], &json["falseNegatives"], &json["probes"]),
            (&3.into(), &0.into(), &1_000_000.into())
        );
        let (measured, estimated) =
            (json["measuredFpr"].as_f64().unwrap(), json["estimatedFpr"].as_f64().unwrap());
        assert!((measured - estimated).abs() < 4.0 * (estimated / 1e6).sqrt(), "{measured} for {estimated}");

        fs::write(folder.join("other"), "evil.example\nnot.there\nnor.this\n").unwrap();
        let (code, json) = verify(&["--members", "list", "--absent", "other"]);
        assert_eq!((code, &json["probes"], &json["falsePositives"]), (Some(0), &2.into(), &0.into()));
        let (code, json) = verify(&["--members", "other"]);
        assert_eq!((code, &json["falseNegatives"]), (Some(1), &2.into()));
    });
}
