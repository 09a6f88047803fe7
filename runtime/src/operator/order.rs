//! Orders of several terms, each in its direction.

use super::term::{Env, Node, Stop};
use crate::key;
use crate::store::Buf;
use querent_compiler::model::Direction;

/// Terms with their directions.
pub(super) struct Order(pub(super) Vec<(Node, Direction)>);

impl Order {
    /// Appends what a tuple is ordered by, as bytes whose order is that of the tuples; turned
    /// round where `flip` says so. Bytes of an evaluation that stops half-way are left behind.
    pub(super) fn encode<B: Buf>(
        &self,
        env: &Env<'_, B>,
        flip: bool,
        out: &mut Vec<u8>,
    ) -> Result<(), Stop> {
        for (node, direction) in &self.0 {
            let direction = if flip {
                opposite(*direction)
            } else {
                *direction
            };
            encode(node, direction, env, out)?;
        }
        Ok(())
    }

    /// The first bytes that the first term adds to [`Order::encode`], as [`head_of`] has them: where
    /// the heads of two tuples differ, their order is that of the tuples.
    #[inline]
    pub(super) fn head<B: Buf>(
        &self,
        env: &Env<'_, B>,
        scratch: &mut Vec<u8>,
    ) -> Result<u128, Stop> {
        let Some((node, direction)) = self.0.first() else {
            return Ok(0);
        };
        if let Some((number, kind)) = node.number(env.tuple) {
            return Ok(key::ordered_number(number, kind, *direction));
        }
        scratch.clear();
        encode(node, *direction, env, scratch)?;
        Ok(head_of(scratch))
    }
}

/// The first 16 bytes of an encoding, as a number of the same order.
#[inline]
pub(super) fn head_of(bytes: &[u8]) -> u128 {
    let head = bytes.first_chunk().copied().unwrap_or_else(|| {
        let mut head = [0; 16];
        head.iter_mut()
            .zip(bytes)
            .for_each(|(to, byte)| *to = *byte);
        head
    });
    u128::from_be_bytes(head)
}

/// Appends one term. What most tuples are ordered by is encoded from where it is stored.
fn encode<B: Buf>(
    node: &Node,
    direction: Direction,
    env: &Env<'_, B>,
    out: &mut Vec<u8>,
) -> Result<(), Stop> {
    if let Some((number, kind)) = node.number(env.tuple) {
        key::encode_number(number, kind, direction, out);
    } else if let Some(text) = node.key_text(env.tuple) {
        key::encode_stored_text(text, direction, out);
    } else {
        key::encode_ordered(&node.eval(env)?, direction, out);
    }
    Ok(())
}

/// The other direction.
pub(super) fn opposite(direction: Direction) -> Direction {
    match direction {
        Direction::Asc => Direction::Desc,
        Direction::Desc => Direction::Asc,
    }
}
