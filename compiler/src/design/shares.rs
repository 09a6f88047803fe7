//! The share of rows that conditions let pass.
//!
//! It follows from what they say, not from how it is written: all that is said of one value is taken
//! together. What it is equal to says everything of it; constants leave a set of values where these
//! can be told one by one; bounds are one range, however many there are; and what follows from the
//! others says nothing. Conditions on different values are independent.

use super::assumed::{LIST, RANGE};
use super::implied::{holds, implied};
use super::stats::Stats;
use crate::model::{Compare, Expr, Pred, Type};
use crate::value::Value;
use crate::view::typing::Scope;

/// A condition of several, by its position.
type Placed<'p> = (usize, &'p Pred);

impl Stats<'_> {
    /// The share of rows that a predicate lets pass.
    pub(crate) fn selectivity(&self, scope: &Scope, pred: &Pred) -> f64 {
        match subject(pred) {
            Some(of) => self.meets(scope, of, &[pred]),
            None => self.undecided(scope, pred),
        }
    }

    /// The share of rows that several predicates let pass together.
    pub(crate) fn passes(&self, scope: &Scope, preds: &[Pred]) -> f64 {
        let all: Vec<usize> = (0..preds.len()).collect();
        self.passes_left(scope, preds, &all)
    }

    /// The share of rows that some of the predicates, by their positions, let pass of those for which
    /// the others hold.
    pub(crate) fn passes_left(&self, scope: &Scope, preds: &[Pred], left: &[usize]) -> f64 {
        let is_left = |(at, _): &Placed| left.contains(at);
        let mut equal: Vec<(&Expr, bool)> = Vec::new();
        let mut values: Vec<(&Expr, Vec<Placed>)> = Vec::new();
        let mut pass = 1.0;
        for placed in preds.iter().enumerate() {
            let of = subject(placed.1);
            if let Some(of) = self.equality(scope, placed.1) {
                match equal.iter_mut().find(|(e, _)| *e == of) {
                    Some((_, open)) => *open &= is_left(&placed),
                    None => equal.push((of, is_left(&placed))),
                }
            }
            match of {
                Some(of) => match values.iter_mut().find(|(e, _)| *e == of) {
                    Some((_, said)) => said.push(placed),
                    None => values.push((of, vec![placed])),
                },
                None if is_left(&placed) => pass *= self.undecided(scope, placed.1),
                None => {}
            }
        }
        let done = equal.iter().filter(|(_, open)| !open);
        let done = self.values(scope, done.map(|(e, _)| *e)).max(1.0);
        let all = self.values(scope, equal.iter().map(|(e, _)| *e)).max(done);
        let said = values.iter().filter(|(_, said)| said.iter().any(is_left));
        let said = said.map(|(of, said)| {
            let of_all: Vec<&Pred> = said.iter().map(|(_, p)| *p).collect();
            let done = said.iter().filter(|p| !is_left(p));
            let of_done: Vec<&Pred> = done.map(|(_, p)| *p).collect();
            let all = self.beside_equality(scope, of, &of_all);
            let done = self.beside_equality(scope, of, &of_done);
            if done > 0.0 { all / done } else { 0.0 }
        });
        (pass * said.product::<f64>() * done / all).min(1.0)
    }

    /// The share of rows that conditions on one value let pass of those for which its equalities hold:
    /// what it is equal to is one of the values that they mean.
    fn beside_equality(&self, scope: &Scope, of: &Expr, conditions: &[&Pred]) -> f64 {
        let mut equal = conditions.iter();
        if equal.any(|p| self.equality(scope, p).is_some()) {
            return 1.0;
        }
        self.meets(scope, of, conditions)
    }

    /// How much of all values of an expression conditions leave of it.
    pub(crate) fn kept_of(&self, scope: &Scope, conditions: &[Pred], of: &Expr) -> f64 {
        let said = conditions.iter().filter(|p| subject(p) == Some(of));
        let said: Vec<&Pred> = said.collect();
        self.meets(scope, of, &said)
    }

    /// The expression that a condition gives one of its values to. Types are not among them: of each
    /// the model says how many instances there are.
    pub(crate) fn equality<'p>(&self, scope: &Scope, pred: &'p Pred) -> Option<&'p Expr> {
        let Pred::Compare(_, Compare::Eq, _) = pred else {
            return None;
        };
        let of = subject(pred)?;
        let of_type = matches!(scope.type_of(self.model, &[], of).0, Type::Tag(_));
        let constant = named(pred)?.iter().all(|e| matches!(e, Expr::Const(_)));
        (!of_type || !constant).then_some(of)
    }

    /// All values that an expression can have beside null, where these can be told one by one.
    pub(crate) fn domain(&self, scope: &Scope, of: &Expr) -> Option<Vec<Value>> {
        self.model.domain(&scope.type_of(self.model, &[], of).0)
    }

    /// The share of rows in which a value meets conditions that are about nothing else.
    fn meets(&self, scope: &Scope, of: &Expr, conditions: &[&Pred]) -> f64 {
        let domain = self.domain(scope, of);
        let all = domain.as_ref().map(Vec::len);
        let mut listed = conditions.iter();
        let Some(mut values) = domain.or_else(|| listed.find_map(|p| constants(p))) else {
            return self.open(scope, of, conditions.to_vec());
        };
        let decides = |p: &Pred| values.iter().all(|v| holds(p, of, v).is_some());
        let (decided, open): (Vec<&Pred>, Vec<&Pred>) = conditions.iter().partition(|p| decides(p));
        if decided.is_empty() {
            return self.open(scope, of, open);
        }
        let met = |v: &Value| decided.iter().all(|p| holds(p, of, v) == Some(true));
        values.retain(met);
        let share = self.one_of(scope, of, values, all);
        let share = match (scope.type_of(self.model, &[], of).1, met(&Value::Null)) {
            (true, true) => share + RANGE * (1.0 - share),
            (true, false) => share.min(1.0 - RANGE),
            (false, _) => share,
        };
        share * self.open(scope, of, open)
    }

    /// The share of rows in which an expression has one of some values, of so many that there can be.
    /// Where fewer are stated to occur, it is not known which.
    fn one_of(&self, scope: &Scope, of: &Expr, values: Vec<Value>, all: Option<usize>) -> f64 {
        let inside = values.len() as f64;
        let values: Vec<Expr> = values.into_iter().map(Expr::Const).collect();
        if let Some(share) = self.of_types(scope, of, values.iter()) {
            return share;
        }
        let occur = self.cardinality(scope, of).max(1.0);
        let Some(all) = all.map(|n| n as f64) else {
            return (inside / occur).min(1.0);
        };
        let occur = occur.min(all);
        let half = f64::max(0.5, 1.0 / occur);
        (inside / occur).min(half).max(1.0 - (all - inside) / occur)
    }

    /// The share of rows that conditions on one value let pass, whatever the values are that they
    /// compare it with.
    fn open(&self, scope: &Scope, of: &Expr, mut conditions: Vec<&Pred>) -> f64 {
        let domain = |e: &Expr| self.domain(scope, e);
        let mut at = 0;
        while let Some(wanted) = conditions.get(at).copied() {
            let others = conditions.iter().enumerate().filter(|(i, _)| *i != at);
            if implied(others.map(|(_, p)| *p), wanted, &domain) {
                conditions.remove(at);
            } else {
                at += 1;
            }
        }
        let occur = self.cardinality(scope, of).max(1.0);
        let ranges = conditions.iter().any(|p| is_bound(p));
        let range = if ranges { self.range(scope, of) } else { 1.0 };
        let others: Vec<&Expr> = conditions
            .iter()
            .filter_map(|p| excluded(p))
            .flatten()
            .collect();
        let others = unique(others).len() as f64;
        let different = 1.0 - others / occur.max(others + 1.0);
        let rest = conditions
            .iter()
            .filter(|p| !is_bound(p) && excluded(p).is_none());
        rest.map(|p| self.undecided(scope, p)).product::<f64>() * range * different
    }

    /// The share of rows that a range of an expression lets pass: at least those of one value.
    fn range(&self, scope: &Scope, of: &Expr) -> f64 {
        RANGE.max(1.0 / self.cardinality(scope, of).max(1.0))
    }

    /// The share of rows that one condition lets pass by its form alone.
    fn undecided(&self, scope: &Scope, pred: &Pred) -> f64 {
        match pred {
            Pred::And(all) => self.passes(scope, all),
            Pred::Not(p) => 1.0 - self.selectivity(scope, p),
            Pred::Compare(a, op, _) if op.is_range() => self.range(scope, a),
            Pred::InList(a, _) => (LIST / self.cardinality(scope, a).max(1.0)).min(1.0),
            Pred::IsNull(_) => RANGE,
            Pred::Exists { from, over, filter } => {
                let inner = scope.inner(self.model, *from, over);
                let fan: f64 = over.iter().map(|u| self.fan(u, &inner).avg).product();
                let pass = filter.as_ref().map_or(1.0, |f| self.selectivity(&inner, f));
                1.0 - (1.0 - pass.min(1.0)).powf(fan.max(1e-6))
            }
            Pred::Or(_) | Pred::Compare(..) | Pred::In(..) => self.either(scope, pred),
        }
    }

    /// The share of rows that alternatives let pass: of values of one expression, each of them.
    fn either(&self, scope: &Scope, pred: &Pred) -> f64 {
        if let (Some(of), Some(values)) = (subject(pred), named(pred)) {
            let occur = self.cardinality(scope, of).max(1.0);
            return (values.len() as f64 / occur).min(1.0);
        }
        let Pred::Or(any) = pred else { return 1.0 };
        let fails = any.iter().map(|p| 1.0 - self.selectivity(scope, p));
        1.0 - fails.product::<f64>()
    }
}

