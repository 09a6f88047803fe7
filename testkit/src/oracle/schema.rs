//! The normalised schema: one table per root or link entity, one child table per collection.
//!
//! `e<entity> (k, s0, s1, …)`: the key, and one column per slot; a reference holds the `k` of its
//! target. `c<attribute>[_<path>][_n_<path>] (id, owner, pos, mk, v)`: one row per element; `owner`
//! is the `k` of the instance, or the `id` of the element that holds the collection.

use super::functions::sql;
use crate::facts::{Facts, part};
use querent_compiler::model::{AttributeId, EntityId, Field, Model, Type};
use querent_compiler::value::Value;
use rusqlite::types::Value as Sql;
use rusqlite::{Connection, Result, params, params_from_iter};

/// The table of a root or link entity.
pub(super) fn entity_table(model: &Model, entity: EntityId) -> String {
    format!("e{}", model.entity(entity).root.0)
}

/// The child table of a collection inside an attribute.
pub(super) fn collection_table(attribute: AttributeId, path: &[u16]) -> String {
    joined(format!("c{}", attribute.0), path)
}

/// The child table of a collection inside the elements of another.
pub(super) fn inner_table(outer: &str, path: &[u16]) -> String {
    joined(format!("{outer}_n"), path)
}

fn joined(mut name: String, path: &[u16]) -> String {
    for step in path {
        name.push('_');
        name.push_str(&step.to_string());
    }
    name
}

/// Makes all tables and fills them.
pub(super) fn load(connection: &Connection, model: &Model, facts: &Facts) -> Result<()> {
    for root in model.roots() {
        let fields = &model.entity(root).fields;
        let columns: Vec<String> = (0..fields.len())
            .map(|slot| format!("s{slot} BLOB"))
            .collect();
        let table = entity_table(model, root);
        connection.execute_batch(&format!(
            "CREATE TABLE {table} (k BLOB PRIMARY KEY, {}) WITHOUT ROWID;",
            columns.join(", ")
        ))?;
        for field in fields {
            if let Field::Attribute(id) = field {
                create_collections(connection, &model.attribute(*id).ty, &|path| {
                    collection_table(*id, path)
                })?;
            }
        }
        let marks = ", ?".repeat(fields.len());
        let mut insert = connection.prepare(&format!("INSERT INTO {table} VALUES (?{marks})"))?;
        for (key, row) in facts.of(model, root) {
            let key = sql(&Value::Key(key.clone()));
            insert.execute(params_from_iter(
                std::iter::once(key.clone()).chain(row.iter().map(sql)),
            ))?;
            for (field, value) in fields.iter().zip(row) {
                if let Field::Attribute(id) = field {
                    let owner = Sql::from(key.clone());
                    let name = |path: &[u16]| collection_table(*id, path);
                    fill_collections(connection, &model.attribute(*id).ty, value, &owner, &name)?;
                }
            }
        }
    }
    Ok(())
}

/// Where collections are inside a type, through nested records.
fn collections<'t>(ty: &'t Type, path: &mut Vec<u16>, out: &mut Vec<(Vec<u16>, &'t Type)>) {
    match ty {
        Type::Record(fields) => {
            for (i, field) in fields.iter().enumerate() {
                path.push(i as u16);
                collections(&field.ty, path, out);
                path.pop();
            }
        }
        _ => {
            if let Some(element) = ty.element() {
                out.push((path.clone(), element));
            }
        }
    }
}

fn create_collections(
    connection: &Connection,
    ty: &Type,
    name: &dyn Fn(&[u16]) -> String,
) -> Result<()> {
    let mut found = Vec::new();
    collections(ty, &mut Vec::new(), &mut found);
    for (path, element) in found {
        let table = name(&path);
        connection.execute_batch(&format!(
            "CREATE TABLE {table} (id INTEGER PRIMARY KEY, owner, pos BLOB, mk BLOB, v BLOB);"
        ))?;
        create_collections(connection, element, &|inner| inner_table(&table, inner))?;
    }
    Ok(())
}

fn fill_collections(
    connection: &Connection,
    ty: &Type,
    value: &Value,
    owner: &Sql,
    name: &dyn Fn(&[u16]) -> String,
) -> Result<()> {
    let mut found = Vec::new();
    collections(ty, &mut Vec::new(), &mut found);
    for (path, element) in found {
        let table = name(&path);
        let members: Vec<(Value, &Value)> = match part(value, &path) {
            Value::List(values) | Value::Set(values) => {
                values.iter().map(|v| (Value::Null, v)).collect()
            }
            Value::Map(pairs) => pairs.iter().map(|(k, v)| (k.clone(), v)).collect(),
            _ => Vec::new(),
        };
        let mut insert = connection.prepare_cached(&format!(
            "INSERT INTO {table} (owner, pos, mk, v) VALUES (?, ?, ?, ?)"
        ))?;
        for (position, (key, member)) in members.into_iter().enumerate() {
            insert.execute(params![
                owner,
                sql(&Value::Int(position as i64)),
                sql(&key),
                sql(member)
            ])?;
            let id = Sql::Integer(connection.last_insert_rowid());
            fill_collections(connection, element, member, &id, &|inner| {
                inner_table(&table, inner)
            })?;
        }
    }
    Ok(())
}
