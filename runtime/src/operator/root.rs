//! The operator at the top of a plan. Most plans are one get, which needs no place of its own.

use super::direct::Direct;
use super::{AskError, Boxed, Context, Frame, Operator, Tuples};
use crate::store::{Fill, Reader};

pub(super) enum Root<'a, R: Reader> {
    Direct(Direct<'a, R>),
    Other(Boxed<'a, R>),
}

impl<'a, R: Reader> Operator<'a, R> for Root<'a, R> {
    fn start(&mut self, outer: &[Frame<R::B>]) {
        match self {
            Root::Direct(get) => get.start(outer),
            Root::Other(operator) => operator.start(outer),
        }
    }

    fn fill(
        &mut self,
        cx: &Context<'a, R>,
        want: usize,
        out: &mut Tuples<R::B>,
    ) -> Result<Fill, AskError> {
        match self {
            Root::Direct(get) => get.fill(cx, want, out),
            Root::Other(operator) => operator.fill(cx, want, out),
        }
    }

    fn hand_over(
        &mut self,
        cx: &Context<'a, R>,
        out: &mut Tuples<R::B>,
        order: &mut Vec<u64>,
    ) -> Result<Fill, AskError> {
        match self {
            Root::Direct(get) => get.hand_over(cx, out, order),
            Root::Other(operator) => operator.hand_over(cx, out, order),
        }
    }
}
