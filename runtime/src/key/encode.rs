//! From values to bytes.

use super::{END, ESCAPE, EXPONENT_BIAS, KeyError, MAX_DIGITS, NULL, PRESENT, ZERO};
use super::{type_name, value_name};
use crate::value_ref::ValueRef;
use querent_compiler::model::Type;
use querent_compiler::value::ops::of_any;
use querent_compiler::value::{Value, timeuuid_ticks};
use rust_decimal::Decimal;

/// The part as it is stored in ascending order.
pub(super) fn ascending(
    value: &Value,
    ty: &Type,
    optional: bool,
    out: &mut Vec<u8>,
) -> Result<(), KeyError> {
    let expected = type_name(ty);
    if optional {
        if value.is_null() {
            out.push(NULL);
            return Ok(());
        }
        out.push(PRESENT);
    } else if value.is_null() {
        return Err(KeyError::Null { expected });
    }
    match (ty, value) {
        (Type::Int, &Value::Int(v)) => {
            let v = i32::try_from(v).map_err(|_| KeyError::IntRange(v))?;
            out.extend_from_slice(&flip32(v));
        }
        (Type::Key(_), Value::Key(parts)) => {
            for part in parts {
                encode_tagged(part, expected, out)?;
            }
            out.push(END);
        }
        // What a declared type says is compared with what none says, as numbers are.
        (Type::Any, value) => encode_tagged(&of_any(value.clone()), expected, out)?,
        (Type::Bool, Value::Bool(_))
        | (Type::BigInt, Value::Int(_))
        | (Type::Float, Value::Float(_))
        | (Type::Decimal, Value::Decimal(_))
        | (Type::Text(_) | Type::Cursor, Value::Text(_))
        | (Type::Blob(_), Value::Blob(_))
        | (Type::Date, Value::Date(_))
        | (Type::Timestamp, Value::Timestamp(_))
        | (Type::Uuid, Value::Uuid(_))
        | (Type::TimeUuid, Value::TimeUuid(_))
        | (Type::Point, Value::Point(..))
        | (Type::Enum(_) | Type::Tag(_), Value::Enum(_)) => {
            encode_scalar(&ValueRef::of(value), out);
        }
        _ => {
            return Err(KeyError::Type {
                expected,
                found: value_name(value),
            });
        }
    }
    Ok(())
}

/// The scalar alone; ints take 8 bytes. Nothing for a collection.
fn encode_scalar(value: &ValueRef<'_>, out: &mut Vec<u8>) {
    match value {
        ValueRef::Null | ValueRef::Owned(_) => {}
        ValueRef::Bool(v) => out.push(u8::from(*v)),
        ValueRef::Int(v) | ValueRef::Timestamp(v) => out.extend_from_slice(&flip64(*v)),
        ValueRef::Float(v) => out.extend_from_slice(&float_bytes(*v)),
        ValueRef::Decimal(v) => encode_decimal(*v, out),
        ValueRef::Text(v) => encode_bytes(v.as_bytes(), out),
        ValueRef::Blob(v) => encode_bytes(v, out),
        ValueRef::Date(v) => out.extend_from_slice(&flip32(*v)),
        ValueRef::Uuid(v) => out.extend_from_slice(v),
        ValueRef::TimeUuid(v) => out.extend_from_slice(&timeuuid_bytes(v)),
        ValueRef::Point(lat, lon) => {
            out.extend_from_slice(&float_bytes(*lat));
            out.extend_from_slice(&float_bytes(*lon));
        }
        ValueRef::Enum(v) => out.extend_from_slice(&v.to_be_bytes()),
    }
}

/// A scalar behind a tag.
fn encode_tagged(value: &Value, expected: &'static str, out: &mut Vec<u8>) -> Result<(), KeyError> {
    if is_collection(value) {
        return Err(KeyError::Type {
            expected,
            found: value_name(value),
        });
    }
    ordered(&ValueRef::of(value), out);
    Ok(())
}

