//! `querent load`

use crate::Outcome;
use crate::argument::EntityFile;
use crate::terminal::Terminal;
use anyhow::{Result, bail};
use clap::Args;
use std::path::PathBuf;

/// Load entities and links from CSV and JSONL files, all of it or nothing
///
/// A CSV file has a header of field names; `reference.part` and `record.field` are columns too.
/// The delimiter is one of comma, bar, semicolon and tab, whichever the header uses. A link
/// (`User.follows`) has the fields `from`, `to` and its attributes. Rows that cannot be read are
/// listed with file, line and reason, and nothing is loaded, unless --skip-rejects is given.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  querent load shop.db User=users.csv Order=orders.jsonl
  querent load social.db User=users.csv User.follows=follows.csv --rejects rejects.csv")]
pub(crate) struct Arguments {
    /// The database: a folder
    #[arg(value_name = "DB")]
    pub(crate) database: PathBuf,
    /// What is loaded, and from where
    #[arg(value_name = "ENTITY=FILE", required = true)]
    pub(crate) files: Vec<EntityFile>,
    /// Write rejected rows to this CSV file: file, line, reason, text
    #[arg(long, value_name = "FILE")]
    pub(crate) rejects: Option<PathBuf>,
    /// Load the other rows where some are rejected
    #[arg(long)]
    pub(crate) skip_rejects: bool,
    /// Memory for sorting, in megabytes; what is beyond goes to disk
    #[arg(long, value_name = "MB", default_value = "256")]
    pub(crate) memory: usize,
}

pub(crate) fn run(_arguments: &Arguments, _terminal: &mut Terminal) -> Result<Outcome> {
    bail!("`querent load` is not connected to the runtime yet")
}