/// The one expression that a condition is about.
pub(super) fn subject(pred: &Pred) -> Option<&Expr> {
    match pred {
        Pred::And(list) | Pred::Or(list) => {
            let mut subjects = list.iter().map(subject);
            let first = subjects.next()??;
            subjects.all(|of| of == Some(first)).then_some(first)
        }
        Pred::Not(p) => subject(p),
        Pred::Compare(a, _, b) => Some(if is_given(a) { b } else { a }),
        Pred::In(a, _) | Pred::InList(a, _) | Pred::IsNull(a) => Some(a),
        Pred::Exists { .. } => None,
    }
}

fn is_given(expr: &Expr) -> bool {
    matches!(expr, Expr::Const(_) | Expr::Param(..))
}

fn is_bound(pred: &Pred) -> bool {
    matches!(pred, Pred::Compare(_, op, _) if op.is_range())
}

/// What the subject of a condition must be equal to, one of them, where it says nothing else.
fn named(pred: &Pred) -> Option<Vec<&Expr>> {
    let values = match pred {
        Pred::Compare(a, Compare::Eq, b) => vec![if is_given(a) { a } else { b }],
        Pred::In(_, list) => list.iter().collect(),
        Pred::Or(any) => {
            let each: Option<Vec<_>> = any.iter().map(named).collect();
            each?.concat()
        }
        _ => return None,
    };
    Some(unique(values))
}

/// What the subject of a condition must not be equal to, where it says nothing else.
fn excluded(pred: &Pred) -> Option<Vec<&Expr>> {
    match pred {
        Pred::Compare(a, Compare::Ne, b) => Some(vec![if is_given(a) { a } else { b }]),
        Pred::Not(p) => named(p),
        _ => None,
    }
}

fn unique(mut exprs: Vec<&Expr>) -> Vec<&Expr> {
    exprs.sort();
    exprs.dedup();
    exprs
}

/// The constants that the subject of a condition must be equal to, one of them.
fn constants(pred: &Pred) -> Option<Vec<Value>> {
    let constant = |e: &Expr| match e {
        Expr::Const(value) if !value.is_null() => Some(value.clone()),
        _ => None,
    };
    named(pred)?.into_iter().map(constant).collect()
}
