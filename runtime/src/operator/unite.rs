//! `unite`: the rows of several plans, each distinct one once, merged in order or one plan's after
//! the other's.

use super::answer::Top;
use super::build::Demand;
use super::order::Order;
use super::root::Root;
use super::term::{Env, Stop, values};
use super::{AskError, BATCH, Context, Frame, Operator, Tuples};
use crate::store::{Fill, Reader};
use querent_compiler::value::Value;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashSet};
use std::rc::Rc;
use std::task::Poll;

pub(super) struct Unite<'a, R: Reader> {
    step: usize,
    parts: &'a Parts,
    demand: Demand,
    branches: Vec<Branch<'a, R>>,
    outer: Vec<Frame<R::B>>,
    /// Branches whose next row is not known, in their order.
    headless: Vec<usize>,
    /// The next row of every other branch that has one.
    heads: BinaryHeap<Reverse<(Vec<u8>, usize)>>,
    /// What tells the rows apart that were given: all of them, or in order those of the last place.
    seen: HashSet<Vec<Value>>,
    /// The last place in the order.
    place: Vec<u8>,
}

/// What a union is made of, but for its branches.
pub(super) struct Parts {
    /// How many of the first columns tell rows apart.
    pub(super) keys: usize,
    /// Empty: branches are read one after the other.
    pub(super) order: Order,
}

struct Branch<'a, R: Reader> {
    root: Root<'a, R>,
    top: Top<'a, R>,
    /// Tuples that were pulled, and how many of them are used up.
    tuples: Tuples<R::B>,
    at: usize,
    /// No further tuple comes.
    ended: bool,
    /// The next row, behind the outer tuple.
    head: Vec<Frame<R::B>>,
}

impl<'a, R: Reader> Branch<'a, R> {
    fn start(&mut self, outer: &[Frame<R::B>]) {
        self.root.start(outer);
        self.top.subs.reset();
        self.tuples.clear();
        self.at = 0;
        self.ended = false;
        self.head.clear();
    }

    /// Makes sure that there is a tuple; pulls up to `want` if not.
    fn ready(&mut self, cx: &Context<'a, R>, want: usize) -> Result<Fill, AskError> {
        if self.at < self.tuples.len() {
            return Ok(Fill::Rows);
        }
        if self.ended {
            return Ok(Fill::End);
        }
        self.tuples.clear();
        self.at = 0;
        let fill = self.root.fill(cx, want, &mut self.tuples)?;
        self.ended = fill == Fill::End;
        Ok(fill)
    }

    /// The next row; none at the end. Up to `want` tuples are pulled where there is none.
    fn next(
        &mut self,
        cx: &Context<'a, R>,
        want: usize,
    ) -> Result<Poll<Option<Vec<Value>>>, AskError> {
        match self.ready(cx, want)? {
            Fill::Rows => {}
            Fill::Wait => return Ok(Poll::Pending),
            Fill::End => return Ok(Poll::Ready(None)),
        }
        let (output, tuple) = (&self.top.bound.output, self.tuples.get(self.at));
        let subs = &mut self.top.subs;
        let row = subs.resolve(cx, tuple, &[], |env| values(output, env))?;
        Ok(row.map(|row| {
            subs.reset();
            self.at += 1;
            Some(row)
        }))
    }
}

impl<'a, R: Reader> Unite<'a, R> {
    pub(super) fn new(step: usize, parts: &'a Parts, demand: Demand) -> Self {
        Unite {
            step,
            parts,
            demand,
            branches: Vec::new(),
            outer: Vec::new(),
            headless: Vec::new(),
            heads: BinaryHeap::new(),
            seen: HashSet::new(),
            place: Vec::new(),
        }
    }

    /// Adds a branch, whose tuples have so many frames.
    pub(super) fn add(&mut self, (root, top): (Root<'a, R>, Top<'a, R>), stride: usize) {
        self.branches.push(Branch {
            root,
            top,
            tuples: Tuples::new(stride),
            at: 0,
            ended: false,
            head: Vec::new(),
        });
    }

