//! `get`: for each input tuple, the rows of one read. Reads are in flight while others are waited
//! for.

use super::feed::Feed;
use super::range::Range;
use super::sub::Subs;
use super::{AskError, Context, Frame, Operator, Tuples};
use crate::store::{Fill, Read, Reader, Source};
use std::collections::VecDeque;
use std::task::Poll;

pub(super) struct Get<'a, R: Reader> {
    step: usize,
    feed: Feed<'a, R>,
    range: Range<'a>,
    /// Whether a tuple without a row is kept.
    outer: bool,
    subs: Subs<'a, R>,
    /// Reads in flight, in the order of their tuples.
    open: VecDeque<Open<R>>,
    /// Buffers of tuples that were done with.
    spare: Vec<Vec<Frame<R::B>>>,
    exhausted: bool,
    /// The last read, whose buffer the next one takes over.
    read: Read,
}

struct Open<R: Reader> {
    tuple: Vec<Frame<R::B>>,
    /// None where nothing can be found.
    source: Option<R::S>,
    found: bool,
}

impl<'a, R: Reader> Get<'a, R> {
    pub(super) fn new(
        step: usize,
        feed: Feed<'a, R>,
        range: Range<'a>,
        outer: bool,
        subs: Subs<'a, R>,
    ) -> Self {
        let read = range.blank(Vec::new());
        Get {
            step,
            feed,
            range,
            outer,
            subs,
            open: VecDeque::new(),
            spare: Vec::new(),
            exhausted: false,
            read,
        }
    }

    /// Opens reads for further tuples until enough are in flight.
    fn open_ahead(&mut self, cx: &Context<'a, R>, want: usize) -> Result<(), AskError> {
        while self.open.len() < R::AHEAD.max(1) && !self.exhausted {
            // A point get gives one row at most, so that many tuples are wanted anyway.
            let ask = if self.range.is_point() { want } else { 1 };
            match self.feed.ready(cx, ask)? {
                Fill::Rows => {}
                Fill::Wait => return Ok(()),
                Fill::End => {
                    self.exhausted = true;
                    return Ok(());
                }
            }
            let source = match self.make_read(cx)? {
                Poll::Pending => return Ok(()),
                Poll::Ready(false) => None,
                Poll::Ready(true) => Some(cx.reader.open(&self.read)?),
            };
            let mut tuple = self.spare.pop().unwrap_or_default();
            tuple.extend(self.feed.take());
            self.open.push_back(Open {
                tuple,
                source,
                found: false,
            });
        }
        Ok(())
    }

    /// Makes the read of the feed's current tuple; false where nothing can be found.
    #[inline]
    fn make_read(&mut self, cx: &Context<'a, R>) -> Result<Poll<bool>, AskError> {
        let (range, read) = (&self.range, &mut self.read);
        let found = self
            .subs
            .resolve(cx, self.feed.tuple(), &[], |env| range.read(env, read))?;
        if found.is_ready() {
            self.subs.reset();
        }
        if found == Poll::Ready(true) {
            cx.count(self.step, |actual| actual.gets += 1);
        }
        Ok(found)
    }

    /// The first of the reads has nothing more to give.
    fn done(&mut self) {
        if let Some(mut open) = self.open.pop_front() {
            open.tuple.clear();
            self.spare.push(open.tuple);
        }
    }
}

impl<'a, R: Reader> Operator<'a, R> for Get<'a, R> {
    fn start(&mut self, outer: &[Frame<R::B>]) {
        self.feed.start(outer);
        self.subs.reset();
        self.open.clear();
        self.exhausted = false;
    }

    fn fill(
        &mut self,
        cx: &Context<'a, R>,
        want: usize,
        out: &mut Tuples<R::B>,
    ) -> Result<Fill, AskError> {
        let mut added = 0;
        while added < want {
            self.open_ahead(cx, want - added)?;
            let Some(front) = self.open.front_mut() else {
                let reason = if self.exhausted {
                    Fill::End
                } else {
                    Fill::Wait
                };
                return Ok(cx.settle(self.step, added, reason));
            };
            let before = out.len();
            let fill = match &mut front.source {
                Some(source) => source.fill(want - added, &mut out.joined(&front.tuple))?,
                None => Fill::End,
            };
            match fill {
                Fill::Wait => return Ok(cx.settle(self.step, added, Fill::Wait)),
                Fill::Rows => {
                    front.found = true;
                    let read = out.len() - before;
                    cx.count(self.step, |actual| actual.reads += read as u64);
                    added += read;
                    // A point get has no second row: the store is not asked for one.
                    if self.range.is_point() {
                        self.done();
                    }
                }
                Fill::End => {
                    if self.outer && !front.found {
                        out.push_joined(&front.tuple, Frame::ABSENT);
                        added += 1;
                    }
                    self.done();
                }
            }
        }
        Ok(cx.settle(self.step, added, Fill::End))
    }
}
