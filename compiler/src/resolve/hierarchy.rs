//! Supertypes and subtypes.

use crate::model::{EntityId, EntityKind, Field, Model};

/// The entity and its supertypes, the root first.
pub(super) fn ancestry(model: &Model, entity: EntityId) -> Vec<EntityId> {
    let mut chain = vec![entity];
    let mut at = entity;
    while let EntityKind::Sub(parent) = model.entity(at).kind {
        // A cycle has been reported; the chain only has to end.
        if chain.contains(&parent) {
            break;
        }
        chain.push(parent);
        at = parent;
    }
    chain.reverse();
    chain
}

/// The entity, its supertypes and its subtypes: everything an instance of it may be.
pub(super) fn family(model: &Model, entity: EntityId) -> Vec<EntityId> {
    let mut family = ancestry(model, entity);
    family.extend(&model.entity(entity).subtypes);
    family
}

/// The entity that declares a field of a row.
pub(super) fn owner(model: &Model, field: Field) -> Option<EntityId> {
    match field {
        Field::Type => None,
        Field::Attribute(a) => Some(model.attribute(a).entity),
        Field::Reference(r) => Some(model.reference(r).entity),
    }
}

/// The name of a field of a row.
pub(super) fn field_name(model: &Model, field: Field) -> &str {
    match field {
        Field::Type => "type",
        Field::Attribute(a) => &model.attribute(a).name,
        Field::Reference(r) => &model.reference(r).name,
    }
}

/// Fields declared by some entities of one hierarchy, in the order of the row. The deadline is
/// declared by nobody.
pub(super) fn fields_of(
    model: &Model,
    root: EntityId,
    entities: &[EntityId],
) -> Vec<(usize, Field)> {
    let deadline = model.root(root).deadline.map(Field::Attribute);
    let fields = model.root(root).fields.iter().copied().enumerate();
    fields
        .filter(|&(_, f)| owner(model, f).is_some_and(|e| entities.contains(&e)))
        .filter(|&(_, f)| Some(f) != deadline)
        .collect()
}
