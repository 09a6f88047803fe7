//! Subqueries: kept with the row, answered by further steps of the plan, or by a subplan; and `exists`.

use super::atoms::{self, Mentions};
use super::bind::Partial;
use super::far_end::all_of;
use super::kept::is_counter;
use super::subplans::Asked;
use super::supply::When;
use super::{PlanOption, Planner, Source, State, undominated};
use crate::design::plan::{Op, Plan, Sub, Term, Test};
use crate::design::shape::ShapeId;
use crate::design::spread::FILL;
use crate::model::{Expr, NodeId, Pred};
use crate::view::elements;
use crate::view::typing::Scope;
use std::sync::Arc;
impl Planner<'_> {
    /// Subqueries: kept with the row, answered by further steps of the plan, or by a subplan.
    pub(super) fn supply_subquery(
        &mut self,
        when: When,
        state: State,
        scope: &Scope,
        atom: &Expr,
    ) -> Vec<State> {
        if self.locate(&state, atom).is_some() {
            return vec![state];
        }
        let mut out = Vec::new();
        let from = match atom {
            Expr::Aggregate(a) => a.from,
            Expr::Nested(from, _) => *from,
            _ => return out,
        };
        out.extend(self.embed(&state, scope, from, atom));
        for option in self.subquery(&state, scope, from, atom) {
            let mut next = state.clone();
            next.cost += option.cost;
            next.requires = option.requires;
            let term = if let Expr::Nested(..) = atom {
                Term::Sub(Arc::new(Sub::Nested(option.plan)))
            } else {
                let joined = match when {
                    When::Always => self.join(&mut next, &option.plan),
                    When::Needed => None,
                };
                joined.unwrap_or_else(|| Term::Sub(Arc::new(Sub::Scalar(option.plan))))
            };
            next.knows(atom.clone(), term);
            out.push(next);
        }
        out
    }

    /// Appends the steps of a scalar subplan to the plan itself, and returns its value. They must
    /// give exactly one tuple for each: point gets that keep a tuple without a row. One read then
    /// serves the order, the answer and the cursor alike.
    fn join(&self, state: &mut State, plan: &Plan) -> Option<Term> {
        let value = plan.output.first()?.term.clone();
        let (op, frames) = self.appended(&state.op, &plan.root)?;
        state.op = Arc::new(op);
        state.frames += frames;
        Some(value)
    }

    /// The operators of a subplan over `base` instead of its input, and how many frames they add.
    fn appended(&self, base: &Op, op: &Op) -> Option<(Op, u16)> {
        match op {
            Op::Input => Some((base.clone(), 0)),
            Op::Get {
                input,
                get,
                outer: true,
                estimate,
            } if get.eq.len() == self.shapes.get(get.structure.into()).key_len() => {
                let (input, frames) = self.appended(base, input)?;
                let joined = Op::Get {
                    input: Arc::new(input),
                    get: get.clone(),
                    outer: true,
                    estimate: *estimate,
                };
                Some((joined, frames + 1))
            }
            _ => None,
        }
    }

    /// The subquery as a column of the row that bound its node: an embedded collection, or an
    /// aggregate in the anchor's row.
    fn embed(&mut self, state: &State, scope: &Scope, from: NodeId, atom: &Expr) -> Option<State> {
        let mentions = Mentions::of_expr(atom);
        if mentions.params || elements::follows(self.model, atom) {
            return None;
        }
        let (row, fetched) = match state.nodes.get(from as usize)?.as_ref()? {
            Source::Row {
                shape, at, fetched, ..
            } if at.is_empty() => (Some(*shape), fetched),
            Source::Row { fetched, .. } | Source::Carried { fetched, .. } => (None, fetched),
            Source::Element { .. } => return None,
        };
        let at_zero = atoms::rebase(atom, &|_| Some(0))?;
        let home = fetched
            .iter()
            .find(|f| f.element.is_empty() && f.steps.is_empty());
        let copies =
            |shape: &ShapeId| self.can_copy(*shape) && self.shapes.get(*shape).over.is_empty();
        let owner = home.map(|f| f.shape).or(row.filter(copies))?;
        // What a person keeps there is read there: that it may outgrow a row is a finding.
        let kept = self.is_given(owner) && self.shapes.get(owner).columns.contains(&at_zero);
        let possible = self.target.cost.rules.embedding && self.embeddable(scope, atom);
        if !kept && !possible {
            return None;
        }
        self.take_from(state, owner, &[], 0, &[&at_zero])
    }

    /// An aggregate that a change maintains must be one that has a difference, and one that may
    /// stand among other values; a collection, or a value as it is, must fit into a row.
    fn embeddable(&self, scope: &Scope, atom: &Expr) -> bool {
        if let Expr::Aggregate(a) = atom
            && !a.copies()
        {
            let has_difference = !a.distinct || a.function == crate::model::AggregateFn::Count;
            let apart = self.target.capabilities.counters_apart;
            return has_difference && !(apart && is_counter(self.model, scope, atom));
        }
        let limits = &self.target.limits;
        let elements = self.stats.elements(scope, atom);
        self.stats.bytes(scope, atom).max <= limits.row_bytes * FILL
            && limits.collection_elements.is_none_or(|l| elements <= l)
    }

    fn subquery(
        &mut self,
        state: &State,
        scope: &Scope,
        from: NodeId,
        atom: &Expr,
    ) -> Vec<PlanOption> {
        let asked = Asked::Value(atom);
        self.subplans_for(state, scope, from, asked, |planner, start| match atom {
            Expr::Nested(_, query) => {
                let inner = scope.inner(planner.model, from, &query.over);
                planner.answer(start, query, &inner)
            }
            Expr::Aggregate(a) => {
                let inner = scope.inner(planner.model, from, &a.over);
                planner.aggregate_options(start, a, &inner)
            }
            _ => vec![],
        })
    }

    /// All ways to test an `exists` for the rows of a state.
    pub(super) fn exists_options(
        &mut self,
        state: &State,
        scope: &Scope,
        from: NodeId,
        over: &[crate::model::Unfold],
        filter: Option<&Pred>,
    ) -> Vec<(State, Test)> {
        let asked = Asked::Exists(over, filter);
        let options = self.subplans_for(state, scope, from, asked, |planner, start| {
            let inner = scope.inner(planner.model, from, over);
            let filters: Vec<Pred> = all_of(filter).into_iter().cloned().collect();
            let found = planner.bound_and_filtered(start, over, &filters, &inner, None, &[]);
            undominated(found.into_iter().map(without_output).collect())
        });
        let tested = options.into_iter().map(|option| {
            let mut next = state.clone();
            next.cost += option.cost;
            next.requires = option.requires;
            (next, Test::Exists(Arc::new(option.plan.root)))
        });
        tested.collect()
    }
}

/// A plan that only tells whether there are rows.
fn without_output(found: Partial) -> PlanOption {
    let state = found.state;
    PlanOption {
        plan: Plan {
            outer: state.outer,
            root: Arc::unwrap_or_clone(state.op),
            output: vec![],
            cursor: vec![],
        },
        cost: state.cost,
        rows: state.rows,
        requires: state.requires,
    }
}
