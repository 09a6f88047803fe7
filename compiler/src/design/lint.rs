//! What people get wrong in the schemas that they write: reads of everything, orders that no
//! structure gives, structures that nobody reads, counters among other values; and what they ask
//! that no structure finds.

use super::assumed::FEW;
use super::display::Printer;
use super::options::is_counter;
use super::popular_key::totals;
use super::select::Reader;
use super::sizes::{Finding, Subject, grouped};
use super::target::Target;
use super::{Design, PricedPlan, Purpose, WritePlan, WriteStep};
use crate::diagnostic::codes::{COUNTERS, Code, SCANS, SEARCHES, SORTS, UNUSED};
use crate::model::{Expr, Leaf, Model, Schema};
use crate::view::typing::Scope;
use crate::view::{Kind, Structure};
use serde_json::Value;

/// Findings about a design of a given schema, whose structures come first in it.
pub(super) fn lint(
    model: &Model,
    target: &Target,
    design: &Design,
    schema: &Schema,
) -> Vec<Finding> {
    let given = schema.structures.len();
    let mut out = Vec::new();
    for s in design.structures.iter().take(given) {
        let scope = Scope::new(model, s.anchor, &s.over);
        let counts = |e: &&Expr| is_counter(model, &scope, e);
        let (counters, values): (Vec<&Expr>, Vec<&Expr>) = s.columns.iter().partition(counts);
        let counted = counters.len();
        // A group is one transition of all that it keeps, whatever that is.
        let lists = s.kind == Kind::Lists;
        if let (true, true, Some(counter), Some(value)) = (
            target.capabilities.counters_apart,
            lists,
            counters.first(),
            values.first(),
        ) {
            let printer = Printer::of_structure(model, s);
            let message = format!(
                "`{}` keeps the counter `{}` beside `{}` in one row, which {} does not allow",
                s.name,
                printer.expr(counter),
                printer.expr(value),
                target.name
            );
            let help = "give the counters a structure of their own, with the same key";
            let subject = Subject::Structure(schema.name.clone(), s.name.clone());
            let (all, apart) = (s.columns.len() as f64, counted as f64);
            out.push(finding(
                COUNTERS,
                &s.name,
                subject,
                (all, apart),
                message,
                help,
            ));
        }
    }
    for (plan, question) in design.plans.iter().zip(&model.questions) {
        let steps = design.plan_steps(model, &plan.plan);
        let subject = || Subject::Question(plan.name.clone());
        for (structure, rows) in scans(&steps).into_iter().filter(|(_, rows)| *rows > FEW) {
            let all = grouped(rows);
            let message = format!("`{}` reads all {all} rows of `{structure}`", plan.name);
            let help = "keep a structure whose `by` is what the question compares with `=`";
            out.push(finding(
                SCANS,
                &structure,
                subject(),
                (rows, FEW),
                message,
                help,
            ));
        }
        let plain = |(e, _): &(Expr, _)| matches!(e, Expr::Path { .. });
        let order = question.query.order.get(..question.query.ordered);
        let by_values = order.is_some_and(|o| !o.is_empty() && o.iter().all(plain));
        if let Some((structure, rows)) = sorted(&steps).filter(|(_, rows)| by_values && *rows > 1.5)
        {
            let message = format!(
                "`{structure}` does not give the order of `{}`: {} rows are sorted for each answer",
                plan.name,
                grouped(rows)
            );
            let help = "let `order by` of the structure begin as that of the question does, up to \
                        the key that tells equals apart, in the same directions or all reversed";
            out.push(finding(
                SORTS,
                &structure,
                subject(),
                (rows, 1.0),
                message,
                help,
            ));
        }
    }
    for write in design.writes.iter().take(model.changes.len()) {
        let subject = || Subject::Change(write.name.clone());
        let finds = write.finds.iter().flatten();
        let found = finds.flat_map(|plan| scans(&design.plan_steps(model, plan)));
        for (structure, rows) in found.filter(|(_, rows)| *rows > FEW) {
            let all = grouped(rows);
            let message = format!(
                "`{}` reads all {all} rows of `{structure}` to find what it changes",
                write.name
            );
            let help = "keep a structure whose `by` is what the change compares with `=`";
            let of = (rows, FEW);
            out.push(finding(SCANS, &structure, subject(), of, message, help));
        }
        for scan in scanned_referrers(design, write) {
            out.push(finding(
                SCANS,
                scan.structure,
                subject(),
                (scan.rows, FEW),
                scan.message,
                &scan.help,
            ));
        }
    }
    for (s, note) in design.structures.iter().zip(&design.notes).take(given) {
        let steps = design.writes.iter().flat_map(|w| &w.steps);
        let read = |step: &WriteStep| step.structure == s.name && step.purpose != Purpose::Maintain;
        if note.serves.is_empty()
            && note.home_of.is_empty()
            && !steps.clone().any(read)
            && !tells_apart(model, s)
            // No instance is numbered without the totals.
            && totals(model, s).is_none()
        {
            let message = format!(
                "no question reads `{}`, no fact has its home there, and no change needs it",
                s.name
            );
            let subject = Subject::Structure(schema.name.clone(), s.name.clone());
            let help = "drop it: every change that keeps it true is work for nothing";
            out.push(finding(UNUSED, &s.name, subject, (0.0, 1.0), message, help));
        }
    }
    out
}

