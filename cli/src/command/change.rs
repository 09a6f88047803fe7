//! `querent change`

use crate::Outcome;
use crate::argument::{DatabaseFolder, Format, Pair};
use crate::lines;
use crate::output;
use crate::terminal::Terminal;
use crate::words::{self, counted};
use anyhow::{Context, Result};
use clap::Args;
use querent::{ChangeFailure, Database, Error, Params, Receipt};
use std::io::Write;
use std::path::PathBuf;

/// Apply a change
///
/// Prints what it did: instances inserted, updated and deleted, and the rows written to each
/// structure. With --stdin each line is one set of parameters and one change; one that is refused, or
/// that cannot be read, leaves the others as they are.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  querent change shop.db rename user=7 name=Anna
  querent change shop.db submit --stdin < posts.jsonl")]
pub(crate) struct Arguments {
    /// The database: a folder
    #[arg(value_name = "DB", value_parser = DatabaseFolder)]
    pub(crate) database: PathBuf,
    /// The change
    #[arg(value_name = "CHANGE")]
    pub(crate) change: String,
    /// Values by name; collections and records are JSON
    #[arg(value_name = "KEY=VALUE")]
    pub(crate) values: Vec<Pair>,
    /// Read JSON objects from standard input, one a line, instead of KEY=VALUE
    #[arg(long, conflicts_with = "values")]
    pub(crate) stdin: bool,
    /// Form of the receipt: in words, one for all lines of standard input; or an object for each
    /// change
    #[arg(long, value_enum, default_value = "text", value_name = "FORMAT")]
    pub(crate) format: Format,
}

pub(crate) fn run(arguments: &Arguments, terminal: &mut Terminal) -> Result<Outcome> {
    let database = Database::open(&arguments.database)?;
    if !arguments.stdin {
        let pairs: Vec<(String, String)> = arguments
            .values
            .iter()
            .map(|p| (p.key.clone(), p.value.clone()))
            .collect();
        return match apply(&database, &arguments.change, pairs.into())? {
            Ok(receipt) => {
                print(&receipt, &database, arguments, terminal)?;
                Ok(Outcome::Clean)
            }
            Err(refusal) => {
                terminal.remark(&format!("refused: {refusal}"))?;
                Ok(Outcome::Findings)
            }
        };
    }
    let mut done = Done::default();
    let told = apply_lines(&database, arguments, &mut done, terminal);
    if arguments.format == Format::Text {
        let Done {
            applied,
            refused,
            rejected,
            ..
        } = done;
        let applied = counted(applied, "change");
        write!(terminal.out, "{applied}, {refused} refused")?;
        if rejected > 0 {
            write!(terminal.out, ", {rejected} rejected")?;
        }
        write!(terminal.out, ": ")?;
        print(&done.receipt, &database, arguments, terminal)?;
    }
    told?;
    Ok(if done.refused + done.rejected > 0 {
        Outcome::Findings
    } else {
        Outcome::Clean
    })
}

/// What the lines of standard input have done so far.
#[derive(Default)]
struct Done {
    receipt: Receipt,
    applied: usize,
    /// Against the rules of the model.
    refused: usize,
    /// Not to be read as the parameters of the change.
    rejected: usize,
}

/// A change for each line. Lines that are refused or rejected are told and passed over; what else
/// goes wrong ends it.
fn apply_lines(
    database: &Database,
    arguments: &Arguments,
    done: &mut Done,
    terminal: &mut Terminal,
) -> Result<()> {
    for line in lines::stdin() {
        let line = line?;
        let place = format!("line {}", line.number);
        let applied = match line.json {
            Ok(params) => apply(database, &arguments.change, params.into()),
            Err(error) => {
                done.rejected += 1;
                terminal.remark(&format!("{place}: rejected: {error}"))?;
                continue;
            }
        };
        match applied {
            Ok(Ok(receipt)) => {
                done.applied += 1;
                if arguments.format == Format::Json {
                    print(&receipt, database, arguments, terminal)?;
                }
                words::change::add(&mut done.receipt, receipt);
            }
            Ok(Err(refusal)) => {
                done.refused += 1;
                terminal.remark(&format!("{place}: refused: {refusal}"))?;
            }
            Err(Error::Params(error)) => {
                done.rejected += 1;
                terminal.remark(&format!("{place}: rejected: {error}"))?;
            }
            Err(error) => return Err(error).context(place),
        }
    }
    Ok(())
}

/// Makes one change; a refusal is an answer, not a failure.
fn apply(
    database: &Database,
    change: &str,
    params: Params,
) -> Result<Result<Receipt, String>, Error> {
    match database.change(change, params) {
        Ok(receipt) => Ok(Ok(receipt)),
        Err(Error::Change(ChangeFailure::Refused(refusal))) => Ok(Err(refusal.to_string())),
        Err(error) => Err(error),
    }
}

fn print(
    receipt: &Receipt,
    database: &Database,
    arguments: &Arguments,
    terminal: &mut Terminal,
) -> Result<()> {
    let model = database.model();
    match arguments.format {
        Format::Text => {
            words::change::print_receipt(receipt, model, terminal.colour, &mut terminal.out)?;
        }
        Format::Json => {
            let object = output::receipt(model, receipt);
            writeln!(terminal.out, "{}", serde_json::Value::Object(object))?;
        }
    }
    Ok(())
}
