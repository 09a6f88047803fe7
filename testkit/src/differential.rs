//! The runtime against the oracle: random models, facts, questions and changes. After each change
//! every question's answer and every structure's content must be what they mean.

use crate::eval::Eval;
use crate::facts::Facts;
use crate::generate::{self, Rng, Size};
use crate::{Oracle, apply, expire, same_answer, stamp, unlimited};
use querent::compiler::design::{Options, free_order, target};
use querent::compiler::model::{Expr, Model, Page, ParamId, Query};
use querent::compiler::value::Value;
use querent::compiler::view::facts::MemoryFacts;
use querent::compiler::view::rows::rows;
use querent::schema::Schema;
use querent::store::memory::Memory;
use querent::{Clock, Database, Error, ManualClock};
use std::sync::Arc;

/// How much one run does.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Size of the model.
    pub size: Size,
    /// Instances per entity, at most.
    pub rows: usize,
    /// Changes made.
    pub changes: usize,
    /// Sets of parameters per question and state.
    pub asks: usize,
    /// Any design instead of the cheapest: plans that no optimum would take are run too.
    pub sampled: bool,
    /// Facts expire, and time passes.
    pub timed: bool,
}

impl Default for Effort {
    fn default() -> Self {
        Effort {
            size: Size::default(),
            rows: 8,
            changes: 6,
            asks: 2,
            sampled: true,
            timed: true,
        }
    }
}

/// Runs one seed; the error tells everything needed to see the difference.
pub fn run(seed: u64, effort: Effort) -> Result<(), String> {
    let mut rng = Rng::new(seed);
    let text = if effort.timed {
        generate::timed_model(&mut rng, effort.size)
    } else {
        generate::model(&mut rng, effort.size)
    };
    run_model(&text, &mut rng, effort, seed).map_err(|e| format!("seed {seed}: {e}\n{text}"))
}

fn run_model(text: &str, rng: &mut Rng, effort: Effort, seed: u64) -> Result<(), String> {
    let (model, diagnostics) = querent::compiler::parse("random.querent", text);
    let model = model.ok_or_else(|| format!("the model does not resolve: {diagnostics:?}"))?;
    let mut options = Options::embedded();
    // Any design must be right, the cheapest or not.
    options.sample = effort.sampled.then_some(seed);
    options.nodes = 20;
    if seed.is_multiple_of(3) {
        // Plans for partitioned targets mean the same; they only differ in what they may read.
        options.target = target::named("cassandra").ok_or("no such target")?;
    }
    let design = querent::compiler::design::design(&model, &options).map_err(|e| e.to_string())?;
    let schema = Arc::new(Schema::new(model.clone(), design));
    let store = Memory::new(schema.structure_names().len());
    let clock = Arc::new(ManualClock::at(START));
    let database = Database::with_store(Arc::clone(&schema), store);
    let database = database.with_clock(Arc::clone(&clock) as Arc<dyn Clock>);
    let (mut facts, mut sequences) = generate::facts(rng, &model, effort.rows);
    generate::deadlines(rng, &model, &mut facts, START);
    let all = facts
        .rows
        .iter()
        .flat_map(|(&e, rows)| rows.values().map(move |row| (e, row.clone())));
    database
        .put_all(all.collect())
        .map_err(|e| format!("the facts were refused: {e}"))?;
    for (&root, rows) in &mut facts.rows {
        rows.values_mut()
            .for_each(|row| stamp(&model, root, row, START));
    }
    expire(&model, &mut facts, START);
    check(&database, &model, &facts, rng, effort, "after the load")?;
    for n in 0..effort.changes {
        let Some(change) = rng.pick(&model.changes).cloned() else {
            break;
        };
        let params = generate::change_params(rng, &model, &facts, &change);
        if effort.timed {
            clock.advance(generate::advance(rng));
        }
        let now = clock.now();
        let right = apply(&model, &change, &params, &mut facts, &mut sequences, now);
        let got = database.change(&change.name, params.clone());
        let what = format!("change {n}: {} with {params:?}", change.name);
        match (&right, &got) {
            (Ok(()), Ok(_)) | (Err(_), Err(Error::Change(_))) => {}
            (Ok(()), Err(e)) => return Err(format!("{what} was refused: {e}")),
            (Err(e), Ok(_)) => return Err(format!("{what} was accepted, but {e:?}")),
            (Err(_), Err(e)) => return Err(format!("{what} failed: {e}")),
        }
        if effort.timed {
            clock.advance(generate::advance(rng));
            expire(&model, &mut facts, clock.now());
        }
        check(&database, &model, &facts, rng, effort, &what)?;
    }
    Ok(())
}

/// When a run begins.
const START: i64 = 1_700_000_000_000;