/// Any value behind a tag; tags are in the order in which values of different kinds sort, and all
/// are above `END`, which ends a collection: the shorter one of two that begin alike comes first.
pub(super) fn ordered(value: &ValueRef<'_>, out: &mut Vec<u8>) {
    let ValueRef::Owned(owned) = value else {
        out.push(value.rank() + 1);
        return encode_scalar(value, out);
    };
    let (tag, values) = match owned.as_ref() {
        Value::List(values) => (14, values),
        Value::Set(values) => (15, values),
        Value::Map(entries) => {
            out.push(16);
            for (key, value) in entries {
                ordered_value(key, out);
                ordered_value(value, out);
            }
            return out.push(END);
        }
        Value::Record(values) => (17, values),
        Value::Key(values) => (18, values),
        scalar => return ordered(&ValueRef::of(scalar), out),
    };
    out.push(tag);
    for value in values {
        ordered_value(value, out);
    }
    out.push(END);
}

fn ordered_value(value: &Value, out: &mut Vec<u8>) {
    ordered(&ValueRef::of(value), out);
}

fn is_collection(value: &Value) -> bool {
    matches!(
        value,
        Value::List(_) | Value::Set(_) | Value::Map(_) | Value::Record(_) | Value::Key(_)
    )
}

fn flip32(v: i32) -> [u8; 4] {
    (v as u32 ^ (1 << 31)).to_be_bytes()
}

fn flip64(v: i64) -> [u8; 8] {
    (v as u64 ^ (1 << 63)).to_be_bytes()
}

/// The order of `f64::total_cmp`: negative floats complemented, the others with the sign set.
fn float_bytes(v: f64) -> [u8; 8] {
    let bits = v.to_bits();
    let ordered = if bits >> 63 == 1 {
        !bits
    } else {
        bits | (1 << 63)
    };
    ordered.to_be_bytes()
}

/// The 60 bits of time, the version, then the last eight bytes.
fn timeuuid_bytes(id: &[u8; 16]) -> [u8; 16] {
    let [_, _, _, _, _, _, version, ..] = *id;
    let mut bytes = *id;
    if let Some(head) = bytes.first_chunk_mut() {
        *head = (timeuuid_ticks(id) << 4 | u64::from(version >> 4)).to_be_bytes();
    }
    bytes
}

fn encode_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    out.reserve(bytes.len() + 1);
    for run in bytes.split_inclusive(|&byte| byte <= ESCAPE) {
        match run.split_last() {
            Some((&last, plain)) if last <= ESCAPE => {
                out.extend_from_slice(plain);
                out.extend_from_slice(&[ESCAPE, last + 1]);
            }
            _ => out.extend_from_slice(run),
        }
    }
    out.push(END);
}

fn encode_decimal(v: Decimal, out: &mut Vec<u8>) {
    if v.is_zero() {
        out.push(ZERO);
        return;
    }
    let start = out.len();
    let mut mantissa = v.mantissa().unsigned_abs();
    let mut exponent = -(v.scale() as i32);
    while mantissa.is_multiple_of(10) {
        mantissa /= 10;
        exponent += 1;
    }
    let mut digits = [0_u8; MAX_DIGITS];
    let mut count = 0;
    for slot in &mut digits {
        if mantissa == 0 {
            break;
        }
        *slot = (mantissa % 10) as u8;
        mantissa /= 10;
        count += 1;
    }
    out.push(ZERO + 1 + (exponent + count + EXPONENT_BIAS) as u8);
    // A digit is a nibble of 1 to 10, so that the closing nibble 0 sorts a shorter one first.
    let mut high = None;
    for &digit in digits.iter().take(count as usize).rev() {
        high = match high {
            None => Some(digit + 1),
            Some(first) => {
                out.push(first << 4 | (digit + 1));
                None
            }
        };
    }
    out.push(high.unwrap_or(0) << 4);
    if v.is_sign_negative() {
        for byte in out.iter_mut().skip(start) {
            *byte = !*byte;
        }
    }
}
