//! `filter`: tuples for which all tests hold.

use super::feed::Feed;
use super::sub::Subs;
use super::term::{Check, all};
use super::{AskError, Context, Frame, Operator, Tuples};
use crate::store::{Fill, Reader};
use std::task::Poll;

pub(super) struct Filter<'a, R: Reader> {
    pub(super) step: usize,
    pub(super) feed: Feed<'a, R>,
    pub(super) checks: &'a [Check],
    pub(super) subs: Subs<'a, R>,
}

impl<'a, R: Reader> Operator<'a, R> for Filter<'a, R> {
    fn start(&mut self, outer: &[Frame<R::B>]) {
        self.feed.start(outer);
        self.subs.reset();
    }

    fn fill(
        &mut self,
        cx: &Context<'a, R>,
        want: usize,
        out: &mut Tuples<R::B>,
    ) -> Result<Fill, AskError> {
        let mut added = 0;
        while added < want {
            match self.feed.ready(cx, want - added)? {
                Fill::Rows => {}
                other => return Ok(cx.settle(self.step, added, other)),
            }
            let checks = self.checks;
            match self
                .subs
                .resolve(cx, self.feed.tuple(), &[], |env| all(checks, env))?
            {
                Poll::Pending => return Ok(cx.settle(self.step, added, Fill::Wait)),
                Poll::Ready(true) => {
                    out.push(self.feed.take());
                    added += 1;
                }
                Poll::Ready(false) => self.feed.skip(),
            }
            self.subs.reset();
        }
        Ok(cx.settle(self.step, added, Fill::End))
    }
}
