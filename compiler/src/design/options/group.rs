//! Maintained aggregates: counters and sums per group, kept as structures of their own.

use super::atoms::{rebase, rebase_unfolds};
use super::bind::{Partial, Wish, is_key_expr};
use super::kept::{Asked, is_kept};
use super::query::{free_order, group_aggregates, limit_rows};
use super::{PlanOption, Planner, State};
use crate::design::plan::{Aggregation, Estimate, Op, Output, Plan, Term};
use crate::design::shape::reference_paths;
use crate::model::{Aggregate, Expr, Many, NodeId, Query, Type};
use crate::view::typing::Scope;
use std::rc::Rc;
use std::sync::Arc;

impl Planner<'_> {
    /// All ways to compute an aggregate over a subquery, as a plan of one row and one column.
    pub(super) fn aggregate_options(
        &mut self,
        start: State,
        a: &Aggregate,
        scope: &Scope,
    ) -> Vec<PlanOption> {
        let mut out = self.counted(&start, a, scope);
        out.extend(self.extreme_options(start.clone(), a, scope));
        let mut wanted = Vec::new();
        a.arg
            .iter()
            .for_each(|e| super::atoms::of_expr(e, &mut wanted));
        for partial in self.bound_and_filtered(start, &a.over, &[], scope, None, &wanted) {
            for state in self.supply(partial.state.clone(), scope, &wanted) {
                let arg = match &a.arg {
                    Some(arg) => match self.term(&state, arg) {
                        Some(term) => Some(term),
                        None => continue,
                    },
                    None => None,
                };
                let aggregation = Aggregation {
                    function: a.function,
                    distinct: a.distinct,
                    arg,
                    stored: false,
                };
                out.push(self.aggregated(state, aggregation, 1.0));
            }
        }
        super::undominated(out)
    }

    /// An aggregate of all rows of a state, as a plan of one column and so many rows, one for each
    /// row outside it. Where there is nothing to aggregate, there is a value all the same.
    pub(super) fn aggregated(
        &self,
        mut state: State,
        aggregation: Aggregation,
        rows: f64,
    ) -> PlanOption {
        let cost = state.rows * self.target.cost.sort_row;
        state.cost += cost;
        state.op = Arc::new(Op::Aggregate {
            input: state.op,
            group: vec![],
            aggregates: vec![aggregation],
            always: true,
            estimate: Estimate {
                rows,
                cost,
                ..Estimate::default()
            },
        });
        let value = Term::Column {
            frame: 0,
            column: 0,
            path: vec![],
        };
        scalar(state, value)
    }

    /// The aggregate from groups whose key begins with that of the instance that the subquery starts
    /// at.
    fn counted(&mut self, start: &State, a: &Aggregate, scope: &Scope) -> Vec<PlanOption> {
        self.counted_from(start, a, scope).unwrap_or_default()
    }

    fn counted_from(
        &mut self,
        start: &State,
        a: &Aggregate,
        scope: &Scope,
    ) -> Option<Vec<PlanOption>> {
        let (first, rest) = a.over.split_first()?;
        let Many::Back(reference) = first.many else {
            return None;
        };
        if first.parent != 0 {
            return None;
        }
        let shift = |n: NodeId| n.checked_sub(1);
        let over = rebase_unfolds(rest, &shift)?;
        let of_group = Aggregate {
            function: a.function,
            distinct: a.distinct,
            from: 0,
            over: vec![],
            arg: match &a.arg {
                Some(arg) => Some(rebase(arg, &shift)?),
                None => None,
            },
        };
        let anchor = self
            .model
            .entity(self.model.reference(reference).entity)
            .root;
        let target = self.model.reference(reference).target;
        let keys = self.model.key_leaf_paths(target, 0, &[], &first.steps);
        let state = self
            .supply(start.clone(), scope, &keys)
            .into_iter()
            .next()?;
        let terms: Option<Vec<Term>> = keys.iter().map(|k| self.locate(&state, k)).collect();
        let paths = reference_paths(self.model, reference);
        let given: Vec<(Expr, Term)> = paths.into_iter().zip(terms?).collect();
        let partial = Partial {
            state: State {
                nodes: Rc::new(vec![None]),
                ..state
            },
            left: vec![],
            narrowed: 1.0,
            ordered: false,
            paged: false,
        };
        let asked = Asked {
            over: &over,
            by: &[],
            aggregates: std::slice::from_ref(&of_group),
            filters: &[],
        };
        let problem = self.problem_inside(&partial, &Some, anchor, &given, &[], None);
        let inner = Scope::new(self.model, anchor, &over);
        if self.growing {
            self.grow_groups(&asked, &problem, &[]);
        }
        let found = self.kept_groups(&partial, &asked, &problem, &inner, None);
        let of_group = Expr::Aggregate(Box::new(of_group.clone()));
        let options = found.into_iter().filter_map(|given| {
            let state = given.partial.state;
            let value = self.locate(&state, &of_group)?;
            Some(scalar(state, value))
        });
        Some(options.collect())
    }

    /// A grouped query from groups that are kept: states whose known values are the query's group
    /// expressions and aggregates.
    pub(super) fn group_options(
        &mut self,
        start: &State,
        query: &Query,
        scope: &Scope,
    ) -> Vec<Partial> {
        let Some(by) = &query.group else {
            return vec![];
        };
        let nested = start.nodes.first().is_some_and(Option::is_some);
        if nested || !by.iter().all(|e| is_key_expr(self.model, e)) {
            return vec![];
        }
        let aggregates = group_aggregates(query);
        // Nothing is equal to null, so that its group could not be looked for.
        let known = |e: &Expr| !scope.type_of(self.model, &self.params, e).1;
        let findable = query.over.is_empty() && by.iter().all(known);
        let partial = Partial {
            state: start.clone(),
            left: (0..query.filter.len()).collect(),
            narrowed: 1.0,
            ordered: false,
            paged: false,
        };
        let mut out = Vec::new();
        if findable && by.is_empty() && aggregates.iter().all(|a| self.is_extreme(a, scope)) {
            // There is one group, whatever there is.
            out.extend(self.with_extremes(&partial, query, &aggregates, scope));
        }
        let wish = Wish {
            order: free_order(query),
            limit: query.limit.as_ref().map(limit_rows),
            page: query.page.clone(),
        };
        let asked = Asked {
            over: &query.over,
            by,
            aggregates: &aggregates,
            filters: &query.filter,
        };
        let anchor = self.model.entity(query.anchor).root;
        let wish = Some(&wish);
        let problem = self.problem_inside(&partial, &Some, anchor, &[], &query.filter, wish);
        let extreme = |a: &Aggregate| self.is_extreme(a, scope);
        if self.growing
            && aggregates
                .iter()
                .all(|a| is_kept(self.model, a) || findable && extreme(a))
        {
            self.grow_groups(&asked, &problem, &query.order);
        }
        for given in self.kept_groups(&partial, &asked, &problem, scope, wish) {
            let mut missing = given.missing.iter();
            if missing.all(|a| findable && self.is_extreme(a, scope)) {
                out.extend(self.with_extremes(&given.partial, query, &given.missing, scope));
            }
        }
        out
    }

    /// Adds what is not kept with the groups to the rows of a state, each of which is one.
    fn with_extremes(
        &mut self,
        partial: &Partial,
        query: &Query,
        extremes: &[Aggregate],
        scope: &Scope,
    ) -> Vec<Partial> {
        let by = query.group.iter().flatten();
        let given = by.map(|e| Some((e.clone(), self.locate(&partial.state, e)?)));
        let Some(given) = given.collect::<Option<Vec<(Expr, Term)>>>() else {
            return vec![];
        };
        let mut states = vec![partial.state.clone()];
        for a in extremes {
            let with = states
                .iter()
                .flat_map(|state| self.with_extreme(state, query, &given, a, scope));
            let with = with.collect();
            states = self.trim(with);
        }
        let with = states.into_iter().map(|state| Partial {
            state,
            left: vec![],
            ..partial.clone()
        });
        with.collect()
    }
}

fn scalar(state: State, value: Term) -> PlanOption {
    let output = vec![Output {
        name: "value".into(),
        term: value,
        ty: Type::Any,
    }];
    PlanOption {
        plan: Plan {
            outer: state.outer,
            root: Arc::unwrap_or_clone(state.op),
            output,
            cursor: vec![],
        },
        cost: state.cost,
        rows: state.rows,
        requires: state.requires,
    }
}
