//! `get` straight over the outer tuple: the commonest plan of all, without the staging that a
//! `follow` needs.

use super::range::{self, Range};
use super::term::{Env, Stop};
use super::{AskError, Context, Frame, Operator, Tuples};
use crate::store::{Fill, Reader, Source};

pub(super) struct Direct<'a, R: Reader> {
    step: usize,
    range: Range<'a>,
    outer: Outer<R::B>,
    state: State<R::S>,
}

/// The frames of the outer tuple: most have none or one.
enum Outer<B> {
    Few(Option<Frame<B>>),
    Many(Vec<Frame<B>>),
}

impl<B: Clone> Outer<B> {
    fn new(frames: &[Frame<B>]) -> Self {
        match frames {
            [] => Outer::Few(None),
            [one] => Outer::Few(Some(one.clone())),
            many => Outer::Many(many.to_vec()),
        }
    }

    fn frames(&self) -> &[Frame<B>] {
        match self {
            Outer::Few(frames) => frames.as_slice(),
            Outer::Many(frames) => frames,
        }
    }
}

enum State<S> {
    New,
    Open(S),
    Done,
}

impl<'a, R: Reader> Direct<'a, R> {
    /// The range's terms have no subplans. The input's step is the one behind `step`.
    pub(super) fn new(step: usize, range: Range<'a>) -> Self {
        Direct {
            step,
            range,
            outer: Outer::Few(None),
            state: State::Done,
        }
    }

    /// Makes the read, and gives its first rows.
    fn open(
        &mut self,
        cx: &Context<'a, R>,
        want: usize,
        out: &mut Tuples<R::B>,
    ) -> Result<Fill, AskError> {
        cx.count(self.step + 1, |actual| actual.rows += 1);
        let outer = self.outer.frames();
        let env = Env {
            tuple: outer,
            items: &[],
            params: cx.params,
            results: &[],
        };
        let mut read = self.range.blank(cx.spare.take());
        if !self.range.read(&env, &mut read).map_err(Stop::unrun)? {
            return Ok(Fill::End);
        }
        cx.count(self.step, |actual| actual.gets += 1);
        let fill = if R::AT_ONCE && self.range.is_point() {
            cx.reader.get(&read, &mut out.joined(outer))?
        } else {
            let mut source = cx.reader.open(&read)?;
            let fill = source.fill(want, &mut out.joined(outer))?;
            self.state = State::Open(source);
            fill
        };
        cx.spare.set(std::mem::take(range::buffer(&mut read)));
        Ok(fill)
    }
}

impl<'a, R: Reader> Operator<'a, R> for Direct<'a, R> {
    fn start(&mut self, outer: &[Frame<R::B>]) {
        self.outer = Outer::new(outer);
        self.state = State::New;
    }

    fn fill(
        &mut self,
        cx: &Context<'a, R>,
        want: usize,
        out: &mut Tuples<R::B>,
    ) -> Result<Fill, AskError> {
        let before = out.len();
        let fill = match &mut self.state {
            State::New => {
                self.state = State::Done;
                self.open(cx, want, out)?
            }
            State::Open(source) => source.fill(want, &mut out.joined(self.outer.frames()))?,
            State::Done => Fill::End,
        };
        let read = (out.len() - before) as u64;
        // A point get has no second row: the store is not asked for one.
        if fill == Fill::End || read > 0 && self.range.is_point() {
            self.state = State::Done;
        }
        cx.count(self.step, |actual| {
            actual.reads += read;
            actual.rows += read;
        });
        Ok(fill)
    }
}
