//! One column of a row.

use super::ValueRef;
use crate::row::{self, RowError};
use querent_compiler::model::Type;
use querent_compiler::value::Value;
use std::borrow::Cow;

#[inline]
pub(super) fn read_end(row: &[u8], at: usize, width: usize) -> Option<usize> {
    let rest = row.get(at..)?;
    if width == 2 {
        rest.first_chunk()
            .map(|&bytes| usize::from(u16::from_le_bytes(bytes)))
    } else {
        rest.first_chunk()
            .map(|&bytes| u32::from_le_bytes(bytes) as usize)
    }
}

#[inline]
pub(super) fn fixed_ref<'a>(
    ty: &Type,
    bytes: &[u8],
    short: impl Fn() -> RowError,
) -> Result<ValueRef<'a>, RowError> {
    Ok(match ty {
        Type::Bool => match bytes.first().ok_or_else(short)? {
            0 => ValueRef::Bool(false),
            1 => ValueRef::Bool(true),
            _ => return Err(RowError::Value("a bool that is neither 0 nor 1")),
        },
        Type::Int => ValueRef::Int(i64::from(i32::from_le_bytes(first(bytes, short)?))),
        Type::BigInt => ValueRef::Int(i64::from_le_bytes(first(bytes, short)?)),
        Type::Float => ValueRef::Float(f64::from_le_bytes(first(bytes, short)?)),
        Type::Date => ValueRef::Date(i32::from_le_bytes(first(bytes, short)?)),
        Type::Timestamp => ValueRef::Timestamp(i64::from_le_bytes(first(bytes, short)?)),
        Type::Uuid => ValueRef::Uuid(first(bytes, short)?),
        Type::TimeUuid => ValueRef::TimeUuid(first(bytes, short)?),
        Type::Point => {
            let lon = bytes.get(8..).unwrap_or_default();
            ValueRef::Point(
                f64::from_le_bytes(first(bytes, &short)?),
                f64::from_le_bytes(first(lon, &short)?),
            )
        }
        Type::Enum(_) | Type::Tag(_) => ValueRef::Enum(u16::from_le_bytes(first(bytes, short)?)),
        _ => return Err(RowError::Value("a fixed column of a type that varies")),
    })
}

#[inline]
fn first<const N: usize>(bytes: &[u8], short: impl Fn() -> RowError) -> Result<[u8; N], RowError> {
    bytes.first_chunk().copied().ok_or_else(short)
}

#[inline]
pub(super) fn variable_ref<'a>(ty: &Type, bytes: &'a [u8]) -> Result<ValueRef<'a>, RowError> {
    match ty {
        Type::Text(_) | Type::Cursor => row::text(bytes),
        Type::Blob(_) => Ok(ValueRef::Blob(Cow::Borrowed(bytes))),
        Type::Decimal => row::decode_decimal(bytes).map(ValueRef::Decimal),
        _ => row::decode_tagged(bytes),
    }
}

/// Writes a value of fixed width; none if it is not of the type. Null leaves zeros.
pub(super) fn put_fixed(ty: &Type, value: &Value, out: &mut [u8]) -> Option<()> {
    fn put(bytes: &[u8], out: &mut [u8]) -> Option<()> {
        out.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(())
    }
    match (ty, value) {
        (_, Value::Null) => Some(()),
        (Type::Bool, Value::Bool(v)) => put(&[u8::from(*v)], out),
        (Type::Int, Value::Int(v)) => put(&i32::try_from(*v).ok()?.to_le_bytes(), out),
        (Type::BigInt, Value::Int(v)) | (Type::Timestamp, Value::Timestamp(v)) => {
            put(&v.to_le_bytes(), out)
        }
        (Type::Float, Value::Float(v)) => put(&v.to_le_bytes(), out),
        (Type::Date, Value::Date(v)) => put(&v.to_le_bytes(), out),
        (Type::Uuid, Value::Uuid(v)) | (Type::TimeUuid, Value::TimeUuid(v)) => put(v, out),
        (Type::Point, Value::Point(lat, lon)) => {
            put(&lat.to_le_bytes(), out)?;
            put(&lon.to_le_bytes(), out.get_mut(8..)?)
        }
        (Type::Enum(_) | Type::Tag(_), Value::Enum(v)) => put(&v.to_le_bytes(), out),
        _ => None,
    }
}

/// Appends a value of variable width; none if it is not of the type. Null takes no bytes.
pub(super) fn put_variable(ty: &Type, value: &Value, out: &mut Vec<u8>) -> Option<()> {
    match (ty, value) {
        (_, Value::Null) => {}
        (Type::Text(_) | Type::Cursor, Value::Text(v)) => out.extend_from_slice(v.as_bytes()),
        (Type::Blob(_), Value::Blob(v)) => out.extend_from_slice(v),
        (Type::Decimal, Value::Decimal(v)) => {
            let (bytes, length) = row::decimal_bytes(*v);
            out.extend_from_slice(bytes.get(..length)?);
        }
        (Type::Any, _)
        | (Type::List(..), Value::List(_))
        | (Type::Set(..), Value::Set(_))
        | (Type::Map(..), Value::Map(_))
        | (Type::Record(_), Value::Record(_))
        | (Type::Key(_), Value::Key(_)) => row::encode_tagged(value, out),
        _ => return None,
    }
    Some(())
}
