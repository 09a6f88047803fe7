//! How a structure's keys and rows are laid out in bytes, with every offset computed once.

use crate::key::{self, KeyError};
use crate::row::{self, RowError};
pub use crate::value_ref::ValueRef;
use querent_compiler::model::{Direction, Type};
use querent_compiler::value::Value;
use std::borrow::Cow;

/// Rows begin with the format version (high nibble, 1) and a form (low nibble).
/// Ends of variable columns take two bytes each.
const NARROW: u8 = 0x10;
/// Ends of variable columns take four bytes each.
const WIDE: u8 = 0x11;
/// A value did not fit its column's type: all values describe themselves.
const LOOSE: u8 = 0x12;

/// One part of a key.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyPart {
    /// Type: a scalar.
    pub ty: Type,
    /// May be null.
    pub optional: bool,
    /// Order.
    pub direction: Direction,
}

/// One column of a row.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Type.
    pub ty: Type,
    /// May be null.
    pub optional: bool,
}

/// The layout of a structure. `key` and `columns` are for reading: offsets are computed from them
/// when the layout is made.
#[derive(Clone, Debug, PartialEq)]
pub struct Layout {
    /// Key parts: partition, then clustering.
    pub key: Vec<KeyPart>,
    /// Columns behind the key.
    pub columns: Vec<Column>,
    /// Where each key part begins.
    parts: Vec<PartPlace>,
    /// Where each column is.
    slots: Vec<Slot>,
    /// The same for what most rows hold, key parts and columns alike.
    common: Vec<CommonSlot>,
    /// Where the ends of the variable columns begin.
    ends_at: usize,
    /// How many variable columns there are.
    variable: usize,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum PartPlace {
    /// So many bytes from the start: every part before it has a fixed width.
    Start(usize),
    /// So many bytes before the end: it and every part behind it have a fixed width.
    End(usize),
    /// Behind the part given, by walking from there.
    Walk(usize),
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Slot {
    /// The byte of the null bitmap.
    null_byte: usize,
    /// The bit in it; 0 for a column that is never null.
    null_mask: u8,
    place: Place,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Place {
    /// At this offset of the row.
    Fixed(usize),
    /// The variable column of this position.
    Variable(usize),
}

/// The kinds of values that are read in place.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Common {
    /// A timestamp of a key, at a fixed distance from its end.
    KeyTime,
    Text,
    Int,
    BigInt,
    Timestamp,
    Other,
}

/// All that reading a common value needs.
#[derive(Clone, Copy, Debug, PartialEq)]
struct CommonSlot {
    kind: Common,
    /// The bit of the null bitmap; 0 for a column that is never null.
    null_mask: u8,
    /// It is the first variable column.
    first: bool,
    null_byte: usize,
    /// Offset in the row: of the value, or of a text's end; distance from the end of a key.
    at: usize,
    /// Where variable bytes begin, in a narrow row.
    base: usize,
    /// Undoes the complement of a descending key part.
    mask: u64,
}

/// Nothing where the value is null, the row of another form, or damaged.
impl CommonSlot {
    #[inline]
    fn is_null(&self, row: &[u8]) -> bool {
        row.first() == Some(&NARROW)
            && row
                .get(self.null_byte)
                .is_some_and(|nulls| nulls & self.null_mask != 0)
    }

    #[inline]
    fn text<'a>(&self, row: &'a [u8]) -> Option<&'a str> {
        if *row.first()? != NARROW
            || self.null_mask != 0 && row.get(self.null_byte)? & self.null_mask != 0
        {
            return None;
        }
        // The end before a text is its start; both are read at once.
        let (start, end) = if self.first {
            (0, u16::from_le_bytes(*row.get(self.at..)?.first_chunk()?))
        } else {
            let ends = u32::from_le_bytes(*row.get(self.at - 2..)?.first_chunk()?);
            (ends as u16, (ends >> 16) as u16)
        };
        let (start, end) = (usize::from(start), usize::from(end));
        std::str::from_utf8(row.get(self.base + start..self.base + end)?).ok()
    }

    #[inline]
    fn integer(&self, row: &[u8]) -> Option<i64> {
        if *row.first()? != NARROW || self.is_null(row) {
            return None;
        }
        let bytes = row.get(self.at..)?;
        match self.kind {
            Common::Int => Some(i64::from(i32::from_le_bytes(*bytes.first_chunk()?))),
            _ => Some(i64::from_le_bytes(*bytes.first_chunk()?)),
        }
    }

