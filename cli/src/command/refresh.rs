//! `querent refresh`

use crate::Outcome;
use crate::argument::DatabaseFolder;
use crate::terminal::Terminal;
use crate::words::counted;
use anyhow::Result;
use clap::Args;
use querent::Database;
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
}

pub(crate) fn run(arguments: &Arguments, terminal: &mut Terminal) -> Result<Outcome> {
    let removed = Database::open(&arguments.database)?.refresh()?;
    writeln!(terminal.out, "{} removed", counted(removed, "instance"))?;
    Ok(Outcome::Clean)
}
