//! Rows of answers, printed.

mod json;
mod table;

pub(crate) use json::{assigned, receipt};

use crate::terminal::Terminal;
use clap::ValueEnum;
use querent_compiler::model::{Model, Type};
use querent_compiler::value::Value;
use std::io;

/// Forms of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RowFormat {
    /// Aligned columns, for people
    Table,
    /// One array of objects
    Json,
    /// One object a line
    Jsonl,
}

/// A column of an answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column<'a> {
    /// Name.
    pub(crate) name: &'a str,
    /// Type; nested shapes are `List` of `Record`.
    pub(crate) ty: &'a Type,
}

/// Prints rows in the form asked for.
pub(crate) fn print_rows(
    model: &Model,
    columns: &[Column<'_>],
    rows: &[Vec<Value>],
    format: RowFormat,
    terminal: &mut Terminal,
) -> io::Result<()> {
    match format {
        RowFormat::Table => print_first(model, columns, rows, rows.len(), terminal),
        RowFormat::Json => json::print_array(model, columns, rows, &mut terminal.out),
        RowFormat::Jsonl => json::print_lines(model, columns, rows, &mut terminal.out),
    }
}

/// Prints the first rows of so many as a table.
pub(crate) fn print_first(
    model: &Model,
    columns: &[Column<'_>],
    rows: &[Vec<Value>],
    of: usize,
    terminal: &mut Terminal,
) -> io::Result<()> {
    let look = table::Look {
        width: terminal.width,
        colour: terminal.colour,
    };
    table::print(model, columns, rows, of, look, &mut terminal.out)
}
