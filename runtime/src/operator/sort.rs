//! `sort`: all tuples of the input, in order. Equal ones keep the input's order.

use super::feed::Feed;
use super::order::{Directed, Order};
use super::sub::Subs;
use super::{AskError, BATCH, Context, Frame, Operator, Tuples};
use crate::store::{Fill, Reader};
use std::collections::VecDeque;
use std::task::Poll;

pub(super) struct Sort<'a, R: Reader> {
    step: usize,
    feed: Feed<'a, R>,
    order: Order<'a>,
    subs: Subs<'a, R>,
    /// No more tuples than this will be taken.
    limit: usize,
    rows: VecDeque<Keyed<R::B>>,
    sorted: bool,
}

/// A tuple and what it is sorted by.
type Keyed<B> = (Vec<Directed>, Vec<Frame<B>>);

impl<'a, R: Reader> Sort<'a, R> {
    pub(super) fn new(
        step: usize,
        feed: Feed<'a, R>,
        order: Order<'a>,
        subs: Subs<'a, R>,
        limit: Option<usize>,
    ) -> Self {
        let limit = limit.unwrap_or(usize::MAX);
        Sort {
            step,
            feed,
            order,
            subs,
            limit,
            rows: VecDeque::new(),
            sorted: false,
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
            let order = &self.order;
            let key = self
                .subs
                .resolve(cx, self.feed.tuple(), None, |env| order.key(env))?;
            let Poll::Ready(key) = key else {
                return Ok(false);
            };
            self.subs.reset();
            self.rows.push_back((key, self.feed.take().collect()));
            // Of many tuples under a small limit only the first few are kept.
            if self.rows.len() / 2 > self.limit.max(BATCH) {
                self.keep_first();
            }
        }
        self.keep_first();
        self.sorted = true;
        Ok(true)
    }

    fn keep_first(&mut self) {
        self.rows
            .make_contiguous()
            .sort_by(|(a, _), (b, _)| a.cmp(b));
        self.rows.truncate(self.limit);
    }
}

impl<'a, R: Reader> Operator<'a, R> for Sort<'a, R> {
    fn start(&mut self, outer: &[Frame<R::B>]) {
        self.feed.start(outer);
        self.subs.reset();
        self.rows.clear();
        self.sorted = false;
    }

    fn fill(
        &mut self,
        cx: &Context<'a, R>,
        want: usize,
        out: &mut Tuples<R::B>,
    ) -> Result<Fill, AskError> {
        if !self.sorted && !self.collect(cx)? {
            return Ok(Fill::Wait);
        }
        let added = want.min(self.rows.len());
        for (_, tuple) in self.rows.drain(..added) {
            out.push(tuple);
        }
        Ok(cx.settle(self.step, added, Fill::End))
    }
}
