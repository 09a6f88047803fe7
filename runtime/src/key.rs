//! Key parts as bytes whose order is the order of the values.
//!
//! Every part ends by itself (a fixed width, or a terminator), so that keys of several parts
//! compare part by part, and an encoded prefix of the parts is a prefix of the bytes. A descending
//! part is the complement of the ascending one. `docs/src/format.md` draws the bytes of each type.

use crate::value_ref::ValueRef;
use querent_compiler::model::{Direction, Type};
use querent_compiler::value::{Value, timeuuid_ticks};
use rust_decimal::Decimal;
use std::borrow::Cow;

/// Ends a text, a blob and a list of tagged scalars: below every byte that may stand in its place.
const END: u8 = 0x00;
/// Precedes a byte of a text or blob that is itself `END` or `ESCAPE`, and is then raised by one.
const ESCAPE: u8 = 0x01;
/// The tags of an optional part.
const NULL: u8 = 0x00;
const PRESENT: u8 = 0x01;
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
    let written = encode_ascending(value, ty, optional, out);
    if written.is_err() {
        out.truncate(start);
    } else if direction == Direction::Desc {
        for byte in out.iter_mut().skip(start) {
            *byte = !*byte;
        }
    }
    written
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
    Ok((value.into_value(), part.at))
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
    Ok(part.at)
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

