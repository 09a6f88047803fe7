//! Values at the edges: JSON, cells of CSV and `key=value` arguments, in and out.
//!
//! Every value that enters passes through here, so the invariants of [`Value`] are established in
//! this folder: no NaN, no negative zero, normalised decimals, sorted and distinct sets and maps.
//! What [`to_json`] and [`to_text`] print, [`from_json`] and [`from_text`] read back unchanged.

mod error;
mod json;
mod record;
mod row;
mod scalar;
mod text;
mod time;

#[cfg(test)]
mod tests;

pub use error::CodecError;
pub use json::{check_text, from_json, json_from_line, to_json};
pub use record::{Named, RecordLayout};
pub use row::{entity_key_from_json, entity_row_from_json, entity_row_to_json};
pub use text::{from_text, to_text};

use crate::model::{EntityId, Field, Model, Type};
use crate::value::Value;

/// A named part of a value that consists of several: a record's field, a part of a key.
pub(crate) struct Part<'m> {
    name: &'m str,
    ty: Type,
    optional: bool,
}

/// The parts of an entity's key as written by a person: references are not flattened.
fn key_parts(model: &Model, entity: EntityId) -> Vec<Part<'_>> {
    let root = model.root(entity);
    root.key
        .iter()
        .filter_map(|&slot| root.fields.get(slot))
        .filter_map(|&field| match field {
            Field::Type => None,
            Field::Attribute(id) => {
                let attribute = model.attribute(id);
                Some((attribute.name.as_str(), attribute.ty.clone()))
            }
            Field::Reference(id) => {
                let reference = model.reference(id);
                Some((reference.name.as_str(), Type::Key(reference.target)))
            }
        })
        .map(|(name, ty)| Part {
            name,
            ty,
            optional: false,
        })
        .collect()
}

/// The parts of a type that has named ones.
fn parts<'m>(model: &'m Model, ty: &'m Type) -> Option<Vec<Part<'m>>> {
    match ty {
        Type::Record(fields) => Some(
            fields
                .iter()
                .map(|f| Part {
                    name: &f.name,
                    ty: f.ty.clone(),
                    optional: f.optional,
                })
                .collect(),
        ),
        Type::Key(entity) => Some(key_parts(model, *entity)),
        _ => None,
    }
}

/// Joins the values of [`parts`] to one value. Keys are flat.
fn join(ty: &Type, values: Vec<Value>) -> Value {
    if matches!(ty, Type::Key(_)) {
        let mut flat = Vec::with_capacity(values.len());
        for value in values {
            match value {
                Value::Key(inner) => flat.extend(inner),
                scalar => flat.push(scalar),
            }
        }
        Value::Key(flat)
    } else {
        Value::Record(values)
    }
}

/// Refuses texts and blobs that are longer than their declared maximum.
///
/// Kept apart from reading, because a parameter of a question may be longer than anything stored.
pub fn check_bounds(ty: &Type, value: &Value) -> Result<(), CodecError> {
    match (ty, value) {
        (Type::Text(size), Value::Text(text)) => check_length("text", text.len(), size.max),
        (Type::Blob(size), Value::Blob(bytes)) => check_length("a blob", bytes.len(), size.max),
        (Type::List(inner, _), Value::List(items)) | (Type::Set(inner, _), Value::Set(items)) => {
            let mut items = items.iter().enumerate();
            items.try_for_each(|(i, v)| check_bounds(inner, v).map_err(|e| e.at_index(i)))
        }
        (Type::Map(key, inner, _), Value::Map(entries)) => {
            entries.iter().enumerate().try_for_each(|(i, (k, v))| {
                let checked = check_bounds(key, k).and_then(|()| check_bounds(inner, v));
                checked.map_err(|e| e.at_index(i))
            })
        }
        (Type::Record(fields), Value::Record(values)) => {
            let mut fields = fields.iter().zip(values);
            fields.try_for_each(|(field, v)| {
                check_bounds(&field.ty, v).map_err(|e| e.at(&field.name))
            })
        }
        _ => Ok(()),
    }
}

fn check_length(what: &str, bytes: usize, max: Option<f64>) -> Result<(), CodecError> {
    match max {
        Some(max) if bytes as f64 > max => Err(CodecError::new(
            format!("{what} of {bytes} bytes"),
            format!("at most {max} bytes, as the model declares"),
        )),
        _ => Ok(()),
    }
}
