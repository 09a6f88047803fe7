//! What most rows hold, read in place.

use super::{Column, KeyPart, Layout, NARROW, PartPlace, Place, Slot, utf8};
use crate::key::{self, Number};
use querent_compiler::model::{Direction, Type};

/// The kinds of values that are read in place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Common {
    /// A timestamp of a key, at a fixed distance from its start or its end.
    KeyTime,
    /// An ascending text of a key, at a fixed distance from its start.
    KeyText,
    Text,
    Int,
    BigInt,
    Timestamp,
    Other,
}

/// All that reading a common value needs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct CommonSlot {
    pub(super) kind: Common,
    /// The bit of the null bitmap; 0 for a column that is never null.
    null_mask: u8,
    /// It is the first variable column. Of a text of a key: it has no tag before it.
    first: bool,
    /// `at` counts from the end of the key. Of a text of a key: it takes the rest of the key.
    from_end: bool,
    null_byte: usize,
    /// Offset in the row: of the value, or of a text's end. Offset in the key, or distance from its
    /// end.
    at: usize,
    /// Where variable bytes begin, in a narrow row.
    base: usize,
    /// Undoes the complement of a descending key part.
    mask: u64,
}

/// Nothing where the value is null, the row of another form, or damaged.
impl CommonSlot {
    /// Of a value that is not read in place.
    pub(super) const OTHER: CommonSlot = CommonSlot {
        kind: Common::Other,
        null_mask: 0,
        first: false,
        from_end: false,
        null_byte: 0,
        at: 0,
        base: 0,
        mask: 0,
    };

    #[inline]
    pub(super) fn is_null(&self, row: &[u8]) -> bool {
        row.first() == Some(&NARROW)
            && row
                .get(self.null_byte)
                .is_some_and(|nulls| nulls & self.null_mask != 0)
    }

    #[inline]
    pub(crate) fn text<'a>(&self, row: &'a [u8]) -> Option<&'a str> {
        if *row.first()? != NARROW || self.is_null_bit(row)? {
            return None;
        }
        let (start, end) = self.ends(row)?;
        utf8::text(row.get(self.base..)?.get(start..end)?)
    }

    /// Whether the bit of the null bitmap is set in a narrow row.
    #[inline]
    fn is_null_bit(&self, row: &[u8]) -> Option<bool> {
        Some(self.null_mask != 0 && row.get(self.null_byte)? & self.null_mask != 0)
    }

    /// The end of the text before a text of a narrow row, which is its start, and its own.
    #[inline]
    fn ends(&self, row: &[u8]) -> Option<(usize, usize)> {
        let (start, end) = if self.first {
            (0, u16::from_le_bytes(*row.get(self.at..)?.first_chunk()?))
        } else {
            // Both are read at once.
            let ends = u32::from_le_bytes(*row.get(self.at - 2..)?.first_chunk()?);
            (ends as u16, (ends >> 16) as u16)
        };
        Some((usize::from(start), usize::from(end)))
    }

    /// The end of the text before a text of a narrow row, which is its start.
    #[inline]
    fn start(&self, row: &[u8]) -> Option<usize> {
        if self.first {
            return Some(0);
        }
        let end = u16::from_le_bytes(*row.get(self.at - 2..)?.first_chunk()?);
        Some(usize::from(end))
    }

    #[inline]
    pub(super) fn integer(&self, row: &[u8]) -> Option<i64> {
        if *row.first()? != NARROW || self.is_null_bit(row)? {
            return None;
        }
        let bytes = row.get(self.at..)?;
        match self.kind {
            Common::Int => Some(i64::from(i32::from_le_bytes(*bytes.first_chunk()?))),
            _ => Some(i64::from_le_bytes(*bytes.first_chunk()?)),
        }
    }

    /// Whether it is a text of a row.
    pub(crate) fn is_text(&self) -> bool {
        self.kind == Common::Text
    }

    /// Whether it is a text of a key.
    pub(crate) fn is_key_text(&self) -> bool {
        self.kind == Common::KeyText
    }

    /// What number it is.
    pub(crate) fn number_kind(&self) -> Option<Number> {
        match self.kind {
            Common::Int | Common::BigInt => Some(Number::Int),
            Common::Timestamp | Common::KeyTime => Some(Number::Timestamp),
            Common::Text | Common::KeyText | Common::Other => None,
        }
    }

    /// The integer or timestamp of a column of such a type.
    #[inline]
    pub(crate) fn number(&self, key: &[u8], row: &[u8]) -> Option<i64> {
        match self.kind {
            Common::KeyTime => self.key_time(key),
            Common::Int | Common::BigInt | Common::Timestamp => self.integer(row),
            Common::Text | Common::KeyText | Common::Other => None,
        }
    }

    #[inline]
    pub(super) fn key_time(&self, key: &[u8]) -> Option<i64> {
        let at = if self.from_end {
            key.len().checked_sub(self.at)?
        } else {
            self.at
        };
        let bits = u64::from_be_bytes(*key.get(at..)?.first_chunk()?) ^ self.mask;
        Some((bits ^ (1 << 63)) as i64)
    }

    /// A text that is whole and has nothing escaped.
    #[inline]
    pub(crate) fn key_text<'a>(&self, key: &'a [u8]) -> Option<&'a str> {
        let (_, text) = self.key_text_bytes(key)?.split_last()?;
        if has_escape(text) {
            return None;
        }
        utf8::text(text)
    }

    /// A text of a key that is whole, as it is stored, with its end.
    #[inline]
    pub(crate) fn key_text_bytes<'a>(&self, key: &'a [u8]) -> Option<&'a [u8]> {
        if self.kind != Common::KeyText {
            return None;
        }
        let mut bytes = key.get(self.at..)?;
        if !self.first {
            bytes = bytes.strip_prefix(&[key::PRESENT])?;
        }
        if self.from_end {
            return (bytes.last() == Some(&key::END)).then_some(bytes);
        }
        let end = bytes.iter().position(|&b| b == key::END)?;
        bytes.get(..=end)
    }
}

