//! `min` and `max` as the first row of an order: one get instead of a read of all that they are
//! over. Nothing is kept for them but an index in that order, so that a value that goes leaves the
//! next one behind it.

use super::atoms::Mentions;
use super::bind::{Partial, Wish, is_key_expr};
use super::{PlanOption, Planner, State, undominated};
use crate::design::plan::{Aggregation, Op, Sub, Term};
use crate::model::{Aggregate, AggregateFn, Direction, Expr, Pred, Query};
use crate::value::Value;
use crate::view::typing::Scope;
use crate::view::{KeyPart, key_size};
use std::sync::Arc;

/// A value of which an aggregate is the first in an order.
struct Extreme {
    wish: Wish,
    /// Where nulls would come first, they are passed over.
    filter: Option<Pred>,
}

impl Planner<'_> {
    /// True if an aggregate is the first value of an order that a key can give.
    pub(super) fn is_extreme(&self, a: &Aggregate, scope: &Scope) -> bool {
        self.extreme(a, scope).is_some()
    }

    fn extreme(&self, a: &Aggregate, scope: &Scope) -> Option<Extreme> {
        let direction = match a.function {
            AggregateFn::Min => Direction::Asc,
            AggregateFn::Max => Direction::Desc,
            _ => return None,
        };
        let arg = a.arg.as_ref()?;
        if !is_key_expr(self.model, arg) || Mentions::of_expr(arg).params {
            return None;
        }
        let (ty, optional) = scope.type_of(self.model, &self.params, arg);
        let part = KeyPart {
            ty,
            optional,
            direction,
            hashed: false,
        };
        // An order that nobody asked for must not limit how long a text may be.
        key_size::largest(self.model, &part).filter(|&bytes| bytes <= key_size::HASHED)?;
        let nulls_first = optional && direction == Direction::Asc;
        Some(Extreme {
            wish: Wish {
                order: vec![(arg.clone(), direction)],
                limit: Some(1.0),
                page: None,
            },
            filter: nulls_first.then(|| Pred::Not(Box::new(Pred::IsNull(arg.clone())))),
        })
    }

    /// The ways to read an aggregate over a subquery as the first row of an order.
    pub(super) fn extreme_options(
        &mut self,
        start: State,
        a: &Aggregate,
        scope: &Scope,
    ) -> Vec<PlanOption> {
        let Some(Extreme { wish, filter }) = self.extreme(a, scope) else {
            return vec![];
        };
        let filters: Vec<Pred> = filter.into_iter().collect();
        let outer = start.rows;
        let needs: Vec<Expr> = a.arg.iter().cloned().collect();
        let found = self.bound_and_filtered(start, &a.over, &filters, scope, Some(&wish), &needs);
        self.first_values(found, a, scope, outer)
    }

    /// Adds an aggregate over the bindings of a group to the rows of a state, each of which is a
    /// group: `given` are the values that make it up.
    pub(super) fn with_extreme(
        &mut self,
        state: &State,
        query: &Query,
        given: &[(Expr, Term)],
        a: &Aggregate,
        scope: &Scope,
    ) -> Vec<State> {
        let Some(Extreme { wish, filter }) = self.extreme(a, scope) else {
            return vec![];
        };
        let filters: Vec<Pred> = query.filter.iter().cloned().chain(filter).collect();
        let requires = state.requires.clone();
        let start = Partial {
            state: State::start(state.frames, vec![None], state.rows, requires),
            left: (0..filters.len()).collect(),
            narrowed: 1.0,
            ordered: false,
            paged: false,
        };
        self.depth += 1;
        let wish = Some(&wish);
        let bound = self.bind(&start, 0, query.anchor, given, &filters, scope, wish);
        let filtered: Vec<Partial> = bound
            .into_iter()
            .filter(|p| p.ordered)
            .flat_map(|p| self.filter(p, &filters, scope))
            .collect();
        let options = self.first_values(filtered, a, scope, state.rows);
        self.depth -= 1;
        let taken = options.into_iter().take(self.subplans());
        let with = taken.map(|option| {
            let mut next = state.clone();
            next.cost += option.cost;
            next.requires = option.requires;
            let value = Term::Sub(Arc::new(Sub::Scalar(option.plan)));
            next.knows(Expr::Aggregate(Box::new(a.clone())), value);
            next
        });
        with.collect()
    }

    /// The first row of each that is in order, as a plan of one row and one column.
    fn first_values(
        &mut self,
        found: Vec<Partial>,
        a: &Aggregate,
        scope: &Scope,
        outer: f64,
    ) -> Vec<PlanOption> {
        let Some(arg) = &a.arg else { return vec![] };
        let mut out = Vec::new();
        for mut state in found.into_iter().filter(|p| p.ordered).map(|p| p.state) {
            state.rows = state.rows.min(outer);
            state.op = Arc::new(Op::Limit {
                input: state.op,
                count: Term::Const(Value::Int(1)),
                last: false,
            });
            for state in self.supply(state, scope, std::slice::from_ref(arg)) {
                let Some(arg) = self.term(&state, arg) else {
                    continue;
                };
                let aggregation = Aggregation {
                    function: a.function,
                    distinct: false,
                    arg: Some(arg),
                    stored: false,
                };
                out.push(self.aggregated(state, aggregation, outer));
            }
        }
        undominated(out)
    }
}
