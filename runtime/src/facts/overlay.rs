//! The facts as a change leaves them, before it is written.

use querent_compiler::model::{EntityId, Field, Model, ReferenceId};
use querent_compiler::value::Value;
use querent_compiler::view::facts::{Facts, Key};
use std::collections::BTreeMap;

/// A state of the facts with changed instances on top.
pub struct Overlay<'a, F> {
    model: &'a Model,
    base: &'a F,
    /// The new rows of changed instances; none where they are deleted.
    changed: BTreeMap<(EntityId, Key), Option<Vec<Value>>>,
}

impl<'a, F: Facts> Overlay<'a, F> {
    /// No change yet.
    pub fn new(model: &'a Model, base: &'a F) -> Self {
        Overlay {
            model,
            base,
            changed: BTreeMap::new(),
        }
    }
    /// Sets or deletes an instance.
    pub fn set(&mut self, entity: EntityId, key: Key, row: Option<Vec<Value>>) {
        self.changed.insert((entity, key), row);
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
        let of = self.changed.iter().filter(move |((e, _), _)| *e == entity);
        of.map(|((_, key), row)| (key, row.as_ref()))
    }
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
            for (key, row) in self.changed_of(entity) {
                let refers = row.and_then(|r| r.get(slot));
                if matches!(refers, Some(Value::Key(k)) if k == target) {
                    found.push(key.clone());
                }
            }
        }
        found.sort();
        Ok(found)
    }
}
