//! `querent change`

use crate::Outcome;
use crate::argument::Pair;
use crate::terminal::Terminal;
use anyhow::{Result, bail};
use clap::Args;
use std::path::PathBuf;

/// Apply a change
///
/// With --stdin each line is one set of parameters and one change.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  querent change shop.db rename user=7 name=Anna
  querent change shop.db submit --stdin < posts.jsonl")]
pub(crate) struct Arguments {
    /// The database: a folder
    #[arg(value_name = "DB")]
    pub(crate) database: PathBuf,
    /// The change
    #[arg(value_name = "CHANGE")]
    pub(crate) change: String,
    /// Values by name; collections and records are JSON
    #[arg(value_name = "KEY=VALUE")]
    pub(crate) values: Vec<Pair>,
    /// Read JSON objects from standard input, one a line, instead of KEY=VALUE
    #[arg(long, conflicts_with = "values")]
    pub(crate) stdin: bool,
}

pub(crate) fn run(_arguments: &Arguments, _terminal: &mut Terminal) -> Result<Outcome> {
    bail!("`querent change` is not connected to the runtime yet")
}
