//! The content of every structure against its definition.

use crate::facts::Facts;
use querent::Database;
use querent::compiler::design::StructureId;
use querent::compiler::design::key_paths;
use querent::compiler::model::{EntityId, Model};
use querent::compiler::value::Value;
use querent::compiler::view::facts::MemoryFacts;
use querent::compiler::view::rows::rows;
use querent::store::{Batch, Fill, Keys, Read, Reader, Source, Store};
use std::collections::BTreeMap;

/// Facts as the definition of a structure reads them.
pub(crate) fn definable(model: &Model, facts: &Facts) -> MemoryFacts {
    let mut memory = MemoryFacts::default();
    for (&entity, rows) in &facts.rows {
        for (key, row) in rows {
            let mut row = row.clone();
            row.resize(model.root(entity).fields.len(), Value::Null);
            memory.set(model, entity, key, Some(row));
        }
    }
    memory
}

/// The facts with the sub-partitions that the database has given, each of which holds no more than
/// it may. Where a row is, only the database knows; that its home, its copies and the totals agree
/// on it, the definitions tell.
fn numbered<S: Store>(
    database: &Database<S>,
    facts: &Facts,
    wait: &dyn Fn(),
) -> Result<Facts, String> {
    let model = &database.schema().model;
    let mut facts = facts.clone();
    for root in model.roots() {
        for (slot, split) in model.splits_of(root) {
            let given = numbers(database, root, slot, wait)?;
            let mut held: BTreeMap<(Vec<Value>, Value), u64> = BTreeMap::new();
            for (key, row) in facts.of_mut(model, root) {
                let number = given.get(key).cloned().unwrap_or_default();
                row.resize(model.root(root).fields.len(), Value::Null);
                row[slot] = number.clone();
                if number.is_null() {
                    return Err(format!("{key:?} has no number: {split:?}"));
                }
                *held.entry((split.shared(model, row), number)).or_default() += 1;
            }
            let overfull = held.iter().find(|(_, n)| **n > split.capacity);
            if let Some((part, n)) = overfull {
                return Err(format!("{part:?} holds {n}: {split:?}"));
            }
        }
    }
    Ok(facts)
}

/// The numbers of a root's instances, by key, as their home has them.
fn numbers<S: Store>(
    database: &Database<S>,
    root: EntityId,
    slot: usize,
    wait: &dyn Fn(),
) -> Result<BTreeMap<Vec<Value>, Value>, String> {
    let schema = database.schema();
    let home = schema.access.slots.get(&(root, slot));
    let home = home.ok_or_else(|| format!("slot {slot} of {root:?} has no home"))?;
    let structure = &schema.design.structures[usize::from(home.structure)];
    let layout = &schema.layouts[usize::from(home.structure)];
    let paths = key_paths(&schema.model, root);
    let mut out = BTreeMap::new();
    for (key, row) in stored(database, home.structure, wait)? {
        let mut values = layout.decode_key(&key, &row).map_err(|e| e.to_string())?;
        values.extend(layout.decode_row(&row).map_err(|e| e.to_string())?);
        let parts = paths.iter().filter_map(|p| {
            let at = structure.key().position(|e| e == p)?;
            values.get(at).cloned()
        });
        let key = parts.collect();
        out.insert(key, values[home.columns[0]].clone());
    }
    Ok(out)
}

/// Compares the content of every structure with its definition.
pub(crate) fn check<S: Store>(
    database: &Database<S>,
    facts: &Facts,
    wait: &dyn Fn(),
) -> Result<(), String> {
    let schema = database.schema();
    let facts = numbered(database, facts, wait)?;
    let facts = definable(&schema.model, &facts);
    let structures = schema.design.structures.iter().zip(&schema.layouts);
    for (id, (structure, layout)) in structures.enumerate() {
        let expected = rows(&schema.model, structure, &facts);
        let mut found = BTreeMap::new();
        for (key, row) in stored(database, id as StructureId, wait)? {
            let key = layout.decode_key(&key, &row).map_err(|e| e.to_string())?;
            let row = layout.decode_row(&row).map_err(|e| e.to_string())?;
            found.insert(key, row);
        }
        for (key, row) in &expected {
            let problem = match found.remove(key) {
                None => format!("missing {key:?}"),
                Some(f) if f != *row => format!("stale {key:?}: {f:?}, expected {row:?}"),
                Some(_) => continue,
            };
            return Err(format!("{}: {problem}\n{structure:?}", structure.name));
        }
        if let Some((key, row)) = found.first_key_value() {
            let found: (&Vec<Value>, &Vec<Value>) = (key, row);
            return Err(format!(
                "{}: ghost {found:?}\n{structure:?}",
                structure.name
            ));
        }
    }
    Ok(())
}

/// All rows of a structure, as bytes.
fn stored<S: Store>(
    database: &Database<S>,
    structure: StructureId,
    wait: &dyn Fn(),
) -> Result<Vec<(Vec<u8>, Vec<u8>)>, String> {
    let snapshot = database.snapshot().map_err(|e| e.to_string())?;
    let reader = snapshot.reader();
    let keys = Keys::Range {
        lower: vec![],
        upper: None,
    };
    let read = Read {
        structure,
        keys,
        reverse: false,
        limit: None,
    };
    let mut source = reader.open(&read).map_err(|e| e.to_string())?;
    let (mut batch, mut all) = (Batch::default(), Vec::new());
    loop {
        match source.fill(64, &mut batch).map_err(|e| e.to_string())? {
            Fill::End => return Ok(all),
            Fill::Wait => wait(),
            Fill::Rows => all.extend(batch.rows.drain(..).map(|(k, v)| (k.to_vec(), v.to_vec()))),
        }
    }
}