    /// Appends the next row of the first branch that has one. While it waits, those that follow are
    /// asked too, where the store gains by it.
    fn concatenate(
        &mut self,
        cx: &Context<'a, R>,
        want: usize,
        out: &mut Tuples<R::B>,
    ) -> Result<Fill, AskError> {
        while let Some(&first) = self.headless.first() {
            let Some(branch) = self.branches.get_mut(first) else {
                break;
            };
            match branch.next(cx, want)? {
                Poll::Pending => {
                    for &next in self.headless.iter().take(R::AHEAD).skip(1) {
                        if let Some(branch) = self.branches.get_mut(next) {
                            branch.ready(cx, want)?;
                        }
                    }
                    return Ok(Fill::Wait);
                }
                Poll::Ready(None) => {
                    self.headless.remove(0);
                }
                Poll::Ready(Some(row)) => {
                    let key = row.get(..self.parts.keys).unwrap_or(&row).to_vec();
                    if self.seen.insert(key) {
                        out.push_joined(&self.outer, Frame::Values(Some(row.into())));
                        return Ok(Fill::Rows);
                    }
                }
            }
        }
        Ok(Fill::End)
    }

    /// Appends the row that comes first in the order.
    fn merge(
        &mut self,
        cx: &Context<'a, R>,
        want: usize,
        out: &mut Tuples<R::B>,
    ) -> Result<Fill, AskError> {
        loop {
            self.pull(cx, want)?;
            if !self.headless.is_empty() {
                return Ok(Fill::Wait);
            }
            let Some(Reverse((place, at))) = self.heads.pop() else {
                return Ok(Fill::End);
            };
            self.headless.push(at);
            let Some(branch) = self.branches.get_mut(at) else {
                continue;
            };
            if place != self.place {
                self.seen.clear();
                self.place = place;
            }
            let key = match branch.head.last() {
                Some(Frame::Values(Some(row))) => row.get(..self.parts.keys).unwrap_or(row),
                _ => &[],
            };
            if self.seen.insert(key.to_vec()) {
                out.push(branch.head.drain(..));
                return Ok(Fill::Rows);
            }
        }
    }

    /// Finds the next row of the branches that need one. Under a limit a branch is asked for a
    /// single row: of which ones the others come before is not known.
    fn pull(&mut self, cx: &Context<'a, R>, want: usize) -> Result<(), AskError> {
        let want = match self.demand.limit {
            Some(_) => 1,
            None => want.min(BATCH),
        };
        let mut waiting = Vec::new();
        for at in self.headless.drain(..) {
            let Some(branch) = self.branches.get_mut(at) else {
                continue;
            };
            match branch.next(cx, want)? {
                Poll::Pending => waiting.push(at),
                Poll::Ready(None) => {}
                Poll::Ready(Some(row)) => {
                    let row: Rc<[Value]> = row.into();
                    branch.head.clone_from(&self.outer);
                    branch.head.push(Frame::Values(Some(row)));
                    let env = Env {
                        tuple: &branch.head,
                        items: &[],
                        params: cx.params,
                        results: &[],
                    };
                    let mut place = Vec::new();
                    let order = &self.parts.order;
                    match order.encode(&env, self.demand.flip, &mut place) {
                        Ok(()) => self.heads.push(Reverse((place, at))),
                        Err(Stop::Error(error)) => return Err(error),
                        Err(Stop::Need(_)) => {
                            return Err(AskError::Plan("a subplan in the order of a union".into()));
                        }
                    }
                }
            }
        }
        self.headless = waiting;
        Ok(())
    }
}

impl<'a, R: Reader> Operator<'a, R> for Unite<'a, R> {
    fn start(&mut self, outer: &[Frame<R::B>]) {
        self.outer = outer.to_vec();
        self.branches.iter_mut().for_each(|b| b.start(outer));
        self.headless = (0..self.branches.len()).collect();
        self.heads.clear();
        self.seen.clear();
        self.place.clear();
    }

    fn fill(
        &mut self,
        cx: &Context<'a, R>,
        want: usize,
        out: &mut Tuples<R::B>,
    ) -> Result<Fill, AskError> {
        let before = out.len();
        loop {
            let added = out.len() - before;
            if added >= want {
                return Ok(cx.settle(self.step, added, Fill::End));
            }
            let fill = if self.parts.order.0.is_empty() {
                self.concatenate(cx, want - added, out)?
            } else {
                self.merge(cx, want - added, out)?
            };
            if fill != Fill::Rows {
                return Ok(cx.settle(self.step, added, fill));
            }
        }
    }
}
