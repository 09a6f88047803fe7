//! What a cost model counts, where models differ in more than their constants. The default is what
//! Querent's own designs are priced by.

use crate::model::Type;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What is counted.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a rule of its own, named in the cost model's file"
)]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Rules {
    /// Distinct values of all attributes of a type, by the type's name, whatever the model states.
    pub cardinality: BTreeMap<String, f64>,
    /// Several key parts have no more values together than there are instances that have them; else
    /// as many as there are combinations.
    pub joint: bool,
    /// What a change must check (that a key is new, that the target of a link exists, that the
    /// instance of a given key is there) is read, and priced.
    pub checks: bool,
    /// A row that stays where it is is written as a whole; else only the columns that change are.
    pub whole_rows: bool,
    /// How the reads of maintenance are counted.
    pub support: Support,
    /// A limit behind a filter ends the reading early and comes before what is fetched for the rows
    /// that are left; else it only shortens a read that gives nothing but the answer's rows.
    pub early_limit: bool,
    /// Collections and aggregates may be kept in the row that they belong to.
    pub embedding: bool,
    /// Structures may leave out the rows that a question's constants leave out.
    pub partial: bool,
    /// What reads a structure as a whole pays for each of its partitions, as a get does; else for
    /// one.
    pub whole_partitions: bool,
}

/// How the reads that maintenance needs are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Support {
    /// Each once per change, for all structures together, from the homes of the facts.
    Shared,
    /// For each structure and each branch of its paths apart, as a query from what the design
    /// keeps; old values of what the change sets are not read.
    Branch,
    /// The same, but one lookup that answers several branches is one read.
    Lookup,
    /// The same, but one lookup that serves several structures is one read too: equal are those of
    /// one candidate, along one route from the instances that a statement changes. Where they are
    /// made for different numbers of instances, it is read for the most. Every effect of a change
    /// has lookups of its own, since it changes instances of its own: another statement's, or those
    /// that a delete cascades to.
    Statement,
}

impl Default for Rules {
    fn default() -> Rules {
        Rules {
            cardinality: BTreeMap::new(),
            joint: true,
            checks: true,
            whole_rows: true,
            support: Support::Shared,
            early_limit: true,
            embedding: true,
            partial: true,
            whole_partitions: false,
        }
    }
}

impl Rules {
    /// The distinct values that the rules give an attribute of a type.
    pub(crate) fn cardinality(&self, ty: &Type) -> Option<f64> {
        if self.cardinality.is_empty() {
            return None;
        }
        let name = match ty {
            Type::Bool => "bool",
            Type::Int => "int",
            Type::BigInt => "bigint",
            Type::Float => "float",
            Type::Decimal => "decimal",
            Type::Date => "date",
            Type::Timestamp => "timestamp",
            _ => return None,
        };
        self.cardinality.get(name).copied()
    }
}
