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
/// structure. With --stdin each line is one set of parameters and one change; a refused one leaves
/// the others as they are.
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
    let mut total = Receipt::default();
    let (mut applied, mut refused) = (0, 0);
    for line in lines::stdin() {
        let line = line?;
        let place = || format!("line {}", line.number);
        let params = line.json.with_context(place)?;
        match apply(&database, &arguments.change, params.into()).with_context(place)? {
            Ok(receipt) => {
                applied += 1;
                if arguments.format == Format::Json {
                    print(&receipt, &database, arguments, terminal)?;
                }
                words::change::add(&mut total, receipt);
            }
            Err(refusal) => {
                refused += 1;
                terminal.remark(&format!("{}: refused: {refusal}", place()))?;
            }
        }
    }
    if arguments.format == Format::Text {
        write!(
            terminal.out,
            "{}, {refused} refused: ",
            counted(applied, "change")
        )?;
        print(&total, &database, arguments, terminal)?;
    }
    Ok(if refused > 0 {
        Outcome::Findings
    } else {
        Outcome::Clean
    })
}

/// Makes one change; a refusal is an answer, not a failure.
fn apply(database: &Database, change: &str, params: Params) -> Result<Result<Receipt, String>> {
    match database.change(change, params) {
        Ok(receipt) => Ok(Ok(receipt)),
        Err(Error::Change(ChangeFailure::Refused(refusal))) => Ok(Err(refusal.to_string())),
        Err(error) => Err(error.into()),
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
