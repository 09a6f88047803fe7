//! Random facts that keep the model's rules.

use super::rng::Rng;
use super::values::value;
use crate::apply::Sequences;
use crate::facts::{Facts, Rows, concrete, inner_keys, is_a, key_of};
use querent_compiler::model::{EntityId, Field, Model, Sequence, Type};
use querent_compiler::value::Value;
use std::collections::BTreeSet;

/// Random facts, at most so many rows per root or link. References lead to what exists, what is
/// unique occurs once, what is required is there, nothing says when it expires; the counters of
/// sequences come with them.
pub fn facts(rng: &mut Rng, model: &Model, rows: usize) -> (Facts, Sequences) {
    let mut facts = Facts::default();
    for root in by_key_references(model) {
        facts.rows.insert(root, Rows::default());
        let count = if rng.percent(8) {
            rng.below(2)
        } else {
            rng.between(rows / 2, rows)
        };
        for _ in 0..count {
            if let Some(row) = keyed_row(rng, model, root, &facts) {
                let key = key_of(model, root, &row);
                facts.of_mut(model, root).entry(key).or_insert(row);
            }
        }
    }
    for root in model.roots() {
        let keys: Vec<Vec<Value>> = facts.of(model, root).map(|(key, _)| key.clone()).collect();
        for key in keys {
            let Some(row) = facts.row(model, root, &key).cloned() else {
                continue;
            };
            let row = filled(rng, model, root, row, &facts);
            facts.of_mut(model, root).insert(key, row);
        }
    }
    while prune(model, &mut facts) {}
    let sequences = Sequences::of(model, &facts);
    (facts, sequences)
}

/// Rows of one root or link to put together, with their entities: new ones, and ones in the place of
/// what is there. By chance they leave out the numbers of their sequences.
pub fn rows_to_put(rng: &mut Rng, model: &Model, facts: &Facts) -> Vec<(EntityId, Vec<Value>)> {
    let all: Vec<EntityId> = model.roots().collect();
    let numbered = all.iter().copied();
    let numbered: Vec<EntityId> = numbered
        .filter(|&root| !numbers(model, root).is_empty())
        .collect();
    let preferred = if rng.percent(60) && !numbered.is_empty() {
        &numbered
    } else {
        &all
    };
    let Some(&root) = rng.pick(preferred) else {
        return vec![];
    };
    let there: Vec<&Vec<Value>> = facts.of(model, root).map(|(_, row)| row).collect();
    let mut rows = Vec::new();
    for _ in 0..rng.between(1, 4) {
        let kept = if rng.percent(40) {
            rng.pick(&there).map(|row| (*row).clone())
        } else {
            None
        };
        let Some(row) = kept.or_else(|| keyed_row(rng, model, root, facts)) else {
            continue;
        };
        let mut row = filled(rng, model, root, row, facts);
        // What is not a whole row does not come so far: it is rejected where it is read.
        if !(0..row.len()).all(|slot| sound(model, facts, root, &row, slot)) {
            continue;
        }
        for slot in numbers(model, root) {
            if rng.percent(60) {
                row[slot] = Value::Null;
            }
        }
        rows.push((concrete(model, root, &row), row));
    }
    rows
}

/// The slots that sequences number.
fn numbers(model: &Model, root: EntityId) -> Vec<usize> {
    let fields = model.entity(root).fields.iter().enumerate();
    let numbered = fields.filter(
        |(_, field)| matches!(field, Field::Attribute(a) if model.attribute(*a).sequence.is_some()),
    );
    numbered.map(|(slot, _)| slot).collect()
}

/// Roots and links such that the targets of key references come first.
fn by_key_references(model: &Model) -> Vec<EntityId> {
    let mut order = Vec::new();
    for root in model.roots() {
        visit(model, root, &mut order);
    }
    order
}

