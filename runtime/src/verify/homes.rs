//! The homes by themselves: can they be read, and are their facts what the model allows?

use super::facts::Damage;
use super::finding::{Namer, hex};
use super::sequences::Numbers;
use super::{ANCHORS_PER_MEMORY, Each, Finding, FindingKind, Found, StoredRows};
use crate::Error;
use crate::facts::{FactError, StoreFacts, home_key};
use crate::load::Sorter;
use crate::recompute::ReferrerSorter;
use crate::row::{RowError, decode_values, encode_values};
use crate::schema::Schema;
use crate::store::Reader;
use crate::text::{instance_text, value_text};
use querent_compiler::design::{StructureId, key_paths};
use querent_compiler::model::{AttributeId, EntityId, Field, LinkFault, Model, ReferenceId, Type};
use querent_compiler::value::Value;
use querent_compiler::view::facts::{Facts, Key};
use std::path::Path;

const RESTORE: &str = "restore the database from a backup";

/// Reads every home. Notes what cannot be read, and collects who refers to whom.
pub(super) fn examine<R: Reader>(
    schema: &Schema,
    reader: &R,
    folder: &Path,
    memory: usize,
    referrers: &mut ReferrerSorter,
    damage: &mut Damage,
    each: Each<'_>,
) -> Result<(), Error> {
    let mut unique = Sorter::new(folder, memory);
    let mut numbers = Numbers::new(folder, memory);
    for root in schema.model.roots() {
        let homes = schema
            .access
            .homes
            .get(&root)
            .map(Vec::as_slice)
            .unwrap_or_default();
        let Some((&home, _)) = homes.split_first() else {
            continue;
        };
        let Some(namer) = Namer::new(schema, home) else {
            continue;
        };
        let mut rows = StoredRows::new(reader, home)?;
        let mut facts = StoreFacts::new(schema, reader);
        let mut count = 0_usize;
        while let Some((key, row)) = rows.next()? {
            count += 1;
            if count.is_multiple_of(ANCHORS_PER_MEMORY) {
                facts = StoreFacts::new(schema, reader);
            }
            let mut tell = |finding: Finding| {
                each(Found {
                    finding,
                    mend: None,
                })
            };
            let instance = match anchor_of(schema, root, home, &namer, &key, &row) {
                Ok(instance) => instance,
                Err((instance, why)) => {
                    match instance {
                        Some(key) => drop(damage.instances.insert((root, key))),
                        None => drop(damage.nameless.insert(root)),
                    }
                    let mut finding = namer.finding(FindingKind::Damaged, &key, &row);
                    finding.note = Some(format!("{why}; it begins with the bytes {}", hex(&row)));
                    finding.advice = Some(RESTORE.into());
                    tell(finding)?;
                    continue;
                }
            };
            let values = match whole_row(schema, &facts, root, homes, &instance) {
                Ok(values) => values,
                Err(Lost::At(structure)) => {
                    damage.instances.insert((root, instance.clone()));
                    // A row that is there and cannot be read is named with its structure.
                    if let Some(structure) = structure {
                        tell(lost(schema, structure, root, &instance))?;
                    }
                    continue;
                }
                Err(Lost::Failed(error)) => return Err(error.into()),
            };
            let home = &namer;
            let say = |kind, note: String, advice: &str| {
                let mut finding = home.finding(kind, &key, &row);
                finding.note = Some(note);
                finding.advice = Some(advice.into());
                finding
            };
            referrers.add(schema, root, &instance, &values)?;
            numbers.add(schema, root, &values)?;
            damage
                .unnumbered
                .note(&schema.model, root, &instance, &values);
            for problem in problems(&schema.model, &facts, root, &values)? {
                tell(say(problem.0, problem.1, problem.2))?;
            }
            note_unique(&schema.model, root, &instance, &values, &mut unique)?;
        }
    }
    damage.unnumbered.number(schema, reader)?;
    shared(&schema.model, unique, each)?;
    numbers.compare(schema, reader, each)
}

