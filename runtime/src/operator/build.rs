//! From a plan to operators: looks up frames, layouts and parameters once.
//!
//! Steps are numbered as [`super::profile::steps`] lists them.

use super::aggregate::{self, Aggregate};
use super::distinct::Distinct;
use super::elements::{self, Elements};
use super::feed::Feed;
use super::filter::Filter;
use super::get::Get;
use super::input::Input;
use super::limit::{First, Last};
use super::merge::{self, Merge};
use super::order::{Directed, Order, opposite};
use super::page::Page;
use super::profile::input_of;
use super::range::{Edge, Range};
use super::sort::Sort;
use super::sub::{Shape, Subs};
use super::term::{Check, Env, Kind, Node, Stop, part};
use super::{Ask, AskError, Boxed, Tuples};
use crate::cursor::{self, CursorError};
use crate::key;
use crate::store::Reader;
use querent_compiler::design::{self, Bound, Op, Plan, Sub, Term, Test};
use querent_compiler::model::{self, Direction, ParamId};
use querent_compiler::value::Value;
use std::borrow::Cow;
use std::collections::{HashSet, VecDeque};
use std::marker::PhantomData;

/// What the operator above knows about its demand.
#[derive(Clone, Copy, Default)]
struct Demand {
    /// No more tuples than this will be taken.
    limit: Option<usize>,
    /// Tuples are wanted from the last to the first.
    flip: bool,
}

/// Builds the operators of one answer.
pub(super) struct Builder<'a, R> {
    ask: Ask<'a>,
    /// How many steps have been numbered.
    pub(super) steps: usize,
    reader: PhantomData<R>,
}

/// A plan's operators and the terms above them.
pub(super) struct Built<'a, R: Reader> {
    pub(super) root: Boxed<'a, R>,
    pub(super) stride: usize,
    pub(super) output: Vec<Node<'a>>,
    pub(super) cursor: Vec<Node<'a>>,
    pub(super) subs: Subs<'a, R>,
}

