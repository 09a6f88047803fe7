//! When two answers are the same.

use crate::eval::Answer;
use querent_compiler::model::{Expr, Item, Query};
use querent_compiler::value::Value;

/// How an answer differs from what is right.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Difference {
    /// The number of rows.
    #[error("{got} rows where {want} were expected")]
    Count {
        /// Rows found.
        got: usize,
        /// Rows expected.
        want: usize,
    },
    /// A row of an ordered answer.
    #[error("row {row} is {got:?} where {want:?} was expected")]
    Row {
        /// Position.
        row: usize,
        /// Row found.
        got: Vec<Value>,
        /// Row expected.
        want: Vec<Value>,
    },
    /// A row of an unordered answer that has no counterpart.
    #[error("{got:?} is not a row of the right answer, or is too often in it")]
    Extra {
        /// Row found.
        got: Vec<Value>,
    },
}

/// The query whose answer [`same_answer`] wants: without limits where there is no order, because
/// any rows are right there.
pub fn unlimited(query: &Query) -> Query {
    let mut query = query.clone();
    if query.order.is_empty() {
        query.limit = None;
    }
    unlimited_items(&mut query.select);
    query
}

fn unlimited_items(items: &mut [Item]) {
    for item in items {
        match &mut item.expr {
            Expr::Nested(_, inner) => **inner = unlimited(inner),
            Expr::Shape { items, .. } => unlimited_items(items),
            _ => {}
        }
    }
}

/// Compares an answer with the right answer of [`unlimited`]`(query)`: row for row where the query is
/// ordered, as multisets where it is not (with a limit: any rows of it, as many as there should
/// be).
pub fn same_answer(
    query: &Query,
    params: &[Value],
    got: &[Vec<Value>],
    want: &Answer,
) -> Result<(), Difference> {
    same_rows(query, params, got, &want.rows)
}

fn same_rows(
    query: &Query,
    params: &[Value],
    got: &[Vec<Value>],
    want: &[Vec<Value>],
) -> Result<(), Difference> {
    let size = match limit(query, params) {
        Some(limit) if query.order.is_empty() => limit.min(want.len()),
        _ => want.len(),
    };
    if got.len() != size {
        return Err(Difference::Count {
            got: got.len(),
            want: size,
        });
    }
    if !query.order.is_empty() {
        for (row, (got, want)) in got.iter().zip(want).enumerate() {
            if !same_items(&query.select, params, got, want) {
                return Err(Difference::Row {
                    row,
                    got: got.clone(),
                    want: want.clone(),
                });
            }
        }
        return Ok(());
    }
    // Equal multisets are the common case; only nested shapes without an order need a matching.
    let (mut a, mut b): (Vec<_>, Vec<_>) = (got.iter().collect(), want.iter().collect());
    a.sort();
    b.sort();
    if a == b {
        return Ok(());
    }
    let fits: Vec<Vec<usize>> = got
        .iter()
        .map(|g| {
            (0..want.len())
                .filter(|&w| same_items(&query.select, params, g, &want[w]))
                .collect()
        })
        .collect();
    let mut taken: Vec<Option<usize>> = vec![None; want.len()];
    for (row, got) in got.iter().enumerate() {
        if !augment(row, &fits, &mut vec![false; want.len()], &mut taken) {
            return Err(Difference::Extra { got: got.clone() });
        }
    }
    Ok(())
}

/// Finds a counterpart for a row, moving others to theirs where that makes room.
fn augment(
    row: usize,
    fits: &[Vec<usize>],
    seen: &mut Vec<bool>,
    taken: &mut Vec<Option<usize>>,
) -> bool {
    for &want in &fits[row] {
        if seen[want] {
            continue;
        }
        seen[want] = true;
        if taken[want].is_none_or(|other| augment(other, fits, seen, taken)) {
            taken[want] = Some(row);
            return true;
        }
    }
    false
}

fn same_items(items: &[Item], params: &[Value], got: &[Value], want: &[Value]) -> bool {
    got.len() == want.len()
        && items.len() == got.len()
        && items
            .iter()
            .zip(got.iter().zip(want))
            .all(|(item, (got, want))| same_value(&item.expr, params, got, want))
}

