//! Popular keys that are split: instances that share the values of some of their own fields are
//! numbered by sub-partition, so that each of these holds no more than a target allows.
//!
//! The number is a fact: a hidden attribute of the instance, last in its row, given by the database
//! when the instance is inserted or comes to share other values, and kept otherwise. A split never
//! moves rows. Which entities have such numbers is decided by a design, so the model that a design
//! is read with is that of the text and these attributes.

use super::{Attribute, AttributeId, EntityId, Expr, Field, Leaf, Model, Type};
use crate::value::Value;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// How the names of the hidden attributes begin: nobody can write them.
pub(crate) const NUMBER: &str = "@split_";

/// What instances of an entity share whose sub-partition is numbered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Split {
    /// The root whose instances are numbered.
    pub entity: EntityId,
    /// The hidden attribute that holds the number.
    pub attribute: AttributeId,
    /// What they share: own attributes, and scalars of the keys of own references.
    pub partition: Vec<Expr>,
    /// Instances of one sub-partition, at most.
    pub capacity: u64,
    /// Sub-partitions of one key, on average.
    pub average: f64,
    /// And at most.
    pub most: f64,
}

impl Split {
    /// The order in which splits are numbered: by what is split.
    pub(crate) fn in_order(&self, other: &Split) -> std::cmp::Ordering {
        let named = |s: &Split| (s.entity, s.partition.clone());
        named(self).cmp(&named(other))
    }

    /// The number, as a path from the instance.
    pub fn number(&self) -> Expr {
        Expr::Path {
            node: 0,
            element: vec![],
            steps: vec![],
            leaf: Leaf::Attribute(self.attribute, vec![]),
        }
    }

    /// The values that an instance shares with others, from its row.
    pub fn shared(&self, model: &Model, row: &[Value]) -> Vec<Value> {
        let parts = self.partition.iter();
        let value = |part| match own(model, self.entity, part) {
            Some((slot, None)) => row.get(slot).cloned(),
            Some((slot, Some(scalar))) => match row.get(slot) {
                Some(Value::Key(key)) => key.get(scalar).cloned(),
                _ => None,
            },
            None => None,
        };
        parts.map(|part| value(part).unwrap_or_default()).collect()
    }

    /// The slots of the row that say what is shared.
    pub fn slots(&self, model: &Model) -> BTreeSet<usize> {
        let parts = self.partition.iter();
        parts
            .filter_map(|part| Some(own(model, self.entity, part)?.0))
            .collect()
    }
}

/// Where an instance's own row holds a key part: the slot, and which scalar of a reference's key.
/// None for what other instances say too.
pub fn own(model: &Model, entity: EntityId, part: &Expr) -> Option<(usize, Option<usize>)> {
    let Expr::Path {
        node: 0,
        element,
        steps,
        leaf: Leaf::Attribute(attribute, path),
    } = part
    else {
        return None;
    };
    if !element.is_empty() || !path.is_empty() {
        return None;
    }
    let Some((&first, rest)) = steps.split_first() else {
        let slot = model.slot(entity, Field::Attribute(*attribute))?;
        return Some((slot, None));
    };
    let slot = model.slot(entity, Field::Reference(first))?;
    let leaves = model.key_leaves(model.reference(first).target);
    let mut leaves = leaves.iter();
    let scalar = leaves.position(|l| l.attribute == *attribute && l.steps == rest)?;
    Some((slot, Some(scalar)))
}

impl Model {
    /// The model with the numbers that a design asks for, in the place of those that it had.
    #[must_use]
    pub fn with_splits(&self, splits: &[Split]) -> Model {
        let mut model = self.clone();
        if let Some(first) = self.splits.iter().map(|s| s.attribute).min() {
            model.attributes.truncate(first.index());
            for entity in &mut model.entities {
                let stays = |f: &Field| !matches!(f, Field::Attribute(a) if *a >= first);
                entity.fields.retain(stays);
            }
        }
        model.splits.clear();
        for split in splits {
            let attribute = AttributeId(model.attributes.len() as u32);
            model.attributes.push(Attribute {
                name: format!("{NUMBER}{}", model.splits.len() + 1),
                entity: split.entity,
                ty: Type::Int,
                // An instance has none until the change that inserts it is decided.
                optional: true,
                unique: false,
                sequence: None,
                cardinality: Some(split.average),
                sharing: None,
                of: None,
            });
            if let Some(entity) = model.entities.get_mut(split.entity.index()) {
                entity.fields.push(Field::Attribute(attribute));
            }
            model.splits.push(Split {
                attribute,
                ..split.clone()
            });
        }
        model
    }

    /// What a hidden attribute numbers, if it does.
    pub fn split(&self, attribute: AttributeId) -> Option<&Split> {
        self.splits.iter().find(|s| s.attribute == attribute)
    }

    /// The numbers of an entity's instances, with their slots.
    pub fn splits_of(&self, root: EntityId) -> impl Iterator<Item = (usize, &Split)> {
        let own = self.splits.iter().filter(move |s| s.entity == root);
        own.filter_map(move |s| Some((self.slot(root, Field::Attribute(s.attribute))?, s)))
    }

    /// Whether a field is for the database to fill in: when an instance expires, and the numbers
    /// of its sub-partitions.
    pub fn is_hidden(&self, root: EntityId, field: Field) -> bool {
        match field {
            Field::Attribute(a) => self.root(root).deadline == Some(a) || self.split(a).is_some(),
            Field::Type | Field::Reference(_) => false,
        }
    }
}
