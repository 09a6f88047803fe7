//! The tables of the examples: every statement of the model in its order, with its rate, and the
//! structures and operations of the design that the page's own command makes.

use querent_compiler::model::Model;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

#[test]
fn tables_of_examples_are_those_of_their_designs() {
    for name in ["ebay", "rubis"] {
        let page = std::fs::read_to_string(examples().join(format!("{name}.md"))).unwrap();
        let text = std::fs::read_to_string(examples().join(format!("{name}.querent"))).unwrap();
        let (model, found) = querent_compiler::parse(name, &text);
        let model = model.unwrap_or_else(|| panic!("{found:?}"));
        let shown: Vec<Row> = page.lines().filter_map(Row::shown).collect();
        let actual = actual(&model, &text, &designed(&page));
        assert_eq!(shown.len(), actual.len(), "{name}.md");
        for (shown, actual) in shown.iter().zip(&actual) {
            assert_eq!(shown, actual, "{name}.md");
        }
    }
}

/// What is compared of a line.
#[derive(Debug, PartialEq)]
struct Row {
    number: usize,
    name: String,
    kind: String,
    rate: String,
    structures: Vec<String>,
    operation: String,
}

impl Row {
    /// A line of a table: number, description with the name, type, rate, items returned, structures,
    /// operation.
    fn shown(line: &str) -> Option<Row> {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [number, description, kind, rate, _, structures, operation] = cells[..] else {
            return None;
        };
        let quoted = |text: &str| {
            text.split('`')
                .skip(1)
                .step_by(2)
                .map(String::from)
                .collect()
        };
        let names: Vec<String> = quoted(description);
        Some(Row {
            number: number.parse().ok()?,
            name: names.last()?.clone(),
            kind: kind.into(),
            rate: rate.into(),
            structures: quoted(structures),
            // The plan tells which part a range is of, not which of its ends is given.
            operation: operation.replace(" ≥", ""),
        })
    }
}

fn examples() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    root.join("examples")
}

/// The design that the page's command makes.
fn designed(page: &str) -> Value {
    let command = page.lines().find_map(|l| l.strip_prefix("querent design "));
    let output = Command::new(env!("CARGO_BIN_EXE_querent"))
        .current_dir(examples().parent().unwrap())
        .arg("design")
        .args(command.unwrap().split_whitespace())
        .args(["--format", "json"])
        .output()
        .unwrap();
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"))
}

/// What the table must say.
fn actual(model: &Model, text: &str, design: &Value) -> Vec<Row> {
    let questions = model.questions.iter();
    let questions = questions.map(|q| ("question", &q.name, &q.rates));
    let changes = model.changes.iter().map(|c| ("change", &c.name, &c.rates));
    let place = |kind: &str, name: &str| {
        let declared = text
            .match_indices(&format!("{kind} {name}"))
            .find(|(at, m)| {
                text[at + m.len()..].starts_with([' ', '('])
                    && (*at == 0 || text[..*at].ends_with('\n'))
            });
        declared.unwrap_or_else(|| panic!("{kind} {name}")).0
    };
    let mut statements: Vec<_> = questions.chain(changes).collect();
    statements.sort_by_key(|(kind, name, _)| place(kind, name));
    let row = |(at, (kind, name, rates)): (usize, (&str, &String, &Vec<f64>))| {
        let (structures, operation) = if kind == "question" {
            let steps = design["plans"][name].as_array().unwrap();
            (read(steps), told(steps))
        } else {
            let steps = design["writes"][name].as_array().unwrap();
            (written(steps), verb(&text[place(kind, name)..]))
        };
        Row {
            number: at + 1,
            name: name.clone(),
            kind: kind.into(),
            rate: rate(model, rates),
            structures,
            operation,
        }
    };
    statements.into_iter().enumerate().map(row).collect()
}

/// A weight; where there are mixes that of browsing and that of bidding, and *t* where the latter
/// grows with the share of writes.
fn rate(model: &Model, rates: &[f64]) -> String {
    let of = |mix: &str| {
        let at = model.mixes.iter().position(|m| m == mix);
        at.and_then(|at| rates.get(at)).copied().unwrap_or_default()
    };
    if model.mixes.is_empty() {
        return rates[0].to_string();
    }
    let shown = |rate: f64| match rate {
        0.0 => "–".to_string(),
        rate => rate.to_string(),
    };
    let (bidding, medium, heavy) = (of("bidding"), of("write_medium"), of("write_heavy"));
    let times = |rate: f64, n: f64| (rate - bidding * n).abs() < 1e-9;
    let grows = if times(medium, 1.0) && times(heavy, 1.0) {
        ""
    } else {
        assert!(times(medium, 10.0) && times(heavy, 100.0), "{rates:?}");
        " *t*"
    };
    format!("{} / {}{grows}", shown(of("browsing")), shown(bidding))
}

fn named(steps: &[Value], ops: &[&str]) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for step in steps {
        let structure = step["structure"].as_str().map(String::from);
        let wanted = step["op"].as_str().is_some_and(|op| ops.contains(&op));
        out.extend(structure.filter(|s| wanted && !out.contains(s)));
    }
    out
}

fn read(steps: &[Value]) -> Vec<String> {
    named(steps, &["get", "scan", "follow", "merge"])
}

fn written(steps: &[Value]) -> Vec<String> {
    named(steps, &["put", "delete", "add"])
}

/// The steps of a plan in words; an answer is limited by its question.
fn told(steps: &[Value]) -> String {
    let steps = steps.iter().filter(|s| s["op"] != "limit");
    let told = steps.map(|step| {
        let bound = step["eq"]
            .as_array()
            .unwrap()
            .iter()
            .chain([&step["range"]]);
        let bound: Vec<&str> = bound.filter_map(Value::as_str).collect();
        let op = step["op"].as_str().unwrap();
        match bound.as_slice() {
            [] => op.to_string(),
            parts => format!("{op} by {}", parts.join(" and ")),
        }
    });
    told.collect::<Vec<_>>().join(", then ")
}

/// What a change does, by its first statement.
fn verb(declaration: &str) -> String {
    let mut words = declaration.split_whitespace();
    let verbs = ["insert", "upsert", "update", "delete"];
    words.find(|word| verbs.contains(word)).unwrap().into()
}
