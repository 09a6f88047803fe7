//! Changes that are to be atomic, on targets where only a partition, a document or a row is.

use super::change::incoming;
use super::sizes::{Finding, Subject, grouped};
use super::target::{Target, Transactions};
use super::{Design, Purpose, WritePlan};
use crate::diagnostic::codes::NOT_ATOMIC;
use crate::model::{
    Change, Compare, Expr, Field, Leaf, Model, OnDelete, ParamId, Pred, Statement, own,
};
use crate::value::Value;
use crate::view::Structure;
use std::collections::BTreeMap;

/// Findings about changes that ask for more than the target gives.
pub(super) fn findings(model: &Model, target: &Target, design: &Design) -> Vec<Finding> {
    let (unit, units) = match target.capabilities.transactions {
        Transactions::All => return vec![],
        Transactions::Partition => ("partition", "partitions"),
        Transactions::Document => ("document", "documents"),
        Transactions::Row => ("row", "rows"),
    };
    let mut out = Vec::new();
    let atomic = model.changes.iter().zip(&design.writes);
    for (change, plan) in atomic.filter(|(change, _)| change.atomic) {
        let written = written(plan);
        let Some((first, rows)) = written.first_key_value() else {
            continue;
        };
        let one = written.len() == 1
            && (*rows <= 1.0 || {
                let structure = design.structures.iter().find(|s| s.name == *first);
                structure.is_some_and(|s| in_one_unit(model, target, change, s))
            });
        if one {
            continue;
        }
        let named: Vec<String> = written
            .iter()
            .map(|(name, rows)| match rows.round() {
                n if n <= 1.0 => format!("a row of `{name}`"),
                n => format!("up to {} rows of `{name}`", grouped(n)),
            })
            .collect();
        let places = match written.len() {
            1 => format!(", which may be in several {units}"),
            _ => String::new(),
        };
        out.push(Finding {
            code: NOT_ATOMIC.id.into(),
            structure: (*first).to_owned(),
            subject: Subject::Change(change.name.clone()),
            found: written.values().sum(),
            limit: 1.0,
            message: format!(
                "`{}` is to be atomic, and {} makes only what is in one {unit} so: it writes {}{places}",
                change.name,
                target.name,
                and(&named),
            ),
            help: format!(
                "keep what must change together in one {unit} of one structure (a nested list, a \
                 shared key), leave `atomic` out where half of it may be seen or stay after a \
                 failure, or choose a target with transactions, such as `embedded`"
            ),
            mixes: vec![],
        });
    }
    out
}

/// The structures that a change writes, and how many rows of each at most.
fn written(plan: &WritePlan) -> BTreeMap<&str, f64> {
    let mut out = BTreeMap::new();
    let writes = plan
        .steps
        .iter()
        .filter(|s| s.purpose == Purpose::Maintain && s.rows_max > 0.0);
    for step in writes {
        *out.entry(step.structure.as_str()).or_default() += step.rows_max;
    }
    out
}

/// `a, b and c`.
fn and(words: &[String]) -> String {
    match words {
        [others @ .., last] if !others.is_empty() => format!("{} and {last}", others.join(", ")),
        words => words.concat(),
    }
}

/// Whether all that a change does to the only structure that it writes is in one unit, because each
/// of its statements says the same of the unit's key.
fn in_one_unit(model: &Model, target: &Target, change: &Change, structure: &Structure) -> bool {
    let mut said = Said {
        model,
        structure,
        key: match target.capabilities.transactions {
            Transactions::Partition => structure.partition.iter().collect(),
            _ => structure.key().collect(),
        },
        unit: None,
    };
    structure.over.is_empty() && said.all(&change.statements, &mut vec![])
}

/// What statements say of the key of a unit.
struct Said<'m> {
    model: &'m Model,
    structure: &'m Structure,
    key: Vec<&'m Expr>,
    /// Of those looked at so far.
    unit: Option<Vec<Expr>>,
}