/// The instance of a home row, or why the row is no good.
fn anchor_of(
    schema: &Schema,
    root: EntityId,
    home: StructureId,
    namer: &Namer<'_>,
    key: &[u8],
    row: &[u8],
) -> Result<Key, (Option<Key>, String)> {
    let found = schema
        .layouts
        .get(usize::from(home))
        .zip(schema.design.structures.get(usize::from(home)));
    let Some((layout, structure)) = found else {
        return Err((None, "no such structure".into()));
    };
    let parts = layout
        .decode_key(key, row)
        .map_err(|e| (None, e.to_string()))?;
    let instance = namer
        .anchor(&parts)
        .ok_or_else(|| (None, "its key does not name an instance".into()))?;
    if instance.iter().any(Value::is_null) {
        return Err((None, "a part of its key is null".into()));
    }
    let place = layout.encode_key(&home_key(&schema.model, structure, root, &instance));
    if place.as_deref() != Ok(key) {
        return Err((None, "it is not where its key belongs".into()));
    }
    layout
        .decode_row(row)
        .map_err(|e| (Some(instance.clone()), e.to_string()))?;
    debug_assert_eq!(key_paths(&schema.model, root).len(), instance.len());
    Ok(instance)
}

enum Lost {
    /// A fact cannot be read, because a structure that is its home has no row (named), or a row
    /// that cannot be read (not named).
    At(Option<StructureId>),
    Failed(FactError),
}

/// All slots of an instance, from all structures that are the home of one.
fn whole_row<R: Reader>(
    schema: &Schema,
    facts: &StoreFacts<'_, R>,
    root: EntityId,
    homes: &[StructureId],
    instance: &[Value],
) -> Result<Vec<Value>, Lost> {
    let lost = |error| match error {
        FactError::Row { .. } => Lost::At(None),
        other => Lost::Failed(other),
    };
    for &other in homes.iter().skip(1) {
        let holds = schema
            .access
            .slots
            .iter()
            .any(|((e, _), path)| *e == root && path.structure == other);
        let Some(structure) = schema
            .design
            .structures
            .get(usize::from(other))
            .filter(|_| holds)
        else {
            continue;
        };
        let key = home_key(&schema.model, structure, root, instance);
        if facts.stored(other, &key).map_err(lost)?.is_none() {
            return Err(Lost::At(Some(other)));
        }
    }
    facts
        .row(root, instance)
        .map_err(lost)?
        .ok_or(Lost::At(None))
}

fn lost(schema: &Schema, structure: StructureId, root: EntityId, instance: &[Value]) -> Finding {
    let model = &schema.model;
    let slots = schema
        .access
        .slots
        .iter()
        .filter(|((e, _), path)| *e == root && path.structure == structure);
    let names: Vec<String> = slots
        .map(|((_, slot), _)| slot_name(model, root, *slot))
        .collect();
    Finding {
        kind: FindingKind::Missing,
        structure: schema
            .design
            .structures
            .get(usize::from(structure))
            .map(|s| s.name.clone())
            .unwrap_or_default(),
        instance: Some(instance_text(model, root, instance)),
        row: String::new(),
        columns: vec![],
        note: Some(format!(
            "the structure is the home of {}, which are lost",
            names.join(", ")
        )),
        advice: Some("put the instance again".into()),
    }
}

