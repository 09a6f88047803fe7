//! Plan operators: one file each, pulling batches of tuples of borrowed rows.
//!
//! Invariants that every operator keeps:
//! - **Nothing is decoded unless a term asks for it.** A frame is the bytes of a row.
//! - **Nothing is read that is not wanted.** `want` is a real demand: an operator never asks its
//!   input for more than it may still need.
//! - **Everything can be resumed.** When a source says [`Fill::Wait`] the operator keeps what it
//!   has and goes on there at the next call. Terms with subplans are evaluated from their start
//!   again; what their subplans gave is kept until the tuple is done.

mod aggregate;
mod answer;
mod bind;
mod bound;
mod build;
mod direct;
mod distinct;
mod elements;
mod feed;
mod filter;
mod follow;
mod get;
mod input;
mod limit;
mod merge;
mod nested;
mod order;
mod page;
mod profile;
mod range;
mod ranks;
mod root;
mod sort;
mod stored;
mod sub;
mod term;
#[cfg(test)]
mod tests;
mod ties;
mod unite;

pub use answer::{Answer, RowView};
pub use bound::BoundPlan;
pub use nested::{NestedRow, NestedRows};
pub use profile::{Actual, Step, steps};

use crate::cursor::CursorError;
use crate::key::KeyError;
use crate::row::RowError;
use crate::store::{Fill, Reader, Sink, StoreError};
use querent_compiler::model::Param;
use querent_compiler::value::Value;
use std::cell::Cell;
use std::rc::Rc;

/// How many tuples a batch holds where the demand is open: as many as keep a buffer of frames within
/// the 1 KiB up to which an allocation costs next to nothing.
const BATCH: usize = 32;

/// One part of a tuple. Two kinds, not three: the pointer of a borrowed key then tells them apart,
/// and a frame of two slices has no tag.
#[derive(Clone, Debug)]
pub(crate) enum Frame<B> {
    /// Key and row of a structure.
    Row(B, B),
    /// A computed record; none is [`Frame::ABSENT`].
    Values(Option<Rc<[Value]>>),
}

impl<B> Frame<B> {
    /// The row of an outer get that found nothing: all its columns are null.
    const ABSENT: Frame<B> = Frame::Values(None);

    /// Puts a row in the place of an absent one. That has nothing to drop; an assignment would look
    /// whether it has, and wait for what was just written.
    #[expect(clippy::inline_always, reason = "a part of every store's loop")]
    #[inline(always)]
    fn fill_in(&mut self, key: B, row: B) {
        debug_assert!(matches!(self, Frame::Values(None)));
        std::mem::forget(std::mem::replace(self, Frame::Row(key, row)));
    }
}

impl<B> Default for Frame<B> {
    fn default() -> Self {
        Frame::ABSENT
    }
}

/// Tuples of `stride` frames each, one behind the other. An operator may be given tuples of more
/// frames than its own, which it leaves absent for those above it to fill in.
#[derive(Debug)]
pub(crate) struct Tuples<B> {
    stride: usize,
    count: usize,
    frames: Vec<Frame<B>>,
}

impl<B: Clone> Tuples<B> {
    fn new(stride: usize) -> Self {
        Tuples {
            stride,
            count: 0,
            frames: Vec::new(),
        }
    }

    fn len(&self) -> usize {
        self.count
    }

    fn clear(&mut self) {
        self.count = 0;
        self.frames.clear();
    }

    /// Appends a tuple; the frames are no more than the stride.
    #[inline]
    fn push(&mut self, frames: impl IntoIterator<Item = Frame<B>>) {
        self.frames.extend(frames);
        self.complete();
    }

    /// Appends a tuple made of an outer tuple and one frame.
    #[inline]
    fn push_joined(&mut self, outer: &[Frame<B>], frame: Frame<B>) {
        self.frames.extend_from_slice(outer);
        self.frames.push(frame);
        self.complete();
    }

    /// Counts the tuple whose frames were appended last.
    #[inline]
    fn complete(&mut self) {
        self.count += 1;
        debug_assert!(self.frames.len() <= self.count * self.stride);
        while self.frames.len() < self.count * self.stride {
            self.frames.push(Frame::ABSENT);
        }
    }

    /// Makes room for tuples that are about to come.
    fn reserve(&mut self, tuples: usize) {
        self.frames.reserve(tuples * self.stride);
    }