impl Said<'_> {
    /// Whether all of them say the same. `items`: elements of lists, which differ.
    fn all(&mut self, statements: &[Statement], items: &mut Vec<ParamId>) -> bool {
        statements.iter().all(|statement| match statement {
            Statement::ForEach { item, body, .. } => {
                items.push(*item);
                let same = self.all(body, items);
                items.pop();
                same
            }
            statement => {
                let unit = self.unit_of(statement, items);
                unit.is_some_and(|unit| *self.unit.get_or_insert(unit.clone()) == unit)
            }
        })
    }

    fn unit_of(&self, statement: &Statement, items: &[ParamId]) -> Option<Vec<Expr>> {
        let (Statement::Insert { entity, .. }
        | Statement::Update { entity, .. }
        | Statement::Delete { entity, .. }) = statement
        else {
            return None;
        };
        let root = self.model.entity(self.structure.anchor).root;
        if self.model.entity(*entity).root != root {
            return None;
        }
        // What refers to the instance from the same structure changes with it.
        let spreads = |r| {
            let r = self.model.reference(r);
            r.on_delete != OnDelete::Refuse && self.model.entity(r.entity).root == root
        };
        if matches!(statement, Statement::Delete { .. })
            && incoming(self.model, root).into_iter().any(spreads)
        {
            return None;
        }
        let said = |part: &Expr| {
            let value = self.value_of(statement, part)?;
            let differs = matches!(&value, Expr::Param(id, _) if items.contains(id));
            (!differs).then_some(value)
        };
        self.key.iter().map(|part| known(part, &said)).collect()
    }

    /// What a statement says of a part of an instance's own key or row: a parameter or a constant.
    fn value_of(&self, statement: &Statement, part: &Expr) -> Option<Expr> {
        let root = self.model.entity(self.structure.anchor).root;
        let (slot, scalar) = own(self.model, root, part)?;
        let given = |(_, value): &(usize, Expr)| scalar_of(value, scalar);
        match statement {
            Statement::Insert { values, .. } => {
                values.iter().find(|(s, _)| *s == slot).and_then(given)
            }
            Statement::Update { set, filter, .. } => {
                let moves = set.iter().any(|(s, _)| *s == slot);
                (!moves).then(|| self.compared(filter, part, slot, scalar))?
            }
            Statement::Delete { filter, .. } => self.compared(filter, part, slot, scalar),
            Statement::ForEach { .. } => None,
        }
    }

    /// What a filter says that a part equals: by itself, or as a part of the key of a reference.
    fn compared(
        &self,
        filter: &[Pred],
        part: &Expr,
        slot: usize,
        scalar: Option<usize>,
    ) -> Option<Expr> {
        let root = self.model.entity(self.structure.anchor).root;
        let whole = match self.model.root(root).fields.get(slot) {
            Some(Field::Reference(r)) => Some(Expr::Path {
                node: 0,
                element: vec![],
                steps: vec![*r],
                leaf: Leaf::Key,
            }),
            _ => None,
        };
        filter.iter().find_map(|pred| match pred {
            Pred::Compare(left, Compare::Eq, value) if left == part => scalar_of(value, None),
            Pred::Compare(left, Compare::Eq, value) if Some(left) == whole.as_ref() => {
                scalar_of(value, scalar)
            }
            _ => None,
        })
    }
}

/// A parameter or a constant, or one scalar of the key that it is.
fn scalar_of(value: &Expr, scalar: Option<usize>) -> Option<Expr> {
    match (value, scalar) {
        (Expr::Param(..) | Expr::Const(_), None) => Some(value.clone()),
        (Expr::Param(id, path), Some(scalar)) => {
            let mut path = path.clone();
            path.push(scalar as u16);
            Some(Expr::Param(*id, path))
        }
        (Expr::Const(Value::Key(parts)), Some(scalar)) => {
            parts.get(scalar).cloned().map(Expr::Const)
        }
        _ => None,
    }
}

/// A part of a key in terms of what is said: functions of what is known are known.
fn known(part: &Expr, said: &impl Fn(&Expr) -> Option<Expr>) -> Option<Expr> {
    match part {
        Expr::Const(_) => Some(part.clone()),
        Expr::Path { .. } => said(part),
        Expr::Call(function, args) => {
            let args: Option<Vec<Expr>> = args.iter().map(|a| known(a, said)).collect();
            Some(Expr::Call(*function, args?))
        }
        _ => None,
    }
}
