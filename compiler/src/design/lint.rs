//! What people get wrong in the schemas that they write: reads of everything, orders that no
//! structure gives, structures that nobody reads, counters among other values.

use super::popular_key::totals;
use super::sizes::{Finding, Subject, grouped};
use super::target::Target;
use super::{Design, Purpose};
use crate::diagnostic::codes::{COUNTERS, Code, SCANS, SORTS, UNUSED};
use crate::model::{Expr, Leaf, Model, Schema};
use crate::view::Structure;
use serde_json::Value;

/// So many rows are read in a moment, by whatever path.
const FEW: f64 = 1000.0;

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
        let counts = |e: &&Expr| matches!(e, Expr::Aggregate(_));
        let counted = s.columns.iter().filter(counts).count();
        if target.capabilities.counters_apart && counted > 0 && counted < s.columns.len() {
            let message = format!(
                "`{}` keeps counters and other values in one row, which {} does not allow",
                s.name, target.name
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
    for (s, note) in design.structures.iter().zip(&design.notes).take(given) {
        let steps = design.writes.iter().flat_map(|w| &w.steps);
        let read =
            |step: &super::WriteStep| step.structure == s.name && step.purpose != Purpose::Maintain;
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
