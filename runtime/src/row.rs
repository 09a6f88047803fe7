//! Values inside rows: the bytes of one variable column, and of everything nested.
//!
//! Nested values describe themselves (a tag, then the value), so that a collection can be read
//! without its type, and `any` needs nothing of its own. Bytes are never trusted: what cannot have
//! been written is an error. `docs/src/format.md` draws the bytes.

use crate::key::KeyError;
use crate::store::StoreError;
use crate::value_ref::ValueRef;
use querent_compiler::value::Value;
use rust_decimal::Decimal;
use std::borrow::Cow;

/// How deep values may nest. No declared type comes near; it bounds the stack on damaged bytes.
const MAX_DEPTH: usize = 64;

/// Why a key or a row cannot be read as its layout says.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RowError {
    /// The key.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// Bytes behind the last key part.
    #[error("a key has {0} bytes behind its last part")]
    LongKey(usize),
    /// Not a row of this format version.
    #[error("a row begins with {found:#04x}, which no row of format 1 does")]
    Header {
        /// The first byte.
        found: u8,
    },
    /// The row ends inside a column.
    #[error("a row of {length} bytes ends inside column {column}")]
    Short {
        /// Bytes of the row.
        length: usize,
        /// Position among the columns.
        column: usize,
    },
    /// Bytes behind the last column.
    #[error("a row of {length} bytes should have {expected}")]
    Length {
        /// Bytes of the row.
        length: usize,
        /// Bytes that its columns take.
        expected: usize,
    },
    /// The bytes of a column are not a value.
    #[error("a column holds bytes that are no value: {0}")]
    Value(&'static str),
    /// The layout has no such column.
    #[error("column {column} was asked of a layout of {columns}")]
    NoColumn {
        /// Asked.
        column: usize,
        /// Key parts and columns of the layout.
        columns: usize,
    },
}

impl RowError {
    /// The error with the structure in which the row was found.
    pub fn in_structure(self, structure: &str) -> StoreError {
        StoreError::Damaged {
            structure: structure.to_owned(),
            why: self.to_string(),
        }
    }
}

const NULL: u8 = 0;
const FALSE: u8 = 1;
const TRUE: u8 = 2;
const INT: u8 = 3;
const FLOAT: u8 = 4;
const DECIMAL: u8 = 5;
const TEXT: u8 = 6;
const BLOB: u8 = 7;
const DATE: u8 = 8;
const TIMESTAMP: u8 = 9;
const UUID: u8 = 10;
const TIMEUUID: u8 = 11;
const POINT: u8 = 12;
const ENUM: u8 = 13;
const LIST: u8 = 14;
const SET: u8 = 15;
const MAP: u8 = 16;
const RECORD: u8 = 17;
const KEY: u8 = 18;

/// Appends a value that describes itself.
pub(crate) fn encode_tagged(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Null => out.push(NULL),
        Value::Bool(v) => out.push(if *v { TRUE } else { FALSE }),
        Value::Int(v) => tagged_int(INT, *v, out),
        Value::Float(v) => {
            out.push(FLOAT);
            out.extend_from_slice(&v.to_le_bytes());
        }
        Value::Decimal(v) => {
            let (bytes, length) = decimal_bytes(*v);
            tagged_bytes(DECIMAL, bytes.get(..length).unwrap_or_default(), out);
        }
        Value::Text(v) => tagged_bytes(TEXT, v.as_bytes(), out),
        Value::Blob(v) => tagged_bytes(BLOB, v, out),
        Value::Date(v) => tagged_int(DATE, i64::from(*v), out),
        Value::Timestamp(v) => tagged_int(TIMESTAMP, *v, out),
        Value::Uuid(v) => {
            out.push(UUID);
            out.extend_from_slice(v);
        }
        Value::TimeUuid(v) => {
            out.push(TIMEUUID);
            out.extend_from_slice(v);
        }
        Value::Point(a, b) => {
            out.push(POINT);
            out.extend_from_slice(&a.to_le_bytes());
            out.extend_from_slice(&b.to_le_bytes());
        }
        Value::Enum(v) => {
            out.push(ENUM);
            out.extend_from_slice(&v.to_le_bytes());
        }
        Value::List(v) => tagged_values(LIST, v, out),
        Value::Set(v) => tagged_values(SET, v, out),
        Value::Record(v) => tagged_values(RECORD, v, out),
        Value::Key(v) => tagged_values(KEY, v, out),
        Value::Map(v) => {
            out.push(MAP);
            varint(v.len() as u64, out);
            for (key, value) in v {
                encode_tagged(key, out);
                encode_tagged(value, out);
            }
        }
    }
}

