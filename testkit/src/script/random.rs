//! Scripts made of random numbers.

use super::{Choice, Ready, START, Script, Step};
use crate::differential::Effort;
use crate::eval::Eval;
use crate::facts::Facts;
use crate::generate::{self, Rng};
use crate::{apply, expire, put, script, stamp};
use querent::compiler::design::popular_key::{split_by, split_of};
use querent::compiler::design::source;
use querent::compiler::design::spread::directory;
use querent::compiler::design::target::Support;
use querent::compiler::model::{Expr, Model, Split};
use querent::compiler::view::{Kind, Structure, elements, key_size};
use querent::schema::Schema;

/// The script of a seed. The error is a model that does not resolve: a fault of the generator.
pub fn random(seed: u64, effort: Effort) -> Result<Script, String> {
    let mut rng = Rng::new(seed);
    let mut text = if effort.pieces {
        generate::listing_model(&mut rng, effort.size)
    } else if effort.gathers {
        generate::gathering_model(&mut rng, effort.size)
    } else if effort.timed {
        generate::timed_model(&mut rng, effort.size)
    } else {
        generate::model(&mut rng, effort.size)
    };
    if effort.long {
        text = text.replace("(8, max 60)", "(8)");
        text = text.replace("(600, max 2000)", "(600)");
    }
    let (model, diagnostics) = querent::compiler::parse("random.querent", &text);
    let model = model.ok_or_else(|| format!("{text}\ndoes not resolve: {diagnostics:?}"))?;
    let mut script = Script {
        model: text,
        choice: Choice {
            // Any design must be right, the cheapest or not.
            sample: effort.sampled.then_some(seed),
            // Plans for partitioned targets mean the same; they differ in what they may read.
            target: (effort.pieces || seed.is_multiple_of(3)).then(|| "cassandra".to_owned()),
            // Partitions so small that most are spread over buckets or salts, those of a quarter of
            // the schemas among them.
            partition_rows: match (effort.pieces, seed % 5) {
                // The directory of buckets is a partition too.
                (true, 0) => Some(2 + seed % 31),
                (true, size) => Some(30 * 7_u64.pow(size as u32 - 1)),
                (false, _) => (seed.is_multiple_of(6) || seed % 12 == 9).then(|| 2 + seed % 31),
            },
            // Partitions that take so few writes that most must be salted.
            partition_writes: seed.is_multiple_of(9).then(|| 1 + seed % 17),
            row_bytes: None,
            mix: (model.mixes.len() > 1).then(|| model.mixes[seed as usize % 2].clone()),
            nodes: Some(20),
            schema: None,
            // Other prices make other designs, which have to be right too.
            cost_model: seed.is_multiple_of(5).then(|| "nose".to_owned()),
            // Those of the peer by each of the readings of its support reads.
            support: match seed % 15 {
                5 => Some(Support::Statement),
                10 => Some(Support::Branch),
                _ => None,
            },
        },
        facts: vec![],
        steps: vec![],
    };
    if seed % 4 == 1 {
        give_schema(&mut script, &mut rng)?;
        // Rows so small that what a person keeps in them may outgrow them, and what is added may
        // keep nothing of the kind.
        script.choice.row_bytes = (seed % 8 == 5).then(|| 50 + seed % 997);
    }
    if effort.long {
        rng.lengthen_by(longest(&script.ready()?.schema));
    }
    let (mut facts, mut sequences) = generate::facts(&mut rng, &model, effort.rows);
    let named = facts.rows.iter().flat_map(|(&entity, rows)| {
        let name = &model.entity(entity).name;
        rows.values().map(move |row| (name.clone(), row.clone()))
    });
    script.facts = named.collect();
    let mut now = START;
    for (&root, rows) in &mut facts.rows {
        rows.values_mut()
            .for_each(|row| stamp(&model, root, row, now));
    }
    let mut wait = |rng: &mut Rng, steps: &mut Vec<Step>| {
        if effort.timed {
            let millis = generate::advance(rng);
            now += millis;
            steps.push(Step::Wait(millis.unsigned_abs()));
        }
        now
    };
    questions(&mut script, &mut rng, &model, &facts, effort.asks);
    for _ in 0..effort.changes {
        let Some(change) = rng.pick(&model.changes) else {
            break;
        };
        let params = generate::change_params(&mut rng, &model, &facts, change);
        let at = wait(&mut rng, &mut script.steps);
        // Refused or not: the parameters of the steps behind it are drawn from what it leaves.
        let _ = apply(&model, change, &params, &mut facts, &mut sequences, at);
        script.steps.push(Step::Change(change.name.clone(), params));
        if effort.puts > 0 && rng.percent(effort.puts) {
            let rows = generate::rows_to_put(&mut rng, &model, &facts);
            let at = wait(&mut rng, &mut script.steps);
            let _ = put(&model, &rows, &mut facts, &mut sequences, at);
            let named = rows.into_iter();
            let named = named.map(|(entity, row)| (model.entity(entity).name.clone(), row));
            script.steps.push(Step::Put(named.collect()));
        }
        let at = wait(&mut rng, &mut script.steps);
        expire(&model, &mut facts, at);
        questions(&mut script, &mut rng, &model, &facts, effort.asks);
    }
    Ok(script)
}

