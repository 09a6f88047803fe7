//! `querent put`

use crate::Outcome;
use crate::argument::{DatabaseFolder, Format, Pair};
use crate::lines::{self, Line};
use crate::output;
use crate::terminal::Terminal;
use crate::words::{change, counted};
use anyhow::{Context, Result, bail};
use clap::Args;
use querent::{Database, Error, Receipt};
use querent_compiler::codec::{Named, RecordLayout, entity_row_from_json};
use querent_compiler::model::EntityId;
use querent_compiler::value::Value;
use std::io::Write;
use std::path::PathBuf;

/// Insert instances or links, or replace what is there
///
/// A relationship is named by its field, with the other side's key as value (an object where that
/// key has several parts). A number of a sequence that is left out is assigned, and told. Lines are
/// put in batches of a thousand: all of a batch, or nothing of it and nothing of what follows.
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
    /// Form of the receipt: in words, or one object
    #[arg(long, value_enum, default_value = "text", value_name = "FORMAT")]
    pub(crate) format: Format,
}

/// Lines that are put as one transaction.
const BATCH: usize = 1000;
/// More rejected lines than this are counted, not shown.
const SHOWN: usize = 20;

/// What was put so far, and what was not.
#[derive(Default)]
struct Done {
    receipt: Receipt,
    /// Lines that cannot be read.
    rejected: usize,
    /// Why a batch was refused.
    refused: Option<String>,
}

impl Done {
    fn outcome(&self) -> Outcome {
        if self.rejected > 0 || self.refused.is_some() {
            Outcome::Findings
        } else {
            Outcome::Clean
        }
    }
}

pub(crate) fn run(arguments: &Arguments, terminal: &mut Terminal) -> Result<Outcome> {
    if arguments.values.is_empty() && !arguments.stdin {
        bail!("nothing to put: give KEY=VALUE arguments, or --stdin with one JSON object a line");
    }
    let database = Database::open(&arguments.database)?;
    let entity = database.entity(&arguments.entity)?;
    let mut done = Done::default();
    if arguments.stdin {
        put_lines(&database, entity, &mut done, terminal)?;
    } else {
        put_pairs(&database, entity, &arguments.values, &mut done, terminal)?;
    }
    let outcome = done.outcome();
    let (model, colour) = (database.model(), terminal.colour);
    match arguments.format {
        Format::Text if outcome == Outcome::Clean || done.receipt != Receipt::default() => {
            change::print_receipt(&done.receipt, model, colour, &mut terminal.out)?;
        }
        Format::Text => {}
        Format::Json => {
            let mut object = output::receipt(model, &done.receipt);
            object.insert("rejected".into(), done.rejected.into());
            object.insert("refused".into(), done.refused.into());
            writeln!(terminal.out, "{:#}", serde_json::Value::Object(object))?;
        }
    }
    Ok(outcome)
}

fn put_pairs(
    database: &Database,
    entity: EntityId,
    pairs: &[Pair],
    done: &mut Done,
    terminal: &mut Terminal,
) -> Result<()> {
    let keys: Vec<&str> = pairs.iter().map(|p| p.key.as_str()).collect();
    let cells: Vec<&str> = pairs.iter().map(|p| p.value.as_str()).collect();
    let model = database.model();
    let row = RecordLayout::new(model, entity, Named::Argument, &keys)
        .and_then(|layout| layout.row(model, &cells))?;
    put_batch(database, entity, vec![row], "refused", done, terminal)
}

/// Puts batch by batch, up to the first that is not put.
fn put_lines(
    database: &Database,
    entity: EntityId,
    done: &mut Done,
    terminal: &mut Terminal,
) -> Result<()> {
    let mut lines = lines::stdin();
    while done.outcome() == Outcome::Clean {
        let batch = lines.by_ref().take(BATCH).collect::<Result<Vec<Line>>>()?;
        let (Some(first), Some(last)) = (batch.first(), batch.last()) else {
            break;
        };
        let place = if first.number == last.number {
            format!("line {}", first.number)
        } else {
            format!("lines {} to {}", first.number, last.number)
        };
        let rows = read_batch(database, entity, &batch, &place, done, terminal)?;
        if done.outcome() == Outcome::Clean {
            put_batch(database, entity, rows, &place, done, terminal)?;
        }
    }
    Ok(())
}

/// The rows of a batch. All lines that are rejected are counted and listed.
fn read_batch(
    database: &Database,
    entity: EntityId,
    batch: &[Line],
    place: &str,
    done: &mut Done,
    terminal: &mut Terminal,
) -> Result<Vec<Vec<Value>>> {
    let mut rows = Vec::with_capacity(batch.len());
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
        done.rejected += 1;
        if done.rejected <= SHOWN {
            terminal.remark(&format!("line {}: {reason}", line.number))?;
        }
    }
    if done.rejected > SHOWN {
        let more = counted(done.rejected - SHOWN, "line");
        terminal.remark(&format!("and {more} more"))?;
    }
    if done.rejected > 0 {
        terminal.remark(&format!(
            "{} rejected; nothing of {place} and what follows was put",
            counted(done.rejected, "line")
        ))?;
    }
    Ok(rows)
}

fn put_batch(
    database: &Database,
    entity: EntityId,
    rows: Vec<Vec<Value>>,
    place: &str,
    done: &mut Done,
    terminal: &mut Terminal,
) -> Result<()> {
    match database.put(entity, rows) {
        Ok(receipt) => {
            change::add(&mut done.receipt, receipt);
            Ok(())
        }
        Err(Error::Change(querent::ChangeFailure::Refused(refusal))) => {
            terminal.remark(&format!("{place}: {refusal}"))?;
            if place.starts_with("line") {
                terminal.remark(&format!("nothing of {place} and what follows was put"))?;
            }
            done.refused = Some(refusal.to_string());
            Ok(())
        }
        Err(error) if place.starts_with("line") => {
            Err(error).context(format!("stopped at {place}; what is before was put"))
        }
        Err(error) => Err(error.into()),
    }
}
