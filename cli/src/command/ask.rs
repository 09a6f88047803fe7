//! `querent ask`

use crate::Outcome;
use crate::argument::{DatabaseFolder, Pair};
use crate::lines;
use crate::output::{Column, RowFormat, print_rows};
use crate::terminal::Terminal;
use crate::words::plan::{Teller, print_profile};
use crate::words::{heading, number};
use anyhow::{Context, Result};
use clap::Args;
use querent::operator::{Actual, AskError};
use querent::store::lmdb::{self, Lmdb};
use querent::{Database, Error, Params, Snapshot};
use querent_compiler::design::Plan;
use querent_compiler::model::{Expr, Page, Question};
use querent_compiler::value::Value;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Ask a question
///
/// Prints rows. With --stdin each line is one set of parameters, answered in turn; one that cannot be
/// read is told and passed over. Where the question has pages and there may be a next one, `next:`
/// says the parameter that leads to it.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  querent ask shop.db orders_of user=7
  querent ask shop.db orders_of user=7 --format jsonl | head -3
  querent ask shop.db orders_of user=7 --profile")]
pub(crate) struct Arguments {
    /// The database: a folder
    #[arg(value_name = "DB", value_parser = DatabaseFolder)]
    pub(crate) database: PathBuf,
    /// The question
    #[arg(value_name = "QUESTION")]
    pub(crate) question: String,
    /// Values by name; collections and records are JSON
    #[arg(value_name = "KEY=VALUE")]
    pub(crate) values: Vec<Pair>,
    /// Read JSON objects from standard input, one a line, instead of KEY=VALUE
    #[arg(long, conflicts_with = "values")]
    pub(crate) stdin: bool,
    /// Form of the rows
    #[arg(long, value_enum, default_value = "table", value_name = "FORMAT")]
    pub(crate) format: RowFormat,
    /// Show the plan with the estimated and the actual number of reads of each step
    #[arg(long)]
    pub(crate) profile: bool,
}

pub(crate) fn run(arguments: &Arguments, terminal: &mut Terminal) -> Result<Outcome> {
    let database = opened(&arguments.database, terminal)?;
    let snapshot = database.snapshot()?;
    let asker = Asker {
        database: &database,
        snapshot: &snapshot,
        arguments,
    };
    if arguments.stdin {
        return asker.answer_lines(terminal);
    }
    let pairs = arguments
        .values
        .iter()
        .map(|p| (p.key.clone(), p.value.clone()));
    asker.answer(pairs.collect::<Vec<_>>().into(), terminal)??;
    Ok(Outcome::Clean)
}

/// Opens for reading. Where facts have expired that nobody has removed yet this command does; where
/// another process writes, it says so.
fn opened(path: &Path, terminal: &mut Terminal) -> Result<Database> {
    let reading = || {
        let options = lmdb::Options {
            read_only: true,
            ..lmdb::Options::default()
        };
        Database::open_with(path, options)
    };
    let database = reading()?;
    if database.snapshot()?.overdue().is_none() {
        return Ok(database);
    }
    drop(database);
    match Database::open(path) {
        Ok(database) => {
            database.refresh()?;
            Ok(database)
        }
        Err(error) => {
            terminal.remark(&format!(
                "facts that have expired may be shown, for they cannot be removed: {error}"
            ))?;
            Ok(reading()?)
        }
    }
}

struct Asker<'a> {
    database: &'a Database,
    snapshot: &'a Snapshot<Lmdb>,
    arguments: &'a Arguments,
}