    #[inline]
    fn key_time(&self, key: &[u8]) -> Option<i64> {
        let at = key.len().checked_sub(self.at)?;
        let bits = u64::from_be_bytes(*key.get(at..)?.first_chunk()?) ^ self.mask;
        Some((bits ^ (1 << 63)) as i64)
    }
}

impl Layout {
    /// Computes the offsets.
    pub fn new(key: Vec<KeyPart>, columns: Vec<Column>) -> Layout {
        let parts = part_places(&key);
        let optional = columns.iter().filter(|c| c.optional).count();
        let mut fixed_at = 1 + optional.div_ceil(8);
        let (mut nulls, mut variable) = (0, 0);
        let mut slots = Vec::with_capacity(columns.len());
        for column in &columns {
            let (mut null_byte, mut null_mask) = (0, 0);
            if column.optional {
                (null_byte, null_mask) = (1 + nulls / 8, 1 << (nulls % 8));
                nulls += 1;
            }
            let place = if let Some(width) = key::fixed_width(&column.ty) {
                fixed_at += width;
                Place::Fixed(fixed_at - width)
            } else {
                variable += 1;
                Place::Variable(variable - 1)
            };
            slots.push(Slot {
                null_byte,
                null_mask,
                place,
            });
        }
        let common = common_slots(&key, &parts, &columns, &slots, fixed_at, variable);
        Layout {
            key,
            columns,
            parts,
            slots,
            common,
            ends_at: fixed_at,
            variable,
        }
    }

    /// The key of these values, or the prefix that they determine if they are fewer than the parts.
    pub fn encode_key(&self, values: &[Value]) -> Result<Vec<u8>, KeyError> {
        let mut out = Vec::with_capacity(values.len() * 24);
        self.encode_key_into(values.iter(), &mut out)?;
        Ok(out)
    }

