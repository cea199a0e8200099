//! `completions`: scripts for shells.

use anyhow::Result;
use clap_complete::Shell;

use crate::streams::{Answer, Streams};

/// Print a script with which a shell completes the tool's commands and options
///
/// For bash, `bloom-wasm completions bash > ~/.local/share/bash-completion/completions/bloom-wasm`; for zsh, write it
/// to a file `_bloom-wasm` in a folder of $fpath; for fish, to ~/.config/fish/completions/bloom-wasm.fish; for
/// PowerShell, append it to $PROFILE.
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
