//! `build`: lists to a blob.

mod args;
mod foreign;
mod own;

use anyhow::{Result, bail};
use bloom_wasm::Kind;

pub use args::BuildArgs;

use crate::args::kind::AnyKind;
use crate::files::{read, write};
use crate::streams::{Answer, Streams};

pub fn run(args: BuildArgs, streams: &mut Streams) -> Result<Answer> {
    read::check_stdin(args.lists.iter().chain(&args.allow).chain(args.tags.lists()))?;
    if matches!(args.kind, AnyKind::Own(_)) && !args.options.is_empty() {
        bail!("--option works only with other software's kinds");
    }
    write::check(&args.output)?;
    write::check_inputs(
        "a list",
        args.lists.iter().chain(&args.allow).chain(args.tags.lists()),
        &args.output,
    )?;
    args.secret.check_output(&args.output)?;
    let profile = args.profile()?;
    if args.tags.any() && !matches!(args.kind, AnyKind::Own(Kind::Ribbon)) {
        bail!("--tag works only with --kind ribbon: no other kind has tags");
    }
    let kind = match args.kind {
        AnyKind::Own(kind) => kind,
        AnyKind::Foreign(format) => return foreign::build(&args, format, profile, streams),
    };
    own::build(&args, kind, profile, streams)
}
