//! The rows of a structure, by definition.

use super::eval::{Binding, Eval, Fixed};
use super::facts::{Facts, Key, MemoryFacts};
use super::{Kind, Structure};
use crate::model::{Expr, Model};
use crate::value::Value;
use crate::value::ops::Accumulator;
use std::collections::BTreeMap;
use std::rc::Rc;

/// The stored rows of a structure: key values to column values. Rows of groups carry their hidden
/// count behind the columns.
pub type Rows = BTreeMap<Vec<Value>, Vec<Value>>;

/// What one anchor contributes to a structure, by all of its bindings or some.
#[derive(Clone, Debug, Default)]
pub struct Contribution {
    /// One entry per binding: the row's key, and per column the copied value or, for an aggregate
    /// of the group, the value that it takes in.
    pub bindings: Vec<(Vec<Value>, Vec<Value>)>,
}

/// What an anchor contributes, by definition; nothing where it does not exist.
pub fn contribution<F: Facts>(
    model: &Model,
    structure: &Structure,
    facts: &F,
    anchor: &[Value],
) -> Result<Contribution, F::Error> {
    contribution_of(model, structure, facts, anchor, [&Fixed::new()])
}

/// What an anchor contributes by those of its bindings that agree with at least one of the `parts`.
/// A binding counts once, however many it agrees with.
pub fn contribution_of<'p, F: Facts>(
    model: &Model,
    structure: &Structure,
    facts: &F,
    anchor: &[Value],
    parts: impl IntoIterator<Item = &'p Fixed>,
) -> Result<Contribution, F::Error> {
    let root = model.entity(structure.anchor).root;
    if !facts.exists(root, anchor)? {
        return Ok(Contribution::default());
    }
    let eval = Eval::new(model, facts, &[]);
    let start = Binding::Instance(root, Rc::new(anchor.to_vec()));
    let mut scopes = Vec::new();
    for fixed in parts {
        let found = eval.matching(start.clone(), &structure.over, &structure.filter, fixed)?;
        scopes.extend(found);
    }
    scopes.sort_unstable();
    scopes.dedup();
    let mut bindings = Vec::with_capacity(scopes.len());
    for scope in scopes {
        let key: Result<Vec<_>, _> = structure.key().map(|e| eval.expr(&scope, e)).collect();
        let columns: Result<Vec<_>, _> = structure
            .columns
            .iter()
            .map(|column| match group_aggregate(column) {
                Some((_, Some(arg))) => eval.expr(&scope, arg),
                Some((_, None)) => Ok(Value::Bool(true)),
                None => eval.expr(&scope, column),
            })
            .collect();
        bindings.push((key?, columns?));
    }
    Ok(Contribution { bindings })
}

/// An aggregate of the group (not of a subquery), and its argument.
pub fn group_aggregate(column: &Expr) -> Option<(&crate::model::Aggregate, Option<&Expr>)> {
    match column {
        Expr::Aggregate(a) if a.over.is_empty() => Some((a, a.arg.as_ref())),
        _ => None,
    }
}

/// All rows of a structure, by definition.
pub fn rows(model: &Model, structure: &Structure, facts: &MemoryFacts) -> Rows {
    let root = model.entity(structure.anchor).root;
    let anchors: Vec<Key> = facts.all(root).map(|(key, _)| key.clone()).collect();
    let mut groups: BTreeMap<Vec<Value>, Vec<Vec<Value>>> = BTreeMap::new();
    for anchor in anchors {
        let Ok(found) = contribution(model, structure, facts, &anchor);
        for (key, columns) in found.bindings {
            groups.entry(key).or_default().push(columns);
        }
    }
    groups
        .into_iter()
        .map(|(key, bindings)| (key, stored_row(structure, &bindings)))
        .collect()
}

/// The stored columns of a row, from the contributions of its bindings (at least one).
pub fn stored_row(structure: &Structure, bindings: &[Vec<Value>]) -> Vec<Value> {
    let mut row: Vec<Value> = structure
        .columns
        .iter()
        .enumerate()
        .map(|(i, column)| {
            let mut inputs = bindings.iter().filter_map(|b| b.get(i));
            match group_aggregate(column) {
                Some((aggregate, _)) => {
                    let mut total = Accumulator::new(aggregate.function, aggregate.distinct);
                    inputs.for_each(|value| total.add(value));
                    total.to_stored()
                }
                None => inputs.next_back().cloned().unwrap_or_default(),
            }
        })
        .collect();
    if structure.kind == Kind::Groups {
        row.push(Value::Int(bindings.len() as i64));
    }
    row
}
