//! The design as the contract prints it.

use super::display::{Printer, direction, key_part, literal};
use super::plan::{Get, Op, Plan, Sub, Term, Test};
use super::popular_key::split_of;
use super::source;
use super::{Design, PricedPlan, WritePlan, WriteStep};
use crate::model::{AggregateFn, Direction, Function, Model};
use crate::view::Structure;
use serde_json::{Value, json};

impl Design {
    /// One JSON object with the fields of the contract.
    pub fn to_json(&self, model: &Model, seconds: f64) -> Value {
        let model = &self.model_of(model);
        let structures: Vec<Value> = self
            .structures
            .iter()
            .zip(&self.notes)
            .map(|(s, note)| {
                let printer = Printer::of_structure(model, s);
                let heat = note.sizes.heat.as_ref();
                let mut structure = json!({
                    "name": s.name,
                    "entities": entities(model, s),
                    "partition": s.partition.iter().map(|e| key_part(&printer, e)).collect::<Vec<_>>(),
                    "clustering": s.clustering.iter()
                        .map(|(e, d)| json!([key_part(&printer, e), direction(*d)])).collect::<Vec<_>>(),
                    "hashed": s.key().enumerate().filter(|(i, _)| s.is_hashed(*i))
                        .map(|(_, e)| key_part(&printer, e)).collect::<Vec<_>>(),
                    "kind": source::kind(s),
                    "over": source::over(&printer, s),
                    "columns": s.columns.iter().map(|e| source::column(&printer, e)).collect::<Vec<_>>(),
                    "where": s.filter.iter().map(|p| printer.pred(p)).collect::<Vec<_>>(),
                    "techniques": note.techniques,
                    "serves": note.serves,
                    "home_of": note.home_of,
                    "rows": note.sizes.rows,
                    "bytes": note.sizes.bytes,
                    "partition_rows_max": note.sizes.partition_rows_max,
                    "partition_bytes_max": note.sizes.partition_bytes_max,
                    "row_bytes_max": note.sizes.row_bytes_max,
                    "key_bytes_max": note.sizes.key_bytes_max,
                    "partition_values_max": note.sizes.partition_values_max,
                    "collection_elements_max": note.sizes.collection_elements_max,
                    "collection_bytes_max": note.sizes.collection_bytes_max,
                    "partition_reads_max": heat.map(|h| h.reads),
                    "partition_read_units_max": heat.map(|h| h.read_units),
                    "partition_writes_max": heat.map(|h| h.writes),
                    "partition_write_units_max": heat.map(|h| h.write_units),
                });
                if let (Some(split), Value::Object(fields)) = (split_of(model, s), &mut structure) {
                    let split = json!({ "partition_rows": split.capacity,
                        "partitions_avg": split.average, "partitions_max": split.most });
                    fields.insert("split".into(), split);
                }
                structure
            })
            .collect();
        let mut questions = serde_json::Map::new();
        let mut plans = serde_json::Map::new();
        let mut asks = serde_json::Map::new();
        for p in &self.plans {
            questions.insert(p.name.clone(), json!(p.cost));
            asks.insert(p.name.clone(), json!(p.by_itself()));
            plans.insert(
                p.name.clone(),
                Value::Array(self.plan_steps(model, &p.plan)),
            );
        }
        let mut changes = serde_json::Map::new();
        let mut writes = serde_json::Map::new();
        let mut made = serde_json::Map::new();
        for w in &self.writes {
            changes.insert(w.name.clone(), json!(w.cost));
            made.insert(w.name.clone(), json!(w.by_itself()));
            let steps = w.steps.iter().map(WriteStep::to_json);
            writes.insert(w.name.clone(), Value::Array(steps.collect()));
        }
        json!({
            "version": 1,
            "model": self.model,
            "target": self.target,
            "mix": self.mix,
            "cost": {
                "total": self.total,
                "questions": questions,
                "changes": changes,
                "by_itself": { "questions": asks, "changes": made },
            },
            "structures": structures,
            "plans": plans,
            "writes": writes,
            "warnings": self.warnings.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "findings": self.warnings,
            "search": {
                "candidates": self.search.candidates,
                "optimal": self.search.optimal,
                "gap": self.search.gap,
                "seconds": seconds,
            },
        })
    }

