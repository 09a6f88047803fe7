//! A fact row from one JSON object.

use super::{CodecError, check_bounds, from_json, json, scalar};
use crate::model::{EntityId, Field, LinkFault, Model, Type};
use crate::value::Value;
use serde_json::{Map, Value as Json};

/// The name that gives the concrete type of an instance, where its entity has subtypes.
pub(super) const TYPE: &str = "type";

/// The slots of the root's row from one object: attributes (`ref@attr` too) and references by name.
///
/// The concrete type is the entity given, or the one of its subtypes that a field `type` names.
/// Links have `from`, `to` and the link's attributes. What is left out is null, which is refused
/// where a value is required; a sequence left out is null and assigned by the database.
pub fn entity_row_from_json(
    model: &Model,
    entity: EntityId,
    json: &Json,
) -> Result<Vec<Value>, CodecError> {
    let Json::Object(object) = json else {
        let expected = format!("an object with the fields of {}", model.entity(entity).name);
        return Err(CodecError::new(json::describe(json), expected));
    };
    let typed = has_type_field(model, entity);
    let concrete = match object.get(TYPE).filter(|_| typed) {
        None => entity,
        Some(Json::String(name)) => subtype_named(model, entity, name)?,
        Some(other) => {
            return Err(CodecError::new(json::describe(other), "the name of an entity").at(TYPE));
        }
    };
    let unknown = object
        .keys()
        .find(|name| !(typed && *name == TYPE) && field_named(model, concrete, name).is_none());
    if let Some(name) = unknown {
        return Err(unknown_field(model, concrete, name));
    }
    fill_row(model, concrete, |slot| {
        let Some(found) = object.get(slot.name) else {
            return Ok(None);
        };
        from_json(model, &slot.ty, true, found)
            .map_err(|e| e.at(slot.name))
            .map(Some)
    })
}

/// The key of an instance whose row cannot be read otherwise, where its fields can be.
pub fn entity_key_from_json(model: &Model, entity: EntityId, json: &Json) -> Option<Vec<Value>> {
    fill_key(model, entity, |slot| {
        from_json(model, &slot.ty, false, json.get(slot.name)?).ok()
    })
}

/// The object from which [`entity_row_from_json`] reads the row again, given its concrete entity.
pub fn entity_row_to_json(model: &Model, entity: EntityId, row: &[Value]) -> Map<String, Json> {
    let root = model.root(entity);
    let fields = root.fields.iter().zip(row);
    let shown =
        fields.filter(|&(&field, value)| !model.is_hidden(entity, field) && !value.is_null());
    let named = shown.filter_map(|(&field, value)| {
        let slot = slot_of(model, field)?;
        Some((slot.name.to_owned(), json::to_json(model, &slot.ty, value)))
    });
    named.collect()
}

/// A field of a row, with what reading it needs.
pub(super) struct Slot<'m> {
    pub(super) name: &'m str,
    pub(super) ty: Type,
    pub(super) field: Field,
}

/// Fills the row of a concrete entity, slot by slot, and checks what is required.
pub(super) fn fill_row<'m>(
    model: &'m Model,
    concrete: EntityId,
    mut read: impl FnMut(&Slot<'m>) -> Result<Option<Value>, CodecError>,
) -> Result<Vec<Value>, CodecError> {
    let root = model.root(concrete);
    let mut row = Vec::with_capacity(root.fields.len());
    for &field in &root.fields {
        row.push(match slot_of(model, field) {
            None => Value::Enum(type_position(model, concrete)),
            Some(slot) if declared_for(model, concrete, field) => {
                let value = read(&slot)?.unwrap_or_default();
                check_bounds(&slot.ty, &value).map_err(|e| e.at(slot.name))?;
                value
            }
            Some(_) => Value::Null,
        });
    }
    for (&field, value) in root.fields.iter().zip(&row) {
        let missing = value.is_null() && declared_for(model, concrete, field);
        if missing
            && is_required(model, field)
            && let Some(slot) = slot_of(model, field)
        {
            let expected = scalar::describe(model, &slot.ty);
            return Err(CodecError::new("nothing", expected)
                .at(slot.name)
                .help(format!("{} must have a value", slot.name)));
        }
    }
    match link_error(model, concrete, &row) {
        Some(error) => Err(error),
        None => Ok(row),
    }
}

/// The flat key of an instance, where each of its fields can be read.
pub(super) fn fill_key<'m>(
    model: &'m Model,
    entity: EntityId,
    mut read: impl FnMut(&Slot<'m>) -> Option<Value>,
) -> Option<Vec<Value>> {
    let root = model.root(entity);
    let mut flat = Vec::new();
    for &slot in &root.key {
        match read(&slot_of(model, *root.fields.get(slot)?)?)? {
            Value::Null => return None,
            Value::Key(parts) => flat.extend(parts),
            value => flat.push(value),
        }
    }
    Some(flat)
}

