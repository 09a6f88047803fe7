//! `follow`: for each input tuple one point read, of a store that never waits. The input writes its
//! tuples where those of this operator go, and the rows are filled in behind them.

use super::range::Range;
use super::term::{Env, Stop};
use super::{AskError, Boxed, Context, Frame, Operator, Tuples};
use crate::store::{Buf, Fill, Point, Points, Reader};
use std::slice::ChunksExactMut;

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
                items: &[],
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
            Some(frame) if cx.is_counted() => count_rows(tuples, first, frame),
            Some(_) => 0,
            None => self.make_keys(cx, first, tuples)?,
        };
        let structure = self.range.bounds.structure;
        let (stride, frame) = (tuples.stride, self.frame);
        let frames = tuples.rest_mut(first);
        match same {
            Some(same) => cx.reader.points(
                structure,
                &mut Batch {
                    keys: Same(same),
                    stride,
                    frame,
                    frames,
                },
            )?,
            None => cx.reader.points(
                structure,
                &mut Batch {
                    keys: &self.made,
                    stride,
                    frame,
                    frames,
                },
            )?,
        }
        if cx.is_counted() {
            let reads = count_rows(tuples, first, self.frame);
            cx.count(self.step, |actual| {
                actual.gets += gets;
                actual.reads += reads;
            });
        }
        if !self.outer {
            tuples.drop_absent(first, self.frame);
        }
        Ok(())
    }
}

/// How many tuples from the `first`-th on have a row in a frame.
fn count_rows<B: Buf>(tuples: &Tuples<B>, first: usize, frame: usize) -> u64 {
    let has_row = |at: &usize| matches!(tuples.frame(*at, frame), Some(Frame::Row(..)));
    (first..tuples.len()).filter(has_row).count() as u64
}

/// The reads of a batch of tuples.
struct Batch<'b, B, K> {
    keys: K,
    stride: usize,
    /// The frame of each tuple that is filled in.
    frame: usize,
    frames: &'b mut [Frame<B>],
}

impl<B, K> Batch<'_, B, K> {
    #[inline]
    fn tuples(&mut self) -> ChunksExactMut<'_, Frame<B>> {
        self.frames.chunks_exact_mut(self.stride)
    }

    fn count(&self) -> usize {
        self.frames.len() / self.stride
    }
}

/// The frame whose row has the key of the read.
#[derive(Clone, Copy)]
struct Same(usize);

/// The read of a tuple whose key is that of a row in it.
struct SamePoint<'p, B> {
    same: usize,
    frame: usize,
    tuple: &'p mut [Frame<B>],
}

impl<B: Buf> Points<B> for Batch<'_, B, Same> {
    type Point<'p>
        = SamePoint<'p, B>
    where
        Self: 'p;

    fn count(&self) -> usize {
        Batch::count(self)
    }

    #[inline]
    fn iter(&mut self) -> impl Iterator<Item = SamePoint<'_, B>> {
        let (Same(same), frame) = (self.keys, self.frame);
        self.tuples()
            .map(move |tuple| SamePoint { same, frame, tuple })
    }
}

impl<B: Buf> Point<B> for SamePoint<'_, B> {
    #[inline]
    fn key(&self) -> &[u8] {
        match self.tuple.get(self.same) {
            Some(Frame::Row(key, _)) => key,
            _ => &[],
        }
    }

    #[inline]
    fn lent(&self) -> Option<B> {
        match self.tuple.get(self.same) {
            Some(Frame::Row(key, _)) => Some(key.clone()),
            _ => None,
        }
    }

    #[inline]
    fn found(self, key: B, row: B) {
        if let Some(place) = self.tuple.get_mut(self.frame) {
            place.fill_in(key, row);
        }
    }
}

/// The read of a tuple whose key was made.
struct MadePoint<'p, B> {
    key: &'p [u8],
    frame: usize,
    tuple: &'p mut [Frame<B>],
}

impl<B: Buf> Points<B> for Batch<'_, B, &Made> {
    type Point<'p>
        = MadePoint<'p, B>
    where
        Self: 'p;

    fn count(&self) -> usize {
        Batch::count(self)
    }

    #[inline]
    fn iter(&mut self) -> impl Iterator<Item = MadePoint<'_, B>> {
        let (made, frame) = (self.keys, self.frame);
        let tuples = self.tuples().enumerate();
        tuples.map(move |(at, tuple)| MadePoint {
            key: made.key(at),
            frame,
            tuple,
        })
    }
}

impl<B: Buf> Point<B> for MadePoint<'_, B> {
    #[inline]
    fn key(&self) -> &[u8] {
        self.key
    }

    #[inline]
    fn lent(&self) -> Option<B> {
        None
    }

    #[inline]
    fn found(self, key: B, row: B) {
        if let Some(place) = self.tuple.get_mut(self.frame) {
            place.fill_in(key, row);
        }
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