/// The width of every value of the type where that is one number (the tag of an optional part is
/// not counted, and makes the part's width vary).
pub fn fixed_width(ty: &Type) -> Option<usize> {
    match ty {
        Type::Bool => Some(1),
        Type::Enum(_) | Type::Tag(_) => Some(2),
        Type::Int | Type::Date => Some(4),
        Type::BigInt | Type::Float | Type::Timestamp => Some(8),
        Type::Uuid | Type::TimeUuid | Type::Point => Some(16),
        Type::Decimal
        | Type::Text(_)
        | Type::Blob(_)
        | Type::Any
        | Type::Cursor
        | Type::Key(_)
        | Type::List(..)
        | Type::Set(..)
        | Type::Map(..)
        | Type::Record(_) => None,
    }
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

fn encode_ascending(
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

/// One part that is being read: the mask undoes the complement of a descending part.
struct Part<'a> {
    bytes: &'a [u8],
    at: usize,
    mask: u8,
    expected: &'static str,
}

impl<'a> Part<'a> {
    fn new(bytes: &'a [u8], direction: Direction, expected: &'static str) -> Self {
        let mask = if direction == Direction::Desc {
            0xff
        } else {
            0
        };
        Part {
            bytes,
            at: 0,
            mask,
            expected,
        }
    }

    fn short(&self) -> KeyError {
        KeyError::Short {
            expected: self.expected,
        }
    }

    fn damaged(&self, why: &'static str) -> KeyError {
        KeyError::Damaged {
            expected: self.expected,
            why,
        }
    }

    fn byte(&mut self) -> Result<u8, KeyError> {
        let byte = *self.bytes.get(self.at).ok_or_else(|| self.short())?;
        self.at += 1;
        Ok(byte ^ self.mask)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], KeyError> {
        let end = self.at + N;
        let slice = self.bytes.get(self.at..end).ok_or_else(|| self.short())?;
        let mut array = <[u8; N]>::try_from(slice).map_err(|_| self.short())?;
        for byte in &mut array {
            *byte ^= self.mask;
        }
        self.at = end;
        Ok(array)
    }

    fn decode(&mut self, ty: &Type, optional: bool) -> Result<ValueRef<'a>, KeyError> {
        if optional && !self.present()? {
            return Ok(ValueRef::Null);
        }
        Ok(match ty {
            Type::Bool => self.bool()?,
            Type::Int => ValueRef::Int(i64::from(self.i32()?)),
            Type::BigInt => ValueRef::Int(self.i64()?),
            Type::Float => ValueRef::Float(self.float()?),
            Type::Decimal => ValueRef::Decimal(self.decimal()?),
            Type::Text(_) | Type::Cursor => self.text()?,
            Type::Blob(_) => ValueRef::Blob(self.unescaped()?),
            Type::Date => ValueRef::Date(self.i32()?),
            Type::Timestamp => ValueRef::Timestamp(self.i64()?),
            Type::Uuid => ValueRef::Uuid(self.array()?),
            Type::TimeUuid => ValueRef::TimeUuid(self.timeuuid()?),
            Type::Point => ValueRef::Point(self.float()?, self.float()?),
            Type::Enum(_) | Type::Tag(_) => ValueRef::Enum(u16::from_be_bytes(self.array()?)),
            Type::Any => {
                let tag = self.byte()?;
                self.tagged(tag)?
            }
            Type::Key(_) => {
                let mut parts = Vec::new();
                loop {
                    match self.byte()? {
                        END => break ValueRef::Owned(Box::new(Value::Key(parts))),
                        tag => parts.push(self.tagged(tag)?.into_value()),
                    }
                }
            }
            Type::List(..) | Type::Set(..) | Type::Map(..) | Type::Record(_) => {
                return Err(self.damaged("only scalars are stored in keys"));
            }
        })
    }

    fn skip(&mut self, ty: &Type, optional: bool) -> Result<(), KeyError> {
        if optional && !self.present()? {
            return Ok(());
        }
        if let Some(width) = fixed_width(ty) {
            return self.advance(width);
        }
        match ty {
            Type::Text(_) | Type::Blob(_) | Type::Cursor => self.until_end().map(drop),
            _ => self.decode(ty, false).map(drop),
        }
    }

    fn advance(&mut self, width: usize) -> Result<(), KeyError> {
        let end = self.at + width;
        if end > self.bytes.len() {
            return Err(self.short());
        }
        self.at = end;
        Ok(())
    }

    fn present(&mut self) -> Result<bool, KeyError> {
        match self.byte()? {
            NULL => Ok(false),
            PRESENT => Ok(true),
            _ => Err(self.damaged("neither null nor present")),
        }
    }

    fn tagged(&mut self, tag: u8) -> Result<ValueRef<'a>, KeyError> {
        Ok(match tag {
            1 => ValueRef::Null,
            2 => self.bool()?,
            3 => ValueRef::Int(self.i64()?),
            4 => ValueRef::Float(self.float()?),
            5 => ValueRef::Decimal(self.decimal()?),
            6 => self.text()?,
            7 => ValueRef::Blob(self.unescaped()?),
            8 => ValueRef::Date(self.i32()?),
            9 => ValueRef::Timestamp(self.i64()?),
            10 => ValueRef::Uuid(self.array()?),
            11 => ValueRef::TimeUuid(self.timeuuid()?),
            12 => ValueRef::Point(self.float()?, self.float()?),
            13 => ValueRef::Enum(u16::from_be_bytes(self.array()?)),
            _ => return Err(self.damaged("an unknown tag")),
        })
    }

    fn bool(&mut self) -> Result<ValueRef<'a>, KeyError> {
        match self.byte()? {
            0 => Ok(ValueRef::Bool(false)),
            1 => Ok(ValueRef::Bool(true)),
            _ => Err(self.damaged("neither false nor true")),
        }
    }

    fn i32(&mut self) -> Result<i32, KeyError> {
        Ok((u32::from_be_bytes(self.array()?) ^ (1 << 31)) as i32)
    }

    fn i64(&mut self) -> Result<i64, KeyError> {
        Ok((u64::from_be_bytes(self.array()?) ^ (1 << 63)) as i64)
    }

    fn float(&mut self) -> Result<f64, KeyError> {
        let bits = u64::from_be_bytes(self.array()?);
        Ok(f64::from_bits(if bits >> 63 == 1 {
            bits & !(1 << 63)
        } else {
            !bits
        }))
    }

    fn timeuuid(&mut self) -> Result<[u8; 16], KeyError> {
        let mut id: [u8; 16] = self.array()?;
        if let Some(head) = id.first_chunk_mut() {
            let first = u64::from_be_bytes(*head);
            let (ticks, version) = (first >> 4, first & 0x0f);
            let (low, mid, high) = (ticks & 0xffff_ffff, ticks >> 32 & 0xffff, ticks >> 48);
            *head = (low << 32 | mid << 16 | version << 12 | high).to_be_bytes();
        }
        Ok(id)
    }

    /// The bytes before the terminator, still escaped and masked; moves behind the terminator.
    fn until_end(&mut self) -> Result<&'a [u8], KeyError> {
        let end = END ^ self.mask;
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let length = rest
            .iter()
            .position(|&b| b == end)
            .ok_or_else(|| self.short())?;
        self.at += length + 1;
        Ok(rest.get(..length).unwrap_or_default())
    }

    fn text(&mut self) -> Result<ValueRef<'a>, KeyError> {
        let text = match self.unescaped()? {
            Cow::Borrowed(bytes) => std::str::from_utf8(bytes).map(Cow::Borrowed).ok(),
            Cow::Owned(bytes) => String::from_utf8(bytes).map(Cow::Owned).ok(),
        };
        text.map(ValueRef::Text)
            .ok_or_else(|| self.damaged("not UTF-8"))
    }

    fn unescaped(&mut self) -> Result<Cow<'a, [u8]>, KeyError> {
        let raw = self.until_end()?;
        if self.mask == 0 && !raw.contains(&ESCAPE) {
            return Ok(Cow::Borrowed(raw));
        }
        let mut out = Vec::with_capacity(raw.len());
        let mut bytes = raw.iter().map(|b| b ^ self.mask);
        while let Some(byte) = bytes.next() {
            out.push(match byte {
                ESCAPE => match bytes.next() {
                    Some(raised @ 1..=2) => raised - 1,
                    _ => return Err(self.damaged("an escape that escapes nothing")),
                },
                plain => plain,
            });
        }
        Ok(Cow::Owned(out))
    }

    fn decimal(&mut self) -> Result<Decimal, KeyError> {
        let header = self.byte()?;
        if header == ZERO {
            return Ok(Decimal::ZERO);
        }
        let negative = header < ZERO;
        let sign = if negative { 0xff } else { 0 };
        let exponent = i32::from((header ^ sign) - ZERO) - 1 - EXPONENT_BIAS;
        let mut mantissa: i128 = 0;
        let mut count = 0;
        'digits: loop {
            let byte = self.byte()? ^ sign;
            for nibble in [byte >> 4, byte & 0x0f] {
                match nibble {
                    0 => break 'digits,
                    1..=10 if (count as usize) < MAX_DIGITS => {
                        mantissa = mantissa * 10 + i128::from(nibble - 1);
                        count += 1;
                    }
                    _ => return Err(self.damaged("not the digits of a decimal")),
                }
            }
        }
        let scale = count - exponent;
        if scale < 0 {
            mantissa = 10_i128
                .checked_pow(scale.unsigned_abs())
                .and_then(|power| mantissa.checked_mul(power))
                .ok_or_else(|| self.damaged("a decimal out of range"))?;
        }
        let signed = if negative { -mantissa } else { mantissa };
        Decimal::try_from_i128_with_scale(signed, scale.max(0) as u32)
            .map_err(|_| self.damaged("a decimal out of range"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{scalar_types, value_or_null};
    use proptest::prelude::*;

    const DIRECTIONS: [Direction; 2] = [Direction::Asc, Direction::Desc];

    fn encoded(value: &Value, ty: &Type, optional: bool, direction: Direction) -> Vec<u8> {
        let mut out = Vec::new();
        encode(value, ty, optional, direction, &mut out).unwrap();
        out
    }

    fn part() -> impl Strategy<Value = (Type, bool, Direction)> {
        (
            prop::sample::select(scalar_types()),
            any::<bool>(),
            prop::sample::select(&DIRECTIONS[..]),
        )
    }

    /// A part and two values of it.
    fn pair() -> impl Strategy<Value = ((Type, bool, Direction), Value, Value)> {
        part().prop_flat_map(|(ty, optional, direction)| {
            let value = value_or_null(&ty, optional);
            (Just((ty, optional, direction)), value.clone(), value)
        })
    }

    /// A key of several parts and two rows of values.
    #[expect(clippy::type_complexity, reason = "a strategy's tuple")]
    fn keys() -> impl Strategy<Value = (Vec<(Type, bool, Direction)>, Vec<Value>, Vec<Value>)> {
        prop::collection::vec(pair(), 1..4).prop_map(|parts| {
            // Often equal in the first parts, so that the later ones decide.
            let same = parts.len() / 2;
            let second = |(i, (_, a, b)): (usize, &(_, Value, Value))| {
                if i < same { a.clone() } else { b.clone() }
            };
            (
                parts.iter().map(|(part, ..)| part.clone()).collect(),
                parts.iter().map(|(_, a, _)| a.clone()).collect(),
                parts.iter().enumerate().map(second).collect(),
            )
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]

        #[test]
        fn the_order_of_bytes_is_the_order_of_values(((ty, optional, direction), a, b) in pair()) {
            let bytes = encoded(&a, &ty, optional, direction)
                .cmp(&encoded(&b, &ty, optional, direction));
            let values = if direction == Direction::Asc { a.cmp(&b) } else { b.cmp(&a) };
            prop_assert_eq!(bytes, values);
        }

        #[test]
        fn parts_decode_and_end_where_they_end(
            ((ty, optional, direction), value, _) in pair(),
            tail in prop::collection::vec(any::<u8>(), 0..4),
        ) {
            let mut bytes = encoded(&value, &ty, optional, direction);
            let length = bytes.len();
            bytes.extend(tail);
            prop_assert_eq!(decode(&bytes, &ty, optional, direction), Ok((value.clone(), length)));
            prop_assert_eq!(skip(&bytes, &ty, optional, direction), Ok(length));
            prop_assert!(decode_ref(&bytes, &ty, optional, direction).unwrap() == value);
            if !optional && let Some(width) = fixed_width(&ty) {
                prop_assert_eq!(length, width);
            }
            for cut in 0..length {
                prop_assert!(decode(&bytes[..cut], &ty, optional, direction).is_err());
                prop_assert!(skip(&bytes[..cut], &ty, optional, direction).is_err());
            }
        }

        #[test]
        fn keys_of_several_parts_compare_part_by_part((parts, a, b) in keys()) {
            let key = |values: &[Value]| {
                let mut out = Vec::new();
                for ((ty, optional, direction), value) in parts.iter().zip(values) {
                    encode(value, ty, *optional, *direction, &mut out).unwrap();
                }
                out
            };
            let mut expected = std::cmp::Ordering::Equal;
            for ((.., direction), (a, b)) in parts.iter().zip(a.iter().zip(&b)) {
                let order = if *direction == Direction::Asc { a.cmp(b) } else { b.cmp(a) };
                expected = expected.then(order);
            }
            prop_assert_eq!(key(&a).cmp(&key(&b)), expected);
            for shorter in 0..a.len() {
                let prefix = key(&a[..shorter]);
                prop_assert!(key(&a).starts_with(&prefix));
                let within = a[..shorter] == b[..shorter];
                let below = successor(&prefix).is_none_or(|bound| key(&b) < bound);
                prop_assert_eq!(key(&b) >= prefix && below, within);
            }
        }

        #[test]
        fn no_bytes_make_it_panic(
            (ty, optional, direction) in part(),
            bytes in prop::collection::vec(prop_oneof![0_u8..16, any::<u8>()], 0..40),
        ) {
            let decoded = decode(&bytes, &ty, optional, direction);
            let skipped = skip(&bytes, &ty, optional, direction);
            if let Ok((_, length)) = decoded {
                prop_assert_eq!(skipped, Ok(length));
            }
        }
    }

    #[test]
    fn what_does_not_fit_is_refused_and_leaves_nothing() {
        let mut out = vec![7];
        let mut refuse = |value: Value, ty: Type| {
            let error = encode(&value, &ty, false, Direction::Desc, &mut out).unwrap_err();
            assert_eq!(out, [7]);
            error.to_string()
        };
        assert_eq!(
            refuse(Value::Int(1 << 31), Type::Int),
            "2147483648 does not fit an int key part (32 bits); declare it bigint"
        );
        assert_eq!(
            refuse(Value::Null, Type::Date),
            "a key part of type date that is not optional cannot hold null"
        );
        assert_eq!(
            refuse(Value::Bool(true), Type::Date),
            "a key part of type date cannot hold a bool"
        );
        assert_eq!(
            refuse(Value::List(vec![]), Type::Any),
            "a key part of type any cannot hold a list"
        );
    }

    #[test]
    fn the_bytes_are_those_of_format_1() {
        let hex = |value: Value, ty: Type| {
            encoded(&value, &ty, false, Direction::Asc)
                .iter()
                .map(|b| format!("{b:02x}"))
                .collect::<Vec<_>>()
                .concat()
        };
        let size = querent_compiler::model::Size {
            avg: 1.0,
            max: None,
        };
        assert_eq!(hex(Value::Int(-1), Type::Int), "7fffffff");
        assert_eq!(hex(Value::Float(-1.0), Type::Float), "400fffffffffffff");
        assert_eq!(
            hex(Value::Text("a\0b".into()), Type::Text(size)),
            "6101016200"
        );
        assert_eq!(
            hex(Value::Decimal(Decimal::new(125, 1)), Type::Decimal),
            "9f2360"
        );
        assert_eq!(
            hex(Value::Decimal(Decimal::new(-125, 1)), Type::Decimal),
            "60dc9f"
        );
        assert_eq!(hex(Value::Enum(258), Type::Any), "0d0102");
        assert_eq!(successor(&[1, 0xff]), Some(vec![2]));
        assert_eq!(successor(&[0xff]), None);
        assert_eq!(successor(&[]), None);
    }
}
