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
            // What most tuples are ordered by is encoded from where it is stored.
            if let Some((number, kind)) = node.number(env.tuple) {
                key::encode_number(number, kind, direction, out);
            } else if let Some(text) = node.key_text(env.tuple) {
                key::encode_stored_text(text, direction, out);
            } else {
                key::encode_ordered(&node.eval(env)?, direction, out);
            }
        }
        Ok(())
    }
}

/// The other direction.
pub(super) fn opposite(direction: Direction) -> Direction {
    match direction {
        Direction::Asc => Direction::Desc,
        Direction::Desc => Direction::Asc,
    }
}
