//! Subplans inside terms: run for one tuple at a time, resumable, their values kept meanwhile.

use super::answer::Top;
use super::bound::{BoundSub, Shape};
use super::root::Root;
use super::term::{Env, Stop};
use super::{AskError, BATCH, Context, Frame, Operator, Tuples};
use crate::store::{Fill, Reader};
use querent_compiler::value::Value;
use std::task::Poll;

/// The subplans in the terms of one operator, by slot.
pub(super) struct Subs<'a, R: Reader> {
    slots: Vec<Slot<'a, R>>,
    /// Their values, as far as they were run; shorter than the slots where none behind it was.
    results: Vec<Option<Value>>,
}

struct Slot<'a, R: Reader> {
    shape: Shape,
    /// Frames of the outer tuple that the subplan starts from.
    outer: usize,
    root: Root<'a, R>,
    top: Top<'a, R>,
    running: bool,
    /// Whether `tuples` holds all rows: they are looked at there instead of being decoded.
    gathered: bool,
    tuples: Tuples<R::B>,
    at: usize,
    rows: Vec<Value>,
}

impl<'a, R: Reader> Subs<'a, R> {
    /// With room for so many.
    pub(super) fn new(slots: usize) -> Self {
        Subs {
            slots: Vec::with_capacity(slots),
            results: Vec::new(),
        }
    }

    /// Adds the subplan of the next slot.
    pub(super) fn add(&mut self, sub: &BoundSub, root: Root<'a, R>, top: Top<'a, R>) {
        self.slots.push(Slot {
            shape: sub.shape,
            outer: sub.outer,
            root,
            top,
            running: false,
            gathered: false,
            tuples: Tuples::new(sub.plan.stride),
            at: 0,
            rows: Vec::new(),
        });
    }

    /// True if there is no subplan.
    pub(super) fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Forgets what the subplans gave: the next evaluation is over another tuple.
    #[inline]
    pub(super) fn reset(&mut self) {
        for slot in &mut self.slots {
            slot.running = false;
            slot.gathered = false;
        }
        self.results.clear();
    }

    /// True if a subplan's rows can be looked at where they were read.
    pub(super) fn can_gather(&self, at: usize) -> bool {
        self.slots
            .get(at)
            .is_some_and(|slot| matches!(slot.shape, Shape::Nested) && !slot.top.bound.has_subs)
    }

    /// Reads all rows of a subplan and decodes none. Pending: call again with the same tuple.
    pub(super) fn gather(
        &mut self,
        at: usize,
        cx: &Context<'a, R>,
        tuple: &[Frame<R::B>],
    ) -> Result<Poll<()>, AskError> {
        match self.slots.get_mut(at) {
            Some(slot) => slot.gather(cx, tuple),
            None => Err(AskError::Plan(format!("no subplan {at}"))),
        }
    }

    /// The rows that were gathered.
    pub(super) fn gathered(&self, at: usize) -> Option<(&Top<'a, R>, &Tuples<R::B>)> {
        let slot = self.slots.get(at).filter(|slot| slot.gathered)?;
        Some((&slot.top, &slot.tuples))
    }

    /// The values of the subplans, as far as they were run.
    pub(super) fn results(&self) -> &[Option<Value>] {
        &self.results
    }

    /// Evaluates over a tuple, running the subplans that it needs. Pending: the store said *wait*;
    /// call again with the same tuple. The caller resets when it is done with the tuple.
    #[inline]
    pub(super) fn resolve<T>(
        &mut self,
        cx: &Context<'a, R>,
        tuple: &[Frame<R::B>],
        items: &[Value],
        mut evaluate: impl FnMut(&Env<'_, R::B>) -> Result<T, Stop>,
    ) -> Result<Poll<T>, AskError> {
        loop {
            match evaluate(&Env {
                tuple,
                items,
                params: cx.params,
                results: &self.results,
            }) {
                Ok(value) => return Ok(Poll::Ready(value)),
                Err(Stop::Error(error)) => return Err(error),
                Err(Stop::Need(at)) => {
                    if self.run(at, cx, tuple)?.is_pending() {
                        return Ok(Poll::Pending);
                    }
                }
            }
        }
    }

    /// Runs the subplan of a slot over a tuple.
    #[inline(never)]
    fn run(
        &mut self,
        at: usize,
        cx: &Context<'a, R>,
        tuple: &[Frame<R::B>],
    ) -> Result<Poll<()>, AskError> {
        let Some(slot) = self.slots.get_mut(at) else {
            return Err(AskError::Plan(format!("no subplan {at}")));
        };
        Ok(slot.run(cx, tuple)?.map(|value| {
            if self.results.len() <= at {
                self.results.resize(self.slots.len(), None);
            }
            if let Some(result) = self.results.get_mut(at) {
                *result = Some(value);
            }
        }))
    }
}

impl<'a, R: Reader> Slot<'a, R> {
    /// Starts over a tuple, unless it is running over it.
    fn start(&mut self, outer: &[Frame<R::B>]) {
        if !self.running {
            self.running = true;
            self.root.start(outer.get(..self.outer).unwrap_or(outer));
            self.top.subs.reset();
            self.top.texts.reset();
            self.tuples.clear();
            self.at = 0;
            self.rows.clear();
        }
    }

    fn gather(&mut self, cx: &Context<'a, R>, outer: &[Frame<R::B>]) -> Result<Poll<()>, AskError> {
        self.start(outer);
        while !self.gathered {
            match self.root.fill(cx, BATCH, &mut self.tuples)? {
                Fill::Rows => {}
                Fill::Wait => return Ok(Poll::Pending),
                Fill::End => self.gathered = true,
            }
        }
        Ok(Poll::Ready(()))
    }

    fn run(&mut self, cx: &Context<'a, R>, outer: &[Frame<R::B>]) -> Result<Poll<Value>, AskError> {
        self.start(outer);
        let want = if matches!(self.shape, Shape::Nested | Shape::Values) {
            BATCH
        } else {
            1
        };
        loop {
            if self.at == self.tuples.len() {
                self.tuples.clear();
                self.at = 0;
                match self.root.fill(cx, want, &mut self.tuples)? {
                    Fill::Rows => {}
                    Fill::Wait => return Ok(Poll::Pending),
                    Fill::End => return Ok(Poll::Ready(self.finish())),
                }
            }
            if matches!(self.shape, Shape::Exists) {
                self.running = false;
                return Ok(Poll::Ready(Value::Bool(true)));
            }
            let (output, tuple) = (&self.top.bound.output, self.tuples.get(self.at));
            let row = self
                .top
                .subs
                .resolve(cx, tuple, &[], |env| super::term::values(output, env))?;
            let Poll::Ready(row) = row else {
                return Ok(Poll::Pending);
            };
            self.top.subs.reset();
            self.at += 1;
            match self.shape {
                Shape::Scalar => {
                    self.running = false;
                    return Ok(Poll::Ready(row.into_iter().next().unwrap_or_default()));
                }
                Shape::Values => self.rows.extend(row.into_iter().next()),
                Shape::Nested | Shape::Exists => self.rows.push(Value::Record(row)),
            }
        }
    }

    /// The value where no further row comes.
    fn finish(&mut self) -> Value {
        self.running = false;
        match self.shape {
            Shape::Nested | Shape::Values => Value::List(std::mem::take(&mut self.rows)),
            Shape::Scalar => Value::Null,
            Shape::Exists => Value::Bool(false),
        }
    }
}
