//! From a plan to operators: looks up frames, layouts and parameters once.
//!
//! Steps are numbered as [`super::profile::steps`] lists them.

use super::aggregate::{self, Aggregate};
use super::answer::Top;
use super::bind::page_param;
use super::cursor::{Cursor, is_plain};
use super::direct::Direct;
use super::distinct::Distinct;
use super::elements::{self, Elements};
use super::feed::Feed;
use super::filter::Filter;
use super::get::Get;
use super::input::Input;
use super::limit::{First, Last};
use super::merge::{self, Merge};
use super::order::{Directed, opposite};
use super::page::Page;
use super::profile::input_of;
use super::sort::Sort;
use super::sub::Subs;
use super::term::Kind;
use super::{Ask, AskError, Boxed, Tuples};
use crate::store::Reader;
use querent_compiler::design::{self, Op, Plan, Term};
use querent_compiler::model::Direction;
use querent_compiler::value::Value;
use std::collections::{HashSet, VecDeque};
use std::marker::PhantomData;

/// What the operator above knows about its demand.
#[derive(Clone, Copy, Default)]
pub(super) struct Demand {
    /// No more tuples than this will be taken.
    pub(super) limit: Option<usize>,
    /// Tuples are wanted from the last to the first.
    pub(super) flip: bool,
}

/// Builds the operators of one answer.
pub(super) struct Builder<'a, R> {
    pub(super) ask: Ask<'a>,
    /// How many steps have been numbered.
    pub(super) steps: usize,
    reader: PhantomData<R>,
}

/// A plan's operators and the terms above them.
pub(super) struct Built<'a, R: Reader> {
    pub(super) root: Boxed<'a, R>,
    pub(super) stride: usize,
    pub(super) top: Top<'a, R>,
}

