//! Who refers to whom, on disk: an index that depends on no structure of the design.

use crate::Error;
use crate::facts::FactError;
use crate::load::{SortError, Sorter};
use crate::row::{decode_values, encode_values};
use crate::schema::Schema;
use crate::store::lmdb::{self, Lmdb, LmdbReader, LmdbSnapshot};
use crate::store::{Batch, Fill, Keys, Read, Reader, Source, Store};
use querent_compiler::model::{EntityId, Field, ReferenceId};
use querent_compiler::value::Value;
use querent_compiler::view::facts::Key;
use querent_compiler::view::reads::Reads;
use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;

/// The references that some structure walks from the target to those that refer to it.
fn walked_back(schema: &Schema) -> BTreeSet<ReferenceId> {
    let reads = schema.reads.iter();
    reads.flat_map(Reads::walked_back).collect()
}

/// Collects the references of fact rows.
///
/// ```text
/// key: reference (u32 BE) | hash of the target's key (u64 BE) | number of the entry (u64 BE)
/// row: the target's key, the referrer's key
/// ```
/// The keys have a fixed length, because two keys of instances together may be longer than the
/// store allows.
pub(crate) struct ReferrerSorter {
    wanted: BTreeSet<ReferenceId>,
    sorter: Sorter,
    entries: u64,
}

impl ReferrerSorter {
    pub(crate) fn new(schema: &Schema, folder: &Path, memory: usize) -> Self {
        ReferrerSorter {
            wanted: walked_back(schema),
            sorter: Sorter::new(folder, memory),
            entries: 0,
        }
    }

    /// Adds the references of one fact row.
    pub(crate) fn add(
        &mut self,
        schema: &Schema,
        root: EntityId,
        key: &[Value],
        row: &[Value],
    ) -> Result<(), SortError> {
        for (field, value) in schema.model.root(root).fields.iter().zip(row) {
            let (Field::Reference(reference), Value::Key(target)) = (field, value) else {
                continue;
            };
            if !self.wanted.contains(reference) {
                continue;
            }
            let mut place = prefix(*reference, target).to_vec();
            place.extend(self.entries.to_be_bytes());
            self.entries += 1;
            let mut entry = Vec::new();
            encode_values(
                &[Value::Key(target.clone()), Value::Key(key.to_vec())],
                &mut entry,
            );
            self.sorter.push(&place, &entry)?;
        }
        Ok(())
    }

    /// Writes the index into a folder of its own within the folder given.
    pub(crate) fn finish(self, folder: &Path) -> Result<ReferrerIndex, Error> {
        let options = lmdb::Options {
            sync: false,
            ..lmdb::Options::default()
        };
        let store = Lmdb::create(
            folder.join("referrers"),
            &["referrers".into()],
            &[],
            options,
        )?;
        let mut sorted = self.sorter.finish()?;
        let mut failed = None;
        let mut rows = std::iter::from_fn(|| match sorted.next() {
            Ok(pair) => pair.map(|(key, row)| Ok((key.to_vec(), row.to_vec()))),
            Err(error) => {
                failed = Some(error);
                None
            }
        });
        store.load(0, &mut rows)?;
        if let Some(error) = failed {
            return Err(error.into());
        }
        let snapshot = store.snapshot()?;
        Ok(ReferrerIndex {
            snapshot,
            _store: store,
        })
    }
}

/// The finished index.
pub(crate) struct ReferrerIndex {
    snapshot: LmdbSnapshot,
    /// Kept open for the snapshot's sake.
    _store: Lmdb,
}

impl ReferrerIndex {
    /// The keys of those that refer to the target, sorted.
    pub(crate) fn of(
        &self,
        reference: ReferenceId,
        target: &[Value],
    ) -> Result<Vec<Key>, FactError> {
        let damaged = |source| FactError::Row {
            structure: "the referrers".into(),
            source,
        };
        let lower = prefix(reference, target).to_vec();
        let upper = crate::key::successor(&lower);
        let reader: LmdbReader<'_> = self.snapshot.reader();
        let read = Read {
            structure: 0,
            keys: Keys::Range { lower, upper },
            reverse: false,
            limit: None,
        };
        let mut source = reader.open(&read)?;
        let mut batch = Batch::default();
        let mut found = Vec::new();
        while source.fill(256, &mut batch)? == Fill::Rows {
            for (_, row) in batch.rows.drain(..) {
                let mut pair = decode_values(row).map_err(damaged)?.into_iter();
                if let (Some(Value::Key(of)), Some(Value::Key(referrer))) =
                    (pair.next(), pair.next())
                    && of == target
                {
                    found.push(referrer);
                }
            }
        }
        found.sort();
        Ok(found)
    }
}

fn prefix(reference: ReferenceId, target: &[Value]) -> [u8; 12] {
    // Written and read by one process, so that the hash need not stay the same between versions.
    let mut hasher = DefaultHasher::new();
    target.hash(&mut hasher);
    let mut out = [0; 12];
    for (to, from) in out.iter_mut().zip(
        reference
            .0
            .to_be_bytes()
            .into_iter()
            .chain(hasher.finish().to_be_bytes()),
    ) {
        *to = from;
    }
    out
}
