//! The facts as a change leaves them, before it is written.

use querent_compiler::model::{EntityId, Field, Model, ReferenceId};
use querent_compiler::value::Value;
use querent_compiler::view::facts::{Facts, Key};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

/// Where an instance's row holds a value: the slot, and which scalar of a reference's key.
pub type Place = (usize, Option<usize>);

/// So few changed instances are looked at one by one.
const FEW: usize = 16;

/// A state of the facts with changed instances on top.
pub struct Overlay<'a, F> {
    model: &'a Model,
    base: &'a F,
    /// The new rows of changed instances; none where they are deleted.
    changed: BTreeMap<(EntityId, Key), Option<Vec<Value>>>,
    /// Those that are there by what they hold at a place, for places that were asked for: a change
    /// of many instances asks once for each of them.
    indexes: RefCell<BTreeMap<(EntityId, Place), Index>>,
}

type Index = BTreeMap<Value, BTreeSet<Key>>;

fn held(row: &[Value], (slot, scalar): Place) -> Option<&Value> {
    match (row.get(slot)?, scalar) {
        (Value::Key(scalars), Some(scalar)) => scalars.get(scalar),
        (_, Some(_)) => None,
        (value, None) => Some(value),
    }
}

impl<'a, F: Facts> Overlay<'a, F> {
    /// No change yet.
    pub fn new(model: &'a Model, base: &'a F) -> Self {
        Overlay {
            model,
            base,
            changed: BTreeMap::new(),
            indexes: RefCell::default(),
        }
    }
    /// Sets or deletes an instance.
    pub fn set(&mut self, entity: EntityId, key: Key, row: Option<Vec<Value>>) {
        let row = row.as_ref();
        let old = self
            .changed
            .get(&(entity, key.clone()))
            .and_then(Option::as_ref);
        for ((_, place), index) in indexes_of(self.indexes.get_mut(), entity) {
            if let Some(value) = old.and_then(|r| held(r, *place))
                && let Some(keys) = index.get_mut(value)
            {
                keys.remove(&key);
            }
            if let Some(value) = row.and_then(|r| held(r, *place)) {
                index.entry(value.clone()).or_default().insert(key.clone());
            }
        }
        self.changed.insert((entity, key), row.cloned());
    }
    /// What was set: none if the instance was not touched.
    pub fn changed(&self, entity: EntityId, key: &[Value]) -> Option<&Option<Vec<Value>>> {
        self.changed.get(&(entity, key.to_vec()))
    }
    /// All touched instances.
    pub fn all_changed(&self) -> &BTreeMap<(EntityId, Key), Option<Vec<Value>>> {
        &self.changed
    }
    /// Touched instances of an entity.
    pub fn changed_of(
        &self,
        entity: EntityId,
    ) -> impl Iterator<Item = (&Key, Option<&Vec<Value>>)> {
        let from = self.changed.range((entity, Key::new())..);
        let of = from.take_while(move |((e, _), _)| *e == entity);
        of.map(|((_, key), row)| (key, row.as_ref()))
    }

    /// Touched instances of an entity that are there and hold a value at a place, in order.
    pub fn changed_with(&self, entity: EntityId, place: Place, value: &Value) -> Vec<Key> {
        let there = || {
            self.changed_of(entity)
                .filter_map(|(key, row)| Some((key, row?)))
        };
        let mut indexes = self.indexes.borrow_mut();
        if !indexes.contains_key(&(entity, place)) && self.changed.len() <= FEW {
            let with = there().filter(|(_, row)| held(row, place) == Some(value));
            return with.map(|(key, _)| key.clone()).collect();
        }
        let index = indexes.entry((entity, place)).or_insert_with(|| {
            let mut index = Index::new();
            for (key, row) in there() {
                if let Some(value) = held(row, place) {
                    index.entry(value.clone()).or_default().insert(key.clone());
                }
            }
            index
        });
        index
            .get(value)
            .map_or(vec![], |keys| keys.iter().cloned().collect())
    }
}

fn indexes_of(
    indexes: &mut BTreeMap<(EntityId, Place), Index>,
    entity: EntityId,
) -> impl Iterator<Item = (&(EntityId, Place), &mut Index)> {
    let from = indexes.range_mut((entity, (0, None))..);
    from.take_while(move |((e, _), _)| *e == entity)
}

impl<F: Facts> Facts for Overlay<'_, F> {
    type Error = F::Error;

    fn exists(&self, entity: EntityId, key: &[Value]) -> Result<bool, F::Error> {
        match self.changed(entity, key) {
            Some(row) => Ok(row.is_some()),
            None => self.base.exists(entity, key),
        }
    }

    fn value(&self, entity: EntityId, key: &[Value], slot: usize) -> Result<Value, F::Error> {
        match self.changed(entity, key) {
            Some(row) => Ok(row
                .as_ref()
                .and_then(|r| r.get(slot))
                .cloned()
                .unwrap_or_default()),
            None => self.base.value(entity, key, slot),
        }
    }

    fn referrers(&self, reference: ReferenceId, target: &[Value]) -> Result<Vec<Key>, F::Error> {
        let entity = self
            .model
            .entity(self.model.reference(reference).entity)
            .root;
        let mut found = self.base.referrers(reference, target)?;
        found.retain(|key| self.changed(entity, key).is_none());
        if let Some(slot) = self.model.slot(entity, Field::Reference(reference)) {
            let target = Value::Key(target.to_vec());
            found.extend(self.changed_with(entity, (slot, None), &target));
        }
        found.sort();
        Ok(found)
    }
}
