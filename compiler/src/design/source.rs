//! Structures as a `schema` block of the language, from which they can be read again.

use super::display::{Printer, direction, key_part};
use super::popular_key::split_by;
use crate::model::{Expr, Item, Model, NUMBER, NodeId, Query};
use crate::view::{Kind, Structure};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write;

/// A `schema` block with these structures.
pub fn schema(model: &Model, name: &str, structures: &[Structure]) -> String {
    let mut out = format!("schema {name} {{\n");
    for s in structures {
        let printer = Printer::of_structure(model, s);
        // A number is named by what is split: the name that it has is the database's.
        let number = |e: &Expr| {
            let split = split_by(model, e)?;
            let shared: Vec<String> = split.partition.iter().map(|e| printer.expr(e)).collect();
            Some(number(&shared, &split.capacity.to_string()))
        };
        let part = |e: &Expr| number(e).unwrap_or_else(|| key_part(&printer, e));
        let parts = Written {
            name: &s.name,
            kind: kind(s),
            anchor: model.entity(s.anchor).name.clone(),
            over: over(&printer, s),
            filter: s.filter.iter().map(|p| printer.pred(p)).collect(),
            partition: s.partition.iter().map(part).collect(),
            clustering: s
                .clustering
                .iter()
                .map(|(e, d)| format!("{} {}", part(e), direction(*d)))
                .collect(),
            columns: s
                .columns
                .iter()
                .map(|e| number(e).unwrap_or_else(|| column(&printer, e)))
                .collect(),
        };
        parts.write(&mut out);
    }
    out.push_str("}\n");
    out
}

/// The number of a sub-partition, as it is written: what is split, and how many rows one holds.
fn number(shared: &[String], rows: &str) -> String {
    format!("split({}, {rows})", shared.join(", "))
}

/// `lists` or `groups`, as it is written.
pub(super) fn kind(s: &Structure) -> &'static str {
    match s.kind {
        Kind::Lists => "lists",
        Kind::Groups => "groups",
    }
}

/// The unfolded paths, where the key does not name them all, in their order.
pub(super) fn over(printer: &Printer, s: &Structure) -> Vec<String> {
    let mut named: Vec<NodeId> = Vec::new();
    for part in s.key() {
        let mut walk = |node: NodeId| {
            let mut path = Vec::new();
            let mut at = node;
            while at > 0 {
                path.push(at);
                at = s.over.get(usize::from(at) - 1).map_or(0, |u| u.parent);
            }
            for node in path.into_iter().rev() {
                if !named.contains(&node) {
                    named.push(node);
                }
            }
        };
        nodes(part, &mut walk);
    }
    let all: Vec<NodeId> = (1..=s.over.len() as NodeId).collect();
    if named == all {
        return vec![];
    }
    all.iter().map(|&node| printer.path_to(node)).collect()
}

fn nodes(expr: &Expr, walk: &mut dyn FnMut(NodeId)) {
    match expr {
        Expr::Path { node, .. } => walk(*node),
        Expr::Call(_, args) => args.iter().for_each(|a| nodes(a, walk)),
        Expr::Binary(_, a, b) | Expr::At(a, b) => {
            nodes(a, walk);
            nodes(b, walk);
        }
        _ => {}
    }
}

/// A column with everything that it is made of.
pub(super) fn column(printer: &Printer, expr: &Expr) -> String {
    match expr {
        Expr::Nested(from, query) => {
            let inner = printer.inner(*from, &query.over);
            let path = inner.path_to(query.subject);
            let body = body(&inner.inside(query.subject), query);
            format!("{path} {{ {body} }}")
        }
        Expr::Shape { present, items } => {
            let path = printer.expr(&printer.whole(present));
            let items = selected(&printer.clone().within(&path), items);
            format!("{path} {{ {items} }}")
        }
        _ => printer.expr(expr),
    }
}

fn body(printer: &Printer, query: &Query) -> String {
    let mut out = selected(printer, &query.select);
    let filter: Vec<String> = query.filter.iter().map(|p| printer.pred(p)).collect();
    if !filter.is_empty() {
        let _ = write!(out, " where {}", filter.join(" and "));
    }
    // One group of everything is implied by what is selected.
    if let Some(group) = query.group.as_ref().filter(|g| !g.is_empty()) {
        let group: Vec<String> = group.iter().map(|e| printer.expr(e)).collect();
        let _ = write!(out, " group by {}", group.join(", "));
    }
    let order = query.order.iter().take(query.ordered);
    let order: Vec<String> = order
        .map(|(e, d)| format!("{} {}", printer.expr(e), direction(*d)))
        .collect();
    if !order.is_empty() {
        let _ = write!(out, " order by {}", order.join(", "));
    }
    if let Some(limit) = &query.limit {
        let _ = write!(out, " limit {}", printer.expr(limit));
    }
    out
}

