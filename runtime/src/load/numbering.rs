//! Rows without their numbers: the database assigns them, as an insert would.
//!
//! Numbers go on behind the largest of each counter, which is known when everything was read. So
//! rows wait on disk, and two sorted streams meet: what each counter gave, and who waits for it.

use super::Sorter;
use super::bulk::{Load, Sorters};
use super::facts::{Origin, decode, encode};
use crate::Error;
use crate::change::sequence_counter;
use crate::facts::FactError;
use crate::schema::Schema;
use crate::verify::{Numbers, sequence_layout, slot_name};
use querent_compiler::model::EntityId;
use querent_compiler::value::Value;
use querent_compiler::view::facts::key_of_row;
use std::collections::BTreeSet;
use std::path::Path;

/// Bytes that name a row: root, file, line.
const ROW: usize = 16;

/// Rows that wait for numbers, and what is known of those given.
pub(super) struct Waiting {
    /// By row: the row.
    rows: Sorter,
    /// By counter and row: row and slot.
    wanted: Sorter,
    given: Numbers,
    /// Roots that have numbered attributes.
    numbered: BTreeSet<EntityId>,
    any: bool,
}

impl Waiting {
    pub(super) fn new(schema: &Schema, folder: &Path, memory: usize) -> Waiting {
        let share = memory / 3;
        let roots = schema.model.roots();
        Waiting {
            rows: Sorter::new(folder, share),
            wanted: Sorter::new(folder, share),
            given: Numbers::new(folder, share),
            numbered: roots
                .filter(|&root| !schema.sequence_slots(root).is_empty())
                .collect(),
            any: false,
        }
    }

    /// Remembers the numbers of a row.
    pub(super) fn note(
        &mut self,
        schema: &Schema,
        root: EntityId,
        row: &[Value],
    ) -> Result<(), Error> {
        if self.numbered.contains(&root) {
            self.given.add(schema, root, row)?;
        }
        Ok(())
    }

    /// Remembers a counter of the database.
    pub(super) fn note_counter(
        &mut self,
        schema: &Schema,
        key: &[u8],
        row: &[u8],
    ) -> Result<(), Error> {
        self.given.add_counter(schema, key, row)
    }

    /// Lets a row wait where a number is missing; otherwise gives false.
    pub(super) fn take(
        &mut self,
        schema: &Schema,
        root: EntityId,
        (file, line): (u32, u64),
        row: &[Value],
    ) -> Result<bool, Error> {
        if !self.numbered.contains(&root) {
            return Ok(false);
        }
        let missing = schema.missing_numbers(root, row);
        let (Some(layout), false) = (sequence_layout(schema), missing.is_empty()) else {
            return Ok(false);
        };
        let mut name = root.0.to_be_bytes().to_vec();
        name.extend(file.to_be_bytes());
        name.extend(line.to_be_bytes());
        for (slot, sequence) in missing {
            let counter = sequence_counter(schema, root, slot, &sequence, row);
            let mut place = layout
                .encode_key(&counter)
                .map_err(|source| FactError::Key {
                    structure: "_sequences".into(),
                    source,
                })?;
            let mut entry = (place.len() as u32).to_be_bytes().to_vec();
            entry.extend(&name);
            entry.extend((slot as u32).to_be_bytes());
            place.extend(&name);
            self.wanted.push(&place, &entry)?;
        }
        self.rows
            .push(&name, &encode(Origin::File(file, line), row))?;
        self.any = true;
        Ok(true)
    }
}

impl Load<'_> {
    /// Numbers the rows that wait and lets them join the others.
    pub(super) fn number(&mut self, waiting: Waiting, sorters: &mut Sorters) -> Result<(), Error> {
        if !waiting.any {
            return Ok(());
        }
        let mut assigned = assign(waiting.wanted, waiting.given, &self.folder)?.finish()?;
        let mut rows = waiting.rows.finish()?;
        let mut next = assigned.next()?.map(owned);
        while let Some((name, bytes)) = rows.next()? {
            let (origin, mut row) = decode(bytes)?;
            let root = EntityId(name.first_chunk().map_or(0, |b| u32::from_be_bytes(*b)));
            let mut refused = None;
            while let Some((at, number)) = next.take_if(|(at, _)| at.starts_with(name)) {
                next = assigned.next()?.map(owned);
                let slot = at.get(ROW..).and_then(<[u8]>::first_chunk);
                let slot = slot.map_or(0, |b| u32::from_be_bytes(*b)) as usize;
                let number = number.first_chunk().map_or(0, |b| i64::from_be_bytes(*b));
                if self.schema.has_number(root, slot, number) {
                    if let Some(value) = row.get_mut(slot) {
                        *value = Value::Int(number);
                    }
                } else {
                    let model = &self.schema.model;
                    let (entity, field) = (&model.entity(root).name, slot_name(model, root, slot));
                    let reason = format!("{entity}.{field}: the sequence has run out of numbers");
                    refused = Some(reason);
                }
            }
            let key = key_of_row(&self.schema.model, root, &row);
            let place = match refused {
                None => self.keys.encode(root, &key),
                Some(reason) => Err(reason),
            };
            match (place, sorters.iter_mut().find(|(r, _)| *r == root)) {
                (Ok(place), Some((_, sorter))) => sorter.push(&place, &encode(origin, &row))?,
                (Err(reason), _) => self.reject_at(origin, &reason)?,
                (Ok(_), None) => {}
            }
        }
        Ok(())
    }
}

/// By row and slot: the number. Within a counter, in the order of files and lines.
fn assign(wanted: Sorter, given: Numbers, folder: &Path) -> Result<Sorter, Error> {
    let mut assigned = Sorter::new(folder, 16 << 20);
    let mut largest = given.finish()?;
    let mut known = largest.next()?;
    let mut wanted = wanted.finish()?;
    let mut counter: Option<(Vec<u8>, i64)> = None;
    while let Some((place, entry)) = wanted.next()? {
        let (width, at) = entry.split_first_chunk().unwrap_or((&[0; 4], &[]));
        let key = place.get(..u32::from_be_bytes(*width) as usize);
        let key = key.unwrap_or_default();
        let last = match &counter {
            Some((of, last)) if of == key => *last,
            _ => {
                while known.as_ref().is_some_and(|c| c.key() < key) {
                    known = largest.next()?;
                }
                known
                    .as_ref()
                    .filter(|c| c.key() == key)
                    .map_or(0, crate::verify::Counter::given)
            }
        };
        // What does not fit its attribute is refused there; one above all numbers never fits.
        let number = last.saturating_add(1);
        assigned.push(at, &number.to_be_bytes())?;
        counter = Some((key.to_vec(), number));
    }
    Ok(assigned)
}

fn owned((key, value): super::Lent<'_>) -> (Vec<u8>, Vec<u8>) {
    (key.to_vec(), value.to_vec())
}
