//! Reads from LMDB: rows are lent by the map, nothing is copied but the key of a point read.

use super::{Database, Shared};
use crate::key;
use crate::store::{Fill, Keys, Point, Points, Read, Reader, Sink, Source, StoreError};
use bumpalo::Bump;
use heed::types::Bytes;
use heed::{RoIter, RoRange, RoRevRange, RoTxn, WithoutTls};
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
        let walks = worth_a_walk(points);
        let mut points = points.iter();
        let left = if walks {
            self.walk(database, &mut points)?
        } else {
            None
        };
        for point in left.into_iter().chain(points) {
            let key = point.key();
            // LMDB has no empty keys, and takes asking for one as an error.
            if key.is_empty() {
                continue;
            }
            if let Some(row) = database.get(self.txn, key)? {
                let key = match point.lent() {
                    Some(key) => key,
                    None => self.keys.alloc_slice_copy(key),
                };
                point.found(key, row);
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
            Keys::Prefix(prefix) => {
                let from = (
                    Bound::Included(prefix.as_slice()),
                    Bound::<&[u8]>::Unbounded,
                );
                State::Within(database.range(self.txn, &from)?, Prefix::new(prefix))
            }
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

/// True if reads are many and their keys seem to ascend.
fn worth_a_walk<'t>(points: &mut impl Points<&'t [u8]>) -> bool {
    if points.count() < WALK {
        return false;
    }
    let mut first = points.iter().take(ASCENDING);
    let Some(mut before) = first.next().filter(|point| !point.key().is_empty()) else {
        return false;
    };
    first.all(|point| {
        let ascends = before.key() < point.key();
        before = point;
        ascends
    })
}

impl<'t> LmdbReader<'t> {
    /// Makes reads with a cursor that goes from row to row, until one of them is far from the one
    /// before it or below it: gives that one, which has not been made.
    fn walk<P: Point<&'t [u8]>>(
        &self,
        database: &Database,
        points: &mut impl Iterator<Item = P>,
    ) -> Result<Option<P>, StoreError> {
        let Some(point) = points.next() else {
            return Ok(None);
        };
        // What is read from its beginning on, as beside a scan of another, needs no seek.
        let mut rows = database.iter(self.txn)?;
        let first = rows.next().transpose()?;
        if first.is_some_and(|(key, _)| key < point.key()) {
            let from = (Bound::Included(point.key()), Bound::<&[u8]>::Unbounded);
            let mut rows = database.range(self.txn, &from)?;
            return walk_along(rows.next().transpose()?, rows, point, points);
        }
        walk_along(first, rows, point, points)
    }
}

/// A walk along the rows of a structure, the first of which is the first at or behind `point`.
#[expect(
    clippy::comparison_chain,
    reason = "most keys are equal, and that alone is found with less"
)]
fn walk_along<'t, P: Point<&'t [u8]>>(
    mut next: Option<(&'t [u8], &'t [u8])>,
    mut rows: impl Iterator<Item = heed::Result<(&'t [u8], &'t [u8])>>,
    mut point: P,
    points: &mut impl Iterator<Item = P>,
) -> Result<Option<P>, StoreError> {
    // The row before the next.
    let mut before: Option<&[u8]> = None;
    // How many more rows are passed by on the way to the point.
    let mut steps = NEAR;
    while let Some((key, row)) = next {
        if key == point.key() {
            point.found(key, row);
            let Some(following) = points.next() else {
                return Ok(None);
            };
            (point, steps) = (following, NEAR);
        } else if key < point.key() {
            if steps == 0 {
                return Ok(Some(point));
            }
            steps -= 1;
        } else {
            // Between two rows there is none, and none between the start of the walk and its first.
            if before.is_some_and(|before| point.key() <= before) {
                return Ok(Some(point));
            }
            let Some(following) = points.next() else {
                return Ok(None);
            };
            let ascends = point.key() <= following.key();
            (point, steps) = (following, NEAR);
            if !ascends {
                return Ok(Some(point));
            }
            continue;
        }
        before = Some(key);
        next = match rows.next() {
            Some(Ok(row)) => Some(row),
            Some(Err(error)) => return Err(error.into()),
            None => None,
        };
    }
    // Behind the last row there is none.
    while before.is_none_or(|before| before < point.key()) {
        let Some(following) = points.next() else {
            return Ok(None);
        };
        if following.key() < point.key() {
            return Ok(Some(following));
        }
        point = following;
    }
    Ok(Some(point))
}