    /// The steps of a plan, first step first, those of subplans behind the step that needs them.
    pub fn plan_steps(&self, model: &Model, plan: &Plan) -> Vec<Value> {
        self.inner_steps(model, plan, &[])
    }

    fn inner_steps(&self, model: &Model, plan: &Plan, outer: &[Frame]) -> Vec<Value> {
        let mut out = Steps::default();
        let frames = self.op_steps(model, &plan.root, outer, &mut out);
        for o in &plan.output {
            self.term_steps(model, &o.term, &frames, &mut out);
        }
        out.completed()
    }

    /// The columns of what a get gives.
    fn frame(&self, model: &Model, get: &Get) -> Frame {
        let Some(s) = self.structures.get(get.structure as usize) else {
            return vec![];
        };
        let printer = Printer::of_structure(model, s);
        s.values().map(|e| printer.expr(e)).collect()
    }

    /// Adds the steps of an operator behind those of its input; tells the columns that it leaves.
    fn op_steps<'p>(
        &self,
        model: &Model,
        op: &'p Op,
        outer: &[Frame],
        out: &mut Steps<'p>,
    ) -> Vec<Frame> {
        match op {
            Op::Input => outer.to_vec(),
            Op::Get {
                input,
                get,
                estimate,
                ..
            } => {
                let mut frames = self.op_steps(model, input, outer, out);
                out.push(self.get_step(model, get.verb(input), get, estimate));
                frames.push(self.frame(model, get));
                frames
            }
            Op::Merge {
                input,
                lists,
                get,
                estimate,
                ..
            } => {
                let mut frames = self.op_steps(model, input, outer, out);
                for term in lists.iter().flatten() {
                    self.term_steps(model, term, &frames, out);
                }
                let mut step = self.get_step(model, "merge", get, estimate);
                if let Some(step) = step.as_object_mut().filter(|_| lists.len() > 1) {
                    // Every combination of their elements is read.
                    step.insert("lists".into(), lists.len().into());
                }
                out.push(step);
                frames.push(self.frame(model, get));
                frames
            }
            Op::Unite {
                branches,
                order,
                estimate,
                ..
            } => {
                let columns = branches.first().map_or(&[][..], |b| &b.output);
                let mut frames = outer.to_vec();
                frames.push(columns.iter().map(|o| o.name.clone()).collect());
                let order = order
                    .iter()
                    .map(|(t, d)| json!([told(t, &frames), direction(*d)]));
                let steps = branches
                    .iter()
                    .map(|branch| json!({ "op": "branch", "steps": self.inner_steps(model, branch, outer) }));
                let steps: Vec<Value> = steps.map(completed).collect();
                out.push(json!({ "op": "unite", "order": order.collect::<Vec<_>>(),
                    "rows": estimate.rows, "reads": estimate.reads, "cost": estimate.cost,
                    "steps": steps }));
                frames
            }
            Op::Elements { input, of } => {
                let mut frames = self.op_steps(model, input, outer, out);
                out.push(json!({ "op": "elements" }));
                let of = told(of, &frames);
                frames.push(vec![of]);
                frames
            }
            Op::Filter {
                input,
                tests,
                estimate,
            } => {
                let frames = self.op_steps(model, input, outer, out);
                out.push(json!({ "op": "filter", "rows": estimate.rows, "reads": 0, "cost": estimate.cost }));
                for test in tests {
                    self.test_steps(model, test, &frames, out);
                }
                frames
            }
            Op::Distinct { input, .. } => {
                let frames = self.op_steps(model, input, outer, out);
                out.push(json!({ "op": "distinct" }));
                frames
            }
            Op::Sort {
                input,
                by,
                estimate,
            } => {
                let frames = self.op_steps(model, input, outer, out);
                let order = by
                    .iter()
                    .map(|(t, d)| json!([told(t, &frames), direction(*d)]));
                out.push(json!({ "op": "sort", "order": order.collect::<Vec<_>>(),
                    "rows": estimate.rows, "reads": 0, "cost": estimate.cost }));
                for (term, _) in by {
                    self.term_steps(model, term, &frames, out);
                }
                frames
            }
            Op::Page { input, .. } => {
                let frames = self.op_steps(model, input, outer, out);
                out.push(json!({ "op": "page" }));
                frames
            }
            Op::Limit { input, count, .. } => {
                let frames = self.op_steps(model, input, outer, out);
                let count = match count {
                    Term::Const(crate::value::Value::Int(n)) => json!(n),
                    _ => json!("$limit"),
                };
                // A read right before it stops there.
                let rows = match (&**input, out.list.last_mut()) {
                    (Op::Get { estimate, .. } | Op::Merge { estimate, .. }, Some(read)) => {
                        if let Value::Object(read) = read {
                            read.insert("limit".into(), count.clone());
                        }
                        Some(estimate.rows)
                    }
                    (_, before) => before.and_then(|step| step.get("rows")?.as_f64()),
                };
                let most = count.as_f64().unwrap_or(f64::INFINITY);
                let rows = rows.unwrap_or(0.0).min(most);
                out.push(json!({ "op": "limit", "limit": count, "rows": rows }));
                frames
            }
            Op::Aggregate {
                input,
                group,
                aggregates,
                estimate,
                ..
            } => {
                let frames = self.op_steps(model, input, outer, out);
                let mut step = json!({ "op": "aggregate", "rows": estimate.rows, "reads": 0, "cost": estimate.cost });
                let of_groups = aggregates.iter().any(|a| a.stored);
                if let Some(step) = step.as_object_mut().filter(|_| of_groups) {
                    // What is aggregated are groups.
                    step.insert("groups".into(), true.into());
                }
                out.push(step);
                let group = group.iter().map(|t| told(t, &frames));
                let aggregates = aggregates.iter().map(|a| {
                    let of = a.arg.as_ref().map_or("*".into(), |t| told(t, &frames));
                    match (a.stored, a.function) {
                        (true, AggregateFn::Avg) => format!("avg of {of}"),
                        (true, _) => of,
                        (false, function) => format!("{}({of})", function.name()),
                    }
                });
                vec![group.chain(aggregates).collect()]
            }
        }
    }

    fn get_step(&self, model: &Model, op: &str, get: &Get, estimate: &super::Estimate) -> Value {
        let Some(s) = self.structures.get(get.structure as usize) else {
            return Value::Null;
        };
        let printer = Printer::of_structure(model, s);
        let parts: Vec<String> = s.key().map(|e| key_part(&printer, e)).collect();
        let eq: Vec<&String> = parts.iter().take(get.eq.len()).collect();
        let range = (get.lower.is_some() || get.upper.is_some()).then(|| parts.get(get.eq.len()));
        let order: Vec<Value> = parts
            .iter()
            .enumerate()
            .skip(get.eq.len())
            .map(|(i, part)| {
                let d = match (s.direction(i), get.reverse) {
                    (Direction::Asc, false) | (Direction::Desc, true) => "asc",
                    _ => "desc",
                };
                json!([part, d])
            })
            .collect();
        json!({
            "op": op, "structure": s.name, "eq": eq, "range": range.flatten(), "order": order,
            "rows": estimate.rows, "reads": estimate.reads, "cost": estimate.cost,
        })
    }

    /// Adds the subplans of a term. What several terms need is told once.
    fn term_steps<'p>(&self, model: &Model, term: &'p Term, frames: &[Frame], out: &mut Steps<'p>) {
        for sub in term.subs() {
            if out.told.contains(&sub) {
                continue;
            }
            out.told.push(sub);
            let name = match sub {
                Sub::Nested(_) => "nest",
                Sub::Scalar(_) => "compute",
                Sub::Values(_) => "list",
            };
            let steps = self.inner_steps(model, sub.plan(), frames);
            out.push(json!({ "op": name, "steps": steps }));
        }
    }

    fn test_steps<'p>(&self, model: &Model, test: &'p Test, frames: &[Frame], out: &mut Steps<'p>) {
        let mut each = |terms: &'p [Term]| {
            for term in terms {
                self.term_steps(model, term, frames, out);
            }
        };
        match test {
            Test::And(list) | Test::Or(list) => {
                for test in list {
                    self.test_steps(model, test, frames, out);
                }
            }
            Test::Not(t) => self.test_steps(model, t, frames, out),
            Test::Compare(a, _, b) | Test::InList(a, b) => {
                each(std::slice::from_ref(a));
                each(std::slice::from_ref(b));
            }
            Test::In(a, list) => {
                each(std::slice::from_ref(a));
                each(list);
            }
            Test::IsNull(a) => each(std::slice::from_ref(a)),
            Test::Exists(op) => {
                let mut steps = Steps::default();
                self.op_steps(model, op, frames, &mut steps);
                out.push(json!({ "op": "exists", "steps": steps.completed() }));
            }
        }
    }
}

