//! Reads blobs, writes them, and reports what was written.

use std::borrow::Cow;
use std::path::Path;

use anyhow::{Context, Result};
use bloom_wasm::filters::AnyFilter;
use bloom_wasm::format::MAGIC;
use bloom_wasm::hash::Secret;
use bloom_wasm::{Filter, FilterInfo};
use serde::Serialize;

use super::{read, write};
use crate::streams::{Answer, Streams, unless_closed};
use crate::text::{self, Row, grouped};

/// Reads a blob; `-` is standard input.
pub fn open(path: &Path, secret: Option<&Secret>, streams: &mut Streams) -> Result<Filter> {
    decode(read::any(path, &MAGIC, streams)?, secret).with_context(|| read::name(path))
}

/// Reads the blob of a filter that is keyed if there is a secret.
pub fn decode(bytes: Vec<u8>, secret: Option<&Secret>) -> bloom_wasm::error::Result<Filter> {
    match secret {
        Some(secret) => Filter::decode_keyed(bytes, secret),
        None => Filter::decode(bytes),
    }
}

/// What is reported of a blob, for programs.
#[derive(Serialize)]
struct Report<'a> {
    #[serde(flatten)]
    info: FilterInfo<'a>,
    /// How many keys of its lists others cover.
    #[serde(skip_serializing_if = "Option::is_none")]
    covered: Option<u64>,
}

/// Writes a blob, and reports it unless the blob goes to standard output. `covered` is how many keys of its lists others
/// cover, if that was looked for.
pub fn save(
    blob: &Filter,
    path: &Path,
    json: bool,
    covered: Option<u64>,
    before: &[Row],
    after: &[Row],
    streams: &mut Streams,
) -> Result<Answer> {
    let bytes = blob.encode()?;
    if write::is_stdout(path) {
        streams.print_blob(&bytes)?;
        return Ok(Answer::Yes);
    }
    let info = blob.info()?;
    let per_key = info.bits_per_key.map(|bits| format!(", {bits:.2} bits a key")).unwrap_or_default();
    let size = [("size", format!("{} bytes{per_key}", grouped(info.byte_length)))];
    let rows = [before, &size, after].concat();
    let wrote = format!("{}, of kind {}", path.display(), info.kind);
    save_bytes(&bytes, path, json.then_some(&Report { info, covered }), rows, wrote, streams)
}

/// Writes a file. Its contents are described before it is put in place, so that nothing has changed if printing fails.
/// The last row, which says that it was written, is printed afterwards. It is no failure if nobody reads the output.
pub fn save_bytes(
    bytes: &[u8],
    path: &Path,
    json: Option<&impl Serialize>,
    mut rows: Vec<Row>,
    wrote: String,
    streams: &mut Streams,
) -> Result<Answer> {
    rows.push(("wrote", wrote));
    let rows = text::rows(&rows);
    let (last, before) = rows.split_last().expect("a row that was pushed");
    write::write(path, bytes, || {
        unless_closed(match json {
            Some(info) => streams.print_json(info),
            None => streams.print(before.concat().as_bytes()),
        })
    })?;
    if json.is_none() {
        unless_closed(streams.print(last.as_bytes()))
            .with_context(|| format!("{} is written", path.display()))?;
    }
    Ok(Answer::Yes)
}

/// The bytes of a key. If the keys are numbers, a line has a number in decimal digits.
pub fn key_of<'a>(blob: &Filter, line: &'a [u8]) -> bloom_wasm::error::Result<Cow<'a, [u8]>> {
    match blob.stack().base() {
        AnyFilter::Foreign(filter) => filter.keys().parse(line),
        _ => Ok(line.into()),
    }
}
