//! Access paths of a set of structures: where a fact is read by its instance's key, and where the
//! referrers of an instance are found. Maintenance, checks, verify and load all read through it.

use super::plan::StructureId;
use super::shape::{is_identity, key_paths, reference_paths};
use crate::model::{AttributeId, EntityId, Expr, Field, Leaf, Model, ReferenceId};
use crate::view::{Kind, Structure};
use std::collections::BTreeMap;

/// Where a slot's value is: the columns of one structure that hold it (several for the scalars of
/// a reference).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlotPath {
    /// Structure, keyed by the instance's own key.
    pub structure: StructureId,
    /// Positions in its key parts and columns.
    pub columns: Vec<usize>,
}

/// How referrers are found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReferrerPath {
    /// Structure over the referring entity.
    pub structure: StructureId,
    /// For each of its first key parts, which scalar of the target's key it is.
    pub prefix: Vec<usize>,
    /// For each scalar of the referrer's own key, its position in the structure's key.
    pub key: Vec<usize>,
}

/// The access paths of a design.
#[derive(Clone, Debug, Default)]
pub struct Access {
    /// Structures keyed by the entity's own key, the first of which is read.
    pub homes: BTreeMap<EntityId, Vec<StructureId>>,
    /// Where each slot outside the key is read.
    pub slots: BTreeMap<(EntityId, usize), SlotPath>,
    /// Where referrers are found by one get; those missing need a scan of the referring entity.
    pub referrers: BTreeMap<ReferenceId, ReferrerPath>,
    /// Where a unique attribute's value is looked up: (structure, positions of the owner's key).
    pub unique: BTreeMap<AttributeId, (StructureId, Vec<usize>)>,
    /// Where the instances of a root that expire are listed by deadline: (structure, positions of
    /// the instance's key behind it).
    pub expiries: BTreeMap<EntityId, (StructureId, Vec<usize>)>,
    /// Where it is told how much the sub-partitions of a popular key hold, by their number.
    pub totals: BTreeMap<AttributeId, StructureId>,
}

impl Access {
    /// The access paths that the structures give.
    pub fn new(model: &Model, structures: &[Structure]) -> Access {
        let mut access = Access::default();
        let identity: Vec<(StructureId, &Structure)> = structures
            .iter()
            .enumerate()
            .filter(|(_, s)| is_identity(model, s))
            .map(|(i, s)| (i as StructureId, s))
            .collect();
        for root in model.roots() {
            let mut of_root: Vec<(StructureId, &Structure)> = identity
                .iter()
                .filter(|(_, s)| s.anchor == root)
                .copied()
                .collect();
            // The one that holds most is read first, so that one read gives most slots.
            of_root.sort_by_key(|(id, s)| (std::cmp::Reverse(s.columns.len()), *id));
            access
                .homes
                .insert(root, of_root.iter().map(|(id, _)| *id).collect());
            for (slot, field) in model.root(root).fields.iter().enumerate() {
                let paths = super::shape::field_paths(model, *field);
                let found = of_root.iter().find_map(|(id, s)| {
                    let columns: Option<Vec<usize>> = paths
                        .iter()
                        .map(|p| s.values().position(|e| e == p))
                        .collect();
                    Some(SlotPath {
                        structure: *id,
                        columns: columns?,
                    })
                });
                if let Some(path) = found {
                    access.slots.insert((root, slot), path);
                }
            }
        }
        for reference in (0..model.references.len() as u32).map(ReferenceId) {
            let found = structures.iter().enumerate().filter_map(|(id, s)| {
                referrer_path(model, s, reference).map(|(prefix, key)| {
                    (
                        s.columns.len(),
                        ReferrerPath {
                            structure: id as StructureId,
                            prefix,
                            key,
                        },
                    )
                })
            });
            // The narrowest is the cheapest to walk.
            if let Some((_, path)) = found.min_by_key(|(width, p)| (*width, p.structure)) {
                access.referrers.insert(reference, path);
            }
        }
        for (i, _) in model
            .attributes
            .iter()
            .enumerate()
            .filter(|(_, a)| a.unique)
        {
            let attribute = AttributeId(i as u32);
            let found = structures.iter().enumerate().find_map(|(id, s)| {
                unique_path(model, s, attribute).map(|key| (id as StructureId, key))
            });
            if let Some(path) = found {
                access.unique.insert(attribute, path);
            }
        }
        for (id, s) in structures.iter().enumerate() {
            if let Some(split) = super::popular_key::totals(model, s) {
                access.totals.insert(split.attribute, id as StructureId);
            }
            if super::expiry::is_list(model, s)
                && let Some(key) = positions(s, &key_paths(model, s.anchor))
            {
                access.expiries.insert(s.anchor, (id as StructureId, key));
            }
        }
        access
    }

    /// The facts that have their home in a structure, as `Entity.attribute`.
    pub fn home_of(&self, model: &Model, structure: StructureId) -> Vec<String> {
        let mut out = Vec::new();
        for root in model.roots() {
            let entity = model.entity(root);
            let first = self.homes.get(&root).and_then(|h| h.first()) == Some(&structure);
            for (slot, field) in entity.fields.iter().enumerate() {
                let here = match self.slots.get(&(root, slot)) {
                    _ if entity.key.contains(&slot) => first,
                    Some(path) => path.structure == structure,
                    None => false,
                };
                if here {
                    let name = match field {
                        Field::Type => "type".to_string(),
                        Field::Attribute(a) => model.attribute(*a).name.clone(),
                        Field::Reference(r) => model.reference(*r).name.clone(),
                    };
                    out.push(format!("{}.{name}", entity.name));
                }
            }
        }
        out
    }
}

fn positions(s: &Structure, wanted: &[Expr]) -> Option<Vec<usize>> {
    wanted
        .iter()
        .map(|w| s.values().position(|e| e == w))
        .collect()
}

fn referrer_path(
    model: &Model,
    s: &Structure,
    reference: ReferenceId,
) -> Option<(Vec<usize>, Vec<usize>)> {
    if !super::change::finds_referrers(model, s, reference, true) {
        return None;
    }
    let paths = reference_paths(model, reference);
    let prefix: Option<Vec<usize>> = s
        .key()
        .take(paths.len())
        .map(|e| paths.iter().position(|p| p == e))
        .collect();
    Some((prefix?, positions(s, &key_paths(model, s.anchor))?))
}

fn unique_path(model: &Model, s: &Structure, attribute: AttributeId) -> Option<Vec<usize>> {
    let leaf = Leaf::Attribute(attribute, vec![]);
    let path = Expr::Path {
        node: 0,
        element: vec![],
        steps: vec![],
        leaf,
    };
    let plain = s.kind == Kind::Lists && s.over.is_empty() && s.filter.is_empty();
    if !plain || s.key().next() != Some(&path) {
        return None;
    }
    positions(s, &key_paths(model, s.anchor))
}
