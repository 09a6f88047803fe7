//! `get` straight over the outer tuple: the commonest plan of all, without the staging that a
//! `follow` needs.

use super::range::Range;
use super::term::{Env, Stop};
use super::{AskError, Context, Frame, Operator, Tuples};
use crate::store::{Fill, Reader, Source};

pub(super) struct Direct<'a, R: Reader> {
    step: usize,
    range: Range<'a>,
    outer: Vec<Frame<R::B>>,
    state: State<R::S>,
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
            outer: Vec::new(),
            state: State::Done,
        }
    }

    fn open(&mut self, cx: &Context<'a, R>) -> Result<(), AskError> {
        cx.count(self.step + 1, |actual| actual.rows += 1);
        let env = Env {
            tuple: &self.outer,
            item: None,
            params: cx.params,
            results: &[],
        };
        self.state = match self.range.read(&env, Vec::new()) {
            Ok(Some(read)) => {
                cx.count(self.step, |actual| actual.gets += 1);
                State::Open(cx.reader.open(&read)?)
            }
            Ok(None) => State::Done,
            Err(Stop::Error(error)) => return Err(error),
            Err(Stop::Need(slot)) => {
                return Err(AskError::Plan(format!("subplan {slot} in a plain get")));
            }
        };
        Ok(())
    }
}

impl<'a, R: Reader> Operator<'a, R> for Direct<'a, R> {
    fn start(&mut self, outer: &[Frame<R::B>]) {
        self.outer.clear();
        self.outer.extend_from_slice(outer);
        self.state = State::New;
    }

    fn fill(
        &mut self,
        cx: &Context<'a, R>,
        want: usize,
        out: &mut Tuples<R::B>,
    ) -> Result<Fill, AskError> {
        if matches!(self.state, State::New) {
            self.open(cx)?;
        }
        let State::Open(source) = &mut self.state else {
            return Ok(Fill::End);
        };
        let before = out.len();
        match source.fill(want, &mut out.joined(&self.outer))? {
            Fill::Rows => {}
            Fill::Wait => return Ok(Fill::Wait),
            Fill::End => {
                self.state = State::Done;
                return Ok(Fill::End);
            }
        }
        let read = out.len() - before;
        // A point get has no second row: the store is not asked for one.
        if self.range.is_point() {
            self.state = State::Done;
        }
        cx.count(self.step, |actual| {
            actual.reads += read as u64;
            actual.rows += read as u64;
        });
        Ok(Fill::Rows)
    }
}
