//! The types of the package have the formats and options that the crate has.

use super::*;

/// The words of a text that stand in quotation marks of a kind.
fn quoted(text: &str, mark: char) -> impl Iterator<Item = String> {
    text.split(mark).skip(1).step_by(2).map(str::to_owned)
}

/// Formats, and the options of each.
type Table = BTreeMap<String, BTreeSet<String>>;

#[test]
fn types_have_the_table_of_formats() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |file: &str| fs::read_to_string(root.join(file)).unwrap();
    let table = |options: fn(Format) -> Option<&'static [&'static str]>| -> Table {
        let row = |format: &Format| {
            let options = options(*format)?.iter().map(|&name| name.to_owned());
            Some((format.name().to_owned(), options.collect()))
        };
        Format::ALL.iter().filter_map(row).collect()
    };
    let mut wrong = Vec::new();
    let mut compare = |place: &str, found: &Table, expected: &Table| {
        let names: BTreeSet<_> = found.keys().chain(expected.keys()).collect();
        for name in names {
            match (found.get(name), expected.get(name)) {
                (None, _) => wrong.push(format!("{place} lacks {name}")),
                (_, None) => wrong.push(format!("{place} has {name}, and shouldn't")),
                (Some(found), Some(expected)) if found != expected => {
                    wrong.push(format!("{place} has {name} with the options {found:?}, not {expected:?}"));
                }
                _ => {}
            }
        }
    };

    let info = read("js/boundary/info.ts");
    let (_, names) = info.split_once("type ForeignFormat =").unwrap();
    let (names, _) = names.split_once(';').unwrap();
    let names = quoted(names, '"').map(|name| (name, BTreeSet::new())).collect();
    compare("js/boundary/info.ts, ForeignFormat,", &names, &table(|_| Some(&[])));

    // `| { format: "xor" | "binary-fuse"; layout?: ...; width?: ... }`, a member a format or several.
    let types = read("js/foreign/foreign.ts");
    let members = |from: &str, until: &str, tag: &str| {
        let (_, rest) = types.split_once(from).unwrap();
        let (text, _) = rest.split_once(until).unwrap();
        let mut found = Table::new();
        for member in text.split("  | {").skip(1) {
            let code: String = member.lines().filter(|line| !line.trim().starts_with(['*', '/'])).collect();
            let (_, tagged) = code.split_once(tag).unwrap();
            let names = quoted(tagged.split([';', '}']).next().unwrap(), '"');
            let fields = code.split(';').filter_map(|field| field.split_once(": "));
            let fields = fields.map(|(name, _)| name.trim().trim_end_matches('?').to_owned());
            let fields: BTreeSet<_> = fields.filter(|name| !tag.contains(name.as_str())).collect();
            found.extend(names.map(|name| (name, fields.clone())));
        }
        found
    };
    let reading = table(|format| interop::reading_options(format).ok());
    let found = members("type Reading =", "/** Options of", " format: ");
    compare("js/foreign/foreign.ts, Reading,", &found, &reading);
    let mut making = table(|format| interop::making_options(format).ok());
    // It is a member of its own, because it has no `bits`.
    making.remove("redisbloom");
    making.values_mut().for_each(|options| options.retain(|name| name != "bits" && name != "hashes"));
    let found = members("type Making =", "/** The size", " format: ");
    compare("js/foreign/foreign.ts, Making,", &found, &making);

    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
