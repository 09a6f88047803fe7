//! `distinct`: the first tuple for each distinct value of the terms, in the input's order.

use super::feed::Feed;
use super::sub::Subs;
use super::term::{Node, values};
use super::{AskError, Context, Frame, Operator, Tuples};
use crate::store::{Fill, Reader};
use querent_compiler::value::Value;
use std::collections::HashSet;
use std::task::Poll;

pub(super) struct Distinct<'a, R: Reader> {
    pub(super) step: usize,
    pub(super) feed: Feed<'a, R>,
    pub(super) by: &'a [Node],
    pub(super) subs: Subs<'a, R>,
    pub(super) seen: HashSet<Vec<Value>>,
}

impl<'a, R: Reader> Operator<'a, R> for Distinct<'a, R> {
    fn start(&mut self, outer: &[Frame<R::B>]) {
        self.feed.start(outer);
        self.subs.reset();
        self.seen.clear();
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
            let by = self.by;
            let key = self
                .subs
                .resolve(cx, self.feed.tuple(), None, |env| values(by, env))?;
            let Poll::Ready(key) = key else {
                return Ok(cx.settle(self.step, added, Fill::Wait));
            };
            self.subs.reset();
            if self.seen.insert(key) {
                out.push(self.feed.take());
                added += 1;
            } else {
                self.feed.skip();
            }
        }
        Ok(cx.settle(self.step, added, Fill::End))
    }
}
