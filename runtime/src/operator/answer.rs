//! The top of a plan: rows that are decoded as they are looked at.

use super::bound::{BoundPlan, BoundTexts, BoundTop};
use super::build::{Builder, Demand};
use super::nested::NestedRows;
use super::root::Root;
use super::stored::{How, Shown, Stored};
use super::sub::Subs;
use super::term::{Env, Node, Stop, damaged, values};
use super::{Actual, Ask, AskError, Context, Frame, Operator, Tuples};
use crate::cursor;
use crate::layout::{Checked, ValueRef};
use crate::store::{Fill, Reader, StoreError};
use bumpalo::Bump;
use querent_compiler::value::Value;
use std::borrow::Cow;
use std::cell::Cell;
use std::task::Poll;

type Wait<'a> = Box<dyn FnMut() -> Result<(), StoreError> + 'a>;

/// What is computed of the tuples that leave a plan's operators.
pub(super) struct Top<'a, R: Reader> {
    pub(super) bound: &'a BoundTop,
    pub(super) params: &'a [Value],
    /// The subplans in the terms.
    pub(super) subs: Subs<'a, R>,
    /// Texts that were looked at and are stored in another form than they have.
    pub(super) texts: Bump,
}

/// A running answer.
pub struct Answer<'a, R: Reader> {
    cx: Context<'a, R>,
    root: Root<'a, R>,
    top: Top<'a, R>,
    /// Whether columns or the cursor have subplans, which are run before a row is handed out.
    has_subs: bool,
    /// How many steps the plan has.
    steps: usize,
    tuples: Tuples<R::B>,
    /// The numbers of the tuples in their order, where they are in another one.
    order: Vec<u64>,
    /// How many of the tuples are rows of the answer.
    count: usize,
    /// The position behind the current row.
    next: usize,
    wait: Option<Wait<'a>>,
}

