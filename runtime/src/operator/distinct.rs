//! `distinct`: the first tuple for each distinct value of the terms, in the input's order; of an
//! input that is turned round, and has those that are alike one behind the other, the last.

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
    /// The last tuple so far, where the input is turned round.
    pub(super) last: Option<Vec<Frame<R::B>>>,
}

impl<'a, R: Reader> Operator<'a, R> for Distinct<'a, R> {
    fn start(&mut self, outer: &[Frame<R::B>]) {
        self.feed.start(outer);
        self.subs.reset();
        self.seen.clear();
        if let Some(last) = &mut self.last {
            last.clear();
        }
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
                Fill::Wait => return Ok(cx.settle(self.step, added, Fill::Wait)),
                Fill::End => {
                    if let Some(last) = self.last.as_mut().filter(|last| !last.is_empty()) {
                        out.push(last.drain(..));
                        added += 1;
                    }
                    return Ok(cx.settle(self.step, added, Fill::End));
                }
            }
            let by = self.by;
            let key = self
                .subs
                .resolve(cx, self.feed.tuple(), &[], |env| values(by, env))?;
            let Poll::Ready(key) = key else {
                return Ok(cx.settle(self.step, added, Fill::Wait));
            };
            self.subs.reset();
            let new = self.seen.insert(key);
            match &mut self.last {
                Some(last) => {
                    if new && !last.is_empty() {
                        out.push(last.drain(..));
                        added += 1;
                    }
                    last.clear();
                    last.extend(self.feed.take());
                }
                None if new => {
                    out.push(self.feed.take());
                    added += 1;
                }
                None => self.feed.skip(),
            }
        }
        Ok(cx.settle(self.step, added, Fill::End))
    }
}
