//! Maintained aggregates: counters and sums per group, kept as structures of their own.

use super::atoms::{Mentions, rebase, rebase_unfolds};
use super::bind::is_key_expr;
use super::locate::key_leaf_paths;
use super::query::group_aggregates;
use super::{PlanOption, Planner, State};
use crate::design::plan::{Aggregation, Estimate, Get, Op, Output, Plan, Term, Test};
use crate::design::shape::{Requirement, ShapeId, reference_paths, skeleton};
use crate::design::spread::everything;
use crate::model::{
    Aggregate, AggregateFn, Compare, Direction, Expr, Function, Many, NodeId, Pred, Query, Type,
};
use crate::view::Kind;
use crate::view::typing::Scope;

impl Planner<'_> {
    /// All ways to compute an aggregate over a subquery, as a plan of one row and one column.
    pub(super) fn aggregate_options(
        &mut self,
        start: State,
        a: &Aggregate,
        scope: &Scope,
    ) -> Vec<PlanOption> {
        let mut out: Vec<PlanOption> = self.counted(&start, a, scope).into_iter().collect();
        out.extend(self.extreme_options(start.clone(), a, scope));
        for partial in self.bound_and_filtered(start, &a.over, 0, &[], scope, None) {
            let mut wanted = Vec::new();
            a.arg
                .iter()
                .for_each(|e| super::atoms::of_expr(e, &mut wanted));
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
        state.op = Op::Aggregate {
            input: Box::new(state.op),
            group: vec![],
            aggregates: vec![aggregation],
            always: true,
            estimate: Estimate {
                rows,
                cost,
                ..Estimate::default()
            },
        };
        let value = Term::Column {
            frame: 0,
            column: 0,
            path: vec![],
        };
        scalar(state, value)
    }

    /// The aggregate from a counter keyed by the instance that the subquery starts at.
    fn counted(&mut self, start: &State, a: &Aggregate, scope: &Scope) -> Option<PlanOption> {
        let (first, rest) = a.over.split_first()?;
        let Many::Back(reference) = first.many else {
            return None;
        };
        if first.parent != 0 || !maintainable(a) {
            return None;
        }
        let shift = |n: NodeId| n.checked_sub(1);
        let over = rebase_unfolds(rest, &shift)?;
        let arg = match &a.arg {
            Some(arg) => Some(rebase(arg, &shift)?),
            None => None,
        };
        let anchor = self.model.reference(reference).entity;
        let partition = reference_paths(self.model, reference);
        let s = skeleton(
            self.model,
            anchor,
            &over,
            &[],
            partition,
            vec![],
            Kind::Groups,
        );
        let shape = self.group_shapes(s).pop()?;
        let target = self.model.reference(reference).target;
        let keys = key_leaf_paths(self.model, target, 0, &[], &first.steps);
        let mut states = self.supply(start.clone(), scope, &keys);
        let state = states.drain(..).next()?;
        let eq: Option<Vec<Term>> = keys.iter().map(|k| self.locate(&state, k)).collect();
        let state = self.get_group(&state, shape, eq?, true)?;
        let (state, value) = self.group_value(state, shape, a, arg)?;
        Some(scalar(state, value))
    }

    /// Candidates of groups, known or new: one, or the ways of spreading it.
    fn group_shapes(&mut self, s: crate::view::Structure) -> Vec<ShapeId> {
        let scope = Scope::new(self.model, s.anchor, &s.over);
        let scalar = s
            .key()
            .all(|e| scope.type_of(self.model, &[], e).0.is_scalar());
        if !scalar {
            return vec![];
        }
        self.spread_shapes(s)
    }

    /// Reads groups by the first parts of their key; those of a spread candidate from every salt
    /// or bucket.
    fn get_group(
        &self,
        state: &State,
        shape: ShapeId,
        eq: Vec<Term>,
        outer: bool,
    ) -> Option<State> {
        let s = self.shapes.get(shape);
        let bound: Vec<&Expr> = s.key().take(eq.len()).collect();
        let per = self.stats.rows_per(s, &bound).avg;
        let mut next = state.clone();
        let m = self.whole_partition(s, eq, next.frames)?;
        if let Some(through) = &m.through {
            self.get_directory(&mut next, through, s, per);
        }
        let gets = next.rows * m.each.as_ref().map_or(1.0, |each| each.len() as f64);
        let rows = state.rows * per;
        let cost = self.read_cost(self.stats.rows(s), gets, rows, 16.0);
        next.cost += cost;
        next.requires.insert(Requirement {
            shape,
            column: None,
        });
        next.frames += 1;
        let get = Get {
            structure: shape as u16,
            eq: m.eq,
            lower: None,
            upper: None,
            reverse: false,
            page: None,
        };
        let estimate = Estimate {
            rows,
            reads: rows,
            gets,
            cost,
        };
        let input = Box::new(next.op);
        next.op = match m.each {
            None => Op::Get {
                input,
                get,
                outer,
                estimate,
            },
            Some(list) => Op::Merge {
                input,
                list,
                get,
                order: vec![],
                estimate,
            },
        };
        next.rows = if outer { rows.max(state.rows) } else { rows };
        Some(next)
    }

    /// The aggregate's value in the newest frame, a row of groups.
    fn group_value(
        &mut self,
        mut state: State,
        shape: ShapeId,
        a: &Aggregate,
        arg: Option<Expr>,
    ) -> Option<(State, Term)> {
        let function = if a.function == AggregateFn::Avg {
            AggregateFn::Sum
        } else {
            a.function
        };
        let stored = Aggregate {
            function,
            distinct: false,
            from: 0,
            over: vec![],
            arg,
        };
        let expr = Expr::Aggregate(Box::new(stored));
        let (column, requirement) = self.shapes.column(shape, &expr)?;
        state.requires.insert(requirement);
        let column = Term::Column {
            frame: state.frames - 1,
            column: column as u16,
            path: vec![],
        };
        let read = match a.function {
            AggregateFn::Count => Function::OrZero,
            AggregateFn::Avg => Function::AvgOf,
            _ => Function::SumOf,
        };
        Some((state, Term::Call(read, vec![column])))
    }

    /// A grouped query from groups that are kept: states whose known values are the query's group
    /// expressions and aggregates.
    pub(super) fn group_options(
        &mut self,
        start: &State,
        query: &Query,
        scope: &Scope,
    ) -> Vec<State> {
        let Some(by) = &query.group else {
            return vec![];
        };
        let aggregates = group_aggregates(query);
        let (mut kept, extremes): (Vec<Aggregate>, Vec<Aggregate>) =
            aggregates.into_iter().partition(maintainable);
        let nested = start.nodes.first().is_some_and(Option::is_some);
        if nested || !by.iter().all(is_key_expr) {
            return vec![];
        }
        if !extremes.is_empty() {
            // Nothing is equal to null, so that its group could not be looked for.
            let known = |e: &Expr| !scope.type_of(self.model, &self.params, e).1;
            let found = extremes.iter().all(|a| self.is_extreme(a, scope));
            if !found || !query.over.is_empty() || !by.iter().all(known) {
                return vec![];
            }
            match (kept.is_empty(), by.is_empty()) {
                // There is one group, whatever there is.
                (true, true) => return self.with_extremes(start.clone(), query, &extremes, scope),
                // What groups there are has to be known.
                (true, false) => kept.push(Aggregate {
                    function: AggregateFn::Count,
                    distinct: false,
                    from: 0,
                    over: vec![],
                    arg: None,
                }),
                (false, _) => {}
            }
        }
        let mut eqs: Vec<(Expr, Expr)> = Vec::new();
        let mut fixed = Vec::new();
        let mut later = Vec::new();
        for pred in &query.filter {
            match pred {
                Pred::Compare(a, Compare::Eq, b)
                    if is_key_expr(a)
                        && Mentions::of_expr(b).nodes.is_empty()
                        && !eqs.iter().any(|(e, _)| e == a) =>
                {
                    eqs.push((a.clone(), b.clone()));
                }
                p if !Mentions::of_pred(p).params => fixed.push(p.clone()),
                Pred::Compare(a, ..) if by.contains(a) => later.push(pred.clone()),
                _ => return vec![],
            }
        }
        eqs.sort();
        let directed = |e: &Expr| {
            query
                .order
                .iter()
                .find(|(o, _)| o == e)
                .map_or(Direction::Asc, |(_, d)| *d)
        };
        let mut clustering: Vec<(Expr, Direction)> = Vec::new();
        let ordered = query
            .order
            .iter()
            .map(|(e, _)| e)
            .filter(|e| by.contains(e));
        for e in ordered.chain(by) {
            let bound = eqs.iter().any(|(q, _)| q == e);
            if !bound && !clustering.iter().any(|(c, _)| c == e) {
                clustering.push((e.clone(), directed(e)));
            }
        }
        let mut partition: Vec<Expr> = eqs.iter().map(|(e, _)| e.clone()).collect();
        let mut values: Vec<Expr> = eqs.iter().map(|(_, v)| v.clone()).collect();
        if partition.is_empty() && self.target.capabilities.partition_required {
            partition.push(everything());
            values.push(everything());
        }
        let s = skeleton(
            self.model,
            query.anchor,
            &query.over,
            &fixed,
            partition,
            clustering,
            Kind::Groups,
        );
        if follows_elements(&s) {
            return vec![];
        }
        let eq: Option<Vec<Term>> = values.iter().map(|v| self.term(start, v)).collect();
        let Some(eq) = eq else { return vec![] };
        let mut out = Vec::new();
        for shape in self.group_shapes(s) {
            let read = self
                .get_group(start, shape, eq.clone(), by.is_empty())
                .and_then(|state| self.read_groups(state, shape, by, &kept, &later));
            let Some(state) = read else { continue };
            out.extend(self.with_extremes(state, query, &extremes, scope));
        }
        out
    }

    /// Adds what is not kept with the groups to the rows of a state, each of which is one.
    fn with_extremes(
        &mut self,
        state: State,
        query: &Query,
        extremes: &[Aggregate],
        scope: &Scope,
    ) -> Vec<State> {
        let by = query.group.iter().flatten();
        let given = by.map(|e| Some((e.clone(), self.locate(&state, e)?)));
        let Some(given) = given.collect::<Option<Vec<(Expr, Term)>>>() else {
            return vec![];
        };
        let mut states = vec![state];
        for a in extremes {
            let with = states
                .iter()
                .flat_map(|state| self.with_extreme(state, query, &given, a, scope));
            states = super::trim(with.collect(), self.breadth());
        }
        states
    }

    /// The query's group expressions and aggregates from a row of groups.
    fn read_groups(
        &mut self,
        mut state: State,
        shape: ShapeId,
        by: &[Expr],
        aggregates: &[Aggregate],
        later: &[Pred],
    ) -> Option<State> {
        let frame = state.frames - 1;
        for e in by {
            let column = self.shapes.get(shape).key().position(|k| k == e)?;
            state.known.push((
                e.clone(),
                Term::Column {
                    frame,
                    column: column as u16,
                    path: vec![],
                },
            ));
        }
        for a in aggregates {
            let (next, term) = self.group_value(state, shape, a, a.arg.clone())?;
            state = next;
            state
                .known
                .push((Expr::Aggregate(Box::new(a.clone())), term));
        }
        if !later.is_empty() {
            let tests: Option<Vec<Test>> = later
                .iter()
                .map(|p| match p {
                    Pred::Compare(a, op, b) => Some(Test::Compare(
                        self.term(&state, a)?,
                        *op,
                        self.term(&state, b)?,
                    )),
                    _ => None,
                })
                .collect();
            let tests = tests?;
            state.rows *= crate::design::assumed::RANGE;
            let estimate = Estimate {
                rows: state.rows,
                ..Estimate::default()
            };
            state.op = Op::Filter {
                input: Box::new(state.op),
                tests,
                estimate,
            };
        }
        Some(state)
    }
}

/// Aggregates whose difference needs nothing but the difference of their input.
fn maintainable(a: &Aggregate) -> bool {
    let plain = |e: &Expr| {
        let mut found = Vec::new();
        super::atoms::of_expr(e, &mut found);
        found
            .iter()
            .all(|a| matches!(a, Expr::Path { element, .. } if element.is_empty()))
            && !Mentions::of_expr(e).params
    };
    !a.distinct
        && matches!(
            a.function,
            AggregateFn::Count | AggregateFn::Sum | AggregateFn::Avg
        )
        && a.arg.as_ref().is_none_or(plain)
}

/// No structure copies over references inside elements.
fn follows_elements(s: &crate::view::Structure) -> bool {
    let mut found = Vec::new();
    s.filter
        .iter()
        .for_each(|p| super::atoms::of_pred(p, &mut found));
    found
        .iter()
        .any(|a| matches!(a, Expr::Path { element, .. } if !element.is_empty()))
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
            root: state.op,
            output,
            cursor: vec![],
        },
        cost: state.cost,
        rows: state.rows,
        requires: state.requires,
    }
}