/// A value that describes itself, which must take all of `bytes`.
pub(crate) fn decode_tagged(bytes: &[u8]) -> Result<ValueRef<'_>, RowError> {
    let mut nested = Nested { bytes };
    let value = nested.value(MAX_DEPTH)?;
    nested.finish()?;
    Ok(value)
}

/// Appends a count and the values themselves.
pub(crate) fn encode_values(values: &[Value], out: &mut Vec<u8>) {
    varint(values.len() as u64, out);
    for value in values {
        encode_tagged(value, out);
    }
}

/// What [`encode_values`] wrote, which must take all of `bytes`.
pub(crate) fn decode_values(bytes: &[u8]) -> Result<Vec<Value>, RowError> {
    let mut nested = Nested { bytes };
    let values = nested.values(MAX_DEPTH)?;
    nested.finish()?;
    Ok(values)
}

/// A decimal: sign (bit 7) and scale (bits 0 to 4), then the mantissa from its lowest byte to its
/// highest that is not 0.
pub(crate) fn decimal_bytes(value: Decimal) -> ([u8; 13], usize) {
    let value = value.normalize();
    let mut bytes = [0; 13];
    let sign = if value.is_sign_negative() { 0x80 } else { 0 };
    let mut length = 1;
    let mantissa = value.mantissa().unsigned_abs().to_le_bytes();
    if let Some((head, tail)) = bytes.split_first_mut() {
        *head = sign | value.scale() as u8;
        for (position, (to, from)) in tail.iter_mut().zip(mantissa).enumerate() {
            *to = from;
            if from != 0 {
                length = position + 2;
            }
        }
    }
    (bytes, length)
}

/// The decimal of [`decimal_bytes`].
pub(crate) fn decode_decimal(bytes: &[u8]) -> Result<Decimal, RowError> {
    let damaged = RowError::Value("not a decimal");
    let Some((&head, tail)) = bytes.split_first() else {
        return Err(damaged);
    };
    if tail.len() > 12 || head & 0x60 != 0 {
        return Err(damaged);
    }
    let mut mantissa = [0; 16];
    for (to, from) in mantissa.iter_mut().zip(tail) {
        *to = *from;
    }
    let magnitude = i128::from_le_bytes(mantissa);
    let signed = if head & 0x80 == 0 {
        magnitude
    } else {
        -magnitude
    };
    Decimal::try_from_i128_with_scale(signed, u32::from(head & 0x1f)).map_err(|_| damaged)
}

/// Text, checked.
#[inline]
pub(crate) fn text(bytes: &[u8]) -> Result<ValueRef<'_>, RowError> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(ValueRef::Text(Cow::Borrowed(text))),
        Err(_) => Err(RowError::Value("a text that is not UTF-8")),
    }
}

fn tagged_int(tag: u8, v: i64, out: &mut Vec<u8>) {
    out.push(tag);
    varint((v << 1 ^ v >> 63) as u64, out);
}

