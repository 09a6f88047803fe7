//! `limit`: the first tuples, or the last ones.

use super::{AskError, BATCH, Boxed, Context, Frame, Operator, Tuples};
use crate::store::{Fill, Reader};
use std::collections::VecDeque;

/// The first tuples: nothing but a bound on the demand.
pub(super) struct First<'a, R: Reader> {
    pub(super) step: usize,
    pub(super) input: Boxed<'a, R>,
    pub(super) limit: usize,
    pub(super) left: usize,
}

impl<'a, R: Reader> Operator<'a, R> for First<'a, R> {
    fn start(&mut self, outer: &[Frame<R::B>]) {
        self.input.start(outer);
        self.left = self.limit;
    }

    fn fill(
        &mut self,
        cx: &Context<'a, R>,
        want: usize,
        out: &mut Tuples<R::B>,
    ) -> Result<Fill, AskError> {
        let want = want.min(self.left);
        if want == 0 {
            return Ok(Fill::End);
        }
        let before = out.len();
        let fill = self.input.fill(cx, want, out)?;
        let added = out.len() - before;
        self.left -= added.min(self.left);
        Ok(cx.settle(self.step, added, fill))
    }
}

/// The last tuples, in the input's order.
pub(super) struct Last<'a, R: Reader> {
    pub(super) step: usize,
    pub(super) input: Boxed<'a, R>,
    pub(super) limit: usize,
    /// The input gives its tuples from the last to the first, so that the first ones suffice.
    pub(super) reversed: bool,
    pub(super) batch: Tuples<R::B>,
    pub(super) kept: VecDeque<Vec<Frame<R::B>>>,
    pub(super) complete: bool,
}

impl<'a, R: Reader> Last<'a, R> {
    /// Takes in what is needed of the input; false if it waits.
    fn collect(&mut self, cx: &Context<'a, R>) -> Result<bool, AskError> {
        loop {
            let want = if self.reversed {
                self.limit - self.kept.len()
            } else {
                BATCH
            };
            if want == 0 || self.limit == 0 {
                break;
            }
            self.batch.clear();
            match self.input.fill(cx, want.min(BATCH), &mut self.batch)? {
                Fill::Rows => {}
                Fill::Wait => return Ok(false),
                Fill::End => break,
            }
            for i in 0..self.batch.len() {
                let tuple = self.batch.take(i).collect();
                if self.reversed {
                    self.kept.push_front(tuple);
                    continue;
                }
                if self.kept.len() == self.limit {
                    self.kept.pop_front();
                }
                self.kept.push_back(tuple);
            }
        }
        self.complete = true;
        Ok(true)
    }
}

impl<'a, R: Reader> Operator<'a, R> for Last<'a, R> {
    fn start(&mut self, outer: &[Frame<R::B>]) {
        self.input.start(outer);
        self.kept.clear();
        self.complete = false;
    }

    fn fill(
        &mut self,
        cx: &Context<'a, R>,
        want: usize,
        out: &mut Tuples<R::B>,
    ) -> Result<Fill, AskError> {
        if !self.complete && !self.collect(cx)? {
            return Ok(Fill::Wait);
        }
        let added = want.min(self.kept.len());
        for tuple in self.kept.drain(..added) {
            out.push(tuple);
        }
        Ok(cx.settle(self.step, added, Fill::End))
    }
}