/// Whether a structure finds who has a unique value: there must be one, whoever may ask.
fn tells_apart(model: &Model, s: &Structure) -> bool {
    let mut key = s.key();
    s.over.is_empty()
        && s.filter.is_empty()
        && matches!(key.next(), Some(Expr::Path { steps, leaf: Leaf::Attribute(a, inner), .. })
            if steps.is_empty() && inner.is_empty() && model.attribute(*a).unique)
}

/// Rows that are read to be thrown away: so many are many, whatever they are for.
const MANY: f64 = 10_000.0;
/// How many times as many rows as are made use of.
const FAR_MORE: f64 = 20.0;

/// Findings about a design that nobody gave: plans that read a structure as a whole for a few of its
/// rows. `readers`: the questions, then the finds of changes, with all ways to answer them.
pub(super) fn searches(model: &Model, design: &Design, readers: &[Reader]) -> Vec<Finding> {
    let question = |p: &PricedPlan| (Subject::Question(p.name.clone()), Some(p.plan.clone()));
    let found = |w: &WritePlan| {
        let subject = Subject::Change(w.name.clone());
        let finds = w.finds.clone().into_iter();
        finds
            .map(move |plan| (subject.clone(), plan))
            .collect::<Vec<_>>()
    };
    let plans = design.plans.iter().map(question);
    let plans = plans.chain(design.writes.iter().flat_map(found));
    let mut out = Vec::new();
    // What a mix never asks costs nothing there.
    let asked = plans.zip(readers).filter(|(_, r)| r.weight > 0.0);
    for ((subject, plan), reader) in asked {
        // What a key names is read by it.
        let Some(plan) = plan else { continue };
        for search in searched(design, &design.plan_steps(model, &plan)) {
            if search.rows <= MANY || search.rows <= FAR_MORE * search.used {
                continue;
            }
            let costs = reader.options.iter().map(|o| o.cost);
            let least = costs.fold(f64::INFINITY, f64::min);
            let help = if least * FAR_MORE <= search.cost {
                "at this rate, keeping a structure for it would cost the changes more than the reads \
                 of all rows: `querent explain` tells the rate from which on one is kept"
            } else {
                "no structure finds these rows, or has them in this order: compare with `=`, `in` or a \
                 range, and order by, what an instance has or refers to (each alternative of an `or` \
                 too); what is computed for it can be an attribute that changes keep"
            };
            let message = format!(
                "{} reads all {} rows of `{}` and makes use of {}",
                name(&subject),
                grouped(search.rows),
                search.structure,
                grouped(search.used.max(1.0)),
            );
            out.push(finding(
                SEARCHES,
                &search.structure,
                subject.clone(),
                (search.rows, search.used),
                message,
                help,
            ));
        }
    }
    let weights = design.writes.iter().take(model.changes.len());
    for write in weights.filter(|w| w.weight > 0.0) {
        // How many refer to one is what is made use of.
        for scan in scanned_referrers(design, write)
            .into_iter()
            .filter(|s| s.rows > MANY)
        {
            out.push(finding(
                SEARCHES,
                scan.structure,
                Subject::Change(write.name.clone()),
                (scan.rows, 0.0),
                scan.message,
                "at this rate, keeping a structure that has them together would cost the changes \
                 more than the reads of all rows",
            ));
        }
    }
    out
}

/// A read of a change that goes through everything to find who refers to an instance.
struct Scan<'d> {
    structure: &'d str,
    rows: f64,
    message: String,
    help: String,
}

