//! From a selection to a design: every statement's plan, every change's write plan, and what is
//! told of each structure.

use super::access::Access;
use super::select::{Programme, Reader, Selection};
use super::sizes::{Subject, Thermometer, findings};
use super::writes::effect_steps;
use super::{
    Design, DesignError, Finding, Note, Options, PricedPlan, Purpose, Search, Sizes, StructureId,
    WritePlan, WriteStep, build, change, equality, expiry, key_of,
};
use crate::diagnostic::codes::UNSTATED;
use crate::model::Model;
use std::collections::{BTreeMap, BTreeSet};

/// The design of a selection.
pub(super) fn assemble(
    model: &Model,
    options: &Options,
    mix: Option<String>,
    programme: &Programme,
    selection: &Selection,
) -> Result<Design, DesignError> {
    let planner = programme.planner;
    let constants = &options.target.cost;
    let mut mapping = build::Mapping::new(planner, selection);
    let access = Access::new(model, &mapping.structures);
    let mut readers = programme.readers.iter().enumerate();
    let mut plans = Vec::new();
    let mut serves: BTreeMap<usize, BTreeSet<String>> = BTreeMap::new();
    let settle = |subject: Subject, reader: Option<(usize, &Reader)>| {
        let unanswerable = || DesignError::Unanswerable(subject.clone());
        let option = reader
            .and_then(|(at, r)| r.settled(at, selection))
            .ok_or_else(unanswerable)?;
        let plan = mapping.plan(option).ok_or_else(unanswerable)?;
        Ok((option.clone(), plan.settled(option.cost)))
    };
    for question in &model.questions {
        let reader = readers.next();
        let (option, plan) = settle(Subject::Question(question.name.clone()), reader)?;
        for r in &option.requires {
            serves
                .entry(r.shape)
                .or_default()
                .insert(question.name.clone());
        }
        let weight = reader.map_or(0.0, |(_, r)| r.weight);
        plans.push(PricedPlan {
            name: question.name.clone(),
            weight,
            plan,
            cost: constants.ask + option.cost,
            rows: option.rows,
        });
    }
    let mut writes = Vec::new();
    for (change, writer) in model.changes.iter().zip(programme.writers) {
        let mut finds = Vec::new();
        let mut steps = Vec::new();
        let mut cost = constants.change;
        for (entity, filter) in change::finds(change) {
            let (option, plan) = settle(Subject::Change(change.name.clone()), readers.next())?;
            for r in &option.requires {
                serves
                    .entry(r.shape)
                    .or_default()
                    .insert(change.name.clone());
            }
            cost += option.cost;
            let found = planner.stats.found(entity, filter);
            let named = key_of(model, entity, filter).is_some();
            // What is checked by its key is found by that.
            let checked = named && options.target.cost.rules.checks;
            steps.extend((!checked).then(|| WriteStep {
                op: "find".into(),
                structure: mapping.name(plan.root.first_read()),
                purpose: Purpose::Find(model.entity(entity).name.clone()),
                rows: found.avg,
                rows_max: found.max,
                reads: option.rows,
                popular: 0.0,
                needed_by: vec![],
                all: false,
                cost: option.cost,
            }));
            finds.push((!named).then_some(plan));
        }
        cost += effect_steps(programme, selection, &mapping, &access, writer, &mut steps);
        writes.push(WritePlan {
            name: change.name.clone(),
            weight: writer.weight,
            finds,
            steps,
            cost,
        });
    }
    let expiries = programme.writers.iter().skip(model.changes.len());
    for ((root, _), writer) in model.expiring().zip(expiries) {
        let name = expiry::name(model, root);
        let read = planner.read_cost(planner.stats.count(root), 1.0, 1.0, 16.0);
        let list = access.expiries.get(&root).map(|(id, _)| *id);
        let mut steps = vec![WriteStep {
            op: "find".into(),
            structure: mapping.name(list),
            purpose: Purpose::Find(model.entity(root).name.clone()),
            rows: 1.0,
            rows_max: 1.0,
            reads: 1.0,
            popular: 0.0,
            needed_by: vec![],
            all: false,
            cost: read,
        }];
        let mut cost = constants.change + read;
        cost += effect_steps(programme, selection, &mapping, &access, writer, &mut steps);
        if let Some(&shape) = list.and_then(|id| mapping.shapes.get(usize::from(id))) {
            serves.entry(shape).or_default().insert(name.clone());
        }
        writes.push(WritePlan {
            name,
            weight: writer.weight,
            finds: vec![],
            steps,
            cost,
        });
    }
    let all_plans = plans.iter().map(|p: &PricedPlan| &p.plan);
    equality::hash_long_parts(
        model,
        &mut mapping.structures,
        all_plans.chain(
            writes
                .iter()
                .flat_map(|w: &WritePlan| w.finds.iter().flatten()),
        ),
        &options.target.limits,
    );
    let stats = options.target.stats(model);
    let mut thermometer = Thermometer::new(stats, &options.target, |id| {
        mapping.structures.get(usize::from(id))
    });
    plans.iter().for_each(|p| thermometer.question(p));
    let named = |name: &str| {
        let mut structures = mapping.structures.iter();
        structures.position(|s| s.name == name).map(|at| at as u16)
    };
    for (write, writer) in writes.iter().zip(programme.writers) {
        thermometer.change(write, &named);
        let effects = writer.effects.iter().map(|(e, _)| e.clone());
        let effects: Vec<_> = effects.collect();
        for id in 0..mapping.structures.len() {
            thermometer.written(id as StructureId, &write.name, writer.weight, &effects);
        }
    }
    let mut heats = thermometer.heats;
    let given = options.given.as_ref().map_or(0, |g| g.structures.len());
    let mut notes = Vec::new();
    let mut warnings = Vec::new();
    for (at, s) in mapping.structures.iter().enumerate() {
        let heat = heats.remove(&(at as StructureId)).unwrap_or_default();
        let sizes = Sizes::of(model, &options.target, s, model.timed.then_some(heat));
        let given = at < given;
        let found = findings(model, &options.target, s, &sizes, given);
        for finding in found {
            // What is not stated is told once, however many structures rest on it.
            let told = |f: &Finding| f.code == finding.code && f.subject == finding.subject;
            if finding.code != UNSTATED.id || !warnings.iter().any(told) {
                warnings.push(finding);
            }
        }
        let shape = mapping.shapes.get(at).copied().unwrap_or_default();
        let served = serves.get(&shape).map(|s| s.iter().cloned().collect());
        notes.push(Note {
            serves: served.unwrap_or_default(),
            techniques: build::techniques(model, s, &mapping.structures)
                .into_iter()
                .map(String::from)
                .collect(),
            home_of: access.home_of(model, at as StructureId),
            sizes,
        });
    }
    let questions = plans.iter().map(|p| p.weight * p.cost);
    let changes = writes.iter().map(|w| w.weight * w.cost);
    // The sum of nothing is zero, without a sign.
    let total = questions.chain(changes).fold(0.0, |sum, cost| sum + cost);
    Ok(Design {
        model: model.name.clone(),
        target: options.target.name.clone(),
        mix,
        structures: mapping.structures,
        notes,
        plans,
        writes,
        total,
        warnings,
        splits: model.splits.clone(),
        search: Search {
            candidates: planner.shapes.all.len(),
            variables: selection.variables,
            optimal: selection.optimal,
            gap: selection.gap(),
        },
    })
}
