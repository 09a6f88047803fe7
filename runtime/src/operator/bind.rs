//! From a plan to its bound form.

use super::AskError;
use super::aggregate;
use super::bound::{Bound, BoundInput, BoundOp, BoundSub, BoundTexts, BoundTop, OpKind, Shape};
use super::elements;
use super::merge;
use super::order::{By, Order};
use super::range::{self, Bounds, Equal};
use super::stored::Shown;
use super::term::{Check, Kind, Node};
use super::ties::InputOrder;
use super::unite;
use crate::layout::{Layout, TextPlace, TextRun};
use querent_compiler::design::{self, Get, Op, Plan, Sub, Term, Test};
use querent_compiler::model::{Direction, Page, ParamId};
use std::sync::Arc;

/// Binds one plan, with all its subplans.
pub(super) struct Binder<'l> {
    layouts: &'l [Arc<Layout>],
    /// How many steps have been numbered.
    pub(super) steps: usize,
    /// How many parameters must be given.
    pub(super) params: usize,
}

impl<'l> Binder<'l> {
    pub(super) fn new(layouts: &'l [Arc<Layout>]) -> Self {
        Binder {
            layouts,
            steps: 0,
            params: 0,
        }
    }

    /// Binds a plan inside the frames of an outer tuple.
    pub(super) fn plan(&mut self, plan: &Plan, outer: &[Kind]) -> Result<Bound, AskError> {
        let mut scope = outer.to_vec();
        let root = self.op(&plan.root, &mut scope)?;
        let mut subs = Vec::new();
        let output = plan
            .output
            .iter()
            .map(|o| self.term(&o.term, &scope, &mut subs));
        let output = output.collect::<Result<Vec<_>, _>>()?;
        let cursor = self.terms(&plan.cursor, &scope, &mut subs)?;
        let names = plan.output.iter().map(|o| o.name.as_str().into());
        let texts = text_run(&output, &scope);
        let shown = output.iter().map(Shown::of);
        Ok(Bound {
            root,
            stride: scope.len(),
            top: BoundTop {
                names: names.collect(),
                shown: shown.collect(),
                texts,
                has_subs: output.iter().any(Node::has_sub),
                output,
                cursor,
                subs,
            },
        })
    }

    /// Binds an operator; `scope` holds the frames of the outer tuple, and then those of the
    /// operator's own tuples.
    fn op(&mut self, op: &Op, scope: &mut Vec<Kind>) -> Result<BoundOp, AskError> {
        let step = self.steps;
        self.steps += 1;
        let mut subs = Vec::new();
        let kind = match op {
            Op::Input => OpKind::Input,
            Op::Get {
                input, get, outer, ..
            } => {
                let input = self.input(input, scope)?;
                let bounds = self.bounds(get, scope, &mut subs)?;
                scope.push(Kind::Row(Arc::clone(&bounds.layout)));
                OpKind::Get {
                    input,
                    bounds,
                    outer: *outer,
                }
            }
            Op::Merge {
                input,
                lists,
                get,
                order,
                ..
            } => {
                let input = self.input(input, scope)?;
                let lists = lists.iter().map(|list| self.terms(list, scope, &mut subs));
                let lists = lists.collect::<Result<Vec<_>, _>>()?;
                let bounds = self.bounds(get, scope, &mut subs)?;
                scope.push(Kind::Row(Arc::clone(&bounds.layout)));
                let order = self.order(order, scope, &mut subs)?;
                OpKind::Merge {
                    input,
                    parts: merge::Parts {
                        lists,
                        bounds,
                        order,
                    },
                }
            }
            Op::Unite {
                branches,
                keys,
                order,
                ..
            } => {
                let bound = branches
                    .iter()
                    .map(|branch| self.plan(branch, enclosing(branch, scope)?));
                let bound = bound.collect::<Result<Vec<_>, AskError>>()?;
                let columns = branches.first().map_or(0, |b| b.output.len());
                if branches.iter().any(|b| b.output.len() != columns) {
                    return Err(AskError::Plan("branches of different columns".into()));
                }
                scope.push(Kind::Computed(columns));
                let order = self.order(order, scope, &mut subs)?;
                OpKind::Unite {
                    branches: bound,
                    parts: unite::Parts {
                        keys: usize::from(*keys),
                        order,
                    },
                }
            }
            Op::Elements { input, of } => {
                let input = self.input(input, scope)?;
                let of = self.term(of, scope, &mut subs)?;
                scope.push(Kind::Computed(elements::WIDTH));
                OpKind::Elements { input, of }
            }
            Op::Filter { input, tests, .. } => {
                let input = self.input(input, scope)?;
                let checks = self.tests(tests, scope, &mut subs)?;
                OpKind::Filter { input, checks }
            }
            Op::Distinct { input, by } => {
                let ordered = matches!(&**input, Op::Merge { order, .. } if order.iter().map(|(t, _)| t).eq(by));
                let input = self.input(input, scope)?;
                let by = self.terms(by, scope, &mut subs)?;
                OpKind::Distinct { input, by, ordered }
            }
            Op::Sort {
                input,
                by,
                estimate,
            } => {
                let input = self.input(input, scope)?;
                let order = self.order(by, scope, &mut subs)?;
                // A number that is none, or too large, becomes one that is as near as can be.
                let expected = estimate.rows.ceil() as usize;
                let ties = InputOrder::of(&input.op, order.behind_first());
                OpKind::Sort {
                    // Orders with subplans are encoded at once, whatever is alike.
                    ties: ties.filter(|_| subs.is_empty()),
                    input,
                    order,
                    expected,
                }
            }
            Op::Page { input, by, page } => {
                self.param(page_param(page));
                let input = self.input(input, scope)?;
                let order = self.order(by, scope, &mut subs)?;
                let page = page.clone();
                OpKind::Page { input, order, page }
            }
            Op::Limit { input, count, last } => {
                let count = self.term(count, scope, &mut subs)?;
                let input = self.input(input, scope)?;
                let last = *last;
                OpKind::Limit { input, count, last }
            }
            Op::Aggregate {
                input,
                group,
                aggregates,
                always,
                ..
            } => {
                let input = self.input(input, scope)?;
                let parts = self.aggregate(group, aggregates, *always, scope, &mut subs)?;
                scope.clear();
                scope.push(Kind::Computed(parts.group.len() + parts.aggregates.len()));
                OpKind::Aggregate { input, parts }
            }
        };
        Ok(BoundOp { step, kind, subs })
    }

