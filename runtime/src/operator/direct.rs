//! `get` straight over the outer tuple: the commonest plan of all, without the staging that a
//! `follow` needs.

use super::range::Range;
use super::term::Env;
use super::{AskError, Context, Frame, Operator, Tuples};
use crate::store::{Fill, Read, Reader, Source};

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

    /// The read; none if nothing can be found.
    fn read(&mut self, cx: &Context<'a, R>) -> Result<Option<Read>, AskError> {
        cx.count(self.step + 1, |actual| actual.rows += 1);
        let env = Env {
            tuple: &self.outer,
            item: None,
            params: cx.params,
            results: &[],
        };
        let mut read = self.range.blank();
        match self.range.read(&env, &mut read) {
            Ok(true) => {
                cx.count(self.step, |actual| actual.gets += 1);
                Ok(Some(read))
            }
            Ok(false) => Ok(None),
            Err(stop) => Err(stop.unrun()),
        }
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
        let before = out.len();
        let fill = match &mut self.state {
            State::New => {
                self.state = State::Done;
                match self.read(cx)? {
                    None => Fill::End,
                    Some(read) if R::AT_ONCE && self.range.is_point() => {
                        cx.reader.get(&read, &mut out.joined(&self.outer))?
                    }
                    Some(read) => {
                        let mut source = cx.reader.open(&read)?;
                        let fill = source.fill(want, &mut out.joined(&self.outer))?;
                        self.state = State::Open(source);
                        fill
                    }
                }
            }
            State::Open(source) => source.fill(want, &mut out.joined(&self.outer))?,
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
