//! Terms and tests, bound to the frames of a plan, and their evaluation over a tuple.
//!
//! Evaluation is pure. A subplan's value that is not there yet stops it ([`Stop::Need`]); whoever
//! evaluates runs the subplan ([`super::sub::Subs`]) and evaluates again.

use super::{AskError, Frame};
use crate::layout::{CommonSlot, Layout, ValueRef};
use crate::row::RowError;
use crate::store::Buf;
use querent_compiler::model::{Binary, Compare, Function};
use querent_compiler::value::{Value, ops};
use std::borrow::Cow;
use std::mem::discriminant;
use std::sync::Arc;

/// What a frame of a tuple holds: known from the plan.
#[derive(Clone)]
pub(super) enum Kind {
    /// A row of a structure.
    Row(Arc<Layout>),
    /// A computed record of so many values.
    Computed(usize),
}

/// A term with its frames looked up.
pub(super) enum Node {
    Const(Value),
    /// A part of a parameter, by its number.
    Param(usize, Box<[u16]>),
    /// The current element of a list of a merge.
    Item(usize),
    Row {
        frame: usize,
        /// Where most rows have it.
        slot: CommonSlot,
        layout: Arc<Layout>,
        column: usize,
    },
    Computed {
        frame: usize,
        column: usize,
    },
    /// A part of another term's value.
    Part(Box<Node>, Box<[u16]>),
    Key(Vec<Node>),
    Binary(Binary, Box<Node>, Box<Node>),
    Call(Function, Vec<Node>),
    At(Box<Node>, Box<Node>),
    Shape(Box<Node>, Vec<Node>),
    /// The subplan of this slot.
    Sub(usize),
}

/// A test with its terms bound.
pub(super) enum Check {
    And(Vec<Check>),
    Or(Vec<Check>),
    Not(Box<Check>),
    Compare(Node, Compare, Node),
    In(Node, Vec<Node>),
    InList(Node, Node),
    IsNull(Node),
    /// The subplan of this slot yields a tuple.
    Exists(usize),
}

/// What a term is evaluated over.
pub(super) struct Env<'t, B> {
    pub(super) tuple: &'t [Frame<B>],
    /// The current elements of a merge's lists.
    pub(super) items: &'t [Value],
    /// The parameters of the ask.
    pub(super) params: &'t [Value],
    /// The values of subplans, by slot.
    pub(super) results: &'t [Option<Value>],
}

/// Why an evaluation has no value yet, or none at all.
pub(super) enum Stop {
    /// The subplan of this slot must be run first.
    Need(usize),
    Error(AskError),
}

impl Stop {
    /// Of terms that have no subplans.
    #[cold]
    pub(super) fn unrun(self) -> AskError {
        match self {
            Stop::Error(error) => error,
            Stop::Need(slot) => AskError::Plan(format!("subplan {slot} was not run")),
        }
    }
}

impl From<AskError> for Stop {
    fn from(error: AskError) -> Self {
        Stop::Error(error)
    }
}

impl Node {
    /// The value, borrowed from the tuple where it can be.
    #[inline]
    pub(super) fn eval<'t, B: Buf>(&'t self, env: &Env<'t, B>) -> Result<ValueRef<'t>, Stop> {
        match self {
            Node::Row {
                frame,
                slot,
                layout,
                column,
            } => match env.tuple.get(*frame) {
                Some(Frame::Row(key, row)) => layout
                    .value_at(slot, key, row, *column)
                    .map_err(|source| damaged(layout, source).into()),
                Some(Frame::Values(None)) => Ok(ValueRef::Null),
                _ => Err(foreign_frame(*frame)),
            },
            Node::Const(value) => Ok(ValueRef::of(value)),
            Node::Param(..) => Ok(ValueRef::of(self.given(env.params))),
            _ => self.eval_rare(env),
        }
    }

