//! `page`: tuples on one side of a cursor, in an input that is in the cursor's order.

use super::feed::Feed;
use super::order::{Directed, Order};
use super::sub::Subs;
use super::{AskError, Context, Frame, Operator, Tuples};
use crate::store::{Fill, Reader};
use std::task::Poll;

pub(super) struct Page<'a, R: Reader> {
    pub(super) step: usize,
    pub(super) feed: Feed<'a, R>,
    pub(super) order: Order<'a>,
    pub(super) subs: Subs<'a, R>,
    pub(super) edge: Vec<Directed>,
    /// Tuples behind the cursor; otherwise those before it.
    pub(super) after: bool,
    /// The cursor has been passed: every further tuple is behind it.
    pub(super) passed: bool,
}

impl<'a, R: Reader> Operator<'a, R> for Page<'a, R> {
    fn start(&mut self, outer: &[Frame<R::B>]) {
        self.feed.start(outer);
        self.subs.reset();
        self.passed = false;
    }

    fn fill(
        &mut self,
        cx: &Context<'a, R>,
        want: usize,
        out: &mut Tuples<R::B>,
    ) -> Result<Fill, AskError> {
        let mut added = 0;
        while added < want {
            if self.passed && !self.after {
                break;
            }
            match self.feed.ready(cx, want - added)? {
                Fill::Rows => {}
                other => return Ok(cx.settle(self.step, added, other)),
            }
            if !self.passed {
                let order = &self.order;
                let key = self
                    .subs
                    .resolve(cx, self.feed.tuple(), None, |env| order.key(env))?;
                let Poll::Ready(key) = key else {
                    return Ok(cx.settle(self.step, added, Fill::Wait));
                };
                self.subs.reset();
                self.passed = if self.after {
                    key > self.edge
                } else {
                    key >= self.edge
                };
            }
            if self.passed == self.after {
                out.push(self.feed.take());
                added += 1;
            } else {
                self.feed.skip();
            }
        }
        Ok(cx.settle(self.step, added, Fill::End))
    }
}
