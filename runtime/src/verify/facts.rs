//! The facts as verify sees them: damage is an error, and referrers come from an index of its own.

use super::popular_key::Unnumbered;
use crate::facts::{FactError, StoreFacts};
use crate::recompute::ReferrerIndex;
use crate::row::RowError;
use crate::store::Reader;
use querent_compiler::model::{EntityId, ReferenceId};
use querent_compiler::value::Value;
use querent_compiler::view::facts::{Facts, Key};
use std::collections::BTreeSet;

/// Home rows that cannot be read, or have lost what the database gave them.
#[derive(Debug, Default)]
pub(super) struct Damage {
    /// Instances of which a fact cannot be read.
    pub(super) instances: BTreeSet<(EntityId, Key)>,
    /// Entities with a home row of which not even the key can be read.
    pub(super) nameless: BTreeSet<EntityId>,
    /// Instances without the number of their sub-partition.
    pub(super) unnumbered: Unnumbered,
}

impl Damage {
    /// Whether facts of an entity are missing.
    pub(super) fn touches(&self, root: EntityId) -> bool {
        self.nameless.contains(&root) || self.instances.iter().any(|(e, _)| *e == root)
    }

    pub(super) fn has(&self, root: EntityId, key: &[Value]) -> bool {
        !self.instances.is_empty() && self.instances.contains(&(root, key.to_vec()))
    }
}

/// Facts read through the homes alone.
pub(super) struct Audited<'a, R> {
    pub(super) stored: StoreFacts<'a, R>,
    pub(super) damage: &'a Damage,
    pub(super) referrers: &'a ReferrerIndex,
}

impl<R> Audited<'_, R> {
    fn refuse_damage(&self, entity: EntityId, key: &[Value]) -> Result<(), FactError> {
        if self.damage.has(entity, key) {
            let source = RowError::Value("the home row of an instance that it needs is damaged");
            return Err(FactError::Row {
                structure: "a home".into(),
                source,
            });
        }
        Ok(())
    }
}

impl<R: Reader> Facts for Audited<'_, R> {
    type Error = FactError;

    fn exists(&self, entity: EntityId, key: &[Value]) -> Result<bool, FactError> {
        self.refuse_damage(entity, key)?;
        self.stored.exists(entity, key)
    }

    fn value(&self, entity: EntityId, key: &[Value], slot: usize) -> Result<Value, FactError> {
        self.refuse_damage(entity, key)?;
        if let Some(number) = self.damage.unnumbered.given(entity, key, slot) {
            return Ok(number.clone());
        }
        self.stored.value(entity, key, slot)
    }

    fn referrers(&self, reference: ReferenceId, target: &[Value]) -> Result<Vec<Key>, FactError> {
        self.referrers.of(reference, target)
    }
}