    /// The stored bytes of the text of a key that the term is in a tuple, where it is whole.
    #[inline]
    pub(super) fn key_text<'t, B: Buf>(&self, tuple: &'t [Frame<B>]) -> Option<&'t [u8]> {
        let Node::Row { frame, slot, .. } = self else {
            return None;
        };
        match tuple.get(*frame)? {
            Frame::Row(key, _) if slot.is_key_text() => slot.key_text_bytes(key),
            _ => None,
        }
    }

    fn eval_rare<'t, B: Buf>(&'t self, env: &Env<'t, B>) -> Result<ValueRef<'t>, Stop> {
        match self {
            Node::Computed { frame, column } => match env.tuple.get(*frame) {
                Some(Frame::Values(Some(values))) => {
                    Ok(values.get(*column).map_or(ValueRef::Null, ValueRef::of))
                }
                Some(Frame::Values(None)) => Ok(ValueRef::Null),
                _ => Err(foreign_frame(*frame)),
            },
            Node::Item(list) => Ok(env.items.get(*list).map_or(ValueRef::Null, ValueRef::of)),
            Node::Sub(slot) => match env.results.get(*slot) {
                Some(Some(value)) => Ok(ValueRef::of(value)),
                _ => Err(Stop::Need(*slot)),
            },
            // Without a copy of what is handed through.
            Node::Call(Function::OrZero, args) if args.len() == 1 => {
                for arg in args {
                    let value = arg.eval(env)?;
                    if !value.is_null() {
                        return Ok(value);
                    }
                }
                Ok(ops::call(Function::OrZero, &[Value::Null]).into())
            }
            _ => Ok(self.compute(env)?.into()),
        }
    }

    fn compute<B: Buf>(&self, env: &Env<'_, B>) -> Result<Value, Stop> {
        Ok(match self {
            Node::Part(of, path) => part(&*of.value_cow(env)?, path).clone(),
            Node::Key(nodes) => {
                let mut parts = Vec::with_capacity(nodes.len());
                for node in nodes {
                    match node.value(env)? {
                        Value::Null if parts.is_empty() => return Ok(Value::Null),
                        // Keys of instances are flat.
                        Value::Key(inner) => parts.extend(inner),
                        value => parts.push(value),
                    }
                }
                Value::Key(parts)
            }
            Node::Binary(op, a, b) => {
                ops::binary(*op, a.value_cow(env)?.as_ref(), b.value_cow(env)?.as_ref())
            }
            Node::Call(function, args) => match args.as_slice() {
                [arg] => ops::call(*function, std::slice::from_ref(&*arg.value_cow(env)?)),
                args => ops::call(*function, &values(args, env)?),
            },
            Node::At(map, key) => {
                ops::at(map.value_cow(env)?.as_ref(), key.value_cow(env)?.as_ref())
            }
            Node::Shape(present, nodes) => {
                if present.eval(env)?.is_null() {
                    return Ok(Value::Null);
                }
                Value::Record(values(nodes, env)?)
            }
            Node::Const(_)
            | Node::Param(..)
            | Node::Item(_)
            | Node::Row { .. }
            | Node::Computed { .. }
            | Node::Sub(_) => self.eval(env)?.into_value(),
        })
    }

    /// The part of a parameter that this term is.
    #[inline]
    fn given<'t>(&self, params: &'t [Value]) -> &'t Value {
        match self {
            Node::Param(at, path) => params.get(*at).map_or(&Value::Null, |v| part(v, path)),
            _ => &Value::Null,
        }
    }

    /// The value, owned.
    pub(super) fn value<B: Buf>(&self, env: &Env<'_, B>) -> Result<Value, Stop> {
        Ok(self.value_cow(env)?.into_owned())
    }

    /// The value, borrowed where a whole value is at hand.
    pub(super) fn value_cow<'t, B: Buf>(
        &'t self,
        env: &Env<'t, B>,
    ) -> Result<Cow<'t, Value>, Stop> {
        Ok(match self {
            Node::Const(value) => Cow::Borrowed(value),
            Node::Param(..) => Cow::Borrowed(self.given(env.params)),
            Node::Item(list) => env
                .items
                .get(*list)
                .map_or(Cow::Owned(Value::Null), Cow::Borrowed),
            Node::Computed { frame, column } => match env.tuple.get(*frame) {
                Some(Frame::Values(Some(values))) => values
                    .get(*column)
                    .map_or(Cow::Owned(Value::Null), Cow::Borrowed),
                _ => Cow::Owned(self.eval(env)?.into_value()),
            },
            Node::Sub(slot) => match env.results.get(*slot) {
                Some(Some(value)) => Cow::Borrowed(value),
                _ => return Err(Stop::Need(*slot)),
            },
            Node::Row { .. } => Cow::Owned(self.eval(env)?.into_value()),
            _ => Cow::Owned(self.compute(env)?),
        })
    }

    /// True if a subplan must be run for the value.
    pub(super) fn has_sub(&self) -> bool {
        match self {
            Node::Sub(_) => true,
            Node::Const(_)
            | Node::Param(..)
            | Node::Item(_)
            | Node::Row { .. }
            | Node::Computed { .. } => false,
            Node::Part(node, _) => node.has_sub(),
            Node::Key(nodes) | Node::Call(_, nodes) => nodes.iter().any(Node::has_sub),
            Node::Binary(_, a, b) | Node::At(a, b) => a.has_sub() || b.has_sub(),
            Node::Shape(present, nodes) => present.has_sub() || nodes.iter().any(Node::has_sub),
        }
    }
}