impl<'a, R: Reader + 'a> Builder<'a, R> {
    pub(super) fn new(ask: Ask<'a>) -> Self {
        Builder { ask, steps: 0, reader: PhantomData }
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
        let output = plan.output.iter().map(|o| self.term(&o.term, &scope, &mut subs));
        let output = output.collect::<Result<_, _>>()?;
        let cursor = self.terms(&plan.cursor, &scope, &mut subs)?;
        Ok(Built { root, stride: scope.len(), output, cursor, subs })
    }

    /// Builds an operator; `scope` holds the frames of the outer tuple, and then those of the
    /// operator's own tuples.
    fn op(
        &mut self,
        op: &'a Op,
        scope: &mut Vec<Kind<'a>>,
        demand: Demand,
    ) -> Result<Boxed<'a, R>, AskError> {
        let step = self.steps;
        self.steps += 1;
        let whole = Demand { limit: None, flip: demand.flip };
        let mut subs = Subs::new();
        Ok(match op {
            Op::Input => Box::new(Input::new(step)),
            Op::Get { input, get, outer, .. } => {
                // An outer get gives a tuple for each of its input, so that no more are needed.
                let above = if *outer { demand } else { whole };
                let feed = self.feed(input, scope, above)?;
                let range = self.range(get, scope, &mut subs, demand)?;
                scope.push(Kind::Row(range.structure, range.layout));
                Box::new(Get::new(step, feed, range, *outer, subs))
            }
            Op::Merge { input, list, get, order, .. } => {
                let feed = self.feed(input, scope, whole)?;
                let list = self.terms(list, scope, &mut subs)?;
                let range = self.range(get, scope, &mut subs, demand)?;
                scope.push(Kind::Row(range.structure, range.layout));
                let mut order = self.order(order, scope, &mut subs)?;
                if demand.flip {
                    order.0.iter_mut().for_each(|(_, d)| *d = opposite(*d));
                }
                let parts = merge::Parts { list, range, order, flip: demand.flip };
                Box::new(Merge::new(step, feed, parts, subs))
            }
            Op::Elements { input, of } => {
                let feed = self.feed(input, scope, Demand::default())?;
                let of = self.term(of, scope, &mut subs)?;
                scope.push(Kind::Computed(elements::WIDTH));
                let (rest, tuple) = (VecDeque::new(), Vec::new());
                Box::new(Elements { step, feed, of, subs, rest, tuple })
            }
            Op::Filter { input, tests, .. } => {
                let feed = self.feed(input, scope, whole)?;
                let checks = self.tests(tests, scope, &mut subs)?;
                Box::new(Filter { step, feed, checks, subs })
            }
            Op::Distinct { input, by } => {
                let feed = self.feed(input, scope, Demand::default())?;
                let by = self.terms(by, scope, &mut subs)?;
                Box::new(Distinct { step, feed, by, subs, seen: HashSet::new() })
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
                    return Err(foreign(page, cursor.len(), by.len()));
                }
                let edge = cursor.into_iter().zip(&order.0).map(|(v, (_, d))| Directed::new(v, *d));
                let edge = edge.collect();
                Box::new(Page { step, feed, order, subs, edge, after, passed: false })
            }
            Op::Limit { input, count, last } => {
                let Some(limit) = self.count(count, scope)? else {
                    return self.pass(step, input, scope, demand);
                };
                if *last && !self.from_start(input) {
                    return self.last(step, input, scope, limit);
                }
                let limit = demand.limit.map_or(limit, |above| above.min(limit));
                let below = Demand { limit: Some(limit), flip: false };
                let input = self.op(input, scope, below)?;
                Box::new(First { step, input, limit, left: limit })
            }
            Op::Aggregate { input, group, aggregates, always, .. } => {
                let feed = self.feed(input, scope, Demand::default())?;
                let group = self.terms(group, scope, &mut subs)?;
                let aggregates = aggregates
                    .iter()
                    .map(|one| {
                        let arg = one.arg.as_ref();
                        let arg = arg.map(|arg| self.term(arg, scope, &mut subs)).transpose()?;
                        let (function, distinct) = (one.function, one.distinct);
                        Ok(aggregate::One { function, distinct, arg })
                    })
                    .collect::<Result<Vec<_>, AskError>>()?;
                scope.clear();
                scope.push(Kind::Computed(group.len() + aggregates.len()));
                let always = *always && group.is_empty();
                let parts = aggregate::Parts { group, aggregates, always };
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

    /// A limit that is not there: everything goes through.
    fn pass(
        &mut self,
        step: usize,
        input: &'a Op,
        scope: &mut Vec<Kind<'a>>,
        demand: Demand,
    ) -> Result<Boxed<'a, R>, AskError> {
        let input = self.op(input, scope, demand)?;
        Ok(Box::new(First { step, input, limit: usize::MAX, left: usize::MAX }))
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
        let passed = self.pass(step, input, scope, Demand { flip: false, ..demand })?;
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
        let below = Demand { limit: reversed.then_some(limit), flip: reversed };
        let input = self.op(input, scope, below)?;
        let (batch, kept) = (Tuples::new(scope.len()), VecDeque::new());
        Ok(Box::new(Last { step, input, limit, reversed, batch, kept, complete: false }))
    }

    fn range(
        &mut self,
        get: &'a design::Get,
        scope: &[Kind<'a>],
        subs: &mut Subs<'a, R>,
        demand: Demand,
    ) -> Result<Range<'a>, AskError> {
        let structure = get.structure;
        let layout = self.ask.layouts.get(usize::from(structure)).ok_or_else(|| {
            let layouts = self.ask.layouts.len();
            AskError::Plan(format!("structure {structure} of a design of {layouts}"))
        })?;
        let eq = self.terms(&get.eq, scope, subs)?;
        if eq.len() > layout.key.len() {
            let (eq, parts) = (eq.len(), layout.key.len());
            let message = format!("{eq} values for the {parts} key parts of structure {structure}");
            return Err(AskError::Plan(message));
        }
        let lower = self.bound(get.lower.as_ref(), scope, subs)?;
        let upper = self.bound(get.upper.as_ref(), scope, subs)?;
        let mut edge = None;
        if let Some(page) = &get.page
            && let Some((values, after)) = self.cursor(page)?
        {
            let parts = layout.key.get(eq.len()..).unwrap_or_default();
            if parts.len() != values.len() {
                return Err(foreign(page, values.len(), parts.len()));
            }
            for (value, part) in values.iter().zip(parts) {
                key::encode(value, &part.ty, part.optional, part.direction, &mut Vec::new())
                    .map_err(|e| cursor_error(page, CursorError::Foreign(e.to_string())))?;
            }
            // Read backwards, what comes after the cursor has lower keys.
            edge = Some(Edge { values, above: after != get.reverse });
        }
        let reverse = get.reverse != demand.flip;
        let limit = demand.limit;
        Ok(Range { structure, layout, eq, lower, upper, reverse, page: edge, limit })
    }

    fn bound(
        &mut self,
        bound: Option<&'a Bound>,
        scope: &[Kind<'a>],
        subs: &mut Subs<'a, R>,
    ) -> Result<Option<(Node<'a>, bool)>, AskError> {
        bound
            .map(|bound| Ok((self.term(&bound.term, scope, subs)?, bound.inclusive)))
            .transpose()
    }

    fn order(
        &mut self,
        by: &'a [(Term, Direction)],
        scope: &[Kind<'a>],
        subs: &mut Subs<'a, R>,
    ) -> Result<Order<'a>, AskError> {
        let terms = by.iter().map(|(term, d)| Ok((self.term(term, scope, subs)?, *d)));
        terms.collect::<Result<_, _>>().map(Order)
    }

    fn terms(
        &mut self,
        terms: &'a [Term],
        scope: &[Kind<'a>],
        subs: &mut Subs<'a, R>,
    ) -> Result<Vec<Node<'a>>, AskError> {
        terms.iter().map(|term| self.term(term, scope, subs)).collect()
    }

    fn term(
        &mut self,
        term: &'a Term,
        scope: &[Kind<'a>],
        subs: &mut Subs<'a, R>,
    ) -> Result<Node<'a>, AskError> {
        Ok(match term {
            Term::Const(value) => Node::Const(Cow::Borrowed(value)),
            Term::Param(id, path) => Node::Const(Cow::Borrowed(part(self.param(*id)?, path))),
            Term::Item => Node::Item,
            Term::Column { frame, column, path } => {
                let node = column_node(usize::from(*frame), usize::from(*column), scope)?;
                if path.is_empty() { node } else { Node::Part(Box::new(node), path) }
            }
            Term::Key(terms) => Node::Key(self.terms(terms, scope, subs)?),
            Term::Binary(op, a, b) => {
                let a = self.term(a, scope, subs)?;
                Node::Binary(*op, Box::new(a), Box::new(self.term(b, scope, subs)?))
            }
            Term::Call(function, terms) => Node::Call(*function, self.terms(terms, scope, subs)?),
            Term::At(map, key) => {
                let map = self.term(map, scope, subs)?;
                Node::At(Box::new(map), Box::new(self.term(key, scope, subs)?))
            }
            Term::Shape(present, terms) => {
                let present = self.term(present, scope, subs)?;
                Node::Shape(Box::new(present), self.terms(terms, scope, subs)?)
            }
            Term::Sub(sub) => {
                let (shape, plan) = match sub.as_ref() {
                    Sub::Nested(plan) => (Shape::Nested, plan),
                    Sub::Scalar(plan) => (Shape::Scalar, plan),
                };
                let built = self.plan(plan, scope)?;
                Node::Sub(subs.add(shape, built.root, built.stride, built.output, built.subs))
            }
        })
    }

    fn tests(
        &mut self,
        tests: &'a [Test],
        scope: &[Kind<'a>],
        subs: &mut Subs<'a, R>,
    ) -> Result<Vec<Check<'a>>, AskError> {
        tests.iter().map(|test| self.test(test, scope, subs)).collect()
    }

    fn test(
        &mut self,
        test: &'a Test,
        scope: &[Kind<'a>],
        subs: &mut Subs<'a, R>,
    ) -> Result<Check<'a>, AskError> {
        Ok(match test {
            Test::And(tests) => Check::And(self.tests(tests, scope, subs)?),
            Test::Or(tests) => Check::Or(self.tests(tests, scope, subs)?),
            Test::Not(test) => Check::Not(Box::new(self.test(test, scope, subs)?)),
            Test::Compare(a, op, b) => {
                let a = self.term(a, scope, subs)?;
                Check::Compare(a, *op, self.term(b, scope, subs)?)
            }
            Test::In(a, terms) => {
                let a = self.term(a, scope, subs)?;
                Check::In(a, self.terms(terms, scope, subs)?)
            }
            Test::InList(a, list) => {
                let a = self.term(a, scope, subs)?;
                Check::InList(a, self.term(list, scope, subs)?)
            }
            Test::IsNull(a) => Check::IsNull(self.term(a, scope, subs)?),
            Test::Exists(op) => {
                let mut inner = scope.to_vec();
                let root = self.op(op, &mut inner, Demand { limit: Some(1), flip: false })?;
                let slot = subs.add(Shape::Exists, root, inner.len(), Vec::new(), Subs::new());
                Check::Exists(slot)
            }
        })
    }

    fn param(&self, id: ParamId) -> Result<&'a Value, AskError> {
        let given = self.ask.params.len();
        self.ask.params.get(id.index()).ok_or_else(|| {
            AskError::Plan(format!("parameter {} of {given} that were given", id.index()))
        })
    }

    /// The values of a page's cursor, and whether the page is behind it; none without a cursor.
    fn cursor(&self, page: &model::Page) -> Result<Option<(Vec<Value>, bool)>, AskError> {
        let after = matches!(page, model::Page::After(_));
        match self.param(page_param(page))? {
            Value::Null => Ok(None),
            Value::Text(token) => {
                let values = cursor::decode(token).map_err(|e| cursor_error(page, e))?;
                Ok(Some((values, after)))
            }
            // As `Answer` makes it, before it is a token.
            Value::List(values) => Ok(Some((values.clone(), after))),
            _ => {
                let why = "a cursor is a text, as an earlier answer gave it".to_owned();
                Err(cursor_error(page, CursorError::Foreign(why)))
            }
        }
    }

    /// True if the rows before a cursor are asked for without a cursor: then from the start.
    fn from_start(&self, op: &Op) -> bool {
        let page = match op {
            Op::Get { get, .. } | Op::Merge { get, .. } => get.page.as_ref(),
            Op::Page { page, .. } => Some(page),
            _ => None,
        };
        match page {
            Some(page) => self.param(page_param(page)).is_ok_and(Value::is_null),
            None => input_of(op).is_some_and(|input| self.from_start(input)),
        }
    }

    /// A limit: none where it is null. It depends on constants and parameters alone.
    fn count(&mut self, count: &'a Term, scope: &[Kind<'a>]) -> Result<Option<usize>, AskError> {
        let mut subs = Subs::<'a, R>::new();
        let node = self.term(count, scope, &mut subs)?;
        let env = Env::<&[u8]> { tuple: &[], item: None, results: &[] };
        match node.value(&env) {
            Ok(Value::Int(n)) => Ok(Some(usize::try_from(n).unwrap_or(0))),
            Ok(_) => Ok(None),
            Err(Stop::Error(error)) => Err(error),
            Err(Stop::Need(_)) => Err(AskError::Plan("a subplan as a limit".into())),
        }
    }
}

fn column_node<'a>(
    frame: usize,
    column: usize,
    scope: &[Kind<'a>],
) -> Result<Node<'a>, AskError> {
    let (node, columns) = match scope.get(frame) {
        Some(&Kind::Row(structure, layout)) => {
            let columns = layout.key.len() + layout.columns.len();
            (Node::Row { frame, structure, layout, column }, columns)
        }
        Some(&Kind::Computed(columns)) => (Node::Computed { frame, column }, columns),
        None => {
            let frames = scope.len();
            return Err(AskError::Plan(format!("frame {frame} of a tuple of {frames}")));
        }
    };
    if column >= columns {
        let message = format!("column {column} of frame {frame}, which has {columns}");
        return Err(AskError::Plan(message));
    }
    Ok(node)
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

fn page_param(page: &model::Page) -> ParamId {
    let (model::Page::After(param) | model::Page::Before(param)) = page;
    *param
}

fn cursor_error(page: &model::Page, source: CursorError) -> AskError {
    AskError::Cursor { param: page_param(page).index(), source }
}

fn foreign(page: &model::Page, found: usize, expected: usize) -> AskError {
    let why = format!("it has {found} values, and the order of this question has {expected}");
    cursor_error(page, CursorError::Foreign(why))
}
