//! The boundary to stores (see `docs/decisions/`).
//!
//! Pull, not push; batches of borrowed rows, not owned ones; and a source that may say *wait*, so
//! that the same operators run over an engine in process and over a cluster, without async in
//! either.

mod change;
mod error;
mod faults;
pub mod lmdb;
pub mod memory;
mod write_set;
mod writer;

pub use change::{ChangeError, Ticket};
pub use error::StoreError;
pub use faults::Faults;
pub use write_set::{Phase, Write, WriteSet};

use querent_compiler::design::StructureId;
use std::ops::Deref;

/// Bytes of a key or a row: `&'t [u8]` in process, shared bytes from elsewhere.
pub trait Buf: Deref<Target = [u8]> + Clone {}
impl<T: Deref<Target = [u8]> + Clone> Buf for T {}

/// Rows as (key, value), owned by the caller and reused.
#[derive(Debug)]
pub struct Batch<B> {
    /// Rows.
    pub rows: Vec<(B, B)>,
}

impl<B> Default for Batch<B> {
    fn default() -> Self {
        Batch { rows: Vec::new() }
    }
}

/// Where a source puts its rows.
pub trait Sink<B> {
    /// So many rows may come.
    fn reserve(&mut self, rows: usize);
    /// Appends a row.
    fn push(&mut self, key: B, row: B);
}

impl<B> Sink<B> for Batch<B> {
    #[inline]
    fn reserve(&mut self, rows: usize) {
        self.rows.reserve(rows);
    }

    #[inline]
    fn push(&mut self, key: B, row: B) {
        self.rows.push((key, row));
    }
}

/// Point reads of one structure that are asked for together.
pub trait Points<B> {
    /// One of them.
    type Point<'p>: Point<B>
    where
        Self: 'p;

    /// How many there are.
    fn count(&self) -> usize;
    /// All of them, in the order in which they are asked for.
    fn iter(&mut self) -> impl Iterator<Item = Self::Point<'_>>;
}

/// One read among [`Points`]: its key, and where its row goes. One that has no row is dropped.
pub trait Point<B> {
    /// The key; empty where nothing can be found.
    fn key(&self) -> &[u8];
    /// The same key, where its bytes are lent like those of a row.
    fn lent(&self) -> Option<B>;
    /// Takes the row.
    fn found(self, key: B, row: B);
}

/// What a fill gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fill {
    /// At least one row was appended; there may be more.
    Rows,
    /// Nothing yet: wait for the store, then call again. The embedded store never says this.
    Wait,
    /// No more rows (none was appended).
    End,
}

/// One read of one structure, in encoded keys.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Read {
    /// Structure.
    pub structure: StructureId,
    /// Which keys.
    pub keys: Keys,
    /// From the last key to the first.
    pub reverse: bool,
    /// No more rows than this will be taken, where known.
    pub limit: Option<usize>,
}

/// Which keys are read.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Keys {
    /// One key.
    Point(Vec<u8>),
    /// All keys that begin with these bytes.
    Prefix(Vec<u8>),
    /// From `lower` (included) to `upper` (excluded; none: to the end).
    Range {
        /// Lower bound.
        lower: Vec<u8>,
        /// Upper bound.
        upper: Option<Vec<u8>>,
    },
}

/// An open read.
pub trait Source<B> {
    /// Appends up to `want` rows to `out`.
    fn fill(&mut self, want: usize, out: &mut impl Sink<B>) -> Result<Fill, StoreError>;
}

/// A consistent view of a store, as far as the store can give one.
pub trait Reader {
    /// Bytes.
    type B: Buf;
    /// An open read.
    type S: Source<Self::B>;
    /// How many reads may be in flight: the back-pressure. 1 in process.
    const AHEAD: usize;
    /// Whether [`Reader::get`] never says *wait*, so that [`Reader::points`] can be asked.
    const AT_ONCE: bool = false;
    /// Opens a read. Queues it where the store is remote; never blocks.
    fn open(&self, read: &Read) -> Result<Self::S, StoreError>;
    /// Appends the row of a read of one key, without a source where the store needs none.
    fn get(&self, read: &Read, out: &mut impl Sink<Self::B>) -> Result<Fill, StoreError> {
        self.open(read)?.fill(1, out)
    }
    /// Reads several keys of one structure, where the store never waits for one.
    fn points(
        &self,
        structure: StructureId,
        points: &mut impl Points<Self::B>,
    ) -> Result<(), StoreError> {
        let mut batch = Batch::default();
        for point in points.iter().filter(|point| !point.key().is_empty()) {
            let read = Read {
                structure,
                keys: Keys::Point(point.key().to_vec()),
                reverse: false,
                limit: None,
            };
            self.get(&read, &mut batch)?;
            if let Some((key, row)) = batch.rows.pop() {
                point.found(key, row);
            }
        }
        Ok(())
    }
}

/// The largest key in bytes: LMDB's, with pages of 4 KiB. The store in memory keeps to it too.
pub const MAX_KEY: usize = 1982;
/// The entry of the meta record that holds the model's text.
pub const META_MODEL: &str = "model";
/// The entry of the meta record that holds the design as JSON.
pub const META_DESIGN: &str = "design";

/// A store in process: snapshots to read from, changes applied whole or not at all.
///
/// Structures are numbered by their position in the design with which the store was created.
pub trait Store: Send + Sync + 'static {
    /// A state of the store that stays as it is while it is held.
    type Snapshot: 'static;
    /// A view of a snapshot, or of a change that is being decided.
    type Reader<'t>: Reader;

    /// The state as of the last acknowledged change (or a later one).
    fn snapshot(&self) -> Result<Self::Snapshot, StoreError>;

    /// Reads from a snapshot.
    fn reader(snapshot: &Self::Snapshot) -> Self::Reader<'_>;

    /// Queues a change. The job reads what it must and returns all that it writes, or refuses; it
    /// sees every change queued before it. It may run again if the changes that it was grouped with
    /// had to be undone, so it must decide by what it reads alone.
    fn submit<T, E, F>(&self, job: F) -> Ticket<T, E>
    where
        T: Send + 'static,
        E: Send + 'static,
        F: for<'t> FnMut(&Self::Reader<'t>) -> Result<(WriteSet, T), E> + Send + 'static;

    /// Applies a change; returns when it is durable, or nothing of it was applied.
    fn change<T, E, F>(&self, job: F) -> Result<T, ChangeError<E>>
    where
        T: Send + 'static,
        E: Send + 'static,
        F: for<'t> FnMut(&Self::Reader<'t>) -> Result<(WriteSet, T), E> + Send + 'static,
    {
        self.submit(job).wait()
    }

    /// An entry of the meta record.
    fn meta(&self, name: &str) -> Result<Option<Vec<u8>>, StoreError>;

    /// Sets an entry of the meta record, durably.
    fn put_meta(&self, name: &str, value: &[u8]) -> Result<(), StoreError>;

    /// Fills an empty structure with rows sorted by key, and tells how many there were. Not atomic:
    /// a load that must be all or nothing fills a fresh store and puts it in place when complete.
    fn load(
        &self,
        structure: StructureId,
        rows: &mut dyn Iterator<Item = Result<(Vec<u8>, Vec<u8>), StoreError>>,
    ) -> Result<u64, StoreError>;
}
