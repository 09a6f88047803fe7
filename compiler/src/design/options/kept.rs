//! Groups that are kept: how a question about groups is answered from a structure of groups, its
//! own or finer ones.
//!
//! A structure's row is a group of the question where each key part is a value of the question's
//! group or the same for all of its answer: then it is read as it is, in the order of the key.
//! Else several rows make up a group, and their aggregates are put together again.

use super::atoms::Mentions;
use super::bind::{Partial, Wish, is_key_expr};
use super::matching::Match;
use super::problem::Problem;
use super::{Planner, State};
use crate::design::plan::{Aggregation, Estimate, Op, Term, Test};
use crate::design::shape::ShapeId;
use crate::design::spread::bucket_follows;
use crate::model::{Aggregate, AggregateFn, Expr, Function, Model, Pred, Type, Unfold};
use crate::view::typing::Scope;
use crate::view::{Kind, Structure, elements};
use std::rc::Rc;
use std::sync::Arc;

/// Bytes of a row of groups, as it is priced.
const WIDTH: f64 = 16.0;

/// What is asked of groups.
pub(super) struct Asked<'q> {
    pub(super) over: &'q [Unfold],
    /// The values that make up a group; none: there is one group, whatever there is.
    pub(super) by: &'q [Expr],
    pub(super) aggregates: &'q [Aggregate],
    pub(super) filters: &'q [Pred],
}

/// Groups as a structure gives them.
pub(super) struct Given {
    pub(super) partial: Partial,
    /// Aggregates that it does not give.
    pub(super) missing: Vec<Aggregate>,
}

/// Where an aggregate of a group comes from in a structure's rows.
enum Part {
    /// It is a column.
    Stored(Term),
    /// Each row has one of the values that it is of.
    Each(Term),
}

