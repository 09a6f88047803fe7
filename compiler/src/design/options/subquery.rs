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
use crate::model::{Expr, NodeId, Pred, Query};
use crate::value::Value;
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
        out.extend(self.embed_in_wider(&state, scope, from, atom));
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
        let owner = self.owner(state, from)?;
        let at_zero = atoms::rebase(atom, &|_| Some(0))?;
        // What a person keeps there is read there: that it may outgrow a row is a finding.
        let kept = self.is_given(owner) && self.shapes.get(owner).columns.contains(&at_zero);
        let possible = self.target.cost.rules.embedding && self.embeddable(scope, atom);
        if !kept && !possible {
            return None;
        }
        self.take_from(state, owner, &[], 0, &[&at_zero])
    }

    /// The candidate whose row may keep what is asked of a node: the row that bound it, or its home.
    fn owner(&self, state: &State, from: NodeId) -> Option<ShapeId> {
        let (row, fetched) = match state.nodes.get(from as usize)?.as_ref()? {
            Source::Row {
                shape, at, fetched, ..
            } if at.is_empty() => (Some(*shape), fetched),
            Source::Row { fetched, .. } | Source::Carried { fetched, .. } => (None, fetched),
            Source::Element { .. } => return None,
        };
        let home = fetched
            .iter()
            .find(|f| f.element.is_empty() && f.steps.is_empty());
        let copies =
            |shape: &ShapeId| self.can_copy(*shape) && self.shapes.get(*shape).over.is_empty();
        home.map(|f| f.shape).or(row.filter(copies))
    }

    /// The subquery as the first rows, and some of the values, of collections that are kept where it
    /// could be itself.
    fn embed_in_wider(
        &mut self,
        state: &State,
        scope: &Scope,
        from: NodeId,
        atom: &Expr,
    ) -> Vec<State> {
        let (Expr::Nested(_, asked), Some(owner)) = (atom, self.owner(state, from)) else {
            return vec![];
        };
        let columns = self.shapes.get(owner).columns.iter();
        let wider = columns.filter_map(|column| match column {
            Expr::Nested(0, wider) if has_all_of(wider, asked) => Some((**wider).clone()),
            _ => None,
        });
        let wider: Vec<Query> = wider.collect();
        let taken = wider
            .iter()
            .filter_map(|wider| self.first_of(state, scope, from, owner, wider, asked));
        let taken = taken.map(|(mut state, plan)| {
            state.knows(atom.clone(), Term::Sub(Arc::new(Sub::Nested(plan))));
            state
        });
        taken.collect()
    }

    /// A state that reads a kept collection, and the plan that takes from it what is asked.
    fn first_of(
        &mut self,
        state: &State,
        scope: &Scope,
        from: NodeId,
        owner: ShapeId,
        wider: &Query,
        asked: &Query,
    ) -> Option<(State, Plan)> {
        let kept = |node| Expr::Nested(node, Box::new(wider.clone()));
        let next = self.take_from(state, owner, &[], 0, &[&kept(0)])?;
        let of = self.locate(&next, &kept(from))?;
        let mut rows = next.subplan(from);
        let frame = rows.frames;
        rows.frames += 1;
        rows.then(|input| Op::Elements { input, of });
        for (at, item) in wider.select.iter().enumerate() {
            let value = Term::Column {
                frame,
                column: 0,
                path: vec![at as u16],
            };
            rows.knows(item.expr.clone(), value);
        }
        let partial = Partial {
            state: rows,
            left: vec![],
            narrowed: 1.0,
            ordered: true,
            paged: false,
        };
        let inner = scope.inner(self.model, from, &asked.over);
        let options = self.finish(partial, asked, &inner, &[], next.rows);
        let plan = options.into_iter().next()?.plan;
        Some((next, plan))
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

/// Whether the rows of a collection begin with those of another one, and have all of their values.
fn has_all_of(wider: &Query, asked: &Query) -> bool {
    let rows = |q: &Query| match &q.limit {
        None => Some(f64::INFINITY),
        Some(Expr::Const(Value::Int(n))) => Some(*n as f64),
        Some(_) => None,
    };
    let enough = match (rows(wider), rows(asked)) {
        (Some(all), Some(first)) => first <= all,
        _ => false,
    };
    let value = |e: &Expr| wider.select.iter().any(|item| item.expr == *e);
    let grouped = wider.group.is_some() || asked.group.is_some();
    enough
        && wider.over == asked.over
        && wider.filter == asked.filter
        && wider.order == asked.order
        && !grouped
        && wider.page.is_none()
        && asked.page.is_none()
        && wider != asked
        && asked.select.iter().all(|item| value(&item.expr))
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
