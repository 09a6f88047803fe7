//! Structures as people write them: with a `where` that some questions imply, and groups by what
//! some questions ask for, in any order and finer than they ask.

use crate::generate::Rng;
use querent::compiler::model::{
    Aggregate, AggregateFn, Direction, EntityId, Expr, Leaf, Many, Model, Pred, Query, Unfold,
};
use querent::compiler::view::{Kind, Structure, elements};

/// A structure with a condition that a question compares its instances by; as it is where none does.
pub(super) fn limited(rng: &mut Rng, model: &Model, mut s: Structure) -> Structure {
    let conditions = conditions(model, s.anchor, &s.over);
    if let Some(condition) = rng.pick(&conditions)
        && (s.kind == Kind::Lists || !s.over.is_empty())
    {
        s.filter.push(condition.clone());
        s.name = format!("{}_limited", s.name);
    }
    s
}

/// Some structures of groups for the questions that ask for groups.
pub(super) fn groups(rng: &mut Rng, model: &Model) -> Vec<Structure> {
    let mut out: Vec<Structure> = Vec::new();
    for question in &model.questions {
        let query = &question.query;
        if query.group.is_none() || rng.percent(30) {
            continue;
        }
        let Some(mut s) = group(rng, model, query) else {
            continue;
        };
        s.name = format!("groups_{}", out.len());
        let known = |o: &Structure| o.same_rows(&s);
        if !out.iter().any(known) {
            out.push(s);
        }
    }
    out
}

fn group(rng: &mut Rng, model: &Model, query: &Query) -> Option<Structure> {
    let mut aggregates = Vec::new();
    query
        .select
        .iter()
        .for_each(|item| collect(&item.expr, &mut aggregates));
    let mut parts: Vec<Expr> = query.group.clone()?;
    for pred in &query.filter {
        if let Pred::Compare(a, ..) | Pred::In(a, _) | Pred::InList(a, _) = pred {
            parts.push(a.clone());
        }
    }
    let distinct = aggregates.iter().filter(|a| a.distinct);
    parts.extend(distinct.filter_map(|a| a.arg.clone()));
    let mut key: Vec<Expr> = Vec::new();
    while !parts.is_empty() {
        let part = parts.swap_remove(rng.below(parts.len()));
        if is_part(model, &part) && !key.contains(&part) && rng.percent(90) {
            key.push(part);
        }
    }
    if key.is_empty() {
        return None;
    }
    let clustering = key.split_off(1 + rng.below(key.len()));
    let clustering = clustering.into_iter().map(|e| {
        let direction = rng.one_of([Direction::Asc, Direction::Desc]);
        (e, direction)
    });
    let mut s = Structure {
        name: String::new(),
        anchor: model.entity(query.anchor).root,
        over: query.over.clone(),
        filter: vec![],
        partition: key,
        clustering: clustering.collect(),
        kind: Kind::Groups,
        columns: vec![],
        hashed: vec![],
    };
    for a in aggregates {
        let plain = a.arg.as_ref().is_none_or(|e| is_part(model, e));
        let function = match a.function {
            AggregateFn::Sum | AggregateFn::Avg => rng.one_of([AggregateFn::Sum, AggregateFn::Avg]),
            function => function,
        };
        let kept = Expr::Aggregate(Box::new(Aggregate {
            function,
            ..a.clone()
        }));
        let taken_out = !a.distinct && !matches!(function, AggregateFn::Min | AggregateFn::Max);
        if plain && taken_out && !s.columns.contains(&kept) && rng.percent(90) {
            s.columns.push(kept);
        }
    }
    let conditions = conditions(model, s.anchor, &s.over);
    if rng.percent(30)
        && let Some(condition) = rng.pick(&conditions)
    {
        s.filter.push(condition.clone());
    }
    Some(s)
}

/// The aggregates of the group in an expression.
fn collect(expr: &Expr, out: &mut Vec<Aggregate>) {
    match expr {
        Expr::Aggregate(a) if a.over.is_empty() => out.push((**a).clone()),
        Expr::Binary(_, a, b) => {
            collect(a, out);
            collect(b, out);
        }
        _ => {}
    }
}

/// A value of an instance, of what it refers to, of an element, or a rounded time.
fn is_part(model: &Model, expr: &Expr) -> bool {
    match expr {
        Expr::Path { leaf, .. } => {
            let single = match leaf {
                Leaf::Attribute(_, inner) => inner.is_empty(),
                Leaf::Element(_) | Leaf::Position | Leaf::MapKey => true,
                Leaf::Key | Leaf::Type => false,
            };
            single && !elements::follows(model, expr)
        }
        Expr::Call(_, args) => args.iter().all(|e| is_part(model, e)),
        _ => false,
    }
}

/// What questions about an entity compare with constants.
fn conditions(model: &Model, anchor: EntityId, over: &[Unfold]) -> Vec<Pred> {
    let mut out: Vec<Pred> = Vec::new();
    for question in &model.questions {
        let query = &question.query;
        if model.entity(query.anchor).root != anchor {
            continue;
        }
        let alike = query.over == over;
        let usable = |p: &&Pred| is_constant(model, p, alike);
        for pred in query.filter.iter().filter(usable) {
            if !out.contains(pred) {
                out.push(pred.clone());
            }
        }
    }
    out
}

/// Whether a condition is about one value and constants; without `alike` of the anchor alone.
fn is_constant(model: &Model, pred: &Pred, alike: bool) -> bool {
    let part = |e: &Expr| {
        let anchored = matches!(e, Expr::Path { node, .. } if alike || *node == 0);
        anchored && is_part(model, e)
    };
    let constant = |e: &Expr| matches!(e, Expr::Const(_));
    match pred {
        Pred::Compare(a, _, b) => part(a) && constant(b),
        Pred::In(a, list) => part(a) && list.iter().all(constant),
        Pred::IsNull(a) => part(a),
        Pred::Not(p) => is_constant(model, p, alike),
        Pred::Or(list) => list.iter().all(|p| is_constant(model, p, alike)),
        // Whether one of its own elements is so.
        Pred::Exists {
            from: 0,
            over,
            filter: Some(filter),
        } => {
            let own = |u: &Unfold| u.steps.is_empty() && !matches!(u.many, Many::Back(_));
            over.iter().all(own) && is_constant(model, filter, true)
        }
        Pred::And(_) | Pred::InList(..) | Pred::Exists { .. } => false,
    }
}
