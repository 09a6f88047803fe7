//! The rows of a nested column, looked at one by one.

use super::answer::{RowView, Top};
use super::{AskError, Tuples};
use crate::layout::ValueRef;
use crate::store::Reader;
use querent_compiler::value::Value;
use std::borrow::Cow;

/// The rows of a nested column. Those that a subplan read are decoded as they are looked at; those
/// that came as one value are decoded already.
pub struct NestedRows<'r, 'a, R: Reader>(Rows<'r, 'a, R>);

enum Rows<'r, 'a, R: Reader> {
    Gathered {
        top: &'r Top<'a, R>,
        tuples: &'r Tuples<R::B>,
        next: usize,
    },
    Decoded(std::vec::IntoIter<Value>),
}

impl<'r, 'a, R: Reader> NestedRows<'r, 'a, R> {
    pub(super) fn gathered(top: &'r Top<'a, R>, tuples: &'r Tuples<R::B>) -> Self {
        let next = 0;
        NestedRows(Rows::Gathered { top, tuples, next })
    }

    /// The rows of a collection; otherwise what the value is instead.
    pub(super) fn decoded(value: Value) -> Result<Self, &'static str> {
        let rows = match value {
            Value::List(rows) | Value::Set(rows) => rows,
            Value::Null => Vec::new(),
            other => return Err(ValueRef::of(&other).kind()),
        };
        Ok(NestedRows(Rows::Decoded(rows.into_iter())))
    }
}

impl<'r, 'a, R: Reader + 'a> Iterator for NestedRows<'r, 'a, R> {
    type Item = NestedRow<'r, 'a, R>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        match &mut self.0 {
            Rows::Gathered { top, tuples, next } => {
                if *next >= tuples.len() {
                    return None;
                }
                let row = RowView::new(top, tuples, *next);
                *next += 1;
                Some(NestedRow(Row::View(row)))
            }
            Rows::Decoded(rows) => Some(NestedRow(Row::Values(match rows.next()? {
                Value::Record(fields) => fields,
                value => vec![value],
            }))),
        }
    }
}

/// One row of a nested column.
pub struct NestedRow<'r, 'a, R: Reader>(Row<'r, 'a, R>);

enum Row<'r, 'a, R: Reader> {
    View(RowView<'r, 'a, R>),
    Values(Vec<Value>),
}

impl<'a, R: Reader + 'a> NestedRow<'_, 'a, R> {
    /// How many columns there are.
    pub fn len(&self) -> usize {
        match &self.0 {
            Row::View(row) => row.len(),
            Row::Values(values) => values.len(),
        }
    }

    /// True for a row without columns.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// One column.
    #[inline]
    pub fn get(&self, column: usize) -> Result<ValueRef<'_>, AskError> {
        match &self.0 {
            Row::View(row) => row.get(column),
            Row::Values(values) => values.get(column).map(ValueRef::of).ok_or_else(|| {
                let columns = values.len();
                AskError::Plan(format!("column {column} of nested rows of {columns}"))
            }),
        }
    }

    /// One column that is a text or null.
    #[expect(
        clippy::inline_always,
        reason = "as for the row of an answer, which does the work"
    )]
    #[inline(always)]
    pub fn text(&self, column: usize) -> Result<Option<&str>, AskError> {
        match &self.0 {
            Row::View(row) => row.text(column),
            Row::Values(values) => match values.get(column) {
                Some(Value::Text(text)) => Ok(Some(text)),
                _ => self.get(column)?.into_text(column).map(|_| None),
            },
        }
    }

    /// One column that is an integer, a timestamp (in milliseconds) or null.
    #[inline]
    pub fn number(&self, column: usize) -> Result<Option<i64>, AskError> {
        match &self.0 {
            Row::View(row) => row.number(column),
            Row::Values(_) => self.get(column)?.into_number(column),
        }
    }

    /// All columns, decoded.
    pub fn to_values(&self) -> Result<Vec<Value>, AskError> {
        match &self.0 {
            Row::View(row) => row.to_values(),
            Row::Values(values) => Ok(values.clone()),
        }
    }
}

impl<'v> ValueRef<'v> {
    /// The number of a column that is one or null.
    pub(super) fn into_number(self, column: usize) -> Result<Option<i64>, AskError> {
        match self {
            ValueRef::Int(number) | ValueRef::Timestamp(number) => Ok(Some(number)),
            ValueRef::Null => Ok(None),
            other => Err(AskError::Column {
                column,
                found: other.kind(),
                expected: "an integer or a timestamp",
            }),
        }
    }

    /// The text of a column that is one or null.
    pub(super) fn into_text(self, column: usize) -> Result<Option<Cow<'v, str>>, AskError> {
        match self {
            ValueRef::Text(text) => Ok(Some(text)),
            ValueRef::Null => Ok(None),
            other => Err(AskError::Column {
                column,
                found: other.kind(),
                expected: "a text",
            }),
        }
    }
}
