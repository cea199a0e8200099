//! The command line tool: see `cli/`.

use std::process::ExitCode;

fn main() -> ExitCode {
    bloom_wasm_cli::main()
}
