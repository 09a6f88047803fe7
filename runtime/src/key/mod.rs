//! Key parts as bytes whose order is the order of the values.
//!
//! Every part ends by itself (a fixed width, or a terminator), so that keys of several parts
//! compare part by part, and an encoded prefix of the parts is a prefix of the bytes. A descending
//! part is the complement of the ascending one. `docs/src/format.md` draws the bytes of each type.

mod decode;
mod encode;
mod part;
#[cfg(test)]
mod tests;

pub use part::{InKey, cuts, decode_part, encode_part, skip_part};
pub(crate) use part::{is_cut, part_ref};
pub use querent_compiler::view::key_size::fixed_width;

use crate::value_ref::ValueRef;
use decode::Part;
use querent_compiler::model::{Direction, Type};
use querent_compiler::value::Value;
use std::borrow::Cow;

/// Ends a text, a blob and a list of tagged scalars: below every byte that may stand in its place.
pub(crate) const END: u8 = 0x00;
/// Precedes a byte of a text or blob that is itself `END` or `ESCAPE`, and is then raised by one.
pub(crate) const ESCAPE: u8 = 0x01;
/// The tags of an optional part.
const NULL: u8 = 0x00;
pub(crate) const PRESENT: u8 = 0x01;
/// Header of the decimal zero; above it the positive decimals by exponent, below it the negative.
const ZERO: u8 = 0x80;
/// Decimals are `0.d₁d₂… × 10^e` with `-27 ≤ e ≤ 29`; the header holds `e + 28`.
const EXPONENT_BIAS: i32 = 28;
/// No decimal has more digits: 2^96 has 29.
const MAX_DIGITS: usize = 29;

/// Why a value cannot be a key, or bytes are not one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// The value is of another type than the part.
    #[error("a key part of type {expected} cannot hold {found}")]
    Type {
        /// The part's type.
        expected: &'static str,
        /// The value's kind.
        found: &'static str,
    },
    /// Null in a part that is not optional.
    #[error("a key part of type {expected} that is not optional cannot hold null")]
    Null {
        /// The part's type.
        expected: &'static str,
    },
    /// An `int` outside 32 bits.
    #[error("{0} does not fit an int key part (32 bits); declare it bigint")]
    IntRange(i64),
    /// More values than the key has parts.
    #[error("{found} values for a key of {expected} parts")]
    TooMany {
        /// Values given, at least.
        found: usize,
        /// Parts of the key.
        expected: usize,
    },
    /// A key longer than a store can hold.
    #[error(
        "found a key of {found} bytes, expected {max} at most; shorten its longest value, \
         or bound it in the model, as in text(20, max 200)"
    )]
    TooLong {
        /// Bytes.
        found: usize,
        /// The most that a key may have.
        max: usize,
    },
    /// The bytes end inside a part.
    #[error("a key ends inside a part of type {expected}")]
    Short {
        /// The part's type.
        expected: &'static str,
    },
    /// The bytes are no encoding of the part's type.
    #[error("a key part of type {expected} holds bytes that it never has: {why}")]
    Damaged {
        /// The part's type.
        expected: &'static str,
        /// What is wrong.
        why: &'static str,
    },
}

/// Appends the encoding of a value to `out`, which is left unchanged on an error.
pub fn encode(
    value: &Value,
    ty: &Type,
    optional: bool,
    direction: Direction,
    out: &mut Vec<u8>,
) -> Result<(), KeyError> {
    let start = out.len();
    let written = encode::ascending(value, ty, optional, out);
    if written.is_err() {
        out.truncate(start);
    } else {
        complement(direction, out, start);
    }
    written
}

/// Appends any value as bytes whose order is that of the values, collections included. For sorting
/// alone: nothing decodes it.
#[inline]
pub(crate) fn encode_ordered(value: &ValueRef<'_>, direction: Direction, out: &mut Vec<u8>) {
    let start = out.len();
    encode::ordered(value, out);
    complement(direction, out, start);
}

/// What an `i64` stands for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Number {
    Int,
    Timestamp,
}

/// [`encode_ordered`] of numbers of one kind in one direction.
#[derive(Clone, Copy)]
pub(crate) struct NumberOrder {
    /// The tag, where it stands in the result.
    tag: u128,
    /// What makes a number an unsigned one of its order.
    mask: u64,
}

impl NumberOrder {
    /// Bytes of a number: a tag and eight bytes.
    const LENGTH: usize = 9;

    pub(crate) fn new(kind: Number, direction: Direction) -> Self {
        let value = match kind {
            Number::Int => ValueRef::Int(0),
            Number::Timestamp => ValueRef::Timestamp(0),
        };
        let mask = match direction {
            Direction::Asc => 0,
            Direction::Desc => u64::MAX,
        };
        let tag = (value.rank() + 1) ^ mask as u8;
        NumberOrder {
            tag: u128::from(tag) << 120,
            mask: 1 << 63 ^ mask,
        }
    }

