//! References inside elements of collections.
//!
//! An element holds the key of what it refers to, as it holds its other values. Nothing leads back
//! from the target to those that hold it: what a target says besides its key may change without
//! their knowing, so no structure copies it.

use crate::model::{Expr, Leaf, Model, Pred};

/// Whether an expression reads more behind references inside elements than their keys, in its own
/// scope or in those inside it.
pub fn follows(model: &Model, expr: &Expr) -> bool {
    match expr {
        Expr::Const(_) | Expr::Param(..) => false,
        Expr::Path { element, .. } => !element.is_empty() && !names_target(model, expr),
        Expr::Binary(_, a, b) | Expr::At(a, b) => follows(model, a) || follows(model, b),
        Expr::Call(_, args) => args.iter().any(|e| follows(model, e)),
        Expr::Aggregate(a) => a.arg.iter().any(|e| follows(model, e)),
        Expr::Nested(_, q) => {
            let mut values = q.select.iter().map(|i| &i.expr);
            values.any(|e| follows(model, e))
                || q.order.iter().any(|(e, _)| follows(model, e))
                || q.group.iter().flatten().any(|e| follows(model, e))
                || q.filter.iter().any(|p| tests(model, p))
        }
        Expr::Shape { present, items } => {
            follows(model, present) || items.iter().any(|i| follows(model, &i.expr))
        }
    }
}

/// The same of a condition.
pub fn tests(model: &Model, pred: &Pred) -> bool {
    match pred {
        Pred::And(all) | Pred::Or(all) => all.iter().any(|p| tests(model, p)),
        Pred::Not(p) => tests(model, p),
        Pred::Compare(a, _, b) | Pred::InList(a, b) => follows(model, a) || follows(model, b),
        Pred::In(a, list) => follows(model, a) || list.iter().any(|e| follows(model, e)),
        Pred::IsNull(a) => follows(model, a),
        Pred::Exists { filter, .. } => filter.iter().any(|p| tests(model, p)),
    }
}

/// Whether a path is to the key, or to a scalar of the key, by which an element names what it refers
/// to: it stands in the element, and never changes at the other end.
pub fn names_target(model: &Model, path: &Expr) -> bool {
    let Expr::Path {
        element,
        steps,
        leaf,
        ..
    } = path
    else {
        return false;
    };
    let first = steps.first().map(|&step| model.reference(step).entity);
    let within = match leaf {
        Leaf::Attribute(a, inner) if inner.is_empty() => {
            let target = first.unwrap_or(model.attribute(*a).entity);
            let mut key = model.key_leaves(target).into_iter();
            key.any(|scalar| scalar.steps == *steps && scalar.attribute == *a)
        }
        Leaf::Key => first.is_none_or(|target| {
            let mut key = model.key_leaves(target).into_iter();
            key.any(|scalar| scalar.steps.starts_with(steps))
        }),
        _ => false,
    };
    !element.is_empty() && within
}
