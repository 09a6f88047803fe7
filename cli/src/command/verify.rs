//! `querent verify`

use crate::Outcome;
use crate::argument::{DatabaseFolder, Format};
use crate::terminal::Terminal;
use crate::words::counted;
use anyhow::Result;
use clap::Args;
use querent::Database;
use querent::verify::{Report, VerifyOptions};
use serde_json::json;
use std::io::Write;
use std::path::PathBuf;

/// Compare every structure with the facts, and name each row that is missing, stale or a ghost
///
/// Each finding names the structure, the row, the instance whose fact it violates, and per column
/// what was found and what was expected. Exit codes: 0 clean, 1 findings, 2 failure. With --repair
/// rows are put right from the homes; what remains is named with what to do.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  querent verify shop.db
  querent verify shop.db --repair")]
pub(crate) struct Arguments {
    /// The database: a folder
    #[arg(value_name = "DB", value_parser = DatabaseFolder)]
    pub(crate) database: PathBuf,
    /// Put right what is wrong
    #[arg(long)]
    pub(crate) repair: bool,
    /// Form of the findings: a line each, or one object
    #[arg(long, value_enum, default_value = "text", value_name = "FORMAT")]
    pub(crate) format: Format,
}

pub(crate) fn run(arguments: &Arguments, terminal: &mut Terminal) -> Result<Outcome> {
    let store = querent::store::lmdb::Options {
        read_only: !arguments.repair,
        ..Default::default()
    };
    let database = Database::open_with(&arguments.database, store)?;
    let options = VerifyOptions::default();
    let text = arguments.format == Format::Text;
    let mut broken = None;
    let out = &mut terminal.out;
    let mut print = |finding: &querent::verify::Finding| {
        if text && broken.is_none() {
            broken = writeln!(out, "{finding}").err();
        }
    };
    let (before, after, mended) = if arguments.repair {
        let repaired = database.repair(&options, &mut print)?;
        (
            repaired.before,
            Some(repaired.after),
            repaired.put + repaired.deleted,
        )
    } else {
        (database.verify_each(&options, &mut print)?, None, 0)
    };
    if let Some(error) = broken {
        return Err(error.into());
    }
    let clean = after.as_ref().unwrap_or(&before).is_clean();
    if text {
        writeln!(terminal.out, "{}", summary(&before))?;
        if let Some(after) = after.as_ref().filter(|_| !before.is_clean()) {
            writeln!(
                terminal.out,
                "{} mended, {} left",
                counted(mended as usize, "row"),
                match after.total() {
                    0 => "nothing is".to_owned(),
                    1 => "1 finding is".to_owned(),
                    n => format!("{n} findings are"),
                }
            )?;
            for finding in &after.findings {
                writeln!(terminal.out, "{finding}")?;
            }
        }
    } else {
        let report = json!({ "clean": clean, "found": before, "mended": mended, "left": after });
        writeln!(terminal.out, "{report:#}")?;
    }
    Ok(if clean {
        Outcome::Clean
    } else {
        Outcome::Findings
    })
}

fn summary(report: &Report) -> String {
    let looked = format!(
        "{} of {} compared",
        counted(report.rows as usize, "row"),
        counted(report.structures, "structure")
    );
    if report.is_clean() {
        return format!("{looked}: all is well");
    }
    let kinds: Vec<String> = report
        .counts
        .iter()
        .map(|(kind, n)| format!("{n} {}", kind.word()))
        .collect();
    format!("{looked}: {}", kinds.join(", "))
}
