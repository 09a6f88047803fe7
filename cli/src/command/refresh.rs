//! `querent refresh`

use crate::Outcome;
use crate::argument::{DatabaseFolder, Format};
use crate::terminal::Terminal;
use crate::words::counted;
use anyhow::Result;
use clap::Args;
use querent::Database;
use serde_json::json;
use std::io::Write;
use std::path::PathBuf;

/// Remove what has expired
///
/// Questions and changes do this by themselves, so no answer shows what has expired. This is for a
/// database that is seldom used, so that it does not keep on disk what nobody will see again.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  querent refresh shop.db")]
pub(crate) struct Arguments {
    /// The database: a folder
    #[arg(value_name = "DB", value_parser = DatabaseFolder)]
    pub(crate) database: PathBuf,
    /// Form of the output: in words, or one object
    #[arg(long, value_enum, default_value = "text", value_name = "FORMAT")]
    pub(crate) format: Format,
}

pub(crate) fn run(arguments: &Arguments, terminal: &mut Terminal) -> Result<Outcome> {
    let removed = Database::open(&arguments.database)?.refresh()?;
    match arguments.format {
        Format::Text => writeln!(terminal.out, "{} removed", counted(removed, "instance"))?,
        Format::Json => writeln!(terminal.out, "{:#}", json!({ "removed": removed }))?,
    }
    Ok(Outcome::Clean)
}
