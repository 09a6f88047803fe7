//! Homes in two parts: what changes often, or what is large, apart from the rest.
//!
//! A store that writes or reads a row as a whole makes a counter beside a long text dear: each change
//! of the one writes the other again. The two parts have the same key and are read with a get each.
//! What there is to choose from is the home as a whole and few ways to divide it; what is worth it,
//! price decides.

use super::options::Planner;
use super::prepare::weight;
use super::select::Home;
use super::shape::{self, Requirement, ShapeId, field_paths, key_paths};
use crate::model::{Change, EntityId, Expr, Field, Statement};
use crate::view::Kind;

/// Rows of fewer bytes are not worth two gets.
const WIDE: f64 = 256.0;
/// How much of the row the smaller part may be.
const SMALL: f64 = 0.25;
/// Ways to divide a home, at most.
const WAYS: usize = 3;

/// Adds the parts of homes to the candidates. What a mix never changes is not divided: there all that
/// is read may be kept once more at no price.
pub(super) fn divide_homes(planner: &mut Planner, mix: usize) {
    let cost = &planner.target.cost;
    if cost.byte <= 0.0 && cost.write_byte <= 0.0 {
        return;
    }
    let model = planner.model;
    for root in model.roots() {
        let leaves = key_paths(model, root);
        let home = shape::skeleton(model, root, &[], &[], leaves, vec![], Kind::Lists);
        // A home that is spread is not divided as well, and neither is what expires: its deadline
        // stands in one row.
        if planner.shapes.known(&home).is_none() || model.entity(root).deadline.is_some() {
            continue;
        }
        for own in ways(planner, root, mix) {
            let own = own.into_iter().flat_map(|f| field_paths(model, f));
            planner.shapes.divide(&home, own.collect());
        }
    }
}

/// What a part cannot be without: all that it keeps, and the other part or the whole home with all
/// fields, beside which it is a copy for those who need no more. So rows are as long as they were
/// priced.
pub(super) fn companions(planner: &mut Planner) -> Vec<(ShapeId, Vec<Vec<Home>>)> {
    let mut out = Vec::new();
    for part in 0..planner.shapes.all.len() {
        let candidate = planner.shapes.all.get(part);
        let Some((home, other)) =
            candidate.and_then(|c| Some((c.structure.clone(), c.other_part?)))
        else {
            continue;
        };
        let fields = planner.stats.value_fields(home.anchor).into_iter();
        let paths = fields.flat_map(|f| field_paths(planner.model, f));
        let paths: Vec<Expr> = paths.collect();
        let built = Requirement {
            shape: other,
            column: None,
        };
        let mut rest = vec![vec![built]];
        if let Some(whole) = planner.shapes.known(&home) {
            let columns = paths.iter().map(|path| planner.shapes.column(whole, path));
            let columns: Option<Vec<_>> = columns.map(|found| Some(found?.1)).collect();
            rest.extend(columns);
        }
        let mut needed = vec![rest];
        for path in &paths {
            let kept = planner.shapes.column(part, path);
            needed.extend(kept.map(|(_, column)| vec![vec![column]]));
        }
        out.push((part, needed));
    }
    out
}

/// The fields that are worth a part of their own: those that one change sets, and the largest.
fn ways(planner: &Planner, root: EntityId, mix: usize) -> Vec<Vec<Field>> {
    let model = planner.model;
    let fields = planner.stats.value_fields(root);
    let width = |of: &[Field]| of.iter().map(|f| planner.field_width(*f)).sum::<f64>();
    let whole = width(&fields);
    let mut changes: Vec<&Change> = model.changes.iter().collect();
    changes.retain(|change| weight(&change.rates, mix) > 0.0);
    // What happens most often first.
    let rate = |change: &Change| weight(&change.rates, mix);
    changes.sort_by(|a, b| rate(b).total_cmp(&rate(a)));
    let statements = changes.iter().flat_map(|c| each(&c.statements));
    let statements: Vec<&Statement> = statements.collect();
    let touches = |statement: &&Statement| match statement {
        Statement::Insert { entity, .. }
        | Statement::Update { entity, .. }
        | Statement::Delete { entity, .. } => model.entity(*entity).root == root,
        Statement::ForEach { .. } => false,
    };
    if !statements.iter().any(touches) {
        return vec![];
    }
    let mut ways: Vec<Vec<Field>> = Vec::new();
    let set = statements.iter().filter_map(|statement| match statement {
        Statement::Update { entity, set, .. } if model.entity(*entity).root == root => {
            let slots = set
                .iter()
                .map(|(slot, _)| model.root(root).fields.get(*slot));
            let slots = slots.flatten().copied();
            Some(slots.filter(|f| fields.contains(f)).collect::<Vec<Field>>())
        }
        _ => None,
    });
    let by_width = |a: &&Field, b: &&Field| {
        let width = |f: &Field| planner.field_width(*f);
        width(a).total_cmp(&width(b))
    };
    let largest = fields.iter().max_by(by_width).map(|f| vec![*f]);
    for mut way in set.take(WAYS - 1).chain(largest) {
        way.sort_by_key(|f| fields.iter().position(|other| other == f));
        way.dedup();
        let rest: Vec<Field> = fields
            .iter()
            .filter(|f| !way.contains(f))
            .copied()
            .collect();
        let small = width(&way).min(width(&rest)) <= whole * SMALL;
        let divides = !way.is_empty() && !rest.is_empty();
        // Which of the two is apart does not depend on rates: the one of fewer fields.
        let first = |of: &[Field]| !fields.first().is_some_and(|f| of.contains(f));
        let size = |of: &[Field]| (of.len(), width(of), first(of));
        let own = if size(&rest) < size(&way) { rest } else { way };
        if whole >= WIDE && small && divides && !ways.contains(&own) {
            ways.push(own);
        }
    }
    ways
}

/// All statements, those inside others too.
fn each(statements: &[Statement]) -> Vec<&Statement> {
    let mut out = Vec::new();
    for statement in statements {
        out.push(statement);
        if let Statement::ForEach { body, .. } = statement {
            out.extend(each(body));
        }
    }
    out
}