impl<'a, R: Reader + 'a> Builder<'a, R> {
    pub(super) fn new(ask: Ask<'a>) -> Self {
        Builder {
            ask,
            steps: 0,
            reader: PhantomData,
        }
    }

    /// Builds a plan inside the frames of an outer tuple.
    pub(super) fn plan(
        &mut self,
        plan: &'a Plan,
        outer: &[Kind<'a>],
    ) -> Result<Built<'a, R>, AskError> {
        let mut scope = outer.to_vec();
        let root = self.op(&plan.root, &mut scope, Demand::default())?;
        let mut subs = Subs::new();
        let output = plan
            .output
            .iter()
            .map(|o| self.term(&o.term, &scope, &mut subs));
        let output = output.collect::<Result<_, _>>()?;
        let bound = if plan.cursor.iter().all(is_plain) {
            None
        } else {
            Some(self.terms(&plan.cursor, &scope, &mut subs)?)
        };
        let stride = scope.len();
        let cursor = Cursor::new(bound, &plan.cursor, scope, self.ask);
        Ok(Built {
            root,
            stride,
            top: Top {
                names: &plan.output,
                output,
                cursor,
                subs,
            },
        })
    }

    /// Builds an operator; `scope` holds the frames of the outer tuple, and then those of the
    /// operator's own tuples.
    pub(super) fn op(
        &mut self,
        op: &'a Op,
        scope: &mut Vec<Kind<'a>>,
        demand: Demand,
    ) -> Result<Boxed<'a, R>, AskError> {
        let step = self.steps;
        self.steps += 1;
        let whole = Demand {
            limit: None,
            flip: demand.flip,
        };
        let mut subs = Subs::new();
        Ok(match op {
            Op::Input => Box::new(Input::new(step)),
            Op::Get {
                input, get, outer, ..
            } => {
                if !*outer && matches!(**input, Op::Input) {
                    return self.plain_get(step, get, scope, demand);
                }
                // An outer get gives a tuple for each of its input, so that no more are needed.
                let above = if *outer { demand } else { whole };
                let feed = self.feed(input, scope, above)?;
                let range = self.range(get, scope, &mut subs, demand)?;
                scope.push(Kind::Row(range.layout));
                Box::new(Get::new(step, feed, range, *outer, subs))
            }
            Op::Merge {
                input,
                list,
                get,
                order,
                ..
            } => {
                let feed = self.feed(input, scope, whole)?;
                let list = self.terms(list, scope, &mut subs)?;
                let range = self.range(get, scope, &mut subs, demand)?;
                scope.push(Kind::Row(range.layout));
                let mut order = self.order(order, scope, &mut subs)?;
                if demand.flip {
                    order.0.iter_mut().for_each(|(_, d)| *d = opposite(*d));
                }
                let parts = merge::Parts {
                    list,
                    range,
                    order,
                    flip: demand.flip,
                };
                Box::new(Merge::new(step, feed, parts, subs))
            }
            Op::Elements { input, of } => {
                let feed = self.feed(input, scope, Demand::default())?;
                let of = self.term(of, scope, &mut subs)?;
                scope.push(Kind::Computed(elements::WIDTH));
                let (rest, tuple) = (VecDeque::new(), Vec::new());
                Box::new(Elements {
                    step,
                    feed,
                    of,
                    subs,
                    rest,
                    tuple,
                })
            }
            Op::Filter { input, tests, .. } => {
                let feed = self.feed(input, scope, whole)?;
                let checks = self.tests(tests, scope, &mut subs)?;
                Box::new(Filter {
                    step,
                    feed,
                    checks,
                    subs,
                })
            }
            Op::Distinct { input, by } => {
                let feed = self.feed(input, scope, Demand::default())?;
                let by = self.terms(by, scope, &mut subs)?;
                Box::new(Distinct {
                    step,
                    feed,
                    by,
                    subs,
                    seen: HashSet::new(),
                })
            }
            Op::Sort { input, by, .. } => {
                let feed = self.feed(input, scope, Demand::default())?;
                let order = self.order(by, scope, &mut subs)?;
                Box::new(Sort::new(step, feed, order, subs, demand.limit))
            }
            Op::Page { input, by, page } => {
                let Some((cursor, after)) = self.cursor(page)? else {
                    return self.without_page(input, by, scope, demand);
                };
                let feed = self.feed(input, scope, Demand::default())?;
                let order = self.order(by, scope, &mut subs)?;
                if cursor.len() != by.len() {
                    return Err(self.foreign(page, cursor.len(), by.len()));
                }
                let edge = cursor
                    .into_iter()
                    .zip(&order.0)
                    .map(|(v, (_, d))| Directed::new(v, *d));
                let edge = edge.collect();
                Box::new(Page {
                    step,
                    feed,
                    order,
                    subs,
                    edge,
                    after,
                    passed: false,
                })
            }
            Op::Limit { input, count, last } => {
                let Some(limit) = self.count(count, scope)? else {
                    return self.pass(step, input, scope, demand);
                };
                if *last && !self.starts_anew(input) {
                    return self.last(step, input, scope, limit);
                }
                let limit = demand.limit.map_or(limit, |above| above.min(limit));
                let below = Demand {
                    limit: Some(limit),
                    flip: false,
                };
                let input = self.op(input, scope, below)?;
                Box::new(First {
                    step,
                    input,
                    limit,
                    left: limit,
                })
            }
            Op::Aggregate {
                input,
                group,
                aggregates,
                always,
                ..
            } => {
                let feed = self.feed(input, scope, Demand::default())?;
                let group = self.terms(group, scope, &mut subs)?;
                let aggregates = aggregates
                    .iter()
                    .map(|one| {
                        let arg = one.arg.as_ref();
                        let arg = arg
                            .map(|arg| self.term(arg, scope, &mut subs))
                            .transpose()?;
                        let (function, distinct) = (one.function, one.distinct);
                        Ok(aggregate::One {
                            function,
                            distinct,
                            arg,
                        })
                    })
                    .collect::<Result<Vec<_>, AskError>>()?;
                scope.clear();
                scope.push(Kind::Computed(group.len() + aggregates.len()));
                let always = *always && group.is_empty();
                let parts = aggregate::Parts {
                    group,
                    aggregates,
                    always,
                };
                Box::new(Aggregate::new(step, feed, parts, subs))
            }
        })
    }

    fn feed(
        &mut self,
        input: &'a Op,
        scope: &mut Vec<Kind<'a>>,
        demand: Demand,
    ) -> Result<Feed<'a, R>, AskError> {
        let input = self.op(input, scope, demand)?;
        Ok(Feed::new(input, scope.len()))
    }

    /// A get straight over the input.
    fn plain_get(
        &mut self,
        step: usize,
        get: &'a design::Get,
        scope: &mut Vec<Kind<'a>>,
        demand: Demand,
    ) -> Result<Boxed<'a, R>, AskError> {
        self.steps += 1;
        let mut subs = Subs::new();
        let range = self.range(get, scope, &mut subs, demand)?;
        let stride = scope.len();
        scope.push(Kind::Row(range.layout));
        if subs.is_empty() {
            return Ok(Box::new(Direct::new(step, range)));
        }
        let feed = Feed::new(Box::new(Input::new(step + 1)), stride);
        Ok(Box::new(Get::new(step, feed, range, false, subs)))
    }

    /// A limit that is not there: everything goes through.
    fn pass(
        &mut self,
        step: usize,
        input: &'a Op,
        scope: &mut Vec<Kind<'a>>,
        demand: Demand,
    ) -> Result<Boxed<'a, R>, AskError> {
        let input = self.op(input, scope, demand)?;
        Ok(Box::new(First {
            step,
            input,
            limit: usize::MAX,
            left: usize::MAX,
        }))
    }

    /// A page without a cursor: everything goes through. Its terms keep their step numbers.
    fn without_page(
        &mut self,
        input: &'a Op,
        by: &'a [(Term, Direction)],
        scope: &mut Vec<Kind<'a>>,
        demand: Demand,
    ) -> Result<Boxed<'a, R>, AskError> {
        let step = self.steps - 1;
        let passed = self.pass(
            step,
            input,
            scope,
            Demand {
                flip: false,
                ..demand
            },
        )?;
        self.order(by, scope, &mut Subs::<'a, R>::new())?;
        Ok(passed)
    }

    /// The last tuples: the first ones of the input read backwards, where that can be done.
    fn last(
        &mut self,
        step: usize,
        input: &'a Op,
        scope: &mut Vec<Kind<'a>>,
        limit: usize,
    ) -> Result<Boxed<'a, R>, AskError> {
        let reversed = can_flip(input);
        let below = Demand {
            limit: reversed.then_some(limit),
            flip: reversed,
        };
        let input = self.op(input, scope, below)?;
        let (batch, kept) = (Tuples::new(scope.len()), VecDeque::new());
        Ok(Box::new(Last {
            step,
            input,
            limit,
            reversed,
            batch,
            kept,
            complete: false,
        }))
    }

    /// True if the rows before a cursor are asked for without a cursor: then from the start.
    fn starts_anew(&self, op: &Op) -> bool {
        let page = match op {
            Op::Get { get, .. } | Op::Merge { get, .. } => get.page.as_ref(),
            Op::Page { page, .. } => Some(page),
            _ => None,
        };
        match page {
            Some(page) => self.param(page_param(page)).is_ok_and(Value::is_null),
            None => input_of(op).is_some_and(|input| self.starts_anew(input)),
        }
    }
}

/// True if an operator can give its tuples from the last to the first without reading all.
fn can_flip(op: &Op) -> bool {
    match op {
        Op::Input => true,
        Op::Get { input, .. } | Op::Merge { input, .. } | Op::Filter { input, .. } => {
            can_flip(input)
        }
        _ => false,
    }
}