    /// The tuples from the `first`-th on, with their numbers.
    #[inline]
    fn rest(&self, first: usize) -> impl Iterator<Item = (usize, &[Frame<B>])> {
        let frames = self.frames.get(self.start(first)..);
        let mut frames = frames.unwrap_or_default();
        (first..self.count).map(move |at| {
            let (tuple, rest) = frames.split_at_checked(self.stride).unwrap_or_default();
            frames = rest;
            (at, tuple)
        })
    }

    /// The frames of the tuples from the `first`-th on.
    fn rest_mut(&mut self, first: usize) -> &mut [Frame<B>] {
        let frames = self.frames.get_mut(first * self.stride..);
        frames.unwrap_or_default()
    }

    /// Drops the tuples from the `from`-th on that have nothing in a frame.
    fn drop_absent(&mut self, from: usize, frame: usize) {
        let mut kept = from;
        for i in from..self.count {
            if matches!(self.get(i).get(frame), Some(Frame::Values(None))) {
                continue;
            }
            if kept < i {
                for at in 0..self.stride {
                    self.frames
                        .swap(kept * self.stride + at, i * self.stride + at);
                }
            }
            kept += 1;
        }
        self.count = kept;
        self.frames.truncate(kept * self.stride);
    }

    /// A sink that appends a tuple for each row, made of an outer tuple and the row.
    #[inline]
    fn joined<'o>(&'o mut self, outer: &'o [Frame<B>]) -> Joined<'o, B> {
        Joined {
            outer,
            rest: self.stride.saturating_sub(outer.len() + 1),
            tuples: self,
        }
    }

    #[inline]
    fn get(&self, i: usize) -> &[Frame<B>] {
        self.tuple_at(self.start(i))
    }

    /// The first frame of a tuple.
    #[inline]
    fn start(&self, i: usize) -> usize {
        i * self.stride
    }

    /// The tuple with this first frame.
    #[inline]
    fn tuple_at(&self, start: usize) -> &[Frame<B>] {
        let tuple = self.frames.get(start..start + self.stride);
        tuple.unwrap_or_default()
    }

    /// One frame of a tuple.
    #[inline]
    fn frame(&self, i: usize, frame: usize) -> Option<&Frame<B>> {
        self.frames.get(i * self.stride + frame)
    }

    /// Moves a tuple out, leaving absent frames.
    fn take(&mut self, i: usize) -> impl Iterator<Item = Frame<B>> {
        let range = i * self.stride..(i + 1) * self.stride;
        self.frames
            .get_mut(range)
            .unwrap_or_default()
            .iter_mut()
            .map(std::mem::take)
    }
}

/// Rows on their way into tuples, each behind the frames of the outer tuple.
struct Joined<'o, B> {
    outer: &'o [Frame<B>],
    /// How many frames are left absent behind a row.
    rest: usize,
    tuples: &'o mut Tuples<B>,
}

impl<B: Clone> Sink<B> for Joined<'_, B> {
    #[inline]
    fn reserve(&mut self, rows: usize) {
        // More than a batch of frames is asked for as rows come.
        let frames = (rows * self.tuples.stride).min(BATCH);
        self.tuples.frames.reserve(frames);
    }

    #[expect(
        clippy::inline_always,
        reason = "the body of every store's loop: called, it costs as much as the row's own move"
    )]
    #[inline(always)]
    fn push(&mut self, key: B, row: B) {
        let frames = &mut self.tuples.frames;
        match (self.outer, self.rest) {
            // As in scans, scans that are followed, and subplans.
            ([], 0) => push_row(frames, key, row),
            ([], 1) => {
                push_row(frames, key, row);
                frames.push(Frame::ABSENT);
            }
            ([one], 0) => {
                frames.push(one.clone());
                push_row(frames, key, row);
            }
            (outer, rest) => {
                frames.extend_from_slice(outer);
                push_row(frames, key, row);
                frames.extend((0..rest).map(|_| Frame::ABSENT));
            }
        }
        self.tuples.count += 1;
    }
}

/// Appends a row. Written over an absent frame it goes from registers to where it stays, word by
/// word; pushed as it is it would pass through the stack, written in words and read in pairs of
/// them, for which a processor waits.
#[expect(clippy::inline_always, reason = "as for the sink")]
#[inline(always)]
fn push_row<B>(frames: &mut Vec<Frame<B>>, key: B, row: B) {
    frames.push(Frame::ABSENT);
    if let Some(last) = frames.last_mut() {
        last.fill_in(key, row);
    }
}

