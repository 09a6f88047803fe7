//! What most rows hold, read in place.

use super::{Column, KeyPart, NARROW, PartPlace, Place, Slot};
use querent_compiler::model::{Direction, Type};

/// The kinds of values that are read in place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Common {
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
pub(super) struct CommonSlot {
    pub(super) kind: Common,
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
    pub(super) fn is_null(&self, row: &[u8]) -> bool {
        row.first() == Some(&NARROW)
            && row
                .get(self.null_byte)
                .is_some_and(|nulls| nulls & self.null_mask != 0)
    }

    #[inline]
    pub(super) fn text<'a>(&self, row: &'a [u8]) -> Option<&'a str> {
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
    pub(super) fn integer(&self, row: &[u8]) -> Option<i64> {
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
    pub(super) fn key_time(&self, key: &[u8]) -> Option<i64> {
        let at = key.len().checked_sub(self.at)?;
        let bits = u64::from_be_bytes(*key.get(at..)?.first_chunk()?) ^ self.mask;
        Some((bits ^ (1 << 63)) as i64)
    }
}

/// The slots of all key parts and columns.
pub(super) fn slots(
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
