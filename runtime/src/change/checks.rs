//! The rules of the model, checked on the state that the change would leave.

use super::{ChangeFailure, Draft, Refusal, all_slots, exists};
use crate::store::Reader;
use crate::text::{key_text, value_text};
use crate::verify::references;
use querent_compiler::model::{EntityId, Field, LinkFault, ReferenceId, Type};
use querent_compiler::value::Value;
use querent_compiler::view::delta::FactChanges;
use querent_compiler::view::facts::{Facts, Key};
use std::collections::BTreeSet;

/// Who refers to an instance.
struct Referrer {
    /// Its root.
    entity: EntityId,
    key: Key,
    /// The reference, or the attribute that holds one.
    field: String,
    /// What it leads to by the model.
    target: EntityId,
}

impl<R: Reader> Draft<'_, R> {
    /// Checks every changed instance; the first broken rule refuses the whole change.
    pub(super) fn check(&self, changes: &FactChanges) -> Result<(), ChangeFailure> {
        for ((entity, key), change) in changes {
            match self.after.changed(*entity, key) {
                Some(Some(row)) => {
                    // Another type has other fields, and may be what a reference does not lead to.
                    let type_slot = self.schema.model.slot(*entity, Field::Type);
                    let retyped =
                        change.stays && type_slot.is_some_and(|slot| change.slots.contains(&slot));
                    let all = retyped.then(|| all_slots(self.schema, *entity));
                    let slots = all.as_ref().unwrap_or(&change.slots);
                    self.check_links(*entity, key, row, slots)?;
                    for &slot in slots {
                        self.check_slot(*entity, key, row, slot)?;
                    }
                    if !change.stays || retyped {
                        self.check_type(*entity, key, row)?;
                    }
                    if retyped {
                        self.check_retyped(*entity, key, row)?;
                    }
                }
                _ => self.check_deleted(*entity, key)?,
            }
        }
        Ok(())
    }

    /// A link has the attributes that are required, and nothing else has any. What the change does
    /// not touch is not judged.
    fn check_links(
        &self,
        entity: EntityId,
        key: &[Value],
        row: &[Value],
        changed: &BTreeSet<usize>,
    ) -> Result<(), ChangeFailure> {
        let mut faults = self.schema.model.link_faults(entity, row);
        let touched = faults.find(|(slot, of, _)| changed.contains(slot) || changed.contains(of));
        touched.map_or(Ok(()), |fault| {
            Err(self.link_refusal(entity, key, row, fault))
        })
    }

    /// What a statement gives without a link is refused at once: a later statement that makes the
    /// link would take it away.
    pub(super) fn check_loose(
        &self,
        root: EntityId,
        key: &[Value],
        row: &[Value],
        given: &[usize],
    ) -> Result<(), ChangeFailure> {
        let faults = self.schema.model.link_faults(root, row);
        let mut loose = faults.filter(|(.., fault)| *fault == LinkFault::Loose);
        let found = loose.find(|(slot, ..)| given.contains(slot));
        found.map_or(
            Ok(()),
            |fault| Err(self.link_refusal(root, key, row, fault)),
        )
    }

    fn link_refusal(
        &self,
        entity: EntityId,
        key: &[Value],
        row: &[Value],
        (slot, reference, fault): (usize, usize, LinkFault),
    ) -> ChangeFailure {
        let refusal = match fault {
            LinkFault::Loose => Refusal::Loose {
                entity: self.entity_name(entity),
                key: self.key_text(entity, key),
                field: self.field_name(entity, slot),
                reference: self.field_name(entity, reference),
            },
            LinkFault::Bare => Refusal::Bare {
                entity: self.entity_name(entity),
                key: self.key_text(entity, key),
                field: self.field_name(entity, slot),
                reference: self.field_name(entity, reference),
                target: match row.get(reference) {
                    Some(Value::Key(target)) => self.target_text(entity, reference, target),
                    _ => String::new(),
                },
            },
        };
        refusal.into()
    }

    fn check_slot(
        &self,
        entity: EntityId,
        key: &[Value],
        row: &[Value],
        slot: usize,
    ) -> Result<(), ChangeFailure> {
        self.check_value(entity, key, row, slot)?;
        let model = &self.schema.model;
        let (Some(field), Some(value)) = (model.root(entity).fields.get(slot), row.get(slot))
        else {
            return Ok(());
        };
        let (optional, declared) = match field {
            Field::Type => (false, entity),
            Field::Attribute(a) => (model.attribute(*a).optional, model.attribute(*a).entity),
            Field::Reference(r) => (model.reference(*r).optional, model.reference(*r).entity),
        };
        if value.is_null() {
            return if optional {
                Ok(())
            } else {
                self.check_present(entity, key, row, (slot, declared))
            };
        }
        match field {
            Field::Type => Ok(()),
            Field::Attribute(a) => {
                let attribute = model.attribute(*a);
                if attribute.unique {
                    self.check_unique(entity, key, slot, *a, value)?;
                }
                self.check_inner(entity, key, slot, &attribute.ty, value)
            }
            Field::Reference(r) => self.check_reference(entity, key, slot, *r, value),
        }
    }

    /// What an attribute is set to is a value of its type. A statement that sets it to another one
    /// is refused at once: the next one would read what no attribute of that type can be.
    pub(super) fn check_value(
        &self,
        entity: EntityId,
        key: &[Value],
        row: &[Value],
        slot: usize,
    ) -> Result<(), ChangeFailure> {
        let model = &self.schema.model;
        let (Some(Field::Attribute(a)), Some(value)) =
            (model.root(entity).fields.get(slot), row.get(slot))
        else {
            return Ok(());
        };
        let attribute = model.attribute(*a);
        if value.is_null() {
            // A link may come to have what it must have in a later statement.
            return if attribute.optional || attribute.of.is_some() {
                Ok(())
            } else {
                self.check_present(entity, key, row, (slot, attribute.entity))
            };
        }
        let name = || {
            (
                self.entity_name(entity),
                self.key_text(entity, key),
                self.field_name(entity, slot),
            )
        };
        if let (Type::Int, Value::Int(n)) = (&attribute.ty, value)
            && i32::try_from(*n).is_err()
        {
            let (entity, key, field) = name();
            return Err(Refusal::Range {
                entity,
                key,
                field,
                found: n.to_string(),
            }
            .into());
        }
        querent_compiler::codec::check_bounds(&attribute.ty, value).map_err(|why| {
            let (entity, key, field) = name();
            let why = why.to_string();
            Refusal::TooLong {
                entity,
                key,
                field,
                why,
            }
            .into()
        })
    }

    /// A null that is not allowed where the type of the instance has the field.
    fn check_present(
        &self,
        entity: EntityId,
        key: &[Value],
        row: &[Value],
        (slot, declared): (usize, EntityId),
    ) -> Result<(), ChangeFailure> {
        if !self.type_has(entity, row, declared) {
            return Ok(());
        }
        Err(Refusal::Missing {
            entity: self.entity_name(entity),
            key: self.key_text(entity, key),
            field: self.field_name(entity, slot),
        }
        .into())
    }

    /// Fields of other types are null.
    fn check_type(
        &self,
        entity: EntityId,
        key: &[Value],
        row: &[Value],
    ) -> Result<(), ChangeFailure> {
        let model = &self.schema.model;
        for (slot, field) in model.root(entity).fields.iter().enumerate() {
            let declared = match field {
                Field::Type => continue,
                Field::Attribute(a) => model.attribute(*a).entity,
                Field::Reference(r) => model.reference(*r).entity,
            };
            let filled = row.get(slot).is_some_and(|v| !v.is_null());
            if filled && !self.type_has(entity, row, declared) {
                return Err(Refusal::NotOfType {
                    entity: self.entity_name(entity),
                    key: self.key_text(entity, key),
                    field: self.field_name(entity, slot),
                }
                .into());
            }
        }
        Ok(())
    }

    /// Whether a row's concrete type has the fields that an entity declares.
    fn type_has(&self, root: EntityId, row: &[Value], declared: EntityId) -> bool {
        let model = &self.schema.model;
        let Some(slot) = model.slot(root, Field::Type) else {
            return true;
        };
        let Some(Value::Enum(tag)) = row.get(slot) else {
            return declared == root;
        };
        let members = model.type_members(root);
        let concrete = members.get(*tag as usize).copied().unwrap_or(root);
        declared == concrete || model.entity(declared).subtypes.contains(&concrete)
    }

    fn check_reference(
        &self,
        entity: EntityId,
        key: &[Value],
        slot: usize,
        reference: ReferenceId,
        value: &Value,
    ) -> Result<(), ChangeFailure> {
        let model = &self.schema.model;
        let r = model.reference(reference);
        let Value::Key(target) = value else {
            return Ok(());
        };
        if !self.is_there(r.target, target)? {
            return Err(Refusal::Dangling {
                entity: self.entity_name(entity),
                key: self.key_text(entity, key),
                field: self.field_name(entity, slot),
                target: model.entity(r.target).name.clone(),
                found: self.key_text(r.target, target),
            }
            .into());
        }
        if r.unique {
            let others = self.after.referrers(reference, target)?;
            if let Some(other) = others.iter().find(|o| o.as_slice() != key) {
                return Err(Refusal::Unique {
                    entity: self.entity_name(entity),
                    key: self.key_text(entity, key),
                    field: self.field_name(entity, slot),
                    found: self.key_text(r.target, target),
                    other: self.key_text(entity, other),
                }
                .into());
            }
        }
        Ok(())
    }

    /// Whether there is an instance of an entity or of its subtypes.
    fn is_there(&self, entity: EntityId, key: &[Value]) -> Result<bool, ChangeFailure> {
        let root = self.schema.model.entity(entity).root;
        if !exists(&self.after, root, key)? {
            return Ok(false);
        }
        if entity == root {
            return Ok(true);
        }
        let row = self.current(root, key)?.unwrap_or_default();
        Ok(self.type_has(root, &row, entity))
    }

    /// References inside records and collections.
    fn check_inner(
        &self,
        entity: EntityId,
        key: &[Value],
        slot: usize,
        ty: &Type,
        value: &Value,
    ) -> Result<(), ChangeFailure> {
        match (ty, value) {
            (Type::Key(target), Value::Key(found)) => {
                if !self.is_there(*target, found)? {
                    return Err(Refusal::Dangling {
                        entity: self.entity_name(entity),
                        key: self.key_text(entity, key),
                        field: self.field_name(entity, slot),
                        target: self.schema.model.entity(*target).name.clone(),
                        found: self.key_text(*target, found),
                    }
                    .into());
                }
                Ok(())
            }
            (Type::List(t, _), Value::List(items)) | (Type::Set(t, _), Value::Set(items)) => items
                .iter()
                .try_for_each(|v| self.check_inner(entity, key, slot, t, v)),
            (Type::Map(_, t, _), Value::Map(pairs)) => pairs
                .iter()
                .try_for_each(|(_, v)| self.check_inner(entity, key, slot, t, v)),
            (Type::Record(fields), Value::Record(values)) => {
                let mut fields = fields.iter().zip(values);
                fields.try_for_each(|(f, v)| self.check_inner(entity, key, slot, &f.ty, v))
            }
            _ => Ok(()),
        }
    }

    fn check_unique(
        &self,
        entity: EntityId,
        key: &[Value],
        slot: usize,
        attribute: querent_compiler::model::AttributeId,
        value: &Value,
    ) -> Result<(), ChangeFailure> {
        let model = &self.schema.model;
        let mut others = self.before.owners(entity, attribute, value)?;
        others.retain(|other| self.after.changed(entity, other).is_none());
        others.extend(self.after.changed_with(entity, (slot, None), value));
        match others.iter().find(|o| o.as_slice() != key) {
            None => Ok(()),
            Some(other) => Err(Refusal::Unique {
                entity: self.entity_name(entity),
                key: self.key_text(entity, key),
                field: self.field_name(entity, slot),
                found: value_text(model, &model.attribute(attribute).ty, value),
                other: self.key_text(entity, other),
            }
            .into()),
        }
    }

    /// Nothing may refer to what is gone.
    fn check_deleted(&self, entity: EntityId, key: &[Value]) -> Result<(), ChangeFailure> {
        match self.referrer(entity, key, |_| true)? {
            None => Ok(()),
            Some(by) => Err(Refusal::Referred {
                entity: self.entity_name(entity),
                key: self.key_text(entity, key),
                referrer: self.entity_name(by.entity),
                other: self.key_text(by.entity, &by.key),
                field: by.field,
            }
            .into()),
        }
    }

    /// Nothing may refer to an instance as what it no longer is.
    fn check_retyped(
        &self,
        entity: EntityId,
        key: &[Value],
        row: &[Value],
    ) -> Result<(), ChangeFailure> {
        let no_longer = |target: EntityId| !self.type_has(entity, row, target);
        match self.referrer(entity, key, no_longer)? {
            None => Ok(()),
            Some(by) => Err(Refusal::Dangling {
                entity: self.entity_name(by.entity),
                key: self.key_text(by.entity, &by.key),
                field: by.field,
                target: self.entity_name(by.target),
                found: self.key_text(entity, key),
            }
            .into()),
        }
    }

    /// An instance that refers to another one as one of certain entities.
    fn referrer(
        &self,
        entity: EntityId,
        key: &[Value],
        as_one_of: impl Fn(EntityId) -> bool,
    ) -> Result<Option<Referrer>, ChangeFailure> {
        let model = &self.schema.model;
        let meant = |target: EntityId| model.entity(target).root == entity && as_one_of(target);
        for reference in (0..model.references.len() as u32).map(ReferenceId) {
            let r = model.reference(reference);
            if !meant(r.target) {
                continue;
            }
            if let Some(other) = self.after.referrers(reference, key)?.into_iter().next() {
                return Ok(Some(Referrer {
                    entity: model.entity(r.entity).root,
                    key: other,
                    field: r.name.clone(),
                    target: r.target,
                }));
            }
        }
        for (i, attribute) in model.attributes.iter().enumerate() {
            if !holds_key(&attribute.ty, &meant) {
                continue;
            }
            let from = model.entity(attribute.entity).root;
            let field = Field::Attribute(querent_compiler::model::AttributeId(i as u32));
            let Some(slot) = model.slot(from, field) else {
                continue;
            };
            let mut keys = self.before.all(from)?;
            keys.extend(self.after.changed_of(from).map(|(key, _)| key.clone()));
            for other in keys {
                if !exists(&self.after, from, &other)? {
                    continue;
                }
                let mut inner = Vec::new();
                let value = self.after.value(from, &other, slot)?;
                references(&attribute.ty, &value, &mut inner);
                let mut inner = inner.into_iter();
                if let Some((target, _)) = inner.find(|(target, to)| meant(*target) && to == key) {
                    return Ok(Some(Referrer {
                        entity: from,
                        key: other,
                        field: attribute.name.clone(),
                        target,
                    }));
                }
            }
        }
        Ok(None)
    }

    pub(super) fn entity_name(&self, entity: EntityId) -> String {
        self.schema.model.entity(entity).name.clone()
    }

    pub(super) fn field_name(&self, entity: EntityId, slot: usize) -> String {
        field_name(&self.schema.model, entity, slot)
    }

    pub(super) fn key_text(&self, entity: EntityId, key: &[Value]) -> String {
        let model = &self.schema.model;
        key_text(model, model.entity(entity).root, key)
    }

    /// The key that the reference at a slot leads to.
    fn target_text(&self, entity: EntityId, slot: usize, key: &[Value]) -> String {
        let model = &self.schema.model;
        match model.root(entity).fields.get(slot) {
            Some(Field::Reference(r)) => self.key_text(model.reference(*r).target, key),
            _ => String::new(),
        }
    }
}

/// The name of a slot.
pub(crate) fn field_name(
    model: &querent_compiler::model::Model,
    entity: EntityId,
    slot: usize,
) -> String {
    match model.root(entity).fields.get(slot) {
        Some(Field::Attribute(a)) => model.attribute(*a).name.clone(),
        Some(Field::Reference(r)) => model.reference(*r).name.clone(),
        Some(Field::Type) => "type".into(),
        None => String::new(),
    }
}

/// Whether values of a type may hold keys of certain entities.
fn holds_key(ty: &Type, of: &impl Fn(EntityId) -> bool) -> bool {
    match ty {
        Type::Key(e) => of(*e),
        Type::List(t, _) | Type::Set(t, _) | Type::Map(_, t, _) => holds_key(t, of),
        Type::Record(fields) => fields.iter().any(|f| holds_key(&f.ty, of)),
        _ => false,
    }
}
