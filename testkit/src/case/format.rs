//! Reading and writing the files of a case.

use crate::facts::concrete;
use crate::script::{Choice, Script, Step, change, cursor_params, entity, question};
use querent::compiler::codec::{entity_row_from_json, entity_row_to_json, from_json, to_json};
use querent::compiler::model::{Model, Param, Type};
use querent::compiler::value::Value;
use serde_json::{Map, Value as Json, json};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

const MODEL: &str = "model.querent";
const CHOICE: &str = "case.json";
const DATA: &str = "data";
const STEPS: &str = "steps.jsonl";

/// Reads a case.
pub fn read(folder: &Path) -> Result<Script, String> {
    let model_text = text(&folder.join(MODEL))?.ok_or_else(|| format!("no {MODEL}"))?;
    let mut script = Script {
        choice: read_choice(folder)?,
        model: model_text,
        facts: vec![],
        steps: vec![],
    };
    // A case about diagnostics has no model behind them, and nothing else.
    let (Some(model), _) = querent::compiler::parse(MODEL, &script.model) else {
        return Ok(script);
    };
    let data = folder.join(DATA);
    let mut files: Vec<_> = match std::fs::read_dir(&data) {
        Ok(entries) => entries.filter_map(|e| Some(e.ok()?.path())).collect(),
        Err(_) => vec![],
    };
    files.sort();
    for file in files {
        let name = file
            .file_stem()
            .and_then(|s| s.to_str())
            .unwrap_or_default();
        let id = entity(&model, name)?;
        let root = model.entity(model.entity(id).root).name.clone();
        for line in lines(&file)? {
            let row = entity_row_from_json(&model, id, &line);
            let row = row.map_err(|e| format!("{}: {line}: {e}", file.display()))?;
            script.facts.push((root.clone(), row));
        }
    }
    for (n, line) in lines(&folder.join(STEPS))?.iter().enumerate() {
        let step = read_step(&model, line);
        script
            .steps
            .push(step.map_err(|e| format!("{STEPS}, step {n}: {e}"))?);
    }
    Ok(script)
}

/// Writes a script as a case, without what is expected.
pub fn write(script: &Script, folder: &Path) -> Result<(), String> {
    let failed = |e: std::io::Error| format!("{}: {e}", folder.display());
    std::fs::create_dir_all(folder.join(DATA)).map_err(failed)?;
    std::fs::write(folder.join(MODEL), &script.model).map_err(failed)?;
    let Choice {
        sample,
        target,
        partition_rows,
        partition_writes,
        row_bytes,
        mix,
        nodes,
        schema,
        cost_model,
        support,
    } = &script.choice;
    let choice = json!({
        "sample": sample,
        "target": target,
        "partition_rows": partition_rows,
        "partition_writes": partition_writes,
        "row_bytes": row_bytes,
        "mix": mix,
        "nodes": nodes,
        "schema": schema,
        "cost_model": cost_model,
        "support": support,
    });
    std::fs::write(folder.join(CHOICE), format!("{choice}\n")).map_err(failed)?;
    let (model, _) = querent::compiler::parse(MODEL, &script.model);
    let model = model.ok_or("the model does not resolve")?;
    let mut files: BTreeMap<String, String> = BTreeMap::new();
    for (root, row) in &script.facts {
        let of = concrete(&model, entity(&model, root)?, row);
        let file = files.entry(model.entity(of).name.clone()).or_default();
        let _ = writeln!(
            file,
            "{}",
            Json::Object(entity_row_to_json(&model, of, row))
        );
    }
    for (name, lines) in files {
        let path = folder.join(DATA).join(format!("{name}.jsonl"));
        std::fs::write(path, lines).map_err(failed)?;
    }
    let mut steps = String::new();
    for step in &script.steps {
        let _ = writeln!(steps, "{}", write_step(&model, step)?);
    }
    std::fs::write(folder.join(STEPS), steps).map_err(failed)
}

fn read_choice(folder: &Path) -> Result<Choice, String> {
    let Some(text) = text(&folder.join(CHOICE))? else {
        return Ok(Choice::default());
    };
    let json: Json = serde_json::from_str(&text).map_err(|e| format!("{CHOICE}: {e}"))?;
    let word = |name: &str| json.get(name).and_then(Json::as_str).map(String::from);
    let number = |name: &str| json.get(name).and_then(Json::as_u64);
    let support = json.get("support").cloned().unwrap_or_default();
    Ok(Choice {
        sample: number("sample"),
        target: word("target"),
        partition_rows: number("partition_rows"),
        partition_writes: number("partition_writes"),
        row_bytes: number("row_bytes"),
        mix: word("mix"),
        nodes: number("nodes"),
        schema: word("schema"),
        cost_model: word("cost_model"),
        support: serde_json::from_value(support).map_err(|e| format!("{CHOICE}: {e}"))?,
    })
}