/// Whether a stored text has escaped bytes: any that is not above [`key::ESCAPE`], eight at a time.
#[inline]
fn has_escape(text: &[u8]) -> bool {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    const HIGHS: u64 = ONES << 7;
    let low = |word: &[u8; 8]| {
        let word = u64::from_ne_bytes(*word);
        word.wrapping_sub(ONES * (u64::from(key::ESCAPE) + 1)) & !word & HIGHS != 0
    };
    // The last word may have bytes of the one before it, which are looked at twice.
    match (text.first_chunk(), text.last_chunk()) {
        (Some(first), Some(last)) if text.len() <= 16 => low(first) || low(last),
        (_, Some(last)) => text.as_chunks().0.iter().any(low) || low(last),
        _ => text.iter().any(|&byte| byte <= key::ESCAPE),
    }
}

/// Texts that stand side by side in a row and are all looked at: their bytes are checked once,
/// because three short checks cost twice as much as a long one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TextRun {
    first: CommonSlot,
    last: CommonSlot,
}

impl TextRun {
    /// The longest run of texts among these columns of a layout.
    pub(crate) fn longest(
        layout: &Layout,
        columns: impl Iterator<Item = usize>,
    ) -> Option<TextRun> {
        let mut slots: Vec<&CommonSlot> = columns
            .map(|column| layout.common_slot(column))
            .filter(|slot| slot.kind == Common::Text)
            .collect();
        slots.sort_by_key(|slot| slot.at);
        slots.dedup();
        // The ends of neighbours are neighbours.
        let runs = slots.chunk_by(|a, b| a.at + 2 == b.at);
        let longest = runs.max_by_key(|run| run.len())?;
        // The bytes of the run are where they are, whether its first or last text is null or not.
        let place = |slot: &CommonSlot| CommonSlot {
            null_mask: 0,
            ..*slot
        };
        Some(TextRun {
            first: place(longest.first()?),
            last: place(longest.last()?),
        })
    }

    /// How many texts it has.
    pub(crate) fn len(&self) -> usize {
        1 + (self.last.at - self.first.at) / 2
    }

    /// Checks the run in a row; nothing where it is not UTF-8 as a whole, or the row is of another
    /// form.
    pub(crate) fn check<'a>(&self, row: &'a [u8]) -> Option<&'a str> {
        if *row.first()? != NARROW {
            return None;
        }
        let from = self.first.start(row)?;
        let (_, to) = self.last.ends(row)?;
        let bytes = row.get(self.first.base..)?.get(from..to)?;
        simdutf8::basic::from_utf8(bytes).ok()
    }

    /// One text of the run, of a row in which it was checked; nothing where it is null, or not
    /// between two characters.
    #[inline]
    pub(crate) fn text<'a>(
        &self,
        checked: &'a str,
        row: &[u8],
        slot: &CommonSlot,
    ) -> Option<&'a str> {
        if slot.is_null_bit(row)? {
            return None;
        }
        let from = self.first.start(row)?;
        let (start, end) = slot.ends(row)?;
        // What is before the run wraps around, and is beyond its end.
        checked.get(start.wrapping_sub(from)..end.wrapping_sub(from))
    }

    /// Whether a text stands in the run.
    pub(crate) fn holds(&self, slot: &CommonSlot) -> bool {
        slot.kind == Common::Text && (self.first.at..=self.last.at).contains(&slot.at)
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
        base: ends_at + 2 * variable,
        ..CommonSlot::OTHER
    };
    let part = |(i, (part, place)): (usize, (&KeyPart, &PartPlace))| match (&part.ty, place) {
        // What is hashed where long has a tag, whatever its type.
        (Type::Timestamp, &(PartPlace::Start(at) | PartPlace::End(at)))
            if !part.optional && !part.hashed =>
        {
            CommonSlot {
                kind: Common::KeyTime,
                at,
                from_end: matches!(place, PartPlace::End(_)),
                mask: if part.direction == Direction::Desc {
                    u64::MAX
                } else {
                    0
                },
                ..other
            }
        }
        (Type::Text(_), &PartPlace::Start(at))
            if !part.optional && (part.hashed || part.direction == Direction::Asc) =>
        {
            CommonSlot {
                kind: Common::KeyText,
                at,
                first: !part.hashed,
                from_end: i + 1 == key.len(),
                ..other
            }
        }
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
    let parts = key.iter().zip(parts).enumerate().map(part);
    parts.chain(columns.iter().zip(slots).map(column)).collect()
}
