//! Which conditions follow from others: a structure with `where` serves a question whose conditions
//! imply it, and what it says need not be tested again.
//!
//! All of it is about one expression and constants. What is not recognised does not follow, so that
//! a structure is left unread rather than read wrongly.

use crate::model::{Compare, Expr, Pred};
use crate::value::{Value, ops};

/// All values that an expression can have beside null, where these are few.
pub(super) type Domain<'a> = &'a dyn Fn(&Expr) -> Option<Vec<Value>>;

/// Whether a condition holds wherever all of the others do.
pub(super) fn implied<'p>(
    by: impl Iterator<Item = &'p Pred> + Clone,
    wanted: &Pred,
    domain: Domain,
) -> bool {
    if by.clone().any(|known| known == wanted) {
        return true;
    }
    match wanted {
        Pred::And(all) => all.iter().all(|p| implied(by.clone(), p, domain)),
        Pred::Or(any) if any.iter().any(|p| implied(by.clone(), p, domain)) => true,
        _ => by.clone().any(|known| follows(known, wanted, domain)),
    }
}

/// Whether a condition follows from another one.
fn follows(known: &Pred, wanted: &Pred, domain: Domain) -> bool {
    if let Pred::And(all) = known {
        return all
            .iter()
            .any(|p| p == wanted || follows(p, wanted, domain));
    }
    if let Some((expr, values)) = values(known, domain) {
        return values.iter().all(|v| holds(wanted, expr, v) == Some(true));
    }
    if let Pred::Not(inner) = wanted
        && let Pred::IsNull(expr) = &**inner
    {
        // A comparison with null is false.
        return match known {
            Pred::Compare(a, _, b) => a == expr || b == expr,
            Pred::InList(a, _) | Pred::In(a, _) => a == expr,
            _ => false,
        };
    }
    match (bound(known), bound(wanted)) {
        (Some((expr, op, at)), Some((of, wanted, limit))) if expr == of => {
            within(op, at, wanted, limit)
        }
        _ => false,
    }
}

/// The only values that an expression can have where a condition on it holds.
fn values<'p>(known: &'p Pred, domain: Domain) -> Option<(&'p Expr, Vec<Value>)> {
    match known {
        Pred::IsNull(expr) => Some((expr, vec![Value::Null])),
        Pred::In(expr, list) => {
            let list: Option<Vec<Value>> = list.iter().map(constant).collect();
            let mut list = list?;
            list.retain(|v| !v.is_null());
            Some((expr, list))
        }
        _ => {
            let (expr, op, value) = bound(known)?;
            if op == Compare::Eq {
                return Some((expr, vec![value.clone()]));
            }
            let mut all = domain(expr)?;
            all.retain(|v| ops::compare(v, op, value));
            Some((expr, all))
        }
    }
}

/// A comparison of an expression with a constant.
fn bound(pred: &Pred) -> Option<(&Expr, Compare, &Value)> {
    match pred {
        Pred::Compare(Expr::Const(_), _, Expr::Const(_)) => None,
        Pred::Compare(expr, op, Expr::Const(value)) => Some((expr, *op, value)),
        Pred::Compare(Expr::Const(value), op, expr) => Some((expr, op.flipped(), value)),
        _ => None,
    }
}

/// Whether all values that compare so with one constant compare otherwise with another.
fn within(op: Compare, at: &Value, wanted: Compare, limit: &Value) -> bool {
    let limit_is = |op| ops::compare(limit, op, at);
    match (op, wanted) {
        (Compare::Lt, Compare::Lt | Compare::Le | Compare::Ne) | (Compare::Le, Compare::Le) => {
            limit_is(Compare::Ge)
        }
        (Compare::Le, Compare::Lt | Compare::Ne) => limit_is(Compare::Gt),
        (Compare::Gt, Compare::Gt | Compare::Ge | Compare::Ne) | (Compare::Ge, Compare::Ge) => {
            limit_is(Compare::Le)
        }
        (Compare::Ge, Compare::Gt | Compare::Ne) => limit_is(Compare::Lt),
        _ => false,
    }
}

fn constant(expr: &Expr) -> Option<Value> {
    match expr {
        Expr::Const(value) => Some(value.clone()),
        _ => None,
    }
}

