//! Access problems: find the instances of one entity that meet conditions, in an order.

use crate::design::plan::{Bound, Term};
use crate::design::shape::{ShapeId, Shapes};
use crate::model::{Direction, EntityId, Expr, Pred, Unfold};
use std::borrow::Cow;

/// The value or values that an expression must equal.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum EqValue {
    One(Term),
    /// Each element of these list terms (or these terms themselves).
    Each(Vec<Term>),
}

/// An equality that a get can use.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Eq {
    /// In the candidate's scope.
    pub(super) expr: Expr,
    pub(super) value: EqValue,
    /// The filter that it makes good; none for the way from an outer node.
    pub(super) filter: Option<usize>,
}

impl Eq {
    /// One that leads from an outer row, or from the far end of a path.
    pub(super) fn given(expr: &Expr, term: &Term) -> Eq {
        Eq {
            expr: expr.clone(),
            value: EqValue::One(term.clone()),
            filter: None,
        }
    }
}

/// Bounds of one expression, each with the filter that it makes good; none for the way from the far
/// end of a path.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Range {
    pub(super) expr: Expr,
    pub(super) lower: Option<(Bound, Option<usize>)>,
    pub(super) upper: Option<(Bound, Option<usize>)>,
}

impl Range {
    pub(super) fn sides(&self) -> impl Iterator<Item = &(Bound, Option<usize>)> {
        self.lower.iter().chain(&self.upper)
    }

    /// Whether it is the way to what is looked for, and not optional.
    pub(super) fn leads(&self) -> bool {
        self.sides().any(|(_, filter)| filter.is_none())
    }
}

/// An `exists` some of whose conditions a get can use.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ExistsBy {
    pub(super) filter: usize,
    pub(super) over: Vec<Unfold>,
    pub(super) ways: Vec<Way>,
}

/// Conditions of an `exists` that a get can use together.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Way {
    pub(super) eqs: Vec<Eq>,
    pub(super) range: Option<Range>,
    /// They are all that it says: what they find meets it.
    pub(super) whole: bool,
}

impl Way {
    /// Whether an instance may meet it by several elements that differ in what it compares.
    pub(super) fn is_loose(&self) -> bool {
        let each = |q: &Eq| matches!(q.value, EqValue::Each(_));
        self.range.is_some() || self.eqs.iter().any(each)
    }
}

/// Find the instances of one entity.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Problem {
    pub(super) entity: EntityId,
    pub(super) eqs: Vec<Eq>,
    pub(super) ranges: Vec<Range>,
    pub(super) exists: Vec<ExistsBy>,
    /// The order that is wished for, without what equalities fix; none: no wish.
    pub(super) order: Option<Vec<(Expr, Direction)>>,
    /// All conditions on what is found, in the candidate's scope, and which filters they are.
    pub(super) holds: Vec<(usize, Pred)>,
}

impl Problem {
    /// The candidates that may serve it. Where an outer row leads to it, only those whose key begins
    /// with something known do.
    pub(super) fn candidates(&self, shapes: &Shapes) -> Vec<ShapeId> {
        if self.eqs.iter().any(|q| q.filter.is_none()) || self.ranges.iter().any(Range::leads) {
            let ways = self.exists.iter().flat_map(|e| &e.ways);
            let eqs = self.eqs.iter().chain(ways.flat_map(|way| &way.eqs));
            let known = eqs.map(|q| &q.expr);
            let known = known.chain(self.ranges.iter().map(|r| &r.expr));
            return shapes.beginning_with(self.entity, known);
        }
        let all = shapes.all.iter().enumerate();
        let of = all.filter(|(_, s)| s.structure.anchor == self.entity);
        of.map(|(shape, _)| shape).collect()
    }

    /// The problem as one to be solved by a way of an `exists`: where several elements of an instance
    /// may meet it, by its range instead of those of the instance, and in no order.
    pub(super) fn by(&self, way: &Way) -> Cow<'_, Problem> {
        if !way.is_loose() {
            return Cow::Borrowed(self);
        }
        Cow::Owned(Problem {
            ranges: way.range.iter().cloned().collect(),
            order: None,
            ..self.clone()
        })
    }
}
