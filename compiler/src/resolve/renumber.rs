//! Moving what was resolved in an inner scope without unfolds to the node where it started.

use crate::model::{Expr, NodeId, Pred};

/// Node 0 becomes `to`.
pub(super) fn expr(e: &mut Expr, to: NodeId) {
    match e {
        Expr::Path { node, .. } | Expr::Nested(node, _) => *node = to,
        Expr::Binary(_, a, b) | Expr::At(a, b) => {
            expr(a, to);
            expr(b, to);
        }
        Expr::Call(_, arguments) => {
            for argument in arguments {
                expr(argument, to);
            }
        }
        Expr::Aggregate(aggregate) => aggregate.from = to,
        Expr::Shape { present, items } => {
            expr(present, to);
            for item in items {
                expr(&mut item.expr, to);
            }
        }
        Expr::Const(_) | Expr::Param(..) => {}
    }
}

/// Node 0 becomes `to`.
pub(super) fn pred(p: &mut Pred, to: NodeId) {
    match p {
        Pred::And(parts) | Pred::Or(parts) => {
            for part in parts {
                pred(part, to);
            }
        }
        Pred::Not(inner) => pred(inner, to),
        Pred::Compare(a, _, b) | Pred::InList(a, b) => {
            expr(a, to);
            expr(b, to);
        }
        Pred::In(a, list) => {
            expr(a, to);
            for item in list {
                expr(item, to);
            }
        }
        Pred::IsNull(a) => expr(a, to),
        Pred::Exists { from, .. } => *from = to,
    }
}