    fn input(&mut self, input: &Op, scope: &mut Vec<Kind>) -> Result<BoundInput, AskError> {
        let op = Box::new(self.op(input, scope)?);
        let stride = scope.len();
        Ok(BoundInput { op, stride })
    }

    fn aggregate(
        &mut self,
        group: &[Term],
        aggregates: &[design::Aggregation],
        always: bool,
        scope: &[Kind],
        subs: &mut Vec<BoundSub>,
    ) -> Result<aggregate::Parts, AskError> {
        let group = self.terms(group, scope, subs)?;
        let aggregates = aggregates.iter().map(|one| {
            let arg = one.arg.as_ref();
            Ok(aggregate::One {
                function: one.function,
                distinct: one.distinct,
                stored: one.stored,
                arg: arg.map(|arg| self.term(arg, scope, subs)).transpose()?,
            })
        });
        Ok(aggregate::Parts {
            aggregates: aggregates.collect::<Result<_, AskError>>()?,
            always: always && group.is_empty(),
            group,
        })
    }

    fn bounds(
        &mut self,
        get: &Get,
        scope: &[Kind],
        subs: &mut Vec<BoundSub>,
    ) -> Result<Bounds, AskError> {
        let structure = get.structure;
        let layout = self.layouts.get(usize::from(structure)).ok_or_else(|| {
            let layouts = self.layouts.len();
            AskError::Plan(format!("structure {structure} of a design of {layouts}"))
        })?;
        let eq = self.terms(&get.eq, scope, subs)?.into_iter().enumerate();
        let eq = eq.map(|(i, node)| Equal::new(node, layout.key.get(i)));
        let eq: Vec<Equal> = eq.collect();
        if eq.len() > layout.key.len() {
            let (eq, parts) = (eq.len(), layout.key.len());
            let name = &layout.name;
            let message = format!("{eq} values for the {parts} key parts of {name}");
            return Err(AskError::Plan(message));
        }
        if let Some(page) = &get.page {
            self.param(page_param(page));
        }
        let mut bound = |bound: &Option<design::Bound>| {
            let bound = bound.as_ref();
            bound
                .map(|b| Ok::<_, AskError>((self.term(&b.term, scope, subs)?, b.inclusive)))
                .transpose()
        };
        Ok(Bounds {
            structure,
            layout: Arc::clone(layout),
            same_key: range::same_key(&eq, layout.key.len()),
            eq,
            lower: bound(&get.lower)?,
            upper: bound(&get.upper)?,
            reverse: get.reverse,
            page: get.page.clone(),
        })
    }

    fn order(
        &mut self,
        by: &[(Term, Direction)],
        scope: &[Kind],
        subs: &mut Vec<BoundSub>,
    ) -> Result<Order, AskError> {
        let terms = by
            .iter()
            .map(|(term, d)| Ok(By::new(self.term(term, scope, subs)?, *d)));
        terms.collect::<Result<_, _>>().map(Order)
    }

