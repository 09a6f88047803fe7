//! Popular keys: an instance whose home has lost the number of its sub-partition is given one
//! again, and everything is compared with that.

use super::Namer;
use super::rows::each_anchor;
use crate::Error;
use crate::change::Totals;
use crate::facts::{FactError, StoreFacts};
use crate::schema::Schema;
use crate::store::Reader;
use querent_compiler::model::{EntityId, Model, Split};
use querent_compiler::value::Value;
use querent_compiler::view::facts::Key;
use std::collections::{BTreeMap, BTreeSet};

/// Instances without a number, and the numbers that they are given.
#[derive(Debug, Default)]
pub(super) struct Unnumbered {
    /// By root and slot of the number, and by what they share.
    lost: BTreeMap<(EntityId, usize), BTreeMap<Vec<Value>, BTreeSet<Key>>>,
    given: BTreeMap<(EntityId, usize), BTreeMap<Key, Value>>,
}

impl Unnumbered {
    /// Notes an instance, if its row lacks a number.
    pub(super) fn note(
        &mut self,
        model: &Model,
        root: EntityId,
        instance: &[Value],
        row: &[Value],
    ) {
        for (slot, split) in model.splits_of(root) {
            if number(row, slot).is_none() {
                let lost = self.lost.entry((root, slot)).or_default();
                let alike = lost.entry(split.shared(model, row)).or_default();
                alike.insert(instance.to_vec());
            }
        }
    }

    /// The number that an instance is given.
    pub(super) fn given(&self, root: EntityId, key: &[Value], slot: usize) -> Option<&Value> {
        if self.given.is_empty() {
            return None;
        }
        self.given.get(&(root, slot))?.get(key)
    }

    /// Numbers those that were noted as inserts would be, the first sub-partition with room, so that
    /// no key has more of them than its rows need. How full they are is counted in the homes, which
    /// are read again: the table of totals is one of the structures that are to be checked.
    pub(super) fn number<R: Reader>(&mut self, schema: &Schema, reader: &R) -> Result<(), Error> {
        let model = &schema.model;
        for ((root, slot), lost) in std::mem::take(&mut self.lost) {
            let Some((_, split)) = model.splits_of(root).find(|(s, _)| *s == slot) else {
                continue;
            };
            let mut totals: BTreeMap<&Vec<Value>, Totals> = lost
                .keys()
                .map(|shared| (shared, Totals::default()))
                .collect();
            count(schema, reader, split, slot, &mut totals)?;
            let given = self.given.entry((root, slot)).or_default();
            for (shared, instances) in &lost {
                let mut room = totals.remove(shared).unwrap_or_default();
                for instance in instances {
                    let number = Value::Int(room.take(split.capacity));
                    given.insert(instance.clone(), number);
                }
            }
        }
        Ok(())
    }
}

/// Counts the sub-partitions of some keys.
fn count<R: Reader>(
    schema: &Schema,
    reader: &R,
    split: &Split,
    slot: usize,
    totals: &mut BTreeMap<&Vec<Value>, Totals>,
) -> Result<(), Error> {
    let root = split.entity;
    let homes = schema.access.homes.get(&root);
    let Some(&home) = homes.and_then(|homes| homes.first()) else {
        return Ok(());
    };
    let Some(namer) = Namer::new(schema, home) else {
        return Ok(());
    };
    each_anchor(reader, home, &namer, |anchor| {
        let row = match StoreFacts::new(schema, reader).row(root, &anchor) {
            Ok(row) => row.unwrap_or_default(),
            // What cannot be read is named elsewhere, and takes no room.
            Err(FactError::Row { .. }) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        if let Some(number) = number(&row, slot)
            && let Some(totals) = totals.get_mut(&split.shared(&schema.model, &row))
        {
            totals.count(number, 1);
        }
        Ok(())
    })
}

fn number(row: &[Value], slot: usize) -> Option<i64> {
    match row.get(slot) {
        Some(Value::Int(number)) if *number >= 0 => Some(*number),
        _ => None,
    }
}