    /// Appends the key (or prefix) of these values. The key of a layout without parts, which has
    /// one row at most, is one byte, because stores refuse empty keys.
    pub fn encode_key_into<'v>(
        &self,
        values: impl Iterator<Item = &'v Value>,
        out: &mut Vec<u8>,
    ) -> Result<(), KeyError> {
        if self.key.is_empty() {
            out.push(0);
        }
        for (i, value) in values.enumerate() {
            let part = self.key.get(i).ok_or(KeyError::TooMany {
                found: i + 1,
                expected: self.key.len(),
            })?;
            key::encode(value, &part.ty, part.optional, part.direction, out)?;
        }
        Ok(())
    }

    /// The row of these columns. A missing value is null; one that does not fit its column's type
    /// is kept all the same, in a row that is larger and slower to read.
    pub fn encode_row(&self, columns: &[Value]) -> Vec<u8> {
        self.encode_typed(columns, NARROW)
            .or_else(|| self.encode_typed(columns, WIDE))
            .unwrap_or_else(|| {
                let mut out = vec![LOOSE];
                row::encode_values(columns, &mut out);
                out
            })
    }

    /// One value of a stored row, by its position in the key parts followed by the columns.
    ///
    /// What most rows hold is read here, in place; everything else, damage included, by
    /// [`Layout::value_of_any`].
    #[expect(
        clippy::inline_always,
        reason = "returned through memory instead of registers, a value costs as much as a row"
    )]
    #[inline(always)]
    pub fn value_ref<'a>(
        &self,
        key: &'a [u8],
        row: &'a [u8],
        column: usize,
    ) -> Result<ValueRef<'a>, RowError> {
        if let Some(common) = self.common.get(column) {
            match common.kind {
                Common::Text => match common.text(row) {
                    Some(text) => return Ok(ValueRef::Text(Cow::Borrowed(text))),
                    None if common.is_null(row) => return Ok(ValueRef::Null),
                    None => {}
                },
                Common::Int | Common::BigInt => match common.integer(row) {
                    Some(number) => return Ok(ValueRef::Int(number)),
                    None if common.is_null(row) => return Ok(ValueRef::Null),
                    None => {}
                },
                Common::Timestamp => match common.integer(row) {
                    Some(time) => return Ok(ValueRef::Timestamp(time)),
                    None if common.is_null(row) => return Ok(ValueRef::Null),
                    None => {}
                },
                Common::KeyTime => {
                    if let Some(time) = common.key_time(key) {
                        return Ok(ValueRef::Timestamp(time));
                    }
                }
                Common::Other => {}
            }
        }
        match self.value_of_any(key, row, column) {
            Ok(value) => Ok(value),
            Err(error) => Err(*error),
        }
    }

    /// A text column of a row of the common form; none where it is null, of another type, of
    /// another form or damaged, which [`Layout::value_ref`] tells apart.
    #[inline]
    pub(crate) fn common_text<'a>(&self, row: &'a [u8], column: usize) -> Option<&'a str> {
        let common = self.common.get(column)?;
        if common.kind == Common::Text {
            common.text(row)
        } else {
            None
        }
    }

    /// One value of a stored row, of any type, in a row of any form. The error is boxed to make the
    /// result another type than that of `value_ref`, which then need not share its memory.
    #[inline(never)]
    fn value_of_any<'a>(
        &self,
        key: &'a [u8],
        row: &'a [u8],
        column: usize,
    ) -> Result<ValueRef<'a>, Box<RowError>> {
        self.any_value(key, row, column).map_err(Box::new)
    }

    fn any_value<'a>(
        &self,
        key: &'a [u8],
        row: &'a [u8],
        column: usize,
    ) -> Result<ValueRef<'a>, RowError> {
        if let (Some(part), Some(place)) = (self.key.get(column), self.parts.get(column)) {
            return self.part_ref(key, part, *place, column);
        }
        let column = column - self.key.len();
        let (Some(slot), Some(Column { ty, .. })) =
            (self.slots.get(column), self.columns.get(column))
        else {
            return Err(self.no_column(column));
        };
        let width = match row.first() {
            Some(&NARROW) => 2,
            Some(&WIDE) => 4,
            _ => return self.loose_ref(row, column),
        };
        let short = || RowError::Short {
            length: row.len(),
            column,
        };
        if slot.null_mask != 0 && row.get(slot.null_byte).ok_or_else(short)? & slot.null_mask != 0 {
            return Ok(ValueRef::Null);
        }
        match slot.place {
            Place::Fixed(at) => fixed_ref(ty, row.get(at..).unwrap_or_default(), short),
            Place::Variable(index) => variable_ref(
                ty,
                self.variable_bytes(row, width, index).ok_or_else(short)?,
            ),
        }
    }

    /// All key parts.
    pub fn decode_key(&self, key: &[u8]) -> Result<Vec<Value>, RowError> {
        let mut values = Vec::with_capacity(self.key.len());
        let mut rest = if self.key.is_empty() {
            key.get(1..).unwrap_or_default()
        } else {
            key
        };
        for part in &self.key {
            let (value, length) = key::decode(rest, &part.ty, part.optional, part.direction)?;
            values.push(value);
            rest = rest.get(length..).unwrap_or_default();
        }
        if rest.is_empty() {
            Ok(values)
        } else {
            Err(RowError::LongKey(rest.len()))
        }
    }

    /// All columns.
    pub fn decode_row(&self, row: &[u8]) -> Result<Vec<Value>, RowError> {
        if row.first() == Some(&LOOSE) {
            return self.loose_values(row);
        }
        let values = (self.key.len()..self.key.len() + self.columns.len())
            .map(|column| Ok(self.value_ref(&[], row, column)?.into_value()))
            .collect::<Result<Vec<_>, RowError>>()?;
        let expected = self.row_length(row)?;
        if row.len() == expected {
            Ok(values)
        } else {
            Err(RowError::Length {
                length: row.len(),
                expected,
            })
        }
    }

    /// The row in the form given, or none if a value or the length does not fit it.
    fn encode_typed(&self, columns: &[Value], form: u8) -> Option<Vec<u8>> {
        if columns.len() > self.columns.len() {
            return None;
        }
        let width = if form == WIDE { 4 } else { 2 };
        let base = self.ends_at + width * self.variable;
        let mut out = vec![0; base];
        *out.first_mut()? = form;
        for (i, (slot, column)) in self.slots.iter().zip(&self.columns).enumerate() {
            let value = columns.get(i).unwrap_or(&Value::Null);
            if value.is_null() {
                if slot.null_mask == 0 {
                    return None;
                }
                *out.get_mut(slot.null_byte)? |= slot.null_mask;
            }
            match slot.place {
                Place::Fixed(at) => put_fixed(&column.ty, value, out.get_mut(at..)?)?,
                Place::Variable(index) => {
                    put_variable(&column.ty, value, &mut out)?;
                    let end = out.len() - base;
                    let at = self.ends_at + width * index;
                    let target = out.get_mut(at..at + width)?;
                    if form == WIDE {
                        target.copy_from_slice(&u32::try_from(end).ok()?.to_le_bytes());
                    } else {
                        target.copy_from_slice(&u16::try_from(end).ok()?.to_le_bytes());
                    }
                }
            }
        }
        Some(out)
    }

    #[inline]
    fn part_ref<'a>(
        &self,
        key: &'a [u8],
        part: &KeyPart,
        place: PartPlace,
        column: usize,
    ) -> Result<ValueRef<'a>, RowError> {
        let bytes = match place {
            PartPlace::Start(at) => key.get(at..),
            PartPlace::End(before) => key.len().checked_sub(before).and_then(|at| key.get(at..)),
            PartPlace::Walk(from) => self.walk(key, from, column)?,
        };
        let bytes = bytes.unwrap_or_default();
        Ok(key::decode_ref(
            bytes,
            &part.ty,
            part.optional,
            part.direction,
        )?)
    }

    /// The bytes from part `to` on, found from part `from`, whose place is known.
    fn walk<'a>(
        &self,
        key: &'a [u8],
        from: usize,
        to: usize,
    ) -> Result<Option<&'a [u8]>, RowError> {
        let start = match self.parts.get(from) {
            Some(PartPlace::Start(at)) => *at,
            _ => 0,
        };
        let mut rest = key.get(start..).unwrap_or_default();
        for part in self.key.get(from..to).unwrap_or_default() {
            let length = key::skip(rest, &part.ty, part.optional, part.direction)?;
            rest = rest.get(length..).unwrap_or_default();
        }
        Ok(Some(rest))
    }

    #[inline]
    fn variable_bytes<'a>(&self, row: &'a [u8], width: usize, index: usize) -> Option<&'a [u8]> {
        let base = self.ends_at + width * self.variable;
        let at = self.ends_at + width * index;
        let start = if index == 0 {
            0
        } else {
            read_end(row, at - width, width)?
        };
        let end = read_end(row, at, width)?;
        row.get(base + start..base + end)
    }

    /// How long the row should be by its own account.
    fn row_length(&self, row: &[u8]) -> Result<usize, RowError> {
        let width = if row.first() == Some(&WIDE) { 4 } else { 2 };
        let base = self.ends_at + width * self.variable;
        let Some(last) = self.variable.checked_sub(1) else {
            return Ok(base);
        };
        read_end(row, self.ends_at + width * last, width)
            .map(|end| base + end)
            .ok_or(RowError::Short {
                length: row.len(),
                column: self.columns.len(),
            })
    }

    #[cold]
    fn loose_ref<'a>(&self, row: &'a [u8], column: usize) -> Result<ValueRef<'a>, RowError> {
        let mut values = self.loose_values(row)?;
        Ok(values
            .get_mut(column)
            .map(std::mem::take)
            .unwrap_or_default()
            .into())
    }

    #[cold]
    fn loose_values(&self, row: &[u8]) -> Result<Vec<Value>, RowError> {
        match row.split_first() {
            Some((&LOOSE, rest)) => {
                let mut values = row::decode_values(rest)?;
                if values.len() < self.columns.len() {
                    values.resize(self.columns.len(), Value::Null);
                }
                Ok(values)
            }
            Some((&found, _)) => Err(RowError::Header { found }),
            None => Err(RowError::Short {
                length: 0,
                column: 0,
            }),
        }
    }

    #[cold]
    fn no_column(&self, column: usize) -> RowError {
        RowError::NoColumn {
            column: self.key.len() + column,
            columns: self.key.len() + self.columns.len(),
        }
    }
}

