//! Rows as a table for people.
//!
//! Columns are aligned, numbers to the right. Nested shapes stand below their row as tables of their
//! own, indented. On a terminal the widest columns give way until a row fits.

use super::Column;
use crate::terminal::paint;
use querent_compiler::codec::to_text;
use querent_compiler::model::{Model, Type};
use querent_compiler::value::Value;
use std::io::{self, Write};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// What the output may look like.
#[derive(Clone, Copy, Debug)]
pub(super) struct Look {
    /// Columns of the terminal; none: as wide as the values are.
    pub(super) width: Option<usize>,
    /// ANSI styles.
    pub(super) colour: bool,
}

/// Blanks between two columns.
const GAP: usize = 2;
/// No column is made narrower than this.
const NARROWEST: usize = 8;

/// Prints a table and the number of its rows, which may be the first ones of more.
pub(super) fn print(
    model: &Model,
    columns: &[Column<'_>],
    rows: &[Vec<Value>],
    of: usize,
    look: Look,
    out: &mut impl Write,
) -> io::Result<()> {
    let rows: Vec<&[Value]> = rows.iter().map(Vec::as_slice).collect();
    level(model, columns, &rows, look, 0, out)?;
    let count = match rows.len() {
        n if n < of => format!("(the first {n} of {of} rows)"),
        1 => "(1 row)".to_owned(),
        n => format!("({n} rows)"),
    };
    writeln!(out, "{}", paint(look.colour, "2", &count))
}

/// Prints the rows of one level of nesting.
fn level(
    model: &Model,
    columns: &[Column<'_>],
    rows: &[&[Value]],
    look: Look,
    indent: usize,
    out: &mut impl Write,
) -> io::Result<()> {
    let flat: Vec<usize> = (0..columns.len())
        .filter(|&at| columns.get(at).is_some_and(|c| nested(c.ty).is_none()))
        .collect();
    let heads: Vec<(String, bool)> = flat
        .iter()
        .filter_map(|&at| columns.get(at))
        .map(|c| (printable(c.name), is_number(c.ty)))
        .collect();
    let cells: Vec<Vec<Cell>> = rows
        .iter()
        .map(|row| {
            flat.iter()
                .map(|&at| cell(model, columns.get(at), row.get(at)))
                .collect()
        })
        .collect();
    let widths = widths(&heads, &cells, look.width.map(|w| w.saturating_sub(indent)));
    let line = Line {
        widths: &widths,
        heads: &heads,
        indent,
        colour: look.colour,
    };
    if !flat.is_empty() {
        line.print(heads.iter().map(|(name, _)| (name.as_str(), "1")), out)?;
        let rules: Vec<String> = widths.iter().map(|&w| "─".repeat(w)).collect();
        line.print(rules.iter().map(|rule| (rule.as_str(), "2")), out)?;
    }
    for (row, cells) in rows.iter().zip(&cells) {
        if !flat.is_empty() {
            let styled = cells
                .iter()
                .map(|c| (c.text.as_str(), if c.null { "2" } else { "" }));
            line.print(styled, out)?;
        }
        for (column, value) in columns.iter().zip(*row) {
            if let Some(inner) = nested(column.ty) {
                shape(model, column.name, &inner, value, look, indent + 2, out)?;
            }
        }
    }
    Ok(())
}

/// Prints a nested shape: its name, its size, and its rows.
fn shape(
    model: &Model,
    name: &str,
    columns: &[Column<'_>],
    value: &Value,
    look: Look,
    indent: usize,
    out: &mut impl Write,
) -> io::Result<()> {
    let rows: Vec<&[Value]> = match value {
        Value::List(items) => items
            .iter()
            .filter_map(|item| match item {
                Value::Record(values) => Some(values.as_slice()),
                _ => None,
            })
            .collect(),
        _ => Vec::new(),
    };
    let title = format!("{} ({})", printable(name), rows.len());
    writeln!(out, "{:indent$}{}", "", paint(look.colour, "1", &title))?;
    if rows.is_empty() {
        Ok(())
    } else {
        level(model, columns, &rows, look, indent + 2, out)
    }
}

struct Cell {
    text: String,
    null: bool,
}

fn cell(model: &Model, column: Option<&Column<'_>>, value: Option<&Value>) -> Cell {
    match (column, value) {
        (_, None | Some(Value::Null)) | (None, _) => Cell {
            text: "null".into(),
            null: true,
        },
        (Some(column), Some(value)) => Cell {
            text: printable(&to_text(model, column.ty, value)),
            null: false,
        },
    }
}

/// The columns of a nested shape; none for every other type.
fn nested(ty: &Type) -> Option<Vec<Column<'_>>> {
    match ty {
        Type::List(inner, _) => match &**inner {
            Type::Record(fields) => Some(
                fields
                    .iter()
                    .map(|f| Column {
                        name: &f.name,
                        ty: &f.ty,
                    })
                    .collect(),
            ),
            _ => None,
        },
        _ => None,
    }
}

fn is_number(ty: &Type) -> bool {
    matches!(ty, Type::Int | Type::BigInt | Type::Float | Type::Decimal)
}

/// Control characters would break the lines, or command the terminal.
fn printable(text: &str) -> String {
    text.chars()
        .fold(String::with_capacity(text.len()), |mut out, c| {
            if c.is_control() {
                out.extend(c.escape_default());
            } else {
                out.push(c);
            }
            out
        })
}

/// The width of each column: of its widest cell, or less where the row would not fit.
fn widths(heads: &[(String, bool)], cells: &[Vec<Cell>], available: Option<usize>) -> Vec<usize> {
    let mut widths: Vec<usize> = heads
        .iter()
        .enumerate()
        .map(|(at, (name, _))| {
            let column = cells
                .iter()
                .filter_map(|row| row.get(at))
                .map(|c| c.text.width());
            column.chain([name.width(), 1]).max().unwrap_or(1)
        })
        .collect();
    let Some(available) = available else {
        return widths;
    };
    let gaps = GAP * widths.len().saturating_sub(1);
    while widths.iter().sum::<usize>() + gaps > available {
        // A number cut short would be another number: only other columns give way.
        let widest = widths
            .iter_mut()
            .zip(heads)
            .filter(|(_, (_, number))| !number);
        match widest.map(|(width, _)| width).max() {
            Some(width) if *width > NARROWEST => *width -= 1,
            _ => break,
        }
    }
    widths
}

struct Line<'a> {
    widths: &'a [usize],
    heads: &'a [(String, bool)],
    indent: usize,
    colour: bool,
}

impl Line<'_> {
    /// Prints cells, each with its ANSI style.
    fn print<'c>(
        &self,
        cells: impl Iterator<Item = (&'c str, &'c str)>,
        out: &mut impl Write,
    ) -> io::Result<()> {
        let mut line = " ".repeat(self.indent);
        let last = self.widths.len().saturating_sub(1);
        let places = self.widths.iter().zip(self.heads).enumerate();
        for ((at, (&width, (_, right))), (text, style)) in places.zip(cells) {
            let text = cut(text, width);
            let blanks = " ".repeat(width.saturating_sub(text.width()));
            let painted = paint(self.colour && !style.is_empty(), style, &text);
            let (before, after) = if *right {
                (blanks.as_str(), "")
            } else {
                ("", blanks.as_str())
            };
            line.push_str(before);
            line.push_str(&painted);
            if at < last {
                line.push_str(after);
                line.push_str(&" ".repeat(GAP));
            }
        }
        writeln!(out, "{line}")
    }
}