impl Planner<'_> {
    /// What is asked, from every structure of groups that gives it.
    pub(super) fn kept_groups(
        &mut self,
        start: &Partial,
        asked: &Asked,
        problem: &Problem,
        scope: &Scope,
        wish: Option<&Wish>,
    ) -> Vec<Given> {
        let mut out = Vec::new();
        for shape in 0..self.shapes.all.len() {
            let s = self.shapes.get(shape);
            let alike =
                s.kind == Kind::Groups && s.anchor == problem.entity && s.over == asked.over;
            if !alike {
                continue;
            }
            for m in problem.matches_own(self, s, start.state.frames) {
                out.extend(self.groups_from(start, asked, problem, shape, &m, scope, wish));
            }
        }
        out
    }

    fn groups_from(
        &mut self,
        start: &Partial,
        asked: &Asked,
        problem: &Problem,
        shape: ShapeId,
        m: &Match,
        scope: &Scope,
        wish: Option<&Wish>,
    ) -> Option<Given> {
        self.steps += 1;
        let s = self.shapes.get(shape).clone();
        let left = m.left(start);
        let own = is_own(&s, m, asked.by);
        // Where there is always an answer, only one row can be it, found or not.
        let point = m.lists.is_empty() && m.through.is_none();
        let alone = !asked.by.is_empty() || point && left.is_empty() && !m.scans;
        let direct = own && alone && !asked.aggregates.iter().any(|a| self.is_each(&s, a));
        let mut m = m.clone();
        m.ordered &= direct;
        let wish = wish.filter(|_| direct);
        let order = self.wished_order(problem, &m, &s, start.state.frames)?;
        let reach = self.reach(shape, &m, problem, start, &left, asked.filters, scope, wish);
        let always = asked.by.is_empty();
        let mut state = self.read(
            &start.state,
            shape,
            &m,
            &reach,
            WIDTH,
            order,
            direct && always,
        );
        let frame = state.frames - 1;
        state.known = Rc::new(known_of_key(&s, frame));
        state.nodes = Rc::new(vec![None]);
        let by: Option<Vec<Term>> = asked.by.iter().map(|e| self.term(&state, e)).collect();
        let by = by?;
        if !left.is_empty() {
            let left = left.iter().filter_map(|&i| asked.filters.get(i));
            let tests: Option<Vec<Test>> = left.map(|p| self.test(&state, p, &[])).collect();
            state.rows *= reach.pass;
            state.op = Arc::new(Op::Filter {
                input: state.op,
                tests: tests?,
                estimate: Estimate {
                    rows: state.rows,
                    ..Estimate::default()
                },
            });
        }
        let mut missing = Vec::new();
        let mut parts = Vec::new();
        for a in asked.aggregates {
            match self.part(&mut state, shape, a) {
                Some(part) => parts.push((a, part)),
                None => missing.push(a.clone()),
            }
        }
        let state = if direct {
            as_it_is(state, asked.by, by, parts)
        } else {
            self.together(state, asked.by, by, parts, start.state.rows, scope)
        };
        let partial = Partial {
            state,
            left: vec![],
            narrowed: 1.0,
            ordered: m.ordered,
            paged: reach.page.is_some(),
        };
        Some(Given { partial, missing })
    }

    /// Where an aggregate comes from in a row of groups; none where it does not.
    fn part(&mut self, state: &mut State, shape: ShapeId, a: &Aggregate) -> Option<Part> {
        if maintainable(self.model, a)
            && let Some(column) = self.stored_aggregate(state, shape, a)
        {
            return Some(Part::Stored(column));
        }
        let of = a.arg.as_ref().filter(|_| of_each(a))?;
        self.term(state, of).map(Part::Each)
    }

    /// Whether an aggregate is taken of what stands in a structure's key.
    fn is_each(&self, s: &Structure, a: &Aggregate) -> bool {
        let known = known_of_key(s, 0);
        let atom = |e: &Expr| {
            let mut known = known.iter();
            known.find(|(k, _)| k == e).map(|(_, term)| term.clone())
        };
        let mut of = a.arg.iter().filter(|_| of_each(a));
        of.any(|of| self.compute(of, &atom).is_some())
    }

    /// The column of an aggregate in the newest frame, a row of groups. A sum and an average are
    /// read off the same state, and what a structure keeps already comes first.
    fn stored_aggregate(
        &mut self,
        state: &mut State,
        shape: ShapeId,
        a: &Aggregate,
    ) -> Option<Term> {
        let of = |function| {
            Expr::Aggregate(Box::new(Aggregate {
                function,
                distinct: false,
                from: 0,
                over: vec![],
                arg: a.arg.clone(),
            }))
        };
        let expr = match a.function {
            AggregateFn::Avg | AggregateFn::Sum => {
                let kept = of(AggregateFn::Avg);
                if self.shapes.get(shape).columns.contains(&kept) {
                    kept
                } else {
                    of(AggregateFn::Sum)
                }
            }
            function => of(function),
        };
        let (at, requirement) = self.shapes.column(shape, &expr)?;
        self.require(state, requirement);
        Some(column(state.frames - 1, at))
    }

    /// Puts the rows of each group together.
    fn together(
        &self,
        mut state: State,
        by: &[Expr],
        group: Vec<Term>,
        parts: Vec<(&Aggregate, Part)>,
        outer: f64,
        scope: &Scope,
    ) -> State {
        let cost = state.rows * self.target.cost.sort_row;
        let groups = self.stats.values(scope, by.iter());
        state.cost += cost;
        state.rows = if by.is_empty() {
            outer
        } else {
            state.rows.min(outer * groups)
        };
        let exprs = by.iter().cloned();
        let exprs = exprs.chain(parts.iter().map(|(a, _)| aggregate(a)));
        let known = exprs.enumerate().map(|(i, e)| (e, column(0, i)));
        state.known = Rc::new(known.collect());
        let aggregates = parts.into_iter().map(|(a, part)| match part {
            Part::Stored(of) => Aggregation {
                function: a.function,
                distinct: false,
                arg: Some(of),
                stored: true,
            },
            Part::Each(of) => Aggregation {
                function: a.function,
                distinct: a.distinct,
                arg: Some(of),
                stored: false,
            },
        });
        state.op = Arc::new(Op::Aggregate {
            aggregates: aggregates.collect(),
            input: state.op,
            group,
            always: by.is_empty(),
            estimate: Estimate {
                rows: state.rows,
                cost,
                ..Estimate::default()
            },
        });
        state.frames = 1;
        state.nodes = Rc::new(vec![None]);
        state
    }
}

/// Whether one row for each value is enough to know an aggregate of them.
fn of_each(a: &Aggregate) -> bool {
    a.distinct || matches!(a.function, AggregateFn::Min | AggregateFn::Max)
}

