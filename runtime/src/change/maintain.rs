//! From the difference of the facts to the rows of every structure.

use super::{ChangeFailure, Draft, Receipt};
use crate::facts::FactError;
use crate::layout::Layout;
use crate::store::{Phase, Reader, StoreError, WriteSet};
use querent_compiler::design::StructureId;
use querent_compiler::value::Value;
use querent_compiler::value::ops::Accumulator;
use querent_compiler::view::delta::{Delta, FactChanges, delta};
use querent_compiler::view::rows::group_aggregate;
use querent_compiler::view::{Kind, Structure};

impl<R: Reader> Draft<'_, R> {
    /// All writes of the change.
    pub(super) fn finish(
        mut self,
        changes: &FactChanges,
    ) -> Result<(WriteSet, Receipt), ChangeFailure> {
        let mut writes = WriteSet::new();
        let structures = self
            .schema
            .design
            .structures
            .iter()
            .zip(&self.schema.reads)
            .enumerate();
        for (id, (structure, reads)) in structures {
            let id = id as StructureId;
            let found = delta(
                &self.schema.model,
                structure,
                reads,
                changes,
                self.before,
                &self.after,
            )?;
            if found.rows.is_empty() {
                continue;
            }
            let phase = self.phase(id);
            let (puts, deletes) = self.write(&mut writes, id, structure, phase, found)?;
            self.receipt
                .written
                .insert(structure.name.clone(), (puts, deletes));
        }
        let id = self.schema.sequences();
        for (counter, last) in std::mem::take(&mut self.sequences) {
            let layout = self.layout(id)?;
            let key = encode(layout, "_sequences", &counter)?;
            writes.put(
                Phase::Guard,
                id,
                key,
                layout.encode_row(&counter, &[Value::Int(last)]),
            );
        }
        self.receipt.reads += self.before.reads();
        Ok((writes, self.receipt))
    }

    fn phase(&self, id: StructureId) -> Phase {
        let access = &self.schema.access;
        if access.homes.values().any(|homes| homes.contains(&id)) {
            Phase::Homes
        } else if access.referrers.values().any(|path| path.structure == id) {
            Phase::Paths
        } else {
            Phase::Copies
        }
    }

    fn layout(&self, id: StructureId) -> Result<&Layout, FactError> {
        let structures = self.schema.layouts.len();
        self.schema
            .layouts
            .get(id as usize)
            .map(AsRef::as_ref)
            .ok_or(FactError::Store(StoreError::NoStructure {
                structure: id,
                structures,
            }))
    }

    fn write(
        &self,
        writes: &mut WriteSet,
        id: StructureId,
        structure: &Structure,
        phase: Phase,
        delta: Delta,
    ) -> Result<(usize, usize), FactError> {
        let layout = self.layout(id)?;
        let (mut puts, mut deletes) = (0, 0);
        for (key, (gone, came)) in delta.rows {
            let row = match structure.kind {
                Kind::Lists => came.into_iter().next_back(),
                Kind::Groups => {
                    let old = self.before.stored(id, &key)?;
                    let new = regrouped(structure, old.as_ref(), &gone, &came);
                    if new == old {
                        continue;
                    }
                    new
                }
            };
            let encoded = encode(layout, &structure.name, &key)?;
            if let Some(row) = row {
                puts += 1;
                writes.put(phase, id, encoded, layout.encode_row(&key, &row));
            } else {
                deletes += 1;
                writes.delete(phase, id, encoded);
            }
        }
        Ok((puts, deletes))
    }
}

fn encode(layout: &Layout, structure: &str, key: &[Value]) -> Result<Vec<u8>, FactError> {
    layout.encode_key(key).map_err(|source| FactError::Key {
        structure: structure.to_string(),
        source,
    })
}

/// The row of a group when bindings went and came; none when none is left.
fn regrouped(
    s: &Structure,
    old: Option<&Vec<Value>>,
    gone: &[Vec<Value>],
    came: &[Vec<Value>],
) -> Option<Vec<Value>> {
    let count = match old.and_then(|o| o.last()) {
        Some(Value::Int(n)) => *n,
        _ => 0,
    };
    let count = count + came.len() as i64 - gone.len() as i64;
    if count <= 0 {
        return None;
    }
    let mut row = Vec::with_capacity(s.columns.len() + 1);
    for (i, column) in s.columns.iter().enumerate() {
        let stored = old.and_then(|o| o.get(i));
        let value = match group_aggregate(column) {
            Some((aggregate, _)) => {
                let mut total = stored
                    .and_then(|v| Accumulator::from_stored(aggregate.function, v))
                    .unwrap_or_else(|| Accumulator::new(aggregate.function, aggregate.distinct));
                came.iter()
                    .filter_map(|b| b.get(i))
                    .for_each(|v| total.add(v));
                for value in gone.iter().filter_map(|b| b.get(i)) {
                    let removed = total.remove(value);
                    debug_assert!(
                        removed,
                        "only aggregates that can give values back are kept"
                    );
                }
                total.to_stored()
            }
            // What the key determines is the same in every binding of the group.
            None => came
                .last()
                .and_then(|b| b.get(i))
                .or(stored)
                .cloned()
                .unwrap_or_default(),
        };
        row.push(value);
    }
    row.push(Value::Int(count));
    Some(row)
}
