//! Playing a script on a store.

use super::{Course, Ready, Right, START, Script, Step, named_rows, paged_by, question, stored};
use crate::same_answer;
use querent::compiler::design::free_order;
use querent::compiler::model::{ParamId, Query};
use querent::compiler::value::Value;
use querent::schema::Schema;
use querent::store::Store;
use querent::store::lmdb::{self, Lmdb};
use querent::store::memory::{Memory, Remote};
use querent::verify::VerifyOptions;
use querent::{Clock, Database, Error, ManualClock, Receipt};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Where a script is played.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum On {
    /// In memory, transactional.
    Memory,
    /// In memory as a cluster would be: no snapshot, writes phase by phase, reads that wait.
    Remote,
    /// On disk.
    Lmdb,
}

impl On {
    /// All of them.
    pub const ALL: [On; 3] = [On::Memory, On::Remote, On::Lmdb];
}

/// Why a script did not come to its end.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Failure {
    /// The script makes no sense: nothing is said about the runtime.
    #[error("{0}")]
    Senseless(String),
    /// The runtime is not right.
    #[error("{0}")]
    Wrong(String),
}

/// Plays a script on a store; a panic is a failure too. Gives the schema that was played.
pub fn play(script: &Script, on: On) -> Result<Arc<Schema>, Failure> {
    let played = catch_unwind(AssertUnwindSafe(|| {
        let ready = script.ready().map_err(Failure::Senseless)?;
        play_ready(script, &ready, on)?;
        Ok(ready.schema)
    }));
    played.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        Err(Failure::Wrong(format!(
            "it panicked: {}",
            text.unwrap_or("?")
        )))
    })
}

fn play_ready(script: &Script, ready: &Ready, on: On) -> Result<(), Failure> {
    let schema = &ready.schema;
    homes(schema).map_err(Failure::Wrong)?;
    let structures = schema.structure_names().len();
    match on {
        On::Memory => play_on(script, ready, on, Memory::new(structures), |_| {}),
        On::Remote => {
            let remote = Remote {
                seed: script.choice.sample.unwrap_or(1),
                wait_one_in: 5,
            };
            play_on(
                script,
                ready,
                on,
                Memory::remote(structures, remote),
                Memory::ready,
            )
        }
        On::Lmdb => {
            let broken = |e: &dyn std::fmt::Display| Failure::Wrong(e.to_string());
            let folder = tempfile::tempdir().map_err(|e| broken(&e))?;
            // What a crash leaves is the subject of other tests.
            let options = lmdb::Options {
                sync: false,
                ..lmdb::Options::default()
            };
            let names = schema.structure_names();
            let store = Lmdb::create(folder.path().join("db"), &names, &[], options);
            play_on(script, ready, on, store.map_err(|e| broken(&e))?, |_| {})
        }
    }
}

fn play_on<S: Store>(
    script: &Script,
    ready: &Ready,
    on: On,
    store: S,
    wake: impl Fn(&S),
) -> Result<(), Failure> {
    let clock = Arc::new(ManualClock::at(START));
    let database = Database::with_store(Arc::clone(&ready.schema), store);
    let database = database.with_clock(Arc::clone(&clock) as Arc<dyn Clock>);
    let wait = || wake(database.store());
    let wrong = Failure::Wrong;
    let all = ready.facts.rows.iter();
    let all = all.flat_map(|(&e, rows)| rows.values().map(move |row| (e, row.clone())));
    database
        .put_all(all.collect())
        .map_err(|e| wrong(format!("the facts were refused: {e}")))?;
    let mut course = Course::new(&ready.model, ready.facts.clone());
    stored::check(&database, &course.facts, &wait)
        .map_err(|e| wrong(format!("after the load: {e}")))?;
    for (n, step) in script.steps.iter().enumerate() {
        let right = course.step(step).map_err(Failure::Senseless)?;
        if let Step::Wait(millis) = step {
            clock.advance(i64::try_from(*millis).unwrap_or(i64::MAX));
        }
        let done = take(&database, step, &right, &wait).and_then(|changed| {
            if changed {
                stored::check(&database, &course.facts, &wait)
            } else {
                Ok(())
            }
        });
        done.map_err(|e| wrong(format!("step {n}, {step:?}: {e}")))?;
    }
    // Verify reads in place, which a store that says wait does not allow.
    match on {
        On::Memory | On::Lmdb => verified(&database).map_err(wrong),
        On::Remote => Ok(()),
    }
}

