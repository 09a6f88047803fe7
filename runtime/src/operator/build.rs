//! From a bound plan and parameters to operators that run.

use super::aggregate::Aggregate;
use super::answer::Top;
use super::bind::page_param;
use super::bound::{Bound, BoundInput, BoundOp, BoundPlan, BoundSub, OpKind, Shape};
use super::direct::Direct;
use super::distinct::Distinct;
use super::elements::Elements;
use super::feed::Feed;
use super::filter::Filter;
use super::follow::Follow;
use super::get::Get;
use super::input::Input;
use super::limit::{First, Last};
use super::merge::Merge;
use super::order::Order;
use super::page::Page;
use super::range::{Bounds, Edge, Range};
use super::root::Root;
use super::sort::Sort;
use super::sub::Subs;
use super::term::{Env, Node, Stop};
use super::unite::Unite;
use super::{Ask, AskError, Boxed, Tuples};
use crate::cursor::{self, CursorError};
use crate::key;
use crate::layout::ValueRef;
use crate::store::Reader;
use bumpalo::Bump;
use querent_compiler::model;
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
    ask: Ask<'a>,
    reader: PhantomData<R>,
}

impl<'a, R: Reader + 'a> Builder<'a, R> {
    pub(super) fn new(plan: &BoundPlan, ask: Ask<'a>) -> Result<Self, AskError> {
        let given = ask.params.len();
        if given < plan.params {
            let last = plan.params - 1;
            let message = format!("parameter {last} of {given} that were given");
            return Err(AskError::Plan(message));
        }
        Ok(Builder {
            ask,
            reader: PhantomData,
        })
    }

    /// The operators of a plan, and what is above them.
    pub(super) fn plan(
        &self,
        plan: &'a Bound,
        demand: Demand,
    ) -> Result<(Root<'a, R>, Top<'a, R>), AskError> {
        let root = match self.direct(&plan.root, demand)? {
            Some(get) => Root::Direct(get),
            None => Root::Other(self.op(&plan.root, demand)?),
        };
        let top = Top {
            bound: &plan.top,
            params: self.ask.params,
            subs: self.subs(&plan.top.subs)?,
            texts: Bump::new(),
        };
        Ok((root, top))
    }

    /// A get straight over the outer tuple.
    fn direct(&self, op: &'a BoundOp, demand: Demand) -> Result<Option<Direct<'a, R>>, AskError> {
        match &op.kind {
            OpKind::Get {
                input,
                bounds,
                outer: false,
            } if op.subs.is_empty() && matches!(input.op.kind, OpKind::Input) => {
                let range = self.range(bounds, demand)?;
                Ok(Some(Direct::new(op.step, range)))
            }
            _ => Ok(None),
        }
    }

    fn op(&self, op: &'a BoundOp, demand: Demand) -> Result<Boxed<'a, R>, AskError> {
        if let Some(get) = self.direct(op, demand)? {
            return Ok(Box::new(get));
        }
        let step = op.step;
        let whole = Demand {
            limit: None,
            flip: demand.flip,
        };
        Ok(match &op.kind {
            OpKind::Input => Box::new(Input::new(step)),
            OpKind::Get {
                input,
                bounds,
                outer,
            } => {
                let range = self.range(bounds, demand)?;
                // An outer get gives a tuple for each of its input, so that no more are needed.
                let below = if *outer { demand } else { whole };
                if R::AT_ONCE && range.is_point() && op.subs.is_empty() {
                    let input = (self.op(&input.op, below)?, input.stride);
                    return Ok(Box::new(Follow::new(step, input, range, *outer)));
                }
                let feed = self.feed(input, below)?;
                Box::new(Get::new(step, feed, range, *outer, self.subs(&op.subs)?))
            }
            OpKind::Merge { input, parts } => {
                let feed = self.feed(input, whole)?;
                let range = self.range(&parts.bounds, demand)?;
                let subs = self.subs(&op.subs)?;
                Box::new(Merge::new(step, feed, parts, range, demand.flip, subs))
            }
            OpKind::Unite { branches, parts } => {
                // In order, the first tuples of all are among the first of each, which has none
                // twice. One after the other, a branch may repeat what it gave, and is asked for
                // as many more.
                let ordered = !parts.order.0.is_empty();
                let of_branch = if ordered { demand } else { whole };
                let mut unite = Unite::new(step, parts, demand);
                for branch in branches {
                    unite.add(self.plan(branch, of_branch)?, branch.stride);
                }
                Box::new(unite)
            }
            OpKind::Elements { input, of } => Box::new(Elements {
                step,
                feed: self.feed(input, Demand::default())?,
                of,
                subs: self.subs(&op.subs)?,
                rest: VecDeque::new(),
                tuple: Vec::new(),
            }),
            OpKind::Filter { input, checks } => Box::new(Filter {
                step,
                feed: self.feed(input, whole)?,
                checks,
                subs: self.subs(&op.subs)?,
            }),
            OpKind::Distinct { input, by, .. } => Box::new(Distinct {
                step,
                feed: self.feed(input, whole)?,
                by,
                subs: self.subs(&op.subs)?,
                seen: HashSet::new(),
                last: demand.flip.then(Vec::new),
            }),
            OpKind::Sort {
                input,
                order,
                ties,
                expected,
            } => {
                let from = (self.op(&input.op, Demand::default())?, input.stride);
                let subs = self.subs(&op.subs)?;
                let parts = (order, *ties, subs);
                Box::new(Sort::new(step, from, parts, demand.limit, *expected))
            }
            OpKind::Page { input, order, page } => {
                return self.page(op, input, order, page, demand);
            }
            OpKind::Limit { input, count, last } => {
                let Some(limit) = self.count(count)? else {
                    return self.pass(step, input, demand);
                };
                if *last {
                    return self.last(step, input, limit);
                }
                let limit = demand.limit.map_or(limit, |above| above.min(limit));
                let below = Demand {
                    limit: Some(limit),
                    flip: false,
                };
                let input = self.op(&input.op, below)?;
                Box::new(First {
                    step,
                    input,
                    limit,
                    left: limit,
                })
            }
            OpKind::Aggregate { input, parts } => {
                let feed = self.feed(input, Demand::default())?;
                Box::new(Aggregate::new(step, feed, parts, self.subs(&op.subs)?))
            }
        })
    }

    fn feed(&self, input: &'a BoundInput, demand: Demand) -> Result<Feed<'a, R>, AskError> {
        Ok(Feed::new(self.op(&input.op, demand)?, input.stride))
    }

    fn subs(&self, bound: &'a [BoundSub]) -> Result<Subs<'a, R>, AskError> {
        let mut subs = Subs::new(bound.len());
        for sub in bound {
            let limit = matches!(sub.shape, Shape::Exists).then_some(1);
            let (root, top) = self.plan(&sub.plan, Demand { limit, flip: false })?;
            subs.add(sub, root, top);
        }
        Ok(subs)
    }

    fn range(&self, bounds: &'a Bounds, demand: Demand) -> Result<Range<'a>, AskError> {
        let mut edge = None;
        if let Some(page) = &bounds.page
            && let Some((values, after)) = self.cursor(page)?
        {
            let parts = bounds.layout.key.get(bounds.eq.len()..).unwrap_or_default();
            if parts.len() != values.len() {
                return Err(self.foreign(page, values.len(), parts.len()));
            }
            for (value, part) in values.iter().zip(parts) {
                key::encode_part(value, part, &mut Vec::new())
                    .map_err(|e| self.cursor_error(page, CursorError::Foreign(e.to_string())))?;
            }
            // Read backwards, what comes after the cursor has lower keys.
            edge = Some(Edge {
                values,
                above: after != bounds.reverse,
            });
        }
        Ok(Range {
            bounds,
            reverse: bounds.reverse != demand.flip,
            page: edge,
            limit: demand.limit,
        })
    }

    /// A page; without a cursor everything goes through.
    fn page(
        &self,
        op: &'a BoundOp,
        input: &'a BoundInput,
        order: &'a Order,
        page: &model::Page,
        demand: Demand,
    ) -> Result<Boxed<'a, R>, AskError> {
        let Some((cursor, after)) = self.cursor(page)? else {
            let flip = false;
            return self.pass(op.step, input, Demand { flip, ..demand });
        };
        if cursor.len() != order.0.len() {
            return Err(self.foreign(page, cursor.len(), order.0.len()));
        }
        let mut edge = Vec::new();
        for (value, by) in cursor.iter().zip(&order.0) {
            key::encode_ordered(&ValueRef::of(value), by.direction, &mut edge);
        }
        Ok(Box::new(Page {
            step: op.step,
            feed: self.feed(input, Demand::default())?,
            order,
            subs: self.subs(&op.subs)?,
            edge,
            key: Vec::new(),
            after,
            passed: false,
        }))
    }

    /// A limit that is not there: everything goes through.
    fn pass(
        &self,
        step: usize,
        input: &'a BoundInput,
        demand: Demand,
    ) -> Result<Boxed<'a, R>, AskError> {
        let input = self.op(&input.op, demand)?;
        Ok(Box::new(First {
            step,
            input,
            limit: usize::MAX,
            left: usize::MAX,
        }))
    }

    /// The last tuples: the first ones of the input read backwards, where that can be done.
    fn last(
        &self,
        step: usize,
        input: &'a BoundInput,
        limit: usize,
    ) -> Result<Boxed<'a, R>, AskError> {
        let reversed = can_flip(&input.op);
        let below = Demand {
            limit: reversed.then_some(limit),
            flip: reversed,
        };
        let (batch, kept) = (Tuples::new(input.stride), VecDeque::new());
        Ok(Box::new(Last {
            step,
            input: self.op(&input.op, below)?,
            limit,
            reversed,
            batch,
            kept,
            complete: false,
        }))
    }

    fn page_value(&self, page: &model::Page) -> &'a Value {
        let value = self.ask.params.get(page_param(page).index());
        value.unwrap_or(&Value::Null)
    }

    /// The values of a page's cursor, and whether the page is behind it; none without a cursor.
    fn cursor(&self, page: &model::Page) -> Result<Option<(Vec<Value>, bool)>, AskError> {
        let after = matches!(page, model::Page::After(_));
        match self.page_value(page) {
            Value::Null => Ok(None),
            Value::Text(token) => {
                let values = cursor::decode(token).map_err(|e| self.cursor_error(page, e))?;
                Ok(Some((values, after)))
            }
            // As `Answer` makes it, before it is a token.
            Value::List(values) => Ok(Some((values.clone(), after))),
            _ => {
                let why = "a cursor is a text, as an earlier answer gave it".to_owned();
                Err(self.cursor_error(page, CursorError::Foreign(why)))
            }
        }
    }

    fn cursor_error(&self, page: &model::Page, source: CursorError) -> AskError {
        let id = page_param(page).index();
        let name = self.ask.declared.get(id);
        AskError::Cursor {
            param: name
                .map_or_else(|| (id + 1).to_string(), |p| format!("${}", p.name))
                .into(),
            source: Box::new(source),
        }
    }

    fn foreign(&self, page: &model::Page, found: usize, expected: usize) -> AskError {
        let why = format!("it has {found} values, and the order of this question has {expected}");
        self.cursor_error(page, CursorError::Foreign(why))
    }

    /// A limit: none where it is null. It depends on constants and parameters alone.
    fn count(&self, count: &Node) -> Result<Option<usize>, AskError> {
        let env = Env::<&[u8]> {
            tuple: &[],
            items: &[],
            params: self.ask.params,
            results: &[],
        };
        match count.value(&env) {
            Ok(Value::Int(n)) => match usize::try_from(n) {
                Ok(n) => Ok(Some(n)),
                Err(_) => Err(AskError::Limit(n)),
            },
            Ok(_) => Ok(None),
            Err(Stop::Error(error)) => Err(error),
            Err(Stop::Need(_)) => Err(AskError::Plan("a subplan as a limit".into())),
        }
    }
}

/// True if an operator can give its tuples from the last to the first without reading all.
fn can_flip(op: &BoundOp) -> bool {
    match &op.kind {
        OpKind::Input => true,
        OpKind::Get { input, .. } | OpKind::Merge { input, .. } | OpKind::Filter { input, .. } => {
            can_flip(&input.op)
        }
        OpKind::Distinct { input, ordered, .. } => *ordered && can_flip(&input.op),
        OpKind::Unite { branches, parts } => {
            !parts.order.0.is_empty() && branches.iter().all(|branch| can_flip(&branch.root))
        }
        _ => false,
    }
}
