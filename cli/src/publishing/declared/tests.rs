use super::*;

const ID: &str = "00112233445566778899aabbccddeeff";
const KEY: &str = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo";

/// A whole file, with more keys above its list and more lines below.
fn with(above: &str, below: &str) -> String {
    format!("id = \"{ID}\"\nsign = []\nprofile = \"url\"\n{above}\n[lists]\nbad = \"bad.txt\"\n{below}")
}

fn read(text: &str) -> (Basis, Declared) {
    let (basis, declared) = parse(Path::new("lists/feed.toml"), text).unwrap();
    (basis, declared.unwrap())
}

/// What is said of a file, and whether renewal is stopped too.
fn refused(text: &str) -> (String, bool) {
    match parse(Path::new("feed.toml"), text) {
        Err(why) => (format!("{why:#}"), true),
        Ok((_, declared)) => (format!("{:#}", declared.map(|_| ()).expect_err(text)), false),
    }
}

#[test]
fn what_is_not_said_is_as_documented() {
    let (basis, declared) = read(&with("", ""));
    assert_eq!((basis.id.as_str(), basis.shards), (ID, None));
    assert_eq!(
        [&basis.public, &basis.state].map(|path| path.to_str().unwrap()),
        ["lists/public", "lists/state"]
    );
    assert!(basis.sign.is_empty() && basis.former_keys.is_empty());
    let Declared { profile, fpr, seed, secret, people, expires_in, grace, sources, parts } = declared;
    assert_eq!((profile, fpr, seed, secret, people), (Profile::Url, 1e-3, 0, None, People::default()));
    assert_eq!((expires_in, grace, parts), (7 * DAY, DAY, None));
    let Sources { lists, allow, allow_wins, omitted, dropped, max_removed, this_run } = sources;
    assert_eq!((dropped.len(), max_removed, this_run), (0, Share(0.25), None));
    assert!(allow.is_empty() && !allow_wins && !omitted.allow_suffixes);
    let bad = List { file: "lists/bad.txt".into(), told: "bad.txt".into(), ..List::default() };
    assert_eq!(lists.into_iter().collect::<Vec<_>>(), [("bad".to_owned(), bad)]);
}

