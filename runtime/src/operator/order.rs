//! Orders of several terms, each in its direction.

use super::stored::StoredNumber;
use super::term::{Env, Node, Stop};
use crate::key::{self, NumberOrder};
use crate::store::Buf;
use querent_compiler::model::Direction;

/// Terms with their directions.
pub(super) struct Order(pub(super) Vec<By>);

/// What tuples are ordered by.
pub(super) struct By {
    pub(super) node: Node,
    pub(super) direction: Direction,
    /// The term, where it is a stored number, and how such numbers are encoded.
    number: Option<(StoredNumber, NumberOrder)>,
}

impl By {
    pub(super) fn new(node: Node, direction: Direction) -> By {
        let number = StoredNumber::of(&node);
        let number = number.map(|number| {
            let order = NumberOrder::new(number.kind, direction);
            (number, order)
        });
        By {
            node,
            direction,
            number,
        }
    }
}

impl Order {
    /// The terms behind the first.
    pub(super) fn behind_first(&self) -> &[By] {
        self.0.get(1..).unwrap_or_default()
    }

    /// Appends what a tuple is ordered by, as bytes whose order is that of the tuples; turned
    /// round where `flip` says so. Bytes of an evaluation that stops half-way are left behind.
    pub(super) fn encode<B: Buf>(
        &self,
        env: &Env<'_, B>,
        flip: bool,
        out: &mut Vec<u8>,
    ) -> Result<(), Stop> {
        encode_all(&self.0, env, flip, out)
    }

    /// The same without the first terms.
    pub(super) fn encode_behind<B: Buf>(
        &self,
        terms: usize,
        env: &Env<'_, B>,
        out: &mut Vec<u8>,
    ) -> Result<(), Stop> {
        encode_all(self.0.get(terms..).unwrap_or_default(), env, false, out)
    }

    /// The first term, where it is a stored number, and how such numbers are encoded.
    pub(super) fn number(&self) -> Option<(StoredNumber, NumberOrder)> {
        self.0.first()?.number
    }

    /// The first bytes that the first term adds to [`Order::encode`]: where they differ in two
    /// tuples, their order is that of the tuples.
    pub(super) fn head<B: Buf>(
        &self,
        env: &Env<'_, B>,
        scratch: &mut Vec<u8>,
    ) -> Result<Head, Stop> {
        let Some(first) = self.0.first() else {
            return Ok(Head::default());
        };
        scratch.clear();
        encode(first, false, env, scratch)?;
        Ok(Head::of(scratch))
    }
}

/// The beginning of an encoding.
#[derive(Clone, Copy, Default)]
pub(super) struct Head {
    /// The first 16 bytes, as a number of the same order.
    pub(super) bytes: u128,
    /// How many bytes there are in all.
    pub(super) length: usize,
}

impl Head {
    #[inline]
    pub(super) fn of(bytes: &[u8]) -> Self {
        let head = bytes.first_chunk().copied().unwrap_or_else(|| {
            let mut head = [0; 16];
            let to = head.iter_mut();
            to.zip(bytes).for_each(|(to, byte)| *to = *byte);
            head
        });
        Head {
            bytes: u128::from_be_bytes(head),
            length: bytes.len(),
        }
    }
}

fn encode_all<B: Buf>(
    terms: &[By],
    env: &Env<'_, B>,
    flip: bool,
    out: &mut Vec<u8>,
) -> Result<(), Stop> {
    for by in terms {
        encode(by, flip, env, out)?;
    }
    Ok(())
}

/// Appends one term. What most tuples are ordered by is encoded from where it is stored.
fn encode<B: Buf>(by: &By, flip: bool, env: &Env<'_, B>, out: &mut Vec<u8>) -> Result<(), Stop> {
    let direction = if flip {
        by.direction.opposite()
    } else {
        by.direction
    };
    if let Some((number, order)) = &by.number
        && !flip
        && let Some(number) = number.read(env.tuple)
    {
        order.encode(number, out);
    } else if let Some(text) = by.node.key_text(env.tuple) {
        key::encode_stored_text(text, direction, out);
    } else {
        key::encode_ordered(&by.node.eval(env)?, direction, out);
    }
    Ok(())
}
