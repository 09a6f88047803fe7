//! Reads from LMDB: rows are lent by the map, nothing is copied but the key of a point read.

use super::{Database, Shared};
use crate::key;
use crate::store::{Fill, Keys, Points, Read, Reader, Sink, Source, StoreError};
use bumpalo::Bump;
use heed::types::Bytes;
use heed::{RoIter, RoPrefix, RoRange, RoRevRange, RoTxn, WithoutTls};
use querent_compiler::design::StructureId;
use std::ops::Bound;
use std::sync::atomic::{self, AtomicU64};
use std::sync::{Arc, Mutex, PoisonError};

/// A read transaction. It pins the pages of its state, so it should not outlive a page of rows.
pub struct LmdbSnapshot {
    /// Taken only by the drop.
    view: Option<View>,
    shared: Arc<Shared>,
}

/// An open read transaction and the keys that point reads in it have lent.
pub(super) struct View {
    txn: RoTxn<'static, WithoutTls>,
    keys: Bump,
    /// How many commits there had been when it was begun.
    commits: u64,
}

/// Views that nobody holds, and that show the newest state: while nothing is committed, the next
/// snapshot is one of them, without a transaction of its own. The newest state is what the engine
/// keeps in any case, so they pin no page; a commit ends them.
#[derive(Default)]
pub(super) struct Idle {
    commits: AtomicU64,
    views: Mutex<Vec<View>>,
}

/// More readers than this at one moment begin transactions of their own.
const MOST_IDLE: usize = 16;

impl Idle {
    /// A commit is on disk: what follows sees it.
    pub(super) fn committed(&self) {
        let mut views = self.views.lock().unwrap_or_else(PoisonError::into_inner);
        self.commits.fetch_add(1, atomic::Ordering::SeqCst);
        views.clear();
    }

    /// Who has to wait for it begins a transaction instead.
    fn take(&self) -> Option<View> {
        self.views.try_lock().ok()?.pop()
    }

    /// Keeps a view if it still shows the newest state.
    fn give(&self, mut view: View) {
        if let Ok(mut views) = self.views.try_lock()
            && view.commits == self.commits.load(atomic::Ordering::SeqCst)
            && views.len() < MOST_IDLE
        {
            view.keys.reset();
            views.push(view);
        }
    }
}

impl std::fmt::Debug for Idle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Idle")
            .field("commits", &self.commits)
            .finish_non_exhaustive()
    }
}

impl LmdbSnapshot {
    pub(super) fn new(shared: &Arc<Shared>) -> Result<Self, StoreError> {
        let view = match shared.idle.take() {
            Some(view) => view,
            None => View {
                // Counted before it begins: a commit in between makes it look older than it is.
                commits: shared.idle.commits.load(atomic::Ordering::SeqCst),
                txn: shared.env.clone().static_read_txn()?,
                keys: Bump::new(),
            },
        };
        Ok(LmdbSnapshot {
            view: Some(view),
            shared: Arc::clone(shared),
        })
    }

    /// A view of this state.
    pub fn reader(&self) -> LmdbReader<'_> {
        let view = self.view();
        self.shared.reader(&view.txn, &view.keys)
    }

    fn view(&self) -> &View {
        match &self.view {
            Some(view) => view,
            None => unreachable!("a snapshot has its view until it is dropped"),
        }
    }
}

impl Drop for LmdbSnapshot {
    fn drop(&mut self) {
        // Another process may commit unseen where this one only reads.
        if let Some(view) = self.view.take()
            && !self.shared.options.read_only
        {
            self.shared.idle.give(view);
        }
    }
}

impl std::fmt::Debug for LmdbSnapshot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LmdbSnapshot")
            .field("id", &self.view().txn.id())
            .finish_non_exhaustive()
    }
}

/// A view of a transaction, for reading or for writing.
#[derive(Clone, Copy)]
pub struct LmdbReader<'t> {
    pub(super) txn: &'t RoTxn<'t>,
    pub(super) structures: &'t [Database],
    /// Keys of point reads: LMDB lends only the row, and the key must live as long.
    pub(super) keys: &'t Bump,
}