fn visit(model: &Model, root: EntityId, order: &mut Vec<EntityId>) {
    if order.contains(&root) {
        return;
    }
    let entity = model.entity(root);
    for &slot in &entity.key {
        if let Field::Reference(r) = entity.fields[slot] {
            visit(model, model.entity(model.reference(r).target).root, order);
        }
    }
    order.push(root);
}

/// A random instance of an entity or of its subtypes, as the value of a reference.
pub(super) fn existing(
    rng: &mut Rng,
    model: &Model,
    facts: &Facts,
    entity: EntityId,
) -> Option<Value> {
    let root = model.entity(entity).root;
    let keys: Vec<&Vec<Value>> = facts
        .of(model, root)
        .filter(|(_, row)| is_a(model, concrete(model, root, row), entity))
        .map(|(key, _)| key)
        .collect();
    rng.pick(&keys).map(|key| Value::Key((*key).clone()))
}

/// A row with its type and key only.
fn keyed_row(rng: &mut Rng, model: &Model, root: EntityId, facts: &Facts) -> Option<Vec<Value>> {
    let entity = model.entity(root);
    let mut row = vec![Value::Null; entity.fields.len()];
    if let Some(slot) = model.slot(root, Field::Type) {
        row[slot] = Value::Enum(rng.below(model.type_members(root).len()) as u16);
    }
    let mut numbered = Vec::new();
    for &slot in &entity.key {
        row[slot] = match entity.fields[slot] {
            Field::Type => continue,
            Field::Reference(r) => existing(rng, model, facts, model.reference(r).target)?,
            Field::Attribute(id) => {
                let attribute = model.attribute(id);
                if let Some(sequence) = &attribute.sequence {
                    numbered.push((slot, sequence));
                    continue;
                }
                key_value(rng, model, &attribute.ty)?
            }
        };
    }
    for (slot, sequence) in numbered {
        row[slot] = next_number(model, root, slot, sequence, &row, facts);
    }
    Some(row)
}

/// A value of a key: from a wider domain, so that there are enough of them.
pub(super) fn key_value(rng: &mut Rng, model: &Model, ty: &Type) -> Option<Value> {
    let one = value(rng, model, ty, &mut |_, _| None)?;
    if rng.percent(40) {
        return Some(one);
    }
    Some(match one {
        Value::Int(_) => Value::Int(rng.below(60) as i64 - 20),
        Value::Text(mut text) => {
            if let Some(Value::Text(more)) = value(rng, model, ty, &mut |_, _| None) {
                text.push_str(&more);
            }
            Value::Text(text)
        }
        Value::Blob(mut bytes) => {
            bytes.push(rng.bits() as u8);
            Value::Blob(bytes)
        }
        Value::Float(_) => Value::Float(rng.below(60) as f64 / 4.0 - 5.0),
        other => other,
    })
}

fn next_number(
    model: &Model,
    root: EntityId,
    slot: usize,
    sequence: &Sequence,
    row: &[Value],
    facts: &Facts,
) -> Value {
    let per = match sequence {
        Sequence::Global => None,
        Sequence::Per(r) => model.slot(root, Field::Reference(*r)),
    };
    let last = facts
        .of(model, root)
        .filter(|(_, other)| per.is_none_or(|s| other[s] == row[s]))
        .filter_map(|(_, other)| match other[slot] {
            Value::Int(n) => Some(n),
            _ => None,
        })
        .max();
    Value::Int(last.unwrap_or(0) + 1)
}

/// Fills in what is not key.
fn filled(
    rng: &mut Rng,
    model: &Model,
    root: EntityId,
    mut row: Vec<Value>,
    facts: &Facts,
) -> Vec<Value> {
    let entity = model.entity(root);
    for slot in 0..entity.fields.len() {
        if entity.key.contains(&slot) {
            continue;
        }
        let unique = match entity.fields[slot] {
            Field::Type => continue,
            Field::Attribute(id) => model.attribute(id).unique,
            Field::Reference(id) => model.reference(id).unique,
        };
        for _ in 0..8 {
            row[slot] = slot_value(rng, model, root, &row, slot, facts);
            let taken = unique
                && facts
                    .of(model, root)
                    .any(|(_, other)| other[slot] == row[slot]);
            if !taken || row[slot].is_null() {
                break;
            }
        }
    }
    row
}

