//! `merge`: for each input tuple, one read per combination of elements of lists, merged in order.

use super::feed::Feed;
use super::order::Order;
use super::range::{Bounds, Range};
use super::sub::Subs;
use super::term::{Env, Node, Stop, elements};
use super::{AskError, Context, Frame, Operator, Tuples};
use crate::store::{Batch, Buf, Fill, Reader, Source};
use querent_compiler::value::Value;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::task::Poll;

pub(super) struct Merge<'a, R: Reader> {
    step: usize,
    feed: Feed<'a, R>,
    parts: &'a Parts,
    range: Range<'a>,
    /// Whether the result is wanted from its end to its start.
    flip: bool,
    subs: Subs<'a, R>,
    /// The merge of the current input tuple.
    running: Option<Running<R>>,
    batch: Batch<R::B>,
}

/// What a merge is made of.
pub(super) struct Parts {
    pub(super) lists: Vec<Vec<Node>>,
    pub(super) bounds: Bounds,
    /// Empty: branches are read one after the other.
    pub(super) order: Order,
}

struct Running<R: Reader> {
    tuple: Vec<Frame<R::B>>,
    branches: Vec<Branch<R>>,
    /// How many branches have been opened.
    opened: usize,
    /// Open branches whose next row is not known.
    headless: Vec<usize>,
    /// The next row of every other open branch that has one.
    heads: BinaryHeap<Reverse<(Vec<u8>, usize)>>,
}

struct Branch<R: Reader> {
    /// An element of each list.
    items: Vec<Value>,
    source: Option<R::S>,
    head: Vec<Frame<R::B>>,
}

impl<'a, R: Reader> Merge<'a, R> {
    pub(super) fn new(
        step: usize,
        feed: Feed<'a, R>,
        parts: &'a Parts,
        range: Range<'a>,
        flip: bool,
        subs: Subs<'a, R>,
    ) -> Self {
        Merge {
            step,
            feed,
            parts,
            range,
            flip,
            subs,
            running: None,
            batch: Batch { rows: Vec::new() },
        }
    }

    /// Takes the next input tuple.
    fn begin(&mut self, cx: &Context<'a, R>) -> Result<Fill, AskError> {
        match self.feed.ready(cx, 1)? {
            Fill::Rows => {}
            other => return Ok(other),
        }
        let lists = &self.parts.lists;
        let combinations = self
            .subs
            .resolve(cx, self.feed.tuple(), &[], |env| combinations(lists, env))?;
        let Poll::Ready(mut combinations) = combinations else {
            return Ok(Fill::Wait);
        };
        if self.flip {
            combinations.reverse();
        }
        let tuple = self.feed.take().collect();
        let branch = |items| Branch {
            items,
            source: None,
            head: Vec::new(),
        };
        self.running = Some(Running {
            tuple,
            branches: combinations.into_iter().map(branch).collect(),
            opened: 0,
            headless: Vec::new(),
            heads: BinaryHeap::new(),
        });
        Ok(Fill::Rows)
    }

    /// Appends rows of the current input tuple; End when it has no more.
    fn go_on(
        &mut self,
        cx: &Context<'a, R>,
        want: usize,
        out: &mut Tuples<R::B>,
    ) -> Result<Fill, AskError> {
        let Some(running) = &mut self.running else {
            return Ok(Fill::End);
        };
        if self.parts.order.0.is_empty() {
            return running.concatenate(cx, self.step, &self.range, &mut self.subs, want, out);
        }
        if !running.open(cx, self.step, &self.range, &mut self.subs, usize::MAX)? {
            return Ok(Fill::Wait);
        }
        running.pull(cx, self.step, &self.parts.order, self.flip, &mut self.batch)?;
        if !running.headless.is_empty() {
            return Ok(Fill::Wait);
        }
        let Some(Reverse((_, at))) = running.heads.pop() else {
            return Ok(Fill::End);
        };
        if let Some(branch) = running.branches.get_mut(at) {
            out.push(branch.head.drain(..));
        }
        running.headless.push(at);
        Ok(Fill::Rows)
    }
}