/// Whether a condition holds where an expression has a value; none where that does not decide it.
pub(super) fn holds(pred: &Pred, expr: &Expr, value: &Value) -> Option<bool> {
    let of = |e: &Expr| {
        if e == expr {
            Some(value.clone())
        } else {
            constant(e)
        }
    };
    match pred {
        Pred::And(all) => {
            let undone = all.iter().map(|p| holds(p, expr, value).map(|held| !held));
            any(undone).map(|fails| !fails)
        }
        Pred::Or(list) => any(list.iter().map(|p| holds(p, expr, value))),
        Pred::Not(p) => Some(!holds(p, expr, value)?),
        Pred::Compare(a, op, b) => Some(ops::compare(&of(a)?, *op, &of(b)?)),
        Pred::In(a, list) => {
            let a = of(a)?;
            let equal = |e: &Expr| Some(ops::compare(&a, Compare::Eq, &of(e)?));
            any(list.iter().map(equal))
        }
        Pred::IsNull(a) => Some(of(a)?.is_null()),
        Pred::InList(..) | Pred::Exists { .. } => None,
    }
}

/// Whether one holds: one that does decides it, whatever is not known of the others.
fn any(mut all: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    all.try_fold(Some(false), |so_far, held| match held {
        Some(true) => Err(Some(true)),
        Some(false) => Ok(so_far),
        None => Ok(None),
    })
    .unwrap_or_else(|decided| decided)
}

#[cfg(test)]
mod tests {
    use super::implied;
    use crate::model::{Compare, Expr, Leaf, Pred};
    use crate::value::{Value, ops};

    fn x() -> Expr {
        Expr::Path {
            node: 0,
            element: vec![],
            steps: vec![],
            leaf: Leaf::Type,
        }
    }

    /// Every condition on one expression with these constants, as deep as that.
    fn conditions(depth: usize) -> Vec<Pred> {
        let constant = |n: i64| Expr::Const(Value::Int(n));
        let mut out = vec![Pred::IsNull(x())];
        for op in [
            Compare::Eq,
            Compare::Ne,
            Compare::Lt,
            Compare::Le,
            Compare::Gt,
            Compare::Ge,
        ] {
            out.extend([1, 2].map(|n| Pred::Compare(x(), op, constant(n))));
            out.push(Pred::Compare(constant(1), op, x()));
        }
        out.push(Pred::In(x(), vec![]));
        out.push(Pred::In(x(), vec![constant(1), constant(2)]));
        out.push(Pred::In(x(), vec![constant(2), constant(3)]));
        if depth > 0 {
            let inner = conditions(depth - 1);
            out.extend(inner.iter().map(|p| Pred::Not(Box::new(p.clone()))));
            for pair in inner.windows(2) {
                out.push(Pred::Or(pair.to_vec()));
                out.push(Pred::And(pair.to_vec()));
            }
        }
        out
    }

    fn truth(pred: &Pred, value: &Value) -> bool {
        let of = |e: &Expr| match e {
            Expr::Const(c) => c.clone(),
            _ => value.clone(),
        };
        match pred {
            Pred::And(all) => all.iter().all(|p| truth(p, value)),
            Pred::Or(any) => any.iter().any(|p| truth(p, value)),
            Pred::Not(p) => !truth(p, value),
            Pred::Compare(a, op, b) => ops::compare(&of(a), *op, &of(b)),
            Pred::In(a, list) => list
                .iter()
                .any(|e| ops::compare(&of(a), Compare::Eq, &of(e))),
            Pred::IsNull(a) => of(a).is_null(),
            _ => unreachable!("not made here"),
        }
    }

    /// What is said to follow holds for every value for which the other does; of simple conditions
    /// nothing that follows is missed.
    #[test]
    fn what_follows_holds() {
        let worlds: Vec<Value> = (0..5).map(Value::Int).chain([Value::Null]).collect();
        let all = conditions(1);
        let few = |of: &Expr| (*of == x()).then(|| (0..5).map(Value::Int).collect());
        let mut found = 0;
        for known in &all {
            for wanted in &all {
                let right = worlds.iter().all(|v| !truth(known, v) || truth(wanted, v));
                let open = implied([known].into_iter(), wanted, &|_| None);
                let closed = implied([known].into_iter(), wanted, &few);
                assert!(right || !open && !closed, "{known:?} => {wanted:?}");
                assert!(closed || !open);
                found += usize::from(open);
            }
        }
        assert!(found > all.len() * 5, "{found}");
        let simple = conditions(0);
        for known in &simple {
            for wanted in &simple {
                let right = worlds.iter().all(|v| !truth(known, v) || truth(wanted, v));
                assert_eq!(
                    implied([known].into_iter(), wanted, &few),
                    right,
                    "{known:?} => {wanted:?}"
                );
            }
        }
    }
}
