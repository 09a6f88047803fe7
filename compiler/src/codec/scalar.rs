//! Scalars as text: the one reading and the one printing that JSON strings, CSV cells and
//! command-line arguments share.

use super::{CodecError, time};
use crate::model::{Model, Type};
use crate::value::Value;
use crate::value::ops::is_within_digits;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use rust_decimal::Decimal;
use std::fmt::Write as _;

/// A scalar from its text. `Type::Any` takes the text for a text; collections, records and keys
/// are not scalars and are refused.
pub(super) fn from_text(model: &Model, ty: &Type, text: &str) -> Result<Value, CodecError> {
    let unlike = |expected: &str| CodecError::new(quote(text), expected);
    match ty {
        Type::Bool => match text {
            "true" => Ok(Value::Bool(true)),
            "false" => Ok(Value::Bool(false)),
            _ => Err(unlike("true or false")),
        },
        Type::Int => whole(text, i64::from(i32::MIN), i64::from(i32::MAX), "32"),
        Type::BigInt => whole(text, i64::MIN, i64::MAX, "64"),
        Type::Float => float(text),
        Type::Decimal => decimal(text),
        Type::Text(_) | Type::Any | Type::Cursor => Ok(Value::Text(text.to_owned())),
        Type::Blob(_) => BASE64
            .decode(text)
            .map(Value::Blob)
            .map_err(|why| unlike("a blob in base64").help(why.to_string())),
        Type::Date => time::date_from_text(text).map(Value::Date),
        Type::Timestamp => time::timestamp_from_text(text).map(Value::Timestamp),
        Type::Uuid => uuid(text)
            .map(Value::Uuid)
            .ok_or_else(|| unlike("a uuid such as 123e4567-e89b-42d3-a456-426614174000")),
        Type::TimeUuid => timeuuid(text),
        Type::Enum(id) => {
            let enumeration = model.enumeration(*id);
            member(
                text,
                &enumeration.name,
                enumeration.members.iter().map(String::as_str),
            )
        }
        Type::Tag(root) => {
            let members = model.type_members(model.entity(*root).root);
            let names = members.iter().map(|&e| model.entity(e).name.as_str());
            member(text, &model.entity(*root).name, names)
        }
        Type::Point
        | Type::List(..)
        | Type::Set(..)
        | Type::Map(..)
        | Type::Record(_)
        | Type::Key(_) => Err(unlike(&describe(model, ty))),
    }
}

/// The text of a scalar; none for what is not one.
pub(super) fn to_text(model: &Model, ty: &Type, value: &Value) -> Option<String> {
    Some(match value {
        Value::Null => String::new(),
        Value::Bool(b) => b.to_string(),
        Value::Int(n) => n.to_string(),
        Value::Float(x) => float_to_text(*x),
        Value::Decimal(d) => d.to_string(),
        Value::Text(t) => t.clone(),
        Value::Blob(bytes) => BASE64.encode(bytes),
        Value::Date(days) => time::date_to_text(*days),
        Value::Timestamp(millis) => time::timestamp_to_text(*millis),
        Value::Uuid(id) | Value::TimeUuid(id) => uuid_to_text(id),
        Value::Enum(at) => member_name(model, ty, *at).unwrap_or_else(|| at.to_string()),
        Value::Point(..)
        | Value::List(_)
        | Value::Set(_)
        | Value::Map(_)
        | Value::Record(_)
        | Value::Key(_) => return None,
    })
}

/// What a type asks for, in words.
pub(super) fn describe(model: &Model, ty: &Type) -> String {
    match ty {
        Type::Bool => "true or false".into(),
        Type::Int | Type::BigInt => "a whole number".into(),
        Type::Float | Type::Decimal => "a number".into(),
        Type::Text(_) => "text".into(),
        Type::Blob(_) => "a blob in base64".into(),
        Type::Date => "a date such as \"2026-01-31\"".into(),
        Type::Timestamp => "a timestamp such as \"2026-01-31T12:00:00Z\"".into(),
        Type::Uuid => "a uuid".into(),
        Type::TimeUuid => "a timeuuid (a uuid of version 1)".into(),
        Type::Point => "a point such as {\"lat\": 52.5, \"lon\": 13.4}".into(),
        Type::Any => "text, a number, true or false".into(),
        Type::Enum(id) => format!("a member of {}", model.enumeration(*id).name),
        Type::List(..) | Type::Set(..) => "a list such as [1, 2]".into(),
        Type::Map(key, ..) if matches!(**key, Type::Text(_)) => "an object".into(),
        Type::Map(..) => "a list of [key, value] pairs".into(),
        Type::Record(fields) => {
            let names: Vec<&str> = fields.iter().map(|f| f.name.as_str()).collect();
            format!("an object with the fields {}", names.join(", "))
        }
        Type::Key(entity) => {
            let parts = super::key_parts(model, *entity);
            let names: Vec<&str> = parts.iter().map(|p| p.name).collect();
            let name = &model.entity(*entity).name;
            match names.as_slice() {
                [one] => format!("the key of {name}: its {one}"),
                many => format!("the key of {name}: an object with {}", many.join(", ")),
            }
        }
        Type::Tag(root) => format!("{} or a type below it", model.entity(*root).name),
        Type::Cursor => "the cursor of an earlier answer".into(),
    }
}

/// A float as the invariants want it: no NaN, no negative zero.
pub(super) fn float_value(x: f64) -> Option<Value> {
    (!x.is_nan()).then_some(Value::Float(if x == 0.0 { 0.0 } else { x }))
}

/// Names the text in a message, cut where it is long.
pub(super) fn quote(text: &str) -> String {
    const LONGEST: usize = 60;
    if text.is_empty() {
        return "nothing".into();
    }
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("`{}…`", text.get(..end).unwrap_or_default()),
        None => format!("`{text}`"),
    }
}

