//! Changes in words: what they check, read and write, and what they did.

use super::grid::{Grid, name, plain};
use super::number::{self, Unit};
use super::{amount, counted};
use crate::output::assigned;
use querent::Receipt;
use querent_compiler::design::{Purpose, WritePlan, WriteStep};
use querent_compiler::model::{Change, EntityId, Field, Model, Statement};
use std::io::{self, Write};

/// What a change consists of: `update User (name)`.
pub(crate) fn statements(model: &Model, change: &Change) -> String {
    list(model, &change.statements)
}

fn list(model: &Model, statements: &[Statement]) -> String {
    let shown = statements.iter().map(|statement| match statement {
        Statement::Insert { entity, upsert, .. } => {
            let verb = if *upsert { "upsert" } else { "insert" };
            format!("{verb} {}", model.entity(*entity).name)
        }
        Statement::Update { entity, set, .. } => {
            let fields: Vec<&str> = set
                .iter()
                .map(|(slot, _)| field(model, *entity, *slot))
                .collect();
            format!(
                "update {} ({})",
                model.entity(*entity).name,
                fields.join(", ")
            )
        }
        Statement::Delete { entity, .. } => format!("delete {}", model.entity(*entity).name),
        Statement::ForEach { body, .. } => format!("for each element: {}", list(model, body)),
    });
    shown.collect::<Vec<_>>().join(", ")
}

fn field(model: &Model, entity: EntityId, slot: usize) -> &str {
    match model.root(entity).fields.get(slot) {
        Some(Field::Attribute(a)) => &model.attribute(*a).name,
        Some(Field::Reference(r)) => &model.reference(*r).name,
        _ => "type",
    }
}

/// Rows written by one change: on average, and at most.
pub(crate) fn written(plan: &WritePlan) -> (f64, f64) {
    let writes = plan.steps.iter().filter(|s| is_write(s));
    writes.fold((0.0, 0.0), |(avg, max), s| (avg + s.rows, max + s.rows_max))
}

fn is_write(step: &WriteStep) -> bool {
    matches!(step.op.as_str(), "put" | "delete")
}

/// What a step of a write plan is for.
pub(crate) fn purpose(step: &WriteStep) -> String {
    let told = told(step);
    let reads = matches!(step.op.as_str(), "check" | "read");
    if reads && step.at().is_none() && !matches!(step.purpose, Purpose::Support(_)) {
        // A design that loses facts is priced as if they were there.
        return format!("{told} (nothing keeps it: priced, but it cannot be read)");
    }
    told
}

fn told(step: &WriteStep) -> String {
    match &step.purpose {
        Purpose::Find(entity) => format!("the {entity} to change"),
        Purpose::Values(entity) if step.op == "check" => format!("{entity} by key: is it there?"),
        Purpose::Values(entity) => format!("values of {entity}"),
        Purpose::Referrers(entity, reference) => {
            format!("every {entity} that refers to it by {reference}")
        }
        Purpose::Unique(entity, attribute) => {
            format!("that no other {entity} has the same {attribute}")
        }
        Purpose::Support(about) => about.clone(),
        Purpose::Maintain => String::new(),
    }
}

/// Prints the steps of a write plan, and what a change costs by itself.
pub(crate) fn print_plan(
    plan: &WritePlan,
    itself: f64,
    unit: Unit,
    colour: bool,
    out: &mut impl Write,
) -> io::Result<()> {
    let mut grid = Grid::new(2, &[2, 3, 4, 5]);
    grid.head(&[
        "step",
        "structure",
        "reads",
        "writes",
        "at most",
        "cost",
        "what for",
    ]);
    for step in &plan.steps {
        let shown = |rows: f64, there: bool| {
            plain(if there {
                number::count(rows)
            } else {
                String::new()
            })
        };
        grid.line([
            plain(step.op.clone()),
            name(step.structure.clone()),
            shown(step.reads, step.reads > 0.0),
            shown(step.rows, is_write(step)),
            shown(step.rows_max, is_write(step)),
            plain(unit.show(step.cost)),
            plain(purpose(step)),
        ]);
    }
    if itself > 0.0 {
        let nothing = || plain(String::new());
        let line = [
            plain("change"),
            nothing(),
            nothing(),
            nothing(),
            nothing(),
            plain(unit.show(itself)),
            plain("what each change costs by itself"),
        ];
        grid.line(line);
    }
    grid.print(colour, out)?;
    let (rows, most) = written(plan);
    writeln!(
        out,
        "  in all {} written, {} at most",
        amount(rows, "row"),
        number::count(most)
    )
}

/// `1 inserted, 2 updated`.
pub(crate) fn instances(receipt: &Receipt) -> String {
    let counts = [
        (receipt.inserted, "inserted"),
        (receipt.updated, "updated"),
        (receipt.deleted, "deleted"),
    ];
    let shown: Vec<String> = counts
        .iter()
        .filter(|(n, _)| *n > 0)
        .map(|(n, word)| format!("{} {word}", number::count(*n as f64)))
        .collect();
    if shown.is_empty() {
        "nothing to change".into()
    } else {
        shown.join(", ")
    }
}

/// More numbers that the database assigned than this are counted, not shown.
const SHOWN: usize = 20;

/// Prints what a change did.
pub(crate) fn print_receipt(
    receipt: &Receipt,
    model: &Model,
    colour: bool,
    out: &mut impl Write,
) -> io::Result<()> {
    let rows: usize = receipt
        .written
        .values()
        .map(|(puts, deletes)| puts + deletes)
        .sum();
    writeln!(
        out,
        "{}; {} written, {}",
        instances(receipt),
        counted(rows, "row"),
        counted(receipt.reads as usize, "get"),
    )?;
    let mut grid = Grid::new(2, &[1, 2]);
    for (structure, (puts, deletes)) in &receipt.written {
        grid.line([
            name(structure.clone()),
            plain(format!("{} put", number::count(*puts as f64))),
            plain(format!("{} deleted", number::count(*deletes as f64))),
        ]);
    }
    grid.print(colour, out)?;
    for (name, value) in receipt.assigned.iter().take(SHOWN) {
        writeln!(out, "  assigned {name} = {}", assigned(model, value))?;
    }
    match receipt.assigned.len().saturating_sub(SHOWN) {
        0 => Ok(()),
        more => writeln!(out, "  and {}", counted(more, "more number")),
    }
}

/// Adds what another change did.
pub(crate) fn add(total: &mut Receipt, receipt: Receipt) {
    total.inserted += receipt.inserted;
    total.updated += receipt.updated;
    total.deleted += receipt.deleted;
    total.reads += receipt.reads;
    total.assigned.extend(receipt.assigned);
    for (structure, (puts, deletes)) in receipt.written {
        let sum = total.written.entry(structure).or_default();
        sum.0 += puts;
        sum.1 += deletes;
    }
}
