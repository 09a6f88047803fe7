//! Verify: every structure is recomputed from the homes and compared, row by row, in bounded
//! memory. Repair puts and deletes rows until nothing differs.
//!
//! The home is the authority. What it says of an instance is checked by itself (can it be read, do
//! its references lead somewhere, are unique values unique, do sequences go on behind the numbers
//! given, has each row the number of its sub-partition); everything else is compared with what follows from it. Referrers are taken from an index
//! made of the homes, so that damage in one structure is not carried into another.

mod facts;
mod finding;
mod homes;
mod popular_key;
mod repair;
mod rows;
mod sequences;
mod structures;

pub use finding::{Difference, Finding, FindingKind};
pub(crate) use homes::{concrete, references, slot_name, unique_key, unique_values};
pub use repair::Repaired;
pub(crate) use rows::StoredRows;
pub(crate) use sequences::{Counter, Numbers, layout as sequence_layout};

use crate::facts::FactError;
use crate::recompute::ReferrerSorter;
use crate::store::{Store, StoreError};
use crate::{Database, Error};
use facts::Damage;
use finding::Namer;
use querent_compiler::design::StructureId;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// How much is remembered of what was read before it is forgotten again.
pub(crate) const ANCHORS_PER_MEMORY: usize = 1000;

/// How a database is verified.
#[derive(Clone, Debug)]
pub struct VerifyOptions {
    /// Bytes of memory for sorting; what is beyond goes to disk.
    pub memory: usize,
    /// Where files are put meanwhile; the system's folder for such by default.
    pub folder: Option<PathBuf>,
    /// So many findings are kept in the report; all are counted.
    pub keep: usize,
}

impl Default for VerifyOptions {
    fn default() -> Self {
        VerifyOptions {
            memory: 64 << 20,
            folder: None,
            keep: 10_000,
        }
    }
}

/// What verify found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// Rows compared.
    pub rows: u64,
    /// Structures compared.
    pub structures: usize,
    /// How many findings there are of each kind.
    pub counts: BTreeMap<FindingKind, u64>,
    /// The first of them.
    pub findings: Vec<Finding>,
}

impl Report {
    /// Nothing is wrong.
    pub fn is_clean(&self) -> bool {
        self.counts.is_empty()
    }

    /// How many findings there are, kept or not.
    pub fn total(&self) -> u64 {
        self.counts.values().sum()
    }

    fn note(&mut self, finding: &Finding, keep: usize) {
        *self.counts.entry(finding.kind).or_default() += 1;
        if self.findings.len() < keep {
            self.findings.push(finding.clone());
        }
    }
}

/// A finding, and the write that mends it.
struct Found {
    finding: Finding,
    mend: Option<Mend>,
}

/// A row as it was found and as it should be.
struct Mend {
    structure: StructureId,
    key: Vec<u8>,
    found: Option<Vec<u8>>,
    row: Option<Vec<u8>>,
}

/// Takes findings as they are made.
type Each<'e> = &'e mut dyn FnMut(Found) -> Result<(), Error>;

impl<S: Store> Database<S> {
    /// Recomputes every structure from the homes and names each row that is missing, stale or a
    /// ghost, and each fact that is against the model.
    pub fn verify(&self, options: &VerifyOptions) -> Result<Report, Error> {
        self.verify_each(options, &mut |_| {})
    }

    /// The same; each finding is also handed out as it is made.
    pub fn verify_each(
        &self,
        options: &VerifyOptions,
        each: &mut dyn FnMut(&Finding),
    ) -> Result<Report, Error> {
        let mut report = Report::default();
        let (rows, structures) = examine(self, options, &mut |found| {
            each(&found.finding);
            report.note(&found.finding, options.keep);
            Ok(())
        })?;
        (report.rows, report.structures) = (rows, structures);
        Ok(report)
    }
}

/// Looks at everything. Gives the number of rows and structures compared.
fn examine<S: Store>(
    database: &Database<S>,
    options: &VerifyOptions,
    each: Each<'_>,
) -> Result<(u64, usize), Error> {
    let schema = &**database.schema();
    let parent = options.folder.clone().unwrap_or_else(std::env::temp_dir);
    let folder = tempfile::Builder::new()
        .prefix("verify-")
        .tempdir_in(&parent)
        .map_err(|source| StoreError::Io {
            what: format!("making a folder in {}", parent.display()),
            source,
        })?;
    let snapshot = database.store().snapshot()?;
    let reader = S::reader(&snapshot);
    let mut damage = Damage::default();
    // Three sorters are open at once while the homes are read.
    let memory = options.memory / 3;
    let mut referrers = ReferrerSorter::new(schema, folder.path(), memory);
    homes::examine(
        schema,
        &reader,
        folder.path(),
        memory,
        &mut referrers,
        &mut damage,
        each,
    )?;
    let referrers = referrers.finish(folder.path())?;
    let audit = structures::Audit {
        schema,
        reader: &reader,
        damage: &damage,
        referrers: &referrers,
        folder: folder.path(),
        memory: options.memory,
    };
    let mut rows = 0;
    for id in 0..schema.design.structures.len() {
        rows += audit.structure(id as StructureId, each)?;
    }
    Ok((rows, schema.design.structures.len()))
}

/// Whether an error says that a stored row cannot be read, rather than that reading failed.
fn is_damage(error: &Error) -> bool {
    matches!(
        error,
        Error::Facts(FactError::Row { .. } | FactError::Key { .. })
    )
}