/// Every fact has a home from which it is read.
fn homes(schema: &Schema) -> Result<(), String> {
    let model = &schema.model;
    for root in model.roots() {
        let entity = model.entity(root);
        for slot in 0..entity.fields.len() {
            let read =
                entity.key.contains(&slot) || schema.access.slots.contains_key(&(root, slot));
            if !read {
                return Err(format!("{}: slot {slot} has no home", entity.name));
            }
        }
    }
    Ok(())
}

/// Takes a step on a database, which must do what is right; tells whether it may have changed
/// something. `wait` is called where the store says that it is not ready.
pub fn take<S: Store>(
    database: &Database<S>,
    step: &Step,
    right: &Right,
    wait: &dyn Fn(),
) -> Result<bool, String> {
    match (step, right) {
        (Step::Change(name, params), _) => {
            made(right, database.change(name, params.clone())).map(|()| true)
        }
        (Step::Put(rows), _) => {
            let rows = named_rows(database.model(), rows)?;
            made(right, database.put_all(rows)).map(|()| true)
        }
        (Step::Wait(_), _) => Ok(true),
        (Step::Ask(name, _) | Step::Behind(name, ..), Right::Answer(answer, params)) => {
            ask(database, name, params, answer, wait).map(|()| false)
        }
        (Step::Ask(..) | Step::Behind(..), _) => Err("a question has an answer".into()),
    }
}

/// A change or a put must be made or refused as is right.
fn made(right: &Right, done: Result<Receipt, Error>) -> Result<(), String> {
    match (right, done) {
        (Right::Applied, Ok(_)) | (Right::Refused(_), Err(Error::Change(_))) => Ok(()),
        (Right::Refused(why), Ok(_)) => Err(format!("it was accepted, but {why}")),
        (_, Err(e)) => Err(format!("it was refused or failed: {e}")),
        (Right::Answer(..) | Right::Passed, _) => Err("a change is made or refused".into()),
    }
}

fn ask<S: Store>(
    database: &Database<S>,
    name: &str,
    params: &[Value],
    right: &crate::Answer,
    wait: &dyn Fn(),
) -> Result<(), String> {
    let question = question(database.model(), name)?;
    let mut given = params.to_vec();
    for at in super::cursor_params(question) {
        given[at.index()] = token(&question.query, at, &params[at.index()]);
    }
    let got = || -> Result<Vec<Vec<Value>>, Error> {
        let snapshot = database.snapshot()?;
        let asked = snapshot.ask(name, given)?;
        let mut answer = asked.rows()?.on_wait(|| {
            wait();
            Ok(())
        });
        Ok(answer.rows()?)
    };
    let got = got().map_err(|e| format!("{e}\n{}", plan(database.schema(), name)))?;
    same_answer(&question.query, params, &got, right).map_err(|e| {
        format!(
            "{e}\nright: {:?}\ngot: {got:?}\n{}",
            right.rows,
            plan(database.schema(), name)
        )
    })
}

/// The steps of a question's plan, a line each.
fn plan(schema: &Schema, question: &str) -> String {
    let found = schema.design.plans.iter().find(|p| p.name == question);
    let steps = found
        .map(|p| schema.design.plan_steps(&schema.model, &p.plan))
        .unwrap_or_default();
    let steps: Vec<String> = steps.iter().map(ToString::to_string).collect();
    steps.join("\n")
}

/// The cursor as the runtime makes it: the values of the order that no equality fixes.
fn token(query: &Query, param: ParamId, full: &Value) -> Value {
    let (Some(paged), Value::List(values)) = (paged_by(query, param), full) else {
        return Value::Null;
    };
    let free = free_order(paged);
    let kept = paged.order.iter().zip(values);
    let kept = kept.filter(|(term, _)| free.contains(term));
    let kept: Vec<Value> = kept.map(|(_, v)| v.clone()).collect();
    Value::Text(querent::cursor::encode(&kept))
}

fn verified<S: Store>(database: &Database<S>) -> Result<(), String> {
    let report = database.verify(&VerifyOptions::default());
    match report.map_err(|e| format!("verify: {e}"))?.findings.first() {
        Some(finding) => Err(format!("verify: {finding}")),
        None => Ok(()),
    }
}
