//! `check`.

use super::{publish, run, text, text_of, with_filter};

#[test]
fn check_prints_what_is_maybe_present() {
    with_filter(|folder| {
        let output = run(folder, "check f.bloom good.example evil.example", b"");
        assert_eq!((output.status.code(), text(&output.stdout)), (Some(0), "evil.example\n"));
        let output = run(folder, "check f.bloom", b"good.example\r\n\r\nbad.example\r\nworse.example");
        assert_eq!((output.status.code(), text(&output.stdout)), (Some(0), "bad.example\nworse.example\n"));
        let output = run(folder, "check f.bloom good.example", b"");
        assert_eq!((output.status.code(), text(&output.stdout)), (Some(1), ""));
        // As a list does, the input may start with a byte order mark.
        let marked = "\u{feff}evil.example\n\u{feff}bad.example\n";
        let output = run(folder, "check f.bloom", marked.as_bytes());
        assert_eq!((output.status.code(), text(&output.stdout)), (Some(0), "evil.example\n"));
    });
}

/// Every line is printed by one of the two.
#[test]
fn inverted_it_prints_what_is_definitely_absent() {
    with_filter(|folder| {
        let keys = b"good.example\nevil.example\r\n\nfine.example\nbad.example";
        let ask = |args: &str, keys: &[u8]| {
            let output = run(folder, &format!("check f.bloom {args}"), keys);
            (output.status.code(), text_of(output.stdout))
        };
        assert_eq!(ask("", keys), (Some(0), "evil.example\nbad.example\n".into()));
        assert_eq!(ask("--invert", keys), (Some(0), "good.example\nfine.example\n".into()));
        assert_eq!(ask("good.example evil.example --invert", b""), (Some(0), "good.example\n".into()));
        assert_eq!(ask("--invert", b"evil.example\nbad.example\n"), (Some(1), "".into()));
        assert_eq!(ask("--invert", b""), (Some(1), "".into()));
        let failed = run(folder, "check list --invert key", b"");
        assert!(failed.status.code() == Some(2) && failed.stdout.is_empty());

        // What isn't a URL isn't on a list of URLs. In a filter with tags, absent keys have none.
        let args = "build -o f.bloom --profile url --tag bad=list";
        assert!(run(folder, args, b"").status.success());
        let urls = b"http://evil.example/a\nmailto:a@evil.example\nhttp://good.example/\n";
        assert_eq!(ask("", urls), (Some(0), "http://evil.example/a\tbad\n".into()));
        let absent = "mailto:a@evil.example\nhttp://good.example/\n";
        assert_eq!(ask("--invert", urls), (Some(0), absent.into()));

        // A folder gives the same answers, with shards and without.
        for (dir, shards) in [("whole", ""), ("sharded", "\nshards = 4")] {
            let above =
                format!("public = '{dir}'\nstate = 'state-{dir}'\nsign = []\nprofile = 'raw'\nfpr = 1e-6");
            assert!(publish(folder, &format!("{above}{shards}"), "list = 'list'").status.success());
            let output = run(folder, &format!("check {dir} --invert"), keys);
            assert_eq!(text(&output.stdout), "good.example\nfine.example\n");
            let info: serde_json::Value =
                serde_json::from_slice(&run(folder, &format!("info {dir} --json"), b"").stdout).unwrap();
            assert_eq!(info["count"], 3);
        }
    });
}

#[test]
fn a_dash_is_standard_input_to_check_too() {
    with_filter(|folder| {
        let keys = b"good.example\nevil.example\n";
        for args in ["check f.bloom -", "check f.bloom", "check f.bloom -- -"] {
            let output = run(folder, args, keys);
            assert_eq!((output.status.code(), text(&output.stdout)), (Some(0), "evil.example\n"), "{args}");
        }
        for (args, words) in [
            ("check f.bloom evil.example -", "can't be combined with other keys"),
            ("check f.bloom - -", "can't be combined with other keys"),
            ("check - -", "can't be both"),
        ] {
            let output = run(folder, args, keys);
            let said = text(&output.stderr);
            assert!(output.status.code() == Some(2) && said.contains(words), "{args}: {said}");
            assert!(output.stdout.is_empty() && said.lines().count() == 1, "{args}: {said}");
        }
        // The key itself.
        assert!(run(folder, "build -o dash", b"-\n").status.success());
        assert_eq!(text(&run(folder, "check dash -", b"a\n-\n").stdout), "-\n");
    });
}

/// A line is looked up as a whole or not at all. It may be far longer than an entry of a list.
#[test]
fn a_question_may_be_long_and_is_refused_if_it_is_longer_than_any() {
    with_filter(|folder| {
        let ask = |text: &[u8]| {
            let output = run(folder, "check f.bloom", text);
            (output.status.code(), output.stdout, text_of(output.stderr))
        };
        run(folder, "build list -o f.bloom --profile url", b"");
        let url = format!("http://EVIL.example/?{}", "é".repeat(3_000_000));
        let (code, out, _) = ask(format!("good.example\n{url}\nbad.example\n").as_bytes());
        assert!(code == Some(0) && out == format!("{url}\nbad.example\n").as_bytes());
        let (code, _, said) = ask(&[&b"evil.example/"[..], &vec![b'x'; 1 << 26]].concat());
        assert_eq!(
            (code, said.as_str()),
            (Some(2), "bloom-wasm: standard input: a line is longer than 64 MiB\n")
        );
    });
}