/// The first attribute of a reference that does not agree with it.
fn link_error(model: &Model, concrete: EntityId, row: &[Value]) -> Option<CodecError> {
    let (slot, reference, fault) = model.link_faults(concrete, row).next()?;
    let fields = &model.root(concrete).fields;
    let slot = slot_of(model, *fields.get(slot)?)?;
    let of = slot_of(model, *fields.get(reference)?)?.name;
    let error = match fault {
        LinkFault::Loose => CodecError::new("a value", format!("nothing, as there is no {of}"))
            .help(format!("give {of} too, or leave {} out", slot.name)),
        LinkFault::Bare => CodecError::new("nothing", scalar::describe(model, &slot.ty))
            .help(format!("whoever gives {of} gives {} too", slot.name)),
    };
    Some(error.at(slot.name))
}

/// The attribute or reference behind a field; none for the type.
pub(super) fn slot_of(model: &Model, field: Field) -> Option<Slot<'_>> {
    match field {
        Field::Type => None,
        Field::Attribute(id) => {
            let attribute = model.attribute(id);
            Some(Slot {
                name: &attribute.name,
                ty: attribute.ty.clone(),
                field,
            })
        }
        Field::Reference(id) => {
            let reference = model.reference(id);
            Some(Slot {
                name: &reference.name,
                ty: Type::Key(reference.target),
                field,
            })
        }
    }
}

/// The fields that an instance of the concrete entity has: its own and inherited ones, without
/// those that are for the database to fill in.
pub(super) fn slots(model: &Model, concrete: EntityId) -> impl Iterator<Item = Slot<'_>> {
    let root = model.root(concrete);
    let given = move |&&field: &&Field| {
        declared_for(model, concrete, field) && !model.is_hidden(concrete, field)
    };
    root.fields
        .iter()
        .filter(given)
        .filter_map(|&field| slot_of(model, field))
}

/// A field by the name a person writes.
pub(super) fn field_named<'m>(
    model: &'m Model,
    concrete: EntityId,
    name: &str,
) -> Option<Slot<'m>> {
    slots(model, concrete).find(|slot| slot.name == name)
}

/// Whether a field `type` names the concrete type: not where an attribute has that name.
pub(super) fn has_type_field(model: &Model, entity: EntityId) -> bool {
    let root = model.root(entity);
    let taken = root
        .fields
        .iter()
        .any(|&f| slot_of(model, f).is_some_and(|s| s.name == TYPE));
    root.fields.contains(&Field::Type) && !taken
}

/// The entity itself or one of its subtypes, by name.
pub(super) fn subtype_named(
    model: &Model,
    entity: EntityId,
    name: &str,
) -> Result<EntityId, CodecError> {
    let mut members = vec![entity];
    members.extend(&model.entity(entity).subtypes);
    let names: Vec<&str> = members
        .iter()
        .map(|&e| model.entity(e).name.as_str())
        .collect();
    if let Some((&found, _)) = members
        .iter()
        .zip(&names)
        .find(|(_, known)| **known == name)
    {
        Ok(found)
    } else {
        let of = format!("{} or a type below it", model.entity(entity).name);
        Err(CodecError::unknown_name("the entity", name, &of, &names).at(TYPE))
    }
}

/// A name that is not a field of the entity; says so where it is one of a sibling's.
pub(super) fn unknown_field(model: &Model, concrete: EntityId, name: &str) -> CodecError {
    let entity = model.entity(concrete);
    let mut names: Vec<&str> = slots(model, concrete).map(|slot| slot.name).collect();
    if has_type_field(model, concrete) {
        names.push(TYPE);
    }
    let error = CodecError::unknown_name("the field", name, &entity.name, &names);
    let elsewhere = model.type_members(entity.root).into_iter().find(|&other| {
        model
            .entity(other)
            .own
            .iter()
            .any(|&f| slot_of(model, f).is_some_and(|s| s.name == name))
    });
    match elsewhere {
        Some(other) => {
            let other = &model.entity(other).name;
            error.help(format!(
                "`{name}` belongs to {other}; this is a {}",
                entity.name
            ))
        }
        None => error,
    }
}

fn type_position(model: &Model, concrete: EntityId) -> u16 {
    let members = model.type_members(model.entity(concrete).root);
    members.iter().position(|&e| e == concrete).unwrap_or(0) as u16
}

/// Whether the field is declared by the entity or by one that it is below of.
fn declared_for(model: &Model, concrete: EntityId, field: Field) -> bool {
    let declaring = match field {
        Field::Type => return true,
        Field::Attribute(id) => model.attribute(id).entity,
        Field::Reference(id) => model.reference(id).entity,
    };
    model.is_a(concrete, declaring)
}

/// Whether a field has a value whatever the others have: see [`link_error`] for attributes of a
/// reference.
fn is_required(model: &Model, field: Field) -> bool {
    match field {
        Field::Type => false,
        Field::Reference(id) => !model.reference(id).optional,
        Field::Attribute(id) => {
            let attribute = model.attribute(id);
            !attribute.optional && attribute.sequence.is_none() && attribute.of.is_none()
        }
    }
}
