//! `querent load`

use crate::Outcome;
use crate::argument::{DatabaseFolder, EntityFile, Format};
use crate::progress::Shown;
use crate::terminal::Terminal;
use anyhow::Result;
use clap::Args;
use querent::Database;
use querent::load::{LoadOptions, LoadReport};
use serde_json::json;
use std::io::Write;
use std::path::{Path, PathBuf};

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
    #[arg(value_name = "DB", value_parser = DatabaseFolder)]
    pub(crate) database: PathBuf,
    /// What is loaded, and from where
    #[arg(value_name = "ENTITY=FILE", required = true)]
    pub(crate) files: Vec<EntityFile>,
    /// Write rejected rows to this CSV file: file, line, reason, text; `DB.rejects.csv` by default
    #[arg(long, value_name = "FILE")]
    pub(crate) rejects: Option<PathBuf>,
    /// Load the other rows where some are rejected
    #[arg(long)]
    pub(crate) skip_rejects: bool,
    /// Put rows whose key the database has already in the place of what is there
    #[arg(long)]
    pub(crate) replace: bool,
    /// Memory for sorting, in megabytes; what is beyond goes to disk
    #[arg(long, value_name = "MB", default_value = "256")]
    pub(crate) memory: usize,
    /// Form of the output: in words, or one object
    #[arg(long, value_enum, default_value = "text", value_name = "FORMAT")]
    pub(crate) format: Format,
}

pub(crate) fn run(arguments: &Arguments, terminal: &mut Terminal) -> Result<Outcome> {
    let database = Database::open(&arguments.database)?;
    let sources: Result<Vec<_>, _> = arguments
        .files
        .iter()
        .map(|f| Ok::<_, querent::Error>((database.entity(&f.entity)?, f.file.clone())))
        .collect();
    let rejects = arguments.rejects.clone().unwrap_or_else(|| {
        let mut name = arguments.database.clone().into_os_string();
        name.push(".rejects.csv");
        name.into()
    });
    let options = LoadOptions {
        all_or_nothing: !arguments.skip_rejects,
        replace: arguments.replace,
        memory: arguments.memory << 20,
        rejects: Some(rejects.clone()),
    };
    let mut shown = Shown::new();
    let (_, report) = database.load(&sources?, &options, &mut |progress| shown.load(&progress))?;
    shown.finish();
    for reject in report.rejects.iter().take(20) {
        terminal.remark(&reject.to_string())?;
    }
    match arguments.format {
        Format::Text => print(&report, &rejects, terminal)?,
        Format::Json => {
            let object = object(&report, arguments, &rejects);
            writeln!(terminal.out, "{object:#}")?;
        }
    }
    Ok(if report.rejected == 0 {
        Outcome::Clean
    } else {
        Outcome::Findings
    })
}

fn print(report: &LoadReport, rejects: &Path, terminal: &mut Terminal) -> Result<()> {
    let rate = report.loaded as f64 / report.seconds.max(0.001);
    writeln!(
        terminal.out,
        "{} {} read, {} loaded, {} rejected in {:.1} s ({rate:.0} rows/s)",
        report.read,
        if report.read == 1 { "row" } else { "rows" },
        report.loaded,
        report.rejected,
        report.seconds
    )?;
    if report.rejected > 0 {
        writeln!(terminal.out, "rejects: {}", rejects.display())?;
    }
    if !report.applied {
        writeln!(
            terminal.out,
            "nothing was loaded; mend the rows, or load the others with --skip-rejects"
        )?;
    }
    Ok(())
}

/// The file of rejects is named where there is one.
fn object(report: &LoadReport, arguments: &Arguments, rejects: &Path) -> serde_json::Value {
    let files = report.files.iter().map(|file| {
        json!({
            "file": file.file,
            "entity": file.entity,
            "read": file.read,
            "loaded": file.loaded,
            "rejected": file.rejected,
        })
    });
    let rejects = (report.rejected > 0).then(|| rejects.display().to_string());
    json!({
        "database": arguments.database.display().to_string(),
        "applied": report.applied,
        "read": report.read,
        "loaded": report.loaded,
        "rejected": report.rejected,
        "rejects_file": rejects,
        "files": files.collect::<Vec<_>>(),
        "seconds": report.seconds,
    })
}
