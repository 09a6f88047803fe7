//! `querent ask`

use crate::Outcome;
use crate::argument::Pair;
use crate::output::RowFormat;
use crate::terminal::Terminal;
use anyhow::{Result, bail};
use clap::Args;
use std::path::PathBuf;

/// Ask a question
///
/// Prints rows. With --stdin each line is one set of parameters, answered in turn.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  querent ask shop.db orders_of user=7
  querent ask shop.db orders_of user=7 --format jsonl | head -3
  querent ask shop.db orders_of user=7 --profile")]
pub(crate) struct Arguments {
    /// The database: a folder
    #[arg(value_name = "DB")]
    pub(crate) database: PathBuf,
    /// The question
    #[arg(value_name = "QUESTION")]
    pub(crate) question: String,
    /// Values by name; collections and records are JSON
    #[arg(value_name = "KEY=VALUE")]
    pub(crate) values: Vec<Pair>,
    /// Read JSON objects from standard input, one a line, instead of KEY=VALUE
    #[arg(long, conflicts_with = "values")]
    pub(crate) stdin: bool,
    /// Form of the rows
    #[arg(long, value_enum, default_value = "table", value_name = "FORMAT")]
    pub(crate) format: RowFormat,
    /// Show the plan with the estimated and the actual number of reads of each step
    #[arg(long)]
    pub(crate) profile: bool,
}

pub(crate) fn run(_arguments: &Arguments, _terminal: &mut Terminal) -> Result<Outcome> {
    bail!("`querent ask` is not connected to the runtime yet")
}