impl<'t> LmdbReader<'t> {
    /// One row. Its key is not kept for as long as the row is lent, as that of a [`Read`] is: a pass
    /// over all facts reads more keys than fit into memory.
    pub(crate) fn row(
        &self,
        structure: StructureId,
        key: &[u8],
    ) -> Result<Option<&'t [u8]>, StoreError> {
        if key.is_empty() {
            return Ok(None);
        }
        Ok(self.database(structure)?.get(self.txn, key)?)
    }

    #[inline]
    fn database(&self, structure: StructureId) -> Result<&'t Database, StoreError> {
        self.structures
            .get(usize::from(structure))
            .ok_or(StoreError::NoStructure {
                structure,
                structures: self.structures.len(),
            })
    }
}

impl<'t> Reader for LmdbReader<'t> {
    type B = &'t [u8];
    type S = LmdbSource<'t>;
    const AHEAD: usize = 1;
    const AT_ONCE: bool = true;

    #[inline]
    fn get(&self, read: &Read, out: &mut impl Sink<&'t [u8]>) -> Result<Fill, StoreError> {
        let Keys::Point(key) = &read.keys else {
            return self.open(read)?.fill(1, out);
        };
        match self.row(read.structure, key)? {
            Some(row) => {
                out.push(self.keys.alloc_slice_copy(key), row);
                Ok(Fill::Rows)
            }
            None => Ok(Fill::End),
        }
    }

    fn points(
        &self,
        structure: StructureId,
        points: &mut impl Points<&'t [u8]>,
    ) -> Result<(), StoreError> {
        let database = self.database(structure)?;
        let walked = if worth_a_walk(points) {
            self.walk(database, points)?
        } else {
            0
        };
        for at in walked..points.count() {
            let key = points.key(at);
            // LMDB has no empty keys, and takes asking for one as an error.
            if key.is_empty() {
                continue;
            }
            if let Some(row) = database.get(self.txn, key)? {
                let key = match points.lent(at) {
                    Some(key) => key,
                    None => self.keys.alloc_slice_copy(key),
                };
                points.found(at, key, row);
            }
        }
        Ok(())
    }

    #[inline]
    fn open(&self, read: &Read) -> Result<LmdbSource<'t>, StoreError> {
        let database = self.database(read.structure)?;
        Ok(LmdbSource(match &read.keys {
            // LMDB has no empty keys, and takes asking for one as an error.
            Keys::Point(key) if key.is_empty() => State::Done,
            Keys::Point(key) => match database.get(self.txn, key)? {
                Some(row) => State::Row(self.keys.alloc_slice_copy(key), row),
                None => State::Done,
            },
            Keys::Prefix(prefix) if prefix.is_empty() && !read.reverse => {
                State::All(database.iter(self.txn)?)
            }
            // heed would begin at the prefix's successor of equal length, which is above keys that
            // are shorter and do not begin with it.
            Keys::Prefix(prefix) if read.reverse => {
                let upper = key::successor(prefix);
                let upper = upper.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
                let lower = match prefix.as_slice() {
                    [] => Bound::Unbounded,
                    prefix => Bound::Included(prefix),
                };
                let range = (lower, upper);
                State::Backward(database.rev_range(self.txn, &range)?)
            }
            Keys::Prefix(prefix) => State::Within(database.prefix_iter(self.txn, prefix)?),
            Keys::Range { lower, upper } => {
                let lower = match lower.as_slice() {
                    [] => Bound::Unbounded,
                    lower => Bound::Included(lower),
                };
                let upper = match upper.as_deref() {
                    None => Bound::Unbounded,
                    Some([]) => return Ok(LmdbSource(State::Done)),
                    Some(upper) => Bound::Excluded(upper),
                };
                let range = (lower, upper);
                if read.reverse {
                    State::Backward(database.rev_range(self.txn, &range)?)
                } else {
                    State::Forward(database.range(self.txn, &range)?)
                }
            }
        }))
    }
}

/// A cursor costs about as much as two gets: worth it for some more.
const WALK: usize = 8;
/// Keys of which so many ascend come in order more often than by chance.
const ASCENDING: usize = 4;
/// A step to the next row costs about a sixth of a get.
const NEAR: usize = 4;

/// True if a key is above the one before it.
fn ascends<'t>(points: &impl Points<&'t [u8]>, at: usize) -> bool {
    at.checked_sub(1)
        .is_none_or(|before| points.key(before) < points.key(at))
}

/// True if reads are many and their keys seem to ascend.
fn worth_a_walk<'t>(points: &impl Points<&'t [u8]>) -> bool {
    points.count() >= WALK
        && !points.key(0).is_empty()
        && (0..ASCENDING).all(|at| ascends(points, at))
}

