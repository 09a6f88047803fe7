//! Values as one cell of text: CSV, `key=value` arguments, tables.
//!
//! Scalars stand for themselves. Collections, records, points and keys of several parts are JSON.
//! An empty cell is null where the value is optional; else the empty text, the empty collection.

use super::json::{says_once, syntax};
use super::{CodecError, from_json, key_parts, scalar, to_json};
use crate::model::{Model, Type};
use crate::value::Value;

/// A value of the type from one cell.
pub fn from_text(
    model: &Model,
    ty: &Type,
    optional: bool,
    text: &str,
) -> Result<Value, CodecError> {
    if text.is_empty() && optional {
        return Ok(Value::Null);
    }
    match ty {
        Type::List(..) if text.is_empty() => Ok(Value::List(vec![])),
        Type::Set(..) if text.is_empty() => Ok(Value::Set(vec![])),
        Type::Map(..) if text.is_empty() => Ok(Value::Map(vec![])),
        Type::Any => Ok(any(text)),
        Type::Key(entity) => match key_parts(model, *entity).as_slice() {
            [part] => match from_text(model, &part.ty, false, text)? {
                flat @ Value::Key(_) => Ok(flat),
                one => Ok(Value::Key(vec![one])),
            },
            _ => json(model, ty, text),
        },
        Type::Point | Type::List(..) | Type::Set(..) | Type::Map(..) | Type::Record(_) => {
            json(model, ty, text)
        }
        _ => scalar::from_text(model, ty, text),
    }
}

/// One cell of text. Null is empty.
pub fn to_text(model: &Model, ty: &Type, value: &Value) -> String {
    match (ty, value) {
        (Type::Any, Value::Text(text)) => any_text(text),
        (Type::Key(entity), Value::Key(flat)) => {
            match (key_parts(model, *entity).as_slice(), flat.as_slice()) {
                ([part], [one]) if !matches!(part.ty, Type::Key(_)) => {
                    to_text(model, &part.ty, one)
                }
                ([part], _) => to_text(model, &part.ty, value),
                _ => to_json(model, ty, value).to_string(),
            }
        }
        _ => scalar::to_text(model, ty, value)
            .unwrap_or_else(|| to_json(model, ty, value).to_string()),
    }
}

fn json(model: &Model, ty: &Type, text: &str) -> Result<Value, CodecError> {
    let json = serde_json::from_str(text).map_err(|why| {
        CodecError::new(
            scalar::quote(text),
            format!("JSON: {}", scalar::describe(model, ty)),
        )
        .help(syntax(&why))
    })?;
    says_once(text.as_bytes(), &json)?;
    from_json(model, ty, false, &json)
}

/// A number, `true`, `false` and a quoted JSON text are what they say; all else is text.
fn any(text: &str) -> Value {
    let plain = || Value::Text(text.to_owned());
    // JSON alone would let blanks around a number pass for the number.
    if text.trim() != text {
        return plain();
    }
    match serde_json::from_str::<serde_json::Value>(text) {
        Ok(json) => {
            from_json(&Model::default(), &Type::Any, false, &json).unwrap_or_else(|_| plain())
        }
        Err(_) => plain(),
    }
}

/// A text that would be read as something else is quoted.
fn any_text(text: &str) -> String {
    match any(text) {
        Value::Text(same) if same == text => text.to_owned(),
        _ => serde_json::Value::from(text).to_string(),
    }
}
