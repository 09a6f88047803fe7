//! From keys and rows to values.

use super::column::{fixed_ref, read_end, variable_ref};
use super::common::{Common, CommonSlot};
use super::{Column, KeyPart, LOOSE, Layout, NARROW, PartPlace, Place, ValueRef, WIDE};
use crate::key::{self, InKey};
use crate::row::{self, RowError};
use querent_compiler::value::Value;
use std::borrow::Cow;

impl Layout {
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
        self.value_at(self.common_slot(column), key, row, column)
    }

    /// What reading a column in place needs, looked up once for many rows.
    #[inline]
    pub(crate) fn common_slot(&self, column: usize) -> &CommonSlot {
        self.common.get(column).unwrap_or(&CommonSlot::OTHER)
    }

    /// [`Layout::value_ref`] with the column's slot at hand.
    #[expect(
        clippy::inline_always,
        reason = "returned through memory instead of registers, a value costs as much as a row"
    )]
    #[inline(always)]
    pub(crate) fn value_at<'a>(
        &self,
        common: &CommonSlot,
        key: &'a [u8],
        row: &'a [u8],
        column: usize,
    ) -> Result<ValueRef<'a>, RowError> {
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
            Common::KeyText => {
                if let Some(text) = common.key_text(key) {
                    return Ok(ValueRef::Text(Cow::Borrowed(text)));
                }
            }
            Common::Other => {}
        }
        match self.value_of_any(key, row, column) {
            Ok(value) => Ok(value),
            Err(error) => Err(*error),
        }
    }

    /// Where a key part begins, where that is at a fixed distance from the start of the key.
    pub(crate) fn part_start(&self, part: usize) -> Option<usize> {
        match self.parts.get(part)? {
            PartPlace::Start(at) => Some(*at),
            _ => None,
        }
    }

    /// The bytes of a key part of fixed place that takes the rest of the key or has a fixed width;
    /// none where finding them takes a walk.
    #[inline]
    pub(crate) fn part_bytes<'a>(&self, key: &'a [u8], column: usize) -> Option<&'a [u8]> {
        let part = self.key.get(column)?;
        let from = match *self.parts.get(column)? {
            PartPlace::Start(at) => at,
            PartPlace::End(before) => key.len().checked_sub(before)?,
            PartPlace::Walk(_) => return None,
        };
        if column + 1 == self.key.len() {
            return key.get(from..);
        }
        if part.hashed || part.optional {
            return None;
        }
        key.get(from..from + key::fixed_width(&part.ty)?)
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
            return self.part_ref(key, row, part, *place, column);
        }
        let column = column - self.key.len();
        if column < self.columns.len() {
            self.stored_ref(row, column)
        } else {
            Err(self.no_column(column))
        }
    }

    /// A column of the row, those that keep values of the key included.
    fn stored_ref<'a>(&self, row: &'a [u8], column: usize) -> Result<ValueRef<'a>, RowError> {
        let (Some(slot), Some(Column { ty, .. })) =
            (self.slots.get(column), self.stored.get(column))
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

    /// All key parts of a stored row.
    pub fn decode_key(&self, key: &[u8], row: &[u8]) -> Result<Vec<Value>, RowError> {
        let mut values = Vec::with_capacity(self.key.len());
        let mut rest = if self.key.is_empty() {
            key.get(1..).unwrap_or_default()
        } else {
            key
        };
        for (i, part) in self.key.iter().enumerate() {
            let (value, length) = key::decode_part(rest, part)?;
            let (bytes, behind) = rest.split_at_checked(length).unwrap_or((rest, &[]));
            values.push(match value {
                InKey::Whole(value) => value.into_value(),
                InKey::Cut => {
                    let value = self.kept_ref(row, i)?.into_value();
                    let mut again = Vec::with_capacity(length);
                    key::encode_part(&value, part, &mut again)?;
                    if again != bytes {
                        return Err(RowError::Value("a value of another key"));
                    }
                    value
                }
            });
            rest = behind;
        }
        if rest.is_empty() {
            Ok(values)
        } else {
            Err(RowError::LongKey(rest.len()))
        }
    }

    /// The value that the row keeps of a key part that is cut.
    fn kept_ref<'a>(&self, row: &'a [u8], part: usize) -> Result<ValueRef<'a>, RowError> {
        let column = self.kept.get(part).copied().flatten();
        let column = column.ok_or_else(|| self.no_column(part))?;
        match self.stored_ref(row, column)? {
            ValueRef::Null => Err(RowError::Value("no value for a part that its key cuts")),
            value => Ok(value),
        }
    }

    /// All columns.
    pub fn decode_row(&self, row: &[u8]) -> Result<Vec<Value>, RowError> {
        if row.first() == Some(&LOOSE) {
            let mut values = self.loose_values(row)?;
            if self.stored.len() > self.columns.len() {
                values.truncate(self.columns.len());
            }
            return Ok(values);
        }
        let mut values = (0..self.stored.len())
            .map(|column| Ok(self.stored_ref(row, column)?.into_value()))
            .collect::<Result<Vec<_>, RowError>>()?;
        values.truncate(self.columns.len());
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

    #[inline]
    fn part_ref<'a>(
        &self,
        key: &'a [u8],
        row: &'a [u8],
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
        match key::part_ref(bytes, part)? {
            InKey::Whole(value) => Ok(value),
            InKey::Cut => self.kept_ref(row, column),
        }
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
            let length = key::skip_part(rest, part)?;
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
                if values.len() < self.stored.len() {
                    values.resize(self.stored.len(), Value::Null);
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
