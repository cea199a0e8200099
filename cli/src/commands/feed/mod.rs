//! `feed`: a folder of files that keeps a filter up to date. docs/hosting.md.

mod build_shard;
mod forget;
mod init;
mod keygen;
mod pubkey;
mod publish;
mod verify;

use anyhow::Result;
use clap::Subcommand;

use crate::streams::{Answer, Streams};

/// Publish a filter that stays up to date, as a folder for any static host
#[derive(clap::Args)]
pub struct FeedArgs {
    #[command(subcommand)]
    command: FeedCommand,
}

#[derive(Subcommand)]
enum FeedCommand {
    Init(init::InitArgs),
    Publish(publish::PublishArgs),
    Verify(verify::ReadArgs),
    Forget(forget::ForgetArgs),
    Keygen(keygen::KeygenArgs),
    Pubkey(pubkey::PubkeyArgs),
    BuildShard(build_shard::ShardArgs),
}

pub fn run(args: FeedArgs, streams: &mut Streams) -> Result<Answer> {
    match args.command {
        FeedCommand::Init(args) => init::run(args, streams),
        FeedCommand::Publish(args) => publish::run(args, streams),
        FeedCommand::Verify(args) => verify::run(args, streams),
        FeedCommand::Forget(args) => forget::run(args, streams),
        FeedCommand::Keygen(args) => keygen::run(args, streams),
        FeedCommand::Pubkey(args) => pubkey::run(args, streams),
        FeedCommand::BuildShard(args) => build_shard::run(args, streams),
    }
}
