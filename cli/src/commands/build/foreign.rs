//! A blob of another software's kind.

use anyhow::{Context, Result, bail};
use bloom_wasm::interop::{Builder, Format, Options};
use bloom_wasm::keys::Input;
use bloom_wasm::vectors::append;
use bloom_wasm::{Blob, Error, Profile, digests, hash};

use super::args::BuildArgs;
use crate::args::foreign::require_text;
use crate::args::number::milliseconds;
use crate::files::blob;
use crate::lists::keys;
use crate::lists::lines::Place;
use crate::streams::{Answer, Streams};
use crate::text::{Row, grouped, rate};

/// All keys are held at once, since its hash needs them.
pub fn build(args: &BuildArgs, format: Format, profile: Profile, streams: &mut Streams) -> Result<Answer> {
    if args.secret.is_given() {
        bail!("--secret-file goes with our own kinds: other software knows no secret");
    }
    if !args.allow.is_empty() {
        bail!("--allow goes with our own kinds: nothing can lie over another software's filter");
    }
    let fpr = args.fpr.unwrap_or(profile.default_fpr());
    let key_fpr = profile.key_fpr(fpr);
    let seed =
        i32::try_from(args.seed.unwrap_or(0)).context("--seed of other software's filters is below 2^31")?;
    let options = Options { seed: Some(seed).filter(|seed| *seed != 0), ..args.foreign.options() };
    // What is impossible is told before hours of reading.
    let new = |count| Builder::new(format, &options, count, key_fpr);
    let all = new(args.capacity.unwrap_or(1))?.keys();
    require_text(all, profile)?;
    if let Some(name) = &args.name {
        bloom_wasm::format::require_name(name)?;
    }
    let created_at = args.created_at.map(milliseconds).transpose()?;

    // Each key after its length.
    let mut text = Vec::new();
    let mut members = Vec::new();
    let take = |(text, members): &mut (Vec<u8>, Vec<u64>), input: &Input, _: Place| {
        let key = all.parse(input.own())?;
        let rule = Error::InvalidKey { reason: "a key must have less than 2^32 bytes" };
        let length = u32::try_from(key.len()).map_err(|_| rule)?;
        text.extend(length.to_le_bytes());
        text.extend_from_slice(&key);
        members.push(hash::digest(0, &key));
        Ok(())
    };
    let summary = keys::for_each(
        &args.lists,
        profile,
        &args.omitted,
        streams,
        Default::default,
        take,
        |(more, digests)| {
            append(&mut text, &more)?;
            append(&mut members, &digests)
        },
    )?;
    let keys = members.len() as u64;
    args.require_keys(keys)?;
    digests::sort(&mut members)?;
    let distinct = members.len() as u64;
    drop(members);
    let mut builder = new(args.capacity.unwrap_or(distinct))?;
    let mut rest = &text[..];
    while let Some((&length, after)) = rest.split_first_chunk() {
        let (key, after) = after.split_at(u32::from_le_bytes(length) as usize);
        builder.add(key)?;
        rest = after;
    }
    drop(text);
    let mut made = Blob::new(profile, builder.finish()?);
    made.describe(args.name.clone(), created_at)?;
    let mut read = format!("{} keys", grouped(distinct));
    if keys > distinct {
        read += &format!(", {} repeated", grouped(keys - distinct));
    }
    let rows: [Row; 1] = [("read", read + &summary.in_words())];
    let fpr =
        ("fpr", format!("{fpr} asked for, {} of a key by the fill", rate(made.filter().estimated_fpr())));
    blob::save(&made, &args.output, args.json, &rows, &[fpr], streams)
}
