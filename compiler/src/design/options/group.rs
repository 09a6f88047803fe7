//! Maintained aggregates: counters and sums per group, kept as structures of their own.

use super::atoms::{rebase, rebase_pred, rebase_unfolds};
use super::bind::{Partial, Wish, is_key_expr};
use super::kept::{Asked, is_kept};
use super::query::{free_order, group_aggregates, limit_rows};
use super::{PlanOption, Planner, State};
use crate::design::plan::{Aggregation, Estimate, Op, Output, Plan, Term};
use crate::design::shape::reference_paths;
use crate::model::{Aggregate, EntityId, Expr, Item, Many, NodeId, Query, Type, Unfold};
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
        let inside = self.led_to(start, &a.over, scope)?;
        let of_group = Aggregate {
            function: a.function,
            distinct: a.distinct,
            from: 0,
            over: vec![],
            arg: match &a.arg {
                Some(arg) => Some(rebase(arg, &inner_node)?),
                None => None,
            },
        };
        let partial = unfiltered(inside.state, 0);
        let asked = Asked {
            over: &inside.over,
            by: &[],
            aggregates: std::slice::from_ref(&of_group),
            filters: &[],
        };
        let (anchor, given) = (inside.anchor, &inside.given);
        let problem = self.problem_inside(&partial, &Some, anchor, given, &[], None);
        let inner = Scope::new(self.model, anchor, &inside.over);
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

    /// What refers to the instance that a subquery starts at, where its first unfold leads there.
    fn led_to(&mut self, start: &State, over: &[Unfold], scope: &Scope) -> Option<Inside> {
        let (first, rest) = over.split_first()?;
        let Many::Back(reference) = first.many else {
            return None;
        };
        if first.parent != 0 {
            return None;
        }
        let over = rebase_unfolds(rest, &inner_node)?;
        let entity = self.model.reference(reference).entity;
        let target = self.model.reference(reference).target;
        let keys = self.model.key_leaf_paths(target, 0, &[], &first.steps);
        let state = self
            .supply(start.clone(), scope, &keys)
            .into_iter()
            .next()?;
        let terms: Option<Vec<Term>> = keys.iter().map(|k| self.locate(&state, k)).collect();
        let paths = reference_paths(self.model, reference);
        Some(Inside {
            anchor: self.model.entity(entity).root,
            over,
            given: paths.into_iter().zip(terms?).collect(),
            state: State {
                nodes: Rc::new(vec![None]),
                ..state
            },
        })
    }

    /// The ways to answer a grouped query of what refers to an outer row from groups that are kept.
    pub(super) fn answer_kept_inside(
        &mut self,
        start: &State,
        query: &Query,
        scope: &Scope,
    ) -> Option<Vec<PlanOption>> {
        let inside = self.led_to(start, &query.over, scope)?;
        let query = seen_from_inside(query, &inside)?;
        let scope = Scope::new(self.model, inside.anchor, &query.over);
        let order = free_order(&query);
        let found = self.group_options(&inside.state, &inside.given, &query, &scope);
        let options = found
            .into_iter()
            .flat_map(|partial| self.finish(partial, &query, &scope, &order, start.rows));
        Some(options.collect())
    }

    /// A grouped query from groups that are kept: states whose known values are the query's group
    /// expressions and aggregates. `given`: equalities that lead from an outer row.
    pub(super) fn group_options(
        &mut self,
        start: &State,
        given: &[(Expr, Term)],
        query: &Query,
        scope: &Scope,
    ) -> Vec<Partial> {
        let Some(by) = &query.group else {
            return vec![];
        };
        if !by.iter().all(|e| is_key_expr(self.model, e)) {
            return vec![];
        }
        let aggregates = group_aggregates(query);
        // Nothing is equal to null, so that its group could not be looked for; and of an outer row,
        // nothing is left beside groups that are put together.
        let known = |e: &Expr| !scope.type_of(self.model, &self.params, e).1;
        let findable = given.is_empty() && query.over.is_empty() && by.iter().all(known);
        let partial = unfiltered(start.clone(), query.filter.len());
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
        let problem = self.problem_inside(&partial, &Some, anchor, given, &query.filter, wish);
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

/// What refers to an outer row, as a scope of its own.
struct Inside {
    anchor: EntityId,
    over: Vec<Unfold>,
    /// The equalities that lead there.
    given: Vec<(Expr, Term)>,
    state: State,
}

/// The number of a node in the scope of what refers to an outer row; none of that row itself.
fn inner_node(node: NodeId) -> Option<NodeId> {
    node.checked_sub(1)
}

/// A subquery as one of its own of what refers to the outer row; none where it is about that, too.
fn seen_from_inside(query: &Query, inside: &Inside) -> Option<Query> {
    let seen = |e: &Expr| rebase(e, &inner_node);
    let select = query.select.iter().map(|item| {
        let expr = seen(&item.expr)?;
        Some(Item {
            expr,
            ..item.clone()
        })
    });
    let order = query.order.iter().map(|(e, d)| Some((seen(e)?, *d)));
    let filter = query.filter.iter().map(|p| rebase_pred(p, &inner_node));
    let group = match &query.group {
        Some(by) => Some(by.iter().map(seen).collect::<Option<_>>()?),
        None => None,
    };
    Some(Query {
        anchor: inside.anchor,
        over: inside.over.clone(),
        subject: inner_node(query.subject)?,
        filter: filter.collect::<Option<_>>()?,
        select: select.collect::<Option<_>>()?,
        group,
        order: order.collect::<Option<_>>()?,
        ..query.clone()
    })
}

/// A partial plan none of whose so many filters is made good.
fn unfiltered(state: State, filters: usize) -> Partial {
    Partial {
        state,
        left: (0..filters).collect(),
        narrowed: 1.0,
        ordered: false,
        paged: false,
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
