//! Popular keys: the rows of a load are given their sub-partitions, as inserts would be.
//!
//! Sorted by what they share, the rows of one key follow one another, those that have a number
//! first: what is counted at a time is one key.

use super::Sorter;
use super::bulk::Load;
use super::facts::{KeyLayouts, LoadFacts, decode, encode};
use crate::Error;
use crate::change::Totals;
use crate::row::encode_values;
use crate::store::lmdb::{self, Lmdb};
use crate::store::{ChangeError, Phase, Store, StoreError, WriteSet};
use querent_compiler::design::StructureId;
use querent_compiler::model::{EntityId, Split};
use querent_compiler::value::Value;

/// Rows are numbered in changes of so many.
const BATCH: usize = 1000;

impl Load<'_> {
    /// Numbers the rows that have no sub-partition yet.
    pub(super) fn number_popular_keys(&mut self, facts: &Lmdb) -> Result<(), Error> {
        let model = &self.schema.model;
        for root in model.roots() {
            for (slot, split) in model.splits_of(root) {
                let numbers = self.numbers(facts, root, slot, split)?;
                self.set_numbers(facts, root, slot, numbers)?;
            }
        }
        Ok(())
    }

    /// By place of the row: its number.
    fn numbers(
        &self,
        facts: &Lmdb,
        root: EntityId,
        slot: usize,
        split: &Split,
    ) -> Result<Sorter, Error> {
        let model = &self.schema.model;
        let share = self.options.memory / 2;
        let mut sorter = Sorter::new(&self.folder, share);
        let snapshot = facts.snapshot()?;
        let known = LoadFacts::new(self.schema, &self.keys, &snapshot, None);
        let mut rows = known.all(root)?;
        while let Some((place, bytes)) = rows.next()? {
            let row = decode(bytes)?.1;
            let mut shared = Vec::new();
            encode_values(&split.shared(model, &row), &mut shared);
            let mut entry = (shared.len() as u32).to_be_bytes().to_vec();
            entry.extend(shared);
            let number = match row.get(slot) {
                Some(Value::Int(number)) => number.to_be_bytes().to_vec(),
                _ => vec![],
            };
            entry.push(u8::from(number.is_empty()));
            entry.extend(place);
            sorter.push(&entry, &number)?;
        }
        let mut sorted = sorter.finish()?;
        let mut numbers = Sorter::new(&self.folder, share);
        let mut current: Option<(Vec<u8>, Totals)> = None;
        while let Some((entry, number)) = sorted.next()? {
            let (width, rest) = entry.split_first_chunk().unwrap_or((&[0; 4], &[]));
            let width = u32::from_be_bytes(*width) as usize;
            let (shared, rest) = rest.split_at_checked(width).unwrap_or((rest, &[]));
            let place = rest.get(1..).unwrap_or_default();
            let totals = match &mut current {
                Some((of, totals)) if of == shared => totals,
                other => &mut other.insert((shared.to_vec(), Totals::default())).1,
            };
            match number.first_chunk() {
                Some(number) => totals.count(i64::from_be_bytes(*number), 1),
                None => numbers.push(place, &totals.take(split.capacity).to_be_bytes())?,
            }
        }
        Ok(numbers)
    }

    fn set_numbers(
        &self,
        facts: &Lmdb,
        root: EntityId,
        slot: usize,
        numbers: Sorter,
    ) -> Result<(), Error> {
        let structure = KeyLayouts::new(&self.schema.model).structure(root);
        let snapshot = facts.snapshot()?;
        let reader = snapshot.reader();
        let mut numbers = numbers.finish()?;
        let mut batch = Vec::new();
        while let Some((place, number)) = numbers.next()? {
            let Some(bytes) = reader.row(structure, place)? else {
                continue;
            };
            let (origin, mut row) = decode(bytes)?;
            let number = number.first_chunk().map_or(0, |n| i64::from_be_bytes(*n));
            if let Some(value) = row.get_mut(slot) {
                *value = Value::Int(number);
            }
            batch.push((place.to_vec(), encode(origin, &row)));
            if batch.len() == BATCH {
                put(facts, structure, std::mem::take(&mut batch))?;
            }
        }
        put(facts, structure, batch)
    }
}

fn put(facts: &Lmdb, structure: StructureId, rows: Vec<(Vec<u8>, Vec<u8>)>) -> Result<(), Error> {
    let job = move |_: &lmdb::LmdbReader<'_>| -> Result<_, StoreError> {
        let mut writes = WriteSet::new();
        for (place, row) in &rows {
            writes.put(Phase::Homes, structure, place.clone(), row.clone());
        }
        Ok((writes, ()))
    };
    facts.change(job).map_err(|error| match error {
        ChangeError::Refused(error) | ChangeError::Store(error) => error,
    })?;
    Ok(())
}