fn part_places(key: &[KeyPart]) -> Vec<PartPlace> {
    let width = |part: &KeyPart| key::fixed_width(&part.ty).filter(|_| !part.optional);
    let mut places = Vec::with_capacity(key.len());
    let mut offset = Some(0);
    let mut known = 0;
    for (i, part) in key.iter().enumerate() {
        let from_end = key.iter().skip(i).map(width).sum::<Option<usize>>();
        places.push(match (offset, from_end) {
            (Some(at), _) => {
                known = i;
                PartPlace::Start(at)
            }
            (None, Some(before)) => PartPlace::End(before),
            (None, None) => PartPlace::Walk(known),
        });
        offset = offset.zip(width(part)).map(|(at, width)| at + width);
    }
    places
}

fn common_slots(
    key: &[KeyPart],
    parts: &[PartPlace],
    columns: &[Column],
    slots: &[Slot],
    ends_at: usize,
    variable: usize,
) -> Vec<CommonSlot> {
    let other = CommonSlot {
        kind: Common::Other,
        null_mask: 0,
        first: false,
        null_byte: 0,
        at: 0,
        base: ends_at + 2 * variable,
        mask: 0,
    };
    let part = |(part, place): (&KeyPart, &PartPlace)| match (&part.ty, place) {
        (Type::Timestamp, PartPlace::End(at)) => CommonSlot {
            kind: Common::KeyTime,
            at: *at,
            mask: if part.direction == Direction::Desc {
                u64::MAX
            } else {
                0
            },
            ..other
        },
        _ => other,
    };
    let column = |(column, slot): (&Column, &Slot)| {
        let (kind, at, first) = match (&column.ty, slot.place) {
            (Type::Text(_), Place::Variable(i)) => (Common::Text, ends_at + 2 * i, i == 0),
            (Type::Int, Place::Fixed(at)) => (Common::Int, at, false),
            (Type::BigInt, Place::Fixed(at)) => (Common::BigInt, at, false),
            (Type::Timestamp, Place::Fixed(at)) => (Common::Timestamp, at, false),
            _ => return other,
        };
        CommonSlot {
            kind,
            at,
            first,
            null_mask: slot.null_mask,
            null_byte: slot.null_byte,
            ..other
        }
    };
    let parts = key.iter().zip(parts).map(part);
    parts.chain(columns.iter().zip(slots).map(column)).collect()
}

