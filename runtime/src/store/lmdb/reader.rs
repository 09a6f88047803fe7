//! Reads from LMDB: rows are lent by the map, nothing is copied but the key of a point read.

use super::{Database, Shared};
use crate::store::{Batch, Fill, Keys, Read, Reader, Source, StoreError};
use bumpalo::Bump;
use heed::types::Bytes;
use heed::{RoRange, RoRevRange, RoTxn, WithoutTls};
use std::ops::Bound;
use std::sync::Arc;

/// A read transaction. It pins the pages of its state, so it should not outlive a page of rows.
pub struct LmdbSnapshot {
    txn: RoTxn<'static, WithoutTls>,
    shared: Arc<Shared>,
    keys: Bump,
}

impl LmdbSnapshot {
    pub(super) fn new(shared: &Arc<Shared>) -> Result<Self, StoreError> {
        let txn = shared.env.clone().static_read_txn()?;
        Ok(LmdbSnapshot {
            txn,
            shared: Arc::clone(shared),
            keys: Bump::new(),
        })
    }

    /// A view of this state.
    pub fn reader(&self) -> LmdbReader<'_> {
        self.shared.reader(&self.txn, &self.keys)
    }
}

impl std::fmt::Debug for LmdbSnapshot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LmdbSnapshot")
            .field("id", &self.txn.id())
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

impl<'t> Reader for LmdbReader<'t> {
    type B = &'t [u8];
    type S = LmdbSource<'t>;
    const AHEAD: usize = 1;

    #[inline]
    fn open(&self, read: &Read) -> Result<LmdbSource<'t>, StoreError> {
        let database =
            self.structures
                .get(usize::from(read.structure))
                .ok_or(StoreError::NoStructure {
                    structure: read.structure,
                    structures: self.structures.len(),
                })?;
        Ok(LmdbSource(match &read.keys {
            // LMDB has no empty keys, and takes asking for one as an error.
            Keys::Point(key) if key.is_empty() => State::Done,
            Keys::Point(key) => match database.get(self.txn, key)? {
                Some(row) => State::Row(self.keys.alloc_slice_copy(key), row),
                None => State::Done,
            },
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

/// An open read.
pub struct LmdbSource<'t>(State<'t>);

enum State<'t> {
    Row(&'t [u8], &'t [u8]),
    Forward(RoRange<'t, Bytes, Bytes>),
    Backward(RoRevRange<'t, Bytes, Bytes>),
    Done,
}

impl<'t> Source<&'t [u8]> for LmdbSource<'t> {
    #[inline]
    fn fill(&mut self, want: usize, out: &mut Batch<&'t [u8]>) -> Result<Fill, StoreError> {
        let before = out.rows.len();
        let more = match &mut self.0 {
            &mut State::Row(key, row) => {
                out.rows.push((key, row));
                false
            }
            State::Forward(rows) => take(rows, want, out)?,
            State::Backward(rows) => take(rows, want, out)?,
            State::Done => false,
        };
        if !more {
            self.0 = State::Done;
        }
        Ok(if out.rows.len() > before {
            Fill::Rows
        } else {
            Fill::End
        })
    }
}

/// Appends up to `want` rows; false if there are no more.
#[inline]
fn take<'t>(
    rows: &mut impl Iterator<Item = heed::Result<(&'t [u8], &'t [u8])>>,
    want: usize,
    out: &mut Batch<&'t [u8]>,
) -> Result<bool, StoreError> {
    out.rows.reserve(want.min(1024));
    for _ in 0..want {
        match rows.next() {
            Some(Ok((key, row))) => out.rows.push((key, row)),
            Some(Err(error)) => return Err(error.into()),
            None => return Ok(false),
        }
    }
    Ok(true)
}
