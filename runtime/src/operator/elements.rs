//! `elements`: for each input tuple, each element of a collection.

use super::feed::Feed;
use super::sub::Subs;
use super::term::Node;
use super::{AskError, Context, Frame, Operator, Tuples};
use crate::store::{Fill, Reader};
use querent_compiler::value::Value;
use std::collections::VecDeque;
use std::rc::Rc;
use std::task::Poll;

/// Values of an element's frame: value, position, map key.
pub(super) const WIDTH: usize = 3;

pub(super) struct Elements<'a, R: Reader> {
    pub(super) step: usize,
    pub(super) feed: Feed<'a, R>,
    pub(super) of: &'a Node,
    pub(super) subs: Subs<'a, R>,
    /// Elements of the current tuple that are still to come.
    pub(super) rest: VecDeque<[Value; WIDTH]>,
    pub(super) tuple: Vec<Frame<R::B>>,
}

impl<'a, R: Reader> Operator<'a, R> for Elements<'a, R> {
    fn start(&mut self, outer: &[Frame<R::B>]) {
        self.feed.start(outer);
        self.subs.reset();
        self.rest.clear();
    }

    fn fill(
        &mut self,
        cx: &Context<'a, R>,
        want: usize,
        out: &mut Tuples<R::B>,
    ) -> Result<Fill, AskError> {
        let mut added = 0;
        while added < want {
            if let Some(element) = self.rest.pop_front() {
                out.push_joined(&self.tuple, Frame::Values(Some(Rc::new(element))));
                added += 1;
                continue;
            }
            match self.feed.ready(cx, 1)? {
                Fill::Rows => {}
                other => return Ok(cx.settle(self.step, added, other)),
            }
            let of = self.of;
            match self
                .subs
                .resolve(cx, self.feed.tuple(), &[], |env| of.value(env))?
            {
                Poll::Pending => return Ok(cx.settle(self.step, added, Fill::Wait)),
                Poll::Ready(collection) => self.rest = unfold(collection),
            }
            self.subs.reset();
            self.tuple = self.feed.take().collect();
        }
        Ok(cx.settle(self.step, added, Fill::End))
    }
}

fn unfold(collection: Value) -> VecDeque<[Value; WIDTH]> {
    match collection {
        Value::List(values) => {
            let positions = (0..).map(Value::Int);
            values
                .into_iter()
                .zip(positions)
                .map(|(v, at)| [v, at, Value::Null])
                .collect()
        }
        Value::Set(values) => values
            .into_iter()
            .map(|v| [v, Value::Null, Value::Null])
            .collect(),
        Value::Map(entries) => entries
            .into_iter()
            .map(|(key, v)| [v, Value::Null, key])
            .collect(),
        _ => VecDeque::new(),
    }
}
