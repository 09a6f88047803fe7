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
    /// The bits of a row's first four bytes that tell whether the value is in its place: those of
    /// the header, and the column's own in the null bitmap where it may be null.
    form: u32,
    /// It is the first variable column. Of a text of a key: it has no tag before it.
    first: bool,
    /// `at` counts from the end of the key. Of a text of a key: it takes the rest of the key.
    from_end: bool,
    /// Offset in the row: of the value, or of a text's end. Offset in the key, or distance from its
    /// end.
    at: u32,
    /// Where variable bytes begin, in a narrow row.
    base: u32,
    /// Undoes the complement of a descending key part.
    mask: u64,
}

/// So many bytes from an offset on. Where addresses are wider than offsets, their sum with a length
/// does not overflow, and one comparison is all that is left of the checks.
#[inline]
fn bytes_at<const N: usize>(bytes: &[u8], at: u32) -> Option<&[u8; N]> {
    let at = at as usize;
    bytes.get(at..at + N)?.first_chunk()
}

/// The bits of a row's first four bytes that are its header.
const HEADER: u32 = 0xff;

/// Nothing where the value is null, the row of another form, or damaged.
impl CommonSlot {
    /// Of a value that is not read in place.
    pub(super) const OTHER: CommonSlot = CommonSlot {
        kind: Common::Other,
        form: HEADER,
        first: false,
        from_end: false,
        at: 0,
        base: 0,
        mask: 0,
    };

    #[inline]
    pub(super) fn is_null(&self, row: &[u8]) -> bool {
        row.first_chunk().is_some_and(|head| {
            let head = u32::from_le_bytes(*head);
            head & HEADER == u32::from(NARROW) && head & self.form & !HEADER != 0
        })
    }

    /// Whether a row is narrow and the value not null: both are one comparison of its first four
    /// bytes, which all rows have but a few that hold next to nothing.
    #[inline]
    fn is_in_place(&self, row: &[u8]) -> bool {
        row.first_chunk()
            .is_some_and(|head| u32::from_le_bytes(*head) & self.form == u32::from(NARROW))
    }

    #[inline]
    pub(crate) fn text<'a>(&self, row: &'a [u8]) -> Option<&'a str> {
        if !self.is_in_place(row) {
            return None;
        }
        let (start, end) = self.ends(row)?;
        utf8::text(row.get(self.base as usize..)?.get(start..end)?)
    }

    /// The end of the text before a text of a narrow row, which is its start, and its own.
    #[inline]
    fn ends(&self, row: &[u8]) -> Option<(usize, usize)> {
        let (start, end) = if self.first {
            (0, u16::from_le_bytes(*bytes_at(row, self.at)?))
        } else {
            // Both are read at once.
            let ends = u32::from_le_bytes(*bytes_at(row, self.at - 2)?);
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
        let end = u16::from_le_bytes(*bytes_at(row, self.at - 2)?);
        Some(usize::from(end))
    }

    /// The bytes of a value of fixed width.
    #[inline]
    fn fixed<const N: usize>(&self, row: &[u8]) -> Option<[u8; N]> {
        if !self.is_in_place(row) {
            return None;
        }
        bytes_at(row, self.at).copied()
    }

    /// An integer or timestamp of a row.
    #[inline]
    pub(super) fn integer(&self, row: &[u8]) -> Option<i64> {
        match self.kind {
            Common::Int => self.fixed(row).map(|v| i64::from(i32::from_le_bytes(v))),
            _ => self.fixed(row).map(i64::from_le_bytes),
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
            Common::Int | Common::BigInt | Common::Timestamp => self.integer(row),
            Common::KeyTime => self.key_time(key),
            Common::Text | Common::KeyText | Common::Other => None,
        }
    }

    #[inline]
    pub(super) fn key_time(&self, key: &[u8]) -> Option<i64> {
        let bytes = if self.from_end {
            let at = key.len().checked_sub(self.at as usize)?;
            key.get(at..)?.first_chunk()?
        } else {
            bytes_at(key, self.at)?
        };
        let bits = u64::from_be_bytes(*bytes) ^ self.mask;
        Some((bits ^ (1 << 63)) as i64)
    }

    /// A text that is whole and has nothing escaped.
    #[expect(
        clippy::inline_always,
        reason = "called, it costs as much again as looking at a short text"
    )]
    #[inline(always)]
    pub(crate) fn key_text<'a>(&self, key: &'a [u8]) -> Option<&'a str> {
        let (_, text) = self.key_text_bytes(key)?.split_last()?;
        utf8::text_from::<{ key::ESCAPE + 1 }>(text)
    }

    /// A text of a key that is whole, as it is stored, with its end. Asked only of a text of a key.
    #[inline]
    pub(crate) fn key_text_bytes<'a>(&self, key: &'a [u8]) -> Option<&'a [u8]> {
        let mut bytes = key.get(self.at as usize..)?;
        if !self.first {
            let (tag, rest) = bytes.split_first()?;
            if *tag != key::PRESENT {
                return None;
            }
            bytes = rest;
        }
        if self.from_end {
            return (bytes.last() == Some(&key::END)).then_some(bytes);
        }
        let end = bytes.iter().position(|&b| b == key::END)?;
        bytes.get(..=end)
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
            form: HEADER,
            ..*slot
        };
        Some(TextRun {
            first: place(longest.first()?),
            last: place(longest.last()?),
        })
    }

    /// How many texts it has.
    pub(crate) fn len(&self) -> usize {
        1 + (self.last.at - self.first.at) as usize / 2
    }

    /// Checks the run in a row; nothing where it is not UTF-8 as a whole, or the row is of another
    /// form.
    #[inline]
    pub(crate) fn check<'a>(&self, row: &'a [u8]) -> Option<Checked<'a>> {
        if *row.first()? != NARROW {
            return None;
        }
        let from = self.first.start(row)?;
        let (_, to) = self.last.ends(row)?;
        let bytes = row.get(self.first.base as usize..)?.get(from..to)?;
        Some(Checked {
            text: utf8::text(bytes)?,
            from,
            row,
        })
    }

    /// Where a text of the run stands; nothing where it is not in it.
    pub(crate) fn place(&self, slot: &CommonSlot) -> Option<TextPlace> {
        let inside = (self.first.at..=self.last.at).contains(&slot.at);
        if slot.kind != Common::Text || !inside {
            return None;
        }
        Some(TextPlace {
            form: slot.form,
            at: if slot.first { slot.at } else { slot.at - 2 },
            start: if slot.first { 0 } else { 0xffff },
            end: if slot.first { 0 } else { 16 },
        })
    }
}

