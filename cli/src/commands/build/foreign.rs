//! A blob of another software's kind.

use anyhow::{Result, bail};
use bloom_wasm::interop::{self, Builder, Format, KeyBuffer};
use bloom_wasm::keys::Input;
use bloom_wasm::{Filter, Profile};

use super::args::BuildArgs;
use crate::args::foreign::{options, require_text};
use crate::args::number::created_at;
use crate::files::blob;
use crate::lists::keys;
use crate::lists::lines::Place;
use crate::streams::{Answer, Streams};
use crate::text::{Row, counted, rate, repeated_in_words};

/// All keys are held in memory, since the other software's hash needs their bytes.
pub fn build(args: &BuildArgs, format: Format, profile: Profile, streams: &mut Streams) -> Result<Answer> {
    if args.secret.is_given() {
        bail!("--secret-file works only with our own kinds: other software has no secret");
    }
    if !args.allow.is_empty() {
        bail!("--allow works only with our own kinds: other software's filters can't have layers");
    }
    if args.counter_bits == "8" {
        bail!("--counter-bits works only with --kind counting");
    }
    if args.seed.is_some() {
        bail!("--seed works only with our own kinds; spark has --option seed=N");
    }
    let fpr = args.fpr.unwrap_or(profile.default_fpr());
    let key_fpr = profile.key_fpr(fpr);
    let options = options(&args.options, format, interop::making_options(format)?)?;
    // Reports what is impossible before hours of reading.
    let all = Builder::new(format, &options, args.capacity.unwrap_or(1), key_fpr)?.keys();
    require_text(all, profile)?;
    if let Some(name) = &args.name {
        bloom_wasm::internal::require_name(name)?;
    }
    let created_at = args.created_at.map(created_at).transpose()?;

    let take = |keys: &mut KeyBuffer, input: &Input, _: Place| keys.push(&all.parse(input.own())?);
    let mut buffer = KeyBuffer::default();
    let summary =
        keys::for_each(&args.lists, profile, &args.omitted, streams, KeyBuffer::default, take, |more| {
            buffer.append(&more)
        })?;
    summary.print_notices(streams);
    let keys = buffer.count();
    args.require_lists(&summary)?;
    args.require_keys(keys)?;
    args.print_hint(&summary, streams);
    let (filter, distinct) = buffer.build(format, &options, args.capacity, key_fpr)?;
    let mut made = Filter::new(profile, filter);
    made.describe(args.name.clone(), created_at)?;
    let read = counted(distinct, "key", "keys") + &repeated_in_words(keys - distinct) + &summary.in_words();
    let rows: [Row; 1] = [("read", read)];
    let fpr = ("fpr", format!("{fpr} asked for; expected: {} per key", rate(made.stack().estimated_fpr())));
    blob::save(&made, &args.output, args.json, None, &rows, &[fpr], streams)
}
