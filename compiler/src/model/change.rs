//! Changes.

use super::{EntityId, Expr, Param, ParamId, Pred};
use serde::{Deserialize, Serialize};

/// A change: statements applied together, later ones seeing the earlier.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Change {
    /// Name.
    pub name: String,
    /// Rate per second, or weight: one per mix, or a single one.
    pub rates: Vec<f64>,
    /// All of it must be atomic on the target.
    pub atomic: bool,
    /// Parameters, in order of first mention.
    pub params: Vec<Param>,
    /// Statements.
    pub statements: Vec<Statement>,
}

/// A statement. `connect` is an upsert of a link entity, `disconnect` a delete of link entities.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Statement {
    /// `insert`, `upsert`, `connect`.
    Insert {
        /// The concrete entity.
        entity: EntityId,
        /// Slots of the root's row and their values. Slots left out are null, or the next number
        /// of a sequence; on an upsert that finds a row they stay as they are.
        values: Vec<(usize, Expr)>,
        /// Replace what is there instead of refusing.
        upsert: bool,
        /// Milliseconds to live from now on, whatever was there before; none: for ever.
        expires: Option<u64>,
    },
    /// `update … set … where … if …`
    Update {
        /// The entity.
        entity: EntityId,
        /// Slots and their new values, in the scope of the old row.
        set: Vec<(usize, Expr)>,
        /// Which instances.
        filter: Vec<Pred>,
        /// Refuses the change where it does not hold for an instance, or where none is found.
        condition: Option<Pred>,
    },
    /// `delete … where … if …`, `disconnect`.
    Delete {
        /// The entity.
        entity: EntityId,
        /// Which instances.
        filter: Vec<Pred>,
        /// Refuses the change where it does not hold for an instance, or where none is found.
        condition: Option<Pred>,
    },
    /// `for each $item in $list { … }`
    ForEach {
        /// The list parameter.
        list: ParamId,
        /// The parameter bound to each element.
        item: ParamId,
        /// Statements.
        body: Vec<Statement>,
    },
}