fn slot_value(
    rng: &mut Rng,
    model: &Model,
    root: EntityId,
    row: &[Value],
    slot: usize,
    facts: &Facts,
) -> Value {
    let kind = concrete(model, root, row);
    match model.entity(root).fields[slot] {
        Field::Type => row[slot].clone(),
        Field::Reference(r) => {
            let reference = model.reference(r);
            if !is_a(model, kind, reference.entity) || (reference.optional && rng.percent(30)) {
                return Value::Null;
            }
            existing(rng, model, facts, reference.target).unwrap_or_default()
        }
        Field::Attribute(id) => {
            let attribute = model.attribute(id);
            if model.is_hidden(root, Field::Attribute(id)) {
                return Value::Null;
            }
            // What belongs to a link is there with it, and the reference is drawn before.
            let linked = attribute.of.map(|of| {
                let at = model.slot(root, Field::Reference(of.reference));
                (of.required, at.is_some_and(|at| !row[at].is_null()))
            });
            if !is_a(model, kind, attribute.entity) {
                return Value::Null;
            }
            let dropped = attribute.optional && rng.percent(30);
            let absent = match linked {
                None => dropped,
                Some((required, linked)) => !linked || (dropped && !required),
            };
            if absent {
                return Value::Null;
            }
            if let Some(sequence) = &attribute.sequence {
                return next_number(model, root, slot, sequence, row, facts);
            }
            let given = if attribute.unique {
                key_value(rng, model, &attribute.ty)
            } else {
                value(rng, model, &attribute.ty, &mut |rng, e| {
                    existing(rng, model, facts, e)
                })
            };
            given.unwrap_or_default()
        }
    }
}

/// Takes away what breaks a rule; true if anything did.
fn prune(model: &Model, facts: &mut Facts) -> bool {
    let mut doomed = Vec::new();
    for root in model.roots() {
        let entity = model.entity(root);
        let mut seen: Vec<BTreeSet<&Value>> = vec![BTreeSet::new(); entity.fields.len()];
        for (key, row) in facts.of(model, root) {
            let fine = entity.fields.iter().enumerate().all(|(slot, &field)| {
                let unique = match field {
                    Field::Type => false,
                    Field::Attribute(id) => model.attribute(id).unique,
                    Field::Reference(id) => model.reference(id).unique,
                };
                (!unique || row[slot].is_null() || seen[slot].insert(&row[slot]))
                    && sound(model, facts, root, row, slot)
            });
            if !fine {
                doomed.push((root, key.clone()));
            }
        }
    }
    for (root, key) in &doomed {
        facts.of_mut(model, *root).remove(key);
    }
    !doomed.is_empty()
}

fn sound(model: &Model, facts: &Facts, root: EntityId, row: &[Value], slot: usize) -> bool {
    let kind = concrete(model, root, row);
    let mut targets = Vec::new();
    let (owner, optional) = match model.entity(root).fields[slot] {
        Field::Type => return true,
        Field::Attribute(id) => {
            inner_keys(&model.attribute(id).ty, &row[slot], &mut targets);
            (model.attribute(id).entity, model.attribute(id).optional)
        }
        Field::Reference(id) => {
            if let Value::Key(key) = &row[slot] {
                targets.push((model.reference(id).target, key.clone()));
            }
            (model.reference(id).entity, model.reference(id).optional)
        }
    };
    if model.link_faults(root, row).any(|(at, ..)| at == slot) {
        return false;
    }
    if row[slot].is_null() {
        return optional || !is_a(model, kind, owner);
    }
    targets.iter().all(|(target, key)| {
        facts.row(model, *target, key).is_some_and(|row| {
            is_a(
                model,
                concrete(model, model.entity(*target).root, row),
                *target,
            )
        })
    })
}