impl<'a, R: Reader + 'a> Answer<'a, R> {
    /// Starts a plan; nothing is read yet.
    pub fn new(plan: &'a BoundPlan, reader: &'a R, ask: Ask<'a>) -> Result<Self, AskError> {
        let builder = Builder::new(plan, ask)?;
        let (mut root, top) = builder.plan(&plan.plan, Demand::default())?;
        root.start(&[]);
        let has_subs = !top.subs.is_empty();
        let cx = Context {
            reader,
            params: ask.params,
            profile: Vec::new(),
            spare: Cell::default(),
        };
        Ok(Answer {
            cx,
            root,
            top,
            has_subs,
            steps: plan.steps,
            tuples: Tuples::new(plan.plan.stride),
            order: Vec::new(),
            count: 0,
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

    /// Counts what each step does: most asks need not know. Called before the first row.
    #[must_use]
    pub fn counted(mut self) -> Self {
        self.cx.profile = vec![Cell::default(); self.steps];
        self
    }

    /// The next row, until there is none.
    #[inline]
    pub fn next_row(&mut self) -> Result<Option<RowView<'_, 'a, R>>, AskError> {
        if (self.next >= self.count || self.has_subs) && !self.advance()? {
            return Ok(None);
        }
        self.next += 1;
        let at = self.place(self.next - 1);
        Ok(Some(RowView::new(&self.top, &self.tuples, at)))
    }

    /// Where the tuple of a row is.
    #[inline]
    fn place(&self, row: usize) -> usize {
        self.order.get(row).map_or(row, |tuple| *tuple as usize)
    }

    /// Makes sure that there is a next tuple, with its subplans run; false if there is none.
    #[inline(never)]
    fn advance(&mut self) -> Result<bool, AskError> {
        while self.next >= self.count {
            self.tuples.clear();
            self.top.texts.reset();
            (self.next, self.count) = (0, 0);
            let (tuples, order) = (&mut self.tuples, &mut self.order);
            match self.root.hand_over(&self.cx, tuples, order)? {
                Fill::Rows if self.order.is_empty() => self.count = self.tuples.len(),
                Fill::Rows => self.count = self.order.len(),
                Fill::Wait => self.wait()?,
                Fill::End => return Ok(false),
            }
        }
        if self.has_subs {
            self.run_subs()?;
        }
        Ok(true)
    }

    /// All rows that are left, decoded.
    pub fn rows(&mut self) -> Result<Vec<Vec<Value>>, AskError> {
        let mut rows = Vec::new();
        while let Some(row) = self.next_row()? {
            rows.push(row.to_values()?);
        }
        Ok(rows)
    }

    /// What each step did so far, in the order of [`super::steps`]; empty unless it is
    /// [counted](Answer::counted).
    pub fn profile(&self) -> Vec<Actual> {
        self.cx.profile.iter().map(Cell::get).collect()
    }

    /// Runs the subplans that the current tuple's columns and cursor need. Rows of a nested column
    /// are only gathered; they are decoded when they are looked at.
    fn run_subs(&mut self) -> Result<(), AskError> {
        self.top.subs.reset();
        while self.resolve_subs()?.is_pending() {
            self.wait()?;
        }
        Ok(())
    }

    fn resolve_subs(&mut self) -> Result<Poll<()>, AskError> {
        let tuple = self.tuples.get(self.place(self.next));
        let Top { bound, subs, .. } = &mut self.top;
        let BoundTop { output, cursor, .. } = bound;
        for node in output {
            if let Node::Sub(slot) = node
                && subs.can_gather(*slot)
                && subs.gather(*slot, &self.cx, tuple)?.is_pending()
            {
                return Ok(Poll::Pending);
            }
        }
        for node in output.iter().chain(cursor) {
            let direct = matches!(node, Node::Sub(slot) if subs.gathered(*slot).is_some());
            if direct || !node.has_sub() {
                continue;
            }
            let done = subs.resolve(&self.cx, tuple, &[], |env| node.value_cow(env).map(drop))?;
            if done.is_pending() {
                return Ok(Poll::Pending);
            }
        }
        Ok(Poll::Ready(()))
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

/// One row of an answer, or of a nested column. Values are decoded when they are asked for, and
/// borrow from the store.
pub struct RowView<'r, 'a, R: Reader> {
    top: &'r Top<'a, R>,
    tuples: &'r Tuples<R::B>,
    /// The first frame of its tuple.
    start: usize,
    /// The texts that are checked together, once they are.
    texts: Cell<Option<Checked<'r>>>,
}

impl<'r, 'a, R: Reader + 'a> RowView<'r, 'a, R> {
    #[inline]
    pub(super) fn new(top: &'r Top<'a, R>, tuples: &'r Tuples<R::B>, at: usize) -> Self {
        RowView {
            top,
            tuples,
            start: tuples.start(at),
            texts: Cell::new(None),
        }
    }

    /// One frame of its tuple.
    #[inline]
    fn frame(&self, frame: usize) -> Option<&'r Frame<R::B>> {
        self.tuples.frames.get(self.start + frame)
    }

    /// How many columns there are.
    pub fn len(&self) -> usize {
        self.top.bound.output.len()
    }

    /// True for an answer without columns.
    pub fn is_empty(&self) -> bool {
        self.top.bound.output.is_empty()
    }

    /// The columns' names.
    pub fn names(&self) -> impl Iterator<Item = &'r str> + use<'r, R> {
        let names: &'r [Box<str>] = &self.top.bound.names;
        names.iter().map(AsRef::as_ref)
    }

    /// One column.
    #[inline]
    pub fn get(&self, column: usize) -> Result<ValueRef<'r>, AskError> {
        let node = self.node(column)?;
        // A stored column, which most are, needs nothing but its row.
        if let Node::Row {
            frame,
            slot,
            layout,
            column,
        } = node
            && let Some(Frame::Row(key, row)) = self.frame(*frame)
        {
            return layout
                .value_at(slot, key, row, *column)
                .map_err(|source| damaged(layout, source));
        }
        self.get_computed(node)
    }

    /// One column that is a text or null.
    #[expect(
        clippy::inline_always,
        reason = "returned through memory instead of registers, a text costs as much as reading it"
    )]
    #[inline(always)]
    pub fn text(&self, column: usize) -> Result<Option<&'r str>, AskError> {
        if let Some(text) = self.checked_text(column) {
            return Ok(Some(text));
        }
        let text = match self.shown(column) {
            Some((How::KeyText, stored, Frame::Row(key, _))) => stored.slot.key_text(key),
            Some((How::Text, stored, Frame::Row(_, row))) => stored.slot.text(row),
            _ => None,
        };
        match text {
            Some(text) => Ok(Some(text)),
            None => self.text_of_any(column),
        }
    }

    /// One of the texts that are checked together; none where they are not as most rows have them.
    #[expect(
        clippy::inline_always,
        reason = "returned through memory instead of registers, a text costs as much as reading it"
    )]
    #[inline(always)]
    fn checked_text(&self, column: usize) -> Option<&'r str> {
        let BoundTexts { frame, run, places } = self.top.bound.texts.as_ref()?;
        let checked = if let Some(checked) = self.texts.get() {
            checked
        } else {
            let Frame::Row(_, row) = self.frame(*frame)? else {
                return None;
            };
            let checked = run.check(row)?;
            self.texts.set(Some(checked));
            checked
        };
        checked.text(places.get(column)?)
    }

    #[inline(never)]
    fn text_of_any(&self, column: usize) -> Result<Option<&'r str>, AskError> {
        let text = self.get(column)?.into_text(column)?;
        Ok(text.map(|text| match text {
            Cow::Borrowed(text) => text,
            Cow::Owned(text) => self.top.texts.alloc_str(&text),
        }))
    }

    /// One column that is an integer, a timestamp (in milliseconds) or null.
    #[expect(
        clippy::inline_always,
        reason = "returned through memory instead of registers, a number costs as much as reading it"
    )]
    #[inline(always)]
    pub fn number(&self, column: usize) -> Result<Option<i64>, AskError> {
        match self.shown(column) {
            Some((How::Number, stored, frame)) if let Some(number) = stored.number(frame) => {
                Ok(Some(number))
            }
            _ => self.number_of_any(column),
        }
    }

    /// A column that is looked at where it is stored: as what, where, and the frame.
    #[inline]
    fn shown(&self, column: usize) -> Option<(How, &'r Stored, &'r Frame<R::B>)> {
        let Shown { how, stored } = self.top.bound.shown.get(column)?.as_ref()?;
        Some((*how, stored, self.frame(stored.frame)?))
    }

    #[inline(never)]
    fn number_of_any(&self, column: usize) -> Result<Option<i64>, AskError> {
        self.get(column)?.into_number(column)
    }

    /// The rows of a nested column, one by one: they are decoded as they are looked at.
    pub fn nested(&self, column: usize) -> Result<NestedRows<'r, 'a, R>, AskError> {
        let node = self.node(column)?;
        if let Node::Sub(slot) = node
            && let Some((top, tuples)) = self.top.subs.gathered(*slot)
        {
            return Ok(NestedRows::gathered(top, tuples));
        }
        match self.get_computed(node)? {
            ValueRef::Owned(value) => NestedRows::decoded(*value),
            ValueRef::Null => NestedRows::decoded(Value::Null),
            other => Err(other.kind()),
        }
        .map_err(|found| AskError::Column {
            column,
            found,
            expected: "nested rows",
        })
    }

    /// All columns, decoded.
    pub fn to_values(&self) -> Result<Vec<Value>, AskError> {
        (0..self.len())
            .map(|column| Ok(self.get(column)?.into_value()))
            .collect()
    }

    /// The token with which a page begins behind this row, or ends before it.
    pub fn cursor(&self) -> Result<String, AskError> {
        Ok(cursor::encode(&self.cursor_values()?))
    }

    /// The values of the complete order, of which the cursor is made.
    pub fn cursor_values(&self) -> Result<Vec<Value>, AskError> {
        values(&self.top.bound.cursor, &self.env()).map_err(Stop::unrun)
    }

    #[inline]
    fn node(&self, column: usize) -> Result<&'r Node, AskError> {
        self.top.bound.output.get(column).ok_or_else(|| {
            let columns = self.len();
            AskError::Plan(format!("column {column} of an answer of {columns}"))
        })
    }

    #[inline(never)]
    fn get_computed(&self, node: &'r Node) -> Result<ValueRef<'r>, AskError> {
        if let Node::Sub(slot) = node
            && let Some((top, tuples)) = self.top.subs.gathered(*slot)
        {
            let rows =
                NestedRows::gathered(top, tuples).map(|row| Ok(Value::Record(row.to_values()?)));
            let rows = rows.collect::<Result<Vec<_>, AskError>>()?;
            return Ok(ValueRef::Owned(Box::new(Value::List(rows))));
        }
        node.eval(&self.env()).map_err(Stop::unrun)
    }

    fn env(&self) -> Env<'r, R::B> {
        Env {
            tuple: self.tuples.tuple_at(self.start),
            items: &[],
            params: self.top.params,
            results: self.top.subs.results(),
        }
    }
}
