//! `querent verify`

use crate::Outcome;
use crate::terminal::Terminal;
use anyhow::{Result, bail};
use clap::Args;
use std::path::PathBuf;

/// Compare every structure with the facts, and name each row that is missing, stale or a ghost
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  querent verify shop.db
  querent verify shop.db --repair")]
pub(crate) struct Arguments {
    /// The database: a folder
    #[arg(value_name = "DB")]
    pub(crate) database: PathBuf,
    /// Put right what is wrong
    #[arg(long)]
    pub(crate) repair: bool,
}

pub(crate) fn run(_arguments: &Arguments, _terminal: &mut Terminal) -> Result<Outcome> {
    bail!("`querent verify` is not connected to the runtime yet")
}
