//! Orders that no structure gives: of a question, and of each nested shape of its answer.

use crate::design::Design;
use crate::design::plan::{Get, Op, Plan, StructureId, Sub, Term};
use crate::model::{Expr, Query};

/// Rows that are sorted for each answer.
pub(super) struct Sorted {
    /// The structure that gives them, in another order.
    pub(super) structure: String,
    /// The nested shapes that lead to them, outermost first; none where it is the answer itself.
    pub(super) shapes: Vec<String>,
    pub(super) rows: f64,
}

/// What is sorted for an answer by values that a structure could have in order.
pub(super) fn sorts(design: &Design, query: &Query, plan: &Plan) -> Vec<Sorted> {
    let mut out = Vec::new();
    of_query(design, query, plan, &[], &mut out);
    out
}

fn of_query(design: &Design, query: &Query, plan: &Plan, shapes: &[String], out: &mut Vec<Sorted>) {
    let plain = |(e, _): &(Expr, _)| matches!(e, Expr::Path { .. });
    let order = query.order.get(..query.ordered);
    let by_values = order.is_some_and(|o| !o.is_empty() && o.iter().all(plain));
    let sort = sort_of(&plan.root).filter(|_| by_values);
    let given = sort.and_then(|(input, rows)| Some((giver(design, input)?, rows)));
    if let Some((structure, rows)) = given {
        let structure = design.structures.get(usize::from(structure));
        out.extend(structure.map(|s| Sorted {
            structure: s.name.clone(),
            shapes: shapes.to_vec(),
            rows,
        }));
    }
    for (item, output) in query.select.iter().zip(&plan.output) {
        let inner = [shapes, std::slice::from_ref(&item.name)].concat();
        of_value(design, &item.expr, &output.term, &inner, out);
    }
}

/// Goes into the shapes of a value, and the terms that make them.
fn of_value(design: &Design, value: &Expr, term: &Term, shapes: &[String], out: &mut Vec<Sorted>) {
    match (value, term) {
        (Expr::Nested(_, query), Term::Sub(sub)) => {
            if let Sub::Nested(plan) = &**sub {
                of_query(design, query, plan, shapes, out);
            }
        }
        (Expr::Shape { items, .. }, Term::Shape(_, terms)) => {
            for (item, term) in items.iter().zip(terms) {
                let inner = [shapes, std::slice::from_ref(&item.name)].concat();
                of_value(design, &item.expr, term, &inner, out);
            }
        }
        _ => {}
    }
}

/// The sort that an answer comes from: what it sorts, and how many rows.
fn sort_of(op: &Op) -> Option<(&Op, f64)> {
    match op {
        Op::Sort {
            input, estimate, ..
        } => Some((input, estimate.rows)),
        _ => sort_of(op.input()?),
    }
}

/// The structure that gives the rows: the last that was not read by its whole key, which finds one
/// row for each that was there before. Where all were, the first.
fn giver(design: &Design, op: &Op) -> Option<StructureId> {
    several(design, op).or_else(|| op.first_read())
}

fn several(design: &Design, op: &Op) -> Option<StructureId> {
    let get = op.get().filter(|get| !finds_one(design, get));
    let mut branches = op.branches().iter();
    get.map(|get| get.structure)
        .or_else(|| several(design, op.input()?))
        .or_else(|| branches.find_map(|b| several(design, &b.root)))
}

fn finds_one(design: &Design, get: &Get) -> bool {
    let structure = design.structures.get(usize::from(get.structure));
    structure.is_some_and(|s| get.eq.len() == s.key_len())
}