/// A step as a line of `steps.jsonl` says it.
pub fn read_step(model: &Model, line: &Json) -> Result<Step, String> {
    let word = |name: &str| line.get(name).and_then(Json::as_str);
    let none = Map::new();
    let given = line
        .get("params")
        .and_then(Json::as_object)
        .unwrap_or(&none);
    if let Some(millis) = line.get("wait").and_then(Json::as_u64) {
        return Ok(Step::Wait(millis));
    }
    if let Some(rows) = line.get("put").and_then(Json::as_array) {
        let rows = rows.iter().map(|row| read_row(model, row));
        return Ok(Step::Put(rows.collect::<Result<_, _>>()?));
    }
    if let Some(name) = word("change") {
        let change = change(model, name)?;
        return Ok(Step::Change(
            name.into(),
            read_params(model, &change.params, given)?,
        ));
    }
    let name = word("ask").ok_or("expected a \"change\", a \"put\", a \"wait\" or an \"ask\"")?;
    let question = question(model, name)?;
    let params = read_params(model, &question.params, given)?;
    let behind = given.values().find_map(|json| json.get("behind")?.as_u64());
    Ok(match behind {
        Some(page) => Step::Behind(name.into(), params, page as usize),
        None => Step::Ask(name.into(), params),
    })
}

/// A row that is put: the name of its entity, and its object.
fn read_row(model: &Model, row: &Json) -> Result<(String, Vec<Value>), String> {
    let name = row.get(0).and_then(Json::as_str);
    let (name, object) = name.zip(row.get(1)).ok_or("expected [ENTITY, {…}]")?;
    let row = entity_row_from_json(model, entity(model, name)?, object);
    Ok((name.into(), row.map_err(|e| format!("{object}: {e}"))?))
}

fn read_params(
    model: &Model,
    declared: &[Param],
    given: &Map<String, Json>,
) -> Result<Vec<Value>, String> {
    if let Some(name) = given
        .keys()
        .find(|k| declared.iter().all(|p| p.name != **k))
    {
        return Err(format!("there is no parameter {name}"));
    }
    let values = declared.iter().map(|param| {
        let json = given.get(&param.name).unwrap_or(&Json::Null);
        if param.ty == Type::Cursor {
            let token = json.get("cursor").and_then(Json::as_str);
            return token.map_or(Ok(Value::Null), |token| {
                let values = querent::cursor::decode(token).map_err(|e| e.to_string())?;
                Ok(Value::List(values))
            });
        }
        // A null that is not allowed is for the change to refuse.
        from_json(model, &param.ty, true, json).map_err(|e| format!("{}: {e}", param.name))
    });
    values.collect()
}

fn write_step(model: &Model, step: &Step) -> Result<Json, String> {
    Ok(match step {
        Step::Change(name, params) => {
            let declared = &change(model, name)?.params;
            json!({ "change": name, "params": write_params(model, declared, params) })
        }
        Step::Put(rows) => {
            let rows = rows.iter().map(|(name, row)| {
                let object = entity_row_to_json(model, entity(model, name)?, row);
                Ok(json!([name, object]))
            });
            json!({ "put": rows.collect::<Result<Vec<Json>, String>>()? })
        }
        Step::Wait(millis) => json!({ "wait": millis }),
        Step::Ask(name, params) => {
            let declared = &question(model, name)?.params;
            json!({ "ask": name, "params": write_params(model, declared, params) })
        }
        Step::Behind(name, params, page) => {
            let question = question(model, name)?;
            let mut json = write_params(model, &question.params, params);
            if let Some(at) = cursor_params(question).next() {
                let name = question.params[at.index()].name.clone();
                json.insert(name, json!({ "behind": page }));
            }
            json!({ "ask": name, "params": json })
        }
    })
}

fn write_params(model: &Model, declared: &[Param], params: &[Value]) -> Map<String, Json> {
    let pairs = declared.iter().zip(params);
    let pairs = pairs.filter(|(_, value)| !value.is_null());
    pairs
        .map(|(param, value)| {
            let json = match value {
                Value::List(values) if param.ty == Type::Cursor => {
                    json!({ "cursor": querent::cursor::encode(values) })
                }
                _ => to_json(model, &param.ty, value),
            };
            (param.name.clone(), json)
        })
        .collect()
}

fn text(path: &Path) -> Result<Option<String>, String> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(format!("{}: {e}", path.display())),
    }
}

/// The objects of a file; none where there is no file. Empty lines and comments (`#`) are skipped.
fn lines(path: &Path) -> Result<Vec<Json>, String> {
    let text = text(path)?.unwrap_or_default();
    let lines = text
        .lines()
        .filter(|l| !l.trim().is_empty() && !l.starts_with('#'));
    lines
        .map(|line| {
            serde_json::from_str(line).map_err(|e| format!("{}: {line}: {e}", path.display()))
        })
        .collect()
}
