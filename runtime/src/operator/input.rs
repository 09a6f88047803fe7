//! `input`: the outer tuple, once; the empty tuple at the top.

use super::{AskError, Context, Frame, Operator, Tuples};
use crate::store::{Fill, Reader};

pub(super) struct Input<B> {
    step: usize,
    tuple: Option<Vec<Frame<B>>>,
}

impl<B> Input<B> {
    pub(super) fn new(step: usize) -> Self {
        Input { step, tuple: None }
    }
}

impl<'a, R: Reader> Operator<'a, R> for Input<R::B> {
    fn start(&mut self, outer: &[Frame<R::B>]) {
        self.tuple = Some(outer.to_vec());
    }

    fn fill(
        &mut self,
        cx: &Context<'a, R>,
        _want: usize,
        out: &mut Tuples<R::B>,
    ) -> Result<Fill, AskError> {
        let Some(tuple) = self.tuple.take() else {
            return Ok(Fill::End);
        };
        out.push(tuple);
        Ok(cx.settle(self.step, 1, Fill::End))
    }
}
