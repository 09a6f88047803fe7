//! `page`: tuples on one side of a cursor, in an input that is in the cursor's order.

use super::feed::Feed;
use super::order::Order;
use super::sub::Subs;
use super::{AskError, Context, Frame, Operator, Tuples};
use crate::store::{Fill, Reader};

pub(super) struct Page<'a, R: Reader> {
    pub(super) step: usize,
    pub(super) feed: Feed<'a, R>,
    pub(super) order: &'a Order,
    pub(super) subs: Subs<'a, R>,
    /// What the cursor's row is ordered by.
    pub(super) edge: Vec<u8>,
    /// What the current tuple is ordered by.
    pub(super) key: Vec<u8>,
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
                let (order, key) = (self.order, &mut self.key);
                let done = self.subs.resolve(cx, self.feed.tuple(), &[], |env| {
                    key.clear();
                    order.encode(env, false, key)
                })?;
                if done.is_pending() {
                    return Ok(cx.settle(self.step, added, Fill::Wait));
                }
                self.subs.reset();
                self.passed = if self.after {
                    self.key > self.edge
                } else {
                    self.key >= self.edge
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
