//! Facts as the evaluator sees them, and a plain in-memory set of them.

use crate::model::{EntityId, Field, Model, ReferenceId};
use crate::value::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;

/// A flattened key: the scalars of [`Model::key_leaves`].
pub type Key = Vec<Value>;

/// A state of the facts. Entities are always roots or links.
///
/// Reads are by instance and slot, so that an implementation over a store decides from which
/// structure a value comes. The key's own slots never reach it: see [`slot_value`].
pub trait Facts {
    /// What may go wrong in a read; also how a remote store says that it must be waited for.
    type Error;
    /// Whether the instance exists.
    fn exists(&self, entity: EntityId, key: &[Value]) -> Result<bool, Self::Error>;
    /// The value of a slot outside the key; null where the instance does not exist.
    fn value(&self, entity: EntityId, key: &[Value], slot: usize) -> Result<Value, Self::Error>;
    /// The keys of the instances that refer to the target by the reference, sorted.
    fn referrers(&self, reference: ReferenceId, target: &[Value]) -> Result<Vec<Key>, Self::Error>;
}

/// The value of any slot: key slots are read off the key itself.
pub fn slot_value<F: Facts>(
    model: &Model,
    facts: &F,
    entity: EntityId,
    key: &[Value],
    slot: usize,
) -> Result<Value, F::Error> {
    match key_slot_value(model, entity, key, slot) {
        Some(value) => Ok(value),
        None => facts.value(entity, key, slot),
    }
}

/// The value of a key slot as read off the flattened key; none for other slots.
pub fn key_slot_value(
    model: &Model,
    entity: EntityId,
    key: &[Value],
    slot: usize,
) -> Option<Value> {
    let root = model.root(entity);
    let mut at = 0;
    for &part in &root.key {
        let width = match root.fields.get(part)? {
            Field::Reference(r) => model.key_leaves(model.reference(*r).target).len(),
            Field::Attribute(_) | Field::Type => 1,
        };
        if part == slot {
            let leaves = key.get(at..at + width)?;
            return Some(match root.fields.get(part)? {
                Field::Reference(_) => Value::Key(leaves.to_vec()),
                _ => leaves.first()?.clone(),
            });
        }
        at += width;
    }
    None
}

/// The flattened key of a fact row.
pub fn key_of_row(model: &Model, entity: EntityId, row: &[Value]) -> Key {
    let root = model.root(entity);
    let mut key = Vec::new();
    for &slot in &root.key {
        match row.get(slot) {
            Some(Value::Key(leaves)) => key.extend(leaves.iter().cloned()),
            Some(value) => key.push(value.clone()),
            None => key.push(Value::Null),
        }
    }
    key
}

/// A set of facts in memory: the plainest implementation, which all others are tested against.
#[derive(Clone, Debug, Default)]
pub struct MemoryFacts {
    rows: BTreeMap<EntityId, BTreeMap<Key, Vec<Value>>>,
    back: BTreeMap<(ReferenceId, Key), BTreeSet<Key>>,
}

impl MemoryFacts {
    /// Sets or removes the row of an instance.
    pub fn set(&mut self, model: &Model, entity: EntityId, key: &[Value], row: Option<Vec<Value>>) {
        if let Some(old) = self.rows.entry(entity).or_default().remove(key) {
            for (reference, target) in references(model, entity, &old) {
                if let Some(set) = self.back.get_mut(&(reference, target)) {
                    set.remove(key);
                }
            }
        }
        if let Some(row) = row {
            for (reference, target) in references(model, entity, &row) {
                self.back
                    .entry((reference, target))
                    .or_default()
                    .insert(key.to_vec());
            }
            self.rows
                .entry(entity)
                .or_default()
                .insert(key.to_vec(), row);
        }
    }
    /// The row of an instance.
    pub fn row(&self, entity: EntityId, key: &[Value]) -> Option<&Vec<Value>> {
        self.rows.get(&entity)?.get(key)
    }
    /// All instances of a root or link, in key order.
    pub fn all(&self, entity: EntityId) -> impl Iterator<Item = (&Key, &Vec<Value>)> {
        self.rows.get(&entity).into_iter().flatten()
    }
}

fn references(model: &Model, entity: EntityId, row: &[Value]) -> Vec<(ReferenceId, Key)> {
    model
        .root(entity)
        .fields
        .iter()
        .zip(row)
        .filter_map(|(field, value)| match (field, value) {
            (Field::Reference(r), Value::Key(target)) => Some((*r, target.clone())),
            _ => None,
        })
        .collect()
}

impl Facts for MemoryFacts {
    type Error = Infallible;
    fn exists(&self, entity: EntityId, key: &[Value]) -> Result<bool, Infallible> {
        Ok(self.row(entity, key).is_some())
    }
    fn value(&self, entity: EntityId, key: &[Value], slot: usize) -> Result<Value, Infallible> {
        Ok(self
            .row(entity, key)
            .and_then(|r| r.get(slot))
            .cloned()
            .unwrap_or_default())
    }
    fn referrers(&self, reference: ReferenceId, target: &[Value]) -> Result<Vec<Key>, Infallible> {
        let found = self.back.get(&(reference, target.to_vec()));
        Ok(found
            .map(|set| set.iter().cloned().collect())
            .unwrap_or_default())
    }
}
