//! Sorts whose input already comes in the order of all terms but the first, or in its reverse: of
//! tuples that are alike in the first term, the number of a tuple says which one is first, and
//! nothing more is compared. Most orders end with the key that is scanned.

use super::bound::{BoundOp, OpKind};
use super::order::By;
use super::range::Bounds;
use super::term::Node;
use super::{Frame, Tuples};
use crate::key;
use crate::store::Buf;
use querent_compiler::model::Direction;

/// How tuples that are alike in the first term stand to one another in the input.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct InputOrder {
    /// The input comes in the reverse of the order.
    pub(super) reversed: bool,
    /// The frame and the place in its key of the first part that is not the same in all keys, where
    /// it is cut if it is long: keys are in the order of the values as long as none is.
    may_be_cut: Option<(usize, usize)>,
}

impl InputOrder {
    /// Of the terms behind the first; none where the input's order does not tell.
    pub(super) fn of(input: &BoundOp, terms: &[By]) -> Option<InputOrder> {
        let mut order = InputOrder {
            reversed: false,
            may_be_cut: None,
        };
        // Tuples that are equal in all terms keep the input's order.
        if terms.is_empty() {
            return Some(order);
        }
        let (scan, at) = scanned(input)?;
        let key = &scan.layout.key;
        let mut next = scan.eq.len();
        let mut reversed = None;
        for by in terms {
            let Node::Row { frame, column, .. } = &by.node else {
                return None;
            };
            if *frame != at {
                return None;
            }
            // The same in all rows of the scan.
            if *column < scan.eq.len() {
                continue;
            }
            if *column != next {
                return None;
            }
            let part = key.get(next)?;
            let stored = match part.hashed {
                false => part.direction,
                true if next == scan.eq.len() => {
                    order.may_be_cut = Some((at, scan.layout.part_start(next)?));
                    Direction::Asc
                }
                true => return None,
            };
            let turned = (by.direction != stored) != scan.reverse;
            if reversed.is_some_and(|reversed| reversed != turned) {
                return None;
            }
            reversed = Some(turned);
            next += 1;
        }
        order.reversed = reversed.unwrap_or(false);
        // Turned round, only what is never equal keeps its order.
        (!order.reversed || next == key.len()).then_some(order)
    }

    /// Whether the tuples from the `from`-th on are where their values would be. Keys that are cut
    /// come behind all that are not, so that the ends tell.
    pub(super) fn holds<B: Buf>(&self, tuples: &Tuples<B>, from: usize) -> bool {
        let Some((frame, part)) = self.may_be_cut else {
            return true;
        };
        let is_whole = |at| match tuples.frame(at, frame) {
            Some(Frame::Row(key, _)) => !key::is_cut(key, part),
            _ => false,
        };
        from == tuples.len() || is_whole(from) && is_whole(tuples.len() - 1)
    }
}

/// The one scan that an operator's tuples come from, each with a row of it and in its order, and the
/// frame of that row.
fn scanned(op: &BoundOp) -> Option<(&Bounds, usize)> {
    match &op.kind {
        OpKind::Get {
            input,
            bounds,
            outer,
        } => {
            if matches!(input.op.kind, OpKind::Input) {
                return (!*outer).then_some((bounds, input.stride));
            }
            let point = bounds.eq.len() == bounds.layout.key.len();
            if point { scanned(&input.op) } else { None }
        }
        OpKind::Filter { input, .. } => scanned(&input.op),
        _ => None,
    }
}
