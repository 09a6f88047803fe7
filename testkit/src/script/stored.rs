//! The content of every structure against its definition.

use crate::facts::Facts;
use querent::Database;
use querent::compiler::design::StructureId;
use querent::compiler::model::Model;
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
            memory.set(model, entity, key, Some(row.clone()));
        }
    }
    memory
}

/// Compares the content of every structure with its definition.
pub(crate) fn check<S: Store>(
    database: &Database<S>,
    facts: &Facts,
    wait: &dyn Fn(),
) -> Result<(), String> {
    let schema = database.schema();
    let facts = definable(&schema.model, facts);
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
