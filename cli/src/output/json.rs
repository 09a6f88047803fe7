//! Rows and receipts as JSON.

use super::Column;
use querent::Receipt;
use querent_compiler::codec::to_json;
use querent_compiler::model::{Model, Type};
use querent_compiler::value::Value;
use serde_json::{Map, Value as Json, json};
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

fn object(model: &Model, columns: &[Column<'_>], row: &[Value]) -> Json {
    columns
        .iter()
        .zip(row)
        .map(|(column, value)| (column.name.to_owned(), to_json(model, column.ty, value)))
        .collect()
}

/// What a change did, for programs.
pub(crate) fn receipt(model: &Model, receipt: &Receipt) -> Map<String, Json> {
    let written = receipt.written.iter().map(|(structure, (puts, deletes))| {
        let counts = json!({ "put": puts, "deleted": deletes });
        (structure.clone(), counts)
    });
    let given = receipt.assigned.iter();
    let given = given.map(|(name, value)| json!([name, assigned(model, value)]));
    let fields = [
        ("inserted", json!(receipt.inserted)),
        ("updated", json!(receipt.updated)),
        ("deleted", json!(receipt.deleted)),
        ("gets", json!(receipt.reads)),
        ("written", written.collect::<Map<_, _>>().into()),
        ("assigned", given.collect::<Vec<_>>().into()),
    ];
    fields
        .map(|(name, value)| (name.to_owned(), value))
        .into_iter()
        .collect()
}

/// A value that the database assigned: a number of a sequence, there is no other.
pub(crate) fn assigned(model: &Model, value: &Value) -> Json {
    to_json(model, &Type::BigInt, value)
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
