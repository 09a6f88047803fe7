//! `querent put`

use crate::Outcome;
use crate::argument::Pair;
use crate::terminal::Terminal;
use anyhow::{Result, bail};
use clap::Args;
use std::path::PathBuf;

/// Insert instances or links, or replace what is there
///
/// A relationship is named by its field, with the other side's key as value (an object where that
/// key has several parts).
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  querent put shop.db User id=7 name=Ann
  querent put shop.db User --stdin < users.jsonl
  echo '{\"from\": 7, \"to\": 9}' | querent put social.db User.follows --stdin")]
pub(crate) struct Arguments {
    /// The database: a folder
    #[arg(value_name = "DB")]
    pub(crate) database: PathBuf,
    /// An entity, or a relationship (`User.follows`)
    #[arg(value_name = "ENTITY")]
    pub(crate) entity: String,
    /// Values by name; collections and records are JSON
    #[arg(value_name = "KEY=VALUE")]
    pub(crate) values: Vec<Pair>,
    /// Read JSON objects from standard input, one a line, instead of KEY=VALUE
    #[arg(long, conflicts_with = "values")]
    pub(crate) stdin: bool,
}

pub(crate) fn run(_arguments: &Arguments, _terminal: &mut Terminal) -> Result<Outcome> {
    bail!("`querent put` is not connected to the runtime yet")
}
