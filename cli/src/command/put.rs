//! `querent put`

use crate::Outcome;
use crate::argument::{DatabaseFolder, Pair};
use crate::lines::{self, Line};
use crate::terminal::Terminal;
use crate::words::{change, counted};
use anyhow::{Context, Result, bail};
use clap::Args;
use querent::{Database, Error, Receipt};
use querent_compiler::codec::{Named, RecordLayout, entity_row_from_json};
use querent_compiler::model::EntityId;
use querent_compiler::value::Value;
use std::path::PathBuf;

/// Insert instances or links, or replace what is there
///
/// A relationship is named by its field, with the other side's key as value (an object where that
/// key has several parts). Lines are put in batches of a thousand: all of a batch, or nothing of it
/// and nothing of what follows.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  querent put shop.db User id=7 name=Ann
  querent put shop.db User --stdin < users.jsonl
  echo '{\"from\": 7, \"to\": 9}' | querent put social.db User.follows --stdin")]
pub(crate) struct Arguments {
    /// The database: a folder
    #[arg(value_name = "DB", value_parser = DatabaseFolder)]
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

/// Lines that are put as one transaction.
const BATCH: usize = 1000;
/// More rejected lines than this are counted, not shown.
const SHOWN: usize = 20;

pub(crate) fn run(arguments: &Arguments, terminal: &mut Terminal) -> Result<Outcome> {
    if arguments.values.is_empty() && !arguments.stdin {
        bail!("nothing to put: give KEY=VALUE arguments, or --stdin with one JSON object a line");
    }
    let database = Database::open(&arguments.database)?;
    let entity = database.entity(&arguments.entity)?;
    let mut total = Receipt::default();
    let outcome = if arguments.stdin {
        put_lines(&database, entity, &mut total, terminal)?
    } else {
        put_pairs(&database, entity, &arguments.values, &mut total, terminal)?
    };
    if outcome == Outcome::Clean || total != Receipt::default() {
        change::print_receipt(&total, terminal.colour, &mut terminal.out)?;
    }
    Ok(outcome)
}

fn put_pairs(
    database: &Database,
    entity: EntityId,
    pairs: &[Pair],
    total: &mut Receipt,
    terminal: &mut Terminal,
) -> Result<Outcome> {
    let keys: Vec<&str> = pairs.iter().map(|p| p.key.as_str()).collect();
    let cells: Vec<&str> = pairs.iter().map(|p| p.value.as_str()).collect();
    let model = database.model();
    let row = RecordLayout::new(model, entity, Named::Argument, &keys)
        .and_then(|layout| layout.row(model, &cells));
    match row {
        Ok(row) => put_batch(database, entity, vec![row], "refused", total, terminal),
        Err(error) => {
            terminal.remark(&format!("rejected: {error}"))?;
            Ok(Outcome::Findings)
        }
    }
}

fn put_lines(
    database: &Database,
    entity: EntityId,
    total: &mut Receipt,
    terminal: &mut Terminal,
) -> Result<Outcome> {
    let mut lines = lines::stdin();
    loop {
        let batch = lines.by_ref().take(BATCH).collect::<Result<Vec<Line>>>()?;
        let (Some(first), Some(last)) = (batch.first(), batch.last()) else {
            return Ok(Outcome::Clean);
        };
        let place = if first.number == last.number {
            format!("line {}", first.number)
        } else {
            format!("lines {} to {}", first.number, last.number)
        };
        let Some(rows) = read_batch(database, entity, &batch, &place, terminal)? else {
            return Ok(Outcome::Findings);
        };
        if put_batch(database, entity, rows, &place, total, terminal)? == Outcome::Findings {
            return Ok(Outcome::Findings);
        }
    }
}

/// The rows of a batch. None where a line is rejected: all that are, are listed.
fn read_batch(
    database: &Database,
    entity: EntityId,
    batch: &[Line],
    place: &str,
    terminal: &mut Terminal,
) -> Result<Option<Vec<Vec<Value>>>> {
    let mut rows = Vec::with_capacity(batch.len());
    let mut rejected = 0;
    for line in batch {
        let reason = match &line.json {
            Err(error) => error.to_string(),
            Ok(json) => match entity_row_from_json(database.model(), entity, json) {
                Ok(row) => {
                    rows.push(row);
                    continue;
                }
                Err(error) => error.to_string(),
            },
        };
        rejected += 1;
        if rejected <= SHOWN {
            terminal.remark(&format!("line {}: {reason}", line.number))?;
        }
    }
    if rejected == 0 {
        return Ok(Some(rows));
    }
    if rejected > SHOWN {
        terminal.remark(&format!("and {} more", counted(rejected - SHOWN, "line")))?;
    }
    terminal.remark(&format!(
        "{} rejected; nothing of {place} and what follows was put",
        counted(rejected, "line")
    ))?;
    Ok(None)
}

fn put_batch(
    database: &Database,
    entity: EntityId,
    rows: Vec<Vec<Value>>,
    place: &str,
    total: &mut Receipt,
    terminal: &mut Terminal,
) -> Result<Outcome> {
    match database.put(entity, rows) {
        Ok(receipt) => {
            change::add(total, receipt);
            Ok(Outcome::Clean)
        }
        Err(Error::Change(querent::ChangeFailure::Refused(refusal))) => {
            terminal.remark(&format!("{place}: {refusal}"))?;
            if place.starts_with("line") {
                terminal.remark(&format!("nothing of {place} and what follows was put"))?;
            }
            Ok(Outcome::Findings)
        }
        Err(error) if place.starts_with("line") => {
            Err(error).context(format!("stopped at {place}; what is before was put"))
        }
        Err(error) => Err(error.into()),
    }
}
