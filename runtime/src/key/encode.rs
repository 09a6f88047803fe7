//! From values to bytes.

use super::{END, ESCAPE, EXPONENT_BIAS, KeyError, MAX_DIGITS, NULL, PRESENT, ZERO};
use super::{type_name, value_name};
use querent_compiler::model::Type;
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
        (Type::Any, value) => encode_tagged(value, expected, out)?,
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
        | (Type::Enum(_) | Type::Tag(_), Value::Enum(_)) => encode_scalar(value, expected, out)?,
        _ => {
            return Err(KeyError::Type {
                expected,
                found: value_name(value),
            });
        }
    }
    Ok(())
}

/// The scalar alone; ints take 8 bytes.
fn encode_scalar(value: &Value, expected: &'static str, out: &mut Vec<u8>) -> Result<(), KeyError> {
    match value {
        Value::Null => {}
        Value::Bool(v) => out.push(u8::from(*v)),
        Value::Int(v) | Value::Timestamp(v) => out.extend_from_slice(&flip64(*v)),
        Value::Float(v) => out.extend_from_slice(&float_bytes(*v)),
        Value::Decimal(v) => encode_decimal(*v, out),
        Value::Text(v) => encode_bytes(v.as_bytes(), out),
        Value::Blob(v) => encode_bytes(v, out),
        Value::Date(v) => out.extend_from_slice(&flip32(*v)),
        Value::Uuid(v) => out.extend_from_slice(v),
        Value::TimeUuid(v) => out.extend_from_slice(&timeuuid_bytes(v)),
        Value::Point(lat, lon) => {
            out.extend_from_slice(&float_bytes(*lat));
            out.extend_from_slice(&float_bytes(*lon));
        }
        Value::Enum(v) => out.extend_from_slice(&v.to_be_bytes()),
        Value::List(_) | Value::Set(_) | Value::Map(_) | Value::Record(_) | Value::Key(_) => {
            return Err(KeyError::Type {
                expected,
                found: value_name(value),
            });
        }
    }
    Ok(())
}

/// A scalar behind a tag; tags are in the order in which values of different kinds sort, and all
/// are above `END`.
fn encode_tagged(value: &Value, expected: &'static str, out: &mut Vec<u8>) -> Result<(), KeyError> {
    let tag = match value {
        Value::Null => 1,
        Value::Bool(_) => 2,
        Value::Int(_) => 3,
        Value::Float(_) => 4,
        Value::Decimal(_) => 5,
        Value::Text(_) => 6,
        Value::Blob(_) => 7,
        Value::Date(_) => 8,
        Value::Timestamp(_) => 9,
        Value::Uuid(_) => 10,
        Value::TimeUuid(_) => 11,
        Value::Point(..) => 12,
        Value::Enum(_) => 13,
        _ => {
            return Err(KeyError::Type {
                expected,
                found: value_name(value),
            });
        }
    };
    out.push(tag);
    encode_scalar(value, expected, out)
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
