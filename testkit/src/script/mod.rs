//! A script: a model, facts, and steps (changes, puts, questions), played against a store and held
//! against the oracle at every step. Random tests make scripts, case folders are scripts.

mod by_hand;
mod play;
mod random;
mod shrink;
mod stored;

pub use play::{Failure, On, play, take};
pub(crate) use random::lists_the_same;
pub use random::random;
pub use shrink::shrunk;
pub(crate) use stored::definable;

use crate::apply::{Refusal, Sequences, consistent};
use crate::eval::Answer;
use crate::facts::{Facts, key_of};
use crate::{Oracle, apply, expire, put, stamp, unlimited};
use querent::compiler::design::target::Support;
use querent::compiler::design::{Options, target};
use querent::compiler::model::{Change, EntityId, Expr, Model, Page, ParamId, Query, Question};
use querent::compiler::value::Value;
use querent::schema::Schema;
use std::sync::Arc;

/// How a design is chosen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choice {
    /// Any design, chosen by this number, instead of the cheapest.
    pub sample: Option<u64>,
    /// The target whose plans are made; they mean the same on every store.
    pub target: Option<String>,
    /// The rows that a partition may have, where not as many as the target says.
    pub partition_rows: Option<u64>,
    /// The rows that may be written to a partition in a second, where the target says nothing.
    pub partition_writes: Option<u64>,
    /// The bytes that a row may have, where not as many as the target says.
    pub row_bytes: Option<u64>,
    /// The mix.
    pub mix: Option<String>,
    /// Branches of the solver, where not as many as usual.
    pub nodes: Option<u64>,
    /// The schema of the model that is used instead of a design.
    pub schema: Option<String>,
    /// The prices, where not the target's own.
    pub cost_model: Option<String>,
    /// How the reads of maintenance are counted, where not as the prices say.
    pub support: Option<Support>,
}

/// A model, facts and steps. Everything is named, so that a step or a declaration can be left out.
#[derive(Clone, Debug)]
pub struct Script {
    /// The model.
    pub model: String,
    /// Its design.
    pub choice: Choice,
    /// Facts at the start: name of the root or link entity, fact row.
    pub facts: Vec<(String, Vec<Value>)>,
    /// Steps.
    pub steps: Vec<Step>,
}

/// One step.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// A change and its parameters.
    Change(String, Vec<Value>),
    /// Rows, with the names of their entities, that are put together.
    Put(Vec<(String, Vec<Value>)>),
    /// A question and its parameters; a cursor is the list of all values of the order, or null.
    Ask(String, Vec<Value>),
    /// A question whose cursor is the last row of an earlier step (by position).
    Behind(String, Vec<Value>, usize),
    /// So many milliseconds pass.
    Wait(u64),
}

/// When a script begins, in milliseconds since 1970.
pub const START: i64 = 1_700_000_000_000;

/// What a step should give.
#[derive(Clone, Debug)]
pub enum Right {
    /// The change or the rows are applied.
    Applied,
    /// Time has passed.
    Passed,
    /// It is refused.
    Refused(Refusal),
    /// The answer of the question without limits that need no order, and the parameters with the
    /// cursor that was meant.
    Answer(Answer, Vec<Value>),
}

/// A script that makes sense: its model resolves, has a design, and its facts are allowed.
pub struct Ready {
    /// The model of the text: that of the schema has numbers too, of which the oracle knows nothing.
    pub model: Model,
    /// Model, design, layouts.
    pub schema: Arc<Schema>,
    /// Facts at the start.
    pub facts: Facts,
}

impl Script {
    /// Resolves and designs. The error says what makes no sense.
    pub fn ready(&self) -> Result<Ready, String> {
        let (model, diagnostics) = querent::compiler::parse("model.querent", &self.model);
        let model = model.ok_or_else(|| format!("the model does not resolve: {diagnostics:?}"))?;
        let mut options = self.options()?;
        if let Some(name) = &self.choice.schema {
            let schema = model.schemas.iter().find(|s| s.name == *name);
            let schema = schema.ok_or_else(|| format!("there is no schema {name}"))?;
            options.given = Some(schema.clone());
        }
        let design = querent::compiler::design::design(&model, &options)
            .map_err(|e| format!("there is no design: {e}"))?;
        let mut facts = Facts::default();
        for (name, row) in &self.facts {
            let entity = entity(&model, name)?;
            let key = key_of(&model, entity, row);
            facts.of_mut(&model, entity).insert(key, row.clone());
        }
        consistent(&model, &facts).map_err(|e| format!("the facts are not allowed: {e}"))?;
        Ok(Ready {
            schema: Arc::new(Schema::new(model.clone(), design)),
            model,
            facts,
        })
    }

    /// The options of the design.
    pub fn options(&self) -> Result<Options, String> {
        let mut options = Options::embedded();
        options.sample = self.choice.sample;
        options.mix.clone_from(&self.choice.mix);
        if let Some(nodes) = self.choice.nodes {
            options.nodes = nodes;
        }
        if let Some(name) = &self.choice.target {
            options.target = target::named(name).ok_or_else(|| format!("no target {name}"))?;
            if let Some(rows) = self.choice.partition_rows {
                options.target.limits.partition_rows = Some(rows as f64);
            }
            if let Some(writes) = self.choice.partition_writes {
                options.target.limits.partition_writes = Some(target::Throughput {
                    per_second: writes as f64,
                    unit_bytes: None,
                });
            }
        }
        if let Some(bytes) = self.choice.row_bytes {
            options.target.limits.row_bytes = bytes as f64;
        }
        if let Some(name) = &self.choice.cost_model {
            let priced = target::cost_model(name).ok_or_else(|| format!("no cost model {name}"))?;
            options.target.cost = priced.cost;
        }
        if let Some(support) = self.choice.support {
            options.target.cost.rules.support = support;
        }
        Ok(options)
    }
}