/// The values of several terms.
pub(super) fn values<B: Buf>(nodes: &[Node], env: &Env<'_, B>) -> Result<Vec<Value>, Stop> {
    nodes.iter().map(|node| node.value(env)).collect()
}

/// A part of a value: fields of records, scalars of keys; null where there is none.
pub(super) fn part<'v>(value: &'v Value, path: &[u16]) -> &'v Value {
    path.iter().fold(value, |value, &i| match value {
        Value::Record(fields) | Value::Key(fields) => {
            fields.get(usize::from(i)).unwrap_or(&Value::Null)
        }
        _ => &Value::Null,
    })
}

/// The elements of a list or set, or of nothing.
pub(super) fn elements(value: &Value) -> &[Value] {
    match value {
        Value::List(values) | Value::Set(values) => values,
        _ => &[],
    }
}

impl Check {
    /// Whether the test holds.
    pub(super) fn holds<B: Buf>(&self, env: &Env<'_, B>) -> Result<bool, Stop> {
        match self {
            Check::And(checks) => all(checks, env),
            Check::Or(checks) => {
                for check in checks {
                    if check.holds(env)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            Check::Not(check) => Ok(!check.holds(env)?),
            Check::Compare(a, op, b) => Ok(compare(&a.eval(env)?, *op, &b.eval(env)?)),
            Check::In(a, nodes) => {
                let a = a.eval(env)?;
                for node in nodes {
                    if compare(&a, Compare::Eq, &node.eval(env)?) {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            Check::InList(a, list) => {
                let a = a.eval(env)?;
                let list = list.value_cow(env)?;
                let equal = |v: &Value| compare(&a, Compare::Eq, &ValueRef::of(v));
                Ok(elements(list.as_ref()).iter().any(equal))
            }
            Check::IsNull(a) => Ok(a.eval(env)?.is_null()),
            Check::Exists(slot) => match env.results.get(*slot) {
                Some(Some(value)) => Ok(*value == Value::Bool(true)),
                _ => Err(Stop::Need(*slot)),
            },
        }
    }
}

/// Whether all tests hold; those behind the first that does not are not evaluated.
pub(super) fn all<B: Buf>(checks: &[Check], env: &Env<'_, B>) -> Result<bool, Stop> {
    for check in checks {
        if !check.holds(env)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// [`ops::compare`] without copies where both sides are of one kind.
fn compare(a: &ValueRef<'_>, op: Compare, b: &ValueRef<'_>) -> bool {
    if a.is_null() || b.is_null() {
        return false;
    }
    if discriminant(a) == discriminant(b) {
        return ops::holds(op, a.cmp(b));
    }
    ops::compare(&a.to_value(), op, &b.to_value())
}

#[cold]
pub(super) fn damaged(layout: &Layout, source: RowError) -> AskError {
    AskError::Damaged {
        structure: layout.name.clone(),
        source: Box::new(source),
    }
}

#[cold]
fn foreign_frame(frame: usize) -> Stop {
    AskError::Plan(format!(
        "frame {frame} is not of the kind that a term expects"
    ))
    .into()
}