/// What the operators of one answer share.
pub(crate) struct Context<'a, R> {
    reader: &'a R,
    params: &'a [Value],
    /// By step; empty where nobody will ask what the steps did.
    profile: Vec<Cell<Actual>>,
    /// A buffer for the key of a read that is opened at once.
    spare: Cell<Vec<u8>>,
}

impl<R> Context<'_, R> {
    /// Whether anybody will ask what the steps did.
    fn is_counted(&self) -> bool {
        !self.profile.is_empty()
    }

    #[inline]
    fn count(&self, step: usize, add: impl FnOnce(&mut Actual)) {
        if let Some(cell) = self.profile.get(step) {
            let mut actual = cell.get();
            add(&mut actual);
            cell.set(actual);
        }
    }

    /// Ends a fill: counts the tuples appended, and lets what was appended go before the reason
    /// for which no more was.
    #[inline]
    fn settle(&self, step: usize, added: usize, otherwise: Fill) -> Fill {
        if added == 0 {
            return otherwise;
        }
        self.count(step, |actual| actual.rows += added as u64);
        Fill::Rows
    }
}

/// A pull operator.
pub(crate) trait Operator<'a, R: Reader> {
    /// Starts anew, with an outer tuple. Called before the first fill.
    fn start(&mut self, outer: &[Frame<R::B>]);

    /// Appends up to `want` (at least 1) tuples. [`Fill::Wait`] and [`Fill::End`] append none.
    fn fill(
        &mut self,
        cx: &Context<'a, R>,
        want: usize,
        out: &mut Tuples<R::B>,
    ) -> Result<Fill, AskError>;

    /// [`Operator::fill`] for one who takes all tuples one by one: instead of appending to `out`,
    /// which is empty, an operator that holds tuples may exchange it for them, however many they
    /// are. They are then in the order of the numbers that it leaves in `order`.
    fn hand_over(
        &mut self,
        cx: &Context<'a, R>,
        out: &mut Tuples<R::B>,
        order: &mut Vec<u64>,
    ) -> Result<Fill, AskError> {
        order.clear();
        self.fill(cx, BATCH, out)
    }
}

type Boxed<'a, R> = Box<dyn Operator<'a, R> + 'a>;

/// Why a question cannot be answered.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AskError {
    /// The store.
    #[error(transparent)]
    Store(Box<StoreError>),
    /// A cursor parameter.
    #[error("parameter {param}: {source}")]
    Cursor {
        /// The parameter's name, or its position where no names are known.
        param: Box<str>,
        /// Reason.
        source: Box<CursorError>,
    },
    /// A value cannot be looked up in a structure's key.
    #[error("{part}: {source}")]
    Key {
        /// Structure and key part.
        part: Box<str>,
        /// Reason.
        source: Box<KeyError>,
    },
    /// A limit below 0.
    #[error("found a limit of {0}, expected 0 or more")]
    Limit(i64),
    /// A stored row cannot be read.
    #[error("a damaged row in {structure}: {source}; run verify, then repair")]
    Damaged {
        /// Structure.
        structure: Box<str>,
        /// Reason.
        source: Box<RowError>,
    },
    /// A column was read as what it is not.
    #[error("column {column} is {found}, expected {expected}: read it with `get`")]
    Column {
        /// Position of the column.
        column: usize,
        /// What it holds.
        found: &'static str,
        /// What it was read as.
        expected: &'static str,
    },
    /// The plan does not fit the design.
    #[error("the plan does not fit the design: {0}; compile the model again")]
    Plan(String),
}

// The sources are boxed because a column's value or error is returned for every value that is
// looked at: the error must not be larger than the value.
impl From<StoreError> for AskError {
    fn from(error: StoreError) -> Self {
        AskError::Store(Box::new(error))
    }
}

/// What an ask adds to a plan.
#[derive(Clone, Copy)]
pub struct Ask<'a> {
    /// The question's parameters. A cursor is a text made by an earlier answer, or null.
    pub params: &'a [Value],
    /// How the parameters are declared, for messages.
    pub declared: &'a [Param],
}