/// Where a text of a run stands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TextPlace {
    /// As of its slot.
    form: u32,
    /// The offset of a word with its start and its end.
    at: u32,
    /// The bits of the word that are its start: none of the first text, which has none.
    start: u32,
    /// By how many bits its end is shifted in the word.
    end: u32,
}

impl TextPlace {
    /// Of a column that is in no run: no row is so long.
    pub(crate) const NOWHERE: TextPlace = TextPlace {
        form: 0,
        at: u32::MAX / 2,
        start: 0,
        end: 0,
    };
}

/// The texts of a run in one row, as one text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Checked<'a> {
    text: &'a str,
    /// Where it begins among the variable bytes of the row.
    from: usize,
    row: &'a [u8],
}

impl<'a> Checked<'a> {
    /// One text of the run; nothing where it is null, or not between two characters.
    #[expect(
        clippy::inline_always,
        reason = "returned through memory instead of registers, a text costs as much as reading it"
    )]
    #[inline(always)]
    pub(crate) fn text(&self, place: &TextPlace) -> Option<&'a str> {
        let word = u32::from_le_bytes(*bytes_at(self.row, place.at)?);
        if u32::from_le_bytes(*bytes_at(self.row, 0)?) & place.form != u32::from(NARROW) {
            return None;
        }
        let (start, end) = (word & place.start, word >> place.end & 0xffff);
        // What is before the run wraps around, and is beyond its end.
        let within = |at: u32| (at as usize).wrapping_sub(self.from);
        self.text.get(within(start)..within(end))
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
        base: (ends_at + 2 * variable) as u32,
        ..CommonSlot::OTHER
    };
    let part = |(i, (part, place)): (usize, (&KeyPart, &PartPlace))| match (&part.ty, place) {
        // What is hashed where long has a tag, whatever its type.
        (Type::Timestamp, &(PartPlace::Start(at) | PartPlace::End(at)))
            if !part.optional && !part.hashed =>
        {
            CommonSlot {
                kind: Common::KeyTime,
                at: at as u32,
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
                at: at as u32,
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
        // The bitmap of a row with more than 24 columns that may be null goes on behind.
        let nulls = match slot.null_byte {
            at @ 0..4 => u32::from(slot.null_mask) << (8 * at),
            _ => return other,
        };
        CommonSlot {
            kind,
            at: at as u32,
            first,
            form: HEADER | nulls,
            ..other
        }
    };
    let parts = key.iter().zip(parts).enumerate().map(part);
    parts.chain(columns.iter().zip(slots).map(column)).collect()
}
