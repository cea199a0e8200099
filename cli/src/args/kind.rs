//! `--kind` and `--format`: kinds of filter, our own and other software's.

use anyhow::Context;
use bloom_wasm::Kind;
use bloom_wasm::interop::{self, Format};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

/// A kind of filter, our own or another software's.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum AnyKind {
    /// Our own.
    Own(Kind),
    /// Another software's.
    Foreign(Format),
}

/// Reads a kind that a filter can be built of.
pub fn parse_kind() -> impl TypedValueParser<Value = AnyKind> {
    // The smallest first.
    let own = [Kind::Ribbon, Kind::Bloom, Kind::Counting, Kind::Scalable, Kind::Cuckoo];
    let own = own.map(|kind| (kind.name(), kind.purpose(), AnyKind::Own(kind)));
    let written = Format::ALL.iter().filter(|format| interop::making_options(**format).is_ok());
    let foreign = written.map(|&format| (format.name(), format.software(), AnyKind::Foreign(format)));
    one_of(own.into_iter().chain(foreign), &[])
}

/// Reads the name of a format. A format that many people ask for but that isn't supported gets an error message of its
/// own.
pub fn parse_format() -> impl TypedValueParser<Value = Format> {
    let all = Format::ALL.iter().map(|&format| (format.name(), format.software(), format));
    one_of(all, &["pybloom-live", "pybloom_live", "pybloom"])
}

/// Reads one of some values, each with its name and its help text. The names in `refused` aren't shown in the help.
fn one_of<T: Copy + Send + Sync + 'static>(
    values: impl IntoIterator<Item = (&'static str, &'static str, T)>,
    refused: &[&'static str],
) -> impl TypedValueParser<Value = T> {
    let values: Vec<_> = values.into_iter().collect();
    let named = values.iter().map(|(name, help, _)| PossibleValue::new(name).help(help));
    let refused = refused.iter().map(|&name| PossibleValue::new(name).hide(true));
    let names = PossibleValuesParser::new(named.chain(refused));
    names.try_map(move |given| {
        let value = values.iter().find(|(name, ..)| *name == given).map(|(.., value)| *value);
        value.context("not supported: rebuild the filter from its keys")
    })
}
