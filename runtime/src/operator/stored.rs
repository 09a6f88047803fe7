//! Terms that are stored values, bound to where most rows have them: what is asked of a tuple is
//! then one frame and one place in it.

use super::Frame;
use super::term::Node;
use crate::key::Number;
use crate::layout::CommonSlot;
use crate::store::Buf;
use querent_compiler::model::Function;

/// Where a term's value is stored.
#[derive(Clone, Copy)]
pub(super) struct Stored {
    pub(super) frame: usize,
    pub(super) slot: CommonSlot,
    /// Whether an absent row counts as 0.
    or_zero: bool,
}

impl Stored {
    /// Of a stored column, or of one that is 0 where there is no row.
    fn of(node: &Node) -> Option<Stored> {
        let (node, or_zero) = match node {
            Node::Call(Function::OrZero, args) => match args.as_slice() {
                [arg] => (arg, true),
                _ => return None,
            },
            node => (node, false),
        };
        let Node::Row { frame, slot, .. } = node else {
            return None;
        };
        Some(Stored {
            frame: *frame,
            slot: *slot,
            or_zero,
        })
    }

    /// The integer or timestamp in its frame; none where it is null, not stored as most are, or
    /// something else.
    #[expect(
        clippy::inline_always,
        reason = "returned through memory instead of registers, a number costs as much as reading it"
    )]
    #[inline(always)]
    pub(super) fn number<B: Buf>(&self, frame: &Frame<B>) -> Option<i64> {
        match frame {
            Frame::Row(key, row) => self.slot.number(key, row),
            Frame::Values(None) if self.or_zero => Some(0),
            Frame::Values(_) => None,
        }
    }
}

/// A term that is a stored integer or timestamp.
#[derive(Clone, Copy)]
pub(super) struct StoredNumber {
    stored: Stored,
    pub(super) kind: Number,
}

impl StoredNumber {
    pub(super) fn of(node: &Node) -> Option<StoredNumber> {
        let stored = Stored::of(node)?;
        let kind = stored.slot.number_kind()?;
        // What is no integer has another zero, or none.
        let or_zero = stored.or_zero && kind == Number::Int;
        Some(StoredNumber {
            stored: Stored { or_zero, ..stored },
            kind,
        })
    }

    /// The number in a tuple; none where it is null, or not stored as most are.
    #[expect(clippy::inline_always, reason = "as for the frame at hand")]
    #[inline(always)]
    pub(super) fn read<B: Buf>(&self, tuple: &[Frame<B>]) -> Option<i64> {
        self.stored.number(tuple.get(self.stored.frame)?)
    }
}

/// What a column of an answer is looked at as.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum How {
    Number,
    /// A text of a row by itself.
    Text,
    KeyText,
}

/// A column of an answer that is looked at where it is stored.
pub(super) struct Shown {
    pub(super) how: How,
    pub(super) stored: Stored,
}

impl Shown {
    /// Of a column; none where it is looked at as a value.
    pub(super) fn of(node: &Node) -> Option<Shown> {
        if let Some(StoredNumber { stored, .. }) = StoredNumber::of(node) {
            let how = How::Number;
            return Some(Shown { how, stored });
        }
        let stored = Stored::of(node).filter(|stored| !stored.or_zero)?;
        let how = match stored.slot {
            slot if slot.is_text() => How::Text,
            slot if slot.is_key_text() => How::KeyText,
            _ => return None,
        };
        Some(Shown { how, stored })
    }
}