fn same_value(expr: &Expr, params: &[Value], got: &Value, want: &Value) -> bool {
    match (expr, got, want) {
        (Expr::Nested(_, query), Value::List(got), Value::List(want)) => {
            match (records(got), records(want)) {
                (Some(got), Some(want)) => same_rows(query, params, &got, &want).is_ok(),
                _ => false,
            }
        }
        (Expr::Shape { items, .. }, Value::Record(got), Value::Record(want)) => {
            same_items(items, params, got, want)
        }
        _ => got == want,
    }
}

fn records(values: &[Value]) -> Option<Vec<Vec<Value>>> {
    values
        .iter()
        .map(|v| match v {
            Value::Record(fields) => Some(fields.clone()),
            _ => None,
        })
        .collect()
}

fn limit(query: &Query, params: &[Value]) -> Option<usize> {
    let value = match query.limit.as_ref()? {
        Expr::Const(value) => value,
        Expr::Param(id, _) => params.get(id.index())?,
        _ => return None,
    };
    match value {
        Value::Int(n) => Some(usize::try_from(*n).unwrap_or(0)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use querent_compiler::model::{Direction, EntityId, Leaf};

    fn query(order: bool, limit: Option<i64>, select: Vec<Expr>) -> Query {
        let key = Expr::Path {
            node: 0,
            element: vec![],
            steps: vec![],
            leaf: Leaf::Key,
        };
        Query {
            anchor: EntityId(0),
            over: vec![],
            subject: 0,
            filter: vec![],
            select: select
                .into_iter()
                .map(|expr| Item {
                    name: "x".into(),
                    expr,
                })
                .collect(),
            group: None,
            order: if order {
                vec![(key, Direction::Asc)]
            } else {
                vec![]
            },
            ordered: 0,
            limit: limit.map(|n| Expr::Const(Value::Int(n))),
            page: None,
        }
    }

    fn rows(values: &[i64]) -> Vec<Vec<Value>> {
        values.iter().map(|&n| vec![Value::Int(n)]).collect()
    }

    fn same(query: &Query, got: &[Vec<Value>], want: &[Vec<Value>]) -> bool {
        let want = Answer {
            rows: want.to_vec(),
            order: vec![],
        };
        same_answer(query, &[], got, &want).is_ok()
    }

    #[test]
    fn order_and_limit_decide_what_is_the_same() {
        let item = || vec![Expr::Const(Value::Null)];
        let ordered = query(true, Some(2), item());
        assert!(same(&ordered, &rows(&[1, 2]), &rows(&[1, 2])));
        assert!(!same(&ordered, &rows(&[2, 1]), &rows(&[1, 2])));
        let unordered = query(false, None, item());
        assert!(same(&unordered, &rows(&[2, 1, 1]), &rows(&[1, 2, 1])));
        assert!(!same(&unordered, &rows(&[2, 2, 1]), &rows(&[1, 2, 1])));
        let any_two = query(false, Some(2), item());
        assert!(same(&any_two, &rows(&[3, 1]), &rows(&[1, 2, 3])));
        assert!(!same(&any_two, &rows(&[3, 3]), &rows(&[1, 2, 3])));
        assert!(!same(&any_two, &rows(&[3]), &rows(&[1, 2, 3])));
    }

    #[test]
    fn nested_rows_without_an_order_are_matched() {
        let inner = query(false, Some(1), vec![Expr::Const(Value::Null)]);
        let outer = query(false, None, vec![Expr::Nested(0, Box::new(inner))]);
        let nest = |values: &[i64]| {
            vec![Value::List(
                rows(values).into_iter().map(Value::Record).collect(),
            )]
        };
        // The first row fits both wanted rows, the second only the first of them.
        assert!(same(
            &outer,
            &[nest(&[2]), nest(&[1])],
            &[nest(&[1, 2]), nest(&[2, 3])]
        ));
        assert!(!same(
            &outer,
            &[nest(&[1]), nest(&[1])],
            &[nest(&[1, 2]), nest(&[2, 3])]
        ));
    }
}
