//! What people get wrong in the schemas that they write: reads of everything, orders that no
//! structure gives, structures and values that nobody reads, counters among other values; and what
//! they ask that no structure finds.

mod orders;

use super::assumed::FEW;
use super::display::Printer;
use super::options::is_counter;
use super::plan::{Plan, StructureId};
use super::popular_key::totals;
use super::select::Reader;
use super::shape::{Requirement, is_identity};
use super::sizes::{Finding, Subject, grouped};
use super::spread::rises_with;
use super::target::Target;
use super::whole::{FAR_MORE, Whole, wholes};
use super::{Design, PricedPlan, Purpose, WritePlan, WriteStep};
use crate::diagnostic::codes::{COUNTERS, Code, SCANS, SEARCHES, SORTS, UNREAD, UNUSED};
use crate::model::{Compare, Direction, Expr, Leaf, Model, Pred, Query, Question, Schema};
use crate::view::typing::Scope;
use crate::view::{Kind, Structure};
use orders::{Sorted, sorts};
use std::collections::BTreeSet;

/// Findings about a design of a given schema, whose structures come first in it.
pub(super) fn lint(
    model: &Model,
    target: &Target,
    design: &Design,
    schema: &Schema,
    used: &BTreeSet<Requirement>,
) -> Vec<Finding> {
    let mut out = mixed_counters(model, target, design, schema);
    let given = schema.structures.len();
    for (plan, question) in design.plans.iter().zip(&model.questions) {
        let mut searched = scanned(model, design, plan, question);
        searched.extend(completed(model, design, plan, given));
        // How what is read for its few rows is ordered is not what is wrong with it.
        let sorted = unordered(design, plan, question, given).into_iter();
        let again = |f: &Finding| searched.iter().any(|s| s.structure == f.structure);
        let sorted: Vec<Finding> = sorted.filter(|f| !again(f)).collect();
        out.extend(searched);
        out.extend(sorted);
    }
    for write in design.writes.iter().take(model.changes.len()) {
        out.extend(scanned_by_change(model, design, write));
    }
    out.extend(unused(model, design, schema));
    out.extend(unread(model, design, schema, used));
    out
}

/// Counters that a target does not keep beside other values.
fn mixed_counters(
    model: &Model,
    target: &Target,
    design: &Design,
    schema: &Schema,
) -> Vec<Finding> {
    let mut out = Vec::new();
    for s in design.structures.iter().take(schema.structures.len()) {
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
            let help =
                "count in a structure that `groups` what is counted, `by` the key of this one";
            let subject = Subject::Structure(schema.name.clone(), s.name.clone());
            let of = (s.columns.len() as f64, counted as f64);
            out.push(finding(COUNTERS, &s.name, subject, of, message, help));
        }
    }
    out
}

/// A structure that is read as a whole, as the object of a sentence.
struct Through<'d> {
    structure: &'d str,
    told: String,
    whole: Whole,
}

/// How far a number of rows may be from all of them by rounding alone.
const ROUNDING: f64 = 1e-6;

/// What a plan reads as a whole. An order and a limit may end it before the last row, and a subplan
/// may begin again for each row of another.
fn through<'d>(model: &'d Model, design: &'d Design, plan: &Plan) -> Vec<Through<'d>> {
    let named = |id: StructureId| design.structures.get(usize::from(id));
    let found = wholes(model, named, plan).into_iter();
    let told = |whole: Whole| {
        let structure = named(whole.structure)?.name.as_str();
        let all = design.notes.get(usize::from(whole.structure))?.sizes.rows;
        let (rows, reads) = (grouped(all), grouped(whole.reads));
        let share = whole.reads / all;
        let told = if (share - 1.0).abs() <= ROUNDING || rows == reads {
            format!("all {rows} rows of `{structure}`")
        } else if share < 1.0 {
            format!("{reads} of the {rows} rows of `{structure}`")
        } else {
            format!("{reads} rows of `{structure}` (which has {rows})")
        };
        Some(Through {
            structure,
            told,
            whole,
        })
    };
    found.filter_map(told).collect()
}