    /// A number whose order among all ranks is that of the encodings.
    #[inline]
    pub(crate) fn rank(self, number: i64) -> u64 {
        number as u64 ^ self.mask
    }

    /// The bytes of the number of a rank, from the highest of the result on.
    #[inline]
    pub(crate) fn head(self, rank: u64) -> u128 {
        self.tag | u128::from(rank) << 56
    }

    /// Appends a number.
    #[inline]
    pub(crate) fn encode(self, number: i64, out: &mut Vec<u8>) {
        let bytes = self.head(self.rank(number)).to_be_bytes();
        if let Some(bytes) = bytes.first_chunk::<{ Self::LENGTH }>() {
            out.extend_from_slice(bytes);
        }
    }
}

/// [`encode_ordered`] of a text, from the bytes of an ascending key part.
#[inline]
pub(crate) fn encode_stored_text(part: &[u8], direction: Direction, out: &mut Vec<u8>) {
    let start = out.len();
    out.reserve(1 + part.len());
    out.push(ValueRef::Text(Cow::Borrowed("")).rank() + 1);
    out.extend_from_slice(part);
    complement(direction, out, start);
}

/// Undoes the order of the bytes from `start` on, where the direction says so.
#[inline]
fn complement(direction: Direction, out: &mut [u8], start: usize) {
    if direction == Direction::Desc
        && let Some(part) = out.get_mut(start..)
    {
        part.iter_mut().for_each(|byte| *byte = !*byte);
    }
}

/// Decodes the part at the start of `bytes`; also tells how many bytes it takes.
pub fn decode(
    bytes: &[u8],
    ty: &Type,
    optional: bool,
    direction: Direction,
) -> Result<(Value, usize), KeyError> {
    let mut part = Part::new(bytes, direction, type_name(ty));
    let value = part.decode(ty, optional)?;
    Ok((value.into_value(), part.at()))
}

/// The part at the start of `bytes`, borrowed where it is stored as it is.
#[inline]
pub fn decode_ref<'a>(
    bytes: &'a [u8],
    ty: &Type,
    optional: bool,
    direction: Direction,
) -> Result<ValueRef<'a>, KeyError> {
    Part::new(bytes, direction, type_name(ty)).decode(ty, optional)
}

/// How many bytes the part at the start of `bytes` takes, without decoding it.
pub fn skip(
    bytes: &[u8],
    ty: &Type,
    optional: bool,
    direction: Direction,
) -> Result<usize, KeyError> {
    let mut part = Part::new(bytes, direction, type_name(ty));
    part.skip(ty, optional)?;
    Ok(part.at())
}

/// The least byte string above every string that starts with `prefix`; none if there is no such
/// (the prefix is empty or all `0xff`), and then the range goes to the end.
pub fn successor(prefix: &[u8]) -> Option<Vec<u8>> {
    let keep = prefix.iter().rposition(|&b| b != 0xff)?;
    let mut next = prefix.get(..=keep)?.to_vec();
    if let Some(last) = next.last_mut() {
        *last += 1;
    }
    Some(next)
}

/// The word for a type in messages.
pub(crate) fn type_name(ty: &Type) -> &'static str {
    match ty {
        Type::Bool => "bool",
        Type::Int => "int",
        Type::BigInt => "bigint",
        Type::Float => "float",
        Type::Decimal => "decimal",
        Type::Text(_) => "text",
        Type::Blob(_) => "blob",
        Type::Date => "date",
        Type::Timestamp => "timestamp",
        Type::Uuid => "uuid",
        Type::TimeUuid => "timeuuid",
        Type::Point => "point",
        Type::Any => "any",
        Type::Enum(_) => "enumeration",
        Type::List(..) => "list",
        Type::Set(..) => "set",
        Type::Map(..) => "map",
        Type::Record(_) => "record",
        Type::Key(_) => "reference",
        Type::Tag(_) => "type tag",
        Type::Cursor => "cursor",
    }
}

/// The word for a value's kind in messages.
pub(crate) fn value_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a bool",
        Value::Int(_) => "an int",
        Value::Float(_) => "a float",
        Value::Decimal(_) => "a decimal",
        Value::Text(_) => "a text",
        Value::Blob(_) => "a blob",
        Value::Date(_) => "a date",
        Value::Timestamp(_) => "a timestamp",
        Value::Uuid(_) => "a uuid",
        Value::TimeUuid(_) => "a timeuuid",
        Value::Point(..) => "a point",
        Value::Enum(_) => "a member of an enumeration",
        Value::List(_) => "a list",
        Value::Set(_) => "a set",
        Value::Map(_) => "a map",
        Value::Record(_) => "a record",
        Value::Key(_) => "a reference",
    }
}
