//! How a structure's keys and rows are laid out in bytes, with every offset computed once.

mod column;
mod common;
mod decode;
mod encode;
#[cfg(test)]
mod tests;
mod utf8;

use crate::key;
pub use crate::value_ref::ValueRef;
pub use querent_compiler::view::KeyPart;

pub(crate) use common::{Checked, CommonSlot, TextPlace, TextRun};
use querent_compiler::model::Type;

/// Rows begin with the format version (high nibble, 1) and a form (low nibble).
/// Ends of variable columns take two bytes each.
const NARROW: u8 = 0x10;
/// Ends of variable columns take four bytes each.
const WIDE: u8 = 0x11;
/// A value did not fit its column's type: all values describe themselves.
const LOOSE: u8 = 0x12;

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
    /// The structure's name, for messages.
    pub name: Box<str>,
    /// Key parts: partition, then clustering.
    pub key: Vec<KeyPart>,
    /// Columns behind the key.
    pub columns: Vec<Column>,
    /// The columns, and behind them those that keep the whole values of hashed key parts: null
    /// where the key has the value itself.
    stored: Vec<Column>,
    /// For each key part, the stored column that keeps its value.
    kept: Vec<Option<usize>>,
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

impl Layout {
    /// Computes the offsets.
    pub fn new(key: Vec<KeyPart>, columns: Vec<Column>) -> Layout {
        let parts = part_places(&key);
        let mut stored = columns.clone();
        let kept = key.iter().map(|part| {
            part.hashed.then(|| {
                stored.push(Column {
                    ty: part.ty.clone(),
                    optional: true,
                });
                stored.len() - 1
            })
        });
        let kept = kept.collect();
        let optional = stored.iter().filter(|c| c.optional).count();
        let mut fixed_at = 1 + optional.div_ceil(8);
        let (mut nulls, mut variable) = (0, 0);
        let mut slots = Vec::with_capacity(stored.len());
        for column in &stored {
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
        let common = common::slots(&key, &parts, &columns, &slots, fixed_at, variable);
        Layout {
            name: Box::default(),
            key,
            columns,
            stored,
            kept,
            parts,
            slots,
            common,
            ends_at: fixed_at,
            variable,
        }
    }

    /// The same layout, of the structure of this name.
    #[must_use]
    pub fn named(self, name: &str) -> Layout {
        Layout {
            name: name.into(),
            ..self
        }
    }
}

fn part_places(key: &[KeyPart]) -> Vec<PartPlace> {
    let width =
        |part: &KeyPart| key::fixed_width(&part.ty).filter(|_| !part.optional && !part.hashed);
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
