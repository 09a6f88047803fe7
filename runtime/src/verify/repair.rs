//! Repair: rows are put and deleted until nothing differs that can be mended.

use super::{Finding, Found, Mend, Report, VerifyOptions, examine};
use crate::store::{Keys, Phase, Read, Reader, Source, Store, StoreError, WriteSet};
use crate::{Database, Error};
use serde::Serialize;

/// Rows of one mending change.
const BATCH_ROWS: usize = 1000;
/// Bytes of one mending change, about.
const BATCH_BYTES: usize = 4 << 20;
/// A change made meanwhile may leave something for the next round.
const ROUNDS: usize = 4;

/// What repair did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Repaired {
    /// What was wrong at the start.
    pub before: Report,
    /// Rows put.
    pub put: u64,
    /// Rows deleted.
    pub deleted: u64,
    /// What is wrong still.
    pub after: Report,
}

impl<S: Store> Database<S> {
    /// Verifies, mends every row that follows from the homes, and verifies again. What cannot be
    /// mended is named in the second report with what to do.
    pub fn repair(
        &self,
        options: &VerifyOptions,
        each: &mut dyn FnMut(&Finding),
    ) -> Result<Repaired, Error> {
        let mut repaired = Repaired::default();
        for round in 0..ROUNDS {
            let mut report = Report::default();
            let mut batch = Batch::default();
            let (mut put, mut deleted) = (0, 0);
            let (rows, structures) = examine(self, options, &mut |found: Found| {
                if round == 0 {
                    each(&found.finding);
                }
                report.note(&found.finding, options.keep);
                if let Some(mend) = found.mend {
                    batch.add(mend);
                    if batch.is_full() {
                        let (p, d) = batch.apply(self)?;
                        (put, deleted) = (put + p, deleted + d);
                    }
                }
                Ok(())
            })?;
            let mends = batch.seen;
            let (p, d) = batch.apply(self)?;
            repaired.put += put + p;
            repaired.deleted += deleted + d;
            (report.rows, report.structures) = (rows, structures);
            if round == 0 {
                repaired.before = report.clone();
            }
            repaired.after = report;
            if mends == 0 {
                break;
            }
        }
        Ok(repaired)
    }
}

#[derive(Default)]
struct Batch {
    mends: Vec<Mend>,
    bytes: usize,
    seen: u64,
}

impl Batch {
    fn add(&mut self, mend: Mend) {
        self.bytes += mend.key.len() + mend.row.as_ref().map_or(0, Vec::len);
        self.seen += 1;
        self.mends.push(mend);
    }

    fn is_full(&self) -> bool {
        self.mends.len() >= BATCH_ROWS || self.bytes >= BATCH_BYTES
    }

    /// Writes the batch; gives how many rows were put and deleted. A row that is no longer as it
    /// was found is left alone: a change was there meanwhile, and the next round looks at it again.
    fn apply<S: Store>(&mut self, database: &Database<S>) -> Result<(u64, u64), Error> {
        let mends = std::mem::take(&mut self.mends);
        self.bytes = 0;
        if mends.is_empty() {
            return Ok((0, 0));
        }
        let job = move |reader: &S::Reader<'_>| -> Result<_, StoreError> {
            let mut writes = WriteSet::new();
            let (mut put, mut deleted) = (0, 0);
            for mend in &mends {
                if stored(reader, mend)? != mend.found {
                    continue;
                }
                if let Some(row) = &mend.row {
                    put += 1;
                    writes.put(Phase::Copies, mend.structure, mend.key.clone(), row.clone());
                } else {
                    deleted += 1;
                    writes.delete(Phase::Copies, mend.structure, mend.key.clone());
                }
            }
            Ok((writes, (put, deleted)))
        };
        database.store().change(job).map_err(|error| match error {
            crate::store::ChangeError::Refused(error) | crate::store::ChangeError::Store(error) => {
                Error::Store(error)
            }
        })
    }
}

fn stored<R: Reader>(reader: &R, mend: &Mend) -> Result<Option<Vec<u8>>, StoreError> {
    let read = Read {
        structure: mend.structure,
        keys: Keys::Point(mend.key.clone()),
        reverse: false,
        limit: Some(1),
    };
    let mut batch = crate::store::Batch::default();
    reader.open(&read)?.fill(1, &mut batch)?;
    Ok(batch.rows.pop().map(|(_, row)| row.to_vec()))
}