/// The oracle's side of a script: facts, and what the steps did so far.
pub struct Course<'m> {
    /// The model.
    pub model: &'m Model,
    /// The facts as they are now.
    pub facts: Facts,
    /// The time.
    now: i64,
    sequences: Sequences,
    answers: Vec<Option<Answer>>,
    /// Of the facts as they are now, once a question was asked of them.
    oracle: Option<Oracle<'m>>,
}

impl<'m> Course<'m> {
    /// Before the first step.
    pub fn new(model: &'m Model, mut facts: Facts) -> Self {
        let sequences = Sequences::of(model, &facts);
        for (&root, rows) in &mut facts.rows {
            rows.values_mut()
                .for_each(|row| stamp(model, root, row, START));
        }
        Course {
            model,
            facts,
            now: START,
            sequences,
            answers: vec![],
            oracle: None,
        }
    }

    /// What the next step should give; a change that is right is made.
    pub fn step(&mut self, step: &Step) -> Result<Right, String> {
        let right = match step {
            Step::Change(name, params) => {
                let change = change(self.model, name)?;
                let sequences = &mut self.sequences;
                self.oracle = None;
                let facts = &mut self.facts;
                match apply(self.model, change, params, facts, sequences, self.now) {
                    Ok(()) => Right::Applied,
                    Err(refusal) => Right::Refused(refusal),
                }
            }
            Step::Put(rows) => {
                let rows = named_rows(self.model, rows)?;
                self.oracle = None;
                let (facts, sequences) = (&mut self.facts, &mut self.sequences);
                match put(self.model, &rows, facts, sequences, self.now) {
                    Ok(()) => Right::Applied,
                    Err(refusal) => Right::Refused(refusal),
                }
            }
            Step::Wait(millis) => {
                self.now = self.now.saturating_add_unsigned(*millis);
                self.oracle = None;
                expire(self.model, &mut self.facts, self.now);
                Right::Passed
            }
            Step::Ask(name, params) => self.answer(name, params.clone())?,
            Step::Behind(name, params, page) => {
                let question = question(self.model, name)?;
                let last = self.answers.get(*page).and_then(Option::as_ref);
                let last = last.and_then(|answer| answer.order.last().cloned());
                let at = cursor_params(question).next();
                let at = at.ok_or_else(|| format!("{name} has no cursor"))?;
                let mut params = params.clone();
                params[at.index()] = last.map_or(Value::Null, Value::List);
                self.answer(name, params)?
            }
        };
        self.answers.push(match &right {
            Right::Answer(answer, _) => Some(answer.clone()),
            Right::Applied | Right::Passed | Right::Refused(_) => None,
        });
        Ok(right)
    }

    fn answer(&mut self, name: &str, params: Vec<Value>) -> Result<Right, String> {
        let question = question(self.model, name)?;
        let failed = |e| format!("the oracle: {e}");
        let oracle = match self.oracle.take() {
            Some(oracle) => oracle,
            None => Oracle::load(self.model, &self.facts).map_err(failed)?,
        };
        let answer = oracle.answer(&unlimited(&question.query), &params);
        self.oracle = Some(oracle);
        let answer = answer.map_err(failed)?;
        Ok(Right::Answer(answer, params))
    }
}

/// The question of a name.
pub fn question<'m>(model: &'m Model, name: &str) -> Result<&'m Question, String> {
    let found = model.questions.iter().find(|q| q.name == name);
    found.ok_or_else(|| format!("there is no question {name}"))
}

/// The change of a name.
pub fn change<'m>(model: &'m Model, name: &str) -> Result<&'m Change, String> {
    let found = model.changes.iter().find(|c| c.name == name);
    found.ok_or_else(|| format!("there is no change {name}"))
}

/// The entity of a name.
pub fn entity(model: &Model, name: &str) -> Result<EntityId, String> {
    let found = model.entities.iter().position(|e| e.name == name);
    let found = found.ok_or_else(|| format!("there is no entity {name}"))?;
    Ok(EntityId(found as u32))
}

/// Rows with their entities.
pub(crate) fn named_rows(
    model: &Model,
    rows: &[(String, Vec<Value>)],
) -> Result<Vec<(EntityId, Vec<Value>)>, String> {
    let rows = rows.iter();
    rows.map(|(name, row)| Ok((entity(model, name)?, row.clone())))
        .collect()
}

/// The parameters of a question that are cursors.
pub fn cursor_params(question: &Question) -> impl Iterator<Item = ParamId> {
    let params = question.params.iter().enumerate();
    params
        .filter(|(_, p)| p.ty == querent::compiler::model::Type::Cursor)
        .map(|(i, _)| ParamId(i as u32))
}

/// The query, the question's own or one nested in it, that a cursor pages.
pub(crate) fn paged_by(query: &Query, param: ParamId) -> Option<&Query> {
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