/// An open read.
pub struct LmdbSource<'t>(State<'t>);

enum State<'t> {
    Row(&'t [u8], &'t [u8]),
    Forward(RoRange<'t, Bytes, Bytes>),
    Backward(RoRevRange<'t, Bytes, Bytes>),
    /// From the first row at or behind a prefix on, while rows begin with it.
    Within(RoRange<'t, Bytes, Bytes>, Prefix),
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
            State::Forward(rows) => take(rows, want, out, |_| true)?,
            State::Backward(rows) => take(rows, want, out, |_| true)?,
            State::Within(rows, prefix) => take(rows, want, out, |key| prefix.begins(key))?,
            State::All(rows) => take(rows, want, out, |_| true)?,
            State::Done => 0,
        };
        if given < want {
            self.0 = State::Done;
        }
        Ok(if given > 0 { Fill::Rows } else { Fill::End })
    }
}

/// Appends up to `want` rows and tells how many they were: fewer only if there are no more, or one
/// is not `within` what is read.
#[inline]
fn take<'t>(
    rows: &mut impl Iterator<Item = heed::Result<(&'t [u8], &'t [u8])>>,
    want: usize,
    out: &mut impl Sink<&'t [u8]>,
    within: impl Fn(&[u8]) -> bool,
) -> Result<usize, StoreError> {
    for given in 0..want {
        match rows.next() {
            Some(Ok((key, row))) if within(key) => {
                // Where there is none, no room is made: the buffer may be full, and would be moved
                // for nothing.
                if given == 0 {
                    out.reserve(want.min(1024));
                }
                out.push(key, row);
            }
            Some(Err(error)) => return Err(error.into()),
            Some(Ok(_)) | None => return Ok(given),
        }
    }
    Ok(want)
}

/// What the keys of a read begin with. Most are short, and compared as two words: calling for it
/// costs as much as the rest of a step to the next row.
struct Prefix {
    length: usize,
    /// Its first eight bytes, zeros behind it.
    first: u64,
    /// The bits of a key's first eight bytes that it has.
    mask: u64,
    /// Its last eight bytes, where it has more than eight.
    last: u64,
    /// All of it, where it has more than sixteen.
    long: Vec<u8>,
}

impl Prefix {
    fn new(prefix: &[u8]) -> Prefix {
        let length = prefix.len();
        let last = prefix.last_chunk().copied().unwrap_or_default();
        Prefix {
            length,
            first: padded(prefix),
            mask: match length {
                0..8 => (1 << (8 * length)) - 1,
                _ => u64::MAX,
            },
            last: u64::from_le_bytes(last),
            long: if length > 16 { prefix.to_vec() } else { vec![] },
        }
    }

    /// Whether a key begins with it.
    #[inline]
    fn begins(&self, key: &[u8]) -> bool {
        let first = match key.first_chunk() {
            Some(first) => u64::from_le_bytes(*first),
            None if key.len() < self.length => return false,
            None => padded(key),
        };
        if first & self.mask != self.first {
            return false;
        }
        if self.length <= 8 {
            return true;
        }
        let last = key.get(..self.length).and_then(<[u8]>::last_chunk);
        last.is_some_and(|last| u64::from_le_bytes(*last) == self.last)
            && (self.length <= 16 || key.starts_with(&self.long))
    }
}

/// The first eight bytes, zeros where there are fewer.
fn padded(bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    word.iter_mut()
        .zip(bytes)
        .for_each(|(to, from)| *to = *from);
    u64::from_le_bytes(word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn prefixes_are_compared_as_slices_are(
            prefix in prop::collection::vec(0_u8..3, 0..40),
            rest in prop::collection::vec(0_u8..3, 0..4),
            change in prop::option::of((any::<prop::sample::Index>(), 0_u8..3)),
        ) {
            let mut key = [prefix.as_slice(), &rest].concat();
            if let Some((at, byte)) = change
                && !key.is_empty()
            {
                let at = at.index(key.len());
                key[at] = byte;
            }
            prop_assert_eq!(Prefix::new(&prefix).begins(&key), key.starts_with(&prefix));
            for length in 0..key.len() {
                let shorter = &key[..length];
                prop_assert_eq!(Prefix::new(&prefix).begins(shorter), shorter.starts_with(&prefix));
            }
        }
    }
}
