//! The top of a plan: rows that are decoded as they are looked at.

use super::build::{Builder, Built};
use super::sub::Subs;
use super::term::{Env, Node, Stop, damaged, values};
use super::{Actual, Ask, AskError, BATCH, Boxed, Context, Frame, Tuples};
use crate::cursor;
use crate::layout::ValueRef;
use crate::store::{Fill, Reader, StoreError};
use querent_compiler::design::Plan;
use querent_compiler::value::Value;
use std::cell::Cell;
use std::task::Poll;

type Wait<'a> = Box<dyn FnMut() -> Result<(), StoreError> + 'a>;

/// A running answer.
pub struct Answer<'a, R: Reader> {
    plan: &'a Plan,
    cx: Context<'a, R>,
    root: Boxed<'a, R>,
    output: Vec<Node<'a>>,
    cursor: Vec<Node<'a>>,
    subs: Subs<'a, R>,
    /// Whether columns or the cursor have subplans, which are run before a row is handed out.
    has_subs: bool,
    tuples: Tuples<R::B>,
    /// The position behind the current row.
    next: usize,
    wait: Option<Wait<'a>>,
}

impl<'a, R: Reader + 'a> Answer<'a, R> {
    /// Prepares a plan; nothing is read yet.
    pub fn new(plan: &'a Plan, reader: &'a R, ask: Ask<'a>) -> Result<Self, AskError> {
        let mut builder = Builder::new(ask);
        let Built {
            mut root,
            stride,
            output,
            cursor,
            subs,
        } = builder.plan(plan, &[])?;
        root.start(&[]);
        let has_subs = output.iter().chain(&cursor).any(Node::has_sub);
        let cx = Context {
            reader,
            profile: vec![Cell::default(); builder.steps],
        };
        let tuples = Tuples::new(stride);
        Ok(Answer {
            plan,
            cx,
            root,
            output,
            cursor,
            subs,
            has_subs,
            tuples,
            next: 0,
            wait: None,
        })
    }

    /// What to do when the store says *wait*: return when it may have more. The embedded store
    /// never says it.
    #[must_use]
    pub fn on_wait(mut self, wait: impl FnMut() -> Result<(), StoreError> + 'a) -> Self {
        self.wait = Some(Box::new(wait));
        self
    }

    /// The next row, until there is none.
    pub fn next_row(&mut self) -> Result<Option<RowView<'_, 'a, R>>, AskError> {
        while self.next >= self.tuples.len() {
            self.tuples.clear();
            self.next = 0;
            match self.root.fill(&self.cx, BATCH, &mut self.tuples)? {
                Fill::Rows => {}
                Fill::Wait => self.wait()?,
                Fill::End => return Ok(None),
            }
        }
        if self.has_subs {
            self.run_subs()?;
        }
        self.next += 1;
        let tuple = self.tuples.get(self.next - 1);
        Ok(Some(RowView {
            answer: self,
            tuple,
        }))
    }

    /// All rows that are left, decoded.
    pub fn rows(&mut self) -> Result<Vec<Vec<Value>>, AskError> {
        let mut rows = Vec::new();
        while let Some(row) = self.next_row()? {
            rows.push(row.to_values()?);
        }
        Ok(rows)
    }

    /// What each step did so far, in the order of [`super::steps`].
    pub fn profile(&self) -> Vec<Actual> {
        self.cx.profile.iter().map(Cell::get).collect()
    }

    /// Runs the subplans that the current tuple's columns and cursor need.
    fn run_subs(&mut self) -> Result<(), AskError> {
        self.subs.reset();
        loop {
            let (output, cursor) = (&self.output, &self.cursor);
            let tuple = self.tuples.get(self.next);
            let done = self.subs.resolve(&self.cx, tuple, None, |env| {
                for node in output.iter().chain(cursor).filter(|node| node.has_sub()) {
                    node.value_cow(env)?;
                }
                Ok(())
            })?;
            match done {
                Poll::Ready(()) => return Ok(()),
                Poll::Pending => self.wait()?,
            }
        }
    }

    fn wait(&mut self) -> Result<(), AskError> {
        match &mut self.wait {
            Some(wait) => Ok(wait()?),
            None => Err(StoreError::Engine(
                "it asked to wait, but nothing was given to wait with (`Answer::on_wait`)".into(),
            )
            .into()),
        }
    }
}

/// One row of an answer. Values are decoded when they are asked for, and borrow from the store.
pub struct RowView<'r, 'a, R: Reader> {
    answer: &'r Answer<'a, R>,
    tuple: &'r [Frame<R::B>],
}

impl<'r, R: Reader> RowView<'r, '_, R> {
    /// How many columns there are.
    pub fn len(&self) -> usize {
        self.answer.output.len()
    }

    /// True for an answer without columns.
    pub fn is_empty(&self) -> bool {
        self.answer.output.is_empty()
    }

    /// The columns' names.
    pub fn names(&self) -> impl Iterator<Item = &'r str> {
        self.answer
            .plan
            .output
            .iter()
            .map(|output| output.name.as_str())
    }

    /// One column.
    #[inline]
    pub fn get(&self, column: usize) -> Result<ValueRef<'r>, AskError> {
        let node = self.answer.output.get(column).ok_or_else(|| {
            let columns = self.len();
            AskError::Plan(format!("column {column} of an answer of {columns}"))
        })?;
        // A stored column, which most are, needs nothing but its row.
        if let Node::Row {
            frame,
            layout,
            column,
        } = node
            && let Some(Frame::Row(key, row)) = self.tuple.get(*frame)
        {
            return layout
                .value_ref(key, row, *column)
                .map_err(|source| damaged(layout, source));
        }
        node.eval(&self.env()).map_err(unstop)
    }

    /// All columns, decoded.
    pub fn to_values(&self) -> Result<Vec<Value>, AskError> {
        values(&self.answer.output, &self.env()).map_err(unstop)
    }

    /// The token with which a page begins behind this row, or ends before it.
    pub fn cursor(&self) -> Result<String, AskError> {
        Ok(cursor::encode(&self.cursor_values()?))
    }

    /// The values of the complete order, of which the cursor is made.
    pub fn cursor_values(&self) -> Result<Vec<Value>, AskError> {
        values(&self.answer.cursor, &self.env()).map_err(unstop)
    }

    fn env(&self) -> Env<'r, R::B> {
        Env {
            tuple: self.tuple,
            item: None,
            results: self.answer.subs.results(),
        }
    }
}

fn unstop(stop: Stop) -> AskError {
    match stop {
        Stop::Error(error) => error,
        Stop::Need(slot) => AskError::Plan(format!("subplan {slot} was not run")),
    }
}
