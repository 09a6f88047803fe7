//! What may go wrong in a store.

use querent_compiler::design::StructureId;

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
    /// A commit could not be synced, so nothing is known about the disk any more.
    #[error("the store refuses writes since a commit failed ({0}); close and open it again")]
    Poisoned(String),
    /// The store was opened for reading.
    #[error("the database at {path} is open for reading only; open it for writing to change it")]
    ReadOnly {
        /// Folder.
        path: String,
    },
    /// Another process writes.
    #[error(
        "the database at {path} is in use by {by}; close it there{}",
        if *reading { "" } else { ", or open it here for reading only" }
    )]
    Locked {
        /// Folder.
        path: String,
        /// Who holds it.
        by: &'static str,
        /// The attempt was to read.
        reading: bool,
    },
    /// There is no database.
    #[error("there is no database at {path}: {why}")]
    Missing {
        /// Folder.
        path: String,
        /// What is missing.
        why: String,
    },
    /// There is something already.
    #[error("{path} exists and is not empty; choose another folder, or remove it first")]
    Exists {
        /// Folder.
        path: String,
    },
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
    /// A key that the engine cannot hold.
    #[error(
        "a key of {length} bytes in structure {structure}, where 1 to {max} are possible; \
         bound the texts in its key (text(20, max 200))"
    )]
    KeyLength {
        /// Structure.
        structure: StructureId,
        /// Bytes.
        length: usize,
        /// Limit.
        max: usize,
    },
    /// A structure that the store does not have.
    #[error("structure {structure} was asked of a store of {structures} structures")]
    NoStructure {
        /// Asked.
        structure: StructureId,
        /// How many there are.
        structures: usize,
    },
    /// More structures than are kept apart.
    #[error("{found} structures, where a database has {max} at most")]
    TooManyStructures {
        /// Found.
        found: usize,
        /// Limit.
        max: usize,
    },
    /// A load that cannot be appended.
    #[error("structure {structure} cannot be loaded: {why}")]
    Load {
        /// Structure.
        structure: StructureId,
        /// Reason.
        why: &'static str,
    },
    /// An entry of the meta record that the store keeps for itself.
    #[error("the meta entry {0} is the store's own and cannot be set")]
    ReservedMeta(String),
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

impl StoreError {
    /// The same failure for another change of the same batch.
    pub(crate) fn again(&self) -> StoreError {
        match self {
            StoreError::Full(why) => StoreError::Full(why.clone()),
            StoreError::Poisoned(why) => StoreError::Poisoned(why.clone()),
            StoreError::ReadOnly { path } => StoreError::ReadOnly { path: path.clone() },
            other => StoreError::Engine(other.to_string()),
        }
    }
}
