//! Attributes of to-one references. They belong to the link, which is a reference and where it
//! leads: they come with it, and are gone when it is cleared or leads elsewhere.

use super::{EntityId, Field, Model, ReferenceId};
use crate::value::Value;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// The reference that an attribute belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OfReference {
    /// The reference, which the same entity declares.
    pub reference: ReferenceId,
    /// Every link has a value. (Without a link there is none.)
    pub required: bool,
}

/// What is wrong with an attribute of a reference in a fact row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkFault {
    /// It has a value, and there is no link.
    Loose,
    /// There is a link, and it has no value although it is required.
    Bare,
}

impl Model {
    /// The attributes of references in the row of a root: each with its slot, that of its reference,
    /// and to whom it belongs.
    pub fn link_slots(
        &self,
        root: EntityId,
    ) -> impl Iterator<Item = (usize, usize, OfReference)> + '_ {
        let fields = self.root(root).fields.iter().enumerate();
        fields.filter_map(move |(slot, field)| {
            let Field::Attribute(attribute) = *field else {
                return None;
            };
            let of = self.attribute(attribute).of?;
            Some((slot, self.slot(root, Field::Reference(of.reference))?, of))
        })
    }

    /// What is written where these slots are: what sets a reference sets its attributes as well.
    #[must_use]
    pub fn with_link_slots(&self, root: EntityId, mut slots: BTreeSet<usize>) -> BTreeSet<usize> {
        let attributes = self.link_slots(root);
        let set = attributes.filter(|(_, reference, _)| slots.contains(reference));
        let set: Vec<usize> = set.map(|(slot, ..)| slot).collect();
        slots.extend(set);
        slots
    }

    /// Takes away the attributes of links that are no more: those of a reference that leads
    /// elsewhere than in the row before, unless they were given for the new one.
    pub fn drop_links(&self, root: EntityId, old: &[Value], row: &mut [Value], given: &[usize]) {
        for (slot, reference, _) in self.link_slots(root) {
            if old.get(reference) != row.get(reference)
                && !given.contains(&slot)
                && let Some(value) = row.get_mut(slot)
            {
                *value = Value::Null;
            }
        }
    }

    /// Attributes in a fact row that do not agree with their reference: the slots of both, and
    /// what is wrong.
    pub fn link_faults<'v>(
        &'v self,
        root: EntityId,
        row: &'v [Value],
    ) -> impl Iterator<Item = (usize, usize, LinkFault)> + 'v {
        let absent = |slot: usize| row.get(slot).is_none_or(Value::is_null);
        let attributes = self.link_slots(root);
        attributes.filter_map(move |(slot, reference, of)| {
            match (absent(reference), absent(slot)) {
                (true, false) => Some((slot, reference, LinkFault::Loose)),
                (false, true) if of.required => Some((slot, reference, LinkFault::Bare)),
                _ => None,
            }
        })
    }
}
