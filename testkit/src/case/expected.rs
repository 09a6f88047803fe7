//! What a case should give, from the oracle and the definitions alone.

use super::Files;
use crate::script::{Course, Right, Script, Step, definable};
use querent::compiler::codec::to_json;
use querent::compiler::design::display::{Printer, direction, key_part};
use querent::compiler::diagnostic::{Style, to_text};
use querent::compiler::model::{Model, Type};
use querent::compiler::value::Value;
use querent::compiler::view::rows::rows;
use querent::compiler::view::{Kind, stored_types};
use querent::schema::Schema;
use serde_json::{Map, Value as Json, json};
use std::fmt::Write;

pub(super) const ROWS: &str = "rows.txt";

/// The files of `expected/`.
pub fn expected(script: &Script) -> Result<Files, String> {
    let mut files = Files::new();
    let (model, diagnostics) = querent::compiler::parse("model.querent", &script.model);
    let said = to_text(&diagnostics, "model.querent", &script.model, Style::Plain);
    files.insert("diagnostics.txt".into(), said);
    let Some(model) = model else {
        return Ok(files);
    };
    if let Err(error) = querent::compiler::design::design(&model, &script.options()?) {
        files.insert(
            "design.txt".into(),
            format!("there is no design: {error}\n"),
        );
        return Ok(files);
    }
    let ready = script.ready()?;
    files.insert("design.txt".into(), design(&ready.schema));
    let mut course = Course::new(&ready.model, ready.facts);
    let mut steps = String::new();
    for step in &script.steps {
        let outcome = match course.step(step)? {
            Right::Applied => json!({ "applied": true }),
            Right::Passed => json!({ "passed": true }),
            Right::Refused(why) => json!({ "refused": why.to_string() }),
            Right::Answer(answer, _) => answered(&ready.schema, step, &answer),
        };
        let _ = writeln!(steps, "{outcome}");
    }
    files.insert("steps.jsonl".into(), steps);
    files.insert(ROWS.into(), contents(&ready.schema, &course));
    Ok(files)
}

/// Structures with their keys, columns and techniques, then the plans' steps without prices.
fn design(schema: &Schema) -> String {
    let (model, design) = (&schema.model, &schema.design);
    let mut out = String::new();
    for (structure, note) in design.structures.iter().zip(&design.notes) {
        let printer = Printer::of_structure(model, structure);
        let partition: Vec<String> = structure
            .partition
            .iter()
            .map(|e| key_part(&printer, e))
            .collect();
        let clustering: Vec<String> = structure
            .clustering
            .iter()
            .map(|(e, d)| format!("{} {}", key_part(&printer, e), direction(*d)))
            .collect();
        let columns: Vec<String> = structure.columns.iter().map(|e| printer.expr(e)).collect();
        let _ = writeln!(out, "{}", structure.name);
        let kind = match structure.kind {
            Kind::Lists => "lists",
            Kind::Groups => "groups",
        };
        for (what, words) in [
            ("partition", partition),
            ("clustering", clustering),
            ("columns", columns),
            ("techniques", note.techniques.clone()),
            ("home of", note.home_of.clone()),
        ] {
            if !words.is_empty() {
                let _ = writeln!(out, "  {what}: {}", words.join(", "));
            }
        }
        let _ = writeln!(out, "  kind: {kind}");
    }
    for plan in &design.plans {
        let steps = design.plan_steps(model, &plan.plan);
        let steps: Vec<String> = steps.iter().map(step_words).collect();
        let _ = writeln!(out, "{}: {}", plan.name, steps.join(", "));
    }
    out
}

fn step_words(step: &Json) -> String {
    let word = |name: &str| step.get(name).and_then(Json::as_str).unwrap_or_default();
    let inner = |step: &Json| {
        let steps = step.get("steps").and_then(Json::as_array).into_iter();
        let words: Vec<String> = steps.flatten().map(step_words).collect();
        words.join(", ")
    };
    if word("op") == "unite" {
        let branches = step.get("steps").and_then(Json::as_array).into_iter();
        let branches: Vec<String> = branches.flatten().map(inner).collect();
        return format!("unite ({})", branches.join(" | "));
    }
    format!("{} {}", word("op"), word("structure"))
        .trim()
        .to_owned()
}

fn answered(schema: &Schema, step: &Step, answer: &crate::Answer) -> Json {
    let plan = match step {
        Step::Ask(name, _) | Step::Behind(name, ..) | Step::Change(name, _) => {
            schema.design.plans.iter().find(|p| p.name == *name)
        }
        Step::Put(_) | Step::Wait(_) => None,
    };
    let output = plan.map(|p| p.plan.output.as_slice()).unwrap_or_default();
    let rows: Vec<Json> = answer
        .rows
        .iter()
        .map(|row| {
            let fields = output.iter().zip(row);
            let fields = fields.map(|(o, v)| (o.name.clone(), to_json(&schema.model, &o.ty, v)));
            Json::Object(fields.collect::<Map<String, Json>>())
        })
        .collect();
    json!({ "rows": rows })
}

/// The rows of every structure by its definition. The numbers of sub-partitions are the database's
/// to give: here they are null.
fn contents(schema: &Schema, course: &Course<'_>) -> String {
    let model = &schema.model;
    let facts = definable(model, &course.facts);
    let mut out = String::new();
    for structure in &schema.design.structures {
        let types = stored_types(model, structure);
        let _ = writeln!(out, "{}", structure.name);
        for (key, row) in rows(model, structure, &facts) {
            let key = key.iter().zip(types.key.iter().map(|part| &part.ty));
            let row = row.iter().zip(types.columns.iter().map(|(ty, _)| ty));
            let _ = writeln!(out, "  {} -> {}", shown(model, key), shown(model, row));
        }
    }
    out
}

fn shown<'v>(model: &Model, values: impl Iterator<Item = (&'v Value, &'v Type)>) -> String {
    let values: Vec<Json> = values.map(|(v, ty)| to_json(model, ty, v)).collect();
    Json::Array(values).to_string()
}