    fn terms(
        &mut self,
        terms: &[Term],
        scope: &[Kind],
        subs: &mut Vec<BoundSub>,
    ) -> Result<Vec<Node>, AskError> {
        terms
            .iter()
            .map(|term| self.term(term, scope, subs))
            .collect()
    }

    fn term(
        &mut self,
        term: &Term,
        scope: &[Kind],
        subs: &mut Vec<BoundSub>,
    ) -> Result<Node, AskError> {
        Ok(match term {
            Term::Const(value) => Node::Const(value.clone()),
            Term::Param(id, path) => {
                self.param(*id);
                Node::Param(id.index(), path.as_slice().into())
            }
            Term::Item(list, path) => {
                let item = Node::Item(usize::from(*list));
                part_of(item, path)
            }
            Term::Column {
                frame,
                column,
                path,
            } => {
                let node = column_node(usize::from(*frame), usize::from(*column), scope)?;
                part_of(node, path)
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
                    Sub::Values(plan) => (Shape::Values, plan),
                };
                let outer = enclosing(plan, scope)?;
                let plan = self.plan(plan, outer)?;
                Node::Sub(add(subs, shape, outer.len(), plan))
            }
        })
    }

    fn tests(
        &mut self,
        tests: &[Test],
        scope: &[Kind],
        subs: &mut Vec<BoundSub>,
    ) -> Result<Vec<Check>, AskError> {
        tests
            .iter()
            .map(|test| self.test(test, scope, subs))
            .collect()
    }

    fn test(
        &mut self,
        test: &Test,
        scope: &[Kind],
        subs: &mut Vec<BoundSub>,
    ) -> Result<Check, AskError> {
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
                let plan = Bound {
                    root: self.op(op, &mut inner)?,
                    stride: inner.len(),
                    top: BoundTop::default(),
                };
                Check::Exists(add(subs, Shape::Exists, scope.len(), plan))
            }
        })
    }

    fn param(&mut self, id: ParamId) {
        self.params = self.params.max(id.index() + 1);
    }
}

/// A part of a term's value, or all of it.
fn part_of(node: Node, path: &[u16]) -> Node {
    if path.is_empty() {
        node
    } else {
        Node::Part(Box::new(node), path.into())
    }
}

/// The frames of an outer tuple that a subplan starts from.
fn enclosing<'s>(plan: &Plan, scope: &'s [Kind]) -> Result<&'s [Kind], AskError> {
    scope.get(..usize::from(plan.outer)).ok_or_else(|| {
        AskError::Plan(format!(
            "a subplan of {} frames where there are {}",
            plan.outer,
            scope.len()
        ))
    })
}

/// Adds a subplan and returns its slot.
fn add(subs: &mut Vec<BoundSub>, shape: Shape, outer: usize, plan: Bound) -> usize {
    subs.push(BoundSub { shape, outer, plan });
    subs.len() - 1
}

fn column_node(frame: usize, column: usize, scope: &[Kind]) -> Result<Node, AskError> {
    let (node, columns) = match scope.get(frame) {
        Some(Kind::Row(layout)) => {
            let columns = layout.key.len() + layout.columns.len();
            let node = Node::Row {
                frame,
                slot: *layout.common_slot(column),
                layout: Arc::clone(layout),
                column,
            };
            (node, columns)
        }
        Some(Kind::Computed(columns)) => (Node::Computed { frame, column }, *columns),
        None => {
            let frames = scope.len();
            return Err(AskError::Plan(format!(
                "frame {frame} of a tuple of {frames}"
            )));
        }
    };
    if column >= columns {
        let message = format!("column {column} of frame {frame}, which has {columns}");
        return Err(AskError::Plan(message));
    }
    Ok(node)
}

/// The longest run of texts that an answer shows of one frame.
fn text_run(output: &[Node], scope: &[Kind]) -> Option<BoundTexts> {
    let runs = scope.iter().enumerate().filter_map(|(at, kind)| {
        let Kind::Row(layout) = kind else {
            return None;
        };
        let columns = output.iter().filter_map(|node| match node {
            Node::Row { frame, column, .. } if *frame == at => Some(*column),
            _ => None,
        });
        Some((at, TextRun::longest(layout, columns)?))
    });
    let (frame, run) = runs.max_by_key(|(_, run)| run.len())?;
    let place = |node: &Node| match node {
        Node::Row {
            frame: at, slot, ..
        } if *at == frame => run.place(slot),
        _ => None,
    };
    let places = output
        .iter()
        .map(|node| place(node).unwrap_or(TextPlace::NOWHERE));
    Some(BoundTexts {
        frame,
        run,
        places: places.collect(),
    })
}

pub(super) fn page_param(page: &Page) -> ParamId {
    let (Page::After(param) | Page::Before(param)) = page;
    *param
}
