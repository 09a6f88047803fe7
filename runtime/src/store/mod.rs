//! The boundary to stores (see `docs/decisions/`).
//!
//! Pull, not push; batches of borrowed rows, not owned ones; and a source that may say *wait*, so
//! that the same operators run over an engine in process and over a cluster, without async in
//! either.

mod write_set;

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
    fn fill(&mut self, want: usize, out: &mut Batch<B>) -> Result<Fill, StoreError>;
}

/// A consistent view of a store, as far as the store can give one.
pub trait Reader {
    /// Bytes.
    type B: Buf;
    /// An open read.
    type S: Source<Self::B>;
    /// How many reads may be in flight: the back-pressure. 1 in process.
    const AHEAD: usize;
    /// Opens a read. Queues it where the store is remote; never blocks.
    fn open(&self, read: &Read) -> Result<Self::S, StoreError>;
}

/// What may go wrong in a store.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The engine failed; the text is its own.
    #[error("the store failed: {0}")]
    Engine(String),
    /// The disk or the map is full.
    #[error("the store is full: {0}")]
    Full(String),
    /// What was found is not what this version writes.
    #[error("the database at {path} cannot be opened: found {found}, expected {expected}")]
    Format {
        /// Folder.
        path: String,
        /// Found.
        found: String,
        /// Expected.
        expected: String,
    },
    /// A stored row cannot be read as its structure says.
    #[error("a damaged row in {structure}: {why}")]
    Damaged {
        /// Structure.
        structure: String,
        /// Reason.
        why: String,
    },
    /// IO around the engine.
    #[error("{what}: {source}")]
    Io {
        /// What was being done.
        what: String,
        /// Cause.
        source: std::io::Error,
    },
}