fn tagged_bytes(tag: u8, bytes: &[u8], out: &mut Vec<u8>) {
    out.push(tag);
    varint(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

fn tagged_values(tag: u8, values: &[Value], out: &mut Vec<u8>) {
    out.push(tag);
    encode_values(values, out);
}

/// Seven bits a byte, the lowest first; the high bit says that another byte follows.
fn varint(mut v: u64, out: &mut Vec<u8>) {
    while v >= 0x80 {
        out.push(v as u8 | 0x80);
        v >>= 7;
    }
    out.push(v as u8);
}

/// Nested values that are being read from the front of `bytes`.
struct Nested<'a> {
    bytes: &'a [u8],
}

impl<'a> Nested<'a> {
    fn finish(&self) -> Result<(), RowError> {
        if self.bytes.is_empty() {
            Ok(())
        } else {
            Err(RowError::Value("bytes behind its end"))
        }
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], RowError> {
        let (taken, rest) = self
            .bytes
            .split_at_checked(length)
            .ok_or(RowError::Value("it is cut off"))?;
        self.bytes = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], RowError> {
        self.take(N)?
            .try_into()
            .map_err(|_| RowError::Value("it is cut off"))
    }

    fn varint(&mut self) -> Result<u64, RowError> {
        let mut v = 0_u64;
        for shift in (0..64).step_by(7) {
            let [byte] = self.array()?;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                break;
            }
            v |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(v);
            }
        }
        Err(RowError::Value("a number of more than 64 bits"))
    }

    fn zigzag(&mut self) -> Result<i64, RowError> {
        let v = self.varint()?;
        Ok((v >> 1) as i64 ^ -((v & 1) as i64))
    }

    fn counted(&mut self) -> Result<&'a [u8], RowError> {
        let length = self.varint()?;
        self.take(usize::try_from(length).unwrap_or(usize::MAX))
    }

    fn value(&mut self, depth: usize) -> Result<ValueRef<'a>, RowError> {
        let depth = depth
            .checked_sub(1)
            .ok_or(RowError::Value("it nests too deep"))?;
        let [tag] = self.array()?;
        Ok(match tag {
            NULL => ValueRef::Null,
            FALSE => ValueRef::Bool(false),
            TRUE => ValueRef::Bool(true),
            INT => ValueRef::Int(self.zigzag()?),
            FLOAT => ValueRef::Float(f64::from_le_bytes(self.array()?)),
            DECIMAL => ValueRef::Decimal(decode_decimal(self.counted()?)?),
            TEXT => text(self.counted()?)?,
            BLOB => ValueRef::Blob(Cow::Borrowed(self.counted()?)),
            DATE => ValueRef::Date(
                i32::try_from(self.zigzag()?)
                    .map_err(|_| RowError::Value("a date out of range"))?,
            ),
            TIMESTAMP => ValueRef::Timestamp(self.zigzag()?),
            UUID => ValueRef::Uuid(self.array()?),
            TIMEUUID => ValueRef::TimeUuid(self.array()?),
            POINT => ValueRef::Point(
                f64::from_le_bytes(self.array()?),
                f64::from_le_bytes(self.array()?),
            ),
            ENUM => ValueRef::Enum(u16::from_le_bytes(self.array()?)),
            LIST => ValueRef::Owned(Box::new(Value::List(self.values(depth)?))),
            RECORD => ValueRef::Owned(Box::new(Value::Record(self.values(depth)?))),
            KEY => ValueRef::Owned(Box::new(Value::Key(self.values(depth)?))),
            SET => {
                let values = self.values(depth)?;
                if !values.is_sorted_by(|a, b| a < b) {
                    return Err(RowError::Value("a set out of order"));
                }
                ValueRef::Owned(Box::new(Value::Set(values)))
            }
            MAP => ValueRef::Owned(Box::new(Value::Map(self.entries(depth)?))),
            _ => return Err(RowError::Value("an unknown tag")),
        })
    }

    /// How many elements follow: each takes a byte at least, so more than the bytes left is damage
    /// (and must not decide how much memory is asked for).
    fn count(&mut self) -> Result<usize, RowError> {
        let count = self.varint()?;
        usize::try_from(count)
            .ok()
            .filter(|&count| count <= self.bytes.len())
            .ok_or(RowError::Value("a collection longer than its bytes"))
    }

    fn values(&mut self, depth: usize) -> Result<Vec<Value>, RowError> {
        let count = self.count()?;
        let mut values = Vec::with_capacity(count);
        for _ in 0..count {
            values.push(self.value(depth)?.into_value());
        }
        Ok(values)
    }

    fn entries(&mut self, depth: usize) -> Result<Vec<(Value, Value)>, RowError> {
        let count = self.count()?;
        let mut entries = Vec::with_capacity(count);
        for _ in 0..count {
            entries.push((
                self.value(depth)?.into_value(),
                self.value(depth)?.into_value(),
            ));
        }
        if !entries.is_sorted_by(|(a, _), (b, _)| a < b) {
            return Err(RowError::Value("a map out of order"));
        }
        Ok(entries)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::nested;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn nested_values_come_back(value in nested()) {
            let mut bytes = Vec::new();
            encode_tagged(&value, &mut bytes);
            prop_assert_eq!(decode_tagged(&bytes).unwrap().into_value(), value);
            for cut in 0..bytes.len() {
                prop_assert!(decode_tagged(&bytes[..cut]).is_err());
            }
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(prop_oneof![0_u8..24, any::<u8>()], 0..60)) {
            let _ = decode_tagged(&bytes);
            let _ = decode_values(&bytes);
            let _ = decode_decimal(&bytes);
        }
    }

    #[test]
    fn nesting_is_bounded() {
        let deep = [LIST, 1].repeat(100_000);
        assert_eq!(
            decode_tagged(&deep),
            Err(RowError::Value("it nests too deep"))
        );
    }

    #[test]
    fn a_count_beyond_the_bytes_asks_for_no_memory() {
        let bytes = [LIST, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f];
        let expected = RowError::Value("a collection longer than its bytes");
        assert_eq!(decode_tagged(&bytes), Err(expected));
    }
}
