//! Every structure of the fresh database is written from the facts of a load, in key order.

use super::bulk::{Load, Progress};
use super::facts::{LoadFacts, decode};
use crate::recompute::{Collector, Expected, ReferrerSorter};
use crate::schema::Schema;
use crate::store::lmdb::{Building, Lmdb};
use crate::store::{META_DESIGN, META_MODEL, Store};
use crate::verify::{Numbers, StoredRows, sequence_layout};
use crate::{Database, Error};
use querent_compiler::design::StructureId;
use querent_compiler::view::facts::key_of_row;

impl Load<'_> {
    /// Writes every structure of the fresh database and puts it in place.
    pub(super) fn write(&mut self, database: Database<Lmdb>, facts: &Lmdb) -> Result<Lmdb, Error> {
        let schema = self.schema;
        let old = database.into_store();
        let mut meta = Vec::new();
        for name in [META_MODEL, META_DESIGN] {
            meta.push((name, old.meta(name)?.unwrap_or_default()));
        }
        let meta: Vec<(&str, &[u8])> = meta
            .iter()
            .map(|(name, value)| (*name, value.as_slice()))
            .collect();
        let snapshot = facts.snapshot()?;
        let share = self.options.memory / 2;
        let mut referrers = ReferrerSorter::new(schema, &self.folder, share);
        let mut numbers = Numbers::new(&self.folder, share / 4);
        let known = LoadFacts::new(schema, &self.keys, &snapshot, None);
        for root in schema.model.roots() {
            let mut rows = known.all(root)?;
            while let Some((_, bytes)) = rows.next()? {
                let row = decode(bytes)?.1;
                referrers.add(schema, root, &key_of_row(&schema.model, root, &row), &row)?;
                numbers.add(schema, root, &row)?;
            }
        }
        add_counters(schema, &old, &mut numbers)?;
        let referrers = referrers.finish(&self.folder)?;
        let building = Building::replace(old, &schema.structure_names(), &meta)?;
        let of = schema.design.structures.len();
        for (id, structure) in schema.design.structures.iter().enumerate() {
            (self.progress)(Progress::Writing {
                structure: structure.name.clone(),
                number: id + 1,
                of,
            });
            let root = schema.model.entity(structure.anchor).root;
            let known = LoadFacts::new(schema, &self.keys, &snapshot, Some(&referrers));
            let mut collector =
                Collector::new(schema, id as StructureId, &self.folder, self.options.memory)?;
            let mut rows = known.all(root)?;
            while let Some((_, bytes)) = rows.next()? {
                let row = decode(bytes)?.1;
                let key = key_of_row(&schema.model, root, &row);
                known.remember(root, &key, row);
                collector.add(&known, &key)?;
            }
            fill(&building, id as StructureId, collector.finish()?)?;
        }
        let mut largest = numbers.finish()?;
        let mut failed = None;
        let mut rows = std::iter::from_fn(|| match largest.next() {
            Ok(counter) => counter
                .zip(sequence_layout(schema))
                .map(|(counter, layout)| Ok(counter.pair(layout))),
            Err(error) => {
                failed = Some(error);
                None
            }
        });
        building.load(schema.sequences(), &mut rows)?;
        if let Some(error) = failed {
            return Err(error);
        }
        (self.progress)(Progress::Finishing);
        Ok(building.finish()?)
    }
}

fn fill(building: &Building, id: StructureId, mut expected: Expected<'_>) -> Result<(), Error> {
    let mut failed = None;
    let mut rows = std::iter::from_fn(|| match expected.next() {
        Ok(pair) => pair.map(Ok),
        Err(error) => {
            failed = Some(error);
            None
        }
    });
    building.load(id, &mut rows)?;
    failed.map_or(Ok(()), Err)
}

/// Counters of the old database go on where they were.
fn add_counters(schema: &Schema, old: &Lmdb, numbers: &mut Numbers) -> Result<(), Error> {
    let snapshot = old.snapshot()?;
    let mut rows = StoredRows::new(&snapshot.reader(), schema.sequences())?;
    while let Some((key, row)) = rows.next()? {
        numbers.add_counter(schema, key, row)?;
    }
    Ok(())
}
