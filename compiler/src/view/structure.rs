//! The one definition of a structure.

use crate::model::{Direction, EntityId, Expr, Pred, Unfold};
use serde::{Deserialize, Serialize};

/// How bindings become rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Kind {
    /// The key determines the binding: one row per binding.
    Lists,
    /// The key is the group: one row per group of bindings, with a hidden count of them, which
    /// lives while the count is above 0. A column is an aggregate of the group, or a value that
    /// the key determines.
    Groups,
}

/// A maintained, ordered record set, as a view of the facts.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Structure {
    /// Name: unique within a design, a plain identifier.
    pub name: String,
    /// The entity of node 0.
    pub anchor: EntityId,
    /// To-many paths unfolded into the key: inner (no element, no row).
    pub over: Vec<Unfold>,
    /// Limits which bindings have a row; all must hold.
    pub filter: Vec<Pred>,
    /// Partition key: bound as a whole by every read.
    pub partition: Vec<Expr>,
    /// Clustering key: the order of rows within a partition.
    pub clustering: Vec<(Expr, Direction)>,
    /// How bindings become rows.
    pub kind: Kind,
    /// Columns: copied values, aggregates of a subquery, nested collections; in groups aggregates
    /// of the group (`Aggregate::over` is empty) and values that the key determines.
    pub columns: Vec<Expr>,
    /// Key parts, by position, of which a long value is stored as its beginning and a hash: those
    /// that are only ever compared for equality and may be too long for a key. The design decides
    /// it once, when all plans are known; the stored bytes depend on it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hashed: Vec<u16>,
}

impl Structure {
    /// Every stored value in layout order: partition parts, clustering parts, columns.
    /// A position in this sequence is what plans call a *column*.
    pub fn values(&self) -> impl Iterator<Item = &Expr> {
        self.key().chain(&self.columns)
    }
    /// Partition parts, then clustering parts.
    pub fn key(&self) -> impl Iterator<Item = &Expr> + Clone {
        self.partition
            .iter()
            .chain(self.clustering.iter().map(|(e, _)| e))
    }
    /// Whether another structure has the same rows, by the same key: it may keep other columns.
    pub fn same_rows(&self, other: &Structure) -> bool {
        self.anchor == other.anchor
            && self.over == other.over
            && self.filter == other.filter
            && self.partition == other.partition
            && self.clustering == other.clustering
            && self.kind == other.kind
    }
    /// How many key parts there are.
    pub fn key_len(&self) -> usize {
        self.partition.len() + self.clustering.len()
    }
    /// Whether long values of a key part are stored as their beginning and a hash.
    pub fn is_hashed(&self, part: usize) -> bool {
        self.hashed.iter().any(|&p| usize::from(p) == part)
    }
    /// The direction of a key part; partition parts are ascending.
    pub fn direction(&self, part: usize) -> Direction {
        part.checked_sub(self.partition.len())
            .and_then(|i| self.clustering.get(i))
            .map_or(Direction::Asc, |&(_, d)| d)
    }
}
