//! `querent completions`

use super::CommandLine;
use crate::Outcome;
use crate::terminal::Terminal;
use anyhow::Result;
use clap::{Args, CommandFactory};
use clap_complete::Shell;
use std::io::Write;

/// Print a completion script for a shell
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  querent completions bash > ~/.local/share/bash-completion/completions/querent
  querent completions zsh > ~/.zfunc/_querent
  querent completions fish > ~/.config/fish/completions/querent.fish")]
pub(crate) struct Arguments {
    /// Shell
    shell: Shell,
}

pub(crate) fn run(arguments: &Arguments, terminal: &mut Terminal) -> Result<Outcome> {
    let mut script = Vec::new();
    clap_complete::generate(
        arguments.shell,
        &mut CommandLine::command(),
        "querent",
        &mut script,
    );
    // Into a buffer first: the generator panics where a pipe breaks.
    terminal.out.write_all(&script)?;
    Ok(Outcome::Clean)
}
