//! `shard`: sharded filters that are built elsewhere. docs/feeds.md, "Built elsewhere".

mod build;
mod index;

use anyhow::Result;
use clap::Subcommand;

use crate::streams::{Answer, Streams};

/// Build a sharded filter elsewhere: each shard by itself, and then the folder
#[derive(clap::Args)]
pub struct ShardArgs {
    #[command(subcommand)]
    command: ShardCommand,
}

#[derive(Subcommand)]
enum ShardCommand {
    Build(build::BuildArgs),
    Index(index::IndexArgs),
}

pub fn run(args: ShardArgs, streams: &mut Streams) -> Result<Answer> {
    match args.command {
        ShardCommand::Build(args) => build::run(args, streams),
        ShardCommand::Index(args) => index::run(args, streams),
    }
}