impl PricedPlan {
    /// What an ask costs whatever its plan is: what its steps leave.
    pub fn by_itself(&self) -> f64 {
        left(self.cost, self.plan.told_cost())
    }
}

impl WritePlan {
    /// What a change costs whatever its write plan is: what its steps leave.
    pub fn by_itself(&self) -> f64 {
        left(self.cost, self.steps.iter().map(|s| s.cost).sum())
    }
}

/// What is left of a cost, but for rounding.
fn left(cost: f64, told: f64) -> f64 {
    let left = cost - told;
    let (unit, least) = (1e9, 1e-9 * cost.abs());
    if left.abs() <= least {
        return 0.0;
    }
    (left * unit).round() / unit
}

/// The steps of a plan so far.
#[derive(Default)]
struct Steps<'p> {
    list: Vec<Value>,
    /// The subplans among them.
    told: Vec<&'p Sub>,
}

impl Steps<'_> {
    fn push(&mut self, step: Value) {
        self.list.push(step);
    }

    fn completed(self) -> Vec<Value> {
        self.list.into_iter().map(completed).collect()
    }
}

impl WriteStep {
    /// One step with the fields of the contract, and the structures that it is read for.
    pub fn to_json(&self) -> Value {
        json!({
            "op": self.op,
            "structure": self.at(),
            "rows": self.rows,
            "rows_max": self.rows_max,
            "reads": self.reads,
            "cost": self.cost,
            "needed_by": self.needed_by,
        })
    }
}

