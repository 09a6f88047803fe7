//! Terms that are stored values, bound to where most rows have them: what is asked of a tuple is
//! then one frame and one place in it.

use super::Frame;
use super::term::Node;
use crate::key::Number;
use crate::layout::CommonSlot;
use crate::store::Buf;
use querent_compiler::model::Function;

/// A term that is a stored integer or timestamp, or one that is 0 where there is none.
#[derive(Clone, Copy)]
pub(super) struct StoredNumber {
    pub(super) frame: usize,
    slot: CommonSlot,
    pub(super) kind: Number,
    /// Whether an absent row counts as 0.
    or_zero: bool,
}

impl StoredNumber {
    pub(super) fn of(node: &Node) -> Option<StoredNumber> {
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
        let kind = slot.number_kind()?;
        Some(StoredNumber {
            frame: *frame,
            slot: *slot,
            kind,
            // What is no integer has another zero, or none.
            or_zero: or_zero && kind == Number::Int,
        })
    }

    /// The number in a tuple; none where it is null, or not stored as most are.
    #[expect(
        clippy::inline_always,
        reason = "returned through memory instead of registers, a number costs as much as reading it"
    )]
    #[inline(always)]
    pub(super) fn read<B: Buf>(&self, tuple: &[Frame<B>]) -> Option<i64> {
        self.read_frame(tuple.get(self.frame)?)
    }

    /// The same with the frame at hand.
    #[expect(clippy::inline_always, reason = "as for the tuple")]
    #[inline(always)]
    pub(super) fn read_frame<B: Buf>(&self, frame: &Frame<B>) -> Option<i64> {
        match frame {
            Frame::Row(key, row) => self.slot.number(key, row),
            Frame::Values(None) if self.or_zero => Some(0),
            Frame::Values(_) => None,
        }
    }
}

/// How a column of an answer is looked at.
pub(super) enum Shown {
    Number(StoredNumber),
    /// One of the texts that are checked together.
    Together(CommonSlot),
    /// A text of a row by itself.
    Text {
        frame: usize,
        slot: CommonSlot,
    },
    /// A text of a key.
    KeyText {
        frame: usize,
        slot: CommonSlot,
    },
    /// As a value.
    Other,
}

impl Shown {
    /// Of a column that is not among the texts that are checked together.
    pub(super) fn of(node: &Node) -> Shown {
        if let Some(number) = StoredNumber::of(node) {
            return Shown::Number(number);
        }
        match *node {
            Node::Row { frame, slot, .. } if slot.is_text() => Shown::Text { frame, slot },
            Node::Row { frame, slot, .. } if slot.is_key_text() => Shown::KeyText { frame, slot },
            _ => Shown::Other,
        }
    }
}