#[test]
fn all_of_it() {
    let (basis, declared) = read(&format!(
        "id = \"{ID}\"\nsign = [\"a.key\", \"/b.key\"]\nformer-keys = [\"{KEY}\"]\nprofile = \"password\"
         sha1 = true\nfpr = 1e-6\nseed = 18446744073709551615\nshards = 8192\nsecret = \"secret\"
         name = \"Bad\"\nhomepage = \"https://lists.example/\"\nlicense = \"CC0-1.0\"
         public = \"../www\"\nstate = \"/var/lib/feed\"\nexpires-in = \"36h\"\ngrace = \"0s\"
         tags = true\nallow-wins = true\nmin-count = 3\nmax-removed = \"12.5%\"\ndropped = [\"old\", \"older\"]
         [lists]\nb = {{ file = \"b\", tag = \"c\", min-keys = 7, max-removed = \"100%\" }}\na = \"a\"
         [allow.mine]\nfile = \"mine\"\nallow-empty = true\n"
    ));
    assert_eq!(basis.sign, ["lists/a.key", "/b.key"].map(PathBuf::from));
    assert_eq!(basis.former_keys, [manifest::parse_public_key(KEY).unwrap()]);
    assert_eq!([basis.public, basis.state], ["lists/../www", "/var/lib/feed"].map(PathBuf::from));
    assert_eq!((basis.shards, declared.seed, declared.fpr), (Some(8192), u64::MAX, 1e-6));
    assert_eq!(declared.profile, Profile::Password { lowercase: false, sha1: true });
    assert_eq!(declared.secret, Some("lists/secret".into()));
    let People { name, homepage, license } = declared.people;
    let people = [name, homepage, license].map(Option::unwrap);
    assert_eq!(people, ["Bad", "https://lists.example/", "CC0-1.0"]);
    assert_eq!((declared.expires_in, declared.grace), (DAY * 3 / 2, 0));
    let Sources { lists, allow, allow_wins, omitted, dropped, max_removed, .. } = declared.sources;
    assert!(dropped.iter().eq(["old", "older"]) && max_removed == Share(0.125));
    assert!(allow_wins && omitted.min_count == 3);
    let tags = lists.iter().map(|(name, list)| (name.as_str(), list.tag.as_deref().unwrap()));
    assert_eq!(tags.collect::<Vec<_>>(), [("a", "a"), ("b", "c")]);
    assert_eq!((lists["b"].min_keys, lists["b"].max_removed), (Some(7), Some(Share(1.0))));
    assert!(allow["mine"].allow_empty && allow["mine"].file == Path::new("lists/mine"));
    let parts = format!("id = \"{ID}\"\nsign = []\nprofile = \"raw\"\nshards = 16\nparts = \"parts\"");
    assert_eq!(read(&parts).1.parts, Some("lists/parts".into()));
}

/// The seed of a keyed feed is as random as its id, and needs no state.
#[test]
fn a_secret_has_a_seed_of_its_own() {
    assert_eq!(read(&with("secret = \"secret\"", "")).1.seed, 0x0011_2233_4455_6677);
    assert_eq!(read(&with("secret = \"secret\"\nseed = 5", "")).1.seed, 5);
}

#[test]
fn what_renewal_needs() {
    for (text, words) in [
        ("id = ", "feed.toml:1: "),
        ("id = 1\n", "feed.toml:1: invalid type: integer `1`, expected a string"),
        ("\nid = \"x\"\nsign = []", "feed.toml:2: `id` must be 32 lower-case hexadecimal digits"),
        ("sign = []\n", "feed.toml: `id` is missing: `bloom-wasm feed init` adds one"),
        (
            &format!("id = \"{ID}\""),
            "feed.toml: `sign` is missing: name the files of the keys, or write sign = []",
        ),
        (&with("sign = []", ""), "feed.toml:4: duplicate key"),
        (
            &with("\nformer-keys = [\"x\"]", ""),
            "feed.toml:5: `former-keys`: give the 43 characters that `feed keygen` printed",
        ),
        (
            &with("\nformer-keys = \"old.key\"", ""),
            "feed.toml:5: invalid type: string \"old.key\", expected a list of public keys",
        ),
        (
            &format!("id = \"{ID}\"\nsign = \"feed.key\""),
            "feed.toml:2: invalid type: string \"feed.key\", expected a list of files, such as [\"feed.key\"]",
        ),
        // A key that is missing since it has another name.
        (
            &format!("id = \"{ID}\"\nprofile = \"url\"\nsing = []\n[lists]\nsig = \"sig\""),
            "feed.toml:3: there is no key `sing`; a similar one is `sign`",
        ),
        (&with("public = 3", ""), "feed.toml:4: invalid type"),
        (&with("shards = -1", ""), "feed.toml:4: "),
    ] {
        let (said, stops) = refused(text);
        assert!(stops && said.starts_with(words), "{text}: {said}");
        assert_eq!(said.lines().count(), 1, "{said}");
    }
}

#[test]
fn what_renewal_does_not_need() {
    let parts = |more: &str| format!("id = \"{ID}\"\nsign = []\nprofile = \"raw\"\nparts = \"p\"\n{more}");
    for (text, words) in [
        // Keys that aren't known, or in the wrong place.
        (with("nme = \"x\"", ""), "feed.toml:4: there is no key `nme`; a similar one is `name`"),
        (
            with("expires_in = \"7d\"", ""),
            "feed.toml:4: there is no key `expires_in`; a similar one is `expires-in`",
        ),
        (with("xyzzy = 1", ""), "feed.toml:4: there is no key `xyzzy`; there are id, public, state, sign, "),
        (
            with("", "expires-in = \"7d\""),
            "feed.toml:7: `expires-in` is a key of the feed, and here it would be a list: move it above [lists]",
        ),
        (
            with("", "[allow]\nallow-wins = true"),
            "feed.toml:8: invalid type: boolean `true`, expected the path of a list, or a table",
        ),
        (with("", "[allow]\nlicense = \"x\""), "feed.toml:8: `license` is a key of the feed"),
        (with("", "more = { fil = \"x\" }"), "feed.toml:7: there is no key `fil`; a similar one is `file`"),
        (
            with("", "[lists.more]\nfile = \"x\"\nmin-key = 3"),
            "feed.toml:9: there is no key `min-key`; a similar one is `min-keys`",
        ),
        (with("", "more = { min-keys = 3 }"), "feed.toml: missing field `file`"),
        (
            with("min-keys = 3", ""),
            "feed.toml:4: `min-keys` is a key of a list, such as phishing = { file = \"phishing.txt\", min-keys = 1000 }",
        ),
        (with("tag = true", ""), "feed.toml:4: there is no key `tag`; a similar one is `tags`"),
        // Values.
        (
            with("dropped = \"malware\"", ""),
            "feed.toml:4: invalid type: string \"malware\", expected a list of names, such as [\"malware\"]",
        ),
        (
            format!("id = \"{ID}\"\nsign = []"),
            "feed.toml: `profile` is missing: \"raw\", \"url\" or \"password\"",
        ),
        (
            format!("id = \"{ID}\"\nsign = []\nprofile = \"urls\""),
            "feed.toml:3: `profile` must be \"raw\", \"url\" or \"password\"",
        ),
        (with("lowercase = true", ""), "feed.toml:3: `lowercase` and `sha1` need profile = \"password\""),
        (with("fpr = 1", ""), "feed.toml:4: `fpr` must be above 0 and below 1"),
        (with("fpr = nan", ""), "feed.toml:4: `fpr` must be above 0 and below 1"),
        (with("seed = -1", ""), "feed.toml:4: "),
        (with("max-removed = \"25\"", ""), "feed.toml:4: give a share such as 50%, at most 100%"),
        (with("max-removed = 0.25", ""), "feed.toml:4: invalid type"),
        (with("expires-in = \"7\"", ""), "feed.toml:4: time unit needed"),
        (with("expires-in = \"0s\"", ""), "feed.toml: `expires-in` must be at least 1ms"),
        (with("grace = 1", ""), "feed.toml:4: invalid type"),
        (with("name = \"\"", ""), "feed.toml:4: `name` must have 1 to 255 bytes"),
        (with("homepage = \"javascript:x\"", ""), "feed.toml:4: `homepage` must be a URL"),
        (with("homepage = \"https://b\u{fc}cher.example/\"", ""), "feed.toml:4: `homepage` must be a URL"),
        (with("", "more = \"-\""), "feed.toml:7: more: each run reads this list, so it must be a file"),
        (with("", "more = { file = \"x\", tag = \"a,b\" }"), "feed.toml:7: more: "),
        (with("tags = true", "\"a,b\" = \"x\""), "feed.toml:7: a,b: "),
        // What doesn't go together.
        (
            format!("id = \"{ID}\"\nsign = []\nprofile = \"raw\""),
            "feed.toml: it has no list: name one below [lists]",
        ),
        (with("allow-wins = true", ""), "feed.toml: `allow-wins` needs [allow]"),
        (with("min-length = 1", ""), "feed.toml: `min-length` needs profile = \"password\""),
        (with("min-count = 1", ""), "feed.toml: `min-count` needs `sha1`"),
        (with("", "[allow]\nbad = \"x\""), "feed.toml: bad: this is in [lists] and in [allow]"),
        (
            with("", "[allow]\nx = { file = \"x\", tag = \"y\" }"),
            "feed.toml:8: x: keys that must be absent have no tag",
        ),
        (
            with("dropped = [\"old\",\n\"bad\"]", ""),
            "feed.toml:5: `dropped` has bad, and there is a list of this name",
        ),
        (with("parts = \"p\"", ""), "feed.toml: `parts` needs `shards`"),
        (
            parts("shards = 4\ntags = true"),
            "feed.toml: `parts` can't be combined with [lists], [allow] or `tags`",
        ),
        (
            parts("shards = 4\n[lists]\na = \"a\""),
            "feed.toml: `parts` can't be combined with [lists], [allow] or `tags`",
        ),
    ] {
        let (said, stops) = refused(&text);
        assert!(!stops && said.starts_with(words), "{text}: {said}");
        assert_eq!(said.lines().count(), 1, "{said}");
    }
}

#[test]
fn every_key_is_among_the_keys() {
    let said = toml::from_str::<File>("\"\" = 0").map(|_| ()).unwrap_err();
    let mut fields: Vec<_> = said.message().split('`').skip(3).step_by(2).collect();
    let mut keys = KEYS.to_vec();
    fields.sort_unstable();
    keys.sort_unstable();
    assert_eq!(fields, keys);
}

#[test]
fn every_key_is_documented() {
    let page = fs::read_to_string("../docs/hosting.md").unwrap();
    let cells: Vec<_> =
        page.lines().filter_map(|line| line.strip_prefix("| `")?.split(" |").next()).collect();
    for key in KEYS {
        let is_named = |cell: &&str| cell.split('`').any(|name| name == key || name == format!("[{key}]"));
        assert!(cells.iter().any(is_named), "docs/hosting.md has no {key} in its table");
    }
}

#[test]
fn shares() {
    for (text, expected) in [("0%", 0.0), ("25%", 0.25), ("12.5%", 0.125), ("100%", 1.0), ("1e1%", 0.1)] {
        assert_eq!(Share::parse(text), Ok(Share(expected)), "{text}");
    }
    for text in ["", "%", "1", "0.5", "50 %", "-1%", "100.1%", "NaN%", "inf%", "half"] {
        assert!(Share::parse(text).is_err(), "{text}");
    }
}