/// What a question goes through as a whole.
fn scanned(model: &Model, design: &Design, plan: &PricedPlan, question: &Question) -> Vec<Finding> {
    let found = through(model, design, &plan.plan).into_iter();
    let many = found.filter(|scan| scan.whole.reads > FEW);
    let help = instead_of_all(&question.query);
    let told = |scan: Through| {
        let message = format!("`{}` reads {}", plan.name, scan.told);
        let subject = Subject::Question(plan.name.clone());
        let of = (scan.whole.reads, FEW);
        finding(SCANS, scan.structure, subject, of, message, help)
    };
    many.map(told).collect()
}

/// What finds the rows of a question that goes through all of them.
fn instead_of_all(query: &Query) -> &'static str {
    let compares = |p: &Pred| matches!(p, Pred::Compare(..));
    if query.filter.iter().any(names_values) {
        "keep a structure whose `by` is what the question compares with `=`"
    } else if query.filter.iter().any(compares) {
        "keep a structure whose `order by` begins with what the question compares, `by` nothing else \
         than a constant, as in `by 0`, or a bucket of it"
    } else if query.ordered > 0 && query.limit.is_some() {
        "keep a structure whose `order by` begins as that of the question does, `by` nothing else \
         than a constant, as in `by 0`: the limit then ends the reading"
    } else {
        "let the question compare something with `=`, and keep a structure whose `by` that is; or \
         keep what it computes of all of them as a fact or a group"
    }
}

/// Whether a condition says which values something has: a structure can be found by these.
fn names_values(condition: &Pred) -> bool {
    match condition {
        Pred::Compare(_, op, _) => *op == Compare::Eq,
        Pred::In(..) | Pred::InList(..) => true,
        Pred::And(all) | Pred::Or(all) => all.iter().any(names_values),
        Pred::Exists { filter, .. } => filter.as_deref().is_some_and(names_values),
        Pred::Not(_) | Pred::IsNull(_) => false,
    }
}

/// The structures that had to be added for a question to find what it asks for.
fn completed(model: &Model, design: &Design, plan: &PricedPlan, given: usize) -> Vec<Finding> {
    let read: BTreeSet<StructureId> = plan.plan.reads().into_iter().collect();
    let added = read.into_iter().map(usize::from).filter(|id| *id >= given);
    let told = |id: usize| {
        let (s, note) = (design.structures.get(id)?, design.notes.get(id)?);
        let finds = s.kind == Kind::Lists && !is_identity(model, s) && !tells_apart(model, s);
        let rows = note.sizes.rows;
        if !finds || s.partition.is_empty() || rows <= FEW {
            return None;
        }
        let printer = Printer::of_structure(model, s);
        let by: Vec<String> = s.partition.iter().map(|e| printer.expr(e)).collect();
        let (by, entity) = (by.join(", "), &model.entity(s.anchor).name);
        let message = format!(
            "`{}` finds each {entity} by `{by}`, by which no structure of the schema has them: \
             `{}` was added, without which all {} rows would be read",
            plan.name,
            s.name,
            grouped(rows)
        );
        let help = format!("keep a structure of {entity} whose `by` is `{by}`");
        let subject = Subject::Question(plan.name.clone());
        Some(finding(
            SCANS,
            &s.name,
            subject,
            (rows, FEW),
            message,
            &help,
        ))
    };
    added.filter_map(told).collect()
}

/// The orders of a question that its structures do not give.
fn unordered(
    design: &Design,
    plan: &PricedPlan,
    question: &Question,
    given: usize,
) -> Vec<Finding> {
    let sorted = sorts(design, &question.query, &plan.plan).into_iter();
    let told = |sorted: Sorted| {
        let mut structures = design.structures.iter();
        let at = structures.position(|s| s.name == sorted.structure);
        let added = at.is_some_and(|at| at >= given);
        let s = at.and_then(|at| design.structures.get(at));
        let help = if added {
            "it was added, and keeps no order: keep a structure in the schema whose `order by` begins \
             as that of the question does"
        } else if s.is_some_and(|s| falls_in_buckets(s, &question.query)) {
            "its buckets ascend: let its `order by` ascend, too, which gives both directions"
        } else {
            "let `order by` of the structure begin as that of the question does, up to the key that \
             tells equals apart, in the same directions or all reversed"
        };
        let of = match sorted.shapes.as_slice() {
            [] => format!("`{}`", plan.name),
            shapes => format!("`{}` in `{}`", shapes.join("."), plan.name),
        };
        let message = format!(
            "`{}` does not give the order of {of}: {} rows are sorted for each answer",
            sorted.structure,
            grouped(sorted.rows)
        );
        let subject = Subject::Question(plan.name.clone());
        let of = (sorted.rows, 1.0);
        finding(SORTS, &sorted.structure, subject, of, message, help)
    };
    sorted.filter(|s| s.rows > 1.5).map(told).collect()
}