/// What is wrong, in words, and what to do.
type Problem = (FindingKind, String, &'static str);

/// What the model does not allow in a fact row.
fn problems<R: Reader>(
    model: &Model,
    facts: &StoreFacts<'_, R>,
    root: EntityId,
    row: &[Value],
) -> Result<Vec<Problem>, Error> {
    let mut found = Vec::new();
    let Some(concrete) = concrete(model, root, row) else {
        return Ok(vec![(
            FindingKind::Invalid,
            "its type is none of the model's".into(),
            "put the instance again",
        )]);
    };
    for (slot, (field, value)) in model.root(root).fields.iter().zip(row).enumerate() {
        let (declared, optional, of_link) = match field {
            Field::Type => continue,
            Field::Attribute(a) => {
                let attribute = model.attribute(*a);
                (attribute.entity, attribute.optional, attribute.of.is_some())
            }
            Field::Reference(r) => {
                let reference = model.reference(*r);
                (reference.entity, reference.optional, false)
            }
        };
        let name = || slot_name(model, root, slot);
        let has = model.is_a(concrete, declared);
        if value.is_null() {
            if has && !optional && !of_link {
                let note = format!("{}: found null, expected a value", name());
                found.push((
                    FindingKind::Invalid,
                    note,
                    "put the instance again with a value",
                ));
            }
            continue;
        }
        if !has {
            let kind = &model.entity(concrete).name;
            let note = format!(
                "{}: found a value, expected null, which {kind} has there",
                name()
            );
            found.push((FindingKind::Invalid, note, "put the instance again"));
        }
        let mut targets = Vec::new();
        match field {
            Field::Reference(r) => {
                references(&Type::Key(model.reference(*r).target), value, &mut targets);
            }
            Field::Attribute(a) => references(&model.attribute(*a).ty, value, &mut targets),
            Field::Type => {}
        }
        for (target, key) in targets {
            if !leads_somewhere(model, facts, target, &key)? {
                let note = format!(
                    "{} leads to {}, which does not exist",
                    name(),
                    instance_text(model, target, &key)
                );
                let advice = "insert what it refers to, or change or delete the referrer";
                found.push((FindingKind::Dangling, note, advice));
            }
        }
    }
    for (slot, reference, fault) in model.link_faults(root, row) {
        let name = slot_name(model, root, slot);
        let of = slot_name(model, root, reference);
        let note = match fault {
            LinkFault::Loose => {
                format!("{name}: found a value, expected null, because {of} leads nowhere")
            }
            LinkFault::Bare => {
                format!("{name}: found null, expected a value, because {of} leads somewhere")
            }
        };
        let advice = "put the instance again, with both or without";
        found.push((FindingKind::Invalid, note, advice));
    }
    Ok(found)
}

/// Whether a reference leads to an instance of its type. A damaged one counts: it is named itself.
fn leads_somewhere<R: Reader>(
    model: &Model,
    facts: &StoreFacts<'_, R>,
    target: EntityId,
    key: &[Value],
) -> Result<bool, Error> {
    let root = model.entity(target).root;
    let row = match facts.exists(root, key) {
        Ok(false) => return Ok(false),
        Ok(true) if target == root => return Ok(true),
        Ok(true) => facts.row(root, key),
        Err(FactError::Row { .. }) => return Ok(true),
        Err(error) => return Err(error.into()),
    };
    match row {
        Ok(row) => {
            Ok(concrete(model, root, &row.unwrap_or_default())
                .is_some_and(|c| model.is_a(c, target)))
        }
        Err(FactError::Row { .. }) => Ok(true),
        Err(error) => Err(error.into()),
    }
}

/// The concrete type of a fact row; none where its tag is none of the model's.
pub(crate) fn concrete(model: &Model, root: EntityId, row: &[Value]) -> Option<EntityId> {
    let Some(slot) = model.slot(root, Field::Type) else {
        return Some(root);
    };
    match row.get(slot) {
        Some(Value::Enum(tag)) => model.type_members(root).get(usize::from(*tag)).copied(),
        _ => None,
    }
}

/// All references within a value.
pub(crate) fn references(ty: &Type, value: &Value, out: &mut Vec<(EntityId, Key)>) {
    match (ty, value) {
        (Type::Key(target), Value::Key(key)) => out.push((*target, key.clone())),
        (Type::List(t, _), Value::List(items)) | (Type::Set(t, _), Value::Set(items)) => {
            items.iter().for_each(|v| references(t, v, out));
        }
        (Type::Map(k, t, _), Value::Map(pairs)) => {
            for (key, value) in pairs {
                references(k, key, out);
                references(t, value, out);
            }
        }
        (Type::Record(fields), Value::Record(values)) => {
            fields
                .iter()
                .zip(values)
                .for_each(|(f, v)| references(&f.ty, v, out));
        }
        _ => {}
    }
}

pub(crate) fn slot_name(model: &Model, root: EntityId, slot: usize) -> String {
    match model.root(root).fields.get(slot) {
        Some(Field::Attribute(a)) => model.attribute(*a).name.clone(),
        Some(Field::Reference(r)) => model.reference(*r).name.clone(),
        Some(Field::Type) => "type".into(),
        None => String::new(),
    }
}

/// The slots of a fact row that no other may share, and their values.
pub(crate) fn unique_values<'v>(
    model: &'v Model,
    root: EntityId,
    row: &'v [Value],
) -> impl Iterator<Item = (Field, &'v Value)> {
    let fields = model.root(root).fields.iter().zip(row);
    fields
        .filter(|(_, value)| !value.is_null())
        .filter_map(|(field, value)| {
            let unique = match field {
                Field::Attribute(a) => model.attribute(*a).unique,
                Field::Reference(r) => model.reference(*r).unique,
                Field::Type => false,
            };
            unique.then_some((*field, value))
        })
}

