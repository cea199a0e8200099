//! `calc`: the formulas of a Bloom filter. Any two of count, rate and size give the third.

use anyhow::{Result, anyhow};
use bloom_wasm::params::{count_for, fpr_for, optimal};
use serde::Serialize;

use crate::args::number::parse_fpr;
use crate::streams::{Answer, Streams};
use crate::text::{grouped, rate};

/// Work out a Bloom filter's size, rate or count from the other two
#[derive(clap::Args)]
#[command(group(clap::ArgGroup::new("two").args(["count", "fpr", "bytes"]).multiple(true).required(true)))]
pub struct CalcArgs {
    /// How many keys
    #[arg(long)]
    count: Option<u64>,
    /// The false-positive rate, above 0 and below 1. With --count alone it is 1e-3, as with `build`
    #[arg(long, allow_negative_numbers = true, value_parser = parse_fpr)]
    fpr: Option<f64>,
    /// The size in bytes, up to 536,870,911
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..1 << 29))]
    bytes: Option<u32>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Shape {
    count: u64,
    fpr: f64,
    bits: u32,
    hashes: u32,
    bytes: u32,
    bits_per_key: f64,
}

pub fn run(args: CalcArgs, streams: &mut Streams) -> Result<Answer> {
    let (count, bits, hashes) = match (args.count, args.fpr, args.bytes) {
        (Some(count), fpr, None) => {
            let size = optimal(count, fpr.unwrap_or(1e-3))?;
            (count, size.bits, size.hashes)
        }
        (Some(count), None, Some(bytes)) => {
            let hashes = f64::from(bytes) * 8.0 / count.max(1) as f64 * std::f64::consts::LN_2;
            (count, bytes * 8, (hashes.round() as u32).clamp(1, 64))
        }
        (None, Some(fpr), Some(bytes)) => {
            let count = count_for(bytes * 8, fpr)?;
            (count, bytes * 8, optimal(count, fpr)?.hashes)
        }
        _ => return Err(anyhow!("give two of --count, --fpr and --bytes")),
    };
    let shape = Shape {
        count,
        fpr: fpr_for(count, bits, hashes)?,
        bits,
        hashes,
        bytes: bits.div_ceil(8),
        bits_per_key: f64::from(bits) / count.max(1) as f64,
    };
    if args.json {
        streams.print_json(&shape)?;
        return Ok(Answer::Yes);
    }
    streams.print_rows(&[
        ("keys", grouped(shape.count)),
        ("fpr", rate(shape.fpr)),
        ("bits", format!("{}, {:.2} a key", grouped(shape.bits.into()), shape.bits_per_key)),
        ("hashes", shape.hashes.to_string()),
        ("bytes", format!("{}, plus up to 64 for the header of a blob", grouped(shape.bytes.into()))),
    ])?;
    Ok(Answer::Yes)
}