/// Whether a structure is in the order of a question, but descends in buckets that ascend.
fn falls_in_buckets(s: &Structure, query: &Query) -> bool {
    let wished = query.order.first();
    let stored = s.clustering.first();
    wished.zip(stored).is_some_and(|((wished, _), (e, d))| {
        wished == e && *d == Direction::Desc && s.partition.iter().any(|part| rises_with(part, e))
    })
}

/// What a change goes through as a whole.
fn scanned_by_change(model: &Model, design: &Design, write: &WritePlan) -> Vec<Finding> {
    let subject = || Subject::Change(write.name.clone());
    let finds = write.finds.iter().flatten();
    let found = finds.flat_map(|plan| through(model, design, plan));
    let help = "keep a structure whose `by` is what the change compares with `=`";
    let told = |scan: Through| {
        let message = format!(
            "`{}` reads {} to find what it changes",
            write.name, scan.told
        );
        let of = (scan.whole.reads, FEW);
        finding(SCANS, scan.structure, subject(), of, message, help)
    };
    let found = found.filter(|scan| scan.whole.reads > FEW).map(told);
    let referrers = scanned_referrers(design, write).into_iter();
    let referrers = referrers.map(|scan| {
        let of = (scan.rows, FEW);
        finding(
            SCANS,
            scan.structure,
            subject(),
            of,
            scan.message,
            &scan.help,
        )
    });
    found.chain(referrers).collect()
}

/// Structures that are only written.
fn unused(model: &Model, design: &Design, schema: &Schema) -> Vec<Finding> {
    let given = schema.structures.len();
    let mut out = Vec::new();
    let noted = design.structures.iter().zip(&design.notes);
    for (at, (s, note)) in noted.take(given).enumerate() {
        if design.readers_of(at).is_empty()
            && note.home_of.is_empty()
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

/// Collections and aggregates that are kept with an instance and only written.
fn unread(
    model: &Model,
    design: &Design,
    schema: &Schema,
    used: &BTreeSet<Requirement>,
) -> Vec<Finding> {
    let mut out = Vec::new();
    let structures = design.structures.iter().take(schema.structures.len());
    for (shape, s) in structures
        .enumerate()
        .filter(|(_, s)| s.kind == Kind::Lists)
    {
        let whole = !design.readers_of(shape).is_empty()
            || design
                .notes
                .get(shape)
                .is_some_and(|n| !n.home_of.is_empty());
        let printer = Printer::of_structure(model, s);
        for (column, kept) in s.columns.iter().enumerate() {
            let made = matches!(kept, Expr::Nested(..) | Expr::Aggregate(_));
            let is_read = used.contains(&Requirement {
                shape,
                column: Some(column),
            });
            // Of a structure that nobody reads there is nothing more to say.
            if !whole || !made || is_read {
                continue;
            }
            let message = format!("no question reads `{}` of `{}`", printer.expr(kept), s.name);
            let subject = Subject::Structure(schema.name.clone(), s.name.clone());
            let help =
                "keep it no longer: every change of what it is made of writes it for nothing";
            out.push(finding(UNREAD, &s.name, subject, (0.0, 1.0), message, help));
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
        for scan in through(model, design, &plan) {
            let search = &scan.whole;
            if search.reads <= MANY || !search.is_wasted() {
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
                "{} reads {} and makes use of {}",
                name(&subject),
                scan.told,
                grouped(search.used.max(1.0)),
            );
            out.push(finding(
                SEARCHES,
                scan.structure,
                subject.clone(),
                (search.reads, search.used),
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
