//! `calc`.

use tempfile::TempDir;

use super::run;

#[test]
fn calc_solves_for_the_third() {
    let folder = TempDir::new().unwrap();
    let calc = |args: &[&str]| -> serde_json::Value {
        let output = run(folder.path(), &[&["calc", "--json"], args].concat(), b"");
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let size = calc(&["--count", "1000000", "--fpr", "0.01"]);
    assert_eq!(
        (&size["bits"], &size["hashes"], &size["bytes"]),
        (&9_585_059.into(), &7.into(), &1_198_133.into())
    );
    assert_eq!(calc(&["--count", "3"]), calc(&["--count", "3", "--fpr", "0.001"]));
    assert_eq!(calc(&["--bytes", "1198133", "--fpr", "0.01"])["count"], 1_000_000);
    let rate = calc(&["--bytes", "1198133", "--count", "1000000"])["fpr"].as_f64().unwrap();
    assert!((rate - 0.010_039).abs() < 1e-6, "{rate}");
}