impl<'t> LmdbReader<'t> {
    /// Makes reads with a cursor that goes from row to row, and tells how many they were: all, or
    /// those before the first that is below the one before it or far from it.
    fn walk(
        &self,
        database: &Database,
        points: &mut impl Points<&'t [u8]>,
    ) -> Result<usize, StoreError> {
        // What is read from its beginning on, as beside a scan of another, needs no seek.
        let mut rows = database.iter(self.txn)?;
        if let Some((key, row)) = rows.next().transpose()?
            && key >= points.key(0)
        {
            let mut walk = Walk { at: 0, steps: NEAR };
            return if walk.pass(key, row, points) {
                walk.along(rows, points)
            } else {
                Ok(walk.at)
            };
        }
        let from = (Bound::Included(points.key(0)), Bound::<&[u8]>::Unbounded);
        let rows = database.range(self.txn, &from)?;
        Walk { at: 0, steps: NEAR }.along(rows, points)
    }
}

/// Where a walk along the rows of a structure is.
struct Walk {
    /// The read that is looked for.
    at: usize,
    /// How many more rows are passed by on the way to it.
    steps: usize,
}

impl Walk {
    /// Goes along rows, and tells how many reads were made.
    fn along<'t>(
        mut self,
        rows: impl Iterator<Item = heed::Result<(&'t [u8], &'t [u8])>>,
        points: &mut impl Points<&'t [u8]>,
    ) -> Result<usize, StoreError> {
        for row in rows {
            let (key, row) = row?;
            if !self.pass(key, row, points) {
                return Ok(self.at);
            }
        }
        // Behind the last row there is none.
        while self.at < points.count() && ascends(points, self.at) {
            self.at += 1;
        }
        Ok(self.at)
    }

    /// Goes by a row; false if the walk ends there.
    #[expect(clippy::inline_always, reason = "the body of the walk's loop")]
    #[inline(always)]
    fn pass<'t>(
        &mut self,
        key: &'t [u8],
        row: &'t [u8],
        points: &mut impl Points<&'t [u8]>,
    ) -> bool {
        while key != points.key(self.at) {
            if key < points.key(self.at) {
                let near = self.steps > 0;
                self.steps = self.steps.saturating_sub(1);
                return near;
            }
            // The row before this one is at or before the key before it, so that there is none in
            // between.
            if !ascends(points, self.at) || !self.go_on(points) {
                return false;
            }
        }
        points.found(self.at, key, row);
        self.go_on(points)
    }

    /// Looks for the next key; false if there is none.
    #[inline]
    fn go_on<'t>(&mut self, points: &impl Points<&'t [u8]>) -> bool {
        self.at += 1;
        self.steps = NEAR;
        self.at < points.count()
    }
}

/// An open read.
pub struct LmdbSource<'t>(State<'t>);

enum State<'t> {
    Row(&'t [u8], &'t [u8]),
    Forward(RoRange<'t, Bytes, Bytes>),
    Backward(RoRevRange<'t, Bytes, Bytes>),
    Within(RoPrefix<'t, Bytes, Bytes>),
    All(RoIter<'t, Bytes, Bytes>),
    Done,
}

impl<'t> Source<&'t [u8]> for LmdbSource<'t> {
    #[inline]
    fn fill(&mut self, want: usize, out: &mut impl Sink<&'t [u8]>) -> Result<Fill, StoreError> {
        let given = match &mut self.0 {
            &mut State::Row(key, row) => {
                out.push(key, row);
                self.0 = State::Done;
                return Ok(Fill::Rows);
            }
            State::Forward(rows) => take(rows, want, out)?,
            State::Backward(rows) => take(rows, want, out)?,
            State::Within(rows) => take(rows, want, out)?,
            State::All(rows) => take(rows, want, out)?,
            State::Done => 0,
        };
        if given < want {
            self.0 = State::Done;
        }
        Ok(if given > 0 { Fill::Rows } else { Fill::End })
    }
}

/// Appends up to `want` rows and tells how many they were: fewer only if there are no more.
#[inline]
fn take<'t>(
    rows: &mut impl Iterator<Item = heed::Result<(&'t [u8], &'t [u8])>>,
    want: usize,
    out: &mut impl Sink<&'t [u8]>,
) -> Result<usize, StoreError> {
    out.reserve(want.min(1024));
    for given in 0..want {
        match rows.next() {
            Some(Ok((key, row))) => out.push(key, row),
            Some(Err(error)) => return Err(error.into()),
            None => return Ok(given),
        }
    }
    Ok(want)
}
