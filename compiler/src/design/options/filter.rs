//! The conditions that no get has made good: tested on rows, all at once or in stages.

use super::atoms;
use super::bind::Partial;
use super::{Planner, State};
use crate::design::plan::{Estimate, Op, Test};
use crate::model::{Expr, Pred, ReferenceId};
use crate::view::typing::Scope;
use std::sync::Arc;

impl Planner<'_> {
    /// Applies the filters that no get has made good: all at once, and one after the other, so that
    /// what a far one is about is fetched only for rows that the near ones have let pass.
    pub(super) fn filter(
        &mut self,
        partial: Partial,
        filters: &[Pred],
        scope: &Scope,
    ) -> Vec<Partial> {
        if partial.left.is_empty() {
            return vec![partial];
        }
        let mut out = self.filter_by(&partial, &partial.left, filters, scope);
        // Within a larger plan few ways are followed, and these would take the room of others.
        if self.depth > 0 {
            return out;
        }
        let stages = self.stages(&partial, filters, scope);
        if stages.len() > 1 {
            let mut staged = vec![partial];
            for stage in &stages {
                let next = staged.into_iter();
                let next = next.flat_map(|p| self.filter_by(&p, stage, filters, scope));
                let next = next.collect();
                staged = self.trim_partials(next);
            }
            out.extend(staged);
        }
        out
    }

    /// The filters that are left in the order in which they are best applied: those of the
    /// instances at hand, then those of what these refer to, those that let fewest pass first, then
    /// those that look for others.
    fn stages(&self, partial: &Partial, filters: &[Pred], scope: &Scope) -> Vec<Vec<usize>> {
        type Distance = (bool, Vec<ReferenceId>);
        let mut stages: Vec<(Distance, Vec<usize>)> = Vec::new();
        for &at in &partial.left {
            let Some(pred) = filters.get(at) else {
                continue;
            };
            let distance = self.distance(pred);
            match stages.iter_mut().find(|(d, _)| *d == distance) {
                Some((_, stage)) => stage.push(at),
                None => stages.push((distance, vec![at])),
            }
        }
        let passes = |stage: &Vec<usize>| self.stats.passes_left(scope, filters, stage);
        stages.sort_by(|(a, x), (b, y)| {
            let far = |d: &Distance| (d.0, !d.1.is_empty());
            far(a)
                .cmp(&far(b))
                .then_with(|| passes(x).total_cmp(&passes(y)))
        });
        stages.into_iter().map(|(_, stage)| stage).collect()
    }

    /// How far away is what a condition is about: whether others are looked for, and over which
    /// references it is reached, the longest way of all.
    fn distance(&self, pred: &Pred) -> (bool, Vec<ReferenceId>) {
        let (mut atoms, mut exists) = (Vec::new(), Vec::new());
        atoms::of_pred(pred, &mut atoms);
        collect_exists(pred, &mut exists);
        let paths = atoms.iter().filter_map(|atom| match atom {
            Expr::Path { steps, .. } => steps.get(..self.known_at(atom)),
            _ => None,
        });
        let subquery = atoms.iter().any(|a| !matches!(a, Expr::Path { .. }));
        let longest = paths.max_by_key(|steps| steps.len());
        let way = longest.map(<[ReferenceId]>::to_vec).unwrap_or_default();
        (subquery || !exists.is_empty(), way)
    }

    /// Applies some of the filters that no get has made good.
    fn filter_by(
        &mut self,
        partial: &Partial,
        applied: &[usize],
        filters: &[Pred],
        scope: &Scope,
    ) -> Vec<Partial> {
        let left: Vec<&Pred> = applied.iter().filter_map(|&i| filters.get(i)).collect();
        let mut wanted = Vec::new();
        left.iter().for_each(|p| atoms::of_pred(p, &mut wanted));
        let wanted = self.whole_keys(&wanted);
        let mut exists = Vec::new();
        left.iter().for_each(|p| collect_exists(p, &mut exists));
        let rest = partial.left.iter().filter(|i| !applied.contains(i));
        let rest: Vec<usize> = rest.copied().collect();
        let all = self.stats.passes_left(scope, filters, &partial.left);
        // What the rest lets nothing pass of is not divided by that.
        let after = self.stats.passes_left(scope, filters, &rest);
        let pass = if after > 0.0 { all / after } else { all } * partial.narrowed;
        let mut out = Vec::new();
        for state in self.supply_on_need(partial.state.clone(), scope, &wanted) {
            let mut ways: Vec<(State, Vec<(Pred, Test)>)> = vec![(state, vec![])];
            for pred in &exists {
                let Pred::Exists { from, over, filter } = pred else {
                    continue;
                };
                let mut next = Vec::new();
                for (state, tests) in ways {
                    for (state, test) in
                        self.exists_options(&state, scope, *from, over, filter.as_deref())
                    {
                        let mut tests = tests.clone();
                        tests.push((pred.clone(), test));
                        next.push((state, tests));
                    }
                }
                next.sort_by(|(a, _), (b, _)| a.cost.total_cmp(&b.cost));
                ways = self.both_ways(
                    next,
                    self.followed(),
                    |(state, _)| (state.cost, &state.requires),
                    |_, _| false,
                );
            }
            for (mut state, known) in ways {
                let tests: Option<Vec<Test>> =
                    left.iter().map(|p| self.test(&state, p, &known)).collect();
                let Some(tests) = tests else { continue };
                state.rows *= pass;
                let estimate = Estimate {
                    rows: state.rows,
                    ..Estimate::default()
                };
                state.op = Arc::new(filtered(state.op, tests, estimate));
                out.push(Partial {
                    state,
                    left: rest.clone(),
                    narrowed: 1.0,
                    ..partial.clone()
                });
            }
        }
        out
    }

    pub(super) fn test(&self, state: &State, pred: &Pred, known: &[(Pred, Test)]) -> Option<Test> {
        let all = |list: &[Pred]| {
            list.iter()
                .map(|p| self.test(state, p, known))
                .collect::<Option<Vec<_>>>()
        };
        Some(match pred {
            Pred::And(list) => Test::And(all(list)?),
            Pred::Or(list) => Test::Or(all(list)?),
            Pred::Not(p) => Test::Not(Box::new(self.test(state, p, known)?)),
            Pred::Compare(a, op, b) => {
                Test::Compare(self.term(state, a)?, *op, self.term(state, b)?)
            }
            Pred::In(a, list) => {
                let list: Option<Vec<_>> = list.iter().map(|e| self.term(state, e)).collect();
                Test::In(self.term(state, a)?, list?)
            }
            Pred::InList(a, b) => Test::InList(self.term(state, a)?, self.term(state, b)?),
            Pred::IsNull(a) => Test::IsNull(self.term(state, a)?),
            Pred::Exists { .. } => known.iter().find(|(p, _)| p == pred)?.1.clone(),
        })
    }
}

/// Tests the tuples of an operator; where these are tested already, in one go.
fn filtered(op: Arc<Op>, tests: Vec<Test>, estimate: Estimate) -> Op {
    match &*op {
        Op::Filter {
            input,
            tests: before,
            ..
        } => Op::Filter {
            input: Arc::clone(input),
            tests: before.iter().cloned().chain(tests).collect(),
            estimate,
        },
        _ => Op::Filter {
            input: op,
            tests,
            estimate,
        },
    }
}

fn collect_exists(pred: &Pred, out: &mut Vec<Pred>) {
    match pred {
        Pred::And(list) | Pred::Or(list) => list.iter().for_each(|p| collect_exists(p, out)),
        Pred::Not(p) => collect_exists(p, out),
        Pred::Exists { .. } if !out.contains(pred) => out.push(pred.clone()),
        _ => {}
    }
}