fn whole(text: &str, least: i64, most: i64, bits: &str) -> Result<Value, CodecError> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let is_whole = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    if !is_whole {
        return Err(CodecError::new(quote(text), "a whole number"));
    }
    match text.parse::<i64>() {
        Ok(n) if (least..=most).contains(&n) => Ok(Value::Int(n)),
        _ => Err(CodecError::new(
            quote(text),
            format!("a whole number of {bits} bits, from {least} to {most}"),
        )),
    }
}

fn float(text: &str) -> Result<Value, CodecError> {
    let error = || CodecError::new(quote(text), "a number");
    let x: f64 = text.parse().map_err(|_| error())?;
    let spelled_out = text.trim_start_matches(['+', '-']).starts_with(['i', 'I']);
    if x.is_infinite() && !spelled_out {
        return Err(error().help("it is beyond what 64 bits can hold"));
    }
    float_value(x).ok_or_else(error)
}

fn float_to_text(x: f64) -> String {
    if x.is_infinite() {
        return if x > 0.0 {
            "Infinity".into()
        } else {
            "-Infinity".into()
        };
    }
    // The same digits as in JSON: the shortest that are read back to the same bits.
    serde_json::Number::from_f64(x).map_or_else(|| x.to_string(), |n| n.to_string())
}

/// Exact, or refused: digits are never rounded away.
pub(super) fn decimal(text: &str) -> Result<Value, CodecError> {
    if !is_number(text) {
        return Err(CodecError::new(
            quote(text),
            "a decimal number such as 12.50",
        ));
    }
    exact_decimal(text)
        .map(Value::Decimal)
        .ok_or_else(|| CodecError::new(quote(text), "a decimal of at most 28 digits"))
}

fn exact_decimal(text: &str) -> Option<Decimal> {
    let (digits, exponent) = match text.split_once(['e', 'E']) {
        Some((digits, exponent)) => (digits, exponent.parse::<i32>().ok()?),
        None => (text, 0),
    };
    // Zeros at the end of a fraction say nothing, but would count as digits.
    let digits = if digits.contains('.') {
        digits.trim_end_matches('0').trim_end_matches('.')
    } else {
        digits
    };
    let digits = if digits.trim_start_matches(['+', '-']).is_empty() {
        "0"
    } else {
        digits
    };
    let mut number = Decimal::from_str_exact(digits).ok()?.normalize();
    if number.is_zero() {
        return Some(Decimal::ZERO);
    }
    let scale = i64::from(number.scale()) - i64::from(exponent);
    if scale >= 0 {
        let scale = u32::try_from(scale).ok()?;
        number.set_scale(scale).ok()?;
    } else {
        number.set_scale(0).ok()?;
        for _ in scale..0 {
            number = number.checked_mul(Decimal::TEN)?;
        }
    }
    Some(number.normalize()).filter(is_within_digits)
}

fn is_number(text: &str) -> bool {
    let spelled_out = text.contains(['i', 'I', 'n', 'N']);
    !spelled_out && text.parse::<f64>().is_ok()
}

fn timeuuid(text: &str) -> Result<Value, CodecError> {
    let expected = "a timeuuid such as 13814000-1dd2-11b2-8000-000000000000 (version 1)";
    let id = uuid(text).ok_or_else(|| CodecError::new(quote(text), expected))?;
    let [_, _, _, _, _, _, version, ..] = id;
    match version >> 4 {
        1 => Ok(Value::TimeUuid(id)),
        other => Err(CodecError::new(
            format!("`{text}`, a uuid of version {other}"),
            expected,
        )),
    }
}

/// Reads 32 hexadecimal digits, with hyphens at the four usual places or without any.
fn uuid(text: &str) -> Option<[u8; 16]> {
    let bytes = text.as_bytes();
    let hyphens = [8, 13, 18, 23];
    let hyphenated = match bytes.len() {
        32 => false,
        36 => hyphens.iter().all(|&at| bytes.get(at) == Some(&b'-')),
        _ => return None,
    };
    let mut digits = bytes
        .iter()
        .enumerate()
        .filter(|(at, _)| !(hyphenated && hyphens.contains(at)))
        .map(|(_, &b)| char::from(b).to_digit(16));
    let mut id = [0; 16];
    for byte in &mut id {
        let (high, low) = (digits.next()??, digits.next()??);
        *byte = (high << 4 | low) as u8;
    }
    digits.next().is_none().then_some(id)
}

fn uuid_to_text(id: &[u8; 16]) -> String {
    let mut text = String::with_capacity(36);
    for (at, byte) in id.iter().enumerate() {
        if matches!(at, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        let _ = write!(text, "{byte:02x}");
    }
    text
}

fn member<'m>(
    text: &str,
    of: &str,
    names: impl Iterator<Item = &'m str>,
) -> Result<Value, CodecError> {
    let names: Vec<&str> = names.collect();
    if let Some(at) = names.iter().position(|&name| name == text) {
        Ok(Value::Enum(at as u16))
    } else {
        let error = CodecError::unknown_name("", text, of, &names);
        Err(CodecError {
            found: quote(text),
            expected: format!("a member of {of}"),
            ..error
        })
    }
}

fn member_name(model: &Model, ty: &Type, at: u16) -> Option<String> {
    match ty {
        Type::Enum(id) => model.enumeration(*id).members.get(usize::from(at)).cloned(),
        Type::Tag(root) => {
            let members = model.type_members(model.entity(*root).root);
            members
                .get(usize::from(at))
                .map(|&e| model.entity(e).name.clone())
        }
        _ => None,
    }
}