#[inline]
fn read_end(row: &[u8], at: usize, width: usize) -> Option<usize> {
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
fn fixed_ref<'a>(
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
fn variable_ref<'a>(ty: &Type, bytes: &'a [u8]) -> Result<ValueRef<'a>, RowError> {
    match ty {
        Type::Text(_) | Type::Cursor => row::text(bytes),
        Type::Blob(_) => Ok(ValueRef::Blob(Cow::Borrowed(bytes))),
        Type::Decimal => row::decode_decimal(bytes).map(ValueRef::Decimal),
        _ => row::decode_tagged(bytes),
    }
}

/// Writes a value of fixed width; none if it is not of the type. Null leaves zeros.
fn put_fixed(ty: &Type, value: &Value, out: &mut [u8]) -> Option<()> {
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
fn put_variable(ty: &Type, value: &Value, out: &mut Vec<u8>) -> Option<()> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{column_types, nested, scalar_types, value_or_null};
    use proptest::prelude::*;
    use querent_compiler::model::Size;

    const SIZE: Size = Size {
        avg: 10.0,
        max: None,
    };

    fn column() -> impl Strategy<Value = (Column, Value)> {
        (prop::sample::select(column_types()), any::<bool>()).prop_flat_map(|(ty, optional)| {
            let value = value_or_null(&ty, optional);
            (Just(Column { ty, optional }), value)
        })
    }

    fn part() -> impl Strategy<Value = (KeyPart, Value)> {
        let direction = prop_oneof![Just(Direction::Asc), Just(Direction::Desc)];
        (
            prop::sample::select(scalar_types()),
            any::<bool>(),
            direction,
        )
            .prop_flat_map(|(ty, optional, direction)| {
                let value = value_or_null(&ty, optional);
                (
                    Just(KeyPart {
                        ty,
                        optional,
                        direction,
                    }),
                    value,
                )
            })
    }

    fn row() -> impl Strategy<Value = (Layout, Vec<Value>, Vec<Value>)> {
        (
            prop::collection::vec(part(), 0..5),
            prop::collection::vec(column(), 0..12),
        )
            .prop_map(|(parts, columns)| {
                let (parts, key): (Vec<_>, Vec<_>) = parts.into_iter().unzip();
                let (columns, values): (Vec<_>, Vec<_>) = columns.into_iter().unzip();
                (Layout::new(parts, columns), key, values)
            })
    }

    fn read_all(layout: &Layout, key: &[u8], row: &[u8]) -> Vec<Result<Value, RowError>> {
        (0..=layout.key.len() + layout.columns.len())
            .map(|column| layout.value_ref(key, row, column).map(ValueRef::into_value))
            .collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1000))]

        #[test]
        fn rows_come_back((layout, key, values) in row()) {
            let (k, r) = (layout.encode_key(&key).unwrap(), layout.encode_row(&values));
            prop_assert_eq!(r[0], NARROW);
            prop_assert_eq!(layout.decode_key(&k), Ok(key.clone()));
            prop_assert_eq!(layout.decode_row(&r), Ok(values.clone()));
            let mut read = read_all(&layout, &k, &r);
            let beyond = matches!(read.pop(), Some(Err(RowError::NoColumn { .. })));
            prop_assert!(beyond);
            let expected: Vec<_> = key.into_iter().chain(values).map(Ok).collect();
            prop_assert_eq!(read, expected);
        }

        #[test]
        fn values_that_do_not_fit_are_kept((layout, _, _) in row(), values in prop::collection::vec(nested(), 0..14)) {
            let row = layout.encode_row(&values);
            let mut expected = values;
            if expected.len() < layout.columns.len() {
                expected.resize(layout.columns.len(), Value::Null);
            }
            prop_assert_eq!(layout.decode_row(&row), Ok(expected.clone()));
            for (i, value) in expected.iter().enumerate().take(layout.columns.len()) {
                let read = layout.value_ref(&[], &row, layout.key.len() + i).unwrap();
                prop_assert!(read == *value);
            }
        }

        #[test]
        fn damaged_rows_are_errors_or_values_never_a_panic(
            (layout, key, values) in row(),
            flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
            cut in any::<prop::sample::Index>(),
        ) {
            let damage = |bytes: &[u8]| {
                let mut bytes = bytes.to_vec();
                if !bytes.is_empty() {
                    for (at, byte) in &flips {
                        let at = at.index(bytes.len());
                        bytes[at] = *byte;
                    }
                }
                bytes.truncate(cut.index(bytes.len() + 1));
                bytes
            };
            let (k, r) = (layout.encode_key(&key).unwrap(), layout.encode_row(&values));
            let (k, r) = (damage(&k), damage(&r));
            read_all(&layout, &k, &r);
            let _ = (layout.decode_key(&k), layout.decode_row(&r));
        }

        #[test]
        fn random_bytes_are_errors_or_values_never_a_panic(
            (layout, _, _) in row(),
            first in prop_oneof![Just(NARROW), Just(WIDE), Just(LOOSE), any::<u8>()],
            bytes in prop::collection::vec(any::<u8>(), 0..80),
        ) {
            let mut row = vec![first];
            row.extend(&bytes);
            read_all(&layout, &bytes, &row);
            let _ = (layout.decode_key(&bytes), layout.decode_row(&row));
        }
    }

    #[test]
    fn the_bytes_are_those_of_format_1() {
        let column = |ty, optional| Column { ty, optional };
        let layout = Layout::new(
            vec![],
            vec![
                column(Type::Text(SIZE), false),
                column(Type::Int, true),
                column(Type::Text(SIZE), true),
                column(Type::Bool, false),
            ],
        );
        let row = layout.encode_row(&[
            Value::Text("hi".into()),
            Value::Int(258),
            Value::Null,
            Value::Bool(true),
        ]);
        assert_eq!(row, [0x10, 0b10, 2, 1, 0, 0, 1, 2, 0, 2, 0, b'h', b'i']);
        assert_eq!(layout.encode_key(&[]), Ok(vec![0]));
        assert_eq!(layout.decode_key(&[0]), Ok(vec![]));
    }

    #[test]
    fn long_rows_have_wide_ends() {
        let layout = Layout::new(
            vec![],
            vec![
                Column {
                    ty: Type::Text(SIZE),
                    optional: false
                };
                2
            ],
        );
        for length in [65_535, 65_536, 100_000] {
            let values = [Value::Text("x".repeat(length)), Value::Text(String::new())];
            let row = layout.encode_row(&values);
            assert_eq!(row[0], if length > 65_535 { WIDE } else { NARROW });
            assert_eq!(layout.decode_row(&row), Ok(values.to_vec()));
        }
    }
}
