//! Values as JSON.
//!
//! | type | JSON |
//! |---|---|
//! | int, bigint, float, decimal | number (infinite floats: `"Infinity"`, `"-Infinity"`; a decimal may be a string) |
//! | text, blob (base64), date, timestamp, uuid, timeuuid, enumeration, type | string (a timestamp may be whole milliseconds) |
//! | point | `{"lat": …, "lon": …}`; read also from `[lat, lon]` |
//! | list, set | array |
//! | map | object where keys are text, else array of `[key, value]` |
//! | record | object |
//! | key | the value of its one part; an object where it has several |

use super::{CodecError, join, key_parts, parts, scalar};
use crate::model::{EntityId, Model, Type};
use crate::value::Value;
use crate::value::ops::of_any;
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value as Json};
use std::collections::BTreeSet;
use std::fmt;

/// The JSON of one line of text.
pub fn json_from_line(line: &[u8]) -> Result<Json, CodecError> {
    check_text(line)?;
    let json = serde_json::from_slice(line).map_err(|error| {
        let found = format!("something that is not JSON ({})", syntax(&error));
        CodecError::new(found, "an object")
    })?;
    says_once(line, &json)?;
    Ok(json)
}

/// Names the first byte of a line that is not UTF-8.
pub fn check_text(line: &[u8]) -> Result<(), CodecError> {
    let Err(error) = std::str::from_utf8(line) else {
        return Ok(());
    };
    let at = error.valid_up_to();
    let byte = line.get(at).copied().unwrap_or_default();
    let found = format!("the byte {byte:#04x} (column {})", at + 1);
    Err(CodecError::new(found, "text in UTF-8"))
}

/// What is wrong with a text of one line that is not JSON, and where. The line that the parser counts
/// is always the first.
pub(super) fn syntax(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let why = text.split(" at line ").next().unwrap_or_default();
    format!("{why}, column {}", error.column())
}

/// An error where an object of the text that this JSON was read from gives a name twice: only one
/// of the two values is in it.
pub(super) fn says_once(text: &[u8], json: &Json) -> Result<(), CodecError> {
    let (mut said, mut in_text, mut escaped) = (0, false, false);
    for &byte in text {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = in_text,
            b'"' => in_text = !in_text,
            b':' if !in_text => said += 1,
            _ => {}
        }
    }
    if said == names(json) {
        return Ok(());
    }
    // The text was read before, so that there is a name to be found.
    match serde_json::from_slice(text) {
        Ok(Twice(Some(error))) => Err(error),
        _ => Err(CodecError::new("a name twice in one object", "each once")),
    }
}

/// The first name that an object gives a second time, and where.
struct Twice(Option<CodecError>);

impl<'de> Deserialize<'de> for Twice {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TwiceVisitor)
    }
}

struct TwiceVisitor;

impl<'de> Visitor<'de> for TwiceVisitor {
    type Value = Twice;

    fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Twice, A::Error> {
        let (mut names, mut first) = (BTreeSet::new(), None);
        while let Some((name, Twice(within))) = map.next_entry::<String, Twice>()? {
            let found = within.map(|error| error.at(&name));
            let again = names.contains(&name).then(|| {
                let found = format!("the name `{name}` twice in one object");
                CodecError::new(found, "it once")
            });
            first = first.or(found).or(again);
            names.insert(name);
        }
        Ok(Twice(first))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Twice, A::Error> {
        let (mut index, mut first) = (0, None);
        while let Some(Twice(within)) = items.next_element()? {
            first = first.or(within.map(|error: CodecError| error.at_index(index)));
            index += 1;
        }
        Ok(Twice(first))
    }

    fn visit_unit<E>(self) -> Result<Twice, E> {
        Ok(Twice(None))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Twice, E> {
        Ok(Twice(None))
    }

    fn visit_i64<E>(self, _: i64) -> Result<Twice, E> {
        Ok(Twice(None))
    }

    fn visit_u64<E>(self, _: u64) -> Result<Twice, E> {
        Ok(Twice(None))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Twice, E> {
        Ok(Twice(None))
    }

    fn visit_str<E>(self, _: &str) -> Result<Twice, E> {
        Ok(Twice(None))
    }
}

/// How many names the objects of this JSON have.
fn names(json: &Json) -> usize {
    match json {
        Json::Object(fields) => fields.len() + fields.values().map(names).sum::<usize>(),
        Json::Array(items) => items.iter().map(names).sum(),
        _ => 0,
    }
}

/// A value of the type from JSON; null only where it is optional.
pub fn from_json(
    model: &Model,
    ty: &Type,
    optional: bool,
    json: &Json,
) -> Result<Value, CodecError> {
    let unlike = || CodecError::new(describe(json), scalar::describe(model, ty));
    match (ty, json) {
        (_, Json::Null) if optional => Ok(Value::Null),
        (_, Json::Null) => Err(unlike()),
        (Type::List(inner, _), Json::Array(items)) => {
            elements(model, inner, items).map(Value::List)
        }
        (Type::Set(inner, _), Json::Array(items)) => {
            let mut values = elements(model, inner, items)?;
            values.sort();
            values.dedup();
            Ok(Value::Set(values))
        }
        (Type::Map(key, inner, _), _) => map(model, key, inner, json, unlike),
        (Type::Record(_), Json::Object(object)) => parts_from_object(model, ty, object),
        (Type::Key(entity), _) => key(model, ty, *entity, json),
        (Type::Point, _) => point(json, unlike),
        (Type::Bool | Type::Any, Json::Bool(b)) => Ok(Value::Bool(*b)),
        (Type::Any, Json::Number(number)) => any_number(model, number),
        (
            Type::Int | Type::BigInt | Type::Float | Type::Decimal | Type::Timestamp,
            Json::Number(number),
        ) => scalar::from_text(model, ty, &number.to_string()),
        // Numbers that are texts are accepted only where JSON numbers cannot say the same.
        (Type::Float, Json::String(text)) if matches!(text.as_str(), "Infinity" | "-Infinity") => {
            scalar::from_text(model, ty, text)
        }
        (Type::Bool | Type::Int | Type::BigInt | Type::Float, Json::String(_)) => Err(unlike()),
        (_, Json::String(text)) if ty.is_scalar() => scalar::from_text(model, ty, text),
        _ => Err(unlike()),
    }
}

/// The JSON of a value. A value that is not of the type is printed as what it is.
pub fn to_json(model: &Model, ty: &Type, value: &Value) -> Json {
    match (ty, value) {
        (_, Value::Null) => Json::Null,
        (_, Value::Bool(b)) => Json::Bool(*b),
        (_, Value::Int(n)) => Json::Number((*n).into()),
        (_, Value::Float(x)) => match Number::from_f64(*x) {
            Some(number) => Json::Number(number),
            None => text(model, ty, value),
        },
        (_, Value::Decimal(d)) => match d.to_string().parse::<Number>() {
            Ok(number) => Json::Number(number),
            Err(_) => text(model, ty, value),
        },
        (_, Value::Point(lat, lon)) => {
            let mut object = Map::new();
            object.insert("lat".into(), float(*lat));
            object.insert("lon".into(), float(*lon));
            Json::Object(object)
        }
        (Type::List(inner, _), Value::List(items)) | (Type::Set(inner, _), Value::Set(items)) => {
            items
                .iter()
                .map(|item| to_json(model, inner, item))
                .collect()
        }
        (Type::Map(key, inner, _), Value::Map(entries)) => map_to_json(model, key, inner, entries),
        (Type::Record(fields), Value::Record(values)) => fields
            .iter()
            .zip(values)
            .map(|(field, value)| (field.name.clone(), to_json(model, &field.ty, value)))
            .collect(),
        (Type::Key(entity), Value::Key(flat)) => key_to_json(model, *entity, &mut flat.iter()),
        (_, Value::List(items) | Value::Set(items) | Value::Record(items) | Value::Key(items)) => {
            items
                .iter()
                .map(|item| to_json(model, &Type::Any, item))
                .collect()
        }
        (_, Value::Map(entries)) => map_to_json(model, &Type::Any, &Type::Any, entries),
        _ => text(model, ty, value),
    }
}

/// Names what was found, in a message.
pub(super) fn describe(json: &Json) -> String {
    match json {
        Json::Null => "null".into(),
        Json::Bool(b) => b.to_string(),
        Json::Number(n) => format!("the number {n}"),
        Json::String(text) if text.is_empty() => "an empty text".into(),
        Json::String(text) => format!("the text {}", scalar::quote(text)),
        Json::Array(items) => format!("a list of {}", items.len()),
        Json::Object(object) => {
            let names: Vec<&str> = object.keys().take(5).map(String::as_str).collect();
            match names.as_slice() {
                [] => "an empty object".into(),
                names => format!("an object with {}", names.join(", ")),
            }
        }
    }
}

fn text(model: &Model, ty: &Type, value: &Value) -> Json {
    Json::String(scalar::to_text(model, ty, value).unwrap_or_default())
}

fn float(x: f64) -> Json {
    Number::from_f64(x).map_or(Json::Null, Json::Number)
}

fn elements(model: &Model, inner: &Type, items: &[Json]) -> Result<Vec<Value>, CodecError> {
    items
        .iter()
        .enumerate()
        .map(|(i, item)| from_json(model, inner, false, item).map_err(|e| e.at_index(i)))
        .collect()
}

fn map(
    model: &Model,
    key: &Type,
    inner: &Type,
    json: &Json,
    unlike: impl Fn() -> CodecError,
) -> Result<Value, CodecError> {
    let mut entries = match (key, json) {
        (Type::Text(_), Json::Object(object)) => object
            .iter()
            .map(|(k, v)| {
                let value = from_json(model, inner, false, v).map_err(|e| e.at(k))?;
                Ok((Value::Text(k.clone()), value))
            })
            .collect::<Result<Vec<_>, CodecError>>()?,
        (Type::Text(_), _) => return Err(unlike()),
        (_, Json::Array(items)) => items
            .iter()
            .enumerate()
            .map(|(i, item)| match item.as_array().map(Vec::as_slice) {
                Some([k, v]) => from_json(model, key, false, k)
                    .and_then(|k| Ok((k, from_json(model, inner, false, v)?)))
                    .map_err(|e| e.at_index(i)),
                _ => Err(CodecError::new(describe(item), "a pair [key, value]").at_index(i)),
            })
            .collect::<Result<Vec<_>, CodecError>>()?,
        _ => return Err(unlike()),
    };
    entries.sort();
    let twice = entries.windows(2).find_map(|pair| match pair {
        [(a, _), (b, _)] if a == b => Some(a),
        _ => None,
    });
    match twice {
        Some(k) => Err(CodecError::new(
            format!("the key {} twice", to_json(model, key, k)),
            "each key once",
        )),
        None => Ok(Value::Map(entries)),
    }
}

fn map_to_json(model: &Model, key: &Type, inner: &Type, entries: &[(Value, Value)]) -> Json {
    if matches!(key, Type::Text(_)) {
        entries
            .iter()
            .map(|(k, v)| {
                let name = scalar::to_text(model, key, k).unwrap_or_default();
                (name, to_json(model, inner, v))
            })
            .collect()
    } else {
        entries
            .iter()
            .map(|(k, v)| Json::Array(vec![to_json(model, key, k), to_json(model, inner, v)]))
            .collect()
    }
}

/// Reads the named parts of a record or a key of several parts.
fn parts_from_object(
    model: &Model,
    ty: &Type,
    object: &Map<String, Json>,
) -> Result<Value, CodecError> {
    let parts = parts(model, ty).unwrap_or_default();
    let names: Vec<&str> = parts.iter().map(|p| p.name).collect();
    if let Some(unknown) = object.keys().find(|k| !names.contains(&k.as_str())) {
        let of = match ty {
            Type::Key(entity) => format!("the key of {}", model.entity(*entity).name),
            _ => "the record".into(),
        };
        return Err(CodecError::unknown_name("the field", unknown, &of, &names));
    }
    let values = parts.iter().map(|part| match object.get(part.name) {
        Some(json) => from_json(model, &part.ty, part.optional, json).map_err(|e| e.at(part.name)),
        None if part.optional => Ok(Value::Null),
        None => Err(CodecError::new("nothing", scalar::describe(model, &part.ty)).at(part.name)),
    });
    Ok(join(ty, values.collect::<Result<_, _>>()?))
}

fn key(model: &Model, ty: &Type, entity: EntityId, json: &Json) -> Result<Value, CodecError> {
    let parts = key_parts(model, entity);
    match (parts.as_slice(), json) {
        // The one part may be named all the same, unless an object is what the part itself is.
        ([part], Json::Object(object)) if !matches!(part.ty, Type::Key(_) | Type::Point) => {
            parts_from_object(model, ty, object)
        }
        ([part], _) => Ok(join(ty, vec![from_json(model, &part.ty, false, json)?])),
        (_, Json::Object(object)) => parts_from_object(model, ty, object),
        _ => Err(CodecError::new(describe(json), scalar::describe(model, ty))),
    }
}

/// Takes the scalars of the key off the flat sequence.
fn key_to_json<'v>(
    model: &Model,
    entity: EntityId,
    flat: &mut impl Iterator<Item = &'v Value>,
) -> Json {
    let mut named = key_parts(model, entity)
        .into_iter()
        .map(|part| {
            let json = match part.ty {
                Type::Key(inner) => key_to_json(model, inner, &mut *flat),
                ty => to_json(model, &ty, flat.next().unwrap_or(&Value::Null)),
            };
            (part.name.to_owned(), json)
        })
        .collect::<Vec<_>>();
    match named.len() {
        1 => named.pop().map_or(Json::Null, |(_, json)| json),
        _ => named.into_iter().collect(),
    }
}

fn point(json: &Json, unlike: impl Fn() -> CodecError) -> Result<Value, CodecError> {
    let (lat, lon) = match json {
        Json::Object(object) if object.len() == 2 => match (object.get("lat"), object.get("lon")) {
            (Some(lat), Some(lon)) => (lat, lon),
            _ => return Err(unlike()),
        },
        Json::Array(items) => match items.as_slice() {
            [lat, lon] => (lat, lon),
            _ => return Err(unlike()),
        },
        _ => return Err(unlike()),
    };
    let degrees = |json: &Json, name: &str, most: f64| {
        let x = json.as_f64().filter(|x| x.abs() <= most).ok_or_else(|| {
            CodecError::new(describe(json), format!("degrees from -{most} to {most}")).at(name)
        })?;
        Ok(if x == 0.0 { 0.0 } else { x })
    };
    Ok(Value::Point(
        degrees(lat, "lat", 90.0)?,
        degrees(lon, "lon", 180.0)?,
    ))
}

/// The number that the digits say: a whole number of 64 bits, a float where it is one, else a
/// decimal, so that no digit is lost that can be kept.
fn any_number(model: &Model, number: &Number) -> Result<Value, CodecError> {
    let digits = number.to_string();
    let whole = !digits.contains(['.', 'e', 'E']);
    let decimal = |digits: &str| scalar::from_text(model, &Type::Decimal, digits).ok();
    let exact = decimal(&digits);
    let value = if whole {
        number.as_i64().map(Value::Int).or(exact)
    } else {
        let float = number.as_f64();
        let rounds = exact.is_some() && float.and_then(|x| decimal(&x.to_string())) != exact;
        let float = float.and_then(scalar::float_value);
        if rounds { exact } else { float }
    };
    value.map(of_any).ok_or_else(|| {
        CodecError::new(
            format!("the number {}", scalar::quote(&digits)),
            "a float, or a whole number of 28 digits at most",
        )
    })
}