/// A field and its value as bytes that are equal where both are.
pub(crate) fn unique_key(field: Field, value: &Value) -> Vec<u8> {
    let (kind, id) = match field {
        Field::Attribute(AttributeId(id)) => (0, id),
        Field::Reference(ReferenceId(id)) => (1, id),
        Field::Type => (2, 0),
    };
    let mut key = vec![kind];
    key.extend(id.to_be_bytes());
    encode_values(std::slice::from_ref(value), &mut key);
    key
}

fn note_unique(
    model: &Model,
    root: EntityId,
    instance: &[Value],
    row: &[Value],
    unique: &mut Sorter,
) -> Result<(), Error> {
    for (field, value) in unique_values(model, root, row) {
        let mut owner = Vec::new();
        encode_values(
            &[
                Value::Int(i64::from(root.0)),
                value.clone(),
                Value::Key(instance.to_vec()),
            ],
            &mut owner,
        );
        unique.push(&unique_key(field, value), &owner)?;
    }
    Ok(())
}

/// Names values that two instances share.
fn shared(model: &Model, unique: Sorter, each: Each<'_>) -> Result<(), Error> {
    let unreadable = |source: RowError| FactError::Row {
        structure: "unique values".into(),
        source,
    };
    let mut sorted = unique.finish()?;
    let mut first: Option<(Vec<u8>, Vec<u8>)> = None;
    while let Some((key, owner)) = sorted.next()? {
        match &first {
            Some((known, other)) if known == key => {
                let other = decode_values(other).map_err(unreadable)?;
                let owner = decode_values(owner).map_err(unreadable)?;
                each(Found {
                    finding: sharing(model, key, &other, &owner),
                    mend: None,
                })?;
            }
            _ => first = Some((key.to_vec(), owner.to_vec())),
        }
    }
    Ok(())
}

fn sharing(model: &Model, key: &[u8], other: &[Value], owner: &[Value]) -> Finding {
    let (name, ty) = match key {
        [0, a, b, c, d, ..] => {
            let attribute = model.attribute(AttributeId(u32::from_be_bytes([*a, *b, *c, *d])));
            (attribute.name.as_str(), attribute.ty.clone())
        }
        [_, a, b, c, d, ..] => {
            let reference = model.reference(ReferenceId(u32::from_be_bytes([*a, *b, *c, *d])));
            (reference.name.as_str(), Type::Key(reference.target))
        }
        _ => ("", Type::Any),
    };
    let named = |values: &[Value]| match values {
        [Value::Int(root), _, Value::Key(key)] => instance_text(model, EntityId(*root as u32), key),
        _ => String::new(),
    };
    let entity = match owner {
        [Value::Int(root), ..] => model.entity(EntityId(*root as u32)).name.clone(),
        _ => String::new(),
    };
    let value = owner
        .get(1)
        .map(|v| value_text(model, &ty, v))
        .unwrap_or_default();
    Finding {
        kind: FindingKind::Shared,
        structure: entity,
        instance: Some(named(owner)),
        row: String::new(),
        columns: vec![],
        note: Some(format!(
            "{name} {value} is also that of {}, and is declared unique",
            named(other)
        )),
        advice: Some("change one of them".into()),
    }
}
