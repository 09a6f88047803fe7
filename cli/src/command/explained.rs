//! `querent explain --format json`: the same facts as the text, for programs.

use super::named::Named;
use super::reasons::{self, differences};
use super::upkeep::{self, Upkeep};
use super::versus::{added, statements};
use crate::designing::Designed;
use anyhow::{Result, bail};
use querent_compiler::design::WriteStep;
use querent_compiler::design::study::{Choice, End, Flips, Study};
use querent_compiler::view::Structure;
use serde_json::{Map, Value as Json, json};

/// What a name means: a question, a change and a structure, as far as there are.
pub(crate) fn named(designed: &Designed, named: Named) -> Result<Map<String, Json>> {
    let design = &designed.design;
    let mut object = Map::new();
    let studied = || Study::of(&designed.model, &designed.options, design);
    if let Some(at) = named.question {
        object.insert("question".into(), question(designed, &studied()?, at));
    }
    if let Some(at) = named.change {
        object.insert("change".into(), change(designed, &studied()?, at));
    }
    if let Some(at) = named.structure {
        object.insert("structure".into(), structure(designed, &studied()?, at));
    }
    Ok(object)
}

fn question(designed: &Designed, study: &Study, at: usize) -> Json {
    let (model, design) = (&designed.model, &designed.design);
    let Some(own) = design.plans.get(at) else {
        return Json::Null;
    };
    let next = reasons::next_best(designed, study, at).and_then(|other| {
        let plan = other.plans.get(at)?;
        Some(json!({
            "cost": plan.cost,
            "by_itself": plan.by_itself(),
            "total": other.total,
            "plan": other.plan_steps(model, &plan.plan),
            "built": names(&other.beyond(design)),
            "dropped": names(&design.beyond(&other)),
        }))
    });
    let found = reasons::flips(study, Choice::Question(at));
    json!({
        "name": own.name,
        "weight": own.weight,
        "cost": own.cost,
        "by_itself": own.by_itself(),
        "total": design.total,
        "rows": own.rows,
        "plan": design.plan_steps(model, &own.plan),
        "reads": design.read_by(at),
        "next_best": next,
        "flips": flips(&found),
        "flips_complete": complete(&found),
    })
}

fn change(designed: &Designed, study: &Study, at: usize) -> Json {
    let Some(plan) = designed.design.writes.get(at) else {
        return Json::Null;
    };
    let steps: Vec<Json> = plan.steps.iter().map(WriteStep::to_json).collect();
    // The delete of what has expired has no rate of its own.
    let found = (at < designed.model.changes.len()).then(|| study.flips_of_change(at));
    json!({
        "name": plan.name,
        "weight": plan.weight,
        "cost": plan.cost,
        "by_itself": plan.by_itself(),
        "steps": steps,
        "flips": found.as_ref().map(flips),
        "flips_complete": found.as_ref().map(complete),
    })
}

fn structure(designed: &Designed, study: &Study, at: usize) -> Json {
    let design = &designed.design;
    let Some(own) = design.structures.get(at) else {
        return Json::Null;
    };
    let mut all = design.to_json(&designed.model, designed.seconds);
    let object = all.pointer_mut(&format!("/structures/{at}"));
    let Some(Json::Object(object)) = object else {
        return Json::Null;
    };
    let written = upkeep::of(design, &own.name);
    let written = written.iter().map(Upkeep::to_json).collect();
    object.insert("read_by".into(), json!(design.readers_of(at)));
    object.insert("written_by".into(), Json::Array(written));
    object.insert("total".into(), json!(design.total));
    let without = match reasons::without(designed, study, at).design() {
        None => Json::Null,
        Some(other) => {
            let differing: Vec<Json> = differences(design, other)
                .into_iter()
                .map(|d| {
                    json!({
                        "name": d.statement,
                        "weight": d.weight,
                        "cost": d.with,
                        "without": d.without,
                        "reads": d.reads.map(|r| r.0),
                        "reads_without": d.reads.map(|r| r.1),
                    })
                })
                .collect();
            json!({
                "total": other.total,
                "statements": differing,
                "built": names(&other.beyond(design)),
            })
        }
    };
    object.insert("without".into(), without);
    // A structure that was given is there whatever the rates.
    let found = (!study.is_given(at)).then(|| reasons::flips(study, Choice::Structure(at)));
    let told = found.as_ref().map_or_else(|| json!([]), flips);
    object.insert("flips".into(), told);
    let complete = found.as_ref().is_none_or(complete);
    object.insert("flips_complete".into(), complete.into());
    Json::Object(std::mem::take(object))
}

/// Whether there are no other flips, and that is proven.
fn complete(flips: &Flips) -> bool {
    flips.end == End::Proven
}

fn flips(flips: &Flips) -> Json {
    let flips = flips.found.iter().map(|f| {
        json!({
            "statement": f.statement,
            "rate": f.rate,
            "at": f.at,
            "built": f.built,
            "dropped": f.dropped,
            "reads": f.reads,
            "proven": f.proven,
        })
    });
    flips.collect()
}

fn names(structures: &[&Structure]) -> Vec<String> {
    structures.iter().map(|s| s.name.clone()).collect()
}

/// Both prices of each statement, or of the one that is asked for.
pub(crate) fn versus(ours: &Designed, other: &Designed, wanted: Option<&str>) -> Result<Json> {
    let named = wanted.map(|name| (name, Named::find(&ours.design, name)));
    if let Some((name, found)) = named
        && found.question.or(found.change).is_none()
    {
        bail!("there is no question or change `{name}`");
    }
    // Changes come behind the questions.
    let questions = ours.design.plans.len();
    let is_wanted = |at: usize| {
        named.is_none_or(|(_, found)| {
            found.question == Some(at) || found.change.is_some_and(|c| questions + c == at)
        })
    };
    let compared: Vec<Json> = statements(&ours.design)
        .zip(statements(&other.design))
        .enumerate()
        .filter(|(at, _)| is_wanted(*at))
        .map(|(_, ((name, weight, cost), (_, _, other)))| {
            json!({ "name": name, "weight": weight, "cost": cost, "other": other })
        })
        .collect();
    Ok(json!({
        "model": ours.design.model,
        "target": ours.design.target,
        "mix": ours.design.mix,
        "total": ours.design.total,
        "other": other.design.total,
        "statements": compared,
        "only_in_design": names(&ours.design.beyond(&other.design)),
        "only_in_other": names(&other.design.beyond(&ours.design)),
        "added_to_other": added(other),
    }))
}
