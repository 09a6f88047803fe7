//! Parameters that find something: the values that a random instance has where they are compared.

use super::rng::Rng;
use crate::eval::{Eval, Node};
use querent_compiler::model::{EntityId, Expr, Item, ParamId, Pred, Query};
use querent_compiler::value::Value;

/// Values for parameters, or for parts of them.
pub(super) type Found = Vec<(ParamId, Vec<u16>, Value)>;

/// Values under which the query's filter is likely to hold for a random instance.
pub(super) fn of_query(rng: &mut Rng, eval: &Eval<'_>, query: &Query) -> Found {
    let mut found = Vec::new();
    if let Some(start) = instance(rng, eval, query.anchor) {
        query_from(rng, eval, query, start, &mut found);
    }
    found
}

/// The same for the filter of a statement.
pub(super) fn of_filter(
    rng: &mut Rng,
    eval: &Eval<'_>,
    entity: EntityId,
    filter: &[Pred],
    condition: Option<&Pred>,
) -> Found {
    let mut found = Vec::new();
    if let Some(start) = instance(rng, eval, entity) {
        for pred in filter.iter().chain(condition) {
            preds(rng, eval, std::slice::from_ref(&start), pred, &mut found);
        }
    }
    found
}

/// Puts found values into parameters.
pub(super) fn put(params: &mut [Value], found: Found) {
    for (id, path, value) in found {
        let mut at = params.get_mut(id.index());
        for step in path {
            at = match at {
                Some(Value::Record(parts) | Value::Key(parts)) => parts.get_mut(usize::from(step)),
                _ => None,
            };
        }
        if let Some(at) = at
            && !value.is_null()
        {
            *at = value;
        }
    }
}

fn instance(rng: &mut Rng, eval: &Eval<'_>, entity: EntityId) -> Option<Node> {
    let root = eval.model.entity(entity).root;
    let keys: Vec<_> = eval
        .facts
        .of(eval.model, root)
        .map(|(key, _)| key)
        .collect();
    rng.pick(&keys)
        .map(|key| Node::Instance(root, (*key).clone()))
}

fn query_from(rng: &mut Rng, eval: &Eval<'_>, query: &Query, start: Node, found: &mut Found) {
    let bindings = eval.unfold_all(vec![vec![start]], &query.over);
    let Some(scope) = rng.pick(&bindings) else {
        return;
    };
    for pred in &query.filter {
        preds(rng, eval, scope, pred, found);
    }
    items(rng, eval, scope, &query.select, found);
}

fn items(rng: &mut Rng, eval: &Eval<'_>, scope: &[Node], select: &[Item], found: &mut Found) {
    for item in select {
        match &item.expr {
            Expr::Nested(node, inner) => {
                query_from(rng, eval, inner, scope[usize::from(*node)].clone(), found);
            }
            Expr::Shape { items: inner, .. } => items(rng, eval, scope, inner, found),
            _ => {}
        }
    }
}

/// The value that an expression has at another instance: a list of values finds several.
fn another(rng: &mut Rng, eval: &Eval<'_>, scope: &[Node], expr: &Expr) -> Value {
    if let [Node::Instance(entity, _)] = scope
        && let Some(other) = instance(rng, eval, *entity)
    {
        return eval.expr(&[other], expr);
    }
    eval.expr(scope, expr)
}

fn preds(rng: &mut Rng, eval: &Eval<'_>, scope: &[Node], pred: &Pred, found: &mut Found) {
    match pred {
        Pred::And(parts) | Pred::Or(parts) => {
            for part in parts {
                preds(rng, eval, scope, part, found);
            }
        }
        Pred::Not(inner) => preds(rng, eval, scope, inner, found),
        Pred::Compare(left, _, Expr::Param(id, path)) => {
            // The key of a map comes before what is compared with its value.
            if let Expr::At(map, key) = left
                && let Expr::Param(key_id, key_path) = &**key
                && let Value::Map(pairs) = eval.expr(scope, map)
                && let Some((key, value)) = rng.pick(&pairs)
            {
                found.push((*key_id, key_path.clone(), key.clone()));
                found.push((*id, path.clone(), value.clone()));
                return;
            }
            found.push((*id, path.clone(), eval.expr(scope, left)));
        }
        Pred::In(left, list) => {
            for (i, expr) in list.iter().enumerate() {
                if let Expr::Param(id, path) = expr {
                    let value = match i {
                        0 => eval.expr(scope, left),
                        _ => another(rng, eval, scope, left),
                    };
                    found.push((*id, path.clone(), value));
                }
            }
        }
        Pred::InList(left, Expr::Param(id, path)) => {
            let mut values = vec![eval.expr(scope, left)];
            for _ in 0..rng.below(3) {
                values.push(another(rng, eval, scope, left));
            }
            values.retain(|value| !value.is_null());
            if !values.is_empty() {
                found.push((*id, path.clone(), Value::List(values)));
            }
        }
        Pred::Exists {
            from,
            over,
            filter: Some(filter),
        } => {
            let start = scope[usize::from(*from)].clone();
            let bindings = eval.unfold_all(vec![vec![start]], over);
            if let Some(inner) = rng.pick(&bindings) {
                preds(rng, eval, inner, filter, found);
            }
        }
        Pred::Compare(..) | Pred::InList(..) | Pred::IsNull(_) | Pred::Exists { .. } => {}
    }
}