/// The columns of what a step gives, as people write them.
type Frame = Vec<String>;

/// A term in words.
fn told(term: &Term, frames: &[Frame]) -> String {
    let all = |terms: &[Term]| {
        let told = terms.iter().map(|t| told(t, frames));
        told.collect::<Vec<_>>().join(", ")
    };
    match term {
        Term::Const(value) => literal(value),
        Term::Param(..) => "$".into(),
        Term::Item(..) => "each".into(),
        Term::Column { frame, column, .. } => {
            let frame = frames.get(usize::from(*frame));
            let name = frame.and_then(|f| f.get(usize::from(*column)));
            name.cloned().unwrap_or_default()
        }
        Term::Key(terms) | Term::Shape(_, terms) => all(terms),
        Term::Binary(op, a, b) => {
            format!("{} {} {}", told(a, frames), op.sign(), told(b, frames))
        }
        // Made by plans to read what a structure keeps: no function to a reader.
        Term::Call(Function::SumOf | Function::AvgOf | Function::OrZero, terms) => all(terms),
        Term::Call(f, terms) => format!("{}({})", f.name(), all(terms)),
        Term::At(map, key) => format!("{}[{}]", told(map, frames), told(key, frames)),
        Term::Sub(_) => "computed".into(),
    }
}

/// A step with every field of the contract, those that it has nothing to say of empty.
fn completed(step: Value) -> Value {
    let Value::Object(mut given) = step else {
        return step;
    };
    let empty = [
        ("op", Value::Null),
        ("structure", Value::Null),
        ("eq", json!([])),
        ("range", Value::Null),
        ("order", json!([])),
        ("limit", Value::Null),
        ("rows", json!(0)),
        ("reads", json!(0)),
        ("cost", json!(0)),
    ];
    let mut whole = serde_json::Map::new();
    for (name, nothing) in empty {
        whole.insert(name.into(), given.shift_remove(name).unwrap_or(nothing));
    }
    whole.extend(given);
    Value::Object(whole)
}

/// The entities that a structure reads, its anchor first.
fn entities(model: &Model, s: &Structure) -> Vec<String> {
    let mut out = vec![model.entity(s.anchor).name.clone()];
    for position in crate::view::reads::reads(model, s).values() {
        let name = &model.entity(position.entity).name;
        if !out.contains(name) && !position.slots.is_empty() {
            out.push(name.clone());
        }
    }
    out
}
