//! From the terms, tests and gets of a plan to their bound forms.

use super::AskError;
use super::answer::Top;
use super::build::{Builder, Demand};
use super::cursor::Cursor;
use super::order::Order;
use super::range::{Edge, Range};
use super::sub::{Shape, Subs};
use super::term::{Check, Env, Kind, Node, Stop, part};
use crate::cursor::{self, CursorError};
use crate::key;
use crate::store::Reader;
use querent_compiler::design::{Bound, Get, Sub, Term, Test};
use querent_compiler::model::{Direction, Page, ParamId};
use querent_compiler::value::Value;
use std::borrow::Cow;

impl<'a, R: Reader + 'a> Builder<'a, R> {
    pub(super) fn range(
        &mut self,
        get: &'a Get,
        scope: &[Kind<'a>],
        subs: &mut Subs<'a, R>,
        demand: Demand,
    ) -> Result<Range<'a>, AskError> {
        let structure = get.structure;
        let layout = self
            .ask
            .layouts
            .get(usize::from(structure))
            .ok_or_else(|| {
                let layouts = self.ask.layouts.len();
                AskError::Plan(format!("structure {structure} of a design of {layouts}"))
            })?;
        let eq = self.terms(&get.eq, scope, subs)?;
        if eq.len() > layout.key.len() {
            let (eq, parts) = (eq.len(), layout.key.len());
            let name = &layout.name;
            let message = format!("{eq} values for the {parts} key parts of {name}");
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
                return Err(self.foreign(page, values.len(), parts.len()));
            }
            for (value, part) in values.iter().zip(parts) {
                key::encode_part(value, part, &mut Vec::new())
                    .map_err(|e| self.cursor_error(page, CursorError::Foreign(e.to_string())))?;
            }
            // Read backwards, what comes after the cursor has lower keys.
            edge = Some(Edge {
                values,
                above: after != get.reverse,
            });
        }
        let reverse = get.reverse != demand.flip;
        let limit = demand.limit;
        Ok(Range {
            structure,
            layout,
            eq,
            lower,
            upper,
            reverse,
            page: edge,
            limit,
        })
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

    pub(super) fn order(
        &mut self,
        by: &'a [(Term, Direction)],
        scope: &[Kind<'a>],
        subs: &mut Subs<'a, R>,
    ) -> Result<Order<'a>, AskError> {
        let terms = by
            .iter()
            .map(|(term, d)| Ok((self.term(term, scope, subs)?, *d)));
        terms.collect::<Result<_, _>>().map(Order)
    }

    pub(super) fn terms(
        &mut self,
        terms: &'a [Term],
        scope: &[Kind<'a>],
        subs: &mut Subs<'a, R>,
    ) -> Result<Vec<Node<'a>>, AskError> {
        terms
            .iter()
            .map(|term| self.term(term, scope, subs))
            .collect()
    }

    pub(super) fn term(
        &mut self,
        term: &'a Term,
        scope: &[Kind<'a>],
        subs: &mut Subs<'a, R>,
    ) -> Result<Node<'a>, AskError> {
        Ok(match term {
            Term::Const(value) => Node::Const(Cow::Borrowed(value)),
            Term::Param(id, path) => Node::Const(Cow::Borrowed(part(self.param(*id)?, path))),
            Term::Item => Node::Item,
            Term::Column {
                frame,
                column,
                path,
            } => {
                let node = column_node(usize::from(*frame), usize::from(*column), scope)?;
                if path.is_empty() {
                    node
                } else {
                    Node::Part(Box::new(node), path)
                }
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
                let outer = scope.get(..plan.outer as usize).ok_or_else(|| {
                    AskError::Plan(format!(
                        "a subplan of {} frames where there are {}",
                        plan.outer,
                        scope.len()
                    ))
                })?;
                let built = self.plan(plan, outer)?;
                Node::Sub(subs.add(shape, outer.len(), built))
            }
        })
    }

    pub(super) fn tests(
        &mut self,
        tests: &'a [Test],
        scope: &[Kind<'a>],
        subs: &mut Subs<'a, R>,
    ) -> Result<Vec<Check<'a>>, AskError> {
        tests
            .iter()
            .map(|test| self.test(test, scope, subs))
            .collect()
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
                let root = self.op(
                    op,
                    &mut inner,
                    Demand {
                        limit: Some(1),
                        flip: false,
                    },
                )?;
                let built = super::build::Built {
                    root,
                    stride: inner.len(),
                    top: Top {
                        names: &[],
                        output: Vec::new(),
                        cursor: Cursor::new(None, &[], Vec::new(), self.ask),
                        subs: Subs::new(),
                    },
                };
                Check::Exists(subs.add(Shape::Exists, scope.len(), built))
            }
        })
    }

    pub(super) fn param(&self, id: ParamId) -> Result<&'a Value, AskError> {
        let given = self.ask.params.len();
        self.ask.params.get(id.index()).ok_or_else(|| {
            AskError::Plan(format!(
                "parameter {} of {given} that were given",
                id.index()
            ))
        })
    }

    /// The values of a page's cursor, and whether the page is behind it; none without a cursor.
    pub(super) fn cursor(&self, page: &Page) -> Result<Option<(Vec<Value>, bool)>, AskError> {
        let after = matches!(page, Page::After(_));
        match self.param(page_param(page))? {
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

    fn cursor_error(&self, page: &Page, source: CursorError) -> AskError {
        let id = page_param(page).index();
        let name = self.ask.declared.get(id);
        AskError::Cursor {
            param: name
                .map_or_else(|| (id + 1).to_string(), |p| format!("${}", p.name))
                .into(),
            source: Box::new(source),
        }
    }

    pub(super) fn foreign(&self, page: &Page, found: usize, expected: usize) -> AskError {
        let why = format!("it has {found} values, and the order of this question has {expected}");
        self.cursor_error(page, CursorError::Foreign(why))
    }

    /// A limit: none where it is null. It depends on constants and parameters alone.
    pub(super) fn count(
        &mut self,
        count: &'a Term,
        scope: &[Kind<'a>],
    ) -> Result<Option<usize>, AskError> {
        let mut subs = Subs::<'a, R>::new();
        let node = self.term(count, scope, &mut subs)?;
        let env = Env::<&[u8]> {
            tuple: &[],
            item: None,
            results: &[],
        };
        match node.value(&env) {
            Ok(Value::Int(n)) => Ok(Some(usize::try_from(n).unwrap_or(0))),
            Ok(_) => Ok(None),
            Err(Stop::Error(error)) => Err(error),
            Err(Stop::Need(_)) => Err(AskError::Plan("a subplan as a limit".into())),
        }
    }
}

fn column_node<'a>(frame: usize, column: usize, scope: &[Kind<'a>]) -> Result<Node<'a>, AskError> {
    let (node, columns) = match scope.get(frame) {
        Some(&Kind::Row(layout)) => {
            let columns = layout.key.len() + layout.columns.len();
            (
                Node::Row {
                    frame,
                    slot: layout.common_slot(column),
                    layout,
                    column,
                },
                columns,
            )
        }
        Some(&Kind::Computed(columns)) => (Node::Computed { frame, column }, columns),
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

pub(super) fn page_param(page: &Page) -> ParamId {
    let (Page::After(param) | Page::Before(param)) = page;
    *param
}
