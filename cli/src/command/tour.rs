//! `querent tour`

use crate::Outcome;
use crate::terminal::Terminal;
use anyhow::{Result, bail};
use clap::Args;
use std::path::PathBuf;

/// A minute's guided run: design, create, load, ask, verify, explain
///
/// Works in a folder of its own, which it removes at the end unless --keep names one.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  querent tour
  querent tour --keep reddit.db")]
pub(crate) struct Arguments {
    /// Keep the database in this folder
    #[arg(long, value_name = "DB")]
    pub(crate) keep: Option<PathBuf>,
}

pub(crate) fn run(_arguments: &Arguments, _terminal: &mut Terminal) -> Result<Outcome> {
    bail!("`querent tour` is not connected to the runtime yet")
}