/// Takes some structures of the design, with some of their columns, as a person's schema: the rest
/// has to be made up for. By chance no directory of buckets is among them, and rows hold what
/// questions nest, which no design would keep in them. What is written is read again as it was.
fn give_schema(script: &mut Script, rng: &mut Rng) -> Result<(), String> {
    let Ready { schema, .. } = script.ready()?;
    let model = &schema.model;
    let mut given: Vec<Structure> = Vec::new();
    for s in &schema.design.structures {
        if rng.percent(60) {
            let mut s = s.clone();
            s.hashed.clear();
            if rng.percent(50) {
                s.columns.retain(|_| rng.percent(70));
            }
            // Rows that are left out, and groups that a question only needs a part of.
            if rng.percent(30) {
                s = super::by_hand::limited(rng, &schema.model, s);
            }
            given.push(s);
        }
    }
    if rng.percent(50) {
        let directories: Vec<Structure> = schema
            .design
            .structures
            .iter()
            .filter_map(|s| directory(model, s))
            .collect();
        given.retain(|s| !directories.iter().any(|d| lists_the_same(s, d)));
    }
    for s in &mut given {
        for shape in nested(model, s) {
            if !s.columns.contains(&shape) && rng.percent(40) {
                s.columns.push(shape);
            }
        }
    }
    given.extend(super::by_hand::groups(rng, &schema.model));
    // A number belongs to the structures that it splits, and stands in no other schema.
    let keyed = |split: &Split| given.iter().any(|s| s.key().any(|e| *e == split.number()));
    if !model.splits.iter().all(keyed) {
        given.retain(|s| split_of(model, s).is_none());
        for s in &mut given {
            s.columns.retain(|e| split_by(model, e).is_none());
        }
    }
    let block = source::schema(model, "given", &given);
    let text = format!("{}\n{block}", script.model);
    let (read, diagnostics) = querent::compiler::parse("random.querent", &text);
    let read = read.ok_or_else(|| format!("{text}\ndoes not resolve: {diagnostics:?}"))?;
    let again = read.schemas.last().map_or(&[][..], |s| &s.structures);
    if again != given {
        let differs = given.iter().zip(again).find(|(g, a)| g != a);
        return Err(format!(
            "{text}\n{} of {} are read again; the first that differs: {differs:#?}",
            again.len(),
            given.len()
        ));
    }
    script.model = text;
    script.choice.schema = Some("given".into());
    script.choice.sample = None;
    Ok(())
}

/// Whether two structures tell which pieces are present of the same whole.
pub(crate) fn lists_the_same(s: &Structure, directory: &Structure) -> bool {
    let pieces =
        |s: &Structure| -> Vec<Expr> { s.clustering.iter().map(|t| t.0.clone()).collect() };
    s.kind == directory.kind
        && s.anchor == directory.anchor
        && s.over == directory.over
        && pieces(s) == pieces(directory)
}

/// What questions nest in the instances that a structure lists, and any row may keep: it depends on
/// no parameter, and on nothing that elements refer to.
fn nested(model: &Model, s: &Structure) -> Vec<Expr> {
    if s.kind != Kind::Lists || !s.over.is_empty() {
        return vec![];
    }
    let about = model.questions.iter().map(|q| &q.query);
    let about = about.filter(|query| query.anchor == s.anchor);
    let items = about.flat_map(|query| query.select.iter().map(|item| item.expr.clone()));
    let fixed = |e: &Expr| {
        let text = format!("{e:?}");
        !text.contains("Param(") && !text.contains("page: Some")
    };
    items
        .filter(|e| matches!(e, Expr::Nested(0, _)) && fixed(e) && !elements::follows(model, e))
        .collect()
}

/// How long texts may be so that every key is accepted: several KB where nothing keeps them in
/// order, else as long as is surely cut where it is hashed.
fn longest(schema: &Schema) -> usize {
    let ordered = schema.layouts.iter().flat_map(|layout| &layout.key);
    let mut sizes = ordered.map(|part| key_size::largest(&schema.model, part));
    if sizes.all(|size| size.is_some()) {
        4000
    } else {
        key_size::HASHED + 20
    }
}

/// Every question, so many times.
fn questions(script: &mut Script, rng: &mut Rng, model: &Model, facts: &Facts, asks: usize) {
    for question in &model.questions {
        for _ in 0..asks {
            let mut params = generate::question_params(rng, model, facts, question);
            for id in script::cursor_params(question) {
                if rng.percent(30) {
                    continue;
                }
                let eval = Eval {
                    model,
                    facts,
                    params: &params,
                };
                if let Some(cursor) = generate::cursor(rng, &eval, &question.query, id) {
                    params[id.index()] = cursor;
                }
            }
            script.steps.push(Step::Ask(question.name.clone(), params));
        }
    }
}
