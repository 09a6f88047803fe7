//! A set of facts in memory.

use querent_compiler::model::{EntityId, Field, Model, Type};
use querent_compiler::value::Value;
use std::collections::BTreeMap;

/// Rows of one root or link entity: flattened key to fact row.
pub type Rows = BTreeMap<Vec<Value>, Vec<Value>>;

/// All facts: root or link entity, then flattened key (order of `Model::key_leaves`), then the
/// fact row (slots of `Entity::fields`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Rows by root or link entity.
    pub rows: BTreeMap<EntityId, Rows>,
}

impl Facts {
    /// The rows of the root of an entity, with their keys.
    pub fn of(
        &self,
        model: &Model,
        entity: EntityId,
    ) -> impl Iterator<Item = (&Vec<Value>, &Vec<Value>)> {
        self.rows
            .get(&model.entity(entity).root)
            .into_iter()
            .flatten()
    }
    /// The row of an instance.
    pub fn row(&self, model: &Model, entity: EntityId, key: &[Value]) -> Option<&Vec<Value>> {
        self.rows.get(&model.entity(entity).root)?.get(key)
    }
    /// The rows of the root of an entity, to change them.
    pub fn of_mut(&mut self, model: &Model, entity: EntityId) -> &mut Rows {
        self.rows.entry(model.entity(entity).root).or_default()
    }
    /// How many rows there are in all.
    pub fn len(&self) -> usize {
        self.rows.values().map(BTreeMap::len).sum()
    }
    /// True if there is no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The flattened key of a fact row; parts that are missing are null.
pub fn key_of(model: &Model, entity: EntityId, row: &[Value]) -> Vec<Value> {
    let root = model.root(entity);
    let mut key = Vec::new();
    for &slot in &root.key {
        match (&root.fields[slot], &row[slot]) {
            (Field::Reference(_), Value::Key(parts)) => key.extend(parts.iter().cloned()),
            (Field::Reference(r), _) => {
                let parts = model.key_leaves(model.reference(*r).target).len();
                key.extend(std::iter::repeat_n(Value::Null, parts));
            }
            (_, value) => key.push(value.clone()),
        }
    }
    key
}

/// The concrete entity of a fact row.
pub fn concrete(model: &Model, root: EntityId, row: &[Value]) -> EntityId {
    let members = model.type_members(root);
    match model.slot(root, Field::Type).map(|slot| &row[slot]) {
        Some(Value::Enum(position)) => members.get(usize::from(*position)).copied().unwrap_or(root),
        _ => root,
    }
}

/// True if `entity` is `ancestor` or below it.
pub fn is_a(model: &Model, entity: EntityId, ancestor: EntityId) -> bool {
    entity == ancestor || model.entity(ancestor).subtypes.contains(&entity)
}

/// Every reference inside a value of a type: the entity referred to and the flattened key.
pub fn inner_keys(ty: &Type, value: &Value, out: &mut Vec<(EntityId, Vec<Value>)>) {
    match (ty, value) {
        (Type::Key(entity), Value::Key(key)) => out.push((*entity, key.clone())),
        (Type::List(t, _), Value::List(elements)) | (Type::Set(t, _), Value::Set(elements)) => {
            for element in elements {
                inner_keys(t, element, out);
            }
        }
        (Type::Map(k, v, _), Value::Map(pairs)) => {
            for (key, element) in pairs {
                inner_keys(k, key, out);
                inner_keys(v, element, out);
            }
        }
        (Type::Record(fields), Value::Record(values)) => {
            for (field, value) in fields.iter().zip(values) {
                inner_keys(&field.ty, value, out);
            }
        }
        _ => {}
    }
}

/// A part of a value, through nested records and keys; null where the way ends early.
pub fn part<'v>(mut value: &'v Value, path: &[u16]) -> &'v Value {
    for &step in path {
        match value {
            Value::Record(fields) | Value::Key(fields) => match fields.get(usize::from(step)) {
                Some(field) => value = field,
                None => return &Value::Null,
            },
            _ => return &Value::Null,
        }
    }
    value
}

/// The type of a part, through nested records.
pub fn part_type<'t>(mut ty: &'t Type, path: &[u16]) -> Option<&'t Type> {
    for &step in path {
        match ty {
            Type::Record(fields) => ty = &fields.get(usize::from(step))?.ty,
            _ => return None,
        }
    }
    Some(ty)
}
