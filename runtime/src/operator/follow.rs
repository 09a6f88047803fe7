//! `follow`: for each input tuple one point read, of a store that never waits. The input writes its
//! tuples where those of this operator go, and the rows are filled in behind them.

use super::range::Range;
use super::term::{Env, Stop};
use super::{AskError, Boxed, Context, Frame, Operator, Tuples};
use crate::store::{Fill, Points, Reader};

pub(super) struct Follow<'a, R: Reader> {
    step: usize,
    input: Boxed<'a, R>,
    /// The frame that is filled in.
    frame: usize,
    /// Its terms have no subplans.
    range: Range<'a>,
    /// Whether a tuple without a row is kept.
    outer: bool,
    /// Keys that are made of the tuples of a batch, where no frame has them as they are.
    made: Made,
}

/// Keys one behind the other.
#[derive(Default)]
struct Made {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Made {
    fn key(&self, at: usize) -> &[u8] {
        let start = at.checked_sub(1).and_then(|before| self.ends.get(before));
        let (start, end) = (start.copied().unwrap_or(0), self.ends.get(at));
        let end = end.copied().unwrap_or(start);
        self.bytes.get(start..end).unwrap_or_default()
    }
}

impl<'a, R: Reader> Follow<'a, R> {
    pub(super) fn new(
        step: usize,
        (input, frame): (Boxed<'a, R>, usize),
        range: Range<'a>,
        outer: bool,
    ) -> Self {
        Follow {
            step,
            input,
            frame,
            range,
            outer,
            made: Made::default(),
        }
    }

    /// Makes the keys of the tuples from the `first`-th on, and tells how many can be found.
    fn make_keys(
        &mut self,
        cx: &Context<'a, R>,
        first: usize,
        tuples: &Tuples<R::B>,
    ) -> Result<u64, AskError> {
        let Made { bytes, ends } = &mut self.made;
        bytes.clear();
        ends.clear();
        let mut gets = 0;
        for at in first..tuples.len() {
            let env = Env {
                tuple: tuples.get(at),
                item: None,
                params: cx.params,
                results: &[],
            };
            let start = bytes.len();
            if self.range.point(&env, bytes).map_err(Stop::unrun)? {
                gets += 1;
            } else {
                bytes.truncate(start);
            }
            ends.push(bytes.len());
        }
        Ok(gets)
    }

    /// Fills in the rows of the tuples from the `first`-th on.
    fn follow(
        &mut self,
        cx: &Context<'a, R>,
        first: usize,
        tuples: &mut Tuples<R::B>,
    ) -> Result<(), AskError> {
        let same = self
            .range
            .page
            .is_none()
            .then_some(self.range.bounds.same_key);
        let same = same.flatten();
        let gets = match same {
            Some(frame) if cx.is_counted() => {
                let has_key = |at: &usize| matches!(tuples.frame(*at, frame), Some(Frame::Row(..)));
                (first..tuples.len()).filter(has_key).count() as u64
            }
            Some(_) => 0,
            None => self.make_keys(cx, first, tuples)?,
        };
        let mut batch = Batch {
            same,
            made: &self.made,
            frame: self.frame,
            first,
            reads: 0,
            tuples,
        };
        cx.reader.points(self.range.bounds.structure, &mut batch)?;
        let reads = batch.reads;
        cx.count(self.step, |actual| {
            actual.gets += gets;
            actual.reads += reads;
        });
        if !self.outer {
            tuples.drop_absent(first, self.frame);
        }
        Ok(())
    }
}

/// The reads of a batch of tuples.
struct Batch<'b, B> {
    /// The frame whose key each read's is.
    same: Option<usize>,
    made: &'b Made,
    frame: usize,
    first: usize,
    reads: u64,
    tuples: &'b mut Tuples<B>,
}

impl<B: crate::store::Buf> Points<B> for Batch<'_, B> {
    #[inline]
    fn count(&self) -> usize {
        self.tuples.len() - self.first
    }

    #[inline]
    fn key(&self, at: usize) -> &[u8] {
        let Some(frame) = self.same else {
            return self.made.key(at);
        };
        match self.tuples.frame(self.first + at, frame) {
            Some(Frame::Row(key, _)) => key,
            _ => &[],
        }
    }

    #[inline]
    fn lent(&self, at: usize) -> Option<B> {
        match self.tuples.frame(self.first + at, self.same?) {
            Some(Frame::Row(key, _)) => Some(key.clone()),
            _ => None,
        }
    }

    #[inline]
    fn found(&mut self, at: usize, key: B, row: B) {
        self.reads += 1;
        let found = Frame::Row(key, row);
        self.tuples.set(self.first + at, self.frame, found);
    }
}

impl<'a, R: Reader> Operator<'a, R> for Follow<'a, R> {
    fn start(&mut self, outer: &[Frame<R::B>]) {
        self.input.start(outer);
    }

    fn fill(
        &mut self,
        cx: &Context<'a, R>,
        want: usize,
        out: &mut Tuples<R::B>,
    ) -> Result<Fill, AskError> {
        let first = out.len();
        while out.len() == first {
            match self.input.fill(cx, want, out)? {
                Fill::Rows => self.follow(cx, first, out)?,
                other => return Ok(other),
            }
        }
        Ok(cx.settle(self.step, out.len() - first, Fill::Rows))
    }
}
