//! `aggregate`: groups of tuples, in the order of the groups' values.

use super::feed::Feed;
use super::sub::Subs;
use super::term::{Node, values};
use super::{AskError, BATCH, Context, Frame, Operator, Tuples};
use crate::store::{Fill, Reader};
use querent_compiler::model::AggregateFn;
use querent_compiler::value::Value;
use querent_compiler::value::ops::Accumulator;
use std::collections::BTreeMap;
use std::collections::btree_map::IntoIter;
use std::task::Poll;

pub(super) struct Aggregate<'a, R: Reader> {
    step: usize,
    feed: Feed<'a, R>,
    parts: &'a Parts,
    subs: Subs<'a, R>,
    groups: BTreeMap<Vec<Value>, Vec<Accumulator>>,
    finished: Option<IntoIter<Vec<Value>, Vec<Accumulator>>>,
}

/// What an aggregate is made of.
pub(super) struct Parts {
    pub(super) group: Vec<Node>,
    pub(super) aggregates: Vec<One>,
    /// One group even of no input.
    pub(super) always: bool,
}

/// One aggregate.
pub(super) struct One {
    pub(super) function: AggregateFn,
    pub(super) distinct: bool,
    /// What is aggregated are states of this aggregate, as groups store them.
    pub(super) stored: bool,
    pub(super) arg: Option<Node>,
}

impl One {
    fn add(&self, so_far: &mut Accumulator, arg: Option<&Value>) -> Result<(), AskError> {
        match arg {
            None => so_far.add_binding(),
            Some(value) if self.stored => {
                let state = Accumulator::from_stored(self.function, value);
                let state = state.ok_or_else(|| {
                    let name = self.function.name();
                    AskError::Plan(format!("what is stored is no {name} of a group"))
                })?;
                so_far.merge(&state);
            }
            Some(value) => so_far.add(value),
        }
        Ok(())
    }
}

impl Parts {
    fn accumulators(&self) -> Vec<Accumulator> {
        let new = |one: &One| Accumulator::new(one.function, one.distinct);
        self.aggregates.iter().map(new).collect()
    }
}

impl<'a, R: Reader> Aggregate<'a, R> {
    pub(super) fn new(step: usize, feed: Feed<'a, R>, parts: &'a Parts, subs: Subs<'a, R>) -> Self {
        Aggregate {
            step,
            feed,
            parts,
            subs,
            groups: BTreeMap::new(),
            finished: None,
        }
    }

    /// Takes in the whole input; false if it waits.
    fn collect(&mut self, cx: &Context<'a, R>) -> Result<bool, AskError> {
        loop {
            match self.feed.ready(cx, BATCH)? {
                Fill::Rows => {}
                Fill::Wait => return Ok(false),
                Fill::End => break,
            }
            let parts = self.parts;
            let row = self.subs.resolve(cx, self.feed.tuple(), &[], |env| {
                let args = parts
                    .aggregates
                    .iter()
                    .map(|one| one.arg.as_ref().map(|arg| arg.value(env)).transpose());
                Ok((
                    values(&parts.group, env)?,
                    args.collect::<Result<Vec<_>, _>>()?,
                ))
            })?;
            let Poll::Ready((group, args)) = row else {
                return Ok(false);
            };
            self.subs.reset();
            self.feed.skip();
            let accumulators = self
                .groups
                .entry(group)
                .or_insert_with(|| parts.accumulators());
            let of = parts.aggregates.iter().zip(&args);
            for (accumulator, (one, arg)) in accumulators.iter_mut().zip(of) {
                one.add(accumulator, arg.as_ref())?;
            }
        }
        if self.parts.always && self.groups.is_empty() {
            self.groups.insert(Vec::new(), self.parts.accumulators());
        }
        self.finished = Some(std::mem::take(&mut self.groups).into_iter());
        Ok(true)
    }
}

impl<'a, R: Reader> Operator<'a, R> for Aggregate<'a, R> {
    fn start(&mut self, outer: &[Frame<R::B>]) {
        self.feed.start(outer);
        self.subs.reset();
        self.groups.clear();
        self.finished = None;
    }

    fn fill(
        &mut self,
        cx: &Context<'a, R>,
        want: usize,
        out: &mut Tuples<R::B>,
    ) -> Result<Fill, AskError> {
        if self.finished.is_none() && !self.collect(cx)? {
            return Ok(Fill::Wait);
        }
        let mut added = 0;
        for (mut row, accumulators) in self.finished.iter_mut().flatten().take(want) {
            row.extend(accumulators.iter().map(Accumulator::finish));
            out.push([Frame::Values(Some(row.into()))]);
            added += 1;
        }
        Ok(cx.settle(self.step, added, Fill::End))
    }
}