/// Compares every structure and every question.
fn check(
    database: &Database<Memory>,
    model: &Model,
    facts: &Facts,
    rng: &mut Rng,
    effort: Effort,
    when: &str,
) -> Result<(), String> {
    // What has expired goes before a snapshot is given, not before.
    drop(database.snapshot().map_err(|e| format!("{when}: {e}"))?);
    structures(database, model, facts).map_err(|e| format!("{when}: {e}"))?;
    let oracle = Oracle::load(model, facts).map_err(|e| format!("{when}: the oracle: {e}"))?;
    for question in &model.questions {
        for _ in 0..effort.asks {
            let mut params = generate::question_params(rng, model, facts, question);
            let mut asked = params.clone();
            for (i, param) in question.params.iter().enumerate() {
                if param.ty != querent::compiler::model::Type::Cursor || rng.percent(30) {
                    continue;
                }
                let id = ParamId(i as u32);
                let eval = Eval {
                    model,
                    facts,
                    params: &params,
                };
                if let Some(cursor) = generate::cursor(rng, &eval, &question.query, id) {
                    asked[i] = token(&question.query, id, &cursor);
                    params[i] = cursor;
                }
            }
            let what = || format!("{when}: {} with {params:?}", question.name);
            let right = oracle
                .answer(&unlimited(&question.query), &params)
                .map_err(|e| format!("{}: the oracle: {e}", what()))?;
            let got = database
                .ask(&question.name, asked.clone())
                .map_err(|e| format!("{}: {e}\n{}", what(), plan(database, &question.name)))?;
            same_answer(&question.query, &params, &got.rows, &right).map_err(|e| {
                format!(
                    "{}: {e}\nright: {:?}\ngot: {:?}\n{}",
                    what(),
                    right.rows,
                    got.rows,
                    plan(database, &question.name)
                )
            })?;
        }
    }
    Ok(())
}

fn plan(database: &Database<Memory>, question: &str) -> String {
    let schema = database.schema();
    let found = schema.design.plans.iter().find(|p| p.name == question);
    let steps = found
        .map(|p| schema.design.plan_steps(&schema.model, &p.plan))
        .unwrap_or_default();
    let steps: Vec<String> = steps.iter().map(ToString::to_string).collect();
    steps.join("\n")
}

/// The cursor as the runtime makes it: the values of the order that no equality fixes.
fn token(query: &Query, param: ParamId, full: &Value) -> Value {
    let Some(paged) = paged_by(query, param) else {
        return Value::Null;
    };
    let Value::List(values) = full else {
        return Value::Null;
    };
    let free = free_order(paged);
    let kept = paged
        .order
        .iter()
        .zip(values)
        .filter(|(term, _)| free.contains(term));
    let kept: Vec<Value> = kept.map(|(_, v)| v.clone()).collect();
    Value::Text(querent::cursor::encode(&kept))
}

fn paged_by(query: &Query, param: ParamId) -> Option<&Query> {
    if matches!(query.page, Some(Page::After(p) | Page::Before(p)) if p == param) {
        return Some(query);
    }
    query.select.iter().find_map(|i| inside(&i.expr, param))
}

fn inside(expr: &Expr, param: ParamId) -> Option<&Query> {
    match expr {
        Expr::Nested(_, q) => paged_by(q, param),
        Expr::Shape { items, .. } => items.iter().find_map(|i| inside(&i.expr, param)),
        _ => None,
    }
}

/// Compares the content of every structure with its definition.
fn structures(database: &Database<Memory>, model: &Model, facts: &Facts) -> Result<(), String> {
    let mut memory = MemoryFacts::default();
    for (&entity, rows) in &facts.rows {
        for (key, row) in rows {
            memory.set(model, entity, key, Some(row.clone()));
        }
    }
    let schema = database.schema();
    for (id, (structure, layout)) in schema
        .design
        .structures
        .iter()
        .zip(&schema.layouts)
        .enumerate()
    {
        let expected = rows(model, structure, &memory);
        let stored = database.store().rows(id as u16);
        let mut found = std::collections::BTreeMap::new();
        for (key, row) in stored {
            let key = layout.decode_key(&key).map_err(|e| e.to_string())?;
            let row = layout.decode_row(&row).map_err(|e| e.to_string())?;
            found.insert(key, row);
        }
        for (key, row) in &expected {
            match found.remove(key) {
                None => {
                    return Err(format!(
                        "{}: missing {key:?}\n{structure:?}",
                        structure.name
                    ));
                }
                Some(f) if f != *row => {
                    return Err(format!(
                        "{}: stale {key:?}: {f:?}, expected {row:?}\n{structure:?}",
                        structure.name
                    ));
                }
                Some(_) => {}
            }
        }
        if let Some((key, row)) = found.first_key_value() {
            return Err(format!(
                "{}: ghost {key:?} {row:?}\n{structure:?}",
                structure.name
            ));
        }
    }
    Ok(())
}
