//! Rows that would make a key longer than a store can hold, in whichever structure.

use super::bulk::{Load, io};
use super::facts::{KeyLayouts, LoadFacts, decode};
use super::gone::Taken;
use crate::Error;
use crate::recompute::{ReferrerSorter, too_long};
use crate::schema::Schema;
use crate::store::lmdb::Lmdb;
use crate::store::{MAX_KEY, Store};
use querent_compiler::design::StructureId;
use querent_compiler::model::{AttributeId, EntityId, Expr, Field, Leaf, Type};
use querent_compiler::value::Value;
use querent_compiler::view::facts::key_of_row;
use querent_compiler::view::{KeyPart, key_size};
use std::collections::{BTreeMap, BTreeSet};

/// The longest texts and blobs that were read. Where these fit, no key needs to be computed to
/// know that it does.
#[derive(Default)]
pub(super) struct Longest {
    of: BTreeMap<AttributeId, usize>,
    any: usize,
}

impl Longest {
    /// Looks at a fact row.
    pub(super) fn note(&mut self, schema: &Schema, root: EntityId, row: &[Value]) {
        for (field, value) in schema.model.root(root).fields.iter().zip(row) {
            if let Field::Attribute(attribute) = field {
                let length = longest(value);
                if length > 0 {
                    let known = self.of.entry(*attribute).or_default();
                    *known = length.max(*known);
                    self.any = length.max(self.any);
                }
            }
        }
    }

    /// Structures in which a key may be too long.
    fn suspects(&self, schema: &Schema) -> Vec<StructureId> {
        let structures = schema.design.structures.iter().zip(&schema.layouts);
        let may = structures.enumerate().filter(|(_, (structure, layout))| {
            let parts = structure.key().zip(&layout.key);
            let sizes = parts.map(|(expr, part)| self.largest(schema, expr, part));
            sizes.sum::<usize>() > MAX_KEY
        });
        may.map(|(id, _)| id as StructureId).collect()
    }

    /// The most bytes that a part may take, given what was read.
    fn largest(&self, schema: &Schema, expr: &Expr, part: &KeyPart) -> usize {
        let model = &schema.model;
        if let Some(size) = key_size::largest(model, part) {
            return size;
        }
        let (longest, scalars) = match (expr, &part.ty) {
            (_, Type::Key(entity)) => (self.any, model.key_leaves(*entity).len()),
            (
                Expr::Path {
                    leaf: Leaf::Attribute(attribute, _),
                    ..
                },
                _,
            ) => (self.of.get(attribute).copied().unwrap_or(0), 1),
            _ => (self.any, 1),
        };
        // Escapes double it; a scalar has a tag and an end, and may be no text but a number.
        (2 * longest.max(16) + 2) * scalars + 2
    }
}

/// The bytes of the longest text or blob in a value.
fn longest(value: &Value) -> usize {
    match value {
        Value::Text(text) => text.len(),
        Value::Blob(bytes) => bytes.len(),
        Value::List(values) | Value::Set(values) | Value::Record(values) | Value::Key(values) => {
            values.iter().map(longest).max().unwrap_or(0)
        }
        Value::Map(pairs) => {
            let each = pairs.iter().map(|(k, v)| longest(k).max(longest(v)));
            each.max().unwrap_or(0)
        }
        _ => 0,
    }
}

impl Load<'_> {
    /// Takes out rows that would make a key too long.
    pub(super) fn take_long(&mut self, facts: &Lmdb) -> Result<bool, Error> {
        let schema = self.schema;
        let suspects = self.longest.suspects(schema);
        if suspects.is_empty() {
            return Ok(false);
        }
        let folder = self.folder.join("long");
        std::fs::create_dir(&folder).map_err(|source| io("creating", &folder, source))?;
        let keys = KeyLayouts::new(&schema.model);
        let snapshot = facts.snapshot()?;
        let mut referrers = ReferrerSorter::new(schema, &folder, self.options.memory / 2);
        let known = LoadFacts::new(schema, &keys, &snapshot, None);
        for root in schema.model.roots() {
            let mut rows = known.all(root)?;
            while let Some((_, bytes)) = rows.next()? {
                let row = decode(bytes)?.1;
                referrers.add(schema, root, &key_of_row(&schema.model, root, &row), &row)?;
            }
        }
        let referrers = referrers.finish(&folder)?;
        let mut out: BTreeMap<EntityId, BTreeSet<Taken>> = BTreeMap::new();
        for id in suspects {
            let Some(structure) = schema.design.structures.get(usize::from(id)) else {
                continue;
            };
            let root = schema.model.entity(structure.anchor).root;
            let known = LoadFacts::new(schema, &keys, &snapshot, Some(&referrers));
            let mut rows = known.all(root)?;
            while let Some((place, bytes)) = rows.next()? {
                let (origin, row) = decode(bytes)?;
                let key = key_of_row(&schema.model, root, &row);
                known.remember(root, &key, row.clone());
                if let Some(reason) = too_long(schema, id, &known, &key)?
                    && out
                        .entry(root)
                        .or_default()
                        .insert((place.to_vec(), origin))
                {
                    self.reject_row(origin, root, &row, &reason)?;
                }
            }
        }
        for (root, places) in &out {
            let places: Vec<Taken> = places.iter().cloned().collect();
            self.take_out(facts, *root, &places)?;
        }
        Ok(out.values().any(|places| !places.is_empty()))
    }
}