/// At most so many columns of the terminal, with an ellipsis where something is left out.
fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut used = 1;
    let kept = text.chars().take_while(|c| {
        used += c.width().unwrap_or(0);
        used <= width
    });
    kept.chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use querent_compiler::model::{RecordField, Size};

    const PLAIN: Look = Look {
        width: None,
        colour: false,
    };

    fn text() -> Type {
        Type::Text(Size {
            avg: 5.0,
            max: None,
        })
    }

    fn show(columns: &[(&str, &Type)], rows: &[Vec<Value>], look: Look) -> String {
        let columns: Vec<Column<'_>> = columns
            .iter()
            .map(|&(name, ty)| Column { name, ty })
            .collect();
        let mut out = Vec::new();
        print(
            &Model::default(),
            &columns,
            rows,
            rows.len(),
            look,
            &mut out,
        )
        .unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn columns_are_aligned_and_numbers_stand_right() {
        let rows = [
            vec![Value::Text("naïve 日本".into()), Value::Int(5)],
            vec![Value::Null, Value::Int(1200)],
            vec![Value::Text("a\nb\u{1b}[0m".into()), Value::Null],
        ];
        let expected = "\
name           votes
─────────────  ─────
naïve 日本         5
null            1200
a\\nb\\u{1b}[0m   null
(3 rows)
";
        assert_eq!(
            show(&[("name", &text()), ("votes", &Type::Int)], &rows, PLAIN),
            expected
        );
    }

    #[test]
    fn nested_shapes_stand_below_their_row() {
        let field = |name: &str, ty| RecordField {
            name: name.into(),
            ty,
            optional: false,
        };
        let record = Type::Record(vec![field("body", text()), field("n", Type::Int)]);
        let list = Type::List(
            Box::new(record),
            Size {
                avg: 2.0,
                max: None,
            },
        );
        let comment = |t: &str, n| Value::Record(vec![Value::Text(t.into()), Value::Int(n)]);
        let rows = [
            vec![
                Value::Text("one".into()),
                Value::List(vec![comment("hi", 10), comment("x", 2)]),
            ],
            vec![Value::Text("two".into()), Value::List(vec![])],
        ];
        let expected = "\
title
─────
one
  comments (2)
    body   n
    ────  ──
    hi    10
    x      2
two
  comments (0)
(2 rows)
";
        assert_eq!(
            show(&[("title", &text()), ("comments", &list)], &rows, PLAIN),
            expected
        );
    }

    #[test]
    fn wide_texts_give_way_and_numbers_do_not() {
        let rows = [vec![Value::Text("a".repeat(50)), Value::Int(1_234_567_890)]];
        let look = Look {
            width: Some(30),
            colour: false,
        };
        let shown = show(&[("t", &text()), ("n", &Type::BigInt)], &rows, look);
        assert!(shown.lines().all(|line| line.width() <= 30), "{shown}");
        assert!(shown.contains("aaa…  1234567890"), "{shown}");
    }

    #[test]
    fn no_rows_still_show_the_columns() {
        assert_eq!(show(&[("n", &Type::Int)], &[], PLAIN), "n\n─\n(0 rows)\n");
    }
}
