//! `completions`: for shells.

use anyhow::Result;
use clap_complete::Shell;

use crate::streams::{Answer, Streams};

/// Print what makes a shell complete the tool's commands and options
///
/// For bash, `bloom-wasm completions bash > ~/.local/share/bash-completion/completions/bloom-wasm`; for zsh, into a file
/// `_bloom-wasm` of a folder of $fpath; for fish, into ~/.config/fish/completions/bloom-wasm.fish; for PowerShell, at
/// the end of $PROFILE.
#[derive(clap::Args)]
pub struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

/// `tool` is the command line that is completed.
pub fn run(args: CompletionsArgs, mut tool: clap::Command, streams: &mut Streams) -> Result<Answer> {
    let name = tool.get_name().to_owned();
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut tool, name, &mut script);
    streams.print(&script)?;
    Ok(Answer::Yes)
}