impl<R: Reader> Running<R> {
    /// Opens branches until so many are; false if a subplan waits.
    fn open<'a>(
        &mut self,
        cx: &Context<'a, R>,
        step: usize,
        range: &Range<'a>,
        subs: &mut Subs<'a, R>,
        until: usize,
    ) -> Result<bool, AskError> {
        while self.opened < until {
            let Some(branch) = self.branches.get_mut(self.opened) else {
                break;
            };
            let mut read = range.blank(Vec::new());
            let found = subs.resolve(cx, &self.tuple, &branch.items, |env| {
                range.read(env, &mut read)
            })?;
            let Poll::Ready(found) = found else {
                return Ok(false);
            };
            if found {
                cx.count(step, |actual| actual.gets += 1);
                branch.source = Some(cx.reader.open(&read)?);
                self.headless.push(self.opened);
            }
            self.opened += 1;
        }
        Ok(true)
    }

    /// Finds the next row of the branches that need one, a single row each.
    fn pull(
        &mut self,
        cx: &Context<'_, R>,
        step: usize,
        order: &Order,
        flip: bool,
        batch: &mut Batch<R::B>,
    ) -> Result<(), AskError> {
        let mut waiting = Vec::new();
        for at in self.headless.drain(..) {
            let Some(branch) = self.branches.get_mut(at) else {
                continue;
            };
            let Some(source) = &mut branch.source else {
                continue;
            };
            match source.fill(1, batch)? {
                Fill::Wait => waiting.push(at),
                Fill::End => branch.source = None,
                Fill::Rows => {
                    cx.count(step, |actual| actual.reads += 1);
                    branch.head.clone_from(&self.tuple);
                    branch
                        .head
                        .extend(batch.rows.drain(..).map(|(k, r)| Frame::Row(k, r)));
                    let env = Env {
                        tuple: &branch.head,
                        items: &branch.items,
                        params: cx.params,
                        results: &[],
                    };
                    let mut key = Vec::new();
                    match order.encode(&env, flip, &mut key) {
                        Ok(()) => {}
                        Err(Stop::Error(error)) => return Err(error),
                        Err(Stop::Need(_)) => {
                            return Err(AskError::Plan("a subplan in the order of a merge".into()));
                        }
                    }
                    self.heads.push(Reverse((key, at)));
                }
            }
        }
        self.headless = waiting;
        Ok(())
    }

    /// Branch after branch; those that follow are opened ahead where the store gains by it.
    fn concatenate<'a>(
        &mut self,
        cx: &Context<'a, R>,
        step: usize,
        range: &Range<'a>,
        subs: &mut Subs<'a, R>,
        want: usize,
        out: &mut Tuples<R::B>,
    ) -> Result<Fill, AskError> {
        loop {
            while self.headless.len() < R::AHEAD.max(1) && self.opened < self.branches.len() {
                if !self.open(cx, step, range, subs, self.opened + 1)? {
                    break;
                }
            }
            let Some(&at) = self.headless.first() else {
                let all = self.opened == self.branches.len();
                return Ok(if all { Fill::End } else { Fill::Wait });
            };
            let source = self
                .branches
                .get_mut(at)
                .and_then(|branch| branch.source.as_mut());
            let Some(source) = source else {
                return Ok(Fill::End);
            };
            let before = out.len();
            let fill = source.fill(want, &mut out.joined(&self.tuple))?;
            match fill {
                Fill::Wait => return Ok(Fill::Wait),
                Fill::End => {
                    self.headless.remove(0);
                }
                Fill::Rows => {
                    let read = out.len() - before;
                    cx.count(step, |actual| actual.reads += read as u64);
                    return Ok(Fill::Rows);
                }
            }
        }
    }
}

impl<'a, R: Reader> Operator<'a, R> for Merge<'a, R> {
    fn start(&mut self, outer: &[Frame<R::B>]) {
        self.feed.start(outer);
        self.subs.reset();
        self.running = None;
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
            let fill = if self.running.is_none() {
                self.begin(cx)?
            } else {
                match self.go_on(cx, want - added, out)? {
                    Fill::End => {
                        self.running = None;
                        self.subs.reset();
                        continue;
                    }
                    other => other,
                }
            };
            if fill != Fill::Rows {
                return Ok(cx.settle(self.step, added, fill));
            }
        }
    }
}

/// One element of each list, in every way, in order.
fn combinations<B: Buf>(lists: &[Vec<Node>], env: &Env<'_, B>) -> Result<Vec<Vec<Value>>, Stop> {
    let mut all = vec![Vec::with_capacity(lists.len())];
    for list in lists {
        let items = items(list, env)?;
        let longer = all.iter().flat_map(|before: &Vec<Value>| {
            let with = |item: &Value| before.iter().chain([item]).cloned().collect();
            items.iter().map(with)
        });
        all = longer.collect();
    }
    Ok(all)
}

/// The distinct elements that are not null, in order.
fn items<B: Buf>(list: &[Node], env: &Env<'_, B>) -> Result<Vec<Value>, Stop> {
    let mut items = Vec::new();
    for node in list {
        let value = node.value_cow(env)?;
        match value.as_ref() {
            Value::List(_) | Value::Set(_) => items.extend_from_slice(elements(value.as_ref())),
            scalar => items.push(scalar.clone()),
        }
    }
    items.retain(|item| !item.is_null());
    items.sort();
    items.dedup();
    Ok(items)
}
