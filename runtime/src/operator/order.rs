//! Orders of several terms, each in its direction.

use super::term::{Env, Node, Stop};
use crate::store::Buf;
use querent_compiler::model::Direction;
use querent_compiler::value::Value;
use std::cmp::Reverse;

/// A value with its direction. Only values of the same term are compared, so that both are of the
/// same variant.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Directed {
    Asc(Value),
    Desc(Reverse<Value>),
}

impl Directed {
    pub(super) fn new(value: Value, direction: Direction) -> Self {
        match direction {
            Direction::Asc => Directed::Asc(value),
            Direction::Desc => Directed::Desc(Reverse(value)),
        }
    }
}

/// Terms with their directions.
pub(super) struct Order<'a>(pub(super) Vec<(Node<'a>, Direction)>);

impl Order<'_> {
    /// What a tuple is ordered by.
    pub(super) fn key<B: Buf>(&self, env: &Env<'_, B>) -> Result<Vec<Directed>, Stop> {
        self.0
            .iter()
            .map(|(node, direction)| Ok(Directed::new(node.value(env)?, *direction)))
            .collect()
    }
}

/// The other direction.
pub(super) fn opposite(direction: Direction) -> Direction {
    match direction {
        Direction::Asc => Direction::Desc,
        Direction::Desc => Direction::Asc,
    }
}
