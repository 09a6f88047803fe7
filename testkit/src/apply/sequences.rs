//! Counters of sequences.

use crate::facts::Facts;
use querent_compiler::model::{EntityId, Field, Model, Sequence};
use querent_compiler::value::Value;
use std::collections::BTreeMap;

/// The last number assigned by each counter: attribute position and the key counted by.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sequences {
    /// Last numbers.
    pub last: BTreeMap<(u32, Vec<Value>), i64>,
}

impl Sequences {
    /// Counters that stand at the largest number of the facts.
    pub fn of(model: &Model, facts: &Facts) -> Sequences {
        let mut sequences = Sequences::default();
        for (&root, rows) in &facts.rows {
            for row in rows.values() {
                sequences.note(model, root, row);
            }
        }
        sequences
    }

    /// Raises the counters to the numbers of a row.
    pub(super) fn note(&mut self, model: &Model, root: EntityId, row: &[Value]) {
        for (slot, field) in model.entity(root).fields.iter().enumerate() {
            if let Field::Attribute(id) = field
                && let Some(sequence) = &model.attribute(*id).sequence
                && let Value::Int(n) = row[slot]
            {
                let last = self
                    .last
                    .entry((id.0, counter(model, root, sequence, row)))
                    .or_insert(0);
                *last = (*last).max(n);
            }
        }
    }
}

/// The part of a counter's identity that a row gives.
pub(super) fn counter(
    model: &Model,
    root: EntityId,
    sequence: &Sequence,
    row: &[Value],
) -> Vec<Value> {
    match sequence {
        Sequence::Global => Vec::new(),
        Sequence::Per(reference) => match model
            .slot(root, Field::Reference(*reference))
            .map(|s| &row[s])
        {
            Some(Value::Key(key)) => key.clone(),
            _ => vec![Value::Null],
        },
    }
}
