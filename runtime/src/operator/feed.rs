//! An operator's input, taken tuple by tuple out of batches.

use super::{AskError, Boxed, Context, Frame, Tuples};
use crate::store::{Fill, Reader};

/// An input and the tuples of it that were pulled but not yet used up.
pub(super) struct Feed<'a, R: Reader> {
    input: Boxed<'a, R>,
    batch: Tuples<R::B>,
    at: usize,
}

impl<'a, R: Reader> Feed<'a, R> {
    pub(super) fn new(input: Boxed<'a, R>, stride: usize) -> Self {
        Feed {
            input,
            batch: Tuples::new(stride),
            at: 0,
        }
    }

    pub(super) fn start(&mut self, outer: &[Frame<R::B>]) {
        self.batch.clear();
        self.at = 0;
        self.input.start(outer);
    }

    /// Makes sure that there is a current tuple ([`Fill::Rows`]); pulls up to `want` if not.
    pub(super) fn ready(&mut self, cx: &Context<'a, R>, want: usize) -> Result<Fill, AskError> {
        if self.at < self.batch.len() {
            return Ok(Fill::Rows);
        }
        self.batch.clear();
        self.at = 0;
        self.input.fill(cx, want, &mut self.batch)
    }

    /// The current tuple.
    pub(super) fn tuple(&self) -> &[Frame<R::B>] {
        self.batch.get(self.at)
    }

    /// Moves the current tuple out and goes on to the next.
    pub(super) fn take(&mut self) -> impl Iterator<Item = Frame<R::B>> {
        self.at += 1;
        self.batch.take(self.at - 1)
    }

    /// Goes on to the next tuple.
    pub(super) fn skip(&mut self) {
        self.at += 1;
    }
}