/// What stands between braces, each with its name.
fn selected(printer: &Printer, items: &[Item]) -> String {
    let items = items.iter().map(|item| {
        let written = column(printer, &item.expr);
        if written == item.name {
            written
        } else {
            format!("{written} as {}", item.name)
        }
    });
    items.collect::<Vec<_>>().join(", ")
}

/// The parts of a structure, each as it is written.
struct Written<'a> {
    name: &'a str,
    kind: &'a str,
    anchor: String,
    over: Vec<String>,
    filter: Vec<String>,
    partition: Vec<String>,
    clustering: Vec<String>,
    columns: Vec<String>,
}

impl Written<'_> {
    fn write(&self, out: &mut String) {
        let _ = write!(out, "  {} {} {}", self.name, self.kind, self.anchor);
        let clauses = [
            (" over ", self.over.join(", ")),
            (" where ", self.filter.join(" and ")),
            (" by ", self.partition.join(", ")),
            (" order by ", self.clustering.join(", ")),
            ("\n    keep ", self.columns.join(", ")),
        ];
        for (word, clause) in clauses.iter().filter(|(_, clause)| !clause.is_empty()) {
            let _ = write!(out, "{word}{clause}");
        }
        out.push('\n');
    }
}

/// The `schema` block of a design that was printed as JSON; else what is wrong with it.
pub fn schema_of_json(name: &str, design: &Value) -> Result<String, String> {
    let structures = design.get("structures").and_then(Value::as_array);
    let structures = structures.ok_or(
        "found no list `structures`, expected a design as `querent design --format json` prints it",
    )?;
    let mut out = format!("schema {name} {{\n");
    let numbers = numbers_of_json(structures);
    for (at, s) in structures.iter().enumerate() {
        let read = |field: &str| -> Result<Vec<String>, String> {
            let written = |text: &str| numbers.get(text).map_or(text, String::as_str).to_owned();
            let texts = |v: &Value| match v {
                Value::String(text) => Some(written(text)),
                Value::Array(parts) => {
                    let parts = parts.iter().map(|part| part.as_str().map(written));
                    Some(parts.collect::<Option<Vec<_>>>()?.join(" "))
                }
                _ => None,
            };
            match s.get(field) {
                None | Some(Value::Null) => Ok(vec![]),
                Some(Value::Array(all)) => all
                    .iter()
                    .map(|v| {
                        texts(v).ok_or(format!(
                            "structure {at}: found {v} in `{field}`, expected a text"
                        ))
                    })
                    .collect(),
                Some(other) => Err(format!(
                    "structure {at}: found `{field}` {other}, expected a list"
                )),
            }
        };
        let text = |field: &str| s.get(field).and_then(Value::as_str);
        let entities = read("entities")?;
        let anchor = entities.first().ok_or(format!(
            "structure {at}: found no `entities`, expected the entity of its rows first"
        ))?;
        let written = Written {
            name: text("name").ok_or(format!("structure {at}: found no `name`"))?,
            kind: text("kind").unwrap_or("lists"),
            anchor: anchor.clone(),
            over: read("over")?,
            filter: read("where")?,
            partition: read("partition")?,
            clustering: read("clustering")?,
            columns: read("columns")?,
        };
        written.write(&mut out);
    }
    out.push_str("}\n");
    Ok(out)
}

/// How the numbers of sub-partitions are written, by their names in a design printed as JSON.
fn numbers_of_json(structures: &[Value]) -> BTreeMap<String, String> {
    let mut out = BTreeMap::new();
    for s in structures {
        let Some(rows) = s.get("split").and_then(|split| split.get("partition_rows")) else {
            continue;
        };
        let texts = |field: &str| s.get(field).and_then(Value::as_array).into_iter().flatten();
        let ordered = texts("clustering").filter_map(|term| term.get(0));
        let key = texts("partition").chain(ordered);
        let mut key = key.filter_map(Value::as_str);
        if let Some(name) = key.find(|part| part.starts_with(NUMBER)) {
            let shared = texts("partition").filter_map(Value::as_str);
            let shared: Vec<String> = shared
                .filter(|part| !part.starts_with(NUMBER))
                .map(String::from)
                .collect();
            out.insert(name.to_owned(), number(&shared, &rows.to_string()));
        }
    }
    out
}
