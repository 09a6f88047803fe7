//! What most rows hold, read in place.

use super::{Column, KeyPart, Layout, NARROW, PartPlace, Place, Slot};
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
    pub(super) fn text<'a>(&self, row: &'a [u8]) -> Option<&'a str> {
        let (start, end) = self.text_place(row)?;
        std::str::from_utf8(row.get(start..end)?).ok()
    }

    /// Where the bytes of a text begin and end in a row; they may be beyond its end.
    #[inline]
    fn text_place(&self, row: &[u8]) -> Option<(usize, usize)> {
        if *row.first()? != NARROW || self.is_null_bit(row)? {
            return None;
        }
        let (start, end) = self.ends(row)?;
        Some((self.base + start, self.base + end))
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

    /// The text of a column of that type.
    #[inline(never)]
    pub(crate) fn own_text<'a>(&self, key: &'a [u8], row: &'a [u8]) -> Option<&'a str> {
        match self.kind {
            Common::Text => self.text(row),
            Common::KeyText => self.key_text(key),
            _ => None,
        }
    }

    /// The integer or timestamp of a column of such a type.
    #[inline]
    pub(crate) fn own_number(&self, key: &[u8], row: &[u8]) -> Option<(i64, Number)> {
        match self.kind {
            Common::Int | Common::BigInt => Some((self.integer(row)?, Number::Int)),
            Common::Timestamp => Some((self.integer(row)?, Number::Timestamp)),
            Common::KeyTime => Some((self.key_time(key)?, Number::Timestamp)),
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
    pub(super) fn key_text<'a>(&self, key: &'a [u8]) -> Option<&'a str> {
        let (_, text) = self.key_text_bytes(key)?.split_last()?;
        if has_escape(text) {
            return None;
        }
        std::str::from_utf8(text).ok()
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
    let (words, rest) = text.as_chunks();
    let low = |word: &[u8; 8]| {
        let word = u64::from_ne_bytes(*word);
        word.wrapping_sub(ONES * (u64::from(key::ESCAPE) + 1)) & !word & HIGHS != 0
    };
    words.iter().any(low) || rest.iter().any(|&byte| byte <= key::ESCAPE)
}

/// Texts that stand side by side in a row and are all looked at: their bytes are checked once,
/// because three short checks cost twice as much as a long one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TextRun {
    first: CommonSlot,
    last: CommonSlot,
}

/// The checked bytes of a run of texts.
#[derive(Clone, Copy)]
pub(crate) struct CheckedTexts<'a> {
    text: &'a str,
    /// The narrow row that they are in.
    row: &'a [u8],
    /// The end of the text before the run, or 0.
    from: usize,
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
    pub(crate) fn check<'a>(&self, row: &'a [u8]) -> Option<CheckedTexts<'a>> {
        let (from, _) = self.first.text_place(row)?;
        let (_, to) = self.last.text_place(row)?;
        let text = simdutf8::basic::from_utf8(row.get(from..to)?).ok()?;
        let from = from - self.first.base;
        Some(CheckedTexts { text, row, from })
    }

    /// Whether a text stands in the run.
    pub(crate) fn holds(&self, slot: &CommonSlot) -> bool {
        slot.kind == Common::Text && (self.first.at..=self.last.at).contains(&slot.at)
    }
}

impl<'a> CheckedTexts<'a> {
    /// One text of the run; nothing where it is null, or not between two characters.
    #[inline]
    pub(crate) fn text(&self, slot: &CommonSlot) -> Option<&'a str> {
        if slot.is_null_bit(self.row)? {
            return None;
        }
        let (start, end) = slot.ends(self.row)?;
        // What is before the run wraps around, and is beyond its end.
        let (start, end) = (start.wrapping_sub(self.from), end.wrapping_sub(self.from));
        self.text.get(start..end)
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
