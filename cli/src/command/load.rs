//! `querent load`

use crate::Outcome;
use crate::argument::{DatabaseFolder, EntityFile};
use crate::terminal::Terminal;
use crate::words::number;
use anyhow::Result;
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use querent::Database;
use querent::load::{LoadOptions, Progress};
use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::time::Instant;

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
    let (_, report) = database.load(&sources?, &options, &mut |progress| shown.show(&progress))?;
    shown.finish();
    for reject in report.rejects.iter().take(20) {
        terminal.remark(&reject.to_string())?;
    }
    let rate = report.loaded as f64 / report.seconds.max(0.001);
    writeln!(
        terminal.out,
        "{} rows read, {} loaded, {} rejected in {:.1} s ({rate:.0} rows/s)",
        report.read, report.loaded, report.rejected, report.seconds
    )?;
    if report.rejected == 0 {
        return Ok(Outcome::Clean);
    }
    writeln!(terminal.out, "rejects: {}", rejects.display())?;
    if !report.applied {
        writeln!(
            terminal.out,
            "nothing was loaded; mend the rows, or load the others with --skip-rejects"
        )?;
    }
    Ok(Outcome::Findings)
}

/// A bar on a terminal, plain lines elsewhere.
struct Shown {
    bar: Option<ProgressBar>,
    start: Instant,
    last: Option<Instant>,
}

impl Shown {
    fn new() -> Shown {
        Shown {
            bar: std::io::stderr().is_terminal().then(ProgressBar::no_length),
            start: Instant::now(),
            last: None,
        }
    }

    fn show(&mut self, progress: &Progress) {
        match &self.bar {
            Some(bar) => draw(bar, progress, self.start),
            None => self.print(progress),
        }
    }

    /// A log is read later: a line every few seconds says enough.
    fn print(&mut self, progress: &Progress) {
        let pause = std::time::Duration::from_secs(5);
        if self.last.is_some_and(|last| last.elapsed() < pause) {
            return;
        }
        let text = match progress {
            Progress::Reading {
                file,
                rows,
                bytes,
                of,
            } => format!(
                "reading {file}: {rows} rows, {} of {}",
                number::bytes(*bytes as f64),
                number::bytes(*of as f64)
            ),
            Progress::Checking => "checking references and unique values".into(),
            Progress::Writing {
                structure,
                number,
                of,
            } => format!("writing {structure} ({number} of {of})"),
            _ => return,
        };
        self.last = Some(Instant::now());
        // Whether progress can be shown does not matter to the load.
        let _ = writeln!(std::io::stderr(), "{text}");
    }

    fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn draw(bar: &ProgressBar, progress: &Progress, start: Instant) {
    let (length, position, template, message) = match progress {
        Progress::Reading {
            file,
            rows,
            bytes,
            of,
        } => {
            let rate = *rows as f64 / start.elapsed().as_secs_f64().max(0.001);
            let message = format!("{rows} rows, {rate:.0} rows/s, {file}");
            (*of, *bytes, READING, message)
        }
        Progress::Checking => {
            let message = "checking references and unique values".to_owned();
            (1, 0, STEPS, message)
        }
        Progress::Writing {
            structure,
            number,
            of,
        } => (
            *of as u64,
            *number as u64 - 1,
            STEPS,
            format!("writing {structure}"),
        ),
        _ => return,
    };
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar.set_length(length);
    bar.set_position(position);
    bar.set_message(message);
}

/// Bytes of files, then rows.
const READING: &str = "reading {bar:20} {bytes} of {total_bytes}, {msg}";
/// Structures.
const STEPS: &str = "{msg} {bar:20} {pos} of {len}";
