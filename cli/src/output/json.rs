//! Rows as JSON.

use super::Column;
use querent_compiler::codec::to_json;
use querent_compiler::model::Model;
use querent_compiler::value::Value;
use std::io::{self, Write};

/// One object a line.
pub(super) fn print_lines(
    model: &Model,
    columns: &[Column<'_>],
    rows: &[Vec<Value>],
    out: &mut impl Write,
) -> io::Result<()> {
    rows.iter()
        .try_for_each(|row| writeln!(out, "{}", object(model, columns, row)))
}

/// One array, with one object a line.
pub(super) fn print_array(
    model: &Model,
    columns: &[Column<'_>],
    rows: &[Vec<Value>],
    out: &mut impl Write,
) -> io::Result<()> {
    let mut before = "[";
    for row in rows {
        write!(out, "{before}\n  {}", object(model, columns, row))?;
        before = ",";
    }
    writeln!(out, "{}", if rows.is_empty() { "[]" } else { "\n]" })
}

fn object(model: &Model, columns: &[Column<'_>], row: &[Value]) -> serde_json::Value {
    columns
        .iter()
        .zip(row)
        .map(|(column, value)| (column.name.to_owned(), to_json(model, column.ty, value)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use querent_compiler::model::Type;

    #[test]
    fn arrays_and_lines() {
        let columns = [Column {
            name: "n",
            ty: &Type::Int,
        }];
        let print = |rows: &[Vec<Value>]| {
            let (mut array, mut lines) = (Vec::new(), Vec::new());
            print_array(&Model::default(), &columns, rows, &mut array).unwrap();
            print_lines(&Model::default(), &columns, rows, &mut lines).unwrap();
            (
                String::from_utf8(array).unwrap(),
                String::from_utf8(lines).unwrap(),
            )
        };
        assert_eq!(print(&[]), ("[]\n".into(), String::new()));
        let rows = [vec![Value::Int(1)], vec![Value::Null]];
        let (array, lines) = print(&rows);
        assert_eq!(array, "[\n  {\"n\":1},\n  {\"n\":null}\n]\n");
        assert_eq!(lines, "{\"n\":1}\n{\"n\":null}\n");
    }
}