/// What the key of a row tells: its parts, and what times are when they are rounded further.
fn known_of_key(s: &Structure, frame: u16) -> Vec<(Expr, Term)> {
    let mut known: Vec<(Expr, Term)> = Vec::new();
    for (i, part) in s.key().enumerate() {
        known.push((part.clone(), column(frame, i)));
    }
    for (i, part) in s.key().enumerate() {
        let Expr::Call(_, args) = part else { continue };
        let [of] = args.as_slice() else { continue };
        let coarser = |f: &Function| f.rounds_time() && bucket_follows(part, *f, of);
        for f in Function::WRITTEN.into_iter().filter(coarser) {
            let rounded = Expr::Call(f, args.clone());
            if !known.iter().any(|(e, _)| *e == rounded) {
                known.push((rounded, Term::Call(f, vec![column(frame, i)])));
            }
        }
    }
    known
}

/// Rows that are the groups themselves.
fn as_it_is(
    mut state: State,
    by: &[Expr],
    group: Vec<Term>,
    parts: Vec<(&Aggregate, Part)>,
) -> State {
    state.known = Rc::new(by.iter().cloned().zip(group).collect());
    for (a, part) in parts {
        let (Part::Stored(of) | Part::Each(of)) = part;
        let read = match a.function {
            AggregateFn::Count => Some(Function::OrZero),
            AggregateFn::Avg => Some(Function::AvgOf),
            AggregateFn::Sum => Some(Function::SumOf),
            AggregateFn::Min | AggregateFn::Max | AggregateFn::Only => None,
        };
        let value = match read {
            Some(read) => Term::Call(read, vec![of]),
            None => of,
        };
        state.knows(aggregate(a), value);
    }
    state
}

fn aggregate(a: &Aggregate) -> Expr {
    Expr::Aggregate(Box::new(a.clone()))
}

fn column(frame: u16, at: usize) -> Term {
    Term::Column {
        frame,
        column: at as u16,
        path: vec![],
    }
}

/// Whether each row of a structure that a match reads is a group of its own: its other key parts
/// follow from the group's values and from what is the same for all rows.
fn is_own(s: &Structure, m: &Match, by: &[Expr]) -> bool {
    let bound = m.bound.iter();
    let one = bound.filter(|e| !m.listed.contains(e) && !m.gathered.contains(e));
    let fixed: Vec<&Expr> = one.chain(by).collect();
    s.key().all(|e| given(e, &fixed))
}

fn given(expr: &Expr, fixed: &[&Expr]) -> bool {
    fixed.contains(&expr)
        || match expr {
            Expr::Const(_) => true,
            Expr::Call(f, args) => {
                let rounded = |e: &&Expr| match args.as_slice() {
                    [of] => f.rounds_time() && bucket_follows(e, *f, of),
                    _ => false,
                };
                fixed.iter().any(rounded) || args.iter().all(|a| given(a, fixed))
            }
            _ => false,
        }
}

/// Whether groups can be kept for an aggregate: it is one of theirs, or of each value that stands
/// in their key.
pub(super) fn is_kept(model: &Model, a: &Aggregate) -> bool {
    let keyed = |e: &Expr| is_key_expr(model, e) && !Mentions::of_expr(e).params;
    maintainable(model, a) || a.distinct && a.arg.as_ref().is_some_and(keyed)
}

/// Whether an expression is an aggregate that whole numbers are added to: what stores keep as a
/// counter, by increments. An average, an extreme, a number of distinct values or a sum of what has
/// fractions is a value like any other.
pub(crate) fn is_counter(model: &Model, scope: &Scope, expr: &Expr) -> bool {
    let Expr::Aggregate(a) = expr else {
        return false;
    };
    !a.distinct
        && matches!(a.function, AggregateFn::Count | AggregateFn::Sum)
        && scope.type_of(model, &[], expr).0 == Type::BigInt
}

/// Aggregates whose difference needs nothing but the difference of their input.
pub(crate) fn maintainable(model: &Model, a: &Aggregate) -> bool {
    let plain = |e: &Expr| {
        let mut found = Vec::new();
        super::atoms::of_expr(e, &mut found);
        found.iter().all(|a| matches!(a, Expr::Path { .. }))
            && !elements::follows(model, e)
            && !Mentions::of_expr(e).params
    };
    !a.distinct
        && matches!(
            a.function,
            AggregateFn::Count | AggregateFn::Sum | AggregateFn::Avg
        )
        && a.arg.as_ref().is_none_or(plain)
}