/// The reads of a change that find referrers without a structure that has them together.
fn scanned_referrers<'d>(design: &'d Design, write: &'d WritePlan) -> Vec<Scan<'d>> {
    let scan = |step: &'d WriteStep| {
        let Purpose::Referrers(entity, reference) = &step.purpose else {
            return None;
        };
        let at = design
            .structures
            .iter()
            .position(|s| s.name == step.structure)?;
        let rows = design.notes.get(at)?.sizes.rows;
        (step.all && rows > FEW).then(|| Scan {
            structure: &step.structure,
            rows,
            message: format!(
                "`{}` reads all {} rows of `{}` to find every {entity} that refers to what it \
                 changes by `{reference}`",
                write.name,
                grouped(rows),
                step.structure,
            ),
            help: format!("keep a structure of {entity} whose `by` is `{reference}`"),
        })
    };
    write.steps.iter().filter_map(scan).collect()
}

fn name(subject: &Subject) -> String {
    match subject {
        Subject::Question(name) | Subject::Change(name) => format!("`{name}`"),
        other => other.to_string(),
    }
}

/// A structure that is read as a whole.
struct Search {
    structure: String,
    rows: f64,
    /// Rows that are left of it behind all filters.
    used: f64,
    cost: f64,
}

/// The structures that the steps of a plan read as a whole; those of subplans too.
fn searched(design: &Design, steps: &[Value]) -> Vec<Search> {
    let mut out: Vec<Search> = Vec::new();
    for (at, step) in steps.iter().enumerate() {
        if let Some(inner) = step.get("steps").and_then(Value::as_array) {
            out.extend(searched(design, inner));
        }
        if !is_whole(design, step) {
            continue;
        }
        // What is left for the answer, or for an aggregate.
        let behind = steps.iter().skip(at + 1);
        let behind = behind.take_while(|s| text(s, "op") != "aggregate");
        let kept = behind.filter(|s| matches!(text(s, "op"), "filter" | "limit"));
        let rows = number(step, "reads");
        out.push(Search {
            structure: text(step, "structure").to_owned(),
            rows,
            used: kept.map(|s| number(s, "rows")).fold(rows, f64::min),
            cost: number(step, "cost"),
        });
    }
    out
}

/// Whether a step reads a structure as a whole: by nothing, or by what is the same in all rows.
fn is_whole(design: &Design, step: &Value) -> bool {
    let bound = step.get("eq").and_then(Value::as_array).map_or(0, Vec::len);
    let ranged = step.get("range").is_some_and(|r| !r.is_null());
    let read = matches!(text(step, "op"), "scan" | "get" | "merge");
    let name = text(step, "structure");
    let structure = design.structures.iter().find(|s| s.name == name);
    read && !ranged
        && structure.is_some_and(|s| s.key().take(bound).all(|e| matches!(e, Expr::Const(_))))
}

fn finding(
    code: &Code,
    structure: &str,
    subject: Subject,
    (found, limit): (f64, f64),
    message: String,
    help: &str,
) -> Finding {
    Finding {
        code: code.id.into(),
        structure: structure.into(),
        subject,
        found,
        limit,
        message,
        help: help.into(),
        mixes: vec![],
    }
}

fn number(step: &Value, field: &str) -> f64 {
    step.get(field).and_then(Value::as_f64).unwrap_or(0.0)
}

fn text<'s>(step: &'s Value, field: &str) -> &'s str {
    step.get(field).and_then(Value::as_str).unwrap_or_default()
}

/// The structures that are read as a whole, and their rows; those of subplans too.
fn scans(steps: &[Value]) -> Vec<(String, f64)> {
    let mut out = Vec::new();
    for step in steps {
        if text(step, "op") == "scan" {
            out.push((text(step, "structure").to_owned(), number(step, "reads")));
        }
        if let Some(inner) = step.get("steps").and_then(Value::as_array) {
            out.extend(scans(inner));
        }
    }
    out
}

/// What the answer itself is sorted from, and how many rows.
fn sorted(steps: &[Value]) -> Option<(String, f64)> {
    let at = steps.iter().position(|s| text(s, "op") == "sort")?;
    let read = steps
        .iter()
        .take(at)
        .rfind(|s| !text(s, "structure").is_empty())?;
    let rows = steps.get(at).map_or(0.0, |s| number(s, "rows"));
    Some((text(read, "structure").to_owned(), rows))
}
