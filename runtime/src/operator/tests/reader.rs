//! A store of maps that may say *wait* and give fewer rows than asked, at random.

use super::random::{Random, Table};
use crate::store::{Fill, Keys, Read, Reader, Sink, Source, StoreError};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

pub(super) struct TestReader<'t, const AHEAD: usize> {
    tables: &'t [Table],
    random: Option<Rc<RefCell<Random>>>,
    delivered: Rc<Cell<u64>>,
    opened: Cell<u64>,
    last: RefCell<Option<Read>>,
}

impl<'t, const AHEAD: usize> TestReader<'t, AHEAD> {
    pub(super) fn new(tables: &'t [Table], waits: Option<u64>) -> Self {
        TestReader {
            tables,
            random: waits.map(|seed| Rc::new(RefCell::new(Random::new(seed)))),
            delivered: Rc::default(),
            opened: Cell::new(0),
            last: RefCell::default(),
        }
    }
    pub(super) fn delivered(&self) -> u64 {
        self.delivered.get()
    }
    pub(super) fn opened(&self) -> u64 {
        self.opened.get()
    }
    pub(super) fn last_read(&self) -> Option<Read> {
        self.last.borrow().clone()
    }
}

pub(super) struct TestSource<'t> {
    rows: VecDeque<(&'t [u8], &'t [u8])>,
    random: Option<Rc<RefCell<Random>>>,
    delivered: Rc<Cell<u64>>,
}

impl<'t, const AHEAD: usize> Reader for TestReader<'t, AHEAD> {
    type B = &'t [u8];
    type S = TestSource<'t>;
    const AHEAD: usize = AHEAD;
    // The tests read with none in flight only from readers that never wait.
    const AT_ONCE: bool = AHEAD == 0;

    fn open(&self, read: &Read) -> Result<TestSource<'t>, StoreError> {
        self.opened.set(self.opened.get() + 1);
        *self.last.borrow_mut() = Some(read.clone());
        let table = &self.tables[usize::from(read.structure)];
        let mut rows: Vec<_> = table
            .iter()
            .filter(|(key, _)| match &read.keys {
                Keys::Point(point) => *key == point,
                Keys::Prefix(prefix) => key.starts_with(prefix),
                Keys::Range { lower, upper } => {
                    *key >= lower && upper.as_ref().is_none_or(|upper| *key < upper)
                }
            })
            .map(|(key, row)| (key.as_slice(), row.as_slice()))
            .collect();
        if read.reverse {
            rows.reverse();
        }
        rows.truncate(read.limit.unwrap_or(usize::MAX));
        Ok(TestSource {
            rows: rows.into(),
            random: self.random.clone(),
            delivered: self.delivered.clone(),
        })
    }
}

impl<'t> Source<&'t [u8]> for TestSource<'t> {
    fn fill(&mut self, want: usize, out: &mut impl Sink<&'t [u8]>) -> Result<Fill, StoreError> {
        assert!(want > 0);
        let mut want = want.min(self.rows.len());
        if let Some(random) = &self.random {
            let mut random = random.borrow_mut();
            if random.chance(40) {
                return Ok(Fill::Wait);
            }
            want = want.min(1 + random.below(3));
        }
        if want == 0 {
            return Ok(Fill::End);
        }
        self.delivered.set(self.delivered.get() + want as u64);
        for (key, row) in self.rows.drain(..want) {
            out.push(key, row);
        }
        Ok(Fill::Rows)
    }
}
