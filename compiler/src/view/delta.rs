//! Maintenance as the difference of the view: what a change of the facts does to a structure.

use super::facts::{Facts, Key, slot_value};
use super::reads::{Position, Route, RouteStep};
use super::rows::{Contribution, contribution};
use super::{Kind, Structure};
use crate::model::{EntityId, Field, Model};
use crate::value::Value;
use std::collections::{BTreeMap, BTreeSet};

/// The net effect of a change on one instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstanceChange {
    /// The instance existed before and exists after.
    pub stays: bool,
    /// Slots whose value differs; all of them where it appeared or disappeared.
    pub slots: BTreeSet<usize>,
}

/// The net effect of a change on the facts, by root or link and key.
pub type FactChanges = BTreeMap<(EntityId, Key), InstanceChange>;

/// What a structure needs: bindings that went and bindings that came, by row key.
#[derive(Clone, Debug, Default)]
pub struct Delta {
    /// Row key to (contributions that went, contributions that came).
    pub rows: BTreeMap<Vec<Value>, (Vec<Vec<Value>>, Vec<Vec<Value>>)>,
}

/// `S(F′) − S(F)` and `S(F) − S(F′)`: evaluates the structure before and after for just those
/// anchors that the change can reach.
///
/// An anchor's bindings differ only if an instance on one of its routes, in either state, changed.
/// Take the changed instance that is nearest to the anchor: everything between them is the same in
/// both states, so walking back from it in one state finds the anchor; only the step off the
/// changed instance itself must be walked in both. `reads`: those of the structure.
pub fn delta<B: Facts, A: Facts<Error = B::Error>>(
    model: &Model,
    structure: &Structure,
    reads: &BTreeMap<Route, Position>,
    changes: &FactChanges,
    before: &B,
    after: &A,
) -> Result<Delta, B::Error> {
    let mut delta = Delta::default();
    for anchor in affected(model, reads, changes, before, after)? {
        let old = contribution(model, structure, before, &anchor)?;
        let new = contribution(model, structure, after, &anchor)?;
        delta.add(structure, old, new);
    }
    Ok(delta)
}

impl Delta {
    fn add(&mut self, structure: &Structure, old: Contribution, new: Contribution) {
        let mut old_rows: BTreeMap<Vec<Value>, Vec<Vec<Value>>> = BTreeMap::new();
        for (key, columns) in old.bindings {
            old_rows.entry(key).or_default().push(columns);
        }
        for (key, columns) in new.bindings {
            // What is the same in both states is not a difference.
            if let Some(list) = old_rows.get_mut(&key)
                && let Some(i) = list.iter().position(|c| *c == columns)
            {
                list.swap_remove(i);
                continue;
            }
            self.rows.entry(key).or_default().1.push(columns);
        }
        for (key, gone) in old_rows {
            if !gone.is_empty() {
                self.rows.entry(key).or_default().0.extend(gone);
            }
        }
        debug_assert!(
            structure.kind == Kind::Groups
                || self
                    .rows
                    .values()
                    .all(|(a, b)| a.len() <= 1 && b.len() <= 1),
            "two bindings of {} share a key",
            structure.name
        );
    }
}

/// The anchors whose bindings the change can have altered.
pub fn affected<B: Facts, A: Facts<Error = B::Error>>(
    model: &Model,
    reads: &BTreeMap<Route, Position>,
    changes: &FactChanges,
    before: &B,
    after: &A,
) -> Result<BTreeSet<Key>, B::Error> {
    let mut anchors = BTreeSet::new();
    for (route, position) in reads {
        for ((entity, key), change) in changes {
            // Whatever refers to one that has just come (or gone) has changed itself, nearer to
            // the anchor: references lead to what exists.
            let touched = if change.stays {
                !change.slots.is_disjoint(&position.slots)
            } else {
                !matches!(route.last(), Some(RouteStep::One(_)))
            };
            if *entity == position.entity && touched {
                walk_back(model, route, key, before, after, &mut anchors)?;
            }
        }
    }
    Ok(anchors)
}

fn walk_back<B: Facts, A: Facts<Error = B::Error>>(
    model: &Model,
    route: &Route,
    key: &Key,
    before: &B,
    after: &A,
    anchors: &mut BTreeSet<Key>,
) -> Result<(), B::Error> {
    let mut keys = BTreeSet::from([key.clone()]);
    for step in route.iter().rev() {
        let mut nearer = BTreeSet::new();
        for key in &keys {
            match step {
                RouteStep::One(reference) => {
                    nearer.extend(before.referrers(*reference, key)?);
                    nearer.extend(after.referrers(*reference, key)?);
                }
                RouteStep::Back(reference) => {
                    let entity = model.entity(model.reference(*reference).entity).root;
                    let Some(slot) = model.slot(entity, Field::Reference(*reference)) else {
                        continue;
                    };
                    for value in [
                        slot_value(model, before, entity, key, slot)?,
                        slot_value(model, after, entity, key, slot)?,
                    ] {
                        if let Value::Key(target) = value {
                            nearer.insert(target);
                        }
                    }
                }
            }
        }
        keys = nearer;
    }
    anchors.extend(keys);
    Ok(())
}
