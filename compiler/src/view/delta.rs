//! Maintenance as the difference of the view: what a change of the facts does to a structure.

use super::eval::Fixed;
use super::facts::{Facts, Key, slot_value};
use super::reads::{NodeReads, Position, Reads, Route, RouteStep};
use super::rows::{Contribution, contribution_of};
use super::{Kind, Structure};
use crate::model::{EntityId, Field, Model, NodeId};
use crate::value::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

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
/// bindings that the change can reach.
///
/// What a binding contributes differs only if an instance on a route from one of its nodes, in
/// either state, changed. Take the changed instance that is nearest to its node: everything between
/// them is the same in both states, so walking back from it in one state finds the node; only the
/// step off the changed instance itself must be walked in both. From the node, walking back in the
/// state that has the binding finds the nodes that it was unfolded from, and the anchor. All other
/// bindings are the same in both states, and are looked at in neither. `reads`: those of the
/// structure.
pub fn delta<B: Facts, A: Facts<Error = B::Error>>(
    model: &Model,
    structure: &Structure,
    reads: &Reads,
    changes: &FactChanges,
    before: &B,
    after: &A,
) -> Result<Delta, B::Error> {
    let mut delta = Delta::default();
    for (anchor, parts) in affected(model, reads, changes, before, after)? {
        let in_before = existing(reads, changes, before, &parts)?;
        let old = contribution_of(model, structure, before, &anchor, in_before)?;
        let in_after = existing(reads, changes, after, &parts)?;
        let new = contribution_of(model, structure, after, &anchor, in_after)?;
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
            let row = self.rows.entry(key).or_default();
            row.1.push(columns);
            debug_assert!(alone(structure, &row.1));
        }
        for (key, gone) in old_rows {
            if !gone.is_empty() {
                let row = self.rows.entry(key).or_default();
                row.0.extend(gone);
                debug_assert!(alone(structure, &row.0));
            }
        }
    }
}

/// A list's key determines its binding: no two share one.
fn alone(structure: &Structure, bindings: &[Vec<Value>]) -> bool {
    structure.kind == Kind::Groups || bindings.len() <= 1
}

/// Some of an anchor's bindings: those that agree with at least one.
type Parts = BTreeSet<Fixed>;

/// Those parts whose fixed instances exist in a state. One that the change did not touch exists in
/// both, for it was found in one of them.
fn existing<'p, F: Facts>(
    reads: &Reads,
    changes: &FactChanges,
    facts: &F,
    parts: &'p Parts,
) -> Result<Vec<&'p Fixed>, F::Error> {
    let mut found = Vec::with_capacity(parts.len());
    'parts: for part in parts {
        for (&node, key) in part {
            let node = reads.nodes.get(node as usize);
            let Some(itself) = node.and_then(|n| n.positions.get(&Route::new())) else {
                continue;
            };
            let instance = (itself.entity, (**key).clone());
            if changes.contains_key(&instance) && !facts.exists(instance.0, &instance.1)? {
                continue 'parts;
            }
        }
        found.push(part);
    }
    Ok(found)
}

/// The bindings that the change can have altered, by anchor.
fn affected<B: Facts, A: Facts<Error = B::Error>>(
    model: &Model,
    reads: &Reads,
    changes: &FactChanges,
    before: &B,
    after: &A,
) -> Result<BTreeMap<Key, Parts>, B::Error> {
    let mut anchors: BTreeMap<Key, Parts> = BTreeMap::new();
    let back = Back {
        model,
        before,
        after,
    };
    for (id, node) in reads.nodes.iter().enumerate() {
        for (route, position) in &node.positions {
            for ((_, key), _) in changes.iter().filter(|c| touched(route, position, *c)) {
                let found = BTreeMap::from([(key.clone(), Parts::from([Fixed::new()]))]);
                let found = back.walk(route, found)?;
                for (anchor, parts) in back.to_anchor(reads, id as NodeId, found)? {
                    anchors.entry(anchor).or_default().extend(parts);
                }
            }
        }
    }
    for parts in anchors.values_mut() {
        // Where nothing is fixed, the other parts are included.
        let all = Fixed::new();
        if parts.contains(&all) {
            *parts = Parts::from([all]);
        }
    }
    Ok(anchors)
}

/// Whether a change alters what is read at a position.
fn touched(
    route: &Route,
    position: &Position,
    ((entity, _), change): (&(EntityId, Key), &InstanceChange),
) -> bool {
    let touched = if change.stays {
        !change.slots.is_disjoint(&position.slots)
    } else {
        // Whatever refers to one that has just come (or gone) has changed itself, nearer to the
        // node: references lead to what exists.
        !matches!(route.last(), Some(RouteStep::One(_)))
    };
    *entity == position.entity && touched
}

/// Walks routes backwards, in both states.
struct Back<'a, B, A> {
    model: &'a Model,
    before: &'a B,
    after: &'a A,
}

impl<B: Facts, A: Facts<Error = B::Error>> Back<'_, B, A> {
    /// From instances at a node to the anchor; the node, and those between, are fixed to what was
    /// walked over.
    fn to_anchor(
        &self,
        reads: &Reads,
        node: NodeId,
        mut found: BTreeMap<Key, Parts>,
    ) -> Result<BTreeMap<Key, Parts>, B::Error> {
        let Some(NodeReads {
            parent: Some((parent, route)),
            ..
        }) = reads.nodes.get(node as usize)
        else {
            return Ok(found);
        };
        for (key, parts) in &mut found {
            let key = Rc::new(key.clone());
            let fix = |mut part: Fixed| {
                part.insert(node, Rc::clone(&key));
                part
            };
            *parts = std::mem::take(parts).into_iter().map(fix).collect();
        }
        self.to_anchor(reads, *parent, self.walk(route, found)?)
    }

    /// From instances at the end of a route to those at its start.
    fn walk(
        &self,
        route: &Route,
        mut found: BTreeMap<Key, Parts>,
    ) -> Result<BTreeMap<Key, Parts>, B::Error> {
        for &step in route.iter().rev() {
            let mut nearer: BTreeMap<Key, Parts> = BTreeMap::new();
            for (key, parts) in found {
                for next in self.step(step, &key)? {
                    nearer.entry(next).or_default().extend(parts.clone());
                }
            }
            found = nearer;
        }
        Ok(found)
    }

    fn step(&self, step: RouteStep, key: &[Value]) -> Result<BTreeSet<Key>, B::Error> {
        let mut nearer = BTreeSet::new();
        match step {
            RouteStep::One(reference) => {
                nearer.extend(self.before.referrers(reference, key)?);
                nearer.extend(self.after.referrers(reference, key)?);
            }
            RouteStep::Back(reference) => {
                let model = self.model;
                let entity = model.entity(model.reference(reference).entity).root;
                let Some(slot) = model.slot(entity, Field::Reference(reference)) else {
                    return Ok(nearer);
                };
                for value in [
                    slot_value(model, self.before, entity, key, slot)?,
                    slot_value(model, self.after, entity, key, slot)?,
                ] {
                    if let Value::Key(target) = value {
                        nearer.insert(target);
                    }
                }
            }
        }
        Ok(nearer)
    }
}