impl Asker<'_> {
    /// An answer for each line. Lines that are no parameters of the question are told and passed
    /// over; what else goes wrong ends it.
    fn answer_lines(&self, terminal: &mut Terminal) -> Result<Outcome> {
        let mut outcome = Outcome::Clean;
        for line in lines::stdin() {
            let line = line?;
            let place = format!("line {}", line.number);
            let rejected = match line.json {
                Ok(params) => {
                    let answered = self.answer(params.into(), terminal);
                    let answered = answered.with_context(|| place.clone())?;
                    answered.err().map(|error| error.to_string())
                }
                Err(error) => Some(error.to_string()),
            };
            if let Some(why) = rejected {
                terminal.remark(&format!("{place}: rejected: {why}"))?;
                outcome = Outcome::Findings;
            }
        }
        Ok(outcome)
    }

    /// Prints one answer. Parameters that are none of the question's are an answer, too, and not a
    /// failure: there may be others.
    fn answer(
        &self,
        params: Params,
        terminal: &mut Terminal,
    ) -> Result<std::result::Result<(), Error>> {
        let start = Instant::now();
        let asked = match self.snapshot.ask(&self.arguments.question, params) {
            Ok(asked) => asked,
            Err(error @ Error::Params(_)) => return Ok(Err(error)),
            Err(error) => return Err(error.into()),
        };
        let model = self.database.model();
        let plan = asked.plan();
        let columns: Vec<Column<'_>> = plan
            .output
            .iter()
            .map(|o| Column {
                name: &o.name,
                ty: &o.ty,
            })
            .collect();
        let mut answer = match asked.rows() {
            Ok(answer) => answer.counted(),
            // What only a plan can tell of a parameter.
            Err(error @ Error::Ask(AskError::Cursor { .. } | AskError::Limit(_))) => {
                return Ok(Err(error));
            }
            Err(error) => return Err(error.into()),
        };
        let mut ends: [Option<String>; 2] = [None, None];
        let mut count = 0;
        let paged = self.question().is_some_and(|q| q.query.page.is_some());
        let mut kept: Vec<Vec<Value>> = Vec::new();
        while let Some(row) = answer.next_row()? {
            count += 1;
            if paged {
                let cursor = row.cursor()?;
                let [first, last] = &mut ends;
                first.get_or_insert_with(|| cursor.clone());
                *last = Some(cursor);
            }
            kept.push(row.to_values()?);
            // Lines are printed as they are read, whatever the length of the answer.
            if self.arguments.format == RowFormat::Jsonl {
                print_rows(model, &columns, &kept, RowFormat::Jsonl, terminal)?;
                kept.clear();
            }
        }
        let took = start.elapsed();
        let profile = answer.profile();
        if self.arguments.format != RowFormat::Jsonl {
            print_rows(model, &columns, &kept, self.arguments.format, terminal)?;
        }
        if let Some(next) = self.next(count, &ends) {
            terminal.remark(&format!("next: {next}"))?;
        }
        if self.arguments.profile {
            self.profile(plan, &profile, took, terminal)?;
        }
        Ok(Ok(()))
    }

    fn question(&self) -> Option<&Question> {
        self.database
            .model()
            .questions
            .iter()
            .find(|q| q.name == self.arguments.question)
    }

    /// The parameter that leads to the next page, where there may be one.
    fn next(&self, rows: usize, ends: &[Option<String>; 2]) -> Option<String> {
        let question = self.question()?;
        if let Some(Expr::Const(Value::Int(limit))) = &question.query.limit
            && (rows as i64) < *limit
        {
            return None;
        }
        let [first, last] = ends;
        let (param, cursor) = match question.query.page.as_ref()? {
            Page::After(p) => (p, last.as_ref()?),
            Page::Before(p) => (p, first.as_ref()?),
        };
        Some(format!(
            "{}={cursor}",
            question.params.get(param.index())?.name
        ))
    }

    /// Prints what each step did: below a table, else beside the rows.
    fn profile(
        &self,
        plan: &Plan,
        profile: &[Actual],
        took: Duration,
        terminal: &mut Terminal,
    ) -> Result<()> {
        let design = &self.database.schema().design;
        let params = self
            .question()
            .map(|q| q.params.as_slice())
            .unwrap_or_default();
        let teller = Teller {
            model: self.database.model(),
            design,
            params,
        };
        let lines = teller.lines(plan, profile);
        let table = self.arguments.format == RowFormat::Table;
        let colour = if table {
            terminal.colour
        } else {
            terminal.colour_err
        };
        let mut text = Vec::new();
        let title = heading(colour, "Profile");
        writeln!(
            text,
            "\n{title}: answered in {}",
            number::seconds(took.as_secs_f64())
        )?;
        print_profile(&lines, colour, &mut text)?;
        if table {
            terminal.out.write_all(&text)?;
        } else {
            terminal.out.flush()?;
            std::io::stderr().write_all(&text)?;
        }
        Ok(())
    }
}
